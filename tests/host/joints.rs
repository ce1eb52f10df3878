//! Joints, sockets and rig-local poses against chains worked out in double precision from the skin's inverse binds.

use glam::{DMat4, DQuat, DVec3, Vec3};

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, Handle, LocalTransform, PaletteFormat, Play, Socket, Tier, WorldTransform,
};
use throng::error::BuildError;
use throng::rig::{NO_PARENT, Role, Side};

use crate::bodies::{Body, CLIPS, add, frame, rig};

fn matrix(rows: [f32; 12]) -> DMat4 {
    let r = rows.map(f64::from);
    DMat4::from_cols_array_2d(&[
        [r[0], r[4], r[8], 0.0],
        [r[1], r[5], r[9], 0.0],
        [r[2], r[6], r[10], 0.0],
        [r[3], r[7], r[11], 1.0],
    ])
}

/// Model matrix of a palette entry's joint, from the file's inverse bind.
fn model(crowd: &Crowd, body: &Body, handle: Handle, entry: usize) -> DMat4 {
    let (_, palette) = crowd.pose(handle).unwrap();
    let format = crowd.config().format;
    let range = crowd.palette_range(body.rig, 0).unwrap();
    let bytes = &palette[entry * format.bytes()..(entry + 1) * format.bytes()];
    let inverse_bind = body.built.character.skins[0].inverse_binds[entry].as_dmat4();
    matrix(format.matrix(bytes, range)) * inverse_bind.inverse()
}

fn local(transform: &LocalTransform) -> DMat4 {
    let rotation = DQuat::from_array(transform.rotation.map(f64::from));
    assert!((rotation.length() - 1.0).abs() < 1e-5);
    DMat4::from_rotation_translation(rotation, DVec3::from_array(transform.translation.map(f64::from)))
}

fn apart(a: DMat4, b: DMat4) -> (f64, f64) {
    let place = (a.w_axis - b.w_axis).truncate().length();
    let [qa, qb] = [a, b].map(|m| m.to_scale_rotation_translation().1);
    (place, 2.0 * (qa.conjugate() * qb).xyz().length())
}

fn crowd(format: PaletteFormat, kind: RigKind) -> (Crowd, Body, Vec<Handle>) {
    let mut crowd = Crowd::new(CrowdConfig { format, ..CrowdConfig::default() });
    let body = add(&mut crowd, kind, &BodyPlan::adult(), &CLIPS);
    let handles = (0..6)
        .map(|k| {
            let plays = [
                Play { time: 0.13 * k as f32, ..Play::new(body.clips[k % 4]) },
                Play { weight: 0.5, ..Play::new(body.clips[1]) },
            ];
            let place = WorldTransform::standing(3.0 * k as f32, -7.0, 0.7 * k as f32);
            crowd.spawn(body.rig, 0, place, &plays).unwrap()
        })
        .collect();
    (crowd, body, handles)
}

/// Metres and radians.
fn tolerance(format: PaletteFormat) -> (f64, f64) {
    if format == PaletteFormat::Snorm16 { (2.5e-4, 2e-4) } else { (5e-6, 1e-5) }
}

#[test]
fn joints_are_where_the_skin_says() {
    for format in PaletteFormat::ALL {
        let mut worst = (0.0f64, 0.0f64);
        for kind in RigKind::ALL {
            let (mut crowd, body, handles) = crowd(format, kind);
            frame(&mut crowd, 0.05);
            let rig = crowd.rig(body.rig);
            for &handle in &handles {
                for (entry, &joint) in body.built.character.skins[0].joints.iter().enumerate() {
                    let at = rig.order().iter().position(|&file| file == joint).unwrap() as u16;
                    let told = local(&crowd.joint_model(handle, at).unwrap());
                    let (place, turn) = apart(told, model(&crowd, &body, handle, entry));
                    worst = (worst.0.max(place), worst.1.max(turn));
                }
            }
        }
        println!("{}: {:.2e} m, {:.2e} rad", format.name(), worst.0, worst.1);
        let (metres, radians) = tolerance(format);
        assert!(worst.0 < metres && worst.1 < radians, "{format:?}: {worst:?}");
    }
}

/// What the formats cost: the same poses in all of them, against the 4x4 matrices.
#[test]
fn short_formats_tell_places_a_little_less_finely() {
    let mut crowds = PaletteFormat::ALL.map(|format| crowd(format, RigKind::ALL[0]));
    for (crowd, ..) in &mut crowds {
        frame(crowd, 0.05);
    }
    let joints = crowds[0].0.rig(crowds[0].1.rig).topology().len() as u16;
    let (whole, others) = crowds.split_first().unwrap();
    for (crowd, _, handles) in others {
        let mut worst = (0.0f64, 0.0f64);
        for (&mine, &theirs) in whole.2.iter().zip(handles) {
            for joint in 0..joints {
                let (Ok(a), Ok(b)) = (whole.0.joint_model(mine, joint), crowd.joint_model(theirs, joint))
                else {
                    continue;
                };
                let (place, turn) = apart(local(&a), local(&b));
                worst = (worst.0.max(place), worst.1.max(turn));
            }
        }
        let format = crowd.config().format;
        println!("{} against 4x4: {:.2e} m, {:.2e} rad", format.name(), worst.0, worst.1);
        let (metres, radians) = tolerance(format);
        assert!(worst.0 < metres && worst.1 < radians, "{format:?}: {worst:?}");
        assert!(format != PaletteFormat::Snorm16 || worst.0 > 1e-6, "16 bits are not for nothing");
    }
}

#[test]
fn local_poses_rebuild_the_model_pose() {
    for format in PaletteFormat::ALL {
        for kind in RigKind::ALL {
            let (mut crowd, body, handles) = crowd(format, kind);
            let joints = body.built.character.skeleton.joints.len();
            // Poorer tiers move fewer joints; what they show is told all the same.
            crowd.set_tier(handles[1], Tier::Mid).unwrap();
            crowd.set_tier(handles[2], Tier::Far).unwrap();
            frame(&mut crowd, 0.05);
            let mut all = vec![LocalTransform::IDENTITY; joints * handles.len()];
            assert_eq!(crowd.local_poses_into(&handles, joints, &mut all).unwrap(), handles.len());
            let (metres, radians) = tolerance(format);
            for (pose, &handle) in all.chunks(joints).zip(&handles) {
                let mut one = vec![LocalTransform::IDENTITY; joints];
                crowd.local_pose_into(handle, &mut one).unwrap();
                assert_eq!(one, pose);
                let mut models = Vec::new();
                for (joint, transform) in body.built.character.skeleton.joints.iter().zip(pose) {
                    let parent = joint.parent.map_or(DMat4::IDENTITY, |parent| models[usize::from(parent)]);
                    models.push(parent * local(transform));
                }
                for (entry, &joint) in body.built.character.skins[0].joints.iter().enumerate() {
                    let (place, turn) =
                        apart(models[usize::from(joint)], model(&crowd, &body, handle, entry));
                    // Errors of parents add up along a chain.
                    assert!(
                        place < 4.0 * metres.max(1e-5) && turn < 4.0 * radians,
                        "{format:?}: {place} {turn}"
                    );
                }
            }
        }
    }
}

/// In the reference pose the rig-local pose is that of the reference: translations are the file's bones.
#[test]
fn bones_keep_the_lengths_of_the_file() {
    let (mut crowd, body, handles) = crowd(PaletteFormat::Mat4, RigKind::ALL[2]);
    frame(&mut crowd, 0.05);
    let skeleton = &body.built.character.skeleton;
    let mut pose = vec![LocalTransform::IDENTITY; skeleton.joints.len()];
    crowd.local_pose_into(handles[3], &mut pose).unwrap();
    let pelvis = body.built.roles.joint(Role::Hips).unwrap();
    for (at, (joint, transform)) in skeleton.joints.iter().zip(&pose).enumerate() {
        if joint.parent.is_some() && at != usize::from(pelvis) {
            let moved = (Vec3::from_array(transform.translation) - joint.rest.translation).length();
            assert!(moved < 2e-5, "joint {at} \"{}\": {moved}", joint.name);
        }
    }
}

#[test]
fn a_prop_follows_its_hand_and_a_second_hand_can_follow_the_prop() {
    let (mut crowd, body, handles) = crowd(PaletteFormat::Mat3x4, RigKind::ALL[0]);
    let hand = crowd.rig(body.rig).topology().joint(Role::Hand(Side::Right)).unwrap();
    let turn = glam::Quat::from_euler(glam::EulerRot::XYZ, 0.3, -0.8, 1.1);
    let socket = Socket {
        joint: hand,
        local: LocalTransform { translation: [0.02, 0.08, -0.01], rotation: turn.to_array() },
    };
    let grip = LocalTransform { translation: [0.0, 0.4, 0.0], rotation: turn.inverse().to_array() };
    assert!(crowd.socket_world(handles[0], &socket).unwrap_err().to_string().contains("no pose yet"));
    for _ in 0..30 {
        frame(&mut crowd, 1.0 / 30.0);
        for &handle in &handles {
            let world = crowd.socket_world(handle, &socket).unwrap();
            let prop = world.holding(&grip);
            // The grip of the prop lies in the socket.
            let back = prop.then(&grip);
            let off = (Vec3::from_array(back.position) - Vec3::from_array(world.position)).length();
            assert!(off < 5e-6, "{off}");
            // And the socket is at the hand of this frame: as far from the joint as it was put.
            let joint = crowd.joint_world(handle, hand).unwrap();
            let arm = (Vec3::from_array(world.position) - Vec3::from_array(joint.position)).length();
            assert!((arm - Vec3::new(0.02, 0.08, -0.01).length()).abs() < 5e-6);
            let (root, _) = crowd.pose(handle).unwrap();
            let away = Vec3::from_array(joint.position) - Vec3::from_array(root.position);
            assert!(away.length() < 2.0, "a hand is within reach of its root");
        }
    }
    let mut bent = socket;
    bent.local.translation[1] = f32::NAN;
    assert!(crowd.socket_world(handles[0], &bent).is_err());
    let mut places = [WorldTransform::IDENTITY; 3];
    let list = [(handles[0], socket), (Handle::NONE, socket), (handles[2], socket)];
    assert_eq!(crowd.sockets_into(&list, &mut places), 2);
    assert_eq!(places[1], WorldTransform::IDENTITY);
    assert_eq!(places[2], crowd.socket_world(handles[2], &socket).unwrap());
}

/// A skin without some joints: they are told once they are kept, and slots carry them behind the skin's entries.
#[test]
fn joints_that_no_skin_has_are_kept_on_request() {
    let full = || add_to(&mut Crowd::new(CrowdConfig::default()));
    fn add_to(crowd: &mut Crowd) -> Body {
        add(crowd, RigKind::ALL[0], &BodyPlan::adult(), &[ClipKind::Walk])
    }
    for format in PaletteFormat::ALL {
        let mut whole = Crowd::new(CrowdConfig { format, ..CrowdConfig::default() });
        let body = add_to(&mut whole);
        let mut built = full().built;
        let skin = &mut built.character.skins[0];
        let dropped: Vec<u16> = skin.joints.split_off(skin.joints.len() - 10);
        skin.inverse_binds.truncate(skin.joints.len());
        let mut part = Crowd::new(CrowdConfig { format, ..CrowdConfig::default() });
        let rig = part.add_rig(crate::bodies::rig(&built)).unwrap();
        let clip = part.add_clip(crate::bodies::bound(&built, ClipKind::Walk)).unwrap();
        let [a, b] =
            [(&mut whole, body.rig, body.clips[0]), (&mut part, rig, clip)].map(|(crowd, rig, clip)| {
                let play = Play { time: 0.4, ..Play::new(clip) };
                let handle = crowd.spawn(rig, 0, WorldTransform::IDENTITY, &[play]).unwrap();
                crowd.set_tier(handle, Tier::Hero).unwrap();
                frame(crowd, 0.0);
                handle
            });
        let order = part.rig(rig).order().to_vec();
        let joints: Vec<u16> =
            dropped.iter().map(|joint| order.iter().position(|file| file == joint).unwrap() as u16).collect();
        let error = part.joint_model(b, joints[0]).unwrap_err().to_string();
        assert!(error.contains("keep_joints"), "{error}");
        let lines = part.pose(b).unwrap().1.len();
        part.keep_joints(rig, &joints).unwrap();
        frame(&mut part, 0.0);
        assert!(part.pose(b).unwrap().1.len() > lines);
        for &joint in &joints {
            let (place, turn) = apart(
                local(&whole.joint_model(a, joint).unwrap()),
                local(&part.joint_model(b, joint).unwrap()),
            );
            let (metres, radians) = tolerance(format);
            assert!(place < 2.0 * metres && turn < 2.0 * radians, "{format:?} {joint}: {place} {turn}");
        }
        assert!(part.keep_joints(rig, &[9999]).is_err() && NO_PARENT != joints[0]);
        // Nobody keeps anything any more: slots are as they were.
        part.keep_joints(rig, &[]).unwrap();
        frame(&mut part, 0.0);
        assert_eq!(part.pose(b).unwrap().1.len(), lines);
    }
}

#[test]
fn other_kept_joints_are_not_told_before_a_frame_has_written_them() {
    let mut crowd = Crowd::new(CrowdConfig::default());
    let mut built = content::character(RigKind::ALL[0], &BodyPlan::adult());
    for skin in &mut built.character.skins {
        skin.joints.truncate(9);
        skin.inverse_binds.truncate(9);
    }
    let body = rig(&built);
    let all: Vec<u16> = (0..body.topology().len() as u16).collect();
    let lacking: Vec<u16> = all
        .iter()
        .copied()
        .filter(|&joint| !built.character.skins[0].joints.contains(&body.order()[usize::from(joint)]))
        .collect();
    let (a, b) = (lacking[0], lacking[lacking.len() - 1]);
    let id = crowd.add_rig(body).expect("rig");
    let place = |crowd: &mut Crowd, joint| {
        crowd.keep_joints(id, &[joint]).expect("kept");
        let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[]).expect("spawn");
        frame(crowd, 0.0);
        (handle, crowd.joint_model(handle, joint).expect("kept").translation)
    };
    let (old, there) = place(&mut crowd, a);
    crowd.keep_joints(id, &[b]).expect("kept");
    assert!(matches!(crowd.joint_model(old, b), Err(BuildError::NoPose { .. })));
    frame(&mut crowd, 0.0);
    let now = crowd.joint_model(old, b).expect("written").translation;
    assert_ne!(now, there);
    assert_eq!(now, place(&mut crowd, b).1);
}
