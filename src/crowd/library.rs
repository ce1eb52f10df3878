//! All clips of one topology, their rows shared with the clips themselves.

use std::sync::Arc;

use crate::clip::{BoundClip, ClipEvent, Contacts, RootMotion, SyncMarkers, Twist};
use crate::lanes::{KeyGroup, Row};

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
    /// When heels and balls come down or lift off, seconds.
    steps: Vec<f32>,
}

/// What advancing needs of a clip, as one row: turned with those of the other lanes, it becomes one row per value.
pub(crate) mod hot {
    pub const DURATION: usize = 0;
    pub const TWIST: usize = 1;
    /// Times of the first events; far away where there are not as many.
    pub const EVENTS: usize = 4;
    /// 1 if there are more.
    pub const MORE: usize = 8;
    /// Events that are told.
    pub const EVENT_COUNT: usize = MORE - EVENTS;
}

impl ClipHead {
    fn hot(&self) -> Row {
        let mut row = Row::ZERO;
        row.0[hot::DURATION] = self.duration;
        row.0[hot::TWIST..][..3].copy_from_slice(&[self.twist.x, self.twist.z, self.twist.yaw]);
        row.0[hot::EVENTS..][..hot::EVENT_COUNT].fill(1e9);
        for (out, event) in row.0[hot::EVENTS..][..hot::EVENT_COUNT].iter_mut().zip(&*self.events) {
            *out = event.time;
        }
        row.0[hot::MORE] = if self.events.len() > hot::EVENT_COUNT { 1.0 } else { 0.0 };
        row
    }

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
            steps: clip.contacts().map(steps).unwrap_or_default(),
        }
    }

    /// Whether any end of a foot may have come down or lifted off in so many clip seconds up to `now`; negative: backwards.
    pub fn stepped(&self, now: f32, way: f32) -> bool {
        let span = way.abs();
        self.steps.iter().any(|&time| {
            let ago = if way > 0.0 { now - time } else { time - now };
            (if ago < 0.0 { ago + self.duration } else { ago }) < span
        })
    }

    /// Key `left` and the one after it, which stands behind it.
    #[inline(always)]
    pub fn keys(&self, left: usize) -> &[KeyGroup] {
        let groups = self.groups as usize;
        let first = left * groups;
        &self.rows[first..first + 2 * groups]
    }
}

fn steps(contacts: &Contacts) -> Vec<f32> {
    let ends = contacts.feet.iter().flat_map(|foot| foot.heel.iter().chain(&foot.ball));
    ends.flat_map(|interval| [interval.start, interval.end]).collect()
}

/// Clips of one topology.
#[derive(Debug, Default)]
pub(crate) struct Library {
    heads: Vec<ClipHead>,
    hot: Vec<Row>,
    clips: Vec<BoundClip>,
    bytes: usize,
}

impl Library {
    /// Takes a clip in.
    pub fn add(&mut self, clip: BoundClip) -> u32 {
        let head = ClipHead::of(&clip);
        self.hot.push(head.hot());
        self.heads.push(head);
        self.bytes += clip.bytes();
        self.clips.push(clip);
        self.clips.len() as u32 - 1
    }

    /// Puts a clip in the place of another, which is handed back; `None` if there is none.
    pub fn replace(&mut self, index: u32, clip: BoundClip) -> Option<BoundClip> {
        let old = self.clips.get_mut(index as usize)?;
        let head = ClipHead::of(&clip);
        self.hot[index as usize] = head.hot();
        self.heads[index as usize] = head;
        self.bytes = self.bytes + clip.bytes() - old.bytes();
        Some(core::mem::replace(old, clip))
    }

    #[inline(always)]
    pub fn head(&self, clip: u16) -> &ClipHead {
        &self.heads[usize::from(clip)]
    }

    /// See [`hot`].
    #[inline(always)]
    pub fn hot(&self, clip: u16) -> &Row {
        &self.hot[usize::from(clip)]
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
