//! Scenes out of raw clips: each character plays on its own rig, nothing is solved.

use glam::{Mat4, Quat, Vec3};
use throng::clip::RawClip;
use throng::rig::RawMesh;

use crate::draw::{Scene, Solid, Surface, bones, character_colour, skin};
use crate::source::Subject;

/// How characters are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Solid bones even where there is a mesh.
    pub bones: bool,
}

/// World-space matrices of the subject `time` seconds into the clip.
fn models(subject: &Subject, clip: &RawClip, time: f32, world: Mat4) -> Vec<Mat4> {
    let skeleton = &subject.character.skeleton;
    let mut models = skeleton.model_matrices(&clip.sample(skeleton, time));
    for model in &mut models {
        *model = world * *model;
    }
    models
}

fn rest(subject: &Subject) -> Vec<Mat4> {
    let skeleton = &subject.character.skeleton;
    skeleton.model_matrices(&skeleton.rest_pose())
}

/// Height of the resting character, metres; never 0.
fn height(subject: &Subject, rest: &[Mat4]) -> f32 {
    let (low, high) = bones::bounds(rest);
    let joints = (high - low).y.max(0.5 * (high - low).max_element());
    let mesh = solids(subject, rest, rest, Look { bones: false }, 0);
    let tops = mesh.iter().flat_map(|solid| solid.positions.iter().map(|p| p.y));
    let (low, high) =
        tops.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)));
    if high > low { high - low } else { joints }.max(1e-3)
}

fn solids(subject: &Subject, rest: &[Mat4], models: &[Mat4], look: Look, colour: usize) -> Vec<Solid> {
    let character = &subject.character;
    if look.bones || character.meshes.is_empty() {
        return vec![bones::solid(&character.skeleton, rest, models)];
    }
    let surface = Surface::Plain(character_colour(colour));
    let posed = |mesh: &RawMesh| Some(skin::solid(mesh, character.skins.get(mesh.skin)?, models, surface));
    character.meshes.iter().filter_map(posed).collect()
}

/// One character, and the point and direction that cameras follow; without ground.
pub fn single(subject: &Subject, clip: &RawClip, time: f32, look: Look) -> Scene {
    let rest = rest(subject);
    let models = models(subject, clip, time, Mat4::IDENTITY);
    let hips = subject.hips();
    let turn = Quat::from_mat4(&models[hips]) * Quat::from_mat4(&rest[hips]).inverse();
    Scene {
        solids: solids(subject, &rest, &models, look, 0),
        focus: models[hips].w_axis.truncate().with_y(0.0),
        heading: (turn * Vec3::Z).with_y(0.0).normalize_or(Vec3::Z),
        extent: height(subject, &rest),
    }
}
