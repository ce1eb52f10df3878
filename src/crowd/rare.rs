//! What few characters have at a time: a cross-fade, a transition, layers. Kept out of the blocks' rows, owned by the
//! lane, so that it moves with the character and no lock is needed.

use super::block::MAX_CLIPS;
use crate::lanes::Row;

/// Layers that one character can have over its clips.
pub const MAX_LAYERS: usize = 4;

/// See the module's head. Which parts are in use is told by the masks of the block.
#[derive(Debug, Default)]
pub(crate) struct Rare {
    pub fade: Fade,
    pub transition: Transition,
    pub layers: [LayerState; MAX_LAYERS],
}

/// Weights on their way from one set to another; both sum to 1.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fade {
    pub from: [f32; MAX_CLIPS],
    pub to: [f32; MAX_CLIPS],
    /// Seconds since its start, and that it takes.
    pub elapsed: f32,
    pub duration: f32,
}

impl Fade {
    /// Weight of a slot so many seconds after the start: eased in and out.
    pub fn weight(&self, slot: usize, elapsed: f32) -> f32 {
        if elapsed >= self.duration {
            return self.to[slot];
        }
        let s = (elapsed / self.duration).max(0.0);
        let s = s * s * (3.0 - 2.0 * s);
        self.from[slot] + (self.to[slot] - self.from[slot]) * s
    }
}

/// How much of an offset is left at share `u` of its way, and how much of its first velocity times the way's duration
/// shows: the quintics that start with value 1, velocity 0 or value 0, velocity 1, with no acceleration, and end at rest
/// (Bollo, "Inertialization", GDC 2018, for several dimensions).
pub(crate) fn decay(u: f32) -> [f32; 2] {
    if u >= 1.0 {
        return [0.0, 0.0];
    }
    let u = u.max(0.0);
    let u3 = u * u * u;
    [1.0 - u3 * (10.0 - u * (15.0 - 6.0 * u)), u - u3 * (6.0 - u * (8.0 - 3.0 * u))]
}

/// Mean of the first quintic over a part of its way.
pub(crate) fn decay_mean(from: f32, to: f32) -> f32 {
    let integral = |u: f32| {
        let u = u.clamp(0.0, 1.0);
        let u4 = u * u * u * u;
        u - u4 * (2.5 - u * (3.0 - u))
    };
    let way = to - from;
    if way > 1e-6 { (integral(to) - integral(from)) / way } else { decay(from)[0] }
}

/// An inertialised transition: what the old motion was ahead of the new one when the clips changed, on its way to
/// nothing.
#[derive(Debug, Default)]
pub(crate) struct Transition {
    /// Per joint, offset and velocity: see the stage.
    pub offsets: Option<Box<[Row]>>,
    /// Root twist of the old motion less that of the new one: leg lengths to the left and ahead and radians, per second.
    pub twist: [f32; 3],
    /// Seconds since its start, and that it takes.
    pub elapsed: f32,
    pub duration: f32,
}

/// A clip over the clips.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LayerState {
    /// 0 where there is none.
    pub weight: f32,
    pub clip: u16,
    pub mask: u16,
    pub time: f32,
    pub lost: f32,
    pub speed: f32,
    pub loops: bool,
    pub ping_pong: bool,
    pub additive: bool,
    pub model_space: bool,
}
