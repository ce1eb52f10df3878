//! What a writer refuses.

use thiserror::Error;

use crate::error::BuildError;

/// Why something was not written.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// Skeleton or clip are not valid.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A skin or a mesh refers to what is not there.
    #[error("{what} refers to {kind} {index}, of {have}")]
    Reference {
        /// Who refers.
        what: String,
        /// To what kind of thing.
        kind: &'static str,
        /// Which.
        index: usize,
        /// How many there are.
        have: usize,
    },
    /// Larger than the format can hold.
    #[error("the file would have {bytes} bytes; GLB holds less than 4 GiB")]
    Size {
        /// Bytes.
        bytes: usize,
    },
    /// The file that clips were to be put into is not what it was when it was imported.
    #[error("the original file: {what}")]
    Original {
        /// What is wrong with it.
        what: String,
    },
}
