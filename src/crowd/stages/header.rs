//! First line of each slot.

use crate::crowd::block::Block;
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, LineTargets, Row, per_isa};

/// The rows of [`PoseHeader`](crate::crowd::PoseHeader).
pub(crate) fn rows(time: f32, block: &Block, pose: &Scratch) -> [Row; BLOCK] {
    let [px, py, pz] = block.position;
    let [qx, qy, qz, qw] = block.rotation;
    let probe = |k: usize| [pose.probes.x[k], pose.probes.z[k]];
    let ([a, b], [c, d], [e, f], [g, h]) = (probe(1), probe(2), probe(3), probe(4));
    [px, py, pz, Row::splat(time), qx, qy, qz, qw, a, b, c, d, e, f, g, h]
}

per_isa! {
    pub(crate) fn write(rows: &[Row; BLOCK], out: &mut LineTargets<'_>, stream: bool) = header_kernel;
}

#[inline(always)]
fn header_kernel<L: Lanes>(rows: &[Row; BLOCK], out: &mut LineTargets<'_>, stream: bool) {
    for at in (0..BLOCK).step_by(L::N) {
        let mut values = [L::zero(); BLOCK];
        for (value, row) in values.iter_mut().zip(rows) {
            *value = L::load(row, at);
        }
        L::write_lines(values, out, at, 0, stream);
    }
}
