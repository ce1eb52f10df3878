//! The character that clips go onto.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use throng::clip::RawClip;
use throng::export::{self, ExportError, ExportOptions, Original};
use throng::import::{self, Imported, LoadOptions, Refusal, Warning};
use throng::rig::{RawCharacter, ReferencePose, Rig, RigSource, RoleMap};

use super::content::{self, Parts};
use crate::output::Failure;
use crate::{files, source};

/// A file, or built in.
pub struct Target {
    pub character: RawCharacter,
    pub roles: RoleMap,
    pub reference: ReferencePose,
    pub rig: Rig,
    /// Where roles and reference pose were corrected from.
    pub overrides: Option<PathBuf>,
    /// Of a file: its path, bytes and what was imported.
    file: Option<(PathBuf, Vec<u8>, Imported)>,
    content: Vec<u8>,
    /// The file without its clips, once it is needed.
    bare: OnceLock<Option<Vec<u8>>>,
    /// What its import has converted, guessed or dropped.
    pub warnings: Vec<String>,
}

impl Target {
    /// The character of a file or of a built-in name, corrected by overrides of that path or by those beside its file.
    pub fn load(name: &str, overrides: Option<&Path>, options: &LoadOptions) -> Result<Self, Failure> {
        let beside = files::beside(overrides)?;
        let path = Path::new(name);
        // Where there is nothing beside, the one that is named is all there is.
        let known = beside.of(path).map_err(files::refused)?.overrides;
        let content;
        let (character, roles, reference, soles, file) = match source::built_in(name) {
            Some(built) => {
                let soles = built.rig_source().soles;
                let mut roles = built.roles.clone();
                // As a file's: in the T pose that it was made in, knees and elbows are bent by a degree or two, which
                // would be off every source.
                let mut reference = ReferencePose::aligned(&built.character.skeleton, &roles);
                if let (Some(_), Some((file, own))) = (overrides, &known) {
                    let skeleton = &built.character.skeleton;
                    roles = own.roles(skeleton, &roles).map_err(|error| Failure::input(file, error))?;
                    reference = own
                        .reference(skeleton, &roles, &reference)
                        .map_err(|error| Failure::input(file, error))?;
                }
                content = format!("{name} {reference:?}").into_bytes();
                (built.character.clone(), roles, reference, soles, None)
            }
            None => {
                let unreadable = |refusal: Refusal| match refusal {
                    Refusal::NotAFile { what: "a folder" } => {
                        Failure::input(path, "is a folder; one character is needed")
                    }
                    refusal => source::or_built_in(files::unreadable(path, &refusal), path),
                };
                let bytes = import::read_file(path).map_err(unreadable)?;
                content = content::content(path, Parts::All)
                    .map_err(|refusal| files::unreadable(path, &refusal))?;
                let imported = beside.load(path, options).map_err(files::refused)?;
                if imported.character.skeleton.joints.is_empty() {
                    return Err(Failure::input(path, "has no skeleton"));
                }
                let reference = imported.reference_pose();
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
        .map_err(|error| Failure::input(path, error))?;
        let used = known.filter(|_| overrides.is_some() || file.is_some());
        let mut content: Vec<u8> = content;
        content.extend(format!("{:?}", used.as_ref().map(|(_, own)| own)).into_bytes());
        let warnings = file.iter().flat_map(|(.., imported)| &imported.report.warnings);
        let warnings = warnings.filter(|own| !matches!(own, Warning::SpeedEstimated { .. }));
        let warnings = warnings.map(ToString::to_string).collect();
        let (overrides, bare) = (used.map(|(path, _)| path), OnceLock::new());
        Ok(Self { character, roles, reference, rig, overrides, file, content, bare, warnings })
    }

    /// Everything that an output depends on.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Its file.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(path, ..)| path.as_path())
    }

    /// A GLB with these clips: a glTF file keeps its meshes and materials.
    pub fn glb(&self, clips: &[RawClip], options: &ExportOptions) -> Result<Vec<u8>, ExportError> {
        let Some((path, bytes, imported)) = self.file.as_ref().filter(|(.., own)| own.report.bvh.is_none())
        else {
            return export::glb(&self.character, clips, options);
        };
        // Its own clips would be read and dropped again for every file that is written.
        let whole = Original { bytes, folder: path.parent(), imported };
        let bare = self.bare.get_or_init(|| export::animate(&whole, &[], options).ok());
        match bare {
            Some(bytes) => export::animate(&Original { bytes, folder: None, imported }, clips, options),
            None => export::animate(&whole, clips, options),
        }
    }
}
