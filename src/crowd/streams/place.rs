//! Where streams have their hips, as boxes before a frame want to know.

use super::{Key, StreamPoses, StreamTable};
use crate::retarget::LiveMap;

/// Where the hips of a stream are, metres from their reference place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Hips {
    /// There is no stream.
    NoStream,
    At([f32; 3]),
    /// Over the root, as far as is known.
    Above,
    Anywhere,
}

impl StreamTable {
    /// Where a character's stream has its hips, before the frame that takes the pose.
    pub fn hips(&self, character: u32, leg: f32, poses: StreamPoses<'_>) -> Hips {
        let Some(key) = self.key(character) else { return Hips::NoStream };
        match (self.map(key), self.pose(key, poses)) {
            (Some(map), Ok(pose)) => Hips::At(offset(map, key, pose.position, leg)),
            _ if key.travels() => Hips::Above,
            _ => Hips::Anywhere,
        }
    }
}

fn offset(map: &LiveMap, key: Key, position: [f32; 3], leg: f32) -> [f32; 3] {
    let metres = leg * map.per_leg;
    let [x, y, z] = core::array::from_fn(|k| (position[k] - map.reference[k]) * metres);
    // Where the root is under the hips, their height is all that is left of their place.
    if key.travels() { [0.0, y, 0.0] } else { [x, y, z] }
}
