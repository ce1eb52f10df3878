//! From any skeleton's clips to the rows of any topology.

mod additive;
mod bake;
mod bind;
mod chain;
mod chains;
mod detect;
mod fallbacks;
mod figure;
mod grip;
pub(crate) mod live;
mod live_content;
mod live_maps;
pub(crate) mod live_packed;
mod live_path;
mod live_power;
mod mirror;
mod namesakes;
mod plant;
mod root;
mod transfer;
mod twist;
mod two_bone;
mod verdict;

pub use additive::bind_additive;
pub use bake::{TravelOn, bake};
pub use bind::{BindSource, TOLERANCE, bind, fitting_keys, motion_keys};
pub use fallbacks::{Fallback, FallbackRule, fallbacks};
pub use grip::{GripSpan, grip};
pub use live::LiveMap;
pub use live_maps::LiveMaps;
pub use mirror::mirror;
pub use plant::{ContactMode, Planted, ReachFailure, ReachRule, plant};
pub use transfer::{RetargetOptions, RetargetTarget, Retargeted, retarget};
pub use twist::swing_twist;
pub use verdict::{After, Grade, Judged, Spread, Verdict, judge, judged_times};
