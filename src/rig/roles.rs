//! What a joint is for, independent of how a tool names it.

use std::fmt;

use crate::error::BuildError;

/// Side of the body, the character's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// +X when facing +Z.
    Left,
    /// -X when facing +Z.
    Right,
}

impl Side {
    /// Both, left first.
    pub const BOTH: [Self; 2] = [Self::Left, Self::Right];

    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// One of the five digits of a hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Digit {
    Thumb,
    Index,
    Middle,
    Ring,
    Little,
}

impl Digit {
    /// Thumb to little finger.
    pub const ALL: [Self; 5] = [Self::Thumb, Self::Index, Self::Middle, Self::Ring, Self::Little];
}

/// The part that a joint plays in a humanoid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Role {
    /// The joint that carries the body; thighs and spine descend from it.
    Hips,
    /// Spine chain, 0 nearest the hips.
    Spine(u8),
    /// Neck chain, 0 nearest the spine.
    Neck(u8),
    /// Head.
    Head,
    /// Shoulder girdle.
    Clavicle(Side),
    /// Shoulder to elbow.
    UpperArm(Side),
    /// Elbow to wrist.
    Forearm(Side),
    /// Wrist.
    Hand(Side),
    /// Finger phalanges, 0 nearest the palm.
    Finger(Side, Digit, u8),
    /// Hip to knee.
    Thigh(Side),
    /// Knee to ankle.
    Shin(Side),
    /// Ankle.
    Foot(Side),
    /// Ball of the foot.
    Toe(Side),
    /// Twist helper along the thigh, shin, upper arm or forearm, 0 nearest the parent.
    Twist(Side, Limb, u8),
}

impl Role {
    /// The same part of the other side; itself in the middle.
    #[must_use]
    pub fn other_side(self) -> Self {
        match self {
            Self::Clavicle(s) => Self::Clavicle(s.other()),
            Self::UpperArm(s) => Self::UpperArm(s.other()),
            Self::Forearm(s) => Self::Forearm(s.other()),
            Self::Hand(s) => Self::Hand(s.other()),
            Self::Finger(s, digit, i) => Self::Finger(s.other(), digit, i),
            Self::Thigh(s) => Self::Thigh(s.other()),
            Self::Shin(s) => Self::Shin(s.other()),
            Self::Foot(s) => Self::Foot(s.other()),
            Self::Toe(s) => Self::Toe(s.other()),
            Self::Twist(s, limb, i) => Self::Twist(s.other(), limb, i),
            Self::Hips | Self::Spine(_) | Self::Neck(_) | Self::Head => self,
        }
    }
}

/// A limb segment that twist joints share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Limb {
    Thigh,
    Shin,
    UpperArm,
    Forearm,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |side: &Side| match side {
            Side::Left => "left",
            Side::Right => "right",
        };
        match self {
            Self::Hips => f.write_str("hips"),
            Self::Spine(i) => write!(f, "spine.{i}"),
            Self::Neck(i) => write!(f, "neck.{i}"),
            Self::Head => f.write_str("head"),
            Self::Clavicle(s) => write!(f, "{}.clavicle", side(s)),
            Self::UpperArm(s) => write!(f, "{}.upper_arm", side(s)),
            Self::Forearm(s) => write!(f, "{}.forearm", side(s)),
            Self::Hand(s) => write!(f, "{}.hand", side(s)),
            Self::Finger(s, digit, i) => {
                write!(f, "{}.{}.{i}", side(s), format!("{digit:?}").to_lowercase())
            }
            Self::Thigh(s) => write!(f, "{}.thigh", side(s)),
            Self::Shin(s) => write!(f, "{}.shin", side(s)),
            Self::Foot(s) => write!(f, "{}.foot", side(s)),
            Self::Toe(s) => write!(f, "{}.toe", side(s)),
            Self::Twist(s, limb, i) => {
                let limb = match limb {
                    Limb::Thigh => "thigh",
                    Limb::Shin => "shin",
                    Limb::UpperArm => "upper_arm",
                    Limb::Forearm => "forearm",
                };
                write!(f, "{}.{limb}_twist.{i}", side(s))
            }
        }
    }
}

/// Role of each joint of one skeleton; at most one joint per role and one role per joint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleMap {
    /// Sorted by role.
    pairs: Vec<(Role, u16)>,
}

impl RoleMap {
    /// Nothing mapped: the skeleton is bound by names alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives `joint` the role, replacing what held either before.
    pub fn set(&mut self, role: Role, joint: u16) {
        self.pairs.retain(|&(r, j)| r != role && j != joint);
        let at = self.pairs.partition_point(|&(r, _)| r < role);
        self.pairs.insert(at, (role, joint));
    }

    /// Takes the role of `joint` away.
    pub fn clear(&mut self, joint: u16) {
        self.pairs.retain(|&(_, j)| j != joint);
    }

    /// The joint that plays `role`.
    pub fn joint(&self, role: Role) -> Option<u16> {
        self.pairs.binary_search_by_key(&role, |&(r, _)| r).ok().map(|at| self.pairs[at].1)
    }

    /// The role of `joint`.
    pub fn role(&self, joint: u16) -> Option<Role> {
        self.pairs.iter().find(|&&(_, j)| j == joint).map(|&(r, _)| r)
    }

    /// Checks that the map is of a skeleton of so many joints.
    ///
    /// # Errors
    /// [`BuildError::RoleJoint`] naming the first role whose joint is not there.
    pub fn validate(&self, joints: usize) -> Result<(), BuildError> {
        match self.pairs.iter().find(|&&(_, joint)| usize::from(joint) >= joints) {
            Some(&(role, joint)) => {
                Err(BuildError::RoleJoint { role: role.to_string(), joint: joint.into(), joints })
            }
            None => Ok(()),
        }
    }

    /// The part of the map whose joints a skeleton of so many joints has.
    pub(crate) fn within(&self, joints: usize) -> Self {
        Self { pairs: self.iter().filter(|&(_, joint)| usize::from(joint) < joints).collect() }
    }

    /// The role of each of so many joints.
    pub(crate) fn by_joint(&self, joints: usize) -> Vec<Option<Role>> {
        let mut roles = vec![None; joints];
        for &(role, joint) in &self.pairs {
            if let Some(slot) = roles.get_mut(usize::from(joint)) {
                *slot = Some(role);
            }
        }
        roles
    }

    /// All pairs in role order.
    pub fn iter(&self) -> impl Iterator<Item = (Role, u16)> + '_ {
        self.pairs.iter().copied()
    }

    /// Joints of the spine chain, from the hips up.
    pub fn spine(&self) -> Vec<u16> {
        (0..=u8::MAX).map_while(|i| self.joint(Role::Spine(i))).collect()
    }

    /// Joints of the neck chain, from the spine up.
    pub fn neck(&self) -> Vec<u16> {
        (0..=u8::MAX).map_while(|i| self.joint(Role::Neck(i))).collect()
    }

    /// True if nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Number of mapped joints.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }
}
