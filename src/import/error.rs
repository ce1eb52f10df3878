//! Refusals: which file, which part of it, and what would be right.

use std::path::PathBuf;

use thiserror::Error;

use super::bvh::BvhError;
use crate::error::BuildError;
use crate::rig::OverrideError;

/// Why a file could not be imported.
#[derive(Debug, Error)]
#[error("{}: {kind}", file.display())]
#[non_exhaustive]
pub struct ImportError {
    /// The file that was asked for; `<bytes>` for data in memory.
    pub file: PathBuf,
    /// What is wrong with it.
    #[source]
    pub kind: Refusal,
}

/// What is wrong with a file, without its name.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The operating system would not read it.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// A folder, or something that would be waited for or has no end ([`open_file`](super::open_file)).
    #[error("is {what}, not a regular file")]
    NotAFile {
        /// `a folder`, `a pipe`, `a socket` or `a device`.
        what: &'static str,
    },
    /// The GLB container is broken.
    #[error("broken GLB container at byte {offset}: {reason}")]
    Container {
        /// Where in the file.
        offset: usize,
        /// What is wrong and what would be right.
        reason: &'static str,
    },
    /// The JSON part is no JSON, or not that of such a document.
    #[error("broken JSON document at line {line}, column {column}: {reason}")]
    Json {
        /// Line of the JSON part, from 1.
        line: usize,
        /// Column of that line, from 1.
        column: usize,
        /// The parser's words.
        reason: String,
    },
    /// Another major version of the format.
    #[error("glTF version {found:?} is not supported; version 2.0 is needed (export the file again)")]
    Version {
        /// What the file says.
        found: String,
    },
    /// The file cannot be read without an extension that this importer does not know.
    #[error("the file requires extension {name:?}, which is not supported; export without it")]
    RequiredExtension {
        /// The first such extension.
        name: String,
    },
    /// An index points at nothing.
    #[error("{from} refers to {kind} {index}, but the file has {have}")]
    Reference {
        /// The object that refers.
        from: String,
        /// Kind of the object referred to.
        kind: &'static str,
        /// Its index.
        index: usize,
        /// How many the file has.
        have: usize,
    },
    /// A node is its own ancestor.
    #[error("node {node} {name:?} is its own ancestor; a hierarchy must be a forest")]
    NodeCycle {
        /// A node of the cycle.
        node: usize,
        /// Its name.
        name: String,
    },
    /// A node is the child of two nodes.
    #[error("node {node} {name:?} has two parents, nodes {first} and {second}; a hierarchy must be a forest")]
    NodeParents {
        /// The child.
        node: usize,
        /// Its name.
        name: String,
        /// One parent.
        first: usize,
        /// The other one.
        second: usize,
    },
    /// NaN or infinity in a node's transform.
    #[error("the transform of node {node} {name:?} is not finite")]
    NodeTransform {
        /// The node.
        node: usize,
        /// Its name.
        name: String,
    },
    /// A buffer has no data.
    #[error("buffer {buffer} has no data: {reason}")]
    Buffer {
        /// Its index.
        buffer: usize,
        /// Why, and what would be right.
        reason: String,
    },
    /// An accessor reads outside of what it is made of, or is not of the right kind.
    #[error("accessor {accessor}, {user}: {reason}")]
    Accessor {
        /// Its index.
        accessor: usize,
        /// What it is read for.
        user: String,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// Fewer or more inverse bind matrices than joints.
    #[error(
        "skin {skin} has {have} inverse bind matrices for {need} joints (ImportOptions::lenient fills up with identity)"
    )]
    InverseBindCount {
        /// Index of the skin.
        skin: usize,
        /// Matrices.
        have: usize,
        /// Joints.
        need: usize,
    },
    /// A skin is unusable.
    #[error("skin {skin}: {reason}")]
    Skin {
        /// Index of the skin.
        skin: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// A mesh primitive is unusable.
    #[error("mesh {mesh} {name:?}, primitive {primitive}: {reason}")]
    Mesh {
        /// Index of the mesh.
        mesh: usize,
        /// Its name.
        name: String,
        /// Which primitive.
        primitive: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// An animation channel is unusable.
    #[error("animation {animation} {name:?}, channel {channel}: {reason}")]
    Channel {
        /// Index of the animation.
        animation: usize,
        /// Its name.
        name: String,
        /// Which channel.
        channel: usize,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// The content claims more memory than a file of its size may.
    #[error(
        "{what} would need more memory than a file of {file_bytes} bytes may ask for; the file is damaged or shares its data too often"
    )]
    TooLarge {
        /// What was about to be read.
        what: &'static str,
        /// Size of the file with its buffers.
        file_bytes: usize,
    },
    /// Neither the name nor the content is of a format that is read.
    #[error("is of no format that is read; those are glTF, GLB, VRM, BVH and DeepMimic motions")]
    UnknownFormat,
    /// A frame of a motion text is unusable.
    #[error("frame {frame} of the motion: {reason}")]
    Motion {
        /// From 0.
        frame: usize,
        /// What is wrong.
        reason: String,
    },
    /// A BVH file is broken.
    #[error("broken BVH at {0}")]
    Bvh(#[from] BvhError),
    /// The result is no valid skeleton or clip.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Overrides of roles or reference pose are unusable.
    #[error("{0}")]
    Overrides(#[from] OverrideError),
    /// A contacts sidecar is unusable.
    #[error("{0}")]
    Sidecar(String),
}
