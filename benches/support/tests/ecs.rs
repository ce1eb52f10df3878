//! The crossings are measured on a world that crosses.

use throng::lanes::Simd;
use throng_bench::ecs::{Order, crossings};

#[test]
fn both_crossings_and_their_sum_are_told() {
    let count = std::env::var("THRONG_ENTITIES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    for order in Order::ALL {
        let [both, read, write] = crossings(Simd::fastest(), order, count, 5).expect("a world");
        println!("{count} entities: {both:?} {read:?} {write:?}");
        assert!(read.ns_per_character > 0.0 && write.ns_per_character > 0.0);
        assert!((both.ns_per_character - read.ns_per_character - write.ns_per_character).abs() < 1e-9);
    }
}
