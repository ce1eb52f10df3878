//! What tiers may cost: the place for a controller.

use crate::crowd::TIERS;

/// What a budget can know.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Load {
    /// Characters in each of [`Tier::ALL`](crate::crowd::Tier::ALL), heroes first.
    pub counts: [usize; TIERS],
    /// Seconds that the crowd's last frame took, where the host has told.
    pub frame_seconds: Option<f32>,
}

/// How much detail there is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Frames between poses, for [`Crowd::set_periods`](crate::crowd::Crowd::set_periods): acts at once for all. `None`
    /// leaves them as they are.
    pub periods: Option<[u8; TIERS]>,
    /// Factor on the distances at which tiers end: acts as characters change over.
    pub reach: f32,
    /// Most characters of each tier; who is one too many goes into the next. Not of the last one, which takes all, and not
    /// of heroes, whose excess is only reported.
    pub most: [usize; TIERS],
}

impl Default for Plan {
    /// What the crowd was made with, without bounds.
    fn default() -> Self {
        Self { periods: None, reach: 1.0, most: [usize::MAX; TIERS] }
    }
}

/// Decides before each round of changes what there is to be.
pub trait Budget {
    /// Asked once per [`TierPolicy::update`](super::TierPolicy::update).
    fn plan(&mut self, load: &Load) -> Plan;
}

/// The same plan always: for replays, and where there is nothing to control.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed(pub Plan);

impl Budget for Fixed {
    fn plan(&mut self, _: &Load) -> Plan {
        self.0
    }
}
