//! DeepMimic motions against facts measured by an independent reader.

#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod data;

use glam::DVec3;
use serde_json::{Value, json};
use throng::import::{self, Imported, Refusal, motion_text};
use throng::rig::{Role, Side};

fn files() -> Vec<(String, Value, Imported)> {
    let Some(dir) = data::data_dir() else { return Vec::new() };
    let mut out = Vec::new();
    for (name, facts) in data::facts(&dir) {
        if name.starts_with("motions/") && facts["joints"].is_array() {
            let imported = import::load(dir.join(&name)).unwrap_or_else(|error| panic!("{error}"));
            out.push((name, facts, imported));
        }
    }
    assert!(out.len() >= 11, "{}", out.len());
    out
}

#[test]
fn skeleton_and_roles_are_those_of_the_facts() {
    for (name, facts, imported) in files() {
        let skeleton = &imported.character.skeleton;
        for (joint, want) in skeleton.joints.iter().zip(facts["joints"].as_array().expect("joints")) {
            assert_eq!(want[0], joint.name.as_str());
            assert_eq!(want[1].as_i64(), Some(joint.parent.map_or(-1, i64::from)));
        }
        let named = |role: Role| {
            let joint = imported.roles.joint(role)?;
            Some(skeleton.joints[usize::from(joint)].name.clone())
        };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        assert_eq!(named(Role::Hips), text(&facts["roles"]["hips"]), "{name}");
        assert_eq!(named(Role::Spine(0)), text(&facts["roles"]["spine"][0]), "{name}");
        assert_eq!(named(Role::Head), text(&facts["roles"]["head"]), "{name}");
        let sided: [(&str, fn(Side) -> Role); 8] = [
            ("clavicle", Role::Clavicle),
            ("upper_arm", Role::UpperArm),
            ("forearm", Role::Forearm),
            ("hand", Role::Hand),
            ("thigh", Role::Thigh),
            ("shin", Role::Shin),
            ("foot", Role::Foot),
            ("toe", Role::Toe),
        ];
        for (side, key) in Side::BOTH.into_iter().zip(["left", "right"]) {
            for (part, role) in sided {
                assert_eq!(named(role(side)), text(&facts["roles"][key][part]), "{name}: {key} {part}");
            }
        }
        // They look along +X, which becomes +Z.
        assert!((imported.report.conversion.rotation * glam::Vec3::X).z > 0.9999, "{name}");
    }
}

#[test]
fn times_and_poses_agree() {
    let mut poses = 0;
    for (name, facts, imported) in files() {
        let clip = &imported.clips[0];
        let motion = &facts["motion"];
        let keys = &clip.tracks[0].rotation.as_ref().expect("rotations").times;
        assert_eq!(motion["frames"].as_u64(), Some(keys.len() as u64), "{name}");
        let duration = motion["duration_s"].as_f64().expect("duration");
        assert!((f64::from(clip.duration) - duration).abs() < 1e-6 * duration, "{name}");
        for key in ["fk_frame0", "fk_mid"] {
            let frame = motion[key]["frame"].as_u64().expect("frame") as usize;
            let models = data::clip_models(&imported.character.skeleton, clip, keys[frame].into());
            for (joint, want) in motion[key]["positions"].as_object().expect("positions") {
                let index = imported.character.skeleton.find(joint).expect("a joint");
                let want = want.as_array().expect("three").iter().map(|v| v.as_f64().expect("a number"));
                let want = DVec3::from_slice(&want.collect::<Vec<_>>());
                let have = data::to_file_space(&imported, models[usize::from(index)].w_axis.truncate());
                assert!(have.distance(want) < 2e-6, "{name} {key}: {joint} {have} {want}");
                poses += 1;
            }
        }
    }
    println!("{poses} positions");
    assert!(poses == 0 || poses > 100);
}

#[test]
fn motions_of_other_bodies_are_refused_with_what_is_missing() {
    let Some(dir) = data::data_dir() else { return };
    let error = import::load(dir.join("motions/laikago_walk.txt")).expect_err("refused").to_string();
    assert!(error.contains("20 values") && error.contains("skeletons of other bodies"), "{error}");
}

#[test]
fn broken_motions_are_refused_and_named_by_frame() {
    let mut good = vec![0.0; 44];
    (good[0], good[2]) = (0.1, 0.85);
    for quaternion in [4, 8, 12, 16, 21, 25, 30, 35, 39] {
        good[quaternion] = 1.0;
    }
    let text = |rows: &[Vec<f64>]| json!({ "Loop": "wrap", "Frames": rows }).to_string();
    let load = |text: &str| motion_text::load_bytes(text.as_bytes());
    let imported = load(&text(&[good.clone(), good.clone()])).expect("loads");
    assert_eq!(imported.clips[0].duration, 0.1);
    assert!(load(&text(&[])).expect("a skeleton alone").clips.is_empty());
    let broken = |at: usize, value: f64| {
        let mut row = good.clone();
        row[at] = value;
        load(&text(&[good.clone(), row, good.clone()])).expect_err("refused").kind
    };
    assert!(matches!(broken(0, 0.0), Refusal::Motion { frame: 1, .. }));
    assert!(matches!(broken(0, -0.1), Refusal::Motion { frame: 1, .. }));
    assert!(matches!(broken(8, 0.0), Refusal::Motion { frame: 1, .. }));
    assert!(matches!(broken(8, 1e300), Refusal::Motion { frame: 1, .. }));
    assert!(matches!(broken(1, 1e300), Refusal::Build(_)));
    let mut short = good.clone();
    short.pop();
    let error = load(&text(&[good.clone(), short])).expect_err("refused").to_string();
    assert!(error.contains("frame 1 has 43 values"), "{error}");
    for text in ["", "{}", "[]", r#"{"Frames": 3}"#, r#"{"Frames": [["a"]]}"#, r#"{"Frames": [[1e999]]}"#] {
        assert!(matches!(load(text).expect_err(text).kind, Refusal::Json { .. }), "{text}");
    }
}
