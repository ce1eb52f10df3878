//! Pair test: clips of many sources on every humanoid of the data, judged by joint positions alone.

mod body;
mod contacts;
#[path = "../support/import_data.rs"]
#[allow(dead_code)]
mod data;
mod judge;

use body::Body;
use judge::{Angles, Verdict, judge, source_poses, target_poses};
use throng::retarget::{BindSource, motion_keys};

/// File and clip; an empty name is the first one.
const SOURCES: [(&str, &str); 31] = [
    ("gltf/ual/human-base-animations.glb", "Walk_Loop"),
    ("gltf/ual/human-base-animations.glb", "Jog_Fwd_Loop"),
    ("gltf/ual/human-base-animations.glb", "Crouch_Fwd_Loop"),
    ("gltf/ual/human-base-animations.glb", "Dance_Loop"),
    ("gltf/ual/human-base-animations.glb", "Punch_Cross"),
    ("gltf/ual/human-base-animations.glb", "Sitting_Enter"),
    ("gltf/ual/human-base-animations.glb", "Sword_Attack"),
    ("gltf/ual/human-base-animations.glb", "Roll"),
    ("gltf/kaykit/Med_MovementBasic.glb", "Rig_Medium|Walking_A"),
    ("gltf/kaykit/Med_MovementBasic.glb", "Rig_Medium|Running_A"),
    ("gltf/kaykit/Med_MovementAdvanced.glb", "Rig_Medium|Dodge_Left"),
    ("gltf/kaykit/Med_MovementAdvanced.glb", "Rig_Medium|Crawling"),
    ("gltf/kaykit/Med_General.glb", "Rig_Medium|PickUp"),
    ("gltf/kaykit/Med_General.glb", "Rig_Medium|Throw"),
    ("gltf/quaternius/KnightCharacter.glb", "HumanArmature|Walking"),
    ("gltf/quaternius/KnightCharacter.glb", "HumanArmature|Run_swordAttack"),
    ("gltf/quaternius/KnightCharacter.glb", "HumanArmature|Death"),
    ("gltf/raylib/robot.glb", "Robot_Walking"),
    ("gltf/raylib/robot.glb", "Robot_Sitting"),
    ("gltf/raylib/robot.glb", "Robot_Wave"),
    ("gltf/ozz_pab/pab_locomotions.glb", "walk"),
    ("gltf/ozz_pab/pab_locomotions.glb", "run"),
    ("gltf/cmu91/cmu_91_48.glb", ""),
    ("gltf/cmu91/cmu_91_51.glb", ""),
    ("bvh/cmu_cgspeed_01_01.bvh", ""),
    ("bvh/fair1_wave_hello.bvh", ""),
    ("bvh/fair1_zombie.bvh", ""),
    ("bvh/makehuman_walk1.bvh", ""),
    ("bvh/mocopi_arm_raise_turn.bvh", ""),
    ("bvh/rokoko_jesse_dance.bvh", ""),
    ("gltf/khronos/cesium_man.gltf", ""),
];

#[test]
fn clips_of_many_sources_on_every_humanoid() {
    let Some(dir) = data::data_dir() else { return };
    let facts = data::facts(&dir);
    let mut bodies = Vec::new();
    for (file, facts) in &facts {
        if facts["kind"] == "humanoid" && !file.starts_with("motions/") {
            bodies.extend(Body::load(&dir, file, facts));
        }
    }
    let rigs: Vec<_> = bodies.iter().map(Body::rig).collect();
    let full = std::env::var_os("THRONG_PAIRS").is_some();
    let mut by_target = vec![Verdict::default(); bodies.len()];
    let (mut pairs, mut wrong) = (0, Vec::new());
    for (file, name) in SOURCES {
        let source = bodies.iter().find(|body| body.file == file).expect(file);
        let mut clips = source.imported.clips.iter();
        let clip = clips.find(|clip| name.is_empty() || clip.name == name).expect(name);
        let mut of_source = Verdict::default();
        let mut poses = Vec::new();
        for ((target, rig), total) in bodies.iter().zip(&rigs).zip(&mut by_target) {
            let bind = BindSource {
                skeleton: &source.imported.character.skeleton,
                roles: &source.imported.roles,
                reference: &source.reference,
            };
            // Long captures: their beginning.
            let mut clip = clip.clone();
            clip.duration = clip.duration.min(10.0);
            let keys = motion_keys(bind, &clip, rig, 30.0).expect("motion keys");
            if poses.is_empty() {
                poses = source_poses(source, &clip, keys.pelvis.len());
            }
            let in_place = matches!(clip.root, throng::clip::RootSource::InPlace { .. });
            let placed = target_poses(rig, &keys, in_place);
            let verdict = judge((source, &clip, &poses), (target, rig, &placed));
            if full {
                println!("{file} {name} -> {} {}", target.file, line(&verdict));
            }
            let below = below_floors(&verdict);
            if !below.is_empty() {
                wrong.push(format!("{file} {name} -> {}: {below:?}: {}", target.file, line(&verdict)));
            }
            join(&mut of_source, &verdict);
            join(total, &verdict);
            pairs += 1;
        }
        println!("SOURCE {file} {name}: {}", line(&of_source));
    }
    for (target, total) in bodies.iter().zip(&by_target) {
        println!("TARGET {} {:?}: {}", target.file, target.counts, line(total));
    }
    assert!(pairs > 900, "{pairs}");
    let mut palms = Angles::default();
    by_target.iter().for_each(|total| palms.join(&total.roll[2]));
    assert!(palms.mean() <= 5.0, "palms: {}", palms.mean());
    assert!(wrong.is_empty(), "{} pairs:\n{}", wrong.len(), wrong.join("\n"));
    println!("{pairs} pairs, palms {:.2} degrees off", palms.mean());
}

/// What retargeting must reach before contacts are looked at; says what it has not.
fn below_floors(verdict: &Verdict) -> Vec<&'static str> {
    let sum = |parts: &[Angles]| {
        let mut all = Angles::default();
        parts.iter().for_each(|angles| all.join(angles));
        all
    };
    let direction = sum(&verdict.direction);
    let (hinges, palms) = verdict.roll.split_at(2);
    let off = |ratio: f64| (ratio - 1.0).abs() > 1e-3;
    let checks = [
        (direction.count == 0, "no limb was judged"),
        (direction.mean() > 1.0 || direction.max > 5.0, "directions"),
        (sum(hinges).mean() > 5.0, "knees and elbows"),
        // Knuckles lie in different arches, so single palms are allowed more than all together.
        (palms[0].mean() > 12.0, "palms"),
        (verdict.flips > 0, "flips"),
        (verdict.bone > 1e-6, "lengths of bones"),
        (off(verdict.height_ratio), "height of the hips"),
        (verdict.path_ratio.is_some_and(|ratio| off(ratio / verdict.leg_ratio)), "path"),
    ];
    checks.into_iter().filter(|&(wrong, _)| wrong).map(|(_, what)| what).collect()
}

fn join(total: &mut Verdict, one: &Verdict) {
    let join = |total: &mut [Angles], one: &[Angles]| total.iter_mut().zip(one).for_each(|(a, b)| a.join(b));
    join(&mut total.direction, &one.direction);
    join(&mut total.roll, &one.roll);
    total.flips += one.flips;
    total.bone = total.bone.max(one.bone);
    // Worst relative deviation of the path.
    if let Some(ratio) = one.path_ratio {
        let off = (ratio / one.leg_ratio - 1.0).abs();
        total.path_ratio = Some(total.path_ratio.unwrap_or(0.0).max(off));
    }
}

fn line(verdict: &Verdict) -> String {
    use std::fmt::Write;
    let mut out = String::from("dir");
    for angles in &verdict.direction {
        let _ = write!(out, " {:.2}/{:.1}", angles.mean(), angles.max);
    }
    out.push_str(" roll");
    for angles in &verdict.roll {
        let _ = write!(out, " {:.2}/{:.1}", angles.mean(), angles.max);
    }
    let ratio = verdict.path_ratio.map_or("-".into(), |ratio| format!("{ratio:.4}"));
    let _ = write!(
        out,
        " flips {} path {ratio} leg {:.4} height {:.4} bone {:.1e}",
        verdict.flips, verdict.leg_ratio, verdict.height_ratio, verdict.bone
    );
    out
}
