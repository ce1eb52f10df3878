//! Terrain that crowds are judged on.
//!
//! ```text
//!        x = -64         -21.3          21.3          64
//!          |    hills      |   stairs     |   mixed    |
//!   z      | slopes up to  | flights of   | low hills  |
//!   |      | 25 degrees    | six steps,   | with a     |
//!   v      |               | landings     | flight on  |
//!          |               |              | every 2nd  |
//! ```
//!
//! A step rises 0.15 m over a riser 0.05 m wide and is 0.5 m deep. Between the thirds everything fades to level
//! ground, so that characters cross from one to another.

use std::f64::consts::TAU;

use crate::content::rng::Rng;
use crate::crowd::{FlatGround, Ground, HeightField, HeightFieldError, Probes};
use crate::lanes::{Row, Simd};

/// Half the side of the square that scenes take place on, metres.
pub const HALF_SIDE: f64 = 64.0;

/// Metres between samples along Z: the width of a riser.
const ROW: f64 = 0.05;
/// Metres between samples along X.
const COLUMN: f64 = 0.25;
/// Rise of a step, metres.
const RISE: f64 = 0.15;
/// Rows of a step: riser and tread.
const STEP_ROWS: usize = 11;
/// Steps of a flight.
const STEPS: usize = 6;
/// Rows of a landing.
const LANDING_ROWS: usize = STEPS * STEP_ROWS;
/// Rows of flight up, landing, flight down, landing.
const PERIOD_ROWS: usize = 2 * (STEPS * STEP_ROWS + LANDING_ROWS);
/// Steepest slope of the hills.
const STEEPEST_DEGREES: f64 = 25.0;
/// Metres over which a third fades out at its border.
const FADE: f64 = 4.0;

/// Which ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum TerrainKind {
    /// Level.
    Flat,
    /// A third smooth hills, a third stairs, a third both.
    #[default]
    HillsAndSteps,
}

impl TerrainKind {
    /// `flat` or `hills-and-steps`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::HillsAndSteps => "hills-and-steps",
        }
    }
}

/// Ground at one point, in double precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Metres.
    pub height: f64,
    /// Unit, y > 0.
    pub normal: [f64; 3],
}

/// A ground for [`crate::crowd::Crowd::frame`] that can also be asked point by point, by code of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum Terrain {
    /// Level.
    Flat(FlatGround),
    /// Heights on a grid.
    Field(HeightField),
}

impl Terrain {
    /// Builds it; the same for the same seed.
    ///
    /// # Errors
    /// Never for these kinds; the grid's own checks are passed on.
    pub fn new(kind: TerrainKind, seed: u64) -> Result<Self, HeightFieldError> {
        Ok(match kind {
            TerrainKind::Flat => Self::Flat(FlatGround::default()),
            TerrainKind::HillsAndSteps => Self::Field(hills_and_steps(seed)?),
        })
    }

    /// Ground at (x, z), `None` beyond its edge.
    pub fn at(&self, x: f64, z: f64) -> Option<Spot> {
        let field = match self {
            Self::Flat(flat) => return Some(Spot { height: flat.height.into(), normal: [0.0, 1.0, 0.0] }),
            Self::Field(field) => field,
        };
        let [columns, rows] = field.size();
        let [min, max] = field.rectangle().map(|corner| corner.map(f64::from));
        if !(min[0]..=max[0]).contains(&x) || !(min[1]..=max[1]).contains(&z) {
            return None;
        }
        let dx = (max[0] - min[0]) / (columns - 1) as f64;
        let dz = (max[1] - min[1]) / (rows - 1) as f64;
        let (cx, cz) = ((x - min[0]) / dx, (z - min[1]) / dz);
        let (i, j) = ((cx as usize).min(columns - 2), (cz as usize).min(rows - 2));
        let (u, v) = (cx - i as f64, cz - j as f64);
        let h = |i: usize, j: usize| f64::from(field.height(i, j).unwrap_or(0.0));
        let near = h(i, j) * (1.0 - v) + h(i, j + 1) * v;
        let far = h(i + 1, j) * (1.0 - v) + h(i + 1, j + 1) * v;
        let left = h(i, j) * (1.0 - u) + h(i + 1, j) * u;
        let right = h(i, j + 1) * (1.0 - u) + h(i + 1, j + 1) * u;
        let (gx, gz) = ((far - near) / dx, (right - left) / dz);
        let long = (gx * gx + gz * gz + 1.0).sqrt();
        Some(Spot { height: near * (1.0 - u) + far * u, normal: [-gx / long, 1.0 / long, -gz / long] })
    }
}

impl Ground for Terrain {
    fn probe(&self, simd: Simd, probes: &mut Probes) {
        match self {
            Self::Flat(flat) => flat.probe(simd, probes),
            Self::Field(field) => field.probe(simd, probes),
        }
    }

    fn approach(&self, simd: Simd, x: &Row, z: &Row) {
        if let Self::Field(field) = self {
            field.approach(simd, x, z);
        }
    }
}

/// Height of flights and landings at a row of the grid, metres; every `every`-th pair of flights is there.
fn stairs(row: usize, every: usize) -> f64 {
    let period = row / PERIOD_ROWS;
    if !period.is_multiple_of(every) {
        return 0.0;
    }
    let row = row % PERIOD_ROWS;
    let flight = STEPS * STEP_ROWS;
    let down = flight + LANDING_ROWS;
    let steps = if row <= flight {
        row.div_ceil(STEP_ROWS)
    } else if row <= down {
        STEPS
    } else {
        STEPS - (row - down).min(flight).div_ceil(STEP_ROWS)
    };
    RISE * steps as f64
}

/// 0 at `border`, 1 from `FADE` metres inside on.
fn fade(inside: f64) -> f64 {
    let t = (inside / FADE).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

fn hills_and_steps(seed: u64) -> Result<HeightField, HeightFieldError> {
    let columns = (2.0 * HALF_SIDE / COLUMN).round() as usize + 1;
    let rows = (2.0 * HALF_SIDE / ROW).round() as usize + 1;
    let third = 2.0 * HALF_SIDE / 3.0;
    let mut rng = Rng::new(seed);
    // A sum of waves of many directions, so that slopes point everywhere.
    let waves: Vec<[f64; 4]> = (0..7)
        .map(|_| {
            let (length, angle) = (rng.range(9.0, 24.0), rng.range(0.0, TAU));
            let k = TAU / length;
            [k * angle.cos(), k * angle.sin(), rng.range(0.0, TAU), length]
        })
        .collect();
    let hill = |x: f64, z: f64| -> f64 {
        waves.iter().map(|[kx, kz, phase, length]| length * (kx * x + kz * z + phase).sin()).sum()
    };
    let mut hills = vec![0.0f64; columns * rows];
    let mut steepest = 0.0f64;
    for column in 0..columns {
        let x = column as f64 * COLUMN - HALF_SIDE;
        let inside = [-HALF_SIDE + third - x, x - HALF_SIDE + third];
        let share = fade(inside[0]).max(0.45 * fade(inside[1]));
        for row in 0..rows {
            let at = column * rows + row;
            if share > 0.0 {
                hills[at] = share * hill(x, row as f64 * ROW - HALF_SIDE);
            }
            if column > 0 && row > 0 {
                let (gx, gz) = ((hills[at] - hills[at - rows]) / COLUMN, (hills[at] - hills[at - 1]) / ROW);
                steepest = steepest.max(gx.hypot(gz));
            }
        }
    }
    let scale = STEEPEST_DEGREES.to_radians().tan() / steepest.max(1e-9);
    let mut heights = Vec::with_capacity(columns * rows);
    for column in 0..columns {
        let x = column as f64 * COLUMN - HALF_SIDE;
        let middle = fade(third / 2.0 - x.abs());
        let mixed = fade(x - HALF_SIDE + third);
        for row in 0..rows {
            let steps = middle * stairs(row, 1) + mixed * stairs(row, 2);
            heights.push((scale * hills[column * rows + row] + steps) as f32);
        }
    }
    let half = HALF_SIDE as f32;
    HeightField::new(columns, rows, [-half; 2], [half; 2], heights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(x: f64) -> Vec<f64> {
        let terrain = Terrain::new(TerrainKind::HillsAndSteps, 1).unwrap();
        (0..=2560).map(|row| terrain.at(x, f64::from(row) * ROW - HALF_SIDE).unwrap().height).collect()
    }

    #[test]
    fn steps_rise_fifteen_centimetres_over_five_and_are_half_a_metre_deep() {
        let heights = profile(0.0);
        let mut risers = Vec::new();
        for (row, pair) in heights.windows(2).enumerate() {
            let rise = pair[1] - pair[0];
            if rise.abs() > 1e-6 {
                assert!((rise.abs() - RISE).abs() < 1e-6, "{rise} at {row}");
                risers.push(row);
            }
        }
        assert!(risers.len() > 100, "{}", risers.len());
        let within_flights = risers.windows(2).filter(|pair| pair[1] - pair[0] == 11).count();
        assert!(within_flights * 10 >= risers.len() * 8, "{within_flights} of {}", risers.len());
        assert!(risers.windows(2).all(|pair| pair[1] - pair[0] >= 11));
    }

    #[test]
    fn hills_reach_twenty_five_degrees_and_no_more() {
        let terrain = Terrain::new(TerrainKind::HillsAndSteps, 1).unwrap();
        let mut steepest = 0.0f64;
        for i in 0..170 {
            for j in 0..512 {
                let spot = terrain.at(-63.9 + f64::from(i) * 0.25, -63.9 + f64::from(j) * 0.25).unwrap();
                steepest = steepest.max(spot.normal[1].acos().to_degrees());
            }
        }
        assert!((23.0..25.05).contains(&steepest), "{steepest}");
    }
}
