//! Feet on the ground: probe, orient, place, move the pelvis, solve both legs.
//!
//! ```text
//! probe   leg forward pass -> lock -> heel, ball and root to the ground query
//! solve   offsets -> foot rotation -> ankle target -> pelvis -> two bones -> local deltas
//! ```
//!
//! All lengths are metres in model axes unless a name says world. Input is the animated pose only; what persists is
//! in [`FootRows`](crate::crowd::block::FootRows) and three rows for the pelvis.

#![allow(clippy::needless_range_loop)]

use super::Proportions;
use super::bones::{Bones, two_bones};
use crate::clip::{FREE_HEIGHT, FREE_SPEED, LOCK_HEIGHT};
use crate::crowd::block::Block;
use crate::crowd::ground::{Ground, PROBES, Probes};
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, Quat, Row, Simd, Vec3, exp_neg, lerp, per_isa};
use crate::rig::{Leg, MAX_FEET};

/// Legs of a topology, with the joints from the root down to the pelvis.
#[derive(Clone, Debug)]
pub(crate) struct LegPlan {
    pub to_pelvis: Vec<u16>,
    pub legs: Vec<Leg>,
}

/// Ball speed below which a foot locks, leg lengths per second.
const LOCK_SPEED: f32 = 0.33;
/// Height of heel or ball above the root's plane up to which a foot of a stream counts as down, and over how much more
/// it ceases to; leg lengths.
const DOWN_HEIGHT: f32 = 0.04;
const DOWN_FADE: f32 = 0.06;
/// Farthest that a locked ball is held from its animated place, leg lengths.
const LOCK_REACH: f32 = 0.22;
/// A let-go offset halves in this time, seconds.
const RELEASE_HALF_LIFE: f32 = 0.05;
/// Time constant of the pelvis, seconds.
const PELVIS_TIME: f32 = 0.09;
/// Pitch of the sole up to which it follows the ground, and from which it stays as animated, as rise over sole length
/// (31 and 39 degrees): past any slope that people walk it is the edge of a step, where a foot stands level on the
/// upper tread.
const FULL_PITCH: f32 = 0.6;
const NO_PITCH: f32 = 0.8;
/// Slope of planting over the contact weight: a foot is put down over its last quarter, 50 ms before touch-down.
const PLANTING: f32 = 4.0;

per_isa! {
    /// Forward pass of the legs, locks, and the probes of the block.
    pub(crate) fn probe(plan: &LegPlan, proportions: Proportions<'_>, block: &mut Block, scratch: &mut Scratch) = probe_kernel;
}

per_isa! {
    /// Solves the legs of the block against the answers of the ground.
    pub(crate) fn solve(plan: &LegPlan, block: &mut Block, scratch: &mut Scratch) = solve_kernel;
}

#[inline(always)]
fn probe_kernel<L: Lanes>(
    plan: &LegPlan,
    proportions: Proportions<'_>,
    block: &mut Block,
    scratch: &mut Scratch,
) {
    let legs = &plan.legs[..plan.legs.len().min(MAX_FEET)];
    let fresh_row = Row::of_bits(block.fresh);
    for at in (0..BLOCK).step_by(L::N) {
        let root = Vec3::<L>::load(&block.position, at);
        let turn = Quat::load(&block.rotation, at);
        let leg_length = L::load(&block.leg, at);
        let age = L::load(&block.age, at);
        let fresh = L::splat(0.5).lt(L::load(&fresh_row, at));
        root.x.store(&mut scratch.probes.x[0], at);
        root.y.store(&mut scratch.probes.y[0], at);
        root.z.store(&mut scratch.probes.z[0], at);

        let mut pelvis_rotation = Quat::identity();
        let mut pelvis = Vec3::load(&scratch.pelvis, at);
        for &joint in &plan.to_pelvis {
            let joint = usize::from(joint);
            pelvis = pelvis.plus(pelvis_rotation.rotate(proportions.offset(joint, at)));
            pelvis_rotation = pelvis_rotation.times(Quat::load(&scratch.rotations[joint], at));
        }
        for (index, leg) in legs.iter().enumerate() {
            let mut above = pelvis_rotation;
            let mut position = pelvis;
            for &joint in &leg.above {
                position = position.plus(above.rotate(proportions.offset(usize::from(joint), at)));
                above = above.times(local::<L>(scratch, joint, at));
            }
            let hip = position.plus(above.rotate(proportions.offset(usize::from(leg.thigh), at)));
            let thigh = above.times(local::<L>(scratch, leg.thigh, at));
            let knee = hip.plus(thigh.rotate(proportions.offset(usize::from(leg.shin), at)));
            let shin = thigh.times(local::<L>(scratch, leg.shin, at));
            let ankle = knee.plus(shin.rotate(proportions.offset(usize::from(leg.foot), at)));
            let foot = shin.times(local::<L>(scratch, leg.foot, at));
            let heel = ankle.plus(foot.rotate(proportions.sole(index, 0, at)));
            let ball = ankle.plus(foot.rotate(proportions.sole(index, 1, at)));

            // Lock, from the animated ball's way over the ground.
            let state = &mut block.feet[index];
            let world = root.plus(turn.rotate(ball));
            let last_x = L::select(fresh, world.x, L::load(&state.last[0], at));
            let last_z = L::select(fresh, world.z, L::load(&state.last[1], at));
            let (moved_x, moved_z) = (world.x - last_x, world.z - last_z);
            let moved = moved_x.mul_add(moved_x, moved_z * moved_z);
            let mut contact = L::load(&scratch.contact[index], at);
            if scratch.estimated {
                let told = L::splat(-1e-7).lt(contact);
                let guess = estimated(heel.y.min(ball.y), moved, leg_length, age);
                contact = L::select(told, contact, guess * (L::zero() - contact));
                contact.store(&mut scratch.contact[index], at);
            }
            let zero = L::zero();
            let held_x = L::select(fresh, zero, L::load(&state.offset[0], at));
            let held_z = L::select(fresh, zero, L::load(&state.offset[1], at));
            let next_x = held_x - moved_x;
            let next_z = held_z - moved_z;
            let reach = leg_length * L::splat(LOCK_REACH);
            let near = next_x.mul_add(next_x, next_z * next_z).lt(reach * reach);
            let enters = L::and(
                L::and(
                    moved.lt(way_squared(leg_length, LOCK_SPEED, age)),
                    ball.y.lt(leg_length * L::splat(LOCK_HEIGHT)),
                ),
                L::splat(0.75).lt(contact),
            );
            let stays = L::and(
                L::and(
                    moved.lt(way_squared(leg_length, FREE_SPEED, age)),
                    ball.y.lt(leg_length * L::splat(FREE_HEIGHT)),
                ),
                L::splat(0.5).lt(L::load(&state.locked, at)),
            );
            let locked = L::and(L::or(enters, stays), near);
            let decay = exp_neg(age * L::splat(core::f32::consts::LN_2 / RELEASE_HALF_LIFE));
            let x = L::select(fresh, zero, L::select(locked, next_x, held_x * decay));
            let z = L::select(fresh, zero, L::select(locked, next_z, held_z * decay));
            x.store(&mut state.offset[0], at);
            z.store(&mut state.offset[1], at);
            world.x.store(&mut state.last[0], at);
            world.z.store(&mut state.last[1], at);
            L::select(locked, L::one(), zero).store(&mut state.locked, at);
            let held = Vec3::new(x, zero, z);
            let shift = turn.rotate_inverse(held);

            let rows = &mut scratch.legs[index];
            above.store(&mut rows.above, at);
            thigh.store(&mut rows.thigh, at);
            shin.store(&mut rows.shin, at);
            foot.store(&mut rows.foot, at);
            hip.store(&mut rows.hip, at);
            knee.store(&mut rows.knee, at);
            ankle.store(&mut rows.ankle, at);
            heel.store(&mut rows.heel, at);
            ball.store(&mut rows.ball, at);
            shift.store(&mut rows.shift, at);

            for end in 0..2 {
                let probe = 1 + 2 * index + end;
                let point = if end == 0 { heel } else { ball };
                let place = root.plus(turn.rotate(point)).plus(held);
                place.x.store(&mut scratch.probes.x[probe], at);
                root.y.store(&mut scratch.probes.y[probe], at);
                place.z.store(&mut scratch.probes.z[probe], at);
            }
        }
    }
    scratch.probes.count = 1 + 2 * legs.len();
    scratch.probes.characters = block.characters;
    scratch.probes.live = block.live;
}

#[inline(always)]
fn local<L: Lanes>(scratch: &Scratch, joint: u16, at: usize) -> Quat<L> {
    Quat::load(&scratch.rotations[usize::from(joint)], at)
}

/// Square of the way that a speed in leg lengths per second makes in a frame.
#[inline(always)]
fn way_squared<L: Lanes>(leg_length: L, per_second: f32, age: L) -> L {
    let way = leg_length * (L::splat(per_second) * age.max(L::splat(1e-6)));
    way * way
}

/// What the ground answers to one probe. What is not finite or steeper than any slope counts as no hit: a host's
/// ground must not reach a pose.
#[derive(Clone, Copy)]
struct Answer<L: Lanes> {
    hit: L::Mask,
    /// World height, 0 without a hit.
    height: L,
    /// World normal, up without a hit.
    normal: Vec3<L>,
}

#[inline(always)]
fn answer<L: Lanes>(probes: &Probes, probe: usize, at: usize) -> Answer<L> {
    let height = L::load(&probes.height[probe], at);
    let normal = Vec3::<L>::load(&probes.normal[probe], at);
    let there = L::splat(0.5).lt(L::load(&probes.hit[probe], at));
    // Comparisons with NaN are false.
    let sound = L::and(height.abs().lt(L::splat(1e7)), L::splat(0.01).lt(normal.y));
    let unit = normal.length_squared().lt(L::splat(1.1));
    let hit = L::and(there, L::and(sound, unit));
    Answer {
        hit,
        height: L::select(hit, height, L::zero()),
        normal: Vec3::select(hit, normal, Vec3::new(L::zero(), L::one(), L::zero())),
    }
}

/// Where one foot goes, before the pelvis is known.
#[derive(Clone, Copy)]
struct Target<L: Lanes> {
    /// Ankle, before the pelvis moves.
    ankle: Vec3<L>,
    /// Turns the animated foot onto the ground.
    turn: Quat<L>,
    /// Say in where the pelvis goes: contact weight, 0 without ground.
    say: L,
    hit: L::Mask,
}

#[inline(always)]
fn target<L: Lanes>(
    index: usize,
    up: Vec3<L>,
    root_y: L,
    block: &Block,
    scratch: &Scratch,
    at: usize,
) -> Target<L> {
    let rows = &scratch.legs[index];
    let probes = &scratch.probes;
    let (heel, ball) = (Vec3::<L>::load(&rows.heel, at), Vec3::load(&rows.ball, at));
    let animated = Vec3::load(&rows.ankle, at);
    let contact = L::load(&scratch.contact[index], at).clamp(L::zero(), L::one());
    let root = answer::<L>(probes, 0, at);
    let (under_heel, under_ball) =
        (answer::<L>(probes, 1 + 2 * index, at), answer::<L>(probes, 2 + 2 * index, at));
    let root_ground = L::select(root.hit, root.height, root_y);
    let (hit_heel, hit_ball) = (under_heel.hit, under_ball.hit);
    let hit = L::or(hit_heel, hit_ball);

    // In contact the ground counts from the root itself, in the air from the ground under the root, so that a
    // jumping character takes its feet along.
    let base = lerp(root_ground, root_y, contact);
    let (h, b) = (under_heel.height, under_ball.height);
    let rise_heel = L::select(hit, L::select(hit_heel, h, b) - base, L::zero());
    let rise_ball = L::select(hit, L::select(hit_ball, b, h) - base, L::zero());

    let sole = ball.minus(heel);
    let length = sole.safe_length();
    // The foot turns about whichever end is lower: the heel at heel strike, the ball from foot flat on.
    let per_length = L::one() / length;
    let lean = (heel.minus(ball)).dot(up) * (per_length * L::splat(1.0 / 0.15));
    let end = (L::one() + lean).clamp(L::zero(), L::one());
    let anchor_rise = lerp(rise_heel, rise_ball, end);
    let step = rise_ball - rise_heel;
    let steep = step.abs() * per_length;
    let follows =
        ((L::splat(NO_PITCH) - steep) * L::splat(1.0 / (NO_PITCH - FULL_PITCH))).clamp(L::zero(), L::one());
    let pitch = step * follows;
    // A planted foot stands on the ground however high the animation has it, from shortly before touch-down on:
    // keys, other proportions and a file's own ground leave it some way above or below.
    let far = L::load(&block.leg, at) * L::splat(FREE_HEIGHT);
    let planted = contact.mul_add(L::splat(PLANTING), L::splat(1.0 - PLANTING)).max(L::zero());
    let drop = lerp(heel.dot(up), ball.dot(up), end).clamp(-far, far) * planted;
    // An end that would be under ground all the same, because the pitch is cut off or the foot turns about the other
    // one, lifts it; an end that the animation holds up is that much clear of it.
    let below_heel = rise_heel - end.neg_mul_add(pitch, anchor_rise) - heel.dot(up) + drop;
    let below_ball = rise_ball - (L::one() - end).mul_add(pitch, anchor_rise) - ball.dot(up) + drop;
    let lift = below_heel.max(below_ball).max(L::zero()) * contact;
    let rise = anchor_rise - drop + lift;

    let ahead = sole.scale(per_length);
    let sloped = up.scale_add(pitch * per_length, ahead).normalize();
    let pitched = Quat::between(ahead, sloped);
    // Roll about the sole's line, onto the normal where it is a slope and not the face of a step.
    let world_normal = Vec3::select(hit_ball, under_ball.normal, under_heel.normal);
    let slope = ((world_normal.y - L::splat(0.7)) * L::splat(1.0 / 0.15)).clamp(L::zero(), L::one());
    let weight = L::select(hit, contact * slope, L::zero());
    let turn = Quat::load(&block.rotation, at);
    let normal = turn.rotate_inverse(world_normal);
    let wanted = up.plus(normal.minus(up).scale(weight));
    let level = pitched.rotate(up).reject(sloped).normalize();
    let rolled = Quat::between(level, wanted.reject(sloped).normalize());
    let turn = rolled.times(pitched);

    let anchor = heel.plus(sole.scale(end));
    let goal = up.scale_add(rise, anchor).plus(Vec3::load(&rows.shift, at));
    let ankle = goal.minus(turn.rotate(anchor.minus(animated)));
    Target {
        ankle: Vec3::select(hit, ankle, animated),
        turn: Quat::select(hit, turn, Quat::identity()),
        say: L::select(hit, contact, L::zero()),
        hit,
    }
}

/// Contact weight of a foot of which nothing is told: 1 for a sole that is low and slow, falling to 0 where it is high
/// or as fast as a lock lets go. `moved` is the squared way of the ball over the ground in `age` seconds.
#[inline(always)]
fn estimated<L: Lanes>(height: L, moved: L, leg: L, age: L) -> L {
    let low = (leg.mul_add(L::splat(DOWN_HEIGHT + DOWN_FADE), -height)) / (leg * L::splat(DOWN_FADE));
    // Without time nothing moves, and what does not move is slow.
    let least = L::splat(1e-12);
    let (slow, fast) = (way_squared(leg, LOCK_SPEED, age), way_squared(leg, FREE_SPEED, age));
    let calm = (fast - moved + least) / (fast - slow + least);
    low.clamp(L::zero(), L::one()) * calm.clamp(L::zero(), L::one())
}

#[inline(always)]
fn solve_kernel<L: Lanes>(plan: &LegPlan, block: &mut Block, scratch: &mut Scratch) {
    let legs = &plan.legs[..plan.legs.len().min(MAX_FEET)];
    let fresh_row = Row::of_bits(core::mem::take(&mut block.fresh));
    for at in (0..BLOCK).step_by(L::N) {
        let turn = Quat::<L>::load(&block.rotation, at);
        let up = turn.rotate_inverse(Vec3::new(L::zero(), L::one(), L::zero()));
        let root_y = L::load(&block.position[1], at);
        let leg_length = L::load(&block.leg, at);
        let age = L::load(&block.age, at);
        let fresh = L::splat(0.5).lt(L::load(&fresh_row, at));

        // Neutral where there is no second leg.
        let none = Target {
            ankle: Vec3::zero(),
            turn: Quat::identity(),
            say: L::zero(),
            hit: L::one().lt(L::zero()),
        };
        let mut targets = [none; MAX_FEET];
        let mut offsets = [L::zero(); MAX_FEET];
        let mut highest = L::splat(-1e9);
        let mut say = L::zero();
        let mut grounded = none.hit;
        for index in 0..legs.len() {
            let target = target::<L>(index, up, root_y, block, scratch, at);
            let offset = target.ankle.minus(Vec3::load(&scratch.legs[index].ankle, at)).dot(up);
            offsets[index] = offset;
            highest = highest.max(offset);
            say = say.max(target.say);
            grounded = L::or(grounded, target.hit);
            targets[index] = target;
        }

        // The pelvis follows the lowest foot that has a say. Its smoothing is in the world: a root that steps up
        // does not take it along at once.
        let mut lowest = highest;
        for index in 0..legs.len() {
            lowest = lowest.min(lerp(highest, offsets[index], targets[index].say));
        }
        let bound = leg_length * L::splat(0.5);
        let jump = root_y - L::load(&block.last_height, at);
        let before = L::select(fresh, L::zero(), L::load(&block.pelvis, at) - jump).clamp(-bound, bound);
        // In flight over ground it holds its height; where there is none, or no leg, it goes back to the animation.
        let wanted = L::select(grounded, lerp(before, lowest, say), L::zero()).clamp(-bound, bound);
        let follow = L::one() - exp_neg(age * L::splat(1.0 / PELVIS_TIME));
        let smooth = L::select(fresh, wanted, lerp(before, wanted, follow));
        smooth.store(&mut block.pelvis, at);
        root_y.store(&mut block.last_height, at);
        L::zero().store(&mut block.age, at);

        // What a foot in contact cannot reach from there, the pelvis goes down for at once.
        let mut pelvis = smooth;
        let mut bones = [Bones::<L>::none(); MAX_FEET];
        for index in 0..legs.len() {
            let (rows, target) = (&scratch.legs[index], targets[index]);
            bones[index] = Bones::of(rows, at);
            let free = bones[index].free;
            let way = target.ankle.minus(Vec3::load(&rows.hip, at));
            let rise = way.dot(up);
            let flat = way.length_squared() - rise * rise;
            let down = (free * free - flat).max(L::zero()).sqrt() + rise - smooth;
            let down = down.clamp(-bound, L::zero()) * target.say;
            pelvis = pelvis.min(smooth + down);
        }
        let moved = up.scale(pelvis);
        Vec3::load(&scratch.pelvis, at).plus(moved).store(&mut scratch.pelvis, at);

        for (index, leg) in legs.iter().enumerate() {
            let target = targets[index];
            let goal = Vec3::select(target.hit, target.ankle, target.ankle.plus(moved));
            let solved = two_bones::<L>(&bones[index], &scratch.legs[index], goal, moved, at);
            let above = Quat::load(&scratch.legs[index].above, at);
            let foot = target.turn.times(Quat::load(&scratch.legs[index].foot, at));
            let rotations = &mut scratch.rotations;
            // Products of a few unit quaternions stay within a millionth of one: no need to normalise again.
            let thigh = above.conjugate().times(solved.thigh);
            take_solved(target.hit, thigh, &mut rotations[usize::from(leg.thigh)], at);
            let shin = solved.thigh.conjugate().times(solved.shin);
            take_solved(target.hit, shin, &mut rotations[usize::from(leg.shin)], at);
            let foot = solved.shin.conjugate().times(foot);
            take_solved(target.hit, foot, &mut rotations[usize::from(leg.foot)], at);
        }
    }
}

/// Where there is no ground, the animated rotation stays, to the bit.
#[inline(always)]
fn take_solved<L: Lanes>(hit: L::Mask, solved: Quat<L>, rotation: &mut [Row; 4], at: usize) {
    Quat::select(hit, solved, Quat::load(rotation, at)).store(rotation, at);
}

/// Asks for the ground under the roots alone and puts them onto it: for blocks that get no pose in this frame.
pub(crate) fn ground_only(simd: Simd, ground: &dyn Ground, block: &mut Block, scratch: &mut Scratch) {
    let probes = &mut scratch.probes;
    for probe in 0..PROBES {
        (probes.x[probe], probes.y[probe], probes.z[probe]) =
            (block.position[0], block.position[1], block.position[2]);
    }
    (probes.count, probes.characters, probes.live) = (1, block.characters, block.live);
    ground.probe(simd, probes);
    ground_root(simd, block, scratch);
}

/// In place of probing and solving where feet are left as animated; what they remember is of no use later.
pub(crate) fn leave(
    simd: Simd,
    ground: &dyn Ground,
    on_ground: bool,
    block: &mut Block,
    scratch: &mut Scratch,
) {
    let height = block.position[1];
    ground_only(simd, ground, block, scratch);
    if !on_ground {
        block.position[1] = height;
    }
    (block.age, block.fresh) = (Row::ZERO, u16::MAX);
    // What is shown is the animation alone: who reads the pose back from its slot takes off what feet have moved.
    block.pelvis = Row::ZERO;
    for foot in &mut block.feet {
        foot.locked = Row::ZERO;
    }
}

per_isa! {
    /// Puts the root on the ground that its probe hit.
    pub(crate) fn ground_root(block: &mut Block, scratch: &Scratch) = ground_root_kernel;
}

#[inline(always)]
fn ground_root_kernel<L: Lanes>(block: &mut Block, scratch: &Scratch) {
    for at in (0..BLOCK).step_by(L::N) {
        let answer = answer::<L>(&scratch.probes, 0, at);
        let height = L::load(&block.position[1], at);
        L::select(answer.hit, answer.height, height).store(&mut block.position[1], at);
    }
}
