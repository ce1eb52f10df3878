//! Both crossings give what asking for each entity by itself gives, whatever the world looks like.
#![cfg(feature = "hecs")]

use proptest::prelude::*;
use throng::clip::Planar;
use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{Crowd, CrowdConfig, FlatGround, Frame, Handle, Play, Serial, Tier, WorldTransform};
use throng::lod::{Character, Crossing, Mirror, RootMotion};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

/// One entity of a world and the character that it stands for.
#[derive(Clone, Copy, Debug)]
struct Entity {
    /// Place in the order in which entities come into the world.
    rank: u64,
    rig: usize,
    tier: u8,
    kind: Kind,
    transform: bool,
    motion: bool,
    tag: u8,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Live,
    Despawned,
    /// Index of a live one, another generation.
    Misremembered,
    Foreign(u64),
    /// The first character's.
    Double,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Right,
    Far,
    NotANumber,
    Twisted,
}

fn entity() -> impl Strategy<Value = Entity> {
    let kind = prop_oneof![
        8 => Just(Kind::Live),
        1 => Just(Kind::Despawned),
        1 => Just(Kind::Misremembered),
        1 => any::<u64>().prop_map(Kind::Foreign),
        1 => (0..300u64).prop_map(Kind::Foreign),
        1 => Just(Kind::Double),
    ];
    let place = prop_oneof![
        12 => Just(Place::Right), 1 => Just(Place::Far), 1 => Just(Place::NotANumber), 1 => Just(Place::Twisted),
    ];
    let parts = (prop::bool::weighted(0.8), prop::bool::weighted(0.8));
    (any::<u64>(), 0..2usize, 0..4u8, kind, parts, 0..3u8, place).prop_map(
        |(rank, rig, tier, kind, (transform, motion), tag, place)| Entity {
            rank,
            rig,
            tier,
            kind,
            transform,
            motion,
            tag,
            place,
        },
    )
}

struct TagA;
struct TagB(#[allow(dead_code)] u64);

/// A crowd whose roots have moved, and the world of these entities.
fn build(entities: &[Entity], pack: bool) -> (Crowd, hecs::World) {
    let built = content::character(RigKind::Aligned, &BodyPlan::adult());
    let source = built.rig_source();
    let reference = built.reference();
    let from = BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    let rig = Rig::build(&source).unwrap();
    let walk = bind(from, &content::clip(ClipKind::Walk, &built), &rig).unwrap();
    let mut crowd = Crowd::new(CrowdConfig::default());
    let rigs = [crowd.add_rig(rig).unwrap(), crowd.add_rig(Rig::build(&source).unwrap()).unwrap()];
    let clip = crowd.add_clip(walk).unwrap();
    let handles: Vec<Handle> = (entities.iter().enumerate())
        .map(|(i, entity)| {
            let place = WorldTransform::standing(i as f32, 0.5 * i as f32, 0.1 * i as f32);
            let play = Play { time: 0.01 * i as f32, ..Play::new(clip) };
            let handle = crowd.spawn(rigs[entity.rig], 0, place, &[play]).unwrap();
            crowd.set_tier(handle, Tier::ALL[usize::from(entity.tier) % Tier::ALL.len()]).unwrap();
            handle
        })
        .collect();
    if pack {
        crowd.pack();
    }
    let ground = FlatGround::default();
    for _ in 0..2 {
        crowd.frame(Frame::new(1.0 / 30.0, &ground), &Serial).unwrap();
    }
    let mut world = hecs::World::new();
    let mut order: Vec<usize> = (0..entities.len()).collect();
    order.sort_by_key(|&i| entities[i].rank);
    for i in order {
        let Entity { kind, transform, motion, tag, place, .. } = entities[i];
        let handle = match kind {
            Kind::Live | Kind::Despawned => handles[i],
            Kind::Misremembered => Handle::from_bits(handles[i].to_bits() ^ 1 << 32),
            Kind::Foreign(bits) => Handle::from_bits(bits),
            Kind::Double => handles[0],
        };
        let mut own = WorldTransform::standing(-(i as f32), 3.0, 0.2 * i as f32);
        match place {
            Place::Right => {}
            Place::Far => own.position[i % 3] = -2e6,
            Place::NotANumber => own.position[i % 3] = f32::NAN,
            Place::Twisted => own.rotation[i % 4] += 0.7,
        }
        let mut builder = hecs::EntityBuilder::new();
        builder.add(Character(handle));
        if transform {
            builder.add(own);
        }
        if motion {
            builder.add(RootMotion(Planar { x: i as f32, z: -1.0, yaw: 9.0 }));
        }
        match tag {
            0 => {}
            1 => drop(builder.add(TagA)),
            _ => drop(builder.add(TagB(1))),
        }
        world.spawn(builder.build());
    }
    for (entity, &handle) in entities.iter().zip(&handles) {
        if entity.kind == Kind::Despawned {
            crowd.despawn(handle).unwrap();
        }
    }
    (crowd, world)
}

fn bits(transform: &WorldTransform) -> [u32; 7] {
    let ([x, y, z], [a, b, c, d]) = (transform.position, transform.rotation);
    [x, y, z, a, b, c, d].map(f32::to_bits)
}

/// Own idea of what a crowd takes, in double precision; none of the places here is near a limit.
fn sound(transform: &WorldTransform) -> bool {
    let n: f64 = transform.rotation.iter().map(|&c| f64::from(c) * f64::from(c)).sum();
    transform.position.iter().all(|p| p.abs() < 1e6) && (n - 1.0).abs() < 1e-2
}

fn reading_agrees(world: &mut hecs::World, crowd: &Crowd, mirror: &mut Mirror) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let mut parallel = Mirror::default();
    let in_parallel = pool.install(|| parallel.read_in_parallel(world, crowd));
    let crossing = mirror.read(world, crowd);
    assert_eq!(in_parallel, crossing);
    assert!(parallel.scene().handles == mirror.scene().handles);
    assert!(parallel.transforms().iter().map(bits).eq(mirror.transforms().iter().map(bits)));
    let mut brought: Vec<Vec<(Handle, WorldTransform)>> = vec![Vec::new(); crowd.index_end()];
    let mut expected = [0; 4];
    for (&Character(handle), &place) in world.query_mut::<(&Character, &WorldTransform)>() {
        if crowd.transform(handle).is_err() {
            expected[1] += 1;
            continue;
        }
        expected[if sound(&place) { 0 } else { 2 }] += 1;
        expected[3] += usize::from(!brought[handle.index()].is_empty());
        brought[handle.index()].push((handle, place));
    }
    let Crossing { crossed, stale, refused, doubled, .. } = crossing;
    assert_eq!([crossed, stale, refused, doubled], expected);
    let (transforms, handles) = (mirror.transforms(), mirror.scene().handles);
    assert_eq!((transforms.len(), handles.len()), (brought.len(), brought.len()));
    for (index, brought) in brought.iter().enumerate() {
        let (handle, own) = (handles[index], &transforms[index]);
        if brought.is_empty() {
            assert!(handle == Handle::NONE && !sound(own), "nobody brought {index}: {own:?}");
            continue;
        }
        let same = |(other, place): &(Handle, WorldTransform)| {
            *other == handle && if sound(place) { bits(place) == bits(own) } else { !sound(own) }
        };
        assert!(brought.iter().any(same), "{index} is none of {brought:?}: {own:?}");
    }
}

fn writing_agrees(world: &mut hecs::World, crowd: &Crowd, mirror: &mut Mirror) {
    let mut expected = Vec::new();
    let (mut crossed, mut gone) = (0, 0);
    for (entity, &Character(handle), transform, motion) in
        world.query_mut::<(hecs::Entity, &Character, Option<&WorldTransform>, Option<&RootMotion>)>()
    {
        let Ok(root) = crowd.transform(handle) else {
            gone += 1;
            expected.push((entity, transform.copied(), motion.copied()));
            continue;
        };
        crossed += 1;
        let moved = RootMotion(crowd.root_motion(handle).unwrap());
        expected.push((entity, transform.map(|_| root), motion.map(|_| moved)));
    }
    for threads in [1, 3] {
        // Each way has to do it all.
        for (_, &Character(handle), transform, motion) in world.query_mut::<(
            hecs::Entity,
            &Character,
            Option<&mut WorldTransform>,
            Option<&mut RootMotion>,
        )>() {
            if crowd.is_live(handle) {
                transform.into_iter().for_each(|own| own.position = [f32::NAN; 3]);
                motion.into_iter().for_each(|own| own.0.x = f32::NAN);
            }
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let crossing = match threads {
            1 => mirror.write_back(world, crowd),
            _ => pool.install(|| mirror.write_back_in_parallel(world, crowd)),
        };
        assert_eq!((crossing.crossed, crossing.stale), (crossed, gone));
        for (entity, transform, motion) in &expected {
            let own = world.get::<&WorldTransform>(*entity).ok().map(|own| bits(&own));
            assert_eq!(own, transform.as_ref().map(bits));
            let values = |RootMotion(Planar { x, z, yaw }): RootMotion| [x, z, yaw].map(f32::to_bits);
            assert_eq!(world.get::<&RootMotion>(*entity).ok().map(|own| values(*own)), motion.map(values));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn crossings_agree_with_asking_one_by_one(
        entities in prop::collection::vec(entity(), 1..180),
        pack: bool,
    ) {
        let (mut crowd, mut world) = build(&entities, pack);
        let mut mirror = Mirror::default();
        reading_agrees(&mut world, &crowd, &mut mirror);
        writing_agrees(&mut world, &crowd, &mut mirror);
        // Again, when the lists hold what was there and some are gone.
        let handles: Vec<Handle> = crowd.handles().step_by(3).collect();
        crowd.despawn_many(&handles);
        reading_agrees(&mut world, &crowd, &mut mirror);
        writing_agrees(&mut world, &crowd, &mut mirror);
    }
}

/// So many that archetypes take several turns, in the crowd's order and in none.
#[test]
fn archetypes_that_take_turns_and_threads_leave_nobody_out() {
    for shuffled in [false, true] {
        let entities: Vec<Entity> = (0..9_000u64)
            .map(|i| Entity {
                rank: if shuffled { i.wrapping_mul(0x9e37_79b9_7f4a_7c15) } else { i },
                rig: (i % 2) as usize,
                tier: (i / 5 % 4) as u8,
                kind: match i {
                    _ if i % 41 == 7 => Kind::Despawned,
                    _ if i % 97 == 5 => Kind::Misremembered,
                    _ if i % 113 == 11 => Kind::Foreign(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                    _ if i % 131 == 9 => Kind::Double,
                    _ => Kind::Live,
                },
                transform: i % 100 != 99,
                motion: i % 10 != 9,
                tag: if i % 7 == 3 { 1 } else { 0 },
                place: if i % 1000 == 500 { Place::NotANumber } else { Place::Right },
            })
            .collect();
        let (crowd, mut world) = build(&entities, true);
        let mut mirror = Mirror::default();
        reading_agrees(&mut world, &crowd, &mut mirror);
        writing_agrees(&mut world, &crowd, &mut mirror);
    }
}
