//! Scalar curves of time for motion synthesis: cubic splines, Hermite spans, bumps.

/// Cubic spline with continuous second derivative through its keys and given end slopes.
#[derive(Clone, Debug)]
pub(super) struct Spline {
    times: Vec<f64>,
    values: Vec<f64>,
    slopes: Vec<f64>,
}

impl Spline {
    /// `keys` are (time, value), times rising, at least two; slopes per unit of time.
    pub fn clamped(keys: &[(f64, f64)], first_slope: f64, last_slope: f64) -> Self {
        let n = keys.len();
        let h = |i: usize| keys[i + 1].0 - keys[i].0;
        let rise = |i: usize| (keys[i + 1].1 - keys[i].1) / h(i);
        // Tridiagonal system for the slopes at inner keys (de Boor), by the Thomas algorithm.
        let mut slopes = vec![0.0; n];
        let mut upper = vec![0.0; n];
        slopes[0] = first_slope;
        for i in 1..n - 1 {
            let (a, c) = (h(i), h(i - 1));
            let b = 2.0 * (a + c);
            let right = 3.0 * (a * rise(i - 1) + c * rise(i));
            let pivot = b - a * upper[i - 1];
            upper[i] = c / pivot;
            slopes[i] = (right - a * slopes[i - 1]) / pivot;
        }
        slopes[n - 1] = last_slope;
        for i in (1..n - 1).rev() {
            slopes[i] -= upper[i] * slopes[i + 1];
        }
        Self { times: keys.iter().map(|k| k.0).collect(), values: keys.iter().map(|k| k.1).collect(), slopes }
    }

    pub fn at(&self, t: f64) -> f64 {
        let last = self.times.len() - 1;
        let i = self.times.partition_point(|&k| k <= t).clamp(1, last) - 1;
        let span = self.times[i + 1] - self.times[i];
        let u = ((t - self.times[i]) / span).clamp(0.0, 1.0);
        hermite(self.values[i], self.slopes[i] * span, self.values[i + 1], self.slopes[i + 1] * span, u)
    }
}

/// Cubic Hermite on u in [0, 1]; tangents per unit of u.
pub(super) fn hermite(a: f64, m0: f64, b: f64, m1: f64, u: f64) -> f64 {
    let (u2, u3) = (u * u, u * u * u);
    a * (2.0 * u3 - 3.0 * u2 + 1.0) + m0 * (u3 - 2.0 * u2 + u) + b * (3.0 * u2 - 2.0 * u3) + m1 * (u3 - u2)
}

/// Quintic from 0 to 1 with zero first and second derivative at both ends, clamped outside.
pub(super) fn ease(u: f64) -> f64 {
    let u = u.clamp(0.0, 1.0);
    u * u * u * (u * (6.0 * u - 15.0) + 10.0)
}

/// [`ease`] from 0 at `start` to 1 at `end`.
pub(super) fn ease_between(start: f64, end: f64, t: f64) -> f64 {
    ease((t - start) / (end - start))
}

/// Zero with zero slope at 0 and 1, one at `peak`.
pub(super) fn bump(peak: f64, u: f64) -> f64 {
    let u = u.clamp(0.0, 1.0);
    // u^a (1 - u)^b peaks at a / (a + b); the smaller exponent stays 2 so that the ends are smooth.
    let (a, b) = if peak < 0.5 { (2.0, 2.0 * (1.0 - peak) / peak) } else { (2.0 * peak / (1.0 - peak), 2.0) };
    (u / peak).powf(a) * ((1.0 - u) / (1.0 - peak)).powf(b)
}

pub(super) fn mix(a: f64, b: f64, w: f64) -> f64 {
    a + (b - a) * w
}
