//! Blocks: the state of 16 characters, side by side.
//!
//! ```text
//! playback   4 clips x (id, time and its rounding, weight, speed, wrap), phase    82 B a character
//! root       position and rotation with their rounding, displacement             68
//! feet       2 x (lock offset 2, last ball 2, locked), pelvis, last height,
//!            seconds since the last pose                                         52
//! proportion leg length                                                           4
//! output     slot token 16, character 4, rig and skin 4, pair of poses 6          30
//! rare       layers, transition, cross-fade: a pointer, mostly none               8
//! masks      a bit of each                                                        1
//! ```
//!
//! Constants of clips are not kept here: they are read from the clip's head every frame, so that a clip can be
//! exchanged while it plays.

pub(crate) use super::lane::{DEAD, Lane, LaneClip, flag, flags};
pub(crate) use super::lanes_of::lanes_of;
use super::library::ClipHead;
use super::pair::{Pair, Pairs};
use super::rare::Rare;
use crate::lanes::{BLOCK, Row, SlotToken};
use crate::rig::MAX_FEET;

/// Clips that one character can mix.
pub const MAX_CLIPS: usize = 4;

/// Rows of a block that hold one value per character, playback apart.
pub(crate) const ROWS: usize = 23 + 5 * MAX_FEET;

/// Masks that a lane takes along.
pub(crate) const FLAGS: usize = 7;

/// Values of one clip slot that are rows.
pub(crate) const CLIP_ROWS: usize = 4;
/// And those that are a bit per lane.
pub(crate) const CLIP_BITS: usize = 7;

/// Everything of one clip slot, 16 characters wide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClipRows {
    /// Index among the topology's clips.
    pub clip: [u16; BLOCK],
    /// Seconds into the clip; for those that go to and fro, on to twice the duration.
    pub time: Row,
    /// What `time` has lost to rounding so far (Kahan's sum), so that clocks agree however time is cut into frames.
    pub lost: Row,
    /// Sum over the slots is 1; 0 where the slot is empty.
    pub weight: Row,
    /// Clip seconds per second.
    pub speed: Row,
    /// Bit per lane: runs on from its end to its start.
    pub loops: u16,
    /// Bit per lane: turns round at its ends.
    pub ping_pong: u16,
    /// Bit per lane: follows the phase that the lane's synced clips share.
    pub synced: u16,
    /// Bit per lane: the slot moves the lane, or fades in and is about to.
    pub playing: u16,
    /// What the clip asks for ([`ClipHead`](super::library::ClipHead)): its twist is looked up, its markers are not even,
    /// it has events.
    pub varying: u16,
    pub warped: u16,
    pub eventful: u16,
}

impl ClipRows {
    const EMPTY: Self = Self {
        clip: [0; BLOCK],
        time: Row::ZERO,
        lost: Row::ZERO,
        weight: Row::ZERO,
        speed: Row::ZERO,
        loops: 0,
        ping_pong: 0,
        synced: 0,
        playing: 0,
        varying: 0,
        warped: 0,
        eventful: 0,
    };

    fn rows(&mut self) -> [&mut Row; CLIP_ROWS] {
        [&mut self.time, &mut self.lost, &mut self.weight, &mut self.speed]
    }

    fn bits(&mut self) -> [&mut u16; CLIP_BITS] {
        [
            &mut self.loops,
            &mut self.ping_pong,
            &mut self.synced,
            &mut self.playing,
            &mut self.varying,
            &mut self.warped,
            &mut self.eventful,
        ]
    }

    /// The same, of one lane.
    fn bits_of(&self, lane: usize) -> [bool; CLIP_BITS] {
        let Self { loops, ping_pong, synced, playing, varying, warped, eventful, .. } = *self;
        [loops, ping_pong, synced, playing, varying, warped, eventful].map(|bits| bits & (1 << lane) != 0)
    }

    /// Takes over what the clip of a lane asks for: to be called whenever clip or `playing` change.
    pub fn know(&mut self, lane: usize, head: &ClipHead) {
        let plays = self.playing & (1 << lane) != 0;
        put_bit(&mut self.varying, lane, plays && head.varying);
        put_bit(&mut self.warped, lane, plays && head.warped);
        put_bit(&mut self.eventful, lane, plays && head.eventful);
    }

    /// Nothing plays in this slot of a lane; the clip's number stays, so that it can be looked up.
    pub fn clear(&mut self, lane: usize) {
        self.weight.0[lane] = 0.0;
        self.speed.0[lane] = 0.0;
        self.lost.0[lane] = 0.0;
        self.bits().into_iter().for_each(|bits| put_bit(bits, lane, false));
    }
}

/// What persists about one foot of 16 characters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FootRows {
    /// World x and z that the foot is held away from its animated place, metres.
    pub offset: [Row; 2],
    /// World x and z of the animated ball in the last frame.
    pub last: [Row; 2],
    /// 1 while the ball is locked.
    pub locked: Row,
}

/// Offsets of a block whose lanes are of different rigs.
#[derive(Clone, Debug, Default)]
pub(crate) struct MixedRows {
    pub offsets: Vec<[Row; 3]>,
    /// Heel and ball of each leg.
    pub soles: [[[Row; 3]; 2]; MAX_FEET],
}

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Block {
    pub live: u16,
    /// Clip slots in use by any lane.
    pub clip_slots: u8,
    /// Lanes with a cross-fade, a transition, a layer: something to be done in [`Rare`].
    pub fading: u16,
    pub transitions: u16,
    pub layered: u16,
    /// Lanes whose transition has come to its end: its memory can be taken back.
    pub settled: u16,
    /// Lanes whose pose is overdue: they have none yet, or missed a turn because nobody saw them.
    pub stale: u16,
    /// Lanes whose feet have nothing to smooth from: before their first frame, after a teleport or another rig, where a pose was
    /// long missed, in tiers without feet.
    pub fresh: u16,
    /// Lanes that a frame has shown: a transition has something to begin from.
    pub shown: u16,
    /// Lanes that the last frame wrote.
    pub written: u16,
    /// What lanes are shown between, where slots hold two poses.
    pub pairs: Pairs,
    pub characters: [u32; BLOCK],
    pub rigs: [u16; BLOCK],
    pub skins: [u16; BLOCK],
    pub tokens: [Option<SlotToken>; BLOCK],
    pub rare: [Option<Box<Rare>>; BLOCK],
    pub clips: [ClipRows; MAX_CLIPS],
    /// Share of the cycle, 0 to 1, that the synced clips of a lane are at, and what it has lost to rounding.
    pub phase: Row,
    pub phase_lost: Row,
    pub position: [Row; 3],
    pub rotation: [Row; 4],
    /// What position and rotation have lost to rounding.
    pub position_lost: [Row; 3],
    pub rotation_lost: [Row; 4],
    /// x and z (metres, root axes) and yaw of the last frame's root motion.
    pub displacement: [Row; 3],
    pub leg: Row,
    /// Metres that the pelvis is moved along up, smoothed.
    pub pelvis: Row,
    /// World height of the root in the last frame.
    pub last_height: Row,
    /// Seconds since the last pose.
    pub age: Row,
    pub feet: [FootRows; MAX_FEET],
    /// Where lanes are of different rigs.
    pub mixed: Option<Box<MixedRows>>,
}

impl Default for Block {
    fn default() -> Self {
        Self {
            live: 0,
            clip_slots: 0,
            fading: 0,
            transitions: 0,
            layered: 0,
            settled: 0,
            stale: 0,
            fresh: u16::MAX,
            shown: 0,
            written: 0,
            pairs: Pairs::default(),
            characters: [u32::MAX; BLOCK],
            rigs: [0; BLOCK],
            skins: [0; BLOCK],
            tokens: Default::default(),
            rare: Default::default(),
            clips: [ClipRows::EMPTY; MAX_CLIPS],
            phase: Row::ZERO,
            phase_lost: Row::ZERO,
            position: [Row::ZERO; 3],
            rotation: [Row::ZERO, Row::ZERO, Row::ZERO, Row::ONE],
            position_lost: [Row::ZERO; 3],
            rotation_lost: [Row::ZERO; 4],
            displacement: [Row::ZERO; 3],
            leg: Row::ONE,
            pelvis: Row::ZERO,
            last_height: Row::ZERO,
            age: Row::ZERO,
            feet: [FootRows::default(); MAX_FEET],
            mixed: None,
        }
    }
}

/// Sets or clears the bit of a lane.
pub(crate) fn put_bit(mask: &mut u16, lane: usize, set: bool) {
    *mask = *mask & !(1 << lane) | u16::from(set) << lane;
}

/// All rows of a block in the order in which lanes carry their values, borrowed as asked for.
macro_rules! rows_of {
    ($block:expr $(, $mutable:tt)?) => {{
        let block = $block;
        let [f0, f1] = &$($mutable)? block.feet;
        let [px, py, pz] = &$($mutable)? block.position;
        let [rx, ry, rz, rw] = &$($mutable)? block.rotation;
        let [lx, ly, lz] = &$($mutable)? block.position_lost;
        let [ix, iy, iz, iw] = &$($mutable)? block.rotation_lost;
        let [dx, dz, dyaw] = &$($mutable)? block.displacement;
        let ([ax, az], [bx, bz]) = (&$($mutable)? f0.offset, &$($mutable)? f0.last);
        let ([cx, cz], [ex, ez]) = (&$($mutable)? f1.offset, &$($mutable)? f1.last);
        let (leg, pelvis) = (&$($mutable)? block.leg, &$($mutable)? block.pelvis);
        let height = &$($mutable)? block.last_height;
        let (age, phase) = (&$($mutable)? block.age, &$($mutable)? block.phase);
        let phase_lost = &$($mutable)? block.phase_lost;
        let (locked0, locked1) = (&$($mutable)? f0.locked, &$($mutable)? f1.locked);
        [
            px, py, pz, rx, ry, rz, rw, dx, dz, dyaw, leg, pelvis, height, age, phase, phase_lost, lx, ly, lz,
            ix, iy, iz, iw, ax, az, bx, bz, locked0, cx, cz, ex, ez, locked1,
        ]
    }};
}

impl Block {
    pub fn free_lane(&self) -> Option<usize> {
        (0..BLOCK).find(|lane| self.live & (1 << lane) == 0)
    }

    /// Rig and skin that all live lanes share.
    pub fn shared_key(&self) -> Option<(u16, u16)> {
        let mut live = lanes_of(self.live);
        let first = live.next()?;
        let key = (self.rigs[first], self.skins[first]);
        live.all(|lane| (self.rigs[lane], self.skins[lane]) == key).then_some(key)
    }

    /// True if all live lanes are of one rig.
    pub fn uniform(&self) -> bool {
        let mut live = lanes_of(self.live);
        let Some(first) = live.next() else { return true };
        live.all(|lane| self.rigs[lane] == self.rigs[first])
    }

    pub fn any_rig(&self) -> u16 {
        self.rigs[lanes_of(self.live).next().unwrap_or(BLOCK - 1)]
    }

    fn rows(&mut self) -> [&mut Row; ROWS] {
        rows_of!(self, mut)
    }

    /// Places of some are in [`flag`].
    fn flags(&mut self) -> [&mut u16; FLAGS] {
        [
            &mut self.stale,
            &mut self.fading,
            &mut self.transitions,
            &mut self.layered,
            &mut self.settled,
            &mut self.fresh,
            &mut self.shown,
        ]
    }

    /// The same, of one lane.
    fn flags_of(&self, lane: usize) -> [bool; FLAGS] {
        let Self { stale, fading, transitions, layered, settled, fresh, shown, .. } = *self;
        [stale, fading, transitions, layered, settled, fresh, shown].map(|mask| mask & (1 << lane) != 0)
    }

    /// A copy of a lane, without what only one can own: slot and rare state.
    pub fn peek(&self, lane: usize) -> Lane {
        let mut clips = LaneClip::EMPTY;
        for (out, rows) in clips.iter_mut().zip(&self.clips) {
            out.clip = rows.clip[lane];
            out.values = [&rows.time, &rows.lost, &rows.weight, &rows.speed].map(|row| row.0[lane]);
            out.bits = rows.bits_of(lane);
        }
        Lane {
            character: self.characters[lane],
            rig: self.rigs[lane],
            skin: self.skins[lane],
            token: None,
            rare: None,
            flags: self.flags_of(lane),
            written: false,
            pair: self.pairs.get(lane),
            clips,
            rows: rows_of!(self).map(|row| row.0[lane]),
        }
    }

    /// Takes a lane out; the lane is dead afterwards and holds harmless values.
    pub fn take(&mut self, lane: usize) -> Lane {
        let mut taken = self.peek(lane);
        taken.token = self.tokens[lane].take();
        taken.rare = self.rare[lane].take();
        taken.written = self.written & (1 << lane) != 0;
        self.live &= !(1 << lane);
        self.written &= !(1 << lane);
        let dead = Lane {
            character: u32::MAX,
            rig: taken.rig,
            skin: taken.skin,
            token: None,
            rare: None,
            flags: flags(&[flag::FRESH]),
            written: false,
            pair: Pair::default(),
            clips: LaneClip::EMPTY,
            rows: DEAD,
        };
        self.put_values(lane, &dead);
        self.characters[lane] = u32::MAX;
        taken
    }

    /// Puts a character into a free lane.
    pub fn put(&mut self, lane: usize, state: Lane) {
        self.live |= 1 << lane;
        put_bit(&mut self.written, lane, state.written);
        self.put_values(lane, &state);
        self.characters[lane] = state.character;
        self.rigs[lane] = state.rig;
        self.skins[lane] = state.skin;
        self.tokens[lane] = state.token;
        self.rare[lane] = state.rare;
        self.count_slots();
    }

    fn put_values(&mut self, lane: usize, state: &Lane) {
        self.pairs.put(lane, state.pair);
        for (row, value) in self.rows().into_iter().zip(state.rows) {
            row.0[lane] = value;
        }
        for (mask, flag) in self.flags().into_iter().zip(state.flags) {
            put_bit(mask, lane, flag);
        }
        for (rows, from) in self.clips.iter_mut().zip(&state.clips) {
            rows.clip[lane] = from.clip;
            for (row, value) in rows.rows().into_iter().zip(from.values) {
                row.0[lane] = value;
            }
            for (mask, bit) in rows.bits().into_iter().zip(from.bits) {
                put_bit(mask, lane, bit);
            }
        }
        self.count_slots();
    }

    /// True if that slot moves that lane, or is about to.
    #[inline(always)]
    pub fn plays(&self, slot: usize, lane: usize) -> bool {
        self.clips[slot].playing & (1 << lane) != 0
    }

    /// Recounts the clip slots in use.
    pub fn count_slots(&mut self) {
        self.clip_slots = self.clips.iter().rposition(|rows| rows.playing != 0).map_or(0, |at| at as u8 + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::SlotBuffer;

    #[test]
    fn a_lane_survives_moving_between_blocks() {
        let mut slots = SlotBuffer::default();
        let token = slots.allocate(2).unwrap();
        let mut a = Block::default();
        a.put(5, Lane::new(7, 1, 0, token, 0.9));
        for (k, row) in a.rows().into_iter().enumerate() {
            row.0[5] = 10.0 + k as f32;
        }
        a.clips[1].time.0[5] = 0.25;
        a.clips[1].weight.0[5] = 0.5;
        a.clips[1].clip[5] = 42;
        a.clips[1].synced = 1 << 5;
        a.clips[1].playing = 1 << 5;
        a.layered = 1 << 5;
        a.rare[5] = Some(Box::default());
        let mut b = Block::default();
        b.put(2, a.take(5));
        assert_eq!((a.live, a.layered, a.clips[1].synced), (0, 0, 0));
        assert_eq!(a.clip_slots, 0);
        assert_eq!((b.live, b.characters[2], b.rigs[2], b.clip_slots), (1 << 2, 7, 1, 2));
        let moved = b.rows().map(|row| row.0[2]);
        for (k, value) in moved.into_iter().enumerate() {
            assert_eq!(value, 10.0 + k as f32);
        }
        assert_eq!((b.clips[1].time.0[2], b.clips[1].clip[2], b.clips[1].synced), (0.25, 42, 1 << 2));
        assert_eq!(b.tokens[2].as_ref().map(SlotToken::line_count), Some(2));
        assert!(b.rare[2].is_some() && b.layered == 1 << 2);
    }

    /// The order of masks stands in several places.
    #[test]
    fn every_mask_goes_along_with_its_lane_alone() {
        for flag in 0..FLAGS {
            let mut a = Block::default();
            a.put(5, Lane::new(7, 1, 0, SlotBuffer::default().allocate(2).unwrap(), 0.9));
            a.flags().into_iter().enumerate().for_each(|(at, mask)| put_bit(mask, 5, at == flag));
            assert_eq!(a.flags_of(5), core::array::from_fn(|at| at == flag));
            let mut b = Block::default();
            b.put(2, a.take(5));
            assert_eq!(b.flags_of(2), core::array::from_fn(|at| at == flag));
        }
        let new = flags(&[flag::STALE, flag::TRANSITIONS, flag::SETTLED, flag::FRESH]);
        let mut block = Block::default();
        block.flags().into_iter().zip(new).for_each(|(mask, flag)| *mask = u16::from(flag));
        let Block { stale, fading, transitions, layered, settled, fresh, shown, .. } = block;
        assert_eq!([stale, fading, transitions, layered, settled, fresh, shown], [1, 0, 1, 0, 1, 1, 0]);
    }

    #[test]
    fn hot_state_is_at_most_256_bytes_a_character() {
        assert!(size_of::<Block>() <= 256 * BLOCK, "{} bytes", size_of::<Block>() / BLOCK);
        // Lines in an odd number: rows of blocks far from each other then lie in different sets of a cache.
        assert!(size_of::<Block>() / 64 % 2 == 1, "{} bytes", size_of::<Block>());
    }
}
