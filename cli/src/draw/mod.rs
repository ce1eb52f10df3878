//! Pictures of characters: solids in world space, drawn by a software rasteriser.
//!
//! A [`Scene`] does not know where its triangles come from: a raw clip on its own rig, bones of a
//! skeleton without a mesh, or the palettes of a crowd.

pub mod bones;
pub mod camera;
pub mod ground;
pub mod raster;
pub mod sheet;
pub mod skin;
pub mod text;

#[cfg(test)]
mod tests;

use glam::Vec3;

/// How the surface of a [`Solid`] is coloured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Surface {
    /// One colour, linear RGB in [0, 1].
    Plain(Vec3),
    /// One colour per vertex, held in [`Solid::colours`].
    PerVertex,
    /// Checks of half a metre with contour lines on slopes, fading into the background at this
    /// distance from the scene's focus, metres.
    Ground {
        /// Metres.
        radius: f32,
    },
}

/// Triangles in world space, metres.
#[derive(Clone, Debug)]
pub struct Solid {
    pub positions: Vec<Vec3>,
    /// Unit, one per position.
    pub normals: Vec<Vec3>,
    /// Linear RGB, one per position, for [`Surface::PerVertex`]; else empty.
    pub colours: Vec<Vec3>,
    /// Triangle list; both sides are drawn.
    pub indices: Vec<u32>,
    pub surface: Surface,
    /// False for what only receives shadows.
    pub casts_shadow: bool,
}

/// What one picture shows.
#[derive(Clone, Debug)]
pub struct Scene {
    pub solids: Vec<Solid>,
    /// What the camera looks at: the point on the ground under the subject.
    pub focus: Vec3,
    /// Unit, horizontal: where the subject faces.
    pub heading: Vec3,
    /// Height of the subject, or radius of the crowd, metres.
    pub extent: f32,
}

/// Linear value of an sRGB colour given as 0xRRGGBB.
pub fn srgb(hex: u32) -> Vec3 {
    let channel = |shift: u32| {
        let value = ((hex >> shift) & 0xff) as f32 / 255.0;
        if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    Vec3::new(channel(16), channel(8), channel(0))
}

/// A colour for the character of that index: neighbouring indices differ clearly.
pub fn character_colour(index: usize) -> Vec3 {
    // Multiples of an irrational number fill the hue circle evenly.
    let hue = (0.58 + index as f32 * 0.430_159_7).fract() * 6.0;
    let ramp = |shift: f32| ((hue + shift).rem_euclid(6.0) - 3.0).abs() - 1.0;
    let pure = Vec3::new(ramp(0.0), ramp(4.0), ramp(2.0)).clamp(Vec3::ZERO, Vec3::ONE);
    let value = 0.42 + 0.16 * ((index * 7) % 5) as f32 / 4.0;
    (pure * 0.5 + Vec3::splat(0.32)) * value * 1.3
}
