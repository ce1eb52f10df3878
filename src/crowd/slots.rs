//! Slots of two poses, in a frame: what is in them before and after the new ones are written.

use super::block::Block;
use super::corrections::{self, Poses};
use super::detail::{self, Change};
use super::footfall::{self, Footfalls, Past};
use super::frame::{Shared, TopologyData};
use super::lanes_of::lanes_of;
use super::output::{PackedSkin, PoseHeader};
use super::pair::Pairs;
use super::shown::settle_between;
use super::stages::advance::Clocks;
use super::tier::Tier;
use crate::lanes::{BLOCK, Line, Row, prefetch};
use crate::rig::MAX_FEET;

/// The parts of a slot.
struct Halves<'a> {
    previous: &'a mut [Line],
    newest: &'a mut [Line],
    corrections: &'a mut [Line],
}

impl<'a> Halves<'a> {
    fn of(lines: &'a mut [Line], skin: &PackedSkin, newest_second: bool) -> Self {
        let pose = skin.lines as usize;
        let (first, rest) = lines.split_at_mut(pose);
        let (second, corrections) = rest.split_at_mut(pose);
        let (previous, newest) = if newest_second { (first, second) } else { (second, first) };
        Self { previous, newest, corrections }
    }
}

/// Makes room for new poses in slots of two.
pub(crate) fn turn_over(shared: &Shared<'_>, block: &mut Block, was: &Pairs, due: u16, tier: Tier) {
    let mut between = block.pairs.turn_over(was, due, shared.tiers[tier as usize].period);
    while between != 0 {
        let lane = between.trailing_zeros() as usize;
        between &= between - 1;
        let skin = &shared.rigs[usize::from(block.rigs[lane])].skins[usize::from(block.skins[lane])];
        if let Some(token) = &mut block.tokens[lane] {
            let second = block.pairs.second & (1 << lane) != 0;
            let slot = Halves::of(shared.writer.lines(token), skin, second);
            let next = (&*slot.newest, &*slot.corrections);
            settle_between(slot.previous, next, was.factor(lane), shared.format, skin);
        }
    }
}

/// Brings joints of new poses nearer to the last one, where a character has come from another tier.
pub(crate) fn fade(
    shared: &Shared<'_>,
    data: &TopologyData,
    block: &mut Block,
    was: &Pairs,
    due: u16,
    seen: &mut detail::Seens,
) {
    let mut left = block.pairs.fading & due;
    while left != 0 {
        let lane = left.trailing_zeros() as usize;
        left &= left - 1;
        let (share, poorer) = block.pairs.fade(was, lane);
        let skin = &shared.rigs[usize::from(block.rigs[lane])].skins[usize::from(block.skins[lane])];
        if share < 1.0
            && let Some(token) = &mut block.tokens[lane]
        {
            let second = block.pairs.second & (1 << lane) != 0;
            let slot = Halves::of(shared.writer.lines(token), skin, second);
            let (topology, format) = (&data.topology, shared.format);
            let first = data.kept[poorer as usize];
            detail::fade(&Change { topology, skin, format, first, share }, slot.previous, slot.newest, seen);
        }
    }
}

/// Of a block.
pub(crate) struct BlockFalls {
    falls: [Footfalls; BLOCK],
    /// Lanes that have any.
    pub any: u16,
    /// Where clips are at the pose of now, of lanes whose next pose may follow it.
    pasts: [Option<Past>; BLOCK],
}

/// What feet have done since the poses that lanes are shown from. `age`: seconds since the last pose.
pub(crate) fn footfalls(
    shared: &Shared<'_>,
    data: &TopologyData,
    block: &mut Block,
    was: &Pairs,
    (due, tier): (u16, Tier),
    age: &Row,
    clocks: &Clocks,
) -> BlockFalls {
    let mut falls = BlockFalls { falls: [[None; MAX_FEET]; BLOCK], any: 0, pasts: [None; BLOCK] };
    if !shared.tiers[tier as usize].feet {
        return falls;
    }
    let apart = block.pairs.apart();
    // Of all lanes, before the first is looked at.
    for lane in lanes_of(due & apart) {
        let skin = &shared.rigs[usize::from(block.rigs[lane])].skins[usize::from(block.skins[lane])];
        if let Some(token) = &mut block.tokens[lane] {
            let slot = Halves::of(shared.writer.lines(token), skin, false);
            slot.corrections.first().into_iter().for_each(prefetch);
            [&slot.previous[0], &slot.newest[0]].into_iter().for_each(prefetch);
        }
    }
    let legs = data.topology.legs();
    for lane in lanes_of(due & block.pairs.remembering()) {
        let Some(leading) = footfall::leading(block, lane, &data.masks, legs) else { continue };
        let rows = &block.clips[leading];
        let now = Past { clip: rows.clip[lane], time: rows.time.0[lane], way: f32::NAN };
        falls.pasts[lane] = Some(now);
        if apart & (1 << lane) == 0 {
            continue;
        }
        let skin = &shared.rigs[usize::from(block.rigs[lane])].skins[usize::from(block.skins[lane])];
        let second = block.pairs.second & (1 << lane) != 0;
        let Some(token) = &mut block.tokens[lane] else { continue };
        let slot = Halves::of(shared.writer.lines(token), skin, second);
        // The last pose is the one before, unless what was shown has taken its place.
        let between = was.factor(lane) < 1.0;
        let last = PoseHeader::read(if between { &slot.newest[0] } else { &slot.previous[0] });
        let Some(past) = corrections::past(slot.corrections, &last) else { continue };
        let past = (past, if between { 1.0 - was.factor(lane) } else { 0.0 });
        let times = (&clocks.slots[leading], shared.frame.dt, age.0[lane]);
        let Some(way) = footfall::way(block, (lane, leading), past, times, &data.library) else { continue };
        falls.pasts[lane] = Some(Past { way, ..now });
        let found = footfall::since(block, (lane, leading), way, &data.library, legs);
        if found.iter().any(Option::is_some) {
            falls.falls[lane] = found;
            falls.any |= 1 << lane;
            ask_for(shared, block, lane, &found, false);
        }
    }
    falls
}

/// Asks for the legs in the pose of a lane that is not being written, or in the one that was.
fn ask_for(shared: &Shared<'_>, block: &mut Block, lane: usize, falls: &Footfalls, written: bool) {
    let skin = &shared.rigs[usize::from(block.rigs[lane])].skins[usize::from(block.skins[lane])];
    let second = (block.pairs.second & (1 << lane) != 0) == written;
    if let Some(token) = &mut block.tokens[lane] {
        let slot = Halves::of(shared.writer.lines(token), skin, second);
        corrections::ask_for(&skin.legs, shared.format, falls, slot.newest);
        if !written {
            slot.corrections.iter().for_each(prefetch);
        }
    }
}

/// Writes the corrections of new poses, and where clips were at them. Poses are not to be in flight any more.
pub(crate) fn correct(
    shared: &Shared<'_>,
    block: &mut Block,
    due: u16,
    BlockFalls { falls, any, pasts }: &BlockFalls,
) {
    for lane in lanes_of(*any) {
        ask_for(shared, block, lane, &falls[lane], true);
    }
    let apart = block.pairs.apart();
    for lane in lanes_of(due & block.pairs.remembering()) {
        let skin = &shared.rigs[usize::from(block.rigs[lane])].skins[usize::from(block.skins[lane])];
        if let Some(token) = &mut block.tokens[lane] {
            let second = block.pairs.second & (1 << lane) != 0;
            let slot = Halves::of(shared.writer.lines(token), skin, second);
            corrections::remember(slot.corrections, pasts[lane], shared.time);
            if apart & (1 << lane) == 0 {
                continue;
            }
            let poses = Poses { previous: slot.previous, next: slot.newest };
            let palette = (shared.format, skin.range);
            corrections::write(&skin.legs, palette, &falls[lane], poses, slot.corrections);
        }
    }
}
