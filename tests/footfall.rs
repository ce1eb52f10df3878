//! Feet of characters that are shown between two poses: they stand when their clip says so, as in every frame.

#[allow(dead_code)]
#[path = "reference/palette.rs"]
mod palette;
#[path = "support/walkers.rs"]
mod walkers;

use glam::{DMat3, DMat4, DQuat, DVec3};
use palette::decode;
use throng::content::ClipKind;
use throng::crowd::{
    CrowdConfig, FlatGround, Frame, Handle, PaletteFormat, PoseHeader, Serial, Stage, Tier, TierConfig,
    WorldTransform,
};
use throng::stress::{Harness, Scene, SceneOptions};
use walkers::{Walkers, strict};

const PERIODS: [u8; 4] = [1, 2, 4, 8];

fn tiers() -> [TierConfig; 4] {
    PERIODS.map(|period| TierConfig { period, ..TierConfig::FULL })
}

fn scene(kind: ClipKind, format: PaletteFormat) -> Scene {
    let options = SceneOptions::gait(kind, 160);
    let config = CrowdConfig { interpolate: true, tiers: tiers(), format, ..options.config };
    Scene::build(&SceneOptions { config, ..options }).expect("a scene")
}

#[test]
fn feet_slide_no_more_where_poses_are_rare() {
    for kind in [ClipKind::Walk, ClipKind::Jog, ClipKind::Run] {
        let mut scene = scene(kind, PaletteFormat::Mat3x4);
        scene.share_tiers().expect("alive");
        let mut harness = Harness::new(&scene, 160).expect("alive");
        for number in 0..360 {
            scene.frame(1.0 / 60.0, Stage::Palette, &Serial).expect("a frame");
            if number >= 20 {
                harness.observe(&scene).expect("alive");
            }
        }
        harness.finish().expect("contacts");
        let quality = Tier::ALL.map(|tier| harness.of_tier(tier).quality());
        let every_frame = quality[0].stance_slide_mm_p99;
        for (tier, quality) in Tier::ALL.iter().zip(&quality) {
            println!("{} {}: {quality:?}", kind.name(), tier.name());
            assert!(quality.stances > 30);
            // The resolution is 0.01 mm.
            let most = (1.5 * every_frame).max(0.015);
            assert!(quality.stance_slide_mm_p99 <= most, "{} {}", kind.name(), tier.name());
            assert!(quality.stance_penetration_mm_p99 <= 0.2, "{} {}", kind.name(), tier.name());
        }
    }
}

#[test]
fn uneven_frames_and_changing_tiers_move_no_foot_that_stands() {
    let mut random = 5u32;
    let mut next = |below: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) % below
    };
    for format in [PaletteFormat::Mat3x4, PaletteFormat::QuatTranslation] {
        let mut scene = scene(ClipKind::Walk, format);
        let mut harness = Harness::new(&scene, 160).expect("alive");
        for number in 0..500 {
            // 1/240 to 1/30 s.
            let dt = (1.0 + next(8) as f32) / 240.0;
            for _ in 0..4 {
                let handle = scene.handles()[next(160) as usize];
                scene.crowd.set_tier(handle, Tier::ALL[next(4) as usize]).expect("alive");
            }
            scene.frame(dt, Stage::Palette, &Serial).expect("a frame");
            if number >= 40 {
                harness.observe(&scene).expect("alive");
            }
        }
        let quality = harness.finish().expect("contacts");
        println!("{}: {quality:?}", format.name());
        assert!(quality.stances > 1_000);
        assert!(quality.stance_slide_mm_p99 <= 0.1, "{}: {quality:?}", format.name());
    }
}

fn matrix(position: [f32; 3], rotation: [f32; 4]) -> DMat4 {
    let turn = DQuat::from_array(rotation.map(f64::from)).normalize();
    DMat4::from_rotation_translation(turn, DVec3::from(position.map(f64::from)))
}

/// Places of hip, knee and ankle of both legs in the world.
type Legs = [[DVec3; 3]; 2];

fn legs(world: &Walkers, handle: Handle, entry: impl Fn(usize) -> DMat4) -> Legs {
    let (rig, skin) = world.crowd.body(handle).expect("alive");
    let rig = world.crowd.rig(rig);
    let entries = rig.skins()[skin].entries();
    let place = |joint: u16| {
        let at = entries.iter().position(|entry| entry.joint == joint).expect("legs have entries");
        let linear = DMat3::from_cols_array_2d(&entries[at].linear.map(|column| column.map(f64::from)));
        entry(at).transform_point3(linear.inverse() * -DVec3::from(entries[at].offset.map(f64::from)))
    };
    let legs = rig.topology().legs();
    [0, 1].map(|leg| [legs[leg].thigh, legs[leg].shin, legs[leg].foot].map(place))
}

/// As shown, and on the line between the two poses that a slot holds.
fn shown_and_line(world: &Walkers, handle: Handle) -> (Legs, Legs, f64) {
    let crowd = &world.crowd;
    let (format, pair) = (crowd.config().format, crowd.pose_pair(handle).expect("alive"));
    let (rig, skin) = crowd.body(handle).expect("alive");
    let range = crowd.palette_range(rig, skin).expect("known");
    let pose = crowd.shown_pose(handle).expect("posed");
    let WorldTransform { position, rotation } = pose.root();
    let root = matrix(position, rotation);
    let shown = legs(world, handle, |entry| {
        let m = pose.matrix(entry).expect("an entry").map(f64::from);
        let column = |k: usize, w: f64| glam::DVec4::new(m[k], m[4 + k], m[8 + k], w);
        root * DMat4::from_cols(column(0, 0.0), column(1, 0.0), column(2, 0.0), column(3, 1.0))
    });
    let of = |line: u32| {
        let lines = &crowd.output()[line as usize..];
        let PoseHeader { position, rotation, .. } = PoseHeader::read(&lines[0]);
        let (root, bytes): (_, &[u8]) = (matrix(position, rotation), bytemuck::cast_slice(&lines[1..]));
        legs(world, handle, |entry| root * decode(format, bytes, entry, range))
    };
    let (a, b, factor) = (of(pair.previous), of(pair.next), f64::from(pair.factor));
    let line = [0, 1].map(|leg| [0, 1, 2].map(|joint| a[leg][joint].lerp(b[leg][joint], factor)));
    (shown, line, factor)
}

#[test]
fn a_corrected_leg_hangs_on_the_hip_keeps_its_bones_and_is_the_same_in_all_formats() {
    let kinds = [ClipKind::Walk, ClipKind::Run];
    let mut seen: Vec<Vec<Legs>> = Vec::new();
    for format in PaletteFormat::ALL {
        let config = CrowdConfig { format, tiers: tiers(), interpolate: true, ..strict() };
        let mut world = Walkers::new(config, &kinds);
        let handles: Vec<Handle> = (0..32).map(|at| world.spawn(at, Tier::ALL[at / 2 % 4])).collect();
        let close = if format == PaletteFormat::Snorm16 { 2e-3 } else { 2e-5 };
        let mut corrected = 0;
        let mut legs = Vec::new();
        for number in 0..90 {
            let ground = FlatGround::default();
            world.crowd.frame(Frame::new(1.0 / 60.0, &ground), &Serial).expect("a frame");
            if number < 16 {
                continue;
            }
            for &handle in &handles {
                let (shown, line, factor) = shown_and_line(&world, handle);
                for (shown, line) in shown.iter().zip(&line) {
                    assert!((shown[0] - line[0]).length() < close, "{}: the hip", format.name());
                    let moved = (shown[2] - line[2]).length();
                    corrected += usize::from(moved > 0.01);
                    assert!(moved < close || factor < 1.0);
                    if moved > 0.01 {
                        let rig = world.crowd.body(handle).expect("alive").0;
                        let rig = world.crowd.rig(rig);
                        let bone = [1, 2].map(|k| (shown[k] - shown[k - 1]).length());
                        // Between two poses a bone is a chord of its way; the correction takes it nearer to what it is.
                        let leg = bone[0] + bone[1];
                        let right = f64::from(rig.leg());
                        assert!((0.8 * right..1.06 * right).contains(&leg), "{leg} of {right}");
                    }
                }
                legs.push(shown);
            }
        }
        println!("{}: {corrected} legs corrected by more than a centimetre", format.name());
        assert!(corrected > 100);
        seen.push(legs);
    }
    for (format, legs) in PaletteFormat::ALL.iter().zip(&seen).skip(1) {
        let far = |a: &Legs, b: &Legs| {
            a.iter().flatten().zip(b.iter().flatten()).map(|(p, q)| (*p - *q).length()).fold(0.0, f64::max)
        };
        let worst = legs.iter().zip(&seen[0]).map(|(a, b)| far(a, b)).fold(0.0, f64::max);
        println!("{}: {worst:.1e} m from 4x4", format.name());
        assert!(worst < if *format == PaletteFormat::Snorm16 { 2e-3 } else { 5e-5 }, "{}", format.name());
    }
}
