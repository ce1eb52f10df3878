//! Slots of two poses, in a frame: what is in them before and after the new ones are written.

use super::block::Block;
use super::detail::{self, Change};
use super::frame::{Shared, TopologyData};
use super::pair::Pairs;
use super::shown::settle_between;
use super::tier::Tier;

/// Makes room for new poses in slots of two.
pub(crate) fn turn_over(shared: &Shared<'_>, block: &mut Block, was: &Pairs, due: u16, tier: Tier) {
    let mut between = block.pairs.turn_over(was, due, shared.tiers[tier as usize].period);
    while between != 0 {
        let lane = between.trailing_zeros() as usize;
        between &= between - 1;
        let skin = &shared.rigs[usize::from(block.rigs[lane])].skins[usize::from(block.skins[lane])];
        if let Some(token) = &mut block.tokens[lane] {
            let (first, second) = shared.writer.lines(token).split_at_mut(skin.lines as usize);
            let newest_second = block.pairs.second & (1 << lane) != 0;
            let (previous, next) = if newest_second { (first, second) } else { (second, first) };
            settle_between(previous, next, was.factor(lane), shared.format, skin);
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
            let (first, second) = shared.writer.lines(token).split_at_mut(skin.lines as usize);
            let newest_second = block.pairs.second & (1 << lane) != 0;
            let (last, new) = if newest_second { (first, second) } else { (second, first) };
            let (topology, format) = (&data.topology, shared.format);
            let first = data.kept[poorer as usize];
            detail::fade(&Change { topology, skin, format, first, share }, last, new, seen);
        }
    }
}
