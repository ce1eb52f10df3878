//! What a host reads after a frame: slots, dirty ranges, counts.

use super::{ClipId, Crowd, Handle, Occupancy, RigId};
use crate::crowd::block::{Block, MixedRows};
use crate::crowd::events::PassedEvent;
use crate::crowd::output::PoseHeader;
use crate::error::BuildError;
use crate::lanes::{BLOCK, Line};

impl Crowd {
    /// Header and palette of a character, as the last frame wrote them. The palette is padded to whole lines.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn pose(&self, handle: Handle) -> Result<(PoseHeader, &[u8]), BuildError> {
        let lines = self.slot(handle)?;
        let (header, palette) = lines.split_at(1);
        Ok((PoseHeader::read(&header[0]), bytemuck::cast_slice(palette)))
    }

    fn slot(&self, handle: Handle) -> Result<&[Line], BuildError> {
        let (block, lane) = self.block(handle)?;
        let stale = BuildError::Unknown { what: "slot", index: handle.index() };
        Ok(self.slots.slot(block.tokens[lane].as_ref().ok_or(stale)?))
    }

    /// All output, to be uploaded as it is.
    #[must_use]
    pub fn output(&self) -> &[Line] {
        self.slots.as_lines()
    }

    /// All output, for whoever clears or measures it; the next frame writes it again.
    pub fn output_mut(&mut self) -> &mut [Line] {
        self.slots.as_mut_lines()
    }

    /// First line of a character's slot in [`output`](Self::output); never changes while it lives.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn slot_line(&self, handle: Handle) -> Result<u32, BuildError> {
        let (block, lane) = self.block(handle)?;
        let stale = BuildError::Unknown { what: "slot", index: handle.index() };
        Ok(block.tokens[lane].as_ref().ok_or(stale)?.first_line())
    }

    /// Line ranges of [`output`](Self::output) that the last frame wrote, sorted and merged, into a list that
    /// the host keeps. None before the first frame and after one that ended before
    /// [`Stage::Palette`](crate::crowd::Stage::Palette). Slots of characters that had no turn, were not seen, or came
    /// after the frame are not among them.
    pub fn dirty_ranges(&self, ranges: &mut Vec<core::ops::Range<u32>>) {
        ranges.clear();
        if !self.written {
            return;
        }
        for block in self.blocks() {
            for (lane, token) in block.tokens.iter().enumerate() {
                if let Some(token) = token.as_ref().filter(|_| block.written & (1 << lane) != 0) {
                    ranges.push(token.first_line()..token.first_line() + token.line_count());
                }
            }
        }
        ranges.sort_unstable_by_key(|range| range.start);
        let mut kept = 0;
        for at in 0..ranges.len() {
            let range = ranges[at].clone();
            if kept > 0 && ranges[kept - 1].end == range.start {
                ranges[kept - 1].end = range.end;
            } else {
                ranges[kept] = range;
                kept += 1;
            }
        }
        ranges.truncate(kept);
    }

    /// Metres that 1 stands for in the translations of [`PaletteFormat::Snorm16`](crate::crowd::PaletteFormat::Snorm16).
    ///
    /// # Errors
    /// If rig or skin are unknown.
    pub fn palette_range(&self, rig: RigId, skin: usize) -> Result<f32, BuildError> {
        Ok(self.skin(rig, skin)?.range)
    }

    /// What the last frame has passed of the clips' events: each once, character by character, in the order of time.
    /// Two clips of one character that share a phase both tell theirs: go by [`PassedEvent::weight`].
    pub fn events(&self) -> impl ExactSizeIterator<Item = PassedEvent> + '_ {
        self.events.passed.iter().map(|event| PassedEvent {
            character: Handle { index: event.character, generation: event.generation },
            clip: ClipId { topology: event.topology, index: event.clip.into() },
            event: event.event,
            weight: event.weight,
            ago: event.ago,
        })
    }

    /// Events of the last frame for which there was no room: see [`CrowdConfig::event_capacity`](super::CrowdConfig).
    #[must_use]
    pub fn events_lost(&self) -> usize {
        self.events.lost
    }

    /// Live characters.
    #[must_use]
    pub fn len(&self) -> usize {
        self.live
    }

    /// True if nobody lives.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Live handles, in index order.
    pub fn handles(&self) -> impl Iterator<Item = Handle> + '_ {
        self.characters
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.place.is_some())
            .map(|(index, entry)| Handle { index: index as u32, generation: entry.generation })
    }

    /// How full and how even the blocks are.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        let blocks = self.cohorts.iter().flat_map(|cohort| &cohort.blocks).filter(|block| block.live != 0);
        let (mut count, mut uniform) = (0, 0);
        for block in blocks {
            count += 1;
            uniform += usize::from(block.uniform());
        }
        Occupancy {
            characters: self.live,
            blocks: count,
            occupancy: self.live as f32 / (BLOCK * count.max(1)) as f32,
            uniform_block_percent: 100.0 * uniform as f32 / count.max(1) as f32,
        }
    }

    /// Persistent bytes per character, output slots left out.
    #[must_use]
    pub fn state_bytes_per_character(&self) -> f32 {
        let bytes: usize = self
            .cohorts
            .iter()
            .flat_map(|cohort| &cohort.blocks)
            .map(|block| {
                let mixed = block
                    .mixed
                    .as_ref()
                    .map_or(0, |rows| size_of::<MixedRows>() + size_of_val(rows.offsets.as_slice()));
                size_of::<Block>() + mixed
            })
            .sum::<usize>()
            + size_of_val(self.characters.as_slice());
        bytes as f32 / self.live.max(1) as f32
    }

    /// Distinct bound clips and the bytes of their rows.
    #[must_use]
    pub fn library(&self) -> (usize, usize) {
        self.topologies.iter().fold((0, 0), |(clips, bytes), data| {
            (clips + data.library.clips().len(), bytes + data.library.bytes())
        })
    }
}
