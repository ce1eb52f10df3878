//! Lanes: the vocabulary that every kernel is written in, once.
//!
//! ```text
//! Row      16 x f32, 64 bytes, one cache line: one value of one joint for the 16 characters of a block
//!            | portable: 4 x f32x4 |  AVX2: 2 x ymm  |  AVX-512: 1 x zmm |
//! kernel   for at in (0..16).step_by(L::N) { L::load(row, at) ... }
//! ```
//!
//! Rules, each with the price of breaking it:
//!
//! * Every helper that takes or returns lanes is `#[inline(always)]`; `#[target_feature]` stands only on the
//!   entry functions that `per_isa!` generates (and on `abreast` in x86.rs, as on the intrinsics themselves, since
//!   registers are named there, and on [`run_kernel`], the seam for others). One helper with plain `#[inline]` costs a factor of 16,
//!   because each intrinsic becomes a call. `tests/codegen.rs` looks for such calls.
//! * No reciprocal estimates: makers of processors differ in them.
//! * [`Lanes::mul_add`] is fused in *fast* mode where the processor has it and two roundings in *strict*
//!   mode. Nothing else differs between the instruction sets, so fast gives the same bits on AVX2 and
//!   AVX-512, strict the same bits everywhere.
//! * This folder is the only one with `unsafe`.

mod isa;
mod kernel;
mod math;
mod pages;
#[cfg(test)]
mod parity;
mod portable;
mod slots;
mod sources;
#[cfg(target_arch = "x86_64")]
mod x86;

use core::ops::{Add, Div, Mul, Neg, Sub};

pub use isa::{Isa, IsaError, Mode, Simd};
pub(crate) use isa::{Level, align_stack, per_isa};
pub use kernel::{Kernel, run_kernel};
pub use math::{Quat, Vec3, exp_neg, lerp, sin_cos_small};
pub(crate) use pages::{prefer_large_pages, put_into_large_pages};
pub(crate) use portable::Portable;
pub use slots::{Line, LineTargets, SlotBuffer, SlotToken, SlotWriter, fill_lines};
pub(crate) use sources::{LineSources, prefetch_rows};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Ymm, Zmm};

/// Characters in a block.
pub const BLOCK: usize = 16;

/// One value for each of the 16 characters of a block.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub struct Row(pub [f32; BLOCK]);

impl Row {
    /// All zero.
    pub const ZERO: Self = Self([0.0; BLOCK]);
    /// All one.
    pub const ONE: Self = Self([1.0; BLOCK]);

    /// 1 for lanes whose bit is set.
    pub(crate) fn of_bits(lanes: u16) -> Self {
        let mut row = Self::ZERO;
        for (lane, value) in row.0.iter_mut().enumerate() {
            *value = if lanes & (1 << lane) == 0 { 0.0 } else { 1.0 };
        }
        row
    }

    /// The same bits. All of them, and then one question: comparing bytes is a call.
    #[inline(always)]
    pub(crate) fn same(&self, other: &Self) -> bool {
        let [a, b]: [&[u32; BLOCK]; 2] = [bytemuck::cast_ref(&self.0), bytemuck::cast_ref(&other.0)];
        a.iter().zip(b).fold(0, |other, (a, b)| other | (a ^ b)) == 0
    }

    /// The same value in every lane.
    pub const fn splat(x: f32) -> Self {
        Self([x; BLOCK])
    }
}

/// Lanes that are equal in both.
#[inline(always)]
pub(crate) fn equal_lanes(a: &[u32; BLOCK], b: &[u32; BLOCK]) -> u16 {
    let mut lanes = 0;
    for lane in 0..BLOCK {
        lanes |= u16::from(a[lane] == b[lane]) << lane;
    }
    lanes
}

impl Default for Row {
    fn default() -> Self {
        Self::ZERO
    }
}

/// Quads in a [`KeyGroup`].
pub const GROUP: usize = 8;

/// Eight quads of one key of a clip, one cache line: a quad is four 16-bit values, a quaternion or a
/// translation, scaled by [`KEY_ONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub struct KeyGroup(pub [i16; 4 * GROUP]);

/// The integer that stands for 1 in a key.
pub const KEY_ONE: f32 = 32767.0;

/// The integer that stands for a weight of 1 (the sum over all keys that are mixed).
pub const WEIGHT_ONE: f32 = 32767.0;

/// Two neighbouring keys of one clip and their weights, ready to be mixed.
#[derive(Clone, Copy, Debug)]
pub struct KeyPair<'a> {
    /// The key at or before the time, then the one after it.
    keys: &'a [KeyGroup],
    /// Groups of one key.
    groups: usize,
    /// Weight of the first key in the low half, of the second in the high half.
    weights: i32,
}

impl<'a> KeyPair<'a> {
    /// No keys.
    pub const NONE: Self = Self { keys: &[], groups: 0, weights: 0 };

    /// `keys` holds both keys, one after the other. Weights are in units of 1 / [`WEIGHT_ONE`]; over all pairs of a
    /// character they sum to about [`WEIGHT_ONE`], so that 32-bit sums cannot overflow.
    #[inline(always)]
    pub fn new(keys: &'a [KeyGroup], [left, right]: [i16; 2]) -> Self {
        let weights = i32::from(left as u16) | (i32::from(right) << 16);
        Self { keys, groups: keys.len() / 2, weights }
    }

    /// Weights of both keys.
    #[inline(always)]
    pub fn weights(&self) -> [i16; 2] {
        [self.weights as i16, (self.weights >> 16) as i16]
    }

    /// Asks for all lines of both keys.
    #[inline(always)]
    pub fn prefetch(&self) {
        for group in self.keys {
            prefetch(group);
        }
    }

    /// The same group of both keys.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn group(&self, group: usize) -> [&'a KeyGroup; 2] {
        assert!(group < self.groups, "a group past the end of a key");
        // SAFETY: `group < groups` was checked, and `keys` holds at least twice `groups`.
        unsafe { [self.keys.get_unchecked(group), self.keys.get_unchecked(self.groups + group)] }
    }
}

/// Sixteen lines of sixteen values: rows of a block, or memory of others.
pub(crate) trait Lines {
    fn line(&self, at: usize) -> &[f32; BLOCK];
}

impl Lines for [Row; BLOCK] {
    #[inline(always)]
    fn line(&self, at: usize) -> &[f32; BLOCK] {
        &self[at].0
    }
}

impl Lines for [&[f32; BLOCK]; BLOCK] {
    #[inline(always)]
    fn line(&self, at: usize) -> &[f32; BLOCK] {
        self[at]
    }
}

/// A vector of `N` lanes of `f32` on one instruction set in one arithmetic mode.
pub trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Lanes: 4, 8 or 16.
    const N: usize;
    /// One truth value per lane.
    type Mask: Copy;

    /// The same value in every lane.
    fn splat(x: f32) -> Self;
    /// Lanes `at..at + N` of a row; `at` is a multiple of `N` below 16.
    fn load(row: &Row, at: usize) -> Self;
    /// Writes lanes `at..at + N` of a row.
    fn store(self, row: &mut Row, at: usize);
    /// `self * b + c`.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `c - self * b`.
    fn neg_mul_add(self, b: Self, c: Self) -> Self;
    /// Correctly rounded.
    fn sqrt(self) -> Self;
    /// Largest integer not above.
    fn floor(self) -> Self;
    /// `self < other ? self : other`.
    fn min(self, other: Self) -> Self;
    /// `self > other ? self : other`.
    fn max(self, other: Self) -> Self;
    /// Clears the sign.
    fn abs(self) -> Self;
    /// Negated where the sign of `by` is set.
    fn flip(self, by: Self) -> Self;
    /// `self < other`, false for NaN.
    fn lt(self, other: Self) -> Self::Mask;
    /// `mask ? a : b`.
    fn select(mask: Self::Mask, a: Self, b: Self) -> Self;
    /// Both.
    fn and(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Either.
    fn or(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// The 32-bit integers in the bits of a row, converted.
    fn load_i32(row: &Row, at: usize) -> Self;
    /// Truncated toward zero; values must fit 32 bits.
    fn store_i32(self, row: &mut [i32; BLOCK], at: usize);
    /// Two values in [-1, 1] as 16-bit signed normalised integers, `lo` in the low half; the result is
    /// bits, not a number.
    fn pack_snorm(lo: Self, hi: Self) -> Self;

    /// Turns 16 rows of 16 lanes into 16 rows of 16 values: `lines[c][r] = rows[r][c]`.
    fn transpose(rows: &[Row; BLOCK], lines: &mut [Row; BLOCK]);
    /// Lanes `at..at + N` of a transpose: value `c` of lines `at..at + N` in result `c`. For lines that lie anywhere,
    /// unaligned.
    fn columns(lines: &[&[f32; BLOCK]; BLOCK], at: usize) -> [Self; BLOCK];
    /// Four of [`columns`](Self::columns): those of values `4 quad..4 quad + 4`.
    fn quad(lines: &[&[f32; BLOCK]; BLOCK], quad: usize, at: usize) -> [Self; 4];
    /// Values of lanes `at..at + N` out of rows in which each lane has four side by side, in the order of `place_of_4`.
    fn split_4(rows: &[Row; 4], at: usize) -> [Self; 4];
    /// The same for two words a lane, in the order of `place_of_2`; bits are not looked at.
    fn split_2(rows: &[Row; 2], at: usize) -> [Self; 2];
    /// Line `line` of destinations `at..at + N`, value `r` of each out of `rows[r]`; `stream` writes around the cache.
    fn write_lines(rows: [Self; BLOCK], out: &mut LineTargets<'_>, at: usize, line: usize, stream: bool);
    /// Mixes group `group` of all pairs of one character: `sum of left * w0 + right * w1`, exact, as 32-bit
    /// integers in the bits of two rows, in the order in which interleaving leaves them: `even` gets quads
    /// 0, 2, 4, 6, `odd` quads 1, 3, 5, 7.
    fn mix_keys(pairs: &[KeyPair<'_>], group: usize, even: &mut Row, odd: &mut Row);

    /// Two 16-bit integers in the bits of each lane of `low` and `high`, times the two in each of the factors: the exact sum
    /// of the four products, wrapping at 32 bits, converted.
    fn dot_i16(low: Self, high: Self, of_low: i32, of_high: i32) -> Self;

    /// The same values, as a hint that what needs them comes after both are there. Where two chains of operations are written
    /// side by side, compilers like to do one after the other, and the second then waits in queues that are too short for it.
    #[inline(always)]
    fn abreast(values: [Self; 2]) -> [Self; 2] {
        values
    }

    /// 0 in every lane.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0.0)
    }
    /// 1 in every lane.
    #[inline(always)]
    fn one() -> Self {
        Self::splat(1.0)
    }
    /// Between two bounds.
    #[inline(always)]
    fn clamp(self, low: Self, high: Self) -> Self {
        self.max(low).min(high)
    }
}

/// Where a lane's four values are among the sixteen fours of four rows: such that turning them into one row per value moves
/// nothing between the quarters of a register.
///
/// ```text
/// row 0 | lane 0 x y z w | lane 4 | lane 8  | lane 12 |      -> x of lanes 0 1 2 3 | 4 5 6 7 | ...
/// row 1 | lane 1         | lane 5 | lane 9  | lane 13 |
/// row 2 | lane 2         | lane 6 | lane 10 | lane 14 |
/// row 3 | lane 3         | lane 7 | lane 11 | lane 15 |
/// ```
#[inline(always)]
pub(crate) const fn place_of_4(lane: usize) -> usize {
    4 * (lane % 4) + lane / 4
}

/// Where a lane's two words are among the sixteen pairs of two rows.
///
/// ```text
/// row 0 | lane 0, 1 | lane 4, 5 | lane 8, 9   | lane 12, 13 |      -> first of lanes 0 1 2 3 | 4 5 6 7 | ...
/// row 1 | lane 2, 3 | lane 6, 7 | lane 10, 11 | lane 14, 15 |
/// ```
#[inline(always)]
pub(crate) const fn place_of_2(lane: usize) -> usize {
    8 * (lane % 4 / 2) + 2 * (lane / 4) + lane % 2
}

/// Asks for the cache line of `value` ahead of its use.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program could observe, and SSE is part of x86-64.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// Makes streamed lines visible to other threads; once at the end of a job.
#[inline(always)]
#[allow(unsafe_code)]
pub fn stream_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
}
