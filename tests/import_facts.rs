//! Imported files against facts measured by an independent reader.

#[path = "support/import_data.rs"]
mod data;

use std::collections::HashMap;

use glam::DVec3;
use serde_json::Value;
use throng::import::{Imported, Warning, gltf};
use throng::rig::{DoubtReason, Role, RoleDoubt, Side, propose_roles, roles_from_geometry};

/// Every glTF file of the data with its facts.
fn files() -> Vec<(String, Value, Imported)> {
    let Some(dir) = data::data_dir() else { return Vec::new() };
    let mut out = Vec::new();
    for (name, facts) in data::facts(&dir) {
        if !name.starts_with("gltf/") && !name.starts_with("vrm/") {
            continue;
        }
        match gltf::load(dir.join(&name)) {
            Ok(imported) => out.push((name, facts, imported)),
            Err(error) => assert_eq!(facts["loads"], "refused", "{error}"),
        }
    }
    assert!(out.len() >= 25, "only {} files", out.len());
    out
}

/// Joint of the skeleton that entry `index` of the facts' joint list means.
fn fact_joints(facts: &Value, imported: &Imported) -> Vec<u16> {
    let skeleton = &imported.character.skeleton;
    let listed = facts["joints"].as_array().expect("joints");
    let joints: Vec<u16> = if facts["has_skin"] == true {
        imported.character.skins[0].joints.clone()
    } else {
        let mut joints = (0..skeleton.joints.len() as u16).collect::<Vec<_>>();
        joints.retain(|&joint| !imported.report.virtual_joints[usize::from(joint)]);
        joints.sort_by_key(|&joint| imported.report.nodes[usize::from(joint)]);
        joints
    };
    assert_eq!(joints.len(), listed.len());
    joints
}

#[test]
fn joints_and_parents_are_those_of_the_file() {
    for (name, facts, imported) in files() {
        let skeleton = &imported.character.skeleton;
        let joints = fact_joints(&facts, &imported);
        let virtual_joints = &imported.report.virtual_joints;
        for (index, entry) in facts["joints"].as_array().unwrap().iter().enumerate() {
            let joint = &skeleton.joints[usize::from(joints[index])];
            assert_eq!(entry[0], joint.name.as_str(), "{name}");
            // The facts skip ancestors that are no joints of the skin.
            let mut parent = joint.parent;
            while let Some(above) = parent
                && virtual_joints[usize::from(above)]
            {
                parent = skeleton.joints[usize::from(above)].parent;
            }
            let want = entry[1].as_i64().unwrap();
            let have = parent.and_then(|parent| joints.iter().position(|&joint| joint == parent));
            assert_eq!(have.map_or(-1, |at| at as i64), want, "{name}: parent of {}", joint.name);
        }
        for (index, joint) in skeleton.joints.iter().enumerate() {
            assert!(joint.parent.is_none_or(|parent| usize::from(parent) < index), "{name}");
        }
    }
}

fn role_name(facts: &Value, role: Role) -> Option<String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let side = |side: Side, key: &str| match side {
        Side::Left => text(&facts["roles"]["left"][key]),
        Side::Right => text(&facts["roles"]["right"][key]),
    };
    match role {
        Role::Hips => text(&facts["roles"]["hips"]),
        Role::Head => text(&facts["roles"]["head"]),
        Role::Spine(i) => text(&facts["roles"]["spine"][usize::from(i)]),
        Role::Neck(i) => text(&facts["roles"]["neck"][usize::from(i)]),
        Role::Clavicle(s) => side(s, "clavicle"),
        Role::UpperArm(s) => side(s, "upper_arm"),
        Role::Forearm(s) => side(s, "forearm"),
        Role::Hand(s) => side(s, "hand"),
        Role::Thigh(s) => side(s, "thigh"),
        Role::Shin(s) => side(s, "shin"),
        Role::Foot(s) => side(s, "foot"),
        Role::Toe(s) => side(s, "toe"),
        _ => None,
    }
}

fn main_roles() -> Vec<Role> {
    let sided: [fn(Side) -> Role; 8] = [
        Role::Clavicle,
        Role::UpperArm,
        Role::Forearm,
        Role::Hand,
        Role::Thigh,
        Role::Shin,
        Role::Foot,
        Role::Toe,
    ];
    let mut roles = vec![Role::Hips, Role::Head];
    roles.extend((0..6).map(Role::Spine));
    roles.extend((0..4).map(Role::Neck));
    roles.extend(Side::BOTH.into_iter().flat_map(|side| sided.map(|role| role(side))));
    roles
}

#[test]
fn roles_of_humanoids_are_found_by_name_or_shape() {
    let mut checked = 0;
    for (name, facts, imported) in files() {
        if facts["kind"] != "humanoid" {
            // Beasts may have joints with such names, but by their shape none is a body that stands on two legs.
            let shaped = roles_from_geometry(&imported.character.skeleton);
            assert!(facts["kind"] != "quadruped" || shaped.map.is_empty(), "{name}: {:?}", shaped.map);
            continue;
        }
        for role in main_roles() {
            let have = imported
                .roles
                .joint(role)
                .map(|joint| imported.character.skeleton.joints[usize::from(joint)].name.clone());
            assert_eq!(have, role_name(&facts, role), "{name}: {role}");
        }
        let detached = facts["detached_roles"].as_array().is_some_and(|roles| !roles.is_empty());
        let mut doubts = imported.report.roles.doubts.iter();
        let expected = |doubt: &RoleDoubt| detached && doubt.reason == DoubtReason::Detached;
        assert!(doubts.all(expected), "{name}: {:?}", imported.report.roles.doubts);
        checked += 1;
    }
    assert!(checked == 0 || checked >= 25, "{checked}");
}

#[test]
fn names_of_the_wrong_side_or_limb_give_way_to_shape() {
    let Some(dir) = data::data_dir() else { return };
    let imported = gltf::load(dir.join("gltf/m2m/human-male.glb")).expect("loads");
    let skeleton = &imported.character.skeleton;
    let joint = |role| imported.roles.joint(role).expect("a role");
    // Left and right named the other way round, and arms that are called legs.
    let swap = |name: &str, from: &str, to: &str| name.strip_suffix(from).map(|stem| format!("{stem}{to}"));
    let mut mirrored = skeleton.clone();
    for joint in &mut mirrored.joints {
        let other = swap(&joint.name, "_l", "_r").or_else(|| swap(&joint.name, "_r", "_l"));
        joint.name = other.unwrap_or(std::mem::take(&mut joint.name));
    }
    let mut muddled = skeleton.clone();
    for (part, name) in
        [(Role::Thigh as fn(Side) -> Role, "upperarm"), (Role::Shin, "lowerarm"), (Role::Foot, "hand")]
    {
        for side in Side::BOTH {
            let tail = if side == Side::Left { "l" } else { "r" };
            muddled.joints[usize::from(joint(part(side)))].name = format!("{name}_{tail}");
        }
    }
    for (part, name) in
        [(Role::UpperArm as fn(Side) -> Role, "thigh"), (Role::Forearm, "calf"), (Role::Hand, "foot")]
    {
        for side in Side::BOTH {
            let tail = if side == Side::Left { "l" } else { "r" };
            muddled.joints[usize::from(joint(part(side)))].name = format!("{name}_{tail}");
        }
    }
    for (skeleton, silent) in [(mirrored, false), (muddled, true)] {
        let proposal = propose_roles(&skeleton);
        let right = [Role::Thigh, Role::Shin, Role::Foot, Role::UpperArm, Role::Forearm, Role::Hand]
            .into_iter()
            .flat_map(|part| Side::BOTH.map(part))
            .all(|role| proposal.map.joint(role) == imported.roles.joint(role));
        let doubted = !proposal.report.doubts.is_empty() || proposal.report.doubtful().count() > 0;
        assert!(doubted, "silently taken");
        assert!(right || silent, "{:?}", proposal.report);
    }
}

#[test]
fn lengths_and_heights_agree() {
    for (name, facts, imported) in files() {
        let Some(lengths) = facts["lengths_rest"].as_object() else { continue };
        let rest = data::rest_positions(&imported.character.skeleton);
        let place = |role: Role| {
            let joint = imported.roles.joint(role)?;
            Some(data::to_file_space(&imported, rest[usize::from(joint)]))
        };
        let near = |have: f64, want: &Value, what: &str| {
            if let Some(want) = want.as_f64() {
                assert!((have - want).abs() < 1e-3 * want.abs().max(1e-3), "{name}: {what} {have} {want}");
            }
        };
        if imported.roles.is_empty() || facts["kind"] != "humanoid" {
            continue;
        }
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
                // The facts measure a shin whose foot is detached to where the shin ends.
                let detached =
                    facts["detached_roles"].as_array().is_some_and(|d| !d.is_empty()) && what == "shin";
                if let (Some(a), Some(b), false) = (place(upper(side)), place(lower(side)), detached) {
                    near(a.distance(b), &lengths[what][key], what);
                }
            }
        }
        if let Some(hips) = place(Role::Hips) {
            near(hips.y, &lengths["hips_height"], "hips height");
        }
    }
}

#[test]
fn clip_times_and_poses_agree() {
    let (mut clips, mut poses) = (0, 0);
    for (name, facts, imported) in files() {
        let want = facts["clips"].as_object().expect("clips");
        assert_eq!(want.len(), imported.clips.len(), "{name}");
        let skeleton = &imported.character.skeleton;
        let joints = fact_joints(&facts, &imported);
        let by_name: HashMap<&str, u16> = facts["joints"]
            .as_array()
            .unwrap()
            .iter()
            .zip(&joints)
            .rev()
            .map(|(entry, &joint)| (entry[0].as_str().unwrap(), joint))
            .collect();
        for clip in &imported.clips {
            let want = &want[&clip.name];
            clips += 1;
            assert!(
                (f64::from(clip.start) - want["start_s"].as_f64().unwrap()).abs() < 1e-5,
                "{name} {}",
                clip.name
            );
            assert!(
                (f64::from(clip.duration) - want["duration_s"].as_f64().unwrap()).abs() < 1e-5,
                "{name} {}",
                clip.name
            );
            let Some(mid) = want["fk_mid"].as_object() else { continue };
            let leg = facts["lengths_rest"]["leg_sum"].as_f64().unwrap_or_else(|| {
                let rest = data::rest_positions(skeleton);
                rest.iter().map(|p| p.length()).fold(0.0, f64::max)
                    / f64::from(imported.report.conversion.scale)
            });
            let models = data::clip_models(skeleton, clip, mid["time_s"].as_f64().unwrap());
            for (joint, want) in mid["positions"].as_object().unwrap() {
                let want: Vec<f64> = want.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
                // Ends of bones that no skin lists are not joints.
                let Some(&index) = by_name.get(joint.as_str()) else {
                    assert!(joint.ends_with("_end"), "{name}: {joint}");
                    continue;
                };
                let model = models[usize::from(index)];
                let have = data::to_file_space(&imported, model.w_axis.truncate());
                let gap = have.distance(DVec3::from_slice(&want));
                assert!(gap < 1e-3 * leg, "{name} {}: {joint} {have} {want:?} off by {gap}", clip.name);
                poses += 1;
            }
        }
    }
    println!("{clips} clips, {poses} positions");
    assert!(clips == 0 || (clips > 200 && poses > 200));
}

/// Box and vertex count of the skinned rest pose, as the manifest gives them with four digits.
fn manifest_boxes(dir: &std::path::Path) -> HashMap<String, ([f64; 3], [f64; 3], usize)> {
    let text = std::fs::read_to_string(dir.join("MANIFEST.md")).expect("manifest");
    let mut out = HashMap::new();
    let mut file = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("#### `").and_then(|rest| rest.strip_suffix('`')) {
            file = name.to_owned();
        }
        let Some((_, rest)) = line.split_once("mesh box (") else { continue };
        if !line.starts_with("- Rest facts") {
            continue;
        }
        let (low, rest) = rest.split_once(")..(").expect("two corners");
        let (high, rest) = rest.split_once("); ").expect("a count");
        let corner = |text: &str| {
            let values = text.split(", ").map(|v| v.parse::<f64>().expect("a number")).collect::<Vec<_>>();
            [values[0], values[1], values[2]]
        };
        let count = rest.split(' ').next().expect("a count").parse().expect("a number");
        out.insert(file.clone(), (corner(low), corner(high), count));
    }
    out
}

#[test]
fn skinned_rest_boxes_agree() {
    let Some(dir) = data::data_dir() else { return };
    let boxes = manifest_boxes(&dir);
    let mut checked = 0;
    for (name, facts) in data::facts(&dir) {
        let Some((low, high, count)) = boxes.get(&name) else { continue };
        let imported = gltf::load(dir.join(&name)).expect("loads");
        let dropped = |w: &Warning| matches!(w, Warning::MeshWithoutJoint { .. });
        if facts["has_skin"] != true || imported.report.warnings.iter().any(dropped) {
            continue;
        }
        let skeleton = &imported.character.skeleton;
        let models = skeleton.model_matrices(&skeleton.rest_pose());
        let (mut min, mut max, mut vertices) = (DVec3::MAX, DVec3::MIN, 0);
        for mesh in &imported.character.meshes {
            let skin = &imported.character.skins[mesh.skin];
            let matrices = skin
                .joints
                .iter()
                .zip(&skin.inverse_binds)
                .map(|(&joint, bind)| models[usize::from(joint)].as_dmat4() * bind.as_dmat4())
                .collect::<Vec<_>>();
            vertices += mesh.positions.len();
            for ((position, joints), weights) in mesh.positions.iter().zip(&mesh.joints).zip(&mesh.weights) {
                let point = DVec3::from_array(position.map(f64::from));
                let skinned = joints
                    .iter()
                    .zip(weights)
                    .map(|(&entry, &weight)| {
                        matrices[usize::from(entry)].transform_point3(point) * f64::from(weight)
                    })
                    .sum::<DVec3>();
                let skinned = data::to_file_space(&imported, skinned);
                (min, max) = (min.min(skinned), max.max(skinned));
            }
        }
        // The facts count vertices that primitives share once per primitive.
        assert!(
            vertices == *count || (name.starts_with("vrm/") && vertices < *count),
            "{name}: {vertices} {count}"
        );
        let size = DVec3::from_array(*high).distance(DVec3::from_array(*low));
        let gap =
            (min - DVec3::from_array(*low)).abs().max((max - DVec3::from_array(*high)).abs()).max_element();
        assert!(gap < 1e-3 * size, "{name}: {min}..{max} instead of {low:?}..{high:?}");
        checked += 1;
    }
    println!("{checked} boxes");
    assert!(checked >= 15, "{checked}");
}

/// C40.
#[test]
fn every_humanoid_faces_forward_after_import_whatever_its_file_does() {
    let (mut checked, mut turned) = (0, 0);
    for (name, facts, imported) in files() {
        let rest = data::rest_positions(&imported.character.skeleton);
        let place = |role: Role| imported.roles.joint(role).map(|joint| rest[usize::from(joint)]);
        let (Some(left), Some(right)) = (place(Role::Thigh(Side::Left)), place(Role::Thigh(Side::Right)))
        else {
            continue;
        };
        if left.distance(right) < 1e-6 {
            continue;
        }
        // A rest pose that looks between two axes is left as it is.
        let aside = |v: &Value| {
            v.as_array().is_some_and(|v| v.iter().all(|c| c.as_f64().is_some_and(|c| c.abs() < 0.8)))
        };
        if aside(&facts["forward_vec"]) {
            assert_eq!(imported.report.conversion.rotation, glam::Quat::IDENTITY, "{name}");
            continue;
        }
        let across = (left - right).normalize();
        assert!(across.x > 0.85, "{name}: left is {across}");
        let rotation = imported.report.conversion.rotation.as_dquat();
        if facts["forward"] == "-Z" {
            assert!((rotation * DVec3::NEG_Z).z > 0.999, "{name}");
            turned += 1;
        } else if facts["forward"] == "+Z" {
            assert!((rotation * DVec3::Z).z > 0.999, "{name}");
        }
        if let (Some(scale), true) = (facts["unit_scale"].as_f64(), facts["kind"] == "humanoid") {
            assert!((f64::from(imported.report.conversion.scale) - scale).abs() < 1e-6, "{name}");
        }
        checked += 1;
    }
    println!("{checked} humanoids, {turned} of them turned");
    assert!(checked == 0 || (checked >= 18 && turned >= 2));
}
