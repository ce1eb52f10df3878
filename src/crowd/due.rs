//! Whose pose is due: blocks take turns at their tier's rate, characters that nobody sees are left out, and whoever has
//! missed a turn is due as soon as it is seen.

use super::block::{Block, lanes_of};
use crate::lanes::{BLOCK, Row};
use crate::rig::MAX_FEET;

/// Whom anybody sees. The others' clocks, events and roots go on; pose and output stay as they are.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Visibility<'a> {
    /// Everybody.
    #[default]
    All,
    /// Bit [`Handle::index`](super::Handle::index)` % 64` of word `index / 64`; what lies beyond the slice is not seen.
    Bits(&'a [u64]),
}

impl Visibility<'_> {
    /// Bit per lane.
    fn lanes(self, block: &Block) -> u16 {
        let Self::Bits(words) = self else { return block.live };
        let mut lanes = 0;
        for lane in 0..BLOCK {
            let index = block.characters[lane] as usize;
            let word = words.get(index / 64).copied().unwrap_or(0);
            lanes |= ((word >> (index % 64) & 1) as u16) << lane;
        }
        lanes & block.live
    }
}

/// Seconds without a pose after which feet start anew: what they remember is of another place.
const FORGOTTEN: f32 = 0.5;

/// The lanes that get a pose in this frame. `turn`: it is the block's.
pub(crate) fn due(block: &mut Block, turn: bool, visible: Visibility<'_>) -> u16 {
    if !turn && block.stale == 0 {
        return 0;
    }
    let seen = visible.lanes(block);
    let missed = block.stale & seen;
    for lane in lanes_of(missed) {
        if block.age.0[lane] > FORGOTTEN {
            block.fresh |= 1 << lane;
        }
    }
    if turn {
        block.stale |= block.live & !seen;
        block.pairs.cut |= block.live & !seen;
        seen
    } else {
        missed
    }
}

/// What a pose changes in lanes that keep theirs.
#[derive(Debug)]
pub(crate) struct Held {
    rows: [Row; HELD],
    fresh: u16,
}

const HELD: usize = 3 + 5 * MAX_FEET;

fn rows(block: &mut Block) -> [&mut Row; HELD] {
    let [a, b] = &mut block.feet;
    let ([ox, oz], [lx, lz]) = (&mut a.offset, &mut a.last);
    let ([px, pz], [mx, mz]) = (&mut b.offset, &mut b.last);
    [
        &mut block.pelvis,
        &mut block.last_height,
        &mut block.age,
        ox,
        oz,
        lx,
        lz,
        &mut a.locked,
        px,
        pz,
        mx,
        mz,
        &mut b.locked,
    ]
}

impl Held {
    pub fn of(block: &mut Block) -> Self {
        Self { rows: rows(block).map(|row| *row), fresh: block.fresh }
    }

    /// Back into the lanes of a block that are not among `due`.
    pub fn put_back(&self, block: &mut Block, due: u16) {
        block.fresh = block.fresh & due | self.fresh & !due;
        for (row, held) in rows(block).into_iter().zip(&self.rows) {
            for lane in 0..BLOCK {
                if due & (1 << lane) == 0 {
                    row.0[lane] = held.0[lane];
                }
            }
        }
    }
}
