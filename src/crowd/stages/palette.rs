//! Model pose to skinning matrices, written to each character's slot in whole cache lines.
//!
//! `S = T(x) R(G) C`: where the skin's constant `C` is only `T(-b)`, rotation G and translation `x - G b`.

use crate::crowd::output::{PackedEntry, PackedSkin, PaletteFormat};
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, LineTargets, Quat, Row, Vec3, per_isa};

per_isa! {
    /// Writes the palette of one skin from line 1 on of each destination.
    pub(crate) fn palette(skin: &PackedSkin, format: PaletteFormat, scratch: &Scratch, out: &mut LineTargets<'_>, stream: bool) = palette_kernel;
}

#[inline(always)]
fn palette_kernel<L: Lanes>(
    skin: &PackedSkin,
    format: PaletteFormat,
    scratch: &Scratch,
    out: &mut LineTargets<'_>,
    stream: bool,
) {
    let mut line = 1;
    let mut rows = [Row::ZERO; 48];
    match format {
        PaletteFormat::Mat4 => {
            for entry in &skin.entries {
                for at in (0..BLOCK).step_by(L::N) {
                    let (columns, translation) = matrix::<L>(entry, scratch, at);
                    for column in 0..3 {
                        put(&mut rows, 4 * column, columns[column], at);
                        L::zero().store(&mut rows[4 * column + 3], at);
                    }
                    put(&mut rows, 12, translation, at);
                    L::one().store(&mut rows[15], at);
                }
                emit::<L>(&rows, out, &mut line, 1, stream);
            }
        }
        PaletteFormat::Mat3x4 => {
            for entries in skin.entries.chunks_exact(4) {
                for (k, entry) in entries.iter().enumerate() {
                    for at in (0..BLOCK).step_by(L::N) {
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
                }
                emit::<L>(&rows, out, &mut line, 3, stream);
            }
        }
        PaletteFormat::QuatTranslation => {
            for entries in skin.entries.chunks_exact(2) {
                for (k, entry) in entries.iter().enumerate() {
                    for at in (0..BLOCK).step_by(L::N) {
                        let (q, t) = rotation_translation::<L>(entry, scratch, at);
                        let rows = &mut rows[8 * k..8 * k + 8];
                        q.x.store(&mut rows[0], at);
                        q.y.store(&mut rows[1], at);
                        q.z.store(&mut rows[2], at);
                        q.w.store(&mut rows[3], at);
                        put(rows, 4, t, at);
                        L::splat(entry.scale).store(&mut rows[7], at);
                    }
                }
                emit::<L>(&rows, out, &mut line, 1, stream);
            }
        }
        PaletteFormat::Snorm16 => {
            let per_metre = 1.0 / skin.range;
            for entries in skin.entries.chunks_exact(4) {
                for (k, entry) in entries.iter().enumerate() {
                    for at in (0..BLOCK).step_by(L::N) {
                        let (q, t) = rotation_translation::<L>(entry, scratch, at);
                        let t = t.scale(L::splat(per_metre));
                        L::pack_snorm(unit(q.x), unit(q.y)).store(&mut rows[4 * k], at);
                        L::pack_snorm(unit(q.z), unit(q.w)).store(&mut rows[4 * k + 1], at);
                        L::pack_snorm(unit(t.x), unit(t.y)).store(&mut rows[4 * k + 2], at);
                        L::pack_snorm(unit(t.z), L::zero()).store(&mut rows[4 * k + 3], at);
                    }
                }
                emit::<L>(&rows, out, &mut line, 1, stream);
            }
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

#[inline(always)]
fn emit<L: Lanes>(rows: &[Row; 48], out: &mut LineTargets<'_>, line: &mut usize, lines: usize, stream: bool) {
    let (batches, _) = rows.as_chunks::<BLOCK>();
    for batch in &batches[..lines] {
        L::transpose_out(batch, out, *line, stream);
        *line += 1;
    }
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
