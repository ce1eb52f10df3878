//! Feet on hills and steps, judged from outside; and the judge judged.

use throng::clip::{Contacts, FootContacts, Interval, RawClip};
use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Ground, Play, Probes, Roots, Serial, Stage, Tier, WorldTransform,
};
use throng::lanes::{BLOCK, Simd};
use throng::retarget::{BindSource, bind};
use throng::rig::{Rig, Side};
use throng::stress::{
    Harness, Histogram, Progress, Quality, RunOptions, Scene, SceneOptions, Terrain, TerrainKind, Zone, run,
    stage_costs,
};

const DT: f32 = 1.0 / 60.0;

fn judge(kind: ClipKind, characters: usize, seconds: f64) -> Quality {
    let mut scene = Scene::build(&SceneOptions::gait(kind, characters)).unwrap();
    let options = RunOptions { seconds, stage_rounds: 0, ..RunOptions::default() };
    let report = run(&mut scene, &options, &mut |_| {}).unwrap();
    println!("{} {:?}", kind.name(), report.quality);
    assert!(report.judged_characters * 2 >= characters);
    report.quality.unwrap()
}

fn holds_the_floors(kind: ClipKind) {
    let quality = judge(kind, 120, 30.0);
    assert!(quality.stances > 2_000, "{quality:?}");
    assert!(quality.stance_gap_mm_p99 <= 5.0, "{quality:?}");
    assert!(quality.stance_penetration_mm_p99 <= 5.0, "{quality:?}");
    assert!(quality.stance_slide_mm_p99 <= 10.0, "{quality:?}");
    assert!(quality.unreachable_stance_percent <= 1.0, "{quality:?}");
    assert!(quality.failure().is_none(), "{quality:?}");
}

#[test]
fn walkers_stand_on_hills_and_steps() {
    holds_the_floors(ClipKind::Walk);
}

#[test]
fn joggers_stand_on_hills_and_steps() {
    holds_the_floors(ClipKind::Jog);
}

#[test]
fn runners_stand_on_hills_and_steps() {
    holds_the_floors(ClipKind::Run);
}

#[test]
fn all_three_parts_of_the_terrain_are_crossed() {
    let mut scene = Scene::build(&SceneOptions::gait(ClipKind::Walk, 60)).unwrap();
    let mut harness = Harness::new(&scene, 60).unwrap();
    for _ in 0..300 {
        scene.frame(DT, Stage::Palette, &Serial).unwrap();
        harness.observe(&scene).unwrap();
    }
    harness.finish().unwrap();
    for zone in Zone::ALL {
        assert!(harness.tally(zone).stances > 50, "{zone:?}");
    }
    assert_eq!(harness.tally(Zone::Hills).straddling, 0, "there are no risers there");
    assert!(harness.tally(Zone::Stairs).straddling > 0);
}

/// A walk on the level, with feet put onto a plane `off` metres above the one that they are judged by.
fn beside_the_ground(off: f32, hold: bool) -> Quality {
    let mut options = SceneOptions::gait(ClipKind::Walk, 16);
    options.terrain = TerrainKind::Flat;
    let mut scene = Scene::build(&options).unwrap();
    let places: Vec<WorldTransform> =
        scene.handles().iter().map(|&handle| scene.crowd.transform(handle).unwrap()).collect();
    let ground = FlatGround { height: off };
    let mut harness = Harness::new(&scene, 16).unwrap();
    for _ in 0..240 {
        let roots = if hold { Roots::Host(&places) } else { Roots::OnGround };
        let frame = Frame { roots, ..Frame::new(DT, &ground) };
        scene.crowd.frame(frame, &Serial).unwrap();
        harness.observe(&scene).unwrap();
    }
    harness.finish().unwrap()
}

#[test]
fn the_harness_sees_feet_that_float_sink_and_slide() {
    let floats = beside_the_ground(0.03, false);
    assert!((28.0..34.0).contains(&floats.stance_gap_mm_p99), "{floats:?}");
    assert!(floats.stance_penetration_mm_p99 < 1.0, "{floats:?}");
    let sinks = beside_the_ground(-0.03, false);
    assert!((28.0..34.0).contains(&sinks.stance_penetration_mm_p99), "{sinks:?}");
    assert!(sinks.stance_gap_mm_p99 < 1.0, "{sinks:?}");
    // A walk that the host holds in place: feet go by at walking speed.
    let slides = beside_the_ground(0.0, true);
    assert!(slides.stance_slide_mm_p99 > 100.0, "{slides:?}");
}

#[test]
fn a_clip_without_contacts_is_not_judged_and_the_reason_is_said() {
    let body = content::character(RigKind::Aligned, &BodyPlan::adult());
    let rig = Rig::build(&body.rig_source()).unwrap();
    let walk = RawClip { contacts: None, ..content::clip(ClipKind::Walk, &body) };
    let reference = body.reference();
    let source = BindSource { skeleton: &body.character.skeleton, roles: &body.roles, reference: &reference };
    let bound = bind(source, &walk, &rig).unwrap();
    let mut crowd = Crowd::new(CrowdConfig::default());
    let id = crowd.add_rig(rig).unwrap();
    let clip = crowd.add_clip(bound).unwrap();
    let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[Play::new(clip)]).unwrap();
    let mut scene = Scene::from_crowd(crowd, TerrainKind::Flat, vec![handle], vec![handle]).unwrap();
    let options = RunOptions { seconds: 0.2, stage_rounds: 1, ..RunOptions::default() };
    let report = run(&mut scene, &options, &mut |_| {}).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert!(json["quality"].is_null());
    assert_eq!(json["quality_reason"], "no_authored_contacts");
    for field in ["us_per_character", "frame_us", "tiers", "machine"] {
        assert!(!json[field].is_null(), "{field}");
    }
    for field in ["p50", "p99", "max"] {
        assert!(json["frame_us"][field].as_f64().unwrap() > 0.0);
    }
}

/// What is started between frames is paid for in them: rows without it would fall short of the frame.
#[test]
fn stages_are_measured_while_clips_go_on_changing() {
    let options = SceneOptions { characters: 600, rigs: 4, library: 16, ..SceneOptions::default() };
    let changes = |stage_rounds: usize| {
        let mut scene = Scene::build(&options).unwrap();
        let options = RunOptions { seconds: 0.1, judged: 0, stage_rounds, ..RunOptions::default() };
        let report = run(&mut scene, &options, &mut |_| {}).unwrap();
        assert_eq!(report.stages.len(), if stage_rounds > 0 { Stage::ALL.len() } else { 0 });
        scene.changes().transitions
    };
    let (without, with) = (changes(0), changes(3));
    assert!(
        without > 0 && with > without,
        "{without} changes in the run alone, {with} with three rounds of stages"
    );
}

/// Stages are taken apart where everybody is posed in every frame only.
#[test]
fn a_run_tells_of_each_of_its_parts_from_the_beginning_to_the_end() {
    for (turns, right) in [
        (false, &["warming up", "walking", "stages", "tiers"][..]),
        (true, &["warming up", "walking", "tiers"]),
    ] {
        let mut options = SceneOptions { characters: 64, rigs: 2, library: 8, ..SceneOptions::default() };
        options.config.tiers.iter_mut().for_each(|tier| tier.period = if turns { tier.period } else { 1 });
        let mut scene = Scene::build(&options).unwrap();
        scene.share_tiers().unwrap();
        let options = RunOptions { seconds: 0.1, judged: 0, stage_rounds: 2, ..RunOptions::default() };
        let mut told: Vec<Progress> = Vec::new();
        let report = run(&mut scene, &options, &mut |now| told.push(now)).unwrap();
        assert_eq!(report.stages.is_empty(), turns);
        let mut parts: Vec<&str> = told.iter().map(|now| now.part).collect();
        parts.dedup();
        assert_eq!(parts, right);
        for part in parts {
            let steps: Vec<Progress> = told.iter().copied().filter(|now| now.part == part).collect();
            let all = steps[0].all;
            assert!(steps.iter().enumerate().all(|(at, now)| (now.done, now.all) == (at, all)), "{steps:?}");
            assert_eq!(steps.len(), all + 1, "{part}");
        }
    }
}

/// Two of a handful are a fifth by chance; of many they are not, and what is all wrong fails in any number.
#[test]
fn shares_of_few_stances_fail_only_beyond_what_chance_makes_of_them() {
    let of = |stances: u64, straddling: f64, unreachable: f64| Quality {
        stance_gap_mm_p99: 0.0,
        stance_penetration_mm_p99: 0.0,
        stance_slide_mm_p99: 0.0,
        slide_within_mm_p99: 0.0,
        unreachable_stance_percent: unreachable,
        straddling_stance_percent: straddling,
        stances,
        samples: stances,
    };
    for (stances, straddling, unreachable) in
        [(46, 10.9, 0.0), (46, 0.0, 2.2), (10, 20.0, 10.0), (400, 12.0, 1.5)]
    {
        assert_eq!(of(stances, straddling, unreachable).failure(), None, "{stances}");
    }
    for (stances, straddling, unreachable) in [
        (46, 30.0, 0.0),
        (46, 0.0, 10.0),
        (3, 0.0, 100.0),
        (Quality::ENOUGH_STANCES, 10.1, 0.0),
        (100_000, 0.0, 1.1),
    ] {
        assert!(of(stances, straddling, unreachable).failure().is_some(), "{stances}");
    }
    assert!(of(46, 30.0, 0.0).failure().unwrap().contains("of only 46"));
    let many = of(Quality::ENOUGH_STANCES, 0.0, 0.0);
    assert_eq!([many.straddling_limit_percent(), many.unreachable_limit_percent()], [10.0, 1.0]);
}

#[test]
fn stages_cost_nothing_rather_than_less_and_sum_to_the_frame() {
    // The second stage was disturbed: to run up to the third was faster.
    let mut times = [100.0, 250.0, 240.0, 300.0];
    stage_costs(&mut times);
    assert_eq!(times, [100.0, 140.0, 0.0, 60.0]);
    stage_costs(&mut []);
}

/// Stands on both feet until its end, and lifts the right one at `lifts` seconds.
fn one_shot(lifts: f32, shown_late: bool) -> Quality {
    let body = content::character(RigKind::Aligned, &BodyPlan::adult());
    let rig = Rig::build(&body.rig_source()).unwrap();
    let walk = content::clip(ClipKind::Walk, &body);
    let feet = Side::BOTH.map(|side| {
        let end = if side == Side::Right { lifts.min(walk.duration) } else { walk.duration };
        let down = vec![Interval { start: 0.0, end }];
        FootContacts { side, heel: down.clone(), ball: down }
    });
    let clip = RawClip { looping: false, contacts: Some(Contacts { feet: feet.into() }), ..walk };
    let reference = body.reference();
    let source = BindSource { skeleton: &body.character.skeleton, roles: &body.roles, reference: &reference };
    let bound = bind(source, &clip, &rig).unwrap();
    let mut crowd = Crowd::new(CrowdConfig { interpolate: shown_late, ..CrowdConfig::default() });
    let id = crowd.add_rig(rig).unwrap();
    let (duration, clip) = (bound.duration(), crowd.add_clip(bound).unwrap());
    let play = Play { time: duration - 0.5, ..Play::new(clip) };
    let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[play]).unwrap();
    if shown_late {
        crowd.set_tier(handle, Tier::Far).unwrap();
    }
    let mut scene = Scene::from_crowd(crowd, TerrainKind::Flat, vec![handle], vec![]).unwrap();
    for _ in 0..16 {
        scene.frame(DT, Stage::Palette, &Serial).unwrap();
    }
    let mut harness = Harness::new(&scene, 1).unwrap();
    for _ in 0..300 {
        scene.frame(DT, Stage::Palette, &Serial).unwrap();
        harness.observe(&scene).unwrap();
    }
    harness.finish().unwrap()
}

#[test]
fn a_clip_that_has_ended_on_both_feet_is_one_stance_of_each() {
    let quality = one_shot(f32::INFINITY, false);
    assert_eq!((quality.stances, quality.samples), (2, 2 * 2 * 300), "{quality:?}");
}

#[test]
fn a_foot_that_was_lifted_before_the_end_of_a_clip_shown_late_is_not_judged_after_it() {
    let body = content::character(RigKind::Aligned, &BodyPlan::adult());
    let duration = content::clip(ClipKind::Walk, &body).duration;
    let quality = one_shot(duration - 0.03, true);
    // The left one all the time, the right one for less than half a second.
    assert!(quality.samples < 2 * (300 + 30), "{quality:?}");
    assert_eq!(quality.stances, 2, "{quality:?}");
}

#[test]
fn percentiles_are_those_of_the_sorted_values() {
    let mut histogram = Histogram::default();
    let mut values: Vec<f64> = (0..1000).map(|i| f64::from(i * 7919 % 1000) * 0.037).collect();
    values.iter().for_each(|&value| histogram.add(value));
    values.sort_by(f64::total_cmp);
    for share in [0.01, 0.5, 0.9, 0.99, 1.0] {
        let exact = values[(share * 1000.0) as usize - 1];
        assert!((histogram.percentile(share) - exact).abs() <= 0.011, "{share}");
    }
}

#[test]
fn the_ground_that_judges_is_the_ground_that_is_walked_on() {
    let terrain = Terrain::new(TerrainKind::HillsAndSteps, 1).unwrap();
    for turn in 0..200 {
        let mut probes = Probes { count: 1, live: u16::MAX, ..Probes::default() };
        for lane in 0..BLOCK {
            let k = (turn * BLOCK + lane) as f32;
            probes.x[0].0[lane] = (k * 12.345_6).rem_euclid(127.9) - 63.95;
            probes.z[0].0[lane] = (k * 7.891_3).rem_euclid(127.9) - 63.95;
        }
        terrain.probe(Simd::fastest(), &mut probes);
        for lane in 0..BLOCK {
            let spot = terrain.at(probes.x[0].0[lane].into(), probes.z[0].0[lane].into()).unwrap();
            assert!((spot.height - f64::from(probes.height[0].0[lane])).abs() < 1e-4);
        }
    }
    assert!(terrain.at(64.1, 0.0).is_none() && terrain.at(0.0, f64::NAN).is_none());
}
