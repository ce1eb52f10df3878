//! A motion of one body as a function of time, before it becomes keys on joints.

use glam::{DQuat, DVec3};

use super::anatomy::{Anatomy, mirror_point};
use super::carriage::{Carriage, LegRotations, pelvis_rotation};
use super::stance::{FootPose, FootShape, FootTrack, Planar, Stance};
use crate::clip::{Contacts, FootContacts, Interval};
use crate::rig::Side;

/// Everything that changes over time.
pub(super) struct Frame {
    pub root: Planar,
    pub carriage: Carriage,
    /// Pelvis below its reference height, metres.
    pub drop: f64,
    /// Left first.
    pub feet: [FootPose; 2],
}

type Path<'a> = Box<dyn Fn(f64) -> Planar + 'a>;
type Bearing<'a> = Box<dyn Fn(f64) -> Carriage + 'a>;
type Height<'a> = Box<dyn Fn(f64) -> f64 + 'a>;

/// A motion: root path, trunk and arms, foot tracks, all on the clip's clock.
pub(super) struct Motion<'a> {
    pub duration: f64,
    pub looping: bool,
    /// Keys a second, a multiple of 30: enough that a planted foot keeps still between them.
    pub rate: f64,
    pub root: Path<'a>,
    pub carriage: Bearing<'a>,
    pub drop: Height<'a>,
    /// Left first.
    pub feet: [FootTrack; 2],
}

/// Shape of the left foot of a body.
pub(super) fn foot_shape(anatomy: &Anatomy) -> FootShape {
    FootShape {
        heel: anatomy.heel - anatomy.ankle,
        ball: anatomy.ball - anatomy.ankle,
        toe_tip: anatomy.toe_tip - anatomy.ankle,
    }
}

impl Motion<'_> {
    pub fn at(&self, t: f64) -> Frame {
        Frame {
            root: (self.root)(t),
            carriage: (self.carriage)(t),
            drop: (self.drop)(t),
            feet: [self.feet[0].at(t), self.feet[1].at(t)],
        }
    }

    /// Contact intervals on the clip's clock.
    pub fn contacts(&self) -> Contacts {
        let feet = Side::BOTH
            .map(|side| {
                let stances = self.feet[side as usize].stances();
                FootContacts {
                    side,
                    heel: self.intervals(stances, |s| (s.heel_down, s.heel_up)),
                    ball: self.intervals(stances, |s| (s.ball_down, s.ball_up)),
                }
            })
            .to_vec();
        Contacts { feet }
    }

    fn intervals(&self, stances: &[Stance], of: impl Fn(&Stance) -> (f64, f64)) -> Vec<Interval> {
        let mut list = Vec::new();
        for (start, end) in stances.iter().map(of) {
            let interval = |start: f64, end: f64| Interval { start: start as f32, end: end as f32 };
            if start <= 0.0 && end >= self.duration {
                return vec![interval(0.0, self.duration)];
            }
            if self.looping {
                // Each contact once: that which begins within the clip; it may run over the end.
                if start >= -1e-9 && start < self.duration - 1e-9 {
                    let over = if end > self.duration + 1e-9 { end - self.duration } else { end };
                    list.push(interval(start.max(0.0), over));
                }
            } else if end > 0.0 && start < self.duration {
                list.push(interval(start.max(0.0), end.min(self.duration)));
            }
        }
        list
    }
}

/// Where the pelvis is, model space of the clip.
pub(super) fn pelvis_position(anatomy: &Anatomy, frame: &Frame) -> DVec3 {
    let t = &frame.carriage.trunk;
    let local = DVec3::new(t.lateral, anatomy.pelvis.y - frame.drop + t.height, anatomy.pelvis.z + t.fore);
    frame.root.point(local)
}

fn hip_position(anatomy: &Anatomy, frame: &Frame, side: Side) -> DVec3 {
    let rotation = pelvis_rotation(&frame.carriage.trunk, frame.root.yaw);
    pelvis_position(anatomy, frame) + rotation * mirror_point(side, anatomy.hip - anatomy.pelvis)
}

/// How far the pelvis must come down from where `frame` has it so that no knee is straighter than `knee`
/// (radians of flexion).
pub(super) fn needed_drop(anatomy: &Anatomy, frame: &Frame, knee: f64) -> f64 {
    let (a, b) = (anatomy.hip.distance(anatomy.knee), anatomy.knee.distance(anatomy.ankle));
    let reach_squared = a * a + b * b + 2.0 * a * b * knee.cos();
    Side::BOTH
        .map(|side| {
            let gap = hip_position(anatomy, frame, side) - frame.feet[side as usize].ankle;
            let level = gap.x * gap.x + gap.z * gap.z;
            gap.y - (reach_squared - level).max(0.0).sqrt()
        })
        .into_iter()
        .fold(f64::NEG_INFINITY, f64::max)
}

/// The constant drop that keeps both knees bent by at least `knee` throughout the motion.
pub(super) fn steady_drop(anatomy: &Anatomy, motion: &Motion<'_>, knee: f64) -> f64 {
    samples(motion.duration)
        .map(|t| {
            let frame = Frame { drop: 0.0, ..motion.at(t) };
            needed_drop(anatomy, &frame, knee)
        })
        .fold(f64::NEG_INFINITY, f64::max)
}

/// The largest drop that a motion still needs, and when.
pub(super) fn worst_drop(anatomy: &Anatomy, motion: &Motion<'_>, knee: f64) -> (f64, f64) {
    samples(motion.duration)
        .map(|t| (needed_drop(anatomy, &motion.at(t), knee), t))
        .fold((0.0, 0.0), |worst, here| if here.0 > worst.0 { here } else { worst })
}

fn samples(duration: f64) -> impl Iterator<Item = f64> {
    let n = (duration * 120.0).ceil().max(1.0) as u32;
    (0..=n).map(move |i| duration * f64::from(i) / f64::from(n))
}

/// Two-bone solution of both legs of a frame: rotations since the T pose, model axes.
pub(super) fn solve_legs(anatomy: &Anatomy, frame: &Frame) -> [LegRotations; 2] {
    let pelvis_yaw = frame.root.yaw + frame.carriage.trunk.pelvis_yaw;
    Side::BOTH.map(|side| {
        let foot = &frame.feet[side as usize];
        let hip = hip_position(anatomy, frame, side);
        // The knee's hinge stays level, half way between what pelvis and foot ask for.
        let hinge = DQuat::from_rotation_y(0.5 * (pelvis_yaw + foot.yaw)) * DVec3::X;
        let rest = [anatomy.hip, anatomy.knee, anatomy.ankle].map(|p| mirror_point(side, p));
        let (thigh_bone, shin_bone) = (rest[1] - rest[0], rest[2] - rest[1]);
        let knee = knee_position(hip, foot.ankle, thigh_bone.length(), shin_bone.length(), hinge);
        let turn = |bone: DVec3, now: DVec3| leg_frame(now, hinge) * leg_frame(bone, DVec3::X).inverse();
        LegRotations {
            thigh: turn(thigh_bone, knee - hip),
            shin: turn(shin_bone, foot.ankle - knee),
            foot: foot.foot,
            toe: foot.toe,
        }
    })
}

/// Knee in front of the line from hip to ankle, by the law of cosines; the leg is straight where the
/// ankle is out of reach.
fn knee_position(hip: DVec3, ankle: DVec3, thigh: f64, shin: f64, hinge: DVec3) -> DVec3 {
    let line = ankle - hip;
    let distance = line.length().clamp((thigh - shin).abs() + 1e-6, thigh + shin - 1e-9);
    let along = line.normalize();
    let front = along.cross(hinge).normalize();
    let x = (thigh * thigh - shin * shin + distance * distance) / (2.0 * distance);
    hip + along * x + front * (thigh * thigh - x * x).max(0.0).sqrt()
}

/// Frame with -Y along the bone and X as near the hinge as it can be.
fn leg_frame(bone: DVec3, hinge: DVec3) -> DQuat {
    let y = -bone.normalize();
    let x = (hinge - y * hinge.dot(y)).normalize();
    DQuat::from_mat3(&glam::DMat3::from_cols(x, y, x.cross(y)))
}
