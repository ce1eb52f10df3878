//! Frames to curves.

use glam::{DQuat, DVec3, Quat, Vec3};

use super::hierarchy::{BvhJoint, Channel, Hierarchy};
use crate::clip::{Curve, CurveValue, Interpolation, JointTracks, RawClip};

/// Per joint, what its channels say in every frame; empty without such channels.
#[derive(Debug, Default)]
pub(super) struct JointCurves {
    /// Product of the rotation channels, sign-continuous.
    pub(super) rotations: Vec<Quat>,
    /// Channel values, zero where there is no channel; after [`Curves::positioned`] local translations.
    pub(super) positions: Vec<Vec3>,
}

/// All joints.
#[derive(Debug, Default)]
pub(super) struct Curves {
    pub(super) joints: Vec<JointCurves>,
    pub(super) frames: usize,
}

/// From one frame to the next nobody turns a joint by more, degrees; [`Curves::frame_zero_stands_apart`].
const JUMP: f32 = 20.0;

impl Curves {
    /// With room for as many frames as are announced or, if that is less, as fit into so many bytes, so that nothing
    /// grows while it is read. Who does not believe what is announced gives `None`.
    pub(super) fn new(hierarchy: &Hierarchy, declared: Option<usize>, bytes: Option<usize>) -> Self {
        // A value takes a digit and a space.
        let fit = bytes.map_or(0, |bytes| (bytes / 2).div_ceil(hierarchy.columns.max(1)));
        let frames = declared.map_or(fit, |declared| declared.min(fit));
        let joints = hierarchy.joints.iter().map(|joint| JointCurves {
            rotations: Vec::with_capacity(if turns(joint) { frames } else { 0 }),
            positions: Vec::with_capacity(if moves(joint) { frames } else { 0 }),
        });
        Self { joints: joints.collect(), frames: 0 }
    }

    /// Adds a frame.
    pub(super) fn push(&mut self, joints: &[BvhJoint], values: &[f64]) {
        for (joint, curves) in joints.iter().zip(&mut self.joints) {
            let mut rotation = DQuat::IDENTITY;
            let mut position = DVec3::ZERO;
            for (channel, value) in joint.channels.iter().zip(&values[joint.first_column..]) {
                match channel {
                    Channel::Position(axis) => position[usize::from(*axis)] = *value,
                    Channel::Rotation(axis) => rotation *= about(*axis, *value),
                }
            }
            if turns(joint) {
                let rotation = rotation.normalize().as_quat();
                let back = curves.rotations.last().is_some_and(|last| last.dot(rotation) < 0.0);
                curves.rotations.push(if back { -rotation } else { rotation });
            }
            if moves(joint) {
                curves.positions.push(position.as_vec3());
            }
        }
        self.frames += 1;
    }

    /// Frame 0 is no part of the motion but a pose for calibration: many joints jump from it and none does right
    /// after it.
    pub(super) fn frame_zero_stands_apart(&self, joints: &[BvhJoint]) -> bool {
        if self.frames < 4 {
            return false;
        }
        let jump = |from: usize| {
            let turned = self.joints.iter().filter_map(|joint| {
                let (a, b) = (joint.rotations.get(from)?, joint.rotations.get(from + 1)?);
                Some(a.angle_between(*b).to_degrees())
            });
            turned.fold((0.0_f32, 0.0_f32), |(most, sum), angle| (most.max(angle), sum + angle))
        };
        let turning = joints.iter().filter(|joint| turns(joint)).count();
        let (first, all) = jump(0);
        let after = (1..self.frames.min(6) - 1).map(jump);
        let (next, next_all) =
            after.fold((0.0_f32, 0.0_f32), |(most, all), (m, a)| (most.max(m), all.max(a)));
        turning >= 4 && first > JUMP && first > 4.0 * next && all > 4.0 * next_all
    }

    /// Channel values to local translations.
    pub(super) fn positioned(mut self, joints: &[BvhJoint], added: bool) -> Self {
        for (joint, curves) in joints.iter().zip(&mut self.joints) {
            for value in &mut curves.positions {
                *value = translation(joint, *value, added);
            }
        }
        self
    }

    /// The clip; `None` without a frame.
    pub(super) fn clip(self, name: &str, frame_time: f64, calibration: bool) -> Option<RawClip> {
        let frames = self.frames;
        if frames == 0 {
            return None;
        }
        let at = |frame: usize| (frame as f64 * frame_time) as f32;
        let mut tracks = Vec::new();
        for (joint, curves) in (0_u16..).zip(self.joints) {
            let track = JointTracks {
                joint,
                translation: curve(curves.positions, &at),
                rotation: curve(curves.rotations, &at),
                scale: None,
            };
            if track.translation.is_some() || track.rotation.is_some() {
                tracks.push(track);
            }
        }
        let first = usize::from(calibration);
        Some(RawClip {
            name: name.to_owned(),
            start: at(first),
            duration: ((frames - 1 - first) as f64 * frame_time) as f32,
            tracks,
            ..RawClip::default()
        })
    }
}

/// The local translation that channel values mean; an axis without channel keeps the OFFSET.
pub(super) fn translation(joint: &BvhJoint, values: Vec3, added: bool) -> Vec3 {
    let mut out = DVec3::from_array(joint.offset);
    for channel in &joint.channels {
        if let Channel::Position(axis) = *channel {
            let axis = usize::from(axis);
            let value = f64::from(values[axis]);
            out[axis] = if added { out[axis] + value } else { value };
        }
    }
    out.as_vec3()
}

fn about(axis: u8, degrees: f64) -> DQuat {
    let axis = [DVec3::X, DVec3::Y, DVec3::Z][usize::from(axis) % 3];
    DQuat::from_axis_angle(axis, degrees.to_radians())
}

pub(super) fn turns(joint: &BvhJoint) -> bool {
    joint.channels.iter().any(|channel| matches!(channel, Channel::Rotation(_)))
}

pub(super) fn moves(joint: &BvhJoint) -> bool {
    joint.channels.iter().any(|channel| matches!(channel, Channel::Position(_)))
}

/// One key where nothing changes: most position channels restate the OFFSET in every frame.
fn curve<T: CurveValue + PartialEq>(mut values: Vec<T>, at: &impl Fn(usize) -> f32) -> Option<Curve<T>> {
    let first = values.first().copied()?;
    if values.iter().all(|value| *value == first) {
        values = vec![first];
    }
    let times = (0..values.len()).map(at).collect();
    // Moving everything to save a little would take more than it gives back.
    if values.len() < values.capacity() / 2 {
        values.shrink_to_fit();
    }
    Some(Curve { times, values, interpolation: Interpolation::Linear })
}
