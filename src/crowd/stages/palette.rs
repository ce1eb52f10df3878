//! Model pose to skinning matrices, written to each character's slot in whole cache lines.
//!
//! `S = T(x) R(G) C`: where the skin's constant `C` is only `T(-b)`, rotation G and translation `x - G b`.

use crate::crowd::output::{PackedEntry, PackedSkin, PaletteFormat};
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, Line, Quat, Row, Vec3, per_isa};

per_isa! {
    /// Writes the palette of one skin from line 1 on of each destination.
    pub(crate) fn palette<'a>(skin: &PackedSkin, format: PaletteFormat, scratch: &Scratch, out: &mut [&'a mut [Line]; BLOCK], stream: bool) = palette_kernel;
}

#[inline(always)]
fn palette_kernel<L: Lanes>(
    skin: &PackedSkin,
    format: PaletteFormat,
    scratch: &Scratch,
    out: &mut [&mut [Line]; BLOCK],
    stream: bool,
) {
    let mut line = 1;
    let mut rows = [Row::ZERO; 48];
    match format {
        PaletteFormat::Mat4 => {
            for entry in &skin.entries {
                for at in (0..BLOCK).step_by(L::N) {
                    let (columns, translation) = matrix::<L>(entry, scratch, at);
                    for (column, v) in columns.into_iter().chain([translation]).enumerate() {
                        v.x.store(&mut rows[4 * column], at);
                        v.y.store(&mut rows[4 * column + 1], at);
                        v.z.store(&mut rows[4 * column + 2], at);
                        let w = if column == 3 { L::one() } else { L::zero() };
                        w.store(&mut rows[4 * column + 3], at);
                    }
                }
                emit::<L>(&rows, out, &mut line, 1, stream);
            }
        }
        PaletteFormat::Mat3x4 => {
            for entries in skin.entries.chunks_exact(4) {
                for (k, entry) in entries.iter().enumerate() {
                    for at in (0..BLOCK).step_by(L::N) {
                        let ([x, y, z], t) = matrix::<L>(entry, scratch, at);
                        let matrix = [
                            x.x, y.x, z.x, t.x, //
                            x.y, y.y, z.y, t.y, //
                            x.z, y.z, z.z, t.z,
                        ];
                        for (value, row) in matrix.into_iter().zip(&mut rows[12 * k..12 * k + 12]) {
                            value.store(row, at);
                        }
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
                        let values = [q.x, q.y, q.z, q.w, t.x, t.y, t.z, L::splat(entry.scale)];
                        for (value, row) in values.into_iter().zip(&mut rows[8 * k..8 * k + 8]) {
                            value.store(row, at);
                        }
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
                        let unit = |v: L| v.clamp(-L::one(), L::one());
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
fn emit<L: Lanes>(
    rows: &[Row; 48],
    out: &mut [&mut [Line]; BLOCK],
    line: &mut usize,
    lines: usize,
    stream: bool,
) {
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
    let times = |v: [f32; 3]| {
        let [x, y, z] = v.map(L::splat);
        columns[0].scale_add(x, columns[1].scale_add(y, columns[2].scale(z)))
    };
    let translation = position.plus(times(entry.offset));
    if entry.general { (entry.linear.map(times), translation) } else { (columns, translation) }
}

/// Rotation and translation of the skinning matrix.
#[inline(always)]
fn rotation_translation<L: Lanes>(entry: &PackedEntry, scratch: &Scratch, at: usize) -> (Quat<L>, Vec3<L>) {
    let joint = usize::from(entry.joint);
    let q = Quat::<L>::load(&scratch.rotations[joint], at);
    let translation = Vec3::load(&scratch.positions[joint], at).plus(q.rotate(Vec3::splat(entry.offset)));
    if entry.general {
        let [x, y, z, w] = entry.rotation.map(L::splat);
        (q.times(Quat::new(x, y, z, w)), translation)
    } else {
        (q, translation)
    }
}
