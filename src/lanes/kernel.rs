//! Code of others compiled for this processor: the seam by which the benches' scalar baseline gets the same
//! instruction sets as the kernels.
#![allow(unsafe_code)]

use super::{Isa, Level};

/// A computation that [`run_kernel`] compiles once plain and once for AVX2 and FMA.
pub trait Kernel {
    /// Runs it. Must be `#[inline(always)]`, as all that it calls, or it is compiled plain only.
    fn run(self);
}

/// Runs a kernel in its plain copy for [`Isa::PORTABLE`], in its AVX2 and FMA copy for every other set.
pub fn run_kernel<K: Kernel>(isa: Isa, kernel: K) {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn avx2<K: Kernel>(kernel: K) {
        kernel.run();
    }
    match isa.level() {
        Level::Portable => kernel.run(),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: an `Isa` above the portable one exists only where its features were detected.
        _ => unsafe { avx2(kernel) },
        #[cfg(not(target_arch = "x86_64"))]
        _ => kernel.run(),
    }
}
