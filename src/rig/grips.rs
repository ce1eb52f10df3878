//! What both hands of a clip's body hold, as a user tells it.

use serde::{Deserialize, Serialize};

use super::Side;
use crate::error::BuildError;

/// Seconds over which the second hand comes to its grip before it holds, and leaves it after.
const EASE: f64 = 0.2;

/// Says that both hands hold one thing in a clip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grip {
    /// Name of the clip; of all where it is `None`.
    pub clip: Option<String>,
    /// The hand that carries the thing.
    pub first: Side,
    /// Seconds into the clip.
    pub start: f64,
    /// Seconds into the clip; its end where it is `None`.
    pub end: Option<f64>,
    /// Size of the target's thing over the source's.
    pub scale: f64,
}

impl Default for Grip {
    fn default() -> Self {
        Self { clip: None, first: Side::Right, start: 0.0, end: None, scale: 1.0 }
    }
}

impl Grip {
    /// True if it says something of the clip of that name.
    #[must_use]
    pub fn is_of(&self, clip: &str) -> bool {
        self.clip.as_deref().is_none_or(|own| own == clip)
    }

    /// True if the thing is held at a time of the clip.
    #[must_use]
    pub fn holds(&self, time: f64) -> bool {
        time >= self.start && self.end.is_none_or(|end| time <= end)
    }

    /// 1 while it is held, falling to 0 before and after.
    pub(crate) fn weight(&self, time: f64) -> f64 {
        let off = (self.start - time).max(self.end.map_or(f64::NEG_INFINITY, |end| time - end));
        let u = (1.0 - off.max(0.0) / EASE).max(0.0);
        u * u * (3.0 - 2.0 * u)
    }

    /// The same in a cycle, whose end is its start: what is held over it does not come off there.
    pub(crate) fn weight_in_cycle(&self, time: f64, duration: f64) -> f64 {
        let whole = Self { end: self.end.or(Some(duration)), ..self.clone() };
        [-duration, 0.0, duration].map(|by| whole.weight(time + by)).into_iter().fold(0.0, f64::max)
    }

    /// Numbers that can be used.
    pub(crate) fn check(&self) -> Result<(), BuildError> {
        let right = "times are finite, the end not before the start, and a thing's size is from 0.01 to 100 of the source's";
        let wrong = |what, value: f64| Err(BuildError::Input { what, value: value as f32, right });
        if !self.start.is_finite() {
            return wrong("the start of a grip", self.start);
        }
        if let Some(end) = self.end.filter(|end| !end.is_finite()) {
            return wrong("the end of a grip", end);
        }
        if let Some(end) = self.end.filter(|end| *end < self.start) {
            return wrong("the end of a grip", end);
        }
        if !(0.01..=100.0).contains(&self.scale) {
            return wrong("the scale of a grip", self.scale);
        }
        Ok(())
    }
}
