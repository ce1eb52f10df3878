//! Arbitrary bytes as numbers and choices, and back. At the end of the bytes everything is zero.

/// Numbers that hurt.
const SPECIAL: [f32; 16] = [
    f32::NAN,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    1e-45,
    1e-20,
    1e18,
    -1e18,
    1e9,
    -1e9,
    1e6,
    1e-6,
    3600.0,
    1.0,
];

/// What is left to read.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    pub fn bit(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Within 4, or one of [`SPECIAL`].
    pub fn number(&mut self) -> f32 {
        match self.byte() {
            special @ 0x78..=0x87 => SPECIAL[usize::from(special - 0x78)],
            coarse => f32::from(coarse as i8) / 32.0 + f32::from(self.byte()) / 8192.0,
        }
    }

    pub fn numbers<const N: usize>(&mut self) -> [f32; N] {
        core::array::from_fn(|_| self.number())
    }
}
