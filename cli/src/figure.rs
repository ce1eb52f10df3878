//! A plain walking figure: what `render` draws until a character is named.

use std::f32::consts::TAU;

use glam::{Quat, Vec3};
use throng::clip::{Curve, Interpolation, JointTracks, RawClip};
use throng::rig::{RawCharacter, RawJoint, RawSkeleton, Transform};

/// Joints: name, parent, offset in metres.
const JOINTS: [(&str, Option<u16>, [f32; 3]); 20] = [
    ("root", None, [0.0, 0.0, 0.0]),
    ("hips", Some(0), [0.0, 0.94, 0.0]),
    ("spine", Some(1), [0.0, 0.14, -0.01]),
    ("chest", Some(2), [0.0, 0.22, 0.0]),
    ("head", Some(3), [0.0, 0.25, 0.02]),
    ("crown", Some(4), [0.0, 0.20, 0.02]),
    ("left_arm", Some(3), [0.18, 0.16, 0.0]),
    ("left_elbow", Some(6), [0.03, -0.28, 0.0]),
    ("left_hand", Some(7), [0.01, -0.26, 0.0]),
    ("right_arm", Some(3), [-0.18, 0.16, 0.0]),
    ("right_elbow", Some(9), [-0.03, -0.28, 0.0]),
    ("right_hand", Some(10), [-0.01, -0.26, 0.0]),
    ("left_thigh", Some(1), [0.09, -0.04, 0.0]),
    ("left_shin", Some(12), [0.0, -0.42, 0.0]),
    ("left_foot", Some(13), [0.0, -0.41, 0.0]),
    ("left_toe", Some(14), [0.0, -0.05, 0.15]),
    ("right_thigh", Some(1), [-0.09, -0.04, 0.0]),
    ("right_shin", Some(16), [0.0, -0.42, 0.0]),
    ("right_foot", Some(17), [0.0, -0.41, 0.0]),
    ("right_toe", Some(18), [0.0, -0.05, 0.15]),
];

/// The figure and its walk.
pub fn figure() -> (RawCharacter, RawClip) {
    let joints = JOINTS
        .iter()
        .map(|&(name, parent, offset)| RawJoint {
            name: name.to_owned(),
            parent,
            rest: Transform::rigid(Vec3::from(offset), Quat::IDENTITY),
        })
        .collect();
    let skeleton = RawSkeleton { joints };
    // Angle about X in radians as mean, swing, phase in cycles.
    let swings = [
        ("left_thigh", 0.05, -0.42, 0.0),
        ("right_thigh", 0.05, -0.42, 0.5),
        ("left_shin", 0.40, 0.36, 0.30),
        ("right_shin", 0.40, 0.36, 0.80),
        ("left_arm", 0.0, -0.4, 0.5),
        ("right_arm", 0.0, -0.4, 0.0),
        ("left_elbow", -0.35, -0.15, 0.5),
        ("right_elbow", -0.35, -0.15, 0.0),
    ];
    let times: Vec<f32> = (0..=20).map(|key| key as f32 / 20.0).collect();
    let tracks = swings.iter().filter_map(|&(name, mean, swing, phase)| {
        let values =
            times.iter().map(|t| Quat::from_rotation_x(mean + swing * (TAU * (t - phase)).cos())).collect();
        let rotation = Some(Curve { times: times.clone(), values, interpolation: Interpolation::Linear });
        Some(JointTracks { joint: skeleton.find(name)?, rotation, ..JointTracks::default() })
    });
    let mut tracks: Vec<_> = tracks.collect();
    tracks.sort_by_key(|track| track.joint);
    let clip = RawClip { name: "walk".into(), duration: 1.0, tracks, looping: true, ..RawClip::default() };
    (RawCharacter { name: "figure".into(), skeleton, ..RawCharacter::default() }, clip)
}
