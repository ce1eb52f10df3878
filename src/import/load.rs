//! Files of any format that is read.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Beside, ImportError, Imported, bvh, gltf, open_file};

/// What a caller knows better than a file, for every format.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    /// glTF, GLB and VRM.
    pub gltf: gltf::ImportOptions,
    /// BVH.
    pub bvh: bvh::BvhOptions,
}

/// The formats that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// glTF, GLB, VRM.
    Gltf,
    /// BVH.
    Bvh,
    /// DeepMimic motion.
    MotionText,
}

/// Keys by which a motion is told from other JSON.
const MOTION_KEYS: [&[u8]; 2] = [b"\"Frames\"", b"\"Loop\""];

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

/// How much of a file is looked at.
const HEAD: u64 = 512;

impl Format {
    /// The format of a file: its name is asked first.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_file(path: &Path) -> Result<Option<Self>, ImportError> {
        let refuse = |kind| ImportError { file: PathBuf::from(path), kind };
        let mut head = Vec::new();
        if Self::detect(path, &head).is_none() {
            let file = open_file(path).map_err(refuse)?;
            file.take(HEAD).read_to_end(&mut head).map_err(|error| refuse(error.into()))?;
        }
        Ok(Self::detect(path, &head))
    }

    /// The format of a file's name, or else of how the file begins; `None` if neither tells.
    pub fn detect(path: &Path, head: &[u8]) -> Option<Self> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("gltf" | "glb" | "vrm" | "vrma") => return Some(Self::Gltf),
            Some("bvh") => return Some(Self::Bvh),
            _ => {}
        }
        let text = head.strip_prefix(&[0xef, 0xbb, 0xbf]).unwrap_or(head).trim_ascii_start();
        let begins =
            |word: &str| text.get(..word.len()).is_some_and(|t| t.eq_ignore_ascii_case(word.as_bytes()));
        if begins("HIERARCHY") {
            Some(Self::Bvh)
        } else if begins("{") && MOTION_KEYS.iter().any(|key| contains(text, key)) {
            Some(Self::MotionText)
        } else if begins("glTF") || begins("{") {
            Some(Self::Gltf)
        } else {
            None
        }
    }
}

/// Reads a character or motion file: glTF, GLB, VRM, BVH or a DeepMimic motion, by its extension, or else by how it begins. Contacts and
/// rig overrides that lie beside it come along: see [`Beside`], of which one is kept where many files are read.
///
/// # Errors
/// [`ImportError`] with the file, the place in it and what would be right.
pub fn load(path: impl AsRef<Path>) -> Result<Imported, ImportError> {
    load_with(path, &LoadOptions::default())
}

/// [`load`] with options.
///
/// # Errors
/// As [`load`].
pub fn load_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Imported, ImportError> {
    Beside::new().load(path, options)
}
