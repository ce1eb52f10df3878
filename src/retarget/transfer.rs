//! A clip from one body onto another in one go: keys, contacts, grips, the baked clip, and the verdict on it.
//!
//! ```text
//! source clip --motion_keys--> keys --plant--> feet held --grip--> second hands held --bake--> clip of the target
//!                              |                                                        |
//!                              +--------- judged before ----------- and after ---------+
//! ```

use super::bake::{TravelOn, bake};
use super::bind::{BindSource, TOLERANCE, finest, motion_keys};
use super::grip::grip;
use super::plant::{ContactMode, Planted, plant};
use super::verdict::{Judged, Verdict, judge};
use crate::clip::{MotionKeys, RawClip};
use crate::error::BuildError;
use crate::rig::{Grip, RawSkeleton, ReferencePose, Rig, RoleMap};

/// Feet that stand are told finer than poses: this part of [`TOLERANCE`], a millimetre of an adult.
const STANDING: f64 = 1.0 / 3.0;

/// Whom a clip goes onto.
#[derive(Clone, Copy, Debug)]
pub struct RetargetTarget<'a> {
    /// The skeleton that the new clip moves.
    pub skeleton: &'a RawSkeleton,
    /// What its joints are.
    pub roles: &'a RoleMap,
    /// The reference pose that `rig` was built with.
    pub reference: &'a ReferencePose,
    /// Built from them.
    pub rig: &'a Rig,
}

/// Choices of [`retarget`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RetargetOptions {
    /// Which contacts hold feet.
    pub contacts: ContactMode,
    /// Which joint carries the travel.
    pub travel: TravelOn,
    /// What both hands hold.
    pub grips: Vec<Grip>,
}

/// What has become of a clip.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Retargeted {
    /// On the target's skeleton.
    pub clip: RawClip,
    /// The same as keys of its topology.
    pub keys: MotionKeys,
    /// What contacts have done.
    pub planted: Planted,
    /// How it came over.
    pub verdict: Verdict,
}

/// Retargets a clip and judges it.
///
/// # Errors
/// If the clip is not valid for the source skeleton, target and rig do not belong together, or a grip means nothing.
pub fn retarget(
    source: BindSource<'_>,
    clip: &RawClip,
    target: RetargetTarget<'_>,
    options: &RetargetOptions,
) -> Result<Retargeted, BuildError> {
    let RetargetTarget { skeleton, roles, reference, rig } = target;
    let own = |rate: f64| motion_keys(source, clip, rig, rate);
    let plain = finest(own, rig, TOLERANCE)?;
    let held = |rate: f64| plant(&own(rate)?, rig, options.contacts).map(|(keys, _)| keys);
    let stands = plant(&plain, rig, options.contacts)?.1.stances > 0;
    let rate_of = |keys: &MotionKeys| (keys.pelvis.len() - 1) as f64 / keys.duration;
    let finer = if stands { finest(held, rig, TOLERANCE * STANDING)? } else { plain.clone() };
    let keys = if finer.pelvis.len() == plain.pelvis.len() { plain.clone() } else { own(rate_of(&finer))? };
    let (keys, mut planted) = plant(&keys, rig, options.contacts)?;
    let (keys, missed) = grip(&keys, source, clip, rig, roles, &options.grips)?;
    planted.failures.extend(missed);

    let before = bake(&plain, skeleton, rig, options.travel)?;
    let after = bake(&keys, skeleton, rig, options.travel)?;
    let from = Judged { skeleton: source.skeleton, roles: source.roles, reference: source.reference, clip };
    let to = |clip| Judged { skeleton, roles, reference, clip };
    let mut verdict = judge(from, to(&before));
    let solved = planted.stances > 0 || options.grips.iter().any(|grip| grip.is_of(&clip.name));
    if solved {
        verdict.after(from, to(&after), &options.grips, planted.failures.clone());
    }
    Ok(Retargeted { clip: after, keys, planted, verdict })
}
