//! Runs a scene over time: frames are timed, feet are watched between them.

use std::time::Instant;

use super::StressError;
use super::direct::Changes;
use super::quality::Harness;
use super::report::{FrameTimes, HostTimes, Machine, StageTime, StressReport};
use super::scene::Scene;
use super::tiered;
use crate::crowd::{Executor, Serial, Stage, Tier};
use crate::error::BuildError;

/// How long, and on how many threads.
#[derive(Clone, Copy, Debug)]
pub struct RunOptions {
    /// Simulated seconds, in steps of 1/60.
    pub seconds: f64,
    /// Worker threads; 1 is the calling one. Without the feature `rayon` there is only that.
    pub threads: usize,
    /// Characters that the harness watches at most; 0 for none.
    pub judged: usize,
    /// Rounds over which the cost of stages is taken; 0 for none.
    pub stage_rounds: usize,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self { seconds: 5.0, threads: 1, judged: 2_500, stage_rounds: 15 }
    }
}

/// Step of the simulation: the harness samples at 60 Hz.
const STEP: f32 = 1.0 / 60.0;

/// Frames before anything is timed or judged: buffers grow, feet find the ground.
const WARM_UP: usize = 30;

/// How far a run is. Parts follow each other in this order; each is told at its beginning and after each of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// `warming up`, `walking`, `stages`, and `tiers` where there are several.
    pub part: &'static str,
    /// Steps of the part that are done.
    pub done: usize,
    /// All of them.
    pub all: usize,
}

impl Progress {
    /// Tells how far a part is.
    pub(super) fn tell(part: &'static str, done: usize, all: usize, whom: &mut dyn FnMut(Self)) {
        whom(Self { part, done, all });
    }
}

/// Frames that are timed and judged.
fn frames(options: &RunOptions) -> usize {
    ((options.seconds * 60.0).round() as usize).max(1)
}

/// Runs the scene; `progress` is told how far it is.
///
/// # Errors
/// If threads cannot be started, or a frame is refused.
pub fn run(
    scene: &mut Scene,
    options: &RunOptions,
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<StressReport, StressError> {
    #[cfg(feature = "rayon")]
    if options.threads > 1 {
        let threads = options.threads;
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .map_err(|error| StressError::Threads { threads, reason: error.to_string() })?;
        // The whole loop inside the pool: entering it costs an allocation each time.
        return pool.install(|| run_with(scene, options, &crate::crowd::Rayon, threads, progress));
    }
    run_with(scene, options, &Serial, 1, progress)
}

fn run_with(
    scene: &mut Scene,
    options: &RunOptions,
    executor: &dyn Executor,
    threads: usize,
    progress: &mut dyn FnMut(Progress),
) -> Result<StressReport, StressError> {
    for frame in 0..WARM_UP {
        Progress::tell("warming up", frame, WARM_UP, progress);
        scene.frame(STEP, Stage::Palette, executor)?;
        scene.steer(STEP)?;
        scene.direct(STEP)?;
    }
    Progress::tell("warming up", WARM_UP, WARM_UP, progress);
    let mut harness = Harness::new(scene, options.judged)?;
    let count = frames(options);
    let mut times = Vec::with_capacity(count);
    let before = scene.changes();
    let (mut events, mut events_lost, mut directing) = (0, 0, 0.0);
    for frame in 0..count {
        Progress::tell("walking", frame, count, progress);
        let start = Instant::now();
        scene.frame(STEP, Stage::Palette, executor)?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        harness.observe(scene)?;
        events += scene.crowd.events().len();
        events_lost += scene.crowd.events_lost();
        scene.steer(STEP)?;
        let start = Instant::now();
        scene.direct(STEP)?;
        directing += start.elapsed().as_secs_f64() * 1e6;
    }
    Progress::tell("walking", count, count, progress);
    let after = scene.changes();
    let changes = Changes {
        transitions: after.transitions - before.transitions,
        cross_fades: after.cross_fades - before.cross_fades,
    };
    let us_per_change = directing / (changes.transitions + changes.cross_fades).max(1) as f64;
    let host = HostTimes { changes, us_per_change, events, events_lost };
    let quality = if options.judged == 0 { Err("not_judged") } else { harness.finish() };
    // Where tiers take turns a frame that is cut short leaves its poses to the next, which then costs more than any.
    let mut tiers_in_use = scene.crowd.tiers().iter().zip(scene.crowd.tier_counts());
    let turns = tiers_in_use.any(|(tier, characters)| tier.period > 1 && characters > 0);
    let rounds = if turns { 0 } else { options.stage_rounds };
    let stages = stages(scene, rounds, executor, progress)?;
    let characters = scene.crowd.len();
    let frame_us = FrameTimes::of(times);
    let us_per_character = frame_us.p50 / characters.max(1) as f64;
    let occupancy = scene.crowd.occupancy();
    let alone = scene.crowd.tier_counts().into_iter().filter(|&count| count > 0).count() < 2;
    let rounds = if alone { 0 } else { options.stage_rounds };
    let mut tiers = tiered::tiers(scene, STEP, rounds, us_per_character, progress)?;
    for (report, tier) in tiers.iter_mut().flat_map(|report| {
        let tier = Tier::by_name(report.name);
        tier.map(|tier| (report, tier))
    }) {
        let tally = harness.of_tier(tier);
        report.quality = (tally.stances > 0).then(|| tally.quality());
    }
    Ok(StressReport {
        machine: Machine::here(scene.crowd.config().simd, threads),
        characters,
        rigs: scene.rigs(),
        library_clips: scene.crowd.library().0,
        ground: scene.terrain_kind.name(),
        seconds: count as f64 / 60.0,
        occupancy: occupancy.occupancy,
        uniform_block_percent: occupancy.uniform_block_percent,
        us_per_character,
        frame_us,
        host,
        tiers,
        stages,
        judged_characters: harness.judged(),
        quality: quality.ok(),
        quality_reason: quality.err(),
    })
}

/// What each stage adds to the one before it in the same round: the median of the rounds, in which all take their turn, as the
/// frame of the run is a median. Clips go on changing, so that as many characters are in transition.
fn stages(
    scene: &mut Scene,
    rounds: usize,
    executor: &dyn Executor,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<StageTime>, BuildError> {
    let mut times = vec![Vec::with_capacity(rounds); Stage::ALL.len()];
    let all = rounds * Stage::ALL.len();
    for round in 0..rounds {
        for (at, (stage, times)) in Stage::ALL.into_iter().zip(&mut times).enumerate() {
            Progress::tell("stages", round * Stage::ALL.len() + at, all, progress);
            // A whole frame first, so that all stages find the caches as a running crowd leaves them.
            scene.frame(STEP, Stage::Palette, executor)?;
            scene.steer(STEP)?;
            scene.direct(STEP)?;
            let start = Instant::now();
            scene.frame(STEP, stage, executor)?;
            times.push(start.elapsed().as_secs_f64() * 1e9);
            scene.steer(STEP)?;
            scene.direct(STEP)?;
        }
    }
    if rounds == 0 {
        return Ok(Vec::new());
    }
    Progress::tell("stages", all, all, progress);
    let characters = scene.crowd.len().max(1) as f64;
    let costs = (0..times.len()).map(|stage| {
        // Within a round the machine has one speed.
        let before = |round: usize| if stage == 0 { 0.0 } else { times[stage - 1][round] };
        let mut added: Vec<f64> = (0..rounds).map(|round| times[stage][round] - before(round)).collect();
        added.sort_by(f64::total_cmp);
        added[rounds / 2].max(0.0) / characters
    });
    let cost = |(stage, ns_per_character): (Stage, f64)| StageTime { name: stage.name(), ns_per_character };
    Ok(Stage::ALL.into_iter().zip(costs).map(cost).collect())
}
