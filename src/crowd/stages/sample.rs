//! Clip rows to local deltas: mix keys per character, transpose to lanes, normalise.
//!
//! Mixing is integer: `sum of key * weight` with 16-bit weights is exact, so the order of a character's clips does
//! not matter to a bit, and all instruction sets agree. It is done before the transpose, because in lanes every
//! character would pay for the block's largest clip count (ARCHITECTURE.md, experiments).

use super::advance::fold;
use crate::clip::PELVIS_RANGE;
use crate::crowd::block::{Block, MAX_CLIPS};
use crate::crowd::library::{ClipHead, Library};
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, GROUP, KEY_ONE, KeyPair, Lanes, Quat, Row, Vec3, WEIGHT_ONE, per_isa};
use crate::rig::MAX_FEET;

per_isa! {
    /// Fills the first `kept` of `scratch.rotations`, `scratch.pelvis` and `scratch.contact` in the lanes that are `due`.
    /// `far`: the rows are more than the core's cache holds.
    pub(crate) fn sample(block: &Block, library: &Library, joints: Joints, due: u16, far: bool, scratch: &mut Scratch) = sample_kernel;
}

/// Joints of the topology, and those of them that move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joints {
    pub all: usize,
    pub kept: usize,
}

/// Characters whose keys are on their way while one's are mixed.
const AHEAD: usize = 2;

#[inline(always)]
fn sample_kernel<L: Lanes>(
    block: &Block,
    library: &Library,
    Joints { all: joints, kept }: Joints,
    due: u16,
    far: bool,
    scratch: &mut Scratch,
) {
    let slots = usize::from(block.clip_slots).min(MAX_CLIPS);
    let mut pairs = [[KeyPair::NONE; MAX_CLIPS]; BLOCK];
    let mut counts = [0usize; BLOCK];
    let mut total = [0i32; BLOCK];
    // Lane by lane: a pose must not depend on its neighbours, the sign of its quaternions included.
    let mut careful = [false; BLOCK];
    for rows in &block.clips[..slots] {
        for lane in 0..BLOCK {
            let weight = rows.weight.0[lane];
            if weight > 0.0 && due & (1 << lane) != 0 {
                let head = library.head(rows.clip[lane]);
                let folds = rows.ping_pong & (1 << lane) != 0;
                let count = counts[lane];
                let share;
                (pairs[lane][count], share) = pair(head, rows.time.0[lane], folds, weight);
                counts[lane] = count + 1;
                total[lane] += share;
                careful[lane] |= head.crosses_hemisphere;
            }
        }
    }
    let unit = PELVIS_RANGE / KEY_ONE;
    let scale = Row(core::array::from_fn(|lane| 1.0 / (total[lane].max(1) as f32 * KEY_ONE)));

    let groups = (joints + 2).div_ceil(GROUP);
    // What lies between the last joint that moves and the pelvis is left out.
    let skipped = kept.div_ceil(GROUP)..joints / GROUP;
    let Scratch { rotations, sums, pelvis, contact, .. } = scratch;
    if far {
        // Character by character, so that each run of keys is read in one go, while the next one's come in.
        for lane in 0..AHEAD {
            pairs[lane][..counts[lane]].iter().for_each(KeyPair::prefetch);
        }
        for lane in 0..BLOCK {
            if let Some(next) = pairs.get(lane + AHEAD) {
                next[..counts[lane + AHEAD]].iter().for_each(KeyPair::prefetch);
            }
            for (group, [even, odd]) in sums[..groups].iter_mut().enumerate() {
                if skipped.contains(&group) {
                    continue;
                }
                let pairs = &pairs[lane][..counts[lane]];
                mix::<L>(pairs, careful[lane], group, &mut even[lane], &mut odd[lane]);
            }
        }
    }
    let mut lanes = [Row::ZERO; BLOCK];
    for group in 0..groups {
        if skipped.contains(&group) {
            continue;
        }
        // What is in cache need not wait in memory for its transpose.
        let sums = &mut sums[if far { group } else { 0 }];
        if !far {
            let [even, odd] = &mut *sums;
            for lane in 0..BLOCK {
                let pairs = &pairs[lane][..counts[lane]];
                mix::<L>(pairs, careful[lane], group, &mut even[lane], &mut odd[lane]);
            }
        }
        for (parity, sums) in sums.iter().enumerate() {
            L::transpose(sums, &mut lanes);
            for k in 0..GROUP / 2 {
                let quad = GROUP * group + 2 * k + parity;
                let rows: &[Row] = &lanes[4 * k..4 * k + 4];
                if quad < kept {
                    let out = &mut rotations[quad];
                    for at in (0..BLOCK).step_by(L::N) {
                        // Sums of up to 2^30, whose squares single precision holds well.
                        let q = Quat::new(
                            L::load_i32(&rows[0], at),
                            L::load_i32(&rows[1], at),
                            L::load_i32(&rows[2], at),
                            L::load_i32(&rows[3], at),
                        );
                        q.normalize().store(out, at);
                    }
                } else if quad == joints {
                    for at in (0..BLOCK).step_by(L::N) {
                        let metres = L::load(&scale, at) * L::load(&block.leg, at) * L::splat(unit * KEY_ONE);
                        let p = Vec3::new(
                            L::load_i32(&rows[0], at),
                            L::load_i32(&rows[1], at),
                            L::load_i32(&rows[2], at),
                        );
                        p.scale(metres).store(pelvis, at);
                    }
                } else if quad == joints + 1 {
                    for (foot, out) in contact.iter_mut().enumerate().take(MAX_FEET) {
                        for at in (0..BLOCK).step_by(L::N) {
                            (L::load_i32(&rows[foot], at) * L::load(&scale, at)).store(out, at);
                        }
                    }
                }
            }
        }
    }
}

/// The keys about a time of a clip, with their share of a weight, and the weight in units of 1 / [`WEIGHT_ONE`].
#[inline(always)]
pub(super) fn pair(head: &ClipHead, time: f32, folds: bool, weight: f32) -> (KeyPair<'_>, i32) {
    let time = if folds { fold(time, head.duration).0 } else { time };
    let position = (time * head.rate).clamp(0.0, head.intervals);
    // The last key is the right end of the last interval, never a left one.
    let left = position.min(head.intervals - 1.0) as usize;
    let share = (weight * WEIGHT_ONE + 0.5) as i32;
    let right_share = ((position - left as f32) * share as f32 + 0.5) as i32;
    (KeyPair::new(head.keys(left), [(share - right_share) as i16, right_share as i16]), share)
}

#[inline(always)]
fn mix<L: Lanes>(pairs: &[KeyPair<'_>], careful: bool, group: usize, even: &mut Row, odd: &mut Row) {
    if careful && pairs.len() > 1 {
        mix_by_hemisphere(pairs, group, even, odd);
    } else {
        L::mix_keys(pairs, group, even, odd);
    }
}

/// As [`Lanes::mix_keys`], each clip's quaternions turned to the side of the reference pose first: for clips that go
/// more than half a turn away from it. Plain integers, so the same bits everywhere.
#[inline(never)]
fn mix_by_hemisphere(pairs: &[KeyPair<'_>], group: usize, even: &mut Row, odd: &mut Row) {
    let even: &mut [i32; BLOCK] = bytemuck::cast_mut(&mut even.0);
    let odd: &mut [i32; BLOCK] = bytemuck::cast_mut(&mut odd.0);
    for quad in 0..GROUP {
        let mut sum = [0i32; 4];
        for pair in pairs {
            let [w0, w1] = pair.weights().map(i32::from);
            let [left, right] = pair.group(group);
            let part: [i32; 4] = core::array::from_fn(|c| {
                i32::from(left.0[4 * quad + c]) * w0 + i32::from(right.0[4 * quad + c]) * w1
            });
            // The pelvis quad has 0 here and is left alone.
            let sign = if part[3] < 0 { -1 } else { 1 };
            for (sum, part) in sum.iter_mut().zip(part) {
                *sum += sign * part;
            }
        }
        let out = if quad % 2 == 0 { &mut even[2 * quad..] } else { &mut odd[2 * quad - 2..] };
        out[..4].copy_from_slice(&sum);
    }
}
