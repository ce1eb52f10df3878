//! Raw clips: curves per joint on the skeleton they were made for.

use glam::{Quat, Vec3};

use super::ClipEvent;
use crate::error::BuildError;
use crate::rig::{RawSkeleton, Side, Transform};

/// How a [`Curve`] runs between its keys (the three kinds of glTF).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// Holds the last key.
    Step,
    /// Straight; rotations take the shorter arc at constant angular speed.
    Linear,
    /// Cubic Hermite with in- and out-tangents; rotations are normalised afterwards.
    CubicSpline,
}

/// A value that a [`Curve`] can carry.
pub trait CurveValue: Copy {
    /// Interpolates between neighbouring keys, `u` in [0, 1].
    fn mix(a: Self, b: Self, u: f32) -> Self;
    /// Hermite: value and out-tangent at the left key, value and in-tangent at the right one,
    /// tangents already multiplied by the key interval.
    fn hermite(a: Self, out_tangent: Self, b: Self, in_tangent: Self, u: f32) -> Self;
    /// False if any component is infinite or NaN.
    fn finite(&self) -> bool;
    /// False if it is no value of its kind, tangents aside: a quaternion that cannot be normalised.
    fn usable(&self) -> bool;
    /// Multiplied by a factor (tangents).
    fn scaled(self, factor: f32) -> Self;
}

impl CurveValue for Vec3 {
    fn mix(a: Self, b: Self, u: f32) -> Self {
        a + (b - a) * u
    }
    fn hermite(a: Self, m0: Self, b: Self, m1: Self, u: f32) -> Self {
        let [h00, h10, h01, h11] = hermite_basis(u);
        a * h00 + m0 * h10 + b * h01 + m1 * h11
    }
    fn finite(&self) -> bool {
        self.is_finite()
    }
    fn usable(&self) -> bool {
        self.is_finite()
    }
    fn scaled(self, factor: f32) -> Self {
        self * factor
    }
}

impl CurveValue for Quat {
    fn mix(a: Self, b: Self, u: f32) -> Self {
        a.slerp(b, u)
    }
    fn hermite(a: Self, m0: Self, b: Self, m1: Self, u: f32) -> Self {
        let [h00, h10, h01, h11] = hermite_basis(u);
        let sum = a * h00 + m0 * h10 + b * h01 + m1 * h11;
        if sum.length_squared() > 1e-12 { sum.normalize() } else { a }
    }
    fn finite(&self) -> bool {
        self.is_finite()
    }
    fn usable(&self) -> bool {
        let squared = self.length_squared();
        squared.is_finite() && squared > 1e-6
    }
    fn scaled(self, factor: f32) -> Self {
        self * factor
    }
}

fn hermite_basis(u: f32) -> [f32; 4] {
    let (u2, u3) = (u * u, u * u * u);
    [2.0 * u3 - 3.0 * u2 + 1.0, u3 - 2.0 * u2 + u, -2.0 * u3 + 3.0 * u2, u3 - u2]
}

/// Keys of one component of one joint.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve<T> {
    /// Seconds on the file's own clock, strictly rising.
    pub times: Vec<f32>,
    /// One per key; for [`Interpolation::CubicSpline`] three per key: in-tangent, value, out-tangent.
    pub values: Vec<T>,
    /// Between the keys.
    pub interpolation: Interpolation,
}

impl<T: CurveValue> Curve<T> {
    /// The curve at `time`; before the first key and after the last the value is held. `None` if there are no keys
    /// or not as many values as they need.
    pub fn sample(&self, time: f32) -> Option<T> {
        if self.values.len() < self.times.len() * self.per_key() {
            return None;
        }
        let last = self.times.len().checked_sub(1)?;
        let right = self.times.partition_point(|&t| t <= time);
        let value = |key: usize| match self.interpolation {
            Interpolation::CubicSpline => self.values[3 * key + 1],
            _ => self.values[key],
        };
        if right == 0 {
            return Some(value(0));
        }
        let left = right - 1;
        if left == last {
            return Some(value(last));
        }
        let span = self.times[right] - self.times[left];
        let u = (time - self.times[left]) / span;
        Some(match self.interpolation {
            Interpolation::Step => value(left),
            Interpolation::Linear => T::mix(value(left), value(right), u),
            Interpolation::CubicSpline => T::hermite(
                value(left),
                self.values[3 * left + 2].scaled(span),
                value(right),
                self.values[3 * right].scaled(span),
                u,
            ),
        })
    }

    fn per_key(&self) -> usize {
        if self.interpolation == Interpolation::CubicSpline { 3 } else { 1 }
    }

    fn validate(&self, clip: &str, joint: u16) -> Result<(), BuildError> {
        let per_key = self.per_key();
        let bad = |reason: &'static str| {
            Err(BuildError::Curve { clip: clip.to_owned(), joint: usize::from(joint), reason })
        };
        if self.times.is_empty() {
            return bad("it has no keys");
        }
        if self.values.len() != self.times.len() * per_key {
            return bad("the number of values does not fit the number of keys");
        }
        if !self.times.iter().all(|t| t.is_finite()) || !self.values.iter().all(CurveValue::finite) {
            return bad("a key is not finite");
        }
        // Of the three per cubic key the one in the middle is the value.
        if !self.values.iter().skip(per_key / 2).step_by(per_key).all(CurveValue::usable) {
            return bad("a rotation is zero or too large to be normalised");
        }
        if self.times.windows(2).any(|pair| pair[0] >= pair[1]) {
            return bad("key times must rise");
        }
        Ok(())
    }
}

/// The animated components of one joint; what is absent keeps the rest value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointTracks {
    /// Joint of the skeleton that the clip belongs to.
    pub joint: u16,
    /// Local translation, metres.
    pub translation: Option<Curve<Vec3>>,
    /// Local rotation.
    pub rotation: Option<Curve<Quat>>,
    /// Local scale.
    pub scale: Option<Curve<Vec3>>,
}

/// A time interval on the clip's own clock (0 at its start), seconds.
/// `end < start` runs over the loop's end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Touch-down.
    pub start: f32,
    /// Lift-off.
    pub end: f32,
}

impl Interval {
    /// True if `time` lies inside, for a clip of that duration.
    pub fn contains(&self, time: f32) -> bool {
        if self.start <= self.end {
            (self.start..=self.end).contains(&time)
        } else {
            time >= self.start || time <= self.end
        }
    }
}

/// When the heel and the ball of one foot are on the ground.
#[derive(Clone, Debug, PartialEq)]
pub struct FootContacts {
    /// Which foot.
    pub side: Side,
    /// Heel down.
    pub heel: Vec<Interval>,
    /// Ball down.
    pub ball: Vec<Interval>,
}

/// Contacts of a clip, and who says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Contacts {
    /// One entry per foot.
    pub feet: Vec<FootContacts>,
}

/// Where a clip's travel over the ground is.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum RootSource {
    /// In the joints: the horizontal path and heading of the hips (smoothed to a straight line or arc
    /// per cycle where the clip is a loop) become root motion.
    #[default]
    Hips,
    /// The clip marches on the spot; it was made for this ground speed, metres per second along +Z.
    InPlace {
        /// Metres per second.
        speed: f32,
    },
    /// The skeleton's joint of this index is the root of the travel; it holds it exactly.
    Joint(u16),
}

/// A clip on the skeleton it was made for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawClip {
    /// As the file spells it.
    pub name: String,
    /// First key of the clip on the file's clock, seconds.
    pub start: f32,
    /// Last key minus first key, seconds.
    pub duration: f32,
    /// Sorted by joint.
    pub tracks: Vec<JointTracks>,
    /// True if the last pose runs on into the first.
    pub looping: bool,
    /// Where the travel is.
    pub root: RootSource,
    /// `None` where nobody has said.
    pub contacts: Option<Contacts>,
    /// In any order, on the clip's own clock.
    pub events: Vec<ClipEvent>,
    /// Seconds of the markers that keep cycles in step, in the order of their meaning: see [`SyncMarkers`]. Where there
    /// are none, touch-downs of the feet count, if authored.
    ///
    /// [`SyncMarkers`]: super::SyncMarkers
    pub sync: Vec<f32>,
}

impl RawClip {
    /// Checks tracks and root against the skeleton.
    ///
    /// # Errors
    /// [`BuildError`] naming clip, joint and reason.
    pub fn validate(&self, skeleton: &RawSkeleton) -> Result<(), BuildError> {
        if !(self.duration >= 0.0 && self.duration.is_finite() && self.start.is_finite()) {
            return Err(BuildError::ClipDuration { clip: self.name.clone(), duration: self.duration });
        }
        match self.root {
            RootSource::Joint(joint) if usize::from(joint) >= skeleton.joints.len() => {
                return Err(BuildError::Curve {
                    clip: self.name.clone(),
                    joint: joint.into(),
                    reason: "it is named as the root of the travel, but the skeleton has no such joint",
                });
            }
            RootSource::InPlace { speed } if !speed.is_finite() => {
                let (what, right) = ("the speed of an in-place clip", "it must be finite");
                return Err(BuildError::Input { what, value: speed, right });
            }
            _ => {}
        }
        for track in &self.tracks {
            if usize::from(track.joint) >= skeleton.joints.len() {
                return Err(BuildError::Curve {
                    clip: self.name.clone(),
                    joint: track.joint.into(),
                    reason: "the skeleton has no such joint",
                });
            }
            if let Some(curve) = &track.translation {
                curve.validate(&self.name, track.joint)?;
            }
            if let Some(curve) = &track.rotation {
                curve.validate(&self.name, track.joint)?;
            }
            if let Some(curve) = &track.scale {
                curve.validate(&self.name, track.joint)?;
            }
        }
        Ok(())
    }

    /// Local pose at `time` seconds after the clip's start: rest where nothing is animated. Of a clip that is not
    /// [valid](Self::validate), tracks of joints that are not there and curves without values count as absent.
    pub fn sample(&self, skeleton: &RawSkeleton, time: f32) -> Vec<Transform> {
        let at = self.start + time;
        let mut pose = skeleton.rest_pose();
        for track in &self.tracks {
            let Some(local) = pose.get_mut(usize::from(track.joint)) else { continue };
            if let Some(value) = track.translation.as_ref().and_then(|curve| curve.sample(at)) {
                local.translation = value;
            }
            if let Some(value) = track.rotation.as_ref().and_then(|curve| curve.sample(at)) {
                local.rotation = value.normalize();
            }
            if let Some(value) = track.scale.as_ref().and_then(|curve| curve.sample(at)) {
                local.scale = value;
            }
        }
        pose
    }
}
