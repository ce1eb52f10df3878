//! What is added to the legs between two poses, so that feet stand that come down or lift off on the way.
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
//! lines of a slot past its two poses   | head, 32 bytes | D, three rows of four | D | ...
//! head                                 | e of both legs, 2 unused | clip, its time, its way there, the pose's time |
//! ```
//!
//! `D` is in the axes of the newest root, in all palette formats.

use glam::{Affine3A, Mat3A, Quat, Vec3, Vec3A, Vec4, Vec4Swizzles};

use super::detail::inverse_linear;
use super::footfall::{Footfall, Footfalls, Past};
use super::output::{PackedEntry, PaletteFormat, PoseHeader};
use crate::lanes::{Line, prefetch};
use crate::rig::{Leg, MAX_FEET, NO_PARENT, Rig};

/// Share of a leg's length at which it is straight.
const STRAIGHT: f32 = 0.9995;
/// Share of it from which on a foot has been carried off, not put down: roots that a host moves, a step off a ledge.
const CARRIED: f32 = 1.15;
/// Metres below that which an end of a foot may come while it rolls over the other.
const GRAZE: f32 = 5e-4;
/// Values before the matrices.
pub(crate) const HEAD: usize = 8;
/// Where the clip, its time and its way there, and the pose's time are among them.
const PAST: [usize; 4] = [4, 5, 6, 7];

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
    /// And heel and ball.
    ends: [Vec3A; 2],
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
        for ((leg, sole), points) in legs.iter().zip(rig.soles()).zip(&mut found.legs) {
            let ends = [sole.heel, sole.ball].map(Vec3A::from);
            *points = LegPoints::of(leg, ends, entries, carriers, format);
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
        if self.hanging.is_empty() { 0 } else { (4 * HEAD + 48 * self.hanging.len()).div_ceil(64) as u32 }
    }

    /// Where the ball is in the mesh that an entry moves, if it is of a foot.
    pub fn ball(&self, entry: usize) -> Option<Vec3A> {
        let hanging = self.hanging.get(usize::from(*self.of_entry.get(entry)?))?;
        let points = self.legs[usize::from(hanging.leg)].as_ref().filter(|_| hanging.segment == 2)?;
        Some(points.ends[1])
    }

    /// Leg of an entry, and which of the corrections is its.
    pub fn correction(&self, entry: usize) -> Option<(usize, usize)> {
        let at = usize::from(*self.of_entry.get(entry)?);
        Some((usize::from(self.hanging.get(at)?.leg), at))
    }
}

impl LegPoints {
    /// `ends`: from the ankle to heel and ball in the reference pose.
    fn of(
        leg: &Leg,
        ends: [Vec3A; 2],
        entries: &[PackedEntry],
        carriers: &[u16],
        format: PaletteFormat,
    ) -> Option<Self> {
        let mut points = Self { entries: [0; 3], joints: [Vec3A::ZERO; 3], ends, foot_back: Mat3A::IDENTITY };
        for (k, joint) in [leg.thigh, leg.shin, leg.foot].into_iter().enumerate() {
            let entry = *carriers.get(usize::from(joint)).filter(|&&entry| entry != u16::MAX)?;
            let packed = &entries[usize::from(entry)];
            let back = Mat3A::from(inverse_linear(packed, format)?);
            points.entries[k] = entry;
            points.joints[k] = -(back * Vec3A::from(packed.offset));
            points.foot_back = back;
        }
        points.ends = ends.map(|end| points.joints[2] + points.foot_back * end);
        Some(points)
    }
}

/// The poses of a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poses<'a> {
    pub previous: &'a [Line],
    pub next: &'a [Line],
}

/// Asks for what [`write`] reads of a pose.
pub(crate) fn ask_for(legs: &LegEntries, format: PaletteFormat, falls: &Footfalls, pose: &[Line]) {
    pose.first().into_iter().for_each(prefetch);
    let mut asked = usize::MAX;
    for hanging in legs.hanging.iter().filter(|hanging| falls[usize::from(hanging.leg)].is_some()) {
        let first = usize::from(hanging.entry) * format.bytes();
        for line in [first / 64 + 1, (first + format.bytes() - 1) / 64 + 1] {
            if let Some(line) = pose.get(line).filter(|_| line != asked) {
                prefetch(line);
            }
            asked = line;
        }
    }
}

/// Writes what belongs to a pose that was just written; without footfalls, that there are none.
pub(crate) fn write(
    legs: &LegEntries,
    (format, range): (PaletteFormat, f32),
    falls: &Footfalls,
    poses: Poses<'_>,
    out: &mut [Line],
) {
    let out: &mut [f32] = bytemuck::cast_slice_mut(out);
    let Some((head, corrections)) = out.split_at_mut_checked(HEAD) else { return };
    head[..MAX_FEET].fill(0.0);
    if falls.iter().all(Option::is_none) {
        return;
    }
    let way = Way::new(poses, format, range);
    for leg in 0..MAX_FEET {
        let (Some(fall), Some(points)) = (falls[leg], &legs.legs[leg]) else { continue };
        let Some(moves) = way.solve(points, fall) else { continue };
        // Of both poses: what the moved one gives less what the line has.
        let (first, second) = (1.0 - fall.at, fall.at);
        let mut sums = [[Affine3A::ZERO; 2]; 3];
        for (sums, moved) in sums.iter_mut().zip(moves) {
            *sums = if fall.lands {
                [scaled(way.to_next, -first), added(moved, scaled(Affine3A::IDENTITY, -second))]
            } else {
                [added(moved * way.to_next, scaled(way.to_next, -first)), scaled(Affine3A::IDENTITY, -second)]
            };
        }
        let sums = sums.map(|[a, b]| [rows_of(a), rows_of(b)]);
        for (hanging, out) in legs.hanging.iter().zip(corrections.chunks_exact_mut(12)) {
            if usize::from(hanging.leg) == leg {
                let [a, b] = sums[usize::from(hanging.segment)];
                let (p, q) = (way.entry(0, hanging.entry), way.entry(1, hanging.entry));
                for row in 0..3 {
                    let sum = times(a[row], &p) + times(b[row], &q);
                    out[4 * row..4 * row + 4].copy_from_slice(&sum.to_array());
                }
            }
        }
        head[leg] = fall.at;
    }
}

/// Where the clip's clock was at the pose of that time, if the slot knows.
pub(crate) fn past(lines: &[Line], pose: &PoseHeader) -> Option<Past> {
    let head = lines.first()?.0;
    let [clip, time, way, posed] = PAST.map(|at| head[at]);
    let clip = u16::try_from(clip.to_bits().checked_sub(1)?).ok()?;
    (posed == pose.time).then_some(Past { clip, time, way })
}

/// Remembers it with a pose that is written now, or that nothing is known.
pub(crate) fn remember(lines: &mut [Line], past: Option<Past>, posed: f32) {
    let Some(head) = lines.first_mut().map(|line| &mut line.0) else { return };
    let clip = past.map_or(0, |past| u32::from(past.clip) + 1);
    let (time, way) = past.map_or((0.0, f32::NAN), |past| (past.time, past.way));
    let values = [f32::from_bits(clip), time, way, posed];
    PAST.into_iter().zip(values).for_each(|(at, value)| head[at] = value);
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

fn scaled(m: Affine3A, by: f32) -> Affine3A {
    Affine3A { matrix3: m.matrix3 * by, translation: m.translation * by }
}

fn added(a: Affine3A, b: Affine3A) -> Affine3A {
    Affine3A { matrix3: a.matrix3 + b.matrix3, translation: a.translation + b.translation }
}

/// Three rows of four.
type Rows = [Vec4; 3];

fn rows_of(m: Affine3A) -> Rows {
    let (x, y, z, t) = (m.matrix3.x_axis, m.matrix3.y_axis, m.matrix3.z_axis, m.translation);
    [Vec4::new(x.x, y.x, z.x, t.x), Vec4::new(x.y, y.y, z.y, t.y), Vec4::new(x.z, y.z, z.z, t.z)]
}

/// A row of one times another.
#[inline(always)]
fn times(row: Vec4, m: &Rows) -> Vec4 {
    m[0] * row.xxxx() + m[1] * row.yyyy() + m[2] * row.zzzz() + Vec4::new(0.0, 0.0, 0.0, row.w)
}

/// Where a matrix takes a point.
#[inline(always)]
fn place(m: &Rows, p: Vec3A) -> Vec3A {
    let p = Vec4::new(p.x, p.y, p.z, 1.0);
    Vec3A::new(m[0].dot(p), m[1].dot(p), m[2].dot(p))
}

/// From one pose to the next, in the axes of the newest root.
struct Way<'a> {
    poses: [&'a [u8]; 2],
    format: PaletteFormat,
    range: f32,
    /// Takes the first pose to the axes of the second's root.
    to_next: Affine3A,
    up: Vec3A,
}

impl<'a> Way<'a> {
    fn new(poses: Poses<'a>, format: PaletteFormat, range: f32) -> Self {
        let (first, second) = (PoseHeader::read(&poses.previous[0]), PoseHeader::read(&poses.next[0]));
        let (p, q) = (Quat::from_array(first.rotation), Quat::from_array(second.rotation));
        let back = q.conjugate();
        let shift = back * (Vec3::from(first.position) - Vec3::from(second.position));
        Self {
            poses: [bytemuck::cast_slice(&poses.previous[1..]), bytemuck::cast_slice(&poses.next[1..])],
            format,
            range,
            to_next: Affine3A::from_rotation_translation((back * p).normalize(), shift),
            up: back * Vec3A::Y,
        }
    }

    /// An entry in one of the poses, on its own root.
    #[inline(always)]
    fn entry(&self, pose: usize, entry: u16) -> Rows {
        let size = self.format.bytes();
        let at = usize::from(entry) * size;
        let bytes = self.poses[pose].get(at..at + size).unwrap_or_default();
        let m = if self.format == PaletteFormat::Mat3x4 && bytes.len() == 48 {
            bytemuck::pod_read_unaligned(bytes)
        } else {
            self.format.matrix(bytes, self.range)
        };
        [Vec4::from_slice(&m[..4]), Vec4::from_slice(&m[4..8]), Vec4::from_slice(&m[8..])]
    }

    /// What takes thigh, shin and foot of the pose in which the foot stands to where they are at the moment.
    /// None where the leg has no
    /// length, or is carried off.
    fn solve(&self, points: &LegPoints, fall: Footfall) -> Option<[Affine3A; 3]> {
        let (mut places, mut feet) = ([[Vec3A::ZERO; 3]; 2], [Quat::IDENTITY; 2]);
        for pose in 0..2 {
            for k in 0..3 {
                let rows = self.entry(pose, points.entries[k]);
                let at = place(&rows, points.joints[k]);
                places[pose][k] = if pose == 0 { self.to_next.transform_point3a(at) } else { at };
                if k == 2 && fall.over.is_some() {
                    let [x, y, z] = rows.map(Vec3A::from_vec4);
                    let axes = Mat3A::from_cols(x, y, z).transpose() * points.foot_back;
                    let axes = if pose == 0 { self.to_next.matrix3 * axes } else { axes };
                    feet[pose] = Quat::from_mat3a(&axes).normalize();
                }
            }
        }
        let (stands, swings) = if fall.lands { (1, 0) } else { (0, 1) };
        // Of the way from the pose in which it stands to the other.
        let away = if fall.lands { 1.0 - fall.at } else { fall.at };
        let ([hip, knee, ankle], [other_hip, other_knee, other_ankle]) = (places[stands], places[swings]);
        let foot = fall.over.map_or(Affine3A::IDENTITY, |end| {
            let (from, to) = (feet[stands], feet[swings]);
            // By the matrix itself: what was shown between two poses is no rotation.
            let rows = self.entry(stands, points.entries[2]);
            let [pivot, other] = [end as usize, 1 - end as usize].map(|end| {
                let at = place(&rows, points.ends[end]);
                if fall.lands { at } else { self.to_next.transform_point3a(at) }
            });
            let to = if from.dot(to) < 0.0 { -to } else { to };
            let turn = ((from * (1.0 - away) + to * away) * from.conjugate()).normalize();
            let roll = Affine3A { matrix3: Mat3A::from_quat(turn), translation: pivot - turn * pivot };
            // The other end may come down on the way there, but not go under what the foot stands on.
            let least = other.dot(self.up).min(pivot.dot(self.up));
            let under = roll.transform_point3a(other).dot(self.up) < least - GRAZE;
            if under { Affine3A::IDENTITY } else { roll }
        });
        let (hip_then, target) = (hip.lerp(other_hip, away), foot.transform_point3a(ankle));
        let (thigh, shin) = (knee.distance(hip), ankle.distance(knee));
        let (line, line_then) = (ankle - hip, target - hip_then);
        let (reach, far) = (thigh + shin, line_then.length());
        let sound = thigh > 1e-4 && shin > 1e-4 && far > 1e-4 && line.length_squared() > 1e-8;
        if !sound || far > CARRIED * reach {
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
        let moves = [thigh, shin, foot];
        moves.iter().all(|m| m.is_finite()).then_some(moves)
    }
}

/// The shortest turn from one direction to another; products, sums and a root.
fn arc(from: Vec3A, to: Vec3A) -> Quat {
    let w = 1.0 + from.dot(to);
    if w > 1e-6 {
        let v = from.cross(to);
        return Quat::from_xyzw(v.x, v.y, v.z, w).normalize();
    }
    let v = from.any_orthonormal_vector();
    Quat::from_xyzw(v.x, v.y, v.z, 0.0)
}
