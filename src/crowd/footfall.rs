//! Feet that come down or lift off between two poses: which, and when.

use super::block::Block;
use super::library::Library;
use super::stages::advance::SlotClock;
use crate::clip::{FootContacts, Interval};
use crate::rig::{Leg, MAX_FEET};

/// Least weight of the clip whose contacts are asked.
const DOMINANT: f32 = 0.5;
/// Nearest to a pose that a moment is told apart from it.
const LEAST: f32 = 1e-4;
/// Clip seconds that two contacts may be apart and count as one.
const SEAM: f32 = 1e-3;

/// What a foot does between two poses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Footfall {
    /// When: 0 at the first, 1 at the second.
    pub at: f32,
    /// It stands in the second pose, or in the first.
    pub lands: bool,
    /// What it rolls over until then; none if it lies as in the pose in which it stands.
    pub over: Option<End>,
}

/// Of a sole, as [`Rig::soles`](crate::rig::Rig::soles) has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    Heel,
    Ball,
}

/// Of both feet.
pub(crate) type Footfalls = [Option<Footfall>; MAX_FEET];

/// What the feet of a lane have done since its last pose, by the contacts of its heaviest clip. `since`: seconds since
/// then; `dt`: of the frame.
pub(crate) fn of_lane(
    block: &Block,
    lane: usize,
    clocks: &[SlotClock],
    library: &Library,
    legs: &[Leg],
    (since, dt): (f32, f32),
) -> Footfalls {
    let bit = 1u16 << lane;
    let mut falls = [None; MAX_FEET];
    if (block.fading | block.transitions) & bit != 0 || dt <= 0.0 {
        return falls;
    }
    let slot = (0..usize::from(block.clip_slots))
        .find(|&slot| block.plays(slot, lane) && block.clips[slot].weight.0[lane] >= DOMINANT);
    let Some((rows, clock)) = slot.map(|slot| (&block.clips[slot], &clocks[slot])) else { return falls };
    // What the clock did in this frame, it has done since the last pose.
    let (now, way) = (rows.time.0[lane], clock.moved.0[lane] * (since / dt));
    let head = library.head(rows.clip[lane]);
    if rows.ping_pong & bit != 0 || !head.stepped(now, way) {
        return falls;
    }
    let clip = library.clip(rows.clip[lane].into());
    let Some(contacts) = clip.and_then(|clip| clip.contacts()) else { return falls };
    let playing = Playing { now, way, duration: head.duration, loops: rows.loops & bit != 0 };
    for (leg, fall) in legs.iter().zip(&mut falls) {
        for foot in contacts.feet.iter().filter(|foot| foot.side == leg.side) {
            *fall = fall.or_else(|| playing.footfall(foot));
        }
    }
    falls
}

/// A clip's clock between two poses.
#[derive(Clone, Copy, Debug)]
struct Playing {
    now: f32,
    /// Clip seconds from the first pose to now; negative backwards.
    way: f32,
    duration: f32,
    loops: bool,
}

impl Playing {
    /// One moment a foot: that of the ball, which is what may not slide, and with it the heel's where both come down.
    fn footfall(self, foot: &FootContacts) -> Option<Footfall> {
        let (heel, ball) = (self.edge(&foot.heel), self.edge(&foot.ball));
        match (heel, ball) {
            (Some((true, heel)), Some((true, ball))) => {
                Some(Footfall { at: heel.min(ball), lands: true, over: None })
            }
            (_, Some((true, at))) => Some(Footfall { at, lands: true, over: None }),
            (_, Some((false, at))) => Some(Footfall { at, lands: false, over: Some(End::Ball) }),
            (Some((true, at)), None) => Some(Footfall { at, lands: true, over: Some(End::Heel) }),
            (Some((false, at)), None) => Some(Footfall { at, lands: false, over: None }),
            (None, None) => None,
        }
    }

    /// Comes down (or else up), and when.
    fn edge(self, intervals: &[Interval]) -> Option<(bool, f32)> {
        let span = self.way.abs();
        if !(span > 0.0 && span < self.duration) {
            return None;
        }
        for interval in intervals {
            // Backwards, a foot comes down where it lifts off.
            let (start, end) =
                if self.way > 0.0 { (interval.start, interval.end) } else { (interval.end, interval.start) };
            let (began, ended) = (self.ago(start), self.ago(end));
            let other =
                |time: f32| intervals.iter().any(|other| other != interval && self.holds(other, time));
            let ahead = SEAM.copysign(self.way);
            if began < ended && began < span && !other(start - ahead) {
                let at = 1.0 - began / span;
                return (at <= 1.0 - LEAST).then_some((true, at.max(LEAST)));
            }
            if ended < began && ended < span && began >= span && !other(end + ahead) {
                let at = 1.0 - ended / span;
                return (at >= LEAST).then_some((false, at.min(1.0 - LEAST)));
            }
        }
        None
    }

    /// Clip seconds since the clock was there, in the direction in which it runs; infinite where it was not.
    fn ago(self, time: f32) -> f32 {
        let ago = if self.way > 0.0 { self.now - time } else { time - self.now };
        match (self.loops, ago >= 0.0) {
            // Both are within the clip.
            (true, false) => ago + self.duration,
            (_, true) => ago,
            (false, false) => f32::INFINITY,
        }
    }

    fn holds(self, interval: &Interval, time: f32) -> bool {
        interval.contains(if self.loops { time.rem_euclid(self.duration) } else { time })
    }
}
