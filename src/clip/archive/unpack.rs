//! Reading: what a file says is checked before it is used.

use bytemuck::{Pod, cast_slice, cast_slice_mut, pod_read_unaligned, try_cast_slice};
use xxhash_rust::xxh3::xxh3_64;

use super::bits::{BitReader, Exhausted, take_row};
use super::error::ArchiveError;
use super::format::{
    ADDITIVE, ALIGN, ClipRecord, Header, JointRecord, LOOPING, MAGIC, Names, SECTIONS, Section, Span,
    UNHASHED, topology,
};
use super::meta::{self, Meta};
use super::track::Track;
use super::{UNPACKED_LIMIT, VERSION, ordered};
use crate::clip::rows::{MAX_SECONDS, MIN_SECONDS, Parts, group_count};
use crate::clip::{BoundClip, RootMotion, Twist};
use crate::lanes::{GROUP, KeyGroup};
use crate::rig::{MAX_FEET, Topology};

/// Leg lengths or radians that root motion may come to.
const FARTHEST: f32 = 1e12;

/// A clip archive in memory: bytes of a file that was read or mapped. Opening checks the whole of it but the clips' own
/// bits, which [`clip`](Self::clip) checks.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    bytes: Bytes<'a>,
    header: Header,
    topology: Topology,
    /// One per joint: told once for all clips.
    shared: Vec<Shared>,
}

/// Bytes that begin where numbers can be read.
#[derive(Clone, Debug)]
enum Bytes<'a> {
    Lent(&'a [u8]),
    Own { words: Vec<u32>, bytes: usize },
}

/// What of a joint is told once.
#[derive(Clone, Debug)]
enum Shared {
    /// Nothing.
    No,
    /// It never turns.
    Rest,
    /// It always holds this turn.
    Still(Track),
}

/// What an archive says of a clip without unpacking it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClipInfo<'a> {
    /// Its name.
    pub name: &'a str,
    /// Seconds.
    pub duration: f32,
    /// True if it runs on from its end to its start.
    pub looping: bool,
    /// True if it can only be put on top of other motion.
    pub additive: bool,
    /// Key intervals; keys are one more.
    pub intervals: u32,
    /// Bytes in the archive, what is shared left out.
    pub bytes: usize,
    /// Metres: largest distance of joints and virtual vertices from what was packed, at the keys.
    pub error: f32,
}

impl<'a> Archive<'a> {
    /// Takes the bytes of a file. They are used where they lie if they begin at a multiple of 4, as pages and files read into
    /// memory do; otherwise they are copied. Clips may take 1 GiB of rows together; see
    /// [`open_within`](Self::open_within).
    ///
    /// # Errors
    /// [`ArchiveError`] if the bytes are no archive of this version, or not as they were written, or make no sense.
    pub fn open(bytes: &'a [u8]) -> Result<Self, ArchiveError> {
        Self::open_within(bytes, UNPACKED_LIMIT)
    }

    /// [`open`](Self::open), for clips that take at most `limit` bytes of rows together.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`ArchiveError::Memory`].
    pub fn open_within(bytes: &'a [u8], limit: u64) -> Result<Self, ArchiveError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(ArchiveError::Magic);
        }
        // Before anything else: of another version not even the length is where this one has it.
        let version = bytes.get(8..12).map(|bytes| pod_read_unaligned::<u32>(bytes).to_le());
        match version {
            Some(VERSION) => {}
            Some(have) => return Err(ArchiveError::Version { have, need: VERSION }),
            None => return Err(ArchiveError::Magic),
        }
        let have = bytes.len() as u64;
        let Some(head) = bytes.get(..size_of::<Header>()) else {
            return Err(ArchiveError::Length { declared: size_of::<Header>() as u64, have });
        };
        if cfg!(target_endian = "big") {
            return Err(wrong("byte order", "archives are read on machines with the lowest byte first"));
        }
        let header: Header = pod_read_unaligned(head);
        if u64::from(header.bytes) != have {
            return Err(ArchiveError::Length { declared: header.bytes.into(), have });
        }
        let declared = u64::from(header.hash[0]) | u64::from(header.hash[1]) << 32;
        let hash = xxh3_64(&bytes[UNHASHED..]);
        if hash != declared {
            return Err(ArchiveError::Hash { declared, have: hash });
        }
        let held = Bytes::of(bytes);
        let bytes = held.get();
        let mut end = size_of::<Header>();
        for span in header.sections {
            let start = span.start as usize;
            if start != end.next_multiple_of(ALIGN) || start + span.bytes as usize > bytes.len() {
                return Err(wrong("sections", "they do not follow each other"));
            }
            if bytes[end..start].iter().any(|&byte| byte != 0) {
                return Err(wrong("sections", "there is something between them"));
            }
            end = start + span.bytes as usize;
        }
        if end != bytes.len() {
            return Err(wrong("sections", "they do not fill the file"));
        }
        let values = [header.tolerance, header.shell, header.leg];
        if !values.iter().all(|value| value.is_finite() && *value > 0.0) {
            return Err(wrong("header", "tolerance, distance or leg length is no length"));
        }
        let joints: &[JointRecord] = records(bytes, header, Section::Joints)?;
        let strings = str_of(bytes, header)?;
        let mut names = Names::new(strings);
        names.take(header.name)?;
        let topology = topology(joints, header.pelvis, &mut names)?;
        let offsets: &[[f32; 3]] = records(bytes, header, Section::Offsets)?;
        if offsets.len() != topology.len() || !offsets.iter().flatten().all(|value| value.is_finite()) {
            return Err(wrong("proportions", "there must be a finite offset for each joint"));
        }
        let clips: &[ClipRecord] = records(bytes, header, Section::Clips)?;
        check_clips(clips, &mut names, section(bytes, header, Section::Bits), topology.len(), limit)?;
        let shared = shared(section(bytes, header, Section::Shared), topology.len())
            .map_err(|Exhausted| wrong("shared tracks", "they are no tracks"))?;
        Ok(Self { bytes: held, header, topology, shared })
    }

    /// Number of clips.
    pub fn len(&self) -> usize {
        self.records().len()
    }

    /// True if there is no clip.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The topology that all clips are bound to.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Name of the rig that errors were measured on.
    pub fn rig(&self) -> &str {
        self.text(self.header.name)
    }

    /// Leg length of that rig, metres.
    pub fn leg(&self) -> f32 {
        self.header.leg
    }

    /// Metres: one per joint, position minus parent's position of that rig in its reference pose.
    pub fn offsets(&self) -> &[[f32; 3]] {
        records(self.bytes.get(), self.header, Section::Offsets).unwrap_or(&[])
    }

    /// Metres that were asked for when it was packed.
    pub fn tolerance(&self) -> f32 {
        self.header.tolerance
    }

    /// Metres from a joint to the virtual vertices at which errors were measured.
    pub fn shell(&self) -> f32 {
        self.header.shell
    }

    /// Bytes of the archive.
    pub fn bytes(&self) -> usize {
        self.bytes.get().len()
    }

    /// Joints whose track is the same in every clip, and told once or not at all.
    pub fn shared_joints(&self) -> usize {
        self.shared.iter().filter(|shared| !matches!(shared, Shared::No)).count()
    }

    /// What is said of each clip, by name.
    pub fn clips(&self) -> impl ExactSizeIterator<Item = ClipInfo<'_>> {
        self.records().iter().map(|record| ClipInfo {
            name: self.text(record.name),
            duration: record.duration,
            looping: record.flags & LOOPING != 0,
            additive: record.flags & ADDITIVE != 0,
            intervals: record.intervals,
            bytes: record.bits.bytes as usize,
            error: record.error,
        })
    }

    /// Number of the clip of that name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.records().binary_search_by(|record| self.text(record.name).cmp(name)).ok()
    }

    /// Unpacks the clip of that number, `None` if there is none.
    ///
    /// # Errors
    /// [`ArchiveError::Clip`] if its bits are none of a clip.
    pub fn clip(&self, index: usize) -> Option<Result<BoundClip, ArchiveError>> {
        let record = self.records().get(index)?;
        let name = self.text(record.name);
        let bits = section(self.bytes.get(), self.header, Section::Bits);
        let bits = span(bits, record.bits).unwrap_or(&[]);
        Some(
            self.unpack(record, name, bits)
                .map_err(|reason| ArchiveError::Clip { clip: name.to_owned(), reason }),
        )
    }

    fn records(&self) -> &[ClipRecord] {
        records(self.bytes.get(), self.header, Section::Clips).unwrap_or(&[])
    }

    fn text(&self, span: Span) -> &str {
        // Checked when it was opened: all of it is UTF-8, and names begin and end between characters.
        let strings = section(self.bytes.get(), self.header, Section::Strings);
        self::span(strings, span).and_then(|name| core::str::from_utf8(name).ok()).unwrap_or_default()
    }

    fn unpack(&self, record: &ClipRecord, name: &str, bits: &[u8]) -> Result<BoundClip, &'static str> {
        let short = |Exhausted| "its bits end too early, or are none";
        let mut bits = BitReader::new(bits);
        let looping = record.flags & LOOPING != 0;
        let meta: Meta = meta::take(&mut bits, record.duration, looping)?;
        let intervals = record.intervals as usize;
        let mut twists = vec![Twist::default(); intervals];
        take_row(&mut bits, intervals, 32, |at, value| twists[at].x = ordered::float(value))
            .map_err(short)?;
        take_row(&mut bits, intervals, 32, |at, value| twists[at].z = ordered::float(value))
            .map_err(short)?;
        take_row(&mut bits, intervals, 32, |at, value| twists[at].yaw = ordered::float(value))
            .map_err(short)?;
        let root = RootMotion::from_twists(twists, record.duration);
        if !root.is_bounded() {
            return Err("its root motion is not finite, or too fast");
        }
        let end = root.end();
        if ![end.x, end.z, end.yaw].iter().all(|v| v.abs() < FARTHEST) {
            return Err("its root motion leads too far");
        }
        let keys = intervals + 1;
        let mut contact = [const { Vec::new() }; MAX_FEET];
        for row in &mut contact {
            row.resize(keys, 0i16);
            let mut fits = true;
            take_row(&mut bits, keys, 17, |at, value| match i16::try_from(value) {
                Ok(value) if value != i16::MIN => row[at] = value,
                _ => fits = false,
            })
            .map_err(short)?;
            if !fits {
                return Err("a contact weight is out of range");
            }
        }
        let moves = bits.take(1).map_err(short)? == 1;
        let pelvis = moves.then(|| Track::take(&mut bits, intervals, true)).transpose().map_err(short)?;
        let joints = self.topology.len();
        let groups = group_count(joints);
        let mut rows = vec![KeyGroup([0; 4 * GROUP]); keys * groups];
        let mut crosses_hemisphere = false;
        // Quads of one group for all keys, so that rows are written by whole lines.
        let mut lines = vec![KeyGroup([0; 4 * GROUP]); keys];
        for group in 0..groups {
            lines.fill(KeyGroup([0; 4 * GROUP]));
            for slot in 0..GROUP {
                let mut put = |key: usize, row: [i16; 4]| {
                    lines[key].0[4 * slot..4 * slot + 4].copy_from_slice(&row);
                };
                let quad = group * GROUP + slot;
                if quad == joints {
                    pelvis.iter().for_each(|track| track.rows(&mut put));
                } else if quad == joints + 1 {
                    (0..keys).for_each(|key| put(key, [contact[0][key], contact[1][key], 0, 0]));
                } else if let Some(shared) = self.shared.get(quad) {
                    match track(shared, &mut bits, intervals).map_err(short)? {
                        None => (0..keys).for_each(|key| put(key, Track::REST)),
                        Some(track) => track.rows(|key, row| {
                            crosses_hemisphere |= row[3] < 0;
                            put(key, row);
                        }),
                    }
                }
            }
            for (key, line) in lines.iter().enumerate() {
                rows[key * groups + group] = *line;
            }
        }
        if !bits.is_done() {
            return Err("something is left over behind it");
        }
        Ok(BoundClip::from_parts(Parts {
            name: name.to_owned(),
            topology: self.topology.clone(),
            intervals: record.intervals,
            duration: record.duration,
            looping,
            additive: record.flags & ADDITIVE != 0,
            rows,
            root,
            contacts: meta.contacts,
            events: meta.events,
            sync: meta.sync,
            crosses_hemisphere,
        }))
    }
}

/// The next joint's track, `None` for rest.
fn track(shared: &Shared, bits: &mut BitReader<'_>, intervals: usize) -> Result<Option<Track>, Exhausted> {
    Ok(match shared {
        Shared::Rest => None,
        Shared::Still(track) => Some(track.held(intervals)),
        Shared::No if bits.take(1)? == 0 => None,
        Shared::No => Some(Track::take(bits, intervals, false)?),
    })
}

fn wrong(what: &'static str, reason: &'static str) -> ArchiveError {
    ArchiveError::Table { what, reason }
}

impl<'a> Bytes<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        if (bytes.as_ptr() as usize).is_multiple_of(align_of::<u32>()) {
            return Self::Lent(bytes);
        }
        let mut words = vec![0u32; bytes.len().div_ceil(4)];
        cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self::Own { words, bytes: bytes.len() }
    }

    fn get(&self) -> &[u8] {
        match self {
            Self::Lent(bytes) => bytes,
            Self::Own { words, bytes } => &cast_slice(words)[..*bytes],
        }
    }
}

fn span(bytes: &[u8], span: Span) -> Option<&[u8]> {
    bytes.get(span.start as usize..)?.get(..span.bytes as usize)
}

fn section(bytes: &[u8], header: Header, section: Section) -> &[u8] {
    const { assert!(Section::Bits as usize + 1 == SECTIONS) };
    span(bytes, header.sections[section as usize]).unwrap_or(&[])
}

fn records<T: Pod>(bytes: &[u8], header: Header, which: Section) -> Result<&[T], ArchiveError> {
    try_cast_slice(section(bytes, header, which))
        .map_err(|_| wrong("sections", "one is no whole number of records"))
}

fn str_of(bytes: &[u8], header: Header) -> Result<&str, ArchiveError> {
    core::str::from_utf8(section(bytes, header, Section::Strings))
        .map_err(|_| wrong("names", "they are not UTF-8"))
}

fn check_clips(
    clips: &[ClipRecord],
    names: &mut Names<'_>,
    bits: &[u8],
    joints: usize,
    limit: u64,
) -> Result<(), ArchiveError> {
    let (mut need, mut end) = (0u64, 0u32);
    let mut before: Option<&str> = None;
    for record in clips {
        let name = names.take(record.name)?;
        let bad = |reason| Err(ArchiveError::Clip { clip: name.to_owned(), reason });
        if before.is_some_and(|before| before >= name) {
            return Err(wrong("clips", "they are not sorted by name, or two have one name"));
        }
        before = Some(name);
        if !(MIN_SECONDS as f32..=MAX_SECONDS as f32).contains(&record.duration) {
            return bad("its duration is none of a bound clip");
        }
        if record.intervals == 0 {
            return bad("it has no key interval");
        }
        if !(record.error.is_finite() && record.error >= 0.0) || record.flags & !(LOOPING | ADDITIVE) != 0 {
            return bad("its record is none");
        }
        if record.bits.start != end || span(bits, record.bits).is_none() {
            return bad("its bits are not where they should be");
        }
        end = record.bits.start + record.bits.bytes;
        // Each factor is below 2^32, so neither product nor sum of what a file can hold overflows.
        let keys = u64::from(record.intervals) + 1;
        need = need.saturating_add(keys * (group_count(joints) * size_of::<KeyGroup>()) as u64);
    }
    if need > limit {
        return Err(ArchiveError::Memory { need, limit });
    }
    if !names.is_done() {
        return Err(wrong("names", "there are some that belong to nothing"));
    }
    if end as usize != bits.len() {
        return Err(wrong("clips", "there are bits that belong to none"));
    }
    Ok(())
}

/// Per joint two bits, 0 no, 1 rest, 2 a still track that follows.
fn shared(bytes: &[u8], joints: usize) -> Result<Vec<Shared>, Exhausted> {
    let mut bits = BitReader::new(bytes);
    let mut shared = Vec::with_capacity(joints);
    for _ in 0..joints {
        shared.push(match bits.take(2)? {
            0 => Shared::No,
            1 => Shared::Rest,
            2 => {
                let track = Track::take(&mut bits, 1, false)?;
                if !track.is_still() {
                    return Err(Exhausted);
                }
                Shared::Still(track)
            }
            _ => return Err(Exhausted),
        });
    }
    if bits.is_done() { Ok(shared) } else { Err(Exhausted) }
}
