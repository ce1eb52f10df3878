//! What a host reads after a frame: slots, dirty ranges, counts.

use super::{ClipId, Crowd, Handle, Occupancy, Place, RigId};
use crate::crowd::block::{Block, MixedRows};
use crate::crowd::corrections::{self, Poses};
use crate::crowd::events::PassedEvent;
use crate::crowd::output::{PackedSkin, PoseHeader};
use crate::crowd::shown::{PosePair, ShownPose, Slot};
use crate::error::BuildError;
use crate::lanes::{BLOCK, Line};
use crate::rig::MAX_FEET;

impl Crowd {
    /// Header and palette of a character's newest pose. The palette is padded to whole lines. Of a character that is posed
    /// less often than every frame this is not yet what is shown: see [`shown_pose`](Self::shown_pose).
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn pose(&self, handle: Handle) -> Result<(PoseHeader, &[u8]), BuildError> {
        let (header, palette) = self.parts(handle)?.0.poses.next.split_at(1);
        Ok((PoseHeader::read(&header[0]), bytemuck::cast_slice(palette)))
    }

    /// What is shown of a character: its newest pose, or, where it is posed less often than every frame and slots hold two
    /// poses ([`CrowdConfig::interpolate`](super::CrowdConfig::interpolate)), what is between that and the one before,
    /// `period - 1` frames late. The root is between theirs with the same factor.
    ///
    /// # Errors
    /// If the handle is stale, or no frame has posed the character yet.
    pub fn shown_pose(&self, handle: Handle) -> Result<ShownPose<'_>, BuildError> {
        let (block, lane) = self.block(handle)?;
        let (slot, factor) = self.parts(handle)?;
        let header = PoseHeader::read(&slot.poses.next[0]);
        let length: f32 = header.rotation.iter().map(|value| value * value).sum();
        if !(0.5..2.0).contains(&length) {
            return Err(BuildError::NoPose { index: handle.index() });
        }
        Ok(ShownPose::new(slot, factor, self.config.format, self.skin_of(block, lane)))
    }

    /// Which two poses a character is shown between, and where.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn pose_pair(&self, handle: Handle) -> Result<PosePair, BuildError> {
        let (block, lane) = self.block(handle)?;
        Ok(self.pair_of(block, lane))
    }

    /// [`pose_pair`](Self::pose_pair) of everybody, by [`Handle::index`]; [`PosePair::NONE`] where nobody lives. What a
    /// renderer uploads with the [dirty ranges](Self::dirty_ranges).
    ///
    /// # Errors
    /// If `out` is shorter than the greatest index of a living character.
    pub fn pose_pairs_into(&self, out: &mut [PosePair]) -> Result<(), BuildError> {
        let last = self.characters.iter().rposition(|entry| !entry.is_free());
        if let Some(need) = last.map(|last| last + 1).filter(|&need| need > out.len()) {
            return Err(BuildError::Length { what: "the list of pose pairs", have: out.len(), need });
        }
        out.fill(PosePair::NONE);
        for block in self.blocks() {
            for lane in (0..BLOCK).filter(|lane| block.live & (1 << lane) != 0) {
                out[block.characters[lane] as usize] = self.pair_of(block, lane);
            }
        }
        Ok(())
    }

    fn pair_of(&self, block: &Block, lane: usize) -> PosePair {
        let Some(token) = &block.tokens[lane] else { return PosePair::NONE };
        let (first, factor) = (token.first_line(), self.factor(block, lane));
        if !self.config.interpolate {
            return PosePair { previous: first, next: first, factor, corrections: u32::MAX };
        }
        let skin = self.skin_of(block, lane);
        let lines = skin.lines;
        let mut halves = [first, first + lines];
        if block.pairs.second & (1 << lane) == 0 {
            halves.reverse();
        }
        let [previous, next] = halves;
        let corrections = if skin.legs.lines() > 0 { first + 2 * lines } else { u32::MAX };
        PosePair { previous: if factor < 1.0 { previous } else { next }, next, factor, corrections }
    }

    /// A character's clips are from now on elsewhere than they were at its last pose.
    pub(super) fn forget_past(&mut self, place: Place) {
        if !self.config.interpolate {
            return;
        }
        let lane = usize::from(place.lane);
        let block = &self.cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let pose = self.skin_of(block, lane).lines;
        if let Some(token) = &block.tokens[lane] {
            let first = (token.first_line() + 2 * pose) as usize;
            let end = (token.first_line() + token.line_count()) as usize;
            corrections::remember(&mut self.slots.as_mut_lines()[first..end], None, f32::NAN);
        }
    }

    fn skin_of(&self, block: &Block, lane: usize) -> &PackedSkin {
        &self.rig_data[usize::from(block.rigs[lane])].skins[usize::from(block.skins[lane])]
    }

    /// Per palette entry of a skin, padding left out: the correction that is added to it between two poses, as
    /// `leg << 16 | index` (leg: 0 or 1, as the moments in the corrections; index: of the matrix there), `u32::MAX` where
    /// there is none.
    ///
    /// # Errors
    /// If rig or skin are unknown.
    pub fn corrected_entries(&self, rig: RigId, skin: usize) -> Result<Vec<u32>, BuildError> {
        let skin = self.skin(rig, skin)?;
        let of = |entry| skin.legs.correction(entry).map_or(u32::MAX, |(leg, at)| (leg << 16 | at) as u32);
        Ok((0..skin.count).map(of).collect())
    }

    fn factor(&self, block: &Block, lane: usize) -> f32 {
        if self.config.interpolate { block.pairs.factor(lane) } else { 1.0 }
    }

    /// A character's slot, and the share of its newest pose.
    pub(super) fn parts(&self, handle: Handle) -> Result<(Slot<'_>, f32), BuildError> {
        let (block, lane) = self.block(handle)?;
        let stale = BuildError::Unknown { what: "slot", index: handle.index() };
        let lines = self.slots.slot(block.tokens[lane].as_ref().ok_or(stale)?);
        if !self.config.interpolate {
            return Ok((Slot { poses: Poses { previous: lines, next: lines }, corrections: &[] }, 1.0));
        }
        let pose = self.skin_of(block, lane).lines as usize;
        let (poses, corrections) = lines.split_at((2 * pose).min(lines.len()));
        let (first, second) = poses.split_at(poses.len() / 2);
        let newest_second = block.pairs.second & (1 << lane) != 0;
        let (previous, next) = if newest_second { (first, second) } else { (second, first) };
        Ok((Slot { poses: Poses { previous, next }, corrections }, block.pairs.factor(lane)))
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
                    let (first, lines, bit) = (token.first_line(), token.line_count(), 1u16 << lane);
                    if !self.config.interpolate || block.pairs.both & bit != 0 {
                        ranges.push(first..first + lines);
                        continue;
                    }
                    let pose = self.skin_of(block, lane).lines;
                    let corrections = first + 2 * pose..first + lines;
                    if block.pairs.remembering() & bit != 0 && !corrections.is_empty() {
                        let moments = &self.output()[corrections.start as usize].0[..MAX_FEET];
                        let any = moments.iter().any(|&moment| moment > 0.0);
                        let end = if any { corrections.end } else { corrections.start + 1 };
                        ranges.push(corrections.start..end);
                    }
                    let second = if block.pairs.second & bit != 0 { pose } else { 0 };
                    ranges.push(first + second..first + second + pose);
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

    /// Seconds that all frames have taken together.
    #[must_use]
    pub fn clock(&self) -> f64 {
        self.time
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
            .filter(|(_, entry)| !entry.is_free())
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
