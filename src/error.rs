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
    /// A clip's time range is unusable.
    #[error("clip \"{clip}\" lasts {duration} s; a finite duration of at least 0 is needed")]
    ClipDuration {
        /// Name of the clip.
        clip: String,
        /// What it says.
        duration: f32,
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
}
