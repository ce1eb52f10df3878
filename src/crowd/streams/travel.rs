//! Roots that streams move, before poses come in; and back again where one is refused after all.

use super::root::{self, Before, sound};
use super::{Followers, StreamTable};
use crate::crowd::block::{Block, lanes_of};
use crate::crowd::frame::Frame;

/// How roots are moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Travel {
    /// Or it is only told by how much.
    pub moves: bool,
    /// All poses come in later in the frame: what is wrong with one is found there, and the root put back.
    pub posed: bool,
    /// Joints that move.
    pub kept: usize,
}

impl StreamTable {
    /// Moves the roots of lanes whose stream travels, by what is known of the pose as far as the hips. Gives what they
    /// were, if there are any.
    pub fn travel(
        &self,
        block: &mut Block,
        followers: &Followers,
        frame: &Frame<'_>,
        Travel { moves, posed, kept }: Travel,
    ) -> Option<Before> {
        let (poses, dt) = (frame.streams, frame.dt);
        let mut before = None;
        for lane in lanes_of(followers.travel) {
            let (character, key) = (block.characters[lane], followers.key(lane));
            if let Ok(pose) = self.pose(key, poses)
                && let Some(map) = self.map(key)
                && let Some(now) = root::Pose::of(map, &pose)
                && (posed || sound(map, &pose, kept))
            {
                let cell = &self.cells[character as usize];
                let before = before.get_or_insert_with(|| Before::of(block, moves));
                before.take(lane, &cell.root);
                let way = cell.root.replace(now).scaled(block.leg.0[lane] * map.per_leg);
                // What is left of an old motion has moved it already; a stream that gives way is the old motion.
                let share = if cell.leaves { 1.0 } else { 1.0 - mean_left(block, lane, dt) };
                root::displace(block, lane, way.part(share), moves);
            }
        }
        before
    }

    /// Roots of lanes whose pose is refused after all are what they were.
    pub fn undo(&self, block: &mut Block, lanes: u16, before: Option<&Before>) {
        let Some(before) = before else { return };
        for lane in lanes_of(lanes & before.lanes()) {
            let character = block.characters[lane];
            if self.follows(character) {
                before.put_back(block, lane, &self.cells[character as usize].root);
            }
        }
    }
}

/// Share of the last frame's root motion that an old one had.
fn mean_left(block: &Block, lane: usize, dt: f32) -> f32 {
    let rare = block.rare[lane].as_ref().filter(|_| block.transitions & (1 << lane) != 0);
    // Its clock has been moved on already.
    rare.map_or(0.0, |rare| rare.transition.mean_left(rare.transition.elapsed - dt, rare.transition.elapsed))
}
