//! What kind of clip it is: does it loop, and where is its travel.

use glam::{Mat4, Vec3};

use super::Warning;
use super::report::Warnings;
use crate::clip::{RawClip, RootSource};
use crate::rig::{RawSkeleton, Role, RoleMap, Side, Transform};

/// Samples of a clip that the analysis looks at.
const SAMPLES: usize = 121;
/// Joints above the hips that are looked at.
const MOST_ABOVE: usize = 32;
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
    warnings: &mut Warnings,
) {
    let Some(hips) = roles.joint(Role::Hips).or_else(|| first_root(skeleton)) else { return };
    let body = Body::new(skeleton, roles, hips);
    // Long files of long clips would take a while; what is not looked at keeps the defaults.
    let mut work = 100_000_000_usize;
    for clip in clips {
        let cost = (skeleton.joints.len() + clip.tracks.len()).saturating_mul(SAMPLES);
        match work.checked_sub(cost) {
            Some(left) => work = left,
            None => return,
        }
        clip.looping = body.loops(clip);
        clip.root = body.root_source(clip, warnings);
    }
}

/// What of a skeleton the analysis looks at.
struct Body<'a> {
    skeleton: &'a RawSkeleton,
    /// Hips, then the joints above them, nearest first.
    trunk: Vec<u16>,
    /// Toe or foot of each side, with the height of its joint at rest.
    feet: Vec<(u16, f32)>,
    leg: f32,
}

/// Times and positions of one joint.
type Path = Vec<(f32, Vec3)>;

impl<'a> Body<'a> {
    fn new(skeleton: &'a RawSkeleton, roles: &RoleMap, hips: u16) -> Self {
        let parent = |joint: u16| skeleton.joints.get(usize::from(joint)).and_then(|joint| joint.parent);
        let trunk = std::iter::successors(Some(hips), |&joint| parent(joint)).take(MOST_ABOVE).collect();
        let rest = skeleton.model_matrices(&skeleton.rest_pose());
        let foot = |side| {
            let joint = roles.joint(Role::Toe(side)).or(roles.joint(Role::Foot(side)))?;
            Some((joint, rest.get(usize::from(joint))?.w_axis.y))
        };
        let feet = Side::BOTH.into_iter().filter_map(foot).collect();
        let leg = leg_length(&rest, roles).unwrap_or_else(|| size(&rest) / 2.0);
        Self { skeleton, trunk, feet, leg }
    }

    /// Paths of trunk and feet over the clip.
    fn paths(&self, clip: &RawClip) -> (Vec<Path>, Vec<Path>) {
        let mut trunk = vec![Path::with_capacity(SAMPLES); self.trunk.len()];
        let mut feet = vec![Path::with_capacity(SAMPLES); self.feet.len()];
        for at in 0..SAMPLES {
            let time = clip.duration * at as f32 / (SAMPLES - 1) as f32;
            let models = self.skeleton.model_matrices(&clip.sample(self.skeleton, time));
            let put = |path: &mut Path, joint: u16| {
                path.extend(models.get(usize::from(joint)).map(|model| (time, model.w_axis.truncate())));
            };
            for (path, &joint) in trunk.iter_mut().zip(&self.trunk) {
                put(path, joint);
            }
            for (path, &(joint, _)) in feet.iter_mut().zip(&self.feet) {
                put(path, joint);
            }
        }
        (trunk, feet)
    }

    fn loops(&self, clip: &RawClip) -> bool {
        let name = clip.name.to_lowercase();
        let named_loop = CYCLE.iter().any(|word| name.contains(word));
        let one_shot = ONE_SHOT.iter().any(|word| name.contains(word)) && !name.contains("loop");
        if one_shot || clip.duration < 0.2 || clip.tracks.is_empty() {
            return false;
        }
        let limit = if named_loop { NAMED_LOOP_GAP_DEGREES } else { LOOP_GAP_DEGREES };
        let (first, last) = (clip.sample(self.skeleton, 0.0), clip.sample(self.skeleton, clip.duration));
        // The travel itself may turn: what carries it is compared without its heading.
        let gap = |(joint, (first, last)): (u16, (&Transform, &Transform))| {
            if self.trunk.contains(&joint) {
                let turn = last.rotation * first.rotation.inverse();
                (turn * Vec3::Y).angle_between(Vec3::Y).to_degrees()
            } else {
                first.rotation.angle_between(last.rotation).to_degrees()
            }
        };
        (0_u16..).zip(first.iter().zip(&last)).map(gap).all(|gap| gap <= limit)
    }

    fn root_source(&self, clip: &RawClip, warnings: &mut Warnings) -> RootSource {
        let (trunk, feet) = self.paths(clip);
        let Some((hips, above)) = trunk.split_first() else { return RootSource::Hips };
        let (net, range) = horizontal_travel(hips);
        if net < 0.1 * self.leg && range < 0.5 * self.leg {
            let speed = if clip.looping { self.stance_speed(&feet) } else { None };
            return match speed.filter(|speed| speed.abs() > 0.05 * self.leg) {
                Some(speed) => {
                    warnings.push(Warning::SpeedEstimated { clip: clip.name.clone(), speed });
                    RootSource::InPlace { speed }
                }
                None => RootSource::InPlace { speed: 0.0 },
            };
        }
        // A joint above the hips that stays on one level and goes where the hips go is the root of the travel; one
        // that bobs like the hips (the centre of mass of some tools) is not.
        let shift = |path: &Path| match (path.first(), path.last()) {
            (Some((_, first)), Some((_, last))) => (*last - *first) * Vec3::new(1.0, 0.0, 1.0),
            _ => Vec3::ZERO,
        };
        for (path, &joint) in above.iter().zip(self.trunk.iter().skip(1)) {
            let (low, high) =
                path.iter().fold((f32::MAX, f32::MIN), |(low, high), (_, p)| (low.min(p.y), high.max(p.y)));
            let follows = shift(path).distance(shift(hips)) < 0.2 * net.max(0.1 * self.leg);
            if follows && high - low < 0.01 * self.leg && horizontal_travel(path).1 > 0.1 * self.leg {
                return RootSource::Joint(joint);
            }
        }
        RootSource::Hips
    }

    /// Ground speed of a cycle on the spot along +Z: how fast the feet go backwards while they are down, the median
    /// over both feet's stance.
    fn stance_speed(&self, feet: &[Path]) -> Option<f32> {
        let mut speeds = Vec::new();
        for (path, &(_, rest)) in feet.iter().zip(&self.feet) {
            let mut heights = path.iter().map(|(_, point)| point.y).collect::<Vec<_>>();
            heights.sort_by(f32::total_cmp);
            let floor = *heights.get(heights.len() / 20)?;
            // Who swims or flies has no stance.
            if (floor - rest).abs() > 0.15 * self.leg {
                return None;
            }
            for pair in path.windows(2) {
                let [(t0, p0), (t1, p1)] = *pair else { continue };
                if p0.y.max(p1.y) < floor + 0.02 * self.leg && t1 > t0 {
                    speeds.push(-(p1.z - p0.z) / (t1 - t0));
                }
            }
        }
        speeds.sort_by(f32::total_cmp);
        speeds.get(speeds.len() / 2).copied()
    }
}

fn first_root(skeleton: &RawSkeleton) -> Option<u16> {
    let root = skeleton.joints.iter().position(|joint| joint.parent.is_none())?;
    u16::try_from(root).ok()
}

/// Net and largest horizontal distance from the start.
fn horizontal_travel(path: &[(f32, Vec3)]) -> (f32, f32) {
    let Some(&(_, first)) = path.first() else { return (0.0, 0.0) };
    let away = |(_, point): &(f32, Vec3)| ((*point - first) * Vec3::new(1.0, 0.0, 1.0)).length();
    (path.last().map_or(0.0, away), path.iter().map(away).fold(0.0, f32::max))
}

/// Height of the rest pose, for what has no legs; 1 m for what has no height.
fn size(rest: &[Mat4]) -> f32 {
    let heights = rest.iter().map(|model| model.w_axis.y);
    let (low, high) = heights.fold((f32::MAX, f32::MIN), |(low, high), y| (low.min(y), high.max(y)));
    if high - low > 1e-3 { high - low } else { 1.0 }
}

fn leg_length(rest: &[Mat4], roles: &RoleMap) -> Option<f32> {
    let place = |role: Role| rest.get(usize::from(roles.joint(role)?)).map(|model| model.w_axis.truncate());
    let leg = |side| {
        let (thigh, shin, foot) =
            (place(Role::Thigh(side))?, place(Role::Shin(side))?, place(Role::Foot(side))?);
        Some(thigh.distance(shin) + shin.distance(foot))
    };
    Side::BOTH.into_iter().find_map(leg).filter(|&leg| leg > 1e-3)
}
