//! Layers over everybody's clips: for measuring what they cost.

use crate::clip::{AdditiveReference, BoundClip, MotionKeys};
use crate::crowd::{ClipId, Crowd, JointMask, Layer, MaskId};
use crate::error::BuildError;
use crate::rig::Rig;

/// What lies over the clips of each character of a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SceneLayers {
    /// Nothing.
    #[default]
    None,
    /// An additive clip on the whole body.
    Additive,
    /// A clip on the upper body, in model space where it begins.
    Upper,
    /// A clip on the head.
    Head,
    /// First the upper body's, then the additive one.
    Both,
}

/// What the layers of one topology are made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layered {
    added: ClipId,
    over: ClipId,
    upper: MaskId,
    head: MaskId,
}

impl Layered {
    /// From the keys of a clip of the scene's library, which overrides too.
    pub fn new(crowd: &mut Crowd, rig: &Rig, keys: &MotionKeys, over: ClipId) -> Result<Self, BuildError> {
        let added = BoundClip::build(rig.topology(), &keys.additive(AdditiveReference::Own(0.0))?)?;
        Ok(Self {
            added: crowd.add_clip(added)?,
            over,
            upper: crowd.add_mask(&JointMask::upper_body(rig.topology())?)?,
            head: crowd.add_mask(&JointMask::head(rig.topology())?)?,
        })
    }

    /// At a time of each character's own.
    pub fn layers(&self, kind: SceneLayers, time: f32) -> Vec<Layer> {
        let over = Layer { time, weight: 0.7, ..Layer::new(self.over) };
        let added = Layer { time, weight: 0.5, ..Layer::additive(self.added) };
        let upper = Layer { model_space_root: true, ..over.masked(self.upper) };
        match kind {
            SceneLayers::None => vec![],
            SceneLayers::Additive => vec![added],
            SceneLayers::Upper => vec![upper],
            SceneLayers::Head => vec![over.masked(self.head)],
            SceneLayers::Both => vec![upper, added],
        }
    }
}
