//! Named scenes: the same characters, clips and places for the command line, benches and tests.

use super::StressError;
use super::direct::{Changes, Director};
use super::layered::{Layered, SceneLayers};
use super::long::repeat;
use super::steer::steer;
use super::terrain::{HALF_SIDE, Terrain, TerrainKind};
use crate::clip::BoundClip;
use crate::content::rng::Rng;
use crate::content::{self, BodyPlan, ClipKind, RigKind};
use crate::crowd::{ClipId, Crowd, CrowdConfig, Executor, Frame, Handle, Play, RigId, Stage, WorldTransform};
use crate::error::BuildError;
use crate::lanes::{GROUP, KeyGroup};
use crate::retarget::{BindSource, fitting_keys};
use crate::rig::Rig;

/// Rows of a clip of a scene's library, bytes: cycles are repeated until they have as many.
pub const MIN_CLIP_BYTES: usize = 32 * 1024;

/// Metres from the edge within which nobody starts.
const START_MARGIN: f64 = 8.0;

/// Who does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum SceneKind {
    /// All built-in rigs in many proportions, one to four clips each out of a large library.
    #[default]
    Mix,
    /// One rig of 64 joints, two clips each.
    Uniform,
    /// Everybody plays one cyclic clip alone: for judging feet.
    Gait(ClipKind),
}

/// A scene to be built.
#[derive(Clone, Copy, Debug)]
pub struct SceneOptions {
    /// Who does what.
    pub kind: SceneKind,
    /// Live characters.
    pub characters: usize,
    /// Distinct (topology, reference pose, proportions); one for [`SceneKind::Uniform`].
    pub rigs: usize,
    /// Distinct bound clips resident; one per topology for [`SceneKind::Gait`].
    pub library: usize,
    /// What they walk on.
    pub terrain: TerrainKind,
    /// What lies over their clips.
    pub layers: SceneLayers,
    /// Of proportions, places, clips and phases; the terrain's own seed is 1 always.
    pub seed: u64,
    /// The crowd's fixed choices.
    pub config: CrowdConfig,
}

impl Default for SceneOptions {
    /// The stress mix: 10 000 characters of 50 rigs with 256 clips on hills and steps.
    fn default() -> Self {
        Self {
            kind: SceneKind::Mix,
            characters: 10_000,
            rigs: 50,
            library: 256,
            terrain: TerrainKind::HillsAndSteps,
            layers: SceneLayers::None,
            seed: 1,
            config: CrowdConfig::default(),
        }
    }
}

impl SceneOptions {
    /// The micro-benchmark: one rig of 64 joints, two clips each out of 16.
    pub fn uniform() -> Self {
        Self { kind: SceneKind::Uniform, rigs: 1, library: 16, ..Self::default() }
    }

    /// One cyclic clip alone on eight rigs.
    pub fn gait(kind: ClipKind, characters: usize) -> Self {
        Self { kind: SceneKind::Gait(kind), characters, rigs: 8, library: 4, ..Self::default() }
    }
}

/// Clips that may be mixed: their feet come down in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Stand,
    Walk,
    Run,
}

/// A clip of one topology's part of the library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub id: ClipId,
    /// Seconds of one cycle; the clip may be several.
    cycle: f32,
    cycles: u32,
    pub family: Family,
}

/// A crowd on its ground, ready to run.
#[derive(Debug)]
pub struct Scene {
    /// The crowd; clips, transforms and poses are its.
    pub crowd: Crowd,
    /// What it walks on.
    pub terrain: Terrain,
    /// Which one.
    pub terrain_kind: TerrainKind,
    handles: Vec<Handle>,
    walkers: Vec<Handle>,
    director: Option<Director>,
}

impl Scene {
    /// Builds one of the named scenes.
    ///
    /// # Errors
    /// If the terrain, a rig, a clip or a character is refused.
    pub fn build(options: &SceneOptions) -> Result<Self, StressError> {
        let mut rng = Rng::new(options.seed ^ 0x5cef_e000);
        let mut crowd = Crowd::new(options.config);
        let bodies = match options.kind {
            SceneKind::Uniform => vec![content::character(RigKind::Biped, &BodyPlan::adult())],
            _ => content::variants(options.seed, options.rigs.max(1)),
        };
        let mut rigs: Vec<(RigId, RigKind)> = Vec::with_capacity(bodies.len());
        for body in &bodies {
            rigs.push((crowd.add_rig(Rig::build(&body.rig_source())?)?, body.kind));
        }
        let kinds: Vec<RigKind> =
            RigKind::ALL.into_iter().filter(|kind| rigs.iter().any(|(_, own)| own == kind)).collect();
        let mut libraries: Vec<(RigKind, Vec<Entry>)> = Vec::new();
        let mut layered = Vec::new();
        for (at, &kind) in kinds.iter().enumerate() {
            // The first ones take what does not divide evenly.
            let share = options.library / kinds.len() + usize::from(at < options.library % kinds.len());
            let (entries, over) = library(&mut crowd, kind, options, share.max(1))?;
            libraries.push((kind, entries));
            layered.push(over);
        }

        let mut next = vec![0usize; libraries.len()];
        let mut handles = Vec::with_capacity(options.characters);
        let mut walkers = Vec::new();
        let mut cast = Vec::new();
        for character in 0..options.characters {
            let (rig, kind) = rigs[character % rigs.len()];
            let topology = libraries.iter().position(|(own, _)| *own == kind).unwrap_or(0);
            let entries = &libraries[topology].1;
            // In turn, so that every clip of the library is played by somebody.
            let first = entries[next[topology] % entries.len()];
            next[topology] += 1;
            let count = match options.kind {
                SceneKind::Mix => 1 + (rng.next() % 4) as usize,
                SceneKind::Uniform => 2,
                SceneKind::Gait(_) => 1,
            };
            let plays = mix(&mut rng, entries, first, count);
            let skin = (rng.next() % crowd.rig(rig).skins().len() as u64) as usize;
            let side = HALF_SIDE - START_MARGIN;
            let (x, z) = (rng.range(-side, side), rng.range(-side, side));
            let yaw = rng.range(-std::f64::consts::PI, std::f64::consts::PI);
            let place = WorldTransform::standing(x as f32, z as f32, yaw as f32);
            let handle = crowd.spawn(rig, skin, place, &plays)?;
            if let Some(over) = &layered[topology] {
                crowd.set_layers(handle, &over.layers(options.layers, rng.unit() as f32))?;
            }
            handles.push(handle);
            cast.push((handle, topology));
            if first.family != Family::Stand {
                walkers.push(handle);
            }
        }
        crowd.pack();
        let terrain = Terrain::new(options.terrain, 1)?;
        crowd.reserve_transitions((options.characters as f32 * options.config.transitions).ceil() as usize);
        let libraries = libraries.into_iter().map(|(_, entries)| entries).collect();
        let director =
            (options.kind == SceneKind::Mix).then(|| Director::new(options.seed, cast, libraries, 4));
        Ok(Self { crowd, terrain, terrain_kind: options.terrain, handles, walkers, director })
    }

    /// A scene of a crowd that was put together elsewhere; `walkers` are kept on the map.
    ///
    /// # Errors
    /// If the terrain is refused.
    pub fn from_crowd(
        crowd: Crowd,
        terrain: TerrainKind,
        handles: Vec<Handle>,
        walkers: Vec<Handle>,
    ) -> Result<Self, StressError> {
        let director = None;
        Ok(Self {
            crowd,
            terrain: Terrain::new(terrain, 1)?,
            terrain_kind: terrain,
            handles,
            walkers,
            director,
        })
    }

    /// All characters, in the order in which they came.
    pub fn handles(&self) -> &[Handle] {
        &self.handles
    }

    /// Rigs that somebody has.
    pub fn rigs(&self) -> usize {
        self.crowd.rigs().len()
    }

    /// Runs one frame of the crowd, nothing else: what is timed.
    ///
    /// # Errors
    /// As [`Crowd::frame`].
    pub fn frame(&mut self, dt: f32, until: Stage, executor: &dyn Executor) -> Result<(), BuildError> {
        let frame = Frame { until, ..Frame::new(dt, &self.terrain) };
        self.crowd.frame(frame, executor)
    }

    /// Turns those back who come near the edge: the host's part, between two frames.
    ///
    /// # Errors
    /// Never for live characters.
    pub fn steer(&mut self, dt: f32) -> Result<(), BuildError> {
        steer(&mut self.crowd, &self.walkers, dt)
    }

    /// Has some of the mix go over to other clips: the host's part, too. Other scenes keep theirs.
    ///
    /// # Errors
    /// Never for live characters.
    pub fn direct(&mut self, dt: f32) -> Result<(), BuildError> {
        self.director.as_mut().map_or(Ok(()), |director| director.direct(&mut self.crowd, dt))
    }

    /// What has been changed so far.
    pub fn changes(&self) -> Changes {
        self.director.as_ref().map_or_else(Changes::default, |director| director.changes)
    }
}

/// Synthesises and binds the clips of one topology.
fn library(
    crowd: &mut Crowd,
    kind: RigKind,
    options: &SceneOptions,
    count: usize,
) -> Result<(Vec<Entry>, Option<Layered>), StressError> {
    let body = content::character(kind, &BodyPlan::adult());
    let raw = match options.kind {
        SceneKind::Gait(clip) => vec![content::clip(clip, &body)],
        // Four of the named clips end; they are no part of a crowd that goes on.
        _ => {
            let mut clips = content::library(&body, count + 4);
            clips.retain(|clip| clip.looping);
            clips.truncate(count);
            clips
        }
    };
    let rig = Rig::build(&body.rig_source())?;
    let reference = body.reference();
    let mut entries = Vec::with_capacity(raw.len());
    let mut layered = None;
    for clip in &raw {
        let source =
            BindSource { skeleton: &body.character.skeleton, roles: &body.roles, reference: &reference };
        let keys = fitting_keys(source, clip, &rig)?;
        let groups = (rig.topology().len() + 2).div_ceil(GROUP);
        let needed = MIN_CLIP_BYTES.div_ceil(groups * size_of::<KeyGroup>()) - 1;
        let cycles = needed.div_ceil((keys.pelvis.len() - 1).max(1));
        let bound = BoundClip::build(rig.topology(), &repeat(&keys, cycles))?;
        let family = family(&clip.name);
        let id = crowd.add_clip(bound)?;
        if options.layers != SceneLayers::None && layered.is_none() {
            layered = Some(Layered::new(crowd, &rig, &keys, id)?);
        }
        entries.push(Entry { id, cycle: clip.duration, cycles: cycles as u32, family });
    }
    Ok((entries, layered))
}

fn family(name: &str) -> Family {
    if name.contains("run") || name.contains("jog") {
        Family::Run
    } else if name.contains("walk") {
        Family::Walk
    } else {
        Family::Stand
    }
}

/// `count` clips of the family of `first` in one phase: each runs so fast that all cycles take the time that the
/// weighted mean of them does, so that feet come down together.
pub(super) fn mix(rng: &mut Rng, entries: &[Entry], first: Entry, count: usize) -> Vec<Play> {
    let kin: Vec<Entry> = entries.iter().copied().filter(|entry| entry.family == first.family).collect();
    let mut chosen = vec![first];
    for _ in 1..count.min(kin.len()) {
        let start = (rng.next() % kin.len() as u64) as usize;
        let other = (0..kin.len())
            .map(|at| kin[(start + at) % kin.len()])
            .find(|entry| !chosen.iter().any(|own| own.id == entry.id));
        chosen.extend(other);
    }
    let weights: Vec<f64> = chosen.iter().map(|_| rng.range(0.2, 1.0)).collect();
    let total: f64 = weights.iter().sum();
    let common: f64 =
        chosen.iter().zip(&weights).map(|(entry, weight)| f64::from(entry.cycle) * weight / total).sum();
    let phase = rng.unit();
    chosen
        .iter()
        .zip(&weights)
        .map(|(entry, &weight)| {
            let turn = f64::from((rng.next() % u64::from(entry.cycles.max(1))) as u32);
            Play {
                clip: entry.id,
                time: ((turn + phase) * f64::from(entry.cycle)) as f32,
                weight: weight as f32,
                speed: (f64::from(entry.cycle) / common) as f32,
                ..Play::new(entry.id)
            }
        })
        .collect()
}
