//! Where the native rotations of a pass lie.

use crate::lanes::{LineSources, Row, prefetch_rows};
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
    /// Sixteen poses side by side: all lanes' rotations of joint 0, all lanes' of joint 1, ...; each lane's where
    /// `place_of_4` says, 16-bit ones where `place_of_2` does.
    Beside { now: &'a [Row], next: &'a [Row] },
}

/// Asks for a joint's rows of another block, if it has any.
#[inline(always)]
pub(super) fn ask<const N: usize>(rows: &[[Row; N]], joint: usize) {
    if let Some(rows) = rows.get(joint) {
        prefetch_rows(rows);
    }
}
