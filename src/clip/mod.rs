//! Raw clips, bound clip rows, root motion and contacts.

mod additive;
pub mod archive;
mod contact;
mod library;
mod marks;
mod raw;
mod root;
mod rows;

pub use additive::AdditiveReference;
pub use contact::contact_weight;
pub(crate) use contact::{FREE_HEIGHT, FREE_SPEED, LOCK_HEIGHT};
pub use library::ClipLibrary;
pub use marks::{ClipEvent, SyncMarkers};
pub use raw::{
    Contacts, Curve, CurveValue, FootContacts, Interpolation, Interval, JointTracks, RawClip, RootSource,
};
pub use root::{Planar, RootMotion, Twist};
pub use rows::{BoundClip, KEY_RATE, MAX_SECONDS, MIN_SECONDS, MotionKeys, PELVIS_RANGE};
