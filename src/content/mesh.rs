//! Building meshes: closed lofts in the T pose with smooth weights, taken to the reference pose by
//! the rig's own skinning.

use std::f64::consts::TAU;

use glam::{DQuat, DVec3, Mat4};

use super::anatomy::{Anatomy, mirror_point};
use super::body;
use crate::rig::{Limb, MAX_INFLUENCES, RawMesh, RawSkin, Role, RoleMap, Side};

/// Most joints that move a vertex.
const INFLUENCES: usize = 4;

/// T-pose position, reference position and rotation between the two, of one joint.
pub(super) type JointRest = (DVec3, DVec3, DQuat);

/// Joints and weights of a vertex.
pub(super) type Weights = Vec<(u16, f64)>;

/// A cross section: centre, two half axes, and how square it is (2: ellipse).
#[derive(Clone, Copy)]
pub(super) struct Ring {
    pub centre: DVec3,
    pub u: DVec3,
    pub v: DVec3,
    pub power: f64,
}

/// What a mesh is made with: body, joints, and how they moved from T to reference pose.
pub(super) struct Stuff<'a> {
    pub anatomy: &'a Anatomy,
    pub roles: &'a RoleMap,
    pub rest: &'a [JointRest],
}

impl Stuff<'_> {
    /// The joint of a role, or of what stands in for it on this rig.
    pub fn joint(&self, role: Role) -> u16 {
        self.roles.joint(role).or_else(|| self.roles.joint(Role::Hips)).unwrap_or(0)
    }

    /// T-pose position of a role's joint.
    pub fn at(&self, role: Role) -> DVec3 {
        self.rest[usize::from(self.joint(role))].0
    }

    /// Twist joints of a limb, in order.
    pub fn twists(&self, side: Side, limb: Limb) -> Vec<u16> {
        (0..=u8::MAX).map_while(|i| self.roles.joint(Role::Twist(side, limb, i))).collect()
    }
}

/// Joints along a line, each taking over from the one before around a place on it.
#[derive(Clone, Default)]
pub(super) struct Chain {
    /// Joint, where it takes over, over what half width.
    links: Vec<(u16, f64, f64)>,
}

impl Chain {
    pub fn link(&mut self, joint: u16, at: f64, half_width: f64) {
        self.links.push((joint, at, half_width.max(1e-6)));
    }

    pub fn weights(&self, s: f64) -> Weights {
        let taken = |i: usize| {
            let (_, at, half) = self.links[i];
            let u = ((s - at) / (2.0 * half) + 0.5).clamp(0.0, 1.0);
            u * u * (3.0 - 2.0 * u)
        };
        let mut list = Weights::new();
        let mut left = 1.0;
        for i in (0..self.links.len()).rev() {
            let share = if i == 0 { 1.0 } else { taken(i) };
            if left * share > 0.0 {
                list.push((self.links[i].0, left * share));
            }
            left *= 1.0 - share;
        }
        list
    }
}

/// Triangles under construction.
#[derive(Default)]
pub(super) struct Shell {
    positions: Vec<DVec3>,
    weights: Vec<Weights>,
    indices: Vec<u32>,
}

impl Shell {
    /// Skin over `rings` with `around` points each, closed at both ends; `side` mirrors. The half axes
    /// of a ring and the direction of the loft form a right-handed frame.
    pub fn loft(
        &mut self,
        side: Side,
        rings: &[Ring],
        around: u32,
        weights: impl Fn(DVec3, usize) -> Weights,
    ) {
        let (first, last) = (self.positions.len() as u32, rings.len() as u32 - 1);
        for (number, ring) in rings.iter().enumerate() {
            for k in 0..around {
                let (sin, cos) = (TAU * f64::from(k) / f64::from(around)).sin_cos();
                let shape = |c: f64| c.signum() * c.abs().powf(2.0 / ring.power);
                self.vertex(side, ring.centre + ring.u * shape(cos) + ring.v * shape(sin), number, &weights);
            }
        }
        let at = |ring: u32, k: u32| first + ring * around + k % around;
        let ends = self.positions.len() as u32;
        self.vertex(side, rings[0].centre, 0, &weights);
        self.vertex(side, rings[last as usize].centre, last as usize, &weights);
        for k in 0..around {
            for ring in 0..last {
                let quad = [at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)];
                self.triangle(side, [quad[0], quad[1], quad[2]]);
                self.triangle(side, [quad[0], quad[2], quad[3]]);
            }
            self.triangle(side, [ends, at(0, k + 1), at(0, k)]);
            self.triangle(side, [ends + 1, at(last, k), at(last, k + 1)]);
        }
    }

    fn vertex(&mut self, side: Side, p: DVec3, ring: usize, weights: &impl Fn(DVec3, usize) -> Weights) {
        self.positions.push(mirror_point(side, p));
        self.weights.push(weights(p, ring));
    }

    fn triangle(&mut self, side: Side, [a, b, c]: [u32; 3]) {
        self.indices.extend(if side == Side::Left { [a, b, c] } else { [a, c, b] });
    }

    /// The mesh and its skin. The palette lists the joints by `order`, of those that are used (all of
    /// them for `None`, in the skeleton's order).
    fn finish(
        self,
        name: &str,
        skin: usize,
        stuff: &Stuff<'_>,
        binds: &[Mat4],
        own_order: bool,
    ) -> (RawSkin, RawMesh) {
        let weights: Vec<Weights> = self.weights.into_iter().map(pruned).collect();
        let mut palette: Vec<u16> = (0..stuff.rest.len() as u16).collect();
        if own_order {
            palette.retain(|j| weights.iter().flatten().any(|(used, _)| used == j));
            palette.reverse();
        }
        let entry = |joint: u16| palette.iter().position(|&j| j == joint).unwrap_or(0) as u16;
        let posed: Vec<DVec3> = self
            .positions
            .iter()
            .zip(&weights)
            .map(|(&p, weights)| {
                weights
                    .iter()
                    .map(|&(joint, w)| {
                        let (t, now, turn) = stuff.rest[usize::from(joint)];
                        (now + turn * (p - t)) * w
                    })
                    .sum()
            })
            .collect();
        let normals = normals(&posed, &self.indices);
        let mut mesh = RawMesh { name: name.to_owned(), skin, indices: self.indices, ..RawMesh::default() };
        for ((p, n), weights) in posed.iter().zip(normals).zip(&weights) {
            mesh.positions.push(p.as_vec3().to_array());
            mesh.normals.push(n.as_vec3().to_array());
            let (mut joints, mut shares) = ([0; MAX_INFLUENCES], [0.0; MAX_INFLUENCES]);
            for (k, &(joint, w)) in weights.iter().enumerate() {
                joints[k] = entry(joint);
                shares[k] = w as f32;
            }
            mesh.joints.push(joints);
            mesh.weights.push(shares);
        }
        let inverse_binds = palette.iter().map(|&j| binds[usize::from(j)]).collect();
        (RawSkin { name: name.to_owned(), joints: palette, inverse_binds }, mesh)
    }
}

/// Same joints added up, the largest kept, largest first, sum one.
fn pruned(list: Weights) -> Weights {
    let mut merged = Weights::new();
    for (joint, w) in list {
        match merged.iter_mut().find(|(j, _)| *j == joint) {
            Some(slot) => slot.1 += w,
            None => merged.push((joint, w)),
        }
    }
    merged.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    merged.truncate(INFLUENCES);
    let sum: f64 = merged.iter().map(|w| w.1).sum();
    merged.iter_mut().for_each(|w| w.1 /= sum);
    merged
}

/// Area-weighted vertex normals.
fn normals(positions: &[DVec3], indices: &[u32]) -> Vec<DVec3> {
    let mut sums = vec![DVec3::ZERO; positions.len()];
    for t in indices.chunks_exact(3) {
        let [a, b, c] = [t[0], t[1], t[2]].map(|i| positions[i as usize]);
        let face = (b - a).cross(c - a);
        t.iter().for_each(|&i| sums[i as usize] += face);
    }
    sums.into_iter().map(|n| n.normalize_or(DVec3::Y)).collect()
}

/// Skins and meshes of a body; `coat` adds a second skin whose palette is a subset in another order.
pub(super) fn build(stuff: &Stuff<'_>, binds: &[Mat4], coat: bool) -> (Vec<RawSkin>, Vec<RawMesh>) {
    let mut shell = Shell::default();
    body::body(&mut shell, stuff);
    let (skin, mesh) = shell.finish("body", 0, stuff, binds, false);
    let (mut skins, mut meshes) = (vec![skin], vec![mesh]);
    if coat {
        let mut shell = Shell::default();
        body::coat(&mut shell, stuff);
        let (skin, mesh) = shell.finish("coat", 1, stuff, binds, true);
        skins.push(skin);
        meshes.push(mesh);
    }
    (skins, meshes)
}
