//! Whether position channels replace the OFFSET or add to it.

use glam::{DVec3, Quat, Vec3};

use super::convert::{Curves, moves, translation};
use super::hierarchy::{BvhJoint, Hierarchy};
use super::{BvhPositions, PositionReason};

/// Frames that are looked at.
const SAMPLES: usize = 61;

/// True if they add, and why.
pub(super) fn decide(asked: BvhPositions, hierarchy: &Hierarchy, curves: &Curves) -> (bool, PositionReason) {
    let joints = &hierarchy.joints;
    let both = |joint: &BvhJoint| moves(joint) && joint.offset != [0.0; 3];
    let differ = joints.iter().any(both) && curves.frames > 0;
    match asked {
        BvhPositions::Replace => return (false, PositionReason::Asked),
        BvhPositions::Add => return (true, PositionReason::Asked),
        BvhPositions::Auto if !differ => return (false, PositionReason::NoDifference),
        BvhPositions::Auto => {}
    }
    // Bones keep their length: a channel that restates it is the whole, one near zero is what is added.
    let (mut from_zero, mut from_offset) = (0.0, 0.0);
    for (joint, curves) in joints.iter().zip(&curves.joints) {
        if let (true, Some(first)) = (both(joint) && joint.parent.is_some(), curves.positions.first()) {
            from_zero +=
                (translation(joint, *first, true).as_dvec3() - DVec3::from_array(joint.offset)).length();
            from_offset +=
                (translation(joint, *first, false).as_dvec3() - DVec3::from_array(joint.offset)).length();
        }
    }
    if from_offset < 0.25 * from_zero {
        return (false, PositionReason::Restated);
    }
    if from_zero < 0.25 * from_offset {
        return (true, PositionReason::Deltas);
    }
    // A root's OFFSET that is not zero is its height; the wrong reading leaves the body that far below the ground,
    // or above it.
    let root = joints.iter().find(|joint| joint.parent.is_none() && both(joint));
    if let Some(root) = root {
        let offset = DVec3::from_array(root.offset).abs();
        let axis = if offset.z > offset.y { 2 } else { 1 };
        if offset[axis] >= 0.5 * offset.length() {
            let lowest = |added| f64::from(lowest(hierarchy, curves, axis, added).abs());
            let (replaced, added) = (lowest(false), lowest(true));
            if added.max(replaced) > 0.2 * offset[axis] {
                return (added < replaced, PositionReason::Ground);
            }
        }
    }
    (false, PositionReason::Usual)
}

/// Height of the lowest joint over the clip, file units: the median, so that jumps do not count.
fn lowest(hierarchy: &Hierarchy, curves: &Curves, axis: usize, added: bool) -> f32 {
    let count = curves.frames.min(SAMPLES);
    let mut heights = Vec::with_capacity(count);
    let mut models: Vec<(Vec3, Quat)> = Vec::with_capacity(hierarchy.joints.len());
    for sample in 0..count {
        let frame = sample * (curves.frames - 1) / (count - 1).max(1);
        model(&hierarchy.joints, curves, frame, added, &mut models);
        heights.push(models.iter().map(|(at, _)| at[axis]).fold(f32::MAX, f32::min));
    }
    heights.sort_by(f32::total_cmp);
    heights.get(heights.len() / 2).copied().unwrap_or(0.0)
}

/// Positions and rotations of all joints in a frame.
fn model(joints: &[BvhJoint], curves: &Curves, frame: usize, added: bool, out: &mut Vec<(Vec3, Quat)>) {
    out.clear();
    for (joint, curves) in joints.iter().zip(&curves.joints) {
        let values = curves.positions.get(frame).copied();
        let offset = DVec3::from_array(joint.offset).as_vec3();
        let at = values.map_or(offset, |values| translation(joint, values, added));
        let turn = curves.rotations.get(frame).copied().unwrap_or(Quat::IDENTITY);
        let above = joint.parent.and_then(|parent| out.get(usize::from(parent)).copied());
        out.push(match above {
            Some((position, rotation)) => (position + rotation * at, rotation * turn),
            None => (at, turn),
        });
    }
}
