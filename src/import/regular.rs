//! The one way in which files are opened. A named pipe would be waited for, a device has no end, and what comes out of
//! either is gone when a file is looked at again: so only regular files are read, and what else there is is refused before
//! it is opened.

use std::fs::{File, FileType};
use std::io::Read;
use std::path::Path;

use super::Refusal;

/// Opens a regular file, or what a link to one leads to. `/dev/stdin` is one only where a file was redirected into it, and
/// is a pipe in a pipeline.
///
/// # Errors
/// [`Refusal::NotAFile`] for folders, pipes, sockets and devices, without waiting for anybody at their other end;
/// [`Refusal::Io`] for what the system will not open.
pub fn open_file(path: impl AsRef<Path>) -> Result<File, Refusal> {
    let path = path.as_ref();
    check(path)?;
    let file = File::open(path)?;
    // It may have become another one in between; then a pipe had somebody at its other end.
    regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// All bytes of a regular file.
///
/// # Errors
/// As [`open_file`], and if it cannot be read to its end.
pub fn read_file(path: impl AsRef<Path>) -> Result<Vec<u8>, Refusal> {
    let mut file = open_file(path)?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve(file.metadata()?.len().try_into().unwrap_or(usize::MAX))
        .map_err(std::io::Error::from)?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Refuses what [`open_file`] would, without opening what it would open.
pub(super) fn check(path: &Path) -> Result<(), Refusal> {
    regular(std::fs::metadata(path)?.file_type())
}

fn regular(kind: FileType) -> Result<(), Refusal> {
    if kind.is_file() { Ok(()) } else { Err(Refusal::NotAFile { what: word(kind) }) }
}

fn word(kind: FileType) -> &'static str {
    if kind.is_dir() {
        return "a folder";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    "a device"
}
