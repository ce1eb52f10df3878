//! A limb in a topology: upper and lower bone and what they end in, with any joints between.

use glam::{DQuat, DVec3};

use super::figure::{Figure, Placed};
use super::two_bone::Limb;
use crate::rig::{Role, Topology};

/// Joints of a limb, by place in the topology.
pub(crate) struct Chain {
    pub upper: usize,
    pub lower: usize,
    pub end: usize,
    /// At or below the upper, and at or below the lower joint.
    moved: [Vec<bool>; 2],
}

impl Chain {
    /// `None` where a joint is missing, or does not hang below the one before.
    pub(crate) fn of(figure: &Figure<'_>, topology: &Topology, roles: [Role; 3]) -> Option<Self> {
        let [upper, lower, end] = roles.map(|role| topology.joint(role).map(usize::from));
        let (upper, lower, end) = (upper?, lower?, end?);
        let below = |top: usize| {
            let mut below = vec![false; topology.len()];
            for joint in 0..below.len() {
                below[joint] = joint == top || figure.parent(joint).is_some_and(|parent| below[parent]);
            }
            below
        };
        let moved = [below(upper), below(lower)];
        (moved[0][lower] && moved[1][end]).then_some(Self { upper, lower, end, moved })
    }

    /// As posed; `side` is where the middle goes when the limb bends, in the reference pose.
    pub(crate) fn limb(&self, pose: &[Placed], side: DVec3) -> Limb {
        Limb {
            root: pose[self.upper].at,
            middle: pose[self.lower].at,
            end: pose[self.end].at,
            side: pose[self.upper].turn * side,
        }
    }

    /// Local rotations after both bones were turned in model axes; the end keeps its orientation.
    pub(crate) fn turn(
        &self,
        locals: &mut [DQuat],
        figure: &Figure<'_>,
        pose: &[Placed],
        [upper, lower]: [DQuat; 2],
    ) {
        let turned = |joint: usize| {
            let by = match (joint == self.end, self.moved[1][joint], self.moved[0][joint]) {
                (true, ..) => DQuat::IDENTITY,
                (_, true, _) => lower,
                (.., true) => upper,
                _ => DQuat::IDENTITY,
            };
            by * pose[joint].turn
        };
        for joint in [self.upper, self.lower, self.end] {
            let above = figure.parent(joint).map_or(DQuat::IDENTITY, turned);
            locals[joint] = (above.inverse() * turned(joint)).normalize();
        }
    }
}
