//! One lane of a block, taken out.

use super::block::{CLIP_BITS, CLIP_ROWS, FLAGS, MAX_CLIPS, ROWS};
use super::pair::Pair;
use super::rare::Rare;
use super::store::WorldTransform;
use crate::lanes::SlotToken;

/// State of one character, out of its block.
#[derive(Debug)]
pub(crate) struct Lane {
    pub character: u32,
    pub rig: u16,
    pub skin: u16,
    pub token: Option<SlotToken>,
    pub rare: Option<Box<Rare>>,
    /// Bits of `Block::flags`.
    pub flags: [bool; FLAGS],
    /// The last frame wrote its slot: goes along when it moves, and is of no use to a snapshot.
    pub written: bool,
    pub pair: Pair,
    pub clips: [LaneClip; MAX_CLIPS],
    pub rows: [f32; ROWS],
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LaneClip {
    pub clip: u16,
    pub values: [f32; CLIP_ROWS],
    pub bits: [bool; CLIP_BITS],
}

/// Places of masks among those of [`Lane::flags`].
pub(crate) mod flag {
    pub const STALE: usize = 0;
    pub const TRANSITIONS: usize = 2;
    pub const SETTLED: usize = 4;
    pub const FRESH: usize = 5;
}

/// Flags of which these are set.
pub(crate) fn flags(set: &[usize]) -> [bool; FLAGS] {
    let mut flags = [false; FLAGS];
    set.iter().for_each(|&flag| flags[flag] = true);
    flags
}

impl LaneClip {
    pub const EMPTY: [Self; MAX_CLIPS] =
        [Self { clip: 0, values: [0.0; CLIP_ROWS], bits: [false; CLIP_BITS] }; MAX_CLIPS];
}

/// Identity rotation, leg length 1; see `Block::rows` for the order.
pub(crate) const DEAD: [f32; ROWS] = {
    let mut rows = [0.0; ROWS];
    rows[6] = 1.0;
    rows[10] = 1.0;
    rows
};

impl Lane {
    /// Where the root is; what its rows have lost to rounding is forgotten.
    pub fn put_transform(&mut self, transform: &WorldTransform) {
        self.rows[..3].copy_from_slice(&transform.position);
        self.rows[3..7].copy_from_slice(&transform.rotation);
    }

    /// Whether an inertialised transition is under way.
    pub fn in_transition(&self) -> bool {
        self.flags[flag::TRANSITIONS]
    }

    /// Lets the lane have a pose in the next frame.
    pub fn make_stale(&mut self) {
        self.flags[flag::STALE] = true;
    }

    /// A new character, standing at the origin without clips.
    pub fn new(character: u32, rig: u16, skin: u16, token: SlotToken, leg: f32) -> Self {
        let mut rows = DEAD;
        rows[10] = leg;
        Self {
            character,
            rig,
            skin,
            token: Some(token),
            rare: None,
            flags: flags(&[flag::STALE, flag::FRESH]),
            written: false,
            pair: Pair::NEW,
            clips: LaneClip::EMPTY,
            rows,
        }
    }
}
