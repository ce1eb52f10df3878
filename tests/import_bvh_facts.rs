//! BVH files against facts measured by an independent reader.

#[path = "support/import_data.rs"]
mod data;

use glam::DVec3;
use serde_json::Value;
use throng::import::bvh::{self, BvhOptions, BvhProblem, PositionReason};
use throng::import::{Imported, Refusal};
use throng::rig::{Role, Side};

/// Every BVH file of the data that shall load, with its facts.
fn files() -> Vec<(String, Value, Imported)> {
    let Some(dir) = data::data_dir() else { return Vec::new() };
    let mut out = Vec::new();
    for (name, facts) in data::facts(&dir) {
        if !name.ends_with(".bvh") || facts["loads"] == "refused" {
            continue;
        }
        let imported = bvh::load(dir.join(&name)).unwrap_or_else(|error| panic!("{error}"));
        out.push((name, facts, imported));
    }
    assert!(out.len() >= 15, "only {} files", out.len());
    out
}

/// Position of a joint by its name, in file space.
fn place(imported: &Imported, models: &[glam::DMat4], name: &str) -> DVec3 {
    // `Bone[1]` is joint 1, where the name alone does not tell.
    let joint = match name.split_once('[') {
        Some((_, index)) => index.trim_end_matches(']').parse::<usize>().expect("an index"),
        None => usize::from(imported.character.skeleton.find(name).expect("a joint of that name")),
    };
    data::to_file_space(imported, models[joint].w_axis.truncate())
}

fn vector(value: &Value) -> DVec3 {
    let values = value.as_array().expect("three numbers");
    DVec3::from_slice(&values.iter().map(|v| v.as_f64().expect("a number")).collect::<Vec<_>>())
}

#[test]
fn joints_parents_end_sites_and_motion_are_those_of_the_file() {
    for (name, facts, imported) in files() {
        let skeleton = &imported.character.skeleton;
        let joints = facts["joints"].as_array().expect("joints");
        assert_eq!(joints.len(), skeleton.joints.len(), "{name}");
        for (joint, want) in skeleton.joints.iter().zip(joints) {
            assert_eq!(want[0], joint.name.as_str(), "{name}");
            let parent = joint.parent.map_or(-1, i64::from);
            assert_eq!(want[1].as_i64(), Some(parent), "{name}: parent of {}", joint.name);
        }
        let report = imported.report.bvh.as_ref().expect("a report");
        let motion = &facts["motion"];
        assert_eq!(motion["frames"].as_u64(), Some(report.frames as u64), "{name}");
        assert_eq!(motion["channel_columns"].as_u64(), Some(report.columns as u64), "{name}");
        assert_eq!(motion["frame_time_s"].as_f64(), Some(report.frame_time), "{name}");
        assert_eq!(facts["end_sites"].as_u64(), Some(report.end_sites.len() as u64), "{name}");
        assert_eq!(motion["first_frame_is_calibration_pose"], report.calibration, "{name}");
        let clip = &imported.clips[0];
        let first = if report.calibration { report.frame_time } else { 0.0 };
        let duration = motion["duration_s"].as_f64().expect("duration");
        assert!((f64::from(clip.start) - first).abs() < 1e-6, "{name}");
        assert!((f64::from(clip.start + clip.duration) - duration).abs() < 1e-5, "{name}");
    }
}

#[test]
fn positions_replace_or_add_as_makes_the_file_whole() {
    for (name, facts, imported) in files() {
        let report = imported.report.bvh.as_ref().expect("a report");
        match facts["motion"]["position_convention"].as_str().expect("convention") {
            "either" => assert_eq!(report.positions, Some(PositionReason::NoDifference), "{name}"),
            "add" => assert!(report.added, "{name}: {report:?}"),
            "replace" => assert!(!report.added, "{name}: {report:?}"),
            other => panic!("{name}: {other}"),
        }
    }
}

/// First frame and one in the middle, at the precision that single floats leave at that distance from the origin.
#[test]
fn poses_agree_by_either_reading_of_positions() {
    let Some(dir) = data::data_dir() else { return };
    let mut poses = 0;
    for (name, facts, imported) in files() {
        let added = imported.report.bvh.as_ref().expect("a report").added;
        let other = if added { bvh::BvhPositions::Replace } else { bvh::BvhPositions::Add };
        let other = BvhOptions { positions: other, ..BvhOptions::default() };
        let other = bvh::load_with(dir.join(&name), &other).unwrap_or_else(|error| panic!("{error}"));
        let keys = [
            ("fk_frame0", &imported),
            ("fk_mid", &imported),
            ("fk_frame0_other_convention", &other),
            ("fk_mid_other_convention", &other),
        ];
        for (key, imported) in keys {
            let facts = &facts["motion"][key];
            let Some(positions) = facts["positions"].as_object() else { continue };
            let frame = facts["frame"].as_f64().expect("frame");
            let time = frame * imported.report.bvh.as_ref().expect("a report").frame_time;
            let models = data::clip_models(&imported.character.skeleton, &imported.clips[0], time);
            for (joint, want) in positions {
                let want = vector(want);
                let have = place(imported, &models, joint);
                let gap = have.distance(want);
                assert!(
                    gap < 2e-6 * (want.length() + 20.0),
                    "{name} {key}: {joint} {have} {want} off by {gap}"
                );
                poses += 1;
            }
        }
    }
    println!("{poses} positions");
    assert!(poses == 0 || poses > 100, "{poses}");
}

#[test]
fn roles_of_humanoids_are_found_and_only_those() {
    for (name, facts, imported) in files() {
        let roles = &facts["roles"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let named = |role: Role| {
            let joint = imported.roles.joint(role)?;
            Some(imported.character.skeleton.joints[usize::from(joint)].name.clone())
        };
        if facts["kind"] != "humanoid" {
            continue;
        }
        assert_eq!(named(Role::Hips), text(&roles["hips"]), "{name}");
        assert_eq!(named(Role::Head), text(&roles["head"]), "{name}");
        for i in 0..8_u8 {
            assert_eq!(named(Role::Spine(i)), text(&roles["spine"][usize::from(i)]), "{name}: spine {i}");
            assert_eq!(named(Role::Neck(i)), text(&roles["neck"][usize::from(i)]), "{name}: neck {i}");
        }
        let sided: [(&str, fn(Side) -> Role); 8] = [
            ("clavicle", Role::Clavicle),
            ("upper_arm", Role::UpperArm),
            ("forearm", Role::Forearm),
            ("hand", Role::Hand),
            ("thigh", Role::Thigh),
            ("shin", Role::Shin),
            ("foot", Role::Foot),
            ("toe", Role::Toe),
        ];
        for (side, key) in Side::BOTH.into_iter().zip(["left", "right"]) {
            for (part, role) in sided {
                assert_eq!(named(role(side)), text(&roles[key][part]), "{name}: {key} {part}");
            }
        }
    }
}

#[test]
fn lengths_axes_and_units_agree() {
    let mut checked = 0;
    for (name, facts, imported) in files() {
        let Some(lengths) = facts["lengths_rest"].as_object() else { continue };
        let rest = data::rest_positions(&imported.character.skeleton);
        let at =
            |role: Role| Some(data::to_file_space(&imported, rest[usize::from(imported.roles.joint(role)?)]));
        type Sided = fn(Side) -> Role;
        let pairs: [(&str, Sided, Sided); 5] = [
            ("thigh", Role::Thigh, Role::Shin),
            ("shin", Role::Shin, Role::Foot),
            ("foot", Role::Foot, Role::Toe),
            ("upper_arm", Role::UpperArm, Role::Forearm),
            ("forearm", Role::Forearm, Role::Hand),
        ];
        for (what, upper, lower) in pairs {
            for (side, key) in Side::BOTH.into_iter().zip(["left", "right"]) {
                if let (Some(a), Some(b), Some(want)) =
                    (at(upper(side)), at(lower(side)), lengths[what][key].as_f64())
                {
                    let have = a.distance(b);
                    assert!((have - want).abs() < 1e-5 * want, "{name}: {what} {key} {have} {want}");
                    checked += 1;
                }
            }
        }
        // The conversion takes the file's axes to +Y up and +Z ahead, as near as it turns in quarters.
        let rotation = imported.report.conversion.rotation.as_dquat();
        let axis = |text: &Value| {
            let text = text.as_str().expect("an axis");
            let axis = match &text[1..] {
                "X" => DVec3::X,
                "Y" => DVec3::Y,
                _ => DVec3::Z,
            };
            if text.starts_with('-') { -axis } else { axis }
        };
        assert!((rotation * axis(&facts["up"])).y > 0.999, "{name}");
        assert!((rotation * axis(&facts["forward"])).z > 0.999, "{name}");
        let scale = f64::from(imported.report.conversion.scale);
        match facts["unit_scale"].as_f64() {
            Some(unit) => assert!((scale / unit - 1.0).abs() < 1e-4, "{name}: {scale} {unit}"),
            // Nobody knows: an adult.
            None => {
                let leg = scale * lengths["leg_sum"].as_f64().expect("leg");
                assert!((leg - 0.85).abs() < 0.01, "{name}: {leg}");
            }
        }
        let from_frame = facts["axes_from"].as_str().is_some_and(|from| from.starts_with("frame 0"));
        let report = imported.report.bvh.as_ref().expect("a report");
        assert_eq!(report.rest_frame, from_frame.then_some(0), "{name}");
    }
    assert!(checked == 0 || checked > 60, "{checked}");
}

#[test]
fn malformed_files_are_refused_for_their_reason_where_it_is() {
    let Some(dir) = data::data_dir() else { return };
    let mut refused = 0;
    for (name, facts) in data::facts(&dir) {
        if !name.ends_with(".bvh") || facts["loads"] != "refused" {
            continue;
        }
        let error = bvh::load(dir.join(&name)).expect_err(&name);
        let shown = error.to_string();
        let Refusal::Bvh(error) = error.kind else { panic!("{shown}") };
        let (reason, line) = match &error.problem {
            BvhProblem::ChannelCount { declared: 6, listed: 3, joint } if joint == "Hips" => {
                ("channel_count", 5)
            }
            BvhProblem::FrameCount { declared: 4, found: 2 } => ("frame_count", 16),
            BvhProblem::FrameWidth { frame: 1, have: 5, need: 6 } => ("frame_width", 15),
            BvhProblem::MissingHierarchy { .. } => ("missing_hierarchy", 1),
            BvhProblem::NoMotion => ("no_motion", 11),
            BvhProblem::NonFinite { .. } => ("non_finite", 15),
            BvhProblem::UnsupportedChannel { channel, .. } if channel == "Wrotation" => {
                ("unsupported_channel", 5)
            }
            _ => panic!("{shown}"),
        };
        println!("{shown}");
        assert_eq!(facts["reason"], reason, "{shown}");
        let at_end = matches!(error.problem, BvhProblem::FrameCount { .. } | BvhProblem::NoMotion);
        assert!(at_end || error.line == line || reason == "channel_count", "{shown}");
        refused += 1;
    }
    assert_eq!(refused, 7);
}
