//! VRM 0.x, 1.0 and VRM animations: the humanoid map, facing, and the raw data of what swings, aims and looks.

use glam::{DQuat, DVec3};
use serde_json::{Value, json};
use throng::clip::{Curve, Interpolation, JointTracks, RawClip};
use throng::import::vrm::{Vrm, VrmConstraintKind, VrmKind};
use throng::import::{self, Imported, Warning};
use throng::retarget::{BindSource, motion_keys};
use throng::rig::{Digit, ReferencePose, Rig, RigSource, Role, Side};

#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod import_data;

/// A GLB without binary part.
fn document(value: &Value) -> Vec<u8> {
    let mut text = value.to_string().into_bytes();
    while !text.len().is_multiple_of(4) {
        text.push(b' ');
    }
    let mut glb = b"glTF\x02\0\0\0".to_vec();
    glb.extend_from_slice(&(20 + text.len() as u32).to_le_bytes());
    glb.extend_from_slice(&(text.len() as u32).to_le_bytes());
    glb.extend_from_slice(b"JSON");
    glb.extend_from_slice(&text);
    glb
}

/// Bones without telling names, one after the other up, legs to the sides, looking along `ahead` * +Z.
fn body(ahead: f32, extensions: Value) -> Imported {
    let bones: [(&str, i64, [f32; 3]); 9] = [
        ("a", -1, [0.0, 1.0, 0.0]),
        ("b", 0, [0.0, 0.2, 0.0]),
        ("c", 1, [0.0, 0.3, 0.0]),
        ("d", 0, [0.1 * ahead, 0.0, 0.0]),
        ("e", 3, [0.0, -0.45, 0.0]),
        ("f", 4, [0.0, -0.45, 0.0]),
        ("g", 0, [-0.1 * ahead, 0.0, 0.0]),
        ("h", 6, [0.0, -0.45, 0.0]),
        ("i", 7, [0.0, -0.45, 0.0]),
    ];
    let nodes: Vec<Value> = (0..bones.len())
        .map(|at| {
            let (name, _, translation) = bones[at];
            let children: Vec<usize> = (0..bones.len()).filter(|&k| bones[k].1 == at as i64).collect();
            let mut node = json!({ "name": name, "translation": translation });
            if !children.is_empty() {
                node["children"] = json!(children);
            }
            node
        })
        .collect();
    let used: Vec<&String> = extensions.as_object().expect("an object").keys().collect();
    let value = json!({
        "asset": { "version": "2.0" }, "nodes": nodes, "scenes": [{ "nodes": [0] }],
        "extensionsUsed": used, "extensions": extensions,
    });
    import::gltf::load_bytes(&document(&value), None).expect("loads")
}

const BONES: [(&str, u32); 8] = [
    ("hips", 0),
    ("spine", 1),
    ("head", 2),
    ("leftUpperLeg", 3),
    ("leftLowerLeg", 4),
    ("leftFoot", 5),
    ("rightUpperLeg", 6),
    ("rightLowerLeg", 7),
];

fn zero() -> Imported {
    let bones: Vec<Value> = BONES.iter().map(|(bone, node)| json!({ "bone": bone, "node": node })).collect();
    body(-1.0, json!({ "VRM": { "humanoid": { "humanBones": bones } } }))
}

fn one() -> Imported {
    let bones: serde_json::Map<String, Value> =
        BONES.iter().map(|(bone, node)| ((*bone).to_owned(), json!({ "node": node }))).collect();
    body(1.0, json!({ "VRMC_vrm": { "specVersion": "1.0", "humanoid": { "humanBones": bones } } }))
}

/// C40: 0.x looks along -Z, 1.0 along +Z; after the import both look along +Z, and the same clip moves both along the
/// same axis.
#[test]
fn both_versions_look_the_same_way_and_go_the_same_way() {
    let ways: Vec<DVec3> = [zero(), one()]
        .into_iter()
        .map(|imported| {
            let (skeleton, roles) = (&imported.character.skeleton, &imported.roles);
            assert_eq!(
                roles.joint(Role::Hips).map(|j| skeleton.joints[usize::from(j)].name.as_str()),
                Some("a")
            );
            let rest = skeleton.model_matrices(&skeleton.rest_pose());
            let left = roles.joint(Role::Thigh(Side::Left)).expect("a leg");
            assert!((rest[usize::from(left)].w_axis.x - 0.1).abs() < 1e-6, "left is +X");
            let rig = Rig::build(&RigSource::new(&imported.character, roles)).expect("a rig");
            // Another skeleton's clip: a metre ahead.
            let source = one();
            let tracks = vec![JointTracks {
                joint: source.roles.joint(Role::Hips).expect("hips"),
                translation: Some(Curve {
                    times: vec![0.0, 1.0],
                    values: vec![glam::Vec3::new(0.0, 1.0, 0.0), glam::Vec3::new(0.0, 1.0, 1.0)],
                    interpolation: Interpolation::Linear,
                }),
                ..JointTracks::default()
            }];
            let clip = RawClip { name: "ahead".into(), duration: 1.0, tracks, ..RawClip::default() };
            let reference = ReferencePose::aligned(&source.character.skeleton, &source.roles);
            let from = BindSource {
                skeleton: &source.character.skeleton,
                roles: &source.roles,
                reference: &reference,
            };
            let keys = motion_keys(from, &clip, &rig, 30.0).expect("binds");
            let [x, z, yaw] = *keys.root.last().expect("keys");
            DQuat::from_rotation_y(yaw) * DVec3::new(x, 0.0, z)
        })
        .collect();
    assert!(ways[0].distance(ways[1]) < 1e-9 && ways[0].z > 0.9, "{ways:?}");
}

#[test]
fn the_file_says_what_names_do_not() {
    let imported = one();
    assert_eq!(imported.roles.len(), BONES.len());
    assert_eq!(imported.vrm.as_ref().map(|vrm| vrm.kind), Some(VrmKind::One));
    let thumb = ["Metacarpal", "Proximal", "Distal"];
    let bones: serde_json::Map<String, Value> = [("hips", 0), ("chest", 1), ("upperChest", 2)]
        .into_iter()
        .map(|(bone, node)| (bone.to_owned(), json!({ "node": node })))
        .chain(
            thumb.iter().zip(3..).map(|(part, node)| (format!("leftThumb{part}"), json!({ "node": node }))),
        )
        .collect();
    let imported = body(1.0, json!({ "VRMC_vrm": { "humanoid": { "humanBones": bones } } }));
    let roles = &imported.roles;
    // The spine is counted, whichever of its bones there are.
    assert_eq!((roles.joint(Role::Spine(0)), roles.joint(Role::Spine(1))), (Some(1), Some(2)));
    for phalanx in 0..3 {
        assert!(roles.joint(Role::Finger(Side::Left, Digit::Thumb, phalanx)).is_some());
    }
}

#[test]
fn an_extension_that_makes_no_sense_is_a_warning() {
    for extension in
        [json!(3), json!({ "humanoid": [1, 2] }), json!({ "humanoid": { "humanBones": { "hips": 4 } } })]
    {
        let imported = body(1.0, json!({ "VRMC_vrm": extension }));
        assert!(imported.vrm.is_none());
        let told = |warning: &Warning| matches!(warning, Warning::VrmUnreadable { .. });
        assert!(imported.report.warnings.iter().any(told), "{:?}", imported.report.warnings);
    }
    let nowhere = json!({ "VRMC_vrm": { "humanoid": { "humanBones": { "hips": { "node": 99 } } } } });
    let imported = body(1.0, nowhere);
    assert!(imported.report.warnings.iter().any(|warning| matches!(warning, Warning::HumanBone { .. })));
}

#[test]
fn real_files_say_what_their_manifest_says() {
    let Some(data) = import_data::data_dir() else { return };
    let facts = import_data::facts(&data);
    let mut seen = 0;
    for (name, fact) in facts.iter().filter(|(name, _)| name.starts_with("vrm/")) {
        let imported = import::load(data.join(name)).expect(name);
        let vrm: &Vrm = imported.vrm.as_ref().unwrap_or_else(|| panic!("{name} is no VRM"));
        let kind = match (fact["vrm"].as_str(), fact["vrma"].as_bool()) {
            (Some("0.x"), _) => VrmKind::Zero,
            (Some(_), _) => VrmKind::One,
            _ => VrmKind::Animation,
        };
        assert_eq!(vrm.kind, kind, "{name}");
        for (role, joint) in [("hips", Role::Hips), ("head", Role::Head)] {
            let found = imported.roles.joint(joint);
            let found =
                found.map(|joint| imported.character.skeleton.joints[usize::from(joint)].name.clone());
            assert_eq!(found.as_deref(), fact["roles"][role].as_str(), "{name} {role}");
        }
        seen += 1;
    }
    assert!(seen > 8);
    let load = |name: &str| import::load(data.join(name)).expect(name).vrm.expect("a VRM");
    let robot = load("vrm/debug_robot.vrm");
    assert_eq!(robot.human_bones.len(), 53);
    assert_eq!(robot.meta.authors, ["@saturday06"]);
    assert!(robot.look_at.is_some() && robot.expressions.len() > 10);
    let godette = load("vrm/Godette_vrm_v4.vrm");
    assert!(!godette.springs.is_empty() || godette.colliders.is_empty());
    for spring in &godette.springs {
        assert!(spring.joints.iter().all(|joint| joint.radius >= 0.0 && joint.drag <= 1.0), "{spring:?}");
        assert!(spring.colliders.iter().all(|&at| at < godette.colliders.len()));
    }
    println!("Godette: {} springs, {} colliders", godette.springs.len(), godette.colliders.len());
}

#[test]
fn damaged_files_load_with_the_warning_that_they_deserve() {
    let Some(data) = import_data::data_dir() else { return };
    let load = |name: &str| import::load(data.join("invalid/vrm").join(name));
    let warns = |name: &str, told: fn(&Warning) -> bool| {
        let imported = load(name).expect(name);
        assert!(imported.report.warnings.iter().any(told), "{name}: {:?}", imported.report.warnings);
    };
    warns("duplicate_humanoid_bone.vrm", |warning| matches!(warning, Warning::HumanBone { .. }));
    warns("missing_spring_collider_group.vrm", |warning| matches!(warning, Warning::ColliderGroup { .. }));
    warns("oob_expression_morph.vrm", |warning| matches!(warning, Warning::ExpressionBind { .. }));
    warns("out_of_range_joints.vrm", |warning| matches!(warning, Warning::InfluenceOutOfRange { .. }));
    assert!(load("nonfinite_transform.vrm").is_err());
}

#[test]
fn constraints_are_kept() {
    let bones: serde_json::Map<String, Value> =
        BONES.iter().map(|(bone, node)| ((*bone).to_owned(), json!({ "node": node }))).collect();
    let mut imported = body(1.0, json!({ "VRMC_vrm": { "humanoid": { "humanBones": bones } } }));
    assert!(imported.vrm.take().expect("a VRM").constraints.is_empty());
    let value = json!({
        "asset": { "version": "2.0" },
        "nodes": [
            { "children": [1, 2] },
            { "extensions": { "VRMC_node_constraint": { "constraint": { "roll": { "source": 2, "rollAxis": "X", "weight": 0.5 } } } } },
            { "extensions": { "VRMC_node_constraint": { "constraint": { "aim": { "source": 0, "aimAxis": "PositiveZ" } } } } }
        ],
        "extensions": { "VRMC_vrm": { "humanoid": { "humanBones": { "hips": { "node": 0 } } } } }
    });
    let vrm = import::gltf::load_bytes(&document(&value), None).expect("loads").vrm.expect("a VRM");
    let kinds: Vec<_> = vrm.constraints.iter().map(|own| (&own.kind, own.weight)).collect();
    assert_eq!(
        kinds,
        [(&VrmConstraintKind::Roll("X".into()), 0.5), (&VrmConstraintKind::Aim("PositiveZ".into()), 1.0)]
    );
}

/// A spring that names a group over and over, and a group that names a collider over and over, are no more than one.
#[test]
fn what_is_named_many_times_is_there_once() {
    let many = |index: usize| vec![index; 20_000];
    let springs = json!({
        "colliders": [{ "node": 0, "shape": { "sphere": { "offset": [0, 0, 0], "radius": 1e39 } } }],
        "colliderGroups": [{ "colliders": many(0) }],
        "springs": [{ "name": "ribbon", "joints": [{ "node": 1 }], "colliderGroups": many(0) }],
    });
    let bones = json!({ "hips": { "node": 0 } });
    let extensions =
        json!({ "VRMC_vrm": { "humanoid": { "humanBones": bones } }, "VRMC_springBone": springs });
    let vrm = body(1.0, extensions).vrm.expect("a VRM");
    assert_eq!(vrm.springs[0].colliders, [0]);
    assert!(vrm.colliders.iter().all(|collider| collider.radius.is_finite()), "{:?}", vrm.colliders);
}
