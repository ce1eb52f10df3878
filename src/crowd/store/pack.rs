//! Which character lives in which lane: sorted, so that blocks are full and uniform.

use super::{Crowd, Place};
use crate::crowd::block::{Block, Lane, MixedRows};
use crate::crowd::frame::Cohort;
use crate::lanes::{BLOCK, Row};

impl Crowd {
    /// Sorts lanes by rig and skin, so that blocks are full and uniform. What is left over of a rig after its full
    /// blocks gets a block of its own if it fills three quarters of it, else shares one with others. To be called
    /// after spawning in bulk; poses do not depend on it.
    pub fn pack(&mut self) {
        for cohort in 0..self.cohorts.len() {
            let blocks = &mut self.cohorts[cohort].blocks;
            let mut lanes: Vec<Lane> = Vec::with_capacity(blocks.len() * BLOCK);
            for block in blocks.iter_mut() {
                for lane in 0..BLOCK {
                    if block.live & (1 << lane) != 0 {
                        lanes.push(block.take(lane));
                    }
                }
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
        }
        self.fill_mixed();
    }

    fn push_block(&mut self, cohort: usize, lanes: Vec<Lane>) {
        let blocks = &mut self.cohorts[cohort].blocks;
        let mut block = Block::default();
        for (lane, state) in lanes.into_iter().enumerate() {
            self.characters[state.character as usize].place =
                Some(Place { cohort: cohort as u16, lane: lane as u8, block: blocks.len() as u32 });
            block.put(lane, state);
        }
        blocks.push(block);
    }

    /// Per-lane rows of blocks of several rigs. Only packing makes such blocks, so a frame finds all rows made.
    fn fill_mixed(&mut self) {
        for Cohort { topology, blocks } in &mut self.cohorts {
            let joints = self.topologies[usize::from(*topology)].topology.len();
            for block in blocks.iter_mut() {
                if !block.uniform() {
                    let mut rows =
                        MixedRows { offsets: vec![[Row::ZERO; 3]; joints], ..MixedRows::default() };
                    for lane in 0..BLOCK {
                        let live = block.live & (1 << lane) != 0;
                        let rig = if live { block.rigs[lane] } else { block.any_rig() };
                        let rig = &self.rig_data[usize::from(rig)];
                        for (out, offset) in rows.offsets.iter_mut().zip(&rig.offsets) {
                            (0..3).for_each(|k| out[k].0[lane] = offset[k]);
                        }
                        for (out, sole) in rows.soles.iter_mut().flatten().zip(rig.soles.iter().flatten()) {
                            (0..3).for_each(|k| out[k].0[lane] = sole[k]);
                        }
                    }
                    block.mixed = Some(Box::new(rows));
                }
            }
        }
    }
}
