//! Joints that another tier moves, or ceases to: they take some frames from the one to the other.
//!
//! A palette tells where each joint was in the last pose, relative to its parent, and where it is in the new one. While a
//! character changes its level of detail, what is written is between the two, nearer to the new one from pose to pose:
//! fingers open and close, they do not snap. What a frame computes of a character stays what its tier says.

use glam::{Mat3, Quat, Vec3};

use super::output::{PackedEntry, PackedSkin, PaletteFormat};
use super::shown::{nlerp, put_matrix, put_rigid};
use crate::lanes::Line;
use crate::rig::{NO_PARENT, Topology};

/// Frames that it takes.
pub(crate) const FADE: u8 = 15;

/// A joint in model space: in the last pose, in the new one, and as it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen([(Vec3, Quat); 3]);

/// Lists that a worker keeps.
pub(crate) type Seens = Vec<Option<Seen>>;

/// Two poses of one skin, and where they are on the way.
pub(crate) struct Change<'a> {
    pub topology: &'a Topology,
    pub skin: &'a PackedSkin,
    pub format: PaletteFormat,
    /// First joint that changes.
    pub first: usize,
    /// Share of the new pose, 0 to 1.
    pub share: f32,
}

/// Makes the new pose what is shown of it after the last one.
pub(crate) fn fade(change: &Change<'_>, last: &[Line], new: &mut [Line], seen: &mut Seens) {
    let Change { topology, skin, format, first, share } = *change;
    let size = format.bytes();
    let (last, new): (&[u8], &mut [u8]) =
        (bytemuck::cast_slice(&last[1..]), bytemuck::cast_slice_mut(&mut new[1..]));
    seen.clear();
    for joint in 0..topology.len() {
        let at = usize::from(skin.carriers[joint]);
        let of = |bytes: &[u8]| {
            let bytes = bytes.get(at * size..(at + 1) * size)?;
            joint_of(&skin.entries[at], format, &format.matrix(bytes, skin.range))
        };
        let (old, now) = match (of(last), of(new)) {
            (Some(old), Some(now)) if at < skin.count => (old, now),
            _ => {
                seen.push(None);
                continue;
            }
        };
        let mut above = topology.parents()[joint];
        while above != NO_PARENT && seen[usize::from(above)].is_none() {
            above = topology.parents()[usize::from(above)];
        }
        let parent = seen.get(usize::from(above)).copied().flatten();
        let written = match parent.filter(|_| joint >= first) {
            None => now,
            Some(Seen([a, b, c])) => {
                let relative = |(p, q): (Vec3, Quat), (x, g): (Vec3, Quat)| {
                    let back = q.conjugate();
                    (back * (x - p), back * g)
                };
                let ((x, g), (y, h)) = (relative(a, old), relative(b, now));
                (c.0 + c.1 * x.lerp(y, share), (c.1 * nlerp(g, h, share)).normalize())
            }
        };
        seen.push(Some(Seen([old, now, written])));
    }
    for (at, entry) in skin.entries.iter().enumerate() {
        let joint = usize::from(skin.own[at.min(skin.count - 1)]);
        if joint < first {
            continue;
        }
        let (Some(Seen([_, _, (x, g)])), Some(bytes)) =
            (seen[joint], new.get_mut(at * size..(at + 1) * size))
        else {
            continue;
        };
        put_joint(entry, format, x, g, skin.range, bytes);
    }
}

/// Where the joint of an entry is, and its turn since the reference pose.
pub(crate) fn joint_of(entry: &PackedEntry, format: PaletteFormat, m: &[f32; 12]) -> Option<(Vec3, Quat)> {
    let axes = Mat3::from_cols_array(&[m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]]);
    let back = inverse_linear(entry, format)?;
    let place = Vec3::new(m[3], m[7], m[11]) - axes * (back * Vec3::from_array(entry.offset));
    Some((place, Quat::from_mat3(&(axes * back)).normalize()))
}

/// Inverse of the linear part of a skin's constant, as the format carries it; `None` where there is none.
pub(crate) fn inverse_linear(entry: &PackedEntry, format: PaletteFormat) -> Option<Mat3> {
    if !entry.general {
        return Some(Mat3::IDENTITY);
    }
    match format {
        PaletteFormat::QuatTranslation | PaletteFormat::Snorm16 => {
            Some(Mat3::from_quat(Quat::from_array(entry.rotation).conjugate()) * entry.scale.recip())
        }
        _ => {
            let linear = Mat3::from_cols_array_2d(&entry.linear);
            (linear.determinant().abs() > 1e-12).then(|| linear.inverse())
        }
    }
}

fn put_joint(entry: &PackedEntry, format: PaletteFormat, x: Vec3, g: Quat, range: f32, bytes: &mut [u8]) {
    let at = x + g * Vec3::from_array(entry.offset);
    match format {
        PaletteFormat::QuatTranslation | PaletteFormat::Snorm16 => {
            let turn = if entry.general { g * Quat::from_array(entry.rotation) } else { g };
            put_rigid(format, turn, at, entry.scale, range, bytes);
        }
        PaletteFormat::Mat3x4 | PaletteFormat::Mat4 => {
            let mut axes = Mat3::from_quat(g);
            if entry.general {
                axes *= Mat3::from_cols_array_2d(&entry.linear);
            }
            let (x, y, z) = (axes.x_axis, axes.y_axis, axes.z_axis);
            let m = [x.x, y.x, z.x, at.x, x.y, y.y, z.y, at.y, x.z, y.z, z.z, at.z];
            put_matrix(format, &m, bytes);
        }
    }
}
