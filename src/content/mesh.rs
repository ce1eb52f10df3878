//! Body meshes.

use glam::{DQuat, DVec3, Mat4};

use super::anatomy::Anatomy;
use crate::rig::{RawMesh, RawSkin, RoleMap};

/// Skins and meshes of a body.
pub(super) fn build(
    _anatomy: &Anatomy,
    _roles: &RoleMap,
    rest: &[(DVec3, DVec3, DQuat)],
    inverse_binds: &[Mat4],
) -> (Vec<RawSkin>, Vec<RawMesh>) {
    let skin = RawSkin {
        name: "body".to_owned(),
        joints: (0..rest.len() as u16).collect(),
        inverse_binds: inverse_binds.to_vec(),
    };
    (vec![skin], Vec::new())
}
