//! How files are read: what a user knows better than a file does.

use std::path::Path;

use clap::{Args, ValueEnum};
use throng::import::bvh::{BvhOptions, BvhPositions, FRAME_TIMES};
use throng::import::gltf::ImportOptions;
use throng::import::{Beside, ImportError, LoadOptions, Refusal};

use crate::output::Failure;

/// What lies beside files, with overrides from elsewhere if they are named.
pub fn beside(overrides: Option<&Path>) -> Result<Beside, Failure> {
    match overrides {
        Some(path) => Beside::new().with_overrides(path).map_err(refused),
        None => Ok(Beside::new()),
    }
}

/// What an importer has against a file, which need not be the one that was asked for.
pub fn refused(error: ImportError) -> Failure {
    unreadable(&error.file, &error.kind)
}

/// What is wrong with a file, and what to do about one that is none.
pub fn unreadable(path: &Path, refusal: &Refusal) -> Failure {
    let failure = Failure::input(path, words(refusal));
    match refusal {
        Refusal::NotAFile { what: "a folder" } => failure.hinted("name a file in it"),
        Refusal::NotAFile { .. } => failure.hinted("save what comes out of it to a file, and name that"),
        _ => failure,
    }
}

/// The library's words with options of the command line for its own.
pub fn words(text: impl std::fmt::Display) -> String {
    const OPTIONS: [(&str, &str); 3] = [
        ("BvhOptions::lenient", "--lenient"),
        ("ImportOptions::lenient", "--lenient"),
        ("BvhOptions::frame_time", "--bvh-rate"),
    ];
    OPTIONS.iter().fold(text.to_string(), |text, (own, option)| text.replace(own, option))
}

/// What position channels of a BVH file mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PositionsName {
    /// As the file's own numbers suggest.
    Auto,
    /// They are the whole translation of their joint.
    Replace,
    /// They are added to its OFFSET.
    Add,
}

/// Options of all commands that read characters and clips.
#[derive(Clone, Debug, Args)]
pub struct FileArgs {
    /// BVH: whether position channels replace the OFFSET of their joint or add to it.
    #[arg(long, value_enum, default_value = "auto", help_heading = "Files")]
    pub bvh_positions: PositionsName,
    /// BVH: metres of a unit [default: the unit of length that makes an adult's leg].
    #[arg(long, value_name = "METRES", value_parser = metres, help_heading = "Files")]
    pub bvh_unit: Option<f32>,
    /// BVH: frames per second, whatever the file says.
    #[arg(long, value_name = "FPS", value_parser = rate, help_heading = "Files")]
    pub bvh_rate: Option<f64>,
    /// Take BVH files with more or fewer frames than they announce, and glTF skins with too few inverse binds.
    #[arg(long, help_heading = "Files")]
    pub lenient: bool,
}

impl FileArgs {
    /// True if any of them was given.
    pub fn given(&self) -> bool {
        self.bvh_positions != PositionsName::Auto
            || self.bvh_unit.is_some()
            || self.bvh_rate.is_some()
            || self.lenient
    }

    /// The library's words for them.
    pub fn options(&self) -> LoadOptions {
        let positions = match self.bvh_positions {
            PositionsName::Auto => BvhPositions::Auto,
            PositionsName::Replace => BvhPositions::Replace,
            PositionsName::Add => BvhPositions::Add,
        };
        let bvh = BvhOptions {
            positions,
            unit: self.bvh_unit,
            frame_time: self.bvh_rate.map(|rate| 1.0 / rate),
            lenient: self.lenient,
            ..BvhOptions::default()
        };
        LoadOptions { gltf: ImportOptions { lenient: self.lenient }, bvh }
    }
}

fn metres(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if (1e-6..=1e3).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a length in metres from 0.000001 to 1000, such as 0.01")),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if FRAME_TIMES.contains(&value.recip()) => Ok(value),
        _ => Err(format!("`{text}` is not a rate from 0.1 to 100000 frames per second, such as 120")),
    }
}
