//! How far away a character counts as being.

use crate::crowd::{Handle, WorldTransform};

/// Somebody who looks at the crowd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewer {
    /// World, metres.
    pub position: [f32; 3],
    /// How large things look: 1 for a field of view at which the policy's distances are right, 2 for a lens that shows all
    /// at half the distance.
    pub zoom: f32,
}

impl Viewer {
    /// Without a lens.
    #[must_use]
    pub fn at(position: [f32; 3]) -> Self {
        Self { position, zoom: 1.0 }
    }
}

/// Characters by [`Handle::index`], as far as a policy needs to know.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scene<'a> {
    /// [`Handle::NONE`] where there is nobody.
    pub handles: &'a [Handle],
    /// Beyond its end, and where one is not finite, a character is as far away as can be.
    pub transforms: &'a [WorldTransform],
    /// Beyond its end: 1. Twice the importance is half the distance.
    pub importance: &'a [f32],
    /// Bit `index % 64` of word `index / 64`; beyond its end: none.
    pub heroes: &'a [u64],
}

impl Scene<'_> {
    /// True for a hero.
    #[must_use]
    pub fn is_hero(&self, index: usize) -> bool {
        self.heroes.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 != 0)
    }

    /// Metres from the nearest viewer, over lens and importance.
    #[must_use]
    pub fn distance(&self, index: usize, viewers: &[Viewer]) -> f32 {
        let Some(transform) = self.transforms.get(index) else { return f32::MAX };
        let mut nearest = f32::MAX;
        for viewer in viewers {
            let [x, y, z] = core::array::from_fn(|k| transform.position[k] - viewer.position[k]);
            let distance = (x * x + y * y + z * z).sqrt() / viewer.zoom.max(1e-3);
            // False for what is not a number.
            if distance < nearest {
                nearest = distance;
            }
        }
        let importance = self.importance.get(index).copied().filter(|&own| own > 0.0).unwrap_or(1.0);
        (nearest / importance.min(1e6)).min(f32::MAX)
    }
}
