//! The two crossings of a frame between a hecs world and a crowd, through arrays by [`Handle::index`].

use core::ops::Range;

use super::components::{Character, Hero, Importance, RootMotion};
use super::significance::Scene;
use crate::crowd::{Crowd, Handle, LiveReader, RootReader, WorldTransform};

/// What became of the entities of one crossing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Crossing {
    /// Characters that crossed.
    pub crossed: usize,
    /// Entities whose character is gone.
    pub stale: usize,
    /// Entities whose transform is not finite, not a rotation or out of range; the crowd keeps its own.
    pub refused: usize,
    /// Entities whose character another one has too, counted among the others: which of them the crowd goes by depends on
    /// the world's archetypes. Only [`Mirror::read`] looks for them.
    pub doubled: usize,
}

/// A world's characters in the crowd's order. Kept between frames: it allocates only when the world grows.
#[derive(Default)]
pub struct Mirror {
    handles: Vec<Handle>,
    transforms: Vec<WorldTransform>,
    importance: Vec<f32>,
    heroes: Vec<u64>,
    /// Whose transform the last reading has brought: 1, else 0.
    seen: Vec<u8>,
    /// Those of the world that have characters.
    archetypes: Vec<u32>,
}

impl core::fmt::Debug for Mirror {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Mirror").field("characters", &self.handles.len()).finish_non_exhaustive()
    }
}

/// Marks that are counted together: fewer than 256.
const RUN: usize = 128;

/// A transform that no crowd takes.
const NOWHERE: WorldTransform = WorldTransform { position: [f32::NAN; 3], rotation: [0.0; 4] };

impl Mirror {
    /// World to mirror: handle and transform of every entity with a [`Character`] and a [`WorldTransform`]. What the crowd
    /// then does with them is the host's choice: [`Roots::Host`](crate::crowd::Roots::Host) of
    /// [`transforms`](Self::transforms) in the next frame, or [`Crowd::put_roots`] at once where clips move on from there.
    pub fn read(&mut self, world: &mut hecs::World, crowd: &Crowd) -> Crossing {
        self.read_turns(world, crowd, read_part::<false>)
    }

    /// The same, on all threads of rayon's current pool, each for a part of the characters: to the same lists. As with
    /// [`Rayon`](crate::crowd::Rayon), the pool is best entered once around the frame loop. Pays from some 20 000 characters
    /// on.
    #[cfg(feature = "rayon")]
    pub fn read_in_parallel(&mut self, world: &mut hecs::World, crowd: &Crowd) -> Crossing {
        self.read_turns(world, crowd, parallel::read)
    }

    fn read_turns(
        &mut self,
        world: &hecs::World,
        crowd: &Crowd,
        read: impl FnOnce(&hecs::World, &[u32], Lists<'_>) -> Brought,
    ) -> Crossing {
        let Self { handles, transforms, seen, archetypes, .. } = self;
        // Whoever is live has an index below it.
        let end = crowd.index_end();
        handles.resize(end, Handle::NONE);
        transforms.resize(end, NOWHERE);
        seen.clear();
        seen.resize(end, 0);
        let (handles, transforms, seen) = (&mut handles[..end], &mut transforms[..end], &mut seen[..end]);
        let live = crowd.live_reader();
        list(world, archetypes);
        let lists = Lists { live, first: 0, handles, transforms, seen };
        let Brought { visited, stale, refused } = read(world, archetypes, lists);
        // Bytes of 1, in runs whose sum is one, so that 16 are summed at a time.
        let mut brought = 0;
        for (run, seen) in seen.chunks(RUN).enumerate() {
            let count = usize::from(seen.iter().sum::<u8>());
            brought += count;
            if count != seen.len() {
                for (at, _) in seen.iter().enumerate().filter(|(_, seen)| **seen == 0) {
                    handles[run * RUN + at] = Handle::NONE;
                    transforms[run * RUN + at] = NOWHERE;
                }
            }
        }
        Crossing { crossed: visited - stale - refused, stale, refused, doubled: visited - stale - brought }
    }

    /// World to mirror: [`Hero`] and [`Importance`] of those that live. To be called when they may have
    /// changed; what is not a positive number
    /// counts as 1.
    pub fn read_traits(&mut self, world: &mut hecs::World, crowd: &Crowd) {
        let Self { importance, heroes, .. } = self;
        let end = crowd.index_end();
        importance.clear();
        importance.resize(end, 1.0);
        heroes.clear();
        heroes.resize(end.div_ceil(64), 0);
        for archetype in world.archetypes() {
            let Some(characters) = archetype.get::<&Character>() else { continue };
            let (own, hero) = (archetype.get::<&Importance>(), archetype.has::<Hero>());
            for (at, &Character(handle)) in characters.iter().enumerate() {
                // Another's number may be any; that of one that is gone may be a newborn's.
                if !crowd.is_live(handle) {
                    continue;
                }
                let index = handle.index();
                heroes[index / 64] |= u64::from(hero) << (index % 64);
                importance[index] = own.as_ref().and_then(|own| own.get(at)).map_or(1.0, |own| own.0);
            }
        }
    }

    /// Transforms by [`Handle::index`], as last read; those that are missing or were refused are not finite.
    #[must_use]
    pub fn transforms(&self) -> &[WorldTransform] {
        &self.transforms
    }

    /// What [`TierPolicy::update`](super::TierPolicy::update) is to look at, as last read.
    #[must_use]
    pub fn scene(&self) -> Scene<'_> {
        Scene {
            handles: &self.handles,
            transforms: &self.transforms,
            importance: &self.importance,
            heroes: &self.heroes,
        }
    }

    /// Crowd to world: where the last frame left the roots, into [`WorldTransform`] and [`RootMotion`] of every
    /// [`Character`], whichever of them the entity has.
    pub fn write_back(&mut self, world: &mut hecs::World, crowd: &Crowd) -> Crossing {
        self.write_turns(world, crowd, TURN, write_column)
    }

    /// The same, on all threads of rayon's current pool. As with [`Rayon`](crate::crowd::Rayon), the pool is best entered
    /// once around the frame loop. Pays from some 20 000 characters on.
    #[cfg(feature = "rayon")]
    pub fn write_back_in_parallel(&mut self, world: &mut hecs::World, crowd: &Crowd) -> Crossing {
        self.write_turns(world, crowd, TURN * rayon::current_num_threads(), parallel::write_column)
    }

    fn write_turns(
        &mut self,
        world: &mut hecs::World,
        crowd: &Crowd,
        turn: usize,
        write: impl Fn(RootReader<'_>, &[Character], Columns<'_>) -> usize,
    ) -> Crossing {
        let mut crossing = Crossing::default();
        let reader = crowd.root_reader();
        list(world, &mut self.archetypes);
        for_columns(world, &self.archetypes, turn, |archetype, characters, rows| {
            let mut transforms = archetype.get::<&mut WorldTransform>();
            let mut motions = archetype.get::<&mut RootMotion>();
            let transforms = transforms.as_deref_mut().map(|column| &mut column[rows.clone()]);
            let motions = motions.as_deref_mut().map(|column| &mut column[rows]);
            let reader = reader.expecting(archetype.len() as usize);
            let stale = write(reader, characters, Columns { transforms, motions });
            crossing.stale += stale;
            crossing.crossed += characters.len() - stale;
        });
        crossing
    }
}

/// Characters of all archetypes together after which each has had its turn: what the crowd holds of so many fits a
/// second-level cache.
const TURN: usize = 8192;
/// Of one archetype in a turn, unless there are no more, and for one thread: looking up columns and waking threads take as
/// long as some characters.
const LEAST: usize = 512;

/// Finds the archetypes that have characters.
fn list(world: &hecs::World, archetypes: &mut Vec<u32>) {
    archetypes.clear();
    for (at, archetype) in world.archetypes().enumerate() {
        if !archetype.is_empty() && archetype.has::<Character>() {
            archetypes.push(at as u32);
        }
    }
}

/// Visits all characters by columns of archetypes, so that what an archetype has is asked once and not for each entity; and
/// the archetypes in turns, since the characters of several are mostly neighbours in the crowd: what the first has brought
/// into the cache is still there for the others.
fn for_columns(
    world: &hecs::World,
    archetypes: &[u32],
    turn: usize,
    mut visit: impl FnMut(&hecs::Archetype, &[Character], Range<usize>),
) {
    let listed = || archetypes.iter().filter_map(|&index| world.archetypes().nth(index as usize));
    let total: usize = listed().map(|archetype| archetype.len() as usize).sum();
    let turns = total.div_ceil(turn);
    for turn in 0..turns {
        for archetype in listed() {
            let all = archetype.len() as usize;
            let count = all.div_ceil(turns).max(LEAST);
            let rows = (turn * count).min(all)..((turn + 1) * count).min(all);
            if rows.is_empty() {
                continue;
            }
            if let Some(characters) = archetype.get::<&Character>() {
                visit(archetype, &characters[rows.clone()], rows);
            }
        }
    }
}

/// What an archetype has of what is written, as long as its characters.
struct Columns<'a> {
    transforms: Option<&'a mut [WorldTransform]>,
    motions: Option<&'a mut [RootMotion]>,
}

/// Roots of an archetype's characters; returns how many are gone.
#[inline(never)]
fn write_column(reader: RootReader<'_>, characters: &[Character], columns: Columns<'_>) -> usize {
    // One loop for each of the cases, so that no entity asks which it is.
    let mut stale = 0;
    match (columns.transforms, columns.motions) {
        (Some(transforms), Some(motions)) => {
            for ((character, transform), motion) in characters.iter().zip(transforms).zip(motions) {
                stale += usize::from(!reader.put(character.0, Some(transform), Some(&mut motion.0)));
            }
        }
        (Some(transforms), None) => {
            for (character, transform) in characters.iter().zip(transforms) {
                stale += usize::from(!reader.put(character.0, Some(transform), None));
            }
        }
        (None, Some(motions)) => {
            for (character, motion) in characters.iter().zip(motions) {
                stale += usize::from(!reader.put(character.0, None, Some(&mut motion.0)));
            }
        }
        (None, None) => {
            for character in characters {
                stale += usize::from(!reader.put(character.0, None, None));
            }
        }
    }
    stale
}

#[cfg(feature = "rayon")]
mod parallel {
    use super::{Brought, Character, Columns, LEAST, Lists, RootReader};

    /// Each thread looks at all handles and reads what is of its part of the lists, in the order in which one thread would: so
    /// that who has two of one character gets the same.
    pub(super) fn read(world: &hecs::World, archetypes: &[u32], lists: Lists<'_>) -> Brought {
        split_lists(world, archetypes, lists, rayon::current_num_threads())
    }

    fn split_lists(world: &hecs::World, archetypes: &[u32], lists: Lists<'_>, parts: usize) -> Brought {
        if parts < 2 || lists.handles.len() < 2 * LEAST {
            return super::read_part::<true>(world, archetypes, lists);
        }
        let Lists { live, first, handles, transforms, seen } = lists;
        let left = handles.len() / 2;
        let (handles, other_handles) = handles.split_at_mut(left);
        let (transforms, other_transforms) = transforms.split_at_mut(left);
        let (seen, other_seen) = seen.split_at_mut(left);
        let lists = Lists { live, first, handles, transforms, seen };
        let others = Lists {
            live,
            first: first + left,
            handles: other_handles,
            transforms: other_transforms,
            seen: other_seen,
        };
        let (brought, other) = rayon::join(
            || split_lists(world, archetypes, lists, parts.div_ceil(2)),
            || split_lists(world, archetypes, others, parts / 2),
        );
        let (stale, refused) = (brought.stale + other.stale, brought.refused + other.refused);
        Brought { stale, refused, ..brought }
    }

    /// In halves of halves, one for each thread: all read what they like of the crowd and write their own rows.
    pub(super) fn write_column(
        reader: RootReader<'_>,
        characters: &[Character],
        columns: Columns<'_>,
    ) -> usize {
        split(reader, characters, columns, rayon::current_num_threads())
    }

    fn split(reader: RootReader<'_>, characters: &[Character], columns: Columns<'_>, parts: usize) -> usize {
        if parts < 2 || characters.len() < 2 * LEAST {
            return super::write_column(reader, characters, columns);
        }
        let left = characters.len() / 2;
        let (characters, others) = characters.split_at(left);
        let Columns { transforms, motions } = columns;
        let (transforms, other_transforms) = transforms.map(|column| column.split_at_mut(left)).unzip();
        let (motions, other_motions) = motions.map(|column| column.split_at_mut(left)).unzip();
        let (columns, others_columns) = (
            Columns { transforms, motions },
            Columns { transforms: other_transforms, motions: other_motions },
        );
        let (stale, others_stale) = rayon::join(
            || split(reader, characters, columns, parts.div_ceil(2)),
            || split(reader, others, others_columns, parts / 2),
        );
        stale + others_stale
    }
}

/// The lists by index that a reading fills, or the part of them from `first` on, all of one length.
struct Lists<'a> {
    live: LiveReader<'a>,
    first: usize,
    handles: &'a mut [Handle],
    transforms: &'a mut [WorldTransform],
    seen: &'a mut [u8],
}

/// What became of a character that was to be put into a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    Here,
    Gone,
    /// It is another part's.
    Elsewhere,
}

impl Lists<'_> {
    #[inline(always)]
    fn put<const PART: bool>(&mut self, handle: Handle, place: &WorldTransform) -> Put {
        let at = handle.index().wrapping_sub(self.first);
        if at >= self.handles.len() {
            return if PART { self.not_here(handle) } else { Put::Gone };
        }
        if !self.live.is_live(handle) {
            return Put::Gone;
        }
        self.seen[at] = 1;
        self.handles[at] = handle;
        self.transforms[at] = *place;
        Put::Here
    }

    /// An index of this part.
    #[inline(always)]
    fn has(&self, handle: Handle) -> bool {
        handle.index().wrapping_sub(self.first) < self.handles.len()
    }

    /// Indices past all parts are told by the first.
    #[inline(always)]
    fn not_here(&self, handle: Handle) -> Put {
        if self.first == 0 && handle.index() >= self.live.end() { Put::Gone } else { Put::Elsewhere }
    }
}

/// What a part of a reading has come by.
#[derive(Clone, Copy, Default)]
struct Brought {
    /// Characters of the world that have a transform, this part's or not.
    visited: usize,
    /// Of this part: those that are gone, and those with a transform that no crowd takes.
    stale: usize,
    refused: usize,
}

/// Reads what of the world belongs into these lists. Without `PART` they are all there is, and nothing is asked about it.
fn read_part<const PART: bool>(world: &hecs::World, archetypes: &[u32], lists: Lists<'_>) -> Brought {
    let mut brought = Brought::default();
    let Lists { live, first, handles, transforms, seen } = lists;
    for_columns(world, archetypes, TURN, |archetype, characters, rows| {
        let Some(places) = archetype.get::<&WorldTransform>() else { return };
        let lists = Lists { live, first, handles, transforms, seen };
        let (stale, refused) = read_column::<PART>(lists, characters, &places[rows]);
        brought.visited += characters.len();
        brought.stale += stale;
        brought.refused += refused;
    });
    brought
}

/// Reads an archetype's characters; returns how many are gone, and how many have a transform that no crowd takes.
#[inline(never)]
fn read_column<const PART: bool>(
    mut lists: Lists<'_>,
    characters: &[Character],
    places: &[WorldTransform],
) -> (usize, usize) {
    let (mut stale, mut refused) = (0, 0);
    let (fours, rest) = characters.as_chunks::<4>();
    let (places, places_rest) = places.as_chunks::<4>();
    for (characters, places) in fours.iter().zip(places) {
        // Judging what is another part's would cost each thread as much as reading it.
        if PART && !characters.iter().fold(false, |any, character| any | lists.has(character.0)) {
            stale += characters.iter().filter(|character| lists.not_here(character.0) == Put::Gone).count();
            continue;
        }
        let valid = WorldTransform::all_valid(places);
        for at in 0..4 {
            let put = lists.put::<PART>(characters[at].0, &places[at]);
            if put == Put::Gone {
                stale += 1;
            }
            if !valid && put == Put::Here && !places[at].is_valid() {
                refused += 1;
                lists.put::<PART>(characters[at].0, &NOWHERE);
            }
        }
    }
    for (character, place) in rest.iter().zip(places_rest) {
        let valid = place.is_valid();
        let put = lists.put::<PART>(character.0, if valid { place } else { &NOWHERE });
        stale += usize::from(put == Put::Gone);
        refused += usize::from(put == Put::Here && !valid);
    }
    (stale, refused)
}
