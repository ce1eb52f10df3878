//! The same bits: on every instruction set, for any number of threads, in any order, in any company.

mod reference;

use std::sync::Mutex;

use reference::random::{Rng, skin};
use reference::scene::{Recipe, Scene};
use throng::crowd::{BlockJob, CrowdConfig, Executor, PaletteFormat, Serial};
use throng::lanes::{Isa, Mode, Simd};

/// A host's own threads, taking jobs from a list from both ends.
struct Threads(usize);

impl Executor for Threads {
    fn workers(&self) -> usize {
        self.0
    }
    fn run(&self, jobs: &mut [BlockJob<'_>]) {
        let list: Mutex<Vec<&mut BlockJob<'_>>> = Mutex::new(jobs.iter_mut().collect());
        std::thread::scope(|scope| {
            for worker in 0..self.0 {
                let list = &list;
                scope.spawn(move || {
                    loop {
                        let job = {
                            let mut list = list.lock().expect("no worker panics");
                            if list.is_empty() {
                                return;
                            }
                            if worker % 2 == 0 { list.pop() } else { Some(list.remove(0)) }
                        };
                        if let Some(job) = job {
                            job.run();
                        }
                    }
                });
            }
        });
    }
}

/// Many characters of several rigs and skins on rough ground with holes, some clips crossing the hemisphere.
fn scene(seed: u64, roots: usize) -> Scene {
    let recipe = Recipe {
        seed,
        joints: 30,
        legs: 2,
        bodies: 3,
        characters: 150,
        clips: 5,
        crossing: true,
        ground: 3,
        roots,
        frames: 8,
        packed: false,
    };
    Scene::with_skins(recipe, |rng, body| {
        body.character.skins = (0..2).map(|_| skin(rng, 30, true, false)).collect();
    })
}

/// Everything that a host can read of every character after all frames, in the scene's order.
fn outcome(
    scene: &Scene,
    config: CrowdConfig,
    order: &[usize],
    pack: bool,
    executor: &dyn Executor,
) -> Vec<Vec<u8>> {
    let mut running = scene.crowd(config, order);
    if pack {
        running.crowd.pack();
    }
    for frame in 0..scene.recipe.frames {
        running.frame_with(frame, executor);
    }
    running
        .handles
        .iter()
        .map(|&handle| {
            let (header, palette) = running.crowd.pose(handle).expect("alive");
            let transform = running.crowd.transform(handle).expect("alive");
            let moved = running.crowd.root_motion(handle).expect("alive");
            let mut bytes = bytemuck::bytes_of(&header).to_vec();
            bytes.extend_from_slice(palette);
            bytes.extend_from_slice(bytemuck::bytes_of(&transform));
            bytes.extend([moved.x, moved.z, moved.yaw].iter().flat_map(|v| v.to_le_bytes()));
            for play in running.crowd.clips(handle).expect("alive") {
                bytes.extend(play.time.to_le_bytes());
            }
            bytes
        })
        .collect()
}

fn assert_same(a: &[Vec<u8>], b: &[Vec<u8>], what: &str) {
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        assert!(a == b, "{what}: character {at} differs");
    }
    assert_eq!(a.len(), b.len());
}

fn config(isa: Isa, mode: Mode, format: PaletteFormat) -> CrowdConfig {
    CrowdConfig { simd: Simd::new(isa, mode), format, ..CrowdConfig::default() }
}

#[test]
fn strict_gives_the_same_bits_on_every_instruction_set() {
    for (seed, format) in PaletteFormat::ALL.into_iter().enumerate() {
        let scene = scene(seed as u64, seed % 3);
        let order = scene.in_order();
        let first = outcome(&scene, config(Isa::PORTABLE, Mode::Strict, format), &order, false, &Serial);
        for &isa in Isa::available() {
            let other = outcome(&scene, config(isa, Mode::Strict, format), &order, false, &Serial);
            assert_same(&first, &other, &format!("{} {}", isa.name(), format.name()));
        }
    }
}

#[test]
fn fast_gives_the_same_bits_wherever_it_is_fused() {
    let fused: Vec<Isa> = Isa::available().iter().copied().filter(|&isa| isa != Isa::PORTABLE).collect();
    if fused.len() < 2 {
        println!("SKIPPED: this processor has fewer than two fused instruction sets");
    }
    for (seed, format) in PaletteFormat::ALL.into_iter().enumerate() {
        let scene = scene(10 + seed as u64, seed % 3);
        let order = scene.in_order();
        let all: Vec<_> = fused
            .iter()
            .map(|&isa| outcome(&scene, config(isa, Mode::Fast, format), &order, true, &Serial))
            .collect();
        for pair in all.windows(2) {
            assert_same(&pair[0], &pair[1], format.name());
        }
    }
}

#[test]
fn threads_and_executors_do_not_matter() {
    for mode in [Mode::Strict, Mode::Fast] {
        let scene = scene(20, 0);
        let order = scene.in_order();
        let config = config(Isa::widest(), mode, PaletteFormat::Mat3x4);
        let first = outcome(&scene, config, &order, true, &Serial);
        for workers in [1, 2, 7] {
            let own = outcome(&scene, config, &order, true, &Threads(workers));
            assert_same(&first, &own, &format!("{workers} threads of the host"));
            #[cfg(feature = "rayon")]
            {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("a pool");
                let pooled = pool.install(|| outcome(&scene, config, &order, true, &throng::crowd::Rayon));
                assert_same(&first, &pooled, &format!("{workers} rayon threads"));
            }
        }
    }
}

#[test]
fn the_order_of_spawning_and_packing_do_not_matter() {
    for (seed, format) in PaletteFormat::ALL.into_iter().enumerate() {
        for mode in [Mode::Strict, Mode::Fast] {
            let scene = scene(30 + seed as u64, seed % 3);
            let config = config(Isa::widest(), mode, format);
            let mut order = scene.in_order();
            let first = outcome(&scene, config, &order, false, &Serial);
            let packed = outcome(&scene, config, &order, true, &Serial);

            assert_same(&first, &packed, "packed");
            let mut rng = Rng::new(7);
            for _ in 0..3 {
                for at in (1..order.len()).rev() {
                    order.swap(at, rng.below(at + 1));
                }
                let other = outcome(&scene, config, &order, rng.chance(0.5), &Serial);
                assert_same(&first, &other, format.name());
            }
        }
    }
}

#[test]
fn company_does_not_matter() {
    // Each character alone in a crowd against the same one among 150.
    let scene = scene(40, 1);
    for format in PaletteFormat::ALL {
        let config = config(Isa::widest(), Mode::Fast, format);
        let all = outcome(&scene, config, &scene.in_order(), true, &Serial);
        for at in (0..scene.spawns.len()).step_by(5) {
            let alone = outcome(&scene, config, &[at], false, &Serial);
            assert_eq!(alone.len(), 1);
            assert!(alone[0] == all[at], "{}: character {at} differs when alone", format.name());
        }
    }
}

#[test]
fn writing_around_the_cache_and_prefetching_do_not_matter() {
    let scene = scene(50, 0);
    let order = scene.in_order();
    let base = config(Isa::widest(), Mode::Fast, PaletteFormat::Mat4);
    let first = outcome(&scene, base, &order, true, &Serial);
    for (stream, prefetch) in [(true, false), (false, true), (false, false)] {
        let other = outcome(&scene, CrowdConfig { stream, prefetch, ..base }, &order, true, &Serial);
        assert_same(&first, &other, "streamed or prefetched");
    }
}
