//! Topologies, rigs, roles, reference poses and skins.

mod raw;
mod roles;

pub use raw::{MAX_INFLUENCES, RawCharacter, RawJoint, RawMesh, RawSkeleton, RawSkin, Transform};
pub use roles::{Digit, Limb, Role, RoleMap, Side};
