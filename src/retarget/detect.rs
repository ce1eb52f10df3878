//! Contacts of clips for which nobody has authored any: good enough to steer the pelvis, never to judge by.

use glam::DVec3;

/// A foot counts as down below this height above its lowest, in leg lengths...
const LOW: f64 = 0.035;
/// ...and while it moves slower than this over the ground, in leg lengths per second.
const SLOW: f64 = 0.6;

/// Per key, 1 where the point is down. Positions are over the ground (root travel added), metres.
pub(crate) fn down(positions: &[DVec3], step: f64, leg: f64) -> Vec<bool> {
    let floor = positions.iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    (0..positions.len())
        .map(|key| {
            let (a, b) = (key.saturating_sub(1), (key + 1).min(positions.len() - 1));
            let seconds = step * (b - a).max(1) as f64;
            let moved = positions[b] - positions[a];
            positions[key].y - floor < LOW * leg && moved.x.hypot(moved.z) / seconds < SLOW * leg
        })
        .collect()
}

/// Rises before and falls after contact, as `contact_weight` does for authored ones.
pub(crate) fn ramp(down: &[bool], step: f64, looping: bool) -> Vec<f32> {
    let count = down.len();
    let cycle = count.saturating_sub(1);
    let at = |key: isize| {
        if looping && cycle > 0 {
            down[key.rem_euclid(cycle as isize) as usize]
        } else {
            (0..count as isize).contains(&key) && down[key as usize]
        }
    };
    (0..count as isize)
        .map(|key| {
            // Farther than all keys there is nothing new, however short the step.
            let within = |reach: f64| {
                (0..count as isize).map(|k| (k, k as f64 * step)).take_while(move |&(_, t)| t < reach)
            };
            let ahead = within(0.2).find(|&(k, _)| at(key + k));
            let behind = within(0.1).find(|&(k, _)| at(key - k));
            let rise = ahead.map_or(0.0, |(_, t)| 1.0 - t / 0.2);
            let fall = behind.map_or(0.0, |(_, t)| 1.0 - t / 0.1);
            rise.max(fall) as f32
        })
        .collect()
}
