//! Who gets which tier, and characters of a [`hecs`](https://crates.io/crates/hecs) world.
//!
//! ```text
//! entity    Character  WorldTransform  Hero  Importance            RootMotion
//!                 | read, before the frame                         ^ write_back, after it, on request
//!                 v                                                |
//! by index  handles, transforms, heroes, importance   ---------->  roots
//!                 |              | TierPolicy (any world)          ^
//!                 v              v                                 |
//! crowd     Roots::Host     set_tier  ----------- frame -----------+
//! ```
//!
//! [`TierPolicy`] works on plain slices by [`Handle::index`](crate::crowd::Handle::index), so that any other world can
//! use it; [`Mirror`] (feature `hecs`) feeds it from a hecs world.

mod budget;
#[cfg(feature = "hecs")]
mod components;
#[cfg(feature = "hecs")]
mod crossing;
mod significance;
mod tiers;

pub use budget::{Budget, Fixed, Load, Plan};
#[cfg(feature = "hecs")]
pub use components::{Character, Hero, Importance, RootMotion};
#[cfg(feature = "hecs")]
pub use crossing::{Crossing, Mirror};
pub use significance::{Scene, Viewer};
pub use tiers::{PolicyConfig, TierChange, TierPolicy, TierStats};
