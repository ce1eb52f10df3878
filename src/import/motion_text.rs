//! Motions of the DeepMimic humanoid: JSON with one list of numbers a frame.
//!
//! ```text
//! { "Loop": "wrap" | "none", "Frames": [ [ 44 numbers ], ... ] }
//!
//! 0          seconds until the next frame
//! 1..4       position of the root, metres, +Y up, +X ahead
//! 4..8       rotation of the root, quaternion w x y z; so are all but knees and elbows
//! 8, 12      chest, neck
//! 16, 20, 21 right hip, right knee (angle about +Z, radians), right ankle
//! 25, 29     right shoulder, right elbow (angle)
//! 30, 34, 35 left hip, left knee (angle), left ankle
//! 39, 43     left shoulder, left elbow (angle)
//! ```
//!
//! The skeleton is not in the file. It is the humanoid of X. B. Peng, P. Abbeel, S. Levine and M. van de Panne,
//! "DeepMimic: example-guided deep reinforcement learning of physics-based character skills", ACM Transactions on Graphics 37 (4), 2018.
//! Motions of other bodies have other numbers of values and are refused.

use std::fmt;
use std::path::{Path, PathBuf};

use glam::{DQuat, Quat, Vec3};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

use super::report::Warnings;
use super::{Beside, Format, ImportError, ImportReport, Imported, LoadOptions, Plan, Refusal, Units, finish};
use crate::clip::{Curve, Interpolation, JointTracks, RawClip};
use crate::rig::{
    Confidence, RawCharacter, RawJoint, RawSkeleton, RigOverrides, Role, RoleFinding, RoleProposal, Side,
    Transform,
};

/// Numbers of a frame.
const COLUMNS: usize = 44;

/// How a joint turns.
#[derive(Clone, Copy)]
enum Turn {
    /// Quaternion w x y z from this column on.
    Ball(usize),
    /// Angle about +Z in this column.
    Hinge(usize),
    /// Not at all.
    Fixed,
}

/// Name, parent, place in the parent (metres), rotation, role.
type Row = (&'static str, Option<u16>, [f32; 3], Turn, Role);

const JOINTS: [Row; 15] = {
    use Role::{Foot, Forearm, Hand, Head, Hips, Shin, Spine, Thigh, UpperArm};
    use Side::{Left, Right};
    use Turn::{Ball, Fixed, Hinge};
    [
        ("root", None, [0.0, 0.0, 0.0], Ball(4), Hips),
        ("chest", Some(0), [0.0, 0.236151, 0.0], Ball(8), Spine(0)),
        ("neck", Some(1), [0.0, 0.223894, 0.0], Ball(12), Head),
        ("right_hip", Some(0), [0.0, 0.0, 0.084887], Ball(16), Thigh(Right)),
        ("right_knee", Some(3), [0.0, -0.421546, 0.0], Hinge(20), Shin(Right)),
        ("right_ankle", Some(4), [0.0, -0.40987, 0.0], Ball(21), Foot(Right)),
        ("right_shoulder", Some(1), [-0.02405, 0.2435, 0.18311], Ball(25), UpperArm(Right)),
        ("right_elbow", Some(6), [0.0, -0.274788, 0.0], Hinge(29), Forearm(Right)),
        ("right_wrist", Some(7), [0.0, -0.258947, 0.0], Fixed, Hand(Right)),
        ("left_hip", Some(0), [0.0, 0.0, -0.084887], Ball(30), Thigh(Left)),
        ("left_knee", Some(9), [0.0, -0.421546, 0.0], Hinge(34), Shin(Left)),
        ("left_ankle", Some(10), [0.0, -0.40987, 0.0], Ball(35), Foot(Left)),
        ("left_shoulder", Some(1), [-0.02405, 0.2435, -0.18311], Ball(39), UpperArm(Left)),
        ("left_elbow", Some(12), [0.0, -0.274788, 0.0], Hinge(43), Forearm(Left)),
        ("left_wrist", Some(13), [0.0, -0.258947, 0.0], Fixed, Hand(Left)),
    ]
};

/// Reads a motion. If `NAME.contacts.json` lies beside `NAME.txt`, the clip gets its contacts
/// ([`Sidecar`](super::Sidecar)). An import takes at most 16 bytes for each byte of the file and 16 MB.
///
/// # Errors
/// [`ImportError`] with file, line and frame; motions of other bodies are [`Refusal::Json`].
pub fn load(path: impl AsRef<Path>) -> Result<Imported, ImportError> {
    Beside::new().load_as(path.as_ref(), Format::MotionText, &LoadOptions::default())
}

/// A file alone, with what its user knows better.
pub(super) fn read_file(path: &Path, overrides: Option<&RigOverrides>) -> Result<Imported, Refusal> {
    let bytes = super::read_file(path)?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    read(&bytes, name, overrides)
}

/// Reads a motion's bytes.
///
/// # Errors
/// As [`load`].
pub fn load_bytes(bytes: &[u8]) -> Result<Imported, ImportError> {
    read(bytes, String::new(), None).map_err(|kind| ImportError { file: PathBuf::from("<bytes>"), kind })
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "Frames")]
    frames: Frames,
}

/// All frames, one after the other.
#[derive(Default)]
struct Frames(Vec<[f32; COLUMNS]>);

/// One frame; how many values it has, if not as many as it should.
struct Frame(Result<[f32; COLUMNS], usize>);

impl<'de> Deserialize<'de> for Frame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = Frame;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of numbers")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Frame, A::Error> {
                let mut row = [0.0; COLUMNS];
                let mut count = 0_usize;
                while let Some(value) = list.next_element::<f64>()? {
                    if let Some(slot) = row.get_mut(count) {
                        *slot = value as f32;
                    }
                    count += 1;
                }
                Ok(Frame(if count == COLUMNS { Ok(row) } else { Err(count) }))
            }
        }
        deserializer.deserialize_seq(Values)
    }
}

impl<'de> Deserialize<'de> for Frames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Frames;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of frames")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Frames, A::Error> {
                let mut frames = Vec::new();
                while let Some(Frame(row)) = list.next_element()? {
                    match row {
                        Ok(row) => frames.push(row),
                        Err(have) => {
                            return Err(A::Error::custom(format_args!(
                                "frame {} has {have} values; the DeepMimic humanoid has {COLUMNS}, and skeletons of other bodies are not in \
                                 such files",
                                frames.len()
                            )));
                        }
                    }
                }
                Ok(Frames(frames))
            }
        }
        deserializer.deserialize_seq(List)
    }
}

fn read(bytes: &[u8], name: String, overrides: Option<&RigOverrides>) -> Result<Imported, Refusal> {
    let File { frames: Frames(frames) } = serde_json::from_slice(bytes).map_err(|error| Refusal::Json {
        line: error.line(),
        column: error.column(),
        reason: crate::error::json_reason(&error),
    })?;
    let mut times = Vec::with_capacity(frames.len());
    let mut time = 0.0_f64;
    for (frame, row) in frames.iter().enumerate() {
        times.push(time as f32);
        let last = frame + 1 == frames.len();
        if !(row[0] > 0.0 || last) {
            let reason = format!("it lasts {} seconds, but must last longer than none", row[0]);
            return Err(Refusal::Motion { frame, reason });
        }
        time += f64::from(row[0]);
    }
    let skeleton = RawSkeleton {
        joints: JOINTS
            .iter()
            .map(|&(name, parent, at, ..)| RawJoint {
                name: name.to_owned(),
                parent,
                rest: Transform::rigid(Vec3::from_array(at), Quat::IDENTITY),
            })
            .collect(),
    };
    let mut roles = RoleProposal::default();
    for (joint, row) in (0_u16..).zip(&JOINTS) {
        roles.map.set(row.4, joint);
        let confidence = Confidence::Confirmed;
        roles.report.findings.push(RoleFinding { role: row.4, joint, confidence });
    }
    let mut tracks = Vec::new();
    for (joint, &(_, parent, _, turn, _)) in (0_u16..).zip(&JOINTS) {
        let linear = Interpolation::Linear;
        let rotation = match turn {
            Turn::Fixed => None,
            _ => {
                Some(Curve { times: times.clone(), values: rotations(&frames, turn)?, interpolation: linear })
            }
        };
        let place = |row: &[f32; COLUMNS]| Vec3::new(row[1], row[2], row[3]);
        let translation = parent.is_none().then(|| Curve {
            times: times.clone(),
            values: frames.iter().map(place).collect(),
            interpolation: linear,
        });
        tracks.push(JointTracks { joint, translation, rotation, scale: None });
    }
    tracks.retain(|track| track.rotation.is_some());
    let duration = times.last().copied().unwrap_or(0.0);
    let clip = RawClip { name: name.clone(), duration, tracks, ..RawClip::default() };
    let clips = if frames.is_empty() { Vec::new() } else { vec![clip] };
    drop(frames);
    let report = ImportReport {
        nodes: (0..JOINTS.len()).collect(),
        virtual_joints: vec![false; JOINTS.len()],
        ..ImportReport::default()
    };
    let character = RawCharacter { name, skeleton, ..RawCharacter::default() };
    let plan =
        Plan { units: Units::Given(1.0), roles: Some(roles), stand: true, overrides, ..Plan::default() };
    finish(character, clips, report, Warnings::default(), plan)
}

/// Unit quaternions, sign-continuous.
fn rotations(frames: &[[f32; COLUMNS]], turn: Turn) -> Result<Vec<Quat>, Refusal> {
    let mut out: Vec<Quat> = Vec::with_capacity(frames.len());
    for (frame, row) in frames.iter().enumerate() {
        let rotation = match turn {
            Turn::Ball(at) => {
                let [w, x, y, z] = [0, 1, 2, 3].map(|i| f64::from(row[at + i]));
                let rotation = DQuat::from_xyzw(x, y, z, w);
                let length = rotation.length();
                if !(1e-3..1e3).contains(&length) {
                    let reason = format!("values {at} to {} are no quaternion", at + 3);
                    return Err(Refusal::Motion { frame, reason });
                }
                (rotation / length).as_quat()
            }
            Turn::Hinge(at) => DQuat::from_rotation_z(row[at].into()).as_quat(),
            Turn::Fixed => Quat::IDENTITY,
        };
        let back = out.last().is_some_and(|last| last.dot(rotation) < 0.0);
        out.push(if back { -rotation } else { rotation });
    }
    Ok(out)
}
