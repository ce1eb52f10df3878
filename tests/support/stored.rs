//! Snapshots of a small crowd under a right head, and what must hold of a crowd that takes one.

use std::sync::{Arc, LazyLock};

use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Handle, Play, Serial, SnapshotError, StreamPose, WorldTransform,
};
use throng::retarget::{BindSource, LiveMap};
use throng::rig::ReferencePose;

use super::sealed::{BODY, RIG};
use super::seeds::small_clip;

/// Bytes before the body, and of them those that do not depend on it.
const HEAD: usize = 40;
const FIXED: usize = 24;

/// From the body's own axes to its rig.
pub static MAP: LazyLock<Arc<LiveMap>> = LazyLock::new(|| {
    let (character, roles) = &*BODY;
    let reference = ReferencePose::rest(&character.skeleton);
    let source = BindSource { skeleton: &character.skeleton, roles, reference: &reference };
    Arc::new(LiveMap::build(source, &RIG).expect("a map"))
});

/// A step of two streams that go ahead.
pub fn streamed(crowd: &mut Crowd, step: u8) {
    let rotations = vec![[0.0, 0.0, 0.0, 1.0]; MAP.source_joints()];
    let position = [0.1, 1.0, 0.05 * f32::from(step)];
    let streams = [StreamPose { rotations: (&rotations).into(), position, contacts: None }; 2];
    let ground = FlatGround { height: 0.0 };
    crowd.frame(Frame { streams: (&streams).into(), ..Frame::new(0.05, &ground) }, &Serial).expect("a frame");
}

/// Nobody yet, one rig, two clips.
pub fn crowd() -> (Crowd, [Play; 2]) {
    let mut crowd = Crowd::new(CrowdConfig { transitions: 1.0, ..CrowdConfig::default() });
    crowd.add_rig(RIG.clone()).expect("a rig");
    let plays = [small_clip("still", 2, 0.0), small_clip("walk", 6, 1.0)]
        .map(|clip| Play::new(crowd.add_clip(clip).expect("a clip")));
    (crowd, plays)
}

/// What of a snapshot [`restored`] takes.
pub fn body(crowd: &Crowd) -> Vec<u8> {
    crowd.snapshot().split_off(HEAD)
}

/// The snapshot of a body, for a crowd with that content.
pub fn with_head(crowd: &Crowd, body: &[u8]) -> Vec<u8> {
    let mut out = crowd.snapshot();
    out.truncate(FIXED);
    out.extend((body.len() as u64).to_le_bytes());
    out.extend(hash(body).to_le_bytes());
    out.extend(body);
    out
}

/// As the format says.
fn hash(bytes: &[u8]) -> u64 {
    let word = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ mixed >> 32
    };
    let start = word(0x9e37_79b9_7f4a_7c15, bytes.len() as u64);
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(start, |hash, eight| word(hash, u64::from_le_bytes(*eight)));
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    word(sum, u64::from_le_bytes(last))
}

pub fn restore(crowd: &mut Crowd, snapshot: &[u8]) -> Result<(), SnapshotError> {
    crowd.restore_with_maps(snapshot, &[Arc::clone(&MAP)])
}

/// A crowd that took a snapshot goes on: finite, and open to everything that a host does.
pub fn sound(mut crowd: Crowd, plays: &[Play; 2]) {
    for step in 0..3 {
        streamed(&mut crowd, step);
        let handles: Vec<Handle> = crowd.handles().collect();
        assert_eq!(handles.len(), crowd.len());
        for (index, &who) in handles.iter().enumerate() {
            let (header, palette) = crowd.pose(who).expect("alive");
            let floats: &[f32] = bytemuck::cast_slice(palette);
            let floats = floats.iter().chain(bytemuck::cast_slice(bytemuck::bytes_of(&header)));
            assert!(floats.copied().all(f32::is_finite), "{header:?}");
            match (step, index % 3) {
                (0, 0) => crowd.transition_to(who, &plays[..1], 0.1).map(drop).expect("a transition"),
                (0, 1) => crowd.fade_to(who, plays, 0.1).expect("a fade"),
                (1, 0) => crowd.despawn(who).expect("alive"),
                _ => {}
            }
        }
        crowd.pack();
        let rig = crowd.rigs().next().expect("a rig");
        crowd.spawn(rig, 0, WorldTransform::IDENTITY, &plays[1..]).expect("room");
    }
    let again = crowd.snapshot();
    restore(&mut crowd, &again).expect("its own snapshot");
}
