//! Header and palette of one character.

use glam::{Mat4, Quat, Vec3A, Vec4};
use throng::crowd::PaletteFormat;
use throng::lanes::Line;

use super::{Body, Character, Entry, Scratch, Step};

/// Writes the whole slot, front to back.
#[inline(always)]
pub(super) fn write(
    character: &Character,
    body: &Body,
    format: PaletteFormat,
    step: Step,
    scratch: &Scratch,
    slot: &mut [Line],
) {
    let (header, palette) = slot.split_at_mut(1);
    let [a, b, c, d] = scratch.probes;
    let header: &mut [Vec4] = bytemuck::cast_slice_mut(header);
    header[0] = character.position.extend(step.time);
    header[1] = Vec4::from(character.rotation);
    header[2] = Vec4::new(a.x, a.y, b.x, b.y);
    header[3] = Vec4::new(c.x, c.y, d.x, d.y);
    match format {
        PaletteFormat::Mat4 => {
            let out: &mut [Mat4] = bytemuck::cast_slice_mut(palette);
            for (out, entry) in out.iter_mut().zip(&body.entries) {
                *out = matrix(entry, scratch);
            }
        }
        PaletteFormat::Mat3x4 => {
            let out: &mut [Vec4] = bytemuck::cast_slice_mut(palette);
            for (out, entry) in out.as_chunks_mut::<3>().0.iter_mut().zip(&body.entries) {
                let rows = matrix(entry, scratch).transpose();
                *out = [rows.x_axis, rows.y_axis, rows.z_axis];
            }
        }
        PaletteFormat::QuatTranslation => {
            let out: &mut [Vec4] = bytemuck::cast_slice_mut(palette);
            for (out, entry) in out.as_chunks_mut::<2>().0.iter_mut().zip(&body.entries) {
                let (q, t) = rotation_translation(entry, scratch);
                *out = [Vec4::from(q), t.extend(entry.scale)];
            }
        }
        PaletteFormat::Snorm16 => {
            let out: &mut [[i16; 8]] = bytemuck::cast_slice_mut(palette);
            let per_metre = 1.0 / body.range;
            for (out, entry) in out.iter_mut().zip(&body.entries) {
                let (q, t) = rotation_translation(entry, scratch);
                let [x, y, z, w] = snorm(Vec4::from(q));
                let [tx, ty, tz, _] = snorm((t * per_metre).extend(0.0));
                *out = [x, y, z, w, tx, ty, tz, 0];
            }
        }
    }
}

#[inline(always)]
fn snorm(v: Vec4) -> [i16; 4] {
    let v = v.clamp(Vec4::NEG_ONE, Vec4::ONE) * 32767.0;
    let half = Vec4::splat(0.5).copysign(v);
    (v + half).to_array().map(|v| v as i16)
}

/// `T(x) R(G) C`.
#[inline(always)]
fn matrix(entry: &Entry, scratch: &Scratch) -> Mat4 {
    let joint = usize::from(entry.joint);
    let mut m = Mat4::from_quat(scratch.rotations[joint]);
    let times = |v: Vec3A| m.x_axis * v.x + m.y_axis * v.y + m.z_axis * v.z;
    let translation = scratch.positions[joint].extend(1.0) + times(entry.offset);
    if entry.general {
        let [x, y, z] = entry.linear.map(times);
        (m.x_axis, m.y_axis, m.z_axis) = (x, y, z);
    }
    m.w_axis = translation;
    m
}

#[inline(always)]
fn rotation_translation(entry: &Entry, scratch: &Scratch) -> (Quat, Vec3A) {
    let joint = usize::from(entry.joint);
    let q = scratch.rotations[joint];
    let translation = scratch.positions[joint] + q * entry.offset;
    (if entry.general { q * entry.rotation } else { q }, translation)
}
