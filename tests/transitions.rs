//! Transitions between clips, seen from outside: positions of joints in the world, frame by frame.

use glam::{DMat4, DVec3};
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    ClipId, Crowd, CrowdConfig, FlatGround, Frame, Ground, Handle, PaletteFormat, Play, Probes, Roots,
    Serial, TransitionKind, WorldTransform,
};
use throng::lanes::{Isa, Mode, Row, Simd};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

#[allow(dead_code)]
#[path = "reference/palette.rs"]
mod palette;

const DT: f32 = 1.0 / 60.0;

struct Stage {
    built: BuiltIn,
    rig: Rig,
    crowd: Crowd,
    clips: Vec<(ClipKind, ClipId)>,
}

fn stage(share: f32, simd: Simd) -> Stage {
    stage_of(CrowdConfig { simd, transitions: share, ..CrowdConfig::default() })
}

fn stage_of(config: CrowdConfig) -> Stage {
    let built = content::character(RigKind::Biped, &BodyPlan::adult());
    let rig = Rig::build(&built.rig_source()).expect("rig");
    let reference = built.reference();
    let source =
        BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    let mut crowd = Crowd::new(CrowdConfig { format: PaletteFormat::Mat4, ..config });
    crowd.add_rig(rig.clone()).expect("rig");
    let kinds = [ClipKind::Walk, ClipKind::Jog, ClipKind::Run, ClipKind::Idle];
    let clips = kinds
        .into_iter()
        .map(|kind| {
            let bound = bind(source, &content::clip(kind, &built), &rig).expect("bind");
            (kind, crowd.add_clip(bound).expect("clip"))
        })
        .collect();
    Stage { built, rig, crowd, clips }
}

impl Stage {
    fn clip(&self, kind: ClipKind) -> ClipId {
        self.clips.iter().find(|(own, _)| *own == kind).expect("there").1
    }

    fn spawn(&mut self, kind: ClipKind, time: f32) -> Handle {
        let rig = self.crowd.rigs().next().expect("one");
        let play = Play { time, ..self.play(kind) };
        self.crowd.spawn(rig, 0, WorldTransform::IDENTITY, &[play]).expect("spawn")
    }

    fn play(&self, kind: ClipKind) -> Play {
        Play { sync: kind != ClipKind::Idle, ..Play::new(self.clip(kind)) }
    }

    fn frame(&mut self, roots: Roots<'_>) {
        self.on(roots, &FlatGround::default());
    }

    fn on(&mut self, roots: Roots<'_>, ground: &dyn Ground) {
        self.crowd.frame(Frame { roots, ..Frame::new(DT, ground) }, &Serial).expect("frame");
    }

    /// World positions of all joints: the bind position through the skinning matrix and the root.
    fn joints(&self, handle: Handle) -> Vec<DVec3> {
        let (header, palette) = self.crowd.pose(handle).expect("pose");
        let q = glam::Quat::from_array(header.rotation).as_dquat().normalize();
        let root = DMat4::from_rotation_translation(q, glam::Vec3::from_array(header.position).as_dvec3());
        let skin = &self.rig.skins()[0];
        let bind = &self.built.character.skins[0];
        (0..skin.entries().len())
            .map(|entry| {
                let matrix = palette::decode(PaletteFormat::Mat4, palette, entry, 1.0);
                let at = bind.inverse_binds[entry].as_dmat4().inverse().w_axis.truncate();
                root.transform_point3(matrix.transform_point3(at))
            })
            .collect()
    }
}

/// Second differences of all joints over a run of frames, metres per second squared.
fn accelerations(frames: &[Vec<DVec3>]) -> Vec<f64> {
    let per = f64::from(DT) * f64::from(DT);
    frames
        .windows(3)
        .flat_map(|w| {
            (0..w[0].len()).map(|j| (w[2][j] - 2.0 * w[1][j] + w[0][j]).length() / per).collect::<Vec<_>>()
        })
        .collect()
}

fn p999(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * 0.999) as usize]
}

#[test]
fn joint_acceleration_in_transitions_stays_within_one_and_a_half_times_that_of_the_clips() {
    let limit = worst(Roots::Free, &Nothing);
    let feet = worst(Roots::OnGround, &FlatGround::default());
    println!("worst: {limit:.2} animated, {feet:.2} with feet, of the larger p99.9 of the two clips");
    assert!(limit < 1.5 && feet < 1.5);
}

fn worst(roots: Roots<'_>, ground: &dyn Ground) -> f64 {
    let kinds = [ClipKind::Walk, ClipKind::Jog, ClipKind::Run, ClipKind::Idle];
    let simd = Simd::fastest();
    let own: Vec<f64> = kinds
        .iter()
        .map(|&kind| {
            // At several phases of the frames to the keys.
            let all = (0..8).flat_map(|phase| {
                let mut stage = stage(1.0, simd);
                let who = stage.spawn(kind, 0.0021 * phase as f32);
                let frames: Vec<_> = (0..120)
                    .map(|_| {
                        stage.on(roots, ground);
                        stage.joints(who)
                    })
                    .collect();
                accelerations(&frames)
            });
            p999(all.collect())
        })
        .collect();
    let mut worst = 0.0f64;
    for (a, &from) in kinds.iter().enumerate() {
        for (b, &to) in kinds.iter().enumerate() {
            if a == b {
                continue;
            }
            for start in [7usize, 19, 31, 44] {
                let mut stage = stage(1.0, simd);
                let who = stage.spawn(from, 0.0);
                let mut frames = Vec::new();
                // The half second that it takes; before and after, the clips are themselves.
                for at in 0..start + 30 {
                    if at == start {
                        let kind = stage.crowd.transition_to(who, &[stage.play(to)], 0.5).expect("starts");
                        assert_eq!(kind, TransitionKind::Inertialised);
                    }
                    stage.on(roots, ground);
                    if at + 4 >= start {
                        frames.push(stage.joints(who));
                    }
                }
                let limit = own[a].max(own[b]);
                let most = accelerations(&frames).into_iter().fold(0.0, f64::max);
                let joints = frames[0].len();
                let all = accelerations(&frames);
                let at = all.iter().position(|&a| a == most).unwrap_or(0);
                let joint = stage.built.character.skins[0].joints[at % joints];
                let name = &stage.built.character.skeleton.joints[usize::from(joint)].name;
                println!(
                    "{from:?} to {to:?} at {start}: {most:.1} of {limit:.1} m/s2, {name} in frame {}",
                    at / joints
                );
                worst = worst.max(most / limit);
            }
        }
    }
    worst
}

struct Nothing;

impl Ground for Nothing {
    fn probe(&self, _simd: Simd, probes: &mut Probes) {
        for probe in 0..probes.count {
            probes.hit[probe] = Row::ZERO;
        }
    }
}

#[test]
fn a_transition_starts_where_the_old_motion_was_and_ends_on_the_new_one() {
    let simd = Simd::fastest();
    let (mut moving, mut fresh) = (stage(1.0, simd), stage(1.0, simd));
    let who = moving.spawn(ClipKind::Walk, 0.3);
    for _ in 0..30 {
        moving.frame(Roots::Host(&[]));
    }
    let before = moving.joints(who);
    let jog = moving.play(ClipKind::Jog);
    moving.crowd.transition_to(who, &[jog], 0.4).expect("starts");
    assert_eq!(moving.crowd.in_transition(), 1);
    moving.frame(Roots::Host(&[]));
    let step = joint_step(&before, &moving.joints(who));
    assert!(step < 0.08, "{step} m in one frame");
    for _ in 0..30 {
        moving.frame(Roots::Host(&[]));
    }
    assert_eq!(moving.crowd.in_transition(), 0);
    // The jog alone, at the phase that the walk has handed over.
    let phase = moving.crowd.phase(who).expect("alive").expect("synced");
    let jog = fresh.clip(ClipKind::Jog);
    let time = fresh.crowd.clip(jog).expect("there").sync().time(phase);
    let other = fresh.spawn(ClipKind::Jog, time);
    let ground = FlatGround::default();
    let still = Frame { roots: Roots::Host(&[]), ..Frame::new(0.0, &ground) };
    fresh.crowd.frame(still, &Serial).expect("frame");
    let apart = joint_step(&moving.joints(who), &fresh.joints(other));
    // Feet and pelvis remember how they came here.
    assert!(apart < 2e-3, "{apart} m");
}

fn joint_step(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (*a - *b).length()).fold(0.0, f64::max)
}

/// Feet that start anew, as they do in every frame of a tier without, are no sign that nobody has seen the character.
#[test]
fn whoever_was_shown_goes_over_without_a_jump_wherever_its_feet_start_anew() {
    for how in ["a tier without feet", "a teleport", "another rig"] {
        let mut config = CrowdConfig { transitions: 1.0, ..CrowdConfig::default() };
        config.tiers.iter_mut().for_each(|tier| tier.feet = how != "a tier without feet");
        let mut stage = stage_of(config);
        let handle = stage.spawn(ClipKind::Walk, 0.0);
        let jog = [stage.play(ClipKind::Jog)];
        let kind = stage.crowd.transition_to(handle, &jog, 0.4).expect("alive");
        assert_eq!(kind, TransitionKind::Immediate, "nobody has seen it yet");
        let walk = [stage.play(ClipKind::Walk)];
        stage.crowd.set_clips(handle, &walk).expect("alive");
        let mut frames = Vec::new();
        for _ in 0..60 {
            stage.frame(Roots::OnGround);
            frames.push(stage.joints(handle));
        }
        let rig = stage.crowd.rigs().next().expect("one");
        match how {
            "a teleport" => {
                let place = stage.crowd.transform(handle).expect("alive");
                stage.crowd.teleport(handle, place).expect("alive");
            }
            "another rig" => stage.crowd.replace_rig(rig, stage.rig.clone()).expect("equal"),
            _ => {}
        }
        let kind = stage.crowd.transition_to(handle, &jog, 0.4).expect("alive");
        assert_eq!(kind, TransitionKind::Inertialised, "{how}");
        stage.frame(Roots::OnGround);
        let most = frames.windows(2).map(|two| joint_step(&two[0], &two[1])).fold(0.0, f64::max);
        let step = joint_step(&frames[59], &stage.joints(handle));
        assert!(step < 1.2 * most, "{how}: {step} m, {most} m while it walks");
    }
}

#[test]
fn a_full_pool_cross_fades_instead() {
    let mut stage = stage(0.1, Simd::fastest());
    let crowd: Vec<Handle> = (0..20).map(|k| stage.spawn(ClipKind::Walk, 0.05 * k as f32)).collect();
    stage.frame(Roots::OnGround);
    let run = stage.play(ClipKind::Run);
    let kinds: Vec<_> =
        crowd.iter().map(|&who| stage.crowd.transition_to(who, &[run], 0.3).expect("goes")).collect();
    assert_eq!(kinds.iter().filter(|&&kind| kind == TransitionKind::Inertialised).count(), 2);
    assert_eq!(kinds.iter().filter(|&&kind| kind == TransitionKind::CrossFaded).count(), 18);
    let mut before: Vec<_> = crowd.iter().map(|&who| stage.joints(who)).collect();
    for _ in 0..30 {
        stage.frame(Roots::OnGround);
        for (&who, before) in crowd.iter().zip(&mut before) {
            let now = stage.joints(who);
            let step = joint_step(before, &now);
            assert!(step < 0.35, "{step} m in one frame");
            *before = now;
        }
    }
    for &who in &crowd {
        let clips: Vec<_> = stage.crowd.clips(who).expect("alive").collect();
        assert_eq!((clips.len(), clips[0].clip), (1, run.clip), "the old clip is gone");
        assert!((clips[0].weight - 1.0).abs() < 1e-6);
    }
    // The memory is free again.
    let walk = stage.play(ClipKind::Walk);
    assert_eq!(stage.crowd.transition_to(crowd[5], &[walk], 0.3), Ok(TransitionKind::Inertialised));
}

#[test]
fn transitions_of_neighbours_change_no_bit_and_strict_agrees_on_every_isa() {
    let run = |isa: Isa, neighbours: bool| -> Vec<u8> {
        let simd = Simd::new(isa, Mode::Strict);
        let mut stage = stage(1.0, simd);
        let watched = stage.spawn(ClipKind::Walk, 0.1);
        let others: Vec<_> = (0..15).map(|k| stage.spawn(ClipKind::Jog, 0.07 * k as f32)).collect();
        let mut bytes = Vec::new();
        for at in 0..60 {
            if at == 10 {
                let to = stage.play(ClipKind::Run);
                stage.crowd.transition_to(watched, &[to], 0.3).expect("starts");
            }
            // Once more while it is under way.
            if at == 20 {
                let to = stage.play(ClipKind::Walk);
                stage.crowd.transition_to(watched, &[to], 0.3).expect("starts");
            }
            if neighbours && at % 7 == 3 {
                let to = stage.play(if at % 2 == 0 { ClipKind::Idle } else { ClipKind::Walk });
                for &other in &others {
                    stage.crowd.transition_to(other, &[to], 0.25).expect("starts");
                }
            }
            stage.frame(Roots::OnGround);
            bytes.extend_from_slice(stage.crowd.pose(watched).expect("alive").1);
        }
        bytes
    };
    let alone = run(Isa::PORTABLE, false);
    for &isa in Isa::available() {
        assert!(run(isa, true) == alone, "{isa:?}");
    }
}

/// The state that few characters have comes back when it is not needed, and is not taken twice.
#[test]
fn starting_and_ending_changes_over_and_over_takes_no_more_than_once() {
    let mut stage = stage(1.0, Simd::fastest());
    let crowd: Vec<Handle> = (0..8).map(|k| stage.spawn(ClipKind::Walk, 0.05 * k as f32)).collect();
    stage.crowd.reserve_transitions(16);
    stage.frame(Roots::OnGround);
    let clips = [ClipKind::Jog, ClipKind::Walk, ClipKind::Run].map(|kind| stage.play(kind));
    let mut bytes = Vec::new();
    let mut most = 0;
    for round in 0..60 {
        for &who in &crowd {
            // Interrupted half way, faded in between, faded to the end.
            stage.crowd.transition_to(who, &[clips[round % 3]], 0.2).expect("starts");
            if round % 2 == 0 {
                stage.crowd.fade_to(who, &[clips[(round + 1) % 3]], 0.1).expect("fades");
            }
        }
        for _ in 0..if round % 5 == 0 { 20 } else { 5 } {
            stage.frame(Roots::OnGround);
        }
        if round % 5 == 0 {
            assert!(crowd.iter().all(|&who| !stage.crowd.is_changing(who).expect("alive")));
            // A snapshot tells what characters hold.
            bytes.clear();
            stage.crowd.snapshot_into(&mut bytes);
            if round == 0 {
                most = bytes.len();
            }
            assert_eq!(bytes.len(), most, "round {round}");
        }
    }
}

#[test]
fn events_are_those_of_who_passed_them() {
    let mut stage = stage(1.0, Simd::fastest());
    let who = stage.spawn(ClipKind::Walk, 0.0);
    let mut passed = Vec::new();
    while passed.is_empty() {
        stage.frame(Roots::OnGround);
        passed = stage.crowd.events().collect();
    }
    stage.crowd.despawn(who).expect("alive");
    let newborn = stage.spawn(ClipKind::Walk, 0.0);
    assert_eq!(newborn.index(), who.index(), "the index is used again");
    assert!(stage.crowd.events().all(|event| event.character == who), "and its events are not the newborn's");
}
