//! What is shown of characters between two poses, against the same crowd posed in every frame.

#[allow(dead_code)]
#[path = "reference/palette.rs"]
mod palette;
#[path = "support/walkers.rs"]
mod walkers;

use glam::{DMat4, DQuat, DVec3};
use palette::decode;
use throng::content::ClipKind;
use throng::crowd::{
    CrowdConfig, Executor, FlatGround, Frame, Handle, PaletteFormat, PosePair, Serial, Tier, TierConfig,
    Visibility, WorldTransform,
};
use walkers::{Walkers, strict};

const DT: f32 = 1.0 / 60.0;
const KINDS: [ClipKind; 3] = [ClipKind::Walk, ClipKind::Run, ClipKind::TurnLeft];

/// Periods 1, 2, 4, 8, all joints.
fn periods(config: CrowdConfig, feet: bool) -> CrowdConfig {
    let tiers = [1, 2, 4, 8].map(|period| TierConfig { period, feet, ..TierConfig::FULL });
    CrowdConfig { tiers, interpolate: true, ..config }
}

fn frame(world: &mut Walkers, dt: f32, visible: Visibility<'_>, executor: &dyn Executor) {
    let ground = FlatGround::default();
    world.crowd.frame(Frame { visible, ..Frame::new(dt, &ground) }, executor).expect("frame");
}

fn entries(world: &Walkers, handle: Handle) -> usize {
    let (rig, skin) = world.crowd.body(handle).expect("alive");
    world.crowd.rig(rig).skins()[skin].entries().len()
}

/// All entries in the world, as the newest pose has them.
fn written(world: &Walkers, handle: Handle) -> Vec<DMat4> {
    let crowd = &world.crowd;
    let (header, bytes) = crowd.pose(handle).expect("alive");
    let (rig, skin) = crowd.body(handle).expect("alive");
    let range = crowd.palette_range(rig, skin).expect("range");
    let root = DMat4::from_rotation_translation(
        DQuat::from_array(header.rotation.map(f64::from)).normalize(),
        DVec3::from(header.position.map(f64::from)),
    );
    let format = crowd.config().format;
    (0..entries(world, handle)).map(|entry| root * decode(format, bytes, entry, range)).collect()
}

/// All entries in the world, as they are shown.
fn shown(world: &Walkers, handle: Handle) -> Vec<DMat4> {
    let pose = world.crowd.shown_pose(handle).expect("posed");
    let WorldTransform { position, rotation } = pose.root();
    let root = DMat4::from_rotation_translation(
        DQuat::from_array(rotation.map(f64::from)).normalize(),
        DVec3::from(position.map(f64::from)),
    );
    (0..entries(world, handle))
        .map(|entry| {
            let m = pose.matrix(entry).expect("an entry").map(f64::from);
            let column = |k: usize, w: f64| glam::DVec4::new(m[k], m[4 + k], m[8 + k], w);
            root * DMat4::from_cols(column(0, 0.0), column(1, 0.0), column(2, 0.0), column(3, 1.0))
        })
        .collect()
}

/// Where the joints of the skin's entries are: the middle of what each moves, near enough.
fn places(world: &Walkers, handle: Handle, matrices: &[DMat4]) -> Vec<DVec3> {
    let (rig, skin) = world.crowd.body(handle).expect("alive");
    let entries = world.crowd.rig(rig).skins()[skin].entries();
    let back = |at: usize| {
        let entry = &entries[at];
        let linear = glam::DMat3::from_cols_array_2d(&entry.linear.map(|column| column.map(f64::from)));
        linear.inverse() * -DVec3::from(entry.offset.map(f64::from))
    };
    matrices.iter().enumerate().map(|(at, matrix)| matrix.transform_point3(back(at))).collect()
}

#[test]
fn shown_is_between_the_poses_of_a_crowd_that_is_posed_in_every_frame() {
    for format in PaletteFormat::ALL {
        let config = periods(CrowdConfig { format, ..strict() }, false);
        let (mut world, mut twin) = (Walkers::new(config, &KINDS), Walkers::new(config, &KINDS));
        let handles: Vec<Handle> = (0..24).map(|at| world.spawn(at, Tier::ALL[at / 2 % 4])).collect();
        (0..24).for_each(|at| assert_eq!(twin.spawn(at, Tier::Hero), handles[at]));
        let mut past: Vec<Vec<Vec<DMat4>>> = Vec::new();
        let mut worst = 0.0f64;
        for number in 0..40usize {
            // All turn, about a radian a second.
            for (at, &handle) in handles.iter().enumerate() {
                let WorldTransform { position: [x, _, z], .. } =
                    world.crowd.transform(handle).expect("alive");
                let place = WorldTransform::standing(x, z, 0.017 * number as f32 + at as f32);
                for one in [&mut world, &mut twin] {
                    one.crowd.set_transform(handle, place).expect("alive");
                }
            }
            frame(&mut world, DT, Visibility::All, &Serial);
            frame(&mut twin, DT, Visibility::All, &Serial);
            past.push(handles.iter().map(|&handle| written(&twin, handle)).collect());
            if number < 16 {
                continue;
            }
            for (at, &handle) in handles.iter().enumerate() {
                let period = 1 << (at / 2 % 4);
                // Shown so late, between the poses of its turns.
                let now = number + 1 - period;
                let newest = (world.crowd.pose(handle).expect("alive").0.time / DT).round() as usize - 1;
                let before = newest.saturating_sub(period);
                assert!(newest <= number && newest >= now, "{newest} is shown in {number}");
                let factor = if period == 1 { 1.0 } else { (now - before) as f64 / period as f64 };
                let (a, b) = (&past[before][at], &past[newest][at]);
                for (entry, have) in shown(&world, handle).iter().enumerate() {
                    let right = a[entry] * (1.0 - factor) + b[entry] * factor;
                    for k in 0..4 {
                        worst = worst.max((have.col(k) - right.col(k)).length());
                    }
                }
            }
        }
        println!("{}: {worst:.2e}", format.name());
        assert!(worst < if format == PaletteFormat::Snorm16 { 3e-5 } else { 8e-6 }, "{}", format.name());
    }
}

/// A small generator of the same numbers everywhere.
struct Random(u32);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % below
    }
}

#[test]
fn no_joint_jumps_whatever_tiers_and_lanes_become() {
    // Fingers and twists come and go with the tier in the second half.
    let full = |format| periods(CrowdConfig { format, ..strict() }, true);
    let levels = |format| CrowdConfig {
        tiers: [(u8::MAX, 1), (1, 1), (0, 4), (0, 8)].map(|(level, period)| TierConfig {
            level,
            period,
            feet: true,
        }),
        ..full(format)
    };
    let (matrices, quaternions) = (PaletteFormat::Mat3x4, PaletteFormat::QuatTranslation);
    for config in [full(matrices), full(quaternions), levels(matrices), levels(quaternions)] {
        let format = config.format;
        let (mut world, mut twin) = (Walkers::new(config, &KINDS), Walkers::new(config, &KINDS));
        let handles: Vec<Handle> = (0..40).map(|at| world.spawn(at, Tier::Near)).collect();
        (0..40).for_each(|at| assert_eq!(twin.spawn(at, Tier::Hero), handles[at]));
        let mut random = Random(5);
        let mut before: Vec<[Vec<DVec3>; 2]> = Vec::new();
        let (mut fastest, mut fastest_twin) = (vec![0.0f64; 40], vec![0.0f64; 40]);
        for number in 0..160 {
            for _ in 0..random.next(4) {
                let (who, tier) = (handles[random.next(40)], Tier::ALL[random.next(4)]);
                world.crowd.set_tier(who, tier).expect("alive");
            }
            if random.next(20) == 0 {
                world.crowd.pack();
            } else if random.next(5) == 0 {
                world.crowd.pack_some(3);
            }
            frame(&mut world, DT, Visibility::All, &Serial);
            frame(&mut twin, DT, Visibility::All, &Serial);
            for (at, &handle) in handles.iter().enumerate() {
                let now = [&world, &twin].map(|world| places(world, handle, &shown(world, handle)));
                assert!(now.iter().flatten().all(|place| place.is_finite()), "frame {number}, {at}");
                if number > 30 {
                    let step = |k: usize| {
                        let pairs = now[k].iter().zip(&before[at][k]);
                        pairs.map(|(a, b)| a.distance(*b)).fold(0.0, f64::max)
                    };
                    fastest[at] = fastest[at].max(step(0));
                    fastest_twin[at] = fastest_twin[at].max(step(1));
                }
                if before.len() <= at {
                    before.push(now);
                } else {
                    before[at] = now;
                }
            }
        }
        // Fingers that open or close take a quarter of a second; some characters stand still in the end.
        let fades = config.tiers.iter().any(|tier| tier.level == 0);
        let allowed = if fades { 0.004 } else { 1e-5 };
        let over = fastest.iter().zip(&fastest_twin).map(|(a, b)| a - 1.6 * b).fold(f64::MIN, f64::max);
        let ratios = fastest.iter().zip(&fastest_twin).filter(|(_, b)| **b > 1e-3).map(|(a, b)| a / b);
        let ratio = ratios.fold(0.0, f64::max);
        println!("{}: fastest joint {ratio:.2} of what it is without switches, {over:.4} m", format.name());
        assert!(over < allowed && ratio < 1.7, "{}: {ratio}, {over} m", format.name());
    }
}

#[test]
fn who_comes_into_sight_or_is_put_elsewhere_is_shown_there_at_once() {
    let config = periods(strict(), true);
    let mut world = Walkers::new(config, &KINDS);
    let handles: Vec<Handle> = (0..48).map(|at| world.spawn(at, Tier::ALL[at % 4])).collect();
    let mut random = Random(3);
    let mut seen = [true; 48];
    for number in 0..120 {
        let mut bits = [0u64];
        let mut came = Vec::new();
        for at in 0..48 {
            let now = (number / 10 + at) % 3 != 0;
            if now && !seen[at] {
                came.push(at);
            }
            seen[at] = now;
            bits[0] |= u64::from(now) << handles[at].index();
        }
        let moved = random.next(48);
        let far = WorldTransform::standing(1000.0 + number as f32, 50.0, 1.0);
        if number % 3 == 0 {
            world.crowd.teleport(handles[moved], far).expect("alive");
        }
        frame(&mut world, DT, Visibility::Bits(&bits), &Serial);
        for at in came {
            let time = world.crowd.shown_pose(handles[at]).expect("posed").header().time;
            assert!((f64::from(time) - world.crowd.clock()).abs() < 1e-4, "frame {number}, {at}");
        }
        if number % 3 == 0 && seen[moved] {
            let root = world.crowd.shown_pose(handles[moved]).expect("posed").root();
            assert!((root.position[0] - far.position[0]).abs() < 0.2, "frame {number}: {root:?}");
        }
        // Nowhere on the way between two places either.
        for (at, &handle) in handles.iter().enumerate() {
            if let Ok(pose) = world.crowd.shown_pose(handle) {
                let x = pose.root().position[0];
                assert!((-60.0..100.0).contains(&x) || x > 900.0, "frame {number}, {at}: {x}");
            }
        }
    }
}

#[test]
fn what_changes_is_in_the_dirty_ranges_and_pairs_lie_in_their_slots() {
    let config = periods(strict(), true);
    let mut world = Walkers::new(config, &KINDS);
    let handles: Vec<Handle> = (0..64).map(|at| world.spawn(at, Tier::ALL[at / 16])).collect();
    world.crowd.pack();
    let mut random = Random(11);
    let (mut ranges, mut pairs) = (Vec::new(), vec![PosePair::NONE; 64]);
    for number in 0..60 {
        let before = world.crowd.output().to_vec();
        if number > 30 {
            world.crowd.set_tier(handles[random.next(64)], Tier::ALL[random.next(4)]).expect("alive");
        }
        frame(&mut world, DT, Visibility::All, &Serial);
        world.crowd.dirty_ranges(&mut ranges);
        let same = |line: usize| {
            bytemuck::bytes_of(&before[line]) == bytemuck::bytes_of(&world.crowd.output()[line])
        };
        for line in 0..before.len() {
            let dirty = ranges.iter().any(|range| range.contains(&(line as u32)));
            assert!(dirty || same(line), "frame {number}, line {line}");
        }
        let written: u32 = ranges.iter().map(|range| range.end - range.start).sum();
        if number > 1 && number <= 30 {
            // A pose, and what belongs to it, for each that has a turn: 16 + 8 + 4 + 2 of 64, a block at a time.
            assert!(written as usize <= before.len() * 6 / 10, "{written} of {}", before.len());
        }
        world.crowd.pose_pairs_into(&mut pairs).expect("room");
        for &handle in &handles {
            let PosePair { previous, next, factor, corrections } = pairs[handle.index()];
            let first = world.crowd.slot_line(handle).expect("alive");
            let half = entries(&world, handle).div_ceil(4) as u32 * 3 + 1;
            for line in [previous, next] {
                assert!(line == first || line == first + half, "{line} for {first} + {half}");
            }
            assert!((0.0..=1.0).contains(&factor) && (factor < 1.0) == (previous != next));
            assert_eq!(corrections, first + 2 * half);
        }
    }
}

#[test]
fn threads_and_snapshots_change_no_bit_of_what_is_shown() {
    let config = periods(strict(), true);
    let make = || {
        let mut world = Walkers::new(config, &KINDS);
        let handles: Vec<Handle> = (0..80).map(|at| world.spawn(at, Tier::ALL[at % 4])).collect();
        (world, handles)
    };
    let ((mut one, handles), (mut other, _)) = (make(), make());
    #[cfg(feature = "rayon")]
    let executor = throng::crowd::Rayon;
    #[cfg(not(feature = "rayon"))]
    let executor = Serial;
    let mut random = Random(9);
    for number in 0..60 {
        for _ in 0..4 {
            let (who, tier) = (handles[random.next(80)], Tier::ALL[random.next(4)]);
            one.crowd.set_tier(who, tier).expect("alive");
            other.crowd.set_tier(who, tier).expect("alive");
        }
        frame(&mut one, DT, Visibility::All, &Serial);
        frame(&mut other, DT, Visibility::All, &executor);
        if number % 13 == 7 {
            let bytes = other.crowd.snapshot();
            let (mut fresh, _) = make();
            fresh.crowd.restore(&bytes).expect("restored");
            other = fresh;
        }
        for &handle in &handles {
            let [a, b] = [&one, &other].map(|world| world.crowd.pose_pair(handle).expect("alive"));
            assert_eq!(a, b);
            assert_eq!(shown(&one, handle), shown(&other, handle), "frame {number}");
        }
    }
}

#[test]
fn another_origin_moves_what_is_shown_and_nothing_else() {
    let config = periods(strict(), true);
    let mut world = Walkers::new(config, &KINDS);
    let handles: Vec<Handle> = (0..32).map(|at| world.spawn(at, Tier::ALL[at % 4])).collect();
    for _ in 0..21 {
        frame(&mut world, DT, Visibility::All, &Serial);
    }
    let before: Vec<_> = handles.iter().map(|&handle| shown(&world, handle)).collect();
    world.crowd.rebase([64.0, 0.0, -32.0]).expect("rebased");
    for (at, &handle) in handles.iter().enumerate() {
        for (a, b) in before[at].iter().zip(shown(&world, handle)) {
            let moved = a.w_axis.truncate() - DVec3::new(64.0, 0.0, -32.0);
            assert!(moved.distance(b.w_axis.truncate()) < 2e-5);
        }
    }
}

#[test]
fn sockets_and_joints_are_where_the_shown_pose_has_them() {
    let config = periods(strict(), true);
    let mut world = Walkers::new(config, &KINDS);
    let handles: Vec<Handle> = (0..16).map(|at| world.spawn(at, Tier::ALL[at % 4])).collect();
    for _ in 0..19 {
        frame(&mut world, DT, Visibility::All, &Serial);
    }
    for &handle in &handles {
        let (rig, skin) = world.crowd.body(handle).expect("alive");
        let matrices = shown(&world, handle);
        let places = places(&world, handle, &matrices);
        let entries: Vec<u16> =
            world.crowd.rig(rig).skins()[skin].entries().iter().map(|entry| entry.joint).collect();
        for (at, joint) in entries.into_iter().enumerate() {
            let joint = world.crowd.joint_world(handle, joint).expect("kept");
            let place = DVec3::from(joint.position.map(f64::from));
            // The joint is where the skin's constant is the origin.
            assert!(place.distance(places[at]) < 2e-5, "{place} for {}", places[at]);
        }
    }
}
