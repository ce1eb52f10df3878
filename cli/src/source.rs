//! What is drawn: a character with its clips, built in or from files.

use std::path::{Path, PathBuf};

use throng::clip::RawClip;
use throng::rig::{RawCharacter, Role, RoleMap};

use crate::args::RenderArgs;
use crate::figure::figure;
use crate::output::Failure;

/// A character, and the clips that run on its skeleton.
pub struct Subject {
    pub character: RawCharacter,
    pub roles: RoleMap,
    pub clips: Vec<RawClip>,
}

/// Names of everything built in: characters, clips.
pub fn built_in() -> (Vec<String>, Vec<String>) {
    let (character, clip) = figure();
    (vec![character.name], vec![clip.name])
}

/// Files that the options name, none of which may be written to.
pub fn inputs(options: &RenderArgs) -> Vec<PathBuf> {
    let character = options.character.iter().map(PathBuf::from);
    character.chain(options.clips.iter().cloned()).collect()
}

/// Loads what the options name.
pub fn load(options: &RenderArgs) -> Result<Subject, Failure> {
    let built_in_name = |name: &str| built_in().0.iter().any(|known| known == name);
    if let Some(name) = &options.character
        && !built_in_name(name)
    {
        return Err(read(Path::new(name)).err().unwrap_or(Failure::NotBuilt("render --character FILE")));
    }
    for path in &options.clips {
        read(path)?;
    }
    let (character, clip) = figure();
    Ok(Subject { character, roles: RoleMap::new(), clips: vec![clip] })
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::input(path, format!("cannot be read: {error}")))
}

impl Subject {
    /// The clip of that name, or the walk, or the first one.
    pub fn clip(&self, name: Option<&str>) -> Result<&RawClip, Failure> {
        let called = |wanted: &str| {
            self.clips.iter().find(|clip| clip.name == wanted).or_else(|| {
                self.clips.iter().find(|clip| clip.name.to_lowercase().contains(&wanted.to_lowercase()))
            })
        };
        match name {
            Some(wanted) => called(wanted).ok_or_else(|| {
                let known: Vec<_> = self.clips.iter().map(|clip| clip.name.as_str()).collect();
                Failure::usage(
                    format!("no clip is called {wanted:?}; there are: {}", known.join(", ")),
                    "`throng render --list` shows what is built in, `throng inspect FILE` what a file has",
                )
            }),
            None => called("walk").or(self.clips.first()).ok_or_else(|| {
                Failure::usage(
                    format!("{} has no clips", self.character.name),
                    "name files with clips by --clips FILE...",
                )
            }),
        }
    }

    /// The joint that carries the body: by role, else the first one that branches.
    pub fn hips(&self) -> usize {
        let joints = &self.character.skeleton.joints;
        let children =
            |index: usize| joints.iter().filter(|j| j.parent.map(usize::from) == Some(index)).count();
        let branching = || (0..joints.len()).find(|&index| children(index) > 1);
        self.roles.joint(Role::Hips).map(usize::from).or_else(branching).unwrap_or(0)
    }
}
