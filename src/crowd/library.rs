//! All clips of one topology, their rows shared with the clips themselves.

use std::sync::Arc;

use crate::clip::{BoundClip, ClipEvent, RootMotion, SyncMarkers, Twist};
use crate::lanes::KeyGroup;

/// What a frame needs to know of a clip.
#[derive(Clone, Debug)]
pub(crate) struct ClipHead {
    rows: Arc<[KeyGroup]>,
    groups: u32,
    /// Keys per second.
    pub rate: f32,
    /// Key intervals.
    pub intervals: f32,
    /// Seconds.
    pub duration: f32,
    /// Root motion, where it is the same all through the clip.
    pub twist: Twist,
    /// The twist changes within the clip and is looked up.
    pub varying: bool,
    /// Its markers are not even: phase and time are looked up.
    pub warped: bool,
    pub eventful: bool,
    pub crosses_hemisphere: bool,
    pub looping: bool,
    pub sync: Arc<SyncMarkers>,
    pub events: Arc<[ClipEvent]>,
}

impl ClipHead {
    fn of(clip: &BoundClip) -> Self {
        let constant = clip.root().constant();
        Self {
            rows: clip.shared_rows(),
            groups: clip.groups() as u32,
            rate: clip.rate(),
            intervals: clip.intervals() as f32,
            duration: clip.duration(),
            twist: constant.unwrap_or_default(),
            varying: constant.is_none(),
            warped: !clip.sync().even(),
            eventful: !clip.events().is_empty(),
            crosses_hemisphere: clip.crosses_hemisphere(),
            looping: clip.looping(),
            sync: clip.shared_sync(),
            events: clip.shared_events(),
        }
    }

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
        self.heads.push(ClipHead::of(&clip));
        self.bytes += clip.bytes();
        self.clips.push(clip);
        self.clips.len() as u32 - 1
    }

    #[inline(always)]
    pub fn head(&self, clip: u16) -> &ClipHead {
        &self.heads[usize::from(clip)]
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

    /// Travel of a clip.
    pub fn root(&self, clip: u16) -> &RootMotion {
        self.clips[usize::from(clip)].root()
    }
}
