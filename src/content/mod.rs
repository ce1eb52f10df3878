//! Built-in characters and clips, made by code: parametric bodies on several rigs, and locomotion
//! clips synthesised from published gait parameters with exact contacts and known speeds.
//!
//! What comes out is what an importer would hand over: [`RawCharacter`](crate::rig::RawCharacter),
//! [`RoleMap`](crate::rig::RoleMap), [`RawClip`](crate::clip::RawClip). Everything is deterministic.

mod anatomy;
mod body;
mod carriage;
mod clip;
mod curve;
mod gait;
mod library;
mod mesh;
mod motion;
mod names;
mod plan;
mod rig;
pub(crate) mod rng;
mod solve;
mod stance;
mod stand;

pub use clip::{ClipKind, clip};
pub use gait::Gait;
pub use library::{gait_clip, library};
pub use plan::BodyPlan;
pub use rig::{BuiltIn, RigKind, SolePoints, character, variants};
