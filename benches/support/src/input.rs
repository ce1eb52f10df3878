//! From a crowd to what the baseline runs on: the same characters, clips, rigs and skins, dequantised.

use std::collections::HashMap;

use glam::{Quat, Vec3A, Vec4};
use throng::clip::{BoundClip, PELVIS_RANGE};
use throng::crowd::{ClipId, Crowd, Handle, RigId};
use throng::error::BuildError;
use throng::lanes::KEY_ONE;

use crate::baseline::{Body, Character, Clip, Entry, Ground, Input, Leg, Play};

/// Copies the crowd as it stands, feet started anew, and says whom each of its characters stands for.
///
/// # Errors
/// Does not fail for handles and ids that the crowd itself gives.
pub fn input_of(crowd: &Crowd, ground: Ground) -> Result<(Input, Vec<Handle>), BuildError> {
    let format = crowd.config().format;
    let mut clip_index: HashMap<ClipId, u32> = HashMap::new();
    let mut body_index: HashMap<(RigId, usize), u32> = HashMap::new();
    let (mut clips, mut bodies) = (Vec::new(), Vec::new());
    let mut characters = Vec::with_capacity(crowd.len());
    for handle in crowd.handles() {
        let (rig, skin) = crowd.body(handle)?;
        let body = match body_index.get(&(rig, skin)) {
            Some(&body) => body,
            None => {
                bodies.push(body_of(crowd, rig, skin)?);
                let body = bodies.len() as u32 - 1;
                body_index.insert((rig, skin), body);
                body
            }
        };
        let mut plays = [Play::default(); 4];
        let mut count = 0;
        for (out, play) in plays.iter_mut().zip(crowd.clips(handle)?) {
            let clip = match clip_index.get(&play.clip) {
                Some(&clip) => clip,
                None => {
                    let unknown = BuildError::Unknown { what: "clip", index: 0 };
                    clips.push(clip_of(crowd.clip(play.clip).ok_or(unknown)?));
                    let clip = clips.len() as u32 - 1;
                    clip_index.insert(play.clip, clip);
                    clip
                }
            };
            *out = Play { clip, time: play.time, weight: play.weight, speed: play.speed };
            count += 1;
        }
        let transform = crowd.transform(handle)?;
        let (position, rotation) =
            (Vec3A::from_array(transform.position), Quat::from_array(transform.rotation));
        characters.push((Character::new(body, plays, count, position, rotation), handle));
    }
    // Stable, so that characters of one body stay in handle order.
    characters.sort_by_key(|(character, _)| character.body);
    let (characters, handles) = characters.into_iter().unzip();
    Ok((Input { clips, bodies, characters, ground, format }, handles))
}

fn body_of(crowd: &Crowd, rig: RigId, skin: usize) -> Result<Body, BuildError> {
    let range = crowd.palette_range(rig, skin)?;
    let rig = crowd.rig(rig);
    let topology = rig.topology();
    let mut to_pelvis = Vec::new();
    let mut joint = topology.pelvis();
    while let Some(&parent) = topology.parents().get(usize::from(joint)) {
        to_pelvis.insert(0, joint);
        joint = parent;
    }
    let legs = topology
        .legs()
        .iter()
        .zip(rig.soles())
        .map(|(leg, sole)| Leg {
            above: leg.above.clone(),
            thigh: leg.thigh,
            shin: leg.shin,
            foot: leg.foot,
            sole: [sole.heel, sole.ball].map(Vec3A::from_array),
        })
        .collect();
    let entries = rig.skins()[skin]
        .entries()
        .iter()
        .map(|entry| {
            let (rotation, scale) = entry.rotation_scale.unwrap_or(([0.0, 0.0, 0.0, 1.0], 1.0));
            Entry {
                joint: entry.joint,
                general: entry.general,
                linear: entry.linear.map(Vec3A::from_array),
                offset: Vec3A::from_array(entry.offset),
                rotation: Quat::from_array(rotation),
                scale,
            }
        })
        .collect::<Vec<_>>();
    Ok(Body {
        parents: topology.parents().to_vec(),
        offsets: rig.offsets().iter().copied().map(Vec3A::from_array).collect(),
        pelvis: topology.pelvis(),
        to_pelvis,
        legs,
        leg: rig.leg(),
        lines: 1 + crowd.config().format.lines(entries.len()),
        entries,
        range,
    })
}

fn clip_of(clip: &BoundClip) -> Clip {
    let joints = clip.topology().len();
    let (quads, intervals) = (joints + 2, clip.intervals() as usize);
    let mut rows = Vec::with_capacity(quads * (intervals + 1));
    for key in 0..=intervals {
        let values: Vec<f32> =
            clip.key(key).iter().flat_map(|group| group.0).map(|v| f32::from(v) / KEY_ONE).collect();
        for (quad, values) in values.as_chunks::<4>().0.iter().enumerate().take(quads) {
            let unit = if quad == joints { PELVIS_RANGE } else { 1.0 };
            rows.push(Vec4::from_array(*values) * unit);
        }
    }
    let root = clip.root();
    let step = clip.duration() / intervals as f32;
    let twists: Vec<Vec3A> = match root.constant() {
        Some(twist) => vec![Vec3A::new(twist.x, twist.z, twist.yaw)],
        None => (0..intervals)
            .map(|key| {
                let (from, to) = (root.at(key as f32 * step), root.at((key + 1) as f32 * step));
                let twist = from.inverse().then(to).log(step);
                Vec3A::new(twist.x, twist.z, twist.yaw)
            })
            .collect(),
    };
    let mut travel = vec![Vec3A::ZERO];
    for &twist in &twists {
        travel.push(travel[travel.len() - 1] + twist * step);
    }
    Clip {
        rows,
        quads,
        rate: clip.rate(),
        intervals,
        duration: clip.duration(),
        looping: clip.looping(),
        crosses_hemisphere: clip.crosses_hemisphere(),
        twists,
        travel,
    }
}
