//! Poses of streams in a buffer and in 16 bits: the same characters as from slices, and nobody harmed by bad ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Ground, Handle, Probes, Rotations, Serial, SnormQuat, Stream,
    StreamBuffer, StreamId, StreamPose, StreamPoseMut, StreamPoses, StreamReport, StreamRoot, StreamRotation,
    TIERS, TierConfig, Visibility, WorldTransform,
};
use throng::lanes::{Isa, Mode, Row, Simd};
use throng::retarget::{BindSource, LiveMap, LiveMaps};
use throng::rig::Rig;

const DT: f32 = 1.0 / 60.0;
const FLOOR: FlatGround = FlatGround { height: 0.0 };

/// Followers of streams from two sources, of other joint counts each, on bodies of two rigs.
struct Cast {
    crowd: Crowd,
    handles: Vec<Handle>,
    maps: Vec<Arc<LiveMap>>,
    sources: [BuiltIn; 2],
}

impl Cast {
    fn new(simd: Simd, count: usize) -> Self {
        let sources = [RigKind::ALL[1], RigKind::ALL[2]].map(|k| content::character(k, &BodyPlan::adult()));
        let mut crowd = Crowd::new(CrowdConfig { simd, ..CrowdConfig::default() });
        let rigs = [(RigKind::ALL[0], BodyPlan::adult()), (RigKind::ALL[2], BodyPlan::child())]
            .map(|(kind, plan)| Rig::build(&content::character(kind, &plan).rig_source()).expect("a rig"));
        let ids = rigs.each_ref().map(|rig| crowd.add_rig(rig.clone()).expect("a rig"));
        let mut known = LiveMaps::default();
        let (mut handles, mut maps) = (Vec::new(), Vec::new());
        for at in 0..count {
            let (source, rig) = (&sources[at % 2], at / 2 % 2);
            let reference = source.reference();
            let source = BindSource {
                skeleton: &source.character.skeleton,
                roles: &source.roles,
                reference: &reference,
            };
            let map = known.get(source, &rigs[rig]).expect("a map");
            let place = WorldTransform::standing(at as f32, 0.0, 0.3 * at as f32);
            let handle = crowd.spawn(ids[rig], 0, place, &[]).expect("a character");
            let root = if at % 3 == 0 { StreamRoot::Travel } else { StreamRoot::InPose };
            let stream = Stream { id: StreamId(at as u32), map: Arc::clone(&map), root };
            crowd.set_stream(handle, &stream).expect("a stream");
            handles.push(handle);
            maps.push(map);
        }
        crowd.pack();
        Self { crowd, handles, maps, sources }
    }

    /// Rotations and place of each stream in a frame, all unlike each other.
    fn poses(&self, frame: usize) -> Vec<(Vec<[f32; 4]>, [f32; 3])> {
        let one = |at: usize| {
            let source = &self.sources[at % 2];
            let clip = content::clip(ClipKind::Walk, source);
            let skeleton = &source.character.skeleton;
            let locals = clip.sample(skeleton, (0.07 * at as f32 + DT * frame as f32) % clip.duration);
            let carrier = usize::from(self.maps[at].carrier());
            let place = skeleton.model_matrices(&locals)[carrier].w_axis.truncate().to_array();
            (locals.iter().map(|local| local.rotation.to_array()).collect(), place)
        };
        (0..self.handles.len()).map(one).collect()
    }

    fn joints(&self) -> Vec<usize> {
        self.maps.iter().map(|map| map.source_joints()).collect()
    }

    fn frame<'a>(&mut self, streams: impl Into<StreamPoses<'a>>) -> StreamReport {
        let frame = Frame { streams: streams.into(), ..Frame::new(DT, &FLOOR) };
        self.crowd.frame(frame, &Serial).expect("a frame");
        self.crowd.stream_report()
    }

    fn bytes(&self, at: usize) -> Vec<u8> {
        let (header, palette) = self.crowd.pose(self.handles[at]).expect("alive");
        let mut bytes = palette.to_vec();
        bytes.extend(header.rotation.iter().chain(&header.position).flat_map(|v| v.to_ne_bytes()));
        bytes
    }
}

fn write<'a, Q: StreamRotation>(
    buffer: &'a mut StreamBuffer<Q>,
    id: StreamId,
    rotations: &[Q],
    position: [f32; 3],
) -> StreamPoseMut<'a, Q> {
    let mut pose = buffer.pose_mut(id).expect("a stream");
    assert_eq!(pose.joints(), rotations.len());
    pose.set_rotations(rotations).expect("all joints");
    pose.set_position(position);
    pose
}

fn small(rotations: &[[f32; 4]]) -> Vec<SnormQuat> {
    rotations.iter().map(|&rotation| SnormQuat::new(rotation)).collect()
}

/// Slices that begin anywhere, against poses side by side in whichever lanes.
#[test]
fn a_buffer_gives_what_slices_give_to_the_bit() {
    const COUNT: usize = 39;
    for isa in Isa::available() {
        let simd = Simd::new(*isa, Mode::Fast);
        let mut casts = [0; 4].map(|_| Cast::new(simd, COUNT));
        let mut whole = StreamBuffer::<[f32; 4]>::new(&casts[0].joints()).expect("a buffer");
        let mut half = StreamBuffer::<SnormQuat>::new(&casts[0].joints()).expect("a buffer");
        for frame in 0..6 {
            let poses = casts[0].poses(frame);
            let contacts = |at: usize| (at % 4 == 1).then_some([0.25, 1.0]);
            let lost = |at: usize| (at + frame).is_multiple_of(13);
            let (mut array, mut halves) = (vec![[0.0f32; 4]], vec![SnormQuat::IDENTITY]);
            let mut first = Vec::new();
            for (at, (rotations, position)) in poses.iter().enumerate() {
                first.push(array.len());
                array.extend(rotations);
                halves.extend(small(rotations));
                let id = StreamId(at as u32);
                if lost(at) {
                    whole.clear(id);
                    half.clear(id);
                    continue;
                }
                let told = contacts(at).unwrap_or([f32::NAN; 2]);
                write(&mut whole, id, rotations, *position).set_contacts(told);
                write(&mut half, id, &small(rotations), *position).set_contacts(told);
            }
            let slices = |packed: bool| -> Vec<StreamPose<'_>> {
                let one = |(at, (rotations, position)): (usize, &(Vec<[f32; 4]>, [f32; 3]))| {
                    let run = first[at]..first[at] + rotations.len();
                    let rotations: Rotations<'_> = match (lost(at), packed) {
                        (true, _) => Rotations::default(),
                        (false, true) => (&halves[run]).into(),
                        (false, false) => (&array[run]).into(),
                    };
                    StreamPose { rotations, position: *position, contacts: contacts(at) }
                };
                poses.iter().enumerate().map(one).collect()
            };
            let reports = [
                casts[0].frame(&slices(false)),
                casts[1].frame(&whole),
                casts[2].frame(&slices(true)),
                casts[3].frame(&half),
            ];
            assert_eq!(reports[0].missing, (0..COUNT).filter(|&at| lost(at)).count() as u32);
            assert_eq!(reports[0].refused, 0);
            let seen = reports.map(|report| (report.followed, report.missing, report.refused));
            assert!(seen.iter().all(|&report| report == seen[0]));
            for at in 0..COUNT {
                assert!(casts[0].bytes(at) == casts[1].bytes(at), "{at} in single precision");
                assert!(casts[2].bytes(at) == casts[3].bytes(at), "{at} in 16 bits");
                assert!(frame > 0 || lost(at) || casts[0].bytes(at) != casts[2].bytes(at), "{at}: rounded");
            }
        }
    }
}

/// One frame may have both, also in one block and from one source.
#[test]
fn precisions_may_be_mixed() {
    let (mut mixed, mut whole, mut half) =
        (Cast::new(Simd::fastest(), 24), Cast::new(Simd::fastest(), 24), Cast::new(Simd::fastest(), 24));
    let poses = mixed.poses(0);
    let rounded: Vec<_> = poses.iter().map(|(rotations, _)| small(rotations)).collect();
    let in_16_bits = |at: usize| at % 5 < 2;
    let slices = |which: &dyn Fn(usize) -> bool| -> Vec<StreamPose<'_>> {
        (0..24)
            .map(|at| {
                let rotations =
                    if which(at) { Rotations::from(&rounded[at]) } else { Rotations::from(&poses[at].0) };
                StreamPose { rotations, position: poses[at].1, contacts: None }
            })
            .collect()
    };
    assert_eq!(mixed.frame(&slices(&in_16_bits)).followed, 24);
    whole.frame(&slices(&|_| false));
    half.frame(&slices(&|_| true));
    for at in 0..24 {
        let right = if in_16_bits(at) { &half } else { &whole };
        assert!(mixed.bytes(at) == right.bytes(at), "{at}");
    }
}

#[test]
fn strict_16_bits_are_the_same_on_every_instruction_set() {
    let run = |isa: Isa| {
        let mut cast = Cast::new(Simd::new(isa, Mode::Strict), 20);
        for frame in 0..3 {
            let poses = cast.poses(frame);
            let mut buffer = StreamBuffer::<SnormQuat>::new(&cast.joints()).expect("a buffer");
            for (at, (rotations, position)) in poses.iter().enumerate() {
                write(&mut buffer, StreamId(at as u32), &small(rotations), *position);
            }
            assert_eq!(cast.frame(&buffer).followed, 20);
        }
        (0..20).map(|at| cast.bytes(at)).collect::<Vec<_>>()
    };
    let widest = run(Isa::widest());
    for &isa in Isa::available() {
        assert!(run(isa) == widest, "{}", isa.name());
    }
}

/// No rotation, twice the length, a place that is none; a little off is made unit.
#[test]
fn bad_16_bit_poses_are_contained() {
    for isa in Isa::available() {
        let simd = Simd::new(*isa, Mode::Fast);
        let (mut good, mut bad) = (Cast::new(simd, 32), Cast::new(simd, 32));
        let mut buffers = [0; 2].map(|_| StreamBuffer::<SnormQuat>::new(&good.joints()).expect("a buffer"));
        for buffer in &mut buffers {
            for (at, (rotations, position)) in good.poses(0).iter().enumerate() {
                write(buffer, StreamId(at as u32), &small(rotations), *position);
            }
        }
        let [well, ill] = &mut buffers;
        ill.pose_mut(StreamId(25)).expect("a stream").set_position([0.0, f32::NAN, 0.0]);
        let mut spoil = |at: u32, joint: usize, rotation: [i16; 4]| {
            let mut pose = ill.pose_mut(StreamId(at)).expect("a stream");
            *pose.rotation_mut(joint).expect("a joint") = SnormQuat(rotation);
        };
        let hips = usize::from(good.maps[0].carrier());
        spoil(3, hips, [0; 4]);
        spoil(8, hips + 1, [i16::MIN; 4]);
        spoil(17, hips + 1, [i16::MAX; 4]);
        spoil(20, hips, [0, 0, 0, 32_600]);
        // Half as far off as is allowed.
        spoil(30, hips, [0, 0, 0, 32_730]);
        let mut pose = well.pose_mut(StreamId(30)).expect("a stream");
        *pose.rotation_mut(hips).expect("a joint") = SnormQuat::IDENTITY;
        assert_eq!(good.frame(&*well).followed, 32);
        let report = bad.frame(&*ill);
        assert_eq!((report.followed, report.missing, report.refused), (27, 0, 5));
        for at in (0..32).filter(|at| ![3, 8, 17, 20, 25, 30].contains(at)) {
            assert!(good.bytes(at) == bad.bytes(at), "{at} is another's neighbour");
        }
        let entries = |cast: &Cast| -> Vec<f32> {
            let (_, palette) = cast.crowd.pose(cast.handles[30]).expect("alive");
            bytemuck::pod_collect_to_vec(palette)
        };
        for (a, b) in entries(&good).into_iter().zip(entries(&bad)) {
            assert!((a - b).abs() < 1e-4, "made unit: {a} {b}");
        }
    }
}

#[test]
fn buffers_keep_what_is_written_while_they_grow() {
    let mut buffer = StreamBuffer::<[f32; 4]>::default();
    assert!(
        buffer.is_empty() && buffer.pose(StreamId(0)).is_none() && buffer.pose_mut(StreamId(0)).is_none()
    );
    for k in 0..3000u32 {
        let id = buffer.add(k as usize % 90).expect("room");
        assert_eq!(id, StreamId(k));
        let pose = buffer.pose(id).expect("a stream");
        assert!(!pose.arrived() && pose.contacts().iter().all(|contact| contact.is_nan()));
        assert_eq!((pose.joints(), pose.position()), (k as usize % 90, [0.0; 3]));
        assert!(pose.rotations().all(|rotation| rotation == [0.0, 0.0, 0.0, 1.0]));
        let mut pose = buffer.pose_mut(id).expect("a stream");
        assert_eq!((pose.joints(), pose.rotations_mut().len()), (k as usize % 90, k as usize % 90));
        assert!(pose.rotation_mut(k as usize % 90).is_none());
        pose.set_position([k as f32; 3]);
        pose.rotations_mut().for_each(|rotation| *rotation = [k as f32; 4]);
    }
    assert_eq!(buffer.len(), 3000);
    for k in 0..3000u32 {
        let pose = buffer.pose(StreamId(k)).expect("a stream");
        assert_eq!((pose.joints(), pose.position()), (k as usize % 90, [k as f32; 3]));
        assert!(pose.arrived() && pose.rotations().all(|rotation| rotation == [k as f32; 4]));
    }
    buffer.clear(StreamId(7));
    assert!(!buffer.pose(StreamId(7)).expect("a stream").arrived());
    buffer.clear(StreamId(3000));
    assert!(buffer.add(65_536).is_err() && StreamBuffer::<SnormQuat>::new(&[usize::MAX; 2]).is_err());
    assert!(buffer.add(65_535).is_ok());
}

/// Where poses lie changes nothing but what reading them costs: as they come, turned round, after characters have come,
/// gone and been packed, with a stream that several follow, one that nobody does and one that is not there.
#[test]
fn arranged_or_not_a_buffer_is_the_same() {
    const COUNT: usize = 75;
    for isa in Isa::available() {
        let simd = Simd::new(*isa, Mode::Fast);
        let mut casts = [0; 3].map(|_| Cast::new(simd, COUNT));
        for cast in &mut casts {
            for at in (0..COUNT).filter(|at| at % 7 == 3) {
                cast.crowd.despawn(cast.handles[at]).expect("alive");
            }
            cast.crowd.pack();
            // Two more follow the stream of the second of the same source and rig, one a stream that there is not.
            for (at, id) in [(9, 1), (13, 1), (20, 4000)] {
                let root = StreamRoot::InPose;
                let stream = Stream { id: StreamId(id), map: Arc::clone(&cast.maps[at]), root };
                cast.crowd.set_stream(cast.handles[at], &stream).expect("a stream");
            }
        }
        let joints = casts[0].joints();
        let mut whole = [0; 2].map(|_| StreamBuffer::<[f32; 4]>::new(&joints).expect("a buffer"));
        let mut half = [0; 2].map(|_| StreamBuffer::<SnormQuat>::new(&joints).expect("a buffer"));
        let gone = |at: usize| at % 7 == 3;
        for frame in 0..6 {
            if frame == 2 {
                casts[0].crowd.arrange_streams(&mut whole[1]).expect("room");
                casts[0].crowd.arrange_streams(&mut half[1]).expect("room");
                let mut ids = whole[1].in_order();
                assert_ne!(ids, whole[0].in_order());
                ids.sort();
                assert!(ids.iter().map(|id| id.0).eq(0..COUNT as u32));
                for id in ids {
                    let [a, b] = [&whole[0], &whole[1]].map(|buffer| buffer.pose(id).expect("a stream"));
                    assert!(a.rotations().eq(b.rotations()) && a.position() == b.position());
                    assert_eq!((a.arrived(), a.joints()), (b.arrived(), b.joints()));
                    let [a, b] = [&half[0], &half[1]].map(|buffer| buffer.pose(id).expect("a stream"));
                    assert!(
                        a.rotations().eq(b.rotations())
                            && a.contacts()[0].is_nan() == b.contacts()[0].is_nan()
                    );
                }
            }
            let poses = casts[0].poses(frame);
            for (at, (rotations, position)) in poses.iter().enumerate().filter(|(at, _)| at % 11 != 5) {
                let (id, small) = (StreamId(at as u32), small(rotations));
                for k in 0..2 {
                    write(&mut whole[k], id, rotations, *position);
                    write(&mut half[k], id, &small, *position);
                }
            }
            let slices: Vec<StreamPose<'_>> = poses
                .iter()
                .enumerate()
                .map(|(at, (rotations, position))| {
                    let rotations = if at % 11 == 5 { Rotations::default() } else { rotations.into() };
                    StreamPose { rotations, position: *position, contacts: None }
                })
                .collect();
            let reports = [casts[0].frame(&slices), casts[1].frame(&whole[0]), casts[2].frame(&whole[1])];
            let seen = reports.map(|report| (report.followed, report.missing, report.refused));
            assert!(seen.iter().all(|&report| report == seen[0]), "{seen:?}");
            assert!(reports[0].displaced == 0 && reports[1].displaced > 20);
            assert!(if frame < 2 { reports[2].displaced > 20 } else { reports[2].displaced == 2 });
            for at in (0..COUNT).filter(|&at| !gone(at)) {
                let right = casts[0].bytes(at);
                assert!(right == casts[1].bytes(at), "{at} as it came, frame {frame}");
                assert!(right == casts[2].bytes(at), "{at} arranged, frame {frame}");
            }
        }
        let mut casts = casts.into_iter().skip(1);
        let (mut a, mut b) = (casts.next().expect("a cast"), casts.next().expect("a cast"));
        assert_eq!(a.frame(&half[0]).followed, b.frame(&half[1]).followed);
        for at in (0..COUNT).filter(|&at| !gone(at)) {
            assert!(a.bytes(at) == b.bytes(at), "{at} in 16 bits");
        }
    }
}

/// Poses that change places while characters come, go, change streams and are packed: as slices, and in the end all in place.
#[test]
fn some_at_a_time_all_are_seated_and_nobody_sees_it() {
    const COUNT: usize = 90;
    let simd = Simd::fastest();
    let (mut sliced, mut cast) = (Cast::new(simd, COUNT), Cast::new(simd, COUNT));
    let mut buffer = StreamBuffer::<[f32; 4]>::new(&cast.joints()).expect("a buffer");
    let mut gone = [false; COUNT];
    for frame in 0..40 {
        for one in [&mut sliced, &mut cast] {
            if frame < 20 {
                // Somebody leaves; somebody else follows another's stream of the same source and rig.
                let (leaves, goes) = ((frame * 7 + 3) % COUNT, (frame * 11 + 1) % COUNT);
                if !gone[leaves] {
                    one.crowd.despawn(one.handles[leaves]).expect("alive");
                }
                if !gone[goes] && goes != leaves {
                    let (id, root) = (StreamId(((goes + 8) % COUNT) as u32), StreamRoot::InPose);
                    let map = Arc::clone(&one.maps[goes]);
                    one.crowd.set_stream(one.handles[goes], &Stream { id, map, root }).expect("a stream");
                }
                one.crowd.pack_some(3);
            }
        }
        if frame < 20 {
            gone[(frame * 7 + 3) % COUNT] = true;
        }
        let poses = cast.poses(frame);
        for (at, (rotations, position)) in poses.iter().enumerate() {
            write(&mut buffer, StreamId(at as u32), rotations, *position);
        }
        cast.crowd.arrange_some_streams(&mut buffer, if frame < 20 { 4 } else { 30 }).expect("room");
        if frame == 25 {
            let late = buffer.add(7).expect("room");
            assert!(!buffer.pose(late).expect("a stream").arrived(), "{late:?} sits on nobody's lap");
        }
        let slices: Vec<_> = poses
            .iter()
            .map(|(rotations, position)| StreamPose {
                rotations: rotations.into(),
                position: *position,
                contacts: None,
            })
            .collect();
        let (right, have) = (sliced.frame(&slices), cast.frame(&buffer));
        let seen = |report: StreamReport| (report.followed, report.missing, report.refused);
        assert_eq!(seen(have), seen(right));
        for at in (0..COUNT).filter(|&at| !gone[at]) {
            assert!(sliced.bytes(at) == cast.bytes(at), "{at} in frame {frame}");
        }
        for (at, (rotations, position)) in poses.iter().enumerate() {
            let pose = buffer.pose(StreamId(at as u32)).expect("a stream");
            assert!(pose.rotations().eq(rotations.iter().copied()) && pose.position() == *position);
        }
    }
    assert_eq!(cast.crowd.arrange_some_streams(&mut buffer, usize::MAX), Ok(0), "all are in place");
    // Two follow one here and there; one of them is displaced.
    let mut ids: Vec<u32> = (0..COUNT)
        .filter(|&at| !gone[at])
        .filter_map(|at| cast.crowd.stream(cast.handles[at]).expect("alive").map(|stream| stream.id.0))
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(cast.frame(&buffer).displaced as usize, all - ids.len());
}

/// Remembers whether it was asked for anything that is no place.
#[derive(Default)]
struct Watch(AtomicBool);

impl Watch {
    fn look<'a>(&self, rows: impl Iterator<Item = &'a Row>) {
        if rows.flat_map(|row| row.0).any(|value| !value.is_finite()) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

impl Ground for Watch {
    fn probe(&self, simd: Simd, probes: &mut Probes) {
        self.look(probes.x[..probes.count].iter().chain(&probes.z[..probes.count]));
        FLOOR.probe(simd, probes);
    }

    fn approach(&self, _: Simd, x: &Row, z: &Row) {
        self.look([x, z].into_iter());
    }
}

/// Of nobody whom the frame poses: lanes that are free, hidden or in another pass.
#[test]
fn no_ground_is_asked_for_poses_of_nobody() {
    for bad in [0usize, 15] {
        for (live, hidden) in [(15, false), (16, true), (16, false)] {
            for isa in Isa::available() {
                let source = content::character(RigKind::ALL[1], &BodyPlan::adult());
                let body = content::character(RigKind::ALL[0], &BodyPlan::adult());
                let rig = Rig::build(&body.rig_source()).expect("a rig");
                let (skeleton, reference) = (&source.character.skeleton, source.reference());
                let from = BindSource { skeleton, roles: &source.roles, reference: &reference };
                let map = LiveMaps::default().get(from, &rig).expect("a map");
                let simd = Simd::new(*isa, Mode::Fast);
                let mut crowd = Crowd::new(CrowdConfig { simd, ..CrowdConfig::default() });
                let id = crowd.add_rig(rig).expect("a rig");
                for at in 0..live {
                    let place = WorldTransform::standing(at as f32, 0.0, 0.0);
                    let handle = crowd.spawn(id, 0, place, &[]).expect("room");
                    let (map, root) = (Arc::clone(&map), StreamRoot::InPose);
                    crowd.set_stream(handle, &Stream { id: StreamId(at), map, root }).expect("a stream");
                }
                let rest: Vec<_> = skeleton.joints.iter().map(|j| j.rest.rotation.to_array()).collect();
                let ill = vec![[f32::NAN; 4]; rest.len()];
                let pose = |at: usize| if at == bad { &ill } else { &rest };
                let mut buffer = StreamBuffer::<[f32; 4]>::new(&[rest.len(); 16]).expect("a buffer");
                for at in 0..16 {
                    write(&mut buffer, StreamId(at as u32), pose(at), [0.0, 0.9, 0.0]);
                }
                let slices: Vec<_> = (0..16)
                    .map(|at| {
                        let position = [0.0, 0.9, 0.0];
                        StreamPose { rotations: pose(at).into(), position, contacts: None }
                    })
                    .collect();
                for streams in [StreamPoses::from(&buffer), StreamPoses::from(&slices)] {
                    let (watch, bits) = (Watch::default(), [!(1u64 << bad)]);
                    let visible = if hidden { Visibility::Bits(&bits) } else { Visibility::All };
                    for _ in 0..3 {
                        let frame = Frame { streams, visible, ..Frame::new(DT, &watch) };
                        crowd.frame(frame, &Serial).expect("a frame");
                    }
                    assert!(!watch.0.load(Ordering::Relaxed), "{bad} of {live}, hidden: {hidden}");
                }
            }
        }
    }
}

#[test]
fn a_pose_of_another_number_of_joints_is_refused_whole() {
    let mut buffer = StreamBuffer::<SnormQuat>::new(&[3]).expect("a buffer");
    let mut pose = buffer.pose_mut(StreamId(0)).expect("a stream");
    for count in [0, 2, 4] {
        assert!(pose.set_rotations(&vec![SnormQuat([1; 4]); count]).is_err());
    }
    assert!(buffer.pose(StreamId(0)).expect("a stream").rotations().all(|q| q == SnormQuat::IDENTITY));
}

/// A place that is right and a hand that is not, in frames in which nobody gets a pose.
#[test]
fn a_spoilt_pose_moves_no_root_in_frames_in_which_nobody_is_posed() {
    let go = |period: u8, spoilt: &[usize], seen: bool| -> Vec<[f32; 3]> {
        let tiers = [TierConfig { period, ..TierConfig::FULL }; TIERS];
        let mut crowd = Crowd::new(CrowdConfig { tiers, ..CrowdConfig::default() });
        let body = content::character(RigKind::Biped, &BodyPlan::adult());
        let rig = Rig::build(&body.rig_source()).expect("a rig");
        let reference = body.reference();
        let source =
            BindSource { skeleton: &body.character.skeleton, roles: &body.roles, reference: &reference };
        let map = LiveMaps::default().get(source, &rig).expect("a map");
        let id = crowd.add_rig(rig).expect("a rig");
        let who = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[]).expect("room");
        let carrier = usize::from(map.carrier());
        let stream = Stream { id: StreamId(0), map, root: StreamRoot::Travel };
        crowd.set_stream(who, &stream).expect("a stream");
        let clip = content::clip(ClipKind::Walk, &body);
        let skeleton = &body.character.skeleton;
        let mut way = Vec::new();
        for number in 0..60usize {
            let locals = clip.sample(skeleton, DT * number as f32 % clip.duration);
            let mut rotations: Vec<[f32; 4]> = locals.iter().map(|local| local.rotation.to_array()).collect();
            let mut position = skeleton.model_matrices(&locals)[carrier].w_axis.truncate().to_array();
            if spoilt.contains(&number) {
                position[0] += 50.0;
                rotations.iter_mut().rev().take(40).for_each(|rotation| *rotation = [f32::NAN; 4]);
            }
            let poses = [StreamPose { rotations: (&rotations).into(), position, contacts: None }];
            let visible = if seen { Visibility::All } else { Visibility::Bits(&[0]) };
            let frame = Frame { streams: (&poses).into(), visible, ..Frame::new(DT, &FLOOR) };
            crowd.frame(frame, &Serial).expect("a frame");
            way.push(crowd.transform(who).expect("alive").position);
        }
        way
    };
    for (period, spoilt, seen) in [
        (1, &[30][..], true),
        (8, &[29, 30, 31], true),
        (8, &[27, 28], true),
        (8, &[33, 34, 35], true),
        (1, &[30], false),
    ] {
        let (well, ill) = (go(period, &[], seen), go(period, spoilt, seen));
        let off = |a: &[f32; 3], b: &[f32; 3]| (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f32::max);
        let worst = well.iter().zip(&ill).map(|(a, b)| off(a, b)).fold(0.0f32, f32::max);
        assert!(worst < 0.2, "period {period}, seen {seen}: {worst} m");
        assert!(off(&well[59], &ill[59]) < 1e-4, "the next good one leads there");
    }
}

/// Judged by the definition: each component to the nearest step.
#[test]
fn who_was_reached_before_a_ground_panicked_is_counted_once() {
    struct Trap;
    impl Ground for Trap {
        fn probe(&self, _: Simd, _: &mut Probes) {
            panic!("a fault of the host");
        }
    }
    let mut cast = Cast::new(Simd::fastest(), 40);
    let mut buffer = StreamBuffer::new(&cast.joints()).expect("a buffer");
    for (at, (rotations, place)) in cast.poses(0).iter().enumerate() {
        write(&mut buffer, StreamId(at as u32), rotations, *place);
    }
    let all = cast.frame(&buffer);
    assert_eq!((all.followed, all.missing), (40, 0));
    for _ in 0..2 {
        let frame = Frame { streams: (&buffer).into(), ..Frame::new(DT, &Trap) };
        assert!(catch_unwind(AssertUnwindSafe(|| cast.crowd.frame(frame, &Serial))).is_err());
        let some = cast.crowd.stream_report().followed;
        assert!((1..40).contains(&some), "{some} of 40");
    }
    assert_eq!(cast.frame(&buffer), all);
}

#[test]
fn rotations_are_rounded_to_the_nearest() {
    let values = [0.0f32, 1.0, -1.0, 0.5, -0.25, 1e-5, -1.6e-5, 0.707_106_77, 2.0, -2.0];
    for &value in &values {
        let SnormQuat([x, ..]) = SnormQuat::new([value, 0.0, 0.0, 1.0]);
        let right = f64::from(value.clamp(-1.0, 1.0)) * 32767.0;
        assert!((f64::from(x) - right).abs() <= 0.5 + 1e-3, "{value}: {x}");
        assert!((f64::from(SnormQuat::new([value; 4]).to_array()[3]) * 32767.0 - f64::from(x)).abs() < 1e-2);
    }
    assert_eq!(SnormQuat::new([0.5, f32::NAN, 0.5, 1.0]), SnormQuat([0; 4]), "which is refused");
    assert_eq!(SnormQuat::default().to_array(), [0.0, 0.0, 0.0, 1.0]);
}
