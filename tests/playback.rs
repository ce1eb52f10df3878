//! What characters play: common phases, ends of clips, seeking, events once and in order, orders that do not matter.

mod reference;

use glam::{DMat4, DQuat, DVec3};
use reference::palette::{angle_between, decode};
use reference::terrain::Terrain;
use throng::clip::{BoundClip, ClipEvent, MotionKeys};
use throng::content::{self, BodyPlan, RigKind};
use throng::crowd::{
    BlockJob, ClipId, Crowd, CrowdConfig, Executor, Frame, Handle, PaletteFormat, Play, RigId, Roots, Serial,
    WorldTransform, Wrap,
};
use throng::rig::{Rig, Role, Side, Topology};

fn keys(topology: &Topology, name: &str, duration: f64, looping: bool) -> MotionKeys {
    MotionKeys {
        name: name.into(),
        duration,
        looping,
        rotations: vec![DQuat::IDENTITY; 2 * topology.len()],
        pelvis: vec![DVec3::ZERO; 2],
        root: vec![[0.0; 3]; 2],
        contact: vec![[1.0; 2]; 2],
        ..MotionKeys::default()
    }
}

fn events(times: &[f32]) -> Vec<ClipEvent> {
    times.iter().map(|&time| ClipEvent { time, name: format!("at {time}") }).collect()
}

struct Stage {
    crowd: Crowd,
    rig: Rig,
    id: RigId,
}

impl Stage {
    fn new(config: CrowdConfig) -> Self {
        let mut built = content::character(RigKind::Aligned, &BodyPlan::adult());
        built.character.skins.clear();
        let rig = Rig::build(&built.rig_source()).expect("rig");
        let mut crowd = Crowd::new(config);
        let id = crowd.add_rig(rig.clone()).expect("rig");
        Self { crowd, rig, id }
    }

    fn clip(&mut self, keys: &MotionKeys) -> ClipId {
        self.crowd.add_clip(BoundClip::build(self.rig.topology(), keys).expect("keys")).expect("clip")
    }

    fn spawn(&mut self, plays: &[Play]) -> Handle {
        self.crowd.spawn(self.id, 0, WorldTransform::IDENTITY, plays).expect("spawn")
    }

    fn frame(&mut self, dt: f32) {
        let frame = Frame { roots: Roots::Free, ..Frame::new(dt, &Terrain::Nothing) };
        self.crowd.frame(frame, &Serial).expect("frame");
    }

    fn plays(&self, handle: Handle) -> Vec<Play> {
        self.crowd.clips(handle).expect("alive").collect()
    }

    fn bits(&self, handle: Handle) -> (Vec<u8>, [u32; 7]) {
        let place = self.crowd.transform(handle).expect("alive");
        let [x, y, z] = place.position.map(f32::to_bits);
        let [a, b, c, d] = place.rotation.map(f32::to_bits);
        (self.crowd.pose(handle).expect("alive").1.to_vec(), [x, y, z, a, b, c, d])
    }

    fn matrices(&self, handle: Handle) -> Vec<DMat4> {
        let (_, palette) = self.crowd.pose(handle).expect("alive");
        (0..self.rig.topology().len()).map(|at| decode(PaletteFormat::Mat3x4, palette, at, 1.0)).collect()
    }
}

/// C16: between two keys it goes the shorter way round.
#[test]
fn keys_more_than_half_a_turn_apart_by_their_signs_are_joined_the_short_way() {
    let mut stage = Stage::new(CrowdConfig::default());
    let topology = stage.rig.topology().clone();
    let arm = usize::from(topology.joint(Role::UpperArm(Side::Left)).expect("arm"));
    let mut turning = keys(&topology, "turning", 1.0, false);
    turning.rotations[arm] = DQuat::from_xyzw(-0.062, 0.997, -0.003, 0.052).normalize();
    turning.rotations[topology.len() + arm] = DQuat::from_xyzw(0.046, -0.742, -0.042, 0.668).normalize();
    let clip = stage.clip(&turning);
    let handle = stage.spawn(&[Play { time: 0.5, speed: 0.0, ..Play::new(clip) }]);
    stage.frame(0.0);
    let right = DQuat::from_xyzw(-0.058428, 0.940792, 0.021098, -0.333243).normalize();
    let above = usize::from(topology.parents()[arm]);
    let models = stage.matrices(handle);
    let local = models[above].inverse() * models[arm];
    assert!(angle_between(local, DMat4::from_quat(right)) < 2e-4);
}

/// C22: a walk of 30 frames and a jog of 24, half and half.
#[test]
fn a_blend_of_cycles_takes_their_mean_time_and_keeps_step_for_a_hundred_of_them() {
    for markers in [[vec![], vec![]], [vec![0.1, 0.55], vec![0.7, 0.2]]] {
        let mut stage = Stage::new(CrowdConfig::default());
        let topology = stage.rig.topology().clone();
        let mut cycle = |name: &str, seconds: f64, marks: &[f32]| {
            let mut keys = keys(&topology, name, seconds, true);
            keys.sync = marks.to_vec();
            let falls = if marks.is_empty() { vec![0.0, 0.5 * seconds as f32] } else { marks.to_vec() };
            keys.events = vec![
                ClipEvent { time: falls[0], name: "left".into() },
                ClipEvent { time: falls[1], name: "right".into() },
            ];
            stage.clip(&keys)
        };
        let (walk, jog) = (cycle("walk", 1.0, &markers[0]), cycle("jog", 0.8, &markers[1]));
        let handle = stage.spawn(&[Play::synced(walk, 0.5), Play::synced(jog, 0.5)]);
        let phase_of = |stage: &Stage, play: &Play| {
            f64::from(stage.crowd.clip(play.clip).expect("clip").sync().phase(play.time))
        };
        let begin = phase_of(&stage, &stage.plays(handle)[0]);
        let mut falls: Vec<(f64, ClipId, String)> = Vec::new();
        for frame in 0..2700 {
            stage.frame(1.0 / 30.0);
            for event in stage.crowd.events() {
                let name =
                    &stage.crowd.clip(event.clip).expect("clip").events()[usize::from(event.event)].name;
                falls.push((f64::from(frame + 1) / 30.0 - f64::from(event.ago), event.clip, name.clone()));
            }
            if frame % 270 == 269 {
                let phases: Vec<f64> =
                    stage.plays(handle).iter().map(|play| phase_of(&stage, play)).collect();
                for phase in phases {
                    let off = (phase - begin).abs();
                    assert!(off.min(1.0 - off) < 1e-4, "frame {frame}: phase {phase} for {begin}");
                }
            }
        }
        // 27 frames a cycle, both feet of both clips in each; the two clips' feet at one time.
        for clip in [walk, jog] {
            let own: Vec<&(f64, ClipId, String)> = falls.iter().filter(|fall| fall.1 == clip).collect();
            assert!((199..=201).contains(&own.len()), "{}", own.len());
            assert!(own.windows(2).all(|pair| pair[0].2 != pair[1].2), "left and right in turn");
            assert!(
                own.windows(3).all(|three| (three[2].0 - three[0].0 - 0.9).abs() < 1e-3),
                "0.9 s a cycle"
            );
        }
        for (at, name) in falls.iter().filter(|fall| fall.1 == walk).map(|fall| (fall.0, &fall.2)) {
            let with =
                falls.iter().any(|fall| fall.1 == jog && fall.2 == *name && (fall.0 - at).abs() < 1e-3);
            assert!(with || !(0.1..89.9).contains(&at), "{name} of the walk at {at} s is alone");
        }
    }
}

/// Marks that a clock running from `from` to `to`, unwrapped, passes, in order: seconds from the start, event.
fn passed(marks: &[f64], duration: f64, wrap: Wrap, from: f64, speed: f64, seconds: f64) -> Vec<(f64, u16)> {
    let to = from + speed * seconds;
    let mut out = Vec::new();
    let mut tell = |at: f64, event: usize| {
        let inside = if speed > 0.0 { from <= at && at < to } else { to < at && at <= from };
        if inside {
            out.push(((at - from) / speed, event as u16));
        }
    };
    for (event, &mark) in marks.iter().enumerate() {
        match wrap {
            Wrap::Once => {
                // What stops at an end has passed what lies there.
                let hair = 1e-9 * speed.signum();
                let at_end = if speed > 0.0 { mark >= duration } else { mark <= 0.0 };
                tell(if at_end { mark - hair } else { mark }, event);
            }
            Wrap::PingPong => {
                for round in -200..200 {
                    let base = f64::from(round) * 2.0 * duration;
                    tell(base + mark, event);
                    if mark > 0.0 && mark < duration {
                        tell(base + 2.0 * duration - mark, event);
                    }
                }
            }
            _ => (-200..200).for_each(|round| tell(f64::from(round) * duration + mark, event)),
        }
    }
    out.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    out
}

fn cut(kind: usize, seconds: f64) -> Vec<f32> {
    let even =
        |step: f64| vec![(seconds / (seconds / step).round()) as f32; (seconds / step).round() as usize];
    match kind {
        0 => even(1.0 / 240.0),
        1 => even(1.0 / 60.0),
        2 => even(1.0 / 3.0),
        // About half a round, and several.
        3 => {
            vec![0.5; (2.0 * seconds).floor() as usize].into_iter().chain([(seconds % 0.5) as f32]).collect()
        }
        4 => even(2.7),
        _ => {
            let (mut left, mut out, mut k) = (seconds, Vec::new(), 0usize);
            while left > 0.0 {
                let step = f64::from([1.0f32 / 240.0, 1.0 / 3.0, 0.0, 0.021, 0.17, 0.5][k % 6]).min(left);
                out.push(step as f32);
                left -= step;
                k += 1;
            }
            out
        }
    }
}

#[test]
fn events_are_told_once_in_order_however_time_is_cut() {
    let one: &[f32] = &[0.1];
    let many: &[f32] = &[0.0, 0.1, 0.25, 0.6, 0.61, 0.9];
    let seconds = 10.33;
    for (times, wrap, speed, from) in [
        (one, Wrap::Loop, 1.0f32, 0.0f32),
        (one, Wrap::Loop, 1.0, 0.4),
        (one, Wrap::Loop, -1.0, 0.4),
        (many, Wrap::Loop, 1.0, 0.0),
        (many, Wrap::Loop, -0.7, 0.95),
        (many, Wrap::Loop, 3.3, 0.5),
        (one, Wrap::PingPong, 1.0, 0.0),
        (many, Wrap::PingPong, 1.0, 0.33),
        (many, Wrap::PingPong, -1.3, 1.5),
        (many, Wrap::Once, 0.21, 0.0),
        (many, Wrap::Once, -0.21, 1.0),
        (&[0.0, 0.5, 1.0], Wrap::Once, 1.0, 0.0),
        (&[0.0, 0.5, 1.0], Wrap::Once, -1.0, 1.0),
    ] {
        for kind in 0..6 {
            let mut stage = Stage::new(CrowdConfig::default());
            let topology = stage.rig.topology().clone();
            let mut clip = keys(&topology, "telling", 1.0, false);
            clip.events = events(times);
            let clip = stage.clip(&clip);
            let handle = stage.spawn(&[Play { time: from, speed, wrap, ..Play::new(clip) }]);
            let marks: Vec<f64> = times.iter().map(|&time| time.into()).collect();
            let right = passed(&marks, 1.0, wrap, from.into(), speed.into(), seconds);
            let mut told = Vec::new();
            let mut now = 0.0;
            for dt in cut(kind, seconds) {
                stage.frame(dt);
                now += f64::from(dt);
                for event in stage.crowd.events() {
                    assert_eq!((event.character, event.clip, event.weight), (handle, clip, 1.0));
                    assert!((0.0..=dt).contains(&event.ago));
                    told.push((now - f64::from(event.ago), event.event));
                }
                assert_eq!(stage.crowd.events_lost(), 0);
            }
            let what = format!("{times:?} {wrap:?} x{speed} from {from}, cut {kind}");
            let order = |list: &[(f64, u16)]| list.iter().map(|(_, event)| *event).collect::<Vec<_>>();
            assert_eq!(order(&told), order(&right), "{what}");
            for ((at, _), (right, _)) in told.iter().zip(&right) {
                assert!((at - right).abs() < 1e-4, "{what}: at {at} for {right}");
            }
        }
    }
}

/// A host's threads.
struct Threads(usize);

impl Executor for Threads {
    fn workers(&self) -> usize {
        self.0
    }
    fn run(&self, jobs: &mut [BlockJob<'_>]) {
        std::thread::scope(|scope| {
            let size = jobs.len().div_ceil(self.0).max(1);
            for part in jobs.chunks_mut(size) {
                scope.spawn(move || part.iter_mut().rev().for_each(BlockJob::run));
            }
        });
    }
}

#[test]
fn what_finds_no_room_is_counted_and_what_is_kept_does_not_depend_on_threads() {
    let run = |executor: &dyn Executor| {
        let mut stage = Stage::new(CrowdConfig { event_capacity: 100, ..CrowdConfig::default() });
        let topology = stage.rig.topology().clone();
        let mut clip = keys(&topology, "telling", 1.0, true);
        clip.events = events(&[0.05, 0.1]);
        let clip = stage.clip(&clip);
        for at in 0..300 {
            stage.spawn(&[Play { time: 0.001 * at as f32, ..Play::new(clip) }]);
        }
        (0..12)
            .map(|_| {
                let frame = Frame { roots: Roots::Free, ..Frame::new(0.1, &Terrain::Nothing) };
                stage.crowd.frame(frame, executor).expect("frame");
                let told: Vec<_> = stage.crowd.events().collect();
                (told, stage.crowd.events_lost())
            })
            .collect::<Vec<_>>()
    };
    let serial = run(&Serial);
    assert!(serial.iter().any(|(_, lost)| *lost > 0));
    let all: usize = serial.iter().map(|(told, lost)| told.len() + lost).sum();
    // The first 51 of them tell four, the next 50 three, all others two.
    assert_eq!(all, 752);
    assert!(serial.iter().all(|(told, lost)| *lost == 0 || told.len() == 100));
    for threads in [2, 3, 7] {
        assert!(run(&Threads(threads)) == serial, "{threads} threads");
    }
}

/// Walks of one family with turns, at odd weights.
fn family(stage: &mut Stage) -> Vec<ClipId> {
    let topology = stage.rig.topology().clone();
    let mut rng = reference::random::Rng::new(11);
    (0..4)
        .map(|_| {
            let shape =
                reference::random::ClipShape { keys: 16, looping: true, crossing: true, varying: true };
            stage.clip(&reference::random::motion(&mut rng, &topology, shape))
        })
        .collect()
}

#[test]
fn the_order_in_which_clips_are_given_changes_no_bit_of_pose_or_root() {
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]];
    for sync in [false, true] {
        let mut stage = Stage::new(CrowdConfig { transitions: 1.0, ..CrowdConfig::default() });
        let clips = family(&mut stage);
        let weights = [0.37, 1.0 / 3.0, 0.61, 0.123];
        let plays = |order: [usize; 4]| {
            order.map(|at| Play {
                time: 0.1 * at as f32,
                weight: weights[at],
                speed: 0.8 + 0.13 * at as f32,
                sync,
                ..Play::new(clips[at])
            })
        };
        // Set at once, faded to, gone over to.
        let all: Vec<[Handle; 3]> = orders
            .map(|order| {
                let first = Play { sync, ..Play::new(clips[2]) };
                let ways = [0, 1, 2].map(|_| stage.spawn(&[first]));
                stage.frame(0.0);
                stage.crowd.set_clips(ways[0], &plays(order)).expect("clips");
                stage.crowd.fade_to(ways[1], &plays(order), 0.4).expect("clips");
                stage.crowd.transition_to(ways[2], &plays(order), 0.4).expect("clips");
                ways
            })
            .into();
        for frame in 0..40 {
            stage.frame(1.0 / 37.0);
            for way in 0..3 {
                let first = stage.bits(all[0][way]);
                assert_eq!(stage.plays(all[0][way]).len(), 4);
                for (at, other) in all.iter().enumerate() {
                    let same = stage.bits(other[way]) == first;
                    assert!(same, "sync {sync}, way {way}, order {at}, frame {frame}");
                }
            }
        }
    }
}

#[test]
fn a_third_clip_that_leaves_zero_moves_no_joint_by_more_than_its_weight() {
    let mut stage = Stage::new(CrowdConfig::default());
    let clips = family(&mut stage);
    let parents = stage.rig.topology().parents().to_vec();
    let plays = |weight: f32| {
        [0, 1, 2].map(|at| Play {
            time: 0.07 * at as f32,
            speed: 0.0,
            weight: if at == 2 { weight } else { 0.5 * (1.0 - weight) },
            ..Play::new(clips[at])
        })
    };
    let without = stage.spawn(&plays(0.0)[..2]);
    let mut most_moved = 0.0f64;
    for weight in [1e-4f32, 1e-3, 1e-2] {
        let with = stage.spawn(&plays(weight));
        stage.frame(0.0);
        let (a, b) = (stage.matrices(without), stage.matrices(with));
        for joint in 0..a.len() {
            let local = |models: &[DMat4]| match models.get(usize::from(parents[joint])) {
                Some(above) => above.inverse() * models[joint],
                None => models[joint],
            };
            let moved = angle_between(local(&a), local(&b));
            most_moved = most_moved.max(moved);
            // A sum of unit quaternions of length l turns by 2 w / l at most. Weights have 15 bits.
            let most = 2.0 * (f64::from(weight) + 2.0 / 32767.0) / 0.7 + 2e-5;
            assert!(moved <= most, "joint {joint}: {moved} rad by a weight of {weight}");
        }
    }
    assert!(most_moved > 1e-3, "the third clip does move something: {most_moved}");
}

#[test]
fn ends_of_clips_and_seeking() {
    let mut stage = Stage::new(CrowdConfig::default());
    let topology = stage.rig.topology().clone();
    let leg = f64::from(stage.rig.leg());
    // Two leg lengths ahead in a second, a quarter turn to the left in the second half.
    let mut moving = keys(&topology, "moving", 1.0, false);
    let (count, joints) = (31, topology.len());
    moving.rotations = vec![DQuat::IDENTITY; count * joints];
    moving.pelvis = vec![DVec3::ZERO; count];
    moving.contact = vec![[1.0; 2]; count];
    moving.root = (0..count)
        .map(|key| {
            let u = key as f64 / 30.0;
            [0.0, 2.0 * u.min(0.5), std::f64::consts::FRAC_PI_2 * (2.0 * u - 1.0).max(0.0)]
        })
        .collect();
    moving.events = events(&[0.5]);
    let clip = stage.clip(&moving);
    let place = |stage: &Stage, handle| {
        let at = stage.crowd.transform(handle).expect("alive");
        let [_, y, _, w] = at.rotation.map(f64::from);
        (f64::from(at.position[0]) / leg, f64::from(at.position[2]) / leg, 2.0 * y.atan2(w))
    };
    let near = |(x, z, yaw): (f64, f64, f64), right: [f64; 3], what: &str| {
        let off = (x - right[0]).abs().max((z - right[1]).abs()).max((yaw - right[2]).abs());
        assert!(off < 1e-4, "{what}: {x} {z} {yaw} for {right:?}");
    };
    let quarter = std::f64::consts::FRAC_PI_2;
    let play = |wrap, speed, time| Play { wrap, speed, time, ..Play::new(clip) };
    // After 2.5 s in odd steps: stopped; two and a half rounds; to, fro and half way to; back to the start.
    for (what, play, right) in [
        ("once", play(Wrap::Once, 1.0, 0.0), [0.0, 1.0, quarter]),
        // A leg, turned, a leg to the left, turned, a leg back.
        ("loop", play(Wrap::Loop, 1.0, 0.0), [1.0, 0.0, 2.0 * quarter]),
        ("to and fro", play(Wrap::PingPong, 1.0, 0.0), [0.0, 1.0, 0.0]),
        ("backwards", play(Wrap::Once, -1.0, 1.0), [1.0, 0.0, -quarter]),
    ] {
        let handle = stage.spawn(&[play]);
        for dt in [0.31f32, 0.007, 0.55, 0.133, 0.7, 0.3, 0.5] {
            stage.frame(dt);
        }
        near(place(&stage, handle), right, what);
    }
    // Seeking: nobody moves, unless it is asked for; nothing is told.
    let handle = stage.spawn(&[play(Wrap::Once, 0.0, 0.0)]);
    let way = stage.crowd.seek(handle, clip, 1.0, false).expect("plays it");
    near((f64::from(way.x) / leg, f64::from(way.z) / leg, way.yaw.into()), [0.0, 1.0, quarter], "the way");
    near(place(&stage, handle), [0.0; 3], "seek");
    let way = stage.crowd.seek(handle, clip, 0.5, true).expect("plays it");
    near((f64::from(way.x) / leg, f64::from(way.z) / leg, way.yaw.into()), [0.0, 0.0, -quarter], "back");
    near(place(&stage, handle), [0.0, 0.0, -quarter], "seek with its way");
    stage.crowd.seek(handle, clip, 0.0, true).expect("plays it");
    // Backwards along its own axes: facing right, so to the left.
    near(place(&stage, handle), [1.0, 0.0, -quarter], "seek to the start");
    stage.frame(0.1);
    assert_eq!(stage.crowd.events().filter(|event| event.character == handle).count(), 0);
    assert_eq!(stage.plays(handle)[0].time, 0.0);
    assert!(stage.crowd.seek(handle, clip, f32::NAN, false).is_err());
}

/// What is set at once is there at once, also during a transition.
#[test]
fn changing_at_once_during_a_transition_leaves_nothing_of_it() {
    let mut stage = Stage::new(CrowdConfig { transitions: 1.0, ..CrowdConfig::default() });
    let clips = family(&mut stage);
    let held = |at: usize| Play { speed: 0.0, time: 0.2, ..Play::new(clips[at]) };
    let right = stage.spawn(&[held(2)]);
    let changes: [fn(&mut Crowd, Handle, &[Play]); 3] = [
        |crowd, handle, plays| crowd.set_clips(handle, plays).expect("clips"),
        |crowd, handle, plays| crowd.fade_to(handle, plays, 0.0).expect("clips"),
        |crowd, handle, plays| {
            crowd.transition_to(handle, plays, 0.0).expect("clips");
        },
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let handle = stage.spawn(&[held(0)]);
        stage.frame(0.02);
        stage.crowd.transition_to(handle, &[held(1)], 0.5).expect("clips");
        stage.frame(0.02);
        change(&mut stage.crowd, handle, &[held(2)]);
        stage.frame(0.0);
        assert!(stage.bits(handle).0 == stage.bits(right).0, "way {at}");
    }
}
