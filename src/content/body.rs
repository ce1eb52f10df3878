//! The outer form of a body: trunk, limbs, hands, feet and head as lofts.
//!
//! Breadths and depths are rounded shares of stature after the tables in Pheasant, "Bodyspace".

use glam::DVec3;

use super::mesh::{Chain, Ring, Shell, Stuff, Weights};
use crate::rig::{Digit, Limb, Role, Side};

/// Everything but clothes.
pub(super) fn body(shell: &mut Shell, stuff: &Stuff<'_>) {
    trunk(shell, stuff);
    head(shell, stuff);
    for side in Side::BOTH {
        leg(shell, stuff, side);
        foot(shell, stuff, side);
        arm(shell, stuff, side, 1.0, 1.0);
        hand(shell, stuff, side);
    }
}

/// A jacket to the upper thigh, with sleeves.
pub(super) fn coat(shell: &mut Shell, stuff: &Stuff<'_>) {
    let a = stuff.anatomy;
    let h = a.plan.stature;
    let hem = a.hip.y - 0.075 * h;
    let mut rings: Vec<Ring> = [0.0, 0.3, 0.6, 0.85]
        .map(|u| {
            let y = hem + (a.hip.y - hem) * u;
            flat_ring(y, -0.004 * h, (0.117 - 0.010 * u) * h * a.plan.hip_width, (0.090 - 0.010 * u) * h)
        })
        .into();
    rings.extend(trunk_rings(stuff).into_iter().skip(2).take(9).map(|ring| Ring {
        u: ring.u * 1.10,
        v: ring.v * 1.12,
        ..ring
    }));
    let torso = trunk_weights(stuff);
    let hips = stuff.joint(Role::Hips);
    let thighs = Side::BOTH.map(|side| stuff.joint(Role::Thigh(side)));
    shell.loft(Side::Left, &rings, 22, |p, _| {
        let below = ((a.hip.y + 0.02 * h - p.y) / (0.10 * h)).clamp(0.0, 1.0);
        let left = (p.x / (1.8 * a.hip.x) + 0.5).clamp(0.0, 1.0);
        let mut list = torso(p);
        list.iter_mut().for_each(|w| w.1 *= 1.0 - below);
        list.extend([
            (hips, 0.3 * below),
            (thighs[0], 0.7 * below * left),
            (thighs[1], 0.7 * below * (1.0 - left)),
        ]);
        list
    });
    for side in Side::BOTH {
        arm(shell, stuff, side, 1.28, 0.94);
    }
}

/// Level ring at height `y`, half width along X, half depth along Z; lofts upward.
fn flat_ring(y: f64, z: f64, width: f64, depth: f64) -> Ring {
    Ring { centre: DVec3::new(0.0, y, z), u: DVec3::Z * depth, v: DVec3::X * width, power: 2.3 }
}

/// From the crotch to inside the head: height as a share of the way from hip to shoulder.
fn trunk_rings(stuff: &Stuff<'_>) -> Vec<Ring> {
    let a = stuff.anatomy;
    let (h, p) = (a.plan.stature, &a.plan);
    let (low, long) = (a.hip.y, a.shoulder.y - a.hip.y);
    let (girth, hips, shoulders) =
        (p.trunk_girth, p.hip_width * (0.5 + 0.5 * p.trunk_girth), p.shoulder_width);
    let chest = 0.5 * (shoulders + girth);
    let neck = p.limb_girth.sqrt() * (0.6 + 0.4 * p.head);
    [
        (-0.17, 0.000, 0.040 * hips, 0.040 * girth),
        (-0.10, -0.006, 0.074 * hips, 0.060 * girth),
        (0.02, -0.008, 0.092 * hips, 0.067 * girth),
        (0.14, -0.006, 0.091 * hips, 0.064 * girth),
        (0.28, 0.000, 0.079 * girth, 0.057 * girth),
        (0.42, 0.002, 0.075 * girth, 0.055 * girth),
        (0.58, 0.000, 0.083 * chest, 0.061 * girth),
        (0.76, -0.002, 0.093 * chest, 0.067 * girth),
        (0.89, -0.006, 0.102 * shoulders, 0.060 * girth),
        (0.98, -0.010, 0.108 * shoulders, 0.048 * girth),
        (1.045, -0.012, 0.103 * shoulders, 0.039 * girth),
        (1.09, -0.013, 0.078 * shoulders, 0.034 * girth),
        (1.13, -0.013, 0.047 * neck, 0.036 * neck),
    ]
    .map(|(share, z, width, depth)| flat_ring(low + share * long, z * h, width * h, depth * h))
    .into_iter()
    .chain([0.45, 0.95, 1.3].map(|u| {
        let at = a.neck_base.lerp(a.head, u);
        flat_ring(at.y, at.z + 0.002 * h, 0.031 * neck * h, 0.033 * neck * h)
    }))
    .collect()
}

/// Weights by height along spine and neck, shoulders shared with the girdle.
fn trunk_weights<'a>(stuff: &'a Stuff<'_>) -> impl Fn(DVec3) -> Weights + 'a {
    let a = stuff.anatomy;
    let mut chain = Chain::default();
    chain.link(stuff.joint(Role::Hips), 0.0, 0.0);
    let (spine, neck) = (stuff.roles.spine(), stuff.roles.neck());
    let spacing = (a.neck_base.y - a.spine_base.y) / spine.len().max(1) as f64;
    for joint in spine {
        chain.link(joint, stuff.rest[usize::from(joint)].0.y, 0.5 * spacing);
    }
    for joint in neck {
        chain.link(joint, stuff.rest[usize::from(joint)].0.y, 0.022 * a.plan.stature);
    }
    chain.link(stuff.joint(Role::Head), a.head.y, 0.02 * a.plan.stature);
    let girdle = Side::BOTH.map(|side| stuff.joint(Role::Clavicle(side)));
    move |p| {
        let mut list = chain.weights(p.y);
        let out = ((p.x.abs() / a.shoulder.x - 0.35) / 0.65).clamp(0.0, 1.0);
        let high = 1.0 - ((p.y - a.shoulder.y).abs() / (0.09 * a.plan.stature)).clamp(0.0, 1.0);
        let share = 0.75 * out * high;
        list.iter_mut().for_each(|w| w.1 *= 1.0 - share);
        list.push((girdle[usize::from(p.x < 0.0)], share));
        list
    }
}

fn trunk(shell: &mut Shell, stuff: &Stuff<'_>) {
    let weights = trunk_weights(stuff);
    shell.loft(Side::Left, &trunk_rings(stuff), 20, |p, _| weights(p));
}

fn head(shell: &mut Shell, stuff: &Stuff<'_>) {
    let a = stuff.anatomy;
    let size = 0.130 * a.plan.stature * a.plan.head;
    let chin = a.crown.y - size;
    let joint = stuff.joint(Role::Head);
    // Height over the chin, centre forward, half width, half depth, in head heights.
    let rings: Vec<Ring> = [
        (0.00, 0.15, 0.11, 0.13),
        (0.03, 0.13, 0.20, 0.25),
        (0.12, 0.09, 0.265, 0.335),
        (0.27, 0.05, 0.295, 0.365),
        (0.42, 0.02, 0.32, 0.40),
        (0.57, 0.00, 0.335, 0.42),
        (0.71, -0.02, 0.335, 0.42),
        (0.83, -0.03, 0.295, 0.37),
        (0.92, -0.04, 0.225, 0.28),
        (0.975, -0.04, 0.13, 0.165),
        (1.00, -0.04, 0.045, 0.055),
    ]
    .map(|(y, z, width, depth)| {
        flat_ring(chin + y * size, a.head.z + (z + 0.09) * size, width * size, depth * size)
    })
    .map(|ring| Ring { power: 2.1, ..ring })
    .into();
    shell.loft(Side::Left, &rings, 18, |_, _| vec![(joint, 1.0)]);
    let nose = |z: f64, y: f64, width: f64, height: f64| Ring {
        centre: DVec3::new(0.0, chin + y * size, a.head.z + z * size),
        u: DVec3::X * (width * size),
        v: DVec3::Y * (height * size),
        power: 2.0,
    };
    let rings = [nose(0.42, 0.44, 0.07, 0.16), nose(0.53, 0.41, 0.062, 0.11), nose(0.60, 0.38, 0.045, 0.05)];
    shell.loft(Side::Left, &rings, 8, |_, _| vec![(joint, 1.0)]);
}

fn leg(shell: &mut Shell, stuff: &Stuff<'_>, side: Side) {
    let a = stuff.anatomy;
    let (h, girth) = (a.plan.stature, a.plan.limb_girth);
    let (thigh, shin) = (a.hip.y - a.knee.y, a.knee.y - a.ankle.y);
    // Distance down the leg: 0 hip, 1 knee, 2 ankle; half width; half depth; centre forward.
    let rings: Vec<Ring> = [
        (-0.10, 0.040, 0.046, -0.006),
        (0.06, 0.049, 0.055, -0.006),
        (0.25, 0.049, 0.053, 0.000),
        (0.50, 0.044, 0.048, 0.004),
        (0.75, 0.036, 0.040, 0.004),
        (0.92, 0.032, 0.036, 0.002),
        (1.00, 0.031, 0.035, 0.002),
        (1.08, 0.030, 0.033, 0.000),
        (1.22, 0.031, 0.034, -0.006),
        (1.38, 0.031, 0.035, -0.009),
        (1.58, 0.026, 0.029, -0.006),
        (1.80, 0.020, 0.023, -0.003),
        (2.00, 0.018, 0.023, -0.002),
        (2.09, 0.017, 0.022, 0.000),
    ]
    .map(|(s, width, depth, forward)| {
        let centre = if s < 1.0 { a.hip.lerp(a.knee, s) } else { a.knee.lerp(a.ankle, s - 1.0) };
        Ring {
            centre: centre + DVec3::Z * (forward * h),
            u: DVec3::X * (width * h * girth),
            v: DVec3::Z * (depth * h * girth),
            power: 2.1,
        }
    })
    .into();
    let mut chain = Chain::default();
    chain.link(stuff.joint(Role::Hips), -1.0, 0.0);
    twisting(&mut chain, stuff, side, Limb::Thigh, 0.0, 0.10);
    straight(&mut chain, stuff, side, Limb::Shin, 1.0, 0.10);
    chain.link(stuff.joint(Role::Foot(side)), 2.0, 0.06);
    shell.loft(side, &rings, 14, |p, _| {
        let s = if p.y > a.knee.y { (a.hip.y - p.y) / thigh } else { 1.0 + (a.knee.y - p.y) / shin };
        chain.weights(s)
    });
}

/// A limb whose twist is its own joint's: the joint itself rules the far end, its twist joints the near one.
fn twisting(chain: &mut Chain, stuff: &Stuff<'_>, side: Side, limb: Limb, at: f64, half: f64) {
    let own = if limb == Limb::Thigh { Role::Thigh(side) } else { Role::UpperArm(side) };
    let mut joints = stuff.twists(side, limb);
    joints.push(stuff.joint(own));
    let step = 1.0 / joints.len() as f64;
    for (i, joint) in joints.into_iter().enumerate() {
        let (place, half) = if i == 0 { (at, half) } else { (at + (i as f64 + 0.5) * step, 0.5 * step) };
        chain.link(joint, place, half);
    }
}

/// A limb whose twist is the next joint's: the joint itself rules the near end.
fn straight(chain: &mut Chain, stuff: &Stuff<'_>, side: Side, limb: Limb, at: f64, half: f64) {
    let own = if limb == Limb::Shin { Role::Shin(side) } else { Role::Forearm(side) };
    let joints = stuff.twists(side, limb);
    chain.link(stuff.joint(own), at, half);
    let step = 1.0 / (joints.len() + 1) as f64;
    for (i, joint) in joints.into_iter().enumerate() {
        chain.link(joint, at + (i as f64 + 0.5) * step, 0.4 * step);
    }
}

fn arm(shell: &mut Shell, stuff: &Stuff<'_>, side: Side, thicker: f64, until: f64) {
    let a = stuff.anatomy;
    let girth = a.plan.stature * a.plan.limb_girth * thicker;
    // Distance along the arm: 0 shoulder, 1 elbow, 2 wrist; half height; half width.
    let rings: Vec<Ring> = [
        (-0.16, 0.022, 0.026),
        (-0.04, 0.026, 0.032),
        (0.10, 0.029, 0.033),
        (0.30, 0.027, 0.029),
        (0.55, 0.025, 0.027),
        (0.80, 0.022, 0.024),
        (0.94, 0.021, 0.023),
        (1.06, 0.021, 0.023),
        (1.25, 0.022, 0.025),
        (1.50, 0.019, 0.022),
        (1.78, 0.015, 0.018),
        (1.98, 0.013, 0.0165),
    ]
    .map(|(s, high, wide)| {
        let s = if s > 1.0 { 1.0 + (s - 1.0) * until } else { s };
        let centre = if s < 1.0 { a.shoulder.lerp(a.elbow, s) } else { a.elbow.lerp(a.wrist, s - 1.0) };
        Ring { centre, u: DVec3::Y * (high * girth), v: DVec3::Z * (wide * girth), power: 2.1 }
    })
    .into();
    let chain = arm_chain(stuff, side);
    shell.loft(side, &rings, 12, |p, _| chain.weights(along_arm(stuff, p)));
}

fn along_arm(stuff: &Stuff<'_>, p: DVec3) -> f64 {
    let a = stuff.anatomy;
    if p.x < a.elbow.x {
        (p.x - a.shoulder.x) / (a.elbow.x - a.shoulder.x)
    } else {
        1.0 + (p.x - a.elbow.x) / (a.wrist.x - a.elbow.x)
    }
}

fn arm_chain(stuff: &Stuff<'_>, side: Side) -> Chain {
    let mut chain = Chain::default();
    chain.link(stuff.joint(Role::Clavicle(side)), -1.0, 0.0);
    twisting(&mut chain, stuff, side, Limb::UpperArm, 0.0, 0.14);
    straight(&mut chain, stuff, side, Limb::Forearm, 1.0, 0.10);
    chain.link(stuff.joint(Role::Hand(side)), 2.0, 0.09);
    chain
}

fn hand(shell: &mut Shell, stuff: &Stuff<'_>, side: Side) {
    let a = stuff.anatomy;
    let (size, girth) = (a.hand(), a.plan.limb_girth.powf(0.3));
    let rings: Vec<Ring> = [
        (-0.06, 0.120, 0.150, 0.0),
        (0.06, 0.125, 0.165, 0.0),
        (0.22, 0.130, 0.205, 0.01),
        (0.40, 0.115, 0.225, 0.005),
        (0.52, 0.085, 0.215, 0.0),
        (0.56, 0.050, 0.175, 0.0),
    ]
    .map(|(along, high, wide, forward)| Ring {
        centre: a.wrist + DVec3::new(along, 0.0, forward) * size,
        u: DVec3::Y * (high * size * girth),
        v: DVec3::Z * (wide * size * girth),
        power: 2.6,
    })
    .into();
    let chain = arm_chain(stuff, side);
    shell.loft(side, &rings, 12, |p, _| chain.weights(along_arm(stuff, p)));
    for digit in Digit::ALL {
        finger(shell, stuff, side, digit);
    }
}

fn finger(shell: &mut Shell, stuff: &Stuff<'_>, side: Side, digit: Digit) {
    let a = stuff.anatomy;
    let joints = [0, 1, 2].map(|i| stuff.joint(Role::Finger(side, digit, i)));
    let [p0, p1, p2] = [0, 1, 2].map(|i| {
        let p = stuff.at(Role::Finger(side, digit, i));
        DVec3::new(p.x.abs(), p.y, p.z)
    });
    let tip = p2 + (p2 - p1).normalize() * a.fingertip(digit);
    let direction = (p1 - p0).normalize();
    let up = (DVec3::Y - direction * direction.y).normalize();
    let thick = a.hand() * a.plan.limb_girth.powf(0.3) * if digit == Digit::Thumb { 0.062 } else { 0.050 };
    let ring = |centre: DVec3, scale: f64| Ring {
        centre,
        u: up * (thick * scale),
        v: direction.cross(up) * (thick * scale),
        power: 2.0,
    };
    let root = p0 - direction * (0.07 * a.hand());
    let rings = [
        ring(root, 0.95),
        ring(p0.lerp(p1, 0.45), 1.0),
        ring(p1, 0.98),
        ring(p1.lerp(p2, 0.5), 0.92),
        ring(p2, 0.9),
        ring(p2.lerp(tip, 0.6), 0.82),
        ring(tip, 0.4),
    ];
    let shares = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]];
    let hand = stuff.joint(Role::Hand(side));
    shell.loft(side, &rings, 6, |_, i| {
        let share = shares.get(i).copied().unwrap_or([0.0, 0.0, 1.0]);
        let mut list: Weights = joints.into_iter().zip(share).filter(|w| w.1 > 0.0).collect();
        if i == 0 {
            list = vec![(hand, 0.7), (joints[0], 0.3)];
        }
        list
    });
}

fn foot(shell: &mut Shell, stuff: &Stuff<'_>, side: Side) {
    let a = stuff.anatomy;
    let (h, length) = (a.plan.stature, a.toe_tip.z - a.heel.z);
    let girth = a.plan.limb_girth.powf(0.4) * a.plan.foot;
    // Share of the foot's length from the heel; half width and height in shares of stature.
    let rings: Vec<Ring> = [
        (0.00, 0.011, 0.020, 0.002),
        (0.03, 0.017, 0.034, 0.0),
        (0.12, 0.0205, 0.044, 0.0),
        (0.26, 0.0215, 0.050, 0.0),
        (0.40, 0.022, 0.046, 0.0),
        (0.55, 0.0245, 0.035, 0.0),
        (0.70, 0.0275, 0.026, 0.0),
        (0.80, 0.0275, 0.021, 0.0),
        (0.90, 0.024, 0.018, 0.0),
        (0.97, 0.017, 0.014, 0.001),
        (1.00, 0.010, 0.009, 0.002),
    ]
    .map(|(share, wide, top, bottom)| {
        let (top, bottom) = (top * h * girth, bottom * h);
        Ring {
            centre: DVec3::new(a.ankle.x, 0.5 * (top + bottom), a.heel.z + share * length),
            u: DVec3::X * (wide * h * girth),
            v: DVec3::Y * (0.5 * (top - bottom)),
            power: 3.4,
        }
    })
    .into();
    let mut chain = Chain::default();
    chain.link(stuff.joint(Role::Foot(side)), 0.0, 0.0);
    chain.link(stuff.joint(Role::Toe(side)), a.ball.z, 0.05 * length);
    shell.loft(side, &rings, 14, |p, _| chain.weights(p.z));
}
