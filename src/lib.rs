//! `throng` animates crowds of skinned characters on the CPU.

pub mod clip;
pub mod content;
pub mod crowd;
pub mod error;
#[cfg(feature = "import")]
pub mod import;
pub mod lanes;
pub mod retarget;
pub mod rig;
pub mod stress;
