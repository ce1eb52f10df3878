//! Inputs in single precision.

use super::native::ask;
use super::{LOOSE, MOST, Native, Pass, Reach, Streamed, idle, write};
use crate::lanes::{BLOCK, Lanes, LineSources, Quat, Row};
use crate::retarget::LiveMap;
use crate::retarget::live::{Basis, InputLine, LINE_JOINTS, Single, Singles};

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
    let mut exact = Row::ZERO;
    match streamed.poses {
        Native::Lines { now, next } => {
            for at in (0..BLOCK).step_by(L::N) {
                let pass = Pass { streamed, reach, joints, at };
                let off = lines::<L>(map, now, next, pass, registers);
                exactly(off, &mut exact, at);
            }
        }
        Native::Beside { now, next } => {
            let pass = Pass { streamed, reach, joints, at: 0 };
            let off = beside::<L>(map, now, next, pass, registers);
            for at in (0..BLOCK).step_by(L::N) {
                exactly(off[at / L::N], &mut exact, at);
            }
        }
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
) -> L {
    let at = pass.at;
    let mut off = L::zero();
    for (part, line) in map.lines.iter().enumerate() {
        if let (Some(next), 0) = (next, at) {
            next.prefetch(part, map.lines.len());
        }
        let lines = now.lines(4 * line.first as usize);
        if L::N < BLOCK {
            // Few registers: joint by joint.
            for k in 0..LINE_JOINTS {
                if !idle(&line.inputs[k], pass.joints) {
                    let [x, y, z, w] = L::quad(&lines, k, at);
                    off = bring_in(line, k, Quat::new(x, y, z, w), pass, off, registers);
                }
            }
            continue;
        }
        let c = L::columns(&lines, at);
        for k in 0..LINE_JOINTS {
            if !idle(&line.inputs[k], pass.joints) {
                let native = Quat::new(c[4 * k], c[4 * k + 1], c[4 * k + 2], c[4 * k + 3]);
                off = bring_in(line, k, native, pass, off, registers);
            }
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
        for at in (0..BLOCK).step_by(L::N) {
            let [x, y, z, w] = L::split_4(rows, at);
            let q = single.matrix.change(Quat::new(x, y, z, w));
            let pass = Pass { at, ..pass };
            off[at / L::N] = keep::<L, PLAIN>(q, single.input.register, pass, off[at / L::N], registers);
        }
    }
    off
}

/// A change of basis.
trait Change {
    fn change<L: Lanes>(&self, native: Quat<L>) -> Quat<L>;
}

impl Change for () {
    #[inline(always)]
    fn change<L: Lanes>(&self, native: Quat<L>) -> Quat<L> {
        native
    }
}

impl Change for [[f32; 3]; 3] {
    #[inline(always)]
    fn change<L: Lanes>(&self, native: Quat<L>) -> Quat<L> {
        turned(self, native)
    }
}

impl Change for [[f32; 4]; 4] {
    #[inline(always)]
    fn change<L: Lanes>(&self, native: Quat<L>) -> Quat<L> {
        mapped(self, native)
    }
}

/// Writes the local delta of one joint, on the side of the reference pose; adds the square of what its own square is off 1
/// to `off`.
#[inline(always)]
fn bring_in<L: Lanes>(
    line: &InputLine,
    k: usize,
    native: Quat<L>,
    pass: Pass<'_>,
    off: L,
    registers: &mut [[Row; 4]],
) -> L {
    let q = match &line.basis {
        Basis::Same => native,
        Basis::Turn(m) => turned(&m[k], native),
        Basis::General(m) => mapped(&m[k], native),
    };
    keep::<L, false>(q, line.inputs[k].register, pass, off, registers)
}

/// Stores a local delta; see [`bring_in`].
#[inline(always)]
fn keep<L: Lanes, const PLAIN: bool>(
    q: Quat<L>,
    register: u32,
    pass: Pass<'_>,
    off: L,
    registers: &mut [[Row; 4]],
) -> L {
    let own = q.w.mul_add(q.w, L::zero() - L::one());
    let own = q.x.mul_add(q.x, q.y.mul_add(q.y, q.z.mul_add(q.z, own)));
    let q = Quat::new(q.x.flip(q.w), q.y.flip(q.w), q.z.flip(q.w), q.w.abs());
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

#[inline(always)]
fn turned<L: Lanes>(m: &[[f32; 3]; 3], q: Quat<L>) -> Quat<L> {
    Quat::new(dot3(&m[0], q), dot3(&m[1], q), dot3(&m[2], q), q.w)
}

#[inline(always)]
fn mapped<L: Lanes>(m: &[[f32; 4]; 4], q: Quat<L>) -> Quat<L> {
    Quat::new(dot4(&m[0], q), dot4(&m[1], q), dot4(&m[2], q), dot4(&m[3], q))
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
