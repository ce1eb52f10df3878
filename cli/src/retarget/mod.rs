//! `retarget` and `check`: clips of files or folders onto a character, with a verdict on each.
//!
//! ```text
//! files of the sources -> shard -> those not in the journal -> workers: import, bind, bake, judge, write -> journal
//! ```
//!
//! The journal lies in the output folder: one line of JSON for each file that is done, with a hash of everything that it was
//! made from and of what was written, and before it one with the names of what is about to be written, by which a run knows
//! its own files. A run that was interrupted goes on behind it; a file whose source or output has changed is made anew.

pub mod args;
mod collect;
mod content;
mod journal;
mod picture;
mod report;
mod stop;
mod target;
mod work;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use throng::import::Beside;
use throng::retarget::{Grade, TravelOn, Verdict};

use crate::output::{self, Failure};
use crate::{files, progress};
use args::{CheckArgs, ExportFormat, RetargetArgs};
use collect::{SourceFile, collect, shard};
use journal::{Entry, Journal};
use report::Speed;
use target::Target;
use work::Plan;

/// After a disk was full, say.
const GOES_ON: &str =
    "what is done is kept: once there can be written again, the same command goes on where it stopped";

/// Runs `retarget`.
pub fn retarget(options: &RetargetArgs, json: bool) -> Result<(), Failure> {
    let load = options.both.files.options();
    let target = Target::load(&options.onto, options.both.target_overrides.as_deref(), &load)?;
    let beside = beside(options.both.source_overrides.as_deref(), &options.both.contacts)?;
    let all = collect(&options.sources, Some(&options.output), target.path())?;
    unmatched(&beside, &all);
    let inputs = inputs(&all, &target);
    let files = shard(all, options.shard);
    let plan = Plan {
        target: &target,
        output: Some(&options.output),
        format: options.format,
        travel: options.travel.kind(),
        feet: options.both.feet.kind(),
        reduce: options.reduce,
        inputs,
        beside: &beside,
        options: load,
    };
    // A run that is refused leaves nothing behind.
    work::keep_inputs(&plan, &options.output, &files)?;
    std::fs::create_dir_all(&options.output).map_err(|error| {
        Failure::output(&options.output, format!("cannot be made: {error}"))
            .hinted("choose another folder with -o")
    })?;
    let journal = Journal::open(&options.output, options.shard)?;
    let entries = run(&plan, &files, Some(&journal), options.both.threads.into(), json)?;
    finish(&entries)
}

/// Runs `check`.
pub fn check(options: &CheckArgs, json: bool) -> Result<(), Failure> {
    let load = options.both.files.options();
    let target = Target::load(&options.target, options.both.target_overrides.as_deref(), &load)?;
    let beside = beside(options.both.source_overrides.as_deref(), &options.both.contacts)?;
    let files = collect(std::slice::from_ref(&options.source), None, target.path())?;
    unmatched(&beside, &files);
    let plan = Plan {
        target: &target,
        output: None,
        format: ExportFormat::Glb,
        travel: TravelOn::Root,
        feet: options.both.feet.kind(),
        reduce: None,
        inputs: inputs(&files, &target),
        beside: &beside,
        options: load,
    };
    if let Some(path) = &options.picture {
        let inputs: Vec<PathBuf> = plan.inputs.iter().cloned().collect();
        output::refuse_inputs(path, &inputs, output::PICTURE, "--picture")?;
        output::refuse_ending(path, output::PICTURE, "--picture")?;
    }
    let entries = run(&plan, &files, None, options.both.threads.into(), json)?;
    if let Some(path) = &options.picture {
        let mean = |clip: &Verdict| clip.limb_direction_deg.map_or(f64::INFINITY, |direction| direction.mean);
        let clips = entries.iter().zip(&files).flat_map(|(entry, file)| {
            entry.clips.iter().enumerate().map(move |(index, clip)| (file, index, &clip.verdict))
        });
        let worst =
            clips.max_by(|(.., a), (.., b)| a.verdict.cmp(&b.verdict).then(mean(a).total_cmp(&mean(b))));
        match worst {
            Some((file, index, _)) => picture::draw(&plan, file, index, path)?,
            None => output::warn(format!("{}: there is no clip to draw", path.display())),
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
    if let Some(overrides) = &plan.target.overrides {
        output::note(format!("target: roles and reference pose by {}", overrides.display()));
    }
    for warning in &plan.target.warnings {
        output::warn(format!("target: {}", warning));
    }
    stop::listen()?;
    let begin = std::time::Instant::now();
    let (entries, cores) = work::all(plan, files, journal, threads, &bar);
    let seconds = begin.elapsed().as_secs_f64();
    bar.finish_and_clear();
    let entries = entries.map_err(|failure| match failure {
        Failure::Output { hint: None, .. } => failure.hinted(GOES_ON),
        _ => failure,
    })?;
    let clips = entries.iter().filter(|entry| !entry.earlier).map(|entry| entry.clips.len()).sum();
    report::show(&entries, Speed { clips, cores, seconds }, json);
    if stop::asked() && entries.len() < files.len() {
        let goes_on = if journal.is_some() { "; the same command goes on with the others" } else { "" };
        let (done, all) = (entries.len(), files.len());
        return Err(Failure::Interrupted(format!("interrupted: {done} of {all} files are done{goes_on}")));
    }
    Ok(entries)
}

/// A file that could not be used, or a clip that plays wrong, fails the command; so does having found nothing to do.
fn finish(entries: &[Entry]) -> Result<(), Failure> {
    let failed = entries.iter().filter(|entry| entry.error.is_some()).count();
    let clips: Vec<&Verdict> =
        entries.iter().flat_map(|entry| &entry.clips).map(|clip| &clip.verdict).collect();
    let bad = clips.iter().filter(|clip| clip.verdict == Grade::Bad).count();
    if failed + bad > 0 {
        return Err(Failure::Check(format!("{bad} clips play wrong, {failed} files could not be used")));
    }
    if clips.is_empty() && !entries.is_empty() {
        return Err(Failure::Check("none of the files has a clip".to_owned()));
    }
    Ok(())
}

fn beside(overrides: Option<&Path>, contacts: &[PathBuf]) -> Result<Beside, Failure> {
    let mut beside = files::beside(overrides)?;
    for path in contacts {
        beside = beside.with_contacts(path).map_err(files::refused)?;
    }
    Ok(beside)
}

/// Contacts that were named for nobody are a slip of their user.
fn unmatched(beside: &Beside, files: &[SourceFile]) {
    for contacts in beside.given_contacts().filter(|own| !files.iter().any(|file| own.is_of(&file.path))) {
        output::warn(format!("contacts of {:?} are of {}, which is no source", contacts.clip, contacts.file));
    }
}

/// All that is read.
fn inputs(files: &[SourceFile], target: &Target) -> HashSet<PathBuf> {
    let paths = files.iter().map(|file| file.path.as_path()).chain(target.path());
    paths.filter_map(|path| std::fs::canonicalize(path).ok()).collect()
}
