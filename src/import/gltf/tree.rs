//! The node hierarchy: parents, cycles, local transforms, and which nodes become joints.

use glam::{Mat3, Mat4, Quat, Vec3};
use gltf::json;

use super::container::Document;
use crate::error::BuildError;
use crate::import::report::Warnings;
use crate::import::{Refusal, Warning};
use crate::rig::{RawJoint, RawSkeleton, Transform};

/// Parents and local transforms of all nodes.
pub(super) struct Tree {
    /// Parent node of each node.
    pub(super) parents: Vec<Option<usize>>,
    /// Local transform of each node.
    pub(super) locals: Vec<Transform>,
    /// All nodes, parents first, in the file's order otherwise.
    pub(super) order: Vec<usize>,
}

impl Tree {
    pub(super) fn read(document: &Document, warnings: &mut Warnings) -> Result<Self, Refusal> {
        let nodes = &document.nodes;
        let mut parents: Vec<Option<usize>> = vec![None; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            for child in node.children.iter().flatten() {
                let child = child.value();
                let have = nodes.len();
                let slot = parents.get_mut(child).ok_or_else(|| Refusal::Reference {
                    from: format!("node {index} {:?}", document.node_name(index)),
                    kind: "node",
                    index: child,
                    have,
                })?;
                match *slot {
                    Some(first) if first != index => {
                        let name = document.node_name(child);
                        // A node below itself is called what it is.
                        if child == index {
                            return Err(Refusal::NodeCycle { node: child, name });
                        }
                        return Err(cycle_or_parents(&parents, document, child, first, index));
                    }
                    _ => *slot = Some(index),
                }
            }
        }
        let order = parents_first(document, &parents)?;
        let mut locals = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            locals.push(local(index, node, document, warnings)?);
        }
        Ok(Self { parents, locals, order })
    }

    /// The skeleton made of the nodes that `wanted` marks and all of their ancestors.
    pub(super) fn skeleton(&self, document: &Document, wanted: &[bool]) -> Result<Selection, Refusal> {
        let mut needed = wanted.to_vec();
        for &node in self.order.iter().rev() {
            if needed.get(node) == Some(&true)
                && let Some(parent) = self.parent(node)
                && let Some(slot) = needed.get_mut(parent)
            {
                *slot = true;
            }
        }
        let count = needed.iter().filter(|&&needed| needed).count();
        let limit = usize::from(u16::MAX) - 1;
        if count > limit {
            return Err(BuildError::TooManyJoints { have: count, limit }.into());
        }
        let mut joint_of_node: Vec<Option<u16>> = vec![None; self.locals.len()];
        let mut skeleton = RawSkeleton { joints: Vec::with_capacity(count) };
        let mut nodes = Vec::with_capacity(count);
        for &node in &self.order {
            let (Some(true), Some(&rest)) = (needed.get(node), self.locals.get(node)) else { continue };
            let parent = self.parent(node).and_then(|parent| joint_of_node.get(parent).copied().flatten());
            if let (Some(slot), Ok(joint)) = (joint_of_node.get_mut(node), u16::try_from(nodes.len())) {
                *slot = Some(joint);
            }
            skeleton.joints.push(RawJoint { name: document.node_name(node), parent, rest });
            nodes.push(node);
        }
        Ok(Selection { skeleton, nodes, joint_of_node })
    }

    pub(super) fn parent(&self, node: usize) -> Option<usize> {
        self.parents.get(node).copied().flatten()
    }
}

/// Nodes that became joints.
pub(super) struct Selection {
    pub(super) skeleton: RawSkeleton,
    /// Node of each joint.
    pub(super) nodes: Vec<usize>,
    joint_of_node: Vec<Option<u16>>,
}

impl Selection {
    pub(super) fn joint(&self, node: usize) -> Option<u16> {
        self.joint_of_node.get(node).copied().flatten()
    }
}

/// A second parent closes a cycle if the child is an ancestor of one of its parents.
fn cycle_or_parents(
    parents: &[Option<usize>],
    document: &Document,
    child: usize,
    first: usize,
    second: usize,
) -> Refusal {
    let name = document.node_name(child);
    for start in [first, second] {
        let mut at = Some(start);
        for _ in 0..=parents.len() {
            match at {
                Some(node) if node == child => return Refusal::NodeCycle { node: child, name },
                Some(node) => at = parents.get(node).copied().flatten(),
                None => break,
            }
        }
    }
    Refusal::NodeParents { node: child, name, first, second }
}

/// Depth first from each root; nodes that no root leads to form a cycle.
fn parents_first(document: &Document, parents: &[Option<usize>]) -> Result<Vec<usize>, Refusal> {
    let mut order = Vec::with_capacity(parents.len());
    let mut seen = vec![false; parents.len()];
    let mut stack = Vec::new();
    for (root, parent) in parents.iter().enumerate() {
        if parent.is_some() {
            continue;
        }
        stack.push(root);
        while let Some(node) = stack.pop() {
            match seen.get_mut(node) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            order.push(node);
            let children = document.nodes.get(node).and_then(|node| node.children.as_ref());
            stack.extend(children.into_iter().flatten().rev().map(|child| child.value()));
        }
    }
    match seen.iter().position(|seen| !seen) {
        Some(node) => Err(Refusal::NodeCycle { node, name: document.node_name(node) }),
        None => Ok(order),
    }
}

fn local(
    index: usize,
    node: &json::Node,
    document: &Document,
    warnings: &mut Warnings,
) -> Result<Transform, Refusal> {
    let name = || document.node_name(index);
    let bad = || Refusal::NodeTransform { node: index, name: name() };
    if let Some(matrix) = &node.matrix {
        if node.translation.is_some() || node.rotation.is_some() || node.scale.is_some() {
            warnings.push(Warning::MatrixAndComponents { node: index, name: name() });
        }
        let matrix = Mat4::from_cols_array(matrix);
        if !matrix.is_finite() {
            return Err(bad());
        }
        let (local, fit) = decompose(matrix);
        match fit {
            Fit::Exact => {}
            Fit::Sheared => warnings.push(Warning::Shear { node: index, name: name() }),
            Fit::Singular => warnings.push(Warning::Singular { node: index, name: name() }),
        }
        return if local.is_finite() { Ok(local) } else { Err(bad()) };
    }
    let rotation = node.rotation.as_ref().map_or(Quat::IDENTITY, |rotation| Quat::from_array(rotation.0));
    let local = Transform {
        translation: node.translation.map_or(Vec3::ZERO, Vec3::from_array),
        rotation,
        scale: node.scale.map_or(Vec3::ONE, Vec3::from_array),
    };
    if !local.is_finite() {
        return Err(bad());
    }
    let length = rotation.length();
    if (length - 1.0).abs() > 1e-3 {
        warnings.push(Warning::RotationNormalised { node: index, name: name() });
    }
    Ok(Transform { rotation: unit(rotation), ..local })
}

/// The unit quaternion along `rotation`; identity where there is none.
pub(super) fn unit(rotation: Quat) -> Quat {
    let [x, y, z, w] = rotation.to_array().map(f64::from);
    let length = (x * x + y * y + z * z + w * w).sqrt();
    if length > 1e-20 && length.is_finite() {
        Quat::from_xyzw((x / length) as f32, (y / length) as f32, (z / length) as f32, (w / length) as f32)
    } else {
        Quat::IDENTITY
    }
}

enum Fit {
    Exact,
    Sheared,
    Singular,
}

/// Translation, rotation, scale. A mirrored matrix gets a negative x scale; of a sheared one the axes are made
/// orthogonal one after the other (Gram-Schmidt).
fn decompose(matrix: Mat4) -> (Transform, Fit) {
    let linear = Mat3::from_mat4(matrix).as_dmat3();
    let translation = matrix.w_axis.truncate();
    let mut scale = [linear.x_axis.length(), linear.y_axis.length(), linear.z_axis.length()];
    let determinant = linear.determinant();
    let volume = scale.iter().product::<f64>();
    let invertible = volume > 1e-30 && determinant.abs() > 1e-9 * volume;
    if !invertible {
        let scale = Vec3::new(scale[0] as f32, scale[1] as f32, scale[2] as f32);
        return (Transform { translation, rotation: Quat::IDENTITY, scale }, Fit::Singular);
    }
    if determinant < 0.0 {
        scale[0] = -scale[0];
    }
    let x = linear.x_axis / scale[0];
    let y = linear.y_axis / scale[1];
    let z = linear.z_axis / scale[2];
    let skew = x.dot(y).abs().max(y.dot(z).abs()).max(z.dot(x).abs());
    let y_flat = (y - x * x.dot(y)).normalize();
    let z_flat = x.cross(y_flat);
    let rotation = glam::DQuat::from_mat3(&glam::DMat3::from_cols(x, y_flat, z_flat)).normalize().as_quat();
    let scale = Vec3::new(scale[0] as f32, scale[1] as f32, scale[2] as f32);
    let fit = if skew > 1e-3 { Fit::Sheared } else { Fit::Exact };
    (Transform { translation, rotation, scale }, fit)
}
