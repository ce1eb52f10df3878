//! What VRM 0.x and 1.0, and VRM animations, say beyond glTF: which joints are which, who made it, and what swings, aims
//! and looks. The humanoid map becomes roles; the rest is kept as raw data, in the units and axes of the imported
//! skeleton's file.
//!
//! Sources: the VRM 0.x JSON schema (vrm-c/UniVRM) and the specifications VRMC_vrm, VRMC_springBone,
//! VRMC_node_constraint and VRMC_vrm_animation 1.0 (vrm-c/vrm-specification).

mod parse;
mod raw;

use serde::Serialize;

use crate::rig::{Confidence, Digit, Role, RoleFinding, RoleProposal, Side};

pub(super) use parse::read;

/// Which specification a file follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum VrmKind {
    /// `VRM`: looks along -Z in its file.
    Zero,
    /// `VRMC_vrm`: looks along +Z.
    One,
    /// `VRMC_vrm_animation`: clips for any VRM.
    Animation,
}

/// The VRM part of a file. Joints are those of the imported skeleton; what lies on nodes outside of it is left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Vrm {
    /// Which specification.
    pub kind: VrmKind,
    /// Human bones by their name in VRM 1.0, each with its joint.
    pub human_bones: Vec<(String, u16)>,
    /// Who made it, and what may be done with it.
    pub meta: VrmMeta,
    /// Chains that swing.
    pub springs: Vec<VrmSpring>,
    /// What chains do not swing through.
    pub colliders: Vec<VrmCollider>,
    /// Joints that follow others.
    pub constraints: Vec<VrmConstraint>,
    /// How the eyes follow a target.
    pub look_at: Option<VrmLookAt>,
    /// Names of the expressions.
    pub expressions: Vec<String>,
}

/// Who made a model, and what may be done with it, in the words of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VrmMeta {
    /// Name of the model.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Who made it.
    pub authors: Vec<String>,
    /// Name or address of the licence.
    pub license: Option<String>,
    /// Who may act with it.
    pub allowed_user: Option<String>,
}

/// A chain of joints that swing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VrmSpring {
    /// As the file calls it.
    pub name: String,
    /// From the root on. Of VRM 0.x these are the roots only: everything below swings, too.
    pub joints: Vec<VrmSpringJoint>,
    /// Swinging is measured in the space of this joint.
    pub center: Option<u16>,
    /// Colliders, by index.
    pub colliders: Vec<usize>,
}

/// How one joint swings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VrmSpringJoint {
    /// Which.
    pub joint: u16,
    /// Metres about it that do not pass through colliders.
    pub radius: f32,
    /// How strongly it goes back.
    pub stiffness: f32,
    /// Strength and direction of gravity.
    pub gravity: (f32, [f32; 3]),
    /// Share of its velocity that it loses, 0 to 1.
    pub drag: f32,
}

/// A sphere, or a capsule where it has a tail.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VrmCollider {
    /// What it hangs on.
    pub joint: u16,
    /// Metres in the joint's axes.
    pub offset: [f32; 3],
    /// The other end of a capsule.
    pub tail: Option<[f32; 3]>,
    /// Metres.
    pub radius: f32,
}

/// How a joint follows another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum VrmConstraintKind {
    /// Takes its turn about an axis (`X`, `Y`, `Z`).
    Roll(String),
    /// Points an axis (`PositiveX` and the like) at it.
    Aim(String),
    /// Takes its rotation.
    Rotation,
}

/// A joint that follows another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VrmConstraint {
    /// Who follows.
    pub joint: u16,
    /// Whom.
    pub source: u16,
    /// How.
    pub kind: VrmConstraintKind,
    /// How far, 0 to 1.
    pub weight: f32,
}

/// How the eyes follow a target: degrees of the head to degrees or shares of the eyes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct VrmLookAt {
    /// `bone` or `expression`.
    pub kind: String,
    /// From the head, metres.
    pub offset: [f32; 3],
    /// Input and output at the end of the range: inwards, outwards, down, up.
    pub ranges: [[f32; 2]; 4],
}

impl Vrm {
    /// The roles that the human bones are, on top of what names say of twist joints and the like.
    pub(super) fn roles(&self, names: RoleProposal) -> RoleProposal {
        let mut proposal = RoleProposal::default();
        let (mut spine, mut found) = (0, Vec::new());
        for name in ["spine", "chest", "upperChest"] {
            if let Some(joint) = self.joint(name) {
                found.push((Role::Spine(spine), joint));
                spine += 1;
            }
        }
        for (name, joint) in &self.human_bones {
            found.extend(role_of(name).map(|role| (role, *joint)));
        }
        for (role, joint) in found {
            if proposal.map.joint(role).is_none() && proposal.map.role(joint).is_none() {
                proposal.map.set(role, joint);
                let confidence = Confidence::Confirmed;
                proposal.report.findings.push(RoleFinding { role, joint, confidence });
            }
        }
        // Of the body the file has the last word; it says nothing of twist joints.
        for finding in names.report.findings {
            if matches!(finding.role, Role::Twist(..)) && proposal.map.role(finding.joint).is_none() {
                proposal.map.set(finding.role, finding.joint);
                proposal.report.findings.push(finding);
            }
        }
        proposal
    }

    fn joint(&self, name: &str) -> Option<u16> {
        self.human_bones.iter().find(|(own, _)| own == name).map(|(_, joint)| *joint)
    }
}

/// All but the spine, which is counted.
fn role_of(name: &str) -> Option<Role> {
    match name {
        "hips" => return Some(Role::Hips),
        "neck" => return Some(Role::Neck(0)),
        "head" => return Some(Role::Head),
        _ => {}
    }
    let (side, part) = match (name.strip_prefix("left"), name.strip_prefix("right")) {
        (Some(part), _) => (Side::Left, part),
        (_, Some(part)) => (Side::Right, part),
        _ => return None,
    };
    Some(match part {
        "Shoulder" => Role::Clavicle(side),
        "UpperArm" => Role::UpperArm(side),
        "LowerArm" => Role::Forearm(side),
        "Hand" => Role::Hand(side),
        "UpperLeg" => Role::Thigh(side),
        "LowerLeg" => Role::Shin(side),
        "Foot" => Role::Foot(side),
        "Toes" => Role::Toe(side),
        finger => {
            let (digit, rest) = [
                ("Thumb", Digit::Thumb),
                ("Index", Digit::Index),
                ("Middle", Digit::Middle),
                ("Ring", Digit::Ring),
                ("Little", Digit::Little),
            ]
            .into_iter()
            .find_map(|(word, digit)| Some((digit, finger.strip_prefix(word)?)))?;
            let phalanx = match (digit, rest) {
                (Digit::Thumb, "Metacarpal") | (_, "Proximal")
                    if digit != Digit::Thumb || rest == "Metacarpal" =>
                {
                    0
                }
                (Digit::Thumb, "Proximal") | (_, "Intermediate") => 1,
                (_, "Distal") => 2,
                _ => return None,
            };
            Role::Finger(side, digit, phalanx)
        }
    })
}
