//! Places that a host gave and the crowd could not take: told once, for as long as they stay so.

use super::{Crowd, Handle};
use crate::crowd::frame::Roots;

/// See [`Crowd::refused`].
#[derive(Debug, Default)]
pub(super) struct Refused {
    /// Per character: 1 and its generation if the last frame refused its place, else 0.
    standing: Vec<u64>,
    new: Vec<Handle>,
}

impl Refused {
    /// Nothing has been told yet.
    pub fn clear(&mut self) {
        self.standing.clear();
        self.new.clear();
    }

    /// Room for so many characters, so that frames take none.
    pub fn reserve(&mut self, characters: usize) {
        self.standing.reserve(characters.saturating_sub(self.standing.len()));
        self.new.reserve(characters.saturating_sub(self.new.len()));
    }
}

impl Crowd {
    /// Characters whose transform in [`Roots::Host`] is invalid since the last frame: they stay where they are. One whose
    /// input stays bad is not told again before a frame could take it.
    #[must_use]
    pub fn refused(&self) -> &[Handle] {
        &self.refused.new
    }

    pub(super) fn look_at(&mut self, roots: Roots<'_>) {
        let Refused { standing, new } = &mut self.refused;
        new.clear();
        let Roots::Host(places) = roots else {
            standing.clear();
            return;
        };
        // Both have had room since these characters came.
        standing.resize(self.characters.len(), 0);
        // What is missing is nothing that could be refused.
        standing[places.len().min(self.characters.len())..].fill(0);
        for (index, (entry, place)) in self.characters.iter().zip(places).enumerate() {
            let bad = !entry.is_free() && place.checked().is_none();
            let now = if bad { 1 + u64::from(entry.generation) } else { 0 };
            if bad && standing[index] != now {
                new.push(Handle { index: index as u32, generation: entry.generation });
            }
            standing[index] = now;
        }
    }
}
