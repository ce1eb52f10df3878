//! A small document with everything that the importer reads.

use serde_json::json;

use crate::builder::Builder;

/// A small file with all that the importer reads.
pub fn sample() -> Builder {
    let mut file = Builder::new();
    let names = [
        "Hips",
        "Spine",
        "Neck",
        "Head",
        "LeftUpLeg",
        "LeftLeg",
        "LeftFoot",
        "RightUpLeg",
        "RightLeg",
        "RightFoot",
    ];
    let parents = [None, Some(0), Some(1), Some(2), Some(0), Some(4), Some(5), Some(0), Some(7), Some(8)];
    for (index, name) in names.iter().enumerate() {
        let children = (0..names.len()).filter(|&child| parents[child] == Some(index)).collect::<Vec<_>>();
        let side = if name.starts_with("Left") {
            0.1
        } else if name.starts_with("Right") {
            -0.1
        } else {
            0.0
        };
        let mut node = json!({ "name": name, "translation": [side, if side == 0.0 { 0.3 } else { -0.4 }, 0.0], "scale": [1, 1, 1] });
        if !children.is_empty() {
            node["children"] = children.into();
        }
        file.node(node);
    }
    let binds = file.floats("MAT4", &glam::Mat4::IDENTITY.to_cols_array().repeat(10));
    let joints = (0..10).rev().collect::<Vec<_>>();
    let skin = file.skin(json!({ "joints": joints, "inverseBindMatrices": binds, "skeleton": 0 }));
    let triangle = file.triangle(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 3);
    let mut second = file.triangle(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 9);
    second["indices"] = file.integers("SCALAR", 5123, false, 3, &[0, 0, 1, 0, 2, 0]).into();
    second["mode"] = 5.into();
    let mesh = file.mesh(vec![triangle.clone(), second]);
    file.node(json!({ "mesh": mesh, "skin": skin }));
    let rigid = file.mesh(vec![triangle]);
    let held =
        file.node(json!({ "mesh": rigid, "matrix": glam::Mat4::from_rotation_x(1.0).to_cols_array() }));
    file.document["nodes"][9]["children"] = json!([held]);
    let times = file.floats("SCALAR", &[0.0, 0.4, 1.0]);
    let places = file.floats("VEC3", &[0.0, 1.0, 0.0, 0.0, 1.0, 0.5, 0.0, 1.0, 1.0]);
    let turns = file.integers("VEC4", 5122, true, 3, &[0, 0, 0, 0, 0xff, 0x5a, 0xff, 0x5a].repeat(3));
    let cubic = file.floats("VEC4", &[0.0, 0.0, 0.0, 1.0].repeat(9));
    let scales = file.floats("VEC3", &[1.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    let which = file.view(&[1, 0], None);
    let moved = file.view(&2.0_f32.to_le_bytes().repeat(3), None);
    file.document["accessors"][scales]["sparse"] = json!({
        "count": 1, "indices": { "bufferView": which, "componentType": 5123 }, "values": { "bufferView": moved }
    });
    file.clip(
        "walk",
        &[
            (0, "translation", "LINEAR", times, places),
            (4, "rotation", "STEP", times, turns),
            (5, "rotation", "CUBICSPLINE", times, cubic),
            (3, "scale", "LINEAR", times, scales),
        ],
    );
    file
}
