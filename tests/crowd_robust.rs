//! What a host may do wrong, or do at an odd moment, and what comes of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use throng::clip::BoundClip;
use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    BlockJob, Crowd, CrowdConfig, Executor, FlatGround, Frame, Ground, Handle, MAX_SPEED, Play, Probes,
    RigId, Roots, Serial, Stage, WorldTransform,
};
use throng::lanes::Simd;
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

const DT: f32 = 1.0 / 60.0;
const LEVEL: FlatGround = FlatGround { height: 0.0 };

/// A rig and its walk.
fn body(plan: &BodyPlan) -> (Rig, BoundClip) {
    let built = content::character(RigKind::Biped, plan);
    let rig = Rig::build(&built.rig_source()).expect("rig");
    let reference = built.reference();
    let source =
        BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    let walk = bind(source, &content::clip(ClipKind::Walk, &built), &rig).expect("bound");
    (rig, walk)
}

struct People {
    crowd: Crowd,
    rigs: Vec<RigId>,
    play: Play,
    handles: Vec<Handle>,
}

/// 64 walkers, every third a child: full blocks, and one that adults and children share.
fn people() -> People {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let (adult, walk) = body(&BodyPlan::adult());
    let (child, _) = body(&BodyPlan::child());
    let rigs = vec![crowd.add_rig(adult).expect("rig"), crowd.add_rig(child).expect("rig")];
    let play = Play::new(crowd.add_clip(walk).expect("clip"));
    let handles = (0..64)
        .map(|k| {
            let place = WorldTransform::standing(k as f32, 0.0, 0.1 * k as f32);
            let play = Play { time: 0.01 * k as f32, ..play };
            crowd.spawn(rigs[usize::from(k % 3 == 0)], 0, place, &[play]).expect("spawn")
        })
        .collect();
    crowd.pack();
    assert!(crowd.occupancy().uniform_block_percent < 100.0, "a block is shared");
    People { crowd, rigs, play, handles }
}

fn frame<'a>(ground: &'a dyn Ground, until: Stage) -> Frame<'a> {
    Frame { until, ..Frame::new(DT, ground) }
}

/// Bits of everything that comes out.
fn output(crowd: &Crowd) -> Vec<u32> {
    bytemuck::cast_slice(crowd.output()).to_vec()
}

/// After `count` frames on level ground in one go.
fn expected(count: usize) -> Vec<u32> {
    let mut people = people();
    for _ in 0..count {
        people.crowd.frame(frame(&LEVEL, Stage::Palette), &Serial).expect("frame");
    }
    output(&people.crowd)
}

/// Answers something else whenever it is asked how many workers it has.
struct Fickle {
    asked: AtomicUsize,
    answers: [usize; 2],
}

impl Executor for Fickle {
    fn workers(&self) -> usize {
        self.answers[self.asked.fetch_add(1, Ordering::SeqCst) % 2]
    }
    fn run(&self, jobs: &mut [BlockJob<'_>]) {
        Serial.run(jobs);
    }
}

#[test]
fn the_number_of_workers_may_change_or_be_nothing() {
    let want = expected(4);
    for answers in [[1, 8], [8, 1], [0, 0], [0, 3], [usize::MAX, 1], [1, usize::MAX]] {
        let mut people = people();
        let fickle = Fickle { asked: 0.into(), answers };
        for done in 1..=4 {
            people.crowd.frame(frame(&LEVEL, Stage::Palette), &fickle).expect("frame");
            assert_eq!(fickle.asked.load(Ordering::SeqCst), done, "asked once a frame");
        }
        assert!(output(&people.crowd) == want, "{answers:?} gives other poses");
    }
}

#[test]
fn a_job_that_is_run_twice_does_nothing_the_second_time() {
    struct Twice;
    impl Executor for Twice {
        fn workers(&self) -> usize {
            2
        }
        fn run(&self, jobs: &mut [BlockJob<'_>]) {
            for job in &mut *jobs {
                job.run();
                job.run();
            }
            Serial.run(jobs);
        }
    }
    let mut people = people();
    for _ in 0..3 {
        people.crowd.frame(frame(&LEVEL, Stage::Palette), &Twice).expect("frame");
    }
    assert!(output(&people.crowd) == expected(3), "time went on twice");
}

#[test]
fn nothing_is_dirty_before_a_frame_or_after_one_that_writes_no_slots() {
    let mut people = people();
    let mut dirty = vec![5..7, 9..9];
    people.crowd.dirty_ranges(&mut dirty);
    assert_eq!(dirty, []);
    for until in Stage::ALL {
        people.crowd.frame(frame(&LEVEL, until), &Serial).expect("frame");
        people.crowd.dirty_ranges(&mut dirty);
        let lines: u32 = dirty.iter().map(|range| range.end - range.start).sum();
        let all = if until == Stage::Palette { people.crowd.output().len() } else { 0 };
        assert_eq!(lines as usize, all, "{until:?}");
    }
    // A frame that is refused changes nothing.
    let bad = Frame { dt: -1.0, ..frame(&LEVEL, Stage::Advance) };
    assert!(people.crowd.frame(bad, &Serial).is_err());
    people.crowd.dirty_ranges(&mut dirty);
    assert!(!dirty.is_empty());
}

#[test]
fn a_speed_beyond_the_limit_is_refused_and_one_at_it_travels_that_far() {
    let People { mut crowd, rigs, play, handles } = people();
    let who = handles[1];
    for speed in [1.001 * MAX_SPEED, -1.001 * MAX_SPEED, 999.0, f32::INFINITY, f32::NAN] {
        let error = crowd.set_clips(who, &[Play { speed, ..play }]).expect_err("too fast").to_string();
        assert!(error.contains("speed") && error.contains("16"), "{error}");
        assert!(crowd.spawn(rigs[0], 0, WorldTransform::IDENTITY, &[Play { speed, ..play }]).is_err());
    }
    let walk = crowd.clip(play.clip).expect("clip");
    let velocity = walk.root().at(walk.duration()).z / walk.duration() * crowd.rig(rigs[0]).leg();
    for speed in [MAX_SPEED, -MAX_SPEED] {
        crowd.set_clips(who, &[Play { speed, ..play }]).expect("at the limit");
        crowd.teleport(who, WorldTransform::IDENTITY).expect("alive");
        for _ in 0..60 {
            crowd.frame(frame(&LEVEL, Stage::Palette), &Serial).expect("frame");
        }
        let [x, _, z] = crowd.transform(who).expect("alive").position;
        assert!((z / (speed * velocity) - 1.0).abs() < 1e-2 && x.abs() < 0.05, "{x} {z} {velocity}");
    }
}

#[test]
fn rotations_are_normalised_on_entry() {
    let People { mut crowd, rigs, play, handles } = people();
    let unit = WorldTransform::standing(1.0, 2.0, 0.7);
    for scale in [0.996f32, 1.004] {
        let rough = WorldTransform { rotation: unit.rotation.map(|c| c * scale), ..unit };
        let check = |crowd: &Crowd, who: Handle, how: &str| {
            let have = crowd.transform(who).expect("alive").rotation;
            for (have, want) in have.iter().zip(unit.rotation) {
                assert!((have - want).abs() < 1e-6, "{how}: {have} instead of {want}");
            }
        };
        let born = crowd.spawn(rigs[0], 0, rough, &[play]).expect("spawn");
        check(&crowd, born, "spawn");
        crowd.despawn(born).expect("alive");
        crowd.set_transform(handles[0], rough).expect("alive");
        check(&crowd, handles[0], "set");
        crowd.teleport(handles[0], rough).expect("alive");
        check(&crowd, handles[0], "teleport");
        let places = vec![rough; crowd.len()];
        let hosted = Frame { roots: Roots::Host(&places), ..frame(&LEVEL, Stage::Palette) };
        crowd.frame(hosted, &Serial).expect("frame");
        check(&crowd, handles[5], "host");
    }
    // What comes out goes in unchanged.
    crowd.frame(frame(&LEVEL, Stage::Palette), &Serial).expect("frame");
    for &who in &handles {
        let place = crowd.transform(who).expect("alive");
        crowd.set_transform(who, place).expect("alive");
        assert_eq!(crowd.transform(who).expect("alive"), place);
    }
}

#[test]
fn a_host_that_leaves_characters_out_leaves_them_where_they_are() {
    let mut people = people();
    let before: Vec<_> = people.handles.iter().map(|&who| people.crowd.transform(who)).collect();
    let few = [WorldTransform::standing(0.0, 9.0, 0.0); 10];
    let hosted = Frame { roots: Roots::Host(&few), ..frame(&LEVEL, Stage::Palette) };
    people.crowd.frame(hosted, &Serial).expect("frame");
    for (&who, before) in people.handles.iter().zip(before) {
        let after = people.crowd.transform(who);
        assert_eq!(after, if who.index() < 10 { Ok(few[0]) } else { before });
    }
}

#[test]
fn an_empty_crowd_has_frames() {
    let mut dirty = Vec::new();
    let mut crowd = Crowd::new(CrowdConfig::default());
    crowd.frame(frame(&LEVEL, Stage::Palette), &Serial).expect("no rigs");
    crowd.pack();
    let (rig, walk) = body(&BodyPlan::adult());
    let id = crowd.add_rig(rig).expect("rig");
    let play = Play::new(crowd.add_clip(walk).expect("clip"));
    crowd.frame(frame(&LEVEL, Stage::Palette), &Serial).expect("no characters");
    let who = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[play]).expect("spawn");
    crowd.despawn(who).expect("alive");
    crowd.frame(frame(&LEVEL, Stage::Palette), &Serial).expect("nobody any more");
    crowd.dirty_ranges(&mut dirty);
    assert!(dirty.is_empty() && crowd.is_empty());
    let who = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[play]).expect("spawn");
    crowd.frame(frame(&LEVEL, Stage::Palette), &Serial).expect("one");
    assert_eq!(crowd.pose(who).expect("alive").0.time, 4.0 * DT);
}

#[test]
fn a_clip_of_a_crowd_keeps_all_it_had_and_shares_its_rows() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let (rig, walk) = body(&BodyPlan::adult());
    crowd.add_rig(rig).expect("rig");
    let id = crowd.add_clip(walk.clone()).expect("clip");
    let kept = crowd.clip(id).expect("clip");
    assert_eq!((kept.name(), kept.duration(), kept.looping()), (walk.name(), walk.duration(), true));
    assert_eq!((kept.root(), kept.contacts()), (walk.root(), walk.contacts()));
    assert!(std::ptr::eq(kept.rows(), walk.rows()), "one copy of the rows");
    assert_eq!(crowd.library(), (1, walk.bytes()));
}

#[test]
fn a_ground_that_panics_costs_one_frame_and_no_more() {
    struct Trap(AtomicBool);
    impl Ground for Trap {
        fn probe(&self, simd: Simd, probes: &mut Probes) {
            assert!(!self.0.load(Ordering::SeqCst), "a fault of the host");
            LEVEL.probe(simd, probes);
        }
    }
    let mut people = people();
    let trap = Trap(true.into());
    let mut dirty = Vec::new();
    people.crowd.frame(frame(&LEVEL, Stage::Palette), &Serial).expect("frame");
    // A worker of a host may catch it: then every block has lost its frame, the mixed one too.
    struct Catching;
    impl Executor for Catching {
        fn workers(&self) -> usize {
            16
        }
        fn run(&self, jobs: &mut [BlockJob<'_>]) {
            for job in jobs {
                assert!(catch_unwind(AssertUnwindSafe(|| job.run())).is_err());
            }
        }
    }
    people.crowd.frame(frame(&trap, Stage::Palette), &Catching).expect("caught");
    // One that does not catch it: the frame has written nothing that a host should upload.
    let failed = catch_unwind(AssertUnwindSafe(|| people.crowd.frame(frame(&trap, Stage::Palette), &Serial)));
    assert!(failed.is_err());
    people.crowd.dirty_ranges(&mut dirty);
    assert_eq!(dirty, []);
    trap.0.store(false, Ordering::SeqCst);
    // As a crowd that is put in the same state without any panic: proportions included.
    let mut fresh = self::people();
    for crowd in [&mut people.crowd, &mut fresh.crowd] {
        for (k, who) in crowd.handles().collect::<Vec<_>>().into_iter().enumerate() {
            crowd.teleport(who, WorldTransform::standing(k as f32, 1.0, 0.0)).expect("alive");
            crowd.set_clips(who, &[Play { time: 0.01 * k as f32, ..fresh.play }]).expect("alive");
        }
        crowd.frame(frame(&trap, Stage::Palette), &Serial).expect("frame");
    }
    for (&a, &b) in people.handles.iter().zip(&fresh.handles) {
        let (a, b) = (people.crowd.pose(a).expect("alive"), fresh.crowd.pose(b).expect("alive"));
        assert!(a.1 == b.1 && a.0.position == b.0.position, "a block is not what it was");
    }
}

#[test]
fn despawning_out_of_a_shared_block_leaves_the_others_as_they_are() {
    let mut people = people();
    let mut fresh = self::people();
    // Leaves only adults in the shared block, then only children, then spawns into what is free.
    for keep in [1, 0] {
        for k in (0..64).rev() {
            let child = k % 3 == 0;
            if k >= 40 && usize::from(!child) == keep && people.crowd.transform(people.handles[k]).is_ok() {
                people.crowd.despawn(people.handles[k]).expect("alive");
            }
        }
        for crowd in [&mut people.crowd, &mut fresh.crowd] {
            crowd.frame(frame(&LEVEL, Stage::Palette), &Serial).expect("frame");
        }
        for k in 0..64 {
            let (Ok(a), Ok(b)) = (people.crowd.pose(people.handles[k]), fresh.crowd.pose(fresh.handles[k]))
            else {
                continue;
            };
            assert_eq!(a, b, "character {k}");
        }
    }
    assert!(people.handles.iter().filter(|&&who| people.crowd.pose(who).is_ok()).count() == 40);
    let born =
        people.crowd.spawn(people.rigs[1], 0, WorldTransform::IDENTITY, &[people.play]).expect("spawn");
    people.crowd.frame(frame(&LEVEL, Stage::Palette), &Serial).expect("frame");
    assert!(people.crowd.pose(born).expect("alive").0.position[2] > 0.0);
}
