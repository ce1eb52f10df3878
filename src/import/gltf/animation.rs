//! Animations: samplers and channels to curves per joint.

use std::collections::{BTreeMap, HashMap};

use glam::{Quat, Vec3};
use gltf::json;
use gltf::json::accessor::{ComponentType, Type};
use gltf::json::animation::Property;
use gltf::json::validation::Checked;

use super::accessor::{Access, Source};
use super::budget::Budget;
use super::container::Animation;
use super::tree::{Selection, unit};
use crate::clip::{Curve, Interpolation, JointTracks, RawClip};
use crate::import::report::Warnings;
use crate::import::{Refusal, Warning};

/// First and last key of each time accessor, looked at once however many channels share it.
type Spans = HashMap<usize, Option<(f32, f32)>>;

pub(super) fn read_all(
    source: Source<'_>,
    selection: &Selection,
    budget: &mut Budget,
    warnings: &mut Warnings,
) -> Result<Vec<RawClip>, Refusal> {
    let mut spans = Spans::new();
    let mut clips = Vec::with_capacity(source.document.animations.len());
    for (index, animation) in source.document.animations.iter().enumerate() {
        clips.push(Reader { source, selection, index, animation }.read(&mut spans, budget, warnings)?);
    }
    Ok(clips)
}

struct Reader<'a> {
    source: Source<'a>,
    selection: &'a Selection,
    index: usize,
    animation: &'a Animation,
}

impl Reader<'_> {
    fn name(&self) -> String {
        super::container::or_index(self.animation.name.as_deref(), self.index)
    }

    fn bad(&self, channel: usize, reason: String) -> Refusal {
        Refusal::Channel { animation: self.index, name: self.name(), channel, reason }
    }

    fn read(
        &self,
        spans: &mut Spans,
        budget: &mut Budget,
        warnings: &mut Warnings,
    ) -> Result<RawClip, Refusal> {
        let name = self.name();
        let mut tracks: BTreeMap<u16, JointTracks> = BTreeMap::new();
        let mut range: Option<(f32, f32)> = None;
        let (mut dropped, mut unreadable, mut repeated, mut keys_lost) = (0, 0, 0, 0);
        for (at, channel) in self.animation.channels.iter().enumerate() {
            let samplers = &self.animation.samplers;
            let sampler = samplers.get(channel.sampler.value()).ok_or_else(|| Refusal::Reference {
                from: format!("animation {} {name:?}, channel {at}", self.index),
                kind: "sampler",
                index: channel.sampler.value(),
                have: samplers.len(),
            })?;
            let Some(node) = channel.target.node.map(|node| node.value()) else {
                dropped += 1;
                continue;
            };
            if node >= self.source.document.nodes.len() {
                return Err(Refusal::Reference {
                    from: format!("animation {} {name:?}, channel {at}", self.index),
                    kind: "node",
                    index: node,
                    have: self.source.document.nodes.len(),
                });
            }
            let span = match spans.get(&sampler.input.value()) {
                Some(span) => *span,
                None => {
                    let span = self.span(at, sampler)?;
                    spans.insert(sampler.input.value(), span);
                    span
                }
            };
            let Some((first, last)) = span else {
                unreadable += 1;
                continue;
            };
            range = Some(range.map_or((first, last), |(start, end)| (start.min(first), end.max(last))));
            let (Some(joint), Checked::Valid(property)) = (self.selection.joint(node), &channel.target.path)
            else {
                dropped += 1;
                continue;
            };
            if *property == Property::MorphTargetWeights {
                dropped += 1;
                continue;
            }
            let track =
                tracks.entry(joint).or_insert_with(|| JointTracks { joint, ..JointTracks::default() });
            let taken = match property {
                Property::Translation => track.translation.is_some(),
                Property::Rotation => track.rotation.is_some(),
                Property::Scale | Property::MorphTargetWeights => track.scale.is_some(),
            };
            if taken {
                repeated += 1;
                continue;
            }
            let mut lost = 0;
            let found = match property {
                Property::Rotation => self
                    .curve::<4, Quat>(at, sampler, Type::Vec4, Quat::from_array, budget, &mut lost)?
                    .map(|curve| {
                        track.rotation = Some(normalised(curve));
                    }),
                Property::Translation => self
                    .curve::<3, Vec3>(at, sampler, Type::Vec3, Vec3::from_array, budget, &mut lost)?
                    .map(|curve| {
                        track.translation = Some(curve);
                    }),
                Property::Scale | Property::MorphTargetWeights => self
                    .curve::<3, Vec3>(at, sampler, Type::Vec3, Vec3::from_array, budget, &mut lost)?
                    .map(|curve| {
                        track.scale = Some(curve);
                    }),
            };
            if found.is_none() {
                unreadable += 1;
            }
            keys_lost += lost;
        }
        if repeated > 0 {
            warnings.push(Warning::ChannelsRepeated { clip: name.clone(), channels: repeated });
        }
        if keys_lost > 0 {
            warnings.push(Warning::KeysDropped { clip: name.clone(), keys: keys_lost });
        }
        if dropped > 0 {
            warnings.push(Warning::ChannelsDropped { clip: name.clone(), channels: dropped });
        }
        if unreadable > 0 {
            warnings.push(Warning::ChannelsUnreadable { clip: name.clone(), channels: unreadable });
        }
        let (start, end) = range.unwrap_or((0.0, 0.0));
        let tracks = tracks
            .into_values()
            .filter(|track| track.translation.is_some() || track.rotation.is_some() || track.scale.is_some())
            .collect();
        Ok(RawClip { name, start, duration: (end - start).max(0.0), tracks, ..RawClip::default() })
    }

    fn times(&self, at: usize, sampler: &json::animation::Sampler) -> Result<Option<Access<'_>>, Refusal> {
        let user = format!("key times of animation {} {:?}", self.index, self.name());
        match self.source.open(sampler.input.value(), &user)? {
            Ok(access) if access.shape != Type::Scalar || access.component != ComponentType::F32 => {
                Err(self.bad(at, "its key times must be single floats".to_owned()))
            }
            access => Ok(access.ok()),
        }
    }

    /// First and last key; `None` if out of reach.
    fn span(&self, at: usize, sampler: &json::animation::Sampler) -> Result<Option<(f32, f32)>, Refusal> {
        let Some(access) = self.times(at, sampler)? else { return Ok(None) };
        let mut span: Option<(f32, f32)> = None;
        for [time] in access.reals::<1>() {
            if !time.is_finite() {
                return Err(self.bad(at, "a key time is not finite".to_owned()));
            }
            span = Some(span.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        }
        Ok(span)
    }

    /// The curve of a channel; `None` if its data are out of reach.
    fn curve<const N: usize, T>(
        &self,
        at: usize,
        sampler: &json::animation::Sampler,
        shape: Type,
        make: fn([f32; N]) -> T,
        budget: &mut Budget,
        lost: &mut usize,
    ) -> Result<Option<Curve<T>>, Refusal> {
        let interpolation = match &sampler.interpolation {
            Checked::Valid(json::animation::Interpolation::Linear) => Interpolation::Linear,
            Checked::Valid(json::animation::Interpolation::Step) => Interpolation::Step,
            Checked::Valid(json::animation::Interpolation::CubicSpline) => Interpolation::CubicSpline,
            Checked::Invalid => {
                return Err(self.bad(at, "its interpolation is not one of the format".to_owned()));
            }
        };
        let user = format!("values of animation {} {:?}", self.index, self.name());
        let (Some(times), Some(values)) =
            (self.times(at, sampler)?, self.source.open(sampler.output.value(), &user)?.ok())
        else {
            return Ok(None);
        };
        if values.shape != shape {
            return Err(self.bad(at, format!("its values must be {shape:?}, not {:?}", values.shape)));
        }
        let per_key = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        if values.count != times.count.saturating_mul(per_key) {
            return Err(self.bad(
                at,
                format!("{} values for {} keys; {per_key} per key are needed", values.count, times.count),
            ));
        }
        budget.charge_many(times.count, size_of::<f32>(), "an animation")?;
        budget.charge_many(values.count, size_of::<T>(), "an animation")?;
        let mut curve = Curve {
            times: Vec::with_capacity(times.count),
            values: Vec::with_capacity(values.count),
            interpolation,
        };
        let mut elements = values.reals::<N>();
        for [time] in times.reals::<1>() {
            let rises = curve.times.last().is_none_or(|&last| time > last);
            if rises {
                curve.times.push(time);
            } else {
                *lost += 1;
            }
            for value in elements.by_ref().take(per_key) {
                if !value.iter().all(|component| component.is_finite()) {
                    return Err(self.bad(at, "a value is not finite".to_owned()));
                }
                if rises {
                    curve.values.push(make(value));
                }
            }
        }
        Ok(Some(curve))
    }
}

/// Unit quaternions; neighbouring ones on the same side, so that every way of mixing takes the shorter arc. Cubic
/// keys keep their sign, because their tangents belong to it.
fn normalised(mut curve: Curve<Quat>) -> Curve<Quat> {
    if curve.interpolation == Interpolation::CubicSpline {
        for key in curve.values.chunks_exact_mut(3) {
            if let [_, value, _] = key {
                *value = unit(*value);
            }
        }
        return curve;
    }
    let mut last: Option<Quat> = None;
    for value in &mut curve.values {
        *value = unit(*value);
        if last.is_some_and(|last| last.dot(*value) < 0.0) {
            *value = -*value;
        }
        last = Some(*value);
    }
    curve
}
