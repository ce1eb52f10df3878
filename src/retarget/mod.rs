//! From any skeleton's clips to the rows of any topology.

mod bind;
mod chains;
mod detect;
mod root;

pub use bind::{BindSource, TOLERANCE, bind, fitting_keys, motion_keys};
