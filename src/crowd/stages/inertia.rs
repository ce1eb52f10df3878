//! Inertialised transitions: the old motion is not sampled any more, it goes on by what it was and how fast when the clips
//! changed, slows down, and gives way to the new one (Bollo, "Inertialization", GDC 2018; Holden, "Dead Blending",
//! 2023). Kept is the old pose, not its difference from the new one: what is shown is always between two poses, while
//! differences of thigh and shin that die away each for itself bent knees backwards.
//!
//! Rotations are modified Rodrigues parameters, `s = v / (1 + w)`: a rotation by the angle `a` about `n` is
//! `n tan(a / 4)`, so going on evenly in them is close to turning evenly, and there and back takes no trigonometry.
//!
//! Characters are taken one after the other, sixteen of their joints side by side: in most blocks one or two of the sixteen
//! are in transition, and what the others would cost is a quarter of a frame.
//!
//! ```text
//! memory of one transition, 24 bytes a joint: 16 joints in 6 rows
//!   | s x of 16 joints | s y | s z | per second x | y | z |     pelvis and contacts follow the last joint
//! ```

use arrayvec::ArrayVec;

use super::feet::LegPlan;
use super::sample::Joints;
use crate::crowd::block::{Block, lanes_of};
use crate::crowd::rare::Transition;
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, Quat, Row, Vec3, per_isa, prefetch_rows};
use crate::rig::MAX_FEET;

/// Rows of sixteen joints: where they were, and how fast.
const ROWS: usize = 6;

/// Sixteens of joints that are taken out of the lanes together: loads of whole rows wait for stores of their parts, so
/// between the two something else is to be done.
const SIXTEENS: usize = 4;

/// So many characters of a block are turned all at once.
const MANY: usize = 5;

/// What is remembered: place and velocity per second. Of joints in parameters of their rotations, of the pelvis in metres from
/// its reference place; of contacts the first values of the place are their weights, which have no velocity.
pub(crate) type JointMotion = [[f32; 3]; 2];

/// Rows of the memory for so many joints, the pelvis and the contacts.
pub(crate) fn rows(joints: usize) -> usize {
    (joints + 2).div_ceil(BLOCK) * ROWS
}

/// What a memory tells of a joint; after the last one of the pelvis, metres from its reference place, then of contacts.
pub(crate) fn get(memory: &[Row], joint: usize) -> JointMotion {
    let rows = &memory[joint / BLOCK * ROWS..][..ROWS];
    let value = |at: usize| rows[at].0[joint % BLOCK];
    [[value(0), value(1), value(2)], [value(3), value(4), value(5)]]
}

/// Remembers a joint.
pub(crate) fn put(memory: &mut [Row], joint: usize, told: JointMotion) {
    let rows = &mut memory[joint / BLOCK * ROWS..][..ROWS];
    rows.iter_mut().zip(told.as_flattened()).for_each(|(row, &value)| row.0[joint % BLOCK] = value);
}

/// Where the pelvis of an old motion was, metres from its reference place, and how fast; none where nothing is remembered.
pub(crate) fn pelvis(transition: &Transition, joints: usize) -> JointMotion {
    let memory = transition.memory.as_deref().filter(|memory| memory.len() >= rows(joints));
    memory.map_or([[0.0; 3]; 2], |memory| get(memory, joints))
}

/// Asks for the memory of these lanes: 1.5 KB each, which nobody has read since the last frame. What comes from a larger
/// topology's or is of joints that a tier leaves out stays where it is.
#[inline]
pub(crate) fn approach(block: &Block, Joints { all, kept }: Joints, lanes: u16) {
    let (moving, last) = (kept.div_ceil(BLOCK) * ROWS, all / BLOCK * ROWS);
    for lane in lanes_of(lanes) {
        let memory = block.rare[lane].as_deref().and_then(|rare| rare.transition.memory.as_deref());
        if let Some(memory) = memory.filter(|memory| memory.len() >= rows(all)) {
            prefetch_rows(&memory[..moving]);
            prefetch_rows(&memory[last.max(moving)..rows(all)]);
        }
    }
}

per_isa! {
    /// Mixes what is left of the old motions of these lanes into the first `kept` of `scratch.rotations`, `scratch.pelvis` and
    /// `scratch.contact`.
    pub(crate) fn inertia(block: &Block, plan: &LegPlan, joints: Joints, lanes: u16, scratch: &mut Scratch) = inertia_kernel;
}

/// The old motion of one lane.
struct Old<'a> {
    lane: usize,
    memory: &'a [Row],
    left: f32,
    onward: f32,
}

#[inline(always)]
fn inertia_kernel<L: Lanes>(
    block: &Block,
    plan: &LegPlan,
    Joints { all: joints, kept }: Joints,
    lanes: u16,
    scratch: &mut Scratch,
) {
    let mut olds = ArrayVec::<Old<'_>, BLOCK>::new();
    for lane in lanes_of(block.transitions & lanes) {
        if let Some(rare) = block.rare[lane].as_deref()
            && let Some(memory) = rare.transition.memory.as_deref()
            && memory.len() >= rows(joints)
        {
            let (left, onward) = (rare.transition.left(), rare.transition.onward());
            olds.push(Old { lane, memory, left, onward });
        }
    }
    for (part, rotations) in scratch.rotations[..kept].chunks_mut(BLOCK * SIXTEENS).enumerate() {
        let first = part * SIXTEENS;
        if olds.len() < MANY {
            one_by_one::<L>(&olds, plan, first, rotations);
        } else {
            turned::<L>(&olds, plan, first, rotations);
        }
    }
    pelvis_and_contacts::<L>(&olds, joints, scratch);
}

/// Takes each character's joints out of the lanes and puts them back.
#[inline(always)]
fn one_by_one<L: Lanes>(olds: &[Old<'_>], plan: &LegPlan, first: usize, rotations: &mut [[Row; 4]]) {
    for old in olds {
        let mut own = [[Row::ZERO; 4]; SIXTEENS];
        for (own, joints) in own.iter_mut().zip(rotations.chunks(BLOCK)) {
            for (at, joint) in joints.iter().enumerate() {
                for c in 0..4 {
                    own[c].0[at] = joint[c].0[old.lane];
                }
            }
        }
        for (sixteen, own) in own.iter_mut().enumerate().take(rotations.len().div_ceil(BLOCK)) {
            let [x, y, z, w] = own;
            mix::<L>(old, plan, first + sixteen, [x, y, z, w]);
        }
        for (own, joints) in own.iter().zip(rotations.chunks_mut(BLOCK)) {
            for (at, joint) in joints.iter_mut().enumerate() {
                for c in 0..4 {
                    joint[c].0[old.lane] = own[c].0[at];
                }
            }
        }
    }
}

/// The same by transposing all lanes there and back.
#[inline(always)]
fn turned<L: Lanes>(olds: &[Old<'_>], plan: &LegPlan, first: usize, rotations: &mut [[Row; 4]]) {
    let mut rows = [Row::ZERO; BLOCK];
    let mut own = [[Row::ZERO; BLOCK]; 4];
    for (sixteen, joints) in rotations.chunks_mut(BLOCK).enumerate() {
        for c in 0..4 {
            for (row, joint) in rows.iter_mut().zip(&*joints) {
                *row = joint[c];
            }
            L::transpose(&rows, &mut own[c]);
        }
        for old in olds {
            let [x, y, z, w] = &mut own;
            let lane = old.lane;
            mix::<L>(old, plan, first + sixteen, [&mut x[lane], &mut y[lane], &mut z[lane], &mut w[lane]]);
        }
        for c in 0..4 {
            L::transpose(&own[c], &mut rows);
            for (row, joint) in rows.iter().zip(&mut *joints) {
                joint[c] = *row;
            }
        }
    }
}

/// Sixteen joints of one character; those after its last have anything.
#[inline(always)]
fn mix<L: Lanes>(old: &Old<'_>, plan: &LegPlan, sixteen: usize, own: [&mut Row; 4]) {
    let told = &old.memory[sixteen * ROWS..][..ROWS];
    let mut shins = 0u16;
    for leg in &plan.legs {
        if usize::from(leg.shin) / BLOCK == sixteen {
            shins |= 1 << (usize::from(leg.shin) % BLOCK);
        }
    }
    let bends = Row::of_bits(shins);
    let [x, y, z, w] = own;
    for at in (0..BLOCK).step_by(L::N) {
        let (left, onward) = (L::splat(old.left), L::splat(old.onward));
        let mut s: Vec3<L> =
            going_on([&told[0], &told[1], &told[2]], [&told[3], &told[4], &told[5]], onward, at);
        if shins != 0 {
            let held = unbent(L::load(&told[0], at), L::load(&told[3], at) * onward);
            s.x = L::select(L::splat(0.5).lt(L::load(&bends, at)), held, s.x);
        }
        let new = Quat::new(L::load(x, at), L::load(y, at), L::load(z, at), L::load(w, at));
        let mixed = between(new, from_mrp(s), left);
        mixed.x.store(x, at);
        mixed.y.store(y, at);
        mixed.z.store(z, at);
        mixed.w.store(w, at);
    }
}

#[inline(always)]
fn going_on<L: Lanes>(place: [&Row; 3], velocity: [&Row; 3], onward: L, at: usize) -> Vec3<L> {
    Vec3::new(
        L::load(velocity[0], at).mul_add(onward, L::load(place[0], at)),
        L::load(velocity[1], at).mul_add(onward, L::load(place[1], at)),
        L::load(velocity[2], at).mul_add(onward, L::load(place[2], at)),
    )
}

/// Few enough to be done for all lanes.
#[inline(always)]
fn pelvis_and_contacts<L: Lanes>(olds: &[Old<'_>], joints: usize, scratch: &mut Scratch) {
    let (mut mask, mut left, mut onward) = (0u16, Row::ZERO, Row::ZERO);
    let (mut place, mut velocity) = ([Row::ZERO; 3], [Row::ZERO; 3]);
    let mut was_down = [Row::ZERO; MAX_FEET];
    for old in olds {
        let lane = old.lane;
        mask |= 1 << lane;
        (left.0[lane], onward.0[lane]) = (old.left, old.onward);
        let [at, per_second] = get(old.memory, joints);
        for k in 0..3 {
            (place[k].0[lane], velocity[k].0[lane]) = (at[k], per_second[k]);
        }
        let [contacts, _] = get(old.memory, joints + 1);
        for (row, contact) in was_down.iter_mut().zip(contacts) {
            row.0[lane] = contact;
        }
    }
    let mask = Row::of_bits(mask);
    for at in (0..BLOCK).step_by(L::N) {
        let on = L::splat(0.5).lt(L::load(&mask, at));
        let (left, onward) = (L::load(&left, at), L::load(&onward, at));
        let old: Vec3<L> = going_on(place.each_ref(), velocity.each_ref(), onward, at);
        let new = Vec3::load(&scratch.pelvis, at);
        let mixed = old.minus(new).scale_add(left, new);
        Vec3::select(on, mixed, new).store(&mut scratch.pelvis, at);
        for (contact, old) in scratch.contact.iter_mut().zip(&was_down) {
            let (new, old) = (L::load(contact, at), L::load(old, at));
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
