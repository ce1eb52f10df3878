//! Raw, editable rig data: what importers and generators hand over, checked once.

use glam::{Mat4, Quat, Vec3};

use crate::error::BuildError;

/// Most influences that a vertex keeps; an importer prunes to the largest and renormalises.
pub const MAX_INFLUENCES: usize = 8;

/// Translation (metres), unit rotation and scale of a joint relative to its parent:
/// `p_parent = translation + rotation * (scale * p)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transform {
    /// Metres, in the parent's axes.
    pub translation: Vec3,
    /// Unit quaternion (x, y, z, w).
    pub rotation: Quat,
    /// Per axis, in the joint's own axes.
    pub scale: Vec3,
}

impl Transform {
    /// The neutral element.
    pub const IDENTITY: Self = Self { translation: Vec3::ZERO, rotation: Quat::IDENTITY, scale: Vec3::ONE };

    /// A rigid transform.
    pub const fn rigid(translation: Vec3, rotation: Quat) -> Self {
        Self { translation, rotation, scale: Vec3::ONE }
    }

    /// The same as a column-vector matrix.
    pub fn to_mat4(self) -> Mat4 {
        Mat4::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }

    /// True if every component is finite.
    pub fn is_finite(&self) -> bool {
        self.translation.is_finite() && self.rotation.is_finite() && self.scale.is_finite()
    }
}

/// One joint of a [`RawSkeleton`].
#[derive(Clone, Debug, PartialEq)]
pub struct RawJoint {
    /// As the file spells it; need not be unique, nothing is bound by name alone.
    pub name: String,
    /// Index of the parent, lower than the joint's own; `None` for a root.
    pub parent: Option<u16>,
    /// Local rest transform as the file gives it (after unit and axis conversion).
    pub rest: Transform,
}

/// A joint hierarchy, parents before children, in metres, +Y up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawSkeleton {
    /// Parents first; several roots are allowed.
    pub joints: Vec<RawJoint>,
}

impl RawSkeleton {
    /// Checks order, counts and finiteness.
    ///
    /// # Errors
    /// [`BuildError`] naming the joint that is wrong.
    pub fn validate(&self) -> Result<(), BuildError> {
        if self.joints.is_empty() {
            return Err(BuildError::EmptySkeleton);
        }
        if self.joints.len() > usize::from(u16::MAX) - 1 {
            return Err(BuildError::TooManyJoints {
                have: self.joints.len(),
                limit: usize::from(u16::MAX) - 1,
            });
        }
        for (index, joint) in self.joints.iter().enumerate() {
            if let Some(parent) = joint.parent
                && usize::from(parent) >= index
            {
                return Err(BuildError::JointOrder {
                    joint: joint.name.clone(),
                    index,
                    parent: parent.into(),
                });
            }
            if !joint.rest.is_finite() {
                return Err(BuildError::NonFiniteRest { joint: joint.name.clone(), index });
            }
            if (joint.rest.rotation.length_squared() - 1.0).abs() > 1e-3 {
                return Err(BuildError::RestRotationNotUnit { joint: joint.name.clone(), index });
            }
        }
        Ok(())
    }

    /// Index of the first joint of that name.
    pub fn find(&self, name: &str) -> Option<u16> {
        self.joints.iter().position(|joint| joint.name == name).map(|index| index as u16)
    }

    /// Model-space matrices of a local pose, one per joint. A parent that does not come first counts as none.
    pub fn model_matrices(&self, locals: &[Transform]) -> Vec<Mat4> {
        let mut models: Vec<Mat4> = Vec::with_capacity(self.joints.len());
        for (joint, local) in self.joints.iter().zip(locals) {
            let own = local.to_mat4();
            models.push(match joint.parent.and_then(|parent| models.get(usize::from(parent))) {
                Some(parent) => *parent * own,
                None => own,
            });
        }
        models
    }

    /// Parent of a joint, always lower than the joint itself, whether or not the skeleton has been validated:
    /// walks upward end.
    pub(crate) fn parent(&self, joint: usize) -> Option<usize> {
        self.joints.get(joint)?.parent.map(usize::from).filter(|&parent| parent < joint)
    }

    /// True if `joint` is `ancestor` or below it.
    pub(crate) fn is_below(&self, joint: usize, ancestor: usize) -> bool {
        core::iter::successors(Some(joint), |&at| self.parent(at)).any(|at| at == ancestor)
    }

    /// The local rest pose, one transform per joint.
    pub fn rest_pose(&self) -> Vec<Transform> {
        self.joints.iter().map(|joint| joint.rest).collect()
    }
}

/// Which joints a mesh is bound to, in the order its vertices and the renderer's shader index them.
#[derive(Clone, Debug, PartialEq)]
pub struct RawSkin {
    /// As the file spells it.
    pub name: String,
    /// Palette entry to joint of the skeleton, in file order.
    pub joints: Vec<u16>,
    /// Mesh space to joint space at bind, one per palette entry.
    pub inverse_binds: Vec<Mat4>,
}

/// Triangles of one skin (all primitives of a material-free mesh merged).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawMesh {
    /// As the file spells it.
    pub name: String,
    /// Index into the character's skins.
    pub skin: usize,
    /// Mesh space of that skin.
    pub positions: Vec<[f32; 3]>,
    /// Unit normals, one per position (computed where the file has none).
    pub normals: Vec<[f32; 3]>,
    /// Triangle list.
    pub indices: Vec<u32>,
    /// Palette entries of the skin, largest weight first; unused ones are 0.
    pub joints: Vec<[u16; MAX_INFLUENCES]>,
    /// Sum to one per vertex; unused ones are 0.
    pub weights: Vec<[f32; MAX_INFLUENCES]>,
}

/// A character as a file or a generator describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawCharacter {
    /// File stem or the generator's name.
    pub name: String,
    /// The one hierarchy that skins, meshes and clips refer to.
    pub skeleton: RawSkeleton,
    /// In file order; may be empty (animation-only files).
    pub skins: Vec<RawSkin>,
    /// In file order.
    pub meshes: Vec<RawMesh>,
}
