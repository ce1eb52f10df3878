//! Where joints are: read back from the slots that the last frame wrote.
//!
//! A palette entry is `S = T(x) R(G) C` with the skin's constant `C`, so `S C^-1` is where the joint is and how it has
//! turned since the reference pose; the basis map makes it the joint's own axes. Joints that the skin lacks get an entry
//! of their own behind its ones, with `C` the identity, if they are [kept](Crowd::keep_joints).

use glam::{Quat, Vec3};

use super::{Crowd, Handle, RigId, WorldTransform};
use crate::crowd::detail::joint_of;
use crate::crowd::output::{PackedSkin, PaletteFormat, PoseHeader};
use crate::crowd::shown::ShownPose;
use crate::error::BuildError;
use crate::rig::{NO_PARENT, Rig};

/// A place and a turn relative to something: to a parent joint, to a joint, or to a character's root.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct LocalTransform {
    /// Metres.
    pub translation: [f32; 3],
    /// Unit quaternion (x, y, z, w).
    pub rotation: [f32; 4],
}

impl LocalTransform {
    /// No difference.
    pub const IDENTITY: Self = Self { translation: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] };

    fn parts(&self) -> (Vec3, Quat) {
        (Vec3::from_array(self.translation), Quat::from_array(self.rotation))
    }

    fn of(translation: Vec3, rotation: Quat) -> Self {
        Self { translation: translation.to_array(), rotation: rotation.to_array() }
    }

    /// `next`, which is relative to this one, relative to what this one is relative to.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let ((p, q), (v, r)) = (self.parts(), next.parts());
        Self::of(p + q * v, (q * r).normalize())
    }

    /// The way back.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let (p, q) = self.parts();
        Self::of(q.conjugate() * -p, q.conjugate())
    }
}

impl WorldTransform {
    /// What is `local` to this place, in the world.
    #[must_use]
    pub fn then(&self, local: &LocalTransform) -> Self {
        let own = LocalTransform { translation: self.position, rotation: self.rotation };
        let LocalTransform { translation, rotation } = own.then(local);
        Self { position: translation, rotation }
    }

    /// Where a prop is whose `grip` (relative to the prop) lies at this place: a sword in a hand's socket, a rider's seat
    /// on a saddle's.
    #[must_use]
    pub fn holding(&self, grip: &LocalTransform) -> Self {
        self.then(&grip.inverse())
    }
}

/// A place on a character that things are attached to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Socket {
    /// Joint of the rig's topology; [`Rig::order`] tells those of the file.
    pub joint: u16,
    /// Relative to the joint, in its own axes as the file has them.
    pub local: LocalTransform,
}

impl Crowd {
    /// Has every slot of a rig carry these joints of its topology, also where a skin lacks them, behind the entries of
    /// the skin: for [`joint_world`](Self::joint_world) and all that is built upon it. Slots grow by an entry for each
    /// joint that a skin lacks; those of living characters may move, and what the last frame wrote of them is lost. Takes
    /// the place of what was kept before. Right after [`add_rig`](Self::add_rig) it costs nothing.
    ///
    /// # Errors
    /// If there is no such rig, or it lacks a joint.
    pub fn keep_joints(&mut self, rig: RigId, joints: &[u16]) -> Result<(), BuildError> {
        let at = usize::from(rig.0);
        let Some((body, topology)) = self.rigs.get(at) else {
            return Err(BuildError::Unknown { what: "rig", index: at });
        };
        if let Some(&joint) = joints.iter().find(|&&joint| usize::from(joint) >= body.topology().len()) {
            return Err(BuildError::Unknown { what: "joint", index: joint.into() });
        }
        let topology = usize::from(*topology);
        let mut skins = Vec::new();
        for skin in body.skins() {
            let packed = PackedSkin::build(body, skin, usize::MAX, self.config.format)?;
            skins.push(packed.keeping(body, usize::MAX, self.config.format, joints));
        }
        let kept = &self.topologies[topology].kept;
        let lesser = super::tiers::lesser_skins(body, kept, &self.config, joints)?;
        self.check_refit(rig.0, &skins)?;
        (self.rig_data[at].skins, self.rig_data[at].lesser) = (skins, lesser);
        self.rig_data[at].kept = joints.to_vec();
        self.refit_slots(rig.0)?;
        self.reserve_scratch();
        Ok(())
    }

    /// Where a joint is in the axes of its character's render root, and how it is turned: model space, the joint's own
    /// axes as the file has them. As it is [shown](Self::shown_pose): between two poses, with the render root of then, where
    /// characters are posed less often than every frame.
    /// Within 5e-6 m and 4e-6 rad of the frame's own values with palettes of 32-bit floats; within 0.2 mm and 1e-4 rad for a
    /// grown person with [`PaletteFormat::Snorm16`].
    ///
    /// # Errors
    /// If the handle is stale, no frame has posed the character yet, there is no such joint, or the palette has no entry
    /// for it: see [`keep_joints`](Self::keep_joints).
    pub fn joint_model(&self, handle: Handle, joint: u16) -> Result<LocalTransform, BuildError> {
        let pose = self.posed(handle)?;
        let known = usize::from(joint) < pose.rig.topology().len();
        if !known {
            return Err(BuildError::Unknown { what: "joint", index: joint.into() });
        }
        let Some((at, turn)) = pose.joint(joint.into()) else {
            return Err(BuildError::JointNotKept { rig: pose.rig.name().to_owned(), joint: joint.into() });
        };
        Ok(LocalTransform::of(at, (turn * pose.rig.rotations()[usize::from(joint)].as_quat()).normalize()))
    }

    /// Where a joint is in the world: [`joint_model`](Self::joint_model) on the render root of the same frame.
    ///
    /// # Errors
    /// As [`joint_model`](Self::joint_model).
    pub fn joint_world(&self, handle: Handle, joint: u16) -> Result<WorldTransform, BuildError> {
        let local = self.joint_model(handle, joint)?;
        let PoseHeader { position, rotation, .. } = self.posed(handle)?.header;
        Ok(WorldTransform { position, rotation }.then(&local))
    }

    /// Where a socket is in the world.
    ///
    /// # Errors
    /// As [`joint_model`](Self::joint_model), and if the socket's own place is not finite, 1e6 m or more away, or not
    /// turned by a unit quaternion.
    pub fn socket_world(&self, handle: Handle, socket: &Socket) -> Result<WorldTransform, BuildError> {
        let LocalTransform { translation: position, rotation } = socket.local;
        super::check_transform(&WorldTransform { position, rotation })?;
        Ok(self.joint_world(handle, socket.joint)?.then(&socket.local))
    }

    /// Many sockets at once, from slice to slice, as far as both go; returns how many there were. Where one is refused
    /// (see [`socket_world`](Self::socket_world)), its element stays as it is.
    pub fn sockets_into(&self, sockets: &[(Handle, Socket)], out: &mut [WorldTransform]) -> usize {
        let mut told = 0;
        for ((handle, socket), out) in sockets.iter().zip(out) {
            if let Ok(world) = self.socket_world(*handle, socket) {
                *out = world;
                told += 1;
            }
        }
        told
    }

    /// The pose as an engine keeps it: per joint of the *file*, in its order, translation and rotation relative to the
    /// parent joint, in the file's axes (`R = A_p^-1 A` of the model rotations `A = G B`, which is `r B^-1 M B`); of
    /// roots, relative to the render root. Scale is none. Joints that the palette lacks keep their reference pose below
    /// their parent, which changes no other joint; [`keep_joints`](Self::keep_joints) has them told too.
    ///
    /// # Errors
    /// If the handle is stale, no frame has posed the character yet, or `out` is not one element per joint.
    pub fn local_pose_into(&self, handle: Handle, out: &mut [LocalTransform]) -> Result<(), BuildError> {
        let pose = self.posed(handle)?;
        let need = pose.rig.order().len();
        if out.len() != need {
            return Err(BuildError::Length { what: "the list for a pose", have: out.len(), need });
        }
        pose.local(out);
        Ok(())
    }

    /// Poses of many, as [`local_pose_into`](Self::local_pose_into): `stride` elements each, of which those past a rig's
    /// joints stay as they are. Returns how many there were; who is stale, not posed yet or has more joints than `stride`
    /// is left out.
    ///
    /// # Errors
    /// If `out` is not `stride` elements for each handle.
    pub fn local_poses_into(
        &self,
        handles: &[Handle],
        stride: usize,
        out: &mut [LocalTransform],
    ) -> Result<usize, BuildError> {
        let need = handles.len().saturating_mul(stride);
        if out.len() != need {
            return Err(BuildError::Length { what: "the list for poses", have: out.len(), need });
        }
        let mut told = 0;
        for (at, &handle) in handles.iter().enumerate() {
            let Ok(pose) = self.posed(handle) else { continue };
            if let Some(out) = out[at * stride..][..stride].get_mut(..pose.rig.order().len()) {
                pose.local(out);
                told += 1;
            }
        }
        Ok(told)
    }

    pub(super) fn posed(&self, handle: Handle) -> Result<Posed<'_>, BuildError> {
        let (block, lane) = self.block(handle)?;
        let shown = self.shown_pose(handle)?;
        let rig = usize::from(block.rigs[lane]);
        let skin = &self.rig_data[rig].skins[usize::from(block.skins[lane])];
        let format = self.config.format;
        Ok(Posed { header: shown.header(), shown, rig: &self.rigs[rig].0, skin, format })
    }
}

/// One character's slot with what it takes to read it.
pub(super) struct Posed<'a> {
    pub header: PoseHeader,
    shown: ShownPose<'a>,
    pub rig: &'a Rig,
    pub skin: &'a PackedSkin,
    format: PaletteFormat,
}

impl Posed<'_> {
    /// Model position of a joint, and its turn since the reference pose; `None` without an entry.
    pub fn joint(&self, joint: usize) -> Option<(Vec3, Quat)> {
        let at = self.skin.carrier(joint)?;
        self.entry(at)
    }

    /// Where the joint of an entry is, and its turn.
    pub fn entry(&self, at: usize) -> Option<(Vec3, Quat)> {
        joint_of(&self.skin.entries[at], self.format, &self.shown.matrix(at)?)
    }

    fn local(&self, out: &mut [LocalTransform]) {
        let (rig, topology) = (self.rig, self.rig.topology());
        let file = |joint: usize| usize::from(rig.order()[joint]);
        // Model space first; parents come first.
        for joint in 0..topology.len() {
            let basis = rig.rotations()[joint].as_quat();
            let parent = topology.parents()[joint];
            let model = match self.joint(joint) {
                Some((at, turn)) => (at, turn * basis),
                None if parent == NO_PARENT => (Vec3::from_array(rig.offsets()[joint]), basis),
                None => {
                    let (at, axes) = out[file(parent.into())].parts();
                    let turn = axes * rig.rotations()[usize::from(parent)].as_quat().conjugate();
                    (at + turn * Vec3::from_array(rig.offsets()[joint]), turn * basis)
                }
            };
            out[file(joint)] = LocalTransform::of(model.0, model.1.normalize());
        }
        // From the last on, so that parents are still in model space.
        for joint in (0..topology.len()).rev() {
            let parent = topology.parents()[joint];
            if parent != NO_PARENT {
                out[file(joint)] = out[file(parent.into())].inverse().then(&out[file(joint)]);
            }
        }
    }
}

impl PackedSkin {
    /// The entry that tells where a joint is.
    fn carrier(&self, joint: usize) -> Option<usize> {
        self.carriers.get(joint).copied().filter(|&at| at != u16::MAX).map(usize::from)
    }
}
