//! The first inputs of every fuzz target: small valid files, made here.

mod archive;
mod bind;
mod bvh;
mod gltf;
mod motion_text;
mod overrides;
mod sidecar;
mod snapshot;

use super::judge::{self, Verdict};
pub use archive::small_clip;
pub use gltf::gltf_parts;

/// Inputs with their names.
type Seeds = Vec<(&'static str, Vec<u8>)>;

/// A fuzz target: its judge and its first inputs.
pub struct Target {
    pub name: &'static str,
    pub judge: fn(&[u8]) -> Verdict,
    pub seeds: Seeds,
}

pub fn targets() -> Vec<Target> {
    vec![
        Target { name: "archive", judge: judge::archive, seeds: archive::seeds() },
        Target { name: "bind", judge: judge::bind, seeds: bind::seeds() },
        Target { name: "bvh", judge: judge::bvh, seeds: bvh::seeds() },
        Target { name: "gltf", judge: judge::gltf, seeds: gltf::seeds() },
        Target { name: "motion_text", judge: judge::motion_text, seeds: motion_text::seeds() },
        Target { name: "overrides", judge: judge::overrides, seeds: overrides::seeds() },
        Target { name: "sidecar", judge: judge::sidecar, seeds: sidecar::seeds() },
        Target { name: "snapshot", judge: judge::snapshot, seeds: snapshot::seeds() },
    ]
}
