//! Ground as a solid: any height field as a grid of triangles.

use glam::Vec3;

use super::{Solid, Surface};

/// Square of side `2 * radius` around `centre` with `cells` cells per side; `height` gives metres
/// above zero at a horizontal position.
pub fn height_field(centre: Vec3, radius: f32, cells: u32, height: &dyn Fn(f32, f32) -> f32) -> Solid {
    let step = 2.0 * radius / cells as f32;
    // Lines of the grid stay where they are in the world while the centre moves.
    let snap = |v: f32| (v / step).round() * step - radius;
    let (left, near) = (snap(centre.x), snap(centre.z));
    let side = cells + 1;
    let mut positions = Vec::with_capacity((side * side) as usize);
    let mut normals = Vec::with_capacity(positions.capacity());
    for row in 0..side {
        for column in 0..side {
            let (x, z) = (left + column as f32 * step, near + row as f32 * step);
            let h = 0.5 * step;
            positions.push(Vec3::new(x, height(x, z), z));
            let dx = (height(x + h, z) - height(x - h, z)) / step;
            let dz = (height(x, z + h) - height(x, z - h)) / step;
            normals.push(Vec3::new(-dx, 1.0, -dz).normalize_or(Vec3::Y));
        }
    }
    let mut indices = Vec::with_capacity(6 * (cells * cells) as usize);
    for row in 0..cells {
        for column in 0..cells {
            let a = row * side + column;
            let (b, c, d) = (a + 1, a + side, a + side + 1);
            indices.extend([a, c, b, b, c, d]);
        }
    }
    Solid {
        positions,
        normals,
        colours: Vec::new(),
        indices,
        surface: Surface::Ground { radius },
        casts_shadow: false,
    }
}
