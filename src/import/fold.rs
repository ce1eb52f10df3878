//! Constant scale out of the hierarchy, into offsets and inverse binds.
//!
//! With `F` the constant linear map that was taken out above a joint, and its local transform `T(t) R S`:
//!
//! ```text
//! old model matrix   M_i = M'_i F_i          M'_i rigid where all scale is constant
//! offset             t'  = F_p t
//! rotation           R'  = R
//! what is left       F_i = R^-1 F_p R S      R, S at rest
//! inverse bind       IBM' = F_i IBM          so that M'_i IBM' = M_i IBM
//! ```
//!
//! With uniform `F_p` this is exact for every pose, otherwise for poses that do not turn the joint against its rest.

use glam::{DMat3, Vec3};

use super::Warning;
use super::report::Warnings;
use crate::clip::{Curve, Interpolation, RawClip};
use crate::rig::{RawCharacter, RawSkeleton, Transform};

/// Scales nearer to each other than this are the same one.
const SAME: f32 = 1e-4;
/// Scale nearer to one than this is rounding and not reported.
const REPORTED: f32 = 1e-3;

pub(super) fn fold_scale(character: &mut RawCharacter, clips: &mut [RawClip], warnings: &mut Warnings) {
    let count = character.skeleton.joints.len();
    let animated = drop_constant_scale(&character.skeleton, clips, warnings);
    let mut turns = vec![false; count];
    for track in clips.iter().flat_map(|clip| &clip.tracks).filter(|track| track.rotation.is_some()) {
        if let Some(turns) = turns.get_mut(usize::from(track.joint)) {
            *turns = true;
        }
    }
    let mut maps: Vec<DMat3> = Vec::with_capacity(count);
    let mut parents: Vec<DMat3> = Vec::with_capacity(count);
    let mut folded = Vec::new();
    let mut largest = 1.0_f32;
    for (index, joint) in character.skeleton.joints.iter_mut().enumerate() {
        let parent =
            joint.parent.and_then(|parent| maps.get(usize::from(parent)).copied()).unwrap_or(DMat3::IDENTITY);
        let Transform { translation, rotation, scale } = joint.rest;
        if uniform(parent).is_none() && turns.get(index) == Some(&true) {
            warnings.push(Warning::NonUniformScale { joint: joint.name.clone() });
        }
        let own = DMat3::from_diagonal(scale.as_dvec3());
        let map = if uniform(parent).is_some() {
            // Commutes with every rotation: exact, and without rounding.
            parent
        } else {
            let turn = DMat3::from_quat(rotation.as_dquat());
            turn.transpose() * parent * turn
        };
        joint.rest.translation = (parent * translation.as_dvec3()).as_vec3();
        if animated.get(index) == Some(&true) {
            // The joint's own scale stays; what came from above passes through it.
            let through = if uniform(map).is_none() && own.determinant().abs() > 1e-12 {
                own.inverse() * map * own
            } else {
                map
            };
            maps.push(through);
        } else {
            if (scale - Vec3::ONE).abs().max_element() > REPORTED {
                folded.push(joint.name.clone());
                if (scale.abs().max_element() - 1.0).abs() > (largest - 1.0).abs() {
                    largest = scale.abs().max_element();
                }
            }
            joint.rest.scale = Vec3::ONE;
            maps.push(map * own);
        }
        parents.push(parent);
    }
    if !folded.is_empty() {
        warnings.push(Warning::ScaleFolded { joints: folded, largest });
    }
    for track in clips.iter_mut().flat_map(|clip| &mut clip.tracks) {
        if let (Some(curve), Some(map)) = (&mut track.translation, parents.get(usize::from(track.joint)))
            && *map != DMat3::IDENTITY
        {
            for value in &mut curve.values {
                *value = (*map * value.as_dvec3()).as_vec3();
            }
        }
    }
    for skin in &mut character.skins {
        for (joint, inverse_bind) in skin.joints.iter().zip(&mut skin.inverse_binds) {
            if let Some(map) = maps.get(usize::from(*joint))
                && *map != DMat3::IDENTITY
            {
                *inverse_bind = (glam::DMat4::from_mat3(*map) * inverse_bind.as_dmat4()).as_mat4();
            }
        }
    }
}

/// The factor of a map that scales all axes alike, mirrored or not.
fn uniform(map: DMat3) -> Option<f64> {
    let factor = map.x_axis.x;
    let off = (map - DMat3::from_diagonal(glam::DVec3::splat(factor))).to_cols_array();
    let most = off.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    (most <= f64::from(SAME) * factor.abs()).then_some(factor)
}

/// Removes scale tracks that hold the rest scale; true for joints whose scale changes in some clip.
fn drop_constant_scale(skeleton: &RawSkeleton, clips: &mut [RawClip], warnings: &mut Warnings) -> Vec<bool> {
    let mut animated = vec![false; skeleton.joints.len()];
    for clip in clips.iter_mut() {
        for track in &mut clip.tracks {
            let Some(joint) = skeleton.joints.get(usize::from(track.joint)) else { continue };
            if track.scale.as_ref().is_some_and(|curve| constant(curve, joint.rest.scale)) {
                track.scale = None;
            }
        }
        clip.tracks
            .retain(|track| track.translation.is_some() || track.rotation.is_some() || track.scale.is_some());
        let mut names = Vec::new();
        for track in clip.tracks.iter().filter(|track| track.scale.is_some()) {
            if let (Some(animated), Some(joint)) =
                (animated.get_mut(usize::from(track.joint)), skeleton.joints.get(usize::from(track.joint)))
            {
                *animated = true;
                names.push(joint.name.clone());
            }
        }
        if !names.is_empty() {
            warnings.push(Warning::AnimatedScale { clip: clip.name.clone(), joints: names });
        }
    }
    animated
}

fn constant(curve: &Curve<Vec3>, rest: Vec3) -> bool {
    let near = |value: &Vec3, to: Vec3| {
        (*value - to).abs().max_element() <= SAME * rest.abs().max_element().max(1e-6)
    };
    if curve.interpolation == Interpolation::CubicSpline {
        curve.values.chunks_exact(3).all(|key| match key {
            [before, value, after] => {
                near(value, rest) && near(before, Vec3::ZERO) && near(after, Vec3::ZERO)
            }
            _ => false,
        })
    } else {
        curve.values.iter().all(|value| near(value, rest))
    }
}

#[cfg(test)]
mod tests {
    use glam::{Mat4, Quat};

    use super::*;
    use crate::rig::{RawJoint, RawSkin};

    fn joint(name: &str, parent: Option<u16>, rest: Transform) -> RawJoint {
        RawJoint { name: name.to_owned(), parent, rest }
    }

    fn distance(a: Mat4, b: Mat4) -> f32 {
        (a - b).to_cols_array().iter().fold(0.0, |most, value| most.max(value.abs()))
    }

    fn skinning(character: &RawCharacter) -> Vec<Mat4> {
        let models = character.skeleton.model_matrices(&character.skeleton.rest_pose());
        let skin = &character.skins[0];
        skin.joints
            .iter()
            .zip(&skin.inverse_binds)
            .map(|(&joint, bind)| models[usize::from(joint)] * *bind)
            .collect()
    }

    #[test]
    fn folding_leaves_rest_skinning_and_takes_all_scale() {
        let scales = [
            Vec3::splat(100.0),
            Vec3::new(1.0, 0.5, 2.0),
            Vec3::splat(-1.0),
            Vec3::new(0.01, 0.01, 0.01),
            Vec3::ONE,
        ];
        let mut character = RawCharacter::default();
        for (index, scale) in scales.into_iter().enumerate() {
            let rest = Transform {
                translation: Vec3::new(0.1, 0.2 * index as f32, -0.3),
                rotation: Quat::from_euler(glam::EulerRot::XYZ, 0.3 * index as f32, -0.7, 1.1),
                scale,
            };
            let parent = index.checked_sub(1).map(|parent| parent as u16);
            character.skeleton.joints.push(joint(&format!("j{index}"), parent, rest));
        }
        let binds = (0..5).map(|i| Mat4::from_translation(Vec3::new(0.1, i as f32, 0.0))).collect();
        character.skins.push(RawSkin { name: String::new(), joints: (0..5).collect(), inverse_binds: binds });
        let before = skinning(&character);
        let mut warnings = Warnings::default();
        fold_scale(&mut character, &mut [], &mut warnings);
        assert!(character.skeleton.joints.iter().all(|joint| joint.rest.scale == Vec3::ONE));
        for (before, after) in before.into_iter().zip(skinning(&character)) {
            assert!(distance(before, after) < 1e-3, "{before} {after}");
        }
        let warnings = warnings.into_list();
        assert!(matches!(warnings.as_slice(), [Warning::ScaleFolded { .. }]), "{warnings:?}");
    }
}
