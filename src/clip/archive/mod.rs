//! Clips of one topology in one file: small, checked, readable where it lies in memory.
//!
//! [`PackedClip::fit`] tells each clip in as few bits as a tolerance allows, [`pack`] puts clips together, [`Archive`]
//! reads them.
//!
//! ```no_run
//! # use throng::clip::archive::Archive;
//! let bytes = std::fs::read("moves.throng")?;
//! let archive = Archive::open(&bytes)?;
//! let walk = archive.find("walk").and_then(|index| archive.clip(index)).transpose()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bits;
mod error;
mod fit;
mod format;
mod measure;
mod meta;
mod ordered;
mod pack;
mod track;
mod unpack;

pub use error::ArchiveError;
pub use format::MAGIC;
pub use pack::{PackSettings, PackedClip, pack};
pub use unpack::{Archive, ClipInfo};

/// What the names of archives end with, after a dot.
pub const ARCHIVE_EXTENSION: &str = "throng";

/// Version of the format that is written and read.
pub const VERSION: u32 = 1;

/// Bytes of rows that [`Archive::open`] lets clips take together, unpacked.
pub const UNPACKED_LIMIT: u64 = 1 << 30;
