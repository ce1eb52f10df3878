//! From a motion to keys on the joints of one rig.

use glam::{DQuat, Quat, Vec3};

use super::carriage::Posture;
use super::motion::{Motion, pelvis_position, solve_legs};
use super::rig::BuiltIn;
use crate::clip::{ClipEvent, Contacts, Curve, Interpolation, JointTracks, RawClip, RootSource};
use crate::rig::{Role, Side};

/// Keys at the motion's own rate, linear between; tracks that never change have one key, tracks that never
/// leave the rest pose none.
pub(super) fn bake(name: &str, body: &BuiltIn, motion: &Motion<'_>) -> RawClip {
    let joints = &body.character.skeleton.joints;
    let steps = (motion.duration * motion.rate).round().max(1.0) as usize;
    let times: Vec<f32> = (0..=steps).map(|i| (i as f64 / motion.rate) as f32).collect();
    let hips = body.roles.joint(Role::Hips).map_or(0, usize::from);
    let root_source = body.kind.root_source();
    let travelling_root = matches!(root_source, RootSource::Joint(_));

    let mut rotations: Vec<Vec<Quat>> = vec![Vec::with_capacity(times.len()); joints.len()];
    let mut translations: Vec<Vec<Vec3>> = vec![Vec::new(); joints.len()];
    let mut models = vec![DQuat::IDENTITY; joints.len()];
    for step in 0..=steps {
        let frame = motion.at(step as f64 / motion.rate);
        let legs = solve_legs(&body.anatomy, &frame);
        let posture = Posture::new(body.kind.chains(), &frame.carriage, frame.root.yaw, legs);
        let root_turn =
            if travelling_root { DQuat::from_rotation_y(frame.root.yaw) } else { DQuat::IDENTITY };
        let root_at = if travelling_root { frame.root.point(glam::DVec3::ZERO) } else { glam::DVec3::ZERO };
        let pelvis = pelvis_position(&body.anatomy, &frame);
        for (i, joint) in joints.iter().enumerate() {
            models[i] = body.rotation(&posture, i, root_turn) * body.axes[i];
            let local = match joint.parent {
                Some(p) => models[usize::from(p)].inverse() * models[i],
                None => models[i],
            };
            let mut key = local.normalize().as_quat();
            if let Some(last) = rotations[i].last()
                && last.dot(key) < 0.0
            {
                key = -key;
            }
            rotations[i].push(key);
        }
        if let Some(root) = joints[hips].parent {
            let root = usize::from(root);
            translations[hips].push((models[root].inverse() * (pelvis - root_at)).as_vec3());
            if travelling_root {
                translations[root].push(root_at.as_vec3());
            }
        } else {
            translations[hips].push(pelvis.as_vec3());
        }
    }

    let tracks = joints
        .iter()
        .enumerate()
        .filter_map(|(i, joint)| {
            let rotation = curve(&times, std::mem::take(&mut rotations[i]), |&q| {
                let rest = joint.rest.rotation;
                (q - rest).length().min((q + rest).length()) < 1e-6
            });
            let translation = curve(&times, std::mem::take(&mut translations[i]), |&p| {
                p.distance(joint.rest.translation) < 1e-7
            });
            (rotation.is_some() || translation.is_some()).then_some(JointTracks {
                joint: i as u16,
                translation,
                rotation,
                scale: None,
            })
        })
        .collect();
    RawClip {
        name: name.to_owned(),
        start: 0.0,
        duration: (steps as f64 / motion.rate) as f32,
        tracks,
        looping: motion.looping,
        root: root_source,
        events: steps_of(&motion.contacts()),
        contacts: Some(motion.contacts()),
        ..RawClip::default()
    }
}

/// `step_left` and `step_right` at every touch-down.
fn steps_of(contacts: &Contacts) -> Vec<ClipEvent> {
    let mut events = Vec::new();
    for foot in &contacts.feet {
        let name = match foot.side {
            Side::Left => "step_left",
            Side::Right => "step_right",
        };
        let downs = if foot.heel.is_empty() { &foot.ball } else { &foot.heel };
        events.extend(downs.iter().map(|down| ClipEvent { time: down.start, name: name.to_owned() }));
    }
    events
}

fn curve<T: Copy + PartialEq>(
    times: &[f32],
    values: Vec<T>,
    is_rest: impl Fn(&T) -> bool,
) -> Option<Curve<T>> {
    let first = *values.first()?;
    let constant = values.iter().all(|v| *v == first);
    if constant && is_rest(&first) {
        return None;
    }
    let (times, values) = if constant { (vec![0.0], vec![first]) } else { (times.to_vec(), values) };
    Some(Curve { times, values, interpolation: Interpolation::Linear })
}
