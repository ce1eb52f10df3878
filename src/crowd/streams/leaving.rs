//! Ways out of a stream: it goes on for two frames more, of which the first tells where it was and the second how fast, and
//! then gives way to clips or to another stream as an old motion does.

use super::beside::copy_lane;
use super::pass::{line_joints, made_up};
use super::root;
use super::{Cell, Key, SnormQuat, Stream, StreamPoses, StreamTable};
use crate::crowd::scratch::Scratch;
use crate::crowd::stages::live::{NO_TURN, Native, Reach, Streamed, Travels, live};
use crate::lanes::{BLOCK, LineSources, Row, Simd};

/// What a character goes over to.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub character: u32,
    /// Where it was is known already.
    pub placed: bool,
    /// A stream that comes after; else clips, which the character has already.
    pub(super) next: Option<Key>,
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
        self.follows(character) && self.cells[character as usize].leaves
    }

    /// Lets a stream give way to clips or to another one; where it is about to already, to that instead.
    pub fn leave(&mut self, character: u32, next: Option<&Stream>) {
        let next = next.map(|stream| self.key_of(stream));
        let known = self.place_of(character);
        let old = match known {
            Some(at) => core::mem::replace(&mut self.leaving[at].next, next),
            None => {
                if self.follows(character) {
                    self.cells[character as usize].leaves = true;
                    self.leaving.push(Leaving { character, placed: false, next });
                    return;
                }
                next
            }
        };
        if let Some(old) = old {
            self.unfollow(old.map());
        }
    }

    /// Nothing comes of it.
    pub fn stay(&mut self, character: u32) {
        if let Some(at) = self.place_of(character) {
            let leaving = self.leaving.swap_remove(at);
            if let Some(next) = leaving.next {
                self.unfollow(next.map());
            }
            if let Some(cell) = self.cells.get_mut(character as usize) {
                cell.leaves = false;
            }
        }
    }

    /// The stream has given way.
    pub fn left(&mut self, at: usize) {
        let Leaving { character, next, .. } = self.leaving.swap_remove(at);
        let Some(old) = self.key(character) else { return };
        let at = character as usize;
        (self.keys[at], self.cells[at]) = (next.unwrap_or(Key::NOBODY), Cell::EMPTY);
        self.followers -= usize::from(next.is_none());
        self.unfollow(old.map());
    }

    pub(super) fn next_of(&self, character: u32) -> Option<Option<Key>> {
        self.place_of(character).map(|at| self.leaving[at].next)
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
        let key = self.key(character)?;
        let map = self.map(key)?;
        let pose = self.pose(key, poses).ok()?;
        let mut way = [0.0; 3];
        let mut turn = None;
        if key.travels() {
            let root = &self.cells[character as usize].root;
            let (back, ahead) = root.ahead(root::Pose::of(map, &pose)?);
            way = [ahead[0] * map.per_leg, ahead[1] * map.per_leg, ahead[2]];
            turn = Some(back);
        }
        let (few, lines, mut rows);
        let native = if let Some((beside, from)) = pose.beside {
            // Lent until the kernel is done: nothing may return before it is given back.
            rows = core::mem::take(&mut scratch.gathered);
            rows.clear();
            rows.extend_from_slice(beside);
            let copy = if pose.packed { copy_lane::<SnormQuat> } else { copy_lane::<[f32; 4]> };
            copy(beside, from.into(), &mut rows, 0);
            Native::Beside { now: &rows, next: &[] }
        } else {
            few = made_up(pose.words, pose.packed);
            let run = if pose.joints < line_joints(pose.packed) { &few } else { pose.words };
            rows = Vec::new();
            lines = LineSources::new(&[run; BLOCK])?;
            Native::Lines { now: &lines, next: None }
        };
        let (mut back, mut own, mut travels) = (NO_TURN, Row::ZERO, Row::ZERO);
        if let Some(turn) = turn {
            back.iter_mut().zip(turn).for_each(|(row, value)| row.0[0] = value);
            travels.0[0] = 1.0;
        }
        own.0[0] = 1.0;
        let streamed = Streamed {
            poses: native,
            packed: pose.packed,
            position: &pose.position.map(Row::splat),
            contacts: &pose.contacts.map(Row::splat),
            leg: &Row::splat(leg),
            own,
            travels: key.travels().then_some(Travels { back: &back, lanes: &travels }),
        };
        let mut good = Row::ZERO;
        live(simd, map, &streamed, Reach::Own, joints, &mut good, scratch);
        if pose.beside.is_some() {
            scratch.gathered = rows;
        }
        (good.0[0] > 0.5).then_some(way)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::content::{self, BodyPlan, RigKind};
    use crate::crowd::{StreamBuffer, StreamId, StreamRoot};
    use crate::retarget::{BindSource, LiveMap};
    use crate::rig::Rig;

    /// Or a later frame would allocate it again.
    #[test]
    fn a_refused_pose_loses_no_reserved_memory() {
        let body = content::character(RigKind::Biped, &BodyPlan::adult());
        let (skeleton, reference) = (&body.character.skeleton, body.reference());
        let rig = Rig::build(&body.rig_source()).expect("a rig");
        let source = BindSource { skeleton, roles: &body.roles, reference: &reference };
        let map = Arc::new(LiveMap::build(source, &rig).expect("a map"));
        let joints = map.source_joints();
        let mut buffer = StreamBuffer::<[f32; 4]>::new(&[joints]).expect("a buffer");
        let mut table = StreamTable::default();
        table.set(0, &Stream { id: StreamId(0), map, root: StreamRoot::Travel });
        let mut scratch = Scratch::default();
        scratch.reserve(rig.topology().len() + table.temporaries());
        scratch.reserve_gathered(joints);
        let room = scratch.gathered.capacity();
        assert!(room >= 4 * joints);
        for (rotation, taken) in [([0.0, 0.0, 0.0, 1.0], true), ([f32::NAN; 4], false)] {
            let mut pose = buffer.pose_mut(StreamId(0)).expect("a stream");
            pose.rotations_mut().for_each(|to| *to = rotation);
            let way =
                table.alone(Simd::fastest(), 0, (&buffer).into(), 1.0, rig.topology().len(), &mut scratch);
            assert_eq!((way.is_some(), scratch.gathered.capacity()), (taken, room));
        }
    }
}
