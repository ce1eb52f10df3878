//! Inputs in single precision.

use super::native::ask;
use super::{LOOSE, MOST, Native, Pass, Reach, Streamed, idle, write};
use crate::lanes::{BLOCK, Lanes, LineSources, Quat, Row};
use crate::retarget::LiveMap;
use crate::retarget::live::{Basis, Input, LINE_JOINTS, Single, Singles};

/// What a squared length may be off 1 and count as 1, over all rotations of a lane, as the root of the sum of squares: some
/// roundings each.
const EXACT: f32 = 8e-6;

/// All inputs in single precision.
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
    let mut exact = Row::ZERO;
    for at in (0..BLOCK).step_by(L::N) {
        exactly(off[at / L::N], &mut exact, at);
    }
    if !exact.same(&Row::ONE) {
        tidy::<L>(map, streamed, &exact, joints, good, registers);
    }
}

/// NaN is not below anything.
#[inline(always)]
fn exactly<L: Lanes>(off: L, exact: &mut Row, at: usize) {
    L::select(off.lt(L::splat(EXACT * EXACT)), L::one(), L::zero()).store(exact, at);
}

/// Gives the sum of squares of what squared lengths are off 1.
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
    for (part, line) in map.lines.iter().enumerate() {
        if let Some(next) = next {
            next.prefetch(part, map.lines.len());
        }
        let (inputs, lines) = (&line.inputs, now.lines(4 * line.first as usize));
        off = match &line.basis {
            Basis::Same => four(inputs, &[(); LINE_JOINTS], &lines, plain, pass, off, registers),
            Basis::Turn(matrices) => four(inputs, matrices, &lines, plain, pass, off, registers),
            Basis::General(matrices) => four(inputs, matrices, &lines, plain, pass, off, registers),
        };
    }
    off
}

/// The joints of a line.
#[inline(always)]
fn four<L: Lanes, M: Change>(
    inputs: &[Input; LINE_JOINTS],
    matrices: &[M; LINE_JOINTS],
    lines: &[&[f32; BLOCK]; BLOCK],
    plain: bool,
    pass: Pass<'_>,
    mut off: [L; MOST],
    registers: &mut [[Row; 4]],
) -> [L; MOST] {
    // All at once where there are as many registers.
    let columns = if L::N == BLOCK { L::columns(lines, 0) } else { [L::zero(); BLOCK] };
    for k in 0..LINE_JOINTS {
        let (input, matrix) = (&inputs[k], &matrices[k]);
        if idle(input, pass.joints) {
            continue;
        }
        if plain && L::N == 8 {
            let [x, y, z, w] = L::quad(lines, k, 0);
            let [other_x, other_y, other_z, other_w] = L::quad(lines, k, L::N);
            let native = [Quat::new(x, y, z, w), Quat::new(other_x, other_y, other_z, other_w)];
            [off[0], off[1]] =
                both(matrix, native, [off[0], off[1]], &mut registers[input.register as usize]);
            continue;
        }
        for at in (0..BLOCK).step_by(L::N) {
            let c = &columns;
            let [x, y, z, w] = match L::N {
                BLOCK => [c[4 * k], c[4 * k + 1], c[4 * k + 2], c[4 * k + 3]],
                _ => L::quad(lines, k, at),
            };
            let pass = Pass { at, ..pass };
            off[at / L::N] = bring_in::<L, M, false>(
                matrix,
                Quat::new(x, y, z, w),
                input.register,
                pass,
                off[at / L::N],
                registers,
            );
        }
    }
    off
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
    let Singles { same, turn, general, .. } = &map.singles;
    let off = [L::zero(); MOST];
    if pass.writes_all(map) {
        let off = several::<L, _, true>(same, now, next, pass, off, registers);
        let off = several::<L, _, true>(turn, now, next, pass, off, registers);
        several::<L, _, true>(general, now, next, pass, off, registers)
    } else {
        let off = several::<L, _, false>(same, now, next, pass, off, registers);
        let off = several::<L, _, false>(turn, now, next, pass, off, registers);
        several::<L, _, false>(general, now, next, pass, off, registers)
    }
}

/// Joints whose basis can be told equally plainly; in the plain case nothing is asked per joint.
#[inline(always)]
fn several<L: Lanes, M: Change, const PLAIN: bool>(
    singles: &[Single<M>],
    now: &[Row],
    next: &[Row],
    pass: Pass<'_>,
    mut off: [L; MOST],
    registers: &mut [[Row; 4]],
) -> [L; MOST] {
    let (fours, ahead) = (now.as_chunks().0, next.as_chunks::<4>().0);
    for single in singles {
        if !PLAIN && idle(&single.input, pass.joints) {
            continue;
        }
        let joint = single.joint as usize;
        ask(ahead, joint);
        let rows = &fours[joint];
        let register = single.input.register;
        if PLAIN && L::N == 8 {
            let [x, y, z, w] = L::split_4(rows, 0);
            let [other_x, other_y, other_z, other_w] = L::split_4(rows, L::N);
            let native = [Quat::new(x, y, z, w), Quat::new(other_x, other_y, other_z, other_w)];
            [off[0], off[1]] =
                both(&single.matrix, native, [off[0], off[1]], &mut registers[register as usize]);
            continue;
        }
        for at in (0..BLOCK).step_by(L::N) {
            let [x, y, z, w] = L::split_4(rows, at);
            let native = Quat::new(x, y, z, w);
            let pass = Pass { at, ..pass };
            off[at / L::N] =
                bring_in::<L, M, PLAIN>(&single.matrix, native, register, pass, off[at / L::N], registers);
        }
    }
    off
}

/// Two parts of eight lanes, component by component, so that they share what is read of a matrix and what is done is stored
/// before the next begins: eight rows of natives, two signs and two sums are all that sixteen registers have to hold.
#[inline(always)]
fn both<L: Lanes, M: Change>(matrix: &M, native: [Quat<L>; 2], mut off: [L; 2], to: &mut [Row; 4]) -> [L; 2] {
    let mut sign = [L::zero(); 2];
    let mut own = [-L::one(); 2];
    for c in [3, 0, 1, 2] {
        let value = L::abreast([matrix.row(c, native[0]), matrix.row(c, native[1])]);
        for k in 0..2 {
            own[k] = value[k].mul_add(value[k], own[k]);
            if c == 3 {
                sign[k] = value[k];
            }
            let value = if c == 3 { value[k].abs() } else { value[k].flip(sign[k]) };
            value.store(&mut to[c], k * L::N);
        }
        own = L::abreast(own);
    }
    for k in 0..2 {
        off[k] = own[k].mul_add(own[k], off[k]);
    }
    off
}

/// A change of basis: the rows of its matrix.
trait Change {
    fn row<L: Lanes>(&self, row: usize, native: Quat<L>) -> L;
}

impl Change for () {
    #[inline(always)]
    fn row<L: Lanes>(&self, row: usize, Quat { x, y, z, w }: Quat<L>) -> L {
        [x, y, z, w][row]
    }
}

impl Change for [[f32; 3]; 3] {
    #[inline(always)]
    fn row<L: Lanes>(&self, row: usize, native: Quat<L>) -> L {
        if row == 3 { native.w } else { dot3(&self[row], native) }
    }
}

impl Change for [[f32; 4]; 4] {
    #[inline(always)]
    fn row<L: Lanes>(&self, row: usize, native: Quat<L>) -> L {
        dot4(&self[row], native)
    }
}

/// Writes the local delta of one joint, on the side of the reference pose; adds the square of what its own square is off 1
/// to `off`.
#[inline(always)]
fn bring_in<L: Lanes, M: Change, const PLAIN: bool>(
    matrix: &M,
    native: Quat<L>,
    register: u32,
    pass: Pass<'_>,
    off: L,
    registers: &mut [[Row; 4]],
) -> L {
    // In the order of `both`, so that all instruction sets say the same.
    let w = matrix.row(3, native);
    let [x, y, z] = [matrix.row(0, native), matrix.row(1, native), matrix.row(2, native)];
    let own = w.mul_add(w, -L::one());
    let own = z.mul_add(z, y.mul_add(y, x.mul_add(x, own)));
    let q = Quat::new(x.flip(w), y.flip(w), z.flip(w), w.abs());
    write::<L, PLAIN>(q, registers, register as usize, pass);
    own.mul_add(own, off)
}

/// Second look at lanes with rotations that are not of unit length: those which nearly are become it, the lanes of
/// others are no longer good. Lanes that were exact keep their bits, whatever their neighbours are.
#[inline(always)]
fn tidy<L: Lanes>(
    map: &LiveMap,
    streamed: &Streamed<'_>,
    exact: &Row,
    joints: usize,
    good: &mut Row,
    registers: &mut [[Row; 4]],
) {
    for input in map.lines.iter().flat_map(|line| &line.inputs) {
        if idle(input, joints) {
            continue;
        }
        let rows = &mut registers[input.register as usize];
        for at in (0..BLOCK).step_by(L::N) {
            let q = Quat::<L>::load(rows, at);
            let off = q.norm_squared() - L::one();
            let fine = off.abs().lt(L::splat(LOOSE));
            L::select(fine, L::load(good, at), L::zero()).store(good, at);
            let own = L::splat(0.5).lt(L::load(&streamed.own, at));
            let loose = L::and(L::and(own, fine), L::load(exact, at).lt(L::splat(0.5)));
            // 1 / sqrt(1 + off), to 4e-8.
            let unit = off.mul_add(off.mul_add(L::splat(0.375), L::splat(-0.5)), L::one());
            let q = q.scale(L::select(loose, unit, L::one()));
            // Lanes that are nobody's here are judged by nobody; a ground is asked for them all the same.
            let harmless = Quat::select(own, q, Quat::identity());
            Quat::select(fine, q, harmless).store(rows, at);
        }
    }
}

/// One after the other: what waits for itself is done while other rows are.
#[inline(always)]
fn dot3<L: Lanes>(m: &[f32; 3], q: Quat<L>) -> L {
    q.z.mul_add(L::splat(m[2]), q.y.mul_add(L::splat(m[1]), q.x * L::splat(m[0])))
}

#[inline(always)]
fn dot4<L: Lanes>(m: &[f32; 4], q: Quat<L>) -> L {
    let three = q.z.mul_add(L::splat(m[2]), q.y.mul_add(L::splat(m[1]), q.x * L::splat(m[0])));
    q.w.mul_add(L::splat(m[3]), three)
}
