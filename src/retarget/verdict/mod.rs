//! How well a clip came over, in numbers: joint positions of source and target, each by its own skeleton and clip, in double
//! precision. No map and no rotation that retargeting has used is looked at.
//!
//! Angles between limbs are in model axes. A limb's roll is told by its hinge (the normal of upper and lower bone, where they
//! are bent) and by the palm (wrist, index, little finger).

mod film;
mod grade;
mod grips;
mod limbs;
mod stances;
mod sum;
mod twist;

use serde::{Deserialize, Serialize};

use self::film::Film;
use self::grade::grade;
use self::limbs::{Limbs, reference_error};
use self::stances::{pelvis_height, stances};
use super::fallbacks::{Fallback, fallbacks};
use super::grip::GripSpan;
use super::namesakes;
use super::plant::ReachFailure;
use crate::clip::RawClip;
use crate::rig::{Grip, RawSkeleton, ReferencePose, Role, RoleMap, leg_length};

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
    /// Roles of the target's body that the source lacks; fingers and twist joints are not counted, nor further joints of a
    /// spine or neck that the source has in fewer: motion is spread over them ([`fallbacks`](Self::fallbacks)).
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
    /// Largest difference of a limb's twist from the source's, degrees: of everything that the joints from the one above the
    /// limb to its end turn about its axis, unwrapped over time, and of what a twist joint turns beyond that. `None` where
    /// no limb with its end is known of both.
    #[serde(default)]
    pub twist_error_deg: Option<f64>,
    /// Farthest that the second hand is from its place on the prop, millimetres; `None` without [grips](Grip).
    #[serde(default)]
    pub hand_goal_error_mm_max: Option<f64>,
    /// Goals of hands and feet that were out of reach: entries of [`reach`](Self::reach).
    #[serde(default)]
    pub reach_failures: usize,
    /// Each with distance and what was done.
    #[serde(default)]
    pub reach: Vec<ReachFailure>,
    /// What stands in for parts that the source lacks, or has in another number.
    #[serde(default)]
    pub fallbacks: Vec<Fallback>,
    /// Stretches of time in which both hands move as if they held one thing. Nothing is done about it: see [`Grip`].
    #[serde(default)]
    pub grips_found: Vec<GripSpan>,
    /// What is left of it after contacts and grips were solved: see [`Verdict::after`].
    pub after_contacts: Option<After>,
    /// Limbs that turn by more than a right angle from one sample to the next, where the source's do not.
    pub flips: usize,
    /// Largest change of a bone's length, of its length.
    pub bone_length_error: f64,
    /// In a word.
    pub verdict: Grade,
    /// Why not good.
    pub reasons: Vec<String>,
    /// Of the joints of a target that is no humanoid: how many have a namesake in the source.
    #[serde(skip)]
    namesakes: Option<f64>,
}

/// What contacts have made of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct After {
    /// As [`Verdict::limb_direction_deg`].
    pub limb_direction_deg: Option<Spread>,
    /// As [`Verdict::limb_roll_deg`].
    #[serde(default)]
    pub limb_roll_deg: Option<Spread>,
    /// As [`Verdict::flips`].
    #[serde(default)]
    pub flips: usize,
    /// As [`Verdict::pelvis_height_ratio`].
    #[serde(default)]
    pub pelvis_height_ratio: Option<f64>,
    /// As [`Verdict::stance_slide_mm_p99`].
    pub stance_slide_mm_p99: Option<f64>,
    /// As [`Verdict::stance_penetration_mm_p99`].
    pub stance_penetration_mm_p99: Option<f64>,
}

/// Samples per second.
const RATE: f64 = 30.0;
/// Most samples of one clip.
const MOST: usize = 3600;

/// Judges what a source's clip has become on a target.
#[must_use]
pub fn judge(source: Judged<'_>, target: Judged<'_>) -> Verdict {
    compare(&Film::whole(source), &Film::shoot(target, &judged_times(source.clip)))
}

impl Verdict {
    /// Adds what the clip is after contacts and grips were solved: `target` with that clip, the grips, and what could not
    /// be reached.
    pub fn after(
        &mut self,
        source: Judged<'_>,
        target: Judged<'_>,
        grips: &[Grip],
        reach: Vec<ReachFailure>,
    ) {
        let (from, to) = (Film::whole(source), Film::shoot(target, &judged_times(source.clip)));
        let after = compare(&from, &to);
        self.hand_goal_error_mm_max = grips::error(&from, &to, grips);
        self.reach_failures = reach.len();
        self.reach = reach;
        self.after_contacts = Some(After {
            limb_direction_deg: after.limb_direction_deg,
            limb_roll_deg: after.limb_roll_deg,
            flips: after.flips,
            pelvis_height_ratio: after.pelvis_height_ratio,
            stance_slide_mm_p99: after.stance_slide_mm_p99,
            stance_penetration_mm_p99: after.stance_penetration_mm_p99,
        });
        self.bone_length_error = self.bone_length_error.max(after.bone_length_error);
        grade(self);
    }
}

/// Times of the samples of a clip that is judged, seconds.
#[must_use]
pub fn judged_times(clip: &RawClip) -> Vec<f32> {
    let duration = f64::from(clip.duration);
    let count = ((duration * RATE).round() as usize).clamp(1, MOST);
    (0..=count).map(|frame| (duration * frame as f64 / count as f64) as f32).collect()
}

fn compare(from: &Film<'_>, to: &Film<'_>) -> Verdict {
    let (source, target) = (from.judged, to.judged);
    let leg = |judged: Judged<'_>| leg_length(judged.skeleton, judged.roles, judged.reference);
    let leg_ratio = leg(target) / leg(source);
    let limbs = Limbs::compare(from, to);
    // Whoever is no humanoid is looked at bone by bone.
    let namesakes = match limbs.directions.spread() {
        Some(_) => None,
        None => namesakes::compare(source, target, &from.places(), &to.places()),
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
    let resampled = |role: Role| match role {
        Role::Spine(_) => !source.roles.spine().is_empty(),
        Role::Neck(_) => !source.roles.neck().is_empty(),
        _ => false,
    };
    let missing = body.iter().filter(|role| source.roles.joint(**role).is_none() && !resampled(**role));
    let mut verdict = Verdict {
        clip: source.clip.name.clone(),
        roles_mapped: target.roles.iter().filter(|(role, _)| source.roles.joint(*role).is_some()).count(),
        roles_missing: missing.map(ToString::to_string).collect(),
        reference_error_rad: reference_error(source, target),
        limb_direction_deg: limbs.directions.spread().or(namesakes.map(|(spread, _)| spread)),
        limb_roll_deg: limbs.rolls.spread(),
        root_ratio: travels.then(|| other / path),
        leg_ratio,
        pelvis_height_ratio: height,
        stance_slide_mm_p99: stances.map(|[slide, _]| slide),
        stance_penetration_mm_p99: stances.map(|[_, depth]| depth),
        flips: limbs.flips,
        twist_error_deg: twist::error(from, to),
        hand_goal_error_mm_max: None,
        reach_failures: 0,
        reach: Vec::new(),
        fallbacks: fallbacks(source.roles, target.roles),
        grips_found: grips::found(from),
        after_contacts: None,
        bone_length_error: to.stretch(),
        verdict: Grade::Good,
        reasons: Vec::new(),
        namesakes: None,
    };
    verdict.namesakes = namesakes.map(|(_, share)| share);
    grade(&mut verdict);
    verdict
}
