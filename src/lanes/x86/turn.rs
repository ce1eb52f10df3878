//! Rows turned into lines and back, by shuffles.
//!
//! SAFETY, for every block of this file: as in `x86`, which alone calls it.
#![allow(unsafe_code)]

use core::arch::x86_64::*;

use crate::lanes::Lines;

/// Lanes `at..at + 4` of rows `row` and `row + 4`, side by side.
#[inline(always)]
pub(super) fn halves(rows: &impl Lines, row: usize, at: usize) -> __m256 {
    unsafe {
        let low = _mm_loadu_ps(rows.line(row)[at..at + 4].as_ptr());
        let high = _mm_loadu_ps(rows.line(row + 4)[at..at + 4].as_ptr());
        _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(low), high)
    }
}

#[inline(always)]
pub(super) fn transpose8x4(rows: &impl Lines, r: usize, c: usize) -> [__m256; 4] {
    let [a, b] = [halves(rows, r, c), halves(rows, r + 1, c)];
    let [d, e] = [halves(rows, r + 2, c), halves(rows, r + 3, c)];
    halves_of(a, b, d, e)
}

/// Of four half rows: quarter `k` of the result `c` holds lane `4 k + c` of all four.
#[inline(always)]
pub(super) fn halves_of(a: __m256, b: __m256, d: __m256, e: __m256) -> [__m256; 4] {
    unsafe {
        let (t0, t1) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (t2, t3) = (_mm256_unpacklo_ps(d, e), _mm256_unpackhi_ps(d, e));
        [
            _mm256_shuffle_ps::<0x44>(t0, t2),
            _mm256_shuffle_ps::<0xee>(t0, t2),
            _mm256_shuffle_ps::<0x44>(t1, t3),
            _mm256_shuffle_ps::<0xee>(t1, t3),
        ]
    }
}

/// Lanes `c..c + 8` of rows `r..r + 8`, transposed.
///
/// The halves are put together by loads with `vinsertf128`, so that 16 shuffles remain of 24.
#[inline(always)]
pub(super) fn transpose8(rows: &impl Lines, r: usize, c: usize) -> [__m256; 8] {
    let ([a, b, d, e], [f, g, h, i]) = (transpose8x4(rows, r, c), transpose8x4(rows, r, c + 4));
    [a, b, d, e, f, g, h, i]
}

/// Rows `row..row + 4`: see [`quarters_of`].
#[inline(always)]
pub(super) fn quarters(rows: &impl Lines, row: usize) -> [__m512; 4] {
    unsafe {
        quarters_of(
            _mm512_loadu_ps(rows.line(row).as_ptr()),
            _mm512_loadu_ps(rows.line(row + 1).as_ptr()),
            _mm512_loadu_ps(rows.line(row + 2).as_ptr()),
            _mm512_loadu_ps(rows.line(row + 3).as_ptr()),
        )
    }
}

/// Of four rows: lane quarter `k` of the result `c` holds lane `4 k + c` of all four.
#[inline(always)]
pub(super) fn quarters_of(a: __m512, b: __m512, d: __m512, e: __m512) -> [__m512; 4] {
    unsafe {
        let (t0, t1) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
        let (t2, t3) = (_mm512_unpacklo_ps(d, e), _mm512_unpackhi_ps(d, e));
        [
            _mm512_shuffle_ps::<0x44>(t0, t2),
            _mm512_shuffle_ps::<0xee>(t0, t2),
            _mm512_shuffle_ps::<0x44>(t1, t3),
            _mm512_shuffle_ps::<0xee>(t1, t3),
        ]
    }
}

/// Lanes `k`, `k + 4`, `k + 8` and `k + 12` of all 16 rows, transposed: four whole lines.
#[inline(always)]
pub(super) fn lines_of(tiles: &[[__m512; 4]; 4], k: usize) -> [__m512; 4] {
    unsafe {
        let (a, b, d, e) = (tiles[0][k], tiles[1][k], tiles[2][k], tiles[3][k]);
        let (u0, u1) = (_mm512_shuffle_f32x4::<0x44>(a, b), _mm512_shuffle_f32x4::<0xee>(a, b));
        let (u2, u3) = (_mm512_shuffle_f32x4::<0x44>(d, e), _mm512_shuffle_f32x4::<0xee>(d, e));
        [
            _mm512_shuffle_f32x4::<0x88>(u0, u2),
            _mm512_shuffle_f32x4::<0xdd>(u0, u2),
            _mm512_shuffle_f32x4::<0x88>(u1, u3),
            _mm512_shuffle_f32x4::<0xdd>(u1, u3),
        ]
    }
}

/// 64 shuffles in registers. Putting quarters together by loads with `vinsertf32x4`, which leaves 32 of them, was
/// a quarter slower (58 against 46 ns for the lines of 64 joints, written into cache), two 256-bit halves as slow.
#[inline(always)]
pub(super) fn tiles(rows: &impl Lines) -> [[__m512; 4]; 4] {
    [quarters(rows, 0), quarters(rows, 4), quarters(rows, 8), quarters(rows, 12)]
}
