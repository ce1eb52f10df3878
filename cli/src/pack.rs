//! `pack`: clips of files into one archive, bound to one character.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::Serialize;
use throng::clip::archive::{Archive, ArchiveError, PackSettings, PackedClip, pack};
use throng::clip::{BoundClip, MotionKeys, RawClip};
use throng::content::{self, BodyPlan, BuiltIn, RigKind};
use throng::import::Beside;
use throng::retarget::{BindSource, fitting_keys};
use throng::rig::{ReferencePose, Rig, RigSource, Role, RoleMap};

use crate::args::PackArgs;
use crate::body::Body;
use crate::output::{self, ARCHIVE, Failure};
use crate::progress;
use crate::source::{self, Motion, Owner};
use crate::table::{align_right, grouped, table};

/// Keys per second of the uncompressed clips that sizes are compared with.
const RAW_RATE: f32 = 30.0;
/// Bytes of a raw key of one joint: translation, rotation and scale as ten `f32`.
const RAW_KEY: usize = 40;

/// One clip that was packed.
#[derive(Serialize)]
struct Row {
    clip: String,
    file: Option<PathBuf>,
    seconds: f32,
    keys: u32,
    raw_bytes: usize,
    packed_bytes: usize,
    ratio: f64,
    error_mm: f64,
}

#[derive(Serialize)]
struct Report {
    output: PathBuf,
    /// False where something failed and the run was not to keep going.
    written: bool,
    /// Files and clips that are not in the archive, with the reason.
    left_out: Vec<String>,
    rig: String,
    joints: usize,
    shared_joints: usize,
    tolerance_mm: f64,
    shell_mm: f64,
    clips: Vec<Row>,
    clip_count: usize,
    raw_bytes: usize,
    /// Of the file.
    packed_bytes: usize,
    ratio: f64,
    error_mm: f64,
    /// Unpacking all clips once, on one thread.
    unpack_ms: f64,
    warnings: Vec<String>,
}

/// A clip, and where it is from.
struct Source {
    file: Option<PathBuf>,
    motion: Motion,
}

/// Runs the command.
pub fn run(options: &PackArgs, json: bool) -> Result<(), Failure> {
    let mut inputs = options.files.clone();
    inputs.extend(options.onto.as_ref().map(PathBuf::from));
    output::refuse_inputs(&options.output, &inputs, ARCHIVE, "-o")?;
    output::refuse_ending(&options.output, ARCHIVE, "-o")?;
    let (mut warnings, mut left_out) = (Vec::new(), Vec::new());
    let (rig, body, sources) = gather(options, &mut warnings, &mut left_out)?;
    strangers(&sources, &body, &mut warnings);
    let settings = PackSettings { tolerance: options.tolerance * 1e-3, shell: options.shell * 1e-3 };
    let names = names(&sources, &mut warnings);

    let mut bound: Vec<(usize, BoundClip, MotionKeys)> = Vec::new();
    let bar = progress::bar(sources.len() as u64, "binding");
    for (index, Source { motion, file }) in sources.iter().enumerate() {
        let reference = stance(&motion.owner, &body);
        let from = BindSource {
            skeleton: &motion.owner.skeleton,
            roles: &motion.owner.roles,
            reference: &reference,
        };
        let keys = fitting_keys(from, &motion.clip, &rig);
        match keys.and_then(|keys| Ok((BoundClip::build(rig.topology(), &keys)?, keys))) {
            Ok((clip, keys)) => bound.push((index, clip, keys)),
            Err(error) => left_out.push(of_file(file, &error)),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if bound.is_empty() {
        return Err(nothing_left(left_out, warnings));
    }
    // What an archive cannot hold is left out, as what cannot be bound is.
    let mut packed = Vec::with_capacity(bound.len());
    let fitted = fit_all(&rig, &bound, &names, &settings, options.threads.into());
    bound = std::mem::take(&mut bound)
        .into_iter()
        .zip(fitted)
        .filter_map(|(own, fitted)| match fitted {
            Ok(fitted) => {
                packed.push(fitted);
                Some(own)
            }
            Err(error) => {
                left_out.push(of_file(&sources[own.0].file, &error));
                None
            }
        })
        .collect();
    if packed.is_empty() {
        return Err(nothing_left(left_out, warnings));
    }
    let bytes = pack(&rig, &settings, &packed).map_err(|error| Failure::Engine(error.to_string()))?;
    let mut report = report(options, &bytes, &sources, &bound, &names, warnings)?;
    let over = report.clips.iter().filter(|row| row.error_mm > options.tolerance).count();
    let failed = over + left_out.len() > 0;
    report.left_out = left_out;
    report.written = options.keep_going || !failed;
    if report.written {
        output::write_whole(&options.output, &bytes)?;
    }
    if json {
        output::print_json(&report);
    } else {
        show(&report);
    }
    if failed {
        return Err(Failure::Check(verdict(options, &report, over)));
    }
    Ok(())
}

fn of_file(file: &Option<PathBuf>, error: &dyn std::fmt::Display) -> String {
    match file {
        Some(file) => format!("{}: {error}", file.display()),
        None => error.to_string(),
    }
}

fn nothing_left(left_out: Vec<String>, warnings: Vec<String>) -> Failure {
    // What was found out about a file without clips is not why there are none.
    if left_out.is_empty() {
        return Failure::Unusable {
            what: "there is no clip in what is named".to_owned(),
            hint: "`throng inspect FILE` shows the clips of a file".to_owned(),
        };
    }
    let what = "no clip is left to be packed".to_owned();
    Failure::Unusable {
        what: [what].into_iter().chain(left_out).chain(warnings).collect::<Vec<_>>().join("; "),
        hint: "`throng inspect FILE` shows the clips of a file".to_owned(),
    }
}

/// What failed, and what has become of the archive.
fn verdict(options: &PackArgs, report: &Report, over: usize) -> String {
    let mut what = Vec::new();
    if !report.left_out.is_empty() {
        what.push(format!("{} files or clips cannot be packed", report.left_out.len()));
    }
    if over > 0 {
        what.push(format!(
            "{over} of {} clips are further off than {} mm: that is less than bound clips can tell of this character",
            report.clips.len(),
            options.tolerance,
        ));
    }
    let output = options.output.display();
    what.push(if report.written {
        format!("{output} was written with {} clips all the same", report.clips.len())
    } else {
        format!("{output} was not written: --keep-going writes what there is, --tolerance says what is near enough")
    });
    what.join("; ")
}

/// The character, and all clips with their skeletons. Files that cannot be read end it, but where it is to keep going and
/// the character is another file's.
fn gather(
    options: &PackArgs,
    warnings: &mut Vec<String>,
    left_out: &mut Vec<String>,
) -> Result<(Rig, Body, Vec<Source>), Failure> {
    let mut sources = Vec::new();
    let mut own = None;
    let (load, beside) = (options.reading.options(), Beside::new());
    for path in &options.files {
        if source::is_archive(path) {
            return Err(Failure::usage(
                format!("{} is an archive already, whose clips are bound", path.display()),
                "pack the files that it was made from",
            ));
        }
        let (body, motions) = match source::read(path, &load, &beside, warnings) {
            Ok(read) => read,
            Err(failure) if options.keep_going && (options.onto.is_some() || own.is_some()) => {
                left_out.push(failure.to_string());
                continue;
            }
            Err(failure) => return Err(failure),
        };
        sources.extend(motions.into_iter().map(|motion| Source { file: Some(path.clone()), motion }));
        own = own.or(Some(body));
    }
    let mut built = None;
    let body = match (&options.onto, own) {
        (Some(name), _) => match source::built_in(name) {
            Some(known) => source::body_of(built.insert(known)),
            None => {
                let path = Path::new(name);
                let read = source::read(path, &load, &beside, warnings);
                read.map_err(|failure| source::or_built_in(failure, path))?.0
            }
        },
        (None, Some(own)) => own,
        (None, None) => {
            let first = content::character(RigKind::ALL[0], &BodyPlan::adult());
            source::body_of(built.insert(first))
        }
    };
    if let Some(count) = options.builtin {
        let built = built.unwrap_or_else(|| content::character(RigKind::ALL[0], &BodyPlan::adult()));
        sources.extend(built_in_clips(&built, count.into()));
    }
    let rig = Rig::build(&RigSource {
        character: &body.character,
        roles: &body.roles,
        reference: body.reference.clone(),
        soles: body.soles,
    });
    let rig = rig.map_err(|error| Failure::input(Path::new(&body.character.name), error))?;
    Ok((rig, body, sources))
}

fn built_in_clips(built: &BuiltIn, count: usize) -> Vec<Source> {
    let owner = Rc::new(source::owner_of(built));
    let of =
        |clip: RawClip| Source { file: None, motion: Motion { clip, owner: Rc::clone(&owner), bound: None } };
    content::library(built, count).into_iter().map(of).collect()
}

/// The pose in which the owner of a clip stands as the character does: on the same skeleton the two stand alike already,
/// whatever pose the file rests in.
fn stance(owner: &Owner, body: &Body) -> ReferencePose {
    let (skeleton, roles) = (&owner.skeleton, &owner.roles);
    let (to, to_roles) = (&body.character.skeleton, &body.roles);
    let sibling = || ReferencePose::of_sibling(skeleton, roles, to, to_roles, &body.reference);
    let pose = if owner.adjusted { None } else { sibling() };
    pose.unwrap_or_else(|| owner.reference.clone())
}

/// Warns of files whose bodies have little in common with the character: their clips move only what both have.
fn strangers(sources: &[Source], body: &Body, warnings: &mut Vec<String>) {
    let counts = |role: &Role| !matches!(role, Role::Finger(..) | Role::Twist(..));
    let count = |roles: &RoleMap| roles.iter().filter(|(role, _)| counts(role)).count();
    let mut last: Option<&Path> = None;
    for Source { file, motion } in sources {
        let Some(file) = file.as_deref().filter(|file| last != Some(*file)) else { continue };
        last = Some(file);
        let (from, to) = (&motion.owner.roles, &body.roles);
        let shared = to.iter().filter(|(role, _)| counts(role) && from.joint(*role).is_some()).count();
        let most = count(from).max(count(to));
        // Bodies without roles are bound by the names of their joints.
        let (shared, most, what) = if most > 0 {
            (shared, most, "roles")
        } else {
            let (from, to) = (&motion.owner.skeleton, &body.character.skeleton);
            let named = to.joints.iter().filter(|joint| from.find(&joint.name).is_some()).count();
            (named, from.joints.len().max(to.joints.len()), "joint names")
        };
        if 2 * shared < most {
            warnings.push(format!(
                "{}: has {shared} of {most} {what} in common with {:?}; what only one of them has does not move",
                file.display(),
                body.character.name,
            ));
        }
    }
}

/// Names of the clips; where several are alike, those of their files before them.
fn names(sources: &[Source], warnings: &mut Vec<String>) -> Vec<String> {
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    for source in sources {
        *met.entry(&source.motion.clip.name).or_default() += 1;
    }
    let mut names = Vec::with_capacity(sources.len());
    let mut taken: BTreeMap<String, usize> = BTreeMap::new();
    for source in sources {
        let own = &source.motion.clip.name;
        let mut name = own.clone();
        if met.get(own.as_str()).is_some_and(|count| *count > 1) {
            let file = source.file.as_deref().and_then(Path::file_stem);
            let file = file.map_or_else(|| "built-in".into(), |stem| stem.to_string_lossy());
            name = format!("{file}/{own}");
        }
        let count = taken.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            name = format!("{name}#{count}");
        }
        if name != *own {
            warnings.push(format!("clip {own:?} is called {name:?}: there are others of its name"));
        }
        names.push(name);
    }
    names
}

/// Fits all clips on so many threads; results in their order.
fn fit_all(
    rig: &Rig,
    bound: &[(usize, BoundClip, MotionKeys)],
    names: &[String],
    settings: &PackSettings,
    threads: usize,
) -> Vec<Result<PackedClip, ArchiveError>> {
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let bar = progress::bar(bound.len() as u64, "packing");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((index, clip, keys)) = bound.get(next.fetch_add(1, Ordering::Relaxed)) {
            let packed = PackedClip::fit(rig, clip, Some(keys), settings);
            done.push((*index, packed.map(|packed| packed.named(names[*index].clone()))));
            bar.inc(1);
        }
        done
    };
    let mut done: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(bound.len())).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    bar.finish_and_clear();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, packed)| packed).collect()
}

/// What the archive says of itself, read back.
fn report(
    options: &PackArgs,
    bytes: &[u8],
    sources: &[Source],
    bound: &[(usize, BoundClip, MotionKeys)],
    names: &[String],
    warnings: Vec<String>,
) -> Result<Report, Failure> {
    let broken = |error: ArchiveError| Failure::Engine(format!("the archive does not come back: {error}"));
    let archive = Archive::open(bytes).map_err(broken)?;
    let files: BTreeMap<&str, Option<&PathBuf>> =
        bound.iter().map(|(index, ..)| (names[*index].as_str(), sources[*index].file.as_ref())).collect();
    let joints = archive.topology().len();
    let mut rows = Vec::with_capacity(archive.len());
    let mut unpack_ms = 0.0;
    for (index, clip) in archive.clips().enumerate() {
        let began = Instant::now();
        archive.clip(index).transpose().map_err(broken)?;
        unpack_ms += began.elapsed().as_secs_f64() * 1e3;
        let raw_bytes = ((clip.duration * RAW_RATE).round() as usize + 1) * joints * RAW_KEY;
        rows.push(Row {
            clip: clip.name.to_owned(),
            file: files.get(clip.name).copied().flatten().cloned(),
            seconds: clip.duration,
            keys: clip.intervals + 1,
            raw_bytes,
            packed_bytes: clip.bytes,
            ratio: clip.bytes as f64 / raw_bytes as f64,
            error_mm: f64::from(clip.error) * 1e3,
        });
    }
    let raw_bytes: usize = rows.iter().map(|row| row.raw_bytes).sum();
    Ok(Report {
        output: options.output.clone(),
        written: false,
        left_out: Vec::new(),
        rig: archive.rig().to_owned(),
        joints,
        shared_joints: archive.shared_joints(),
        tolerance_mm: options.tolerance,
        shell_mm: options.shell,
        clip_count: rows.len(),
        raw_bytes,
        packed_bytes: bytes.len(),
        ratio: bytes.len() as f64 / raw_bytes.max(1) as f64,
        error_mm: rows.iter().map(|row| row.error_mm).fold(0.0, f64::max),
        clips: rows,
        unpack_ms,
        warnings,
    })
}

fn show(report: &Report) {
    for warning in &report.warnings {
        output::warn(warning);
    }
    for left_out in &report.left_out {
        output::warn(format!("left out: {}", left_out));
    }
    let mut table = table(&["clip", "s", "keys", "raw bytes", "packed", "%", "error mm"]);
    let percent = |ratio: f64| format!("{:.2}", 100.0 * ratio);
    for row in &report.clips {
        table.add_row([
            row.clip.clone(),
            format!("{:.2}", row.seconds),
            row.keys.to_string(),
            grouped(row.raw_bytes),
            grouped(row.packed_bytes),
            percent(row.ratio),
            format!("{:.3}", row.error_mm),
        ]);
    }
    table.add_row([
        format!("whole file, {} clips", report.clips.len()),
        format!("{:.2}", report.clips.iter().map(|row| row.seconds).sum::<f32>()),
        report.clips.iter().map(|row| row.keys as usize).sum::<usize>().to_string(),
        grouped(report.raw_bytes),
        grouped(report.packed_bytes),
        percent(report.ratio),
        format!("{:.3}", report.error_mm),
    ]);
    align_right(&mut table, 1..7);
    output::say(format!(
        "{}{}: {} joints of {:?}, {} of them told once for all clips",
        report.output.display(),
        if report.written { "" } else { " (not written)" },
        report.joints,
        report.rig,
        report.shared_joints,
    ));
    output::say(format!(
        "raw: 10 f32 per joint at 30 keys/s; error: largest distance of a joint, or a point {} mm off it, from the source",
        report.shell_mm,
    ));
    output::block("");
    output::block(table);
}
