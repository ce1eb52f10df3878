//! Clips as animations of a document.

use glam::{Quat, Vec3};
use serde_json::{Value, json};

use super::binary::{Binary, Target};
use super::reduce::{Distance, reduce};
use super::{ExportError, ExportOptions};
use crate::clip::{Curve, CurveValue, Interpolation, RawClip};
use crate::rig::RawSkeleton;

/// One animation; `None` if it moves nothing. `node` gives the node of each joint. Curves run on the clip's own clock,
/// from 0 on.
pub(super) fn animation(
    skeleton: &RawSkeleton,
    clip: &RawClip,
    node: &dyn Fn(u16) -> usize,
    binary: &mut Binary,
    options: &ExportOptions,
) -> Result<Option<Value>, ExportError> {
    clip.validate(skeleton)?;
    let mut writer =
        Writer { binary, start: clip.start, times: Vec::new(), samplers: Vec::new(), channels: Vec::new() };
    for track in &clip.tracks {
        let node = node(track.joint);
        if let Some(curve) = &track.translation {
            writer.vectors(node, "translation", &reduced(&cut(curve, clip), options));
        }
        if let Some(curve) = &track.rotation {
            writer.rotations(node, &reduced(&cut(curve, clip), options));
        }
        if let Some(curve) = &track.scale {
            writer.vectors(node, "scale", &cut(curve, clip));
        }
    }
    if writer.channels.is_empty() {
        return Ok(None);
    }
    let Writer { samplers, channels, .. } = writer;
    Ok(Some(json!({ "name": clip.name, "samplers": samplers, "channels": channels })))
}

/// What of a curve lies within the clip: keys before its start (a frame for calibration, say) and after its end are not
/// part of it. Cubic curves that reach beyond are left as straight lines between their keys.
fn cut<T: CurveValue>(curve: &Curve<T>, clip: &RawClip) -> Curve<T> {
    let (start, end) = (clip.start, clip.start + clip.duration);
    let inside = |time: &f32| (start..=end).contains(time);
    if curve.times.iter().all(inside) {
        return curve.clone();
    }
    let mut times: Vec<f32> = curve.times.iter().copied().filter(inside).collect();
    if times.first().is_none_or(|&first| first > start) {
        times.insert(0, start);
    }
    if times.last().is_some_and(|&last| last < end) {
        times.push(end);
    }
    let values = times.iter().filter_map(|&time| curve.sample(time)).collect();
    let interpolation = match curve.interpolation {
        Interpolation::Step => Interpolation::Step,
        _ => Interpolation::Linear,
    };
    Curve { times, values, interpolation }
}

fn reduced<T: Distance>(curve: &Curve<T>, options: &ExportOptions) -> Curve<T> {
    options.reduce.map_or_else(|| curve.clone(), |tolerance| reduce(curve, tolerance))
}

struct Writer<'a> {
    binary: &'a mut Binary,
    start: f32,
    /// Accessors of key times, shared by all curves with the same ones.
    times: Vec<(Vec<f32>, usize)>,
    samplers: Vec<Value>,
    channels: Vec<Value>,
}

impl Writer<'_> {
    fn vectors(&mut self, node: usize, path: &str, curve: &Curve<Vec3>) {
        let values: Vec<[f32; 3]> = curve.values.iter().map(|value| value.to_array()).collect();
        let output = self.binary.floats(&values, "VEC3", Target::Other, false);
        self.channel(node, path, curve, output);
    }

    /// Unit, and on one side from key to key, so that readers that do not look at signs go the right way.
    fn rotations(&mut self, node: usize, curve: &Curve<Quat>) {
        let mut last = Quat::IDENTITY;
        let tangents = curve.interpolation == Interpolation::CubicSpline;
        let values: Vec<[f32; 4]> = curve
            .values
            .iter()
            .map(|&value| {
                if tangents {
                    return value.to_array();
                }
                let unit = value.normalize();
                last = if last.dot(unit) < 0.0 { -unit } else { unit };
                last.to_array()
            })
            .collect();
        let output = self.binary.floats(&values, "VEC4", Target::Other, false);
        self.channel(node, "rotation", curve, output);
    }

    fn channel<T: CurveValue>(&mut self, node: usize, path: &str, curve: &Curve<T>, output: usize) {
        let times: Vec<f32> = curve.times.iter().map(|time| time - self.start).collect();
        let input = match self.times.iter().find(|(own, _)| *own == times) {
            Some(&(_, at)) => at,
            None => {
                let rows: Vec<[f32; 1]> = times.iter().map(|&time| [time]).collect();
                let at = self.binary.floats(&rows, "SCALAR", Target::Other, true);
                self.times.push((times, at));
                at
            }
        };
        let interpolation = match curve.interpolation {
            Interpolation::Step => "STEP",
            Interpolation::Linear => "LINEAR",
            Interpolation::CubicSpline => "CUBICSPLINE",
        };
        self.samplers.push(json!({ "input": input, "output": output, "interpolation": interpolation }));
        self.channels.push(json!({
            "sampler": self.samplers.len() - 1, "target": { "node": node, "path": path }
        }));
    }
}
