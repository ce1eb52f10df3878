//! Twist along limbs, shared onto the joints that a target has for it.
//!
//! ```text
//! q = swing * twist      twist about the limb's axis first, swing across it
//! forearm, shin          the segment only swings; what the hand or foot is turned against it runs up along the helpers
//! upper arm, thigh       helpers near the shoulder or hip are held back from the segment's own twist
//! ```

use core::f64::consts::{PI, TAU};

use glam::{DQuat, DVec3};

use crate::rig::{Limb, NO_PARENT, Rig, Role, RoleMap, Side, Topology};

/// Parts of a rotation as `swing * twist`: the swing, and the angle of the twist about the unit vector `axis`, radians in
/// (-pi, pi]. A half turn across the axis has no twist that can be told; it counts as none.
#[must_use]
pub fn swing_twist(q: DQuat, axis: DVec3) -> (DQuat, f64) {
    let along = q.xyz().dot(axis);
    if along.hypot(q.w) < 1e-9 {
        return (q, 0.0);
    }
    let angle = nearest(2.0 * along.atan2(q.w), 0.0);
    (q * DQuat::from_axis_angle(axis, -angle), angle)
}

/// The angle that stands for the same turn nearest to the last one: no jump by a full turn from key to key.
#[must_use]
pub fn nearest(angle: f64, last: f64) -> f64 {
    let turned = angle - TAU * ((angle - last) / TAU).round();
    // Half a turn away both are as near; the positive one is taken.
    if turned - last <= -PI { turned + TAU } else { turned }
}

/// One limb of a target with twist joints that the source cannot move.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    /// What the segment turns against, the segment, and what ends it.
    base: Option<usize>,
    segment: usize,
    end: usize,
    /// Along the segment, model axes, reference pose.
    axis: DVec3,
    /// Twist joints with their place between the segment's joint (0) and its end (1).
    helpers: Vec<(usize, f64)>,
    /// Helpers count up to the end (forearm, shin), or down to the base (upper arm, thigh).
    distal: bool,
    last: f64,
}

/// Limbs of the target whose twist joints are not those of the source.
pub(crate) fn shared(source: &RoleMap, rig: &Rig) -> Vec<Shared> {
    let topology = rig.topology();
    let count = |joint: &dyn Fn(u8) -> Option<u16>| (0..=u8::MAX).take_while(|&i| joint(i).is_some()).count();
    let mut out = Vec::new();
    for side in Side::BOTH {
        for (limb, segment, end) in [
            (Limb::Thigh, Role::Thigh(side), Role::Shin(side)),
            (Limb::Shin, Role::Shin(side), Role::Foot(side)),
            (Limb::UpperArm, Role::UpperArm(side), Role::Forearm(side)),
            (Limb::Forearm, Role::Forearm(side), Role::Hand(side)),
        ] {
            let own = |i| topology.joint(Role::Twist(side, limb, i));
            let joints = count(&own);
            if joints == 0 || joints == count(&|i| source.joint(Role::Twist(side, limb, i))) {
                continue;
            }
            let (Some(segment), Some(end)) = (topology.joint(segment), topology.joint(end)) else { continue };
            let (segment, end) = (usize::from(segment), usize::from(end));
            let at = |joint: usize| rig.positions()[joint];
            let bone = at(end) - at(segment);
            let Some(axis) = bone.try_normalize() else { continue };
            let distal = matches!(limb, Limb::Forearm | Limb::Shin);
            let mut helpers: Vec<(usize, f64)> = (0..joints)
                .filter_map(|i| own(i as u8).map(usize::from))
                .map(|joint| (joint, ((at(joint) - at(segment)).dot(axis) / bone.length()).clamp(0.0, 1.0)))
                .collect();
            // Helpers that all sit at one place say by their number how far along they are.
            let apart = helpers.windows(2).all(|pair| pair[1].1 > pair[0].1 + 0.05);
            let told = helpers.last().is_some_and(|&(_, place)| place > 0.05);
            if !(apart && told) {
                let all = helpers.len() as f64;
                for (index, (_, place)) in helpers.iter_mut().enumerate() {
                    *place = if distal { (index + 1) as f64 / all } else { index as f64 / all };
                }
            }
            let base = Some(topology.parents()[segment]).filter(|&p| p != NO_PARENT).map(usize::from);
            out.push(Shared { base, segment, end, axis, helpers, distal, last: 0.0 });
        }
    }
    out
}

impl Shared {
    /// Sets the model-space rotations of the helpers, and where they carry it, of their segment. `model`: since the
    /// reference pose, of every joint of the target, the mapped ones right.
    pub(crate) fn apply(&mut self, model: &mut [DQuat]) {
        let base = self.base.map_or(DQuat::IDENTITY, |base| model[base]);
        let (swing, own) = swing_twist((base.inverse() * model[self.segment]).normalize(), self.axis);
        if self.distal {
            model[self.segment] = base * swing;
            let (_, turned) =
                swing_twist((model[self.segment].inverse() * model[self.end]).normalize(), self.axis);
            self.last = nearest(turned, self.last);
            for &(helper, place) in &self.helpers {
                model[helper] = model[self.segment] * DQuat::from_axis_angle(self.axis, place * self.last);
            }
        } else {
            self.last = nearest(own, self.last);
            for &(helper, place) in &self.helpers {
                let back = (place - 1.0) * self.last;
                model[helper] = model[self.segment] * DQuat::from_axis_angle(self.axis, back);
            }
        }
    }
}

/// Joints that follow their parent do so once more, after parents were turned.
pub(crate) fn follow(model: &mut [DQuat], topology: &Topology, keeps: impl Fn(usize) -> bool) {
    for (joint, &parent) in topology.parents().iter().enumerate() {
        if parent != NO_PARENT && keeps(joint) {
            model[joint] = model[usize::from(parent)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forearm_turned_and_bent_gives_both_back() {
        let q = DQuat::from_xyzw(0.604023, 0.262003, -0.219846, 0.719846).normalize();
        let (swing, twist) = swing_twist(q, DVec3::X);
        assert!((twist.to_degrees() - 80.0).abs() < 1e-3, "{twist}");
        assert!(swing.angle_between(DQuat::from_rotation_y(40f64.to_radians())) < 1e-5);
    }

    #[test]
    fn twist_goes_on_past_half_a_turn() {
        let mut last = 0.0;
        for degrees in (0..=400).step_by(10) {
            let q = DQuat::from_rotation_y(0.3) * DQuat::from_rotation_x(f64::from(degrees).to_radians());
            last = nearest(swing_twist(q, DVec3::X).1, last);
            assert!((last.to_degrees() - f64::from(degrees)).abs() < 1e-6, "{degrees}: {last}");
        }
        assert_eq!(swing_twist(DQuat::from_rotation_y(PI), DVec3::X).1, 0.0);
    }
}
