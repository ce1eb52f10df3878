//! What leaves the command: exit codes, words that no name can garble, JSON on stdout, files that are whole or absent.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use throng::clip::archive::ARCHIVE_EXTENSION;

/// Why a command ends with something other than 0.
#[derive(Debug)]
pub enum Failure {
    /// It ran, and what it measured or checked is not good enough (1). The report has been printed.
    Check(String),
    /// The engine refused what it was given, or gave up (5).
    Engine(String),
    /// Its user has ended it before it was through (130). The report of what is done has been printed.
    Interrupted(String),
    /// The options do not go together (2).
    Usage { what: String, hint: String },
    /// A file could not be read or makes no sense (3).
    Input { path: PathBuf, what: String, hint: Option<String> },
    /// Inputs were read, but nothing of them can be used (3).
    Unusable { what: String, hint: String },
    /// A result could not be written (4).
    Output { path: PathBuf, what: String, hint: Option<String> },
}

/// The table in `--help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  done, every check passed
  1  a check failed (the report says which), or a source could not be used that costs only itself
     (retarget, check, pack --keep-going)
  2  wrong usage
  3  an input is not there, is no regular file (a pipe, as /dev/stdin mostly is, a device, a socket),
     could not be read, or has nothing in it that can be used
  4  an output could not be written
  5  the engine refused what it was given (a fault of the program)
130  interrupted (Ctrl-C); retarget and check tell of what is done
With --json a failure other than 1 and 130 after the options were understood is a document with
\"error\", \"hint\" and \"exit_code\" on stdout; its words go to stderr in any case.";

/// For archives that are damaged or of another character.
pub const PACK_AGAIN: &str =
    "`throng pack FILES --onto CHARACTER` packs the files that it was made from for the character";

impl Failure {
    /// Options that contradict each other, and what to type instead.
    pub fn usage(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage { what: what.into(), hint: hint.into() }
    }

    /// An input file, and what is wrong with it.
    pub fn input(path: &Path, what: impl fmt::Display) -> Self {
        Self::Input { path: path.to_owned(), what: what.to_string(), hint: None }
    }

    /// A file that cannot be written, and why not.
    pub fn output(path: &Path, what: impl fmt::Display) -> Self {
        Self::Output { path: path.to_owned(), what: what.to_string(), hint: None }
    }

    /// With what to do about it, if it is of a file.
    pub fn hinted(mut self, text: &str) -> Self {
        if let Self::Input { hint, .. } | Self::Output { hint, .. } = &mut self {
            *hint = Some(text.to_owned());
        }
        self
    }

    /// Process exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Check(_) => 1,
            Self::Usage { .. } => 2,
            Self::Input { .. } | Self::Unusable { .. } => 3,
            Self::Output { .. } => 4,
            Self::Engine(_) => 5,
            Self::Interrupted(_) => 130,
        }
    }

    /// What to do about it, where that is not plain from the message.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Usage { hint, .. } | Self::Unusable { hint, .. } => Some(hint),
            Self::Input { hint, .. } | Self::Output { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check(what) | Self::Engine(what) | Self::Interrupted(what) => f.write_str(what),
            Self::Usage { what, .. } | Self::Unusable { what, .. } => f.write_str(what),
            Self::Input { path, what, .. } | Self::Output { path, what, .. } => {
                write!(f, "{}: {what}", path.display())
            }
        }
    }
}

/// Prints one line to stdout, names of files and of what is in them as [`printable`] has them.
pub fn say(line: impl fmt::Display) {
    write_out(printable(&line.to_string()));
}

/// Prints lines to stdout: a [`Table`](crate::table::Table), whose cells are printable, or words of our own. A name in them
/// may hold no line of its own: those are [`say`]'s.
pub fn block(text: impl fmt::Display) {
    write_out(escaped(&text.to_string(), |c| c != '\n' && misleads(c)));
}

/// A reader that closes the pipe early is no error of ours. Anything else that loses the report ends the command as an
/// output that could not be written.
fn write_out(text: String) {
    let mut stdout = std::io::stdout();
    if let Err(error) = writeln!(stdout, "{text}").and_then(|()| stdout.flush())
        && error.kind() != std::io::ErrorKind::BrokenPipe
    {
        let failure = Failure::output(Path::new("stdout"), format!("cannot be written: {error}"));
        report(&failure, false);
        std::process::exit(failure.code().into());
    }
}

/// Names come from files: none of them may move the cursor, begin a line or turn the text around. Applied to text that is
/// printable already it changes nothing.
pub fn printable(text: &str) -> String {
    escaped(text, misleads)
}

/// Control characters, ends of lines, and what overrides or isolates the direction of text.
fn misleads(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, which: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if which(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Prints a warning to stderr, on one line.
pub fn warn(text: impl fmt::Display) {
    note(format_args!("warning: {text}"));
}

/// Prints a word about the run to stderr, on one line.
pub fn note(text: impl fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{}", printable(&text.to_string()));
}

/// Prints one JSON document to stdout.
pub fn print_json<T: Serialize>(value: &T) {
    let text = serde_json::to_string_pretty(value);
    // A path that is no text, say.
    let text = text.unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string());
    // Of what is escaped in text the format itself demands a part only. The rest is in strings, too.
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && misleads(c) { out += &format!("\\u{:04x}", u32::from(c)) } else { out.push(c) }
    }
    write_out(out);
}

/// Reports a failure: words on stderr, and with `json` a document on stdout all the same.
pub fn report(failure: &Failure, json: bool) {
    #[derive(Serialize)]
    struct Document<'a> {
        error: String,
        hint: Option<&'a str>,
        exit_code: u8,
    }
    let (error, hint) = (failure.to_string(), failure.hint());
    note(format_args!("error: {error}"));
    if let Some(hint) = hint {
        note(format_args!("  hint: {hint}"));
    }
    // These come with a report, which is on stdout already.
    if json && !matches!(failure, Failure::Check(_) | Failure::Interrupted(_)) {
        print_json(&Document { error, hint, exit_code: failure.code() });
    }
}

/// What a command writes: first bytes of every such file, its word, its ending.
#[derive(Clone, Copy, Debug)]
pub struct FileKind([u8; 8], &'static str, &'static str);

/// A PNG file.
pub const PICTURE: FileKind = FileKind([0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'], "picture", "png");

/// An archive of clips.
pub const ARCHIVE: FileKind = FileKind(throng::clip::archive::MAGIC, "clip archive", ARCHIVE_EXTENSION);

/// A GLB file.
pub const GLB: FileKind = FileKind(*b"glTF\x02\0\0\0", "GLB file", "glb");

/// A BVH file.
pub const BVH: FileKind = FileKind(*b"HIERARCH", "BVH file", "bvh");

/// Refuses names that promise another kind of file than is written; `option` is what they were given with.
pub fn refuse_ending(output: &Path, kind: FileKind, option: &str) -> Result<(), Failure> {
    let FileKind(_, word, right) = kind;
    let Some(ending) = output.extension().filter(|own| !own.eq_ignore_ascii_case(right)) else {
        return Ok(());
    };
    let what = format!(
        "{}: a {word} is written as .{right} and nothing else, not as .{}",
        output.display(),
        ending.to_string_lossy()
    );
    let name = output.with_extension(right);
    Err(Failure::usage(what, format!("name it {} with {option}", name.display())))
}

/// Refuses to replace an input, however its path is spelt, a file that an input refers to, or anything that is not of
/// the kind that is written; `option` is what names it.
pub fn refuse_inputs(output: &Path, inputs: &[PathBuf], kind: FileKind, option: &str) -> Result<(), Failure> {
    let Ok(target) = fs::canonicalize(output) else {
        return Ok(());
    };
    let refused = |what: &str| {
        let what = format!("{} {what}; it will not be overwritten", output.display());
        Err(Failure::usage(what, format!("choose another name with {option}")))
    };
    if !target.is_file() {
        let hint = format!("name a file with {option}");
        return Err(Failure::output(output, "this is no regular file").hinted(&hint));
    }
    for input in inputs.iter().filter_map(|input| fs::canonicalize(input).ok()) {
        if input == target {
            return refused("is an input");
        }
        // A glTF document names its buffers and textures, which lie beside or below it.
        let below = input.parent().and_then(|folder| target.strip_prefix(folder).ok());
        if let (Some(below), Ok(document)) = (below, throng::import::read_file(&input)) {
            let name = below.to_string_lossy().replace('\\', "/");
            let encoded = name.replace(' ', "%20");
            if [name, encoded].iter().any(|name| contains(&document, name.as_bytes())) {
                return refused("belongs to an input");
            }
        }
    }
    let starts = throng::import::open_file(&target).map(|mut file| {
        let mut first = [0; 8];
        std::io::Read::read_exact(&mut file, &mut first).map(|()| first)
    });
    let FileKind(magic, word, _) = kind;
    if !matches!(starts, Ok(Ok(first)) if first == magic)
        && fs::metadata(&target).is_ok_and(|data| data.len() > 0)
    {
        return refused(&format!("exists and is no {word}"));
    }
    Ok(())
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

/// Writes `bytes` beside `path` and renames, so that no reader ever meets half a file.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |what: String| Failure::output(path, what).hinted("choose another place for it");
    // Through a link, not over it.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().ok_or_else(|| failed("this is not a file name".into()))?;
    let mut part = name.to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(part);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&part);
        return Err(failed(format!("cannot be written: {error}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_cursors_and_turns_text_around_is_escaped_once_and_letters_stay() {
        let name = "Жук\u{1b}[31m\t\n\u{7f}\u{9b}\u{2028}\u{202a}\u{202e}\u{2066}\u{2069} नमस्ते 腕 \u{200d}";
        let shown = printable(name);
        assert_eq!(
            shown,
            r"Жук\u{1b}[31m\t\n\u{7f}\u{9b}\u{2028}\u{202a}\u{202e}\u{2066}\u{2069} नमस्ते 腕 ".to_owned()
                + "\u{200d}"
        );
        assert_eq!(printable(&shown), shown);
    }
}
