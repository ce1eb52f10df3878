//! What tells one live map from another: a hash of all that a frame reads of it.

use super::live::{Basis, LiveMap, Operand, Step};
use crate::rig::JointKey;

impl LiveMap {
    /// Hash of the map's content, the same whenever it is built from the same skeletons on one platform (powers of
    /// turns are the system's own sines): how snapshots name it. Tells maps apart, not forgeries.
    #[must_use]
    pub fn content(&self) -> u64 {
        let mut hash = Hash(0xcbf2_9ce4_8422_2325);
        let topology = self.topology();
        hash.word(topology.len());
        for (key, &parent) in topology.keys().iter().zip(topology.parents()) {
            let (kind, name) = match key {
                JointKey::Role(role) => (1, role.to_string()),
                JointKey::Named(name) => (0, name.clone()),
            };
            hash.word(usize::from(parent) << 1 | kind);
            hash.word(name.len());
            name.bytes().for_each(|byte| hash.word(byte.into()));
        }
        for value in [self.source_joints(), self.carrier().into(), self.temporaries] {
            hash.word(value);
        }
        hash.word(self.lines.len());
        for line in &self.lines {
            hash.word(line.first as usize);
            for input in &line.inputs {
                hash.word((input.register as usize) << 1 | usize::from(input.shared));
            }
            match &line.basis {
                Basis::Same => hash.word(0),
                Basis::Turn(m) => {
                    hash.word(1);
                    hash.values(m.as_flattened().as_flattened());
                }
                Basis::General(m) => {
                    hash.word(2);
                    hash.values(m.as_flattened().as_flattened());
                }
            }
        }
        hash.word(self.steps.len());
        for step in &self.steps {
            let mut operand = |operand: &Operand| {
                hash.word((operand.register as usize) << 1 | usize::from(operand.inverse));
            };
            let out = match step {
                Step::Copy { from, out } => {
                    operand(from);
                    *out
                }
                Step::Times { left, right, out } => {
                    operand(left);
                    operand(right);
                    *out
                }
                Step::Power { from, series, out } => {
                    operand(from);
                    hash.values(series.as_flattened());
                    *out
                }
            };
            hash.word(out as usize);
        }
        for joints in [&self.still, &self.rooted, &self.to_hips] {
            hash.word(joints.len());
            joints.iter().for_each(|&joint| hash.word(joint.into()));
        }
        hash.values(&self.hips_back);
        hash.values(&self.reference);
        hash.values(&[self.per_leg]);
        hash.0
    }
}

/// Words multiplied and folded: each step can be undone, so none loses anything.
struct Hash(u64);

impl Hash {
    fn word(&mut self, word: usize) {
        let mixed = (self.0 ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 29;
    }
    fn values(&mut self, values: &[f32]) {
        values.iter().for_each(|value| self.word(value.to_bits() as usize));
    }
}
