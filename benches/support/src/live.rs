//! What it costs to drive the same characters by live streams instead of clips.
//!
//! Each character follows a stream of its own, whose source is another built-in rig than the character's: another
//! spine, and either axes like the model's, as motion capture has them, or axes of its own, as most game rigs do. The poses of a frame lie side by
//! side, as a receiver would keep them: in one array or in a buffer of the crowd's, in either precision. There are two
//! sets, taken in turn, so that they are new every frame, as far as the third-level cache holds them.

use std::sync::Arc;

use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    Crowd, Frame, SnormQuat, Stage, Stream, StreamBuffer, StreamId, StreamPose, StreamPoses, StreamRoot,
    StreamRotation,
};
use throng::error::BuildError;
use throng::retarget::{BindSource, LiveMap, LiveMaps};
use throng::rig::{Rig, Transform};
use throng::stress::{SceneOptions, StressError};

use crate::measure::{DT, executor, median, samples};
use crate::scene::BenchScene;

/// Buffers of poses that are taken in turn.
const SETS: usize = 2;
/// Poses of a source's clip that streams start at.
const PHASES: usize = 64;

/// What the sources' joint axes are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Axes {
    /// Those of the model, in the reference pose: [`RigKind::Aligned`].
    Model,
    /// Their own.
    Own,
}

/// How the poses lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Held {
    /// Slices of one array, single precision.
    Slices,
    /// A [`StreamBuffer`], single precision.
    Buffer,
    /// A [`StreamBuffer`] of 16-bit rotations.
    Snorm16,
}

impl Held {
    /// In order.
    pub const ALL: [Self; 3] = [Self::Slices, Self::Buffer, Self::Snorm16];
}

/// Medians over all rounds of all runs.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct LiveReport {
    /// Of the sources.
    pub axes: Axes,
    /// How the poses lie in memory.
    pub held: Held,
    /// The stage `retarget_live`, nanoseconds.
    pub ns_per_character: f64,
    /// The whole frame of the streamed characters, nanoseconds.
    pub frame_ns_per_character: f64,
    /// The stage over the frame, both of one round: a machine may have a fast and a slow minute within a run.
    pub percent: f64,
    /// Joints of a stream, mean.
    pub source_joints: f64,
    /// Joints of it that are used, mean.
    pub used_joints: f64,
    /// Products and powers after them, mean.
    pub steps: f64,
}

/// A source with one clip, as raw poses.
struct Source {
    body: BuiltIn,
    /// Phase by phase.
    poses: Vec<Vec<[f32; 4]>>,
    places: Vec<[f32; 3]>,
}

impl Source {
    fn of(kind: RigKind, carrier: u16) -> Self {
        let body = content::character(kind, &BodyPlan::adult());
        let clip = content::clip(ClipKind::Walk, &body);
        let skeleton = &body.character.skeleton;
        let (mut poses, mut places) = (Vec::new(), Vec::new());
        for phase in 0..PHASES {
            let locals: Vec<Transform> = clip.sample(skeleton, clip.duration * phase as f32 / PHASES as f32);
            let place = skeleton.model_matrices(&locals)[usize::from(carrier)].w_axis.truncate();
            poses.push(locals.iter().map(|local| local.rotation.to_array()).collect());
            places.push(place.to_array());
        }
        Self { body, poses, places }
    }
}

/// Measures a scene of these options with all characters on streams. To be called inside of the pool that it is to use.
///
/// # Errors
/// As [`BenchScene::build`].
pub fn measure(
    options: &SceneOptions,
    axes: Axes,
    held: Held,
    rounds: usize,
    runs: usize,
) -> Result<LiveReport, StressError> {
    let mut scene = BenchScene::build(options)?;
    let handles = scene.scene.handles().to_vec();
    let mut maps = LiveMaps::default();
    let mut sources: Vec<Source> = Vec::new();
    let kinds: Vec<_> = RigKind::ALL
        .iter()
        .map(|&kind| Ok((kind, Rig::build(&content::character(kind, &BodyPlan::adult()).rig_source())?)))
        .collect::<Result<_, BuildError>>()?;
    let mut source_of = vec![usize::MAX; kinds.len()];
    let mut follows: Vec<(usize, Arc<LiveMap>)> = Vec::with_capacity(handles.len());
    for (at, &handle) in handles.iter().enumerate() {
        let (rig, _) = scene.scene.crowd.body(handle)?;
        let rig = scene.scene.crowd.rig(rig);
        let own = kinds.iter().position(|(_, other)| other.topology() == rig.topology()).unwrap_or(0);
        let other = match axes {
            Axes::Model => RigKind::Aligned,
            Axes::Own => RigKind::ALL[(own + 1) % RigKind::ALL.len()],
        };
        if source_of[own] == usize::MAX {
            let body = content::character(other, &BodyPlan::adult());
            let map = maps.get(bind_source(&body, &body.reference()), rig)?;
            source_of[own] = sources.len();
            sources.push(Source::of(other, map.carrier()));
        }
        let source = &sources[source_of[own]].body;
        let map = maps.get(bind_source(source, &source.reference()), rig)?;
        let stream = Stream { id: StreamId(at as u32), map: Arc::clone(&map), root: StreamRoot::InPose };
        scene.scene.crowd.set_stream(handle, &stream)?;
        follows.push((source_of[own], map));
    }

    let phase = |at: usize, set: usize| (7 * at + set) % PHASES;
    let (sources, follows) = (&sources, &follows);
    let poses = |set: usize| {
        follows.iter().enumerate().map(move |(at, (source, _))| (&sources[*source], phase(at, set)))
    };
    let joints: Vec<usize> = follows.iter().map(|(_, map)| map.source_joints()).collect();
    let (mut arrays, mut wholes, mut halves) = (Vec::new(), Vec::new(), Vec::new());
    for set in 0..SETS {
        match held {
            Held::Slices => {
                let array: Vec<[f32; 4]> =
                    poses(set).flat_map(|(source, phase)| source.poses[phase].iter().copied()).collect();
                arrays.push(array);
            }
            Held::Buffer => wholes.push(filled(&scene.scene.crowd, &joints, poses(set), |value| value)?),
            Held::Snorm16 => halves.push(filled(&scene.scene.crowd, &joints, poses(set), SnormQuat::new)?),
        }
    }
    let slices: Vec<Vec<StreamPose<'_>>> = arrays
        .iter()
        .enumerate()
        .map(|(set, array)| {
            let mut rest = array.as_slice();
            let poses = poses(set).zip(&joints).map(|((source, phase), &joints)| {
                let (rotations, others) = rest.split_at(joints);
                rest = others;
                StreamPose { rotations: rotations.into(), position: source.places[phase], contacts: None }
            });
            poses.collect()
        })
        .collect();
    let streams = |set: usize| -> StreamPoses<'_> {
        match held {
            Held::Slices => (&slices[set]).into(),
            Held::Buffer => (&wholes[set]).into(),
            Held::Snorm16 => (&halves[set]).into(),
        }
    };

    let per = 1.0 / handles.len().max(1) as f64;
    let (mut stage, mut whole, mut percent) = (Vec::new(), Vec::new(), Vec::new());
    let mut failed = Ok(());
    let mut set = 0;
    for _ in 0..runs {
        let times = samples(rounds, 3, |subject| {
            let until = [Stage::Sample, Stage::RetargetLive, Stage::Palette][subject];
            set = (set + 1) % SETS;
            let frame = Frame { until, streams: streams(set), ..Frame::new(DT, &scene.scene.terrain) };
            let result = scene.scene.crowd.frame(frame, executor());
            failed = failed.clone().and(result);
        });
        failed.clone()?;
        for round in 0..rounds {
            let [before, until, frame] = [0, 1, 2].map(|subject| times[subject][round] * per);
            stage.push(until - before);
            whole.push(frame);
            percent.push(100.0 * (until - before) / frame);
        }
    }
    let (ns, frame, percent) = (median(&mut stage), median(&mut whole), median(&mut percent));
    let mean = |of: fn(&LiveMap) -> usize| follows.iter().map(|(_, map)| of(map) as f64).sum::<f64>() * per;
    Ok(LiveReport {
        axes,
        held,
        ns_per_character: ns,
        frame_ns_per_character: frame,
        percent,
        source_joints: mean(LiveMap::source_joints),
        used_joints: mean(LiveMap::used_joints),
        steps: mean(LiveMap::steps),
    })
}

/// A buffer of these poses, arranged for a crowd.
fn filled<'a, Q: StreamRotation>(
    crowd: &Crowd,
    joints: &[usize],
    poses: impl Iterator<Item = (&'a Source, usize)>,
    rotation: impl Fn([f32; 4]) -> Q,
) -> Result<StreamBuffer<Q>, BuildError> {
    let mut buffer = StreamBuffer::new(joints)?;
    for (at, (source, phase)) in poses.enumerate() {
        if let Some(mut pose) = buffer.pose_mut(StreamId(at as u32)) {
            let rotations = pose.rotations_mut().zip(&source.poses[phase]);
            rotations.for_each(|(to, &from)| *to = rotation(from));
            pose.set_position(source.places[phase]);
        }
    }
    crowd.arrange_streams(&mut buffer)?;
    Ok(buffer)
}

fn bind_source<'a>(body: &'a BuiltIn, reference: &'a throng::rig::ReferencePose) -> BindSource<'a> {
    BindSource { skeleton: &body.character.skeleton, roles: &body.roles, reference }
}
