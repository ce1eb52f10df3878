//! Boxes made before the pose hold those of the pose.

use throng::content::{self, ClipKind, RigKind};
use throng::crowd::{
    Aabb, Crowd, CrowdConfig, FlatGround, Frame, Handle, Layer, Play, Serial, Stream, StreamId, StreamPose,
    StreamRoot, WorldTransform, Wrap, joint_radii,
};
use throng::retarget::{BindSource, LiveMap};

use crate::bodies::{Random, bound, frame, rig, spawn, three};

fn volume(bounds: &Aabb) -> f64 {
    (0..3).map(|k| f64::from(bounds.max[k] - bounds.min[k])).product()
}

#[test]
fn boxes_before_the_pose_hold_it_for_all_clips_and_blends_on_fifty_rigs() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let mut random = Random(5);
    let mut people: Vec<(Handle, Vec<f32>)> = Vec::new();
    let mut clips = std::collections::HashMap::new();
    for (at, built) in content::variants(11, 50).into_iter().enumerate() {
        let body = rig(&built);
        let radii = joint_radii(&body, 0, &built.character.meshes[0]).unwrap();
        assert_eq!(radii.len(), body.skins()[0].entries().len());
        let id = crowd.add_rig(body).unwrap();
        crowd.set_padding(id, radii.iter().copied().fold(0.0, f32::max)).unwrap();
        // Clips are those of the first body of a kind: others retarget them as they are.
        let own: &Vec<_> = clips
            .entry(built.kind.name())
            .or_insert_with(|| ClipKind::ALL.map(|kind| crowd.add_clip(bound(&built, kind)).unwrap()).into());
        for _ in 0..6 {
            let mut plays = Vec::new();
            for _ in 0..1 + random.below(3) {
                let wrap = [Wrap::Clip, Wrap::PingPong, Wrap::Loop][random.below(3)];
                let weight = 0.1 + random.unit();
                plays.push(Play {
                    time: 3.0 * random.unit(),
                    weight,
                    wrap,
                    ..Play::new(own[random.below(own.len())])
                });
            }
            let place = WorldTransform::standing(at as f32, random.unit() * 50.0, random.unit() * 6.0);
            people.push((crowd.spawn(id, 0, place, &plays).unwrap(), radii.clone()));
        }
    }
    crowd.pack();
    crowd.prepare_bounds();
    let mut boxes = vec![Aabb::EMPTY; people.len()];
    // Volumes before and after of those who only play clips, and of those who also change them.
    let (mut volumes, mut tightest) = ([[0.0; 2]; 2], f32::MAX);
    for round in 0..30 {
        for (at, (handle, _)) in people.iter().enumerate() {
            if round % 10 == 5 && at % 3 == 0 {
                let playing: Vec<_> = crowd.clips(*handle).unwrap().collect();
                let next = playing[random.below(playing.len())].clip;
                if at % 7 == 0 {
                    crowd.set_layers(*handle, &[Layer { weight: 0.5, ..Layer::new(next) }]).unwrap();
                } else if at % 2 == 0 {
                    crowd.fade_to(*handle, &[Play::new(next)], 0.3).unwrap();
                } else {
                    crowd.transition_to(*handle, &[Play::new(next)], 0.3).unwrap();
                }
            }
        }
        frame(&mut crowd, 1.0 / 30.0);
        // Of the pose that follows without the root moving on.
        crowd.bounds_into(&mut boxes).unwrap();
        frame(&mut crowd, 0.0);
        for (at, (handle, radii)) in people.iter().enumerate() {
            let pre = boxes[handle.index()];
            let again = crowd.bounds(*handle).unwrap();
            assert!(
                (0..3)
                    .all(|k| (again.min[k] - pre.min[k]).abs().max((again.max[k] - pre.max[k]).abs()) < 1e-4)
            );
            let exact = crowd.posed_bounds(*handle, radii).unwrap();
            assert!(
                pre.contains(&exact),
                "round {round}, {handle:?}: {pre:?} around {exact:?}, {:?}",
                crowd.clips(*handle).unwrap().collect::<Vec<_>>()
            );
            for k in 0..3 {
                tightest = tightest.min(exact.min[k] - pre.min[k]).min(pre.max[k] - exact.max[k]);
            }
            let volumes = &mut volumes[usize::from(at % 3 == 0)];
            volumes[0] += volume(&pre);
            volumes[1] += volume(&exact);
        }
    }
    let [calm, changing] = volumes.map(|[before, after]| before / after);
    println!(
        "volume before / after: {calm:.2}, with changes {changing:.2}; nearest faces {tightest:.3} m apart"
    );
    assert!(calm < 16.0 && calm < changing, "boxes are of some use: {calm} {changing}");
}

#[test]
fn boxes_follow_clips_rigs_and_places() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let bodies = three(&mut crowd);
    let handles: Vec<Handle> = (0..20).map(|k| spawn(&mut crowd, &bodies, k)).collect();
    let first = crowd.bounds(handles[0]).unwrap();
    assert!(crowd.posed_bounds(handles[0], &[]).is_err(), "no pose yet");
    frame(&mut crowd, 0.0);
    assert!(first.contains(&crowd.posed_bounds(handles[0], &[]).unwrap()));
    crowd.teleport(handles[0], WorldTransform::standing(100.0, 0.0, 0.0)).unwrap();
    assert!(crowd.bounds(handles[0]).unwrap().min[0] > 90.0);
    // A taller body in the same place has a taller box.
    let (rig_id, _) = crowd.body(handles[1]).unwrap();
    let before = crowd.bounds(handles[1]).unwrap();
    let tall = content::character(RigKind::ALL[0], &content::BodyPlan::tall());
    crowd.replace_rig(rig_id, rig(&tall)).unwrap();
    let after = crowd.bounds(handles[1]).unwrap();
    assert!(after.max[1] > before.max[1] + 0.2, "{before:?} {after:?}");
    crowd.despawn(handles[5]).unwrap();
    let mut boxes = vec![Aabb { min: [0.0; 3], max: [0.0; 3] }; 20];
    crowd.bounds_into(&mut boxes).unwrap();
    assert!(boxes[handles[5].index()].is_empty() && !boxes[handles[6].index()].is_empty());
    assert!(crowd.bounds_into(&mut boxes[..10]).is_err());
    assert!(crowd.set_padding(rig_id, f32::NAN).is_err() && crowd.set_padding(rig_id, -1.0).is_err());
    assert!(crowd.posed_bounds(handles[6], &[f32::NAN]).is_err());
}

/// A layer is over something, if only the reference pose.
#[test]
fn a_layer_alone_is_not_all_of_a_body() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let bodies = three(&mut crowd);
    let body = &bodies[0];
    let handle = crowd.spawn(body.rig, 0, WorldTransform::IDENTITY, &[]).unwrap();
    let bare = crowd.bounds(handle).unwrap();
    crowd.set_layers(handle, &[Layer { weight: 0.5, ..Layer::new(body.clips[2]) }]).unwrap();
    assert!(crowd.bounds(handle).unwrap().contains(&bare));
}

#[test]
fn whoever_follows_a_stream_is_in_its_box() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let body = &three(&mut crowd)[0];
    let handle = crowd.spawn(body.rig, 0, WorldTransform::IDENTITY, &[]).unwrap();
    let (reference, skeleton) = (body.built.reference(), &body.built.character.skeleton);
    let source = BindSource { skeleton, roles: &body.built.roles, reference: &reference };
    let map = std::sync::Arc::new(LiveMap::build(source, &rig(&body.built)).unwrap());
    crowd.set_stream(handle, &Stream { id: StreamId(0), map, root: StreamRoot::InPose }).unwrap();
    let rotations = vec![[0.0, 0.0, 0.0, 1.0]; skeleton.joints.len()];
    let pose = StreamPose { rotations: (&rotations).into(), position: [30.0, 2.0, -40.0], contacts: None };
    let before = crowd.bounds(handle).unwrap();
    let ground = FlatGround::default();
    crowd.frame(Frame { streams: (&[pose]).into(), ..Frame::new(0.02, &ground) }, &Serial).unwrap();
    assert_eq!(crowd.stream_report().followed, 1);
    assert!(before.contains(&crowd.posed_bounds(handle, &[]).unwrap()));
}

/// Where the pose is at hand, the box is around it; where the root goes along, nobody is far aside of it.
#[test]
fn boxes_of_followers_are_as_finite_as_what_is_known() {
    let mut crowd = Crowd::new(CrowdConfig { transitions: 1.0, ..CrowdConfig::default() });
    let body = &three(&mut crowd)[0];
    let handle = crowd.spawn(body.rig, 0, WorldTransform::IDENTITY, &[Play::new(body.clips[0])]).unwrap();
    let (reference, skeleton) = (body.built.reference(), &body.built.character.skeleton);
    let source = BindSource { skeleton, roles: &body.built.roles, reference: &reference };
    let map = std::sync::Arc::new(LiveMap::build(source, &rig(&body.built)).unwrap());
    let rotations = vec![[0.0, 0.0, 0.0, 1.0]; skeleton.joints.len()];
    let ground = FlatGround::default();
    frame(&mut crowd, 0.02);
    let far = StreamPose { rotations: (&rotations).into(), position: [30.0, 2.0, -40.0], contacts: None };
    let stream = |root| Stream { id: StreamId(0), map: std::sync::Arc::clone(&map), root };
    crowd.transition_to_stream(handle, &stream(StreamRoot::InPose), 0.3).unwrap();
    let follow = |crowd: &mut Crowd| {
        let bounds = crowd.bounds_with(handle, (&[far]).into()).unwrap();
        assert!((0..3).all(|k| bounds.max[k] - bounds.min[k] < 100.0));
        crowd.frame(Frame { streams: (&[far]).into(), ..Frame::new(0.02, &ground) }, &Serial).unwrap();
        assert!(bounds.contains(&crowd.posed_bounds(handle, &[]).unwrap()));
    };
    (0..25).for_each(|_| follow(&mut crowd));
    // And back to where the root is.
    crowd.transition_to(handle, &[Play::new(body.clips[0])], 0.3).unwrap();
    (0..25).for_each(|_| follow(&mut crowd));
    let near = crowd.bounds(handle).unwrap();
    assert!(near.max[0] - near.min[0] < 10.0, "nothing is left of the way");
    crowd.set_stream(handle, &stream(StreamRoot::Travel)).unwrap();
    let column = crowd.bounds(handle).unwrap();
    assert!(column.max[0] - column.min[0] < 20.0 && column.max[1] > 1e8);
    follow(&mut crowd);
}
