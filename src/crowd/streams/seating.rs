//! Where streams sit in a buffer: in the lanes of the characters that follow them, all at once or some at a time.

use super::beside::{ARRIVED, HEAD};
use super::buffer::{NOBODY, StreamBuffer, StreamRotation};
use super::poses::StreamId;
use crate::error::BuildError;
use crate::lanes::{BLOCK, Row};

/// Streams of the lanes of one block of characters.
pub(crate) type Seated = [Option<StreamId>; BLOCK];

impl<Q: StreamRotation> StreamBuffer<Q> {
    fn joints_of(&self, id: usize) -> u16 {
        self.sixteens[self.seats[id] as usize / BLOCK].joints
    }

    /// Seats everybody anew: for each of the given blocks, the streams of its lanes side by side, each in its lane; streams of
    /// other joint counts in sixteens of their own, those that are named nowhere behind all others. Whoever is named twice
    /// sits where it is named first.
    pub(crate) fn seat_all(&mut self, blocks: impl Iterator<Item = Seated>) -> Result<(), BuildError> {
        let mut new = Self::default();
        new.reserve(self.row_count());
        let mut named = vec![NOBODY; self.seats.len()];
        let mut of_block: Vec<(u16, u32)> = Vec::new();
        for lanes in blocks {
            of_block.clear();
            for (lane, id) in lanes.iter().enumerate() {
                let Some(id) = id.map(|id| id.0 as usize).filter(|&id| named.get(id) == Some(&NOBODY)) else {
                    continue;
                };
                let joints = self.joints_of(id);
                let sixteen = match of_block.iter().find(|(of, _)| *of == joints) {
                    Some(&(_, sixteen)) => sixteen,
                    None => {
                        let sixteen = new.add_sixteen(joints)?;
                        of_block.push((joints, sixteen));
                        sixteen
                    }
                };
                new.sixteens[sixteen as usize].sitters[lane] = id as u32;
                named[id] = BLOCK as u32 * sixteen + lane as u32;
            }
        }
        for (id, &seat) in named.iter().enumerate() {
            if seat == NOBODY {
                new.add(self.joints_of(id).into())?;
            } else {
                new.seats.push(seat);
            }
        }
        for id in (0..self.seats.len() as u32).map(StreamId) {
            if let (Some(from), Some(mut to)) = (self.pose(id), new.seat_mut(id)) {
                *to.value(ARRIVED) = if from.arrived() { 1.0 } else { 0.0 };
                to.set_position(from.position());
                to.set_contacts(from.contacts());
                to.rotations_mut().zip(from.rotations()).for_each(|(to, from)| *to = from);
            }
        }
        *self = new;
        Ok(())
    }

    /// Lets streams of the given blocks change seats with whoever sits in their lane, up to `most` times; gives how often.
    /// Each block has one sixteen for each joint count: that in which the first of its streams is that is in its lane, or else
    /// the first one is, if no block before has taken it.
    pub(crate) fn seat_some(
        &mut self,
        blocks: impl Iterator<Item = Seated>,
        most: usize,
    ) -> Result<usize, BuildError> {
        self.seating = self.seating.wrapping_add(1).max(1);
        let mut moved = 0;
        for lanes in blocks {
            let mut of_block: [(u16, u32); BLOCK] = [(0, NOBODY); BLOCK];
            for lane in 0..BLOCK {
                let id = lanes[lane].map(|id| id.0 as usize).filter(|&id| id < self.seats.len());
                let Some(id) = id else { continue };
                let joints = self.joints_of(id);
                let known = of_block.iter().position(|&(of, sixteen)| of == joints && sixteen != NOBODY);
                let sixteen = match known {
                    Some(at) => of_block[at].1,
                    None => {
                        let sixteen = self.take_sixteen(&lanes, joints)?;
                        of_block[lane] = (joints, sixteen);
                        sixteen
                    }
                };
                let seat = BLOCK as u32 * sixteen + lane as u32;
                // Whoever is followed from two lanes stays in the first.
                let [now, at] = split(self.seats[id]);
                let settled =
                    self.sixteens[now].taken == self.seating && self.sixteens[now].settled >> at & 1 != 0;
                if self.seats[id] != seat && !settled {
                    if moved == most {
                        return Ok(moved);
                    }
                    self.change_seats(id, seat);
                    moved += 1;
                }
                if self.seats[id] == seat {
                    self.sixteens[sixteen as usize].settled |= 1 << lane;
                }
            }
        }
        Ok(moved)
    }

    /// A sixteen for the streams of a block that have so many joints.
    fn take_sixteen(&mut self, lanes: &Seated, joints: u16) -> Result<u32, BuildError> {
        let seat = |id: Option<StreamId>| {
            let &seat = self.seats.get(id?.0 as usize)?;
            let of = &self.sixteens[seat as usize / BLOCK];
            (of.joints == joints && of.taken != self.seating).then_some(seat)
        };
        let seats = || lanes.iter().enumerate().filter_map(|(lane, &id)| Some((lane, seat(id)?)));
        let in_lane = seats().find(|&(lane, seat)| seat as usize % BLOCK == lane);
        let sixteen = match in_lane.or(seats().next()) {
            Some((_, seat)) => seat / BLOCK as u32,
            None => self.add_sixteen(joints)?,
        };
        let of = &mut self.sixteens[sixteen as usize];
        (of.taken, of.settled) = (self.seating, 0);
        Ok(sixteen)
    }

    /// A stream and whoever sits there, of as many joints.
    fn change_seats(&mut self, id: usize, seat: u32) {
        let old = self.seats[id];
        let ([from, at], [to, there]) = (split(old), split(seat));
        let other = self.sixteens[to].sitters[there];
        self.sixteens[to].sitters[there] = id as u32;
        self.sixteens[from].sitters[at] = other;
        self.seats[id] = seat;
        if other != NOBODY {
            self.seats[other as usize] = old;
        }
        if from == to {
            // Within a sixteen: by way of nothing else.
            if let Some(rows) = self.rows_mut(to as u32) {
                swap_within::<Q>(rows, at, there);
            }
        } else if let Some([a, b]) = self.two(from as u32, to as u32) {
            swap_between::<Q>(a, at, b, there);
        }
    }
}

fn split(seat: u32) -> [usize; 2] {
    [seat as usize / BLOCK, seat as usize % BLOCK]
}

fn swap_within<Q: StreamRotation>(rows: &mut [Row], a: usize, b: usize) {
    let (head, rotations) = rows.split_at_mut(HEAD);
    head.iter_mut().for_each(|row| row.0.swap(a, b));
    let rotations: &mut [[Q; BLOCK]] = bytemuck::cast_slice_mut(rotations);
    rotations.iter_mut().for_each(|sixteen| sixteen.swap(Q::place(a), Q::place(b)));
}

fn swap_between<Q: StreamRotation>(a: &mut [Row], at: usize, b: &mut [Row], there: usize) {
    let ((head, a), (other, b)) = (a.split_at_mut(HEAD), b.split_at_mut(HEAD));
    head.iter_mut().zip(other).for_each(|(a, b)| core::mem::swap(&mut a.0[at], &mut b.0[there]));
    let (at, there) = (Q::place(at), Q::place(there));
    let (a, b): (&mut [[Q; BLOCK]], &mut [[Q; BLOCK]]) =
        (bytemuck::cast_slice_mut(a), bytemuck::cast_slice_mut(b));
    a.iter_mut().zip(b).for_each(|(a, b)| core::mem::swap(&mut a[at], &mut b[there]));
}
