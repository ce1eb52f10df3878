//! Ways into streams, out of them and from one to another, seen from outside: where joints are in the world, frame by
//! frame; and snapshots in the midst of them.

use std::sync::Arc;

use glam::{DMat4, DVec3, Vec3};
use throng::clip::{AdditiveReference, RawClip};
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Ground, Handle, Layer, PaletteFormat, Play, Probes, Roots,
    Rotations, Serial, SnapshotError, SnormQuat, Stream, StreamBuffer, StreamId, StreamPose, StreamRoot,
    Tier, TierConfig, TransitionKind, WorldTransform,
};
use throng::lanes::{Isa, Mode, Row, Simd};
use throng::retarget::{BindSource, LiveMap, LiveMaps, bind, bind_additive};
use throng::rig::{ReferencePose, Rig, Role, Side};

#[allow(dead_code)]
#[path = "reference/palette.rs"]
mod palette;

const DT: f32 = 1.0 / 60.0;
const KINDS: [ClipKind; 3] = [ClipKind::Walk, ClipKind::Jog, ClipKind::Idle];
const FLOOR: FlatGround = FlatGround { height: 0.0 };

/// One motion, as a clip of the crowd and as a stream of another skeleton.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Motion {
    Clip(usize),
    Stream(usize),
}

/// A performer whose poses are sent, in its own axes.
struct Performer {
    body: BuiltIn,
    reference: ReferencePose,
    clips: Vec<RawClip>,
}

impl Performer {
    fn new(kind: RigKind) -> Self {
        let body = content::character(kind, &BodyPlan::tall());
        let clips = KINDS.iter().map(|&kind| content::clip(kind, &body)).collect();
        Self { reference: body.reference(), body, clips }
    }

    fn source(&self) -> BindSource<'_> {
        BindSource {
            skeleton: &self.body.character.skeleton,
            roles: &self.body.roles,
            reference: &self.reference,
        }
    }

    /// Rotations, and the place of the hips, which go over the ground if they travel.
    fn pose(&self, kind: usize, time: f32, map: &LiveMap, travels: bool) -> (Vec<[f32; 4]>, [f32; 3]) {
        let clip = &self.clips[kind];
        let skeleton = &self.body.character.skeleton;
        let place = |time: f32| {
            let locals = clip.sample(skeleton, time);
            (skeleton.model_matrices(&locals)[usize::from(map.carrier())].w_axis.truncate(), locals)
        };
        let within = time.rem_euclid(clip.duration);
        let (at, locals) = place(within);
        // Clips that travel end elsewhere than they begin.
        let cycle = place(clip.duration).0.z - place(0.0).0.z;
        let speed = if travels { KINDS[kind].speed(&self.body) as f32 } else { 0.0 };
        let z = at.z - cycle * within / clip.duration + speed * time;
        (locals.iter().map(|local| local.rotation.to_array()).collect(), [at.x, at.y, z])
    }
}

struct Scene {
    built: BuiltIn,
    crowd: Crowd,
    plays: Vec<Play>,
    performer: Performer,
    map: Arc<LiveMap>,
    root: StreamRoot,
    /// Streams that are sent: one per kind; `None` where nothing comes.
    sent: [bool; KINDS.len()],
    /// Poses come in a buffer of 16-bit rotations, not in slices.
    packed: bool,
    floor: bool,
    /// How far the floor lies under roots that are free, metres.
    under: f32,
    frames: usize,
}

impl Scene {
    fn new(share: f32, simd: Simd, root: StreamRoot) -> Self {
        let built = content::character(RigKind::Biped, &BodyPlan::adult());
        let rig = Rig::build(&built.rig_source()).expect("rig");
        let reference = built.reference();
        let own =
            BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
        let mut config =
            CrowdConfig { simd, format: PaletteFormat::Mat4, transitions: share, ..Default::default() };
        config.tiers[Tier::Far as usize] = TierConfig { feet: false, ..TierConfig::FULL };
        let mut crowd = Crowd::new(config);
        crowd.add_rig(rig.clone()).expect("rig");
        let plays = KINDS
            .iter()
            .map(|&kind| {
                let bound = bind(own, &content::clip(kind, &built), &rig).expect("bind");
                Play::new(crowd.add_clip(bound).expect("clip"))
            })
            .collect();
        let performer = Performer::new(RigKind::ALL[1]);
        let map = LiveMaps::default().get(performer.source(), &rig).expect("map");
        let sent = [true; KINDS.len()];
        Self {
            built,
            crowd,
            plays,
            performer,
            map,
            root,
            sent,
            packed: false,
            floor: true,
            under: 0.0,
            frames: 0,
        }
    }

    fn stream(&self, kind: usize) -> Stream {
        Stream { id: StreamId(kind as u32), map: Arc::clone(&self.map), root: self.root }
    }

    fn spawn(&mut self, motion: Motion) -> Handle {
        let rig = self.crowd.rigs().next().expect("one");
        let who = self.crowd.spawn(rig, 0, WorldTransform::IDENTITY, &[]).expect("spawn");
        match motion {
            Motion::Clip(kind) => self.crowd.set_clips(who, &[self.plays[kind]]).expect("clips"),
            Motion::Stream(kind) => self.crowd.set_stream(who, &self.stream(kind)).expect("stream"),
        }
        who
    }

    fn go_over(&mut self, who: Handle, motion: Motion, seconds: f32) -> TransitionKind {
        let changed = match motion {
            Motion::Clip(kind) => self.crowd.transition_to(who, &[self.plays[kind]], seconds),
            Motion::Stream(kind) => self.crowd.transition_to_stream(who, &self.stream(kind), seconds),
        };
        changed.expect("it goes over")
    }

    fn frame(&mut self) {
        self.frame_with(None);
    }

    /// `spoilt`: a stream that holds rotations which are none, from a joint on.
    fn frame_with(&mut self, spoilt: Option<(usize, usize)>) {
        let travels = self.root == StreamRoot::Travel;
        let time = self.frames as f32 * DT;
        let pose = |kind: usize| self.performer.pose(kind, time, &self.map, travels);
        let mut poses: Vec<_> = (0..KINDS.len()).map(pose).collect();
        if let Some((kind, first)) = spoilt {
            poses[kind].0[first..].fill([f32::NAN, 0.0, 0.0, 1.0]);
        }
        let streams: Vec<StreamPose<'_>> = poses
            .iter()
            .zip(self.sent)
            .map(|((rotations, position), sent)| StreamPose {
                rotations: if sent { rotations.into() } else { Rotations::default() },
                position: *position,
                contacts: None,
            })
            .collect();
        let mut buffer =
            StreamBuffer::<SnormQuat>::new(&[self.map.source_joints(); KINDS.len()]).expect("a buffer");
        for (kind, (rotations, position)) in poses.iter().enumerate().filter(|&(kind, _)| self.sent[kind]) {
            let mut pose = buffer.pose_mut(StreamId(kind as u32)).expect("a stream");
            pose.rotations_mut().zip(rotations).for_each(|(to, &from)| *to = SnormQuat::new(from));
            pose.set_position(*position);
        }
        let streams = if self.packed { (&buffer).into() } else { (&streams).into() };
        let low = FlatGround { height: -self.under };
        let (ground, roots): (&dyn Ground, _) = match self.floor {
            true if self.under > 0.0 => (&low, Roots::Free),
            true => (&FLOOR, Roots::OnGround),
            false => (&Nothing, Roots::Free),
        };
        let frame = Frame { streams, roots, ..Frame::new(DT, ground) };
        self.crowd.frame(frame, &Serial).expect("frame");
        self.frames += 1;
    }

    /// World positions of all joints: the bind position through the skinning matrix and the root.
    fn joints(&self, handle: Handle) -> Vec<DVec3> {
        let (header, bytes) = self.crowd.pose(handle).expect("pose");
        let q = glam::Quat::from_array(header.rotation).as_dquat().normalize();
        let root = DMat4::from_rotation_translation(q, glam::Vec3::from_array(header.position).as_dvec3());
        let bind = &self.built.character.skins[0];
        (0..bind.inverse_binds.len())
            .map(|entry| {
                let matrix = palette::decode(PaletteFormat::Mat4, bytes, entry, 1.0);
                let at = bind.inverse_binds[entry].as_dmat4().inverse().w_axis.truncate();
                root.transform_point3(matrix.transform_point3(at))
            })
            .collect()
    }
}

struct Nothing;

impl Ground for Nothing {
    fn probe(&self, _simd: Simd, probes: &mut Probes) {
        for probe in 0..probes.count {
            probes.hit[probe] = Row::ZERO;
        }
    }
}

/// Second differences of all joints over a run of frames, metres per second squared.
fn accelerations(frames: &[Vec<DVec3>]) -> Vec<f64> {
    let per = f64::from(DT) * f64::from(DT);
    let of = |w: &[Vec<DVec3>]| -> Vec<f64> {
        (0..w[0].len()).map(|j| (w[2][j] - 2.0 * w[1][j] + w[0][j]).length() / per).collect()
    };
    frames.windows(3).flat_map(of).collect()
}

fn p999(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * 0.999) as usize]
}

/// Farthest that a joint goes from one frame to the next, metres.
fn step(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
}

fn motions() -> impl Iterator<Item = Motion> {
    (0..KINDS.len()).flat_map(|kind| [Motion::Clip(kind), Motion::Stream(kind)])
}

#[test]
fn joint_acceleration_stays_within_one_and_a_half_times_that_of_what_is_left_and_entered() {
    for (root, packed) in
        [(StreamRoot::InPose, false), (StreamRoot::Travel, false), (StreamRoot::Travel, true)]
    {
        let animated = worst(root, false, packed);
        println!("{root:?}, 16 bits {packed}: {animated:.2} of the larger p99.9 of the two");
        assert!(animated < 1.5);
    }
}

/// Contacts of streams are estimated, and feet that are held come free as the motion goes on.
#[test]
fn feet_on_the_ground_do_not_jump_while_streams_come_and_go() {
    let feet = worst(StreamRoot::InPose, true, false);
    println!("{feet:.2} of the larger p99.9 of the two");
    assert!(feet < 2.5);
}

fn worst(root: StreamRoot, floor: bool, packed: bool) -> f64 {
    let scene = || Scene { floor, packed, ..Scene::new(1.0, Simd::fastest(), root) };
    let own = |motion: Motion| {
        let mut scene = scene();
        let who = scene.spawn(motion);
        let frames: Vec<_> = (0..240).map(|_| (scene.frame(), scene.joints(who)).1).collect();
        p999(accelerations(&frames[2..]))
    };
    let own: Vec<(Motion, f64)> = motions().map(|motion| (motion, own(motion))).collect();
    let mut worst = 0.0f64;
    for &(from, of_from) in &own {
        for &(to, of_to) in &own {
            if from == to || matches!((from, to), (Motion::Clip(_), Motion::Clip(_))) {
                continue;
            }
            let mut scene = scene();
            let who = scene.spawn(from);
            let (mut frames, start) = (Vec::new(), 21);
            for at in 0..start + 34 {
                if at == start {
                    assert_eq!(scene.go_over(who, to, 0.5), TransitionKind::Inertialised);
                }
                scene.frame();
                if at + 4 >= start {
                    frames.push(scene.joints(who));
                }
            }
            assert!(!scene.crowd.is_changing(who).expect("alive"));
            let follows = scene.crowd.stream(who).expect("alive").is_some();
            assert_eq!(follows, matches!(to, Motion::Stream(_)));
            let limit = of_from.max(of_to);
            let most = accelerations(&frames).into_iter().fold(0.0, f64::max);
            if most > 1.2 * limit {
                println!("{root:?} {from:?} to {to:?}: {most:.1} of {limit:.1} m/s2");
            }
            worst = worst.max(most / limit);
        }
    }
    worst
}

/// The root's speed goes from one to the other evenly: no frame moves it more than the faster does, and none stops it.
#[test]
fn roots_go_on_while_streams_come_and_go() {
    for (from, to) in [
        (Motion::Clip(0), Motion::Stream(1)),
        (Motion::Stream(1), Motion::Clip(0)),
        (Motion::Stream(0), Motion::Stream(1)),
    ] {
        let mut scene = Scene::new(1.0, Simd::fastest(), StreamRoot::Travel);
        let who = scene.spawn(from);
        let z = |scene: &Scene| f64::from(scene.crowd.transform(who).expect("alive").position[2]);
        let mut places = Vec::new();
        for at in 0..100 {
            if at == 30 {
                assert_eq!(scene.go_over(who, to, 0.4), TransitionKind::Inertialised);
            }
            scene.frame();
            places.push(z(&scene));
        }
        let speeds: Vec<f64> = places.windows(2).map(|w| (w[1] - w[0]) / f64::from(DT)).collect();
        let (before, after) = (&speeds[10..28], &speeds[70..]);
        let mean = |speeds: &[f64]| speeds.iter().sum::<f64>() / speeds.len() as f64;
        let change = (mean(before) - mean(after)).abs();
        assert!(change > 0.3, "{from:?} to {to:?}: speeds differ, {} and {}", mean(before), mean(after));
        for (at, w) in speeds.windows(2).enumerate().skip(10) {
            // Hips sway within a stride.
            let jump = (w[1] - w[0]).abs();
            assert!(jump < 0.2 * change + 0.12, "{from:?} to {to:?}: {jump} m/s in frame {at}");
        }
        assert!(speeds[10..].iter().all(|&speed| speed > 0.4 && speed < 6.0));
    }
}

#[test]
fn a_stream_that_has_ended_gives_way_from_what_is_seen() {
    for root in [StreamRoot::InPose, StreamRoot::Travel] {
        let mut scene = Scene::new(1.0, Simd::fastest(), root);
        let who = scene.spawn(Motion::Stream(1));
        (0..20).for_each(|_| scene.frame());
        scene.sent = [false; KINDS.len()];
        let held = scene.joints(who);
        (0..5).for_each(|_| scene.frame());
        assert!(step(&held, &scene.joints(who)) < 1e-9, "the last pose is held");
        assert_eq!(scene.go_over(who, Motion::Clip(2), 0.5), TransitionKind::Inertialised);
        let mut before = held.clone();
        let mut most = 0.0f64;
        for _ in 0..32 {
            scene.frame();
            let now = scene.joints(who);
            most = most.max(step(&before, &now));
            before = now;
        }
        assert!(!scene.crowd.is_changing(who).expect("alive"));
        assert!(scene.crowd.stream(who).expect("alive").is_none());
        let whole = step(&held, &before);
        println!("{root:?}: {most:.3} m a frame of {whole:.3} m");
        assert!(whole > 0.1 && most < 0.1 * whole + 0.01, "{most} m in one frame of {whole}");
    }
}

/// What feet had moved the pelvis by is no part of what a tier without them shows.
#[test]
fn a_stream_that_has_ended_gives_way_from_what_is_seen_in_a_tier_without_feet() {
    let mut scene = Scene::new(1.0, Simd::fastest(), StreamRoot::InPose);
    scene.under = 0.12;
    let who = scene.spawn(Motion::Stream(2));
    (0..60).for_each(|_| scene.frame());
    scene.crowd.set_tier(who, Tier::Far).expect("alive");
    (0..20).for_each(|_| scene.frame());
    scene.sent = [false; KINDS.len()];
    let held = scene.joints(who);
    assert_eq!(scene.go_over(who, Motion::Clip(2), 0.5), TransitionKind::Inertialised);
    scene.frame();
    let most = step(&held, &scene.joints(who));
    assert!(most < 0.01, "{most} m in the first frame");
}

/// The pose that the slot holds has the layers in it: they must not be put onto it once more. Nor what is left of a motion
/// before the stream, which is in it too.
#[test]
fn layers_over_a_stream_that_has_ended_count_once_while_it_gives_way() {
    let mut worst = 0.0f64;
    for (adds, weight, speed) in [(true, 1.0, 0.0), (true, 1.0, 1.0), (false, 0.5, 0.0), (false, 1.0, 1.0)] {
        for (from, again) in [(1, None), (1, Some(2)), (1, Some(12)), (0, None), (0, Some(5))] {
            let mut scene = Scene::new(1.0, Simd::fastest(), StreamRoot::InPose);
            let jog = content::clip(ClipKind::Jog, &scene.built);
            let clip = if adds {
                let reference = scene.built.reference();
                let rig = Rig::build(&scene.built.rig_source()).expect("rig");
                let own = BindSource {
                    skeleton: &scene.built.character.skeleton,
                    roles: &scene.built.roles,
                    reference: &reference,
                };
                let bound = bind_additive(own, &jog, AdditiveReference::Rig, &rig).expect("bound");
                scene.crowd.add_clip(bound).expect("clip")
            } else {
                scene.plays[1].clip
            };
            let layer = if adds { Layer::additive(clip) } else { Layer::new(clip) };
            let who = scene.spawn(if from == 1 { Motion::Stream(2) } else { Motion::Clip(2) });
            scene.crowd.set_layers(who, &[Layer { speed, weight, time: 0.2, ..layer }]).expect("layer");
            (0..20).for_each(|_| scene.frame());
            if from == 0 {
                scene.go_over(who, Motion::Stream(0), 0.5);
                (0..14).for_each(|_| scene.frame());
            }
            scene.sent = [false; KINDS.len()];
            let held = scene.joints(who);
            (0..5).for_each(|_| scene.frame());
            assert!(step(&held, &scene.joints(who)) < 1e-9, "the last pose is held");
            scene.go_over(who, Motion::Clip(2), 0.5);
            // Free of the way out: as the layer over the clip moves by itself.
            let (mut before, mut most) = (held.clone(), 0.0f64);
            let mut steps = Vec::new();
            for at in 0..80 {
                if again == Some(at) {
                    scene.go_over(who, Motion::Clip(0), 0.4);
                }
                scene.frame();
                let now = scene.joints(who);
                let step = step(&before, &now);
                steps.push(step);
                most = most.max(step);
                before = now;
            }
            assert!(!scene.crowd.is_changing(who).expect("alive"));
            // What moves by itself afterwards does so no slower.
            let own = steps[45..].iter().copied().fold(0.0, f64::max);
            worst = worst.max(most - own);
        }
    }
    assert!(worst < 0.05, "{worst} m in one frame");
}

/// What cannot be a pose: the way out begins from what is seen, nothing is ever not finite.
#[test]
fn bad_poses_while_a_stream_is_left_or_entered_are_contained() {
    for (from, to, bad) in [
        (Motion::Stream(0), Motion::Clip(1), 0),
        (Motion::Stream(0), Motion::Stream(1), 0),
        (Motion::Stream(0), Motion::Stream(1), 1),
        (Motion::Clip(0), Motion::Stream(1), 1),
    ] {
        for (first, packed) in [(20, false), (21, false), (22, false), (20, true), (21, true), (22, true)] {
            let mut scene = Scene { packed, ..Scene::new(1.0, Simd::fastest(), StreamRoot::Travel) };
            let who = scene.spawn(from);
            let mut before: Option<Vec<DVec3>> = None;
            for at in 0..70 {
                if at == 20 {
                    assert_eq!(scene.go_over(who, to, 0.4), TransitionKind::Inertialised);
                }
                scene.frame_with((at >= first && at < first + 6).then_some((bad, 0)));
                let now = scene.joints(who);
                assert!(now.iter().all(|p| p.is_finite()));
                if let Some(before) = before {
                    let most = step(&before, &now);
                    // After it was held it may take up what it has missed, of six frames.
                    assert!(most < 0.5, "{from:?} to {to:?}, bad from {first} on: {most} m in frame {at}");
                }
                before = Some(now);
            }
            assert!(!scene.crowd.is_changing(who).expect("alive"));
        }
    }
}

/// The hips are fine, a hand is not: all or nothing. The next good pose makes up for what was missed.
#[test]
fn a_pose_that_is_refused_for_a_hand_does_not_move_the_root() {
    let scene = || Scene { floor: false, ..Scene::new(1.0, Simd::fastest(), StreamRoot::Travel) };
    let (mut spoilt, mut whole) = (scene(), scene());
    let hand = spoilt.performer.body.roles.joint(Role::Hand(Side::Left)).expect("a hand");
    let [who, beside] = [0, 1].map(|kind| {
        whole.spawn(Motion::Stream(kind));
        spoilt.spawn(Motion::Stream(kind))
    });
    (0..30).for_each(|_| (spoilt.frame(), whole.frame()).0);
    for _ in 0..3 {
        let before = spoilt.crowd.transform(who).expect("alive");
        spoilt.frame_with(Some((0, hand.into())));
        whole.frame();
        assert_eq!((spoilt.crowd.stream_report().refused, spoilt.crowd.stream_report().followed), (1, 1));
        let after = spoilt.crowd.transform(who).expect("alive");
        assert_eq!(after.position, before.position);
        // Quaternions are brought back to unit length.
        assert!(after.rotation.iter().zip(before.rotation).all(|(a, b)| (a - b).abs() < 1e-6));
        let motion = spoilt.crowd.root_motion(who).expect("alive");
        assert_eq!([motion.x, motion.z, motion.yaw], [0.0; 3]);
        let place = |scene: &Scene| scene.crowd.transform(beside).expect("alive");
        assert_eq!(place(&spoilt), place(&whole), "who stands beside goes on");
        let moved = whole.crowd.transform(who).expect("alive").position;
        assert!(Vec3::from(moved).distance(before.position.into()) > 0.01, "it would have moved");
    }
    spoilt.frame();
    whole.frame();
    let [have, wants] =
        [&spoilt, &whole].map(|scene| Vec3::from(scene.crowd.transform(who).expect("alive").position));
    assert!(have.distance(wants) < 1e-4, "{have} for {wants}");
}

#[test]
fn without_memory_streams_change_at_once() {
    let mut scene = Scene::new(0.0, Simd::fastest(), StreamRoot::InPose);
    let who = scene.spawn(Motion::Stream(0));
    scene.frame();
    assert_eq!(scene.go_over(who, Motion::Clip(1), 0.5), TransitionKind::Immediate);
    assert!(scene.crowd.stream(who).expect("alive").is_none());
    scene.frame();
    assert_eq!(scene.go_over(who, Motion::Stream(1), 0.5), TransitionKind::Immediate);
    assert_eq!(scene.crowd.stream(who).expect("alive").map(|stream| stream.id), Some(StreamId(1)));
    assert_eq!(scene.crowd.clips(who).expect("alive").count(), 0);
    scene.frame();
    assert_eq!(scene.crowd.stream_report().followed, 1);
}

#[test]
fn who_changes_its_mind_does_not_jump() {
    let mut worst = 0.0f64;
    let all = [Motion::Clip(0), Motion::Stream(0), Motion::Stream(1), Motion::Clip(2)];
    for (from, first, second) in all
        .into_iter()
        .flat_map(|a| all.into_iter().flat_map(move |b| all.into_iter().map(move |c| (a, b, c))))
    {
        if from == first || first == second {
            continue;
        }
        for between in [0, 1, 2, 3, 9] {
            let mut scene = Scene::new(1.0, Simd::fastest(), StreamRoot::InPose);
            let who = scene.spawn(from);
            let mut before: Option<Vec<DVec3>> = None;
            for at in 0..60 {
                if at == 20 {
                    scene.go_over(who, first, 0.5);
                }
                if at == 20 + between {
                    scene.go_over(who, second, 0.4);
                }
                scene.frame();
                let now = scene.joints(who);
                if let Some(before) = before.filter(|_| at > 5) {
                    let most = step(&before, &now);
                    assert!(most < 0.12, "{from:?}, {first:?}, {second:?} after {between}: {most} in {at}");
                    worst = worst.max(most);
                }
                before = Some(now);
            }
            assert_eq!(
                scene.crowd.stream(who).expect("alive").map(|stream| stream.id.0 as usize),
                if let Motion::Stream(kind) = second { Some(kind) } else { None }
            );
        }
    }
    println!("at most {worst:.3} m a frame");
}

/// In the midst of every way in and out, also before it has begun.
#[test]
fn restored_followers_go_on_to_the_same_bits() {
    let strict = |isa| Simd::new(isa, Mode::Strict);
    for (root, packed) in
        [(StreamRoot::InPose, false), (StreamRoot::Travel, false), (StreamRoot::Travel, true)]
    {
        let scene = |simd: Simd| Scene { packed, ..Scene::new(1.0, simd, root) };
        let mut first = scene(strict(Isa::widest()));
        let whos: Vec<Handle> = [
            Motion::Stream(0),
            Motion::Clip(0),
            Motion::Stream(1),
            Motion::Stream(2),
            Motion::Clip(1),
            Motion::Stream(0),
        ]
        .map(|motion| first.spawn(motion))
        .into();
        let change = |scene: &mut Scene, at: usize| match at {
            10 => drop(scene.go_over(whos[1], Motion::Stream(2), 0.3)),
            12 => drop(scene.go_over(whos[2], Motion::Clip(0), 0.3)),
            14 => drop(scene.go_over(whos[3], Motion::Stream(0), 0.3)),
            15 => scene.sent[2] = false,
            16 => drop(scene.go_over(whos[1], Motion::Clip(1), 0.2)),
            18 => scene.sent[2] = true,
            _ => {}
        };
        for at in 0..24 {
            change(&mut first, at);
            let snapshot = first.crowd.snapshot();
            let mut second = scene(strict(Isa::PORTABLE));
            // A map of its own, of the same content.
            assert!(!Arc::ptr_eq(&first.map, &second.map));
            assert!(matches!(second.crowd.restore(&snapshot), Err(SnapshotError::Map { .. })));
            assert_eq!(second.crowd.len(), 0, "an error changes nothing");
            let maps = [Arc::clone(&second.map)];
            second.crowd.restore_with_maps(&snapshot, &maps).expect("restored");
            assert!(second.crowd.snapshot() == snapshot, "the same bytes at {at}");
            second.crowd.restore(&snapshot).expect("maps that are followed are known");
            (second.sent, second.frames) = (first.sent, first.frames);
            let mut alone = scene(strict(Isa::widest()));
            alone.crowd.restore_with_maps(&snapshot, &maps).expect("restored");
            (alone.sent, alone.frames) = (first.sent, first.frames);
            first.frame();
            for later in at + 1..at + 12 {
                second.frame();
                alone.frame();
                let seen = |scene: &Scene| bytemuck::cast_slice::<_, u8>(scene.crowd.output()).to_vec();
                assert!(seen(&second) == seen(&alone), "frame {later} from {at}");
                if later == at + 1 {
                    assert!(seen(&first) == seen(&alone), "frame {later} from {at}, without");
                    assert_eq!(first.crowd.stream_report(), second.crowd.stream_report());
                }
                change(&mut second, later);
                change(&mut alone, later);
            }
        }
    }
}
