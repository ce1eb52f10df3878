//! What `throng` is measured with: a frozen scalar baseline and the protocol that times both.

pub mod baseline;
pub mod ecs;
pub mod input;
pub mod live;
pub mod measure;
pub mod report;
pub mod scene;
pub mod sweep;
