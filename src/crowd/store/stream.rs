//! Who follows which stream, and how streams begin and end.

use glam::{Quat, Vec3};

use super::playback::check_seconds;
use super::transitions::{Remembered, Velocity};
use super::{Crowd, Handle, Place, Play, TransitionKind};
use crate::crowd::MAX_CLIPS;
use crate::crowd::block::Block;
use crate::crowd::frame::Frame;
use crate::crowd::streams::{Stream, StreamBuffer, StreamId, StreamReport, StreamRotation};
use crate::error::BuildError;
use crate::lanes::BLOCK;
use crate::rig::{MAX_FEET, NO_PARENT};

impl Crowd {
    /// Lets a stream drive a character instead of clips, from the next frame on; layers go on over it. The poses come with
    /// each frame ([`Frame::streams`](crate::crowd::Frame::streams)). A character whose pose is missing or refused is not
    /// written: its slot keeps the last one, as if it were not seen. Where there is none yet, it shows the reference
    /// pose. Allocates when a map or a character of a higher index is new.
    ///
    /// # Errors
    /// If the handle is stale or the map leads to another topology.
    pub fn set_stream(&mut self, handle: Handle, stream: &Stream) -> Result<(), BuildError> {
        self.check_stream(handle, stream)?;
        self.set_clips(handle, &[])?;
        self.streams.set(handle.index, stream);
        self.reserve_streams();
        Ok(())
    }

    /// Lets a stream drive a character instead of what did, which goes on by itself and gives way over `seconds`, as in
    /// [`transition_to`](Self::transition_to). Between two streams it begins with the second frame from now on: until
    /// then both are to be sent. A stream that tells a place of its own ([`StreamRoot::InPose`](crate::crowd::StreamRoot))
    /// draws the body from its root to that place in these seconds. Where the memory for transitions is used up, streams
    /// change at once: there is no cross-fade with them. While the pose of the new stream is missing or refused, the
    /// transition waits.
    ///
    /// # Errors
    /// As [`set_stream`](Self::set_stream), and if `seconds` is not from 0 to 60.
    pub fn transition_to_stream(
        &mut self,
        handle: Handle,
        stream: &Stream,
        seconds: f32,
    ) -> Result<TransitionKind, BuildError> {
        let place = self.check_stream(handle, stream)?;
        check_seconds(seconds)?;
        let lane = usize::from(place.lane);
        let follows = self.streams.follows(handle.index);
        let (block, _) = self.block_and_library(place);
        let moves = follows || (0..MAX_CLIPS).any(|slot| block.plays(slot, lane));
        if seconds < 1e-3 || !moves || block.shown & (1 << lane) == 0 || !self.has_memory(place) {
            self.set_stream(handle, stream)?;
            return Ok(TransitionKind::Immediate);
        }
        let nothing = self.plays(self.topology_at(place), &[])?;
        if follows {
            self.put_plays_beside(place, &nothing);
            self.leave_stream(place, handle.index, Some(stream), seconds);
        } else {
            self.copy_last_moment(place);
            self.put_plays(place, &nothing);
            self.start(place, seconds);
            self.streams.set(handle.index, stream);
        }
        self.reserve_streams();
        Ok(TransitionKind::Inertialised)
    }

    fn check_stream(&self, handle: Handle, stream: &Stream) -> Result<Place, BuildError> {
        let place = self.place(handle)?;
        if self.topologies[usize::from(self.topology_at(place))].topology != *stream.map.topology() {
            return Err(BuildError::OtherTopology { what: format!("the map of stream {}", stream.id.0) });
        }
        Ok(place)
    }

    /// Room for the temporaries of maps.
    pub(super) fn reserve_streams(&mut self) {
        let joints = self.topologies.iter().map(|data| data.topology.len()).max().unwrap_or(0);
        let (joints, lines) = (joints + self.streams.temporaries(), self.max_lines());
        let sources = self.streams.source_joints();
        for scratch in &mut self.scratch {
            scratch.reserve(joints, lines);
            scratch.pose.reserve_gathered(sources);
        }
        self.last_moment.scratch.pose.reserve_gathered(sources);
    }

    /// From a stream to clips, which the character plays from now on, unseen.
    pub(super) fn transition_from_stream(
        &mut self,
        place: Place,
        character: u32,
        clips: &[Play],
        seconds: f32,
    ) -> Result<TransitionKind, BuildError> {
        let plays = self.plays(self.topology_at(place), clips)?;
        let (block, _) = self.block_and_library(place);
        if seconds < 1e-3 || block.shown & (1 << place.lane) == 0 || !self.has_memory(place) {
            self.put_plays_at_once(place, &plays);
            return Ok(TransitionKind::Immediate);
        }
        self.put_plays_beside(place, &plays);
        self.leave_stream(place, character, None, seconds);
        Ok(TransitionKind::Inertialised)
    }

    fn leave_stream(&mut self, place: Place, character: u32, next: Option<&Stream>, seconds: f32) {
        let lane = usize::from(place.lane);
        let new = !self.streams.leaves(character);
        let (block, _) = self.block_and_library(place);
        let running = block.rare[lane].as_ref().filter(|_| block.transitions & (1 << lane) != 0);
        let elapsed = running.map(|rare| rare.transition.elapsed);
        match elapsed {
            // No frame has shown the stream: the motion before it is the old one still.
            Some(elapsed) if new && elapsed <= 0.0 => {
                match next {
                    Some(next) => self.streams.set(character, next),
                    None => self.streams.clear(character),
                }
                return self.set_duration(place, seconds);
            }
            // What is remembered is part of what is seen.
            Some(_) => self.set_duration(place, seconds),
            None => {
                self.streams.stay(character);
                self.hold(place, seconds);
            }
        }
        self.streams.leave(character, next);
    }

    /// Lets a character go: it plays nothing and shows the reference pose, until it is given clips or a stream.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn clear_stream(&mut self, handle: Handle) -> Result<(), BuildError> {
        let place = self.place(handle)?;
        if self.streams.follows(handle.index) {
            let nothing = self.plays(self.topology_at(place), &[])?;
            self.put_plays_at_once(place, &nothing);
        }
        Ok(())
    }

    /// Ways out of streams, at the beginning of a frame: what its poses tell of where they are and how fast.
    pub(super) fn leave_streams(&mut self, frame: &Frame<'_>) {
        // From the last on: who has left makes room for who stands behind.
        for at in (0..self.streams.leaving().len()).rev() {
            let (character, placed) =
                (self.streams.leaving()[at].character, self.streams.leaving()[at].placed);
            let entry = self.characters.get(character as usize).copied();
            let Some((place, generation)) = entry.and_then(|entry| Some((entry.place()?, entry.generation)))
            else {
                self.streams.left(at);
                continue;
            };
            let (block, _) = self.block_and_library(place);
            if block.transitions & (1 << place.lane) == 0 {
                // The time is over already.
                self.streams.left(at);
                continue;
            }
            let leg = block.leg.0[usize::from(place.lane)];
            let joints = self.topologies[usize::from(self.topology_at(place))].topology.len();
            let room = joints + self.streams.temporaries();
            let pose = &mut self.last_moment.scratch.pose;
            pose.reserve(room);
            let way = self.streams.alone(self.config.simd, character, frame.streams, leg, joints, pose);
            // Without time there is no velocity.
            let timed = way.filter(|_| frame.dt > 0.0).map(|way| Velocity { way, dt: frame.dt });
            match (placed, way) {
                (false, Some(_)) => {
                    if self.remember_place(place, Remembered::Stream { dt: frame.dt }) {
                        // In the midst of a transition no velocity can be told from the stream.
                        self.remember_twist(place, timed);
                        self.streams.left(at);
                    } else {
                        self.streams.placed(at);
                    }
                }
                (false, None) => {
                    if self.last_seen(Handle { index: character, generation }, place) {
                        self.remember_place(place, Remembered::Slot);
                    } else {
                        self.end_transition(place);
                    }
                    self.streams.left(at);
                }
                (true, Some(_)) if timed.is_none() => {}
                (true, _) => {
                    if let Some(velocity) = timed {
                        self.remember_velocity(place, velocity);
                        self.remember_twist(place, timed);
                    }
                    self.streams.left(at);
                }
            }
        }
    }

    /// What the slot shows of a character, as a pose before feet, into lane 0: of a stream that has ended there is
    /// nothing else.
    fn last_seen(&mut self, handle: Handle, place: Place) -> bool {
        let lane = usize::from(place.lane);
        let mut lanes = core::mem::take(&mut self.last_moment.scratch.pose);
        let mut models = core::mem::take(&mut self.last_moment.models);
        models.clear();
        let topology = &self.topologies[usize::from(self.topology_at(place))].topology;
        let (parents, pelvis) = (topology.parents(), usize::from(topology.pelvis()));
        let shown = self.posed(handle).map(|shown| {
            // Model place and turn since the reference; joints without an entry go with their parents.
            for (joint, &parent) in parents.iter().enumerate() {
                let offset = Vec3::from_array(shown.rig.offsets()[joint]);
                let above = if parent == NO_PARENT { None } else { models.get(usize::from(parent)).copied() };
                let (at, axes) = above.unwrap_or((Vec3::ZERO, Quat::IDENTITY));
                let rest = at + axes * offset;
                let (at, turn) = shown.joint(joint).unwrap_or((rest, axes));
                models.push((at, turn));
                let delta = (axes.conjugate() * turn).normalize();
                let delta = if delta.w < 0.0 { -delta } else { delta };
                for (row, value) in lanes.rotations[joint].iter_mut().zip(delta.to_array()) {
                    row.0[0] = value;
                }
                if joint == pelvis {
                    for (row, value) in lanes.pelvis.iter_mut().zip((at - rest).to_array()) {
                        row.0[0] = value;
                    }
                }
            }
        });
        (self.last_moment.scratch.pose, self.last_moment.models) = (lanes, models);
        let (block, _) = self.block_and_library(place);
        // Feet move the pelvis again.
        let (moved, locked) = (block.pelvis.0[lane], block.feet.each_ref().map(|foot| foot.locked.0[lane]));
        let pose = &mut self.last_moment.scratch.pose;
        pose.pelvis[1].0[0] -= moved;
        for foot in 0..MAX_FEET {
            pose.contact[foot].0[0] = locked[foot];
        }
        shown.is_ok()
    }

    /// What a character follows, if anything, or what it is about to.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn stream(&self, handle: Handle) -> Result<Option<Stream>, BuildError> {
        self.place(handle)?;
        Ok(self.streams.get(handle.index))
    }

    /// Puts the poses of a buffer where frames read them fastest: beside those of the characters in the same block, each in
    /// the lane of whoever follows it. Ids stay, poses stay as they are, and what a frame makes of them does too; only what
    /// it costs does not. To be called once everybody is there; it copies everything to new memory, so later
    /// [`arrange_some_streams`](Self::arrange_some_streams) is better. A buffer of its own for each crowd.
    ///
    /// # Errors
    /// If there is no room for as many blocks: streams of many joint counts in one block take one each.
    pub fn arrange_streams<Q: StreamRotation>(&self, buffer: &mut StreamBuffer<Q>) -> Result<(), BuildError> {
        buffer.seat_all(self.blocks().map(|block| self.seated(block)))
    }

    /// Lets up to so many poses of a buffer change places, where [`arrange_streams`](Self::arrange_streams) would have them
    /// elsewhere; gives how many did. For every frame, after characters were spawned, packed or given other streams or
    /// tiers: `most` poses are copied, and everybody looked at. Allocates only where a block of characters has no sixteen to
    /// change with.
    ///
    /// # Errors
    /// As [`arrange_streams`](Self::arrange_streams).
    pub fn arrange_some_streams<Q: StreamRotation>(
        &self,
        buffer: &mut StreamBuffer<Q>,
        most: usize,
    ) -> Result<usize, BuildError> {
        buffer.seat_some(self.blocks().map(|block| self.seated(block)), most)
    }

    /// What the lanes of a block follow.
    fn seated(&self, block: &Block) -> [Option<StreamId>; BLOCK] {
        let follows = |lane: usize| {
            let there = block.live & (1 << lane) != 0;
            there.then(|| self.streams.followed(block.characters[lane])).flatten()
        };
        core::array::from_fn(follows)
    }

    /// What the last frame made of its streams.
    #[must_use]
    pub fn stream_report(&self) -> StreamReport {
        let mut report = StreamReport::NONE;
        self.scratch.iter().for_each(|scratch| report.add(scratch.pose.streamed));
        report
    }
}
