//! What may be wrong with an archive, or with what should become one.

use thiserror::Error;

use crate::error::BuildError;

/// Why an archive cannot be read or made.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Other first bytes.
    #[error("this is no clip archive: it does not begin with \"THRONGCL\"")]
    Magic,
    /// Another version of the format.
    #[error("this archive has version {have} of the format; version {need} is read; pack it again")]
    Version {
        /// The file's.
        have: u32,
        /// This library's.
        need: u32,
    },
    /// More or fewer bytes than the header says.
    #[error("the archive says that it has {declared} bytes, but there are {have}; is it cut off?")]
    Length {
        /// Bytes that there should be.
        declared: u64,
        /// Bytes that there are.
        have: u64,
    },
    /// The bytes are not those that were written.
    #[error("the archive is damaged: its hash is {have:016x}, but should be {declared:016x}")]
    Hash {
        /// Of the header.
        declared: u64,
        /// Of the bytes.
        have: u64,
    },
    /// A table or a reference makes no sense.
    #[error("the archive's {what} cannot be right: {reason}")]
    Table {
        /// Which.
        what: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// A clip makes no sense.
    #[error("clip \"{clip}\" of the archive cannot be right: {reason}")]
    Clip {
        /// Its name, or its number where it has none.
        clip: String,
        /// Why not.
        reason: &'static str,
    },
    /// Unpacked clips would take more memory than was allowed.
    #[error("the archive's clips take {need} bytes unpacked; {limit} are allowed")]
    Memory {
        /// Bytes of rows.
        need: u64,
        /// The limit asked for.
        limit: u64,
    },
    /// A clip of another topology than the archive's or library's.
    #[error("clip \"{clip}\" is of another topology; bind it to this one first")]
    OtherTopology {
        /// Its name.
        clip: String,
    },
    /// Two clips of one name.
    #[error("two clips are called \"{clip}\"; names tell the clips of a library apart")]
    Name {
        /// The name.
        clip: String,
    },
    /// A topology that a file cannot hold.
    #[error("the topology of rig \"{rig}\" does not come back from its parts")]
    Topology {
        /// Name of the rig.
        rig: String,
    },
    /// More than offsets can tell.
    #[error("the clips take more than 4 GiB packed; make several archives")]
    Size,
    /// A tolerance or distance that is none.
    #[error("{what} is {value} m; it must be above 0 and at most {most}")]
    Setting {
        /// Which.
        what: &'static str,
        /// What was given.
        value: f64,
        /// Largest that makes sense.
        most: f64,
    },
    /// A clip could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}
