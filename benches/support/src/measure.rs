//! The protocol: rounds in which every subject runs once, in one process; medians; runs that are void when two
//! identical subjects disagree.
//!
//! ```text
//! round   advance | sample | ... | model | whole A | whole A' | baseline plain | baseline wide | floor | floor NT
//! ```
//! Every other round goes backwards, so that no subject always inherits the same neighbour's cache.

use std::time::Instant;

use throng::crowd::{Executor, Rayon, Serial, Stage};
use throng::error::BuildError;
use throng::lanes::{Isa, Line, fill_lines};
use throng::stress::stage_costs;

use crate::scene::{BenchBaseline, BenchScene};

/// Seconds of a measured frame.
pub const DT: f32 = 1.0 / 60.0;
/// A run is void beyond this A/A spread, percent.
pub const MAX_SPREAD_PERCENT: f64 = 10.0;
/// Shortest time that one sample lasts; frames are repeated up to it, nanoseconds.
const SAMPLE_NS: f64 = 1.5e6;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds of a run.
    pub rounds: usize,
    /// Valid runs.
    pub runs: usize,
    /// Void runs after which it is given up.
    pub patience: usize,
}

impl Effort {
    /// What published figures are taken with.
    pub const PUBLISHED: Self = Self { rounds: 21, runs: 3, patience: 9 };
    /// One round, to see that it works.
    pub const SMOKE: Self = Self { rounds: 1, runs: 1, patience: 0 };
}

/// Median of samples; sorts them.
pub fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    match samples.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => samples[n / 2],
        n => 0.5 * (samples[n / 2 - 1] + samples[n / 2]),
    }
}

/// Runs each of `subjects` once a round and gives the median nanoseconds of each; see [`samples`].
pub fn interleave(rounds: usize, subjects: usize, run: impl FnMut(usize)) -> Vec<f64> {
    samples(rounds, subjects, run).iter_mut().map(|samples| median(samples)).collect()
}

/// Runs each of `subjects` once a round and gives all its nanoseconds, by subject and round. Subjects shorter than
/// `SAMPLE_NS` are repeated within a sample, after one run that is not counted.
pub fn samples(rounds: usize, subjects: usize, mut run: impl FnMut(usize)) -> Vec<Vec<f64>> {
    let mut repeats = vec![1u32; subjects];
    for (subject, repeats) in repeats.iter_mut().enumerate() {
        run(subject);
        let start = Instant::now();
        run(subject);
        *repeats = (SAMPLE_NS / (start.elapsed().as_nanos() as f64).max(1.0)).ceil().clamp(1.0, 1e4) as u32;
    }
    let mut samples = vec![Vec::with_capacity(rounds); subjects];
    for round in 0..rounds {
        for at in 0..subjects {
            let subject = if round % 2 == 0 { at } else { subjects - 1 - at };
            if repeats[subject] > 1 {
                run(subject);
            }
            let start = Instant::now();
            for _ in 0..repeats[subject] {
                run(subject);
            }
            samples[subject].push(start.elapsed().as_nanos() as f64 / f64::from(repeats[subject]));
        }
    }
    samples
}

/// Medians of one run, nanoseconds per character.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Run {
    /// The whole frame.
    pub frame_ns_per_character: f64,
    /// Difference between two interleaved measurements of the same frame.
    pub spread_percent: f64,
    /// The baseline without special instructions.
    pub baseline_plain_ns_per_character: f64,
    /// The baseline with AVX2 and FMA.
    pub baseline_wide_ns_per_character: f64,
    /// Faster baseline / frame.
    pub ratio: f64,
    /// Plain fill of the output.
    pub store_plain_ns_per_character: f64,
    /// Fill around the cache.
    pub store_stream_ns_per_character: f64,
    /// Per stage.
    pub stage_ns_per_character: [f64; Stage::ALL.len()],
    /// Load of the machine over the last minute, when the run ended.
    pub load: f64,
}

impl Run {
    /// Below [`MAX_SPREAD_PERCENT`].
    pub fn is_valid(&self) -> bool {
        self.spread_percent <= MAX_SPREAD_PERCENT
    }
    /// The faster of the two.
    pub fn baseline_ns_per_character(&self) -> f64 {
        self.baseline_plain_ns_per_character.min(self.baseline_wide_ns_per_character)
    }
    /// The faster of the two.
    pub fn store_floor_ns_per_character(&self) -> f64 {
        self.store_plain_ns_per_character.min(self.store_stream_ns_per_character)
    }
}

/// All runs that were made.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    /// In order.
    pub valid: Vec<Run>,
    /// Beyond the spread.
    pub void: Vec<Run>,
}

impl Runs {
    /// The valid run with the fastest frame; without a valid one, the void run of the smallest spread.
    pub fn best(&self) -> Option<&Run> {
        let by = |key: fn(&Run) -> f64| move |a: &&Run, b: &&Run| key(a).total_cmp(&key(b));
        let fastest = self.valid.iter().min_by(by(|run| run.frame_ns_per_character));
        fastest.or_else(|| self.void.iter().min_by(by(|run| run.spread_percent)))
    }
}

/// One-minute load average, 0 where the system tells none.
pub fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
}

/// Whoever runs frames on the current pool.
pub fn executor() -> &'static dyn Executor {
    if rayon::current_num_threads() == 1 { &Serial } else { &Rayon }
}

/// Fills all output on the current pool.
pub fn fill(lines: &mut [Line], value: Line, stream: bool) {
    fn split(lines: &mut [Line], value: Line, stream: bool, parts: usize) {
        if parts <= 1 {
            return fill_lines(lines, value, stream);
        }
        let (left, right) = lines.split_at_mut(lines.len() / 2);
        rayon::join(|| split(left, value, stream, parts / 2), || split(right, value, stream, parts / 2));
    }
    let threads = rayon::current_num_threads();
    split(lines, value, stream, if threads == 1 { 1 } else { 4 * threads });
}

/// One run. To be called inside of the pool that it is to use.
///
/// # Errors
/// As [`throng::crowd::Crowd::frame`].
pub fn run(scene: &mut BenchScene, baseline: &mut BenchBaseline, rounds: usize) -> Result<Run, BuildError> {
    const PARTS: usize = Stage::ALL.len() - 1;
    scene.restart()?;
    baseline.restart();
    let mut failed = Ok(());
    let mut value = 0.0;
    let times = interleave(rounds, PARTS + 6, |subject| {
        let Some(subject) = subject.checked_sub(PARTS) else {
            failed = failed.clone().and(scene.frame(Stage::ALL[subject]));
            return;
        };
        match subject {
            0 | 1 => failed = failed.clone().and(scene.frame(Stage::Palette)),
            2 => baseline.baseline.frame(Isa::PORTABLE, DT),
            3 => baseline.baseline.frame(Isa::widest(), DT),
            fills => {
                value += 1.0;
                fill(scene.scene.crowd.output_mut(), Line([value; 16]), fills == 5);
            }
        }
    });
    failed?;
    let per = 1.0 / scene.characters();
    let [whole, again] = [times[PARTS], times[PARTS + 1]].map(|ns| ns * per);
    let frame_ns = 0.5 * (whole + again);
    let mut stages = [frame_ns; Stage::ALL.len()];
    for (stage, ns) in stages.iter_mut().zip(&times[..PARTS]) {
        *stage = ns * per;
    }
    stage_costs(&mut stages);
    let [plain, wide, store_plain, store_stream] = [2, 3, 4, 5].map(|subject| times[PARTS + subject] * per);
    Ok(Run {
        frame_ns_per_character: frame_ns,
        spread_percent: 100.0 * (whole.max(again) / whole.min(again) - 1.0),
        baseline_plain_ns_per_character: plain,
        baseline_wide_ns_per_character: wide,
        ratio: plain.min(wide) / frame_ns,
        store_plain_ns_per_character: store_plain,
        store_stream_ns_per_character: store_stream,
        stage_ns_per_character: stages,
        load: load(),
    })
}

/// Runs until enough are valid or patience is at its end.
///
/// # Errors
/// As [`throng::crowd::Crowd::frame`].
pub fn runs(
    scene: &mut BenchScene,
    baseline: &mut BenchBaseline,
    effort: Effort,
    mut progress: impl FnMut(&Runs),
) -> Result<Runs, BuildError> {
    let mut runs = Runs::default();
    while runs.valid.len() < effort.runs && runs.void.len() <= effort.patience {
        let run = run(scene, baseline, effort.rounds)?;
        if run.is_valid() {
            runs.valid.push(run)
        } else {
            runs.void.push(run)
        }
        progress(&runs);
    }
    Ok(runs)
}
