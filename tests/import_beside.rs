//! Files beside a file: contacts by name or by what they say, overrides of roles and reference pose.

use std::fs;
use std::path::Path;

use glam::DVec3;
use throng::clip::RootSource;
use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::import::{self, Beside, LoadOptions, Refusal, Warning};
use throng::rig::{OverrideError, ReferencePose, Role, Side};

#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod import_data;

/// A folder of its own for one test.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("throng-beside-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("made");
        Self(folder)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> std::path::PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).expect("written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn character() -> Vec<u8> {
    let body = content::character(RigKind::Biped, &BodyPlan::adult());
    let clips = [content::clip(ClipKind::Walk, &body), content::clip(ClipKind::Idle, &body)];
    throng::export::glb(&body.character, &clips, &Default::default()).expect("writes")
}

fn contacts(file: &str, clip: &str, kind: &str, speed: f32) -> String {
    let foot = r#"[{ "part": "ball", "t0": 0.1, "t1": 0.4 }]"#;
    format!(
        r#"{{ "file": "{file}", "clip": "{clip}", "kind": "{kind}", "unit_scale": 1.0, "root_speed_m_s": {speed},
            "parts": {{ "left": {{}}, "right": {{}} }}, "feet": {{ "left": {foot}, "right": {foot} }} }}"#
    )
}

fn marked(path: &Path) -> Vec<bool> {
    let imported = import::load(path).expect("loads");
    imported.clips.iter().map(|clip| clip.contacts.is_some()).collect()
}

#[test]
fn contacts_apply_by_the_files_name_or_by_the_one_that_they_tell() {
    let folder = Folder::new("contacts");
    let (hero, other) = (folder.put("hero.glb", character()), folder.put("other.glb", character()));
    assert_eq!(marked(&hero), [false, false]);
    // Another name, and a list of clips of several files.
    let walk = contacts("motions/hero.glb", "walk", "travelling", 1.2);
    let idle = contacts("elsewhere\\\\other.glb", "idle", "stationary", 0.0);
    folder.put("pack.walks.contacts.json", format!("[{walk}, {idle}]"));
    assert_eq!((marked(&hero), marked(&other)), (vec![true, false], vec![false, true]));
    // Its own counts before all that name it.
    folder.put("hero.contacts.json", contacts("whatever.glb", "idle", "stationary", 0.0));
    assert_eq!((marked(&hero), marked(&other)), (vec![false, true], vec![false, true]));
    // One of a clip that is not there is a slip.
    let path = folder.put("hero.contacts.json", contacts("hero.glb", "swim", "travelling", 1.0));
    let refused = import::load(&hero).expect_err("no such clip");
    assert_eq!(refused.file, path);
    assert!(matches!(refused.kind, Refusal::Sidecar(_)), "{refused}");
    // One that cannot be read is told of, and whose it is nobody knows.
    folder.put("strange.contacts.json", "{ }");
    let other = import::load(&other).expect("loads");
    assert!(matches!(&other.report.warnings[..], [.., Warning::ContactsUnreadable { .. }]));
    assert!(other.clips[1].contacts.is_some());
}

#[test]
fn contacts_from_elsewhere_come_last_and_folders_are_read_once() {
    let folder = Folder::new("elsewhere");
    let hero = folder.put("hero.glb", character());
    let given = folder.put("given.json", contacts("hero.glb", "walk", "in_place", 1.5));
    folder.put("hero.contacts.json", contacts("hero.glb", "walk", "in_place", 1.25));
    let root = |beside: &Beside| {
        let imported = beside.load(&hero, &LoadOptions::default()).expect("loads");
        assert!(!imported.report.warnings.iter().any(|own| matches!(own, Warning::SpeedEstimated { .. })));
        imported.clips[0].root
    };
    assert_eq!(root(&Beside::new()), RootSource::InPlace { speed: 1.25 });
    let beside = Beside::new().with_contacts(&given).expect("reads");
    assert_eq!(root(&beside), RootSource::InPlace { speed: 1.5 });
    // What was looked through is known: a file that comes later is not met by the same object.
    let other = folder.put("other.glb", character());
    let seen = beside.of(&other).expect("reads").contacts.len();
    folder.put("late.contacts.json", contacts("other.glb", "walk", "travelling", 1.0));
    assert_eq!((seen, beside.of(&other).expect("reads").contacts.len()), (0, 0));
    assert_eq!(Beside::new().of(&other).expect("reads").contacts.len(), 1);
}

/// Contacts of the built-in walk as a file, so many seconds late.
fn walks(late: f32) -> String {
    let walk = content::clip(ClipKind::Walk, &content::character(RigKind::Biped, &BodyPlan::adult()));
    let [left, right] = Side::BOTH.map(|side| {
        let own = walk.contacts.iter().flat_map(|contacts| &contacts.feet).find(|foot| foot.side == side);
        let foot = own.expect("contacts");
        let parts = [("heel", &foot.heel), ("ball", &foot.ball)];
        let contacts = parts.into_iter().flat_map(|(part, intervals)| {
            intervals.iter().map(move |interval| {
                let [t0, t1] = [interval.start, interval.end].map(|t| (t + late).rem_euclid(walk.duration));
                format!(r#"{{ "part": "{part}", "t0": {t0}, "t1": {t1}, "wraps": {} }}"#, t1 < t0)
            })
        });
        contacts.collect::<Vec<_>>().join(", ")
    });
    format!(
        r#"{{ "file": "hero.glb", "clip": "walk", "kind": "travelling", "unit_scale": 1.0,
            "parts": {{ "left": {{}}, "right": {{}} }}, "feet": {{ "left": [{left}], "right": [{right}] }} }}"#
    )
}

#[test]
fn contacts_that_a_clip_does_not_bear_out_are_told_with_foot_and_time() {
    let folder = Folder::new("doubt");
    let hero = folder.put("hero.glb", character());
    let doubts = |contacts: &[String]| -> Vec<Warning> {
        folder.put("hero.contacts.json", format!("[{}]", contacts.join(", ")));
        let doubtful =
            |own: &Warning| matches!(own, Warning::ContactInAir { .. } | Warning::ContactMoves { .. });
        import::load(&hero).expect("loads").report.warnings.into_iter().filter(doubtful).collect()
    };
    assert_eq!(doubts(&[walks(0.0)]), []);
    // While the other foot stands, each is swung forward.
    let late = doubts(&[walks(0.5)]);
    for side in Side::BOTH {
        let in_air = |own: &&Warning| matches!(own, Warning::ContactInAir { side: own, .. } if *own == side);
        let Some(Warning::ContactInAir { height, time, .. }) = late.iter().find(in_air) else {
            panic!("{late:?}")
        };
        assert!((0.05..0.4).contains(height) && (0.0..1.2).contains(time), "{late:?}");
        let moves = |own: &&Warning| matches!(own, Warning::ContactMoves { side: own, .. } if *own == side);
        let Some(Warning::ContactMoves { speed, .. }) = late.iter().find(moves) else { panic!("{late:?}") };
        assert!((2.0..6.0).contains(speed), "{late:?}");
    }
    assert!(late[0].to_string().contains("contacts of clip \"walk\" count the left "), "{}", late[0]);
    // Later contacts of the same clip take the place of earlier ones.
    assert_eq!(doubts(&[walks(0.5), walks(0.0)]), []);
}

/// Of a folder of many motions with contacts each, a motion without costs no more than those that are nobody's.
#[test]
fn contacts_of_a_motion_are_not_read_for_others() {
    let folder = Folder::new("others");
    let (own, other) = (folder.put("own.glb", character()), folder.put("other.glb", character()));
    folder.put("own.contacts.json", "damaged");
    folder.put("nobody.contacts.json", contacts("other.glb", "walk", "travelling", 1.0));
    let refused = import::load(&own).expect_err("damaged");
    assert!(refused.file.ends_with("own.contacts.json"), "{refused}");
    assert_eq!(marked(&other), [true, false]);
    let warnings = import::load(&other).expect("loads").report.warnings;
    assert!(!warnings.iter().any(|own| matches!(own, Warning::ContactsUnreadable { .. })), "{warnings:?}");
}

#[test]
fn folders_and_dead_links_in_the_place_of_files_beside_are_told() {
    let folder = Folder::new("folders");
    let path = folder.put("body.glb", character());
    for name in ["body.rig.json", "body.contacts.json"] {
        let beside = folder.0.join(name);
        fs::create_dir(&beside).expect("made");
        let refused = import::load(&path).expect_err("a folder");
        let folder = matches!(refused.kind, Refusal::NotAFile { what: "a folder" });
        assert!(refused.file == beside && folder, "{refused:?}");
        fs::remove_dir(&beside).expect("removed");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("nowhere", &beside).expect("linked");
            let refused = import::load(&path).expect_err("a dead link");
            assert!(refused.file == beside, "{refused:?}");
            fs::remove_file(&beside).expect("removed");
        }
    }
    import::load(&path).expect("nothing is beside it now");
}

#[test]
fn lists_where_objects_belong_are_refused_with_their_place() {
    let folder = Folder::new("lists");
    let path = folder.put("body.glb", character());
    for (text, column) in [
        ("[]", 1),
        (r#"[{}, {}, []]"#, 1),
        (r#"{ "reference": { "left.hand": [null, 20.0] } }"#, 32),
        (r#"{ "grips": [["walk", "right", 0.0, 1.0, 1.0]] }"#, 12),
    ] {
        folder.put("body.rig.json", text);
        let refused = import::load(&path).expect_err(text);
        let Refusal::Overrides(OverrideError::Json { line: 1, column: at, reason }) = &refused.kind else {
            panic!("{refused:?}")
        };
        assert!(at.abs_diff(column) <= 2 && reason.contains("an object"), "{text}: {refused}");
    }
    fs::remove_file(folder.0.join("body.rig.json")).expect("removed");
    folder.put("body.contacts.json", "[[]]");
    let refused = import::load(&path).expect_err("a list in a list");
    assert!(refused.to_string().contains("an object"), "{refused}");
}

#[test]
fn contacts_that_make_no_sense_are_refused_with_their_file_and_place() {
    let folder = Folder::new("senseless");
    let hero = folder.put("hero.glb", character());
    let right = contacts("hero.glb", "walk", "in_place", 1.5);
    let second = r#"{ "part": "heel", "t0": 0.5, "t1": 0.2, "wraps": true }"#;
    let right = right.replacen("0.4 }", &format!("0.4 }}, {second}"), 1);
    let path = folder.put("hero.contacts.json", &right);
    let imported = import::load(&hero).expect("a contact over the end of a loop is one");
    let heel = imported.clips[0].contacts.as_ref().expect("some").feet[0].heel[0];
    assert!(heel.end < heel.start, "{heel:?}");
    for (from, to, words) in [
        (r#", "wraps": true"#, "", ["feet.left[1]", "wraps"]),
        (r#""t0": 0.1"#, r#""t0": 0.41"#, ["feet.left[0]", "t0 0.41 is after t1 0.4"]),
        (r#""t0": 0.1"#, r#""t0": -1e39"#, ["feet.left[0]", "not within"]),
        (r#""t1": 0.2"#, r#""t1": 1.1e6"#, ["feet.left[1]", "not within"]),
        (r#""part": "heel""#, r#""part": "toe""#, ["feet.left[1]", "\"toe\""]),
        (r#""unit_scale": 1.0"#, r#""unit_scale": 0"#, ["clip \"walk\"", "unit_scale 0"]),
        (r#""unit_scale": 1.0"#, r#""unit_scale": -0.01"#, ["clip \"walk\"", "unit_scale -0.01"]),
        (r#""unit_scale": 1.0"#, r#""unit_scale": 1e39"#, ["clip \"walk\"", "unit_scale inf"]),
        (r#""root_speed_m_s": 1.5"#, r#""root_speed_m_s": 101"#, ["root_speed_m_s 101", "100 m/s"]),
        (r#""root_speed_m_s": 1.5"#, r#""root_speed_m_s": -1e39"#, ["root_speed_m_s -inf", "100 m/s"]),
        (r#""kind": "in_place""#, r#""kind": "inplace""#, ["clip \"walk\"", "kind \"inplace\""]),
    ] {
        assert!(right.contains(from), "{from}");
        let text = right.replacen(from, to, 1);
        folder.put("hero.contacts.json", &text);
        let refused = import::load(&hero).expect_err(&text);
        assert_eq!(refused.file, path);
        assert!(matches!(refused.kind, Refusal::Sidecar(_)), "{refused}");
        let said = refused.to_string();
        assert!(words.iter().all(|word| said.contains(word)), "{to}: {said}");
    }
    // What is not known may be left open.
    for key in [r#""unit_scale": 1.0"#, r#""root_speed_m_s": 1.5"#] {
        let open = format!("{} null", &key[..=key.find(':').expect("a key")]);
        folder.put("hero.contacts.json", right.replacen(key, &open, 1));
        import::load(&hero).expect("loads");
    }
}

#[test]
fn all_contacts_of_the_data_are_sound() {
    let Some(data) = import_data::data_dir() else { return };
    let mut count = 0;
    for entry in fs::read_dir(data.join("contacts")).expect("a folder") {
        let path = entry.expect("an entry").path();
        count += import::Sidecar::load_all(&path).unwrap_or_else(|error| panic!("{error}")).len();
    }
    assert_eq!(count, 25);
}

/// Sidecars say how fast the cycles of the data are; the estimate must come near without them.
#[test]
fn cycles_on_the_spot_get_the_median_speed_of_their_stance_feet() {
    let Some(data) = import_data::data_dir() else { return };
    for (file, clip, sidecar) in [
        ("gltf/ual/human-base-animations.glb", "Walk_Loop", "ual.Walk_Loop"),
        ("gltf/ual/human-base-animations.glb", "Walk_Formal_Loop", "ual.Walk_Formal_Loop"),
        ("gltf/ual/human-base-animations.glb", "Jog_Fwd_Loop", "ual.Jog_Fwd_Loop"),
        ("gltf/kaykit/Med_MovementBasic.glb", "Rig_Medium|Running_A", "kaykit.Running_A"),
    ] {
        let speed = |beside: &Beside| {
            let imported = beside.load(data.join(file), &LoadOptions::default()).expect("loads");
            let told =
                |own: &Warning| matches!(own, Warning::SpeedEstimated { clip: name, .. } if name == clip);
            let root = imported.clips.iter().find(|own| own.name == clip).expect("there").root;
            let RootSource::InPlace { speed } = root else { panic!("{clip}: {root:?}") };
            (speed, imported.report.warnings.iter().any(told))
        };
        let (estimate, told) = speed(&Beside::new());
        let path = data.join(format!("contacts/{sidecar}.contacts.json"));
        let (right, still_told) = speed(&Beside::new().with_contacts(path).expect("reads"));
        println!("{clip}: {estimate} m/s estimated, {right} by its sidecar");
        assert!(told && !still_told, "{clip}");
        assert!((estimate / right - 1.0).abs() < 0.15, "{clip}: {estimate}, not {right}");
    }
}

#[test]
fn overrides_beside_a_model_correct_roles_and_reference_pose() {
    let folder = Folder::new("overrides");
    let hero = folder.put("hero.glb", character());
    let before = import::load(&hero).expect("loads");
    assert!(before.reference.is_none() && before.report.overrides.is_none());
    let hand = before.roles.joint(Role::Hand(Side::Left)).expect("a hand");
    let name = &before.character.skeleton.joints[usize::from(hand)].name;
    let text = format!(
        r#"{{ "roles": {{ "{name}": null }},
             "reference": {{ "left.upper_arm": {{ "direction": [1, -1, 0] }} }} }}"#
    );
    let path = folder.put("hero.rig.json", text);
    let after = import::load(&hero).expect("loads");
    assert_eq!(after.report.overrides.as_deref(), Some(path.as_path()));
    assert_eq!(after.roles.joint(Role::Hand(Side::Left)), None);
    assert!(!after.report.roles.findings.iter().any(|own| own.role == Role::Hand(Side::Left)));
    let arm = |pose: &ReferencePose| {
        let at = |role| pose.position(usize::from(after.roles.joint(role).expect("there")));
        (at(Role::Forearm(Side::Left)) - at(Role::UpperArm(Side::Left))).normalize()
    };
    let want = DVec3::new(1.0, -1.0, 0.0).normalize();
    assert!((arm(&after.reference_pose()) - want).length() < 1e-6);
    assert!((arm(&before.reference_pose()) - want).length() > 0.5);
    // The character itself is as it was.
    assert_eq!(after.character, before.character);
    // A target's pose does not take the place of what somebody has given.
    let pose = before.reference_pose();
    let onto = after.reference_onto(&before.character.skeleton, &before.roles, &pose);
    assert!((arm(&onto) - want).length() < 1e-6);
    // Those from elsewhere count instead.
    let given =
        folder.put("given.json", r#"{ "reference": { "left.upper_arm": { "direction": [1, 1, 0] } } }"#);
    let beside = Beside::new().with_overrides(&given).expect("reads");
    let given = beside.load(&hero, &LoadOptions::default()).expect("loads");
    assert!(given.roles.joint(Role::Hand(Side::Left)).is_some());
    assert!((arm(&given.reference_pose()) - DVec3::new(1.0, 1.0, 0.0).normalize()).length() < 1e-6);
}

#[test]
fn wrong_overrides_are_told_with_their_file_and_place() {
    let folder = Folder::new("wrong");
    let hero = folder.put("hero.glb", character());
    let refused = |text: &str| {
        let path = folder.put("hero.rig.json", text);
        let error = import::load(&hero).expect_err(text);
        assert_eq!(error.file, path, "{text}");
        println!("{error}");
        match error.kind {
            Refusal::Overrides(error) => error,
            other => panic!("{text}: {other}"),
        }
    };
    let json = refused("{\n  \"roles\": { \"a\": 3 }\n}");
    assert!(matches!(json, OverrideError::Json { line: 2, column: 19, .. }), "{json:?}");
    assert!(!json.to_string().contains("at line"), "the place is told once: {json}");
    assert!(matches!(refused(r#"{ "rolls": {} }"#), OverrideError::Json { .. }));
    assert!(matches!(refused(r#"{ "roles": { "nobody": "hips" } }"#), OverrideError::Joint(_)));
    assert!(matches!(refused(r#"{ "roles": { "nobody": "left.wing" } }"#), OverrideError::Role(_)));
    assert!(matches!(refused(r#"{ "reference": { "neck.9": {} } }"#), OverrideError::Absent(_)));
    let zero = r#"{ "reference": { "left.thigh": { "direction": [0, 0, 0] } } }"#;
    assert!(matches!(refused(zero), OverrideError::Value { .. }));
}

/// Names that say nothing: with roles from beside it, units and facing are found as if it had spoken.
#[test]
fn a_file_whose_names_say_nothing_is_understood_by_its_overrides() {
    let folder = Folder::new("dumb");
    let body = content::character(RigKind::Biped, &BodyPlan::adult());
    let mut dumb = body.character.clone();
    for (at, joint) in dumb.skeleton.joints.iter_mut().enumerate() {
        joint.name = format!("b{at}");
    }
    // No legs to stand by: shape alone cannot tell this one.
    let walk = content::clip(ClipKind::Walk, &body);
    let text = throng::export::bvh::write(&dumb.skeleton, &walk, 30.0).expect("writes");
    let path = folder.put("dumb.bvh", text);
    let roles: Vec<String> =
        body.roles.iter().map(|(role, joint)| format!(r#""b{joint}": "{role}""#)).collect();
    folder.put("dumb.rig.json", format!(r#"{{ "roles": {{ {} }} }}"#, roles.join(", ")));
    let imported = import::load(&path).expect("loads");
    assert_eq!(imported.roles.len(), body.roles.len());
    for (role, joint) in body.roles.iter() {
        let at = imported.roles.joint(role).expect("given");
        assert_eq!(imported.character.skeleton.joints[usize::from(at)].name, format!("b{joint}"), "{role}");
    }
    assert!((imported.report.conversion.scale - 0.01).abs() < 1e-6);
}
