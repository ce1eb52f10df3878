//! Masks: how much of each joint a layer has.

use std::collections::VecDeque;

use crate::error::BuildError;
use crate::lanes::GROUP;
use crate::rig::{JointKey, MAX_FEET, NO_PARENT, Role, Side, Topology};

/// A weight, 0 to 1, for each joint of a topology.
///
/// The pelvis offset goes with the weight of the pelvis joint, a foot's contact weight with that of its foot joint.
#[derive(Clone, Debug, PartialEq)]
pub struct JointMask {
    topology: Topology,
    weights: Vec<f32>,
}

impl JointMask {
    /// From one weight per joint, in the topology's order.
    ///
    /// # Errors
    /// If there are not as many weights as joints, or one is not from 0 to 1.
    pub fn new(topology: &Topology, weights: &[f32]) -> Result<Self, BuildError> {
        if weights.len() != topology.len() {
            let (have, need) = (weights.len(), topology.len());
            return Err(BuildError::Length { what: "a mask", have, need });
        }
        if let Some(&value) = weights.iter().find(|weight| !(0.0..=1.0).contains(*weight)) {
            return Err(BuildError::Input { what: "a mask's weight", value, right: "0 to 1" });
        }
        Ok(Self { topology: topology.clone(), weights: weights.to_vec() })
    }

    /// The joints and all that hangs on them.
    ///
    /// # Errors
    /// If a joint is not the topology's.
    pub fn below(topology: &Topology, joints: &[u16]) -> Result<Self, BuildError> {
        if let Some(&joint) = joints.iter().find(|joint| usize::from(**joint) >= topology.len()) {
            return Err(BuildError::Unknown { what: "joint", index: joint.into() });
        }
        let mut weights = vec![0.0; topology.len()];
        for (joint, &parent) in topology.parents().iter().enumerate() {
            let hangs = parent != NO_PARENT && weights[usize::from(parent)] > 0.0;
            if hangs || joints.contains(&(joint as u16)) {
                weights[joint] = 1.0;
            }
        }
        Ok(Self { topology: topology.clone(), weights })
    }

    fn below_roles(topology: &Topology, part: &str, is: impl Fn(Role) -> bool) -> Result<Self, BuildError> {
        let joints: Vec<u16> = (0..topology.len() as u16)
            .filter(|&joint| matches!(topology.keys()[usize::from(joint)], JointKey::Role(role) if is(role)))
            .collect();
        if joints.is_empty() {
            return Err(BuildError::NoPart { part: part.to_owned() });
        }
        Self::below(topology, &joints)
    }

    /// Spine, neck, head and both arms.
    ///
    /// # Errors
    /// If none of these is there.
    pub fn upper_body(topology: &Topology) -> Result<Self, BuildError> {
        Self::below_roles(topology, "the upper body", |role| {
            matches!(
                role,
                Role::Spine(_) | Role::Neck(_) | Role::Head | Role::Clavicle(_) | Role::UpperArm(_)
            )
        })
    }

    /// One arm from the clavicle on.
    ///
    /// # Errors
    /// If it is not there.
    pub fn arm(topology: &Topology, side: Side) -> Result<Self, BuildError> {
        Self::below_roles(topology, "the arm", |role| {
            role == Role::Clavicle(side) || role == Role::UpperArm(side)
        })
    }

    /// Both arms from the clavicles on.
    ///
    /// # Errors
    /// If neither is there.
    pub fn arms(topology: &Topology) -> Result<Self, BuildError> {
        Self::below_roles(topology, "the arms", |role| matches!(role, Role::Clavicle(_) | Role::UpperArm(_)))
    }

    /// Neck and head.
    ///
    /// # Errors
    /// If neither is there.
    pub fn head(topology: &Topology) -> Result<Self, BuildError> {
        Self::below_roles(topology, "the head", |role| matches!(role, Role::Neck(_) | Role::Head))
    }

    /// Both legs.
    ///
    /// # Errors
    /// If neither is there.
    pub fn legs(topology: &Topology) -> Result<Self, BuildError> {
        Self::below_roles(topology, "the legs", |role| matches!(role, Role::Thigh(_)))
    }

    /// Everything with weight 0 gets 1 and the other way round.
    #[must_use]
    pub fn inverse(mut self) -> Self {
        self.weights.iter_mut().for_each(|weight| *weight = 1.0 - *weight);
        self
    }

    /// Rises over `joints` joints of each chain, from where it begins: with 3, a quarter, a half, three quarters, whole.
    #[must_use]
    pub fn feathered(mut self, joints: usize) -> Self {
        let mut depth = vec![0usize; self.weights.len()];
        for (joint, &parent) in self.topology.parents().iter().enumerate() {
            if self.weights[joint] > 0.0 {
                let above = if parent == NO_PARENT { 0 } else { depth[usize::from(parent)] };
                depth[joint] = above + 1;
                let share = depth[joint].min(joints + 1) as f32 / (joints + 1) as f32;
                self.weights[joint] *= share;
            }
        }
        self
    }

    /// All weights multiplied.
    ///
    /// # Errors
    /// If `factor` is not from 0 to 1.
    pub fn scaled(mut self, factor: f32) -> Result<Self, BuildError> {
        if !(0.0..=1.0).contains(&factor) {
            return Err(BuildError::Input { what: "a mask's factor", value: factor, right: "0 to 1" });
        }
        self.weights.iter_mut().for_each(|weight| *weight *= factor);
        Ok(self)
    }

    /// Whose joints they are.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// In the topology's order.
    #[must_use]
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }
}

/// A joint where a mask begins, and what is above it.
#[derive(Clone, Debug)]
pub(crate) struct Top {
    pub joint: u16,
    /// From the root on.
    pub above: Vec<u16>,
}

/// A mask as the frame reads it.
#[derive(Clone, Debug)]
pub(crate) struct MaskData {
    pub weights: Vec<f32>,
    pub pelvis: f32,
    pub feet: [f32; MAX_FEET],
    /// Joints whose parent is not in the mask.
    pub tops: Vec<Top>,
    /// Groups of quads with anything of the mask; with anything that the model-space option reads.
    groups: Vec<[bool; 2]>,
}

impl MaskData {
    /// Everything, with full weight.
    pub fn whole(topology: &Topology) -> Self {
        Self::of(topology, &vec![1.0; topology.len()])
    }

    pub fn of(topology: &Topology, weights: &[f32]) -> Self {
        let joints = topology.len();
        let parents = topology.parents();
        let pelvis = weights[usize::from(topology.pelvis())];
        let mut feet = [0.0; MAX_FEET];
        for (out, leg) in feet.iter_mut().zip(topology.legs()) {
            *out = weights[usize::from(leg.foot)];
        }
        let mut tops = Vec::new();
        let mut groups = vec![[false; 2]; (joints + 2).div_ceil(GROUP)];
        for (joint, &weight) in weights.iter().enumerate() {
            if weight <= 0.0 {
                continue;
            }
            groups[joint / GROUP] = [true; 2];
            let mut above = VecDeque::new();
            let mut parent = parents[joint];
            if parent != NO_PARENT && weights[usize::from(parent)] > 0.0 {
                continue;
            }
            while parent != NO_PARENT {
                above.push_front(parent);
                groups[usize::from(parent) / GROUP][1] = true;
                parent = parents[usize::from(parent)];
            }
            tops.push(Top { joint: joint as u16, above: above.into() });
        }
        if pelvis > 0.0 {
            groups[joints / GROUP] = [true; 2];
        }
        if feet.iter().any(|&weight| weight > 0.0) {
            groups[(joints + 1) / GROUP] = [true; 2];
        }
        Self { weights: weights.to_vec(), pelvis, feet, tops, groups }
    }

    /// True if a layer reads that group of its clip.
    pub fn reads(&self, group: usize, model_space: bool) -> bool {
        self.groups.get(group).is_some_and(|reads| reads[usize::from(model_space)])
    }

    pub fn top(&self, joint: usize) -> Option<&Top> {
        self.tops.iter().find(|top| usize::from(top.joint) == joint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{self, BodyPlan, RigKind};
    use crate::rig::Rig;

    fn topology() -> Topology {
        let body = content::character(RigKind::ALL[0], &BodyPlan::adult());
        Rig::build(&body.rig_source()).unwrap().topology().clone()
    }

    #[test]
    fn parts_of_the_body_are_whole_and_apart() {
        let topology = topology();
        let of = |role| topology.joint(role).map(usize::from).unwrap();
        let (hips, spine, hand) = (of(Role::Hips), of(Role::Spine(0)), of(Role::Hand(Side::Left)));
        let upper = JointMask::upper_body(&topology).unwrap();
        assert_eq!((upper.weights()[hips], upper.weights()[spine], upper.weights()[hand]), (0.0, 1.0, 1.0));
        assert_eq!(upper.weights()[of(Role::Foot(Side::Left))], 0.0);
        let arm = JointMask::arm(&topology, Side::Left).unwrap();
        assert_eq!((arm.weights()[spine], arm.weights()[hand]), (0.0, 1.0));
        assert_eq!(arm.weights()[of(Role::Hand(Side::Right))], 0.0);
        let legs = JointMask::legs(&topology).unwrap();
        let both = upper.weights().iter().zip(legs.weights()).filter(|(a, b)| **a > 0.0 && **b > 0.0);
        assert_eq!(both.count(), 0);
        let rest = upper.clone().inverse();
        assert!(upper.weights().iter().zip(rest.weights()).all(|(a, b)| a + b == 1.0));
        let soft = upper.feathered(3);
        assert_eq!((soft.weights()[spine], soft.weights()[hand]), (0.25, 1.0));
    }

    #[test]
    fn a_mask_knows_where_it_begins_and_what_it_reads() {
        let topology = topology();
        let head = JointMask::head(&topology).unwrap();
        let data = MaskData::of(&topology, head.weights());
        let neck = topology.joint(Role::Neck(0)).unwrap();
        assert_eq!(data.tops.len(), 1);
        let top = data.top(usize::from(neck)).unwrap();
        assert_eq!(top.above.first(), Some(&0));
        assert_eq!(top.above.last(), Some(&topology.parents()[usize::from(neck)]));
        let reads = |model| (0..9).filter(|&group| data.reads(group, model)).count();
        assert!(reads(false) >= 1 && reads(false) <= reads(true) && reads(true) < 9);
        assert!(MaskData::whole(&topology).tops.iter().all(|top| top.above.is_empty()));
    }

    #[test]
    fn bad_weights_are_refused() {
        let topology = topology();
        let mut weights = vec![0.5; topology.len()];
        assert!(JointMask::new(&topology, &weights).is_ok());
        for bad in [f32::NAN, -0.1, 1.5, f32::INFINITY] {
            weights[3] = bad;
            assert!(matches!(JointMask::new(&topology, &weights), Err(BuildError::Input { .. })));
        }
        assert!(matches!(JointMask::new(&topology, &[]), Err(BuildError::Length { .. })));
        assert!(JointMask::below(&topology, &[u16::MAX - 1]).is_err());
        assert!(JointMask::head(&topology).unwrap().scaled(f32::NAN).is_err());
    }
}
