//! Running the built command and looking at its pictures.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use image::RgbImage;
use serde_json::Value;

pub fn throng(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_throng")).args(arguments).output().expect("the binary runs")
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn draw(directory: &Path, name: &str, arguments: &[&str]) -> RgbImage {
    let path = directory.join(name);
    let mut all = vec!["render", "-o", path.to_str().expect("a plain path")];
    all.extend(arguments);
    let output = throng(&all);
    assert!(output.status.success(), "{}", stderr(&output));
    image::open(&path).expect("a PNG").to_rgb8()
}

/// Pixels of the subject: the ground, the sky and the ink are nearly grey, no character is.
pub fn subject(picture: &RgbImage) -> Vec<(u32, u32)> {
    let vivid = |pixel: &image::Rgb<u8>| {
        let [low, high] = [pixel.0.iter().min(), pixel.0.iter().max()].map(|v| i32::from(*v.unwrap_or(&0)));
        high - low > 40
    };
    picture.enumerate_pixels().filter(|(_, _, pixel)| vivid(pixel)).map(|(x, y, _)| (x, y)).collect()
}

pub fn range(values: impl Iterator<Item = u32> + Clone) -> (u32, u32) {
    (values.clone().min().expect("not empty"), values.max().expect("not empty"))
}

/// A file of the test data, or `None` with a word about it.
pub fn data(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let folder = std::env::var_os("THRONG_DATA").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if !path.exists() {
        eprintln!(
            "SKIPPED: {} does not exist; set THRONG_DATA to the folder of the test data",
            path.display()
        );
        return None;
    }
    Some(path)
}

pub fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}
