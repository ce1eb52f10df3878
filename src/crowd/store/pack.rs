//! Which character lives in which lane: sorted, so that blocks are full and uniform.

use super::{Crowd, Place};
use crate::crowd::block::{Block, Lane, lanes_of};
use crate::lanes::{BLOCK, put_into_large_pages};

impl Crowd {
    /// Sorts lanes by rig and skin, so that blocks are full and uniform. What is left over of a rig after its full
    /// blocks gets a block of its own if it fills three quarters of it, else shares one with others. To be called
    /// after spawning in bulk; poses do not depend on it.
    pub fn pack(&mut self) {
        for cohort in 0..self.cohorts.len() {
            let count = self.cohorts[cohort].blocks.len();
            let mut lanes: Vec<Lane> = Vec::with_capacity(count * BLOCK);
            let data = &mut self.topologies[usize::from(self.cohorts[cohort].topology)];
            let blocks = &mut self.cohorts[cohort].blocks;
            for block in blocks.iter_mut() {
                data.spare_rows.extend(block.mixed.take());
                lanes.extend(lanes_of(block.live).map(|lane| block.take(lane)));
            }
            lanes.sort_by_key(|lane| (lane.rig, lane.skin, lane.character));
            blocks.clear();
            let mut leftovers = Vec::new();
            let mut lanes = lanes.into_iter().peekable();
            while let Some(first) = lanes.next() {
                let key = (first.rig, first.skin);
                let mut run = vec![first];
                while run.len() < BLOCK
                    && let Some(next) = lanes.next_if(|lane| (lane.rig, lane.skin) == key)
                {
                    run.push(next);
                }
                if run.len() * 4 >= BLOCK * 3 { self.push_block(cohort, run) } else { leftovers.extend(run) }
            }
            let mut leftovers = leftovers.into_iter();
            loop {
                let run: Vec<Lane> = leftovers.by_ref().take(BLOCK).collect();
                if run.is_empty() {
                    break;
                }
                self.push_block(cohort, run);
            }
            put_into_large_pages(&mut self.cohorts[cohort].blocks);
            self.file_all(cohort, &[]);
        }
    }

    fn push_block(&mut self, cohort: usize, lanes: Vec<Lane>) {
        let blocks = &mut self.cohorts[cohort].blocks;
        let mut block = Block::default();
        for (lane, state) in lanes.into_iter().enumerate() {
            let place = Place { cohort: cohort as u16, lane: lane as u8, block: blocks.len() as u32 };
            self.characters[state.character as usize].put(place);
            block.put(lane, state);
        }
        blocks.push(block);
    }
}
