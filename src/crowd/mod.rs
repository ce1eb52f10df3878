//! The crowd: blocks of 16 characters, the frame and its stages, the ground, and what comes out.

mod block;
mod corrections;
mod detail;
mod due;
mod events;
mod executor;
mod footfall;
mod frame;
mod ground;
mod height_field;
mod lane;
mod lanes_of;
mod library;
mod masks;
mod output;
mod pair;
mod rare;
mod scratch;
mod shown;
mod skinning;
mod slots;
mod stages;
mod store;
mod streams;
mod tier;
mod write;

pub use block::MAX_CLIPS;
pub use due::Visibility;
pub use events::PassedEvent;
#[cfg(feature = "rayon")]
pub use executor::Rayon;
pub use executor::{Executor, MAX_JOBS, Serial};
pub use frame::{BlockJob, Frame, Roots, Stage};
pub use ground::{FlatGround, Ground, HitPlane, HitPlanes, PROBES, Probes};
pub use height_field::{HeightField, HeightFieldError};
pub use masks::JointMask;
pub use output::{PaletteFormat, PoseHeader};
pub use rare::MAX_LAYERS;
pub use shown::{PosePair, ShownPose};
pub use skinning::{SkinPalette, SkinnedMesh};
pub use store::{
    Aabb, ClipId, Crowd, CrowdConfig, Handle, Layer, LayerMode, LocalTransform, MAX_SPEED, MaskId, Occupancy,
    Play, RigId, Root, SNAPSHOT_VERSION, SnapshotError, Socket, Spawn, TransitionKind, WorldTransform, Wrap,
    joint_radii,
};
#[cfg(feature = "hecs")]
pub(crate) use store::{LiveReader, RootReader};
pub use streams::{
    Rotations, SnormQuat, Stream, StreamBuffer, StreamId, StreamPose, StreamPoseMut, StreamPoseRef,
    StreamPoses, StreamReport, StreamRoot, StreamRotation,
};
pub use tier::{TIERS, Tier, TierConfig};
