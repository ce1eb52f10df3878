//! Families of clips: as many distinct ones as a crowd asks for.

use super::clip::{ClipKind, clip};
use super::gait::{Gait, Walker};
use super::rig::BuiltIn;
use super::rng::Rng;
use super::solve::bake;
use crate::clip::RawClip;

/// Synthesises a cyclic clip of any gait for one body, and gives its mean ground speed (metres per second).
pub fn gait_clip(name: &str, gait: &Gait, body: &BuiltIn) -> (RawClip, f64) {
    let walker = Walker::new(&body.anatomy, gait);
    (bake(name, body, &walker.motion(&body.anatomy)), walker.speed)
}

/// The first `n` clips of the library: the named ones, then walks and runs of many speeds, manners and
/// turn rates. The same for the same body and `n`; a longer library begins with the shorter one.
pub fn library(body: &BuiltIn, n: usize) -> Vec<RawClip> {
    let mut clips: Vec<RawClip> = ClipKind::ALL.iter().take(n).map(|&kind| clip(kind, body)).collect();
    for i in clips.len()..n {
        let (name, gait) = styled(i);
        clips.push(gait_clip(&name, &gait, body).0);
    }
    clips
}

/// Gait number `i` of the library.
fn styled(i: usize) -> (String, Gait) {
    let mut rng = Rng::new(0x7468_726F_6E67 ^ ((i as u64) << 20));
    let running = i % 4 == 3;
    let mut gait = if running { Gait::run(rng.range(0.72, 1.55)) } else { Gait::walk(rng.range(0.22, 0.64)) };
    gait.period *= rng.about_one(0.07);
    gait.arm_swing *= rng.range(0.5, 1.4);
    gait.elbow *= rng.about_one(0.25);
    gait.bounce *= rng.range(0.75, 1.3);
    gait.sway *= rng.range(0.7, 1.5);
    gait.width *= rng.range(0.75, 1.5);
    gait.toe_out += rng.range(-0.08, 0.14);
    gait.lean += rng.range(-0.04, 0.10);
    gait.head += rng.range(-0.06, 0.14);
    gait.pelvis_yaw *= rng.range(0.6, 1.4);
    gait.pelvis_list *= rng.range(0.5, 1.5);
    gait.chest_yaw *= rng.range(0.5, 1.5);
    gait.abduct += rng.range(-0.04, 0.12);
    gait.lift *= rng.range(0.9, 1.5);
    gait.curl += rng.range(-0.15, 0.4);
    let mut manner = "";
    if i % 5 == 4 {
        gait.crouch = rng.range(0.02, 0.09);
        gait.lean += 2.0 * gait.crouch;
        manner = "low_";
    }
    let mut way = "";
    if i % 3 == 1 {
        gait.turn = rng.range(0.2, 0.9) * if rng.unit() < 0.5 { -1.0 } else { 1.0 };
        way = if gait.turn > 0.0 { "_left" } else { "_right" };
    }
    let base = if running { "run" } else { "walk" };
    (format!("{manner}{base}{way}_{i:03}"), gait)
}
