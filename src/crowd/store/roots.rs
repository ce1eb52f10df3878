//! Roots of all characters at once, by [`Handle::index`], for worlds that keep their own.

use super::{Cohort, Crowd, Handle, Location, WorldTransform};
use crate::clip::Planar;
use crate::crowd::block::Block;
use crate::lanes::{BLOCK, Lanes, Row, per_isa, prefetch};

/// Where a character's root is, and how the last frame's root motion moved it: metres and radians, in the axes of where
/// it started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Root {
    /// World.
    pub transform: WorldTransform,
    /// Of the last frame.
    pub motion: Planar,
}

impl Root {
    const NONE: Self =
        Self { transform: WorldTransform::IDENTITY, motion: Planar { x: 0.0, z: 0.0, yaw: 0.0 } };
}

impl Crowd {
    /// True until the character is despawned.
    #[inline]
    #[must_use]
    pub fn is_live(&self, handle: Handle) -> bool {
        self.live_reader().is_live(handle)
    }

    #[inline]
    pub(crate) fn live_reader(&self) -> LiveReader<'_> {
        LiveReader { characters: &self.characters }
    }

    /// Where the root of a character is; `None` if the handle is stale. For many at once see
    /// [`read_roots`](Self::read_roots).
    #[must_use]
    pub fn root(&self, handle: Handle) -> Option<Root> {
        let mut root = Root::NONE;
        self.root_reader().put(handle, Some(&mut root.transform), Some(&mut root.motion)).then_some(root)
    }

    /// For whoever asks for the roots of all, in whatever order.
    #[inline]
    pub(crate) fn root_reader(&self) -> RootReader<'_> {
        RootReader { characters: &self.characters, cohorts: &self.cohorts, spacing: 1 }
    }

    /// One more than the largest [`Handle::index`] so far.
    #[inline]
    #[must_use]
    pub fn index_end(&self) -> usize {
        self.characters.len()
    }

    /// Roots of all live characters into `roots[index]`, which grows as needed; other entries are left as they are.
    pub fn read_roots(&self, roots: &mut Vec<Root>) {
        if roots.len() < self.characters.len() {
            roots.resize(self.characters.len(), Root::NONE);
        }
        let mut lanes = [Row::ZERO; BLOCK];
        let mut blocks = self.blocks().filter(|block| block.live != 0).peekable();
        while let Some(block) = blocks.next() {
            if let Some(next) = blocks.peek() {
                for &character in &next.characters {
                    if let Some(root) = roots.get(character as usize) {
                        prefetch(root);
                    }
                }
            }
            root_lanes(self.config.simd, block, &mut lanes);
            for (lane, row) in lanes.iter().enumerate() {
                // The index of a dead lane is of nobody.
                if let Some(root) = roots.get_mut(block.characters[lane] as usize) {
                    let [px, py, pz, qx, qy, qz, qw, x, z, yaw, ..] = row.0;
                    root.transform = WorldTransform { position: [px, py, pz], rotation: [qx, qy, qz, qw] };
                    root.motion = Planar { x, z, yaw };
                }
            }
        }
    }

    /// Puts all live characters that `transforms` has a valid entry for where it says, as
    /// [`set_transform`](Self::set_transform) does: by [`Handle::index`], for many at once.
    pub fn put_roots(&mut self, transforms: &[WorldTransform]) {
        for block in self.cohorts.iter_mut().flat_map(|cohort| &mut cohort.blocks) {
            if block.live != 0 {
                block.take_transforms(transforms);
            }
        }
    }
}

/// Asks who is live, one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveReader<'a> {
    characters: &'a [Location],
}

impl LiveReader<'_> {
    /// See [`Crowd::index_end`].
    #[cfg(feature = "hecs")]
    #[inline]
    pub fn end(self) -> usize {
        self.characters.len()
    }

    /// See [`Crowd::is_live`].
    #[inline(always)]
    pub fn is_live(self, handle: Handle) -> bool {
        self.characters
            .get(handle.index())
            .is_some_and(|entry| entry.generation == handle.generation && !entry.is_free())
    }
}

/// Reads roots one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RootReader<'a> {
    characters: &'a [Location],
    cohorts: &'a [Cohort],
    /// Lanes of a block from one character that is asked for to the next, as far as that is known.
    spacing: usize,
}

impl RootReader<'_> {
    /// For a run of so many characters. The fewer they are, the fewer of a block tell that the next one will be needed.
    #[cfg(feature = "hecs")]
    #[must_use]
    pub fn expecting(self, count: usize) -> Self {
        Self { spacing: (self.characters.len() / count.max(1)).clamp(1, BLOCK), ..self }
    }

    /// Puts a root where asked; false if the handle is stale.
    #[inline(always)]
    pub fn put(
        self,
        handle: Handle,
        transform: Option<&mut WorldTransform>,
        motion: Option<&mut Planar>,
    ) -> bool {
        let Some(entry) = self.characters.get(handle.index()) else { return false };
        let Some(place) = entry.place().filter(|_| entry.generation == handle.generation) else {
            return false;
        };
        let Some(cohort) = self.cohorts.get(usize::from(place.cohort)) else { return false };
        let (at, lane) = (place.block as usize, usize::from(place.lane));
        let Some(own) = cohort.blocks.get(at) else { return false };
        // Characters lie in about the order in which they are asked for, rig by rig: see `Crowd::pack`.
        if lane < self.spacing
            && let Some(Block { position, rotation, displacement, .. }) = cohort.blocks.get(at + 1)
        {
            position.iter().chain(rotation).chain(displacement).for_each(prefetch);
        }
        if let Some(transform) = transform {
            let to: &mut [u32; 7] = bytemuck::cast_mut(transform);
            copy_lane(&own.position, lane, &mut to[..3]);
            copy_lane(&own.rotation, lane, &mut to[3..]);
        }
        if let Some(motion) = motion {
            let to: &mut [u32; 3] = bytemuck::cast_mut(motion);
            copy_lane(&own.displacement, lane, to);
        }
        true
    }
}

/// As integers, of which a processor stores two at a time, but of floats one.
#[inline(always)]
fn copy_lane(rows: &[Row], lane: usize, to: &mut [u32]) {
    for (to, row) in to.iter_mut().zip(rows) {
        let row: &[u32; BLOCK] = bytemuck::cast_ref(&row.0);
        *to = row[lane % BLOCK];
    }
}

impl Block {
    /// Each lane's own out of a list by character; what is missing or invalid changes nothing.
    pub(in crate::crowd) fn take_transforms(&mut self, transforms: &[WorldTransform]) {
        for lane in 0..BLOCK {
            // The index of a dead lane is of nobody.
            let own = transforms.get(self.characters[lane] as usize).and_then(WorldTransform::checked);
            let Some(WorldTransform { position, rotation }) = own else { continue };
            for (row, value) in self.position.iter_mut().zip(position) {
                row.0[lane] = value;
            }
            for (row, value) in self.rotation.iter_mut().zip(rotation) {
                row.0[lane] = value;
            }
            for lost in self.position_lost.iter_mut().chain(&mut self.rotation_lost) {
                lost.0[lane] = 0.0;
            }
        }
    }
}

per_isa! {
    fn root_lanes(block: &Block, lanes: &mut [Row; BLOCK]) = root_kernel;
}

/// Rows to one row per character.
#[inline(always)]
fn root_kernel<L: Lanes>(block: &Block, lanes: &mut [Row; BLOCK]) {
    let [px, py, pz] = block.position;
    let [qx, qy, qz, qw] = block.rotation;
    let [x, z, yaw] = block.displacement;
    let o = Row::ZERO;
    L::transpose(&[px, py, pz, qx, qy, qz, qw, x, z, yaw, o, o, o, o, o, o], lanes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_of_the_host_has_lost_nothing() {
        let mut block = Block::default();
        block.position_lost[1].0[3] = 0.5;
        block.rotation_lost[2].0[3] = 0.25;
        block.characters[3] = 1;
        block.take_transforms(&[WorldTransform::IDENTITY; 2]);
        assert_eq!((block.position_lost[1].0[3], block.rotation_lost[2].0[3]), (0.0, 0.0));
    }
}
