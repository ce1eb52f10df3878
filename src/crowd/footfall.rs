//! Feet that come down or lift off between two poses: which, and when.

use super::block::Block;
use super::library::Library;
use super::masks::MaskData;
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

/// Where a clip's clock was at a pose; kept in the slot beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Past {
    pub clip: u16,
    pub time: f32,
    /// Clip seconds from the pose before to there; NaN where that is not known.
    pub way: f32,
}

/// The slot of a lane whose clip has most to say, if its contacts are those of the pose.
pub(crate) fn leading(block: &Block, lane: usize, masks: &[MaskData], legs: &[Leg]) -> Option<usize> {
    let bit = 1u16 << lane;
    if (block.fading | block.transitions) & bit != 0
        || block.layered & bit != 0 && layers_legs(block, lane, masks, legs)
    {
        return None;
    }
    let leads = |&slot: &usize| block.plays(slot, lane) && block.clips[slot].weight.0[lane] >= DOMINANT;
    let slot = (0..usize::from(block.clip_slots)).find(leads)?;
    (block.clips[slot].ping_pong & bit == 0).then_some(slot)
}

/// Whether a layer has legs do something else than the clips.
fn layers_legs(block: &Block, lane: usize, masks: &[MaskData], legs: &[Leg]) -> bool {
    let Some(rare) = &block.rare[lane] else { return false };
    rare.layers.iter().filter(|layer| layer.used && !layer.additive).any(|layer| {
        let weight = |joint: u16| {
            let mask = masks.get(usize::from(layer.mask));
            mask.and_then(|mask| mask.weights.get(usize::from(joint))).copied().unwrap_or(1.0)
        };
        legs.iter().any(|leg| [leg.thigh, leg.shin, leg.foot].into_iter().any(|joint| weight(joint) > 0.0))
    })
}

/// Clip seconds from the pose that a lane is shown from to now, of the clip in `slot`. `back`: share of the way to the last
/// pose that is shown again, as what was shown has taken the place of the one before. `age`: seconds since the last pose.
pub(crate) fn way(
    block: &Block,
    (lane, slot): (usize, usize),
    (past, back): (Past, f32),
    (clock, dt, age): (&SlotClock, f32, f32),
    library: &Library,
) -> Option<f32> {
    let rows = &block.clips[slot];
    if past.clip != rows.clip[lane] {
        return None;
    }
    let (now, duration) = (rows.time.0[lane], library.head(past.clip).duration);
    let (moved, loops) = (clock.moved.0[lane], rows.loops & (1 << lane) != 0);
    let backwards = if moved == 0.0 { rows.speed.0[lane] < 0.0 } else { moved < 0.0 };
    let since = match (loops, backwards) {
        (true, false) => (now - past.time).rem_euclid(duration),
        (true, true) => -(past.time - now).rem_euclid(duration),
        (false, _) => now - past.time,
    };
    // Whoever may have gone round is not told from whoever has not.
    let round = loops && dt > 0.0 && (moved / dt * age).abs() > 0.9 * duration;
    let way = if back > 0.0 { since + back * past.way } else { since };
    (!round && way.is_finite()).then_some(way)
}

/// What the feet of a lane have done in so many clip seconds up to now, by the contacts of the clip in `slot`.
pub(crate) fn since(
    block: &Block,
    (lane, slot): (usize, usize),
    way: f32,
    library: &Library,
    legs: &[Leg],
) -> Footfalls {
    let mut falls = [None; MAX_FEET];
    let rows = &block.clips[slot];
    let (head, now) = (library.head(rows.clip[lane]), rows.time.0[lane]);
    if !head.stepped(now, way) {
        return falls;
    }
    let clip = library.clip(rows.clip[lane].into());
    let Some(contacts) = clip.and_then(|clip| clip.contacts()) else { return falls };
    let playing = Playing { now, way, duration: head.duration, loops: rows.loops & (1 << lane) != 0 };
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
    /// One moment a foot: that of the ball, which is what may not slide, and with it the heel's where both come down. An end
    /// that stands through all of it may not be rolled into the ground: then there is none.
    fn footfall(self, foot: &FootContacts) -> Option<Footfall> {
        let (heel, ball) = (self.edge(&foot.heel), self.edge(&foot.ball));
        let fall = |at: f32, lands: bool, over: Option<End>| Some(Footfall { at, lands, over });
        let heel_down = self.down(&foot.heel);
        match (ball, heel) {
            (Some((true, at)), Some((true, heel))) => fall(at.min(heel), true, None),
            (Some((true, at)), _) if heel_down => fall(at, true, None),
            (Some((true, at)), _) => fall(at, true, Some(End::Ball)),
            (Some((false, at)), Some((false, heel))) if heel <= at => fall(at, false, Some(End::Ball)),
            (Some((false, at)), None) if !heel_down => fall(at, false, Some(End::Ball)),
            (Some((false, _)), _) | (None, None) => None,
            (None, Some((lands, at))) => match (self.down(&foot.ball), lands) {
                (true, true) => None,
                (true, false) => fall(at, false, None),
                (false, _) => fall(at, lands, Some(End::Heel)),
            },
        }
    }

    /// The last time that it comes down (or else up), and when.
    fn edge(self, intervals: &[Interval]) -> Option<(bool, f32)> {
        let span = self.way.abs();
        if !(span > 0.0 && span < self.duration) {
            return None;
        }
        let mut last: Option<(bool, f32)> = None;
        for interval in intervals {
            let (began, ended) = self.ends(interval);
            let other =
                |time: f32| intervals.iter().any(|other| other != interval && self.holds(other, time));
            let (start, end) = self.ways(interval);
            let ahead = SEAM.copysign(self.way);
            let edge = if began < ended && began < span && !other(start - ahead) {
                (true, began)
            } else if ended < began && ended < span && began >= span && !other(end + ahead) {
                (false, ended)
            } else {
                continue;
            };
            if last.is_none_or(|(_, ago)| edge.1 < ago) {
                last = Some(edge);
            }
        }
        let (lands, ago) = last?;
        let at = 1.0 - ago / span;
        // What is at a pose already needs no help.
        let told = if lands { at <= 1.0 - LEAST } else { at >= LEAST };
        told.then_some((lands, at.clamp(LEAST, 1.0 - LEAST)))
    }

    /// Whether it is down now.
    fn down(self, intervals: &[Interval]) -> bool {
        intervals.iter().any(|interval| {
            let (began, ended) = self.ends(interval);
            began < ended || began == ended && began.is_finite()
        })
    }

    /// Where it comes down and lifts off in the direction in which the clock runs.
    fn ways(self, interval: &Interval) -> (f32, f32) {
        if self.way > 0.0 { (interval.start, interval.end) } else { (interval.end, interval.start) }
    }

    /// Clip seconds since then. Whole cycles have neither; a clip that has come to its end stands as it stood there.
    fn ends(self, interval: &Interval) -> (f32, f32) {
        let (start, end) = self.ways(interval);
        let (began, mut ended) = (self.ago(start), self.ago(end));
        let last = if self.way > 0.0 { self.duration } else { 0.0 };
        if !self.loops && (end - last).abs() < SEAM {
            ended = f32::INFINITY;
        }
        if self.loops && (interval.end - interval.start).abs() > self.duration - SEAM {
            ended = began;
        }
        (began, ended)
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
