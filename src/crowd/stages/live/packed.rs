//! Inputs in 16 bits: products of integers, made unit rotations by one multiplication.

use super::native::ask;
use super::{LOOSE, MOST, Native, Pass, Reach, Streamed, idle, write};
use crate::lanes::{BLOCK, Lanes, LineSources, Quat, Row};
use crate::retarget::LiveMap;
use crate::retarget::live::{Single, Singles};
use crate::retarget::live_packed::{PACKED_JOINTS, PackedLine, PackedMatrix};

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
    let pass = Pass { streamed, reach, joints, at: 0 };
    let off = match streamed.poses {
        Native::Lines { now, next } => lines::<L>(map, now, next, pass, registers),
        Native::Beside { now, next } => beside::<L>(map, now, next, pass, registers),
    };
    let mut sound = Row::ZERO;
    for at in (0..BLOCK).step_by(L::N) {
        soundly(off[at / L::N], &mut sound, at);
    }
    if !sound.same(&Row::ONE) {
        judge::<L>(map, streamed, &sound, joints, good);
    }
}

#[inline(always)]
fn soundly<L: Lanes>(off: L, sound: &mut Row, at: usize) {
    L::select(off.lt(L::splat(OFF * OFF)), L::one(), L::zero()).store(sound, at);
}

/// Gives the sum of [`add_off`] over the joints.
#[inline(always)]
fn lines<L: Lanes>(
    map: &LiveMap,
    now: &LineSources<'_>,
    next: Option<&LineSources<'_>>,
    pass: Pass<'_>,
    registers: &mut [[Row; 4]],
) -> [L; MOST] {
    let plain = pass.writes_all(map);
    let mut off = [L::zero(); MOST];
    for (part, line) in map.packed.iter().enumerate() {
        if let Some(next) = next {
            next.prefetch(part, map.packed.len());
        }
        let lines = now.lines(2 * line.first as usize);
        off = match (line.same, plain) {
            (true, true) => eight::<L, _, true>(line, &[(); PACKED_JOINTS], &lines, pass, off, registers),
            (true, false) => eight::<L, _, false>(line, &[(); PACKED_JOINTS], &lines, pass, off, registers),
            (false, true) => eight::<L, _, true>(line, &line.matrices, &lines, pass, off, registers),
            (false, false) => eight::<L, _, false>(line, &line.matrices, &lines, pass, off, registers),
        };
    }
    off
}

/// The joints of a line.
#[inline(always)]
fn eight<L: Lanes, M: Change, const PLAIN: bool>(
    line: &PackedLine,
    matrices: &[M; PACKED_JOINTS],
    lines: &[&[f32; BLOCK]; BLOCK],
    pass: Pass<'_>,
    mut off: [L; MOST],
    registers: &mut [[Row; 4]],
) -> [L; MOST] {
    // All at once where there are as many registers.
    let columns = if L::N == BLOCK { L::columns(lines, 0) } else { [L::zero(); BLOCK] };
    for first in (0..BLOCK / L::N).step_by(together::<L>()) {
        for quad in 0..PACKED_JOINTS / 2 {
            let c = &columns[4 * quad..];
            let mut native = [[c[0], c[1], c[2], c[3]]; 2];
            for k in 0..together::<L>() {
                if L::N < BLOCK {
                    native[k] = L::quad(lines, quad, (first + k) * L::N);
                }
            }
            let [[a, b, d, e], [f, g, h, i]] = native;
            for (joint, native) in [(2 * quad, [[a, b], [f, g]]), (2 * quad + 1, [[d, e], [h, i]])] {
                if !idle(&line.inputs[joint], pass.joints) {
                    let register = line.inputs[joint].register;
                    let matrix = &matrices[joint];
                    off = bring_in::<L, M, PLAIN>(matrix, native, first, register, pass, off, registers);
                }
            }
        }
    }
    off
}

/// Parts of a block that share what is read of a matrix: two of eight lanes; of four there are not registers enough for two.
#[inline(always)]
fn together<L: Lanes>() -> usize {
    if L::N == 8 { 2 } else { 1 }
}

/// The same of poses side by side, for all lanes.
#[inline(always)]
fn beside<L: Lanes>(
    map: &LiveMap,
    now: &[Row],
    next: &[Row],
    pass: Pass<'_>,
    registers: &mut [[Row; 4]],
) -> [L; MOST] {
    let Singles { packed_same, packed, .. } = &map.singles;
    let off = [L::zero(); MOST];
    if pass.writes_all(map) {
        let off = several::<L, _, true>(packed_same, now, next, pass, off, registers);
        several::<L, _, true>(packed, now, next, pass, off, registers)
    } else {
        let off = several::<L, _, false>(packed_same, now, next, pass, off, registers);
        several::<L, _, false>(packed, now, next, pass, off, registers)
    }
}

/// Joints whose basis can be told equally plainly. In the plain case all that is written is to be,
/// and nothing is asked per joint: of some 150 instructions a joint 12 were such questions.
#[inline(always)]
fn several<L: Lanes, M: Change, const PLAIN: bool>(
    singles: &[Single<M>],
    now: &[Row],
    next: &[Row],
    pass: Pass<'_>,
    mut off: [L; MOST],
    registers: &mut [[Row; 4]],
) -> [L; MOST] {
    let (twos, ahead) = (now.as_chunks().0, next.as_chunks::<2>().0);
    for single in singles {
        if !PLAIN && idle(&single.input, pass.joints) {
            continue;
        }
        let joint = single.joint as usize;
        ask(ahead, joint);
        let rows = &twos[joint];
        for first in (0..BLOCK / L::N).step_by(together::<L>()) {
            let mut native = [[L::zero(); 2]; 2];
            for k in 0..together::<L>() {
                native[k] = L::split_2(rows, (first + k) * L::N);
            }
            let register = single.input.register;
            off = bring_in::<L, M, PLAIN>(&single.matrix, native, first, register, pass, off, registers);
        }
    }
    off
}

/// One joint of as many parts of a block as are done [`together`], from `first` on: all are made unit, to 1e-5 where they are
/// off by [`LOOSE`].
#[inline(always)]
fn bring_in<L: Lanes, M: Change, const PLAIN: bool>(
    matrix: &M,
    native: [[L; 2]; 2],
    first: usize,
    register: u32,
    pass: Pass<'_>,
    mut off: [L; MOST],
    registers: &mut [[Row; 4]],
) -> [L; MOST] {
    let together = together::<L>();
    let (changed, squares) = parts(matrix, native, together);
    let mut units = [L::zero(); 2];
    for k in 0..together {
        units[k] = unit(squares[k]);
    }
    if together == 2 {
        units = L::abreast(units);
    }
    for k in 0..together {
        off[first] = add_off(off[first], units[k]);
    }
    // One sum for both: where a lane of one part is off, its partner of the other is judged as well.
    off[first + together - 1] = off[first];
    for k in 0..together {
        let pass = Pass { at: (first + k) * L::N, ..pass };
        let q = changed[k].scale(units[k].flip(changed[k].w));
        write::<L, PLAIN>(q, registers, register as usize, pass);
    }
    off
}

/// One or two parts of a block in another basis, in units of [`INTEGER`], and their squares: side by side, each sum as soon
/// as what it is of is there (ARCHITECTURE.md, experiments).
#[inline(always)]
fn parts<L: Lanes, M: Change>(matrix: &M, native: [[L; 2]; 2], parts: usize) -> ([Quat<L>; 2], [L; 2]) {
    let mut rows = [[L::zero(); 2]; 4];
    let mut squares = [L::zero(); 2];
    for c in 0..5 {
        if c < 4 {
            for k in 0..parts {
                rows[c][k] = matrix.row(c, native[k]);
            }
            if parts == 2 {
                rows[c] = L::abreast(rows[c]);
            }
        }
        if c > 0 {
            for k in 0..parts {
                let value = rows[c - 1][k];
                squares[k] = if c == 1 { value * value } else { value.mul_add(value, squares[k]) };
            }
            if parts == 2 {
                squares = L::abreast(squares);
            }
        }
    }
    let [x, y, z, w] = rows;
    ([Quat::new(x[0], y[0], z[0], w[0]), Quat::new(x[1], y[1], z[1], w[1])], squares)
}

/// A change of basis: the rows of its matrix, in units of [`INTEGER`].
trait Change {
    fn row<L: Lanes>(&self, row: usize, native: [L; 2]) -> L;
}

impl Change for () {
    #[inline(always)]
    fn row<L: Lanes>(&self, row: usize, [low, high]: [L; 2]) -> L {
        let one = 32767;
        match row {
            0 => L::dot_i16(low, L::zero(), one, 0),
            1 => L::dot_i16(low, L::zero(), one << 16, 0),
            2 => L::dot_i16(L::zero(), high, 0, one),
            _ => L::dot_i16(L::zero(), high, 0, one << 16),
        }
    }
}

impl Change for PackedMatrix {
    #[inline(always)]
    fn row<L: Lanes>(&self, row: usize, [low, high]: [L; 2]) -> L {
        L::dot_i16(low, high, self.low[row], self.high[row])
    }
}

/// Where one rotation alone could be off too far: whether one is.
#[inline(always)]
fn judge<L: Lanes>(map: &LiveMap, streamed: &Streamed<'_>, sound: &Row, joints: usize, good: &mut Row) {
    for at in (0..BLOCK).step_by(L::N) {
        let sure = L::splat(0.5).lt(L::load(sound, at));
        let mut fine = L::load(good, at);
        for line in &map.packed {
            for k in 0..PACKED_JOINTS {
                if idle(&line.inputs[k], joints) {
                    continue;
                }
                let [low, high] = match &streamed.poses {
                    Native::Lines { now, .. } => {
                        let c = L::quad(&now.lines(2 * line.first as usize), k / 2, at);
                        [c[2 * (k % 2)], c[2 * (k % 2) + 1]]
                    }
                    Native::Beside { now, .. } => L::split_2(&now.as_chunks().0[line.first as usize + k], at),
                };
                let off = off_unit(integers(line, k, low, high).1).abs();
                fine = L::select(off.lt(L::splat(LOOSE)), fine, L::zero());
            }
        }
        L::select(sure, L::load(good, at), fine).store(good, at);
    }
}

/// Of the units that products of integers are in.
const INTEGER: f32 = 1.0 / (32767.0 * 32767.0);

/// A local delta, in units of [`INTEGER`], and its square.
#[inline(always)]
fn integers<L: Lanes>(line: &PackedLine, k: usize, low: L, high: L) -> (Quat<L>, L) {
    let native = [[low, high]; 2];
    let ([q, _], [square, _]) =
        if line.same { parts(&(), native, 1) } else { parts(&line.matrices[k], native, 1) };
    (q, square)
}

/// What a square is off 1.
#[inline(always)]
fn off_unit<L: Lanes>(square: L) -> L {
    square.mul_add(L::splat(INTEGER * INTEGER), -L::one())
}

/// Adds the square of what a [`unit`] is off that of a rotation of unit length to `off`.
#[inline(always)]
fn add_off<L: Lanes>(off: L, unit: L) -> L {
    let own = unit - L::splat(INTEGER);
    own.mul_add(own, off)
}

/// A little less than that is where a square is off by [`LOOSE`]: whoever is not called sound here is judged one rotation at
/// a time, and nobody may be sound here who would be refused there. So a verdict depends on no neighbour.
const OFF: f32 = 0.49 * LOOSE * INTEGER;

/// What makes a rotation of this square one of unit length: 1 / sqrt(square) near 1.
#[inline(always)]
fn unit<L: Lanes>(square: L) -> L {
    square.mul_add(L::splat(-0.5 * INTEGER * INTEGER * INTEGER), L::splat(1.5 * INTEGER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Portable;

    /// All squares near both edges, and the worst ones; one lane is as good as four.
    #[test]
    fn whoever_is_sound_would_not_be_refused() {
        let one = 32767.0f32.powi(4);
        let near = |edge: f32| {
            let bits = (one * edge).to_bits();
            bits - 300_000..bits + 300_000
        };
        let worst = [0.0, 1.0, 0.5 * one, 2.0 * one, 3.0 * one, 4.0 * one, f32::INFINITY];
        let edges = near(1.0 - LOOSE).chain(near(1.0 + LOOSE)).chain(near(3.0)).map(f32::from_bits);
        let mut sound_ones = 0;
        for square in edges.chain(worst) {
            let (mut sound, mut off) = (Row::ZERO, Row::ZERO);
            soundly(add_off(Portable::zero(), unit(Portable::splat(square))), &mut sound, 0);
            off_unit(Portable::splat(square)).abs().store(&mut off, 0);
            if sound.0[0] == 1.0 {
                assert!(off.0[0] < LOOSE, "{} is off by {}", square / one, off.0[0]);
                sound_ones += 1;
            }
        }
        assert!(sound_ones > 100_000);
    }
}
