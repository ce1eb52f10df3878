//! From any skeleton's clips to the rows of any topology.

mod additive;
mod bake;
mod bind;
mod chains;
mod detect;
pub(crate) mod live;
mod live_content;
mod live_maps;
mod live_path;
mod mirror;
mod namesakes;
mod root;
mod twist;
mod verdict;

pub use additive::bind_additive;
pub use bake::{TravelOn, bake};
pub use bind::{BindSource, TOLERANCE, bind, fitting_keys, motion_keys};
pub use live::LiveMap;
pub use live_maps::LiveMaps;
pub use mirror::mirror;
pub use twist::swing_twist;
pub use verdict::{After, Grade, Judged, Spread, Verdict, judge, judged_times};
