//! Dialects of BVH, written by hand, with what each must become.

#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod data;

use glam::{DVec3, Quat, Vec3};
use throng::import::bvh::{
    self, BvhOptions, BvhPositions, BvhProblem, BvhReader, BvhRest, Channel, PositionReason,
};
use throng::import::{Imported, Refusal, Warning};

fn load(text: &str) -> Imported {
    load_with(text, &BvhOptions::default())
}

fn load_with(text: &str, options: &BvhOptions) -> Imported {
    bvh::load_bytes(text.as_bytes(), options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Line, column and problem of a refused text.
fn refuse(text: &str) -> (usize, usize, BvhProblem) {
    match bvh::load_bytes(text.as_bytes(), &BvhOptions::default()).expect_err("refused").kind {
        Refusal::Bvh(error) => (error.line, error.column, error.problem),
        other => panic!("{other}"),
    }
}

/// World position of a joint in a frame of the first clip.
fn place(imported: &Imported, joint: usize, time: f64) -> DVec3 {
    data::clip_models(&imported.character.skeleton, &imported.clips[0], time)[joint].w_axis.truncate()
}

fn rotation(imported: &Imported, joint: u16, key: usize) -> Quat {
    let track = imported.clips[0].tracks.iter().find(|track| track.joint == joint).expect("a track");
    track.rotation.as_ref().expect("rotations").values[key]
}

/// As exact as the six digits.
fn same_turn(have: Quat, want: [f64; 4]) -> bool {
    let have = have.to_array().map(f64::from);
    let near = |sign: f64| have.iter().zip(want).all(|(have, want)| (have - sign * want).abs() < 2e-6);
    near(1.0) || near(-1.0)
}

/// A root with the channels and one child 1 above it, one frame.
fn two_joints(channels: &str, values: &str) -> String {
    format!(
        "HIERARCHY\nROOT a\n{{\nOFFSET 0 0 0\nCHANNELS {channels}\nJOINT b\n{{\nOFFSET 0 1 0\nCHANNELS 0\nEnd Site\n{{\nOFFSET 0 1 0\n}}\n}}\n}}\n\
         MOTION\nFrames: 1\nFrame Time: 0.1\n{values}\n"
    )
}

/// C24.
#[test]
fn rotation_channels_are_multiplied_in_the_order_of_the_file() {
    let imported = load(&two_joints("3 Zrotation Xrotation Yrotation", "90 90 0"));
    assert!(place(&imported, 1, 0.0).distance(DVec3::Z) < 1e-6);
    // Fixed X, Y, Z would give this one.
    let other = load(&two_joints("3 Xrotation Yrotation Zrotation", "90 0 90"));
    assert!(place(&other, 1, 0.0).distance(DVec3::NEG_X) < 1e-6);
    let zxy = load(&two_joints("3 Zrotation Xrotation Yrotation", "30 40 50"));
    assert!(same_turn(rotation(&zxy, 0, 0), [0.196628, 0.463827, 0.360042, 0.785221]));
    let zyx = load(&two_joints("3 Zrotation Yrotation Xrotation", "30 50 40"));
    assert!(same_turn(rotation(&zyx, 0, 0), [0.196628, 0.463827, 0.080805, 0.860042]));
    // Any product, also of fewer or of the same axes.
    for (channels, values, want) in [
        ("1 Yrotation", "50", Quat::from_rotation_y(50_f32.to_radians())),
        (
            "3 Zrotation Xrotation Zrotation",
            "30 40 50",
            Quat::from_rotation_z(30_f32.to_radians())
                * Quat::from_rotation_x(40_f32.to_radians())
                * Quat::from_rotation_z(50_f32.to_radians()),
        ),
    ] {
        let imported = load(&two_joints(channels, values));
        assert!(rotation(&imported, 0, 0).dot(want).abs() > 1.0 - 1e-6, "{channels}");
    }
}

/// C24: two joints of one file.
#[test]
fn every_joint_has_an_order_of_its_own() {
    let text = "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 3 Zrotation Xrotation Yrotation
        JOINT b { OFFSET 0 1 0 CHANNELS 3 Zrotation Yrotation Xrotation } }
        MOTION Frames: 1 Frame Time: 0.1\n 30 40 50 30 50 40";
    let imported = load(text);
    assert!(same_turn(rotation(&imported, 0, 0), [0.196628, 0.463827, 0.360042, 0.785221]));
    assert!(same_turn(rotation(&imported, 1, 0), [0.196628, 0.463827, 0.080805, 0.860042]));
}

/// C26.
#[test]
fn joints_have_six_three_one_or_no_channels_and_child_positions_are_whole_translations() {
    let text = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
        JOINT b\n{\nOFFSET 0 1 0\nCHANNELS 6 Zposition Yposition Xposition Zrotation Xrotation Yrotation
        JOINT c\n{\nOFFSET 0 2 0\nCHANNELS 3 Zrotation Xrotation Yrotation
        JOINT d\n{\nOFFSET 0 3 0\nCHANNELS 1 Xrotation
        JOINT e\n{\nOFFSET 0 4 0\nCHANNELS 0\n}\nJOINT f\n{\nOFFSET 1 0 0\n}\n}\n}\n}\n}
        MOTION\nFrames: 2\nFrame Time: 0.5
        1 2 3 0 0 0   0.25 1.5 0.5 0 0 0   0 0 0   90
        1 2 3 0 0 0   0 1.5 0.5 0 0 0   0 0 0   0\n";
    let imported = load_with(text, &BvhOptions { positions: BvhPositions::Replace, ..BvhOptions::default() });
    let c = DVec3::new(1.5, 5.5, 3.25);
    assert!(place(&imported, 1, 0.0).distance(DVec3::new(1.5, 3.5, 3.25)) < 1e-6);
    assert!(place(&imported, 2, 0.0).distance(c) < 1e-6);
    assert!(place(&imported, 3, 0.0).distance(c + DVec3::new(0.0, 3.0, 0.0)) < 1e-6);
    // The single channel turns what is below it.
    assert!(place(&imported, 4, 0.0).distance(c + DVec3::new(0.0, 3.0, 4.0)) < 1e-6);
    assert!(place(&imported, 4, 0.5).distance(c + DVec3::new(0.0, 7.0, -0.25)) < 1e-6);
    assert!(place(&imported, 5, 0.0).distance(c + DVec3::new(1.0, 3.0, 0.0)) < 1e-6);
    let animated = imported.clips[0].tracks.iter().map(|track| track.joint).collect::<Vec<_>>();
    assert_eq!(animated, [0, 1, 2, 3]);
    let added = load_with(text, &BvhOptions { positions: BvhPositions::Add, ..BvhOptions::default() });
    assert!(place(&added, 1, 0.0).distance(DVec3::new(1.5, 4.5, 3.25)) < 1e-6);
    // The file tells as well: its child restates the OFFSET but for a little.
    let told = load(text);
    let report = told.report.bvh.as_ref().expect("a report");
    assert!(!report.added, "{report:?}");
    assert!(told.report.warnings.iter().any(|w| matches!(w, Warning::PositionsRead { added: false, .. })));
}

#[test]
fn positions_near_zero_are_added_and_restated_offsets_replaced_and_nothing_told_replaces() {
    let text = |values: &str| {
        format!(
            "HIERARCHY ROOT a {{ OFFSET 0 0 0 CHANNELS 0 JOINT b {{ OFFSET 0 10 0 CHANNELS 3 Xposition Yposition Zposition }} }}
            MOTION Frames: 1 Frame Time: 1\n{values}\n"
        )
    };
    for (values, added, reason) in [
        ("0.1 0 0", true, PositionReason::Deltas),
        ("0 10.2 0", false, PositionReason::Restated),
        ("5 5 0", false, PositionReason::Usual),
    ] {
        let imported = load(&text(values));
        let report = imported.report.bvh.as_ref().expect("a report");
        assert_eq!((report.added, report.positions), (added, Some(reason)), "{values}");
        let warned = imported.report.warnings.contains(&Warning::PositionsRead { added, reason });
        assert!(warned, "{:?}", imported.report.warnings);
    }
    // One channel alone: the other axes keep their OFFSET.
    let one = text("12").replace("3 Xposition Yposition Zposition", "1 Xposition");
    let options = BvhOptions { positions: BvhPositions::Replace, ..BvhOptions::default() };
    assert!(place(&load_with(&one, &options), 1, 0.0).distance(DVec3::new(12.0, 10.0, 0.0)) < 1e-6);
}

/// C27.
#[test]
fn a_missing_newline_at_the_end_loses_no_frame() {
    let whole = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 2 Xrotation Yrotation\n}\nMOTION\nFrames: 3\nFrame Time: 0.1\n1 2\n3 4\n5 67";
    for end in ["", "\n", "\r\n", " \n\n", "\t"] {
        let imported = load(&format!("{whole}{end}"));
        assert_eq!(imported.report.bvh.as_ref().expect("a report").frames, 3);
        let last = rotation(&imported, 0, 2);
        let want = Quat::from_rotation_x(5_f32.to_radians()) * Quat::from_rotation_y(67_f32.to_radians());
        assert!(last.dot(want).abs() > 1.0 - 1e-6);
    }
}

/// C27.
#[test]
fn a_truncated_last_row_is_an_error_that_names_frame_and_line() {
    let text = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 2 Xrotation Yrotation\n}\nMOTION\nFrames: 3\nFrame Time: 0.1\n1 2\n3 4\n5";
    let (line, _, problem) = refuse(text);
    assert_eq!((line, &problem), (12, &BvhProblem::FrameWidth { frame: 2, have: 1, need: 2 }));
    let shown = bvh::load_bytes(text.as_bytes(), &BvhOptions::default()).expect_err("refused").to_string();
    assert!(shown.contains("line 12") && shown.contains("frame 2"), "{shown}");
    // Lenient about counts is not lenient about rows.
    let lenient = BvhOptions { lenient: true, ..BvhOptions::default() };
    assert!(bvh::load_bytes(text.as_bytes(), &lenient).is_err());
    // A row in the middle is named itself, not the end of the file.
    let (line, _, problem) = refuse(&text.replace("3 4", "3").replace("\n5", "\n5 6"));
    assert_eq!((line, problem), (11, BvhProblem::FrameWidth { frame: 1, have: 1, need: 2 }));
    let (line, _, problem) = refuse(&text.replace("3 4", "3 4 9").replace("\n5", "\n5 6"));
    assert_eq!(line, 11);
    assert!(matches!(problem, BvhProblem::FrameWidth { frame: 1, have: 3, .. }), "{problem}");
}

/// C29.
#[test]
fn white_space_case_and_line_breaks_do_not_matter() {
    let plain = "HIERARCHY\nROOT a\n{\n  OFFSET 1 2 3\n  CHANNELS 3 Zrotation Xrotation Yrotation\n  JOINT b\n  {\n    OFFSET 0 1 0\n    CHANNELS 3 Zrotation Xrotation Yrotation\n    End Site\n    {\n      OFFSET 0 1 0\n    }\n  }\n}\nMOTION\nFrames: 2\nFrame Time: 0.0333\n10 20 30 40 50 60\n1 2 3 4 5 6\n";
    let want = load(plain);
    let variants = [
        ("CR LF", plain.replace('\n', "\r\n")),
        ("CR", plain.replace('\n', "\r")),
        (
            "tabs",
            plain.replace("  ", "\t").replace("Frame Time: ", "Frame Time:\t").replace("10 20", "10\t20"),
        ),
        ("blank lines", plain.replace('\n', "\n\n")),
        (
            "braces on the same line",
            plain.replace("\n{", " {").replace("\n  {", " {").replace("\n    {", "{"),
        ),
        ("everything glued to braces", plain.replace("{\n", "{").replace("\n}", "}")),
        ("a line break inside OFFSET", plain.replace("OFFSET 1 2 3", "OFFSET 1\n 2\n 3")),
        ("lower case", plain.to_lowercase()),
        ("upper case", plain.to_uppercase().replace("ROOT A", "ROOT a").replace("JOINT B", "JOINT b")),
        ("a byte order mark", format!("\u{feff}{plain}")),
        ("spaces before colons", plain.replace("Frames:", "Frames :").replace("Time:", "Time :")),
        ("no space behind colons", plain.replace("Frames: ", "Frames:").replace("Time: ", "Time:")),
        ("no colons", plain.replace(':', "")),
        (
            "time before count",
            plain.replace("Frames: 2\nFrame Time: 0.0333", "Frame Time: 0.0333\nFrames: 2"),
        ),
        ("exponents", plain.replace("10 20 30", "1e1 2.0E+1 300e-1").replace("0.0333", "333E-4")),
        ("no zero before the point", plain.replace("0.0333", ".0333").replace("10 20", "10. +20")),
        ("a row over several lines", plain.replace("10 20 30 ", "10 20 30\n")),
        ("all rows on one line", plain.replace("60\n1", "60 1")),
        ("a named end", plain.replace("End Site", "End Site tip")),
        ("more numbers in an OFFSET", plain.replace("OFFSET 0 1 0", "OFFSET 0 1 0 7 8 9")),
    ];
    for (what, text) in variants {
        assert_ne!(text, plain, "{what}");
        let have = load(&text);
        assert_eq!(have.character.skeleton, want.character.skeleton, "{what}");
        assert_eq!(have.clips, want.clips, "{what}");
    }
}

/// C31.
#[test]
fn a_frame_time_that_is_zero_negative_missing_or_no_number_is_an_error_unless_the_caller_gives_one() {
    let text = |time: &str| {
        format!(
            "HIERARCHY\nROOT a\n{{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n}}\nMOTION\nFrames: 3\n{time}\n1\n2\n3\n"
        )
    };
    let given = BvhOptions { frame_time: Some(0.025), ..BvhOptions::default() };
    for (time, line, value) in [
        ("Frame Time: 0", 9, Some(0.0)),
        ("Frame Time: -0.1", 9, Some(-0.1)),
        ("", 10, None),
        ("Frame Time: inf", 9, Some(f64::INFINITY)),
        ("Frame Time: 1e-300", 9, Some(1e-300)),
        ("Frame Time: 1e-30", 9, Some(1e-30)),
        ("Frame Time: 0.0000099", 9, Some(0.0000099)),
        ("Frame Time: 10.01", 9, Some(10.01)),
        ("Frame Time: 1e30", 9, Some(1e30)),
        ("Frame Time: 1e300", 9, Some(1e300)),
    ] {
        let text = text(time);
        let (at, _, problem) = refuse(&text);
        if let Some(value) = value {
            assert!(
                problem.to_string().contains(&format!(" {value:?} seconds, but must be from 1e-5 to 10.0")),
                "{problem}"
            );
        }
        assert_eq!((at, problem), (line, BvhProblem::FrameTime { value }), "{time}");
        // Seconds, not a rate: three frames last 0.05 s.
        let imported = load_with(&text, &given);
        assert!((imported.clips[0].duration - 0.05).abs() < 1e-7);
        let times = &imported.clips[0].tracks[0].rotation.as_ref().expect("rotations").times;
        assert_eq!(times.len(), 3);
    }
    let (line, _, problem) = refuse(&text("Frame Time: soon"));
    assert!(line == 9 && matches!(problem, BvhProblem::NotANumber { .. }), "{problem}");
    for nonsense in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-30, 1e30] {
        let options = BvhOptions { frame_time: Some(nonsense), ..BvhOptions::default() };
        let refused = bvh::load_bytes(text("Frame Time: 1").as_bytes(), &options).expect_err("nonsense");
        // What was given is to blame, not what the file says.
        assert!(refused.to_string().contains(&format!("{nonsense:?} seconds")), "{refused}");
    }
    for (time, seconds) in [("Frame Time: 0.00001", 1e-5), ("Frame Time: 10", 10.0)] {
        let imported = load(&text(time));
        assert!((f64::from(imported.clips[0].duration) / seconds - 2.0).abs() < 1e-6, "{time}");
    }
}

/// C31.
#[test]
fn another_number_of_frames_than_announced_is_told_and_taken_on_request() {
    let text = |frames: &str| {
        format!(
            "HIERARCHY\nROOT a\n{{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n}}\nMOTION\nFrames: {frames}\nFrame Time: 0.1\n1\n2\n3\n"
        )
    };
    let lenient = BvhOptions { lenient: true, ..BvhOptions::default() };
    for (announced, found) in [(5, 3), (2, 3), (0, 1)] {
        let text = text(&announced.to_string());
        let (line, _, problem) = refuse(&text);
        assert_eq!(problem, BvhProblem::FrameCount { declared: announced, found });
        assert_eq!(line, if announced > 3 { 13 } else { 10 + announced });
        let imported = load_with(&text, &lenient);
        let told = Warning::FrameCount { declared: announced, found: 3 };
        assert!(imported.report.warnings.contains(&told), "{:?}", imported.report.warnings);
        assert!((imported.clips[0].duration - 0.2).abs() < 1e-6);
    }
    for nonsense in ["", "-1", "many", "1e3", "99999999999999999999999"] {
        let (line, _, problem) = refuse(&text(nonsense));
        assert!(line >= 8 && matches!(problem, BvhProblem::Expected { .. }), "{nonsense}: {problem}");
    }
}

#[test]
fn a_single_pose_needs_no_time_and_a_skeleton_no_pose() {
    let pose = |frames: usize, time: &str, row: &str| {
        format!(
            "HIERARCHY ROOT a {{ OFFSET 0 5 0 CHANNELS 1 Xrotation }} MOTION Frames: {frames}\n{time}\n{row}"
        )
    };
    for time in ["Frame Time: 0", "", "Frame Time: 0.1", "Frame Time: 1e-300", "Frame Time: 1e30"] {
        let imported = load(&pose(1, time, "45"));
        assert_eq!((imported.clips.len(), imported.clips[0].duration), (1, 0.0), "{time}");
        let imported = load(&pose(0, time, ""));
        assert!(imported.clips.is_empty(), "{time}");
        assert_eq!(imported.character.skeleton.joints[0].rest.translation, Vec3::new(0.0, 5.0, 0.0));
    }
}

#[test]
fn several_roots_and_names_with_spaces_or_none_and_equal_names_are_read() {
    let text = "HIERARCHY\nROOT Left Arm\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n}\nROOT Left Arm {\nOFFSET 1 0 0\nCHANNELS 1 Xrotation\nJOINT\n{\nOFFSET 0 0 1\n}\n}
        MOTION\nFrames: 1\nFrame Time: 1\n90 0\n";
    let imported = load(text);
    let joints = &imported.character.skeleton.joints;
    let names = joints.iter().map(|joint| joint.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["Left Arm", "Left Arm", ""]);
    assert_eq!(joints.iter().map(|joint| joint.parent).collect::<Vec<_>>(), [None, None, Some(1)]);
    assert!(imported.report.warnings.iter().any(|w| matches!(w, Warning::DuplicateNames { .. })));
    assert!(place(&imported, 2, 0.0).distance(DVec3::new(1.0, 0.0, 1.0)) < 1e-6);
}

#[test]
fn what_is_wrong_in_a_hierarchy_is_named_with_its_place() {
    let rest = "MOTION\nFrames: 0\nFrame Time: 1\n";
    let expected = |problem: &BvhProblem| matches!(problem, BvhProblem::Expected { .. });
    let check = |text: &str, line: usize, column: usize, right: &dyn Fn(&BvhProblem) -> bool| {
        let text = format!("HIERARCHY\nROOT a\n{{\n{text}\n{rest}");
        let (l, c, problem) = refuse(&text);
        assert!(right(&problem), "{problem}\n{text}");
        assert_eq!((l, c), (line, column), "{problem}\n{text}");
    };
    check("CHANNELS 0\n}", 5, 1, &|p| matches!(p, BvhProblem::MissingOffset { joint } if joint == "a"));
    check("OFFSET 0 0 0\nOFFSET 0 0 0\n}", 5, 1, &|p| matches!(p, BvhProblem::Twice { .. }));
    check("OFFSET 0 0 0\nCHANNELS 1 Xrotation CHANNELS 0\n}", 5, 22, &|p| {
        matches!(p, BvhProblem::Twice { .. })
    });
    check("OFFSET 0 0 0\nCHANNELS 2 Xposition xPosition\n}", 5, 22, &|p| {
        matches!(p, BvhProblem::Twice { .. })
    });
    check("OFFSET 0 0\n}", 5, 1, &|p| matches!(p, BvhProblem::NotANumber { .. }));
    check(
        "OFFSET 0 0,5 0\n}",
        4,
        10,
        &|p| matches!(p, BvhProblem::NotANumber { found, .. } if found == "0,5"),
    );
    check("OFFSET 0 1e999 0\n}", 4, 10, &|p| matches!(p, BvhProblem::NonFinite { .. }));
    check("OFFSET 0 0 0\nCHANNELS 3 Xrotation Yrotation\n}", 6, 1, &|p| {
        matches!(p, BvhProblem::ChannelCount { declared: 3, listed: 2, .. })
    });
    check("OFFSET 0 0 0\nCHANNELS 1 Xrotation Yrotation\n}", 5, 22, &|p| {
        matches!(p, BvhProblem::ChannelCount { declared: 1, listed: 2, .. })
    });
    check("OFFSET 0 0 0\nCHANNELS -1\n}", 5, 10, &expected);
    check("OFFSET 0 0 0\nCHANNELS 4000000000\n}", 5, 10, &expected);
    check("OFFSET 0 0 0\nCHANNELS 1 Xscale\n}", 5, 12, &|p| {
        matches!(p, BvhProblem::UnsupportedChannel { .. })
    });
    check("OFFSET 0 0 0\nJOINT b\nOFFSET 0 0 0\n}", 6, 1, &expected);
    check("OFFSET 0 0 0\nEnd Effector\n{ OFFSET 0 0 0 }\n}", 5, 5, &expected);
    check("OFFSET 0 0 0\nEnd Site\n{ CHANNELS 0 }\n}", 6, 3, &expected);
    check("OFFSET 0 0 0\nbone b", 5, 1, &expected);
    // A brace is missing: the motion comes too early.
    check("OFFSET 0 0 0", 5, 1, &expected);
    check("OFFSET 0 0 0\n}\n}", 6, 1, &expected);
    let (line, column, problem) = refuse("");
    assert_eq!((line, column), (1, 1));
    assert!(matches!(problem, BvhProblem::MissingHierarchy { .. }));
    assert!(expected(&refuse("HIERARCHY MOTION Frames: 0").2));
    assert!(expected(&refuse("HIERARCHY ROOT a { OFFSET 0 0 0 } MOTION Frame Rate: 3").2));
    let (_, _, problem) = refuse(&format!("HIERARCHY {}", "ROOT a { OFFSET 0 0 0 } ".repeat(9000)));
    assert!(matches!(problem, BvhProblem::TooManyJoints { .. }), "{problem}");
}

#[test]
fn a_value_that_is_no_finite_number_is_named_by_frame_joint_and_channel() {
    let text = "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\nJOINT b\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\nJOINT c\n{\nOFFSET 0 0 0\nCHANNELS 2 Yposition Zrotation\n}\n}\nMOTION\nFrames: 2\nFrame Time: 1\n0 0 0\n0 0 NaN\n";
    let (line, column, problem) = refuse(text);
    assert_eq!((line, column), (21, 5));
    let shown = problem.to_string();
    assert!(shown.contains("Zrotation of joint \"c\" in frame 1"), "{shown}");
    assert!(matches!(problem, BvhProblem::NonFinite { .. }));
    for (value, finite) in
        [("-1.#IND", true), ("inf", true), ("1e400", true), ("zero", false), ("0,5", false)]
    {
        let problem = refuse(&text.replace("NaN", value)).2;
        assert_eq!(matches!(problem, BvhProblem::NonFinite { .. }), finite, "{value}: {problem}");
    }
}

#[test]
fn frames_can_be_read_one_by_one() {
    let text = "HIERARCHY ROOT a { OFFSET 1 2 3 CHANNELS 2 Zposition Yrotation } MOTION Frames: 2 Frame Time: 0.5\n1 2\n3 4";
    let mut reader = BvhReader::new(text.as_bytes()).expect("reads");
    assert_eq!(reader.joints()[0].channels, [Channel::Position(2), Channel::Rotation(1)]);
    assert_eq!((reader.columns(), reader.declared_frames(), reader.frame_time()), (2, 2, Some(0.5)));
    let mut row = [0.0; 2];
    assert!(reader.next_frame(&mut row).expect("a frame") && row == [1.0, 2.0]);
    assert!(reader.next_frame(&mut row).expect("a frame") && row == [3.0, 4.0]);
    assert!(!reader.next_frame(&mut row).expect("the end"));
    assert!(!reader.next_frame(&mut row).expect("still the end"));
}

/// A figure that stands; angles of the frames turn the left thigh.
fn figure(unit: f64, axes: fn([f64; 3]) -> [f64; 3], rows: &[[f64; 7]]) -> String {
    let at = |x: f64, y: f64, z: f64| axes([x / unit, y / unit, z / unit]).map(|v| v.to_string()).join(" ");
    let turn = "3 Zrotation Xrotation Yrotation";
    let joint = |name: &str, at: String, inside: String| {
        format!("JOINT {name} {{ OFFSET {at} CHANNELS 0 {inside} }}\n")
    };
    let leg = |side: &str, x: f64, channels: &str| {
        format!(
            "JOINT {side}UpLeg {{ OFFSET {} CHANNELS {channels} {} }}\n",
            at(x, 0.0, 0.0),
            joint(
                &format!("{side}Leg"),
                at(0.0, -0.45, 0.0),
                joint(&format!("{side}Foot"), at(0.0, -0.4, 0.0), String::new())
            )
        )
    };
    let trunk = joint(
        "Spine",
        at(0.0, 0.2, 0.0),
        joint("Neck", at(0.0, 0.3, 0.0), joint("Head", at(0.0, 0.1, 0.0), String::new())),
    );
    let rows = rows.iter().map(|row| {
        let place = at(row[0], row[1], row[2]);
        let angles = row[3..].iter().map(|v| v.to_string()).collect::<Vec<_>>().join(" ");
        format!("{place} {angles}\n")
    });
    let rows = rows.collect::<Vec<_>>();
    format!(
        "HIERARCHY ROOT Hips {{ OFFSET 0 0 0 CHANNELS 4 Xposition Yposition Zposition Yrotation\n{trunk}{}{} }}\nMOTION Frames: {}\nFrame Time: 0.1\n{}",
        leg("Left", 0.1, turn),
        leg("Right", -0.1, "0"),
        rows.len(),
        rows.concat()
    )
}

#[test]
fn axes_and_units_of_a_body_are_found_or_given() {
    let row = [0.5, 0.95, 2.0, 0.0, 0.0, 0.0, 0.0];
    let z_up: fn([f64; 3]) -> [f64; 3] = |[x, y, z]| [x, -z, y];
    let y_up: fn([f64; 3]) -> [f64; 3] = |at| at;
    for (unit, axes) in
        [(1.0, y_up), (0.01, y_up), (0.1, z_up), (0.001, z_up), (0.0254, y_up), (0.0254 / 0.45, z_up)]
    {
        let imported = load(&figure(unit, axes, &[row, row]));
        let scale = f64::from(imported.report.conversion.scale);
        assert!((scale / unit - 1.0).abs() < 1e-5, "{scale} {unit}");
        // The head of the moving body is where it was before axes and units were changed.
        let head = place(&imported, 3, 0.0);
        assert!(head.distance(DVec3::new(0.5, 1.55, 2.0)) < 1e-5, "{unit}: {head}");
        let guessed = imported.report.warnings.iter().any(|w| matches!(w, Warning::UnitsGuessed { .. }));
        assert_eq!(guessed, unit != 1.0);
        // The rest pose stands over the origin, as high as the clip stands.
        let rest = data::rest_positions(&imported.character.skeleton);
        assert!(rest[0].distance(DVec3::new(0.0, 0.95, 0.0)) < 1e-5, "{}", rest[0]);
    }
    let options = BvhOptions {
        unit: Some(0.02),
        axes: Some(Quat::from_rotation_y(std::f32::consts::PI)),
        ..BvhOptions::default()
    };
    let imported = load_with(&figure(0.01, y_up, &[row, row]), &options);
    assert!(place(&imported, 3, 0.0).distance(DVec3::new(-1.0, 3.1, -4.0)) < 1e-5);
}

#[test]
fn a_first_frame_from_which_the_body_jumps_is_left_out_and_can_be_the_rest_pose() {
    let turn = |angle: f64| [0.0, 0.9, 0.0, angle, angle, 2.0 * angle, 0.0];
    let rows = [turn(0.0), turn(60.0), turn(61.0), turn(62.0), turn(63.0), turn(64.0)];
    // Two turning joints are no calibration pose: a body has more.
    assert!(!load(&figure(1.0, |at| at, &rows)).report.bvh.as_ref().expect("a report").calibration);
    let text = figure(1.0, |at| at, &rows).replace("CHANNELS 0", "CHANNELS 1 Xrotation");
    let mut lines = text.lines().map(str::to_owned).collect::<Vec<_>>();
    let columns = BvhReader::new(text.as_bytes()).expect("reads").columns();
    let from = lines.len() - rows.len();
    for (frame, line) in lines[from..].iter_mut().enumerate() {
        let angle = if frame == 0 { 0.0 } else { 40.0 + frame as f64 };
        let (head, tail) = (format!("0 0.9 0 {angle}"), format!(" {angle}").repeat(columns - 4));
        *line = head + &tail;
    }
    let imported = load(&lines.join("\n"));
    let report = imported.report.bvh.as_ref().expect("a report");
    assert!(report.calibration && imported.report.warnings.contains(&Warning::CalibrationFrame));
    let clip = &imported.clips[0];
    assert!(
        (clip.start - 0.1).abs() < 1e-6 && (clip.duration - 0.4).abs() < 1e-6,
        "{} {}",
        clip.start,
        clip.duration
    );
    // The key is still there, before the clip's start.
    assert_eq!(clip.tracks[0].rotation.as_ref().expect("rotations").times[0], 0.0);
    let options = BvhOptions { rest: BvhRest::Frame(1), ..BvhOptions::default() };
    let posed = load_with(&lines.join("\n"), &options);
    let rest = posed.character.skeleton.joints[0].rest.rotation;
    assert!(rest.angle_between(Quat::from_rotation_y(41_f32.to_radians())) < 1e-5);
}
