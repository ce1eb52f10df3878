//! When a foot stands: runs of keys in which its ball, or before and after only its heel, is on the ground.

use crate::clip::{Contacts, Interval, MotionKeys};
use crate::rig::Side;

/// Which parts of a foot are down, per key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Down {
    pub ball: Vec<bool>,
    pub heel: Vec<bool>,
}

/// Keys `first..=last` in which a foot stands without a break. In a cycle they may run on past its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub first: usize,
    pub last: usize,
}

impl Run {
    pub(super) fn keys(self) -> core::ops::RangeInclusive<usize> {
        self.first..=self.last
    }
}

/// Keys that are there once: the last one of a cycle is the first one again.
pub(super) fn key_count(keys: &MotionKeys) -> usize {
    let count = keys.pelvis.len();
    if keys.looping && count > 1 { count - 1 } else { count }
}

impl Down {
    /// From contacts that somebody has authored. A key counts as soon as any of the time to its neighbours does, so that the
    /// foot stands for all of the interval however keys lie.
    pub(super) fn authored(contacts: &Contacts, side: Side, keys: &MotionKeys) -> Self {
        let count = key_count(keys);
        let step = keys.duration / (keys.pelvis.len() - 1).max(1) as f64;
        let mark = |intervals: &dyn Fn(&crate::clip::FootContacts) -> Vec<Interval>| {
            let mut down = vec![false; count];
            for interval in contacts.feet.iter().filter(|foot| foot.side == side).flat_map(intervals) {
                let within = |time: f32| f64::from(time).clamp(0.0, 2.0 * keys.duration);
                let (start, end) = (within(interval.start), within(interval.end));
                let end = if end < start { end + keys.duration } else { end };
                let first = (start / step + 1e-3).floor().max(0.0) as usize;
                let last = (end / step - 1e-3).ceil().max(0.0) as usize;
                for key in first..=last.min(first + count) {
                    let key = if keys.looping { key % count } else { key };
                    if let Some(down) = down.get_mut(key) {
                        *down = true;
                    }
                }
            }
            down
        };
        Self { ball: mark(&|foot| foot.ball.clone()), heel: mark(&|foot| foot.heel.clone()) }
    }

    /// Where a contact was only detected: the keys that count as down, as one point.
    pub(super) fn detected(down: Vec<bool>) -> Self {
        Self { heel: vec![false; down.len()], ball: down }
    }

    fn any(&self, key: usize) -> bool {
        self.ball[key] || self.heel[key]
    }

    /// Runs in the order of their first keys. One that is down for all of a cycle is one run from its first key to its last.
    pub(super) fn runs(&self, looping: bool) -> Vec<Run> {
        let count = self.ball.len();
        if (0..count).all(|key| self.any(key)) {
            return if count == 0 { Vec::new() } else { vec![Run { first: 0, last: count - 1 }] };
        }
        let mut runs = Vec::new();
        let mut key = 0;
        while key < count {
            if !self.any(key) {
                key += 1;
                continue;
            }
            let last = (key..count).take_while(|&k| self.any(k)).last().unwrap_or(key);
            runs.push(Run { first: key, last });
            key = last + 1;
        }
        // The one that ends a cycle goes on into the one that begins it.
        if looping
            && runs.len() > 1
            && let (Some(first), Some(last)) = (runs.first().copied(), runs.last_mut())
            && first.first == 0
            && last.last == count - 1
        {
            last.last = count + first.last;
            runs.remove(0);
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::FootContacts;
    use glam::DVec3;

    fn keys(looping: bool) -> MotionKeys {
        MotionKeys { duration: 1.0, looping, pelvis: vec![DVec3::ZERO; 11], ..MotionKeys::default() }
    }

    fn contacts(start: f32, end: f32) -> Contacts {
        let ball = vec![Interval { start, end }];
        Contacts { feet: vec![FootContacts { side: Side::Left, heel: Vec::new(), ball }] }
    }

    #[test]
    fn keys_on_both_sides_of_an_interval_count() {
        let down = Down::authored(&contacts(0.25, 0.5), Side::Left, &keys(false));
        assert_eq!(down.runs(false), [Run { first: 2, last: 5 }]);
        assert!(Down::authored(&contacts(0.25, 0.5), Side::Right, &keys(false)).runs(false).is_empty());
    }

    #[test]
    fn a_stance_over_the_end_of_a_cycle_is_one_run() {
        let down = Down::authored(&contacts(0.75, 0.2), Side::Left, &keys(true));
        assert_eq!(down.runs(true), [Run { first: 7, last: 12 }]);
        let always = Down::authored(&contacts(0.0, 1.0), Side::Left, &keys(true));
        assert_eq!(always.runs(true), [Run { first: 0, last: 9 }]);
    }

    #[test]
    fn times_outside_of_the_clip_are_no_harm() {
        for (start, end) in [(5.0, 9.0), (-3.0, -1.0), (0.9, 1e9), (0.3, 0.3)] {
            for looping in [false, true] {
                let down = Down::authored(&contacts(start, end), Side::Left, &keys(looping));
                assert!(down.ball.len() <= 11);
            }
        }
    }
}
