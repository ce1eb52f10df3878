//! Linear-blend skinning against double-precision scalar code that shares nothing with it.

use glam::{DMat3, DMat4, DQuat, DVec3, Mat4};
use proptest::prelude::*;
use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, Frame, HitPlanes, PaletteFormat, Play, Roots, Serial, SkinPalette, SkinnedMesh,
    WorldTransform,
};
use throng::error::BuildError;
use throng::lanes::{Isa, Mode, Simd};
use throng::retarget::{BindSource, bind};
use throng::rig::{MAX_INFLUENCES, RawMesh, Rig};

fn every_simd() -> impl Iterator<Item = Simd> {
    let modes = [Mode::Fast, Mode::Strict];
    Isa::available().iter().flat_map(move |&isa| modes.map(|mode| Simd::new(isa, mode)))
}

fn rows(m: Mat4) -> [f32; 12] {
    let r = m.transpose().to_cols_array();
    core::array::from_fn(|k| r[k])
}

fn matrix(rows: &[f32; 12]) -> DMat4 {
    let r = rows.map(f64::from);
    DMat4::from_cols_array(&[
        r[0], r[4], r[8], 0.0, r[1], r[5], r[9], 0.0, r[2], r[6], r[10], 0.0, r[3], r[7], r[11], 1.0,
    ])
}

/// Position and normal of one vertex: sum of weights times matrices, inverse transpose for the normal.
fn vertex(mesh: &RawMesh, palette: &[DMat4], at: usize) -> (DVec3, DVec3) {
    let weights = mesh.weights[at].map(f64::from);
    let sum: f64 = weights.iter().sum();
    let mut blended = DMat4::ZERO;
    for (&entry, weight) in mesh.joints[at].iter().zip(weights) {
        if weight > 0.0 {
            blended += palette[usize::from(entry)] * (weight / sum);
        }
    }
    let position = blended.transform_point3(DVec3::from(mesh.positions[at].map(f64::from)));
    let normal =
        DMat3::from_mat4(blended).inverse().transpose() * DVec3::from(mesh.normals[at].map(f64::from));
    (position, normal.normalize())
}

fn skin(simd: Simd, mesh: &SkinnedMesh, palette: &SkinPalette) -> (Vec<[f32; 3]>, Vec<[f32; 3]>) {
    let (mut positions, mut normals) = (vec![[9.0; 3]; mesh.vertices()], vec![[9.0; 3]; mesh.vertices()]);
    mesh.skin(simd, palette, &mut positions, &mut normals).unwrap();
    (positions, normals)
}

fn distance(a: [f32; 3], b: DVec3) -> f64 {
    (DVec3::from(a.map(f64::from)) - b).length()
}

const AHEAD: [f32; 3] = [0.0, 0.0, 1.0];

fn one_vertex(joints: &[u16], weights: &[f32]) -> RawMesh {
    let mut mesh = RawMesh {
        name: "one".to_owned(),
        positions: vec![[1.0, 2.0, 3.0]],
        normals: vec![AHEAD],
        joints: vec![[0; MAX_INFLUENCES]],
        weights: vec![[0.0; MAX_INFLUENCES]],
        ..RawMesh::default()
    };
    mesh.joints[0][..joints.len()].copy_from_slice(joints);
    mesh.weights[0][..weights.len()].copy_from_slice(weights);
    mesh
}

fn shift(x: f32) -> [f32; 12] {
    [1.0, 0.0, 0.0, x, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
}

fn palette(matrices: &[[f32; 12]]) -> SkinPalette {
    let mut palette = SkinPalette::default();
    palette.set_matrices(matrices);
    palette
}

fn arb_vec(limit: f32) -> impl Strategy<Value = [f32; 3]> {
    proptest::array::uniform3(-limit..limit)
}

/// Rotation, scale from a hundredth to ten, unevenness, mirroring, translation.
fn arb_matrix() -> impl Strategy<Value = [f32; 12]> {
    (
        arb_vec(1.0),
        0.0f64..6.3,
        -2.0f64..1.0,
        proptest::array::uniform3(0.5f64..2.0),
        any::<bool>(),
        arb_vec(5.0),
    )
        .prop_map(|(axis, angle, scale, uneven, mirrored, translation)| {
            let axis = DVec3::from(axis.map(f64::from)).try_normalize().unwrap_or(DVec3::X);
            let mut scale = DVec3::from(uneven) * 10f64.powf(scale);
            if mirrored {
                scale.x = -scale.x;
            }
            let m = DMat4::from_scale_rotation_translation(
                scale,
                DQuat::from_axis_angle(axis, angle),
                DVec3::from(translation.map(f64::from)),
            );
            rows(m.as_mat4())
        })
}

type Vertex = ([f32; 3], [f32; 3], [u16; MAX_INFLUENCES], [f32; MAX_INFLUENCES]);

fn arb_vertex(entries: u16, most: usize) -> impl Strategy<Value = Vertex> {
    let weights = proptest::array::uniform8(0.01f32..1.0);
    (arb_vec(2.0), arb_vec(1.0), proptest::array::uniform8(0..entries), weights, 1..=most).prop_map(
        |(position, normal, joints, mut weights, count)| {
            let normal = DVec3::from(normal.map(f64::from)).try_normalize().unwrap_or(DVec3::Y);
            weights[count..].fill(0.0);
            (position, normal.as_vec3().to_array(), joints, weights)
        },
    )
}

fn mesh_of(vertices: Vec<Vertex>) -> RawMesh {
    let mut mesh = RawMesh { name: "random".to_owned(), ..RawMesh::default() };
    for (position, normal, joints, weights) in vertices {
        mesh.positions.push(position);
        mesh.normals.push(normal);
        mesh.joints.push(joints);
        mesh.weights.push(weights);
    }
    mesh
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// One influence a vertex, so that a random blend of matrices is never (nearly) singular.
    #[test]
    fn normals_follow_uneven_and_mirrored_matrices(
        matrices in prop::collection::vec(arb_matrix(), 5),
        vertices in prop::collection::vec(arb_vertex(5, 1), 1..40),
    ) {
        let raw = mesh_of(vertices);
        let mesh = SkinnedMesh::new(&raw).unwrap();
        let exact: Vec<DMat4> = matrices.iter().map(matrix).collect();
        for simd in every_simd() {
            let (positions, normals) = skin(simd, &mesh, &palette(&matrices));
            for at in 0..mesh.vertices() {
                let (position, normal) = vertex(&raw, &exact, at);
                prop_assert!(distance(positions[at], position) < 1e-4, "{simd:?} {at}");
                prop_assert!(distance(normals[at], normal) < 1e-4, "{simd:?} {at}");
            }
        }
    }

    #[test]
    fn positions_are_weighted_sums_of_up_to_eight_influences_and_agree_to_the_bit(
        matrices in prop::collection::vec(arb_matrix(), 9),
        vertices in prop::collection::vec(arb_vertex(9, MAX_INFLUENCES), 1..70),
    ) {
        let raw = mesh_of(vertices);
        let mesh = SkinnedMesh::new(&raw).unwrap();
        let exact: Vec<DMat4> = matrices.iter().map(matrix).collect();
        let (mut strict, mut fused) = (Vec::new(), Vec::new());
        for simd in every_simd() {
            let (positions, normals) = skin(simd, &mesh, &palette(&matrices));
            for (at, &position) in positions.iter().enumerate() {
                prop_assert!(distance(position, vertex(&raw, &exact, at).0) < 2e-4, "{simd:?} {at}");
            }
            prop_assert!(normals.iter().flatten().all(|v| v.is_finite()));
            if simd.mode() == Mode::Strict {
                strict.push((positions, normals));
            } else if simd.isa() != Isa::PORTABLE {
                fused.push((positions, normals));
            }
        }
        prop_assert!(strict.windows(2).all(|pair| pair[0] == pair[1]), "strict differs between sets");
        prop_assert!(fused.windows(2).all(|pair| pair[0] == pair[1]), "fused sets differ");
    }
}

#[test]
fn the_rest_pose_reproduces_every_built_in_mesh() {
    for kind in RigKind::ALL {
        let built = content::character(kind, &BodyPlan::stocky());
        let character = &built.character;
        let models = character.skeleton.model_matrices(&character.skeleton.rest_pose());
        for raw in &character.meshes {
            let skin_of = &character.skins[raw.skin];
            let matrices: Vec<[f32; 12]> = skin_of
                .joints
                .iter()
                .zip(&skin_of.inverse_binds)
                .map(|(&joint, inverse)| rows(models[usize::from(joint)] * *inverse))
                .collect();
            let mesh = SkinnedMesh::new(raw).unwrap();
            assert_eq!(mesh.vertices(), raw.positions.len());
            assert!(mesh.entries() <= matrices.len() && mesh.rigid_vertices() == 0);
            for simd in every_simd() {
                let (positions, normals) = skin(simd, &mesh, &palette(&matrices));
                for at in 0..mesh.vertices() {
                    let position = DVec3::from(raw.positions[at].map(f64::from));
                    let normal = DVec3::from(raw.normals[at].map(f64::from));
                    assert!(distance(positions[at], position) < 1e-5, "{} {at}", kind.name());
                    assert!(distance(normals[at], normal) < 1e-5, "{} {at}", kind.name());
                }
            }
        }
    }
}

/// A walking character's mesh by each palette format against the widest one: what the formats promise.
#[test]
fn all_palette_formats_skin_alike() {
    let built = content::character(RigKind::Biped, &BodyPlan::adult());
    let rig = Rig::build(&built.rig_source()).unwrap();
    let reference = built.reference();
    let source =
        BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    let walk = bind(source, &content::clip(ClipKind::Walk, &built), &rig).unwrap();
    let mesh = SkinnedMesh::new(&built.character.meshes[0]).unwrap();
    let skins = built.character.meshes[0].skin;
    let mut meshes = Vec::new();
    for format in PaletteFormat::ALL {
        let mut crowd = Crowd::new(CrowdConfig { format, ..CrowdConfig::default() });
        let id = crowd.add_rig(rig.clone()).unwrap();
        let clip = crowd.add_clip(walk.clone()).unwrap();
        let play = Play { time: 0.3, ..Play::new(clip) };
        let handle = crowd.spawn(id, skins, WorldTransform::IDENTITY, &[play]).unwrap();
        let nothing = HitPlanes { planes: &[] };
        let frame = Frame { roots: Roots::Free, ..Frame::new(0.1, &nothing) };
        crowd.frame(frame, &Serial).unwrap();
        let mut palette = SkinPalette::default();
        let range = crowd.palette_range(id, skins).unwrap();
        palette.set_bytes(crowd.pose(handle).unwrap().1, format, range);
        assert!(palette.len() >= rig.skins()[skins].entries().len());
        meshes.push(skin(Simd::fastest(), &mesh, &palette));
    }
    let (widest, _) = &meshes[0];
    let moved = widest.iter().zip(&built.character.meshes[0].positions);
    let moved = moved.map(|(a, b)| distance(*a, DVec3::from(b.map(f64::from)))).fold(0.0, f64::max);
    assert!(moved > 0.1, "a walking pose moves vertices by more than {moved} m");
    for ((positions, normals), (format, limit)) in
        meshes.iter().zip(PaletteFormat::ALL.into_iter().zip([0.0, 1e-6, 1e-5, 1e-3]))
    {
        for (at, (&position, &normal)) in positions.iter().zip(normals).enumerate() {
            let expected = DVec3::from(widest[at].map(f64::from));
            assert!(distance(position, expected) <= limit, "{} vertex {at}", format.name());
            assert!((distance(normal, DVec3::ZERO) - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn c14_a_vertex_without_weights_is_rigid_and_counted() {
    let mesh = SkinnedMesh::new(&one_vertex(&[1], &[])).unwrap();
    assert_eq!((mesh.rigid_vertices(), mesh.entries()), (1, 2));
    let (positions, normals) = skin(Simd::fastest(), &mesh, &palette(&[shift(-50.0), shift(10.0)]));
    assert_eq!((positions[0], normals[0]), ([11.0, 2.0, 3.0], AHEAD));
}

/// Not pulled toward the origin, as sums below one would.
#[test]
fn c14_weights_that_sum_to_less_or_more_are_scaled_to_one() {
    for sum in [0.25, 1.0, 4.0] {
        let mesh = SkinnedMesh::new(&one_vertex(&[0, 1], &[0.75 * sum, 0.25 * sum])).unwrap();
        let (positions, _) = skin(Simd::fastest(), &mesh, &palette(&[shift(0.0), shift(8.0)]));
        assert_eq!(positions[0], [3.0, 2.0, 3.0], "sum {sum}");
    }
}

#[test]
fn entries_without_weight_are_not_read() {
    let mesh = SkinnedMesh::new(&one_vertex(&[0, u16::MAX], &[1.0, 0.0])).unwrap();
    assert_eq!(mesh.entries(), 1);
    let (positions, _) = skin(Simd::fastest(), &mesh, &palette(&[shift(1.0)]));
    assert_eq!(positions[0], [2.0, 2.0, 3.0]);
}

#[test]
fn a_matrix_that_flattens_gives_finite_normals() {
    let mesh = SkinnedMesh::new(&one_vertex(&[0], &[1.0])).unwrap();
    for simd in every_simd() {
        let (positions, normals) = skin(simd, &mesh, &palette(&[[0.0; 12]]));
        assert_eq!((positions[0], normals[0]), ([0.0; 3], [0.0, 1.0, 0.0]));
    }
}

#[test]
fn what_is_wrong_with_a_mesh_is_named_with_its_vertex() {
    let sound = || mesh_of(vec![(AHEAD, AHEAD, [0; MAX_INFLUENCES], [0.125; MAX_INFLUENCES]); 3]);
    assert!(SkinnedMesh::new(&sound()).is_ok());
    let refused = |mesh: RawMesh| match SkinnedMesh::new(&mesh) {
        Err(BuildError::Vertex { mesh, vertex, .. }) => (mesh, vertex),
        other => panic!("{other:?}"),
    };
    let mut mesh = sound();
    mesh.positions[1][2] = f32::NAN;
    assert_eq!(refused(mesh), ("random".to_owned(), 1));
    let mut mesh = sound();
    mesh.normals[2][0] = f32::INFINITY;
    assert_eq!(refused(mesh).1, 2);
    for weight in [-0.5, f32::NAN, f32::INFINITY] {
        let mut mesh = sound();
        mesh.weights[2][7] = weight;
        assert_eq!(refused(mesh).1, 2);
    }
    let mut mesh = sound();
    mesh.weights.pop();
    assert_eq!(refused(mesh).1, 2);
}

/// One entry per format by hand: a quarter turn about +Z (x to y), then 1, 2, 3 metres.
#[test]
fn entries_of_every_format_are_read_as_the_renderer_reads_them() {
    let expected = [0.0, -1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0, 3.0];
    let h = 0.5f32.sqrt();
    let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
    let shorts: Vec<u8> =
        [0i16, 0, 23170, 23170, 8192, 16384, 24575, 0].iter().flat_map(|v| v.to_ne_bytes()).collect();
    let entries = [
        floats(&[0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 1.0]),
        floats(&expected),
        floats(&[0.0, 0.0, h, h, 1.0, 2.0, 3.0, 1.0]),
        shorts,
    ];
    for (format, entry) in PaletteFormat::ALL.into_iter().zip(entries) {
        assert_eq!(entry.len(), format.bytes());
        for (have, want) in format.matrix(&entry, 4.0).into_iter().zip(expected) {
            assert!((have - want).abs() < 1e-3, "{}: {have} instead of {want}", format.name());
        }
        // Bytes that are missing are zero, never a panic or NaN.
        assert!((0..entry.len()).all(|n| format.matrix(&entry[..n], 4.0).iter().all(|v| v.is_finite())));
    }
}

#[test]
fn short_palettes_and_outputs_are_refused() {
    let mesh = SkinnedMesh::new(&one_vertex(&[2], &[1.0])).unwrap();
    let (mut positions, mut normals) = (vec![[0.0; 3]; 1], vec![[0.0; 3]; 2]);
    let short = palette(&[shift(0.0); 2]);
    let result = mesh.skin(Simd::fastest(), &short, &mut positions, &mut normals[..1]);
    assert_eq!(result, Err(BuildError::Length { what: "a palette", have: 2, need: 3 }));
    let long = palette(&[shift(0.0); 3]);
    let result = mesh.skin(Simd::fastest(), &long, &mut positions, &mut normals);
    assert_eq!(result, Err(BuildError::Length { what: "a skinning output", have: 2, need: 1 }));
    assert_eq!(mesh.skin(Simd::fastest(), &long, &mut positions, &mut normals[..1]), Ok(()));
}
