//! A scene in tiers: who is in which, and what each costs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use super::report::Tier as Report;
use super::run::Progress;
use super::scene::Scene;
use crate::crowd::{BlockJob, Executor, Stage, TIERS, Tier};
use crate::error::BuildError;

/// Of 16 characters, so many in each of [`Tier::ALL`].
const SHARES: [usize; TIERS] = [1, 3, 5, 7];

/// Frames after which everybody has had as many turns as before.
const TURNS: usize = 8;

impl Scene {
    /// Puts the characters into all tiers, by fixed shares (1 : 3 : 5 : 7) and without regard to where they are, what they
    /// play and which rig they have.
    ///
    /// # Errors
    /// Never for live characters.
    pub fn share_tiers(&mut self) -> Result<(), BuildError> {
        for at in 0..self.handles().len() {
            // Spread as a hash is, so that no pattern of the scene falls in with it.
            let place = ((at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize;
            let mut end = 0;
            let tier = Tier::ALL.into_iter().zip(SHARES).find(|(_, share)| {
                end += share;
                place < end
            });
            let handle = self.handles()[at];
            self.crowd.set_tier(handle, tier.map_or(Tier::Far, |(tier, _)| tier))?;
        }
        self.crowd.pack();
        Ok(())
    }
}

/// Runs jobs one after another and takes the time of each tier's.
#[derive(Debug, Default)]
struct Timed([AtomicU64; TIERS]);

impl Executor for Timed {
    fn workers(&self) -> usize {
        1
    }

    fn run(&self, jobs: &mut [BlockJob<'_>]) {
        for job in jobs {
            let start = Instant::now();
            job.run();
            let time = start.elapsed().as_nanos() as u64;
            self.0[job.tier() as usize].fetch_add(time, Relaxed);
        }
    }
}

/// Microseconds per character and frame of each tier that anybody is in: on one thread, the median of `rounds` of all
/// turns, while clips change as in the run. Without rounds, `whole` for everybody.
pub(super) fn tiers(
    scene: &mut Scene,
    dt: f32,
    rounds: usize,
    whole: f64,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Report>, BuildError> {
    let counts = scene.crowd.tier_counts();
    let mut times: [Vec<f64>; TIERS] = Default::default();
    for round in 0..rounds {
        Progress::tell("tiers", round, rounds, progress);
        let timed = Timed::default();
        for _ in 0..TURNS {
            scene.frame(dt, Stage::Palette, &timed)?;
            scene.steer(dt)?;
            scene.direct(dt)?;
        }
        for (times, time) in times.iter_mut().zip(timed.0) {
            times.push(time.into_inner() as f64 * 1e-3 / TURNS as f64);
        }
    }
    if rounds > 0 {
        Progress::tell("tiers", rounds, rounds, progress);
    }
    let periods = scene.crowd.tiers().map(|tier| tier.period);
    Ok(Tier::ALL
        .into_iter()
        .zip(counts)
        .filter(|(_, count)| *count > 0)
        .map(|(tier, characters)| {
            let times = &mut times[tier as usize];
            times.sort_by(f64::total_cmp);
            let median = times.get(times.len() / 2).map_or(whole, |us| us / characters as f64);
            let (name, period) = (tier.name(), periods[tier as usize]);
            Report { name, characters, us_per_character: median, period, quality: None }
        })
        .collect())
}
