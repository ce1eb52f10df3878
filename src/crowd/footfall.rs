//! Feet that come down or lift off between two poses.
//!
//! Between two poses everything moves along lines, so a foot that is in the air in one of them and stands in the other
//! would be dragged to its place while its clip has it down already. The clip's contacts tell the moment, and there the
//! leg is solved once more: hip where the line has it, foot where it stands. What is written is the difference from the
//! line, which comes and goes with a tent over that moment:
//!
//! ```text
//!            air . . . .                 W(f) = (1 - f) W0 + f W1 + w(f) D
//! W0 .                   . stands . W1   w(f) = f / e up to e, (1 - f) / (1 - e) from there on
//!     0                  e         1     D = W(e) of the solved leg - the line's
//! ```
//!
//! From `e` on a landing foot is between two equal places, as one that lifts is up to `e`. What is wrong about a moment or
//! a place can only be a detour: at both poses it is gone.
//!
//! ```text
//! lines of a slot past its two poses   | e of both legs, 2 unused | D, three rows of four | D | ...
//! ```
//!
//! `D` is in the axes of the newest root, in all palette formats.

use glam::{Affine3A, Mat3A, Quat, Vec3, Vec3A};

use super::block::Block;
use super::detail::inverse_linear;
use super::library::Library;
use super::output::{PackedEntry, PaletteFormat, PoseHeader};
use super::stages::advance::SlotClock;
use crate::clip::{FootContacts, Interval};
use crate::lanes::Line;
use crate::rig::{Leg, MAX_FEET, NO_PARENT, Rig};

/// Least weight of the clip whose contacts are asked.
const DOMINANT: f32 = 0.5;
/// Nearest to a pose that a moment is told apart from it.
const LEAST: f32 = 1e-4;
/// Clip seconds that two contacts may be apart and count as one.
const SEAM: f32 = 1e-3;
/// Share of a leg's length at which it is straight.
const STRAIGHT: f32 = 0.9995;

/// What a foot does between two poses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Footfall {
    /// When: 0 at the first, 1 at the second.
    at: f32,
    /// It stands in the second pose, or in the first.
    lands: bool,
    /// What it rolls over until then; none if it lies as in the pose in which it stands.
    over: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Heel,
    Ball,
}

/// Of both feet.
pub(crate) type Footfalls = [Option<Footfall>; MAX_FEET];

/// Entries of a skin that hang on legs.
#[derive(Clone, Debug, Default)]
pub(crate) struct LegEntries {
    legs: [Option<LegPoints>; MAX_FEET],
    hanging: Vec<Hanging>,
    /// Per entry: which of `hanging` it is.
    of_entry: Vec<u16>,
}

/// Thigh, shin and foot.
#[derive(Clone, Copy, Debug)]
struct LegPoints {
    entries: [u16; 3],
    /// Where the joints are in the mesh.
    joints: [Vec3A; 3],
    /// Takes the foot's axes in the palette to its turn since the reference pose.
    foot_back: Mat3A,
}

#[derive(Clone, Copy, Debug)]
struct Hanging {
    entry: u16,
    leg: u8,
    /// 0 thigh, 1 shin, 2 foot.
    segment: u8,
}

impl LegEntries {
    /// `own`: joints of the entries; `carriers`: entries of the joints.
    pub fn of(
        rig: &Rig,
        entries: &[PackedEntry],
        own: &[u16],
        carriers: &[u16],
        format: PaletteFormat,
    ) -> Self {
        let topology = rig.topology();
        let legs = topology.legs();
        let mut found = Self { of_entry: vec![u16::MAX; entries.len()], ..Self::default() };
        for (leg, points) in legs.iter().zip(&mut found.legs) {
            *points = LegPoints::of(leg, entries, carriers, format);
        }
        for (entry, &joint) in own.iter().enumerate().take(usize::from(u16::MAX)) {
            let mut at = joint;
            let place = loop {
                let place = legs.iter().take(MAX_FEET).enumerate().find_map(|(leg, joints)| {
                    let segment =
                        [joints.thigh, joints.shin, joints.foot].iter().position(|&own| own == at)?;
                    Some((leg, segment))
                });
                if place.is_some() || topology.parents()[usize::from(at)] == NO_PARENT {
                    break place;
                }
                at = topology.parents()[usize::from(at)];
            };
            if let Some((leg, segment)) = place.filter(|(leg, _)| found.legs[*leg].is_some()) {
                found.of_entry[entry] = found.hanging.len() as u16;
                found.hanging.push(Hanging { entry: entry as u16, leg: leg as u8, segment: segment as u8 });
            }
        }
        found
    }

    /// Lines that the corrections of these entries take.
    pub fn lines(&self) -> u32 {
        if self.hanging.is_empty() { 0 } else { (16 + 48 * self.hanging.len()).div_ceil(64) as u32 }
    }

    /// Leg of an entry, and which of the corrections is its.
    pub fn correction(&self, entry: usize) -> Option<(usize, usize)> {
        let at = usize::from(*self.of_entry.get(entry)?);
        Some((usize::from(self.hanging.get(at)?.leg), at))
    }
}

impl LegPoints {
    fn of(leg: &Leg, entries: &[PackedEntry], carriers: &[u16], format: PaletteFormat) -> Option<Self> {
        let mut points = Self { entries: [0; 3], joints: [Vec3A::ZERO; 3], foot_back: Mat3A::IDENTITY };
        for (k, joint) in [leg.thigh, leg.shin, leg.foot].into_iter().enumerate() {
            let entry = *carriers.get(usize::from(joint)).filter(|&&entry| entry != u16::MAX)?;
            let packed = &entries[usize::from(entry)];
            let back = Mat3A::from(inverse_linear(packed, format)?);
            points.entries[k] = entry;
            points.joints[k] = -(back * Vec3A::from(packed.offset));
            points.foot_back = back;
        }
        Some(points)
    }
}

/// What the feet of a lane have done since its last pose, by the contacts of its heaviest clip. `since`: seconds since
/// then; `dt`: of the frame.
pub(crate) fn of_lane(
    block: &Block,
    lane: usize,
    clocks: &[SlotClock],
    library: &Library,
    legs: &[Leg],
    (since, dt): (f32, f32),
) -> Footfalls {
    let bit = 1u16 << lane;
    let mut falls = [None; MAX_FEET];
    if (block.fading | block.transitions) & bit != 0 || dt <= 0.0 {
        return falls;
    }
    let slot = (0..usize::from(block.clip_slots))
        .find(|&slot| block.plays(slot, lane) && block.clips[slot].weight.0[lane] >= DOMINANT);
    let Some((rows, clock)) = slot.map(|slot| (&block.clips[slot], &clocks[slot])) else { return falls };
    let Some(clip) = library.clip(rows.clip[lane].into()) else { return falls };
    let Some(contacts) = clip.contacts().filter(|_| rows.ping_pong & bit == 0) else { return falls };
    // What the clock did in this frame, it has done since the last pose.
    let way = clock.moved.0[lane] * (since / dt);
    let playing =
        Playing { now: rows.time.0[lane], way, duration: clip.duration(), loops: rows.loops & bit != 0 };
    for (leg, fall) in legs.iter().zip(&mut falls) {
        for foot in contacts.feet.iter().filter(|foot| foot.side == leg.side) {
            *fall = fall.or_else(|| playing.footfall(foot));
        }
    }
    falls
}

/// A clip's clock between two poses.
#[derive(Clone, Copy, Debug)]
struct Playing {
    now: f32,
    /// Clip seconds from the first pose to now; negative backwards.
    way: f32,
    duration: f32,
    loops: bool,
}

impl Playing {
    /// One moment a foot: that of the ball, which is what may not slide, and with it the heel's where both come down.
    fn footfall(self, foot: &FootContacts) -> Option<Footfall> {
        let (heel, ball) = (self.edge(&foot.heel), self.edge(&foot.ball));
        match (heel, ball) {
            (Some((true, heel)), Some((true, ball))) => {
                Some(Footfall { at: heel.min(ball), lands: true, over: None })
            }
            (_, Some((true, at))) => Some(Footfall { at, lands: true, over: None }),
            (_, Some((false, at))) => Some(Footfall { at, lands: false, over: Some(End::Ball) }),
            (Some((true, at)), None) => Some(Footfall { at, lands: true, over: Some(End::Heel) }),
            (Some((false, at)), None) => Some(Footfall { at, lands: false, over: None }),
            (None, None) => None,
        }
    }

    /// Comes down (or else up), and when.
    fn edge(self, intervals: &[Interval]) -> Option<(bool, f32)> {
        let span = self.way.abs();
        if !(span > 0.0 && span < self.duration) {
            return None;
        }
        for interval in intervals {
            // Backwards, a foot comes down where it lifts off.
            let (start, end) =
                if self.way > 0.0 { (interval.start, interval.end) } else { (interval.end, interval.start) };
            let (began, ended) = (self.ago(start), self.ago(end));
            let other =
                |time: f32| intervals.iter().any(|other| other != interval && self.holds(other, time));
            let ahead = SEAM.copysign(self.way);
            if began < ended && began < span && !other(start - ahead) {
                let at = 1.0 - began / span;
                return (at <= 1.0 - LEAST).then_some((true, at.max(LEAST)));
            }
            if ended < began && ended < span && began >= span && !other(end + ahead) {
                let at = 1.0 - ended / span;
                return (at >= LEAST).then_some((false, at.min(1.0 - LEAST)));
            }
        }
        None
    }

    /// Clip seconds since the clock was there, in the direction in which it runs; infinite where it was not.
    fn ago(self, time: f32) -> f32 {
        let ago = if self.way > 0.0 { self.now - time } else { time - self.now };
        match (self.loops, ago >= 0.0) {
            (true, _) => ago.rem_euclid(self.duration),
            (false, true) => ago,
            (false, false) => f32::INFINITY,
        }
    }

    fn holds(self, interval: &Interval, time: f32) -> bool {
        interval.contains(if self.loops { time.rem_euclid(self.duration) } else { time })
    }
}

/// The three parts of a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poses<'a> {
    pub previous: &'a [Line],
    pub next: &'a [Line],
}

/// Writes what belongs to a pose that was just written; without footfalls, that there are none.
pub(crate) fn write(
    legs: &LegEntries,
    (format, range): (PaletteFormat, f32),
    soles: &[[[f32; 3]; 2]; MAX_FEET],
    falls: &Footfalls,
    poses: Poses<'_>,
    out: &mut [Line],
) {
    let out: &mut [f32] = bytemuck::cast_slice_mut(out);
    let Some((head, corrections)) = out.split_at_mut_checked(4) else { return };
    head.fill(0.0);
    if falls.iter().all(Option::is_none) {
        return;
    }
    let way = Way::new(poses, format, range);
    for (leg, fall) in falls.iter().enumerate() {
        let (Some(fall), Some(points)) = (fall, &legs.legs[leg]) else { continue };
        let Some(solved) = way.solve(points, *fall, soles[leg]) else { continue };
        for (hanging, out) in legs.hanging.iter().zip(corrections.chunks_exact_mut(12)) {
            if usize::from(hanging.leg) != leg {
                continue;
            }
            let [first, second] = way.both(hanging.entry);
            let stands = if fall.lands { second } else { first };
            let corrected = solved.moves[usize::from(hanging.segment)] * stands;
            let line = between(first, second, fall.at);
            out.copy_from_slice(&rows(
                corrected.matrix3 - line.matrix3,
                corrected.translation - line.translation,
            ));
        }
        head[leg] = fall.at;
    }
}

/// Weight of the correction of a leg: the tent over its moment.
pub(crate) fn tent(factor: f32, at: f32) -> f32 {
    if !(at > 0.0 && at < 1.0) {
        0.0
    } else if factor < at {
        factor / at
    } else {
        (1.0 - factor) / (1.0 - at)
    }
}

fn between(a: Affine3A, b: Affine3A, share: f32) -> Affine3A {
    let matrix3 = a.matrix3 * (1.0 - share) + b.matrix3 * share;
    Affine3A { matrix3, translation: a.translation.lerp(b.translation, share) }
}

fn rows(axes: Mat3A, at: Vec3A) -> [f32; 12] {
    let (x, y, z) = (axes.x_axis, axes.y_axis, axes.z_axis);
    [x.x, y.x, z.x, at.x, x.y, y.y, z.y, at.y, x.z, y.z, z.z, at.z]
}

/// From one pose to the next, in the axes of the newest root.
struct Way<'a> {
    poses: [&'a [u8]; 2],
    format: PaletteFormat,
    range: f32,
    /// Takes the first pose to the axes of the second's root.
    to_next: Affine3A,
}

/// A leg at its moment.
struct Solved {
    /// Take thigh, shin and foot of the pose in which the foot stands to where they are at the moment.
    moves: [Affine3A; 3],
}

impl<'a> Way<'a> {
    fn new(poses: Poses<'a>, format: PaletteFormat, range: f32) -> Self {
        let [first, second] = [poses.previous, poses.next].map(|lines| PoseHeader::read(&lines[0]));
        let [p, q] = [first.rotation, second.rotation].map(Quat::from_array);
        let back = q.conjugate();
        let shift = back * (Vec3::from(first.position) - Vec3::from(second.position));
        Self {
            poses: [poses.previous, poses.next].map(|lines| bytemuck::cast_slice(&lines[1..])),
            format,
            range,
            to_next: Affine3A::from_rotation_translation((back * p).normalize(), shift),
        }
    }

    /// An entry in both poses.
    fn both(&self, entry: u16) -> [Affine3A; 2] {
        let size = self.format.bytes();
        let [a, b] = self.poses.map(|bytes| {
            let at = usize::from(entry) * size;
            let m = self.format.matrix(bytes.get(at..at + size).unwrap_or_default(), self.range);
            Affine3A::from_cols_array_2d(&[
                [m[0], m[4], m[8]],
                [m[1], m[5], m[9]],
                [m[2], m[6], m[10]],
                [m[3], m[7], m[11]],
            ])
        });
        [self.to_next * a, b]
    }

    /// `soles`: from the ankle to heel and ball in the reference pose. None where the leg has no length.
    fn solve(&self, points: &LegPoints, fall: Footfall, soles: [[f32; 3]; 2]) -> Option<Solved> {
        let segments = points.entries.map(|entry| self.both(entry));
        let places = |pose: usize| -> [Vec3A; 3] {
            core::array::from_fn(|k| segments[k][pose].transform_point3a(points.joints[k]))
        };
        let (stands, swings) = if fall.lands { (1, 0) } else { (0, 1) };
        // Of the way from the pose in which it stands to the other.
        let away = if fall.lands { 1.0 - fall.at } else { fall.at };
        let ([hip, knee, ankle], [other_hip, other_knee, other_ankle]) = (places(stands), places(swings));
        let foot = fall.over.map_or(Affine3A::IDENTITY, |end| {
            let [from, to] = [stands, swings].map(|pose| {
                let axes = segments[2][pose].matrix3 * points.foot_back;
                Quat::from_mat3a(&axes).normalize()
            });
            let pivot = ankle + from * Vec3A::from(soles[end as usize]);
            let to = if from.dot(to) < 0.0 { -to } else { to };
            let turn = (from.lerp(to, away) * from.conjugate()).normalize();
            Affine3A { matrix3: Mat3A::from_quat(turn), translation: pivot - turn * pivot }
        });
        let (hip_then, target) = (hip.lerp(other_hip, away), foot.transform_point3a(ankle));
        let (thigh, shin) = (knee.distance(hip), ankle.distance(knee));
        let (line, line_then) = (ankle - hip, target - hip_then);
        let (reach, far) = (thigh + shin, line_then.length());
        if !(thigh > 1e-4 && shin > 1e-4 && far > 1e-4 && line.length_squared() > 1e-8) {
            return None;
        }
        // A leg that cannot reach is stretched for the moment: the foot stands.
        let length = far.clamp((thigh - shin).abs() + 1e-4, STRAIGHT * reach);
        let stretch = far / length;
        let ahead = line_then / far;
        let swing = arc(line.normalize(), ahead);
        // The knee stays on its side; where the leg stands straight, on the side of the other pose.
        let bend = |knee: Vec3A, hip: Vec3A, turn: Quat| (turn * (knee - hip)).reject_from_normalized(ahead);
        let other = arc((other_ankle - other_hip).normalize_or(ahead), ahead);
        let pole = bend(knee, hip, swing) + 0.05 * bend(other_knee, other_hip, other);
        let along = (thigh * thigh - shin * shin + length * length) / (2.0 * length);
        let high = (thigh * thigh - along * along).max(0.0).sqrt();
        let knee_then = hip_then + stretch * (along * ahead + high * pole.normalize_or_zero());
        let moves = [(hip, knee, hip_then, knee_then), (knee, ankle, knee_then, target)].map(
            |(from, to, from_then, to_then)| {
                let turned = (swing * (to - from)).normalize_or(ahead);
                let turn = arc(turned, (to_then - from_then).normalize_or(ahead)) * swing;
                let matrix3 = Mat3A::from_quat(turn.normalize()) * stretch;
                Affine3A { matrix3, translation: from_then - matrix3 * from }
            },
        );
        let [thigh, shin] = moves;
        let solved = Solved { moves: [thigh, shin, foot] };
        solved.moves.iter().all(|m| m.is_finite()).then_some(solved)
    }
}

/// The shortest turn from one direction to another.
fn arc(from: Vec3A, to: Vec3A) -> Quat {
    Quat::from_rotation_arc(from.into(), to.into())
}
