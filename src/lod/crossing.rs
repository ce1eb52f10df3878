//! The two crossings of a frame between a hecs world and a crowd, through arrays by [`Handle::index`].

use super::components::{Character, Hero, Importance, RootMotion};
use super::significance::Scene;
use crate::crowd::{Crowd, Handle, Root, WorldTransform};

/// What became of the entities of one crossing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossing {
    /// Characters that crossed.
    pub crossed: usize,
    /// Entities whose character is gone.
    pub stale: usize,
    /// Entities whose transform is not finite, not a rotation or out of range; the crowd keeps its own.
    pub refused: usize,
}

type Read = (&'static Character, &'static WorldTransform);
type ReadTraits = (&'static Character, Option<&'static Importance>, hecs::Satisfies<&'static Hero>);
type Write = (&'static Character, Option<&'static mut WorldTransform>, Option<&'static mut RootMotion>);

/// A world's characters in the crowd's order. Kept between frames: it allocates only when the world grows.
#[derive(Default)]
pub struct Mirror {
    reads: hecs::PreparedQuery<Read>,
    traits: hecs::PreparedQuery<ReadTraits>,
    writes: hecs::PreparedQuery<Write>,
    handles: Vec<Handle>,
    transforms: Vec<WorldTransform>,
    importance: Vec<f32>,
    heroes: Vec<u64>,
    roots: Vec<Root>,
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
        let Self { reads, handles, transforms, .. } = self;
        let mut crossing = Crossing::default();
        handles.fill(Handle::NONE);
        transforms.fill(NOWHERE);
        for (&Character(handle), transform) in reads.query_mut(world) {
            if !crowd.is_live(handle) {
                crossing.stale += 1;
                continue;
            }
            let index = handle.index();
            if handles.len() <= index {
                handles.resize(index + 1, Handle::NONE);
                transforms.resize(index + 1, NOWHERE);
            }
            handles[index] = handle;
            if transform.is_valid() {
                transforms[index] = *transform;
                crossing.crossed += 1;
            } else {
                crossing.refused += 1;
            }
        }
        crossing
    }

    /// World to mirror: [`Hero`] and [`Importance`] of those that live. To be called when they may have
    /// changed; what is not a positive number
    /// counts as 1.
    pub fn read_traits(&mut self, world: &mut hecs::World, crowd: &Crowd) {
        let Self { traits, importance, heroes, .. } = self;
        importance.fill(1.0);
        heroes.fill(0);
        for (&Character(handle), own, hero) in traits.query_mut(world) {
            let index = handle.index();
            // Another's number may be any; that of one that is gone may be a newborn's.
            if !crowd.is_live(handle) {
                continue;
            }
            if importance.len() <= index {
                importance.resize(index + 1, 1.0);
                heroes.resize(index / 64 + 1, 0);
            }
            heroes[index / 64] |= u64::from(hero) << (index % 64);
            importance[index] = own.map_or(1.0, |own| own.0);
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
        let Self { writes, roots, .. } = self;
        crowd.read_roots(roots);
        let mut crossing = Crossing::default();
        for (&Character(handle), transform, motion) in writes.query_mut(world) {
            if !crowd.is_live(handle) {
                crossing.stale += 1;
                continue;
            }
            let root = &roots[handle.index()];
            if let Some(transform) = transform {
                *transform = root.transform;
            }
            if let Some(motion) = motion {
                *motion = RootMotion(root.motion);
            }
            crossing.crossed += 1;
        }
        crossing
    }
}
