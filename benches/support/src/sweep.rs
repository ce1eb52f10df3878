//! How the frame scales: pairs of scenes, interleaved in one process.

use serde::Serialize;
use throng::crowd::{CrowdConfig, Executor, PaletteFormat, Rayon, Serial, Stage};
use throng::error::BuildError;
use throng::lanes::Isa;
use throng::stress::SceneOptions;

use crate::measure::{DT, interleave};
use crate::report::{BenchError, BenchOptions, in_pool};
use crate::scene::BenchScene;

/// One point of a sweep.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// What was varied, and to what.
    pub value: String,
    /// The frame.
    pub ns_per_character: f64,
    /// Against the first point: time per character; of `threads` the speed-up, of `scene` the ratio to the baseline.
    pub factor: f64,
}

/// Points along one axis.
#[derive(Clone, Debug, Serialize)]
pub struct Axis {
    /// What was varied.
    pub name: &'static str,
    /// What `factor` says.
    pub meaning: &'static str,
    /// In order; the first is what the others are compared with.
    pub points: Vec<Point>,
    /// Largest factor over smallest.
    pub worst: f64,
}

/// All axes.
pub type Sweep = Vec<Axis>;

/// Measures all axes.
///
/// # Errors
/// If a scene cannot be built or threads not started.
pub fn sweep(
    options: &BenchOptions,
    mut progress: impl FnMut(&'static str) + Send,
) -> Result<Sweep, BenchError> {
    let mut axes = Vec::new();
    progress("characters");
    axes.push(characters(options)?);
    progress("library");
    axes.push(library(options)?);
    progress("threads");
    axes.push(threads(options)?);
    progress("scene");
    axes.push(mix(options)?);
    progress("palette");
    axes.push(palettes(options)?);
    Ok(axes)
}

fn axis(name: &'static str, meaning: &'static str, points: Vec<Point>) -> Axis {
    let factors = || points.iter().map(|point| point.factor);
    let worst = factors().fold(f64::MIN, f64::max) / factors().fold(f64::MAX, f64::min);
    Axis { name, meaning, points, worst }
}

/// Frames of several scenes, interleaved; nanoseconds per character of each.
fn frames(options: &BenchOptions, scenes: &mut [BenchScene]) -> Result<Vec<f64>, BuildError> {
    let mut failed = Ok(());
    let mut times = interleave(options.effort.rounds, scenes.len(), |at| {
        failed = failed.clone().and(scenes[at].frame(Stage::Palette));
    });
    for (time, scene) in times.iter_mut().zip(scenes) {
        *time /= scene.characters();
    }
    failed.map(|()| times)
}

fn compared(options: &BenchOptions, variants: &[(String, SceneOptions)]) -> Result<Vec<Point>, BenchError> {
    let times = in_pool(options.threads, || {
        let mut scenes =
            variants.iter().map(|(_, variant)| BenchScene::build(variant)).collect::<Result<Vec<_>, _>>()?;
        Ok::<_, BenchError>(frames(options, &mut scenes)?)
    })??;
    let point = |((value, _), &ns): (&(String, SceneOptions), &f64)| Point {
        value: value.clone(),
        ns_per_character: ns,
        factor: ns / times[0],
    };
    Ok(variants.iter().zip(&times).map(point).collect())
}

fn characters(options: &BenchOptions) -> Result<Axis, BenchError> {
    let variants = [1_000, 5_000, 10_000, 50_000]
        .map(|characters| (characters.to_string(), SceneOptions { characters, ..options.scene }));
    Ok(axis("characters", "time per character, times that of the first", compared(options, &variants)?))
}

fn library(options: &BenchOptions) -> Result<Axis, BenchError> {
    let variants = [16, 256].map(|library| (library.to_string(), SceneOptions { library, ..options.scene }));
    Ok(axis("library_clips", "time per character, times that of the first", compared(options, &variants)?))
}

fn palettes(options: &BenchOptions) -> Result<Axis, BenchError> {
    let variants = PaletteFormat::ALL.map(|format| {
        let config = CrowdConfig { format, ..options.scene.config };
        (format.name().to_owned(), SceneOptions { config, ..options.scene })
    });
    Ok(axis("palette", "time per character, times that of the first", compared(options, &variants)?))
}

/// One and two threads on one crowd, in one pool of two that is entered once.
fn threads(options: &BenchOptions) -> Result<Axis, BenchError> {
    let times = in_pool(2, || {
        let mut scene = BenchScene::build(&options.scene)?;
        let mut failed = Ok(());
        let times = interleave(options.effort.rounds, 2, |at| {
            let executor: &dyn Executor = if at == 0 { &Serial } else { &Rayon };
            failed = failed.clone().and(scene.scene.frame(DT, Stage::Palette, executor));
        });
        failed?;
        Ok::<_, BenchError>(times.into_iter().map(|ns| ns / scene.characters()).collect::<Vec<_>>())
    })??;
    let points = times
        .iter()
        .enumerate()
        .map(|(at, &ns)| Point { value: (at + 1).to_string(), ns_per_character: ns, factor: times[0] / ns })
        .collect();
    Ok(axis("threads", "speed, times that of the first", points))
}

/// The ratio to the baseline of the uniform scene and of the mix.
fn mix(options: &BenchOptions) -> Result<Axis, BenchError> {
    let of = |scene: SceneOptions| SceneOptions {
        characters: options.scene.characters,
        terrain: options.scene.terrain,
        config: options.scene.config,
        ..scene
    };
    let variants = [("uniform", of(SceneOptions::uniform())), ("mix", of(SceneOptions::default()))];
    let points = in_pool(options.threads, || {
        let mut scenes = Vec::new();
        for (_, variant) in &variants {
            let scene = BenchScene::build(variant)?;
            let baseline = scene.baseline()?.baseline;
            scenes.push((scene, baseline));
        }
        let mut failed = Ok(());
        let times = interleave(options.effort.rounds, 6, |subject| {
            let (scene, baseline) = &mut scenes[subject / 3];
            match subject % 3 {
                0 => failed = failed.clone().and(scene.frame(Stage::Palette)),
                1 => baseline.frame(Isa::PORTABLE, DT),
                _ => baseline.frame(Isa::widest(), DT),
            }
        });
        failed?;
        let points = variants.iter().zip(&scenes).zip(times.chunks_exact(3));
        let points = points.map(|(((name, _), (scene, _)), times)| Point {
            value: (*name).to_owned(),
            ns_per_character: times[0] / scene.characters(),
            factor: times[1].min(times[2]) / times[0],
        });
        Ok::<_, BenchError>(points.collect::<Vec<_>>())
    })??;
    Ok(axis("scene", "ratio to the baseline", points))
}
