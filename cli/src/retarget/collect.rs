//! Which files there are to do.

use std::collections::{BTreeMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use throng::import::{Format, open_file};

use crate::output::{self, Failure};

/// Endings of files that have clips, by which a folder is looked through; `.txt` counts where it begins like a motion.
const ENDINGS: [&str; 6] = ["glb", "gltf", "vrm", "vrma", "bvh", "txt"];

/// A file of a source, and what it is called below the output folder.
#[derive(Clone, Debug)]
pub struct SourceFile {
    pub path: PathBuf,
    /// Relative, without its ending.
    pub name: PathBuf,
    /// By the user, not found in a folder: then it must have clips.
    pub named: bool,
}

/// All files of the sources: those named, and those in named folders and below, in the order of their names.
/// An output folder among them is no source, nor is the character that all of it goes onto where a folder has it.
pub fn collect(
    sources: &[PathBuf],
    output: Option<&Path>,
    target: Option<&Path>,
) -> Result<Vec<SourceFile>, Failure> {
    let place = |path: &Path| std::fs::canonicalize(path).ok();
    let (output, target) = (output.and_then(place), target.and_then(place));
    let mut files = Vec::new();
    for source in sources {
        if !source.is_dir() {
            if !source.exists() {
                return Err(Failure::input(source, "there is no such file or folder"));
            }
            let name = source.file_stem().map(PathBuf::from).unwrap_or_default();
            files.push(SourceFile { path: source.clone(), name, named: true });
            continue;
        }
        if output.is_some() && output == place(source) {
            return Err(Failure::usage(
                format!(
                    "{} is source and output: what is written would be a source of the next run, and inputs will not be overwritten",
                    source.display()
                ),
                "name another folder with -o",
            ));
        }
        let found = walk(source, output.as_deref())?;
        let found: Vec<PathBuf> =
            found.into_iter().filter(|path| target.is_none() || target != place(path)).collect();
        if found.is_empty() {
            let what = format!("has no file of {}", ENDINGS.join(", "));
            return Err(Failure::input(source, what));
        }
        for path in found {
            let name = path.strip_prefix(source).unwrap_or(&path).with_extension("");
            files.push(SourceFile { path, name, named: false });
        }
    }
    // A file that is named twice, or named and found, is done once.
    let mut met = HashSet::new();
    files.retain(|file| place(&file.path).is_none_or(|path| met.insert(path)));
    number(&mut files);
    Ok(files)
}

/// Files of a folder and below, sorted.
fn walk(source: &Path, output: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut folders = vec![source.to_owned()];
    while let Some(folder) = folders.pop() {
        if output.is_some() && std::fs::canonicalize(&folder).ok().as_deref() == output {
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
            // Links to folders are not followed: they may lead round.
            match kind {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if (kind.is_file() || path.is_file()) && has_clips(&path) => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

fn has_clips(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
    if ending != "txt" {
        return ENDINGS.contains(&ending.as_str());
    }
    let mut head = Vec::new();
    let read = open_file(path).map(|file| file.take(512).read_to_end(&mut head));
    matches!(read, Ok(Ok(_))) && Format::detect(path, &head) == Some(Format::MotionText)
}

/// Several endings of one name, or several folders: each gets an output of its own, also where a file system does not tell
/// capitals from small letters.
fn number(files: &mut [SourceFile]) {
    let key = |name: &Path| name.to_string_lossy().to_lowercase();
    let mut taken: HashSet<String> = HashSet::with_capacity(files.len());
    let mut next: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let own = key(&file.name);
        let count = next.entry(own).or_insert(1);
        let plain = file.name.clone().into_os_string();
        while !taken.insert(key(&file.name)) {
            *count += 1;
            let mut name = plain.clone();
            name.push(format!("-{count}"));
            file.name = name.into();
        }
    }
}

/// Every n-th file, so that long and short ones spread over a job array.
pub fn shard(files: Vec<SourceFile>, shard: Option<(usize, usize)>) -> Vec<SourceFile> {
    let Some((index, count)) = shard else { return files };
    files.into_iter().skip(index).step_by(count).collect()
}
