//! What the harness counts, and the figures that it makes of it.

use super::terrain::HALF_SIDE;

/// Counts of values at a fixed resolution, so that percentiles of millions cost no memory.
#[derive(Clone, Debug)]
pub struct Histogram {
    bins: Vec<u64>,
    count: u64,
    max: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: vec![0; 60_000], count: 0, max: 0.0 }
    }
}

impl Histogram {
    /// Millimetres per bin.
    const STEP: f64 = 0.01;

    /// Counts a value, millimetres.
    pub fn add(&mut self, mm: f64) {
        let last = self.bins.len() - 1;
        self.bins[((mm.max(0.0) / Self::STEP) as usize).min(last)] += 1;
        self.count += 1;
        self.max = self.max.max(mm);
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value that a `share` of all do not exceed, to 0.01 mm upwards; 0 without values.
    pub fn percentile(&self, share: f64) -> f64 {
        let wanted = (share * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (bin, &count) in self.bins.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= wanted {
                return ((bin + 1) as f64 * Self::STEP).min(self.max);
            }
        }
        self.max
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        for (own, other) in self.bins.iter_mut().zip(&other.bins) {
            *own += other;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }
}

/// Part of the terrain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Smooth slopes, or all of a flat ground.
    Hills,
    /// Flights of steps.
    Stairs,
    /// Both.
    Mixed,
}

impl Zone {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hills, Self::Stairs, Self::Mixed];

    /// The third of the map that `x` is in.
    pub fn at(x: f64) -> Self {
        let third = HALF_SIDE / 3.0;
        if x < -third {
            Self::Hills
        } else if x < third {
            Self::Stairs
        } else {
            Self::Mixed
        }
    }
}

/// Everything that was counted in one part of the terrain.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Millimetres, heel and ball, straddling stances left out.
    pub gap: [Histogram; 2],
    /// Millimetres, heel and ball, straddling stances left out.
    pub penetration: [Histogram; 2],
    /// Millimetres, straddling stances left out.
    pub slide: Histogram,
    /// The same while both poses that the foot is shown between have the ball down.
    pub slide_within: Histogram,
    /// Millimetres of gap or penetration in straddling stances.
    pub straddling_error: Histogram,
    /// Stances of a foot.
    pub stances: u64,
    /// Those over a riser.
    pub straddling: u64,
    /// Those that the leg is too short for.
    pub unreachable: u64,
}

impl Tally {
    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        for end in 0..2 {
            self.gap[end].merge(&other.gap[end]);
            self.penetration[end].merge(&other.penetration[end]);
        }
        self.slide.merge(&other.slide);
        self.slide_within.merge(&other.slide_within);
        self.straddling_error.merge(&other.straddling_error);
        self.stances += other.stances;
        self.straddling += other.straddling;
        self.unreachable += other.unreachable;
    }

    /// The figures.
    pub fn quality(&self) -> Quality {
        let both = |[heel, ball]: &[Histogram; 2]| {
            let mut all = heel.clone();
            all.merge(ball);
            all.percentile(0.99)
        };
        let percent = |part: u64| 100.0 * part as f64 / self.stances.max(1) as f64;
        Quality {
            stance_gap_mm_p99: both(&self.gap),
            stance_penetration_mm_p99: both(&self.penetration),
            stance_slide_mm_p99: self.slide.percentile(0.99),
            slide_within_mm_p99: self.slide_within.percentile(0.99),
            unreachable_stance_percent: percent(self.unreachable),
            straddling_stance_percent: percent(self.straddling),
            stances: self.stances,
            samples: self.gap[0].count() + self.gap[1].count(),
        }
    }
}

/// The figures of a run.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Quality {
    /// 99th percentile of the gap between sole points that are down and the ground, millimetres.
    pub stance_gap_mm_p99: f64,
    /// The same below ground.
    pub stance_penetration_mm_p99: f64,
    /// 99th percentile over stances of the farthest that the ball gets from where it came down, millimetres.
    pub stance_slide_mm_p99: f64,
    /// The same, only while both poses that the foot is shown between have the ball down: at tiers that are posed less
    /// often than every frame, without the frames in which a foot comes down or lifts off between two poses.
    pub slide_within_mm_p99: f64,
    /// Stances that the leg is too short for.
    pub unreachable_stance_percent: f64,
    /// Stances over a riser.
    pub straddling_stance_percent: f64,
    /// Stances of a foot that were judged.
    pub stances: u64,
    /// Samples of gap and penetration.
    pub samples: u64,
}

impl Quality {
    /// Stances from which on shares are judged as they are.
    pub const ENOUGH_STANCES: u64 = 1000;

    /// Largest share of stances out of reach, percent: 1, more of few stances (see [`failure`](Self::failure)).
    pub fn unreachable_limit_percent(&self) -> f64 {
        self.limit(0.01)
    }

    /// Largest share of stances over a riser, percent: 10, more of few stances.
    pub fn straddling_limit_percent(&self) -> f64 {
        self.limit(0.1)
    }

    /// In percent. A share of few stances is off by chance: there the limit gives way by three standard errors.
    fn limit(&self, share: f64) -> f64 {
        let few = self.stances < Self::ENOUGH_STANCES;
        let error = (share * (1.0 - share) / self.stances.max(1) as f64).sqrt();
        100.0 * if few { (share + 3.0 * error).min(1.0) } else { share }
    }

    /// Why the run fails, if it does: more than 10 % of stances over a riser, or 1 % out of reach. Of fewer than
    /// [`ENOUGH_STANCES`](Self::ENOUGH_STANCES) it may be as much more as chance makes of so few: three standard errors.
    pub fn failure(&self) -> Option<String> {
        let (straddling, unreachable) = (self.straddling_limit_percent(), self.unreachable_limit_percent());
        let of = if self.stances < Self::ENOUGH_STANCES {
            format!(" of only {}", self.stances)
        } else {
            String::new()
        };
        if self.straddling_stance_percent > straddling {
            return Some(format!(
                "{:.1} % of stances straddle a riser; at most {straddling:.0} %{of} may",
                self.straddling_stance_percent
            ));
        }
        (self.unreachable_stance_percent > unreachable).then(|| {
            format!(
                "{:.2} % of stances are out of reach; at most {unreachable:.0} %{of} may be",
                self.unreachable_stance_percent
            )
        })
    }
}
