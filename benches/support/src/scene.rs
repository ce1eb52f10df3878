//! The scenes that are measured.

use throng::content::{self, RigKind};
use throng::crowd::{ClipId, Crowd, CrowdConfig, FlatGround, Play, WorldTransform};
use throng::error::BuildError;
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

use crate::baseline::{Baseline, Ground};
use crate::input::input_of;

/// What to build.
#[derive(Clone, Copy, Debug)]
pub struct SceneOptions {
    /// Characters.
    pub characters: usize,
    /// Distinct rigs.
    pub rigs: usize,
    /// Distinct clips.
    pub clips: usize,
    /// One rig of about 64 joints, two clips each.
    pub uniform: bool,
}

/// A crowd on its ground.
pub struct BenchScene {
    /// Spawned and packed.
    pub crowd: Crowd,
    /// Under it.
    pub ground: Box<dyn throng::crowd::Ground>,
    /// The same, as the baseline asks it.
    pub baseline_ground: Ground,
}

impl BenchScene {
    /// The same scene for the baseline.
    ///
    /// # Errors
    /// Does not fail for the crowd's own handles.
    pub fn baseline(&self) -> Result<Baseline, BuildError> {
        Ok(Baseline::new(input_of(&self.crowd, self.baseline_ground.clone())?))
    }
}

/// Spreads characters over a square.
///
/// # Errors
/// Does not fail for built-in content.
pub fn build(options: SceneOptions, config: CrowdConfig) -> Result<BenchScene, BuildError> {
    let mut crowd = Crowd::new(config);
    let rigs = if options.uniform { 1 } else { options.rigs.max(1) };
    let bodies = if options.uniform {
        vec![content::character(RigKind::Deform, &content::BodyPlan::default())]
    } else {
        content::variants(1, rigs)
    };
    let mut topologies: Vec<(throng::rig::Topology, Vec<ClipId>)> = Vec::new();
    let mut ids = Vec::new();
    let mut built_rigs = Vec::new();
    for body in &bodies {
        let rig = Rig::build(&body.rig_source())?;
        ids.push(crowd.add_rig(rig.clone())?);
        built_rigs.push(rig);
    }
    for rig in &built_rigs {
        if !topologies.iter().any(|(topology, _)| topology == rig.topology()) {
            topologies.push((rig.topology().clone(), Vec::new()));
        }
    }
    let share = (options.clips / topologies.len()).max(4);
    for (topology, clips) in &mut topologies {
        let at = built_rigs.iter().position(|rig| rig.topology() == topology).unwrap_or(0);
        let (body, rig) = (&bodies[at], &built_rigs[at]);
        let reference = body.reference();
        for raw in content::library(body, share) {
            let source =
                BindSource { skeleton: &body.character.skeleton, roles: &body.roles, reference: &reference };
            if let Ok(bound) = bind(source, &raw, rig) {
                clips.push(crowd.add_clip(bound)?);
            }
        }
    }
    let side = (options.characters as f32).sqrt().ceil() as usize;
    for i in 0..options.characters {
        let rig = i % ids.len();
        let clips = &topologies
            [topologies.iter().position(|(topology, _)| topology == built_rigs[rig].topology()).unwrap_or(0)]
        .1;
        let count = if options.uniform { 2 } else { 1 + i % 4 };
        let plays: Vec<Play> = (0..count)
            .map(|k| Play {
                clip: clips[(i * 7 + k * 13) % clips.len()],
                time: 0.137 * i as f32 + 0.3 * k as f32,
                weight: 1.0 + 0.25 * k as f32,
                speed: 1.0,
            })
            .collect();
        let (x, z) = ((i % side) as f32, (i / side) as f32);
        crowd.spawn(ids[rig], 0, WorldTransform::standing(x, z, i as f32), &plays)?;
    }
    crowd.pack();
    let ground = Box::new(FlatGround::default());
    Ok(BenchScene { crowd, ground, baseline_ground: Ground::Flat(0.0) })
}
