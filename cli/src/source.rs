//! What is drawn: bodies and motions, built in or from files.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use throng::clip::archive::{ARCHIVE_EXTENSION, Archive};
use throng::clip::{BoundClip, ClipLibrary, RawClip};
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::import::{self, Beside, Imported, LoadOptions};
use throng::rig::{RawSkeleton, ReferencePose, RoleMap};

use crate::args::RenderArgs;
use crate::body::Body;
use crate::files;
use crate::output::Failure;
use crate::progress;

/// The skeleton that a clip was made for.
#[derive(Debug)]
pub struct Owner {
    pub skeleton: RawSkeleton,
    pub roles: RoleMap,
    pub reference: ReferencePose,
    /// By a user: no other pose is better.
    pub adjusted: bool,
}

/// A clip with the skeleton that it was made for.
#[derive(Clone, Debug)]
pub struct Motion {
    pub clip: RawClip,
    pub owner: Rc<Owner>,
    /// Bound already: the raw clip then only has name, duration and contacts.
    pub bound: Option<BoundClip>,
}

/// A body and what it may do.
pub struct Subject {
    pub body: Body,
    pub motions: Vec<Motion>,
    /// What imports converted, guessed or dropped.
    pub warnings: Vec<String>,
}

/// The clip name that stands for the rest pose of the character's file.
const REST: &str = "rest";

/// Builds that each rig comes in: suffix of the name, proportions.
const BUILDS: [(&str, BodyPlan); 4] = [
    ("", BodyPlan::adult()),
    ("-child", BodyPlan::child()),
    ("-stocky", BodyPlan::stocky()),
    ("-tall", BodyPlan::tall()),
];

/// Names of the built-in characters.
pub fn character_names() -> Vec<String> {
    let of_rig = |kind: RigKind| BUILDS.iter().map(move |(suffix, _)| format!("{}{suffix}", kind.name()));
    RigKind::ALL.into_iter().flat_map(of_rig).collect()
}

/// Names of the built-in clips.
pub fn clip_names() -> Vec<String> {
    ClipKind::ALL.into_iter().map(|kind| kind.name().to_owned()).collect()
}

/// The built-in character of that name.
pub fn built_in(name: &str) -> Option<BuiltIn> {
    RigKind::ALL.into_iter().find_map(|kind| {
        let suffix = name.strip_prefix(kind.name())?;
        let (_, plan) = BUILDS.iter().find(|(known, _)| *known == suffix)?;
        let mut built = content::character(kind, plan);
        built.character.name = name.to_owned();
        Some(built)
    })
}

fn built_in_clip(name: &str) -> Result<ClipKind, Failure> {
    ClipKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| no_clip(name, &clip_names()))
}

fn no_clip(wanted: &str, known: &[String]) -> Failure {
    Failure::usage(
        format!("no clip is called {wanted:?}; there are: {}", known.join(", ")),
        "`throng render --list` shows what is built in, `throng inspect FILE` what a file has",
    )
}

/// Files that the options name, none of which may be written to.
pub fn inputs(options: &RenderArgs) -> Vec<PathBuf> {
    let character = options.character.iter().map(PathBuf::from);
    character.chain(options.clips.iter().cloned()).collect()
}

/// Loads what the options name: a body, and the motions of its own file and of the clip files, or else the
/// built-in ones.
pub fn load(options: &RenderArgs) -> Result<Subject, Failure> {
    let (mut motions, mut warnings) = (Vec::new(), Vec::new());
    let name = options.character.as_deref().unwrap_or(RigKind::ALL[0].name());
    let built = built_in(name);
    let body = match &built {
        Some(built) => body_of(built),
        None => {
            let beside = files::beside(options.overrides.as_deref())?;
            let path = Path::new(name);
            let read = read(path, &options.files.options(), &beside, &mut warnings);
            let (body, own) = read.map_err(|failure| or_built_in(failure, path))?;
            motions.extend(own);
            body
        }
    };
    let beside = Beside::new();
    for path in &options.clips {
        if is_archive(path) {
            motions.extend(unpack(path, &body)?);
        } else {
            let own = read(path, &options.files.options(), &beside, &mut warnings)?.1;
            if own.is_empty() {
                return Err(Failure::input(path, "has no clips"));
            }
            motions.extend(own);
        }
    }
    if options.clip.as_deref() == Some(REST) {
        let owner = body.owner();
        let clip = RawClip { name: REST.to_owned(), ..RawClip::default() };
        motions = vec![Motion { clip, owner: Rc::new(owner), bound: None }];
    }
    if motions.is_empty() {
        // Only what will be drawn is synthesised; on its own body where there is one.
        let kind = options.clip.as_deref().map_or(Ok(ClipKind::Walk), built_in_clip)?;
        let built = built.unwrap_or_else(|| content::character(RigKind::ALL[0], &BodyPlan::adult()));
        motions.push(motion_of(&built, kind));
    }
    Ok(Subject { body, motions, warnings })
}

/// Who is in a crowd and what each does: the character of the options, or else every rig and build
/// with a mix of clips. Never empty.
pub fn cast(options: &RenderArgs, size: usize) -> Result<Vec<Subject>, Failure> {
    if options.character.is_some() || !options.clips.is_empty() {
        let mut subject = load(options)?;
        subject.motions = vec![subject.motion(options.clip.as_deref())?.clone()];
        return Ok(vec![subject]);
    }
    const MIX: [ClipKind; 5] =
        [ClipKind::Walk, ClipKind::Idle, ClipKind::Jog, ClipKind::SlowWalk, ClipKind::Run];
    let named = options.clip.as_deref().map(built_in_clip).transpose()?;
    let bar = progress::bar(size as u64, "casting");
    let subject = |(index, built): (usize, BuiltIn)| {
        let kind = named.unwrap_or(MIX[index % MIX.len()]);
        bar.inc(1);
        Subject { body: body_of(&built), motions: vec![motion_of(&built, kind)], warnings: Vec::new() }
    };
    let cast = content::variants(1, size.max(1)).into_iter().enumerate().map(subject).collect();
    bar.finish_and_clear();
    Ok(cast)
}

/// The body of a built-in character.
pub fn body_of(built: &BuiltIn) -> Body {
    let source = built.rig_source();
    Body::new(built.character.clone(), built.roles.clone(), source.reference, source.soles)
}

/// A built-in clip on its own body.
pub fn motion_of(built: &BuiltIn, kind: ClipKind) -> Motion {
    Motion { clip: content::clip(kind, built), owner: Rc::new(owner_of(built)), bound: None }
}

/// The skeleton of a built-in character, as the owner of its clips.
pub fn owner_of(built: &BuiltIn) -> Owner {
    Owner {
        skeleton: built.character.skeleton.clone(),
        roles: built.roles.clone(),
        reference: built.reference(),
        adjusted: false,
    }
}

/// True if the file's name is that of an archive of clips.
pub fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == ARCHIVE_EXTENSION)
}

/// The bytes of an archive.
pub fn read_archive(path: &Path) -> Result<Vec<u8>, Failure> {
    import::read_file(path).map_err(|refusal| files::unreadable(path, &refusal))
}

/// Clips of an archive, which are bound to the joints of `body` already.
fn unpack(path: &Path, body: &Body) -> Result<Vec<Motion>, Failure> {
    let bytes = read_archive(path)?;
    let library = Archive::open(&bytes).and_then(|archive| ClipLibrary::unpack(&archive));
    let owner = Rc::new(body.owner());
    let motion = |bound: &BoundClip| Motion {
        clip: RawClip {
            name: bound.name().to_owned(),
            duration: bound.duration(),
            looping: bound.looping(),
            contacts: bound.contacts().cloned(),
            ..RawClip::default()
        },
        owner: Rc::clone(&owner),
        bound: Some(bound.clone()),
    };
    Ok(library.map_err(|error| Failure::input(path, error))?.iter().map(motion).collect())
}

/// Body and motions of a file.
pub fn read(
    path: &Path,
    options: &LoadOptions,
    beside: &Beside,
    warnings: &mut Vec<String>,
) -> Result<(Body, Vec<Motion>), Failure> {
    let loaded = beside.load(path, options).map_err(files::refused)?;
    if loaded.character.skeleton.joints.is_empty() {
        return Err(Failure::input(path, "has no skeleton"));
    }
    let told = loaded.report.warnings.iter().map(|warning| format!("{}: {warning}", path.display()));
    warnings.extend(told);
    Ok(of_import(loaded))
}

/// Where a built-in name could stand instead of a path, what those are.
pub fn or_built_in(failure: Failure, path: &Path) -> Failure {
    if path.exists() { failure } else { failure.hinted("`throng render --list` names what is built in") }
}

/// Body and motions of an import.
pub fn of_import(loaded: Imported) -> (Body, Vec<Motion>) {
    let reference = loaded.reference_pose();
    let owner = Rc::new(Owner {
        skeleton: loaded.character.skeleton.clone(),
        roles: loaded.roles.clone(),
        reference: reference.clone(),
        adjusted: loaded.reference.is_some(),
    });
    let motions =
        loaded.clips.into_iter().map(|clip| Motion { clip, owner: Rc::clone(&owner), bound: None }).collect();
    (Body::new(loaded.character, loaded.roles, reference, [None; 2]), motions)
}

impl Motion {
    /// The clip with its tracks on the joints of the same names, for drawing it without retargeting.
    pub fn rebound(&self, to: &RawSkeleton) -> Result<RawClip, Failure> {
        if self.bound.is_some() {
            return Err(Failure::usage(
                "clips of an archive are bound: they cannot be drawn raw",
                "leave out --raw",
            ));
        }
        let mut bound = self.clip.clone();
        if self.owner.skeleton == *to {
            return Ok(bound);
        }
        bound.tracks.retain_mut(|track| {
            let joint = self.owner.skeleton.joints.get(usize::from(track.joint));
            let joint = joint.and_then(|joint| to.find(&joint.name));
            track.joint = joint.unwrap_or(track.joint);
            joint.is_some()
        });
        bound.tracks.sort_by_key(|track| track.joint);
        let (have, need) = (bound.tracks.len(), self.clip.tracks.len());
        if 2 * have < need {
            return Err(Failure::usage(
                format!("clip {:?} fits {have} of {need} animated joints of the character", self.clip.name),
                "without --raw it is retargeted",
            ));
        }
        Ok(bound)
    }
}

impl Subject {
    /// The motion of that name; without a name a walk, or the first one.
    pub fn motion(&self, name: Option<&str>) -> Result<&Motion, Failure> {
        let called = |wanted: &str| {
            let lower = wanted.to_lowercase();
            let exact = self.motions.iter().find(|motion| motion.clip.name == wanted);
            exact.or_else(|| {
                self.motions.iter().find(|motion| motion.clip.name.to_lowercase().contains(&lower))
            })
        };
        let known = || self.motions.iter().map(|motion| motion.clip.name.clone()).collect::<Vec<_>>();
        match name {
            Some(wanted) => called(wanted).ok_or_else(|| no_clip(wanted, &known())),
            None => called("walk").or(self.motions.first()).ok_or_else(|| no_clip("walk", &[])),
        }
    }
}
