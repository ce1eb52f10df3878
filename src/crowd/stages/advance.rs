//! Clocks and root motion.

use core::f32::consts::PI;

use crate::clip::RootMotion;
use crate::crowd::block::{Block, MAX_CLIPS};
use crate::lanes::{BLOCK, Lanes, Quat, Row, Vec3, per_isa, sin_cos_small};

/// Longest step that root motion is integrated over: the blend of several clips' twists is exact only while each
/// is constant (0.15 mm over 2 s; one step of 0.3 s is 12.8 mm off). The series below hold for turns of about a radian,
/// which bounds the speeds that clips are played at; shorter steps for the fast would let a character's neighbours decide
/// its bits, since a block steps as one.
const SUBSTEP: f32 = 1.0 / 60.0;

/// How the world root moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drive {
    /// By root motion.
    Clips,
    /// By the host; displacements are only reported.
    Host,
}

/// Moves the clocks of a block on by `dt` and its roots by the weighted motion of their clips.
pub(crate) fn advance<'a>(
    simd: crate::lanes::Simd,
    block: &mut Block,
    dt: f32,
    drive: Drive,
    root_of: &dyn Fn(u32) -> &'a RootMotion,
) {
    let steps = (dt / SUBSTEP - 1e-3).ceil().max(1.0);
    let step = dt / steps;
    block.displacement = [Row::ZERO; 3];
    for _ in 0..steps as u32 {
        for rows in &mut block.clips[..usize::from(block.clip_slots)] {
            let mut lanes = rows.varying;
            while lanes != 0 {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                let (from, moved) = (rows.time.0[lane], rows.speed.0[lane] * step);
                let looping = rows.wrap.0[lane] > 0.5;
                // A mean over the time that the clip still moves: it may end within the step.
                let lasts =
                    if looping { moved } else { (from + moved).clamp(0.0, rows.duration.0[lane]) - from };
                let twist = root_of(rows.clip[lane]).mean_twist(from, lasts, looping);
                rows.twist[0].0[lane] = twist.x;
                rows.twist[1].0[lane] = twist.z;
                rows.twist[2].0[lane] = twist.yaw;
            }
        }
        advance_rows(simd, block, step, drive);
    }
}

per_isa! {
    fn advance_rows(block: &mut Block, dt: f32, drive: Drive) = advance_kernel;
}

/// Of any angle: a long frame may turn all the way round.
#[inline(always)]
fn sin_cos<L: Lanes>(angle: L) -> (L, L) {
    let turns = angle.mul_add(L::splat(0.5 / PI), L::splat(0.5)).floor();
    let (s, c) = sin_cos_small(turns.neg_mul_add(L::splat(2.0 * PI), angle) * L::splat(0.25));
    let (s, c) = ((s + s) * c, s.neg_mul_add(s, c * c));
    ((s + s) * c, s.neg_mul_add(s, c * c))
}

#[inline(always)]
fn advance_kernel<L: Lanes>(block: &mut Block, dt: f32, drive: Drive) {
    let slots = usize::from(block.clip_slots).min(MAX_CLIPS);
    for at in (0..BLOCK).step_by(L::N) {
        let mut x = L::zero();
        let mut z = L::zero();
        let mut yaw = L::zero();
        for rows in &mut block.clips[..slots] {
            let from = L::load(&rows.time, at);
            let moved = L::load(&rows.speed, at) * L::splat(dt);
            let duration = L::load(&rows.duration, at);
            let wraps = L::splat(0.5).lt(L::load(&rows.wrap, at));
            let to = from + moved;
            let wrapped = to - duration * (to / duration).floor();
            // The floor of a quotient a rounding below a whole number leaves the full duration.
            let wrapped = L::select(wrapped.lt(duration), wrapped, L::zero());
            let held = to.clamp(L::zero(), duration);
            L::select(wraps, wrapped, held).store(&mut rows.time, at);
            let lasts = L::select(wraps, moved, held - from);
            let share = L::load(&rows.weight, at) * lasts;
            x = L::load(&rows.twist[0], at).mul_add(share, x);
            z = L::load(&rows.twist[1], at).mul_add(share, z);
            yaw = L::load(&rows.twist[2], at).mul_add(share, yaw);
        }
        // SE(2) exponential: displacement = [a, b; -b, a] velocity.
        let y2 = yaw * yaw;
        let a = y2.mul_add(y2.mul_add(L::splat(1.0 / 120.0), L::splat(-1.0 / 6.0)), L::one());
        let b = yaw * y2.mul_add(y2.mul_add(L::splat(1.0 / 720.0), L::splat(-1.0 / 24.0)), L::splat(0.5));
        let leg = L::load(&block.leg, at);
        let dx = a.mul_add(x, b * z) * leg;
        let dz = b.neg_mul_add(x, a * z) * leg;

        // In the axes of the frame's start.
        let turned = L::load(&block.displacement[2], at);
        let (s, c) = sin_cos(turned);
        let sum_x = L::load(&block.displacement[0], at) + c.mul_add(dx, s * dz);
        let sum_z = L::load(&block.displacement[1], at) + s.neg_mul_add(dx, c * dz);
        sum_x.store(&mut block.displacement[0], at);
        sum_z.store(&mut block.displacement[1], at);
        (turned + yaw).store(&mut block.displacement[2], at);

        if drive == Drive::Clips {
            let rotation = Quat::load(&block.rotation, at);
            let position = Vec3::load(&block.position, at);
            position.plus(rotation.rotate(Vec3::new(dx, L::zero(), dz))).store(&mut block.position, at);
            let (s, c) = sin_cos_small(yaw * L::splat(0.5));
            let turn = Quat::new(L::zero(), s, L::zero(), c);
            rotation.times(turn).normalize().store(&mut block.rotation, at);
        }
    }
}
