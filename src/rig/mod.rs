//! Topologies, rigs, roles, reference poses and skins.

mod raw;
mod role_names;
mod role_words;
mod roles;

pub use raw::{MAX_INFLUENCES, RawCharacter, RawJoint, RawMesh, RawSkeleton, RawSkin, Transform};
pub use role_names::{Confidence, RoleFinding, RoleProposal, RoleReport, roles_from_names};
pub use roles::{Digit, Limb, Role, RoleMap, Side};
