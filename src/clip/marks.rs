//! Marks on a clip's time: events for the host, and markers that keep cycles of different lengths in step.

use super::{Contacts, FootContacts};
use crate::error::BuildError;
use crate::rig::Side;

/// Something that a clip says at a time: a footstep, a swing, a sound.
#[derive(Clone, Debug, PartialEq)]
pub struct ClipEvent {
    /// Seconds on the clip's own clock, 0 at its start.
    pub time: f32,
    /// What a host knows it by.
    pub name: String,
}

/// Sorted, within the clip; at the end of a loop is at its start.
pub(crate) fn checked_events(
    clip: &str,
    events: &[ClipEvent],
    duration: f32,
    looping: bool,
) -> Result<Vec<ClipEvent>, BuildError> {
    let mut checked = events.to_vec();
    for event in &mut checked {
        if !(0.0..=duration).contains(&event.time) {
            return Err(BuildError::Mark { clip: clip.to_owned(), time: event.time, duration });
        }
        if looping && event.time >= duration {
            event.time = 0.0;
        }
    }
    checked.sort_by(|a, b| a.time.total_cmp(&b.time).then_with(|| a.name.cmp(&b.name)));
    Ok(checked)
}

/// When the parts of a cycle begin, so that cycles of different lengths and rhythms can share one phase: marker k of n is
/// passed at phase k / n, between markers phase runs evenly. A walk has two: left foot down, right foot down.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncMarkers {
    /// Seconds, rising, from the first marker on less than one cycle; may run past the end of the clip.
    times: Vec<f32>,
    duration: f32,
    even: bool,
}

impl SyncMarkers {
    /// One marker at the start: phase is time over duration.
    #[must_use]
    pub fn none(duration: f32) -> Self {
        Self { times: vec![0.0], duration, even: true }
    }

    /// From the times of the markers in the order of their meaning, in seconds, each in `0..duration`.
    ///
    /// # Errors
    /// If a time is outside of the clip, or they do not follow each other around the cycle once.
    pub fn new(clip: &str, times: &[f32], duration: f32) -> Result<Self, BuildError> {
        let Some(&first) = times.first() else { return Ok(Self::none(duration)) };
        if let Some(&time) = times.iter().find(|time| !(0.0..duration).contains(*time)) {
            return Err(BuildError::Mark { clip: clip.to_owned(), time, duration });
        }
        let unrolled: Vec<f32> =
            times.iter().map(|&time| if time < first { time + duration } else { time }).collect();
        Self::unrolled(clip, unrolled, duration)
    }

    /// From times as [`times`](Self::times) gives them.
    pub(super) fn unrolled(clip: &str, unrolled: Vec<f32>, duration: f32) -> Result<Self, BuildError> {
        let wrong = |time| Err(BuildError::Mark { clip: clip.to_owned(), time, duration });
        let Some(&first) = unrolled.first() else { return Ok(Self::none(duration)) };
        let end = first + duration;
        if let Some(&time) = unrolled.iter().find(|time| !(**time >= 0.0 && **time < end)) {
            return wrong(time);
        }
        if first >= duration {
            return wrong(first);
        }
        if let Some(at) = unrolled.windows(2).position(|pair| pair[0] >= pair[1]) {
            return wrong(unrolled[at + 1]);
        }
        let part = duration / unrolled.len() as f32;
        let even = first == 0.0
            && unrolled.iter().enumerate().all(|(k, time)| (time - k as f32 * part).abs() < 1e-6 * duration);
        Ok(Self { times: unrolled, duration, even })
    }

    /// Both feet's touch-downs, left before right, where each comes down once a cycle.
    #[must_use]
    pub fn of_contacts(contacts: &Contacts, duration: f32) -> Option<Vec<f32>> {
        let touch_down = |side| {
            let foot = contacts.feet.iter().find(|foot| foot.side == side)?;
            let FootContacts { heel, ball, .. } = foot;
            let of = |intervals: &[super::Interval]| match intervals {
                [one] => Some(one.start.rem_euclid(duration)),
                _ => None,
            };
            of(heel).or_else(|| of(ball)).filter(|time| (0.0..duration).contains(time))
        };
        let (left, right) = (touch_down(Side::Left)?, touch_down(Side::Right)?);
        (left != right).then(|| vec![left, right])
    }

    /// Seconds; see [`Self::new`].
    #[must_use]
    pub fn times(&self) -> &[f32] {
        &self.times
    }

    /// True if phase is time over duration.
    #[must_use]
    pub fn even(&self) -> bool {
        self.even
    }

    /// Seconds into the clip, from 0 up to but without its duration, at a phase from 0 to 1.
    #[must_use]
    pub fn time(&self, phase: f32) -> f32 {
        let time = if self.even {
            phase * self.duration
        } else {
            let count = self.times.len();
            let at = phase * count as f32;
            let part = (at as usize).min(count - 1);
            let from = self.times[part];
            let to = self.times.get(part + 1).copied().unwrap_or(self.times[0] + self.duration);
            from + (to - from) * (at - part as f32)
        };
        let time = if time >= self.duration { time - self.duration } else { time };
        if time < self.duration { time.max(0.0) } else { 0.0 }
    }

    /// Phase and whole cycles at any time, rising with it.
    pub(crate) fn cycles(&self, time: f32) -> f32 {
        let phase = self.phase(time);
        let linear = (time - self.times[0]) / self.duration;
        let (whole, part) = (linear.floor(), linear - linear.floor());
        // By rounding the two may be at different ends of a cycle.
        let off = if part > 0.999 && phase < 0.001 { 1.0 } else { 0.0 };
        let off = if part < 0.001 && phase > 0.999 { -1.0 } else { off };
        whole + off + phase
    }

    /// The phase, 0 to 1, at a time of the clip.
    #[must_use]
    pub fn phase(&self, time: f32) -> f32 {
        let count = self.times.len();
        let time = time.rem_euclid(self.duration);
        let time = if time < self.times[0] { time + self.duration } else { time };
        let part = self.times.partition_point(|&mark| mark <= time).clamp(1, count) - 1;
        let from = self.times[part];
        let to = self.times.get(part + 1).copied().unwrap_or(self.times[0] + self.duration);
        let phase = (part as f32 + (time - from) / (to - from)) / count as f32;
        if phase < 1.0 { phase.max(0.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phase_and_time_are_each_others_inverse_and_markers_lie_evenly_in_phase() {
        for times in [&[0.0f32, 0.5][..], &[0.1, 0.7], &[0.9, 0.2], &[0.4], &[0.95, 0.1, 0.3, 0.8]] {
            let markers = SyncMarkers::new("clip", times, 1.2).unwrap();
            for (k, time) in times.iter().enumerate() {
                let phase = markers.phase(*time);
                assert!((phase - k as f32 / times.len() as f32).abs() < 1e-6, "{times:?} {k} {phase}");
            }
            for i in 0..240 {
                let time = i as f32 * 0.005;
                let back = markers.time(markers.phase(time));
                let apart = (back - time).abs();
                assert!(apart.min(1.2 - apart) < 1e-6, "{times:?}: {time} {back}");
            }
        }
    }

    #[test]
    fn cycles_rise_with_time_and_gain_one_a_round() {
        let markers = SyncMarkers::new("clip", &[0.9, 0.92, 0.94, 0.2], 1.2).unwrap();
        let mut last = markers.cycles(-5.0);
        for i in 1..4000 {
            let time = -5.0 + i as f32 * 0.0025;
            let now = markers.cycles(time);
            assert!(now >= last && now - last < 0.04, "{time}: {last} {now}");
            assert!((markers.cycles(time + 1.2) - now - 1.0).abs() < 1e-4, "{time}");
            last = now;
        }
    }

    #[test]
    fn markers_out_of_order_or_outside_are_refused() {
        for times in [&[0.0f32, 1.2][..], &[-0.1], &[f32::NAN], &[0.5, 0.9, 0.7], &[0.5, 0.5]] {
            assert!(SyncMarkers::new("clip", times, 1.2).is_err(), "{times:?}");
        }
    }
}
