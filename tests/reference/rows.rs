//! Reading bound rows: quads of 16-bit values, key by key.

use glam::{DQuat, DVec3};
use throng::clip::{BoundClip, MotionKeys, PELVIS_RANGE};

/// A clip as the reference plays it.
#[derive(Clone, Debug)]
pub struct Clip {
    pub bound: BoundClip,
    /// Root `[x, z, yaw]` per key, leg lengths and radians, as they went into the build.
    pub root: Vec<[f64; 3]>,
}

/// What a clip says at one time.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Not normalised; on the side of the reference pose.
    pub rotations: Vec<[f64; 4]>,
    /// Leg lengths.
    pub pelvis: DVec3,
    pub contact: [f64; 2],
    /// Smallest distance of a rotation's real part from the sign change, where two clips' sum would jump.
    pub margin: f64,
}

impl Clip {
    pub fn new(topology: &throng::rig::Topology, keys: &MotionKeys) -> Self {
        let bound = BoundClip::build(topology, keys).expect("the keys are valid");
        Self { bound, root: keys.root.clone() }
    }

    pub fn duration(&self) -> f64 {
        f64::from(self.bound.duration())
    }

    fn quad(&self, key: usize, quad: usize) -> [f64; 4] {
        let values: &[i16] = &self.bound.key(key)[quad / 8].0[4 * (quad % 8)..][..4];
        core::array::from_fn(|c| f64::from(values[c]) / 32767.0)
    }

    /// Linear between the two keys at `time` seconds.
    pub fn sample(&self, time: f64) -> Sample {
        let intervals = self.bound.intervals() as usize;
        let at = (time / self.duration()).clamp(0.0, 1.0) * intervals as f64;
        let left = (at.floor() as usize).min(intervals - 1);
        let u = at - left as f64;
        let joints = self.bound.topology().len();
        let mixed = |quad: usize| {
            let (a, b) = (self.quad(left, quad), self.quad(left + 1, quad));
            core::array::from_fn(|c| a[c] * (1.0 - u) + b[c] * u)
        };
        let mut margin = f64::INFINITY;
        let rotations = (0..joints)
            .map(|joint| {
                let q: [f64; 4] = mixed(joint);
                margin = margin.min(q[3].abs());
                if q[3] < 0.0 { q.map(|c| -c) } else { q }
            })
            .collect();
        let [x, y, z, _] = mixed(joints);
        let [left, right, ..] = mixed(joints + 1);
        Sample {
            rotations,
            pelvis: DVec3::new(x, y, z) * f64::from(PELVIS_RANGE),
            contact: [left, right],
            margin,
        }
    }
}

/// The weighted sum of several samples, weights scaled to sum to one.
#[derive(Clone, Debug)]
pub struct Mixed {
    pub rotations: Vec<DQuat>,
    /// Leg lengths.
    pub pelvis: DVec3,
    pub contact: [f64; 2],
    pub margin: f64,
}

/// Mixes in motion space, every rotation on the side of the reference pose.
pub fn mix(joints: usize, parts: &[(f64, Sample)]) -> Mixed {
    let total: f64 = parts.iter().map(|(weight, _)| weight).sum();
    let mut sum = vec![[0.0; 4]; joints];
    let mut mixed =
        Mixed { rotations: Vec::new(), pelvis: DVec3::ZERO, contact: [0.0; 2], margin: f64::INFINITY };
    for (weight, sample) in parts {
        let weight = weight / total;
        for (sum, q) in sum.iter_mut().zip(&sample.rotations) {
            (0..4).for_each(|c| sum[c] += weight * q[c]);
        }
        mixed.pelvis += weight * sample.pelvis;
        (0..2).for_each(|foot| mixed.contact[foot] += weight * sample.contact[foot]);
        if parts.len() > 1 {
            mixed.margin = mixed.margin.min(sample.margin);
        }
    }
    mixed.rotations = sum
        .iter()
        .map(|&[x, y, z, w]| {
            let norm = (x * x + y * y + z * z + w * w).sqrt();
            // Opposite rotations can cancel: what is left says nothing for sure.
            if parts.len() > 1 {
                mixed.margin = mixed.margin.min(norm - 0.3);
            }
            if norm > 0.0 { DQuat::from_xyzw(x, y, z, w) * norm.recip() } else { DQuat::IDENTITY }
        })
        .collect();
    mixed
}
