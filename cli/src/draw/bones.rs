//! Bones as tapered octahedra, for skeletons without a mesh.

use glam::{Mat4, Vec3};
use throng::rig::{RawSkeleton, Role, RoleMap, Side};

use super::{Solid, Surface, srgb};

/// Colours of the left, middle and right of the body: which leg is in front must be plain.
pub fn side_colours() -> [Vec3; 3] {
    [srgb(0x00e0_8a3c), srgb(0x00c9_ccd1), srgb(0x0046_82c4)]
}

/// Which side of the body each joint is on: by its role, without one by that of the limb it hangs on, else by where it rests.
pub struct Sides {
    of: Vec<u8>,
}

impl Sides {
    /// From the rest pose, model space, facing +Z.
    pub fn new(skeleton: &RawSkeleton, roles: &RoleMap, rest: &[Mat4]) -> Self {
        let (low, high) = bounds(rest);
        let (middle, tolerance) = (0.5 * (low.x + high.x), 0.02 * (high - low).max_element());
        let place = |model: &Mat4| match model.w_axis.x - middle {
            x if x > tolerance => LEFT,
            x if x < -tolerance => RIGHT,
            _ => MIDDLE,
        };
        // Of what a limb carries, too: a finger's end is the hand's, wherever it rests.
        let mut limbs: Vec<Option<u8>> = Vec::with_capacity(rest.len());
        let mut of = Vec::with_capacity(rest.len());
        for (index, model) in rest.iter().enumerate() {
            let parent = skeleton.joints.get(index).and_then(|joint| joint.parent);
            let above = parent.and_then(|parent| limbs.get(usize::from(parent)).copied().flatten());
            let role = roles.role(index as u16);
            let limb = role.map_or(above, side);
            let centre = role.is_some().then_some(MIDDLE);
            of.push(limb.or(centre).unwrap_or_else(|| place(model)));
            limbs.push(limb);
        }
        Self { of }
    }

    /// Index into [`side_colours`].
    pub fn of(&self, joint: u16) -> usize {
        usize::from(self.of[usize::from(joint)])
    }
}

const LEFT: u8 = 0;
const MIDDLE: u8 = 1;
const RIGHT: u8 = 2;

/// The side of a limb's part; nothing in the middle of the body.
fn side(role: Role) -> Option<u8> {
    let side = match role {
        Role::Clavicle(side)
        | Role::UpperArm(side)
        | Role::Forearm(side)
        | Role::Hand(side)
        | Role::Finger(side, ..)
        | Role::Thigh(side)
        | Role::Shin(side)
        | Role::Foot(side)
        | Role::Toe(side)
        | Role::Twist(side, ..) => side,
        _ => return None,
    };
    Some(if side == Side::Left { LEFT } else { RIGHT })
}

/// One solid for the whole skeleton in the pose `models` (world space, one per joint).
pub fn solid(skeleton: &RawSkeleton, sides: &Sides, rest: &[Mat4], models: &[Mat4]) -> Solid {
    let mut out = Solid {
        positions: Vec::new(),
        normals: Vec::new(),
        colours: Vec::new(),
        indices: Vec::new(),
        surface: Surface::PerVertex,
        casts_shadow: true,
    };
    let (low, high) = bounds(rest);
    let height = (high - low).max_element().max(1e-3);
    let mut children = vec![0_u32; skeleton.joints.len()];
    for joint in &skeleton.joints {
        if let Some(parent) = joint.parent {
            children[usize::from(parent)] += 1;
        }
    }
    for (index, joint) in skeleton.joints.iter().enumerate() {
        let at = models[index].w_axis.truncate();
        let colour = side_colours()[sides.of(index as u16)];
        let Some(parent) = joint.parent.map(usize::from) else {
            continue;
        };
        let from = models[parent].w_axis.truncate();
        let length = from.distance(at);
        if length > 1e-4 * height {
            // From the origin of the character to its hips there is no limb to show.
            let stem = skeleton.joints[parent].parent.is_none() && children[parent] == 1;
            let radius =
                if stem { 0.003 * height } else { (0.14 * length).clamp(0.006 * height, 0.035 * height) };
            octahedron(&mut out, from, at, radius, colour);
        }
        if children[index] == 0 {
            let up = models[index]
                .transform_vector3(rest[index].inverse().transform_vector3(Vec3::Y))
                .normalize_or(Vec3::Y);
            // A head is a leaf too, and the one that says which way up a figure is.
            let is_head =
                sides.of(index as u16) == 1 && rest[index].w_axis.y > low.y + 0.9 * (high.y - low.y);
            let (length, radius) = if is_head { (0.12, 0.04) } else { (0.01, 0.008) };
            octahedron(
                &mut out,
                at - up * (0.01 * height),
                at + up * (length * height),
                radius * height,
                colour,
            );
        }
    }
    out
}

/// Corners of the box around the joints' positions.
pub fn bounds(models: &[Mat4]) -> (Vec3, Vec3) {
    models
        .iter()
        .map(|model| model.w_axis.truncate())
        .fold((Vec3::splat(f32::INFINITY), Vec3::splat(f32::NEG_INFINITY)), |(low, high), at| {
            (low.min(at), high.max(at))
        })
}

fn octahedron(out: &mut Solid, from: Vec3, to: Vec3, radius: f32, colour: Vec3) {
    let axis = (to - from).normalize_or(Vec3::Y);
    let (u, v) = axis.any_orthonormal_pair();
    let waist = from.lerp(to, 0.22);
    let ring = [waist + u * radius, waist + v * radius, waist - u * radius, waist - v * radius];
    for index in 0..4 {
        let (a, b) = (ring[index], ring[(index + 1) % 4]);
        for [p, q, r] in [[from, b, a], [to, a, b]] {
            let normal = (q - p).cross(r - p).normalize_or(axis);
            let start = out.positions.len() as u32;
            out.positions.extend([p, q, r]);
            out.normals.extend([normal; 3]);
            out.colours.extend([colour; 3]);
            out.indices.extend([start, start + 1, start + 2]);
        }
    }
}
