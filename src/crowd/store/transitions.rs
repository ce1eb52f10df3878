//! The start of a transition: what the old motion is ahead of the new one, and how fast.

use super::playback::check_seconds;
use super::{Crowd, Handle, Place, Play};
use crate::crowd::MAX_CLIPS;
use crate::crowd::block::{Block, put_bit};
use crate::crowd::events::EventSink;
use crate::crowd::frame::JobScratch;
use crate::crowd::rare::{Transition, decay};
use crate::crowd::stages::advance::{Drive, advance};
use crate::crowd::stages::inertia::{self, VALUES, mrp};
use crate::crowd::stages::sample::sample;
use crate::error::BuildError;
use crate::lanes::{BLOCK, Row};

/// How a transition is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransitionKind {
    /// The new clips play alone, the old motion dies away on top of them.
    Inertialised,
    /// The memory for inertialised ones is used up: the old clips fade out.
    CrossFaded,
    /// At once: no time was given, or nothing played.
    Immediate,
}

/// Seconds between the two poses that tell a velocity.
const APART: f32 = 1.0 / 120.0;

/// Largest parameter of a velocity over a transition: four half turns.
const FASTEST: f32 = 4.0;

/// Old and new motion of one character, as two lanes of a block of their own.
#[derive(Debug, Default)]
pub(in crate::crowd) struct Comparison {
    block: Box<Block>,
    scratch: JobScratch,
    events: EventSink,
    now: Vec<[[f32; 4]; 2]>,
}

impl Crowd {
    /// Goes over to other clips, which play alone from now on, while what the old motion was ahead of them dies away over
    /// `seconds` (inertialisation). Where more than [`CrowdConfig::transitions`](super::CrowdConfig::transitions) of the
    /// crowd are in transition, it is a cross-fade: see [`fade_to`](Self::fade_to). To keep step, let both old and new
    /// clips be [synced](Play::sync).
    ///
    /// # Errors
    /// As [`fade_to`](Self::fade_to).
    pub fn transition_to(
        &mut self,
        handle: Handle,
        clips: &[Play],
        seconds: f32,
    ) -> Result<TransitionKind, BuildError> {
        let place = self.place(handle)?;
        let plays = self.plays(self.topology_at(place), clips)?;
        check_seconds(seconds)?;
        let lane = usize::from(place.lane);
        let (block, _) = self.block_and_library(place);
        let plays_now = (0..MAX_CLIPS).any(|slot| block.plays(slot, lane));
        // Before the first frame nobody has seen what played.
        if seconds < 1e-3 || !plays_now || block.fresh.0[lane] > 0.5 {
            self.put_plays(place, &plays);
            return Ok(TransitionKind::Immediate);
        }
        if block.transitions & (1 << lane) == 0 && !self.has_offsets(place) {
            self.fade_to(handle, clips, seconds)?;
            return Ok(TransitionKind::CrossFaded);
        }
        self.compare(place, 0);
        self.put_plays(place, &plays);
        self.compare(place, 1);
        self.start(place, seconds);
        Ok(TransitionKind::Inertialised)
    }

    /// Makes memory for that many transitions at a time, so that starting them allocates nothing.
    pub fn reserve_transitions(&mut self, count: usize) {
        let rows = self.offset_rows();
        while self.spare_offsets.len() < count {
            self.spare_offsets.push(vec![Row::ZERO; rows].into());
        }
        self.spare.reserve(count);
        while self.spare.len() < count {
            self.spare.push(Box::default());
        }
        self.compared.now.reserve(self.topologies.iter().map(|data| data.topology.len()).max().unwrap_or(0));
    }

    /// Characters that are in an inertialised transition.
    #[must_use]
    pub fn in_transition(&self) -> usize {
        self.blocks().map(|block| block.transitions.count_ones() as usize).sum()
    }

    fn offset_rows(&self) -> usize {
        self.topologies.iter().map(|data| inertia::rows(data.topology.len())).max().unwrap_or(0)
    }

    /// True if the character has memory for a transition, or there is some for it.
    fn has_offsets(&self, place: Place) -> bool {
        let block = &self.cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let own = block.rare[usize::from(place.lane)].as_ref();
        let most = (self.live as f32 * self.config.transitions.clamp(0.0, 1.0)).ceil() as usize;
        own.is_some_and(|rare| rare.transition.offsets.is_some()) || self.in_transition() < most
    }

    /// Puts a copy of what a character plays into a lane of the comparison.
    fn compare(&mut self, place: Place, side: usize) {
        let from = &self.cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let lane = usize::from(place.lane);
        let to = &mut *self.compared.block;
        for (rows, out) in from.clips.iter().zip(&mut to.clips) {
            out.clip[side] = rows.clip[lane];
            out.time.0[side] = rows.time.0[lane];
            out.lost.0[side] = rows.lost.0[lane];
            out.weight.0[side] = rows.weight.0[lane];
            out.speed.0[side] = rows.speed.0[lane];
            put_bit(&mut out.loops, side, rows.loops & (1 << lane) != 0);
            put_bit(&mut out.ping_pong, side, rows.ping_pong & (1 << lane) != 0);
            put_bit(&mut out.synced, side, rows.synced & (1 << lane) != 0);
        }
        to.live |= 1 << side;
        to.phase.0[side] = from.phase.0[lane];
        to.phase_lost.0[side] = from.phase_lost.0[lane];
        to.leg.0[side] = from.leg.0[lane];
        to.displacement.iter_mut().for_each(|row| row.0[side] = 0.0);
    }

    fn start(&mut self, place: Place, seconds: f32) {
        let lane = usize::from(place.lane);
        let (rows, simd) = (self.offset_rows(), self.config.simd);
        let topology = usize::from(self.topology_at(place));
        let joints = self.topologies[topology].topology.len();
        let fresh = self.take_rare();
        let library = &self.topologies[topology].library;
        let Self { cohorts, compared, spare, spare_offsets, .. } = self;
        let block = &mut cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let Comparison { block: pair, scratch, events, now } = compared;
        // Other lanes hold clips of other topologies, perhaps.
        for rows in &mut pair.clips {
            rows.clip[2..].fill(0);
            rows.weight.0[2..].fill(0.0);
        }
        pair.count_slots();
        let pose = &mut scratch.pose;
        pose.reserve(joints);
        let at = |pose: &crate::crowd::scratch::Scratch, joint: usize, side: usize| -> [f32; 4] {
            match pose.rotations.get(joint).filter(|_| joint < joints) {
                Some(rotation) => core::array::from_fn(|k| rotation[k].0[side]),
                None => core::array::from_fn(|k| pose.pelvis.get(k).map_or(0.0, |row| row.0[side])),
            }
        };
        sample(simd, pair, library, joints, false, pose);
        now.clear();
        now.extend((0..=joints).map(|joint| [at(pose, joint, 0), at(pose, joint, 1)]));
        advance(simd, pair, -APART, Drive::Host, library, &mut scratch.clocks, events);
        sample(simd, pair, library, joints, false, pose);

        let rare = match &mut block.rare[lane] {
            Some(rare) => {
                spare.push(fresh);
                rare
            }
            none => none.insert(fresh),
        };
        let running = block.transitions & (1 << lane) != 0;
        let old = core::mem::take(&mut rare.transition);
        let mut offsets = match old.offsets {
            Some(offsets) if offsets.len() >= rows => offsets,
            _ => spare_offsets
                .pop()
                .filter(|offsets| offsets.len() >= rows)
                .unwrap_or_else(|| vec![Row::ZERO; rows].into()),
        };
        let share = |elapsed: f32| if running { decay(elapsed / old.duration) } else { [0.0; 2] };
        let (left, left_before) = (share(old.elapsed), share(old.elapsed - APART));
        let values: &mut [f32] = bytemuck::cast_slice_mut(&mut offsets);
        for (joint, values) in values.chunks_exact_mut(VALUES).enumerate().take(joints + 1) {
            // What is left of a transition under way is part of the old motion.
            let before: [f32; VALUES] = core::array::from_fn(|k| if running { values[k] } else { 0.0 });
            let ahead = |[f, g]: [f32; 2]| -> [f32; 3] {
                core::array::from_fn(|k| before[k] * f + before[3 + k] * g)
            };
            let [was, is] = now[joint];
            let (was_before, is_before) = (at(pose, joint, 0), at(pose, joint, 1));
            let (offset, earlier) = if joint < joints {
                let of =
                    |was, is, left| mrp::of(mrp::between(is, mrp::times(was, mrp::rotation(ahead(left)))));
                let offset = of(was, is, left);
                (offset, mrp::near(of(was_before, is_before, left_before), offset))
            } else {
                let of = |was: [f32; 4], is: [f32; 4], left| {
                    let ahead = ahead(left);
                    core::array::from_fn(|k| was[k] + ahead[k] - is[k])
                };
                (of(was, is, left), of(was_before, is_before, left_before))
            };
            for k in 0..3 {
                let velocity = (offset[k] - earlier[k]) / APART * seconds;
                values[k] = offset[k];
                values[3 + k] = velocity.clamp(-FASTEST, FASTEST);
            }
        }
        // The way of the last moment, backwards, in leg lengths; both have the same leg.
        let per = -1.0 / (APART * pair.leg.0[0]);
        let left = if running { left[0] } else { 0.0 };
        let twist = core::array::from_fn(|k| {
            let per = if k < 2 { per } else { -1.0 / APART };
            let row = &pair.displacement[k].0;
            (row[0] - row[1]) * per + old.twist[k] * left
        });
        rare.transition = Transition { offsets: Some(offsets), twist, elapsed: 0.0, duration: seconds };
        put_bit(&mut block.transitions, lane, true);
        put_bit(&mut block.settled, lane, false);
    }

    /// All blocks, in the order of cohorts.
    pub(in crate::crowd) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.cohorts.iter().flat_map(|cohort| &cohort.blocks)
    }
}

const _: () = assert!(BLOCK >= 2);
