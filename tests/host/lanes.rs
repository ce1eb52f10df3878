//! Newcomers and lanes: who is put where makes no difference to a pose, and what cannot come does not.

use throng::content::{BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    ClipId, Crowd, CrowdConfig, FlatGround, Frame, Handle, Play, RigId, Serial, Spawn, WorldTransform,
};

use crate::bodies::add;

/// Three bodies of one topology and one of another.
fn bodies(crowd: &mut Crowd) -> [(RigId, [ClipId; 2]); 4] {
    let plans =
        [(0, BodyPlan::adult()), (0, BodyPlan::child()), (0, BodyPlan::tall()), (1, BodyPlan::adult())];
    plans.map(|(kind, plan)| {
        let body = add(crowd, RigKind::ALL[kind], &plan, &[ClipKind::Walk, ClipKind::Run]);
        (body.rig, [body.clips[0], body.clips[1]])
    })
}

/// Who is put into a free lane of a mixed block, among other bodies, is posed as if it were alone.
#[test]
fn newcomers_in_mixed_blocks_are_posed_as_if_alone() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let bodies = bodies(&mut crowd);
    let spawn = |crowd: &mut Crowd, body: usize| {
        let (rig, [walk, _]) = bodies[body];
        let place = WorldTransform::standing(1.0, 2.0, 0.3);
        crowd.spawn(rig, 0, place, &[Play { time: 0.3, ..Play::new(walk) }]).expect("spawn")
    };
    let frame = |crowd: &mut Crowd| {
        crowd.frame(Frame::new(0.1, &FlatGround::default()), &Serial).expect("frame");
    };
    let alone: Vec<Vec<u8>> = (0..3)
        .map(|body| {
            let handle = spawn(&mut crowd, body);
            frame(&mut crowd);
            let pose = crowd.pose(handle).expect("pose").1.to_vec();
            crowd.despawn(handle).expect("alive");
            pose
        })
        .collect();
    // Five of one body and four of another share a block; a third body comes into it, and more of the first.
    let old: Vec<(usize, Handle)> = (0..9).map(|k| (k % 2, spawn(&mut crowd, k % 2))).collect();
    crowd.pack();
    assert_eq!((crowd.occupancy().blocks, crowd.occupancy().uniform_block_percent), (1, 0.0));
    let new: Vec<(usize, Handle)> = [2, 0, 2, 1].map(|body| (body, spawn(&mut crowd, body))).into();
    assert_eq!(crowd.occupancy().blocks, 1);
    frame(&mut crowd);
    for (body, handle) in old.iter().chain(&new) {
        assert!(crowd.pose(*handle).expect("pose").1 == alone[*body], "body {body}");
    }
    // All but the third body leave: the block is uniform again, and its poses stay what they are.
    for (body, handle) in old.iter().chain(&new) {
        if *body != 2 {
            crowd.despawn(*handle).expect("alive");
        }
    }
    assert_eq!(crowd.occupancy().uniform_block_percent, 100.0);
    let late = spawn(&mut crowd, 2);
    frame(&mut crowd);
    assert!(crowd.pose(late).expect("pose").1 == alone[2]);
    assert_eq!(crowd.occupancy().blocks, 1);
}

/// What is out of range is refused before anything changes.
#[test]
fn what_cannot_come_does_not() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let bodies = bodies(&mut crowd);
    let (rig, [walk, _]) = bodies[0];
    let plays = [Play::new(walk)];
    let good = Spawn { rig, skin: 0, transform: WorldTransform::IDENTITY, clips: &plays };
    let nan = WorldTransform { position: [0.0, f32::NAN, 0.0], ..WorldTransform::IDENTITY };
    let foreign = [Play::new(bodies[3].1[0])];
    for bad in [
        Spawn { skin: 7, ..good },
        Spawn { transform: nan, ..good },
        Spawn { clips: &foreign, ..good },
        Spawn { clips: &[plays[0]; 5], ..good },
    ] {
        let mut handles = [Handle::NONE; 3];
        assert!(crowd.spawn_many(&[good, good, bad], &mut handles).is_err());
        assert!(crowd.is_empty() && handles == [Handle::NONE; 3]);
    }
    assert!(crowd.spawn_many(&[good], &mut []).is_err());
    assert!(crowd.reserve(rig, 0, usize::MAX).is_err());
    assert_eq!(crowd.despawn_many(&[Handle::NONE, Handle::from_bits(0)]), 0);
    let mut handles = [Handle::NONE; 2];
    crowd.spawn_many(&[good, good], &mut handles).expect("both");
    assert_eq!(handles.map(|handle| Handle::from_bits(handle.to_bits())), handles);
    assert_eq!(crowd.despawn_many(&[handles[0], handles[0], handles[1]]), 2);
}
