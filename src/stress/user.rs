//! Scenes of a file's character and the clips of other files.

use std::path::{Path, PathBuf};

use super::StressError;
use super::scene::Scene;
use super::terrain::{HALF_SIDE, TerrainKind};
use crate::clip::archive::{ARCHIVE_EXTENSION, Archive, ArchiveError};
use crate::clip::{BoundClip, ClipLibrary};
use crate::content::rng::Rng;
use crate::crowd::{ClipId, Crowd, CrowdConfig, Play, WorldTransform};
use crate::error::BuildError;
use crate::import::{self, Beside, ImportError, Imported, LoadOptions, Warning};
use crate::retarget::{BindSource, bind};
use crate::rig::{ReferencePose, Rig, RigSource, Topology};

/// Files to make a scene of.
#[derive(Clone, Debug, Default)]
pub struct UserFiles {
    /// File with a skeleton (glTF, GLB, VRM, BVH).
    pub character: PathBuf,
    /// Files with clips, or archives of clips bound to the character; its own are always there.
    pub clips: Vec<PathBuf>,
    /// Contacts of clips, each naming its motion file; those beside a motion file are found without.
    pub contacts: Vec<PathBuf>,
    /// Overrides of the character's roles and reference pose, instead of `NAME.rig.json` beside it.
    pub overrides: Option<PathBuf>,
    /// How character and clips are read.
    pub options: LoadOptions,
}

impl UserFiles {
    /// Builds the scene: everybody is the one character and plays one of the clips alone. Warnings are clips that could
    /// not be used, and why.
    ///
    /// Contacts also come from `NAME.contacts.json` files beside a motion file that name it.
    ///
    /// # Errors
    /// If a file cannot be read, or no clip is left.
    pub fn build(
        &self,
        characters: usize,
        terrain: TerrainKind,
        config: CrowdConfig,
    ) -> Result<(Scene, Vec<String>), StressError> {
        let mut warnings = Vec::new();
        let mut beside = Beside::new();
        for path in &self.contacts {
            beside = beside.with_contacts(path)?;
        }
        let target = match &self.overrides {
            Some(path) => Beside::new().with_overrides(path)?.load(&self.character, &self.options)?,
            None => beside.load(&self.character, &self.options)?,
        };
        if target.character.skeleton.joints.is_empty() {
            return Err(StressError::Scene {
                what: format!("{} has no skeleton", self.character.display()),
                right: "name a file with a skinned character",
            });
        }
        let reference = target.reference_pose();
        let rig = Rig::build(&RigSource {
            character: &target.character,
            roles: &target.roles,
            reference: reference.clone(),
            soles: [None, None],
        })?;
        let mut crowd = Crowd::new(config);
        let rig_id = crowd.add_rig(rig.clone())?;
        let mut clips = Taken::new();
        let mut take = |crowd: &mut Crowd,
                        clips: &mut Taken,
                        source: &Imported,
                        own: &ReferencePose,
                        path: &Path| {
            for clip in &source.clips {
                let from =
                    BindSource { skeleton: &source.character.skeleton, roles: &source.roles, reference: own };
                match bind(from, clip, &rig).and_then(|bound| admit(crowd, [bound])) {
                    Ok(bound) => clips.extend(bound),
                    Err(error) => warnings.push(format!("{}: {error}", path.display())),
                }
            }
        };
        take(&mut crowd, &mut clips, &target, &reference, &self.character);
        let mut more: Vec<String> = of_contacts(&target, &self.character).collect();
        for path in &self.clips {
            if path.extension().is_some_and(|extension| extension == ARCHIVE_EXTENSION) {
                let unpacked = unpack(path, rig.topology())?;
                clips.extend(admit(&mut crowd, unpacked.iter().cloned())?);
                continue;
            }
            let source = beside.load(path, &self.options)?;
            if source.clips.is_empty() {
                more.push(format!("{}: has no clips", path.display()));
            }
            more.extend(of_contacts(&source, path));
            let own = source.reference_onto(&target.character.skeleton, &target.roles, &reference);
            take(&mut crowd, &mut clips, &source, &own, path);
        }
        for warning in more {
            // A file may be given for its character and for its clips.
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        if clips.is_empty() {
            return Err(StressError::Scene {
                what: "none of the files has a clip that fits the character".to_owned(),
                right: "give files with clips for a humanoid skeleton by --clips",
            });
        }
        let mut rng = Rng::new(1);
        let (mut handles, mut walkers) = (Vec::with_capacity(characters), Vec::new());
        for character in 0..characters {
            let (clip, duration, travels) = clips[character % clips.len()];
            let side = HALF_SIDE - 8.0;
            let yaw = rng.range(-std::f64::consts::PI, std::f64::consts::PI);
            let place = WorldTransform::standing(
                rng.range(-side, side) as f32,
                rng.range(-side, side) as f32,
                yaw as f32,
            );
            let play = Play { time: (rng.unit() * f64::from(duration)) as f32, ..Play::new(clip) };
            let skin = (rng.next() % rig.skins().len() as u64) as usize;
            let handle = crowd.spawn(rig_id, skin, place, &[play])?;
            handles.push(handle);
            if travels {
                walkers.push(handle);
            }
        }
        crowd.pack();
        Ok((Scene::from_crowd(crowd, terrain, handles, walkers)?, warnings))
    }
}

/// Contacts that were left out, and those that no foot can keep: the figures tell of them too.
fn of_contacts(imported: &Imported, path: &Path) -> impl Iterator<Item = String> {
    imported.report.warnings.iter().filter_map(move |warning| match warning {
        Warning::ContactsUnreadable { .. } => Some(warning.to_string()),
        Warning::ContactInAir { .. } | Warning::ContactMoves { .. } => {
            Some(format!("{}: {warning}", path.display()))
        }
        _ => None,
    })
}

/// Clips of a crowd: the id, the duration in seconds, and whether it travels.
type Taken = Vec<(ClipId, f32, bool)>;

/// Gives clips to a crowd.
fn admit(crowd: &mut Crowd, clips: impl IntoIterator<Item = BoundClip>) -> Result<Taken, BuildError> {
    let mut admitted = Taken::new();
    for clip in clips {
        let (duration, root) = (clip.duration(), clip.root().at(clip.duration()));
        admitted.push((crowd.add_clip(clip)?, duration, root.x.hypot(root.z) > 0.2));
    }
    Ok(admitted)
}

/// All clips of an archive for characters of that topology.
fn unpack(path: &Path, topology: &Topology) -> Result<ClipLibrary, StressError> {
    let refused = |reason: String| StressError::Archive { path: path.to_owned(), reason };
    let bytes = import::read_file(path).map_err(|kind| ImportError { file: path.to_owned(), kind })?;
    let archive = |error: ArchiveError| refused(error.to_string());
    let library = Archive::open(&bytes).and_then(|archive| ClipLibrary::unpack(&archive)).map_err(archive)?;
    if library.topology() != topology {
        let clip = library.iter().next().map(|clip| clip.name().to_owned()).unwrap_or_default();
        return Err(archive(ArchiveError::OtherTopology { clip }));
    }
    Ok(library)
}
