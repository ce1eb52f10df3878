//! What is done, line by line, so that an interrupted run goes on.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use throng::retarget::Verdict;

use crate::output::Failure;

/// One source file that is done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Entry {
    /// Paths as text: names that are none are told as well as they can be.
    pub source: String,
    /// Hash of all that the outputs are made from.
    pub key: String,
    /// Nothing where nothing was to be written or it failed.
    #[serde(default)]
    pub outputs: Vec<Written>,
    pub clips: Vec<Judgement>,
    pub error: Option<String>,
    /// Where roles and reference pose were corrected from.
    #[serde(default)]
    pub overrides: Option<String>,
    /// What the import has converted, guessed or dropped of the motion.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Read from the journal.
    #[serde(skip)]
    pub earlier: bool,
}

/// A file that was written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Written {
    /// Below the output folder.
    pub file: String,
    pub bytes: u64,
    /// Of its content.
    pub hash: String,
}

/// What is known of one clip.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Judgement {
    #[serde(flatten)]
    pub verdict: Verdict,
    /// Of a cycle on the spot; `None` for all others.
    #[serde(default)]
    pub ground_speed_m_s: Option<f32>,
    /// `contacts` if a contacts file says so, `estimated` if it is the median of the feet's in stance.
    #[serde(default)]
    pub ground_speed_from: Option<String>,
}

/// A file of one shard's own to write to; those of all shards are read.
pub struct Journal {
    folder: PathBuf,
    path: PathBuf,
    file: Mutex<File>,
    done: HashMap<String, Entry>,
    /// Where files are written before they are put in their place.
    parts: PathBuf,
}

impl Journal {
    /// Reads what is there. A last line that was cut off counts as not there, and files that were being written are removed.
    ///
    /// # Errors
    /// If the folder cannot be used, or another run is at the same shard.
    pub fn open(folder: &Path, shard: Option<(usize, usize)>) -> Result<Self, Failure> {
        let name = match shard {
            Some((index, count)) => format!("retarget-{}-of-{count}", index + 1),
            None => "retarget".to_owned(),
        };
        let path = folder.join(format!("{name}.journal"));
        let open = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = open.map_err(|error| lost(&path, &error))?;
        // Some network file systems have no locks: there it is the user's word that counts.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let what = format!("another run is writing to {}", path.display());
            return Err(Failure::usage(what, "wait for it, or divide the work with --shard"));
        }
        let parts = folder.join(format!("{name}.parts"));
        if parts.is_dir() {
            fs::remove_dir_all(&parts).map_err(|error| lost(&parts, &error))?;
        }
        let done = read_all(folder)?;
        // What was cut off must not run into the next line.
        file.write_all(b"\n").map_err(|error| lost(&path, &error))?;
        Ok(Self { folder: folder.to_owned(), path, file: Mutex::new(file), done, parts })
    }

    /// The entry of that key, if its outputs are as they were written.
    pub fn find(&self, key: &str) -> Option<Entry> {
        let entry = self.done.get(key).filter(|entry| entry.error.is_none())?;
        let whole = |output: &Written| {
            let path = self.folder.join(&output.file);
            fs::metadata(&path).is_ok_and(|data| data.len() == output.bytes)
                && fs::read(&path).is_ok_and(|bytes| hash(&bytes) == output.hash)
        };
        entry.outputs.iter().all(whole).then(|| entry.clone())
    }

    /// Adds a line.
    pub fn add(&self, entry: &Entry) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(entry).map_err(|error| Failure::Engine(error.to_string()))?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(&line).and_then(|()| file.flush()).map_err(|error| lost(&self.path, &error))
    }

    /// Writes a file below the output folder: no reader ever meets half of it, whenever the run ends.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<Written, Failure> {
        let file = path.strip_prefix(&self.folder).unwrap_or(path).to_string_lossy().into_owned();
        let parent = path.parent().unwrap_or(&self.folder);
        for folder in [parent, &self.parts] {
            fs::create_dir_all(folder).map_err(|error| lost(folder, &error))?;
        }
        let hash = hash(bytes);
        let part = self.parts.join(format!("{hash}-{:?}", std::thread::current().id()));
        // Through a link, not over it.
        let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, &place));
        written.map_err(|error| {
            let _ = fs::remove_file(&part);
            lost(path, &error)
        })?;
        Ok(Written { file, bytes: bytes.len() as u64, hash })
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // Empty by now.
        let _ = fs::remove_dir(&self.parts);
    }
}

/// Hash of some content, as the journal has it.
pub fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(bytes))
}

/// Entries of all journals of a folder, by their keys.
fn read_all(folder: &Path) -> Result<HashMap<String, Entry>, Failure> {
    let listed = fs::read_dir(folder).map_err(|error| Failure::input(folder, error))?;
    let mut journals: Vec<PathBuf> = listed
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with("retarget") && name.ends_with(".journal")
        })
        .collect();
    journals.sort();
    let mut done = HashMap::new();
    for journal in journals {
        let text = fs::read(&journal).map_err(|error| Failure::input(&journal, error))?;
        for line in text.split(|&byte| byte == b'\n') {
            if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
                done.insert(entry.key.clone(), Entry { earlier: true, ..entry });
            }
        }
    }
    Ok(done)
}

fn lost(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Output { path: path.to_owned(), what: format!("cannot be written: {error}") }
}
