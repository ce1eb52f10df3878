//! Linear-blend skinning of a built-in body, per instruction set. Checks what it measures.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use throng::content::{self, BodyPlan, RigKind};
use throng::crowd::{SkinPalette, SkinnedMesh};
use throng::lanes::{Isa, Mode, Simd};

/// A metre to the left for every entry.
const MOVED: [f32; 12] = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];

fn skinning(criterion: &mut Criterion) {
    let built = content::character(RigKind::Deform, &BodyPlan::adult());
    let raw = &built.character.meshes[0];
    let mesh = SkinnedMesh::new(raw).expect("built-in meshes are valid");
    let mut palette = SkinPalette::default();
    palette.set_matrices(&vec![MOVED; mesh.entries()]);
    let mut positions = vec![[0.0; 3]; mesh.vertices()];
    let mut normals = positions.clone();

    let mut group = criterion.benchmark_group("skinning");
    group.throughput(Throughput::Elements(mesh.vertices() as u64));
    for &isa in Isa::available() {
        let simd = Simd::new(isa, Mode::Fast);
        group.bench_function(isa.name(), |bencher| {
            bencher.iter(|| mesh.skin(simd, black_box(&palette), &mut positions, &mut normals));
        });
        for (have, was) in positions.iter().zip(&raw.positions) {
            let error = (have[0] - was[0] - 1.0).abs() + (have[1] - was[1]).abs() + (have[2] - was[2]).abs();
            assert!(error < 1e-5, "{have:?} is not {was:?} moved by a metre");
        }
    }
    group.finish();
}

criterion_group!(benches, skinning);
criterion_main!(benches);
