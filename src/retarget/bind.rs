//! Binding: a raw clip on its own skeleton becomes motion keys of a topology, then rows.

use glam::{DMat4, DQuat, DVec3};

use super::chains::{Source, sources};
use super::detect;
use super::root::{Travel, extract};
use super::twist;
use crate::clip::{
    BoundClip, KEY_RATE, MAX_SECONDS, MIN_SECONDS, MotionKeys, RawClip, RootSource, SyncMarkers,
    contact_weight,
};
use crate::error::BuildError;
use crate::rig::{
    JointKey, MAX_FEET, NO_PARENT, RawSkeleton, ReferencePose, Rig, Role, RoleMap, Side, carrier, leg_length,
};

/// Whose clip it is.
#[derive(Clone, Copy, Debug)]
pub struct BindSource<'a> {
    /// The skeleton that the clip moves.
    pub skeleton: &'a RawSkeleton,
    /// What its joints are.
    pub roles: &'a RoleMap,
    /// Its reference pose, in which it stands as the target stands in its own.
    pub reference: &'a ReferencePose,
}

/// Farthest that a point of the body may be from where the clip has it, in model space, for what is lost between
/// keys; leg lengths. About 3 mm of an adult, at the worst point of the worst pair of keys.
pub const TOLERANCE: f64 = 1.0 / 300.0;

/// Most keys per second that [`bind`] goes up to.
const MAX_RATE: f64 = 60.0;

/// Keys per second that can be asked for.
const RATES: core::ops::RangeInclusive<f64> = 1.0..=240.0;

/// Most keys times joints of one clip, of source or target: an hour of 77 joints at 60 keys per second. A bound
/// clip then takes 128 MiB.
const MAX_JOINT_KEYS: usize = 1 << 24;

/// Binds a clip to the topology of `rig`, with as many keys per second as [`TOLERANCE`] asks for: 30 or 60.
/// The rows serve every rig of that topology; `rig` only gives the proportions by which spines of different joint
/// counts are matched and errors are measured.
///
/// # Errors
/// If the clip is not valid for the source skeleton, or the result cannot be told in rows.
pub fn bind(source: BindSource<'_>, clip: &RawClip, rig: &Rig) -> Result<BoundClip, BuildError> {
    BoundClip::build(rig.topology(), &fitting_keys(source, clip, rig)?)
}

/// The keys of [`bind`] before quantisation.
///
/// # Errors
/// If the clip is not valid for the source skeleton.
pub fn fitting_keys(source: BindSource<'_>, clip: &RawClip, rig: &Rig) -> Result<MotionKeys, BuildError> {
    finest(|rate| motion_keys(source, clip, rig, rate), rig, TOLERANCE)
}

/// Keys at 30 or 60 per second, so that no more than `tolerance` leg lengths are lost half way between them.
pub(super) fn finest(
    make: impl Fn(f64) -> Result<MotionKeys, BuildError>,
    rig: &Rig,
    tolerance: f64,
) -> Result<MotionKeys, BuildError> {
    let mut rate = KEY_RATE;
    let mut keys = make(rate)?;
    while rate < MAX_RATE {
        let finer = make(2.0 * rate)?;
        let doubled = 2 * (keys.pelvis.len() - 1) == finer.pelvis.len() - 1;
        if doubled && error_between(&keys, &finer, rig) <= tolerance {
            break;
        }
        (keys, rate) = (finer, 2.0 * rate);
    }
    Ok(keys)
}

/// What a clip with half the keys of `finer` loses half way between them: the largest distance of a joint, or of a
/// point a tenth of a leg off it, in leg lengths.
fn error_between(keys: &MotionKeys, finer: &MotionKeys, rig: &Rig) -> f64 {
    let joints = rig.topology().len();
    let leg = f64::from(rig.leg());
    let mut worst = 0.0f64;
    for key in 0..keys.pelvis.len() - 1 {
        let row =
            |keys: &'_ MotionKeys, key: usize| keys.rotations[key * joints..(key + 1) * joints].to_vec();
        let mixed: Vec<DQuat> = row(keys, key)
            .iter()
            .zip(row(keys, key + 1))
            .map(|(a, b)| {
                let b = if a.dot(b) < 0.0 { -b } else { b };
                (*a * 0.5 + b * 0.5).normalize()
            })
            .collect();
        let pelvis = (keys.pelvis[key] + keys.pelvis[key + 1]) * 0.5;
        let is = model_points(rig, &mixed, pelvis * leg);
        let wants = model_points(rig, &row(finer, 2 * key + 1), finer.pelvis[2 * key + 1] * leg);
        for ((p, q), (r, s)) in is.into_iter().zip(wants) {
            worst = worst.max((p - r).length()).max((q - s).length());
        }
    }
    worst / leg
}

/// Model position of every joint and of a point a tenth of a leg to its side, metres.
fn model_points(rig: &Rig, rotations: &[DQuat], pelvis: DVec3) -> Vec<(DVec3, DVec3)> {
    let topology = rig.topology();
    let mut model: Vec<(DVec3, DQuat)> = Vec::with_capacity(rotations.len());
    for (joint, (&parent, local)) in topology.parents().iter().zip(rotations).enumerate() {
        let (at, above) =
            if parent == NO_PARENT { (DVec3::ZERO, DQuat::IDENTITY) } else { model[usize::from(parent)] };
        let [x, y, z] = rig.offsets()[joint].map(f64::from);
        let moved = if joint == usize::from(topology.pelvis()) { pelvis } else { DVec3::ZERO };
        model.push((at + above * DVec3::new(x, y, z) + moved, above * *local));
    }
    let side = DVec3::new(0.1 * f64::from(rig.leg()), 0.0, 0.0);
    model.into_iter().map(|(at, turn)| (at, at + turn * side)).collect()
}

/// Motion of a clip on the topology of `rig`, before quantisation, with about `rate` keys per second, 1 to 240. A
/// clip shorter than [`MIN_SECONDS`] is a single pose, which is held for one key interval.
///
/// # Errors
/// If clip, roles or reference pose are not valid for the source skeleton, the clip is longer than [`MAX_SECONDS`] or
/// needs too many keys, or the rate is out of range.
pub fn motion_keys(
    source: BindSource<'_>,
    clip: &RawClip,
    rig: &Rig,
    rate: f64,
) -> Result<MotionKeys, BuildError> {
    let BindSource { skeleton, roles, reference } = source;
    skeleton.validate()?;
    roles.validate(skeleton.joints.len())?;
    clip.validate(skeleton)?;
    if reference.models.len() != skeleton.joints.len() || !reference.models.iter().all(|m| m.is_finite()) {
        return Err(BuildError::ReferencePose { have: reference.models.len(), need: skeleton.joints.len() });
    }
    if !RATES.contains(&rate) {
        let right = "1 to 240 keys per second can be made";
        return Err(BuildError::Input { what: "the key rate", value: rate as f32, right });
    }
    let lasts = f64::from(clip.duration);
    if lasts > MAX_SECONDS {
        return Err(BuildError::BoundDuration {
            clip: clip.name.clone(),
            duration: lasts,
            least: 0.0,
            most: MAX_SECONDS,
        });
    }
    // A single pose is held for one key interval.
    let held = lasts < MIN_SECONDS;
    let duration = if held { 1.0 / rate } else { lasts };
    // Doubled exactly when the rate is: keys at one rate are keys at the next.
    let intervals = ((duration * KEY_RATE).round().max(1.0) * (rate / KEY_RATE)).round().max(1.0) as usize;
    let count = intervals + 1;
    let step = duration / intervals as f64;
    let most = skeleton.joints.len().max(rig.topology().len());
    if count.saturating_mul(most) > MAX_JOINT_KEYS {
        return Err(BuildError::ClipSize {
            clip: clip.name.clone(),
            keys: count,
            joints: most,
            limit: MAX_JOINT_KEYS,
        });
    }

    let time = |key: usize| if held { 0.0 } else { (key as f64 * step) as f32 };
    let poses = source_poses(source, clip, (0..count).map(|key| f64::from(time(key))));

    let carrier = usize::from(carrier(skeleton, roles));
    let hips = roles.joint(Role::Hips).map_or(carrier, usize::from);
    let leg = leg_length(skeleton, roles, reference);
    let positions: Vec<DVec3> = poses.iter().map(|pose| pose.positions[carrier]).collect();
    let rotations: Vec<DQuat> = poses.iter().map(|pose| pose.since_reference[hips]).collect();
    let joint = match clip.root {
        RootSource::Joint(joint) => {
            let joint = usize::from(joint);
            Some((
                poses.iter().map(|p| p.positions[joint] - reference.position(joint)).collect::<Vec<_>>(),
                poses.iter().map(|p| p.since_reference[joint]).collect::<Vec<_>>(),
            ))
        }
        _ => None,
    };
    // Hips that turn do so about the root. Where the target has its hips beside it, the source's root is put as far
    // beside them: both then go the same way, whatever they turn about.
    let seat = match clip.root {
        RootSource::Hips => seat(reference.position(carrier), leg, rig),
        _ => reference.position(carrier),
    };
    let root = extract(
        clip.root,
        &Travel {
            position: &positions,
            rotation: &rotations,
            joint: joint.as_ref().map(|(p, r)| (p.as_slice(), r.as_slice())),
            reference: seat,
            step,
            looping: clip.looping,
        },
    );
    // An in-place clip does not move its joints: its travel is told, not taken out.
    let taken: Vec<[f64; 3]> = match clip.root {
        RootSource::InPlace { .. } => vec![[0.0; 3]; count],
        _ => root.clone(),
    };

    let map = sources(skeleton, roles, reference, rig);
    let topology = rig.topology();
    let parents = topology.parents();
    let joints = parents.len();
    let above = |model: &[DQuat], parent: u16| match parent {
        NO_PARENT => DQuat::IDENTITY,
        parent => model[usize::from(parent)],
    };
    let mut keys = MotionKeys {
        name: clip.name.clone(),
        duration,
        looping: clip.looping,
        contacts: clip.contacts.clone(),
        events: clip.events.clone(),
        sync: sync_markers(clip),
        ..MotionKeys::default()
    };
    let mut model = vec![DQuat::IDENTITY; joints];
    let mut shared = twist::shared(roles, rig);
    for (pose, &[x, z, yaw]) in poses.iter().zip(&taken) {
        let back = DQuat::from_rotation_y(-yaw);
        for joint in 0..joints {
            let above = above(&model, parents[joint]);
            let of = |j: u16| back * pose.since_reference[usize::from(j)];
            model[joint] = match map[joint] {
                Source::Keep => above,
                Source::Still => DQuat::IDENTITY,
                Source::Joint(j) => of(j),
                Source::Between(a, b, u) => of(a).slerp(of(b), u),
            };
        }
        if !shared.is_empty() {
            shared.iter_mut().for_each(|limb| limb.apply(&mut model));
            let helper = |joint| matches!(topology.keys()[joint], JointKey::Role(Role::Twist(..)));
            twist::follow(&mut model, topology, |joint| map[joint] == Source::Keep && !helper(joint));
        }
        for joint in 0..joints {
            keys.rotations.push((above(&model, parents[joint]).inverse() * model[joint]).normalize());
        }
        let pelvis = back * (pose.positions[carrier] - DVec3::new(x, 0.0, z));
        keys.pelvis.push((pelvis - seat) / leg);
    }
    let origin = root[0];
    let (s, c) = origin[2].sin_cos();
    keys.origin = [origin[0] / leg, origin[1] / leg, origin[2]];
    keys.root = root
        .iter()
        .map(|[x, z, yaw]| {
            let (dx, dz) = ((x - origin[0]) / leg, (z - origin[1]) / leg);
            [c * dx - s * dz, s * dx + c * dz, yaw - origin[2]]
        })
        .collect();
    keys.contact = contact_rows(source, clip, rig, &poses, &root, &taken, step);
    Ok(keys)
}

/// The pelvis of the source in its reference pose, as far beside the root as the target's is; unchanged where they agree.
fn seat(own: DVec3, leg: f64, rig: &Rig) -> DVec3 {
    let theirs = rig.positions()[usize::from(rig.topology().pelvis())] * (leg / f64::from(rig.leg()));
    let seat = DVec3::new(theirs.x, own.y, theirs.z);
    if seat.distance(own) < 1e-6 * leg { own } else { seat }
}

/// The clip's own, else the touch-downs of a cycle.
fn sync_markers(clip: &RawClip) -> Vec<f32> {
    match &clip.contacts {
        Some(contacts) if clip.looping && clip.sync.is_empty() => {
            SyncMarkers::of_contacts(contacts, clip.duration).unwrap_or_default()
        }
        _ => clip.sync.clone(),
    }
}

/// Contact weight per key and leg of the target's topology.
fn contact_rows(
    source: BindSource<'_>,
    clip: &RawClip,
    rig: &Rig,
    poses: &[ModelPose],
    root: &[[f64; 3]],
    taken: &[[f64; 3]],
    step: f64,
) -> Vec<[f32; MAX_FEET]> {
    let mut rows = vec![[0.0f32; MAX_FEET]; poses.len()];
    let leg_length = leg_length(source.skeleton, source.roles, source.reference);
    for (at, leg) in rig.topology().legs().iter().take(MAX_FEET).enumerate() {
        let side: Side = leg.side;
        if let Some(contacts) = &clip.contacts {
            for (key, row) in rows.iter_mut().enumerate() {
                row[at] =
                    contact_weight(contacts, side, (key as f64 * step) as f32, clip.duration, clip.looping);
            }
            continue;
        }
        let ramp_of = |role| {
            source.roles.joint(role).map(|joint| {
                let path: Vec<DVec3> = poses
                    .iter()
                    .zip(root.iter().zip(taken))
                    .map(|(pose, (root, taken))| {
                        pose.positions[usize::from(joint)]
                            + DVec3::new(root[0] - taken[0], 0.0, root[1] - taken[1])
                    })
                    .collect();
                detect::ramp(&detect::down(&path, step, leg_length), step, clip.looping)
            })
        };
        let ankle = ramp_of(Role::Foot(side));
        let toe = ramp_of(Role::Toe(side));
        for (key, row) in rows.iter_mut().enumerate() {
            let of = |ramp: &Option<Vec<f32>>| ramp.as_ref().map_or(0.0, |ramp| ramp[key]);
            row[at] = of(&ankle).max(of(&toe));
        }
    }
    rows
}

/// Poses of the source at times of its clip, seconds.
pub(super) fn source_poses(
    source: BindSource<'_>,
    clip: &RawClip,
    times: impl Iterator<Item = f64>,
) -> Vec<ModelPose> {
    let BindSource { skeleton, reference, .. } = source;
    let back: Vec<DQuat> =
        (0..skeleton.joints.len()).map(|joint| reference.rotation(joint).inverse()).collect();
    times.map(|time| ModelPose::at(skeleton, &back, clip, time as f32)).collect()
}

/// One pose of the source in model space.
pub(super) struct ModelPose {
    pub positions: Vec<DVec3>,
    /// Model-space rotation since the reference pose.
    pub since_reference: Vec<DQuat>,
}

impl ModelPose {
    /// `back`: inverse of each joint's rotation in the reference pose.
    fn at(skeleton: &RawSkeleton, back: &[DQuat], clip: &RawClip, time: f32) -> Self {
        let locals = clip.sample(skeleton, time);
        let mut models: Vec<DMat4> = Vec::with_capacity(locals.len());
        let mut rotations: Vec<DQuat> = Vec::with_capacity(locals.len());
        for (joint, local) in skeleton.joints.iter().zip(&locals) {
            let rotation = local.rotation.as_dquat().normalize();
            let own = DMat4::from_scale_rotation_translation(
                local.scale.as_dvec3(),
                rotation,
                local.translation.as_dvec3(),
            );
            match joint.parent.map(usize::from) {
                Some(parent) => {
                    models.push(models[parent] * own);
                    rotations.push(rotations[parent] * rotation);
                }
                None => {
                    models.push(own);
                    rotations.push(rotation);
                }
            }
        }
        let since_reference = rotations.iter().zip(back).map(|(q, back)| *q * *back).collect();
        Self { positions: models.iter().map(|m| m.w_axis.truncate()).collect(), since_reference }
    }
}
