//! Contact weights: how much say a foot has in where the pelvis goes; and how far a foot may be from standing.

use super::{Contacts, Interval};
use crate::rig::Side;

/// Ball speed above which a foot is let go, leg lengths per second.
pub(crate) const FREE_SPEED: f32 = 1.1;
/// Height of the animated ball above the root's plane up to which it locks, leg lengths.
pub(crate) const LOCK_HEIGHT: f32 = 0.06;
/// The same up to which it stays locked, and that a planted foot is put down from.
pub(crate) const FREE_HEIGHT: f32 = 0.12;

/// Seconds before touch-down over which a foot gains its say.
const APPROACH: f32 = 0.20;
/// Seconds after lift-off over which it loses it.
const LEAVE: f32 = 0.10;

/// 1 in contact (heel or ball), rising linearly before touch-down and falling after lift-off.
pub fn contact_weight(contacts: &Contacts, side: Side, time: f32, duration: f32, looping: bool) -> f32 {
    contacts
        .feet
        .iter()
        .filter(|foot| foot.side == side)
        .flat_map(|foot| foot.heel.iter().chain(&foot.ball))
        .map(|interval| weight(*interval, time, duration, looping))
        .fold(0.0, f32::max)
}

fn weight(interval: Interval, time: f32, duration: f32, looping: bool) -> f32 {
    if interval.contains(time) {
        return 1.0;
    }
    let wrap = |dt: f32| if looping && dt < 0.0 { dt + duration } else { dt };
    let (before, after) = (wrap(interval.start - time), wrap(time - interval.end));
    let rise = if before >= 0.0 { 1.0 - before / APPROACH } else { 0.0 };
    let fall = if after >= 0.0 { 1.0 - after / LEAVE } else { 0.0 };
    rise.max(fall).max(0.0)
}
