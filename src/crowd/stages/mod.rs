//! The stages of a frame, each a kernel over one block.
//!
//! | stage    | reads                                   | writes                                      |
//! |----------|-----------------------------------------|---------------------------------------------|
//! | advance  | playback rows, root motion of the clips | times, world root, displacement             |
//! | sample   | times, weights, clip rows               | local deltas, pelvis offset, contact weights |
//! | live     | poses of streams, live maps             | the same, of characters that follow a stream |
//! | inertia  | local deltas, transitions               | local deltas, pelvis offset, contact weights |
//! | layers   | local deltas, layers, their clips       | local deltas, pelvis offset, contact weights |
//! | feet     | local deltas, ground, foot state        | leg deltas, pelvis offset, foot state       |
//! | model    | local deltas, offsets                   | model rotations and positions               |
//! | palette  | model pose, skin constants              | the character's slot                        |

pub(crate) mod advance;
mod bones;
pub(crate) mod feet;
pub(crate) mod header;
pub(crate) mod inertia;
mod layer_clocks;
pub(crate) mod layers;
pub(crate) mod live;
pub(crate) mod model;
pub(crate) mod palette;
pub(crate) mod sample;
mod travel;

use super::block::MixedRows;
use crate::lanes::{Lanes, Vec3};
use crate::rig::MAX_FEET;

/// Proportions of the characters of a block: broadcast where they share a rig, per lane where not. The branch is
/// the same for a whole block and predicted; a second copy of each kernel was not worth its compile time.
#[derive(Clone, Copy)]
pub(crate) enum Proportions<'a> {
    Shared { offsets: &'a [[f32; 3]], soles: &'a [[[f32; 3]; 2]; MAX_FEET] },
    Mixed(&'a MixedRows),
}

impl Proportions<'_> {
    #[inline(always)]
    pub fn offset<L: Lanes>(&self, joint: usize, at: usize) -> Vec3<L> {
        match self {
            Self::Shared { offsets, .. } => Vec3::splat(offsets[joint]),
            Self::Mixed(rows) => Vec3::load(&rows.offsets[joint], at),
        }
    }

    /// `end` 0 is the heel, 1 the ball.
    #[inline(always)]
    pub fn sole<L: Lanes>(&self, leg: usize, end: usize, at: usize) -> Vec3<L> {
        match self {
            Self::Shared { soles, .. } => Vec3::splat(soles[leg][end]),
            Self::Mixed(rows) => Vec3::load(&rows.soles[leg][end], at),
        }
    }
}
