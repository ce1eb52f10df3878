//! Layers: clips over the clips. Overrides put their own pose in place of what is there, additive ones add to it.
//!
//! ```text
//! override    M' = nlerp(M, L, w)            both on the side of the reference pose, so that nothing jumps
//!             at a mask's first joints, if asked for, in model space: M' = G_p^-1 nlerp(G_p M, G_L, w)
//! additive    M' = M A^w                     A^w: nlerp from the identity
//! pelvis      p' = p + w (p_L - p)   or   p + w p_L
//! contact     c' = c + w (c_L - c)           only overrides: with the feet comes what they stand on
//! w           weight of the layer x weight of the joint in its mask
//! ```
//!
//! While a character gives way from a pose that was read back from its slot, with layers in it, they come in as that goes.
//! Layers are applied in the order of their slots. What a layer's weight does not reach keeps its bits.

use arrayvec::ArrayVec;

use super::sample::{Joints, pair};
use crate::clip::PELVIS_RANGE;
use crate::crowd::block::{Block, lanes_of};
use crate::crowd::library::Library;
use crate::crowd::masks::MaskData;
use crate::crowd::rare::MAX_LAYERS;
use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, GROUP, KEY_ONE, KeyPair, Lanes, Quat, Row, Vec3, WEIGHT_ONE, per_isa};
use crate::rig::MAX_FEET;

/// What the stage reads of a topology.
#[derive(Clone, Copy)]
pub(crate) struct LayerPass<'a> {
    pub library: &'a Library,
    pub masks: &'a [MaskData],
    pub joints: Joints,
    /// Lanes whose pose is made in this frame.
    pub due: u16,
}

/// Layers of one slot that share a mask.
struct Part<'a> {
    mask: &'a MaskData,
    index: u16,
    /// 0 in other lanes.
    weight: Row,
    /// 1 in lanes with the model-space option.
    model: Row,
    any_model: bool,
}

/// One slot of all lanes.
struct Batch<'a> {
    pairs: [KeyPair<'a>; BLOCK],
    lanes: u16,
    any_override: bool,
    any_additive: bool,
    /// 1 in lanes whose layer is additive.
    additive: Row,
    parts: ArrayVec<Part<'a>, BLOCK>,
}

impl Batch<'_> {
    fn reads(&self, group: usize) -> bool {
        self.parts.iter().any(|part| part.mask.reads(group, part.any_model))
    }

    #[inline(always)]
    fn touches(&self, joint: usize) -> bool {
        self.parts.iter().any(|part| part.mask.weights[joint] > 0.0)
    }

    fn any_model(&self) -> bool {
        self.parts.iter().any(|part| part.any_model)
    }
}

/// Numbers and places only, no lanes: a function of its own, once for all instruction sets.
#[inline(never)]
fn gather<'a>(block: &Block, slot: usize, pass: &LayerPass<'a>) -> Batch<'a> {
    let mut batch = Batch {
        pairs: [KeyPair::NONE; BLOCK],
        lanes: 0,
        any_override: false,
        any_additive: false,
        additive: Row::ZERO,
        parts: ArrayVec::new(),
    };
    for lane in lanes_of(block.layered & pass.due) {
        let Some(rare) = block.rare[lane].as_deref() else { continue };
        let layer = &rare.layers[slot];
        let transits = block.transitions & (1 << lane) != 0;
        let weight = layer.weight * if transits { rare.transition.under_layers() } else { 1.0 };
        let Some(mask) = pass.masks.get(usize::from(layer.mask)) else { continue };
        if !(layer.used && weight > 0.0) {
            continue;
        }
        batch.lanes |= 1 << lane;
        let head = pass.library.head(layer.clip);
        (batch.pairs[lane], _) = pair(head, layer.time, layer.ping_pong, 1.0);
        batch.any_additive |= layer.additive;
        batch.any_override |= !layer.additive;
        batch.additive.0[lane] = f32::from(u8::from(layer.additive));
        let at = match batch.parts.iter().position(|part| part.index == layer.mask) {
            Some(at) => at,
            None => {
                let (weight, model) = (Row::ZERO, Row::ZERO);
                batch.parts.push(Part { mask, index: layer.mask, weight, model, any_model: false });
                batch.parts.len() - 1
            }
        };
        let part = &mut batch.parts[at];
        part.weight.0[lane] = weight;
        if layer.model_space {
            part.model.0[lane] = 1.0;
            part.any_model = true;
        }
    }
    batch
}

per_isa! {
    /// Changes `scratch.rotations`, `scratch.pelvis` and `scratch.contact`.
    pub(crate) fn layers(block: &Block, pass: LayerPass<'_>, scratch: &mut Scratch) = layers_kernel;
}

#[inline(always)]
fn layers_kernel<L: Lanes>(block: &Block, pass: LayerPass<'_>, scratch: &mut Scratch) {
    for slot in 0..MAX_LAYERS {
        let batch = gather(block, slot, &pass);
        if batch.lanes != 0 {
            layer::<L>(&batch, &pass, block, scratch);
        }
    }
}

#[inline(always)]
fn layer<L: Lanes>(batch: &Batch<'_>, pass: &LayerPass<'_>, block: &Block, scratch: &mut Scratch) {
    let Joints { all: joints, kept: prefix } = pass.joints;
    let mut sums = [[Row::ZERO; BLOCK]; 2];
    let mut lanes = [[Row::ZERO; BLOCK]; 2];
    for group in 0..(joints + 2).div_ceil(GROUP) {
        let first = GROUP * group;
        if first >= prefix && first + GROUP <= joints || !batch.reads(group) {
            continue;
        }
        let [even, odd] = &mut sums;
        for lane in 0..BLOCK {
            let has = usize::from(batch.lanes >> lane & 1);
            L::mix_keys(&batch.pairs[lane..lane + has], group, &mut even[lane], &mut odd[lane]);
        }
        L::transpose(even, &mut lanes[0]);
        L::transpose(odd, &mut lanes[1]);
        // Parents come before their children, quads of both halves in turn.
        for within in 0..GROUP {
            let quad = first + within;
            let rows: &[Row] = &lanes[within % 2][4 * (within / 2)..][..4];
            if quad < prefix {
                joint::<L>(batch, quad, rows, scratch);
            } else if quad == joints {
                pelvis::<L>(batch, rows, block, scratch);
            } else if quad == joints + 1 {
                contacts::<L>(batch, rows, scratch);
            }
        }
    }
}

#[inline(always)]
fn joint<L: Lanes>(batch: &Batch<'_>, joint: usize, rows: &[Row], scratch: &mut Scratch) {
    let touched = batch.touches(joint);
    let model = batch.any_model();
    if !touched && !model {
        return;
    }
    for at in (0..BLOCK).step_by(L::N) {
        let layer = near(
            Quat::new(
                L::load_i32(&rows[0], at),
                L::load_i32(&rows[1], at),
                L::load_i32(&rows[2], at),
                L::load_i32(&rows[3], at),
            )
            .normalize(),
        );
        if model {
            layer.store(&mut scratch.layer[joint], at);
        }
        if !touched {
            continue;
        }
        // Every lane is in one part: the sum has one term, whatever else the block plays.
        let mut weight = L::zero();
        for part in &batch.parts {
            weight = L::load(&part.weight, at).mul_add(L::splat(part.mask.weights[joint]), weight);
        }
        let own = Quat::<L>::load(&scratch.rotations[joint], at);
        let reached = L::zero().lt(weight);
        let mut out = own;
        if batch.any_override {
            out = Quat::select(reached, between(near(own), layer, weight), out);
        }
        if batch.any_additive {
            let Quat { x, y, z, w } = layer;
            let increment =
                Quat::new(x * weight, y * weight, z * weight, (w - L::one()).mul_add(weight, L::one()));
            let added = own.times(increment).normalize();
            // What adds nothing changes nothing, not even the last bit.
            let turns = L::zero().lt(x.mul_add(x, y.mul_add(y, z * z)) * weight);
            let additive = L::splat(0.5).lt(L::load(&batch.additive, at));
            out = Quat::select(additive, Quat::select(turns, added, own), out);
        }
        if model {
            for part in &batch.parts {
                if part.any_model
                    && let Some(top) = part.mask.top(joint)
                {
                    let (mut above, mut layer_above) = (Quat::identity(), Quat::identity());
                    for &parent in &top.above {
                        let parent = usize::from(parent);
                        above = above.times(Quat::load(&scratch.rotations[parent], at));
                        layer_above = layer_above.times(Quat::load(&scratch.layer[parent], at));
                    }
                    let blended = between(near(above.times(own)), near(layer_above.times(layer)), weight);
                    let kept = above.conjugate().times(blended).normalize();
                    let asked = L::and(L::splat(0.5).lt(L::load(&part.model, at)), reached);
                    out = Quat::select(asked, kept, out);
                }
            }
        }
        out.store(&mut scratch.rotations[joint], at);
    }
}

/// On the side of the reference pose.
#[inline(always)]
fn near<L: Lanes>(q: Quat<L>) -> Quat<L> {
    q.scale(L::select(q.w.lt(L::zero()), -L::one(), L::one()))
}

#[inline(always)]
fn between<L: Lanes>(a: Quat<L>, b: Quat<L>, weight: L) -> Quat<L> {
    Quat::new(
        (b.x - a.x).mul_add(weight, a.x),
        (b.y - a.y).mul_add(weight, a.y),
        (b.z - a.z).mul_add(weight, a.z),
        (b.w - a.w).mul_add(weight, a.w),
    )
    .normalize()
}

#[inline(always)]
fn pelvis<L: Lanes>(batch: &Batch<'_>, rows: &[Row], block: &Block, scratch: &mut Scratch) {
    for at in (0..BLOCK).step_by(L::N) {
        let metres = L::load(&block.leg, at) * L::splat(PELVIS_RANGE / (KEY_ONE * WEIGHT_ONE));
        let layer =
            Vec3::new(L::load_i32(&rows[0], at), L::load_i32(&rows[1], at), L::load_i32(&rows[2], at))
                .scale(metres);
        let mut weight = L::zero();
        for part in &batch.parts {
            weight = L::load(&part.weight, at).mul_add(L::splat(part.mask.pelvis), weight);
        }
        let own = Vec3::load(&scratch.pelvis, at);
        let additive = L::splat(0.5).lt(L::load(&batch.additive, at));
        let way = Vec3::select(additive, layer, layer.minus(own));
        let moved = way.scale_add(weight, own);
        Vec3::select(L::zero().lt(weight), moved, own).store(&mut scratch.pelvis, at);
    }
}

#[inline(always)]
fn contacts<L: Lanes>(batch: &Batch<'_>, rows: &[Row], scratch: &mut Scratch) {
    for (foot, row) in rows.iter().enumerate().take(MAX_FEET) {
        for at in (0..BLOCK).step_by(L::N) {
            let mut weight = L::zero();
            for part in &batch.parts {
                weight = L::load(&part.weight, at).mul_add(L::splat(part.mask.feet[foot]), weight);
            }
            let additive = L::splat(0.5).lt(L::load(&batch.additive, at));
            let weight = L::select(additive, L::zero(), weight);
            let layer = L::load_i32(row, at) * L::splat(1.0 / (KEY_ONE * WEIGHT_ONE));
            let own = L::load(&scratch.contact[foot], at);
            let blended = (layer - own).mul_add(weight, own);
            L::select(L::zero().lt(weight), blended, own).store(&mut scratch.contact[foot], at);
        }
    }
}
