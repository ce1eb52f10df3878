//! Archives out of their parts, lengths and hash right, and what must hold of what is read from them.

use std::sync::LazyLock;

use glam::Vec3;
use throng::clip::BoundClip;
use throng::clip::archive::{Archive, ArchiveError};
use throng::crowd::{Crowd, CrowdConfig, FlatGround, Frame, Layer, MAX_SPEED, Play, Serial, WorldTransform};
use throng::rig::{RawCharacter, RawJoint, RawSkeleton, Rig, RigSource, Role, RoleMap, Side, Transform};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of rows that clips may take.
pub const LIMIT: usize = 256 << 10;

const SECTIONS: usize = 6;
/// Magic, version, length and hash; numbers of the header; places of the sections.
const HEAD: usize = 24;
const NUMBERS: usize = 24;
const HEADER: usize = 96;
/// Section and record of the clips, and where a record has the place of its bits.
const CLIPS: usize = 1;
const BITS: usize = 5;
const RECORD: usize = 32;
const SPAN: usize = 8;

/// Hips, two legs and a spine that no role names.
pub static RIG: LazyLock<Rig> = LazyLock::new(|| {
    let (character, roles) = &*BODY;
    Rig::build(&RigSource::new(character, roles)).expect("a rig")
});

/// Its file.
pub static BODY: LazyLock<(RawCharacter, RoleMap)> = LazyLock::new(|| {
    let joints: [(&str, Option<u16>, Vec3, Option<Role>); 8] = [
        ("hips", None, Vec3::Y, Some(Role::Hips)),
        ("thigh_l", Some(0), Vec3::X * 0.1, Some(Role::Thigh(Side::Left))),
        ("shin_l", Some(1), Vec3::Y * -0.5, Some(Role::Shin(Side::Left))),
        ("foot_l", Some(2), Vec3::Y * -0.45, Some(Role::Foot(Side::Left))),
        ("thigh_r", Some(0), Vec3::X * -0.1, Some(Role::Thigh(Side::Right))),
        ("shin_r", Some(4), Vec3::Y * -0.5, Some(Role::Shin(Side::Right))),
        ("foot_r", Some(5), Vec3::Y * -0.45, Some(Role::Foot(Side::Right))),
        ("tail", Some(0), Vec3::Z * -0.2, None),
    ];
    let mut roles = RoleMap::new();
    let mut skeleton = RawSkeleton::default();
    for (at, (name, parent, place, role)) in joints.into_iter().enumerate() {
        let rest = Transform { translation: place, ..Transform::IDENTITY };
        skeleton.joints.push(RawJoint { name: name.into(), parent, rest });
        role.into_iter().for_each(|role| roles.set(role, at as u16));
    }
    (RawCharacter { name: "body".into(), skeleton, ..RawCharacter::default() }, roles)
});

/// The numbers of the header, then each section behind its length in two bytes: what [`join`] takes.
pub fn split(archive: &[u8]) -> Vec<u8> {
    let word = |at: usize| u32::from_le_bytes(archive[at..at + 4].try_into().expect("four bytes")) as usize;
    let mut out = archive[HEAD..HEAD + NUMBERS].to_vec();
    for section in 0..SECTIONS {
        let (start, bytes) = (word(48 + 8 * section), word(52 + 8 * section));
        out.extend((bytes as u16).to_le_bytes());
        out.extend(&archive[start..start + bytes]);
    }
    out
}

/// An archive of a version, of numbers and sections; what is not there is empty.
pub fn join(parts: &[u8]) -> Vec<u8> {
    let (numbers, mut rest) = parts.split_at(parts.len().min(NUMBERS));
    let mut out = b"THRONGCL\x01\0\0\0".to_vec();
    out.resize(HEAD, 0);
    out.extend(numbers);
    out.resize(HEADER, 0);
    let mut places = [(0, 0); SECTIONS];
    for place in &mut places {
        let (length, after) = rest.split_at(rest.len().min(2));
        let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte)).min(after.len());
        let (section, after) = after.split_at(length);
        rest = after;
        out.resize(out.len().next_multiple_of(16), 0);
        *place = (out.len(), length);
        out.extend(section);
    }
    for (section, (start, bytes)) in places.into_iter().enumerate() {
        out[48 + 8 * section..][..4].copy_from_slice(&(start as u32).to_le_bytes());
        out[52 + 8 * section..][..4].copy_from_slice(&(bytes as u32).to_le_bytes());
    }
    // The last clip's bits go on to the end of all bits, so that these may grow and shrink.
    let (start, bytes) = places[CLIPS];
    if let Some(last) = (bytes / RECORD).checked_sub(1) {
        let span = start + last * RECORD + SPAN;
        let from = u32::from_le_bytes(out[span..span + 4].try_into().expect("four bytes"));
        let length = (places[BITS].1 as u32).saturating_sub(from);
        out[span + 4..span + 8].copy_from_slice(&length.to_le_bytes());
    }
    let length = out.len() as u32;
    out[12..16].copy_from_slice(&length.to_le_bytes());
    let hash = xxh3_64(&out[HEAD..]);
    out[16..HEAD].copy_from_slice(&hash.to_le_bytes());
    out
}

/// Opens and unpacks everything.
pub fn unpack(bytes: &[u8]) -> Result<Vec<BoundClip>, ArchiveError> {
    let archive = Archive::open_within(bytes, LIMIT as u64)?;
    (0..archive.len()).filter_map(|index| archive.clip(index)).collect()
}

/// What is unpacked can be played.
pub fn sound(clips: &[BoundClip]) {
    for clip in clips {
        assert!(clip.duration() > 0.0 && clip.duration().is_finite());
        assert_eq!(clip.rows().len(), (clip.intervals() as usize + 1) * clip.groups());
        if clip.topology() != RIG.topology() {
            continue;
        }
        let mut crowd = Crowd::new(CrowdConfig::default());
        let rig = crowd.add_rig(RIG.clone()).expect("a rig");
        let id = crowd.add_clip(clip.clone()).expect("a clip");
        let who = crowd.spawn(rig, 0, WorldTransform::IDENTITY, &[]).expect("a character");
        let speed = MAX_SPEED;
        let played = if clip.additive() {
            crowd.set_layers(who, &[Layer { speed, ..Layer::additive(id) }])
        } else {
            crowd.set_clips(who, &[Play { speed, ..Play::new(id) }])
        };
        played.expect("it plays");
        for dt in [0.0, 1.0 / 60.0, 0.3] {
            let ground = FlatGround { height: 0.1 };
            crowd.frame(Frame::new(dt, &ground), &Serial).expect("a frame");
            let (header, palette) = crowd.pose(who).expect("alive");
            let floats: &[f32] = bytemuck::cast_slice(palette);
            let floats = floats.iter().chain(bytemuck::cast_slice(bytemuck::bytes_of(&header)));
            assert!(floats.copied().all(f32::is_finite), "{header:?}");
        }
    }
}
