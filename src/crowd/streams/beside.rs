//! One pose of a [`StreamBuffer`], and the fifteen beside it.

use core::fmt;
use core::marker::PhantomData;

#[cfg(doc)]
use super::StreamBuffer;
use super::buffer::StreamRotation;
use crate::error::BuildError;
use crate::lanes::{BLOCK, Row};
use crate::rig::MAX_FEET;

/// Rows before the rotations of a block.
pub(super) const HEAD: usize = 4 + MAX_FEET;
pub(super) const ARRIVED: usize = 0;
const POSITION: usize = 1;
pub(super) const CONTACTS: usize = 4;

/// The sixteen poses that a seat is among.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'a> {
    pub head: &'a [Row; HEAD],
    /// Rotations.
    pub rows: &'a [Row],
}

impl<'a> Side<'a> {
    /// Lanes that have something.
    #[inline(always)]
    pub fn arrived_lanes(self) -> u16 {
        if self.head[ARRIVED].same(&Row::ONE) {
            return u16::MAX;
        }
        self.head[ARRIVED].0.iter().rev().fold(0, |lanes, &value| lanes << 1 | u16::from(value != 0.0))
    }

    #[inline(always)]
    pub fn position(self) -> &'a [Row; 3] {
        let [_, position @ .., _, _] = self.head;
        position
    }

    #[inline(always)]
    pub fn contacts(self) -> &'a [Row; MAX_FEET] {
        let [_, _, _, _, contacts @ ..] = self.head;
        contacts
    }
}

/// Copies one lane's rotations among sixteen others'.
#[inline]
pub(super) fn copy_lane<Q: StreamRotation>(from: &[Row], lane: usize, to: &mut [Row], at: usize) {
    let (lane, at) = (Q::place(lane), Q::place(at));
    let (from, to): (&[[Q; BLOCK]], &mut [[Q; BLOCK]]) =
        (bytemuck::cast_slice(from), bytemuck::cast_slice_mut(to));
    to.iter_mut().zip(from).for_each(|(to, from)| to[at] = from[lane]);
}

/// A pose in a [`StreamBuffer`], to be written in place.
pub struct StreamPoseMut<'a, Q> {
    pub(super) head: &'a mut [Row],
    pub(super) rotations: &'a mut [[Q; BLOCK]],
    pub(super) lane: usize,
}

impl<Q: StreamRotation> StreamPoseMut<'_, Q> {
    /// Joints of the source.
    #[must_use]
    pub fn joints(&self) -> usize {
        self.rotations.len()
    }

    /// Local rotations as [`StreamPose::rotations`](super::StreamPose::rotations) has them, joint by joint. Identities at
    /// first.
    #[inline]
    pub fn rotations_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Q> {
        let place = Q::place(self.lane);
        self.rotations.iter_mut().map(move |sixteen| &mut sixteen[place])
    }

    /// That of one joint; `None` if there is no such joint.
    #[inline]
    pub fn rotation_mut(&mut self, joint: usize) -> Option<&mut Q> {
        self.rotations.get_mut(joint).map(|sixteen| &mut sixteen[Q::place(self.lane)])
    }

    /// All of them.
    ///
    /// # Errors
    /// If they are not of as many joints; nothing is changed then.
    #[inline]
    pub fn set_rotations(&mut self, rotations: &[Q]) -> Result<(), BuildError> {
        let (have, need) = (rotations.len(), self.joints());
        if have != need {
            return Err(BuildError::Length { what: "the rotations of a stream's pose", have, need });
        }
        self.rotations_mut().zip(rotations).for_each(|(to, &from)| *to = from);
        Ok(())
    }

    /// See [`StreamPose::position`](super::StreamPose::position). The origin at first.
    #[inline]
    pub fn set_position(&mut self, position: [f32; 3]) {
        for (k, value) in position.into_iter().enumerate() {
            *self.value(POSITION + k) = value;
        }
    }

    /// See [`StreamPose::contacts`](super::StreamPose::contacts). Estimated where they are NaN, as at first.
    #[inline]
    pub fn set_contacts(&mut self, contacts: [f32; MAX_FEET]) {
        for (foot, value) in contacts.into_iter().enumerate() {
            *self.value(CONTACTS + foot) = value;
        }
    }

    #[inline(always)]
    pub(super) fn value(&mut self, row: usize) -> &mut f32 {
        &mut self.head[row].0[self.lane]
    }
}

impl<Q> fmt::Debug for StreamPoseMut<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamPoseMut").field("joints", &self.rotations.len()).finish_non_exhaustive()
    }
}

impl<Q: StreamRotation> fmt::Debug for StreamPoseRef<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (joints, arrived, position) = (self.joints(), self.arrived(), self.position());
        f.debug_struct("StreamPoseRef")
            .field("joints", &joints)
            .field("arrived", &arrived)
            .field("position", &position)
            .finish_non_exhaustive()
    }
}

/// A pose in a [`StreamBuffer`].
#[derive(Clone, Copy)]
pub struct StreamPoseRef<'a, Q> {
    pub(super) side: Side<'a>,
    pub(super) lane: usize,
    pub(super) rotation: PhantomData<Q>,
}

impl<'a, Q: StreamRotation> StreamPoseRef<'a, Q> {
    /// False if nothing was written since the buffer was made, or it was taken away.
    #[must_use]
    pub fn arrived(&self) -> bool {
        self.side.head[ARRIVED].0[self.lane] != 0.0
    }

    /// Joints of the source.
    #[must_use]
    pub fn joints(&self) -> usize {
        self.side.rows.len() / (size_of::<Q>() / 4)
    }

    /// Local rotations, joint by joint.
    pub fn rotations(&self) -> impl ExactSizeIterator<Item = Q> + use<'a, Q> {
        let (place, sixteens): (_, &'a [[Q; BLOCK]]) =
            (Q::place(self.lane), bytemuck::cast_slice(self.side.rows));
        sixteens.iter().map(move |sixteen| sixteen[place])
    }

    /// That of one joint; `None` if there is no such joint.
    #[must_use]
    pub fn rotation(&self, joint: usize) -> Option<Q> {
        self.rotations().nth(joint)
    }

    /// Model-space position of the carrier, metres.
    #[must_use]
    pub fn position(&self) -> [f32; 3] {
        core::array::from_fn(|k| self.side.position()[k].0[self.lane])
    }

    /// Contact weight of the left and right foot; NaN where it is not told.
    #[must_use]
    pub fn contacts(&self) -> [f32; MAX_FEET] {
        core::array::from_fn(|foot| self.side.contacts()[foot].0[self.lane])
    }
}
