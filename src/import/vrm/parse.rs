//! From the extensions of a document to [`Vrm`].

use std::collections::{BTreeMap, BTreeSet};

use super::raw::{Document, One, OneRange, SpringBone, Xyz, Zero, ZeroRange};
use super::{
    Vrm, VrmCollider, VrmConstraint, VrmConstraintKind, VrmKind, VrmLookAt, VrmMeta, VrmSpring,
    VrmSpringJoint,
};
use crate::import::Warning;
use crate::import::report::Warnings;

/// Joints by node.
struct Joints(BTreeMap<u64, u16>);

impl Joints {
    fn new(nodes: &[usize]) -> Self {
        Self(nodes.iter().zip(0_u16..).map(|(&node, joint)| (node as u64, joint)).collect())
    }

    fn of(&self, node: Option<u64>) -> Option<u16> {
        self.0.get(&node?).copied()
    }
}

/// The VRM part of a document's JSON, if it has one; `nodes` are the nodes of the joints.
pub(in crate::import) fn read(json: &[u8], nodes: &[usize], warnings: &mut Warnings) -> Option<Vrm> {
    // Most files have none, and need not be parsed again to know.
    if !json.windows(4).any(|word| word == b"\"VRM") {
        return None;
    }
    let document: Document = match serde_json::from_slice(json) {
        Ok(document) => document,
        Err(error) => {
            warnings.push(Warning::VrmUnreadable { reason: error.to_string() });
            return None;
        }
    };
    let joints = Joints::new(nodes);
    let extensions = &document.extensions;
    let mut vrm = if let Some(one) = &extensions.one {
        from_one(one, &joints, warnings)
    } else if let Some(zero) = &extensions.zero {
        from_zero(zero, &joints, warnings)
    } else if let Some(animation) = &extensions.animation {
        let mut vrm = Vrm::new(VrmKind::Animation);
        for (name, bone) in &animation.humanoid.human_bones.0 {
            add_bone(&mut vrm, name, bone.node, &joints, warnings);
        }
        vrm
    } else {
        return None;
    };
    if let Some(springs) = &extensions.springs {
        swing(&mut vrm, springs, &joints, warnings);
    }
    constraints(&mut vrm, &document, &joints);
    expressions(&document, warnings);
    // Nothing that is not a number goes on from here.
    let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
    vrm.look_at =
        vrm.look_at.filter(|eye| finite(&eye.offset) && eye.ranges.iter().all(|range| finite(range)));
    vrm.constraints.retain(|constraint| constraint.weight.is_finite());
    for collider in &mut vrm.colliders {
        // Springs know colliders by their place in the list: one that is no shape stays, as a point that nothing meets.
        if !(finite(&collider.offset)
            && collider.radius.is_finite()
            && finite(&collider.tail.unwrap_or_default()))
        {
            (collider.offset, collider.tail, collider.radius) = ([0.0; 3], None, 0.0);
        }
    }
    vrm.springs.iter_mut().for_each(|spring| {
        spring
            .joints
            .retain(|j| finite(&[j.radius, j.stiffness, j.drag, j.gravity.0]) && finite(&j.gravity.1));
    });
    Some(vrm)
}

impl Vrm {
    fn new(kind: VrmKind) -> Self {
        Self {
            kind,
            human_bones: Vec::new(),
            meta: VrmMeta::default(),
            springs: Vec::new(),
            colliders: Vec::new(),
            constraints: Vec::new(),
            look_at: None,
            expressions: Vec::new(),
        }
    }
}

/// The first bone of a name counts, and a joint is one bone.
fn add_bone(vrm: &mut Vrm, name: &str, node: Option<u64>, joints: &Joints, warnings: &mut Warnings) {
    let Some(joint) = joints.of(node) else {
        warnings.push(Warning::HumanBone { bone: name.to_owned(), reason: "it names no joint" });
        return;
    };
    if vrm.human_bones.iter().any(|(own, _)| own == name) {
        warnings.push(Warning::HumanBone {
            bone: name.to_owned(),
            reason: "it is there twice; the first counts",
        });
        return;
    }
    vrm.human_bones.push((name.to_owned(), joint));
}

fn from_zero(zero: &Zero, joints: &Joints, warnings: &mut Warnings) -> Vrm {
    let mut vrm = Vrm::new(VrmKind::Zero);
    for bone in &zero.humanoid.human_bones {
        // The thumb's bones were called after other knuckles.
        let name = match bone.bone.as_str() {
            "leftThumbProximal" => "leftThumbMetacarpal",
            "leftThumbIntermediate" => "leftThumbProximal",
            "rightThumbProximal" => "rightThumbMetacarpal",
            "rightThumbIntermediate" => "rightThumbProximal",
            name => name,
        };
        add_bone(&mut vrm, name, bone.node, joints, warnings);
    }
    let meta = &zero.meta;
    vrm.meta = VrmMeta {
        name: meta.title.clone(),
        version: meta.version.clone(),
        authors: meta.author.iter().cloned().collect(),
        license: meta.license_name.clone().or_else(|| meta.other_license_url.clone()),
        allowed_user: meta.allowed_user_name.clone(),
    };
    let eye = &zero.first_person;
    if let Some(kind) = &eye.look_at_type_name {
        let range = |range: &ZeroRange| [range.x_range, range.y_range];
        vrm.look_at = Some(VrmLookAt {
            kind: if kind == "BlendShape" { "expression".to_owned() } else { kind.to_lowercase() },
            // Left-handed, as all offsets of VRM 0.x.
            offset: {
                let [x, y, z] = xyz(eye.first_person_bone_offset);
                [x, y, -z]
            },
            ranges: [
                range(&eye.look_at_horizontal_inner),
                range(&eye.look_at_horizontal_outer),
                range(&eye.look_at_vertical_down),
                range(&eye.look_at_vertical_up),
            ],
        });
    }
    vrm.expressions =
        zero.blend_shape_master.blend_shape_groups.iter().map(|shape| shape.name.clone()).collect();
    let secondary = &zero.secondary_animation;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for group in &secondary.collider_groups {
        let mut own = Vec::new();
        for collider in &group.colliders {
            if let Some(joint) = joints.of(group.node) {
                own.push(vrm.colliders.len());
                // Offsets of VRM 0.x are left-handed.
                let [x, y, z] = xyz(collider.offset);
                let offset = [x, y, -z];
                vrm.colliders.push(VrmCollider { joint, offset, tail: None, radius: collider.radius });
            }
        }
        groups.push(own);
    }
    for group in &secondary.bone_groups {
        // A direction of the file's world; nothing given is down.
        let [x, y, z] = match xyz(group.gravity_dir) {
            [0.0, 0.0, 0.0] => [0.0, -1.0, 0.0],
            given => given,
        };
        let swings = group.bones.iter().filter_map(|&node| {
            Some(VrmSpringJoint {
                joint: joints.of(Some(node))?,
                radius: group.hit_radius,
                stiffness: group.stiffiness,
                gravity: (group.gravity_power, [x, y, z]),
                drag: group.drag_force,
            })
        });
        let center = group.center.and_then(|center| u64::try_from(center).ok());
        vrm.springs.push(VrmSpring {
            name: group.comment.clone(),
            joints: swings.collect(),
            center: joints.of(center),
            colliders: members(&group.collider_groups, &groups, &group.comment, warnings),
        });
    }
    vrm
}

fn from_one(one: &One, joints: &Joints, warnings: &mut Warnings) -> Vrm {
    let mut vrm = Vrm::new(VrmKind::One);
    for (name, bone) in &one.humanoid.human_bones.0 {
        add_bone(&mut vrm, name, bone.node, joints, warnings);
    }
    let meta = &one.meta;
    vrm.meta = VrmMeta {
        name: meta.name.clone(),
        version: meta.version.clone(),
        authors: meta.authors.clone(),
        license: meta.license_url.clone(),
        allowed_user: meta.avatar_permission.clone(),
    };
    vrm.look_at = one.look_at.as_ref().map(|eye| {
        let range = |range: &OneRange| [range.input_max_value, range.output_scale];
        VrmLookAt {
            kind: eye.kind.clone(),
            offset: eye.offset_from_head_bone,
            ranges: [
                range(&eye.range_map_horizontal_inner),
                range(&eye.range_map_horizontal_outer),
                range(&eye.range_map_vertical_down),
                range(&eye.range_map_vertical_up),
            ],
        }
    });
    vrm.expressions = one.expressions.preset.keys().chain(one.expressions.custom.keys()).cloned().collect();
    vrm
}

fn swing(vrm: &mut Vrm, springs: &SpringBone, joints: &Joints, warnings: &mut Warnings) {
    let mut place = vec![None; springs.colliders.len()];
    for (collider, place) in springs.colliders.iter().zip(&mut place) {
        let shape = collider.shape.sphere.as_ref().or(collider.shape.capsule.as_ref());
        if let (Some(joint), Some(shape)) = (joints.of(collider.node), shape) {
            *place = Some(vrm.colliders.len());
            let tail = collider.shape.capsule.as_ref().and_then(|capsule| capsule.tail);
            vrm.colliders.push(VrmCollider { joint, offset: shape.offset, tail, radius: shape.radius });
        }
    }
    let at = |index: &u64| usize::try_from(*index).ok().and_then(|index| place.get(index).copied().flatten());
    let groups: Vec<Vec<usize>> = springs
        .collider_groups
        .iter()
        .map(|group| group.colliders.iter().filter_map(at).collect::<BTreeSet<_>>().into_iter().collect())
        .collect();
    for spring in &springs.springs {
        let swings = spring.joints.iter().filter_map(|own| {
            Some(VrmSpringJoint {
                joint: joints.of(own.node)?,
                radius: own.hit_radius,
                stiffness: own.stiffness,
                gravity: (own.gravity_power, own.gravity_dir),
                drag: own.drag_force,
            })
        });
        vrm.springs.push(VrmSpring {
            name: spring.name.clone(),
            joints: swings.collect(),
            center: joints.of(spring.center),
            colliders: members(&spring.collider_groups, &groups, &spring.name, warnings),
        });
    }
}

/// Colliders of groups, each once, whatever is named how often; a group that is not there is left out.
fn members(wanted: &[u64], groups: &[Vec<usize>], spring: &str, warnings: &mut Warnings) -> Vec<usize> {
    let mut all = BTreeSet::new();
    let wanted: BTreeSet<u64> = wanted.iter().copied().collect();
    for index in wanted {
        match usize::try_from(index).ok().and_then(|index| groups.get(index)) {
            Some(group) => all.extend(group.iter().copied()),
            None => warnings.push(Warning::ColliderGroup { spring: spring.to_owned(), group: index }),
        }
    }
    all.into_iter().collect()
}

fn constraints(vrm: &mut Vrm, document: &Document, joints: &Joints) {
    for (node, own) in document.nodes.iter().enumerate() {
        let Some(constraint) = &own.extensions.constraint else { continue };
        let constraint = &constraint.constraint;
        let (follow, kind) = match (&constraint.roll, &constraint.aim, &constraint.rotation) {
            (Some(follow), ..) => (follow, VrmConstraintKind::Roll(follow.roll_axis.clone())),
            (_, Some(follow), _) => (follow, VrmConstraintKind::Aim(follow.aim_axis.clone())),
            (.., Some(follow)) => (follow, VrmConstraintKind::Rotation),
            _ => continue,
        };
        if let (Some(joint), Some(source)) = (joints.of(Some(node as u64)), joints.of(follow.source)) {
            let weight = follow.weight.unwrap_or(1.0).clamp(0.0, 1.0);
            vrm.constraints.push(VrmConstraint { joint, source, kind, weight });
        }
    }
}

/// Expressions are not read beyond their names; what they refer to is looked at all the same.
fn expressions(document: &Document, warnings: &mut Warnings) {
    let Some(one) = &document.extensions.one else { return };
    for (name, expression) in one.expressions.preset.iter().chain(&one.expressions.custom) {
        for bind in &expression.morph_target_binds {
            let node = bind.node.and_then(|node| document.nodes.get(usize::try_from(node).ok()?));
            let mesh = node.and_then(|node| document.meshes.get(usize::try_from(node.mesh?).ok()?));
            let targets =
                mesh.and_then(|mesh| mesh.primitives.first()).map_or(0, |first| first.targets.len());
            if usize::try_from(bind.index).map_or(true, |index| index >= targets) {
                warnings.push(Warning::ExpressionBind { expression: name.clone(), index: bind.index });
            }
        }
    }
}

fn xyz(value: Xyz) -> [f32; 3] {
    [value.x, value.y, value.z]
}
