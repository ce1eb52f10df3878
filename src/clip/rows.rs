//! Bound clips: motion keys of one topology, as rows that lanes can mix.
//!
//! ```text
//! key k of a clip, 64 joints: 9 groups of 64 bytes
//!   | joint 0 x y z w | joint 1 | ... | joint 63 | pelvis x y z 0 | contact of feet 0, 1 | padding |
//! ```
//!
//! Every quad is four 16-bit values. Rotations are local deltas in model axes (motion space), so a row serves
//! every rig of the topology; the pelvis quad is its offset from the reference position in leg lengths.

use std::sync::Arc;

use glam::{DQuat, DVec3};

use super::marks::checked_events;
use super::{ClipEvent, Contacts, SyncMarkers, root::RootMotion};
use crate::error::BuildError;
use crate::lanes::{GROUP, KEY_ONE, KeyGroup};
use crate::rig::{MAX_FEET, Topology};

/// Leg lengths that the pelvis may be away from its reference position, root motion taken out: resolution
/// 0.06 mm for a leg of 0.9 m.
pub const PELVIS_RANGE: f32 = 2.0;

/// Keys per second of a bound clip unless asked otherwise.
pub const KEY_RATE: f64 = 30.0;

/// Shortest clip that is bound, seconds. Shorter ones are single poses; rates and twists stay finite.
pub const MIN_SECONDS: f64 = 1.0 / 240.0;

/// Leg lengths or radians that root motion may come to.
const FARTHEST: f64 = 1e9;

/// Longest clip that is bound, seconds.
pub const MAX_SECONDS: f64 = 3600.0;

/// Motion of one clip in the motion space of one topology, before quantisation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MotionKeys {
    /// The clip's.
    pub name: String,
    /// Seconds from first to last key.
    pub duration: f64,
    /// True if the last key is the first one again.
    pub looping: bool,
    /// True if rotations and pelvis are what is added to another pose: see [`additive`](Self::additive).
    pub additive: bool,
    /// Keys x joints: local rotation since the reference pose, in model axes.
    pub rotations: Vec<DQuat>,
    /// Per key: position of the pelvis minus its reference position, in the root's frame, leg lengths.
    pub pelvis: Vec<DVec3>,
    /// Per key: root `[x, z, yaw]`, leg lengths and unwrapped radians; the first is zero.
    pub root: Vec<[f64; 3]>,
    /// Where in the source's model space the root was at the first key, in the same units: what playing leaves out.
    pub origin: [f64; 3],
    /// Per key and leg of the topology: 1 in contact, falling to 0 away from it.
    pub contact: Vec<[f32; MAX_FEET]>,
    /// As authored; `None` where they were only detected.
    pub contacts: Option<Contacts>,
    /// As authored.
    pub events: Vec<ClipEvent>,
    /// Seconds of the markers that keep cycles in step; none is one at the start.
    pub sync: Vec<f32>,
}

/// An immutable clip of one topology.
#[derive(Clone, Debug)]
pub struct BoundClip {
    name: String,
    topology: Topology,
    intervals: u32,
    groups: u32,
    duration: f32,
    looping: bool,
    additive: bool,
    /// Shared with the crowds that play the clip.
    rows: Arc<[KeyGroup]>,
    root: RootMotion,
    contacts: Option<Contacts>,
    events: Arc<[ClipEvent]>,
    sync: Arc<SyncMarkers>,
    crosses_hemisphere: bool,
}

/// Groups of one key: joints, pelvis and contacts.
pub(super) fn group_count(joints: usize) -> usize {
    (joints + 2).div_ceil(GROUP)
}

/// What a [`BoundClip`] is made of.
pub(super) struct Parts {
    pub name: String,
    pub topology: Topology,
    pub intervals: u32,
    pub duration: f32,
    pub looping: bool,
    pub additive: bool,
    /// `intervals + 1` keys of [`group_count`] groups.
    pub rows: Vec<KeyGroup>,
    pub root: RootMotion,
    pub contacts: Option<Contacts>,
    pub events: Vec<ClipEvent>,
    pub sync: SyncMarkers,
    pub crosses_hemisphere: bool,
}

impl BoundClip {
    /// From rows that are there already; the caller has checked them.
    pub(super) fn from_parts(parts: Parts) -> Self {
        let groups = group_count(parts.topology.len()) as u32;
        debug_assert_eq!(parts.rows.len(), (parts.intervals as usize + 1) * groups as usize);
        Self {
            name: parts.name,
            topology: parts.topology,
            intervals: parts.intervals,
            groups,
            duration: parts.duration,
            looping: parts.looping,
            additive: parts.additive,
            rows: parts.rows.into(),
            root: parts.root,
            contacts: parts.contacts,
            events: parts.events.into(),
            sync: Arc::new(parts.sync),
            crosses_hemisphere: parts.crosses_hemisphere,
        }
    }

    /// Quantises.
    ///
    /// # Errors
    /// If the arrays do not fit each other, a value is not finite, the duration is not one from [`MIN_SECONDS`] to
    /// [`MAX_SECONDS`], or the pelvis leaves its range. Joints are counted in the topology's order.
    pub fn build(topology: &Topology, keys: &MotionKeys) -> Result<Self, BuildError> {
        let joints = topology.len();
        let count = keys.pelvis.len();
        let bad = |reason| Err(BuildError::Keys { clip: keys.name.clone(), reason });
        if count < 2
            || keys.rotations.len() != count * joints
            || keys.root.len() != count
            || keys.contact.len() != count
        {
            return bad("at least two keys are needed, with one rotation per joint of the topology each");
        }
        if !(MIN_SECONDS..=MAX_SECONDS).contains(&keys.duration) {
            return Err(BuildError::BoundDuration {
                clip: keys.name.clone(),
                duration: keys.duration,
                least: MIN_SECONDS,
                most: MAX_SECONDS,
            });
        }
        let unusable = |q: &DQuat| !(q.length_squared() > 0.5 && q.length_squared().is_finite());
        if let Some(at) = keys.rotations.iter().position(unusable) {
            return Err(BuildError::Curve {
                clip: keys.name.clone(),
                joint: at % joints,
                reason: "a rotation is not finite or not of unit length",
            });
        }
        if !keys.pelvis.iter().all(|p| p.is_finite()) {
            return bad("a position of the pelvis is not finite");
        }
        if !keys.root.iter().flatten().all(|v| v.abs() < FARTHEST) {
            return bad("a root is not finite, or too far away for single precision");
        }
        let root = RootMotion::from_keys(&keys.root, keys.duration);
        if !root.is_bounded() {
            return bad("it travels 1e6 leg lengths or turns 1000 rad in a second, or more");
        }
        if !keys.contact.iter().flatten().all(|v| v.is_finite()) {
            return bad("a contact weight is not finite");
        }
        let groups = group_count(joints);
        let mut rows = vec![KeyGroup([0; 4 * GROUP]); count * groups];
        let mut crosses_hemisphere = false;
        let mut last = vec![DQuat::IDENTITY; joints];
        for key in 0..count {
            let mut put = |quad: usize, values: [f64; 4]| {
                let group = &mut rows[key * groups + quad / GROUP];
                for (slot, value) in group.0[4 * (quad % GROUP)..][..4].iter_mut().zip(values) {
                    *slot = (value.clamp(-1.0, 1.0) * f64::from(KEY_ONE)).round() as i16;
                }
            };
            for (joint, last) in last.iter_mut().enumerate() {
                let mut q = keys.rotations[key * joints + joint].normalize();
                // Continuous from key to key; the first on the side of the reference pose.
                if last.dot(q) < 0.0 {
                    q = -q;
                }
                *last = q;
                // As it is stored: what is mixed must not depend on what else a block plays.
                crosses_hemisphere |= (q.w * f64::from(KEY_ONE)).round() < 0.0;
                put(joint, [q.x, q.y, q.z, q.w]);
            }
            let pelvis = keys.pelvis[key];
            let far = pelvis.abs().max_element();
            if far > f64::from(PELVIS_RANGE) {
                return Err(BuildError::PelvisRange {
                    clip: keys.name.clone(),
                    have: far as f32,
                    limit: PELVIS_RANGE,
                });
            }
            let p = pelvis / f64::from(PELVIS_RANGE);
            put(joints, [p.x, p.y, p.z, 0.0]);
            let [left, right] = keys.contact[key].map(f64::from);
            put(joints + 1, [left, right, 0.0, 0.0]);
        }
        Ok(Self {
            name: keys.name.clone(),
            topology: topology.clone(),
            intervals: count as u32 - 1,
            groups: groups as u32,
            duration: keys.duration as f32,
            looping: keys.looping,
            additive: keys.additive,
            rows: rows.into(),
            root,
            contacts: keys.contacts.clone(),
            events: checked_events(&keys.name, &keys.events, keys.duration as f32, keys.looping)?.into(),
            sync: SyncMarkers::new(&keys.name, &keys.sync, keys.duration as f32)?.into(),
            crosses_hemisphere,
        })
    }

    /// The clip's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is bound to.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Seconds.
    pub fn duration(&self) -> f32 {
        self.duration
    }

    /// True if it runs on from its end to its start.
    pub fn looping(&self) -> bool {
        self.looping
    }

    /// True if it can only be put on top of other motion: see [`MotionKeys::additive`].
    pub fn additive(&self) -> bool {
        self.additive
    }

    /// Key intervals; keys are one more.
    pub fn intervals(&self) -> u32 {
        self.intervals
    }

    /// Keys per second.
    pub fn rate(&self) -> f32 {
        self.intervals as f32 / self.duration
    }

    /// One key: `groups()` groups.
    ///
    /// # Panics
    /// If `key` is beyond [`intervals`](Self::intervals).
    pub fn key(&self, key: usize) -> &[KeyGroup] {
        let groups = self.groups as usize;
        &self.rows[key * groups..(key + 1) * groups]
    }

    /// Groups of eight quads per key.
    pub fn groups(&self) -> usize {
        self.groups as usize
    }

    /// All rows, key by key.
    pub fn rows(&self) -> &[KeyGroup] {
        &self.rows
    }

    pub(crate) fn shared_rows(&self) -> Arc<[KeyGroup]> {
        Arc::clone(&self.rows)
    }

    /// Travel over the ground.
    pub fn root(&self) -> &RootMotion {
        &self.root
    }

    /// As authored.
    pub fn contacts(&self) -> Option<&Contacts> {
        self.contacts.as_ref()
    }

    /// In order of their times.
    pub fn events(&self) -> &[ClipEvent] {
        &self.events
    }

    pub(crate) fn shared_events(&self) -> Arc<[ClipEvent]> {
        Arc::clone(&self.events)
    }

    /// What keeps it in step with other cycles.
    pub fn sync(&self) -> &SyncMarkers {
        &self.sync
    }

    pub(crate) fn shared_sync(&self) -> Arc<SyncMarkers> {
        Arc::clone(&self.sync)
    }

    /// True if some rotation passes half a turn from the reference pose, where mixing must look at signs.
    pub fn crosses_hemisphere(&self) -> bool {
        self.crosses_hemisphere
    }

    /// Bytes of rows.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.rows)
    }
}
