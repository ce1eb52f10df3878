//! `inspect --pose`: one pose, layer by layer, so that a wrong result can be traced to where it comes from.
//!
//! ```text
//! rest        as the file has it, local                     nothing animated
//! reference   model space, what motion is measured against  wrong here: alignment, roles
//! local       the clip at that time, local                  wrong here: import of the clip
//! model       the same in model space                       wrong here: hierarchy
//! skin        model x inverse bind                          wrong here: inverse binds, mesh space
//! ```

use glam::{Mat4, Quat, Vec3};
use serde::Serialize;
use throng::clip::RawClip;
use throng::import::Imported;
use throng::rig::Transform;

use crate::output::{self, Failure};
use crate::table::{align_right, table};

/// Translation in metres, unit rotation (x, y, z, w).
#[derive(Clone, Copy, Serialize)]
struct Place {
    translation: [f32; 3],
    rotation: [f32; 4],
}

impl Place {
    fn of(matrix: Mat4) -> Self {
        let (_, rotation, translation) = matrix.to_scale_rotation_translation();
        Self { translation: translation.to_array(), rotation: rotation.to_array() }
    }

    fn local(transform: Transform) -> Self {
        Self { translation: transform.translation.to_array(), rotation: transform.rotation.to_array() }
    }

    fn text(&self) -> [String; 2] {
        let [x, y, z] = self.translation;
        let (axis, angle) = Quat::from_array(self.rotation).normalize().to_axis_angle();
        let degrees = angle.to_degrees();
        let turn = if degrees < 0.05 {
            "-".to_owned()
        } else {
            let Vec3 { x, y, z } = axis;
            format!("{degrees:.1} about {x:.2} {y:.2} {z:.2}")
        };
        [format!("{x:.3} {y:.3} {z:.3}"), turn]
    }
}

#[derive(Serialize)]
struct JointLayers {
    joint: String,
    role: Option<String>,
    rest: Place,
    reference: Place,
    local: Place,
    model: Place,
    /// Of each skin that lists the joint: its name, and the matrix by columns.
    skin: Vec<(String, [f32; 16])>,
}

#[derive(Serialize)]
struct Document {
    clip: Option<String>,
    time_s: f32,
    joints: Vec<JointLayers>,
}

/// Shows the pose of a clip at a time; without a clip the rest pose.
pub fn show(
    imported: &Imported,
    clip: Option<&str>,
    time: f32,
    joint: Option<&str>,
    json: bool,
) -> Result<(), Failure> {
    let skeleton = &imported.character.skeleton;
    let clip: Option<&RawClip> = match clip {
        None => None,
        Some(name) => Some(imported.clips.iter().find(|clip| clip.name == name).ok_or_else(|| {
            let known: Vec<&str> = imported.clips.iter().map(|clip| clip.name.as_str()).collect();
            Failure::usage(
                format!("no clip is called {name:?}; there are: {}", known.join(", ")),
                "name one of them with --clip",
            )
        })?),
    };
    let locals = clip.map_or_else(|| skeleton.rest_pose(), |clip| clip.sample(skeleton, time));
    let models = skeleton.model_matrices(&locals);
    let reference = imported.reference_pose();
    let mut joints = Vec::new();
    for (index, raw) in skeleton.joints.iter().enumerate() {
        if joint.is_some_and(|wanted| wanted != raw.name) {
            continue;
        }
        let entries = imported.character.skins.iter().flat_map(|skin| {
            let listed = skin.joints.iter().enumerate().filter(move |(_, own)| usize::from(**own) == index);
            listed.map(move |(entry, _)| (skin, entry))
        });
        joints.push(JointLayers {
            joint: raw.name.clone(),
            role: imported.roles.role(index as u16).map(|role| role.to_string()),
            rest: Place::local(raw.rest),
            reference: Place {
                translation: reference.position(index).as_vec3().to_array(),
                rotation: reference.rotation(index).as_quat().to_array(),
            },
            local: Place::local(locals[index]),
            model: Place::of(models[index]),
            skin: entries
                .map(|(skin, entry)| {
                    let bind = skin.inverse_binds.get(entry).copied().unwrap_or(Mat4::IDENTITY);
                    (skin.name.clone(), (models[index] * bind).to_cols_array())
                })
                .collect(),
        });
    }
    if let (Some(wanted), true) = (joint, joints.is_empty()) {
        let what = format!("no joint is called {wanted:?}");
        return Err(Failure::usage(what, "`throng inspect FILE` shows the joints of a file"));
    }
    if json {
        output::print_json(&Document { clip: clip.map(|clip| clip.name.clone()), time_s: time, joints });
        return Ok(());
    }
    let mut layers = table(&["joint", "layer", "translation m", "rotation, degrees"]);
    for own in &joints {
        let mut name = own.joint.clone();
        if let Some(role) = &own.role {
            name = format!("{name} ({role})");
        }
        let places =
            [("rest", own.rest), ("reference", own.reference), ("local", own.local), ("model", own.model)];
        for (layer, place) in places {
            let [translation, rotation] = place.text();
            layers.add_row([std::mem::take(&mut name), layer.to_owned(), translation, rotation]);
        }
        for (skin, matrix) in &own.skin {
            let [translation, rotation] = Place::of(Mat4::from_cols_array(matrix)).text();
            let layer = format!("skin {}", skin);
            layers.add_row([String::new(), layer, translation, rotation]);
        }
    }
    align_right(&mut layers, 2..3);
    output::block(layers);
    Ok(())
}
