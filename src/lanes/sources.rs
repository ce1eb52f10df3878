//! Sixteen runs of quaternions that lie anywhere, one per lane of a block: what a host's poses are read from.
#![allow(unsafe_code)]

use core::marker::PhantomData;

use super::BLOCK;

/// Values of one quad: a quaternion.
const QUAD: usize = 4;

/// Sixteen runs of at least one line of four quads; the mirror image of [`LineTargets`](super::LineTargets).
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineSources<'a> {
    bases: [*const f32; BLOCK],
    quads: usize,
    lent: PhantomData<&'a [f32]>,
}

impl<'a> LineSources<'a> {
    /// As long as the shortest of them; `None` where that is no line. Checked once here, so that reading checks one
    /// index for all sixteen.
    #[inline]
    pub fn new(runs: &[&'a [[f32; QUAD]]; BLOCK]) -> Option<Self> {
        let mut quads = usize::MAX;
        for run in runs {
            quads = quads.min(run.len());
        }
        if quads < BLOCK / QUAD {
            return None;
        }
        let mut bases = [core::ptr::null(); BLOCK];
        for (base, run) in bases.iter_mut().zip(runs) {
            *base = run.as_ptr().cast();
        }
        Some(Self { bases, quads, lent: PhantomData })
    }

    /// Four quads of each, from `first` on.
    ///
    /// # Panics
    /// Past the end.
    #[inline(always)]
    pub fn lines(&self, first: usize) -> [&'a [f32; BLOCK]; BLOCK] {
        assert!(first <= self.quads - BLOCK / QUAD, "a line past the end of its run");
        let mut lines = [&[0.0; BLOCK]; BLOCK];
        for lane in 0..BLOCK {
            // SAFETY: each run has at least `quads` quads (checked when this was made), of which `first` and the three
            // after it are read (checked above); it is borrowed for as long as the result lives, and an array of
            // values needs no more alignment than one value.
            lines[lane] = unsafe { &*self.bases[lane].add(first * QUAD).cast() };
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
                self.ask(base, 0);
                self.ask(base, self.quads - 1);
            }
        }
        let (first, end) = ((part * BLOCK).div_ceil(parts), ((part + 1) * BLOCK).div_ceil(parts));
        for base in &self.bases[first.min(BLOCK)..end.min(BLOCK)] {
            for quad in (0..self.quads).step_by(BLOCK / QUAD) {
                self.ask(base, quad);
            }
        }
    }

    /// For the line of a quad.
    #[inline(always)]
    fn ask(&self, base: &*const f32, quad: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing that the program could observe, wherever it points to, and SSE is part of
        // x86-64.
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T1>(base.wrapping_add(quad * QUAD).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (base, quad);
    }
}
