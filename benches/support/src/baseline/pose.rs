//! Clocks, sampling and the model pass.

use glam::{Quat, Vec3A, Vec4};

use super::{Body, Character, Clip, Scratch, Step};

/// `(sin, cos)` of up to about 1.2 rad.
#[inline(always)]
fn sin_cos(x: f32) -> (f32, f32) {
    let x2 = x * x;
    let s = x + x * x2 * (-1.666_666_7e-1 + x2 * (8.333_333e-3 + x2 * (-1.984_127e-4 + x2 * 2.755_731_9e-6)));
    let c = 1.0 + x2 * (-0.5 + x2 * (4.166_666_6e-2 + x2 * (-1.388_888_9e-3 + x2 * 2.480_158_7e-5)));
    (s, c)
}

/// Integral of the root velocity from the start to `time`.
#[inline(always)]
fn travel(clip: &Clip, time: f32) -> Vec3A {
    let key = ((time * clip.rate) as usize).min(clip.intervals - 1);
    clip.travel[key] + clip.twists[key] * (time - key as f32 / clip.rate)
}

/// Moves the clocks on, and the root by the weighted motion of the clips.
#[inline(always)]
pub(super) fn advance(character: &mut Character, clips: &[Clip], leg: f32, step: Step) {
    let mut moved = Vec3A::ZERO;
    for play in &mut character.plays[..character.count as usize] {
        let clip = &clips[play.clip as usize];
        let from = play.time;
        let to = from + play.speed * step.dt;
        let mut turns = 0.0;
        if !clip.looping {
            play.time = to.clamp(0.0, clip.duration);
        } else if to >= clip.duration || to < 0.0 {
            turns = (to / clip.duration).floor();
            play.time = to - clip.duration * turns;
            if play.time >= clip.duration {
                play.time = 0.0;
            }
        } else {
            play.time = to;
        }
        moved += play.weight
            * match *clip.twists.as_slice() {
                [twist] if clip.looping => twist * (to - from),
                [twist] => twist * (play.time - from),
                _ => travel(clip, play.time) - travel(clip, from) + clip.travel[clip.intervals] * turns,
            };
    }
    let (x, z, yaw) = (moved.x, moved.y, moved.z);
    if x == 0.0 && z == 0.0 && yaw == 0.0 {
        return;
    }
    let y2 = yaw * yaw;
    let a = 1.0 + y2 * (-1.0 / 6.0 + y2 / 120.0);
    let b = yaw * (0.5 + y2 * (-1.0 / 24.0 + y2 / 720.0));
    let along = Vec3A::new((a * x + b * z) * leg, 0.0, (a * z - b * x) * leg);
    character.position += character.rotation * along;
    let (s, c) = sin_cos(yaw * 0.5);
    character.rotation = (character.rotation * Quat::from_xyzw(0.0, s, 0.0, c)).normalize();
}

/// Two neighbouring keys of a clip and their weights.
#[derive(Clone, Copy)]
struct Keys<'a> {
    left: &'a [Vec4],
    right: &'a [Vec4],
    weights: [f32; 2],
}

/// Local rotations, pelvis offset and contact weights.
#[inline(always)]
pub(super) fn sample(character: &Character, clips: &[Clip], body: &Body, scratch: &mut Scratch) {
    let quads = body.parents.len() + 2;
    let none = Keys { left: &[], right: &[], weights: [0.0; 2] };
    let mut keys = [none; 4];
    let count = character.count as usize;
    let mut careful = false;
    for (out, play) in keys.iter_mut().zip(&character.plays[..count]) {
        let clip = &clips[play.clip as usize];
        let position = play.time * clip.rate;
        let left = (position as usize).min(clip.intervals - 1);
        let part = (position - left as f32) * play.weight;
        let first = left * clip.quads;
        *out = Keys {
            left: &clip.rows[first..first + quads],
            right: &clip.rows[first + clip.quads..first + clip.quads + quads],
            weights: [play.weight - part, part],
        };
        careful |= clip.crosses_hemisphere;
    }
    match (count, careful) {
        (1, _) => mix::<1, false>([keys[0]], body, scratch),
        (2, false) => mix::<2, false>([keys[0], keys[1]], body, scratch),
        (2, true) => mix::<2, true>([keys[0], keys[1]], body, scratch),
        (3, false) => mix::<3, false>([keys[0], keys[1], keys[2]], body, scratch),
        (3, true) => mix::<3, true>([keys[0], keys[1], keys[2]], body, scratch),
        (4, false) => mix::<4, false>(keys, body, scratch),
        (4, true) => mix::<4, true>(keys, body, scratch),
        _ => {
            scratch.rotations.fill(Quat::IDENTITY);
            scratch.pelvis = Vec3A::ZERO;
            scratch.contact = [0.0; 2];
        }
    }
}

/// One pass over the quads, clips in file order; `CAREFUL` turns each clip to the side of the reference pose.
#[inline(always)]
fn mix<const N: usize, const CAREFUL: bool>(mut keys: [Keys<'_>; N], body: &Body, scratch: &mut Scratch) {
    let joints = body.parents.len();
    for keys in &mut keys {
        keys.left = &keys.left[..joints + 2];
        keys.right = &keys.right[..joints + 2];
    }
    let quad = |at: usize| {
        let mut sum = Vec4::ZERO;
        for keys in &keys {
            let part = keys.left[at] * keys.weights[0] + keys.right[at] * keys.weights[1];
            sum += if CAREFUL && part.w < 0.0 { -part } else { part };
        }
        sum
    };
    for (at, out) in scratch.rotations[..joints].iter_mut().enumerate() {
        *out = Quat::from_vec4(quad(at)).normalize();
    }
    scratch.pelvis = Vec3A::from_vec4(quad(joints)) * body.leg;
    let contact = quad(joints + 1);
    scratch.contact = [contact.x, contact.y];
}

/// Local deltas to model rotations, in place, and model positions.
#[inline(always)]
pub(super) fn model(body: &Body, scratch: &mut Scratch) {
    let joints = body.parents.len();
    let rotations = &mut scratch.rotations[..joints];
    let positions = &mut scratch.positions[..joints];
    let offsets = &body.offsets[..joints];
    let pelvis = usize::from(body.pelvis);
    for (joint, &parent) in body.parents.iter().enumerate() {
        let mut position = offsets[joint];
        if parent != u16::MAX {
            let parent = usize::from(parent);
            let above = rotations[parent];
            position = positions[parent] + above * position;
            rotations[joint] = above * rotations[joint];
        }
        if joint == pelvis {
            position += scratch.pelvis;
        }
        positions[joint] = position;
    }
}
