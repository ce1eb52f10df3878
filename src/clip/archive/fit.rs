//! How few bits a clip can be told in.
//!
//! Each joint may turn wrong by some angle. Within it, the cheapest grid, stride and curve are looked for, parents before
//! children; a child that moves is turned so that it stands right in model space although its parents do not, so that
//! angles do not add up along a limb. Then distances are measured at the joints and their virtual vertices, as rows will
//! hold them, and angles grow or shrink by how far the worst vertex below the joint is from the tolerance.

use glam::{DQuat, DVec3};

use super::bits::BitWriter;
use super::measure::{Body, Course};
use super::track::{FINEST, Form, MAX_STRIDE, Plan, STILL, Track};
use crate::lanes::KEY_ONE;

/// What is closer than this to resting rests: less than rows can tell.
const RESTS: f64 = 1e-5;
/// Rounds of shrinking and growing, and as many more as it takes to hold the tolerance.
const ROUNDS: core::ops::Range<usize> = 12..30;
/// Coarsest grid tried: a quarter.
const COARSEST: u32 = 8;
/// Least a component may come to over a track to be left out.
const LEAST_LEFT_OUT: f64 = 0.25;
/// Least angle and distance asked for: about what rows can tell.
const LEAST: f64 = 2e-5;

/// A clip in few bits.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    /// One per joint; `None` stands for no turn since the reference pose.
    pub tracks: Vec<Option<Track>>,
    /// `None` if the pelvis stays at its reference position.
    pub pelvis: Option<Track>,
    /// Metres: largest distance at joints and virtual vertices.
    pub error: f64,
}

/// What a track does in the source.
enum Kind {
    Rest,
    Still,
    Moves,
}

/// The motion to be told.
pub(super) struct Motion<'a> {
    /// Keys x joints.
    pub rotations: &'a [DQuat],
    /// Per key, leg lengths.
    pub pelvis: &'a [DVec3],
    /// Leg lengths that stand for 1.
    pub range: f64,
}

/// Fits `motion` to a largest distance of `tolerance` metres; where rows cannot tell that, as near as they can.
pub(super) fn fit(body: &Body, motion: &Motion<'_>, tolerance: f64) -> Fitted {
    let joints = body.parents.len();
    let truth = body.courses(motion.rotations, motion.pelvis);
    let kinds: Vec<Kind> = (0..joints).map(|joint| kind(motion.rotations, joint, joints)).collect();
    let mut allowed = first_shares(body, tolerance);
    let mut moved = tolerance / 4.0;
    let mut best: Option<(usize, Fitted)> = None;
    let mut search = Search { hints: vec![None; joints + 1] };
    let mut aim = 0.985 * tolerance;
    for round in 0..ROUNDS.end {
        if round >= ROUNDS.start && best.as_ref().is_some_and(|(_, best)| best.error <= tolerance) {
            break;
        }
        let (fitted, errors) = search.round(body, motion, &truth, &kinds, &allowed, moved);
        let (bits, fitted_error) = (fitted.bits(), fitted.error);
        let better = match &best {
            None => true,
            Some((least, known)) if known.error <= tolerance => fitted.error <= tolerance && bits < *least,
            Some((_, known)) => fitted.error < known.error,
        };
        if better {
            best = Some((bits, fitted));
        }
        if fitted_error > tolerance && round > 3 {
            aim *= 0.97;
        }
        let mut below = errors;
        for joint in (0..joints).rev() {
            if let Some(above) = below.get(usize::from(body.parents[joint])).copied() {
                below[usize::from(body.parents[joint])] = above.max(below[joint]);
            }
        }
        let factor = |error: f64| (aim / error.max(1e-9)).clamp(0.3, 2.0).powf(0.8);
        for (allowed, below) in allowed.iter_mut().zip(&below) {
            *allowed = (*allowed * factor(*below)).clamp(LEAST, 1.0);
        }
        moved = (moved * factor(below[body.pelvis])).max(LEAST);
    }
    best.map_or_else(|| unreachable!("there is at least one round"), |(_, fitted)| fitted)
}

/// Angles that joints may be wrong by at first, radians: shares of the tolerance over the lever that they have.
fn first_shares(body: &Body, tolerance: f64) -> Vec<f64> {
    let joints = body.parents.len();
    let (mut lever, mut leaves) = (vec![body.shell; joints], vec![0.0f64; joints]);
    for joint in (0..joints).rev() {
        leaves[joint] = leaves[joint].max(1.0);
        let parent = usize::from(body.parents[joint]);
        if parent < joints {
            lever[parent] = lever[parent].max(body.offsets[joint].length());
            leaves[parent] += leaves[joint];
        }
    }
    (0..joints).map(|joint| tolerance / (lever[joint] * leaves[joint].sqrt()) / 2.0).collect()
}

fn kind(rotations: &[DQuat], joint: usize, joints: usize) -> Kind {
    let own = || rotations.iter().skip(joint).step_by(joints);
    let near = |to: DQuat| own().all(|q| chord(*q, to) < RESTS);
    if near(DQuat::IDENTITY) {
        Kind::Rest
    } else if own().next().is_some_and(|first| near(*first)) {
        Kind::Still
    } else {
        Kind::Moves
    }
}

/// Distance of two unit quaternions, about half the angle between the rotations.
fn chord(a: DQuat, b: DQuat) -> f64 {
    (a - b).length_squared().min((a + b).length_squared()).sqrt()
}

struct Search {
    /// Grid of the last round per joint and variant, the pelvis last.
    hints: Vec<Option<Vec<u32>>>,
}

impl Search {
    fn round(
        &mut self,
        body: &Body,
        motion: &Motion<'_>,
        truth: &[Course],
        kinds: &[Kind],
        allowed: &[f64],
        moved: f64,
    ) -> (Fitted, Vec<f64>) {
        let joints = body.parents.len();
        let keys = motion.pelvis.len();
        let mut courses: Vec<Course> = Vec::with_capacity(joints);
        let mut fitted = Fitted { tracks: Vec::with_capacity(joints), pelvis: None, error: 0.0 };
        let mut errors = Vec::with_capacity(joints);
        for joint in 0..joints {
            let above = body.above(joint, &courses);
            let mut at = body.places(joint, above, keys);
            if joint == body.pelvis {
                let scale = 1.0 / (body.leg * motion.range);
                let wanted: Vec<[f64; 4]> = (0..keys)
                    .map(|key| {
                        let [x, y, z] = ((truth[joint].at[key] - at[key]) * scale).to_array();
                        [x, y, z, 0.0]
                    })
                    .collect();
                if motion.pelvis.iter().any(|offset| offset.length() > RESTS) {
                    let hints = &mut self.hints[joints];
                    let (track, is) = cheapest(&wanted, Form::Vector, moved * scale, hints);
                    fitted.pelvis = Some(track);
                    for (at, is) in at.iter_mut().zip(is) {
                        *at += DVec3::new(is[0], is[1], is[2]) / scale;
                    }
                }
            }
            let local =
                |turn: &DQuat, key: usize| above.map_or(*turn, |above| above.turn[key].inverse() * *turn);
            let (track, is) = match kinds[joint] {
                Kind::Rest => (None, vec![[0.0, 0.0, 0.0, 1.0]; keys]),
                Kind::Still => {
                    let value = motion.rotations[joint].normalize();
                    let values = vec![value.to_array(); keys];
                    let plan = Plan { form: form(&values), grid: STILL, stride: MAX_STRIDE, cubic: false };
                    let track = Track::quantise(plan, &values);
                    let is = values_of(&track, keys);
                    (Some(track), is)
                }
                Kind::Moves => {
                    let mut last = DQuat::IDENTITY;
                    let wanted: Vec<[f64; 4]> = truth[joint]
                        .turn
                        .iter()
                        .enumerate()
                        .map(|(key, turn)| {
                            let q = local(turn, key).normalize();
                            last = if last.dot(q) < 0.0 { -q } else { q };
                            last.to_array()
                        })
                        .collect();
                    let form = form(&wanted);
                    let (track, is) = cheapest(&wanted, form, 0.5 * allowed[joint], &mut self.hints[joint]);
                    (Some(track), is)
                }
            };
            let turn = is
                .into_iter()
                .enumerate()
                .map(|(key, is)| {
                    let own = DQuat::from_array(is);
                    above.map_or(own, |above| above.turn[key] * own)
                })
                .collect();
            let course = Course { turn, at };
            errors.push(body.apart(&course, &truth[joint]));
            courses.push(course);
            fitted.tracks.push(track);
        }
        fitted.error = errors.iter().copied().fold(0.0, f64::max);
        (fitted, errors)
    }
}

impl Fitted {
    fn bits(&self) -> usize {
        let mut out = BitWriter::default();
        self.tracks.iter().chain([&self.pelvis]).flatten().for_each(|track| track.put(&mut out));
        out.len()
    }
}

/// The component that can be left out, if there is one.
fn form(values: &[[f64; 4]]) -> Form {
    let least = |component: usize| {
        let side = if values[0][component] < 0.0 { -1.0 } else { 1.0 };
        values.iter().map(|value| side * value[component]).fold(f64::INFINITY, f64::min)
    };
    let mut best = (LEAST_LEFT_OUT, Form::Four);
    for component in 0..4 {
        let least = least(component);
        if least > best.0 {
            best = (least, Form::Without(component as u8));
        }
    }
    best.1
}

/// What a reader will make of the rows of a track.
fn values_of(track: &Track, keys: usize) -> Vec<[f64; 4]> {
    let mut values = vec![[0.0; 4]; keys];
    let vector = track.plan.form == Form::Vector;
    track.rows(|key, row| {
        let value = row.map(|v| f64::from(v) / f64::from(KEY_ONE));
        values[key] = if vector { value } else { DQuat::from_array(value).normalize().to_array() };
    });
    values
}

/// The track in fewest bits that is nowhere more than `allowed` away from `wanted`, and what it comes back as. If there is
/// none, the nearest one.
fn cheapest(
    wanted: &[[f64; 4]],
    form: Form,
    allowed: f64,
    hints: &mut Option<Vec<u32>>,
) -> (Track, Vec<[f64; 4]>) {
    let keys = wanted.len();
    let error = |track: &Track| {
        let vector = form == Form::Vector;
        let mut worst = 0.0f64;
        track.rows(|key, row| {
            let is = DQuat::from_array(row.map(|v| f64::from(v) / f64::from(KEY_ONE)));
            let wanted = DQuat::from_array(wanted[key]);
            worst = worst.max(if vector { (is - wanted).length() } else { chord(is.normalize(), wanted) });
        });
        worst
    };
    let variants: Vec<(u32, bool)> = (0..=MAX_STRIDE)
        .flat_map(|stride| [(stride, false), (stride, true)])
        .filter(|&(stride, cubic)| (stride > 0 || !cubic) && (stride == 0 || keys > 1 << stride))
        .collect();
    let hints = hints.get_or_insert_with(|| vec![(COARSEST + FINEST) / 2; variants.len()]);
    let mut best: Option<(usize, Track)> = None;
    for (&(stride, cubic), hint) in variants.iter().zip(hints.iter_mut()) {
        let track = |grid| Track::quantise(Plan { form, grid, stride, cubic }, wanted);
        if stride > 0 && error(&track(FINEST)) > allowed {
            continue;
        }
        // From the last round's grid to the coarsest that holds.
        let mut grid = *hint;
        let mut fits = error(&track(grid)) <= allowed;
        while !fits && grid < FINEST {
            grid += 1;
            fits = error(&track(grid)) <= allowed;
        }
        while grid > COARSEST && error(&track(grid - 1)) <= allowed {
            grid -= 1;
        }
        *hint = grid;
        let track = track(grid);
        let mut out = BitWriter::default();
        track.put(&mut out);
        if best.as_ref().is_none_or(|(bits, _)| out.len() < *bits) {
            best = Some((out.len(), track));
        }
    }
    let (_, track) = best.unwrap_or_else(|| {
        let plan = Plan { form, grid: FINEST, stride: 0, cubic: false };
        (0, Track::quantise(plan, wanted))
    });
    let is = values_of(&track, keys);
    (track, is)
}
