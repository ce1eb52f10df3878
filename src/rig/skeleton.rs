//! Rigs: a topology with proportions, reference pose, soles and skins.

use glam::{DQuat, DVec3, Vec3};

use super::{RawCharacter, RawSkeleton, ReferencePose, Role, RoleMap, Side, Skin, Topology};
use crate::error::BuildError;

/// Farthest that a part of a body may be from its origin, metres. Beyond, single precision is no help, and what is
/// multiplied in a frame would not stay finite.
const FARTHEST: f64 = 1e6;

/// Where the heel and the ball of a foot touch the ground, relative to the ankle joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sole {
    /// Metres, model axes, in the reference pose.
    pub heel: [f32; 3],
    /// Metres, model axes, in the reference pose.
    pub ball: [f32; 3],
}

/// What a [`Rig`] is built from.
#[derive(Clone, Debug)]
pub struct RigSource<'a> {
    /// Skeleton and skins.
    pub character: &'a RawCharacter,
    /// What the joints are.
    pub roles: &'a RoleMap,
    /// In which pose motion is measured; [`ReferencePose::aligned`] where nobody knows better.
    pub reference: ReferencePose,
    /// Left and right; estimated from the joints where `None`.
    pub soles: [Option<Sole>; 2],
}

impl<'a> RigSource<'a> {
    /// With the aligned reference pose and estimated soles.
    pub fn new(character: &'a RawCharacter, roles: &'a RoleMap) -> Self {
        let reference = ReferencePose::aligned(&character.skeleton, roles);
        Self { character, roles, reference, soles: [None; 2] }
    }
}

/// One body: everything that differs between characters of a topology, immutable.
#[derive(Clone, Debug)]
pub struct Rig {
    name: String,
    topology: Topology,
    order: Vec<u16>,
    offsets: Vec<[f32; 3]>,
    rotations: Vec<DQuat>,
    positions: Vec<DVec3>,
    leg: f32,
    soles: Vec<Sole>,
    skins: Vec<Skin>,
}

impl Rig {
    /// Builds topology and constants.
    ///
    /// # Errors
    /// If skeleton, roles, reference pose, soles or skins are not valid, or a part of the body is farther than 1e6 m
    /// from its origin.
    pub fn build(source: &RigSource<'_>) -> Result<Self, BuildError> {
        let skeleton = &source.character.skeleton;
        let (topology, order) = Topology::of(skeleton, source.roles)?;
        let reference = &source.reference;
        if reference.models.len() != skeleton.joints.len() || !reference.models.iter().all(|m| m.is_finite())
        {
            return Err(BuildError::ReferencePose {
                have: reference.models.len(),
                need: skeleton.joints.len(),
            });
        }
        let positions: Vec<DVec3> = order.iter().map(|&joint| reference.position(joint.into())).collect();
        let rotations = order.iter().map(|&joint| reference.rotation(joint.into())).collect();
        let offsets: Vec<[f32; 3]> = topology
            .parents()
            .iter()
            .enumerate()
            .map(|(at, &parent)| {
                let parent = positions.get(usize::from(parent)).copied().unwrap_or(DVec3::ZERO);
                (positions[at] - parent).as_vec3().to_array()
            })
            .collect();
        // What is farther turns up in every frame as rounding, and in the end as infinity.
        for (&joint, at) in order.iter().zip(&positions) {
            if at.abs().max_element() >= FARTHEST {
                return Err(too_far(skeleton, joint));
            }
        }
        let mut position = vec![0u16; order.len()];
        for (at, &joint) in order.iter().enumerate() {
            position[usize::from(joint)] = at as u16;
        }
        let mut skins = Vec::new();
        for skin in &source.character.skins {
            skins.push(Skin::build(skin, reference, &position)?);
        }
        if skins.is_empty() {
            skins.push(Skin::of_joints(reference, &order));
        }
        let length = leg_length(skeleton, source.roles, reference);
        let mut soles = Vec::new();
        for leg in topology.legs() {
            let given = source.soles[if leg.side == Side::Left { 0 } else { 1 }];
            let sole = given.unwrap_or_else(|| {
                let at = |joint: u16| positions[usize::from(joint)];
                estimate_sole(at(leg.foot), leg.toe.map(at), length)
            });
            if let Some(&value) = sole
                .heel
                .iter()
                .chain(&sole.ball)
                .find(|value| value.is_nan() || f64::from(value.abs()) >= FARTHEST)
            {
                let what = if leg.side == Side::Left {
                    "the sole of the left foot"
                } else {
                    "the sole of the right foot"
                };
                return Err(BuildError::Input { what, value, right: "heel and ball must be within 1e6 m" });
            }
            soles.push(sole);
        }
        let (name, leg) = (source.character.name.clone(), length as f32);
        Ok(Self { name, topology, order, offsets, rotations, positions, leg, soles, skins })
    }

    /// The character's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Joints and their order.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Joint of the raw skeleton for each joint of the topology.
    pub fn order(&self) -> &[u16] {
        &self.order
    }

    /// Metres, model axes: position minus parent's position in the reference pose; of roots, the position.
    pub fn offsets(&self) -> &[[f32; 3]] {
        &self.offsets
    }

    /// Reference positions, metres.
    pub fn positions(&self) -> &[DVec3] {
        &self.positions
    }

    /// Basis maps: model-space reference rotation of each joint. `G * rotation` is the joint's model rotation.
    pub fn rotations(&self) -> &[DQuat] {
        &self.rotations
    }

    /// `|thigh| + |shin|`, metres, mean of both sides; for others than humanoids the pelvis height, or 1.
    pub fn leg(&self) -> f32 {
        self.leg
    }

    /// One per leg of the topology.
    pub fn soles(&self) -> &[Sole] {
        &self.soles
    }

    /// At least one; without a skin in the file, one entry per joint.
    pub fn skins(&self) -> &[Skin] {
        &self.skins
    }
}

fn too_far(skeleton: &RawSkeleton, joint: u16) -> BuildError {
    let index = usize::from(joint);
    let joint = skeleton.joints.get(index).map(|joint| joint.name.clone()).unwrap_or_default();
    BuildError::ReferenceRange { joint, index }
}

/// `|thigh| + |shin|` from bone offsets, mean of both sides.
pub(crate) fn leg_length(skeleton: &RawSkeleton, roles: &RoleMap, reference: &ReferencePose) -> f64 {
    let at = |role| roles.joint(role).map(|joint| reference.position(joint.into()));
    let legs: Vec<f64> = Side::BOTH
        .into_iter()
        .filter_map(|side| {
            let (thigh, shin, foot) = (at(Role::Thigh(side))?, at(Role::Shin(side))?, at(Role::Foot(side))?);
            Some((shin - thigh).length() + (foot - shin).length())
        })
        .collect();
    let mean = legs.iter().sum::<f64>() / legs.len().max(1) as f64;
    if mean > 1e-6 {
        return mean;
    }
    let height = reference.position(super::topology::carrier(skeleton, roles).into()).y.abs();
    if height > 1e-6 { height } else { 1.0 }
}

/// Where the sole bends ahead of the ankle, over the leg's length: 0.12 m for an adult's 0.86 m (thigh and shin are 0.245 and
/// 0.246 of the stature: Winter, "Biomechanics and Motor Control of Human Movement").
const BALL_AHEAD: f64 = 0.14;

/// Ball below the toe joint or, where there is none, as far ahead as feet of such legs have it; heel a quarter of the foot behind the ankle, both on the ground plane of the
/// reference pose, or just under the lower joint where the rig does not stand on it.
pub(crate) fn estimate_sole(ankle: DVec3, toe: Option<DVec3>, leg: f64) -> Sole {
    let ball = toe.unwrap_or(ankle + DVec3::new(0.0, -ankle.y, BALL_AHEAD * leg));
    let length = DVec3::new(ball.x - ankle.x, 0.0, ball.z - ankle.z).length().max(1e-3);
    let low = ankle.y.min(ball.y);
    let ground = if low > -0.1 * length && low < 1.2 * length { 0.0 } else { low - 0.1 * length };
    let ahead = DVec3::new(ball.x - ankle.x, 0.0, ball.z - ankle.z) / length;
    let heel = ankle - ahead * (0.25 * length);
    let point = |p: DVec3| -> [f32; 3] {
        let v: Vec3 = (DVec3::new(p.x, ground, p.z) - ankle).as_vec3();
        v.to_array()
    };
    Sole { heel: point(heel), ball: point(ball) }
}
