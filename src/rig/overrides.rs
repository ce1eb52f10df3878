//! What a user knows better: roles by joint name, adjustments of the reference pose, and what hands hold, as a JSON file
//! beside the model.
//!
//! ```json
//! {
//!   "roles": { "Bone.017": "left.forearm", "prop_socket": null },
//!   "reference": { "left.upper_arm": { "roll_deg": 20.0 }, "right.hand": { "direction": [-1, -0.1, 0] } },
//!   "grips": [{ "clip": "Spear_Idle", "first": "right", "start": 0.0, "end": 1.5 }]
//! }
//! ```
//!
//! Roles are spelled as reports print them: `hips`, `spine.0`, `neck.0`, `head`, `left.clavicle`, `right.index.2`,
//! `left.forearm_twist.1`. `null` takes away what was proposed.

use std::collections::BTreeMap;
use std::str::FromStr;

use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

use super::hang::Hang;
use super::object::{by_name, in_list};
use super::{Digit, Grip, Limb, RawSkeleton, ReferencePose, Role, RoleMap, Side};

/// Why overrides cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// Not JSON of that shape.
    #[error("line {line}, column {column}: {reason}")]
    Json {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What the parser says.
        reason: String,
    },
    /// A word that is no role.
    #[error(
        "\"{0}\" is no role; roles are spelled like hips, spine.0, left.upper_arm, right.index.2, left.forearm_twist.0"
    )]
    Role(String),
    /// A joint that is not there.
    #[error("the skeleton has no joint \"{0}\"")]
    Joint(String),
    /// Two joints for one role.
    #[error("\"{first}\" and \"{second}\" both are to be {role}")]
    Twice {
        /// The role.
        role: String,
        /// One joint.
        first: String,
        /// And the other.
        second: String,
    },
    /// A reference pose is adjusted where nothing plays the role.
    #[error("no joint plays {0}, whose reference pose is to be adjusted")]
    Absent(String),
    /// A number that cannot be used.
    #[error("{role}: {what}")]
    Value {
        /// Whose.
        role: String,
        /// What is wrong.
        what: &'static str,
    },
}

/// How one joint, with all that hangs below it, is turned from where the aligned pose has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Adjustment {
    /// Where the bone points from its joint to the next of the body, model axes; its length does not matter.
    pub direction: Option<[f64; 3]>,
    /// Then about the bone, right-handed, degrees.
    pub roll_deg: f64,
}

/// Overrides of one skeleton.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RigOverrides {
    /// Role by joint name; `None` for a joint that has none.
    pub roles: BTreeMap<String, Option<String>>,
    /// By role. Applied from the hips outwards.
    #[serde(deserialize_with = "by_name")]
    pub reference: BTreeMap<String, Adjustment>,
    /// What both hands hold in clips of this body, for bodies that they go onto.
    #[serde(deserialize_with = "in_list")]
    pub grips: Vec<Grip>,
}

impl RigOverrides {
    /// Reads JSON.
    ///
    /// # Errors
    /// Where it is no JSON, has fields of other names, or names what is no role.
    #[cfg(feature = "import")]
    pub fn from_json(text: &str) -> Result<Self, OverrideError> {
        let super::object::Object(out): super::object::Object<Self> =
            serde_json::from_str(text).map_err(|error| OverrideError::Json {
                line: error.line(),
                column: error.column(),
                reason: crate::error::json_reason(&error),
            })?;
        for role in out.roles.values().flatten().chain(out.reference.keys()) {
            Role::from_str(role)?;
        }
        Ok(out)
    }

    /// The roles proposed for a skeleton with these in their places.
    ///
    /// # Errors
    /// If a joint is not there, a word is no role, or two joints are to have one.
    pub fn roles(&self, skeleton: &RawSkeleton, proposed: &RoleMap) -> Result<RoleMap, OverrideError> {
        let mut map = proposed.clone();
        let mut given: BTreeMap<Role, &str> = BTreeMap::new();
        for name in self.roles.keys() {
            let joint = skeleton.find(name).ok_or_else(|| OverrideError::Joint(name.clone()))?;
            map.clear(joint);
        }
        for (name, role) in &self.roles {
            let (Some(joint), Some(role)) = (skeleton.find(name), role) else { continue };
            let role = Role::from_str(role)?;
            if let Some(first) = given.insert(role, name) {
                return Err(OverrideError::Twice {
                    role: role.to_string(),
                    first: first.to_owned(),
                    second: name.clone(),
                });
            }
            map.set(role, joint);
        }
        Ok(map)
    }

    /// A reference pose with the adjustments made. Rest and skin are not touched.
    ///
    /// # Errors
    /// If a role has no joint, or a number is not usable.
    pub fn reference(
        &self,
        skeleton: &RawSkeleton,
        roles: &RoleMap,
        reference: &ReferencePose,
    ) -> Result<ReferencePose, OverrideError> {
        let hang = Hang::of(skeleton, roles);
        let mut pose = reference.clone();
        let mut adjusted = Vec::new();
        for (name, adjustment) in &self.reference {
            let role = Role::from_str(name)?;
            let joint = roles.joint(role).map(usize::from).filter(|&joint| joint < pose.models.len());
            let joint = joint.ok_or_else(|| OverrideError::Absent(name.clone()))?;
            adjusted.push((joint, role, adjustment));
        }
        let place = |joint: usize| hang.order().iter().position(|&at| at == joint);
        adjusted.sort_by_key(|&(joint, ..)| place(joint));
        for (joint, role, adjustment) in adjusted {
            let wrong = |what| Err(OverrideError::Value { role: role.to_string(), what });
            let next = next(role, roles).filter(|&next| hang.is_below(next, joint));
            let bone = next.and_then(|next| (pose.position(next) - pose.position(joint)).try_normalize());
            let Some(mut bone) = bone else {
                return wrong("no joint of the body follows it that would say where it points");
            };
            if let Some(direction) = adjustment.direction {
                let Some(aim) = DVec3::from_array(direction).try_normalize() else {
                    return wrong("its direction has no length or is not finite");
                };
                pose.turn(&hang, joint, DQuat::from_rotation_arc(bone, aim));
                bone = aim;
            }
            if !adjustment.roll_deg.is_finite() {
                return wrong("its roll is not finite");
            }
            if adjustment.roll_deg != 0.0 {
                pose.turn(&hang, joint, DQuat::from_axis_angle(bone, adjustment.roll_deg.to_radians()));
            }
        }
        Ok(pose)
    }
}

/// The joint of the body that a role's bone leads to.
fn next(role: Role, roles: &RoleMap) -> Option<usize> {
    let candidates: Vec<Role> = match role {
        Role::Hips => vec![Role::Spine(0), Role::Neck(0), Role::Head],
        Role::Spine(i) => vec![Role::Spine(i.saturating_add(1)), Role::Neck(0), Role::Head],
        Role::Neck(i) => vec![Role::Neck(i.saturating_add(1)), Role::Head],
        Role::Clavicle(s) => vec![Role::UpperArm(s)],
        Role::UpperArm(s) => vec![Role::Forearm(s)],
        Role::Forearm(s) => {
            vec![Role::Hand(s), Role::Finger(s, Digit::Middle, 0), Role::Finger(s, Digit::Index, 0)]
        }
        Role::Hand(s) => {
            [Digit::Middle, Digit::Index, Digit::Ring].map(|digit| Role::Finger(s, digit, 0)).to_vec()
        }
        Role::Finger(s, digit, i) => vec![Role::Finger(s, digit, i.saturating_add(1))],
        Role::Thigh(s) => vec![Role::Shin(s)],
        Role::Shin(s) => vec![Role::Foot(s)],
        Role::Foot(s) => vec![Role::Toe(s)],
        Role::Head | Role::Toe(_) | Role::Twist(..) => Vec::new(),
    };
    candidates.into_iter().find_map(|role| roles.joint(role)).map(usize::from)
}

impl FromStr for Role {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, OverrideError> {
        parse(text).ok_or_else(|| OverrideError::Role(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Role> {
    let words: Vec<&str> = text.split('.').collect();
    let number = |word: &str| word.parse::<u8>().ok();
    let side = match *words.first()? {
        "left" => Side::Left,
        "right" => Side::Right,
        _ => {
            return match words.as_slice() {
                ["hips"] => Some(Role::Hips),
                ["head"] => Some(Role::Head),
                ["spine", i] => Some(Role::Spine(number(i)?)),
                ["neck", i] => Some(Role::Neck(number(i)?)),
                _ => None,
            };
        }
    };
    let digit =
        |word: &str| Digit::ALL.into_iter().find(|digit| format!("{digit:?}").eq_ignore_ascii_case(word));
    Some(match &words[1..] {
        ["clavicle"] => Role::Clavicle(side),
        ["upper_arm"] => Role::UpperArm(side),
        ["forearm"] => Role::Forearm(side),
        ["hand"] => Role::Hand(side),
        ["thigh"] => Role::Thigh(side),
        ["shin"] => Role::Shin(side),
        ["foot"] => Role::Foot(side),
        ["toe"] => Role::Toe(side),
        ["thigh_twist", i] => Role::Twist(side, Limb::Thigh, number(i)?),
        ["shin_twist", i] => Role::Twist(side, Limb::Shin, number(i)?),
        ["upper_arm_twist", i] => Role::Twist(side, Limb::UpperArm, number(i)?),
        ["forearm_twist", i] => Role::Twist(side, Limb::Forearm, number(i)?),
        [word, i] => Role::Finger(side, digit(word)?, number(i)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_read_as_they_are_printed() {
        let mut roles = vec![Role::Hips, Role::Head, Role::Spine(3), Role::Neck(1)];
        for s in Side::BOTH {
            roles.extend([
                Role::Clavicle(s),
                Role::UpperArm(s),
                Role::Forearm(s),
                Role::Hand(s),
                Role::Thigh(s),
            ]);
            roles.extend([Role::Shin(s), Role::Foot(s), Role::Toe(s)]);
            roles.extend(Digit::ALL.map(|digit| Role::Finger(s, digit, 2)));
            let limbs = [Limb::Thigh, Limb::Shin, Limb::UpperArm, Limb::Forearm];
            roles.extend(limbs.map(|limb| Role::Twist(s, limb, 1)));
        }
        for role in roles {
            assert_eq!(Role::from_str(&role.to_string()), Ok(role));
        }
        for word in ["", "left", "left.wing", "spine", "spine.300", "hips.0", "right.index"] {
            assert_eq!(Role::from_str(word), Err(OverrideError::Role(word.to_owned())));
        }
    }
}
