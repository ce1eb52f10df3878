//! A hecs world beside a crowd: both crossings.
#![cfg(feature = "hecs")]

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{Crowd, CrowdConfig, FlatGround, Frame, Handle, Play, Roots, Serial, WorldTransform};
use throng::lod::{Character, Crossing, Hero, Importance, Mirror, RootMotion};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

struct Name(#[allow(dead_code)] String);

fn walkers(count: usize) -> (Crowd, Vec<Handle>, f32) {
    let built = content::character(RigKind::Aligned, &BodyPlan::adult());
    let rig = Rig::build(&built.rig_source()).unwrap();
    let reference = built.reference();
    let source =
        BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    let walk = bind(source, &content::clip(ClipKind::Walk, &built), &rig).unwrap();
    let mut crowd = Crowd::new(CrowdConfig::default());
    let id = crowd.add_rig(rig).unwrap();
    let clip = crowd.add_clip(walk).unwrap();
    let at = |i: usize| WorldTransform::standing(i as f32, 0.0, 0.0);
    let handles = (0..count).map(|i| crowd.spawn(id, 0, at(i), &[Play::new(clip)]).unwrap()).collect();
    crowd.pack();
    (crowd, handles, ClipKind::Walk.speed(&built) as f32)
}

fn counts(Crossing { crossed, stale, refused, doubled, .. }: Crossing) -> [usize; 4] {
    [crossed, stale, refused, doubled]
}

fn frame(crowd: &mut Crowd, roots: Roots<'_>) {
    let ground = FlatGround::default();
    crowd.frame(Frame { roots, ..Frame::new(1.0 / 30.0, &ground) }, &Serial).unwrap();
}

#[test]
fn the_world_places_the_characters_whatever_its_archetypes() {
    let (mut crowd, handles, _) = walkers(40);
    let mut world = hecs::World::new();
    let place = |handle: Handle| WorldTransform::standing(0.0, 5.0 + 3.0 * handle.index() as f32, 0.5);
    for &handle in handles.iter().rev() {
        // Two archetypes, neither in the crowd's order.
        if handle.index() % 3 == 0 {
            world.spawn((Name(format!("{handle:?}")), Character(handle), place(handle)));
        } else {
            world.spawn((place(handle), Character(handle)));
        }
    }
    let mut mirror = Mirror::default();
    let crossing = mirror.read(&mut world, &crowd);
    assert_eq!(counts(crossing), [40, 0, 0, 0]);
    frame(&mut crowd, Roots::Host(mirror.transforms()));
    for &handle in &handles {
        assert_eq!(crowd.transform(handle).unwrap(), place(handle));
        let (header, _) = crowd.pose(handle).unwrap();
        assert_eq!(header.position, place(handle).position);
    }
}

#[test]
fn root_motion_comes_back_on_request_and_the_host_can_apply_it() {
    let (mut crowd, handles, speed) = walkers(20);
    let mut world = hecs::World::new();
    let entities: Vec<_> = handles
        .iter()
        .map(|&handle| {
            world.spawn((Character(handle), crowd.transform(handle).unwrap(), RootMotion::default()))
        })
        .collect();
    let bystander = world.spawn((WorldTransform::IDENTITY, RootMotion::default()));
    let mut mirror = Mirror::default();
    for _ in 0..30 {
        mirror.read(&mut world, &crowd);
        crowd.put_roots(mirror.transforms());
        frame(&mut crowd, Roots::Host(&[]));
        // The host's roots do not move by themselves: writing back changes no transform here.
        let before: Vec<WorldTransform> =
            entities.iter().map(|&entity| *world.get::<&WorldTransform>(entity).unwrap()).collect();
        assert_eq!(mirror.write_back(&mut world, &crowd).crossed, 20);
        for (&entity, before) in entities.iter().zip(before) {
            assert_eq!(*world.get::<&WorldTransform>(entity).unwrap(), before);
        }
        for (transform, motion) in world.query_mut::<(&mut WorldTransform, &RootMotion)>() {
            transform.position[0] += motion.0.x;
            transform.position[2] += motion.0.z;
        }
    }
    for (i, &entity) in entities.iter().enumerate() {
        let [x, _, z] = world.get::<&WorldTransform>(entity).unwrap().position;
        assert!((z - speed).abs() < 0.01 * speed, "one second at {speed} m/s is {z} m");
        assert!((x - i as f32).abs() < 0.02);
    }
    assert_eq!(*world.get::<&WorldTransform>(bystander).unwrap(), WorldTransform::IDENTITY);
}

#[test]
fn clips_move_the_roots_and_the_world_hears_of_it() {
    let (mut crowd, handles, speed) = walkers(3);
    let mut world = hecs::World::new();
    let entity = world.spawn((Character(handles[1]), WorldTransform::IDENTITY));
    (0..60).for_each(|_| frame(&mut crowd, Roots::OnGround));
    assert_eq!(Mirror::default().write_back(&mut world, &crowd).crossed, 1);
    let root = *world.get::<&WorldTransform>(entity).unwrap();
    assert_eq!(root, crowd.transform(handles[1]).unwrap());
    assert!((root.position[2] - 2.0 * speed).abs() < 0.02 * speed);
}

#[test]
fn stale_characters_and_bad_transforms_are_counted_and_change_nothing() {
    let (mut crowd, handles, _) = walkers(4);
    let mut world = hecs::World::new();
    let mut bad = WorldTransform::standing(9.0, 9.0, 0.0);
    bad.position[1] = f32::NAN;
    let mut twisted = WorldTransform::IDENTITY;
    twisted.rotation = [0.0; 4];
    world.spawn((Character(handles[0]), bad));
    world.spawn((Character(handles[1]), twisted));
    world.spawn((Character(handles[2]), WorldTransform::IDENTITY));
    let gone = world.spawn((Character(handles[3]), WorldTransform::standing(7.0, 7.0, 0.0)));
    crowd.despawn(handles[3]).unwrap();
    let before = [0, 1].map(|i| crowd.transform(handles[i]).unwrap());
    let mut mirror = Mirror::default();
    let crossing = mirror.read(&mut world, &crowd);
    crowd.put_roots(mirror.transforms());
    assert_eq!(counts(crossing), [1, 1, 2, 0]);
    assert_eq!([0, 1].map(|i| crowd.transform(handles[i]).unwrap()), before);
    assert_eq!(counts(mirror.write_back(&mut world, &crowd)), [3, 1, 0, 0]);
    assert_eq!(world.get::<&WorldTransform>(gone).unwrap().position, [7.0, 0.0, 7.0]);
}

#[test]
fn a_character_of_two_entities_is_counted() {
    let (crowd, handles, _) = walkers(2);
    let mut world = hecs::World::new();
    world.spawn((Character(handles[1]), WorldTransform::IDENTITY));
    world.spawn((Name(String::new()), Character(handles[1]), WorldTransform::IDENTITY));
    world.spawn((Character(handles[0]), WorldTransform::IDENTITY));
    let mut mirror = Mirror::default();
    for _ in 0..2 {
        assert_eq!(counts(mirror.read(&mut world, &crowd)), [3, 0, 0, 1]);
    }
}

#[test]
fn heroes_and_importance_reach_the_policy_whatever_the_archetype() {
    let (crowd, handles, _) = walkers(70);
    let mut world = hecs::World::new();
    world.spawn((Character(handles[69]), Hero, Importance(2.5), WorldTransform::IDENTITY));
    world.spawn((Character(handles[3]), Importance(0.5)));
    world.spawn((Character(handles[4]), WorldTransform::IDENTITY));
    let mut mirror = Mirror::default();
    mirror.read(&mut world, &crowd);
    mirror.read_traits(&mut world, &crowd);
    let scene = mirror.scene();
    assert!(scene.is_hero(69) && !scene.is_hero(3) && !scene.is_hero(4));
    assert_eq!([3, 4, 69].map(|index| scene.importance[index]), [0.5, 1.0, 2.5]);
    assert_eq!(scene.handles[69], handles[69]);
    assert_eq!(scene.handles[3], Handle::NONE, "it has no place");
}
