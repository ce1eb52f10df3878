//! What stands in for parts of a body that a source lacks.

use core::fmt;

use serde::{Deserialize, Serialize};

use crate::rig::{Digit, Role, RoleMap, Side};

/// How a part of the target moves that the source does not have, or has in another number of joints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FallbackRule {
    /// It keeps its reference pose relative to what it hangs on.
    KeepsReference,
    /// It turns with the joint that the chain begins at.
    FollowsBase,
    /// Rotations are spread over it by arc length.
    Resampled,
}

/// One part with its rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Fallback {
    /// As roles are written; `left.arm`, `left.leg` and `left.fingers` for all of them.
    pub part: String,
    /// What it hangs on or follows.
    pub on: String,
    /// How it moves.
    pub rule: FallbackRule,
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, on, rule } = self;
        match rule {
            FallbackRule::KeepsReference => write!(f, "{part} keeps its reference pose on the {on}"),
            FallbackRule::FollowsBase => write!(f, "{part} turns with the {on}"),
            FallbackRule::Resampled => write!(f, "{part} is resampled from the source's {on}"),
        }
    }
}

/// Of a source and a target, from the hips outwards.
#[must_use]
pub fn fallbacks(source: &RoleMap, target: &RoleMap) -> Vec<Fallback> {
    use FallbackRule::{FollowsBase, KeepsReference, Resampled};
    let lacks = |role: Role| target.joint(role).is_some() && source.joint(role).is_none();
    let mut out = Vec::new();
    let mut add = |part: String, on: &str, rule| out.push(Fallback { part, on: on.to_owned(), rule });
    let count = |n: usize| if n == 1 { "1 joint".to_owned() } else { format!("{n} joints") };
    for (part, own, other, base) in [
        ("spine", source.spine().len(), target.spine().len(), "hips"),
        ("neck", source.neck().len(), target.neck().len(), "chest"),
    ] {
        if other > 0 && own == 0 {
            add(part.to_owned(), base, FollowsBase);
        } else if other > 0 && own != other {
            add(part.to_owned(), &count(own), Resampled);
        }
    }
    if lacks(Role::Head) {
        add("head".to_owned(), if target.neck().is_empty() { "chest" } else { "neck" }, KeepsReference);
    }
    for side in Side::BOTH {
        let name =
            |part: &str| if side == Side::Left { format!("left.{part}") } else { format!("right.{part}") };
        let arm = [Role::UpperArm(side), Role::Forearm(side), Role::Hand(side)];
        let leg = [Role::Thigh(side), Role::Shin(side), Role::Foot(side)];
        if lacks(Role::Clavicle(side)) {
            add(name("clavicle"), "chest", KeepsReference);
        }
        let shoulder = if target.joint(Role::Clavicle(side)).is_some() { "clavicle" } else { "chest" };
        for (limb, roles, on, ends) in [
            ("arm", arm, shoulder, ["upper_arm", "forearm", "hand"]),
            ("leg", leg, "hips", ["thigh", "shin", "foot"]),
        ] {
            if roles.iter().all(|&role| source.joint(role).is_none()) {
                if roles.iter().any(|&role| lacks(role)) {
                    add(name(limb), on, KeepsReference);
                }
                continue;
            }
            for at in (0..roles.len()).filter(|&at| lacks(roles[at])) {
                add(name(ends[at]), if at == 0 { on } else { ends[at - 1] }, KeepsReference);
            }
        }
        if lacks(Role::Toe(side)) && source.joint(Role::Foot(side)).is_some() {
            add(name("toe"), "foot", KeepsReference);
        }
        let fingers =
            |roles: &RoleMap| Digit::ALL.iter().any(|&d| roles.joint(Role::Finger(side, d, 0)).is_some());
        if fingers(target) && !fingers(source) && source.joint(Role::Hand(side)).is_some() {
            add(name("fingers"), "hand", KeepsReference);
        }
    }
    out
}
