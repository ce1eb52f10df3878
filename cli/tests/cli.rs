//! The built command from outside: usage, exit codes, reports.

mod support;

use std::fs;

use serde_json::Value;
use support::*;

#[test]
fn help_names_every_command_and_exit_code() {
    let output = throng(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    for word in ["stress", "bench", "inspect", "render", "pack", "Exit codes", "--json"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
    for command in ["stress", "bench", "inspect", "render", "pack"] {
        let output = throng(&[command, "--help"]);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains("Exit codes"), "{command}");
    }
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_is_right() {
    for (arguments, word) in [
        (vec!["rendr"], "render"),
        (vec!["render", "--camara", "front"], "--camera"),
        (vec!["render", "--camera", "underneath"], "three-quarter"),
        (vec!["render", "--size", "big"], "WIDTHxHEIGHT"),
        (vec!["render", "--frames", "0"], "1..=64"),
        (vec!["render", "--frames", "3", "--at", "0.5"], "cannot be used with"),
        (vec!["render", "--at", "NaN"], "seconds"),
        (vec!["render", "--size", "4096x4096", "--frames", "64"], "smaller --size"),
        (vec!["render", "--clip", "no-such-clip"], "--list"),
        (vec!["render", "--crowd", "9", "--clip", "no-such-clip"], "--list"),
        (vec!["stress", "--characters", "0"], "1..="),
        (vec!["stress", "--seconds", "-1"], "seconds"),
        (vec!["stress", "--clips", "walk.glb"], "--character"),
        (vec!["stress", "--character", "a.glb", "--gait", "walk"], "cannot be used with"),
        (vec!["stress", "--gait", "crawl"], "jog"),
        (vec!["stress", "--isa", "mmx"], "portable"),
        (vec!["render", "--raw", "--ground", "flat"], "cannot be used with"),
        (vec!["render", "--from", "here"], "X,Z"),
        (vec!["render", "--turn", "inf"], "degrees"),
        (vec!["bench", "--uniform", "--rigs", "4"], "cannot be used with"),
        (vec!["bench", "--palette", "5x5"], "3x4"),
        (vec!["bench", "--threads", "100000"], "1024"),
        (vec!["stress", "--threads", "100000"], "1024"),
        (vec!["inspect"], "<FILE>"),
    ] {
        let output = throng(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(word), "{arguments:?} does not say {word:?}:\n{}", stderr(&output));
        assert!(output.stdout.is_empty(), "{arguments:?} writes to stdout");
    }
}

#[test]
fn a_missing_file_ends_with_3_and_is_named() {
    for arguments in [
        vec!["inspect", "nowhere/none.glb"],
        vec!["render", "--character", "nowhere/none.glb"],
        vec!["render", "--clips", "nowhere/none.glb"],
        vec!["stress", "--character", "nowhere/none.glb"],
    ] {
        let output = throng(&arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("nowhere/none.glb"), "{}", stderr(&output));
    }
}

#[test]
fn a_failure_is_a_json_document_too() {
    let output = throng(&["inspect", "--json", "nowhere/none.glb"]);
    assert_eq!(output.status.code(), Some(3));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(report["exit_code"], 3);
    assert!(report["error"].as_str().is_some_and(|text| text.contains("none.glb")), "{report}");
    assert!(stderr(&output).contains("none.glb"));
}

#[test]
fn inspect_agrees_with_the_facts() {
    let (Some(facts), Some(file)) = (data("facts.json"), data("gltf/ozz_pab/pab_arnaud.glb")) else {
        return;
    };
    let facts: Value = serde_json::from_slice(&fs::read(facts).expect("readable")).expect("JSON");
    let facts =
        facts.pointer("/files/gltf~1ozz_pab~1pab_arnaud.glb").or(facts.get("gltf/ozz_pab/pab_arnaud.glb"));
    let facts = facts.expect("facts of the file");
    let output = throng(&["inspect", "--json", file.to_str().unwrap_or_default()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let have: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for field in ["joints", "roles", "clips", "lengths_m", "warnings"] {
        assert!(!have[field].is_null(), "no {field}");
    }
    let names: Vec<&str> =
        have["joints"].as_array().into_iter().flatten().filter_map(|j| j["name"].as_str()).collect();
    for joint in facts["joints"].as_array().expect("joints") {
        let name = joint[0].as_str().unwrap_or_default();
        assert!(names.contains(&name), "{name} is missing");
    }
    assert_eq!(have["roles"]["hips"], facts["roles"]["hips"]);
    // The same in words.
    let text = stdout(&throng(&["inspect", file.to_str().unwrap_or_default()]));
    assert!(text.contains("Lefthand") && text.contains("left.hand"), "{text}");
}

#[test]
fn what_is_no_character_file_ends_with_3_in_every_command() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, bytes) in
        [("empty.glb", &b""[..]), ("noise.glb", b"glTF\x02\0\0\0rubbish"), ("text.gltf", b"{ no json")]
    {
        let path = directory.path().join(name);
        fs::write(&path, bytes).expect("a file");
        let path = path.to_str().unwrap_or_default();
        for arguments in
            [vec!["inspect", path], vec!["render", "--character", path], vec!["render", "--clips", path]]
        {
            let output = throng(&arguments);
            assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
            assert!(stderr(&output).contains(name), "{}", stderr(&output));
        }
    }
}

/// A small crowd, so that the command is tried and not the machine.
const SMALL: [&str; 7] = ["stress", "--characters", "64", "--seconds", "1", "--rigs", "4"];

#[test]
fn stress_reports_speed_and_feet() {
    let output = throng(&[&SMALL[..], &["--library", "8", "--ground", "flat", "--json"]].concat());
    let report = document(&output);
    assert_eq!(report["characters"], 64);
    assert_eq!(report["rigs"], 4);
    assert_eq!(report["ground"], "flat");
    let positive = |value: &Value| value.as_f64().is_some_and(|value| value > 0.0);
    assert!(positive(&report["us_per_character"]), "{report}");
    for field in ["p50", "p99", "max"] {
        assert!(positive(&report["frame_us"][field]), "{report}");
    }
    assert!(report["frame_us"]["p50"].as_f64() <= report["frame_us"]["max"].as_f64());
    let tier = &report["tiers"][0];
    assert!(
        tier["name"].is_string() && tier["characters"] == 64 && positive(&tier["us_per_character"]),
        "{tier}"
    );
    for field in [
        "stance_gap_mm_p99",
        "stance_penetration_mm_p99",
        "stance_slide_mm_p99",
        "unreachable_stance_percent",
        "straddling_stance_percent",
    ] {
        assert!(report["quality"][field].as_f64().is_some_and(|value| value >= 0.0), "{field}: {report}");
    }
    // Level ground has no risers, and the exit code is that of the report.
    assert_eq!(report["quality"]["straddling_stance_percent"].as_f64(), Some(0.0));
    let passed = report["failure"].is_null();
    assert_eq!(output.status.code(), Some(if passed { 0 } else { 1 }), "{}", stderr(&output));
}

/// Shares of a handful of stances are judged with room for chance, and that is said.
#[test]
fn stress_says_where_there_are_too_few_stances_for_its_limits() {
    let few = ["stress", "--characters", "6", "--seconds", "2", "--rigs", "2", "--library", "4"];
    let output = throng(&few);
    assert!(stdout(&output).contains("fewer than 1 000 stances"), "{}", stdout(&output));
    let report = document(&throng(&[&few[..], &["--json"]].concat()));
    let limit = |field: &str| report["limits"][field].as_f64().expect("a number");
    assert!(limit("straddling_stance_percent") > 10.0 && limit("unreachable_stance_percent") > 1.0);
    let stages = report["stages"].as_array().expect("stages");
    assert!(stages.iter().all(|stage| stage["ns_per_character"].as_f64() >= Some(0.0)), "{report}");
}

#[test]
fn stress_has_a_row_for_each_stage_and_one_for_what_starts_transitions_beside_the_frame() {
    let output = throng(&[&SMALL[..], &["--library", "8"]].concat());
    let text = stdout(&output);
    let rows: Vec<&str> = text.lines().map(str::trim_start).collect();
    let at = |name: &str| {
        rows.iter().position(|row| row.starts_with(name)).unwrap_or_else(|| panic!("{name}: {text}"))
    };
    let mut names: Vec<&str> = throng::crowd::Stage::ALL.into_iter().map(|stage| stage.name()).collect();
    names.extend(["together", "frame", "beside: transition_to"]);
    let places: Vec<usize> = names.iter().map(|name| at(name)).collect();
    assert!(names.contains(&"inertialise") && places.is_sorted(), "{text}");
    // No bar where nobody watches.
    assert!(!stderr(&output).contains("walking"), "{}", stderr(&output));
}

/// What a frame that is cut short leaves, the next one does: rows would be several times the frame.
#[test]
fn stress_takes_no_stages_apart_where_tiers_take_turns() {
    let text = stdout(&throng(&[&SMALL[..], &["--tiers=1,2,4,8"]].concat()));
    assert!(text.contains("No stages") && !text.contains("together"), "{text}");
    let report = document(&throng(&[&SMALL[..], &["--tiers=1,2,4,8", "--json"]].concat()));
    assert_eq!(report["stages"].as_array().map(Vec::len), Some(0), "{report}");
    let every = document(&throng(&[&SMALL[..], &["--tiers=1,1,1,1", "--json"]].concat()));
    assert_eq!(every["stages"].as_array().map(Vec::len), Some(throng::crowd::Stage::ALL.len()));
}

#[test]
fn stress_gives_no_time_for_changes_that_did_not_come() {
    let text = stdout(&throng(&[&SMALL[..], &["--gait", "walk"]].concat()));
    assert!(text.contains("0 transitions, 0 cross-fades, ") && !text.contains("beside"), "{text}");
}

#[test]
fn feet_that_are_not_judged_are_told_in_words() {
    let output = throng(&[&SMALL[..], &["--judged", "0"]].concat());
    assert!(stdout(&output).contains("feet not judged: --judged is 0"), "{}", stdout(&output));
}

/// A BVH file with more frames than it announces.
const LONG_BVH: &str = "HIERARCHY\nROOT hips\n{\nOFFSET 0 0 0\nCHANNELS 3 Xrotation Yrotation Zrotation\n\
    End Site\n{\nOFFSET 0 1 0\n}\n}\nMOTION\nFrames: 1\nFrame Time: 0.1\n0 0 0\n0 0 9\n";

/// Hints name options that the command has, not what the library calls them.
#[test]
fn what_a_message_offers_is_an_option_of_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().unwrap_or_default().to_owned();
    let (file, archive, picture) = (path("long.bvh"), path("a.throng"), path("a.png"));
    fs::write(&file, LONG_BVH).expect("written");
    for arguments in [
        vec!["inspect", &file],
        vec!["pack", &file, "-o", &archive],
        vec!["render", "--character", &file, "-o", &picture],
        vec!["stress", "--characters", "2", "--seconds", "0.1", "--character", &file],
        vec!["check", &file, "biped"],
    ] {
        let output = throng(&arguments);
        let text = stderr(&output);
        assert!(text.contains("--lenient") && !text.contains("::"), "{arguments:?}: {text}");
        let code = if arguments[0] == "check" { 1 } else { 3 };
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        let lenient = throng(&[&arguments[..], &["--lenient"]].concat());
        assert!(!stderr(&lenient).contains("--lenient"), "{arguments:?}: {}", stderr(&lenient));
    }
    let timeless = path("timeless.bvh");
    let text = LONG_BVH.replace("Frames: 1", "Frames: 2").replace("Frame Time: 0.1", "Frame Time: 0");
    fs::write(&timeless, text).expect("written");
    assert!(stderr(&throng(&["inspect", &timeless])).contains("--bvh-rate gives another one"));
    // A source has no built-in name; what clips go onto has.
    assert!(!stderr(&throng(&["pack", "none.glb", "-o", &archive])).contains("--list"));
    for arguments in
        [&["pack", "--builtin", "--onto", "none", "-o", &archive][..], &["render", "--character", "none"]]
    {
        assert!(stderr(&throng(arguments)).contains("--list"), "{arguments:?}");
    }
    let refused = throng(&["check", &file, "biped", "--picture", &file]);
    assert!(stderr(&refused).contains("another name with --picture"), "{}", stderr(&refused));
}

#[cfg(target_os = "linux")]
#[test]
fn a_report_that_cannot_be_printed_offers_no_option_that_there_is_none_of() {
    let full = fs::File::options().write(true).open("/dev/full").expect("a device");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_throng"))
        .args(["render", "--list"])
        .stdout(full)
        .output()
        .expect("runs");
    assert_eq!(output.status.code(), Some(4));
    assert!(!stderr(&output).contains("-o"), "{}", stderr(&output));
}

/// What has nothing in it that could be used is an input that is no good, not wrong usage, whichever command finds it.
#[test]
fn files_without_clips_end_with_3_in_every_command_that_needs_some() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().unwrap_or_default().to_owned();
    let (file, archive, picture) = (path("still.glb"), path("a.throng"), path("a.png"));
    use throng::content::{self, BodyPlan, RigKind};
    let body = content::character(RigKind::Biped, &BodyPlan::adult());
    let bytes = throng::export::glb(&body.character, &[], &Default::default()).expect("writes");
    fs::write(&file, bytes).expect("written");
    for arguments in [
        vec!["pack", &file, "-o", &archive],
        vec!["render", "--clips", &file, "-o", &picture],
        vec!["stress", "--character", &file, "--characters", "2"],
    ] {
        let output = throng(&arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("clip"), "{}", stderr(&output));
    }
}

#[test]
fn names_that_promise_another_kind_of_file_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().unwrap_or_default().to_owned();
    let (picture, archive, source) = (path("x.jpg"), path("x.zip"), path("long.bvh"));
    fs::write(&source, LONG_BVH).expect("written");
    for (arguments, right) in [
        (vec!["render", "--frames", "1", "-o", &picture], "x.png with -o"),
        (vec!["pack", "--builtin", "1", "-o", &archive], "x.throng with -o"),
        (vec!["check", &source, "biped", "--picture", &picture], "x.png with --picture"),
    ] {
        let output = throng(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(right), "{}", stderr(&output));
    }
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1, "nothing is written");
}

#[test]
fn stress_prints_the_same_in_words() {
    let output = throng(&[&SMALL[..], &["--library", "8", "--ground", "flat"]].concat());
    for word in ["ns/character", "palette", "slide", "64 characters", "4 rigs"] {
        assert!(stdout(&output).contains(word), "{word} is missing in\n{}", stdout(&output));
    }
}

#[test]
fn stress_takes_a_character_and_clips_from_files() {
    let (Some(file), Some(clips)) =
        (data("gltf/ozz_pab/pab_arnaud.glb"), data("gltf/ozz_pab/pab_locomotions.glb"))
    else {
        return;
    };
    let [file, clips] = [&file, &clips].map(|path| path.to_str().unwrap_or_default());
    let arguments = ["stress", "--json", "--characters", "20", "--seconds", "0.5", "--ground", "flat"];
    let output = throng(&[&arguments[..], &["--character", file, "--clips", clips]].concat());
    let report = document(&output);
    assert_eq!(
        (&report["characters"], &report["library_clips"]),
        (&Value::from(20), &Value::from(3)),
        "{report}"
    );
    assert!(report["quality"].is_object() || report["quality_reason"].is_string(), "{report}");
}

#[test]
fn bench_reports_every_figure_and_its_ratio_is_baseline_over_frame() {
    let arguments = ["bench", "--json", "--characters", "64", "--rigs", "4", "--library", "8", "--runs", "1"];
    let output = throng(&arguments);
    let report = document(&output);
    assert_eq!(
        (&report["characters"], &report["rigs"], &report["library_clips"], &report["machine"]["threads"]),
        (&Value::from(64), &Value::from(4), &Value::from(8), &Value::from(1)),
        "{report}"
    );
    assert_eq!((&report["scene"], &report["palette"]), (&Value::from("mix"), &Value::from("3x4")));
    let number = |field: &str| report[field].as_f64().unwrap_or_else(|| panic!("no {field}: {report}"));
    for field in [
        "joints",
        "clips_per_character",
        "library_bytes",
        "frame_ns_per_character",
        "baseline_ns_per_character",
        "palette_bytes_per_character",
        "state_bytes_per_character",
        "store_floor_ns_per_character",
        "occupancy",
        "uniform_block_percent",
    ] {
        assert!(number(field) > 0.0, "{field}: {report}");
    }
    for field in ["spread_percent", "load"] {
        assert!(number(field) >= 0.0, "{field}: {report}");
    }
    let (frame, baseline) = (number("frame_ns_per_character"), number("baseline_ns_per_character"));
    assert!((number("ratio") / (baseline / frame) - 1.0).abs() < 1e-6, "{report}");
    let stages = report["stages"].as_array().expect("stages");
    let names: Vec<_> = stages.iter().filter_map(|stage| stage["name"].as_str()).collect();
    let all: Vec<_> = throng::crowd::Stage::ALL.into_iter().map(|stage| stage.name()).collect();
    assert_eq!(names, all);
    let sum: f64 = stages.iter().filter_map(|stage| stage["ns_per_character"].as_f64()).sum();
    assert!((sum / frame - 1.0).abs() < 1e-6, "stages sum to {sum}, the frame is {frame}");
    // A busy machine may void every run: then the figures are there all the same, and the exit code says so.
    let runs = |field: &str| report[field].as_array().map_or(0, Vec::len);
    let valid = report["valid"].as_bool().expect("valid");
    assert_eq!(runs("runs"), usize::from(valid), "{report}");
    assert!(valid || runs("void_runs") > 0, "{report}");
    assert_eq!(output.status.code(), Some(if valid { 0 } else { 1 }), "{}", stderr(&output));
    // No bar where nobody watches.
    assert_eq!(stderr(&output).is_empty(), valid, "{}", stderr(&output));
}

/// A picture never replaces what an input is made of, nor a file that is no picture.
#[test]
fn render_overwrites_neither_buffers_of_an_input_nor_files_of_another_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    let gltf = folder.path().join("body.gltf");
    let buffer = folder.path().join("body.bin");
    let notes = folder.path().join("notes.txt");
    std::fs::write(&gltf, r#"{"asset":{"version":"2.0"},"buffers":[{"uri":"body.bin","byteLength":4}]}"#)
        .expect("written");
    std::fs::write(&buffer, [1, 2, 3, 4]).expect("written");
    std::fs::write(&notes, "keep me").expect("written");
    for target in [&buffer, &notes] {
        let before = std::fs::read(target).expect("there");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_throng"))
            .args(["render", "--frames", "1", "--character"])
            .arg(&gltf)
            .arg("-o")
            .arg(target)
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(std::fs::read(target).expect("still there"), before);
    }
}
