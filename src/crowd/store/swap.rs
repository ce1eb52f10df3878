//! Rigs and clips exchanged while characters live on them.

use super::{ClipId, Crowd, Place, RigId};
use crate::clip::BoundClip;
use crate::crowd::block::{Block, lanes_of, put_bit};
use crate::crowd::library::Library;
use crate::crowd::output::PackedSkin;
use crate::crowd::pair::Pair;
use crate::error::BuildError;
use crate::lanes::Line;
use crate::rig::Rig;

impl Crowd {
    /// Puts another clip in the place of one, for all who play it: it may last longer or shorter, have other markers, other
    /// travel and other events. Clocks keep their share of the clip, synced ones the phase of its markers; fades,
    /// transitions and layers go on. A character that did at the old clip's ends what that clip said does what the new one
    /// says; a synced one runs on.
    ///
    /// # Errors
    /// If there is no such clip, or the new one is of another topology, or one is additive and the other not.
    pub fn replace_clip(&mut self, id: ClipId, clip: BoundClip) -> Result<(), BuildError> {
        let unknown = BuildError::Unknown { what: "clip", index: id.index as usize };
        let Some(data) = self.topologies.get_mut(usize::from(id.topology)) else { return Err(unknown) };
        if data.topology != *clip.topology() {
            return Err(BuildError::OtherTopology { what: format!("clip \"{}\"", clip.name()) });
        }
        let Some(old) = data.library.clip(id.index) else { return Err(unknown) };
        if old.additive() != clip.additive() {
            let name = |additive| if additive { "additive" } else { "a motion of its own" };
            let (is, used) = (name(clip.additive()), name(old.additive()));
            return Err(BuildError::ClipUse { clip: clip.name().to_owned(), is, used });
        }
        let Some(old) = data.library.replace(id.index, clip) else { return Err(unknown) };
        // Events of the old clip are known by numbers that mean others in the new one.
        let of_old = |topology: u16, clip: u16| topology == id.topology && u32::from(clip) == id.index;
        self.events.passed.retain(|event| !of_old(event.topology, event.clip));
        for (rig, (_, topology)) in self.rig_data.iter_mut().zip(&self.rigs) {
            if *topology == id.topology {
                rig.bounds.forget(id.index);
            }
        }
        let cohorts = self.cohorts.iter_mut().filter(|cohort| cohort.topology == id.topology);
        for block in cohorts.flat_map(|cohort| &mut cohort.blocks) {
            for lane in lanes_of(block.live) {
                retime(block, lane, id.index as u16, &old, &data.library);
            }
        }
        for at in 0..self.cohorts.len() {
            if self.cohorts[at].topology != id.topology {
                continue;
            }
            for block in 0..self.cohorts[at].blocks.len() {
                let rows = &self.cohorts[at].blocks[block];
                let plays =
                    |lane: &usize| rows.clips.iter().any(|slot| u32::from(slot.clip[*lane]) == id.index);
                let players = lanes_of(rows.live).filter(plays).fold(0u16, |lanes, lane| lanes | 1 << lane);
                for lane in lanes_of(players) {
                    self.forget_past(Place { cohort: at as u16, block: block as u32, lane: lane as u8 });
                }
            }
        }
        Ok(())
    }

    /// Puts another rig of the same topology in the place of one, for all who have it: other proportions, soles and skins.
    /// What they play goes on; feet and pelvis start anew, as after a [`teleport`](Self::teleport). Where a skin has
    /// another size, the slots of its characters move: see [`slot_line`](Self::slot_line). What the last frame wrote of them
    /// is lost.
    ///
    /// # Errors
    /// If there is no such rig, the new one is of another topology, lacks a skin that a character wears, or one that the
    /// palette format cannot carry. Then nothing has changed.
    pub fn replace_rig(&mut self, id: RigId, rig: Rig) -> Result<(), BuildError> {
        let at = usize::from(id.0);
        let Some((old, topology)) = self.rigs.get(at) else {
            return Err(BuildError::Unknown { what: "rig", index: at });
        };
        let topology = *topology;
        if old.topology() != rig.topology() {
            let what = format!("rig \"{}\" in the place of \"{}\"", rig.name(), old.name());
            return Err(BuildError::OtherTopology { what });
        }
        super::next_id(rig.skins().len().saturating_sub(1), "65 535 skins of one rig")?;
        let skins = rig
            .skins()
            .iter()
            .map(|skin| {
                let packed = PackedSkin::build(&rig, skin, usize::MAX, self.config.format)?;
                Ok(packed.keeping(&rig, usize::MAX, self.config.format, &self.rig_data[at].kept))
            })
            .collect::<Result<Vec<_>, BuildError>>()?;
        let mut missing = 0;
        for (block, lane) in wearers(self.blocks(), id.0) {
            missing = missing.max((usize::from(block.skins[lane]) + 1).saturating_sub(skins.len()));
        }
        if missing > 0 {
            let need = skins.len() + missing;
            return Err(BuildError::Length {
                what: "the list of skins, some of which are worn,",
                have: skins.len(),
                need,
            });
        }
        let (data, joints) = (&self.topologies[usize::from(topology)], &self.rig_data[at].kept);
        let lesser = super::tiers::lesser_skins(&rig, &data.kept, &self.config, joints)?;
        self.check_refit(id.0, &skins)?;
        // Other rigs keep the numbers of their skins.
        let (first_key, keys) = match &self.rig_data[at] {
            old if skins.len() <= old.keys as usize => (old.first_key, old.keys),
            _ => {
                let first = self.topologies[usize::from(topology)].keys;
                self.topologies[usize::from(topology)].keys += skins.len() as u32;
                (first, skins.len() as u32)
            }
        };
        let mut data = super::rig_data(&rig, skins, lesser, first_key);
        data.keys = keys;
        data.bounds.keep_padding(&self.rig_data[at].bounds);
        data.kept = core::mem::take(&mut self.rig_data[at].kept);
        self.rig_data[at] = data;
        let leg = rig.leg();
        self.rigs[at].0 = rig;
        self.renew_wearers(id.0, leg);
        self.refit_slots(id.0)?;
        for cohort in 0..self.cohorts.len() {
            if self.cohorts[cohort].topology == topology {
                self.file_all(cohort, &[]);
            }
        }
        self.reserve_scratch();
        Ok(())
    }

    fn renew_wearers(&mut self, rig: u16, leg: f32) {
        let data = &self.rig_data[usize::from(rig)];
        for block in self.cohorts.iter_mut().flat_map(|cohort| &mut cohort.blocks) {
            for lane in lanes_of(block.live) {
                if block.rigs[lane] != rig {
                    continue;
                }
                block.leg.0[lane] = leg;
                block.fresh |= 1 << lane;
                block.age.0[lane] = 0.0;
                if let Some(rows) = &mut block.mixed {
                    rows.put(lane, data);
                }
            }
        }
    }

    /// Whether there are slots for all characters of a rig with these skins.
    ///
    /// # Errors
    /// If there are not.
    pub(super) fn check_refit(&self, rig: u16, skins: &[PackedSkin]) -> Result<(), BuildError> {
        let mut lengths: Vec<u32> = wearers(self.blocks(), rig)
            .filter_map(|(block, lane)| {
                let lines = self.config.slot_lines(skins.get(usize::from(block.skins[lane]))?);
                block.tokens[lane].as_ref().is_none_or(|token| token.line_count() != lines).then_some(lines)
            })
            .collect();
        if self.slots.fits(&mut lengths) {
            return Ok(());
        }
        Err(BuildError::Full { what: "2^32 lines of output" })
    }

    /// Other slots for all characters of a rig whose skin has another size than their slot. What the last frame wrote of
    /// any of them is of the old skins: nobody may read it by the new ones.
    pub(super) fn refit_slots(&mut self, rig: u16) -> Result<(), BuildError> {
        let Self { cohorts, slots, rig_data, config, .. } = self;
        let data = &rig_data[usize::from(rig)];
        for block in cohorts.iter_mut().flat_map(|cohort| &mut cohort.blocks) {
            for lane in lanes_of(block.live) {
                if block.rigs[lane] != rig {
                    continue;
                }
                block.stale |= 1 << lane;
                block.written &= !(1 << lane);
                block.pairs.put(lane, Pair::NEW);
                if let Some(token) = &block.tokens[lane] {
                    slots.as_mut_lines()[token.first_line() as usize] = Line::ZERO;
                }
                let lines = config.slot_lines(&data.skins[usize::from(block.skins[lane])]);
                if block.tokens[lane].as_ref().is_some_and(|token| token.line_count() == lines) {
                    continue;
                }
                let full = BuildError::Full { what: "2^32 lines of output" };
                let token = slots.allocate(lines).ok_or(full)?;
                if let Some(old) = block.tokens[lane].replace(token) {
                    slots.free(old);
                }
            }
        }
        Ok(())
    }
}

/// All lanes with a rig.
fn wearers<'a>(
    blocks: impl Iterator<Item = &'a Block>,
    rig: u16,
) -> impl Iterator<Item = (&'a Block, usize)> {
    blocks.flat_map(move |block| {
        let lanes = lanes_of(block.live).filter(move |lane| block.rigs[*lane] == rig);
        lanes.map(move |lane| (block, lane))
    })
}

/// Clocks of a lane for a clip that has changed.
fn retime(block: &mut Block, lane: usize, clip: u16, old: &BoundClip, library: &Library) {
    let head = library.head(clip);
    let share = head.duration / old.duration();
    for rows in &mut block.clips {
        if rows.clip[lane] != clip {
            continue;
        }
        let bit = 1u16 << lane;
        rows.know(lane, head);
        rows.lost.0[lane] = 0.0;
        if rows.synced & bit != 0 {
            // The phase stays; where it is in the clip follows from its markers.
            rows.time.0[lane] = head.sync.time(block.phase.0[lane]);
            continue;
        }
        let ping_pong = rows.ping_pong & bit != 0;
        if !ping_pong && (rows.loops & bit != 0) == old.looping() {
            put_bit(&mut rows.loops, lane, head.looping);
        }
        rows.time.0[lane] = scaled(rows.time.0[lane], share, head.duration, ping_pong, rows.loops & bit != 0);
    }
    if block.layered & (1 << lane) != 0
        && let Some(rare) = &mut block.rare[lane]
    {
        for layer in rare.layers.iter_mut().filter(|layer| layer.used && layer.clip == clip) {
            layer.lost = 0.0;
            if !layer.ping_pong && layer.loops == old.looping() {
                layer.loops = head.looping;
            }
            layer.time = scaled(layer.time, share, head.duration, layer.ping_pong, layer.loops);
        }
    }
}

fn scaled(time: f32, share: f32, duration: f32, ping_pong: bool, loops: bool) -> f32 {
    let cycle = if ping_pong { 2.0 * duration } else { duration };
    let time = (time * share).clamp(0.0, cycle);
    if (ping_pong || loops) && time >= cycle { 0.0 } else { time }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{self, BodyPlan, RigKind};
    use crate::crowd::CrowdConfig;

    #[test]
    fn numbers_of_skins_do_not_run_away() {
        let rig = |plan: &BodyPlan| {
            Rig::build(&content::character(RigKind::ALL[0], plan).rig_source()).expect("rig")
        };
        let mut crowd = Crowd::new(CrowdConfig::default());
        let id = crowd.add_rig(rig(&BodyPlan::adult())).expect("added");
        let keys = crowd.topologies[0].keys;
        for plan in [BodyPlan::tall(), BodyPlan::child(), BodyPlan::adult()] {
            crowd.replace_rig(id, rig(&plan)).expect("replaced");
        }
        assert_eq!(crowd.topologies[0].keys, keys);
    }
}
