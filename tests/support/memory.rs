//! An allocator that counts, and ends the process when something takes more than it may.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts the bytes in use. It ends the process instead of panicking, because an allocator must not unwind.
pub struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

// SAFETY: passes everything on to the system's allocator and only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        if now > PEAK.load(Relaxed) {
            PEAK.store(now, Relaxed);
            if now > LIMIT.load(Relaxed) {
                let limit = LIMIT.swap(usize::MAX, Relaxed);
                eprintln!("an allocation of {} bytes is {} over the limit", layout.size(), now - limit);
                std::process::abort();
            }
        }
        // SAFETY: the caller's duties are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Runs something that may have `limit` bytes more in use than before; gives the most there were. For one thread.
pub fn bounded<T>(limit: usize, run: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    LIMIT.store(before.saturating_add(limit), Relaxed);
    let result = run();
    LIMIT.store(usize::MAX, Relaxed);
    (result, PEAK.load(Relaxed) - before)
}
