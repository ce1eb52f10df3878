//! Contacts that a clip does not bear out: what counts as down is in the air, or moves.

use glam::{DVec3, Vec3};

use super::{Imported, Warning};
use crate::clip::{FREE_HEIGHT, FREE_SPEED, FootContacts, Interval, LOCK_HEIGHT, RootSource};
use crate::rig::{ReferencePose, Role, Side, estimate_sole, leg_length};

/// Samples per second.
const RATE: f32 = 60.0;
/// Most samples of one clip.
const MOST: usize = 20_000;
/// Most joints and tracks that are sampled for one clip.
const WORK: usize = 20_000_000;
/// Ends of a sole.
const PARTS: [&str; 2] = ["heel", "ball"];

/// A foot over the samples of a clip.
struct Foot {
    side: Side,
    joint: usize,
    /// Heel and ball, in the joint's own axes.
    sole: [Vec3; 2],
    /// Heel and ball, by sample.
    down: [Vec<bool>; 2],
    /// Where they are over the ground, by sample in which one of them is down.
    seen: Vec<Option<[Vec3; 2]>>,
}

/// What is doubtful about the contacts of the clip at that place. Soles are those that a rig of the file gets.
pub(super) fn doubts(imported: &Imported, clip: usize) -> Vec<Warning> {
    let Some(clip) = imported.clips.get(clip) else { return Vec::new() };
    let Some(contacts) = &clip.contacts else { return Vec::new() };
    let skeleton = &imported.character.skeleton;
    let reference = imported.reference_pose();
    let leg = leg_length(skeleton, &imported.roles, &reference);
    let most = (WORK / (skeleton.joints.len() + clip.tracks.len()).max(1)).min(MOST);
    let count = ((clip.duration * RATE).ceil() as usize + 1).clamp(2, most.max(2));
    let step = clip.duration / (count - 1) as f32;
    if !(step > 0.0 && step.is_finite()) {
        return Vec::new();
    }
    let mut feet: Vec<Foot> = contacts
        .feet
        .iter()
        .filter_map(|contacts| Foot::new(imported, &reference, leg, contacts, (count, step)))
        .collect();
    let speed = if let RootSource::InPlace { speed } = clip.root { speed } else { 0.0 };
    for at in 0..count {
        if feet.iter().any(|foot| foot.is_down(at)) {
            let time = step * at as f32;
            let models = skeleton.model_matrices(&clip.sample(skeleton, time));
            for foot in feet.iter_mut().filter(|foot| foot.is_down(at)) {
                let Some(model) = models.get(foot.joint) else { continue };
                let place = |point: Vec3| model.transform_point3(point) + Vec3::Z * (speed * time);
                foot.seen[at] = Some(foot.sole.map(place));
            }
        }
    }
    let leg = leg as f32;
    let floor = floor(&feet);
    feet.iter()
        .flat_map(|foot| {
            let parts = [0, 1].map(|part| foot.in_air(part, floor, leg * FREE_HEIGHT));
            let held = parts.into_iter().zip(PARTS).filter_map(|(worst, part)| {
                let (height, at) = worst.filter(|&(height, _)| height > leg * LOCK_HEIGHT)?;
                let time = step * at as f32;
                Some(Warning::ContactInAir { clip: clip.name.clone(), side: foot.side, part, height, time })
            });
            let moves = foot.moves().map(|(way, at)| (way / step, step * at as f32));
            let moves = moves.filter(|&(speed, _)| speed > leg * FREE_SPEED).map(|(speed, time)| {
                Warning::ContactMoves { clip: clip.name.clone(), side: foot.side, speed, time }
            });
            held.chain(moves).collect::<Vec<_>>()
        })
        .collect()
}

impl Foot {
    fn new(
        imported: &Imported,
        reference: &ReferencePose,
        leg: f64,
        contacts: &FootContacts,
        (count, step): (usize, f32),
    ) -> Option<Self> {
        let side = contacts.side;
        let joint = |role| imported.roles.joint(role).map(usize::from);
        let foot = joint(Role::Foot(side))?;
        let toe = joint(Role::Toe(side)).map(|toe| reference.position(toe));
        let sole = estimate_sole(reference.position(foot), toe, leg);
        let own = reference.rotation(foot).inverse();
        let local = |point: [f32; 3]| (own * DVec3::from_array(point.map(f64::from))).as_vec3();
        Some(Self {
            side,
            joint: foot,
            sole: [local(sole.heel), local(sole.ball)],
            down: [&contacts.heel, &contacts.ball].map(|intervals| down(intervals, count, step)),
            seen: vec![None; count],
        })
    }

    fn is_down(&self, at: usize) -> bool {
        self.down.iter().any(|down| down[at])
    }

    /// Height of the lower end of the sole, by sample in which one is down.
    fn lowest(&self) -> impl Iterator<Item = f32> {
        self.seen.iter().flatten().map(|[heel, ball]| heel.y.min(ball.y))
    }

    /// How high an end that counts as down is at most, and the sample. A planted foot is put onto the ground by its
    /// lower end, from as far as `reach` above.
    fn in_air(&self, part: usize, floor: f32, reach: f32) -> Option<(f32, usize)> {
        let height = |(at, seen): (usize, &Option<[Vec3; 2]>)| {
            let points = seen.filter(|_| self.down[part][at])?;
            let low = points[0].y.min(points[1].y);
            Some((points[part].y - low + (low - floor - reach).max(0.0), at))
        };
        self.seen.iter().enumerate().filter_map(height).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The farthest that a ball that counts as down gets from one sample to the next, and the first of the two.
    fn moves(&self) -> Option<(f32, usize)> {
        let way = |(at, pair): (usize, &[Option<[Vec3; 2]>])| {
            let [Some([_, from]), Some([_, to])] = *pair else { return None };
            let down = self.down[1][at] && self.down[1][at + 1];
            down.then(|| ((to.x - from.x).hypot(to.z - from.z), at))
        };
        self.seen.windows(2).enumerate().filter_map(way).max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// The ground that the clip was made on: feet that are down stand on it mostly.
fn floor(feet: &[Foot]) -> f32 {
    let mut heights: Vec<f32> = feet.iter().flat_map(Foot::lowest).collect();
    heights.sort_by(f32::total_cmp);
    heights.get(heights.len() / 2).copied().unwrap_or(0.0)
}

/// The samples within any of the intervals.
fn down(intervals: &[Interval], count: usize, step: f32) -> Vec<bool> {
    // Edges only, and summed once: a damaged file may have any number of intervals.
    let mut edges = vec![0i64; count + 1];
    let mut mark = |from: usize, to: usize| {
        let end = to.saturating_add(1).min(count);
        if from < end {
            edges[from] += 1;
            edges[end] -= 1;
        }
    };
    for interval in intervals {
        let (from, to) = ((interval.start / step).ceil() as usize, (interval.end / step).floor() as usize);
        if interval.start <= interval.end {
            mark(from, to);
        } else {
            mark(from, count);
            mark(0, to);
        }
    }
    let mut open = 0;
    let sum = |edge: &i64| {
        open += edge;
        open > 0
    };
    edges.iter().take(count).map(sum).collect()
}
