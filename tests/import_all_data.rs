//! Every motion and character file of the test data: it loads and is sound, or is refused for its reason.

#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod data;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use throng::import::bvh::BvhProblem;
use throng::import::{self, Format, Imported, Refusal, inspect};
use throng::rig::Transform;

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(dir).expect("folder").map(|entry| entry.expect("entry").path());
    let mut entries = entries.collect::<Vec<_>>();
    entries.sort();
    for path in entries {
        if path.is_dir() { collect(&path, out) } else { out.push(path) }
    }
}

/// The reason in the words of the facts, where those have one for it.
fn reason(refusal: &Refusal) -> Option<&'static str> {
    Some(match refusal {
        Refusal::Container { .. } => "bad_container",
        Refusal::Json { .. } => "bad_json",
        Refusal::Version { .. } => "unsupported_version",
        Refusal::NodeCycle { .. } => "node_cycle",
        Refusal::NodeTransform { .. } => "nonfinite_transform",
        Refusal::Buffer { .. } => "missing_buffer",
        Refusal::Bvh(error) => match &error.problem {
            BvhProblem::ChannelCount { .. } => "channel_count",
            BvhProblem::FrameCount { .. } => "frame_count",
            BvhProblem::FrameWidth { .. } => "frame_width",
            BvhProblem::MissingHierarchy { .. } => "missing_hierarchy",
            BvhProblem::NoMotion => "no_motion",
            BvhProblem::NonFinite { .. } => "non_finite",
            BvhProblem::UnsupportedChannel { .. } => "unsupported_channel",
            _ => return None,
        },
        _ => return None,
    })
}

/// Valid skeleton, clips, meshes and skins; finite poses; as many skins and clips as the facts count.
fn sound(name: &str, facts: &Value, imported: &Imported) {
    let skeleton = &imported.character.skeleton;
    if !skeleton.joints.is_empty() {
        skeleton.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for clip in &imported.clips {
        clip.validate(skeleton).unwrap_or_else(|error| panic!("{name}: {error}"));
        for part in [0.0, 0.37, 1.0] {
            let pose = clip.sample(skeleton, clip.duration * part);
            assert!(pose.iter().all(Transform::is_finite), "{name}: {}", clip.name);
        }
    }
    for skin in &imported.character.skins {
        assert_eq!(skin.joints.len(), skin.inverse_binds.len(), "{name}");
        assert!(skin.inverse_binds.iter().all(|bind| bind.is_finite()), "{name}");
        assert!(skin.joints.iter().all(|&joint| usize::from(joint) < skeleton.joints.len()), "{name}");
    }
    for mesh in &imported.character.meshes {
        assert!(mesh.positions.iter().flatten().all(|value| value.is_finite()), "{name}");
        assert!(mesh.indices.iter().all(|&index| (index as usize) < mesh.positions.len()), "{name}");
    }
    assert_eq!(imported.report.virtual_joints.len(), skeleton.joints.len(), "{name}");
    let inspection = inspect(imported);
    assert_eq!(inspection.joints.len(), skeleton.joints.len(), "{name}");
    // The facts count skins and animations of the document; a rigid mesh below a joint adds a skin of its own.
    if facts["loads"] == "full" {
        if let Some(skins) = facts["skins"].as_u64() {
            assert!(imported.character.skins.len() as u64 >= skins, "{name}");
        }
        if let Some(animations) = facts["animations"].as_u64() {
            assert_eq!(imported.clips.len() as u64, animations, "{name}");
        }
    }
}

#[test]
fn every_file_of_the_data_loads_soundly_or_is_refused_for_its_reason() {
    let Some(dir) = data::data_dir() else { return };
    let mut facts = data::facts(&dir);
    let mut paths = Vec::new();
    collect(&dir, &mut paths);
    let (mut loaded, mut refused) = (0, BTreeMap::<String, usize>::new());
    for path in paths {
        let name = path.strip_prefix(&dir).expect("inside").to_string_lossy().into_owned();
        let Some(facts) = facts.remove(&name) else {
            // Buffers, pictures, reports, licences.
            assert!(!name.ends_with(".bvh") && !name.ends_with(".glb") && !name.ends_with(".vrm"), "{name}");
            continue;
        };
        match import::load(&path) {
            Ok(imported) => {
                assert_ne!(facts["loads"], "refused", "{name} should be refused for {}", facts["reason"]);
                sound(&name, &facts, &imported);
                loaded += 1;
            }
            Err(error) => {
                let have = reason(&error.kind);
                let no_skeleton = facts["kind"] == "quadruped" && name.ends_with(".txt");
                if facts["loads"] == "refused" {
                    // A file with faults of several kinds may be refused for any of them.
                    let codes = facts["validator_errors"].as_array();
                    let container = codes.is_some_and(|codes| {
                        codes.iter().any(|code| code.as_str().is_some_and(|code| code.starts_with("GLB_")))
                    });
                    let other = (container && have == Some("bad_container"))
                        // JSON has no word for what is not finite.
                        || (facts["reason"] == "nonfinite_transform" && have == Some("bad_json"));
                    assert!(facts["reason"].as_str() == have || other, "{error}: {}", facts["reason"]);
                } else {
                    // Files that a reader may refuse; and motions of a robot whose skeleton is nowhere.
                    assert!(facts["loads"].is_null() || no_skeleton, "{error}");
                }
                assert!(error.to_string().contains(&name), "{error}");
                *refused.entry(have.unwrap_or("another").to_owned()).or_default() += 1;
            }
        }
    }
    println!("{loaded} loaded, refused: {refused:?}");
    assert!(facts.is_empty(), "facts of files that are not there: {:?}", facts.keys().collect::<Vec<_>>());
    assert!(loaded > 170, "{loaded}");
}

#[test]
fn formats_are_told_by_name_or_by_content() {
    use Format::{Bvh, Gltf, MotionText};
    let detect = |name: &str, head: &[u8]| Format::detect(Path::new(name), head);
    for (name, format) in
        [("a.GLB", Gltf), ("b.gltf", Gltf), ("c.vrm", Gltf), ("d.vrma", Gltf), ("e.Bvh", Bvh)]
    {
        assert_eq!(detect(name, b""), Some(format), "{name}");
    }
    for (head, format) in [
        (&b"glTF\x02\0\0\0"[..], Some(Gltf)),
        (b"{\"asset\":{}}", Some(Gltf)),
        (b"\xef\xbb\xbf \r\n hierarchy\nROOT", Some(Bvh)),
        (b"{ \"Loop\": \"wrap\"", Some(MotionText)),
        (b"{\n\t\"Frames\" : [", Some(MotionText)),
        (b"#!/bin/sh", None),
        (b"", None),
    ] {
        assert_eq!(detect("motion.txt", head), format, "{head:?}");
        assert_eq!(detect("motion", head), format, "{head:?}");
    }
    let path = std::env::temp_dir().join(format!("throng-format-{}", std::process::id()));
    std::fs::write(&path, "HIERARCHY ROOT a { OFFSET 0 0 0 } MOTION Frames: 0").expect("written");
    assert_eq!(import::load(&path).expect("loads").character.skeleton.joints.len(), 1);
    std::fs::write(&path, "no motion at all").expect("written");
    let error = import::load(&path).expect_err("unknown");
    assert!(matches!(error.kind, Refusal::UnknownFormat) && error.to_string().contains("throng-format-"));
    std::fs::remove_file(&path).expect("removed");
}
