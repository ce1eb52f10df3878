//! The command line: every option, its range and its words.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use throng::content::ClipKind;
use throng::stress::{SceneLayers, TerrainKind};

use crate::draw::camera::View;
use crate::files::FileArgs;
use crate::output::EXIT_CODES;
use crate::retarget::args::{CheckArgs, RetargetArgs};

/// Crowd animation on the CPU: measure it, look at it, look into files.
#[derive(Debug, Parser)]
#[command(name = "throng", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub struct Cli {
    /// Print one JSON document on stdout instead of text.
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Let a crowd walk over uneven ground, and report speed and foot quality.
    #[command(after_help = EXIT_CODES)]
    Stress(StressArgs),
    /// Time the frame stage by stage against a scalar baseline.
    #[command(after_help = EXIT_CODES)]
    Bench(BenchArgs),
    /// Show what is in a character or animation file.
    #[command(after_help = EXIT_CODES)]
    Inspect(InspectArgs),
    /// Draw characters to a PNG: one picture, or a sheet of cameras over time.
    #[command(after_help = EXIT_CODES)]
    Render(RenderArgs),
    /// Put clips into one small file, bound to one character, and report its size and error.
    #[command(after_help = EXIT_CODES)]
    Pack(PackArgs),
    /// Put clips of files or folders onto a character, write them, and say how each came over.
    #[command(after_help = EXIT_CODES)]
    Retarget(RetargetArgs),
    /// Say how clips of a file or folder would come over onto a character.
    #[command(after_help = EXIT_CODES)]
    Check(CheckArgs),
}

/// Where characters walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroundName {
    /// A level plane.
    Flat,
    /// A third smooth hills, a third stairs, a third both.
    HillsAndSteps,
}

impl GroundName {
    /// The library's name for it.
    pub fn kind(self) -> TerrainKind {
        match self {
            Self::Flat => TerrainKind::Flat,
            Self::HillsAndSteps => TerrainKind::HillsAndSteps,
        }
    }
}

/// Layers over clips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LayersName {
    /// Nothing.
    None,
    /// An additive clip on the whole body.
    Additive,
    /// A clip on the upper body.
    Upper,
    /// A clip on the head.
    Head,
    /// Upper body and additive.
    Both,
}

impl LayersName {
    /// The library's name for it.
    pub fn kind(self) -> SceneLayers {
        match self {
            Self::None => SceneLayers::None,
            Self::Additive => SceneLayers::Additive,
            Self::Upper => SceneLayers::Upper,
            Self::Head => SceneLayers::Head,
            Self::Both => SceneLayers::Both,
        }
    }
}

/// Gaits with authored contacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[allow(missing_docs)]
pub enum GaitName {
    SlowWalk,
    Walk,
    Jog,
    Run,
}

impl GaitName {
    /// The library's name for it.
    pub fn kind(self) -> ClipKind {
        match self {
            Self::SlowWalk => ClipKind::SlowWalk,
            Self::Walk => ClipKind::Walk,
            Self::Jog => ClipKind::Jog,
            Self::Run => ClipKind::Run,
        }
    }
}

/// Options of `stress`.
#[derive(Debug, Args)]
pub struct StressArgs {
    /// Character file (glTF, GLB, VRM, BVH) instead of the built-in crowd.
    #[arg(long, value_name = "FILE")]
    pub character: Option<PathBuf>,
    /// Files whose clips the crowd plays; archives must be packed for the character's joints.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub clips: Vec<PathBuf>,
    /// Contacts of those clips (NAME.contacts.json); files beside a motion file are found without.
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "character")]
    pub contacts: Vec<PathBuf>,
    /// How many characters.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub characters: u32,
    /// Simulated seconds.
    #[arg(long, default_value_t = 5.0, allow_negative_numbers = true, value_parser = seconds)]
    pub seconds: f32,
    /// Worker threads; 0 takes every core.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: u16,
    /// What they walk on.
    #[arg(long, value_enum, default_value = "hills-and-steps")]
    pub ground: GroundName,
    /// Everybody plays this one gait: for judging feet.
    #[arg(long, value_enum, conflicts_with = "character")]
    pub gait: Option<GaitName>,
    /// Distinct rigs of the built-in crowd.
    #[arg(long, value_name = "N", conflicts_with = "character", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub rigs: Option<u32>,
    /// Distinct clips of the built-in crowd.
    #[arg(long, value_name = "N", conflicts_with_all = ["character", "gait"], value_parser = clap::value_parser!(u32).range(4..=4096))]
    pub library: Option<u32>,
    /// Characters in all tiers, shown between their poses; frames from one pose to the next of hero, near, mid and far.
    #[arg(long, value_name = "PERIODS", num_args = 0..=1, default_missing_value = "1,1,2,4", value_parser = periods)]
    pub tiers: Option<[u8; 4]>,
    /// Never fused arithmetic: the same bits on every processor.
    #[arg(long)]
    pub strict: bool,
    /// Instruction set: portable, avx2 or avx512 [default: THRONG_ISA, else the widest one].
    #[arg(long, value_name = "NAME")]
    pub isa: Option<String>,
    /// Characters whose feet are watched at most.
    #[arg(long, value_name = "N", default_value_t = 2_500)]
    pub judged: usize,
    /// Roles and reference pose of the character, instead of NAME.rig.json beside it.
    #[arg(long, value_name = "FILE", requires = "character")]
    pub overrides: Option<PathBuf>,
    /// How files are read.
    #[command(flatten)]
    pub files: FileArgs,
}

/// Output matrices per joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PaletteName {
    /// 4x4 column-major f32, 64 bytes.
    #[value(name = "4x4")]
    Mat4,
    /// 3x4 f32, 48 bytes.
    #[value(name = "3x4")]
    Mat3x4,
    /// Quaternion and translation, f32, 32 bytes.
    #[value(name = "qt32")]
    QuatTranslation,
    /// Quaternion and translation, 16 bit with a scale, 16 bytes.
    #[value(name = "qt16")]
    Packed,
}

/// Options of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// How many characters.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub characters: u32,
    /// Worker threads; 0 takes every core.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: u16,
    /// Never fused arithmetic: the same bits on every processor.
    #[arg(long)]
    pub strict: bool,
    /// Distinct clips resident [default: 256, 16 with --uniform].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=4096))]
    pub library: Option<u32>,
    /// Distinct rigs in the scene [default: 50].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub rigs: Option<u32>,
    /// Output format.
    #[arg(long, value_enum, default_value = "3x4")]
    pub palette: PaletteName,
    /// Micro-benchmark: one rig of 64 joints, two clips each.
    #[arg(long, conflicts_with = "rigs")]
    pub uniform: bool,
    /// Layers over everybody's clips.
    #[arg(long, value_enum, default_value = "none")]
    pub layers: LayersName,
    /// Instruction set: portable, avx2 or avx512 [default: the widest, or THRONG_ISA].
    #[arg(long, value_name = "NAME")]
    pub isa: Option<String>,
    /// Valid runs to make; the best counts. Runs in which the frame disagrees with itself by a tenth are void.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// Also measure how the frame scales with characters, clips and threads.
    #[arg(long)]
    pub sweep: bool,
}

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    /// glTF, GLB, VRM or BVH, or an archive of clips (NAME.throng).
    pub file: PathBuf,
    /// One pose, layer by layer: file rest, reference, local, model, skinning matrices.
    #[arg(long)]
    pub pose: bool,
    /// Clip of that pose [default: the rest pose].
    #[arg(long, value_name = "NAME", requires = "pose")]
    pub clip: Option<String>,
    /// Seconds into the clip.
    #[arg(long, value_name = "SECONDS", requires = "clip", default_value_t = 0.0, value_parser = seconds)]
    pub time: f32,
    /// Only the joint of that name.
    #[arg(long, value_name = "NAME", requires = "pose")]
    pub joint: Option<String>,
    /// Roles and reference pose of the file, instead of NAME.rig.json beside it.
    #[arg(long, value_name = "FILE")]
    pub overrides: Option<PathBuf>,
    /// How it is read.
    #[command(flatten)]
    pub files: FileArgs,
}

/// Options of `render`.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// glTF, GLB, VRM, BVH or DeepMimic file, or the name of a built-in character (see --list).
    #[arg(long, value_name = "FILE|NAME")]
    pub character: Option<String>,
    /// Clip to play, by name; `rest` is the rest pose of the character's file.
    #[arg(long, value_name = "NAME")]
    pub clip: Option<String>,
    /// Files to take clips from, made for the same skeleton.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub clips: Vec<PathBuf>,
    /// Rows of the sheet.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "three-quarter,side")]
    pub camera: Vec<View>,
    /// Columns of the sheet: times spread over the clip.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub frames: u16,
    /// Draw this one time of the clip, in seconds.
    #[arg(long, value_name = "SECONDS", conflicts_with = "frames", allow_negative_numbers = true, value_parser = seconds)]
    pub at: Option<f32>,
    /// Pixels of one picture of the sheet [default: 240x320, 1280x720 with --crowd].
    #[arg(long, value_name = "WxH", value_parser = size)]
    pub size: Option<[u32; 2]>,
    /// Solid bones even where there is a mesh.
    #[arg(long)]
    pub bones: bool,
    /// What they stand on.
    #[arg(long, value_enum, default_value = "flat")]
    pub ground: GroundName,
    /// Play clips as they are, on their own skeletons: no retargeting, no ground.
    #[arg(long, conflicts_with_all = ["ground", "crowd"])]
    pub raw: bool,
    /// Where they start, metres.
    #[arg(long, value_name = "X,Z", default_value = "0,0", allow_hyphen_values = true, value_parser = place)]
    pub from: [f32; 2],
    /// Which way they start, degrees to the left of +Z.
    #[arg(long, value_name = "DEGREES", default_value_t = 0.0, allow_negative_numbers = true, value_parser = degrees)]
    pub turn: f32,
    /// Frames from one pose to the next, 1, 2, 4 or 8; drawn is what is shown between two poses, N - 1 frames late.
    #[arg(long, value_name = "FRAMES", default_value_t = 1, conflicts_with = "raw", value_parser = period)]
    pub period: u8,
    /// Draw this many characters from a high camera.
    #[arg(long, value_name = "N", conflicts_with_all = ["frames", "camera"], value_parser = clap::value_parser!(u32).range(1..=5000))]
    pub crowd: Option<u32>,
    /// Samples per pixel edge.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=6))]
    pub samples: u32,
    /// List built-in characters and clips.
    #[arg(long)]
    pub list: bool,
    /// Picture to write.
    #[arg(short, long, value_name = "OUT.png", default_value = "throng.png")]
    pub output: PathBuf,
    /// Roles and reference pose of the character, instead of NAME.rig.json beside it.
    #[arg(long, value_name = "FILE", requires = "character")]
    pub overrides: Option<PathBuf>,
    /// How files are read.
    #[command(flatten)]
    pub files: FileArgs,
}

/// Options of `pack`.
#[derive(Debug, Args)]
pub struct PackArgs {
    /// Files with clips (glTF, GLB, VRM, BVH).
    #[arg(value_name = "FILE", required_unless_present = "builtin")]
    pub files: Vec<PathBuf>,
    /// Character that the clips are bound to: a file, or a built-in name [default: the first FILE's own, without one the
    /// first built-in].
    #[arg(long, value_name = "FILE|NAME")]
    pub onto: Option<String>,
    /// Also the first N clips of the built-in library [default without N: those with names].
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub builtin: Option<u16>,
    /// Largest distance from the source of any joint, and of points off it by --shell, millimetres.
    #[arg(long, value_name = "MM", default_value_t = 0.2, value_parser = millimetres)]
    pub tolerance: f64,
    /// How far off the joints errors are measured, millimetres.
    #[arg(long, value_name = "MM", default_value_t = 50.0, value_parser = millimetres)]
    pub shell: f64,
    /// Worker threads; 0 takes every core.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub threads: u16,
    /// Write the archive without what cannot be packed, and with clips that are further off than --tolerance; without it
    /// nothing is written then. It ends with 1 either way; without --onto the first file must be readable, since its
    /// skeleton is the archive's.
    #[arg(long)]
    pub keep_going: bool,
    /// Archive to write.
    #[arg(short, long, value_name = "OUT.throng")]
    pub output: PathBuf,
    /// How files are read.
    #[command(flatten)]
    pub reading: FileArgs,
}

fn millimetres(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.001..=1000.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a length from 0.001 to 1000 mm, such as 0.2")),
    }
}

fn size(text: &str) -> Result<[u32; 2], String> {
    let bad = || format!("`{text}` is not WIDTHxHEIGHT in pixels, each 16 to 4096, such as 320x400");
    let (width, height) = text.split_once('x').ok_or_else(bad)?;
    let size = [width.parse().map_err(|_| bad())?, height.parse().map_err(|_| bad())?];
    if size.iter().all(|side| (16..=4096).contains(side)) { Ok(size) } else { Err(bad()) }
}

/// Four of 1, 2, 4 and 8.
fn periods(text: &str) -> Result<[u8; 4], String> {
    let read = || {
        let periods: Vec<u8> = text.split(',').map(|part| part.trim().parse().ok()).collect::<Option<_>>()?;
        periods.try_into().ok().filter(|periods: &[u8; 4]| periods.iter().all(|p| [1, 2, 4, 8].contains(p)))
    };
    read().ok_or_else(|| "four of 1, 2, 4 and 8, as in 1,1,2,4".to_owned())
}

fn period(text: &str) -> Result<u8, String> {
    let period = text.parse().ok().filter(|period| [1, 2, 4, 8].contains(period));
    period.ok_or_else(|| format!("`{text}` is none of 1, 2, 4 and 8"))
}

fn seconds(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if (0.0..=86_400.0).contains(&value) => Ok(value),
        _ => Err(format!("`{text}` is not a time in seconds from 0 to 86400, such as 2.5")),
    }
}

fn place(text: &str) -> Result<[f32; 2], String> {
    let number = |text: &str| text.trim().parse::<f32>().ok().filter(|value| value.abs() <= 1e5);
    let place = text.split_once(',').and_then(|(x, z)| Some([number(x)?, number(z)?]));
    place.ok_or_else(|| format!("`{text}` is not X,Z in metres, such as 3,-20"))
}

fn degrees(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value.abs() <= 360.0 => Ok(value),
        _ => Err(format!("`{text}` is not an angle from -360 to 360 degrees, such as 90")),
    }
}
