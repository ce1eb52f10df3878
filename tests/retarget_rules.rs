//! Turns, sockets, twist and mirrors: what a map does to single joints.

#[path = "support/bodies.rs"]
#[allow(dead_code)]
mod bodies;

use bodies::{Body, Rng, bent, bodies, bone, held, reference_clip, turns};
use glam::{DQuat, DVec3, Vec3};
use throng::clip::{MotionKeys, RawClip, RootSource};
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::retarget::{BindSource, TravelOn, bake, mirror, motion_keys, swing_twist};
use throng::rig::{JointKey, Limb, NO_PARENT, RawJoint, ReferencePose, Rig, Role, RoleMap, Side, Transform};

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
    let still = |track: &&throng::clip::JointTracks| track.joint == 4;
    for q in
        clip.tracks.iter().filter(still).filter_map(|track| track.rotation.as_ref()).flat_map(|c| &c.values)
    {
        assert!(q.dot(turn).abs() > 1.0 - 1e-6, "{q}");
    }
    assert!(clip.tracks.iter().any(|track| track.joint == 2));
}

/// cases.md C06: a clip of `Character/Hips` moves `Hips`. Roles tell joints, or else their own names, never their paths.
#[test]
fn a_clip_moves_its_joints_whatever_hangs_above_them_in_its_file() {
    let built = content::character(RigKind::Deform, &BodyPlan::adult());
    let rig = Rig::build(&built.rig_source()).expect("rig");
    let (clip, reference) = (content::clip(ClipKind::Walk, &built), built.reference());
    let (mut skeleton, mut roles) = (built.character.skeleton.clone(), RoleMap::new());
    for joint in &mut skeleton.joints {
        joint.parent = Some(joint.parent.map_or(0, |parent| parent + 1));
    }
    let top = RawJoint { name: "Character".into(), parent: None, rest: Transform::IDENTITY };
    skeleton.joints.insert(0, top);
    for (role, joint) in built.roles.iter() {
        roles.set(role, joint + 1);
    }
    let mut models = reference.models.clone();
    models.insert(0, glam::DMat4::IDENTITY);
    let mut below = clip.clone();
    below.tracks.iter_mut().for_each(|track| track.joint += 1);
    if let RootSource::Joint(joint) = &mut below.root {
        *joint += 1;
    }
    let own = BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    let other = BindSource { skeleton: &skeleton, roles: &roles, reference: &ReferencePose { models } };
    let right = motion_keys(own, &clip, &rig, 30.0).expect("keys");
    let keys = motion_keys(other, &below, &rig, 30.0).expect("keys");
    let apart = keys.rotations.iter().zip(&right.rotations).map(|(a, b)| a.angle_between(*b));
    assert!(apart.fold(0.0, f64::max) < 1e-6);
    let joints = rig.topology().len();
    let moves = |joint: usize| {
        let first = right.rotations[joint];
        right.rotations.chunks(joints).any(|key| key[joint].angle_between(first) > 1e-3)
    };
    assert!((0..joints).filter(|&joint| moves(joint)).count() > 20);
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
    let joints = (0..4).filter(|&i| topology.joint(Role::Twist(Side::Left, Limb::Forearm, i)).is_some());
    for i in joints {
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
