//! Keeping characters on the map, as a host would: gentle turns near the edge, nothing is ever put elsewhere.

use super::terrain::HALF_SIDE;
use crate::crowd::{Crowd, Handle};
use crate::error::BuildError;

/// Metres from the edge at which characters begin to turn back.
const MARGIN: f32 = 14.0;
/// Radians per second.
const TURN_RATE: f32 = 0.7;

/// Turns those that walk out of the map back towards its middle.
pub(super) fn steer(crowd: &mut Crowd, walkers: &[Handle], dt: f32) -> Result<(), BuildError> {
    let inner = HALF_SIDE as f32 - MARGIN;
    for &handle in walkers {
        let mut transform = crowd.transform(handle)?;
        let [x, _, z] = transform.position;
        if x.abs() < inner && z.abs() < inner {
            continue;
        }
        let [_, qy, _, qw] = transform.rotation;
        let yaw = 2.0 * qy.atan2(qw);
        // Towards the nearest point of the inner square's half, so that along an edge nobody turns for long.
        let goal = |v: f32| v.clamp(-0.5 * inner, 0.5 * inner) - v;
        let wanted = goal(x).atan2(goal(z));
        let off =
            (wanted - yaw + std::f32::consts::PI).rem_euclid(std::f32::consts::TAU) - std::f32::consts::PI;
        // Someone on the way back keeps to it.
        if off.abs() < 0.9 {
            continue;
        }
        let turned = yaw + (TURN_RATE * dt).min(off.abs()) * off.signum();
        let (s, c) = (0.5 * turned).sin_cos();
        transform.rotation = [0.0, s, 0.0, c];
        crowd.set_transform(handle, transform)?;
    }
    Ok(())
}
