//! The crowd's frame against the double-precision one, on random topologies, rigs, clips, weights and grounds.

mod reference;

use std::cell::Cell;

use glam::{DMat4, DVec3};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use reference::frame::{ModelPose, Noise};
use reference::palette::{angle_between, decode};
use reference::random::{Rng, skin, skin_matrix};
use reference::scene::{Recipe, Scene, all_simd};
use throng::crowd::{CrowdConfig, PaletteFormat};
use throng::rig::{NO_PARENT, Rig};

const POSITION: f64 = 1e-4;
const ROTATION: f64 = 1e-4;
/// What single precision may lose of the feet's inputs.
const NOISE: f64 = 1e-6;
/// Half the resolution of the crowd's clip weights: 16 bits.
const WEIGHTS: f64 = 0.5 / 32767.0;
/// A joint that answers to noise by more is not judged.
const STEADY: f64 = 1e-5;
/// Decisions nearer to the other way are not judged.
const MARGIN: f64 = 5e-3;

fn recipes() -> impl Strategy<Value = Recipe> {
    let sizes = (3usize..40, 0usize..=2, 1usize..=4, 1usize..=40, 1usize..=5);
    let ways = (any::<bool>(), 0usize..=5, 0usize..=2, 1usize..=6, any::<bool>());
    (any::<u64>(), sizes, ways).prop_map(
        |(seed, (joints, legs, bodies, characters, clips), (crossing, ground, roots, frames, packed))| {
            Recipe {
                seed,
                joints,
                legs,
                bodies,
                characters,
                clips,
                crossing: crossing && seed % 3 == 0,
                ground,
                roots,
                frames,
                packed,
            }
        },
    )
}

#[derive(Default)]
struct Tally {
    judged: Cell<u64>,
    left: Cell<u64>,
    worst_position: Cell<f64>,
    worst_rotation: Cell<f64>,
}

/// Joint positions and rotations out of a palette whose entries are the topology's joints.
fn joints_of(rig: &Rig, palette: &[u8]) -> Vec<(DVec3, DMat4)> {
    (0..rig.topology().len())
        .map(|joint| {
            let matrix = decode(PaletteFormat::Mat3x4, palette, joint, 1.0);
            (matrix.transform_point3(rig.positions()[joint]), matrix)
        })
        .collect()
}

fn spread(exact: &ModelPose, noisy: &[ModelPose], joint: usize) -> (f64, f64) {
    noisy.iter().fold((0.0, 0.0), |(position, rotation): (f64, f64), other| {
        (
            position.max(other.positions[joint].distance(exact.positions[joint])),
            rotation.max(other.rotations[joint].angle_between(exact.rotations[joint])),
        )
    })
}

fn compare(recipe: Recipe, tally: &Tally) -> Result<(), TestCaseError> {
    let scene = Scene::new(recipe);
    let simd = all_simd()[recipe.seed as usize % all_simd().len()];
    let mut running = scene.crowd(CrowdConfig { simd, ..CrowdConfig::default() }, &scene.in_order());
    let mut exact = scene.references(Noise::NONE);
    let noise = |seed| scene.references(Noise { size: NOISE, weights: WEIGHTS, rng: Rng::new(seed) });
    let mut noisy = [1, 2, 3, 4].map(noise);
    for frame in 0..recipe.frames {
        running.frame(frame);
        let dt = f64::from(scene.steps[frame]);
        for at in 0..exact.len() {
            let root = scene.root(at, frame);
            let truth = exact[at].frame(&scene.clips, scene.asked(), root, dt);
            let others: Vec<_> =
                noisy.iter_mut().map(|all| all[at].frame(&scene.clips, scene.asked(), root, dt)).collect();
            let rig = &scene.rigs[scene.spawns[at].body];
            let (header, palette) = running.crowd.pose(running.handles[at]).expect("alive");
            let sure = exact[at].margin > MARGIN;
            let off = DVec3::from_array(header.position.map(f64::from)).distance(exact[at].position);
            prop_assert!(!sure || off < POSITION, "frame {frame}, character {at}: root off by {off:e}");
            let joints = joints_of(rig, palette);
            for (joint, (position, matrix)) in joints.iter().enumerate() {
                let parent = rig.topology().parents()[joint];
                if parent != NO_PARENT && joint != usize::from(rig.topology().pelvis()) {
                    let parent = usize::from(parent);
                    let have = position.distance(joints[parent].0);
                    let want = rig.positions()[joint].distance(rig.positions()[parent]);
                    prop_assert!((have - want).abs() < 1e-5, "bone {joint}: {have} for {want}");
                }
                let (loose_position, loose_rotation) = spread(&truth, &others, joint);
                let place = position.distance(truth.positions[joint]);
                let turn = angle_between(*matrix, DMat4::from_quat(truth.rotations[joint]));
                for (value, loose, limit, worst) in [
                    (place, loose_position, POSITION, &tally.worst_position),
                    (turn, loose_rotation, ROTATION, &tally.worst_rotation),
                ] {
                    if !sure || loose > STEADY {
                        tally.left.set(tally.left.get() + 1);
                        continue;
                    }
                    tally.judged.set(tally.judged.get() + 1);
                    worst.set(worst.get().max(value));
                    prop_assert!(
                        value < limit,
                        "frame {frame}, character {at}, joint {joint} {:?}: off by {value:e} (noise {loose:e}), {simd:?}",
                        rig.topology().keys()[joint],
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn every_joint_agrees_with_double_precision_on_random_scenes() {
    let tally = Tally::default();
    let config = Config { cases: 1500, failure_persistence: None, ..Config::default() };
    // The same scenes every time: what is judged is the crowd, not the day's luck.
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let result = TestRunner::new_with_rng(config, rng).run(&recipes(), |recipe| compare(recipe, &tally));
    let (judged, left) = (tally.judged.get(), tally.left.get());
    println!(
        "judged {judged}, left {left}; worst position {:e} m, rotation {:e} rad",
        tally.worst_position.get(),
        tally.worst_rotation.get()
    );
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(left * 5 < judged, "{left} of {judged} were not judged");
}

/// Matrices of every entry of every skin, in all formats, against the joint's model matrix times its inverse bind.
#[test]
fn all_palette_formats_decode_to_the_same_matrices() {
    let mut judged = 0;
    for seed in 0..40 {
        // Uneven scales fit matrices only, even ones not into 16 bits.
        let (uniform, scaled) = (seed % 4 != 0, seed % 4 == 1);
        let recipe = Recipe {
            seed,
            joints: 20,
            legs: 2,
            bodies: 3,
            characters: 30,
            clips: 3,
            crossing: false,
            ground: 4,
            roots: 1,
            frames: 1,
            packed: seed % 2 == 0,
        };
        let scene = Scene::with_skins(recipe, |rng, body| {
            body.character.skins = (0..2).map(|_| skin(rng, 20, uniform, scaled)).collect();
        });
        let formats: &[PaletteFormat] = match (uniform, scaled) {
            (false, _) => &PaletteFormat::ALL[..2],
            (_, true) => &PaletteFormat::ALL[..3],
            _ => &PaletteFormat::ALL,
        };
        let mut exact = scene.references(Noise::NONE);
        let truths: Vec<ModelPose> = exact
            .iter_mut()
            .enumerate()
            .map(|(at, own)| own.frame(&scene.clips, scene.asked(), scene.root(at, 0), scene.steps[0].into()))
            .collect();
        for &format in formats {
            let config = CrowdConfig { format, ..CrowdConfig::default() };
            let mut running = scene.crowd(config, &scene.in_order());
            running.frame(0);
            for (at, truth) in truths.iter().enumerate() {
                let spawn = &scene.spawns[at];
                let body = &scene.bodies[spawn.body];
                let rig = &scene.rigs[spawn.body];
                let raw = &body.character.skins[spawn.skin];
                let range = running.crowd.palette_range(running.rigs[spawn.body], spawn.skin).expect("range");
                let palette = running.crowd.pose(running.handles[at]).expect("alive").1;
                for (entry, (&joint, &inverse)) in raw.joints.iter().zip(&raw.inverse_binds).enumerate() {
                    let own = rig.order().iter().position(|&raw| raw == joint).expect("the joint");
                    let (g, x) = (truth.rotations[own], truth.positions[own]);
                    let right = skin_matrix(body, joint, inverse, g, x);
                    let have = decode(format, palette, entry, range);
                    // 16 bits: half a step of each component of rotation and translation.
                    let (turn, place) = match format {
                        PaletteFormat::Snorm16 => (1e-4 + 6e-5, 1e-4 + f64::from(range) / 32767.0),
                        _ => (1e-4, 1e-4),
                    };
                    let off = have - right;
                    let scale = right.x_axis.truncate().length().max(1.0);
                    for (column, limit) in
                        [(off.x_axis, turn), (off.y_axis, turn), (off.z_axis, turn), (off.w_axis, place)]
                    {
                        let worst = column.truncate().abs().max_element();
                        assert!(
                            worst < limit * scale * 1.5,
                            "{} of seed {seed}, character {at}, entry {entry}: off by {worst:e}",
                            format.name()
                        );
                        judged += 1;
                    }
                }
            }
        }
    }
    assert!(judged > 10_000);
}
