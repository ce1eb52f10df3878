//! The ground under a crowd: one batched query per block.

use crate::lanes::{BLOCK, Row, Simd};
use crate::rig::MAX_FEET;

/// Probes per character: the root, then heel and ball of each foot.
pub const PROBES: usize = 1 + 2 * MAX_FEET;

/// What a block asks of the ground, and the answers. World axes, metres; one row per probe.
#[derive(Clone, Debug)]
pub struct Probes {
    /// Probes that are asked: `1 + 2 * feet` of the topology; the rest is not to be read or written.
    pub count: usize,
    /// Index of the character in each lane ([`crate::crowd::Handle::index`]).
    pub characters: [u32; BLOCK],
    /// Bit per lane: dead lanes hold harmless values and their answers are not used.
    pub live: u16,
    /// Left.
    pub x: [Row; PROBES],
    /// Height of the character's root, to choose between floors above each other.
    pub y: [Row; PROBES],
    /// Ahead.
    pub z: [Row; PROBES],
    /// Answer: height of the ground at (x, z).
    pub height: [Row; PROBES],
    /// Answer: unit normal of the ground, y > 0.
    pub normal: [[Row; 3]; PROBES],
    /// Answer: 1 where there is ground, 0 where the ray hit nothing.
    pub hit: [Row; PROBES],
}

impl Default for Probes {
    fn default() -> Self {
        Self {
            count: 0,
            characters: [0; BLOCK],
            live: 0,
            x: [Row::ZERO; PROBES],
            y: [Row::ZERO; PROBES],
            z: [Row::ZERO; PROBES],
            height: [Row::ZERO; PROBES],
            normal: [[Row::ZERO, Row::ONE, Row::ZERO]; PROBES],
            hit: [Row::ZERO; PROBES],
        }
    }
}

/// Answers where the ground is. Called once per block, from any worker.
pub trait Ground: Sync {
    /// Fills `height`, `normal` and `hit` of the first `count` probes. Values that are not finite count as
    /// no hit.
    fn probe(&self, simd: Simd, probes: &mut Probes);

    /// Told some time before the query where it will be about (world x and z): once where the characters of the block
    /// stand, and for each foot where its ball was in the last frame. For grounds that can have memory on its way.
    fn approach(&self, simd: Simd, x: &Row, z: &Row) {
        let _ = (simd, x, z);
    }
}

/// A plane at one height, without end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlatGround {
    /// Metres.
    pub height: f32,
}

impl Ground for FlatGround {
    fn probe(&self, _simd: Simd, probes: &mut Probes) {
        for probe in 0..probes.count {
            probes.height[probe] = Row::splat(self.height);
            probes.normal[probe] = [Row::ZERO, Row::ONE, Row::ZERO];
            probes.hit[probe] = Row::ONE;
        }
    }
}

/// A ground plane under one probe of one character, as a host's own ray cast gives it: valid beyond the point
/// that was probed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HitPlane {
    /// A point of the plane, world.
    pub point: [f32; 3],
    /// Unit normal, y > 0.
    pub normal: [f32; 3],
    /// Velocity of the surface, metres per second: where `age` seconds have passed since the cast, the plane
    /// has moved on by it.
    pub velocity: [f32; 3],
    /// Seconds since the ray was cast.
    pub age: f32,
    /// False where the ray hit nothing.
    pub hit: bool,
}

impl HitPlane {
    /// No ground.
    pub const NONE: Self =
        Self { point: [0.0; 3], normal: [0.0, 1.0, 0.0], velocity: [0.0; 3], age: 0.0, hit: false };
}

/// Planes that a host has cast for itself, indexed by [`crate::crowd::Handle::index`]: the probes of one
/// character are the root, then heel and ball of each foot, as in [`Probes`]. Where to cast is published with
/// each character's pose ([`crate::crowd::PoseHeader`]). Characters beyond the slice have no ground.
#[derive(Clone, Copy, Debug)]
pub struct HitPlanes<'a> {
    /// One row of planes per character.
    pub planes: &'a [[HitPlane; PROBES]],
}

impl Ground for HitPlanes<'_> {
    fn probe(&self, _simd: Simd, probes: &mut Probes) {
        for lane in 0..BLOCK {
            let own = self.planes.get(probes.characters[lane] as usize);
            for probe in 0..probes.count {
                let plane = own.map_or(HitPlane::NONE, |own| own[probe]);
                let [px, py, pz] = core::array::from_fn(|k| plane.point[k] + plane.velocity[k] * plane.age);
                let [nx, ny, nz] = plane.normal;
                let (dx, dz) = (probes.x[probe].0[lane] - px, probes.z[probe].0[lane] - pz);
                let height = py - (nx * dx + nz * dz) / ny;
                let good = plane.hit && ny > 1e-3 && height.is_finite();
                probes.height[probe].0[lane] = if good { height } else { 0.0 };
                probes.hit[probe].0[lane] = if good { 1.0 } else { 0.0 };
                let normal = if good { plane.normal } else { [0.0, 1.0, 0.0] };
                for (row, value) in probes.normal[probe].iter_mut().zip(normal) {
                    row.0[lane] = value;
                }
            }
        }
    }
}
