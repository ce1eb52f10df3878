//! Characters come and go: no slot is lost, nothing is allocated within what was reserved, blocks stay full, and handles
//! of those who are gone are refused.
#![allow(unsafe_code)] // A global allocator cannot be written without.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    ClipId, Crowd, CrowdConfig, FlatGround, Frame, Handle, Play, RigId, Serial, Spawn, WorldTransform,
};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);
// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A generator of its own, so that runs repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % count
    }
}

/// Twelve bodies of two topologies, two clips each.
fn bodies(crowd: &mut Crowd) -> Vec<(RigId, [ClipId; 2])> {
    let mut bodies = Vec::new();
    for kind in [RigKind::ALL[0], RigKind::ALL[1]] {
        for at in 0..6 {
            let plan = [BodyPlan::adult(), BodyPlan::child(), BodyPlan::tall()][at % 3];
            let built = content::character(kind, &plan);
            let rig = Rig::build(&built.rig_source()).expect("rig");
            let reference = built.reference();
            let source = BindSource {
                skeleton: &built.character.skeleton,
                roles: &built.roles,
                reference: &reference,
            };
            let id = crowd.add_rig(rig.clone()).expect("rig");
            let clips = [ClipKind::Walk, ClipKind::Run].map(|kind| {
                let bound = bind(source, &content::clip(kind, &built), &rig).expect("bound");
                crowd.add_clip(bound).expect("clip")
            });
            bodies.push((id, clips));
        }
    }
    bodies
}

const PEOPLE: usize = 2_000;

/// One test, because the counter is the process's.
#[test]
fn a_tenth_comes_and_goes_every_frame() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let bodies = bodies(&mut crowd);
    let mut random = Random(1);
    // Room for twice the mean of each body: numbers of each wander.
    for (rig, _) in &bodies {
        crowd.reserve(*rig, 0, 2 * PEOPLE / bodies.len()).expect("room");
    }
    let plays: Vec<[Play; 2]> = bodies
        .iter()
        .map(|(_, [walk, run])| [Play::new(*walk), Play { weight: 0.5, time: 0.2, ..Play::new(*run) }])
        .collect();
    let spawn = |random: &mut Random| {
        let body = random.below(bodies.len());
        Spawn {
            rig: bodies[body].0,
            skin: 0,
            transform: WorldTransform::standing(random.below(100) as f32, random.below(100) as f32, 0.3),
            clips: &plays[body][..1 + random.below(2)],
        }
    };
    let first: Vec<Spawn<'_>> = (0..PEOPLE).map(|_| spawn(&mut random)).collect();
    let mut handles = vec![Handle::NONE; PEOPLE];
    crowd.spawn_many(&first, &mut handles).expect("spawn");
    crowd.pack();
    let frame = |crowd: &mut Crowd| {
        crowd.frame(Frame::new(1.0 / 60.0, &FlatGround::default()), &Serial).expect("frame");
    };
    frame(&mut crowd);
    let many = PEOPLE / 10;
    let mut new = vec![Handle::NONE; many];
    let mut gone = Vec::with_capacity(many);
    let mut spawns = Vec::with_capacity(many);
    let (mut allocations, mut emptiest, mut moved) = (0, 1.0f32, 0);
    for round in 0..1000 {
        gone.clear();
        spawns.clear();
        for _ in 0..many {
            gone.push(handles.swap_remove(random.below(handles.len())));
            spawns.push(spawn(&mut random));
        }
        let before = COUNT.load(Ordering::SeqCst);
        assert_eq!(crowd.despawn_many(&gone), many);
        crowd.spawn_many(&spawns, &mut new).expect("spawn");
        moved += crowd.pack_some(64);
        // Poses are not what this is about: one round in ten is animated.
        if round % 10 == 0 {
            frame(&mut crowd);
        }
        allocations += COUNT.load(Ordering::SeqCst) - before;
        assert_eq!(crowd.despawn_many(&gone), 0, "who is gone stays gone");
        assert!(crowd.transform(gone[0]).is_err() && crowd.set_clips(gone[1], &[]).is_err());
        handles.extend(&new);
        assert_eq!(crowd.len(), PEOPLE);
        emptiest = emptiest.min(crowd.occupancy().occupancy);
    }
    println!("emptiest {emptiest}, {} moves a frame, {:?}", moved as f32 / 1e3, crowd.occupancy());
    assert_eq!(allocations, 0);
    assert!(emptiest > 0.85, "occupancy {emptiest}");
    // Every slot belongs to one character, and those of the gone are used again.
    let lines: HashSet<u32> = handles.iter().map(|&handle| crowd.slot_line(handle).expect("slot")).collect();
    assert_eq!(lines.len(), PEOPLE);
    let used: usize = handles.iter().map(|&handle| 1 + crowd.pose(handle).expect("pose").1.len() / 64).sum();
    assert!(crowd.output().len() * 10 < used * 13, "{} lines for {used}", crowd.output().len());
    frame(&mut crowd);
    for &handle in &handles {
        let (header, palette) = crowd.pose(handle).expect("pose");
        assert!(header.position.iter().all(|value| value.is_finite()));
        let values: &[f32] = bytemuck::cast_slice(palette);
        assert!(values.iter().all(|value| value.is_finite()) && values.iter().any(|value| *value != 0.0));
    }
}
