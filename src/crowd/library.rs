//! All clips of one topology, their rows shared with the clips themselves.

use std::sync::Arc;

use crate::clip::BoundClip;
use crate::lanes::KeyGroup;

/// What sampling needs to know of a clip.
#[derive(Clone, Debug)]
pub(crate) struct ClipHead {
    rows: Arc<[KeyGroup]>,
    groups: u32,
    /// Keys per second.
    pub rate: f32,
    /// Key intervals.
    pub intervals: f32,
    pub crosses_hemisphere: bool,
}

impl ClipHead {
    /// Key `left` and the one after it, which stands behind it.
    #[inline(always)]
    pub fn keys(&self, left: usize) -> &[KeyGroup] {
        let groups = self.groups as usize;
        let first = left * groups;
        &self.rows[first..first + 2 * groups]
    }
}

/// Clips of one topology.
#[derive(Debug, Default)]
pub(crate) struct Library {
    heads: Vec<ClipHead>,
    clips: Vec<BoundClip>,
    bytes: usize,
}

impl Library {
    /// Takes a clip in.
    pub fn add(&mut self, clip: BoundClip) -> u32 {
        self.heads.push(ClipHead {
            rows: clip.shared_rows(),
            groups: clip.groups() as u32,
            rate: clip.rate(),
            intervals: clip.intervals() as f32,
            crosses_hemisphere: clip.crosses_hemisphere(),
        });
        self.bytes += clip.bytes();
        self.clips.push(clip);
        self.clips.len() as u32 - 1
    }

    #[inline(always)]
    pub fn head(&self, clip: u32) -> &ClipHead {
        &self.heads[clip as usize]
    }

    pub fn clip(&self, clip: u32) -> Option<&BoundClip> {
        self.clips.get(clip as usize)
    }

    pub fn clips(&self) -> &[BoundClip] {
        &self.clips
    }

    /// Bytes of rows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Library {
    /// Travel of a clip.
    pub fn root(&self, clip: u32) -> &crate::clip::RootMotion {
        self.clips[clip as usize].root()
    }
}
