//! The bytes of an archive: records of 32-bit numbers, each section aligned to 16 bytes, lowest byte first.
//!
//! ```text
//! Header      magic, version, length, hash of all that follows, tolerance, leg; place and count of each section
//! joints      JointRecord   one per joint of the topology, parents first
//! clips       ClipRecord    one per clip, sorted by name
//! offsets     [f32; 3]      one per joint: proportions of the rig that errors were measured on
//! strings     u8            names, UTF-8: of the rig, of joints without a role, of clips
//! shared      bits          tracks that are the same in every clip
//! bits        bits          clips one after the other, each from a byte of its own
//! ```

use bytemuck::{Pod, Zeroable};

use super::error::ArchiveError;
use crate::rig::{Digit, JointKey, Limb, Role, Side, Topology};

/// First bytes of every archive.
pub const MAGIC: [u8; 8] = *b"THRONGCL";

/// Sections begin at multiples of this.
pub(super) const ALIGN: usize = 16;

/// Sections of an archive.
#[derive(Clone, Copy, Debug)]
pub(super) enum Section {
    Joints,
    Clips,
    Offsets,
    Strings,
    Shared,
    Bits,
}

/// Number of sections.
pub(super) const SECTIONS: usize = 6;

/// Where something is: bytes from the beginning of the file, or of a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Span {
    pub start: u32,
    /// Bytes.
    pub bytes: u32,
}

/// First bytes of the file.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Header {
    pub magic: [u8; 8],
    pub version: u32,
    /// Of the whole file.
    pub bytes: u32,
    /// XXH3-64 of all bytes after this field, low half first.
    pub hash: [u32; 2],
    /// Metres.
    pub tolerance: f32,
    /// Metres from a joint to its virtual vertices.
    pub shell: f32,
    /// Leg length of the rig, metres.
    pub leg: f32,
    /// Joint of the topology.
    pub pelvis: u32,
    /// Of the rig.
    pub name: Span,
    pub sections: [Span; SECTIONS],
}

/// Bytes before what is hashed.
pub(super) const UNHASHED: usize = 24;

/// One joint.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct JointRecord {
    /// 0xffff for roots.
    pub parent: u16,
    pub level: u8,
    /// 0: its key is the name; otherwise a role, see [`role_of`].
    pub tag: u8,
    /// Side, limb or digit, number.
    pub role: [u8; 4],
    pub name: Span,
}

/// One clip.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct ClipRecord {
    pub name: Span,
    pub bits: Span,
    /// Seconds.
    pub duration: f32,
    pub intervals: u32,
    /// Bit 0: it loops. Others are 0.
    pub flags: u32,
    /// Metres: largest distance at joints and virtual vertices.
    pub error: f32,
}

/// Flag of [`ClipRecord`].
pub(super) const LOOPING: u32 = 1;
/// Flag of [`ClipRecord`].
pub(super) const ADDITIVE: u32 = 2;

fn side(code: u8) -> Option<Side> {
    Side::BOTH.get(usize::from(code)).copied()
}

const LIMBS: [Limb; 4] = [Limb::Thigh, Limb::Shin, Limb::UpperArm, Limb::Forearm];

/// Tag and parts of a role.
pub(super) fn role_code(role: Role) -> (u8, [u8; 4]) {
    let of = |tag, side: Side| (tag, [side as u8, 0, 0, 0]);
    match role {
        Role::Hips => (1, [0; 4]),
        Role::Spine(i) => (2, [0, 0, i, 0]),
        Role::Neck(i) => (3, [0, 0, i, 0]),
        Role::Head => (4, [0; 4]),
        Role::Clavicle(side) => of(5, side),
        Role::UpperArm(side) => of(6, side),
        Role::Forearm(side) => of(7, side),
        Role::Hand(side) => of(8, side),
        Role::Finger(side, digit, i) => (9, [side as u8, digit as u8, i, 0]),
        Role::Thigh(side) => of(10, side),
        Role::Shin(side) => of(11, side),
        Role::Foot(side) => of(12, side),
        Role::Toe(side) => of(13, side),
        Role::Twist(side, limb, i) => (14, [side as u8, limb as u8, i, 0]),
    }
}

/// The role of a tag and its parts, if they are one.
pub(super) fn role_of(tag: u8, parts: [u8; 4]) -> Option<Role> {
    let [s, part, i, _] = parts;
    let role = match tag {
        1 => Role::Hips,
        2 => Role::Spine(i),
        3 => Role::Neck(i),
        4 => Role::Head,
        5 => Role::Clavicle(side(s)?),
        6 => Role::UpperArm(side(s)?),
        7 => Role::Forearm(side(s)?),
        8 => Role::Hand(side(s)?),
        9 => Role::Finger(side(s)?, *Digit::ALL.get(usize::from(part))?, i),
        10 => Role::Thigh(side(s)?),
        11 => Role::Shin(side(s)?),
        12 => Role::Foot(side(s)?),
        13 => Role::Toe(side(s)?),
        14 => Role::Twist(side(s)?, *LIMBS.get(usize::from(part))?, i),
        _ => return None,
    };
    (role_code(role) == (tag, parts)).then_some(role)
}

/// The topology of records and names.
pub(super) fn topology(
    records: &[JointRecord],
    pelvis: u32,
    names: &mut Names<'_>,
) -> Result<Topology, ArchiveError> {
    let wrong = |reason| ArchiveError::Table { what: "topology", reason };
    let mut keys = Vec::with_capacity(records.len());
    for record in records {
        keys.push(match record.tag {
            0 if record.role == [0; 4] => JointKey::Named(names.take(record.name)?.to_owned()),
            tag if record.name == Span::default() => {
                JointKey::Role(role_of(tag, record.role).ok_or(wrong("a joint has no role that is known"))?)
            }
            _ => return Err(wrong("a joint has both a role and a name")),
        });
    }
    let parents = records.iter().map(|record| record.parent).collect();
    let levels = records.iter().map(|record| record.level).collect();
    let pelvis = u16::try_from(pelvis).map_err(|_| wrong("the pelvis is no joint"))?;
    Topology::from_parts(keys, parents, levels, pelvis).map_err(wrong)
}

/// Names, which must follow each other without gaps, so that what they take is bounded by the file.
pub(super) struct Names<'a> {
    strings: &'a str,
    next: usize,
}

impl<'a> Names<'a> {
    pub fn new(strings: &'a str) -> Self {
        Self { strings, next: 0 }
    }

    /// The next name, if it is there.
    pub fn take(&mut self, span: Span) -> Result<&'a str, ArchiveError> {
        let start = span.start as usize;
        let end = start.saturating_add(span.bytes as usize);
        let name = self.strings.get(start..end).filter(|_| start == self.next);
        self.next = end;
        name.ok_or(ArchiveError::Table { what: "names", reason: "a name is not where it should be" })
    }

    /// True if none is left.
    pub fn is_done(&self) -> bool {
        self.next == self.strings.len()
    }
}
