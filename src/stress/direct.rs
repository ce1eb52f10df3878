//! A director: characters go over to other clips now and then, as a game has them do.

use super::scene::{Entry, Family, mix};
use crate::content::rng::Rng;
use crate::crowd::{Crowd, Handle, TransitionKind};
use crate::error::BuildError;

/// Seconds between two changes of a character, on average.
const EVERY: f64 = 6.0;
/// Seconds that a transition takes.
const SECONDS: f32 = 0.4;

/// What has been changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Changes {
    /// Inertialised transitions that were started.
    pub transitions: usize,
    /// Cross-fades in their place, for want of memory.
    pub cross_fades: usize,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Director {
    rng: Rng,
    /// Who may change, and the clips of its topology.
    cast: Vec<(Handle, usize)>,
    libraries: Vec<Vec<Entry>>,
    most_clips: usize,
    due: f64,
    pub changes: Changes,
}

impl Director {
    pub fn new(seed: u64, cast: Vec<(Handle, usize)>, libraries: Vec<Vec<Entry>>, most_clips: usize) -> Self {
        let rng = Rng::new(seed ^ 0xd12e_c701);
        Self { rng, cast, libraries, most_clips, due: 0.0, changes: Changes::default() }
    }

    /// Starts the changes that are due after `dt` more seconds. Those who stand go on standing.
    pub fn direct(&mut self, crowd: &mut Crowd, dt: f32) -> Result<(), BuildError> {
        if self.most_clips < 2 || self.cast.is_empty() {
            return Ok(());
        }
        self.due += self.cast.len() as f64 * f64::from(dt) / EVERY;
        while self.due >= 1.0 {
            self.due -= 1.0;
            let (handle, library) = self.cast[(self.rng.next() % self.cast.len() as u64) as usize];
            let entries = &self.libraries[library];
            let stands = crowd
                .clips(handle)?
                .next()
                .and_then(|play| entries.iter().find(|entry| entry.id == play.clip))
                .is_none_or(|entry| entry.family == Family::Stand);
            let start = (self.rng.next() % entries.len() as u64) as usize;
            let first = (0..entries.len())
                .map(|at| entries[(start + at) % entries.len()])
                .find(|entry| (entry.family == Family::Stand) == stands);
            let Some(first) = first else { continue };
            let count = 1 + (self.rng.next() % self.most_clips as u64) as usize;
            let plays = mix(&mut self.rng, entries, first, count);
            match crowd.transition_to(handle, &plays, SECONDS)? {
                TransitionKind::Inertialised => self.changes.transitions += 1,
                TransitionKind::CrossFaded => self.changes.cross_fades += 1,
                TransitionKind::Immediate => {}
            }
        }
        Ok(())
    }
}
