//! Inputs that are no regular files. A command that waits or goes on for ever is ended after a minute, and fails.
#![cfg(unix)]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use support::*;

const BVH: &str = "HIERARCHY ROOT Hips { OFFSET 0 1 0 CHANNELS 4 Xposition Yposition Zposition Yrotation }
    MOTION\nFrames: 2\nFrame Time: 0.1\n0 1 0 0\n0 1 0 10";

/// Runs the command, but not for ever.
fn ends(arguments: &[&str], stdin: Stdio) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_throng"))
        .args(arguments)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let begin = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().expect("killed");
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().expect("ended")
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo is there").success());
}

#[test]
fn every_command_refuses_pipes_and_devices_and_names_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let (good, out, png, archive, packed) =
        (at("good.bvh"), at("out"), at("a.png"), at("packed.throng"), at("pipe.throng"));
    fs::write(&good, BVH).expect("written");
    let (bvh, bare) = (at("pipe.bvh"), at("pipe"));
    [&bvh, &bare, &packed].into_iter().for_each(|path| pipe(Path::new(path)));
    // So that what would be overwritten is compared with what inputs refer to.
    for name in [&png, &archive] {
        fs::write(name, "").expect("written");
    }
    for (given, word) in [(bvh.as_str(), "a pipe"), (&bare, "a pipe"), ("/dev/zero", "a device")] {
        for arguments in [
            vec!["inspect", given],
            vec!["inspect", &good, "--overrides", given],
            vec!["render", "-o", &png, "--character", given],
            vec!["render", "-o", &png, "--clips", given],
            vec!["pack", given, "-o", &archive],
            vec!["pack", &good, "--onto", given, "-o", &archive],
            vec!["stress", "--character", given],
            vec!["stress", "--character", &good, "--clips", given],
            vec!["stress", "--character", &good, "--contacts", given],
            vec!["check", &good, given],
            vec!["check", &good, "biped", "--contacts", given],
            vec!["check", &good, "biped", "--source-overrides", given],
            vec!["retarget", &good, "--onto", given, "-o", &out],
        ] {
            let output = ends(&arguments, Stdio::null());
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(3), "{arguments:?}: {text}");
            assert!(
                text.contains(&format!("{given}: is {word}, not a regular file")),
                "{arguments:?}: {text}"
            );
            assert!(text.contains("hint: save what comes out of it to a file"), "{arguments:?}: {text}");
        }
        // A source costs only itself.
        for arguments in
            [vec!["check", given, "biped"], vec!["retarget", given, "--onto", "biped", "-o", &out]]
        {
            let output = ends(&arguments, Stdio::null());
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stderr(&output));
            assert!(stderr(&output).contains(&format!("{given}: is {word}")), "{}", stderr(&output));
        }
    }
    for arguments in [
        vec!["inspect", &packed],
        vec!["render", "-o", &png, "--clips", &packed],
        vec!["stress", "--character", &good, "--clips", &packed],
    ] {
        let output = ends(&arguments, Stdio::null());
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("pipe.throng: is a pipe"), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn standard_input_is_read_where_it_is_a_file_and_refused_where_it_is_a_pipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("good.bvh");
    fs::write(&path, BVH).expect("written");
    let piped = ends(&["inspect", "/dev/stdin"], Stdio::piped());
    assert_eq!(piped.status.code(), Some(3), "{}", stderr(&piped));
    assert!(stderr(&piped).contains("/dev/stdin: is a pipe"), "{}", stderr(&piped));
    if cfg!(target_os = "linux") {
        let file = fs::File::open(&path).expect("opens");
        let redirected = ends(&["inspect", "--json", "/dev/stdin"], file.into());
        assert_eq!(document(&redirected)["clips"][0]["name"], "stdin", "{}", stderr(&redirected));
    }
}

#[test]
fn a_pipe_in_the_place_of_a_journal_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let (good, out) = (at("good.bvh"), at("out"));
    fs::write(&good, BVH).expect("written");
    fs::create_dir(&out).expect("made");
    pipe(&folder.path().join("out/retarget.journal"));
    let output = ends(&["retarget", &good, "--onto", "biped", "-o", &out], Stdio::null());
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("retarget.journal: is no regular file"), "{}", stderr(&output));
}
