//! Limbs: where they point, how they are rolled, whether they flip.

use glam::DVec3;

use super::Judged;
use super::film::{Film, Frame};
use super::sum::Sum;
use crate::rig::{Digit, Role, Side};

/// Sine of the bend from which a hinge has a normal.
const BENT: f64 = 0.17;

type Bone = (fn(Side) -> Role, fn(Side) -> Role);

const LIMBS: [Bone; 4] = [
    (Role::Thigh, Role::Shin),
    (Role::Shin, Role::Foot),
    (Role::UpperArm, Role::Forearm),
    (Role::Forearm, Role::Hand),
];

/// What is summed over all limbs and frames.
#[derive(Default)]
pub(super) struct Limbs {
    pub directions: Sum,
    pub rolls: Sum,
    /// Turns by more than a right angle that the source does not make.
    pub flips: usize,
}

impl Limbs {
    pub(super) fn compare(from: &Film<'_>, to: &Film<'_>) -> Self {
        let mut out = Self::default();
        let mut last: Vec<Option<(DVec3, DVec3)>> = vec![None; LIMBS.len() * 2];
        for (a, b) in from.frames.iter().zip(&to.frames) {
            for side in Side::BOTH {
                for (limb, (upper, lower)) in LIMBS.iter().enumerate() {
                    let of = |film: &Film<'_>, frame: &Frame| film.bone(frame, upper(side), lower(side));
                    let slot = &mut last[limb * 2 + usize::from(side == Side::Right)];
                    let (Some(d), Some(e)) = (of(from, a), of(to, b)) else { continue };
                    out.directions.add(d.angle_between(e).to_degrees());
                    if let Some((before, after)) = *slot {
                        out.flips += usize::from(after.dot(e) < 0.0 && before.dot(d) > 0.0);
                    }
                    *slot = Some((d, e));
                }
                for normal in [knee, elbow, palm] {
                    if let (Some(n), Some(m)) = (normal(from, a, side), normal(to, b, side)) {
                        out.rolls.add(n.angle_between(m).to_degrees());
                    }
                }
            }
        }
        out
    }
}

fn hinge(film: &Film<'_>, frame: &Frame, [a, b, c]: [Role; 3]) -> Option<DVec3> {
    let normal = film.bone(frame, a, b)?.cross(film.bone(frame, b, c)?);
    (normal.length() > BENT).then(|| normal.normalize())
}

fn knee(film: &Film<'_>, frame: &Frame, side: Side) -> Option<DVec3> {
    hinge(film, frame, [Role::Thigh(side), Role::Shin(side), Role::Foot(side)])
}

fn elbow(film: &Film<'_>, frame: &Frame, side: Side) -> Option<DVec3> {
    hinge(film, frame, [Role::UpperArm(side), Role::Forearm(side), Role::Hand(side)])
}

fn palm(film: &Film<'_>, frame: &Frame, side: Side) -> Option<DVec3> {
    let finger = |digit| film.bone(frame, Role::Hand(side), Role::Finger(side, digit, 0));
    finger(Digit::Index)?.cross(finger(Digit::Little)?).try_normalize()
}

/// Largest angle between limbs of the two reference poses, radians.
pub(super) fn reference_error(source: Judged<'_>, target: Judged<'_>) -> f64 {
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
