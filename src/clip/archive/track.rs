//! One rotation or translation over time: integers on a grid at some of the keys, and the curve through them.
//!
//! A rotation is told by three components of its quaternion; the fourth, the one that stays farthest from zero over the
//! track, follows from unit length. The grid is the same for all components of a track. Keys lie `stride` apart, the last one
//! on the last key of the clip; between them runs a straight line or a cubic, componentwise, normalised afterwards.

use crate::lanes::KEY_ONE;

use super::bits::{BitReader, BitWriter, Exhausted, put_row, take_row};

/// Finest grid: 2^-15 and a quarter octave finer.
pub(super) const FINEST: u32 = 63;
/// Largest shift of the stride: every 16th key.
pub(super) const MAX_STRIDE: u32 = 4;
/// Grid of what does not move.
pub(super) const STILL: u32 = 60;

/// 2^(-n/4).
const QUARTERS: [f64; 4] =
    [1.0, 0.840_896_415_253_714_6, core::f64::consts::FRAC_1_SQRT_2, 0.594_603_557_501_360_5];

/// Distance of neighbouring values of grid number `grid`: 2^(-grid/4).
pub(super) fn step(grid: u32) -> f64 {
    QUARTERS[grid as usize % 4] / f64::from(1u32 << (grid / 4).min(31))
}

/// Bits of a signed value of grid number `grid` between -1 and 1.
fn width(grid: u32) -> u32 {
    grid / 4 + 3
}

/// Which components are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A quaternion without this component, which is positive.
    Without(u8),
    /// A quaternion, all components.
    Four,
    /// A vector.
    Vector,
}

impl Form {
    /// The component left out, 3 for vectors, 4 if none is.
    fn left_out(self) -> usize {
        match self {
            Self::Without(component) => component.into(),
            Self::Four => 4,
            Self::Vector => 3,
        }
    }
}

/// How a track is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub form: Form,
    pub grid: u32,
    /// Keys lie 2^stride apart.
    pub stride: u32,
    pub cubic: bool,
}

/// Keys of the clip at which a track of that stride has its own.
fn knot_count(intervals: usize, stride: u32) -> usize {
    intervals.div_ceil(1 << stride) + 1
}

fn knot_key(intervals: usize, stride: u32, knot: usize) -> usize {
    (knot << stride).min(intervals)
}

/// A track on its grid.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Track {
    pub plan: Plan,
    pub intervals: usize,
    /// One per own key; the component left out is 0.
    pub knots: Vec<[i32; 4]>,
}

impl Track {
    /// Puts `values`, one per key of the clip and already on the right side, onto the grid.
    pub fn quantise(plan: Plan, values: &[[f64; 4]]) -> Self {
        let intervals = values.len() - 1;
        let (inverse, most) = (1.0 / step(plan.grid), limit(plan.grid));
        let knots = (0..knot_count(intervals, plan.stride))
            .map(|knot| {
                let mut value = values[knot_key(intervals, plan.stride, knot)];
                if let Form::Without(component) = plan.form {
                    // The side on which what is left out is positive.
                    if value[usize::from(component)] < 0.0 {
                        value = value.map(|v| -v);
                    }
                }
                let mut knot = value.map(|v| ((v * inverse).round() as i32).clamp(-most, most));
                if let Some(out) = knot.get_mut(plan.form.left_out()) {
                    *out = 0;
                }
                knot
            })
            .collect();
        Self { plan, intervals, knots }
    }

    /// No turn since the reference pose, as rows hold it.
    pub const REST: [i16; 4] = [0, 0, 0, KEY_ONE as i16];

    /// True if it has the same value throughout.
    pub fn is_still(&self) -> bool {
        self.knots.windows(2).all(|pair| pair[0] == pair[1])
    }

    /// The first value for so many key intervals.
    pub fn held(&self, intervals: usize) -> Self {
        let plan = Plan { stride: MAX_STRIDE, cubic: false, ..self.plan };
        let first = self.knots.first().copied().unwrap_or_default();
        Self { plan, intervals, knots: vec![first; knot_count(intervals, MAX_STRIDE)] }
    }

    /// Writes plan and values.
    pub fn put(&self, out: &mut BitWriter) {
        let Plan { form, grid, stride, cubic } = self.plan;
        if form != Form::Vector {
            out.put(form.left_out() as u32, 3);
        }
        out.put(grid, 6);
        out.put(stride, 3);
        out.put(cubic.into(), 1);
        let mut row = Vec::with_capacity(self.knots.len());
        for component in (0..4).filter(|&component| component != form.left_out()) {
            row.clear();
            row.extend(self.knots.iter().map(|knot| knot[component]));
            put_row(out, &row, width(grid));
        }
    }

    /// Reads a rotation, or a vector with `vector`, of a clip with so many key intervals.
    pub fn take(bits: &mut BitReader<'_>, intervals: usize, vector: bool) -> Result<Self, Exhausted> {
        let form = if vector {
            Form::Vector
        } else {
            match bits.take(3)? {
                component @ 0..4 => Form::Without(component as u8),
                4 => Form::Four,
                _ => return Err(Exhausted),
            }
        };
        let (grid, stride) = (bits.take(6)?, bits.take(3)?);
        let cubic = bits.take(1)? == 1;
        if stride > MAX_STRIDE {
            return Err(Exhausted);
        }
        let plan = Plan { form, grid, stride, cubic };
        let mut knots = vec![[0; 4]; knot_count(intervals, stride)];
        for component in (0..4).filter(|&component| component != form.left_out()) {
            let count = knots.len();
            take_row(bits, count, width(grid), |at, value| knots[at][component] = value)?;
        }
        Ok(Self { plan, intervals, knots })
    }

    /// Hands the values at all keys of the clip, as 16-bit rows hold them, to `take`. Whatever the knots say, what
    /// comes out is a usable rotation or vector.
    pub fn rows(&self, mut take: impl FnMut(usize, [i16; 4])) {
        let vector = self.plan.form == Form::Vector;
        if let (true, Some(&first)) = (self.is_still(), self.knots.first()) {
            let value = self.point(first);
            let value = if vector || value[3] >= 0.0 { value } else { value.map(|v| -v) };
            (0..=self.intervals).for_each(|key| take(key, quad(value)));
            return;
        }
        let mut points: Vec<[f64; 4]> = self.knots.iter().map(|knot| self.point(*knot)).collect();
        if !vector {
            // Continuous from knot to knot, the first on the side of the reference pose.
            let mut last = [0.0, 0.0, 0.0, 1.0];
            for point in &mut points {
                if dot(last, *point) < 0.0 {
                    *point = point.map(|v| -v);
                }
                last = *point;
            }
        }
        let mut last = [0.0, 0.0, 0.0, 1.0];
        let mut emit = |key: usize, value: [f64; 4]| {
            if vector {
                take(key, quad(value));
            } else {
                let mut q = unit(value);
                if dot(last, q) < 0.0 {
                    q = q.map(|v| -v);
                }
                last = q;
                take(key, quad(q));
            }
        };
        let at = |knot: usize| knot_key(self.intervals, self.plan.stride, knot);
        for knot in 0..points.len() - 1 {
            let (from, to) = (at(knot), at(knot + 1));
            let (a, b) = (points[knot], points[knot + 1]);
            emit(from, a);
            let span = (to - from) as f64;
            let tangents = (self.plan.cubic && to - from > 1)
                .then(|| [tangent(&points, at, knot), tangent(&points, at, knot + 1)]);
            for key in from + 1..to {
                let u = (key - from) as f64 / span;
                emit(
                    key,
                    match tangents {
                        Some([m, n]) => hermite(a, m.map(|v| v * span), b, n.map(|v| v * span), u),
                        None => zip(a, b, |a, b| a + (b - a) * u),
                    },
                );
            }
        }
        emit(self.intervals, points[points.len() - 1]);
    }

    /// The quaternion or vector of a knot.
    fn point(&self, knot: [i32; 4]) -> [f64; 4] {
        let step = step(self.plan.grid);
        let mut value = knot.map(|v| (f64::from(v) * step).clamp(-1.0, 1.0));
        match self.plan.form {
            Form::Vector => value,
            Form::Four => unit(value),
            Form::Without(component) => {
                let rest = 1.0 - dot(value, value);
                value[usize::from(component)] = rest.max(0.0).sqrt();
                unit(value)
            }
        }
    }
}

/// Largest value on a grid.
fn limit(grid: u32) -> i32 {
    (1.0 / step(grid)).round() as i32
}

/// Slope at a knot, per key: of the parabola through it and its neighbours.
fn tangent(points: &[[f64; 4]], at: impl Fn(usize) -> usize, knot: usize) -> [f64; 4] {
    let slope = |a: usize| {
        let span = (at(a + 1) - at(a)) as f64;
        (zip(points[a], points[a + 1], |a, b| (b - a) / span), span)
    };
    let last = points.len() - 1;
    if last == 1 {
        return slope(0).0;
    }
    let middle = |knot: usize| {
        let ((before, h), (after, k)) = (slope(knot - 1), slope(knot));
        zip(before, after, |b, a| (b * k + a * h) / (h + k))
    };
    if knot == 0 {
        zip(slope(0).0, middle(1), |s, m| 2.0 * s - m)
    } else if knot == last {
        zip(slope(last - 1).0, middle(last - 1), |s, m| 2.0 * s - m)
    } else {
        middle(knot)
    }
}

fn hermite(a: [f64; 4], m: [f64; 4], b: [f64; 4], n: [f64; 4], u: f64) -> [f64; 4] {
    let (u2, u3) = (u * u, u * u * u);
    let (h0, h1, h2, h3) = (2.0 * u3 - 3.0 * u2 + 1.0, u3 - 2.0 * u2 + u, -2.0 * u3 + 3.0 * u2, u3 - u2);
    core::array::from_fn(|i| a[i] * h0 + m[i] * h1 + b[i] * h2 + n[i] * h3)
}

fn zip(a: [f64; 4], b: [f64; 4], f: impl Fn(f64, f64) -> f64) -> [f64; 4] {
    core::array::from_fn(|i| f(a[i], b[i]))
}

fn dot(a: [f64; 4], b: [f64; 4]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
}

/// Of unit length; the identity where there is no direction.
fn unit(value: [f64; 4]) -> [f64; 4] {
    let squared = dot(value, value);
    if squared > 1e-12 {
        let inverse = 1.0 / squared.sqrt();
        value.map(|v| v * inverse)
    } else {
        [0.0, 0.0, 0.0, 1.0]
    }
}

/// As rows hold it.
fn quad(value: [f64; 4]) -> [i16; 4] {
    // Rounded by hand, which is no call.
    value.map(|v| {
        let scaled = v.clamp(-1.0, 1.0) * f64::from(KEY_ONE);
        (scaled + 0.5f64.copysign(scaled)) as i32 as i16
    })
}
