//! The character that clips go onto.

use std::path::{Path, PathBuf};

use throng::clip::RawClip;
use throng::export::{self, ExportError, ExportOptions, Original};
use throng::import::{self, Imported};
use throng::rig::{RawCharacter, ReferencePose, Rig, RigSource, RoleMap};

use crate::output::Failure;
use crate::source;

/// A file, or built in.
pub struct Target {
    pub character: RawCharacter,
    pub roles: RoleMap,
    pub reference: ReferencePose,
    pub rig: Rig,
    /// Of a file: its path, bytes and what was imported.
    file: Option<(PathBuf, Vec<u8>, Imported)>,
    name: String,
}

impl Target {
    pub fn load(name: &str) -> Result<Self, Failure> {
        let (character, roles, reference, soles, file) = match source::built_in(name) {
            Some(built) => {
                let source = built.rig_source();
                let (reference, soles) = (source.reference.clone(), source.soles);
                (built.character.clone(), built.roles.clone(), reference, soles, None)
            }
            None => {
                let path = Path::new(name);
                let bytes = std::fs::read(path).map_err(|error| Failure::Input {
                    path: path.to_owned(),
                    what: error.to_string(),
                    hint: Some("`throng render --list` names what is built in".to_owned()),
                })?;
                let imported = import::load(path).map_err(|error| Failure::input(path, error.kind))?;
                if imported.character.skeleton.joints.is_empty() {
                    return Err(Failure::input(path, "has no skeleton"));
                }
                let reference = ReferencePose::aligned(&imported.character.skeleton, &imported.roles);
                let (character, roles) = (imported.character.clone(), imported.roles.clone());
                (character, roles, reference, [None; 2], Some((path.to_owned(), bytes, imported)))
            }
        };
        let rig = Rig::build(&RigSource {
            character: &character,
            roles: &roles,
            reference: reference.clone(),
            soles,
        })
        .map_err(|error| Failure::input(Path::new(name), error))?;
        Ok(Self { character, roles, reference, rig, file, name: name.to_owned() })
    }

    /// Everything that an output depends on.
    pub fn content(&self) -> &[u8] {
        self.file.as_ref().map_or(self.name.as_bytes(), |(_, bytes, _)| bytes)
    }

    /// Its file.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(path, ..)| path.as_path())
    }

    /// A GLB with these clips: a glTF file keeps its meshes and materials.
    pub fn glb(&self, clips: &[RawClip], options: &ExportOptions) -> Result<Vec<u8>, ExportError> {
        match &self.file {
            Some((path, bytes, imported)) if imported.report.bvh.is_none() => {
                export::animate(&Original { bytes, folder: path.parent(), imported }, clips, options)
            }
            _ => export::glb(&self.character, clips, options),
        }
    }
}
