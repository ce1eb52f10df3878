//! Where a body stands whose file has no rest pose: over the origin, on the ground of its clip.

use glam::Vec3;

use crate::clip::RawClip;
use crate::rig::{RawSkeleton, Role, RoleMap, Side};

/// Samples of the clip.
const SAMPLES: usize = 61;

/// Feet that mostly are farther below the origin than this belong to a file whose ground is elsewhere; leg lengths.
const BELOW: f32 = 0.2;

/// Feet of rest pose and clip differ by no more than this where both are of one ground; leg lengths.
const SAME: f32 = 0.06;

/// Moves what carries the hips so that the hips are over the origin and the lowest foot is as high as the
/// lowest foot usually is in the clip. Feet leave the ground in turns, so the median over the clip is that of a foot
/// that stands. Without a clip the lowest joint is put on the ground. A file whose origin is in the middle of the body
/// is lifted as a whole; returns by how much, metres. A body that stands there already stays.
pub(super) fn stand(skeleton: &mut RawSkeleton, roles: &RoleMap, clips: &mut [RawClip]) -> f32 {
    let Some(hips) = roles.joint(Role::Hips) else { return 0.0 };
    let tracked = |joint: usize| {
        let mut tracks = clips.iter().flat_map(|clip| &clip.tracks);
        tracks.any(|track| usize::from(track.joint) == joint && track.translation.is_some())
    };
    // What carries the body: the uppermost joint that a clip places, or else the root.
    let mut above: Vec<usize> =
        std::iter::successors(Some(usize::from(hips)), |&joint| skeleton.parent(joint)).collect();
    above.reverse();
    let placed = above.iter().copied().find(|&joint| tracked(joint));
    let Some(carrier) = placed.or(above.first().copied()) else { return 0.0 };
    let mut feet: Vec<usize> = Side::BOTH
        .into_iter()
        .flat_map(|side| [Role::Foot(side), Role::Toe(side)])
        .filter_map(|role| roles.joint(role).map(usize::from))
        .collect();
    if feet.is_empty() {
        feet = (0..skeleton.joints.len()).collect();
    }
    let lowest = |pose: &[crate::rig::Transform]| {
        let models = skeleton.model_matrices(pose);
        let heights = feet.iter().filter_map(|&joint| models.get(joint)).map(|model| model.w_axis.y);
        let at = models.get(usize::from(hips)).map_or(Vec3::ZERO, |model| model.w_axis.truncate());
        (heights.fold(f32::MAX, f32::min), at)
    };
    let mut ground = 0.0;
    if let Some(clip) = clips.first() {
        let mut heights = Vec::with_capacity(SAMPLES);
        for sample in 0..SAMPLES {
            let time = clip.duration * sample as f32 / (SAMPLES - 1) as f32;
            heights.push(lowest(&clip.sample(skeleton, time)).0);
        }
        heights.sort_by(f32::total_cmp);
        ground = heights.get(SAMPLES / 2).copied().unwrap_or(0.0);
    }
    let (rest, at) = lowest(&skeleton.rest_pose());
    let leg = at.y - rest;
    // Stance feet of a clip roll and sink; where the file's own rest pose stands on its ground and over its origin, and the
    // clip says about the same, the rest pose knows better.
    let rests = skeleton.model_matrices(&skeleton.rest_pose());
    let low = rests.iter().map(|model| model.w_axis.y).fold(f32::MAX, f32::min);
    let on_ground = (-0.02 * leg..0.15 * leg).contains(&low) && (ground - rest).abs() < SAME * leg;
    if on_ground && at.x.hypot(at.z) < 2.0 * SAME * leg && placed.is_some() {
        return 0.0;
    }
    let of_root = skeleton.parent(carrier).is_none();
    let lift = if ground < -BELOW * leg && of_root { -ground } else { 0.0 };
    // Where no track places the body, the clip moves along with the rest pose.
    let up = if placed.is_some() || clips.is_empty() { ground + lift - rest } else { lift };
    let moved = Vec3::new(-at.x, up, -at.z);
    if !moved.is_finite() {
        return 0.0;
    }
    let models = skeleton.model_matrices(&skeleton.rest_pose());
    let turned = skeleton.parent(carrier).and_then(|parent| models.get(parent)).copied().unwrap_or_default();
    let Some(joint) = skeleton.joints.get_mut(carrier) else { return 0.0 };
    joint.rest.translation += turned.inverse().transform_vector3(moved);
    if lift != 0.0 {
        for track in clips.iter_mut().flat_map(|clip| &mut clip.tracks) {
            if usize::from(track.joint) == carrier {
                for value in track.translation.iter_mut().flat_map(|curve| &mut curve.values) {
                    value.y += lift;
                }
            }
        }
    }
    lift
}
