//! A regular grid of heights: the ground of outdoor scenes, asked for a whole block at once.
//!
//! Columns run along +X, rows along +Z, and the heights of one column lie side by side, so that heel and ball of a
//! foot that points along Z share a cache line. The two spacings may differ: stairs need a fine one only across.

use thiserror::Error;

use super::ground::{Ground, PROBES, Probes};
use crate::lanes::{BLOCK, Lanes, Row, Simd, per_isa, prefetch};

/// Why a height field could not be built.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum HeightFieldError {
    /// Too few samples along a side, or more than a 32-bit index reaches.
    #[error(
        "{columns} x {rows} samples make no height field; 2 to 2^24 a side and below 2^31 in all are needed"
    )]
    Size {
        /// Samples along X.
        columns: usize,
        /// Samples along Z.
        rows: usize,
    },
    /// The array does not fit the size.
    #[error("{have} heights were given for {columns} x {rows} samples, which are {need}")]
    Count {
        /// Heights given.
        have: usize,
        /// Heights needed.
        need: usize,
        /// Samples along X.
        columns: usize,
        /// Samples along Z.
        rows: usize,
    },
    /// The rectangle is empty or not finite.
    #[error(
        "the rectangle from {min:?} to {max:?} is no ground; both corners must be finite and the first below the second"
    )]
    Rectangle {
        /// Least x and z.
        min: [f32; 2],
        /// Greatest x and z.
        max: [f32; 2],
    },
    /// A height is not finite.
    #[error("the height at column {column}, row {row} is {value}; heights must be finite")]
    NotFinite {
        /// Along X.
        column: usize,
        /// Along Z.
        row: usize,
        /// What was given.
        value: f32,
    },
}

/// Heights over a rectangle of the world, bilinear between samples; beyond it there is no ground.
#[derive(Clone, Debug, PartialEq)]
pub struct HeightField {
    columns: usize,
    rows: usize,
    min: [f32; 2],
    max: [f32; 2],
    /// Cells per metre.
    inverse: [f32; 2],
    /// `heights[column * rows + row]`.
    heights: Vec<f32>,
}

impl HeightField {
    /// From heights in metres, `heights[column * rows + row]`: column 0 at `min[0]` (x), row 0 at `min[1]` (z), the
    /// last ones at `max`.
    ///
    /// # Errors
    /// If the array does not fit, the rectangle is empty, or a height is not finite.
    pub fn new(
        columns: usize,
        rows: usize,
        min: [f32; 2],
        max: [f32; 2],
        heights: Vec<f32>,
    ) -> Result<Self, HeightFieldError> {
        let side = 2..=1 << 24;
        let total = columns.checked_mul(rows).filter(|&n| n < 1 << 31);
        let Some(need) = total.filter(|_| side.contains(&columns) && side.contains(&rows)) else {
            return Err(HeightFieldError::Size { columns, rows });
        };
        if heights.len() != need {
            return Err(HeightFieldError::Count { have: heights.len(), need, columns, rows });
        }
        let cells = [(columns - 1) as f32, (rows - 1) as f32];
        let inverse = [0, 1].map(|k| cells[k] / (max[k] - min[k]));
        let usable = |k: usize| min[k] < max[k] && inverse[k].is_finite() && inverse[k] > 0.0;
        if !min.iter().chain(&max).all(|v| v.is_finite()) || !usable(0) || !usable(1) {
            return Err(HeightFieldError::Rectangle { min, max });
        }
        if let Some(at) = heights.iter().position(|h| !h.is_finite()) {
            return Err(HeightFieldError::NotFinite {
                column: at / rows,
                row: at % rows,
                value: heights[at],
            });
        }
        Ok(Self { columns, rows, min, max, inverse, heights })
    }

    /// Samples along X and along Z.
    pub fn size(&self) -> [usize; 2] {
        [self.columns, self.rows]
    }

    /// Least and greatest (x, z), metres.
    pub fn rectangle(&self) -> [[f32; 2]; 2] {
        [self.min, self.max]
    }

    /// All heights, metres, `[column * rows + row]`.
    pub fn heights(&self) -> &[f32] {
        &self.heights
    }
}

/// Metres around a root that its feet are looked for.
const REACH: f32 = 0.45;

impl Ground for HeightField {
    fn probe(&self, simd: Simd, probes: &mut Probes) {
        probe_field(simd, self, probes);
    }

    /// The lines of the columns on both sides of each root, as far ahead and behind as feet reach.
    fn approach(&self, x: &Row, z: &Row) {
        for (x, z) in x.0.iter().zip(&z.0) {
            // Casts saturate and take NaN to 0: wherever that is, nothing is read.
            let column = ((x - self.min[0]) * self.inverse[0]) as usize;
            let rows = [z - REACH, z + REACH].map(|z| ((z - self.min[1]) * self.inverse[1]) as usize);
            for column in column.saturating_sub(1)..(column + 3).min(self.columns) {
                for row in rows {
                    if let Some(height) = self.heights.get(column * self.rows + row) {
                        prefetch(height);
                    }
                }
            }
        }
    }
}

per_isa! {
    fn probe_field(field: &HeightField, probes: &mut Probes) = probe_kernel;
}

/// Cells of all probes first, so that all their lines are on the way before the first is waited for; then corners,
/// one lane after the other: the portable set has no gathers, and those of the others have not been measured here.
#[inline(always)]
fn probe_kernel<L: Lanes>(field: &HeightField, probes: &mut Probes) {
    let mut first = [[0usize; BLOCK]; PROBES];
    let mut shares = [[Row::ZERO; 2]; PROBES];
    let mut corners = [Row::ZERO; 4];
    let last = [(field.columns - 2) as f32, (field.rows - 2) as f32];
    let count = probes.count.min(PROBES);
    for probe in 0..count {
        let [mut column, mut row] = [[0i32; BLOCK]; 2];
        for at in (0..BLOCK).step_by(L::N) {
            let x = (L::load(&probes.x[probe], at) - L::splat(field.min[0])) * L::splat(field.inverse[0]);
            let z = (L::load(&probes.z[probe], at) - L::splat(field.min[1])) * L::splat(field.inverse[1]);
            // Clamped before the integer conversion; NaN ends up at 0.
            let cell_x = x.floor().clamp(L::zero(), L::splat(last[0]));
            let cell_z = z.floor().clamp(L::zero(), L::splat(last[1]));
            cell_x.store_i32(&mut column, at);
            cell_z.store_i32(&mut row, at);
            (x - cell_x).store(&mut shares[probe][0], at);
            (z - cell_z).store(&mut shares[probe][1], at);
        }
        for lane in 0..BLOCK {
            let cell = column[lane] as usize * field.rows + row[lane] as usize;
            first[probe][lane] = cell;
            for corner in [cell, cell + field.rows] {
                if let Some(height) = field.heights.get(corner) {
                    prefetch(height);
                }
            }
        }
    }
    for probe in 0..count {
        for lane in 0..BLOCK {
            let first = first[probe][lane];
            let near = field.heights.get(first..first + 2).unwrap_or(&[0.0; 2]);
            let far = field.heights.get(first + field.rows..first + field.rows + 2).unwrap_or(&[0.0; 2]);
            corners[0].0[lane] = near[0];
            corners[1].0[lane] = near[1];
            corners[2].0[lane] = far[0];
            corners[3].0[lane] = far[1];
        }
        for at in (0..BLOCK).step_by(L::N) {
            let (u, v) = (L::load(&shares[probe][0], at), L::load(&shares[probe][1], at));
            let (a, b) = (L::load(&corners[0], at), L::load(&corners[1], at));
            let (c, d) = (L::load(&corners[2], at), L::load(&corners[3], at));
            let along_near = b - a;
            let twist = (d - c) - along_near;
            let along_z = u.mul_add(twist, along_near);
            let along_x = v.mul_add(twist, c - a);
            let height = v.mul_add(along_z, u.mul_add(c - a, a));
            let slope_x = along_x * L::splat(-field.inverse[0]);
            let slope_z = along_z * L::splat(-field.inverse[1]);
            let long = slope_x.mul_add(slope_x, slope_z.mul_add(slope_z, L::one()));
            let up = L::one() / long.sqrt();
            let inside = L::and(
                within(L::load(&probes.x[probe], at), field.min[0], field.max[0]),
                within(L::load(&probes.z[probe], at), field.min[1], field.max[1]),
            );
            L::select(inside, height, L::zero()).store(&mut probes.height[probe], at);
            L::select(inside, L::one(), L::zero()).store(&mut probes.hit[probe], at);
            let normal = &mut probes.normal[probe];
            L::select(inside, slope_x * up, L::zero()).store(&mut normal[0], at);
            L::select(inside, up, L::one()).store(&mut normal[1], at);
            L::select(inside, slope_z * up, L::zero()).store(&mut normal[2], at);
        }
    }
}

/// Both bounds included.
#[inline(always)]
fn within<L: Lanes>(x: L, low: f32, high: f32) -> L::Mask {
    L::and(L::splat(low.next_down()).lt(x), x.lt(L::splat(high.next_up())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{Isa, Mode};

    fn bumpy() -> HeightField {
        let (columns, rows) = (9, 21);
        let heights = (0..columns * rows)
            .map(|at| ((at * 7919 % 104) as f32 * 0.021 - 1.0) * (1.0 + (at % 5) as f32 * 0.3))
            .collect();
        HeightField::new(columns, rows, [-2.0, 1.0], [2.0, 6.0], heights).unwrap()
    }

    /// Height and unit normal of the bilinear patch, in double precision.
    fn reference(field: &HeightField, x: f64, z: f64) -> (f64, [f64; 3]) {
        let [columns, rows] = field.size();
        let [min, max] = field.rectangle().map(|c| c.map(f64::from));
        let dx = (max[0] - min[0]) / (columns - 1) as f64;
        let dz = (max[1] - min[1]) / (rows - 1) as f64;
        let i = (((x - min[0]) / dx).floor().max(0.0) as usize).min(columns - 2);
        let j = (((z - min[1]) / dz).floor().max(0.0) as usize).min(rows - 2);
        let (u, v) = ((x - min[0]) / dx - i as f64, (z - min[1]) / dz - j as f64);
        let h = |i: usize, j: usize| f64::from(field.heights()[i * rows + j]);
        let height = (1.0 - u) * (1.0 - v) * h(i, j)
            + u * (1.0 - v) * h(i + 1, j)
            + (1.0 - u) * v * h(i, j + 1)
            + u * v * h(i + 1, j + 1);
        let gx = ((1.0 - v) * (h(i + 1, j) - h(i, j)) + v * (h(i + 1, j + 1) - h(i, j + 1))) / dx;
        let gz = ((1.0 - u) * (h(i, j + 1) - h(i, j)) + u * (h(i + 1, j + 1) - h(i + 1, j))) / dz;
        let n = (gx * gx + gz * gz + 1.0).sqrt();
        (height, [-gx / n, 1.0 / n, -gz / n])
    }

    #[test]
    fn heights_and_normals_are_those_of_the_bilinear_patch_on_every_instruction_set() {
        let field = bumpy();
        for &isa in Isa::available() {
            for mode in [Mode::Fast, Mode::Strict] {
                for turn in 0..64 {
                    let mut probes = Probes { count: 2, live: u16::MAX, ..Probes::default() };
                    for lane in 0..BLOCK {
                        let k = (turn * BLOCK + lane) as f32;
                        for probe in 0..2 {
                            let k = k + 0.5 * probe as f32;
                            // Off the grid lines, where the normal has two values.
                            probes.x[probe].0[lane] = -2.4 + (k * 0.613_7).rem_euclid(4.8);
                            probes.z[probe].0[lane] = 0.7 + (k * 0.377_3).rem_euclid(5.6);
                        }
                    }
                    field.probe(Simd::new(isa, mode), &mut probes);
                    for probe in 0..2 {
                        for lane in 0..BLOCK {
                            let (x, z) = (probes.x[probe].0[lane], probes.z[probe].0[lane]);
                            let inside = (-2.0..=2.0).contains(&x) && (1.0..=6.0).contains(&z);
                            assert_eq!(probes.hit[probe].0[lane], f32::from(u8::from(inside)), "{x} {z}");
                            if inside {
                                let (height, normal) = reference(&field, x.into(), z.into());
                                assert!((f64::from(probes.height[probe].0[lane]) - height).abs() < 2e-5);
                                for (row, want) in probes.normal[probe].iter().zip(normal) {
                                    let n = f64::from(row.0[lane]);
                                    assert!((n - want).abs() < 1e-4, "{x} {z}: {n} {want}");
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn corners_belong_to_the_field_and_nothing_beyond_or_without_a_number_does() {
        let field = bumpy();
        let mut probes = Probes { count: 1, live: u16::MAX, ..Probes::default() };
        let places = [
            (-2.0, 1.0, true),
            (2.0, 1.0, true),
            (-2.0, 6.0, true),
            (2.0, 6.0, true),
            (2.001, 3.0, false),
            (0.0, 0.999, false),
            (f32::NAN, 3.0, false),
            (0.0, f32::INFINITY, false),
            (1e30, -1e30, false),
        ];
        for (lane, &(x, z, _)) in places.iter().enumerate() {
            (probes.x[0].0[lane], probes.z[0].0[lane]) = (x, z);
        }
        field.probe(Simd::fastest(), &mut probes);
        for (lane, &(x, z, inside)) in places.iter().enumerate() {
            assert_eq!(probes.hit[0].0[lane] > 0.5, inside, "{x} {z}");
            assert!(probes.height[0].0[lane].is_finite() && probes.normal[0][1].0[lane] > 0.0, "{x} {z}");
        }
        assert!((probes.height[0].0[3] - field.heights()[9 * 21 - 1]).abs() < 1e-6);
    }

    #[test]
    fn what_is_no_field_is_refused_and_said_where() {
        let new = |columns, rows, max, heights| HeightField::new(columns, rows, [0.0; 2], max, heights);
        assert!(matches!(new(1, 2, [1.0; 2], vec![0.0; 2]), Err(HeightFieldError::Size { .. })));
        assert!(matches!(new(2, 2, [1.0; 2], vec![0.0; 3]), Err(HeightFieldError::Count { .. })));
        assert!(matches!(new(2, 2, [0.0, 1.0], vec![0.0; 4]), Err(HeightFieldError::Rectangle { .. })));
        assert!(matches!(new(2, 2, [f32::NAN, 1.0], vec![0.0; 4]), Err(HeightFieldError::Rectangle { .. })));
        let heights = vec![0.0, 0.0, 0.0, 0.0, f32::NAN, 0.0];
        match new(2, 3, [1.0; 2], heights) {
            Err(HeightFieldError::NotFinite { column: 1, row: 1, .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}
