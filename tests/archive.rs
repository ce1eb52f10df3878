//! Archives of clips: what comes back, how far it may be off, and what is refused.

use std::sync::LazyLock;

use glam::{DQuat, DVec3};
use throng::clip::archive::{Archive, ArchiveError, PackSettings, PackedClip, VERSION, pack};
use throng::clip::{BoundClip, ClipEvent, ClipLibrary, MotionKeys, PELVIS_RANGE};
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::retarget::{BindSource, fitting_keys};
use throng::rig::{NO_PARENT, Rig};

const SETTINGS: PackSettings = PackSettings { tolerance: 0.2e-3, shell: 0.05 };

/// A rig and clips bound to it, with the motion that they were bound from.
struct Set {
    rig: Rig,
    clips: Vec<(BoundClip, MotionKeys)>,
    packed: Vec<PackedClip>,
}

impl Set {
    fn of(built: &BuiltIn, kinds: &[ClipKind]) -> Self {
        let rig = Rig::build(&built.rig_source()).unwrap();
        let reference = built.reference();
        let from =
            BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
        let clips: Vec<_> = kinds
            .iter()
            .map(|&kind| {
                let keys = fitting_keys(from, &content::clip(kind, built), &rig).unwrap();
                (BoundClip::build(rig.topology(), &keys).unwrap(), keys)
            })
            .collect();
        let fit = |(clip, keys): &(BoundClip, MotionKeys)| {
            PackedClip::fit(&rig, clip, Some(keys), &SETTINGS).unwrap()
        };
        let packed = clips.iter().map(fit).collect();
        Self { rig, clips, packed }
    }

    fn bytes(&self) -> Vec<u8> {
        pack(&self.rig, &SETTINGS, &self.packed).unwrap()
    }
}

static GAITS: LazyLock<Set> = LazyLock::new(|| {
    let built = content::character(RigKind::ALL[0], &BodyPlan::adult());
    Set::of(&built, &[ClipKind::Walk, ClipKind::Run, ClipKind::TurnLeft, ClipKind::Stop])
});

/// Small, for mutations.
static SMALL: LazyLock<(Vec<BoundClip>, Vec<u8>)> = LazyLock::new(|| {
    let keys = |name: &str, sign: f64| MotionKeys {
        name: name.to_owned(),
        duration: 0.5,
        looping: true,
        additive: sign < 0.0,
        rotations: (0..16)
            .flat_map(|key| {
                let joints = GAITS.rig.topology().len();
                (0..joints).map(move |joint| match joint % 9 {
                    0 => DQuat::from_rotation_x(0.02 * f64::from(key * key) * sign),
                    1 => DQuat::from_rotation_y(0.3),
                    _ => DQuat::IDENTITY,
                })
            })
            .collect(),
        pelvis: (0..16).map(|key| DVec3::new(0.0, 0.01 * f64::from(key) * sign, 0.0)).collect(),
        root: (0..16).map(|key| [0.0, 0.1 * f64::from(key), 0.02 * f64::from(key * key)]).collect(),
        contact: (0..16).map(|key| [f32::from(key < 8u8), 0.1]).collect(),
        contacts: GAITS.clips[0].1.contacts.clone(),
        events: vec![
            ClipEvent { time: 0.1, name: "step".to_owned() },
            ClipEvent { time: 0.3, name: "Schritt, größer".to_owned() },
        ],
        sync: vec![0.4, 0.1],
        ..MotionKeys::default()
    };
    let keys = [keys("one", 1.0), keys("two", -1.0)];
    let clips = keys.each_ref().map(|keys| BoundClip::build(GAITS.rig.topology(), keys).unwrap());
    let fit = |(clip, keys)| PackedClip::fit(&GAITS.rig, clip, Some(keys), &SETTINGS).unwrap();
    let packed: Vec<_> = clips.iter().zip(&keys).map(fit).collect();
    (clips.into(), pack(&GAITS.rig, &SETTINGS, &packed).unwrap())
});

/// Model-space rotation and position of each joint.
fn model(rig: &Rig, locals: &[DQuat], pelvis: DVec3) -> Vec<(DQuat, DVec3)> {
    let topology = rig.topology();
    let mut model: Vec<(DQuat, DVec3)> = Vec::new();
    for (joint, &parent) in topology.parents().iter().enumerate() {
        let offset = DVec3::from_array(rig.offsets()[joint].map(f64::from));
        let (turn, at) = match parent {
            NO_PARENT => (DQuat::IDENTITY, DVec3::ZERO),
            parent => model[usize::from(parent)],
        };
        let moved = if joint == usize::from(topology.pelvis()) { pelvis } else { DVec3::ZERO };
        model.push((turn * locals[joint], at + turn * offset + moved * f64::from(rig.leg())));
    }
    model
}

fn quad(clip: &BoundClip, key: usize, quad: usize) -> [f64; 4] {
    core::array::from_fn(|i| f64::from(clip.key(key)[quad / 8].0[4 * (quad % 8) + i]) / 32767.0)
}

/// Largest distance at joints and the points off them, metres, by a computation of its own.
fn worst(rig: &Rig, clip: &BoundClip, keys: &MotionKeys) -> f64 {
    let joints = rig.topology().len();
    let mut worst = 0.0f64;
    for key in 0..keys.pelvis.len() {
        let [x, y, z, _] = quad(clip, key, joints);
        let locals: Vec<DQuat> =
            (0..joints).map(|joint| DQuat::from_array(quad(clip, key, joint)).normalize()).collect();
        let is = model(rig, &locals, DVec3::new(x, y, z) * f64::from(PELVIS_RANGE));
        let wants = model(rig, &keys.rotations[key * joints..(key + 1) * joints], keys.pelvis[key]);
        for ((turn, at), (other, there)) in is.into_iter().zip(wants) {
            for point in [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z] {
                let point = point * SETTINGS.shell;
                worst = worst.max((at + turn * point - there - other * point).length());
            }
        }
    }
    worst
}

/// A clip that every reader may use: unit rotations, finite travel.
fn assert_sound(clip: &BoundClip) {
    let joints = clip.topology().len();
    for key in 0..=clip.intervals() as usize {
        for joint in 0..joints {
            let length: f64 = quad(clip, key, joint).iter().map(|v| v * v).sum();
            assert!((length - 1.0).abs() < 1e-3, "key {key}, joint {joint}: {length}");
        }
    }
    for time in [0.0, 0.3, 1.0] {
        let way = clip.root().at(time * clip.duration());
        assert!(way.x.is_finite() && way.z.is_finite() && way.yaw.is_finite(), "{way:?}");
        let twist = clip.root().twist(time * clip.duration());
        assert!(twist.x.is_finite() && twist.z.is_finite() && twist.yaw.is_finite(), "{twist:?}");
    }
    assert!(clip.duration() > 0.0 && clip.duration().is_finite());
    let feet = clip.contacts().map(|contacts| &contacts.feet[..]).unwrap_or_default();
    assert!(feet.iter().flat_map(|foot| foot.heel.iter().chain(&foot.ball)).all(|i| i.start.is_finite()));
}

/// The same bytes with the hash that belongs to them.
fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() >= 24 {
        let hash = xxhash_rust::xxh3::xxh3_64(&bytes[24..]);
        bytes[16..24].copy_from_slice(&hash.to_le_bytes());
    }
    bytes
}

#[test]
fn gaits_come_back_within_the_tolerance_and_as_near_as_the_archive_says() {
    let bytes = GAITS.bytes();
    let archive = Archive::open(&bytes).unwrap();
    assert_eq!(archive.topology(), GAITS.rig.topology());
    assert_eq!(archive.rig(), GAITS.rig.name());
    assert_eq!(archive.offsets(), GAITS.rig.offsets());
    let raw: usize = GAITS
        .clips
        .iter()
        .map(|(clip, _)| ((clip.duration() * 30.0).round() as usize + 1) * 40 * clip.topology().len())
        .sum();
    assert!(10 * bytes.len() < raw, "{} of {raw} bytes", bytes.len());
    for (clip, keys) in &GAITS.clips {
        let index = archive.find(clip.name()).unwrap();
        let back = archive.clip(index).unwrap().unwrap();
        let is = worst(&GAITS.rig, &back, keys);
        let told = f64::from(archive.clips().nth(index).unwrap().error);
        assert!(is <= SETTINGS.tolerance, "{}: {is}", clip.name());
        assert!((is - told).abs() < 1e-8, "{}: {is}, told {told}", clip.name());
        assert_sound(&back);
    }
}

#[test]
fn all_but_the_pose_comes_back_bit_by_bit() {
    let gaits = (GAITS.clips.iter().map(|(clip, _)| clip.clone()).collect(), GAITS.bytes());
    for (clips, bytes) in [&gaits, &*SMALL] {
        let archive = Archive::open(bytes).unwrap();
        for clip in clips {
            let back = archive.clip(archive.find(clip.name()).unwrap()).unwrap().unwrap();
            assert_eq!(back.name(), clip.name());
            assert_eq!(back.duration().to_bits(), clip.duration().to_bits());
            assert_eq!((back.looping(), back.intervals()), (clip.looping(), clip.intervals()));
            assert_eq!(back.additive(), clip.additive());
            assert_eq!(back.root(), clip.root());
            assert_eq!(back.contacts(), clip.contacts());
            assert_eq!((back.events(), back.sync()), (clip.events(), clip.sync()));
            assert_eq!(back.crosses_hemisphere(), clip.crosses_hemisphere());
            let joints = clip.topology().len();
            for key in 0..=clip.intervals() as usize {
                assert_eq!(
                    quad(&back, key, joints + 1),
                    quad(clip, key, joints + 1),
                    "contacts of key {key}"
                );
            }
        }
    }
    assert!(SMALL.0[0].events().len() == 2 && SMALL.0[0].contacts().is_some());
}

#[test]
fn rows_alone_can_be_packed_too() {
    let (clip, _) = &GAITS.clips[0];
    let packed = PackedClip::fit(&GAITS.rig, clip, None, &SETTINGS).unwrap();
    assert!(packed.error() <= SETTINGS.tolerance);
}

#[test]
fn the_order_of_clips_and_the_time_of_packing_make_no_difference() {
    let bytes = GAITS.bytes();
    assert_eq!(bytes, GAITS.bytes());
    let mut turned = GAITS.packed.clone();
    turned.reverse();
    assert_eq!(pack(&GAITS.rig, &SETTINGS, &turned).unwrap(), bytes);
    let (clip, keys) = &GAITS.clips[1];
    turned.retain(|packed| packed.name() != clip.name());
    turned.push(PackedClip::fit(&GAITS.rig, clip, Some(keys), &SETTINGS).unwrap());
    assert_eq!(pack(&GAITS.rig, &SETTINGS, &turned).unwrap(), bytes);
}

#[test]
fn bytes_at_any_address_are_read() {
    let bytes = GAITS.bytes();
    let want = Archive::open(&bytes).unwrap().clip(0).unwrap().unwrap();
    for shift in 1..4 {
        let mut shifted = vec![0; shift];
        shifted.extend(&bytes);
        let archive = Archive::open(&shifted[shift..]).unwrap();
        assert_eq!(archive.clip(0).unwrap().unwrap().rows(), want.rows());
    }
}

#[test]
fn an_empty_library_is_one() {
    let bytes = pack(&GAITS.rig, &SETTINGS, &[]).unwrap();
    let archive = Archive::open(&bytes).unwrap();
    assert!(archive.is_empty() && archive.find("walk").is_none() && archive.clip(0).is_none());
    assert!(ClipLibrary::unpack(&archive).unwrap().is_empty());
}

#[test]
fn a_single_pose_is_kept() {
    let built = content::character(RigKind::ALL[0], &BodyPlan::adult());
    let reference = built.reference();
    let from = BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    let raw = throng::clip::RawClip { name: "pose".to_owned(), ..Default::default() };
    let keys = fitting_keys(from, &raw, &GAITS.rig).unwrap();
    let clip = BoundClip::build(GAITS.rig.topology(), &keys).unwrap();
    assert_eq!(clip.intervals(), 1);
    let packed = PackedClip::fit(&GAITS.rig, &clip, Some(&keys), &SETTINGS).unwrap();
    let bytes = pack(&GAITS.rig, &SETTINGS, &[packed]).unwrap();
    let back = Archive::open(&bytes).unwrap().clip(0).unwrap().unwrap();
    assert!(worst(&GAITS.rig, &back, &keys) < SETTINGS.tolerance);
    assert_eq!(back.intervals(), 1);
}

#[test]
fn names_are_looked_up_and_may_not_collide() {
    let bytes = GAITS.bytes();
    let archive = Archive::open(&bytes).unwrap();
    let names: Vec<&str> = archive.clips().map(|clip| clip.name).collect();
    assert!(names.is_sorted());
    for (index, name) in names.iter().enumerate() {
        assert_eq!(archive.find(name), Some(index));
    }
    let twice = [GAITS.packed[0].clone(), GAITS.packed[1].clone().named(GAITS.packed[0].name())];
    let refused = ArchiveError::Name { clip: GAITS.packed[0].name().to_owned() };
    assert_eq!(pack(&GAITS.rig, &SETTINGS, &twice), Err(refused.clone()));
    let mut library = ClipLibrary::unpack(&archive).unwrap();
    assert_eq!(library.len(), 4);
    assert_eq!(library.insert(library.get(GAITS.packed[0].name()).unwrap().clone()), Err(refused));
}

#[test]
fn clips_of_another_topology_or_tolerance_are_refused() {
    let other = content::character(RigKind::ALL[1], &BodyPlan::adult());
    let rig = Rig::build(&other.rig_source()).unwrap();
    let (clip, keys) = &GAITS.clips[0];
    let refused = ArchiveError::OtherTopology { clip: clip.name().to_owned() };
    assert_eq!(PackedClip::fit(&rig, clip, Some(keys), &SETTINGS).unwrap_err(), refused);
    assert_eq!(pack(&rig, &SETTINGS, &GAITS.packed[..1]), Err(refused.clone()));
    assert_eq!(ClipLibrary::new(rig.topology().clone()).insert(clip.clone()), Err(refused));
    let coarse = PackSettings { tolerance: 1e-3, ..SETTINGS };
    assert!(matches!(pack(&GAITS.rig, &coarse, &GAITS.packed), Err(ArchiveError::Clip { .. })));
    let none = PackSettings { tolerance: f64::NAN, ..SETTINGS };
    assert!(matches!(
        PackedClip::fit(&GAITS.rig, clip, None, &none),
        Err(ArchiveError::Setting { what: "the tolerance", .. })
    ));
}

#[test]
fn every_topology_comes_back() {
    for kind in RigKind::ALL {
        let rig = Rig::build(&content::character(kind, &BodyPlan::child()).rig_source()).unwrap();
        let bytes = pack(&rig, &SETTINGS, &[]).unwrap();
        assert_eq!(Archive::open(&bytes).unwrap().topology(), rig.topology());
    }
}

#[test]
fn another_version_is_refused_with_its_number() {
    let mut bytes = SMALL.1.clone();
    bytes[8..12].copy_from_slice(&7u32.to_le_bytes());
    for bytes in [&bytes[..], &bytes[..12]] {
        let refused = Archive::open(bytes).unwrap_err();
        assert_eq!(refused, ArchiveError::Version { have: 7, need: VERSION });
        assert!(refused.to_string().contains("version 7"), "{refused}");
    }
    assert_eq!(Archive::open(b"glTF and so on").unwrap_err(), ArchiveError::Magic);
    assert_eq!(Archive::open(&[]).unwrap_err(), ArchiveError::Magic);
}

#[test]
fn whatever_is_cut_off_or_added_is_noticed() {
    let bytes = &SMALL.1;
    for length in 0..bytes.len() {
        assert!(Archive::open(&bytes[..length]).is_err(), "{length} bytes of {}", bytes.len());
        assert!(Archive::open(&resealed(bytes[..length].to_vec())).is_err(), "{length}, hashed anew");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    let refused = ArchiveError::Length { declared: bytes.len() as u64, have: longer.len() as u64 };
    assert_eq!(Archive::open(&longer).unwrap_err(), refused);
}

#[test]
fn every_byte_counts() {
    let bytes = &SMALL.1;
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(Archive::open(&changed).is_err(), "byte {at}");
    }
}

/// What may come of a file whose hash is right although it was not written by us.
fn judge(bytes: &[u8]) -> bool {
    let Ok(archive) = Archive::open_within(bytes, 64 << 20) else { return false };
    let mut all = true;
    for (index, info) in archive.clips().enumerate() {
        assert!(info.error.is_finite());
        match archive.clip(index).unwrap() {
            Ok(clip) => assert_sound(&clip),
            Err(ArchiveError::Clip { .. }) => all = false,
            Err(other) => panic!("{other}"),
        }
    }
    all
}

#[test]
fn damage_under_a_right_hash_is_an_error_or_a_sound_clip() {
    let bytes = &SMALL.1;
    let mut passed = 0;
    for at in 24..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            passed += usize::from(judge(&resealed(changed)));
        }
    }
    assert!(passed > 0, "some changes only make another motion");
}

mod mutated {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1500, ..ProptestConfig::default() })]

        #[test]
        fn many_changes_under_a_right_hash(
            changes in prop::collection::vec((24..SMALL.1.len(), any::<u8>()), 1..12),
            cut in prop::option::weighted(0.1, 24..SMALL.1.len()),
        ) {
            let mut bytes = SMALL.1.clone();
            for (at, value) in changes {
                bytes[at] = value;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut);
                let length = bytes.len() as u32;
                bytes[12..16].copy_from_slice(&length.to_le_bytes());
            }
            judge(&resealed(bytes));
        }

        #[test]
        fn any_bits_of_a_clip(
            seed in any::<u64>(),
            from in 0usize..200,
        ) {
            // From somewhere in the clips on, noise.
            let mut bytes = SMALL.1.clone();
            let mut state = seed | 1;
            let start = bytes.len() - 200 + from;
            for byte in &mut bytes[start..] {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                *byte = state as u8;
            }
            judge(&resealed(bytes));
        }
    }
}

#[test]
fn a_record_that_claims_too_much_memory_is_refused_before_any_is_taken() {
    let (_, bytes) = &*SMALL;
    let archive = Archive::open(bytes).unwrap();
    let info = archive.clips().next().unwrap();
    // The record of that clip: its interval count is found behind its duration.
    let pattern = [info.duration.to_le_bytes(), info.intervals.to_le_bytes()].concat();
    let at = bytes.windows(8).position(|window| window == pattern).unwrap();
    let mut changed = bytes.clone();
    changed[at + 4..at + 8].copy_from_slice(&u32::MAX.to_le_bytes());
    let refused = Archive::open(&resealed(changed)).unwrap_err();
    assert!(matches!(refused, ArchiveError::Memory { need, limit } if need > limit), "{refused}");
    let refused = Archive::open_within(bytes, 1000).unwrap_err();
    assert!(matches!(refused, ArchiveError::Memory { limit: 1000, .. }), "{refused}");
}
