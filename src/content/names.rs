//! Joint names in four habits of spelling that tools have.

use super::rig::RigKind;
use crate::rig::{Digit, Limb, Role, Side};

/// Name of the joint that plays `role` on that rig.
pub(super) fn name(kind: RigKind, role: Role) -> String {
    match kind {
        RigKind::Biped => spaced(role),
        RigKind::Deform => dotted(role),
        RigKind::Aligned => camel(role),
        RigKind::Engine => snake(role),
    }
}

fn side_of(role: Role) -> Option<Side> {
    match role {
        Role::Clavicle(s)
        | Role::UpperArm(s)
        | Role::Forearm(s)
        | Role::Hand(s)
        | Role::Finger(s, ..)
        | Role::Thigh(s)
        | Role::Shin(s)
        | Role::Foot(s)
        | Role::Toe(s)
        | Role::Twist(s, ..) => Some(s),
        _ => None,
    }
}

fn numbered(base: &str, i: u8) -> String {
    if i == 0 { base.to_owned() } else { format!("{base}{i}") }
}

/// "Bip L Thigh".
fn spaced(role: Role) -> String {
    let side = match side_of(role) {
        Some(Side::Left) => "L ",
        Some(Side::Right) => "R ",
        None => "",
    };
    let part = match role {
        Role::Hips => "Pelvis".to_owned(),
        Role::Spine(i) => numbered("Spine", i),
        Role::Neck(i) => numbered("Neck", i),
        Role::Head => "Head".to_owned(),
        Role::Clavicle(_) => "Clavicle".to_owned(),
        Role::UpperArm(_) => "UpperArm".to_owned(),
        Role::Forearm(_) => "Forearm".to_owned(),
        Role::Hand(_) => "Hand".to_owned(),
        Role::Finger(_, digit, 0) => format!("Finger{}", digit as u8),
        Role::Finger(_, digit, i) => format!("Finger{}{i}", digit as u8),
        Role::Thigh(_) => "Thigh".to_owned(),
        Role::Shin(_) => "Calf".to_owned(),
        Role::Foot(_) => "Foot".to_owned(),
        Role::Toe(_) => "Toe0".to_owned(),
        Role::Twist(_, Limb::Thigh, i) => numbered("ThighTwist", i),
        Role::Twist(_, Limb::Shin, i) => numbered("CalfTwist", i),
        Role::Twist(_, Limb::UpperArm, i) => numbered("UpArmTwist", i),
        Role::Twist(_, Limb::Forearm, i) => numbered("ForeTwist", i),
    };
    format!("Bip {side}{part}")
}

/// "DEF-thigh.L.001".
fn dotted(role: Role) -> String {
    let side = match side_of(role) {
        Some(Side::Left) => ".L",
        Some(Side::Right) => ".R",
        None => "",
    };
    let tail = |base: &str, i: u8| {
        if i == 0 { format!("{base}{side}") } else { format!("{base}{side}.{i:03}") }
    };
    let part = match role {
        Role::Hips => "spine".to_owned(),
        // The spine runs on through neck and head under one name.
        Role::Spine(i) => format!("spine.{:03}", i + 1),
        Role::Neck(i) => format!("spine.{:03}", i + 5),
        Role::Head => "spine.007".to_owned(),
        Role::Clavicle(_) => format!("shoulder{side}"),
        Role::UpperArm(_) => tail("upper_arm", 0),
        Role::Twist(_, Limb::UpperArm, i) => tail("upper_arm", i + 1),
        Role::Forearm(_) => tail("forearm", 0),
        Role::Twist(_, Limb::Forearm, i) => tail("forearm", i + 1),
        Role::Hand(_) => tail("hand", 0),
        Role::Finger(_, digit, i) => {
            let digit = match digit {
                Digit::Thumb => "thumb",
                Digit::Index => "f_index",
                Digit::Middle => "f_middle",
                Digit::Ring => "f_ring",
                Digit::Little => "f_pinky",
            };
            format!("{digit}.{:02}{side}", i + 1)
        }
        Role::Thigh(_) => tail("thigh", 0),
        Role::Twist(_, Limb::Thigh, i) => tail("thigh", i + 1),
        Role::Shin(_) => tail("shin", 0),
        Role::Twist(_, Limb::Shin, i) => tail("shin", i + 1),
        Role::Foot(_) => tail("foot", 0),
        Role::Toe(_) => tail("toe", 0),
    };
    format!("DEF-{part}")
}

/// "LeftUpLeg".
fn camel(role: Role) -> String {
    let side = match side_of(role) {
        Some(Side::Left) => "Left",
        Some(Side::Right) => "Right",
        None => "",
    };
    let part = match role {
        Role::Hips => "Hips".to_owned(),
        Role::Spine(i) => numbered("Spine", i),
        Role::Neck(i) => numbered("Neck", i),
        Role::Head => "Head".to_owned(),
        Role::Clavicle(_) => "Shoulder".to_owned(),
        Role::UpperArm(_) => "Arm".to_owned(),
        Role::Forearm(_) => "ForeArm".to_owned(),
        Role::Hand(_) => "Hand".to_owned(),
        Role::Finger(_, Digit::Little, i) => format!("HandPinky{}", i + 1),
        Role::Finger(_, digit, i) => format!("Hand{digit:?}{}", i + 1),
        Role::Thigh(_) => "UpLeg".to_owned(),
        Role::Shin(_) => "Leg".to_owned(),
        Role::Foot(_) => "Foot".to_owned(),
        Role::Toe(_) => "ToeBase".to_owned(),
        Role::Twist(_, limb, i) => format!("{limb:?}Twist{}", i + 1),
    };
    format!("{side}{part}")
}

/// "thigh_l".
fn snake(role: Role) -> String {
    let side = match side_of(role) {
        Some(Side::Left) => "_l",
        Some(Side::Right) => "_r",
        None => "",
    };
    let part = match role {
        Role::Hips => "pelvis".to_owned(),
        Role::Spine(i) => format!("spine_{:02}", i + 1),
        Role::Neck(i) => format!("neck_{:02}", i + 1),
        Role::Head => "head".to_owned(),
        Role::Clavicle(_) => "clavicle".to_owned(),
        Role::UpperArm(_) => "upperarm".to_owned(),
        Role::Forearm(_) => "lowerarm".to_owned(),
        Role::Hand(_) => "hand".to_owned(),
        Role::Finger(_, Digit::Little, i) => format!("pinky_{:02}", i + 1),
        Role::Finger(_, digit, i) => format!("{}_{:02}", format!("{digit:?}").to_lowercase(), i + 1),
        Role::Thigh(_) => "thigh".to_owned(),
        Role::Shin(_) => "calf".to_owned(),
        Role::Foot(_) => "foot".to_owned(),
        Role::Toe(_) => "ball".to_owned(),
        Role::Twist(_, limb, i) => format!("{}_twist_{:02}", format!("{limb:?}").to_lowercase(), i + 1),
    };
    format!("{part}{side}")
}
