//! The two crossings between a hecs world and a crowd, at a size that no cache holds.

use throng::content;
use throng::crowd::{Crowd, CrowdConfig, PaletteFormat, WorldTransform};
use throng::lanes::Simd;
use throng::lod::{Character, Hero, Importance, Mirror, RootMotion};
use throng::rig::Rig;
use throng::stress::{StageTime, StressError};

use crate::measure::interleave;

/// Entities.
pub const ENTITIES: usize = 100_000;
/// Rigs that they are of.
const RIGS: usize = 8;

/// A tag that splits the world's archetypes.
struct Tagged;

/// Reading all transforms and writing all roots back, nanoseconds per character: both crossings, then each.
///
/// # Errors
/// If a rig or a character is refused.
pub fn crossings(simd: Simd, entities: usize, rounds: usize) -> Result<[StageTime; 3], StressError> {
    // The smallest output: it is not written here.
    let config = CrowdConfig { simd, format: PaletteFormat::Snorm16, ..CrowdConfig::default() };
    let mut crowd = Crowd::new(config);
    let mut rigs = Vec::new();
    for body in content::variants(1, RIGS) {
        rigs.push(crowd.add_rig(Rig::build(&body.rig_source())?)?);
    }
    let mut world = hecs::World::new();
    for at in 0..entities {
        let place = WorldTransform::standing((at % 317) as f32, (at / 317) as f32, at as f32);
        let character = Character(crowd.spawn(rigs[at % RIGS], 0, place, &[])?);
        match at % 7 {
            0 => world.spawn((character, place, RootMotion::default(), Importance(2.0))),
            1 => world.spawn((character, place, RootMotion::default(), Tagged)),
            2 if at % 700 == 2 => world.spawn((character, place, RootMotion::default(), Hero)),
            _ => world.spawn((character, place, RootMotion::default())),
        };
    }
    crowd.pack();
    let mut mirror = Mirror::default();
    let mut crossed = 0;
    let times = interleave(rounds, 2, |subject| {
        let crossing = if subject == 0 {
            mirror.read(&mut world, &crowd)
        } else {
            mirror.write_back(&mut world, &crowd)
        };
        crossed = crossing.crossed;
    });
    debug_assert_eq!(crossed, entities);
    let [read, write] = [times[0], times[1]].map(|ns| ns / entities as f64);
    Ok([("ecs", read + write), ("ecs read", read), ("ecs write back", write)]
        .map(|(name, ns_per_character)| StageTime { name, ns_per_character }))
}
