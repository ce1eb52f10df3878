//! The two crossings of a frame between a hecs world and a crowd, through arrays by [`Handle::index`].

use super::components::{Character, Hero, Importance, RootMotion};
use super::significance::Scene;
use crate::crowd::{Crowd, Handle, WorldTransform};

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
}

impl core::fmt::Debug for Mirror {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Mirror").field("characters", &self.handles.len()).finish_non_exhaustive()
    }
}

/// A transform that no crowd takes.
const NOWHERE: WorldTransform = WorldTransform { position: [f32::NAN; 3], rotation: [0.0; 4] };

impl Mirror {
    /// World to mirror: handle and transform of every entity with a [`Character`] and a [`WorldTransform`]. What the crowd
    /// then does with them is the host's choice: [`Roots::Host`](crate::crowd::Roots::Host) of
    /// [`transforms`](Self::transforms) in the next frame, or [`Crowd::put_roots`] at once where clips move on from there.
    pub fn read(&mut self, world: &mut hecs::World, crowd: &Crowd) -> Crossing {
        let Self { handles, transforms, .. } = self;
        let mut crossing = Crossing::default();
        // Whoever is live has an index below it.
        let end = crowd.index_end();
        handles.clear();
        handles.resize(end, Handle::NONE);
        transforms.clear();
        transforms.resize(end, NOWHERE);
        let (handles, transforms) = (&mut handles[..end], &mut transforms[..end]);
        // Column by column: what an archetype has is asked once and not for each entity.
        for archetype in world.archetypes() {
            let Some(characters) = archetype.get::<&Character>() else { continue };
            let Some(places) = archetype.get::<&WorldTransform>() else { continue };
            for (&Character(handle), transform) in characters.iter().zip(places.iter()) {
                if !crowd.is_live(handle) {
                    crossing.stale += 1;
                    continue;
                }
                let index = handle.index();
                let valid = transform.is_valid();
                crossing.doubled += usize::from(handles[index] == handle);
                handles[index] = handle;
                transforms[index] = if valid { *transform } else { NOWHERE };
                crossing.crossed += usize::from(valid);
                crossing.refused += usize::from(!valid);
            }
        }
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
        for archetype in world.archetypes() {
            let Some(characters) = archetype.get::<&Character>() else { continue };
            let mut transforms = archetype.get::<&mut WorldTransform>();
            let mut motions = archetype.get::<&mut RootMotion>();
            let mut transforms = transforms.as_deref_mut().unwrap_or_default().iter_mut();
            let mut motions = motions.as_deref_mut().unwrap_or_default().iter_mut();
            for &Character(handle) in characters.iter() {
                let (transform, motion) = (transforms.next(), motions.next());
                let Some(root) = reader.root(handle) else {
                    crossing.stale += 1;
                    continue;
                };
                if let Some(transform) = transform {
                    *transform = root.transform;
                }
                if let Some(motion) = motion {
                    *motion = RootMotion(root.motion);
                }
                crossing.crossed += 1;
            }
        }
        crossing
    }
}
