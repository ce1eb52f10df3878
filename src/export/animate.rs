//! Other clips into a file that is there: its meshes, materials, textures and extensions stay as they are.

use std::path::Path;

use glam::{Mat4, Quat, Vec3};
use serde_json::{Value, json};

use super::animation::animation;
use super::binary::Binary;
use super::{ExportError, ExportOptions};
use crate::clip::{Curve, Interpolation, JointTracks, RawClip};
use crate::import::gltf::buffers::{LENIENT, file_below};
use crate::import::{Conversion, Imported};
use crate::rig::RawSkeleton;

/// A glTF or GLB file that was imported, and where it lies.
#[derive(Clone, Copy, Debug)]
pub struct Original<'a> {
    /// The file's bytes.
    pub bytes: &'a [u8],
    /// The folder that its buffers and images lie in; `None` if it has none outside.
    pub folder: Option<&'a Path>,
    /// What the importer made of it.
    pub imported: &'a Imported,
}

/// The file as GLB with `clips` in place of its animations. Clips are on the imported skeleton; they are taken back to the
/// file's axes, units and scales. Curves stay steps, straight lines or cubics; cubics with keys before the clip's start or
/// after its end become straight lines between those within.
///
/// # Errors
/// If the file is not the one that was imported, a buffer of it cannot be read, a clip is not valid, or the result would
/// be 4 GiB large.
pub fn animate(
    original: &Original<'_>,
    clips: &[RawClip],
    options: &ExportOptions,
) -> Result<Vec<u8>, ExportError> {
    let wrong = |what: &str| ExportError::Original { what: what.to_owned() };
    let (mut document, own) = split(original.bytes)?;
    let nodes = document["nodes"].as_array().cloned().unwrap_or_default();
    let Imported { character, report, .. } = original.imported;
    let skeleton = &character.skeleton;
    if report.nodes.len() != skeleton.joints.len() || report.nodes.iter().any(|&node| node >= nodes.len()) {
        return Err(wrong("its nodes are not those of the imported skeleton"));
    }
    let locals: Vec<Mat4> = nodes.iter().map(local).collect();
    let mut parents = vec![None; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        for child in node["children"].as_array().into_iter().flatten() {
            if let Some(slot) = child.as_u64().and_then(|child| parents.get_mut(child as usize)) {
                *slot = Some(index);
            }
        }
    }

    // All buffers one after the other become the one of the GLB.
    let mut bytes = Vec::new();
    let mut starts = Vec::new();
    for (index, buffer) in document["buffers"].as_array().cloned().unwrap_or_default().iter().enumerate() {
        while !bytes.len().is_multiple_of(4) {
            bytes.push(0);
        }
        starts.push(bytes.len());
        bytes.extend_from_slice(&read_buffer(buffer, index, own, original.folder)?);
    }
    let mut views = document["bufferViews"].as_array().cloned().unwrap_or_default();
    for view in &mut views {
        let start = view["buffer"].as_u64().and_then(|at| starts.get(at as usize)).copied();
        let start = start.ok_or_else(|| wrong("a buffer view names a buffer that is not there"))?;
        let offset = view["byteOffset"].as_u64().unwrap_or(0) as usize;
        view["buffer"] = json!(0);
        view["byteOffset"] = json!(start.saturating_add(offset));
    }
    let mut accessors = document["accessors"].as_array().cloned().unwrap_or_default();
    let bytes = drop_old_keys(&document, &bytes, &mut views, &mut accessors)?;
    let mut binary = Binary::after(bytes, views, accessors);
    embed_images(&mut document, original.folder, &mut binary);

    let file = File {
        skeleton,
        nodes: &report.nodes,
        locals: &locals,
        parents: &parents,
        conversion: report.conversion,
        lift: report.lift,
    };
    let mut animations = Vec::new();
    for clip in clips {
        clip.validate(skeleton)?;
        let back = file.take_back(clip);
        let node = |joint: u16| report.nodes[usize::from(joint)];
        animations.extend(animation(skeleton, &back, &node, &mut binary, options)?);
    }
    match document.as_object_mut() {
        Some(object) if animations.is_empty() => {
            object.remove("animations");
        }
        Some(object) => {
            object.insert("animations".to_owned(), Value::Array(animations));
        }
        None => return Err(wrong("it is no JSON object")),
    }
    binary.into_glb(document)
}

/// Keys of the animations that go take up no room: accessors that only they use become one number, views that only those
/// use four bytes, so that numbers of both stay; those at the end of their list, where most tools put them, go.
fn drop_old_keys(
    document: &Value,
    bytes: &[u8],
    views: &mut Vec<Value>,
    accessors: &mut Vec<Value>,
) -> Result<Vec<u8>, ExportError> {
    let index = |value: &Value| value.as_u64().map(|at| at as usize);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut dead = vec![false; accessors.len()];
    for sampler in list(&document["animations"]).iter().flat_map(|animation| list(&animation["samplers"])) {
        for at in [&sampler["input"], &sampler["output"]].into_iter().filter_map(index) {
            if let Some(dead) = dead.get_mut(at) {
                *dead = true;
            }
        }
    }
    // Of all else that may name an accessor, numbers count, whatever they mean: better one too many kept.
    let mut others = document.clone();
    if let Some(object) = others.as_object_mut() {
        for key in ["animations", "accessors", "bufferViews", "buffers"] {
            object.remove(key);
        }
        for key in ["nodes", "scenes"] {
            // Their numbers are nodes, but for extensions.
            for item in object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten() {
                let extensions = item.get("extensions").cloned().unwrap_or(Value::Null);
                *item = extensions;
            }
        }
        for skin in object.get_mut("skins").and_then(Value::as_array_mut).into_iter().flatten() {
            *skin = json!([skin["inverseBindMatrices"], skin["extensions"]]);
        }
        for key in ["images", "textures", "materials", "samplers", "cameras", "asset"] {
            object.remove(key);
        }
    }
    revive(&others, &mut dead);
    let mut used = vec![0usize; views.len()];
    let mut used_by_dead = vec![0usize; views.len()];
    count_views(document, &mut used);
    for (accessor, _) in accessors.iter_mut().zip(&dead).filter(|(_, dead)| **dead) {
        count_views(accessor, &mut used_by_dead);
        let view = accessor["bufferView"].clone();
        *accessor = json!({ "componentType": 5126, "count": 1, "type": "SCALAR" });
        if !view.is_null() {
            accessor["bufferView"] = view;
        }
    }
    let live = |dead: &[bool]| dead.iter().rposition(|dead| !dead).map_or(0, |last| last + 1);
    accessors.truncate(live(&dead));
    let mut still = vec![0usize; views.len()];
    accessors.iter().for_each(|accessor| count_views(accessor, &mut still));
    let gone: Vec<bool> = (0..views.len())
        .map(|at| used_by_dead[at] > 0 && used_by_dead[at] == used[at] && still[at] == 0)
        .collect();
    views.truncate(live(&gone));
    let mut kept = vec![0u8; 4];
    for (at, view) in views.iter_mut().enumerate() {
        let (offset, length) =
            (index(&view["byteOffset"]).unwrap_or(0), index(&view["byteLength"]).unwrap_or(0));
        if used_by_dead[at] > 0 && used_by_dead[at] == used[at] {
            *view = json!({ "buffer": 0, "byteOffset": 0, "byteLength": 4 });
            continue;
        }
        let data = offset.checked_add(length).and_then(|end| bytes.get(offset..end));
        let data =
            data.ok_or_else(|| ExportError::Original { what: format!("buffer view {at} is cut off") })?;
        while !kept.len().is_multiple_of(4) {
            kept.push(0);
        }
        view["byteOffset"] = json!(kept.len());
        kept.extend_from_slice(data);
    }
    Ok(kept)
}

/// Whatever is named outside of the animations stays.
fn revive(value: &Value, dead: &mut [bool]) {
    match value {
        Value::Number(number) => {
            if let Some(dead) = number.as_u64().and_then(|at| dead.get_mut(at as usize)) {
                *dead = false;
            }
        }
        Value::Array(list) => list.iter().for_each(|value| revive(value, dead)),
        Value::Object(object) => object.values().for_each(|value| revive(value, dead)),
        _ => {}
    }
}

/// Mentions of each buffer view under its name.
fn count_views(value: &Value, used: &mut [usize]) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| count_views(value, used)),
        Value::Object(object) => {
            for (key, value) in object {
                match value.as_u64().filter(|_| key == "bufferView") {
                    Some(at) => {
                        if let Some(count) = used.get_mut(at as usize) {
                            *count += 1;
                        }
                    }
                    None => count_views(value, used),
                }
            }
        }
        _ => {}
    }
}

/// JSON part and binary chunk. The importer has been over the file, so this only finds its way.
fn split(bytes: &[u8]) -> Result<(Value, Option<&[u8]>), ExportError> {
    let wrong = |what: &str| ExportError::Original { what: what.to_owned() };
    let parse = |text: &[u8]| {
        serde_json::from_slice(text).map_err(|error| ExportError::Original { what: error.to_string() })
    };
    if !bytes.starts_with(b"glTF") {
        return Ok((parse(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))?, None));
    }
    let (mut at, mut text, mut binary) = (12, None, None);
    while let Some(head) = bytes.get(at..at + 8) {
        let size = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let data = bytes.get(at + 8..at + 8 + size).ok_or_else(|| wrong("a chunk is cut off"))?;
        match &head[4..] {
            b"JSON" if text.is_none() => text = Some(data),
            b"BIN\0" if binary.is_none() => binary = Some(data),
            _ => {}
        }
        at += 8 + size;
    }
    Ok((parse(text.ok_or_else(|| wrong("it has no JSON chunk"))?)?, binary))
}

fn read_buffer(
    buffer: &Value,
    index: usize,
    own: Option<&[u8]>,
    folder: Option<&Path>,
) -> Result<Vec<u8>, ExportError> {
    let wrong = |what: String| ExportError::Original { what };
    let length = buffer["byteLength"].as_u64().unwrap_or(0) as usize;
    let data = match buffer["uri"].as_str() {
        None => own.map(<[u8]>::to_vec).ok_or_else(|| wrong(format!("buffer {index} has no data")))?,
        Some(uri) => fetch(uri, folder).map_err(|reason| wrong(format!("buffer {index}: {reason}")))?.0,
    };
    let cut = data.get(..length).ok_or_else(|| wrong(format!("buffer {index} is cut off")))?;
    Ok(cut.to_vec())
}

/// Data of a URI, and its media type if the URI says so.
fn fetch(uri: &str, folder: Option<&Path>) -> Result<(Vec<u8>, Option<String>), String> {
    use base64::Engine;
    if let Some(rest) = uri.strip_prefix("data:") {
        let (head, body) = rest.split_once(',').ok_or("a data URI without data")?;
        let kind = head.split(';').next().filter(|kind| !kind.is_empty()).map(str::to_owned);
        let data = LENIENT.decode(body).map_err(|error| error.to_string())?;
        return Ok((data, kind));
    }
    let folder = folder.ok_or("it lies outside of the file")?;
    let path = file_below(folder, uri)?;
    crate::import::read_file(path).map(|data| (data, None)).map_err(|refusal| refusal.to_string())
}

/// Images that lie beside the file come along; one that cannot be read keeps its name.
fn embed_images(document: &mut Value, folder: Option<&Path>, binary: &mut Binary) {
    for image in document.get_mut("images").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(uri) = image["uri"].as_str().map(str::to_owned) else { continue };
        let Ok((data, kind)) = fetch(&uri, folder) else { continue };
        let by_name = match uri.rsplit('.').next().map(str::to_ascii_lowercase).as_deref() {
            Some("jpg" | "jpeg") => "image/jpeg",
            Some("png") => "image/png",
            Some("webp") => "image/webp",
            Some("ktx2") => "image/ktx2",
            Some("avif") => "image/avif",
            Some("dds") => "image/vnd-ms.dds",
            _ if kind.is_some() => "",
            // Of an unknown kind: better beside the file than wrong in it.
            _ => continue,
        };
        let view = binary.view(&data, super::binary::Target::Other);
        image["bufferView"] = json!(view);
        image["mimeType"] = json!(kind.unwrap_or_else(|| by_name.to_owned()));
        if let Some(object) = image.as_object_mut() {
            object.remove("uri");
        }
    }
}

/// A node's own transform.
fn local(node: &Value) -> Mat4 {
    let numbers = |key: &str| -> Option<Vec<f32>> {
        node[key].as_array().map(|list| list.iter().map(|v| v.as_f64().unwrap_or(0.0) as f32).collect())
    };
    if let Some(matrix) = numbers("matrix").filter(|list| list.len() == 16) {
        return Mat4::from_cols_slice(&matrix);
    }
    let three = |key: &str, or: Vec3| match numbers(key).as_deref() {
        Some(&[x, y, z]) => Vec3::new(x, y, z),
        _ => or,
    };
    let rotation = match numbers("rotation").as_deref() {
        Some(&[x, y, z, w]) => Quat::from_xyzw(x, y, z, w).normalize(),
        _ => Quat::IDENTITY,
    };
    Mat4::from_scale_rotation_translation(
        three("scale", Vec3::ONE),
        rotation,
        three("translation", Vec3::ZERO),
    )
}

struct File<'a> {
    skeleton: &'a RawSkeleton,
    nodes: &'a [usize],
    locals: &'a [Mat4],
    parents: &'a [Option<usize>],
    conversion: Conversion,
    lift: f32,
}

impl File<'_> {
    /// In the file's axes, units and scales. Local rotations are the same but for roots, which the importer turned with
    /// the file. A translation is told by where the joint is in the world of the file: above it there may be nodes that
    /// scale.
    fn take_back(&self, clip: &RawClip) -> RawClip {
        let Conversion { rotation, scale } = self.conversion;
        let back = rotation.inverse();
        let mut result = clip.clone();
        result.tracks.clear();
        for track in &clip.tracks {
            let joint = usize::from(track.joint);
            let root = self.skeleton.joints[joint].parent.is_none();
            let mut own: JointTracks = track.clone();
            if root {
                for value in own.rotation.iter_mut().flat_map(|curve| &mut curve.values) {
                    *value = back * *value;
                }
            }
            if let Some(curve) = &track.translation {
                // Positions of the joint at the keys, house axes, relative to the parent joint's frame; of a cubic the
                // one in the middle, between tangents.
                let cubic = curve.interpolation == Interpolation::CubicSpline;
                let of = |value: Vec3| self.translation(joint, value, root, back, scale);
                let origin = of(Vec3::ZERO);
                let values =
                    curve.values.iter().enumerate().map(|(at, &value)| {
                        if cubic && at % 3 != 1 { of(value) - origin } else { of(value) }
                    });
                own.translation = Some(Curve { values: values.collect(), ..curve.clone() });
            }
            result.tracks.push(own);
        }
        result
    }

    /// The importer folded the constant linear map above the joint into its offset: `t' = F t`. F is what the rest pose
    /// shows: the file's linear map of the parent node against the rotation that the joint's parent kept.
    fn translation(&self, joint: usize, house: Vec3, root: bool, back: Quat, scale: f32) -> Vec3 {
        let node = self.nodes[joint];
        if root {
            let lifted = house - Vec3::Y * self.lift;
            let world = (back * lifted) / scale;
            return match self.parents[node] {
                Some(parent) => self.world(parent).inverse().transform_point3(world),
                None => world,
            };
        }
        let parent_joint = self.skeleton.joints[joint].parent.map_or(0, usize::from);
        let model = self.file_rotation(parent_joint, back);
        // From the frame of the parent joint, unscaled, to the world of the file, and into the parent node.
        let parent_node = self.nodes[parent_joint];
        let world = self.world(parent_node);
        let offset = model * (house / scale);
        let above = self.parents[node].map_or(Mat4::IDENTITY, |parent| self.world(parent));
        above.inverse().transform_point3(world.w_axis.truncate() + offset)
    }

    /// Rotation of a joint at rest in the world of the file, scale left out as the importer did.
    fn file_rotation(&self, joint: usize, back: Quat) -> Quat {
        let mut rotation = Quat::IDENTITY;
        let mut at = Some(joint);
        while let Some(joint) = at {
            let own = &self.skeleton.joints[joint];
            rotation = own.rest.rotation * rotation;
            at = own.parent.map(usize::from);
        }
        back * rotation
    }

    fn world(&self, node: usize) -> Mat4 {
        let mut matrix = self.locals[node];
        let mut at = self.parents[node];
        let mut steps = 0;
        while let Some(parent) = at {
            matrix = self.locals[parent] * matrix;
            at = self.parents[parent];
            steps += 1;
            if steps > self.locals.len() {
                break;
            }
        }
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::fetch;

    #[test]
    fn names_are_read_as_the_importer_reads_them() {
        let folder = std::env::temp_dir().join(format!("throng-fetch-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inner")).expect("a folder");
        std::fs::write(folder.join("inner/a-\u{e4} b.bin"), b"data").expect("a file");
        let (data, kind) = fetch("inner/a%2D%C3%A4%20b.bin", Some(&folder.join("inner/.."))).expect("read");
        assert_eq!((&data[..], kind), (&b"data"[..], None));
        for outside in ["../inner/a.bin", "inner/%2E%2E/../x", "/etc/hostname", "none.bin", "a%2"] {
            assert!(fetch(outside, Some(&folder)).is_err(), "{outside}");
        }
        // With and without padding.
        for text in ["data:image/png;base64,YQ==", "data:image/png;base64,YQ"] {
            assert_eq!(fetch(text, None), Ok((b"a".to_vec(), Some("image/png".to_owned()))));
        }
        std::fs::remove_dir_all(folder).expect("removed");
    }
}
