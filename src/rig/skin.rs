//! Skins of a rig: constants that turn a joint's motion into a skinning matrix.

use glam::{DMat4, DQuat, DVec3};

use super::{RawSkin, ReferencePose};
use crate::error::BuildError;

/// Largest constant of a skin, far above what units and scales of files ask for: a frame's products stay finite.
const LARGEST: f32 = 1e12;

/// What stands between a joint's motion and its skinning matrix:
/// `S = T(x) R(G) C`, with `C = T(-reference position) * reference * inverse bind`.
///
/// Where the reference pose is the bind pose in the mesh's own axes, `C` is only a translation by minus the bind
/// position, and the matrix costs a rotation of one vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkinEntry {
    /// Joint of the topology.
    pub joint: u16,
    /// False: `linear` is the identity.
    pub general: bool,
    /// Columns of the linear part of `C`.
    pub linear: [[f32; 3]; 3],
    /// Translation of `C`, metres.
    pub offset: [f32; 3],
    /// The linear part as rotation (x, y, z, w) and uniform scale, where it is one.
    pub rotation_scale: Option<([f32; 4], f32)>,
}

/// A palette: one skinning matrix per entry, in the file's order.
#[derive(Clone, Debug, PartialEq)]
pub struct Skin {
    name: String,
    entries: Vec<SkinEntry>,
}

impl Skin {
    /// From a raw skin; `position` gives the topology joint of each raw joint.
    pub(crate) fn build(
        raw: &RawSkin,
        reference: &ReferencePose,
        position: &[u16],
    ) -> Result<Self, BuildError> {
        if raw.joints.len() != raw.inverse_binds.len() {
            return Err(BuildError::InverseBindCount {
                skin: raw.name.clone(),
                have: raw.inverse_binds.len(),
                need: raw.joints.len(),
            });
        }
        let mut entries = Vec::with_capacity(raw.joints.len());
        for (&joint, inverse_bind) in raw.joints.iter().zip(&raw.inverse_binds) {
            let Some(&at) = position.get(usize::from(joint)) else {
                return Err(BuildError::SkinJoint { skin: raw.name.clone(), joint: joint.into() });
            };
            if !inverse_bind.is_finite() {
                return Err(BuildError::NonFiniteInverseBind { skin: raw.name.clone(), joint: joint.into() });
            }
            let model = reference.models[usize::from(joint)];
            let c = DMat4::from_translation(-reference.position(usize::from(joint)))
                * model
                * inverse_bind.as_dmat4();
            let entry = entry(at, c);
            let scale = entry.rotation_scale.map_or(1.0, |(_, scale)| scale);
            let values = entry.linear.as_flattened().iter().chain(&entry.offset).chain([&scale]);
            if !values.copied().all(|value| value.abs() < LARGEST) {
                return Err(BuildError::NonFiniteInverseBind { skin: raw.name.clone(), joint: joint.into() });
            }
            entries.push(entry);
        }
        Ok(Self { name: raw.name.clone(), entries })
    }

    /// The palette of a rig without a skin: every joint in topology order, matrices relative to the reference pose.
    pub(crate) fn of_joints(reference: &ReferencePose, order: &[u16]) -> Self {
        let entries = order
            .iter()
            .enumerate()
            .map(|(at, &joint)| {
                entry(at as u16, DMat4::from_translation(-reference.position(usize::from(joint))))
            })
            .collect();
        Self { name: "joints".to_owned(), entries }
    }

    /// As the file spells it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// In palette order.
    pub fn entries(&self) -> &[SkinEntry] {
        &self.entries
    }
}

fn entry(joint: u16, c: DMat4) -> SkinEntry {
    let columns = [c.x_axis.truncate(), c.y_axis.truncate(), c.z_axis.truncate()];
    let identity = [DVec3::X, DVec3::Y, DVec3::Z];
    // Below the noise of single-precision files the constant is the identity: 1e-5 of a 1 m limb is 0.01 mm.
    let general = columns.iter().zip(identity).any(|(a, b)| (*a - b).abs().max_element() > 1e-5);
    let offset = c.w_axis.truncate().as_vec3().to_array();
    let linear = if general { columns } else { identity };
    let lengths = linear.map(DVec3::length);
    let scale = (lengths[0] + lengths[1] + lengths[2]) / 3.0;
    let uniform = scale > 1e-9
        && lengths.iter().all(|length| (length / scale - 1.0).abs() < 1e-3)
        && linear[0].dot(linear[1]).abs() < 1e-3 * scale * scale
        && linear[0].dot(linear[2]).abs() < 1e-3 * scale * scale
        && linear[1].dot(linear[2]).abs() < 1e-3 * scale * scale
        && linear[0].cross(linear[1]).dot(linear[2]) > 0.0;
    let rotation_scale = uniform.then(|| {
        let [x, y, z] = linear.map(|v| v / v.length());
        let q = DQuat::from_mat3(&glam::DMat3::from_cols(x, y, z)).normalize();
        (q.as_quat().to_array(), scale as f32)
    });
    SkinEntry { joint, general, linear: linear.map(|v| v.as_vec3().to_array()), offset, rotation_scale }
}
