//! The whole frame of one character in double precision: what tests hold the crowd against.
//!
//! Written from the mathematics, in scalars, with trigonometry and matrices where the crowd has none. It reads the
//! bound rows of a clip (what quantising loses is not its matter) with exact weights, and gives positions relative to
//! the character's root.
//!
//! `Noise` disturbs every input of the feet by what single precision may lose. A joint whose place answers to that by
//! more than a fraction of a tolerance is ill-conditioned there (a straight knee, a pole without a side) and is not
//! judged; tests count how many those are.
// Every test takes what it needs of this module.
#![allow(dead_code)]

pub mod feet;
pub mod frame;
pub mod palette;
pub mod random;
pub mod rows;
pub mod scene;
pub mod terrain;
pub mod travel;
