//! Roles of skeletons as many tools name them, and the turn to house axes that follows from them.

#[path = "support/gltf_builder.rs"]
mod builder;
#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod data;

use builder::Builder;
use glam::{Mat4, Quat, Vec3};
use serde_json::json;
use throng::clip::RootSource;
use throng::import::{Imported, Warning, gltf};
use throng::rig::{
    Confidence, Digit, Limb, RawJoint, RawSkeleton, Role, RoleProposal, Side, Transform, roles_from_names,
};

/// A skeleton from `name<parent` pairs, parents first.
fn skeleton(text: &str) -> RawSkeleton {
    let mut out = RawSkeleton::default();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let (name, parent) = pair.split_once('<').unwrap_or((pair, ""));
        let parent = if parent.is_empty() {
            None
        } else {
            Some(out.find(parent).expect("a parent that was named before"))
        };
        out.joints.push(RawJoint { name: name.to_owned(), parent, rest: Transform::IDENTITY });
    }
    out.validate().expect("parents first");
    out
}

/// Checks `role=name` pairs; names that are not listed must have no role.
fn expect(skeleton: &RawSkeleton, pairs: &str) -> RoleProposal {
    let proposal = roles_from_names(skeleton);
    let have = proposal
        .map
        .iter()
        .map(|(role, joint)| format!("{role}={}", skeleton.joints[usize::from(joint)].name))
        .collect::<std::collections::BTreeSet<_>>();
    let want = pairs
        .split(',')
        .map(|pair| pair.trim().to_owned())
        .filter(|pair| !pair.is_empty())
        .collect::<std::collections::BTreeSet<_>>();
    let missing = want.difference(&have).collect::<Vec<_>>();
    let surplus = have.difference(&want).collect::<Vec<_>>();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:?}, surplus {surplus:?}");
    proposal
}

/// The same lines for the left and the right side: `?` stands for `l`, `r`; `$` for `Left`, `Right`; `^` for `L`, `R`;
/// `#` for `left`, `right`.
fn both(text: &str) -> String {
    let side = |small: &str, word: &str, big: &str, long: &str| {
        text.replace('?', small).replace('$', word).replace('^', big).replace('#', long)
    };
    format!("{}, {}", side("l", "Left", "L", "left"), side("r", "Right", "R", "right"))
}

#[test]
fn mixamo() {
    let trunk = "Hips, Spine<Hips, Spine1<Spine, Spine2<Spine1, Neck<Spine2, Head<Neck, HeadTop_End<Head";
    let sides = both(
        "$Shoulder<Spine2, $Arm<$Shoulder, $ForeArm<$Arm, $Hand<$ForeArm, $HandThumb1<$Hand, $HandThumb2<$HandThumb1, \
         $HandPinky1<$Hand, $HandPinky2<$HandPinky1, $UpLeg<Hips, $Leg<$UpLeg, $Foot<$Leg, $ToeBase<$Foot, $Toe_End<$ToeBase",
    );
    let all = format!("{trunk}, {sides}").replace(", ", ", mixamorig:").replace('<', "<mixamorig:");
    let skeleton = skeleton(&format!("mixamorig:{all}"));
    let roles = format!(
        "hips=Hips, spine.0=Spine, spine.1=Spine1, spine.2=Spine2, neck.0=Neck, head=Head, {}",
        both(
            "#.clavicle=$Shoulder, #.upper_arm=$Arm, #.forearm=$ForeArm, #.hand=$Hand, #.thumb.0=$HandThumb1, #.thumb.1=$HandThumb2, \
             #.little.0=$HandPinky1, #.little.1=$HandPinky2, #.thigh=$UpLeg, #.shin=$Leg, #.foot=$Foot, #.toe=$ToeBase"
        )
    );
    let proposal = expect(&skeleton, &roles.replace('=', "=mixamorig:"));
    assert_eq!(proposal.report.doubtful().count(), 0);
}

#[test]
fn unreal_with_twist_joints_and_controls() {
    let skeleton = skeleton(&format!(
        "root, pelvis<root, spine_01<pelvis, spine_02<spine_01, spine_03<spine_02, neck_01<spine_03, head<neck_01, ik_foot_root<root, {}",
        both(
            "clavicle_?<spine_03, upperarm_?<clavicle_?, upperarm_twist_01_?<upperarm_?, lowerarm_?<upperarm_?, \
             lowerarm_twist_01_?<lowerarm_?, lowerarm_twist_02_?<lowerarm_?, hand_?<lowerarm_?, index_metacarpal_?<hand_?, \
             index_01_?<index_metacarpal_?, index_02_?<index_01_?, index_03_?<index_02_?, thigh_?<pelvis, thigh_twist_01_?<thigh_?, \
             calf_?<thigh_?, calf_twist_01_?<calf_?, foot_?<calf_?, ball_?<foot_?, ik_foot_?<ik_foot_root"
        )
    ));
    let proposal = expect(
        &skeleton,
        &format!(
            "hips=pelvis, spine.0=spine_01, spine.1=spine_02, spine.2=spine_03, neck.0=neck_01, head=head, {}",
            both(
                "#.clavicle=clavicle_?, #.upper_arm=upperarm_?, #.upper_arm_twist.0=upperarm_twist_01_?, #.forearm=lowerarm_?, \
                 #.forearm_twist.0=lowerarm_twist_01_?, #.forearm_twist.1=lowerarm_twist_02_?, #.hand=hand_?, #.index.0=index_01_?, \
                 #.index.1=index_02_?, #.index.2=index_03_?, #.thigh=thigh_?, #.thigh_twist.0=thigh_twist_01_?, #.shin=calf_?, \
                 #.shin_twist.0=calf_twist_01_?, #.foot=foot_?, #.toe=ball_?"
            )
        ),
    );
    let twist = skeleton.find("lowerarm_twist_02_r");
    assert_eq!(proposal.map.joint(Role::Twist(Side::Right, Limb::Forearm, 1)), twist);
}

#[test]
fn biped_counts_its_fingers_from_the_thumb() {
    let skeleton = skeleton(&format!(
        "Bip01, Bip01 Footsteps<Bip01, Bip01 Pelvis<Bip01, Bip01 Spine<Bip01 Pelvis, Bip01 Spine1<Bip01 Spine, Bip01 Neck<Bip01 Spine1, \
         Bip01 Head<Bip01 Neck, Bip01 HeadNub<Bip01 Head, {}",
        both(
            "Bip01 ^ Clavicle<Bip01 Neck, Bip01 ^ UpperArm<Bip01 ^ Clavicle, Bip01 ^ Forearm<Bip01 ^ UpperArm, Bip01 ^ Hand<Bip01 ^ Forearm, \
             Bip01 ^ Finger0<Bip01 ^ Hand, Bip01 ^ Finger01<Bip01 ^ Finger0, Bip01 ^ Finger0Nub<Bip01 ^ Finger01, Bip01 ^ Finger2<Bip01 ^ Hand, \
             Bip01 ^ Finger21<Bip01 ^ Finger2, Bip01 ^ Thigh<Bip01 Spine, Bip01 ^ Calf<Bip01 ^ Thigh, Bip01 ^ Foot<Bip01 ^ Calf, \
             Bip01 ^ Toe0<Bip01 ^ Foot, Bip01 ^ Toe0Nub<Bip01 ^ Toe0"
        )
    ));
    let roles = format!(
        "hips=Pelvis, spine.0=Spine, spine.1=Spine1, neck.0=Neck, head=Head, {}",
        both(
            "#.clavicle=^ Clavicle, #.upper_arm=^ UpperArm, #.forearm=^ Forearm, #.hand=^ Hand, #.thumb.0=^ Finger0, #.thumb.1=^ Finger01, \
             #.middle.0=^ Finger2, #.middle.1=^ Finger21, #.thigh=^ Thigh, #.shin=^ Calf, #.foot=^ Foot, #.toe=^ Toe0"
        )
    );
    expect(&skeleton, &roles.replace('=', "=Bip01 "));
}

#[test]
fn daz_and_vrm() {
    let daz = skeleton(&format!(
        "hip, pelvis<hip, abdomenLower<hip, abdomenUpper<abdomenLower, chestLower<abdomenUpper, chestUpper<chestLower, neckLower<chestUpper, \
         neckUpper<neckLower, head<neckUpper, {}",
        both(
            "?Collar<chestUpper, ?ShldrBend<?Collar, ?ForearmBend<?ShldrBend, ?Hand<?ForearmBend, ?Carpal1<?Hand, ?Index1<?Carpal1, ?Mid1<?Hand, \
             ?ThighBend<pelvis, ?Shin<?ThighBend, ?Foot<?Shin, ?Toe<?Foot, ?BigToe<?Toe"
        )
    ));
    // The spine does not descend from the pelvis, so that the hip carries the body.
    expect(
        &daz,
        &format!(
            "hips=hip, spine.0=abdomenLower, spine.1=abdomenUpper, spine.2=chestLower, spine.3=chestUpper, neck.0=neckLower, neck.1=neckUpper, \
             head=head, {}",
            both(
                "#.clavicle=?Collar, #.upper_arm=?ShldrBend, #.forearm=?ForearmBend, #.hand=?Hand, #.index.0=?Index1, #.middle.0=?Mid1, \
                 #.thigh=?ThighBend, #.shin=?Shin, #.foot=?Foot, #.toe=?Toe"
            )
        ),
    );
    let vrm = skeleton(&format!(
        "J_Bip_C_Hips, J_Bip_C_Spine<J_Bip_C_Hips, J_Bip_C_Chest<J_Bip_C_Spine, J_Bip_C_UpperChest<J_Bip_C_Chest, J_Bip_C_Neck<J_Bip_C_UpperChest, \
         J_Bip_C_Head<J_Bip_C_Neck, J_Sec_Hair1<J_Bip_C_Head, {}",
        both(
            "J_Bip_^_Shoulder<J_Bip_C_UpperChest, J_Bip_^_UpperArm<J_Bip_^_Shoulder, J_Bip_^_LowerArm<J_Bip_^_UpperArm, \
             J_Bip_^_Hand<J_Bip_^_LowerArm, J_Bip_^_Little1<J_Bip_^_Hand, J_Bip_^_UpperLeg<J_Bip_C_Hips, J_Bip_^_LowerLeg<J_Bip_^_UpperLeg, \
             J_Bip_^_Foot<J_Bip_^_LowerLeg, J_Bip_^_ToeBase<J_Bip_^_Foot, J_Adj_^_FaceEye<J_Bip_C_Head"
        )
    ));
    expect(
        &vrm,
        &format!(
            "hips=J_Bip_C_Hips, spine.0=J_Bip_C_Spine, spine.1=J_Bip_C_Chest, spine.2=J_Bip_C_UpperChest, neck.0=J_Bip_C_Neck, head=J_Bip_C_Head, {}",
            both(
                "#.clavicle=J_Bip_^_Shoulder, #.upper_arm=J_Bip_^_UpperArm, #.forearm=J_Bip_^_LowerArm, #.hand=J_Bip_^_Hand, #.little.0=J_Bip_^_Little1, \
                 #.thigh=J_Bip_^_UpperLeg, #.shin=J_Bip_^_LowerLeg, #.foot=J_Bip_^_Foot, #.toe=J_Bip_^_ToeBase"
            )
        ),
    );
}

#[test]
fn rigs_that_say_leg_and_knee_or_shoulder_and_elbow() {
    let skeleton = skeleton(&format!(
        "Hips, Chest<Hips, Neck<Chest, Head<Neck, {}",
        both(
            "$Collar<Chest, $Shoulder<$Collar, $Elbow<$Shoulder, $Wrist<$Elbow, $Hip<Hips, $Knee<$Hip, $Ankle<$Knee, $Toe<$Ankle"
        )
    ));
    expect(
        &skeleton,
        &format!(
            "hips=Hips, spine.0=Chest, neck.0=Neck, head=Head, {}",
            both(
                "#.clavicle=$Collar, #.upper_arm=$Shoulder, #.forearm=$Elbow, #.hand=$Wrist, #.thigh=$Hip, #.shin=$Knee, #.foot=$Ankle, #.toe=$Toe"
            )
        ),
    );
}

#[test]
fn what_is_no_body_has_no_roles() {
    for text in [
        "",
        "root, wheel_front_left<root, wheel_back_left<root",
        "#0, #1<#0, #2<#1",
        "Tail1, Tail2<Tail1, Ear.L<Tail1",
    ] {
        let skeleton = if text.is_empty() { RawSkeleton::default() } else { skeleton(text) };
        assert!(roles_from_names(&skeleton).map.is_empty(), "{text}");
    }
}

#[test]
fn feet_that_hang_elsewhere_are_found_and_doubted() {
    let skeleton = skeleton(
        "Root, Foot.L<Root, Hips<Root, Torso<Hips, Head<Torso, UpperLeg.L<Hips, LowerLeg.L<UpperLeg.L, UpperLeg.R<Hips, LowerLeg.R<UpperLeg.R, Foot.R<LowerLeg.R",
    );
    let proposal = roles_from_names(&skeleton);
    let doubtful =
        proposal.report.doubtful().map(|finding| (finding.role, finding.confidence)).collect::<Vec<_>>();
    assert_eq!(doubtful, [(Role::Foot(Side::Left), Confidence::NameOnly)]);
}

#[test]
fn fingers_of_the_data_files() {
    let Some(dir) = data::data_dir() else { return };
    let load = |name: &str| gltf::load(dir.join("gltf").join(name)).expect("loads");
    let fingers = |imported: &Imported, side: Side| {
        let counts = Digit::ALL.map(|digit| {
            (0..4).filter(|&i| imported.roles.joint(Role::Finger(side, digit, i)).is_some()).count()
        });
        counts.to_vec()
    };
    for side in Side::BOTH {
        assert_eq!(fingers(&load("ual/human-base-animations.glb"), side), [3, 3, 3, 3, 3]);
        assert_eq!(fingers(&load("m2m/human-male.glb"), side), [3, 3, 3, 3, 3]);
        assert_eq!(fingers(&load("ozz_pab/pab_arnaud.glb"), side), [3, 3, 3, 3, 3]);
        assert_eq!(fingers(&load("quaternius/men_Casual.glb"), side), [2, 3, 3, 3, 3]);
        assert_eq!(fingers(&load("cmu91/cmu_91_48.glb"), side), [2, 2, 2, 2, 2]);
        // Its thumbs hang on the arm of the other side.
        assert_eq!(fingers(&load("quaternius/KnightCharacter.glb"), side)[0], 0);
    }
}

/// A figure of ten joints that faces +Z with +Y up, before `axes` and `units`; a clip walks it 2 m forward.
fn figure(axes: Quat, units: f32) -> Builder {
    let mut file = Builder::new();
    let places = [
        ("Hips", [0.0, 0.9, 0.0], vec![1, 4, 7]),
        ("Spine", [0.0, 0.2, 0.0], vec![2]),
        ("Neck", [0.0, 0.3, 0.0], vec![3]),
        ("Head", [0.0, 0.1, 0.0], vec![]),
        ("LeftUpLeg", [0.1, 0.0, 0.0], vec![5]),
        ("LeftLeg", [0.0, -0.45, 0.0], vec![6]),
        ("LeftFoot", [0.0, -0.4, 0.0], vec![]),
        ("RightUpLeg", [-0.1, 0.0, 0.0], vec![8]),
        ("RightLeg", [0.0, -0.45, 0.0], vec![9]),
        ("RightFoot", [0.0, -0.4, 0.0], vec![]),
    ];
    let turned = |place: [f32; 3]| (axes.inverse() * Vec3::from_array(place) / units).to_array();
    for (name, place, children) in &places {
        let mut node = json!({ "name": name, "translation": turned(*place) });
        if !children.is_empty() {
            node["children"] = json!(children);
        }
        file.node(node);
    }
    let hips = turned([0.0, 0.9, 0.0]).map(|value| -value);
    let bind = file.floats("MAT4", &Mat4::from_translation(hips.into()).to_cols_array());
    let skin = file.skin(json!({ "joints": [0, 6], "inverseBindMatrices": bind }));
    file.document["skins"][skin]["joints"] = json!([0]);
    let triangle =
        file.triangle(&[turned([0.3, 1.0, 0.0]), turned([0.0, 1.0, 0.4]), turned([0.0, 2.0, 0.0])], 0);
    let mesh = file.mesh(vec![triangle]);
    file.node(json!({ "mesh": mesh, "skin": skin }));
    // Joints beyond the first are reached as a second skin.
    file.skin(json!({ "joints": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }));
    let times = file.floats("SCALAR", &[0.0, 1.0]);
    let path = [turned([0.0, 0.9, 0.0]), turned([0.0, 0.9, 2.0])].concat();
    let path = file.floats("VEC3", &path);
    let spin =
        [Quat::IDENTITY, axes.inverse() * Quat::from_rotation_y(0.5) * axes].map(|q| q.to_array()).concat();
    let spin = file.floats("VEC4", &spin);
    file.clip("walk", &[(0, "translation", "LINEAR", times, path), (0, "rotation", "LINEAR", times, spin)]);
    file
}

#[test]
fn axes_and_units_are_turned_to_those_of_the_house() {
    let quarter = std::f32::consts::FRAC_PI_2;
    let lying = Quat::from_rotation_x(-quarter);
    for (axes, units) in [
        (Quat::IDENTITY, 1.0),
        (Quat::from_rotation_y(2.0 * quarter), 1.0),
        (Quat::from_rotation_y(quarter), 1.0),
        (Quat::from_rotation_y(-quarter), 0.01),
        (lying, 0.01),
        (lying * Quat::from_rotation_z(2.0 * quarter), 0.001),
    ] {
        let imported = gltf::load_bytes(&figure(axes, units).glb(), None).expect("loads");
        let conversion = imported.report.conversion;
        assert!(conversion.rotation.angle_between(axes) < 1e-3, "{axes}: {}", conversion.rotation);
        assert_eq!(conversion.scale, units);
        let skeleton = &imported.character.skeleton;
        let rest = data::rest_positions(skeleton);
        let place = |role: Role| rest[usize::from(imported.roles.joint(role).expect("a role"))].as_vec3();
        assert!(place(Role::Hips).distance(Vec3::new(0.0, 0.9, 0.0)) < 1e-5);
        assert!(place(Role::Foot(Side::Left)).distance(Vec3::new(0.1, 0.05, 0.0)) < 1e-5);
        assert!(place(Role::Head).distance(Vec3::new(0.0, 1.5, 0.0)) < 1e-5);
        // The mesh goes along.
        let mesh = &imported.character.meshes[0];
        let bind = imported.character.skins[mesh.skin].inverse_binds[0];
        let models = skeleton.model_matrices(&skeleton.rest_pose());
        let tip = (models[0] * bind).transform_point3(Vec3::from_array(mesh.positions[1]));
        assert!(tip.distance(Vec3::new(0.0, 1.0, 0.4)) < 1e-5, "{tip}");
        // So do the tracks: 2 m forward, half a radian to the left.
        let end = data::clip_models(skeleton, &imported.clips[0], 1.0);
        assert!(end[0].w_axis.truncate().as_vec3().distance(Vec3::new(0.0, 0.9, 2.0)) < 1e-4);
        let forward = (end[0] * models[0].as_dmat4().inverse()).transform_vector3(glam::DVec3::Z).as_vec3();
        assert!(forward.distance(Quat::from_rotation_y(0.5) * Vec3::Z) < 1e-4, "{forward}");
        assert_eq!(imported.clips[0].root, RootSource::Hips);
        let turned = imported.report.warnings.iter().any(|w| matches!(w, Warning::AxesTurned { .. }));
        assert_eq!(turned, axes != Quat::IDENTITY);
    }
}

#[test]
fn a_rest_pose_that_looks_a_little_aside_is_left_alone() {
    let imported = gltf::load_bytes(&figure(Quat::from_rotation_y(0.3), 1.0).glb(), None).expect("loads");
    assert_eq!(imported.report.conversion.rotation, Quat::IDENTITY);
}
