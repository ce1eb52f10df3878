//! `throng` animates crowds of skinned characters on the CPU: thousands that differ in rig, proportions, clips,
//! phase and ground, every one with its feet planted.
//!
//! ```text
//!  glTF file --import--> RawCharacter, RawClip <--content-- built in
//!                             |           |
//!                        rig::Rig    retarget::bind --> clip::BoundClip
//!                             \___________________________/
//!                                           |
//!                                     crowd::Crowd          blocks of 16 characters, one row = one cache line
//!                                           |
//!        Crowd::frame    advance -> sample -> feet <-> Ground -> model -> palette
//!                                           |
//!                                    output slots           header + skinning matrices, stable per character
//! ```
//!
//! 1. A character comes from [`import`] or [`content`] as a [`rig::RawCharacter`]; [`rig::Rig::build`] makes its
//!    constants. Rigs with the same joints by role share a [`rig::Topology`].
//! 2. [`retarget::bind`] turns a clip of any skeleton into rows of a topology, once.
//! 3. [`crowd::Crowd`] keeps the characters. [`crowd::Crowd::frame`] takes each block through all stages, on any
//!    [`crowd::Executor`], over any [`crowd::Ground`].
//! 4. [`crowd::Crowd::output`] is what a renderer uploads; [`crowd::SkinnedMesh`] skins without one.
//!
//! # Features
//!
//! * `import` (default): glTF, GLB, VRM, BVH and DeepMimic files.
//! * `rayon` (default): an executor over rayon's pool. Without it the serial one and a host's own remain.
//! * `hecs` (default): components and crossings of `lod` for a hecs world.
//!
//! # Conventions
//!
//! Right-handed, +Y up, +Z forward, left is +X; metres, radians, seconds; quaternions (x, y, z, w); column vectors.
//! Matrices of a 3x4 palette are three rows of four, translation last.

pub mod clip;
pub mod content;
pub mod crowd;
pub mod error;
#[cfg(feature = "import")]
pub mod export;
#[cfg(feature = "import")]
pub mod import;
pub mod lanes;
pub mod lod;
pub mod retarget;
pub mod rig;
pub mod stress;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadMe;
