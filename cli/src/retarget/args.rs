//! Options of `retarget` and `check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use throng::retarget::{ContactMode, TravelOn};

use crate::files::FileArgs;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One GLB for each source file, with the character's meshes.
    Glb,
    /// One BVH for each clip.
    Bvh,
}

/// Which joint carries the travel over the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TravelName {
    /// The topmost joint above the hips.
    Root,
    /// The hips.
    Hips,
    /// None: clips march on the spot.
    None,
}

impl TravelName {
    /// The library's name for it.
    pub fn kind(self) -> TravelOn {
        match self {
            Self::Root => TravelOn::Root,
            Self::Hips => TravelOn::Pelvis,
            Self::None => TravelOn::Nothing,
        }
    }
}

/// Which contacts hold feet on the ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FeetName {
    /// Authored ones; of clips without any, those that are detected.
    Solve,
    /// Authored ones only.
    Authored,
    /// None: feet go where proportions take them.
    Off,
}

impl FeetName {
    /// The library's name for it.
    pub fn kind(self) -> ContactMode {
        match self {
            Self::Solve => ContactMode::Solve,
            Self::Authored => ContactMode::Authored,
            Self::Off => ContactMode::Off,
        }
    }
}

/// Options of `retarget` and `check` alike.
#[derive(Debug, Args)]
pub struct PairArgs {
    /// Contacts of clips (NAME.contacts.json); files beside a source are found without.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub contacts: Vec<PathBuf>,
    /// Which contacts hold feet on the ground.
    #[arg(long, value_enum, default_value_t = FeetName::Solve)]
    pub feet: FeetName,
    /// Roles and reference pose of all sources, instead of NAME.rig.json beside each.
    #[arg(long, value_name = "FILE")]
    pub source_overrides: Option<PathBuf>,
    /// Roles and reference pose of the character, instead of NAME.rig.json beside it.
    #[arg(long, value_name = "FILE")]
    pub target_overrides: Option<PathBuf>,
    /// Worker threads; 0 takes every core.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: u16,
    /// How files are read.
    #[command(flatten)]
    pub files: FileArgs,
}

/// Options of `retarget`.
#[derive(Debug, Args)]
pub struct RetargetArgs {
    /// Files with clips (glTF, GLB, VRM, BVH), or folders of them.
    #[arg(value_name = "SRC", required = true)]
    pub sources: Vec<PathBuf>,
    /// The character: a file, or a built-in name.
    #[arg(long, value_name = "FILE|NAME")]
    pub onto: String,
    /// Folder to write to; what is done there already is left alone.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// What is written.
    #[arg(long, value_enum, default_value_t = ExportFormat::Glb)]
    pub format: ExportFormat,
    /// Which joint carries the travel over the ground.
    #[arg(long, value_enum, default_value_t = TravelName::Root)]
    pub travel: TravelName,
    /// Leave out keys that a line between their neighbours gives to within so many radians or metres.
    #[arg(long, value_name = "TOLERANCE", value_parser = tolerance)]
    pub reduce: Option<f32>,
    /// Only every N-th file, beginning with the I-th: for job arrays.
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub shard: Option<(usize, usize)>,
    /// What both commands take.
    #[command(flatten)]
    pub both: PairArgs,
}

/// Options of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// File with clips, or a folder of them.
    #[arg(value_name = "SRC")]
    pub source: PathBuf,
    /// The character: a file, or a built-in name.
    #[arg(value_name = "DST")]
    pub target: String,
    /// Picture of source and target side by side, of the clip that came over worst.
    #[arg(long, value_name = "OUT.png")]
    pub picture: Option<PathBuf>,
    /// What both commands take.
    #[command(flatten)]
    pub both: PairArgs,
}

fn tolerance(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if (0.0..=0.1).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a tolerance from 0 to 0.1, such as 0.0005")),
    }
}

fn shard(text: &str) -> Result<(usize, usize), String> {
    let parts = text.split_once('/').and_then(|(index, count)| {
        let (index, count): (usize, usize) = (index.parse().ok()?, count.parse().ok()?);
        (1..=count).contains(&index).then_some((index - 1, count))
    });
    parts.ok_or_else(|| format!("`{text}` is not I/N with I from 1 to N, such as 3/16"))
}
