//! Another origin for the world: large worlds keep single precision by moving it along.

use super::Crowd;
use crate::crowd::block::{Block, lanes_of};
use crate::crowd::output::PoseHeader;
use crate::error::BuildError;

/// Farthest that an origin is moved at once, metres.
const FARTHEST: f64 = 1e9;
/// Farthest from the origin that a root may come to be, metres: a tenth of what snapshots take of other places.
pub(super) const FARTHEST_ROOT: f32 = 1e7;

impl Crowd {
    /// Moves the origin of the world by `offset` metres: what was there is at 0 afterwards. Roots, what they have lost to
    /// rounding, locked feet, heights and the headers of slots go along; palettes, clocks and everything else relative to
    /// a root are untouched, to the bit. Ground and host's own transforms are the host's to move.
    ///
    /// # Errors
    /// If the offset is not finite or beyond 1e9 m, or a root would be 1e7 m or more from the new origin. Then nothing has
    /// changed.
    pub fn rebase(&mut self, offset: [f64; 3]) -> Result<(), BuildError> {
        if let Some(&value) = offset.iter().find(|value| value.is_nan() || value.abs() > FARTHEST) {
            let right = "it must be finite and at most 1e9 m";
            return Err(BuildError::Input { what: "an origin's offset", value: value as f32, right });
        }
        for (k, &value) in offset.iter().enumerate() {
            let far = |sum: f32| (f64::from(sum) - value).abs() >= f64::from(FARTHEST_ROOT);
            let any = |block: &Block| lanes_of(block.live).any(|lane| far(block.position[k].0[lane]));
            if self.blocks().any(any) {
                let right = "roots must stay below 1e7 m";
                return Err(BuildError::Input { what: "an origin's offset", value: value as f32, right });
            }
        }
        let [x, y, z] = offset;
        let Self { cohorts, slots, config, rig_data, .. } = self;
        for block in cohorts.iter_mut().flat_map(|cohort| &mut cohort.blocks) {
            for lane in lanes_of(block.live) {
                for (k, offset) in offset.into_iter().enumerate() {
                    let (sum, lost) = (&mut block.position[k].0[lane], &mut block.position_lost[k].0[lane]);
                    let moved = f64::from(*sum) - f64::from(*lost) - offset;
                    *sum = moved as f32;
                    *lost = (f64::from(*sum) - moved) as f32;
                }
                move_by(&mut block.last_height.0[lane], y);
                for foot in &mut block.feet {
                    move_by(&mut foot.last[0].0[lane], x);
                    move_by(&mut foot.last[1].0[lane], z);
                }
                if let Some(token) = &block.tokens[lane] {
                    let poses = if config.interpolate { 2 } else { 1 };
                    let data = &rig_data[usize::from(block.rigs[lane])];
                    let step = data.skins[usize::from(block.skins[lane])].lines;
                    for pose in 0..poses {
                        let line = &mut slots.as_mut_lines()[(token.first_line() + pose * step) as usize];
                        let mut header = PoseHeader::read(line);
                        header.position.iter_mut().zip(offset).for_each(|(p, offset)| move_by(p, offset));
                        for probe in &mut header.probes {
                            move_by(&mut probe[0], x);
                            move_by(&mut probe[1], z);
                        }
                        *line = bytemuck::cast(header);
                    }
                }
            }
        }
        Ok(())
    }
}

fn move_by(value: &mut f32, offset: f64) {
    *value = (f64::from(*value) - offset) as f32;
}
