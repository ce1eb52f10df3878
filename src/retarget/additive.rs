//! Binding a clip as what it adds to a reference pose.

use super::{BindSource, fitting_keys};
use crate::clip::{AdditiveReference, BoundClip, RawClip};
use crate::error::BuildError;
use crate::rig::Rig;

/// As [`bind`](super::bind), less the pose of `reference`: an additive clip, which a crowd only takes as an additive layer.
/// Keys of another clip's pose come from [`fitting_keys`] onto the same topology. Retargeting comes first, so that both
/// are of one body.
///
/// # Errors
/// As [`bind`](super::bind) and [`MotionKeys::additive`](crate::clip::MotionKeys::additive).
pub fn bind_additive(
    source: BindSource<'_>,
    clip: &RawClip,
    reference: AdditiveReference<'_>,
    rig: &Rig,
) -> Result<BoundClip, BuildError> {
    BoundClip::build(rig.topology(), &fitting_keys(source, clip, rig)?.additive(reference)?)
}
