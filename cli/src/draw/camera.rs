//! Where a picture is taken from.

use clap::ValueEnum;
use glam::camera::rh::{proj::directx, view};
use glam::{Mat4, Vec3};

use super::Scene;

/// Cameras that keep the subject in the middle; all but `follow` keep their direction in the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// From +Z: a character that faces +Z looks at you.
    Front,
    /// From behind.
    Back,
    /// From the right (-X), so that walking runs to the right of the page.
    Side,
    /// From between front and left (+X), a little above.
    ThreeQuarter,
    /// From straight above, +Z up the page.
    Top,
    /// From behind and above, turning with the character.
    Follow,
    /// Low and close to the feet, from the side.
    Feet,
    /// From high above, for crowds.
    High,
}

impl View {
    /// As on the command line.
    pub fn label(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// A perspective camera.
#[derive(Clone, Copy, Debug)]
pub struct Camera {
    pub eye: Vec3,
    /// World to clip space, depth 0 to 1.
    pub view_projection: Mat4,
    /// Distance of the near plane, metres.
    pub near: f32,
}

/// Vertical field of view: long enough a lens that limbs near the camera do not swell.
const FIELD_OF_VIEW: f32 = 0.52;

impl Camera {
    /// Frames the subject of `scene` for a picture of that aspect (width over height).
    pub fn of(view: View, scene: &Scene, aspect: f32) -> Self {
        let h = scene.extent;
        let across = Vec3::Y.cross(scene.heading).normalize_or(Vec3::X);
        // Direction from the subject to the eye, the point looked at, radius that must be seen.
        let (direction, target, radius) = match view {
            View::Front => (Vec3::new(0.0, 0.10, 1.0), 0.50 * h, 0.58 * h),
            View::Back => (Vec3::new(0.0, 0.10, -1.0), 0.50 * h, 0.58 * h),
            View::Side => (Vec3::new(-1.0, 0.08, 0.0), 0.50 * h, 0.58 * h),
            View::ThreeQuarter => (Vec3::new(0.75, 0.38, 1.0), 0.48 * h, 0.60 * h),
            View::Top => (Vec3::new(0.0, 1.0, -0.02), 0.50 * h, 0.60 * h),
            View::Follow => (across * 0.25 - scene.heading + Vec3::Y * 0.55, 0.50 * h, 0.72 * h),
            View::Feet => (Vec3::new(-1.0, 0.16, 0.25), 0.13 * h, 0.28 * h),
            View::High => (Vec3::new(0.55, 0.62, 1.0), 0.0, 0.72 * h),
        };
        let half = 0.5 * FIELD_OF_VIEW;
        let narrow = if aspect < 1.0 { (half.tan() * aspect.max(0.9)).atan() } else { half };
        let distance = radius / narrow.sin();
        let target = scene.focus + Vec3::Y * target;
        let eye = target + direction.normalize() * distance;
        let up = if view == View::Top { Vec3::Z } else { Vec3::Y };
        let near = (0.05 * distance).max(0.02);
        let projection = directx::perspective(FIELD_OF_VIEW, aspect, near, 40.0 * distance);
        Self { eye, view_projection: projection * view::look_at_mat4(eye, target, up), near }
    }
}
