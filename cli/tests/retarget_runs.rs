//! `retarget` when it is stopped, started twice, or given what it cannot use.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{data, stderr, stdout, throng};

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

/// Files with clips of many names.
fn sources(folder: &Path, count: usize) {
    use throng::content::{self, BodyPlan, ClipKind, RigKind};
    fs::create_dir_all(folder).expect("made");
    let body = content::character(RigKind::Biped, &BodyPlan::child());
    let clip = content::clip(ClipKind::Walk, &body);
    let bytes = throng::export::glb(&body.character, &[clip], &Default::default()).expect("writes");
    for at in 0..count {
        fs::write(folder.join(format!("clip{at:02}.glb")), &bytes).expect("written");
    }
}

/// Every file of a folder and below, but journals.
fn content(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("named").to_string_lossy().into_owned();
        if path.is_dir() {
            all.extend(content(&path).into_iter().map(|(own, bytes)| (format!("{name}/{own}"), bytes)));
        } else if !name.ends_with(".journal") {
            all.insert(name, fs::read(&path).expect("reads"));
        }
    }
    all
}

fn start(from: &Path, to: &Path, more: &[&str]) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_throng"))
        .args(["retarget", "--json", text(from), "--onto", "deform", "-o", text(to), "--threads", "1"])
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs")
}

fn journal(to: &Path) -> usize {
    let text = fs::read_to_string(to.join("retarget.journal")).unwrap_or_default();
    text.lines().filter(|line| line.contains("\"key\"") && line.ends_with('}')).count()
}

/// A limit of file sizes stands for a disk that is full: what is written is not cut off, and what to do is told.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_cannot_write_says_that_the_same_command_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 2);
    let full = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_throng")])
        .args(["retarget", text(&from), "--onto", "deform", "-o", text(&to)])
        .output()
        .expect("a shell");
    assert_eq!(full.status.code(), Some(4), "{}", stderr(&full));
    assert!(stderr(&full).contains("the same command goes on where it stopped"), "{}", stderr(&full));
    assert!(content(&to).is_empty(), "nothing is half written");
    assert!(start(&from, &to, &[]).wait().expect("ends").success());
    assert_eq!(content(&to).len(), 2);
}

#[test]
fn a_damaged_journal_is_told_and_loses_nobody_elses_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 2);
    assert!(start(&from, &to, &[]).wait().expect("ends").success());
    let before = content(&to);
    let journal = to.join("retarget.journal");
    let good = fs::read(&journal).expect("reads");
    fs::write(&journal, b"{\"a\":1}\n\xff\xfe\n").expect("written");
    let run = start(&from, &to, &[]).wait_with_output().expect("ends");
    assert_eq!(run.status.code(), Some(1), "{}", stderr(&run));
    for word in ["retarget.journal: 2 lines are none of this command's", "was not made by this command"] {
        assert!(stderr(&run).contains(word), "{word}: {}", stderr(&run));
    }
    assert_eq!(content(&to), before);
    // A line that was cut off is what interrupted runs leave.
    fs::write(&journal, &good[..good.len() - 5]).expect("written");
    let run = start(&from, &to, &[]).wait_with_output().expect("ends");
    assert!(run.status.success() && !stderr(&run).contains("none of this command's"), "{}", stderr(&run));
}

/// Devices have no end.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = throng(&["retarget", "/dev/zero", "--onto", "deform", "-o", text(&folder.path().join("to"))]);
    assert!(
        !run.status.success() && stderr(&run).contains("is a device, not a regular file"),
        "{}",
        stderr(&run)
    );
}

#[test]
fn a_run_that_is_killed_leaves_whole_files_and_the_next_one_finishes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to, right) =
        (folder.path().join("from"), folder.path().join("to"), folder.path().join("right"));
    sources(&from, 12);
    assert!(start(&from, &right, &[]).wait().expect("ends").success());
    let right = content(&right);
    assert_eq!(right.len(), 12);
    let mut kills = 0;
    loop {
        let before = journal(&to);
        let mut run = start(&from, &to, &[]);
        let begin = Instant::now();
        while run.try_wait().expect("asked").is_none() {
            if journal(&to) > before + 1 || begin.elapsed() > Duration::from_secs(60) {
                // On Unix this cannot be caught.
                let _ = run.kill();
                kills += 1;
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let done = run.wait().expect("ends");
        for (name, bytes) in content(&to).iter().filter(|(name, _)| !name.contains(".parts/")) {
            assert_eq!(right.get(name), Some(bytes), "{name} is whole after {kills} kills");
        }
        if done.success() {
            break;
        }
        assert!(kills < 30, "it does not come to an end");
    }
    assert_eq!(content(&to), right, "nothing is left over");
    println!("killed {kills} times");
}

/// Ctrl-C: what is done is told, also as JSON, and nothing of it is done again.
#[cfg(unix)]
#[test]
fn an_interrupted_run_says_how_far_it_came_and_the_next_one_goes_on() {
    let folder = tempfile::tempdir().expect("a directory");
    let (from, to) = (folder.path().join("in"), folder.path().join("out"));
    let count = 60;
    sources(&from, count);
    let child = start(&from, &to, &[]);
    let begun = Instant::now();
    while journal(&to) == 0 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("sent");
    assert!(sent.success());
    let output = child.wait_with_output().expect("ends");
    let (done, words) = (journal(&to), stderr(&output));
    assert_eq!(output.status.code(), Some(130), "{words}");
    assert!(
        words.contains(&format!("interrupted: {done} of {count} files are done; the same command goes on")),
        "{words}"
    );
    let report: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(report.as_array().map(Vec::len), Some(done));
    assert!(done < count && content(&to).len() == done, "whole files only");
    let output = start(&from, &to, &[]).wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("{done} of {count} files were done before")));
    assert_eq!(content(&to).len(), count);
}

/// Images beside the target become part of the outputs, so they count as what these are made from.
#[test]
fn an_image_beside_the_target_that_has_changed_makes_outputs_anew() {
    use throng::content::{self, BodyPlan, RigKind};
    let folder = tempfile::tempdir().expect("a directory");
    let (from, to) = (folder.path().join("in"), folder.path().join("out"));
    sources(&from, 2);
    let body = content::character(RigKind::Deform, &BodyPlan::adult());
    let glb = throng::export::glb(&body.character, &[], &Default::default()).expect("writes");
    let length = u32::from_le_bytes(glb[12..16].try_into().expect("four")) as usize;
    let mut document: Value = serde_json::from_slice(&glb[20..20 + length]).expect("JSON");
    document["images"] = serde_json::json!([{ "uri": "skin%20a.png" }]);
    document["buffers"][0]["uri"] = "hero.bin".into();
    let (target, image) = (folder.path().join("hero.gltf"), folder.path().join("skin a.png"));
    fs::write(&target, document.to_string()).expect("written");
    fs::write(folder.path().join("hero.bin"), &glb[20 + length + 8..]).expect("written");
    let run = || {
        let output = throng(&["retarget", text(&from), "--onto", text(&target), "-o", text(&to)]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let holds = |word: &[u8]| content(&to).values().all(|own| own.windows(word.len()).any(|w| w == word));
        (
            stdout(&output).contains("2 of 2 files were done before"),
            holds(b"first image"),
            holds(b"other image"),
        )
    };
    fs::write(&image, "first image").expect("written");
    assert_eq!(run(), (false, true, false));
    assert_eq!(run(), (true, true, false));
    fs::write(&image, "other image").expect("written");
    assert_eq!(run(), (false, false, true));
    fs::remove_file(&image).expect("removed");
    assert_eq!(run(), (false, false, false));
}

#[test]
fn two_runs_on_one_folder_share_it_by_shards_and_never_one_shard() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 8);
    let runs: Vec<_> =
        ["1/2", "2/2"].map(|shard| start(&from, &to, &["--shard", shard])).into_iter().collect();
    for run in runs {
        let output = run.wait_with_output().expect("ends");
        assert!(output.status.success(), "{}", stderr(&output));
    }
    assert_eq!(content(&to).len(), 8);
    // Somebody is at it: the file is held as a run holds it.
    let held = fs::OpenOptions::new().append(true).open(to.join("retarget-1-of-2.journal")).expect("there");
    held.lock().expect("locks");
    let output = start(&from, &to, &["--shard", "1/2"]).wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("another run"), "{}", stderr(&output));
    drop(held);
    let output = start(&from, &to, &["--shard", "1/2"]).wait_with_output().expect("ends");
    assert!(output.status.success());
}

#[test]
fn what_cannot_be_used_is_said_with_its_reason_and_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 1);
    let clip = from.join("clip00.glb");
    let code = |arguments: &[&str]| {
        let output = throng(arguments);
        (output.status.code().expect("a code"), stderr(&output))
    };
    for (arguments, want, word) in [
        (vec!["check", text(&clip)], 2, "DST"),
        (vec!["check", text(&clip), "nobody"], 3, "nobody"),
        (vec!["check", "nothing.bvh", "biped"], 3, "nothing.bvh"),
        (vec!["check", text(&clip), text(&from)], 3, "folder"),
        (vec!["check", text(&clip), "biped", "--source-overrides", "none.json"], 3, "none.json"),
        (vec!["check", text(&clip), "biped", "--contacts", "none.json"], 3, "none.json"),
        (vec!["check", text(&clip), "biped", "--bvh-unit", "0"], 2, "metres"),
        (vec!["retarget", text(&clip), "--onto", "biped"], 2, "--output"),
        (vec!["retarget", text(&clip), "--onto", "biped", "-o", text(&from)], 2, "input"),
        (vec!["retarget", text(&from), "--onto", "biped", "-o", text(&from)], 2, "overwritten"),
        (vec!["retarget", text(&clip), "--onto", "biped", "-o", text(&clip)], 4, "clip00"),
    ] {
        let (have, said) = code(&arguments);
        assert_eq!(have, want, "{arguments:?}: {said}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
    assert!(!to.exists());
}

#[test]
fn files_without_clips_are_passed_over_in_folders_and_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 2);
    let body =
        throng::content::character(throng::content::RigKind::Deform, &throng::content::BodyPlan::adult());
    let mesh = throng::export::glb(&body.character, &[], &Default::default()).expect("writes");
    fs::write(from.join("mesh.glb"), mesh).expect("written");
    fs::write(from.join("notes.txt"), "no motion").expect("written");
    let output = start(&from, &to, &[]).wait_with_output().expect("ends");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("mesh.glb: has no clips"), "{}", stderr(&output));
    assert!(!to.join("mesh.glb").exists());
    let rows: Value = serde_json::from_str(&stdout(&output)).expect("nothing but JSON on stdout");
    assert_eq!(rows.as_array().expect("an array").len(), 2);
    let output = start(&from.join("mesh.glb"), &to, &[]).wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("has no clips"), "{}", stderr(&output));
}

#[test]
fn overrides_beside_a_source_are_used_and_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = folder.path().join("from");
    sources(&from, 1);
    let clip = from.join("clip00.glb");
    fs::write(from.join("clip00.rig.json"), r#"{ "reference": { "left.forearm": { "roll_deg": 30 } } }"#)
        .expect("written");
    let output = throng(&["check", "--json", text(&clip), "biped"]);
    let rows: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert!(rows[0]["overrides"].as_str().expect("told").ends_with("clip00.rig.json"), "{rows}");
    let output = throng(&["inspect", text(&clip)]);
    assert!(stdout(&output).contains("clip00.rig.json"));
    fs::write(from.join("clip00.rig.json"), "{ \"roles\": {\n \"x\": 1 } }").expect("written");
    for arguments in [
        vec!["inspect", text(&clip)],
        vec!["render", "--character", text(&clip), "-o", "never.png"],
        vec!["stress", "--character", text(&clip), "--characters", "1", "--seconds", "0.1"],
        vec!["check", "deform", "biped"],
        vec!["check", text(&clip), text(&clip)],
    ] {
        let output = throng(&arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        if arguments[1] != "deform" {
            assert!(stderr(&output).contains("clip00.rig.json: line 2"), "{}", stderr(&output));
        }
    }
    // Those that are named count instead.
    let good = folder.path().join("good.json");
    fs::write(&good, "{}").expect("written");
    let good = text(&good);
    let output = throng(&["check", text(&clip), "biped", "--source-overrides", good]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(throng(&["inspect", text(&clip), "--overrides", good]).status.success());
}

#[test]
fn ground_speeds_are_told_with_where_they_are_from() {
    let Some(file) = data("gltf/ual/human-base-animations.glb") else { return };
    let Some(contacts) = data("contacts/ual.Walk_Loop.contacts.json") else { return };
    let output = throng(&["check", "--json", text(&file), "biped", "--contacts", text(&contacts)]);
    let rows: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let of = |clip: &str| {
        let row = rows.as_array().expect("an array").iter().find(|row| row["clip"] == clip).expect("there");
        (row["ground_speed_m_s"].as_f64(), row["ground_speed_from"].as_str())
    };
    let (speed, from) = of("Walk_Loop");
    assert!((speed.expect("a speed") - 1.1076).abs() < 1e-3 && from == Some("contacts"));
    let (speed, from) = of("Walk_Formal_Loop");
    assert!((speed.expect("a speed") - 1.068).abs() < 0.1 && from == Some("estimated"));
    assert_eq!(of("Sword_Attack"), (None, None));
}

#[test]
fn damaged_vrm_targets_say_what_is_wrong_with_them() {
    let Some(motion) = data("vrm/canonical_walk.vrma") else { return };
    // What can be used all the same is, with a warning.
    for (name, word, usable) in [
        ("duplicate_humanoid_bone", "human bone", true),
        ("missing_spring_collider_group", "collider group 5", true),
        ("oob_expression_morph", "morph target 7", true),
        ("out_of_range_joints", "joints that the skin does not have", true),
        ("nonfinite_transform", "line 1, column", false),
        ("dangling_texture_index", "no skeleton", false),
    ] {
        let Some(file) = data(&format!("invalid/vrm/{name}.vrm")) else { return };
        let output = throng(&["check", text(&motion), text(&file)]);
        assert!(stderr(&output).contains(word), "{name}: {}", stderr(&output));
        assert!(usable || output.status.code() == Some(3), "{name}: {:?}", output.status.code());
    }
}

/// Exit code and stderr of a run onto a built-in character.
fn run(from: &Path, to: &Path, more: &[&str]) -> (Option<i32>, String) {
    let output = start(from, to, more).wait_with_output().expect("ends");
    (output.status.code(), stderr(&output))
}

#[test]
fn files_that_no_run_has_made_are_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 3);
    fs::create_dir_all(&to).expect("made");
    // A whole GLB, and something else: both are somebody's.
    let (mine, own) = (to.join("clip00.glb"), to.join("clip01.glb"));
    fs::copy(from.join("clip00.glb"), &mine).expect("copied");
    fs::write(&own, "a letter").expect("written");
    let before = (fs::read(&mine).expect("reads"), fs::read(&own).expect("reads"));
    for _ in 0..2 {
        let (code, said) = run(&from, &to, &[]);
        assert_eq!(code, Some(1), "{said}");
        assert_eq!(said.matches("was not made by this command").count(), 2, "{said}");
        assert_eq!((fs::read(&mine).expect("reads"), fs::read(&own).expect("reads")), before);
        assert!(to.join("clip02.glb").exists(), "what is bad costs only itself");
    }
    fs::remove_file(&mine).expect("removed");
    fs::remove_file(&own).expect("removed");
    let (code, said) = run(&from, &to, &[]);
    assert_eq!(code, Some(0), "{said}");
    // Own outputs are redone: with other options, and where somebody has changed them.
    let made = fs::read(&mine).expect("reads");
    fs::write(&mine, [made.as_slice(), b"more"].concat()).expect("written");
    assert_eq!(run(&from, &to, &[]).0, Some(0));
    assert_eq!(fs::read(&mine).expect("reads"), made);
    let (code, said) = run(&from, &to, &["--travel", "hips"]);
    assert_eq!(code, Some(0), "{said}");
    assert_ne!(fs::read(&mine).expect("reads"), made);
}

#[test]
fn an_output_of_another_source_is_not_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two, to) = (folder.path().join("n1"), folder.path().join("n2"), folder.path().join("to"));
    sources(&one, 1);
    sources(&two, 1);
    let (first, second, made) = (one.join("clip00.glb"), two.join("clip00.glb"), to.join("clip00.glb"));
    // The same motion of another body: else it would be done already.
    let body =
        throng::content::character(throng::content::RigKind::Biped, &throng::content::BodyPlan::adult());
    let clip = throng::content::clip(throng::content::ClipKind::Run, &body);
    let other = throng::export::glb(&body.character, &[clip], &Default::default()).expect("writes");
    fs::write(&second, other).expect("written");
    let (code, said) = run(&first, &to, &[]);
    assert_eq!(code, Some(0), "{said}");
    let before = fs::read(&made).expect("reads");
    for _ in 0..2 {
        let (code, said) = run(&second, &to, &[]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&format!("is what {} became", text(&first))), "{said}");
        assert_eq!(fs::read(&made).expect("reads"), before);
    }
    // The same source, spelt otherwise, is no other one.
    let (code, said) = run(&one.join("../n1/clip00.glb"), &to, &["--travel", "none"]);
    assert_eq!(code, Some(0), "{said}");
    assert_ne!(fs::read(&made).expect("reads"), before);
    // Of both together each has its own.
    let all = folder.path().join("all");
    let (code, said) = run(&first, &all, &[text(&second)]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(content(&all).len(), 2);
}

#[test]
fn a_folder_that_is_named_like_the_one_for_half_files_keeps_what_is_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    sources(&from, 1);
    let parts = to.join("retarget.parts");
    fs::create_dir_all(parts.join("below")).expect("made");
    let half = parts.join(format!("{:032x}-ThreadId(2).part", 5));
    for path in [&parts.join("list.txt"), &parts.join("engine.part"), &parts.join("below/more.txt"), &half] {
        fs::write(path, "text").expect("written");
    }
    let (code, said) = run(&from, &to, &[]);
    assert_eq!(code, Some(0), "{said}");
    let left: Vec<String> = content(&parts).into_keys().collect();
    assert_eq!(left, ["below/more.txt", "engine.part", "list.txt"]);
    assert!(to.join("clip00.glb").exists());
}

#[test]
fn a_run_that_is_refused_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = folder.path().join("from");
    sources(&from, 2);
    let list = || {
        let names = fs::read_dir(&from).expect("a folder").map(|entry| entry.expect("an entry").file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let before = list();
    let (code, said) = run(&from.join("clip00.glb"), &from, &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("is an input"), "{said}");
    assert_eq!(list(), before);
}
