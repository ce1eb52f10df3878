//! How a body holds trunk and arms: a few angles, turned into the model-space rotation of every role.

use glam::DQuat;

use super::anatomy::mirror_rotation;
use super::curve::mix;
use crate::rig::{Digit, Limb, Role, Side};

macro_rules! angles {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub(super) struct $name { $($(#[$field_doc])* pub $field: f64),* }

        impl $name {
            pub fn mix(a: &Self, b: &Self, w: f64) -> Self {
                Self { $($field: mix(a.$field, b.$field, w)),* }
            }
        }
    };
}

angles!(
    /// Displacements in metres, angles in radians, all relative to the heading of the root.
    Trunk {
        /// Pelvis towards the left, up (over its base height), forward.
        lateral, height, fore,
        /// Pelvis turned to the left, left side raised, top tipped forward.
        pelvis_yaw, pelvis_list, pelvis_tilt,
        /// The same of the rib cage.
        chest_yaw, chest_side, chest_lean,
        /// The same of the head.
        head_yaw, head_side, head_pitch,
    }
);

angles!(
    /// One arm, radians, the same sign for both sides.
    Arm {
        /// Upper arm forward, away from the body (half pi: level), turned inward.
        flex, abduct, twist,
        /// Elbow bend; forearm turned palm back; wrist bent towards the palm; fingers curled.
        elbow, pronate, wrist, curl,
        /// Shoulder raised, shoulder drawn forward.
        shrug, protract,
    }
);

/// Trunk and both arms, left first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carriage {
    pub trunk: Trunk,
    pub arms: [Arm; 2],
}

impl Carriage {
    /// Everything straight, arms at that angle from the body (half pi: T pose).
    pub fn reference(abduct: f64) -> Self {
        let slack = ((std::f64::consts::FRAC_PI_2 - abduct) / std::f64::consts::FRAC_PI_4).clamp(0.0, 1.0);
        let arm = Arm { abduct, elbow: 0.12 * slack, curl: 0.25 * slack, ..Arm::default() };
        Self { trunk: Trunk::default(), arms: [arm; 2] }
    }

    pub fn mix(a: &Self, b: &Self, w: f64) -> Self {
        Self {
            trunk: Trunk::mix(&a.trunk, &b.trunk, w),
            arms: [Arm::mix(&a.arms[0], &b.arms[0], w), Arm::mix(&a.arms[1], &b.arms[1], w)],
        }
    }
}

/// Model-space rotations of one leg since the T pose.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LegRotations {
    pub thigh: DQuat,
    pub shin: DQuat,
    pub foot: DQuat,
    pub toe: DQuat,
}

/// Number of joints in the chains of a rig.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chains {
    pub spine: usize,
    pub neck: usize,
    /// Twist joints of thigh, shin, upper arm, forearm.
    pub twists: [usize; 4],
}

impl Chains {
    pub fn twists(&self, limb: Limb) -> usize {
        self.twists[limb as usize]
    }
}

/// A whole posture: model-space rotations since the T pose.
pub(super) struct Posture {
    pub chains: Chains,
    pelvis: DQuat,
    chest: DQuat,
    head: DQuat,
    arms: [Arm; 2],
    legs: [LegRotations; 2],
}

/// Pelvis rotation of a trunk, `heading` about +Y.
pub(super) fn pelvis_rotation(trunk: &Trunk, heading: f64) -> DQuat {
    oriented(heading + trunk.pelvis_yaw, trunk.pelvis_list, trunk.pelvis_tilt)
}

fn oriented(yaw: f64, side: f64, pitch: f64) -> DQuat {
    DQuat::from_rotation_y(yaw) * DQuat::from_rotation_z(side) * DQuat::from_rotation_x(pitch)
}

impl Posture {
    pub fn new(chains: Chains, carriage: &Carriage, heading: f64, legs: [LegRotations; 2]) -> Self {
        let t = &carriage.trunk;
        Self {
            chains,
            pelvis: pelvis_rotation(t, heading),
            chest: oriented(heading + t.chest_yaw, t.chest_side, t.chest_lean),
            head: oriented(heading + t.head_yaw, t.head_side, t.head_pitch),
            arms: carriage.arms,
            legs,
        }
    }

    /// Rotation of a role since the T pose, model axes.
    pub fn rotation(&self, role: Role) -> DQuat {
        let along = |i: u8, n: usize| (f64::from(i) + 1.0) / n as f64;
        match role {
            Role::Hips => self.pelvis,
            Role::Spine(i) => self.pelvis.slerp(self.chest, along(i, self.chains.spine)),
            Role::Neck(i) => self.chest.slerp(self.head, along(i, self.chains.neck + 1)),
            Role::Head => self.head,
            Role::Thigh(s) => self.legs[s as usize].thigh,
            Role::Shin(s) => self.legs[s as usize].shin,
            Role::Foot(s) => self.legs[s as usize].foot,
            Role::Toe(s) => self.legs[s as usize].toe,
            Role::Twist(s, limb @ (Limb::Thigh | Limb::Shin), i) => {
                self.leg_twist(s, limb, along(i, self.chains.twists(limb) + 1))
            }
            Role::Clavicle(s)
            | Role::UpperArm(s)
            | Role::Forearm(s)
            | Role::Hand(s)
            | Role::Finger(s, ..)
            | Role::Twist(s, ..) => self.chest * mirror_rotation(s, self.arm(role, &self.arms[s as usize])),
        }
    }

    /// Left arm relative to the rib cage.
    fn arm(&self, role: Role, arm: &Arm) -> DQuat {
        let (x, y, z) = (DQuat::from_rotation_x, DQuat::from_rotation_y, DQuat::from_rotation_z);
        let hang = x(-arm.flex) * z(arm.abduct - std::f64::consts::FRAC_PI_2);
        let forearm = |turn: f64| hang * x(arm.twist) * y(-arm.elbow) * x(arm.pronate * turn);
        // A rig without twist joints shows a third of the turn at the elbow, the rest at the wrist.
        const AT_ELBOW: f64 = 0.35;
        let along = |i: u8, limb| (f64::from(i) + 1.0) / (self.chains.twists(limb) + 1) as f64;
        match role {
            Role::Clavicle(_) => y(-arm.protract) * z(arm.shrug),
            Role::Twist(_, Limb::UpperArm, i) => hang * x(arm.twist * along(i, Limb::UpperArm)),
            Role::UpperArm(_) => hang * x(arm.twist),
            Role::Forearm(_) => forearm(AT_ELBOW),
            Role::Twist(_, _, i) => forearm(mix(AT_ELBOW, 1.0, along(i, Limb::Forearm))),
            Role::Finger(_, digit, i) => {
                let hand = forearm(1.0) * z(-arm.wrist);
                let bend = arm.curl * [0.45, 1.1, 1.6][usize::from(i).min(2)];
                match digit {
                    Digit::Thumb => hand * y(0.35 * bend) * x(-0.3 * arm.curl),
                    Digit::Index => hand * z(-0.8 * bend),
                    Digit::Middle => hand * z(-bend),
                    Digit::Ring => hand * z(-1.12 * bend),
                    Digit::Little => hand * z(-1.22 * bend),
                }
            }
            _ => forearm(1.0) * z(-arm.wrist),
        }
    }

    fn leg_twist(&self, side: Side, limb: Limb, share: f64) -> DQuat {
        let leg = &self.legs[side as usize];
        if limb == Limb::Thigh {
            let turn = twist_about_y(self.pelvis.inverse() * leg.thigh);
            leg.thigh * DQuat::from_rotation_y(-turn * (1.0 - share))
        } else {
            let turn = twist_about_y(leg.shin.inverse() * leg.foot);
            leg.shin * DQuat::from_rotation_y(turn * share)
        }
    }
}

/// Angle of the twist part of `q` about +Y (swing-twist decomposition), in (-pi, pi].
fn twist_about_y(q: DQuat) -> f64 {
    let sign = if q.w < 0.0 { -1.0 } else { 1.0 };
    2.0 * (q.y * sign).atan2(q.w * sign)
}
