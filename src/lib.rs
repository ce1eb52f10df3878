//! `throng` animates crowds of skinned characters on the CPU.

pub mod clip;
pub mod content;
pub mod error;
pub mod rig;
