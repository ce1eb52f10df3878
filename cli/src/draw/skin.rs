//! Linear-blend skinning of one raw mesh: vertex = sum of weight x palette entry x rest vertex.

use glam::{Mat3, Mat4, Vec3};
use throng::rig::{MAX_INFLUENCES, RawMesh, RawSkin};

use super::bones::{Sides, side_colours};
use super::{Solid, Surface, srgb};

/// Colours per vertex by the side of the body that its joints are on, so that the legs can be told apart.
pub fn tints(mesh: &RawMesh, skin: &RawSkin, sides: &Sides) -> Vec<Vec3> {
    let colours = side_colours();
    let side = |entry: &u16| colours[sides.of(skin.joints[usize::from(*entry)])];
    let tint = |(entries, weights): (&[u16; MAX_INFLUENCES], &[f32; MAX_INFLUENCES])| {
        let mixed: Vec3 = entries.iter().zip(weights).map(|(entry, weight)| side(entry) * *weight).sum();
        srgb(0x008c_9096).lerp(mixed, 0.75)
    };
    mesh.joints.iter().zip(&mesh.weights).map(tint).collect()
}

/// Skinning matrices of a pose given as world matrices of all joints.
pub fn palette(skin: &RawSkin, models: &[Mat4]) -> Vec<Mat4> {
    let entries = skin.joints.iter().zip(&skin.inverse_binds);
    entries.map(|(&joint, &inverse_bind)| models[usize::from(joint)] * inverse_bind).collect()
}

/// The mesh as its skin's `palette` poses it, in the palette's space.
pub fn solid(mesh: &RawMesh, palette: &[Mat4], surface: Surface) -> Solid {
    let mut positions = Vec::with_capacity(mesh.positions.len());
    let mut normals = Vec::with_capacity(mesh.positions.len());
    for (index, &position) in mesh.positions.iter().enumerate() {
        let mut blend = Mat4::ZERO;
        for (&entry, &weight) in mesh.joints[index].iter().zip(&mesh.weights[index]) {
            if weight != 0.0 {
                blend += palette[usize::from(entry)] * weight;
            }
        }
        positions.push(blend.transform_point3(Vec3::from(position)));
        // Exact for rotations and uniform scale, close enough for the rest.
        normals.push((Mat3::from_mat4(blend) * Vec3::from(mesh.normals[index])).normalize_or(Vec3::Y));
    }
    Solid {
        positions,
        normals,
        colours: Vec::new(),
        indices: mesh.indices.clone(),
        surface,
        casts_shadow: true,
    }
}
