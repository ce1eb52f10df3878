//! The crowd: who lives where, and everything a host calls.

use super::block::{Block, Lane, MAX_CLIPS, MixedRows};
use super::executor::Executor;
use super::frame::{self, Frame, JobScratch, RigData, Shared, Stage, TopologyData};
use super::library::Library;
use super::output::{PackedSkin, PaletteFormat, PoseHeader};
use super::stages::feet::LegPlan;
use crate::clip::{BoundClip, Planar};
use crate::error::BuildError;
use crate::lanes::{BLOCK, Line, Row, Simd, SlotBuffer};
use crate::rig::{MAX_FEET, NO_PARENT, Rig, Topology};

/// A rig of a crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RigId(pub(crate) u16);

/// A bound clip of a crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClipId {
    pub(crate) topology: u16,
    pub(crate) index: u32,
}

/// A live character. Handles of characters that are gone are refused, also after their index is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle {
    index: u32,
    generation: u32,
}

impl Handle {
    /// Index of the character: stable while it lives, dense, for the host's own arrays.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// Place of a character in the world.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct WorldTransform {
    /// Metres.
    pub position: [f32; 3],
    /// Unit quaternion (x, y, z, w).
    pub rotation: [f32; 4],
}

impl WorldTransform {
    /// At the origin, facing +Z.
    pub const IDENTITY: Self = Self { position: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] };

    /// On the ground at (x, z), turned `yaw` radians to the left of +Z.
    pub fn standing(x: f32, z: f32, yaw: f32) -> Self {
        let (s, c) = (yaw * 0.5).sin_cos();
        Self { position: [x, 0.0, z], rotation: [0.0, s, 0.0, c] }
    }

    pub(crate) fn is_valid(&self) -> bool {
        let n: f32 = self.rotation.iter().map(|c| c * c).sum();
        // Beyond a thousand kilometres single precision is no help to anyone, and squares stay finite below.
        self.position.iter().all(|p| p.abs() < 1e6) && (n - 1.0).abs() < 1e-2
    }
}

/// One clip that a character plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Play {
    /// Bound to the topology of the character's rig.
    pub clip: ClipId,
    /// Seconds into the clip.
    pub time: f32,
    /// Share of the pose; all weights of a character are scaled to sum to 1.
    pub weight: f32,
    /// Clip seconds per second; negative plays backwards.
    pub speed: f32,
}

impl Play {
    /// From its start, alone, at its own speed.
    pub fn new(clip: ClipId) -> Self {
        Self { clip, time: 0.0, weight: 1.0, speed: 1.0 }
    }
}

/// A crowd's fixed choices.
#[derive(Clone, Copy, Debug)]
pub struct CrowdConfig {
    /// Instruction set and arithmetic.
    pub simd: Simd,
    /// How skinning matrices are written.
    pub format: PaletteFormat,
    /// Write slots around the cache: right for crowds whose palettes exceed it and go to a GPU.
    pub stream: bool,
    /// Ask for the next block's keys ahead.
    pub prefetch: bool,
}

impl Default for CrowdConfig {
    fn default() -> Self {
        Self { simd: Simd::fastest(), format: PaletteFormat::default(), stream: true, prefetch: true }
    }
}

/// How full and how even the blocks are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// Live characters.
    pub characters: usize,
    /// Blocks that a frame runs.
    pub blocks: usize,
    /// Live lanes / (16 x blocks).
    pub occupancy: f32,
    /// Blocks whose lanes share a rig, percent.
    pub uniform_block_percent: f32,
}

#[derive(Clone, Copy, Debug)]
struct Location {
    generation: u32,
    /// `None` while the index is free.
    place: Option<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    cohort: u16,
    lane: u8,
    block: u32,
}

/// Thousands of characters of any number of rigs and topologies.
#[derive(Debug)]
pub struct Crowd {
    config: CrowdConfig,
    topologies: Vec<TopologyData>,
    rigs: Vec<(Rig, u16)>,
    rig_data: Vec<RigData>,
    /// One cohort per topology: its index and blocks.
    cohorts: Vec<(usize, Vec<Block>)>,
    characters: Vec<Location>,
    free: Vec<u32>,
    slots: SlotBuffer,
    scratch: Vec<JobScratch>,
    time: f64,
    live: usize,
}

impl Crowd {
    /// An empty crowd.
    pub fn new(config: CrowdConfig) -> Self {
        Self {
            config,
            topologies: Vec::new(),
            rigs: Vec::new(),
            rig_data: Vec::new(),
            cohorts: Vec::new(),
            characters: Vec::new(),
            free: Vec::new(),
            slots: SlotBuffer::default(),
            scratch: Vec::new(),
            time: 0.0,
            live: 0,
        }
    }

    /// Its fixed choices.
    pub fn config(&self) -> &CrowdConfig {
        &self.config
    }

    /// Takes a rig in; rigs of equal topology share clips and blocks.
    ///
    /// # Errors
    /// If the palette format cannot carry one of its skins, or 65 535 rigs are there.
    pub fn add_rig(&mut self, rig: Rig) -> Result<RigId, BuildError> {
        let id = u16::try_from(self.rigs.len()).map_err(|_| BuildError::Full { what: "65 536 rigs" })?;
        let skins = rig
            .skins()
            .iter()
            .map(|skin| PackedSkin::build(&rig, skin, self.config.format))
            .collect::<Result<Vec<_>, _>>()?;
        let topology = self.topology_of(rig.topology());
        let mut soles = [[[0.0; 3]; 2]; MAX_FEET];
        for (out, sole) in soles.iter_mut().zip(rig.soles()) {
            *out = [sole.heel, sole.ball];
        }
        self.rig_data.push(RigData { offsets: rig.offsets().to_vec(), soles, skins });
        self.rigs.push((rig, topology));
        Ok(RigId(id))
    }

    /// Takes a clip in for all rigs of its topology.
    ///
    /// # Errors
    /// If no rig of that topology is there.
    pub fn add_clip(&mut self, clip: BoundClip) -> Result<ClipId, BuildError> {
        let Some(topology) = self.topologies.iter().position(|data| data.topology == *clip.topology()) else {
            return Err(BuildError::OtherTopology { what: format!("clip \"{}\"", clip.name()) });
        };
        let index = self.topologies[topology].library.add(clip);
        Ok(ClipId { topology: topology as u16, index })
    }

    fn topology_of(&mut self, topology: &Topology) -> u16 {
        if let Some(at) = self.topologies.iter().position(|data| data.topology == *topology) {
            return at as u16;
        }
        let mut to_pelvis = Vec::new();
        let mut joint = topology.pelvis();
        while joint != NO_PARENT {
            to_pelvis.push(joint);
            joint = topology.parents()[usize::from(joint)];
        }
        to_pelvis.reverse();
        let legs = topology.legs().iter().take(MAX_FEET).cloned().collect();
        self.topologies.push(TopologyData {
            topology: topology.clone(),
            plan: LegPlan { to_pelvis, legs },
            library: Library::default(),
        });
        self.cohorts.push((self.topologies.len() - 1, Vec::new()));
        self.topologies.len() as u16 - 1
    }

    /// A rig by its id.
    ///
    /// # Panics
    /// If the id is of another crowd.
    pub fn rig(&self, id: RigId) -> &Rig {
        &self.rigs[usize::from(id.0)].0
    }

    /// Rigs, in the order in which they came.
    pub fn rigs(&self) -> impl ExactSizeIterator<Item = RigId> + use<> {
        (0..self.rigs.len() as u16).map(RigId)
    }

    /// A clip by its id.
    pub fn clip(&self, id: ClipId) -> Option<&BoundClip> {
        self.topologies.get(usize::from(id.topology))?.library.clip(id.index)
    }

    /// Makes room, so that spawning that many characters of that rig and skin allocates no slot memory.
    ///
    /// # Errors
    /// If rig or skin are unknown.
    pub fn reserve(&mut self, rig: RigId, skin: usize, characters: usize) -> Result<(), BuildError> {
        let lines = self.skin(rig, skin)?.lines as usize;
        self.slots.reserve(lines * characters);
        self.characters.reserve(characters);
        Ok(())
    }

    fn skin(&self, rig: RigId, skin: usize) -> Result<&PackedSkin, BuildError> {
        let data = self
            .rig_data
            .get(usize::from(rig.0))
            .ok_or(BuildError::Unknown { what: "rig", index: rig.0.into() })?;
        data.skins.get(skin).ok_or(BuildError::Unknown { what: "skin", index: skin })
    }

    /// A new character with one of the skins of its rig.
    ///
    /// # Errors
    /// If rig, skin or a clip are unknown, a clip is of another topology, or an input is not finite.
    pub fn spawn(
        &mut self,
        rig: RigId,
        skin: usize,
        transform: WorldTransform,
        clips: &[Play],
    ) -> Result<Handle, BuildError> {
        let lines = self.skin(rig, skin)?.lines;
        let (topology, leg) = {
            let (rig, topology) = &self.rigs[usize::from(rig.0)];
            (*topology, rig.leg())
        };
        check_transform(&transform)?;
        self.check_plays(topology, clips)?;
        let full = BuildError::Full { what: "2^32 lines of output" };
        let token = self.slots.allocate(lines).ok_or(full)?;
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.characters.push(Location { generation: 0, place: None });
                self.characters.len() as u32 - 1
            }
        };
        let key = (rig.0, skin as u16);
        let blocks = &mut self.cohorts[usize::from(topology)].1;
        // Blocks fill one after the other, so the one with room for this rig is near the end.
        let fits = |block: &Block| block.free_lane().is_some() && block.shared_key() == Some(key);
        let at = match blocks.iter().rposition(fits) {
            Some(at) => at,
            None => match blocks.iter().rposition(|block| block.live == 0) {
                Some(at) => at,
                None => {
                    blocks.push(Block::default());
                    blocks.len() - 1
                }
            },
        };
        let lane = blocks[at].free_lane().unwrap_or(0);
        blocks[at].put(lane, Lane::new(index, rig.0, skin as u16, token, leg));
        blocks[at].mixed = None;
        self.characters[index as usize].place =
            Some(Place { cohort: topology, lane: lane as u8, block: at as u32 });
        self.live += 1;
        let lines = self.max_lines();
        let joints = self.topologies.iter().map(|data| data.topology.len()).max().unwrap_or(0);
        for scratch in &mut self.scratch {
            scratch.reserve(joints, lines);
        }
        let handle = Handle { index, generation: self.characters[index as usize].generation };
        self.set_transform(handle, transform)?;
        self.set_clips(handle, clips)?;
        Ok(handle)
    }

    fn max_lines(&self) -> usize {
        self.rig_data.iter().flat_map(|rig| &rig.skins).map(|skin| skin.lines as usize).max().unwrap_or(1)
    }

    /// Ends a character; its slot and index are free for others.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn despawn(&mut self, handle: Handle) -> Result<(), BuildError> {
        let place = self.place(handle)?;
        let block = &mut self.cohorts[usize::from(place.cohort)].1[place.block as usize];
        let lane = block.take(place.lane.into());
        if let Some(token) = lane.token {
            self.slots.free(token);
        }
        let entry = &mut self.characters[handle.index()];
        entry.place = None;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(handle.index);
        self.live -= 1;
        Ok(())
    }

    fn place(&self, handle: Handle) -> Result<Place, BuildError> {
        let stale = BuildError::Unknown { what: "live character", index: handle.index() };
        let entry = self.characters.get(handle.index()).ok_or(stale.clone())?;
        if entry.generation != handle.generation {
            return Err(stale);
        }
        entry.place.ok_or(stale)
    }

    fn block(&self, handle: Handle) -> Result<(&Block, usize), BuildError> {
        let place = self.place(handle)?;
        Ok((&self.cohorts[usize::from(place.cohort)].1[place.block as usize], place.lane.into()))
    }

    fn block_mut(&mut self, handle: Handle) -> Result<(&mut Block, usize), BuildError> {
        let place = self.place(handle)?;
        Ok((&mut self.cohorts[usize::from(place.cohort)].1[place.block as usize], place.lane.into()))
    }

    fn check_plays(&self, topology: u16, clips: &[Play]) -> Result<(), BuildError> {
        if clips.len() > MAX_CLIPS {
            return Err(BuildError::Input {
                what: "the number of clips of a character",
                value: clips.len() as f32,
                right: "at most four can be mixed",
            });
        }
        for play in clips {
            if self.clip(play.clip).is_none() {
                return Err(BuildError::Unknown { what: "clip", index: play.clip.index as usize });
            }
            if play.clip.topology != topology {
                return Err(BuildError::OtherTopology { what: format!("clip {}", play.clip.index) });
            }
            let checks = [
                ("a clip's time", play.time, play.time.abs() < 1e6, "it must be finite"),
                (
                    "a clip's weight",
                    play.weight,
                    (0.0..1e6).contains(&play.weight),
                    "it must be finite and at least 0",
                ),
                ("a clip's speed", play.speed, play.speed.abs() < 1e3, "it must be finite, below 1 000"),
            ];
            for (what, value, good, right) in checks {
                if !good {
                    return Err(BuildError::Input { what, value, right });
                }
            }
        }
        Ok(())
    }

    /// What a character plays from now on.
    ///
    /// # Errors
    /// If the handle is stale, a clip is unknown or of another topology, or a value is not finite.
    pub fn set_clips(&mut self, handle: Handle, clips: &[Play]) -> Result<(), BuildError> {
        let topology = self.place(handle)?.cohort;
        self.check_plays(topology, clips)?;
        let total: f32 = clips.iter().map(|play| play.weight).sum();
        let place = self.place(handle)?;
        let library = &self.topologies[usize::from(topology)].library;
        let block = &mut self.cohorts[usize::from(place.cohort)].1[place.block as usize];
        let lane = usize::from(place.lane);
        for (slot, rows) in block.clips.iter_mut().enumerate() {
            let bit = 1u16 << lane;
            rows.varying &= !bit;
            let play = clips.get(slot).filter(|play| play.weight > 0.0);
            let clip = play.and_then(|play| library.clip(play.clip.index));
            let (Some(play), Some(clip)) = (play, clip) else {
                rows.weight.0[lane] = 0.0;
                rows.speed.0[lane] = 0.0;
                rows.duration.0[lane] = 1.0;
                rows.wrap.0[lane] = 1.0;
                rows.twist.iter_mut().for_each(|row| row.0[lane] = 0.0);
                continue;
            };
            rows.clip[lane] = play.clip.index;
            rows.time.0[lane] = if clip.looping() {
                play.time.rem_euclid(clip.duration())
            } else {
                play.time.clamp(0.0, clip.duration())
            };
            rows.weight.0[lane] = play.weight / total;
            rows.speed.0[lane] = play.speed;
            rows.duration.0[lane] = clip.duration();
            rows.wrap.0[lane] = if clip.looping() { 1.0 } else { 0.0 };
            let twist = clip.root().constant();
            if twist.is_none() {
                rows.varying |= bit;
            }
            let twist = twist.unwrap_or_default();
            for (row, value) in rows.twist.iter_mut().zip([twist.x, twist.z, twist.yaw]) {
                row.0[lane] = value;
            }
        }
        block.count_slots();
        Ok(())
    }

    /// What a character plays, with the times that the clips have come to.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn clips(&self, handle: Handle) -> Result<impl Iterator<Item = Play> + '_, BuildError> {
        let topology = self.place(handle)?.cohort;
        let (block, lane) = self.block(handle)?;
        Ok(block.clips.iter().filter(move |rows| rows.weight.0[lane] > 0.0).map(move |rows| Play {
            clip: ClipId { topology, index: rows.clip[lane] },
            time: rows.time.0[lane],
            weight: rows.weight.0[lane],
            speed: rows.speed.0[lane],
        }))
    }

    /// Puts a character somewhere without forgetting its feet: for steering and small corrections.
    ///
    /// # Errors
    /// If the handle is stale or the transform is not finite.
    pub fn set_transform(&mut self, handle: Handle, transform: WorldTransform) -> Result<(), BuildError> {
        check_transform(&transform)?;
        let (block, lane) = self.block_mut(handle)?;
        for (row, value) in block.position.iter_mut().zip(transform.position) {
            row.0[lane] = value;
        }
        for (row, value) in block.rotation.iter_mut().zip(transform.rotation) {
            row.0[lane] = value;
        }
        Ok(())
    }

    /// Puts a character somewhere else: locks, pelvis and smoothing start anew.
    ///
    /// # Errors
    /// If the handle is stale or the transform is not finite.
    pub fn teleport(&mut self, handle: Handle, transform: WorldTransform) -> Result<(), BuildError> {
        self.set_transform(handle, transform)?;
        let (block, lane) = self.block_mut(handle)?;
        block.fresh.0[lane] = 1.0;
        Ok(())
    }

    /// Where a character's root is.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn transform(&self, handle: Handle) -> Result<WorldTransform, BuildError> {
        let (block, lane) = self.block(handle)?;
        Ok(WorldTransform {
            position: block.position.map(|row| row.0[lane]),
            rotation: block.rotation.map(|row| row.0[lane]),
        })
    }

    /// Root motion of the last frame, metres and radians, in the axes of where it started.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn root_motion(&self, handle: Handle) -> Result<Planar, BuildError> {
        let (block, lane) = self.block(handle)?;
        let [x, z, yaw] = block.displacement.map(|row| row.0[lane]);
        Ok(Planar { x, z, yaw })
    }

    /// Rig and skin of a character.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn body(&self, handle: Handle) -> Result<(RigId, usize), BuildError> {
        let (block, lane) = self.block(handle)?;
        Ok((RigId(block.rigs[lane]), block.skins[lane].into()))
    }

    /// Sorts lanes by rig and skin, so that blocks are full and uniform. What is left over of a rig after its full
    /// blocks gets a block of its own if it fills three quarters of it, else shares one with others. To be called
    /// after spawning in bulk; poses do not depend on it.
    pub fn pack(&mut self) {
        for cohort in 0..self.cohorts.len() {
            let blocks = &mut self.cohorts[cohort].1;
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
    }

    fn push_block(&mut self, cohort: usize, lanes: Vec<Lane>) {
        let blocks = &mut self.cohorts[cohort].1;
        let mut block = Block::default();
        for (lane, state) in lanes.into_iter().enumerate() {
            self.characters[state.character as usize].place =
                Some(Place { cohort: cohort as u16, lane: lane as u8, block: blocks.len() as u32 });
            block.put(lane, state);
        }
        blocks.push(block);
    }

    /// Per-lane rows of blocks of several rigs, which `pack` and `spawn` leave to be made.
    fn fill_mixed(&mut self) {
        for (topology, blocks) in &mut self.cohorts {
            let joints = self.topologies[*topology].topology.len();
            for block in blocks.iter_mut() {
                if block.live == 0 || block.uniform() {
                    block.mixed = None;
                } else if block.mixed.is_none() {
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

    /// Runs one frame.
    ///
    /// # Errors
    /// If `dt` is negative, not finite or above ten seconds.
    pub fn frame(&mut self, frame: Frame<'_>, executor: &dyn Executor) -> Result<(), BuildError> {
        if !(0.0..=10.0).contains(&frame.dt) {
            return Err(BuildError::Input { what: "dt", value: frame.dt, right: "0 to 10 seconds" });
        }
        self.fill_mixed();
        let (joints, lines) =
            (self.topologies.iter().map(|data| data.topology.len()).max().unwrap_or(0), self.max_lines());
        if self.scratch.is_empty() {
            self.scratch.resize_with(super::executor::MAX_JOBS, JobScratch::default);
        }
        let needed = if executor.workers() == 1 { self.cohorts.len() } else { usize::MAX };
        for scratch in self.scratch.iter_mut().take(needed) {
            scratch.reserve(joints, lines);
        }
        self.time += f64::from(frame.dt);
        let shared = Shared {
            simd: self.config.simd,
            frame,
            time: self.time as f32,
            format: self.config.format,
            stream: self.config.stream,
            prefetch: self.config.prefetch,
            topologies: &self.topologies,
            rigs: &self.rig_data,
            writer: self.slots.writer(),
        };
        frame::run(&shared, &mut self.cohorts, &mut self.scratch, executor);
        Ok(())
    }

    /// Header and palette of a character, as the last frame wrote them. The palette is padded to whole lines.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn pose(&self, handle: Handle) -> Result<(PoseHeader, &[u8]), BuildError> {
        let lines = self.slot(handle)?;
        let (header, palette) = lines.split_at(1);
        Ok((PoseHeader::read(&header[0]), bytemuck::cast_slice(palette)))
    }

    fn slot(&self, handle: Handle) -> Result<&[Line], BuildError> {
        let (block, lane) = self.block(handle)?;
        let stale = BuildError::Unknown { what: "slot", index: handle.index() };
        Ok(self.slots.slot(block.tokens[lane].as_ref().ok_or(stale)?))
    }

    /// All output, to be uploaded as it is.
    pub fn output(&self) -> &[Line] {
        self.slots.as_lines()
    }

    /// First line of a character's slot in [`output`](Self::output); never changes while it lives.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn slot_line(&self, handle: Handle) -> Result<u32, BuildError> {
        let (block, lane) = self.block(handle)?;
        let stale = BuildError::Unknown { what: "slot", index: handle.index() };
        Ok(block.tokens[lane].as_ref().ok_or(stale)?.first_line())
    }

    /// Line ranges of [`output`](Self::output) that the last frame wrote, sorted and merged, into a list that
    /// the host keeps.
    pub fn dirty_ranges(&self, ranges: &mut Vec<core::ops::Range<u32>>) {
        ranges.clear();
        for token in
            self.cohorts.iter().flat_map(|(_, blocks)| blocks).flat_map(|block| &block.tokens).flatten()
        {
            ranges.push(token.first_line()..token.first_line() + token.line_count());
        }
        ranges.sort_unstable_by_key(|range| range.start);
        let mut kept = 0;
        for at in 0..ranges.len() {
            let range = ranges[at].clone();
            if kept > 0 && ranges[kept - 1].end == range.start {
                ranges[kept - 1].end = range.end;
            } else {
                ranges[kept] = range;
                kept += 1;
            }
        }
        ranges.truncate(kept);
    }

    /// Metres that 1 stands for in the translations of [`PaletteFormat::Snorm16`].
    ///
    /// # Errors
    /// If rig or skin are unknown.
    pub fn palette_range(&self, rig: RigId, skin: usize) -> Result<f32, BuildError> {
        Ok(self.skin(rig, skin)?.range)
    }

    /// Live characters.
    pub fn len(&self) -> usize {
        self.live
    }

    /// True if nobody lives.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Live handles, in index order.
    pub fn handles(&self) -> impl Iterator<Item = Handle> + '_ {
        self.characters
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.place.is_some())
            .map(|(index, entry)| Handle { index: index as u32, generation: entry.generation })
    }

    /// How full and how even the blocks are.
    pub fn occupancy(&self) -> Occupancy {
        let blocks = self.cohorts.iter().flat_map(|(_, blocks)| blocks).filter(|block| block.live != 0);
        let (mut count, mut uniform) = (0, 0);
        for block in blocks {
            count += 1;
            uniform += usize::from(block.uniform());
        }
        Occupancy {
            characters: self.live,
            blocks: count,
            occupancy: self.live as f32 / (BLOCK * count.max(1)) as f32,
            uniform_block_percent: 100.0 * uniform as f32 / count.max(1) as f32,
        }
    }

    /// Persistent bytes per character, output slots left out.
    pub fn state_bytes_per_character(&self) -> f32 {
        let bytes: usize = self
            .cohorts
            .iter()
            .flat_map(|(_, blocks)| blocks)
            .map(|block| {
                let mixed = block
                    .mixed
                    .as_ref()
                    .map_or(0, |rows| size_of::<MixedRows>() + size_of_val(rows.offsets.as_slice()));
                size_of::<Block>() + mixed
            })
            .sum::<usize>()
            + size_of_val(self.characters.as_slice());
        bytes as f32 / self.live.max(1) as f32
    }

    /// Distinct bound clips and the bytes of their rows.
    pub fn library(&self) -> (usize, usize) {
        self.topologies.iter().fold((0, 0), |(clips, bytes), data| {
            (clips + data.library.clips().len(), bytes + data.library.bytes())
        })
    }

    /// Stages that [`Frame::until`] can name.
    pub fn stages() -> [Stage; 5] {
        Stage::ALL
    }
}

impl JobScratch {
    fn reserve(&mut self, joints: usize, lines: usize) {
        self.pose.reserve(joints);
        if self.dump.len() < lines * BLOCK {
            self.dump.resize(lines * BLOCK, Line::ZERO);
        }
    }
}

fn check_transform(transform: &WorldTransform) -> Result<(), BuildError> {
    if transform.is_valid() {
        return Ok(());
    }
    let value = transform
        .position
        .iter()
        .chain(&transform.rotation)
        .copied()
        .find(|v| !v.is_finite() || v.abs() >= 1e6)
        .unwrap_or_else(|| transform.rotation.iter().map(|c| c * c).sum::<f32>().sqrt());
    Err(BuildError::Input {
        what: "a world transform",
        value,
        right: "positions must be below 1e6 m and rotations unit quaternions",
    })
}
