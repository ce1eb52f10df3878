//! Roll of limbs in the aligned pose: directions alone leave it free.
//!
//! In the common stance knees bend backwards about +X and elbows ahead, the left about -Y and the right about +Y; palms
//! look down.

use glam::{DQuat, DVec3};

use super::hang::Hang;
use super::{Digit, ReferencePose, Role, RoleMap, Side};

/// From which bend on a joint's normal is that of its hinge, and where it is no more than the limbs' way of standing
/// (knock knees, the carrying angle of an elbow), degrees.
const HINGE: [f64; 2] = [15.0, 25.0];

/// A palm that is turned less is as good as flat, radians: rest poses keep their bits.
const FLAT: f64 = 1e-3;

/// Of the turn that lays a palm flat, how much the forearm takes over, as its two bones do.
const FOREARM_SHARE: f64 = 0.5;

/// Turns thigh and upper arm about themselves, so that what was bent at rest bends as all bodies do.
pub(super) fn hinges(
    pose: &mut ReferencePose,
    hang: &Hang,
    roles: &RoleMap,
    side: Side,
    rest: &ReferencePose,
) {
    let elbow = if side == Side::Left { DVec3::NEG_Y } else { DVec3::Y };
    let limbs = [
        ([Role::Thigh(side), Role::Shin(side), Role::Foot(side)], DVec3::X),
        ([Role::UpperArm(side), Role::Forearm(side), Role::Hand(side)], elbow),
    ];
    for (limb, normal) in limbs {
        let [Some(upper), Some(lower), Some(end)] = limb.map(|role| roles.joint(role).map(usize::from))
        else {
            continue;
        };
        if !hang.is_below(lower, upper) || !hang.is_below(end, lower) {
            continue;
        }
        let bone = |from: usize, to: usize| (rest.position(to) - rest.position(from)).normalize_or_zero();
        let (above, below) = (bone(upper, lower), bone(lower, end));
        let bent = above.cross(below);
        let angle = bent.length().atan2(above.dot(below)).to_degrees();
        let sure = ((angle - HINGE[0]) / (HINGE[1] - HINGE[0])).clamp(0.0, 1.0);
        if sure == 0.0 {
            continue;
        }
        let since = pose.rotation(upper) * rest.rotation(upper).inverse();
        let axis = (pose.position(lower) - pose.position(upper)).normalize_or_zero();
        let roll = about(axis, since * bent, normal);
        // Beyond a right angle it is no hinge of that kind: a knee that bends ahead is left alone.
        if roll.abs() < core::f64::consts::FRAC_PI_2 {
            pose.turn(hang, upper, DQuat::from_axis_angle(axis, sure * roll));
        }
    }
}

/// Lays the palm flat: forearm and hand share the turn about the arm.
pub(super) fn palm(pose: &mut ReferencePose, hang: &Hang, roles: &RoleMap, side: Side) {
    let find = |role| roles.joint(role).map(usize::from);
    let finger = |digit| find(Role::Finger(side, digit, 0));
    let (Some(hand), Some(index), Some(little)) =
        (find(Role::Hand(side)), finger(Digit::Index), finger(Digit::Little).or_else(|| finger(Digit::Ring)))
    else {
        return;
    };
    if !hang.is_below(index, hand) || !hang.is_below(little, hand) {
        return;
    }
    let (out, back) = match side {
        Side::Left => (DVec3::X, DVec3::Y),
        Side::Right => (DVec3::NEG_X, DVec3::NEG_Y),
    };
    let at = pose.position(hand);
    let normal = (pose.position(index) - at).cross(pose.position(little) - at);
    if normal.reject_from(out).length() < 0.3 * normal.length() || normal.length() < 1e-12 {
        return;
    }
    let roll = about(out, normal, back);
    if roll.abs() < FLAT {
        return;
    }
    let forearm = find(Role::Forearm(side)).filter(|&forearm| hang.is_below(hand, forearm));
    let share = if forearm.is_some() { FOREARM_SHARE * roll } else { 0.0 };
    if let Some(forearm) = forearm {
        pose.turn(hang, forearm, DQuat::from_axis_angle(out, share));
    }
    pose.turn(hang, hand, DQuat::from_axis_angle(out, roll - share));
}

/// Angle about `axis` from one direction to another, both seen along it.
fn about(axis: DVec3, from: DVec3, to: DVec3) -> f64 {
    let (from, to) = (from.reject_from(axis), to.reject_from(axis));
    axis.dot(from.cross(to)).atan2(from.dot(to))
}
