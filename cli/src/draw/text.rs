//! Labels in an 8 x 8 bitmap font.

use font8x8::UnicodeFonts;
use image::{Rgb, RgbImage};

/// Pixels of one character cell at scale 1.
pub const CELL: u32 = 8;

/// Writes `text` with its upper left corner at (`x`, `y`); what does not fit is cut off.
pub fn write(picture: &mut RgbImage, x: u32, y: u32, scale: u32, ink: Rgb<u8>, text: &str) {
    for (column, letter) in text.chars().enumerate() {
        let glyph =
            font8x8::BASIC_FONTS.get(letter).or_else(|| font8x8::BASIC_FONTS.get('?')).unwrap_or_default();
        for (row, bits) in glyph.iter().enumerate() {
            for bit in (0..8).filter(|bit| bits >> bit & 1 == 1) {
                for dy in 0..scale {
                    for dx in 0..scale {
                        let px = x + (column as u32 * CELL + bit) * scale + dx;
                        let py = y + row as u32 * scale + dy;
                        if px < picture.width() && py < picture.height() {
                            picture.put_pixel(px, py, ink);
                        }
                    }
                }
            }
        }
    }
}
