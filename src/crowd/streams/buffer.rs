//! Memory for the poses of many streams, as frames read it best: sixteen poses side by side, as characters stand in a block.
//!
//! ```text
//! block     | arrived | position x y z | contacts left right | joint 0 of 16 streams | joint 1 of 16 | ...
//!             a row     3 rows           2 rows                4 rows; 2 of 16 bits
//! ```

use core::marker::PhantomData;
use std::collections::BTreeMap;

use bytemuck::Pod;

use super::beside::{ARRIVED, CONTACTS, HEAD, Side, StreamPoseMut, StreamPoseRef};
use super::poses::{RawPose, SnormQuat, StreamId};
use crate::error::BuildError;
use crate::lanes::{BLOCK, Row, place_of_2, place_of_4, prefer_large_pages, prefetch, prefetch_rows};

/// A rotation as a [`StreamBuffer`] holds it: `[f32; 4]` or [`SnormQuat`].
pub trait StreamRotation: Pod + sealed::Rotation {}

impl StreamRotation for [f32; 4] {}
impl StreamRotation for SnormQuat {}

pub(crate) mod sealed {
    use super::{SnormQuat, place_of_2, place_of_4};

    pub trait Rotation: Sized {
        const IDENTITY: Self;
        const PACKED: bool;
        /// Where a lane's is among the sixteen of a joint.
        fn place(lane: usize) -> usize;
    }

    impl Rotation for [f32; 4] {
        const IDENTITY: Self = [0.0, 0.0, 0.0, 1.0];
        const PACKED: bool = false;
        #[inline(always)]
        fn place(lane: usize) -> usize {
            place_of_4(lane)
        }
    }

    impl Rotation for SnormQuat {
        const IDENTITY: Self = Self::IDENTITY;
        const PACKED: bool = true;
        #[inline(always)]
        fn place(lane: usize) -> usize {
            place_of_2(lane)
        }
    }
}

/// Poses of many streams, of the host's own: receivers write to it in place, and a frame reads it. Where the system has pages
/// of 2 MB, it lies in those.
///
/// Streams of equally many joints lie sixteen side by side, which is how the lanes of a frame want them: a frame reads them
/// as they are where each is in the lane of the character that follows it ([`Crowd::arrange_streams`]), and copies them there
/// where not. What a stream's pose is does not depend on it. A joint count takes room for sixteen streams at least; arranged,
/// each block of characters does, for each joint count of the streams that are followed there.
///
/// A frame borrows it; a host that receives meanwhile keeps two and takes turns.
///
/// [`Crowd::arrange_streams`]: crate::crowd::Crowd::arrange_streams
#[derive(Debug)]
pub struct StreamBuffer<Q> {
    rows: Vec<Row>,
    pub(super) sixteens: Vec<Sixteen>,
    /// Of each stream: its sixteen, times 16, and its lane.
    pub(super) seats: Vec<u32>,
    /// Counts seatings.
    pub(super) seating: u32,
    /// By joints: the sixteen that new streams come into.
    open: BTreeMap<u16, u32>,
    rotation: PhantomData<Q>,
}

/// Sixteen streams side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sixteen {
    row: u32,
    pub(super) joints: u16,
    /// By lane, or [`NOBODY`].
    pub(super) sitters: [u32; BLOCK],
    /// The last seating that took it for a block of characters, and the lanes of that block whose streams it has seen.
    pub(super) taken: u32,
    pub(super) settled: u16,
}

impl<Q: StreamRotation> Default for StreamBuffer<Q> {
    fn default() -> Self {
        let (rows, sixteens, seats, open) = Default::default();
        Self { rows, sixteens, seats, seating: 0, open, rotation: PhantomData }
    }
}

impl<Q: StreamRotation> Clone for StreamBuffer<Q> {
    fn clone(&self) -> Self {
        let Self { sixteens, seats, open, seating, .. } = self;
        let (sixteens, seats, open) = (sixteens.clone(), seats.clone(), open.clone());
        let mut new =
            Self { rows: Vec::new(), sixteens, seats, seating: *seating, open, rotation: PhantomData };
        new.reserve(self.rows.len());
        new.rows.extend_from_slice(&self.rows);
        new
    }
}

impl<Q: StreamRotation> StreamBuffer<Q> {
    /// Rows of one joint.
    const ROWS: usize = size_of::<Q>() / 4;

    /// For streams of so many joints each: [`LiveMap::source_joints`](crate::retarget::LiveMap::source_joints). Nothing has
    /// arrived yet.
    ///
    /// # Errors
    /// If a stream has more than 65 535 joints, or they are more than can be counted.
    pub fn new(joints: &[usize]) -> Result<Self, BuildError> {
        let mut buffer = Self::default();
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for &joints in joints {
            *counts.entry(joints).or_default() += 1;
        }
        let rows = counts.iter().try_fold(0, |sum: usize, (&joints, count)| {
            sum.checked_add(Self::block_rows(joints)?.checked_mul(count.div_ceil(BLOCK))?)
        });
        buffer.reserve(rows.filter(|&rows| u32::try_from(rows).is_ok()).ok_or(FULL)?);
        buffer.seats.reserve_exact(joints.len());
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
        let id = u32::try_from(self.seats.len()).ok().filter(|&id| id < NOBODY).ok_or(FULL)?;
        let joints = u16::try_from(joints).map_err(|_| FULL)?;
        let free = |sitters: &[u32; BLOCK]| sitters.iter().position(|&sitter| sitter == NOBODY);
        let open = self.open.get(&joints).copied();
        let open = open.and_then(|sixteen| Some((sixteen, free(&self.sixteens[sixteen as usize].sitters)?)));
        let (sixteen, lane) = match open {
            Some(open) => open,
            None => {
                let sixteen = self.add_sixteen(joints)?;
                self.open.insert(joints, sixteen);
                (sixteen, 0)
            }
        };
        self.sixteens[sixteen as usize].sitters[lane] = id;
        self.seats.push(BLOCK as u32 * sixteen + lane as u32);
        Ok(StreamId(id))
    }

    /// All identities, nothing arrived, no contacts told.
    pub(super) fn add_sixteen(&mut self, joints: u16) -> Result<u32, BuildError> {
        let rows = Self::block_rows(joints.into()).ok_or(FULL)?;
        let sixteen = u32::try_from(self.sixteens.len()).ok().filter(|&at| at < NOBODY / BLOCK as u32);
        let (sixteen, row) = (sixteen.ok_or(FULL)?, u32::try_from(self.rows.len()).map_err(|_| FULL)?);
        let end = self.rows.len() + rows;
        if end > self.rows.capacity() {
            self.reserve(rows.max(self.rows.len()));
        }
        self.rows.resize(end, Row::ZERO);
        let (head, rotations) = self.rows[row as usize..].split_at_mut(HEAD);
        head[CONTACTS..].fill(Row::splat(f32::NAN));
        bytemuck::cast_slice_mut(rotations).fill(Q::IDENTITY);
        self.sixteens.push(Sixteen { row, joints, sitters: [NOBODY; BLOCK], taken: 0, settled: 0 });
        Ok(sixteen)
    }

    /// Streams.
    #[must_use]
    pub fn len(&self) -> usize {
        self.seats.len()
    }

    /// True without any.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty()
    }

    /// All streams in the order in which they lie: who writes many poses writes them fastest in this one, since neighbours
    /// share cache lines. It is that of ids, joint count by joint count, until
    /// [`Crowd::arrange_streams`](crate::crowd::Crowd::arrange_streams).
    #[must_use]
    pub fn in_order(&self) -> Vec<StreamId> {
        let mut ids: Vec<StreamId> = (0..self.seats.len() as u32).map(StreamId).collect();
        ids.sort_unstable_by_key(|id| self.seats[id.0 as usize]);
        ids
    }

    /// One stream's pose, to be written: what was written last is there still. From now on it counts as arrived. `None` if
    /// there is no such stream.
    #[inline]
    pub fn pose_mut(&mut self, id: StreamId) -> Option<StreamPoseMut<'_, Q>> {
        let mut pose = self.seat_mut(id)?;
        *pose.value(ARRIVED) = 1.0;
        Some(pose)
    }

    /// Takes one stream's pose away: it has not arrived, until it is written again.
    pub fn clear(&mut self, id: StreamId) {
        if let Some(mut pose) = self.seat_mut(id) {
            *pose.value(ARRIVED) = 0.0;
        }
    }

    /// One stream's pose, whether it has arrived or not; `None` if there is no such stream.
    #[must_use]
    pub fn pose(&self, id: StreamId) -> Option<StreamPoseRef<'_, Q>> {
        let seat = *self.seats.get(id.0 as usize)?;
        let (side, lane) = (self.side(seat / BLOCK as u32)?, seat as usize % BLOCK);
        Some(StreamPoseRef { side, lane, rotation: PhantomData })
    }

    pub(super) fn seat_mut(&mut self, id: StreamId) -> Option<StreamPoseMut<'_, Q>> {
        let seat = *self.seats.get(id.0 as usize)?;
        let Sixteen { row, joints, .. } = *self.sixteens.get(seat as usize / BLOCK)?;
        let end = HEAD + Self::ROWS * usize::from(joints);
        let rows = self.rows.get_mut(row as usize..)?.get_mut(..end)?;
        let (head, rotations) = rows.split_at_mut(HEAD);
        let rotations = bytemuck::cast_slice_mut(rotations);
        Some(StreamPoseMut { head, rotations, lane: seat as usize % BLOCK })
    }

    /// The seat of a stream of so many joints.
    #[inline(always)]
    pub(super) fn seat(&self, id: u32, joints: usize) -> Option<u32> {
        let seat = *self.seats.get(id as usize)?;
        let sixteen = self.sixteens.get(seat as usize / BLOCK)?;
        (usize::from(sixteen.joints) == joints).then_some(seat)
    }

    /// Who sits in a sixteen.
    #[inline(always)]
    pub(super) fn sitters(&self, sixteen: u32) -> &[u32; BLOCK] {
        self.sixteens.get(sixteen as usize).map_or(&[NOBODY; BLOCK], |sixteen| &sixteen.sitters)
    }

    #[inline(always)]
    pub(super) fn side(&self, sixteen: u32) -> Option<Side<'_>> {
        let Sixteen { row, joints, .. } = *self.sixteens.get(sixteen as usize)?;
        let rows = self.rows.get(row as usize..)?.get(..HEAD + Self::ROWS * usize::from(joints))?;
        let (head, rows) = rows.split_first_chunk()?;
        Some(Side { head, rows })
    }

    /// What lies `further` sixteens behind a stream's: in a buffer that is arranged, that is what a block so much further on
    /// reads, where each has streams of one joint count; a guess otherwise. Rotations, to be asked for; all else is asked for here, and nothing is looked up that would have to be waited
    /// for. Nothing for none.
    #[inline(always)]
    pub(super) fn ahead(&self, id: u32, further: usize) -> &[Row] {
        let Some(&seat) = self.seats.get(id as usize).filter(|_| further > 0) else { return &[] };
        let sixteen = seat as usize / BLOCK;
        let Some(&Sixteen { row, joints, .. }) = self.sixteens.get(sixteen) else { return &[] };
        self.seats.get(id as usize + further * BLOCK).into_iter().for_each(prefetch);
        if let Some(next) = self.sixteens.get(sixteen + further) {
            prefetch(&next.row);
            prefetch(&next.sitters[BLOCK - 1]);
        }
        let rows = HEAD + Self::ROWS * usize::from(joints);
        let first = row as usize + further * rows;
        let Some((head, rows)) =
            self.rows.get(first..first + rows).and_then(|rows| rows.split_at_checked(HEAD))
        else {
            return &[];
        };
        prefetch_rows(head);
        rows
    }

    pub(super) fn raw(&self, id: StreamId) -> Option<RawPose<'_>> {
        let pose = self.pose(id)?;
        let words: &[f32] = bytemuck::cast_slice(pose.side.rows);
        let first = (Q::place(pose.lane) * Self::ROWS).min(words.len());
        Some(RawPose {
            words: &words[first..],
            stride: BLOCK * Self::ROWS,
            beside: Some((pose.side.rows, pose.lane as u8)),
            joints: if pose.arrived() { pose.joints() } else { 0 },
            packed: Q::PACKED,
            position: pose.position(),
            contacts: pose.contacts(),
        })
    }

    /// How many rows there are.
    pub(super) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// All rows of a sixteen.
    pub(super) fn rows_mut(&mut self, sixteen: u32) -> Option<&mut [Row]> {
        let Sixteen { row, joints, .. } = *self.sixteens.get(sixteen as usize)?;
        self.rows.get_mut(row as usize..)?.get_mut(..HEAD + Self::ROWS * usize::from(joints))
    }

    /// All rows of two sixteens; `None` for one and the same.
    pub(super) fn two(&mut self, a: u32, b: u32) -> Option<[&mut [Row]; 2]> {
        let range = |sixteen: u32| {
            let Sixteen { row, joints, .. } = *self.sixteens.get(sixteen as usize)?;
            Some(row as usize..row as usize + HEAD + Self::ROWS * usize::from(joints))
        };
        let (a, b) = (range(a)?, range(b)?);
        self.rows.get_disjoint_mut([a, b]).ok()
    }

    /// Rows of sixteen streams.
    fn block_rows(joints: usize) -> Option<usize> {
        // As many as skeletons count.
        (joints <= usize::from(u16::MAX)).then(|| HEAD + joints * Self::ROWS)
    }

    pub(super) fn reserve(&mut self, rows: usize) {
        let mut more = Vec::with_capacity(self.rows.len() + rows);
        prefer_large_pages(&mut more);
        more.extend_from_slice(&self.rows);
        self.rows = more;
    }
}

/// No stream sits there.
pub(super) const NOBODY: u32 = u32::MAX;

const FULL: BuildError = BuildError::Full { what: "what a buffer of streams can count" };
