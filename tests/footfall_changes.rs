//! Legs between two poses when something else than a steady walk happens: against a twin that is posed in every frame, and
//! against the straight line between the two poses.

use glam::{DMat3, DMat4, DQuat, DVec3};
use throng::clip::RawClip;
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    ClipId, Crowd, CrowdConfig, FlatGround, Frame, Ground, Handle, Layer, PaletteFormat, Play, PoseHeader,
    Probes, RigId, Roots, Serial, Tier, TierConfig, WorldTransform,
};
use throng::lanes::{BLOCK, Isa, Mode, Simd};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

const DT: f32 = 1.0 / 60.0;
const FLOOR: FlatGround = FlatGround { height: 0.0 };

struct World {
    crowd: Crowd,
    id: RigId,
    body: BuiltIn,
    rig: Rig,
}

/// Places of hip, knee, ankle, heel and ball of both legs.
type Legs = [[DVec3; 5]; 2];

impl World {
    fn new() -> Self {
        let simd = Simd::new(Isa::widest(), Mode::Strict);
        let tiers = [1u8, 2, 4, 8].map(|period| TierConfig { period, ..TierConfig::FULL });
        let mut crowd = Crowd::new(CrowdConfig { simd, interpolate: true, tiers, ..CrowdConfig::default() });
        let body = content::character(RigKind::Biped, &BodyPlan::adult());
        let rig = Rig::build(&body.rig_source()).expect("a rig");
        let id = crowd.add_rig(rig.clone()).expect("a rig");
        Self { crowd, id, body, rig }
    }

    fn raw(&self, kind: ClipKind) -> RawClip {
        content::clip(kind, &self.body)
    }

    fn add(&mut self, raw: &RawClip) -> ClipId {
        let reference = self.body.reference();
        let source = BindSource {
            skeleton: &self.body.character.skeleton,
            roles: &self.body.roles,
            reference: &reference,
        };
        self.crowd.add_clip(bind(source, raw, &self.rig).expect("a clip")).expect("room")
    }

    /// One that is posed in every frame, and one in every `period`.
    fn pair(&mut self, period: usize, play: Play) -> [Handle; 2] {
        let place = WorldTransform::standing(0.0, 0.0, 0.3);
        [1, period].map(|period| {
            let handle = self.crowd.spawn(self.id, 0, place, &[play]).expect("room");
            let tier = Tier::ALL[period.trailing_zeros() as usize];
            self.crowd.set_tier(handle, tier).expect("alive");
            handle
        })
    }

    fn legs(&self, entry: impl Fn(usize) -> DMat4) -> Legs {
        let entries = self.rig.skins()[0].entries();
        let vector = |v: [f32; 3]| DVec3::from(v.map(f64::from));
        [0, 1].map(|leg| {
            let (joints, sole) = (&self.rig.topology().legs()[leg], self.rig.soles()[leg]);
            let place = |joint: u16, from_joint: [f32; 3]| {
                let at = entries.iter().position(|entry| entry.joint == joint).expect("an entry");
                let linear = DMat3::from_cols_array_2d(&entries[at].linear.map(|c| c.map(f64::from)));
                let p = linear.inverse() * (vector(from_joint) - vector(entries[at].offset));
                entry(at).transform_point3(p)
            };
            let none = [0.0; 3];
            [
                place(joints.thigh, none),
                place(joints.shin, none),
                place(joints.foot, none),
                place(joints.foot, sole.heel),
                place(joints.foot, sole.ball),
            ]
        })
    }

    fn shown(&self, who: Handle) -> Legs {
        let pose = self.crowd.shown_pose(who).expect("posed");
        let root = matrix(pose.root().position, pose.root().rotation);
        self.legs(|entry| root * affine(pose.matrix(entry).expect("an entry")))
    }

    /// On the line between both poses; and whether a leg is off it.
    fn line(&self, who: Handle) -> (Legs, bool) {
        let pair = self.crowd.pose_pair(who).expect("alive");
        let of = |line: u32| {
            let lines = &self.crowd.output()[line as usize..];
            let header = PoseHeader::read(&lines[0]);
            let bytes: &[u8] = bytemuck::cast_slice(&lines[1..]);
            let root = matrix(header.position, header.rotation);
            let entry = |at: usize| affine(PaletteFormat::Mat3x4.matrix(&bytes[48 * at..48 * at + 48], 0.0));
            self.legs(|at| root * entry(at))
        };
        let (a, b, factor) = (of(pair.previous), of(pair.next), f64::from(pair.factor));
        let moments = self.crowd.output()[pair.corrections as usize].0;
        let line = core::array::from_fn(|leg| core::array::from_fn(|k| a[leg][k].lerp(b[leg][k], factor)));
        (line, factor < 1.0 && (moments[0] > 0.0 || moments[1] > 0.0))
    }

    fn frame(&mut self, frame: Frame<'_>) {
        self.crowd.frame(frame, &Serial).expect("a frame");
    }
}

fn matrix(position: [f32; 3], rotation: [f32; 4]) -> DMat4 {
    let turn = DQuat::from_array(rotation.map(f64::from)).normalize();
    DMat4::from_rotation_translation(turn, DVec3::from(position.map(f64::from)))
}

fn affine(m: [f32; 12]) -> DMat4 {
    let m = m.map(f64::from);
    let column = |k: usize, w: f64| glam::DVec4::new(m[k], m[4 + k], m[8 + k], w);
    DMat4::from_cols(column(0, 0.0), column(1, 0.0), column(2, 0.0), column(3, 1.0))
}

/// Millimetres at worst.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// Feet from where the twin had them so long ago: shown, and on the line.
    far: [f64; 2],
    /// Balls that stand: the same.
    slide: [f64; 2],
    /// Of heels and balls above the floor: shown.
    low: f64,
    corrected: usize,
}

fn watch(
    world: &mut World,
    [twin, who]: [Handle; 2],
    period: usize,
    frames: usize,
    mut before: impl FnMut(&mut World, usize),
) -> Seen {
    let (mut past, mut seen) = (Vec::new(), Seen::default());
    for number in 0..frames {
        before(world, number);
        world.frame(Frame::new(DT, &FLOOR));
        past.push(world.shown(twin));
        if number < 40 {
            continue;
        }
        let (shown, (line, corrected)) = (world.shown(who), world.line(who));
        let (right, last) = (&past[number + 1 - period], &past[number - period]);
        seen.corrected += usize::from(corrected);
        for leg in 0..2 {
            let off = |legs: &Legs, k: usize| 1e3 * (legs[leg][k] - right[leg][k]).length();
            for k in 2..5 {
                seen.far = [seen.far[0].max(off(&shown, k)), seen.far[1].max(off(&line, k))];
            }
            seen.low = seen.low.min(1e3 * shown[leg][3].y).min(1e3 * shown[leg][4].y);
            if (right[leg][4] - last[leg][4]).length() < 1e-3 {
                seen.slide = [seen.slide[0].max(off(&shown, 4)), seen.slide[1].max(off(&line, 4))];
            }
        }
    }
    seen
}

/// Backwards a foot comes down on the ball and lifts off from the heel: rolled over the wrong end, the sole went under.
#[test]
fn walking_and_running_either_way_no_foot_is_farther_off_than_on_the_line_or_under_the_floor() {
    for kind in [ClipKind::Walk, ClipKind::SlowWalk, ClipKind::Jog, ClipKind::Run] {
        for (speed, period) in [(1.0, 2), (1.0, 4), (1.0, 8), (-1.0, 2), (-1.0, 4), (-1.0, 8)] {
            let mut world = World::new();
            let raw = world.raw(kind);
            let clip = world.add(&raw);
            let pair = world.pair(period, Play { speed, ..Play::new(clip) });
            let seen = watch(&mut world, pair, period, 300, |_, _| {});
            println!("{} x {speed}, period {period}: {seen:.1?}", kind.name());
            assert!(seen.low > -1.0 && seen.corrected > 10);
            assert!(seen.far[0] < seen.far[1] + 1.0 && seen.slide[0] < seen.slide[1] + 0.1);
            assert!(speed < 0.0 || kind != ClipKind::Walk || seen.slide[0] < 0.1, "feet stand");
        }
    }
}

/// The contacts of a clip say nothing of legs that a layer over it moves.
#[test]
fn legs_that_a_layer_moves_stay_on_the_line() {
    for period in [4, 8] {
        let mut world = World::new();
        let raw = world.raw(ClipKind::Walk);
        let clip = world.add(&raw);
        let pair = world.pair(period, Play::new(clip));
        for who in pair {
            let later = Layer { time: 0.25 * raw.duration, ..Layer::new(clip) };
            world.crowd.set_layers(who, &[later]).expect("a layer");
        }
        let seen = watch(&mut world, pair, period, 200, |_, _| {});
        assert_eq!(seen.corrected, 0);
        assert!((seen.far[0] - seen.far[1]).abs() < 1e-3 && seen.far[0] > 1.0);
    }
}

/// Clips that come to their end shortly after a landing, as jumps do; and clips that jump in time.
#[test]
fn clips_that_stop_or_jump_are_not_given_a_past_they_never_had() {
    for after in [0.02f32, 0.05, 0.08] {
        let world = World::new();
        let mut raw = world.raw(ClipKind::Run);
        let contacts = raw.contacts.as_mut().expect("contacts");
        let starts = contacts.feet.iter().flat_map(|foot| &foot.ball).map(|interval| interval.start);
        let down = starts.filter(|&start| start > 0.2).fold(f32::MAX, f32::min);
        (raw.duration, raw.looping) = (down + after, false);
        for list in contacts.feet.iter_mut().flat_map(|foot| [&mut foot.heel, &mut foot.ball]) {
            list.retain(|interval| interval.start < raw.duration);
            for interval in list {
                if interval.end > raw.duration || interval.end < interval.start {
                    interval.end = raw.duration;
                }
            }
        }
        for start in 40..48 {
            let mut world = World::new();
            let clip = world.add(&raw);
            let pair = world.pair(8, Play { speed: 0.0, ..Play::new(clip) });
            let seen = watch(&mut world, pair, 8, 110, |world, number| {
                if number == start {
                    pair.iter().for_each(|&who| world.crowd.set_speed(who, 1.0).expect("alive"));
                }
            });
            assert!(seen.low > -1.0, "{after} {start}: {seen:?}");
            assert!(
                seen.far[0] < seen.far[1] + 1.0 && seen.slide[0] < seen.slide[1] + 0.1,
                "{after} {start}: {seen:?}"
            );
        }
    }
    for sought in [true, false] {
        let mut world = World::new();
        let raws = [ClipKind::Walk, ClipKind::Run].map(|kind| world.raw(kind));
        let clips = raws.each_ref().map(|raw| world.add(raw));
        let pair = world.pair(8, Play::new(clips[0]));
        let seen = watch(&mut world, pair, 8, 600, |world, number| {
            if number % 11 == 3 {
                let time = (0.037 * number as f32) % 0.6;
                for who in pair {
                    if sought {
                        world.crowd.seek(who, clips[0], time, false).expect("it plays");
                    } else {
                        let play = Play { time, ..Play::new(clips[number / 11 % 2]) };
                        world.crowd.set_clips(who, &[play]).expect("clips");
                    }
                }
            }
        });
        println!("sought {sought}: {seen:.1?}");
        assert!(seen.far[0] < seen.far[1] + 1.0 && (seen.low > -1.0 || !sought), "{seen:?}");
    }
}

/// An exchanged clip has its own clock: where the old one was says nothing of it.
#[test]
fn a_clip_that_is_exchanged_between_poses_has_no_past() {
    let mut world = World::new();
    let raws = [ClipKind::Walk, ClipKind::Run].map(|kind| world.raw(kind));
    let clip = world.add(&raws[0]);
    let bound = raws.each_ref().map(|raw| world.add(raw));
    let bound = bound.map(|id| world.crowd.clip(id).expect("known").clone());
    let pair = world.pair(8, Play::new(clip));
    let seen = watch(&mut world, pair, 8, 600, |world, number| {
        if number % 37 == 5 {
            world.crowd.replace_clip(clip, bound[number / 37 % 2].clone()).expect("alike");
        }
    });
    println!("{seen:.1?}");
    assert!(seen.corrected > 100 && seen.far[0] < seen.far[1] + 1.0 && seen.low > -1.0, "{seen:?}");
}

/// A loop that runs at twice the rate of its clock: every other frame has no time.
#[test]
fn feet_stand_whichever_block_is_due_in_a_frame_without_time() {
    let corrected = [0, 1].map(|parity| {
        let mut world = World::new();
        let raw = world.raw(ClipKind::Walk);
        let clip = world.add(&raw);
        let [_, who] = world.pair(8, Play::new(clip));
        let mut corrected = 0;
        for number in 0..400 {
            let dt = if number % 2 == parity { 2.0 * DT } else { 0.0 };
            world.frame(Frame::new(dt, &FLOOR));
            corrected += usize::from(number > 40 && world.line(who).1);
        }
        corrected
    });
    assert!(corrected.iter().all(|&frames| frames > 100), "{corrected:?}");
}

/// A floor that ends at z = 1.5 m, two metres above the next.
struct Ledge;

impl Ground for Ledge {
    fn probe(&self, _: Simd, probes: &mut Probes) {
        for probe in 0..probes.count {
            for lane in 0..BLOCK {
                probes.height[probe].0[lane] = if probes.z[probe].0[lane] > 1.5 { -2.0 } else { 0.0 };
                let up = [0.0, 1.0, 0.0];
                probes.normal[probe].iter_mut().zip(up).for_each(|(row, value)| row.0[lane] = value);
                probes.hit[probe].0[lane] = 1.0;
            }
        }
    }
}

/// A host that carries characters along, puts one elsewhere without a word, and a floor that ends.
#[test]
fn no_leg_is_drawn_out_when_the_root_is_carried_off() {
    for (kind, speed, jump, ledge) in [
        (ClipKind::Walk, 3.0f32, 0.0f32, false),
        (ClipKind::Walk, 30.0, 0.0, false),
        (ClipKind::Run, 10.0, 0.0, false),
        (ClipKind::Run, 0.0, 20.0, false),
        (ClipKind::Walk, 0.0, 0.0, true),
        (ClipKind::Run, 0.0, 0.0, true),
    ] {
        let mut world = World::new();
        let raw = world.raw(kind);
        let clip = world.add(&raw);
        let [_, who] = world.pair(8, Play::new(clip));
        let mut longest = 0.0f64;
        for number in 0..300 {
            let x = speed * number as f32 / 60.0 + if number > 97 { jump } else { 0.0 };
            let places = [WorldTransform::standing(x, 0.0, 0.0); 2];
            world.frame(if ledge {
                Frame::new(DT, &Ledge)
            } else {
                Frame { roots: Roots::Host(&places), ..Frame::new(DT, &FLOOR) }
            });
            if number >= 40 {
                let length = |p: &[DVec3; 5]| (p[1] - p[0]).length() + (p[2] - p[1]).length();
                longest = world.shown(who).iter().map(length).fold(longest, f64::max);
            }
        }
        assert!(longest < 1.16 * f64::from(world.rig.leg()), "{} {speed} {jump}: {longest} m", kind.name());
    }
}
