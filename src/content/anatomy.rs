//! Where the joints of a body are when it stands with its arms held out (T pose), in model axes.

use glam::{DQuat, DVec3};

use super::plan::BodyPlan;
use crate::rig::{Digit, Limb, Role, Side};

/// Landmarks of a body in the T pose, metres, soles on y = 0, facing +Z. Left side; mirror for the right.
#[derive(Clone, Debug)]
pub(super) struct Anatomy {
    pub plan: BodyPlan,
    pub pelvis: DVec3,
    pub spine_base: DVec3,
    pub neck_base: DVec3,
    pub head: DVec3,
    pub crown: DVec3,
    pub clavicle: DVec3,
    pub shoulder: DVec3,
    pub elbow: DVec3,
    pub wrist: DVec3,
    pub hip: DVec3,
    pub knee: DVec3,
    pub ankle: DVec3,
    /// The toe joint; it lies in the sole, so that rolling over the ball keeps both it and the toes still.
    pub ball: DVec3,
    pub heel: DVec3,
    pub toe_tip: DVec3,
}

impl Anatomy {
    pub fn new(plan: &BodyPlan) -> Self {
        let plan = plan.clamped();
        let h = plan.stature;
        let foot = 0.152 * h * plan.foot;
        let hip_y = 0.530 * h * plan.leg;
        let head_height = 0.130 * h * plan.head;
        let chin_y = h - head_height;
        let shoulder_y = chin_y - 0.050 * h;
        let ankle_y = 0.039 * h * plan.foot + 0.01;
        let hip_x = 0.050 * h * plan.hip_width;
        let knee_y = ankle_y + 0.501 * (hip_y - ankle_y);
        let shoulder_x = 0.112 * h * plan.shoulder_width;
        let elbow_x = shoulder_x + 0.186 * h * plan.arm;
        let arm_y = shoulder_y - 0.008 * h;
        let ankle = DVec3::new(0.92 * hip_x, ankle_y, -0.004 * h);
        Self {
            pelvis: DVec3::new(0.0, hip_y + 0.018 * h, -0.006 * h),
            spine_base: DVec3::new(0.0, hip_y + 0.055 * h, -0.012 * h),
            neck_base: DVec3::new(0.0, shoulder_y + 0.012 * h, -0.016 * h),
            head: DVec3::new(0.0, chin_y + 0.012 * h, 0.002 * h),
            crown: DVec3::new(0.0, h, 0.004 * h),
            clavicle: DVec3::new(0.014 * h, shoulder_y - 0.010 * h, 0.006 * h),
            shoulder: DVec3::new(shoulder_x, arm_y, -0.010 * h),
            elbow: DVec3::new(elbow_x, arm_y, -0.013 * h),
            wrist: DVec3::new(elbow_x + 0.146 * h * plan.arm, arm_y, -0.010 * h),
            hip: DVec3::new(hip_x, hip_y, 0.0),
            knee: DVec3::new(0.96 * hip_x, knee_y, 0.005 * h),
            ankle,
            ball: DVec3::new(ankle.x, 0.0, ankle.z + 0.47 * foot),
            heel: DVec3::new(ankle.x, 0.0, ankle.z - 0.26 * foot),
            toe_tip: DVec3::new(ankle.x, 0.0, ankle.z + 0.74 * foot),
            plan,
        }
    }

    /// Thigh plus shin, metres.
    pub fn leg(&self) -> f64 {
        self.hip.distance(self.knee) + self.knee.distance(self.ankle)
    }

    /// Palm and finger length.
    pub fn hand(&self) -> f64 {
        0.108 * self.plan.stature * self.plan.arm
    }

    /// Joint `i` of `n` along the spine: from the spine base towards the neck, gently curved.
    pub fn spine(&self, i: usize, n: usize) -> DVec3 {
        let u = i as f64 / n as f64;
        let bow = 0.012 * self.plan.stature * (u * std::f64::consts::TAU).sin();
        self.spine_base.lerp(self.neck_base, u) + DVec3::Z * bow
    }

    fn finger(&self, digit: Digit, i: u8) -> DVec3 {
        let hand = self.hand();
        // Along the arm, up, forward in hand lengths: knuckle; then phalanx lengths (Buryanov and
        // Kotiuk 2010, proportions of hand segments, rounded).
        let (knuckle, along, phalanges) = match digit {
            Digit::Thumb => ([0.16, -0.04, 0.16], DVec3::new(0.72, -0.22, 0.66), [0.24, 0.18]),
            Digit::Index => ([0.50, 0.0, 0.145], DVec3::new(1.0, 0.0, 0.06), [0.225, 0.13]),
            Digit::Middle => ([0.52, 0.01, 0.035], DVec3::new(1.0, 0.0, 0.01), [0.25, 0.15]),
            Digit::Ring => ([0.49, 0.0, -0.07], DVec3::new(1.0, 0.0, -0.04), [0.235, 0.14]),
            Digit::Little => ([0.45, -0.02, -0.16], DVec3::new(1.0, 0.0, -0.09), [0.18, 0.10]),
        };
        let length: f64 = phalanges[..usize::from(i).min(2)].iter().sum();
        self.wrist + (DVec3::from_array(knuckle) + along.normalize() * length) * hand
    }

    /// Length of the last phalanx of a digit.
    pub fn fingertip(&self, digit: Digit) -> f64 {
        self.hand() * if digit == Digit::Thumb { 0.16 } else { 0.11 }
    }

    /// T-pose position of a role; `spine` and `neck` are the chain lengths of the rig, and twist
    /// joints stand at `(i + 1) / (twists + 1)` of their segment.
    pub fn position(&self, role: Role, spine: usize, neck: usize, twists: usize) -> DVec3 {
        let (side, left) = match role {
            Role::Hips => (Side::Left, self.pelvis),
            Role::Spine(i) => (Side::Left, self.spine(i.into(), spine)),
            Role::Neck(i) => (Side::Left, self.neck_base.lerp(self.head, f64::from(i) / neck as f64)),
            Role::Head => (Side::Left, self.head),
            Role::Clavicle(s) => (s, self.clavicle),
            Role::UpperArm(s) => (s, self.shoulder),
            Role::Forearm(s) => (s, self.elbow),
            Role::Hand(s) => (s, self.wrist),
            Role::Finger(s, digit, i) => (s, self.finger(digit, i)),
            Role::Thigh(s) => (s, self.hip),
            Role::Shin(s) => (s, self.knee),
            Role::Foot(s) => (s, self.ankle),
            Role::Toe(s) => (s, self.ball),
            Role::Twist(s, limb, i) => {
                let (a, b) = match limb {
                    Limb::Thigh => (self.hip, self.knee),
                    Limb::Shin => (self.knee, self.ankle),
                    Limb::UpperArm => (self.shoulder, self.elbow),
                    Limb::Forearm => (self.elbow, self.wrist),
                };
                (s, a.lerp(b, (f64::from(i) + 1.0) / (twists as f64 + 1.0)))
            }
        };
        mirror_point(side, left)
    }
}

/// A left-side point on the given side.
pub(super) fn mirror_point(side: Side, p: DVec3) -> DVec3 {
    match side {
        Side::Left => p,
        Side::Right => DVec3::new(-p.x, p.y, p.z),
    }
}

/// A left-side rotation on the given side (mirrored in the plane x = 0).
pub(super) fn mirror_rotation(side: Side, q: DQuat) -> DQuat {
    match side {
        Side::Left => q,
        Side::Right => DQuat::from_xyzw(q.x, -q.y, -q.z, q.w),
    }
}
