//! What shape and reference axes say about roles that names propose.

use std::fmt;

use glam::DVec3;

use super::role_names::RoleProposal;
use super::roles::{Role, RoleMap, Side};
use super::{RawSkeleton, ReferencePose};

/// Why a role may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DoubtReason {
    /// Its bone has no length.
    NoLength,
    /// The bone of the other side is more than a quarter longer or shorter.
    UnlikeOtherSide,
    /// Upper and lower part of the limb differ in length as no body's do.
    Proportions,
    /// Feet and trunk say that it is on the other side.
    OtherSide,
    /// The arm is on the side of the other leg.
    AcrossLegs,
    /// Arms leave the trunk below the legs.
    UpsideDown,
    /// A foot beside the shin and not below it: a goal of inverse kinematics, which is taken to hang on the shin.
    Detached,
}

impl fmt::Display for DoubtReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoLength => "its bone has no length",
            Self::UnlikeOtherSide => "the other side's bone is more than a quarter longer or shorter",
            Self::Proportions => "upper and lower part differ in length as no body's do",
            Self::OtherSide => "feet and trunk say that it is on the other side",
            Self::AcrossLegs => "it is on the side of the other leg",
            Self::UpsideDown => "arms leave the trunk below the legs",
            Self::Detached => "it does not hang on the limb that it ends",
        })
    }
}

impl DoubtReason {
    /// True if a map with it must not be used where shape alone gives another.
    pub(super) fn grave(self) -> bool {
        matches!(
            self,
            Self::NoLength | Self::Proportions | Self::OtherSide | Self::AcrossLegs | Self::UpsideDown
        )
    }
}

/// A role that shape or axes do not confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleDoubt {
    /// Which.
    pub role: Role,
    /// Why.
    pub reason: DoubtReason,
}

type Sided = fn(Side) -> Role;

const LIMBS: [[Sided; 3]; 2] =
    [[Role::Thigh, Role::Shin, Role::Foot], [Role::UpperArm, Role::Forearm, Role::Hand]];

/// Puts what speaks against the map into its report.
pub(super) fn confirm(skeleton: &RawSkeleton, proposal: &mut RoleProposal) {
    if skeleton.validate().is_err() {
        return;
    }
    let rest = ReferencePose::rest(skeleton);
    let body = Shape { map: &proposal.map, rest: &rest };
    let mut doubts = Vec::new();
    for limb in LIMBS {
        let bones = limb.map(|role| Side::BOTH.map(|side| body.place(role(side))));
        let length = |part: usize, side: usize| Some(bones[part + 1][side]?.distance(bones[part][side]?));
        for (side, own) in Side::BOTH.into_iter().enumerate() {
            for (part, role) in limb.iter().take(2).enumerate() {
                let mut doubt = |reason| doubts.push(RoleDoubt { role: role(own), reason });
                let Some(here) = length(part, side) else { continue };
                if here < 1e-6 {
                    doubt(DoubtReason::NoLength);
                } else if length(part, 1 - side).is_some_and(|there| (here / there).ln().abs() > 0.223) {
                    doubt(DoubtReason::UnlikeOtherSide);
                }
            }
            if let (Some(upper), Some(lower)) = (length(0, side), length(1, side))
                && upper > 1e-6
                && (lower / upper).ln().abs() > 1.1
            {
                doubts.push(RoleDoubt { role: limb[1](own), reason: DoubtReason::Proportions });
            }
            let joint = |role: Sided| proposal.map.joint(role(own)).map(usize::from);
            if let (Some(lower), Some(end)) = (joint(limb[1]), joint(limb[2]))
                && !skeleton.is_below(end, lower)
            {
                doubts.push(RoleDoubt { role: limb[2](own), reason: DoubtReason::Detached });
            }
        }
    }
    let across = |role: Sided| Some(body.place(role(Side::Left))? - body.place(role(Side::Right))?);
    let legs = across(Role::Thigh).filter(|legs| legs.length() > 1e-6);
    if let (Some(legs), Some(left)) = (legs, body.left())
        && legs.normalize().dot(left) < -0.5
    {
        let both =
            Side::BOTH.map(|side| RoleDoubt { role: Role::Thigh(side), reason: DoubtReason::OtherSide });
        doubts.extend(both);
    }
    if let (Some(legs), Some(arms)) = (legs, across(Role::UpperArm).filter(|arms| arms.length() > 1e-6))
        && legs.normalize().dot(arms.normalize()) < -0.5
    {
        let both =
            Side::BOTH.map(|side| RoleDoubt { role: Role::UpperArm(side), reason: DoubtReason::AcrossLegs });
        doubts.extend(both);
    }
    let middle = |role: Sided| Some((body.place(role(Side::Left))? + body.place(role(Side::Right))?) / 2.0);
    if let (Some(hips), Some(head), Some(legs), Some(arms)) =
        (body.place(Role::Hips), body.place(Role::Head), middle(Role::Thigh), middle(Role::UpperArm))
        && (arms - legs).dot(head - hips) < 0.0
    {
        doubts.push(RoleDoubt { role: Role::Hips, reason: DoubtReason::UpsideDown });
    }
    proposal.report.doubts = doubts;
}

struct Shape<'a> {
    map: &'a RoleMap,
    rest: &'a ReferencePose,
}

impl Shape<'_> {
    fn place(&self, role: Role) -> Option<DVec3> {
        self.map.joint(role).map(|joint| self.rest.position(joint.into()))
    }

    /// The body's left by where its feet point; `None` if they or the trunk do not say.
    fn left(&self) -> Option<DVec3> {
        let top = [Role::Head, Role::Neck(0)].into_iter().find_map(|role| self.place(role))?;
        let low = (self.place(Role::Thigh(Side::Left))? + self.place(Role::Thigh(Side::Right))?) / 2.0;
        let up = (top - low).try_normalize()?;
        let ahead: DVec3 = Side::BOTH
            .into_iter()
            .filter_map(|side| Some(self.place(Role::Toe(side))? - self.place(Role::Foot(side))?))
            .sum();
        let flat = ahead - up * ahead.dot(up);
        (flat.length() > 0.5 * ahead.length()).then(|| up.cross(flat)).and_then(DVec3::try_normalize)
    }
}
