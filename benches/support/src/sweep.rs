//! How the frame scales: pairs of scenes, interleaved in one process.

use serde::Serialize;
use throng::crowd::{Crowd, Executor, Frame, Ground, PaletteFormat, Rayon, Roots, Serial, Stage};
use throng::error::BuildError;
use throng::lanes::Isa;

use crate::measure::{DT, frame, interleave};
use crate::report::{BenchError, BenchOptions, in_pool};
use crate::scene::{self, BenchScene, SceneOptions};

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
        let scene = &mut scenes[at];
        failed = failed.clone().and(frame(&mut scene.crowd, &*scene.ground, Stage::Palette));
    });
    for (time, scene) in times.iter_mut().zip(scenes) {
        *time /= scene.crowd.len().max(1) as f64;
    }
    failed.map(|()| times)
}

fn compared(options: &BenchOptions, variants: &[(String, BenchOptions)]) -> Result<Vec<Point>, BenchError> {
    let times = in_pool(options.threads, || {
        let mut scenes = variants
            .iter()
            .map(|(_, variant)| scene::build(variant.scene, variant.config()))
            .collect::<Result<Vec<_>, _>>()?;
        frames(options, &mut scenes)
    })??;
    let point = |((value, _), &ns): (&(String, BenchOptions), &f64)| Point {
        value: value.clone(),
        ns_per_character: ns,
        factor: ns / times[0],
    };
    Ok(variants.iter().zip(&times).map(point).collect())
}

fn with_scene(options: &BenchOptions, scene: SceneOptions) -> BenchOptions {
    BenchOptions { scene, ..*options }
}

fn characters(options: &BenchOptions) -> Result<Axis, BenchError> {
    let variants = [1_000, 5_000, 10_000, 50_000].map(|characters| {
        let scene = SceneOptions { characters, ..options.scene };
        (characters.to_string(), with_scene(options, scene))
    });
    Ok(axis("characters", "time per character, times that of the first", compared(options, &variants)?))
}

fn library(options: &BenchOptions) -> Result<Axis, BenchError> {
    let variants = [16, 256]
        .map(|clips| (clips.to_string(), with_scene(options, SceneOptions { clips, ..options.scene })));
    Ok(axis("library_clips", "time per character, times that of the first", compared(options, &variants)?))
}

fn palettes(options: &BenchOptions) -> Result<Axis, BenchError> {
    let variants =
        PaletteFormat::ALL.map(|format| (format.name().to_owned(), BenchOptions { format, ..*options }));
    Ok(axis("palette", "time per character, times that of the first", compared(options, &variants)?))
}

/// One and two threads on one crowd, in one pool of two that is entered once.
fn threads(options: &BenchOptions) -> Result<Axis, BenchError> {
    let times = in_pool(2, || {
        let mut scene = scene::build(options.scene, options.config())?;
        let mut failed = Ok(());
        let times = interleave(options.effort.rounds, 2, |at| {
            let executor: &dyn Executor = if at == 0 { &Serial } else { &Rayon };
            failed = failed.clone().and(on(&mut scene.crowd, &*scene.ground, executor));
        });
        let per = 1.0 / scene.crowd.len().max(1) as f64;
        failed.map(|()| times.into_iter().map(|ns| ns * per).collect::<Vec<_>>())
    })??;
    let points = times
        .iter()
        .enumerate()
        .map(|(at, &ns)| Point { value: (at + 1).to_string(), ns_per_character: ns, factor: times[0] / ns })
        .collect();
    Ok(axis("threads", "speed, times that of the first", points))
}

fn on(crowd: &mut Crowd, ground: &dyn Ground, executor: &dyn Executor) -> Result<(), BuildError> {
    crowd.frame(Frame { dt: DT, roots: Roots::OnGround, ground, until: Stage::Palette }, executor)
}

/// The ratio to the baseline of the uniform scene and of the mix.
fn mix(options: &BenchOptions) -> Result<Axis, BenchError> {
    let points = in_pool(options.threads, || {
        let variants = [("uniform", true), ("mix", false)];
        let mut scenes = Vec::new();
        for (_, uniform) in variants {
            let scene = scene::build(SceneOptions { uniform, ..options.scene }, options.config())?;
            let baseline = scene.baseline()?;
            scenes.push((scene, baseline));
        }
        let mut failed = Ok(());
        let times = interleave(options.effort.rounds, 6, |subject| {
            let (scene, baseline) = &mut scenes[subject / 3];
            match subject % 3 {
                0 => failed = failed.clone().and(frame(&mut scene.crowd, &*scene.ground, Stage::Palette)),
                1 => baseline.frame(Isa::PORTABLE, DT),
                _ => baseline.frame(Isa::widest(), DT),
            }
        });
        let points =
            variants.iter().zip(&scenes).zip(times.chunks_exact(3)).map(|((variant, scene), times)| Point {
                value: variant.0.to_owned(),
                ns_per_character: times[0] / scene.0.crowd.len().max(1) as f64,
                factor: times[1].min(times[2]) / times[0],
            });
        failed.map(|()| points.collect::<Vec<_>>())
    })??;
    Ok(axis("scene", "ratio to the baseline", points))
}
