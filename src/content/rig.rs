//! Skeletons: the same anatomy on rigs whose joint sets, axes, reference poses and names differ.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4};

use glam::{DMat3, DMat4, DQuat, DVec3, Mat4, Vec3};

use super::anatomy::{Anatomy, mirror_point};
use super::carriage::{Carriage, Chains, LegRotations, Posture};
use super::plan::BodyPlan;
use super::rng::Rng;
use super::{mesh, names};
use crate::clip::RootSource;
use crate::rig::{
    Digit, Limb, RawCharacter, RawJoint, RawSkeleton, ReferencePose, RigSource, Role, RoleMap, Side, Sole,
    Transform,
};

/// The built-in rigs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RigKind {
    /// 64 joints, X along the bone, T pose, travel in a root joint, three spine joints, five twist
    /// joints a side.
    Biped,
    /// 76 joints, Y along the bone with rolls, A pose, travel in a root joint, four spine joints,
    /// eight twist joints a side, and five joints without a role.
    Deform,
    /// 52 joints, all axes aligned with the model, T pose, travel in the hips, no twist joints.
    Aligned,
    /// 55 joints, Y along the bone, other up axes, low A pose, five spine joints, travel in the hips
    /// below a root joint that stays where it is.
    Engine,
}

impl RigKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Biped, Self::Deform, Self::Aligned, Self::Engine];

    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Biped => "biped",
            Self::Deform => "deform",
            Self::Aligned => "aligned",
            Self::Engine => "engine",
        }
    }

    pub(super) const fn chains(self) -> Chains {
        match self {
            Self::Biped => Chains { spine: 3, neck: 2, twists: [1, 1, 1, 2] },
            Self::Deform => Chains { spine: 4, neck: 2, twists: [2, 2, 2, 2] },
            Self::Aligned => Chains { spine: 3, neck: 1, twists: [0; 4] },
            Self::Engine => Chains { spine: 5, neck: 1, twists: [0; 4] },
        }
    }

    /// Angle between arm and body in the reference pose.
    const fn rest_abduct(self) -> f64 {
        match self {
            Self::Biped | Self::Aligned => FRAC_PI_2,
            Self::Deform => FRAC_PI_4,
            Self::Engine => 0.55,
        }
    }

    const fn root(self) -> Option<&'static str> {
        match self {
            Self::Biped => Some("Bip"),
            Self::Deform | Self::Engine => Some("root"),
            Self::Aligned => None,
        }
    }

    /// Where clips on this rig keep their travel.
    pub const fn root_source(self) -> RootSource {
        match self {
            Self::Biped | Self::Deform => RootSource::Joint(0),
            Self::Aligned | Self::Engine => RootSource::Hips,
        }
    }
}

/// Where the sole touches the ground, relative to the foot joint (ankle), model axes at the reference
/// pose, metres. The ball is also where the toe joint is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolePoints {
    /// Back of the heel.
    pub heel: Vec3,
    /// Ball of the foot.
    pub ball: Vec3,
}

/// A built-in character, as an importer would hand it over, and what the clip synthesis knows of it.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    /// Skeleton, skins, meshes.
    pub character: RawCharacter,
    /// Role of each joint that has one.
    pub roles: RoleMap,
    /// Which rig.
    pub kind: RigKind,
    /// Proportions.
    pub plan: BodyPlan,
    pub(super) anatomy: Anatomy,
    /// Joint axes in the T pose, model space: animated model rotation = (rotation since T) * axes.
    pub(super) axes: Vec<DQuat>,
}

impl BuiltIn {
    /// Sole points of a foot.
    pub fn sole(&self, side: Side) -> SolePoints {
        let a = &self.anatomy;
        let point = |p: DVec3| mirror_point(side, p - a.ankle).as_vec3();
        SolePoints { heel: point(a.heel), ball: point(a.ball) }
    }

    /// Thigh plus shin, metres.
    pub fn leg_length(&self) -> f64 {
        self.anatomy.leg()
    }

    /// The T pose, in which all built-in rigs agree whatever their rest pose is.
    pub fn reference(&self) -> ReferencePose {
        let mut models: Vec<DMat4> = Vec::new();
        for (joint, axes) in self.character.skeleton.joints.iter().zip(&self.axes) {
            let local = joint.rest.translation.as_dvec3();
            let at = joint.parent.map_or(local, |parent| models[usize::from(parent)].transform_point3(local));
            models.push(DMat4::from_rotation_translation(*axes, at));
        }
        ReferencePose { models }
    }

    /// What a [`Rig`](crate::rig::Rig) is built from: T reference and exact soles.
    pub fn rig_source(&self) -> RigSource<'_> {
        let sole = |side| {
            let SolePoints { heel, ball } = self.sole(side);
            Some(Sole { heel: heel.to_array(), ball: ball.to_array() })
        };
        RigSource {
            character: &self.character,
            roles: &self.roles,
            reference: self.reference(),
            soles: [sole(Side::Left), sole(Side::Right)],
        }
    }

    /// Rotation of a joint since the T pose: that of its role, or of the nearest ancestor that has one.
    pub(super) fn rotation(&self, posture: &Posture, joint: usize, root: DQuat) -> DQuat {
        let mut at = joint;
        loop {
            if let Some(role) = self.roles.role(at as u16) {
                return posture.rotation(role);
            }
            match self.character.skeleton.joints[at].parent {
                Some(parent) => at = parent.into(),
                None => return root,
            }
        }
    }
}

struct Plan {
    name: String,
    role: Option<Role>,
    parent: Option<usize>,
    position: DVec3,
}

/// Builds a character: skeleton, skins and meshes of that rig with those proportions.
pub fn character(kind: RigKind, plan: &BodyPlan) -> BuiltIn {
    let anatomy = Anatomy::new(plan);
    let joints = joint_list(kind, &anatomy);
    let chains = kind.chains();
    let mut roles = RoleMap::new();
    for (index, joint) in joints.iter().enumerate() {
        if let Some(role) = joint.role {
            roles.set(role, index as u16);
        }
    }

    let rest =
        Posture::new(chains, &Carriage::reference(kind.rest_abduct()), 0.0, [LegRotations::default(); 2]);
    let turned = |mut at: usize| loop {
        match (joints[at].role, joints[at].parent) {
            (Some(role), _) => return rest.rotation(role),
            (None, Some(parent)) => at = parent,
            (None, None) => return DQuat::IDENTITY,
        }
    };
    let mut positions: Vec<DVec3> = Vec::with_capacity(joints.len());
    let mut models: Vec<DQuat> = Vec::with_capacity(joints.len());
    let mut axes = Vec::with_capacity(joints.len());
    let mut raw = Vec::with_capacity(joints.len());
    for (index, joint) in joints.iter().enumerate() {
        let since_t = turned(index);
        let direction = since_t * bone_direction(&joints, index, &anatomy);
        let model = joint_axes(kind, joint.role, direction);
        let (position, local) = match joint.parent {
            Some(p) => {
                let offset = joint.position - joints[p].position;
                (positions[p] + turned(p) * offset, models[p].inverse() * model)
            }
            None => (joint.position, model),
        };
        let translation = match joint.parent {
            Some(p) => models[p].inverse() * (position - positions[p]),
            None => position,
        };
        let rest = Transform::rigid(translation.as_vec3(), local.normalize().as_quat());
        axes.push((since_t.inverse() * model).normalize());
        positions.push(position);
        models.push(model);
        raw.push(RawJoint { name: joint.name.clone(), parent: joint.parent.map(|p| p as u16), rest });
    }
    let skeleton = RawSkeleton { joints: raw };
    let inverse_binds: Vec<Mat4> = positions
        .iter()
        .zip(&models)
        .map(|(&p, &q)| glam::DMat4::from_rotation_translation(q, p).inverse().as_mat4())
        .collect();
    let moved: Vec<mesh::JointRest> =
        joints.iter().enumerate().map(|(i, joint)| (joint.position, positions[i], turned(i))).collect();
    let stuff = mesh::Stuff { anatomy: &anatomy, roles: &roles, rest: &moved };
    let coat = matches!(kind, RigKind::Deform | RigKind::Engine);
    let (skins, meshes) = mesh::build(&stuff, &inverse_binds, coat);
    let character = RawCharacter { name: kind.name().to_owned(), skeleton, skins, meshes };
    BuiltIn { character, roles, kind, plan: anatomy.plan, anatomy, axes }
}

/// `n` characters over all rigs and four builds, each with proportions of its own; the same for the
/// same seed.
pub fn variants(seed: u64, n: usize) -> Vec<BuiltIn> {
    let mut rng = Rng::new(seed);
    let builds = [BodyPlan::adult(), BodyPlan::tall(), BodyPlan::stocky(), BodyPlan::child()];
    (0..n)
        .map(|i| {
            let plan = builds[(i / RigKind::ALL.len()) % builds.len()].varied(&mut rng);
            let mut built = character(RigKind::ALL[i % RigKind::ALL.len()], &plan);
            built.character.name = format!("{}-{i}", built.kind.name());
            built
        })
        .collect()
}

fn joint_list(kind: RigKind, anatomy: &Anatomy) -> Vec<Plan> {
    let chains = kind.chains();
    let mut list: Vec<Plan> = Vec::new();
    if let Some(root) = kind.root() {
        list.push(Plan { name: root.to_owned(), role: None, parent: None, position: DVec3::ZERO });
    }
    let mut add = |role: Role, parent: Option<Role>| {
        let twists = if let Role::Twist(_, limb, _) = role { chains.twists(limb) } else { 0 };
        let parent = match parent {
            Some(parent) => list.iter().position(|j| j.role == Some(parent)),
            None => (!list.is_empty()).then_some(0),
        };
        list.push(Plan {
            name: names::name(kind, role),
            role: Some(role),
            parent,
            position: anatomy.position(role, chains.spine, chains.neck, twists),
        });
    };
    let (spine_end, neck_end) = (Role::Spine(chains.spine as u8 - 1), Role::Neck(chains.neck as u8 - 1));
    add(Role::Hips, None);
    for side in Side::BOTH {
        add(Role::Thigh(side), Some(Role::Hips));
        for i in 0..chains.twists(Limb::Thigh) {
            add(Role::Twist(side, Limb::Thigh, i as u8), Some(Role::Thigh(side)));
        }
        add(Role::Shin(side), Some(Role::Thigh(side)));
        for i in 0..chains.twists(Limb::Shin) {
            add(Role::Twist(side, Limb::Shin, i as u8), Some(Role::Shin(side)));
        }
        add(Role::Foot(side), Some(Role::Shin(side)));
        add(Role::Toe(side), Some(Role::Foot(side)));
    }
    for i in 0..chains.spine as u8 {
        add(Role::Spine(i), Some(if i == 0 { Role::Hips } else { Role::Spine(i - 1) }));
    }
    for i in 0..chains.neck as u8 {
        add(Role::Neck(i), Some(if i == 0 { spine_end } else { Role::Neck(i - 1) }));
    }
    add(Role::Head, Some(neck_end));
    for side in Side::BOTH {
        add(Role::Clavicle(side), Some(spine_end));
        add(Role::UpperArm(side), Some(Role::Clavicle(side)));
        for i in 0..chains.twists(Limb::UpperArm) {
            add(Role::Twist(side, Limb::UpperArm, i as u8), Some(Role::UpperArm(side)));
        }
        add(Role::Forearm(side), Some(Role::UpperArm(side)));
        for i in 0..chains.twists(Limb::Forearm) {
            add(Role::Twist(side, Limb::Forearm, i as u8), Some(Role::Forearm(side)));
        }
        add(Role::Hand(side), Some(Role::Forearm(side)));
        for digit in Digit::ALL {
            for i in 0..3 {
                let parent = if i == 0 { Role::Hand(side) } else { Role::Finger(side, digit, i - 1) };
                add(Role::Finger(side, digit, i), Some(parent));
            }
        }
    }
    if kind == RigKind::Deform {
        extras(&mut list, anatomy);
    }
    list
}

/// Joints that no clip knows: jaw, eyes, and a grip in each hand.
fn extras(list: &mut Vec<Plan>, anatomy: &Anatomy) {
    let h = anatomy.crown.y - anatomy.head.y;
    let grip = anatomy.wrist + DVec3::new(0.5, -0.12, 0.06) * anatomy.hand();
    let spots = [
        ("jaw", Role::Head, anatomy.head + DVec3::new(0.0, 0.12, 0.25) * h),
        ("eye.L", Role::Head, anatomy.head + DVec3::new(0.15, 0.48, 0.36) * h),
        ("eye.R", Role::Head, anatomy.head + DVec3::new(-0.15, 0.48, 0.36) * h),
        ("grip.L", Role::Hand(Side::Left), grip),
        ("grip.R", Role::Hand(Side::Right), mirror_point(Side::Right, grip)),
    ];
    for (name, parent, position) in spots {
        let parent = list.iter().position(|j| j.role == Some(parent));
        list.push(Plan { name: name.to_owned(), role: None, parent, position });
    }
}

/// Where the bone of a joint points in the T pose.
fn bone_direction(joints: &[Plan], index: usize, anatomy: &Anatomy) -> DVec3 {
    let Some(role) = joints[index].role else {
        return if joints[index].parent.is_none() { DVec3::Y } else { DVec3::Z };
    };
    let to = |target: Role| {
        let other = joints.iter().find(|j| j.role == Some(target))?;
        Some((other.position - joints[index].position).normalize())
    };
    let found = match role {
        Role::Hips => to(Role::Spine(0)),
        Role::Spine(i) => to(Role::Spine(i + 1)).or_else(|| to(Role::Neck(0))),
        Role::Neck(i) => to(Role::Neck(i + 1)).or_else(|| to(Role::Head)),
        Role::Head => None,
        Role::Clavicle(s) => to(Role::UpperArm(s)),
        Role::UpperArm(s) | Role::Twist(s, Limb::UpperArm, _) => to(Role::Forearm(s)),
        Role::Forearm(s) | Role::Twist(s, Limb::Forearm, _) => to(Role::Hand(s)),
        Role::Hand(s) => to(Role::Finger(s, Digit::Middle, 0)),
        Role::Finger(s, digit, i) if i < 2 => to(Role::Finger(s, digit, i + 1)),
        Role::Finger(..) => {
            let parent = joints[index].parent.map_or(DVec3::ZERO, |p| joints[p].position);
            Some((joints[index].position - parent).normalize())
        }
        Role::Thigh(s) | Role::Twist(s, Limb::Thigh, _) => to(Role::Shin(s)),
        Role::Shin(s) | Role::Twist(s, Limb::Shin, _) => to(Role::Foot(s)),
        Role::Foot(s) => to(Role::Toe(s)),
        Role::Toe(_) => Some((anatomy.toe_tip - anatomy.ball).normalize()),
    };
    found.unwrap_or(DVec3::Y)
}

/// Model-space axes of a joint in the reference pose.
fn joint_axes(kind: RigKind, role: Option<Role>, bone: DVec3) -> DQuat {
    let arm = matches!(
        role,
        Some(
            Role::Clavicle(_)
                | Role::UpperArm(_)
                | Role::Forearm(_)
                | Role::Hand(_)
                | Role::Finger(..)
                | Role::Twist(_, Limb::UpperArm | Limb::Forearm, _)
        )
    );
    let right = bone.x < -0.3;
    match kind {
        RigKind::Aligned => DQuat::IDENTITY,
        RigKind::Biped => {
            // Z is the hinge; the right side's axes are those of the left turned half round.
            let hinge = if arm { DVec3::Y } else { DVec3::X };
            frame(0, bone, 2, if right { -hinge } else { hinge })
        }
        RigKind::Deform => {
            let up = if arm { DVec3::Y } else { DVec3::Z };
            let roll = match role {
                Some(Role::Thigh(_)) => 0.21,
                Some(Role::Shin(_)) => -0.13,
                Some(Role::Foot(_)) => 2.9,
                Some(Role::Toe(_)) => std::f64::consts::PI,
                Some(Role::UpperArm(_)) => -1.1,
                Some(Role::Forearm(_)) => 0.6,
                Some(Role::Hand(_)) => 1.57,
                Some(Role::Clavicle(_)) => 0.4,
                Some(Role::Finger(..)) => -0.5,
                _ => 0.0,
            };
            frame(1, bone, 2, up) * DQuat::from_rotation_y(if right { -roll } else { roll })
        }
        RigKind::Engine => {
            // X to the side, reversed down the legs, so that thighs are turned half round about the bone.
            let side = if arm { DVec3::Z } else { DVec3::X };
            frame(1, bone, 0, if bone.y < -0.3 { -side } else { side })
        }
    }
}

/// Rotation whose axis number `first` is `a` and whose axis number `second` is as near `b` as it can be.
fn frame(first: usize, a: DVec3, second: usize, b: DVec3) -> DQuat {
    let a = a.normalize();
    let fallback = if a.y.abs() < 0.9 { DVec3::Y } else { DVec3::Z };
    let b = if b.cross(a).length_squared() > 1e-3 { b } else { fallback };
    let b = (b - a * b.dot(a)).normalize();
    let mut columns = [DVec3::ZERO; 3];
    columns[first] = a;
    columns[second] = b;
    let third = 3 - first - second;
    let cyclic = (first + 1) % 3 == second;
    columns[third] = if cyclic { a.cross(b) } else { b.cross(a) };
    DQuat::from_mat3(&DMat3::from_cols(columns[0], columns[1], columns[2]))
}
