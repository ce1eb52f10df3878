//! What poses tell besides rotations: where the hips are and which feet are down. All lanes at once: a loop over the values
//! of a row becomes vectors by itself.

use super::poses::RawPose;
use super::{Cell, StreamPoses, StreamTable};
use crate::crowd::block::lanes_of;
use crate::crowd::scratch::Scratch;
use crate::crowd::stages::live::Reach;
use crate::lanes::{BLOCK, Row};
use crate::retarget::LiveMap;
use crate::rig::MAX_FEET;

/// Farther than that single precision is no help to anyone, metres.
pub(super) const FAR: f32 = 1e6;

/// Where the hips of a stream are, metres from their reference place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Hips {
    /// There is no stream.
    NoStream,
    At([f32; 3]),
    /// Over the root, as far as is known.
    Above,
    Anywhere,
}

impl StreamTable {
    /// Where a character's stream has its hips, before the frame that takes the pose.
    pub fn hips(&self, character: u32, leg: f32, poses: StreamPoses<'_>) -> Hips {
        let Some(cell) = self.cell(character) else { return Hips::NoStream };
        match (self.map(cell), self.pose(cell, poses)) {
            (Some(map), Ok(pose)) => Hips::At(offset(map, cell, pose.position, leg)),
            _ if cell.travels => Hips::Above,
            _ => Hips::Anywhere,
        }
    }
}

fn offset(map: &LiveMap, cell: &Cell, position: [f32; 3], leg: f32) -> [f32; 3] {
    let metres = leg * map.per_leg;
    let [x, y, z] = core::array::from_fn(|k| (position[k] - map.reference[k]) * metres);
    // Where the root is under the hips, their height is all that is left of their place.
    if cell.travels { [0.0, y, 0.0] } else { [x, y, z] }
}

/// What the poses of one pass tell, lane by lane.
pub(super) struct Told {
    position: [Row; 3],
    contacts: [Row; MAX_FEET],
    travels: u16,
}

impl Told {
    pub const NOTHING: Self = Self { position: [Row::ZERO; 3], contacts: [Row::ZERO; MAX_FEET], travels: 0 };

    #[inline(always)]
    pub fn put(&mut self, lane: usize, pose: RawPose<'_>, travels: bool) {
        for k in 0..3 {
            self.position[k].0[lane] = pose.position[k];
        }
        for foot in 0..MAX_FEET {
            self.contacts[foot].0[lane] = pose.contacts[foot];
        }
        self.travels |= u16::from(travels) << lane;
    }

    /// Lanes whose hips are nowhere, or too far.
    pub fn far(&self) -> u16 {
        let mut far = [false; BLOCK];
        for row in &self.position {
            for (far, value) in far.iter_mut().zip(&row.0) {
                *far |= value.abs() >= FAR || value.is_nan();
            }
        }
        if far == [false; BLOCK] {
            return 0;
        }
        far.iter().enumerate().fold(0, |lanes, (lane, &far)| lanes | u16::from(far) << lane)
    }

    /// Pelvis and contacts of the lanes of a pass.
    pub fn place(&self, map: &LiveMap, leg: &Row, pass: u16, reach: Reach, scratch: &mut Scratch) {
        for k in 0..3 {
            let mut row = self.position[k];
            for (value, leg) in row.0.iter_mut().zip(&leg.0) {
                *value = (*value - map.reference[k]) * (leg * map.per_leg);
            }
            if k != 1 {
                // Where the root is under the hips, their height is all that is left of their place.
                lanes_of(self.travels).for_each(|lane| row.0[lane] = 0.0);
            }
            put(&row, &mut scratch.pelvis[k], pass, reach);
        }
        let mut known = Row::ONE;
        for row in &self.contacts {
            for (known, contact) in known.0.iter_mut().zip(&row.0) {
                *known = if contact.is_finite() { *known } else { 0.0 };
            }
        }
        scratch.estimated |= known != Row::ONE;
        for (row, to) in self.contacts.iter().zip(&mut scratch.contact) {
            let mut row = *row;
            for (contact, known) in row.0.iter_mut().zip(&known.0) {
                *contact = if *known > 0.5 { contact.clamp(0.0, 1.0) } else { -1.0 };
            }
            put(&row, to, pass, reach);
        }
    }
}

fn put(row: &Row, to: &mut Row, pass: u16, reach: Reach) {
    match reach {
        Reach::Block => *to = *row,
        Reach::Own => lanes_of(pass).for_each(|lane| to.0[lane] = row.0[lane]),
    }
}
