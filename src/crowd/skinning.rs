//! Linear-blend skinning on the CPU, for pictures, bounds, and hosts without a GPU.
//!
//! ```text
//! palette      1 row an entry: the 12 values of a 3x4 matrix, 4 unused
//! mesh         groups of 16 vertices: positions and normals as rows, influences as one list (entry, weight)
//! per vertex   blended matrix = sum of weight x row           16 values at once, as many terms as it has
//! per group    transpose 16 blended matrices: one row per matrix element, one lane per vertex
//!              position = M p, normal = cofactors of M times n, normalised
//! ```
//!
//! Blending before the transpose costs each vertex its own influences. Element rows per influence (every lane
//! pays for the group's largest count, one transpose a term) took 1.1 to 1.4 times as long (ARCHITECTURE.md).

use super::output::PaletteFormat;
use super::shown::ShownPose;
use crate::error::BuildError;
use crate::lanes::{BLOCK, Lanes, Row, Simd, Vec3, per_isa};
use crate::rig::RawMesh;

/// A skin's matrices as the skinning kernel reads them, one row an entry. Kept by the host, so that decoding
/// allocates only when a longer palette comes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkinPalette {
    rows: Vec<Row>,
}

impl SkinPalette {
    /// From 3x4 matrices: three rows of four, the fourth column is the translation.
    pub fn set_matrices(&mut self, matrices: &[[f32; 12]]) {
        self.rows.clear();
        self.rows.extend(matrices.iter().map(row));
    }

    /// From a slot as [`Crowd::pose`](super::Crowd::pose) hands it out. `range` is the skin's
    /// [`palette_range`](super::Crowd::palette_range), which only [`PaletteFormat::Snorm16`] needs. Bytes that
    /// fill no whole entry are left out; entries that pad a palette to whole lines are harmless.
    pub fn set_bytes(&mut self, bytes: &[u8], format: PaletteFormat, range: f32) {
        self.rows.clear();
        self.rows.extend(bytes.chunks_exact(format.bytes()).map(|entry| row(&format.matrix(entry, range))));
    }

    /// From a pose [as it is shown](super::Crowd::shown_pose).
    pub fn set_shown(&mut self, pose: &ShownPose<'_>) {
        self.rows.clear();
        self.rows.extend((0..pose.entries()).filter_map(|entry| pose.matrix(entry)).map(|m| row(&m)));
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without entries.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

fn row(matrix: &[f32; 12]) -> Row {
    let mut row = Row::ZERO;
    row.0[..12].copy_from_slice(matrix);
    row
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Influence {
    entry: u32,
    weight: f32,
}

/// Sixteen vertices.
#[derive(Clone, Debug, PartialEq)]
struct Group {
    position: [Row; 3],
    normal: [Row; 3],
    /// Where the influences of each vertex begin, and where those of the last end.
    first: [u32; BLOCK + 1],
}

/// A mesh laid out for [`skin`](Self::skin). Vertices keep the order of the raw mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct SkinnedMesh {
    groups: Vec<Group>,
    influences: Vec<Influence>,
    vertices: usize,
    entries: usize,
    rigid: usize,
}

impl SkinnedMesh {
    /// Lays a mesh out. Weights of a vertex are brought to the sum of one; a vertex without any weight is moved
    /// by the first entry that it names ([`rigid_vertices`](Self::rigid_vertices) counts those).
    ///
    /// # Errors
    /// If the mesh's arrays differ in length, or a vertex has a value that is not finite or a negative weight.
    pub fn new(mesh: &RawMesh) -> Result<Self, BuildError> {
        let vertices = mesh.positions.len();
        let bad = |vertex: usize, reason| BuildError::Vertex { mesh: mesh.name.clone(), vertex, reason };
        let lengths = [mesh.normals.len(), mesh.joints.len(), mesh.weights.len()];
        if let Some(&short) = lengths.iter().find(|&&length| length != vertices) {
            return Err(bad(short.min(vertices), "positions, normals, joints and weights must be as many"));
        }
        let mut skinned = Self { groups: Vec::new(), influences: Vec::new(), vertices, entries: 0, rigid: 0 };
        for from in (0..vertices).step_by(BLOCK) {
            let mut group = Group {
                position: [Row::ZERO; 3],
                normal: [Row::ZERO, Row::ONE, Row::ZERO],
                first: [skinned.influences.len() as u32; BLOCK + 1],
            };
            for lane in 0..BLOCK {
                let vertex = from + lane;
                if vertex < vertices {
                    let (position, normal) = (mesh.positions[vertex], mesh.normals[vertex]);
                    if !position.iter().chain(&normal).all(|v| v.is_finite()) {
                        return Err(bad(vertex, "position or normal is not finite"));
                    }
                    for k in 0..3 {
                        group.position[k].0[lane] = position[k];
                        group.normal[k].0[lane] = normal[k];
                    }
                    skinned.take_influences(mesh, vertex).map_err(|reason| bad(vertex, reason))?;
                }
                group.first[lane + 1] = skinned.influences.len() as u32;
            }
            skinned.groups.push(group);
        }
        Ok(skinned)
    }

    fn take_influences(&mut self, mesh: &RawMesh, vertex: usize) -> Result<(), &'static str> {
        let (entries, weights) = (&mesh.joints[vertex], &mesh.weights[vertex]);
        if !weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0) {
            return Err("a weight is negative or not finite");
        }
        let sum: f64 = weights.iter().copied().map(f64::from).sum();
        if sum > 0.0 {
            for (&entry, &weight) in entries.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                let weight = (f64::from(weight) / sum) as f32;
                self.influences.push(Influence { entry: entry.into(), weight });
            }
        } else {
            self.rigid += 1;
            self.influences.push(Influence { entry: entries[0].into(), weight: 1.0 });
        }
        let used = self.influences.iter().rev().take(entries.len()).map(|i| i.entry as usize + 1);
        self.entries = self.entries.max(used.max().unwrap_or(0));
        Ok(())
    }

    /// Vertices.
    pub fn vertices(&self) -> usize {
        self.vertices
    }

    /// Palette entries that the mesh reads: one more than the largest index in it.
    pub fn entries(&self) -> usize {
        self.entries
    }

    /// Vertices that had no weight and were bound to one entry.
    pub fn rigid_vertices(&self) -> usize {
        self.rigid
    }

    /// Poses the mesh: positions (metres, the palette's space) and unit normals, in the raw mesh's order.
    /// Normals go by the cofactors of the blended matrix, so uneven scale and mirroring keep them upright;
    /// where a matrix flattens everything they point up.
    ///
    /// # Errors
    /// If the palette has fewer entries than the mesh reads, or an output is not as long as the mesh.
    pub fn skin(
        &self,
        simd: Simd,
        palette: &SkinPalette,
        positions: &mut [[f32; 3]],
        normals: &mut [[f32; 3]],
    ) -> Result<(), BuildError> {
        if palette.len() < self.entries {
            return Err(BuildError::Length { what: "a palette", have: palette.len(), need: self.entries });
        }
        for have in [positions.len(), normals.len()] {
            if have != self.vertices {
                return Err(BuildError::Length { what: "a skinning output", have, need: self.vertices });
            }
        }
        skin(simd, self, &palette.rows, positions, normals);
        Ok(())
    }
}

per_isa! {
    fn skin(mesh: &SkinnedMesh, palette: &[Row], positions: &mut [[f32; 3]], normals: &mut [[f32; 3]]) = skin_kernel;
}

#[inline(always)]
fn skin_kernel<L: Lanes>(
    mesh: &SkinnedMesh,
    palette: &[Row],
    positions: &mut [[f32; 3]],
    normals: &mut [[f32; 3]],
) {
    let mut blended = [Row::ZERO; BLOCK];
    let mut elements = [Row::ZERO; BLOCK];
    let (mut position, mut normal) = ([Row::ZERO; 3], [Row::ZERO; 3]);
    let outputs = positions.chunks_mut(BLOCK).zip(normals.chunks_mut(BLOCK));
    for (group, (positions, normals)) in mesh.groups.iter().zip(outputs) {
        for (lane, out) in blended.iter_mut().enumerate() {
            let (first, end) = (group.first[lane] as usize, group.first[lane + 1] as usize);
            let influences = &mesh.influences[first..end];
            // Three vectors of four lanes are enough, the last four values of a row are unused.
            let mut sums = [L::zero(); 3];
            for influence in influences {
                let matrix = &palette[influence.entry as usize];
                let weight = L::splat(influence.weight);
                for at in (0..12).step_by(L::N) {
                    sums[at / L::N] = L::load(matrix, at).mul_add(weight, sums[at / L::N]);
                }
            }
            for at in (0..12).step_by(L::N) {
                sums[at / L::N].store(out, at);
            }
        }
        L::transpose(&blended, &mut elements);
        for at in (0..BLOCK).step_by(L::N) {
            let p = Vec3::<L>::load(&group.position, at);
            let n = Vec3::<L>::load(&group.normal, at);
            let x =
                Vec3::new(L::load(&elements[0], at), L::load(&elements[1], at), L::load(&elements[2], at));
            let y =
                Vec3::new(L::load(&elements[4], at), L::load(&elements[5], at), L::load(&elements[6], at));
            let z =
                Vec3::new(L::load(&elements[8], at), L::load(&elements[9], at), L::load(&elements[10], at));
            let moved = Vec3::new(
                x.dot(p) + L::load(&elements[3], at),
                y.dot(p) + L::load(&elements[7], at),
                z.dot(p) + L::load(&elements[11], at),
            );
            moved.store(&mut position, at);
            turned(x, y, z, n).store(&mut normal, at);
        }
        for (lane, (p, n)) in positions.iter_mut().zip(normals).enumerate() {
            for k in 0..3 {
                p[k] = position[k].0[lane];
                n[k] = normal[k].0[lane];
            }
        }
    }
}

/// A normal under the matrix with rows x, y, z: by its cofactors, which are the inverse transpose times the
/// determinant, the sign of that taken out again.
#[inline(always)]
fn turned<L: Lanes>(x: Vec3<L>, y: Vec3<L>, z: Vec3<L>, n: Vec3<L>) -> Vec3<L> {
    let yz = y.cross(z);
    let sign = L::select(x.dot(yz).lt(L::zero()), -L::one(), L::one());
    let turned = Vec3::new(yz.dot(n), z.cross(x).dot(n), x.cross(y).dot(n)).scale(sign);
    let length = turned.length_squared();
    let flat = length.lt(L::splat(1e-30));
    let unit = turned.scale(L::one() / L::select(flat, L::one(), length).sqrt());
    Vec3::select(flat, Vec3::splat([0.0, 1.0, 0.0]), unit)
}
