//! `retarget` and `check`, as a user types them.

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::throng;

/// GLB files of built-in bodies with clips, as sources.
fn sources(folder: &Path, count: usize) {
    use throng::content::{self, BodyPlan, ClipKind, RigKind};
    fs::create_dir_all(folder.join("deep")).expect("made");
    for at in 0..count {
        let body = content::character(RigKind::ALL[at % 4], &BodyPlan::child());
        let clips = [content::clip(ClipKind::Walk, &body), content::clip(ClipKind::Idle, &body)];
        let bytes = throng::export::glb(&body.character, &clips, &Default::default()).expect("writes");
        let name = if at == 0 { "deep/zero.glb".to_owned() } else { format!("clip{at}.glb") };
        fs::write(folder.join(name), bytes).expect("written");
    }
}

fn retarget(from: &Path, to: &Path, more: &[&str]) -> (i32, Value, String) {
    let mut arguments = vec!["retarget", "--json", "--onto", "biped"];
    let (from, to) = (from.to_str().expect("text"), to.to_str().expect("text"));
    arguments.extend([from, "-o", to]);
    arguments.extend(more);
    let output = throng(&arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), serde_json::from_str(&text).unwrap_or(Value::Null), errors)
}

/// Clips of a report, and files that could not be used.
fn rows(report: &Value) -> (Vec<&Value>, Vec<&Value>) {
    report.as_array().expect("an array").iter().partition(|row| row["verdict"] != "failed")
}

/// Files that an earlier run has done.
fn earlier(report: &Value) -> usize {
    let done = report.as_array().expect("an array").iter().filter(|row| row["earlier"] == true);
    done.map(|row| row["file"].as_str().expect("text")).collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn a_folder_is_retargeted_once_and_a_bad_file_costs_only_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 5);
    fs::write(from.join("broken.glb"), b"glTF\x02\0\0\0nothing").expect("written");
    let (code, report, errors) = retarget(&from, &to, &[]);
    assert_eq!(code, 1, "{errors}");
    let (clips, failed) = rows(&report);
    assert_eq!((clips.len(), failed.len()), (10, 1));
    assert!(failed[0]["file"].as_str().expect("text").ends_with("broken.glb"));
    assert!(failed[0]["reasons"][0].as_str().expect("text").contains("GLB"), "{failed:?}");
    for clip in clips {
        assert_ne!(clip["verdict"], "bad", "{clip}");
        assert!(clip["limb_direction_deg"]["max"].as_f64().expect("a number") < 5.0);
        assert!(clip["after_contacts"]["limb_direction_deg"]["mean"].as_f64().expect("a number") < 5.0);
        assert!(clip["stance_slide_mm_p99"].is_null(), "a GLB says nothing of contacts");
    }
    for name in ["deep/zero.glb", "clip1.glb", "clip4.glb"] {
        let back = throng::import::load(to.join(name)).expect("reads back");
        assert_eq!(back.clips.len(), 2, "{name}");
        assert!(!back.character.meshes.is_empty(), "{name} keeps the mesh");
    }
    // Again: nothing is made anew but what failed.
    let (_, report, _) = retarget(&from, &to, &[]);
    assert_eq!(earlier(&report), 5);
    assert_eq!(rows(&report).0.len(), 10, "and still told");
    // What has changed, or is gone, is.
    fs::remove_file(to.join("clip1.glb")).expect("removed");
    fs::copy(from.join("clip3.glb"), from.join("clip2.glb")).expect("copied");
    fs::remove_file(from.join("broken.glb")).expect("removed");
    let (code, report, _) = retarget(&from, &to, &[]);
    assert_eq!((code, earlier(&report)), (0, 3));
    assert!(to.join("clip1.glb").exists());
    // So is an output that is cut off, or whose content is another.
    let cut = fs::read(to.join("clip1.glb")).expect("there");
    fs::write(to.join("clip1.glb"), &cut[..cut.len() / 2]).expect("written");
    let mut other = fs::read(to.join("clip3.glb")).expect("there");
    *other.last_mut().expect("not empty") ^= 1;
    fs::write(to.join("clip3.glb"), other).expect("written");
    let (code, report, _) = retarget(&from, &to, &[]);
    assert_eq!((code, earlier(&report)), (0, 3));
    assert_eq!(fs::read(to.join("clip1.glb")).expect("there"), cut, "and is the same again");
    // What it goes onto may change, too.
    let overrides = folder.path().join("target.json");
    fs::write(&overrides, r#"{ "reference": { "left.upper_arm": { "roll_deg": 5 } } }"#).expect("written");
    let given = ["--target-overrides", overrides.to_str().expect("text")];
    let (_, report, errors) = retarget(&from, &to, &given);
    assert_eq!(earlier(&report), 0);
    assert!(errors.contains("target.json"), "{errors}");
}

/// A built-in character is a target as any file: its own stance, and a neck of more joints than the source's, are no fault
/// of a clip.
#[test]
fn what_comes_over_as_it_was_is_good_on_every_built_in_character() {
    use throng::content::{self, BodyPlan, ClipKind, RigKind};
    let folder = tempfile::tempdir().expect("a folder");
    let body = content::character(RigKind::Aligned, &BodyPlan::adult());
    let clips = [content::clip(ClipKind::Walk, &body), content::clip(ClipKind::Idle, &body)];
    let bytes = throng::export::glb(&body.character, &clips, &Default::default()).expect("writes");
    let path = folder.path().join("walk.glb");
    fs::write(&path, bytes).expect("written");
    for kind in RigKind::ALL {
        let output = throng(&["check", "--json", path.to_str().expect("text"), kind.name()]);
        let report = support::document(&output);
        let (clips, failed) = rows(&report);
        assert_eq!((clips.len(), failed.len()), (2, 0), "{report}");
        for clip in clips {
            let mean = clip["limb_direction_deg"]["mean"].as_f64().expect("a number");
            assert!(mean < 0.1, "{}: {mean} degrees", kind.name());
            assert_eq!(clip["roles_missing"], serde_json::json!([]), "{}", kind.name());
            assert_eq!(clip["verdict"], "good", "{}: {}", kind.name(), clip["reasons"]);
        }
    }
}

#[test]
fn a_run_that_was_cut_off_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 4);
    let (code, ..) = retarget(&from, &to, &[]);
    assert_eq!(code, 0);
    // As if it had been killed in the middle of the line of its third file, with all files in their places: each was
    // claimed before it was written.
    let journal = to.join("retarget.journal");
    let text = fs::read_to_string(&journal).expect("a journal");
    let (claims, lines): (Vec<&str>, Vec<&str>) =
        text.lines().filter(|line| !line.is_empty()).partition(|line| line.starts_with("{\"claims\""));
    assert_eq!((claims.len(), lines.len()), (4, 4));
    let half = &lines[2][..lines[2].len() / 2];
    let cut = format!("{}\n{}\n{}\n{half}", claims.join("\n"), lines[0], lines[1]);
    fs::write(&journal, cut).expect("written");
    let (code, report, _) = retarget(&from, &to, &[]);
    assert_eq!((code, earlier(&report)), (0, 2));
    let (_, report, _) = retarget(&from, &to, &[]);
    assert_eq!(earlier(&report), 4);
}

#[test]
fn shards_are_all_of_it_together_and_know_of_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 5);
    let mut count = 0;
    for shard in ["1/3", "2/3", "3/3"] {
        let (code, report, errors) = retarget(&from, &to, &["--shard", shard]);
        assert_eq!(code, 0, "{errors}");
        count += rows(&report).0.len();
    }
    assert_eq!(count, 10);
    let (_, report, _) = retarget(&from, &to, &[]);
    assert_eq!(earlier(&report), 5);
    let (code, ..) = retarget(&from, &to, &["--shard", "4/3"]);
    assert_eq!(code, 2);
}

#[test]
fn inputs_are_never_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    sources(folder.path(), 2);
    let before = fs::read(folder.path().join("clip1.glb")).expect("there");
    let (code, _, errors) = retarget(folder.path(), folder.path(), &[]);
    assert_ne!(code, 0, "{errors}");
    assert!(errors.contains("will not be overwritten"), "{errors}");
    assert_eq!(fs::read(folder.path().join("clip1.glb")).expect("there"), before);
}

#[test]
fn bvh_comes_out_and_check_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 2);
    let (code, _, errors) = retarget(&from, &to, &["--format", "bvh", "--travel", "hips"]);
    assert_eq!(code, 0, "{errors}");
    let clips: Vec<_> = fs::read_dir(to.join("clip1")).expect("a folder of clips").collect();
    assert_eq!(clips.len(), 2);
    for clip in clips {
        let back = throng::import::load(clip.expect("an entry").path()).expect("reads back");
        assert_eq!(back.clips.len(), 1);
    }
    let output = throng(&["check", "--json", from.to_str().expect("text"), "deform-tall"]);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(rows(&report).0.len(), 4);
    assert_eq!(report[0]["outputs"], Value::Array(Vec::new()));
    let output = throng(&["check", "no/such/folder", "biped"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn check_draws_source_and_target_side_by_side() {
    let folder = tempfile::tempdir().expect("a folder");
    sources(folder.path(), 2);
    let picture = folder.path().join("worst.png");
    let (from, to) = (folder.path().join("clip1.glb"), picture.to_str().expect("text").to_owned());
    let output = throng(&["check", from.to_str().expect("text"), "biped", "--picture", &to]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let drawn = image::open(&picture).expect("a PNG").to_rgb8();
    assert!(drawn.width() > 8 * 190 && drawn.height() > 500);
    assert!(!support::subject(&drawn).is_empty());
    let output =
        throng(&["check", from.to_str().expect("text"), "biped", "--picture", from.to_str().expect("text")]);
    assert_eq!(output.status.code(), Some(2), "an input is no place for a picture");
}

#[test]
fn inspect_takes_a_pose_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    sources(folder.path(), 2);
    let file = folder.path().join("clip1.glb");
    let file = file.to_str().expect("text");
    let pose = |more: &[&str]| {
        let mut arguments = vec!["inspect", "--json", "--pose", file];
        arguments.extend(more);
        let output = throng(&arguments);
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap_or(Value::Null))
    };
    let (code, rest) = pose(&[]);
    assert_eq!(code, Some(0));
    let number = |value: &Value| value.as_f64().expect("a number");
    for joint in rest["joints"].as_array().expect("joints") {
        // At rest the local pose is the file's, and skinning does nothing where bind is rest.
        assert_eq!(joint["rest"], joint["local"], "{joint}");
        for (_, matrix) in joint["skin"].as_array().expect("skins").iter().map(|skin| (&skin[0], &skin[1])) {
            for (at, value) in matrix.as_array().expect("16").iter().enumerate() {
                let right = if at % 5 == 0 { 1.0 } else { 0.0 };
                assert!((number(value) - right).abs() < 1e-4, "{joint}");
            }
        }
    }
    let (_, walk) = pose(&["--clip", "walk", "--time", "0.3"]);
    let moved =
        walk["joints"].as_array().expect("joints").iter().filter(|joint| joint["rest"] != joint["local"]);
    assert!(moved.count() > 10);
    assert_eq!(pose(&["--clip", "no such clip"]).0, Some(2));
    assert_eq!(pose(&["--joint", "no such joint"]).0, Some(2));
}
