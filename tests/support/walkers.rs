//! Walkers of several rigs, for tests of tiers.
#![allow(dead_code)] // Every test uses a part.

use throng::clip::BoundClip;
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{ClipId, Crowd, CrowdConfig, Handle, Play, RigId, Tier, WorldTransform};
use throng::lanes::{Isa, Mode, Simd};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

/// A crowd of two rigs of one topology, and one clip of each kind asked for.
pub struct Walkers {
    pub crowd: Crowd,
    pub rigs: Vec<RigId>,
    pub clips: Vec<ClipId>,
}

pub fn strict() -> CrowdConfig {
    CrowdConfig { simd: Simd::new(Isa::widest(), Mode::Strict), ..CrowdConfig::default() }
}

pub fn bodies() -> [BuiltIn; 2] {
    [BodyPlan::adult(), BodyPlan { stature: 1.3, ..BodyPlan::adult() }]
        .map(|plan| content::character(RigKind::Biped, &plan))
}

pub fn bound(kind: ClipKind, body: &BuiltIn, rig: &Rig) -> BoundClip {
    let reference = body.reference();
    let source = BindSource { skeleton: &body.character.skeleton, roles: &body.roles, reference: &reference };
    bind(source, &content::clip(kind, body), rig).expect("clip")
}

impl Walkers {
    pub fn new(config: CrowdConfig, kinds: &[ClipKind]) -> Self {
        let mut crowd = Crowd::new(config);
        let bodies = bodies();
        let rigs: Vec<Rig> = bodies.iter().map(|body| Rig::build(&body.rig_source()).expect("rig")).collect();
        let ids = rigs.iter().map(|rig| crowd.add_rig(rig.clone()).expect("rig")).collect();
        let clips = kinds
            .iter()
            .map(|&kind| crowd.add_clip(bound(kind, &bodies[0], &rigs[0])).expect("clip"))
            .collect();
        Self { crowd, rigs: ids, clips }
    }

    /// The `index`th of a crowd: places, phases and proportions are its own.
    pub fn spawn(&mut self, index: usize, tier: Tier) -> Handle {
        let clip = self.clips[index % self.clips.len()];
        let place =
            WorldTransform::standing((index % 20) as f32 * 1.5, (index / 20) as f32 * 1.5, index as f32);
        let play = Play { time: 0.37 * index as f32, ..Play::new(clip) };
        let handle = self.crowd.spawn(self.rigs[index % 2], 0, place, &[play]).expect("spawn");
        self.crowd.set_tier(handle, tier).expect("alive");
        handle
    }
}
