//! The two crossings between a hecs world and a crowd, at a size that no cache holds.

use throng::content;
use throng::crowd::{Crowd, CrowdConfig, PaletteFormat, Tier, WorldTransform};
use throng::lanes::Simd;
use throng::lod::{Character, Hero, Importance, Mirror, RootMotion};
use throng::rig::Rig;
use throng::stress::StageTime;

use crate::measure::interleave;
use crate::report::{BenchError, in_pool};

/// Entities.
pub const ENTITIES: usize = 100_000;
/// Rigs that they are of.
const RIGS: usize = 8;

/// A tag that splits the world's archetypes.
struct Tagged;

/// How the order of a world's entities lies to the crowd's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As spawned, rigs in turn, four archetypes; sorted into blocks by rig. The published figure.
    Interleaved,
    /// As spawned, one rig and one archetype: entities are lanes in order.
    Straight,
    /// As [`Interleaved`](Self::Interleaved), after every character has changed its tier at random, without
    /// sorting again.
    Retired,
    /// None: every entity's character is any.
    Shuffled,
}

impl Order {
    /// All.
    pub const ALL: [Self; 4] = [Self::Interleaved, Self::Straight, Self::Retired, Self::Shuffled];

    fn name(self) -> &'static str {
        match self {
            Self::Interleaved => "ecs",
            Self::Straight => "ecs straight",
            Self::Retired => "ecs retired",
            Self::Shuffled => "ecs shuffled",
        }
    }
}

/// Both crossings of the published order and each of them on one thread, both on all threads; then both of every other order.
///
/// # Errors
/// As [`crossings`].
pub fn all(simd: Simd, entities: usize, rounds: usize) -> Result<Vec<StageTime>, BenchError> {
    let mut times = Vec::new();
    for order in Order::ALL {
        let Crossings { read, write, on_all } = crossings(simd, order, entities, rounds)?;
        let time = |name, ns_per_character| StageTime { name, ns_per_character };
        times.push(time(order.name(), read + write));
        if order == Order::Interleaved {
            times.extend([time("ecs read", read), time("ecs write back", write)]);
            times.push(time("ecs on all threads", on_all));
        }
    }
    Ok(times)
}

/// Nanoseconds per character.
#[derive(Clone, Copy, Debug)]
pub struct Crossings {
    /// All transforms into the mirror.
    pub read: f64,
    /// All roots into the world.
    pub write: f64,
    /// Both on as many threads as the machine has.
    pub on_all: f64,
}

/// Reading all transforms and writing all roots back.
///
/// # Errors
/// If a rig or a character is refused, or threads do not start.
pub fn crossings(simd: Simd, order: Order, entities: usize, rounds: usize) -> Result<Crossings, BenchError> {
    // The smallest output: it is not written here.
    let config = CrowdConfig { simd, format: PaletteFormat::Snorm16, ..CrowdConfig::default() };
    let mut crowd = Crowd::new(config);
    let mut rigs = Vec::new();
    for body in content::variants(1, if order == Order::Straight { 1 } else { RIGS }) {
        rigs.push(crowd.add_rig(Rig::build(&body.rig_source())?)?);
    }
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 32) as usize % below
    };
    let mut characters = Vec::with_capacity(entities);
    for at in 0..entities {
        let place = WorldTransform::standing((at % 317) as f32, (at / 317) as f32, at as f32);
        characters.push((Character(crowd.spawn(rigs[at % rigs.len()], 0, place, &[])?), place));
    }
    crowd.pack();
    match order {
        Order::Interleaved | Order::Straight => {}
        Order::Retired => {
            for (character, _) in &characters {
                crowd.set_tier(character.0, Tier::ALL[random(Tier::ALL.len())])?;
            }
        }
        Order::Shuffled => (1..entities).for_each(|at| characters.swap(at, random(at + 1))),
    }
    let mut world = hecs::World::new();
    for (at, &(character, place)) in characters.iter().enumerate() {
        match at % 7 {
            _ if order == Order::Straight => world.spawn((character, place, RootMotion::default())),
            0 => world.spawn((character, place, RootMotion::default(), Importance(2.0))),
            1 => world.spawn((character, place, RootMotion::default(), Tagged)),
            2 if at % 700 == 2 => world.spawn((character, place, RootMotion::default(), Hero)),
            _ => world.spawn((character, place, RootMotion::default())),
        };
    }
    let mut mirror = Mirror::default();
    let mut crossed = 0;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // One after the other: what threads write lies in their caches, where one thread would have to fetch it.
    let serial = interleave(rounds, 2, |subject| {
        let crossing = if subject == 0 {
            mirror.read(&mut world, &crowd)
        } else {
            mirror.write_back(&mut world, &crowd)
        };
        crossed = crossing.crossed;
    });
    let parallel = in_pool(threads, || {
        interleave(rounds, 2, |subject| {
            let crossing = if subject == 0 {
                mirror.read_in_parallel(&mut world, &crowd)
            } else {
                mirror.write_back_in_parallel(&mut world, &crowd)
            };
            crossed = crossed.min(crossing.crossed);
        })
    })?;
    debug_assert_eq!(crossed, entities);
    let per = 1.0 / entities as f64;
    let [read, write] = [serial[0] * per, serial[1] * per];
    Ok(Crossings { read, write, on_all: (parallel[0] + parallel[1]) * per })
}
