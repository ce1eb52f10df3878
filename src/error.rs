//! Errors of building: what was wrong, where, and what would be right.

use thiserror::Error;

/// Why a skeleton, rig, clip or crowd could not be built.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// No joints.
    #[error("the skeleton has no joints; at least one is needed")]
    EmptySkeleton,
    /// More joints than a `u16` can index.
    #[error("the skeleton has {have} joints; at most {limit} can be indexed")]
    TooManyJoints {
        /// Joints given.
        have: usize,
        /// Joints allowed.
        limit: usize,
    },
    /// A child stands before its parent.
    #[error("joint {index} \"{joint}\" has parent {parent}; parents must come before their children")]
    JointOrder {
        /// Name of the joint.
        joint: String,
        /// Its index.
        index: usize,
        /// Its parent's index.
        parent: usize,
    },
    /// NaN or infinity in a rest transform.
    #[error("the rest transform of joint {index} \"{joint}\" is not finite")]
    NonFiniteRest {
        /// Name of the joint.
        joint: String,
        /// Its index.
        index: usize,
    },
    /// A rest rotation is not a rotation.
    #[error("the rest rotation of joint {index} \"{joint}\" is not a unit quaternion; normalise it first")]
    RestRotationNotUnit {
        /// Name of the joint.
        joint: String,
        /// Its index.
        index: usize,
    },
    /// A role is given to a joint that the skeleton lacks.
    #[error(
        "role {role} is given to joint {joint} of a skeleton with {joints}; is the map another skeleton's?"
    )]
    RoleJoint {
        /// The role.
        role: String,
        /// The joint it is given to.
        joint: usize,
        /// Joints of the skeleton.
        joints: usize,
    },
    /// A joint of the reference pose is too far away for single precision.
    #[error(
        "joint {index} \"{joint}\" is 1e6 m or more away in the reference pose, too far for single precision"
    )]
    ReferenceRange {
        /// Name of the joint.
        joint: String,
        /// Its index.
        index: usize,
    },
    /// A clip's time range is unusable.
    #[error("clip \"{clip}\" lasts {duration} s; a finite duration of at least 0 is needed")]
    ClipDuration {
        /// Name of the clip.
        clip: String,
        /// What it says.
        duration: f32,
    },
    /// A clip is too short or too long to be bound.
    #[error("clip \"{clip}\" lasts {duration} s; bound clips last from {least} to {most} s")]
    BoundDuration {
        /// Name of the clip.
        clip: String,
        /// Seconds it lasts.
        duration: f64,
        /// Seconds.
        least: f64,
        /// Seconds.
        most: f64,
    },
    /// An event or a marker of a clip is outside of it, or markers are out of order.
    #[error(
        "clip \"{clip}\" has a mark at {time} s; marks lie within its {duration} s, markers in order around it"
    )]
    Mark {
        /// Name of the clip.
        clip: String,
        /// Seconds.
        time: f32,
        /// Seconds that the clip lasts.
        duration: f32,
    },
    /// A clip has more keys times joints than are bound.
    #[error(
        "clip \"{clip}\" needs {keys} keys of {joints} joints; at most {limit} of both multiplied are bound"
    )]
    ClipSize {
        /// Name of the clip.
        clip: String,
        /// Keys at the rate asked for.
        keys: usize,
        /// Joints, of source or target, whichever has more.
        joints: usize,
        /// Most keys times joints.
        limit: usize,
    },
    /// Keys of a clip are unusable.
    #[error("clip \"{clip}\": {reason}")]
    Keys {
        /// Name of the clip.
        clip: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// A curve is unusable.
    #[error("clip \"{clip}\", joint {joint}: {reason}")]
    Curve {
        /// Name of the clip.
        clip: String,
        /// Index of the joint.
        joint: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A skin's arrays do not fit each other.
    #[error("skin \"{skin}\" has {have} inverse bind matrices for {need} joints; one per joint is needed")]
    InverseBindCount {
        /// Name of the skin.
        skin: String,
        /// Matrices given.
        have: usize,
        /// Joints.
        need: usize,
    },
    /// A skin names a joint that the skeleton lacks.
    #[error("skin \"{skin}\" refers to joint {joint}, which the skeleton lacks")]
    SkinJoint {
        /// Name of the skin.
        skin: String,
        /// The joint.
        joint: usize,
    },
    /// NaN or infinity in an inverse bind matrix, or values that a frame's products could turn into it.
    #[error("the inverse bind matrix of joint {joint} in skin \"{skin}\" is not finite, or above 1e12")]
    NonFiniteInverseBind {
        /// Name of the skin.
        skin: String,
        /// The joint.
        joint: usize,
    },
    /// A reference pose does not fit its skeleton.
    #[error("the reference pose has {have} joints, the skeleton {need}; both must agree and be finite")]
    ReferencePose {
        /// Joints of the pose.
        have: usize,
        /// Joints of the skeleton.
        need: usize,
    },
    /// A clip moves the pelvis further than its rows can say.
    #[error(
        "clip \"{clip}\" moves the pelvis {have} leg lengths from its root; rows hold at most {limit}; is its travel meant to be root motion?"
    )]
    PelvisRange {
        /// Name of the clip.
        clip: String,
        /// Leg lengths.
        have: f32,
        /// Leg lengths.
        limit: f32,
    },
    /// Something is of another topology than what it is used with.
    #[error("{what} is of another topology; bind it to this one first")]
    OtherTopology {
        /// What.
        what: String,
    },
    /// An id that was never given out by this library or crowd.
    #[error("there is no {what} {index}")]
    Unknown {
        /// Kind of thing.
        what: &'static str,
        /// The index asked for.
        index: usize,
    },
    /// An additive clip is used as a motion of its own, or the other way round.
    #[error("clip \"{clip}\" is {is}; it cannot be used as {used}")]
    ClipUse {
        /// Name of the clip.
        clip: String,
        /// What it is.
        is: &'static str,
        /// What it was used as.
        used: &'static str,
    },
    /// A part of the body is asked for that the topology lacks.
    #[error("the topology has no joint for {part}; give the joints themselves")]
    NoPart {
        /// The part.
        part: String,
    },
    /// A character's input is not finite or out of range.
    #[error("{what} is {value}; {right}")]
    Input {
        /// Which input.
        what: &'static str,
        /// What was given.
        value: f32,
        /// What would be right.
        right: &'static str,
    },
    /// A palette format cannot carry a skin's constants.
    #[error(
        "skin \"{skin}\" of rig \"{rig}\" scales joint {joint} unevenly; the palette format carries rotations only; take a matrix format"
    )]
    PaletteFormat {
        /// Name of the rig.
        rig: String,
        /// Name of the skin.
        skin: String,
        /// The joint of the topology.
        joint: usize,
    },
    /// No palette entry tells where a joint is.
    #[error("no palette of rig \"{rig}\" has an entry for joint {joint}; have it kept (Crowd::keep_joints)")]
    JointNotKept {
        /// Name of the rig.
        rig: String,
        /// The joint of the topology.
        joint: usize,
    },
    /// A character came after the last frame.
    #[error("character {index} has no pose yet; run a frame first")]
    NoPose {
        /// Index of the character.
        index: usize,
    },
    /// A vertex of a mesh cannot be skinned.
    #[error("mesh \"{mesh}\", vertex {vertex}: {reason}")]
    Vertex {
        /// Name of the mesh.
        mesh: String,
        /// Index of the vertex.
        vertex: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A list that is handed in does not fit.
    #[error("{what} has {have} elements; {need} are needed")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        have: usize,
        /// The length that would be right.
        need: usize,
    },
    /// No more room.
    #[error("the crowd is full: {what}")]
    Full {
        /// What ran out.
        what: &'static str,
    },
}

/// What a JSON parser says without the place, which is told apart.
#[cfg(feature = "import")]
pub(crate) fn json_reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).map(str::to_owned).unwrap_or(text)
}
