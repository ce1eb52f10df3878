//! How much memory the content of a file may claim.

use crate::import::Refusal;

/// Memory that may still be claimed. Content is charged before it is allocated, so that a small file that shares
/// or invents data is refused instead of filling the memory: at most 6 bytes for each byte of the file and its
/// buffers and 12 MB at the start, which with the file itself stays below 8 times its size and 16 MB.
pub(super) struct Budget {
    left: usize,
    file_bytes: usize,
}

impl Budget {
    const PER_BYTE: usize = 6;
    const BASE: usize = 12 << 20;

    pub(super) fn new(file_bytes: usize) -> Self {
        Self { left: file_bytes.saturating_mul(Self::PER_BYTE).saturating_add(Self::BASE), file_bytes }
    }

    /// Adds a buffer that lies in a file of its own.
    pub(super) fn add_file(&mut self, bytes: usize) {
        self.file_bytes = self.file_bytes.saturating_add(bytes);
        self.left = self.left.saturating_add(bytes.saturating_mul(Self::PER_BYTE - 1));
    }

    /// Size of the file with its buffers so far.
    pub(super) fn file_bytes(&self) -> usize {
        self.file_bytes
    }

    pub(super) fn charge(&mut self, bytes: usize, what: &'static str) -> Result<(), Refusal> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Refusal::TooLarge { what, file_bytes: self.file_bytes }),
        }
    }

    pub(super) fn charge_many(
        &mut self,
        count: usize,
        each: usize,
        what: &'static str,
    ) -> Result<(), Refusal> {
        self.charge(count.saturating_mul(each), what)
    }
}
