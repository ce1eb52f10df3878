//! Large pages under large arrays.
//!
//! Output slots are written once a frame, some two pages each, and are more pages than a processor keeps translations
//! for: looking them up took a sixth of a frame's time (ARCHITECTURE.md, experiments). Where the system gives pages of
//! 2 MB to those who ask, we ask.
#![allow(unsafe_code)]

/// Bytes of a large page; smaller arrays are left alone.
#[cfg(target_os = "linux")]
const PAGE: usize = 2 << 20;

/// Asks for large pages under all the room that a vector has: to be called before it is filled. Advice only: nothing
/// changes but speed, and where the system knows no large pages, nothing at all.
pub(crate) fn prefer_large_pages<T>(memory: &mut Vec<T>) {
    #[cfg(target_os = "linux")]
    advise(memory, libc::MADV_HUGEPAGE);
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// The same for a vector that is filled: what it holds is put together at once. That waits for every processor (a second
/// for one page was seen where others were busy), so it is for calls that nobody makes while a world runs.
pub(crate) fn put_into_large_pages<T>(memory: &mut Vec<T>) {
    prefer_large_pages(memory);
    #[cfg(target_os = "linux")]
    advise(memory, libc::MADV_COLLAPSE);
}

#[cfg(target_os = "linux")]
fn advise<T>(memory: &mut Vec<T>, advice: libc::c_int) {
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
        libc::madvise(memory.as_mut_ptr().cast::<u8>().add(skipped).cast(), whole, advice);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_keeps_what_it_holds() {
        let mut bytes: Vec<u32> = (0..3 << 20).collect();
        put_into_large_pages(&mut bytes);
        bytes.reserve(1);
        prefer_large_pages(&mut bytes);
        assert!(bytes.iter().enumerate().all(|(at, &value)| at as u32 == value));
        prefer_large_pages(&mut Vec::<u64>::new());
        prefer_large_pages(&mut vec![(); 1 << 30]);
        prefer_large_pages(&mut vec![1u8; 100]);
    }
}
