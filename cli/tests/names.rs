//! Names that would move the cursor, begin a line or turn the text around, in everything that the command prints.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use support::*;
use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::export::{self, ExportOptions};

/// Clears a screen, begins a line, turns around what follows, begins a control sequence of one byte more; then a word.
const NAME: &str = "\u{1b}[2J\r\n\t\u{202e}\u{2066}\u{9b}1mЖук";
/// The same as it is printed.
const SHOWN: &str = r"\u{1b}[2J\r\n\t\u{202e}\u{2066}\u{9b}1mЖук";

/// A character whose file, joint, skin and clip bear such names.
fn character(folder: &Path) -> PathBuf {
    let mut built = content::character(RigKind::Biped, &BodyPlan::adult());
    let mut clip = content::clip(ClipKind::Walk, &built);
    clip.name = format!("walk{NAME}");
    built.character.name = format!("body{NAME}");
    built.character.skins.iter_mut().for_each(|skin| skin.name = format!("skin{NAME}"));
    let last = built.character.skeleton.joints.last_mut().expect("joints");
    last.name = format!("{}{NAME}", last.name);
    let glb = export::glb(&built.character, &[clip], &ExportOptions::default()).expect("a GLB");
    let path = folder.join(format!("file{NAME}.glb"));
    fs::write(&path, glb).expect("written");
    path
}

fn misleads(c: char) -> bool {
    c.is_control() && c != '\n' || "\u{202e}\u{2066}".contains(c)
}

#[test]
fn names_of_files_joints_and_clips_are_printed_escaped_by_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = character(folder.path());
    let file = path.to_str().expect("a path of text");
    let none = format!("{file}-none.glb");
    let at = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let (archive, out, png) = (at("clips.throng"), at("out"), at("a.png"));
    let stress = |clips| {
        let small = ["--characters", "16", "--seconds", "0.1", "--ground", "flat"];
        [&["stress", "--character", file, "--clips", clips][..], &small].concat()
    };
    for arguments in [
        vec!["inspect", file],
        vec!["inspect", file, "--pose"],
        vec!["inspect", file, "--pose", "--clip", "none"],
        vec!["inspect", &none],
        vec!["inspect", file, file],
        vec!["render", "--character", file, "--clip", "none", "-o", &png],
        vec!["render", "--character", &none, "-o", &png],
        vec!["pack", file, &none, "--keep-going", "-o", &archive],
        vec!["pack", file, "--onto", "biped", "--tolerance", "1e-6", "-o", &archive],
        vec!["pack", file, "-o", &archive],
        vec!["inspect", &archive],
        vec!["pack", &archive, "-o", file],
        vec!["check", file, "biped-child"],
        vec!["check", file, "biped-child", "--target-overrides", &none],
        vec!["retarget", file, "--onto", file, "-o", &out],
        vec!["retarget", &none, "--onto", "biped", "-o", &out],
        stress(none.as_str()),
        stress(archive.as_str()),
    ] {
        let output = throng(&arguments);
        let text = stdout(&output) + &stderr(&output);
        assert!(!text.contains(misleads), "{arguments:?}: {text:?}");
        // No line begins in the middle of a name.
        assert!(!text.lines().any(|line| line.starts_with(r"\t\u{202e}")), "{arguments:?}: {text}");
    }
    for (arguments, parts) in [
        (vec!["inspect", file], vec!["file", "walk"]),
        (vec!["inspect", file, "--pose"], vec!["skin"]),
        (vec!["inspect", &archive], vec!["walk"]),
        (vec!["inspect", &none], vec!["file"]),
    ] {
        let output = throng(&arguments);
        let text = stdout(&output) + &stderr(&output);
        for part in parts {
            assert!(text.contains(&format!("{part}{SHOWN}")), "{arguments:?} does not show {part}: {text}");
        }
    }
}

#[test]
fn names_come_back_from_json_as_they_are_and_mislead_no_terminal_either() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = character(folder.path());
    let output = throng(&["inspect", "--json", path.to_str().expect("a path of text")]);
    let text = stdout(&output);
    assert!(!text.contains(misleads), "{text:?}");
    assert!(text.contains("Жук"), "letters stay readable: {text}");
    assert_eq!(document(&output)["clips"][0]["name"], format!("walk{NAME}"));
}
