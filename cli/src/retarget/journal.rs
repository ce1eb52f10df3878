//! What is done, line by line, so that an interrupted run goes on.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use throng::import::read_file;
use throng::retarget::Verdict;

use crate::output::{self, Failure};

/// One source file that is done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Entry {
    /// Paths as text: names that are none are told as well as they can be.
    pub source: String,
    /// Where the source lies, however it was spelt; empty in lines of earlier versions.
    #[serde(default)]
    pub place: String,
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

/// Files that are about to be written for a source: a run may end between them and its entry.
#[derive(Serialize, Deserialize)]
struct Claim {
    claims: Vec<String>,
    source: String,
    place: String,
}

/// Whose an output is.
#[derive(Clone)]
struct Owner {
    /// As its user has spelt it.
    source: String,
    place: String,
    /// In this run: the file may not be there yet.
    now: bool,
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
    /// Sources of the files below the folder that were written, or were about to be; the last one counts.
    owners: Mutex<HashMap<String, Owner>>,
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
        // Opening a pipe would wait for its reader.
        if std::fs::metadata(&path).is_ok_and(|data| !data.is_file()) {
            return Err(Failure::output(&path, "is no regular file, which the journal has to be"));
        }
        let open = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = open.map_err(|error| lost(&path, &error))?;
        // Some network file systems have no locks: there it is the user's word that counts.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let what = format!("another run is writing to {}", path.display());
            return Err(Failure::usage(what, "wait for it, or divide the work with --shard"));
        }
        let parts = folder.join(format!("{name}.parts"));
        clear(&parts)?;
        let (done, owners) = read_all(folder)?;
        // What was cut off must not run into the next line.
        file.write_all(b"\n").map_err(|error| lost(&path, &error))?;
        let (file, owners) = (Mutex::new(file), Mutex::new(owners));
        Ok(Self { folder: folder.to_owned(), path, file, done, owners, parts })
    }

    /// The entry of that key, if its outputs are as they were written.
    pub fn find(&self, key: &str) -> Option<Entry> {
        let entry = self.done.get(key).filter(|entry| entry.error.is_none())?;
        let whole = |output: &Written| {
            let path = self.folder.join(&output.file);
            fs::metadata(&path).is_ok_and(|data| data.len() == output.bytes)
                && read_file(&path).is_ok_and(|bytes| hash(&bytes) == output.hash)
        };
        entry.outputs.iter().all(whole).then(|| entry.clone())
    }

    /// Makes files those of the entry's source, all or none; then they may be written. Why not, if one is there that no
    /// run has made or that another source has become: it would be lost.
    pub fn claim(&self, paths: &[&Path], entry: &Entry) -> Result<Result<(), String>, Failure> {
        let own = Owner { source: entry.source.clone(), place: entry.place.clone(), now: true };
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        let mut claims = Vec::new();
        for path in paths {
            let file = self.below(path);
            let owner = owners.get(&file);
            if owner.is_some_and(|owner| owner.place == own.place) {
                continue;
            }
            // A link that leads nowhere is somebody's, too.
            if owner.is_some_and(|owner| owner.now) || fs::symlink_metadata(path).is_ok() {
                let whose = match owner {
                    Some(other) => format!("is what {} became", other.source),
                    None => "exists and was not made by this command".to_owned(),
                };
                let path = path.display();
                return Ok(Err(format!(
                    "{path} {whose}; it will not be overwritten: remove it, or choose another folder with -o"
                )));
            }
            claims.push(file);
        }
        for path in paths {
            owners.insert(self.below(path), own.clone());
        }
        if !claims.is_empty() {
            self.line(&Claim { claims, source: own.source, place: own.place })?;
        }
        Ok(Ok(()))
    }

    /// Name below the output folder.
    fn below(&self, path: &Path) -> String {
        path.strip_prefix(&self.folder).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// Adds a line.
    pub fn add(&self, entry: &Entry) -> Result<(), Failure> {
        self.line(entry)
    }

    fn line<T: Serialize>(&self, content: &T) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(content).map_err(|error| Failure::Engine(error.to_string()))?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line).and_then(|()| file.flush()).map_err(|error| lost(&self.path, &error))
    }

    /// Writes a file below the output folder: no reader ever meets half of it, whenever the run ends.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> Result<Written, Failure> {
        let file = self.below(path);
        let parent = path.parent().unwrap_or(&self.folder);
        for folder in [parent, &self.parts] {
            fs::create_dir_all(folder).map_err(|error| lost(folder, &error))?;
        }
        let hash = hash(bytes);
        let part = self.parts.join(format!("{hash}-{:?}{PART}", std::thread::current().id()));
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

/// Ending of files that are being written.
const PART: &str = ".part";

/// Removes files that a run was writing when it ended; whatever else is in the folder stays, and so does the folder then.
fn clear(parts: &Path) -> Result<(), Failure> {
    for entry in fs::read_dir(parts).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = name.strip_suffix(PART).and_then(|name| name.split_once("-ThreadId(")).is_some_and(
            |(hash, thread)| {
                hash.len() == 32 && hash.bytes().all(|b| b.is_ascii_hexdigit()) && thread.ends_with(')')
            },
        );
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            fs::remove_file(entry.path()).map_err(|error| lost(&entry.path(), &error))?;
        }
    }
    let _ = fs::remove_dir(parts);
    Ok(())
}

/// Entries of all journals of a folder by their keys, and whose the files of the folder are.
fn read_all(folder: &Path) -> Result<(HashMap<String, Entry>, HashMap<String, Owner>), Failure> {
    let listed = fs::read_dir(folder).map_err(|error| Failure::input(folder, error))?;
    let mut journals: Vec<PathBuf> = listed
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.starts_with("retarget") && name.ends_with(".journal")
        })
        .collect();
    journals.sort();
    let (mut done, mut owners) = (HashMap::new(), HashMap::new());
    for journal in journals {
        let text = read_file(&journal).map_err(|error| Failure::input(&journal, error))?;
        let mut strange = 0;
        let mut lines = text.split(|&byte| byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
                let mut owner =
                    Owner { source: entry.source.clone(), place: entry.place.clone(), now: false };
                if owner.place.is_empty() {
                    owner.place = place(Path::new(&owner.source));
                }
                owners.extend(entry.outputs.iter().map(|output| (output.file.clone(), owner.clone())));
                done.insert(entry.key.clone(), Entry { earlier: true, ..entry });
            } else if let Ok(Claim { claims, source, place }) = serde_json::from_slice(line) {
                let owner = Owner { source, place, now: false };
                owners.extend(claims.into_iter().map(|file| (file, owner.clone())));
            } else if !line.is_empty() && lines.peek().is_some() {
                // Not one that was cut off.
                strange += 1;
            }
        }
        if strange > 0 {
            output::warn(format!(
                "{}: {strange} lines are none of this command's; what they may have told counts as not done, and files that \
                 they alone knew as another's: remove those, or choose another folder with -o",
                journal.display()
            ));
        }
    }
    Ok((done, owners))
}

/// One text for a file, however its path is spelt.
pub fn place(path: &Path) -> String {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}

fn lost(path: &Path, error: &std::io::Error) -> Failure {
    Failure::output(path, format!("cannot be written: {error}"))
}
