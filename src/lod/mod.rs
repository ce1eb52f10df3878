//! Characters of a [`hecs`] world.
//!
//! ```text
//! entity    Character(handle)   WorldTransform            RootMotion
//!                               | read_transforms         ^ write_back
//!                               v before the frame        | after it, on request
//! crowd     roots  ------------ frame ------------------> roots, root motion
//! ```
//!
//! The world owns its transforms: a frame between the two crossings with
//! [`Roots::Host(&[])`](crate::crowd::Roots::Host) leaves the roots where the world put them and only reports
//! root motion; with the other choices of [`Roots`](crate::crowd::Roots) the clips move them, and
//! [`write_back`] tells the world.

use crate::clip::Planar;
use crate::crowd::{Crowd, Handle, WorldTransform};
use crate::error::BuildError;

/// Makes an entity a character of the crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Character(pub Handle);

/// Root motion of the last frame, metres and radians, in the axes of where it started. Added by those who want
/// it; [`write_back`] fills it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RootMotion(pub Planar);

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

/// Characters whose transform is taken over, by the crowd's order. Kept between frames, so that reading
/// allocates only when the world grows.
#[derive(Debug, Default)]
pub struct Reader {
    order: Vec<(usize, Handle, WorldTransform)>,
}

impl Reader {
    /// World to crowd: the root of every entity with a [`Character`] and a [`WorldTransform`], in the order of
    /// [`Handle::index`], whatever the order of the world's archetypes. Feet keep their state, as with
    /// [`Crowd::set_transform`].
    pub fn read_transforms(&mut self, world: &hecs::World, crowd: &mut Crowd) -> Crossing {
        self.order.clear();
        for (character, transform) in world.query::<(&Character, &WorldTransform)>().iter() {
            self.order.push((character.0.index(), character.0, *transform));
        }
        // Entities that were spawned together are in order already, which the sort finds in one pass.
        self.order.sort_by_key(|(index, ..)| *index);
        let mut crossing = Crossing::default();
        for (_, handle, transform) in &self.order {
            match crowd.set_transform(*handle, *transform) {
                Ok(()) => crossing.crossed += 1,
                Err(BuildError::Unknown { .. }) => crossing.stale += 1,
                Err(_) => crossing.refused += 1,
            }
        }
        crossing
    }
}

/// Crowd to world: where the last frame left the roots, into [`WorldTransform`] and [`RootMotion`] of every
/// [`Character`], whichever of them the entity has.
pub fn write_back(world: &mut hecs::World, crowd: &Crowd) -> Crossing {
    let mut crossing = Crossing::default();
    let query = world.query_mut::<(&Character, Option<&mut WorldTransform>, Option<&mut RootMotion>)>();
    for (character, transform, motion) in query {
        let (Ok(root), Ok(moved)) = (crowd.transform(character.0), crowd.root_motion(character.0)) else {
            crossing.stale += 1;
            continue;
        };
        if let Some(transform) = transform {
            *transform = root;
        }
        if let Some(motion) = motion {
            *motion = RootMotion(moved);
        }
        crossing.crossed += 1;
    }
    crossing
}
