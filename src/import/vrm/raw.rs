//! The extensions as the files spell them. Everything is optional: a reader of bodies has no use for a file that it
//! refuses over a swinging ribbon.

use serde::Deserialize;
use serde::de::IgnoredAny;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Document {
    pub extensions: Extensions,
    pub nodes: Vec<Node>,
    pub meshes: Vec<Mesh>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Extensions {
    #[serde(rename = "VRM")]
    pub zero: Option<Zero>,
    #[serde(rename = "VRMC_vrm")]
    pub one: Option<One>,
    #[serde(rename = "VRMC_springBone")]
    pub springs: Option<SpringBone>,
    #[serde(rename = "VRMC_vrm_animation")]
    pub animation: Option<Animation>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub mesh: Option<u64>,
    pub extensions: NodeExtensions,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeExtensions {
    #[serde(rename = "VRMC_node_constraint")]
    pub constraint: Option<NodeConstraint>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Mesh {
    pub primitives: Vec<Primitive>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Primitive {
    pub targets: Vec<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeConstraint {
    pub constraint: Constraint,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Constraint {
    pub roll: Option<Follow>,
    pub aim: Option<Follow>,
    pub rotation: Option<Follow>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Follow {
    pub source: Option<u64>,
    pub roll_axis: String,
    pub aim_axis: String,
    pub weight: Option<f32>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Zero {
    pub meta: ZeroMeta,
    pub humanoid: ZeroHumanoid,
    pub first_person: ZeroFirstPerson,
    pub blend_shape_master: ZeroShapes,
    pub secondary_animation: ZeroSecondary,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ZeroMeta {
    pub title: Option<String>,
    pub version: Option<String>,
    pub author: Option<String>,
    pub license_name: Option<String>,
    pub other_license_url: Option<String>,
    pub allowed_user_name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ZeroHumanoid {
    pub human_bones: Vec<ZeroBone>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ZeroBone {
    pub bone: String,
    pub node: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ZeroFirstPerson {
    pub first_person_bone_offset: Xyz,
    pub look_at_type_name: Option<String>,
    pub look_at_horizontal_inner: ZeroRange,
    pub look_at_horizontal_outer: ZeroRange,
    pub look_at_vertical_down: ZeroRange,
    pub look_at_vertical_up: ZeroRange,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Xyz {
    pub x: f32,
    pub y: f32,
    pub z: f32,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ZeroRange {
    pub x_range: f32,
    pub y_range: f32,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ZeroShapes {
    pub blend_shape_groups: Vec<ZeroShape>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ZeroShape {
    pub name: String,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ZeroSecondary {
    pub bone_groups: Vec<ZeroSpring>,
    pub collider_groups: Vec<ZeroColliders>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ZeroSpring {
    pub comment: String,
    /// As the schema spells it.
    pub stiffiness: f32,
    pub gravity_power: f32,
    pub gravity_dir: Xyz,
    pub drag_force: f32,
    /// -1 for none.
    pub center: Option<i64>,
    pub hit_radius: f32,
    pub bones: Vec<u64>,
    pub collider_groups: Vec<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ZeroColliders {
    pub node: Option<u64>,
    pub colliders: Vec<ZeroCollider>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ZeroCollider {
    pub offset: Xyz,
    pub radius: f32,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct One {
    pub meta: OneMeta,
    pub humanoid: Humanoid,
    pub look_at: Option<OneLookAt>,
    pub expressions: Expressions,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OneMeta {
    pub name: Option<String>,
    pub version: Option<String>,
    pub authors: Vec<String>,
    pub license_url: Option<String>,
    pub avatar_permission: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Humanoid {
    pub human_bones: Bones,
}

/// In the order of the file, names twice where the file has them twice.
#[derive(Default)]
pub(super) struct Bones(pub Vec<(String, Bone)>);

impl<'de> Deserialize<'de> for Bones {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Bones;
            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("human bones by name")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Bones, A::Error> {
                let mut bones = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    bones.push(entry);
                }
                Ok(Bones(bones))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Bone {
    pub node: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OneLookAt {
    pub offset_from_head_bone: [f32; 3],
    #[serde(rename = "type")]
    pub kind: String,
    pub range_map_horizontal_inner: OneRange,
    pub range_map_horizontal_outer: OneRange,
    pub range_map_vertical_down: OneRange,
    pub range_map_vertical_up: OneRange,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct OneRange {
    pub input_max_value: f32,
    pub output_scale: f32,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Expressions {
    pub preset: std::collections::BTreeMap<String, Expression>,
    pub custom: std::collections::BTreeMap<String, Expression>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Expression {
    pub morph_target_binds: Vec<MorphBind>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MorphBind {
    pub node: Option<u64>,
    pub index: u64,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SpringBone {
    pub colliders: Vec<Collider>,
    pub collider_groups: Vec<ColliderGroup>,
    pub springs: Vec<Spring>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Collider {
    pub node: Option<u64>,
    pub shape: Shape,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Shape {
    pub sphere: Option<Sphere>,
    pub capsule: Option<Sphere>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Sphere {
    pub offset: [f32; 3],
    pub radius: f32,
    pub tail: Option<[f32; 3]>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ColliderGroup {
    pub colliders: Vec<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Spring {
    pub name: String,
    pub joints: Vec<SpringJoint>,
    pub collider_groups: Vec<u64>,
    pub center: Option<u64>,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SpringJoint {
    pub node: Option<u64>,
    pub hit_radius: f32,
    pub stiffness: f32,
    pub gravity_power: f32,
    pub gravity_dir: [f32; 3],
    pub drag_force: f32,
}

impl Default for SpringJoint {
    /// The specification's.
    fn default() -> Self {
        Self {
            node: None,
            hit_radius: 0.0,
            stiffness: 1.0,
            gravity_power: 0.0,
            gravity_dir: [0.0, -1.0, 0.0],
            drag_force: 0.5,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Animation {
    pub humanoid: Humanoid,
}
