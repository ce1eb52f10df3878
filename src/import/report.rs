//! What an import converted, guessed, ignored or dropped.

use std::fmt;
use std::path::PathBuf;

use glam::{Mat4, Quat};

use super::Sidecar;
use super::bvh::{BvhReport, PositionReason};
use crate::rig::{RoleReport, Side};

/// Everything that an import did to a file's content.
#[derive(Clone, Debug, Default)]
pub struct ImportReport {
    /// What a user should know, in order of appearance.
    pub warnings: Vec<Warning>,
    /// Turn and scale from the file's axes and units to the house's.
    pub conversion: Conversion,
    /// How far everything was lifted after that, metres: the ground of the file was that much below its origin.
    pub lift: f32,
    /// glTF node of each joint; of other formats, the joint's place in the file.
    pub nodes: Vec<usize>,
    /// True for joints that no skin lists: ancestors and nodes between joints.
    pub virtual_joints: Vec<bool>,
    /// For each skin, the matrix that its meshes were multiplied by (and its inverse binds by the inverse of), after
    /// `conversion`: file mesh space to model space at rest.
    pub mesh_space: Vec<Mat4>,
    /// Contacts that lay beside the file, with the marked points of the soles.
    pub sidecars: Vec<Sidecar>,
    /// Where roles and reference pose were corrected from, if they were.
    pub overrides: Option<PathBuf>,
    /// How the roles were found.
    pub roles: RoleReport,
    /// What a BVH file said and how it was read.
    pub bvh: Option<BvhReport>,
}

/// Warnings while they are collected. A damaged file can give cause for any number of them; a user reads a few.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    list: Vec<Warning>,
    left_out: usize,
}

impl Warnings {
    const MOST: usize = 500;

    pub(super) fn push(&mut self, warning: Warning) {
        if self.list.len() < Self::MOST {
            self.list.push(warning);
        } else {
            self.left_out += 1;
        }
    }

    /// Adds a warning once.
    pub(super) fn push_new(&mut self, warning: Warning) {
        if !self.list.contains(&warning) {
            self.push(warning);
        }
    }

    pub(super) fn into_list(mut self) -> Vec<Warning> {
        if self.left_out > 0 {
            self.list.push(Warning::More { count: self.left_out });
        }
        self.list
    }
}

/// The one change of axes and units: `house = scale * (rotation * file)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conversion {
    /// File axes to +Y up, +Z forward.
    pub rotation: Quat,
    /// File units to metres.
    pub scale: f32,
}

impl Default for Conversion {
    fn default() -> Self {
        Self { rotation: Quat::IDENTITY, scale: 1.0 }
    }
}

/// Something that was not taken over as the file has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Warning {
    /// Neither skin nor bare node: the skeleton is empty.
    NoSkeleton,
    /// A node's matrix holds shear, which joints cannot; the rotation nearest to it is used.
    Shear { node: usize, name: String },
    /// A node's matrix or scale is singular.
    Singular { node: usize, name: String },
    /// A node has both a matrix and separate components; the matrix is used.
    MatrixAndComponents { node: usize, name: String },
    /// A rotation was no unit quaternion; it was normalised (identity if it was zero).
    RotationNormalised { node: usize, name: String },
    /// Constant scale of these joints went into offsets and inverse binds.
    ScaleFolded { joints: Vec<String>, largest: f32 },
    /// Constant non-uniform scale above joints that turn: exact at rest only.
    NonUniformScale { joint: String },
    /// The scale of these joints is animated and stays in the tracks.
    AnimatedScale { clip: String, joints: Vec<String> },
    /// Axes were turned.
    AxesTurned { degrees: f32, forward: String, up: String },
    /// Units were converted.
    UnitsConverted { scale: f32, leg: f32 },
    /// The skin gives no inverse binds; identity is used as the format says.
    NoInverseBinds { skin: usize },
    /// The inverse binds are compressed or not in the file; those of the rest pose are used.
    InverseBindsUnreadable { skin: usize },
    /// Lenient: missing inverse binds are identity, surplus ones are dropped.
    InverseBindCount { skin: usize, have: usize, need: usize },
    /// A mesh whose data are compressed or not in the file was dropped.
    MeshDropped { mesh: usize, name: String, reason: &'static str },
    /// Textures of this kind are not read.
    Textures { extension: String },
    /// A mesh that hangs on no joint was dropped.
    MeshWithoutJoint { node: usize, name: String },
    /// A rigid mesh under a joint became a skinned one.
    RigidMesh { node: usize, name: String, joint: String },
    /// Points and lines were dropped.
    NotTriangles { mesh: usize, name: String },
    /// A primitive without positions was dropped.
    NoPositions { mesh: usize, name: String },
    /// A node has a skin and its mesh no joints and weights; it was bound to the first joint.
    NoWeights { mesh: usize, name: String },
    /// Morph targets are not read.
    MorphTargets { mesh: usize, name: String },
    /// Vertices with more influences than are kept; the largest stay.
    InfluencesPruned { mesh: usize, name: String, vertices: usize, most: usize },
    /// Vertices without any weight are rigid to the skin's first entry.
    WeightlessVertices { mesh: usize, name: String, vertices: usize },
    /// Influences of joints that the skin does not have went to its first entry.
    InfluenceOutOfRange { mesh: usize, name: String, vertices: usize },
    /// Negative weights count as zero.
    NegativeWeights { mesh: usize, name: String, vertices: usize },
    /// Two or more joints share a name; everything is bound by index.
    DuplicateNames { names: Vec<String> },
    /// Channels that move nodes outside of the skeleton, or morph weights.
    ChannelsDropped { clip: String, channels: usize },
    /// Channels whose data are compressed or not in the file.
    ChannelsUnreadable { clip: String, channels: usize },
    /// Channels that move what an earlier channel of the clip moves already; the earlier ones count.
    ChannelsRepeated { clip: String, channels: usize },
    /// Key times that did not rise were dropped.
    KeysDropped { clip: String, keys: usize },
    /// The ground speed of an in-place cycle was estimated from its stance feet, metres per second.
    SpeedEstimated { clip: String, speed: f32 },
    /// Neither the file nor its format says how long a unit is: this many metres were taken.
    UnitsGuessed { scale: f32, leg: f32, unit: Option<&'static str> },
    /// Position channels and OFFSET of one joint: how they were read, where that makes a difference.
    PositionsRead { added: bool, reason: PositionReason },
    /// OFFSET lines with more than three numbers; the first three count.
    LongOffsets { joints: usize },
    /// More or fewer frames than announced.
    FrameCount { declared: usize, found: usize },
    /// The pose without any rotation does not stand; that of this frame is the rest pose.
    RestFromFrame { frame: usize },
    /// The feet were that far below the origin, metres; everything was lifted onto the ground.
    Lifted { by: f32 },
    /// Frame 0 is a pose for calibration, and the clip starts behind it.
    CalibrationFrame,
    /// The VRM part of the file could not be read; joints are told by their names.
    VrmUnreadable { reason: String },
    /// A human bone was left out.
    HumanBone { bone: String, reason: &'static str },
    /// A spring names a group of colliders that is not there.
    ColliderGroup { spring: String, group: u64 },
    /// An expression moves a morph target that is not there.
    ExpressionBind { expression: String, index: u64 },
    /// Contacts beside the file that cannot be read: nobody knows whether they are the file's.
    ContactsUnreadable { file: String, reason: String },
    /// A contact counts the heel or the ball as down while the clip has it in the air: it stays that high above the
    /// ground, metres, where the rest of the foot is put onto it; at most at that time of the clip, seconds.
    ContactInAir { clip: String, side: Side, part: &'static str, height: f32, time: f32 },
    /// A contact counts the ball as down while the clip moves it over the ground faster than a foot is held, metres per
    /// second; at most at that time of the clip, seconds.
    ContactMoves { clip: String, side: Side, speed: f32, time: f32 },
    /// There were more warnings than are kept.
    More { count: usize },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSkeleton => f.write_str("the file has neither a skin nor bare nodes: no skeleton"),
            Self::Shear { node, name } => {
                write!(f, "the matrix of node {node} {name:?} holds shear; the nearest rotation is used")
            }
            Self::Singular { node, name } => {
                write!(f, "the matrix or scale of node {node} {name:?} is singular")
            }
            Self::MatrixAndComponents { node, name } => {
                write!(f, "node {node} {name:?} has a matrix and separate components; the matrix is used")
            }
            Self::RotationNormalised { node, name } => {
                write!(f, "the rotation of node {node} {name:?} was no unit quaternion; it was normalised")
            }
            Self::ScaleFolded { joints, largest } => write!(
                f,
                "constant scale (up to {largest}) folded into offsets and inverse binds: {}",
                list(joints)
            ),
            Self::NonUniformScale { joint } => write!(
                f,
                "constant non-uniform scale above joint {joint:?}, which is animated: exact at rest only"
            ),
            Self::AnimatedScale { clip, joints } => {
                write!(f, "clip {clip:?} animates scale: {}", list(joints))
            }
            Self::AxesTurned { degrees, forward, up } => {
                write!(f, "turned by {degrees} degrees: the file faces {forward}, up is {up}")
            }
            Self::UnitsConverted { scale, leg } => {
                write!(f, "scaled by {scale}: a leg of {leg} units is not in metres")
            }
            Self::NoInverseBinds { skin } => {
                write!(f, "skin {skin} has no inverse bind matrices; identity is used")
            }
            Self::InverseBindsUnreadable { skin } => {
                write!(
                    f,
                    "the inverse bind matrices of skin {skin} are out of reach; the rest pose is taken as bind pose"
                )
            }
            Self::InverseBindCount { skin, have, need } => {
                write!(
                    f,
                    "skin {skin} has {have} inverse bind matrices for {need} joints; filled with identity"
                )
            }
            Self::MeshDropped { mesh, name, reason } => {
                write!(f, "mesh {mesh} {name:?} was dropped: {reason}")
            }
            Self::Textures { extension } => write!(f, "textures of {extension} are not read"),
            Self::MeshWithoutJoint { node, name } => {
                write!(f, "the mesh of node {node} {name:?} hangs on no joint and was dropped")
            }
            Self::RigidMesh { node, name, joint } => {
                write!(f, "the rigid mesh of node {node} {name:?} is skinned to joint {joint:?}")
            }
            Self::NotTriangles { mesh, name } => {
                write!(f, "points or lines of mesh {mesh} {name:?} were dropped")
            }
            Self::NoPositions { mesh, name } => {
                write!(f, "a primitive of mesh {mesh} {name:?} has no positions and was dropped")
            }
            Self::NoWeights { mesh, name } => {
                write!(
                    f,
                    "mesh {mesh} {name:?} has a skin but no weights; it is rigid to the skin's first entry"
                )
            }
            Self::MorphTargets { mesh, name } => {
                write!(f, "morph targets of mesh {mesh} {name:?} are not read")
            }
            Self::InfluencesPruned { mesh, name, vertices, most } => write!(
                f,
                "{vertices} vertices of mesh {mesh} {name:?} have up to {most} influences; the largest {} are kept",
                crate::rig::MAX_INFLUENCES
            ),
            Self::WeightlessVertices { mesh, name, vertices } => write!(
                f,
                "{vertices} vertices of mesh {mesh} {name:?} have no weight; they are rigid to the skin's first entry"
            ),
            Self::InfluenceOutOfRange { mesh, name, vertices } => write!(
                f,
                "{vertices} vertices of mesh {mesh} {name:?} name joints that the skin does not have; its first entry is used"
            ),
            Self::NegativeWeights { mesh, name, vertices } => {
                write!(f, "{vertices} vertices of mesh {mesh} {name:?} have negative weights, taken as zero")
            }
            Self::DuplicateNames { names } => {
                write!(f, "several joints share a name (bound by index): {}", list(names))
            }
            Self::ChannelsDropped { clip, channels } => write!(
                f,
                "{channels} channels of clip {clip:?} move nodes outside of the skeleton or morph weights; dropped"
            ),
            Self::ChannelsUnreadable { clip, channels } => {
                write!(f, "{channels} channels of clip {clip:?} are compressed or not in the file; dropped")
            }
            Self::ChannelsRepeated { clip, channels } => {
                write!(f, "{channels} channels of clip {clip:?} move what earlier ones move already; dropped")
            }
            Self::KeysDropped { clip, keys } => {
                write!(f, "{keys} keys of clip {clip:?} whose time does not rise were dropped")
            }
            Self::UnitsGuessed { scale, leg, unit: Some(unit) } => {
                write!(f, "units taken for {unit}: a leg of {leg} units is one of {:.2} m", leg * scale)
            }
            Self::UnitsGuessed { scale, leg, unit: None } => write!(
                f,
                "no unit of length makes a leg of {leg} units an adult's; scaled by {scale} to {:.2} m",
                leg * scale
            ),
            Self::PositionsRead { added, reason } => {
                let how = if *added { "are added to" } else { "replace" };
                let why = match reason {
                    PositionReason::NoDifference => "which makes no difference",
                    PositionReason::Asked => "as asked for",
                    PositionReason::Restated => "since those below the root restate it",
                    PositionReason::Deltas => "since those below the root stay near zero",
                    PositionReason::Ground => "since so the body stands nearer to the ground",
                    PositionReason::Usual => "as with most tools; nothing in the file tells",
                };
                write!(f, "position channels {how} the OFFSET of their joint, {why}")
            }
            Self::LongOffsets { joints } => {
                write!(f, "{joints} OFFSET lines have more than three numbers; the first three count")
            }
            Self::FrameCount { declared, found } => {
                write!(f, "the file announces {declared} frames and has {found}; those are taken")
            }
            Self::RestFromFrame { frame } => {
                write!(f, "without rotations the body does not stand; the rest pose is that of frame {frame}")
            }
            Self::Lifted { by } => {
                write!(f, "lifted by {by:.2} m: the feet were that far below the origin")
            }
            Self::CalibrationFrame => {
                f.write_str("frame 0 is a pose for calibration; the clip starts at frame 1")
            }
            Self::VrmUnreadable { reason } => write!(f, "the VRM part is not readable: {reason}"),
            Self::HumanBone { bone, reason } => write!(f, "human bone {bone:?} was left out: {reason}"),
            Self::ColliderGroup { spring, group } => {
                write!(f, "spring {spring:?} names collider group {group}, which is not there")
            }
            Self::ExpressionBind { expression, index } => {
                write!(f, "expression {expression:?} moves morph target {index}, which is not there")
            }
            Self::ContactsUnreadable { file, reason } => {
                write!(f, "the contacts of {file} are left out: {reason}")
            }
            Self::ContactInAir { clip, side, part, height, time } => write!(
                f,
                "contacts of clip {clip:?} count the {} {part} as down while it is up to {:.0} mm above the ground \
                 (at {time:.2} s)",
                name(*side),
                1e3 * height
            ),
            Self::ContactMoves { clip, side, speed, time } => write!(
                f,
                "contacts of clip {clip:?} count the {} ball as down while it moves over the ground at up to \
                 {speed:.2} m/s (at {time:.2} s): too fast to be held",
                name(*side)
            ),
            Self::More { count } => write!(f, "{count} more warnings"),
            Self::SpeedEstimated { clip, speed } => {
                write!(f, "clip {clip:?} marches on the spot; ground speed estimated at {speed:.2} m/s")
            }
        }
    }
}

fn name(side: Side) -> &'static str {
    match side {
        Side::Left => "left",
        Side::Right => "right",
    }
}

/// At most six names.
fn list(names: &[String]) -> String {
    let shown = names.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > 6 { format!("{shown} and {} more", names.len() - 6) } else { shown }
}
