//! Large pages under large arrays.
//!
//! Output slots are written once a frame, some two pages each, and are more pages than a processor keeps translations
//! for: looking them up took a sixth of a frame's time (ARCHITECTURE.md, experiments). Where the system gives pages of
//! 2 MB to those who ask, we ask.
#![allow(unsafe_code)]

/// Bytes of a large page; smaller arrays are left alone.
#[cfg(target_os = "linux")]
const PAGE: usize = 2 << 20;

/// Asks for large pages under all the room that a vector has, used or not: to be called after it has grown. Advice only:
/// nothing changes but speed, and where the system knows no large pages, nothing at all.
#[cfg(target_os = "linux")]
pub(crate) fn prefer_large_pages<T>(memory: &mut Vec<T>) {
    let first = memory.as_mut_ptr().addr();
    let end = first + memory.capacity() * size_of::<T>();
    let skipped = first.next_multiple_of(PAGE) - first;
    let whole = (end - first).saturating_sub(skipped) / PAGE * PAGE;
    if whole == 0 {
        return;
    }
    // SAFETY: `first + skipped .. + whole` lies inside of the vector's allocation. Neither advice changes what the memory
    // holds or whether it may be used; whether they are followed is of no consequence.
    unsafe {
        let from = memory.as_mut_ptr().cast::<u8>().add(skipped).cast();
        // What is not touched yet comes in as large pages; what is, is put together at once.
        libc::madvise(from, whole, libc::MADV_HUGEPAGE);
        if !memory.is_empty() {
            libc::madvise(from, whole, libc::MADV_COLLAPSE);
        }
    }
}

/// Does nothing: large pages are for who is allowed to lock memory here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn prefer_large_pages<T>(_memory: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_keeps_what_it_holds() {
        let mut bytes: Vec<u32> = (0..3 << 20).collect();
        prefer_large_pages(&mut bytes);
        assert!(bytes.iter().enumerate().all(|(at, &value)| at as u32 == value));
        prefer_large_pages(&mut Vec::<u64>::new());
        prefer_large_pages(&mut vec![(); 1 << 30]);
        prefer_large_pages(&mut vec![1u8; 100]);
    }
}
