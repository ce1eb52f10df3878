//! One raw mesh in a pose, and its colours.

use glam::{Mat4, Vec3};
use throng::crowd::{SkinPalette, SkinnedMesh};
use throng::lanes::Simd;
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

/// The mesh as its skin's `palette` poses it, in the palette's space; `None` if the palette is too short for it.
pub fn solid(mesh: &RawMesh, layout: &SkinnedMesh, palette: &[Mat4], surface: Surface) -> Option<Solid> {
    let rows = |m: &Mat4| {
        let rows = m.transpose().to_cols_array();
        std::array::from_fn(|k| rows[k])
    };
    let mut matrices = SkinPalette::default();
    matrices.set_matrices(&palette.iter().map(rows).collect::<Vec<_>>());
    let mut positions = vec![[0.0; 3]; layout.vertices()];
    let mut normals = positions.clone();
    layout.skin(Simd::fastest(), &matrices, &mut positions, &mut normals).ok()?;
    Some(Solid {
        positions: positions.into_iter().map(Vec3::from).collect(),
        normals: normals.into_iter().map(Vec3::from).collect(),
        colours: Vec::new(),
        indices: mesh.indices.clone(),
        surface,
        casts_shadow: true,
    })
}
