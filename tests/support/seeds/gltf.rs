//! Documents that each show one thing the importer reads, as short as they can be: most inputs of a second then come
//! from short ones.

use serde_json::{Value, json};

use super::Seeds;
use crate::builder::Builder;
use crate::sample::sample;

/// Text and binary chunk of every document.
pub fn gltf_parts() -> Vec<(Vec<u8>, Vec<u8>)> {
    documents().into_iter().map(|(_, file)| parts(&file.glb())).collect()
}

fn documents() -> Vec<(&'static str, Builder)> {
    vec![
        ("legs", legs()),
        ("linear", clip("LINEAR")),
        ("step", clip("STEP")),
        ("cubic", clip("CUBICSPLINE")),
        ("scaled", scaled()),
        ("integers", integers()),
        ("sparse", sparse()),
        ("skinned", skinned()),
        ("rigid", rigid()),
        ("z_up", z_up()),
        ("all", sample()),
    ]
}

pub fn seeds() -> Seeds {
    let joined = |(mut json, binary): (Vec<u8>, Vec<u8>)| {
        json.push(0);
        json.extend(binary);
        json
    };
    let mut seeds: Seeds =
        documents().into_iter().map(|(name, file)| (name, joined(parts(&file.glb())))).collect();
    // Documents of those above with changes; these change nothing.
    seeds.push(("altered.0", vec![1, 0]));
    seeds.push(("altered.10", vec![1, 10]));
    seeds.push(("whole.glb", clip("LINEAR").glb()));
    let bytes = "AAAAAAAAgD8AAAAAAAAAAAAAAAAAAAAAAACAPwAAAAA=";
    let text = json!({
        "asset": { "version": "2.0" }, "nodes": [{ "name": "Hips" }],
        "buffers": [{ "byteLength": 32, "uri": format!("data:application/octet-stream;base64,{bytes}") }],
        "bufferViews": [{ "buffer": 0, "byteLength": 8 }, { "buffer": 0, "byteOffset": 8, "byteLength": 24 }],
        "accessors": [
            { "bufferView": 0, "componentType": 5126, "type": "SCALAR", "count": 2 },
            { "bufferView": 1, "componentType": 5126, "type": "VEC3", "count": 2 }
        ],
        "animations": [{
            "samplers": [{ "input": 0, "output": 1 }],
            "channels": [{ "sampler": 0, "target": { "node": 0, "path": "translation" } }]
        }]
    });
    seeds.push(("text.gltf", text.to_string().into_bytes()));
    let bare = json!({ "asset": { "version": "2.0" }, "nodes": [{ "children": [1] }, {}], "skins": [{ "joints": [0, 1] }] });
    seeds.push(("bare.gltf", bare.to_string().into_bytes()));
    seeds
}

/// Text and binary chunk of a GLB.
fn parts(glb: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let length = u32::from_le_bytes([glb[12], glb[13], glb[14], glb[15]]) as usize;
    let binary = glb.get(20 + length + 8..).unwrap_or_default();
    (glb[20..20 + length].trim_ascii_end().to_vec(), binary.to_vec())
}

/// Hips and two legs with their names, one clip that moves the hips.
fn legs() -> Builder {
    let mut file = Builder::new();
    file.node(json!({ "name": "Hips", "translation": [0, 1, 0], "children": [1, 4] }));
    for side in ["Left", "Right"] {
        let x = if side == "Left" { 0.1 } else { -0.1 };
        let first = file.document["nodes"].as_array().map_or(0, Vec::len);
        file.node(
            json!({ "name": format!("{side}UpLeg"), "translation": [x, 0, 0], "children": [first + 1] }),
        );
        file.node(
            json!({ "name": format!("{side}Leg"), "translation": [0, -0.5, 0], "children": [first + 2] }),
        );
        file.node(json!({ "name": format!("{side}Foot"), "translation": [0, -0.5, 0] }));
    }
    let times = file.floats("SCALAR", &[0.0, 1.0]);
    let places = file.floats("VEC3", &[0.0, 1.0, 0.0, 0.0, 1.0, 1.0]);
    file.clip("walk", &[(0, "translation", "LINEAR", times, places)]);
    file
}

fn clip(interpolation: &str) -> Builder {
    let mut file = Builder::new();
    file.node(json!({ "name": "root", "children": [1] }));
    file.node(json!({ "name": "arm", "translation": [0, 1, 0] }));
    let per_key = if interpolation == "CUBICSPLINE" { 3 } else { 1 };
    let times = file.floats("SCALAR", &[0.0, 0.5]);
    let turns = file.floats("VEC4", &[0.0, 0.0, 0.0, 1.0].repeat(2 * per_key));
    file.clip("turn", &[(1, "rotation", interpolation, times, turns)]);
    file
}

fn scaled() -> Builder {
    let mut file = Builder::new();
    file.node(json!({ "scale": [0.01, 0.01, 0.01], "children": [1] }));
    file.node(json!({ "name": "arm", "translation": [0, 100, 0] }));
    let times = file.floats("SCALAR", &[0.0, 0.5]);
    let scales = file.floats("VEC3", &[1.0, 1.0, 1.0, 2.0, 1.0, 1.0]);
    file.clip("grow", &[(1, "scale", "LINEAR", times, scales)]);
    file
}

fn integers() -> Builder {
    let mut file = Builder::new();
    file.node(json!({ "name": "arm" }));
    let times = file.floats("SCALAR", &[0.0, 0.5]);
    let turns = file.integers("VEC4", 5122, true, 2, &[0, 0, 0, 0, 0xff, 0x5a, 0xff, 0x5a].repeat(2));
    file.clip("turn", &[(0, "rotation", "LINEAR", times, turns)]);
    file
}

fn sparse() -> Builder {
    let mut file = Builder::new();
    file.node(json!({ "name": "arm" }));
    let times = file.floats("SCALAR", &[0.0, 0.5]);
    let which = file.view(&[1, 0], None);
    let moved = file.view(&2.0_f32.to_le_bytes().repeat(3), None);
    let places = file.accessor(json!({
        "componentType": 5126, "type": "VEC3", "count": 2,
        "sparse": { "count": 1, "indices": { "bufferView": which, "componentType": 5123 }, "values": { "bufferView": moved } }
    }));
    file.clip("move", &[(0, "translation", "LINEAR", times, places)]);
    file
}

const TRIANGLE: [[f32; 3]; 3] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];

fn skinned() -> Builder {
    let mut file = Builder::new();
    file.node(json!({ "name": "root", "children": [1] }));
    file.node(json!({ "name": "arm" }));
    let binds = file.floats("MAT4", &glam::Mat4::IDENTITY.to_cols_array().repeat(2));
    let skin = file.skin(json!({ "joints": [0, 1], "inverseBindMatrices": binds, "skeleton": 0 }));
    let mut triangle = file.triangle(&TRIANGLE, 1);
    triangle["indices"] = file.integers("SCALAR", 5123, false, 3, &[0, 0, 1, 0, 2, 0]).into();
    let mesh = file.mesh(vec![triangle]);
    file.node(json!({ "mesh": mesh, "skin": skin }));
    file
}

fn rigid() -> Builder {
    let mut file = Builder::new();
    let positions = file.floats("VEC3", TRIANGLE.as_flattened());
    let strip: Value = json!({ "attributes": { "POSITION": positions }, "mode": 5 });
    let mesh = file.mesh(vec![strip]);
    file.node(json!({ "name": "hand", "children": [1] }));
    file.node(json!({ "mesh": mesh, "matrix": glam::Mat4::from_rotation_x(1.0).to_cols_array() }));
    file.skin(json!({ "joints": [0] }));
    file
}

/// A body that lies on its back, as exports without a conversion of axes do.
fn z_up() -> Builder {
    let mut file = legs();
    file.document["nodes"][0]["rotation"] = json!([0.707_106_77, 0, 0, 0.707_106_77]);
    file
}
