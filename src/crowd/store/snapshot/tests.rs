//! What only the inside of a crowd tells.

use super::{Crowd, SnapshotError};
use crate::clip::AdditiveReference;
use crate::clip::BoundClip;
use crate::content::{self, BodyPlan, ClipKind, RigKind};
use crate::crowd::{CrowdConfig, FlatGround, Frame, Handle, Layer, Play, Serial, WorldTransform};
use crate::retarget::{BindSource, bind, bind_additive};
use crate::rig::Rig;

/// A crowd of so many walkers, with a second clip that is additive if asked.
fn walkers(count: usize, additive: bool) -> (Crowd, Vec<Handle>, [Play; 2]) {
    let built = content::character(RigKind::ALL[0], &BodyPlan::adult());
    let rig = Rig::build(&built.rig_source()).expect("rig");
    let reference = built.reference();
    let source =
        BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    let own = |kind| -> BoundClip { bind(source, &content::clip(kind, &built), &rig).expect("clip") };
    let second = if additive {
        let raw = content::clip(ClipKind::Idle, &built);
        bind_additive(source, &raw, AdditiveReference::Rig, &rig).expect("clip")
    } else {
        own(ClipKind::Jog)
    };
    let clips = [own(ClipKind::Walk), second];
    let mut crowd = Crowd::new(CrowdConfig { transitions: 1.0, ..CrowdConfig::default() });
    let id = crowd.add_rig(rig).expect("rig");
    let plays = clips.map(|clip| Play::new(crowd.add_clip(clip).expect("clip")));
    let place = WorldTransform::IDENTITY;
    let handles = (0..count).map(|_| crowd.spawn(id, 0, place, &plays[..1]).expect("spawn")).collect();
    (crowd, handles, plays)
}

fn frame(crowd: &mut Crowd) {
    crowd.frame(Frame::new(0.02, &FlatGround::default()), &Serial).expect("frame");
}

#[test]
fn restoring_every_frame_piles_nothing_up_and_keeps_what_was_reserved() {
    let (mut crowd, handles, [_, jog]) = walkers(20, false);
    crowd.reserve(crowd.body(handles[0]).expect("alive").0, 0, 300).expect("room");
    crowd.reserve_transitions(30);
    frame(&mut crowd);
    for (at, &handle) in handles.iter().enumerate() {
        match at % 3 {
            0 => drop(crowd.transition_to(handle, &[jog], 0.5).expect("transition")),
            1 => crowd.fade_to(handle, &[jog], 0.5).expect("fade"),
            _ => crowd.set_layers(handle, &[Layer::new(jog.clip)]).expect("layer"),
        }
    }
    let snapshot = crowd.snapshot();
    let state = |crowd: &Crowd| {
        let ([made, boxes, memory], room) = crowd.pool.state();
        assert!(room);
        (made, boxes, memory + crowd.in_transition(), crowd.slots.room())
    };
    let before = state(&crowd);
    for _ in 0..50 {
        frame(&mut crowd);
        crowd.restore(&snapshot).expect("restored");
        assert_eq!(state(&crowd), before);
    }
}

/// First bytes in which two crowds differ, past the head, which has their hash.
fn differs(a: &Crowd, b: &Crowd) -> Option<(usize, Vec<u8>, Vec<u8>)> {
    let (a, b) = (a.snapshot(), b.snapshot());
    let at = (super::HEAD..a.len().max(b.len())).find(|&at| a.get(at) != b.get(at))?;
    let near = |bytes: &[u8]| bytes[at.min(bytes.len())..].iter().take(8).copied().collect();
    Some((at, near(&a), near(&b)))
}

/// Slots, layers, fades and transitions of the past, memory that others have used, room and poses of the dead: nobody can
/// tell them from outside, and so they are no part of a snapshot.
#[test]
fn equal_crowds_give_equal_bytes_whatever_they_have_been_through() {
    let (mut plain, handles, [walk, jog]) = walkers(9, false);
    frame(&mut plain);
    let begin = plain.snapshot();
    let (mut lived, ..) = walkers(9, false);
    let (rig, _) = plain.body(handles[0]).expect("alive");
    lived.restore(&begin).expect("equal");
    lived.reserve(rig, 0, 500).expect("room");
    lived.reserve_transitions(3);
    // Memory with another motion in all of its rows, back in the pool.
    for &handle in &handles {
        lived.transition_to(handle, &[jog], 0.2).expect("transition");
    }
    (0..20).for_each(|_| frame(&mut lived));
    for memory in lived.pool.memory() {
        memory.iter_mut().for_each(|row| row.0.fill(9.0));
    }
    lived.restore(&begin).expect("equal");
    assert!(lived.snapshot() == begin);

    // In slots and lanes: what is taken back within a frame is over.
    lived.set_clips(handles[1], &[jog, walk, jog]).expect("clips");
    lived.set_layers(handles[2], &[Layer::new(jog.clip), Layer::new(walk.clip)]).expect("layers");
    lived.set_layers(handles[2], &[Layer::new(jog.clip)]).expect("layers");
    lived.set_layers(handles[3], &[Layer::new(jog.clip)]).expect("layers");
    lived.set_layers(handles[3], &[]).expect("layers");
    lived.fade_to(handles[4], &[jog], 0.5).expect("fade");
    lived.transition_to(handles[5], &[jog], 0.5).expect("transition");
    // One that was seen before it died, and one that never was.
    let place = WorldTransform::IDENTITY;
    let seen = lived.spawn(rig, 0, place, &[walk]).expect("spawn");
    frame(&mut lived);
    lived.despawn(seen).expect("alive");
    let unseen = plain.spawn(rig, 0, place, &[walk]).expect("spawn");
    plain.set_layers(handles[2], &[Layer::new(jog.clip)]).expect("layers");
    plain.despawn(unseen).expect("alive");
    frame(&mut plain);
    // These have been elsewhere: clocks, feet and poses are what is seen of them.
    for at in [1, 4, 5] {
        plain.despawn(handles[at]).expect("alive");
        lived.despawn(handles[at]).expect("alive");
    }
    assert_eq!(differs(&plain, &lived), None, "what is over");
    // In memory that is taken from the pool.
    for crowd in [&mut plain, &mut lived] {
        crowd.transition_to(handles[6], &[jog], 0.5).expect("transition");
        crowd.transition_to(handles[7], &[jog], 0.02).expect("transition");
        crowd.set_layers(handles[7], &[Layer::new(jog.clip)]).expect("layers");
        (0..3).for_each(|_| frame(crowd));
    }
    assert_eq!(differs(&plain, &lived), None, "what goes on");
}

/// There is no second pose in the slot that anything could come from.
#[test]
fn a_crowd_without_pairs_of_poses_takes_no_state_of_them() {
    let (mut crowd, ..) = walkers(1, false);
    frame(&mut crowd);
    let sound = crowd.snapshot();
    let mut lane = Vec::new();
    let block = crowd.blocks().find(|block| block.live != 0).expect("one");
    super::lane::write(&mut super::Writer(&mut lane), (block, 0), 64, false);
    let at = sound.windows(lane.len()).position(|part| part == lane).expect("it is in there");
    // Character, rig, skin, slot, flags; then steps of the pair, a fade among them.
    for value in 0..5 {
        let mut forged = sound.clone();
        forged[at + 18 + value] = 1;
        let mut hash = super::Hash::new();
        hash.bytes(&forged[super::HEAD..]);
        forged[super::HEAD - 8..super::HEAD].copy_from_slice(&hash.finish().to_le_bytes());
        let refused = crowd.restore(&forged);
        let pairs = matches!(refused, Err(SnapshotError::Damaged { what: "a pair of poses", .. }));
        assert!(pairs, "value {value}: {refused:?}");
    }
    crowd.restore(&sound).expect("sound");
}

#[test]
fn an_additive_clip_does_not_play_alone_and_no_weight_is_above_one() {
    let (mut crowd, ..) = walkers(1, true);
    let sound = crowd.snapshot();
    let damaged = |crowd: &mut Crowd| {
        let snapshot = crowd.snapshot();
        matches!(crowd.restore(&snapshot), Err(SnapshotError::Damaged { .. }))
    };
    for change in 0..2 {
        crowd.restore(&sound).expect("sound");
        let blocks = crowd.cohorts.iter_mut().flat_map(|cohort| &mut cohort.blocks);
        let rows = &mut blocks.filter(|block| block.live != 0).last().expect("one").clips[0];
        if change == 0 {
            rows.clip[0] = 1;
        } else {
            rows.weight.0[0] = 1.0005;
        }
        assert!(damaged(&mut crowd), "change {change}");
    }
}

#[test]
fn a_fade_to_a_slot_that_does_not_play_is_refused_and_what_is_taken_can_be_saved_again() {
    let (mut crowd, handles, [_, jog]) = walkers(1, false);
    frame(&mut crowd);
    crowd.fade_to(handles[0], &[jog], 0.5).expect("fade");
    frame(&mut crowd);
    let sound = crowd.snapshot();
    let changes: [fn(&mut [f32; 4], &mut [f32; 4]); 5] = [
        |_, to| to[3] = 0.5,
        |from, _| from[2] = 0.5,
        |_, to| to.fill(0.0),
        |from, to| (from[3], to[3]) = (1.0, 1.0),
        // A fade may come from anywhere among what plays.
        |from, _| from.swap(0, 1),
    ];
    for (at, change) in changes.iter().enumerate() {
        crowd.restore(&sound).expect("sound");
        let blocks = crowd.cohorts.iter_mut().flat_map(|cohort| &mut cohort.blocks);
        let block = blocks.filter(|block| block.live != 0).last().expect("one");
        let fade = &mut block.rare[0].as_mut().expect("rare state").fade;
        change(&mut fade.from, &mut fade.to);
        let forged = crowd.snapshot();
        let taken = crowd.restore(&forged);
        assert_eq!(taken.is_ok(), at == 4, "change {at}: {taken:?}");
        if taken.is_ok() {
            for dt in [0.016, 0.3, 10.0] {
                crowd.frame(Frame::new(dt, &FlatGround::default()), &Serial).expect("frame");
                let again = crowd.snapshot();
                crowd.restore(&again).expect("its own");
            }
        }
    }
}

#[test]
fn transitions_are_counted_through_all_that_starts_and_ends_them() {
    let (mut crowd, mut handles, [walk, jog]) = walkers(40, false);
    let count = |crowd: &Crowd| -> usize {
        crowd.blocks().map(|block| block.transitions.count_ones() as usize).sum()
    };
    let (mut random, mut most) = (1u32, 0);
    let mut kept = crowd.snapshot();
    for round in 0..400 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let at = (random >> 8) as usize % handles.len();
        let handle = handles[at];
        match random >> 28 {
            0..8 => drop(crowd.transition_to(handle, &[jog], 0.1).expect("transition")),
            8 | 9 => crowd.set_clips(handle, &[walk]).expect("set"),
            10 => drop(crowd.transition_to(handle, &[walk], 0.0).expect("at once")),
            11 if handles.len() > 10 => {
                crowd.despawn(handle).expect("alive");
                handles.swap_remove(at);
            }
            12 => kept = crowd.snapshot(),
            13 => {
                crowd.restore(&kept).expect("restored");
                handles.retain(|&handle| crowd.is_live(handle));
            }
            _ => frame(&mut crowd),
        }
        assert_eq!(crowd.in_transition(), count(&crowd), "round {round}");
        most = most.max(crowd.in_transition());
    }
    assert!(most > 3, "{most}");
}

#[test]
fn refused_places_are_told_again_after_a_restore_and_after_they_were_missing() {
    use crate::crowd::Roots;
    let (mut crowd, handles, _) = walkers(2, false);
    let bad = [WorldTransform { position: [f32::NAN; 3], rotation: [0.0; 4] }; 2];
    let told = |crowd: &mut Crowd, places: &[WorldTransform]| {
        let ground = FlatGround::default();
        let frame = Frame { roots: Roots::Host(places), ..Frame::new(0.02, &ground) };
        crowd.frame(frame, &Serial).expect("frame");
        crowd.refused().to_vec()
    };
    assert_eq!(told(&mut crowd, &bad), handles);
    assert_eq!(told(&mut crowd, &bad), []);
    assert_eq!(told(&mut crowd, &bad[..1]), []);
    assert_eq!(told(&mut crowd, &bad), handles[1..]);
    let snapshot = crowd.snapshot();
    crowd.restore(&snapshot).expect("restored");
    assert_eq!(crowd.refused(), []);
    assert_eq!(told(&mut crowd, &bad), handles);
}

/// Found by the fuzzer: the next frame had no number.
#[test]
fn a_number_of_frames_that_cannot_go_on_is_refused() {
    let (mut crowd, ..) = walkers(1, false);
    for frames in [u64::MAX, (1 << 62) + 1] {
        crowd.frames = frames;
        let forged = crowd.snapshot();
        assert!(matches!(crowd.restore(&forged), Err(SnapshotError::Damaged { .. })));
    }
    crowd.frames = 1 << 62;
    let last = crowd.snapshot();
    crowd.restore(&last).expect("restored");
    (0..20).for_each(|_| frame(&mut crowd));
}
