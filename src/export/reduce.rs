//! Keys that their neighbours give anyway.

use glam::{Quat, Vec3};

use crate::clip::{Curve, CurveValue, Interpolation};

/// How far two values are apart: radians or metres.
pub(super) trait Distance: CurveValue {
    fn distance(self, other: Self) -> f32;
}

impl Distance for Vec3 {
    fn distance(self, other: Self) -> f32 {
        (self - other).length()
    }
}

impl Distance for Quat {
    fn distance(self, other: Self) -> f32 {
        // Of the chord, which keeps its digits for small angles, unlike the arc cosine.
        let other = if self.dot(other) < 0.0 { -other } else { other };
        4.0 * (0.5 * (self - other).length()).min(1.0).asin()
    }
}

/// Keys to keep, so that straight lines between them stay within `tolerance` of all that are left out: from each key as
/// far ahead as it goes.
pub(super) fn reduce<T: Distance>(curve: &Curve<T>, tolerance: f32) -> Curve<T> {
    let count = curve.times.len();
    if curve.interpolation != Interpolation::Linear || count < 3 {
        return curve.clone();
    }
    let holds = |from: usize, to: usize| {
        let span = curve.times[to] - curve.times[from];
        (from + 1..to).all(|at| {
            let u = (curve.times[at] - curve.times[from]) / span;
            T::mix(curve.values[from], curve.values[to], u).distance(curve.values[at]) <= tolerance
        })
    };
    let mut kept = vec![0];
    let mut from = 0;
    while from < count - 1 {
        // Doubling, then halving: a curve that never bends is not looked at key by key from every start.
        let (mut good, mut step) = (from + 1, 2);
        while from + step < count && holds(from, from + step) {
            good = from + step;
            step *= 2;
        }
        let mut bad = (from + step).min(count);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if holds(from, middle) { good = middle } else { bad = middle }
        }
        kept.push(good);
        from = good;
    }
    if kept.len() == 2 && curve.values[0].distance(curve.values[count - 1]) == 0.0 {
        kept.pop();
    }
    Curve {
        times: kept.iter().map(|&at| curve.times[at]).collect(),
        values: kept.iter().map(|&at| curve.values[at]).collect(),
        interpolation: Interpolation::Linear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_within_the_tolerance_and_ends_stay() {
        let times: Vec<f32> = (0..200).map(|k| k as f32 / 60.0).collect();
        let turn = |t: f32| Quat::from_rotation_x((3.0 * t).sin()) * Quat::from_rotation_y(0.2 * t);
        let curve = Curve {
            values: times.iter().map(|&t| turn(t)).collect(),
            times: times.clone(),
            interpolation: Interpolation::Linear,
        };
        // Between keys a 60th apart the curve bends by 0.3 mrad.
        for (tolerance, most) in [(1e-4f32, 200), (1e-3, 130), (1e-2, 60)] {
            let less = reduce(&curve, tolerance);
            assert!(less.times.len() < most, "{tolerance}: {}", less.times.len());
            assert_eq!((less.times[0], less.times.last()), (times[0], times.last()));
            for (&t, &value) in times.iter().zip(&curve.values) {
                let off = less.sample(t).unwrap().distance(value);
                assert!(off <= 1.1 * tolerance + 1e-6, "{tolerance} at {t}: {off}");
            }
        }
        let still = Curve { values: vec![Quat::IDENTITY; 200], ..curve };
        assert_eq!(reduce(&still, 1e-4).times, [0.0]);
    }
}
