//! The built command from outside: exit codes, words, files, pixels.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use image::RgbImage;
use serde_json::Value;

fn throng(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_throng")).args(arguments).output().expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn draw(directory: &Path, name: &str, arguments: &[&str]) -> RgbImage {
    let path = directory.join(name);
    let mut all = vec!["render", "-o", path.to_str().expect("a plain path")];
    all.extend(arguments);
    let output = throng(&all);
    assert!(output.status.success(), "{}", stderr(&output));
    image::open(&path).expect("a PNG").to_rgb8()
}

/// Pixels of the subject: the ground, the sky and the ink are nearly grey, no character is.
fn subject(picture: &RgbImage) -> Vec<(u32, u32)> {
    let vivid = |pixel: &image::Rgb<u8>| {
        let [low, high] = [pixel.0.iter().min(), pixel.0.iter().max()].map(|v| i32::from(*v.unwrap_or(&0)));
        high - low > 40
    };
    picture.enumerate_pixels().filter(|(_, _, pixel)| vivid(pixel)).map(|(x, y, _)| (x, y)).collect()
}

fn range(values: impl Iterator<Item = u32> + Clone) -> (u32, u32) {
    (values.clone().min().expect("not empty"), values.max().expect("not empty"))
}

#[test]
fn help_names_every_command_and_exit_code() {
    let output = throng(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    for word in ["stress", "bench", "inspect", "render", "Exit codes", "--json"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
    for command in ["stress", "bench", "inspect", "render"] {
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
fn a_place_that_cannot_be_written_ends_with_4_and_leaves_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let target = directory.path().join("missing/out.png");
    let output =
        throng(&["render", "--at", "0", "--size", "32x32", "-o", target.to_str().unwrap_or_default()]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    // A directory where the picture should be: the rename fails after the write.
    let blocked = directory.path().join("blocked");
    fs::create_dir(&blocked).expect("a directory");
    fs::write(blocked.join("file"), "kept").expect("a file");
    let output =
        throng(&["render", "--at", "0", "--size", "32x32", "-o", blocked.to_str().unwrap_or_default()]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let left: Vec<_> = fs::read_dir(directory.path()).expect("it exists").collect();
    assert_eq!(left.len(), 1, "only the blocking directory: {left:?}");
    assert_eq!(fs::read_to_string(blocked.join("file")).ok().as_deref(), Some("kept"));
}

#[test]
fn an_input_is_never_overwritten() {
    let directory = tempfile::tempdir().expect("a directory");
    let input = directory.path().join("character.glb");
    fs::write(&input, "precious").expect("a file");
    // The same file by another spelling.
    let sideways = directory.path().join(".").join("character.glb");
    let output = throng(&[
        "render",
        "--character",
        input.to_str().unwrap_or_default(),
        "-o",
        sideways.to_str().unwrap_or_default(),
    ]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("input"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&input).ok().as_deref(), Some("precious"));
}

#[test]
fn the_character_stands_upright_in_the_middle() {
    let directory = tempfile::tempdir().expect("a directory");
    for extra in [vec![], vec!["--bones"]] {
        let mut arguments = vec!["--at", "0.3", "--camera", "front", "--size", "300x300"];
        arguments.extend(extra);
        let picture = draw(directory.path(), "front.png", &arguments);
        let pixels = subject(&picture);
        assert!(pixels.len() > 1500, "only {} pixels of the subject", pixels.len());
        let (left, right) = range(pixels.iter().map(|p| p.0));
        let (top, bottom) = range(pixels.iter().map(|p| p.1));
        let (wide, tall) = (right - left + 1, bottom - top + 1);
        assert!(tall > 190 && tall < 300, "{tall} pixels tall");
        assert!(tall as f32 > 1.4 * wide as f32, "{wide} x {tall} is not upright");
        assert!(left.abs_diff(300 - right) < 40, "not in the middle: {left}..{right}");
        // Shoulders are wider than the crown and than the ankles' height band is full.
        let width_at = |share: f32| {
            let row = top + (share * tall as f32) as u32;
            let row: Vec<u32> = pixels.iter().filter(|p| p.1.abs_diff(row) <= 2).map(|p| p.0).collect();
            row.iter().max().zip(row.iter().min()).map_or(0, |(high, low)| high - low)
        };
        assert!(width_at(0.02) < width_at(0.25), "the head is wider than the shoulders: upside down?");
    }
}

#[test]
fn left_is_left_and_forward_is_forward() {
    let directory = tempfile::tempdir().expect("a directory");
    let warm = |picture: &RgbImage, sign: i32| {
        let pixels = subject(picture);
        let picked: Vec<f32> = pixels
            .iter()
            .filter(|&&(x, y)| {
                let pixel = picture.get_pixel(x, y);
                sign * (i32::from(pixel[0]) - i32::from(pixel[2])) > 30
            })
            .map(|&(x, _)| x as f32)
            .collect();
        picked.iter().sum::<f32>() / picked.len() as f32
    };
    // The left side is drawn in a warm colour, the right one in a cold one.
    let arguments = ["--bones", "--at", "0.3", "--size", "300x300", "--camera"];
    let front = draw(directory.path(), "front.png", &[&arguments[..], &["front"]].concat());
    assert!(warm(&front, 1) > warm(&front, -1) + 5.0, "facing us, its left is on our right");
    let back = draw(directory.path(), "back.png", &[&arguments[..], &["back"]].concat());
    assert!(warm(&back, 1) + 5.0 < warm(&back, -1), "from behind, its left is on our left");
}

#[test]
fn a_sheet_has_a_row_per_camera_and_a_column_per_time() {
    let directory = tempfile::tempdir().expect("a directory");
    let one = draw(directory.path(), "one.png", &["--frames", "1", "--camera", "front", "--size", "80x100"]);
    let sheet =
        draw(directory.path(), "sheet.png", &["--frames", "3", "--camera", "front,side", "--size", "80x100"]);
    assert_eq!(one.width(), 80);
    assert!(sheet.width() >= 240 && sheet.width() < 260, "{}", sheet.width());
    assert!(sheet.height() >= 200 && sheet.height() < 240, "{}", sheet.height());
    // Time passes: neighbouring pictures differ in the subject.
    let cell = |x: u32| image::imageops::crop_imm(&sheet, x, 20, 78, 75).to_image();
    assert_ne!(cell(0), cell(82));
}

#[test]
fn a_crowd_has_many_colours_all_over_the_picture() {
    let directory = tempfile::tempdir().expect("a directory");
    let picture = draw(directory.path(), "crowd.png", &["--crowd", "60", "--size", "320x180"]);
    assert_eq!(picture.dimensions(), (320, 180));
    let pixels = subject(&picture);
    let (left, right) = range(pixels.iter().map(|p| p.0));
    let (top, bottom) = range(pixels.iter().map(|p| p.1));
    assert!(right - left > 160 && bottom - top > 70, "{left}..{right}, {top}..{bottom}");
    let strongest = |&(x, y): &(u32, u32)| {
        let pixel = picture.get_pixel(x, y).0;
        (0..3).max_by_key(|&channel| pixel[channel])
    };
    for channel in 0..3 {
        let share =
            pixels.iter().filter(|p| strongest(p) == Some(channel)).count() as f32 / pixels.len() as f32;
        assert!(share > 0.1, "channel {channel} leads in {share} of the pixels");
    }
}

/// A file of the test data, or `None` with a word about it.
fn data(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("THRONG_DATA").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if !path.exists() {
        eprintln!(
            "SKIPPED: {} does not exist; set THRONG_DATA to the folder of the test data",
            path.display()
        );
        return None;
    }
    Some(path)
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
fn a_character_from_a_file_stands_upright_on_its_mesh() {
    let (Some(file), Some(clips)) =
        (data("gltf/ozz_pab/pab_arnaud.glb"), data("gltf/ozz_pab/pab_locomotions.glb"))
    else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let [file, clips] = [&file, &clips].map(|path| path.to_str().unwrap_or_default());
    let arguments = [
        "--character",
        file,
        "--clips",
        clips,
        "--clip",
        "walk",
        "--at",
        "0.2",
        "--camera",
        "front",
        "--size",
        "300x300",
    ];
    let picture = draw(directory.path(), "a.png", &arguments);
    let pixels = subject(&picture);
    let (left, right) = range(pixels.iter().map(|p| p.0));
    let (top, bottom) = range(pixels.iter().map(|p| p.1));
    assert!(bottom - top > 120 && bottom - top > right - left, "{left}..{right}, {top}..{bottom}");
    assert!(bottom > 200 && bottom < 300, "the feet are at the bottom: {bottom}");
    assert!(pixels.len() > 4000, "a body, not sticks: {}", pixels.len());
}

#[test]
fn raw_clips_of_another_skeleton_are_refused_in_words() {
    let (Some(file), Some(clips)) = (data("gltf/ozz_pab/pab_arnaud.glb"), data("gltf/khronos/Fox.glb"))
    else {
        return;
    };
    let [file, clips] = [&file, &clips].map(|path| path.to_str().unwrap_or_default());
    let output = throng(&["render", "--raw", "--character", file, "--clips", clips]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("retargeted"), "{}", stderr(&output));
}

#[test]
fn a_clip_of_another_rig_moves_the_built_in_body() {
    let Some(clips) = data("gltf/ozz_pab/pab_locomotions.glb") else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = [
        "--clips",
        clips.to_str().unwrap_or_default(),
        "--clip",
        "walk",
        "--frames",
        "2",
        "--size",
        "200x200",
    ];
    let sheet = draw(directory.path(), "a.png", &[&arguments[..], &["--camera", "front"]].concat());
    for left in [0, 202] {
        let cell = image::imageops::crop_imm(&sheet, left, 16, 200, 200).to_image();
        let pixels = subject(&cell);
        let (top, bottom) = range(pixels.iter().map(|p| p.1));
        assert!(pixels.len() > 1500 && bottom - top > 100, "{} pixels, {top}..{bottom}", pixels.len());
    }
}

#[test]
fn the_solved_walk_on_flat_ground_looks_like_the_raw_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["--at", "0.3", "--camera", "side", "--size", "200x200"];
    let solved = subject(&draw(directory.path(), "solved.png", &arguments));
    let raw = subject(&draw(directory.path(), "raw.png", &[&arguments[..], &["--raw"]].concat()));
    let same = solved.iter().filter(|pixel| raw.contains(pixel)).count() as f32;
    let share = same / solved.len().max(raw.len()) as f32;
    assert!(share > 0.85, "only {share} of the silhouette agree");
}

#[test]
fn what_an_import_drops_is_told() {
    let Some(file) = data("gltf/quaternius/Astronaut_draco.glb") else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.png");
    let [file, path] = [&file, &path].map(|path| path.to_str().unwrap_or_default());
    let arguments =
        ["render", "--json", "--character", file, "--clip", "rest", "--raw", "--size", "64x64", "-o", path];
    let output = throng(&arguments);
    let report = document(&output);
    let warnings = report["warnings"].as_array().expect("a list");
    assert!(
        warnings.iter().any(|text| text.as_str().is_some_and(|text| text.contains("compressed"))),
        "{report}"
    );
    assert!(stderr(&output).contains("compressed"), "{}", stderr(&output));
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

#[test]
fn the_same_command_gives_the_same_bytes() {
    let directory = tempfile::tempdir().expect("a directory");
    let arguments = ["--frames", "2", "--size", "64x80"];
    draw(directory.path(), "a.png", &arguments);
    draw(directory.path(), "b.png", &arguments);
    let bytes = |name: &str| fs::read(directory.path().join(name)).expect("written");
    assert_eq!(bytes("a.png"), bytes("b.png"));
}

#[test]
fn render_json_says_what_was_drawn() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("x.png");
    let output = throng(&[
        "render",
        "--json",
        "--frames",
        "2",
        "--size",
        "32x40",
        "--camera",
        "top",
        "-o",
        path.to_str().unwrap_or_default(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(report["times_s"].as_array().map(Vec::len), Some(2));
    assert_eq!(report["cameras"][0], "top");
    assert_eq!(report["output"].as_str(), path.to_str());
    assert!(report["clip"].is_string() && report["character"].is_string());
    assert!(output.stderr.is_empty(), "no bar where there is no terminal: {}", stderr(&output));
}

#[test]
fn the_list_names_characters_and_clips() {
    let output = throng(&["render", "--list", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let list: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let names = |field: &str| list[field].as_array().map_or(0, Vec::len);
    assert!(names("characters") >= 1 && names("clips") >= 1, "{list}");
    assert!(stdout(&throng(&["render", "--list"])).contains("walk"));
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
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
