//! `throng render` from outside: pixels, files, words.

mod support;

use std::fs;

use image::RgbImage;
use serde_json::Value;
use support::*;

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
