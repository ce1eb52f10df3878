//! The outer layers of a file: GLB chunks, JSON, version, extensions.

use std::collections::BTreeMap;

use gltf::json;
use gltf::json::accessor::GenericComponentType;
use gltf::json::validation::Checked;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::budget::Budget;
use crate::import::report::Warnings;
use crate::import::{Refusal, Warning};

/// What the importer reads of a glTF document; materials, textures, images, cameras, scenes, bounds and extras are
/// skipped by the parser. Types of the `gltf` crate where they hold no free-form JSON, which takes many times its text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    asset: json::Asset,
    #[serde(default)]
    pub(super) extensions_required: Vec<String>,
    #[serde(default)]
    pub(super) extensions_used: Vec<String>,
    #[serde(default)]
    pub(super) accessors: Vec<Accessor>,
    #[serde(default)]
    pub(super) animations: Vec<Animation>,
    #[serde(default)]
    pub(super) buffers: Vec<json::Buffer>,
    #[serde(default)]
    pub(super) buffer_views: Vec<View>,
    #[serde(default)]
    pub(super) meshes: Vec<Mesh>,
    #[serde(default)]
    pub(super) nodes: Vec<json::Node>,
    #[serde(default)]
    pub(super) skins: Vec<json::Skin>,
}

/// An accessor without its bounds, which nothing here needs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Accessor {
    pub(super) buffer_view: Option<json::Index<json::buffer::View>>,
    #[serde(default)]
    pub(super) byte_offset: u64,
    pub(super) count: u64,
    pub(super) component_type: Checked<GenericComponentType>,
    #[serde(rename = "type")]
    pub(super) shape: Checked<json::accessor::Type>,
    #[serde(default)]
    pub(super) normalized: bool,
    pub(super) sparse: Option<Box<json::accessor::sparse::Sparse>>,
}

/// A buffer view with the one extension that matters.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View {
    pub(super) buffer: json::Index<json::Buffer>,
    #[serde(default)]
    pub(super) byte_offset: u64,
    pub(super) byte_length: u64,
    pub(super) byte_stride: Option<usize>,
    #[serde(default)]
    pub(super) extensions: Compression,
}

/// An animation.
#[derive(Deserialize)]
pub(super) struct Animation {
    pub(super) name: Option<String>,
    pub(super) channels: Vec<Channel>,
    pub(super) samplers: Vec<json::animation::Sampler>,
}

/// A channel.
#[derive(Deserialize)]
pub(super) struct Channel {
    pub(super) sampler: json::Index<json::animation::Sampler>,
    pub(super) target: Target,
}

/// What a channel moves; without a node that is something that an extension knows.
#[derive(Deserialize)]
pub(super) struct Target {
    pub(super) node: Option<json::Index<json::Node>>,
    pub(super) path: Checked<json::animation::Property>,
}

/// A mesh.
#[derive(Deserialize)]
pub(super) struct Mesh {
    pub(super) name: Option<String>,
    pub(super) primitives: Vec<Primitive>,
}

/// A primitive without material and morph targets.
#[derive(Deserialize)]
pub(super) struct Primitive {
    pub(super) attributes: BTreeMap<Checked<json::mesh::Semantic>, json::Index<json::Accessor>>,
    pub(super) indices: Option<json::Index<json::Accessor>>,
    #[serde(default)]
    pub(super) mode: Checked<json::mesh::Mode>,
    pub(super) targets: Option<IgnoredAny>,
    #[serde(default)]
    pub(super) extensions: Compression,
}

/// Whether data are compressed, and how.
#[derive(Default, Deserialize)]
pub(super) struct Compression {
    #[serde(rename = "KHR_draco_mesh_compression")]
    pub(super) draco: Option<IgnoredAny>,
    #[serde(rename = "EXT_meshopt_compression", alias = "KHR_meshopt_compression")]
    pub(super) meshopt: Option<IgnoredAny>,
}

impl Document {
    /// Name of a node; unnamed ones are called after their index.
    pub(super) fn node_name(&self, node: usize) -> String {
        or_index(self.nodes.get(node).and_then(|node| node.name.as_deref()), node)
    }

    /// Name of a mesh, or its index.
    pub(super) fn mesh_name(&self, mesh: usize) -> String {
        or_index(self.meshes.get(mesh).and_then(|mesh| mesh.name.as_deref()), mesh)
    }
}

/// The name, cut to a sane length (names are repeated in warnings), or `#index`.
pub(super) fn or_index(name: Option<&str>, index: usize) -> String {
    const LONGEST: usize = 256;
    match name {
        Some(name) if name.len() <= LONGEST => name.to_owned(),
        Some(name) => name.chars().take(LONGEST / 4).collect(),
        None => format!("#{index}"),
    }
}

/// JSON part and binary part of a file.
pub(super) struct Parts<'a> {
    pub(super) json: &'a [u8],
    pub(super) binary: Option<&'a [u8]>,
}

const HEADER: usize = 12;
const CHUNK_HEADER: usize = 8;
const JSON_CHUNK: u32 = u32::from_le_bytes(*b"JSON");
const BIN_CHUNK: u32 = u32::from_le_bytes(*b"BIN\0");

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// Splits a GLB, or takes the whole as JSON.
pub(super) fn split(bytes: &[u8]) -> Result<Parts<'_>, Refusal> {
    let broken = |offset, reason| Err(Refusal::Container { offset, reason });
    if bytes.is_empty() {
        return broken(0, "the file is empty");
    }
    if !bytes.starts_with(b"glTF") {
        let json = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let first = json.iter().find(|byte| !byte.is_ascii_whitespace());
        if first != Some(&b'{') {
            return broken(0, "neither GLB (\"glTF\" first) nor JSON (\"{\" first)");
        }
        return Ok(Parts { json, binary: None });
    }
    let (Some(version), Some(length)) = (word(bytes, 4), word(bytes, 8)) else {
        return broken(bytes.len(), "the header of 12 bytes is cut off");
    };
    if version == 1 {
        return Err(Refusal::Version { found: "1.0 (binary)".to_owned() });
    }
    if version != 2 {
        return broken(4, "container version 2 is needed");
    }
    let Ok(length) = usize::try_from(length) else {
        return broken(8, "the length does not fit into memory");
    };
    if length > bytes.len() {
        return broken(8, "the file is shorter than its header says");
    }
    let Some(bytes) = bytes.get(..length) else {
        return broken(8, "the file is shorter than its header says");
    };
    let mut at = HEADER;
    let (mut json, mut binary, mut index) = (None, None, 0);
    while at < length {
        let (Some(size), Some(kind)) = (word(bytes, at), word(bytes, at.saturating_add(4))) else {
            return broken(at, "a chunk header of 8 bytes is cut off");
        };
        let begin = at.saturating_add(CHUNK_HEADER);
        let end = usize::try_from(size).ok().and_then(|size| begin.checked_add(size));
        let Some(data) = end.and_then(|end| bytes.get(begin..end)) else {
            return broken(at, "a chunk is longer than the file");
        };
        match (kind, index) {
            (JSON_CHUNK, 0) => json = Some(data),
            (_, 0) => return broken(at, "the first chunk must be JSON"),
            (JSON_CHUNK, _) => return broken(at, "there is a second JSON chunk"),
            (BIN_CHUNK, 1) => binary = Some(data),
            (BIN_CHUNK, _) => return broken(at, "the binary chunk must be the second one and the only one"),
            // The format asks readers to skip chunks of other kinds.
            _ => {}
        }
        index += 1;
        at = begin.saturating_add(data.len());
    }
    match json {
        Some(json) => Ok(Parts { json, binary }),
        None => broken(HEADER, "there is no JSON chunk"),
    }
}

/// Parses the JSON part, after a look at how much memory that will take.
pub(super) fn parse(json: &[u8], budget: &mut Budget) -> Result<Document, Refusal> {
    // The version is looked at first: a document of glTF 1.0 has objects where 2.0 has lists.
    #[derive(Deserialize)]
    struct Head {
        asset: json::Asset,
    }
    let head: Head = serde_json::from_slice(json).map_err(|error| refuse_json(&error))?;
    check_version(&head.asset)?;
    budget.charge(super::tally::cost(json).map_err(|error| refuse_json(&error))?, "the JSON part")?;
    let document: Document = serde_json::from_slice(json).map_err(|error| refuse_json(&error))?;
    check_version(&document.asset)?;
    Ok(document)
}

fn refuse_json(error: &serde_json::Error) -> Refusal {
    Refusal::Json { line: error.line(), column: error.column(), reason: crate::error::json_reason(error) }
}

fn check_version(asset: &json::Asset) -> Result<(), Refusal> {
    let major = |version: &str| version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    let needed = asset.min_version.as_deref().unwrap_or("2.0");
    if major(&asset.version) != Some(2) {
        return Err(Refusal::Version { found: asset.version.clone() });
    }
    if major(needed) != Some(2) {
        return Err(Refusal::Version { found: format!("at least {needed}") });
    }
    Ok(())
}

/// Names of the extensions that compress meshes.
pub(super) const DRACO: &str = "KHR_draco_mesh_compression";
const MESHOPT: [&str; 2] = ["EXT_meshopt_compression", "KHR_meshopt_compression"];

/// Refuses what cannot be read without an extension that is not known here.
///
/// Accepted are extensions that only concern what is not read (materials, textures, lights, metadata), quantised
/// vertex data, mesh compression (the mesh is dropped later), and the parts of VRM that do not change the rest pose.
pub(super) fn check_extensions(document: &Document, warnings: &mut Warnings) -> Result<(), Refusal> {
    for name in &document.extensions_required {
        let harmless = name.starts_with("KHR_materials_")
            || name.starts_with("ADOBE_materials_")
            || name.starts_with("VRMC_")
            || MESHOPT.contains(&name.as_str())
            || matches!(
                name.as_str(),
                DRACO
                    | "KHR_mesh_quantization"
                    | "KHR_texture_transform"
                    | "KHR_texture_basisu"
                    | "EXT_texture_webp"
                    | "EXT_texture_avif"
                    | "MSFT_texture_dds"
                    | "KHR_lights_punctual"
                    | "EXT_lights_image_based"
                    | "KHR_xmp"
                    | "KHR_xmp_json_ld"
                    | "VRM"
            );
        if !harmless {
            return Err(Refusal::RequiredExtension { name: name.clone() });
        }
    }
    for name in document.extensions_required.iter().chain(&document.extensions_used) {
        let warning = Warning::Textures { extension: name.clone() };
        let texture =
            name == "KHR_texture_basisu" || name.starts_with("EXT_texture_") || name == "MSFT_texture_dds";
        if texture {
            warnings.push_new(warning);
        }
    }
    Ok(())
}
