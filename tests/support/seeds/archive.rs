//! Archives of small clips, taken apart for the target to put together.

use glam::{DQuat, DVec3};
use throng::clip::archive::{PackSettings, PackedClip, pack};
use throng::clip::{BoundClip, ClipEvent, MotionKeys};

use super::Seeds;
use crate::sealed::{RIG, split};

/// A clip of so many keys in which every joint does something else.
pub fn small_clip(name: &str, keys: usize, moves: f64) -> BoundClip {
    let joints = RIG.topology().len();
    let rotation = |key: usize, joint: usize| match joint % 3 {
        0 => DQuat::from_rotation_x(moves * 0.1 * key as f64),
        1 => DQuat::from_rotation_y(0.3),
        _ => DQuat::IDENTITY,
    };
    let keys = MotionKeys {
        name: name.into(),
        duration: (keys - 1) as f64 / 30.0,
        looping: moves > 0.0,
        rotations: (0..keys).flat_map(|key| (0..joints).map(move |joint| rotation(key, joint))).collect(),
        pelvis: (0..keys).map(|key| DVec3::Y * (0.01 * moves * key as f64)).collect(),
        root: (0..keys).map(|key| [0.0, 0.1 * moves * key as f64, 0.02 * (key * key) as f64]).collect(),
        contact: (0..keys).map(|key| [f32::from(key < 2), 0.5]).collect(),
        events: vec![ClipEvent { time: 0.0, name: "step".into() }],
        ..MotionKeys::default()
    };
    BoundClip::build(RIG.topology(), &keys).expect("a clip")
}

pub fn seeds() -> Seeds {
    let settings = PackSettings { tolerance: 1e-3, shell: 0.05 };
    let archive = |clips: &[BoundClip]| {
        let fit = |clip| PackedClip::fit(&RIG, clip, None, &settings).expect("fits");
        let packed: Vec<PackedClip> = clips.iter().map(fit).collect();
        pack(&RIG, &settings, &packed).expect("an archive")
    };
    let walk = archive(&[small_clip("walk", 6, 1.0)]);
    vec![
        ("one", split(&walk)),
        ("two", split(&archive(&[small_clip("still", 2, 0.0), small_clip("walk", 9, 2.0)]))),
        ("none", split(&archive(&[]))),
        ("whole.throng", walk),
    ]
}
