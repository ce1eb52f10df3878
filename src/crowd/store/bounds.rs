//! Boxes around characters: before a frame from what they play, for culling, and after it from the pose that was written.
//!
//! ```text
//! clip box    per rig and clip: all joints at all keys, in the root's axes, made when first asked for
//! before      union over the clips that play, moved by the pelvis, slack for ground and blends, turned into the world
//! after       joints of the palette, each with the radius of what hangs on it
//! ```

use glam::{Mat3, Quat, Vec3};

use super::{Crowd, Handle, RigId};
use crate::clip::{BoundClip, PELVIS_RANGE};
use crate::crowd::block::{Block, MAX_CLIPS};
use crate::crowd::frame::RigData;
use crate::crowd::stages::inertia;
use crate::crowd::streams::{Hips, StreamPoses};
use crate::error::BuildError;
use crate::lanes::{BLOCK, GROUP, KEY_ONE};
use crate::rig::{NO_PARENT, RawMesh, Rig};

/// Slack of one clip alone, leg lengths: what lies between keys.
const KEYS: f32 = 0.03;
/// Slack of several clips at a time: a limb between two directions reaches beyond both.
const BLEND: f32 = 0.12;
/// Slack for the ground below and above the root's plane, and for feet that are held.
const GROUND_DOWN: f32 = 0.25;
const GROUND_UP: f32 = 0.1;
const GROUND_ASIDE: f32 = 0.06;
/// Where nothing is known of a pose, the pelvis is within so many leg lengths of its reference place.
const PELVIS: f32 = 0.5;
/// What hangs on joints, leg lengths, unless it is told.
const PADDING: f32 = 0.2;

/// A box along the axes. Of nobody: [`Aabb::EMPTY`].
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Aabb {
    /// Least corner, metres.
    pub min: [f32; 3],
    /// Greatest corner, metres.
    pub max: [f32; 3],
}

impl Aabb {
    /// Holds nothing: grows to whatever is added.
    pub const EMPTY: Self = Self { min: [f32::MAX; 3], max: [f32::MIN; 3] };

    /// Holds whatever is within 1e9 m: of whom nothing is known.
    pub const EVERYWHERE: Self = Self { min: [-1e9; 3], max: [1e9; 3] };

    /// True if it holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        (0..3).any(|k| self.min[k] > self.max[k])
    }

    /// True if it holds all of the other one.
    #[must_use]
    pub fn contains(&self, other: &Self) -> bool {
        other.is_empty() || (0..3).all(|k| self.min[k] <= other.min[k] && other.max[k] <= self.max[k])
    }

    fn add(&mut self, at: Vec3, radius: f32) {
        for k in 0..3 {
            self.min[k] = self.min[k].min(at[k] - radius);
            self.max[k] = self.max[k].max(at[k] + radius);
        }
    }

    fn join(&mut self, other: &Self) {
        for k in 0..3 {
            self.min[k] = self.min[k].min(other.min[k]);
            self.max[k] = self.max[k].max(other.max[k]);
        }
    }

    /// By so much, and then so much further either way.
    fn moved(&self, by: [f32; 3], further: [f32; 3]) -> Self {
        let mut out = *self;
        for k in 0..3 {
            out.min[k] += by[k] - further[k];
            out.max[k] += by[k] + further[k];
        }
        out
    }

    /// Turned by a quaternion and moved: the box around the turned box.
    fn placed(&self, at: Vec3, turn: Quat) -> Self {
        let (min, max) = (Vec3::from_array(self.min), Vec3::from_array(self.max));
        let axes = Mat3::from_quat(turn);
        let half = (max - min) * 0.5;
        let half = axes.x_axis.abs() * half.x + axes.y_axis.abs() * half.y + axes.z_axis.abs() * half.z;
        let centre = at + axes * ((min + max) * 0.5);
        Self { min: (centre - half).to_array(), max: (centre + half).to_array() }
    }
}

/// What bounds need of a rig.
#[derive(Debug, Default)]
pub(crate) struct RigBounds {
    /// Per clip of the topology; empty where it has to be made.
    clips: Vec<Aabb>,
    /// None of them has to be.
    made: bool,
    /// Any pose at all.
    any: Option<Aabb>,
    /// Metres.
    padding: Option<f32>,
}

impl RigBounds {
    /// Of another body in the place of one.
    pub fn keep_padding(&mut self, old: &Self) {
        self.padding = old.padding;
    }

    /// A clip has changed.
    pub fn forget(&mut self, clip: u32) {
        if let Some(known) = self.clips.get_mut(clip as usize) {
            *known = Aabb::EMPTY;
            self.made = false;
        }
    }
}

impl Crowd {
    /// How far what hangs on the joints of a rig reaches from them, metres: the greatest of [`joint_radii`] of its meshes.
    /// A fifth of the leg length unless told.
    ///
    /// # Errors
    /// If there is no such rig, or the value is not from 0 to 1e6 m.
    pub fn set_padding(&mut self, rig: RigId, metres: f32) -> Result<(), BuildError> {
        if !(0.0..=1e6).contains(&metres) {
            let right = "it must be from 0 to 1e6 m";
            return Err(BuildError::Input { what: "the padding of a rig", value: metres, right });
        }
        let index = rig.0.into();
        let data =
            self.rig_data.get_mut(usize::from(rig.0)).ok_or(BuildError::Unknown { what: "rig", index })?;
        data.bounds.padding = Some(metres);
        Ok(())
    }

    /// Makes the boxes of all clips for all rigs that are not there yet: every key of every clip is posed once for every
    /// rig of its topology. Asking for boxes does it by itself, so a host does it before the frames begin.
    pub fn prepare_bounds(&mut self) {
        for (at, data) in self.rig_data.iter_mut().enumerate() {
            let (rig, topology) = &self.rigs[at];
            let clips = self.topologies[usize::from(*topology)].library.clips();
            let bounds = &mut data.bounds;
            if bounds.made && bounds.clips.len() == clips.len() {
                continue;
            }
            bounds.clips.resize(clips.len(), Aabb::EMPTY);
            let mut models = Vec::new();
            for (known, clip) in bounds.clips.iter_mut().zip(clips) {
                if known.is_empty() {
                    *known = clip_box(rig, clip, &mut models);
                }
            }
            bounds.any.get_or_insert_with(|| any_box(rig));
            bounds.made = true;
        }
    }

    /// A box in the world around a character where it stands now, from what it plays: before any pose is made. It holds
    /// every joint of the next frame, with the rig's [padding](Self::set_padding), if the root moves in that frame no
    /// more than the box is grown by the host, and the ground under the feet is within a quarter of the leg length below
    /// the root and a tenth above it, or the pelvis has followed it already. Whoever is posed less often than every frame is
    /// seen where it was up to so many frames before: a host that culls by these boxes grows them by that way. Fades, ways
    /// to and fro and layers are within; characters in an inertialised transition, without clips or with an additive layer have the box of all poses. Where the next pose of a stream is
    /// cannot be known: whoever follows one is [everywhere](Aabb::EVERYWHERE), or, if the stream moves the root
    /// ([`StreamRoot::Travel`](crate::crowd::StreamRoot)), as far aside of it as bones reach, at any height; where the pose
    /// is at hand, [`bounds_with`](Self::bounds_with) tells more.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn bounds(&mut self, handle: Handle) -> Result<Aabb, BuildError> {
        self.bounds_with(handle, StreamPoses::NONE)
    }

    /// [`bounds`](Self::bounds) from the poses of the streams that the next frame gets: around where the pose has its hips,
    /// as far as bones reach from there. Without a pose in the list, as `bounds`; whoever's pose is refused in the frame stays
    /// where it was.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn bounds_with(&mut self, handle: Handle, streams: StreamPoses<'_>) -> Result<Aabb, BuildError> {
        self.prepare_bounds();
        let (block, lane) = self.block(handle)?;
        Ok(self.box_of(block, lane, streams))
    }

    fn box_of(&self, block: &Block, lane: usize, streams: StreamPoses<'_>) -> Aabb {
        let rig = usize::from(block.rigs[lane]);
        let joints = self.rigs[rig].0.topology().len();
        match self.streams.hips(block.characters[lane], block.leg.0[lane], streams) {
            Hips::NoStream => before(block, lane, &self.rig_data[rig], joints, None),
            Hips::Anywhere => Aabb::EVERYWHERE,
            Hips::Above => {
                let mut column = before(block, lane, &self.rig_data[rig], joints, Some([0.0; 3]));
                (column.min[1], column.max[1]) = (Aabb::EVERYWHERE.min[1], Aabb::EVERYWHERE.max[1]);
                // Roots that do not stand upright lean it.
                let upright = block.rotation[0].0[lane].abs() + block.rotation[2].0[lane].abs() < 1e-3;
                if upright { column } else { Aabb::EVERYWHERE }
            }
            Hips::At(offset) => before(block, lane, &self.rig_data[rig], joints, Some(offset)),
        }
    }

    /// [`bounds`](Self::bounds) of everybody, by [`Handle::index`]; [`Aabb::EMPTY`] where nobody lives.
    ///
    /// # Errors
    /// If `out` is shorter than the greatest index of a living character.
    pub fn bounds_into(&mut self, out: &mut [Aabb]) -> Result<(), BuildError> {
        self.bounds_into_with(out, StreamPoses::NONE)
    }

    /// [`bounds_with`](Self::bounds_with) of everybody: see [`bounds_into`](Self::bounds_into).
    ///
    /// # Errors
    /// As [`bounds_into`](Self::bounds_into).
    pub fn bounds_into_with(&mut self, out: &mut [Aabb], streams: StreamPoses<'_>) -> Result<(), BuildError> {
        self.prepare_bounds();
        let last = self.characters.iter().rposition(|entry| !entry.is_free());
        if let Some(need) = last.map(|last| last + 1).filter(|&need| need > out.len()) {
            return Err(BuildError::Length { what: "the list of boxes", have: out.len(), need });
        }
        out.fill(Aabb::EMPTY);
        for block in self.blocks() {
            for lane in 0..BLOCK {
                if block.live & (1 << lane) != 0 {
                    out[block.characters[lane] as usize] = self.box_of(block, lane, streams);
                }
            }
        }
        Ok(())
    }

    /// The box in the world around the pose that the last frame wrote: every joint of the palette with a radius in
    /// metres, one per entry of the skin (see [`joint_radii`]); where `radii` is shorter, 0.
    ///
    /// # Errors
    /// If the handle is stale, no frame has posed the character yet, or a radius is not from 0 to 1e6 m.
    pub fn posed_bounds(&self, handle: Handle, radii: &[f32]) -> Result<Aabb, BuildError> {
        if let Some(&value) = radii.iter().find(|radius| !(0.0..=1e6).contains(*radius)) {
            let right = "it must be from 0 to 1e6 m";
            return Err(BuildError::Input { what: "the radius of a joint", value, right });
        }
        let pose = self.posed(handle)?;
        let (root, turn) = (Vec3::from_array(pose.header.position), Quat::from_array(pose.header.rotation));
        let mut bounds = Aabb::EMPTY;
        for at in 0..pose.skin.count {
            if let Some((place, _)) = pose.entry(at) {
                bounds.add(root + turn * place, radii.get(at).copied().unwrap_or(0.0));
            }
        }
        Ok(bounds)
    }
}

/// Per entry of one of a rig's skins: how far the mesh's vertices that it moves are from its joint in the bind pose,
/// metres; 0 where it moves none. Lists of a mesh that do not fit each other are used as far as they go.
///
/// # Errors
/// If the rig has no such skin.
pub fn joint_radii(rig: &Rig, skin: usize, mesh: &RawMesh) -> Result<Vec<f32>, BuildError> {
    let skin = rig.skins().get(skin).ok_or(BuildError::Unknown { what: "skin", index: skin })?;
    let mut radii = vec![0.0f32; skin.entries().len()];
    for ((position, joints), weights) in mesh.positions.iter().zip(&mesh.joints).zip(&mesh.weights) {
        for (&joint, &weight) in joints.iter().zip(weights) {
            let Some(entry) = skin.entries().get(usize::from(joint)).filter(|_| weight > 0.0) else {
                continue;
            };
            // The constant brings a vertex to where it is of its joint, in model axes.
            let at = Mat3::from_cols_array_2d(&entry.linear) * Vec3::from_array(*position)
                + Vec3::from_array(entry.offset);
            let radius = &mut radii[usize::from(joint)];
            *radius = radius.max(at.length()).min(1e6);
        }
    }
    Ok(radii)
}

/// `hips`: where a stream has them, metres from their reference place, instead of clips.
fn before(block: &Block, lane: usize, data: &RigData, joints: usize, hips: Option<[f32; 3]>) -> Aabb {
    let bit = 1u16 << lane;
    let leg = block.leg.0[lane];
    let mut bounds = Aabb::EMPTY;
    let mut plays = 0;
    let mut add = |clip: u16| {
        if let Some(known) = data.bounds.clips.get(usize::from(clip)) {
            bounds.join(known);
            plays += 1;
        }
    };
    for slot in 0..MAX_CLIPS {
        if block.plays(slot, lane) {
            add(block.clips[slot].clip[lane]);
        }
    }
    // Layers are over them: what they leave free is the reference pose where nothing plays.
    let nothing = (0..MAX_CLIPS).all(|slot| !block.plays(slot, lane));
    let any = data.bounds.any.unwrap_or(Aabb::EMPTY);
    let transition = block.rare[lane].as_ref().filter(|_| block.transitions & bit != 0);
    let mut unknown = hips.is_none() && (nothing || transition.is_some());
    if let Some(rare) = block.rare[lane].as_ref().filter(|_| block.layered & bit != 0) {
        for layer in rare.layers.iter().filter(|layer| layer.used) {
            unknown |= layer.additive;
            add(layer.clip);
        }
    }
    if let Some(rare) = transition {
        // Between the old motion's pelvis, which a stream may have had far away, and the new one's.
        let [at, way] = inertia::pelvis(&rare.transition, joints);
        let reach = [0, 1, 2].map(|k| way[k].abs() * rare.transition.onward_at_most());
        bounds.join(&any.moved(at, reach));
    }
    if let Some(hips) = hips {
        // Feet that are said to be down may be drawn to the ground from wherever the hips are.
        bounds.join(&any.moved(hips, [0.0; 3]));
        bounds.join(&any.moved([hips[0], 0.0, hips[2]], [0.0; 3]));
        // Joints above the pelvis stay with the root.
        bounds.join(&any);
    }
    if unknown {
        bounds.join(&any);
    }
    let slack = leg * if plays > 1 { BLEND } else { KEYS } + data.bounds.padding.unwrap_or(PADDING * leg);
    let pelvis = block.pelvis.0[lane];
    let held =
        block.feet.iter().flat_map(|foot| &foot.offset).map(|row| row.0[lane].abs()).fold(0.0, f32::max);
    let aside = slack + GROUND_ASIDE * leg + held;
    let grown = Aabb {
        min: [
            bounds.min[0] - aside,
            bounds.min[1] - slack - GROUND_DOWN * leg + pelvis.min(0.0),
            bounds.min[2] - aside,
        ],
        max: [
            bounds.max[0] + aside,
            bounds.max[1] + slack + GROUND_UP * leg + pelvis.max(0.0),
            bounds.max[2] + aside,
        ],
    };
    let place = Vec3::from_array(block.position.map(|row| row.0[lane]));
    grown.placed(place, Quat::from_array(block.rotation.map(|row| row.0[lane])).normalize())
}

/// All joints at all keys, root motion taken out.
fn clip_box(rig: &Rig, clip: &BoundClip, models: &mut Vec<(Vec3, Quat)>) -> Aabb {
    let topology = rig.topology();
    let mut bounds = Aabb::EMPTY;
    for key in 0..=clip.intervals() as usize {
        let groups = clip.key(key);
        let quad = |at: usize| -> [f32; 4] {
            let values = &groups[at / GROUP].0[4 * (at % GROUP)..][..4];
            core::array::from_fn(|k| f32::from(values[k]) / KEY_ONE)
        };
        let [x, y, z, _] = quad(topology.len());
        let pelvis = Vec3::new(x, y, z) * (PELVIS_RANGE * rig.leg());
        models.clear();
        for joint in 0..topology.len() {
            let turn = Quat::from_array(quad(joint)).normalize();
            let offset = Vec3::from_array(rig.offsets()[joint]);
            let (mut at, turn) = match topology.parents()[joint] {
                NO_PARENT => (offset, turn),
                parent => {
                    let (above, axes) = models[usize::from(parent)];
                    (above + axes * offset, axes * turn)
                }
            };
            if joint == usize::from(topology.pelvis()) {
                at += pelvis;
            }
            models.push((at, turn));
            bounds.add(at, 0.0);
        }
    }
    bounds
}

/// Around the pelvis's reference place, as far as bones reach from it.
fn any_box(rig: &Rig) -> Aabb {
    let topology = rig.topology();
    let pelvis = usize::from(topology.pelvis());
    let mut reach = vec![0.0f32; topology.len()];
    let mut far = 0.0f32;
    for joint in 0..topology.len() {
        let parent = topology.parents()[joint];
        let length = Vec3::from_array(rig.offsets()[joint]).length();
        // What is above or beside the pelvis is held by its own root.
        reach[joint] = match parent {
            _ if joint == pelvis => 0.0,
            NO_PARENT => (rig.positions()[joint] - rig.positions()[pelvis]).length() as f32,
            parent => reach[usize::from(parent)] + length,
        };
        far = far.max(reach[joint]);
    }
    let mut bounds = Aabb::EMPTY;
    bounds.add(rig.positions()[pelvis].as_vec3(), far + PELVIS * rig.leg());
    bounds
}
