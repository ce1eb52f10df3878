//! Roles from hierarchy and geometry alone, for skeletons whose names say nothing.
//!
//! Two pairs of limbs that mirror each other, one at each end of a trunk, make a body; feet say where it looks. What
//! walks on four legs has its trunk across its limbs and is refused.

use glam::DVec3;

use super::role_names::{Confidence, RoleFinding, RoleProposal};
use super::roles::{Role, Side};
use super::{RawSkeleton, ReferencePose};

/// Limbs of a pair may differ this much in a bone's length.
const UNLIKE: f64 = 0.08;

/// Of upper and lower part of a limb: the shorter is at least so much of the longer.
const SHORTEST_PART: f64 = 0.45;

/// Cosine between trunk and legs from which on a body stands upright on them.
const UPRIGHT: f64 = -0.7;

/// Joints beyond which no search is made: bodies have a tenth of it.
const MAX_JOINTS: usize = 1024;

/// Most limb-like branches of one joint that are compared.
const MAX_BRANCHES: usize = 12;

/// A chain of joints with the two long bones of a limb in it.
#[derive(Clone, Debug)]
struct Limb {
    chain: Vec<usize>,
    /// Where in the chain the upper part begins.
    upper: usize,
    lengths: [f64; 2],
}

impl Limb {
    fn joint(&self, at: usize) -> Option<usize> {
        self.chain.get(self.upper + at).copied()
    }
    fn length(&self) -> f64 {
        self.lengths[0] + self.lengths[1]
    }
}

/// Two limbs that mirror each other, and the joint that both hang on.
#[derive(Clone, Debug)]
struct Pair {
    base: usize,
    limbs: [Limb; 2],
}

struct Body<'a> {
    skeleton: &'a RawSkeleton,
    at: Vec<DVec3>,
    children: Vec<Vec<usize>>,
    /// Length of the longest way down from each joint.
    reach: Vec<f64>,
}

/// Humanoid roles by shape: legs, arms, trunk, neck, head, clavicles, feet, hands and toes. Empty for whatever is no
/// upright body with two legs and two arms. All findings are of [`Confidence::PlaceOnly`].
pub fn roles_from_geometry(skeleton: &RawSkeleton) -> RoleProposal {
    let mut out = RoleProposal::default();
    if skeleton.joints.len() > MAX_JOINTS || skeleton.validate().is_err() {
        return out;
    }
    let body = Body::new(skeleton);
    let Some((legs, arms)) = body.pairs() else { return out };
    let Some(trunk) = body.way(legs.base, arms.base) else { return out };
    let mut set = |role, joint: Option<usize>| {
        if let Some(joint) = joint.and_then(|joint| u16::try_from(joint).ok())
            && out.map.role(joint).is_none()
        {
            out.map.set(role, joint);
            out.report.findings.push(RoleFinding { role, joint, confidence: Confidence::PlaceOnly });
        }
    };
    let Some(left) = body.left(&legs, &arms) else { return out };
    set(Role::Hips, Some(legs.base));
    for (pair, of_legs) in [(&legs, true), (&arms, false)] {
        let across = body.middle(&pair.limbs[0]) - body.middle(&pair.limbs[1]);
        for (limb, is_left) in pair.limbs.iter().zip([across.dot(left) > 0.0, across.dot(left) <= 0.0]) {
            let side = if is_left { Side::Left } else { Side::Right };
            let roles = if of_legs {
                [Role::Thigh(side), Role::Shin(side), Role::Foot(side), Role::Toe(side)]
            } else {
                [Role::UpperArm(side), Role::Forearm(side), Role::Hand(side), Role::Hand(side)]
            };
            let ends = if of_legs { 4 } else { 3 };
            for (at, role) in roles.into_iter().enumerate().take(ends) {
                set(role, limb.joint(at));
            }
            if !of_legs {
                let girdle = limb.upper.checked_sub(1).and_then(|at| limb.chain.get(at)).copied();
                set(Role::Clavicle(side), girdle);
            }
        }
    }
    for (joint, index) in trunk.into_iter().skip(1).zip(0_u8..) {
        set(Role::Spine(index), Some(joint));
    }
    let (neck, head) = body.neck(&arms);
    for (joint, index) in neck.into_iter().zip(0_u8..) {
        set(Role::Neck(index), Some(joint));
    }
    set(Role::Head, head);
    out
}

impl<'a> Body<'a> {
    fn new(skeleton: &'a RawSkeleton) -> Self {
        let rest = ReferencePose::rest(skeleton);
        let count = skeleton.joints.len();
        let at: Vec<DVec3> = (0..count).map(|joint| rest.position(joint)).collect();
        let (mut children, mut reach) = (vec![Vec::new(); count], vec![0.0f64; count]);
        for joint in (0..count).rev() {
            if let Some(parent) = skeleton.parent(joint) {
                children[parent].push(joint);
                reach[parent] = reach[parent].max(reach[joint] + at[joint].distance(at[parent]));
            }
        }
        children.iter_mut().for_each(|list: &mut Vec<usize>| list.reverse());
        Self { skeleton, at, children, reach }
    }

    /// The way down from `top` that leads farthest, with the two longest bones in a row that are about as long.
    fn limb(&self, top: usize) -> Option<Limb> {
        let mut chain = vec![top];
        let mut joint = top;
        let farther = |joint: usize| {
            let below = self.children[joint].iter().copied();
            below.max_by(|&a, &b| {
                let far = |c: usize| self.reach[c] + self.at[c].distance(self.at[joint]);
                far(a).total_cmp(&far(b)).then(b.cmp(&a))
            })
        };
        while let Some(next) = farther(joint) {
            chain.push(next);
            joint = next;
        }
        let bone = |at: usize| self.at[chain[at]].distance(self.at[chain[at + 1]]);
        let best = (0..chain.len().saturating_sub(2))
            .filter(|&at| {
                let (a, b) = (bone(at), bone(at + 1));
                a.min(b) > SHORTEST_PART * a.max(b) && a.min(b) > 1e-9
            })
            .max_by(|&a, &b| (bone(a) + bone(a + 1)).total_cmp(&(bone(b) + bone(b + 1))))?;
        Some(Limb { upper: best, lengths: [bone(best), bone(best + 1)], chain })
    }

    fn alike(a: &Limb, b: &Limb) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= UNLIKE * a.max(b);
        a.upper == b.upper && near(a.lengths[0], b.lengths[0]) && near(a.lengths[1], b.lengths[1])
    }

    /// Legs and arms: the two pairs with the longest limbs of which one hangs below what carries the other.
    fn pairs(&self) -> Option<(Pair, Pair)> {
        let mut pairs = Vec::new();
        for (base, children) in self.children.iter().enumerate() {
            let mut limbs: Vec<Limb> = children.iter().filter_map(|&child| self.limb(child)).collect();
            limbs.sort_by(|a, b| b.length().total_cmp(&a.length()));
            limbs.truncate(MAX_BRANCHES);
            for (at, a) in limbs.iter().enumerate() {
                for b in &limbs[at + 1..] {
                    if Self::alike(a, b) {
                        pairs.push(Pair { base, limbs: [a.clone(), b.clone()] });
                    }
                }
            }
        }
        pairs.sort_by(|a, b| b.limbs[0].length().total_cmp(&a.limbs[0].length()));
        pairs.truncate(4 * MAX_BRANCHES);
        let mut best: Option<(f64, Pair, Pair)> = None;
        for legs in &pairs {
            for arms in &pairs {
                let in_limb = legs.limbs.iter().any(|limb| self.skeleton.is_below(arms.base, limb.chain[0]));
                if in_limb || arms.base == legs.base || !self.skeleton.is_below(arms.base, legs.base) {
                    continue;
                }
                let length = legs.limbs[0].length() + arms.limbs[0].length();
                if self.stands(legs, arms) && best.as_ref().is_none_or(|(most, ..)| length > *most * 1.001) {
                    best = Some((length, legs.clone(), arms.clone()));
                }
            }
        }
        best.map(|(_, legs, arms)| (legs, arms))
    }

    /// Upright on its legs, which a spine on four legs is not, with arms of an arm's length.
    fn stands(&self, legs: &Pair, arms: &Pair) -> bool {
        let Some(up) = self.up(legs, arms) else { return false };
        let down = legs.limbs.iter().map(|limb| self.along(limb)).sum::<DVec3>().normalize_or_zero();
        let (leg, arm) = (legs.limbs[0].length(), arms.limbs[0].length());
        up.dot(down) < UPRIGHT && arm > 0.3 * leg && arm < 2.5 * leg
    }

    /// From between the hip joints to between the shoulders.
    fn up(&self, legs: &Pair, arms: &Pair) -> Option<DVec3> {
        let between = |pair: &Pair| {
            let of = |limb: &Limb| limb.joint(0).map(|joint| self.at[joint]);
            Some((of(&pair.limbs[0])? + of(&pair.limbs[1])?) / 2.0)
        };
        let (low, high) = (between(legs)?, between(arms)?);
        (high.distance(low) > 0.2 * legs.limbs[0].length()).then(|| (high - low).normalize())
    }

    /// From the beginning of a limb to its end.
    fn along(&self, limb: &Limb) -> DVec3 {
        match (limb.joint(0), limb.joint(2)) {
            (Some(from), Some(to)) => self.at[to] - self.at[from],
            _ => DVec3::ZERO,
        }
    }

    fn middle(&self, limb: &Limb) -> DVec3 {
        (0..3).filter_map(|at| limb.joint(at)).map(|joint| self.at[joint]).sum::<DVec3>() / 3.0
    }

    /// The body's own left: feet point ahead, or else knees bend ahead.
    fn left(&self, legs: &Pair, arms: &Pair) -> Option<DVec3> {
        let up = self.up(legs, arms)?;
        let flat = |v: DVec3| v - up * v.dot(up);
        let size = legs.limbs[0].length();
        let feet: DVec3 = legs
            .limbs
            .iter()
            .filter_map(|limb| Some(flat(self.at[limb.joint(3)?] - self.at[limb.joint(2)?])))
            .sum();
        let knees: DVec3 = legs
            .limbs
            .iter()
            .filter_map(|limb| {
                let [hip, knee, ankle] = [limb.joint(0)?, limb.joint(1)?, limb.joint(2)?].map(|j| self.at[j]);
                Some(flat(knee - (hip + ankle) / 2.0))
            })
            .sum();
        let across = flat(self.middle(&legs.limbs[0]) - self.middle(&legs.limbs[1])).normalize_or_zero();
        let ahead = |v: DVec3| v - across * v.dot(across);
        let (feet, knees) = (ahead(feet), ahead(knees));
        let forward = if feet.length() > 0.05 * size {
            feet
        } else if knees.length() > 0.02 * size {
            knees
        } else {
            return None;
        };
        Some(up.cross(forward.normalize()))
    }

    /// Joints from `top` to `bottom`, both included.
    fn way(&self, top: usize, bottom: usize) -> Option<Vec<usize>> {
        let mut way = vec![bottom];
        while *way.last()? != top {
            way.push(self.skeleton.parent(*way.last()?)?);
        }
        way.reverse();
        Some(way)
    }

    /// Neck and head: the branch between the arms that leads farthest, up to where it divides or ends.
    fn neck(&self, arms: &Pair) -> (Vec<usize>, Option<usize>) {
        let of_arm = |joint: usize| arms.limbs.iter().any(|limb| limb.chain[0] == joint);
        let far = |joint: usize| self.reach[joint] + self.at[joint].distance(self.at[arms.base]);
        let branches = self.children[arms.base].iter().copied().filter(|&joint| !of_arm(joint));
        let Some(first) = branches.max_by(|&a, &b| far(a).total_cmp(&far(b)).then(b.cmp(&a))) else {
            return (Vec::new(), None);
        };
        let mut chain = vec![first];
        let mut joint = first;
        while let &[next] = self.children[joint].as_slice() {
            chain.push(next);
            joint = next;
        }
        // The end of a head that is written as a joint of its own: farther from it than it from the neck.
        if let &[.., neck, head, end] = chain.as_slice()
            && self.children[end].is_empty()
            && self.at[end].distance(self.at[head]) > 1.2 * self.at[head].distance(self.at[neck])
        {
            chain.pop();
        }
        let head = chain.pop();
        (chain, head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{RawJoint, Transform};
    use glam::{Quat, Vec3};

    /// Nameless joints at model positions.
    fn skeleton(joints: &[(Option<u16>, [f32; 3])]) -> RawSkeleton {
        let at = |index: u16| Vec3::from_array(joints[usize::from(index)].1);
        let joints = joints.iter().map(|&(parent, place)| RawJoint {
            name: String::new(),
            parent,
            rest: Transform::rigid(Vec3::from_array(place) - parent.map_or(Vec3::ZERO, at), Quat::IDENTITY),
        });
        RawSkeleton { joints: joints.collect() }
    }

    fn person() -> Vec<(Option<u16>, [f32; 3])> {
        let mut joints = vec![
            (None, [0.0, 0.95, 0.0]),
            (Some(0), [0.0, 1.1, 0.0]),
            (Some(1), [0.0, 1.35, 0.0]),
            (Some(2), [0.0, 1.5, 0.0]),
            (Some(3), [0.0, 1.6, 0.02]),
        ];
        for x in [-1.0, 1.0] {
            let first = joints.len() as u16;
            joints.extend([
                (Some(0), [0.1 * x, 0.9, 0.0]),
                (Some(first), [0.1 * x, 0.5, 0.01]),
                (Some(first + 1), [0.1 * x, 0.1, 0.0]),
                (Some(first + 2), [0.1 * x, 0.02, 0.12]),
                (Some(2), [0.05 * x, 1.4, 0.0]),
                (Some(first + 4), [0.18 * x, 1.4, 0.0]),
                (Some(first + 5), [0.46 * x, 1.4, 0.0]),
                (Some(first + 6), [0.72 * x, 1.4, 0.0]),
                (Some(first + 7), [0.8 * x, 1.4, 0.0]),
            ]);
        }
        joints
    }

    #[test]
    fn a_body_without_names_has_roles() {
        let map = roles_from_geometry(&skeleton(&person())).map;
        let joint = |role| map.joint(role).unwrap_or(999);
        assert_eq!([joint(Role::Hips), joint(Role::Neck(0)), joint(Role::Head)], [0, 3, 4]);
        assert_eq!(map.spine(), [1, 2]);
        for (side, first) in [(Side::Right, 5), (Side::Left, 14)] {
            let roles = [
                Role::Thigh(side),
                Role::Shin(side),
                Role::Foot(side),
                Role::Toe(side),
                Role::Clavicle(side),
                Role::UpperArm(side),
                Role::Forearm(side),
                Role::Hand(side),
            ];
            assert_eq!(roles.map(joint), [0, 1, 2, 3, 4, 5, 6, 7].map(|at| first + at));
        }
    }

    #[test]
    fn whoever_looks_the_other_way_has_the_other_sides() {
        let turned: Vec<_> = person().into_iter().map(|(parent, [x, y, z])| (parent, [-x, y, -z])).collect();
        let map = roles_from_geometry(&skeleton(&turned)).map;
        assert_eq!(map.joint(Role::Thigh(Side::Right)), Some(5));
        assert_eq!(map.joint(Role::UpperArm(Side::Left)), Some(19));
    }

    #[test]
    fn a_trunk_across_its_limbs_is_no_body() {
        // Arms as forelegs: the trunk turned down to lie along +Z, all four limbs down.
        let mut joints =
            vec![(None, [0.0, 0.8, -0.5]), (Some(0), [0.0, 0.85, 0.5]), (Some(1), [0.0, 1.0, 0.8])];
        for (base, z) in [(0, -0.5), (1, 0.5)] {
            for x in [-0.15, 0.15] {
                let first = joints.len() as u16;
                joints.extend([
                    (Some(base), [x, 0.75, z]),
                    (Some(first), [x, 0.4, z]),
                    (Some(first + 1), [x, 0.08, z]),
                    (Some(first + 2), [x, 0.0, z + 0.1]),
                ]);
            }
        }
        assert!(roles_from_geometry(&skeleton(&joints)).map.is_empty());
    }
}
