//! How well a clip came over, in numbers: joint positions of source and target, each by its own skeleton and clip, in double
//! precision. No map and no rotation that retargeting has used is looked at.
//!
//! Angles between limbs are in model axes. A limb's roll is told by its hinge (the normal of upper and lower bone, where they
//! are bent) and by the palm (wrist, index, little finger).

use glam::{DMat4, DVec3};
use serde::{Deserialize, Serialize};

use super::namesakes;
use crate::clip::{JointTracks, RawClip, RootSource};
use crate::rig::{Digit, RawSkeleton, ReferencePose, Role, RoleMap, Side, carrier, leg_length};

/// A clip on a skeleton.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// Its joints.
    pub skeleton: &'a RawSkeleton,
    /// What they are.
    pub roles: &'a RoleMap,
    /// The pose that corresponds to the other's.
    pub reference: &'a ReferencePose,
    /// On that skeleton.
    pub clip: &'a RawClip,
}

/// Mean and largest of many values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Largest.
    pub max: f64,
}

/// How a clip came over, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// Plays right.
    Good,
    /// Somebody should look at it.
    Doubtful,
    /// Plays wrong.
    Bad,
}

/// The numbers of one clip. What cannot be told is `None`, never a guess.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verdict {
    /// Name of the clip.
    pub clip: String,
    /// Roles that both skeletons have.
    pub roles_mapped: usize,
    /// Roles of the target's body that the source lacks; fingers and twist joints are not counted.
    pub roles_missing: Vec<String>,
    /// Largest angle between limbs of the two reference poses, radians.
    pub reference_error_rad: f64,
    /// Thighs, shins, upper arms and forearms over the clip, degrees.
    pub limb_direction_deg: Option<Spread>,
    /// Knees, elbows and palms over the clip, degrees.
    pub limb_roll_deg: Option<Spread>,
    /// Horizontal path of the hips, target over source. Hips that turn about an axis beside them make small circles, which do
    /// not scale with the leg.
    pub root_ratio: Option<f64>,
    /// Thigh and shin, target over source.
    pub leg_ratio: f64,
    /// Mean height of the hips over what the leg ratio makes of the source's; 1 when right.
    pub pelvis_height_ratio: Option<f64>,
    /// 99th percentile over stances of how much farther a ball slides than the leg ratio makes of the source's own slide,
    /// millimetres; without contacts nothing.
    pub stance_slide_mm_p99: Option<f64>,
    /// 99th percentile over stances of how much deeper a ball dips below its reference height, in the same way.
    pub stance_penetration_mm_p99: Option<f64>,
    /// What is left of it after feet were put onto level ground: see [`Verdict::after`].
    pub after_contacts: Option<After>,
    /// Limbs that turn by more than a right angle from one sample to the next, where the source's do not.
    pub flips: usize,
    /// Largest change of a bone's length, of its length.
    pub bone_length_error: f64,
    /// In a word.
    pub verdict: Grade,
    /// Why not good.
    pub reasons: Vec<String>,
}

/// What contacts have made of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct After {
    /// As [`Verdict::limb_direction_deg`].
    pub limb_direction_deg: Option<Spread>,
    /// As [`Verdict::stance_slide_mm_p99`].
    pub stance_slide_mm_p99: Option<f64>,
    /// As [`Verdict::stance_penetration_mm_p99`].
    pub stance_penetration_mm_p99: Option<f64>,
}

/// Samples per second.
const RATE: f64 = 30.0;
/// Most samples of one clip.
const MOST: usize = 3600;
/// Sine of the bend from which a hinge has a normal.
const BENT: f64 = 0.17;

/// Judges what a source's clip has become on a target.
#[must_use]
pub fn judge(source: Judged<'_>, target: Judged<'_>) -> Verdict {
    compare(source, target, &Film::shoot(source), &Film::shoot(target))
}

impl Verdict {
    /// Adds what has become of the target after its feet were put onto the ground: model positions of its joints, metres,
    /// at each of the [`judged_times`] of the source's clip.
    pub fn after(&mut self, source: Judged<'_>, target: Judged<'_>, frames: Vec<Vec<DVec3>>) {
        let from = Film::shoot(source);
        let step = from.step;
        let mut frames = frames;
        frames.truncate(from.frames.len());
        if frames.iter().any(|frame| frame.len() != target.skeleton.joints.len()) {
            return;
        }
        let after = compare(source, target, &from, &Film { judged: target, frames, step });
        self.after_contacts = Some(After {
            limb_direction_deg: after.limb_direction_deg,
            stance_slide_mm_p99: after.stance_slide_mm_p99,
            stance_penetration_mm_p99: after.stance_penetration_mm_p99,
        });
    }
}

/// Times of the samples of a clip that is judged, seconds.
#[must_use]
pub fn judged_times(clip: &RawClip) -> Vec<f32> {
    let duration = f64::from(clip.duration);
    let count = ((duration * RATE).round() as usize).clamp(1, MOST);
    (0..=count).map(|frame| (duration * frame as f64 / count as f64) as f32).collect()
}

fn compare(source: Judged<'_>, target: Judged<'_>, from: &Film<'_>, to: &Film<'_>) -> Verdict {
    let leg = |judged: Judged<'_>| leg_length(judged.skeleton, judged.roles, judged.reference);
    let leg_ratio = leg(target) / leg(source);
    let mut directions = Sum::default();
    let mut rolls = Sum::default();
    let mut flips = 0;
    let mut last: Vec<Option<(DVec3, DVec3)>> = vec![None; LIMBS.len() * 2];
    for (a, b) in from.frames.iter().zip(&to.frames) {
        for side in Side::BOTH {
            for (limb, (upper, lower)) in LIMBS.iter().enumerate() {
                let of = |film: &Film<'_>, frame: &[DVec3]| film.bone(frame, upper(side), lower(side));
                let slot = &mut last[limb * 2 + usize::from(side == Side::Right)];
                let (Some(d), Some(e)) = (of(from, a), of(to, b)) else { continue };
                directions.add(d.angle_between(e).to_degrees());
                if let Some((before, after)) = *slot {
                    flips += usize::from(after.dot(e) < 0.0 && before.dot(d) > 0.0);
                }
                *slot = Some((d, e));
            }
            for normal in [knee, elbow, palm] {
                if let (Some(n), Some(m)) = (normal(from, a, side), normal(to, b, side)) {
                    rolls.add(n.angle_between(m).to_degrees());
                }
            }
        }
    }
    // Whoever is no humanoid is looked at bone by bone.
    let namesakes = match directions.spread() {
        Some(_) => None,
        None => namesakes::compare(source, target, &from.frames, &to.frames),
    };
    let stances = stances(from, to, source.clip, leg_ratio);
    let (path, other) = (from.path(), to.path());
    let travels = path > 0.1 * leg(source);
    let height = pelvis_height(from, to, leg_ratio);
    let body: Vec<Role> = target
        .roles
        .iter()
        .map(|(role, _)| role)
        .filter(|role| !matches!(role, Role::Finger(..) | Role::Twist(..)))
        .collect();
    let missing = body.iter().filter(|role| source.roles.joint(**role).is_none());
    let mut verdict = Verdict {
        clip: source.clip.name.clone(),
        roles_mapped: target.roles.iter().filter(|(role, _)| source.roles.joint(*role).is_some()).count(),
        roles_missing: missing.map(ToString::to_string).collect(),
        reference_error_rad: reference_error(source, target),
        limb_direction_deg: directions.spread().or(namesakes.map(|(spread, _)| spread)),
        limb_roll_deg: rolls.spread(),
        root_ratio: travels.then(|| other / path),
        leg_ratio,
        pelvis_height_ratio: height,
        stance_slide_mm_p99: stances.map(|[slide, _]| slide),
        stance_penetration_mm_p99: stances.map(|[_, depth]| depth),
        flips,
        after_contacts: None,
        bone_length_error: to.stretch(),
        verdict: Grade::Good,
        reasons: Vec::new(),
    };
    grade(&mut verdict);
    if let Some((_, share)) = namesakes.filter(|(_, share)| *share < 0.9) {
        verdict.reasons.push(format!("{:.0} % of the target's joints have a namesake", 100.0 * share));
        verdict.verdict = verdict.verdict.max(if share < 0.5 { Grade::Bad } else { Grade::Doubtful });
    }
    verdict
}

/// Limits of good and of doubtful; beyond is bad.
fn grade(verdict: &mut Verdict) {
    let off = |value: Option<f64>, right: f64| value.map(|value| (value - right).abs());
    let direction = verdict.limb_direction_deg;
    let roll = verdict.limb_roll_deg;
    let checks = [
        ("limbs point elsewhere, mean", direction.map(|d| d.mean), 1.0, 5.0, "degrees"),
        ("limbs point elsewhere, at most", direction.map(|d| d.max), 5.0, 30.0, "degrees"),
        ("knees, elbows and palms are turned, mean", roll.map(|r| r.mean), 5.0, 20.0, "degrees"),
        ("limbs flip", Some(verdict.flips as f64), 0.5, 1.5, "times"),
        ("bones change their length", Some(verdict.bone_length_error), 1e-5, 1e-3, "of it"),
        (
            "travel is off the leg ratio",
            off(verdict.root_ratio.map(|r| r / verdict.leg_ratio), 1.0),
            0.03,
            0.2,
            "of it",
        ),
        ("the hips are off their height", off(verdict.pelvis_height_ratio, 1.0), 0.01, 0.1, "of it"),
        ("feet slide more than the source's", verdict.stance_slide_mm_p99, 30.0, 150.0, "mm"),
    ];
    for (what, value, good, doubtful, unit) in checks {
        let Some(value) = value.filter(|value| *value > good || value.is_nan()) else { continue };
        verdict.reasons.push(format!("{what}: {value:.3} {unit}, {good} is good"));
        let grade = if value > doubtful || value.is_nan() { Grade::Bad } else { Grade::Doubtful };
        verdict.verdict = verdict.verdict.max(grade);
    }
    if direction.is_none() {
        verdict
            .reasons
            .push("no limb is known of both: roles are missing, and no bones share their names".to_owned());
        verdict.verdict = Grade::Bad;
    } else if !verdict.roles_missing.is_empty() {
        verdict.reasons.push(format!("the source lacks {}", verdict.roles_missing.join(", ")));
        verdict.verdict = verdict.verdict.max(Grade::Doubtful);
    }
}

type Bone = (fn(Side) -> Role, fn(Side) -> Role);

const LIMBS: [Bone; 4] = [
    (Role::Thigh, Role::Shin),
    (Role::Shin, Role::Foot),
    (Role::UpperArm, Role::Forearm),
    (Role::Forearm, Role::Hand),
];

/// Model positions of all joints over a clip.
struct Film<'a> {
    judged: Judged<'a>,
    frames: Vec<Vec<DVec3>>,
    /// Seconds between frames.
    step: f64,
}

impl<'a> Film<'a> {
    fn shoot(judged: Judged<'a>) -> Self {
        let times = judged_times(judged.clip);
        let step = f64::from(judged.clip.duration) / (times.len() - 1) as f64;
        // What marches on the spot was made to travel.
        let speed = match judged.clip.root {
            RootSource::InPlace { speed } => f64::from(speed),
            _ => 0.0,
        };
        let frames = times
            .into_iter()
            .map(|time| {
                let way = DVec3::new(0.0, 0.0, speed * f64::from(time));
                positions(judged.skeleton, judged.clip, time).into_iter().map(|p| p + way).collect()
            })
            .collect();
        Self { judged, frames, step }
    }

    fn at(&self, frame: &[DVec3], role: Role) -> Option<DVec3> {
        frame.get(usize::from(self.judged.roles.joint(role)?)).copied()
    }

    fn bone(&self, frame: &[DVec3], from: Role, to: Role) -> Option<DVec3> {
        (self.at(frame, to)? - self.at(frame, from)?).try_normalize()
    }

    /// Horizontal way of the hips.
    fn path(&self) -> f64 {
        let hips = usize::from(carrier(self.judged.skeleton, self.judged.roles));
        self.frames
            .windows(2)
            .map(|pair| {
                let d = pair[1][hips] - pair[0][hips];
                d.x.hypot(d.z)
            })
            .sum()
    }

    /// Largest relative change of a distance between joint and parent that the clip does not move.
    fn stretch(&self) -> f64 {
        let Judged { skeleton, clip, roles, .. } = self.judged;
        let pelvis = carrier(skeleton, roles);
        let rest = positions(skeleton, &RawClip::default(), 0.0);
        let mut worst = 0.0f64;
        for (joint, raw) in skeleton.joints.iter().enumerate() {
            let Some(parent) = raw.parent.map(usize::from) else { continue };
            // A foot that is a goal beside its leg is put to the shin's end by the clip.
            let put = |track: &JointTracks| usize::from(track.joint) == joint && track.translation.is_some();
            let carried = joint == usize::from(pelvis)
                || clip.tracks.iter().any(put)
                || clip.root == RootSource::Joint(joint as u16)
                || skeleton.is_below(pelvis.into(), joint);
            let length = rest[joint].distance(rest[parent]);
            if carried || length < 1e-4 {
                continue;
            }
            for frame in &self.frames {
                worst = worst.max((frame[joint].distance(frame[parent]) / length - 1.0).abs());
            }
        }
        worst
    }
}

fn positions(skeleton: &RawSkeleton, clip: &RawClip, time: f32) -> Vec<DVec3> {
    let mut models: Vec<DMat4> = Vec::with_capacity(skeleton.joints.len());
    for (joint, local) in skeleton.joints.iter().zip(clip.sample(skeleton, time)) {
        let own = DMat4::from_scale_rotation_translation(
            local.scale.as_dvec3(),
            local.rotation.as_dquat().normalize(),
            local.translation.as_dvec3(),
        );
        let above = joint.parent.and_then(|parent| models.get(usize::from(parent)));
        models.push(above.map_or(own, |above| *above * own));
    }
    models.into_iter().map(|model| model.w_axis.truncate()).collect()
}

fn hinge(film: &Film<'_>, frame: &[DVec3], [a, b, c]: [Role; 3]) -> Option<DVec3> {
    let normal = film.bone(frame, a, b)?.cross(film.bone(frame, b, c)?);
    (normal.length() > BENT).then(|| normal.normalize())
}

fn knee(film: &Film<'_>, frame: &[DVec3], side: Side) -> Option<DVec3> {
    hinge(film, frame, [Role::Thigh(side), Role::Shin(side), Role::Foot(side)])
}

fn elbow(film: &Film<'_>, frame: &[DVec3], side: Side) -> Option<DVec3> {
    hinge(film, frame, [Role::UpperArm(side), Role::Forearm(side), Role::Hand(side)])
}

fn palm(film: &Film<'_>, frame: &[DVec3], side: Side) -> Option<DVec3> {
    let finger = |digit| film.bone(frame, Role::Hand(side), Role::Finger(side, digit, 0));
    finger(Digit::Index)?.cross(finger(Digit::Little)?).try_normalize()
}

fn reference_error(source: Judged<'_>, target: Judged<'_>) -> f64 {
    let bone = |judged: Judged<'_>, from: Role, to: Role| {
        let at = |role| judged.roles.joint(role).map(|joint| judged.reference.position(joint.into()));
        (at(to)? - at(from)?).try_normalize()
    };
    let mut worst = 0.0f64;
    for side in Side::BOTH {
        for (upper, lower) in LIMBS {
            if let (Some(a), Some(b)) =
                (bone(source, upper(side), lower(side)), bone(target, upper(side), lower(side)))
            {
                worst = worst.max(a.angle_between(b));
            }
        }
    }
    worst
}

/// Mean height of the hips against what it should be.
fn pelvis_height(from: &Film<'_>, to: &Film<'_>, ratio: f64) -> Option<f64> {
    let mean = |film: &Film<'_>| {
        let hips = usize::from(carrier(film.judged.skeleton, film.judged.roles));
        film.frames.iter().map(|frame| frame[hips].y).sum::<f64>() / film.frames.len() as f64
    };
    let rest = |film: &Film<'_>| {
        let hips = carrier(film.judged.skeleton, film.judged.roles);
        film.judged.reference.position(hips.into()).y
    };
    let right = rest(to) + ratio * (mean(from) - rest(from));
    (right.abs() > 1e-3).then(|| mean(to) / right)
}

/// 99th percentiles of added slide and depth, millimetres.
fn stances(from: &Film<'_>, to: &Film<'_>, clip: &RawClip, ratio: f64) -> Option<[f64; 2]> {
    let contacts = clip.contacts.as_ref()?;
    let (mut slides, mut depths) = (Vec::new(), Vec::new());
    for foot in &contacts.feet {
        let role = [Role::Toe(foot.side), Role::Foot(foot.side)].into_iter().find(|role| {
            from.judged.roles.joint(*role).is_some() && to.judged.roles.joint(*role).is_some()
        })?;
        let height = |film: &Film<'_>| {
            film.judged.roles.joint(role).map_or(0.0, |joint| film.judged.reference.position(joint.into()).y)
        };
        for interval in foot.ball.iter().filter(|interval| interval.end > interval.start) {
            let stance = |film: &Film<'_>| {
                let mut first = None;
                let (mut slide, mut low) = (0.0f64, 0.0f64);
                for (frame, points) in film.frames.iter().enumerate() {
                    let time = (frame as f64 * film.step) as f32;
                    if let (true, Some(at)) = (interval.contains(time), film.at(points, role)) {
                        let start = *first.get_or_insert(at);
                        slide = slide.max((at.x - start.x).hypot(at.z - start.z));
                        low = low.max(height(film) - at.y);
                    }
                }
                [slide, low]
            };
            let ([slide, low], [own_slide, own_low]) = (stance(to), stance(from));
            slides.push(1e3 * (slide - ratio * own_slide).max(0.0));
            depths.push(1e3 * (low - ratio * own_low).max(0.0));
        }
    }
    let p99 = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(((0.99 * values.len() as f64).ceil() as usize).saturating_sub(1)).copied()
    };
    Some([p99(&mut slides)?, p99(&mut depths)?])
}

#[derive(Default)]
struct Sum {
    sum: f64,
    max: f64,
    count: usize,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.max = self.max.max(value);
        self.count += 1;
    }

    fn spread(&self) -> Option<Spread> {
        (self.count > 0).then(|| Spread { mean: self.sum / self.count as f64, max: self.max })
    }
}
