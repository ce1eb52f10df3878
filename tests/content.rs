//! Built-in rigs and clips, judged by double-precision forward kinematics of the raw data.

use std::collections::HashSet;

use glam::{DMat4, DQuat, DVec3};
use throng::clip::{RawClip, RootSource};
use throng::content::{
    BodyPlan, BuiltIn, ClipKind, Gait, RigKind, character, clip, gait_clip, library, variants,
};
use throng::rig::{Digit, Limb, RawSkeleton, Role, Side, Transform};

fn fk(skeleton: &RawSkeleton, pose: &[Transform]) -> Vec<(DVec3, DQuat)> {
    let mut models: Vec<(DVec3, DQuat)> = Vec::new();
    for (joint, local) in skeleton.joints.iter().zip(pose) {
        let (t, q) = (local.translation.as_dvec3(), local.rotation.as_dquat().normalize());
        models.push(match joint.parent {
            Some(p) => {
                let (pt, pq) = models[usize::from(p)];
                (pt + pq * t, pq * q)
            }
            None => (t, q),
        });
    }
    models
}

fn pose_at(body: &BuiltIn, clip: &RawClip, t: f64) -> Vec<(DVec3, DQuat)> {
    fk(&body.character.skeleton, &clip.sample(&body.character.skeleton, t as f32))
}

fn rest(body: &BuiltIn) -> Vec<(DVec3, DQuat)> {
    fk(&body.character.skeleton, &body.character.skeleton.rest_pose())
}

/// Keys a second of the densest track.
fn key_rate(clip: &RawClip) -> f64 {
    let keys = clip.tracks.iter().filter_map(|t| Some(t.rotation.as_ref()?.times.len())).max().unwrap();
    ((keys - 1) as f64 / f64::from(clip.duration)).round()
}

fn joint(body: &BuiltIn, role: Role) -> usize {
    usize::from(body.roles.joint(role).unwrap_or_else(|| panic!("{:?} has no {role}", body.kind)))
}

fn plans() -> [BodyPlan; 4] {
    [BodyPlan::adult(), BodyPlan::child(), BodyPlan::stocky(), BodyPlan::tall()]
}

fn every_body() -> Vec<BuiltIn> {
    RigKind::ALL.iter().flat_map(|&kind| plans().map(|plan| character(kind, &plan))).collect()
}

/// Bodies whose clips are checked: every rig and every build, once each.
fn sample_bodies() -> Vec<BuiltIn> {
    RigKind::ALL.iter().zip(plans()).map(|(&kind, plan)| character(kind, &plan)).collect()
}

/// World point of a sole point that is fixed in the foot joint.
fn sole_point(body: &BuiltIn, models: &[(DVec3, DQuat)], side: Side, heel: bool) -> DVec3 {
    let foot = joint(body, Role::Foot(side));
    let sole = body.sole(side);
    let offset = if heel { sole.heel } else { sole.ball }.as_dvec3();
    let (position, rotation) = models[foot];
    position + rotation * rest(body)[foot].1.inverse() * offset
}

#[test]
fn skeletons_are_sound_and_have_the_promised_joint_counts() {
    let counts: Vec<usize> = RigKind::ALL
        .iter()
        .map(|&k| character(k, &BodyPlan::adult()).character.skeleton.joints.len())
        .collect();
    assert_eq!(counts, [64, 76, 52, 55]);
    for body in every_body() {
        let skeleton = &body.character.skeleton;
        skeleton.validate().unwrap();
        let names: HashSet<&str> = skeleton.joints.iter().map(|j| j.name.as_str()).collect();
        assert_eq!(names.len(), skeleton.joints.len(), "names of {:?} repeat", body.kind);
    }
}

#[test]
fn every_rig_has_every_role_of_a_humanoid() {
    for body in every_body() {
        joint(&body, Role::Hips);
        joint(&body, Role::Head);
        assert!((3..=5).contains(&body.roles.spine().len()));
        assert!((1..=2).contains(&body.roles.neck().len()));
        for side in Side::BOTH {
            for role in [
                Role::Clavicle(side),
                Role::UpperArm(side),
                Role::Forearm(side),
                Role::Hand(side),
                Role::Thigh(side),
                Role::Shin(side),
                Role::Foot(side),
                Role::Toe(side),
            ] {
                joint(&body, role);
            }
            for digit in Digit::ALL {
                for i in 0..3 {
                    joint(&body, Role::Finger(side, digit, i));
                }
            }
        }
    }
    let twisted = character(RigKind::Biped, &BodyPlan::adult());
    joint(&twisted, Role::Twist(Side::Right, Limb::Forearm, 1));
}

#[test]
fn bodies_stand_on_the_ground_and_face_forward() {
    for body in every_body() {
        let models = rest(&body);
        let at = |role| models[joint(&body, role)].0;
        for side in Side::BOTH {
            for heel in [true, false] {
                let point = sole_point(&body, &models, side, heel);
                assert!(point.y.abs() < 1e-6, "{:?}: sole at {}", body.kind, point.y);
            }
            assert!(at(Role::Toe(side)).z > at(Role::Foot(side)).z + 0.05);
        }
        assert!(at(Role::Foot(Side::Left)).x > 0.03 && at(Role::Hand(Side::Left)).x > 0.2);
        assert!(at(Role::Hips).x.abs() < 1e-6 && at(Role::Hips).z.abs() < 0.03);
        let head = at(Role::Head).y;
        assert!(head > 0.8 * body.plan.stature && head < body.plan.stature);
        assert!(
            (body.leg_length()
                - (at(Role::Thigh(Side::Left)) - at(Role::Shin(Side::Left))).length()
                - (at(Role::Shin(Side::Left)) - at(Role::Foot(Side::Left))).length())
            .abs()
                < 1e-5
        );
    }
}

#[test]
fn rigs_of_one_plan_put_their_joints_in_the_same_places() {
    for plan in plans() {
        let (a, b) = (character(RigKind::Biped, &plan), character(RigKind::Aligned, &plan));
        let (ma, mb) = (rest(&a), rest(&b));
        let legs: Vec<BuiltIn> = [RigKind::Deform, RigKind::Engine].map(|k| character(k, &plan)).into();
        for (role, at) in b.roles.iter() {
            let expected = mb[usize::from(at)].0;
            if let Some(other) = a.roles.joint(role)
                && !matches!(role, Role::Neck(_))
            {
                assert!((ma[usize::from(other)].0 - expected).length() < 1e-5, "{role}");
            }
            // A poses differ in the arms alone.
            if matches!(
                role,
                Role::Hips | Role::Head | Role::Thigh(_) | Role::Shin(_) | Role::Foot(_) | Role::Toe(_)
            ) {
                for body in &legs {
                    let other = rest(body)[joint(body, role)].0;
                    assert!((other - expected).length() < 1e-5, "{:?} {role}", body.kind);
                }
            }
        }
    }
}

#[test]
fn rest_axes_differ_between_rigs_as_they_promise() {
    let bone = |kind: RigKind, role: Role, to: Role| {
        let body = character(kind, &BodyPlan::adult());
        let models = rest(&body);
        let (from, q) = models[joint(&body, role)];
        q.inverse() * (models[joint(&body, to)].0 - from).normalize()
    };
    for side in Side::BOTH {
        for (role, to) in [
            (Role::Thigh(side), Role::Shin(side)),
            (Role::UpperArm(side), Role::Forearm(side)),
            (Role::Finger(side, Digit::Ring, 0), Role::Finger(side, Digit::Ring, 1)),
        ] {
            assert!((bone(RigKind::Biped, role, to) - DVec3::X).length() < 1e-5);
            assert!((bone(RigKind::Deform, role, to) - DVec3::Y).length() < 1e-5);
            assert!((bone(RigKind::Engine, role, to) - DVec3::Y).length() < 1e-5);
        }
    }
    let aligned = character(RigKind::Aligned, &BodyPlan::adult());
    assert!(aligned.character.skeleton.joints.iter().all(|j| j.rest.rotation.w > 0.999_999));
}

#[test]
fn inverse_binds_undo_the_rest_pose() {
    for body in every_body() {
        let models = rest(&body);
        for skin in &body.character.skins {
            assert_eq!(skin.joints.len(), skin.inverse_binds.len());
            for (&joint, bind) in skin.joints.iter().zip(&skin.inverse_binds) {
                let (t, q) = models[usize::from(joint)];
                let product = DMat4::from_rotation_translation(q, t) * bind.as_dmat4();
                assert!(product.abs_diff_eq(DMat4::IDENTITY, 2e-5), "{:?}: {product}", body.kind);
            }
        }
    }
}

#[test]
fn planted_heels_and_balls_stay_where_they_are() {
    let mut worst_between = 0.0f64;
    for body in sample_bodies() {
        for kind in ClipKind::ALL {
            let clip = clip(kind, &body);
            clip.validate(&body.character.skeleton).unwrap();
            let contacts = clip.contacts.as_ref().unwrap();
            for foot in &contacts.feet {
                for (heel, intervals) in [(true, &foot.heel), (false, &foot.ball)] {
                    assert!(!intervals.is_empty(), "{kind:?}: {:?} foot never lands", foot.side);
                    for interval in intervals {
                        worst_between = worst_between.max(check_contact(
                            &body,
                            &clip,
                            foot.side,
                            heel,
                            interval.start,
                            interval.end,
                        ));
                    }
                }
            }
        }
    }
    println!("largest drift between keys: {:.3} mm", worst_between * 1000.0);
    assert!(worst_between < 1.0e-4);
}

/// Follows one contact over its interval, at keys and half way between them; gives the drift between keys.
fn check_contact(body: &BuiltIn, clip: &RawClip, side: Side, heel: bool, start: f32, end: f32) -> f64 {
    let duration = f64::from(clip.duration);
    let (start, mut end) = (f64::from(start), f64::from(end));
    if end < start {
        end += duration;
    }
    let rate = key_rate(clip);
    let first_key = (start * rate).round() as i64;
    let last_key = (end * rate).round() as i64;
    let travel = travel(body, clip);
    let mut anchor: Option<DVec3> = None;
    let mut between = 0.0f64;
    for half in 2 * first_key..=2 * last_key {
        let t = half as f64 * 0.5 / rate;
        // Over the loop's end the next cycle begins where this one stopped.
        let (local, over) = if t > duration + 1e-6 { (t - duration, true) } else { (t, false) };
        let models = pose_at(body, clip, local);
        let mut point = sole_point(body, &models, side, heel);
        let toe = models[joint(body, Role::Toe(side))].0;
        if over {
            point = travel.transform_point3(point);
        }
        let anchor = *anchor.get_or_insert(point);
        let drift = (point - anchor).length().max(point.y.abs());
        let what = format!(
            "{:?} {} {side:?} {} at {t:.3} s",
            body.kind,
            clip.name,
            if heel { "heel" } else { "ball" }
        );
        if half % 2 == 0 {
            assert!(drift < 2e-5, "{what}: {:.4} mm", drift * 1000.0);
            assert!(heel || toe.y.abs() < 2e-5, "{what}: toe joint off the ground");
        } else {
            between = between.max(drift);
        }
    }
    between
}

/// Planar motion of the root over one cycle.
fn travel(body: &BuiltIn, clip: &RawClip) -> DMat4 {
    let at = |t: f64| {
        let models = pose_at(body, clip, t);
        let source = match clip.root {
            RootSource::Joint(root) => usize::from(root),
            _ => joint(body, Role::Hips),
        };
        let (p, q) = models[source];
        let forward = q * rest(body)[source].1.inverse() * DVec3::Z;
        DMat4::from_rotation_translation(
            DQuat::from_rotation_y(forward.x.atan2(forward.z)),
            DVec3::new(p.x, 0.0, p.z),
        )
    };
    at(f64::from(clip.duration)) * at(0.0).inverse()
}

#[test]
fn cycles_close_and_travel_at_their_speed() {
    for body in sample_bodies() {
        for kind in ClipKind::ALL {
            let clip = clip(kind, &body);
            let duration = f64::from(clip.duration);
            let travel = travel(&body, &clip);
            let (first, last) = (pose_at(&body, &clip, 0.0), pose_at(&body, &clip, duration));
            if clip.looping {
                for (i, (a, b)) in first.iter().zip(&last).enumerate() {
                    let moved = body.kind.root_source() == RootSource::Joint(0)
                        || i > 0
                        || body.kind == RigKind::Aligned;
                    if !moved || (body.kind == RigKind::Engine && i == 0) {
                        continue;
                    }
                    let expected = travel.transform_point3(a.0);
                    assert!((expected - b.0).length() < 2e-5, "{kind:?} {:?} joint {i}", body.kind);
                    assert!(a.1.dot(b.1).abs() > 1.0 - 1e-9);
                }
                let distance = travel.transform_point3(DVec3::ZERO).length();
                assert!((distance - kind.speed(&body) * duration).abs() < 1e-4, "{kind:?}: {distance}");
            }
            let turned = travel.transform_vector3(DVec3::Z);
            let yaw = turned.x.atan2(turned.z).to_degrees();
            let expected = match kind {
                ClipKind::TurnLeft => 90.0,
                ClipKind::TurnRight => -90.0,
                _ => 0.0,
            };
            if kind != ClipKind::Start && kind != ClipKind::Stop {
                assert!((yaw - expected).abs() < 0.2, "{kind:?}: yaw {yaw}");
            }
        }
    }
}

#[test]
fn speeds_of_an_adult_are_those_of_the_literature() {
    let body = character(RigKind::Biped, &BodyPlan::adult());
    let range = |kind: ClipKind, low: f64, high: f64| {
        let speed = kind.speed(&body);
        assert!((low..high).contains(&speed), "{kind:?} {speed} m/s");
    };
    range(ClipKind::SlowWalk, 0.7, 0.95);
    range(ClipKind::Walk, 1.25, 1.45);
    range(ClipKind::Jog, 2.2, 2.8);
    range(ClipKind::Run, 3.3, 4.2);
}

#[test]
fn knees_bend_forward_only_and_no_joint_pops() {
    for body in sample_bodies() {
        for kind in ClipKind::ALL {
            let clip = clip(kind, &body);
            let rate = key_rate(&clip);
            let steps = (f64::from(clip.duration) * rate).round() as usize;
            let mut last: Option<Vec<DQuat>> = None;
            for step in 0..=steps {
                let models = pose_at(&body, &clip, step as f64 / rate);
                for side in Side::BOTH {
                    let at = |role: Role| models[joint(&body, role)].0;
                    let (hip, knee, ankle) =
                        (at(Role::Thigh(side)), at(Role::Shin(side)), at(Role::Foot(side)));
                    let flexion = (knee - hip).angle_between(ankle - knee).to_degrees();
                    assert!(
                        (2.0..130.0).contains(&flexion),
                        "{kind:?} {:?} knee {flexion} at {step}",
                        body.kind
                    );
                    let hips = joint(&body, Role::Hips);
                    let forward = models[hips].1 * rest(&body)[hips].1.inverse() * DVec3::Z;
                    assert!(
                        (knee - hip.midpoint(ankle)).dot(forward) > 0.0,
                        "{kind:?}: knee behind at {step}"
                    );
                }
                let locals: Vec<DQuat> = models
                    .iter()
                    .zip(&body.character.skeleton.joints)
                    .map(|(m, j)| j.parent.map_or(m.1, |p| models[usize::from(p)].1.inverse() * m.1))
                    .collect();
                if let Some(last) = &last {
                    for (i, (a, b)) in last.iter().zip(&locals).enumerate() {
                        let speed = 2.0 * a.dot(*b).abs().min(1.0).acos() * rate;
                        let name = &body.character.skeleton.joints[i].name;
                        assert!(speed < 25.0, "{kind:?} {name}: {speed:.1} rad/s at {step}");
                    }
                }
                last = Some(locals);
            }
        }
    }
}

#[test]
fn one_plan_moves_alike_on_every_rig() {
    // Axes, reference pose, joint set and place of the travel differ; where the limbs are does not.
    let plan = BodyPlan::stocky();
    let bodies = RigKind::ALL.map(|kind| character(kind, &plan));
    let mut roles = vec![Role::Hips];
    for side in Side::BOTH {
        roles.extend([Role::Thigh(side), Role::Shin(side), Role::Foot(side), Role::Toe(side)]);
    }
    let arm = |body: &BuiltIn, models: &[(DVec3, DQuat)], side: Side| {
        let at = |role: Role| models[joint(body, role)].0;
        [
            (at(Role::Forearm(side)) - at(Role::UpperArm(side))).normalize(),
            (at(Role::Hand(side)) - at(Role::Forearm(side))).normalize(),
            (at(Role::Finger(side, Digit::Ring, 1)) - at(Role::Finger(side, Digit::Ring, 0))).normalize(),
        ]
    };
    for kind in ClipKind::ALL {
        let clips = bodies.each_ref().map(|body| clip(kind, body));
        for step in 0..8 {
            let t = f64::from(clips[0].duration) * f64::from(step) / 8.0;
            let [reference, others @ ..] = [0, 1, 2, 3].map(|i| pose_at(&bodies[i], &clips[i], t));
            for (body, models) in bodies[1..].iter().zip(others) {
                for &role in &roles {
                    let gap = (models[joint(body, role)].0 - reference[joint(&bodies[0], role)].0).length();
                    assert!(gap < 2e-5, "{kind:?} {:?} {role}: {gap}", body.kind);
                }
                for side in Side::BOTH {
                    for (a, b) in arm(body, &models, side).into_iter().zip(arm(&bodies[0], &reference, side))
                    {
                        assert!((a - b).length() < 1e-4, "{kind:?} {:?} {side:?} arm", body.kind);
                    }
                }
            }
        }
    }
}

#[test]
fn travel_is_where_the_rig_says() {
    for body in sample_bodies() {
        let clip = clip(ClipKind::Walk, &body);
        let moved = |joint: usize| {
            let start = clip.sample(&body.character.skeleton, 0.0)[joint].translation;
            clip.sample(&body.character.skeleton, clip.duration)[joint].translation.distance(start)
        };
        let hips = joint(&body, Role::Hips);
        match clip.root {
            RootSource::Joint(root) => {
                assert!(moved(root.into()) > 0.5 && moved(hips) < 1e-5, "{:?}", body.kind)
            }
            RootSource::Hips => {
                assert!(moved(hips) > 0.5);
                let parent = body.character.skeleton.joints[hips].parent;
                assert!(parent.is_none_or(|p| moved(p.into()) == 0.0), "{:?}", body.kind);
            }
            RootSource::InPlace { .. } => panic!("no built-in clip marches on the spot"),
        }
    }
}

#[test]
fn start_and_stop_join_idle_and_walk() {
    for body in sample_bodies() {
        let [idle, walk, start, stop] =
            [ClipKind::Idle, ClipKind::Walk, ClipKind::Start, ClipKind::Stop].map(|kind| clip(kind, &body));
        let same = |a: &RawClip, ta: f64, b: &RawClip, tb: f64, what: &str| {
            let (pa, pb) = (pose_at(&body, a, ta), pose_at(&body, b, tb));
            let hips = joint(&body, Role::Hips);
            let shift = DVec3::new(1.0, 0.0, 1.0) * (pb[hips].0 - pa[hips].0);
            for (i, (a, b)) in pa.iter().zip(&pb).enumerate().skip(1) {
                assert!((a.0 + shift - b.0).length() < 1e-4, "{:?} {what}: joint {i}", body.kind);
                assert!(a.1.dot(b.1).abs() > 1.0 - 1e-7, "{:?} {what}: joint {i}", body.kind);
            }
        };
        let end = |clip: &RawClip| f64::from(clip.duration);
        same(&start, 0.0, &idle, 0.0, "start from idle");
        same(&start, end(&start), &walk, 0.0, "start into walk");
        same(&stop, 0.0, &walk, 0.0, "stop from walk");
        same(&stop, end(&stop), &idle, 0.0, "stop into idle");
        let turn = clip(ClipKind::TurnRight, &body);
        same(&turn, 0.0, &idle, 0.0, "turn from idle");
        // Leaves and arrives at the walk's speed.
        let speed = |clip: &RawClip, t: f64| {
            let hips = |t: f64| pose_at(&body, clip, t)[joint(&body, Role::Hips)].0.z;
            (hips(t + 0.5 / 60.0) - hips(t - 0.5 / 60.0)) * 60.0
        };
        let walking = speed(&walk, 0.5 / 60.0);
        assert!(
            (speed(&start, end(&start) - 0.5 / 60.0) - walking).abs() < 0.08 * walking,
            "{:?}",
            body.kind
        );
        assert!((speed(&stop, 0.5 / 60.0) - walking).abs() < 0.08 * walking, "{:?}", body.kind);
        assert!(speed(&start, 0.5 / 60.0).abs() < 0.05 && speed(&stop, end(&stop) - 0.5 / 60.0).abs() < 0.05);
    }
}

#[test]
fn heads_stay_level_and_soles_above_the_ground() {
    for body in sample_bodies() {
        let head = joint(&body, Role::Head);
        let rest = rest(&body);
        let mesh = &body.character.meshes[0];
        let skin = &body.character.skins[0];
        let feet: Vec<usize> = (0..mesh.positions.len()).filter(|&v| mesh.positions[v][1] < 0.06).collect();
        assert!(feet.len() > 100);
        for kind in ClipKind::ALL {
            let clip = clip(kind, &body);
            for step in 0..24 {
                let models = pose_at(&body, &clip, f64::from(clip.duration) * f64::from(step) / 24.0);
                let up = models[head].1 * rest[head].1.inverse() * DVec3::Y;
                assert!(up.angle_between(DVec3::Y).to_degrees() < 12.0, "{kind:?}: head tilted");
                for &v in &feet {
                    let p = glam::Vec3::from(mesh.positions[v]).as_dvec3();
                    let height: f64 = (0..4)
                        .map(|k| {
                            let entry = usize::from(mesh.joints[v][k]);
                            let (t, q) = models[usize::from(skin.joints[entry])];
                            let local = skin.inverse_binds[entry].as_dmat4().transform_point3(p);
                            (t + q * local).y * f64::from(mesh.weights[v][k])
                        })
                        .sum();
                    assert!(height > -0.006, "{kind:?} {:?}: sole {height} at step {step}", body.kind);
                }
            }
        }
    }
}

#[test]
fn gaits_have_the_duty_factors_of_the_literature() {
    let body = character(RigKind::Aligned, &BodyPlan::adult());
    for (kind, low, high) in [
        (ClipKind::SlowWalk, 0.57, 0.68),
        (ClipKind::Walk, 0.52, 0.64),
        (ClipKind::Jog, 0.30, 0.48),
        (ClipKind::Run, 0.25, 0.42),
    ] {
        let clip = clip(kind, &body);
        for foot in &clip.contacts.as_ref().unwrap().feet {
            let (down, up) = (foot.heel[0].start, foot.ball[0].end);
            let duty = (up - down).rem_euclid(clip.duration) / clip.duration;
            assert!((low..high).contains(&duty), "{kind:?} {:?}: {duty}", foot.side);
        }
    }
}

#[test]
fn wild_numbers_give_a_body_or_a_refusal_never_a_panic() {
    let mut plan = BodyPlan::adult();
    (plan.stature, plan.leg, plan.head, plan.foot) = (f64::NAN, f64::INFINITY, -3.0, 0.0);
    let body = character(RigKind::Deform, &plan);
    body.character.skeleton.validate().unwrap();
    assert!(clip(ClipKind::Walk, &body).validate(&body.character.skeleton).is_ok());
    let wild = Gait { speed: f64::NAN, period: f64::INFINITY, ball_up: -1.0, turn: 1e9, ..Gait::run(0.0) };
    assert!(gait_clip("wild", &wild, &body).0.validate(&body.character.skeleton).is_ok());
    let broken = Gait { lean: f64::NAN, ..Gait::walk(0.4) };
    assert!(gait_clip("broken", &broken, &body).0.validate(&body.character.skeleton).is_err());
}

#[test]
fn variants_keep_their_contacts() {
    let mut between = 0.0f64;
    for body in variants(1, 56) {
        for kind in [ClipKind::Walk, ClipKind::Run, ClipKind::Start] {
            let clip = clip(kind, &body);
            for foot in &clip.contacts.as_ref().unwrap().feet {
                for (heel, list) in [(true, &foot.heel), (false, &foot.ball)] {
                    for interval in list {
                        between = between.max(check_contact(
                            &body,
                            &clip,
                            foot.side,
                            heel,
                            interval.start,
                            interval.end,
                        ));
                    }
                }
            }
        }
    }
    assert!(between < 2e-4, "{between}");
}

#[test]
fn meshes_are_closed_weighted_and_made_of_a_few_thousand_triangles() {
    for body in every_body() {
        for mesh in &body.character.meshes {
            let skin = &body.character.skins[mesh.skin];
            for (weights, joints) in mesh.weights.iter().zip(&mesh.joints) {
                assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                assert!(weights.windows(2).all(|w| w[0] >= w[1]) && weights[3] >= 0.0 && weights[4] == 0.0);
                assert!(joints.iter().all(|&j| usize::from(j) < skin.joints.len()));
            }
            assert_eq!(mesh.positions.len(), mesh.normals.len());
            // Closed: every directed edge has its opposite.
            let edges: HashSet<(u32, u32)> =
                mesh.indices.chunks(3).flat_map(|t| [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])]).collect();
            assert_eq!(edges.len(), mesh.indices.len(), "an edge is used twice the same way round");
            assert!(edges.iter().all(|&(a, b)| edges.contains(&(b, a))), "the surface has a hole");
            assert!(mesh.indices.iter().all(|&i| (i as usize) < mesh.positions.len()));
        }
        let triangles = body.character.meshes[0].indices.len() / 3;
        assert!((2500..7000).contains(&triangles), "{triangles} triangles");
    }
    assert!(every_body().iter().any(|b| b.character.skins.len() > 1));
}

#[test]
fn content_is_deterministic_and_variants_differ() {
    let (a, b) = (variants(7, 52), variants(7, 52));
    let statures: HashSet<u64> = a.iter().map(|v| v.plan.stature.to_bits()).collect();
    assert_eq!(statures.len(), 52);
    for (a, b) in a.iter().zip(&b) {
        assert_eq!(a.character, b.character);
    }
    assert_ne!(variants(8, 1)[0].character, a[0].character);
    let body = &a[0];
    assert_eq!(clip(ClipKind::Jog, body), clip(ClipKind::Jog, body));
}

#[test]
fn a_library_of_256_clips_is_distinct_and_sound() {
    let body = character(RigKind::Aligned, &BodyPlan::adult());
    let clips = library(&body, 256);
    let names: HashSet<&str> = clips.iter().map(|c| c.name.as_str()).collect();
    assert_eq!((clips.len(), names.len()), (256, 256));
    let mut poses = HashSet::new();
    let knees = Side::BOTH.map(|s| (Role::Thigh(s), Role::Shin(s), Role::Foot(s)));
    for clip in &clips {
        clip.validate(&body.character.skeleton).unwrap();
        let models = pose_at(&body, clip, 0.3 * f64::from(clip.duration));
        let hand = models[joint(&body, Role::Hand(Side::Left))].0;
        poses.insert(((hand.x * 1e6) as i64, (hand.y * 1e6) as i64, (hand.z * 1e6) as i64));
        for (hip, knee, ankle) in knees {
            let at = |role: Role| models[joint(&body, role)].0;
            let flexion = (at(knee) - at(hip)).angle_between(at(ankle) - at(knee)).to_degrees();
            assert!((2.0..135.0).contains(&flexion), "{}: knee {flexion}", clip.name);
        }
        for foot in &clip.contacts.as_ref().unwrap().feet {
            for (heel, list) in [(true, &foot.heel), (false, &foot.ball)] {
                for interval in list {
                    check_contact(&body, clip, foot.side, heel, interval.start, interval.end);
                }
            }
        }
    }
    assert_eq!(poses.len(), 256);
}
