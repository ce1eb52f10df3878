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

/// How much of the old motion is left at share `u` of a transition: the quintic from 1 to 0 that starts and ends at rest,
/// without acceleration.
fn decay(u: f32) -> f32 {
    let u = u.clamp(0.0, 1.0);
    1.0 - u * u * u * (10.0 - u * (15.0 - 6.0 * u))
}

/// Longest that an old motion goes on by itself, seconds.
const ONWARD: f32 = 0.2;

/// An inertialised transition: the old motion as it was when the clips changed.
#[derive(Debug, Default)]
pub(crate) struct Transition {
    /// Per joint, place and velocity: see the stage.
    pub memory: Option<Box<[Row]>>,
    /// Root twist of the old motion: leg lengths to the left and ahead and radians, per second.
    pub twist: [f32; 3],
    /// Seconds since its start, and that it takes.
    pub elapsed: f32,
    pub duration: f32,
    /// How much of the old motion has layers in it already: what was read back from a slot has, what was sampled has not.
    pub layered: f32,
}

impl Transition {
    /// Weight of the old motion.
    pub fn left(&self) -> f32 {
        decay(self.elapsed / self.duration)
    }

    /// Share of their weight that layers have over it: they lie on the new motion alone where the old one has them.
    pub fn under_layers(&self) -> f32 {
        1.0 - self.layered * self.left()
    }

    /// Seconds' worth of its velocity that the old motion has gone on: it brakes evenly.
    pub fn onward(&self) -> f32 {
        let lasts = ONWARD.min(self.duration);
        let rest = 1.0 - (self.elapsed / lasts).clamp(0.0, 1.0);
        lasts / 3.0 * (1.0 - rest * rest * rest)
    }

    /// More than [`onward`](Self::onward) ever is.
    pub fn onward_at_most(&self) -> f32 {
        ONWARD.min(self.duration) / 3.0 * 1.001
    }

    /// Mean weight of the old motion between two times since the start.
    pub fn mean_left(&self, from: f32, to: f32) -> f32 {
        let integral = |seconds: f32| {
            let u = (seconds / self.duration).clamp(0.0, 1.0);
            u - u * u * u * u * (2.5 - u * (3.0 - u))
        };
        let way = (to - from) / self.duration;
        if way > 1e-5 {
            ((integral(to) - integral(from)) / way).clamp(0.0, 1.0)
        } else {
            decay(from / self.duration)
        }
    }
}

/// A clip over the clips.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LayerState {
    pub used: bool,
    pub loops: bool,
    pub ping_pong: bool,
    pub additive: bool,
    pub model_space: bool,
    pub clip: u16,
    pub mask: u16,
    /// As the clips' own.
    pub time: f32,
    pub lost: f32,
    pub speed: f32,
    pub weight: f32,
    /// The weight's fade: see [`Fade`].
    pub from: f32,
    pub to: f32,
    pub elapsed: f32,
    pub duration: f32,
}
