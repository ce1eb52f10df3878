//! A clip looked at from outside: where all joints are and how they are turned, by the skeleton and the clip alone.

use glam::{DMat4, DQuat, DVec3};

use super::{Judged, judged_times};
use crate::clip::{JointTracks, RawClip, RootSource};
use crate::rig::{RawSkeleton, Role, Side, carrier, estimate_sole, leg_length};

/// One frame of a film.
pub(super) struct Frame {
    /// Model positions, metres.
    pub at: Vec<DVec3>,
    /// Model rotations since the reference pose.
    pub turn: Vec<DQuat>,
}

pub(super) struct Film<'a> {
    pub judged: Judged<'a>,
    pub frames: Vec<Frame>,
    /// Seconds between frames.
    pub step: f64,
}

impl<'a> Film<'a> {
    pub(super) fn shoot(judged: Judged<'a>, times: &[f32]) -> Self {
        let seconds = times.last().copied().map_or(0.0, f64::from);
        let step = seconds / (times.len().max(2) - 1) as f64;
        // What marches on the spot was made to travel.
        let speed = match judged.clip.root {
            RootSource::InPlace { speed } => f64::from(speed),
            _ => 0.0,
        };
        let back: Vec<DQuat> =
            (0..judged.skeleton.joints.len()).map(|j| judged.reference.rotation(j).inverse()).collect();
        let frames = times
            .iter()
            .map(|&time| {
                let way = DVec3::new(0.0, 0.0, speed * f64::from(time));
                let models = models(judged.skeleton, judged.clip, time);
                Frame {
                    at: models.iter().map(|(model, _)| model.w_axis.truncate() + way).collect(),
                    turn: models.iter().zip(&back).map(|((_, q), back)| *q * *back).collect(),
                }
            })
            .collect();
        Self { judged, frames, step }
    }

    /// As it is judged on its own.
    pub(super) fn whole(judged: Judged<'a>) -> Self {
        Self::shoot(judged, &judged_times(judged.clip))
    }

    /// Positions alone.
    pub(super) fn places(&self) -> Vec<Vec<DVec3>> {
        self.frames.iter().map(|frame| frame.at.clone()).collect()
    }

    pub(super) fn joint(&self, role: Role) -> Option<usize> {
        self.judged.roles.joint(role).map(usize::from)
    }

    pub(super) fn at(&self, frame: &Frame, role: Role) -> Option<DVec3> {
        frame.at.get(self.joint(role)?).copied()
    }

    pub(super) fn bone(&self, frame: &Frame, from: Role, to: Role) -> Option<DVec3> {
        (self.at(frame, to)? - self.at(frame, from)?).try_normalize()
    }

    /// In the reference pose.
    pub(super) fn rest(&self, role: Role) -> Option<DVec3> {
        Some(self.judged.reference.position(self.joint(role)?))
    }

    /// What stands on the ground under the front of a foot: the toe's joint, or the point where the sole bends in a foot
    /// that has none.
    pub(super) fn ball(&self, side: Side) -> Option<Ball> {
        if let Some(toe) = self.joint(Role::Toe(side)) {
            return Some(Ball { joint: toe, offset: DVec3::ZERO });
        }
        let foot = self.joint(Role::Foot(side))?;
        let Judged { skeleton, roles, reference, .. } = self.judged;
        let sole = estimate_sole(reference.position(foot), None, leg_length(skeleton, roles, reference));
        Some(Ball { joint: foot, offset: DVec3::from_array(sole.ball.map(f64::from)) })
    }

    /// Horizontal way of the hips.
    pub(super) fn path(&self) -> f64 {
        let hips = usize::from(carrier(self.judged.skeleton, self.judged.roles));
        self.frames
            .windows(2)
            .map(|pair| {
                let d = pair[1].at[hips] - pair[0].at[hips];
                d.x.hypot(d.z)
            })
            .sum()
    }

    /// Largest relative change of a distance between joint and parent that the clip does not move.
    pub(super) fn stretch(&self) -> f64 {
        let Judged { skeleton, clip, roles, .. } = self.judged;
        let pelvis = carrier(skeleton, roles);
        let rest = models(skeleton, &RawClip::default(), 0.0);
        let rest = |joint: usize| rest[joint].0.w_axis.truncate();
        let mut worst = 0.0f64;
        for (joint, raw) in skeleton.joints.iter().enumerate() {
            let Some(parent) = raw.parent.map(usize::from) else { continue };
            // A foot that is a goal beside its leg is put to the shin's end by the clip.
            let put = |track: &JointTracks| usize::from(track.joint) == joint && track.translation.is_some();
            let carried = joint == usize::from(pelvis)
                || clip.tracks.iter().any(put)
                || clip.root == RootSource::Joint(joint as u16)
                || skeleton.is_below(pelvis.into(), joint);
            let length = rest(joint).distance(rest(parent));
            if carried || length < 1e-4 {
                continue;
            }
            for frame in &self.frames {
                worst = worst.max((frame.at[joint].distance(frame.at[parent]) / length - 1.0).abs());
            }
        }
        worst
    }
}

/// A point that is fixed in a joint: model axes, in the reference pose, metres.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ball {
    joint: usize,
    offset: DVec3,
}

impl Ball {
    pub(super) fn at(&self, frame: &Frame) -> DVec3 {
        frame.at[self.joint] + frame.turn[self.joint] * self.offset
    }

    /// In the reference pose.
    pub(super) fn rest(&self, judged: Judged<'_>) -> DVec3 {
        judged.reference.position(self.joint) + self.offset
    }
}

/// Model matrix and, scale aside, rotation of each joint.
fn models(skeleton: &RawSkeleton, clip: &RawClip, time: f32) -> Vec<(DMat4, DQuat)> {
    let mut models: Vec<(DMat4, DQuat)> = Vec::with_capacity(skeleton.joints.len());
    for (joint, local) in skeleton.joints.iter().zip(clip.sample(skeleton, time)) {
        let rotation = local.rotation.as_dquat().normalize();
        let own = DMat4::from_scale_rotation_translation(
            local.scale.as_dvec3(),
            rotation,
            local.translation.as_dvec3(),
        );
        let above = joint.parent.and_then(|parent| models.get(usize::from(parent))).copied();
        models.push(above.map_or((own, rotation), |(m, q)| (m * own, (q * rotation).normalize())));
    }
    models
}
