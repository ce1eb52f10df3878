//! Twin crowds: in one, a character is handed something that is not finite, huge or nonsense. It is refused or stays
//! with that character; all others have the same bits in both.

use std::sync::{Arc, OnceLock};

use proptest::prelude::*;
use throng::clip::{AdditiveReference, BoundClip};
use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Ground, Handle, HitPlane, HitPlanes, JointMask, Layer, MaskId,
    PROBES, PaletteFormat, Play, Probes, Roots, Serial, Stream, StreamId, StreamPose, StreamRoot, Tier,
    WorldTransform,
};
use throng::lanes::Simd;
use throng::retarget::{BindSource, LiveMap, LiveMaps, bind, bind_additive};
use throng::rig::Rig;

const DT: f32 = 1.0 / 30.0;
const LEVEL: FlatGround = FlatGround { height: 0.0 };
/// Two full blocks and one that adults and children share.
const PEOPLE: usize = 40;
/// One in a full block, one in the shared one.
const VICTIMS: [usize; 2] = [5, 39];

/// One in each kind of block who follows a stream where the victim does.
const FOLLOWERS: [usize; 2] = [6, 38];

struct Bodies {
    /// An adult and a child.
    rigs: [Rig; 2],
    /// Stand, walk and turn; the last one is added.
    clips: [BoundClip; 4],
    /// From the adult's own skeleton, and its rest pose there.
    map: Arc<LiveMap>,
    rest: Vec<[f32; 4]>,
}

fn bodies() -> &'static Bodies {
    static BODIES: OnceLock<Bodies> = OnceLock::new();
    BODIES.get_or_init(|| {
        let plans = [BodyPlan::adult(), BodyPlan::child()];
        let built = plans.map(|plan| content::character(RigKind::Biped, &plan));
        let rigs = built.each_ref().map(|built| Rig::build(&built.rig_source()).expect("rig"));
        let (adult, reference) = (&built[0], built[0].reference());
        let source =
            BindSource { skeleton: &adult.character.skeleton, roles: &adult.roles, reference: &reference };
        let [idle, walk, turn] = [ClipKind::Idle, ClipKind::Walk, ClipKind::TurnLeft]
            .map(|kind| bind(source, &content::clip(kind, adult), &rigs[0]).expect("bound"));
        let raw = content::clip(ClipKind::Jog, adult);
        let added = bind_additive(source, &raw, AdditiveReference::Rig, &rigs[0]).expect("bound");
        let map = LiveMaps::default().get(source, &rigs[0]).expect("a map");
        let joints = &adult.character.skeleton.joints;
        let rest = joints.iter().map(|joint| joint.rest.rotation.to_array()).collect();
        Bodies { rigs, clips: [idle, walk, turn, added], map, rest }
    })
}

struct People {
    crowd: Crowd,
    handles: Vec<Handle>,
    plays: [Play; 4],
    /// The upper body.
    mask: MaskId,
}

impl People {
    fn new(format: PaletteFormat) -> Self {
        let Bodies { rigs, clips, .. } = bodies();
        let mut crowd = Crowd::new(CrowdConfig { format, ..CrowdConfig::default() });
        let rigs = rigs.each_ref().map(|rig| crowd.add_rig(rig.clone()).expect("rig"));
        let plays = clips.each_ref().map(|clip| Play::new(crowd.add_clip(clip.clone()).expect("clip")));
        let handles = (0..PEOPLE)
            .map(|k| {
                let place = WorldTransform::standing(k as f32, 0.0, 0.1 * k as f32);
                let own = [Play { time: 0.01 * k as f32, ..plays[1] }, plays[k % 3]];
                crowd.spawn(rigs[usize::from(k % 3 == 0)], 0, place, &own).expect("spawn")
            })
            .collect();
        crowd.pack();
        let topology = crowd.rig(rigs[0]).topology().clone();
        let mask = crowd.add_mask(&JointMask::upper_body(&topology).expect("a body")).expect("a mask");
        Self { crowd, handles, plays, mask }
    }

    fn frame(&mut self, roots: Roots<'_>, ground: &dyn Ground) {
        let frame = Frame { roots, ..Frame::new(DT, ground) };
        self.crowd.frame(frame, &Serial).expect("frame");
    }

    /// A frame in which the victim and others follow streams of the rest pose; the victim's is spoilt.
    fn streamed(&mut self, who: usize, spoilt: Option<(usize, f32)>) {
        let Bodies { map, rest, .. } = bodies();
        for (id, who) in (0..).zip([who, FOLLOWERS[0], FOLLOWERS[1]]) {
            let root = [StreamRoot::Travel, StreamRoot::InPose][id as usize % 2];
            let stream = Stream { id: StreamId(id), map: Arc::clone(map), root };
            self.crowd.set_stream(self.handles[who], &stream).expect("alive");
        }
        let (mut own, mut position, mut contacts) = (rest.clone(), [0.0, 0.9, 0.0], [1.0; 2]);
        match spoilt {
            Some((field @ 0..3, value)) => position[field] = value,
            Some((field @ 3..5, value)) => contacts[field - 3] = value,
            Some((field, value)) => own[field / 4 % rest.len()][field % 4] = value,
            None => {}
        }
        let ill = StreamPose { rotations: (&own).into(), position, contacts: Some(contacts) };
        let well = StreamPose { rotations: rest.into(), position: [0.0, 0.9, 0.0], contacts: None };
        let streams = [ill, well, well];
        let frame = Frame { streams: (&streams).into(), ..Frame::new(DT, &LEVEL) };
        self.crowd.frame(frame, &Serial).expect("frame");
    }

    /// Everything that comes out for a character.
    fn bits(&self, who: usize) -> (Vec<u32>, [u32; 10]) {
        let who = self.handles[who];
        let (header, palette) = self.crowd.pose(who).expect("alive");
        let WorldTransform { position: [x, y, z], rotation: [a, b, c, d] } =
            self.crowd.transform(who).expect("alive");
        let motion = self.crowd.root_motion(who).expect("alive");
        let state = [x, y, z, a, b, c, d, motion.x, motion.z, motion.yaw].map(f32::to_bits);
        let words = [bytemuck::bytes_of(&header), palette].concat();
        (bytemuck::pod_collect_to_vec(&words), state)
    }

    /// As a new character.
    fn restart(&mut self, who: usize) {
        let who = self.handles[who];
        self.crowd.teleport(who, WorldTransform::standing(1.0, 2.0, 3.0)).expect("alive");
        self.crowd.set_clips(who, &[self.plays[1]]).expect("alive");
        self.crowd.set_layers(who, &[]).expect("alive");
        self.crowd.set_tier(who, Tier::Near).expect("alive");
    }
}

/// Numbers that hosts have been seen to hand in.
fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        Just(f32::NAN),
        Just(-f32::NAN),
        Just(f32::INFINITY),
        Just(f32::NEG_INFINITY),
        Just(f32::MAX),
        Just(f32::MIN),
        Just(1e-45),
        Just(0.0),
        Just(-0.0),
        Just(9.99e5),
        Just(-9.99e5),
        Just(9.99e6),
        Just(1e20),
        -4.0f32..4.0,
        any::<f32>(),
    ]
}

/// What one character is handed, and where.
#[derive(Clone, Debug)]
enum Poison {
    Place {
        teleport: bool,
        field: usize,
        value: f32,
    },
    Play {
        slot: usize,
        field: usize,
        value: f32,
        second: f32,
    },
    /// By number: see [`change`].
    Change {
        kind: usize,
        value: f32,
        second: f32,
    },
    Host {
        field: usize,
        value: f32,
    },
    Plane {
        probe: usize,
        field: usize,
        value: f32,
    },
    Answer {
        probe: usize,
        field: usize,
        value: f32,
    },
    Stream {
        field: usize,
        value: f32,
    },
}

fn poison() -> impl Strategy<Value = Poison> {
    prop_oneof![
        (any::<bool>(), 0..7usize, number()).prop_map(|(teleport, field, value)| Poison::Place {
            teleport,
            field,
            value
        }),
        (0..4usize, 0..3usize, number(), number()).prop_map(|(slot, field, value, second)| Poison::Play {
            slot,
            field,
            value,
            second
        }),
        (0..13usize, number(), number()).prop_map(|(kind, value, second)| Poison::Change {
            kind,
            value,
            second
        }),
        (0..7usize, number()).prop_map(|(field, value)| Poison::Host { field, value }),
        (0..PROBES, 0..10usize, number()).prop_map(|(probe, field, value)| Poison::Plane {
            probe,
            field,
            value
        }),
        (0..PROBES, 0..8usize, number()).prop_map(|(probe, field, value)| Poison::Answer {
            probe,
            field,
            value
        }),
        (0..80usize, number()).prop_map(|(field, value)| Poison::Stream { field, value }),
    ]
}

fn spoilt(place: WorldTransform, field: usize, value: f32) -> WorldTransform {
    let mut place = place;
    match field {
        0..3 => place.position[field] = value,
        _ => place.rotation[field - 3] = value,
    }
    place
}

/// Level ground that answers one lane with something else.
struct Spoilt {
    who: u32,
    probe: usize,
    field: usize,
    value: f32,
}

impl Ground for Spoilt {
    fn probe(&self, simd: Simd, probes: &mut Probes) {
        LEVEL.probe(simd, probes);
        let Some(lane) = probes.characters.iter().position(|&who| who == self.who) else { return };
        let row = match self.field {
            0 => &mut probes.height[self.probe],
            1 => &mut probes.hit[self.probe],
            2 => &mut probes.x[self.probe],
            3 => &mut probes.y[self.probe],
            4 => &mut probes.z[self.probe],
            field => &mut probes.normal[self.probe][field - 5],
        };
        row.0[lane] = self.value;
    }
}

/// Something that a host may do between frames; refused or taken.
fn change(people: &mut People, who: Handle, kind: usize, value: f32, second: f32) {
    let clips = [people.plays[2], Play { weight: second, ..people.plays[1] }];
    let mask = people.mask;
    let crowd = &mut people.crowd;
    let layer = Layer { weight: value, time: second, ..Layer::new(clips[0].clip) };
    let added = Layer { weight: value, speed: second, ..Layer::additive(people.plays[3].clip) };
    let aimed = Layer { speed: value, fade: second, model_space_root: true, ..Layer::new(clips[0].clip) };
    let _ = match kind {
        0 => crowd.fade_to(who, &clips, value),
        1 => crowd.transition_to(who, &clips, value).map(drop),
        2 => crowd.seek(who, clips[1].clip, value, false).map(drop),
        3 => crowd.seek(who, clips[1].clip, value, true).map(drop),
        4 => crowd.set_weights(who, &[value, second]),
        5 => crowd.set_speed(who, value),
        6 => crowd.set_layers(who, &[layer, aimed.masked(mask)]),
        7 => crowd.set_layers(who, &[aimed.masked(mask)]),
        8 => crowd.fade_layer(who, 0, value, second),
        9 => crowd.seek_layer(who, 0, value),
        10 => crowd.set_tier(who, Tier::Mid),
        11 => crowd.set_layers(who, &[added]),
        _ => crowd.set_tier(who, Tier::Far),
    };
}

/// One frame in which character `who` is handed `poison`, `None` for what is well.
fn frame(people: &mut People, who: usize, poison: Option<&Poison>, kind: &Poison) {
    let handle = people.handles[who];
    let here = people.crowd.transform(handle).expect("alive");
    match poison {
        Some(&Poison::Place { teleport, field, value }) => {
            let place = spoilt(here, field, value);
            let crowd = &mut people.crowd;
            let taken =
                if teleport { crowd.teleport(handle, place) } else { crowd.set_transform(handle, place) };
            assert!(taken.is_ok() || crowd.transform(handle) == Ok(here), "refused is unchanged");
        }
        Some(&Poison::Play { slot, field, value, second }) => {
            let mut plays = [people.plays[0], people.plays[1], people.plays[2], people.plays[1]];
            for (slot, value) in [(slot, value), ((slot + 1) % 4, second)] {
                match field {
                    0 => plays[slot].time = value,
                    1 => plays[slot].weight = value,
                    _ => plays[slot].speed = value,
                }
            }
            let before: Vec<Play> = people.crowd.clips(handle).expect("alive").collect();
            if people.crowd.set_clips(handle, &plays).is_err() {
                let after: Vec<Play> = people.crowd.clips(handle).expect("alive").collect();
                assert_eq!(before, after, "refused is unchanged");
            }
        }
        Some(&Poison::Change { kind, value, second }) => {
            change(people, handle, kind, value, second);
        }
        _ => {}
    }
    match *kind {
        Poison::Host { field, value } => {
            let mut places: Vec<WorldTransform> =
                (0..PEOPLE).map(|k| WorldTransform::standing(k as f32, 0.5, 0.2 * k as f32)).collect();
            if poison.is_some() {
                places[handle.index()] = spoilt(places[handle.index()], field, value);
            }
            people.frame(Roots::Host(&places), &LEVEL);
        }
        Poison::Plane { probe, field, value } => {
            let mut planes = [[HitPlane { hit: true, ..HitPlane::NONE }; PROBES]; PEOPLE];
            if poison.is_some() {
                let plane = &mut planes[handle.index()][probe];
                match field {
                    0..3 => plane.point[field] = value,
                    3..6 => plane.normal[field - 3] = value,
                    6..9 => (plane.velocity[field - 6], plane.age) = (value, 1.0),
                    _ => (plane.velocity, plane.age) = ([1.0; 3], value),
                }
            }
            people.frame(Roots::OnGround, &HitPlanes { planes: &planes });
        }
        Poison::Stream { field, value } => people.streamed(who, poison.map(|_| (field, value))),
        Poison::Answer { probe, field, value } if poison.is_some() => {
            people.frame(Roots::OnGround, &Spoilt { who: handle.index() as u32, probe, field, value });
        }
        _ => people.frame(Roots::OnGround, &LEVEL),
    }
}

/// The poses of everybody are finite; of one, nothing is said of what is in its header.
fn finite(people: &People, format: PaletteFormat, but: Option<usize>) {
    for who in 0..PEOPLE {
        let (words, state) = people.bits(who);
        let first = if Some(who) == but { HEADER } else { 0 };
        let floats = if format == PaletteFormat::Snorm16 { &words[first..HEADER] } else { &words[first..] };
        let all = floats.iter().chain(&state).all(|&bits| f32::from_bits(bits).is_finite());
        assert!(all, "character {who}: {:?}", people.crowd.transform(people.handles[who]));
    }
}

/// Words of a header.
const HEADER: usize = 16;

/// 400 cases, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_one_character_is_handed_stays_with_it(
        poisons in prop::collection::vec(poison(), 1..4),
        victim in prop::sample::select(&VICTIMS[..]),
        format in prop::sample::select(&PaletteFormat::ALL[..]),
    ) {
        let (mut well, mut ill) = (People::new(format), People::new(format));
        for people in [&mut well, &mut ill] {
            people.frame(Roots::OnGround, &LEVEL);
        }
        let mut own_header = None;
        for poison in &poisons {
            frame(&mut well, victim, None, poison);
            frame(&mut ill, victim, Some(poison), poison);
            // A ground that writes over the questions asks for it: they are part of the character's own header, which stays
            // until its next pose. Who follows a stream that is gone, or is in a tier whose turn it is not, waits for it.
            if matches!(poison, Poison::Answer { field: 2..5, .. }) {
                own_header = Some(victim);
            }
            finite(&ill, format, own_header);
            for who in (0..PEOPLE).filter(|&who| who != victim) {
                prop_assert!(well.bits(who) == ill.bits(who), "character {who} has part in it");
            }
        }
        // What has come of it can be saved, and goes on from there; streams are to be set again.
        if !poisons.iter().any(|poison| matches!(poison, Poison::Stream { .. })) {
            let mut again = People::new(format);
            again.crowd.restore(&ill.crowd.snapshot()).expect("a crowd's own snapshot");
            for people in [&mut ill, &mut well, &mut again] {
                people.frame(Roots::OnGround, &LEVEL);
            }
            finite(&again, format, own_header);
            for who in 0..PEOPLE {
                prop_assert!(again.bits(who) == ill.bits(who), "character {who} comes back otherwise");
            }
        }
        // Nothing of it is left once the character starts anew.
        for people in [&mut well, &mut ill] {
            people.restart(victim);
            people.frame(Roots::OnGround, &LEVEL);
        }
        for who in 0..PEOPLE {
            prop_assert!(well.bits(who) == ill.bits(who), "character {who} remembers it");
        }
    }
}

#[test]
fn a_frame_of_no_possible_length_is_refused_and_changes_nothing() {
    let (mut well, mut ill) = (People::new(PaletteFormat::Mat4), People::new(PaletteFormat::Mat4));
    for people in [&mut well, &mut ill] {
        people.frame(Roots::OnGround, &LEVEL);
    }
    for dt in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1e-45, -1.0, 10.001, f32::MAX] {
        let frame = Frame::new(dt, &LEVEL);
        let error = ill.crowd.frame(frame, &Serial).expect_err("refused").to_string();
        assert!(error.contains("dt"), "{error}");
        for who in 0..PEOPLE {
            assert!(well.bits(who) == ill.bits(who), "{dt} changed character {who}");
        }
    }
    for people in [&mut well, &mut ill] {
        people.frame(Roots::OnGround, &LEVEL);
    }
    for who in 0..PEOPLE {
        assert!(well.bits(who) == ill.bits(who), "character {who} goes on otherwise");
    }
}

#[test]
fn a_place_that_is_refused_is_told_once() {
    let mut people = People::new(PaletteFormat::Mat3x4);
    let well: Vec<WorldTransform> =
        (0..PEOPLE).map(|k| WorldTransform::standing(k as f32, 0.0, 0.0)).collect();
    let mut ill = well.clone();
    ill[3].rotation = [0.0; 4];
    ill[20].position[1] = f32::NAN;
    let both = [people.handles[3], people.handles[20]];
    for (places, told) in [(&well, &[][..]), (&ill, &both), (&ill, &[]), (&well, &[]), (&ill, &both)] {
        people.frame(Roots::Host(places), &LEVEL);
        assert_eq!(people.crowd.refused(), told);
        assert_eq!(people.crowd.transform(both[0]), Ok(well[3]), "where it was");
    }
    // Somebody else at the same index has not been told of; a list that is too short refuses nobody.
    people.crowd.despawn(both[0]).expect("alive");
    let rig = people.crowd.rigs().next().expect("a rig");
    let born = people.crowd.spawn(rig, 0, WorldTransform::IDENTITY, &[people.plays[0]]).expect("spawn");
    people.frame(Roots::Host(&ill), &LEVEL);
    assert_eq!((born.index(), people.crowd.refused()), (3, &[born][..]));
    people.frame(Roots::Host(&ill[..2]), &LEVEL);
    people.frame(Roots::OnGround, &LEVEL);
    assert_eq!(people.crowd.refused(), []);
}
