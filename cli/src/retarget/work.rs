//! One source file after the other, on every core.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use indicatif::ProgressBar;
use throng::clip::{RawClip, RootSource};
use throng::export::{self, ExportOptions};
use throng::import::{Beside, Imported, LoadOptions, Sidecar, Warning};
use throng::retarget::{
    BindSource, ContactMode, RetargetOptions, RetargetTarget, TravelOn, Verdict, retarget,
};
use throng::rig::{Rig, RigSource};

use super::args::ExportFormat;
use super::collect::SourceFile;
use super::content::{Parts, content};
use super::journal::{self, Entry, Journal, Judgement};
use super::stop;
use super::target::Target;
use crate::files;
use crate::output::{self, Failure};

/// What is made of every file.
pub struct Plan<'a> {
    pub target: &'a Target,
    /// `None`: only judged.
    pub output: Option<&'a Path>,
    pub format: ExportFormat,
    pub travel: TravelOn,
    pub feet: ContactMode,
    pub reduce: Option<f32>,
    /// All files that are read, none of which may be written to; canonical.
    pub inputs: HashSet<PathBuf>,
    /// What lies beside sources or was named.
    pub beside: &'a Beside,
    pub options: LoadOptions,
}

/// Entries in the order of the files, and the workers there were. The first failure to write ends the run: nothing would
/// get better by going on. One that is interrupted has entries of the files that are done.
pub fn all(
    plan: &Plan<'_>,
    files: &[SourceFile],
    journal: Option<&Journal>,
    threads: usize,
    bar: &ProgressBar,
) -> (Result<Vec<Entry>, Failure>, usize) {
    let cores = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let cores = cores.min(files.len()).max(1);
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = || {
        let mut done = Vec::new();
        while !stop.load(Ordering::Relaxed) && !stop::asked() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at) else { break };
            let Some(result) = one(plan, file, journal).transpose() else { break };
            let failed = result.is_err();
            done.push((at, result));
            bar.inc(1);
            if failed {
                stop.store(true, Ordering::Relaxed);
            }
        }
        done
    };
    let mut done: Vec<(usize, Result<Entry, Failure>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|(at, _)| *at);
    (done.into_iter().map(|(_, result)| result).collect(), cores)
}

/// `None` if the run was interrupted before the file was done.
fn one(plan: &Plan<'_>, file: &SourceFile, journal: Option<&Journal>) -> Result<Option<Entry>, Failure> {
    let mut entry = Entry {
        source: file.path.to_string_lossy().into_owned(),
        place: journal::place(&file.path),
        ..Entry::default()
    };
    match key(plan, file) {
        Ok(key) => entry.key = key,
        Err(error) => {
            entry.error = Some(error);
            return Ok(Some(entry));
        }
    }
    if let Some(before) = journal.and_then(|journal| journal.find(&entry.key)) {
        return Ok(Some(Entry { source: entry.source, place: entry.place, ..before }));
    }
    match convert(plan, file, &stop::asked) {
        Ok(None) => return Ok(None),
        Ok(Some(done)) => {
            let report = &done.source.report;
            entry.overrides = report.overrides.as_ref().map(|path| path.display().to_string());
            entry.warnings =
                report.warnings.iter().filter(|own| of_motion(own)).map(ToString::to_string).collect();
            if done.clips.is_empty() {
                entry.warnings.push("has no clips; left out".to_owned());
            }
            entry.clips = done.judgements;
            if let (Some(folder), Some(journal), false) = (plan.output, journal, done.clips.is_empty()) {
                write(plan, folder, file, &done.clips, journal, &mut entry)?;
            }
        }
        Err(error) => entry.error = Some(error),
    }
    if let Some(journal) = journal {
        journal.add(&entry)?;
    }
    Ok(Some(entry))
}

/// Of all that an output is made from: the file and what it refers to, what lies beside it, target, options, place.
fn key(plan: &Plan<'_>, file: &SourceFile) -> Result<String, String> {
    let mut all = content(&file.path, Parts::Motion).map_err(|error| error.to_string())?;
    all.extend_from_slice(plan.target.content());
    let found = plan.beside.of(&file.path).map_err(|error| error.to_string())?;
    let overrides = found.overrides.map(|(_, overrides)| overrides);
    let contacts: Vec<Sidecar> = found.contacts.into_iter().map(|(_, sidecar)| sidecar).collect();
    all.extend(format!("{overrides:?} {contacts:?} {:?}", plan.options).into_bytes());
    all.extend(
        format!("{:?} {:?} {:?} {:?} {:?}", plan.format, plan.travel, plan.feet, plan.reduce, file.name)
            .into_bytes(),
    );
    all.extend_from_slice(env!("CARGO_PKG_VERSION").as_bytes());
    Ok(journal::hash(&all))
}

/// What concerns meshes does not concern clips.
fn of_motion(warning: &Warning) -> bool {
    use Warning::{
        InfluenceOutOfRange, InfluencesPruned, InverseBindCount, InverseBindsUnreadable, MeshDropped,
        MeshWithoutJoint, MorphTargets, NegativeWeights, NoInverseBinds, NoPositions, NoWeights,
        NotTriangles, RigidMesh, Textures, WeightlessVertices,
    };
    !matches!(
        warning,
        InfluenceOutOfRange { .. }
            | InfluencesPruned { .. }
            | InverseBindCount { .. }
            | InverseBindsUnreadable { .. }
            | MeshDropped { .. }
            | MeshWithoutJoint { .. }
            | MorphTargets { .. }
            | NegativeWeights { .. }
            | NoInverseBinds { .. }
            | NoPositions { .. }
            | NoWeights { .. }
            | NotTriangles { .. }
            | RigidMesh { .. }
            | Textures { .. }
            | WeightlessVertices { .. }
            // These are told clip by clip.
            | Warning::SpeedEstimated { .. }
    )
}

/// A source and what has become of its clips.
pub struct Done {
    pub source: Imported,
    pub clips: Vec<RawClip>,
    pub judgements: Vec<Judgement>,
}

/// Clips of a file on the target, and how they came over. A clip that cannot be bound is an error of the file: what of
/// it can be used would be less than it promises. Between two clips it may be stopped, and gives nothing then.
pub fn convert(
    plan: &Plan<'_>,
    file: &SourceFile,
    stopped: &dyn Fn() -> bool,
) -> Result<Option<Done>, String> {
    let loaded = plan.beside.load(&file.path, &plan.options).map_err(|error| {
        // What lies beside a file has a name of its own.
        if error.file == file.path { files::words(error.kind) } else { files::words(error) }
    })?;
    if loaded.clips.is_empty() && !file.named {
        return Ok(Some(Done { source: loaded, clips: Vec::new(), judgements: Vec::new() }));
    }
    if loaded.character.skeleton.joints.is_empty() {
        return Err("has no skeleton".to_owned());
    }
    if loaded.clips.is_empty() {
        return Err("has no clips".to_owned());
    }
    let Target { character, roles, reference, rig, .. } = plan.target;
    let (skeleton, own) = (&loaded.character.skeleton, &loaded.roles);
    let stance = loaded.reference_onto(&character.skeleton, roles, reference);
    // Checked once for all clips.
    Rig::build(&RigSource {
        character: &loaded.character,
        roles: own,
        reference: stance.clone(),
        soles: [None; 2],
    })
    .map_err(|error| error.to_string())?;
    let source = BindSource { skeleton, roles: own, reference: &stance };
    let found = plan.beside.of(&file.path).map_err(|error| error.to_string())?;
    let grips = found.overrides.map(|(_, overrides)| overrides.grips).unwrap_or_default();
    let onto = RetargetTarget { skeleton: &character.skeleton, roles, reference, rig };
    let options = RetargetOptions { contacts: plan.feet, travel: plan.travel, grips };
    let (mut clips, mut judgements) = (Vec::new(), Vec::new());
    for clip in &loaded.clips {
        if stopped() {
            return Ok(None);
        }
        let done = retarget(source, clip, onto, &options).map_err(|error| error.to_string())?;
        judgements.push(judgement(&loaded, clip, done.verdict));
        clips.push(done.clip);
    }
    Ok(Some(Done { source: loaded, clips, judgements }))
}

/// With the ground speed of a cycle on the spot, and where it is from.
fn judgement(source: &Imported, clip: &RawClip, verdict: Verdict) -> Judgement {
    let estimated = source
        .report
        .warnings
        .iter()
        .any(|own| matches!(own, Warning::SpeedEstimated { clip: name, .. } if *name == clip.name));
    let (speed, from) = match clip.root {
        RootSource::InPlace { speed } if estimated => (Some(speed), Some("estimated")),
        RootSource::InPlace { speed } if speed != 0.0 => (Some(speed), Some("contacts")),
        _ => (None, None),
    };
    Judgement { verdict, ground_speed_m_s: speed, ground_speed_from: from.map(str::to_owned) }
}

/// Writes the files of a source; what cannot be told in the format is the entry's error.
fn write(
    plan: &Plan<'_>,
    folder: &Path,
    file: &SourceFile,
    clips: &[RawClip],
    journal: &Journal,
    entry: &mut Entry,
) -> Result<(), Failure> {
    let options = ExportOptions { reduce: plan.reduce };
    let mut outputs: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let base = folder.join(&file.name);
    match plan.format {
        ExportFormat::Glb => match plan.target.glb(clips, &options) {
            Ok(bytes) => outputs.push((ending(&base, "glb"), bytes)),
            Err(refused) => entry.error = Some(refused.to_string()),
        },
        ExportFormat::Bvh => {
            let mut taken = HashSet::new();
            for clip in clips {
                let word: String =
                    clip.name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
                // Two names that are the same as file names.
                let mut name = word.clone();
                let mut count = 1;
                while !taken.insert(name.to_lowercase()) {
                    count += 1;
                    name = format!("{word}-{count}");
                }
                let path = if clips.len() == 1 { base.clone() } else { base.join(name) };
                match export::bvh::write(&plan.target.character.skeleton, clip, 60.0) {
                    Ok(text) => outputs.push((ending(&path, "bvh"), text.into_bytes())),
                    Err(refused) => entry.error = Some(refused.to_string()),
                }
            }
        }
    }
    let kind = match plan.format {
        ExportFormat::Glb => output::GLB,
        ExportFormat::Bvh => output::BVH,
    };
    let paths: Vec<&Path> = outputs.iter().map(|(path, _)| path.as_path()).collect();
    for path in &paths {
        keep_input(path, &plan.inputs)?;
    }
    if let Err(refused) = journal.claim(&paths, entry)? {
        entry.error = Some(refused);
        return Ok(());
    }
    for (path, bytes) in &outputs {
        let near: Vec<PathBuf> = [Some(file.path.as_path()), plan.target.path()]
            .into_iter()
            .flatten()
            .map(Path::to_owned)
            .collect();
        output::refuse_inputs(path, &near, kind, "-o")?;
        entry.outputs.push(journal.write(path, bytes)?);
    }
    Ok(())
}

/// Refuses files that would be written over an input, as far as names tell before anything is read or made.
pub fn keep_inputs(plan: &Plan<'_>, folder: &Path, files: &[SourceFile]) -> Result<(), Failure> {
    let kind = match plan.format {
        ExportFormat::Glb => "glb",
        ExportFormat::Bvh => "bvh",
    };
    files.iter().try_for_each(|file| keep_input(&ending(&folder.join(&file.name), kind), &plan.inputs))
}

fn keep_input(path: &Path, inputs: &HashSet<PathBuf>) -> Result<(), Failure> {
    if std::fs::canonicalize(path).is_ok_and(|path| inputs.contains(&path)) {
        let what = format!("{} is an input; it will not be overwritten", path.display());
        return Err(Failure::usage(what, "choose another folder with -o"));
    }
    Ok(())
}

/// With an ending added, whatever dots the name has.
fn ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(".");
    name.push(ending);
    name.into()
}
