//! Lanes over AVX2 with FMA (`Ymm`) and AVX-512 (`Zmm`).
//!
//! SAFETY, for every block of this file: these types are only named by the entry functions that `per_isa!`
//! makes, which run only behind an `Isa` whose features were detected; everything here is inlined into them.
//! Loads and stores go through slices or arrays whose bounds were checked first.
#![allow(unsafe_code)]
// Iterators over vector types are calls that lack the target features when they are not inlined.
#![allow(clippy::needless_range_loop)]

mod turn;

use core::arch::x86_64::*;
use core::ops::{Add, Div, Mul, Neg, Sub};

use super::{BLOCK, KeyPair, Lanes, LineTargets, Row};
use turn::{halves_of, lines_of, quarters_of, tiles, transpose8, transpose8x4};

/// Eight lanes; `FUSED` is the arithmetic mode.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Ymm<const FUSED: bool>(__m256);

/// Sixteen lanes, a whole row; `FUSED` is the arithmetic mode.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Zmm<const FUSED: bool>(__m512);

macro_rules! operators {
    ($t:ident, $add:ident, $sub:ident, $mul:ident, $div:ident, $xor:ident, $set1:ident) => {
        impl<const F: bool> Add for $t<F> {
            type Output = Self;
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                Self(unsafe { $add(self.0, o.0) })
            }
        }
        impl<const F: bool> Sub for $t<F> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                Self(unsafe { $sub(self.0, o.0) })
            }
        }
        impl<const F: bool> Mul for $t<F> {
            type Output = Self;
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                Self(unsafe { $mul(self.0, o.0) })
            }
        }
        impl<const F: bool> Div for $t<F> {
            type Output = Self;
            #[inline(always)]
            fn div(self, o: Self) -> Self {
                Self(unsafe { $div(self.0, o.0) })
            }
        }
        impl<const F: bool> Neg for $t<F> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(unsafe { $xor(self.0, $set1(-0.0)) })
            }
        }
    };
}
operators!(Ymm, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_div_ps, _mm256_xor_ps, _mm256_set1_ps);
operators!(Zmm, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps, _mm512_div_ps, _mm512_xor_ps, _mm512_set1_ps);

/// No instruction, but both values are there before it. Inlined like an intrinsic, and with its feature as they have it: without,
/// there are no such registers to name.
#[inline]
#[target_feature(enable = "avx")]
fn abreast(mut a: __m256, mut b: __m256) -> [__m256; 2] {
    unsafe {
        core::arch::asm!("/* {a} {b} */", a = inout(ymm_reg) a, b = inout(ymm_reg) b, options(nomem, nostack, preserves_flags));
    }
    [a, b]
}

impl<const FUSED: bool> Lanes for Ymm<FUSED> {
    const N: usize = 8;
    type Mask = __m256;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self(unsafe { _mm256_set1_ps(x) })
    }
    #[inline(always)]
    fn load(row: &Row, at: usize) -> Self {
        let s = &row.0[at..at + 8];
        Self(unsafe { s.as_ptr().cast::<__m256>().read_unaligned() })
    }
    #[inline(always)]
    fn store(self, row: &mut Row, at: usize) {
        let s = &mut row.0[at..at + 8];
        unsafe { s.as_mut_ptr().cast::<__m256>().write_unaligned(self.0) }
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        if FUSED { Self(unsafe { _mm256_fmadd_ps(self.0, b.0, c.0) }) } else { self * b + c }
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        if FUSED { Self(unsafe { _mm256_fnmadd_ps(self.0, b.0, c.0) }) } else { c - self * b }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(unsafe { _mm256_sqrt_ps(self.0) })
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Self(unsafe { _mm256_floor_ps(self.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(unsafe { _mm256_min_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(unsafe { _mm256_max_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) })
    }
    #[inline(always)]
    fn flip(self, by: Self) -> Self {
        unsafe { Self(_mm256_xor_ps(self.0, _mm256_and_ps(by.0, _mm256_set1_ps(-0.0)))) }
    }
    #[inline(always)]
    fn lt(self, other: Self) -> __m256 {
        unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn select(mask: __m256, a: Self, b: Self) -> Self {
        Self(unsafe { _mm256_blendv_ps(b.0, a.0, mask) })
    }
    #[inline(always)]
    fn and(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_and_ps(a, b) }
    }
    #[inline(always)]
    fn or(a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_or_ps(a, b) }
    }
    #[inline(always)]
    fn load_i32(row: &Row, at: usize) -> Self {
        let s = &row.0[at..at + 8];
        Self(unsafe { _mm256_cvtepi32_ps(s.as_ptr().cast::<__m256i>().read_unaligned()) })
    }
    #[inline(always)]
    fn store_i32(self, row: &mut [i32; BLOCK], at: usize) {
        let s = &mut row[at..at + 8];
        unsafe { s.as_mut_ptr().cast::<__m256i>().write_unaligned(_mm256_cvttps_epi32(self.0)) }
    }
    #[inline(always)]
    fn pack_snorm(lo: Self, hi: Self) -> Self {
        unsafe {
            let one = _mm256_set1_ps(32767.0);
            let lo = _mm256_cvtps_epi32(_mm256_mul_ps(lo.0, one));
            let hi = _mm256_cvtps_epi32(_mm256_mul_ps(hi.0, one));
            let bits =
                _mm256_or_si256(_mm256_and_si256(lo, _mm256_set1_epi32(0xffff)), _mm256_slli_epi32::<16>(hi));
            Self(_mm256_castsi256_ps(bits))
        }
    }
    #[inline(always)]
    fn abreast([a, b]: [Self; 2]) -> [Self; 2] {
        let [a, b] = unsafe { abreast(a.0, b.0) };
        [Self(a), Self(b)]
    }
    #[inline(always)]
    fn dot_i16(low: Self, high: Self, of_low: i32, of_high: i32) -> Self {
        unsafe {
            let low = _mm256_madd_epi16(_mm256_castps_si256(low.0), _mm256_set1_epi32(of_low));
            let high = _mm256_madd_epi16(_mm256_castps_si256(high.0), _mm256_set1_epi32(of_high));
            Self(_mm256_cvtepi32_ps(_mm256_add_epi32(low, high)))
        }
    }

    #[inline(always)]
    fn transpose(rows: &[Row; BLOCK], lines: &mut [Row; BLOCK]) {
        for r in 0..2 {
            for c in 0..2 {
                let tile = transpose8(rows, 8 * r, 8 * c);
                for k in 0..8 {
                    Self::store(Self(tile[k]), &mut lines[8 * c + k], 8 * r);
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
        let [a, b, c, d] = transpose8x4(lines, at, 4 * quad);
        [Self(a), Self(b), Self(c), Self(d)]
    }
    #[inline(always)]
    fn split_4(rows: &[Row; 4], at: usize) -> [Self; 4] {
        let [a, b] = [Self::load(&rows[0], at).0, Self::load(&rows[1], at).0];
        let [d, e] = [Self::load(&rows[2], at).0, Self::load(&rows[3], at).0];
        let [a, b, d, e] = halves_of(a, b, d, e);
        [Self(a), Self(b), Self(d), Self(e)]
    }
    #[inline(always)]
    fn split_2(rows: &[Row; 2], at: usize) -> [Self; 2] {
        let [a, b] = [Self::load(&rows[0], at).0, Self::load(&rows[1], at).0];
        unsafe { [Self(_mm256_shuffle_ps::<0x88>(a, b)), Self(_mm256_shuffle_ps::<0xdd>(a, b))] }
    }
    /// By way of memory, whose loads put halves together: see [`transpose8`].
    #[inline(always)]
    fn write_lines(rows: [Self; BLOCK], out: &mut LineTargets<'_>, at: usize, line: usize, stream: bool) {
        let mut lanes = [Row::ZERO; BLOCK];
        for r in 0..BLOCK {
            Self::store(rows[r], &mut lanes[r], 0);
        }
        let low = transpose8(&lanes, 0, 0);
        let high = transpose8(&lanes, 8, 0);
        for k in 0..8 {
            let target = out.line(at + k, line).0.as_mut_ptr();
            unsafe {
                if stream {
                    _mm256_stream_ps(target, low[k]);
                    _mm256_stream_ps(target.add(8), high[k]);
                } else {
                    _mm256_store_ps(target, low[k]);
                    _mm256_store_ps(target.add(8), high[k]);
                }
            }
        }
    }
    #[inline(always)]
    fn mix_keys(pairs: &[KeyPair<'_>], group: usize, even: &mut Row, odd: &mut Row) {
        unsafe {
            let mut low = [_mm256_setzero_si256(); 2];
            let mut high = low;
            for pair in pairs {
                let weights = _mm256_set1_epi32(pair.weights);
                let [a, b] = pair.group(group);
                for h in 0..2 {
                    let a = _mm256_load_si256(a.0.as_ptr().cast::<__m256i>().add(h));
                    let b = _mm256_load_si256(b.0.as_ptr().cast::<__m256i>().add(h));
                    let l = _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), weights);
                    let u = _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), weights);
                    low[h] = _mm256_add_epi32(low[h], l);
                    high[h] = _mm256_add_epi32(high[h], u);
                }
            }
            for h in 0..2 {
                _mm256_store_si256(even.0.as_mut_ptr().cast::<__m256i>().add(h), low[h]);
                _mm256_store_si256(odd.0.as_mut_ptr().cast::<__m256i>().add(h), high[h]);
            }
        }
    }
}

impl<const FUSED: bool> Lanes for Zmm<FUSED> {
    const N: usize = 16;
    type Mask = __mmask16;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self(unsafe { _mm512_set1_ps(x) })
    }
    #[inline(always)]
    fn load(row: &Row, _at: usize) -> Self {
        Self(unsafe { _mm512_load_ps(row.0.as_ptr()) })
    }
    #[inline(always)]
    fn store(self, row: &mut Row, _at: usize) {
        unsafe { _mm512_store_ps(row.0.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        if FUSED { Self(unsafe { _mm512_fmadd_ps(self.0, b.0, c.0) }) } else { self * b + c }
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        if FUSED { Self(unsafe { _mm512_fnmadd_ps(self.0, b.0, c.0) }) } else { c - self * b }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(unsafe { _mm512_sqrt_ps(self.0) })
    }
    #[inline(always)]
    fn floor(self) -> Self {
        Self(unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(unsafe { _mm512_min_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(unsafe { _mm512_max_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(unsafe { _mm512_abs_ps(self.0) })
    }
    #[inline(always)]
    fn flip(self, by: Self) -> Self {
        unsafe { Self(_mm512_xor_ps(self.0, _mm512_and_ps(by.0, _mm512_set1_ps(-0.0)))) }
    }
    #[inline(always)]
    fn lt(self, other: Self) -> __mmask16 {
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) }
    }
    #[inline(always)]
    fn select(mask: __mmask16, a: Self, b: Self) -> Self {
        Self(unsafe { _mm512_mask_blend_ps(mask, b.0, a.0) })
    }
    #[inline(always)]
    fn and(a: __mmask16, b: __mmask16) -> __mmask16 {
        a & b
    }
    #[inline(always)]
    fn or(a: __mmask16, b: __mmask16) -> __mmask16 {
        a | b
    }
    #[inline(always)]
    fn load_i32(row: &Row, _at: usize) -> Self {
        Self(unsafe { _mm512_cvtepi32_ps(_mm512_load_si512(row.0.as_ptr().cast())) })
    }
    #[inline(always)]
    fn store_i32(self, row: &mut [i32; BLOCK], _at: usize) {
        unsafe { _mm512_storeu_si512(row.as_mut_ptr().cast(), _mm512_cvttps_epi32(self.0)) }
    }
    #[inline(always)]
    fn pack_snorm(lo: Self, hi: Self) -> Self {
        unsafe {
            let one = _mm512_set1_ps(32767.0);
            let lo = _mm512_cvtps_epi32(_mm512_mul_ps(lo.0, one));
            let hi = _mm512_cvtps_epi32(_mm512_mul_ps(hi.0, one));
            let bits =
                _mm512_or_si512(_mm512_and_si512(lo, _mm512_set1_epi32(0xffff)), _mm512_slli_epi32::<16>(hi));
            Self(_mm512_castsi512_ps(bits))
        }
    }
    #[inline(always)]
    fn dot_i16(low: Self, high: Self, of_low: i32, of_high: i32) -> Self {
        unsafe {
            let low = _mm512_madd_epi16(_mm512_castps_si512(low.0), _mm512_set1_epi32(of_low));
            let high = _mm512_madd_epi16(_mm512_castps_si512(high.0), _mm512_set1_epi32(of_high));
            Self(_mm512_cvtepi32_ps(_mm512_add_epi32(low, high)))
        }
    }

    #[inline(always)]
    fn transpose(rows: &[Row; BLOCK], lines: &mut [Row; BLOCK]) {
        let tiles = tiles(rows);
        for k in 0..4 {
            let four = lines_of(&tiles, k);
            for q in 0..4 {
                Self::store(Self(four[q]), &mut lines[4 * q + k], 0);
            }
        }
    }
    #[inline(always)]
    fn columns(lines: &[&[f32; BLOCK]; BLOCK], _at: usize) -> [Self; BLOCK] {
        let tiles = tiles(lines);
        let mut columns = [Self::zero(); BLOCK];
        for k in 0..4 {
            let four = lines_of(&tiles, k);
            for q in 0..4 {
                columns[4 * q + k] = Self(four[q]);
            }
        }
        columns
    }
    #[inline(always)]
    fn quad(lines: &[&[f32; BLOCK]; BLOCK], quad: usize, at: usize) -> [Self; 4] {
        let columns = Self::columns(lines, at);
        [columns[4 * quad], columns[4 * quad + 1], columns[4 * quad + 2], columns[4 * quad + 3]]
    }
    #[inline(always)]
    fn split_4(rows: &[Row; 4], at: usize) -> [Self; 4] {
        let [a, b, d, e] = [
            Self::load(&rows[0], at).0,
            Self::load(&rows[1], at).0,
            Self::load(&rows[2], at).0,
            Self::load(&rows[3], at).0,
        ];
        let [a, b, d, e] = quarters_of(a, b, d, e);
        [Self(a), Self(b), Self(d), Self(e)]
    }
    #[inline(always)]
    fn split_2(rows: &[Row; 2], at: usize) -> [Self; 2] {
        let [a, b] = [Self::load(&rows[0], at).0, Self::load(&rows[1], at).0];
        unsafe { [Self(_mm512_shuffle_ps::<0x88>(a, b)), Self(_mm512_shuffle_ps::<0xdd>(a, b))] }
    }
    #[inline(always)]
    fn write_lines(rows: [Self; BLOCK], out: &mut LineTargets<'_>, _at: usize, line: usize, stream: bool) {
        let tiles = [
            quarters_of(rows[0].0, rows[1].0, rows[2].0, rows[3].0),
            quarters_of(rows[4].0, rows[5].0, rows[6].0, rows[7].0),
            quarters_of(rows[8].0, rows[9].0, rows[10].0, rows[11].0),
            quarters_of(rows[12].0, rows[13].0, rows[14].0, rows[15].0),
        ];
        for k in 0..4 {
            let four = lines_of(&tiles, k);
            for q in 0..4 {
                let target = out.line(4 * q + k, line).0.as_mut_ptr();
                unsafe {
                    if stream {
                        _mm512_stream_ps(target, four[q]);
                    } else {
                        _mm512_store_ps(target, four[q]);
                    }
                }
            }
        }
    }
    #[inline(always)]
    fn mix_keys(pairs: &[KeyPair<'_>], group: usize, even: &mut Row, odd: &mut Row) {
        unsafe {
            let mut low = _mm512_setzero_si512();
            let mut high = low;
            for pair in pairs {
                let weights = _mm512_set1_epi32(pair.weights);
                let [a, b] = pair.group(group);
                let a = _mm512_load_si512(a.0.as_ptr().cast());
                let b = _mm512_load_si512(b.0.as_ptr().cast());
                low = _mm512_add_epi32(low, _mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), weights));
                high = _mm512_add_epi32(high, _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), weights));
            }
            _mm512_store_si512(even.0.as_mut_ptr().cast(), low);
            _mm512_store_si512(odd.0.as_mut_ptr().cast(), high);
        }
    }
}
