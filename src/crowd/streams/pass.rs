//! Poses of a block's lanes, brought in pass by pass: all lanes that follow streams through one map, in one precision.

use super::beside::copy_lane;
use super::buffer::StreamRotation;
use super::poses::{RawPose, StreamPose};
use super::{Blocks, Followers, SnormQuat, StreamBuffer, StreamPoses, StreamReport, StreamTable};
use crate::crowd::block::{Block, lanes_of};
use crate::crowd::scratch::Scratch;
use crate::crowd::stages::live::{NO_TURN, Native, Reach, Streamed, Travels, live};
use crate::lanes::{BLOCK, LineSources, Row, Simd, equal_lanes, prefetch};
use crate::retarget::LiveMap;
use crate::retarget::live::LINE_JOINTS;
use crate::retarget::live_packed::PACKED_JOINTS;
use crate::rig::MAX_FEET;

/// What every pass of a block needs.
struct Posing<'a> {
    table: &'a StreamTable,
    simd: Simd,
    block: &'a Block,
    /// Lanes that get a pose, of streams or not.
    due: u16,
    followers: &'a Followers,
    kept: usize,
}

/// Lanes without a pose.
#[derive(Clone, Copy, Default)]
struct Without {
    missing: u16,
    refused: u16,
    /// Poses that lay elsewhere.
    displaced: u32,
}

impl StreamTable {
    /// Brings the poses of lanes that are due in; gives those that have none this frame.
    pub fn bring_in(
        &self,
        simd: Simd,
        blocks: &Blocks<'_>,
        poses: StreamPoses<'_>,
        kept: usize,
        scratch: &mut Scratch,
    ) -> u16 {
        let Without { missing, refused, displaced } = match poses {
            StreamPoses::Slices(poses) => self.bring_slices_in(simd, blocks, poses, kept, scratch),
            StreamPoses::F32(poses) => self.bring_buffer_in(simd, blocks, poses, kept, scratch),
            StreamPoses::Snorm16(poses) => self.bring_buffer_in(simd, blocks, poses, kept, scratch),
        };
        let without = missing | refused;
        for lane in lanes_of(without) {
            scratch.reference_pose(lane, kept);
        }
        let followed = (blocks.streamed & !without).count_ones();
        let (missing, refused) = (missing.count_ones(), refused.count_ones());
        scratch.streamed.add(StreamReport { followed, missing, refused, displaced });
        without
    }

    fn bring_slices_in<'a>(
        &self,
        simd: Simd,
        blocks: &Blocks<'_>,
        poses: &'a [StreamPose<'a>],
        kept: usize,
        scratch: &mut Scratch,
    ) -> Without {
        let Blocks { now: block, next, due, streamed, followers, .. } = *blocks;
        let posing = Posing { table: self, simd, block, due, followers, kept };
        let ahead = next.and_then(|next| self.sources(next, poses));
        let mut first = true;
        let mut without = Without::default();
        let mut left = streamed;
        while left != 0 {
            let Some((index, map)) = self.map_of(followers, left) else { break };
            let joints = map.source_joints();
            let mut runs: [&[f32]; BLOCK] = [&[]; BLOCK];
            let (mut position, mut contacts) = ([Row::ZERO; 3], [Row::ZERO; MAX_FEET]);
            let mut lanes = 0;
            let mut kind = None;
            for lane in lanes_of(left) {
                let key = followers.key(lane);
                if key.map() != index {
                    continue;
                }
                let pose = poses.get(key.pose as usize).map(RawPose::of);
                let Some(pose) = pose.filter(|pose| pose.joints == joints) else {
                    left &= !(1 << lane);
                    without.missing |= 1 << lane;
                    continue;
                };
                // Those of the other precision get a pass of their own.
                if *kind.get_or_insert(pose.packed) != pose.packed {
                    continue;
                }
                left &= !(1 << lane);
                lanes |= 1 << lane;
                runs[lane] = pose.words;
                for k in 0..3 {
                    position[k].0[lane] = pose.position[k];
                }
                for foot in 0..MAX_FEET {
                    contacts[foot].0[lane] = pose.contacts[foot];
                }
            }
            let packed = kind.unwrap_or(false);
            // Sources of less than a line are made up to one.
            let few;
            if joints < line_joints(packed) {
                few = runs.map(|run| made_up(run, packed));
                runs = few.each_ref().map(|line| line.as_slice());
            }
            repeat(&mut runs, lanes);
            if let Some(now) = LineSources::new(&runs) {
                let native = Native::Lines {
                    now: &now,
                    next: core::mem::take(&mut first).then_some(ahead.as_ref()).flatten(),
                };
                let poses = Poses { native, packed, position: &position, contacts: &contacts };
                without.refused |= posing.pass(map, lanes, poses, scratch);
            }
        }
        without
    }

    fn bring_buffer_in<Q: StreamRotation>(
        &self,
        simd: Simd,
        blocks: &Blocks<'_>,
        poses: &StreamBuffer<Q>,
        kept: usize,
        scratch: &mut Scratch,
    ) -> Without {
        let Blocks { now: block, next, period, due, streamed, followers } = *blocks;
        let posing = Posing { table: self, simd, block, due, followers, kept };
        let mut further = next.map_or(0, |next| {
            self.ask_for_keys(next, block, period);
            period
        });
        let mut without = Without::default();
        let mut left = streamed;
        while left != 0 {
            let Some((index, map)) = self.map_of(followers, left) else { break };
            let lanes = followers.through(index) & left;
            let pose = followers.pose[left.trailing_zeros() as usize];
            left &= !lanes;
            // Those whose pose is in their lane of the same sixteen as that of the first. A stream whose number is that of an empty
            // seat may count among them: nothing has arrived there.
            let seat = poses.seat(pose, map.source_joints());
            let sixteen = seat.map_or(0, |seat| seat / BLOCK as u32);
            let here = seat.map_or(0, |_| equal_lanes(poses.sitters(sixteen), &followers.pose));
            let next = poses.ahead(pose, core::mem::take(&mut further));
            if lanes & !here == 0
                && let Some(side) = poses.side(sixteen)
            {
                let missing = lanes & !side.arrived_lanes();
                without.missing |= missing;
                let native = Native::Beside { now: side.rows, next };
                let (position, contacts) = (side.position(), side.contacts());
                let poses = Poses { native, packed: Q::PACKED, position, contacts };
                without.refused |= posing.pass(map, lanes & !missing, poses, scratch);
            } else {
                self.bring_displaced_in(&posing, (map, lanes), (poses, next), &mut without, scratch);
            }
        }
        without
    }

    /// Lanes of one map, some of whose poses lie elsewhere.
    #[cold]
    fn bring_displaced_in<Q: StreamRotation>(
        &self,
        posing: &Posing<'_>,
        (map, lanes): (&LiveMap, u16),
        (poses, next): (&StreamBuffer<Q>, &[Row]),
        without: &mut Without,
        scratch: &mut Scratch,
    ) {
        let mut seats = [None; BLOCK];
        for lane in lanes_of(lanes) {
            seats[lane] = poses.seat(posing.followers.pose[lane], map.source_joints());
        }
        // The sixteen of the first who is in its lane; where nobody is, any.
        let at = |seat: u32| (seat / BLOCK as u32, seat as usize % BLOCK);
        let placed = || lanes_of(lanes).filter_map(|lane| Some((lane, at(seats[lane]?))));
        let in_lane = placed().find(|&(lane, (_, from))| from == lane);
        let sixteen = in_lane.or(placed().next()).map(|(_, (sixteen, _))| sixteen);
        let Some((sixteen, side)) = sixteen.and_then(|sixteen| Some((sixteen, poses.side(sixteen)?))) else {
            without.missing |= lanes;
            return;
        };
        let (mut position, mut contacts) = (*side.position(), *side.contacts());
        let mut arrived = side.arrived_lanes();
        // As if everybody sat there; reserved when they began to follow.
        let mut rows = core::mem::take(&mut scratch.gathered);
        rows.clear();
        rows.extend_from_slice(side.rows);
        for lane in lanes_of(lanes) {
            let other =
                seats[lane].map(at).and_then(|(sixteen, from)| Some((sixteen, from, poses.side(sixteen)?)));
            let Some((of, from, other)) = other else {
                arrived &= !(1 << lane);
                continue;
            };
            if (of, from) == (sixteen, lane) {
                continue;
            }
            let there = other.arrived_lanes() >> from & 1;
            without.displaced += u32::from(there);
            arrived = arrived & !(1 << lane) | there << lane;
            if there != 0 {
                copy_lane::<Q>(other.rows, from, &mut rows, lane);
                position.iter_mut().zip(other.position()).for_each(|(row, own)| row.0[lane] = own.0[from]);
                contacts.iter_mut().zip(other.contacts()).for_each(|(row, own)| row.0[lane] = own.0[from]);
            }
        }
        without.missing |= lanes & !arrived;
        let native = Native::Beside { now: &rows, next };
        let poses = Poses { native, packed: Q::PACKED, position: &position, contacts: &contacts };
        without.refused |= posing.pass(map, lanes & arrived, poses, scratch);
        scratch.gathered = rows;
    }

    /// The map of the first of these lanes.
    #[inline(always)]
    fn map_of(&self, followers: &Followers, lanes: u16) -> Option<(u32, &LiveMap)> {
        let key = followers.key(lanes.trailing_zeros() as usize);
        Some((key.map(), self.map(key)?))
    }

    /// Inverse headings of lanes that travel.
    fn backs(&self, block: &Block, lanes: u16) -> [Row; 4] {
        let mut back = NO_TURN;
        for lane in lanes_of(lanes) {
            let turn = self.cells[block.characters[lane] as usize].root.back();
            back.iter_mut().zip(turn).for_each(|(row, value)| row.0[lane] = value);
        }
        back
    }

    /// What a block's lanes will read.
    #[inline(always)]
    fn sources<'a>(&self, block: &Block, poses: &'a [StreamPose<'a>]) -> Option<LineSources<'a>> {
        let mut runs: [&[f32]; BLOCK] = [&[]; BLOCK];
        let mut there = 0u16;
        for lane in lanes_of(block.live) {
            if let Some(key) = self.key(block.characters[lane]) {
                let run = poses.get(key.pose as usize).map_or(&[][..], |pose| pose.rotations.words());
                runs[lane] = run;
                there |= u16::from(!run.is_empty()) << lane;
            }
        }
        repeat(&mut runs, there);
        LineSources::new(&runs)
    }

    /// Asks for what the block `period` blocks on will look up first: where it is known, or where it is if characters
    /// stand in the order of their indices. Looking it up now would wait for one line after the other.
    #[inline(always)]
    fn ask_for_keys(&self, next: &Block, block: &Block, period: usize) {
        prefetch(&next.characters);
        // Dead lanes have no index; the guess then misses.
        let on = (block.characters[0] as usize).wrapping_add(BLOCK * period);
        if let Some(keys) = self.keys.get(on..).and_then(|keys| keys.first_chunk::<BLOCK>()) {
            [&keys[0], &keys[BLOCK / 2]].into_iter().for_each(prefetch);
        }
    }
}

impl Posing<'_> {
    /// One pass of lanes whose poses are found; gives those whose pose is refused.
    #[inline(always)]
    fn pass(&self, map: &LiveMap, lanes: u16, poses: Poses<'_>, scratch: &mut Scratch) -> u16 {
        if lanes == 0 {
            return 0;
        }
        let Poses { native, packed, position, contacts } = poses;
        let (rows, back);
        let mut travels = None;
        if lanes & self.followers.travel != 0 {
            rows = Row::of_bits(lanes & self.followers.travel);
            back = self.table.backs(self.block, lanes & self.followers.travel);
            travels = Some(Travels { back: &back, lanes: &rows });
        }
        let streamed = Streamed {
            poses: native,
            packed,
            position,
            contacts,
            leg: &self.block.leg,
            own: Row::of_bits(lanes),
            travels,
        };
        // Lanes that are not due may be overwritten, sampled ones not.
        let reach = if lanes == self.due { Reach::Block } else { Reach::Own };
        let mut good = Row::ZERO;
        live(self.simd, map, &streamed, reach, self.kept, &mut good, scratch);
        if good.same(&streamed.own) {
            return 0;
        }
        lanes_of(lanes).filter(|&lane| good.0[lane] < 0.5).fold(0, |mask, lane| mask | 1 << lane)
    }
}

/// Where the poses of a pass lie.
struct Poses<'a> {
    native: Native<'a>,
    packed: bool,
    position: &'a [Row; 3],
    contacts: &'a [Row; MAX_FEET],
}

/// Fills lanes without a run with that of another.
#[inline]
fn repeat(runs: &mut [&[f32]; BLOCK], there: u16) {
    if there != 0 && there != u16::MAX {
        let some = runs[there.trailing_zeros() as usize];
        lanes_of(!there).for_each(|lane| runs[lane] = some);
    }
}

pub(super) fn line_joints(packed: bool) -> usize {
    if packed { PACKED_JOINTS } else { LINE_JOINTS }
}

/// A line of a shorter run, identities at its end.
pub(super) fn made_up(run: &[f32], packed: bool) -> [f32; BLOCK] {
    let mut line: [f32; BLOCK] = if packed {
        bytemuck::cast([SnormQuat::IDENTITY; PACKED_JOINTS])
    } else {
        bytemuck::cast([[0.0f32, 0.0, 0.0, 1.0]; LINE_JOINTS])
    };
    line.iter_mut().zip(run).for_each(|(to, from)| *to = *from);
    line
}
