//! Snapshots of a small crowd under a right head, and what must hold of a crowd that takes one.

use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Handle, Play, Serial, SnapshotError, WorldTransform,
};

use super::sealed::RIG;
use super::seeds::small_clip;

/// Bytes before the body, and of them those that do not depend on it.
const HEAD: usize = 40;
const FIXED: usize = 24;

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
    crowd.restore(snapshot)
}

/// A crowd that took a snapshot goes on: finite, and open to everything that a host does.
pub fn sound(mut crowd: Crowd, plays: &[Play; 2]) {
    let ground = FlatGround { height: 0.0 };
    for step in 0..3 {
        crowd.frame(Frame::new(0.05, &ground), &Serial).expect("a frame");
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
