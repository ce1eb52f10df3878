//! The way back to files: GLB and BVH that other tools read.
//!
//! ```text
//! RawCharacter, RawClip --document--> a GLB of its own: skeleton, skins, meshes, clips
//! a file's bytes, RawClip --animate--> the same file with other clips: meshes, materials, textures stay
//! RawSkeleton, RawClip  --bvh-------> BVH
//! ```
//!
//! Writers give bytes; whoever stores them decides where, and does it whole or not at all.

mod animate;
mod animation;
mod binary;
pub mod bvh;
mod document;
mod error;
mod reduce;

pub use animate::{Original, animate};
pub use document::glb;
pub use error::ExportError;

/// Choices of a writer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExportOptions {
    /// Leaves out keys that a straight line between their neighbours gives to within this: radians of a rotation, metres
    /// of a translation. `None` keeps all.
    pub reduce: Option<f32>,
}
