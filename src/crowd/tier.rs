//! Levels of detail: what a character is worth.

/// How much of a character is computed, and how often. Clocks, events and root motion run at full rate in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// Everything, whatever it costs.
    Hero,
    /// All joints, every frame. What characters are spawned in.
    #[default]
    Near,
    /// Fewer joints, less often.
    Mid,
    /// Few joints, rarely.
    Far,
}

/// Number of tiers.
pub const TIERS: usize = 4;

impl Tier {
    /// From the richest to the poorest.
    pub const ALL: [Self; TIERS] = [Self::Hero, Self::Near, Self::Mid, Self::Far];

    /// `hero`, `near`, `mid` or `far`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hero => "hero",
            Self::Near => "near",
            Self::Mid => "mid",
            Self::Far => "far",
        }
    }

    /// By name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tier| tier.name() == name)
    }
}

/// What a tier computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TierConfig {
    /// Highest level of detail of the joints that move (see [`Topology::levels`](crate::rig::Topology::levels): 0 the
    /// body, 1 with twist and helper joints, 2 with fingers). Those beyond it keep their reference pose relative to the
    /// nearest one that moves; the palette has all of its entries all the same.
    pub level: u8,
    /// Frames from one pose to the next: 1, 2, 4 or 8. Any other number counts as the next of them, more than 8 as 8.
    /// Blocks of 16 characters take turns.
    pub period: u8,
    /// Feet are put onto the ground; without it the pose is as animated, at the root.
    pub feet: bool,
}

impl TierConfig {
    /// All joints, every frame, with feet.
    pub const FULL: Self = Self { level: u8::MAX, period: 1, feet: true };

    /// Of [`Tier::ALL`], in order.
    pub const DEFAULT: [Self; TIERS] = [
        Self::FULL,
        Self::FULL,
        Self { level: 1, period: 2, feet: true },
        Self { level: 0, period: 4, feet: true },
    ];

    pub(crate) fn sound(self) -> Self {
        Self { period: self.period.clamp(1, 8).next_power_of_two(), ..self }
    }
}
