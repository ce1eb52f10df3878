//! What is no regular file: pipes that nobody writes to, devices without an end, sockets, folders. A reader that waits or goes on
//! for ever makes these tests do so, too.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use throng::content::{self, BodyPlan, RigKind};
use throng::import::{self, Beside, ImportError, Refusal, Warning};

/// A folder of its own for one test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("throng-no-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("made");
        Self(folder)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().expect("mkfifo is there");
    assert!(made.success(), "{}", path.display());
}

fn what(error: &ImportError, file: &Path) -> &'static str {
    assert_eq!(error.file, file);
    match error.kind {
        Refusal::NotAFile { what } => what,
        ref other => panic!("{}: {other}", file.display()),
    }
}

/// Links to it under names of all formats, and one that tells nothing.
fn links(folder: &Folder, target: &Path) -> [PathBuf; 4] {
    let kind = target.file_name().expect("a name").to_string_lossy().into_owned();
    ["a.glb", "a.bvh", "a.txt", "a"].map(|name| {
        let link = folder.at(&format!("{kind}-{name}"));
        symlink(target, &link).expect("a link");
        link
    })
}

#[test]
fn pipes_devices_sockets_and_folders_are_refused_under_every_name_without_waiting() {
    let folder = Folder::new("kinds");
    let at = |name: &str| folder.at(name);
    pipe(&at("pipe"));
    let _socket = UnixListener::bind(at("socket")).expect("a socket");
    fs::create_dir(at("folder")).expect("a folder");
    let zero = Path::new("/dev/zero").to_owned();
    for (target, word) in
        [(at("pipe"), "a pipe"), (at("socket"), "a socket"), (at("folder"), "a folder"), (zero, "a device")]
    {
        for file in links(&folder, &target) {
            let refused = import::load(&file).expect_err("no file");
            assert_eq!(what(&refused, &file), word);
            let text = refused.to_string();
            assert!(text.ends_with(&format!("is {word}, not a regular file")), "{text}");
            assert_eq!(what(&import::gltf::load(&file).expect_err("no file"), &file), word);
            assert_eq!(what(&import::bvh::load(&file).expect_err("no file"), &file), word);
            assert_eq!(what(&import::motion_text::load(&file).expect_err("no file"), &file), word);
            let beside = [Beside::new().with_contacts(&file), Beside::new().with_overrides(&file)];
            for refused in beside {
                assert_eq!(what(&refused.expect_err("no file"), &file), word);
            }
        }
    }
}

#[test]
fn pipes_beside_a_file_are_refused_or_told_as_other_files_beside_it_are() {
    let folder = Folder::new("beside");
    let at = |name: &str| folder.at(name);
    let body = content::character(RigKind::Biped, &BodyPlan::adult());
    let glb = throng::export::glb(&body.character, &[], &Default::default()).expect("writes");
    fs::write(at("body.glb"), glb).expect("written");
    pipe(&at("other.contacts.json"));
    let imported = import::load(at("body.glb")).expect("loads");
    let told = |warning: &Warning| matches!(warning, Warning::ContactsUnreadable { reason, .. } if reason.contains("is a pipe"));
    assert!(imported.report.warnings.iter().any(told), "{:?}", imported.report.warnings);
    for name in ["body.contacts.json", "body.rig.json"] {
        pipe(&at(name));
        assert_eq!(what(&import::load(at("body.glb")).expect_err("a pipe"), &at(name)), "a pipe");
        fs::remove_file(at(name)).expect("removed");
    }
    pipe(&at("body.bin"));
    let document = r#"{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"name":"a"}],
        "buffers":[{"uri":"body.bin","byteLength":16}],
        "bufferViews":[{"buffer":0,"byteLength":4},{"buffer":0,"byteOffset":4,"byteLength":12}],
        "accessors":[{"bufferView":0,"componentType":5126,"count":1,"type":"SCALAR","min":[0],"max":[0]},
            {"bufferView":1,"componentType":5126,"count":1,"type":"VEC3"}],
        "animations":[{"samplers":[{"input":0,"output":1}],
            "channels":[{"sampler":0,"target":{"node":0,"path":"translation"}}]}]}"#;
    fs::write(at("body.gltf"), document).expect("written");
    let refused = import::load(at("body.gltf")).expect_err("a pipe").to_string();
    assert!(refused.contains(r#""body.bin" is a pipe, not a regular file"#), "{refused}");
}

#[test]
fn links_to_files_are_read() {
    let folder = Folder::new("links");
    let (file, link) = (folder.at("a"), folder.at("b"));
    fs::write(&file, b"some bytes").expect("written");
    symlink(&file, &link).expect("a link");
    assert_eq!(import::read_file(&link).expect("read"), b"some bytes");
    let none = import::read_file(folder.at("none")).expect_err("is not there");
    assert!(matches!(none, Refusal::Io(_)), "{none}");
}
