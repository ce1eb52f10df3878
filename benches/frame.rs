//! The whole frame, the scalar baseline and the store floor, on both scenes; floors of ratios belong to
//! `throng bench`, which interleaves them.
//!
//! `cargo bench --bench frame -- --test` runs everything once.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use throng::crowd::Stage;
use throng::lanes::{Isa, Line};
use throng::stress::SceneOptions;
use throng_bench::measure::{DT, fill};
use throng_bench::report::single_threaded;
use throng_bench::scene::BenchScene;

const CHARACTERS: usize = 2048;

fn frame(c: &mut Criterion) {
    let _pool = single_threaded().expect("this thread is in no pool yet");
    let mix = SceneOptions { characters: CHARACTERS, rigs: 20, library: 64, ..SceneOptions::default() };
    let uniform = SceneOptions { characters: CHARACTERS, ..SceneOptions::uniform() };
    for (name, options) in [("uniform", uniform), ("mix", mix)] {
        let mut scene = BenchScene::build(&options).expect("the built-in scene builds");
        let mut baseline = scene.baseline().expect("the scene is its own");
        scene.frame(Stage::Palette).expect("a frame of the built-in scene runs");
        baseline.baseline.frame(Isa::widest(), DT);
        let finite = |lines: &[Line]| lines.iter().all(|line| line.0.iter().all(|v| v.is_finite()));
        assert!(finite(scene.scene.crowd.output()) && finite(baseline.baseline.output()));
        assert_eq!(scene.scene.crowd.output().len(), baseline.baseline.output().len());

        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Elements(CHARACTERS as u64)).sample_size(20);
        group.bench_function("frame", |b| b.iter(|| scene.frame(Stage::Palette)));
        group.bench_function("baseline/plain", |b| b.iter(|| baseline.baseline.frame(Isa::PORTABLE, DT)));
        group.bench_function("baseline/widest", |b| b.iter(|| baseline.baseline.frame(Isa::widest(), DT)));
        for (name, stream) in [("fill/plain", false), ("fill/stream", true)] {
            group.bench_function(name, |b| {
                b.iter(|| fill(scene.scene.crowd.output_mut(), Line([1.0; 16]), stream));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, frame);
criterion_main!(benches);
