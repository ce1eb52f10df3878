//! Grounds for tests, as functions in double precision that the crowd asks through its trait.

use glam::DVec3;
use throng::crowd::{Ground, Probes};
use throng::lanes::{BLOCK, Simd};

/// Height, unit normal, and distance of the answer from a jump (1 where there is none), or no ground.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    pub hit: Option<(f64, DVec3)>,
    pub margin: f64,
}

/// What can be asked where the ground is.
pub trait Asked {
    /// `probe` 0 is the root, then heel and ball of each foot.
    fn ask(&self, character: usize, probe: usize, x: f64, z: f64) -> Answer;
}

/// A ground given by a formula.
#[derive(Clone, Copy, Debug)]
pub enum Terrain {
    Flat(f64),
    /// Rise per metre along x and z.
    Slope(f64, f64),
    /// Waves of that height and wave number.
    Bumps(f64, f64),
    /// Bumps with round holes in it that no ray hits.
    Holes(f64, f64),
    Nothing,
}

impl Terrain {
    fn height(self, x: f64, z: f64) -> (f64, f64, f64) {
        match self {
            Self::Flat(height) => (height, 0.0, 0.0),
            Self::Slope(a, b) => (a * x + b * z, a, b),
            Self::Bumps(size, k) | Self::Holes(size, k) => {
                let (p, q) = (k * x + 0.3 * k * z, 1.3 * k * z - 0.2 * k * x);
                let (sp, cp, sq, cq) = (p.sin(), p.cos(), q.sin(), q.cos());
                let dp = size * cp * cq;
                let dq = -size * sp * sq;
                (size * sp * cq, k * (dp - 0.2 * dq), k * (0.3 * dp + 1.3 * dq))
            }
            Self::Nothing => (0.0, 0.0, 0.0),
        }
    }
}

impl Asked for Terrain {
    fn ask(&self, _character: usize, _probe: usize, x: f64, z: f64) -> Answer {
        let (height, dx, dz) = self.height(x, z);
        let hit = Some((height, DVec3::new(-dx, 1.0, -dz).normalize()));
        match self {
            Self::Nothing => Answer { hit: None, margin: 1.0 },
            Self::Holes(..) => {
                let edge = (5.0 * x).sin() * (5.0 * z + 1.0).cos() - 0.6;
                Answer { hit: if edge > 0.0 { None } else { hit }, margin: edge.abs() }
            }
            _ => Answer { hit, margin: 1.0 },
        }
    }
}

impl Ground for Terrain {
    fn probe(&self, _simd: Simd, probes: &mut Probes) {
        for probe in 0..probes.count {
            for lane in 0..BLOCK {
                let (x, z) = (probes.x[probe].0[lane], probes.z[probe].0[lane]);
                let answer = self.ask(0, probe, x.into(), z.into());
                let (height, normal) = answer.hit.unwrap_or((0.0, DVec3::Y));
                probes.hit[probe].0[lane] = if answer.hit.is_some() { 1.0 } else { 0.0 };
                probes.height[probe].0[lane] = height as f32;
                for (row, value) in probes.normal[probe].iter_mut().zip(normal.to_array()) {
                    row.0[lane] = value as f32;
                }
            }
        }
    }
}

/// Planes per character and probe, as a host casts them.
impl Asked for Vec<[throng::crowd::HitPlane; throng::crowd::PROBES]> {
    fn ask(&self, character: usize, probe: usize, x: f64, z: f64) -> Answer {
        let none = Answer { hit: None, margin: 1.0 };
        let Some(plane) = self.get(character).map(|planes| planes[probe]).filter(|plane| plane.hit) else {
            return none;
        };
        let of = |v: [f32; 3]| DVec3::from_array(v.map(f64::from));
        let point = of(plane.point) + of(plane.velocity) * f64::from(plane.age);
        let normal = of(plane.normal);
        // n . (p - point) = 0, solved for the height.
        let height = (normal.dot(point) - normal.x * x - normal.z * z) / normal.y;
        Answer { hit: Some((height, normal)), margin: 1.0 }
    }
}
