//! Pixels and vertices against values worked out by hand.

use glam::{Mat4, Quat, Vec3};
use image::RgbImage;
use throng::crowd::SkinnedMesh;
use throng::rig::{MAX_INFLUENCES, RawJoint, RawMesh, RawSkeleton, RawSkin, Role, RoleMap, Side, Transform};

use super::camera::{Camera, View};
use super::raster::{BACKGROUND, Lit};
use super::{Scene, Solid, Surface, bones, ground, skin};

fn quad(corners: [Vec3; 4], colour: Vec3) -> Solid {
    let normal = (corners[1] - corners[0]).cross(corners[2] - corners[0]).normalize();
    Solid {
        positions: corners.to_vec(),
        normals: vec![normal; 4],
        colours: Vec::new(),
        indices: vec![0, 1, 2, 0, 2, 3],
        surface: Surface::Plain(colour),
        casts_shadow: true,
    }
}

/// A square of that half side, facing +Z, at height 0.5 like the cameras' target.
fn card(half: f32, z: f32, colour: Vec3) -> Solid {
    let corner = |x: f32, y: f32| Vec3::new(x * half, 0.5 + y * half, z);
    quad([corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)], colour)
}

fn scene(solids: Vec<Solid>) -> Scene {
    Scene { solids, focus: Vec3::ZERO, heading: Vec3::Z, extent: 1.0 }
}

fn picture(scene: &Scene, view: View) -> RgbImage {
    Lit::new(scene).draw(&Camera::of(view, scene, 1.0), 100, 100, 2)
}

fn count(picture: &RgbImage, wanted: impl Fn([u8; 3]) -> bool) -> usize {
    picture.pixels().filter(|pixel| wanted(pixel.0)).count()
}

fn reddish([r, g, b]: [u8; 3]) -> bool {
    r > g.saturating_add(30) && r > b.saturating_add(30)
}

fn bluish([r, g, b]: [u8; 3]) -> bool {
    b > g.saturating_add(30) && b > r.saturating_add(30)
}

const RED: Vec3 = Vec3::new(0.8, 0.1, 0.1);
const BLUE: Vec3 = Vec3::new(0.1, 0.1, 0.8);

#[test]
fn nothing_is_drawn_where_nothing_is() {
    let picture = picture(&scene(Vec::new()), View::Front);
    let [_, r, g, b] = BACKGROUND.to_be_bytes();
    assert_eq!(count(&picture, |pixel| pixel == [r, g, b]), 100 * 100);
}

#[test]
fn a_card_covers_the_share_of_the_picture_that_perspective_gives_it() {
    // The front camera sees 0.58 of the extent in a cone of half angle 0.26 rad.
    let scene = scene(vec![card(0.3, 0.0, RED)]);
    let drawn = count(&picture(&scene, View::Front), reddish) as f64;
    let distance = 0.58 / 0.26_f64.sin();
    let tilt = (0.1_f64).atan().cos();
    let side = 2.0 * 0.3 / (2.0 * distance * 0.26_f64.tan()) * 100.0;
    let expected = side * side * tilt;
    assert!((drawn - expected).abs() < 0.03 * expected, "{drawn} pixels, expected {expected}");
}

#[test]
fn the_nearer_surface_hides_the_farther_one_in_either_order() {
    let solids = [card(0.4, -0.2, BLUE), card(0.4, 0.2, RED)];
    for order in [[0, 1], [1, 0]] {
        let scene = scene(order.map(|index| solids[index].clone()).to_vec());
        let front = picture(&scene, View::Front);
        assert!(reddish(front.get_pixel(50, 50).0), "{:?}", front.get_pixel(50, 50));
        let back = picture(&scene, View::Back);
        assert!(bluish(back.get_pixel(50, 50).0), "{:?}", back.get_pixel(50, 50));
    }
}

#[test]
fn a_triangle_through_the_camera_is_cut_not_dropped() {
    // A strip along the line of sight that runs from behind the eye to beyond the subject.
    let strip = quad(
        [
            Vec3::new(-0.2, 0.4, 9.0),
            Vec3::new(0.2, 0.4, 9.0),
            Vec3::new(0.2, 0.4, -3.0),
            Vec3::new(-0.2, 0.4, -3.0),
        ],
        RED,
    );
    let picture = picture(&scene(vec![strip]), View::Front);
    assert!(reddish(picture.get_pixel(50, 97).0), "the part near the camera is missing");
    assert!(count(&picture, reddish) > 1500);
}

#[test]
fn coordinates_that_no_picture_can_hold_draw_nothing_and_do_no_harm() {
    for bad in [f32::NAN, f32::INFINITY, 1e30, f32::MAX] {
        let mut solid = card(0.3, 0.0, RED);
        solid.positions[2].x = bad;
        let _ = picture(&scene(vec![solid]), View::ThreeQuarter);
    }
}

#[test]
fn what_stands_on_the_ground_darkens_it() {
    let plane = ground::height_field(Vec3::ZERO, 2.0, 20, &|_, _| 0.0);
    let roof = quad(
        [
            Vec3::new(-0.3, 1.0, -0.3),
            Vec3::new(-0.3, 1.0, 0.3),
            Vec3::new(0.3, 1.0, 0.3),
            Vec3::new(0.3, 1.0, -0.3),
        ],
        RED,
    );
    let dark = |solids: Vec<Solid>| {
        count(&picture(&scene(solids), View::High), |p| !reddish(p) && p.iter().all(|v| *v < 150))
    };
    let (open, roofed) = (dark(vec![plane.clone()]), dark(vec![plane, roof]));
    assert!(roofed > open + 100, "{open} dark pixels without, {roofed} with a roof");
}

#[test]
fn the_ground_mesh_lies_on_the_height_field() {
    let height = |x: f32, z: f32| 0.3 * x - 0.2 * z + 0.1;
    let solid = ground::height_field(Vec3::new(3.3, 0.0, -1.7), 2.0, 16, &height);
    assert_eq!(solid.positions.len(), 16 * 16 * 6);
    let normal = Vec3::new(-0.3, 1.0, 0.2).normalize();
    for (position, own) in solid.positions.iter().zip(&solid.normals) {
        assert!((position.y - height(position.x, position.z)).abs() < 1e-5);
        assert!(own.distance(normal) < 1e-3, "{own}");
    }
    let up = |t: &[u32]| {
        let [a, b, c] = [0, 1, 2].map(|i| solid.positions[t[i] as usize]);
        (b - a).cross(c - a).y
    };
    assert!(solid.indices.chunks_exact(3).all(|triangle| up(triangle) > 0.0));
}

#[test]
fn a_vertex_goes_where_its_joints_take_it() {
    // Two joints, the second one metre up; the second turns 90 degrees about Z.
    let binds = [Mat4::IDENTITY, Mat4::from_translation(Vec3::Y)];
    let models = [
        Mat4::IDENTITY,
        Mat4::from_rotation_translation(Quat::from_xyzw(0.0, 0.0, 0.5_f32.sqrt(), 0.5_f32.sqrt()), Vec3::Y),
    ];
    // The palette lists the joints the other way round.
    let skinned = RawSkin {
        name: String::new(),
        joints: vec![1, 0],
        inverse_binds: vec![binds[1].inverse(), binds[0].inverse()],
    };
    let influence = |entry: u16, weight: f32| {
        let (mut joints, mut weights) = ([0; MAX_INFLUENCES], [0.0; MAX_INFLUENCES]);
        (joints[0], weights[0]) = (entry, weight);
        (joints[1], weights[1]) = (1 - entry, 1.0 - weight);
        (joints, weights)
    };
    let (joints, weights) = [influence(0, 1.0), influence(1, 1.0), influence(0, 0.5)].into_iter().unzip();
    let mesh = RawMesh {
        positions: vec![[0.0, 2.0, 0.0]; 3],
        normals: vec![[0.0, 1.0, 0.0]; 3],
        indices: vec![0, 1, 2],
        joints,
        weights,
        ..RawMesh::default()
    };
    let layout = SkinnedMesh::new(&mesh).unwrap();
    let solid = skin::solid(&mesh, &layout, &skin::palette(&skinned, &models), Surface::Plain(RED)).unwrap();
    let expected = [Vec3::new(-1.0, 1.0, 0.0), Vec3::new(0.0, 2.0, 0.0), Vec3::new(-0.5, 1.5, 0.0)];
    for (have, want) in solid.positions.iter().zip(expected) {
        assert!(have.distance(want) < 1e-6, "{have} instead of {want}");
    }
    assert!(solid.normals[0].distance(Vec3::NEG_X) < 1e-6);
    assert!(solid.normals[2].distance(Vec3::new(-1.0, 1.0, 0.0).normalize()) < 1e-6);
}

/// Someone may rest with a leg across the middle: its colour is that of its role, and what hangs on it has the same.
#[test]
fn limbs_have_the_colour_of_their_side_wherever_they_rest() {
    let joints = [
        ("hips", None, 0.0),
        ("left thigh", Some(0), 0.1),
        ("left shin", Some(1), -0.2),
        ("left toe end", Some(2), -0.1),
        ("tail", Some(0), -0.3),
        ("head", Some(0), 0.3),
    ];
    let joint = |(name, parent, x): (&str, Option<u16>, f32)| {
        let rest = Transform { translation: Vec3::new(x, 0.0, 0.0), ..Transform::IDENTITY };
        RawJoint { name: name.to_owned(), parent, rest }
    };
    let skeleton = RawSkeleton { joints: joints.into_iter().map(joint).collect() };
    let rest = skeleton.model_matrices(&skeleton.rest_pose());
    let mut roles = RoleMap::new();
    for (role, joint) in
        [(Role::Hips, 0), (Role::Thigh(Side::Left), 1), (Role::Shin(Side::Left), 2), (Role::Head, 5)]
    {
        roles.set(role, joint);
    }
    let sides = bones::Sides::new(&skeleton, &roles, &rest);
    assert_eq!([0, 1, 2, 3, 4, 5].map(|joint| sides.of(joint)), [1, 0, 0, 0, 2, 1]);
}
