//! `retarget` and `check`: clips of files or folders onto a character, with a verdict on each.
//!
//! ```text
//! files of the sources -> shard -> those not in the journal -> workers: import, bind, bake, judge, write -> journal
//! ```
//!
//! The journal lies in the output folder: one line of JSON for each file that is done, with a hash of everything that it was
//! made from. A run that was interrupted goes on behind it; a file whose source has changed is made anew.

mod journal;
mod picture;
mod planted;
mod target;
mod work;

use std::path::{Path, PathBuf};

use serde::Serialize;
use throng::import::Sidecar;
use throng::retarget::{Grade, Verdict};

use crate::args::{CheckArgs, RetargetArgs};
use crate::output::{self, Failure};
use crate::progress;
use crate::table::{align_right, table};
use journal::{Entry, Journal};
use target::Target;
use work::Plan;

/// Endings of files that have clips.
const ENDINGS: [&str; 5] = ["glb", "gltf", "vrm", "vrma", "bvh"];

/// A file of a source, and what it is called below the output folder.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub path: PathBuf,
    /// Relative, without its ending.
    pub name: PathBuf,
}

#[derive(Serialize)]
struct Row<'a> {
    file: &'a str,
    output: Option<&'a str>,
    #[serde(flatten)]
    verdict: &'a Verdict,
}

#[derive(Serialize)]
struct Failed<'a> {
    file: &'a str,
    error: &'a str,
}

#[derive(Serialize)]
struct Document<'a> {
    clips: Vec<Row<'a>>,
    failed: Vec<Failed<'a>>,
    /// Done in an earlier run.
    skipped: usize,
    clips_per_second_and_core: Option<f64>,
}

/// Runs `retarget`.
pub fn retarget(options: &RetargetArgs, json: bool) -> Result<(), Failure> {
    let target = Target::load(&options.onto)?;
    let files = shard(collect(&options.sources, Some(&options.output))?, options.shard);
    std::fs::create_dir_all(&options.output).map_err(|error| Failure::Output {
        path: options.output.clone(),
        what: format!("cannot be made: {error}"),
    })?;
    let journal = Journal::open(&options.output, options.shard)?;
    let plan = Plan {
        target: &target,
        output: Some(&options.output),
        format: options.format,
        travel: options.travel.kind(),
        reduce: options.reduce,
        sources: &options.sources,
        contacts: &sidecars(&options.contacts)?,
    };
    let entries = run(&plan, &files, Some(&journal), options.threads.into(), json)?;
    finish(&entries)
}

/// Runs `check`.
pub fn check(options: &CheckArgs, json: bool) -> Result<(), Failure> {
    let target = Target::load(&options.target)?;
    let sources = [options.source.clone()];
    let files = collect(&sources, None)?;
    let plan = Plan {
        target: &target,
        output: None,
        format: crate::args::ExportFormat::Glb,
        travel: throng::retarget::TravelOn::Root,
        reduce: None,
        sources: &sources,
        contacts: &sidecars(&options.contacts)?,
    };
    let entries = run(&plan, &files, None, options.threads.into(), json)?;
    if let Some(path) = &options.picture {
        let mean = |clip: &Verdict| clip.limb_direction_deg.map_or(f64::INFINITY, |direction| direction.mean);
        let clips = entries.iter().zip(&files).flat_map(|(entry, file)| {
            entry.clips.iter().enumerate().map(move |(index, clip)| (file, index, clip))
        });
        let worst =
            clips.max_by(|(.., a), (.., b)| a.verdict.cmp(&b.verdict).then(mean(a).total_cmp(&mean(b))));
        if let Some((file, index, _)) = worst {
            picture::draw(&plan, file, index, path)?;
        }
    }
    finish(&entries)
}

fn run(
    plan: &Plan<'_>,
    files: &[SourceFile],
    journal: Option<&Journal>,
    threads: usize,
    json: bool,
) -> Result<Vec<Entry>, Failure> {
    let bar =
        progress::bar(files.len() as u64, if plan.output.is_some() { "retargeting" } else { "checking" });
    let begin = std::time::Instant::now();
    let (entries, cores) = work::all(plan, files, journal, threads, &bar);
    let seconds = begin.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let entries = entries?;
    let fresh: usize = entries.iter().filter(|entry| !entry.earlier).map(|entry| entry.clips.len()).sum();
    let speed = (fresh > 0).then(|| fresh as f64 / seconds.max(1e-9) / cores as f64);
    show(&entries, speed, json);
    Ok(entries)
}

/// A file that could not be used, or a clip that plays wrong, fails the command.
fn finish(entries: &[Entry]) -> Result<(), Failure> {
    let failed = entries.iter().filter(|entry| entry.error.is_some()).count();
    let bad = entries.iter().flat_map(|entry| &entry.clips).filter(|clip| clip.verdict == Grade::Bad).count();
    if failed + bad > 0 {
        return Err(Failure::Check(format!("{bad} clips play wrong, {failed} files could not be used")));
    }
    Ok(())
}

/// All files of the sources: those named, and those in named folders and below, in the order of their names.
/// An output folder among them is no source.
fn collect(sources: &[PathBuf], output: Option<&Path>) -> Result<Vec<SourceFile>, Failure> {
    let folder_of_outputs = output.and_then(|folder| std::fs::canonicalize(folder).ok());
    let mut files = Vec::new();
    for source in sources {
        if !source.is_dir() {
            if !source.exists() {
                return Err(Failure::input(source, "there is no such file or folder"));
            }
            let name = source.file_stem().map(PathBuf::from).unwrap_or_default();
            files.push(SourceFile { path: source.clone(), name });
            continue;
        }
        let mut found = Vec::new();
        let mut folders = vec![source.clone()];
        while let Some(folder) = folders.pop() {
            if folder_of_outputs.is_some()
                && std::fs::canonicalize(&folder).ok() == folder_of_outputs
                && folder != *source
            {
                continue;
            }
            // What cannot be read costs only itself, unless it is all there is.
            let entries = match std::fs::read_dir(&folder) {
                Ok(entries) => entries,
                Err(error) if folder == *source => return Err(Failure::input(&folder, error)),
                Err(error) => {
                    output::warn(format!("{}: {error}; left out", folder.display()));
                    continue;
                }
            };
            for entry in entries.flatten() {
                let (path, kind) = (entry.path(), entry.file_type());
                // Links are not followed: they may lead round.
                match kind {
                    Ok(kind) if kind.is_dir() => folders.push(path),
                    Ok(kind) if kind.is_file() && has_clips(&path) => found.push(path),
                    _ => {}
                }
            }
        }
        if found.is_empty() {
            let what = format!("has no file of {}", ENDINGS.join(", "));
            return Err(Failure::input(source, what));
        }
        found.sort();
        for path in found {
            let name = path.strip_prefix(source).unwrap_or(&path).with_extension("");
            files.push(SourceFile { path, name });
        }
    }
    // Several endings of one name, or several folders: each gets an output of its own.
    let mut taken = std::collections::BTreeMap::<PathBuf, usize>::new();
    for file in &mut files {
        let count = taken.entry(file.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            let mut name = file.name.clone().into_os_string();
            name.push(format!("-{count}"));
            file.name = name.into();
        }
    }
    Ok(files)
}

fn has_clips(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str()))
}

fn sidecars(paths: &[PathBuf]) -> Result<Vec<Sidecar>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        all.extend(Sidecar::load_all(path).map_err(|error| Failure::input(path, error.kind))?);
    }
    Ok(all)
}

/// Every n-th file, so that long and short ones spread over a job array.
fn shard(files: Vec<SourceFile>, shard: Option<(usize, usize)>) -> Vec<SourceFile> {
    let Some((index, count)) = shard else { return files };
    files.into_iter().skip(index).step_by(count).collect()
}

fn show(entries: &[Entry], speed: Option<f64>, json: bool) {
    let skipped = entries.iter().filter(|entry| entry.earlier).count();
    if json {
        let rows = entries.iter().flat_map(|entry| {
            entry.clips.iter().map(|verdict| Row {
                file: &entry.source,
                output: entry.output.as_deref(),
                verdict,
            })
        });
        let failed = entries
            .iter()
            .filter_map(|entry| entry.error.as_deref().map(|error| Failed { file: &entry.source, error }));
        output::print_json(&Document {
            clips: rows.collect(),
            failed: failed.collect(),
            skipped,
            clips_per_second_and_core: speed,
        });
        return;
    }
    let mut rows =
        table(&["clip", "direction", "max", "roll", "root", "leg", "hips", "slide mm", "flips", ""]);
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    for clip in entries.iter().flat_map(|entry| &entry.clips) {
        rows.add_row([
            output::printable(&clip.clip),
            number(clip.limb_direction_deg.map(|d| d.mean), 2),
            number(clip.limb_direction_deg.map(|d| d.max), 1),
            number(clip.limb_roll_deg.map(|r| r.mean), 1),
            number(clip.root_ratio, 3),
            number(Some(clip.leg_ratio), 3),
            number(clip.pelvis_height_ratio, 3),
            number(clip.stance_slide_mm_p99, 1),
            clip.flips.to_string(),
            match clip.verdict {
                Grade::Good => "good",
                Grade::Doubtful => "doubtful",
                Grade::Bad => "BAD",
            }
            .to_owned(),
        ]);
    }
    align_right(&mut rows, 1..9);
    output::say(rows);
    for entry in entries {
        if let Some(error) = &entry.error {
            output::warn(format!("{}: {}", output::printable(&entry.source), output::printable(error)));
        }
        for clip in entry.clips.iter().filter(|clip| clip.verdict != Grade::Good) {
            let reasons = output::printable(&clip.reasons.join("; "));
            output::say(format!("{}, {:?}: {reasons}", output::printable(&entry.source), clip.clip));
        }
    }
    if skipped > 0 {
        output::say(format!("{skipped} files were done before"));
    }
    if let Some(speed) = speed {
        output::say(format!("{speed:.1} clips per second and core"));
    }
}
