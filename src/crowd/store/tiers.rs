//! Which character is in which tier.

use super::{Crowd, Handle, Place};
use crate::crowd::output::PackedSkin;
use crate::crowd::tier::{TIERS, Tier, TierConfig};
use crate::error::BuildError;
use crate::rig::{NO_PARENT, Rig, Topology};

impl Crowd {
    /// Which tier a character is in.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn tier(&self, handle: Handle) -> Result<Tier, BuildError> {
        Ok(self.cohorts[usize::from(self.place(handle)?.cohort)].tier)
    }

    /// Puts a character into a tier. Handle, slot and state stay; it gets a pose in the next frame if the tier is richer
    /// than its old one, else when its turn comes.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn set_tier(&mut self, handle: Handle, tier: Tier) -> Result<(), BuildError> {
        let place = self.place(handle)?;
        let (topology, old) = self.cohort_of(place);
        if old != tier {
            let mut lane = self.unseat(place);
            if self.richer(topology, tier, old) {
                lane.make_stale();
            }
            let kept = &self.topologies[usize::from(topology)].kept;
            if self.config.interpolate && kept[tier as usize] != kept[old as usize] {
                let poorer = if kept[tier as usize] < kept[old as usize] { tier } else { old };
                lane.pair.change_detail(poorer);
            }
            self.seat(cohort_index(topology, tier).into(), lane);
        }
        Ok(())
    }

    /// Characters in each of [`Tier::ALL`].
    #[must_use]
    pub fn tier_counts(&self) -> [usize; TIERS] {
        let mut counts = [0; TIERS];
        for cohort in &self.cohorts {
            let live: u32 = cohort.blocks.iter().map(|block| block.live.count_ones()).sum();
            counts[cohort.tier as usize] += live as usize;
        }
        counts
    }

    /// Frames from one pose to the next of each of [`Tier::ALL`]: the quick way to do more or less, at once for all.
    ///
    /// # Errors
    /// If one is not 1, 2, 4 or 8; then none is changed.
    pub fn set_periods(&mut self, periods: [u8; TIERS]) -> Result<(), BuildError> {
        if let Some(&bad) = periods.iter().find(|period| ![1, 2, 4, 8].contains(*period)) {
            let right = "1, 2, 4 or 8 frames";
            return Err(BuildError::Input { what: "a tier's period", value: bad.into(), right });
        }
        for (tier, period) in self.tiers.iter_mut().zip(periods) {
            tier.period = period;
        }
        Ok(())
    }

    /// What each of [`Tier::ALL`] computes at present.
    #[must_use]
    pub fn tiers(&self) -> &[TierConfig; TIERS] {
        &self.tiers
    }

    fn richer(&self, topology: u16, tier: Tier, than: Tier) -> bool {
        let kept = &self.topologies[usize::from(topology)].kept;
        let (new, old) = (&self.tiers[tier as usize], &self.tiers[than as usize]);
        new.period < old.period || kept[tier as usize] > kept[than as usize] || new.feet && !old.feet
    }

    pub(super) fn cohort_of(&self, place: Place) -> (u16, Tier) {
        let cohort = &self.cohorts[usize::from(place.cohort)];
        (cohort.topology, cohort.tier)
    }
}

/// Topology by topology, tier by tier.
pub(super) fn cohort_index(topology: u16, tier: Tier) -> u16 {
    topology * TIERS as u16 + tier as u16
}

/// How many joints of a topology move up to a level: a prefix that has all roots, and all that legs need.
pub(super) fn kept(topology: &Topology, level: u8) -> usize {
    let levels = topology.levels().iter();
    let legs = topology.legs().iter().flat_map(|leg| [leg.foot, leg.shin, leg.thigh]);
    let roots =
        (0..topology.len() as u16).filter(|&joint| topology.parents()[usize::from(joint)] == NO_PARENT);
    let needed = legs.chain(roots).chain([topology.pelvis()]).map(|joint| usize::from(joint) + 1).max();
    levels.take_while(|&&own| own <= level).count().max(needed.unwrap_or(1))
}

/// The skins of a rig as each tier writes them, where that differs from the whole; all slots carry `joints`.
pub(super) fn lesser_skins(
    rig: &Rig,
    kept: &[usize; TIERS],
    config: &super::CrowdConfig,
    joints: &[u16],
) -> Result<[Vec<PackedSkin>; TIERS], BuildError> {
    let mut lesser: [Vec<PackedSkin>; TIERS] = Default::default();
    for (skins, &kept) in lesser.iter_mut().zip(kept) {
        if kept < rig.topology().len() {
            for skin in rig.skins() {
                let packed = PackedSkin::build(rig, skin, kept, config.format)?;
                skins.push(packed.keeping(rig, kept, config.format, joints));
            }
        }
    }
    Ok(lesser)
}
