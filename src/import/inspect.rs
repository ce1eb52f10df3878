//! An import as plain data, for printing.

use std::collections::BTreeMap;

use glam::Vec3;
use serde::Serialize;

use super::Imported;
use crate::clip::RawClip;
use crate::rig::{RawSkeleton, Role, RoleMap, Side};

/// What a file holds, by the names of its joints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// All joints, parents first.
    pub joints: Vec<InspectedJoint>,
    /// Joint of each role found.
    pub roles: BTreeMap<String, String>,
    /// All clips.
    pub clips: Vec<InspectedClip>,
    /// Lengths of the rest pose in metres, means of both sides: `thigh`, `shin`, `leg`, `upper_arm`, `forearm`,
    /// `hip_height` (hips above the ground of the file), as far as the roles exist.
    pub lengths_m: BTreeMap<String, f64>,
    /// File that roles and reference pose were corrected from, if they were.
    pub overrides: Option<String>,
    /// Everything converted, guessed or dropped, in words.
    pub warnings: Vec<String>,
}

/// One joint of an [`Inspection`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InspectedJoint {
    /// As the file spells it.
    pub name: String,
    /// Name of the parent.
    pub parent: Option<String>,
    /// Its role, if any.
    pub role: Option<String>,
}

/// One clip of an [`Inspection`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct InspectedClip {
    /// As the file spells it.
    pub name: String,
    /// First key on the file's clock.
    pub start_s: f64,
    /// Last key minus first key.
    pub duration_s: f64,
    /// Horizontal path of the hips (of the first root without a hips role), sampled at 30 Hz.
    pub root_path_m: f64,
}

/// Sums an import up.
pub fn inspect(imported: &Imported) -> Inspection {
    let skeleton = &imported.character.skeleton;
    let name = |joint: u16| skeleton.joints.get(usize::from(joint)).map(|joint| joint.name.clone());
    let role = |joint: usize| u16::try_from(joint).ok().and_then(|joint| imported.roles.role(joint));
    let joints = skeleton.joints.iter().enumerate().map(|(index, joint)| InspectedJoint {
        name: joint.name.clone(),
        parent: joint.parent.and_then(name),
        role: role(index).map(|role| role.to_string()),
    });
    let roles = imported.roles.iter().filter_map(|(role, joint)| Some((role.to_string(), name(joint)?)));
    // 20 s at 30 Hz; fewer steps where a damaged file has clips and joints without end.
    let work = imported.clips.len().saturating_mul(skeleton.joints.len());
    let most = (100_000_000 / work.max(1)).clamp(2, 600) as f64;
    let clips = imported.clips.iter().map(|clip| InspectedClip {
        name: clip.name.clone(),
        start_s: clip.start.into(),
        duration_s: clip.duration.into(),
        root_path_m: root_path(skeleton, &imported.roles, clip, most),
    });
    Inspection {
        joints: joints.collect(),
        roles: roles.collect(),
        clips: clips.collect(),
        lengths_m: lengths(skeleton, &imported.roles),
        overrides: imported.report.overrides.as_ref().map(|path| path.display().to_string()),
        warnings: imported.report.warnings.iter().map(ToString::to_string).collect(),
    }
}

fn lengths(skeleton: &RawSkeleton, roles: &RoleMap) -> BTreeMap<String, f64> {
    let models = skeleton.model_matrices(&skeleton.rest_pose());
    let place = |role: Role| {
        models.get(usize::from(roles.joint(role)?)).map(|model| model.w_axis.truncate().as_dvec3())
    };
    let mut out = BTreeMap::new();
    let mut put = |name: &str, values: Vec<f64>| {
        if !values.is_empty() {
            out.insert(name.to_owned(), values.iter().sum::<f64>() / values.len() as f64);
        }
    };
    let segment = |upper: fn(Side) -> Role, lower: fn(Side) -> Role| {
        let one = |side| Some(place(upper(side))?.distance(place(lower(side))?));
        Side::BOTH.into_iter().filter_map(one).collect::<Vec<f64>>()
    };
    let (thigh, shin) = (segment(Role::Thigh, Role::Shin), segment(Role::Shin, Role::Foot));
    put("leg", thigh.iter().zip(&shin).map(|(thigh, shin)| thigh + shin).collect());
    put("thigh", thigh);
    put("shin", shin);
    put("foot", segment(Role::Foot, Role::Toe));
    put("upper_arm", segment(Role::UpperArm, Role::Forearm));
    put("forearm", segment(Role::Forearm, Role::Hand));
    put("hip_height", place(Role::Hips).map(|hips| hips.y).into_iter().collect());
    put(
        "hip_joint_height",
        Side::BOTH.into_iter().filter_map(|side| Some(place(Role::Thigh(side))?.y)).collect(),
    );
    out
}

fn root_path(skeleton: &RawSkeleton, roles: &RoleMap, clip: &RawClip, most: f64) -> f64 {
    let first_root = || skeleton.joints.iter().position(|joint| joint.parent.is_none());
    let Some(joint) = roles.joint(Role::Hips).map(usize::from).or_else(first_root) else { return 0.0 };
    let steps = (f64::from(clip.duration) * 30.0).round().clamp(1.0, most) as usize;
    let mut path = 0.0;
    let mut last: Option<Vec3> = None;
    for step in 0..=steps {
        let time = clip.duration * step as f32 / steps as f32;
        let models = skeleton.model_matrices(&clip.sample(skeleton, time));
        let Some(point) = models.get(joint).map(|model| model.w_axis.truncate()) else { return 0.0 };
        if let Some(last) = last {
            path += f64::from(Vec3::new(point.x - last.x, 0.0, point.z - last.z).length());
        }
        last = Some(point);
    }
    path
}
