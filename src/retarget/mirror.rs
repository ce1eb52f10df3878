//! Mirrored clips: what the left did the right does, across the plane between them.
//!
//! With `C = diag(-1, 1, 1)` a translation becomes `C t`, and a rotation about an axial vector `v` one about
//! `det(C) C v = (x, -y, -z)`. Reference poses are the same on both sides, so no joint's own axes matter.

use glam::{DQuat, DVec3};

use crate::clip::{ClipEvent, MotionKeys};
use crate::error::BuildError;
use crate::rig::{JointKey, NO_PARENT, Topology};

/// The clip as in a mirror: sides of joints, contacts, events (by their names) and markers swapped, sway and yaw
/// reversed. A joint that has no counterpart keeps its rest. Mirrored twice it is the clip again, but for joints
/// without a counterpart.
///
/// # Errors
/// If the keys are not those of the topology.
pub fn mirror(keys: &MotionKeys, topology: &Topology) -> Result<MotionKeys, BuildError> {
    let (joints, count) = (topology.len(), keys.pelvis.len());
    if keys.rotations.len() != count * joints || keys.root.len() != count || keys.contact.len() != count {
        let reason =
            "one rotation per joint of the topology and key is needed, and one root and contact per key";
        return Err(BuildError::Keys { clip: keys.name.clone(), reason });
    }
    let partners: Vec<Option<usize>> = topology.keys().iter().map(|key| partner(key, topology)).collect();
    let legs: Vec<Option<usize>> = topology
        .legs()
        .iter()
        .map(|leg| topology.legs().iter().position(|other| other.side == leg.side.other()))
        .collect();
    let mut out = MotionKeys {
        pelvis: keys.pelvis.iter().map(|at| DVec3::new(-at.x, at.y, at.z)).collect(),
        root: keys.root.iter().map(|&pose| pose_mirrored(pose)).collect(),
        origin: pose_mirrored(keys.origin),
        rotations: Vec::with_capacity(keys.rotations.len()),
        ..keys.clone()
    };
    let above = |model: &[DQuat], joint: usize| match topology.parents()[joint] {
        NO_PARENT => DQuat::IDENTITY,
        parent => model[usize::from(parent)],
    };
    let (mut model, mut other) = (vec![DQuat::IDENTITY; joints], vec![DQuat::IDENTITY; joints]);
    for row in keys.rotations.chunks_exact(joints.max(1)) {
        for joint in 0..joints {
            model[joint] = (above(&model, joint) * row[joint]).normalize();
        }
        for joint in 0..joints {
            let parent = above(&other, joint);
            other[joint] = partners[joint].map_or(parent, |partner| {
                let q = model[partner];
                DQuat::from_xyzw(q.x, -q.y, -q.z, q.w)
            });
            out.rotations.push((parent.inverse() * other[joint]).normalize());
        }
    }
    for (row, from) in out.contact.iter_mut().zip(&keys.contact) {
        for (at, leg) in legs.iter().enumerate().take(row.len()) {
            row[at] = leg.and_then(|leg| from.get(leg)).copied().unwrap_or(0.0);
        }
    }
    for foot in out.contacts.iter_mut().flat_map(|contacts| &mut contacts.feet) {
        foot.side = foot.side.other();
    }
    for event in &mut out.events {
        *event = ClipEvent { time: event.time, name: other_side(&event.name).unwrap_or(event.name.clone()) };
    }
    // Markers of the two sides take turns: half of them on, each means what its counterpart did.
    if out.sync.len().is_multiple_of(2) {
        let half = out.sync.len() / 2;
        out.sync.rotate_left(half);
    }
    Ok(out)
}

fn pose_mirrored([x, z, yaw]: [f64; 3]) -> [f64; 3] {
    [-x, z, -yaw]
}

/// The joint of the other side; itself in the middle.
fn partner(key: &JointKey, topology: &Topology) -> Option<usize> {
    let other = match key {
        JointKey::Role(role) => JointKey::Role(role.other_side()),
        JointKey::Named(name) => JointKey::Named(other_side(name).unwrap_or_else(|| name.clone())),
    };
    topology.find(&other).map(usize::from)
}

/// A name with its side changed; `None` if it has none.
fn other_side(name: &str) -> Option<String> {
    const WORDS: [(&str, &str); 4] =
        [("left", "right"), ("Left", "Right"), ("LEFT", "RIGHT"), ("lft", "rgt")];
    for (left, right) in WORDS {
        for (from, to) in [(left, right), (right, left)] {
            if let Some(at) = name.find(from) {
                // Not inside of another word: "upright".
                let before = name[..at].chars().next_back();
                let small = from.starts_with(char::is_lowercase);
                if small && before.is_some_and(char::is_lowercase) {
                    continue;
                }
                return Some(format!("{}{to}{}", &name[..at], &name[at + from.len()..]));
            }
        }
    }
    let letters: Vec<char> = name.chars().collect();
    let apart = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_none_or(|c| !c.is_alphanumeric());
    for (at, letter) in letters.iter().enumerate() {
        let to = match letter {
            'L' => 'R',
            'R' => 'L',
            'l' => 'r',
            'r' => 'l',
            _ => continue,
        };
        if letters.len() > 1 && (at == 0 || apart(at.checked_sub(1))) && apart(Some(at + 1)) {
            let mut other = letters.clone();
            other[at] = to;
            return Some(other.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::other_side;

    #[test]
    fn sides_of_names() {
        for (name, other) in [
            ("Foot.L", "Foot.R"),
            ("foot_l", "foot_r"),
            ("step left", "step right"),
            ("LeftHandProp", "RightHandProp"),
            ("Bip L Sword", "Bip R Sword"),
            ("R_Weapon", "L_Weapon"),
        ] {
            assert_eq!(other_side(name).as_deref(), Some(other));
            assert_eq!(other_side(other).as_deref(), Some(name));
        }
        for name in ["Tail", "upright", "Ball", "l", ""] {
            assert_eq!(other_side(name), None, "{name}");
        }
    }
}
