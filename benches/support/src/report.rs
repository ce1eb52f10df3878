//! What `bench` prints, as data: names mean what METRICS says.

use serde::Serialize;
use throng::crowd::{CrowdConfig, PaletteFormat, Stage};
use throng::error::BuildError;
use throng::lanes::{Mode, Simd};

use crate::measure::{self, Bench, Effort, Run, Runs};
use crate::scene::{self, SceneOptions};
use crate::sweep::Sweep;

/// Where it was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// As the system names it.
    pub cpu: String,
    /// Instruction set of the engine.
    pub isa: &'static str,
    /// Lanes of a vector.
    pub lanes: usize,
    /// `fast` or `strict`.
    pub mode: &'static str,
    /// Worker threads.
    pub threads: usize,
}

impl Machine {
    /// This one.
    pub fn here(simd: Simd, threads: usize) -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let cpu = model.map_or(std::env::consts::ARCH, |(_, name)| name.trim()).to_owned();
        let mode = match simd.mode() {
            Mode::Fast => "fast",
            Mode::Strict => "strict",
        };
        Self { cpu, isa: simd.isa().name(), lanes: simd.isa().lanes(), mode, threads }
    }
}

/// One stage.
#[derive(Clone, Debug, Serialize)]
pub struct StageTime {
    /// Of the stage.
    pub name: &'static str,
    /// The frame up to it less the frame up to the one before.
    pub ns_per_character: f64,
}

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
    /// How the frame scales, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
}

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct BenchOptions {
    /// Who.
    pub scene: SceneOptions,
    /// Instruction set and mode of the engine.
    pub simd: Simd,
    /// Output.
    pub format: PaletteFormat,
    /// Worker threads.
    pub threads: usize,
    /// How much.
    pub effort: Effort,
}

impl BenchOptions {
    /// Configuration of the crowd.
    pub fn config(&self) -> CrowdConfig {
        CrowdConfig { simd: self.simd, format: self.format, ..CrowdConfig::default() }
    }
}

/// Why nothing was measured.
#[derive(Debug)]
pub enum BenchError {
    /// The scene.
    Build(BuildError),
    /// The worker threads.
    Threads(String),
}

impl From<BuildError> for BenchError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl core::fmt::Display for BenchError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Build(error) => error.fmt(f),
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

/// Builds the scene, measures it, and tells about it.
///
/// # Errors
/// If the scene cannot be built or threads not started.
pub fn measure(options: &BenchOptions, mut progress: impl FnMut(&Runs) + Send) -> Result<Report, BenchError> {
    in_pool(options.threads, || {
        let mut scene = scene::build(options.scene, options.config())?;
        let mut baseline = scene.baseline()?;
        let input = baseline.input();
        let characters = input.characters.len().max(1) as f64;
        let bodies = || input.characters.iter().map(|c| &input.bodies[c.body as usize]);
        let joints = bodies().map(|body| body.parents.len() as f64).sum::<f64>() / characters;
        let bytes = bodies().map(|body| (options.format.bytes() * body.entries.len()) as f64).sum::<f64>();
        let clips = input.characters.iter().map(|c| f64::from(c.count)).sum::<f64>() / characters;
        let mut bench = Bench { crowd: &mut scene.crowd, ground: &*scene.ground, baseline: &mut baseline };
        let runs = measure::runs(&mut bench, options.effort, &mut progress)?;
        let best = runs.best().cloned().expect("at least one run was made");
        let crowd = &scene.crowd;
        let (library_clips, library_bytes) = crowd.library();
        let occupancy = crowd.occupancy();
        let stages = Stage::ALL
            .iter()
            .zip(best.stage_ns_per_character)
            .map(|(stage, ns_per_character)| StageTime { name: stage.name(), ns_per_character })
            .collect();
        Ok(Report {
            machine: Machine::here(options.simd, options.threads),
            scene: if options.scene.uniform { "uniform" } else { "mix" },
            characters: crowd.len(),
            joints,
            clips_per_character: clips,
            library_clips,
            library_bytes,
            rigs: crowd.rigs().len(),
            palette: options.format.name(),
            stages,
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
            sweep: None,
        })
    })?
}
