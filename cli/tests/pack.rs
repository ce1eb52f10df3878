//! `pack`, and what other commands make of its archives.

mod support;

use std::fs;

use support::*;

/// Sets of clips of the test data: character, files.
const SETS: [(&str, &[&str]); 2] = [
    ("gltf/ozz_pab/pab_arnaud.glb", &["gltf/ozz_pab/pab_locomotions.glb"]),
    (
        "gltf/kaykit/manny_med_mod.gltf",
        &["gltf/kaykit/Med_MovementBasic.glb", "gltf/kaykit/Med_MovementAdvanced.glb"],
    ),
];

#[test]
fn clips_of_files_take_less_than_a_tenth_at_a_fifth_of_a_millimetre() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("set.throng");
    let out = out.to_str().unwrap_or_default();
    for (character, files) in SETS {
        let Some(character) = data(character) else { return };
        let paths: Vec<_> = files.iter().filter_map(|file| data(file)).collect();
        let mut arguments =
            vec!["pack", "--json", "-o", out, "--onto", character.to_str().unwrap_or_default()];
        arguments.extend(paths.iter().filter_map(|path| path.to_str()));
        let output = throng(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let report = document(&output);
        assert_eq!(report["packed_bytes"].as_u64(), Some(fs::metadata(out).expect("a file").len()));
        assert!(report["ratio"].as_f64().is_some_and(|ratio| ratio < 0.1), "{report}");
        assert!(report["error_mm"].as_f64().is_some_and(|error| error > 0.0 && error <= 0.2), "{report}");
        let clips = report["clips"].as_array().expect("clips");
        assert_eq!(clips.len() as u64, report["clip_count"].as_u64().unwrap_or(0));
        for clip in clips {
            assert!(clip["file"].as_str().is_some_and(|file| file.contains("gltf")), "{clip}");
            assert!(clip["error_mm"].as_f64().is_some_and(|error| error <= 0.2), "{clip}");
        }
        // The same bytes again.
        let first = fs::read(out).expect("readable");
        assert_eq!(throng(&arguments).status.code(), Some(0));
        assert_eq!(fs::read(out).expect("readable"), first);
    }
}

#[test]
fn packed_clips_are_inspected_drawn_and_walked_with() {
    let Some(character) = data("gltf/ozz_pab/pab_arnaud.glb") else { return };
    let character = character.to_str().unwrap_or_default();
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().unwrap_or_default().to_owned();
    let (archive, other) = (path("a.throng"), path("b.throng"));
    let files = data("gltf/ozz_pab/pab_locomotions.glb").expect("beside its character");
    let packed = throng(&["pack", files.to_str().unwrap_or_default(), "--onto", character, "-o", &archive]);
    assert!(packed.status.success(), "{}", stderr(&packed));
    for word in ["walk", "jog", "run", "whole file, 3 clips", "error mm"] {
        assert!(stdout(&packed).contains(word), "{word} is missing in\n{}", stdout(&packed));
    }
    let inspected = document(&throng(&["inspect", "--json", &archive]));
    assert_eq!(inspected["rig"], "pab_arnaud");
    assert_eq!(inspected["clips"].as_array().map(Vec::len), Some(3));
    assert!(inspected["joints"].as_array().is_some_and(|joints| joints.iter().any(|joint| joint == "hips")));
    assert!(stdout(&throng(&["inspect", &archive])).contains("jog"));

    let built = throng(&["pack", "--builtin", "-o", &other]);
    assert!(built.status.success(), "{}", stderr(&built));
    let picture = |name: &str, clips: &[&str]| {
        draw(directory.path(), name, &[&["--clip", "walk", "--frames", "3"], clips].concat())
    };
    let (loose, bound) = (picture("l.png", &[]), picture("a.png", &["--clips", &other]));
    let pairs = loose.pixels().zip(bound.pixels());
    let differ = pairs.filter(|(a, b)| a.0.iter().zip(b.0).any(|(a, b)| a.abs_diff(b) > 60)).count();
    assert!(subject(&bound).len() > 1000);
    assert!(differ < bound.pixels().len() / 500, "{differ} pixels differ");

    let stress = ["stress", "--json", "--characters", "20", "--seconds", "0.5", "--ground", "flat"];
    let walked = throng(&[&stress[..], &["--character", character, "--clips", &archive]].concat());
    assert_eq!(document(&walked)["library_clips"], 3);
    let refused = throng(&[&stress[..], &["--character", character, "--clips", &other]].concat());
    assert_eq!(refused.status.code(), Some(3));
    assert!(stderr(&refused).contains("another topology"), "{}", stderr(&refused));
    assert!(stderr(&refused).contains("throng pack FILES --onto"), "{}", stderr(&refused));
    // Drawing it raw is no way out: it has no skeleton of its own.
    let refused = throng(&["render", "--character", character, "--clips", &other, "-o", &path("x.png")]);
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    let text = stderr(&refused);
    assert!(text.contains("throng pack FILES --onto") && !text.contains("--raw"), "{text}");
}

#[test]
fn only_archives_are_replaced_and_no_input() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().unwrap_or_default().to_owned();
    let (text, archive, damaged) = (path("notes.txt"), path("a.throng"), path("damaged.throng"));
    fs::write(&text, "mine").expect("a file");
    let refused = throng(&["pack", "--builtin", "1", "-o", &text]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("no clip archive"), "{}", stderr(&refused));
    assert_eq!(fs::read(&text).expect("still there"), b"mine");
    for _ in 0..2 {
        assert!(throng(&["pack", "--builtin", "1", "-o", &archive]).status.success());
    }
    assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 2, "no parts are left");
    // An archive is no input of its own.
    let own = throng(&["pack", &archive, "-o", &archive]);
    assert_eq!(own.status.code(), Some(2), "{}", stderr(&own));
    let again = throng(&["pack", &archive, "-o", &path("c.throng")]);
    assert_eq!(again.status.code(), Some(2), "{}", stderr(&again));
    assert!(stderr(&again).contains("pack the files"), "{}", stderr(&again));

    // It has no skeleton to pose, and is read in one way only.
    for (more, word) in [
        (&["--pose"][..], "render"),
        (&["--pose", "--clip", "idle"], "render"),
        (&["--lenient"], "not of archives"),
        (&["--overrides", &text], "not of archives"),
    ] {
        let refused = throng(&[&["inspect", &archive], more].concat());
        assert_eq!(refused.status.code(), Some(2), "{more:?}: {}", stderr(&refused));
        assert!(stderr(&refused).contains(word), "{}", stderr(&refused));
    }

    let mut bytes = fs::read(&archive).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&damaged, bytes).expect("a file");
    let refused = throng(&["inspect", "--json", &damaged]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(document(&refused)["error"].as_str().is_some_and(|text| text.contains("hash")));
}

#[test]
fn usage_of_pack_is_checked() {
    for (arguments, word) in [
        (&["pack", "-o", "x.throng"][..], "<FILE>"),
        (&["pack", "--builtin"], "--output"),
        (&["pack", "--builtin", "1", "-o", "x.throng", "--tolerance", "0"], "0.001"),
        (&["pack", "--builtin", "1", "-o", "x.throng", "--shell", "NaN"], "0.001"),
    ] {
        let output = throng(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(word), "{arguments:?}: {}", stderr(&output));
    }
}

/// An archive that lacks what was asked for is written only where its user says so, and never without a word.
#[test]
fn what_cannot_be_packed_leaves_no_archive_unless_it_is_to_keep_going() {
    use throng::content::{self, BodyPlan, ClipKind, RigKind};
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().unwrap_or_default().to_owned();
    let body = content::character(RigKind::Biped, &BodyPlan::adult());
    let walk = content::clip(ClipKind::Walk, &body);
    let mut far = content::clip(ClipKind::Idle, &body);
    for value in
        far.tracks.iter_mut().filter_map(|track| track.translation.as_mut()).flat_map(|own| &mut own.values)
    {
        value.y += 1e4;
    }
    let put = |name: &str, clips: &[throng::clip::RawClip]| {
        let bytes = throng::export::glb(&body.character, clips, &Default::default()).expect("writes");
        fs::write(path(name), bytes).expect("written");
    };
    put("walk.glb", std::slice::from_ref(&walk));
    put("both.glb", &[walk, far]);
    put("body.glb", &[]);
    fs::write(path("damaged.glb"), "damaged").expect("written");
    let archive = path("a.throng");
    let pack = |more: &[&str]| throng(&[&["pack", "--json", "-o", &archive], more].concat());

    let empty = pack(&[&path("body.glb")]);
    assert_ne!(empty.status.code(), Some(0));
    assert!(stderr(&empty).contains("there is no clip in what is named"), "{}", stderr(&empty));
    let refused = pack(&[&path("both.glb")]);
    assert_eq!(refused.status.code(), Some(1), "{}", stderr(&refused));
    assert!(!fs::exists(&archive).expect("looked"), "nothing is written");
    let report = document(&refused);
    assert_eq!((&report["written"], report["left_out"].as_array().map(Vec::len)), (&false.into(), Some(1)));
    for word in ["1 files or clips cannot be packed", "was not written", "--keep-going"] {
        assert!(stderr(&refused).contains(word), "{word}: {}", stderr(&refused));
    }
    let kept = pack(&["--keep-going", &path("both.glb"), &path("damaged.glb")]);
    assert_eq!(kept.status.code(), Some(1), "{}", stderr(&kept));
    assert!(
        stderr(&kept).contains("2 files or clips cannot be packed")
            && stderr(&kept).contains("was written with 1 clips")
    );
    let report = document(&kept);
    assert_eq!((&report["written"], &report["clip_count"]), (&true.into(), &1.into()));
    assert_eq!(
        document(&throng(&["inspect", "--json", &archive]))["clips"].as_array().map(Vec::len),
        Some(1)
    );
    fs::remove_file(&archive).expect("removed");

    let damaged = pack(&[&path("walk.glb"), &path("damaged.glb")]);
    assert_eq!(damaged.status.code(), Some(3), "{}", stderr(&damaged));
    // Whose skeleton it would be, nobody knows.
    let first = pack(&["--keep-going", &path("damaged.glb"), &path("walk.glb")]);
    assert_eq!(first.status.code(), Some(3), "{}", stderr(&first));
    // Nearer than clips can be told.
    let fine = pack(&[&path("walk.glb"), "--tolerance", "0.001"]);
    assert_eq!(fine.status.code(), Some(1), "{}", stderr(&fine));
    assert!(stderr(&fine).contains("further off than 0.001 mm") && !fs::exists(&archive).expect("looked"));
    assert!(stderr(&fine).contains("--tolerance"), "{}", stderr(&fine));
    assert_eq!(pack(&[&path("walk.glb")]).status.code(), Some(0));
}

/// What an archive cannot hold costs only itself, as what cannot be bound does: it is no fault of the program.
#[test]
fn a_clip_with_more_contacts_than_an_archive_holds_is_left_out() {
    use throng::content::{self, BodyPlan, ClipKind, RigKind};
    use throng::rig::{Role, Side};
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().unwrap_or_default().to_owned();
    let body = content::character(RigKind::Biped, &BodyPlan::adult());
    let clips = [ClipKind::Walk, ClipKind::Idle].map(|kind| content::clip(kind, &body));
    let bytes = throng::export::glb(&body.character, &clips, &Default::default()).expect("writes");
    fs::write(path("two.glb"), bytes).expect("written");
    let parts = |side: Side| {
        let toe = usize::from(body.roles.joint(Role::Toe(side)).expect("a toe"));
        let joint = &body.character.skeleton.joints[toe].name;
        serde_json::json!({ "ball": { "joint": joint, "offset_local_m": [0, 0, 0] } })
    };
    let contact = serde_json::json!({ "part": "ball", "t0": 0.1, "t1": 0.2 });
    let contacts = serde_json::json!({
        "file": "two.glb",
        "clip": "walk",
        "kind": "travelling",
        "parts": { "left": parts(Side::Left), "right": parts(Side::Right) },
        "feet": { "left": vec![contact; 70_000], "right": [] },
    });
    fs::write(path("two.contacts.json"), contacts.to_string()).expect("written");
    let output = throng(&["pack", "--json", &path("two.glb"), "-o", &path("a.throng"), "--keep-going"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let report = document(&output);
    assert_eq!(report["clip_count"], 1, "{report}");
    assert!(report["left_out"][0].as_str().is_some_and(|text| text.contains("more contacts")), "{report}");
}

/// A horse and a human share a spine: that is no reason to pack one for the other without a word.
#[test]
fn sources_that_have_little_in_common_with_the_character_are_told() {
    let (Some(horse), Some(human)) = (data("gltf/quaternius/Horse.glb"), data("bvh/makehuman_walk1.bvh"))
    else {
        return;
    };
    let directory = tempfile::tempdir().expect("a directory");
    let archive = directory.path().join("a.throng");
    let [horse, human, archive] = [&horse, &human, &archive].map(|path| path.to_str().unwrap_or_default());
    let warned = |files: &[&str]| {
        let output = throng(&[&["pack", "--json", "-o", archive, "--keep-going"], files].concat());
        let warnings = document(&output)["warnings"].to_string();
        (warnings.contains("in common"), stderr(&output))
    };
    for files in [[horse, human], [human, horse]] {
        let (warned, text) = warned(&files);
        assert!(warned, "{files:?}: {text}");
    }
    for files in [[horse, horse], [human, human]] {
        let (warned, text) = warned(&files);
        assert!(!warned, "{files:?}: {text}");
    }
}

#[test]
fn clips_of_one_name_are_told_apart_by_their_files() {
    let Some(file) = data("gltf/ozz_pab/pab_locomotions.glb") else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().unwrap_or_default().to_owned();
    let (copy, archive) = (path("again.glb"), path("a.throng"));
    fs::copy(&file, &copy).expect("a copy");
    let output = throng(&["pack", "--json", file.to_str().unwrap_or_default(), &copy, "-o", &archive]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = document(&output);
    let names: Vec<_> =
        report["clips"].as_array().into_iter().flatten().filter_map(|clip| clip["clip"].as_str()).collect();
    for name in ["again/jog", "again/run", "again/walk", "pab_locomotions/jog", "pab_locomotions/walk"] {
        assert!(names.contains(&name), "{name} is not among {names:?}");
    }
    assert!(report["warnings"].to_string().contains("there are others of its name"));
}
