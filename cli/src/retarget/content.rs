//! What a file is made of, as far as outputs depend on it: its bytes, and those of the files that it refers to.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use throng::import::{Refusal, read_file};

/// Lists of a glTF document whose elements may lie in files of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// All that clips are read from.
    Motion,
    /// What is put into outputs, too.
    All,
}

impl Parts {
    fn lists(self) -> &'static [&'static str] {
        match self {
            Self::Motion => &["buffers"],
            Self::All => &["buffers", "images"],
        }
    }
}

/// Bytes of a file and, of a glTF document, of what lies beside it, each under its length.
pub fn content(path: &Path, parts: Parts) -> Result<Vec<u8>, Refusal> {
    let mut all = read_file(path)?;
    let Some(document) = document(path, &all) else { return Ok(all) };
    let folder = path.parent().unwrap_or(Path::new(""));
    for list in parts.lists() {
        for uri in document[list].as_array().into_iter().flatten().filter_map(|own| own["uri"].as_str()) {
            // What the importer refuses is no part of it, and data is in the document.
            let Some(beside) = below(uri).map(|own| folder.join(own)).filter(|own| own.is_file()) else {
                all.extend_from_slice(&u64::MAX.to_le_bytes());
                continue;
            };
            let bytes = read_file(beside)?;
            all.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            all.extend_from_slice(&bytes);
        }
    }
    Ok(all)
}

/// The document of a glTF or GLB file. Motions that are JSON, too, refer to nothing.
fn document(path: &Path, bytes: &[u8]) -> Option<Value> {
    let text = match bytes.strip_prefix(b"glTF") {
        // Version, length, length of the first chunk, its kind.
        Some(rest) => {
            let length = u32::from_le_bytes(*rest.get(8..)?.first_chunk()?);
            rest.get(16..)?.get(..length as usize)?
        }
        None if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("txt")) => return None,
        None => {
            let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            text.trim_ascii_start().starts_with(b"{").then_some(text)?
        }
    };
    serde_json::from_slice(text).ok()
}

/// The path of a URI that leads down from the document's folder.
fn below(uri: &str) -> Option<PathBuf> {
    let path = PathBuf::from(percent_decoded(uri).filter(|_| !uri.starts_with("data:"))?);
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)).then_some(path)
}

/// As the importer reads names in a document.
fn percent_decoded(uri: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), uri.bytes());
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push((digit()? * 16 + digit()?) as u8);
    }
    String::from_utf8(bytes).ok()
}
