//! The crossings are measured on a world that crosses.

use throng::lanes::Simd;
use throng_bench::ecs::{Order, all, crossings};

#[test]
fn all_orders_have_both_crossings() {
    let count = std::env::var("THRONG_ENTITIES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000);
    for order in Order::ALL {
        let times = crossings(Simd::fastest(), order, count, 5).expect("a world");
        println!("{count} entities: {order:?} {times:?}");
        assert!(times.read > 0.0 && times.write > 0.0 && times.on_all > 0.0);
    }
}

#[test]
fn the_published_figure_is_both_on_one_thread() {
    let times = all(Simd::fastest(), 1_000, 3).expect("worlds");
    let of = |name: &str| times.iter().find(|time| time.name == name).expect(name).ns_per_character;
    assert!((of("ecs") - of("ecs read") - of("ecs write back")).abs() < 1e-9);
    assert!(of("ecs on all threads") > 0.0);
}
