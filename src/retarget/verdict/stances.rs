//! Heights of the hips, and feet while they stand: what has become of them beyond what the source itself does.

use glam::DVec3;

use super::film::{Ball, Film};
use super::sum::p99;
use crate::clip::{Interval, RawClip};
use crate::rig::carrier;

/// Mean height of the hips against what it should be.
pub(super) fn pelvis_height(from: &Film<'_>, to: &Film<'_>, ratio: f64) -> Option<f64> {
    let mean = |film: &Film<'_>| {
        let hips = usize::from(carrier(film.judged.skeleton, film.judged.roles));
        film.frames.iter().map(|frame| frame.at[hips].y).sum::<f64>() / film.frames.len() as f64
    };
    let rest = |film: &Film<'_>| {
        let hips = carrier(film.judged.skeleton, film.judged.roles);
        film.judged.reference.position(hips.into()).y
    };
    let right = rest(to) + ratio * (mean(from) - rest(from));
    (right.abs() > 1e-3).then(|| mean(to) / right)
}

/// 99th percentiles over stances of added slide and depth, millimetres: what the ball of the target does beyond what the
/// leg ratio makes of the source's.
pub(super) fn stances(from: &Film<'_>, to: &Film<'_>, clip: &RawClip, ratio: f64) -> Option<[f64; 2]> {
    let contacts = clip.contacts.as_ref()?;
    let (mut slides, mut depths) = (Vec::new(), Vec::new());
    for foot in &contacts.feet {
        let (Some(own), Some(ball)) = (from.ball(foot.side), to.ball(foot.side)) else { continue };
        for interval in &foot.ball {
            let (own, have) = (stance(from, own, *interval), stance(to, ball, *interval));
            let (Some([own_slide, own_low]), Some([slide, low])) = (own, have) else { continue };
            slides.push(1e3 * (slide - ratio * own_slide).max(0.0));
            depths.push(1e3 * (low - ratio * own_low).max(0.0));
        }
    }
    Some([p99(&mut slides)?, p99(&mut depths)?])
}

/// Farthest that a ball is from where it stood first, and deepest below its height in the reference pose, metres. Of a
/// stance over the end of a cycle both parts are looked at, each from where it begins.
fn stance(film: &Film<'_>, ball: Ball, interval: Interval) -> Option<[f64; 2]> {
    let time = |frame: usize| (frame as f64 * film.step) as f32;
    let rest = ball.rest(film.judged).y;
    let (mut slide, mut low) = (0.0f64, 0.0f64);
    let mut first: Option<DVec3> = None;
    let count = film.frames.len();
    let wraps = interval.end < interval.start;
    let rounds: &[bool] = if wraps { &[true, false] } else { &[false] };
    for &late in rounds {
        first = None;
        for frame in 0..count {
            let t = time(frame);
            let inside = match (wraps, late) {
                (false, _) => interval.contains(t),
                (true, true) => t >= interval.start,
                (true, false) => t <= interval.end,
            };
            if inside {
                let at = ball.at(&film.frames[frame]);
                let start = *first.get_or_insert(at);
                slide = slide.max((at.x - start.x).hypot(at.z - start.z));
                low = low.max(rest - at.y);
            }
        }
    }
    (first.is_some() || slide > 0.0).then_some([slide, low])
}
