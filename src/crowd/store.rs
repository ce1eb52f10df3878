//! The crowd: who lives where, and everything a host calls.

mod bounds;
mod joints;
mod layers;
mod lifecycle;
mod location;
mod pack;
pub(crate) mod place;
mod playback;
mod rare_pool;
mod read;
mod rebase;
mod refused;
mod roots;
mod snapshot;
mod stream;
mod swap;
mod tiers;
mod transitions;
mod values;

use super::block::Block;
use super::events::EventSink;
use super::executor::Executor;
use super::frame::{self, Cohort, Frame, JobScratch, RigData, Shared, Stage, TopologyData};
use super::library::Library;
use super::masks::MaskData;
use super::output::PackedSkin;
use super::stages::feet::LegPlan;
use super::streams::{StreamReport, StreamTable};
use super::tier::{TIERS, Tier, TierConfig};
use crate::clip::{BoundClip, Planar};
use crate::error::BuildError;
use crate::lanes::{BLOCK, Line, SlotBuffer};
use crate::rig::{MAX_FEET, NO_PARENT, Rig, Topology};

pub(in crate::crowd) use bounds::RigBounds;
pub use bounds::{Aabb, joint_radii};
pub use joints::{LocalTransform, Socket};
pub use layers::{Layer, LayerMode, MaskId};
use location::{Location, Place};
pub use roots::Root;
#[cfg(feature = "hecs")]
pub(crate) use roots::{LiveReader, RootReader};
pub use snapshot::{SNAPSHOT_VERSION, SnapshotError};
pub use transitions::TransitionKind;
use values::check_transform;
pub use values::{
    ClipId, CrowdConfig, Handle, MAX_SPEED, Occupancy, Play, RigId, Spawn, WorldTransform, Wrap,
};

/// Thousands of characters of any number of rigs and topologies.
#[derive(Debug)]
pub struct Crowd {
    config: CrowdConfig,
    topologies: Vec<TopologyData>,
    rigs: Vec<(Rig, u16)>,
    rig_data: Vec<RigData>,
    /// One per topology and tier: see [`tiers::cohort_index`].
    cohorts: Vec<Cohort>,
    characters: Vec<Location>,
    free: Vec<u32>,
    reserved: lifecycle::Reserved,
    slots: SlotBuffer,
    scratch: Vec<JobScratch>,
    events: EventSink,
    pool: rare_pool::RarePool,
    /// Characters that are in an inertialised transition.
    transitions: usize,
    last_moment: transitions::LastMoment,
    tiers: [TierConfig; TIERS],
    /// Frames so far: blocks take turns by it.
    frames: u64,
    time: f64,
    live: usize,
    /// True if the last frame wrote the slots.
    written: bool,
    streams: StreamTable,
    refused: refused::Refused,
}

impl Crowd {
    /// An empty crowd.
    #[must_use]
    pub fn new(config: CrowdConfig) -> Self {
        Self {
            config,
            topologies: Vec::new(),
            rigs: Vec::new(),
            rig_data: Vec::new(),
            cohorts: Vec::new(),
            characters: Vec::new(),
            free: Vec::new(),
            reserved: lifecycle::Reserved::default(),
            slots: SlotBuffer::default(),
            scratch: Vec::new(),
            events: EventSink::default(),
            pool: rare_pool::RarePool::default(),
            transitions: 0,
            last_moment: transitions::LastMoment::default(),
            tiers: config.tiers.map(TierConfig::sound),
            frames: 0,
            time: 0.0,
            live: 0,
            written: false,
            streams: StreamTable::default(),
            refused: refused::Refused::default(),
        }
    }

    /// Its fixed choices.
    #[must_use]
    pub fn config(&self) -> &CrowdConfig {
        &self.config
    }

    /// Takes a rig in; rigs of equal topology share clips and blocks.
    ///
    /// # Errors
    /// If the palette format cannot carry one of its skins, it has more than 65 535 of them, or as many rigs or
    /// topologies are there already.
    pub fn add_rig(&mut self, rig: Rig) -> Result<RigId, BuildError> {
        let id = next_id(self.rigs.len(), "65 535 rigs")?;
        next_id(rig.skins().len().saturating_sub(1), "65 535 skins of one rig")?;
        let skins = rig
            .skins()
            .iter()
            .map(|skin| PackedSkin::build(&rig, skin, usize::MAX, self.config.format))
            .collect::<Result<Vec<_>, _>>()?;
        let topology = self.topology_of(rig.topology())?;
        let data = &mut self.topologies[usize::from(topology)];
        let lesser = tiers::lesser_skins(&rig, &data.kept, &self.config, &[])?;
        let first_key = data.keys;
        data.keys += skins.len() as u32;
        self.rig_data.push(rig_data(&rig, skins, lesser, first_key));
        self.rigs.push((rig, topology));
        self.reserve_scratch();
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
        let library = &mut self.topologies[topology].library;
        next_id(library.clips().len(), "65 535 clips of one topology")?;
        let index = library.add(clip);
        Ok(ClipId { topology: topology as u16, index })
    }

    fn topology_of(&mut self, topology: &Topology) -> Result<u16, BuildError> {
        if let Some(at) = self.topologies.iter().position(|data| data.topology == *topology) {
            return Ok(at as u16);
        }
        let id = next_id(self.topologies.len(), "16 384 topologies")?;
        // Cohorts are numbered by 16 bits too.
        next_id(self.topologies.len() * TIERS, "16 384 topologies")?;
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
            keys: 0,
            spare_rows: Vec::new(),
            rows_made: 0,
            kept: self.tiers.map(|tier| tiers::kept(topology, tier.level)),
            masks: vec![MaskData::whole(topology)],
        });
        for tier in Tier::ALL {
            self.cohorts.push(Cohort { topology: id, tier, ..Cohort::default() });
        }
        Ok(id)
    }

    /// A rig by its id.
    ///
    /// # Panics
    /// If the id is of another crowd.
    #[must_use]
    pub fn rig(&self, id: RigId) -> &Rig {
        &self.rigs[usize::from(id.0)].0
    }

    /// Rigs, in the order in which they came.
    #[must_use]
    pub fn rigs(&self) -> impl ExactSizeIterator<Item = RigId> + use<> {
        (0..self.rigs.len() as u16).map(RigId)
    }

    /// A clip by its id.
    #[must_use]
    pub fn clip(&self, id: ClipId) -> Option<&BoundClip> {
        self.topologies.get(usize::from(id.topology))?.library.clip(id.index)
    }

    fn skin(&self, rig: RigId, skin: usize) -> Result<&PackedSkin, BuildError> {
        let data = self
            .rig_data
            .get(usize::from(rig.0))
            .ok_or(BuildError::Unknown { what: "rig", index: rig.0.into() })?;
        data.skins.get(skin).ok_or(BuildError::Unknown { what: "skin", index: skin })
    }

    fn max_lines(&self) -> usize {
        self.rig_data.iter().flat_map(|rig| &rig.skins).map(|skin| skin.lines as usize).max().unwrap_or(1)
    }

    fn place(&self, handle: Handle) -> Result<Place, BuildError> {
        let stale = BuildError::Unknown { what: "live character", index: handle.index() };
        let entry = self.characters.get(handle.index()).ok_or(stale.clone())?;
        if entry.generation != handle.generation {
            return Err(stale);
        }
        entry.place().ok_or(stale)
    }

    fn block(&self, handle: Handle) -> Result<(&Block, usize), BuildError> {
        let place = self.place(handle)?;
        Ok((&self.cohorts[usize::from(place.cohort)].blocks[place.block as usize], place.lane.into()))
    }

    fn block_mut(&mut self, handle: Handle) -> Result<(&mut Block, usize), BuildError> {
        let place = self.place(handle)?;
        Ok((&mut self.cohorts[usize::from(place.cohort)].blocks[place.block as usize], place.lane.into()))
    }

    /// Puts a character somewhere without forgetting its feet: for steering and small corrections.
    ///
    /// # Errors
    /// If the handle is stale or the transform is not finite.
    pub fn set_transform(&mut self, handle: Handle, transform: WorldTransform) -> Result<(), BuildError> {
        let transform = check_transform(&transform)?;
        let (block, lane) = self.block_mut(handle)?;
        for (row, value) in block.position.iter_mut().zip(transform.position) {
            row.0[lane] = value;
        }
        for (row, value) in block.rotation.iter_mut().zip(transform.rotation) {
            row.0[lane] = value;
        }
        for lost in block.position_lost.iter_mut().chain(&mut block.rotation_lost) {
            lost.0[lane] = 0.0;
        }
        Ok(())
    }

    /// Puts a character somewhere else: locks, pelvis and smoothing start anew.
    ///
    /// # Errors
    /// If the handle is stale or the transform is not finite.
    pub fn teleport(&mut self, handle: Handle, transform: WorldTransform) -> Result<(), BuildError> {
        self.set_transform(handle, transform)?;
        let interpolate = self.config.interpolate;
        let (block, lane) = self.block_mut(handle)?;
        block.fresh |= 1 << lane;
        block.age.0[lane] = 0.0;
        // Nothing is shown of the way there.
        block.pairs.cut |= 1 << lane;
        if interpolate {
            block.stale |= 1 << lane;
        }
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

    /// Runs one frame.
    ///
    /// # Errors
    /// If `dt` is negative, not finite or above ten seconds.
    pub fn frame(&mut self, frame: Frame<'_>, executor: &dyn Executor) -> Result<(), BuildError> {
        if !(0.0..=10.0).contains(&frame.dt) {
            return Err(BuildError::Input { what: "dt", value: frame.dt, right: "0 to 10 seconds" });
        }
        // Asked once: what is reserved and what is cut must agree.
        let workers = executor.workers().max(1);
        let (joints, lines) =
            (self.topologies.iter().map(|data| data.topology.len()).max().unwrap_or(0), self.max_lines());
        if self.scratch.is_empty() {
            self.scratch.resize_with(super::executor::MAX_JOBS, JobScratch::default);
        }
        let needed = if workers == 1 { self.cohorts.len() } else { usize::MAX };
        let joints = joints + self.streams.temporaries();
        let sources = self.streams.source_joints();
        for scratch in self.scratch.iter_mut().take(needed) {
            scratch.reserve(joints, lines);
            scratch.pose.reserve_gathered(sources);
            scratch.events.reserve(self.config.event_capacity);
            scratch.pose.streamed = StreamReport::NONE;
        }
        self.events.reserve(self.config.event_capacity);
        self.events.passed.clear();
        self.events.lost = 0;
        self.look_at(frame.roots);
        self.leave_streams(&frame);
        self.time += f64::from(frame.dt);
        self.written = false;
        let shared = Shared {
            simd: self.config.simd,
            frame,
            time: self.time as f32,
            number: self.frames,
            tiers: self.tiers,
            format: self.config.format,
            interpolate: self.config.interpolate,
            stream: self.config.stream,
            prefetch: self.config.prefetch,
            topologies: &self.topologies,
            rigs: &self.rig_data,
            writer: self.slots.writer(),
            streams: &self.streams,
        };
        let events = &mut self.events;
        frame::run(&shared, &mut self.cohorts, &mut self.scratch, workers, executor, events);
        self.events.sort();
        for event in &mut self.events.passed {
            event.generation = self.characters[event.character as usize].generation;
        }
        self.frames += 1;
        self.reclaim();
        self.written = frame.until == Stage::Palette;
        Ok(())
    }
}

impl JobScratch {
    fn reserve(&mut self, joints: usize, lines: usize) {
        self.pose.reserve(joints);
        self.seen.reserve(joints.saturating_sub(self.seen.len()));
        if self.dump.len() < lines * BLOCK {
            self.dump.resize(lines * BLOCK, Line::ZERO);
        }
    }
}

/// What a frame reads of a rig.
fn rig_data(rig: &Rig, skins: Vec<PackedSkin>, lesser: [Vec<PackedSkin>; TIERS], first_key: u32) -> RigData {
    let mut soles = [[[0.0; 3]; 2]; MAX_FEET];
    for (out, sole) in soles.iter_mut().zip(rig.soles()) {
        *out = [sole.heel, sole.ball];
    }
    let (offsets, keys) = (rig.offsets().to_vec(), skins.len() as u32);
    RigData { offsets, soles, skins, lesser, bounds: RigBounds::default(), kept: Vec::new(), first_key, keys }
}

/// Index of the next of `have` things, which are told apart by 16 bits.
fn next_id(have: usize, what: &'static str) -> Result<u16, BuildError> {
    u16::try_from(have).ok().filter(|&id| id < u16::MAX).ok_or(BuildError::Full { what })
}
