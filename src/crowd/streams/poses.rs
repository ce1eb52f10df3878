//! What a frame gets of its streams: poses in slices that lie anywhere, or in a buffer.

use bytemuck::{Pod, Zeroable};

use super::buffer::StreamBuffer;
use crate::lanes::Row;
use crate::rig::MAX_FEET;

#[cfg(doc)]
use crate::retarget::LiveMap;

/// A stream's place among the poses of a [`Frame`](crate::crowd::Frame).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u32);

/// A rotation (x, y, z, w) in 16-bit signed normalised integers: 32 767 stands for 1.
///
/// Rounding turns it by up to 5e-5 rad, 3e-5 in the root mean square; its length is made 1 in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C, align(8))]
pub struct SnormQuat(pub [i16; 4]);

impl SnormQuat {
    /// No rotation.
    pub const IDENTITY: Self = Self([0, 0, 0, i16::MAX]);

    /// The nearest one; what is beyond 1 is cut. All 0 where one is NaN, which frames refuse.
    #[must_use]
    #[inline]
    pub fn new(rotation: [f32; 4]) -> Self {
        // Where neighbours are 1 apart, a sum is rounded to a whole number, which its lowest bits hold: `round` is a call
        // for every value on processors of which no more is known, and took 1 000 ns for 64 joints.
        const WHOLE: f32 = 1.5 * (1u32 << 23) as f32;
        let one = f32::from(i16::MAX);
        let whole = rotation.map(|value| ((value * one).clamp(-one, one) + WHOLE).to_bits() as i16);
        let real = rotation.iter().all(|value| !value.is_nan());
        Self(if real { whole } else { [0; 4] })
    }

    /// What it stands for, of about unit length.
    #[must_use]
    pub fn to_array(self) -> [f32; 4] {
        self.0.map(|value| f32::from(value) / f32::from(i16::MAX))
    }
}

impl Default for SnormQuat {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// Native local rotations (x, y, z, w) of one pose, in either precision.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rotations<'a> {
    /// In single precision.
    F32(&'a [[f32; 4]]),
    /// In 16 bits, half as much to read: see [`SnormQuat`]. The matrices into motion space are rounded to 16 bits too, so
    /// that a joint's delta is off by up to 1.5e-4 rad, 4e-5 in the root mean square.
    Snorm16(&'a [SnormQuat]),
}

impl<'a> Rotations<'a> {
    /// Joints.
    #[must_use]
    #[inline(always)]
    pub fn len(self) -> usize {
        match self {
            Self::F32(rotations) => rotations.len(),
            Self::Snorm16(rotations) => rotations.len(),
        }
    }

    /// True without any.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// That of one joint.
    #[must_use]
    pub fn get(self, joint: usize) -> Option<[f32; 4]> {
        match self {
            Self::F32(rotations) => rotations.get(joint).copied(),
            Self::Snorm16(rotations) => rotations.get(joint).map(|rotation| rotation.to_array()),
        }
    }

    /// As they lie in memory.
    #[inline(always)]
    pub(crate) fn words(self) -> &'a [f32] {
        match self {
            Self::F32(rotations) => rotations.as_flattened(),
            Self::Snorm16(rotations) => bytemuck::cast_slice(rotations),
        }
    }
}

impl Default for Rotations<'_> {
    fn default() -> Self {
        Self::F32(&[])
    }
}

impl<'a> From<&'a [[f32; 4]]> for Rotations<'a> {
    fn from(rotations: &'a [[f32; 4]]) -> Self {
        Self::F32(rotations)
    }
}

impl<'a> From<&'a Vec<[f32; 4]>> for Rotations<'a> {
    fn from(rotations: &'a Vec<[f32; 4]>) -> Self {
        Self::F32(rotations)
    }
}

impl<'a, const N: usize> From<&'a [[f32; 4]; N]> for Rotations<'a> {
    fn from(rotations: &'a [[f32; 4]; N]) -> Self {
        Self::F32(rotations)
    }
}

impl<'a> From<&'a [SnormQuat]> for Rotations<'a> {
    fn from(rotations: &'a [SnormQuat]) -> Self {
        Self::Snorm16(rotations)
    }
}

impl<'a> From<&'a Vec<SnormQuat>> for Rotations<'a> {
    fn from(rotations: &'a Vec<SnormQuat>) -> Self {
        Self::Snorm16(rotations)
    }
}

impl<'a, const N: usize> From<&'a [SnormQuat; N]> for Rotations<'a> {
    fn from(rotations: &'a [SnormQuat; N]) -> Self {
        Self::Snorm16(rotations)
    }
}

/// One pose of a stream, in the source's own joints and axes.
#[derive(Clone, Copy, Debug, Default)]
pub struct StreamPose<'a> {
    /// Native local rotations, one per joint of the source in its file's order, unit length to within half a hundredth.
    /// Joints that the map does not use may hold anything. Empty: nothing has arrived.
    pub rotations: Rotations<'a>,
    /// Model-space position of the source's [`LiveMap::carrier`], metres.
    pub position: [f32; 3],
    /// Contact weight of the left and right foot, 0 to 1; estimated from height and speed of the soles where `None` or
    /// not finite.
    pub contacts: Option<[f32; MAX_FEET]>,
}

/// Poses of all streams of a frame, by [`StreamId`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum StreamPoses<'a> {
    /// Each anywhere, in its own precision.
    Slices(&'a [StreamPose<'a>]),
    /// In the memory that receivers write them to.
    F32(&'a StreamBuffer<[f32; 4]>),
    /// The same in 16 bits.
    Snorm16(&'a StreamBuffer<SnormQuat>),
}

impl<'a> StreamPoses<'a> {
    /// No streams.
    pub const NONE: Self = Self::Slices(&[]);

    /// That of one stream.
    #[inline(always)]
    pub(super) fn raw(self, id: StreamId) -> Option<RawPose<'a>> {
        match self {
            Self::Slices(poses) => poses.get(id.0 as usize).map(RawPose::of),
            Self::F32(buffer) => buffer.raw(id),
            Self::Snorm16(buffer) => buffer.raw(id),
        }
    }
}

/// A pose, however it lies.
#[derive(Clone, Copy)]
pub(super) struct RawPose<'a> {
    /// From the first rotation on.
    pub words: &'a [f32],
    /// Words from one rotation to the next.
    pub stride: usize,
    /// Rotations of the sixteen poses that it is among, and its lane, where it is.
    pub beside: Option<(&'a [Row], u8)>,
    /// 0 if it has not arrived.
    pub joints: usize,
    /// In 16 bits.
    pub packed: bool,
    pub position: [f32; 3],
    /// NaN where they are not told.
    pub contacts: [f32; MAX_FEET],
}

impl Default for StreamPoses<'_> {
    fn default() -> Self {
        Self::NONE
    }
}

impl<'a> From<&'a [StreamPose<'a>]> for StreamPoses<'a> {
    fn from(poses: &'a [StreamPose<'a>]) -> Self {
        Self::Slices(poses)
    }
}

impl<'a, const N: usize> From<&'a [StreamPose<'a>; N]> for StreamPoses<'a> {
    fn from(poses: &'a [StreamPose<'a>; N]) -> Self {
        Self::Slices(poses)
    }
}

impl<'a> From<&'a Vec<StreamPose<'a>>> for StreamPoses<'a> {
    fn from(poses: &'a Vec<StreamPose<'a>>) -> Self {
        Self::Slices(poses)
    }
}

impl<'a> From<&'a StreamBuffer<[f32; 4]>> for StreamPoses<'a> {
    fn from(buffer: &'a StreamBuffer<[f32; 4]>) -> Self {
        Self::F32(buffer)
    }
}

impl<'a> From<&'a StreamBuffer<SnormQuat>> for StreamPoses<'a> {
    fn from(buffer: &'a StreamBuffer<SnormQuat>) -> Self {
        Self::Snorm16(buffer)
    }
}

impl<'a> RawPose<'a> {
    #[inline(always)]
    pub fn of(pose: &StreamPose<'a>) -> Self {
        let packed = matches!(pose.rotations, Rotations::Snorm16(_));
        Self {
            words: pose.rotations.words(),
            stride: if packed { 2 } else { 4 },
            beside: None,
            joints: pose.rotations.len(),
            packed,
            position: pose.position,
            contacts: pose.contacts.unwrap_or([f32::NAN; MAX_FEET]),
        }
    }

    /// That of one joint.
    pub fn rotation(&self, joint: usize) -> Option<[f32; 4]> {
        if joint >= self.joints {
            return None;
        }
        let words = self.words.get(joint * self.stride..)?;
        if self.packed {
            let [a, b] = *words.first_chunk()?;
            Some(bytemuck::cast::<[f32; 2], SnormQuat>([a, b]).to_array())
        } else {
            words.first_chunk().copied()
        }
    }
}
