//! A rig in double precision: where motion keys put its joints.

use glam::{DQuat, DVec3};

use crate::clip::MotionKeys;
use crate::error::BuildError;
use crate::rig::{NO_PARENT, Rig};

/// A joint in model space: place, metres, and rotation since the reference pose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub at: DVec3,
    pub turn: DQuat,
}

/// Bones of a rig.
pub(crate) struct Figure<'a> {
    parents: &'a [u16],
    /// From parent to joint in the reference pose, metres.
    offsets: Vec<DVec3>,
    pelvis: usize,
    /// Metres.
    pub leg: f64,
}

impl<'a> Figure<'a> {
    pub(crate) fn new(rig: &'a Rig) -> Self {
        let topology = rig.topology();
        let place = |joint: usize| rig.positions()[joint];
        let above = |parent: u16| if parent == NO_PARENT { DVec3::ZERO } else { place(parent.into()) };
        let parents = topology.parents();
        let offsets = parents.iter().enumerate().map(|(joint, &up)| place(joint) - above(up)).collect();
        Self { parents, offsets, pelvis: topology.pelvis().into(), leg: f64::from(rig.leg()) }
    }

    /// Checks that keys are those of this rig's topology.
    pub(crate) fn check(&self, keys: &MotionKeys) -> Result<(), BuildError> {
        let (joints, count) = (self.parents.len(), keys.pelvis.len());
        if count == 0 || keys.rotations.len() != count * joints || keys.root.len() != count {
            let reason = "one rotation per joint of the topology and key is needed, and one root per key";
            return Err(BuildError::Keys { clip: keys.name.clone(), reason });
        }
        Ok(())
    }

    pub(crate) fn parent(&self, joint: usize) -> Option<usize> {
        self.parents.get(joint).filter(|&&parent| parent != NO_PARENT).map(|&parent| parent.into())
    }

    /// Local rotations of one key and the pelvis, leg lengths, to model space; root motion left out.
    pub(crate) fn pose(&self, rotations: &[DQuat], pelvis: DVec3) -> Vec<Placed> {
        let mut out: Vec<Placed> = Vec::with_capacity(rotations.len());
        for (joint, local) in rotations.iter().enumerate() {
            let none = Placed { at: DVec3::ZERO, turn: DQuat::IDENTITY };
            let above = self.parent(joint).map_or(none, |parent| out[parent]);
            let moved = if joint == self.pelvis { pelvis * self.leg } else { DVec3::ZERO };
            let at = above.at + above.turn * self.offsets[joint] + moved;
            out.push(Placed { at, turn: (above.turn * *local).normalize() });
        }
        out
    }
}

/// Root of one key over the ground of the first: metres and radians.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground {
    x: f64,
    z: f64,
    pub yaw: f64,
}

impl Ground {
    pub(crate) fn at(keys: &MotionKeys, key: usize, leg: f64) -> Self {
        let [x, z, yaw] = keys.root[key];
        Self { x: x * leg, z: z * leg, yaw }
    }

    /// From this root's axes to the ground.
    pub(crate) fn out(&self, p: DVec3) -> DVec3 {
        DVec3::new(self.x, 0.0, self.z) + DQuat::from_rotation_y(self.yaw) * p
    }

    /// From the ground to this root's axes.
    pub(crate) fn back(&self, p: DVec3) -> DVec3 {
        DQuat::from_rotation_y(-self.yaw) * (p - DVec3::new(self.x, 0.0, self.z))
    }
}
