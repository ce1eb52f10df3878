//! Tiers and visibility: what is left out, what is held, and that nobody else notices.

#[allow(dead_code)]
#[path = "reference/palette.rs"]
mod palette;
#[path = "support/walkers.rs"]
mod walkers;

use glam::{DMat3, DMat4, DVec3};
use palette::decode;
use throng::content::ClipKind;
use throng::crowd::{
    CrowdConfig, FlatGround, Frame, Ground, Handle, Probes, Roots, Serial, Tier, TierConfig, Visibility,
    WorldTransform,
};
use throng::lanes::{BLOCK, Row, Simd};
use throng::rig::{Rig, SkinEntry};
use walkers::{Walkers, bodies, strict};

const DT: f32 = 1.0 / 60.0;

/// Rises by a tenth along x.
struct Slope;

impl Ground for Slope {
    fn probe(&self, _: Simd, probes: &mut Probes) {
        let normal = DVec3::new(-0.1, 1.0, 0.0).normalize();
        for probe in 0..probes.count {
            let x = probes.x[probe];
            probes.height[probe] = Row(core::array::from_fn(|lane| 0.1 * x.0[lane]));
            probes.normal[probe] = [Row::splat(normal.x as f32), Row::splat(normal.y as f32), Row::ZERO];
            probes.hit[probe] = Row::ONE;
        }
    }
}

fn frame(world: &mut Walkers, visible: Visibility<'_>) {
    world.crowd.frame(Frame { visible, ..Frame::new(DT, &Slope) }, &Serial).expect("frame");
}

fn bytes(world: &Walkers, handle: Handle) -> Vec<u8> {
    let (header, palette) = world.crowd.pose(handle).expect("alive");
    [bytemuck::bytes_of(&header), palette].concat()
}

fn root(world: &Walkers, handle: Handle) -> [u32; 7] {
    let WorldTransform { position: [a, b, c], rotation: [d, e, f, g] } =
        world.crowd.transform(handle).expect("alive");
    [a, b, c, d, e, f, g].map(f32::to_bits)
}

fn constant(entry: &SkinEntry) -> DMat4 {
    let linear = DMat3::from_cols_array_2d(&entry.linear.map(|column| column.map(f64::from)));
    DMat4::from_mat3_translation(linear, DVec3::from(entry.offset.map(f64::from)))
}

#[test]
fn joints_that_a_tier_drops_stay_in_their_reference_pose_relative_to_those_that_move() {
    let body = &bodies()[0];
    let rig = Rig::build(&body.rig_source()).expect("rig");
    let topology = rig.topology();
    for level in [0, 1] {
        let mut config = CrowdConfig::default();
        config.tiers[Tier::Far as usize] = TierConfig { level, period: 1, feet: true };
        let mut world = Walkers::new(config, &[ClipKind::Run]);
        let (near, far) = (world.spawn(0, Tier::Near), world.spawn(0, Tier::Far));
        for _ in 0..20 {
            frame(&mut world, Visibility::All);
        }
        let format = config.format;
        let of = |handle, entry| decode(format, world.crowd.pose(handle).expect("alive").1, entry, 1.0);
        let entries = rig.skins()[0].entries();
        let moves = |joint: u16| topology.levels()[usize::from(joint)] <= level;
        let mut dropped = 0;
        for (at, entry) in entries.iter().enumerate() {
            if moves(entry.joint) {
                assert_eq!(of(far, at), of(near, at), "joint {}", entry.joint);
                continue;
            }
            dropped += 1;
            let (mut joint, mut way) = (entry.joint, DVec3::ZERO);
            while !moves(joint) {
                way += DVec3::from(rig.offsets()[usize::from(joint)].map(f64::from));
                joint = topology.parents()[usize::from(joint)];
            }
            let anchor = entries.iter().position(|other| other.joint == joint).expect("in the skin");
            // T(x_a) R(G_a) is what the ancestor's own entry shows without its constant.
            let moved = of(near, anchor) * constant(&entries[anchor]).inverse();
            let right = moved * DMat4::from_translation(way) * constant(entry);
            assert!(
                of(far, at).abs_diff_eq(right, 3e-6),
                "joint {}: {} for {right}",
                entry.joint,
                of(far, at)
            );
        }
        assert!(dropped >= 30, "{dropped} fingers");
    }
}

#[test]
fn poses_are_held_between_turns_with_the_root_that_they_belong_to_and_blocks_take_turns() {
    let mut world = Walkers::new(CrowdConfig::default(), &[ClipKind::Walk]);
    let handles: Vec<Handle> = (0..8 * BLOCK).map(|at| world.spawn(at, Tier::Far)).collect();
    world.crowd.pack();
    let mut past = Vec::new();
    let mut ranges = Vec::new();
    for number in 1..=12u32 {
        let before: Vec<Vec<u8>> = handles.iter().map(|&handle| bytes(&world, handle)).collect();
        frame(&mut world, Visibility::All);
        past.push(handles.iter().map(|&handle| root(&world, handle)).collect::<Vec<_>>());
        world.crowd.dirty_ranges(&mut ranges);
        let mut written = 0;
        for (at, &handle) in handles.iter().enumerate() {
            let (header, _) = world.crowd.pose(handle).expect("alive");
            let line = world.crowd.slot_line(handle).expect("alive");
            let dirty = ranges.iter().any(|range| range.contains(&line));
            let posed = (header.time / DT).round() as u32;
            assert!(number - posed < 4 && dirty == (posed == number), "frame {number}: pose of {posed}");
            assert!(dirty || bytes(&world, handle) == before[at]);
            let [x, y, z] = header.position.map(f32::to_bits);
            assert_eq!([x, y, z], past[posed as usize - 1][at][..3]);
            written += usize::from(dirty);
        }
        // All of them are due when they come.
        assert!(number == 1 || written == handles.len() / 4, "frame {number}: {written}");
    }
}

#[test]
fn who_is_not_seen_goes_on_and_has_a_pose_in_the_frame_in_which_it_is_seen() {
    let mut world = Walkers::new(strict(), &[ClipKind::Walk, ClipKind::Jog]);
    let mut twin = Walkers::new(strict(), &[ClipKind::Walk, ClipKind::Jog]);
    let tier = |at: usize| [Tier::Near, Tier::Mid, Tier::Far][at % 3];
    let handles: Vec<Handle> = (0..60).map(|at| world.spawn(at, tier(at))).collect();
    (0..60).for_each(|at| assert_eq!(twin.spawn(at, tier(at)), handles[at]));
    let seen = |at: usize, number: usize| at.is_multiple_of(5) || (number / 7 + at) % 4 != 1;
    for number in 0..60 {
        let mut bits = [0u64; 1];
        (0..60).filter(|&at| seen(at, number)).for_each(|at| bits[0] |= 1 << handles[at].index());
        let before: Vec<Vec<u8>> = handles.iter().map(|&handle| bytes(&world, handle)).collect();
        frame(&mut world, Visibility::Bits(&bits));
        frame(&mut twin, Visibility::All);
        for (at, &handle) in handles.iter().enumerate() {
            assert_eq!(root(&world, handle), root(&twin, handle), "character {at}");
            if at % 5 == 0 {
                // Always seen: its neighbours' absence changes no bit.
                assert_eq!(bytes(&world, handle), bytes(&twin, handle), "character {at}, frame {number}");
            } else if !seen(at, number) {
                assert_eq!(bytes(&world, handle), before[at], "character {at}, frame {number}");
            } else if number > 0 && !seen(at, number - 1) {
                let (header, _) = world.crowd.pose(handle).expect("alive");
                let (other, _) = twin.crowd.pose(handle).expect("alive");
                assert!(header.time >= other.time, "character {at}, frame {number}");
            }
        }
    }
}

#[test]
fn changing_tiers_keeps_slot_clock_place_and_events() {
    let mut world = Walkers::new(strict(), &[ClipKind::Walk, ClipKind::Run, ClipKind::Idle]);
    let mut twin = Walkers::new(strict(), &[ClipKind::Walk, ClipKind::Run, ClipKind::Idle]);
    let handles: Vec<Handle> = (0..200).map(|at| world.spawn(at, Tier::Near)).collect();
    (0..200).for_each(|at| assert_eq!(twin.spawn(at, Tier::Near), handles[at]));
    let lines: Vec<u32> =
        handles.iter().map(|&handle| world.crowd.slot_line(handle).expect("alive")).collect();
    let mut random = 1u32;
    for number in 0..120 {
        for _ in 0..20 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (who, tier) =
                ((random >> 8) as usize % handles.len(), Tier::ALL[(random >> 24) as usize % 4]);
            world.crowd.set_tier(handles[who], tier).expect("alive");
            assert_eq!(world.crowd.tier(handles[who]).expect("alive"), tier);
        }
        assert_eq!(world.crowd.tier_counts().iter().sum::<usize>(), handles.len());
        frame(&mut world, Visibility::All);
        frame(&mut twin, Visibility::All);
        assert!(world.crowd.events().eq(twin.crowd.events()), "frame {number}");
        for (at, &handle) in handles.iter().enumerate() {
            assert_eq!(root(&world, handle), root(&twin, handle), "character {at}");
            assert!(world.crowd.clips(handle).expect("alive").eq(twin.crowd.clips(handle).expect("alive")));
            assert_eq!(world.crowd.slot_line(handle).expect("alive"), lines[at]);
        }
    }
    let blocks = world.crowd.occupancy().blocks;
    // 2 rigs in 4 tiers: lanes that become free are taken again.
    assert!(blocks <= 200 / BLOCK + 3 * 8, "{blocks} blocks");
}

#[test]
fn a_tier_without_feet_shows_the_clip_at_the_root() {
    let mut config = CrowdConfig::default();
    config.tiers[Tier::Far as usize] = TierConfig { feet: false, ..TierConfig::FULL };
    let mut world = Walkers::new(config, &[ClipKind::Walk]);
    let (far, near) = (world.spawn(0, Tier::Far), world.spawn(0, Tier::Near));
    let nothing = FlatGround { height: 0.0 };
    for _ in 0..30 {
        let frame = Frame { roots: Roots::OnGround, ..Frame::new(DT, &nothing) };
        world.crowd.frame(frame, &Serial).expect("frame");
    }
    let of = |handle, entry| decode(config.format, world.crowd.pose(handle).expect("alive").1, entry, 1.0);
    let entries = bodies()[0].character.skins[0].joints.len();
    let far_off = (0..entries).map(|at| (of(far, at) - of(near, at)).w_axis.length()).fold(0.0, f64::max);
    // A walk on flat ground needs its feet moved by a few centimetres at most, and here by something.
    assert!(far_off > 1e-5 && far_off < 0.15, "{far_off}");
    assert_eq!(root(&world, far), root(&world, near));
}

/// Puts a character where it is: its feet start anew.
fn start_anew(world: &mut Walkers, handle: Handle) {
    let place = world.crowd.transform(handle).expect("alive");
    world.crowd.teleport(handle, place).expect("alive");
}

/// Largest difference of a value of two palettes.
fn palette_step(a: &Walkers, of: Handle, b: &Walkers, and: Handle) -> f32 {
    let values = |world: &Walkers, handle| -> Vec<f32> {
        bytemuck::pod_collect_to_vec(world.crowd.pose(handle).expect("alive").1)
    };
    values(a, of).iter().zip(values(b, and)).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

#[test]
fn who_was_never_posed_starts_anew_though_neighbours_were() {
    let run = |neighbour: bool| {
        let mut world = Walkers::new(strict(), &[ClipKind::Walk]);
        let late = world.spawn(9, Tier::Near);
        let others = neighbour.then(|| world.spawn(1, Tier::Near));
        let seen = others.map_or(0, |other| 1u64 << other.index());
        for number in 0..6 {
            let now = if number < 4 { 0 } else { 1 << late.index() };
            frame(&mut world, Visibility::Bits(&[seen | now]));
        }
        bytes(&world, late)
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn feet_start_anew_where_a_pose_was_missed_for_half_a_second() {
    for (frames, anew) in [(20, false), (40, true)] {
        let [mut world, mut twin] = [(); 2].map(|()| Walkers::new(strict(), &[ClipKind::Walk]));
        let [one, other] = [&mut world, &mut twin].map(|world| world.spawn(3, Tier::Near));
        (0..30).for_each(|_| frame(&mut world, Visibility::All));
        (0..30).for_each(|_| frame(&mut twin, Visibility::All));
        (0..frames).for_each(|_| frame(&mut world, Visibility::Bits(&[])));
        (0..frames).for_each(|_| frame(&mut twin, Visibility::Bits(&[])));
        start_anew(&mut twin, other);
        frame(&mut world, Visibility::All);
        frame(&mut twin, Visibility::All);
        let apart = palette_step(&world, one, &twin, other);
        assert!(if anew { apart < 1e-5 } else { apart > 1e-3 }, "after {frames} frames: {apart}");
    }
}

#[test]
fn feet_start_anew_on_another_rig() {
    let [mut world, mut twin] = [(); 2].map(|()| Walkers::new(strict(), &[ClipKind::Walk]));
    let handles =
        [&mut world, &mut twin].map(|world| [world.spawn(2, Tier::Near), world.spawn(3, Tier::Near)]);
    (0..30).for_each(|_| frame(&mut world, Visibility::All));
    (0..30).for_each(|_| frame(&mut twin, Visibility::All));
    let same = Rig::build(&bodies()[0].rig_source()).expect("rig");
    world.crowd.replace_rig(world.rigs[0], same).expect("of the same topology");
    let [[own, beside], [others, also]] = handles;
    // Nobody's feet but those of who wears it.
    frame(&mut world, Visibility::All);
    let mut plain = twin.crowd.snapshot();
    frame(&mut twin, Visibility::All);
    assert_ne!(bytes(&world, own), bytes(&twin, others));
    assert_eq!(bytes(&world, beside), bytes(&twin, also));
    twin.crowd.restore(core::mem::take(&mut plain).as_slice()).expect("equal");
    start_anew(&mut twin, others);
    frame(&mut twin, Visibility::All);
    assert_eq!(bytes(&world, own), bytes(&twin, others));
}
