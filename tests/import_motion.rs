//! What the importer says about clips: loops, travel, ground speed, contacts; and its summary.

#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod data;

use serde_json::Value;
use throng::clip::RootSource;
use throng::import::{Sidecar, Warning, gltf, inspect};
use throng::rig::Side;

/// glTF contact files of the data, with the file they belong to.
fn sidecars() -> Vec<(Value, Sidecar, std::path::PathBuf)> {
    let Some(dir) = data::data_dir() else { return Vec::new() };
    let mut out = Vec::new();
    let mut paths = std::fs::read_dir(dir.join("contacts"))
        .expect("folder")
        .map(|e| e.expect("entry").path())
        .collect::<Vec<_>>();
    paths.sort();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("readable");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let sidecar = Sidecar::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let file = dir.join(&sidecar.file);
        if sidecar.file.starts_with("gltf/") {
            out.push((value, sidecar, file));
        }
    }
    assert!(out.len() >= 14, "{}", out.len());
    out
}

#[test]
fn sidecars_bring_contacts_on_the_clips_clock() {
    for (value, sidecar, file) in sidecars() {
        let mut imported = gltf::load(&file).expect("loads");
        sidecar.apply(&mut imported).unwrap_or_else(|error| panic!("{}: {error}", sidecar.clip));
        let clip = imported.clips.iter().find(|clip| clip.name == sidecar.clip).expect("clip");
        let contacts = clip.contacts.as_ref().expect("contacts");
        for (foot, key) in contacts.feet.iter().zip(["left", "right"]) {
            let listed = value["feet"][key].as_array().expect("list");
            for (part, have) in [("ball", &foot.ball), ("heel", &foot.heel)] {
                let want = listed.iter().filter(|c| c["part"] == part).collect::<Vec<_>>();
                assert_eq!(have.len(), want.len());
                for (have, want) in have.iter().zip(want) {
                    let start = want["t0"].as_f64().expect("time") - f64::from(clip.start);
                    assert!((f64::from(have.start) - start).abs() < 1e-5);
                    assert!(have.start >= 0.0 && have.end <= clip.duration);
                    assert_eq!(want["wraps"] == true, have.end < have.start, "{}", sidecar.clip);
                }
            }
        }
        if value["kind"] == "in_place" {
            let want = value["root_speed_m_s"].as_f64().expect("speed") as f32;
            assert_eq!(clip.root, RootSource::InPlace { speed: want }, "{}", sidecar.clip);
        }
    }
}

#[test]
fn sole_marks_lie_at_their_low_level_while_their_foot_is_down() {
    for (_, sidecar, file) in sidecars() {
        let mut imported = gltf::load(&file).expect("loads");
        sidecar.apply(&mut imported).expect("applies");
        let skeleton = &imported.character.skeleton;
        let clip = imported.clips.iter().find(|clip| clip.name == sidecar.clip).expect("clip");
        let contacts = clip.contacts.as_ref().expect("contacts");
        for (marks, contacts) in sidecar.feet.iter().zip(&contacts.feet) {
            for (mark, intervals) in [(&marks.ball, &contacts.ball), (&marks.heel, &contacts.heel)] {
                let (Some(mark), Some(interval)) = (mark, intervals.first()) else { continue };
                let joint = usize::from(skeleton.find(&mark.joint).expect("joint"));
                let length =
                    if interval.end < interval.start { interval.end + clip.duration } else { interval.end }
                        - interval.start;
                let time = (interval.start + 0.5 * length) % clip.duration.max(1e-3);
                let models = data::clip_models(skeleton, clip, f64::from(clip.start + time));
                let height = models[joint].transform_point3(mark.offset.as_dvec3()).y;
                assert!(
                    (height - f64::from(mark.low_level)).abs() < 0.03,
                    "{}: {} at {height}, low level {}",
                    sidecar.clip,
                    mark.joint,
                    mark.low_level
                );
            }
        }
    }
}

/// The crouch kneels on the right ball, and its heel mark is a point under that; jogging, feet come down fast.
#[test]
fn contacts_of_feet_in_the_air_or_on_the_move_are_told() {
    let mut told = Vec::new();
    for (_, sidecar, file) in sidecars() {
        let mut imported = gltf::load(&file).expect("loads");
        sidecar.apply(&mut imported).expect("applies");
        for warning in &imported.report.warnings {
            match warning {
                Warning::ContactInAir { clip, side, part, height, .. } => {
                    told.push((clip.clone(), *side, *part, *height));
                }
                Warning::ContactMoves { clip, side, speed, .. } => {
                    told.push((clip.clone(), *side, "moves", *speed));
                }
                _ => continue,
            }
            println!("{}: {warning}", sidecar.file);
        }
    }
    if data::data_dir().is_none() {
        return;
    }
    let of = |name: &str| told.iter().filter(|(clip, ..)| clip == name).cloned().collect::<Vec<_>>();
    let [(_, Side::Right, "heel", height)] = of("Crouch_Idle_Loop")[..] else { panic!("{told:?}") };
    assert!((0.12..0.17).contains(&height), "{height}");
    let jog = of("Jog_Fwd_Loop");
    let moves = jog.iter().find(|(_, side, what, _)| (*side, *what) == (Side::Left, "moves"));
    // 1.46 m/s by readers of the file that are not the engine's.
    assert!((moves.expect("the left ball moves").3 - 1.46).abs() < 0.15, "{jog:?}");
    assert!(jog.iter().any(|(_, side, what, _)| (*side, *what) == (Side::Right, "heel")), "{jog:?}");
    for sound in ["Idle_Loop", "Walk_Loop", "Walk_Formal_Loop"] {
        assert_eq!(of(sound), [], "{sound}");
    }
}

#[test]
fn ground_speed_of_marching_cycles_is_estimated_from_stance() {
    let mut checked = 0;
    for (value, sidecar, file) in sidecars() {
        if value["kind"] != "in_place" || value["cyclic"] != true {
            continue;
        }
        let imported = gltf::load(&file).expect("loads");
        let clip = imported.clips.iter().find(|clip| clip.name == sidecar.clip).expect("clip");
        let want = value["root_velocity_m_s"][2].as_f64().expect("velocity") as f32;
        let RootSource::InPlace { speed } = clip.root else { panic!("{}: {:?}", sidecar.clip, clip.root) };
        // Each foot alone asks for a speed of its own; they differ by up to 8 %.
        assert!(
            (speed - want).abs() < 0.1 * want.abs() + 0.05,
            "{}: {speed} instead of {want}",
            sidecar.clip
        );
        assert!(clip.looping, "{}", sidecar.clip);
        checked += 1;
    }
    println!("{checked} cycles");
}

#[test]
fn travel_is_told_from_marching_and_loops_from_single_shots() {
    let Some(dir) = data::data_dir() else { return };
    let pab = gltf::load(dir.join("gltf/ozz_pab/pab_locomotions.glb")).expect("loads");
    for clip in &pab.clips {
        assert_eq!(clip.root, RootSource::Hips, "{}", clip.name);
        assert!(clip.looping, "{}", clip.name);
    }
    let ual = gltf::load(dir.join("gltf/ual/human-base-animations.glb")).expect("loads");
    for clip in &ual.clips {
        assert_eq!(
            clip.looping,
            clip.name.contains("_Loop") || clip.name == "Sword_Idle" || clip.name == "Fixing_Kneeling",
            "{}",
            clip.name
        );
    }
    let kaykit = gltf::load(dir.join("gltf/kaykit/Med_MovementAdvanced.glb")).expect("loads");
    let dodge = kaykit.clips.iter().find(|clip| clip.name.ends_with("Dodge_Left")).expect("clip");
    let root = kaykit.character.skeleton.find("root").expect("root");
    assert_eq!(dodge.root, RootSource::Joint(root));
    let backwards = kaykit.clips.iter().find(|clip| clip.name.ends_with("Walking_Backwards")).expect("clip");
    assert!(matches!(backwards.root, RootSource::InPlace { speed } if speed < -0.3), "{:?}", backwards.root);
}

#[test]
fn the_summary_has_the_fields_of_the_command() {
    let Some(dir) = data::data_dir() else { return };
    let imported = gltf::load(dir.join("gltf/ozz_pab/pab_locomotions.glb")).expect("loads");
    let value = serde_json::to_value(inspect(&imported)).expect("JSON");
    let facts = &data::facts(&dir)["gltf/ozz_pab/pab_locomotions.glb"];
    assert_eq!(value["joints"].as_array().expect("list").len(), 69);
    assert_eq!(value["joints"][0]["parent"], Value::Null);
    assert_eq!(value["roles"]["hips"], "Pelvis");
    assert_eq!(value["roles"]["left.hand"], "Lefthand");
    let near = |have: &Value, want: f64| {
        let have = have.as_f64().expect("a number");
        assert!((have - want).abs() < 1e-3 * want.abs().max(0.1), "{have} {want}");
    };
    for key in ["thigh", "shin"] {
        let sides = &facts["lengths_rest"][key];
        let mean = (sides["left"].as_f64().expect("left") + sides["right"].as_f64().expect("right")) / 2.0;
        near(&value["lengths_m"][key], mean);
    }
    near(&value["lengths_m"]["hip_height"], facts["lengths_rest"]["hips_height"].as_f64().expect("height"));
    for clip in value["clips"].as_array().expect("clips") {
        let want = &facts["clips"][clip["name"].as_str().expect("name")];
        near(&clip["start_s"], want["start_s"].as_f64().expect("start"));
        near(&clip["duration_s"], want["duration_s"].as_f64().expect("duration"));
        near(&clip["root_path_m"], want["path"].as_f64().expect("path"));
    }
    assert!(value["warnings"].as_array().expect("warnings").iter().all(Value::is_string));
}

#[test]
fn contacts_beside_a_file_are_taken_along() {
    let Some(dir) = data::data_dir() else { return };
    let own = std::env::temp_dir().join(format!("throng-sidecar-{}", std::process::id()));
    std::fs::create_dir_all(&own).expect("a folder");
    let file = own.join("human.glb");
    std::fs::copy(dir.join("gltf/ual/human-base-animations.glb"), &file).expect("a copy");
    let texts = ["ual.Walk_Loop", "ual.Idle_Loop"].map(|name| {
        std::fs::read_to_string(dir.join(format!("contacts/{name}.contacts.json"))).expect("contacts")
    });
    std::fs::write(own.join("human.contacts.json"), format!("[{}]", texts.join(","))).expect("written");
    let imported = gltf::load(&file).expect("loads");
    let marked = imported.clips.iter().filter(|clip| clip.contacts.is_some()).map(|clip| clip.name.as_str());
    assert_eq!(marked.collect::<Vec<_>>(), ["Idle_Loop", "Walk_Loop"]);
    assert_eq!(imported.report.sidecars.len(), 2);

    std::fs::write(own.join("human.contacts.json"), texts[0].replace("Walk_Loop", "Stroll"))
        .expect("written");
    let error = gltf::load(&file).expect_err("no such clip").to_string();
    assert!(error.contains("human.contacts.json") && error.contains("Stroll"), "{error}");
    std::fs::remove_dir_all(&own).expect("removed");
}
