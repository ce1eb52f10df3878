//! Feet and hands that have somewhere to be, parts that a source lacks, twist, and the same bits again.

#[path = "support/bodies.rs"]
#[allow(dead_code)]
mod bodies;

use bodies::{Body, bodies};
use glam::{DMat4, DQuat, DVec3};
use throng::clip::{RawClip, RootSource};
use throng::content::{self, ClipKind};
use throng::retarget::{
    ContactMode, FallbackRule, Judged, ReachRule, RetargetOptions, RetargetTarget, Retargeted, judge,
    retarget,
};
use throng::rig::{Digit, Grip, Limb, Rig, Role, RoleMap, Side};

/// Model matrices of all joints.
fn models(body: &Body, clip: &RawClip, time: f32) -> Vec<DMat4> {
    let skeleton = &body.character.skeleton;
    let mut out: Vec<DMat4> = Vec::new();
    for (joint, local) in clip.sample(skeleton, time).iter().enumerate() {
        let rotation = local.rotation.as_dquat().normalize();
        let own = DMat4::from_rotation_translation(rotation, local.translation.as_dvec3());
        out.push(body.parent(joint).map_or(own, |parent| out[parent] * own));
    }
    out
}

fn onto(source: &Body, clip: &RawClip, target: &Body, rig: &Rig, options: &RetargetOptions) -> Retargeted {
    let body = RetargetTarget {
        skeleton: &target.character.skeleton,
        roles: &target.roles,
        reference: &target.reference,
        rig,
    };
    retarget(source.source(), clip, body, options).expect("retargets")
}

fn joint(body: &Body, role: Role) -> usize {
    body.roles.joint(role).expect("the part").into()
}

/// Wrist, and rotation since the reference pose.
fn hand(body: &Body, models: &[DMat4], side: Side) -> (DVec3, DQuat) {
    let hand = joint(body, Role::Hand(side));
    let (_, q, at) = models[hand].to_scale_rotation_translation();
    (at, q * body.reference.rotation(hand).inverse())
}

/// Wrist to middle knuckle in the reference pose, where both bodies have one.
fn palm(body: &Body, other: &Body, side: Side) -> DVec3 {
    let finger = Role::Finger(side, Digit::Middle, 0);
    match (body.roles.joint(finger), other.roles.joint(finger)) {
        (Some(own), Some(_)) => {
            body.reference.position(own.into()) - body.reference.position(joint(body, Role::Hand(side)))
        }
        _ => DVec3::ZERO,
    }
}

/// Largest distance of the second hand's grip from where the source's hands have it, metres, and of the hand's turn.
fn off_grip(source: &Body, clip: &RawClip, target: &Body, done: &RawClip, scale: f64) -> (f64, f64) {
    let (mut far, mut turned) = (0.0f64, 0.0f64);
    for frame in 0..=40 {
        let time = clip.duration * frame as f32 / 40.0;
        let (a, b) = (models(source, clip, time), models(target, done, time));
        let own = [Side::Right, Side::Left].map(|side| {
            let (at, q) = hand(source, &a, side);
            (at + q * palm(source, target, side), q)
        });
        let have = [Side::Right, Side::Left].map(|side| {
            let (at, q) = hand(target, &b, side);
            (at + q * palm(target, source, side), q)
        });
        let goal = have[0].0 + have[0].1 * (own[0].1.inverse() * (own[1].0 - own[0].0)) * scale;
        far = far.max(goal.distance(have[1].0));
        turned = turned.max(have[1].1.angle_between(own[1].1 * (own[0].1.inverse() * have[0].1)));
    }
    (far, turned)
}

#[test]
fn feet_of_a_walk_stand_still_on_bodies_of_other_proportions() {
    let built = bodies();
    for own in &built {
        let source = Body::built(own);
        for kind in [ClipKind::Walk, ClipKind::Jog, ClipKind::TurnLeft] {
            let clip = content::clip(kind, own);
            for other in &built {
                let target = Body::built(other);
                let rig = target.rig();
                let done = onto(&source, &clip, &target, &rig, &RetargetOptions::default());
                let contacts = clip.contacts.as_ref().expect("authored");
                for foot in &contacts.feet {
                    let toe = joint(&target, Role::Toe(foot.side));
                    for interval in foot.ball.iter().filter(|own| own.start < own.end) {
                        let mut first: Option<DVec3> = None;
                        for step in 0..=30 {
                            let time = interval.start + (interval.end - interval.start) * step as f32 / 30.0;
                            let at = models(&target, &done.clip, time)[toe].w_axis.truncate();
                            let start = *first.get_or_insert(at);
                            let slid = (at - start).with_y(0.0).length();
                            let rest = target.reference.position(toe).y;
                            assert!(slid < 2e-3, "{kind:?}: {slid} m of {}", rig.name());
                            assert!((at.y - rest).abs() < 2e-2, "{kind:?}: {} m for {rest}", at.y);
                        }
                    }
                    // Knees stay in front.
                    for step in 0..30 {
                        let at = models(&target, &done.clip, clip.duration * step as f32 / 30.0);
                        let place = |role| at[joint(&target, role)].w_axis.truncate();
                        let (hip, knee, ankle) = (
                            place(Role::Thigh(foot.side)),
                            place(Role::Shin(foot.side)),
                            place(Role::Foot(foot.side)),
                        );
                        let along = (ankle - hip).normalize();
                        let bend = (knee - hip) - along * (knee - hip).dot(along);
                        let (_, turn, _) = at[joint(&target, Role::Hips)].to_scale_rotation_translation();
                        let ahead =
                            turn * target.reference.rotation(joint(&target, Role::Hips)).inverse() * DVec3::Z;
                        assert!(bend.dot(ahead) > -1e-3, "{kind:?}: a knee of {} bends back", rig.name());
                    }
                }
                let verdict = &done.verdict;
                assert!(verdict.bone_length_error < 1e-5, "{verdict:?}");
                let after = verdict.after_contacts.expect("solved");
                assert_eq!(after.flips, 0);
                assert!(after.stance_slide_mm_p99.expect("stances") < 2.0, "{after:?}");
                assert!(after.limb_direction_deg.expect("limbs").mean < 4.0, "{after:?}");
            }
        }
    }
}

#[test]
fn without_contacts_a_clip_is_what_proportions_make_of_it() {
    let built = bodies();
    let (source, target) = (Body::built(&built[0]), Body::built(&built[2]));
    let rig = target.rig();
    let clip = content::clip(ClipKind::Walk, &built[0]);
    let off = RetargetOptions { contacts: ContactMode::Off, ..RetargetOptions::default() };
    let kept = onto(&source, &clip, &target, &rig, &off);
    assert_eq!(kept.planted.stances, 0);
    assert!(kept.verdict.after_contacts.is_none());
    // On itself there is next to nothing to solve.
    let own = onto(&source, &clip, &source, &source.rig(), &RetargetOptions::default());
    assert!(own.planted.stances > 0 && own.planted.moved < 0.02, "{:?}", own.planted);
    assert!(own.planted.failures.is_empty(), "{:?}", own.planted);
    let mut silent = clip.clone();
    silent.contacts = None;
    let authored = RetargetOptions { contacts: ContactMode::Authored, ..RetargetOptions::default() };
    assert_eq!(onto(&source, &silent, &target, &rig, &authored).planted.stances, 0);
    let detected = onto(&source, &silent, &target, &rig, &RetargetOptions::default());
    assert!(detected.planted.detected && detected.planted.stances >= 2, "{:?}", detected.planted);
}

#[test]
fn a_pose_without_end_of_a_cycle_has_no_pop_at_its_seam() {
    let built = bodies();
    let (source, target) = (Body::built(&built[1]), Body::built(&built[3]));
    let clip = content::clip(ClipKind::Walk, &built[1]);
    let done = onto(&source, &clip, &target, &target.rig(), &RetargetOptions::default());
    let (keys, joints) = (&done.keys, done.keys.rotations.len() / done.keys.pelvis.len());
    let last = keys.pelvis.len() - 1;
    assert!(keys.looping && keys.pelvis[0].distance(keys.pelvis[last]) < 1e-9);
    for joint in 0..joints {
        let (a, b) = (keys.rotations[joint], keys.rotations[last * joints + joint]);
        assert!(a.angle_between(b) < 1e-6);
    }
}

#[test]
fn the_second_hand_goes_where_the_grip_is() {
    let built = bodies();
    for own in &built {
        for other in &built {
            let (source, target) = (Body::built(own), Body::built(other));
            let clip = content::clip(ClipKind::Walk, own);
            let rig = target.rig();
            let none = onto(&source, &clip, &target, &rig, &RetargetOptions::default());
            assert_eq!((none.verdict.hand_goal_error_mm_max, none.verdict.reach_failures), (None, 0));
            let ratio = f64::from(rig.leg()) / f64::from(source.rig().leg());
            // As large on the target as its arms are, so that it is within reach.
            let grip = Grip { scale: ratio, ..Grip::default() };
            let options = RetargetOptions { grips: vec![grip], ..RetargetOptions::default() };
            let done = onto(&source, &clip, &target, &rig, &options);
            let (far, turned) = off_grip(&source, &clip, &target, &done.clip, ratio);
            let told = done.verdict.hand_goal_error_mm_max.expect("a grip");
            let reached = done.verdict.reach.iter().all(|failure| failure.limb != "left.hand");
            assert!(!reached || far < 3e-3, "{far} m on {}: {:?}", rig.name(), done.verdict.reach);
            assert!(reached || far > 1e-3);
            assert!((told * 1e-3 - far).abs() < 2e-3, "{told} mm told, {far} m");
            assert!(turned < 2e-3, "{turned}");
            assert!(done.verdict.bone_length_error < 1e-5);
            let (was, _) = off_grip(&source, &clip, &target, &none.clip, ratio);
            assert!(far <= was + 2e-3, "{far} m, {was} m without");
        }
    }
}

#[test]
fn a_grip_out_of_reach_is_told_with_distance_and_length() {
    let built = bodies();
    let (source, target) = (Body::built(&built[0]), Body::built(&built[2]));
    let clip = content::clip(ClipKind::Idle, &built[0]);
    let grips = vec![Grip { scale: 6.0, start: 0.2, end: Some(0.8), ..Grip::default() }];
    let options = RetargetOptions { grips, ..RetargetOptions::default() };
    let done = onto(&source, &clip, &target, &target.rig(), &options);
    let failure = done.verdict.reach.iter().find(|own| own.limb == "left.hand").expect("out of reach");
    assert_eq!(failure.rule, ReachRule::SoftClamp);
    assert!(failure.target_m > failure.chain_m && (0.2..=0.8).contains(&failure.time), "{failure:?}");
    assert!(done.verdict.hand_goal_error_mm_max.expect("a grip") > 100.0);
    assert_eq!(done.verdict.reach_failures, done.verdict.reach.len());
    // Before it is taken and after it is let go, the hand is where it was.
    let free = onto(&source, &clip, &target, &target.rig(), &RetargetOptions::default());
    for time in [0.0f32, 1.05] {
        let at = |clip: &RawClip| hand(&target, &models(&target, clip, time), Side::Left).0;
        assert!(at(&done.clip).distance(at(&free.clip)) < 1e-6, "{time}");
    }
    let wrong = RetargetOptions {
        grips: vec![Grip { scale: f64::NAN, ..Grip::default() }],
        ..RetargetOptions::default()
    };
    let body = RetargetTarget {
        skeleton: &target.character.skeleton,
        roles: &target.roles,
        reference: &target.reference,
        rig: &target.rig(),
    };
    assert!(retarget(source.source(), &clip, body, &wrong).is_err());
}

/// A body that lacks some parts.
fn without(body: &Body, lost: impl Fn(Role) -> bool) -> Body {
    let mut other = body.clone();
    other.roles = RoleMap::new();
    for (role, joint) in body.roles.iter().filter(|(role, _)| !lost(*role)) {
        other.roles.set(role, joint);
    }
    other
}

#[test]
fn parts_that_a_source_lacks_have_a_rule_each_and_it_is_told() {
    let built = bodies();
    let (whole, target) = (Body::built(&built[1]), Body::built(&built[0]));
    let rig = target.rig();
    let clip = content::clip(ClipKind::Walk, &built[1]);
    let of = |source: &Body| onto(source, &clip, &target, &rig, &RetargetOptions::default());
    let told = |done: &Retargeted, part: &str| {
        let found = done.verdict.fallbacks.iter().find(|own| own.part == part);
        found.map(|own| (own.rule, own.on.clone()))
    };
    // No left arm: it stays on the chest as in the reference pose.
    let arm = [Role::Clavicle(Side::Left), Role::UpperArm(Side::Left), Role::Forearm(Side::Left)];
    let done = of(&without(&whole, |role| {
        arm.contains(&role) || matches!(role, Role::Hand(Side::Left) | Role::Finger(Side::Left, ..))
    }));
    assert!(
        matches!(told(&done, "left.arm"), Some((FallbackRule::KeepsReference, _))),
        "{:?}",
        done.verdict.fallbacks
    );
    assert_eq!(told(&done, "right.arm"), None);
    let chest = usize::from(*target.roles.spine().last().expect("a spine"));
    let wrist = joint(&target, Role::Hand(Side::Left));
    let right = target.reference.models[chest].inverse() * target.reference.models[wrist];
    for step in 0..10 {
        let at = models(&target, &done.clip, clip.duration * step as f32 / 10.0);
        let have = at[chest].inverse() * at[wrist];
        assert!((have.w_axis - right.w_axis).length() < 1e-4, "{step}");
    }
    // One joint of spine for all.
    let done = of(&without(&whole, |role| matches!(role, Role::Spine(i) if i > 0)));
    if target.roles.spine().len() > 1 {
        assert_eq!(told(&done, "spine").map(|(rule, _)| rule), Some(FallbackRule::Resampled));
    }
    let done = of(&without(&whole, |role| {
        matches!(role, Role::Neck(_) | Role::Hand(_) | Role::Finger(..) | Role::Clavicle(_) | Role::Toe(_))
    }));
    for (part, rule) in [
        ("neck", FallbackRule::FollowsBase),
        ("left.hand", FallbackRule::KeepsReference),
        ("right.toe", FallbackRule::KeepsReference),
        ("left.clavicle", FallbackRule::KeepsReference),
    ] {
        assert_eq!(
            told(&done, part).map(|(rule, _)| rule),
            Some(rule),
            "{part}: {:?}",
            done.verdict.fallbacks
        );
    }
    let directions = done.verdict.limb_direction_deg.expect("limbs");
    assert!(directions.max < 5.0, "what is there comes over: {directions:?}");
    assert!(of(&whole).verdict.fallbacks.iter().all(|own| !own.part.contains('.')), "nothing is missing");
}

#[test]
fn twist_that_a_limb_has_not_is_told() {
    let built = bodies();
    let twists = |body: &Body| body.roles.joint(Role::Twist(Side::Left, Limb::Forearm, 0));
    let all: Vec<Body> = built.iter().map(Body::built).collect();
    let at = all.iter().position(|body| twists(body).is_none()).expect("a body without twist joints");
    let source = &all[at];
    let target = all.iter().find(|body| twists(body).is_some()).expect("a body with twist joints");
    let clip = content::clip(ClipKind::Jog, &built[at]);
    let rig = target.rig();
    let done = onto(source, &clip, target, &rig, &RetargetOptions::default());
    let right = done.verdict.twist_error_deg.expect("limbs with ends");
    assert!(right < 2.0, "{right}");
    // The same clip with a twist joint, and then a hand, turned a quarter too far.
    let judged = |clip: &RawClip| {
        let from = Judged {
            skeleton: &source.character.skeleton,
            roles: &source.roles,
            reference: &source.reference,
            clip: &content::clip(ClipKind::Jog, &built[at]),
        };
        let to = Judged {
            skeleton: &target.character.skeleton,
            roles: &target.roles,
            reference: &target.reference,
            clip,
        };
        judge(from, to).twist_error_deg.expect("limbs with ends")
    };
    for role in [Role::Twist(Side::Left, Limb::Forearm, 0), Role::Hand(Side::Left)] {
        let mut wrong = done.clip.clone();
        let turned = target.roles.joint(role).expect("the part");
        let (fore, wrist) = (joint(target, Role::Forearm(Side::Left)), joint(target, Role::Hand(Side::Left)));
        let along = (target.reference.position(wrist) - target.reference.position(fore)).normalize();
        let own = target.reference.rotation(turned.into());
        let axis = own.inverse() * along;
        let by = DQuat::from_axis_angle(axis, 1.5).as_quat();
        let rest = target.character.skeleton.joints[usize::from(turned)].rest.rotation;
        let track = wrong.tracks.iter_mut().find(|track| track.joint == turned);
        match track.and_then(|track| track.rotation.as_mut()) {
            Some(curve) => curve.values.iter_mut().for_each(|q| *q = (*q * by).normalize()),
            None => {
                let rotation = Some(bodies::held(rest * by));
                let track = throng::clip::JointTracks { joint: turned, rotation, ..Default::default() };
                wrong.tracks.push(track);
            }
        }
        let error = judged(&wrong);
        assert!(error > 60.0, "{role}: {error}");
    }
    let none = without(source, |role| {
        matches!(role, Role::Hand(_) | Role::Foot(_) | Role::Forearm(_) | Role::Shin(_))
    });
    let nothing = onto(&none, &clip, target, &rig, &RetargetOptions::default());
    assert_eq!(nothing.verdict.twist_error_deg, None);
}

/// cases.md C33: whatever is retargeted before, between or at the same time.
#[test]
fn retargeting_again_gives_the_same_bits_whatever_else_is_done() {
    let built = bodies();
    let (a, b, c) = (Body::built(&built[0]), Body::built(&built[2]), Body::built(&built[3]));
    let (walk, jog) = (content::clip(ClipKind::Walk, &built[0]), content::clip(ClipKind::Jog, &built[2]));
    let rig = b.rig();
    let grips = vec![Grip::default()];
    let options = RetargetOptions { grips, ..RetargetOptions::default() };
    let first = onto(&a, &walk, &b, &rig, &options);
    let bits = |clip: &RawClip| {
        let mut out = Vec::new();
        for track in &clip.tracks {
            out.extend(track.rotation.iter().flat_map(|curve| &curve.values).flat_map(|q| q.to_array()));
            out.extend(track.translation.iter().flat_map(|curve| &curve.values).flat_map(|t| t.to_array()));
        }
        out.into_iter().map(f32::to_bits).collect::<Vec<u32>>()
    };
    // The target's clip as source, another target, and a rig built anew, on several threads at a time.
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    onto(&b, &jog, &c, &c.rig(), &options);
                    onto(&b, &first.clip, &a, &a.rig(), &options);
                    onto(&a, &walk, &b, &b.rig(), &options)
                })
            })
            .collect();
        for worker in workers {
            let again = worker.join().expect("no panic");
            assert_eq!(bits(&first.clip), bits(&again.clip));
            assert_eq!(first.keys, again.keys);
            assert_eq!(first.verdict, again.verdict);
        }
    });
    assert!(!matches!(first.clip.root, RootSource::InPlace { .. }));
}
