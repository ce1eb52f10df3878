//! What a snapshot was made with: a hash of rigs and clips, in their order.

use super::Hash;
use crate::clip::BoundClip;
use crate::crowd::Crowd;
use crate::rig::{JointKey, Rig, Side, Topology};

impl Crowd {
    /// Changes with every rig, clip, mask, what tiers compute, and the palette format.
    pub(super) fn content(&self) -> u64 {
        let mut hash = Hash::new();
        hash.word(self.config.format.bytes() as u64 | u64::from(self.config.interpolate) << 32);
        for tier in &self.tiers {
            hash.word(u64::from(tier.level) << 1 | u64::from(tier.feet));
        }
        hash.word(self.rigs.len() as u64);
        for (rig, topology) in &self.rigs {
            hash.word((*topology).into());
            of_rig(&mut hash, rig);
        }
        for data in &self.rig_data {
            hash.word(data.kept.len() as u64);
            data.kept.iter().for_each(|&joint| hash.word(joint.into()));
        }
        for data in &self.topologies {
            hash.word(data.library.clips().len() as u64);
            data.library.clips().iter().for_each(|clip| of_clip(&mut hash, clip));
            hash.word(data.masks.len() as u64);
            data.masks.iter().for_each(|mask| hash.f32s(&mask.weights));
        }
        hash.finish()
    }
}

fn of_rig(hash: &mut Hash, rig: &Rig) {
    of_topology(hash, rig.topology());
    hash.f32s(rig.offsets().as_flattened());
    hash.f32s(&[rig.leg()]);
    for sole in rig.soles() {
        hash.f32s(&sole.heel);
        hash.f32s(&sole.ball);
    }
    for skin in rig.skins() {
        hash.word(skin.entries().len() as u64);
        for entry in skin.entries() {
            hash.word(entry.joint.into());
            hash.f32s(entry.linear.as_flattened());
            hash.f32s(&entry.offset);
        }
    }
}

fn of_topology(hash: &mut Hash, topology: &Topology) {
    hash.word(topology.len() as u64);
    for ((key, &parent), &level) in topology.keys().iter().zip(topology.parents()).zip(topology.levels()) {
        let name = match key {
            JointKey::Role(role) => role.to_string(),
            JointKey::Named(name) => name.clone(),
        };
        hash.word(
            u64::from(matches!(key, JointKey::Role(_))) << 24 | u64::from(parent) << 8 | u64::from(level),
        );
        hash.bytes(name.as_bytes());
    }
    hash.word(topology.pelvis().into());
    hash.word(topology.legs().len() as u64);
    for leg in topology.legs() {
        hash.word(u64::from(leg.side == Side::Left));
        hash.word(leg.above.len() as u64);
        let toe = leg.toe.map_or(u64::MAX, u64::from);
        leg.above.iter().chain([&leg.thigh, &leg.shin, &leg.foot]).for_each(|&joint| hash.word(joint.into()));
        hash.word(toe);
    }
}

fn of_clip(hash: &mut Hash, clip: &BoundClip) {
    hash.word(u64::from(clip.looping()) << 1 | u64::from(clip.additive()));
    hash.f32s(&[clip.duration()]);
    hash.bytes(bytemuck::cast_slice(clip.rows()));
    for twist in clip.root().twists() {
        hash.f32s(&[twist.x, twist.z, twist.yaw]);
    }
    hash.f32s(clip.sync().times());
    for event in clip.events() {
        hash.f32s(&[event.time]);
        hash.bytes(event.name.as_bytes());
    }
}
