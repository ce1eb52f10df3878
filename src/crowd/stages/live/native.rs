//! Where the native rotations of a pass lie.

use crate::lanes::{LineSources, Row, place_of_2, place_of_4, prefetch_rows};
use crate::rig::MAX_FEET;

/// Native poses of the lanes of one pass. Other lanes' have anything.
#[derive(Clone, Copy)]
pub(crate) struct Streamed<'a> {
    /// Rotations.
    pub poses: Native<'a>,
    /// They are 16-bit.
    pub packed: bool,
    /// Model-space place of the carrier, metres.
    pub position: &'a [Row; 3],
    /// Not finite where they are not told.
    pub contacts: &'a [Row; MAX_FEET],
    /// Leg lengths of the characters, metres.
    pub leg: &'a Row,
    /// 1 for lanes of this pass.
    pub own: Row,
    /// What is taken out of the poses, where some travel.
    pub travels: Option<Travels<'a>>,
}

/// Headings and places that move the root instead.
#[derive(Clone, Copy)]
pub(crate) struct Travels<'a> {
    /// Inverse of the heading; no turn for others.
    pub back: &'a [Row; 4],
    /// 1 for lanes that travel.
    pub lanes: &'a Row,
}

/// Memory that rotations are read from, and what the next block will read: asked for while this one is computed.
#[derive(Clone, Copy)]
pub(crate) enum Native<'a> {
    /// Each pose in one piece, anywhere.
    Lines { now: &'a LineSources<'a>, next: Option<&'a LineSources<'a>> },
    /// Sixteen poses side by side; of the next, rotations.
    Beside { now: Beside<'a>, next: &'a [Row] },
}

/// Sixteen poses side by side: all lanes' rotations of joint 0, all lanes' of joint 1, ...; each lane's where
/// [`place_of_4`] says, 16-bit ones where [`place_of_2`] does.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'a> {
    pub rows: &'a [Row],
    /// Lanes whose pose is elsewhere.
    pub moved: &'a [Moved<'a>],
}

/// Asks for a joint's rows of another block, if it has any.
#[inline(always)]
pub(super) fn ask<const N: usize>(rows: &[[Row; N]], joint: usize) {
    if let Some(rows) = rows.get(joint) {
        prefetch_rows(rows);
    }
}

/// A lane whose pose is another one of another sixteen.
#[derive(Clone, Copy)]
pub(crate) struct Moved<'a> {
    pub lane: u8,
    /// Which of its sixteen it is, by lane.
    pub from: u8,
    pub rows: &'a [Row],
}

impl Moved<'_> {
    pub const NOBODY: Self = Self { lane: 0, from: 0, rows: &[] };
}

impl Beside<'_> {
    /// Four rows of one joint, with what lies elsewhere in its place. Reading a value here and one there is for lanes whose
    /// characters have moved; see [`Crowd::arrange_streams`](crate::crowd::Crowd::arrange_streams).
    #[cold]
    #[inline(never)]
    pub fn gathered_4(&self, joint: usize) -> [Row; 4] {
        let mut rows = self.rows.as_chunks().0[joint];
        let fours: &mut [[f32; 4]; 16] = bytemuck::cast_mut(&mut rows);
        for moved in self.moved {
            let other: &[[f32; 4]; 16] = bytemuck::cast_ref(&moved.rows.as_chunks::<4>().0[joint]);
            fours[place_of_4(moved.lane.into())] = other[place_of_4(moved.from.into())];
        }
        rows
    }

    /// The same of 16-bit rotations.
    #[cold]
    #[inline(never)]
    pub fn gathered_2(&self, joint: usize) -> [Row; 2] {
        let mut rows = self.rows.as_chunks().0[joint];
        let twos: &mut [[f32; 2]; 16] = bytemuck::cast_mut(&mut rows);
        for moved in self.moved {
            let other: &[[f32; 2]; 16] = bytemuck::cast_ref(&moved.rows.as_chunks::<2>().0[joint]);
            twos[place_of_2(moved.lane.into())] = other[place_of_2(moved.from.into())];
        }
        rows
    }
}
