//! Walking through the lanes of a mask.

/// Lanes of a mask, lowest first.
#[inline(always)]
pub(crate) fn lanes_of(mask: u16) -> LanesOf {
    LanesOf(mask)
}

/// See [`lanes_of`]. Written out, since closures are not inlined into kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LanesOf(u16);

impl Iterator for LanesOf {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lane = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(lane)
    }
}
