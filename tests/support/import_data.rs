//! Data files, their facts, and an own double-precision reading of imported clips.

use std::path::PathBuf;

use glam::{DMat4, DQuat, DVec3};
use serde_json::Value;
use throng::clip::{Curve, Interpolation, RawClip};
use throng::import::Imported;
use throng::rig::RawSkeleton;

/// Folder of the test data, or `None` after saying that the test is skipped.
pub fn data_dir() -> Option<PathBuf> {
    let dir = std::env::var_os("THRONG_DATA")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/data"));
    if dir.join("facts.json").is_file() {
        return Some(dir);
    }
    println!("SKIPPED: no test data in {} (set THRONG_DATA)", dir.display());
    None
}

/// `facts.json`.
pub fn facts(dir: &std::path::Path) -> serde_json::Map<String, Value> {
    let text = std::fs::read_to_string(dir.join("facts.json")).expect("facts.json is readable");
    match serde_json::from_str(&text).expect("facts.json is JSON") {
        Value::Object(map) => map,
        _ => panic!("facts.json is one object"),
    }
}

/// Undoes the importer's change of axes, units and ground.
pub fn to_file_space(imported: &Imported, point: DVec3) -> DVec3 {
    let conversion = imported.report.conversion;
    let point = point - DVec3::new(0.0, imported.report.lift.into(), 0.0);
    conversion.rotation.as_dquat().inverse() * point / f64::from(conversion.scale)
}

/// Joint positions at rest, in the house's axes and units.
pub fn rest_positions(skeleton: &RawSkeleton) -> Vec<DVec3> {
    let locals = skeleton
        .joints
        .iter()
        .map(|joint| {
            local(
                joint.rest.scale.as_dvec3(),
                joint.rest.rotation.as_dquat(),
                joint.rest.translation.as_dvec3(),
            )
        })
        .collect::<Vec<_>>();
    models(skeleton, &locals).iter().map(|model| model.w_axis.truncate()).collect()
}

/// Joint matrices of a clip at a time of its file.
pub fn clip_models(skeleton: &RawSkeleton, clip: &RawClip, time: f64) -> Vec<DMat4> {
    let mut locals = Vec::new();
    for (index, joint) in skeleton.joints.iter().enumerate() {
        let track = clip.tracks.iter().find(|track| usize::from(track.joint) == index);
        let vector = |curve: Option<&Curve<glam::Vec3>>, rest: glam::Vec3| match curve {
            Some(curve) => {
                sample(curve, time, |v| v.as_dvec3().extend(0.0), |a, b, u| a + (b - a) * u).truncate()
            }
            None => rest.as_dvec3(),
        };
        let translation = vector(track.and_then(|t| t.translation.as_ref()), joint.rest.translation);
        let scale = vector(track.and_then(|t| t.scale.as_ref()), joint.rest.scale);
        let rotation = match track.and_then(|t| t.rotation.as_ref()) {
            Some(curve) => {
                let mixed =
                    sample(curve, time, |q| glam::DVec4::from_array(q.to_array().map(f64::from)), slerp);
                DQuat::from_vec4(mixed).normalize()
            }
            None => joint.rest.rotation.as_dquat().normalize(),
        };
        locals.push(local(scale, rotation, translation));
    }
    models(skeleton, &locals)
}

fn local(scale: DVec3, rotation: DQuat, translation: DVec3) -> DMat4 {
    DMat4::from_scale_rotation_translation(scale, rotation.normalize(), translation)
}

fn models(skeleton: &RawSkeleton, locals: &[DMat4]) -> Vec<DMat4> {
    let mut models: Vec<DMat4> = Vec::new();
    for (joint, local) in skeleton.joints.iter().zip(locals) {
        let model = joint.parent.map_or(*local, |parent| models[usize::from(parent)] * *local);
        models.push(model);
    }
    models
}

/// The three interpolations of glTF, written from the format's appendix C.
fn sample<T: Copy>(
    curve: &Curve<T>,
    time: f64,
    wide: impl Fn(T) -> glam::DVec4,
    mix: impl Fn(glam::DVec4, glam::DVec4, f64) -> glam::DVec4,
) -> glam::DVec4 {
    let times = curve.times.iter().map(|&t| f64::from(t)).collect::<Vec<_>>();
    let cubic = curve.interpolation == Interpolation::CubicSpline;
    let value = |key: usize| wide(curve.values[if cubic { 3 * key + 1 } else { key }]);
    if time <= times[0] {
        return value(0);
    }
    if time >= times[times.len() - 1] {
        return value(times.len() - 1);
    }
    let k = (0..times.len() - 1).find(|&k| times[k] <= time && time < times[k + 1]).expect("inside");
    let span = times[k + 1] - times[k];
    let u = (time - times[k]) / span;
    match curve.interpolation {
        Interpolation::Step => value(k),
        Interpolation::Linear => mix(value(k), value(k + 1), u),
        Interpolation::CubicSpline => {
            let (b, a) = (wide(curve.values[3 * k + 2]), wide(curve.values[3 * (k + 1)]));
            value(k) * (2.0 * u.powi(3) - 3.0 * u * u + 1.0)
                + b * span * (u.powi(3) - 2.0 * u * u + u)
                + value(k + 1) * (-2.0 * u.powi(3) + 3.0 * u * u)
                + a * span * (u.powi(3) - u * u)
        }
    }
}

/// By the shorter way.
fn slerp(a: glam::DVec4, b: glam::DVec4, u: f64) -> glam::DVec4 {
    let (a, mut b) = (a.normalize(), b.normalize());
    let mut cos = a.dot(b);
    if cos < 0.0 {
        (b, cos) = (-b, -cos);
    }
    if cos > 0.999_999_9 {
        return (a + (b - a) * u).normalize();
    }
    let angle = cos.acos();
    (a * ((1.0 - u) * angle).sin() + b * (u * angle).sin()) / angle.sin()
}
