//! Taking the travel over the ground out of a clip.

use glam::{DQuat, DVec3};

use crate::clip::RootSource;

/// What root extraction looks at, per key: the pelvis and, for [`RootSource::Joint`], that joint.
pub(crate) struct Travel<'a> {
    /// Model-space position of the pelvis, metres.
    pub position: &'a [DVec3],
    /// Model-space rotation of the hips since the reference pose.
    pub rotation: &'a [DQuat],
    /// The same of the root joint, where the clip has one.
    pub joint: Option<(&'a [DVec3], &'a [DQuat])>,
    /// Where the pelvis is relative to the root that carries it, while it does not sway.
    pub reference: DVec3,
    /// Seconds between keys.
    pub step: f64,
    /// The last pose runs on into the first.
    pub looping: bool,
}

/// Root pose `[x, z, yaw]` per key, metres and unwrapped radians.
pub(crate) fn extract(source: RootSource, travel: &Travel<'_>) -> Vec<[f64; 3]> {
    let count = travel.position.len();
    match (source, travel.joint) {
        (RootSource::InPlace { speed }, _) => {
            (0..count).map(|key| [0.0, f64::from(speed) * travel.step * key as f64, 0.0]).collect()
        }
        (RootSource::Joint(_), Some((positions, rotations))) => {
            let yaw = headings(rotations);
            positions.iter().zip(yaw).map(|(p, yaw)| [p.x, p.z, yaw]).collect()
        }
        _ => hips(travel),
    }
}

/// Square of how far an arc leads, as part of its length, from which on its twist is told.
const LEAST_REACH: f64 = 1e-2;

fn hips(travel: &Travel<'_>) -> Vec<[f64; 3]> {
    let count = travel.position.len();
    let yaw = headings(travel.rotation);
    let path: Vec<[f64; 3]> = travel
        .position
        .iter()
        .zip(&yaw)
        .map(|(p, &yaw)| {
            // The pelvis' reference place turned along, so that turning on the spot does not travel.
            let at = DQuat::from_rotation_y(yaw) * travel.reference;
            [p.x - at.x, p.z - at.z, yaw]
        })
        .collect();
    if travel.looping
        && count > 1
        && let Some(poses) = one_twist(&path, travel)
    {
        return poses;
    }
    smooth(&path, travel.step)
}

/// One constant twist over the cycle: sway and bounce stay in the pose. `None` near full circles, which no twist ends
/// elsewhere than where it began: the radius would be infinite.
fn one_twist(path: &[[f64; 3]], travel: &Travel<'_>) -> Option<Vec<[f64; 3]>> {
    let count = path.len();
    let (first, last) = (path[0], path[count - 1]);
    let turn = last[2] - first[2];
    let seconds = travel.step * (count - 1) as f64;
    let (dx, dz) = (last[0] - first[0], last[1] - first[1]);
    let (s, c) = first[2].sin_cos();
    let (lx, lz) = (c * dx - s * dz, s * dx + c * dz);
    let (a, b) =
        if turn.abs() < 1e-6 { (1.0, turn / 2.0) } else { (turn.sin() / turn, (1.0 - turn.cos()) / turn) };
    let d = a * a + b * b;
    if d < LEAST_REACH {
        return None;
    }
    let (vx, vz) = ((a * lx - b * lz) / d, (b * lx + a * lz) / d);
    // Where the cycle starts is free: start it so that the mean of the pelvis lies over the root.
    let mut poses: Vec<[f64; 3]> = (0..count)
        .map(|key| {
            let u = key as f64 * travel.step / seconds;
            let th = turn * u;
            let (a, b) =
                if th.abs() < 1e-6 { (1.0, th / 2.0) } else { (th.sin() / th, (1.0 - th.cos()) / th) };
            let (x, z) = ((a * vx + b * vz) * u, (a * vz - b * vx) * u);
            [first[0] + c * x + s * z, first[1] - s * x + c * z, first[2] + th]
        })
        .collect();
    let mean_yaw = (0..count - 1).map(|k| path[k][2] - poses[k][2]).sum::<f64>() / (count - 1) as f64;
    if turn.abs() < 1e-3 {
        let (mut mx, mut mz) = (0.0, 0.0);
        for k in 0..count - 1 {
            mx += (path[k][0] - poses[k][0]) / (count - 1) as f64;
            mz += (path[k][1] - poses[k][1]) / (count - 1) as f64;
        }
        for pose in &mut poses {
            pose[0] += mx;
            pose[1] += mz;
            pose[2] += mean_yaw;
        }
    }
    Some(poses)
}

/// A mean over half a second around each key; at the ends the window shrinks, so that they stay where they are.
fn smooth(path: &[[f64; 3]], step: f64) -> Vec<[f64; 3]> {
    let reach = (0.25 / step).round() as usize;
    (0..path.len())
        .map(|key| {
            let half = reach.min(key).min(path.len() - 1 - key);
            let window = &path[key - half..=key + half];
            let mut mean = [0.0; 3];
            for pose in window {
                for (sum, value) in mean.iter_mut().zip(pose) {
                    *sum += value / window.len() as f64;
                }
            }
            mean
        })
        .collect()
}

/// Heading of +Z carried along, radians about +Y, unwrapped; held where it points up or down.
fn headings(rotations: &[DQuat]) -> Vec<f64> {
    let mut last = 0.0f64;
    rotations
        .iter()
        .map(|q| {
            let ahead = *q * DVec3::Z;
            if ahead.x.hypot(ahead.z) > 0.2 {
                let yaw = ahead.x.atan2(ahead.z);
                let turns = ((yaw - last) / core::f64::consts::TAU).round();
                last = yaw - turns * core::f64::consts::TAU;
            }
            last
        })
        .collect()
}
