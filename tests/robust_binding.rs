//! What is not sound is refused by name or held, never a panic, an endless loop or an infinity.

use glam::{DMat4, Quat, Vec3};
use throng::clip::{
    BoundClip, Curve, Interpolation, JointTracks, MAX_SECONDS, MIN_SECONDS, MotionKeys, RawClip, RootSource,
};
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{Crowd, CrowdConfig, FlatGround, Frame, MAX_SPEED, Play, Serial, WorldTransform};
use throng::error::BuildError;
use throng::retarget::{BindSource, LiveMap, bind, fitting_keys, motion_keys};
use throng::rig::{
    RawCharacter, RawJoint, RawSkeleton, ReferencePose, Rig, RigSource, Role, RoleMap, Side, Sole, Topology,
    Transform, roles_from_names,
};

fn adult() -> (BuiltIn, Rig) {
    let built = content::character(RigKind::ALL[0], &BodyPlan::adult());
    let rig = Rig::build(&built.rig_source()).expect("the body is sound");
    (built, rig)
}

fn bind_to(built: &BuiltIn, rig: &Rig, clip: &RawClip) -> Result<BoundClip, BuildError> {
    let reference = built.rig_source().reference;
    let source =
        BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    bind(source, clip, rig)
}

fn curve<T>(times: &[f32], values: Vec<T>) -> Curve<T> {
    Curve { times: times.to_vec(), values, interpolation: Interpolation::Linear }
}

fn hips(built: &BuiltIn) -> u16 {
    built.roles.joint(Role::Hips).expect("hips")
}

/// Roles as a map of another, larger skeleton names.
fn foreign() -> RoleMap {
    let mut roles = RoleMap::new();
    for (role, joint) in [
        (Role::Hips, 900),
        (Role::Spine(0), 901),
        (Role::Thigh(Side::Left), 902),
        (Role::Shin(Side::Left), 903),
        (Role::Foot(Side::Left), 904),
        (Role::Toe(Side::Left), 905),
        (Role::Thigh(Side::Right), u16::MAX),
    ] {
        roles.set(role, joint);
    }
    roles
}

fn joint(parent: Option<u16>, translation: Vec3) -> RawJoint {
    RawJoint { name: String::new(), parent, rest: Transform::rigid(translation, Quat::IDENTITY) }
}

#[test]
fn a_clip_of_more_than_an_hour_is_refused() {
    let (built, rig) = adult();
    for seconds in [3601.0f32, 1e9] {
        let clip = RawClip { name: "endless".into(), duration: seconds, ..RawClip::default() };
        match bind_to(&built, &rig, &clip) {
            Err(BuildError::BoundDuration { clip, duration, most, .. }) => {
                assert_eq!((clip.as_str(), duration, most), ("endless", f64::from(seconds), MAX_SECONDS));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn rates_that_are_none_are_refused() {
    let (built, rig) = adult();
    let reference = built.rig_source().reference;
    let source =
        BindSource { skeleton: &built.character.skeleton, roles: &built.roles, reference: &reference };
    let clip = content::clip(ClipKind::Walk, &built);
    for rate in [0.0, -30.0, 0.5, 241.0, 1e300, f64::INFINITY, f64::NAN] {
        let result = motion_keys(source, &clip, &rig, rate);
        assert!(matches!(result, Err(BuildError::Input { what: "the key rate", .. })), "{rate}: {result:?}");
    }
    for rate in [1.0, 240.0] {
        assert!(motion_keys(source, &clip, &rig, rate).is_ok(), "{rate}");
    }
}

#[test]
fn more_keys_and_joints_than_memory_is_for_are_refused() {
    let chain = chain(20_000);
    let roles = RoleMap::new();
    let rig = Rig::build(&RigSource::new(&chain, &roles)).expect("a chain is sound");
    let reference = ReferencePose::rest(&chain.skeleton);
    let source = BindSource { skeleton: &chain.skeleton, roles: &roles, reference: &reference };
    let clip = RawClip { name: "long".into(), duration: 600.0, ..RawClip::default() };
    let result = bind(source, &clip, &rig);
    assert!(matches!(result, Err(BuildError::ClipSize { keys: 18_001, joints: 20_000, .. })), "{result:?}");
}

#[test]
fn a_clip_too_short_to_be_one_is_a_held_pose() {
    let (built, rig) = adult();
    let joint = built.roles.joint(Role::Head).expect("head");
    let rest = built.character.skeleton.joints[usize::from(joint)].rest.rotation;
    for seconds in [f32::from_bits(1), 1e-40, 1e-20, 0.004] {
        for looping in [false, true] {
            let turned = rest * Quat::from_rotation_x(0.5);
            let track = JointTracks {
                joint,
                rotation: Some(curve(&[0.0, seconds], vec![turned, rest])),
                ..JointTracks::default()
            };
            let clip = RawClip { duration: seconds, tracks: vec![track], looping, ..RawClip::default() };
            let bound = bind_to(&built, &rig, &clip).expect("a pose");
            assert!(f64::from(bound.duration()) > MIN_SECONDS && bound.rate().is_finite());
            for key in 1..=bound.intervals() as usize {
                assert_eq!(bound.key(0), bound.key(key), "{seconds} s");
            }
            let at = rig.order().iter().position(|&own| own == joint).expect("the head");
            let still = RawClip { duration: 1.0, ..RawClip::default() };
            let still = bind_to(&built, &rig, &still).expect("rest");
            assert_ne!(bound.key(0)[at / 8], still.key(0)[at / 8], "the first key's pose is held, not rest");
        }
    }
}

fn held_keys(topology: &Topology) -> MotionKeys {
    MotionKeys {
        name: "held".into(),
        duration: 1.0,
        rotations: vec![glam::DQuat::IDENTITY; 2 * topology.len()],
        pelvis: vec![glam::DVec3::ZERO; 2],
        root: vec![[0.0; 3]; 2],
        contact: vec![[1.0; 2]; 2],
        ..MotionKeys::default()
    }
}

#[test]
fn durations_that_single_precision_cannot_divide_by_are_refused() {
    let (_, rig) = adult();
    let build = |duration: f64| {
        BoundClip::build(rig.topology(), &MotionKeys { duration, ..held_keys(rig.topology()) })
    };
    for duration in [0.0, -1.0, 1e-300, 1e-40, 0.004, 3601.0, 1e300, f64::NAN] {
        let result = build(duration);
        assert!(matches!(result, Err(BuildError::BoundDuration { .. })), "{duration}: {result:?}");
    }
    for duration in [MIN_SECONDS, 1.0, MAX_SECONDS] {
        assert_eq!(build(duration).expect("sound").duration(), duration as f32);
    }
}

#[test]
fn errors_of_keys_name_the_joint_that_is_wrong() {
    let (_, rig) = adult();
    let sound = held_keys(rig.topology());
    let mut keys = sound.clone();
    keys.rotations[rig.topology().len() + 7].x = f64::NAN;
    let result = BoundClip::build(rig.topology(), &keys);
    assert!(matches!(result, Err(BuildError::Curve { joint: 7, .. })), "{result:?}");
    let mut wrong = vec![sound.clone(), sound.clone(), sound.clone(), sound.clone()];
    wrong[0].pelvis[1].y = f64::INFINITY;
    wrong[1].root[1][2] = f64::NAN;
    wrong[2].contact[1][0] = f32::NAN;
    wrong[3].rotations.pop();
    for keys in wrong {
        let result = BoundClip::build(rig.topology(), &keys);
        assert!(matches!(result, Err(BuildError::Keys { .. })), "{result:?}");
    }
}

#[test]
fn a_role_map_of_another_skeleton_is_refused() {
    let (built, rig) = adult();
    let (skeleton, roles) = (&built.character.skeleton, foreign());
    assert!(900 > skeleton.joints.len());
    let expected = BuildError::RoleJoint { role: "hips".into(), joint: 900, joints: skeleton.joints.len() };
    assert_eq!(roles.validate(skeleton.joints.len()), Err(expected.clone()));
    assert_eq!(Topology::of(skeleton, &roles).err(), Some(expected.clone()));
    assert_eq!(Rig::build(&RigSource::new(&built.character, &roles)).err(), Some(expected.clone()));
    let reference = ReferencePose::rest(skeleton);
    let source = BindSource { skeleton, roles: &roles, reference: &reference };
    let clip = content::clip(ClipKind::Walk, &built);
    assert_eq!(fitting_keys(source, &clip, &rig).err(), Some(expected));
}

#[test]
fn reference_poses_take_roles_beyond_the_skeleton_for_absent() {
    let (built, _) = adult();
    let skeleton = &built.character.skeleton;
    let rest = ReferencePose::rest(skeleton);
    assert_eq!(ReferencePose::aligned(skeleton, &foreign()), rest);
    // Without a role, siblings know each other by the names of their joints.
    let by_name = ReferencePose::of_sibling(skeleton, &foreign(), skeleton, &foreign(), &rest).unwrap();
    for joint in 0..skeleton.joints.len() {
        assert!(by_name.position(joint).distance(rest.position(joint)) < 1e-9, "joint {joint}");
    }
    let mut nameless = skeleton.clone();
    nameless.joints.iter_mut().for_each(|joint| joint.name.clear());
    assert_eq!(ReferencePose::of_sibling(&nameless, &foreign(), skeleton, &foreign(), &rest), None);
    let mut more = built.roles.clone();
    more.set(Role::Finger(Side::Left, throng::rig::Digit::Little, 200), u16::MAX);
    assert_eq!(ReferencePose::aligned(skeleton, &more), ReferencePose::aligned(skeleton, &built.roles));
    let sibling = |roles| ReferencePose::of_sibling(skeleton, roles, skeleton, roles, &rest);
    assert!(sibling(&built.roles).is_some());
    assert_eq!(sibling(&more), sibling(&built.roles));
    assert_eq!(rest.position(usize::MAX), glam::DVec3::ZERO);
    assert_eq!(rest.rotation(usize::MAX), glam::DQuat::IDENTITY);
}

#[test]
fn parents_in_a_circle_end_every_walk() {
    let mut skeleton = RawSkeleton { joints: Vec::new() };
    for (name, parent) in [("hips", 0), ("thigh_l", 2), ("shin_l", 1), ("foot_l", 900), ("spine", 4)] {
        let mut own = joint(Some(parent), Vec3::Y);
        own.name = name.into();
        skeleton.joints.push(own);
    }
    let mut roles = roles_from_names(&skeleton).map;
    for (at, role) in [Role::Hips, Role::Thigh(Side::Left), Role::Thigh(Side::Right)].into_iter().enumerate()
    {
        roles.set(role, at as u16);
    }
    let rest = ReferencePose::rest(&skeleton);
    assert_eq!(rest.models[0], DMat4::from_translation(glam::DVec3::Y));
    assert!(ReferencePose::aligned(&skeleton, &roles).models.iter().all(|model| model.is_finite()));
    assert_eq!(skeleton.model_matrices(&skeleton.rest_pose()).len(), 5);
    assert!(matches!(Topology::of(&skeleton, &roles), Err(BuildError::JointOrder { index: 0, .. })));
}

/// Circles about a point two metres to the side, which drifts: no single twist turns all the way and ends elsewhere.
#[test]
fn a_loop_that_walks_a_full_circle_is_bound_with_its_turn() {
    let (built, rig) = adult();
    let hips = hips(&built);
    let skeleton = &built.character.skeleton;
    let models = skeleton.model_matrices(&skeleton.rest_pose());
    let above =
        skeleton.joints[usize::from(hips)].parent.map_or(glam::Mat4::IDENTITY, |p| models[usize::from(p)]);
    let stands = models[usize::from(hips)];
    for circles in [1.0f32, -1.0, 2.0] {
        let (mut times, mut places, mut turns) = (Vec::new(), Vec::new(), Vec::new());
        for key in 0..=64 {
            let u = key as f32 / 64.0;
            let turn = Quat::from_rotation_y(u * circles * core::f32::consts::TAU);
            let middle = Vec3::X * 2.0 * circles.signum();
            let at = glam::Mat4::from_translation(middle + Vec3::Z * 0.2 * u)
                * glam::Mat4::from_quat(turn)
                * glam::Mat4::from_translation(-middle + Vec3::Y * 0.01 * (u * 50.0).sin())
                * stands;
            let (_, rotation, translation) = (above.inverse() * at).to_scale_rotation_translation();
            times.push(4.0 * u);
            places.push(translation);
            turns.push(rotation);
        }
        let track = JointTracks {
            joint: hips,
            translation: Some(curve(&times, places)),
            rotation: Some(curve(&times, turns)),
            scale: None,
        };
        let clip = RawClip { duration: 4.0, tracks: vec![track], looping: true, ..RawClip::default() };
        let bound = bind_to(&built, &rig, &clip).expect("within the range of rows");
        let end = bound.root().at(4.0);
        assert!((end.yaw - circles * core::f32::consts::TAU).abs() < 1e-2, "{end:?}");
        let (x, z) = (end.x * rig.leg(), end.z * rig.leg());
        assert!(x.hypot(z - 0.2) < 0.02, "where the clip ends: {end:?}");
        let half = bound.root().at(2.0 / circles.abs());
        // The diameter away; a mean over half a second takes up to a tenth off the radius.
        let across = half.x * rig.leg() * circles.signum();
        assert!((across - 4.0).abs() < 0.25, "{half:?}");
    }
}

/// One long chain without names or roles.
fn chain(joints: u16) -> RawCharacter {
    let joints = (0..joints)
        .map(|at| RawJoint {
            name: format!("joint {at}"),
            ..joint(at.checked_sub(1), if at % 2 == 0 { Vec3::X * 0.01 } else { Vec3::NEG_X * 0.01 })
        })
        .collect();
    RawCharacter { name: "chain".into(), skeleton: RawSkeleton { joints }, ..RawCharacter::default() }
}

/// Takes minutes or hours where any step walks up or down from every joint.
#[test]
fn a_chain_of_twenty_thousand_joints_is_built_and_bound() {
    let character = chain(20_000);
    let roles = RoleMap::new();
    assert_eq!(roles_from_names(&character.skeleton).map, roles);
    let rig = Rig::build(&RigSource::new(&character, &roles)).expect("a chain is sound");
    let topology = rig.topology();
    assert_eq!((topology.len(), topology.pelvis()), (20_000, 19_999), "a chain never branches");
    assert!(topology.levels().iter().all(|&level| level == 0));
    let reference = ReferencePose::rest(&character.skeleton);
    let source = BindSource { skeleton: &character.skeleton, roles: &roles, reference: &reference };
    let clip = RawClip { duration: 0.1, ..RawClip::default() };
    assert_eq!(bind(source, &clip, &rig).expect("a still clip").intervals(), 3);

    // The body at its far end, feet last: all of the chain carries it.
    let mut roles = RoleMap::new();
    let parts = [Role::Hips, Role::Thigh(Side::Left), Role::Shin(Side::Left), Role::Foot(Side::Left)];
    for (role, at) in parts.into_iter().zip(19_990..) {
        roles.set(role, at);
    }
    roles.set(Role::Thigh(Side::Right), 19_999);
    let rig = Rig::build(&RigSource::new(&character, &roles)).expect("a chain is sound");
    let topology = rig.topology();
    assert_eq!(topology.pelvis(), 19_990);
    assert_eq!(topology.levels().iter().filter(|&&level| level == 1).count(), 0);
    let source = BindSource { roles: &roles, ..source };
    assert!(bind(source, &clip, &rig).is_ok());
}

/// Levels and carrier, compared with walks from every joint, on random trees.
#[test]
fn levels_and_carrier_are_those_of_their_definition() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..300 {
        let count = 2 + random(24);
        let mut skeleton = RawSkeleton { joints: Vec::new() };
        for at in 0..count {
            let parent = (at > 0 && random(12) > 0).then(|| random(at) as u16);
            skeleton.joints.push(joint(parent, Vec3::Y));
        }
        let mut roles = RoleMap::new();
        let parts = [
            Role::Hips,
            Role::Thigh(Side::Left),
            Role::Thigh(Side::Right),
            Role::Spine(0),
            Role::Twist(Side::Left, throng::rig::Limb::Thigh, 0),
            Role::Finger(Side::Left, throng::rig::Digit::Index, 0),
        ];
        for role in parts {
            if random(4) > 0 {
                roles.set(role, random(count) as u16);
            }
        }
        let parent = |at: usize| skeleton.joints[at].parent.map(usize::from);
        let up = |at: usize| core::iter::successors(Some(at), |&at| parent(at)).collect::<Vec<_>>();
        let body: Vec<usize> =
            parts[..4].iter().filter_map(|&role| roles.joint(role)).map(usize::from).collect();
        let own = |at: usize| match roles.role(at as u16) {
            Some(Role::Finger(..)) => 2,
            Some(Role::Twist(..)) => 1,
            Some(_) => 0,
            None if roles.is_empty() || body.iter().any(|&part| up(part).contains(&at)) => 0,
            None => 1,
        };
        let (topology, order) = Topology::of(&skeleton, &roles).expect("sound");
        for (at, &raw) in order.iter().enumerate() {
            let level = up(raw.into()).into_iter().map(own).max().unwrap_or(0);
            assert_eq!(topology.levels()[at], level, "{skeleton:?} {roles:?}");
        }
        // The lowest joint at or above all of the body; without any, the root with most joints, as long as it has one child.
        let pelvis = match body.first() {
            Some(&first) => {
                let common = up(first).into_iter().find(|at| body.iter().all(|&part| up(part).contains(at)));
                common.unwrap_or_else(|| *up(first).last().expect("itself"))
            }
            None => {
                let under = |root: usize| (0..count).filter(|&at| up(at).contains(&root)).count();
                let roots = (0..count).filter(|&at| parent(at).is_none());
                let mut at = roots.min_by_key(|&root| (count - under(root), root)).expect("a root");
                loop {
                    let children: Vec<usize> = (0..count).filter(|&own| parent(own) == Some(at)).collect();
                    let [only] = children.as_slice() else { break at };
                    at = *only;
                }
            }
        };
        assert_eq!(usize::from(order[usize::from(topology.pelvis())]), pelvis, "{skeleton:?} {roles:?}");
    }
}

#[test]
fn a_zero_quaternion_is_refused_and_a_zero_tangent_is_not() {
    let (built, rig) = adult();
    let hips = hips(&built);
    let zero = Quat::from_xyzw(0.0, 0.0, 0.0, 0.0);
    let with = |rotation| RawClip {
        duration: 1.0,
        tracks: vec![JointTracks { joint: hips, rotation: Some(rotation), ..JointTracks::default() }],
        ..RawClip::default()
    };
    for bad in [zero, Quat::from_xyzw(1e-30, 0.0, 0.0, 0.0), Quat::from_xyzw(0.0, f32::MAX, 0.0, 0.0)] {
        let result = bind_to(&built, &rig, &with(curve(&[0.0, 1.0], vec![Quat::IDENTITY, bad])));
        assert!(matches!(&result, Err(BuildError::Curve { joint, .. }) if *joint == usize::from(hips)));
    }
    let cubic = |middle| Curve {
        times: vec![0.0, 1.0],
        values: vec![zero, Quat::IDENTITY, zero, zero, middle, zero],
        interpolation: Interpolation::CubicSpline,
    };
    assert!(bind_to(&built, &rig, &with(cubic(Quat::IDENTITY))).is_ok());
    assert!(bind_to(&built, &rig, &with(cubic(zero))).is_err());
}

#[test]
fn a_curve_without_values_has_no_sample_and_leaves_the_rest_pose() {
    let (built, _) = adult();
    let skeleton = &built.character.skeleton;
    assert_eq!(curve::<Vec3>(&[], vec![]).sample(0.0), None);
    assert_eq!(curve(&[0.0, 1.0], vec![Vec3::X]).sample(0.5), None);
    let short = Curve { times: vec![0.0], values: vec![Vec3::X], interpolation: Interpolation::CubicSpline };
    assert_eq!(short.sample(0.0), None);
    assert_eq!(curve(&[0.0, 1.0], vec![Vec3::ZERO, Vec3::X]).sample(0.5), Some(Vec3::X * 0.5));
    let tracks = [0, u16::MAX].map(|joint| JointTracks {
        joint,
        translation: Some(curve(&[], vec![])),
        rotation: Some(curve(&[0.0, 1.0], vec![Quat::IDENTITY])),
        scale: Some(curve(&[], vec![])),
    });
    let clip = RawClip { duration: 1.0, tracks: tracks.into(), ..RawClip::default() };
    assert_eq!(clip.sample(skeleton, 0.5), skeleton.rest_pose());
    assert!(matches!(clip.validate(skeleton), Err(BuildError::Curve { joint: 0, .. })));
}

#[test]
fn a_root_that_the_skeleton_lacks_is_refused() {
    let (built, rig) = adult();
    let mut clip = content::clip(ClipKind::Walk, &built);
    clip.root = RootSource::Joint(900);
    let result = bind_to(&built, &rig, &clip);
    assert!(matches!(result, Err(BuildError::Curve { joint: 900, .. })), "{result:?}");
    clip.root = RootSource::InPlace { speed: f32::NAN };
    assert!(matches!(bind_to(&built, &rig, &clip), Err(BuildError::Input { .. })));
    clip.root = RootSource::InPlace { speed: f32::MAX };
    assert!(matches!(bind_to(&built, &rig, &clip), Err(BuildError::Keys { .. })));
}

#[test]
fn soles_that_are_not_finite_are_refused() {
    let (built, _) = adult();
    for (side, what) in ["the sole of the left foot", "the sole of the right foot"].into_iter().enumerate() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut source = built.rig_source();
            source.soles[side] = Some(Sole { heel: [0.0; 3], ball: [0.0, bad, 0.1] });
            let result = Rig::build(&source);
            assert!(
                matches!(&result, Err(BuildError::Input { what: have, .. }) if *have == what),
                "{result:?}"
            );
        }
    }
}

#[test]
fn reference_poses_beyond_single_precision_are_refused() {
    let (built, _) = adult();
    let mut source = built.rig_source();
    source.reference.models[3].w_axis.x = 1e300;
    let name = &built.character.skeleton.joints[3].name;
    match Rig::build(&source).err() {
        Some(BuildError::ReferenceRange { index: 3, joint }) => assert_eq!(&joint, name),
        other => panic!("{other:?}"),
    }
    // Finite step by step, and infinite at the end.
    let mut far = chain(3);
    for joint in &mut far.skeleton.joints {
        joint.rest.translation = Vec3::X * 3e38;
    }
    let result = Rig::build(&RigSource::new(&far, &RoleMap::new()));
    assert!(matches!(result, Err(BuildError::ReferenceRange { .. })), "{result:?}");
}

/// Finite in single precision, and infinite as soon as a frame multiplies it.
#[test]
fn a_body_or_skin_out_of_all_scale_is_refused() {
    for (far, loads) in [(9.9e5, true), (1.1e6, false), (1e37, false)] {
        let mut body = chain(3);
        body.skeleton.joints[2].rest.translation = Vec3::NEG_Z * far;
        let result = Rig::build(&RigSource::new(&body, &RoleMap::new()));
        assert_eq!(result.is_ok(), loads, "{result:?}");
        assert!(loads || matches!(result, Err(BuildError::ReferenceRange { index: 2, .. })));
    }
    for (scale, loads) in [(1e-6, true), (1e11, true), (1e13, false), (3e38, false)] {
        let mut body = chain(2);
        let inverse_binds = vec![glam::Mat4::IDENTITY, glam::Mat4::from_scale(Vec3::splat(scale))];
        body.skins.push(throng::rig::RawSkin { name: "skin".into(), joints: vec![0, 1], inverse_binds });
        let result = Rig::build(&RigSource::new(&body, &RoleMap::new()));
        assert_eq!(result.is_ok(), loads, "{result:?}");
        assert!(loads || matches!(result, Err(BuildError::NonFiniteInverseBind { joint: 1, .. })));
    }
}

#[test]
fn root_motion_out_of_all_scale_is_refused_or_leads_to_finite_poses() {
    let (_, rig) = adult();
    let mut played = 0;
    for part in 0..3 {
        for far in [1e2, 1e4, 1e6, 9e8, 1e10, 1e30] {
            let mut keys = held_keys(rig.topology());
            let last = keys.root.len() - 1;
            keys.root[last][part] = far;
            let Ok(clip) = BoundClip::build(rig.topology(), &keys) else { continue };
            let mut crowd = Crowd::new(CrowdConfig::default());
            let id = crowd.add_rig(rig.clone()).expect("rig");
            let play = Play { speed: MAX_SPEED, ..Play::new(crowd.add_clip(clip).expect("clip")) };
            let who = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[play]).expect("spawn");
            for frame in 0..60 {
                let ground = FlatGround { height: 0.0 };
                crowd.frame(Frame::new(1.0 / 60.0, &ground), &Serial).expect("frame");
                let (header, _) = crowd.pose(who).expect("alive");
                let finite = header.position.iter().chain(&header.rotation).all(|value| value.is_finite());
                assert!(finite, "frame {frame} of {far} in part {part}: {header:?}");
            }
            played += 1;
        }
    }
    assert!(played > 3, "some are taken");
}

#[test]
fn a_live_map_of_more_products_than_a_frame_can_take_is_refused() {
    let target = content::character(RigKind::Engine, &BodyPlan::adult());
    let rig = Rig::build(&target.rig_source()).expect("rig");
    let built = content::character(RigKind::Biped, &BodyPlan::adult());
    // Joints without a role between the first and the second of the spine: what lies between is a power of all of them.
    let with = |more: u16| {
        let (upper, mut joints) = (built.roles.spine()[1], Vec::new());
        for (at, own) in (0_u16..).zip(&built.character.skeleton.joints) {
            let shifted = |joint: u16| if joint >= upper { joint + more } else { joint };
            let mut own = own.clone();
            own.parent = own.parent.map(shifted);
            if at == upper {
                for k in 0..more {
                    let parent = if k == 0 { own.parent } else { Some(upper + k - 1) };
                    joints.push(joint(parent, Vec3::ZERO));
                }
                own.parent = Some(upper + more - 1);
            }
            joints.push(own);
        }
        let mut roles = RoleMap::new();
        for (role, joint) in built.roles.iter() {
            roles.set(role, if joint >= upper { joint + more } else { joint });
        }
        let skeleton = RawSkeleton { joints };
        let reference = ReferencePose::rest(&skeleton);
        LiveMap::build(BindSource { skeleton: &skeleton, roles: &roles, reference: &reference }, &rig)
    };
    let map = with(100).expect("a chain that is only long");
    assert!(map.steps() > 100, "{} steps", map.steps());
    assert!(matches!(with(60_000), Err(BuildError::Full { .. })));
}
