//! Contacts of a clip and of two.

use serde_json::{Value, json};

use super::Seeds;

fn contacts(kind: &str) -> Value {
    let part = json!({ "joint": "Foot_L", "offset_local_m": [0, -0.1, 0.05], "low_level_m": 0.01 });
    let down = json!([{ "part": "ball", "t0": 0.1, "t1": 0.4 }, { "part": "heel", "t0": 0, "t1": 0.3 }]);
    json!({
        "file": "a.glb", "clip": "walk", "kind": kind, "unit_scale": 1.0, "root_speed_m_s": 1.2,
        "ball_is_ankle": false, "parts": { "left": { "ball": part, "heel": part }, "right": {} },
        "feet": { "left": down, "right": [] }
    })
}

pub fn seeds() -> Seeds {
    let mut units = contacts("in_place");
    units["parts"]["left"] =
        json!({ "ball": { "joint": "a", "offset_local_units": [1, 2, 3], "low_level_units": 4 } });
    units["unit_scale"] = Value::Null;
    let both = json!([contacts("stationary"), units.clone()]);
    [("travelling", contacts("travelling")), ("units", units), ("both", both)]
        .map(|(name, value)| (name, value.to_string().into_bytes()))
        .into()
}
