//! What is drawn: a character with its clips, built in or from files.

use std::path::{Path, PathBuf};

use throng::clip::RawClip;
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::import::gltf;
use throng::rig::{RawCharacter, RawSkeleton, Role, RoleMap};

use crate::args::RenderArgs;
use crate::output::Failure;
use crate::progress;

/// A character, and the clips that run on its skeleton.
pub struct Subject {
    pub character: RawCharacter,
    pub roles: RoleMap,
    pub clips: Vec<RawClip>,
    rest: RawClip,
}

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

fn built_in(name: &str) -> Option<BuiltIn> {
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

/// Loads what the options name. Clip files without a character are shown on their own skeletons.
pub fn load(options: &RenderArgs) -> Result<Subject, Failure> {
    let mut subject = match (&options.character, options.clips.first()) {
        (None, Some(first)) => from_file(first)?,
        (None, None) => from_built_in(built_in(RigKind::ALL[0].name()), options)?,
        (Some(name), _) if built_in(name).is_some() => from_built_in(built_in(name), options)?,
        (Some(name), _) => from_file(Path::new(name))?,
    };
    let own = usize::from(options.character.is_none());
    for path in options.clips.iter().skip(own) {
        let other = from_file(path)?;
        for clip in other.clips {
            subject.clips.push(rebind(&clip, &other.character.skeleton, &subject.character.skeleton, path)?);
        }
    }
    Ok(subject)
}

/// Who is in a crowd and what each does: the character of the options, or else every rig and build
/// with a mix of clips.
pub fn cast(options: &RenderArgs, size: usize) -> Result<Vec<(Subject, RawClip)>, Failure> {
    if options.character.is_some() || !options.clips.is_empty() {
        let subject = load(options)?;
        let clip = subject.clip(options.clip.as_deref())?.clone();
        return Ok(vec![(subject, clip)]);
    }
    const MIX: [ClipKind; 5] =
        [ClipKind::Walk, ClipKind::Idle, ClipKind::Jog, ClipKind::SlowWalk, ClipKind::Run];
    let named = options.clip.as_deref().map(built_in_clip).transpose()?;
    let bar = progress::bar(size as u64, "casting");
    let subject = |(index, built): (usize, BuiltIn)| {
        let clip = content::clip(named.unwrap_or(MIX[index % MIX.len()]), &built);
        bar.inc(1);
        (Subject::new(built.character, built.roles, Vec::new()), clip)
    };
    let cast = content::variants(1, size).into_iter().enumerate().map(subject).collect();
    bar.finish_and_clear();
    Ok(cast)
}

fn from_built_in(built: Option<BuiltIn>, options: &RenderArgs) -> Result<Subject, Failure> {
    let built = built
        .ok_or_else(|| Failure::usage("no such built-in character", "`throng render --list` names them"))?;
    // Only what will be drawn is synthesised.
    let kind = options.clip.as_deref().map_or(Ok(ClipKind::Walk), built_in_clip)?;
    let clips = vec![content::clip(kind, &built)];
    Ok(Subject::new(built.character, built.roles, clips))
}

fn from_file(path: &Path) -> Result<Subject, Failure> {
    let loaded = gltf::load(path).map_err(|error| Failure::Input {
        path: path.to_owned(),
        what: error.kind.to_string(),
        hint: (!path.exists()).then(|| "`throng render --list` names what is built in".to_owned()),
    })?;
    if loaded.character.skeleton.joints.is_empty() {
        return Err(Failure::input(path, "has no skeleton to draw"));
    }
    Ok(Subject::new(loaded.character, loaded.roles, loaded.clips))
}

/// The clip with its tracks on the joints of the same names.
fn rebind(clip: &RawClip, from: &RawSkeleton, to: &RawSkeleton, path: &Path) -> Result<RawClip, Failure> {
    let mut bound = clip.clone();
    bound.tracks.retain_mut(|track| {
        let name = from.joints.get(usize::from(track.joint)).map(|joint| joint.name.as_str());
        let joint = name.and_then(|name| to.find(name));
        track.joint = joint.unwrap_or(track.joint);
        joint.is_some()
    });
    bound.tracks.sort_by_key(|track| track.joint);
    if 2 * bound.tracks.len() < clip.tracks.len() {
        return Err(Failure::Input {
            path: path.to_owned(),
            what: format!(
                "clip {:?} fits {} of {} animated joints of the character",
                clip.name,
                bound.tracks.len(),
                clip.tracks.len()
            ),
            hint: Some("name a character of the same skeleton with --character".to_owned()),
        });
    }
    Ok(bound)
}

impl Subject {
    fn new(character: RawCharacter, roles: RoleMap, clips: Vec<RawClip>) -> Self {
        let rest = RawClip { name: "rest pose".to_owned(), ..RawClip::default() };
        Self { character, roles, clips, rest }
    }

    /// The clip of that name; without a name the walk, or the first one, or the rest pose.
    pub fn clip(&self, name: Option<&str>) -> Result<&RawClip, Failure> {
        let called = |wanted: &str| {
            let lower = wanted.to_lowercase();
            let exact = self.clips.iter().find(|clip| clip.name == wanted);
            exact.or_else(|| self.clips.iter().find(|clip| clip.name.to_lowercase().contains(&lower)))
        };
        match name {
            Some(wanted) => called(wanted).ok_or_else(|| {
                no_clip(wanted, &self.clips.iter().map(|clip| clip.name.clone()).collect::<Vec<_>>())
            }),
            None => Ok(called("walk").or(self.clips.first()).unwrap_or(&self.rest)),
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
