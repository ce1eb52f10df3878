//! What `bench` prints, as data. Times are wall time of the simulation over live characters; a ratio is the faster
//! baseline over the frame; the store floor is the faster of a plain and a streamed fill of the palettes.

use serde::Serialize;
use throng::crowd::Stage;
use throng::error::BuildError;
use throng::stress::{Machine, SceneKind, SceneOptions, StageTime, StressError};

use crate::ecs;
use crate::live::{self, Axes, Held, LiveReport};
use crate::measure::{self, Effort, Run, Runs};
use crate::scene::BenchScene;
use crate::sweep::Sweep;

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where.
    pub machine: Machine,
    /// `mix` or `uniform`.
    pub scene: &'static str,
    /// Live ones.
    pub characters: usize,
    /// Joints of a character, mean.
    pub joints: f64,
    /// Clips that a character mixes, mean.
    pub clips_per_character: f64,
    /// Distinct bound clips.
    pub library_clips: usize,
    /// Their rows.
    pub library_bytes: usize,
    /// Distinct rigs.
    pub rigs: usize,
    /// Output format.
    pub palette: &'static str,
    /// In order.
    pub stages: Vec<StageTime>,
    /// What a host may do besides the frame; not part of it.
    pub beside: Vec<StageTime>,
    /// Of the best run, as all below.
    pub frame_ns_per_character: f64,
    /// The faster copy.
    pub baseline_ns_per_character: f64,
    /// Baseline / frame.
    pub ratio: f64,
    /// Palette without header, mean.
    pub palette_bytes_per_character: f64,
    /// Without output slots.
    pub state_bytes_per_character: f64,
    /// The faster fill.
    pub store_floor_ns_per_character: f64,
    /// Live lanes / lanes.
    pub occupancy: f64,
    /// Blocks whose lanes share a rig.
    pub uniform_block_percent: f64,
    /// Of the best run.
    pub spread_percent: f64,
    /// Of the machine, one minute, when the best run ended.
    pub load: f64,
    /// False: every run was void, the figures are of the least bad one.
    pub valid: bool,
    /// Every valid run.
    pub runs: Vec<Run>,
    /// Every run beyond the spread.
    pub void_runs: Vec<Run>,
    /// The same characters on live streams, by the axes of the sources and how poses are held. No part of the frame
    /// above, whose characters play clips.
    pub retarget_live: Vec<LiveReport>,
    /// How the frame scales, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
}

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct BenchOptions {
    /// Who.
    pub scene: SceneOptions,
    /// Worker threads.
    pub threads: usize,
    /// How much.
    pub effort: Effort,
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum BenchError {
    /// The scene.
    Scene(StressError),
    /// The worker threads.
    Threads(String),
}

impl From<BuildError> for BenchError {
    fn from(error: BuildError) -> Self {
        Self::Scene(error.into())
    }
}

impl From<StressError> for BenchError {
    fn from(error: StressError) -> Self {
        Self::Scene(error)
    }
}

impl core::fmt::Display for BenchError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Scene(error) => error.fmt(f),
            Self::Threads(error) => write!(f, "worker threads could not be started: {error}"),
        }
    }
}

impl std::error::Error for BenchError {}

/// Runs `work` inside of a pool of so many threads, entered once.
///
/// # Errors
/// If threads cannot be started.
pub fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> Result<T, BenchError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    Ok(pool.map_err(|error| BenchError::Threads(error.to_string()))?.install(work))
}

/// Makes the calling thread a pool of one for as long as the result lives; once per thread.
///
/// # Errors
/// If the thread is in a pool already.
pub fn single_threaded() -> Result<rayon::ThreadPool, BenchError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    pool.map_err(|error| BenchError::Threads(error.to_string()))
}

/// Builds the scene, measures it, and tells about it.
///
/// # Errors
/// If the scene cannot be built or threads not started.
pub fn measure(options: &BenchOptions, mut progress: impl FnMut(&Runs) + Send) -> Result<Report, BenchError> {
    in_pool(options.threads, || {
        let config = options.scene.config;
        let mut scene = BenchScene::build(&options.scene)?;
        let mut baseline = scene.baseline()?;
        let input = baseline.baseline.input();
        let characters = input.characters.len().max(1) as f64;
        let bodies = || input.characters.iter().map(|c| &input.bodies[c.body as usize]);
        let joints = bodies().map(|body| body.parents.len() as f64).sum::<f64>() / characters;
        let bytes = bodies().map(|body| (config.format.bytes() * body.entries.len()) as f64).sum::<f64>();
        let clips = input.characters.iter().map(|c| f64::from(c.count)).sum::<f64>() / characters;
        let runs = measure::runs(&mut scene, &mut baseline, options.effort, &mut progress)?;
        let best = runs.best().cloned().expect("at least one run was made");
        let crowd = &scene.scene.crowd;
        let (library_clips, library_bytes) = crowd.library();
        let occupancy = crowd.occupancy();
        let Effort { rounds, runs: wanted, .. } = options.effort;
        let mut retarget_live = Vec::new();
        for axes in [Axes::Model, Axes::Own] {
            for held in Held::ALL {
                retarget_live.push(live::measure(&options.scene, axes, held, rounds, wanted)?);
            }
        }
        let stages = Stage::ALL
            .iter()
            .zip(best.stage_ns_per_character)
            .map(|(stage, ns_per_character)| StageTime { name: stage.name(), ns_per_character })
            .collect();
        Ok(Report {
            machine: Machine::here(config.simd, options.threads),
            scene: if options.scene.kind == SceneKind::Uniform { "uniform" } else { "mix" },
            characters: crowd.len(),
            joints,
            clips_per_character: clips,
            library_clips,
            library_bytes,
            rigs: crowd.rigs().len(),
            palette: config.format.name(),
            stages,
            beside: ecs::all(config.simd, ecs::ENTITIES, options.effort.rounds)?,
            frame_ns_per_character: best.frame_ns_per_character,
            baseline_ns_per_character: best.baseline_ns_per_character(),
            ratio: best.ratio,
            palette_bytes_per_character: bytes / characters,
            state_bytes_per_character: crowd.state_bytes_per_character().into(),
            store_floor_ns_per_character: best.store_floor_ns_per_character(),
            occupancy: occupancy.occupancy.into(),
            uniform_block_percent: occupancy.uniform_block_percent.into(),
            spread_percent: best.spread_percent,
            load: best.load,
            valid: !runs.valid.is_empty(),
            runs: runs.valid,
            void_runs: runs.void,
            retarget_live,
            sweep: None,
        })
    })?
}
