//! Topologies: which joints there are, in which order, and which of them form legs.

use super::hang::Hang;
use super::{RawSkeleton, Role, RoleMap, Side};
use crate::error::BuildError;

/// Stands for the parent of a root.
pub const NO_PARENT: u16 = u16::MAX;

/// Most feet of one topology.
pub const MAX_FEET: usize = 2;

/// What identifies a joint across rigs of one topology.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum JointKey {
    /// A humanoid part.
    Role(Role),
    /// Anything else, by name.
    Named(String),
}

/// One leg: thigh, shin and foot follow each other without a joint between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Whose.
    pub side: Side,
    /// Joints from below the pelvis to above the thigh, parents first; mostly empty.
    pub above: Vec<u16>,
    /// Hip joint.
    pub thigh: u16,
    /// Knee joint.
    pub shin: u16,
    /// Ankle joint.
    pub foot: u16,
    /// Ball of the foot, where there is one.
    pub toe: Option<u16>,
}

/// An ordered joint list with parents and levels of detail; clips are bound to it, rigs share it.
///
/// Joints are sorted by level, parents before children within it, and `level(child) >= level(parent)`, so that
/// a tier of detail is a prefix of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    keys: Vec<JointKey>,
    parents: Vec<u16>,
    levels: Vec<u8>,
    pelvis: u16,
    legs: Vec<Leg>,
}

impl Topology {
    /// The topology of a skeleton, and for each of its joints the joint of the skeleton.
    ///
    /// # Errors
    /// If the skeleton is not valid, or the roles are those of another one.
    pub fn of(skeleton: &RawSkeleton, roles: &RoleMap) -> Result<(Self, Vec<u16>), BuildError> {
        skeleton.validate()?;
        let count = skeleton.joints.len();
        roles.validate(count)?;
        let role = roles.by_joint(count);
        let hang = Hang::of(skeleton, roles);
        // Parents come first: from the last joint on, each tells its parent that it carries the body.
        let mut carries: Vec<bool> = role
            .iter()
            .map(|role| role.is_some_and(|role| !matches!(role, Role::Finger(..) | Role::Twist(..))))
            .collect();
        for &joint in hang.order().iter().rev() {
            if let Some(parent) = hang.parent(joint) {
                carries[parent] |= carries[joint];
            }
        }
        let mut levels = vec![0u8; count];
        for &index in hang.order() {
            let own = match role[index] {
                Some(Role::Finger(..)) => 2,
                Some(Role::Twist(..)) => 1,
                Some(_) => 0,
                None if roles.is_empty() => 0,
                // Ancestors of the body carry it; all else is a helper.
                None if carries[index] => 0,
                None => 1,
            };
            let parent = hang.parent(index).map_or(0, |parent| levels[parent]);
            levels[index] = own.max(parent);
        }
        let mut order: Vec<u16> = hang.order().iter().map(|&joint| joint as u16).collect();
        order.sort_by_key(|&joint| levels[usize::from(joint)]);
        let mut position = vec![0u16; count];
        for (at, &joint) in order.iter().enumerate() {
            position[usize::from(joint)] = at as u16;
        }
        let keys = order
            .iter()
            .map(|&joint| match role[usize::from(joint)] {
                Some(role) => JointKey::Role(role),
                None => JointKey::Named(skeleton.joints[usize::from(joint)].name.clone()),
            })
            .collect();
        let parents: Vec<u16> = order
            .iter()
            .map(|&joint| hang.parent(joint.into()).map_or(NO_PARENT, |parent| position[parent]))
            .collect();
        let pelvis = position[usize::from(carrier(skeleton, roles))];
        let legs = legs(roles, &position, &parents, pelvis);
        let levels = order.iter().map(|&joint| levels[usize::from(joint)]).collect();
        Ok((Self { keys, parents, levels, pelvis, legs }, order))
    }

    /// A topology told joint by joint, as a file holds it; legs follow from roles and parents.
    ///
    /// # Errors
    /// What is wrong, if the parts are none of a topology.
    pub(crate) fn from_parts(
        keys: Vec<JointKey>,
        parents: Vec<u16>,
        levels: Vec<u8>,
        pelvis: u16,
    ) -> Result<Self, &'static str> {
        let count = keys.len();
        if count == 0 || count > usize::from(NO_PARENT) {
            return Err("it has no joints, or too many");
        }
        if parents.len() != count || levels.len() != count || usize::from(pelvis) >= count {
            return Err("its lists do not fit each other");
        }
        let mut roles = RoleMap::new();
        for (at, key) in keys.iter().enumerate() {
            let parent = parents[at];
            if parent != NO_PARENT && (usize::from(parent) >= at || levels[usize::from(parent)] > levels[at])
            {
                return Err("a parent does not come before its child");
            }
            if at > 0 && levels[at - 1] > levels[at] {
                return Err("levels of detail do not rise");
            }
            if let JointKey::Role(role) = key {
                if roles.joint(*role).is_some() {
                    return Err("two joints have the same role");
                }
                roles.set(*role, at as u16);
            }
        }
        let position: Vec<u16> = (0..count as u16).collect();
        let legs = legs(&roles, &position, &parents, pelvis);
        Ok(Self { keys, parents, levels, pelvis, legs })
    }

    /// Number of joints.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Never true; a topology has at least one joint.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Parent of each joint, lower than its own index, or [`NO_PARENT`].
    pub fn parents(&self) -> &[u16] {
        &self.parents
    }

    /// What identifies each joint.
    pub fn keys(&self) -> &[JointKey] {
        &self.keys
    }

    /// Level of detail of each joint, rising.
    pub fn levels(&self) -> &[u8] {
        &self.levels
    }

    /// The joint that carries the body: all translation of the pose but root motion is its.
    pub fn pelvis(&self) -> u16 {
        self.pelvis
    }

    /// Legs that can be solved, left before right.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// The joint with that role.
    pub fn joint(&self, role: Role) -> Option<u16> {
        self.keys.iter().position(|key| *key == JointKey::Role(role)).map(|at| at as u16)
    }

    /// The joint with that key.
    pub fn find(&self, key: &JointKey) -> Option<u16> {
        self.keys.iter().position(|own| own == key).map(|at| at as u16)
    }
}

/// Lowest joint above or at hips, thighs and spine. In most rigs it is the hips; where thighs and hips are
/// siblings it is their parent. Without roles: the first joint that branches, below the root with most joints.
pub(crate) fn carrier(skeleton: &RawSkeleton, roles: &RoleMap) -> u16 {
    let members: Vec<u16> = [Role::Hips, Role::Thigh(Side::Left), Role::Thigh(Side::Right), Role::Spine(0)]
        .iter()
        .filter_map(|&role| roles.joint(role))
        .collect();
    if let Some(&first) = members.first() {
        let up = |joint: u16| core::iter::successors(Some(usize::from(joint)), |&at| skeleton.parent(at));
        let mut met = vec![0; skeleton.joints.len()];
        for joint in members.iter().flat_map(|&member| up(member)) {
            if let Some(met) = met.get_mut(joint) {
                *met += 1;
            }
        }
        let common = up(first).find(|&joint| met.get(joint) == Some(&members.len()));
        return common.or_else(|| up(first).last()).map_or(first, |joint| joint as u16);
    }
    let count = skeleton.joints.len();
    // Of the joints at and below each, and of its children: how many, and the last one.
    let (mut weight, mut children, mut child) = (vec![1usize; count], vec![0usize; count], vec![0; count]);
    for joint in (0..count).rev() {
        if let Some(parent) = skeleton.parent(joint) {
            weight[parent] += weight[joint];
            children[parent] += 1;
            child[parent] = joint;
        }
    }
    let mut at = (0..count)
        .filter(|&joint| skeleton.parent(joint).is_none())
        .max_by_key(|&root| (weight[root], core::cmp::Reverse(root)))
        .unwrap_or(0);
    while children.get(at) == Some(&1) {
        at = child[at];
    }
    at as u16
}

fn legs(roles: &RoleMap, position: &[u16], parents: &[u16], pelvis: u16) -> Vec<Leg> {
    let at = |role| roles.joint(role).map(|joint| position[usize::from(joint)]);
    Side::BOTH
        .into_iter()
        .filter_map(|side| {
            let (thigh, shin, foot) = (at(Role::Thigh(side))?, at(Role::Shin(side))?, at(Role::Foot(side))?);
            if parents[usize::from(shin)] != thigh || parents[usize::from(foot)] != shin {
                return None;
            }
            let toe = at(Role::Toe(side)).filter(|&toe| parents[usize::from(toe)] == foot);
            let mut above = Vec::new();
            let mut joint = parents[usize::from(thigh)];
            while joint != pelvis {
                if joint == NO_PARENT {
                    return None;
                }
                above.push(joint);
                joint = parents[usize::from(joint)];
            }
            above.reverse();
            Some(Leg { side, above, thigh, shin, foot, toe })
        })
        .collect()
}
