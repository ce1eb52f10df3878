//! Bodies of the built-in rigs, turned and bent.

use std::f64::consts::TAU;

use glam::{DMat4, DQuat, Quat, Vec3};
use throng::clip::{Curve, Interpolation, JointTracks, RawClip};
use throng::content::{self, BodyPlan, BuiltIn, RigKind};
use throng::retarget::BindSource;
use throng::rig::{
    RawCharacter, RawJoint, RawSkeleton, ReferencePose, Rig, RigSource, RoleMap, Sole, Transform,
};

/// SplitMix64.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
    /// In 0..1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Spread evenly: Shoemake, Uniform random rotations.
    pub fn rotation(&mut self) -> DQuat {
        let (u, a, b) = (self.unit(), TAU * self.unit(), TAU * self.unit());
        let (low, high) = ((1.0 - u).sqrt(), u.sqrt());
        DQuat::from_xyzw(low * a.sin(), low * a.cos(), high * b.sin(), high * b.cos()).normalize()
    }
}

/// A character with all that retargeting asks for.
#[derive(Clone)]
pub struct Body {
    pub character: RawCharacter,
    pub roles: RoleMap,
    pub reference: ReferencePose,
    pub soles: [Option<Sole>; 2],
}

impl Body {
    pub fn built(built: &BuiltIn) -> Self {
        let source = built.rig_source();
        Self {
            character: built.character.clone(),
            roles: built.roles.clone(),
            reference: source.reference.clone(),
            soles: source.soles,
        }
    }
    pub fn source(&self) -> BindSource<'_> {
        BindSource { skeleton: &self.character.skeleton, roles: &self.roles, reference: &self.reference }
    }
    pub fn rig(&self) -> Rig {
        Rig::build(&RigSource {
            character: &self.character,
            roles: &self.roles,
            reference: self.reference.clone(),
            soles: self.soles,
        })
        .expect("the body is valid")
    }
    pub fn parent(&self, joint: usize) -> Option<usize> {
        self.character.skeleton.joints[joint].parent.map(usize::from)
    }

    /// The same body with every joint's axes turned by a rotation of its own.
    pub fn reoriented(&self, turns: &[DQuat]) -> Self {
        let mut other = self.clone();
        for joint in 0..turns.len() {
            let above = self.parent(joint).map_or(DQuat::IDENTITY, |parent| turns[parent]);
            let rest = &mut other.character.skeleton.joints[joint].rest;
            rest.rotation = turned(above, rest.rotation, turns[joint]);
            rest.translation = (above.inverse() * rest.translation.as_dvec3()).as_vec3();
            other.reference.models[joint] *= DMat4::from_quat(turns[joint]);
        }
        for skin in &mut other.character.skins {
            for (joint, inverse) in skin.joints.iter().zip(&mut skin.inverse_binds) {
                let back = DMat4::from_quat(turns[usize::from(*joint)].inverse());
                *inverse = (back * inverse.as_dmat4()).as_mat4();
            }
        }
        other
    }

    /// A clip of this body for the same body with axes turned.
    pub fn reoriented_clip(&self, clip: &RawClip, turns: &[DQuat]) -> RawClip {
        let mut clip = clip.clone();
        for track in &mut clip.tracks {
            let joint = usize::from(track.joint);
            let above = self.parent(joint).map_or(DQuat::IDENTITY, |parent| turns[parent]);
            for q in track.rotation.iter_mut().flat_map(|curve| &mut curve.values) {
                *q = turned(above, *q, turns[joint]);
            }
            for t in track.translation.iter_mut().flat_map(|curve| &mut curve.values) {
                *t = (above.inverse() * t.as_dvec3()).as_vec3();
            }
        }
        clip
    }
}

pub fn turned(above: DQuat, q: Quat, own: DQuat) -> Quat {
    (above.inverse() * q.as_dquat().normalize() * own).normalize().as_quat()
}

pub fn turns(seed: u64, count: usize) -> Vec<DQuat> {
    let mut rng = Rng::new(seed);
    (0..count).map(|_| rng.rotation()).collect()
}

pub fn bodies() -> Vec<BuiltIn> {
    let plans = [BodyPlan::adult(), BodyPlan::tall(), BodyPlan::child(), BodyPlan::stocky()];
    RigKind::ALL.into_iter().zip(plans).map(|(kind, plan)| content::character(kind, &plan)).collect()
}

/// A clip that holds the body's reference pose.
pub fn reference_clip(body: &Body) -> RawClip {
    let models = &body.reference.models;
    let tracks = (0..models.len())
        .map(|joint| {
            let above = body.parent(joint).map_or(DMat4::IDENTITY, |parent| models[parent]);
            let (_, rotation, translation) =
                (above.inverse() * models[joint]).to_scale_rotation_translation();
            JointTracks {
                joint: joint as u16,
                rotation: Some(held(rotation.as_quat())),
                translation: Some(held(translation.as_vec3())),
                scale: None,
            }
        })
        .collect();
    RawClip { name: "reference".into(), duration: 0.5, tracks, ..RawClip::default() }
}

pub fn held<T: Copy>(value: T) -> Curve<T> {
    Curve { times: vec![0.0, 0.5], values: vec![value; 2], interpolation: Interpolation::Linear }
}

/// Root, bone and tip; the bone's axes in the model are `axes`.
pub fn bone(axes: DQuat) -> Body {
    let joint = |name: &str, parent, translation: Vec3, rotation: DQuat| RawJoint {
        name: name.into(),
        parent,
        rest: Transform::rigid(translation, rotation.as_quat()),
    };
    let skeleton = RawSkeleton {
        joints: vec![
            joint("root", None, Vec3::Y, DQuat::IDENTITY),
            joint("side", Some(0), Vec3::X, DQuat::IDENTITY),
            joint("bone", Some(0), Vec3::Y, axes),
            joint("tip", Some(2), Vec3::Y, DQuat::IDENTITY),
        ],
    };
    let reference = ReferencePose::rest(&skeleton);
    let character = RawCharacter { name: "bone".into(), skeleton, ..RawCharacter::default() };
    Body { character, roles: RoleMap::new(), reference, soles: [None; 2] }
}

/// Holds one local rotation of the bone.
pub fn bent(local: DQuat) -> RawClip {
    let track = JointTracks { joint: 2, rotation: Some(held(local.as_quat())), ..JointTracks::default() };
    RawClip { name: "bent".into(), duration: 0.5, tracks: vec![track], ..RawClip::default() }
}
