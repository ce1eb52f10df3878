//! What can be wrong with a BVH file, and where.

use thiserror::Error;

use super::FRAME_TIMES;

/// A refusal with its place.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct BvhError {
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// What is wrong there and what would be right.
    pub problem: BvhProblem,
}

/// What is wrong with a BVH file.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BvhProblem {
    /// The file does not begin with the word that all BVH files begin with.
    #[error("a BVH file begins with HIERARCHY, not with {found:?}")]
    MissingHierarchy {
        /// The first word.
        found: String,
    },
    /// The file ends before its motion.
    #[error(
        "there is no MOTION after the hierarchy; the file is cut short (a skeleton alone needs `Frames: 0`)"
    )]
    NoMotion,
    /// Another word than the format has here.
    #[error("{expected} should be here, not {found:?}")]
    Expected {
        /// What may stand there.
        expected: String,
        /// What does.
        found: String,
    },
    /// A joint does not say where it is.
    #[error("joint {joint:?} has no OFFSET")]
    MissingOffset {
        /// Its name.
        joint: String,
    },
    /// A joint says something twice.
    #[error("joint {joint:?} has {what} twice")]
    Twice {
        /// Its name.
        joint: String,
        /// What is repeated.
        what: String,
    },
    /// More or fewer channels than announced.
    #[error("joint {joint:?} announces {declared} channels and lists {listed}")]
    ChannelCount {
        /// Name of the joint.
        joint: String,
        /// The number after CHANNELS.
        declared: usize,
        /// Channels that follow; one more than announced stands for any surplus.
        listed: usize,
    },
    /// A channel that is neither position nor rotation.
    #[error(
        "joint {joint:?} has a channel {channel:?}; known are Xposition to Zposition and Xrotation to Zrotation"
    )]
    UnsupportedChannel {
        /// Name of the joint.
        joint: String,
        /// The word.
        channel: String,
    },
    /// Not a number where one should be.
    #[error("{what} should be a number, not {found:?}")]
    NotANumber {
        /// What the number is.
        what: String,
        /// What stands there.
        found: String,
    },
    /// NaN or infinity.
    #[error("{what} is {found:?}, which is not finite")]
    NonFinite {
        /// What the number is.
        what: String,
        /// What stands there.
        found: String,
    },
    /// A frame with more or fewer values than the joints have channels.
    #[error("frame {frame} has {have} values; the joints have {need} channels")]
    FrameWidth {
        /// From 0.
        frame: usize,
        /// Values of the row; one more than needed stands for any surplus.
        have: usize,
        /// Channels of all joints.
        need: usize,
    },
    /// More or fewer frames than announced.
    #[error("the file announces {declared} frames and has {}{found} (BvhOptions::lenient takes those that are there)",
        if *.found > *.declared { "at least " } else { "" })]
    FrameCount {
        /// The number after Frames.
        declared: usize,
        /// Frames that follow.
        found: usize,
    },
    /// Frames cannot be put in time.
    #[error("{}; BvhOptions::frame_time gives another one", match .value {
        Some(value) => format!(
            "the frame time is {value:?} seconds, but must be from {:?} to {:?}",
            FRAME_TIMES.start(),
            FRAME_TIMES.end(),
        ),
        None => "there is no Frame Time".to_owned(),
    })]
    FrameTime {
        /// Seconds, of the file or as given; `None` if neither says.
        value: Option<f64>,
    },
    /// A word or name that nobody means.
    #[error("this word is longer than {most} bytes; the file is damaged or no BVH")]
    LongWord {
        /// Longest that is read, bytes.
        most: usize,
    },
    /// More joints than are read.
    #[error("more than {most} joints")]
    TooManyJoints {
        /// Most that are read.
        most: usize,
    },
}
