//! Each stage on each instruction set in each mode, as the frame up to it; and whether they still compute the same.
//!
//! `cargo bench --bench stages -- --test` runs everything once.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use throng::crowd::{CrowdConfig, Stage};
use throng::lanes::{Isa, Line, Mode, Simd};
use throng::stress::SceneOptions;
use throng_bench::report::single_threaded;
use throng_bench::scene::BenchScene;

const CHARACTERS: usize = 1024;

/// FNV-1a of all output; panics where something is not finite.
fn hash(lines: &[Line]) -> u64 {
    lines.iter().flat_map(|line| line.0).fold(0xcbf2_9ce4_8422_2325, |hash, value| {
        assert!(value.is_finite(), "a palette must be finite");
        (hash ^ u64::from(value.to_bits())).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn stages(c: &mut Criterion) {
    let _pool = single_threaded().expect("this thread is in no pool yet");
    let mut strict = None;
    let mut fast = None;
    for &isa in Isa::available() {
        for mode in [Mode::Fast, Mode::Strict] {
            let config = CrowdConfig { simd: Simd::new(isa, mode), ..CrowdConfig::default() };
            let options = SceneOptions {
                characters: CHARACTERS,
                rigs: 8,
                library: 16,
                config,
                ..SceneOptions::default()
            };
            let mut scene = BenchScene::build(&options).expect("the built-in scene builds");
            for _ in 0..10 {
                scene.frame(Stage::Palette).expect("a frame of the built-in scene runs");
            }
            let now = hash(scene.scene.crowd.output());
            // Strict is the same on every set; fast on those that fuse.
            match mode {
                Mode::Strict => assert_eq!(*strict.get_or_insert(now), now, "{} strict", isa.name()),
                Mode::Fast if isa != Isa::PORTABLE => {
                    assert_eq!(*fast.get_or_insert(now), now, "{} fast", isa.name());
                }
                Mode::Fast => {}
            }
            let name = if mode == Mode::Strict { "strict" } else { "fast" };
            let mut group = c.benchmark_group(format!("until/{}/{name}", isa.name()));
            group.throughput(Throughput::Elements(CHARACTERS as u64)).sample_size(20);
            for stage in Stage::ALL {
                group.bench_function(stage.name(), |b| b.iter(|| scene.frame(stage)));
            }
            group.finish();
        }
    }
}

criterion_group!(benches, stages);
criterion_main!(benches);
