//! What is done, line by line, so that an interrupted run goes on.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use throng::retarget::Verdict;

use crate::output::Failure;

/// One source file that is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Paths as text: names that are none are told as well as they can be.
    pub source: String,
    /// Hash of the source, the target and the options.
    pub key: String,
    /// `None` where nothing was to be written or it failed.
    pub output: Option<String>,
    pub clips: Vec<Verdict>,
    pub error: Option<String>,
    /// Read from the journal.
    #[serde(skip)]
    pub earlier: bool,
}

/// A file of one shard's own to write to; those of all shards are read.
pub struct Journal {
    path: PathBuf,
    file: Mutex<File>,
    done: HashMap<String, Entry>,
}

impl Journal {
    /// Reads what is there. A last line that was cut off counts as not there.
    pub fn open(folder: &Path, shard: Option<(usize, usize)>) -> Result<Self, Failure> {
        let mut done = HashMap::new();
        let listed = fs::read_dir(folder).map_err(|error| Failure::input(folder, error))?;
        let mut names: Vec<PathBuf> = listed
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| {
                let name =
                    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                name.starts_with("retarget") && name.ends_with(".journal")
            })
            .collect();
        names.sort();
        for name in names {
            let text = fs::read(&name).map_err(|error| Failure::input(&name, error))?;
            for line in text.split(|&byte| byte == b'\n') {
                if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
                    done.insert(entry.source.clone(), Entry { earlier: true, ..entry });
                }
            }
        }
        let name = match shard {
            Some((index, count)) => format!("retarget-{}-of-{count}.journal", index + 1),
            None => "retarget.journal".to_owned(),
        };
        let path = folder.join(name);
        let open = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = open.map_err(|error| lost(&path, &error))?;
        // What was cut off must not run into the next line.
        file.write_all(b"\n").map_err(|error| lost(&path, &error))?;
        Ok(Self { path, file: Mutex::new(file), done })
    }

    /// The entry of a source, if it was made from the same and its output is there.
    pub fn find(&self, source: &str, key: &str) -> Option<Entry> {
        let entry = self.done.get(source).filter(|entry| entry.key == key && entry.error.is_none())?;
        entry.output.as_deref().is_none_or(|output| Path::new(output).exists()).then(|| entry.clone())
    }

    /// Adds a line.
    pub fn add(&self, entry: &Entry) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(entry).map_err(|error| Failure::Engine(error.to_string()))?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(&line).and_then(|()| file.flush()).map_err(|error| lost(&self.path, &error))
    }
}

fn lost(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Output { path: path.to_owned(), what: format!("cannot be written: {error}") }
}
