//! Every operation on every instruction set in every mode against plain `f32`.

use super::{
    BLOCK, GROUP, Isa, KeyGroup, KeyPair, Lanes, Mode, Row, Simd, exp_neg, per_isa, place_of_2, place_of_4,
    sin_cos_small,
};

const OPS: usize = 19;

per_isa! {
    fn operate(a: &Row, b: &Row, c: &Row, out: &mut [Row; OPS]) = operate_kernel;
}

#[inline(always)]
fn operate_kernel<L: Lanes>(a: &Row, b: &Row, c: &Row, out: &mut [Row; OPS]) {
    for at in (0..BLOCK).step_by(L::N) {
        let (x, y, z) = (L::load(a, at), L::load(b, at), L::load(c, at));
        let (less, other) = (x.lt(y), y.lt(z));
        let truth = |mask| L::select(mask, L::one(), L::zero());
        let results = [
            x + y,
            x - y,
            x * y,
            x / y,
            -x,
            x.sqrt(),
            x.floor(),
            x.min(y),
            x.max(y),
            x.abs(),
            L::select(less, x, z),
            truth(L::and(less, other)),
            truth(L::or(less, other)),
            x.clamp(y, z),
            x.mul_add(y, z),
            x.neg_mul_add(y, z),
            L::load_i32(a, at),
            exp_neg(x.abs()),
            L::splat(0.75),
        ];
        for (value, row) in results.into_iter().zip(out.iter_mut()) {
            value.store(row, at);
        }
    }
}

/// What the operations say in scalars; `fused` is the mode.
fn scalar(x: f32, y: f32, z: f32, fused: bool) -> [f32; OPS - 2] {
    let truth = |b: bool| if b { 1.0 } else { 0.0 };
    let min = |a: f32, b: f32| if a < b { a } else { b };
    let max = |a: f32, b: f32| if a > b { a } else { b };
    [
        x + y,
        x - y,
        x * y,
        x / y,
        -x,
        x.sqrt(),
        x.floor(),
        min(x, y),
        max(x, y),
        x.abs(),
        if x < y { x } else { z },
        truth(x < y && y < z),
        truth(x < y || y < z),
        min(max(x, y), z),
        if fused { x.mul_add(y, z) } else { x * y + z },
        if fused { (-x).mul_add(y, z) } else { z - x * y },
        x.to_bits() as i32 as f32,
    ]
}

fn all() -> impl Iterator<Item = (Simd, bool)> {
    Isa::available().iter().flat_map(|&isa| {
        [Mode::Fast, Mode::Strict]
            .map(|mode| (Simd::new(isa, mode), mode == Mode::Fast && isa != Isa::PORTABLE))
    })
}

/// xorshift64*, upper half.
fn next(state: &mut u64) -> u32 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) as u32
}

#[test]
fn operations_agree_with_scalars_to_the_bit() {
    let mut state = 1;
    let special = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, -1e30, 8_388_609.0, f32::INFINITY, f32::NAN];
    for round in 0..2000 {
        let mut row = || {
            Row(core::array::from_fn(|_| {
                let bits = next(&mut state);
                match round % 3 {
                    0 => special[bits as usize % special.len()],
                    1 => (bits as i32 as f32) * 1e-8,
                    _ => (bits % 4096) as f32 / 64.0 - 32.0,
                }
            }))
        };
        let (a, b, c) = (row(), row(), row());
        for (simd, fused) in all() {
            let mut out = [Row::ZERO; OPS];
            operate(simd, &a, &b, &c, &mut out);
            for lane in 0..BLOCK {
                let (x, y, z) = (a.0[lane], b.0[lane], c.0[lane]);
                for (op, right) in scalar(x, y, z, fused).into_iter().enumerate() {
                    let have = out[op].0[lane];
                    let same = have.to_bits() == right.to_bits()
                        || (have.is_nan() && right.is_nan())
                        // Which zero the smaller or larger of two zeros is, is nobody's business.
                        || (have == 0.0 && right == 0.0 && matches!(op, 7 | 8 | 13));
                    assert!(same, "{simd:?}, operation {op} of {x} {y} {z}: {have} for {right}");
                }
                assert_eq!(out[18].0[lane], 0.75);
            }
        }
    }
}

per_isa! {
    fn curves(a: &Row, out: &mut [Row; 3]) = curves_kernel;
}

#[inline(always)]
fn curves_kernel<L: Lanes>(a: &Row, out: &mut [Row; 3]) {
    for at in (0..BLOCK).step_by(L::N) {
        let x = L::load(a, at);
        exp_neg(x.abs()).store(&mut out[0], at);
        let (s, c) = sin_cos_small(x);
        s.store(&mut out[1], at);
        c.store(&mut out[2], at);
    }
}

#[test]
fn polynomials_keep_their_promised_errors() {
    for (simd, _) in all() {
        for step in 0..1000 {
            let row = Row(core::array::from_fn(|lane| (step * 16 + lane) as f32 / 1000.0));
            let mut out = [Row::ZERO; 3];
            curves(simd, &row, &mut out);
            for lane in 0..BLOCK {
                let x = f64::from(row.0[lane]);
                let right = (-x).exp();
                let off = (f64::from(out[0].0[lane]) - right).abs() / right;
                assert!(off < if x <= 8.0 { 2e-6 } else { 2e-5 }, "{simd:?}: exp(-{x}) off by {off:e}");
                if x <= 1.2 {
                    assert!((f64::from(out[1].0[lane]) - x.sin()).abs() < 1e-6, "{simd:?}: sin {x}");
                    assert!((f64::from(out[2].0[lane]) - x.cos()).abs() < 1e-6, "{simd:?}: cos {x}");
                }
            }
        }
    }
}

per_isa! {
    fn turn(rows: &[Row; BLOCK], lines: &mut [Row; BLOCK]) = turn_kernel;
}

#[inline(always)]
fn turn_kernel<L: Lanes>(rows: &[Row; BLOCK], lines: &mut [Row; BLOCK]) {
    L::transpose(rows, lines);
}

per_isa! {
    fn pack(a: &Row, b: &Row, out: &mut Row) = pack_kernel;
}

#[inline(always)]
fn pack_kernel<L: Lanes>(a: &Row, b: &Row, out: &mut Row) {
    for at in (0..BLOCK).step_by(L::N) {
        L::pack_snorm(L::load(a, at), L::load(b, at)).store(out, at);
    }
}

#[test]
fn transposes_and_packs_exactly() {
    for (simd, _) in all() {
        let rows: [Row; BLOCK] =
            core::array::from_fn(|r| Row(core::array::from_fn(|c| (r * BLOCK + c) as f32)));
        let mut lines = [Row::ZERO; BLOCK];
        turn(simd, &rows, &mut lines);
        for (r, row) in rows.iter().enumerate() {
            for (value, line) in row.0.iter().zip(&lines) {
                assert_eq!(line.0[r], *value, "{simd:?}");
            }
        }
        for step in 0..256 {
            let value = |lane: usize, k: usize| ((step * 16 + lane) as f32 / 2047.5 - 1.0) * k as f32 * 0.5;
            let a = Row(core::array::from_fn(|lane| value(lane, 2)));
            let b = Row(core::array::from_fn(|lane| -value(lane, 1)));
            let mut out = Row::ZERO;
            pack(simd, &a, &b, &mut out);
            for lane in 0..BLOCK {
                let bits = out.0[lane].to_bits();
                let right = |v: f32| (v * 32767.0).round_ties_even() as i16;
                assert_eq!(bits as u16 as i16, right(a.0[lane]), "{simd:?}");
                assert_eq!((bits >> 16) as u16 as i16, right(b.0[lane]), "{simd:?}");
            }
        }
    }
}

per_isa! {
    fn mix<'a>(pairs: &[KeyPair<'a>], group: usize, even: &mut Row, odd: &mut Row) = mix_kernel;
}

#[inline(always)]
fn mix_kernel<L: Lanes>(pairs: &[KeyPair<'_>], group: usize, even: &mut Row, odd: &mut Row) {
    L::mix_keys(pairs, group, even, odd);
}

#[test]
fn keys_are_mixed_exactly_up_to_the_largest_sums() {
    let mut state = 9;
    for round in 0..300 {
        let extreme = round % 5 == 0;
        // Four pairs of keys of two groups each.
        let mut group = || {
            KeyGroup(core::array::from_fn(|_| {
                let bits = next(&mut state);
                match (extreme, bits & 1) {
                    (false, _) => bits as i16,
                    (true, 0) => 32767,
                    (true, _) => -32767,
                }
            }))
        };
        let keys: [[KeyGroup; 4]; 4] = core::array::from_fn(|_| core::array::from_fn(|_| group()));
        let count = 1 + round % 4;
        let share = 32767 / count;
        let weights: Vec<[i16; 2]> = (0..count)
            .map(|_| {
                let right = (next(&mut state) % share as u32) as i32;
                [(share - right) as i16, right as i16]
            })
            .collect();
        let pairs: Vec<KeyPair<'_>> =
            keys.iter().zip(&weights).map(|(keys, &weights)| KeyPair::new(keys, weights)).collect();
        for (simd, _) in all() {
            for group in 0..2 {
                let (mut even, mut odd) = (Row::ZERO, Row::ZERO);
                mix(simd, &pairs, group, &mut even, &mut odd);
                for quad in 0..GROUP {
                    for c in 0..4 {
                        let right: i64 = keys
                            .iter()
                            .zip(&weights)
                            .map(|(keys, &[a, b])| {
                                let of = |key: usize| i64::from(keys[2 * key + group].0[4 * quad + c]);
                                of(0) * i64::from(a) + of(1) * i64::from(b)
                            })
                            .sum();
                        let row = if quad % 2 == 0 { &even } else { &odd };
                        let have = row.0[4 * (quad / 2) + c].to_bits() as i32;
                        assert_eq!(i64::from(have), right, "{simd:?}, quad {quad}");
                    }
                }
            }
        }
    }
}

per_isa! {
    fn dot(low: &Row, high: &Row, factors: [i32; 2], out: &mut Row) = dot_kernel;
}

#[inline(always)]
fn dot_kernel<L: Lanes>(low: &Row, high: &Row, factors: [i32; 2], out: &mut Row) {
    for at in (0..BLOCK).step_by(L::N) {
        L::dot_i16(L::load(low, at), L::load(high, at), factors[0], factors[1]).store(out, at);
    }
}

#[test]
fn products_of_integers_are_exact_and_wrap() {
    let mut state = 5;
    let halves = |word: u32| [word as u16 as i16, (word >> 16) as i16];
    for round in 0..500 {
        let mut word = || match round % 3 {
            0 => [0x8000_8000, 0x7fff_7fff, 0x8001_7fff, 0, 1][next(&mut state) as usize % 5],
            _ => next(&mut state),
        };
        let low: [u32; BLOCK] = core::array::from_fn(|_| word());
        let high: [u32; BLOCK] = core::array::from_fn(|_| word());
        let factors = [word() & 0x7fff_7fff, word() & 0x7fff_7fff];
        for (simd, _) in all() {
            let mut out = Row::ZERO;
            let [a, b] = [low, high].map(|words| Row(words.map(f32::from_bits)));
            dot(simd, &a, &b, factors.map(|factor| factor as i32), &mut out);
            for lane in 0..BLOCK {
                let pairs = [(low[lane], factors[0]), (high[lane], factors[1])];
                let right = pairs.into_iter().fold(0i32, |sum, (word, factor)| {
                    let (word, factor) = (halves(word), halves(factor));
                    let product = |k: usize| i32::from(word[k]) * i32::from(factor[k]);
                    sum.wrapping_add(product(0)).wrapping_add(product(1))
                });
                assert_eq!(out.0[lane], right as f32, "{simd:?}");
            }
        }
    }
}

per_isa! {
    fn split(fours: &[Row; 4], twos: &[Row; 2], out: &mut [Row; 6]) = split_kernel;
}

#[inline(always)]
fn split_kernel<L: Lanes>(fours: &[Row; 4], twos: &[Row; 2], out: &mut [Row; 6]) {
    for at in (0..BLOCK).step_by(L::N) {
        for (k, value) in L::split_4(fours, at).into_iter().enumerate() {
            value.store(&mut out[k], at);
        }
        for (k, value) in L::split_2(twos, at).into_iter().enumerate() {
            value.store(&mut out[4 + k], at);
        }
    }
}

/// Each lane's values are where it wrote them, and no two lanes have the same place.
#[test]
fn what_lanes_hold_side_by_side_is_split() {
    let (mut fours, mut twos) = ([[f32::NAN; 4]; BLOCK], [[f32::NAN; 2]; BLOCK]);
    for lane in 0..BLOCK {
        fours[place_of_4(lane)] = core::array::from_fn(|k| (10 * lane + k) as f32);
        twos[place_of_2(lane)] = core::array::from_fn(|k| (10 * lane + k) as f32 + 0.5);
    }
    let (fours, twos): ([Row; 4], [Row; 2]) = (bytemuck::cast(fours), bytemuck::cast(twos));
    for (simd, _) in all() {
        let mut out = [Row::ZERO; 6];
        split(simd, &fours, &twos, &mut out);
        for lane in 0..BLOCK {
            for k in 0..6 {
                let right = if k < 4 { (10 * lane + k) as f32 } else { (10 * lane + k - 4) as f32 + 0.5 };
                assert_eq!(out[k].0[lane], right, "{simd:?}, lane {lane}, value {k}");
            }
        }
    }
}
