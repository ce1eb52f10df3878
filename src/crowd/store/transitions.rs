//! The start of a transition: where the old motion is, and how fast.

use glam::{Quat, Vec3};

use super::playback::check_seconds;
use super::{Crowd, Handle, Place, Play};
use crate::crowd::MAX_CLIPS;
use crate::crowd::block::{Block, put_bit};
use crate::crowd::events::EventSink;
use crate::crowd::frame::{JobScratch, TopologyData};
use crate::crowd::rare::Transition;
use crate::crowd::scratch::Scratch;
use crate::crowd::stages::advance::{Drive, advance};
use crate::crowd::stages::inertia::{self, mrp};
use crate::crowd::stages::sample::{Joints, sample};
use crate::error::BuildError;
use crate::lanes::{BLOCK, Row};

/// How a transition is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransitionKind {
    /// The new clips play alone, the old motion goes on by itself and gives way to them.
    Inertialised,
    /// The memory for inertialised ones is used up: the old clips fade out.
    CrossFaded,
    /// At once: no time was given, nothing played or no frame has shown it yet, or it is one from or to a stream and the
    /// memory is used up.
    Immediate,
}

/// Seconds between the two poses that tell a velocity.
const APART: f32 = 1.0 / 120.0;

/// Fastest that an old motion goes on, in parameters (about a quarter of radians) or metres per second.
const FASTEST: f32 = 10.0;

/// A copy of one character, alone in a block, to look at its last moment.
#[derive(Debug, Default)]
pub(in crate::crowd) struct LastMoment {
    block: Box<Block>,
    pub(super) scratch: JobScratch,
    events: EventSink,
    now: Vec<[f32; 4]>,
    /// Model places and turns of joints that are read back from a slot.
    pub(super) models: Vec<(Vec3, Quat)>,
}

impl Crowd {
    /// Goes over to other clips, which play alone from now on, while the old motion goes on by itself and gives way to
    /// them over `seconds` (inertialisation). A stream that the character follows goes on for two frames, in which it is to
    /// be sent still, and then gives way; where it has ended already, the pose that the slot holds does, at rest
    /// (none after another rig was put in its place: that is a jump). Where more than [`CrowdConfig::transitions`](super::CrowdConfig::transitions) of the
    /// crowd are in transition, it is a cross-fade: see [`fade_to`](Self::fade_to); from a stream it is at once. To keep step, let both old and new
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
        if self.streams.follows(handle.index) {
            return self.transition_from_stream(place, handle.index, clips, seconds);
        }
        let lane = usize::from(place.lane);
        let (block, _) = self.block_and_library(place);
        let plays_now = (0..MAX_CLIPS).any(|slot| block.plays(slot, lane));
        // Before the first frame nobody has seen what played.
        if seconds < 1e-3 || !plays_now || block.shown & (1 << lane) == 0 {
            self.put_plays_at_once(place, &plays);
            return Ok(TransitionKind::Immediate);
        }
        if !self.has_memory(place) {
            self.fade_to(handle, clips, seconds)?;
            return Ok(TransitionKind::CrossFaded);
        }
        self.copy_last_moment(place);
        self.put_plays(place, &plays);
        self.start(place, seconds);
        Ok(TransitionKind::Inertialised)
    }

    /// Makes memory for that many transitions at a time, so that starting them allocates nothing.
    pub fn reserve_transitions(&mut self, count: usize) {
        let rows = self.memory_rows();
        self.pool.reserve_memory(count, rows);
        self.pool.reserve(count);
        let joints = self.topologies.iter().map(|data| data.topology.len()).max().unwrap_or(0);
        self.last_moment.now.reserve(joints);
        self.last_moment.models.reserve(joints);
    }

    /// Characters that are in an inertialised transition.
    #[must_use]
    pub fn in_transition(&self) -> usize {
        self.transitions
    }

    pub(super) fn memory_rows(&self) -> usize {
        self.topologies.iter().map(|data| inertia::rows(data.topology.len())).max().unwrap_or(0)
    }

    /// True if the character has memory for a transition, or there is some for it.
    pub(super) fn has_memory(&self, place: Place) -> bool {
        let block = &self.cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let own = block.rare[usize::from(place.lane)].as_ref();
        let most = (self.live as f32 * self.config.transitions.clamp(0.0, 1.0)).ceil() as usize;
        own.is_some_and(|rare| rare.transition.memory.is_some()) || self.transitions < most
    }

    /// Copies what a character plays.
    pub(super) fn copy_last_moment(&mut self, place: Place) {
        let from = &self.cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let lane = usize::from(place.lane);
        let to = &mut *self.last_moment.block;
        for (rows, out) in from.clips.iter().zip(&mut to.clips) {
            // Of the other lanes only the clips count, which must be of this topology.
            out.clip = [rows.clip[lane]; BLOCK];
            out.time.0[0] = rows.time.0[lane];
            out.lost.0[0] = rows.lost.0[lane];
            out.weight.0[0] = rows.weight.0[lane];
            out.speed.0[0] = rows.speed.0[lane];
            put_bit(&mut out.loops, 0, rows.loops & (1 << lane) != 0);
            put_bit(&mut out.ping_pong, 0, rows.ping_pong & (1 << lane) != 0);
            put_bit(&mut out.synced, 0, rows.synced & (1 << lane) != 0);
            put_bit(&mut out.playing, 0, rows.playing & (1 << lane) != 0);
            put_bit(&mut out.varying, 0, rows.varying & (1 << lane) != 0);
            put_bit(&mut out.warped, 0, rows.warped & (1 << lane) != 0);
        }
        to.live = 1;
        to.phase.0[0] = from.phase.0[lane];
        to.phase_lost.0[0] = from.phase_lost.0[lane];
        to.leg.0[0] = from.leg.0[lane];
        to.transitions = u16::from(from.transitions & (1 << lane) != 0);
        to.count_slots();
    }

    pub(super) fn start(&mut self, place: Place, seconds: f32) {
        let lane = usize::from(place.lane);
        let (rows, simd) = (self.memory_rows(), self.config.simd);
        let topology = usize::from(self.topology_at(place));
        let joints = self.topologies[topology].topology.len();
        self.have_rare(place);
        let TopologyData { library, plan, .. } = &self.topologies[topology];
        let Self { cohorts, last_moment, pool, transitions, .. } = self;
        let block = &mut cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let LastMoment { block: copy, scratch, events, now, .. } = last_moment;
        // A transition under way is part of the old motion: lent to the copy for as long as it is looked at.
        copy.rare[0] = block.rare[lane].take();
        let JobScratch { pose, clocks, .. } = scratch;
        pose.reserve(joints);
        let running = copy.transitions;
        let all = Joints { all: joints, kept: joints };
        sample(simd, copy, library, all, 1, false, pose);
        if running != 0 {
            inertia::inertia(simd, copy, plan, all, 1, pose);
        }
        now.clear();
        now.extend((0..joints + 2).map(|joint| value(pose, joints, joint)));
        copy.transitions = 0;
        advance(simd, copy, -APART, Drive::Host, library, clocks, events);
        sample(simd, copy, library, all, 1, false, pose);
        copy.transitions = running;
        let (mut left, mut layered) = (0.0, 0.0);
        if let Some(rare) = copy.rare[0].as_mut().filter(|_| running != 0) {
            left = rare.transition.left();
            layered = rare.transition.layered * left;
            rare.transition.elapsed -= APART;
            inertia::inertia(simd, copy, plan, all, 1, pose);
        }
        block.rare[lane] = copy.rare[0].take();
        let Some(rare) = &mut block.rare[lane] else { return };
        let old = core::mem::take(&mut rare.transition);
        let own = old.memory.filter(|memory| memory.len() >= inertia::rows(joints));
        let mut memory = own.unwrap_or_else(|| pool.take_memory(rows));
        for joint in 0..joints + 2 {
            let (is, was) = (now[joint], value(pose, joints, joint));
            let (is, was) = if joint < joints {
                let is = mrp::of(is);
                (is, mrp::near(mrp::of(was), is))
            } else {
                ([is[0], is[1], is[2]], [was[0], was[1], was[2]])
            };
            // Contacts do not run on.
            let velocity = if joint > joints { [0.0; 3] } else { per_second(is, was, APART) };
            inertia::put(&mut memory, joint, [is, velocity]);
        }
        // The way of the last moment, backwards, in leg lengths.
        let per = -1.0 / (APART * copy.leg.0[0]);
        let twist = core::array::from_fn(|k| {
            let per = if k < 2 { per } else { -1.0 / APART };
            old.twist[k] * left + copy.displacement[k].0[0] * per * (1.0 - left)
        });
        rare.transition =
            Transition { memory: Some(memory), twist, elapsed: 0.0, duration: seconds, layered };
        *transitions += usize::from(running == 0);
        put_bit(&mut block.transitions, lane, true);
        put_bit(&mut block.settled, lane, false);
    }

    /// Begins a transition from what is not known yet.
    pub(super) fn hold(&mut self, place: Place, seconds: f32) {
        let (rows, lane) = (self.memory_rows(), usize::from(place.lane));
        let least = inertia::rows(self.topologies[usize::from(self.topology_at(place))].topology.len());
        self.have_rare(place);
        let Self { cohorts, pool, transitions, .. } = self;
        let block = &mut cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let Some(rare) = &mut block.rare[lane] else { return };
        let own = rare.transition.memory.take().filter(|memory| memory.len() >= least);
        let mut memory = own.unwrap_or_else(|| pool.take_memory(rows));
        memory.fill(Row::ZERO);
        *transitions += usize::from(block.transitions & (1 << lane) == 0);
        rare.transition = Transition { memory: Some(memory), duration: seconds, ..Transition::default() };
        put_bit(&mut block.transitions, lane, true);
        put_bit(&mut block.settled, lane, false);
    }

    /// Lets a transition under way take that long from now on.
    pub(super) fn set_duration(&mut self, place: Place, seconds: f32) {
        let (block, _) = self.block_and_library(place);
        if let Some(rare) = &mut block.rare[usize::from(place.lane)] {
            rare.transition.duration = rare.transition.elapsed + seconds;
        }
    }

    pub(super) fn end_transition(&mut self, place: Place) {
        let (block, _) = self.block_and_library(place);
        let ended = block.transitions & (1 << place.lane);
        block.settled |= ended;
        block.transitions &= !ended;
        self.transitions -= usize::from(ended != 0);
    }

    /// Takes lane 0 of the scratch as the place of the old motion, at rest. Of a stream it is mixed with what is left of a
    /// motion before it, which is told; what was read back from a slot holds that already, and layers too.
    pub(super) fn remember_place(&mut self, place: Place, of: Remembered) -> bool {
        let lane = usize::from(place.lane);
        let data = &self.topologies[usize::from(self.topology_at(place))];
        let joints = data.topology.len();
        let Self { cohorts, last_moment, .. } = self;
        let block = &mut cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let LastMoment { block: copy, scratch: JobScratch { pose, .. }, .. } = last_moment;
        for (contact, foot) in pose.contact.iter_mut().zip(&block.feet) {
            // Contacts that are to be estimated are what they were.
            if contact.0[0] < 0.0 {
                contact.0[0] = foot.locked.0[lane];
            }
        }
        let Some(rare) = &mut block.rare[lane] else { return false };
        let still = rare.transition.elapsed > 0.0;
        let layered = match of {
            Remembered::Slot => 1.0,
            Remembered::Stream { .. } if !still => 0.0,
            Remembered::Stream { dt } => {
                rare.transition.elapsed += dt;
                rare.transition.layered * rare.transition.left()
            }
        };
        if still && matches!(of, Remembered::Stream { .. }) {
            (copy.live, copy.transitions) = (1, 1);
            copy.rare[0] = block.rare[lane].take();
            let all = Joints { all: joints, kept: joints };
            inertia::inertia(self.config.simd, copy, &data.plan, all, 1, pose);
            copy.transitions = 0;
            block.rare[lane] = copy.rare[0].take();
        }
        let Some(rare) = &mut block.rare[lane] else { return false };
        let left = (rare.transition.duration - rare.transition.elapsed).max(1e-3);
        let Some(memory) = &mut rare.transition.memory else { return false };
        for joint in 0..joints + 2 {
            let value = value(pose, joints, joint);
            let value = if joint < joints { mrp::of(value) } else { [value[0], value[1], value[2]] };
            inertia::put(memory, joint, [value, [0.0; 3]]);
        }
        if still {
            // The way of then is over.
            rare.transition.duration = left;
            rare.transition.twist = [0.0; 3];
        }
        rare.transition.elapsed = 0.0;
        rare.transition.layered = layered;
        still
    }

    /// The old motion's way over the ground goes on.
    pub(super) fn remember_twist(&mut self, place: Place, velocity: Option<Velocity>) {
        let (block, _) = self.block_and_library(place);
        if let (Some(rare), Some(Velocity { way, dt })) = (&mut block.rare[usize::from(place.lane)], velocity)
        {
            rare.transition.twist = way.map(|way| way / dt);
        }
    }

    /// Takes the way from the place of the old motion to lane 0 of the scratch as its velocity.
    pub(super) fn remember_velocity(&mut self, place: Place, Velocity { dt, .. }: Velocity) {
        let lane = usize::from(place.lane);
        let joints = self.topologies[usize::from(self.topology_at(place))].topology.len();
        let Self { cohorts, last_moment, .. } = self;
        let block = &mut cohorts[usize::from(place.cohort)].blocks[place.block as usize];
        let pose = &last_moment.scratch.pose;
        let Some(rare) = &mut block.rare[lane] else { return };
        rare.transition.elapsed = 0.0;
        let Some(memory) = &mut rare.transition.memory else { return };
        for joint in 0..=joints {
            let [was, _] = inertia::get(memory, joint);
            let now = value(pose, joints, joint);
            let now = if joint < joints { mrp::near(mrp::of(now), was) } else { [now[0], now[1], now[2]] };
            inertia::put(memory, joint, [was, per_second(now, was, dt)]);
        }
    }

    /// All blocks, in the order of cohorts.
    pub(in crate::crowd) fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.cohorts.iter().flat_map(|cohort| &cohort.blocks)
    }
}

/// What an old motion does between two frames: x, z, leg lengths, and yaw, and the seconds between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Velocity {
    pub way: [f32; 3],
    pub dt: f32,
}

/// Where the place of an old motion is from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Remembered {
    /// A stream's pose of this frame, so many seconds after the last.
    Stream { dt: f32 },
    /// What the slot shows.
    Slot,
}

/// Velocity of what came from `was` to `is` in `seconds`.
fn per_second(is: [f32; 3], was: [f32; 3], seconds: f32) -> [f32; 3] {
    core::array::from_fn(|k| ((is[k] - was[k]) / seconds).clamp(-FASTEST, FASTEST))
}

/// Of the first lane: a joint's rotation, then the pelvis, then the contacts.
fn value(pose: &Scratch, joints: usize, joint: usize) -> [f32; 4] {
    let of = |rows: &[Row]| core::array::from_fn(|k| rows.get(k).map_or(0.0, |row| row.0[0]));
    match joint.checked_sub(joints) {
        None => of(&pose.rotations[joint]),
        Some(0) => of(&pose.pelvis),
        Some(_) => of(&pose.contact),
    }
}
