//! What retargeting must leave alone, and what it must carry over.

#[path = "support/bodies.rs"]
#[allow(dead_code)]
mod bodies;
mod reference;

use std::f64::consts::{FRAC_PI_2, FRAC_PI_6};

use bodies::{Body, bent, bodies, bone, reference_clip, turns};
use glam::{DMat4, DQuat, DVec3, Mat4};
use reference::palette::decode;
use reference::terrain::Terrain;
use throng::clip::{Curve, Interpolation, JointTracks, RawClip, RootSource};
use throng::content::{self, ClipKind};
use throng::crowd::{Crowd, CrowdConfig, Frame, PaletteFormat, Play, Roots, Serial, WorldTransform};
use throng::retarget::{BindSource, bind, motion_keys};
use throng::rig::{NO_PARENT, Rig, RigOverrides, Role, Side};

/// Palette of one character after one frame in the air.
fn palette_of(rig: &Rig, source: BindSource<'_>, clip: &RawClip, time: f32) -> Vec<DMat4> {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let id = crowd.add_rig(rig.clone()).expect("rig");
    let bound = bind(source, clip, rig).expect("bound");
    let clip = crowd.add_clip(bound).expect("clip");
    let play = Play { time, speed: 0.0, ..Play::new(clip) };
    let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[play]).expect("spawn");
    let frame = Frame { roots: Roots::Free, ..Frame::new(0.01, &Terrain::Nothing) };
    crowd.frame(frame, &Serial).expect("frame");
    let (_, palette) = crowd.pose(handle).expect("alive");
    let entries = rig.skins()[0].entries().len();
    (0..entries).map(|entry| decode(PaletteFormat::Mat3x4, palette, entry, 1.0)).collect()
}

fn off(a: DMat4, b: DMat4) -> f64 {
    (a - b).to_cols_array().iter().fold(0.0, |worst: f64, v| worst.max(v.abs()))
}

#[test]
fn reference_in_gives_reference_out() {
    for source in bodies().iter().map(Body::built) {
        for target in bodies().iter().map(Body::built) {
            let rig = target.rig();
            let clip = reference_clip(&source);
            let keys = motion_keys(source.source(), &clip, &rig, 30.0).expect("keys");
            for q in &keys.rotations {
                assert!(q.angle_between(DQuat::IDENTITY) < 1e-6 * 2.0, "{q}");
            }
            assert!(keys.pelvis.iter().all(|p| p.length() < 1e-6), "{:?}", keys.pelvis);
            assert!(keys.root.iter().flatten().all(|v| v.abs() < 1e-6), "{:?}", keys.root);
            let skin = &target.character.skins[0];
            let palette = palette_of(&rig, source.source(), &clip, 0.25);
            for ((matrix, &joint), inverse) in palette.iter().zip(&skin.joints).zip(&skin.inverse_binds) {
                let right = target.reference.models[usize::from(joint)] * inverse.as_dmat4();
                // A skin's constant that is the identity up to the noise of its file is taken for it.
                assert!(off(*matrix, right) < 1e-5, "joint {joint}: {:e}", off(*matrix, right));
            }
        }
    }
}

#[test]
fn axes_of_joints_change_nothing() {
    let built = bodies();
    for (at, own) in built.iter().enumerate() {
        let other = &built[(at + 1) % built.len()];
        let (source, target) = (Body::built(own), Body::built(other));
        let clip = content::clip(ClipKind::Walk, own);
        let rig = target.rig();
        let keys = motion_keys(source.source(), &clip, &rig, 30.0).expect("keys");
        let palette = palette_of(&rig, source.source(), &clip, 0.3);
        for seed in 0..3 {
            let source_turns = turns(seed, source.character.skeleton.joints.len());
            let target_turns = turns(100 + seed, target.character.skeleton.joints.len());
            let new_source = source.reoriented(&source_turns);
            let new_clip = source.reoriented_clip(&clip, &source_turns);
            let new_rig = target.reoriented(&target_turns).rig();
            let new_keys = motion_keys(new_source.source(), &new_clip, &new_rig, 30.0).expect("keys");
            assert_eq!(keys.rotations.len(), new_keys.rotations.len());
            for (a, b) in keys.rotations.iter().zip(&new_keys.rotations) {
                assert!(a.angle_between(*b) < 1e-5, "{:e}", a.angle_between(*b));
            }
            for (a, b) in keys.pelvis.iter().zip(&new_keys.pelvis) {
                assert!(a.distance(*b) < 1e-5);
            }
            for (a, b) in keys.root.iter().flatten().zip(new_keys.root.iter().flatten()) {
                assert!((a - b).abs() < 1e-5);
            }
            // The rows are of 16 bits: what rounds the other way may differ by two of their steps.
            let new_palette = palette_of(&new_rig, new_source.source(), &new_clip, 0.3);
            for (a, b) in palette.iter().zip(&new_palette) {
                assert!(off(*a, *b) < 3e-4, "{:e}", off(*a, *b));
            }
        }
    }
}

#[test]
fn a_turn_about_the_sources_x_is_one_about_the_targets_y() {
    let axes = DQuat::from_rotation_z(FRAC_PI_2);
    let (source, target) = (bone(axes), bone(DQuat::IDENTITY));
    let rig = target.rig();
    let clip = bent(axes * DQuat::from_rotation_x(FRAC_PI_6));
    let keys = motion_keys(source.source(), &clip, &rig, 30.0).expect("keys");
    let at = rig.order().iter().position(|&joint| joint == 2).expect("the bone");
    let local = rig.rotations()[at].inverse() * keys.rotations[at] * rig.rotations()[at];
    assert!(local.angle_between(DQuat::from_rotation_y(FRAC_PI_6)) < 1e-6, "{local}");
}

/// cases.md C32.
#[test]
fn model_rotations_carry_over_between_different_rest_axes() {
    let s = DQuat::from_rotation_z(FRAC_PI_2);
    let t = DQuat::from_rotation_x(-FRAC_PI_2);
    let (source, target) = (bone(s), bone(t));
    let rig = target.rig();
    let animated = DQuat::from_rotation_y(FRAC_PI_6) * s;
    assert!(
        animated.angle_between(DQuat::from_xyzw(0.183013, 0.183013, 0.683013, 0.683013).normalize()) < 1e-5
    );
    let keys = motion_keys(source.source(), &bent(animated), &rig, 30.0).expect("keys");
    let at = rig.order().iter().position(|&joint| joint == 2).expect("the bone");
    let right = DQuat::from_xyzw(-0.683013, 0.183013, 0.183013, 0.683013).normalize();
    let have = keys.rotations[at] * rig.rotations()[at];
    assert!(have.angle_between(right) < 1e-5, "{have}");
}

/// cases.md C33.
#[test]
fn retargeting_twice_gives_the_same_bits() {
    let built = bodies();
    for own in &built {
        for other in &built {
            let (source, rig) = (Body::built(own), Body::built(other).rig());
            let clip = content::clip(ClipKind::Jog, own);
            let first = bind(source.source(), &clip, &rig).expect("bound");
            let second = bind(source.source(), &clip, &rig).expect("bound");
            assert_eq!(first.rows(), second.rows());
            assert_eq!(first.root(), second.root());
        }
    }
}

/// cases.md C35.
#[test]
fn translations_of_the_source_leave_bone_lengths_alone() {
    let built = bodies();
    let (source, target) = (Body::built(&built[0]), Body::built(&built[2]));
    let rig = target.rig();
    let mut clip = content::clip(ClipKind::Walk, &built[0]);
    clip.root = RootSource::Hips;
    let hips = source.roles.joint(throng::rig::Role::Hips);
    for (joint, raw) in source.character.skeleton.joints.iter().enumerate() {
        if raw.parent.is_none() || Some(joint as u16) == hips {
            continue;
        }
        // Half as long again, and moving.
        let long = raw.rest.translation * 1.5;
        let curve = Curve {
            times: vec![0.0, clip.duration],
            values: vec![long, long * 1.1],
            interpolation: Interpolation::Linear,
        };
        match clip.tracks.iter_mut().find(|track| usize::from(track.joint) == joint) {
            Some(track) => track.translation = Some(curve),
            None => clip.tracks.push(JointTracks {
                joint: joint as u16,
                translation: Some(curve),
                ..JointTracks::default()
            }),
        }
    }
    clip.tracks.sort_by_key(|track| track.joint);
    let palette = palette_of(&rig, source.source(), &clip, 0.4);
    let skin = &target.character.skins[0];
    let place = |joint: u16| {
        let entry = skin.joints.iter().position(|&own| own == rig.order()[usize::from(joint)])?;
        let bind: Mat4 = skin.inverse_binds[entry];
        Some((palette[entry] * bind.as_dmat4().inverse()).transform_point3(DVec3::ZERO))
    };
    let mut judged = 0;
    for (joint, &parent) in rig.topology().parents().iter().enumerate() {
        if parent == NO_PARENT || joint == usize::from(rig.topology().pelvis()) {
            continue;
        }
        let (Some(a), Some(b)) = (place(joint as u16), place(parent)) else { continue };
        let right = rig.positions()[joint].distance(rig.positions()[usize::from(parent)]);
        assert!((a.distance(b) - right).abs() < 2e-6, "joint {joint}: {} for {right}", a.distance(b));
        judged += 1;
    }
    assert!(judged > 20);
}

/// cases.md C37.
#[test]
fn another_reference_pose_leaves_the_skin_at_rest_alone() {
    for body in bodies().iter().map(Body::built) {
        let mut other = body.clone();
        // Arms forward: neither rest nor bind.
        let arm = usize::from(body.roles.joint(Role::UpperArm(Side::Left)).expect("an arm"));
        let pose = RigOverrides::from_json(r#"{"reference": {"left.upper_arm": {"direction": [0, 0, 1]}}}"#)
            .and_then(|given| given.reference(&body.character.skeleton, &body.roles, &body.reference))
            .expect("an arm to turn");
        assert!(pose.rotation(arm).angle_between(body.reference.rotation(arm)) > 0.5);
        other.reference = pose;
        let rest = RawClip { name: "rest".into(), duration: 0.5, ..RawClip::default() };
        let skeleton = &other.character.skeleton;
        let models = skeleton.model_matrices(&skeleton.rest_pose());
        let palette = palette_of(&other.rig(), other.source(), &rest, 0.2);
        let skin = &other.character.skins[0];
        for ((matrix, &joint), inverse) in palette.iter().zip(&skin.joints).zip(&skin.inverse_binds) {
            let right = models[usize::from(joint)].as_dmat4() * inverse.as_dmat4();
            assert!(off(*matrix, right) < 1e-3, "joint {joint}: {:e}", off(*matrix, right));
        }
    }
}
