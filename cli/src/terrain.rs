//! The ground that characters walk on, and the same ground to be drawn.

use std::cell::RefCell;

use glam::Vec3;
use throng::crowd::{FlatGround, Ground, Probes};
use throng::lanes::{Row, Simd};

use crate::args::GroundName;
use crate::draw::{Solid, ground};
use crate::output::Failure;

/// A ground by its name.
pub struct Terrain {
    ground: Box<dyn Ground>,
    /// Metres between samples of the picture.
    cell: f32,
}

impl Terrain {
    /// The named one.
    pub fn new(name: GroundName) -> Result<Self, Failure> {
        match name {
            GroundName::Flat => Ok(Self { ground: Box::new(FlatGround { height: 0.0 }), cell: 1.0 }),
            GroundName::HillsAndSteps => Err(Failure::NotBuilt("render --ground hills-and-steps")),
        }
    }

    /// As the crowd asks it.
    pub fn ground(&self) -> &dyn Ground {
        &*self.ground
    }

    /// Triangles around a place, out to `radius`.
    pub fn solid(&self, centre: Vec3, radius: f32) -> Solid {
        let cells = (2.0 * radius / self.cell).ceil().clamp(8.0, 400.0) as u32;
        let probes = RefCell::new(Probes { count: 1, live: 1, ..Probes::default() });
        let simd = Simd::fastest();
        let height = |x: f32, z: f32| {
            let mut probes = probes.borrow_mut();
            (probes.x[0], probes.z[0]) = (Row::splat(x), Row::splat(z));
            probes.y[0] = Row::splat(centre.y);
            self.ground.probe(simd, &mut probes);
            probes.height[0].0[0]
        };
        ground::height_field(centre, radius, cells, &height)
    }
}
