//! What must hold of every input of every importer, whether it is accepted or refused.

use std::sync::LazyLock;

use throng::content::{self, BodyPlan, BuiltIn, RigKind};
use throng::import::bvh::{self, BvhOptions, BvhPositions, BvhRest};
use throng::import::{FootMarks, ImportError, Imported, Refusal, Sidecar, gltf, inspect, motion_text};
use throng::rig::{RigOverrides, Transform};

use super::bytes::Bytes;
use super::memory::bounded;

/// Most memory that an import takes: bytes for each byte of input, and bytes beside them.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    pub per_byte: usize,
    pub base: usize,
}

impl Bound {
    fn of(self, input: usize) -> usize {
        self.per_byte * input + self.base
    }
}

/// Of `gltf::load_bytes`, the data of its buffers included.
pub const GLTF: Bound = Bound { per_byte: 8, base: 16 << 20 };
/// Of `bvh::load_bytes`.
pub const BVH: Bound = Bound { per_byte: 16, base: 16 << 20 };
/// Of `motion_text::load_bytes`.
pub const MOTION_TEXT: Bound = Bound { per_byte: 16, base: 64 << 10 };
/// Of `Sidecar::from_bytes`.
pub const SIDECAR: Bound = Bound { per_byte: 16, base: 16 << 10 };
/// Of `Archive::open_within` and all of its clips, for each byte of rows that it lets them take.
const ARCHIVE_PER_ROW_BYTE: usize = 4;
/// Of `Archive::open_within` and all of its clips.
pub const ARCHIVE: Bound =
    Bound { per_byte: 16, base: ARCHIVE_PER_ROW_BYTE * super::sealed::LIMIT + (16 << 10) };
/// Of `RigOverrides::from_json`.
pub const OVERRIDES: Bound = Bound { per_byte: 32, base: 16 << 10 };
/// Of `Crowd::restore`.
pub const SNAPSHOT: Bound = Bound { per_byte: 16, base: 64 << 10 };

/// What came of an input.
#[derive(Clone, Copy, Debug)]
pub struct Verdict {
    pub accepted: bool,
    /// Most bytes in use at a time.
    pub peak: usize,
}

impl Verdict {
    fn of<T>((result, peak): (Result<T, ImportError>, usize), check: impl FnOnce(T)) -> Self {
        let accepted = result.is_ok();
        match result {
            Ok(value) => check(value),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        Self { accepted, peak }
    }
}

/// A GLB or a glTF document. Text, a zero byte and more is put together to a GLB of the two parts, so that changes
/// of either need not come with those of the lengths in its headers. A byte 1 and more are changes to a sound document.
pub fn gltf(input: &[u8]) -> Verdict {
    let assembled;
    let bytes = match input.iter().position(|&byte| byte == 0) {
        Some(at) if input.first() == Some(&b'{') => {
            assembled = glb(&input[..at], &input[at + 1..]);
            &assembled
        }
        _ if input.first() == Some(&1) => {
            assembled = super::altered::altered(&input[1..]);
            &assembled
        }
        _ => input,
    };
    let limit = GLTF.of(bytes.len());
    let (mut result, mut peak) = bounded(limit, || gltf::load_bytes(bytes, None));
    if let Err(ImportError { kind: Refusal::InverseBindCount { .. }, .. }) = result {
        (result, peak) =
            bounded(limit, || gltf::load_bytes_with(bytes, None, &gltf::ImportOptions { lenient: true }));
    }
    Verdict::of((result, peak), |imported| sound(&imported))
}

/// A GLB of a document and a binary chunk.
pub fn glb(json: &[u8], binary: &[u8]) -> Vec<u8> {
    let mut out = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
    for (part, kind, padding) in [(json, b"JSON", b' '), (binary, b"BIN\0", 0)] {
        out.extend((part.len().next_multiple_of(4) as u32).to_le_bytes());
        out.extend(kind);
        out.extend(part);
        out.resize(out.len().next_multiple_of(4), padding);
    }
    let total = out.len() as u32;
    out[8..12].copy_from_slice(&total.to_le_bytes());
    out
}

/// A motion file; behind a byte below 8, one with options.
pub fn bvh(input: &[u8]) -> Verdict {
    let mut options = BvhOptions::default();
    let mut text = input;
    if let Some((&choice @ ..8, rest)) = input.split_first() {
        options.lenient = choice & 1 == 1;
        options.positions = if choice & 2 == 2 { BvhPositions::Add } else { BvhPositions::Auto };
        text = rest;
        if choice & 4 == 4 {
            let mut bytes = Bytes(rest);
            options.unit = Some(bytes.number());
            options.frame_time = Some(bytes.number().into());
            options.rest = if bytes.bit() { BvhRest::Offsets } else { BvhRest::Frame(bytes.below(4)) };
            text = bytes.0;
        }
    }
    let read = bounded(BVH.of(text.len()), || bvh::load_bytes(text, &options));
    Verdict::of(read, |imported| sound(&imported))
}

/// A DeepMimic motion; or behind a zero byte, changes to frames that stand: see [`frames`].
pub fn motion_text(input: &[u8]) -> Verdict {
    let written;
    let text = match input.split_first() {
        Some((0, changes)) => {
            written = frames(changes);
            written.as_bytes()
        }
        _ => input,
    };
    let read = bounded(MOTION_TEXT.of(text.len()), || motion_text::load_bytes(text));
    Verdict::of(read, |imported| sound(&imported))
}

/// Text of at most 64 frames. Each stands upright but for the values that are changed: their number (at most 7), then
/// for each its column and what becomes of it.
pub fn frames(changes: &[u8]) -> String {
    let mut bytes = Bytes(changes);
    let mut rows = Vec::new();
    while !bytes.0.is_empty() && rows.len() < 64 {
        let mut row = [0.0_f32; 44];
        (row[0], row[2]) = (0.1, 0.85);
        for quaternion in [4, 8, 12, 16, 21, 25, 30, 35, 39] {
            row[quaternion] = 1.0;
        }
        for _ in 0..bytes.below(8) {
            row[bytes.below(44)] = bytes.number();
        }
        // Text has no words for infinity and what is no number: this is read as the first.
        let word = |value: &f32| if value.is_finite() { format!("{value:e}") } else { "1e39".to_owned() };
        rows.push(format!("[{}]", row.iter().map(word).collect::<Vec<_>>().join(",")));
    }
    format!(r#"{{"Loop":"wrap","Frames":[{}]}}"#, rows.join(","))
}

/// Contacts of one clip or of several.
pub fn sidecar(input: &[u8]) -> Verdict {
    let read = bounded(SIDECAR.of(input.len()), || Sidecar::from_bytes(input));
    Verdict::of(read, |sidecars| {
        for sidecar in sidecars {
            assert!(sidecar.root_speed.is_none_or(f32::is_finite));
            for FootMarks { ball, heel, ball_down, heel_down } in &sidecar.feet {
                for mark in [ball, heel].into_iter().flatten() {
                    assert!(mark.offset.is_finite() && mark.low_level.is_finite());
                }
                for interval in ball_down.iter().chain(heel_down) {
                    assert!(interval.start.is_finite() && interval.end.is_finite());
                }
            }
        }
    })
}

/// Roles and adjustments of a built-in body. They leave a pose of unit rotations behind.
pub fn overrides(input: &[u8]) -> Verdict {
    static BODY: LazyLock<BuiltIn> =
        LazyLock::new(|| content::character(RigKind::Aligned, &BodyPlan::adult()));
    let built = &*BODY;
    let Ok(text) = std::str::from_utf8(input) else { return Verdict { accepted: false, peak: 0 } };
    let (read, peak) = bounded(OVERRIDES.of(input.len()), || RigOverrides::from_json(text));
    let skeleton = &built.character.skeleton;
    let accepted = read.and_then(|own| {
        let roles = own.roles(skeleton, &built.roles)?;
        roles.validate(skeleton.joints.len()).expect("roles of these joints");
        let pose = own.reference(skeleton, &roles, &built.reference())?;
        for joint in 0..pose.models.len() {
            let (turn, place) = (pose.rotation(joint), pose.position(joint));
            assert!(place.is_finite() && (turn.length() - 1.0).abs() < 1e-6, "joint {joint}: {turn} {place}");
        }
        Ok(())
    });
    if let Err(error) = &accepted {
        assert!(!error.to_string().is_empty());
    }
    Verdict { accepted: accepted.is_ok(), peak }
}

/// A clip archive, or its parts: see [`join`](super::sealed::join).
pub fn archive(input: &[u8]) -> Verdict {
    let joined;
    let bytes = if input.starts_with(b"THRONGCL") {
        input
    } else {
        joined = super::sealed::join(input);
        &joined
    };
    let (result, peak) = bounded(ARCHIVE.of(bytes.len()), || super::sealed::unpack(bytes));
    let accepted = result.is_ok();
    match result {
        Ok(clips) => super::sealed::sound(&clips),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Verdict { accepted, peak }
}

/// The body of a snapshot.
pub fn snapshot(input: &[u8]) -> Verdict {
    let (mut crowd, plays) = super::stored::crowd();
    let bytes = super::stored::with_head(&crowd, input);
    let (result, peak) = bounded(SNAPSHOT.of(bytes.len()), || super::stored::restore(&mut crowd, &bytes));
    let accepted = result.is_ok();
    match result {
        Ok(()) => super::stored::sound(crowd, &plays),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Verdict { accepted, peak }
}

/// A skeleton, a clip and a crowd out of bytes: see [`world`](super::world).
pub fn bind(input: &[u8]) -> Verdict {
    Verdict { accepted: super::world::world(input), peak: 0 }
}

/// What must hold of anything that loads.
pub fn sound(imported: &Imported) {
    let skeleton = &imported.character.skeleton;
    if !skeleton.joints.is_empty() {
        skeleton.validate().expect("a valid skeleton");
    }
    imported.roles.validate(skeleton.joints.len()).expect("roles of these joints");
    for clip in &imported.clips {
        clip.validate(skeleton).expect("a valid clip");
        for part in [0.0, 0.37, 1.0] {
            let pose = clip.sample(skeleton, clip.duration * part);
            assert!(pose.iter().all(Transform::is_finite), "a pose of {:?}", clip.name);
        }
    }
    for skin in &imported.character.skins {
        assert_eq!(skin.joints.len(), skin.inverse_binds.len());
        assert!(skin.inverse_binds.iter().all(|bind| bind.is_finite()));
        assert!(skin.joints.iter().all(|&joint| usize::from(joint) < skeleton.joints.len()));
    }
    for mesh in &imported.character.meshes {
        let entries = imported.character.skins[mesh.skin].joints.len();
        let vertices = mesh.positions.len();
        assert_eq!([mesh.normals.len(), mesh.joints.len(), mesh.weights.len()], [vertices; 3]);
        assert!(mesh.indices.iter().all(|&vertex| (vertex as usize) < vertices));
        assert!(mesh.joints.iter().flatten().all(|&joint| usize::from(joint) < entries));
        assert!(mesh.weights.iter().all(|weights| (weights.iter().sum::<f32>() - 1.0).abs() < 1e-4));
        assert!(mesh.positions.iter().chain(&mesh.normals).flatten().all(|value| value.is_finite()));
    }
    let _ = inspect(imported);
    assert!(imported.report.warnings.iter().all(|warning| !warning.to_string().is_empty()));
}
