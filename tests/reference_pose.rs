//! The reference pose does not depend on which frame of a clip a file's rest pose happens to be.

use glam::Quat;
use throng::content::{BodyPlan, RigKind, character};
use throng::rig::{RawSkeleton, ReferencePose, Rig, RigSource, Role, RoleMap, Side};

/// Turns a joint and all below it about the model's left axis, radians.
fn swing(skeleton: &mut RawSkeleton, roles: &RoleMap, role: Role, angle: f32) {
    let joint = usize::from(roles.joint(role).expect("the built-in rigs have legs"));
    let models = skeleton.model_matrices(&skeleton.rest_pose());
    let parent =
        skeleton.joints[joint].parent.map_or(Quat::IDENTITY, |p| Quat::from_mat4(&models[usize::from(p)]));
    let local = parent.inverse() * Quat::from_rotation_x(angle) * parent;
    let rest = &mut skeleton.joints[joint].rest;
    rest.rotation = (local * rest.rotation).normalize();
}

#[test]
fn a_leg_lifted_in_the_rest_pose_comes_down_with_a_level_foot() {
    for kind in RigKind::ALL {
        for side in Side::BOTH {
            let built = character(kind, &BodyPlan::adult());
            let standing = ReferencePose::aligned(&built.character.skeleton, &built.roles);
            let mut running = built.character.skeleton.clone();
            swing(&mut running, &built.roles, Role::Thigh(side), -0.4);
            swing(&mut running, &built.roles, Role::Shin(side), 1.5);
            swing(&mut running, &built.roles, Role::Foot(side), 0.5);
            let lifted = ReferencePose::aligned(&running, &built.roles);
            for joint in 0..running.joints.len() {
                let (have, want) = (lifted.position(joint), standing.position(joint));
                let name = &running.joints[joint].name;
                assert!(have.distance(want) < 0.01, "{kind:?}, {side:?}, {name}: {have} instead of {want}");
                let turn = lifted.rotation(joint).angle_between(standing.rotation(joint));
                assert!(turn < 0.02, "{kind:?}, {side:?}, {name} is turned by {turn}");
            }
        }
    }
}

/// A real body whose left leg is 9 cm shorter than its right one, and whose feet have no toes.
#[test]
fn legs_of_different_lengths_stand_on_both_feet_and_feet_without_toes_lie_flat() {
    let data = std::env::var_os("THRONG_DATA").map_or_else(
        || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        std::path::PathBuf::from,
    );
    let path = data.join("gltf/quaternius/KnightCharacter.glb");
    if !path.exists() {
        println!("SKIPPED: {} is not there", path.display());
        return;
    }
    let loaded = throng::import::load(&path).expect("a knight");
    let skeleton = &loaded.character.skeleton;
    let (rest, pose) = (ReferencePose::rest(skeleton), ReferencePose::aligned(skeleton, &loaded.roles));
    let foot = |side| usize::from(loaded.roles.joint(Role::Foot(side)).expect("a foot"));
    let [left, right] = [foot(Side::Left), foot(Side::Right)];
    assert!((pose.position(left).y - pose.position(right).y).abs() < 0.005);
    for foot in [left, right] {
        assert!((pose.position(foot).y - rest.position(foot).y).abs() < 0.005);
        assert!(pose.rotation(foot).angle_between(rest.rotation(foot)) < 1e-6);
    }
}

/// Of a child and of a giant alike.
#[test]
fn soles_of_feet_without_toes_are_as_long_as_their_legs_ask_for() {
    let mut giant = BodyPlan::adult();
    giant.stature *= 4.0;
    for plan in [BodyPlan::adult(), BodyPlan::child(), giant] {
        let built = character(RigKind::Biped, &plan);
        let mut roles = built.roles.clone();
        for side in Side::BOTH {
            roles.clear(roles.joint(Role::Toe(side)).expect("a toe"));
        }
        let rig = Rig::build(&RigSource::new(&built.character, &roles)).expect("rig");
        let whole = Rig::build(&RigSource::new(&built.character, &built.roles)).expect("rig");
        let leg = rig.leg();
        for (sole, toed) in rig.soles().iter().zip(whole.soles()) {
            let (ahead, with) = (sole.ball[2] / leg, toed.ball[2] / leg);
            assert!(
                (ahead - 0.14).abs() < 1e-3 && (ahead - with).abs() < 0.05,
                "{ahead} and {with} of a leg"
            );
            assert!(sole.heel[2] < 0.0 && sole.heel[1] == sole.ball[1]);
        }
    }
}
