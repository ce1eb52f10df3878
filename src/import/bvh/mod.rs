//! BVH: joints with offsets, then frames of positions and angles.
//!
//! The text is read as a stream, word by word; what is kept is the clip. An import takes at most 16 bytes for each
//! byte of the file (files of tools stay near one) and 16 MB; the first number holds for one rotation channel a
//! joint with one digit a value. Of a stream whose length is not known ([`read`]) it is 32 bytes.
//!
//! What the format leaves open is told from the file, and each answer can be given instead ([`BvhOptions`]):
//!
//! | question | answer without options |
//! |---|---|
//! | do position channels replace the OFFSET or add to it? | [`BvhPositions::Auto`] |
//! | how long is a unit? | the unit of length that makes an adult's leg, [`Warning::UnitsGuessed`](super::Warning) |
//! | where are up and ahead? | by the humanoid roles; +Y and +Z without |
//! | which pose is at rest? | all angles zero, if it stands upright; else the first frame that does |
//! | is frame 0 of the motion? | not if the body jumps from it: it is a calibration pose then |

mod convert;
mod error;
mod hierarchy;
mod positions;
mod reader;
mod rest;
mod tokens;

use std::io::{BufRead, BufReader};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use glam::Quat;

use self::convert::Curves;
pub use self::error::{BvhError, BvhProblem};
pub use self::hierarchy::{BvhJoint, Channel, EndSite};
pub use self::reader::BvhReader;
use super::report::Warnings;
use super::{
    Beside, Format, ImportError, ImportReport, Imported, LoadOptions, Plan, Refusal, Units, Warning, finish,
};
use crate::rig::{RawCharacter, RigOverrides};

/// Seconds from one frame to the next that any recording has: from a tenth of a frame to 100 000 frames a second. Beyond,
/// the number is damaged or of another unit, and times of frames would coincide or last for ages.
pub const FRAME_TIMES: RangeInclusive<f64> = 1e-5..=10.0;

/// What position channels mean for a joint that has an OFFSET as well. Exporters disagree, and the format does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BvhPositions {
    /// As the file's own numbers suggest: channels of limbs that stay near zero while their OFFSET does not are
    /// added, channels that restate the OFFSET replace it; where only roots have both, they are added if that
    /// puts the body's lowest joint nearer to the ground; else they replace.
    #[default]
    Auto,
    /// The channel is the whole translation. Mocopi, Rokoko, SOMA and most others.
    Replace,
    /// The channel is added to the OFFSET. MakeHuman.
    Add,
}

/// Why channels were read as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PositionReason {
    /// No joint has both an OFFSET and position channels: both readings are the same.
    NoDifference,
    /// The options said so.
    Asked,
    /// Positions of joints below the root are near their OFFSET.
    Restated,
    /// Positions of joints below the root are near zero, unlike their OFFSET.
    Deltas,
    /// So the body stands nearer to the ground.
    Ground,
    /// Nothing told: most tools replace.
    Usual,
}

/// What the caller knows better than the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct BvhOptions {
    /// Meaning of position channels.
    pub positions: BvhPositions,
    /// Metres of a file unit.
    pub unit: Option<f32>,
    /// From the file's axes to +Y up, +Z ahead.
    pub axes: Option<Quat>,
    /// Seconds between frames, whatever the file says; one of [`FRAME_TIMES`].
    pub frame_time: Option<f64>,
    /// More or fewer frames than announced are taken as they are and reported.
    pub lenient: bool,
    /// Which pose is at rest.
    pub rest: BvhRest,
}

/// The pose that counts as the skeleton's rest pose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BvhRest {
    /// All angles zero if the body stands upright so, else the first frame in which it does.
    #[default]
    Auto,
    /// All angles zero.
    Offsets,
    /// That frame, from 0; the last one if there are fewer.
    Frame(usize),
}

/// What a BVH file said and how it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BvhReport {
    /// Frames read.
    pub frames: usize,
    /// Seconds between them; 0 for a single pose of a file that does not say, or nothing of [`FRAME_TIMES`].
    pub frame_time: f64,
    /// Values of a frame.
    pub columns: usize,
    /// True if position channels were added to the OFFSET, false if they replaced it.
    pub added: bool,
    /// Why.
    pub positions: Option<PositionReason>,
    /// Frame whose pose is the rest pose; `None`: all angles zero.
    pub rest_frame: Option<usize>,
    /// Frame 0 is a calibration pose: the clip starts at frame 1.
    pub calibration: bool,
    /// Ends of bones, file units and axes.
    pub end_sites: Vec<EndSite>,
}

/// Reads a `.bvh` file. If `NAME.contacts.json` lies beside `NAME.bvh`, the clip gets its contacts
/// ([`Sidecar`](super::Sidecar)).
///
/// # Errors
/// [`ImportError`] with file, line, column, joint and frame, as far as they apply.
pub fn load(path: impl AsRef<Path>) -> Result<Imported, ImportError> {
    load_with(path, &BvhOptions::default())
}

/// [`load`] with options.
///
/// # Errors
/// As [`load`].
pub fn load_with(path: impl AsRef<Path>, options: &BvhOptions) -> Result<Imported, ImportError> {
    let options = LoadOptions { bvh: *options, ..LoadOptions::default() };
    Beside::new().load_as(path.as_ref(), Format::Bvh, &options)
}

/// A file alone, with what its user knows better.
pub(super) fn read_file(
    path: &Path,
    options: &BvhOptions,
    overrides: Option<&RigOverrides>,
) -> Result<Imported, Refusal> {
    let file = super::open_file(path)?;
    let bytes = file.metadata().ok().map(|data| usize::try_from(data.len()).unwrap_or(usize::MAX));
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    read_sized(BufReader::with_capacity(1 << 16, file), bytes, name, options, overrides)
}

/// Reads a file's bytes.
///
/// # Errors
/// As [`load`].
pub fn load_bytes(bytes: &[u8], options: &BvhOptions) -> Result<Imported, ImportError> {
    read_sized(bytes, Some(bytes.len()), String::new(), options, None)
        .map_err(|kind| ImportError { file: PathBuf::from("<bytes>"), kind })
}

/// Reads from a stream of any length; character and clip get the name.
///
/// # Errors
/// [`Refusal`] without a file name.
pub fn read(reader: impl BufRead, name: &str, options: &BvhOptions) -> Result<Imported, Refusal> {
    read_sized(reader, None, name.to_owned(), options, None)
}

fn read_sized(
    reader: impl BufRead,
    bytes: Option<usize>,
    name: String,
    options: &BvhOptions,
    overrides: Option<&RigOverrides>,
) -> Result<Imported, Refusal> {
    let mut warnings = Warnings::default();
    let mut reader = BvhReader::with(reader, options.lenient)?;
    let told = options.frame_time.or(reader.frame_time());
    let frame_time = match told {
        Some(seconds) if FRAME_TIMES.contains(&seconds) => seconds,
        // A single pose has no interval that anybody could get wrong.
        None if reader.declared_frames() <= 1 => 0.0,
        Some(0.0..f64::INFINITY) if reader.declared_frames() <= 1 => 0.0,
        _ => return Err(reader.bad_frame_time(told)),
    };
    let declared = (!options.lenient).then(|| reader.declared_frames());
    let mut curves = Curves::new(reader.hierarchy(), declared, bytes);
    let mut values = vec![0.0; reader.columns()];
    while reader.next_frame(&mut values)? {
        curves.push(&reader.hierarchy().joints, &values);
    }
    if frame_time == 0.0 && reader.frames() > 1 {
        return Err(reader.bad_frame_time(told));
    }
    drop(values);
    let hierarchy = reader.hierarchy();
    if reader.columns() > 0 && reader.frames() != reader.declared_frames() {
        warnings.push(Warning::FrameCount { declared: reader.declared_frames(), found: reader.frames() });
    }
    if hierarchy.long_offsets > 0 {
        warnings.push(Warning::LongOffsets { joints: hierarchy.long_offsets });
    }
    let (added, reason) = positions::decide(options.positions, hierarchy, &curves);
    if !matches!(reason, PositionReason::NoDifference | PositionReason::Asked) {
        warnings.push(Warning::PositionsRead { added, reason });
    }
    let calibration = curves.frame_zero_stands_apart(&hierarchy.joints);
    let curves = curves.positioned(&hierarchy.joints, added);
    let (skeleton, rest_frame) = rest::skeleton(options.rest, &hierarchy.joints, &curves, overrides);
    if let (Some(frame), BvhRest::Auto) = (rest_frame, options.rest) {
        warnings.push(Warning::RestFromFrame { frame });
    }
    if calibration {
        warnings.push(Warning::CalibrationFrame);
    }
    let report = BvhReport {
        frames: reader.frames(),
        frame_time,
        columns: reader.columns(),
        added,
        positions: Some(reason),
        rest_frame,
        calibration,
        end_sites: hierarchy.end_sites.clone(),
    };
    drop(reader);
    let joints = skeleton.joints.len();
    let clips = curves.clip(&name, frame_time, calibration).into_iter().collect();
    let character = RawCharacter { name, skeleton, ..RawCharacter::default() };
    let report = ImportReport {
        nodes: (0..joints).collect(),
        virtual_joints: vec![false; joints],
        bvh: Some(report),
        ..ImportReport::default()
    };
    let plan = Plan {
        units: options.unit.map_or(Units::Guessed, Units::Given),
        axes: options.axes,
        stand: true,
        overrides,
        ..Plan::default()
    };
    finish(character, clips, report, warnings, plan)
}
