//! Rigs and clips change while characters are on them: no frame is wrong or not finite.

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{Crowd, CrowdConfig, Handle, Layer, Play, WorldTransform, Wrap};

use crate::bodies::{CLIPS, add, bound, finite, frame, rig, spawn, three};

#[test]
fn a_clip_is_exchanged_while_it_plays() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let bodies = three(&mut crowd);
    let handles: Vec<Handle> = (0..50).map(|k| spawn(&mut crowd, &bodies, k)).collect();
    crowd.pack();
    let kinds = ClipKind::ALL;
    for round in 0..200 {
        let body = &bodies[round % 3];
        let (slot, kind) = (round % 4, kinds[(7 * round) % kinds.len()]);
        let at = handles[(5 * round) % handles.len()];
        let own = bodies.iter().find(|body| body.rig == crowd.body(at).unwrap().0).unwrap();
        let next =
            Play { wrap: [Wrap::Clip, Wrap::PingPong, Wrap::Once][round % 3], ..Play::new(own.clips[slot]) };
        match round % 3 {
            0 => drop(crowd.transition_to(at, &[next], 0.4).unwrap()),
            1 => crowd.fade_to(at, &[next], 0.4).unwrap(),
            _ => crowd.set_layers(at, &[Layer { weight: 0.4, fade: 0.1, ..Layer::new(next.clip) }]).unwrap(),
        }
        crowd.replace_clip(body.clips[slot], bound(&body.built, kind)).expect("the same topology");
        for _ in 0..2 {
            frame(&mut crowd, 1.0 / 60.0);
            for &handle in &handles {
                assert!(finite(&crowd, handle), "round {round}");
                for clip in crowd.clips(handle).unwrap() {
                    let duration = crowd.clip(clip.clip).unwrap().duration();
                    let cycle = if clip.wrap == Wrap::PingPong { 2.0 * duration } else { duration };
                    assert!((0.0..=cycle).contains(&clip.time), "round {round}: {clip:?} of {cycle}");
                }
            }
        }
    }
    let error = crowd.replace_clip(bodies[0].clips[0], bound(&bodies[2].built, ClipKind::Walk));
    assert!(error.unwrap_err().to_string().contains("topology"));
}

/// The pose is that of a crowd that had the new clip from the start, at the same share of it.
#[test]
fn an_exchanged_clip_is_played_from_the_same_share_on() {
    let (adult, share) = (BodyPlan::adult(), 0.37);
    let pose = |exchanged: bool| {
        let mut crowd = Crowd::new(CrowdConfig::default());
        let body = add(&mut crowd, RigKind::ALL[0], &adult, &[ClipKind::Walk]);
        let to = bound(&body.built, ClipKind::Jog);
        let other = crowd.add_clip(to.clone()).unwrap();
        let clip = if exchanged { body.clips[0] } else { other };
        let time = share * crowd.clip(clip).unwrap().duration();
        let play = Play { time, ..Play::new(clip) };
        let handle = crowd.spawn(body.rig, 0, WorldTransform::IDENTITY, &[play]).unwrap();
        if exchanged {
            crowd.replace_clip(clip, to).unwrap();
        }
        frame(&mut crowd, 0.0);
        let values: Vec<f32> = bytemuck::cast_slice(crowd.pose(handle).unwrap().1).to_vec();
        values
    };
    let worst = pose(true).iter().zip(pose(false)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst < 1e-5, "{worst}");
}

#[test]
fn a_rig_is_exchanged_while_it_is_worn() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let bodies = three(&mut crowd);
    let handles: Vec<Handle> = (0..50).map(|k| spawn(&mut crowd, &bodies, k)).collect();
    crowd.pack();
    frame(&mut crowd, 1.0 / 60.0);
    let plans = [BodyPlan::tall(), BodyPlan::stocky(), BodyPlan::child(), BodyPlan::adult()];
    for round in 0..40 {
        let body = &bodies[round % 2];
        let mut built = content::character(RigKind::ALL[0], &plans[round % 4]);
        if round % 3 == 1 {
            // Without its last joints, so that slots change size.
            for skin in &mut built.character.skins {
                let keep = skin.joints.len() - 9;
                skin.joints.truncate(keep);
                skin.inverse_binds.truncate(keep);
            }
        }
        let new = rig(&built);
        let (leg, entries) = (new.leg(), new.skins()[0].entries().len());
        crowd.replace_rig(body.rig, new).expect("the same topology");
        for _ in 0..3 {
            frame(&mut crowd, 1.0 / 60.0);
            for &handle in &handles {
                assert!(finite(&crowd, handle), "round {round}");
            }
        }
        // As in a crowd that had it from the start: the size of the slot and the height of the hips.
        let worn = handles.iter().copied().filter(|&handle| crowd.body(handle).unwrap().0 == body.rig);
        for handle in worn {
            let lines = crowd.config().format.lines(entries);
            assert_eq!(crowd.pose(handle).unwrap().1.len(), 64 * lines);
        }
        assert_eq!(crowd.rig(body.rig).leg(), leg);
        let mut lines: Vec<_> = handles
            .iter()
            .map(|&handle| {
                let first = crowd.slot_line(handle).unwrap() as usize;
                first..first + 1 + crowd.pose(handle).unwrap().1.len() / 64
            })
            .collect();
        lines.sort_by_key(|range| range.start);
        assert!(lines.windows(2).all(|pair| pair[0].end <= pair[1].start), "slots overlap");
    }
    let other = rig(&content::character(RigKind::ALL[1], &BodyPlan::adult()));
    let error = crowd.replace_rig(bodies[0].rig, other).unwrap_err().to_string();
    assert!(error.contains("topology"), "{error}");
}

/// Poses after the exchange are those of a crowd that had the rig from the start.
#[test]
fn an_exchanged_rig_gives_the_poses_that_it_always_gave() {
    let poses = |exchanged: bool| {
        let mut crowd = Crowd::new(CrowdConfig::default());
        let (from, to) = (BodyPlan::adult(), BodyPlan::child());
        let body = add(&mut crowd, RigKind::ALL[0], if exchanged { &from } else { &to }, &CLIPS[..1]);
        let other = add(&mut crowd, RigKind::ALL[0], &BodyPlan::tall(), &CLIPS[..1]);
        if !exchanged {
            // The clip is the adult's in both.
            let adult = content::character(RigKind::ALL[0], &from);
            crowd.replace_clip(body.clips[0], bound(&adult, CLIPS[0])).unwrap();
        }
        let handles: Vec<Handle> = [body.rig, other.rig, body.rig]
            .map(|rig| crowd.spawn(rig, 0, WorldTransform::IDENTITY, &[Play::new(body.clips[0])]).unwrap())
            .into();
        crowd.pack();
        if exchanged {
            crowd.replace_rig(body.rig, rig(&content::character(RigKind::ALL[0], &to))).unwrap();
        }
        frame(&mut crowd, 0.1);
        handles.iter().flat_map(|&handle| crowd.pose(handle).unwrap().1.to_vec()).collect::<Vec<u8>>()
    };
    assert!(poses(true) == poses(false));
}
