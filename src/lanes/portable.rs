//! Lanes over `wide::f32x4`: SSE2, NEON, wasm. No intrinsics of ours.
//!
//! Four lanes, because on SSE2 wider types spill: `f32x8` and `f32x16` were 4 to 20 % slower.

use core::ops::{Add, Div, Mul, Neg, Sub};

use wide::{f32x4, i16x8, i32x4};

use super::{BLOCK, KeyGroup, KeyPair, Lanes, Line, LineTargets, Row};

/// Four lanes on any target.
#[derive(Clone, Copy)]
pub(crate) struct Portable(f32x4);

impl Add for Portable {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0)
    }
}
impl Sub for Portable {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        Self(self.0 - o.0)
    }
}
impl Mul for Portable {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self(self.0 * o.0)
    }
}
impl Div for Portable {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        Self(self.0 / o.0)
    }
}
impl Neg for Portable {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0 ^ f32x4::splat(-0.0))
    }
}

/// As one load: put together element by element it stays four loads and three shuffles.
#[inline(always)]
fn four(row: &Row, at: usize) -> f32x4 {
    let quarters: &[f32x4; 4] = bytemuck::cast_ref(&row.0);
    quarters[at / 4]
}

/// The same, of memory that may lie anywhere.
#[inline(always)]
fn four_of(line: &[f32; BLOCK], quad: usize) -> f32x4 {
    let quarters: &[[f32; 4]; 4] = bytemuck::cast_ref(line);
    f32x4::new(quarters[quad])
}

#[inline(always)]
fn tile(rows: &[Row; BLOCK], r: usize, c: usize) -> [f32x4; 4] {
    f32x4::transpose([
        four(&rows[4 * r], 4 * c),
        four(&rows[4 * r + 1], 4 * c),
        four(&rows[4 * r + 2], 4 * c),
        four(&rows[4 * r + 3], 4 * c),
    ])
}

#[inline(always)]
fn eight(group: &KeyGroup, at: usize) -> [i16; 8] {
    let mut values = [0i16; 8];
    values.copy_from_slice(&group.0[at..at + 8]);
    values
}

impl Lanes for Portable {
    const N: usize = 4;
    type Mask = f32x4;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self(f32x4::splat(x))
    }
    #[inline(always)]
    fn load(row: &Row, at: usize) -> Self {
        Self(four(row, at))
    }
    #[inline(always)]
    fn store(self, row: &mut Row, at: usize) {
        row.0[at..at + 4].copy_from_slice(&self.0.to_array());
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // Never `wide`'s own: whether that fuses depends on the flags of the build.
        Self(self.0 * b.0 + c.0)
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        Self(c.0 - self.0 * b.0)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt())
    }
    #[inline(always)]
    fn floor(self) -> Self {
        if cfg!(all(target_arch = "x86_64", not(target_feature = "sse4.1"))) {
            // SSE2 cannot round, and `wide` calls a function per lane: a tenth of the frame.
            let whole: f32x4 = self.0.fast_trunc_int().round_float();
            let less = self.0.simd_lt(whole) & f32x4::splat(1.0);
            // The sign of what is rounded, so that -0 stays; from 2^23 on there is nothing behind the point.
            let sign = self.0 & f32x4::splat(-0.0);
            let small = self.0.abs().simd_lt(f32x4::splat(8_388_608.0));
            Self(small.select((whole - less) | sign, self.0))
        } else {
            Self(self.0.floor())
        }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.lt(other), self, other)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(other.lt(self), self, other)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.abs())
    }
    #[inline(always)]
    fn flip(self, by: Self) -> Self {
        Self(self.0 ^ (by.0 & f32x4::splat(-0.0)))
    }
    #[inline(always)]
    fn lt(self, other: Self) -> f32x4 {
        self.0.simd_lt(other.0)
    }
    #[inline(always)]
    fn select(mask: f32x4, a: Self, b: Self) -> Self {
        Self(mask.select(a.0, b.0))
    }
    #[inline(always)]
    fn and(a: f32x4, b: f32x4) -> f32x4 {
        a & b
    }
    #[inline(always)]
    fn or(a: f32x4, b: f32x4) -> f32x4 {
        a | b
    }
    #[inline(always)]
    fn load_i32(row: &Row, at: usize) -> Self {
        let row: &[i32; BLOCK] = bytemuck::cast_ref(&row.0);
        Self(i32x4::new([row[at], row[at + 1], row[at + 2], row[at + 3]]).round_float())
    }
    #[inline(always)]
    fn store_i32(self, row: &mut [i32; BLOCK], at: usize) {
        row[at..at + 4].copy_from_slice(&self.0.fast_trunc_int().to_array());
    }
    #[inline(always)]
    fn pack_snorm(lo: Self, hi: Self) -> Self {
        let one = f32x4::splat(32767.0);
        let lo = (lo.0 * one).fast_round_int();
        let hi = (hi.0 * one).fast_round_int();
        let bits: i32x4 = (lo & i32x4::splat(0xffff)) | (hi << 16);
        Self(bytemuck::cast(bits))
    }
    #[inline(always)]
    fn dot_i16(low: Self, high: Self, of_low: i32, of_high: i32) -> Self {
        let low: i16x8 = bytemuck::cast(low.0);
        let high: i16x8 = bytemuck::cast(high.0);
        let low = low.dot(bytemuck::cast(i32x4::splat(of_low)));
        let high = high.dot(bytemuck::cast(i32x4::splat(of_high)));
        Self((low + high).round_float())
    }

    #[inline(always)]
    fn transpose(rows: &[Row; BLOCK], lines: &mut [Row; BLOCK]) {
        for r in 0..4 {
            for c in 0..4 {
                for (k, v) in tile(rows, r, c).iter().enumerate() {
                    lines[4 * c + k].0[4 * r..4 * r + 4].copy_from_slice(&v.to_array());
                }
            }
        }
    }
    #[inline(always)]
    fn columns(lines: &[&[f32; BLOCK]; BLOCK], at: usize) -> [Self; BLOCK] {
        let mut columns = [Self::zero(); BLOCK];
        for quad in 0..4 {
            columns[4 * quad..4 * quad + 4].copy_from_slice(&Self::quad(lines, quad, at));
        }
        columns
    }
    #[inline(always)]
    fn quad(lines: &[&[f32; BLOCK]; BLOCK], quad: usize, at: usize) -> [Self; 4] {
        let [a, b, c, d] = f32x4::transpose([
            four_of(lines[at], quad),
            four_of(lines[at + 1], quad),
            four_of(lines[at + 2], quad),
            four_of(lines[at + 3], quad),
        ]);
        [Self(a), Self(b), Self(c), Self(d)]
    }
    #[inline(always)]
    fn split_4(rows: &[Row; 4], at: usize) -> [Self; 4] {
        f32x4::transpose([four(&rows[0], at), four(&rows[1], at), four(&rows[2], at), four(&rows[3], at)])
            .map(Self)
    }
    #[inline(always)]
    fn split_2(rows: &[Row; 2], at: usize) -> [Self; 2] {
        let [a, b] = [&rows[0].0[at..at + 4], &rows[1].0[at..at + 4]];
        [Self(f32x4::new([a[0], a[2], b[0], b[2]])), Self(f32x4::new([a[1], a[3], b[1], b[3]]))]
    }
    #[inline(always)]
    fn write_lines(rows: [Self; BLOCK], out: &mut LineTargets<'_>, at: usize, line: usize, stream: bool) {
        let mut lines = [Line::ZERO; 4];
        for r in 0..4 {
            let tile = [rows[4 * r].0, rows[4 * r + 1].0, rows[4 * r + 2].0, rows[4 * r + 3].0];
            for (k, v) in f32x4::transpose(tile).iter().enumerate() {
                lines[k].0[4 * r..4 * r + 4].copy_from_slice(&v.to_array());
            }
        }
        for (k, value) in lines.iter().enumerate() {
            value.put(out.line(at + k, line), stream);
        }
    }
    #[inline(always)]
    fn mix_keys(pairs: &[KeyPair<'_>], group: usize, even: &mut Row, odd: &mut Row) {
        let even: &mut [i32; BLOCK] = bytemuck::cast_mut(&mut even.0);
        let odd: &mut [i32; BLOCK] = bytemuck::cast_mut(&mut odd.0);
        for q in 0..4 {
            let mut low = i32x4::splat(0);
            let mut high = i32x4::splat(0);
            for pair in pairs {
                let [w0, w1] = pair.weights();
                let [left, right] = pair.group(group);
                // `wide` has no interleave to feed its pairwise `dot`; made from arrays it was twice as slow.
                let a = i16x8::new(eight(left, 8 * q)).widening_mul(i16x8::splat(w0));
                let b = i16x8::new(eight(right, 8 * q)).widening_mul(i16x8::splat(w1));
                let [first, second]: [i32x4; 2] = bytemuck::cast(a + b);
                low += first;
                high += second;
            }
            even[4 * q..4 * q + 4].copy_from_slice(&low.to_array());
            odd[4 * q..4 * q + 4].copy_from_slice(&high.to_array());
        }
    }
}
