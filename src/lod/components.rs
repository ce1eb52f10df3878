//! Components of a hecs world's characters.

use crate::clip::Planar;
use crate::crowd::Handle;

/// Makes an entity a character of the crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Character(pub Handle);

/// Root motion of the last frame, metres and radians, in the axes of where it started. Added by those who want it;
/// [`Mirror::write_back`](super::Mirror::write_back) fills it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RootMotion(pub Planar);

/// Makes a character a hero, wherever it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hero;

/// How much a character counts: one of importance 2 is treated as if it were half as far away. Without it: 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Importance(pub f32);
