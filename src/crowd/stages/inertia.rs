//! Inertialised transitions: the old motion is not sampled any more, it goes on by what it was and how fast when the clips
//! changed, slows down, and gives way to the new one (Bollo, "Inertialization", GDC 2018; Holden, "Dead Blending",
//! 2023). Kept is the old pose, not its difference from the new one: what is shown is always between two poses, while
//! differences of thigh and shin that die away each for itself bent knees backwards.
//!
//! Rotations are modified Rodrigues parameters, `s = v / (1 + w)`: a rotation by the angle `a` about `n` is
//! `n tan(a / 4)`, so going on evenly in them is close to turning evenly, and there and back takes no trigonometry.
//!
//! ```text
//! memory of one transition, 24 bytes a joint: 8 joints in 3 rows
//!   | s x y z, per second x y z | joint 1 | joint 2 |.. joint 7 |     pelvis and contacts follow the last joint
//! ```

#![allow(clippy::needless_range_loop)]

use super::feet::LegPlan;
use super::sample::Joints;
use crate::crowd::block::Block;
use crate::crowd::rare::Transition;
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, Quat, Row, Vec3, per_isa};

/// Values of one joint: where it was, and its velocity.
pub(crate) const VALUES: usize = 6;
/// Joints of a group, and its rows.
const GROUP: usize = 8;
const GROUP_ROWS: usize = GROUP * VALUES / BLOCK;

/// Rows of the memory for so many joints, the pelvis and the contacts.
pub(crate) fn rows(joints: usize) -> usize {
    (joints + 2).div_ceil(GROUP) * GROUP_ROWS
}

/// Values of the memory that tell something; those after them do not count.
pub(crate) fn told(joints: usize) -> usize {
    (joints + 2) * VALUES
}

/// Where the pelvis of an old motion was, metres from its reference place, and how fast; none where nothing is remembered.
pub(crate) fn pelvis(transition: &Transition, joints: usize) -> [[f32; 3]; 2] {
    let memory: &[f32] = bytemuck::cast_slice(transition.memory.as_deref().unwrap_or(&[]));
    match memory.get(joints * VALUES..(joints + 1) * VALUES) {
        Some(values) => [[values[0], values[1], values[2]], [values[3], values[4], values[5]]],
        None => [[0.0; 3]; 2],
    }
}

per_isa! {
    /// Mixes what is left of old motions into the first `kept` of `scratch.rotations`, `scratch.pelvis` and
    /// `scratch.contact`.
    pub(crate) fn inertia(block: &Block, plan: &LegPlan, joints: Joints, scratch: &mut Scratch) = inertia_kernel;
}

#[inline(always)]
fn inertia_kernel<L: Lanes>(
    block: &Block,
    plan: &LegPlan,
    Joints { all: joints, kept }: Joints,
    scratch: &mut Scratch,
) {
    let mut mask = Row::ZERO;
    let (mut left, mut onward) = (Row::ZERO, Row::ZERO);
    let mut from: [Option<&[Row]>; BLOCK] = [None; BLOCK];
    for lane in 0..BLOCK {
        let rare = block.rare[lane].as_deref().filter(|_| block.transitions & (1 << lane) != 0);
        if let Some(rare) = rare
            && let Some(memory) = rare.transition.memory.as_deref()
            && memory.len() >= rows(joints)
        {
            mask.0[lane] = 1.0;
            left.0[lane] = rare.transition.left();
            onward.0[lane] = rare.transition.onward();
            from[lane] = Some(memory);
        }
    }
    let mut values = [Row::ZERO; BLOCK * GROUP_ROWS];
    for group in 0..(joints + 2).div_ceil(GROUP) {
        if group * GROUP >= kept && group < joints / GROUP {
            continue;
        }
        for part in 0..GROUP_ROWS {
            let mut lanes = [Row::ZERO; BLOCK];
            for lane in 0..BLOCK {
                if let Some(memory) = from[lane] {
                    lanes[lane] = memory[group * GROUP_ROWS + part];
                }
            }
            let mut turned = [Row::ZERO; BLOCK];
            L::transpose(&lanes, &mut turned);
            values[part * BLOCK..][..BLOCK].copy_from_slice(&turned);
        }
        for (within, values) in values.chunks_exact(VALUES).enumerate() {
            let joint = group * GROUP + within;
            for at in (0..BLOCK).step_by(L::N) {
                let on = L::splat(0.5).lt(L::load(&mask, at));
                let (left, onward) = (L::load(&left, at), L::load(&onward, at));
                let x = L::load(&values[3], at).mul_add(onward, L::load(&values[0], at));
                let y = L::load(&values[4], at).mul_add(onward, L::load(&values[1], at));
                let z = L::load(&values[5], at).mul_add(onward, L::load(&values[2], at));
                let mut old = Vec3::new(x, y, z);
                if plan.legs.iter().any(|leg| usize::from(leg.shin) == joint) {
                    old.x = unbent(L::load(&values[0], at), L::load(&values[3], at) * onward);
                }
                if joint < kept {
                    let rotation = &mut scratch.rotations[joint];
                    let new = Quat::<L>::load(rotation, at);
                    Quat::select(on, between(new, from_mrp(old), left), new).store(rotation, at);
                } else if joint == joints {
                    let new = Vec3::load(&scratch.pelvis, at);
                    let mixed = old.minus(new).scale_add(left, new);
                    Vec3::select(on, mixed, new).store(&mut scratch.pelvis, at);
                } else if joint == joints + 1 {
                    for (contact, old) in scratch.contact.iter_mut().zip([old.x, old.y]) {
                        let new = L::load(contact, at);
                        // A foot that comes down is put onto the ground little by little; one that goes up is let go at
                        // once, since it stands where the old motion had it.
                        let mixed = (old - new).mul_add(left, new).min(new);
                        // What is to be estimated counts for as much as it would if it were told to be down.
                        let share = (old - L::one()).mul_add(left, L::one()).max(L::splat(1e-6));
                        let mixed = L::select(new.lt(L::zero()), (L::zero() - share).max(new), mixed);
                        L::select(on, mixed, new).store(contact, at);
                    }
                }
            }
        }
    }
}

/// A knee that is being straightened comes to rest straight, not bent to the front: `b b / (b + way)` for a bend `b`, whose
/// slope is that of the way at its start. Knees bend about +X in model axes, whatever the rig's.
#[inline(always)]
fn unbent<L: Lanes>(bend: L, way: L) -> L {
    let straightens = L::and(way.lt(L::zero()), L::splat(1e-6).lt(bend));
    let held = bend + L::select(L::splat(1e-6).lt(bend), way, way.max(L::zero()));
    let safe = L::select(straightens, bend - way, L::one());
    L::select(straightens, bend * bend / safe, held)
}

/// Two poses are the one case for the shorter arc.
#[inline(always)]
fn between<L: Lanes>(new: Quat<L>, old: Quat<L>, left: L) -> Quat<L> {
    let dot = new.x.mul_add(old.x, new.y.mul_add(old.y, new.z.mul_add(old.z, new.w * old.w)));
    let share = L::select(dot.lt(L::zero()), L::zero() - left, left);
    let rest = L::one() - left;
    Quat::new(
        old.x.mul_add(share, new.x * rest),
        old.y.mul_add(share, new.y * rest),
        old.z.mul_add(share, new.z * rest),
        old.w.mul_add(share, new.w * rest),
    )
    .normalize()
}

/// `(2 s, 1 - s s) / (1 + s s)`.
#[inline(always)]
fn from_mrp<L: Lanes>(s: Vec3<L>) -> Quat<L> {
    let squared = s.length_squared();
    let per = L::one() / (L::one() + squared);
    let twice = per + per;
    Quat::new(s.x * twice, s.y * twice, s.z * twice, (L::one() - squared) * per)
}

/// Rotation and its parameters, scalar, for the start of a transition.
pub(crate) mod mrp {
    /// The shorter way round.
    pub fn of(q: [f32; 4]) -> [f32; 3] {
        let [x, y, z, w] = q;
        let sign = if w < 0.0 { -1.0 } else { 1.0 };
        let per = sign / (1.0 + w.abs());
        [x * per, y * per, z * per]
    }

    /// The other parameters of the same rotation, if they are nearer to `to`.
    pub fn near(s: [f32; 3], to: [f32; 3]) -> [f32; 3] {
        let squared: f32 = s.iter().map(|c| c * c).sum();
        if squared < 1e-6 {
            return s;
        }
        let other = s.map(|c| -c / squared);
        let far = |a: [f32; 3]| (0..3).map(|k| (a[k] - to[k]) * (a[k] - to[k])).sum::<f32>();
        if far(other) < far(s) { other } else { s }
    }
}
