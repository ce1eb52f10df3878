//! Scenes are the same every time, as full and as varied as they say, and nobody leaves the map.

use std::collections::HashSet;

use throng::content::ClipKind;
use throng::crowd::{Crowd, CrowdConfig, RigId, Serial, Stage};
use throng::lanes::{Isa, Mode, Simd};
use throng::rig::Topology;
use throng::stress::{HALF_SIDE, MIN_CLIP_BYTES, Scene, SceneKind, SceneOptions, TerrainKind};

const DT: f32 = 1.0 / 60.0;

fn step(scene: &mut Scene) {
    scene.frame(DT, Stage::Palette, &Serial).unwrap();
    scene.steer(DT).unwrap();
}

fn clips_of(scene: &Scene) -> HashSet<throng::crowd::ClipId> {
    let plays = |&handle| scene.crowd.clips(handle).unwrap().map(|play| play.clip);
    scene.handles().iter().flat_map(plays).collect()
}

fn topologies(crowd: &Crowd) -> Vec<&Topology> {
    let mut found: Vec<&Topology> = Vec::new();
    for rig in crowd.rigs() {
        let own = crowd.rig(rig).topology();
        if !found.contains(&own) {
            found.push(own);
        }
    }
    found
}

#[test]
fn the_stress_mix_is_as_large_full_and_varied_as_it_says() {
    let mut scene = Scene::build(&SceneOptions::default()).unwrap();
    let crowd = &scene.crowd;
    assert_eq!(crowd.len(), 10_000);
    assert!(topologies(crowd).len() >= 2);

    let rigs: Vec<RigId> = crowd.rigs().collect();
    assert_eq!(rigs.len(), 50);
    for (at, &a) in rigs.iter().enumerate() {
        for &b in &rigs[..at] {
            let (a, b) = (crowd.rig(a), crowd.rig(b));
            assert!(a.topology() != b.topology() || a.offsets() != b.offsets(), "{} {}", a.name(), b.name());
        }
    }

    let clips = clips_of(&scene);
    assert_eq!(clips.len(), 256, "all are played by somebody");
    assert_eq!(crowd.library().0, 256, "nothing else is resident");
    let rows: HashSet<&[u8]> =
        clips.iter().map(|&id| bytemuck::cast_slice(crowd.clip(id).unwrap().rows())).collect();
    assert_eq!(rows.len(), 256, "no two have the same rows");
    assert!(rows.iter().all(|rows| rows.len() >= MIN_CLIP_BYTES));

    let mut counts = [0; 5];
    let mut skins = HashSet::new();
    for &handle in scene.handles() {
        counts[crowd.clips(handle).unwrap().count()] += 1;
        skins.insert(crowd.body(handle).unwrap().1);
    }
    assert!(counts[0] == 0 && counts[1..].iter().all(|&n| n > 1_500), "{counts:?}");
    assert!(skins.len() >= 2);

    let occupancy = crowd.occupancy();
    assert!(occupancy.occupancy >= 0.85, "{occupancy:?}");
    assert!(occupancy.uniform_block_percent >= 80.0, "{occupancy:?}");
    step(&mut scene);
}

#[test]
fn the_uniform_scene_is_one_rig_of_64_joints_with_two_clips_each() {
    let scene = Scene::build(&SceneOptions { characters: 1_000, ..SceneOptions::uniform() }).unwrap();
    let rigs: Vec<RigId> = scene.crowd.rigs().collect();
    assert_eq!(rigs.len(), 1);
    assert_eq!(scene.crowd.rig(rigs[0]).topology().len(), 64);
    assert_eq!(clips_of(&scene).len(), 16);
    for &handle in scene.handles() {
        assert_eq!(scene.crowd.clips(handle).unwrap().count(), 2);
    }
    assert!(scene.crowd.occupancy().occupancy > 0.98);
}

#[test]
fn clips_that_are_mixed_step_together() {
    let scene =
        Scene::build(&SceneOptions { characters: 400, library: 64, ..SceneOptions::default() }).unwrap();
    let mut mixed = 0;
    for &handle in scene.handles() {
        let mut cycles = Vec::new();
        for play in scene.crowd.clips(handle).unwrap() {
            let clip = scene.crowd.clip(play.clip).unwrap();
            // Every cycle has one stance of each foot, unless somebody stands.
            let stances = clip.contacts().unwrap().feet[0].ball.len();
            if clip.root().at(clip.duration()).z.abs() > 0.2 {
                let cycle = clip.duration() / stances as f32;
                cycles.push((cycle / play.speed, (play.time / cycle).fract()));
            }
        }
        if let [(period, phase), rest @ ..] = cycles.as_slice() {
            for (other, at) in rest {
                mixed += 1;
                assert!((period - other).abs() < 1e-3, "{cycles:?}");
                let apart = (phase - at).abs();
                assert!(apart.min(1.0 - apart) < 1e-2, "{cycles:?}");
            }
        }
    }
    assert!(mixed > 200, "{mixed}");
}

#[test]
fn a_scene_is_the_same_every_time() {
    let simd = Simd::new(Isa::PORTABLE, Mode::Strict);
    let options = SceneOptions {
        characters: 300,
        rigs: 12,
        library: 24,
        config: CrowdConfig { simd, ..CrowdConfig::default() },
        ..SceneOptions::default()
    };
    let run = |options: &SceneOptions| {
        let mut scene = Scene::build(options).unwrap();
        for _ in 0..40 {
            step(&mut scene);
        }
        bytemuck::cast_slice::<_, u8>(scene.crowd.output()).to_vec()
    };
    let first = run(&options);
    assert!(first == run(&options));
    assert!(first != run(&SceneOptions { seed: 2, ..options }));
}

#[test]
fn runners_stay_on_the_map_and_never_jump() {
    let mut options = SceneOptions::gait(ClipKind::Run, 80);
    options.terrain = TerrainKind::HillsAndSteps;
    assert_eq!(options.kind, SceneKind::Gait(ClipKind::Run));
    let mut scene = Scene::build(&options).unwrap();
    let mut last: Vec<_> = Vec::new();
    for frame in 0..40 * 60 {
        step(&mut scene);
        let now: Vec<_> =
            scene.handles().iter().map(|&handle| scene.crowd.transform(handle).unwrap()).collect();
        for (at, transform) in now.iter().enumerate() {
            let [x, _, z] = transform.position;
            assert!(f64::from(x.abs().max(z.abs())) < HALF_SIDE - 1.0, "{at} is at {x} {z} in frame {frame}");
            if let Some(before) = last.get(at) {
                let before: &throng::crowd::WorldTransform = before;
                let moved = (x - before.position[0]).hypot(z - before.position[2]);
                assert!(moved < 0.09, "{at} moved {moved} m in frame {frame}");
                let dot: f32 = transform.rotation.iter().zip(before.rotation).map(|(a, b)| a * b).sum();
                let turned = 2.0 * dot.abs().min(1.0).acos();
                assert!(turned < 0.02, "{at} turned {turned} in frame {frame}");
            }
        }
        last = now;
    }
}
