//! Joints that no role tells: those of the same rig, or of a sibling, by their path or their name.
//!
//! ```text
//! 1  the whole path from the root is the same              "root/hip/leg_l"
//! 2  the name is the same, and nobody else has it          "leg_l"
//! 3  both again without what exporters add                 "Armature|leg_l", "rig:leg_l", "leg_l_012", "LEG_L"
//! ```

use std::collections::HashMap;

use super::{JointKey, NO_PARENT, RawSkeleton, RoleMap, Topology};

/// A joint as far as names go.
struct Named {
    /// Of itself, or its role.
    word: String,
    path: u64,
    /// The path of plain words.
    plain: u64,
    /// True if it may be somebody's namesake.
    free: bool,
}

fn path(above: Option<u64>, word: &str) -> u64 {
    // As wide as a hash that tells a million paths apart need be.
    let seed = above.unwrap_or(0);
    xxhash_rust::xxh3::xxh3_64_with_seed(word.as_bytes(), seed ^ 0x9e37_79b9_7f4a_7c15)
}

impl Named {
    fn new(word: String, above: Option<&Self>, free: bool) -> Self {
        let plain = path(above.map(|above| above.plain), &plain(&word));
        Self { path: path(above.map(|above| above.path), &word), plain, word, free }
    }
}

fn of_skeleton(skeleton: &RawSkeleton, roles: &RoleMap) -> Vec<Named> {
    let mut out: Vec<Named> = Vec::with_capacity(skeleton.joints.len());
    for (index, role) in roles.by_joint(skeleton.joints.len()).into_iter().enumerate() {
        let word = role.map_or_else(|| skeleton.joints[index].name.clone(), |role| role.to_string());
        let above = skeleton.parent(index).and_then(|parent| out.get(parent));
        out.push(Named::new(word, above, role.is_none()));
    }
    out
}

fn of_topology(topology: &Topology) -> Vec<Named> {
    let mut out: Vec<Named> = Vec::with_capacity(topology.len());
    for (key, &parent) in topology.keys().iter().zip(topology.parents()) {
        let word = match key {
            JointKey::Role(role) => role.to_string(),
            JointKey::Named(name) => name.clone(),
        };
        let above = out.get(usize::from(parent)).filter(|_| parent != NO_PARENT);
        out.push(Named::new(word, above, matches!(key, JointKey::Named(_))));
    }
    out
}

/// For each joint of the topology the joint of the skeleton that is its namesake; neither has a role.
pub(crate) fn in_topology(skeleton: &RawSkeleton, roles: &RoleMap, topology: &Topology) -> Vec<Option<u16>> {
    matches(&of_skeleton(skeleton, roles), &of_topology(topology))
}

/// The same for each joint of another skeleton.
pub(crate) fn in_skeleton(
    skeleton: &RawSkeleton,
    roles: &RoleMap,
    other: &RawSkeleton,
    other_roles: &RoleMap,
) -> Vec<Option<u16>> {
    matches(&of_skeleton(skeleton, roles), &of_skeleton(other, other_roles))
}

fn matches(sources: &[Named], targets: &[Named]) -> Vec<Option<u16>> {
    let mut found: Vec<Option<u16>> = vec![None; targets.len()];
    let mut taken = vec![false; sources.len()];
    let keys: [fn(&Named) -> String; 4] = [
        |joint| joint.path.to_string(),
        |joint| joint.word.clone(),
        |joint| joint.plain.to_string(),
        |joint| plain(&joint.word),
    ];
    for key in keys {
        let places = |joints: &[Named], open: &dyn Fn(usize) -> bool| {
            let mut places: HashMap<String, Option<usize>> = HashMap::new();
            for (at, joint) in joints.iter().enumerate().filter(|&(at, joint)| joint.free && open(at)) {
                // Of several nobody knows which.
                places.entry(key(joint)).and_modify(|place| *place = None).or_insert(Some(at));
            }
            places
        };
        let from = places(sources, &|at| !taken[at]);
        let to = places(targets, &|at| found[at].is_none());
        for (word, target) in to {
            if let (Some(target), Some(Some(source))) = (target, from.get(&word)) {
                found[target] = Some(*source as u16);
                taken[*source] = true;
            }
        }
    }
    found
}

/// Without what exporters add: a prefix up to `|` or `:`, a number behind `_` or `.`, capitals.
fn plain(name: &str) -> String {
    let name = name.rsplit(['|', ':']).next().unwrap_or(name);
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    // Bones of a chain are told apart by a digit or two; exporters count joints of a file or copies with three.
    let name = match digits.strip_suffix(['_', '.']) {
        Some(stem) if name.len() - digits.len() >= 3 && !stem.is_empty() => stem,
        _ => name,
    };
    name.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn what_exporters_add_is_left_out_and_what_counts_bones_is_not() {
        for (name, want) in [
            ("Armature|Leg_L", "leg_l"),
            ("rig:tail_01", "tail_01"),
            ("b_Tail02_013", "b_tail02"),
            ("Ear.001", "ear"),
            ("_123", "_123"),
            ("Spine3", "spine3"),
        ] {
            assert_eq!(plain(name), want);
        }
    }
}
