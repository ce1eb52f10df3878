//! Characters that a stream drives: motion capture, a network, a rig of the host's own.
//!
//! Which stream a character follows is kept by character, not by lane, so that it stays where it is when lanes move.
//! What a frame changes of it are single values that the one job with the character's block writes: relaxed atomics,
//! which are plain loads and stores.

mod beside;
mod buffer;
mod leaving;
mod pass;
mod place;
mod poses;
mod root;
mod seating;
mod state;
mod travel;

use std::collections::HashMap;
use std::sync::Arc;

use super::block::{Block, lanes_of};
use super::stages::live::FAR;
use crate::lanes::{BLOCK, SlotWriter, equal_lanes};
use crate::retarget::LiveMap;
pub use beside::{StreamPoseMut, StreamPoseRef};
pub use buffer::{StreamBuffer, StreamRotation};
pub(crate) use leaving::Leaving;
pub(crate) use place::Hips;
use poses::RawPose;
pub use poses::{Rotations, SnormQuat, StreamId, StreamPose, StreamPoses};
pub(crate) use state::FollowerState;
pub(crate) use travel::Travel;

/// What becomes of the way that the hips of a stream make over the ground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamRoot {
    /// It stays in the pose: the body moves away from its root, which stays or is the host's.
    #[default]
    InPose,
    /// Heading and horizontal travel of the hips are taken out of the pose and move the root, scaled by leg length, as a
    /// clip's root motion does; sway is part of it, since the next step is not known yet. Heading is where the reference's
    /// +Z of the hips leads; it is held while that points up or down.
    Travel,
}

/// What a character follows.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Which of the poses of a frame. Any number of characters may follow one.
    pub id: StreamId,
    /// From the stream's source to the character's rig.
    pub map: Arc<LiveMap>,
    /// Who has the way over the ground.
    pub root: StreamRoot,
}

/// What a frame made of its streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamReport {
    /// Characters that took this frame's pose.
    pub followed: u32,
    /// Characters without one: it is not there, empty, or of another number of joints.
    pub missing: u32,
    /// Characters whose pose was refused: a rotation that is none, a position that is not finite or farther than 1e6 m.
    pub refused: u32,
    /// Characters whose pose lies in a [`StreamBuffer`] elsewhere than in their lane, and costs more to read. Where they have
    /// become more, by spawning, packing, transitions or changes of tier,
    /// [`Crowd::arrange_some_streams`](crate::crowd::Crowd::arrange_some_streams) puts that right, but for those who share a
    /// stream.
    pub displaced: u32,
}

impl StreamReport {
    pub(crate) const NONE: Self = Self { followed: 0, missing: 0, refused: 0, displaced: 0 };

    /// So many more.
    pub(crate) fn add(&mut self, other: Self) {
        let Self { followed, missing, refused, displaced } = other;
        self.followed += followed;
        self.missing += missing;
        self.refused += refused;
        self.displaced += displaced;
    }
}

/// What a character follows, in as little as a frame looks at for everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// Index of the map, or [`Key::NO_MAP`]; the uppermost bit says that the stream moves the root.
    map_travels: u32,
    pose: u32,
}

impl Key {
    const TRAVELS: u32 = 1 << 31;
    const NO_MAP: u32 = Self::TRAVELS - 1;
    const NOBODY: Self = Self { map_travels: Self::NO_MAP, pose: 0 };

    #[inline(always)]
    fn map(self) -> u32 {
        self.map_travels & !Self::TRAVELS
    }

    #[inline(always)]
    fn travels(self) -> bool {
        self.map_travels & Self::TRAVELS != 0
    }
}

/// What else is known of one character's stream.
#[derive(Debug)]
struct Cell {
    /// It is to give way to something else: see [`Leaving`].
    leaves: bool,
    /// Root of the last pose, where it travels.
    root: root::Place,
}

impl Cell {
    #[allow(clippy::declare_interior_mutable_const, reason = "copied into each new place")]
    const EMPTY: Self = Self { leaves: false, root: root::Place::NOWHERE };
}

/// Who of a block follows what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Followers {
    /// Lanes that follow a stream.
    pub lanes: u16,
    /// Those of them that it moves.
    pub travel: u16,
    /// By lane, looked up once a frame; dead lanes have anything.
    map_travels: [u32; BLOCK],
    pose: [u32; BLOCK],
}

impl Followers {
    const NONE: Self = Self {
        lanes: 0,
        travel: 0,
        map_travels: [Key::NOBODY.map_travels; BLOCK],
        pose: [Key::NOBODY.pose; BLOCK],
    };

    #[inline(always)]
    fn key(&self, lane: usize) -> Key {
        Key { map_travels: self.map_travels[lane], pose: self.pose[lane] }
    }

    /// Lanes whose streams go through a map.
    #[inline(always)]
    fn through(&self, map: u32) -> u16 {
        let maps = self.map_travels.map(|map_travels| map_travels & !Key::TRAVELS);
        equal_lanes(&maps, &[map; BLOCK])
    }
}

/// Whose poses are brought in, and whose come after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks<'a> {
    pub now: &'a Block,
    /// The one whose turn is next, and how many blocks on it is.
    pub next: Option<&'a Block>,
    pub period: usize,
    /// Lanes that get a pose, and those of them that follow a stream.
    pub due: u16,
    pub streamed: u16,
    pub followers: &'a Followers,
}

/// A map and how many characters follow streams through it.
#[derive(Debug)]
struct Used {
    map: Arc<LiveMap>,
    followers: u32,
}

/// All characters' streams.
#[derive(Debug, Default)]
pub(crate) struct StreamTable {
    maps: Vec<Option<Used>>,
    /// Where maps are, by their address: they live while they are here.
    places: HashMap<usize, u32>,
    /// Places of maps that nobody follows any more.
    unused: Vec<u32>,
    /// Maps that lost their last follower, perhaps during a frame, and are let go after it.
    idle: Vec<u32>,
    /// By character, as `cells`.
    keys: Vec<Key>,
    cells: Vec<Cell>,
    followers: usize,
    leaving: Vec<Leaving>,
}

impl StreamTable {
    pub fn set(&mut self, character: u32, stream: &Stream) {
        // Before the old one is let go, which may be the same.
        let key = self.key_of(stream);
        self.clear(character);
        let at = character as usize;
        if self.keys.len() <= at {
            self.keys.resize(at + 1, Key::NOBODY);
            self.cells.resize_with(at + 1, || Cell::EMPTY);
        }
        (self.keys[at], self.cells[at]) = (key, Cell::EMPTY);
        self.followers += 1;
    }

    /// One follower more of its map.
    fn key_of(&mut self, stream: &Stream) -> Key {
        let travels = if stream.root == StreamRoot::Travel { Key::TRAVELS } else { 0 };
        Key { map_travels: self.follow(&stream.map) | travels, pose: stream.id.0 }
    }

    /// Place of a map that one character more follows.
    fn follow(&mut self, map: &Arc<LiveMap>) -> u32 {
        self.let_idle_go();
        let address = Arc::as_ptr(map) as usize;
        if let Some(&at) = self.places.get(&address)
            && let Some(used) = &mut self.maps[at as usize]
        {
            used.followers += 1;
            return at;
        }
        let at = self.unused.pop().unwrap_or_else(|| {
            self.maps.push(None);
            // So that letting all of them go allocates nothing.
            self.unused.reserve(self.maps.len());
            self.idle.reserve(self.maps.len());
            self.maps.len() as u32 - 1
        });
        self.maps[at as usize] = Some(Used { map: Arc::clone(map), followers: 1 });
        self.places.insert(address, at);
        at
    }

    pub fn clear(&mut self, character: u32) {
        self.stay(character);
        let Some(key) = self.key(character) else { return };
        self.keys[character as usize] = Key::NOBODY;
        self.followers -= 1;
        self.unfollow(key.map());
        self.let_idle_go();
    }

    /// One follower less of a map.
    fn unfollow(&mut self, at: u32) {
        if let Some(used) = &mut self.maps[at as usize] {
            used.followers -= 1;
            if used.followers == 0 {
                self.idle.push(at);
            }
        }
    }

    /// Not during frames: it hashes and frees.
    fn let_idle_go(&mut self) {
        while let Some(at) = self.idle.pop() {
            if let Some(used) = self.maps[at as usize].take_if(|used| used.followers == 0) {
                self.places.remove(&(Arc::as_ptr(&used.map) as usize));
                self.unused.push(at);
            }
        }
    }

    /// Nobody follows a stream any more.
    pub fn clear_all(&mut self) {
        for character in 0..self.keys.len() {
            self.clear(character as u32);
        }
    }

    /// What a character follows, or is about to.
    pub fn get(&self, character: u32) -> Option<Stream> {
        let key = match self.next_of(character) {
            Some(next) => next?,
            None => self.key(character)?,
        };
        self.stream_of(key)
    }

    fn stream_of(&self, key: Key) -> Option<Stream> {
        let root = if key.travels() { StreamRoot::Travel } else { StreamRoot::InPose };
        Some(Stream { id: StreamId(key.pose), map: Arc::clone(self.map(key)?), root })
    }

    /// Registers beyond the joints of a topology that the maps need.
    pub fn temporaries(&self) -> usize {
        self.maps.iter().flatten().map(|used| used.map.temporaries).max().unwrap_or(0)
    }

    /// Most joints of a source.
    pub fn source_joints(&self) -> usize {
        self.maps.iter().flatten().map(|used| used.map.source_joints()).max().unwrap_or(0)
    }

    #[inline]
    fn map(&self, key: Key) -> Option<&Arc<LiveMap>> {
        self.maps.get(key.map() as usize)?.as_ref().map(|used| &used.map)
    }

    #[inline]
    fn key(&self, character: u32) -> Option<Key> {
        self.keys.get(character as usize).copied().filter(|key| key.map() != Key::NO_MAP)
    }

    /// Which stream a character follows.
    pub fn followed(&self, character: u32) -> Option<StreamId> {
        self.key(character).map(|key| StreamId(key.pose))
    }

    /// True if a character follows one.
    pub fn follows(&self, character: u32) -> bool {
        self.key(character).is_some()
    }

    /// Who of a block follows what.
    #[inline(always)]
    pub fn followers(&self, block: &Block) -> Followers {
        let mut followers = Followers::NONE;
        if self.followers > 0 {
            for lane in 0..BLOCK {
                let key = self.keys.get(block.characters[lane] as usize).copied().unwrap_or(Key::NOBODY);
                (followers.map_travels[lane], followers.pose[lane]) = (key.map_travels, key.pose);
            }
            followers.lanes = !followers.through(Key::NO_MAP) & block.live;
            let still = followers.map_travels.map(|map_travels| map_travels & Key::TRAVELS);
            followers.travel = !equal_lanes(&still, &[0; BLOCK]) & block.live;
        }
        followers
    }

    fn pose<'a>(&self, key: Key, poses: StreamPoses<'a>) -> Result<RawPose<'a>, Refusal> {
        let map = self.map(key).ok_or(Refusal::Missing)?;
        let pose = poses.raw(StreamId(key.pose)).ok_or(Refusal::Missing)?;
        if pose.joints != map.source_joints() {
            return Err(Refusal::Missing);
        }
        if !pose.position.iter().all(|p| p.abs() < FAR) {
            return Err(Refusal::Unsound);
        }
        Ok(pose)
    }
}

/// Why a character has no pose this frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Missing,
    Unsound,
}

/// First value of the root's rotation in a header: all zero only where nothing was written yet.
const HEADER_ROTATION: usize = 4;

/// Which of these lanes have a pose in their slot, and keep it: their transitions wait.
pub(crate) fn with_last_pose(writer: &SlotWriter<'_>, block: &mut Block, lanes: u16, dt: f32) -> u16 {
    lanes_of(lanes).fold(0, |held, lane| {
        let shown = block.tokens[lane].as_mut().is_some_and(|token| {
            let header = &writer.lines(token)[0].0;
            header[HEADER_ROTATION..][..4] != [0.0; 4]
        });
        if let Some(rare) = block.rare[lane].as_mut().filter(|_| block.transitions & (1 << lane) != 0) {
            rare.transition.elapsed = (rare.transition.elapsed - dt).max(0.0);
        }
        held | u16::from(shown) << lane
    })
}
