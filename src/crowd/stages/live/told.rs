//! What poses tell besides rotations: where the hips are and which feet are down.

use super::{FAR, Reach, Streamed};
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, Row};
use crate::retarget::LiveMap;

/// Pelvis and contacts; sets `good` for the pass's own lanes whose hips are somewhere near.
#[inline(always)]
pub(super) fn place<L: Lanes>(
    map: &LiveMap,
    streamed: &Streamed<'_>,
    reach: Reach,
    good: &mut Row,
    scratch: &mut Scratch,
) {
    let mut known = Row::ZERO;
    for at in (0..BLOCK).step_by(L::N) {
        let own = L::splat(0.5).lt(L::load(&streamed.own, at));
        let metres = L::load(streamed.leg, at) * L::splat(map.per_leg);
        let mut near = own;
        for k in 0..3 {
            let position = L::load(&streamed.position[k], at);
            near = L::and(near, position.abs().lt(L::splat(FAR)));
            let mut offset = (position - L::splat(map.reference[k])) * metres;
            if let (Some(travels), true) = (&streamed.travels, k != 1) {
                // Where the root is under the hips, their height is all that is left of their place.
                let travels = L::splat(0.5).lt(L::load(travels.lanes, at));
                offset = L::select(travels, L::zero(), offset);
            }
            put(own, offset, &mut scratch.pelvis[k], reach, at);
        }
        L::select(near, L::one(), L::zero()).store(good, at);
        let mut told = own;
        for row in streamed.contacts {
            told = L::and(told, L::load(row, at).abs().lt(L::splat(f32::INFINITY)));
        }
        for (row, to) in streamed.contacts.iter().zip(&mut scratch.contact) {
            let contact = L::load(row, at).clamp(L::zero(), L::one());
            put(own, L::select(told, contact, L::splat(-1.0)), to, reach, at);
        }
        L::select(told, L::one(), L::zero()).store(&mut known, at);
    }
    scratch.estimated |= !known.same(&streamed.own);
}

/// Writes the pass's own lanes. Others become 0 where all may be written, and stay as they are where not.
#[inline(always)]
fn put<L: Lanes>(own: L::Mask, value: L, to: &mut Row, reach: Reach, at: usize) {
    let other = match reach {
        Reach::Block => L::zero(),
        Reach::Own => L::load(to, at),
    };
    L::select(own, value, other).store(to, at);
}
