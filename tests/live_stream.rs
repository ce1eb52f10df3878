//! Characters that streams drive, judged from outside: by palettes, against double precision by definition.

mod reference;

use std::f64::consts::{FRAC_PI_2, FRAC_PI_6};
use std::sync::Arc;

use glam::{DMat4, DQuat, DVec3, Vec3};
use reference::palette::decode;
use reference::random::Rng;
use reference::terrain::Terrain;
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Handle, PaletteFormat, Play, Rayon, Roots, Serial, Stream,
    StreamId, StreamPose, StreamRoot, WorldTransform,
};
use throng::lanes::{Isa, Mode, Simd};
use throng::retarget::{BindSource, LiveMap, LiveMaps, bind};
use throng::rig::{
    NO_PARENT, RawCharacter, RawJoint, RawSkeleton, ReferencePose, Rig, RigSource, Role, RoleMap, Transform,
};

const DT: f32 = 1.0 / 60.0;

/// A frame without ground.
fn air<'a>(streams: &'a [StreamPose<'a>]) -> Frame<'a> {
    Frame { roots: Roots::Free, streams: streams.into(), ..Frame::new(DT, &Terrain::Nothing) }
}
const FLOOR: FlatGround = FlatGround { height: 0.0 };

struct Body {
    character: RawCharacter,
    roles: RoleMap,
    reference: ReferencePose,
    rig: Rig,
    /// Of built-in bodies.
    built: Option<BuiltIn>,
}

impl Body {
    fn of(kind: RigKind, plan: &BodyPlan) -> Self {
        let built = content::character(kind, plan);
        let rig = Rig::build(&built.rig_source()).expect("rig");
        Self {
            character: built.character.clone(),
            roles: built.roles.clone(),
            reference: built.reference(),
            rig,
            built: Some(built),
        }
    }
    fn raw(character: RawCharacter) -> Self {
        let reference = ReferencePose::rest(&character.skeleton);
        let roles = RoleMap::new();
        let source = RigSource {
            character: &character,
            roles: &roles,
            reference: reference.clone(),
            soles: [None; 2],
        };
        let rig = Rig::build(&source).expect("rig");
        Self { character, roles, reference, rig, built: None }
    }
    fn source(&self) -> BindSource<'_> {
        BindSource { skeleton: &self.character.skeleton, roles: &self.roles, reference: &self.reference }
    }
    fn map_to(&self, target: &Self) -> Arc<LiveMap> {
        LiveMaps::default().get(self.source(), &target.rig).expect("map")
    }
    fn parent(&self, joint: usize) -> Option<usize> {
        self.character.skeleton.joints[joint].parent.map(usize::from)
    }
    /// Native local rotations of the reference pose, each turned further by up to `most` radians.
    fn pose(&self, rng: &mut Rng, most: f64) -> Vec<[f32; 4]> {
        (0..self.character.skeleton.joints.len())
            .map(|joint| {
                let above = self.parent(joint).map_or(DQuat::IDENTITY, |p| self.reference.rotation(p));
                let turn = DQuat::from_axis_angle(rng.direction(), rng.range(-most, most));
                (above.inverse() * self.reference.rotation(joint) * turn).normalize().as_quat().to_array()
            })
            .collect()
    }
    /// Model rotation of every joint since the reference, from native locals.
    fn since_reference(&self, pose: &[[f32; 4]]) -> Vec<DQuat> {
        let mut model: Vec<DQuat> = Vec::new();
        for (joint, &local) in pose.iter().enumerate() {
            let above = self.parent(joint).map_or(DQuat::IDENTITY, |parent| model[parent]);
            model.push((above * DQuat::from_array(local.map(f64::from))).normalize());
        }
        model.iter().enumerate().map(|(joint, q)| *q * self.reference.rotation(joint).inverse()).collect()
    }
    fn hips(&self) -> [f32; 3] {
        let joint = self.roles.joint(Role::Hips).map_or(0, usize::from);
        self.reference.position(joint).as_vec3().to_array()
    }
}

fn bodies() -> Vec<Body> {
    let plans = [BodyPlan::adult(), BodyPlan::tall(), BodyPlan::child(), BodyPlan::stocky()];
    RigKind::ALL.into_iter().zip(&plans).map(|(kind, plan)| Body::of(kind, plan)).collect()
}

fn crowd(simd: Simd) -> Crowd {
    Crowd::new(CrowdConfig { simd, format: PaletteFormat::Mat3x4, ..CrowdConfig::default() })
}

fn follow(crowd: &mut Crowd, handle: Handle, id: u32, map: &Arc<LiveMap>, root: StreamRoot) {
    crowd.set_stream(handle, &Stream { id: StreamId(id), map: Arc::clone(map), root }).expect("stream");
}

/// Model matrix of every joint of the topology that the skin has, out of a palette.
fn models(crowd: &Crowd, handle: Handle, body: &Body) -> Vec<Option<DMat4>> {
    let (_, palette) = crowd.pose(handle).expect("alive");
    let mut models = vec![None; body.rig.topology().len()];
    let skins = &body.character.skins;
    let joints: Vec<(u16, DMat4)> = match skins.first() {
        Some(skin) => {
            skin.joints.iter().zip(&skin.inverse_binds).map(|(&j, m)| (j, m.as_dmat4().inverse())).collect()
        }
        None => {
            let own = |joint: &u16| (*joint, body.reference.models[usize::from(*joint)]);
            body.rig.order().iter().map(own).collect()
        }
    };
    for (entry, (joint, bind)) in joints.into_iter().enumerate() {
        let at = body.rig.order().iter().position(|&own| own == joint).expect("a joint of the rig");
        models[at] = Some(decode(PaletteFormat::Mat3x4, palette, entry, 1.0) * bind);
    }
    models
}

/// Angle between two rotations, from the vector part of their difference.
fn apart(a: DQuat, b: DQuat) -> f64 {
    let d = a.normalize().inverse() * b.normalize();
    2.0 * d.xyz().length().atan2(d.w.abs())
}

/// Rotation of each target joint since its reference by definition: that of the source joint of its role; along spines and
/// necks of other joint counts between two, by share of the length; that of the namesake where there is no role, else that of the parent.
fn by_definition(source: &Body, target: &Body, pose: &[[f32; 4]]) -> Vec<DQuat> {
    let of = source.since_reference(pose);
    let topology = target.rig.topology();
    let mut out = vec![DQuat::IDENTITY; topology.len()];
    let role_of = |joint: usize| target.roles.role(target.rig.order()[joint]);
    let chain = |body: &Body, role: fn(u8) -> Role| -> Vec<usize> {
        (0..9).map_while(|i| body.roles.joint(role(i))).map(usize::from).collect()
    };
    let shares = |points: Vec<DVec3>| -> Vec<f64> {
        let lengths: Vec<f64> = points.windows(2).map(|p| p[0].distance(p[1])).collect();
        let total: f64 = lengths.iter().sum();
        lengths
            .iter()
            .scan(0.0, |sum, l| {
                *sum += l / total;
                Some(*sum)
            })
            .collect()
    };
    let hips = |body: &Body| usize::from(body.roles.joint(Role::Hips).expect("hips"));
    for joint in 0..topology.len() {
        let parent = topology.parents()[joint];
        let above = if parent == NO_PARENT { DQuat::IDENTITY } else { out[usize::from(parent)] };
        let Some(role) = role_of(joint) else {
            let name = &target.character.skeleton.joints[usize::from(target.rig.order()[joint])].name;
            let namesake =
                source.character.skeleton.find(name).filter(|&own| source.roles.role(own).is_none());
            let still = joint < usize::from(topology.pelvis());
            out[joint] = namesake.filter(|_| !still).map_or(above, |own| of[usize::from(own)]);
            continue;
        };
        let resampled = match role {
            Role::Spine(i) => Some((i, Role::Spine as fn(u8) -> Role, hips(source), hips(target))),
            Role::Neck(i) => {
                let last = |body: &Body| chain(body, Role::Spine).last().copied().unwrap_or(hips(body));
                Some((i, Role::Neck as fn(u8) -> Role, last(source), last(target)))
            }
            _ => None,
        };
        out[joint] = match resampled {
            Some((i, role, base, own_base)) if chain(source, role).len() != chain(target, role).len() => {
                let (theirs, ours) = (chain(source, role), chain(target, role));
                let place = |body: &Body, joint: usize| body.reference.position(joint);
                let points = |body: &Body, base: usize, chain: &[usize]| {
                    shares([base].iter().chain(chain).map(|&joint| place(body, joint)).collect())
                };
                let at = points(target, own_base, &ours)[usize::from(i)];
                let ends = points(source, base, &theirs);
                let right = ends.iter().position(|&end| end >= at - 1e-9).expect("within");
                let (from, start) =
                    if right == 0 { (base, 0.0) } else { (theirs[right - 1], ends[right - 1]) };
                let (a, b) = (of[from], of[theirs[right]]);
                let turn = a.inverse() * b;
                let turn = if turn.w < 0.0 { -turn } else { turn };
                let u = (at - start) / (ends[right] - start);
                a * DQuat::from_scaled_axis(turn.to_scaled_axis() * u)
            }
            _ => source.roles.joint(role).map_or(above, |joint| of[usize::from(joint)]),
        };
    }
    out
}

#[test]
fn a_character_turns_as_its_source_does() {
    let bodies = bodies();
    let mut rng = Rng::new(7);
    let mut judged = 0;
    for source in &bodies {
        for target in &bodies {
            let map = source.map_to(target);
            for &isa in Isa::available() {
                let mut crowd = crowd(Simd::new(isa, Mode::Fast));
                let id = crowd.add_rig(target.rig.clone()).expect("rig");
                let poses: Vec<_> = (0..19).map(|k| source.pose(&mut rng, 0.06 * f64::from(k))).collect();
                let handles: Vec<Handle> = (0..19)
                    .map(|k| {
                        let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[]).expect("spawn");
                        follow(&mut crowd, handle, k, &map, StreamRoot::InPose);
                        handle
                    })
                    .collect();
                let moved = Vec3::new(0.3, -0.1, 0.2);
                let position = (Vec3::from(source.hips()) + moved).to_array();
                let streams: Vec<_> = poses
                    .iter()
                    .map(|pose| StreamPose { rotations: pose.into(), position, contacts: Some([0.0; 2]) })
                    .collect();
                crowd.frame(air(&streams), &Serial).expect("frame");
                let report = crowd.stream_report();
                assert_eq!([report.followed, report.missing, report.refused], [19, 0, 0]);
                let scale = f64::from(target.rig.leg()) / f64::from(source.rig.leg());
                for (handle, pose) in handles.iter().zip(&poses) {
                    let right = by_definition(source, target, pose);
                    let have = models(&crowd, *handle, target);
                    for (joint, (have, right)) in have.iter().zip(&right).enumerate() {
                        let Some(have) = have else { continue };
                        let have = DQuat::from_mat4(have);
                        let off = apart(have, *right * target.rig.rotations()[joint]);
                        let key = &target.rig.topology().keys()[joint];
                        assert!(off < 1e-5, "{} {key:?} of {}: {off:e}", isa.name(), source.character.name);
                        judged += 1;
                    }
                    let pelvis = usize::from(target.rig.topology().pelvis());
                    if let Some(at) = have[pelvis] {
                        let wants = target.rig.positions()[pelvis] + moved.as_dvec3() * scale;
                        assert!(at.w_axis.truncate().distance(wants) < 1e-5);
                    }
                }
            }
        }
    }
    assert!(judged > 20_000, "{judged}");
}

/// Root, side, bone and tip; the bone's axes in the model are `axes`, those of the tip that it carries `tip`.
fn bone(axes: DQuat, tip: DQuat) -> Body {
    let joint = |name: &str, parent, translation: Vec3, rotation: DQuat| RawJoint {
        name: name.into(),
        parent,
        rest: Transform::rigid(translation, rotation.as_quat()),
    };
    let joints = vec![
        joint("root", None, Vec3::Y, DQuat::IDENTITY),
        joint("side", Some(0), Vec3::X, DQuat::IDENTITY),
        joint("bone", Some(0), Vec3::Y, axes),
        joint("socket", Some(2), Vec3::Y, tip),
    ];
    Body::raw(RawCharacter {
        name: "bone".into(),
        skeleton: RawSkeleton { joints },
        ..RawCharacter::default()
    })
}

/// cases.md C32 and C36.
#[test]
fn rest_axes_may_differ_and_unmapped_joints_keep_their_rest() {
    let (s, t) = (DQuat::from_rotation_z(FRAC_PI_2), DQuat::from_rotation_x(-FRAC_PI_2));
    let socket = DQuat::from_rotation_y(0.7) * DQuat::from_rotation_x(0.3);
    let (mut source, target) = (bone(s, DQuat::IDENTITY), bone(t, socket));
    source.character.skeleton.joints[3].name = "another".into();
    let map = source.map_to(&target);
    let animated = DQuat::from_rotation_y(FRAC_PI_6) * s;
    let ticked = DQuat::from_xyzw(0.183013, 0.183013, 0.683013, 0.683013).normalize();
    assert!(apart(animated, ticked) < 2e-6);
    let mut pose = vec![[0.0, 0.0, 0.0, 1.0]; 4];
    pose[2] = animated.as_quat().to_array();
    let mut crowd = crowd(Simd::fastest());
    let id = crowd.add_rig(target.rig.clone()).expect("rig");
    let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[]).expect("spawn");
    follow(&mut crowd, handle, 0, &map, StreamRoot::InPose);
    let position = source.reference.position(usize::from(map.carrier())).as_vec3().to_array();
    let streams = [StreamPose { rotations: (&pose).into(), position, contacts: None }];
    crowd.frame(air(&streams), &Serial).expect("frame");
    let have = models(&crowd, handle, &target);
    let at = |joint: u16| target.rig.order().iter().position(|&own| own == joint).expect("joint");
    let turn = DQuat::from_mat4(&have[at(2)].expect("in the skin"));
    let right = DQuat::from_xyzw(-0.683013, 0.183013, 0.183013, 0.683013).normalize();
    assert!(apart(turn, right) < 2e-6, "{turn}");
    let tip = DQuat::from_mat4(&have[at(3)].expect("in the skin"));
    assert!(apart(turn.inverse() * tip, socket) < 1e-6);
}

/// Two rigs of one topology and one of another; clips for those without a stream.
struct Cast {
    crowd: Crowd,
    handles: Vec<Handle>,
    poses: Vec<Vec<[f32; 4]>>,
    positions: Vec<[f32; 3]>,
}

/// Bytes of the root behind the palette.
const ROOT: usize = 28;

impl Cast {
    /// Every third plays a clip, the others follow streams of two sources; `only`: who comes at all.
    fn new(simd: Simd, only: &dyn Fn(usize) -> bool, backwards: bool) -> Self {
        let sources =
            [Body::of(RigKind::ALL[1], &BodyPlan::adult()), Body::of(RigKind::ALL[2], &BodyPlan::tall())];
        let plans = [BodyPlan::adult(), BodyPlan::child()];
        let bodies = plans.map(|plan| Body::of(RigKind::ALL[0], &plan));
        let mut crowd = crowd(simd);
        let rigs = bodies.each_ref().map(|body| crowd.add_rig(body.rig.clone()).expect("rig"));
        let built = bodies[0].built.as_ref().expect("built in");
        let walk =
            bind(bodies[0].source(), &content::clip(ClipKind::Walk, built), &bodies[0].rig).expect("bound");
        let walk = crowd.add_clip(walk).expect("clip");
        let mut maps = LiveMaps::default();
        let mut rng = Rng::new(3);
        let (mut poses, mut positions) = (Vec::new(), Vec::new());
        let count = 40;
        for k in 0..count {
            let source = &sources[k % 2];
            poses.push(source.pose(&mut rng, 0.4));
            positions.push(source.hips());
        }
        let mut handles = vec![None; count];
        let order: Vec<usize> = if backwards { (0..count).rev().collect() } else { (0..count).collect() };
        for k in order.into_iter().filter(|&k| only(k)) {
            let body = usize::from(k % 5 == 0);
            let place = WorldTransform::standing(k as f32, 0.0, 0.2 * k as f32);
            let play = Play { time: 0.02 * k as f32, ..Play::new(walk) };
            let handle = crowd.spawn(rigs[body], 0, place, &[play]).expect("spawn");
            if k % 3 != 0 {
                let map = maps.get(sources[k % 2].source(), &bodies[body].rig).expect("map");
                follow(&mut crowd, handle, k as u32, &map, StreamRoot::InPose);
            }
            handles[k] = Some(handle);
        }
        crowd.pack();
        let handles = handles.into_iter().flatten().collect();
        Self { crowd, handles, poses, positions }
    }
    fn frame(&mut self, threads: bool) {
        let streams = streams(&self.poses, &self.positions);
        let frame = Frame { streams: (&streams).into(), ..Frame::new(DT, &FLOOR) };
        let done = if threads { self.crowd.frame(frame, &Rayon) } else { self.crowd.frame(frame, &Serial) };
        done.expect("frame");
    }
    fn bytes(&self, at: usize) -> Vec<u8> {
        let (header, palette) = self.crowd.pose(self.handles[at]).expect("alive");
        let mut bytes = palette.to_vec();
        bytes.extend(header.rotation.iter().chain(&header.position).flat_map(|v| v.to_ne_bytes()));
        bytes
    }
}

fn streams<'a>(poses: &'a [Vec<[f32; 4]>], positions: &[[f32; 3]]) -> Vec<StreamPose<'a>> {
    let one = |(pose, &position): (&'a Vec<[f32; 4]>, &[f32; 3])| StreamPose {
        rotations: pose.into(),
        position,
        contacts: None,
    };
    poses.iter().zip(positions).map(one).collect()
}

/// cases.md C41: two instances of one asset do not disturb each other.
#[test]
fn who_stands_beside_changes_no_bit() {
    for mode in [Mode::Fast, Mode::Strict] {
        let simd = Simd::new(Isa::widest(), mode);
        let mut all = Cast::new(simd, &|_| true, false);
        let mut backwards = Cast::new(simd, &|_| true, true);
        (0..3).for_each(|_| all.frame(false));
        (0..3).for_each(|_| backwards.frame(true));
        for k in 0..40 {
            assert_eq!(all.bytes(k), backwards.bytes(k), "{k} in another order");
        }
        for k in [0, 1, 5, 12, 25, 38] {
            let mut alone = Cast::new(simd, &|other| other == k, false);
            (0..3).for_each(|_| alone.frame(false));
            assert_eq!(all.bytes(k), alone.bytes(0), "{k} alone");
        }
    }
}

#[test]
fn strict_gives_the_same_bits_on_every_set() {
    let run = |isa| {
        let mut cast = Cast::new(Simd::new(isa, Mode::Strict), &|_| true, false);
        (0..3).for_each(|_| cast.frame(false));
        (0..40).map(|k| cast.bytes(k)).collect::<Vec<_>>()
    };
    let first = run(Isa::PORTABLE);
    for &isa in Isa::available() {
        assert!(first == run(isa), "{}", isa.name());
    }
}

#[test]
fn a_bad_pose_holds_the_last_one_and_stays_with_its_character() {
    let mut good = Cast::new(Simd::fastest(), &|_| true, false);
    let mut bad = Cast::new(Simd::fastest(), &|_| true, false);
    (0..2).for_each(|_| good.frame(false));
    (0..2).for_each(|_| bad.frame(false));
    let victims = [1usize, 2, 4, 7, 8, 10];
    let before: Vec<_> = victims.iter().map(|&k| bad.bytes(k)).collect();
    let kept = (bad.poses.clone(), bad.positions.clone());
    bad.poses[1][3] = [f32::NAN, 0.0, 0.0, 1.0];
    bad.poses[2][0] = [0.0; 4];
    bad.poses[4].clear();
    bad.poses[7][5] = [f32::INFINITY; 4];
    bad.positions[8][1] = f32::NEG_INFINITY;
    bad.poses[10].iter_mut().flatten().for_each(|c| *c *= 1.1);
    good.frame(false);
    bad.frame(false);
    let report = bad.crowd.stream_report();
    assert_eq!((report.missing, report.refused), (1, 5));
    for k in 0..40 {
        match victims.iter().position(|&victim| victim == k) {
            // Its root goes on.
            Some(at) => assert!(
                before[at][..before[at].len() - ROOT] == bad.bytes(k)[..before[at].len() - ROOT],
                "{k} holds its pose"
            ),
            None => assert!(good.bytes(k) == bad.bytes(k), "{k} is another's neighbour"),
        }
    }
    // Well again, it goes on: not as if nothing had been, since its feet have waited.
    (bad.poses, bad.positions) = kept;
    bad.frame(false);
    assert_eq!(bad.crowd.stream_report().refused, 0);
    for k in 0..40 {
        let (_, palette) = bad.crowd.pose(bad.handles[k]).expect("alive");
        let entries = palette.len() / 48;
        assert!((0..entries).all(|e| decode(PaletteFormat::Mat3x4, palette, e, 1.0).is_finite()));
    }
}

/// What a receiver decodes from 16 bits is a little off unit length.
#[test]
fn nearly_unit_rotations_are_made_unit() {
    let (source, target) =
        (Body::of(RigKind::ALL[1], &BodyPlan::adult()), Body::of(RigKind::ALL[0], &BodyPlan::adult()));
    let map = source.map_to(&target);
    let mut crowd = crowd(Simd::fastest());
    let id = crowd.add_rig(target.rig.clone()).expect("rig");
    let pose = source.pose(&mut Rng::new(5), 0.5);
    let mut rng = Rng::new(6);
    let rough: Vec<[f32; 4]> = pose
        .iter()
        .map(|q| {
            let s = 1.0 + rng.range(-2e-3, 2e-3) as f32;
            q.map(|c| -c * s)
        })
        .collect();
    let handles = [0, 1].map(|k| {
        let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[]).expect("spawn");
        follow(&mut crowd, handle, k, &map, StreamRoot::InPose);
        handle
    });
    let both = [pose, rough];
    let streams = streams(&both, &[source.hips(); 2]);
    crowd.frame(air(&streams), &Serial).expect("frame");
    assert_eq!(crowd.stream_report().followed, 2);
    let [a, b] = handles.map(|handle| models(&crowd, handle, &target));
    for (a, b) in a.iter().zip(&b).filter_map(|(a, b)| Some(((*a)?, (*b)?))) {
        assert!((a - b).to_cols_array().iter().all(|v| v.abs() < 2e-5));
    }
}

#[test]
fn without_a_pose_there_is_the_reference_and_clips_take_over() {
    let (source, target) =
        (Body::of(RigKind::ALL[1], &BodyPlan::adult()), Body::of(RigKind::ALL[0], &BodyPlan::adult()));
    let map = source.map_to(&target);
    let mut crowd = crowd(Simd::fastest());
    let id = crowd.add_rig(target.rig.clone()).expect("rig");
    let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[]).expect("spawn");
    follow(&mut crowd, handle, 3, &map, StreamRoot::InPose);
    crowd.frame(air(&[]), &Serial).expect("frame");
    let report = crowd.stream_report();
    assert_eq!([report.followed, report.missing, report.refused], [0, 1, 0]);
    for (joint, have) in models(&crowd, handle, &target).iter().enumerate() {
        let Some(have) = have else { continue };
        assert!(have.w_axis.truncate().distance(target.rig.positions()[joint]) < 1e-4);
    }
    assert_eq!(crowd.stream(handle).expect("alive").map(|stream| stream.id), Some(StreamId(3)));
    let built = target.built.as_ref().expect("built in");
    let walk = bind(target.source(), &content::clip(ClipKind::Walk, built), &target.rig).expect("bound");
    let walk = crowd.add_clip(walk).expect("clip");
    crowd.set_clips(handle, &[Play::new(walk)]).expect("clips");
    assert!(crowd.stream(handle).expect("alive").is_none());
    crowd.frame(air(&[]), &Serial).expect("frame");
    assert_eq!(crowd.stream_report(), throng::crowd::StreamReport::default());
    assert!(crowd.root_motion(handle).expect("alive").z > 0.0);
    follow(&mut crowd, handle, 3, &map, StreamRoot::InPose);
    crowd.despawn(handle).expect("alive");
    let stream = Stream { id: StreamId(0), map, root: StreamRoot::InPose };
    assert!(crowd.set_stream(handle, &stream).is_err(), "a stale handle");
    let other = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[]).expect("spawn");
    assert!(crowd.stream(other).expect("alive").is_none(), "the index is used again, the stream is gone");
    let stranger = Body::of(RigKind::ALL[2], &BodyPlan::adult());
    let wrong = Stream { map: source.map_to(&stranger), ..stream };
    assert!(crowd.set_stream(other, &wrong).is_err(), "a map to another topology");
}

/// Hips that walk a curve: the root goes along, scaled by leg length, and the pose is left standing over it.
#[test]
fn travel_of_the_hips_moves_the_root() {
    let source = Body::of(RigKind::ALL[2], &BodyPlan::tall());
    let target = Body::of(RigKind::ALL[0], &BodyPlan::child());
    let map = source.map_to(&target);
    let scale = f64::from(target.rig.leg()) / f64::from(source.rig.leg());
    let mut crowd = crowd(Simd::fastest());
    let id = crowd.add_rig(target.rig.clone()).expect("rig");
    let start = WorldTransform::standing(2.0, -1.0, 0.5);
    let handle = crowd.spawn(id, 0, start, &[]).expect("spawn");
    follow(&mut crowd, handle, 0, &map, StreamRoot::Travel);
    let hips = usize::from(source.roles.joint(Role::Hips).expect("hips"));
    let above = source.parent(hips).map_or(DQuat::IDENTITY, |parent| source.reference.rotation(parent));
    let reference = source.reference.position(hips);
    let frames = 200;
    let way = |k: i32| {
        let u = f64::from(k) / f64::from(frames);
        (DVec3::new(3.0 * u * u, 0.05 * (9.0 * u).sin(), 4.0 * u), 7.0 * u)
    };
    let mut sum = 0.0;
    for k in 0..=frames {
        let (at, yaw) = way(k);
        let turn = DQuat::from_rotation_y(yaw);
        let mut pose = source.pose(&mut Rng::new(9), 0.0);
        pose[hips] =
            (above.inverse() * turn * source.reference.rotation(hips)).normalize().as_quat().to_array();
        let position = (at + turn * reference).as_vec3().to_array();
        let streams = [StreamPose { rotations: (&pose).into(), position, contacts: None }];
        crowd.frame(air(&streams), &Serial).expect("frame");
        sum += f64::from(crowd.root_motion(handle).expect("alive").yaw);
    }
    let (end, yaw) = way(frames);
    assert!((sum - yaw).abs() < 1e-4, "{sum} for {yaw}");
    let root = crowd.transform(handle).expect("alive");
    let flat = DVec3::new(end.x, 0.0, end.z) * scale;
    let wants = DVec3::new(2.0, 0.0, -1.0) + DQuat::from_rotation_y(0.5) * flat;
    assert!(Vec3::from(root.position).as_dvec3().distance(wants) < 1e-4, "{:?} for {wants}", root.position);
    let heading = DQuat::from_array(root.rotation.map(f64::from));
    assert!(apart(heading, DQuat::from_rotation_y(0.5 + yaw)) < 1e-4);
    // Only the height of the hips is left in the pose.
    let pelvis = usize::from(target.rig.topology().pelvis());
    for (joint, have) in models(&crowd, handle, &target).iter().enumerate() {
        // What is above the pelvis stays on the ground.
        let Some(have) = have.filter(|_| joint >= pelvis) else { continue };
        let wants = target.rig.positions()[joint] + DVec3::Y * end.y * scale;
        assert!(have.w_axis.truncate().distance(wants) < 1e-4, "joint {joint}");
    }
}

#[test]
fn maps_are_known_by_content() {
    let (a, b) =
        (Body::of(RigKind::ALL[1], &BodyPlan::adult()), Body::of(RigKind::ALL[1], &BodyPlan::adult()));
    let tall = Body::of(RigKind::ALL[1], &BodyPlan::tall());
    let target = Body::of(RigKind::ALL[0], &BodyPlan::adult());
    let mut maps = LiveMaps::default();
    let first = maps.get(a.source(), &target.rig).expect("map");
    assert!(Arc::ptr_eq(&first, &maps.get(b.source(), &target.rig).expect("map")), "same content");
    let other = maps.get(tall.source(), &target.rig).expect("map");
    assert!(!Arc::ptr_eq(&first, &other), "other proportions have other legs");
    assert_eq!(maps.len(), 2);
    let mut renamed = Body::of(RigKind::ALL[1], &BodyPlan::adult());
    renamed.character.name = "else".into();
    assert!(Arc::ptr_eq(&first, &maps.get(renamed.source(), &target.rig).expect("map")));
    let fewer = RoleMap::new();
    let bare = BindSource { roles: &fewer, ..a.source() };
    assert!(!Arc::ptr_eq(&first, &maps.get(bare, &target.rig).expect("map")), "other roles");
}

/// A clip of another rig, bound, and the same clip as a stream: one pose. (Twist joints that the source lacks are
/// moved by binding only, so the target has none.)
#[test]
fn a_stream_shows_what_the_bound_clip_shows() {
    let (source, target) =
        (Body::of(RigKind::ALL[0], &BodyPlan::adult()), Body::of(RigKind::ALL[3], &BodyPlan::stocky()));
    let raw = content::clip(ClipKind::Walk, source.built.as_ref().expect("built in"));
    let bound = bind(source.source(), &raw, &target.rig).expect("bound");
    let map = source.map_to(&target);
    let mut crowd = crowd(Simd::fastest());
    let id = crowd.add_rig(target.rig.clone()).expect("rig");
    let (intervals, duration) = (bound.intervals(), bound.duration());
    let clip = crowd.add_clip(bound).expect("clip");
    let mut judged = 0;
    for key in (0..intervals).step_by(3) {
        let time = duration * key as f32 / intervals as f32;
        let play = Play { time, speed: 0.0, ..Play::new(clip) };
        let played = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[play]).expect("spawn");
        let streamed = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[]).expect("spawn");
        follow(&mut crowd, streamed, 0, &map, StreamRoot::InPose);
        let skeleton = &source.character.skeleton;
        let locals = raw.sample(skeleton, time);
        let pose: Vec<[f32; 4]> = locals.iter().map(|local| local.rotation.to_array()).collect();
        let place = skeleton.model_matrices(&locals)[usize::from(map.carrier())].w_axis.truncate();
        let (rotations, position) = ((&pose).into(), place.to_array());
        let streams = [StreamPose { rotations, position, contacts: Some([0.0; 2]) }];
        crowd.frame(air(&streams), &Serial).expect("frame");
        let (a, b) = (models(&crowd, played, &target), models(&crowd, streamed, &target));
        let parents = target.rig.topology().parents();
        let local = |models: &[Option<DMat4>], joint: usize| {
            let own = DQuat::from_mat4(&models[joint]?);
            let parent = parents[joint];
            let above = if parent == NO_PARENT {
                DQuat::IDENTITY
            } else {
                DQuat::from_mat4(&models[usize::from(parent)]?)
            };
            Some(above.inverse() * own)
        };
        for joint in 0..parents.len() {
            let (Some(a), Some(b)) = (local(&a, joint), local(&b, joint)) else { continue };
            assert!(apart(a, b) < 1e-4, "key {key}, joint {joint}: {:e}", apart(a, b));
            judged += 1;
        }
        crowd.despawn(played).expect("alive");
        crowd.despawn(streamed).expect("alive");
    }
    assert!(judged > 500, "{judged}");
}

fn follower(root: StreamRoot, place: WorldTransform) -> (Crowd, Handle, Body, Arc<LiveMap>) {
    let mut crowd = crowd(Simd::fastest());
    let body = Body::of(RigKind::ALL[0], &BodyPlan::adult());
    let id = crowd.add_rig(body.rig.clone()).expect("rig");
    let handle = crowd.spawn(id, 0, place, &[]).expect("spawn");
    let map = body.map_to(&body);
    follow(&mut crowd, handle, 0, &map, root);
    (crowd, handle, body, map)
}

/// Streams are kept by index, which may be another's after a restore.
#[test]
fn who_follows_a_stream_is_who_did_when_the_snapshot_was_made() {
    let (mut crowd, handle, body, map) = follower(StreamRoot::InPose, WorldTransform::IDENTITY);
    let (rig, _) = crowd.body(handle).expect("alive");
    let other = crowd.spawn(rig, 0, WorldTransform::IDENTITY, &[]).expect("spawn");
    let snapshot = crowd.snapshot();
    crowd.clear_stream(handle).expect("alive");
    follow(&mut crowd, other, 0, &map, StreamRoot::InPose);
    crowd.restore(&snapshot).expect("restored");
    assert!(crowd.stream(other).expect("alive").is_none());
    assert!(Arc::ptr_eq(&crowd.stream(handle).expect("alive").expect("follows").map, &map));
    let pose = [body.pose(&mut Rng::new(4), 0.2)];
    let streams = streams(&pose, &[body.hips()]);
    crowd.frame(air(&streams), &Serial).expect("frame");
    assert_eq!(crowd.stream_report().followed, 1);
}

#[test]
fn a_map_that_nobody_follows_is_let_go() {
    let (mut crowd, handle, body, first) = follower(StreamRoot::InPose, WorldTransform::IDENTITY);
    let mut before = Arc::downgrade(&first);
    drop(first);
    for _ in 0..5 {
        let map = body.map_to(&body);
        follow(&mut crowd, handle, 0, &map, StreamRoot::InPose);
        assert!(before.upgrade().is_none(), "the map of before is kept");
        assert!(Arc::ptr_eq(&crowd.stream(handle).expect("alive").expect("followed").map, &map));
        before = Arc::downgrade(&map);
    }
    crowd.clear_stream(handle).expect("alive");
    assert!(before.upgrade().is_none());
}

#[test]
fn small_steps_of_a_stream_far_away_are_not_lost() {
    let place = WorldTransform { position: [1000.0, 0.0, -3000.0], ..WorldTransform::IDENTITY };
    let (mut crowd, handle, body, _) = follower(StreamRoot::Travel, place);
    let pose = body.pose(&mut Rng::new(1), 0.0);
    let (steps, step) = (4000, 0.001f32);
    let (mut position, start) = (body.hips(), body.hips());
    for _ in 0..=steps {
        let poses = [StreamPose { rotations: (&pose).into(), position, contacts: None }];
        crowd.frame(air(&poses), &Serial).expect("frame");
        position[0] += step;
    }
    // Source and rig are one body, whose own position is rounded to 0.06 mm, too.
    let way = f64::from(position[0] - step - start[0]);
    let moved = f64::from(crowd.transform(handle).expect("alive").position[0]) - 1000.0;
    assert!((moved - way).abs() < 2e-4, "{moved} m, not {way}");
}
