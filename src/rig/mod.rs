//! Topologies, rigs, roles, reference poses and skins.

mod grips;
mod hang;
pub(crate) mod namesakes;
pub(crate) mod object;
mod overrides;
mod raw;
mod reference;
mod role_confirm;
mod role_geometry;
mod role_names;
mod role_words;
mod roles;
mod roll;
mod skeleton;
mod skin;
mod topology;

pub use grips::Grip;
pub use overrides::{Adjustment, OverrideError, RigOverrides};
pub use raw::{MAX_INFLUENCES, RawCharacter, RawJoint, RawMesh, RawSkeleton, RawSkin, Transform};
pub use reference::ReferencePose;
pub use role_confirm::{DoubtReason, RoleDoubt};
pub use role_geometry::roles_from_geometry;
pub use role_names::{Confidence, RoleFinding, RoleProposal, RoleReport, propose_roles, roles_from_names};
pub use roles::{Digit, Limb, Role, RoleMap, Side};
pub use skeleton::{Rig, RigSource, Sole};
pub(crate) use skeleton::{estimate_sole, leg_length};
pub use skin::{Skin, SkinEntry};
pub(crate) use topology::carrier;
pub use topology::{JointKey, Leg, MAX_FEET, NO_PARENT, Topology};
