//! The way back from motion space: keys of a topology as a clip on the skeleton of one of its rigs.

use glam::{DQuat, DVec3, Quat, Vec3};

use crate::clip::{Curve, Interpolation, JointTracks, MotionKeys, RawClip, RootSource};
use crate::error::BuildError;
use crate::rig::{NO_PARENT, RawSkeleton, Rig};

/// Which joint carries the travel over the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TravelOn {
    /// The topmost joint above the pelvis, so that props and sockets beside the body come along; the pelvis where there is
    /// none.
    #[default]
    Root,
    /// The pelvis, as motion capture has it; joints above it stay.
    Pelvis,
    /// Nobody: the clip marches on the spot. What it has lost is its [`RootSource`].
    Nothing,
}

/// A component of a joint counts as at rest nearer than this: radians, metres.
const AT_REST: f64 = 1e-6;

/// Keys of the topology of `rig` as local rotations of `skeleton`, the one that `rig` was built from, and translations of
/// its pelvis and root. All other translations are those of the rest pose, so bones keep their lengths.
///
/// ```text
/// model rotation A = G B     local rotation R = A_p^-1 A     (G: since the reference pose, B: reference)
/// ```
///
/// # Errors
/// If skeleton, rig and keys do not belong together.
pub fn bake(
    keys: &MotionKeys,
    skeleton: &RawSkeleton,
    rig: &Rig,
    travel: TravelOn,
) -> Result<RawClip, BuildError> {
    let topology = rig.topology();
    let (joints, count) = (topology.len(), keys.pelvis.len());
    if skeleton.joints.len() != joints {
        return Err(BuildError::ReferencePose { have: skeleton.joints.len(), need: joints });
    }
    if count == 0 || keys.rotations.len() != count * joints || keys.root.len() != count {
        let reason = "one rotation per joint of the topology and key is needed, and one root per key";
        return Err(BuildError::Keys { clip: keys.name.clone(), reason });
    }
    let leg = f64::from(rig.leg());
    let pelvis = usize::from(topology.pelvis());
    let parents = topology.parents();
    let top = core::iter::successors(Some(pelvis), |&at| {
        (parents[at] != NO_PARENT).then(|| usize::from(parents[at]))
    })
    .last()
    .unwrap_or(pelvis);
    let carrier = if travel == TravelOn::Root { top } else { pelvis };
    let step = if count > 1 { keys.duration / (count - 1) as f64 } else { 0.0 };
    let times: Vec<f32> = (0..count).map(|key| (step * key as f64) as f32).collect();

    // The file may have a joint hang elsewhere than the body does: feet that are goals beside it.
    let mut place = vec![0; joints];
    for (at, &joint) in rig.order().iter().enumerate() {
        place[usize::from(joint)] = at;
    }
    let file_parents: Vec<Option<usize>> = rig
        .order()
        .iter()
        .map(|&joint| skeleton.parent(usize::from(joint)).map(|parent| place[parent]))
        .collect();
    let mut rotations: Vec<Vec<Quat>> = vec![Vec::with_capacity(count); joints];
    let mut translations: Vec<Vec<Vec3>> = vec![Vec::with_capacity(count); joints];
    let mut models: Vec<(DQuat, DVec3)> = vec![(DQuat::IDENTITY, DVec3::ZERO); joints];
    // Parents come first.
    let mut carried: Vec<bool> = Vec::with_capacity(joints);
    for joint in 0..joints {
        let above = carried.get(usize::from(parents[joint])).copied().unwrap_or(false);
        carried.push(joint == carrier || above);
    }
    for key in 0..count {
        let [x, z, yaw] =
            if travel == TravelOn::Nothing { keys.origin } else { from(keys.origin, keys.root[key]) };
        let way = DVec3::new(x * leg, 0.0, z * leg);
        let turn = DQuat::from_rotation_y(yaw);
        let mut since: Vec<DQuat> = Vec::with_capacity(joints);
        for joint in 0..joints {
            let parent = parents[joint];
            let above = since.get(usize::from(parent)).copied().unwrap_or(DQuat::IDENTITY);
            let g = (above * keys.rotations[key * joints + joint]).normalize();
            since.push(g);
            // From the carrier on everything comes along.
            let carried = carried[joint];
            let rotation =
                if carried { turn * g * rig.rotations()[joint] } else { g * rig.rotations()[joint] };
            let reference = rig.positions()[joint];
            let position = match parent {
                _ if joint == pelvis => {
                    let at = reference + keys.pelvis[key] * leg;
                    if carried { way + turn * at } else { at }
                }
                NO_PARENT if carried => way + turn * reference,
                NO_PARENT => reference,
                parent => {
                    let (above, at) = models[usize::from(parent)];
                    let back = rig.rotations()[usize::from(parent)].inverse();
                    let offset = back * (reference - rig.positions()[usize::from(parent)]);
                    at + above * offset
                }
            };
            models[joint] = (rotation, position);
        }
        for joint in 0..joints {
            let (rotation, position) = models[joint];
            let (above, at) = file_parents[joint].map_or((DQuat::IDENTITY, DVec3::ZERO), |at| models[at]);
            let local = (above.inverse() * rotation).normalize();
            let rows = &mut rotations[joint];
            let mut local = local.as_quat().normalize();
            if rows.last().is_some_and(|last| last.dot(local) < 0.0) {
                local = -local;
            }
            rows.push(local);
            translations[joint].push((above.inverse() * (position - at)).as_vec3());
        }
    }

    let mut tracks: Vec<JointTracks> = Vec::new();
    for (joint, (rotations, translations)) in rotations.into_iter().zip(translations).enumerate() {
        let raw = rig.order()[joint];
        let rest = skeleton.joints[usize::from(raw)].rest;
        let turned = rotations.iter().any(|q| f64::from(q.angle_between(rest.rotation)) > AT_REST);
        let elsewhere = file_parents[joint].map_or(NO_PARENT, |parent| parent as u16) != parents[joint];
        let moves = joint == pelvis || joint == carrier || elsewhere;
        let shifted = moves
            && translations.iter().any(|t| f64::from((*t - rest.translation).abs().max_element()) > AT_REST);
        if turned || shifted {
            tracks.push(JointTracks {
                joint: raw,
                rotation: turned.then(|| curve(&times, rotations)),
                translation: shifted.then(|| curve(&times, translations)),
                scale: None,
            });
        }
    }
    tracks.sort_by_key(|track| track.joint);
    let speed = keys.root.last().map_or(0.0, |[_, z, _]| z * leg / keys.duration.max(1e-9));
    Ok(RawClip {
        name: keys.name.clone(),
        start: 0.0,
        duration: keys.duration as f32,
        tracks,
        looping: keys.looping,
        root: match travel {
            TravelOn::Root if carrier != pelvis => RootSource::Joint(rig.order()[carrier]),
            TravelOn::Nothing => RootSource::InPlace { speed: speed as f32 },
            _ => RootSource::Hips,
        },
        contacts: keys.contacts.clone(),
        events: keys.events.clone(),
        sync: keys.sync.clone(),
    })
}

/// A planar pose in the axes of an origin, told from outside.
fn from([x, z, yaw]: [f64; 3], [dx, dz, turn]: [f64; 3]) -> [f64; 3] {
    let (s, c) = yaw.sin_cos();
    [x + c * dx + s * dz, z - s * dx + c * dz, yaw + turn]
}

/// One key where nothing changes.
fn curve<T: Copy + PartialEq>(times: &[f32], values: Vec<T>) -> Curve<T> {
    let still = values.iter().all(|value| *value == values[0]);
    let count = if still { 1 } else { values.len() };
    Curve {
        times: times[..count].to_vec(),
        values: values[..count].to_vec(),
        interpolation: Interpolation::Linear,
    }
}
