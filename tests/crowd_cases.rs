//! Cases of feet, root motion, blending and bad input, each a small scene with a known right value.

mod reference;

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use glam::{DMat4, DQuat, DVec3};
use reference::palette::decode;
use reference::random::{Rng, shaped, tree};
use reference::terrain::Terrain;
use throng::clip::{BoundClip, MotionKeys};
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Ground, Handle, PaletteFormat, Play, Probes, Roots, Serial,
    WorldTransform,
};
use throng::lanes::{BLOCK, Row, Simd};
use throng::retarget::{BindSource, bind};
use throng::rig::{Leg, RawCharacter, ReferencePose, Rig, RigSource, Role, RoleMap, Side, Topology};

/// An adult without skins: palette entries are the topology's joints.
fn adult() -> (BuiltIn, Rig) {
    let mut built = content::character(RigKind::Aligned, &BodyPlan::adult());
    built.character.skins.clear();
    built.character.meshes.clear();
    let rig = Rig::build(&built.rig_source()).expect("rig");
    (built, rig)
}

fn still(topology: &Topology) -> MotionKeys {
    MotionKeys {
        name: "still".into(),
        duration: 1.0,
        looping: true,
        rotations: vec![DQuat::IDENTITY; 2 * topology.len()],
        pelvis: vec![DVec3::ZERO; 2],
        root: vec![[0.0; 3]; 2],
        contact: vec![[1.0; 2]; 2],
        contacts: None,
        ..MotionKeys::default()
    }
}

/// Standing with both knees bent forward by `2 * angle`, feet flat, pelvis down accordingly.
fn crouched(topology: &Topology, angle: f64) -> MotionKeys {
    let mut keys = still(topology);
    for key in 0..2 {
        for leg in topology.legs() {
            for (joint, turn) in [(leg.thigh, -angle), (leg.shin, 2.0 * angle), (leg.foot, -angle)] {
                keys.rotations[key * topology.len() + usize::from(joint)] = DQuat::from_rotation_x(turn);
            }
        }
        keys.pelvis[key].y = angle.cos() - 1.0;
    }
    keys
}

struct One {
    crowd: Crowd,
    rig: Rig,
    handle: Handle,
}

impl One {
    fn new(rig: &Rig, keys: &MotionKeys, place: WorldTransform) -> Self {
        let bound = BoundClip::build(rig.topology(), keys).expect("keys");
        Self::playing(rig, bound, place)
    }

    fn playing(rig: &Rig, bound: BoundClip, place: WorldTransform) -> Self {
        let mut crowd = Crowd::new(CrowdConfig::default());
        let id = crowd.add_rig(rig.clone()).expect("rig");
        let clip = crowd.add_clip(bound).expect("clip");
        let handle = crowd.spawn(id, 0, place, &[Play::new(clip)]).expect("spawn");
        Self { crowd, rig: rig.clone(), handle }
    }

    fn frame(&mut self, dt: f32, roots: Roots<'_>, ground: &dyn Ground) {
        self.crowd.frame(Frame { roots, ..Frame::new(dt, ground) }, &Serial).expect("frame");
    }

    /// Rotation since the reference and position relative to the root, of each joint.
    fn joints(&self) -> Vec<(DMat4, DVec3)> {
        let (_, palette) = self.crowd.pose(self.handle).expect("alive");
        (0..self.rig.topology().len())
            .map(|joint| {
                let matrix = decode(PaletteFormat::Mat3x4, palette, joint, 1.0);
                (matrix, matrix.transform_point3(self.rig.positions()[joint]))
            })
            .collect()
    }

    /// Heel and ball of a leg in the world.
    fn sole(&self, leg: usize) -> [DVec3; 2] {
        let joints = self.joints();
        let foot = usize::from(self.rig.topology().legs()[leg].foot);
        let sole = self.rig.soles()[leg];
        [sole.heel, sole.ball].map(|point| {
            let point = DVec3::from_array(point.map(f64::from));
            self.world(joints[foot].1 + joints[foot].0.transform_vector3(point))
        })
    }

    fn world(&self, point: DVec3) -> DVec3 {
        let (header, _) = self.crowd.pose(self.handle).expect("alive");
        let turn = DQuat::from_array(header.rotation.map(f64::from));
        DVec3::from_array(header.position.map(f64::from)) + turn * point
    }

    fn assert_sound(&self, what: &str) {
        for (joint, (matrix, position)) in self.joints().iter().enumerate() {
            assert!(matrix.is_finite() && position.is_finite(), "{what}: joint {joint} {matrix}");
            let columns = [matrix.x_axis, matrix.y_axis, matrix.z_axis].map(|c| c.truncate());
            for (a, b) in [(0, 1), (1, 2), (2, 0)] {
                assert!(columns[a].dot(columns[b]).abs() < 1e-5, "{what}: joint {joint} is sheared");
                assert!((columns[a].length() - 1.0).abs() < 1e-5, "{what}: joint {joint} is scaled");
            }
        }
        for leg in self.rig.topology().legs() {
            for (a, b) in [(leg.thigh, leg.shin), (leg.shin, leg.foot)] {
                let joints = self.joints();
                let have = joints[usize::from(a)].1.distance(joints[usize::from(b)].1);
                let right =
                    self.rig.positions()[usize::from(a)].distance(self.rig.positions()[usize::from(b)]);
                assert!((have - right).abs() < 1e-5, "{what}: bone of {have} for {right}");
            }
        }
    }
}

/// C43: what comes out is never what goes in.
#[test]
fn constant_input_gives_the_same_bits_for_ten_thousand_frames() {
    let (_, rig) = adult();
    let mut one = One::new(&rig, &crouched(rig.topology(), 0.3), WorldTransform::standing(0.3, -0.2, 0.7));
    let ground = Terrain::Slope(0.2, -0.1);
    let mut first: Option<Vec<u8>> = None;
    for frame in 0..10_000 {
        one.frame(1.0 / 60.0, Roots::OnGround, &ground);
        let palette = one.crowd.pose(one.handle).expect("alive").1;
        match &first {
            Some(first) => assert!(first == palette, "frame {frame} differs"),
            None => first = Some(palette.to_vec()),
        }
    }
}

/// C43: no ground, no change.
#[test]
fn without_ground_the_pose_is_the_animated_one() {
    let (_, rig) = adult();
    for angle in [0.0, 0.01, 0.5] {
        let keys = crouched(rig.topology(), angle);
        let mut one = One::new(&rig, &keys, WorldTransform::standing(2.0, 3.0, 1.0));
        one.frame(0.02, Roots::Free, &Terrain::Nothing);
        let joints = one.joints();
        for leg in rig.topology().legs() {
            for (joint, turn) in [(leg.thigh, -angle), (leg.shin, angle), (leg.foot, 0.0)] {
                let right = DMat4::from_rotation_x(turn);
                let off = (joints[usize::from(joint)].0 - right).to_cols_array()[..12]
                    .iter()
                    .fold(0.0f64, |worst, v| worst.max(v.abs()));
                // Steps of 16 bits, of three joints.
                assert!(off < 8e-5, "angle {angle}: {off:e}");
            }
        }
    }
}

/// A root that jumps is followed smoothly, but not for ever behind: without a foot on the ground, and for bodies
/// without feet, the pelvis comes back to its animated place over the root.
#[test]
fn a_root_that_steps_up_without_feet_on_ground_is_caught_up_with() {
    let (stick, topology) = stick();
    let (_, adult) = adult();
    for (rig, keys, ground, what) in [
        (&stick, still(&topology), &FlatGround { height: 0.0 } as &dyn Ground, "no legs"),
        (&adult, still(adult.topology()), &Terrain::Nothing, "no ground"),
    ] {
        let mut one = One::new(rig, &keys, WorldTransform::IDENTITY);
        let above = |one: &One| {
            let pelvis = usize::from(one.rig.topology().pelvis());
            one.joints()[pelvis].1.y - one.rig.positions()[pelvis].y
        };
        one.frame(0.02, Roots::Free, ground);
        assert!(above(&one).abs() < 1e-4, "{what}: at rest it is {} m off", above(&one));
        let up = WorldTransform { position: [0.0, 0.4, 0.0], ..WorldTransform::IDENTITY };
        one.crowd.set_transform(one.handle, up).expect("alive");
        one.frame(0.02, Roots::Free, ground);
        assert!(above(&one) < -0.1, "{what}: the step is smoothed, {} m", above(&one));
        for _ in 0..100 {
            one.frame(0.02, Roots::Free, ground);
        }
        assert!(above(&one).abs() < 1e-3, "{what}: after two seconds it is still {} m off", above(&one));
    }
}

/// C44: targets on the hip, far above and far below; legs bend to the front.
#[test]
fn degenerate_targets_are_solved_soundly() {
    let (_, rig) = adult();
    for angle in [0.0, 0.2] {
        for height in [-50.0, -2.0, -0.3, 0.0, 0.3, 0.7, 0.85, 0.9, 0.95, 1.2, 50.0, 1e6, -1e6, 1e30, -1e30] {
            let keys = crouched(rig.topology(), angle);
            let mut one = One::new(&rig, &keys, WorldTransform::IDENTITY);
            for _ in 0..3 {
                one.frame(0.02, Roots::Free, &FlatGround { height });
                one.assert_sound(&format!("angle {angle}, ground at {height}"));
            }
            if (0.1..0.8).contains(&height) {
                let joints = one.joints();
                for Leg { thigh, shin, foot, .. } in rig.topology().legs() {
                    let [hip, knee, ankle] = [thigh, shin, foot].map(|j| joints[usize::from(*j)].1);
                    let aside =
                        knee - hip - (ankle - hip).normalize() * (knee - hip).dot((ankle - hip).normalize());
                    assert!(aside.z > 0.0, "angle {angle}, ground at {height}: the knee bends back");
                }
            }
            // And back: nothing stays broken.
            one.crowd.teleport(one.handle, WorldTransform::IDENTITY).expect("teleport");
            one.frame(0.02, Roots::Free, &FlatGround { height: 0.0 });
            for leg in 0..2 {
                for point in one.sole(leg) {
                    // The crouched pose itself holds its heels half a centimetre up.
                    assert!(point.y.abs() < 6e-3, "angle {angle}, after {height}: {point}");
                }
            }
        }
    }
}

/// C51: up and down a slope of 20 degrees, sole on it and heel and toe too.
#[test]
fn soles_lie_on_slopes_up_and_down() {
    let (_, rig) = adult();
    let rise = 20f64.to_radians().tan();
    for yaw in [0.0, PI, FRAC_PI_2, FRAC_PI_4] {
        let keys = crouched(rig.topology(), 0.35);
        let mut one = One::new(&rig, &keys, WorldTransform::standing(0.0, 0.0, yaw as f32));
        for _ in 0..60 {
            one.frame(1.0 / 60.0, Roots::OnGround, &Terrain::Slope(0.0, rise));
        }
        let normal = DVec3::new(0.0, 1.0, -rise).normalize();
        for leg in 0..2 {
            let [heel, ball] = one.sole(leg);
            for point in [heel, ball] {
                assert!(point.dot(normal).abs() < 0.01, "yaw {yaw}, leg {leg}: {} m", point.dot(normal));
            }
            let angle = (ball - heel).normalize().dot(normal).asin().to_degrees();
            assert!(angle.abs() < 2.0, "yaw {yaw}, leg {leg}: {angle} degrees");
        }
    }
}

/// C52: steps of a foot that is locked or let go are those of the animation and a bounded decay.
#[test]
fn locking_and_letting_go_do_not_pop_at_any_frame_rate() {
    let (built, rig) = adult();
    let reference = built.reference();
    let source =
        BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    let leg = f64::from(rig.leg());
    for kind in [ClipKind::Walk, ClipKind::Run] {
        let bound = bind(source, &content::clip(kind, &built), &rig).expect("bound");
        for rate in [30.0, 60.0, 90.0, 144.0] {
            let dt = 1.0 / rate;
            // A slip that the animation does not know: the root is dragged sideways by half the lock's reach.
            let mut solved = One::playing(&rig, bound.clone(), WorldTransform::IDENTITY);
            let mut animated = One::playing(&rig, bound.clone(), WorldTransform::IDENTITY);
            let mut last: Option<[DVec3; 4]> = None;
            for frame in 0..(3.0 * rate) as usize {
                for one in [&mut solved, &mut animated] {
                    let mut place = one.crowd.transform(one.handle).expect("alive");
                    place.position[0] += (0.2 * dt * (3.0 * frame as f64 * dt).sin()) as f32;
                    one.crowd.set_transform(one.handle, place).expect("set");
                }
                solved.frame(dt as f32, Roots::Free, &FlatGround::default());
                animated.frame(dt as f32, Roots::Free, &Terrain::Nothing);
                let balls = [solved.sole(0)[1], solved.sole(1)[1], animated.sole(0)[1], animated.sole(1)[1]];
                if let Some(last) = last {
                    for foot in 0..2 {
                        let flat = |v: DVec3| v.x.hypot(v.z);
                        let own = flat(balls[foot] - last[foot]);
                        let given = flat(balls[foot + 2] - last[foot + 2]);
                        let held = flat(last[foot] - last[foot + 2]);
                        // A released offset decays by its half-life of 50 ms; 5 mm for turning the foot.
                        let decay = held * (1.0 - (-dt / 0.05f64).exp2());
                        assert!(
                            own <= given + decay + 0.005,
                            "{kind:?} at {rate} Hz, frame {frame}: {own} m, animated {given}, decay {decay}"
                        );
                        assert!(held < 0.23 * leg, "held {held} m away");
                    }
                }
                last = Some(balls);
            }
        }
    }
}

/// A leg-less rig of three joints in a row.
fn stick() -> (Rig, Topology) {
    let tree = reference::random::Tree {
        parents: vec![None, Some(0), Some(1)],
        roles: RoleMap::new(),
        names: ["a", "b", "c"].map(String::from).to_vec(),
    };
    let positions = [DVec3::Y, DVec3::Y * 1.5, DVec3::Y * 2.0];
    let character: RawCharacter = shaped(&tree, &positions, &[DQuat::IDENTITY; 3]);
    let roles = RoleMap::new();
    let reference = ReferencePose::rest(&character.skeleton);
    let rig = Rig::build(&RigSource { character: &character, roles: &roles, reference, soles: [None; 2] })
        .expect("rig");
    let topology = rig.topology().clone();
    (rig, topology)
}

fn turned(topology: &Topology, joint: usize, q: DQuat) -> MotionKeys {
    let mut keys = still(topology);
    for key in 0..2 {
        keys.rotations[key * topology.len() + joint] = q;
    }
    keys
}

/// C17: a sweep past half a turn between two clips does not jump.
#[test]
fn blending_stays_on_the_side_of_the_reference_pose() {
    let (rig, topology) = stick();
    let blend = |degrees: f64| -> f64 {
        let mut crowd = Crowd::new(CrowdConfig::default());
        let id = crowd.add_rig(rig.clone()).expect("rig");
        let plays = [-90.0, degrees].map(|angle: f64| {
            let keys = turned(&topology, 1, DQuat::from_rotation_x(angle.to_radians()));
            let bound = BoundClip::build(&topology, &keys).expect("keys");
            Play::new(crowd.add_clip(bound).expect("clip"))
        });
        let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &plays).expect("spawn");
        let frame = Frame { roots: Roots::Free, ..Frame::new(0.0, &Terrain::Nothing) };
        crowd.frame(frame, &Serial).expect("frame");
        let matrix = decode(PaletteFormat::Mat3x4, crowd.pose(handle).expect("alive").1, 1, 1.0);
        matrix.y_axis.z.atan2(matrix.y_axis.y).to_degrees()
    };
    let mut last: Option<f64> = None;
    for step in 0..=60 {
        let angle = blend(60.25 + f64::from(step));
        if let Some(last) = last {
            assert!((angle - last).abs() < 0.51, "step {step}: from {last} to {angle}");
        }
        last = Some(angle);
    }
    assert!((blend(100.0) - 5.0).abs() < 0.01, "{}", blend(100.0));
}

/// C17: bits do not depend on the order of a character's clips.
#[test]
fn the_order_of_clips_does_not_matter_to_a_bit() {
    let (rig, topology) = stick();
    let mut rng = Rng::new(5);
    let mut crowd = Crowd::new(CrowdConfig::default());
    let id = crowd.add_rig(rig).expect("rig");
    let plays: Vec<Play> = [0.5, 0.125, 0.25, 0.125]
        .iter()
        .map(|&weight| {
            let mut keys = still(&topology);
            keys.rotations = (0..6).map(|_| rng.rotation()).collect();
            let bound = BoundClip::build(&topology, &keys).expect("keys");
            Play { weight, time: 0.3 + weight, ..Play::new(crowd.add_clip(bound).expect("clip")) }
        })
        .collect();
    let mut handles = Vec::new();
    for first in 0..4 {
        for swap in 0..4 {
            let mut plays = plays.clone();
            plays.rotate_left(first);
            plays.swap(0, swap);
            handles.push(crowd.spawn(id, 0, WorldTransform::IDENTITY, &plays).expect("spawn"));
        }
    }
    let frame = Frame { roots: Roots::Free, ..Frame::new(0.02, &Terrain::Nothing) };
    crowd.frame(frame, &Serial).expect("frame");
    let first = crowd.pose(handles[0]).expect("alive").1;
    for &handle in &handles {
        assert!(crowd.pose(handle).expect("alive").1 == first);
    }
}

/// A clip whose root follows `poses` (x, z in metres, yaw), on a rig whose leg is `leg` long.
fn travelling(topology: &Topology, leg: f64, poses: &[[f64; 3]], seconds: f64, looping: bool) -> BoundClip {
    let mut keys = still(topology);
    let count = poses.len();
    keys.looping = looping;
    keys.duration = seconds;
    keys.rotations = vec![DQuat::IDENTITY; count * topology.len()];
    keys.pelvis = vec![DVec3::ZERO; count];
    keys.contact = vec![[0.0; 2]; count];
    keys.root = poses.iter().map(|[x, z, yaw]| [x / leg, z / leg, *yaw]).collect();
    BoundClip::build(topology, &keys).expect("keys")
}

fn run(one: &mut One, dt: f32, seconds: f32) -> WorldTransform {
    let mut left = seconds;
    while left > 1e-5 {
        one.frame(dt.min(left), Roots::Free, &Terrain::Nothing);
        left -= dt;
    }
    one.crowd.transform(one.handle).expect("alive")
}

fn yaw(place: WorldTransform) -> f64 {
    2.0 * f64::from(place.rotation[1]).atan2(place.rotation[3].into())
}

/// C55, C56: a quarter turn is one whatever the steps, counted once to its end, and nothing after.
#[test]
fn a_turn_that_does_not_loop_is_whole_after_any_steps() {
    let (rig, topology) = stick();
    for keys in [2, 31] {
        let poses: Vec<_> =
            (0..keys).map(|k| [0.0, 0.0, FRAC_PI_2 * f64::from(k) / f64::from(keys - 1)]).collect();
        for dt in [1.0 / 60.0, 1.0 / 37.0, 0.3, 1.0, 1.0 / 19.9999] {
            let bound = travelling(&topology, 1.0, &poses, 1.0, false);
            let mut one = One::playing(&rig, bound, WorldTransform::IDENTITY);
            let place = run(&mut one, dt, 1.5);
            assert!((yaw(place).to_degrees() - 90.0).abs() < 0.01, "dt {dt}: {}", yaw(place).to_degrees());
            one.frame(dt, Roots::Free, &Terrain::Nothing);
            let after = one.crowd.root_motion(one.handle).expect("alive");
            assert_eq!((after.x, after.z, after.yaw), (0.0, 0.0, 0.0), "dt {dt}");
        }
    }
}

/// C55: one long frame reports what it moved, however far it turned.
#[test]
fn a_long_frame_reports_its_whole_motion() {
    let (rig, topology) = stick();
    for seconds in [1.0f64, 3.0, 6.0, 9.0] {
        // A metre and a quarter turn a second, round and round.
        let arc = |t: f64| {
            let angle = FRAC_PI_2 * t;
            [(1.0 - angle.cos()) / FRAC_PI_2, angle.sin() / FRAC_PI_2, angle]
        };
        let poses: Vec<_> = (0..31).map(|k| arc(f64::from(k) / 30.0)).collect();
        let leg = f64::from(rig.leg());
        let bound = travelling(&topology, leg, &poses, 1.0, true);
        let mut one = One::playing(&rig, bound, WorldTransform::IDENTITY);
        one.frame(seconds as f32, Roots::Free, &Terrain::Nothing);
        let [x, z, turn] = arc(seconds);
        let have = one.crowd.root_motion(one.handle).expect("alive");
        let off = (f64::from(have.x) - x).hypot(f64::from(have.z) - z);
        assert!(off < 1e-3, "{seconds} s: reported {have:?}, right {x} {z} {turn}");
        assert!((f64::from(have.yaw) - turn).abs() < 1e-4, "{seconds} s: {have:?}");
        let place = one.crowd.transform(one.handle).expect("alive").position;
        let off = (f64::from(place[0]) - x).hypot(f64::from(place[2]) - z);
        assert!(off < 1e-3, "{seconds} s: at {place:?}, right {x} {z}");
    }
}

/// C57: starting or seeking in the middle moves nothing by itself.
#[test]
fn a_seek_emits_no_motion() {
    let (rig, topology) = stick();
    let poses: Vec<_> = (0..31).map(|k| [0.0, (f64::from(k) / 30.0).powi(2), 0.0]).collect();
    let leg = f64::from(rig.leg());
    let bound = travelling(&topology, leg, &poses, 1.0, false);
    let mut crowd = Crowd::new(CrowdConfig::default());
    let id = crowd.add_rig(rig.clone()).expect("rig");
    let clip = crowd.add_clip(bound).expect("clip");
    let half = Play { time: 0.5, ..Play::new(clip) };
    let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[half]).expect("spawn");
    let mut one = One { crowd, rig, handle };
    one.frame(0.0, Roots::Free, &Terrain::Nothing);
    assert_eq!(one.crowd.transform(handle).expect("alive").position, [0.0; 3]);
    one.frame(0.1, Roots::Free, &Terrain::Nothing);
    let moved = f64::from(one.crowd.root_motion(handle).expect("alive").z);
    assert!((moved - (0.36 - 0.25)).abs() < 1e-3, "{moved}");
    one.crowd.set_clips(handle, &[Play { time: 0.9, ..half }]).expect("seek");
    one.frame(0.0, Roots::Free, &Terrain::Nothing);
    assert_eq!(one.crowd.root_motion(handle).expect("alive").z, 0.0);
}

/// C59: a metre ahead, a quarter turn to the left, a metre ahead.
#[test]
fn ahead_turn_ahead_ends_at_one_one() {
    let (rig, topology) = stick();
    let leg = f64::from(rig.leg());
    let poses: Vec<_> = (0..=90)
        .map(|k| match f64::from(k) / 30.0 {
            u if u <= 1.0 => [0.0, u, 0.0],
            u if u <= 2.0 => [0.0, 1.0, (u - 1.0) * FRAC_PI_2],
            u => [u - 2.0, 1.0, FRAC_PI_2],
        })
        .collect();
    for dt in [1.0 / 60.0, 1.0 / 37.0, 0.3, 1.0, 3.0] {
        let bound = travelling(&topology, leg, &poses, 3.0, false);
        // The same clip twice is the same clip.
        let mut crowd = Crowd::new(CrowdConfig::default());
        let id = crowd.add_rig(rig.clone()).expect("rig");
        let clip = crowd.add_clip(bound.clone()).expect("clip");
        let twice = [Play { weight: 0.3, ..Play::new(clip) }, Play { weight: 0.7, ..Play::new(clip) }];
        let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &twice).expect("spawn");
        let blended = One { crowd, rig: rig.clone(), handle };
        for mut one in [One::playing(&rig, bound, WorldTransform::IDENTITY), blended] {
            let place = run(&mut one, dt, 3.2);
            let [x, _, z] = place.position.map(f64::from);
            assert!((x - 1.0).abs() < 1e-3 && (z - 1.0).abs() < 1e-3, "dt {dt}: {x} {z}");
            assert!((yaw(place) - FRAC_PI_2).abs() < 1e-3, "dt {dt}");
        }
    }
}

/// Bad answers for one character, good ones for the rest.
struct Spoilt {
    victim: u32,
    height: f32,
    normal: [f32; 3],
}

impl Ground for Spoilt {
    fn probe(&self, _simd: Simd, probes: &mut Probes) {
        for probe in 0..probes.count {
            for lane in 0..BLOCK {
                let bad = probes.characters[lane] == self.victim;
                let (height, normal) = if bad { (self.height, self.normal) } else { (0.1, [0.0, 1.0, 0.0]) };
                probes.height[probe].0[lane] = height;
                (0..3).for_each(|k| probes.normal[probe][k].0[lane] = normal[k]);
                probes.hit[probe] = Row::ONE;
            }
        }
    }
}

#[test]
fn bad_ground_stays_with_one_character() {
    let (_, rig) = adult();
    let frame_on = |ground: &dyn Ground| -> Vec<Vec<u8>> {
        let mut crowd = Crowd::new(CrowdConfig::default());
        let id = crowd.add_rig(rig.clone()).expect("rig");
        let bound = BoundClip::build(rig.topology(), &crouched(rig.topology(), 0.3)).expect("keys");
        let clip = crowd.add_clip(bound).expect("clip");
        let handles: Vec<Handle> = (0..16)
            .map(|at| {
                let place = WorldTransform::standing(at as f32, 0.0, at as f32);
                crowd.spawn(id, 0, place, &[Play::new(clip)]).expect("spawn")
            })
            .collect();
        for _ in 0..5 {
            let frame = Frame::new(0.02, ground);
            crowd.frame(frame, &Serial).expect("frame");
        }
        handles.iter().map(|&handle| crowd.pose(handle).expect("alive").1.to_vec()).collect()
    };
    let good = frame_on(&FlatGround { height: 0.1 });
    let up = [0.0, 1.0, 0.0];
    for (height, normal) in [
        (f32::NAN, up),
        (f32::INFINITY, up),
        (f32::NEG_INFINITY, up),
        (f32::MAX, up),
        (f32::MIN, up),
        (0.1, [f32::NAN, 1.0, 0.0]),
        (0.1, [0.0, f32::INFINITY, 0.0]),
        (0.1, [0.0, 0.0, 0.0]),
        (0.1, [0.0, -1.0, 0.0]),
        (0.1, [1e30, 1e30, 1e30]),
        (0.1, [1.0, 0.0, 0.0]),
    ] {
        let spoilt = frame_on(&Spoilt { victim: 5, height, normal });
        for (at, (a, b)) in good.iter().zip(&spoilt).enumerate() {
            if at == 5 {
                for value in bytemuck::pod_collect_to_vec::<u8, f32>(b) {
                    assert!(value.is_finite(), "{height} {normal:?}: the pose is not finite");
                }
            } else {
                assert!(a == b, "{height} {normal:?}: character {at} is affected");
            }
        }
    }
}

#[test]
fn bad_input_is_refused_and_changes_nothing() {
    let (rig, topology) = stick();
    let mut crowd = Crowd::new(CrowdConfig::default());
    let id = crowd.add_rig(rig).expect("rig");
    let bound = BoundClip::build(&topology, &still(&topology)).expect("keys");
    let clip = crowd.add_clip(bound).expect("clip");
    let play = Play::new(clip);
    let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[play]).expect("spawn");
    let moved = |position, rotation| WorldTransform { position, rotation };
    for bad in [
        moved([f32::NAN, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]),
        moved([0.0, f32::INFINITY, 0.0], [0.0, 0.0, 0.0, 1.0]),
        moved([0.0; 3], [f32::NAN, 0.0, 0.0, 1.0]),
        moved([0.0; 3], [0.0; 4]),
    ] {
        assert!(crowd.spawn(id, 0, bad, &[play]).is_err());
        assert!(crowd.set_transform(handle, bad).is_err());
        assert!(crowd.teleport(handle, bad).is_err());
        // From a host's array it is left out.
        let frame = Frame { roots: Roots::Host(&[bad]), ..Frame::new(0.01, &Terrain::Nothing) };
        crowd.frame(frame, &Serial).expect("frame");
        assert_eq!(crowd.transform(handle).expect("alive"), WorldTransform::IDENTITY);
    }
    for bad in [
        Play { time: f32::NAN, ..play },
        Play { weight: f32::NAN, ..play },
        Play { weight: -1.0, ..play },
        Play { weight: f32::INFINITY, ..play },
        Play { speed: f32::NAN, ..play },
    ] {
        assert!(crowd.set_clips(handle, &[bad]).is_err(), "{bad:?}");
        assert!(crowd.spawn(id, 0, WorldTransform::IDENTITY, &[bad]).is_err(), "{bad:?}");
    }
    assert!(crowd.set_clips(handle, &[play; 5]).is_err());
    assert!(crowd.spawn(id, 1, WorldTransform::IDENTITY, &[play]).is_err());
    for dt in [f32::NAN, -0.1, f32::INFINITY] {
        let frame = Frame { roots: Roots::Free, ..Frame::new(dt, &Terrain::Nothing) };
        assert!(crowd.frame(frame, &Serial).is_err());
    }
    assert_eq!(crowd.len(), 1);
}

#[test]
fn stale_handles_are_refused() {
    let (rig, topology) = stick();
    let mut crowd = Crowd::new(CrowdConfig::default());
    let id = crowd.add_rig(rig).expect("rig");
    let bound = BoundClip::build(&topology, &still(&topology)).expect("keys");
    let play = Play::new(crowd.add_clip(bound).expect("clip"));
    let old = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[play]).expect("spawn");
    let other = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[play]).expect("spawn");
    crowd.despawn(old).expect("despawn");
    let new = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[play]).expect("spawn");
    assert_eq!(old.index(), new.index());
    assert_ne!(old, new);
    assert!(crowd.pose(old).is_err());
    assert!(crowd.despawn(old).is_err());
    assert!(crowd.set_clips(old, &[play]).is_err());
    assert!(crowd.set_transform(old, WorldTransform::IDENTITY).is_err());
    assert!(
        crowd.transform(old).is_err() && crowd.root_motion(old).is_err() && crowd.slot_line(old).is_err()
    );
    assert!(crowd.pose(new).is_ok() && crowd.pose(other).is_ok());
    assert_eq!(crowd.handles().collect::<Vec<_>>(), [new, other]);
}

/// More topologies than a frame has jobs: all of them move.
#[test]
fn every_topology_is_run() {
    let (_, adult) = adult();
    let mut crowd = Crowd::new(CrowdConfig::default());
    let mut handles = Vec::new();
    for count in 0..150 {
        let tree = tree(&mut Rng::new(1), 3 + count, 0);
        let positions: Vec<DVec3> = (0..tree.parents.len()).map(|k| DVec3::Y * (1.0 + k as f64)).collect();
        let character = shaped(&tree, &positions, &vec![DQuat::IDENTITY; positions.len()]);
        let roles = RoleMap::new();
        let reference = ReferencePose::rest(&character.skeleton);
        let source = RigSource { character: &character, roles: &roles, reference, soles: [None; 2] };
        let id = crowd.add_rig(Rig::build(&source).expect("rig")).expect("rig");
        handles.push(crowd.spawn(id, 0, WorldTransform::IDENTITY, &[]).expect("spawn"));
    }
    let frame = Frame { roots: Roots::Free, ..Frame::new(0.5, &Terrain::Nothing) };
    crowd.frame(frame, &Serial).expect("frame");
    for handle in handles {
        let (header, palette) = crowd.pose(handle).expect("alive");
        assert_eq!(header.time, 0.5);
        assert_eq!(decode(PaletteFormat::Mat3x4, palette, 0, 1.0), DMat4::IDENTITY);
    }
    assert!(adult.topology().joint(Role::Foot(Side::Left)).is_some());
}
