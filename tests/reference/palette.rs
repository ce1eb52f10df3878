//! Decoding palettes: what a shader would do with each format.

use glam::{DMat4, DQuat, DVec3, DVec4};
use throng::crowd::PaletteFormat;

/// Skinning matrix number `entry` of a palette. `range` is what 1 stands for in translations of 16 bits.
pub fn decode(format: PaletteFormat, palette: &[u8], entry: usize, range: f32) -> DMat4 {
    let bytes = &palette[entry * format.bytes()..(entry + 1) * format.bytes()];
    let f = |k: usize| {
        f64::from(f32::from_le_bytes([bytes[4 * k], bytes[4 * k + 1], bytes[4 * k + 2], bytes[4 * k + 3]]))
    };
    let n = |k: usize| f64::from(i16::from_le_bytes([bytes[2 * k], bytes[2 * k + 1]])) / 32767.0;
    match format {
        PaletteFormat::Mat4 => DMat4::from_cols_array(&core::array::from_fn(f)),
        PaletteFormat::Mat3x4 => DMat4::from_cols(
            DVec4::new(f(0), f(4), f(8), 0.0),
            DVec4::new(f(1), f(5), f(9), 0.0),
            DVec4::new(f(2), f(6), f(10), 0.0),
            DVec4::new(f(3), f(7), f(11), 1.0),
        ),
        PaletteFormat::QuatTranslation => DMat4::from_scale_rotation_translation(
            DVec3::splat(f(7)),
            DQuat::from_xyzw(f(0), f(1), f(2), f(3)).normalize(),
            DVec3::new(f(4), f(5), f(6)),
        ),
        PaletteFormat::Snorm16 => DMat4::from_rotation_translation(
            DQuat::from_xyzw(n(0), n(1), n(2), n(3)).normalize(),
            DVec3::new(n(4), n(5), n(6)) * f64::from(range),
        ),
    }
}

/// Angle between the rotations of two rigid matrices, radians.
pub fn angle_between(a: DMat4, b: DMat4) -> f64 {
    let difference = [(a.x_axis, b.x_axis), (a.y_axis, b.y_axis), (a.z_axis, b.z_axis)]
        .map(|(a, b)| (a - b).truncate().length_squared());
    // |A - B|_F = 2 sqrt(2) sin(angle / 2)
    let norm = difference.iter().sum::<f64>().sqrt();
    2.0 * (norm / 8f64.sqrt()).min(1.0).asin()
}
