//! Rigs and clips change while characters are on them: no frame is wrong or not finite.

use std::sync::Arc;

use glam::{Quat, Vec3};
use throng::clip::AdditiveReference;
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Handle, Layer, LocalTransform, Play, Serial, Stream, StreamId,
    StreamPose, StreamRoot, Tier, WorldTransform, Wrap,
};
use throng::retarget::{BindSource, LiveMap, LiveMaps, bind_additive};
use throng::rig::Role;

use crate::bodies::{CLIPS, Random, add, bound, finite, frame, rig, spawn, three};

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

/// A body's own skeleton as the source of a stream, and its rest pose there.
fn own_stream(built: &BuiltIn) -> (Arc<LiveMap>, Vec<[f32; 4]>) {
    let reference = built.reference();
    let (skeleton, roles) = (&built.character.skeleton, &built.roles);
    let source = BindSource { skeleton, roles, reference: &reference };
    let map = LiveMaps::default().get(source, &rig(built)).expect("a map");
    (map, skeleton.joints.iter().map(|joint| joint.rest.rotation.to_array()).collect())
}

/// Bones are as long as those of the rig of now, rotations are unit; gives how far the pose is from rest at most.
fn judge(crowd: &Crowd, built: &BuiltIn, handle: Handle, when: &str) -> f32 {
    let skeleton = &built.character.skeleton;
    let pelvis = usize::from(built.roles.joint(Role::Hips).expect("hips"));
    let mut pose = vec![LocalTransform::IDENTITY; skeleton.joints.len()];
    crowd.local_pose_into(handle, &mut pose).expect("a pose");
    let mut most = 0.0f32;
    for (at, (joint, transform)) in skeleton.joints.iter().zip(&pose).enumerate() {
        let turn = Quat::from_array(transform.rotation);
        assert!((turn.length() - 1.0).abs() < 1e-4, "{when}: joint {at} turns by {turn}");
        most = most.max(turn.angle_between(joint.rest.rotation));
        if joint.parent.is_some() && at != pelvis {
            let off = Vec3::from_array(transform.translation).distance(joint.rest.translation);
            assert!(off < 1e-4, "{when}: joint {at} \"{}\" is {off} m from its place", joint.name);
        }
    }
    most
}

/// Layers of both kinds, fades, transitions, streams, tiers and feet on the ground, while clips and rigs are exchanged:
/// every frame of everybody is judged.
#[test]
fn no_frame_of_any_stage_is_wrong_while_clips_and_rigs_are_exchanged() {
    let mut crowd = Crowd::new(CrowdConfig { transitions: 0.5, ..CrowdConfig::default() });
    let mut bodies = three(&mut crowd);
    let added = |built: &BuiltIn, kind| {
        let reference = built.reference();
        let (skeleton, roles) = (&built.character.skeleton, &built.roles);
        let source = BindSource { skeleton, roles, reference: &reference };
        bind_additive(source, &content::clip(kind, built), AdditiveReference::Rig, &rig(built)).expect("clip")
    };
    let extra = [0, 2].map(|at| crowd.add_clip(added(&bodies[at].built, ClipKind::Idle)).expect("clip"));
    let handles: Vec<Handle> = (0..36).map(|k| spawn(&mut crowd, &bodies, k)).collect();
    for (k, &handle) in handles.iter().enumerate() {
        crowd.set_tier(handle, Tier::ALL[k / 3 % 4]).expect("alive");
    }
    crowd.pack();
    let streams: Vec<_> = bodies.iter().map(|body| own_stream(&body.built)).collect();
    let mut random = Random(7);
    let (mut moved, mut followed, mut changing) = (0.0f32, 0, 0);
    let plans = [BodyPlan::tall(), BodyPlan::stocky(), BodyPlan::child(), BodyPlan::adult()];
    for round in 0..60 {
        let k = random.below(handles.len());
        let (handle, body) = (handles[k], k % 3);
        let next = Play::new(bodies[body].clips[random.below(4)]);
        match random.below(5) {
            0 => drop(crowd.transition_to(handle, &[next], 0.3).expect("clips")),
            1 => crowd.fade_to(handle, &[next], 0.3).expect("clips"),
            2 => {
                let over = Layer { weight: 0.6, ..Layer::new(next.clip) };
                crowd.set_layers(handle, &[over, Layer::additive(extra[body / 2])]).expect("layers");
            }
            3 => {
                let (map, root) = (Arc::clone(&streams[body].0), [StreamRoot::InPose, StreamRoot::Travel]);
                let stream = Stream { id: StreamId(body as u32), map, root: root[round % 2] };
                crowd.set_stream(handle, &stream).expect("stream");
            }
            _ => crowd.set_clips(handle, &[next]).expect("clips"),
        }
        let body = random.below(3);
        if round % 3 == 2 {
            let kind = RigKind::ALL[body / 2];
            let built = content::character(kind, &plans[random.below(4)]);
            crowd.replace_rig(bodies[body].rig, rig(&built)).expect("the same topology");
            bodies[body].built = built;
        } else if round % 3 == 1 {
            let kind = ClipKind::ALL[random.below(ClipKind::ALL.len())];
            let (at, clip) = (random.below(4), bound(&bodies[body].built, kind));
            crowd.replace_clip(bodies[body].clips[at], clip).expect("the same topology");
        } else {
            let kind = [ClipKind::Walk, ClipKind::Idle, ClipKind::Run][random.below(3)];
            let clip = added(&bodies[body].built, kind);
            crowd.replace_clip(extra[body / 2], clip).expect("the same topology");
        }
        for step in 0..3 {
            let position = |at: usize| {
                let hips = bodies[at].built.roles.joint(Role::Hips).expect("hips");
                bodies[at].built.reference().position(hips.into()).as_vec3().to_array()
            };
            let poses: Vec<StreamPose<'_>> = (0..3)
                .map(|at| StreamPose {
                    rotations: (&streams[at].1).into(),
                    position: position(at),
                    contacts: None,
                })
                .collect();
            let ground = FlatGround::default();
            let frame = Frame { streams: (&poses).into(), ..Frame::new(1.0 / 60.0, &ground) };
            let before: Vec<_> = handles.iter().map(|&who| crowd.transform(who).expect("alive")).collect();
            crowd.frame(frame, &Serial).expect("a frame");
            followed += crowd.stream_report().followed;
            for (k, &handle) in handles.iter().enumerate() {
                changing += usize::from(crowd.is_changing(handle).expect("alive"));
                // A poorer tier has its pose when its turn comes, after an exchange of the rig as well.
                if step == 0 && round % 3 == 2 && crowd.joint_model(handle, 0).is_err() {
                    continue;
                }
                let when = format!("round {round}, step {step}, character {k}");
                assert!(finite(&crowd, handle), "{when}");
                let now = crowd.transform(handle).expect("alive");
                let way = Vec3::from_array(now.position).distance(Vec3::from_array(before[k].position));
                assert!(way < 0.2, "{when}: the root jumps by {way} m");
                if crowd.joint_model(handle, 0).is_ok() {
                    moved = moved.max(judge(&crowd, &bodies[k % 3].built, handle, &when));
                }
            }
        }
    }
    assert!(moved > 0.5 && followed > 20 && changing > 100, "{moved} rad, {followed}, {changing}");
}
