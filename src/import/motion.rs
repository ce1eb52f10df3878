//! What kind of clip it is: does it loop, and where is its travel.

use glam::{Mat4, Vec3};

use super::Warning;
use crate::clip::{RawClip, RootSource};
use crate::rig::{RawSkeleton, Role, RoleMap, Side, Transform};

/// Samples of a clip that the analysis looks at.
const SAMPLES: usize = 121;
/// Joints may differ this much between the first and the last pose of a loop.
const LOOP_GAP_DEGREES: f32 = 5.0;
/// The same for clips that are called loops: some leave out the last pose, which is the first.
const NAMED_LOOP_GAP_DEGREES: f32 = 12.0;

const ONE_SHOT: [&str; 22] = [
    "death",
    "die",
    "hit",
    "attack",
    "jump_start",
    "jump_land",
    "jump_full",
    "land",
    "roll",
    "dodge",
    "pickup",
    "throw",
    "shoot",
    "interact",
    "spawn",
    "use_item",
    "pose",
    "punch",
    "kick",
    "reload",
    "enter",
    "exit",
];
const CYCLE: [&str; 10] = ["loop", "walk", "run", "jog", "sprint", "idle", "gallop", "trot", "swim", "crawl"];

/// Fills `looping` and `root` of every clip.
pub(super) fn classify(
    skeleton: &RawSkeleton,
    roles: &RoleMap,
    clips: &mut [RawClip],
    warnings: &mut Vec<Warning>,
) {
    // Long files of long clips would take a while; what is not looked at keeps the defaults.
    let mut work = 200_000_000_usize;
    for clip in clips {
        let cost = (skeleton.joints.len() + clip.tracks.len()).saturating_mul(SAMPLES * 4);
        match work.checked_sub(cost) {
            Some(left) => work = left,
            None => return,
        }
        clip.looping = loops(skeleton, roles, clip);
        let poses = sample(skeleton, clip);
        clip.root = root_source(skeleton, roles, clip, &poses, warnings);
    }
}

/// Times and model matrices.
fn sample(skeleton: &RawSkeleton, clip: &RawClip) -> Vec<(f32, Vec<Mat4>)> {
    // A whole crowd of joints need not be kept: the analysis reads a handful.
    let count = if skeleton.joints.len() > 2048 { 9 } else { SAMPLES };
    (0..count)
        .map(|at| {
            let time = clip.duration * at as f32 / (count - 1) as f32;
            (time, skeleton.model_matrices(&clip.sample(skeleton, time)))
        })
        .collect()
}

fn loops(skeleton: &RawSkeleton, roles: &RoleMap, clip: &RawClip) -> bool {
    let name = clip.name.to_lowercase();
    let named_loop = CYCLE.iter().any(|word| name.contains(word));
    let one_shot = ONE_SHOT.iter().any(|word| name.contains(word)) && !name.contains("loop");
    if one_shot || clip.duration < 0.2 || clip.tracks.is_empty() {
        return false;
    }
    let limit = if named_loop { NAMED_LOOP_GAP_DEGREES } else { LOOP_GAP_DEGREES };
    let (first, last) = (clip.sample(skeleton, 0.0), clip.sample(skeleton, clip.duration));
    // The travel itself may turn: the carrying joints are compared without their heading.
    let hips = roles.joint(Role::Hips);
    let carrier = |joint: usize| {
        hips.is_some_and(|hips| {
            let mut at = Some(hips);
            while let Some(above) = at {
                if usize::from(above) == joint {
                    return true;
                }
                at = skeleton.joints.get(usize::from(above)).and_then(|joint| joint.parent);
            }
            false
        })
    };
    let gap = |(joint, (first, last)): (usize, (&Transform, &Transform))| {
        let turn = last.rotation * first.rotation.inverse();
        if carrier(joint) {
            let up = turn * Vec3::Y;
            up.angle_between(Vec3::Y).to_degrees()
        } else {
            first.rotation.angle_between(last.rotation).to_degrees()
        }
    };
    first.iter().zip(&last).enumerate().map(gap).all(|gap| gap <= limit)
}

fn root_source(
    skeleton: &RawSkeleton,
    roles: &RoleMap,
    clip: &RawClip,
    poses: &[(f32, Vec<Mat4>)],
    warnings: &mut Vec<Warning>,
) -> RootSource {
    let place =
        |models: &[Mat4], joint: u16| models.get(usize::from(joint)).map(|model| model.w_axis.truncate());
    let Some(hips) = roles.joint(Role::Hips).or_else(|| first_root(skeleton)) else {
        return RootSource::Hips;
    };
    let path = |joint: u16| poses.iter().filter_map(|(_, models)| place(models, joint)).collect::<Vec<_>>();
    let leg = leg_length(skeleton, roles).unwrap_or_else(|| size(skeleton) / 2.0);
    let (net, range) = horizontal_travel(&path(hips));
    if net < 0.1 * leg && range < 0.5 * leg {
        if !clip.looping {
            return RootSource::InPlace { speed: 0.0 };
        }
        let speed = stance_speed(skeleton, roles, poses, leg);
        if let Some(speed) = speed.filter(|speed| speed.abs() > 0.05 * leg) {
            warnings.push(Warning::SpeedEstimated { clip: clip.name.clone(), speed });
            return RootSource::InPlace { speed };
        }
        return RootSource::InPlace { speed: 0.0 };
    }
    // A joint above the hips that stays on one level and goes where the hips go is the root of the travel; one that
    // bobs like the hips (the centre of mass of some tools) is not.
    let mut above = skeleton.joints.get(usize::from(hips)).and_then(|joint| joint.parent);
    let hips_path = path(hips);
    while let Some(joint) = above {
        let own = path(joint);
        let level = own.iter().fold((f32::MAX, f32::MIN), |(low, high), p| (low.min(p.y), high.max(p.y)));
        let follows = match (own.first(), own.last(), hips_path.first(), hips_path.last()) {
            (Some(a), Some(b), Some(c), Some(d)) => {
                let difference = (*b - *a) - (*d - *c);
                Vec3::new(difference.x, 0.0, difference.z).length() < 0.2 * net.max(0.1 * leg)
            }
            _ => false,
        };
        if follows && level.1 - level.0 < 0.01 * leg && horizontal_travel(&own).1 > 0.1 * leg {
            return RootSource::Joint(joint);
        }
        above = skeleton.joints.get(usize::from(joint)).and_then(|joint| joint.parent);
    }
    RootSource::Hips
}

fn first_root(skeleton: &RawSkeleton) -> Option<u16> {
    let root = skeleton.joints.iter().position(|joint| joint.parent.is_none())?;
    u16::try_from(root).ok()
}

/// Net and largest horizontal distance from the start.
fn horizontal_travel(path: &[Vec3]) -> (f32, f32) {
    let Some(&first) = path.first() else { return (0.0, 0.0) };
    let away = |point: &Vec3| Vec3::new(point.x - first.x, 0.0, point.z - first.z).length();
    (path.last().map_or(0.0, away), path.iter().map(away).fold(0.0, f32::max))
}

/// Height of the rest pose, for what has no legs; 1 m for what has no height.
fn size(skeleton: &RawSkeleton) -> f32 {
    let models = skeleton.model_matrices(&skeleton.rest_pose());
    let heights = models.iter().map(|model| model.w_axis.y);
    let (low, high) = heights.fold((f32::MAX, f32::MIN), |(low, high), y| (low.min(y), high.max(y)));
    if high - low > 1e-3 { high - low } else { 1.0 }
}

fn leg_length(skeleton: &RawSkeleton, roles: &RoleMap) -> Option<f32> {
    let models = skeleton.model_matrices(&skeleton.rest_pose());
    let place = |role: Role| models.get(usize::from(roles.joint(role)?)).map(|model| model.w_axis.truncate());
    let leg = |side| {
        let (thigh, shin, foot) =
            (place(Role::Thigh(side))?, place(Role::Shin(side))?, place(Role::Foot(side))?);
        Some(thigh.distance(shin) + shin.distance(foot))
    };
    let leg = Side::BOTH.into_iter().find_map(leg)?;
    (leg > 1e-3).then_some(leg)
}

/// Ground speed of a cycle on the spot along +Z: how fast the lower foot goes backwards while it is down, the median
/// over both feet's stance.
fn stance_speed(
    skeleton: &RawSkeleton,
    roles: &RoleMap,
    poses: &[(f32, Vec<Mat4>)],
    leg: f32,
) -> Option<f32> {
    let rest = skeleton.model_matrices(&skeleton.rest_pose());
    let mut speeds = Vec::new();
    for side in Side::BOTH {
        let joint = roles.joint(Role::Toe(side)).or(roles.joint(Role::Foot(side)))?;
        let path = poses
            .iter()
            .filter_map(|(time, models)| Some((*time, models.get(usize::from(joint))?.w_axis.truncate())))
            .collect::<Vec<_>>();
        let mut heights = path.iter().map(|(_, point)| point.y).collect::<Vec<_>>();
        heights.sort_by(f32::total_cmp);
        let floor = *heights.get(heights.len() / 20)?;
        // Who swims or flies has no stance.
        if (floor - rest.get(usize::from(joint))?.w_axis.y).abs() > 0.15 * leg {
            return None;
        }
        for pair in path.windows(2) {
            let [(t0, p0), (t1, p1)] = *pair else { continue };
            let step = t1 - t0;
            if p0.y.max(p1.y) < floor + 0.02 * leg && step > 0.0 {
                speeds.push(-(p1.z - p0.z) / step);
            }
        }
    }
    speeds.sort_by(f32::total_cmp);
    speeds.get(speeds.len() / 2).copied()
}
