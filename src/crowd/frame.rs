//! The frame: every block taken through all stages before the next, on any executor.

use arrayvec::ArrayVec;

use super::block::{Block, MixedRows};
use super::detail;
use super::due::{Held, Visibility, due};
use super::events::EventSink;
use super::executor::{Executor, MAX_JOBS};
use super::ground::Ground;
use super::library::Library;
use super::masks::MaskData;
use super::output::{PackedSkin, PaletteFormat};
use super::scratch::Scratch;
use super::slots;
use super::stages::sample::Joints;
use super::stages::{Proportions, advance, feet, inertia, layers, model, sample};
use super::store::{RigBounds, WorldTransform, place::Openings};
use super::streams::{self, StreamPoses, StreamTable};
use super::tier::{TIERS, Tier, TierConfig};
use super::write;
use crate::lanes::{Line, Simd, SlotWriter, stream_fence};
use crate::rig::{MAX_FEET, Topology};

/// Bytes of a topology's clip rows from which they are read character by character, the next one's asked for ahead.
/// Below, they stay in a core's second-level cache, where asking costs a tenth of the stage for nothing
/// (ARCHITECTURE.md, experiments).
const FAR_FROM: usize = 1 << 20;

/// Who moves the characters' roots.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Roots<'a> {
    /// Root motion does, and puts them onto the ground.
    #[default]
    OnGround,
    /// Root motion does, at the height that they are.
    Free,
    /// The host does: one transform per character, by [`super::Handle::index`]. Root motion is only reported. Rotations
    /// are normalised; a character whose transform is missing or invalid (see [`WorldTransform`]) keeps its last one;
    /// [`super::Crowd::refused`] tells of the latter.
    Host(&'a [WorldTransform]),
}

/// How far a frame goes; each includes those before it. For measuring and for hosts that need only a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Stage {
    /// Clocks and root motion.
    Advance,
    /// Local deltas.
    Sample,
    /// Local deltas of characters that a stream drives.
    RetargetLive,
    /// Old motions give way to the new ones, after a transition.
    Inertialise,
    /// Layers over the clips.
    Layers,
    /// Feet on the ground.
    Feet,
    /// Model space.
    Model,
    /// Everything: output slots are written.
    #[default]
    Palette,
}

impl Stage {
    /// In order.
    pub const ALL: [Self; 8] = {
        use Stage::*;
        [Advance, Sample, RetargetLive, Inertialise, Layers, Feet, Model, Palette]
    };

    /// As `bench` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Advance => "advance",
            Self::Sample => "sample",
            Self::RetargetLive => "retarget_live",
            Self::Inertialise => "inertialise",
            Self::Layers => "layers",
            Self::Feet => "feet",
            Self::Model => "model",
            Self::Palette => "palette",
        }
    }
}

/// What a frame is told.
#[derive(Clone, Copy)]
pub struct Frame<'a> {
    /// Seconds since the last frame; finite and not negative.
    pub dt: f32,
    /// Who moves the roots.
    pub roots: Roots<'a>,
    /// Where the ground is.
    pub ground: &'a dyn Ground,
    /// Last stage that is run.
    pub until: Stage,
    /// Whom anybody sees.
    pub visible: Visibility<'a>,
    /// Poses of streams, by [`super::StreamId`]: see [`super::Crowd::set_stream`]. Slices or a buffer, by `into`.
    pub streams: StreamPoses<'a>,
}

impl<'a> Frame<'a> {
    /// All stages, root motion moving the roots over the ground, everybody seen, no streams.
    #[must_use]
    pub fn new(dt: f32, ground: &'a dyn Ground) -> Self {
        let (roots, until, visible) = (Roots::OnGround, Stage::Palette, Visibility::All);
        Self { dt, roots, ground, until, visible, streams: StreamPoses::NONE }
    }
}

/// All blocks of one topology at one level of detail.
#[derive(Debug, Default)]
pub(crate) struct Cohort {
    pub topology: u16,
    pub tier: Tier,
    pub blocks: Vec<Block>,
    /// Blocks with room.
    pub open: Openings,
}

/// Constants of a topology that a frame reads.
#[derive(Debug)]
pub(crate) struct TopologyData {
    pub topology: Topology,
    pub plan: feet::LegPlan,
    pub library: Library,
    /// Pairs of rig and skin.
    pub keys: u32,
    /// Rows of mixed blocks that nobody uses, and how many there are in all.
    #[allow(clippy::vec_box, reason = "boxes go to blocks and come back")]
    pub spare_rows: Vec<Box<MixedRows>>,
    pub rows_made: usize,
    /// How many of the joints move, per tier.
    pub kept: [usize; TIERS],
    /// The first one is everything.
    pub masks: Vec<MaskData>,
}

/// Constants of a rig that a frame reads.
#[derive(Debug)]
pub(crate) struct RigData {
    pub offsets: Vec<[f32; 3]>,
    pub soles: [[[f32; 3]; 2]; MAX_FEET],
    pub skins: Vec<PackedSkin>,
    pub bounds: RigBounds,
    /// Joints that all slots carry.
    pub kept: Vec<u16>,
    /// Number of its first skin among those of the topology, and how many numbers are its own.
    pub first_key: u32,
    pub keys: u32,
    /// The same for tiers that move fewer joints than there are; empty for the others.
    pub lesser: [Vec<PackedSkin>; TIERS],
}

impl RigData {
    /// A skin as a tier writes it.
    #[inline]
    pub(crate) fn packed(&self, skin: u16, tier: Tier) -> &PackedSkin {
        let skin = usize::from(skin);
        self.lesser[tier as usize].get(skin).unwrap_or(&self.skins[skin])
    }
}

/// What all jobs of a frame share.
pub(crate) struct Shared<'a> {
    pub simd: Simd,
    pub frame: Frame<'a>,
    pub time: f32,
    /// Frames before this one.
    pub number: u64,
    pub tiers: [TierConfig; TIERS],
    pub format: PaletteFormat,
    /// Slots hold two poses.
    pub interpolate: bool,
    pub stream: bool,
    pub prefetch: bool,
    pub topologies: &'a [TopologyData],
    pub rigs: &'a [RigData],
    pub writer: SlotWriter<'a>,
    pub streams: &'a StreamTable,
}

/// Scratch of one job.
#[derive(Debug, Default)]
pub(crate) struct JobScratch {
    pub pose: Scratch,
    pub clocks: advance::Clocks,
    pub events: EventSink,
    pub seen: detail::Seens,
    /// Where lanes write that are dead or not of the skin at hand.
    pub dump: Vec<Line>,
}

/// A run of blocks, with all that it takes to run them.
pub struct BlockJob<'a> {
    shared: &'a Shared<'a>,
    topology: usize,
    tier: Tier,
    /// Index of the first block in its cohort.
    first: usize,
    /// Empty once it has run.
    blocks: &'a mut [Block],
    scratch: &'a mut JobScratch,
}

/// Fences when it goes out of scope, also when a ground panics: streamed lines are seen by nobody before. That takes
/// in the lines of the dump, which are never read at all.
struct Fence(bool);

impl Drop for Fence {
    fn drop(&mut self) {
        if self.0 {
            stream_fence();
        }
    }
}

impl core::fmt::Debug for BlockJob<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("BlockJob")
            .field("topology", &self.topology)
            .field("blocks", &self.blocks.len())
            .finish()
    }
}

impl BlockJob<'_> {
    /// Tier of its characters.
    #[must_use]
    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Takes all blocks of the job through the frame. Later calls do nothing.
    pub fn run(&mut self) {
        let data = &self.shared.topologies[self.topology];
        let _fence = Fence(self.shared.stream);
        let period = u64::from(self.shared.tiers[self.tier as usize].period);
        let mut at = self.first as u64;
        let mut blocks = core::mem::take(&mut self.blocks);
        while let Some((block, others)) = blocks.split_first_mut() {
            // Neighbours take turns, so that every frame has as much to do.
            let turn = (self.shared.number + at).is_multiple_of(period);
            let next_of_turn = others.get(period as usize - 1);
            run_block(self.shared, data, self.tier, turn, (block, next_of_turn), self.scratch);
            (at, blocks) = (at + 1, others);
        }
    }
}

/// Cuts the blocks of all cohorts into jobs for so many workers and has them run.
pub(crate) fn run(
    shared: &Shared<'_>,
    cohorts: &mut [Cohort],
    scratch: &mut [JobScratch],
    workers: usize,
    executor: &dyn Executor,
    events: &mut EventSink,
) {
    let total: usize = cohorts.iter().map(|cohort| cohort.blocks.len()).sum();
    if total == 0 {
        return;
    }
    // Four jobs per worker even out what the blocks of different topologies cost; one worker needs no cutting.
    let runs = cohorts.iter().filter(|cohort| !cohort.blocks.is_empty()).count();
    let most = MAX_JOBS - runs.min(MAX_JOBS / 2);
    let wanted = if workers == 1 { 1 } else { workers.saturating_mul(4).min(most) };
    let size = total.div_ceil(wanted).max(1);
    let mut runs = cohorts.iter_mut().flat_map(|Cohort { topology, tier, blocks, .. }| {
        let (topology, tier) = (*topology, *tier);
        blocks.chunks_mut(size).enumerate().map(move |(at, blocks)| (topology, tier, at * size, blocks))
    });
    // One batch, but for crowds of more topologies than there are jobs.
    loop {
        let jobs = scratch.iter_mut().zip(&mut runs);
        let mut jobs: ArrayVec<BlockJob<'_>, MAX_JOBS> = jobs
            .take(MAX_JOBS)
            .map(|(scratch, (topology, tier, first, blocks))| {
                scratch.events.topology = topology;
                BlockJob { shared, topology: topology.into(), tier, first, blocks, scratch }
            })
            .collect();
        let count = jobs.len();
        if count == 0 {
            return;
        }
        executor.run(&mut jobs);
        drop(jobs);
        for scratch in &mut scratch[..count] {
            events.take(&mut scratch.events);
        }
    }
}

/// A block whose mixed rows are out for the time of the frame, so that its state stays borrowable; they are back also
/// after a panic.
struct Lent<'a> {
    block: &'a mut Block,
    mixed: Option<Box<MixedRows>>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.block.mixed = self.mixed.take();
    }
}

fn run_block(
    shared: &Shared<'_>,
    data: &TopologyData,
    tier: Tier,
    turn: bool,
    (block, next): (&mut Block, Option<&Block>),
    scratch: &mut JobScratch,
) {
    block.written = 0;
    if block.live == 0 {
        return;
    }
    let Shared { simd, frame, .. } = *shared;
    let until = frame.until;
    let drive = match frame.roots {
        Roots::Host(_) => advance::Drive::Host,
        _ => advance::Drive::Clips,
    };
    let library = &data.library;
    let period = shared.tiers[tier as usize].period;
    let JobScratch { clocks, events, .. } = scratch;
    advance::advance(simd, block, frame.dt, drive, library, clocks, events);
    let followers = shared.streams.followers(block);
    let streamed = followers.lanes;
    // Who gets no pose in this frame is not judged by the kernel.
    let posed = period == 1 && matches!(frame.visible, Visibility::All) && until >= Stage::RetargetLive;
    let travel =
        streams::Travel { moves: drive == advance::Drive::Clips, posed, kept: data.kept[tier as usize] };
    // What it gives is some lines long, and most have none.
    let before =
        if followers.travel == 0 { None } else { shared.streams.travel(block, &followers, &frame, travel) };
    if let Roots::Host(transforms) = frame.roots {
        block.take_transforms(transforms);
    }
    if until < Stage::Sample {
        return;
    }
    let was = block.pairs;
    if shared.interpolate && until == Stage::Palette {
        block.stale |= block.pairs.step(block.live, period);
    }
    let mut due = due(block, turn, frame.visible);
    let on_ground = matches!(frame.roots, Roots::OnGround);
    if due == 0 {
        if on_ground && until >= Stage::Feet {
            feet::ground_only(simd, frame.ground, block, &mut scratch.pose);
        }
        return;
    }
    if until >= Stage::Feet {
        frame.ground.approach(simd, &block.position[0], &block.position[2]);
        for foot in &block.feet {
            frame.ground.approach(simd, &foot.last[0], &foot.last[1]);
        }
    }
    let pose = &mut scratch.pose;
    let joints = Joints { all: data.topology.len(), kept: data.kept[tier as usize] };
    let far = shared.prefetch && library.bytes() > FAR_FROM;
    let sampled = due & !streamed;
    if block.transitions & due != 0 && until >= Stage::Inertialise {
        inertia::approach(block, joints, block.transitions & due);
    }
    if sampled != 0 {
        sample::sample(simd, block, library, joints, sampled, far, pose);
    }
    pose.estimated = false;
    if due != sampled && until >= Stage::RetargetLive {
        let (now, streamed) = (&*block, streamed & due);
        let (followers, period) = (&followers, usize::from(period));
        let blocks = streams::Blocks { now, next, period, due, streamed, followers };
        let without = shared.streams.bring_in(simd, &blocks, frame.streams, joints.kept, pose);
        shared.streams.undo(block, without, before.as_ref());
        let held = streams::with_last_pose(&shared.writer, block, without, frame.dt);
        // Due again at once, whoever's turn it is.
        block.stale |= held;
        due &= !held;
    }
    if until < Stage::Inertialise {
        return;
    }
    if block.transitions & due != 0 {
        inertia::inertia(simd, block, &data.plan, joints, due, pose);
    }
    if until < Stage::Layers {
        return;
    }
    if block.layered & due != 0 {
        let pass = layers::LayerPass { library, masks: &data.masks, joints, due };
        layers::layers(simd, block, pass, pose);
    }
    if until < Stage::Feet {
        return;
    }
    if due == 0 {
        if on_ground {
            feet::ground_only(simd, frame.ground, block, pose);
        }
        return;
    }
    let held = (due != block.live).then(|| Held::of(block));
    let age = block.age;
    let mixed = block.mixed.take();
    let mut lent = Lent { block, mixed };
    let Lent { block, mixed } = &mut lent;
    let rig = &shared.rigs[usize::from(block.any_rig())];
    let proportions = match &*mixed {
        Some(rows) => Proportions::Mixed(rows),
        None => Proportions::Shared { offsets: &rig.offsets, soles: &rig.soles },
    };
    if shared.tiers[tier as usize].feet {
        feet::probe(simd, &data.plan, proportions, block, pose);
        frame.ground.probe(simd, &mut pose.probes);
        if on_ground {
            feet::ground_root(simd, block, pose);
        }
        feet::solve(simd, &data.plan, block, pose);
    } else {
        feet::leave(simd, frame.ground, on_ground, block, pose);
    }
    if until >= Stage::Model {
        let pass = model::ModelPass { topology: &data.topology, kept: joints.kept, proportions };
        if until == Stage::Palette {
            let mut falls = None;
            if shared.interpolate {
                slots::turn_over(shared, block, &was, due, tier);
                let clocks = &scratch.clocks;
                falls = Some(slots::footfalls(shared, data, block, &was, (due, tier), &age, clocks));
            }
            write::write(shared, block, tier, due, pass, scratch);
            let fades = block.pairs.fading & due != 0;
            if shared.stream && (fades || falls.as_ref().is_some_and(|falls| falls.any != 0)) {
                // Lines that were streamed may not be looked at before, not even by who wrote them.
                stream_fence();
            }
            if fades {
                slots::fade(shared, data, block, &was, due, &mut scratch.seen);
            }
            if let Some(falls) = &falls {
                slots::correct(shared, block, due, falls);
            }
            block.written = due;
            block.shown |= due;
            block.stale &= !due;
        } else {
            model::model(simd, pass, pose);
        }
    }
    if let Some(held) = held {
        held.put_back(block, due);
    }
}
