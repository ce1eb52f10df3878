//! How motion came over where no role tells which bones correspond.

use glam::DVec3;

use super::verdict::{Judged, Spread};
use crate::rig::{carrier, namesakes::in_skeleton};

/// How well bones of the same names came over, where no limb is known: how far each turns from its namesake beyond what their
/// reference poses differ, and the share of the target's joints that have a namesake. `None` if no bone has.
pub(super) fn compare(
    source: Judged<'_>,
    target: Judged<'_>,
    from: &[Vec<DVec3>],
    to: &[Vec<DVec3>],
) -> Option<(Spread, f64)> {
    let mut pairs = in_skeleton(source.skeleton, source.roles, target.skeleton, target.roles);
    for (role, joint) in target.roles.iter() {
        if let (Some(pair), Some(other)) = (pairs.get_mut(usize::from(joint)), source.roles.joint(role)) {
            *pair = Some(other);
        }
    }
    let known = |joint: usize| pairs.get(joint).copied().flatten().map(usize::from);
    let top = usize::from(carrier(target.skeleton, target.roles));
    let mut bones = Vec::new();
    for end in 0..pairs.len() {
        let Some(start) = target.skeleton.parent(end) else { continue };
        // Above what carries the body there is travel, and no bones.
        if !target.skeleton.is_below(end, top) || end == top {
            continue;
        }
        if let (Some(a), Some(b)) = (known(start), known(end))
            && source.skeleton.parent(b) == Some(a)
        {
            bones.push(([a, b], [start, end]));
        }
    }
    let mut sum = (0.0f64, 0.0f64, 0usize);
    let bone = |points: &dyn Fn(usize) -> DVec3, [start, end]: [usize; 2]| {
        let bone = points(end) - points(start);
        (bone.length() > 1e-5).then(|| bone.normalize())
    };
    for (a, b) in bones {
        let rest = bone(&|joint| source.reference.position(joint), a)
            .zip(bone(&|joint| target.reference.position(joint), b))
            .map(|(a, b)| a.angle_between(b));
        let Some(rest) = rest else { continue };
        for (points, others) in from.iter().zip(to) {
            let now = bone(&|joint| points[joint], a).zip(bone(&|joint| others[joint], b));
            let Some((now, then)) = now else { continue };
            let off = (now.angle_between(then) - rest).abs().to_degrees();
            sum = (sum.0 + off, sum.1.max(off), sum.2 + 1);
        }
    }
    let share = pairs.iter().filter(|pair| pair.is_some()).count() as f64 / pairs.len().max(1) as f64;
    (sum.2 > 0).then(|| (Spread { mean: sum.0 / sum.2 as f64, max: sum.1 }, share))
}
