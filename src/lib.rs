//! `throng` animates crowds of skinned characters on the CPU.

pub mod clip;
pub mod crowd;
pub mod error;
pub mod lanes;
pub mod retarget;
pub mod rig;
