//! What retargeting must leave alone, and what it must carry over.

mod reference;

use std::f64::consts::{FRAC_PI_2, FRAC_PI_6};

use glam::{DMat4, DQuat, DVec3, Mat4, Quat, Vec3};
use reference::palette::decode;
use reference::random::Rng;
use reference::terrain::Terrain;
use throng::clip::{Curve, Interpolation, JointTracks, MotionKeys, RawClip, RootSource};
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{Crowd, CrowdConfig, Frame, PaletteFormat, Play, Roots, Serial, WorldTransform};
use throng::retarget::{BindSource, TravelOn, bake, bind, mirror, motion_keys, swing_twist};
use throng::rig::{
    JointKey, Limb, NO_PARENT, RawCharacter, RawJoint, RawSkeleton, ReferencePose, Rig, RigOverrides,
    RigSource, Role, RoleMap, Side, Sole, Transform,
};

/// A character with all that retargeting asks for.
#[derive(Clone)]
struct Body {
    character: RawCharacter,
    roles: RoleMap,
    reference: ReferencePose,
    soles: [Option<Sole>; 2],
}

impl Body {
    fn built(built: &BuiltIn) -> Self {
        let source = built.rig_source();
        Self {
            character: built.character.clone(),
            roles: built.roles.clone(),
            reference: source.reference.clone(),
            soles: source.soles,
        }
    }
    fn source(&self) -> BindSource<'_> {
        BindSource { skeleton: &self.character.skeleton, roles: &self.roles, reference: &self.reference }
    }
    fn rig(&self) -> Rig {
        Rig::build(&RigSource {
            character: &self.character,
            roles: &self.roles,
            reference: self.reference.clone(),
            soles: self.soles,
        })
        .expect("the body is valid")
    }
    fn parent(&self, joint: usize) -> Option<usize> {
        self.character.skeleton.joints[joint].parent.map(usize::from)
    }

    /// The same body with every joint's axes turned by a rotation of its own.
    fn reoriented(&self, turns: &[DQuat]) -> Self {
        let mut other = self.clone();
        for joint in 0..turns.len() {
            let above = self.parent(joint).map_or(DQuat::IDENTITY, |parent| turns[parent]);
            let rest = &mut other.character.skeleton.joints[joint].rest;
            rest.rotation = turned(above, rest.rotation, turns[joint]);
            rest.translation = (above.inverse() * rest.translation.as_dvec3()).as_vec3();
            other.reference.models[joint] *= DMat4::from_quat(turns[joint]);
        }
        for skin in &mut other.character.skins {
            for (joint, inverse) in skin.joints.iter().zip(&mut skin.inverse_binds) {
                let back = DMat4::from_quat(turns[usize::from(*joint)].inverse());
                *inverse = (back * inverse.as_dmat4()).as_mat4();
            }
        }
        other
    }

    /// A clip of this body for the same body with axes turned.
    fn reoriented_clip(&self, clip: &RawClip, turns: &[DQuat]) -> RawClip {
        let mut clip = clip.clone();
        for track in &mut clip.tracks {
            let joint = usize::from(track.joint);
            let above = self.parent(joint).map_or(DQuat::IDENTITY, |parent| turns[parent]);
            for q in track.rotation.iter_mut().flat_map(|curve| &mut curve.values) {
                *q = turned(above, *q, turns[joint]);
            }
            for t in track.translation.iter_mut().flat_map(|curve| &mut curve.values) {
                *t = (above.inverse() * t.as_dvec3()).as_vec3();
            }
        }
        clip
    }
}

fn turned(above: DQuat, q: Quat, own: DQuat) -> Quat {
    (above.inverse() * q.as_dquat().normalize() * own).normalize().as_quat()
}

fn turns(seed: u64, count: usize) -> Vec<DQuat> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| rng.rotation()).collect()
}

fn bodies() -> Vec<BuiltIn> {
    let plans = [BodyPlan::adult(), BodyPlan::tall(), BodyPlan::child(), BodyPlan::stocky()];
    RigKind::ALL.into_iter().zip(plans).map(|(kind, plan)| content::character(kind, &plan)).collect()
}

/// A clip that holds the body's reference pose.
fn reference_clip(body: &Body) -> RawClip {
    let models = &body.reference.models;
    let tracks = (0..models.len())
        .map(|joint| {
            let above = body.parent(joint).map_or(DMat4::IDENTITY, |parent| models[parent]);
            let (_, rotation, translation) =
                (above.inverse() * models[joint]).to_scale_rotation_translation();
            JointTracks {
                joint: joint as u16,
                rotation: Some(held(rotation.as_quat())),
                translation: Some(held(translation.as_vec3())),
                scale: None,
            }
        })
        .collect();
    RawClip { name: "reference".into(), duration: 0.5, tracks, ..RawClip::default() }
}

fn held<T: Copy>(value: T) -> Curve<T> {
    Curve { times: vec![0.0, 0.5], values: vec![value; 2], interpolation: Interpolation::Linear }
}

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

/// Root, bone and tip; the bone's axes in the model are `axes`.
fn bone(axes: DQuat) -> Body {
    let joint = |name: &str, parent, translation: Vec3, rotation: DQuat| RawJoint {
        name: name.into(),
        parent,
        rest: Transform::rigid(translation, rotation.as_quat()),
    };
    let skeleton = RawSkeleton {
        joints: vec![
            joint("root", None, Vec3::Y, DQuat::IDENTITY),
            joint("side", Some(0), Vec3::X, DQuat::IDENTITY),
            joint("bone", Some(0), Vec3::Y, axes),
            joint("tip", Some(2), Vec3::Y, DQuat::IDENTITY),
        ],
    };
    let reference = ReferencePose::rest(&skeleton);
    let character = RawCharacter { name: "bone".into(), skeleton, ..RawCharacter::default() };
    Body { character, roles: RoleMap::new(), reference, soles: [None; 2] }
}

/// Holds one local rotation of the bone.
fn bent(local: DQuat) -> RawClip {
    let track = JointTracks { joint: 2, rotation: Some(held(local.as_quat())), ..JointTracks::default() };
    RawClip { name: "bent".into(), duration: 0.5, tracks: vec![track], ..RawClip::default() }
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

/// A clip in which the body stands in its reference pose, but for one joint that is turned in model axes.
fn turned_clip(body: &Body, joint: usize, turn: DQuat) -> RawClip {
    let mut clip = reference_clip(body);
    let own = body.reference.rotation(joint);
    let above = body.parent(joint).map_or(DQuat::IDENTITY, |parent| body.reference.rotation(parent));
    clip.tracks[joint].rotation = Some(held((above.inverse() * turn * own).normalize().as_quat()));
    clip
}

#[test]
fn single_axis_turns_stay_on_their_axis_whatever_axes_the_joints_have() {
    let built = bodies();
    let (source, target) = (Body::built(&built[0]), Body::built(&built[2]));
    let mut rng = Rng::new(7);
    let mut worst = 0.0f64;
    for round in 0..1000 {
        let turns_of = |seed, body: &Body| turns(seed, body.character.skeleton.joints.len());
        let own = source.reoriented(&turns_of(2 * round, &source));
        let other = target.reoriented(&turns_of(2 * round + 1, &target));
        let side = Side::BOTH[round as usize % 2];
        let roles =
            [Role::UpperArm(side), Role::Forearm(side), Role::Thigh(side), Role::Shin(side), Role::Head];
        let role = roles[round as usize / 2 % roles.len()];
        let axis = [DVec3::X, DVec3::Y, DVec3::Z][round as usize % 3];
        let turn = DQuat::from_axis_angle(axis, 1.5 * rng.unit() - 0.75);
        let joint = own.roles.joint(role).expect("the part");
        let rig = other.rig();
        let keys =
            motion_keys(own.source(), &turned_clip(&own, joint.into(), turn), &rig, 30.0).expect("keys");
        let helper = |at: usize| matches!(rig.topology().keys()[at], JointKey::Role(Role::Twist(..)));
        for (at, have) in keys.rotations[..rig.topology().len()].iter().enumerate() {
            let right =
                if rig.topology().keys()[at] == JointKey::Role(role) { turn } else { DQuat::IDENTITY };
            if !helper(at) {
                worst = worst.max(have.angle_between(right));
            }
        }
    }
    assert!(worst < 1e-5, "{worst:e}");
}

/// cases.md C36.
#[test]
fn a_socket_keeps_its_rest_relative_to_its_parent() {
    let (source, mut target) = (bone(DQuat::IDENTITY), bone(DQuat::IDENTITY));
    let turn = DQuat::from_rotation_x(0.7).as_quat();
    let rest = Transform::rigid(Vec3::new(0.1, 0.2, 0.0), turn);
    target.character.skeleton.joints.push(RawJoint { name: "socket".into(), parent: Some(2), rest });
    target.reference = ReferencePose::rest(&target.character.skeleton);
    let rig = target.rig();
    let keys = motion_keys(source.source(), &bent(DQuat::from_rotation_z(1.0)), &rig, 30.0).expect("keys");
    let clip = bake(&keys, &target.character.skeleton, &rig, TravelOn::Root).expect("baked");
    assert!(clip.tracks.iter().all(|track| track.joint != 4), "the socket moves against its parent");
    assert!(clip.tracks.iter().any(|track| track.joint == 2));
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

/// cases.md C39.
#[test]
fn twist_of_a_forearm_is_shared_onto_the_targets_twist_joints() {
    let built = bodies();
    let twists = |body: &BuiltIn| {
        (0..4).filter(|&i| body.roles.joint(Role::Twist(Side::Left, Limb::Forearm, i)).is_some()).count()
    };
    let source =
        Body::built(built.iter().find(|body| twists(body) == 0).expect("a body without twist joints"));
    let target = Body::built(built.iter().find(|body| twists(body) > 1).expect("a body with twist joints"));
    let joint = source.roles.joint(Role::Forearm(Side::Left)).expect("a forearm");
    let turn = DQuat::from_rotation_y(40f64.to_radians()) * DQuat::from_rotation_x(80f64.to_radians());
    let rig = target.rig();
    let topology = rig.topology();
    let keys =
        motion_keys(source.source(), &turned_clip(&source, joint.into(), turn), &rig, 30.0).expect("keys");
    let mut model = vec![DQuat::IDENTITY; topology.len()];
    for joint in 0..topology.len() {
        let parent = topology.parents()[joint];
        let above = if parent == NO_PARENT { DQuat::IDENTITY } else { model[usize::from(parent)] };
        model[joint] = above * keys.rotations[joint];
    }
    let of = |role| model[usize::from(topology.joint(role).expect("the part"))];
    let axis = {
        let at = |role| rig.positions()[usize::from(topology.joint(role).expect("the part"))];
        (at(Role::Hand(Side::Left)) - at(Role::Forearm(Side::Left))).normalize()
    };
    // The hand is where the source has it; the forearm only swings; twist grows towards the hand.
    assert!(of(Role::Hand(Side::Left)).angle_between(turn) < 1e-5);
    let (_, elbow) = swing_twist(of(Role::Forearm(Side::Left)), axis);
    assert!(elbow.abs() < 1e-9, "{elbow}");
    let (_, whole) = swing_twist(turn, axis);
    let mut last = 0.0;
    for i in 0..twists(&built[2]).max(2) as u8 {
        let Some(_) = topology.joint(Role::Twist(Side::Left, Limb::Forearm, i)) else { break };
        let own = of(Role::Forearm(Side::Left)).inverse() * of(Role::Twist(Side::Left, Limb::Forearm, i));
        let (swing, twist) = swing_twist(own, axis);
        assert!(swing.angle_between(DQuat::IDENTITY) < 1e-6, "{swing}");
        assert!(twist > last + 0.1 && twist < whole + 1e-6, "{i}: {twist} after {last}, of {whole}");
        last = twist;
    }
    assert!(last > 0.3 * whole, "{last} of {whole}");
}

#[test]
fn a_mirrored_walk_walks_the_other_way_round() {
    for built in &bodies() {
        let body = Body::built(built);
        let rig = body.rig();
        let topology = rig.topology();
        let clip = content::clip(ClipKind::TurnLeft, built);
        let keys = motion_keys(body.source(), &clip, &rig, 30.0).expect("keys");
        let other = mirror(&keys, topology).expect("mirrored");
        let place = |keys: &MotionKeys, key: usize| {
            let mut models: Vec<(DVec3, DQuat)> = Vec::new();
            for joint in 0..topology.len() {
                let parent = topology.parents()[joint];
                let (at, above) = match parent {
                    NO_PARENT => (DVec3::ZERO, DQuat::IDENTITY),
                    parent => models[usize::from(parent)],
                };
                let moved = if joint == usize::from(topology.pelvis()) {
                    keys.pelvis[key] * f64::from(rig.leg())
                } else {
                    DVec3::ZERO
                };
                let offset = DVec3::from_array(rig.offsets()[joint].map(f64::from));
                models.push((
                    at + above * offset + moved,
                    above * keys.rotations[key * topology.len() + joint],
                ));
            }
            models
        };
        let count = keys.pelvis.len();
        for key in [0, count / 3, count - 1] {
            let (left, right) = (place(&keys, key), place(&other, key));
            for part in [Role::Foot, Role::Toe, Role::Hand, Role::Forearm, Role::Shin] {
                for side in Side::BOTH {
                    let at = |models: &[(DVec3, DQuat)], side| {
                        models[usize::from(topology.joint(part(side)).expect("a limb"))].0
                    };
                    let (have, own) = (at(&right, side), at(&left, side.other()));
                    assert!(have.distance(DVec3::new(-own.x, own.y, own.z)) < 1e-4, "{have} for {own}");
                }
            }
            let ([x, z, yaw], [mx, mz, back]) = (keys.root[key], other.root[key]);
            assert_eq!([mx, mz, back], [-x, z, -yaw]);
            assert_eq!(keys.contact[key][0], other.contact[key][1]);
        }
        let again = mirror(&other, topology).expect("mirrored twice");
        for (a, b) in keys.rotations.iter().zip(&again.rotations) {
            assert!(a.angle_between(*b) < 1e-7);
        }
        assert_eq!((&keys.contacts, &keys.sync), (&again.contacts, &again.sync));
        assert_ne!(keys.contacts, other.contacts);
    }
}
