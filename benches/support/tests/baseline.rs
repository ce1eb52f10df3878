//! The baseline does the same work as the engine, and stays what it is.

use glam::{Mat3A, Vec3A};
use throng::crowd::{CrowdConfig, Stage};
use throng::lanes::{Isa, Mode, Simd};
use throng::stress::SceneOptions;
use throng_bench::baseline::{Baseline, Entry};
use throng_bench::measure::DT;
use throng_bench::scene::BenchScene;

/// FNV-1a of the baseline's files, in this order.
///
/// Every published ratio is a ratio to this code. Whoever changes it on purpose says so in CHANGELOG.md, measures the
/// published tables again, and only then puts the hash that the failing test prints here.
const FROZEN: u64 = 0xa1e3_984b_1958_0242;

#[test]
fn the_baseline_is_the_one_that_published_ratios_were_measured_against() {
    let files = [
        include_str!("../src/baseline/mod.rs"),
        include_str!("../src/baseline/pose.rs"),
        include_str!("../src/baseline/feet.rs"),
        include_str!("../src/baseline/palette.rs"),
    ];
    // Line ends do not count: a checkout may change them.
    let bytes = files.into_iter().flat_map(str::bytes).filter(|&byte| byte != b'\r');
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    assert_eq!(hash, FROZEN, "the baseline has changed: its hash is {hash:#018x}; see FROZEN for what to do");
}

/// Where a 3x4 palette puts a joint, relative to the character's root.
fn joint(entry: &Entry, matrix: &[f32]) -> Vec3A {
    let [x, y, z] = entry.linear;
    // The joint is at C^-1 0 before it is moved.
    let p = -(Mat3A::from_cols(x, y, z).inverse() * entry.offset);
    let row = |r: usize| Vec3A::from_slice(&matrix[4 * r..]).dot(p) + matrix[4 * r + 3];
    Vec3A::new(row(0), row(1), row(2))
}

/// Largest distance of a joint, in the world, millimetres; one per character.
fn distances(scene: &BenchScene, handles: &[throng::crowd::Handle], baseline: &Baseline) -> Vec<f32> {
    let mut rest = baseline.output();
    let mut all = Vec::with_capacity(handles.len());
    for (&handle, character) in handles.iter().zip(&baseline.input().characters) {
        let body = &baseline.input().bodies[character.body as usize];
        let (slot, behind) = rest.split_at(body.lines);
        rest = behind;
        let (header, palette) = scene.scene.crowd.pose(handle).unwrap();
        let roots = Vec3A::from_array(header.position) - Vec3A::from_slice(&slot[0].0);
        let theirs: &[f32] = bytemuck::cast_slice(palette);
        let ours: &[f32] = bytemuck::cast_slice(&slot[1..]);
        let pairs = theirs.as_chunks::<12>().0.iter().zip(ours.as_chunks::<12>().0);
        let far = body.entries.iter().zip(pairs).map(|(entry, (theirs, ours))| {
            let apart = roots.length() + (joint(entry, theirs) - joint(entry, ours)).length();
            assert!(apart.is_finite());
            1000.0 * apart
        });
        all.push(far.fold(0.0, f32::max));
    }
    all.sort_by(f32::total_cmp);
    all
}

#[test]
fn baseline_and_engine_put_joints_in_the_same_places() {
    let simd = Simd::new(Isa::widest(), Mode::Fast);
    let config = CrowdConfig { simd, ..CrowdConfig::default() };
    let mix = SceneOptions { characters: 600, rigs: 12, library: 24, config, ..SceneOptions::default() };
    let uniform = SceneOptions { characters: 200, config, ..SceneOptions::uniform() };
    for options in [mix, uniform] {
        let mut scene = BenchScene::build(&options).unwrap();
        let mut baseline = scene.baseline().unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        for frame in 1..=60 {
            pool.install(|| {
                scene.frame(Stage::Palette).unwrap();
                baseline.baseline.frame(if frame % 2 == 0 { Isa::PORTABLE } else { Isa::widest() }, DT);
            });
            if frame == 1 || frame == 60 {
                let all = distances(&scene, &baseline.handles, &baseline.baseline);
                let at = |share: f32| all[((all.len() - 1) as f32 * share) as usize];
                println!("frame {frame}: median {} p99 {} max {} mm", at(0.5), at(0.99), at(1.0));
                assert!(at(0.5) > 0.0, "16-bit weights leave some difference");
                // A lock that falls on a threshold may come a frame apart: rounding decides it.
                assert!(at(0.98) < 0.5, "frame {frame}: p98 {} mm", at(0.98));
                assert!(frame > 1 || at(1.0) < 0.5, "frame {frame}: {} mm", at(1.0));
            }
        }
    }
}
