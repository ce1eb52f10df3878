//! All clips of one topology, their rows one after the other.

use crate::clip::BoundClip;
use crate::lanes::KeyGroup;

/// What sampling needs to know of a clip.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClipHead {
    first: u32,
    groups: u32,
    /// Keys per second.
    pub rate: f32,
    /// Key intervals.
    pub intervals: f32,
    pub crosses_hemisphere: bool,
}

/// Clips of one topology.
#[derive(Debug, Default)]
pub(crate) struct Library {
    heads: Vec<ClipHead>,
    rows: Vec<KeyGroup>,
    clips: Vec<BoundClip>,
}

impl Library {
    /// Takes a clip in; its rows move to the shared array.
    pub fn add(&mut self, clip: BoundClip) -> u32 {
        let groups = clip.groups() as u32;
        self.heads.push(ClipHead {
            first: (self.rows.len() / clip.groups()) as u32,
            groups,
            rate: clip.rate(),
            intervals: clip.intervals() as f32,
            crosses_hemisphere: clip.crosses_hemisphere(),
        });
        self.rows.extend_from_slice(clip.rows());
        self.clips.push(clip);
        self.clips.len() as u32 - 1
    }

    #[inline(always)]
    pub fn head(&self, clip: u32) -> &ClipHead {
        &self.heads[clip as usize]
    }

    /// Key `left` and the one after it, which stands behind it.
    #[inline(always)]
    pub fn keys(&self, head: &ClipHead, left: usize) -> &[KeyGroup] {
        let groups = head.groups as usize;
        let first = (head.first as usize + left) * groups;
        &self.rows[first..first + 2 * groups]
    }

    pub fn clip(&self, clip: u32) -> Option<&BoundClip> {
        self.clips.get(clip as usize)
    }

    pub fn clips(&self) -> &[BoundClip] {
        &self.clips
    }

    /// Bytes of rows.
    pub fn bytes(&self) -> usize {
        size_of_val(self.rows.as_slice())
    }
}

impl Library {
    /// Travel of a clip.
    pub fn root(&self, clip: u32) -> &crate::clip::RootMotion {
        self.clips[clip as usize].root()
    }
}
