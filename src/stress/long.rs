//! Clips of several cycles: rows as long as those of real libraries.

use crate::clip::{ClipEvent, FootContacts, Interval, MotionKeys};

/// The same cyclic keys `times` over, travel and contacts going on.
pub(super) fn repeat(keys: &MotionKeys, times: usize) -> MotionKeys {
    let count = keys.pelvis.len();
    if times < 2 || count < 2 {
        return keys.clone();
    }
    let joints = keys.rotations.len() / count;
    let cycle = keys.duration as f32;
    let mut long = MotionKeys { duration: keys.duration * times as f64, ..keys.clone() };
    for _ in 1..times {
        // The first key of a cycle is the last one of the cycle before.
        long.rotations.extend_from_slice(&keys.rotations[joints..]);
        long.pelvis.extend_from_slice(&keys.pelvis[1..]);
        long.contact.extend_from_slice(&keys.contact[1..]);
        let [x, z, yaw] = *long.root.last().unwrap_or(&[0.0; 3]);
        let (s, c) = yaw.sin_cos();
        let next = keys.root[1..]
            .iter()
            .map(|[dx, dz, dyaw]| [x + c * dx + s * dz, z - s * dx + c * dz, yaw + dyaw]);
        long.root.extend(next.collect::<Vec<_>>());
    }
    let on = |time: f32, turn: usize| cycle.mul_add(turn as f32, time);
    for turn in 1..times {
        long.events.extend(
            keys.events.iter().map(|event| ClipEvent { time: on(event.time, turn), ..event.clone() }),
        );
        // A marker before the first one is of the cycle after.
        long.sync.extend(keys.sync.iter().map(|&time| on(time, turn)));
    }
    let whole = long.duration as f32;
    if keys.sync.windows(2).any(|pair| pair[0] > pair[1]) {
        let first = keys.sync[0];
        for (at, time) in long.sync.iter_mut().enumerate() {
            if keys.sync[at % keys.sync.len()] < first {
                *time += cycle;
            }
        }
        long.sync.iter_mut().for_each(|time| *time %= whole);
    }
    if let Some(contacts) = &mut long.contacts {
        for FootContacts { heel, ball, .. } in &mut contacts.feet {
            *heel = spread(heel, cycle, times);
            *ball = spread(ball, cycle, times);
        }
    }
    long
}

fn spread(intervals: &[Interval], cycle: f32, times: usize) -> Vec<Interval> {
    let whole = cycle * times as f32;
    if let [only] = intervals
        && only.start <= 0.0
        && only.end >= cycle
    {
        return vec![Interval { start: 0.0, end: whole }];
    }
    let mut all = Vec::new();
    for turn in 0..times {
        let shift = cycle * turn as f32;
        for interval in intervals {
            let over = interval.end < interval.start;
            let mut end = interval.end + shift + if over { cycle } else { 0.0 };
            if end > whole {
                end -= whole;
            }
            all.push(Interval { start: interval.start + shift, end });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::Contacts;
    use crate::rig::Side;
    use glam::{DQuat, DVec3};

    #[test]
    fn a_repeated_cycle_travels_on_and_keeps_its_contacts() {
        let quarter = std::f64::consts::FRAC_PI_2;
        let keys = MotionKeys {
            duration: 1.0,
            looping: true,
            rotations: vec![DQuat::IDENTITY; 3],
            pelvis: vec![DVec3::ZERO; 3],
            root: vec![[0.0; 3], [0.0, 0.5, 0.0], [0.0, 1.0, quarter]],
            contact: vec![[0.0; 2]; 3],
            contacts: Some(Contacts {
                feet: vec![FootContacts {
                    side: Side::Left,
                    heel: vec![Interval { start: 0.0, end: 0.4 }],
                    ball: vec![Interval { start: 0.75, end: 0.25 }],
                }],
            }),
            ..MotionKeys::default()
        };
        let long = repeat(&keys, 2);
        assert_eq!((long.pelvis.len(), long.rotations.len(), long.root.len()), (5, 5, 5));
        let end = long.root[4];
        for (have, want) in end.iter().zip([1.0, 1.0, 2.0 * quarter]) {
            assert!((have - want).abs() < 1e-12, "{end:?}");
        }
        let foot = &long.contacts.unwrap().feet[0];
        let at = |list: &[Interval]| list.iter().map(|i| (i.start, i.end)).collect::<Vec<_>>();
        assert_eq!(at(&foot.heel), [(0.0, 0.4), (1.0, 1.4)]);
        assert_eq!(at(&foot.ball), [(0.75, 1.25), (1.75, 0.25)]);
    }
}
