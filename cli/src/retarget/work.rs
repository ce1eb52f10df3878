//! One source file after the other, on every core.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use indicatif::ProgressBar;
use throng::clip::RawClip;
use throng::export::{self, ExportOptions};
use throng::import::{self, Sidecar};
use throng::retarget::{BindSource, Judged, TravelOn, Verdict, bake, fitting_keys, judge, judged_times};
use throng::rig::{ReferencePose, Rig, RigSource};

use super::SourceFile;
use super::journal::{Entry, Journal};
use super::planted;
use super::target::Target;
use crate::args::ExportFormat;
use crate::output::{self, Failure};

/// What is made of every file.
pub struct Plan<'a> {
    pub target: &'a Target,
    /// `None`: only judged.
    pub output: Option<&'a Path>,
    pub format: ExportFormat,
    pub travel: TravelOn,
    pub reduce: Option<f32>,
    pub sources: &'a [PathBuf],
    /// Of clips in any of the sources.
    pub contacts: &'a [Sidecar],
}

/// Entries in the order of the files, and the workers there were. The first failure to write ends the run: nothing would
/// get better by going on.
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
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at) else { break };
            let result = one(plan, file, journal);
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

fn one(plan: &Plan<'_>, file: &SourceFile, journal: Option<&Journal>) -> Result<Entry, Failure> {
    let mut entry = Entry {
        source: file.path.to_string_lossy().into_owned(),
        key: String::new(),
        output: None,
        clips: Vec::new(),
        error: None,
        earlier: false,
    };
    let bytes = match std::fs::read(&file.path) {
        Ok(bytes) => bytes,
        Err(error) => {
            entry.error = Some(error.to_string());
            return Ok(entry);
        }
    };
    entry.key = key(plan, file, &bytes);
    if let Some(before) = journal.and_then(|journal| journal.find(&entry.source, &entry.key)) {
        return Ok(before);
    }
    match convert(plan, file) {
        Ok((clips, verdicts)) => {
            entry.clips = verdicts;
            if let Some(folder) = plan.output {
                let output = write(plan, folder, file, &clips, &mut entry.error)?;
                entry.output = output.map(|path| path.to_string_lossy().into_owned());
            }
        }
        Err(error) => entry.error = Some(error),
    }
    if let Some(journal) = journal {
        journal.add(&entry)?;
    }
    Ok(entry)
}

/// Of all that an output is made from, the contacts beside a file included.
fn key(plan: &Plan<'_>, file: &SourceFile, bytes: &[u8]) -> String {
    let mut all = bytes.to_vec();
    all.extend_from_slice(plan.target.content());
    let beside = file.path.with_extension("contacts.json");
    all.extend(std::fs::read(beside).unwrap_or_default());
    all.extend(format!("{:?}", plan.contacts).into_bytes());
    all.extend(format!("{:?} {:?} {:?}", plan.format, plan.travel, plan.reduce).into_bytes());
    all.extend_from_slice(env!("CARGO_PKG_VERSION").as_bytes());
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&all))
}

/// Clips of a file on the target, and how they came over. A clip that cannot be bound is an error of the file: what of
/// it can be used would be less than it promises.
pub fn convert(plan: &Plan<'_>, file: &SourceFile) -> Result<(Vec<RawClip>, Vec<Verdict>), String> {
    let mut loaded = import::load(&file.path).map_err(|error| error.kind.to_string())?;
    let name = file.path.file_name().map(|name| name.to_string_lossy());
    for sidecar in plan.contacts.iter().filter(|own| own.file.rsplit(['/', '\\']).next() == name.as_deref()) {
        sidecar.apply(&mut loaded).map_err(|refused| refused.to_string())?;
    }
    if loaded.character.skeleton.joints.is_empty() {
        return Err("has no skeleton".to_owned());
    }
    if loaded.clips.is_empty() {
        return Err("has no clips".to_owned());
    }
    let Target { character, roles, reference, rig, .. } = plan.target;
    let (skeleton, own) = (&loaded.character.skeleton, &loaded.roles);
    let stance = ReferencePose::of_sibling(skeleton, own, &character.skeleton, roles, reference)
        .unwrap_or_else(|| ReferencePose::aligned(skeleton, own));
    // Checked once for all clips.
    Rig::build(&RigSource {
        character: &loaded.character,
        roles: own,
        reference: stance.clone(),
        soles: [None; 2],
    })
    .map_err(|error| error.to_string())?;
    let source = BindSource { skeleton, roles: own, reference: &stance };
    let (mut clips, mut verdicts) = (Vec::new(), Vec::new());
    for clip in &loaded.clips {
        let keys = fitting_keys(source, clip, rig).map_err(|error| error.to_string())?;
        let baked = bake(&keys, &character.skeleton, rig, plan.travel).map_err(|error| error.to_string())?;
        let from = Judged { skeleton, roles: own, reference: &stance, clip };
        let to = Judged { skeleton: &character.skeleton, roles, reference, clip: &baked };
        let mut verdict = judge(from, to);
        let film = planted::film(rig, &keys, &judged_times(clip)).map_err(|error| error.to_string())?;
        verdict.after(from, to, film);
        verdicts.push(verdict);
        clips.push(baked);
    }
    Ok((clips, verdicts))
}

/// The first file written, if any; what cannot be told in the format is the entry's error.
fn write(
    plan: &Plan<'_>,
    folder: &Path,
    file: &SourceFile,
    clips: &[RawClip],
    error: &mut Option<String>,
) -> Result<Option<PathBuf>, Failure> {
    let options = ExportOptions { reduce: plan.reduce };
    let mut inputs = plan.sources.to_vec();
    inputs.push(file.path.clone());
    inputs.extend(plan.target.path().map(Path::to_owned));
    let mut outputs: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let base = folder.join(&file.name);
    match plan.format {
        ExportFormat::Glb => match plan.target.glb(clips, &options) {
            Ok(bytes) => outputs.push((ending(&base, "glb"), bytes)),
            Err(refused) => *error = Some(refused.to_string()),
        },
        ExportFormat::Bvh => {
            let mut taken = std::collections::BTreeMap::<String, usize>::new();
            for clip in clips {
                let mut name: String =
                    clip.name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
                // Two names that are the same as file names.
                let count = taken.entry(name.to_lowercase()).or_default();
                *count += 1;
                if *count > 1 {
                    name = format!("{name}-{count}");
                }
                let path = if clips.len() == 1 { base.clone() } else { base.join(name) };
                match export::bvh::write(&plan.target.character.skeleton, clip, 60.0) {
                    Ok(text) => outputs.push((ending(&path, "bvh"), text.into_bytes())),
                    Err(refused) => *error = Some(refused.to_string()),
                }
            }
        }
    }
    let kind = match plan.format {
        ExportFormat::Glb => output::GLB,
        ExportFormat::Bvh => output::BVH,
    };
    for (path, bytes) in &outputs {
        output::refuse_inputs(path, &inputs, kind)?;
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|error| Failure::Output {
                path: parent.to_owned(),
                what: format!("cannot be made: {error}"),
            })?;
        }
        output::write_whole(path, bytes)?;
    }
    Ok(outputs.into_iter().next().map(|(path, _)| path))
}

/// With an ending added, whatever dots the name has.
fn ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(".");
    name.push(ending);
    name.into()
}
