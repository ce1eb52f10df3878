//! Who follows what, for snapshots.

use std::sync::Arc;

use super::root::Place;
use super::{Stream, StreamId, StreamRoot, StreamTable};
use crate::retarget::LiveMap;

/// What persists of one character's stream.
#[derive(Clone, Debug)]
pub(crate) struct FollowerState {
    pub character: u32,
    pub stream: Stream,
    /// x, z, and y and w of the heading of the last pose.
    pub root: Option<[f32; 4]>,
    /// If it is about to leave: whether its place is known, and what stream comes after.
    pub leaving: Option<(bool, Option<Stream>)>,
}

impl StreamTable {
    /// All followers, by index.
    pub fn states(&self) -> impl Iterator<Item = FollowerState> + '_ {
        (0..self.keys.len() as u32).filter_map(|character| {
            let key = self.key(character)?;
            let leaving = self.place_of(character).map(|at| &self.leaving[at]);
            let leaving =
                leaving.map(|leaving| (leaving.placed, leaving.next.and_then(|key| self.stream_of(key))));
            Some(FollowerState {
                character,
                stream: self.stream_of(key)?,
                root: self.cells[character as usize].root.state(),
                leaving,
            })
        })
    }

    /// Maps that somebody follows.
    pub fn maps(&self) -> impl Iterator<Item = &Arc<LiveMap>> {
        self.maps.iter().flatten().map(|used| &used.map)
    }

    /// Whoever followed before does no more.
    pub fn put_states(&mut self, states: &[FollowerState]) {
        self.clear_all();
        for FollowerState { character, stream, root, leaving } in states {
            self.set(*character, stream);
            self.cells[*character as usize].root = Place::of(*root);
            if let Some((placed, next)) = leaving {
                self.leave(*character, next.as_ref());
                if let Some(last) = self.leaving.last_mut() {
                    last.placed = *placed;
                }
            }
        }
    }
}

impl Stream {
    pub(crate) fn new(id: u32, map: &Arc<LiveMap>, travels: bool) -> Self {
        let root = if travels { StreamRoot::Travel } else { StreamRoot::InPose };
        Self { id: StreamId(id), map: Arc::clone(map), root }
    }
}
