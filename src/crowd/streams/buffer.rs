//! Memory for the poses of many streams, as frames read it best: large pages, whole cache lines, each pose in one piece.
//!
//! ```text
//! stream    0                                              | 1 ...
//! lines     | rotations, joint by joint ... | . | tail |   | ...
//! ```

use core::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

use super::poses::{RawPose, RawPoses, Rotations, SnormQuat, StreamId, StreamPose};
use crate::error::BuildError;
use crate::lanes::{BLOCK, Line, prefer_large_pages};
use crate::rig::MAX_FEET;

/// A rotation as a [`StreamBuffer`] holds it: `[f32; 4]` or [`SnormQuat`].
pub trait StreamRotation: Pod + sealed::Rotation {}

impl StreamRotation for [f32; 4] {}
impl StreamRotation for SnormQuat {}

mod sealed {
    use super::{Rotations, SnormQuat};

    pub trait Rotation: Sized {
        const IDENTITY: Self;
        const PACKED: bool;
        fn rotations(slice: &[Self]) -> Rotations<'_>;
    }

    impl Rotation for [f32; 4] {
        const IDENTITY: Self = [0.0, 0.0, 0.0, 1.0];
        const PACKED: bool = false;
        #[inline]
        fn rotations(slice: &[Self]) -> Rotations<'_> {
            Rotations::F32(slice)
        }
    }

    impl Rotation for SnormQuat {
        const IDENTITY: Self = Self::IDENTITY;
        const PACKED: bool = true;
        #[inline]
        fn rotations(slice: &[Self]) -> Rotations<'_> {
            Rotations::Snorm16(slice)
        }
    }
}

/// Poses of many streams, of the host's own: receivers write to it in place, and a frame reads it. Where the system has pages
/// of 2 MB, it lies in those.
///
/// A frame borrows it; a host that receives meanwhile keeps two and takes turns.
#[derive(Debug)]
pub struct StreamBuffer<Q> {
    lines: Vec<Line>,
    streams: Vec<Run>,
    rotation: PhantomData<Q>,
}

/// Where a stream's pose is.
#[derive(Clone, Copy, Debug)]
struct Run {
    line: u32,
    joints: u16,
    lines: u16,
}

/// What a pose has besides rotations, at the end of its last line.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Tail {
    position: [f32; 3],
    contacts: [f32; MAX_FEET],
    /// Not 0 once something was written.
    arrived: u32,
}

/// Words of a [`Tail`].
const TAIL: usize = size_of::<Tail>() / 4;

/// A pose to be written in place.
#[derive(Debug)]
pub struct StreamPoseMut<'a, Q> {
    /// One per joint of the source: see [`StreamPose::rotations`]. Identities at first.
    pub rotations: &'a mut [Q],
    /// See [`StreamPose::position`].
    pub position: &'a mut [f32; 3],
    /// See [`StreamPose::contacts`]. Estimated where they are NaN, as at first.
    pub contacts: &'a mut [f32; MAX_FEET],
}

impl<Q: StreamRotation> Default for StreamBuffer<Q> {
    fn default() -> Self {
        Self { lines: Vec::new(), streams: Vec::new(), rotation: PhantomData }
    }
}

impl<Q: StreamRotation> StreamBuffer<Q> {
    const WORDS: usize = size_of::<Q>() / 4;

    /// For streams of so many joints each: [`LiveMap::source_joints`](crate::retarget::LiveMap::source_joints). Nothing has
    /// arrived yet.
    ///
    /// # Errors
    /// If a stream has more than 65 535 joints, or they are more than can be counted.
    pub fn new(joints: &[usize]) -> Result<Self, BuildError> {
        let mut buffer = Self::default();
        let lines = joints.iter().try_fold(0, |sum: usize, &joints| sum.checked_add(Self::lines(joints)?));
        buffer.reserve(lines.ok_or(FULL)?);
        buffer.streams.reserve_exact(joints.len());
        for &joints in joints {
            buffer.add(joints)?;
        }
        Ok(buffer)
    }

    /// Room for one stream more, of so many joints. May move everything to larger memory.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn add(&mut self, joints: usize) -> Result<StreamId, BuildError> {
        let lines = Self::lines(joints).ok_or(FULL)?;
        let id = u32::try_from(self.streams.len()).map_err(|_| FULL)?;
        let line = u32::try_from(self.lines.len()).map_err(|_| FULL)?;
        let end = self.lines.len() + lines;
        if end > self.lines.capacity() {
            self.reserve(lines.max(self.lines.len()));
        }
        self.lines.resize(end, Line::ZERO);
        self.streams.push(Run { line, joints: joints as u16, lines: lines as u16 });
        let id = StreamId(id);
        if let Some((pose, _)) = self.split(id) {
            pose.rotations.fill(Q::IDENTITY);
            *pose.contacts = [f32::NAN; MAX_FEET];
        }
        Ok(id)
    }

    /// Streams.
    #[must_use]
    pub fn len(&self) -> usize {
        self.streams.len()
    }

    /// True without any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// One stream's pose, to be written: what was written last is there still. From now on it counts as arrived. `None` if
    /// there is no such stream.
    #[inline]
    pub fn pose_mut(&mut self, id: StreamId) -> Option<StreamPoseMut<'_, Q>> {
        let (pose, arrived) = self.split(id)?;
        *arrived = 1;
        Some(pose)
    }

    /// Takes one stream's pose away: it has not arrived, until it is written again.
    pub fn clear(&mut self, id: StreamId) {
        if let Some((_, arrived)) = self.split(id) {
            *arrived = 0;
        }
    }

    /// One stream's pose, as frames read it; empty if it has not arrived, `None` if there is no such stream.
    #[must_use]
    pub fn pose(&self, id: StreamId) -> Option<StreamPose<'_>> {
        let RawPose { run, joints, position, contacts, .. } = self.read(id)?;
        let rotations = Q::rotations(bytemuck::cast_slice(&run[..joints * Self::WORDS]));
        Some(StreamPose { rotations, position, contacts: Some(contacts) })
    }

    #[inline(always)]
    fn place(&self, id: StreamId) -> Option<(Run, &[Line])> {
        let run = *self.streams.get(id.0 as usize)?;
        let lines = self.lines.get(run.line as usize..)?.get(..usize::from(run.lines))?;
        Some((run, lines))
    }

    /// A pose, and whether it has arrived.
    #[inline]
    fn split(&mut self, id: StreamId) -> Option<(StreamPoseMut<'_, Q>, &mut u32)> {
        let run = *self.streams.get(id.0 as usize)?;
        let first = run.line as usize;
        let lines = &mut self.lines[first..first + usize::from(run.lines)];
        let words: &mut [f32] = bytemuck::cast_slice_mut(lines);
        let (rotations, tail) = words.split_at_mut(usize::from(run.joints) * Self::WORDS);
        let tail = tail.last_chunk_mut::<TAIL>()?;
        let Tail { position, contacts, arrived } = bytemuck::cast_mut(tail);
        Some((StreamPoseMut { rotations: bytemuck::cast_slice_mut(rotations), position, contacts }, arrived))
    }

    /// Lines of one pose: at most 16 385.
    fn lines(joints: usize) -> Option<usize> {
        // As many as skeletons count.
        (joints <= usize::from(u16::MAX)).then(|| (joints * Self::WORDS + TAIL).div_ceil(BLOCK))
    }

    fn reserve(&mut self, lines: usize) {
        let mut more = Vec::with_capacity(self.lines.len() + lines);
        prefer_large_pages(&mut more);
        more.extend_from_slice(&self.lines);
        self.lines = more;
    }
}

impl<'a, Q: StreamRotation> RawPoses<'a> for &'a StreamBuffer<Q> {
    #[inline(always)]
    fn read(self, id: StreamId) -> Option<RawPose<'a>> {
        let (run, lines) = self.place(id)?;
        let tail = lines.last()?.0.last_chunk::<TAIL>()?;
        let &Tail { position, contacts, arrived } = bytemuck::cast_ref(tail);
        let joints = if arrived == 0 { 0 } else { usize::from(run.joints) };
        Some(RawPose { run: bytemuck::cast_slice(lines), joints, packed: Q::PACKED, position, contacts })
    }

    #[inline(always)]
    fn run(self, id: StreamId) -> &'a [f32] {
        self.place(id).map_or(&[], |(_, lines)| bytemuck::cast_slice(lines))
    }
}

const FULL: BuildError = BuildError::Full { what: "what a buffer of streams can count" };
