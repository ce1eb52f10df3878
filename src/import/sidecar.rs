//! Contacts that somebody has marked: `NAME.contacts.json` beside a motion file.

use std::io::Read;
use std::path::Path;

use glam::Vec3;
use serde::Deserialize;

use super::doubt::doubts;
use super::{ImportError, Imported, Refusal, Warning};
use crate::clip::{Contacts, FootContacts, Interval, RootSource};
use crate::rig::Side;
use crate::rig::object::Object;

/// Contacts of one clip as a file gives them: times on the motion file's clock, units of metres.
#[derive(Clone, Debug, PartialEq)]
pub struct Sidecar {
    /// Motion file that it belongs to, as written.
    pub file: String,
    /// Name of the clip.
    pub clip: String,
    /// The clip stays where it is: it marches on the spot, or stands.
    pub in_place: bool,
    /// The marks are in metres; else in the motion file's units, whose size nobody knows.
    pub metres: bool,
    /// Metres per second over the ground, where the path is straight.
    pub root_speed: Option<f32>,
    /// Left and right foot.
    pub feet: [FootMarks; 2],
    /// The ball mark is the ankle: the rig has no toes.
    pub ball_is_ankle: bool,
}

/// Marks and contacts of one foot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FootMarks {
    /// Point of the sole under the ball.
    pub ball: Option<Mark>,
    /// Point of the sole under the heel.
    pub heel: Option<Mark>,
    /// Ball down, on the motion file's clock.
    pub ball_down: Vec<Interval>,
    /// Heel down, on the motion file's clock.
    pub heel_down: Vec<Interval>,
}

/// A point that is fixed in a joint.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Name of the joint.
    pub joint: String,
    /// In the joint's own axes, metres.
    pub offset: Vec3,
    /// Height of the point above the file's ground while the foot is down, metres.
    pub low_level: f32,
}

#[derive(Deserialize)]
struct File {
    file: String,
    clip: String,
    kind: String,
    unit_scale: Option<f32>,
    root_speed_m_s: Option<f32>,
    #[serde(default)]
    ball_is_ankle: bool,
    parts: Sides<Parts>,
    feet: Sides<Vec<Contact>>,
}

#[derive(Deserialize)]
struct Sides<T> {
    left: T,
    right: T,
}

#[derive(Deserialize)]
struct Parts {
    ball: Option<Part>,
    heel: Option<Part>,
}

#[derive(Deserialize)]
struct Part {
    joint: String,
    /// Files of unknown units have `_units` instead.
    #[serde(alias = "offset_local_units")]
    offset_local_m: [f32; 3],
    #[serde(default, alias = "low_level_units")]
    low_level_m: f32,
}

#[derive(Deserialize)]
struct Contact {
    part: String,
    t0: f32,
    t1: f32,
    /// Over the end of the loop: `t1` is that of the next round.
    #[serde(default)]
    wraps: bool,
}

fn refuse(path: &Path, kind: Refusal) -> ImportError {
    ImportError { file: path.to_owned(), kind }
}

/// Contacts of a hundred clips take less.
const LARGEST: u64 = 16 << 20;

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Refusal> {
    let file = super::open_file(path)?;
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Refusal::Sidecar(format!(
            "more than {} MiB is too large for such a file",
            LARGEST >> 20
        )));
    }
    Ok(bytes)
}

fn parse<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| Refusal::Json {
        line: error.line(),
        column: error.column(),
        reason: crate::error::json_reason(&error),
    })
}

impl Sidecar {
    /// Reads a contacts file of one clip.
    ///
    /// # Errors
    /// [`ImportError`] if it cannot be read or is not of this format.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ImportError> {
        let path = path.as_ref();
        read(path)
            .and_then(|bytes| parse(&bytes))
            .and_then(|Object(file)| Self::new(file))
            .map_err(|kind| refuse(path, kind))
    }

    /// Reads a contacts file of one clip, or of a list of clips.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_all(path: impl AsRef<Path>) -> Result<Vec<Self>, ImportError> {
        let path = path.as_ref();
        read(path).and_then(|bytes| Self::all(&bytes)).map_err(|kind| refuse(path, kind))
    }

    /// Contacts of one clip, or of a list of clips, from memory.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Vec<Self>, ImportError> {
        Self::all(bytes).map_err(|kind| refuse(Path::new("<bytes>"), kind))
    }

    /// True if it names that file, whatever the folder.
    #[must_use]
    pub fn is_of(&self, path: &Path) -> bool {
        let own = self.file.rsplit(['/', '\\']).next();
        own.is_some() && own == path.file_name().map(|name| name.to_string_lossy()).as_deref()
    }

    fn all(bytes: &[u8]) -> Result<Vec<Self>, Refusal> {
        if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
            let files: Vec<Object<File>> = parse(bytes)?;
            if files.is_empty() {
                return Err(Refusal::Sidecar("a list of no clips".to_owned()));
            }
            files.into_iter().map(|Object(file)| Self::new(file)).collect()
        } else {
            let Object(file) = parse(bytes)?;
            Ok(vec![Self::new(file)?])
        }
    }

    fn new(file: File) -> Result<Self, Refusal> {
        let [left, right] =
            [("left", file.parts.left, file.feet.left), ("right", file.parts.right, file.feet.right)]
                .map(|(side, parts, contacts)| foot(&file.clip, side, parts, contacts));
        let wrong = |what: String| Err(Refusal::Sidecar(format!("clip {:?}: {what}", file.clip)));
        let in_place = match file.kind.as_str() {
            "in_place" | "stationary" => true,
            "travelling" => false,
            kind => {
                return wrong(format!(
                    "kind {kind:?} is neither \"travelling\" nor \"in_place\" nor \"stationary\""
                ));
            }
        };
        if let Some(scale) = file.unit_scale.filter(|scale| !(scale.is_finite() && *scale > 0.0)) {
            return wrong(format!("unit_scale {scale} is no size of a unit in metres"));
        }
        if let Some(speed) = file.root_speed_m_s.filter(|speed| !(-FASTEST..=FASTEST).contains(speed)) {
            return wrong(format!("root_speed_m_s {speed} is not within {FASTEST} m/s"));
        }
        Ok(Self {
            in_place,
            metres: file.unit_scale.is_some(),
            root_speed: file.root_speed_m_s,
            feet: [left?, right?],
            ball_is_ankle: file.ball_is_ankle,
            file: file.file,
            clip: file.clip,
        })
    }

    /// Gives the clip of that name its contacts and, where it marches on the spot, its ground speed. Warns of contacts
    /// that the clip does not bear out: [`Warning::ContactInAir`], [`Warning::ContactMoves`].
    ///
    /// # Errors
    /// [`Refusal::Sidecar`] if there is no such clip.
    pub fn apply(&self, imported: &mut Imported) -> Result<(), Refusal> {
        // Formats of one clip have no name for it.
        let only = imported.clips.len() == 1 && self.clip == "motion";
        let Some(at) = imported.clips.iter().position(|clip| only || clip.name == self.clip) else {
            let names = imported.clips.iter().map(|clip| clip.name.as_str()).take(8).collect::<Vec<_>>();
            return Err(Refusal::Sidecar(format!(
                "there is no clip {:?}; the file has {}",
                self.clip,
                names.join(", ")
            )));
        };
        let clip = &mut imported.clips[at];
        // From the file's clock to the clip's, which starts at 0.
        let shifted = |intervals: &[Interval]| -> Vec<Interval> {
            let clock = |time: f32| (time - clip.start).clamp(0.0, clip.duration);
            intervals.iter().map(|i| Interval { start: clock(i.start), end: clock(i.end) }).collect()
        };
        let feet = Side::BOTH.into_iter().zip(&self.feet).map(|(side, marks)| FootContacts {
            side,
            heel: shifted(&marks.heel_down),
            ball: shifted(&marks.ball_down),
        });
        let feet = feet.collect();
        clip.contacts = Some(Contacts { feet });
        if self.in_place
            && let Some(speed) = self.root_speed
        {
            clip.root = RootSource::InPlace { speed };
            let name = clip.name.clone();
            let estimate =
                |warning: &Warning| matches!(warning, Warning::SpeedEstimated { clip, .. } if *clip == name);
            imported.report.warnings.retain(|warning| !estimate(warning));
        }
        let contradicted = |warning: &Warning| {
            matches!(
                warning,
                Warning::ContactInAir { clip: name, .. } | Warning::ContactMoves { clip: name, .. } if *name == clip.name
            )
        };
        imported.report.warnings.retain(|warning| !contradicted(warning));
        let doubts = doubts(imported, at);
        imported.report.warnings.extend(doubts);
        Ok(())
    }
}

/// Nobody walks faster, metres per second.
const FASTEST: f32 = 100.0;
/// No motion is longer, and none starts later on its clock, seconds.
const LONGEST: f32 = 1e6;

/// Marks and contacts of one side.
fn foot(clip: &str, side: &str, parts: Parts, contacts: Vec<Contact>) -> Result<FootMarks, Refusal> {
    let wrong = |what: String| Refusal::Sidecar(format!("clip {clip:?}: {what}"));
    let mark = |name: &str, part: Part| {
        let offset = Vec3::from_array(part.offset_local_m);
        if !(offset.is_finite() && part.low_level_m.is_finite()) {
            return Err(wrong(format!("parts.{side}.{name}: a mark in {:?} is not finite", part.joint)));
        }
        Ok(Mark { joint: part.joint, offset, low_level: part.low_level_m })
    };
    let [ball, heel] = [("ball", parts.ball), ("heel", parts.heel)]
        .map(|(name, part)| part.map(|part| mark(name, part)).transpose());
    let mut foot = FootMarks { ball: ball?, heel: heel?, ..FootMarks::default() };
    for (at, Contact { part, t0, t1, wraps }) in contacts.into_iter().enumerate() {
        let place = format!("feet.{side}[{at}]");
        if let Some(time) = [t0, t1].into_iter().find(|time| !(-LONGEST..=LONGEST).contains(time)) {
            return Err(wrong(format!("{place}: contact time {time} is not within {LONGEST} s")));
        }
        if t0 > t1 && !wraps {
            return Err(wrong(format!(
                "{place}: t0 {t0} is after t1 {t1}; a contact over the end of a loop says \"wraps\": true"
            )));
        }
        let interval = Interval { start: t0, end: t1 };
        match part.as_str() {
            "ball" => foot.ball_down.push(interval),
            "heel" => foot.heel_down.push(interval),
            part => return Err(wrong(format!("{place}: part {part:?} is neither \"ball\" nor \"heel\""))),
        }
    }
    Ok(foot)
}
