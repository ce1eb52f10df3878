//! Where the bytes of a buffer come from: the GLB itself, a data URI, or a file beside the document.

use std::borrow::Cow;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::GeneralPurpose;
use base64::engine::{DecodePaddingMode, GeneralPurposeConfig};

use super::budget::Budget;
use super::container::Document;
use crate::import::{Refusal, open_file};

/// Bytes of each buffer, cut to its `byteLength`, or why there are none. A buffer that nothing needs may be missing.
pub(super) struct Buffers<'a> {
    data: Vec<Result<Option<Cow<'a, [u8]>>, String>>,
}

impl<'a> Buffers<'a> {
    pub(super) fn resolve(
        document: &Document,
        binary: Option<&'a [u8]>,
        base_dir: Option<&Path>,
        budget: &mut Budget,
    ) -> Result<Self, Refusal> {
        let mut data = Vec::with_capacity(document.buffers.len());
        for (index, buffer) in document.buffers.iter().enumerate() {
            let length = usize::try_from(buffer.byte_length.0).unwrap_or(usize::MAX);
            data.push(match (&buffer.uri, binary) {
                (None, Some(binary)) if index == 0 => match binary.get(..length) {
                    Some(bytes) => Ok(Some(Cow::Borrowed(bytes))),
                    None => Err(format!("it claims {length} bytes, the binary chunk has {}", binary.len())),
                },
                (None, _) => Ok(None),
                (Some(uri), _) => match uri.strip_prefix("data:") {
                    Some(rest) => decode_data_uri(rest, length, budget)?.map(|bytes| Some(Cow::Owned(bytes))),
                    None => read_file(uri, length, base_dir, budget)?.map(|bytes| Some(Cow::Owned(bytes))),
                },
            });
        }
        Ok(Self { data })
    }

    /// `None` where the document says nothing about where the data are, which it may.
    pub(super) fn get(&self, buffer: usize) -> Result<Option<&[u8]>, Refusal> {
        match self.data.get(buffer) {
            Some(Ok(bytes)) => Ok(bytes.as_deref()),
            Some(Err(reason)) => Err(Refusal::Buffer { buffer, reason: reason.clone() }),
            None => Err(Refusal::Reference {
                from: "a buffer view".to_owned(),
                kind: "buffer",
                index: buffer,
                have: self.data.len(),
            }),
        }
    }
}

/// As files have it: with or without padding.
pub(crate) const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

fn decode_data_uri(
    rest: &str,
    length: usize,
    budget: &mut Budget,
) -> Result<Result<Vec<u8>, String>, Refusal> {
    let Some((_, text)) = rest.split_once(";base64,") else {
        return Ok(Err("its data URI is not base64".to_owned()));
    };
    budget.charge(text.len(), "a data URI")?;
    Ok(match LENIENT.decode(text) {
        Ok(mut bytes) if bytes.len() >= length => {
            bytes.truncate(length);
            Ok(bytes)
        }
        Ok(bytes) => Err(format!("it claims {length} bytes, its data URI has {}", bytes.len())),
        Err(error) => Err(format!("its data URI is not base64: {error}")),
    })
}

fn read_file(
    uri: &str,
    length: usize,
    base_dir: Option<&Path>,
    budget: &mut Budget,
) -> Result<Result<Vec<u8>, String>, Refusal> {
    let Some(base) = base_dir else {
        return Ok(Err(format!("{uri:?} lies in another file, and no folder was given to look in")));
    };
    let path = match file_below(base, uri) {
        Ok(path) => path,
        Err(reason) => return Ok(Err(reason)),
    };
    let file = match open_file(&path) {
        Ok(file) => file,
        Err(refusal) => return Ok(Err(format!("{uri:?} {refusal}"))),
    };
    let size = match file.metadata() {
        Ok(meta) => usize::try_from(meta.len()).unwrap_or(usize::MAX),
        Err(error) => return Ok(Err(format!("{uri:?} cannot be read: {error}"))),
    };
    if size < length {
        return Ok(Err(format!("it claims {length} bytes, {uri:?} has {size}")));
    }
    budget.add_file(length);
    let mut bytes = Vec::with_capacity(length);
    let read = file.take(length as u64).read_to_end(&mut bytes);
    Ok(match read {
        Ok(read) if read == length => Ok(bytes),
        Ok(read) => Err(format!("it claims {length} bytes, {uri:?} has {read}")),
        Err(error) => Err(format!("{uri:?} cannot be read: {error}")),
    })
}

/// The file of a URI, which lies in the folder or further down.
pub(crate) fn file_below(base: &Path, uri: &str) -> Result<PathBuf, String> {
    let Some(relative) = relative_path(uri) else {
        return Err(format!("{uri:?} is not a relative path inside the document's folder"));
    };
    let path = base.join(relative);
    // A link could still lead out of the folder.
    match (path.canonicalize(), base.canonicalize()) {
        (Ok(inside), Ok(base)) if inside.starts_with(&base) => Ok(path),
        (Ok(_), Ok(_)) => Err(format!("{uri:?} leads out of the document's folder")),
        _ => Err(format!("{uri:?} does not exist")),
    }
}

/// The URI as a path that goes down only: no scheme, no root, no `..`.
fn relative_path(uri: &str) -> Option<PathBuf> {
    let text = percent_decode(uri)?;
    if text.is_empty() || text.contains(['\\', '\0', ':']) {
        return None;
    }
    let path = PathBuf::from(text);
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)).then_some(path)
}

fn percent_decode(uri: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(uri.len());
    let mut rest = uri.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
            bytes.push(high * 16 + low);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::relative_path;

    #[test]
    fn only_paths_below_the_folder_are_followed() {
        for good in ["a.bin", "sub/a%20b.bin", "./a.bin"] {
            assert!(relative_path(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "/etc/passwd",
            "../a.bin",
            "sub/../../a.bin",
            "%2e%2e/a.bin",
            "http://x/y",
            "file:///x",
            "a\\b",
            "a%00b",
        ] {
            assert!(relative_path(bad).is_none(), "{bad}");
        }
    }
}
