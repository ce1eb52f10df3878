//! Which lane a character gets: the blocks of a cohort that have room, in lists by what they hold.
//!
//! ```text
//! list 0       blocks of nobody
//! list 1       mixed blocks (several rigs or skins) with a free lane; they carry MixedRows
//! list 2 + k   blocks of rig and skin k with a free lane
//! ```
//!
//! The lists run through an array beside the blocks, so that nothing is searched and nothing is allocated once the
//! blocks are there. A full block is in no list.

use super::{Crowd, Place};
use crate::crowd::block::{Block, Lane, MixedRows};
use crate::crowd::frame::{Cohort, RigData, TopologyData};
use crate::lanes::{BLOCK, Row};

const NONE: u32 = u32::MAX;
pub(super) const EMPTY: u32 = 0;
pub(super) const MIXED: u32 = 1;
pub(super) const KEYS: u32 = 2;

/// Blocks of one cohort that have room; see the module's head.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    heads: Vec<u32>,
    links: Vec<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    list: u32,
    before: u32,
    next: u32,
}

impl Link {
    const FREE: Self = Self { list: NONE, before: NONE, next: NONE };
}

impl Openings {
    /// First block of a list: the last that was filed there.
    pub fn first(&self, list: u32) -> Option<u32> {
        self.heads.get(list as usize).copied().filter(|&block| block != NONE)
    }

    /// The block behind another one of the same list.
    pub fn next(&self, block: u32) -> Option<u32> {
        self.links.get(block as usize).map(|link| link.next).filter(|&block| block != NONE)
    }

    /// Lists that there may be.
    pub fn lists(&self) -> u32 {
        self.heads.len() as u32
    }

    /// Makes room for so many lists and blocks.
    pub fn reserve(&mut self, lists: usize, blocks: usize) {
        if self.heads.len() < lists {
            self.heads.resize(lists, NONE);
        }
        self.links.reserve(blocks.saturating_sub(self.links.len()));
    }

    /// All blocks with room, in an order that files them as they are.
    pub fn filed(&self) -> Vec<u32> {
        let mut filed = Vec::new();
        for list in 0..self.lists() {
            filed.extend(core::iter::successors(self.first(list), |&block| self.next(block)));
        }
        filed.reverse();
        filed
    }

    pub fn clear(&mut self) {
        self.heads.fill(NONE);
        self.links.clear();
    }

    /// Puts a block into a list, `None` for one that is full; does nothing if it is there.
    fn file(&mut self, block: u32, list: Option<u32>) {
        let at = block as usize;
        if self.links.len() <= at {
            self.links.resize(at + 1, Link::FREE);
        }
        let list = list.unwrap_or(NONE);
        let old = self.links[at];
        if old.list == list {
            return;
        }
        if old.list != NONE {
            match old.before {
                NONE => self.heads[old.list as usize] = old.next,
                before => self.links[before as usize].next = old.next,
            }
            if old.next != NONE {
                self.links[old.next as usize].before = old.before;
            }
        }
        self.links[at] = Link::FREE;
        if list != NONE {
            self.reserve(list as usize + 1, 0);
            let next = core::mem::replace(&mut self.heads[list as usize], block);
            self.links[at] = Link { list, before: NONE, next };
            if next != NONE {
                self.links[next as usize].before = block;
            }
        }
    }
}

impl TopologyData {
    /// Rows for a mixed block, harmless in every lane once filled from `rig`. Out of the spare ones, else new.
    fn mixed_rows(&mut self) -> Box<MixedRows> {
        self.spare_rows.pop().unwrap_or_else(|| self.new_rows())
    }

    fn new_rows(&mut self) -> Box<MixedRows> {
        // Room for all that there are, so that giving them back allocates nothing.
        self.rows_made += 1;
        self.spare_rows.reserve(self.rows_made.saturating_sub(self.spare_rows.len()));
        let offsets = vec![[Row::ZERO; 3]; self.topology.len()];
        Box::new(MixedRows { offsets, ..MixedRows::default() })
    }

    /// Makes so many spare rows.
    pub(super) fn reserve_rows(&mut self, count: usize) {
        while self.spare_rows.len() < count {
            let rows = self.new_rows();
            self.spare_rows.push(rows);
        }
    }
}

impl MixedRows {
    /// Proportions of one lane.
    pub(super) fn put(&mut self, lane: usize, rig: &RigData) {
        for (out, offset) in self.offsets.iter_mut().zip(&rig.offsets) {
            (0..3).for_each(|k| out[k].0[lane] = offset[k]);
        }
        for (out, sole) in self.soles.iter_mut().flatten().zip(rig.soles.iter().flatten()) {
            (0..3).for_each(|k| out[k].0[lane] = sole[k]);
        }
    }
}

/// Brings what a block carries and where it is filed in line with who lives in it.
fn refile(cohort: &mut Cohort, at: usize, data: &mut TopologyData, rigs: &[RigData]) {
    let block = &mut cohort.blocks[at];
    let key = block.shared_key();
    let mixed = block.live != 0 && key.is_none();
    if !mixed {
        data.spare_rows.extend(block.mixed.take());
    } else if block.mixed.is_none() {
        let mut rows = data.mixed_rows();
        for lane in 0..BLOCK {
            let live = block.live & (1 << lane) != 0;
            rows.put(lane, &rigs[usize::from(if live { block.rigs[lane] } else { block.any_rig() })]);
        }
        block.mixed = Some(rows);
    }
    let list = match key {
        _ if block.live == 0 => Some(EMPTY),
        _ if block.live == u16::MAX => None,
        None => Some(MIXED),
        Some((rig, skin)) => Some(list_of(rigs, rig, skin)),
    };
    cohort.open.file(at as u32, list);
}

/// List of the blocks of a rig and skin.
pub(super) fn list_of(rigs: &[RigData], rig: u16, skin: u16) -> u32 {
    KEYS + rigs[usize::from(rig)].first_key + u32::from(skin)
}

impl Crowd {
    /// Gives a character a lane of a cohort: in a block of its rig and skin, else in a mixed one, else in an empty one.
    pub(super) fn seat(&mut self, cohort: usize, lane: Lane) -> Place {
        let list = list_of(&self.rig_data, lane.rig, lane.skin);
        let open = &self.cohorts[cohort].open;
        let block = open.first(list).or_else(|| open.first(MIXED)).or_else(|| open.first(EMPTY));
        let block = block.unwrap_or_else(|| {
            let blocks = &mut self.cohorts[cohort].blocks;
            blocks.push(Block::default());
            blocks.len() as u32 - 1
        });
        self.seat_in(cohort, block, lane)
    }

    /// Gives a character a lane of a block that has room.
    pub(super) fn seat_in(&mut self, cohort: usize, block: u32, state: Lane) -> Place {
        let at = &mut self.cohorts[cohort];
        let target = &mut at.blocks[block as usize];
        let lane = target.free_lane().unwrap_or(0);
        let place = Place { cohort: cohort as u16, lane: lane as u8, block };
        self.characters[state.character as usize].put(place);
        if let Some(rows) = &mut target.mixed {
            rows.put(lane, &self.rig_data[usize::from(state.rig)]);
        }
        target.put(lane, state);
        let data = &mut self.topologies[usize::from(at.topology)];
        refile(at, block as usize, data, &self.rig_data);
        place
    }

    /// Takes a character out of its lane. It is nowhere until [`seat`](Self::seat) or the end.
    pub(super) fn unseat(&mut self, place: Place) -> Lane {
        let cohort = &mut self.cohorts[usize::from(place.cohort)];
        let lane = cohort.blocks[place.block as usize].take(place.lane.into());
        let data = &mut self.topologies[usize::from(cohort.topology)];
        refile(cohort, place.block as usize, data, &self.rig_data);
        lane
    }

    /// Files all blocks of a cohort anew: after packing, or when keys have changed. Those of `first` come first, in their
    /// order.
    pub(super) fn file_all(&mut self, cohort: usize, first: &[u32]) {
        let cohort = &mut self.cohorts[cohort];
        cohort.open.clear();
        let data = &mut self.topologies[usize::from(cohort.topology)];
        for at in first.iter().map(|&at| at as usize).chain(0..cohort.blocks.len()) {
            refile(cohort, at, data, &self.rig_data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_hold_what_was_filed_last_first() {
        let mut open = Openings::default();
        for block in 0..5 {
            open.file(block, Some(3));
        }
        let all = |open: &Openings, list| {
            let mut blocks = Vec::new();
            let mut at = open.first(list);
            while let Some(block) = at {
                blocks.push(block);
                at = open.next(block);
            }
            blocks
        };
        assert_eq!(all(&open, 3), [4, 3, 2, 1, 0]);
        open.file(4, None);
        open.file(2, Some(1));
        open.file(0, Some(3));
        assert_eq!((all(&open, 3), all(&open, 1), all(&open, 0)), (vec![3, 1, 0], vec![2], vec![]));
        open.file(0, None);
        open.file(0, Some(1));
        assert_eq!((all(&open, 3), all(&open, 1), all(&open, 9)), (vec![3, 1], vec![0, 2], vec![]));
    }
}
