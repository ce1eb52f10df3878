//! Meshes into the model space of the rest pose.
//!
//! Many exporters keep meshes in centimetres or with another axis up and hide that in the inverse binds. Skinning
//! matrices then hold scale, which a palette of rotations and offsets cannot. One similarity per skin, applied to the
//! mesh and taken out of the inverse binds, changes no skinned vertex.

use glam::{DMat4, DVec3, Mat4};

use crate::rig::RawCharacter;

/// Multiplies each skin's meshes by the rest skinning matrix of its topmost joint, and the inverse binds by that
/// matrix's inverse; returns the matrices. Identity where that matrix is no similarity or
/// the skin has no mesh.
pub(super) fn align(character: &mut RawCharacter) -> Vec<Mat4> {
    let models = character.skeleton.model_matrices(&character.skeleton.rest_pose());
    let mut spaces = Vec::with_capacity(character.skins.len());
    for (index, skin) in character.skins.iter_mut().enumerate() {
        if !character.meshes.iter().any(|mesh| mesh.skin == index) {
            spaces.push(Mat4::IDENTITY);
            continue;
        }
        let top = skin.joints.iter().zip(&skin.inverse_binds).min_by_key(|(joint, _)| **joint);
        let space = top
            .and_then(|(&joint, bind)| Some(models.get(usize::from(joint))?.as_dmat4() * bind.as_dmat4()))
            .filter(similarity)
            .unwrap_or(DMat4::IDENTITY);
        spaces.push(space.as_mat4());
        if space.abs_diff_eq(DMat4::IDENTITY, 1e-6) {
            continue;
        }
        let inverse = space.inverse();
        for bind in &mut skin.inverse_binds {
            *bind = (bind.as_dmat4() * inverse).as_mat4();
        }
        for mesh in character.meshes.iter_mut().filter(|mesh| mesh.skin == index) {
            for position in &mut mesh.positions {
                *position =
                    space.transform_point3(DVec3::from_array(position.map(f64::from))).as_vec3().to_array();
            }
            for normal in &mut mesh.normals {
                let turned = space.transform_vector3(DVec3::from_array(normal.map(f64::from)));
                *normal = turned.try_normalize().map_or(*normal, |normal| normal.as_vec3().to_array());
            }
        }
    }
    spaces
}

/// Rotation, one positive factor, offset.
fn similarity(matrix: &DMat4) -> bool {
    let [x, y, z] = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(|axis| axis.truncate());
    let size = x.length();
    let rigid = |value: f64, want: f64| (value - want).abs() < 1e-3 * size;
    matrix.is_finite()
        && size > 1e-9
        && rigid(y.length(), size)
        && rigid(z.length(), size)
        && [x.dot(y), y.dot(z), z.dot(x)].iter().all(|dot| dot.abs() < 1e-3 * size * size)
        && x.cross(y).dot(z) > 0.0
        && matrix.w_axis.truncate().length() < 1e6 * size.max(1.0)
}
