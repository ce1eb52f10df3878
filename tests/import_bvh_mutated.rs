//! Damaged texts: whatever bytes and words change, an import ends with a sound result or an error that says where.

use proptest::prelude::*;
use throng::import::bvh::{self, BvhOptions, BvhPositions, BvhRest};
use throng::import::{Imported, Refusal, inspect, motion_text};
use throng::rig::{ReferencePose, Transform};

/// A body with all that the reader knows, by tabs and spaces, with one frame of calibration.
fn sample() -> String {
    let mut text = String::from(
        "HIERARCHY\nROOT Hips\n{\n\tOFFSET 0.0 9.0 0.0\n\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n",
    );
    let joint = |name: &str, at: &str, channels: &str, inside: &str| {
        format!("JOINT {name} {{\n OFFSET {at}\n CHANNELS {channels}\n{inside}}}\n")
    };
    let turn = "3 Zrotation Yrotation Xrotation";
    let end = "End Site\n{\nOFFSET 0 1 0\n}\n";
    let head = joint("Head", "0 1 0", turn, end);
    text += &joint("Spine", "0 2 0 1 2 3", turn, &joint("Neck", "0 3 0", "1 Yrotation", &head));
    for (side, x) in [("Left", "1"), ("Right", "-1")] {
        let toe = joint(&format!("{side}ToeBase"), "0 -0.5 1.5e0", "0", end);
        let foot = joint(&format!("{side}Foot"), "0 -4 0", "2 Xposition Xrotation", &toe);
        let shin = joint(&format!("{side}Leg"), "0 -4.5 0", turn, &foot);
        text += &joint(&format!("{side}UpLeg"), &format!("{x} 0 0"), turn, &shin);
    }
    text += "}\nMOTION\nFrames: 5\nFrame Time: 0.033\n";
    for frame in 0..5 {
        let angle = if frame == 0 { 0.0 } else { 30.0 + f64::from(frame) };
        text += &format!("0 9.5 {frame}{}\n", format!(" {angle}").repeat(26));
    }
    text
}

fn try_bvh(bytes: &[u8], options: &BvhOptions) -> bool {
    match bvh::load_bytes(bytes, options) {
        Ok(imported) => {
            sound(&imported);
            true
        }
        Err(error) => {
            if let Refusal::Bvh(error) = &error.kind {
                let lines = bytes.iter().filter(|&&byte| byte == b'\n' || byte == b'\r').count() + 1;
                assert!((1..=lines).contains(&error.line) && error.column >= 1, "{error}");
            }
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

fn sound(imported: &Imported) {
    let skeleton = &imported.character.skeleton;
    skeleton.validate().expect("valid");
    for clip in &imported.clips {
        clip.validate(skeleton).expect("valid");
        for part in [0.0, 0.37, 1.0] {
            assert!(clip.sample(skeleton, clip.duration * part).iter().all(Transform::is_finite));
        }
    }
    let reference = ReferencePose::aligned(skeleton, &imported.roles);
    assert_eq!(reference.models.len(), skeleton.joints.len());
    assert!(inspect(imported).joints.len() == skeleton.joints.len());
}

fn options() -> [BvhOptions; 3] {
    [
        BvhOptions::default(),
        BvhOptions {
            positions: BvhPositions::Add,
            frame_time: Some(0.1),
            lenient: true,
            rest: BvhRest::Frame(usize::MAX),
            ..BvhOptions::default()
        },
        BvhOptions {
            unit: Some(1e-3),
            axes: Some(glam::Quat::from_rotation_x(1.0)),
            lenient: true,
            rest: BvhRest::Offsets,
            ..BvhOptions::default()
        },
    ]
}

/// As many cases as keep the test short, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1500);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

const WORDS: [&str; 30] = [
    "",
    "{",
    "}",
    "ROOT",
    "JOINT",
    "End Site",
    "End",
    "OFFSET",
    "CHANNELS",
    "CHANNELS 0",
    "MOTION",
    "HIERARCHY",
    "Frames:",
    "Frame Time:",
    "Xposition",
    "Yrotation",
    "Xscale",
    "nan",
    "-inf",
    "1e999",
    "1e30",
    "-1e-40",
    "0",
    "-1",
    "4294967296",
    "18446744073709551616",
    "0,5",
    "\u{feff}",
    "\u{0}",
    "a",
];

proptest! {
    #![proptest_config(config())]

    #[test]
    fn changed_bytes_end_well(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in prop::option::of(any::<prop::sample::Index>())) {
        let mut bytes = sample().into_bytes();
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        for options in options() {
            try_bvh(&bytes, &options);
        }
    }

    #[test]
    fn changed_words_end_well(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..4_u8), 1..4)) {
        let text = sample();
        let mut words = text.split_inclusive([' ', '\n', '\t']).map(str::to_owned).collect::<Vec<_>>();
        for (place, word, kind) in &changes {
            let at = place.index(words.len());
            let word = format!("{} ", WORDS[word.index(WORDS.len())]);
            match kind {
                0 => words[at] = word,
                1 => words.insert(at, word),
                2 => { words.remove(at); }
                _ => { let again = words[at].clone(); words.insert(at, again); }
            }
        }
        for options in options() {
            try_bvh(words.concat().as_bytes(), &options);
        }
    }

    #[test]
    fn changed_motions_end_well(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let frame = format!("[0.1,{}]", vec!["1"; 43].join(","));
        let mut bytes = format!("{{\"Loop\":\"wrap\",\"Frames\":[{frame},{frame}]}}").into_bytes();
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        if let Ok(imported) = motion_text::load_bytes(&bytes) {
            sound(&imported);
        }
    }
}

/// The mutator must not only produce what is refused: some damaged texts still load.
#[test]
fn some_damaged_texts_still_load() {
    let text = sample();
    for options in options() {
        assert!(try_bvh(text.as_bytes(), &options));
    }
    let words = text.split_inclusive([' ', '\n', '\t']).collect::<Vec<_>>();
    let (mut loaded, mut tried) = (0, 0);
    for at in 0..words.len() {
        for word in ["0 ", "1e30 ", "a ", "} ", ""] {
            let mut changed = words.clone();
            changed[at] = word;
            tried += 1;
            loaded += usize::from(try_bvh(changed.concat().as_bytes(), &BvhOptions::default()));
        }
    }
    println!("{loaded} of {tried} damaged texts load");
    assert!(loaded > 100 && loaded < tried);
}
