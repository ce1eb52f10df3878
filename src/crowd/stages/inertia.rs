//! Inertialised transitions: what the old motion was ahead of the new one dies away on top of the new one, so that only
//! one motion has to be sampled (Bollo, "Inertialization: High-Performance Animation Transitions", GDC 2018).
//!
//! Offsets are modified Rodrigues parameters, `s = v / (1 + w)`: a rotation by the angle `a` about `n` is
//! `n tan(a / 4)`, so scaling them is close to scaling the angle, and there and back takes no trigonometry. Since
//! `decay` is linear in offset and velocity, three products a joint and component do.
//!
//! ```text
//! memory of one transition, 24 bytes a joint: 8 joints in 3 rows
//!   | s x y z, velocity x y z | joint 1 | joint 2 |.. joint 7 |     the pelvis follows the last joint
//! ```

use crate::crowd::block::Block;
use crate::crowd::rare::decay;
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, Quat, Row, Vec3, per_isa};

/// Values of one joint: offset, and velocity times the transition's duration.
pub(crate) const VALUES: usize = 6;
/// Joints of a group, and its rows.
const GROUP: usize = 8;
const GROUP_ROWS: usize = GROUP * VALUES / BLOCK;

/// Rows of the memory for so many joints and the pelvis.
pub(crate) fn rows(joints: usize) -> usize {
    (joints + 1).div_ceil(GROUP) * GROUP_ROWS
}

per_isa! {
    /// Adds to `scratch.rotations` and `scratch.pelvis` what is left of the transitions of a block.
    pub(crate) fn inertia(block: &Block, joints: usize, scratch: &mut Scratch) = inertia_kernel;
}

#[inline(always)]
fn inertia_kernel<L: Lanes>(block: &Block, joints: usize, scratch: &mut Scratch) {
    let mut mask = Row::ZERO;
    let (mut offset, mut velocity) = (Row::ZERO, Row::ZERO);
    let mut from: [Option<&[Row]>; BLOCK] = [None; BLOCK];
    for lane in 0..BLOCK {
        let rare = block.rare[lane].as_deref().filter(|_| block.transitions & (1 << lane) != 0);
        if let Some(rare) = rare
            && let Some(offsets) = rare.transition.offsets.as_deref()
            && offsets.len() >= rows(joints)
        {
            let [f, g] = decay(rare.transition.elapsed / rare.transition.duration);
            (mask.0[lane], offset.0[lane], velocity.0[lane]) = (1.0, f, g);
            from[lane] = Some(offsets);
        }
    }
    let mut values = [Row::ZERO; BLOCK * GROUP_ROWS];
    for group in 0..(joints + 1).div_ceil(GROUP) {
        for part in 0..GROUP_ROWS {
            let mut lanes = [Row::ZERO; BLOCK];
            for lane in 0..BLOCK {
                if let Some(offsets) = from[lane] {
                    lanes[lane] = offsets[group * GROUP_ROWS + part];
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
                let (f, g) = (L::load(&offset, at), L::load(&velocity, at));
                let x = L::load(&values[0], at).mul_add(f, L::load(&values[3], at) * g);
                let y = L::load(&values[1], at).mul_add(f, L::load(&values[4], at) * g);
                let z = L::load(&values[2], at).mul_add(f, L::load(&values[5], at) * g);
                let s = Vec3::new(x, y, z);
                if joint < joints {
                    let rotation = &mut scratch.rotations[joint];
                    let own = Quat::<L>::load(rotation, at);
                    Quat::select(on, own.times(from_mrp(s)), own).store(rotation, at);
                } else if joint == joints {
                    let own = Vec3::load(&scratch.pelvis, at);
                    Vec3::select(on, own.plus(s), own).store(&mut scratch.pelvis, at);
                }
            }
        }
    }
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

    /// As [`super::from_mrp`].
    pub fn rotation(s: [f32; 3]) -> [f32; 4] {
        let squared: f32 = s.iter().map(|c| c * c).sum();
        let per = 1.0 / (1.0 + squared);
        [2.0 * s[0] * per, 2.0 * s[1] * per, 2.0 * s[2] * per, (1.0 - squared) * per]
    }

    /// `a^-1 b`.
    pub fn between(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        times([-a[0], -a[1], -a[2], a[3]], b)
    }

    /// Hamilton product.
    pub fn times([ax, ay, az, aw]: [f32; 4], [bx, by, bz, bw]: [f32; 4]) -> [f32; 4] {
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ]
    }
}
