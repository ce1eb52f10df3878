//! Source and target compared by where their joints are, frame by frame, in double precision.

use glam::{DQuat, DVec3};
use throng::clip::{MotionKeys, RawClip, RootSource};
use throng::rig::{Digit, NO_PARENT, Rig, Role, Side};

use crate::body::{Body, Place};
use crate::data;

/// Frames that are looked at, at most.
const FRAMES: usize = 150;

/// Joint positions of every frame.
pub type Poses = Vec<Vec<DVec3>>;

/// How many frames of a clip are looked at: the first ones.
pub fn frames(keys: usize) -> usize {
    keys.min(FRAMES)
}

/// Model-space joint positions of the source, read from its curves.
pub fn source_poses(body: &Body, clip: &RawClip, keys: usize) -> Poses {
    let step = f64::from(clip.duration) / (keys - 1) as f64;
    (0..frames(keys))
        .map(|key| {
            let time = f64::from(clip.start) + step * key as f64;
            data::clip_models(&body.imported.character.skeleton, clip, time)
                .iter()
                .map(|model| model.w_axis.truncate())
                .collect()
        })
        .collect()
}

/// World positions of the target, in the order of its file's joints: offsets of the rig turned along the hierarchy,
/// root motion applied.
pub fn target_poses(rig: &Rig, keys: &MotionKeys, in_place: bool) -> Poses {
    let topology = rig.topology();
    let count = topology.len();
    let leg = f64::from(rig.leg());
    (0..frames(keys.pelvis.len()))
        .map(|key| {
            let [x, z, yaw] = if in_place { [0.0; 3] } else { keys.root[key] };
            let (root, turn) = (DVec3::new(x, 0.0, z) * leg, DQuat::from_rotation_y(yaw));
            let mut models: Vec<(DVec3, DQuat)> = Vec::new();
            let mut out = vec![DVec3::ZERO; count];
            for joint in 0..count {
                let (at, above) = match topology.parents()[joint] {
                    NO_PARENT => (DVec3::ZERO, DQuat::IDENTITY),
                    parent => models[usize::from(parent)],
                };
                let mut place = at + above * DVec3::from_array(rig.offsets()[joint].map(f64::from));
                if joint == usize::from(topology.pelvis()) {
                    place += keys.pelvis[key] * leg;
                }
                models.push((place, above * keys.rotations[key * count + joint]));
                out[usize::from(rig.order()[joint])] = root + turn * place;
            }
            out
        })
        .collect()
}

#[derive(Clone, Debug, Default)]
pub struct Angles {
    pub sum: f64,
    pub max: f64,
    pub count: usize,
}

impl Angles {
    pub fn add(&mut self, angle: f64) {
        self.sum += angle;
        self.max = self.max.max(angle);
        self.count += 1;
    }
    pub fn join(&mut self, other: &Self) {
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        self.count += other.count;
    }
    pub fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

/// All degrees.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Thighs, shins, upper arms, forearms.
    pub direction: [Angles; 4],
    /// Knees, elbows, palms.
    pub roll: [Angles; 3],
    pub flips: usize,
    /// Of the hips' horizontal path; `None` for clips that stay in place.
    pub path_ratio: Option<f64>,
    pub leg_ratio: f64,
    /// Mean height of what carries the body, over what the leg ratio makes of the source's.
    pub height_ratio: f64,
    /// Largest change of a bone's length, metres.
    pub bone: f64,
}

const LIMBS: [(fn(usize) -> Place, fn(usize) -> Place); 4] = [
    (Place::Thigh, Place::Shin),
    (Place::Shin, Place::Foot),
    (Place::UpperArm, Place::Forearm),
    (Place::Forearm, Place::Hand),
];

/// Below this bend a hinge has no normal worth the name.
const LEAST_BEND: f64 = 20.0;

/// A limb or hinge that turns this much further between frames than the source's has flipped.
const FLIP: f64 = 60.0;

/// Looks at the frames of one body.
struct View<'a> {
    body: &'a Body,
    poses: &'a Poses,
    /// About +Y, so that both bodies set out in one direction.
    heading: DQuat,
}

impl View<'_> {
    fn direction(&self, frame: usize, limb: usize, side: usize) -> Option<DVec3> {
        let (from, to) = LIMBS[limb];
        let at = |place| Some(self.poses[frame][self.body.joint(place)?]);
        (self.heading * (at(to(side))? - at(from(side))?)).try_normalize()
    }

    fn hinge(&self, frame: usize, hinge: usize, side: usize) -> Option<DVec3> {
        if hinge == 2 {
            return self.palm(frame, side);
        }
        let (upper, lower) =
            (self.direction(frame, 2 * hinge, side)?, self.direction(frame, 2 * hinge + 1, side)?);
        let bent = degrees(upper, lower);
        let straight = !(LEAST_BEND..=180.0 - LEAST_BEND).contains(&bent);
        if straight { None } else { upper.cross(lower).try_normalize() }
    }

    fn palm(&self, frame: usize, side: usize) -> Option<DVec3> {
        let roles = &self.body.imported.roles;
        let at = |role| Some(self.poses[frame][usize::from(roles.joint(role)?)]);
        let house = Side::BOTH[side];
        let finger = |digit| at(Role::Finger(house, digit, 0));
        let hand = self.poses[frame][self.body.joint(Place::Hand(side))?];
        let (index, little) = (finger(Digit::Index)?, finger(Digit::Little)?);
        (self.heading * (index - hand).cross(little - hand)).try_normalize()
    }
}

fn degrees(a: DVec3, b: DVec3) -> f64 {
    a.cross(b).length().atan2(a.dot(b)).to_degrees()
}

/// What carries the body: the lowest joint that legs and head hang on. In some rigs the joint called hips hangs beside
/// the legs on it.
fn carrier(body: &Body) -> usize {
    let skeleton = &body.imported.character.skeleton;
    let up = |place| {
        let above = |&at: &usize| skeleton.joints[at].parent.map(usize::from);
        body.joint(place).map(|joint| std::iter::successors(Some(joint), above).collect::<Vec<_>>())
    };
    let others: Vec<_> = [Place::Thigh(1), Place::Hips, Place::Head].into_iter().filter_map(up).collect();
    let mut above = up(Place::Thigh(0)).expect("a leg").into_iter();
    above.find(|joint| others.iter().all(|other| other.contains(joint))).expect("one body")
}

/// Compares all frames.
pub fn judge(source: (&Body, &RawClip, &Poses), target: (&Body, &Rig, &Poses)) -> Verdict {
    let (source, clip, source_poses) = source;
    let (target, rig, target_poses) = target;
    let still = DQuat::IDENTITY;
    let mut a = View { body: source, poses: source_poses, heading: still };
    let b = View { body: target, poses: target_poses, heading: still };
    let mut verdict = Verdict { leg_ratio: target.leg / source.leg, ..Verdict::default() };
    // Root motion begins at zero heading; where the source's begins is found from all of its limbs.
    let (mut sin, mut cos) = (0.0, 0.0);
    for frame in 0..source_poses.len() {
        for limb in 0..4 {
            for side in 0..2 {
                if let (Some(s), Some(t)) = (a.direction(frame, limb, side), b.direction(frame, limb, side)) {
                    sin += t.x * s.z - t.z * s.x;
                    cos += t.x * s.x + t.z * s.z;
                }
            }
        }
    }
    if !matches!(clip.root, RootSource::InPlace { .. }) {
        a.heading = DQuat::from_rotation_y(sin.atan2(cos));
    }
    for frame in 0..source_poses.len() {
        for side in 0..2 {
            for limb in 0..4 {
                if let (Some(s), Some(t)) = (a.direction(frame, limb, side), b.direction(frame, limb, side)) {
                    verdict.direction[limb].add(degrees(s, t));
                    if let (Some(before), Some(now)) = (frame.checked_sub(1), Some(s))
                        && let (Some(s0), Some(t0)) =
                            (a.direction(before, limb, side), b.direction(before, limb, side))
                        && degrees(t0, t) > degrees(s0, now) + FLIP
                    {
                        verdict.flips += 1;
                    }
                }
            }
            for hinge in 0..3 {
                if let (Some(s), Some(t)) = (a.hinge(frame, hinge, side), b.hinge(frame, hinge, side)) {
                    verdict.roll[hinge].add(degrees(s, t));
                    if let Some(before) = frame.checked_sub(1)
                        && let (Some(s0), Some(t0)) =
                            (a.hinge(before, hinge, side), b.hinge(before, hinge, side))
                        && degrees(t0, t) > degrees(s0, s) + FLIP
                    {
                        verdict.flips += 1;
                    }
                }
            }
        }
    }
    let path = |body: &Body, poses: &Poses| {
        let hips = carrier(body);
        poses
            .windows(2)
            .map(|pair| ((pair[1][hips] - pair[0][hips]) * DVec3::new(1.0, 0.0, 1.0)).length())
            .sum::<f64>()
    };
    let (source_path, target_path) = (path(source, source_poses), path(target, target_poses));
    if source_path > 0.2 * source.leg {
        verdict.path_ratio = Some(target_path / source_path);
    }
    let height = |body: &Body, poses: &Poses| {
        let hips = carrier(body);
        let mean = poses.iter().map(|pose| pose[hips].y).sum::<f64>() / poses.len() as f64;
        (mean, body.reference.position(hips).y)
    };
    let ((source_mean, source_rest), (mean, rest)) =
        (height(source, source_poses), height(target, target_poses));
    verdict.height_ratio = mean / (rest + verdict.leg_ratio * (source_mean - source_rest));
    // Bones of the file, wherever the map has put their ends.
    let order = rig.order();
    let skeleton = &target.imported.character.skeleton;
    for pose in target_poses.iter().step_by(10) {
        for &joint in order {
            let joint = usize::from(joint);
            if let Some(parent) = skeleton.joints[joint].parent.map(usize::from)
                && target.imported.roles.role(joint as u16).is_some()
                && target.imported.roles.role(parent as u16).is_some()
                && joint != usize::from(order[usize::from(rig.topology().pelvis())])
            {
                let length = |at: &[DVec3]| at[joint].distance(at[parent]);
                verdict.bone = verdict.bone.max((length(pose) - length(&target.rest)).abs());
            }
        }
    }
    verdict
}
