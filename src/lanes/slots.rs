//! Output memory that workers write in parallel, slot by slot, without locks.
//!
//! ```text
//! SlotBuffer   | slot a: 48 lines | slot b: 12 lines | free | slot c: 48 lines | ...    a line is 64 bytes
//! SlotToken    owns one slot's range; not Clone, made only by `allocate`, given back to `free`
//! SlotWriter   borrows the buffer mutably for one frame; `lines(&mut token)` lends out one slot
//! ```
//!
//! Soundness rests on ownership: ranges of live tokens are disjoint, a token is borrowed mutably while its
//! lines are, and nothing can read the buffer while the writer lives.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::num::NonZeroU64;
use core::sync::atomic::{AtomicU64, Ordering};

use super::pages::prefer_large_pages;

/// One cache line of output.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub struct Line(pub [f32; 16]);

impl Line {
    /// All zero.
    pub const ZERO: Self = Self([0.0; 16]);

    /// Copies the line to `target`; `stream` writes around the cache where the target can, and then whoever wrote
    /// calls `stream_fence` before others may look.
    #[inline(always)]
    pub(crate) fn put(&self, target: &mut Self, stream: bool) {
        #[cfg(target_arch = "x86_64")]
        if stream {
            use core::arch::x86_64::{_mm_load_ps, _mm_stream_ps};
            let (from, to) = (self.0.as_ptr(), target.0.as_mut_ptr());
            for at in [0, 4, 8, 12] {
                // SAFETY: both are 64-byte aligned arrays of 16 values, and SSE is part of x86-64.
                unsafe { _mm_stream_ps(to.add(at), _mm_load_ps(from.add(at))) };
            }
            return;
        }
        let _ = stream;
        *target = *self;
    }
}

/// Fills lines, `stream` around the cache: what writing so much memory costs at least.
pub fn fill_lines(lines: &mut [Line], value: Line, stream: bool) {
    if stream {
        for line in lines {
            value.put(line, true);
        }
        super::stream_fence();
    } else {
        lines.fill(value);
    }
}

/// The right to write one slot; see the module's head. 16 bytes, in an `Option` too.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a slot whose token is dropped is lost to its buffer"]
pub struct SlotToken {
    buffer: NonZeroU64,
    first: u32,
    lines: u32,
}

impl SlotToken {
    /// First line of the slot in the buffer; never changes while the token lives.
    #[must_use]
    pub fn first_line(&self) -> u32 {
        self.first
    }
    /// Lines of the slot.
    #[must_use]
    pub fn line_count(&self) -> u32 {
        self.lines
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct SlotBuffer {
    /// Never used twice in a process: 2^64 buffers are out of reach.
    id: NonZeroU64,
    lines: Vec<Line>,
    /// Freed ranges by length in lines; a handful of lengths (one per skin size), so a list is searched.
    free: Vec<(u32, Vec<u32>)>,
}

impl Default for SlotBuffer {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NonZeroU64::MIN.saturating_add(NEXT.fetch_add(1, Ordering::Relaxed));
        Self { id, lines: Vec::new(), free: Vec::new() }
    }
}

impl SlotBuffer {
    /// Makes room for so many lines in all, and for so many free slots of `length` lines: within that, nothing
    /// allocates.
    pub fn reserve(&mut self, lines: usize, length: u32, slots: usize) {
        self.grow(lines.saturating_sub(self.lines.len()));
        let at = match self.free.iter().position(|(have, _)| *have == length) {
            Some(at) => at,
            None => {
                self.free.push((length, Vec::new()));
                self.free.len() - 1
            }
        };
        let firsts = &mut self.free[at].1;
        firsts.reserve(slots.saturating_sub(firsts.len()));
    }

    /// Makes room for so many lines more.
    fn grow(&mut self, more: usize) {
        if self.lines.capacity() - self.lines.len() < more {
            let room = (self.lines.len() + more).max(2 * self.lines.capacity());
            let mut lines = Vec::with_capacity(room);
            prefer_large_pages(&mut lines);
            lines.extend_from_slice(&self.lines);
            self.lines = lines;
        }
    }

    /// Gives out a range of `lines` lines, zeroed; `None` past 2^32 lines.
    pub fn allocate(&mut self, lines: u32) -> Option<SlotToken> {
        if let Some((_, firsts)) = self.free.iter_mut().find(|(length, _)| *length == lines)
            && let Some(first) = firsts.pop()
        {
            // Whoever may write to all lines may have written to free ones.
            self.lines[first as usize..(first + lines) as usize].fill(Line::ZERO);
            return Some(SlotToken { buffer: self.id, first, lines });
        }
        let first = u32::try_from(self.lines.len()).ok()?;
        first.checked_add(lines)?;
        self.grow(lines as usize);
        self.lines.resize(self.lines.len() + lines as usize, Line::ZERO);
        Some(SlotToken { buffer: self.id, first, lines })
    }

    /// Takes a range back for slots of the same length, and zeroes it: what was in it is nobody's.
    ///
    /// # Panics
    /// If the token is of another buffer.
    pub fn free(&mut self, token: SlotToken) {
        assert_eq!(token.buffer, self.id, "the token belongs to another buffer");
        self.lines[token.first as usize..(token.first + token.lines) as usize].fill(Line::ZERO);
        match self.free.iter_mut().find(|(length, _)| *length == token.lines) {
            Some((_, firsts)) => firsts.push(token.first),
            None => self.free.push((token.lines, vec![token.first])),
        }
    }

    /// Free ranges: length, and where those of that length begin, the next to be used last.
    pub fn free_ranges(&self) -> &[(u32, Vec<u32>)] {
        &self.free
    }

    /// A buffer with slots where another one had them (first line and lines), and their tokens in the same order.
    /// `None` if ranges overlap, are empty or lie past the end. Free ones are zeroed.
    pub fn with_slots(
        mut lines: Vec<Line>,
        slots: &[(u32, u32)],
        free: Vec<(u32, Vec<u32>)>,
    ) -> Option<(Self, Vec<SlotToken>)> {
        let mut ranges = slots.to_vec();
        ranges.extend(free.iter().flat_map(|(length, firsts)| firsts.iter().map(|&first| (first, *length))));
        ranges.sort_unstable();
        let mut end = 0;
        for &(first, length) in &ranges {
            if first < end || length == 0 {
                return None;
            }
            end = first.checked_add(length)?;
        }
        if end as usize > lines.len() {
            return None;
        }
        for (length, firsts) in &free {
            firsts
                .iter()
                .for_each(|&first| lines[first as usize..(first + length) as usize].fill(Line::ZERO));
        }
        let buffer = Self { lines, free, ..Self::default() };
        let id = buffer.id;
        let tokens = slots.iter().map(|&(first, lines)| SlotToken { buffer: id, first, lines }).collect();
        Some((buffer, tokens))
    }

    #[cfg(test)]
    /// Lines that there is room for.
    pub fn room(&self) -> usize {
        self.lines.capacity()
    }

    /// Whether slots of these lengths can be given out one after another; sorts them.
    pub fn fits(&self, lengths: &mut [u32]) -> bool {
        lengths.sort_unstable();
        let mut end = self.lines.len() as u64;
        for run in lengths.chunk_by(|a, b| a == b) {
            let free =
                self.free.iter().find(|(length, _)| *length == run[0]).map_or(0, |(_, firsts)| firsts.len());
            end += u64::from(run[0]) * run.len().saturating_sub(free) as u64;
        }
        end <= u32::MAX.into()
    }

    /// Makes the room that another buffer has.
    pub fn reserve_like(&mut self, other: &Self) {
        self.grow(other.lines.capacity().saturating_sub(self.lines.len()));
        for (length, firsts) in &other.free {
            self.reserve(0, *length, firsts.capacity());
        }
    }

    /// Everything, free ranges included: what a host uploads.
    pub fn as_lines(&self) -> &[Line] {
        &self.lines
    }

    /// Everything, for whoever clears or fills it.
    pub fn as_mut_lines(&mut self) -> &mut [Line] {
        &mut self.lines
    }

    /// One slot.
    ///
    /// # Panics
    /// If the token is of another buffer.
    pub fn slot(&self, token: &SlotToken) -> &[Line] {
        assert_eq!(token.buffer, self.id, "the token belongs to another buffer");
        &self.lines[token.first as usize..(token.first + token.lines) as usize]
    }

    /// Opens the buffer for writing by many workers.
    pub fn writer(&mut self) -> SlotWriter<'_> {
        SlotWriter {
            id: self.id,
            base: self.lines.as_mut_ptr(),
            count: self.lines.len(),
            buffer: PhantomData,
        }
    }
}

/// See the module's head.
#[derive(Debug)]
pub struct SlotWriter<'a> {
    id: NonZeroU64,
    base: *mut Line,
    count: usize,
    buffer: PhantomData<&'a mut [Line]>,
}

// SAFETY: shared access only lends out disjoint ranges, each through a `&mut` token.
unsafe impl Sync for SlotWriter<'_> {}
// SAFETY: as above; the pointer is to plain data.
unsafe impl Send for SlotWriter<'_> {}

impl SlotWriter<'_> {
    /// The lines of one slot.
    ///
    /// # Panics
    /// If the token is of another buffer.
    #[inline]
    pub fn lines<'t>(&'t self, token: &'t mut SlotToken) -> &'t mut [Line] {
        assert_eq!(token.buffer, self.id, "the token belongs to another buffer");
        let (first, lines) = (token.first as usize, token.lines as usize);
        assert!(
            lines <= self.count && first <= self.count - lines,
            "the slot lies past the end of its buffer"
        );
        // SAFETY: the range lies inside of the buffer (checked), whose memory is borrowed mutably for the life of the
        // writer; the token was made by this buffer (checked), ranges of live tokens are disjoint, and this token
        // cannot be used again before the returned borrow ends.
        unsafe { core::slice::from_raw_parts_mut(self.base.add(first), lines) }
    }
}

/// Sixteen destinations of equal length, one per lane of a block: what a transposed row of lines is written to.
#[derive(Debug)]
pub struct LineTargets<'a> {
    bases: [*mut Line; super::BLOCK],
    lines: usize,
    lent: PhantomData<&'a mut [Line]>,
}

impl<'a> LineTargets<'a> {
    /// As long as the shortest of them. Checked once here, so that writing checks one index for all sixteen: a
    /// check per line took a tenth of the palette stage.
    pub fn new(targets: [&'a mut [Line]; super::BLOCK]) -> Self {
        let lines = targets.iter().map(|lines| lines.len()).min().unwrap_or(0);
        Self { bases: targets.map(|lines| lines.as_mut_ptr()), lines, lent: PhantomData }
    }

    /// Lines of each destination.
    pub fn line_count(&self) -> usize {
        self.lines
    }

    /// Line `line` of the destination of `lane`.
    #[inline(always)]
    pub fn line(&mut self, lane: usize, line: usize) -> &mut Line {
        assert!(line < self.lines && lane < super::BLOCK, "a line past the end of a slot");
        // SAFETY: each base points to at least `lines` lines that are borrowed mutably for the life of `self`,
        // and the returned borrow holds `self`.
        unsafe { &mut *self.bases[lane].add(line) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_disjoint_and_reused_by_length() {
        let mut buffer = SlotBuffer::default();
        let mut a = buffer.allocate(3).unwrap();
        let mut b = buffer.allocate(2).unwrap();
        {
            let writer = buffer.writer();
            writer.lines(&mut a).fill(Line([1.0; 16]));
            writer.lines(&mut b).fill(Line([2.0; 16]));
        }
        assert!(buffer.slot(&a).iter().all(|line| line.0 == [1.0; 16]));
        assert!(buffer.slot(&b).iter().all(|line| line.0 == [2.0; 16]));
        let first = a.first_line();
        buffer.free(a);
        let c = buffer.allocate(3).unwrap();
        assert_eq!(c.first_line(), first);
        assert!(buffer.slot(&c).iter().all(|line| line.0 == [0.0; 16]));
    }

    #[test]
    fn what_fits_is_told_before_it_is_given_out() {
        let mut buffer = SlotBuffer::default();
        let token = buffer.allocate(1 << 20).unwrap();
        assert!(buffer.fits(&mut [1 << 20; 4094]) && !buffer.fits(&mut [1 << 20; 4095]));
        buffer.free(token);
        assert!(buffer.fits(&mut [1 << 20; 4095]), "the free one serves again");
        assert!(!buffer.fits(&mut [&[1 << 20; 4095][..], &[1 << 20 | 1; 1]].concat()));
    }

    #[test]
    fn a_token_in_an_option_is_no_larger() {
        assert_eq!((size_of::<SlotToken>(), size_of::<Option<SlotToken>>()), (16, 16));
    }

    #[test]
    #[should_panic(expected = "another buffer")]
    fn a_token_of_another_buffer_is_refused() {
        let mut one = SlotBuffer::default();
        let mut other = SlotBuffer::default();
        let mut token = one.allocate(1).unwrap();
        let _also = other.allocate(1).unwrap();
        other.writer().lines(&mut token);
    }
}
