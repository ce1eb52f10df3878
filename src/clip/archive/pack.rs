//! Making an archive: clips are fitted one by one, in any order and on any thread, and then put together.

use bytemuck::{Pod, bytes_of, cast_slice};
use glam::{DQuat, DVec3};
use xxhash_rust::xxh3::xxh3_64;

use super::bits::{BitWriter, put_row};
use super::error::ArchiveError;
use super::fit::{Motion, fit};
use super::format::{
    ADDITIVE, ALIGN, ClipRecord, Header, JointRecord, LOOPING, MAGIC, SECTIONS, Span, UNHASHED, role_code,
};
use super::measure::Body;
use super::meta;
use super::track::Track;
use super::{VERSION, ordered};
use crate::clip::{BoundClip, MotionKeys, PELVIS_RANGE, Twist};
use crate::lanes::{GROUP, KEY_ONE};
use crate::rig::{JointKey, MAX_FEET, Rig, Topology};

/// Largest tolerance or shell distance, metres.
const LARGEST: f64 = 10.0;

/// How near packed clips stay to their source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PackSettings {
    /// Metres: largest distance of a joint or virtual vertex, in model space, from where the source has it.
    pub tolerance: f64,
    /// Metres from each joint to its three virtual vertices, one along each model axis of the reference pose: how thick
    /// the body around a joint is taken to be.
    pub shell: f64,
}

impl Default for PackSettings {
    fn default() -> Self {
        Self { tolerance: 0.2e-3, shell: 0.05 }
    }
}

impl PackSettings {
    fn check(&self) -> Result<(), ArchiveError> {
        for (what, value) in [("the tolerance", self.tolerance), ("the shell distance", self.shell)] {
            if !(value > 1e-9 && value <= LARGEST) {
                return Err(ArchiveError::Setting { what, value, most: LARGEST });
            }
        }
        Ok(())
    }
}

/// One clip in few bits, on its way into an archive.
#[derive(Clone, Debug)]
pub struct PackedClip {
    name: String,
    topology: Topology,
    settings: PackSettings,
    duration: f32,
    intervals: u32,
    looping: bool,
    additive: bool,
    error: f64,
    /// Everything before the tracks of the joints.
    head: BitWriter,
    /// One per joint; `None` stands for rest.
    tracks: Vec<Option<PackedTrack>>,
}

#[derive(Clone, Debug)]
struct PackedTrack {
    bits: BitWriter,
    still: bool,
}

impl PackedClip {
    /// Fits a clip for `rig`. `keys` are the motion before it was quantised to the rows of `clip`; without them the rows
    /// count as the truth. All else comes from `clip`.
    ///
    /// # Errors
    /// If the clip is of another topology than the rig, or the keys are another clip's, or a setting makes no sense.
    pub fn fit(
        rig: &Rig,
        clip: &BoundClip,
        keys: Option<&MotionKeys>,
        settings: &PackSettings,
    ) -> Result<Self, ArchiveError> {
        settings.check()?;
        if clip.topology() != rig.topology() {
            return Err(ArchiveError::OtherTopology { clip: clip.name().to_owned() });
        }
        let bad = |reason| ArchiveError::Clip { clip: clip.name().to_owned(), reason };
        let joints = rig.topology().len();
        let count = clip.intervals() as usize + 1;
        let (rotations, pelvis) = match keys {
            Some(keys) => {
                if keys.pelvis.len() != count || keys.rotations.len() != count * joints {
                    return Err(bad("its keys and its rows are not as many"));
                }
                (keys.rotations.iter().map(|q| q.normalize()).collect(), keys.pelvis.clone())
            }
            None => of_rows(clip),
        };
        if !rotations.iter().all(|q: &DQuat| q.is_finite()) || !pelvis.iter().all(|p| p.is_finite()) {
            return Err(bad("its keys are not finite"));
        }
        let body = Body::of(rig, settings.shell);
        let motion = Motion { rotations: &rotations, pelvis: &pelvis, range: PELVIS_RANGE.into() };
        let fitted = fit(&body, &motion, settings.tolerance);
        let mut head = BitWriter::default();
        meta::put(&mut head, clip).map_err(bad)?;
        for part in 0..3 {
            let part = |twist: &Twist| ordered::integer([twist.x, twist.z, twist.yaw][part]);
            let row: Vec<i32> = clip.root().twists().iter().map(part).collect();
            put_row(&mut head, &row, 32);
        }
        for foot in 0..MAX_FEET {
            let row: Vec<i32> = (0..count).map(|key| i32::from(quad(clip, key, joints + 1)[foot])).collect();
            put_row(&mut head, &row, 17);
        }
        head.put(fitted.pelvis.is_some().into(), 1);
        if let Some(pelvis) = &fitted.pelvis {
            pelvis.put(&mut head);
        }
        let tracks = fitted.tracks.iter().map(|track| track.as_ref().map(PackedTrack::of)).collect();
        Ok(Self {
            name: clip.name().to_owned(),
            topology: clip.topology().clone(),
            settings: *settings,
            duration: clip.duration(),
            intervals: clip.intervals(),
            looping: clip.looping(),
            additive: clip.additive(),
            error: fitted.error,
            head,
            tracks,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// Metres: largest distance of joints and virtual vertices from the source, at the keys, as they will be unpacked.
    pub fn error(&self) -> f64 {
        self.error
    }
}

impl PackedTrack {
    fn of(track: &Track) -> Self {
        let mut bits = BitWriter::default();
        track.put(&mut bits);
        Self { bits, still: track.is_still() }
    }
}

/// The bytes of an archive of `clips`, which were fitted for `rig` with `settings`. The order of the clips makes no
/// difference.
///
/// # Errors
/// If two clips have one name, or one is of another topology or was fitted otherwise, or there are too many bytes.
pub fn pack(rig: &Rig, settings: &PackSettings, clips: &[PackedClip]) -> Result<Vec<u8>, ArchiveError> {
    settings.check()?;
    let topology = rig.topology();
    let mut sorted: Vec<&PackedClip> = clips.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    for clip in &sorted {
        if clip.topology != *topology {
            return Err(ArchiveError::OtherTopology { clip: clip.name.clone() });
        }
        if clip.settings != *settings {
            let reason = "it was fitted with other settings";
            return Err(ArchiveError::Clip { clip: clip.name.clone(), reason });
        }
    }
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(ArchiveError::Name { clip: pair[0].name.clone() });
    }

    let mut strings = Strings::default();
    let name = strings.put(rig.name())?;
    let mut joints = Vec::with_capacity(topology.len());
    for (joint, key) in topology.keys().iter().enumerate() {
        let (tag, role, name) = match key {
            JointKey::Role(role) => {
                let (tag, parts) = role_code(*role);
                (tag, parts, Span::default())
            }
            JointKey::Named(name) => (0, [0; 4], strings.put(name)?),
        };
        let (parent, level) = (topology.parents()[joint], topology.levels()[joint]);
        joints.push(JointRecord { parent, level, tag, role, name });
    }
    let parts = (topology.keys().to_vec(), topology.parents().to_vec(), topology.levels().to_vec());
    if Topology::from_parts(parts.0, parts.1, parts.2, topology.pelvis()).as_ref() != Ok(topology) {
        return Err(ArchiveError::Topology { rig: rig.name().to_owned() });
    }

    let mut shared = BitWriter::default();
    let told: Vec<bool> = (0..topology.len()).map(|joint| put_shared(&mut shared, &sorted, joint)).collect();
    let (mut records, mut bits) = (Vec::with_capacity(sorted.len()), Vec::new());
    for clip in &sorted {
        let mut out = clip.head.clone();
        for (track, _) in clip.tracks.iter().zip(&told).filter(|(_, told)| !**told) {
            out.put(track.is_some().into(), 1);
            if let Some(track) = track {
                out.append(&track.bits);
            }
        }
        let out = out.finish();
        records.push(ClipRecord {
            name: strings.put(&clip.name)?,
            bits: Span { start: size(bits.len())?, bytes: size(out.len())? },
            duration: clip.duration,
            intervals: clip.intervals,
            flags: if clip.looping { LOOPING } else { 0 } | if clip.additive { ADDITIVE } else { 0 },
            error: clip.error as f32,
        });
        bits.extend(out);
    }
    let shared = shared.finish();
    let header = Header {
        magic: MAGIC,
        version: VERSION,
        tolerance: settings.tolerance as f32,
        shell: settings.shell as f32,
        leg: rig.leg(),
        pelvis: topology.pelvis().into(),
        name,
        ..Header::default()
    };
    let strings = strings.bytes;
    seal(header, [bytes(&joints), bytes(&records), bytes(rig.offsets()), &strings, &shared, &bits])
}

/// Puts sections behind the header, then lengths and hash into it.
fn seal(mut header: Header, sections: [&[u8]; SECTIONS]) -> Result<Vec<u8>, ArchiveError> {
    let mut out = vec![0; size_of::<Header>()];
    for (span, section) in header.sections.iter_mut().zip(sections) {
        out.resize(out.len().next_multiple_of(ALIGN), 0);
        *span = Span { start: size(out.len())?, bytes: size(section.len())? };
        out.extend(section);
    }
    header.bytes = size(out.len())?;
    out[..size_of::<Header>()].copy_from_slice(bytes_of(&header));
    let hash = xxh3_64(&out[UNHASHED..]);
    header.hash = [hash as u32, (hash >> 32) as u32];
    out[..size_of::<Header>()].copy_from_slice(bytes_of(&header));
    Ok(out)
}

fn bytes<T: Pod>(records: &[T]) -> &[u8] {
    cast_slice(records)
}

fn size(bytes: usize) -> Result<u32, ArchiveError> {
    u32::try_from(bytes).map_err(|_| ArchiveError::Size)
}

/// Tells a track once if it is the same in all clips; says whether it did.
fn put_shared(out: &mut BitWriter, clips: &[&PackedClip], joint: usize) -> bool {
    let Some((first, rest)) = clips.split_first() else {
        out.put(1, 2);
        return true;
    };
    match &first.tracks[joint] {
        None if rest.iter().all(|clip| clip.tracks[joint].is_none()) => {
            out.put(1, 2);
            true
        }
        Some(track)
            if track.still
                && rest.iter().all(|clip| {
                    clip.tracks[joint].as_ref().is_some_and(|other| other.still && other.bits == track.bits)
                }) =>
        {
            out.put(2, 2);
            out.append(&track.bits);
            true
        }
        _ => {
            out.put(0, 2);
            false
        }
    }
}

/// Names, one after the other.
#[derive(Default)]
struct Strings {
    bytes: Vec<u8>,
}

impl Strings {
    fn put(&mut self, name: &str) -> Result<Span, ArchiveError> {
        let span = Span { start: size(self.bytes.len())?, bytes: size(name.len())? };
        self.bytes.extend(name.as_bytes());
        Ok(span)
    }
}

fn quad(clip: &BoundClip, key: usize, quad: usize) -> [i16; 4] {
    let at = 4 * (quad % GROUP);
    let values = &clip.key(key)[quad / GROUP].0;
    [values[at], values[at + 1], values[at + 2], values[at + 3]]
}

/// Rotations and pelvis offsets of rows.
fn of_rows(clip: &BoundClip) -> (Vec<DQuat>, Vec<DVec3>) {
    let joints = clip.topology().len();
    let (mut rotations, mut pelvis) = (Vec::new(), Vec::new());
    for key in 0..=clip.intervals() as usize {
        for joint in 0..joints {
            rotations.push(DQuat::from_array(quad(clip, key, joint).map(f64::from)).normalize());
        }
        let [x, y, z, _] = quad(clip, key, joints).map(|v| f64::from(v) / f64::from(KEY_ONE));
        pelvis.push(DVec3::new(x, y, z) * f64::from(PELVIS_RANGE));
    }
    (rotations, pelvis)
}
