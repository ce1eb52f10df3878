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
    let memories = |crowd: &Crowd| crowd.spare_memory.len() + crowd.in_transition();
    let before = (crowd.rares, crowd.spare.len(), memories(&crowd), crowd.slots.room());
    for _ in 0..50 {
        frame(&mut crowd);
        crowd.restore(&snapshot).expect("restored");
        assert_eq!((crowd.rares, crowd.spare.len(), memories(&crowd), crowd.slots.room()), before);
        assert!(crowd.spare.capacity() >= crowd.rares && crowd.spare_memory.capacity() >= crowd.rares);
    }
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
