//! Scenes, terrain, quality harness and reports: shared by the command line, benches and tests.
//!
//! ```text
//! terrain   what is walked on, and its height in double precision
//! scene     who walks, where and how; steering
//! direct    who goes over to other clips, and when
//! layered   what lies over their clips, if asked for
//! quality   how well feet stand, measured from outside on what is shown
//! tally     what is counted of that
//! tiered    who is in which tier, and what each costs
//! run       a scene over time -> report
//! ```

mod direct;
mod layered;
mod long;
mod quality;
mod report;
mod run;
mod scene;
mod steer;
mod tally;
mod terrain;
mod tiered;
#[cfg(feature = "import")]
mod user;

use thiserror::Error;

pub use direct::Changes;
pub use layered::SceneLayers;
pub use quality::Harness;
pub use report::{FrameTimes, HostTimes, Machine, StageTime, StressReport, Tier, stage_costs};
pub use run::{Progress, RunOptions, run};
pub use scene::{MIN_CLIP_BYTES, Scene, SceneKind, SceneOptions};
pub use tally::{Histogram, Quality, Tally, Zone};
pub use terrain::{HALF_SIDE, Spot, Terrain, TerrainKind};
#[cfg(feature = "import")]
pub use user::UserFiles;

/// Why a scene could not be built or run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StressError {
    /// A rig, clip or character was refused.
    #[error(transparent)]
    Build(#[from] crate::error::BuildError),
    /// The terrain was refused.
    #[error(transparent)]
    Terrain(#[from] crate::crowd::HeightFieldError),
    /// A file was refused.
    #[cfg(feature = "import")]
    #[error(transparent)]
    Import(#[from] crate::import::ImportError),
    /// An archive of clips was refused.
    #[cfg(feature = "import")]
    #[error("{}: {reason}", path.display())]
    Archive {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        reason: String,
    },
    /// Files hold nothing that a scene could be made of.
    #[error("{what}; {right}")]
    Scene {
        /// What is missing.
        what: String,
        /// What would do.
        right: &'static str,
    },
    /// Worker threads could not be started.
    #[error("{threads} worker threads could not be started: {reason}")]
    Threads {
        /// Asked for.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}
