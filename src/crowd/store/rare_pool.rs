//! Rare state and memory of transitions that nobody uses: both go to lanes and come back, so that frames allocate
//! nothing.

use super::{Crowd, Place};
use crate::crowd::block::{Block, lanes_of};
use crate::crowd::rare::Rare;
use crate::lanes::Row;

/// See the module's head.
#[derive(Debug, Default)]
pub(super) struct RarePool {
    #[allow(clippy::vec_box, reason = "boxes go to lanes and come back")]
    boxes: Vec<Box<Rare>>,
    memory: Vec<Box<[Row]>>,
    /// Boxes that there are, with lanes or here.
    made: usize,
}

impl RarePool {
    /// Makes boxes until there are so many here.
    pub fn reserve(&mut self, count: usize) {
        while self.boxes.len() < count {
            self.make();
        }
    }

    /// Makes memory of so many rows until there are so many pieces here.
    pub fn reserve_memory(&mut self, count: usize, rows: usize) {
        while self.memory.len() < count {
            self.memory.push(vec![Row::ZERO; rows].into());
        }
    }

    /// One more, and room for all of them and their memory to come back during a frame.
    fn make(&mut self) {
        self.made += 1;
        self.boxes.reserve(self.made - self.boxes.len());
        self.memory.reserve(self.made.saturating_sub(self.memory.len()));
        self.boxes.push(Box::default());
    }

    fn take(&mut self) -> Box<Rare> {
        if self.boxes.is_empty() {
            self.make();
        }
        self.boxes.pop().unwrap_or_default()
    }

    /// Memory of at least so many rows; what is in it is of another transition.
    pub fn take_memory(&mut self, rows: usize) -> Box<[Row]> {
        let spare = self.memory.pop().filter(|memory| memory.len() >= rows);
        spare.unwrap_or_else(|| vec![Row::ZERO; rows].into())
    }

    pub fn give(&mut self, mut rare: Box<Rare>) {
        self.memory.extend(rare.transition.memory.take());
        *rare = Rare::default();
        self.boxes.push(rare);
    }

    /// Takes back what lanes of a block that have settled need no more.
    fn reclaim(&mut self, block: &mut Block) {
        let busy = block.fading | block.transitions | block.layered;
        for lane in lanes_of(core::mem::take(&mut block.settled)) {
            if busy & (1 << lane) == 0 {
                if let Some(rare) = block.rare[lane].take() {
                    self.give(rare);
                }
            } else if block.transitions & (1 << lane) == 0
                && let Some(rare) = &mut block.rare[lane]
            {
                self.memory.extend(rare.transition.memory.take());
            }
        }
    }

    /// After all lanes have been exchanged: leaves as much as there was, or as lanes have now; memory likewise.
    fn keep(&mut self, had: usize, used: usize, memories: usize) {
        self.boxes.truncate(had.saturating_sub(used));
        self.made = used + self.boxes.len();
        // All of it comes back during frames.
        self.boxes.reserve(used);
        let spare = self.memory.len().saturating_sub(memories);
        self.memory.truncate(spare);
        self.memory.reserve(self.made.max(memories + spare).saturating_sub(spare));
    }
}

impl Crowd {
    /// Sees to it that a character has rare state.
    pub(super) fn have_rare(&mut self, place: Place) {
        let block = &mut self.cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let rare = &mut block.rare[usize::from(place.lane)];
        if rare.is_none() {
            *rare = Some(self.pool.take());
        }
    }

    /// At the end of a frame: what has come to its end is free for others.
    pub(super) fn reclaim(&mut self) {
        let Self { cohorts, pool, transitions, .. } = self;
        *transitions = 0;
        for block in cohorts.iter_mut().flat_map(|cohort| &mut cohort.blocks) {
            pool.reclaim(block);
            *transitions += block.transitions.count_ones() as usize;
        }
    }

    /// Rare state that there is, with characters or not.
    pub(super) fn rare_count(&self) -> usize {
        self.pool.made
    }

    /// After a restore of a crowd that had so much rare state.
    pub(super) fn keep_rare(&mut self, had: usize) {
        let lanes = || self.blocks().flat_map(|block| &block.rare).flatten();
        let used = lanes().count();
        let memories = lanes().filter(|rare| rare.transition.memory.is_some()).count();
        self.transitions = self.blocks().map(|block| block.transitions.count_ones() as usize).sum();
        self.pool.keep(had, used, memories);
    }
}

#[cfg(test)]
impl RarePool {
    /// All memory that nobody uses.
    pub fn memory(&mut self) -> &mut [Box<[Row]>] {
        &mut self.memory
    }

    /// What there is: boxes made, boxes here, memory here; and whether all of it has room to come back.
    pub fn state(&self) -> ([usize; 3], bool) {
        let room = self.boxes.capacity() >= self.made && self.memory.capacity() >= self.made;
        ([self.made, self.boxes.len(), self.memory.len()], room)
    }
}
