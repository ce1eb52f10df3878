//! Which source joint (or mixture of two) gives each joint of a topology its model-space rotation.

use crate::rig::{JointKey, NO_PARENT, RawSkeleton, ReferencePose, Rig, Role, RoleMap, Topology, namesakes};

/// Where the model-space rotation since the reference pose of one target joint comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source {
    /// Follows its parent: the local rotation stays that of the reference pose.
    Keep,
    /// Stays at the reference pose: above the pelvis, where root motion has taken everything.
    Still,
    /// Takes a source joint's.
    Joint(u16),
    /// Between two source joints along a chain, by arc length.
    Between(u16, u16, f64),
}

/// A source for each joint of the target's topology.
pub(crate) fn sources(
    skeleton: &RawSkeleton,
    roles: &RoleMap,
    reference: &ReferencePose,
    rig: &Rig,
) -> Vec<Source> {
    let topology = rig.topology();
    let pelvis = topology.pelvis();
    let carrier = crate::rig::carrier(skeleton, roles);
    let hips = roles.joint(Role::Hips).unwrap_or(carrier);
    let named = namesakes::in_topology(skeleton, roles, topology);
    let mut result: Vec<Source> = topology
        .keys()
        .iter()
        .zip(named)
        .map(|(key, namesake)| match key {
            JointKey::Role(role) => roles.joint(*role),
            JointKey::Named(_) => namesake,
        })
        .map(|joint| joint.map_or(Source::Keep, Source::Joint))
        .collect();
    let spine: Vec<u16> = (0..=u8::MAX).map_while(|i| topology.joint(Role::Spine(i))).collect();
    let neck: Vec<u16> = (0..=u8::MAX).map_while(|i| topology.joint(Role::Neck(i))).collect();
    let chest = roles.spine().last().copied().unwrap_or(hips);
    chain(&mut result, rig, reference, &spine, &roles.spine(), pelvis, hips);
    chain(&mut result, rig, reference, &neck, &roles.neck(), spine.last().copied().unwrap_or(pelvis), chest);
    result[usize::from(pelvis)] = Source::Joint(hips);
    let mut above = topology.parents()[usize::from(pelvis)];
    while above != NO_PARENT {
        result[usize::from(above)] = Source::Still;
        above = topology.parents()[usize::from(above)];
    }
    keep_below_still(&mut result, topology);
    result
}

/// Side branches of the joints above the pelvis (props, IK helpers) stay with them.
fn keep_below_still(sources: &mut [Source], topology: &Topology) {
    for joint in 0..sources.len() {
        let parent = topology.parents()[joint];
        if joint != usize::from(topology.pelvis())
            && parent != NO_PARENT
            && sources[usize::from(parent)] == Source::Still
            && !matches!(topology.keys()[joint], JointKey::Role(_))
            && sources[joint] != Source::Still
        {
            sources[joint] = Source::Keep;
        }
    }
}

/// Same counts map one to one. Otherwise the cumulative rotation is resampled by arc length, so that the last joint
/// keeps the orientation of the source's last one.
fn chain(
    result: &mut [Source],
    rig: &Rig,
    reference: &ReferencePose,
    targets: &[u16],
    sources: &[u16],
    target_base: u16,
    source_base: u16,
) {
    if targets.is_empty() || targets.len() == sources.len() {
        return;
    }
    if sources.is_empty() {
        for &target in targets {
            result[usize::from(target)] = Source::Joint(source_base);
        }
        return;
    }
    let target_positions: Vec<_> = core::iter::once(target_base)
        .chain(targets.iter().copied())
        .map(|j| rig.positions()[usize::from(j)])
        .collect();
    let source_positions: Vec<_> = core::iter::once(source_base)
        .chain(sources.iter().copied())
        .map(|j| reference.position(j.into()))
        .collect();
    let ends = |positions: &[glam::DVec3]| {
        // A joint's rotation counts at the far end of the bone that leads to the next joint; the last one, whose
        // bone is not part of the chain, at the end.
        let lengths: Vec<f64> = positions.windows(2).map(|p| (p[1] - p[0]).length().max(1e-9)).collect();
        let total: f64 = lengths.iter().sum();
        let mut sum = 0.0;
        lengths
            .iter()
            .map(|length| {
                sum += length;
                sum / total
            })
            .collect::<Vec<f64>>()
    };
    let (target_ends, source_ends) = (ends(&target_positions), ends(&source_positions));
    for (&target, &at) in targets.iter().zip(&target_ends) {
        let right = source_ends.partition_point(|&end| end < at - 1e-12).min(sources.len() - 1);
        let (left_joint, left_end) =
            if right == 0 { (source_base, 0.0) } else { (sources[right - 1], source_ends[right - 1]) };
        let u = ((at - left_end) / (source_ends[right] - left_end)).clamp(0.0, 1.0);
        result[usize::from(target)] = Source::Between(left_joint, sources[right], u);
    }
}
