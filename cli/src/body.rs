//! A character as the pictures need it: skins that reach every joint, rest pose, extent.

use glam::{Mat4, Quat, Vec3};
use throng::clip::RawClip;
use throng::crowd::SkinnedMesh;
use throng::rig::{RawCharacter, RawMesh, RawSkin, ReferencePose, Role, RoleMap, Sole};

use crate::draw::{Solid, Surface, bones, skin};
use crate::source::Owner;

/// How characters are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Solid bones even where there is a mesh.
    pub bones: bool,
    /// One colour for all of it, or else tinted by side.
    pub colour: Option<Vec3>,
}

/// A character, with one skin more than its file has: the last one lists all joints at rest, so that its
/// palette gives the bones.
pub struct Body {
    pub character: RawCharacter,
    pub roles: RoleMap,
    pub reference: ReferencePose,
    pub soles: [Option<Sole>; 2],
    rest: Vec<Mat4>,
    sides: bones::Sides,
    /// One per mesh; `None` where a mesh cannot be skinned.
    layouts: Vec<Option<SkinnedMesh>>,
    /// How much a picture must show of the resting character, metres; never 0: its height, or its length
    /// where that is more.
    pub extent: f32,
}

/// Where a body is at one moment.
pub struct Pose {
    /// World matrices for each of the skins that [`Body::skins`] asked for, in that order.
    pub palettes: Vec<Vec<Mat4>>,
    /// On the ground under the body.
    pub place: Vec3,
    /// Unit, horizontal.
    pub heading: Vec3,
}

impl Body {
    /// Its skeleton, as the owner of clips.
    pub fn owner(&self) -> Owner {
        Owner {
            adjusted: false,
            skeleton: self.character.skeleton.clone(),
            roles: self.roles.clone(),
            reference: self.reference.clone(),
        }
    }

    /// Takes the character in.
    pub fn new(
        mut character: RawCharacter,
        roles: RoleMap,
        reference: ReferencePose,
        soles: [Option<Sole>; 2],
    ) -> Self {
        let rest = character.skeleton.model_matrices(&character.skeleton.rest_pose());
        character.skins.push(RawSkin {
            name: "bones".to_owned(),
            joints: (0..rest.len() as u16).collect(),
            inverse_binds: rest.iter().map(Mat4::inverse).collect(),
        });
        let sides = bones::Sides::new(&character.skeleton, &roles, &rest);
        let layouts = character.meshes.iter().map(|mesh| SkinnedMesh::new(mesh).ok()).collect();
        let mut body = Self { character, roles, reference, soles, rest, sides, layouts, extent: 1.0 };
        let look = Look { bones: false, colour: Some(Vec3::ONE) };
        let palettes = body.skins(look).iter().map(|&skin| body.palette(skin, &body.rest)).collect();
        let resting = Pose { palettes, place: Vec3::ZERO, heading: Vec3::Z };
        let solids = body.solids(&resting, look);
        let points = solids.iter().flat_map(|solid| solid.positions.iter().copied());
        let (low, high) =
            points.fold(bones::bounds(&body.rest), |(low, high), at| (low.min(at), high.max(at)));
        let size = high - low;
        body.extent = size.y.max(0.6 * size.x).max(0.75 * size.z).max(1e-3);
        body
    }

    /// The skins that drawing needs.
    pub fn skins(&self, look: Look) -> Vec<usize> {
        let all = self.character.skins.len();
        let mut used: Vec<usize> = self.character.meshes.iter().map(|mesh| mesh.skin).collect();
        used.retain(|&skin| skin + 1 < all);
        used.sort_unstable();
        used.dedup();
        if look.bones || used.is_empty() { vec![all - 1] } else { used }
    }

    fn palette(&self, skin: usize, models: &[Mat4]) -> Vec<Mat4> {
        self.character.skins.get(skin).map(|skin| skin::palette(skin, models)).unwrap_or_default()
    }

    /// Triangles in the world.
    pub fn solids(&self, pose: &Pose, look: Look) -> Vec<Solid> {
        let skins = self.skins(look);
        if skins.first() == Some(&(self.character.skins.len() - 1)) {
            let models: Vec<Mat4> =
                pose.palettes[0].iter().zip(&self.rest).map(|(entry, rest)| *entry * *rest).collect();
            let mut solid = bones::solid(&self.character.skeleton, &self.sides, &self.rest, &models);
            if let Some(colour) = look.colour {
                solid.surface = Surface::Plain(colour);
            }
            return vec![solid];
        }
        let posed = |(mesh, layout): (&RawMesh, &Option<SkinnedMesh>)| {
            let at = skins.iter().position(|&skin| skin == mesh.skin)?;
            // What is worn over the body is a little darker than it.
            let shade = |colour| Surface::Plain(colour * if at == 0 { 1.0 } else { 0.6 });
            let surface = look.colour.map_or(Surface::PerVertex, shade);
            let mut solid = skin::solid(mesh, layout.as_ref()?, &pose.palettes[at], surface)?;
            if surface == Surface::PerVertex {
                solid.colours = skin::tints(mesh, &self.character.skins[mesh.skin], &self.sides);
            }
            Some(solid)
        };
        self.character.meshes.iter().zip(&self.layouts).filter_map(posed).collect()
    }

    /// The pose of a clip that was made for this very skeleton; nothing is solved.
    pub fn raw(&self, clip: &RawClip, time: f32, look: Look) -> Pose {
        let skeleton = &self.character.skeleton;
        let models = skeleton.model_matrices(&clip.sample(skeleton, time));
        let hips = self.hips();
        let turn = Quat::from_mat4(&models[hips]) * Quat::from_mat4(&self.rest[hips]).inverse();
        Pose {
            palettes: self.skins(look).iter().map(|&skin| self.palette(skin, &models)).collect(),
            place: models[hips].w_axis.truncate().with_y(0.0),
            heading: (turn * Vec3::Z).with_y(0.0).normalize_or(Vec3::Z),
        }
    }

    /// The joint that carries the body: by role, else the first one that branches.
    fn hips(&self) -> usize {
        let joints = &self.character.skeleton.joints;
        let children =
            |index: usize| joints.iter().filter(|j| j.parent.map(usize::from) == Some(index)).count();
        let branching = || (0..joints.len()).find(|&index| children(index) > 1);
        self.roles.joint(Role::Hips).map(usize::from).or_else(branching).unwrap_or(0)
    }
}
