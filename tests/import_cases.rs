//! Cases that other software got wrong, each as the smallest file that shows it.

#[path = "support/gltf_builder.rs"]
mod builder;
#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod data;

use builder::Builder;
use glam::{DMat4, DVec3, Mat4, Quat, Vec3};
use serde_json::json;
use throng::import::{Imported, Refusal, Warning, gltf};
use throng::rig::MAX_INFLUENCES;

fn load(builder: Builder) -> Imported {
    gltf::load_bytes(&builder.glb(), None).expect("loads")
}

fn refuse(builder: Builder) -> Refusal {
    gltf::load_bytes(&builder.glb(), None).expect_err("is refused").kind
}

/// Vertices of a mesh, skinned in double precision with the given joint matrices.
fn skinned(imported: &Imported, mesh: usize, models: &[DMat4]) -> Vec<DVec3> {
    let mesh = &imported.character.meshes[mesh];
    let skin = &imported.character.skins[mesh.skin];
    let vertex = |at: usize| {
        let point = DVec3::from_array(mesh.positions[at].map(f64::from));
        let influence = |i: usize| {
            let entry = usize::from(mesh.joints[at][i]);
            let matrix = models[usize::from(skin.joints[entry])] * skin.inverse_binds[entry].as_dmat4();
            matrix.transform_point3(point) * f64::from(mesh.weights[at][i])
        };
        (0..MAX_INFLUENCES).map(influence).sum()
    };
    (0..mesh.positions.len()).map(vertex).collect()
}

fn rest(imported: &Imported) -> Vec<DMat4> {
    let skeleton = &imported.character.skeleton;
    skeleton.model_matrices(&skeleton.rest_pose()).iter().map(Mat4::as_dmat4).collect()
}

fn near(have: DVec3, want: [f64; 3]) {
    assert!(have.distance(DVec3::from_array(want)) < 1e-5, "{have} instead of {want:?}");
}

const TRIANGLE: [[f32; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

fn moved(by: [f32; 3]) -> Vec<f32> {
    Mat4::from_translation(Vec3::from_array(by)).to_cols_array().to_vec()
}

/// C01.
#[test]
fn a_node_between_two_joints_counts_and_moves_what_is_below() {
    let mut file = Builder::new();
    let a = file.node(json!({ "name": "A", "children": [1] }));
    let n = file.node(json!({ "name": "N", "translation": [0, 1, 0], "children": [2] }));
    let b = file.node(json!({ "name": "B", "translation": [0, 1, 0] }));
    let binds = file.floats("MAT4", &[moved([0.0; 3]), moved([0.0, -2.0, 0.0])].concat());
    let skin = file.skin(json!({ "joints": [a, b], "inverseBindMatrices": binds }));
    let triangle = file.triangle(&TRIANGLE, 1);
    let mesh = file.mesh(vec![triangle]);
    file.node(json!({ "mesh": mesh, "skin": skin }));
    let times = file.floats("SCALAR", &[0.0, 1.0]);
    let values = file.floats("VEC3", &[0.0, 1.0, 0.0, 0.5, 1.0, 0.0]);
    file.clip("move N", &[(n, "translation", "LINEAR", times, values)]);
    let imported = load(file);
    assert_eq!(imported.character.skeleton.joints.len(), 3);
    assert_eq!(imported.report.virtual_joints, [false, true, false]);
    near(skinned(&imported, 0, &rest(&imported))[0], [1.0, 0.0, 0.0]);
    let end = data::clip_models(&imported.character.skeleton, &imported.clips[0], 1.0);
    near(skinned(&imported, 0, &end)[0], [1.5, 0.0, 0.0]);
}

/// C02.
#[test]
fn the_node_of_a_skinned_mesh_does_not_move_it_but_all_ancestors_of_joints_do() {
    let mut file = Builder::new();
    let joint = file.node(json!({ "name": "J" }));
    let skin = file.skin(json!({ "joints": [joint], "skeleton": joint }));
    let triangle = file.triangle(&TRIANGLE, 0);
    let mesh = file.mesh(vec![triangle]);
    let node = file.node(json!({ "mesh": mesh, "skin": skin, "translation": [5, 0, 0] }));
    file.node(json!({ "scale": [2, 2, 2], "children": [node] }));
    near(skinned(&load(file), 0, &[DMat4::IDENTITY])[0], [1.0, 0.0, 0.0]);

    let mut file = Builder::new();
    let joint = file.node(json!({ "name": "J", "translation": [0, 1, 0] }));
    file.node(json!({ "name": "above", "scale": [2, 2, 2], "translation": [1, 0, 0], "children": [joint] }));
    let skin = file.skin(json!({ "joints": [joint], "skeleton": joint }));
    let triangle = file.triangle(&TRIANGLE, 0);
    let mesh = file.mesh(vec![triangle]);
    file.node(json!({ "mesh": mesh, "skin": skin }));
    let imported = load(file);
    near(skinned(&imported, 0, &rest(&imported))[0], [3.0, 2.0, 0.0]);
    assert!(imported.character.skeleton.joints.iter().all(|joint| joint.rest.scale == Vec3::ONE));
}

/// C03.
#[test]
fn two_roots_without_a_common_ancestor_are_a_forest() {
    let mut file = Builder::new();
    let a = file.node(json!({ "name": "A" }));
    let b = file.node(json!({ "name": "B" }));
    file.node(json!({ "name": "lamp" }));
    file.skin(json!({ "joints": [a, b] }));
    let imported = load(file);
    let joints = &imported.character.skeleton.joints;
    assert_eq!(joints.len(), 2);
    assert!(joints.iter().all(|joint| joint.parent.is_none()));
}

/// C04.
#[test]
fn two_nodes_of_one_name_are_told_apart_by_index() {
    let mut file = Builder::new();
    let first = file.node(json!({ "name": "Bone", "children": [1] }));
    let second = file.node(json!({ "name": "Bone" }));
    file.skin(json!({ "joints": [first, second] }));
    let times = file.floats("SCALAR", &[0.0, 1.0]);
    let values = file.floats("VEC3", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    file.clip("second", &[(second, "translation", "LINEAR", times, values)]);
    let imported = load(file);
    assert_eq!(imported.clips[0].tracks.len(), 1);
    assert_eq!(imported.clips[0].tracks[0].joint, 1);
    assert!(imported.report.warnings.contains(&Warning::DuplicateNames { names: vec!["Bone".to_owned()] }));
}

/// C07.
#[test]
fn a_skin_without_inverse_binds_has_identity() {
    let mut file = Builder::new();
    let joint = file.node(json!({ "translation": [0, 1, 0] }));
    let skin = file.skin(json!({ "joints": [joint] }));
    let triangle = file.triangle(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 0);
    let mesh = file.mesh(vec![triangle]);
    file.node(json!({ "mesh": mesh, "skin": skin }));
    let imported = load(file);
    near(skinned(&imported, 0, &rest(&imported))[0], [0.0, 1.0, 0.0]);
    assert!(imported.report.warnings.contains(&Warning::NoInverseBinds { skin: 0 }));
}

/// C08.
#[test]
fn too_few_inverse_binds_are_refused_or_filled_up_on_request() {
    let file = || {
        let mut file = Builder::new();
        let joints = (0..64).map(|_| file.node(json!({}))).collect::<Vec<_>>();
        let binds = file.floats("MAT4", &moved([0.0, 1.0, 0.0]).repeat(51));
        file.skin(json!({ "joints": joints, "inverseBindMatrices": binds }));
        file
    };
    assert!(matches!(refuse(file()), Refusal::InverseBindCount { skin: 0, have: 51, need: 64 }));
    let options = gltf::ImportOptions { lenient: true };
    let imported = gltf::load_bytes_with(&file().glb(), None, &options).expect("lenient");
    assert_eq!(imported.character.skins[0].inverse_binds[63], Mat4::IDENTITY);
    assert_ne!(imported.character.skins[0].inverse_binds[50], Mat4::IDENTITY);
    assert!(imported.report.warnings.contains(&Warning::InverseBindCount { skin: 0, have: 51, need: 64 }));
}

/// C10.
#[test]
fn joints_and_components_without_channels_keep_their_rest() {
    let mut file = Builder::new();
    file.node(json!({ "translation": [1, 0, 0], "children": [1] }));
    file.node(json!({ "translation": [0, 2, 0], "rotation": [0.0, 0.6, 0.0, 0.8], "children": [2] }));
    let last = file.node(json!({ "translation": [0, 0, 3] }));
    let times = file.floats("SCALAR", &[0.0, 1.0]);
    let turn = file.floats("VEC4", &[0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    file.clip("turn", &[(last, "rotation", "LINEAR", times, turn)]);
    let imported = load(file);
    let pose = imported.clips[0].sample(&imported.character.skeleton, 0.5);
    assert_eq!(pose[0].translation, Vec3::X);
    assert_eq!(pose[1].translation, Vec3::Y * 2.0);
    assert!(pose[1].rotation.angle_between(Quat::from_xyzw(0.0, 0.6, 0.0, 0.8)) < 1e-3);
    assert_eq!(pose[2].translation, Vec3::Z * 3.0);
}

/// C11.
#[test]
fn joints_listed_from_the_leaf_up_are_sorted_and_the_palette_keeps_the_files_order() {
    let mut file = Builder::new();
    let leaf = file.node(json!({ "name": "leaf", "translation": [0, 1, 0] }));
    let mid = file.node(json!({ "name": "mid", "translation": [0, 1, 0], "children": [leaf] }));
    let root = file.node(json!({ "name": "root", "children": [mid] }));
    let binds = [moved([0.0, -2.0, 0.0]), moved([0.0, -1.0, 0.0]), moved([0.0; 3])].concat();
    let binds = file.floats("MAT4", &binds);
    file.skin(json!({ "joints": [leaf, mid, root], "inverseBindMatrices": binds }));
    let imported = load(file);
    let skeleton = &imported.character.skeleton;
    skeleton.validate().expect("parents first");
    let skin = &imported.character.skins[0];
    let names =
        skin.joints.iter().map(|&j| skeleton.joints[usize::from(j)].name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["leaf", "mid", "root"]);
    let models = rest(&imported);
    for (&joint, bind) in skin.joints.iter().zip(&skin.inverse_binds) {
        assert!((models[usize::from(joint)] * bind.as_dmat4()).abs_diff_eq(DMat4::IDENTITY, 1e-6));
    }
}

/// C12.
#[test]
fn normalised_integers_are_scaled_and_clamped_and_rotations_become_unit() {
    let rotation = |component: u32, bytes: &[u8]| {
        let mut file = Builder::new();
        let node = file.node(json!({}));
        let times = file.floats("SCALAR", &[0.0]);
        let values = file.integers("VEC4", component, true, 1, bytes);
        file.clip("c", &[(node, "rotation", "LINEAR", times, values)]);
        load(file).clips[0].tracks[0].rotation.clone().expect("track").values[0]
    };
    let shorts = |values: [i16; 4]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let q = rotation(5122, &shorts([0, 0, 23170, 23170]));
    assert!((q.z - 0.5_f32.sqrt()).abs() < 1e-6 && (q.w - 0.5_f32.sqrt()).abs() < 1e-6, "{q}");
    assert!((q.length() - 1.0).abs() < 1e-6);
    // -32768 is -1 exactly, so the two halves are equal and not 32768 to 32767.
    let q = rotation(5122, &shorts([0, 0, -32768, 32767]));
    assert_eq!(q.z, -q.w);
    let q = rotation(5120, &[0, 0, (-128_i8) as u8, 127]);
    assert_eq!(q.z, -q.w);

    let translation = |component: u32, bytes: &[u8]| {
        let mut file = Builder::new();
        let node = file.node(json!({}));
        let times = file.floats("SCALAR", &[0.0]);
        let values = file.integers("VEC3", component, true, 1, bytes);
        file.clip("c", &[(node, "translation", "LINEAR", times, values)]);
        load(file).clips[0].tracks[0].translation.clone().expect("track").values[0]
    };
    let t = translation(5120, &[90, (-128_i8) as u8, 127]);
    assert!((t.x - 0.708_661).abs() < 1e-6 && t.y == -1.0 && t.z == 1.0, "{t}");
    let t = translation(5121, &[0, 51, 255]);
    assert!((t - Vec3::new(0.0, 0.2, 1.0)).length() < 1e-6, "{t}");
}

/// C14.
#[test]
fn twelve_influences_are_summed_over_all_sets_and_pruned_and_none_is_rigid() {
    let mut file = Builder::new();
    let joints = (0..12).map(|_| file.node(json!({}))).collect::<Vec<_>>();
    let skin = file.skin(json!({ "joints": joints }));
    let position = file.floats("VEC3", TRIANGLE.as_flattened());
    let mut attributes = json!({ "POSITION": position });
    // The first vertex has all twelve, the second none, the third two that do not sum to one.
    for (set, sum) in [0.2_f32, 0.3, 0.5].into_iter().enumerate() {
        let first = (set * 4) as u8;
        let entries = [[first, first + 1, first + 2, first + 3], [3, 3, 3, 3], [first, 0, 0, 0]].concat();
        let part = |share: f32| sum * share;
        let third = if set < 2 { 0.2 } else { 0.0 };
        let values =
            [[part(0.4), part(0.3), part(0.2), part(0.1)], [0.0; 4], [third, 0.0, 0.0, 0.0]].concat();
        attributes[format!("JOINTS_{set}")] = file.integers("VEC4", 5121, false, 3, &entries).into();
        attributes[format!("WEIGHTS_{set}")] = file.floats("VEC4", &values).into();
    }
    let mesh = file.mesh(vec![json!({ "attributes": attributes })]);
    file.node(json!({ "mesh": mesh, "skin": skin }));
    let imported = load(file);
    let mesh = &imported.character.meshes[0];
    let mut all = (0..12_u16)
        .map(|joint| {
            (
                joint,
                [0.2_f64, 0.3, 0.5][usize::from(joint) / 4] * [0.4, 0.3, 0.2, 0.1][usize::from(joint) % 4],
            )
        })
        .collect::<Vec<_>>();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let kept: f64 = all[..8].iter().map(|(_, weight)| weight).sum();
    for (i, (joint, weight)) in all[..8].iter().enumerate() {
        let have = (0..8).find(|&k| mesh.joints[0][k] == *joint).expect("one of the eight largest");
        assert!((f64::from(mesh.weights[0][have]) - weight / kept).abs() < 1e-6);
        assert!(i == 0 || mesh.weights[0][i] <= mesh.weights[0][i - 1]);
    }
    assert!((mesh.weights[0].iter().sum::<f32>() - 1.0).abs() < 1e-6);
    assert_eq!(mesh.joints[1][0], 0);
    assert_eq!(mesh.weights[1][0], 1.0);
    assert!((mesh.weights[2][0] - 0.5).abs() < 1e-6 && (mesh.weights[2][1] - 0.5).abs() < 1e-6);
    let warned = |warning: &dyn Fn(&Warning) -> bool| imported.report.warnings.iter().any(warning);
    assert!(warned(&|w| matches!(w, Warning::InfluencesPruned { vertices: 1, most: 12, .. })));
    assert!(warned(&|w| matches!(w, Warning::WeightlessVertices { vertices: 1, .. })));
}

/// C15.
#[test]
fn cubic_rotations_scale_their_tangents_and_are_normalised() {
    let half = 0.5_f32.sqrt();
    let sample = |times: [f32; 2], out: [f32; 4], into: [f32; 4], at: f32| {
        let mut file = Builder::new();
        let node = file.node(json!({}));
        let times = file.floats("SCALAR", &times);
        let keys = [[0.0; 4], [0.0, 0.0, 0.0, 1.0], out, into, [0.0, 0.0, half, half], [0.0; 4]].concat();
        let values = file.floats("VEC4", &keys);
        file.clip("c", &[(node, "rotation", "CUBICSPLINE", times, values)]);
        let imported = load(file);
        imported.clips[0].sample(&imported.character.skeleton, at)[0].rotation
    };
    let near = |q: Quat, z: f32, w: f32| assert!((q.z - z).abs() < 2e-6 && (q.w - w).abs() < 2e-6, "{q}");
    near(sample([0.0, 1.0], [0.0; 4], [0.0; 4], 0.5), 0.382_683, 0.923_880);
    near(sample([0.0, 2.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.5], 0.5), 0.396_368, 0.918_092);
}

/// C18.
#[test]
fn before_the_first_key_and_after_the_last_one_their_values_hold() {
    let mut file = Builder::new();
    let node = file.node(json!({ "translation": [9, 9, 9], "children": [1] }));
    let other = file.node(json!({ "translation": [9, 9, 9] }));
    let times = file.floats("SCALAR", &[0.0333, 1.0]);
    let values = file.floats("VEC3", &[1.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
    let early = file.floats("SCALAR", &[0.0]);
    let single = file.floats("VEC3", &[7.0, 0.0, 0.0]);
    file.clip(
        "c",
        &[(node, "translation", "LINEAR", times, values), (other, "translation", "STEP", early, single)],
    );
    let imported = load(file);
    let clip = &imported.clips[0];
    assert_eq!(clip.start, 0.0);
    let x = |time: f32| clip.sample(&imported.character.skeleton, time)[0].translation.x;
    assert_eq!(x(0.0), 1.0);
    assert_eq!(x(1.0), 2.0);
    assert_eq!(x(5.0), 2.0);
    assert_eq!(clip.sample(&imported.character.skeleton, 0.5)[1].translation.x, 7.0);
}

#[test]
fn a_scaled_armature_is_folded_and_nothing_moves() {
    // Root of scale 100 with bones in hundredths, animated, and a mesh in hundredths: as many tools export it.
    let turn = Quat::from_rotation_x(-std::f32::consts::FRAC_PI_2);
    let mut file = Builder::new();
    file.node(
        json!({ "name": "Armature", "scale": [100, 100, 100], "rotation": turn.to_array(), "children": [1] }),
    );
    let a = file.node(json!({ "name": "A", "translation": [0, 0, 0.01], "children": [2] }));
    let b = file.node(json!({ "name": "B", "translation": [0.005, 0, 0.01] }));
    let binds = file.floats("MAT4", &[moved([0.0, 0.0, -0.01]), moved([-0.005, 0.0, -0.02])].concat());
    let skin = file.skin(json!({ "joints": [a, b], "inverseBindMatrices": binds }));
    let triangle = file.triangle(&[[0.0, 0.0, 0.02], [0.01, 0.0, 0.02], [0.0, 0.01, 0.03]], 1);
    let mesh = file.mesh(vec![triangle]);
    file.node(json!({ "mesh": mesh, "skin": skin }));
    let times = file.floats("SCALAR", &[0.0, 1.0]);
    let slide = file.floats("VEC3", &[0.0, 0.0, 0.01, 0.0, 0.03, 0.01]);
    let (from, to) = (Quat::IDENTITY, Quat::from_rotation_z(1.0));
    let spin = file.floats("VEC4", &[from.to_array(), to.to_array()].concat());
    let same = file.floats("VEC3", &[1.0; 6]);
    file.clip(
        "c",
        &[
            (a, "translation", "LINEAR", times, slide),
            (a, "rotation", "LINEAR", times, spin),
            (b, "scale", "LINEAR", times, same),
        ],
    );
    let imported = load(file);
    let skeleton = &imported.character.skeleton;
    assert!(skeleton.joints.iter().all(|joint| joint.rest.scale == Vec3::ONE));
    assert!(imported.clips[0].tracks.iter().all(|track| track.scale.is_none()));
    // The same by hand, from the file's own numbers.
    let by_hand = |slide: DVec3, spin: glam::DQuat| {
        let armature =
            DMat4::from_scale_rotation_translation(DVec3::splat(100.0), turn.as_dquat(), DVec3::ZERO);
        let a = DMat4::from_rotation_translation(spin, slide);
        let b = DMat4::from_translation(DVec3::new(0.005, 0.0, 0.01));
        let bind = DMat4::from_translation(DVec3::new(-0.005, 0.0, -0.02));
        (armature * a * b * bind).transform_point3(DVec3::new(0.01, 0.0, 0.02))
    };
    near(
        skinned(&imported, 0, &rest(&imported))[1],
        by_hand(DVec3::new(0.0, 0.0, 0.01), glam::DQuat::IDENTITY).into(),
    );
    let end = data::clip_models(skeleton, &imported.clips[0], 1.0);
    near(skinned(&imported, 0, &end)[1], by_hand(DVec3::new(0.0, 0.03, 0.01), to.as_dquat()).into());
    // The mesh came along into model space, so that skinning matrices are rigid.
    for bind in &imported.character.skins[0].inverse_binds {
        assert!((bind.determinant() - 1.0).abs() < 1e-4, "{bind}");
    }
    assert!(imported.report.warnings.iter().any(|w| matches!(w, Warning::ScaleFolded { .. })));
}

#[test]
fn animated_scale_stays_in_its_track_and_is_reported() {
    let mut file = Builder::new();
    let joint = file.node(json!({ "name": "Eye", "children": [1] }));
    file.node(json!({ "translation": [0, 1, 0] }));
    let times = file.floats("SCALAR", &[0.0, 1.0]);
    let values = file.floats("VEC3", &[1.0, 1.0, 1.0, 1.0, 2.0, 1.0]);
    file.clip("blink", &[(joint, "scale", "LINEAR", times, values)]);
    let imported = load(file);
    let end = data::clip_models(&imported.character.skeleton, &imported.clips[0], 1.0);
    near(end[1].w_axis.truncate(), [0.0, 2.0, 0.0]);
    let warning = Warning::AnimatedScale { clip: "blink".to_owned(), joints: vec!["Eye".to_owned()] };
    assert!(imported.report.warnings.contains(&warning));
}

#[test]
fn a_rigid_mesh_below_a_joint_is_skinned_to_it() {
    let mut file = Builder::new();
    let hand = file.node(json!({ "name": "hand", "translation": [0, 1, 0], "children": [1] }));
    let grip = file.node(json!({ "name": "grip", "translation": [0, 0, 1], "children": [2] }));
    let position = file.floats("VEC3", TRIANGLE.as_flattened());
    let mesh = file.mesh(vec![json!({ "attributes": { "POSITION": position } })]);
    file.node(json!({ "name": "sword", "mesh": mesh, "scale": [2, 2, 2] }));
    file.skin(json!({ "joints": [hand] }));
    let times = file.floats("SCALAR", &[0.0, 1.0]);
    let values = file.floats("VEC3", &[0.0, 0.0, 1.0, 0.0, 0.0, 4.0]);
    let animated = {
        let mut file = file.clone();
        file.clip("draw", &[(grip, "translation", "LINEAR", times, values)]);
        load(file)
    };
    let still = load(file);
    assert_eq!(still.character.skeleton.joints.len(), 1);
    near(skinned(&still, 0, &rest(&still))[0], [2.0, 1.0, 1.0]);
    // A node on the way that a clip moves becomes a joint of its own.
    assert_eq!(animated.character.skeleton.joints.len(), 2);
    let end = data::clip_models(&animated.character.skeleton, &animated.clips[0], 1.0);
    near(skinned(&animated, 0, &end)[0], [2.0, 1.0, 4.0]);
    assert!(still.report.warnings.iter().any(|w| matches!(w, Warning::RigidMesh { .. })));
}

#[test]
fn several_skins_share_one_skeleton() {
    let mut file = Builder::new();
    let a = file.node(json!({ "name": "a", "children": [1] }));
    let b = file.node(json!({ "name": "b", "translation": [0, 1, 0] }));
    file.skin(json!({ "joints": [b, a] }));
    file.skin(json!({ "joints": [b] }));
    let imported = load(file);
    assert_eq!(imported.character.skeleton.joints.len(), 2);
    assert_eq!(imported.character.skins[0].joints, [1, 0]);
    assert_eq!(imported.character.skins[1].joints, [1]);
}

#[test]
fn matrix_nodes_are_taken_apart_and_shear_is_reported() {
    let (scale, rotation) = (Vec3::new(1.0, 2.0, 0.5), Quat::from_euler(glam::EulerRot::XYZ, 0.3, -1.0, 2.0));
    let matrix = Mat4::from_scale_rotation_translation(scale, rotation, Vec3::new(1.0, 2.0, 3.0));
    let mut file = Builder::new();
    let node = file.node(json!({ "matrix": matrix.to_cols_array() }));
    file.skin(json!({ "joints": [node] }));
    let imported = load(file);
    let rest = imported.character.skeleton.joints[0].rest;
    assert!(rest.translation.distance(Vec3::new(1.0, 2.0, 3.0)) < 1e-6);
    assert!(rest.rotation.angle_between(rotation) < 1e-3);
    assert!(!imported.report.warnings.iter().any(|w| matches!(w, Warning::Shear { .. })));

    let mut file = Builder::new();
    let mut sheared = Mat4::IDENTITY;
    sheared.y_axis.x = 0.5;
    let node = file.node(json!({ "name": "s", "matrix": sheared.to_cols_array() }));
    file.skin(json!({ "joints": [node] }));
    let warnings = load(file).report.warnings;
    assert!(warnings.contains(&Warning::Shear { node: 0, name: "s".to_owned() }));
}

#[test]
fn strided_and_sparse_accessors_are_read() {
    let mut file = Builder::new();
    let joint = file.node(json!({}));
    let skin = file.skin(json!({ "joints": [joint] }));
    // Interleaved: position, normal, position, normal, ...
    let normal = [0.0, 0.0, 2.0];
    let data =
        TRIANGLE.iter().flat_map(|p| [*p, normal].concat()).flat_map(f32::to_le_bytes).collect::<Vec<_>>();
    let view = file.view(&data, Some(24));
    let moved = file.view(&5.0_f32.to_le_bytes().repeat(3), None);
    let which = file.view(&2_u16.to_le_bytes(), None);
    let position = file.accessor(json!({
        "bufferView": view, "componentType": 5126, "type": "VEC3", "count": 3,
        "sparse": { "count": 1, "indices": { "bufferView": which, "componentType": 5123 }, "values": { "bufferView": moved } }
    }));
    let normals = file.accessor(json!({
        "bufferView": view, "byteOffset": 12, "componentType": 5126, "type": "VEC3", "count": 3
    }));
    let mesh = file.mesh(vec![json!({ "attributes": { "POSITION": position, "NORMAL": normals } })]);
    file.node(json!({ "mesh": mesh, "skin": skin }));
    let imported = load(file);
    let mesh = &imported.character.meshes[0];
    assert_eq!(mesh.positions, [TRIANGLE[0], TRIANGLE[1], [5.0; 3]]);
    assert_eq!(mesh.normals, [[0.0, 0.0, 1.0]; 3]);
}

#[test]
fn strips_and_fans_become_triangles_and_missing_normals_are_made() {
    let triangles = |mode: u32| {
        let mut file = Builder::new();
        let joint = file.node(json!({}));
        let skin = file.skin(json!({ "joints": [joint] }));
        let points: [[f32; 3]; 4] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]];
        let position = file.floats("VEC3", points.as_flattened());
        let mesh = file.mesh(vec![json!({ "attributes": { "POSITION": position }, "mode": mode })]);
        file.node(json!({ "mesh": mesh, "skin": skin }));
        load(file)
    };
    let strip = triangles(5);
    assert_eq!(strip.character.meshes[0].indices, [0, 1, 2, 2, 1, 3]);
    assert_eq!(strip.character.meshes[0].normals, [[0.0, 0.0, 1.0]; 4]);
    assert_eq!(triangles(6).character.meshes[0].indices, [0, 1, 2, 0, 2, 3]);
    let lines = triangles(1);
    assert!(lines.character.meshes.is_empty());
    assert!(lines.report.warnings.iter().any(|w| matches!(w, Warning::NotTriangles { .. })));
}

#[test]
fn required_extensions_are_known_harmless_or_refused() {
    let with = |name: &str| {
        let mut file = Builder::new();
        file.node(json!({}));
        file.document["extensionsUsed"] = json!([name]);
        file.document["extensionsRequired"] = json!([name]);
        file
    };
    for name in [
        "KHR_mesh_quantization",
        "KHR_materials_unlit",
        "KHR_texture_transform",
        "KHR_draco_mesh_compression",
    ] {
        load(with(name));
    }
    let warnings = load(with("KHR_texture_basisu")).report.warnings;
    assert_eq!(warnings, [Warning::Textures { extension: "KHR_texture_basisu".to_owned() }]);
    for name in ["EXT_mesh_gpu_instancing", "KHR_animation_pointer", "ACME_secret"] {
        let refused = refuse(with(name));
        assert!(matches!(&refused, Refusal::RequiredExtension { name: found } if found == name), "{refused}");
    }
}

#[test]
fn a_meshopt_mesh_is_dropped_and_the_rest_loads() {
    let mut file = Builder::new();
    let joint = file.node(json!({ "translation": [0, 1, 0] }));
    let binds = file.floats("MAT4", &moved([0.0, -1.0, 0.0]));
    let skin = file.skin(json!({ "joints": [joint], "inverseBindMatrices": binds }));
    let triangle = file.triangle(&TRIANGLE, 0);
    let position = triangle["attributes"]["POSITION"].as_u64().expect("index") as usize;
    let view = file.document["accessors"][position]["bufferView"].as_u64().expect("index") as usize;
    file.document["bufferViews"][view] = json!({
        "buffer": 1, "byteLength": 36,
        "extensions": { "EXT_meshopt_compression": { "buffer": 0, "byteLength": 20, "byteStride": 12, "count": 3, "mode": "ATTRIBUTES" } }
    });
    file.document["extensionsRequired"] = json!(["EXT_meshopt_compression"]);
    let mesh = file.mesh(vec![triangle]);
    file.node(json!({ "mesh": mesh, "skin": skin }));
    let bytes = file.glb_with_second_buffer(
        json!({ "byteLength": 36, "extensions": { "EXT_meshopt_compression": { "fallback": true } } }),
    );
    let imported = gltf::load_bytes(&bytes, None).expect("loads");
    assert!(imported.character.meshes.is_empty());
    assert_eq!(imported.character.skins[0].inverse_binds.len(), 1);
    let dropped = imported.report.warnings.iter().find(|w| matches!(w, Warning::MeshDropped { .. }));
    assert!(dropped.expect("a warning").to_string().contains("meshopt"));
}

#[test]
fn broken_references_and_numbers_are_located() {
    let mut file = Builder::new();
    file.node(json!({ "name": "a", "children": [7] }));
    assert!(matches!(refuse(file), Refusal::Reference { kind: "node", index: 7, have: 1, .. }));
    let mut file = Builder::new();
    file.node(json!({ "children": [1] }));
    file.node(json!({ "name": "loop", "children": [0] }));
    assert!(matches!(refuse(file), Refusal::NodeCycle { .. }));
    let mut file = Builder::new();
    file.node(json!({ "children": [2] }));
    file.node(json!({ "children": [2] }));
    file.node(json!({ "name": "shared" }));
    assert!(matches!(refuse(file), Refusal::NodeParents { node: 2, first: 0, second: 1, .. }));
    let mut file = Builder::new();
    let node = file.node(json!({}));
    let times = file.floats("SCALAR", &[0.0, f32::NAN]);
    let values = file.floats("VEC3", &[0.0; 6]);
    file.clip("bad", &[(node, "translation", "LINEAR", times, values)]);
    let refused = refuse(file);
    assert!(matches!(&refused, Refusal::Channel { animation: 0, channel: 0, .. }), "{refused}");
    let mut file = Builder::new();
    file.node(json!({ "name": "far", "translation": [1e39, 0, 0] }));
    assert!(matches!(refuse(file), Refusal::NodeTransform { node: 0, .. }));
    let error = gltf::load("/nowhere/at/all.glb").expect_err("is not there");
    assert!(matches!(error.kind, Refusal::Io(_)));
    assert!(error.to_string().starts_with("/nowhere/at/all.glb: "), "{error}");
}
