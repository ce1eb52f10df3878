//! Bytes to a small skeleton, a clip of it and what a host may ask of a crowd. Whatever they say, building refuses it
//! or the crowd's frames are finite, and a character that is well leaves the same bits beside it as without it.

use glam::{Mat4, Quat, Vec3};
use throng::clip::{
    BoundClip, ClipEvent, Contacts, Curve, FootContacts, Interpolation, Interval, JointTracks, RawClip,
    RootSource,
};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Ground, Handle, HitPlane, HitPlanes, PROBES, PaletteFormat, Play,
    Roots, Serial, WorldTransform, Wrap,
};
use throng::error::BuildError;
use throng::lanes::{Isa, Mode, Simd};
use throng::retarget::{BindSource, bind};
use throng::rig::{
    RawCharacter, RawJoint, RawSkeleton, RawSkin, ReferencePose, Rig, RigSource, Role, RoleMap, Side, Sole,
    Transform,
};

use super::bytes::Bytes;

/// Roles by number; what is beyond has none.
const ROLES: [Role; 20] = [
    Role::Hips,
    Role::Thigh(Side::Left),
    Role::Shin(Side::Left),
    Role::Foot(Side::Left),
    Role::Toe(Side::Left),
    Role::Thigh(Side::Right),
    Role::Shin(Side::Right),
    Role::Foot(Side::Right),
    Role::Toe(Side::Right),
    Role::Spine(0),
    Role::Spine(1),
    Role::Neck(0),
    Role::Head,
    Role::Clavicle(Side::Left),
    Role::UpperArm(Side::Left),
    Role::Forearm(Side::Left),
    Role::Hand(Side::Left),
    Role::UpperArm(Side::Right),
    Role::Forearm(Side::Right),
    Role::Hand(Side::Right),
];

/// Longer clips are only slower.
const LONGEST: f32 = 2.0;

/// True if a crowd could be built and its frames were judged.
pub fn world(input: &[u8]) -> bool {
    run(&mut Bytes(input)).is_ok()
}

fn run(bytes: &mut Bytes<'_>) -> Result<(), BuildError> {
    let (character, roles) = character(bytes);
    let mut source = RigSource::new(&character, &roles);
    let choice = bytes.byte();
    if choice & 1 == 1 {
        source.reference = ReferencePose::rest(&character.skeleton);
    }
    if choice & 2 == 2 {
        let at = bytes.below(source.reference.models.len());
        source.reference.models[at] = matrix(bytes).as_dmat4();
    }
    if choice & 4 == 4 {
        source.soles = core::array::from_fn(|_| Some(Sole { heel: bytes.numbers(), ball: bytes.numbers() }));
    }
    let clip = clip(bytes, character.skeleton.joints.len());
    let rig = Rig::build(&source)?;
    let reference = source.reference;
    let whose = BindSource { skeleton: &character.skeleton, roles: &roles, reference: &reference };
    let bound = bind(whose, &clip, &rig)?;
    let host = Host::read(bytes);
    let lonely = frames(&rig, &bound, &host, false)?;
    let beside = frames(&rig, &bound, &host, true)?;
    assert_eq!(lonely, beside, "a character depends on the one beside it");
    Ok(())
}

fn character(bytes: &mut Bytes<'_>) -> (RawCharacter, RoleMap) {
    let mut roles = RoleMap::new();
    let mut joints = Vec::new();
    for index in 0..1 + bytes.below(12) {
        let parent = match bytes.byte() {
            u8::MAX => Some(index as u16),
            other => {
                usize::from(other).checked_rem(index + 1).and_then(|at| at.checked_sub(1)).map(|at| at as u16)
            }
        };
        if let Some(&role) = ROLES.get(usize::from(bytes.byte())) {
            roles.set(role, index as u16);
        }
        joints.push(RawJoint { name: format!("joint {index}"), parent, rest: transform(bytes) });
    }
    let skins = (0..bytes.below(3))
        .map(|_| {
            let joints: Vec<u16> = (0..bytes.below(6)).map(|_| bytes.byte().into()).collect();
            let inverse_binds = joints.iter().map(|_| matrix(bytes)).collect();
            RawSkin { name: "skin".into(), joints, inverse_binds }
        })
        .collect();
    let character =
        RawCharacter { name: "made".into(), skeleton: RawSkeleton { joints }, skins, meshes: Vec::new() };
    (character, roles)
}

fn transform(bytes: &mut Bytes<'_>) -> Transform {
    let given = bytes.byte();
    let mut out = Transform::IDENTITY;
    if given & 1 == 1 {
        out.translation = Vec3::from(bytes.numbers());
    }
    if given & 2 == 2 {
        out.rotation = rotation(bytes, given & 8 == 8);
    }
    if given & 4 == 4 {
        out.scale = Vec3::from(bytes.numbers());
    }
    out
}

fn rotation(bytes: &mut Bytes<'_>, as_given: bool) -> Quat {
    let given = Quat::from_array(bytes.numbers());
    let unit = given.length_squared().is_finite() && given.length_squared() > 1e-6;
    if as_given || !unit { given } else { given.normalize() }
}

fn matrix(bytes: &mut Bytes<'_>) -> Mat4 {
    if bytes.bit() {
        Mat4::from_cols_array(&bytes.numbers())
    } else {
        Mat4::from_translation(Vec3::from(bytes.numbers()))
    }
}

fn clip(bytes: &mut Bytes<'_>, joints: usize) -> RawClip {
    let lasts = bytes.number();
    let duration = if (LONGEST..1e4).contains(&lasts) { LONGEST } else { lasts };
    let choice = bytes.byte();
    let root = match choice & 3 {
        0 => RootSource::Hips,
        1 => RootSource::InPlace { speed: bytes.number() },
        _ => RootSource::Joint(bytes.below(joints + 1) as u16),
    };
    let tracks = (0..bytes.below(5))
        .map(|_| {
            let joint = bytes.below(joints + 1) as u16;
            let given = bytes.byte();
            JointTracks {
                joint,
                translation: (given & 1 == 1).then(|| curve(bytes, |bytes| Vec3::from(bytes.numbers()))),
                rotation: (given & 2 == 2).then(|| curve(bytes, |bytes| rotation(bytes, given & 8 == 8))),
                scale: (given & 4 == 4).then(|| curve(bytes, |bytes| Vec3::from(bytes.numbers()))),
            }
        })
        .collect();
    let feet = |bytes: &mut Bytes<'_>| {
        let interval = |bytes: &mut Bytes<'_>| Interval { start: bytes.number(), end: bytes.number() };
        let side = Side::BOTH[bytes.below(2)];
        FootContacts { side, heel: vec![interval(bytes)], ball: vec![interval(bytes)] }
    };
    let start = if choice & 4 == 4 { bytes.number() } else { 0.0 };
    let contacts = (choice & 16 == 16).then(|| Contacts { feet: vec![feet(bytes), feet(bytes)] });
    let count = if choice & 32 == 32 { bytes.below(4) } else { 0 };
    let events = (0..count).map(|_| ClipEvent { time: bytes.number(), name: "step".into() }).collect();
    let count = if choice & 64 == 64 { bytes.below(4) } else { 0 };
    let sync = (0..count).map(|_| bytes.number()).collect();
    RawClip {
        name: "made".into(),
        start,
        duration,
        tracks,
        looping: choice & 8 == 8,
        root,
        contacts,
        events,
        sync,
    }
}

fn curve<T>(bytes: &mut Bytes<'_>, value: impl Fn(&mut Bytes<'_>) -> T) -> Curve<T> {
    let choice = bytes.byte();
    let interpolation =
        [Interpolation::Linear, Interpolation::Step, Interpolation::CubicSpline][usize::from(choice % 3)];
    let keys = usize::from(choice / 3 % 4);
    let mut time = 0.0;
    let times = (0..keys)
        .map(|_| {
            let now = time;
            time += bytes.number();
            now
        })
        .collect();
    let values = if interpolation == Interpolation::CubicSpline { 3 * keys } else { keys };
    Curve { times, values: (0..values).map(|_| value(bytes)).collect(), interpolation }
}

/// What a host may do with a character before a frame.
enum Act {
    Nothing,
    Set,
    Fade(f32),
    Transition(f32),
    Seek(f32, bool),
    Weights([f32; 2]),
}

impl Act {
    fn read(bytes: &mut Bytes<'_>) -> Self {
        match bytes.below(8) {
            1 => Self::Set,
            2 => Self::Fade(bytes.number()),
            3 => Self::Transition(bytes.number()),
            4 => Self::Seek(bytes.number(), bytes.bit()),
            5 => Self::Weights(bytes.numbers()),
            _ => Self::Nothing,
        }
    }

    /// Refused or taken.
    fn of(&self, crowd: &mut Crowd, who: Handle, plays: &[Play]) {
        let _ = match *self {
            Self::Nothing => Ok(()),
            Self::Set => crowd.set_clips(who, plays),
            Self::Fade(seconds) => crowd.fade_to(who, plays, seconds),
            Self::Transition(seconds) => crowd.transition_to(who, plays, seconds).map(drop),
            Self::Seek(time, travel) => match plays.first() {
                Some(play) => crowd.seek(who, play.clip, time, travel).map(drop),
                None => Ok(()),
            },
            Self::Weights(weights) => crowd.set_weights(who, &weights),
        };
    }
}

/// What a host may hand in: of its crowd, of one character and of its frames.
struct Host {
    config: CrowdConfig,
    plays: Vec<(u8, [f32; 3])>,
    place: WorldTransform,
    steps: Vec<(f32, Act)>,
    roots: u8,
    moved: WorldTransform,
    height: f32,
    plane: Option<HitPlane>,
}

impl Host {
    fn read(bytes: &mut Bytes<'_>) -> Self {
        let choice = bytes.byte();
        let isas = Isa::available();
        let mode = if choice & 4 == 4 { Mode::Strict } else { Mode::Fast };
        let config = CrowdConfig {
            simd: Simd::new(isas[usize::from(choice >> 4) % isas.len()], mode),
            format: PaletteFormat::ALL[usize::from(choice & 3)],
            stream: choice & 8 == 8,
            event_capacity: 3,
            transitions: 1.0,
            ..CrowdConfig::default()
        };
        let place = |bytes: &mut Bytes<'_>| {
            let as_given = bytes.bit();
            WorldTransform { position: bytes.numbers(), rotation: rotation(bytes, as_given).to_array() }
        };
        Self {
            config,
            plays: (0..1 + bytes.below(4)).map(|_| (bytes.byte(), bytes.numbers())).collect(),
            place: place(bytes),
            steps: (0..1 + bytes.below(4)).map(|_| (bytes.number(), Act::read(bytes))).collect(),
            roots: bytes.byte(),
            moved: place(bytes),
            height: bytes.number(),
            plane: bytes.bit().then(|| HitPlane {
                point: bytes.numbers(),
                normal: bytes.numbers(),
                velocity: bytes.numbers(),
                age: bytes.number(),
                hit: true,
            }),
        }
    }
}

/// Bits of a character that plays the clip in a common way, after frames beside one that does what the host says.
fn frames(rig: &Rig, bound: &BoundClip, host: &Host, beside: bool) -> Result<Vec<u8>, BuildError> {
    let mut crowd = Crowd::new(host.config);
    let rig = crowd.add_rig(rig.clone())?;
    let clip = crowd.add_clip(bound.clone())?;
    let well = crowd.spawn(rig, 0, WorldTransform::IDENTITY, &[Play { weight: 0.5, ..Play::new(clip) }])?;
    let wraps = [Wrap::Clip, Wrap::Loop, Wrap::Once, Wrap::PingPong];
    let play = |&(choice, [time, weight, speed]): &(u8, [f32; 3])| {
        let wrap = wraps[usize::from(choice & 3)];
        Play { clip, time, weight, speed, wrap, sync: choice & 4 == 4 }
    };
    let plays: Vec<Play> = host.plays.iter().map(play).collect();
    let other = if beside {
        let place =
            if crowd.spawn(rig, 0, host.place, &[]).is_ok() { host.place } else { WorldTransform::IDENTITY };
        Some(crowd.spawn(rig, 0, place, &[Play::new(clip)])?)
    } else {
        None
    };
    let plain = HitPlane { hit: true, ..HitPlane::NONE };
    let planes: Vec<[HitPlane; PROBES]> =
        [plain, host.plane.unwrap_or(plain), host.plane.unwrap_or(plain)].map(|plane| [plane; PROBES]).into();
    let (planes, flat) = (HitPlanes { planes: &planes }, FlatGround { height: host.height });
    let places = [WorldTransform::IDENTITY, host.moved, host.moved];
    for (dt, act) in &host.steps {
        if let Some(other) = other {
            act.of(&mut crowd, other, &plays);
        }
        let roots = match host.roots & 3 {
            0 => Roots::Free,
            1 => Roots::Host(&places),
            _ => Roots::OnGround,
        };
        let ground: &dyn Ground = if host.plane.is_some() { &planes } else { &flat };
        let frame = Frame { roots, ..Frame::new(dt.clamp(-1.0, 1.0), ground) };
        crowd.frame(frame, &Serial)?;
        for who in crowd.handles().collect::<Vec<_>>() {
            finite(&crowd, who, host.config.format);
        }
    }
    let (header, palette) = crowd.pose(well)?;
    Ok([bytemuck::bytes_of(&header), palette].concat())
}

fn finite(crowd: &Crowd, who: Handle, format: PaletteFormat) {
    let (header, palette) = crowd.pose(who).expect("alive");
    let floats: &[f32] = bytemuck::cast_slice(bytemuck::bytes_of(&header));
    assert!(floats.iter().all(|value| value.is_finite()), "{header:?}");
    let values = palette.chunks_exact(4).map(|word| f32::from_le_bytes([word[0], word[1], word[2], word[3]]));
    assert!(format == PaletteFormat::Snorm16 || values.into_iter().all(f32::is_finite), "a palette");
    let motion = crowd.root_motion(who).expect("alive");
    assert!([motion.x, motion.z, motion.yaw].iter().all(|value| value.is_finite()), "{motion:?}");
}
