//! Little-endian words in and out. Nothing is allocated by a number that was read: what a list needs must be there.

use super::SnapshotError;

/// Appends to bytes.
pub(super) struct Writer<'a>(pub &'a mut Vec<u8>);

impl Writer<'_> {
    pub fn u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }
    pub fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }
    pub fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }
    pub fn count(&mut self, value: usize) {
        self.u32(value as u32);
    }
    pub fn f32s(&mut self, values: &[f32]) {
        for value in values {
            self.u32(value.to_bits());
        }
    }
    /// Up to 16 truths.
    pub fn bits(&mut self, bits: &[bool]) {
        self.u16(bits.iter().rev().fold(0, |sum, &bit| sum << 1 | u16::from(bit)));
    }
}

/// Takes from the front.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    len: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, len: bytes.len() }
    }
    /// Bytes taken so far.
    pub fn at(&self) -> usize {
        self.len - self.bytes.len()
    }
    pub fn left(&self) -> usize {
        self.bytes.len()
    }
    pub fn damaged(&self, what: &'static str) -> SnapshotError {
        SnapshotError::Damaged { what, at: self.at() }
    }
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], SnapshotError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(SnapshotError::Truncated { at: self.at() });
        };
        self.bytes = rest;
        Ok(taken)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], SnapshotError> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }
    pub fn u16(&mut self) -> Result<u16, SnapshotError> {
        self.array().map(u16::from_le_bytes)
    }
    pub fn u32(&mut self) -> Result<u32, SnapshotError> {
        self.array().map(u32::from_le_bytes)
    }
    pub fn u64(&mut self) -> Result<u64, SnapshotError> {
        self.array().map(u64::from_le_bytes)
    }
    /// A count of things that take at least so many bytes each.
    pub fn count(&mut self, bytes_each: usize) -> Result<usize, SnapshotError> {
        let count = self.u32()? as usize;
        if count > self.left() / bytes_each.max(1) {
            return Err(SnapshotError::Truncated { at: self.at() });
        }
        Ok(count)
    }
    /// Refuses what is not finite.
    pub fn f32s(&mut self, out: &mut [f32]) -> Result<(), SnapshotError> {
        for value in out {
            *value = f32::from_bits(self.u32()?);
            if !value.is_finite() {
                return Err(self.damaged("a value that is not finite"));
            }
        }
        Ok(())
    }
    pub fn bits<const N: usize>(&mut self) -> Result<[bool; N], SnapshotError> {
        let bits = self.u16()?;
        if u32::from(bits) >> N != 0 {
            return Err(self.damaged("flags"));
        }
        Ok(core::array::from_fn(|at| bits >> at & 1 != 0))
    }
}

/// A mixing of 64-bit words: tells damage and other content, not forgery.
#[derive(Clone, Copy)]
pub(super) struct Hash(u64);

impl Hash {
    pub fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
    pub fn word(&mut self, word: u64) {
        // A multiplication by an odd number and a shift lose nothing.
        let mixed = (self.0 ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 = mixed ^ mixed >> 32;
    }
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
    }
    pub fn f32s(&mut self, values: &[f32]) {
        values.iter().for_each(|value| self.word(value.to_bits().into()));
    }
    pub fn finish(self) -> u64 {
        self.0
    }
}
