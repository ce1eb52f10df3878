//! How far each foot is moved from where the clip has it, so that it stands where it stands.
//!
//! ```text
//! in a run     shift(t) = anchor - pivot(t)            pivot: the ball while it is down, else the heel
//! between      eases out of one run's last shift and into the next one's first, with their slopes
//! ```
//!
//! The anchor is the mean of the pivot over the longest stay of one part; where the pivot passes from one part to the
//! other the foot does not jump. Shifts are in the axes of the root, so that they mean the same in each round of a cycle.

use glam::DVec3;

use super::phases::{Down, Run};
use crate::retarget::figure::Ground;

/// Seconds over which a foot in the air comes back to where the clip has it, at most.
const EASE: f64 = 0.4;
/// Seconds over which the speed of a shift dies away.
const BRAKE: f64 = 0.15;

/// One foot over all keys, in the axes of the root, metres.
pub(super) struct Track {
    /// The ball's joint, or the point under the ball where there is none: what must not move over the ground.
    pub ball: Vec<DVec3>,
    pub heel: Vec<DVec3>,
    /// Height of the lower of the points of the sole.
    pub low: Vec<f64>,
}

/// What holds for all feet of a clip.
pub(super) struct Round<'a> {
    /// Of the keys that are there once, and of the one after them in a cycle.
    pub roots: &'a [Ground],
    pub step: f64,
    pub looping: bool,
    /// Height of the ground, metres.
    pub floor: f64,
    /// Heights above or below the floor, metres, up to which a stance is on it; farther it is on something else.
    pub near: f64,
    /// Farthest that a foot is moved over the ground, metres.
    pub most: f64,
}

/// Shifts of one foot, and how far a run's would have gone past the most.
pub(super) struct Shifts {
    pub by: Vec<DVec3>,
    /// True in the keys of runs.
    pub stands: Vec<bool>,
    pub runs: Vec<Run>,
    /// Key and shift that was asked, metres, of every run that was cut.
    pub cut: Vec<(usize, f64)>,
}

/// Where a pose of key `k`, which may be past the end of the cycle, is over the ground of the first round.
fn out(round: &Round<'_>, count: usize, key: usize, p: DVec3) -> DVec3 {
    let mut at = round.roots[key % count].out(p);
    for _ in 0..key / count {
        at = round.roots[count].out(at);
    }
    at
}

/// The same way back.
fn back(round: &Round<'_>, count: usize, key: usize, p: DVec3) -> DVec3 {
    let mut at = p;
    for _ in 0..key / count {
        at = round.roots[count].back(at);
    }
    round.roots[key % count].back(at)
}

pub(super) fn shifts(track: &Track, down: &Down, round: &Round<'_>) -> Shifts {
    let count = track.ball.len();
    let mut runs = down.runs(round.looping);
    // A foot that stands for all of a cycle that travels cannot: what says so is wrong.
    let travels = round.looping && out(round, count, count, DVec3::ZERO).length() > round.near / 8.0;
    runs.retain(|run| !travels || run.last - run.first + 1 < count);
    let mut by = vec![DVec3::ZERO; count];
    let mut stands = vec![false; count];
    let mut cut = Vec::new();
    for run in &runs {
        let shift = stand(track, down, round, *run);
        let most = shift.iter().map(|v| v.x.hypot(v.z)).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((at, far)) = most.filter(|&(_, far)| far > round.most) {
            cut.push(((run.first + at) % count, far));
        }
        for (key, v) in run.keys().zip(shift) {
            let far = v.x.hypot(v.z);
            let less = if far > round.most { round.most / far } else { 1.0 };
            by[key % count] = DVec3::new(v.x * less, v.y, v.z * less);
            stands[key % count] = true;
        }
    }
    swing(&mut by, &runs, round);
    Shifts { by, stands, runs, cut }
}

/// Shift per key of one run.
fn stand(track: &Track, down: &Down, round: &Round<'_>, run: Run) -> Vec<DVec3> {
    let count = track.ball.len();
    // Stays of one pivot, in order: true for the ball.
    let mut stays: Vec<(bool, usize, usize)> = Vec::new();
    for key in run.keys() {
        let ball = down.ball[key % count];
        match stays.last_mut() {
            Some((part, _, last)) if *part == ball => *last = key,
            _ => stays.push((ball, key, key)),
        }
    }
    let pivot = |ball: bool, key: usize| {
        let points = if ball { &track.ball } else { &track.heel };
        out(round, count, key, points[key % count])
    };
    let main = (0..stays.len())
        .max_by_key(|&at| (stays[at].0, stays[at].2 - stays[at].1))
        .filter(|&at| at < stays.len());
    let Some(main) = main else { return Vec::new() };
    let mean = |(ball, first, last): (bool, usize, usize)| {
        (first..=last).map(|key| pivot(ball, key)).sum::<DVec3>() / (last - first + 1) as f64
    };
    let mut anchors = vec![DVec3::ZERO; stays.len()];
    anchors[main] = mean(stays[main]);
    // At the key before it passes over, both parts ask for the same shift.
    for at in main + 1..stays.len() {
        let ((part, _, last), next) = (stays[at - 1], stays[at].0);
        anchors[at] = anchors[at - 1] - pivot(part, last) + pivot(next, last);
    }
    for at in (0..main).rev() {
        let ((part, first, _), before) = (stays[at + 1], stays[at].0);
        anchors[at] = anchors[at + 1] - pivot(part, first) + pivot(before, first);
    }
    let mut lows: Vec<f64> = run.keys().map(|key| track.low[key % count]).collect();
    lows.sort_by(f64::total_cmp);
    let own = lows[lows.len() / 2];
    let level = if (own - round.floor).abs() <= round.near { round.floor } else { own };
    let mut shift = Vec::new();
    for (&(part, first, last), &anchor) in stays.iter().zip(&anchors) {
        for key in first..=last {
            let points = if part { &track.ball } else { &track.heel };
            let v = back(round, count, key, anchor) - points[key % count];
            shift.push(DVec3::new(v.x, level - track.low[key % count], v.z));
        }
    }
    shift
}

/// Keys outside of runs.
fn swing(by: &mut [DVec3], runs: &[Run], round: &Round<'_>) {
    let count = by.len();
    let ease = (EASE / round.step).max(1.0);
    let brake = (BRAKE / round.step).max(1.0);
    // Out of a run: value and slope per key of its last key; into one: of its first.
    let ends: Vec<[(DVec3, DVec3); 2]> = runs
        .iter()
        .map(|run| {
            let at = |key: usize| by[key % count];
            let one = run.first == run.last;
            let slope = |a: usize, b: usize| if one { DVec3::ZERO } else { at(b) - at(a) };
            let next = (run.first + 1).min(run.last);
            [
                (at(run.first), slope(run.first, next)),
                (at(run.last), slope(run.last.saturating_sub(1).max(run.first), run.last)),
            ]
        })
        .collect();
    for (index, run) in runs.iter().enumerate() {
        let after = runs.get(index + 1).map(|next| (next.first, index + 1));
        let after = after.or(if round.looping { Some((runs[0].first + count, 0)) } else { None });
        let open = if round.looping { run.last + count } else { count };
        let end = after.map_or(open, |(first, _)| first);
        let gap = (end - run.last) as f64;
        let over = if after.is_some() { ease.min(gap) } else { ease };
        let slow = brake.min(gap / 2.0).max(1.0);
        for key in run.last + 1..end {
            let since = (key - run.last) as f64;
            let mut v = eased(ends[index][1], since, over, slow, 1.0);
            if let Some((first, next)) = after {
                v += eased(ends[next][0], (first - key) as f64, over, slow, -1.0);
            }
            by[key % count] = v;
        }
    }
    if let (false, Some(run)) = (round.looping, runs.first()) {
        for key in 0..run.first {
            by[key] = eased(ends[0][0], (run.first - key) as f64, ease, brake, -1.0);
        }
    }
}

/// A shift that dies away over `over` keys, with its slope over `slow`; `way` is the direction of time.
fn eased((value, slope): (DVec3, DVec3), since: f64, over: f64, slow: f64, way: f64) -> DVec3 {
    let u = (since / over).min(1.0);
    let share = 1.0 - u * u * (3.0 - 2.0 * u);
    let u = (since / slow).min(1.0);
    value * share + slope * (way * slow * u * (1.0 - u) * (1.0 - u))
}
