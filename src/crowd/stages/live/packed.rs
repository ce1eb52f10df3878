//! Inputs in 16 bits: products of integers, made unit rotations by one multiplication.

use super::{LOOSE, Pass, Reach, Streamed, idle, put};
use crate::lanes::{BLOCK, Lanes, Quat, Row};
use crate::retarget::live::LiveMap;
use crate::retarget::live_packed::{PACKED_JOINTS, PackedLine};

/// All inputs in 16 bits.
#[inline(always)]
pub(super) fn bring_all_in<L: Lanes>(
    map: &LiveMap,
    streamed: &Streamed<'_>,
    reach: Reach,
    joints: usize,
    good: &mut Row,
    registers: &mut [[Row; 4]],
) {
    let mut sound = Row::ZERO;
    for at in (0..BLOCK).step_by(L::N) {
        let pass = Pass { streamed, reach, joints, at };
        let mut off = L::zero();
        for (part, line) in map.packed.iter().enumerate() {
            if let (Some(next), 0) = (&streamed.next, at) {
                next.prefetch(part, map.packed.len());
            }
            let lines = streamed.poses.lines(2 * line.first as usize);
            if L::N < BLOCK {
                for k in 0..PACKED_JOINTS / 2 {
                    let c = L::quad(&lines, k, at);
                    off = unpack(line, 2 * k, [c[0], c[1]], pass, off, registers);
                    off = unpack(line, 2 * k + 1, [c[2], c[3]], pass, off, registers);
                }
                continue;
            }
            let c = L::columns(&lines, at);
            for k in 0..PACKED_JOINTS {
                off = unpack(line, k, [c[2 * k], c[2 * k + 1]], pass, off, registers);
            }
        }
        L::select(off.lt(L::splat(LOOSE * LOOSE)), L::one(), L::zero()).store(&mut sound, at);
    }
    if sound != Row::ONE {
        for at in (0..BLOCK).step_by(L::N) {
            // Where one rotation alone could be off too far: whether one is.
            let sure = L::splat(0.5).lt(L::load(&sound, at));
            let mut fine = L::load(good, at);
            for line in &map.packed {
                let lines = streamed.poses.lines(2 * line.first as usize);
                for k in 0..PACKED_JOINTS {
                    if idle(&line.inputs[k], joints) {
                        continue;
                    }
                    let c = L::quad(&lines, k / 2, at);
                    let (low, high) = (c[2 * (k % 2)], c[2 * (k % 2) + 1]);
                    let off = off_unit(square(integers(line, k, low, high))).abs();
                    fine = L::select(off.lt(L::splat(LOOSE)), fine, L::zero());
                }
            }
            L::select(sure, L::load(good, at), fine).store(good, at);
        }
    }
}

/// Of the units that products of integers are in.
const INTEGER: f32 = 1.0 / (32767.0 * 32767.0);

/// A local delta, in units of [`INTEGER`].
#[inline(always)]
fn integers<L: Lanes>(line: &PackedLine, k: usize, low: L, high: L) -> Quat<L> {
    if line.same {
        let one = 32767;
        return Quat::new(
            L::dot_i16(low, L::zero(), one, 0),
            L::dot_i16(low, L::zero(), one << 16, 0),
            L::dot_i16(L::zero(), high, 0, one),
            L::dot_i16(L::zero(), high, 0, one << 16),
        );
    }
    let m = &line.matrices[k];
    Quat::new(
        L::dot_i16(low, high, m.low[0], m.high[0]),
        L::dot_i16(low, high, m.low[1], m.high[1]),
        L::dot_i16(low, high, m.low[2], m.high[2]),
        L::dot_i16(low, high, m.low[3], m.high[3]),
    )
}

/// Square of its length, in pairs: little waits for the sum before it.
#[inline(always)]
fn square<L: Lanes>(q: Quat<L>) -> L {
    q.x.mul_add(q.x, q.y * q.y) + q.z.mul_add(q.z, q.w * q.w)
}

/// What a square is off 1.
#[inline(always)]
fn off_unit<L: Lanes>(square: L) -> L {
    square.mul_add(L::splat(INTEGER * INTEGER), -L::one())
}

/// [`bring_in`] for 16-bit rotations: all are made unit, to 1e-5 where they are off by [`LOOSE`].
#[inline(always)]
fn unpack<L: Lanes>(
    line: &PackedLine,
    k: usize,
    [low, high]: [L; 2],
    pass: Pass<'_>,
    off: L,
    registers: &mut [[Row; 4]],
) -> L {
    let input = &line.inputs[k];
    if idle(input, pass.joints) {
        return off;
    }
    let q = integers(line, k, low, high);
    let square = square(q);
    // 1 / sqrt(square) near 1, the other way round where w is negative.
    let unit =
        square.mul_add(L::splat(-0.5 * INTEGER * INTEGER * INTEGER), L::splat(1.5 * INTEGER)).flip(q.w);
    let own = off_unit(square);
    put(q.scale(unit), registers, input.register as usize, pass);
    own.mul_add(own, off)
}
