//! Characters come and go, one by one or many at a time.

use super::playback::Plays;
use super::values::check_transform;
use super::{Crowd, Handle, Location, RigId, Spawn, WorldTransform};
use crate::crowd::block::{Block, Lane};
use crate::crowd::frame::Cohort;
use crate::crowd::store::Play;
use crate::crowd::store::place::KEYS;
use crate::crowd::store::tiers::cohort_index;
use crate::crowd::tier::Tier;
use crate::error::BuildError;
use crate::lanes::BLOCK;

/// What calls of [`Crowd::reserve`] have asked for together, characters that were there included.
#[derive(Debug, Default)]
pub(super) struct Reserved {
    characters: usize,
    lines: usize,
    /// Per cohort.
    blocks: Vec<usize>,
}

impl Reserved {
    fn add(sum: &mut usize, have: usize, more: usize) -> usize {
        *sum = (*sum).max(have).saturating_add(more);
        *sum
    }
}

/// What has been checked of a character before anything is changed.
struct Checked {
    cohort: usize,
    leg: f32,
    lines: u32,
    transform: WorldTransform,
    plays: Plays,
}

impl Crowd {
    /// Makes room for so many more characters of a rig and skin, in whatever tier, calls adding up: within it spawning,
    /// despawning, changing tiers and [`pack_some`](Self::pack_some) allocate nothing, however they alternate.
    ///
    /// # Errors
    /// If rig or skin are unknown, or their output would be more than 2^32 lines.
    pub fn reserve(&mut self, rig: RigId, skin: usize, characters: usize) -> Result<(), BuildError> {
        let length = self.config.slot_lines(self.skin(rig, skin)?);
        let wanted = characters.saturating_mul(length as usize).saturating_add(self.reserved.lines);
        if wanted >= 1 << 32 {
            return Err(BuildError::Full { what: "2^32 lines of output" });
        }
        let all = Reserved::add(&mut self.reserved.characters, self.live, characters);
        self.characters.reserve(all.saturating_sub(self.characters.len()));
        self.free.reserve(all.saturating_sub(self.free.len()));
        self.refused.reserve(all);
        let used = self.slots.as_lines().len();
        let lines = Reserved::add(&mut self.reserved.lines, used, characters.saturating_mul(length as usize));
        self.slots.reserve(lines, length, all);
        let topology = self.rigs[usize::from(rig.0)].1;
        let data = &mut self.topologies[usize::from(topology)];
        // Besides the blocks of this rig and skin, a mixed one per pair of them.
        data.reserve_rows((data.keys as usize).div_ceil(2) + 1);
        let lists = (KEYS + data.keys) as usize;
        let cohorts = self.cohorts.len().max(self.reserved.blocks.len());
        self.reserved.blocks.resize(cohorts, 0);
        for tier in Tier::ALL {
            let at = usize::from(cohort_index(topology, tier));
            let Cohort { blocks, open, .. } = &mut self.cohorts[at];
            let more = characters.div_ceil(BLOCK) + 2;
            let count = Reserved::add(&mut self.reserved.blocks[at], blocks.len(), more);
            blocks.reserve(count.saturating_sub(blocks.len()));
            open.reserve(lists, count);
        }
        Ok(())
    }

    /// Cohort that a character of a rig begins in.
    fn home(&self, rig: RigId) -> usize {
        cohort_index(self.rigs[usize::from(rig.0)].1, Tier::default()).into()
    }

    /// A new character with one of the skins of its rig. It takes a free lane of a block of its rig and skin, else of
    /// a mixed one, else of an empty one.
    ///
    /// # Errors
    /// If rig, skin or a clip are unknown, a clip is of another topology, or an input is not finite.
    pub fn spawn(
        &mut self,
        rig: RigId,
        skin: usize,
        transform: WorldTransform,
        clips: &[Play],
    ) -> Result<Handle, BuildError> {
        let spawn = Spawn { rig, skin, transform, clips };
        let checked = self.check_spawn(&spawn)?;
        self.spawn_checked(&spawn, &checked)
    }

    /// Many new characters at once, their handles in the same order. All are checked before the first comes, so that
    /// after an error none has.
    ///
    /// # Errors
    /// As [`spawn`](Self::spawn), and if the lists differ in length.
    pub fn spawn_many(&mut self, spawns: &[Spawn<'_>], handles: &mut [Handle]) -> Result<(), BuildError> {
        if spawns.len() != handles.len() {
            let (have, need) = (handles.len(), spawns.len());
            return Err(BuildError::Length { what: "the list of handles", have, need });
        }
        for spawn in spawns {
            self.check_spawn(spawn)?;
        }
        for (at, spawn) in spawns.iter().enumerate() {
            let made = self.check_spawn(spawn).and_then(|checked| self.spawn_checked(spawn, &checked));
            match made {
                Ok(handle) => handles[at] = handle,
                // Out of output lines.
                Err(error) => {
                    self.despawn_many(&handles[..at]);
                    handles[..at].fill(Handle::NONE);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn check_spawn(&self, spawn: &Spawn<'_>) -> Result<Checked, BuildError> {
        let lines = self.config.slot_lines(self.skin(spawn.rig, spawn.skin)?);
        let (rig, topology) = &self.rigs[usize::from(spawn.rig.0)];
        let transform = check_transform(&spawn.transform)?;
        let plays = self.plays(*topology, spawn.clips)?;
        Ok(Checked { cohort: self.home(spawn.rig), leg: rig.leg(), lines, transform, plays })
    }

    fn spawn_checked(&mut self, spawn: &Spawn<'_>, checked: &Checked) -> Result<Handle, BuildError> {
        let full = BuildError::Full { what: "2^32 lines of output" };
        let token = self.slots.allocate(checked.lines).ok_or(full)?;
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.characters.push(Location::free(0));
                self.refused.reserve(self.characters.len());
                self.characters.len() as u32 - 1
            }
        };
        let mut lane = Lane::new(index, spawn.rig.0, spawn.skin as u16, token, checked.leg);
        lane.put_transform(&checked.transform);
        let place = self.seat(checked.cohort, lane);
        self.live += 1;
        self.put_plays(place, &checked.plays);
        Ok(Handle { index, generation: self.characters[index as usize].generation })
    }

    /// Ends a character; its slot and index are free for others.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn despawn(&mut self, handle: Handle) -> Result<(), BuildError> {
        let place = self.place(handle)?;
        let lane = self.unseat(place);
        self.transitions -= usize::from(lane.in_transition());
        if let Some(token) = lane.token {
            self.slots.free(token);
        }
        if let Some(rare) = lane.rare {
            self.pool.give(rare);
        }
        self.streams.clear(handle.index);
        let entry = &mut self.characters[handle.index()];
        entry.leave();
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(handle.index);
        self.live -= 1;
        Ok(())
    }

    /// Ends many characters at once and returns how many it were: stale handles, second mentions among them, are left
    /// out.
    pub fn despawn_many(&mut self, handles: &[Handle]) -> usize {
        handles.iter().filter(|&&handle| self.despawn(handle).is_ok()).count()
    }

    /// Moves at most `moves` characters to other lanes, so that blocks fill up after many have come and gone; returns
    /// how many it were, 0 once nothing is left to gain. For every frame: it allocates nothing. Poses, slots and
    /// handles stay. [`pack`](Self::pack) does more at once: it also sorts mixed blocks by rig.
    pub fn pack_some(&mut self, moves: usize) -> usize {
        let mut left = moves;
        for cohort in 0..self.cohorts.len() {
            self.merge_lists(cohort, &mut left);
            self.merge_leftovers(cohort, &mut left);
            if left == 0 {
                break;
            }
        }
        moves - left
    }

    /// Leaves every list of a cohort with one open block at most.
    fn merge_lists(&mut self, cohort: usize, left: &mut usize) {
        for list in super::place::MIXED..self.cohorts[cohort].open.lists() {
            while *left > 0 {
                let open = &self.cohorts[cohort].open;
                let Some(a) = open.first(list) else { break };
                let Some(b) = open.next(a) else { break };
                self.pour(cohort, a, b, left);
            }
        }
    }

    /// What fills less than three quarters of a block shares one with others, where there are rows for it.
    fn merge_leftovers(&mut self, cohort: usize, left: &mut usize) {
        let mut waiting = None;
        for list in KEYS..self.cohorts[cohort].open.lists() {
            if *left == 0 {
                return;
            }
            let at = &self.cohorts[cohort];
            let Some(block) = at.open.first(list).filter(|&block| lives(&at.blocks, block) * 4 < BLOCK * 3)
            else {
                continue;
            };
            let rows = !self.topologies[usize::from(at.topology)].spare_rows.is_empty();
            match (at.open.first(super::place::MIXED), waiting) {
                (Some(mixed), _) => self.pour_into(cohort, block, mixed, left),
                (None, Some(other)) if rows => {
                    self.pour_into(cohort, block, other, left);
                    waiting = (lives(&self.cohorts[cohort].blocks, block) != 0).then_some(block);
                }
                (None, _) => waiting = Some(block),
            }
        }
    }

    /// Moves from the emptier of two blocks to the fuller.
    fn pour(&mut self, cohort: usize, a: u32, b: u32, left: &mut usize) {
        let blocks = &self.cohorts[cohort].blocks;
        let (from, to) = if lives(blocks, a) <= lives(blocks, b) { (a, b) } else { (b, a) };
        self.pour_into(cohort, from, to, left);
    }

    fn pour_into(&mut self, cohort: usize, from: u32, to: u32, left: &mut usize) {
        while *left > 0 {
            let blocks = &self.cohorts[cohort].blocks;
            let live = blocks[from as usize].live;
            if live == 0 || blocks[to as usize].live == u16::MAX {
                return;
            }
            let lane = live.trailing_zeros() as u8;
            let state = self.unseat(super::Place { cohort: cohort as u16, lane, block: from });
            self.seat_in(cohort, to, state);
            *left -= 1;
        }
    }

    /// Room in the workers' scratch, once there is any, for all that can be spawned.
    pub(super) fn reserve_scratch(&mut self) {
        let (joints, lines) = (self.max_joints(), self.max_lines());
        for scratch in &mut self.scratch {
            scratch.reserve(joints, lines);
        }
    }

    fn max_joints(&self) -> usize {
        self.topologies.iter().map(|data| data.topology.len()).max().unwrap_or(0)
    }
}

fn lives(blocks: &[Block], block: u32) -> usize {
    blocks[block as usize].live.count_ones() as usize
}
