//! A whole crowd as bytes, to go on from later: what persists, never what follows from rigs and clips.
//!
//! ```text
//! head      "THRNGSNP"  version 4  layout 4  content 8  length 8  hash 8      little-endian
//! body      clock, characters, free lists, cohorts -> blocks -> lanes -> rare state, lists of blocks with room, output,
//!           maps of streams by content, who follows which
//! ```
//!
//! `content` is a hash of the rigs and clips of the crowd and its palette format: handles of clips and rigs are indices,
//! so they must be the same ones in the same order. `layout` changes with the values that a lane carries.

mod content;
mod lane;
mod streams;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use super::{Crowd, Location, Place};
use crate::crowd::block::{Block, CLIP_BITS, CLIP_ROWS, FLAGS, Lane, MAX_CLIPS, ROWS, lanes_of};
use crate::crowd::frame::Cohort;
use crate::crowd::rare::MAX_LAYERS;
use crate::crowd::streams::FollowerState;
use crate::crowd::tier::TIERS;
use crate::lanes::{Line, SlotBuffer, prefer_large_pages};
use crate::retarget::LiveMap;
use words::{Hash, Reader, Writer};

const MAGIC: &[u8; 8] = b"THRNGSNP";
/// Of this layout of the bytes.
pub const SNAPSHOT_VERSION: u32 = 4;
const HEAD: usize = 40;
/// More frames than any crowd has had: turns are counted on from them.
const MOST_FRAMES: u64 = 1 << 62;
/// Bytes of a block of nobody, its mask left out.
const NOBODY: usize = 254;
/// Values of what a lane is shown between.
const PAIR: usize = 9;
/// Values of a lane and of rare state: a crowd of another build may carry others.
const LAYOUT: u32 = {
    let counts = [ROWS, CLIP_ROWS, CLIP_BITS, MAX_CLIPS, MAX_LAYERS, FLAGS, PAIR];
    let (mut sum, mut at) = (0u32, 0);
    while at < counts.len() {
        sum = sum.wrapping_mul(31).wrapping_add(counts[at] as u32);
        at += 1;
    }
    sum
};

/// Why a snapshot cannot be restored. The crowd is as it was.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It does not begin like one.
    #[error("this is no snapshot of a crowd")]
    Magic,
    /// Written by another version.
    #[error("the snapshot is of version {have}, layout {layout}; this build reads version {need}")]
    Version {
        /// Of the snapshot.
        have: u32,
        /// Of its lanes.
        layout: u32,
        /// What can be read.
        need: u32,
    },
    /// The crowd has other rigs, clips or another palette format than the one that was snapshot, or in another order.
    #[error(
        "the snapshot is of a crowd with other rigs, clips or palette format (content {have:016x}, here {need:016x})"
    )]
    Content {
        /// Hash of what the snapshot was made with.
        have: u64,
        /// Hash of what is here.
        need: u64,
    },
    /// Somebody follows a stream by a map that is not here.
    #[error(
        "a character of the snapshot follows a stream by a map that was not handed over (content {have:016x})"
    )]
    Map {
        /// Hash of the map: [`LiveMap::content`](crate::retarget::LiveMap::content).
        have: u64,
    },
    /// Bytes are missing.
    #[error("the snapshot ends early, at byte {at}")]
    Truncated {
        /// Byte.
        at: usize,
    },
    /// Bytes have changed: the hash does not fit.
    #[error("the snapshot is damaged: its hash is {have:016x}, not {need:016x}")]
    Hash {
        /// Hash of the bytes.
        have: u64,
        /// Hash that they should have.
        need: u64,
    },
    /// A value that no crowd can have.
    #[error("the snapshot is damaged at byte {at}: {what}")]
    Damaged {
        /// What is wrong there.
        what: &'static str,
        /// Byte.
        at: usize,
    },
}

/// Everything that a snapshot replaces, put together aside, so that an error changes nothing.
struct Restored {
    time: f64,
    frames: u64,
    periods: [u16; TIERS],
    written: bool,
    live: usize,
    characters: Vec<Location>,
    free: Vec<u32>,
    /// Blocks of each cohort and the blocks with room, in the order in which they are filed.
    cohorts: Vec<(Vec<Block>, Vec<u32>)>,
    slots: SlotBuffer,
    followers: Vec<FollowerState>,
}

impl Crowd {
    /// The whole crowd as bytes; see [`snapshot_into`](Self::snapshot_into).
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.snapshot_into(&mut bytes);
        bytes
    }

    /// The whole crowd as bytes, into a list that the host keeps: characters with handles, clocks, roots, feet, fades
    /// and transitions, slots and what is in them, free lists, blocks, who follows which stream. Not: rigs, clips and
    /// maps of streams (their hashes are), settings, events of the last frame, what was reserved, and what is over: equal
    /// crowds give equal bytes, whatever they have been through. Restored on the same instruction set, or on any in strict mode,
    /// every later frame has the same bits as without.
    pub fn snapshot_into(&self, bytes: &mut Vec<u8>) {
        bytes.clear();
        bytes.resize(HEAD, 0);
        self.write_body(&mut Writer(bytes));
        let body = &bytes[HEAD..];
        let mut hash = Hash::new();
        hash.bytes(body);
        let length = body.len() as u64;
        let mut head = Vec::with_capacity(HEAD);
        head.extend(MAGIC);
        let mut writer = Writer(&mut head);
        writer.u32(SNAPSHOT_VERSION);
        writer.u32(LAYOUT);
        writer.u64(self.content());
        writer.u64(length);
        writer.u64(hash.finish());
        bytes[..HEAD].copy_from_slice(&head);
    }

    fn write_body(&self, out: &mut Writer<'_>) {
        out.u64(self.time.to_bits());
        out.u64(self.frames);
        self.tiers.iter().for_each(|tier| out.u16(tier.period.into()));
        out.u16(self.written.into());
        out.count(self.characters.len());
        self.characters.iter().for_each(|entry| out.u32(entry.generation));
        out.count(self.free.len());
        self.free.iter().for_each(|&index| out.u32(index));
        out.count(self.cohorts.len());
        for cohort in &self.cohorts {
            let joints = self.topologies[usize::from(cohort.topology)].topology.len();
            out.count(cohort.blocks.len());
            for block in &cohort.blocks {
                out.u16(block.live);
                if block.live == 0 {
                    // So that a few bytes never stand for a whole block.
                    out.0.extend([0; NOBODY]);
                    continue;
                }
                out.u16(block.written);
                for lane in lanes_of(block.live) {
                    lane::write(out, (block, lane), joints, self.config.interpolate);
                }
            }
            let filed = cohort.open.filed();
            out.count(filed.len());
            filed.iter().for_each(|&block| out.u32(block));
        }
        // Empty ones are room only; in order, so that equal crowds give equal bytes.
        let mut free: Vec<_> =
            self.slots.free_ranges().iter().filter(|(_, firsts)| !firsts.is_empty()).collect();
        free.sort_by_key(|(length, _)| *length);
        out.count(free.len());
        for (length, firsts) in free {
            out.u32(*length);
            out.count(firsts.len());
            firsts.iter().for_each(|&first| out.u32(first));
        }
        out.count(self.slots.as_lines().len());
        for line in self.slots.as_lines() {
            out.f32s(&line.0);
        }
        streams::write(out, &self.streams);
    }

    /// Puts a snapshot in the place of all characters. The crowd must have the rigs and clips that it was made with, in
    /// the same order, and the same palette format; handles of then are valid again, others are not. Maps of streams are
    /// found by content among those that this crowd's characters follow; see
    /// [`restore_with_maps`](Self::restore_with_maps) for others. What was reserved stays so. Takes at most 16 bytes of memory per byte of the snapshot (blocks of one character each), about 2 usually, and
    /// 192 bytes a joint for each block of several rigs or skins.
    ///
    /// # Errors
    /// If it is none, is damaged, or was made with another content. Then the crowd is as it was.
    pub fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        self.restore_with_maps(snapshot, &[])
    }

    /// [`restore`](Self::restore) with maps for those who follow streams, in any order: by content, so others that were
    /// built from the same skeletons do.
    ///
    /// # Errors
    /// As [`restore`](Self::restore).
    pub fn restore_with_maps(&mut self, snapshot: &[u8], maps: &[Arc<LiveMap>]) -> Result<(), SnapshotError> {
        let mut reader = Reader::new(snapshot);
        if snapshot.get(..MAGIC.len()) != Some(MAGIC) {
            return Err(SnapshotError::Magic);
        }
        reader.take(MAGIC.len())?;
        let (have, layout) = (reader.u32()?, reader.u32()?);
        if (have, layout) != (SNAPSHOT_VERSION, LAYOUT) {
            return Err(SnapshotError::Version { have, layout, need: SNAPSHOT_VERSION });
        }
        let (have, need) = (reader.u64()?, self.content());
        let (length, need_hash) = (reader.u64()?, reader.u64()?);
        if have != need {
            return Err(SnapshotError::Content { have, need });
        }
        if length > reader.left() as u64 {
            return Err(SnapshotError::Truncated { at: snapshot.len() });
        }
        if length < reader.left() as u64 {
            return Err(SnapshotError::Damaged { what: "bytes past its end", at: HEAD + length as usize });
        }
        let mut hash = Hash::new();
        hash.bytes(&snapshot[HEAD..]);
        if hash.finish() != need_hash {
            return Err(SnapshotError::Hash { have: hash.finish(), need: need_hash });
        }
        let restored = self.read_body(&mut reader, maps)?;
        self.install(restored);
        Ok(())
    }

    fn read_body(&self, reader: &mut Reader<'_>, maps: &[Arc<LiveMap>]) -> Result<Restored, SnapshotError> {
        let time = f64::from_bits(reader.u64()?);
        if !(0.0..1e12).contains(&time) {
            return Err(reader.damaged("the crowd's clock"));
        }
        let frames = reader.u64()?;
        if frames > MOST_FRAMES {
            return Err(reader.damaged("the number of frames"));
        }
        let mut periods = [0; TIERS];
        for period in &mut periods {
            *period = reader.u16()?;
            if ![1, 2, 4, 8].contains(period) {
                return Err(reader.damaged("a tier's period"));
            }
        }
        let [written] = reader.bits()?;
        let count = reader.count(4)?;
        let mut characters = Vec::with_capacity(count.max(self.characters.capacity()));
        for _ in 0..count {
            characters.push(Location::free(reader.u32()?));
        }
        let free_count = reader.count(4)?;
        let mut free = Vec::with_capacity(free_count.max(self.free.capacity()));
        for _ in 0..free_count {
            free.push(reader.u32()?);
        }
        if reader.count(1)? != self.cohorts.len() {
            return Err(reader.damaged("the number of topologies and tiers"));
        }
        let mut cohorts = Vec::with_capacity(self.cohorts.len());
        let (mut slots, mut live) = (Vec::new(), 0);
        for (at, cohort) in self.cohorts.iter().enumerate() {
            cohorts.push(self.read_cohort(reader, at, cohort, &mut characters, &mut slots)?);
        }
        for entry in &characters {
            live += usize::from(!entry.is_free());
        }
        let mut seen = vec![false; count];
        for &index in &free {
            let unused = characters.get(index as usize).is_some_and(Location::is_free);
            if !unused || core::mem::replace(&mut seen[index as usize], true) {
                return Err(reader.damaged("the list of free characters"));
            }
        }
        if live + free.len() != count {
            return Err(reader.damaged("characters that are neither here nor free"));
        }
        let mut free_ranges = Vec::new();
        for _ in 0..reader.count(8)? {
            let length = reader.u32()?;
            let count = reader.count(4)?;
            let mut firsts = Vec::with_capacity(count);
            for _ in 0..count {
                firsts.push(reader.u32()?);
            }
            free_ranges.push((length, firsts));
        }
        let count = reader.count(size_of::<Line>())?;
        let mut lines = Vec::with_capacity(count);
        prefer_large_pages(&mut lines);
        for _ in 0..count {
            let mut line = Line::ZERO;
            // Not values: palettes of 16-bit integers are anything as floats.
            for (value, bytes) in line.0.iter_mut().zip(reader.take(size_of::<Line>())?.as_chunks::<4>().0) {
                *value = f32::from_bits(u32::from_le_bytes(*bytes));
            }
            lines.push(line);
        }
        let followers = streams::read(reader, self, maps, &characters, &cohorts)?;
        if reader.left() != 0 {
            return Err(reader.damaged("bytes past its end"));
        }
        let ranges: Vec<(u32, u32)> = slots.iter().map(|&(_, range)| range).collect();
        let Some((buffer, tokens)) = SlotBuffer::with_slots(lines, &ranges, free_ranges) else {
            return Err(reader.damaged("slots that overlap or lie past the end"));
        };
        for ((place, _), token) in slots.into_iter().zip(tokens) {
            let Place { cohort, block, lane } = place;
            let (blocks, _) = &mut cohorts[usize::from(cohort)];
            blocks[block as usize].tokens[usize::from(lane)] = Some(token);
        }
        Ok(Restored {
            time,
            frames,
            periods,
            written,
            live,
            characters,
            free,
            cohorts,
            slots: buffer,
            followers,
        })
    }

    fn read_cohort(
        &self,
        reader: &mut Reader<'_>,
        at: usize,
        cohort: &Cohort,
        characters: &mut [Location],
        slots: &mut Vec<(Place, (u32, u32))>,
    ) -> Result<(Vec<Block>, Vec<u32>), SnapshotError> {
        let count = reader.count(NOBODY / 2)?;
        let mut blocks = Vec::with_capacity(count.max(cohort.blocks.capacity()));
        for block in 0..count {
            let live = reader.u16()?;
            let mut read = Block::default();
            if live == 0 {
                if reader.take(NOBODY)?.iter().any(|&byte| byte != 0) {
                    return Err(reader.damaged("a block of nobody"));
                }
                blocks.push(read);
                continue;
            }
            let written = reader.u16()?;
            for lane in lanes_of(live) {
                let (state, range) = lane::read(reader, self, cohort.topology)?;
                let Some(entry) = characters.get_mut(state.character as usize) else {
                    return Err(reader.damaged("a character that there is not"));
                };
                let place = Place { cohort: at as u16, lane: lane as u8, block: block as u32 };
                if !entry.is_free() {
                    return Err(reader.damaged("a character that is twice"));
                }
                entry.put(place);
                slots.push((place, range));
                read.put(lane, state);
                lane::check(reader, self, &read, lane, cohort.topology)?;
                lane::know(self, &mut read, lane, cohort.topology);
            }
            (read.live, read.written) = (live, written & live);
            blocks.push(read);
        }
        let count = reader.count(4)?;
        let mut filed = Vec::with_capacity(count);
        for _ in 0..count {
            let block = reader.u32()?;
            if block as usize >= blocks.len() {
                return Err(reader.damaged("a block that there is not"));
            }
            filed.push(block);
        }
        Ok((blocks, filed))
    }

    fn install(&mut self, restored: Restored) {
        let Restored {
            time,
            frames,
            periods,
            written,
            live,
            characters,
            free,
            cohorts,
            mut slots,
            followers,
        } = restored;
        let had = self.rare_count();
        for at in 0..self.cohorts.len() {
            for block in core::mem::take(&mut self.cohorts[at].blocks) {
                let data = &mut self.topologies[usize::from(self.cohorts[at].topology)];
                data.spare_rows.extend(block.mixed);
                block.rare.into_iter().flatten().for_each(|rare| self.pool.give(rare));
            }
        }
        (self.time, self.frames, self.written, self.live) = (time, frames, written, live);
        self.tiers.iter_mut().zip(periods).for_each(|(tier, period)| tier.period = period as u8);
        slots.reserve_like(&self.slots);
        (self.characters, self.free, self.slots) = (characters, free, slots);
        self.streams.put_states(&followers);
        self.reserve_streams();
        self.refused.clear();
        self.events.passed.clear();
        self.events.lost = 0;
        for (at, (blocks, filed)) in cohorts.into_iter().enumerate() {
            self.cohorts[at].blocks = blocks;
            self.file_all(at, &filed);
        }
        self.keep_rare(had);
    }
}

/// A lane as it is read, with its slot.
type ReadLane = (Lane, (u32, u32));
