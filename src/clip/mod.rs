//! Raw clips, bound clip rows, root motion and contacts.

mod raw;

pub use raw::{
    Contacts, Curve, CurveValue, FootContacts, Interpolation, Interval, JointTracks, RawClip, RootSource,
};
