//! Two bones to a point, in double precision.
//!
//! ```text
//! root r, middle m, end e as animated; target t; l1 = |m - r|, l2 = |e - m|
//! d = |t - r|, brought within reach      x = (l1^2 - l2^2 + d^2) / 2d      height = sqrt(l1^2 - x^2)
//! ```
//!
//! The middle stays on the side on which it is animated.

use glam::{DQuat, DVec3};

/// A straight limb's length that a bent one is kept below, and over how much of it targets are slowed down before.
const STRAIGHT: f64 = 0.9995;
const SOFTNESS: f64 = 0.02;
/// Bend, of the limb's length, below which the side that a limb would bend to takes over from the one it is bent to.
const LEAST_BEND: f64 = 0.02;

/// How far a limb of length `whole` goes towards a target at distance `d`, if it is animated with its end at
/// `animated`: `d` itself up to where it is animated or nearly straight, then softly up to a cap.
///
/// ```text
/// cap = max(0.9995 whole, min(animated, whole))     e = clamp(animated, cap - s, cap)     s' = cap - e
/// d' = d for d <= e, else e + s' (1 - exp(-(d - e) / s'))
/// ```
pub(crate) fn soft_reach(d: f64, animated: f64, whole: f64) -> f64 {
    let (easy, cap) = easy_reach(animated, whole);
    let rest = cap - easy;
    if d <= easy {
        d
    } else if rest < 1e-9 {
        d.min(cap)
    } else {
        easy + rest * (1.0 - (-(d - easy) / rest).exp())
    }
}

/// Distance up to which a target is reached exactly, and the one that is never exceeded.
pub(crate) fn easy_reach(animated: f64, whole: f64) -> (f64, f64) {
    let cap = (STRAIGHT * whole).max(animated.min(whole));
    (animated.clamp(cap - SOFTNESS * whole, cap), cap)
}

/// A limb as animated: places in model space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limb {
    pub root: DVec3,
    pub middle: DVec3,
    pub end: DVec3,
    /// Where the middle would go if it were bent: needed while it is straight.
    pub side: DVec3,
}

/// What takes the bones there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solved {
    /// Turns the upper bone, in model axes.
    pub upper: DQuat,
    /// Turns the lower bone, in model axes, since it was animated.
    pub lower: DQuat,
    /// Where the end is then.
    pub end: DVec3,
}

impl Limb {
    /// Length of both bones.
    pub(crate) fn whole(&self) -> f64 {
        self.root.distance(self.middle) + self.middle.distance(self.end)
    }

    /// The end at `target` or, out of reach, on the line to it. A limb without length, or a target on the root, stays.
    pub(crate) fn to(&self, target: DVec3) -> Solved {
        let still = Solved { upper: DQuat::IDENTITY, lower: DQuat::IDENTITY, end: self.end };
        let (upper, lower) = (self.middle - self.root, self.end - self.middle);
        let (l1, l2) = (upper.length(), lower.length());
        let (have, want) = (self.end - self.root, target - self.root);
        let (animated, asked) = (have.length(), want.length());
        if l1.min(l2) < 1e-6 || animated < 1e-6 * (l1 + l2) || asked < 1e-6 * (l1 + l2) {
            return still;
        }
        let d = soft_reach(asked, animated, l1 + l2).max((l1 - l2).abs() * 1.001).max(1e-6 * (l1 + l2));
        let along = want / asked;
        // The whole limb swings over, then it bends.
        let swing = DQuat::from_rotation_arc(have / animated, along);
        let across = |v: DVec3| v - along * v.dot(along);
        let bent = across(swing * upper);
        let fallback = across(swing * self.side).normalize_or_zero();
        let share = (1.0 - bent.length() / (LEAST_BEND * (l1 + l2))).clamp(0.0, 1.0);
        let Some(pole) = (bent.normalize_or_zero() * (1.0 - share) + fallback * share)
            .try_normalize()
            .or_else(|| bent.try_normalize())
        else {
            return still;
        };
        let x = (l1 * l1 - l2 * l2 + d * d) / (2.0 * d);
        let height = (l1 * l1 - x * x).max(0.0).sqrt();
        let middle = along * x + pole * height;
        let end = along * d;
        let arc = |from: DVec3, to: DVec3| DQuat::from_rotation_arc(from.normalize(), to.normalize());
        Solved {
            upper: (arc(swing * upper, middle) * swing).normalize(),
            lower: (arc(swing * lower, end - middle) * swing).normalize(),
            end: self.root + end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leg() -> Limb {
        Limb {
            root: DVec3::new(0.1, 0.9, 0.0),
            middle: DVec3::new(0.12, 0.48, 0.08),
            end: DVec3::new(0.09, 0.07, -0.05),
            side: DVec3::Z,
        }
    }

    #[test]
    fn reach_is_soft_and_never_past_the_cap() {
        let mut last = 0.0;
        for i in 0..2000 {
            let d = f64::from(i) * 0.001;
            let reached = soft_reach(d, 0.7, 1.0);
            assert!(reached >= last && reached <= 0.9995 && reached <= d + 1e-12, "{d}: {reached}");
            assert!(d > 0.9795 || reached == d);
            last = reached;
        }
        assert_eq!(soft_reach(1.0, 1.0, 1.0), 1.0, "a straight limb is not shortened");
    }

    #[test]
    fn the_end_is_where_it_was_asked_and_bones_keep_their_lengths() {
        let limb = leg();
        for (x, y, z) in [(0.05, 0.1, 0.2), (-0.3, 0.3, -0.2), (0.4, 0.5, 0.3), (0.09, 0.07, -0.05)] {
            let target = DVec3::new(x, y, z);
            let solved = limb.to(target);
            assert!(solved.end.distance(target) < 1e-12);
            let upper = solved.upper * (limb.middle - limb.root);
            let lower = solved.lower * (limb.end - limb.middle);
            assert!((limb.root + upper + lower).distance(target) < 1e-9);
            let side = |turn: DQuat, v: DVec3| turn * v;
            // The knee is still in front of the line from hip to ankle.
            let along = (target - limb.root).normalize();
            let knee = side(solved.upper, limb.middle - limb.root);
            assert!((knee - along * knee.dot(along)).dot(DVec3::Z) > 0.0);
        }
        let solved = limb.to(limb.end);
        assert!(solved.upper.angle_between(DQuat::IDENTITY) < 1e-7, "nothing asked, nothing done");
    }

    #[test]
    fn what_cannot_be_solved_stays() {
        let limb = leg();
        assert_eq!(limb.to(limb.root).end, limb.end);
        let none = Limb { middle: limb.root, ..limb };
        assert_eq!(none.to(DVec3::ZERO).end, none.end);
        let straight = Limb { middle: DVec3::Y * 0.5, root: DVec3::Y, end: DVec3::ZERO, side: DVec3::Z };
        let solved = straight.to(DVec3::Y * 0.2);
        assert!(solved.end.distance(DVec3::Y * 0.2) < 1e-12);
        assert!((solved.upper * -DVec3::Y).z > 0.3, "a straight leg bends forward");
    }
}
