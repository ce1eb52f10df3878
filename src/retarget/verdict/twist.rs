//! Twist of limbs: how much of it there is, whichever joints it is on.
//!
//! ```text
//! thigh, upper arm   of the segment against hips or chest
//! shin, forearm      of the segment against the one above it, and of foot or hand against the segment
//! ```
//!
//! All about the limb's own axis in the reference pose. What a forearm turns may sit on its twist joints or on itself, so it
//! is no part of the upper arm. Each part is unwrapped over time, so that a limb wound once round is told from one that is
//! not. Where the target has another number of twist joints than the source, each must lie within what it shares: of a
//! forearm or shin the end's twist against the segment, of an upper arm or thigh the segment's own. What one turns beyond
//! is an error too.

use core::f64::consts::TAU;

use glam::{DQuat, DVec3};

use super::film::{Film, Frame};
use crate::rig::{Limb, Role, Side};

/// A half turn across the axis has no twist that can be told: below this length of what is left of the rotation, parts are
/// held at what they were.
const LEAST: f64 = 0.2;

type Part = (Limb, fn(Side) -> Role, fn(Side) -> Role);

const PARTS: [Part; 4] = [
    (Limb::Thigh, Role::Thigh, Role::Shin),
    (Limb::Shin, Role::Shin, Role::Foot),
    (Limb::UpperArm, Role::UpperArm, Role::Forearm),
    (Limb::Forearm, Role::Forearm, Role::Hand),
];

/// The joints of one limb, and their twist at the frame before.
struct Wound {
    base: usize,
    /// What the segment hangs on, and the segment's twist against it.
    holder: usize,
    held: f64,
    segment: usize,
    end: usize,
    helpers: Vec<usize>,
    distal: bool,
    axis: DVec3,
    last: [f64; 2],
    last_of_helpers: Vec<f64>,
}

impl Wound {
    fn of(film: &Film<'_>, side: Side, (limb, segment, end): Part) -> Option<Self> {
        let (segment, end) = (segment(side), end(side));
        let axis = (film.rest(end)? - film.rest(segment)?).try_normalize()?;
        let base = match limb {
            Limb::Thigh => film.joint(Role::Hips)?,
            Limb::Shin => film.joint(Role::Thigh(side))?,
            Limb::UpperArm => film.judged.roles.spine().last().copied().map(usize::from)?,
            Limb::Forearm => film.joint(Role::UpperArm(side))?,
        };
        let (segment, end) = (film.joint(segment)?, film.joint(end)?);
        let holder = film.judged.skeleton.parent(segment)?;
        let helpers: Vec<usize> =
            (0..=u8::MAX).map_while(|i| film.joint(Role::Twist(side, limb, i))).collect();
        let distal = matches!(limb, Limb::Forearm | Limb::Shin);
        let last_of_helpers = vec![0.0; helpers.len()];
        Some(Self {
            base,
            holder,
            held: 0.0,
            segment,
            end,
            helpers,
            distal,
            axis,
            last: [0.0; 2],
            last_of_helpers,
        })
    }

    /// Twist of the segment and of the end, each against the joint before it, radians.
    fn at(&mut self, frame: &Frame) -> [f64; 2] {
        let [base, segment, end] = [self.base, self.segment, self.end].map(|joint| frame.turn[joint]);
        self.last[0] = unwrapped(base.inverse() * segment, self.axis, self.last[0]);
        if self.distal {
            self.last[1] = unwrapped(segment.inverse() * end, self.axis, self.last[1]);
        }
        self.last
    }

    /// Farthest that a twist joint turns beyond what it shares, radians; after [`Self::at`].
    fn beyond(&mut self, frame: &Frame) -> f64 {
        let held = frame.turn[self.holder].inverse() * frame.turn[self.segment];
        self.held = unwrapped(held, self.axis, self.held);
        let (from, whole) = if self.distal { (self.segment, self.last[1]) } else { (self.holder, self.held) };
        let mut worst = 0.0f64;
        for (&helper, last) in self.helpers.iter().zip(&mut self.last_of_helpers) {
            *last = unwrapped(frame.turn[from].inverse() * frame.turn[helper], self.axis, *last);
            worst = worst.max(whole.min(0.0) - *last).max(*last - whole.max(0.0));
        }
        worst
    }
}

/// Angle about the axis, the one of all that mean the same turn that is nearest to the last.
fn unwrapped(q: DQuat, axis: DVec3, last: f64) -> f64 {
    let along = q.xyz().dot(axis);
    if along.hypot(q.w) < LEAST {
        return last;
    }
    let angle = 2.0 * along.atan2(q.w);
    angle - TAU * ((angle - last) / TAU).round()
}

/// Largest error over limbs and frames, degrees.
pub(super) fn error(from: &Film<'_>, to: &Film<'_>) -> Option<f64> {
    let mut worst: Option<f64> = None;
    for side in Side::BOTH {
        for part in PARTS {
            let (Some(mut own), Some(mut other)) = (Wound::of(from, side, part), Wound::of(to, side, part))
            else {
                continue;
            };
            let shares = own.helpers.len() != other.helpers.len();
            let mut rounds: Option<f64> = None;
            for (a, b) in from.frames.iter().zip(&to.frames) {
                let (source, target) = (own.at(a).iter().sum::<f64>(), other.at(b).iter().sum::<f64>());
                // Whole turns that were there from the beginning are none.
                let whole = *rounds.get_or_insert(TAU * ((target - source) / TAU).round());
                let beyond = if shares { other.beyond(b) } else { 0.0 };
                let off = (target - whole - source).abs().max(beyond);
                worst = Some(worst.unwrap_or(0.0).max(off.to_degrees()));
            }
        }
    }
    worst
}
