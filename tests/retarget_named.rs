//! Rigs that are no humanoids: the same rig and its siblings by path and name, and a verdict on both.

use glam::{Quat, Vec3};
use throng::clip::{Curve, Interpolation, JointTracks, RawClip};
use throng::import;
use throng::retarget::{BindSource, Grade, Judged, TravelOn, Verdict, bake, fitting_keys, judge};
use throng::rig::{RawCharacter, RawJoint, RawSkeleton, ReferencePose, Rig, RigSource, RoleMap, Transform};

#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod import_data;

type Side<'a> = (&'a RawSkeleton, &'a RoleMap, &'a ReferencePose);

/// Binds, bakes and judges.
fn over(source: Side<'_>, clip: &RawClip, target: Side<'_>) -> (RawClip, Verdict) {
    let character = RawCharacter { skeleton: target.0.clone(), ..RawCharacter::default() };
    let (roles, reference) = (target.1, target.2.clone());
    let rig =
        Rig::build(&RigSource { character: &character, roles, reference, soles: [None; 2] }).expect("a rig");
    let from = BindSource { skeleton: source.0, roles: source.1, reference: source.2 };
    let keys = fitting_keys(from, clip, &rig).expect("binds");
    let baked = bake(&keys, target.0, &rig, TravelOn::Root).expect("bakes");
    let judged = |(skeleton, roles, reference), clip| Judged { skeleton, roles, reference, clip };
    let verdict = judge(judged(source, clip), judged(target, &baked));
    (baked, verdict)
}

/// A four-legged table with a tail: pairs of bones of one name under different parents.
fn beast(names: impl Fn(&str) -> String, stretch: f32) -> RawSkeleton {
    let mut joints = vec![RawJoint {
        name: names("trunk"),
        parent: None,
        rest: Transform::rigid(Vec3::new(0.0, stretch, 0.0), Quat::IDENTITY),
    }];
    for (leg, x, z) in [("fl", 0.2, 0.4), ("fr", -0.2, 0.4), ("hl", 0.2, -0.4), ("hr", -0.2, -0.4)] {
        let parent = joints.len() as u16;
        let turn = Quat::from_rotation_x(0.2 * z);
        joints.push(RawJoint {
            name: names(leg),
            parent: Some(0),
            rest: Transform::rigid(Vec3::new(x, 0.0, z) * stretch, turn),
        });
        for (at, name) in ["lower", "end"].into_iter().enumerate() {
            joints.push(RawJoint {
                name: name.to_owned(),
                parent: Some(parent + at as u16),
                rest: Transform::rigid(Vec3::new(0.0, -0.45 * stretch, 0.02), Quat::IDENTITY),
            });
        }
    }
    RawSkeleton { joints }
}

fn gallop(skeleton: &RawSkeleton) -> RawClip {
    let times: Vec<f32> = (0..=30).map(|key| key as f32 / 30.0).collect();
    let tracks = (0..skeleton.joints.len() as u16).map(|joint| {
        let rest = skeleton.joints[usize::from(joint)].rest.rotation;
        let turn = |time: &f32| {
            let phase = core::f32::consts::TAU * time + f32::from(joint);
            rest * Quat::from_rotation_x(0.6 * phase.sin()) * Quat::from_rotation_z(0.1 * phase.cos())
        };
        let values = times.iter().map(turn).collect();
        let rotation = Curve { times: times.clone(), values, interpolation: Interpolation::Linear };
        JointTracks { joint, rotation: Some(rotation), translation: None, scale: None }
    });
    RawClip { name: "gallop".to_owned(), duration: 1.0, tracks: tracks.collect(), ..RawClip::default() }
}

#[test]
fn joints_of_one_name_are_told_apart_by_their_paths() {
    let (source, target) = (beast(str::to_owned, 1.0), beast(str::to_owned, 1.0));
    let roles = RoleMap::new();
    let (a, b) = (ReferencePose::rest(&source), ReferencePose::rest(&target));
    let clip = gallop(&source);
    let (baked, verdict) = over((&source, &roles, &a), &clip, (&target, &roles, &b));
    for key in 0..=30 {
        let time = key as f32 / 30.0;
        let places = |clip: &RawClip| source.model_matrices(&clip.sample(&source, time));
        for (joint, (want, have)) in places(&clip).iter().zip(places(&baked)).enumerate() {
            assert!((want.w_axis - have.w_axis).length() < 1e-4, "joint {joint} at {time}");
        }
    }
    assert_eq!(verdict.verdict, Grade::Good, "{:?}", verdict.reasons);
    assert!(verdict.limb_direction_deg.expect("bones").max < 0.05);
}

#[test]
fn siblings_with_other_prefixes_and_sizes_are_understood_and_strangers_refused() {
    let source = beast(str::to_owned, 1.0);
    let roles = RoleMap::new();
    let a = ReferencePose::rest(&source);
    let clip = gallop(&source);
    let sibling = beast(|name| format!("Armature|{}_013", name.to_uppercase()), 1.7);
    let b = ReferencePose::rest(&sibling);
    let (baked, verdict) = over((&source, &roles, &a), &clip, (&sibling, &roles, &b));
    assert_eq!(verdict.verdict, Grade::Good, "{:?}", verdict.reasons);
    assert!(baked.tracks.len() >= source.joints.len() - 1);
    let stranger = beast(|name| format!("{name}x"), 1.0);
    let c = ReferencePose::rest(&stranger);
    let (_, verdict) = over((&source, &roles, &a), &clip, (&stranger, &roles, &c));
    assert_eq!(verdict.verdict, Grade::Bad, "{:?}", verdict.reasons);
}

/// A file of clips alone may rest in a frame of one: its rig still stands as its character does.
#[test]
fn a_sibling_that_rests_in_another_pose_stands_as_the_character_does() {
    let character = beast(str::to_owned, 1.0);
    let mut posed = character.clone();
    for joint in &mut posed.joints[1..] {
        joint.rest.rotation *= Quat::from_rotation_x(0.5);
    }
    let roles = RoleMap::new();
    let reference = ReferencePose::rest(&character);
    let own = ReferencePose::of_sibling(&posed, &roles, &character, &roles, &reference).expect("a sibling");
    assert_eq!(own, reference);
    let larger = beast(str::to_owned, 1.5);
    assert_eq!(ReferencePose::of_sibling(&larger, &roles, &character, &roles, &reference), None);
}

#[test]
fn animals_of_files_come_over_onto_themselves() {
    let Some(data) = import_data::data_dir() else { return };
    for file in ["gltf/quaternius/Fox.glb", "gltf/quaternius/Horse.glb", "gltf/khronos/Fox.glb"] {
        let imported = import::load(data.join(file)).expect("loads");
        let reference = imported.reference_pose();
        let side = (&imported.character.skeleton, &imported.roles, &reference);
        for clip in imported.clips.iter().take(3) {
            let (_, verdict) = over(side, clip, side);
            let direction = verdict.limb_direction_deg.expect("bones");
            println!("{file} {}: {direction:?} {:?}", clip.name, verdict.reasons);
            assert!(
                direction.mean < 0.5 && verdict.verdict != Grade::Bad,
                "{file} {}: {verdict:?}",
                clip.name
            );
        }
    }
    // Two animals of one maker.
    let [horse, fox] = ["Horse", "Fox"].map(|name| {
        let imported = import::load(data.join(format!("gltf/quaternius/{name}.glb"))).expect("loads");
        let reference = imported.reference_pose();
        (imported, reference)
    });
    let side = |(imported, reference): &'_ (import::Imported, ReferencePose)| {
        (imported.character.skeleton.clone(), imported.roles.clone(), reference.clone())
    };
    let (from, to) = (side(&horse), side(&fox));
    let (_, verdict) = over((&from.0, &from.1, &from.2), &horse.0.clips[0], (&to.0, &to.1, &to.2));
    println!("horse on fox: {:?} {:?}", verdict.limb_direction_deg, verdict.reasons);
    assert!(verdict.limb_direction_deg.is_some());
}
