//! Model pose to skinning matrices, written to each character's slot in whole cache lines.
//!
//! `S = T(x) R(G) C`: where the skin's constant `C` is only `T(-b)`, rotation G and translation `x - G b`.

#![allow(clippy::needless_range_loop)]

use super::model::{ModelPass, model_joints};
use crate::crowd::output::{PackedEntry, PackedSkin, PaletteFormat};
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, LineTargets, Quat, Vec3, per_isa};

per_isa! {
    /// Writes the palette of one skin from line 1 on of each destination. With a model pass, that is run alongside,
    /// only as far as the skin's entries need it.
    pub(crate) fn palette(skin: &PackedSkin, format: PaletteFormat, model: Option<ModelPass<'_>>, scratch: &mut Scratch, out: &mut LineTargets<'_>, stream: bool) = palette_kernel;
}

#[inline(always)]
fn palette_kernel<L: Lanes>(
    skin: &PackedSkin,
    format: PaletteFormat,
    model: Option<ModelPass<'_>>,
    scratch: &mut Scratch,
    out: &mut LineTargets<'_>,
    stream: bool,
) {
    let (size, lines) = format.batch();
    let mut done = 0;
    for (batch, entries) in skin.entries.chunks_exact(size).enumerate() {
        // The pass goes on between the lines of two batches, while the store buffers empty.
        if let Some(pass) = model {
            let until = usize::from(skin.joints[batch]);
            if until > done {
                model_joints::<L>(pass, scratch, done, until);
                done = until;
            }
        }
        let line = 1 + batch * lines;
        for at in (0..BLOCK).step_by(L::N) {
            match (format, entries) {
                (PaletteFormat::Mat4, [a]) => {
                    let [x, y, z, w] = columns::<L>(a, scratch, at);
                    L::write_lines(side_by_side(x, y, z, w), out, at, line, stream);
                }
                (PaletteFormat::Mat3x4, [a, b, c, d]) => {
                    // Written as soon as a line is whole: four matrices are more than there are registers.
                    let [a0, a1, a2] = rows::<L>(a, scratch, at);
                    let [b0, b1, b2] = rows::<L>(b, scratch, at);
                    L::write_lines(side_by_side(a0, a1, a2, b0), out, at, line, stream);
                    let [c0, c1, c2] = rows::<L>(c, scratch, at);
                    L::write_lines(side_by_side(b1, b2, c0, c1), out, at, line + 1, stream);
                    let [d0, d1, d2] = rows::<L>(d, scratch, at);
                    L::write_lines(side_by_side(c2, d0, d1, d2), out, at, line + 2, stream);
                }
                (PaletteFormat::QuatTranslation, [a, b]) => {
                    let ([p, t], [q, u]) = (rotation_row::<L>(a, scratch, at), rotation_row(b, scratch, at));
                    L::write_lines(side_by_side(p, t, q, u), out, at, line, stream);
                }
                (PaletteFormat::Snorm16, [a, b, c, d]) => {
                    let (a, b) =
                        (packed::<L>(a, skin.range, scratch, at), packed(b, skin.range, scratch, at));
                    let (c, d) =
                        (packed::<L>(c, skin.range, scratch, at), packed(d, skin.range, scratch, at));
                    L::write_lines(side_by_side(a, b, c, d), out, at, line, stream);
                }
                // Batches are as long as the format has them.
                _ => {}
            }
        }
    }
}

#[inline(always)]
fn side_by_side<L: Lanes>(a: [L; 4], b: [L; 4], c: [L; 4], d: [L; 4]) -> [L; BLOCK] {
    [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], c[0], c[1], c[2], c[3], d[0], d[1], d[2], d[3]]
}

/// A 4x4 matrix by columns.
#[inline(always)]
fn columns<L: Lanes>(entry: &PackedEntry, scratch: &Scratch, at: usize) -> [[L; 4]; 4] {
    let ([x, y, z], t) = matrix::<L>(entry, scratch, at);
    let o = L::zero();
    [[x.x, x.y, x.z, o], [y.x, y.y, y.z, o], [z.x, z.y, z.z, o], [t.x, t.y, t.z, L::one()]]
}

/// A 3x4 matrix by rows.
#[inline(always)]
fn rows<L: Lanes>(entry: &PackedEntry, scratch: &Scratch, at: usize) -> [[L; 4]; 3] {
    let ([x, y, z], t) = matrix::<L>(entry, scratch, at);
    [[x.x, y.x, z.x, t.x], [x.y, y.y, z.y, t.y], [x.z, y.z, z.z, t.z]]
}

/// Quaternion, then translation and scale.
#[inline(always)]
fn rotation_row<L: Lanes>(entry: &PackedEntry, scratch: &Scratch, at: usize) -> [[L; 4]; 2] {
    let (q, t) = rotation_translation::<L>(entry, scratch, at);
    [[q.x, q.y, q.z, q.w], [t.x, t.y, t.z, L::splat(entry.scale)]]
}

/// Quaternion and translation, two values each.
#[inline(always)]
fn packed<L: Lanes>(entry: &PackedEntry, range: f32, scratch: &Scratch, at: usize) -> [L; 4] {
    let (q, t) = rotation_translation::<L>(entry, scratch, at);
    let t = t.scale(L::splat(1.0 / range));
    [
        L::pack_snorm(unit(q.x), unit(q.y)),
        L::pack_snorm(unit(q.z), unit(q.w)),
        L::pack_snorm(unit(t.x), unit(t.y)),
        L::pack_snorm(unit(t.z), L::zero()),
    ]
}

#[inline(always)]
fn unit<L: Lanes>(v: L) -> L {
    v.clamp(-L::one(), L::one())
}

/// Columns times a constant vector.
#[inline(always)]
fn times<L: Lanes>(columns: [Vec3<L>; 3], v: [f32; 3]) -> Vec3<L> {
    let (x, y, z) = (L::splat(v[0]), L::splat(v[1]), L::splat(v[2]));
    columns[0].scale_add(x, columns[1].scale_add(y, columns[2].scale(z)))
}

/// Columns and translation of the skinning matrix.
#[inline(always)]
fn matrix<L: Lanes>(entry: &PackedEntry, scratch: &Scratch, at: usize) -> ([Vec3<L>; 3], Vec3<L>) {
    let joint = usize::from(entry.joint);
    let columns = Quat::<L>::load(&scratch.rotations[joint], at).columns();
    let position = Vec3::load(&scratch.positions[joint], at);
    let translation = position.plus(times(columns, entry.offset));
    if entry.general {
        let [x, y, z] = &entry.linear;
        ([times(columns, *x), times(columns, *y), times(columns, *z)], translation)
    } else {
        (columns, translation)
    }
}

/// Rotation and translation of the skinning matrix.
#[inline(always)]
fn rotation_translation<L: Lanes>(entry: &PackedEntry, scratch: &Scratch, at: usize) -> (Quat<L>, Vec3<L>) {
    let joint = usize::from(entry.joint);
    let q = Quat::<L>::load(&scratch.rotations[joint], at);
    let translation = Vec3::load(&scratch.positions[joint], at).plus(q.rotate(Vec3::splat(entry.offset)));
    if entry.general {
        let [x, y, z, w] = entry.rotation;
        (q.times(Quat::new(L::splat(x), L::splat(y), L::splat(z), L::splat(w))), translation)
    } else {
        (q, translation)
    }
}
