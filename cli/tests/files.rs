//! Motion files of all formats, from outside.

mod support;

use std::fs;
use std::path::PathBuf;

use support::*;

/// A folder of its own for what a test writes.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("throng-files-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn what_a_bvh_file_leaves_open_can_be_said_on_the_command_line() {
    let folder = folder("bvh");
    let path = folder.join("turning.bvh");
    // Two frames too few and no time between them.
    let text = "HIERARCHY ROOT Hips { OFFSET 0 1 0 CHANNELS 4 Xposition Yposition Zposition Yrotation }
        MOTION\nFrames: 7\nFrame Time: 0\n0 1 0 0\n0 1 0 10\n0 1 0 20\n0 1 0 30\n0 1 100 40";
    fs::write(&path, text).expect("written");
    let file = path.to_str().expect("a plain path");
    let refused = throng(&["inspect", file]);
    assert!(!refused.status.success());
    let told = stderr(&refused);
    assert!(told.contains("turning.bvh") && told.contains("line 4") && told.contains("frame time"), "{told}");
    let refused = throng(&["inspect", file, "--bvh-rate", "10"]);
    assert!(stderr(&refused).contains("announces 7 frames and has 5"), "{}", stderr(&refused));
    let arguments = ["inspect", file, "--bvh-rate", "10", "--lenient", "--bvh-unit", "0.01", "--json"];
    let inspection = document(&throng(&arguments));
    let clip = &inspection["clips"][0];
    assert_eq!(clip["name"], "turning");
    assert!((clip["duration_s"].as_f64().expect("seconds") - 0.4).abs() < 1e-6, "{clip}");
    assert!((clip["root_path_m"].as_f64().expect("metres") - 1.0).abs() < 1e-3, "{clip}");
    let warned = inspection["warnings"].to_string();
    assert!(warned.contains("announces 7 frames and has 5"), "{warned}");
    for (option, value) in [
        ("--bvh-unit", "0"),
        ("--bvh-rate", "-3"),
        ("--bvh-rate", "1e6"),
        ("--bvh-rate", "0.01"),
        ("--bvh-positions", "maybe"),
    ] {
        let output = throng(&["inspect", file, option, value]);
        assert_eq!(output.status.code(), Some(2), "{option} {value}");
    }
    fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn motions_of_every_format_play_on_a_built_in_character() {
    let folder = folder("formats");
    for file in ["bvh/fair1_wave_hello.bvh", "motions/humanoid3d_walk.txt"] {
        let Some(path) = data(file) else { continue };
        let path = path.to_str().expect("a plain path");
        let arguments =
            ["--clips", path, "--at", "0.5", "--camera", "front", "--size", "160x200", "--samples", "1"];
        let picture = draw(&folder, "a.png", &arguments);
        let pixels = subject(&picture);
        let (low, high) = range(pixels.iter().map(|&(_, y)| y));
        // Standing, about as tall as the built-in figure is.
        assert!(high - low > 80, "{file}: {low} to {high}");
        let inspection = document(&throng(&["inspect", path, "--json"]));
        assert_eq!(inspection["clips"].as_array().expect("clips").len(), 1, "{file}");
        assert!(inspection["roles"]["left.shin"].is_string(), "{file}");
    }
    fs::remove_dir_all(&folder).expect("removed");
}
