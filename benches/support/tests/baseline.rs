//! The baseline does the same work as the engine.

use glam::Vec3A;
use throng::crowd::{CrowdConfig, Stage};
use throng::lanes::{Isa, Line, Mode, Simd};
use throng_bench::baseline::Entry;
use throng_bench::measure::{DT, frame};
use throng_bench::scene::{SceneOptions, build};

/// Where a 3x4 palette puts a joint, relative to the character's root.
fn joint(entry: &Entry, matrix: &[f32]) -> Vec3A {
    let [x, y, z] = entry.linear;
    // The joint is at C^-1 0 before it is moved.
    let p = -(glam::Mat3A::from_cols(x, y, z).inverse() * entry.offset);
    let row = |r: usize| Vec3A::from_slice(&matrix[4 * r..]).dot(p) + matrix[4 * r + 3];
    Vec3A::new(row(0), row(1), row(2))
}

#[test]
fn baseline_and_engine_put_joints_in_the_same_places() {
    let simd = Simd::new(Isa::widest(), Mode::Fast);
    let options = SceneOptions { characters: 400, rigs: 12, clips: 40, uniform: false };
    let mut scene = build(options, CrowdConfig { simd, ..CrowdConfig::default() }).unwrap();
    let mut baseline = scene.baseline().unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| {
        for _ in 0..40 {
            frame(&mut scene.crowd, &*scene.ground, Stage::Palette).unwrap();
            baseline.frame(Isa::widest(), DT);
        }
    });
    let crowd = &scene.crowd;
    // Both orders: by body, then by handle.
    let mut order: Vec<_> = Vec::new();
    for handle in crowd.handles() {
        let body = crowd.body(handle).unwrap();
        let at = order.iter().position(|(known, _)| *known == body);
        match at {
            Some(at) => {
                let (_, list): &mut (_, Vec<_>) = &mut order[at];
                list.push(handle)
            }
            None => order.push((body, vec![handle])),
        }
    }
    let mut first = 0;
    let mut errors = Vec::new();
    for (handle, character) in
        order.into_iter().flat_map(|(_, handles)| handles).zip(&baseline.input().characters)
    {
        let body = &baseline.input().bodies[character.body as usize];
        let slot: &[Line] = &baseline.output()[first..first + body.lines];
        first += body.lines;
        let (header, palette) = crowd.pose(handle).unwrap();
        let there = Vec3A::from_array(header.position);
        let mut worst = (there - Vec3A::from_slice(&slot[0].0)).length();
        let (ours, theirs): (&[f32], &[f32]) =
            (bytemuck::cast_slice(&slot[1..]), bytemuck::cast_slice(palette));
        for (entry, (a, b)) in body.entries.iter().zip(ours.chunks_exact(12).zip(theirs.chunks_exact(12))) {
            worst = worst.max((joint(entry, a) - joint(entry, b)).length());
        }
        assert!(worst.is_finite());
        errors.push(worst * 1000.0);
    }
    errors.sort_by(f32::total_cmp);
    let at = |share: f32| errors[((errors.len() - 1) as f32 * share) as usize];
    println!("mm: median {} p99 {} max {}", at(0.5), at(0.99), at(1.0));
    assert!(at(1.0) < 0.5, "median {} p99 {} max {} mm", at(0.5), at(0.99), at(1.0));
}
