//! Characters that a stream drives: motion capture, a network, a rig of the host's own.
//!
//! Which stream a character follows is kept by character, not by lane, so that it stays where it is when lanes move.
//! What a frame changes of it are single values that the one job with the character's block writes: relaxed atomics,
//! which are plain loads and stores.

mod buffer;
mod leaving;
mod place;
mod poses;
mod root;
mod state;
mod travel;

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::collections::HashMap;
use std::sync::Arc;

use super::block::{Block, lanes_of};
use super::scratch::Scratch;
use super::stages::live::{NO_TURN, Reach, Streamed, live};
use crate::lanes::{BLOCK, LineSources, Row, Simd, SlotWriter};
use crate::retarget::LiveMap;
use crate::retarget::live::LINE_JOINTS;
use crate::retarget::live_packed::PACKED_JOINTS;
pub use buffer::{StreamBuffer, StreamPoseMut, StreamRotation};
pub(crate) use leaving::Leaving;
pub(crate) use place::Hips;
use place::{FAR, Told};
use poses::{RawPose, RawPoses};
pub use poses::{Rotations, SnormQuat, StreamId, StreamPose, StreamPoses};
pub(crate) use state::FollowerState;
pub(crate) use travel::Travel;

/// What becomes of the way that the hips of a stream make over the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamRoot {
    /// It stays in the pose: the body moves away from its root, which stays or is the host's.
    #[default]
    InPose,
    /// Heading and horizontal travel of the hips are taken out of the pose and move the root, scaled by leg length, as a
    /// clip's root motion does; sway is part of it, since the next step is not known yet. Heading is where the reference's
    /// +Z of the hips leads; it is held while that points up or down.
    Travel,
}

/// What a character follows.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Which of the poses of a frame. Any number of characters may follow one.
    pub id: StreamId,
    /// From the stream's source to the character's rig.
    pub map: Arc<LiveMap>,
    /// Who has the way over the ground.
    pub root: StreamRoot,
}

/// What a frame made of its streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamReport {
    /// Characters that took this frame's pose.
    pub followed: u32,
    /// Characters without one: it is not there, empty, or of another number of joints.
    pub missing: u32,
    /// Characters whose pose was refused: a rotation that is none, a position that is not finite or farther than 1e6 m.
    pub refused: u32,
}

/// Counts of a frame, from all jobs.
#[derive(Debug, Default)]
pub(crate) struct StreamCounts {
    followed: AtomicU32,
    missing: AtomicU32,
    refused: AtomicU32,
}

impl StreamCounts {
    pub fn report(&self) -> StreamReport {
        StreamReport {
            followed: self.followed.load(Relaxed),
            missing: self.missing.load(Relaxed),
            refused: self.refused.load(Relaxed),
        }
    }
}

/// Marks a character without a stream.
const NOBODY: u32 = u32::MAX;

/// What is known of one character's stream.
#[derive(Debug)]
struct Cell {
    /// Index of the map, or [`NOBODY`].
    map: u32,
    pose: u32,
    travels: bool,
    /// It is to give way to something else: see [`Leaving`].
    leaves: bool,
    /// Root of the last pose, where it travels.
    root: root::Place,
}

impl Cell {
    #[allow(clippy::declare_interior_mutable_const, reason = "copied into each new place")]
    const EMPTY: Self =
        Self { map: NOBODY, pose: 0, travels: false, leaves: false, root: root::Place::NOWHERE };
}

/// Whose poses are brought in, and whose come after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a> {
    pub now: &'a Block,
    pub next: Option<&'a Block>,
    /// Lanes that get a pose, and those of them that follow a stream.
    pub due: u16,
    pub streamed: u16,
}

/// A map and how many characters follow streams through it.
#[derive(Debug)]
struct Used {
    map: Arc<LiveMap>,
    followers: u32,
}

/// All characters' streams.
#[derive(Debug, Default)]
pub(crate) struct StreamTable {
    maps: Vec<Option<Used>>,
    /// Where maps are, by their address: they live while they are here.
    places: HashMap<usize, u32>,
    /// Places of maps that nobody follows any more.
    unused: Vec<u32>,
    /// Maps that lost their last follower, perhaps during a frame, and are let go after it.
    idle: Vec<u32>,
    /// By character.
    cells: Vec<Cell>,
    followers: usize,
    leaving: Vec<Leaving>,
}

impl StreamTable {
    pub fn set(&mut self, character: u32, stream: &Stream) {
        // Before the old one is let go, which may be the same.
        let cell = self.cell_of(stream);
        self.clear(character);
        let at = character as usize;
        if self.cells.len() <= at {
            self.cells.resize_with(at + 1, || Cell::EMPTY);
        }
        self.cells[at] = cell;
        self.followers += 1;
    }

    /// One follower more of its map.
    fn cell_of(&mut self, stream: &Stream) -> Cell {
        let travels = stream.root == StreamRoot::Travel;
        Cell { map: self.follow(&stream.map), pose: stream.id.0, travels, ..Cell::EMPTY }
    }

    /// Place of a map that one character more follows.
    fn follow(&mut self, map: &Arc<LiveMap>) -> u32 {
        self.let_idle_go();
        let address = Arc::as_ptr(map) as usize;
        if let Some(&at) = self.places.get(&address)
            && let Some(used) = &mut self.maps[at as usize]
        {
            used.followers += 1;
            return at;
        }
        let at = self.unused.pop().unwrap_or_else(|| {
            self.maps.push(None);
            // So that letting all of them go allocates nothing.
            self.unused.reserve(self.maps.len());
            self.idle.reserve(self.maps.len());
            self.maps.len() as u32 - 1
        });
        self.maps[at as usize] = Some(Used { map: Arc::clone(map), followers: 1 });
        self.places.insert(address, at);
        at
    }

    pub fn clear(&mut self, character: u32) {
        self.stay(character);
        let Some(cell) = self.cells.get_mut(character as usize).filter(|cell| cell.map != NOBODY) else {
            return;
        };
        let at = core::mem::replace(&mut cell.map, NOBODY);
        self.followers -= 1;
        self.unfollow(at);
        self.let_idle_go();
    }

    /// One follower less of a map.
    fn unfollow(&mut self, at: u32) {
        if let Some(used) = &mut self.maps[at as usize] {
            used.followers -= 1;
            if used.followers == 0 {
                self.idle.push(at);
            }
        }
    }

    /// Not during frames: it hashes and frees.
    fn let_idle_go(&mut self) {
        while let Some(at) = self.idle.pop() {
            if let Some(used) = self.maps[at as usize].take_if(|used| used.followers == 0) {
                self.places.remove(&(Arc::as_ptr(&used.map) as usize));
                self.unused.push(at);
            }
        }
    }

    /// Nobody follows a stream any more.
    pub fn clear_all(&mut self) {
        for character in 0..self.cells.len() {
            self.clear(character as u32);
        }
    }

    /// What a character follows, or is about to.
    pub fn get(&self, character: u32) -> Option<Stream> {
        let cell = match self.next_of(character) {
            Some(next) => next?,
            None => self.cell(character)?,
        };
        self.stream_of(cell)
    }

    fn stream_of(&self, cell: &Cell) -> Option<Stream> {
        let root = if cell.travels { StreamRoot::Travel } else { StreamRoot::InPose };
        Some(Stream { id: StreamId(cell.pose), map: Arc::clone(self.map(cell)?), root })
    }

    /// Registers beyond the joints of a topology that the maps need.
    pub fn temporaries(&self) -> usize {
        self.maps.iter().flatten().map(|used| used.map.temporaries).max().unwrap_or(0)
    }

    #[inline]
    fn map(&self, cell: &Cell) -> Option<&Arc<LiveMap>> {
        self.maps.get(cell.map as usize)?.as_ref().map(|used| &used.map)
    }

    #[inline]
    fn cell(&self, character: u32) -> Option<&Cell> {
        self.cells.get(character as usize).filter(|cell| cell.map != NOBODY)
    }

    /// True if a character follows one.
    pub fn follows(&self, character: u32) -> bool {
        self.cell(character).is_some()
    }

    /// Lanes of a block that follow a stream, and those of them that it moves.
    pub fn lanes(&self, block: &Block) -> (u16, u16) {
        let (mut follow, mut travel) = (0u16, 0u16);
        if self.followers > 0 {
            for lane in lanes_of(block.live) {
                if let Some(cell) = self.cell(block.characters[lane]) {
                    follow |= 1 << lane;
                    travel |= u16::from(cell.travels) << lane;
                }
            }
        }
        (follow, travel)
    }

    fn pose<'a>(&self, cell: &Cell, poses: StreamPoses<'a>) -> Result<StreamPose<'a>, Refusal> {
        let map = self.map(cell).ok_or(Refusal::Missing)?;
        let pose = poses.get(StreamId(cell.pose)).ok_or(Refusal::Missing)?;
        if pose.rotations.len() != map.source_joints() {
            return Err(Refusal::Missing);
        }
        if !pose.position.iter().all(|p| p.abs() < FAR) {
            return Err(Refusal::Unsound);
        }
        Ok(pose)
    }

    /// Brings the poses of lanes that are due in; gives those that have none this frame.
    pub fn bring_in(
        &self,
        simd: Simd,
        blocks: &Blocks<'_>,
        poses: StreamPoses<'_>,
        kept: usize,
        counts: &StreamCounts,
        scratch: &mut Scratch,
    ) -> u16 {
        match poses {
            StreamPoses::Slices(poses) => self.bring_in_from(simd, blocks, poses, kept, counts, scratch),
            StreamPoses::F32(poses) => self.bring_in_from(simd, blocks, poses, kept, counts, scratch),
            StreamPoses::Snorm16(poses) => self.bring_in_from(simd, blocks, poses, kept, counts, scratch),
        }
    }

    fn bring_in_from<'a, P: RawPoses<'a>>(
        &self,
        simd: Simd,
        blocks: &Blocks<'_>,
        poses: P,
        kept: usize,
        counts: &StreamCounts,
        scratch: &mut Scratch,
    ) -> u16 {
        let Blocks { now: block, next, due, streamed: lanes } = *blocks;
        let (mut missing, mut refused) = (0u16, 0u16);
        let mut ahead = next.and_then(|next| self.sources(next, poses));
        scratch.estimated = false;
        let mut left = lanes;
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let Some(cell) = self.cell(block.characters[first]) else { break };
            let (index, Some(map)) = (cell.map, self.map(cell)) else { break };
            let joints = map.source_joints();
            let mut runs: [&[f32]; BLOCK] = [&[]; BLOCK];
            let mut told = Told::NOTHING;
            let mut kind = None;
            let mut back = None;
            let mut own = Row::ZERO;
            let mut pass = 0u16;
            for lane in lanes_of(left) {
                let Some(cell) = self.cell(block.characters[lane]).filter(|cell| cell.map == index) else {
                    continue;
                };
                let Some(pose) = poses.read(StreamId(cell.pose)).filter(|pose| pose.joints == joints) else {
                    left &= !(1 << lane);
                    missing |= 1 << lane;
                    continue;
                };
                // Those of the other precision get a pass of their own.
                if *kind.get_or_insert(pose.packed) != pose.packed {
                    continue;
                }
                left &= !(1 << lane);
                pass |= 1 << lane;
                runs[lane] = pose.run;
                own.0[lane] = 1.0;
                told.put(lane, pose, cell.travels);
                if cell.travels {
                    let back = back.get_or_insert(NO_TURN);
                    back.iter_mut().zip(cell.root.back()).for_each(|(row, value)| row.0[lane] = value);
                }
            }
            for lane in lanes_of(told.far()) {
                refused |= 1 << lane;
                pass &= !(1 << lane);
                own.0[lane] = 0.0;
            }
            // Lanes that are not due may be overwritten, sampled ones not.
            let reach = if pass == due { Reach::Block } else { Reach::Own };
            told.place(map, &block.leg, pass, reach, scratch);
            let packed = kind.unwrap_or(false);
            // Sources of less than a line are made up to one.
            let few;
            if joints < line_joints(packed) {
                few = runs.map(|run| made_up(run, packed));
                runs = few.each_ref().map(|line| line.as_slice());
            }
            repeat(&mut runs, pass);
            if pass != 0
                && let Some(lines) = LineSources::new(&runs)
            {
                let streamed =
                    Streamed { poses: lines, packed, next: ahead.take(), own, back: back.as_ref() };
                let mut good = Row::ZERO;
                live(simd, map, &streamed, reach, kept, &mut good, scratch);
                if good != own {
                    refused |= lanes_of(pass)
                        .filter(|&lane| good.0[lane] < 0.5)
                        .fold(0, |mask, lane| mask | 1 << lane);
                }
            }
        }
        let without = missing | refused;
        for lane in lanes_of(without) {
            scratch.reference_pose(lane, kept);
        }
        if without != 0 {
            counts.missing.fetch_add(missing.count_ones(), Relaxed);
            counts.refused.fetch_add(refused.count_ones(), Relaxed);
        }
        counts.followed.fetch_add((lanes & !without).count_ones(), Relaxed);
        without
    }

    /// What a block's lanes will read.
    #[inline(always)]
    fn sources<'a, P: RawPoses<'a>>(&self, block: &Block, poses: P) -> Option<LineSources<'a>> {
        let mut runs: [&[f32]; BLOCK] = [&[]; BLOCK];
        let mut there = 0u16;
        for lane in lanes_of(block.live) {
            if let Some(cell) = self.cell(block.characters[lane]) {
                let run = poses.run(StreamId(cell.pose));
                runs[lane] = run;
                there |= u16::from(!run.is_empty()) << lane;
            }
        }
        repeat(&mut runs, there);
        LineSources::new(&runs)
    }
}

/// Fills lanes without a run with that of another.
#[inline]
fn repeat(runs: &mut [&[f32]; BLOCK], there: u16) {
    if there != 0 && there != u16::MAX {
        let some = runs[there.trailing_zeros() as usize];
        lanes_of(!there).for_each(|lane| runs[lane] = some);
    }
}

fn line_joints(packed: bool) -> usize {
    if packed { PACKED_JOINTS } else { LINE_JOINTS }
}

/// A line of a shorter run, identities at its end.
fn made_up(run: &[f32], packed: bool) -> [f32; BLOCK] {
    let mut line: [f32; BLOCK] = if packed {
        bytemuck::cast([SnormQuat::IDENTITY; PACKED_JOINTS])
    } else {
        bytemuck::cast([[0.0f32, 0.0, 0.0, 1.0]; LINE_JOINTS])
    };
    line.iter_mut().zip(run).for_each(|(to, from)| *to = *from);
    line
}

/// Why a character has no pose this frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Missing,
    Unsound,
}

/// First value of the root's rotation in a header: all zero only where nothing was written yet.
const HEADER_ROTATION: usize = 4;

/// Which of these lanes have a pose in their slot, and keep it: their transitions wait.
pub(crate) fn with_last_pose(writer: &SlotWriter<'_>, block: &mut Block, lanes: u16, dt: f32) -> u16 {
    lanes_of(lanes).fold(0, |held, lane| {
        let shown = block.tokens[lane].as_mut().is_some_and(|token| {
            let header = &writer.lines(token)[0].0;
            header[HEADER_ROTATION..][..4] != [0.0; 4]
        });
        if let Some(rare) = block.rare[lane].as_mut().filter(|_| block.transitions & (1 << lane) != 0) {
            rare.transition.elapsed = (rare.transition.elapsed - dt).max(0.0);
        }
        held | u16::from(shown) << lane
    })
}
