//! Layers of characters: clips over their clips.

use super::playback::{check_seconds, within};
use super::{ClipId, Crowd, Handle, MAX_SPEED, Wrap, next_id};
use crate::crowd::block::put_bit;
use crate::crowd::library::ClipHead;
use crate::crowd::masks::{JointMask, MaskData};
use crate::crowd::rare::{LayerState, MAX_LAYERS};
use crate::error::BuildError;

/// A mask of a crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MaskId {
    topology: u16,
    index: u16,
}

/// What a layer does to the pose below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LayerMode {
    /// Takes its place.
    #[default]
    Override,
    /// Is added to it: for additive clips only, see [`MotionKeys::additive`](crate::clip::MotionKeys::additive).
    Additive,
}

/// A clip over a character's clips. Its root motion moves nobody; its events are told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layer {
    /// Bound to the topology of the character's rig.
    pub clip: ClipId,
    /// Seconds into the clip; with [`Wrap::PingPong`] on to twice the duration.
    pub time: f32,
    /// How much of it shows, 0 to 1.
    pub weight: f32,
    /// Clip seconds per second, [`MAX_SPEED`] at most; negative plays backwards.
    pub speed: f32,
    /// What it does at its ends; one that has stopped goes on showing its last pose.
    pub wrap: Wrap,
    /// Takes the place of what is below, or is added.
    pub mode: LayerMode,
    /// Joints that it has; `None` for all.
    pub mask: Option<MaskId>,
    /// Only for overrides: joints where the mask begins keep their rotation in model space, so that an upper body aims
    /// where the clip aims however the hips turn.
    pub model_space_root: bool,
    /// Seconds over which the weight is reached, eased in and out, 60 at most.
    pub fade: f32,
}

impl Layer {
    /// An override of the whole body, at once, from the clip's start.
    #[must_use]
    pub fn new(clip: ClipId) -> Self {
        Self {
            clip,
            time: 0.0,
            weight: 1.0,
            speed: 1.0,
            wrap: Wrap::Clip,
            mode: LayerMode::Override,
            mask: None,
            model_space_root: false,
            fade: 0.0,
        }
    }

    /// Of an additive clip, on the whole body, at once, from the clip's start.
    #[must_use]
    pub fn additive(clip: ClipId) -> Self {
        Self { mode: LayerMode::Additive, ..Self::new(clip) }
    }

    /// Of some joints.
    #[must_use]
    pub fn masked(self, mask: MaskId) -> Self {
        Self { mask: Some(mask), ..self }
    }
}

impl Crowd {
    /// Takes a mask in, for all rigs of its topology.
    ///
    /// # Errors
    /// If no rig of that topology is there, or it has 65 534 masks already.
    pub fn add_mask(&mut self, mask: &JointMask) -> Result<MaskId, BuildError> {
        let found = self.topologies.iter().position(|data| data.topology == *mask.topology());
        let topology = found.ok_or_else(|| BuildError::OtherTopology { what: "the mask".to_owned() })?;
        let data = &mut self.topologies[topology];
        let index = next_id(data.masks.len(), "65 534 masks of one topology")?;
        data.masks.push(MaskData::of(&data.topology, mask.weights()));
        Ok(MaskId { topology: topology as u16, index })
    }

    /// Layers of a character, over its clips and each over the one before it. A layer that was at the same place in the
    /// same way keeps its clock, and its weight goes on from where it is; others begin. Layers that are not among them end
    /// at once: let them [fade](Self::fade_layer) before.
    ///
    /// # Errors
    /// If the handle is stale, there are more than [`MAX_LAYERS`], a clip or mask is unknown or of another topology, an
    /// additive clip overrides or another one is added, the model-space option is asked of an additive layer, or a value
    /// is out of range or not finite.
    pub fn set_layers(&mut self, handle: Handle, layers: &[Layer]) -> Result<(), BuildError> {
        let place = self.place(handle)?;
        let topology = self.topology_at(place);
        if layers.len() > MAX_LAYERS {
            return Err(BuildError::Input {
                what: "the number of layers of a character",
                value: layers.len() as f32,
                right: "at most four can lie over its clips",
            });
        }
        let mut new = [LayerState::default(); MAX_LAYERS];
        for (layer, new) in layers.iter().zip(&mut new) {
            *new = self.layer_state(topology, layer)?;
        }
        let lane = usize::from(place.lane);
        let any = !layers.is_empty();
        if any {
            self.have_rare(place);
        }
        let (block, _) = self.block_and_library(place);
        if let Some(rare) = &mut block.rare[lane] {
            for (old, new) in rare.layers.iter_mut().zip(&mut new) {
                if old.used && new.used && old.alike(new) {
                    (new.time, new.lost) = (old.time, old.lost);
                    new.begin(old.weight);
                }
                *old = *new;
            }
        }
        put_bit(&mut block.layered, lane, any);
        let idle = (block.layered | block.fading | block.transitions) & (1 << lane) == 0;
        if let Some(rare) = block.rare[lane].take_if(|_| idle) {
            self.pool.give(rare);
        }
        Ok(())
    }

    /// Takes the weight of a layer to another over `seconds`, eased in and out. One that comes to 0 so ends, and its place
    /// is empty; the others keep theirs.
    ///
    /// # Errors
    /// If the handle is stale, there is no layer at that place, the weight is not from 0 to 1 or `seconds` not from 0 to
    /// 60.
    pub fn fade_layer(
        &mut self,
        handle: Handle,
        place: usize,
        weight: f32,
        seconds: f32,
    ) -> Result<(), BuildError> {
        check_weight(weight)?;
        check_seconds(seconds)?;
        let (block, lane) = self.block_mut(handle)?;
        let rare = block.rare[lane].as_deref_mut();
        let layers = rare.map_or(&mut [][..], |rare| &mut rare.layers[..]);
        let Some(layer) = layers.get_mut(place).filter(|layer| layer.used) else {
            return Err(BuildError::Unknown { what: "layer", index: place });
        };
        (layer.to, layer.duration) = (weight, seconds);
        layer.begin(layer.weight);
        if weight == 0.0 && seconds == 0.0 {
            *layer = LayerState::default();
        }
        let ended = !layers.iter().any(|layer| layer.used);
        if ended {
            self.set_layers(handle, &[])?;
        }
        Ok(())
    }

    /// Sets the clock of a layer; events in between are not told.
    ///
    /// # Errors
    /// If the handle is stale, there is no layer at that place or the time is not finite.
    pub fn seek_layer(&mut self, handle: Handle, place: usize, time: f32) -> Result<(), BuildError> {
        check_time(time)?;
        let at = self.place(handle)?;
        let (block, library) = self.block_and_library(at);
        let rare = block.rare[usize::from(at.lane)].as_deref_mut();
        let layer = rare.and_then(|rare| rare.layers.get_mut(place)).filter(|layer| layer.used);
        let Some(layer) = layer else {
            return Err(BuildError::Unknown { what: "layer", index: place });
        };
        layer.seek(time, library.head(layer.clip));
        Ok(())
    }

    /// Layers of a character with their places, with the times and weights that they have come to, and with what is left
    /// of their fades.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn layers(&self, handle: Handle) -> Result<impl Iterator<Item = (usize, Layer)> + '_, BuildError> {
        let topology = self.topology_at(self.place(handle)?);
        let (block, lane) = self.block(handle)?;
        let layers = block.rare[lane].as_deref().map_or(&[][..], |rare| &rare.layers[..]);
        let of = move |layer: &LayerState| Layer {
            clip: ClipId { topology, index: layer.clip.into() },
            time: layer.time,
            weight: layer.weight,
            speed: layer.speed,
            wrap: match (layer.loops, layer.ping_pong) {
                (true, _) => Wrap::Loop,
                (_, true) => Wrap::PingPong,
                _ => Wrap::Once,
            },
            mode: if layer.additive { LayerMode::Additive } else { LayerMode::Override },
            mask: (layer.mask > 0).then_some(MaskId { topology, index: layer.mask }),
            model_space_root: layer.model_space,
            fade: (layer.duration - layer.elapsed).max(0.0),
        };
        Ok(layers.iter().enumerate().filter(|(_, layer)| layer.used).map(move |(at, layer)| (at, of(layer))))
    }

    /// Makes memory for the layers of that many characters, so that setting them allocates nothing.
    pub fn reserve_layers(&mut self, characters: usize) {
        self.pool.reserve(characters);
    }

    fn layer_state(&self, topology: u16, layer: &Layer) -> Result<LayerState, BuildError> {
        let Some(clip) = self.clip(layer.clip) else {
            return Err(BuildError::Unknown { what: "clip", index: layer.clip.index as usize });
        };
        if layer.clip.topology != topology {
            return Err(BuildError::OtherTopology { what: format!("clip {}", layer.clip.index) });
        }
        let additive = layer.mode == LayerMode::Additive;
        if clip.additive() != additive {
            let (is, used) = match additive {
                true => ("not additive", "an additive layer; bind it against a reference pose"),
                false => ("additive", "an override"),
            };
            return Err(BuildError::ClipUse { clip: clip.name().to_owned(), is, used });
        }
        if additive && layer.model_space_root {
            return Err(BuildError::Input {
                what: "the model-space option of an additive layer",
                value: 1.0,
                right: "only overrides have it",
            });
        }
        let mask = match layer.mask {
            None => 0,
            Some(mask) if mask.topology != topology => {
                return Err(BuildError::OtherTopology { what: format!("mask {}", mask.index) });
            }
            Some(mask) => {
                if usize::from(mask.index) >= self.topologies[usize::from(topology)].masks.len() {
                    return Err(BuildError::Unknown { what: "mask", index: mask.index.into() });
                }
                mask.index
            }
        };
        check_weight(layer.weight)?;
        check_seconds(layer.fade)?;
        check_time(layer.time)?;
        check(layer.speed.abs() <= MAX_SPEED, "a layer's speed", layer.speed, "it must be from -16 to 16")?;
        let mut state = LayerState {
            used: true,
            loops: layer.wrap.loops(clip.looping()),
            ping_pong: layer.wrap == Wrap::PingPong,
            additive,
            model_space: layer.model_space_root,
            clip: layer.clip.index as u16,
            mask,
            speed: layer.speed,
            to: layer.weight,
            duration: layer.fade,
            ..LayerState::default()
        };
        state.seek(layer.time, self.topologies[usize::from(topology)].library.head(state.clip));
        state.begin(0.0);
        Ok(state)
    }
}

impl LayerState {
    /// Starts the fade.
    fn begin(&mut self, from: f32) {
        self.elapsed = 0.0;
        self.from = from;
        self.weight = if self.duration > 0.0 { from } else { self.to };
    }

    fn seek(&mut self, time: f32, head: &ClipHead) {
        self.lost = 0.0;
        self.time = if self.loops {
            within(time, head.duration)
        } else if self.ping_pong {
            within(time, 2.0 * head.duration)
        } else {
            time.clamp(0.0, head.duration)
        };
    }

    fn alike(&self, other: &Self) -> bool {
        let key = |layer: &Self| {
            (layer.clip, layer.mask, layer.loops, layer.ping_pong, layer.additive, layer.model_space)
        };
        key(self) == key(other)
    }
}

fn check(good: bool, what: &'static str, value: f32, right: &'static str) -> Result<(), BuildError> {
    if good { Ok(()) } else { Err(BuildError::Input { what, value, right }) }
}

fn check_weight(weight: f32) -> Result<(), BuildError> {
    check((0.0..=1.0).contains(&weight), "a layer's weight", weight, "0 to 1")
}

fn check_time(time: f32) -> Result<(), BuildError> {
    check(time.abs() < 1e6, "a layer's time", time, "it must be finite")
}
