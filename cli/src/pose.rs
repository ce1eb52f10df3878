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

/// How much a picture must show of the resting character, metres; never 0: its height, or its
/// length where that is more.
fn extent(subject: &Subject, rest: &[Mat4]) -> f32 {
    let mesh = solids(subject, rest, rest, Look { bones: false }, 0);
    let points = mesh.iter().flat_map(|solid| solid.positions.iter().copied());
    let (low, high) = points.fold(bones::bounds(rest), |(low, high), at| (low.min(at), high.max(at)));
    let size = high - low;
    size.y.max(0.6 * size.x).max(0.75 * size.z).max(1e-3)
}

fn solids(subject: &Subject, rest: &[Mat4], models: &[Mat4], look: Look, colour: usize) -> Vec<Solid> {
    let character = &subject.character;
    if look.bones || character.meshes.is_empty() {
        return vec![bones::solid(&character.skeleton, rest, models)];
    }
    let sides = bones::Sides::new(rest);
    let posed = |mesh: &RawMesh| {
        let skin = character.skins.get(mesh.skin)?;
        let mut solid = skin::solid(mesh, skin, models, Surface::PerVertex);
        solid.colours = skin::tints(mesh, skin, &sides, character_colour(colour));
        Some(solid)
    };
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
        extent: extent(subject, &rest),
    }
}

/// Many characters in a disc around the origin, each at a phase and heading of its own.
/// `cast` must not be empty.
pub fn crowd(cast: &[(Subject, RawClip)], count: usize, look: Look) -> Scene {
    const SPACING: f32 = 1.25;
    let golden = std::f32::consts::PI * (3.0 - 5.0_f32.sqrt());
    let mut scene = Scene {
        solids: Vec::new(),
        focus: Vec3::ZERO,
        heading: Vec3::Z,
        extent: SPACING * (count as f32 / std::f32::consts::PI).sqrt() + 0.5,
    };
    for index in 0..count {
        let (subject, clip) = &cast[index % cast.len()];
        // A sunflower's seeds: even spacing without rows.
        let (radius, angle) = (SPACING * (index as f32 / std::f32::consts::PI).sqrt(), index as f32 * golden);
        let place = Vec3::new(radius * angle.sin(), 0.0, radius * angle.cos());
        let turn = Quat::from_rotation_y((index as f32 * 0.754_877_7).fract() * std::f32::consts::TAU);
        let time = (index as f32 * 0.569_840_3).fract() * clip.duration;
        let rest = rest(subject);
        // The clip's own travel is taken out: each stays where it was put.
        let mut posed = models(subject, clip, time, Mat4::IDENTITY);
        let travelled = posed[subject.hips()].w_axis.truncate().with_y(0.0);
        let world = Mat4::from_rotation_translation(turn, place) * Mat4::from_translation(-travelled);
        posed.iter_mut().for_each(|model| *model = world * *model);
        let own = solids(subject, &rest, &posed, look, index);
        scene.solids.extend(
            own.into_iter().map(|solid| Solid { surface: Surface::Plain(character_colour(index)), ..solid }),
        );
    }
    scene
}
