//! Powers of rotations as polynomials: what joints between two joints of a source are made of.

/// Terms of the polynomials for a power of a rotation; what is left out is below 2.5e-7, and with coefficients in
/// single precision they are off by less than 2.8e-7.
pub(crate) const POWER_TERMS: usize = 8;

/// Coefficients of two polynomials in `t = 2 w - 1`, for `w` from 0 to 1, the cosine of `h`, half the angle of a unit
/// quaternion `q`: with `a = sin((1 - u) h) / sin(h)` and `b = sin(u h) / sin(h)`, `q^u = a + b q` (K. Shoemake,
/// "Animating Rotation with Quaternion Curves", 1985). Interpolated at the zeros of a Chebyshev polynomial: the nearest
/// singularity is at `w = -1`, so each term more leaves a sixth of the error. Sums, products and roots only, so that a map
/// is the same on every platform.
pub(super) fn powers(u: f64) -> [[f32; POWER_TERMS]; 2] {
    const N: usize = POWER_TERMS;
    // cos(pi / 2 N) of N = 8, by halving a right angle three times.
    let half = |cosine: f64| (0.5 + 0.5 * cosine).sqrt();
    let first = half(half(half(0.0)));
    let zeros: [f64; N] = core::array::from_fn(|j| chebyshev(2 * j + 1, first));
    [1.0 - u, u].map(|share: f64| {
        let values = zeros.map(|t| ratio(share, 0.5 * (1.0 + t)));
        // Sum of Chebyshev polynomials as one in powers.
        let (mut before, mut now) = ([0.0; N], [0.0; N]);
        now[0] = 1.0;
        let mut sum = [0.0; N];
        for k in 0..N {
            let of_k = values.iter().zip(&zeros).map(|(value, &t)| value * chebyshev(k, t)).sum::<f64>();
            let of_k = of_k * if k == 0 { 1.0 } else { 2.0 } / N as f64;
            sum.iter_mut().zip(&now).for_each(|(sum, c)| *sum += of_k * c);
            let twice = if k == 0 { 1.0 } else { 2.0 };
            let next = core::array::from_fn(|i| if i == 0 { 0.0 } else { twice * now[i - 1] } - before[i]);
            (before, now) = (now, next);
        }
        sum.map(|value| value as f32)
    })
}

/// Chebyshev polynomial of the first kind.
fn chebyshev(k: usize, t: f64) -> f64 {
    let (mut before, mut now) = (t, 1.0);
    for _ in 0..k {
        (before, now) = (now, 2.0 * t * now - before);
    }
    now
}

/// `sin(u h) / sin(h)` for `w = cos(h)` from 0 to 1, as a series in `w - 1` (D. Eberly, "A Fast and Accurate Algorithm for
/// Computing SLERP", 2011): each term is less than half of the one before it.
fn ratio(u: f64, w: f64) -> f64 {
    let mut term = u;
    let mut sum = u;
    for i in 1..64 {
        let i = f64::from(i);
        term *= (u * u - i * i) / (i * (2.0 * i + 1.0)) * (w - 1.0);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_definition() {
        for step in 0..=20 {
            let u = f64::from(step) / 20.0;
            let polynomials = powers(u).map(|all| all.map(f64::from));
            for at in 0..=1000 {
                let h = f64::from(at) / 1000.0 * core::f64::consts::FRAC_PI_2;
                let t = 2.0 * h.cos() - 1.0;
                for (share, polynomial) in [1.0 - u, u].into_iter().zip(&polynomials) {
                    let have = polynomial.iter().rev().fold(0.0, |sum, c| sum * t + c);
                    let right = if at == 0 { share } else { (share * h).sin() / h.sin() };
                    assert!((have - right).abs() < 3e-7, "{share} at {h}: {have} for {right}");
                }
            }
        }
    }
}
