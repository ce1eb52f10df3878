//! Local deltas to model space: `G_i = G_p M_i`, `x_i = x_p + G_p o_i` (motion space: no basis maps).

use super::Proportions;
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, Quat, Vec3, per_isa};
use crate::rig::{NO_PARENT, Topology};

per_isa! {
    /// Turns `scratch.rotations` into model rotations in place and fills `scratch.positions`.
    pub(crate) fn model(pass: ModelPass<'_>, scratch: &mut Scratch) = model_kernel;
}

/// What the model pass reads.
#[derive(Clone, Copy)]
pub(crate) struct ModelPass<'a> {
    pub topology: &'a Topology,
    /// Joints that move.
    pub kept: usize,
    pub proportions: Proportions<'a>,
}

#[inline(always)]
fn model_kernel<L: Lanes>(pass: ModelPass<'_>, scratch: &mut Scratch) {
    model_joints::<L>(pass, scratch, 0, pass.kept);
}

/// Joints `first..end`; those before are done.
#[inline(always)]
pub(super) fn model_joints<L: Lanes>(pass: ModelPass<'_>, scratch: &mut Scratch, first: usize, end: usize) {
    let ModelPass { topology, proportions, .. } = pass;
    let pelvis = usize::from(topology.pelvis());
    let parents = &topology.parents()[..end];
    let rotations = &mut scratch.rotations[..end];
    let positions = &mut scratch.positions[..end];
    for joint in first..end {
        if parents[joint] == NO_PARENT {
            for at in (0..BLOCK).step_by(L::N) {
                let offset = proportions.offset::<L>(joint, at);
                let moved =
                    if joint == pelvis { offset.plus(Vec3::load(&scratch.pelvis, at)) } else { offset };
                moved.store(&mut positions[joint], at);
            }
            continue;
        }
        let parent = usize::from(parents[joint]);
        for at in (0..BLOCK).step_by(L::N) {
            let above = Quat::<L>::load(&rotations[parent], at);
            let from = Vec3::load(&positions[parent], at);
            let position = from.plus(above.rotate(proportions.offset(joint, at)));
            let position =
                if joint == pelvis { position.plus(Vec3::load(&scratch.pelvis, at)) } else { position };
            position.store(&mut positions[joint], at);
            above.times(Quat::load(&rotations[joint], at)).store(&mut rotations[joint], at);
        }
    }
}
