//! Which instruction set and arithmetic the kernels run with: detected once, overridable.

use std::sync::OnceLock;

use thiserror::Error;

/// Instruction sets that kernels are compiled for, narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Level {
    Portable,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Avx2,
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    Avx512,
}

/// Proof that this processor has an instruction set: only detection makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Isa(Level);

/// Whether products and sums may be fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Mode {
    /// Fused where the processor has it: the same bits on AVX2 and AVX-512 and for any thread count.
    #[default]
    Fast,
    /// Never fused: given the same bound clips and transforms, frames give the same bits everywhere, for lock-step
    /// and replays. Binding, outside of frames, takes its sines and arcs from the platform.
    Strict,
}

/// Instruction set and mode of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Simd {
    pub(crate) isa: Isa,
    pub(crate) mode: Mode,
}

/// An instruction set that was asked for is not to be had.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "\"{asked}\" is not one of this processor's instruction sets ({have}); set THRONG_ISA to one of them or unset it"
)]
pub struct IsaError {
    asked: String,
    have: String,
}

impl Isa {
    /// The one that every target has: `wide` vectors of four.
    pub const PORTABLE: Self = Self(Level::Portable);

    /// Every set that this processor has, narrowest first.
    pub fn available() -> &'static [Self] {
        static ALL: OnceLock<Vec<Isa>> = OnceLock::new();
        ALL.get_or_init(|| {
            #[allow(unused_mut)]
            let mut all = vec![Self::PORTABLE];
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                all.push(Self(Level::Avx2));
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                {
                    all.push(Self(Level::Avx512));
                }
            }
            all
        })
    }

    /// The widest set, or what the environment variable `THRONG_ISA` (`portable`, `avx2`, `avx512`) names.
    ///
    /// # Errors
    /// If the variable names a set that is unknown or that this processor lacks.
    pub fn from_env() -> Result<Self, IsaError> {
        match std::env::var("THRONG_ISA") {
            Ok(name) => Self::by_name(&name),
            Err(_) => Ok(Self::widest()),
        }
    }

    /// The widest set that this processor has.
    pub fn widest() -> Self {
        *Self::available().last().unwrap_or(&Self::PORTABLE)
    }

    /// By name: `portable`, `avx2` or `avx512`.
    ///
    /// # Errors
    /// If the name is unknown or this processor lacks the set.
    pub fn by_name(name: &str) -> Result<Self, IsaError> {
        Self::available().iter().copied().find(|isa| isa.name() == name).ok_or_else(|| IsaError {
            asked: name.to_owned(),
            have: Self::available().iter().map(|isa| isa.name()).collect::<Vec<_>>().join(", "),
        })
    }

    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// Lanes of one vector.
    pub fn lanes(self) -> usize {
        match self.0 {
            Level::Portable => 4,
            Level::Avx2 => 8,
            Level::Avx512 => 16,
        }
    }

    pub(crate) fn level(self) -> Level {
        self.0
    }
}

impl Simd {
    /// A set in a mode.
    pub fn new(isa: Isa, mode: Mode) -> Self {
        Self { isa, mode }
    }

    /// [`Isa::from_env`] in that mode.
    ///
    /// # Errors
    /// As [`Isa::from_env`].
    pub fn from_env(mode: Mode) -> Result<Self, IsaError> {
        Ok(Self { isa: Isa::from_env()?, mode })
    }

    /// The widest set, fast.
    pub fn fastest() -> Self {
        Self { isa: Isa::widest(), mode: Mode::Fast }
    }

    /// The instruction set.
    pub fn isa(self) -> Isa {
        self.isa
    }

    /// The arithmetic mode.
    pub fn mode(self) -> Mode {
        self.mode
    }
}

/// Has the stack of the function that it is inlined into aligned to whole cache lines. Registers that a kernel runs out of
/// are spilled there; on a stack of 16 bytes' alignment most of those would be split over two lines, and one over two
/// pages, wherever the caller's frame puts it: the palette stage took 43 or 79 ns a character, by the luck of unrelated
/// locals (ARCHITECTURE.md, experiments). A compiler that aligned it of itself would only do so where a local asks for it.
#[inline(always)]
pub(crate) fn align_stack() {
    #[repr(C, align(64))]
    struct Anchor([u8; 64]);
    let anchor = core::mem::MaybeUninit::<Anchor>::uninit();
    core::hint::black_box(&anchor);
}

/// Compiles `kernel::<L>` once per instruction set and mode, and picks by a [`Simd`].
///
/// The generated functions are the only ones with `#[target_feature]` (but one in x86.rs); the kernel and all that it calls are
/// `#[inline(always)]`. Fast on the portable set is not fused: SSE2 has no such instruction.
macro_rules! per_isa {
    ($(#[$meta:meta])* $vis:vis fn $name:ident $(<$($life:lifetime),*>)? ($($arg:ident: $ty:ty),* $(,)?) = $kernel:ident;) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        $vis fn $name $(<$($life),*>)? (simd: $crate::lanes::Simd, $($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<$($($life,)*)? const FUSED: bool>($($arg: $ty),*) {
                $crate::lanes::align_stack();
                $kernel::<$crate::lanes::Ymm<FUSED>>($($arg),*);
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
            fn avx512<$($($life,)*)? const FUSED: bool>($($arg: $ty),*) {
                $crate::lanes::align_stack();
                $kernel::<$crate::lanes::Zmm<FUSED>>($($arg),*);
            }
            match (simd.isa.level(), simd.mode) {
                // SAFETY: an `Isa` above the portable one exists only where its features were detected.
                #[cfg(target_arch = "x86_64")]
                ($crate::lanes::Level::Avx512, $crate::lanes::Mode::Fast) => unsafe { avx512::<true>($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                ($crate::lanes::Level::Avx512, $crate::lanes::Mode::Strict) => unsafe { avx512::<false>($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                ($crate::lanes::Level::Avx2, $crate::lanes::Mode::Fast) => unsafe { avx2::<true>($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                ($crate::lanes::Level::Avx2, $crate::lanes::Mode::Strict) => unsafe { avx2::<false>($($arg),*) },
                _ => $kernel::<$crate::lanes::Portable>($($arg),*),
            }
        }
    };
}
pub(crate) use per_isa;
