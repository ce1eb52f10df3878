//! What a run reports.

use std::fmt;

use super::tally::Quality;
use crate::lanes::{Mode, Simd};

/// Where it ran.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Machine {
    /// Model name, as the system gives it.
    pub cpu: String,
    /// `portable`, `avx2` or `avx512`.
    pub isa: &'static str,
    /// Lanes of one vector.
    pub lanes: usize,
    /// `fast` or `strict`.
    pub mode: &'static str,
    /// Worker threads.
    pub threads: usize,
}

impl Machine {
    /// This machine.
    pub fn here(simd: Simd, threads: usize) -> Self {
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info.lines().find_map(|line| line.strip_prefix("model name"));
        let cpu =
            model.and_then(|rest| rest.split_once(':')).map_or(std::env::consts::ARCH, |(_, name)| name);
        Self {
            cpu: cpu.trim().to_owned(),
            isa: simd.isa().name(),
            lanes: simd.isa().lanes(),
            mode: if simd.mode() == Mode::Strict { "strict" } else { "fast" },
            threads,
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cpu, isa, lanes, mode, threads } = self;
        let s = if *threads == 1 { "" } else { "s" };
        write!(f, "{cpu}, {isa} ({lanes} lanes), {mode}, {threads} thread{s}")
    }
}

/// Wall time of a frame, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct FrameTimes {
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

impl FrameTimes {
    /// From the times of all frames.
    pub fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let index = (share * times.len() as f64).ceil() as usize;
            times.get(index.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        Self { p50: at(0.5), p99: at(0.99), max: at(1.0) }
    }
}

/// What the host did between frames.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct HostTimes {
    /// What was changed over the run.
    #[serde(flatten)]
    pub changes: super::Changes,
    /// Microseconds to start one change, on average; 0 without any.
    pub us_per_change: f64,
    /// Events of clips that were passed over the run.
    pub events: usize,
    /// Those that found no room.
    pub events_lost: usize,
}

/// Characters of one tier.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Tier {
    /// Its name.
    pub name: &'static str,
    /// Live characters.
    pub characters: usize,
    /// Time of its blocks over its characters; of one tier alone, the median frame over characters.
    pub us_per_character: f64,
    /// Frames from one pose to the next.
    pub period: u8,
    /// How its feet stand, or nothing.
    pub quality: Option<Quality>,
}

/// What one stage costs.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct StageTime {
    /// As [`crate::crowd::Stage::name`].
    pub name: &'static str,
    /// Of the median round; never below zero.
    pub ns_per_character: f64,
}

/// Turns times of frames that end after the first, second, ... stage into what each stage adds. They sum to the last one.
///
/// A frame that goes on for longer is never the faster one: where it was measured so, the shorter one was disturbed, and
/// counts as the longer.
pub fn stage_costs(times: &mut [f64]) {
    for at in (1..times.len()).rev() {
        times[at - 1] = times[at - 1].min(times[at]);
    }
    for at in (1..times.len()).rev() {
        times[at] -= times[at - 1];
    }
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct StressReport {
    /// Where it ran.
    pub machine: Machine,
    /// Live characters.
    pub characters: usize,
    /// Distinct rigs.
    pub rigs: usize,
    /// Distinct bound clips.
    pub library_clips: usize,
    /// `flat` or `hills-and-steps`.
    pub ground: &'static str,
    /// Simulated seconds.
    pub seconds: f64,
    /// Live lanes over lanes run.
    pub occupancy: f32,
    /// Blocks whose lanes share a rig.
    pub uniform_block_percent: f32,
    /// Median frame over characters.
    pub us_per_character: f64,
    /// Over all frames of the run.
    pub frame_us: FrameTimes,
    /// Changes of clips, events.
    pub host: HostTimes,
    /// Those that anybody is in.
    pub tiers: Vec<Tier>,
    /// Cost of each stage, by running up to it and no further, while clips change as in the run. None where tiers pose their
    /// characters less often than every frame: what a frame that is cut short leaves, the next one does.
    pub stages: Vec<StageTime>,
    /// Characters that were judged.
    pub judged_characters: usize,
    /// How feet stand, or nothing.
    pub quality: Option<Quality>,
    /// Why there is nothing.
    pub quality_reason: Option<&'static str>,
}

impl StressReport {
    /// Why the run fails, if it does.
    pub fn failure(&self) -> Option<String> {
        self.quality.and_then(|quality| quality.failure())
    }
}
