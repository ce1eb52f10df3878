//! The ground of a scene as triangles.

use std::cell::RefCell;

use glam::Vec3;
use throng::crowd::{Ground, Probes};
use throng::lanes::{Row, Simd};

use crate::draw::{Solid, ground};

/// The ground around a place, out to `radius`, sampled every `cell` metres through the query that the crowd
/// asks too.
pub fn solid(terrain: &dyn Ground, centre: Vec3, radius: f32, cell: f32) -> Solid {
    let cells = (2.0 * radius / cell).ceil().clamp(8.0, 400.0) as u32;
    let probes = RefCell::new(Probes { count: 1, live: 1, ..Probes::default() });
    let simd = Simd::fastest();
    let height = |x: f32, z: f32| {
        let mut probes = probes.borrow_mut();
        (probes.x[0], probes.y[0], probes.z[0]) = (Row::splat(x), Row::splat(centre.y), Row::splat(z));
        terrain.probe(simd, &mut probes);
        probes.height[0].0[0]
    };
    ground::height_field(centre, radius, cells, &height)
}
