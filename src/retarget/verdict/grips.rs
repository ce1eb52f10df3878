//! Both hands on one thing: whether they look as if they were, and how far the target's are from it.

use glam::{DQuat, DVec3};

use super::film::{Film, Frame};
use crate::retarget::grip::{GripSpan, palm};
use crate::rig::{Grip, ReferencePose, Role, RoleMap, Side};

/// Shortest stretch that is worth telling, seconds.
const SHORTEST: f64 = 0.4;
/// Most that hands which hold one thing move against each other: of their mean distance, and radians.
const LOOSE: f64 = 0.06;
const TURNED: f64 = 0.15;
/// Least way of the hands against the body in that time, leg lengths: hands that hang still hold nothing.
const MOVES: f64 = 0.15;
/// Farthest that hands on one thing are from each other, leg lengths.
const APART: f64 = 1.0;

/// A hand and the middle of its grip.
fn grip(film: &Film<'_>, frame: &Frame, bodies: [&RoleMap; 2], side: Side) -> Option<(DVec3, DQuat)> {
    let hand = film.joint(Role::Hand(side))?;
    let turn = *frame.turn.get(hand)?;
    let pose: &ReferencePose = film.judged.reference;
    let place = |role| film.judged.roles.joint(role).map(|joint| pose.position(joint.into()));
    Some((frame.at[hand] + turn * palm(place, bodies, side), turn))
}

/// Farthest from the second hand's grip to where the source's grips put it from the first hand, millimetres.
pub(super) fn error(from: &Film<'_>, to: &Film<'_>, grips: &[Grip]) -> Option<f64> {
    let mut worst: Option<f64> = None;
    for grip_goal in grips.iter().filter(|grip| grip.is_of(&from.judged.clip.name)) {
        let (first, second) = (grip_goal.first, grip_goal.first.other());
        let bodies = [from.judged.roles, to.judged.roles];
        let of = |film: &Film<'_>, frame: &Frame, side| grip(film, frame, bodies, side);
        for (index, (a, b)) in from.frames.iter().zip(&to.frames).enumerate() {
            if !grip_goal.holds(index as f64 * from.step) {
                continue;
            }
            let (Some((p1, q1)), Some((p2, _))) = (of(from, a, first), of(from, a, second)) else { continue };
            let (Some((t1, r1)), Some((t2, _))) = (of(to, b, first), of(to, b, second)) else { continue };
            let goal = t1 + r1 * (q1.inverse() * (p2 - p1)) * grip_goal.scale;
            worst = Some(worst.unwrap_or(0.0).max(1e3 * goal.distance(t2)));
        }
    }
    worst
}

/// Stretches of the source in which both hands keep their distance and turn together while they move.
pub(super) fn found(film: &Film<'_>) -> Vec<GripSpan> {
    let judged = film.judged;
    let leg = crate::rig::leg_length(judged.skeleton, judged.roles, judged.reference);
    let chest = judged.roles.spine().last().copied().map(usize::from);
    let Some(chest) = chest.or_else(|| film.joint(Role::Hips)) else { return Vec::new() };
    let own = [judged.roles; 2];
    struct Held {
        offset: DVec3,
        turn: DQuat,
        /// The first hand as the chest sees it.
        seen: DVec3,
    }
    let held: Option<Vec<Held>> = film
        .frames
        .iter()
        .map(|frame| {
            let ((p1, q1), (p2, q2)) =
                (grip(film, frame, own, Side::Left)?, grip(film, frame, own, Side::Right)?);
            Some(Held {
                offset: q1.inverse() * (p2 - p1),
                turn: q1.inverse() * q2,
                seen: frame.turn[chest].inverse() * (p1 - frame.at[chest]),
            })
        })
        .collect();
    let Some(held) = held else { return Vec::new() };
    let mut spans = Vec::new();
    let mut first = 0;
    while first < held.len() {
        let start = &held[first];
        let with = |now: &Held| {
            now.offset.length() < APART * leg
                && now.offset.distance(start.offset) < LOOSE * start.offset.length().max(0.1 * leg)
                && now.turn.angle_between(start.turn) < TURNED
        };
        let count = held[first..].iter().take_while(|now| with(now)).count().max(1);
        let stretch = &held[first..first + count];
        let way: f64 = stretch.windows(2).map(|pair| pair[0].seen.distance(pair[1].seen)).sum();
        if count as f64 * film.step >= SHORTEST && way > MOVES * leg {
            let time = |frame: usize| frame as f64 * film.step;
            spans.push(GripSpan { start: time(first), end: time(first + count - 1) });
        }
        first += count;
    }
    spans
}
