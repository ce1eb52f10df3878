//! Sixteen runs of words that lie anywhere, one per lane of a block: what a host's poses are read from.
#![allow(unsafe_code)]

use core::marker::PhantomData;

use super::{BLOCK, Row};

/// Sixteen runs of at least one line of sixteen words: `f32`, or bits of narrower values. The mirror image of
/// [`LineTargets`](super::LineTargets).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineSources<'a> {
    bases: [*const f32; BLOCK],
    words: usize,
    lent: PhantomData<&'a [f32]>,
}

impl<'a> LineSources<'a> {
    /// As long as the shortest of them; `None` where that is no line. Checked once here, so that reading checks one
    /// index for all sixteen.
    #[inline]
    pub fn new(runs: &[&'a [f32]; BLOCK]) -> Option<Self> {
        let mut words = usize::MAX;
        for run in runs {
            words = words.min(run.len());
        }
        if words < BLOCK {
            return None;
        }
        let mut bases = [core::ptr::null(); BLOCK];
        for (base, run) in bases.iter_mut().zip(runs) {
            *base = run.as_ptr();
        }
        Some(Self { bases, words, lent: PhantomData })
    }

    /// Sixteen words of each, from `first` on.
    ///
    /// # Panics
    /// Past the end.
    #[inline(always)]
    pub fn lines(&self, first: usize) -> [&'a [f32; BLOCK]; BLOCK] {
        assert!(first <= self.words - BLOCK, "a line past the end of its run");
        let mut lines = [&[0.0; BLOCK]; BLOCK];
        for lane in 0..BLOCK {
            // SAFETY: each run has at least `words` words (checked when this was made), of which `first` and the 15
            // after it are read (checked above); it is borrowed for as long as the result lives, and an array of
            // values needs no more alignment than one value.
            lines[lane] = unsafe { &*self.bases[lane].add(first).cast() };
        }
        lines
    }

    /// Asks for whole runs, one after the other as they lie in memory, into the second-level cache: part `part` of
    /// `parts`, which together are everything. The first part touches both ends of all of them: their pages are looked
    /// up all at once instead of one by one.
    #[inline(always)]
    pub fn prefetch(&self, part: usize, parts: usize) {
        if part == 0 {
            for base in &self.bases {
                ask(*base);
                ask(base.wrapping_add(self.words - 1));
            }
        }
        let (first, end) = ((part * BLOCK).div_ceil(parts), ((part + 1) * BLOCK).div_ceil(parts));
        for base in &self.bases[first.min(BLOCK)..end.min(BLOCK)] {
            for word in (0..self.words).step_by(BLOCK) {
                ask(base.wrapping_add(word));
            }
        }
    }
}

/// Asks for rows that will be read, into the second-level cache.
#[inline(always)]
pub(crate) fn prefetch_rows(rows: &[Row]) {
    for row in rows {
        ask(core::ptr::from_ref(row).cast());
    }
}

/// For the line of a word.
#[inline(always)]
fn ask(word: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program could observe, wherever it points to, and SSE is part of
    // x86-64.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(word.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = word;
}
