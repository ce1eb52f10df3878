//! Model pose to skinning matrices, written to each character's slot in whole cache lines.
//!
//! `S = T(x) R(G) C`: where the skin's constant `C` is only `T(-b)`, rotation G and translation `x - G b`.

#![allow(clippy::needless_range_loop)]

use super::model::{ModelPass, model_joints};
use crate::crowd::output::{PackedEntry, PackedSkin, PaletteFormat};
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, LineTargets, Quat, Row, Vec3, per_isa};

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
    let mut rows = [Row::ZERO; 48];
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
        for (k, entry) in entries.iter().enumerate() {
            for at in (0..BLOCK).step_by(L::N) {
                match format {
                    PaletteFormat::Mat4 => {
                        let (columns, translation) = matrix::<L>(entry, scratch, at);
                        for column in 0..3 {
                            put(&mut rows, 4 * column, columns[column], at);
                            L::zero().store(&mut rows[4 * column + 3], at);
                        }
                        put(&mut rows, 12, translation, at);
                        L::one().store(&mut rows[15], at);
                    }
                    PaletteFormat::Mat3x4 => {
                        let ([x, y, z], t) = matrix::<L>(entry, scratch, at);
                        let rows = &mut rows[12 * k..12 * k + 12];
                        x.x.store(&mut rows[0], at);
                        y.x.store(&mut rows[1], at);
                        z.x.store(&mut rows[2], at);
                        t.x.store(&mut rows[3], at);
                        x.y.store(&mut rows[4], at);
                        y.y.store(&mut rows[5], at);
                        z.y.store(&mut rows[6], at);
                        t.y.store(&mut rows[7], at);
                        x.z.store(&mut rows[8], at);
                        y.z.store(&mut rows[9], at);
                        z.z.store(&mut rows[10], at);
                        t.z.store(&mut rows[11], at);
                    }
                    PaletteFormat::QuatTranslation => {
                        let (q, t) = rotation_translation::<L>(entry, scratch, at);
                        let rows = &mut rows[8 * k..8 * k + 8];
                        q.x.store(&mut rows[0], at);
                        q.y.store(&mut rows[1], at);
                        q.z.store(&mut rows[2], at);
                        q.w.store(&mut rows[3], at);
                        put(rows, 4, t, at);
                        L::splat(entry.scale).store(&mut rows[7], at);
                    }
                    PaletteFormat::Snorm16 => {
                        let (q, t) = rotation_translation::<L>(entry, scratch, at);
                        let t = t.scale(L::splat(1.0 / skin.range));
                        let rows = &mut rows[4 * k..4 * k + 4];
                        L::pack_snorm(unit(q.x), unit(q.y)).store(&mut rows[0], at);
                        L::pack_snorm(unit(q.z), unit(q.w)).store(&mut rows[1], at);
                        L::pack_snorm(unit(t.x), unit(t.y)).store(&mut rows[2], at);
                        L::pack_snorm(unit(t.z), L::zero()).store(&mut rows[3], at);
                    }
                }
            }
        }
        let (quads, _) = rows.as_chunks::<BLOCK>();
        for (k, quad) in quads[..lines].iter().enumerate() {
            L::transpose_out(quad, out, 1 + batch * lines + k, stream);
        }
    }
}

#[inline(always)]
fn put<L: Lanes>(rows: &mut [Row], first: usize, v: Vec3<L>, at: usize) {
    v.x.store(&mut rows[first], at);
    v.y.store(&mut rows[first + 1], at);
    v.z.store(&mut rows[first + 2], at);
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
