//! What one worker needs to take one block through a frame.

use super::ground::Probes;
use super::streams::StreamReport;
use crate::lanes::{BLOCK, GROUP, Row};
use crate::rig::MAX_FEET;

/// Forward pass of one leg, kept between asking the ground and solving.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LegRows {
    /// Model rotations of what the thigh hangs on, the thigh, the shin and the foot.
    pub above: [Row; 4],
    pub thigh: [Row; 4],
    pub shin: [Row; 4],
    pub foot: [Row; 4],
    /// Model positions.
    pub hip: [Row; 3],
    pub knee: [Row; 3],
    pub ankle: [Row; 3],
    pub heel: [Row; 3],
    pub ball: [Row; 3],
    /// Lock offset of the ball in model axes.
    pub shift: [Row; 3],
}

/// Pose and staging of one block.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Local deltas in model axes, then, after the model stage, model rotations since the reference pose.
    pub rotations: Vec<[Row; 4]>,
    /// Local deltas of a layer whose mask begins in model space.
    pub layer: Vec<[Row; 4]>,
    /// Model positions.
    pub positions: Vec<[Row; 3]>,
    /// Mixed keys per group of quads, one row per character, before they are transposed: even quads, odd quads.
    pub sums: Vec<[[Row; BLOCK]; 2]>,
    /// Offset of the pelvis from its reference place, metres.
    pub pelvis: [Row; 3],
    /// Contact weight of each foot.
    pub contact: [Row; MAX_FEET],
    /// Some contact weights are negative: to be estimated from height and speed, and to count for so much of that.
    pub estimated: bool,
    pub legs: [LegRows; MAX_FEET],
    pub probes: Probes,
    /// Rotations of streams that lie elsewhere than in their lanes.
    pub gathered: Vec<Row>,
    /// Of the characters that were brought in during this frame, also in jobs that did not end.
    pub streamed: StreamReport,
}

impl Scratch {
    /// Grows to the largest topology.
    pub fn reserve(&mut self, joints: usize) {
        if self.rotations.len() < joints {
            self.rotations.resize(joints, [Row::ZERO, Row::ZERO, Row::ZERO, Row::ONE]);
            self.layer.resize(joints, [Row::ZERO, Row::ZERO, Row::ZERO, Row::ONE]);
            self.positions.resize(joints, [Row::ZERO; 3]);
            self.sums.resize((joints + 2).div_ceil(GROUP), [[Row::ZERO; BLOCK]; 2]);
        }
    }

    /// For the poses of streams of so many joints.
    pub fn reserve_gathered(&mut self, joints: usize) {
        self.gathered.reserve((4 * joints).saturating_sub(self.gathered.len()));
    }

    /// Puts one lane into the reference pose, off the ground's mind.
    pub fn reference_pose(&mut self, lane: usize, joints: usize) {
        for [x, y, z, w] in &mut self.rotations[..joints] {
            [x.0[lane], y.0[lane], z.0[lane], w.0[lane]] = [0.0, 0.0, 0.0, 1.0];
        }
        self.pelvis.iter_mut().chain(&mut self.contact).for_each(|row| row.0[lane] = 0.0);
    }
}
