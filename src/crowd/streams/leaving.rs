//! Ways out of a stream: it goes on for two frames more, of which the first tells where it was and the second how fast, and
//! then gives way to clips or to another stream as an old motion does.

use super::root;
use super::{Cell, NOBODY, RawPose, Rotations, Stream, StreamPoses, StreamTable, Told, line_joints, made_up};
use crate::crowd::scratch::Scratch;
use crate::crowd::stages::live::{NO_TURN, Reach, Streamed, live};
use crate::lanes::{BLOCK, LineSources, Row, Simd};

/// What a character goes over to.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub character: u32,
    /// Where it was is known already.
    pub placed: bool,
    /// A stream that comes after; else clips, which the character has already.
    pub(super) next: Option<Cell>,
}

impl StreamTable {
    /// Characters that are about to leave their streams.
    pub fn leaving(&self) -> &[Leaving] {
        &self.leaving
    }

    pub fn placed(&mut self, at: usize) {
        self.leaving[at].placed = true;
    }

    /// True if the character's stream is about to give way.
    pub fn leaves(&self, character: u32) -> bool {
        self.cell(character).is_some_and(|cell| cell.leaves)
    }

    /// Lets a stream give way to clips or to another one; where it is about to already, to that instead.
    pub fn leave(&mut self, character: u32, next: Option<&Stream>) {
        let next = next.map(|stream| self.cell_of(stream));
        let known = self.place_of(character);
        let old = match known {
            Some(at) => core::mem::replace(&mut self.leaving[at].next, next),
            None => {
                if let Some(cell) = self.cells.get_mut(character as usize).filter(|cell| cell.map != NOBODY) {
                    cell.leaves = true;
                    self.leaving.push(Leaving { character, placed: false, next });
                    return;
                }
                next
            }
        };
        if let Some(old) = old {
            self.unfollow(old.map);
        }
    }

    /// Nothing comes of it.
    pub fn stay(&mut self, character: u32) {
        if let Some(at) = self.place_of(character) {
            let leaving = self.leaving.swap_remove(at);
            if let Some(next) = leaving.next {
                self.unfollow(next.map);
            }
            if let Some(cell) = self.cells.get_mut(character as usize) {
                cell.leaves = false;
            }
        }
    }

    /// The stream has given way.
    pub fn left(&mut self, at: usize) {
        let Leaving { character, next, .. } = self.leaving.swap_remove(at);
        let Some(cell) = self.cells.get_mut(character as usize).filter(|cell| cell.map != NOBODY) else {
            return;
        };
        let ends = next.is_none();
        let old = core::mem::replace(cell, next.unwrap_or(Cell::EMPTY));
        self.followers -= usize::from(ends);
        self.unfollow(old.map);
    }

    pub(super) fn next_of(&self, character: u32) -> Option<Option<&Cell>> {
        self.place_of(character).map(|at| self.leaving[at].next.as_ref())
    }

    /// Among those that leave; of all others nobody looks through the list.
    pub(super) fn place_of(&self, character: u32) -> Option<usize> {
        let leaves = self.cells.get(character as usize).is_some_and(|cell| cell.leaves);
        if leaves { self.leaving.iter().position(|leaving| leaving.character == character) } else { None }
    }

    /// Brings one character's pose in, alone, into lane 0; gives its way over the ground since the last frame: x, z, leg
    /// lengths, and yaw. `None` without a pose that is one.
    pub fn alone(
        &self,
        simd: Simd,
        character: u32,
        poses: StreamPoses<'_>,
        leg: f32,
        joints: usize,
        scratch: &mut Scratch,
    ) -> Option<[f32; 3]> {
        let cell = self.cell(character)?;
        let map = self.map(cell)?;
        let pose = self.pose(cell, poses).ok()?;
        let packed = matches!(pose.rotations, Rotations::Snorm16(_));
        let few = made_up(pose.rotations.words(), packed);
        let run = if pose.rotations.len() < line_joints(packed) { &few } else { pose.rotations.words() };
        let mut back = NO_TURN;
        let mut way = [0.0; 3];
        if cell.travels {
            let turn;
            (turn, way) = cell.root.ahead(root::Pose::of(map, &pose)?);
            way = [way[0] * map.per_leg, way[1] * map.per_leg, way[2]];
            back.iter_mut().zip(turn).for_each(|(row, value)| row.0[0] = value);
        }
        let mut own = Row::ZERO;
        own.0[0] = 1.0;
        let streamed = Streamed {
            poses: LineSources::new(&[run; BLOCK])?,
            packed,
            next: None,
            own,
            back: cell.travels.then_some(&back),
        };
        let mut good = Row::ZERO;
        live(simd, map, &streamed, Reach::Own, joints, &mut good, scratch);
        let mut told = Told::NOTHING;
        told.put(0, RawPose::of(pose), cell.travels);
        told.place(map, &Row::splat(leg), 1, Reach::Own, scratch);
        (good.0[0] > 0.5).then_some(way)
    }
}
