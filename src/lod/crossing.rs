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
        let Self { handles, transforms, seen, archetypes, .. } = self;
        let mut crossing = Crossing::default();
        // Whoever is live has an index below it.
        let end = crowd.index_end();
        handles.resize(end, Handle::NONE);
        transforms.resize(end, NOWHERE);
        seen.clear();
        seen.resize(end, 0);
        let (handles, transforms, seen) = (&mut handles[..end], &mut transforms[..end], &mut seen[..end]);
        let live = crowd.live_reader();
        for_columns(world, archetypes, |archetype, characters, rows| {
            let Some(places) = archetype.get::<&WorldTransform>() else { return };
            let places = &places[rows];
            let lists = Lists { live, handles, transforms, seen };
            let (stale, refused) = read_column(lists, characters, places);
            crossing.stale += stale;
            crossing.refused += refused;
            crossing.crossed += characters.len() - stale - refused;
        });
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
        crossing.doubled = crossing.crossed + crossing.refused - brought;
        crossing
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
        let mut crossing = Crossing::default();
        let reader = crowd.root_reader();
        for_columns(world, &mut self.archetypes, |archetype, characters, rows| {
            let mut transforms = archetype.get::<&mut WorldTransform>();
            let mut motions = archetype.get::<&mut RootMotion>();
            let transforms = transforms.as_deref_mut().map(|column| &mut column[rows.clone()]);
            let motions = motions.as_deref_mut().map(|column| &mut column[rows]);
            let reader = reader.expecting(archetype.len() as usize);
            let stale = write_column(reader, characters, transforms, motions);
            crossing.stale += stale;
            crossing.crossed += characters.len() - stale;
        });
        crossing
    }
}

/// Characters of all archetypes together after which each has had its turn: what the crowd holds of so many fits a
/// second-level cache.
const TURN: usize = 8192;
/// Of one archetype in a turn, unless there are no more: looking up its columns takes as long as some characters.
const LEAST: usize = 512;

/// Visits all characters by columns of archetypes, so that what an archetype has is asked once and not for each entity; and
/// the archetypes in turns, since the characters of several are mostly neighbours in the crowd: what the first has brought
/// into the cache is still there for the others.
fn for_columns(
    world: &hecs::World,
    archetypes: &mut Vec<u32>,
    mut visit: impl FnMut(&hecs::Archetype, &[Character], Range<usize>),
) {
    archetypes.clear();
    let mut total = 0;
    for (at, archetype) in world.archetypes().enumerate() {
        if !archetype.is_empty() && archetype.has::<Character>() {
            archetypes.push(at as u32);
            total += archetype.len() as usize;
        }
    }
    let turns = total.div_ceil(TURN);
    for turn in 0..turns {
        for &index in archetypes.iter() {
            let Some(archetype) = world.archetypes().nth(index as usize) else { continue };
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

/// Roots of an archetype's characters, all columns of one length; returns how many are gone.
#[inline(never)]
fn write_column(
    reader: RootReader<'_>,
    characters: &[Character],
    transforms: Option<&mut [WorldTransform]>,
    motions: Option<&mut [RootMotion]>,
) -> usize {
    // One loop for each of the cases, so that no entity asks which it is.
    let mut stale = 0;
    match (transforms, motions) {
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

/// The lists by index that a reading fills, all of one length.
struct Lists<'a> {
    live: LiveReader<'a>,
    handles: &'a mut [Handle],
    transforms: &'a mut [WorldTransform],
    seen: &'a mut [u8],
}

impl Lists<'_> {
    /// False if the character is gone.
    #[inline(always)]
    fn put(&mut self, handle: Handle, place: &WorldTransform) -> bool {
        let index = handle.index();
        if index >= self.handles.len() || !self.live.is_live(handle) {
            return false;
        }
        self.seen[index] = 1;
        self.handles[index] = handle;
        self.transforms[index] = *place;
        true
    }
}

/// Reads an archetype's characters; returns how many are gone, and how many have a transform that no crowd takes.
#[inline(never)]
fn read_column(mut lists: Lists<'_>, characters: &[Character], places: &[WorldTransform]) -> (usize, usize) {
    let (mut stale, mut refused) = (0, 0);
    let (fours, rest) = characters.as_chunks::<4>();
    let (places, places_rest) = places.as_chunks::<4>();
    for (characters, places) in fours.iter().zip(places) {
        let valid = WorldTransform::all_valid(places);
        for at in 0..4 {
            let here = lists.put(characters[at].0, &places[at]);
            if !here {
                stale += 1;
            }
            if !valid && here && !places[at].is_valid() {
                refused += 1;
                lists.put(characters[at].0, &NOWHERE);
            }
        }
    }
    for (character, place) in rest.iter().zip(places_rest) {
        let valid = place.is_valid();
        let here = lists.put(character.0, if valid { place } else { &NOWHERE });
        stale += usize::from(!here);
        refused += usize::from(here && !valid);
    }
    (stale, refused)
}
