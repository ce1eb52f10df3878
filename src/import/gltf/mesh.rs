//! Triangle meshes with their influences.

use std::collections::HashMap;

use gltf::json::accessor::Type;
use gltf::json::mesh::{Mode, Semantic};
use gltf::json::validation::Checked;

use super::accessor::{Access, Source};
use super::budget::Budget;
use super::container::Primitive;
use crate::import::report::Warnings;
use crate::import::{Refusal, Warning};
use crate::rig::{MAX_INFLUENCES, RawMesh};

/// More sets of four influences than any exporter writes.
const MAX_SETS: usize = 16;
/// Bytes of one vertex of a [`RawMesh`].
const VERTEX: usize = 12 + 12 + 2 * MAX_INFLUENCES + 4 * MAX_INFLUENCES;

/// Reads all triangles of mesh `index` as one mesh of `skin` with a palette of `entries`. `rigid` meshes follow entry 0
/// whatever their vertices say. `None` if nothing of it can be read.
pub(super) fn read(
    source: Source<'_>,
    index: usize,
    skin: usize,
    entries: usize,
    rigid: bool,
    budget: &mut Budget,
    warnings: &mut Warnings,
) -> Result<Option<RawMesh>, Refusal> {
    let document = source.document;
    let mesh = document.meshes.get(index).ok_or_else(|| Refusal::Reference {
        from: "a node".to_owned(),
        kind: "mesh",
        index,
        have: document.meshes.len(),
    })?;
    let name = document.mesh_name(index);
    if mesh.primitives.iter().any(|primitive| primitive.targets.is_some()) {
        warnings.push(Warning::MorphTargets { mesh: index, name: name.clone() });
    }
    let mut parts = Vec::new();
    let mut bases = HashMap::new();
    let mut vertices = 0_usize;
    for (at, primitive) in mesh.primitives.iter().enumerate() {
        let bad = |reason: String| Refusal::Mesh { mesh: index, name: name.clone(), primitive: at, reason };
        match plan(source, index, primitive, rigid, &bad)? {
            Plan::Read(mut part) => {
                let fresh = *bases.entry(part.key.clone()).or_insert(vertices);
                part.shared = fresh != vertices;
                part.base = fresh;
                if !part.shared {
                    budget.charge_many(part.positions.count, VERTEX, "a mesh")?;
                    vertices = vertices.saturating_add(part.positions.count);
                }
                let corners = part.indices.as_ref().map_or(part.positions.count, |indices| indices.count);
                budget.charge_many(
                    corners.saturating_mul(if part.mode == Mode::Triangles { 1 } else { 3 }),
                    4,
                    "a mesh",
                )?;
                parts.push(part);
            }
            Plan::Drop(warning) => warnings.push_new(warning),
        }
    }
    if parts.is_empty() {
        return Ok(None);
    }
    if u32::try_from(vertices).is_err() {
        return Err(Refusal::TooLarge { what: "a mesh", file_bytes: source.file_bytes });
    }
    let mut out = RawMesh {
        name,
        skin,
        positions: Vec::with_capacity(vertices),
        normals: Vec::with_capacity(vertices),
        indices: Vec::new(),
        joints: Vec::with_capacity(vertices),
        weights: Vec::with_capacity(vertices),
    };
    let mut counts = Counts::default();
    for (at, part) in parts.iter().enumerate() {
        let bad = |reason: &str| Refusal::Mesh {
            mesh: index,
            name: document.mesh_name(index),
            primitive: at,
            reason: reason.to_owned(),
        };
        if !part.shared {
            for position in part.positions.reals::<3>() {
                if !position.iter().all(|value| value.is_finite()) {
                    return Err(bad("a position is not finite"));
                }
                out.positions.push(position);
            }
            read_influences(part, entries, rigid, &mut out, &mut counts);
        }
        let first_index = out.indices.len();
        read_triangles(part, &mut out.indices).map_err(bad)?;
        if !part.shared {
            match &part.normals {
                Some(normals) => out.normals.extend(normals.reals::<3>().map(unit_or_up)),
                None => {
                    let corners = out.indices.get(first_index..).unwrap_or(&[]);
                    smooth_normals(&out.positions, corners, part.base, &mut out.normals);
                }
            }
        }
    }
    counts.report(index, document.mesh_name(index), rigid, warnings);
    Ok(Some(out))
}

struct Part<'a> {
    /// Accessors that make the vertices.
    key: Vec<usize>,
    positions: Access<'a>,
    normals: Option<Access<'a>>,
    sets: Vec<(Access<'a>, Access<'a>)>,
    indices: Option<Access<'a>>,
    mode: Mode,
    /// First vertex.
    base: usize,
    /// The vertices are those of an earlier part.
    shared: bool,
}

enum Plan<'a> {
    Read(Box<Part<'a>>),
    Drop(Warning),
}

fn plan<'a>(
    source: Source<'a>,
    mesh: usize,
    primitive: &Primitive,
    rigid: bool,
    bad: &dyn Fn(String) -> Refusal,
) -> Result<Plan<'a>, Refusal> {
    let name = || source.document.mesh_name(mesh);
    let attribute =
        |semantic: Semantic| primitive.attributes.get(&Checked::Valid(semantic)).map(|index| index.value());
    let dropped = |reason| Ok(Plan::Drop(Warning::MeshDropped { mesh, name: name(), reason }));
    let Some(position) = attribute(Semantic::Positions) else {
        return Ok(Plan::Drop(Warning::NoPositions { mesh, name: name() }));
    };
    let mode = match primitive.mode {
        Checked::Valid(mode @ (Mode::Triangles | Mode::TriangleStrip | Mode::TriangleFan)) => mode,
        Checked::Valid(_) => return Ok(Plan::Drop(Warning::NotTriangles { mesh, name: name() })),
        Checked::Invalid => return Err(bad("its mode is not one of the format".to_owned())),
    };
    let draco = primitive.extensions.draco.is_some();
    let backed = source
        .document
        .accessors
        .get(position)
        .is_some_and(|accessor| accessor.buffer_view.is_some() || accessor.sparse.is_some());
    if draco && !backed {
        return dropped("compressed by KHR_draco_mesh_compression");
    }
    let open =
        |index: usize, what: &str, shapes: &[Type]| -> Result<Result<Access<'a>, &'static str>, Refusal> {
            let user = format!("{what} of mesh {mesh} {:?}", name());
            match source.open(index, &user)? {
                Ok(access) if !shapes.contains(&access.shape) => Err(Refusal::Accessor {
                    accessor: index,
                    user,
                    reason: format!("its elements must be {shapes:?}, not {:?}", access.shape),
                }),
                access => Ok(access),
            }
        };
    let mut key = vec![position];
    let positions = match open(position, "positions", &[Type::Vec3])? {
        Ok(access) => access,
        Err(reason) => return dropped(reason),
    };
    let same_count = |access: &Access<'_>, what: &str| {
        if access.count == positions.count {
            Ok(())
        } else {
            Err(bad(format!("{} {what} for {} positions", access.count, positions.count)))
        }
    };
    let mut normals = None;
    if let Some(index) = attribute(Semantic::Normals) {
        let access = match open(index, "normals", &[Type::Vec3])? {
            Ok(access) => access,
            Err(reason) => return dropped(reason),
        };
        same_count(&access, "normals")?;
        key.push(index);
        normals = Some(access);
    }
    let mut sets = Vec::new();
    if !rigid {
        for set in 0.. {
            let (Some(joints), Some(weights)) =
                (attribute(Semantic::Joints(set)), attribute(Semantic::Weights(set)))
            else {
                break;
            };
            if sets.len() == MAX_SETS {
                return Err(bad(format!("more than {MAX_SETS} sets of influences")));
            }
            let pair = (open(joints, "joints", &[Type::Vec4])?, open(weights, "weights", &[Type::Vec4])?);
            let (joint_access, weight_access) = match pair {
                (Ok(joints), Ok(weights)) => (joints, weights),
                (Err(reason), _) | (_, Err(reason)) => return dropped(reason),
            };
            same_count(&joint_access, "joint sets")?;
            same_count(&weight_access, "weight sets")?;
            key.extend([joints, weights]);
            sets.push((joint_access, weight_access));
        }
    }
    let mut indices = None;
    if let Some(index) = primitive.indices {
        let access = match open(index.value(), "indices", &[Type::Scalar])? {
            Ok(access) => access,
            Err(reason) => return dropped(reason),
        };
        indices = Some(access);
    }
    let part = Part { key, positions, normals, sets, indices, mode, base: 0, shared: false };
    Ok(Plan::Read(Box::new(part)))
}

#[derive(Default)]
struct Counts {
    vertices: usize,
    unbound: usize,
    weightless: usize,
    out_of_range: usize,
    negative: usize,
    pruned: usize,
    most: usize,
}

impl Counts {
    fn report(&self, mesh: usize, name: String, rigid: bool, warnings: &mut Warnings) {
        if rigid {
            return;
        }
        if self.unbound > 0 {
            warnings.push(Warning::NoWeights { mesh, name: name.clone() });
        }
        if self.weightless > 0 {
            warnings.push(Warning::WeightlessVertices {
                mesh,
                name: name.clone(),
                vertices: self.weightless,
            });
        }
        if self.out_of_range > 0 {
            warnings.push(Warning::InfluenceOutOfRange {
                mesh,
                name: name.clone(),
                vertices: self.out_of_range,
            });
        }
        if self.negative > 0 {
            warnings.push(Warning::NegativeWeights { mesh, name: name.clone(), vertices: self.negative });
        }
        if self.pruned > 0 {
            warnings.push(Warning::InfluencesPruned { mesh, name, vertices: self.pruned, most: self.most });
        }
    }
}

/// Sums all sets per vertex, keeps the largest influences and makes them sum to one.
fn read_influences(part: &Part<'_>, entries: usize, rigid: bool, out: &mut RawMesh, counts: &mut Counts) {
    let rigid_weights: [f32; MAX_INFLUENCES] = std::array::from_fn(|i| if i == 0 { 1.0 } else { 0.0 });
    counts.vertices += part.positions.count;
    if rigid || part.sets.is_empty() {
        counts.unbound += part.positions.count;
        out.joints.resize(out.positions.len(), [0; MAX_INFLUENCES]);
        out.weights.resize(out.positions.len(), rigid_weights);
        return;
    }
    let mut sets = part
        .sets
        .iter()
        .map(|(joints, weights)| (joints.integers::<4>(), weights.reals::<4>()))
        .collect::<Vec<_>>();
    let mut influences: Vec<(u16, f64)> = Vec::with_capacity(4 * MAX_SETS);
    for _ in 0..part.positions.count {
        influences.clear();
        let (mut outside, mut negative) = (false, false);
        for (joints, weights) in &mut sets {
            let (Some(joints), Some(weights)) = (joints.next(), weights.next()) else { continue };
            for (joint, weight) in joints.into_iter().zip(weights) {
                negative |= weight < 0.0;
                // NaN and infinity are no influence either.
                if !(weight > 0.0 && weight.is_finite()) {
                    continue;
                }
                let entry = if (joint as usize) < entries { joint as u16 } else { 0 };
                outside |= (joint as usize) >= entries;
                match influences.iter_mut().find(|(known, _)| *known == entry) {
                    Some((_, sum)) => *sum += f64::from(weight),
                    None => influences.push((entry, f64::from(weight))),
                }
            }
        }
        counts.out_of_range += usize::from(outside);
        counts.negative += usize::from(negative);
        counts.most = counts.most.max(influences.len());
        counts.pruned += usize::from(influences.len() > MAX_INFLUENCES);
        influences.sort_by(|a, b| b.1.total_cmp(&a.1));
        influences.truncate(MAX_INFLUENCES);
        let sum: f64 = influences.iter().map(|(_, weight)| weight).sum();
        let mut joints = [0; MAX_INFLUENCES];
        let mut weights = rigid_weights;
        if sum > 1e-12 {
            weights = [0.0; MAX_INFLUENCES];
            for ((joint, weight), &(entry, value)) in joints.iter_mut().zip(&mut weights).zip(&influences) {
                *joint = entry;
                *weight = (value / sum) as f32;
            }
        } else {
            counts.weightless += 1;
        }
        out.joints.push(joints);
        out.weights.push(weights);
    }
}

fn read_triangles(part: &Part<'_>, out: &mut Vec<u32>) -> Result<(), &'static str> {
    let count = part.positions.count;
    let base = u32::try_from(part.base).map_err(|_| "too many vertices")?;
    let checked = |corner: u32| {
        if (corner as usize) < count {
            Ok(base.saturating_add(corner))
        } else {
            Err("an index lies behind the last vertex")
        }
    };
    let corners: Box<dyn Iterator<Item = u32> + '_> = match &part.indices {
        Some(indices) => Box::new(indices.integers::<1>().map(|[corner]| corner)),
        None => Box::new(0..u32::try_from(count).map_err(|_| "too many vertices")?),
    };
    let total = part.indices.as_ref().map_or(count, |indices| indices.count);
    if part.mode == Mode::Triangles {
        out.reserve_exact(total / 3 * 3);
        for corner in corners.take(total / 3 * 3) {
            out.push(checked(corner)?);
        }
        return Ok(());
    }
    out.reserve_exact(total.saturating_sub(2) * 3);
    let mut edge = [None, None];
    for (at, corner) in corners.enumerate() {
        let corner = checked(corner)?;
        if let [Some(a), Some(b)] = edge {
            // Every other triangle of a strip runs the other way round.
            let flip = part.mode == Mode::TriangleStrip && at % 2 == 1;
            out.extend(if flip { [b, a, corner] } else { [a, b, corner] });
        }
        edge = match edge {
            [None, _] => [Some(corner), None],
            [first, None] => [first, Some(corner)],
            [_, last] if part.mode == Mode::TriangleStrip => [last, Some(corner)],
            [first, _] => [first, Some(corner)],
        };
    }
    Ok(())
}

fn unit_or_up(normal: [f32; 3]) -> [f32; 3] {
    glam::Vec3::from_array(normal).try_normalize().unwrap_or(glam::Vec3::Y).to_array()
}

/// Area-weighted vertex normals of the vertices from `base` on.
fn smooth_normals(positions: &[[f32; 3]], corners: &[u32], base: usize, out: &mut Vec<[f32; 3]>) {
    out.resize(positions.len(), [0.0; 3]);
    let point = |corner: u32| positions.get(corner as usize).copied().map(glam::Vec3::from_array);
    for triangle in corners.chunks_exact(3) {
        let [a, b, c] = *triangle else { continue };
        let (Some(pa), Some(pb), Some(pc)) = (point(a), point(b), point(c)) else { continue };
        let area = (pb - pa).cross(pc - pa);
        for corner in [a, b, c] {
            if let Some(normal) = out.get_mut(corner as usize) {
                *normal = (glam::Vec3::from_array(*normal) + area).to_array();
            }
        }
    }
    for normal in out.iter_mut().skip(base) {
        *normal = unit_or_up(*normal);
    }
}
