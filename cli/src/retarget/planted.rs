//! The target with its feet on level ground: one character of a crowd, looked at joint by joint.

use glam::DVec3;
use throng::clip::{BoundClip, MotionKeys};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, PaletteFormat, Play, Serial, WorldTransform, Wrap,
};
use throng::error::BuildError;
use throng::rig::Rig;

/// Seconds before the first sample, so that what is smoothed over time has settled.
const BEFORE: f32 = 0.5;
/// Longest step between two samples.
const STEP: f32 = 1.0 / 60.0;

/// World positions of all joints of the skeleton at each of the times.
pub fn film(rig: &Rig, keys: &MotionKeys, times: &[f32]) -> Result<Vec<Vec<DVec3>>, BuildError> {
    let joints: Vec<u16> = (0..rig.topology().len() as u16).collect();
    let mut crowd = Crowd::new(CrowdConfig { format: PaletteFormat::Mat3x4, ..CrowdConfig::default() });
    let body = crowd.add_rig(rig.clone())?;
    crowd.keep_joints(body, &joints)?;
    let clip = crowd.add_clip(BoundClip::build(rig.topology(), keys)?)?;
    let [x, z, yaw] = keys.origin;
    let leg = f64::from(rig.leg());
    let place = WorldTransform::standing((x * leg) as f32, (z * leg) as f32, yaw as f32);
    let play = Play { wrap: Wrap::Once, ..Play::new(clip) };
    let who = crowd.spawn(body, 0, place, &[Play { speed: 0.0, ..play }])?;
    let ground = FlatGround::default();
    let settle = |crowd: &mut Crowd, seconds: f32| -> Result<(), BuildError> {
        let steps = (seconds / STEP).ceil().max(1.0);
        for _ in 0..steps as usize {
            crowd.frame(Frame::new(seconds / steps, &ground), &Serial)?;
        }
        Ok(())
    };
    // It stands in its first pose until the pelvis has come to rest.
    settle(&mut crowd, BEFORE)?;
    crowd.set_clips(who, &[play])?;
    let mut film = Vec::with_capacity(times.len());
    let mut now = 0.0;
    for &time in times {
        if time > now {
            settle(&mut crowd, time - now)?;
            now = time;
        }
        let mut frame = vec![DVec3::ZERO; joints.len()];
        for (&joint, &raw) in joints.iter().zip(rig.order()) {
            let at = crowd.joint_world(who, joint)?.position;
            frame[usize::from(raw)] = DVec3::from_array(at.map(f64::from));
        }
        film.push(frame);
    }
    Ok(film)
}
