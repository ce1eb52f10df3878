//! What characters play.

use super::{ClipId, Crowd, Handle, MAX_SPEED, Play};
use crate::crowd::MAX_CLIPS;
use crate::error::BuildError;

impl Crowd {
    pub(super) fn check_plays(&self, topology: u16, clips: &[Play]) -> Result<(), BuildError> {
        if clips.len() > MAX_CLIPS {
            return Err(BuildError::Input {
                what: "the number of clips of a character",
                value: clips.len() as f32,
                right: "at most four can be mixed",
            });
        }
        for play in clips {
            if self.clip(play.clip).is_none() {
                return Err(BuildError::Unknown { what: "clip", index: play.clip.index as usize });
            }
            if play.clip.topology != topology {
                return Err(BuildError::OtherTopology { what: format!("clip {}", play.clip.index) });
            }
            let checks = [
                ("a clip's time", play.time, play.time.abs() < 1e6, "it must be finite"),
                (
                    "a clip's weight",
                    play.weight,
                    (0.0..1e6).contains(&play.weight),
                    "it must be finite and at least 0",
                ),
                ("a clip's speed", play.speed, play.speed.abs() <= MAX_SPEED, "it must be from -16 to 16"),
            ];
            for (what, value, good, right) in checks {
                if !good {
                    return Err(BuildError::Input { what, value, right });
                }
            }
        }
        Ok(())
    }

    /// What a character plays from now on.
    ///
    /// # Errors
    /// If the handle is stale, a clip is unknown or of another topology, a value is not finite, or a speed is beyond
    /// [`MAX_SPEED`].
    pub fn set_clips(&mut self, handle: Handle, clips: &[Play]) -> Result<(), BuildError> {
        let topology = self.place(handle)?.cohort;
        self.check_plays(topology, clips)?;
        let total: f32 = clips.iter().map(|play| play.weight).sum();
        let place = self.place(handle)?;
        let library = &self.topologies[usize::from(topology)].library;
        let block = &mut self.cohorts[usize::from(place.cohort)].1[place.block as usize];
        let lane = usize::from(place.lane);
        for (slot, rows) in block.clips.iter_mut().enumerate() {
            let bit = 1u16 << lane;
            rows.varying &= !bit;
            let play = clips.get(slot).filter(|play| play.weight > 0.0);
            let clip = play.and_then(|play| library.clip(play.clip.index));
            let (Some(play), Some(clip)) = (play, clip) else {
                rows.weight.0[lane] = 0.0;
                rows.speed.0[lane] = 0.0;
                rows.duration.0[lane] = 1.0;
                rows.wrap.0[lane] = 1.0;
                rows.twist.iter_mut().for_each(|row| row.0[lane] = 0.0);
                continue;
            };
            rows.clip[lane] = play.clip.index;
            rows.time.0[lane] = if clip.looping() {
                play.time.rem_euclid(clip.duration())
            } else {
                play.time.clamp(0.0, clip.duration())
            };
            rows.weight.0[lane] = play.weight / total;
            rows.speed.0[lane] = play.speed;
            rows.duration.0[lane] = clip.duration();
            rows.wrap.0[lane] = if clip.looping() { 1.0 } else { 0.0 };
            let twist = clip.root().constant();
            if twist.is_none() {
                rows.varying |= bit;
            }
            let twist = twist.unwrap_or_default();
            for (row, value) in rows.twist.iter_mut().zip([twist.x, twist.z, twist.yaw]) {
                row.0[lane] = value;
            }
        }
        block.count_slots();
        Ok(())
    }

    /// What a character plays, with the times that the clips have come to.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn clips(&self, handle: Handle) -> Result<impl Iterator<Item = Play> + '_, BuildError> {
        let topology = self.place(handle)?.cohort;
        let (block, lane) = self.block(handle)?;
        Ok(block.clips.iter().filter(move |rows| rows.weight.0[lane] > 0.0).map(move |rows| Play {
            clip: ClipId { topology, index: rows.clip[lane] },
            time: rows.time.0[lane],
            weight: rows.weight.0[lane],
            speed: rows.speed.0[lane],
        }))
    }
}
