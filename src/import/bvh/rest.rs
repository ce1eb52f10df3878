//! The rest pose of a BVH file, which the format does not have.

use glam::{DVec3, Mat4, Quat, Vec3};

use super::BvhRest;
use super::convert::Curves;
use super::hierarchy::BvhJoint;
use crate::rig::{RawJoint, RawSkeleton, RigOverrides, Role, RoleMap, Side, Transform, roles_from_names};

/// Frames that are tried.
const SAMPLES: usize = 31;

/// The skeleton in its rest pose, file units and axes, and the frame that the pose is from; `None`: angles zero.
pub(super) fn skeleton(
    asked: BvhRest,
    joints: &[BvhJoint],
    curves: &Curves,
    overrides: Option<&RigOverrides>,
) -> (RawSkeleton, Option<usize>) {
    let mut skeleton = RawSkeleton {
        joints: joints
            .iter()
            .map(|joint| RawJoint {
                name: joint.name.clone(),
                parent: joint.parent,
                rest: Transform::rigid(DVec3::from_array(joint.offset).as_vec3(), Quat::IDENTITY),
            })
            .collect(),
    };
    let last = curves.frames.checked_sub(1);
    let frame = match (asked, last) {
        (BvhRest::Offsets, _) | (_, None) => None,
        (BvhRest::Frame(frame), Some(last)) => Some(frame.min(last)),
        (BvhRest::Auto, Some(last)) => {
            let mut roles = roles_from_names(&skeleton).map;
            // What is wrong with them is told later, where all else is known.
            if let Some(Ok(given)) = overrides.map(|overrides| overrides.roles(&skeleton, &roles)) {
                roles = given;
            }
            if upright(&skeleton, &roles) != Some(false) {
                None
            } else {
                let count = curves.frames.min(SAMPLES);
                (0..count).map(|sample| sample * last / (count - 1).max(1)).find(|&frame| {
                    let posed = posed(&skeleton, curves, frame);
                    upright(&posed, &roles) == Some(true)
                })
            }
        }
    };
    if let Some(frame) = frame {
        skeleton = posed(&skeleton, curves, frame);
    }
    (skeleton, frame)
}

fn posed(skeleton: &RawSkeleton, curves: &Curves, frame: usize) -> RawSkeleton {
    let mut out = skeleton.clone();
    for (joint, curves) in out.joints.iter_mut().zip(&curves.joints) {
        if let Some(&rotation) = curves.rotations.get(frame) {
            joint.rest.rotation = rotation;
        }
        if let Some(&translation) = curves.positions.get(frame) {
            joint.rest.translation = translation;
        }
    }
    out
}

/// True if the trunk stands over both legs, along one of the axes, and the hips lie across; `None` if roles are
/// missing.
fn upright(skeleton: &RawSkeleton, roles: &RoleMap) -> Option<bool> {
    let models = skeleton.model_matrices(&skeleton.rest_pose());
    let place = |role: Role| -> Option<Vec3> {
        models.get(usize::from(roles.joint(role)?)).map(|model: &Mat4| model.w_axis.truncate())
    };
    let of_sides = |role: fn(Side) -> Role| Some([place(role(Side::Left))?, place(role(Side::Right))?]);
    let ([left, right], [left_foot, right_foot]) = (of_sides(Role::Thigh)?, of_sides(Role::Foot)?);
    let top = place(Role::Head).or_else(|| place(Role::Neck(0)))?;
    let hips = (left + right) / 2.0;
    let trunk = (top - hips).normalize_or_zero();
    let under = |thigh: Vec3, foot: Vec3| trunk.dot((foot - thigh).normalize_or_zero()) < -0.8;
    let across = (left - right).normalize_or_zero();
    let axis = trunk.abs().max_element();
    // Each leg for itself: bones of some tools run along +X on one side and along -X on the other.
    let stands = under(left, left_foot) && under(right, right_foot);
    Some(stands && axis > 0.9 && across.dot(trunk).abs() < 0.35)
}
