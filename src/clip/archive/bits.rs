//! Bits, and rows of integers in few of them.
//!
//! A row of integers is told by the differences that its course leaves: none, from the value before, or from the
//! straight line through the two before. Differences are Rice codes (R. F. Rice, JPL 79-22, 1979): the low `k` bits as they
//! are, the rest in unary. `k` follows the running mean of what was met. A difference too large for that is written out.

/// Ones that stand for a difference written out.
const ESCAPE: u32 = 20;
/// Shift of the running mean: it forgets over so many values.
const MEMORY: u32 = 4;
/// Bits that name the first `k`.
const START: u32 = 5;

/// Bits ran out, or say something that no writer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

/// Appends bits, lowest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    pending: u64,
    held: u32,
}

impl BitWriter {
    /// The low `count` bits of `value`, at most 32.
    pub fn put(&mut self, value: u32, count: u32) {
        debug_assert!(count <= 32);
        let value = u64::from(value) & ((1u64 << count) - 1);
        self.pending |= value << self.held;
        self.held += count;
        while self.held >= 8 {
            self.bytes.push(self.pending as u8);
            self.pending >>= 8;
            self.held -= 8;
        }
    }

    /// All bits of another writer.
    pub fn append(&mut self, other: &Self) {
        for &byte in &other.bytes {
            self.put(byte.into(), 8);
        }
        self.put(other.pending as u32, other.held);
    }

    /// Bits so far.
    pub fn len(&self) -> usize {
        8 * self.bytes.len() + self.held as usize
    }

    /// The bytes, the last one filled up with zeros.
    pub fn finish(mut self) -> Vec<u8> {
        if self.held > 0 {
            self.bytes.push(self.pending as u8);
        }
        self.bytes
    }
}

/// Takes bits, lowest first.
#[derive(Clone, Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    next: usize,
    pending: u64,
    held: u32,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, next: 0, pending: 0, held: 0 }
    }

    /// Fills up; past the end with zeros, which [`take`](Self::take) tells from bits.
    #[inline]
    fn refill(&mut self) {
        if let Some(word) = self.bytes.get(self.next..self.next + 8) {
            let mut eight = [0; 8];
            eight.copy_from_slice(word);
            let taken = (63 - self.held) / 8;
            self.pending |= u64::from_le_bytes(eight) << self.held;
            self.next += taken as usize;
            self.held += 8 * taken;
            // What was shifted in beyond the bits that count must not be there twice.
            self.pending &= (1u64 << self.held) - 1;
            return;
        }
        while self.held <= 48 {
            let Some(&byte) = self.bytes.get(self.next) else { return };
            self.pending |= u64::from(byte) << self.held;
            self.held += 8;
            self.next += 1;
        }
    }

    /// The next `count` bits, at most 32.
    #[inline]
    pub fn take(&mut self, count: u32) -> Result<u32, Exhausted> {
        if self.held < count {
            self.refill();
            if self.held < count {
                return Err(Exhausted);
            }
        }
        let value = self.pending & ((1u64 << count) - 1);
        self.pending >>= count;
        self.held -= count;
        Ok(value as u32)
    }

    /// The number of ones before the next zero, which is taken too; at most [`ESCAPE`], after which there is no zero.
    #[inline]
    fn ones(&mut self) -> Result<u32, Exhausted> {
        if self.held <= ESCAPE {
            self.refill();
        }
        let ones = (!self.pending).trailing_zeros().min(ESCAPE);
        let taken = if ones == ESCAPE { ESCAPE } else { ones + 1 };
        if self.held < taken {
            return Err(Exhausted);
        }
        self.pending >>= taken;
        self.held -= taken;
        Ok(ones)
    }

    /// True if nothing but the zeros that fill up the last byte is left.
    pub fn is_done(&mut self) -> bool {
        self.refill();
        self.next == self.bytes.len() && self.held < 8 && self.pending == 0
    }
}

/// Signed to unsigned, small to small.
fn zigzag(value: i32) -> u32 {
    ((value << 1) ^ (value >> 31)) as u32
}

fn unzigzag(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

/// Running mean of magnitudes, 16-fold, and the `k` that it asks for.
struct Mean(u64);

impl Mean {
    fn starting_at(k: u32) -> Self {
        Self((1 << k) << MEMORY)
    }

    #[inline]
    fn k(&self) -> u32 {
        // A mean of 2^k leaves about one bit of unary.
        (64 - (self.0 >> MEMORY).leading_zeros()).saturating_sub(1).min(31)
    }

    #[inline]
    fn meet(&mut self, magnitude: u32) {
        // One jump must not make all that follows wide.
        let most = 8 * (self.0 >> MEMORY) + 8;
        self.0 = self.0 - (self.0 >> MEMORY) + u64::from(magnitude).min(most);
    }
}

/// How a row of integers is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Course {
    /// All the same.
    Still,
    /// Differences from the value before.
    Steps,
    /// Differences from the straight line through the two before.
    Line,
    /// Each for itself, above the least.
    Free,
}

const COURSES: [Course; 4] = [Course::Still, Course::Steps, Course::Line, Course::Free];

/// Writes `values` in the way that takes fewest bits. Their number is known to the reader; each, as a signed number, fits
/// into `wide` bits. Arithmetic wraps, so 32 is allowed.
pub(super) fn put_row(out: &mut BitWriter, values: &[i32], wide: u32) {
    let Some(&first) = values.first() else { return };
    if values.iter().all(|&value| value == first) {
        out.put(Course::Still as u32, 2);
        out.put(first as u32, wide);
        return;
    }
    let mut best = free(values, wide);
    for course in [Course::Steps, Course::Line] {
        let differences = differences(values, course);
        let mean = differences.iter().take(1 << MEMORY).map(|&d| u64::from(zigzag(d))).sum::<u64>()
            / differences.len().min(1 << MEMORY) as u64;
        let start = (64 - mean.leading_zeros()).saturating_sub(1).min(31);
        let mut writer = BitWriter::default();
        writer.put(course as u32, 2);
        writer.put(first as u32, wide);
        writer.put(start, START);
        let mut mean = Mean::starting_at(start);
        for difference in differences {
            put_rice(&mut writer, zigzag(difference), &mut mean);
        }
        if writer.len() < best.len() {
            best = writer;
        }
    }
    out.append(&best);
}

fn free(values: &[i32], wide: u32) -> BitWriter {
    let least = values.iter().copied().min().unwrap_or(0);
    let most = values.iter().map(|value| value.wrapping_sub(least) as u32).max().unwrap_or(0);
    let width = 32 - most.leading_zeros();
    let mut writer = BitWriter::default();
    writer.put(Course::Free as u32, 2);
    writer.put(least as u32, wide);
    writer.put(width, 6);
    for value in values {
        writer.put(value.wrapping_sub(least) as u32, width);
    }
    writer
}

fn differences(values: &[i32], course: Course) -> Vec<i32> {
    let mut out = Vec::with_capacity(values.len());
    let mut before = 0i32;
    for pair in values.windows(2) {
        let step = pair[1].wrapping_sub(pair[0]);
        out.push(if course == Course::Line { step.wrapping_sub(before) } else { step });
        before = step;
    }
    out
}

fn put_rice(out: &mut BitWriter, magnitude: u32, mean: &mut Mean) {
    let k = mean.k();
    let high = magnitude >> k;
    if high < ESCAPE {
        out.put((1 << high) - 1, high + 1);
        out.put(magnitude, k);
    } else {
        out.put(u32::MAX, ESCAPE);
        out.put(magnitude, 32);
    }
    mean.meet(magnitude);
}

#[inline]
fn take_rice(bits: &mut BitReader<'_>, mean: &mut Mean) -> Result<u32, Exhausted> {
    let k = mean.k();
    let high = bits.ones()?;
    let magnitude = if high == ESCAPE { bits.take(32)? } else { (high << k) | bits.take(k)? };
    mean.meet(magnitude);
    Ok(magnitude)
}

/// Reads `count` integers that [`put_row`] wrote, handing each to `take` with its index.
pub(super) fn take_row(
    bits: &mut BitReader<'_>,
    count: usize,
    wide: u32,
    mut take: impl FnMut(usize, i32),
) -> Result<(), Exhausted> {
    if count == 0 {
        return Ok(());
    }
    let course = COURSES[bits.take(2)? as usize];
    let raw = bits.take(wide)?;
    // The sign of `wide` bits.
    let first = ((raw << (32 - wide)) as i32) >> (32 - wide);
    match course {
        Course::Still => (0..count).for_each(|at| take(at, first)),
        Course::Free => {
            let width = bits.take(6)?;
            if width > 32 {
                return Err(Exhausted);
            }
            for at in 0..count {
                take(at, first.wrapping_add(bits.take(width)? as i32));
            }
        }
        Course::Steps | Course::Line => {
            let mut mean = Mean::starting_at(bits.take(START)?);
            take(0, first);
            let (mut value, mut step) = (first, 0i32);
            for at in 1..count {
                let difference = unzigzag(take_rice(bits, &mut mean)?);
                step = if course == Course::Line { step.wrapping_add(difference) } else { difference };
                value = value.wrapping_add(step);
                take(at, value);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(values: &[i32], wide: u32) -> (Vec<i32>, usize) {
        let mut writer = BitWriter::default();
        writer.put(5, 3);
        put_row(&mut writer, values, wide);
        let bits = writer.len() - 3;
        writer.put(2, 2);
        let bytes = writer.finish();
        let mut reader = BitReader::new(&bytes);
        assert_eq!(reader.take(3), Ok(5));
        let mut back = Vec::new();
        take_row(&mut reader, values.len(), wide, |_, value| back.push(value)).unwrap();
        assert_eq!(reader.take(2), Ok(2));
        assert!(reader.is_done());
        (back, bits)
    }

    proptest! {
        #[test]
        fn any_row_comes_back(values in prop::collection::vec(any::<i32>(), 1..200)) {
            prop_assert_eq!(&round_trip(&values, 32).0, &values);
        }

        #[test]
        fn rows_of_few_bits_come_back(values in prop::collection::vec(-400i32..400, 1..200)) {
            prop_assert_eq!(&round_trip(&values, 10).0, &values);
        }

        #[test]
        fn any_bytes_end_in_values_or_exhaustion(bytes in prop::collection::vec(any::<u8>(), 0..64), count in 0usize..500) {
            let mut seen = 0;
            let done = take_row(&mut BitReader::new(&bytes), count, 18, |_, _| seen += 1);
            prop_assert!(done.is_err() || seen == count);
        }
    }

    #[test]
    fn a_straight_line_takes_about_a_bit_a_value() {
        let values: Vec<i32> = (0..1000).map(|i| 37 * i - 9000).collect();
        let (back, bits) = round_trip(&values, 18);
        assert_eq!(back, values);
        assert!(bits < 1100, "{bits}");
    }

    #[test]
    fn a_jump_in_a_still_row_does_not_explode() {
        let mut values = vec![0; 300];
        values[150..].fill(32767);
        let (back, bits) = round_trip(&values, 17);
        assert_eq!(back, values);
        assert!(bits < 600, "{bits}");
    }
}
