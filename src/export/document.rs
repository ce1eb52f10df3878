//! A GLB of its own: skeleton, skins, meshes and clips of a character, in metres, +Y up, +Z forward.

use glam::Mat4;
use serde_json::{Value, json};

use super::animation::animation;
use super::binary::{Binary, Target};
use super::{ExportError, ExportOptions};
use crate::clip::RawClip;
use crate::rig::{MAX_INFLUENCES, RawCharacter, RawMesh, RawSkin};

/// A character and clips on its skeleton as GLB. Meshes are written without materials, which a [`RawCharacter`] does not
/// have: see [`animate`](super::animate) for a file that keeps its own.
///
/// # Errors
/// If skeleton, skins, meshes or clips are not valid, or the file would be 4 GiB large.
pub fn glb(
    character: &RawCharacter,
    clips: &[RawClip],
    options: &ExportOptions,
) -> Result<Vec<u8>, ExportError> {
    let skeleton = &character.skeleton;
    skeleton.validate()?;
    let joints = skeleton.joints.len();
    let mut binary = Binary::default();
    let mut nodes: Vec<Value> = Vec::with_capacity(joints);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); joints];
    let mut roots = Vec::new();
    for (index, joint) in skeleton.joints.iter().enumerate() {
        match joint.parent {
            Some(parent) => children[usize::from(parent)].push(index),
            None => roots.push(index),
        }
    }
    for (joint, children) in skeleton.joints.iter().zip(children) {
        let rest = joint.rest;
        let mut node = json!({
            "name": joint.name,
            "translation": rest.translation.to_array(),
            "rotation": rest.rotation.normalize().to_array(),
        });
        if rest.scale != glam::Vec3::ONE {
            node["scale"] = json!(rest.scale.to_array());
        }
        if !children.is_empty() {
            node["children"] = json!(children);
        }
        nodes.push(node);
    }
    let mut skins = Vec::new();
    for skin in &character.skins {
        skins.push(write_skin(skin, joints, &mut binary)?);
    }
    let mut meshes = Vec::new();
    for mesh in &character.meshes {
        let Some(skin) = character.skins.get(mesh.skin) else {
            return Err(ExportError::Reference {
                what: format!("mesh {:?}", mesh.name),
                kind: "skin",
                index: mesh.skin,
                have: character.skins.len(),
            });
        };
        let primitive = write_mesh(mesh, skin, &mut binary)?;
        meshes.push(json!({ "name": mesh.name, "primitives": [primitive] }));
        roots.push(nodes.len());
        nodes.push(json!({ "name": mesh.name, "mesh": meshes.len() - 1, "skin": mesh.skin }));
    }
    let mut animations = Vec::new();
    for clip in clips {
        animations.extend(animation(skeleton, clip, &|joint| joint.into(), &mut binary, options)?);
    }
    let mut document = json!({
        "asset": { "version": "2.0", "generator": concat!("throng ", env!("CARGO_PKG_VERSION")) },
        "scene": 0,
        "scenes": [{ "name": character.name, "nodes": roots }],
        "nodes": nodes,
    });
    for (key, list) in [("skins", skins), ("meshes", meshes), ("animations", animations)] {
        if !list.is_empty() {
            document[key] = Value::Array(list);
        }
    }
    binary.into_glb(document)
}

fn write_skin(skin: &RawSkin, joints: usize, binary: &mut Binary) -> Result<Value, ExportError> {
    if let Some(&joint) = skin.joints.iter().find(|&&joint| usize::from(joint) >= joints) {
        let what = format!("skin {:?}", skin.name);
        return Err(ExportError::Reference { what, kind: "joint", index: joint.into(), have: joints });
    }
    let binds: Vec<[f32; 16]> = (0..skin.joints.len())
        .map(|entry| {
            let mut columns =
                skin.inverse_binds.get(entry).copied().unwrap_or(Mat4::IDENTITY).to_cols_array();
            // Affine to the bit, as the format asks.
            (columns[3], columns[7], columns[11], columns[15]) = (0.0, 0.0, 0.0, 1.0);
            columns
        })
        .collect();
    let accessor = binary.floats(&binds, "MAT4", Target::Other, false);
    Ok(json!({ "name": skin.name, "joints": skin.joints, "inverseBindMatrices": accessor }))
}

fn write_mesh(mesh: &RawMesh, skin: &RawSkin, binary: &mut Binary) -> Result<Value, ExportError> {
    let count = mesh.positions.len();
    let what = || format!("mesh {:?}", mesh.name);
    if let Some(&index) = mesh.indices.iter().find(|&&index| index as usize >= count) {
        return Err(ExportError::Reference {
            what: what(),
            kind: "vertex",
            index: index as usize,
            have: count,
        });
    }
    let unit = |normal: &[f32; 3]| {
        let normal = glam::Vec3::from_array(*normal).normalize_or(glam::Vec3::Y);
        normal.to_array()
    };
    let normals: Vec<[f32; 3]> =
        (0..count).map(|at| mesh.normals.get(at).map_or([0.0, 1.0, 0.0], unit)).collect();
    let mut joints = [vec![[0u16; 4]; count], vec![[0u16; 4]; count]];
    let mut weights = [vec![[0.0f32; 4]; count], vec![[0.0f32; 4]; count]];
    for vertex in 0..count {
        let influences = influences(mesh, vertex);
        for (slot, (joint, weight)) in influences.into_iter().enumerate() {
            if usize::from(joint) >= skin.joints.len() {
                let (index, have) = (joint.into(), skin.joints.len());
                return Err(ExportError::Reference { what: what(), kind: "skin entry", index, have });
            }
            joints[slot / 4][vertex][slot % 4] = joint;
            weights[slot / 4][vertex][slot % 4] = weight;
        }
    }
    let mut attributes = json!({
        "POSITION": binary.floats(&mesh.positions, "VEC3", Target::Vertices, true),
        "NORMAL": binary.floats(&normals, "VEC3", Target::Vertices, false),
    });
    for (set, (joints, weights)) in joints.iter().zip(&weights).enumerate() {
        if set == 0 || weights.iter().flatten().any(|&weight| weight > 0.0) {
            attributes[format!("JOINTS_{set}")] = json!(binary.shorts(joints));
            attributes[format!("WEIGHTS_{set}")] =
                json!(binary.floats(weights, "VEC4", Target::Vertices, false));
        }
    }
    let mut primitive = json!({ "attributes": attributes });
    if !mesh.indices.is_empty() {
        primitive["indices"] = json!(binary.indices(&mesh.indices));
    }
    Ok(primitive)
}

/// Each entry once, heaviest first, summing to one.
fn influences(mesh: &RawMesh, vertex: usize) -> Vec<(u16, f32)> {
    let mut all: Vec<(u16, f64)> = Vec::with_capacity(MAX_INFLUENCES);
    let joints = mesh.joints.get(vertex).copied().unwrap_or_default();
    let weights = mesh.weights.get(vertex).copied().unwrap_or_default();
    for (joint, weight) in joints.into_iter().zip(weights).filter(|(_, weight)| *weight > 0.0) {
        match all.iter_mut().find(|(own, _)| *own == joint) {
            Some((_, sum)) => *sum += f64::from(weight),
            None => all.push((joint, f64::from(weight))),
        }
    }
    let total: f64 = all.iter().map(|(_, weight)| weight).sum();
    if total <= 0.0 {
        return vec![(0, 1.0)];
    }
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut scaled: Vec<(u16, f32)> =
        all.into_iter().map(|(joint, weight)| (joint, (weight / total) as f32)).collect();
    // What rounding has left over goes to the heaviest.
    let rest: f32 = scaled[1..].iter().map(|(_, weight)| weight).sum();
    scaled[0].1 = 1.0 - rest;
    scaled
}
