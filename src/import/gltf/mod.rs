//! glTF 2.0 and GLB.
//!
//! The `gltf` crate's types describe the document; everything that its numbers could reach is checked here before it
//! is read or allocated. Images, materials, cameras and scenes are never looked at.

mod accessor;
mod animation;
mod budget;
pub(crate) mod buffers;
mod container;
mod mesh;
mod skin;
mod tally;
mod tree;

use std::path::{Path, PathBuf};

use glam::Mat4;

use self::accessor::Source;
use self::budget::Budget;
use self::buffers::Buffers;
use self::container::Document;
use self::tree::{Selection, Tree};
use super::report::Warnings;
use super::{
    Beside, Format, ImportError, ImportReport, Imported, LoadOptions, Plan, Refusal, Warning, finish, vrm,
};
use crate::rig::{RawCharacter, RawSkin, RigOverrides};

/// What an import may let pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions {
    /// Skins with too few inverse bind matrices are filled up with identity instead of refused.
    pub lenient: bool,
}

/// Reads a `.gltf`, `.glb` or `.vrm` file; buffers beside it are looked for in its folder only. If `NAME.contacts.json`
/// lies beside `NAME.glb`, its contacts and ground speeds are given to the clips that it names ([`Sidecar`](super::Sidecar)).
///
/// # Errors
/// [`ImportError`] with the file, the place in it and what would be right.
pub fn load(path: impl AsRef<Path>) -> Result<Imported, ImportError> {
    load_with(path, &ImportOptions::default())
}

/// [`load`] with options.
///
/// # Errors
/// As [`load`].
pub fn load_with(path: impl AsRef<Path>, options: &ImportOptions) -> Result<Imported, ImportError> {
    let options = LoadOptions { gltf: *options, ..LoadOptions::default() };
    Beside::new().load_as(path.as_ref(), Format::Gltf, &options)
}

/// A file alone, with what its user knows better.
pub(super) fn read_file(
    path: &Path,
    options: &ImportOptions,
    overrides: Option<&RigOverrides>,
) -> Result<Imported, Refusal> {
    let bytes = crate::import::read_file(path)?;
    let base = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => Path::new("."),
    };
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    read(&bytes, Some(base), name, options, overrides)
}

/// Reads a file's bytes; `base_dir` is the folder that relative URIs may lead into, `None` allows none.
///
/// # Errors
/// As [`load`].
pub fn load_bytes(bytes: &[u8], base_dir: Option<&Path>) -> Result<Imported, ImportError> {
    load_bytes_with(bytes, base_dir, &ImportOptions::default())
}

/// [`load_bytes`] with options.
///
/// # Errors
/// As [`load`].
pub fn load_bytes_with(
    bytes: &[u8],
    base_dir: Option<&Path>,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    read(bytes, base_dir, String::new(), options, None)
        .map_err(|kind| ImportError { file: PathBuf::from("<bytes>"), kind })
}

fn read(
    bytes: &[u8],
    base_dir: Option<&Path>,
    name: String,
    options: &ImportOptions,
    overrides: Option<&RigOverrides>,
) -> Result<Imported, Refusal> {
    let mut warnings = Warnings::default();
    let parts = container::split(bytes)?;
    let mut budget = Budget::new(bytes.len());
    let document = container::parse(parts.json, &mut budget)?;
    container::check_extensions(&document, &mut warnings)?;
    let buffers = Buffers::resolve(&document, parts.binary, base_dir, &mut budget)?;
    let source = Source { document: &document, buffers: &buffers, file_bytes: budget.file_bytes() };

    let tree = Tree::read(&document, &mut warnings)?;
    let mut wanted = vec![false; document.nodes.len()];
    if document.skins.is_empty() {
        mark_bare_nodes(&document, &tree, &mut wanted);
    } else {
        skin::mark_joints(source, &mut wanted)?;
        mark_animated_carriers(&document, &tree, &mut wanted);
    }
    let selection = tree.skeleton(&document, &wanted)?;
    if selection.nodes.is_empty() {
        warnings.push(Warning::NoSkeleton);
    }
    let mut character =
        RawCharacter { name, skeleton: selection.skeleton.clone(), skins: Vec::new(), meshes: Vec::new() };
    for index in 0..document.skins.len() {
        character.skins.push(skin::read(source, index, &selection, options, &mut budget, &mut warnings)?);
    }
    read_meshes(source, &tree, &selection, &mut character, &mut budget, &mut warnings)?;
    let clips = animation::read_all(source, &selection, &mut budget, &mut warnings)?;

    let listed: std::collections::HashSet<usize> = if document.skins.is_empty() {
        wanted.iter().enumerate().filter(|&(_, &wanted)| wanted).map(|(node, _)| node).collect()
    } else {
        document.skins.iter().flat_map(|skin| skin.joints.iter().map(|joint| joint.value())).collect()
    };
    let virtual_joints = selection.nodes.iter().map(|node| !listed.contains(node)).collect();
    let report = ImportReport { nodes: selection.nodes, virtual_joints, ..ImportReport::default() };
    let vrm = vrm::read(parts.json, &report.nodes, &mut warnings);
    // A VRM 0.x looks along -Z, whether or not it has legs to tell by.
    let axes = vrm
        .as_ref()
        .filter(|vrm| vrm.kind == vrm::VrmKind::Zero)
        .map(|_| glam::Quat::from_xyzw(0.0, 1.0, 0.0, 0.0));
    if axes.is_some() {
        let (forward, up) = ("-Z".to_owned(), "+Y".to_owned());
        warnings.push(Warning::AxesTurned { degrees: 180.0, forward, up });
    }
    finish(character, clips, report, warnings, Plan { vrm, axes, overrides, ..Plan::default() })
}

/// Without a skin, nodes without a mesh are the skeleton; but if beside meshes there are only lone ones, they are lamps
/// and cameras.
fn mark_bare_nodes(document: &Document, tree: &Tree, wanted: &mut [bool]) {
    let animated = animated_nodes(document);
    let mut structure = document.meshes.is_empty();
    for (index, (wanted, node)) in wanted.iter_mut().zip(&document.nodes).enumerate() {
        let lone = tree.parent(index).is_none()
            && node.children.as_ref().is_none_or(Vec::is_empty)
            && animated.get(index) != Some(&true);
        *wanted = node.mesh.is_none();
        structure |= *wanted && !lone;
    }
    if !structure {
        wanted.fill(false);
    }
}

fn animated_nodes(document: &Document) -> Vec<bool> {
    let mut animated = vec![false; document.nodes.len()];
    for channel in document.animations.iter().flat_map(|animation| &animation.channels) {
        if let Some(slot) = channel.target.node.and_then(|node| animated.get_mut(node.value())) {
            *slot = true;
        }
    }
    animated
}

/// Nodes between a joint and a rigid mesh that are animated must become joints, or the mesh would not follow them.
fn mark_animated_carriers(document: &Document, tree: &Tree, wanted: &mut [bool]) {
    let count = document.nodes.len();
    let animated = animated_nodes(document);
    let mut carries = vec![false; count];
    for &node in tree.order.iter().rev() {
        let rigid = document.nodes.get(node).is_some_and(|node| node.mesh.is_some() && node.skin.is_none());
        if rigid || carries.get(node) == Some(&true) {
            if let Some(slot) = carries.get_mut(node) {
                *slot = true;
            }
            if let Some(slot) = tree.parent(node).and_then(|parent| carries.get_mut(parent)) {
                *slot = true;
            }
        }
    }
    let mut below_joint = vec![false; count];
    for &node in &tree.order {
        let below = wanted.get(node) == Some(&true)
            || tree.parent(node).and_then(|parent| below_joint.get(parent).copied()).unwrap_or(false);
        if let Some(slot) = below_joint.get_mut(node) {
            *slot = below;
        }
        if below
            && animated.get(node) == Some(&true)
            && carries.get(node) == Some(&true)
            && let Some(slot) = wanted.get_mut(node)
        {
            *slot = true;
        }
    }
}

/// Skinned meshes with their skin; rigid meshes below a joint with a skin of one entry.
fn read_meshes(
    source: Source<'_>,
    tree: &Tree,
    selection: &Selection,
    character: &mut RawCharacter,
    budget: &mut Budget,
    warnings: &mut Warnings,
) -> Result<(), Refusal> {
    let document = source.document;
    if document.meshes.is_empty() && document.nodes.iter().all(|node| node.mesh.is_none()) {
        return Ok(());
    }
    let carriers = carriers(tree, selection);
    for (index, node) in document.nodes.iter().enumerate() {
        let Some(mesh) = node.mesh else { continue };
        let name = document.node_name(index);
        if let Some(skin) = node.skin {
            let skin = skin.value();
            let entries = match character.skins.get(skin) {
                Some(found) if skin < document.skins.len() => found.joints.len(),
                _ => {
                    return Err(Refusal::Reference {
                        from: format!("node {index} {name:?}"),
                        kind: "skin",
                        index: skin,
                        have: document.skins.len(),
                    });
                }
            };
            character.meshes.extend(mesh::read(
                source,
                mesh.value(),
                skin,
                entries,
                false,
                budget,
                warnings,
            )?);
            continue;
        }
        let Some((joint, inverse_bind)) = carriers.get(index).copied().flatten() else {
            warnings.push(Warning::MeshWithoutJoint { node: index, name });
            continue;
        };
        let skin = character.skins.len();
        let Some(mesh) = mesh::read(source, mesh.value(), skin, 1, true, budget, warnings)? else { continue };
        let joint_name = character.skeleton.joints.get(usize::from(joint)).map(|joint| joint.name.clone());
        warnings.push(Warning::RigidMesh {
            node: index,
            name: name.clone(),
            joint: joint_name.unwrap_or_default(),
        });
        character.skins.push(RawSkin { name, joints: vec![joint], inverse_binds: vec![inverse_bind] });
        character.meshes.push(mesh);
    }
    Ok(())
}

/// For each node the nearest joint at or above it, and the node's matrix relative to that joint.
fn carriers(tree: &Tree, selection: &Selection) -> Vec<Option<(u16, Mat4)>> {
    let mut carriers: Vec<Option<(u16, Mat4)>> = vec![None; tree.locals.len()];
    for &node in &tree.order {
        let carrier = match selection.joint(node) {
            Some(joint) => Some((joint, Mat4::IDENTITY)),
            None => {
                let above = tree.parent(node).and_then(|parent| carriers.get(parent).copied().flatten());
                let local = tree.locals.get(node).map_or(Mat4::IDENTITY, |local| local.to_mat4());
                above.map(|(joint, matrix)| (joint, matrix * local))
            }
        };
        if let Some(slot) = carriers.get_mut(node) {
            *slot = carrier;
        }
    }
    carriers
}
