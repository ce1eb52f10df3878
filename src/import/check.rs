//! What holds of every import: valid skeletons and clips, and numbers that later arithmetic cannot overflow.

use glam::{Quat, Vec3};

use super::Refusal;
use crate::clip::{Curve, RawClip};
use crate::error::BuildError;
use crate::rig::RawCharacter;

/// No length or factor of a file is larger, in any unit; squares and sums of such stay finite.
const LARGEST: f32 = 1e9;

/// Refuses what is not finite or too large to be meant. Called on what was decoded, and again on the result.
pub(super) fn check(character: &RawCharacter, clips: &[RawClip]) -> Result<(), Refusal> {
    let skeleton = &character.skeleton;
    if !skeleton.joints.is_empty() {
        skeleton.validate()?;
    }
    let models = skeleton.model_matrices(&skeleton.rest_pose());
    for (index, (joint, model)) in skeleton.joints.iter().zip(&models).enumerate() {
        let local = sane(joint.rest.translation) && sane(joint.rest.scale);
        if !local || !model.to_cols_array().into_iter().all(sane_number) {
            return Err(BuildError::NonFiniteRest { joint: joint.name.clone(), index }.into());
        }
    }
    for clip in clips {
        clip.validate(skeleton)?;
        if !(sane_number(clip.start) && sane_number(clip.duration)) {
            return Err(BuildError::ClipDuration { clip: clip.name.clone(), duration: clip.duration }.into());
        }
        for track in &clip.tracks {
            let inside = all(track.translation.as_ref(), sane)
                && all(track.rotation.as_ref(), |value: Quat| value.to_array().into_iter().all(sane_number))
                && all(track.scale.as_ref(), sane);
            if !inside {
                let reason = "a value is too large to be meant";
                return Err(
                    BuildError::Curve { clip: clip.name.clone(), joint: track.joint.into(), reason }.into()
                );
            }
        }
    }
    for (skin, data) in character.skins.iter().enumerate() {
        if !data.inverse_binds.iter().all(|matrix| matrix.to_cols_array().into_iter().all(sane_number)) {
            let reason = "an inverse bind matrix is not finite or too large to be meant".to_owned();
            return Err(Refusal::Skin { skin, reason });
        }
    }
    for (mesh, data) in character.meshes.iter().enumerate() {
        if !data.positions.iter().chain(&data.normals).flatten().copied().all(sane_number) {
            let reason = "a vertex is not finite or too large to be meant".to_owned();
            return Err(Refusal::Mesh { mesh, name: data.name.clone(), primitive: 0, reason });
        }
    }
    Ok(())
}

fn sane_number(value: f32) -> bool {
    value.abs() <= LARGEST
}

fn sane(value: Vec3) -> bool {
    value.abs().max_element() <= LARGEST
}

fn all<T: Copy>(curve: Option<&Curve<T>>, inside: impl Fn(T) -> bool) -> bool {
    curve.is_none_or(|curve| {
        curve.times.iter().copied().all(sane_number) && curve.values.iter().copied().all(inside)
    })
}
