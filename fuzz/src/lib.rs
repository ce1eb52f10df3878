//! What fuzz targets share. The judges are those of the tests, which replay the corpus on a stable toolchain.

#[path = "../../tests/support/altered.rs"]
mod altered;
#[path = "../../tests/support/gltf_builder.rs"]
#[allow(dead_code)]
mod builder;
#[path = "../../tests/support/bytes.rs"]
mod bytes;
#[path = "../../tests/support/judge.rs"]
pub mod judge;
#[path = "../../tests/support/memory.rs"]
pub mod memory;
#[path = "../../tests/support/gltf_sample.rs"]
mod sample;
#[path = "../../tests/support/sealed.rs"]
mod sealed;
#[path = "../../tests/support/seeds/mod.rs"]
#[allow(dead_code)]
mod seeds;
#[path = "../../tests/support/stored.rs"]
mod stored;
#[path = "../../tests/support/world.rs"]
mod world;

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use judge::Verdict;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Prints now and then how many inputs were accepted and the most memory that one took: a target whose inputs are all
/// refused at the door finds nothing.
pub fn record(verdict: Verdict) {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    static ACCEPTED: AtomicUsize = AtomicUsize::new(0);
    static PEAK: AtomicUsize = AtomicUsize::new(0);
    let runs = RUNS.fetch_add(1, Relaxed) + 1;
    let accepted = ACCEPTED.fetch_add(verdict.accepted.into(), Relaxed);
    let peak = PEAK.fetch_max(verdict.peak, Relaxed).max(verdict.peak);
    if runs.is_multiple_of(1 << 18) {
        eprintln!("{runs} inputs, {accepted} accepted, at most {peak} bytes in use");
    }
}
