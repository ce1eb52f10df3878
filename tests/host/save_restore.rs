//! A crowd goes on from a snapshot as if nothing had been; what is damaged or another's is refused.

use proptest::prelude::*;
use throng::crowd::{
    Crowd, Handle, Layer, PaletteFormat, Play, SnapshotError, Tier, TransitionKind, WorldTransform,
};

use crate::bodies::{Body, CLIPS, Random, add, finite, frame, rig, spawn, strict, three};
use throng::content::{self, BodyPlan, RigKind};

/// Things that a game does, the same whenever `random` is.
fn play(crowd: &mut Crowd, bodies: &[Body], handles: &mut Vec<Handle>, random: &mut Random) {
    let at = random.below(handles.len());
    let (rig, _) = crowd.body(handles[at]).expect("alive");
    let body = bodies.iter().find(|body| body.rig == rig).expect("one of them");
    let clip = body.clips[random.below(4)];
    match random.below(10) {
        0 => crowd.set_clips(handles[at], &[Play::new(clip)]).expect("clips"),
        1 => crowd.fade_to(handles[at], &[Play::new(clip)], 0.4).expect("fade"),
        2 => {
            crowd.transition_to(handles[at], &[Play::new(clip)], 0.5).expect("transition");
        }
        3 => crowd.despawn(handles.swap_remove(at)).expect("alive"),
        4 => handles.push(spawn(crowd, bodies, random.below(100))),
        5 => crowd
            .teleport(handles[at], WorldTransform::standing(random.unit() * 9.0, 1.0, 2.0))
            .expect("alive"),
        6 => drop(crowd.pack_some(3)),
        7 => crowd.set_tier(handles[at], Tier::ALL[random.below(4)]).expect("alive"),
        8 => {
            let layer = Layer { weight: 0.7, fade: 0.2, speed: -0.5, ..Layer::new(clip) };
            crowd.set_layers(handles[at], &[layer]).expect("a layer");
        }
        _ => {}
    }
    frame(crowd, 0.004 + 0.03 * random.unit());
}

fn peopled(format: PaletteFormat) -> (Crowd, Vec<Body>, Vec<Handle>) {
    let mut crowd = strict(format);
    let bodies = three(&mut crowd);
    let mut handles: Vec<Handle> = (0..60).map(|k| spawn(&mut crowd, &bodies, k)).collect();
    crowd.pack();
    let mut random = Random(7);
    for _ in 0..60 {
        play(&mut crowd, &bodies, &mut handles, &mut random);
    }
    (crowd, bodies, handles)
}

/// Everything that a host can read.
fn seen(crowd: &Crowd, handles: &[Handle]) -> Vec<u8> {
    let mut bytes: Vec<u8> = bytemuck::cast_slice(crowd.output()).to_vec();
    for &handle in handles {
        bytes.extend(bytemuck::bytes_of(&crowd.transform(handle).expect("alive")));
        bytes.extend(crowd.slot_line(handle).expect("alive").to_le_bytes());
        for clip in crowd.clips(handle).expect("alive") {
            bytes.extend([clip.time, clip.weight, clip.speed].iter().flat_map(|v| v.to_le_bytes()));
        }
    }
    bytes
}

#[test]
fn a_thousand_frames_after_restoring_are_the_same_bits_as_without() {
    for format in [PaletteFormat::Mat3x4, PaletteFormat::Snorm16] {
        let (mut first, bodies, mut handles) = peopled(format);
        let snapshot = first.snapshot();
        let mut second = strict(format);
        let again = three(&mut second);
        // Somebody who is to be forgotten.
        let forgotten = spawn(&mut second, &again, 5);
        second.restore(&snapshot).expect("restored");
        assert!(!handles.contains(&forgotten) || second.transform(forgotten).is_ok());
        assert!(second.snapshot() == snapshot, "what was restored is snapshot as the same bytes");
        assert_eq!(second.occupancy(), first.occupancy());
        let mut others = handles.clone();
        let (mut random, mut as_random) = (Random(3), Random(3));
        for round in 0..1000 {
            play(&mut first, &bodies, &mut handles, &mut random);
            play(&mut second, &again, &mut others, &mut as_random);
            assert_eq!(handles, others, "frame {round}: handles");
            if round % 10 == 9 || round < 10 {
                assert!(seen(&first, &handles) == seen(&second, &others), "frame {round} differs");
                let (a, b): (Vec<_>, Vec<_>) = (first.events().collect(), second.events().collect());
                assert_eq!(a, b);
            }
        }
        println!("{} bytes a character", snapshot.len() / handles.len());
    }
}

#[test]
fn another_library_is_told_from_damage() {
    let (crowd, ..) = peopled(PaletteFormat::Mat3x4);
    let snapshot = crowd.snapshot();
    let mut other = strict(PaletteFormat::Mat3x4);
    assert!(matches!(other.restore(&snapshot), Err(SnapshotError::Content { .. })), "no rigs at all");
    let mut stature = BodyPlan::adult();
    stature.stature *= 1.001;
    add(&mut other, RigKind::ALL[0], &stature, &CLIPS);
    add(&mut other, RigKind::ALL[0], &BodyPlan::child(), &CLIPS);
    add(&mut other, RigKind::ALL[1], &BodyPlan::tall(), &CLIPS);
    assert!(matches!(other.restore(&snapshot), Err(SnapshotError::Content { .. })), "a taller body");
    let mut fewer = strict(PaletteFormat::Mat3x4);
    add(&mut fewer, RigKind::ALL[0], &BodyPlan::adult(), &CLIPS[..3]);
    assert!(matches!(fewer.restore(&snapshot), Err(SnapshotError::Content { .. })));
    let mut same = strict(PaletteFormat::Mat4);
    three(&mut same);
    assert!(matches!(same.restore(&snapshot), Err(SnapshotError::Content { .. })), "another palette");
    let mut same = strict(PaletteFormat::Mat3x4);
    three(&mut same);
    assert_eq!(same.restore(b"no snapshot"), Err(SnapshotError::Magic));
    let mut newer = snapshot.clone();
    newer[8] += 1;
    assert!(matches!(same.restore(&newer), Err(SnapshotError::Version { have: 5, need: 4, .. })));
    let mut changed = snapshot.clone();
    changed[5000] ^= 4;
    assert!(matches!(same.restore(&changed), Err(SnapshotError::Hash { .. })));
    assert!(matches!(same.restore(&snapshot[..4000]), Err(SnapshotError::Truncated { .. })));
    assert!(same.is_empty(), "nothing has changed");
    same.restore(&snapshot).expect("the same rigs and clips");
    assert_eq!(same.len(), crowd.len());
}

/// The hash of the body, written down once more, so that changed bytes get past it.
fn hash(bytes: &[u8]) -> u64 {
    let mut sum = 0x9e37_79b9_7f4a_7c15u64;
    let mut word = |word: u64| {
        let mixed = (sum ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        sum = mixed ^ mixed >> 32;
    };
    word(bytes.len() as u64);
    let whole = bytes.len() / 8 * 8;
    for part in bytes[..whole].chunks(8) {
        word(u64::from_le_bytes(part.try_into().expect("eight")));
    }
    let mut last = [0; 8];
    last[..bytes.len() - whole].copy_from_slice(&bytes[whole..]);
    word(u64::from_le_bytes(last));
    sum
}

fn sealed(mut snapshot: Vec<u8>) -> Vec<u8> {
    if snapshot.len() >= 40 {
        let length = snapshot.len() as u64 - 40;
        let sum = hash(&snapshot[40..]);
        snapshot[24..32].copy_from_slice(&length.to_le_bytes());
        snapshot[32..40].copy_from_slice(&sum.to_le_bytes());
    }
    snapshot
}

#[derive(Clone, Debug)]
enum Change {
    Bit(usize, u8),
    Word(usize, u32),
    Cut(usize),
    Copy(usize, usize),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let nasty = prop_oneof![
        Just(0u32),
        Just(1),
        Just(u32::MAX),
        Just(f32::NAN.to_bits()),
        Just(f32::INFINITY.to_bits()),
        Just(1e30f32.to_bits()),
        Just((-1.0f32).to_bits()),
        Just(0x7fff_ffff),
        any::<u32>(),
        (-2.0f32..2.0).prop_map(f32::to_bits),
    ];
    // The values of characters lie in front of the output, which may be anything.
    let at = 0usize..40_000;
    let change = prop_oneof![
        4 => (at.clone(), 0u8..8).prop_map(|(at, bit)| Change::Bit(at, bit)),
        6 => (at.clone(), nasty).prop_map(|(at, word)| Change::Word(at, word)),
        1 => at.clone().prop_map(Change::Cut),
        1 => (at.clone(), at).prop_map(|(from, to)| Change::Copy(from, to)),
    ];
    prop::collection::vec(change, 1..4)
}

#[test]
fn damaged_snapshots_are_refused_or_harmless() {
    let (crowd, _, handles) = peopled(PaletteFormat::Mat3x4);
    let snapshot = crowd.snapshot();
    assert_eq!(sealed(snapshot.clone()), snapshot, "the seal is the crowd's");
    let whole = std::cell::RefCell::new(crowd);
    let (mut refused, mut taken) = (0, 0);
    let config = ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let counts = std::cell::RefCell::new((&mut refused, &mut taken));
    runner
        .run(&changes(), |changes| {
            let mut bytes = snapshot.clone();
            for change in &changes {
                let last = bytes.len().max(1) - 1;
                match *change {
                    Change::Bit(at, bit) if !bytes.is_empty() => bytes[at.min(last)] ^= 1 << bit,
                    Change::Word(at, word) if bytes.len() >= 8 => {
                        let at = at.min(bytes.len() - 8);
                        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
                    }
                    Change::Cut(at) => bytes.truncate(at),
                    Change::Copy(from, to) if bytes.len() > 64 => {
                        let (from, to) = (from.min(bytes.len() - 64), to.min(bytes.len() - 64));
                        bytes.copy_within(from..from + 64, to);
                    }
                    _ => {}
                }
            }
            let crowd = &mut *whole.borrow_mut();
            match crowd.restore(&sealed(bytes)) {
                Err(_) => *counts.borrow_mut().0 += 1,
                Ok(()) => {
                    *counts.borrow_mut().1 += 1;
                    for _ in 0..3 {
                        frame(crowd, 1.0 / 30.0);
                    }
                    let all: Vec<Handle> = crowd.handles().collect();
                    for &handle in &all {
                        prop_assert!(finite(crowd, handle), "{changes:?}: {handle:?} is not finite");
                    }
                    crowd.pack_some(100);
                    for handle in all {
                        crowd.despawn(handle).expect("alive");
                    }
                }
            }
            crowd.restore(&snapshot).expect("the sound one");
            prop_assert_eq!(crowd.len(), handles.len());
            Ok(())
        })
        .expect("nothing gets through");
    println!("{refused} refused, {taken} taken");
    assert!(refused > 200 && taken > 50);
}

/// Its memory has the rows of then.
#[test]
fn a_transition_that_began_before_a_larger_topology_came_is_restored() {
    let mut crowd = strict(PaletteFormat::Mat3x4);
    let joints = |kind: RigKind| rig(&content::character(kind, &BodyPlan::adult())).topology().len();
    let mut kinds = RigKind::ALL;
    kinds.sort_by_key(|&kind| joints(kind));
    let (small, large) = (kinds[0], kinds[kinds.len() - 1]);
    assert!(joints(small) + 8 < joints(large), "memory comes in groups of eight joints");
    let body = add(&mut crowd, small, &BodyPlan::adult(), &CLIPS);
    let plays = [Play::new(body.clips[0])];
    let handle = crowd.spawn(body.rig, 0, WorldTransform::IDENTITY, &plays).expect("spawn");
    frame(&mut crowd, 0.02);
    let kind = crowd.transition_to(handle, &[Play::new(body.clips[1])], 0.5).expect("transition");
    assert_eq!(kind, TransitionKind::Inertialised);
    frame(&mut crowd, 0.02);
    add(&mut crowd, large, &BodyPlan::adult(), &CLIPS);
    let snapshot = crowd.snapshot();
    let after = |crowd: &mut Crowd| {
        frame(crowd, 0.1);
        seen(crowd, &[handle])
    };
    let expected = after(&mut crowd);
    crowd.restore(&snapshot).expect("its own snapshot");
    assert_eq!(crowd.in_transition(), 1);
    assert!(after(&mut crowd) == expected);
}

#[test]
fn a_crowd_as_far_away_as_an_origin_can_be_moved_is_restored() {
    let (mut crowd, ..) = peopled(PaletteFormat::Mat3x4);
    assert!(crowd.rebase([0.0, 1e8, 0.0]).is_err(), "roots would be beyond what snapshots take");
    for offset in [[9.9e6, -9.9e6, 9.9e6], [-1.98e7, 1.98e7, -1.98e7]] {
        crowd.rebase(offset).expect("near enough");
        let snapshot = crowd.snapshot();
        crowd.restore(&snapshot).expect("its own snapshot");
    }
}
