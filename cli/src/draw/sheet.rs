//! Contact sheets: rows are cameras, columns are times.

use image::{Rgb, RgbImage, imageops};

use super::camera::{Camera, View};
use super::raster::Lit;
use super::{Scene, text};

const GAP: u32 = 2;
const TITLE: u32 = 16;
const INK: Rgb<u8> = Rgb([40, 46, 54]);
const PAPER: Rgb<u8> = Rgb([250, 250, 250]);

/// Pixels and samples of each picture.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub size: [u32; 2],
    pub samples: u32,
}

/// A sheet that is filled column by column, so that only one scene is in memory at a time.
pub struct Sheet {
    picture: RgbImage,
    format: Format,
    views: Vec<View>,
}

impl Sheet {
    /// An empty sheet with `title` on top, unless the title is empty.
    pub fn new(format: Format, views: &[View], columns: u32, title: &str) -> Self {
        let [width, height] = format.size;
        let top = if title.is_empty() { 0 } else { TITLE };
        let size = [columns * (width + GAP) - GAP, views.len() as u32 * (height + GAP) - GAP + top];
        let mut picture = RgbImage::from_pixel(size[0], size[1], PAPER);
        text::write(&mut picture, 4, 4, 1, INK, title);
        Self { picture, format, views: views.to_vec() }
    }

    /// Draws one column; `label` says what time it is.
    pub fn column(&mut self, column: u32, scene: &Scene, label: &str) {
        let [width, height] = self.format.size;
        let lit = Lit::new(scene);
        let top = self.picture.height() - (self.views.len() as u32 * (height + GAP) - GAP);
        for (row, &view) in self.views.iter().enumerate() {
            let camera = Camera::of(view, scene, width as f32 / height as f32);
            let mut cell = lit.draw(&camera, width, height, self.format.samples);
            let line = if row == 0 { label } else { "" };
            text::write(&mut cell, 4, 4, 1, INK, line);
            if column == 0 && self.views.len() > 1 {
                text::write(&mut cell, 4, height.saturating_sub(12), 1, INK, &view.label());
            }
            let at = [column * (width + GAP), top + row as u32 * (height + GAP)];
            imageops::replace(&mut self.picture, &cell, i64::from(at[0]), i64::from(at[1]));
        }
    }

    /// PNG bytes.
    pub fn png(&self) -> image::ImageResult<Vec<u8>> {
        let mut bytes = std::io::Cursor::new(Vec::new());
        self.picture.write_to(&mut bytes, image::ImageFormat::Png)?;
        Ok(bytes.into_inner())
    }
}
