//! Two hands on one thing: the second goes where the thing's grip is, told from the first.
//!
//! ```text
//! grip point of a hand     g = wrist + G palm              palm: wrist to middle knuckle in the reference pose
//! source, per key          v = G1^-1 (g2 - g1)             as the first hand sees the second grip
//! target                   g2 = g1 + scale G1 v            the thing keeps its size: contacts do not scale with the body
//! ```
//!
//! The first hand keeps its retargeted pose and both keep their orientation; the second arm is solved with its elbow on the
//! side on which it is animated.

use glam::DVec3;
use serde::{Deserialize, Serialize};

use super::bind::{BindSource, source_poses};
use super::chain::Chain;
use super::figure::Figure;
use super::plant::{ReachFailure, ReachRule, worst_of_stretches};
use crate::clip::{MotionKeys, RawClip};
use crate::error::BuildError;
use crate::rig::{Digit, Grip, Rig, Role, RoleMap, Side};

/// Metres that a hand may be off without having missed its grip.
const CLOSE: f64 = 1e-3;

/// Seconds into a clip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GripSpan {
    /// From here...
    pub start: f64,
    /// ...to here.
    pub end: f64,
}

/// Wrist to grip point of a hand in the reference pose, metres; nothing where the bodies have no knuckle in common, so
/// that the same point of both is meant.
pub(crate) fn palm(place: impl Fn(Role) -> Option<DVec3>, bodies: [&RoleMap; 2], side: Side) -> DVec3 {
    let common = [Digit::Middle, Digit::Index, Digit::Ring]
        .map(|digit| Role::Finger(side, digit, 0))
        .into_iter()
        .find(|role| bodies.iter().all(|body| body.joint(*role).is_some()));
    match (common.and_then(&place), place(Role::Hand(side))) {
        (Some(knuckle), Some(wrist)) => knuckle - wrist,
        _ => DVec3::ZERO,
    }
}

/// Keys with the second hand of each grip where the first one's says, and what was out of reach.
///
/// # Errors
/// If the keys are not those of the rig's topology, or a grip has numbers that mean nothing.
pub fn grip(
    keys: &MotionKeys,
    source: BindSource<'_>,
    clip: &RawClip,
    rig: &Rig,
    target: &RoleMap,
    grips: &[Grip],
) -> Result<(MotionKeys, Vec<ReachFailure>), BuildError> {
    let figure = Figure::new(rig);
    figure.check(keys)?;
    let mut out = keys.clone();
    let mut failures = Vec::new();
    let held: Vec<&Grip> = grips.iter().filter(|grip| grip.is_of(&clip.name)).collect();
    held.iter().try_for_each(|grip| grip.check())?;
    if held.is_empty() || keys.additive {
        return Ok((out, failures));
    }
    let BindSource { roles, reference, .. } = source;
    let (joints, count) = (rig.topology().len(), keys.pelvis.len());
    let step = keys.duration / (count - 1).max(1) as f64;
    let poses = source_poses(source, clip, (0..count).map(|key| key as f64 * step));
    let theirs = |role| roles.joint(role).map(|joint| reference.position(joint.into()));
    let ours = |role| rig.topology().joint(role).map(|joint| rig.positions()[usize::from(joint)]);
    for grip in held {
        let sides = [grip.first, grip.first.other()];
        let side = grip.first.other();
        let arm = [Role::UpperArm(side), Role::Forearm(side), Role::Hand(side)];
        let hands = sides.map(|side| roles.joint(Role::Hand(side)).map(usize::from));
        let own = rig.topology().joint(Role::Hand(grip.first)).map(usize::from);
        let ([Some(one), Some(two)], Some(carries), Some(arm)) =
            (hands, own, Chain::of(&figure, rig.topology(), arm))
        else {
            continue;
        };
        let source_palms = sides.map(|side| palm(theirs, [roles, target], side));
        let target_palms = sides.map(|side| palm(ours, [roles, target], side));
        let mut short = vec![None; count];
        for (key, source) in poses.iter().enumerate() {
            let weight = if keys.looping {
                grip.weight_in_cycle(key as f64 * step, keys.duration)
            } else {
                grip.weight(key as f64 * step)
            };
            if weight <= 0.0 {
                continue;
            }
            let theirs =
                |hand: usize, palm: DVec3| source.positions[hand] + source.since_reference[hand] * palm;
            let offset = source.since_reference[one].inverse()
                * (theirs(two, source_palms[1]) - theirs(one, source_palms[0]));
            let row = key * joints..(key + 1) * joints;
            let pose = figure.pose(&out.rotations[row.clone()], out.pelvis[key]);
            let (first, second) = (pose[carries], pose[arm.end]);
            let point = first.at + first.turn * (target_palms[0] + offset * grip.scale);
            let wrist = point - second.turn * target_palms[1];
            let goal = second.at.lerp(wrist, weight);
            // Elbows bend backward.
            let limb = arm.limb(&pose, -DVec3::Z);
            let solved = limb.to(goal);
            if grip.holds(key as f64 * step) && solved.end.distance(goal) > CLOSE {
                short[key] = Some((limb.root.distance(goal), limb.whole()));
            }
            arm.turn(&mut out.rotations[row], &figure, &pose, [solved.upper, solved.lower]);
        }
        if keys.looping {
            let first = out.rotations[..joints].to_vec();
            out.rotations[(count - 1) * joints..].copy_from_slice(&first);
        }
        let limb = Role::Hand(grip.first.other()).to_string();
        worst_of_stretches(&short, &limb, step, ReachRule::SoftClamp, &mut failures);
    }
    Ok((out, failures))
}
