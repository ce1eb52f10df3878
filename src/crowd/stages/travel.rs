//! Root motion of one character whose clips' twists or weights change within the frame.
//!
//! A clip's twist is constant between its keys, so the mixture's is between the keys of all clips: stepping from key to
//! key is exact for constant weights, however time is cut into frames. Changing weights are taken at the middle of
//! steps of at most 1/60 s on the fade's own clock.

use super::advance::{SlotClock, fold};
use crate::clip::{Planar, Twist};
use crate::crowd::block::{Block, ClipRows, MAX_CLIPS};
use crate::crowd::library::Library;

/// Longest step over which weights count as constant, seconds.
const SUBSTEP: f32 = 1.0 / 60.0;

/// Steps in one frame; what is left after them goes in one. Ten seconds of two clips of 60 keys per second at four times
/// their speed.
const MOST_STEPS: usize = 4800;

/// Displacement in leg lengths, in the axes of where the frame starts.
pub(super) fn travel(block: &Block, lane: usize, slots: &[SlotClock], library: &Library, dt: f32) -> Planar {
    let bit = 1u16 << lane;
    let rare = block.rare[lane].as_deref();
    let fade = rare.filter(|_| block.fading & bit != 0).map(|rare| &rare.fade);
    let transition = rare.filter(|_| block.transitions & bit != 0).map(|rare| &rare.transition);
    let active = (0..slots.len()).filter(|&slot| block.plays(slot, lane)).count();
    if fade.is_none() && transition.is_none() && active == 1 {
        for (slot, rows) in slots.iter().zip(&block.clips) {
            if rows.playing & bit != 0 && rows.ping_pong & bit == 0 {
                let root = library.root(rows.clip[lane]);
                return root.displacement(slot.from.0[lane], slot.moved.0[lane], rows.loops & bit != 0);
            }
        }
    }
    let mut way = Planar::default();
    let mut done = 0.0f32;
    let mut steps = 0;
    while done < 1.0 && dt != 0.0 {
        steps += 1;
        let mut share = 1.0 - done;
        if steps < MOST_STEPS {
            for (slot, rows) in slots.iter().zip(&block.clips) {
                if rows.varying & bit != 0 {
                    share = share.min(to_next_key(slot, rows, lane, library, done));
                }
            }
            if let Some(fade) = fade {
                share = share.min(to_next_step(fade.elapsed + done * dt) / dt);
            }
            if let Some(transition) = transition {
                share = share.min(to_next_step(transition.elapsed + done * dt) / dt);
            }
        }
        let middle = done + 0.5 * share;
        let old = transition.map_or(0.0, |transition| {
            transition.mean_left(transition.elapsed + done * dt, transition.elapsed + (done + share) * dt)
        });
        let mut sum = Twist::default();
        for (index, (slot, rows)) in slots.iter().zip(&block.clips).enumerate().take(MAX_CLIPS) {
            if rows.playing & bit == 0 {
                continue;
            }
            let weight = match fade {
                Some(fade) => fade.weight(index, fade.elapsed + middle * dt),
                None => rows.weight.0[lane],
            };
            let (time, sign) = place(slot, rows, lane, middle);
            let twist = library.root(rows.clip[lane]).twist(time);
            let seconds = (1.0 - old) * weight * slot.moved.0[lane] * sign * share;
            sum.x += twist.x * seconds;
            sum.z += twist.z * seconds;
            sum.yaw += twist.yaw * seconds;
        }
        if let Some(transition) = transition {
            let seconds = old * share * dt;
            sum.x += transition.twist[0] * seconds;
            sum.z += transition.twist[1] * seconds;
            sum.yaw += transition.twist[2] * seconds;
        }
        way = way.then(sum.exp(1.0));
        done = if share >= 1.0 - done { 1.0 } else { done + share };
    }
    way
}

/// Time within the clip and direction after that part of the frame. What is folded is told by its ways' sum otherwise
/// (`moved` of a constant twist is the way between its ends), so only varying ones are folded here.
fn place(slot: &SlotClock, rows: &ClipRows, lane: usize, part: f32) -> (f32, f32) {
    let (duration, cycle) = (slot.duration().0[lane], slot.cycle.0[lane]);
    let time = slot.from.0[lane] + slot.moved.0[lane] * part;
    if rows.ping_pong & (1 << lane) != 0 {
        if rows.varying & (1 << lane) == 0 {
            return (0.0, 1.0);
        }
        let (time, back) = fold(time - (time / cycle).floor() * cycle, duration);
        return (time, if back { -1.0 } else { 1.0 });
    }
    if (0.0..=duration).contains(&time) {
        return (time, 1.0);
    }
    (time - (time / duration).floor() * duration, 1.0)
}

/// Part of the frame until the clip passes its next key.
fn to_next_key(slot: &SlotClock, rows: &ClipRows, lane: usize, library: &Library, done: f32) -> f32 {
    let Some(step) = library.root(rows.clip[lane]).varies_every() else { return 1.0 };
    let moved = slot.moved.0[lane];
    if moved == 0.0 {
        return 1.0;
    }
    let (time, sign) = place(slot, rows, lane, done);
    // A hair past a key counts as on it.
    const HAIR: f32 = 1e-3;
    let keys = time / step;
    let forward = (moved > 0.0) == (sign > 0.0);
    let left = if forward { (keys + HAIR).floor() + 1.0 - keys } else { keys - ((keys - HAIR).ceil() - 1.0) };
    left.max(HAIR) * step / moved.abs()
}

/// Seconds to the next step on a fade's own clock.
fn to_next_step(elapsed: f32) -> f32 {
    let steps = elapsed / SUBSTEP;
    ((steps + 1e-3).floor() + 1.0 - steps) * SUBSTEP
}
