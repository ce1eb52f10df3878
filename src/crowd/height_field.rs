//! A regular grid of heights: the ground of outdoor scenes, asked for a whole block at once.
//!
//! Columns run along +X, rows along +Z. The two spacings may differ: stairs need a fine one only across.
//!
//! ```text
//! tile    4 x 4 samples, one cache line: the corners of 3 x 3 cells. Neighbours share their outermost samples,
//!         so that a probe reads one line, wherever it is
//! ```

use thiserror::Error;

use super::ground::{Ground, PROBES, Probes};
use crate::lanes::{BLOCK, Lanes, Row, Simd, per_isa, prefer_large_pages, prefetch};

/// Why a height field could not be built.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum HeightFieldError {
    /// Too few samples along a side, or more than a 32-bit index reaches.
    #[error(
        "{columns} x {rows} samples make no height field; 2 to 2^23 a side and below 2^31 in all are needed"
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
    /// Tiles along Z.
    tile_rows: usize,
    /// `tiles[tile column * tile_rows + tile row]`, in each `4 * column + row`.
    tiles: Vec<Row>,
}

/// Cells along a side of a tile, and samples.
const CELLS: usize = 3;
const SAMPLES: usize = CELLS + 1;

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
        let side = 2..=1 << 23;
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
        let [tile_columns, tile_rows] = [columns, rows].map(|samples| (samples - 1).div_ceil(CELLS));
        let mut tiles = Vec::with_capacity(tile_columns * tile_rows);
        prefer_large_pages(&mut tiles);
        for at in 0..tile_columns * tile_rows {
            let (column, row) = (at / tile_rows * CELLS, at % tile_rows * CELLS);
            tiles.push(Row(core::array::from_fn(|k| {
                // Tiles may reach beyond the field; nobody reads there.
                let (column, row) = (column + k / SAMPLES, row + k % SAMPLES);
                if column < columns && row < rows { heights[column * rows + row] } else { 0.0 }
            })));
        }
        Ok(Self { columns, rows, min, max, inverse, tile_rows, tiles })
    }

    #[inline(always)]
    fn tile(&self, column: i32, row: i32) -> Option<&Row> {
        self.tiles.get(column as usize * self.tile_rows + row as usize)
    }

    /// Samples along X and along Z.
    pub fn size(&self) -> [usize; 2] {
        [self.columns, self.rows]
    }

    /// Least and greatest (x, z), metres.
    pub fn rectangle(&self) -> [[f32; 2]; 2] {
        [self.min, self.max]
    }

    /// Height of a sample, metres; `None` beyond the field.
    #[must_use]
    pub fn height(&self, column: usize, row: usize) -> Option<f32> {
        // The last samples are the far corners of the last cells.
        let [x, z] = [column.min(self.columns - 2), row.min(self.rows - 2)];
        let (x, z) = (x / CELLS, z / CELLS);
        let inside = column < self.columns && row < self.rows;
        inside
            .then(|| self.tiles[x * self.tile_rows + z].0[(column - x * CELLS) * SAMPLES + (row - z * CELLS)])
    }
}

impl Ground for HeightField {
    fn probe(&self, simd: Simd, probes: &mut Probes) {
        probe_field(simd, self, probes);
    }

    fn approach(&self, simd: Simd, x: &Row, z: &Row) {
        approach_field(simd, self, x, z);
    }
}

per_isa! {
    fn probe_field(field: &HeightField, probes: &mut Probes) = probe_kernel;
}

per_isa! {
    fn approach_field(field: &HeightField, x: &Row, z: &Row) = approach_kernel;
}

#[inline(always)]
fn approach_kernel<L: Lanes>(field: &HeightField, x: &Row, z: &Row) {
    let [mut column, mut row] = [[0i32; BLOCK]; 2];
    for at in (0..BLOCK).step_by(L::N) {
        let x = (L::load(x, at) - L::splat(field.min[0])) * L::splat(field.inverse[0]);
        let z = (L::load(z, at) - L::splat(field.min[1])) * L::splat(field.inverse[1]);
        cell::<L>(x, field.columns).1.store_i32(&mut column, at);
        cell::<L>(z, field.rows).1.store_i32(&mut row, at);
    }
    for lane in 0..BLOCK {
        if let Some(tile) = field.tile(column[lane], row[lane]) {
            prefetch(tile);
        }
    }
}

/// The cell of a place in units of cells, and its tile; beyond the field those at its rim.
#[inline(always)]
fn cell<L: Lanes>(place: L, samples: usize) -> (L, L) {
    // Clamped before the integer conversion; NaN ends up at 0.
    let cell = place.floor().clamp(L::zero(), L::splat((samples - 2) as f32));
    // A third in single precision is a little more than one, by less than 2^23 cells show; from 12 582 914 on they do.
    (cell, (cell * L::splat(1.0 / CELLS as f32)).floor())
}

/// Tiles of all probes first, so that all their lines are on the way before the first is waited for; then corners,
/// one lane after the other.
#[inline(always)]
fn probe_kernel<L: Lanes>(field: &HeightField, probes: &mut Probes) {
    let mut tiles = [[&Row::ZERO; BLOCK]; PROBES];
    let mut cells = [[0i32; BLOCK]; PROBES];
    let mut shares = [[Row::ZERO; 2]; PROBES];
    let mut corners = [Row::ZERO; 4];
    let count = probes.count.min(PROBES);
    for probe in 0..count {
        let [mut column, mut row] = [[0i32; BLOCK]; 2];
        for at in (0..BLOCK).step_by(L::N) {
            let x = (L::load(&probes.x[probe], at) - L::splat(field.min[0])) * L::splat(field.inverse[0]);
            let z = (L::load(&probes.z[probe], at) - L::splat(field.min[1])) * L::splat(field.inverse[1]);
            let ((cell_x, tile_x), (cell_z, tile_z)) = (cell(x, field.columns), cell(z, field.rows));
            (x - cell_x).store(&mut shares[probe][0], at);
            (z - cell_z).store(&mut shares[probe][1], at);
            tile_x.store_i32(&mut column, at);
            tile_z.store_i32(&mut row, at);
            let (in_x, in_z) =
                (cell_x - tile_x * L::splat(CELLS as f32), cell_z - tile_z * L::splat(CELLS as f32));
            (in_x * L::splat(SAMPLES as f32) + in_z).store_i32(&mut cells[probe], at);
        }
        for lane in 0..BLOCK {
            if let Some(tile) = field.tile(column[lane], row[lane]) {
                prefetch(tile);
                tiles[probe][lane] = tile;
            }
        }
    }
    for probe in 0..count {
        for lane in 0..BLOCK {
            let (tile, cell) = (&tiles[probe][lane].0, cells[probe][lane] as usize % BLOCK);
            // The remainders change nothing and need no check.
            corners[0].0[lane] = tile[cell];
            corners[1].0[lane] = tile[(cell + 1) % BLOCK];
            corners[2].0[lane] = tile[(cell + SAMPLES) % BLOCK];
            corners[3].0[lane] = tile[(cell + SAMPLES + 1) % BLOCK];
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
        let h = |i: usize, j: usize| f64::from(field.height(i, j).unwrap());
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
        assert!((probes.height[0].0[3] - field.height(8, 20).unwrap()).abs() < 1e-6);
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
