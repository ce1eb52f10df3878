//! Which joint each joint hangs on where the file's hierarchy is one of controls and not of bones.
//!
//! Some rigs keep their feet as inverse-kinematics goals beside the body, at the shins' ends. Motion in model axes does
//! not mind a joint's parent, so such a foot is taken as if it hung on its shin.

use super::{RawSkeleton, Role, RoleMap, Side};

/// Parents as the body has them, and an order in which they come first.
#[derive(Clone, Debug)]
pub(crate) struct Hang {
    parents: Vec<Option<usize>>,
    /// All joints, parents before children; the file's order unless a joint hangs elsewhere.
    order: Vec<usize>,
}

impl Hang {
    /// Roles of joints that the skeleton lacks count as absent.
    pub(crate) fn of(skeleton: &RawSkeleton, roles: &RoleMap) -> Self {
        let count = skeleton.joints.len();
        let mut parents: Vec<Option<usize>> = (0..count).map(|joint| skeleton.parent(joint)).collect();
        let mut moved = false;
        for side in Side::BOTH {
            for (end, above) in
                [(Role::Foot(side), Role::Shin(side)), (Role::Hand(side), Role::Forearm(side))]
            {
                let find = |role| roles.joint(role).map(usize::from).filter(|&joint| joint < count);
                if let (Some(end), Some(above)) = (find(end), find(above)) {
                    let below = |joint, of| up(&parents, joint).any(|at| at == of);
                    if !below(end, above) && !below(above, end) {
                        parents[end] = Some(above);
                        moved = true;
                    }
                }
            }
        }
        let order = if moved { parents_first(&parents) } else { (0..count).collect() };
        Self { parents, order }
    }

    /// What `joint` hangs on.
    pub(crate) fn parent(&self, joint: usize) -> Option<usize> {
        self.parents.get(joint).copied().flatten()
    }

    /// All joints, parents before children.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// True if `joint` is `ancestor` or hangs below it.
    pub(crate) fn is_below(&self, joint: usize, ancestor: usize) -> bool {
        up(&self.parents, joint).any(|at| at == ancestor)
    }

    /// Per joint: true if it is `ancestor` or hangs below it.
    pub(crate) fn below(&self, ancestor: usize) -> Vec<bool> {
        let mut below = vec![false; self.parents.len()];
        for &joint in &self.order {
            below[joint] = joint == ancestor || self.parent(joint).is_some_and(|parent| below[parent]);
        }
        below
    }
}

fn up(parents: &[Option<usize>], joint: usize) -> impl Iterator<Item = usize> + '_ {
    core::iter::successors(Some(joint), |&at| parents.get(at).copied().flatten())
}

fn parents_first(parents: &[Option<usize>]) -> Vec<usize> {
    let mut children = vec![Vec::new(); parents.len()];
    for (joint, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            children[*parent].push(joint);
        }
    }
    let mut order = Vec::with_capacity(parents.len());
    let mut open: Vec<usize> = (0..parents.len()).rev().filter(|&joint| parents[joint].is_none()).collect();
    while let Some(joint) = open.pop() {
        order.push(joint);
        open.extend(children[joint].iter().rev());
    }
    order
}
