//! Slots of a block: header and palette of the lanes that got a pose.

use super::block::Block;
use super::frame::{JobScratch, Shared};
use super::output::PackedSkin;
use super::stages::{header, model, palette};
use super::tier::Tier;
use crate::lanes::{BLOCK, Line, LineTargets, SlotToken};

/// Writes the lanes that are due. A block of several rigs or skins is written once per pair of them; other lanes go to
/// the dump.
pub(crate) fn write(
    shared: &Shared<'_>,
    block: &mut Block,
    tier: Tier,
    due: u16,
    pass: model::ModelPass<'_>,
    scratch: &mut JobScratch,
) {
    if let Some((rig, skin)) = block.shared_key() {
        // Model pass and palette in one go: see ARCHITECTURE.md, experiments.
        let packed = shared.rigs[usize::from(rig)].packed(skin, tier);
        write_lanes(shared, block, due, Some(pass), packed, scratch);
        return;
    }
    model::model(shared.simd, pass, &mut scratch.pose);
    let mut left = due;
    while left != 0 {
        let first = left.trailing_zeros() as usize;
        let key = (block.rigs[first], block.skins[first]);
        let mut lanes = 0;
        for lane in 0..BLOCK {
            lanes |= u16::from((block.rigs[lane], block.skins[lane]) == key) << lane;
        }
        let packed = shared.rigs[usize::from(key.0)].packed(key.1, tier);
        write_lanes(shared, block, left & lanes, None, packed, scratch);
        left &= !lanes;
    }
}

fn write_lanes(
    shared: &Shared<'_>,
    block: &mut Block,
    lanes: u16,
    model: Option<model::ModelPass<'_>>,
    packed: &PackedSkin,
    scratch: &mut JobScratch,
) {
    let JobScratch { pose, dump, .. } = scratch;
    let mut spare = dump.chunks_exact_mut(packed.lines as usize);
    let rows = header::rows(shared.time, block, pose);
    let (mut lane, second) = (0, block.pairs.second);
    let tokens: [&mut Option<SlotToken>; BLOCK] = block.tokens.each_mut();
    let out: [&mut [Line]; BLOCK] = tokens.map(|token| {
        let own = lanes & (1 << lane) != 0;
        lane += 1;
        match token {
            Some(token) if own => {
                let lines = shared.writer.lines(token);
                let first = if second & (1 << (lane - 1)) != 0 { packed.lines as usize } else { 0 };
                if shared.interpolate { &mut lines[first..first + packed.lines as usize] } else { lines }
            }
            _ => spare.next().unwrap_or_default(),
        }
    });
    let mut out = LineTargets::new(out);
    header::write(shared.simd, &rows, &mut out, shared.stream);
    palette::palette(shared.simd, packed, shared.format, model, pose, &mut out, shared.stream);
}
