//! Where a character is, in twelve bytes: both crossings to a world look up one for each of its entities.

/// A lane of a block of a cohort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub cohort: u16,
    pub lane: u8,
    pub block: u32,
}

/// An entry of [`Crowd::characters`](super::Crowd).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Location {
    pub generation: u32,
    /// Cohort in the low half, [`SEATED`], lane in the highest four bits; 0 while the index is free. Beside the generation,
    /// because who only asks who lives reads no more than these two.
    seat: u32,
    block: u32,
}

const SEATED: u32 = 1 << 16;

impl Location {
    /// Of an index that nobody has.
    pub fn free(generation: u32) -> Self {
        Self { generation, seat: 0, block: 0 }
    }

    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.seat == 0
    }

    /// `None` while the index is free.
    #[inline(always)]
    pub fn place(&self) -> Option<Place> {
        let Self { block, seat, .. } = *self;
        (seat != 0).then_some(Place { cohort: seat as u16, lane: (seat >> 28) as u8, block })
    }

    pub fn put(&mut self, Place { cohort, lane, block }: Place) {
        self.block = block;
        self.seat = u32::from(lane) << 28 | SEATED | u32::from(cohort);
    }

    pub fn leave(&mut self) {
        *self = Self::free(self.generation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_keeps_any_place() {
        for place in [
            Place { cohort: 0, lane: 0, block: 0 },
            Place { cohort: u16::MAX, lane: 15, block: u32::MAX },
            Place { cohort: 3, lane: 7, block: 1 << 31 },
        ] {
            let mut location = Location::free(5);
            assert!(location.is_free() && location.place().is_none());
            location.put(place);
            assert_eq!((location.place(), location.is_free()), (Some(place), false));
            location.leave();
            assert_eq!((location.place(), location.generation), (None, 5));
        }
        assert_eq!(size_of::<Location>(), 12);
    }
}
