//! Proportions of a body.

use super::rng::Rng;

/// Proportions of a body. `BodyPlan::adult()` is the published mean; the factors change it.
///
/// Segment lengths are fractions of stature after Drillis and Contini (1966) as given in Winter,
/// "Biomechanics and Motor Control of Human Movement", chapter 4: hip height 0.530, knee 0.285,
/// ankle 0.039, shoulder 0.818, chin 0.870, upper arm 0.186, forearm 0.146, hand 0.108,
/// foot length 0.152. Hip joint centres lie 0.1 of stature apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyPlan {
    /// Stature, metres.
    pub stature: f64,
    /// Leg length over the mean for that stature.
    pub leg: f64,
    /// Arm length over the mean.
    pub arm: f64,
    /// Shoulder width over the mean.
    pub shoulder_width: f64,
    /// Hip width over the mean.
    pub hip_width: f64,
    /// Thickness of the limbs over the mean.
    pub limb_girth: f64,
    /// Depth and width of the trunk over the mean.
    pub trunk_girth: f64,
    /// Head height over the mean.
    pub head: f64,
    /// Foot length over the mean.
    pub foot: f64,
}

impl BodyPlan {
    /// Mean adult, 1.75 m.
    pub const fn adult() -> Self {
        Self {
            stature: 1.75,
            leg: 1.0,
            arm: 1.0,
            shoulder_width: 1.0,
            hip_width: 1.0,
            limb_girth: 1.0,
            trunk_girth: 1.0,
            head: 1.0,
            foot: 1.0,
        }
    }

    /// About seven years old: head a sixth of the stature, shorter legs, narrow shoulders.
    pub const fn child() -> Self {
        Self {
            stature: 1.22,
            leg: 0.93,
            arm: 0.94,
            shoulder_width: 0.93,
            hip_width: 0.95,
            limb_girth: 0.98,
            trunk_girth: 1.06,
            head: 1.32,
            foot: 1.02,
        }
    }

    /// Short and broad.
    pub const fn stocky() -> Self {
        Self {
            stature: 1.64,
            leg: 0.95,
            arm: 0.98,
            shoulder_width: 1.14,
            hip_width: 1.1,
            limb_girth: 1.28,
            trunk_girth: 1.32,
            head: 1.04,
            foot: 1.0,
        }
    }

    /// Tall and slender.
    pub const fn tall() -> Self {
        Self {
            stature: 1.96,
            leg: 1.045,
            arm: 1.03,
            shoulder_width: 1.0,
            hip_width: 0.95,
            limb_girth: 0.9,
            trunk_girth: 0.9,
            head: 0.92,
            foot: 1.03,
        }
    }

    /// This plan with every proportion changed a little, by the generator's next numbers.
    pub(super) fn varied(&self, rng: &mut Rng) -> Self {
        Self {
            stature: self.stature * rng.about_one(0.07),
            leg: self.leg * rng.about_one(0.04),
            arm: self.arm * rng.about_one(0.04),
            shoulder_width: self.shoulder_width * rng.about_one(0.08),
            hip_width: self.hip_width * rng.about_one(0.08),
            limb_girth: self.limb_girth * rng.about_one(0.15),
            trunk_girth: self.trunk_girth * rng.about_one(0.18),
            head: self.head * rng.about_one(0.04),
            foot: self.foot * rng.about_one(0.05),
        }
    }

    /// The same plan with every factor brought into the range that the builders can make a body of;
    /// what is not finite becomes the mean.
    #[must_use]
    pub fn clamped(&self) -> Self {
        let mean = Self::adult();
        let fit =
            |v: f64, low: f64, high: f64, mean: f64| if v.is_finite() { v.clamp(low, high) } else { mean };
        Self {
            stature: fit(self.stature, 0.5, 3.0, mean.stature),
            leg: fit(self.leg, 0.8, 1.12, 1.0),
            arm: fit(self.arm, 0.7, 1.3, 1.0),
            shoulder_width: fit(self.shoulder_width, 0.7, 1.5, 1.0),
            hip_width: fit(self.hip_width, 0.7, 1.5, 1.0),
            limb_girth: fit(self.limb_girth, 0.5, 2.0, 1.0),
            trunk_girth: fit(self.trunk_girth, 0.6, 2.0, 1.0),
            head: fit(self.head, 0.7, 1.5, 1.0),
            foot: fit(self.foot, 0.7, 1.4, 1.0),
        }
    }
}

impl Default for BodyPlan {
    fn default() -> Self {
        Self::adult()
    }
}
