//! A frame allocates nothing once everything has been reserved: counted over a thousand frames.
#![allow(unsafe_code)] // A global allocator cannot be written without.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    BlockJob, ClipId, Crowd, CrowdConfig, Executor, FlatGround, Frame, Handle, Layer, Play, Serial,
    SnormQuat, Stream, StreamBuffer, StreamId, StreamPose, StreamPoses, StreamRoot, Tier, WorldTransform,
};
use throng::retarget::{BindSource, LiveMaps, bind};
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

/// Two rigs of one topology and one of another, four clips each, mixed blocks among them.
fn crowd() -> (Crowd, Vec<Handle>, Vec<Vec<ClipId>>) {
    let mut crowd = Crowd::new(CrowdConfig { interpolate: true, ..CrowdConfig::default() });
    let mut handles = Vec::new();
    let mut clips_of = Vec::new();
    for (kind, plan) in [
        (RigKind::ALL[0], BodyPlan::adult()),
        (RigKind::ALL[0], BodyPlan::child()),
        (RigKind::ALL[1], BodyPlan::tall()),
    ] {
        let built = content::character(kind, &plan);
        let rig = Rig::build(&built.rig_source()).expect("rig");
        let reference = built.reference();
        let source =
            BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
        let id = crowd.add_rig(rig.clone()).expect("rig");
        let clips: Vec<ClipId> = [ClipKind::Walk, ClipKind::Run, ClipKind::Idle, ClipKind::TurnLeft]
            .iter()
            .map(|&kind| {
                let bound = bind(source, &content::clip(kind, &built), &rig).expect("bound");
                crowd.add_clip(bound).expect("clip")
            })
            .collect();
        for at in 0..27 {
            let plays = [
                Play { time: 0.1 * at as f32, ..Play::new(clips[at % 4]) },
                Play { weight: 0.4, ..Play::new(clips[(at + 1) % 4]) },
            ];
            let place = WorldTransform::standing(at as f32, 0.0, 0.1 * at as f32);
            handles.push(crowd.spawn(id, 0, place, &plays).expect("spawn"));
            clips_of.push(clips.clone());
        }
    }
    crowd.pack();
    // In every tier there is room for all of them.
    for rig in crowd.rigs() {
        crowd.reserve(rig, 0, 27).expect("room");
    }
    crowd.reserve_layers(handles.len());
    (crowd, handles, clips_of)
}

/// One pose of another rig, and for each character the stream that leads from there; all follow it.
fn streams(crowd: &mut Crowd, handles: &[Handle]) -> (Vec<Stream>, Vec<[f32; 4]>, [f32; 3]) {
    let source = content::character(RigKind::ALL[2], &BodyPlan::adult());
    let (skeleton, reference) = (&source.character.skeleton, source.reference());
    let from = BindSource { skeleton, roles: &source.roles, reference: &reference };
    let mut maps = LiveMaps::default();
    let mut streams = Vec::new();
    for (at, &handle) in handles.iter().enumerate() {
        let (rig, _) = crowd.body(handle).expect("alive");
        let map = maps.get(from, crowd.rig(rig)).expect("map");
        let root = if at % 2 == 0 { StreamRoot::InPose } else { StreamRoot::Travel };
        let stream = Stream { id: StreamId(0), map, root };
        crowd.set_stream(handle, &stream).expect("stream");
        streams.push(stream);
    }
    let locals = content::clip(ClipKind::Walk, &source).sample(skeleton, 0.2);
    let place = skeleton.model_matrices(&locals)[usize::from(streams[0].map.carrier())].w_axis.truncate();
    (streams, locals.iter().map(|local| local.rotation.to_array()).collect(), place.to_array())
}

/// Frames with a clip change and a steered character in each; gives the allocations of all but the first ten.
fn run(executor: &dyn Executor) -> u64 {
    let (mut crowd, handles, clips) = crowd();
    let mut dirty = Vec::new();
    let (streams, poses, place) = streams(&mut crowd, &handles);
    let mut buffer = StreamBuffer::<SnormQuat>::new(&[poses.len()]).expect("a buffer");
    let slices = [StreamPose { rotations: (&poses).into(), position: place, contacts: None }];
    let mut before = 0;
    for frame in 0..1010 {
        if frame == 10 {
            before = COUNT.load(Ordering::SeqCst);
        }
        let at = frame % handles.len();
        let plays: [Play; 4] = [0, 1, 2, 3]
            .map(|k| Play { weight: 0.1 + (frame % 7) as f32, ..Play::new(clips[at][(k + frame) % 4]) });
        crowd.set_clips(handles[at], &plays[..1 + frame % 4]).expect("clips");
        let over = |clip: usize| Layer { weight: 0.5, fade: 0.1, ..Layer::new(clips[at][clip]) };
        crowd.set_layers(handles[at], &[over(frame % 4), over(0)][..frame % 3]).expect("layers");
        if frame % 3 > 0 {
            crowd.fade_layer(handles[at], 0, 0.0, 0.2).expect("a layer");
        }
        let other = handles[(7 * frame) % handles.len()];
        crowd.teleport(other, WorldTransform::standing(frame as f32 * 0.01, 1.0, 0.0)).expect("teleport");
        // Nobody's tier, clips or stream stay for long.
        crowd.set_tier(handles[(3 * frame) % handles.len()], Tier::ALL[frame % 4]).expect("alive");
        crowd.pack_some(2);
        crowd
            .set_stream(handles[(at + 40) % handles.len()], &streams[(at + 40) % handles.len()])
            .expect("stream");
        let ground = FlatGround::default();
        let mut pose = buffer.pose_mut(StreamId(0)).expect("a stream");
        pose.rotations_mut().zip(&poses).for_each(|(to, &from)| *to = SnormQuat::new(from));
        pose.set_position(place);
        let streams = match frame % 11 {
            0 => StreamPoses::NONE,
            1..6 => (&slices).into(),
            _ => (&buffer).into(),
        };
        let frame = Frame { streams, ..Frame::new(1.0 / 60.0, &ground) };
        crowd.frame(frame, executor).expect("frame");
        crowd.dirty_ranges(&mut dirty);
    }
    COUNT.load(Ordering::SeqCst) - before
}

/// One test, because the counter is the process's, and the harness allocates where tests end.
#[test]
fn a_thousand_frames_allocate_nothing() {
    assert_eq!(run(&Serial), 0, "serial");
    assert_eq!(on_threads_of_a_host(), 0, "on a host's threads");
    #[cfg(feature = "rayon")]
    {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
        assert_eq!(pool.install(|| run(&throng::crowd::Rayon)), 0, "inside a rayon pool");
    }
}

/// A host's workers, started once, waiting at a barrier; jobs are dealt out by index.
mod host {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicUsize;

    pub struct Host {
        pub shared: &'static Shared,
    }

    pub struct Shared {
        pub start: Barrier,
        pub done: Barrier,
        pub next: AtomicUsize,
        pub jobs: Mutex<Option<(usize, usize)>>,
    }

    impl Executor for Host {
        fn workers(&self) -> usize {
            2
        }
        fn run(&self, jobs: &mut [BlockJob<'_>]) {
            *self.shared.jobs.lock().expect("no panics") = Some((jobs.as_mut_ptr() as usize, jobs.len()));
            self.shared.next.store(0, Ordering::SeqCst);
            self.shared.start.wait();
            self.shared.work();
            self.shared.done.wait();
        }
    }

    impl Shared {
        pub fn work(&self) {
            let Some((jobs, count)) = *self.jobs.lock().expect("no panics") else { return };
            loop {
                let at = self.next.fetch_add(1, Ordering::SeqCst);
                if at >= count {
                    return;
                }
                // SAFETY: the slice is borrowed by `run` until all have passed the second barrier, and every index
                // is drawn once.
                let job = unsafe { &mut *(jobs as *mut BlockJob<'_>).add(at) };
                job.run();
            }
        }
    }
}

fn on_threads_of_a_host() -> u64 {
    let shared: &'static host::Shared = Box::leak(Box::new(host::Shared {
        start: std::sync::Barrier::new(2),
        done: std::sync::Barrier::new(2),
        next: 0.into(),
        jobs: Mutex::new(None),
    }));
    let stop: &'static AtomicU64 = Box::leak(Box::default());
    let worker = std::thread::spawn(move || {
        loop {
            shared.start.wait();
            if stop.load(Ordering::SeqCst) == 1 {
                return;
            }
            shared.work();
            shared.done.wait();
        }
    });
    let count = run(&host::Host { shared });
    stop.store(1, Ordering::SeqCst);
    shared.start.wait();
    worker.join().expect("the worker ends");
    count
}
