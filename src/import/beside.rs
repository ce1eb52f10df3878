//! What lies beside characters and motions and says more of them: `NAME.rig.json`, `*.contacts.json`.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::regular;
use super::sidecar::read;
use super::{Format, ImportError, Imported, LoadOptions, Refusal, Sidecar, Warning, bvh, gltf, motion_text};
use crate::rig::RigOverrides;

/// Ending of contacts.
const CONTACTS: &str = ".contacts.json";

/// Endings of motions.
const MOTIONS: [&str; 6] = ["glb", "gltf", "vrm", "vrma", "bvh", "txt"];

/// The files beside others, each folder looked through once: whoever loads many files keeps one of these.
///
/// ```text
/// NAME.rig.json        RigOverrides of NAME.glb, NAME.bvh, ...
/// NAME.contacts.json   contacts of its clips; without it, those of the folder's *.contacts.json that name the file and
///                      have no motion of their own name beside them
/// ```
#[derive(Debug, Default)]
pub struct Beside {
    overrides: Option<(PathBuf, RigOverrides)>,
    contacts: Vec<(PathBuf, Sidecar)>,
    folders: Mutex<HashMap<PathBuf, Arc<Folder>>>,
}

/// Contacts of a folder.
#[derive(Debug, Default)]
struct Folder {
    contacts: Vec<(PathBuf, Sidecar)>,
    /// Nobody knows whose they are.
    unreadable: Vec<(PathBuf, String)>,
}

/// What belongs to one file.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Roles and reference pose.
    pub overrides: Option<(PathBuf, RigOverrides)>,
    /// Contacts, in the order in which they apply.
    pub contacts: Vec<(PathBuf, Sidecar)>,
    /// Contacts files of the folder that could not be read.
    pub warnings: Vec<Warning>,
}

impl Beside {
    /// Nothing but what lies there.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Contacts that lie elsewhere: they are given to the file that each names, after those beside it.
    ///
    /// # Errors
    /// If the file cannot be read or is not of that format.
    pub fn with_contacts(mut self, path: impl AsRef<Path>) -> Result<Self, ImportError> {
        let path = path.as_ref();
        self.contacts.extend(Sidecar::load_all(path)?.into_iter().map(|sidecar| (path.to_owned(), sidecar)));
        Ok(self)
    }

    /// Overrides of every file, instead of `NAME.rig.json`.
    ///
    /// # Errors
    /// If the file cannot be read or is not of that format.
    pub fn with_overrides(mut self, path: impl AsRef<Path>) -> Result<Self, ImportError> {
        let path = path.as_ref();
        self.overrides = Some((path.to_owned(), load_overrides(path)?));
        Ok(self)
    }

    /// Contacts given by [`Self::with_contacts`].
    pub fn given_contacts(&self) -> impl Iterator<Item = &Sidecar> {
        self.contacts.iter().map(|(_, sidecar)| sidecar)
    }

    /// What belongs to a file.
    ///
    /// # Errors
    /// If `NAME.rig.json` or `NAME.contacts.json` cannot be read or is not of its format.
    pub fn of(&self, path: impl AsRef<Path>) -> Result<Found, ImportError> {
        let path = path.as_ref();
        let mut found = Found { overrides: self.overrides.clone(), ..Found::default() };
        let rig = path.with_extension("rig.json");
        if found.overrides.is_none() && is_there(&rig) && rig != path {
            let overrides = load_overrides(&rig)?;
            found.overrides = Some((rig, overrides));
        }
        let own = path.with_extension(&CONTACTS[1..]);
        if is_there(&own) {
            let contacts = Sidecar::load_all(&own)?.into_iter().map(|sidecar| (own.clone(), sidecar));
            found.contacts.extend(contacts);
        } else {
            let folder = self.folder(path);
            let theirs = folder.contacts.iter().filter(|(_, sidecar)| sidecar.is_of(path));
            found.contacts.extend(theirs.cloned());
            found.warnings.extend(folder.unreadable.iter().map(|(file, reason)| {
                Warning::ContactsUnreadable { file: file.display().to_string(), reason: reason.clone() }
            }));
        }
        found.contacts.extend(self.contacts.iter().filter(|(_, sidecar)| sidecar.is_of(path)).cloned());
        Ok(found)
    }

    fn folder(&self, of: &Path) -> Arc<Folder> {
        let folder = of.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = folders.get(folder) {
            return Arc::clone(known);
        }
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let (mut motions, mut paths) = (HashSet::new(), Vec::new());
        for path in entries.map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if let Some(own) = name.strip_suffix(CONTACTS) {
                paths.push((own.to_owned(), path));
            } else if let (Some(stem), Some(ending)) = (path.file_stem(), path.extension())
                && MOTIONS.iter().any(|motion| ending.eq_ignore_ascii_case(motion))
            {
                motions.insert(stem.to_string_lossy().into_owned());
            }
        }
        // Contacts of others need not be read, of which there may be as many as motions.
        paths.retain(|(own, _)| !motions.contains(own));
        paths.sort();
        let mut found = Folder::default();
        for (_, path) in paths {
            match Sidecar::load_all(&path) {
                Ok(all) => found.contacts.extend(all.into_iter().map(|sidecar| (path.clone(), sidecar))),
                Err(error) => found.unreadable.push((path, error.kind.to_string())),
            }
        }
        let found = Arc::new(found);
        folders.insert(folder.to_owned(), Arc::clone(&found));
        found
    }

    /// Reads a character or motion file with all that belongs to it; see [`load`](super::load).
    ///
    /// # Errors
    /// [`ImportError`] with the file that is to blame, the place in it and what would be right.
    pub fn load(&self, path: impl AsRef<Path>, options: &LoadOptions) -> Result<Imported, ImportError> {
        let path = path.as_ref();
        match Format::of_file(path)? {
            Some(format) => self.load_as(path, format, options),
            None => Err(ImportError { file: path.to_owned(), kind: Refusal::UnknownFormat }),
        }
    }

    /// [`Self::load`] of a format.
    pub(super) fn load_as(
        &self,
        path: &Path,
        format: Format,
        options: &LoadOptions,
    ) -> Result<Imported, ImportError> {
        let refuse = |file: &Path, kind| ImportError { file: file.to_owned(), kind };
        // A file that is not there has nothing beside it.
        regular::check(path).map_err(|kind| refuse(path, kind))?;
        let found = self.of(path)?;
        let overrides = found.overrides.as_ref().map(|(_, overrides)| overrides);
        let imported = match format {
            Format::Gltf => gltf::read_file(path, &options.gltf, overrides),
            Format::Bvh => bvh::read_file(path, &options.bvh, overrides),
            Format::MotionText => motion_text::read_file(path, overrides),
        };
        let mut imported = imported.map_err(|kind| match (&kind, &found.overrides) {
            (Refusal::Overrides(_), Some((file, _))) => refuse(file, kind),
            _ => refuse(path, kind),
        })?;
        imported.report.overrides = found.overrides.map(|(file, _)| file);
        imported.report.warnings.extend(found.warnings);
        for (file, contacts) in found.contacts {
            contacts.apply(&mut imported).map_err(|kind| refuse(&file, kind))?;
            imported.report.sidecars.push(contacts);
        }
        Ok(imported)
    }
}

/// Also what is no file, or a link that leads nowhere: reading it says so.
fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

fn load_overrides(path: &Path) -> Result<RigOverrides, ImportError> {
    let refuse = |kind| ImportError { file: path.to_owned(), kind };
    let bytes = read(path).map_err(refuse)?;
    let text = String::from_utf8_lossy(&bytes);
    RigOverrides::from_json(&text).map_err(|error| refuse(error.into()))
}
