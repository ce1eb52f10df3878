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
    let points: Vec<Vec3> = (0..side * side)
        .map(|index| {
            let (x, z) = (left + (index % side) as f32 * step, near + (index / side) as f32 * step);
            Vec3::new(x, height(x, z), z)
        })
        .collect();
    let corner = |row: u32, column: u32| points[(row * side + column) as usize];
    // A normal per triangle: smoothed ones would round off the edges of stairs.
    let mut positions = Vec::with_capacity(6 * (cells * cells) as usize);
    let mut normals = Vec::with_capacity(positions.capacity());
    for row in 0..cells {
        for column in 0..cells {
            let [a, b] = [corner(row, column), corner(row, column + 1)];
            let [c, d] = [corner(row + 1, column), corner(row + 1, column + 1)];
            for triangle in [[a, c, b], [b, c, d]] {
                let normal =
                    (triangle[1] - triangle[0]).cross(triangle[2] - triangle[0]).normalize_or(Vec3::Y);
                positions.extend(triangle);
                normals.extend([normal; 3]);
            }
        }
    }
    Solid {
        indices: (0..positions.len() as u32).collect(),
        positions,
        normals,
        colours: Vec::new(),
        surface: Surface::Ground { radius },
        casts_shadow: false,
    }
}
