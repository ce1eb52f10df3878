//! Contacts of a bound clip: feet that stand keep their place on the ground, whatever the proportions.
//!
//! ```text
//! contacts -> runs of keys -> shift of each foot -> pelvis, down as far as a leg is short -> two bones per leg
//! ```
//!
//! One owner for each displacement: root motion is left alone, the pelvis only goes down and only for reach, feet go where
//! their shift says and keep their animated orientation. Everything is done on keys, after proportions are known, so that
//! binding and exporting give the same motion.

mod phases;
mod shift;

use glam::DVec3;

use self::phases::{Down, key_count};
use self::shift::{Round, Shifts, Track, shifts};
use super::chain::Chain;
use super::figure::{Figure, Ground, Placed};
use super::two_bone::easy_reach;
use crate::clip::MotionKeys;
use crate::error::BuildError;
use crate::rig::{Rig, Role, Side, Sole, estimate_sole};

/// Heights above or below the floor up to which a stance is on it, leg lengths.
const NEAR: f64 = 0.12;
/// Farthest that a foot is moved over the ground, leg lengths.
const MOST: f64 = 0.25;
/// Farthest that the pelvis goes down, leg lengths.
const DEEPEST: f64 = 0.3;
/// Seconds on each side over which a drop of the pelvis is spread.
const SPREAD: f64 = 0.12;
/// Speed of the ball over the ground up to which a detected contact is held, leg lengths per second: faster it drags.
const SLOW: f64 = 0.35;
/// Metres that count as no shift at all.
const NOTHING: f64 = 1e-9;

/// Which contacts hold a foot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContactMode {
    /// Authored ones; of clips without any, those that were detected.
    #[default]
    Solve,
    /// Authored ones only.
    Authored,
    /// None: feet stay where proportions take them.
    Off,
}

/// What was done about something out of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReachRule {
    /// The end stays short of its target, on the line to it.
    SoftClamp,
    /// The foot is let go as far as it would have been moved farther than a quarter of a leg.
    Release,
}

/// A goal that could not be reached.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct ReachFailure {
    /// What was to get there, as roles are written.
    pub limb: String,
    /// Seconds into the clip, where it is worst.
    pub time: f64,
    /// From the limb's root to the target, metres; of a foot that is let go, how far it was to be moved.
    pub target_m: f64,
    /// Length of the limb, metres; of a foot that is let go, how far it was moved.
    pub chain_m: f64,
    /// What was done.
    pub rule: ReachRule,
}

/// What contacts have done to a clip.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Planted {
    /// Stays of a foot on the ground.
    pub stances: usize,
    /// Nobody has authored them.
    pub detected: bool,
    /// Farthest that a standing foot was moved, metres.
    pub moved: f64,
    /// Farthest that the pelvis went down, metres.
    pub lowered: f64,
    /// One for each leg and stretch of time out of reach.
    pub failures: Vec<ReachFailure>,
}

/// One leg over all keys.
struct Steps {
    side: Side,
    chain: Chain,
    shifts: Shifts,
}

/// Keys of the topology of `rig` with the feet of that rig held where they stand.
///
/// # Errors
/// If the keys are not those of the rig's topology, or an additive clip's.
pub fn plant(keys: &MotionKeys, rig: &Rig, mode: ContactMode) -> Result<(MotionKeys, Planted), BuildError> {
    let figure = Figure::new(rig);
    figure.check(keys)?;
    let mut out = keys.clone();
    let mut planted = Planted { detected: keys.contacts.is_none(), ..Planted::default() };
    let idle = keys.additive || mode == ContactMode::Off || mode == ContactMode::Authored && planted.detected;
    if idle || keys.pelvis.len() < 2 {
        return Ok((out, planted));
    }
    let (joints, count) = (rig.topology().len(), key_count(keys));
    let row = |key: usize| key * joints..(key + 1) * joints;
    let poses: Vec<Vec<Placed>> =
        (0..count).map(|key| figure.pose(&keys.rotations[row(key)], keys.pelvis[key])).collect();
    let roots: Vec<Ground> = (0..keys.root.len()).map(|key| Ground::at(keys, key, figure.leg)).collect();
    let floor = floor(rig);
    let round = Round {
        roots: &roots,
        step: keys.duration / (keys.pelvis.len() - 1) as f64,
        looping: keys.looping,
        floor,
        near: NEAR * figure.leg,
        most: MOST * figure.leg,
    };
    let mut steps = Vec::new();
    for side in Side::BOTH {
        let roles = [Role::Thigh(side), Role::Shin(side), Role::Foot(side)];
        let Some(chain) = Chain::of(&figure, rig.topology(), roles) else { continue };
        let sole = sole(rig, side, chain.end);
        let track = track(rig, side, chain.end, &sole, &poses);
        // Told for legs that a frame can solve.
        let index = rig.topology().legs().iter().position(|leg| leg.side == side);
        let down = match &keys.contacts {
            Some(contacts) => Down::authored(contacts, side, keys),
            None => {
                let told = |key: usize| keys.contact.get(key).and_then(|row| row.get(index?)).copied();
                let slow = |key: usize| speed(&track, &round, key) < SLOW * figure.leg;
                Down::detected((0..count).map(|key| told(key) == Some(1.0) && slow(key)).collect())
            }
        };
        let mut shifts = shifts(&track, &down, &round);
        lift(&track, &mut shifts, &round);
        planted.stances += shifts.runs.len();
        for (by, _) in shifts.by.iter().zip(&shifts.stands).filter(|&(_, stands)| *stands) {
            planted.moved = planted.moved.max(by.length());
        }
        for &(key, far) in &shifts.cut {
            planted.failures.push(ReachFailure {
                limb: Role::Foot(side).to_string(),
                time: key as f64 * round.step,
                target_m: far,
                chain_m: round.most,
                rule: ReachRule::Release,
            });
        }
        steps.push(Steps { side, chain, shifts });
    }
    if planted.stances == 0 {
        return Ok((out, planted));
    }
    let drops = drops(keys, &poses, &steps, &round, figure.leg);
    planted.lowered = drops.iter().copied().fold(0.0, f64::max);
    let mut short: Vec<Vec<Option<(f64, f64)>>> = vec![vec![None; count]; steps.len()];
    for key in 0..count {
        let down = DVec3::Y * drops[key];
        out.pelvis[key] -= down / figure.leg;
        for (index, step) in steps.iter().enumerate() {
            let by = step.shifts.by[key];
            if by.length() <= NOTHING && drops[key] <= NOTHING {
                continue;
            }
            let pose = &poses[key];
            let mut limb = step.chain.limb(pose, DVec3::Z);
            let target = limb.end + by;
            for joint in [&mut limb.root, &mut limb.middle, &mut limb.end] {
                *joint -= down;
            }
            let solved = limb.to(target);
            let missing = solved.end.distance(target);
            if step.shifts.stands[key] && missing > 1e-3 * figure.leg {
                short[index][key] = Some((limb.root.distance(target), limb.whole()));
            }
            let locals = &mut out.rotations[row(key)];
            step.chain.turn(locals, &figure, pose, [solved.upper, solved.lower]);
        }
    }
    if keys.looping {
        let last = keys.pelvis.len() - 1;
        out.pelvis[last] = out.pelvis[0];
        let first = out.rotations[..joints].to_vec();
        out.rotations[row(last)].copy_from_slice(&first);
    }
    for (step, short) in steps.iter().zip(&short) {
        let limb = Role::Foot(step.side).to_string();
        worst_of_stretches(short, &limb, round.step, ReachRule::SoftClamp, &mut planted.failures);
    }
    Ok((out, planted))
}

/// Height of the sole plane of the reference pose, metres.
fn floor(rig: &Rig) -> f64 {
    let lowest = Side::BOTH.into_iter().filter_map(|side| {
        let foot = usize::from(rig.topology().joint(Role::Foot(side))?);
        let sole = sole(rig, side, foot);
        Some(rig.positions()[foot].y + f64::from(sole.heel[1].min(sole.ball[1])))
    });
    lowest.reduce(f64::min).unwrap_or(0.0)
}

/// The rig's own; estimated for legs that a frame does not solve.
fn sole(rig: &Rig, side: Side, foot: usize) -> Sole {
    let topology = rig.topology();
    let own = topology.legs().iter().position(|leg| leg.side == side);
    own.and_then(|at| rig.soles().get(at)).copied().unwrap_or_else(|| {
        let toe = topology.joint(Role::Toe(side)).map(|toe| rig.positions()[usize::from(toe)]);
        estimate_sole(rig.positions()[foot], toe, rig.leg().into())
    })
}

/// Ball, heel and lowest point of one foot.
fn track(rig: &Rig, side: Side, foot: usize, sole: &Sole, poses: &[Vec<Placed>]) -> Track {
    let place = |joint: usize| rig.positions()[joint];
    let toe = rig.topology().joint(Role::Toe(side)).map(usize::from);
    let [heel, under] = [sole.heel, sole.ball].map(|point| DVec3::from_array(point.map(f64::from)));
    let mut track = Track { ball: Vec::new(), heel: Vec::new(), low: Vec::new() };
    for pose in poses {
        let ankle = pose[foot];
        let heel = ankle.at + ankle.turn * heel;
        // Toes lie flat while the heel comes up: the sole under the ball is theirs.
        let (ball, under) = match toe {
            Some(toe) => {
                let below = place(foot) + under - place(toe);
                (pose[toe].at, pose[toe].at + pose[toe].turn * below)
            }
            None => (ankle.at + ankle.turn * under, ankle.at + ankle.turn * under),
        };
        track.low.push(heel.y.min(under.y));
        track.ball.push(ball);
        track.heel.push(heel);
    }
    track
}

/// Of the ball over the ground, metres per second.
fn speed(track: &Track, round: &Round<'_>, key: usize) -> f64 {
    let (a, b) = (key.saturating_sub(1), (key + 1).min(track.ball.len() - 1));
    let at = |key: usize| round.roots[key].out(track.ball[key]);
    (at(b) - at(a)).with_y(0.0).length() / (round.step * (b - a).max(1) as f64)
}

/// In the air nothing of a foot goes below the floor that was not below it in the clip by much.
fn lift(track: &Track, shifts: &mut Shifts, round: &Round<'_>) {
    for key in 0..shifts.by.len() {
        if !shifts.stands[key] {
            let depth = round.floor - (track.low[key] + shifts.by[key].y);
            let own = ((round.floor - track.low[key]) / round.near).clamp(0.5, 1.0);
            shifts.by[key].y += depth.max(0.0) * 2.0 * (1.0 - own);
        }
    }
}

/// How far the pelvis goes down at each key, metres: at least as far as the legs that stand are short, and smoothly.
fn drops(keys: &MotionKeys, poses: &[Vec<Placed>], steps: &[Steps], round: &Round<'_>, leg: f64) -> Vec<f64> {
    let count = poses.len();
    let need: Vec<f64> = (0..count)
        .map(|key| {
            let of = |step: &Steps| {
                let limb = step.chain.limb(&poses[key], DVec3::Z);
                let target = limb.end + step.shifts.by[key];
                let (easy, _) = easy_reach(limb.root.distance(limb.end), limb.whole());
                let (gap, aside) = (limb.root.y - target.y, (target - limb.root).with_y(0.0).length());
                let reach = (easy * easy - aside * aside).max(0.0).sqrt();
                let say = if step.shifts.stands[key] { 1.0 } else { 0.0 };
                say * (gap - reach).clamp(0.0, DEEPEST * leg)
            };
            steps.iter().map(of).fold(0.0, f64::max)
        })
        .collect();
    if need.iter().all(|&d| d <= NOTHING) {
        return vec![0.0; count];
    }
    // The largest within the spread, then its mean over the spread: never less than what is needed at a key.
    let reach = ((SPREAD / round.step).round() as isize).min(count as isize / 2);
    let at = |values: &[f64], key: isize| {
        let last = count as isize - 1;
        let key = if keys.looping { key.rem_euclid(count as isize) } else { key.clamp(0, last) };
        values[key as usize]
    };
    let over = |key: usize| (-reach..=reach).map(move |d| key as isize + d);
    let largest: Vec<f64> =
        (0..count).map(|key| over(key).map(|k| at(&need, k)).fold(0.0, f64::max)).collect();
    (0..count).map(|key| over(key).map(|k| at(&largest, k)).sum::<f64>() / (2 * reach + 1) as f64).collect()
}

/// One failure for each stretch of keys in which a target, told with its distance and the length of the limb, was missed.
pub(super) fn worst_of_stretches(
    short: &[Option<(f64, f64)>],
    limb: &str,
    step: f64,
    rule: ReachRule,
    failures: &mut Vec<ReachFailure>,
) {
    let mut worst: Option<ReachFailure> = None;
    for (key, here) in short.iter().chain([&None]).enumerate() {
        let Some((target_m, chain_m)) = *here else {
            failures.extend(worst.take());
            continue;
        };
        if worst.as_ref().is_none_or(|worst| worst.target_m - worst.chain_m < target_m - chain_m) {
            let limb = limb.to_owned();
            worst = Some(ReachFailure { limb, time: key as f64 * step, target_m, chain_m, rule });
        }
    }
}
