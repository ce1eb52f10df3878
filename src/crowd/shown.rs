//! What is shown of a character between its last two poses.
//!
//! A point of the body is shown between the two places that the poses have it at *in the world*, so that what stands
//! still in both stands still in between, however the root turns meanwhile. With the root between the two,
//! `x = x0 + f (x1 - x0)`, `R` between `R0` and `R1`, this is
//!
//! ```text
//! R S p + x = (1 - f) (R0 S0 p + x0) + f (R1 S1 p + x1)
//! S         = (1 - f) (R^-1 R0) S0 + f (R^-1 R1) S1
//! ```
//!
//! The origin has gone: no precision is lost far from it. Where the root does not turn, `S` is between `S0` and `S1`
//! entry by entry. Entries of a leg whose foot comes down or lifts off between the two have `w(f) (R^-1 R1) D` added: see
//! [`corrections`](super::corrections).

use glam::{Mat3, Quat};

use super::corrections::{HEAD, LegEntries, Poses, tent};
use super::output::{PackedSkin, PaletteFormat, PoseHeader};
use super::store::WorldTransform;
use crate::lanes::Line;
use crate::rig::MAX_FEET;

/// Where the two poses are that a character is shown between, as lines of [`Crowd::output`](super::Crowd::output), and
/// how far it is from one to the other. Plain bytes: what a renderer uploads per character and frame.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PosePair {
    /// Header of the pose before; that of the newest where there is no other, or it counts for nothing.
    pub previous: u32,
    /// Header of the newest pose.
    pub next: u32,
    /// Share of the newest pose, 0 to 1.
    pub factor: f32,
    /// First line of the corrections of the legs ([`Crowd::corrected_entries`](super::Crowd::corrected_entries)): eight
    /// numbers, of which the first two are the moments of left and right leg, then matrices of three rows of four. Not to be
    /// read, like `previous`, where `factor` is 1. `u32::MAX` where there are none: of skins without legs, and in crowds with one pose a slot.
    pub corrections: u32,
}

impl PosePair {
    /// Of nobody.
    pub const NONE: Self = Self { previous: u32::MAX, next: u32::MAX, factor: 1.0, corrections: u32::MAX };
}

/// A pose as it is shown: [`Crowd::shown_pose`](super::Crowd::shown_pose).
#[derive(Clone, Copy, Debug)]
pub struct ShownPose<'a> {
    next: &'a [u8],
    header: PoseHeader,
    times: [f32; 2],
    /// Of the pose before, if it counts.
    previous: Option<(&'a [u8], Mix<'a>)>,
    format: PaletteFormat,
    range: f32,
}

/// What a slot of two poses holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    pub poses: Poses<'a>,
    pub corrections: &'a [Line],
}

/// How two matrices become one.
#[derive(Clone, Copy, Debug)]
struct Mix<'a> {
    factor: f32,
    /// From the roots of both to the root between; `None` where the root does not turn.
    turns: Option<[Quat; 2]>,
    /// Weights of the corrections of the legs, and those.
    weights: [f32; MAX_FEET],
    corrections: &'a [f32],
    legs: &'a LegEntries,
}

impl<'a> ShownPose<'a> {
    /// From the lines of both.
    pub(crate) fn new(slot: Slot<'a>, factor: f32, format: PaletteFormat, skin: &'a PackedSkin) -> Self {
        let Slot { poses: Poses { previous, next }, corrections } = slot;
        let range = skin.range;
        let newest = PoseHeader::read(&next[0]);
        let bytes = |lines: &'a [Line]| bytemuck::cast_slice(&lines[1..]);
        let times = [newest.time; 2];
        let mut shown = Self { next: bytes(next), header: newest, times, previous: None, format, range };
        if factor < 1.0 {
            let before = PoseHeader::read(&previous[0]);
            shown.times[0] = before.time;
            let between = |a: f32, b: f32| a + (b - a) * factor;
            shown.header.position = core::array::from_fn(|k| between(before.position[k], newest.position[k]));
            shown.header.time = between(before.time, newest.time);
            let mut turns = None;
            if before.rotation != newest.rotation {
                let [a, b] = [before.rotation, newest.rotation].map(Quat::from_array);
                let root = nlerp(a, b, factor);
                shown.header.rotation = root.to_array();
                let back = root.conjugate();
                turns = Some([back * a, back * b]);
            }
            let corrections: &[f32] = bytemuck::cast_slice(corrections);
            let (moments, corrections) = corrections.split_at_checked(HEAD).unwrap_or_default();
            let weight = |leg: usize| moments.get(leg).map_or(0.0, |&at| tent(factor, at));
            let weights = core::array::from_fn(weight);
            let mix = Mix { factor, turns, weights, corrections, legs: &skin.legs };
            shown.previous = Some((bytes(previous), mix));
        }
        shown
    }

    /// The render root. Its time is that of the crowd's clock that the pose belongs to: the time of the last frame minus
    /// what it is shown late. Probes are those of the newest pose.
    #[must_use]
    pub fn header(&self) -> PoseHeader {
        self.header
    }

    /// The render root as a transform.
    #[must_use]
    pub fn root(&self) -> WorldTransform {
        WorldTransform { position: self.header.position, rotation: self.header.rotation }
    }

    /// Times of the two poses, seconds of the crowd's clock; the same one where only the newest counts.
    #[must_use]
    pub fn times(&self) -> [f32; 2] {
        self.times
    }

    /// Entries of the palette, its padding among them.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.next.len() / self.format.bytes()
    }

    /// A skinning matrix relative to the render root, three rows of four; `None` past the end.
    #[must_use]
    pub fn matrix(&self, entry: usize) -> Option<[f32; 12]> {
        let size = self.format.bytes();
        let at = |bytes: &[u8]| -> Option<[f32; 12]> {
            Some(self.format.matrix(bytes.get(entry * size..(entry + 1) * size)?, self.range))
        };
        let next = at(self.next)?;
        let Some((previous, mix)) = self.previous else { return Some(next) };
        Some(mix.matrix(&at(previous)?, &next, entry))
    }
}

impl Mix<'_> {
    fn matrix(&self, a: &[f32; 12], b: &[f32; 12], entry: usize) -> [f32; 12] {
        let (a, b) = match self.turns {
            None => (*a, *b),
            Some([p, q]) => (turned(p, a), turned(q, b)),
        };
        let mut sum = core::array::from_fn(|k| a[k] + (b[k] - a[k]) * self.factor);
        if let Some((weight, correction)) = self.correction(entry) {
            let correction = self.turns.map_or(correction, |[_, q]| turned(q, &correction));
            (0..12).for_each(|k| sum[k] += weight * correction[k]);
        }
        sum
    }

    /// Of an entry that has one.
    fn correction(&self, entry: usize) -> Option<(f32, [f32; 12])> {
        let (leg, at) = self.legs.correction(entry)?;
        let weight = self.weights.get(leg).copied().filter(|&weight| weight > 0.0)?;
        let correction = self.corrections.get(12 * at..12 * at + 12)?;
        Some((weight, correction.try_into().ok()?))
    }
}

fn turned(turn: Quat, m: &[f32; 12]) -> [f32; 12] {
    let axes = Mat3::from_quat(turn).transpose().to_cols_array_2d();
    core::array::from_fn(|k| {
        let ([x, y, z], column) = (axes[k / 4], k % 4);
        x * m[column] + y * m[4 + column] + z * m[8 + column]
    })
}

/// The shorter way.
pub(crate) fn nlerp(a: Quat, b: Quat, factor: f32) -> Quat {
    let b = if a.dot(b) < 0.0 { -b } else { b };
    let sum = a * (1.0 - factor) + b * factor;
    if sum.length_squared() > 1e-12 { sum.normalize() } else { a }
}

/// Makes the previous of two poses what is shown between them. Where the format has no place for a matrix, rotations
/// take the shorter way, normalised, and joints keep their place.
pub(crate) fn settle_between(
    previous: &mut [Line],
    (next, corrections): (&[Line], &[Line]),
    factor: f32,
    format: PaletteFormat,
    skin: &PackedSkin,
) {
    let (header, mix, rows) = {
        let slot = Slot { poses: Poses { previous, next }, corrections };
        let shown = ShownPose::new(slot, factor, format, skin);
        let Some((_, Mix { factor, turns, weights, .. })) = shown.previous else { return };
        let corrections: &[f32] = bytemuck::cast_slice(corrections);
        let corrections = corrections.get(HEAD..).unwrap_or_default();
        let mix = Mix { factor, turns, weights, corrections, legs: &skin.legs };
        (shown.header, mix, shown.entries())
    };
    previous[0] = bytemuck::cast(header);
    let size = format.bytes();
    let next: &[u8] = bytemuck::cast_slice(&next[1..]);
    let previous: &mut [u8] = bytemuck::cast_slice_mut(&mut previous[1..]);
    let last = skin.entries.len().saturating_sub(1);
    for entry in 0..rows {
        let bytes = &mut previous[entry * size..(entry + 1) * size];
        let newer = &next[entry * size..(entry + 1) * size];
        match format {
            PaletteFormat::Mat3x4 | PaletteFormat::Mat4 => {
                let m = mix.matrix(&format.matrix(bytes, 0.0), &format.matrix(newer, 0.0), entry);
                put_matrix(format, &m, bytes);
            }
            PaletteFormat::QuatTranslation | PaletteFormat::Snorm16 => {
                let constant = &skin.entries[entry.min(last)];
                let arm =
                    Quat::from_array(constant.rotation).conjugate() * glam::Vec3::from_array(constant.offset);
                let of = |bytes: &[u8], turn: usize| {
                    let (q, t, scale) = rigid(format, bytes, skin.range);
                    let turn = mix.turns.map_or(Quat::IDENTITY, |turns| turns[turn]);
                    (turn * q, turn * (t - q * arm), scale)
                };
                let ((p, x, scale), (q, y, _)) = (of(bytes, 0), of(newer, 1));
                let m = || {
                    let old = format.matrix(bytes, skin.range);
                    mix.matrix(&old, &format.matrix(newer, skin.range), entry)
                };
                let (turn, at) = if let Some(ball) = skin.legs.ball(entry) {
                    // A foot keeps the place of its ball, and its turn if it has one of its own.
                    let m = m();
                    let turn = if mix.correction(entry).is_some() {
                        rotation_of(axes_of(&m))
                    } else {
                        nlerp(p, q, mix.factor)
                    };
                    let ball = glam::Vec3::from(ball);
                    (turn, place_of(&m, ball) - turn * (ball * scale))
                } else if mix.correction(entry).is_some() {
                    let m = m();
                    let turn = rotation_of(axes_of(&m));
                    (turn, glam::Vec3::new(m[3], m[7], m[11]) - axes_of(&m) * arm / scale + turn * arm)
                } else {
                    let turn = nlerp(p, q, mix.factor);
                    (turn, x + (y - x) * mix.factor + turn * arm)
                };
                put_rigid(format, turn, at, scale, skin.range, bytes);
            }
        }
    }
}

fn axes_of(m: &[f32; 12]) -> Mat3 {
    Mat3::from_cols_array(&[m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]])
}

fn place_of(m: &[f32; 12], p: glam::Vec3) -> glam::Vec3 {
    axes_of(m) * p + glam::Vec3::new(m[3], m[7], m[11])
}

/// Of axes that are nearly those of one.
fn rotation_of(axes: Mat3) -> Quat {
    let x = axes.x_axis.normalize_or(glam::Vec3::X);
    let y = axes.y_axis.reject_from_normalized(x).normalize_or(x.any_orthonormal_vector());
    Quat::from_mat3(&Mat3::from_cols(x, y, x.cross(y))).normalize()
}

pub(crate) fn put_matrix(format: PaletteFormat, m: &[f32; 12], bytes: &mut [u8]) {
    if format == PaletteFormat::Mat3x4 {
        bytes.copy_from_slice(bytemuck::bytes_of(m));
    } else {
        let f =
            [m[0], m[4], m[8], 0.0, m[1], m[5], m[9], 0.0, m[2], m[6], m[10], 0.0, m[3], m[7], m[11], 1.0f32];
        bytes.copy_from_slice(bytemuck::bytes_of(&f));
    }
}

/// Rotation, translation and scale of an entry.
fn rigid(format: PaletteFormat, bytes: &[u8], range: f32) -> (Quat, glam::Vec3, f32) {
    let (v, scale) = if format == PaletteFormat::Snorm16 {
        let mut v = [0i16; 8];
        bytemuck::cast_slice_mut(&mut v).copy_from_slice(bytes);
        let unit = v.map(|c| f32::from(c) / 32767.0);
        let [x, y, z, w, a, b, c, _] = unit;
        ([x, y, z, w, a * range, b * range, c * range], 1.0)
    } else {
        let mut f = [0.0f32; 8];
        bytemuck::cast_slice_mut(&mut f).copy_from_slice(bytes);
        let [x, y, z, w, a, b, c, scale] = f;
        ([x, y, z, w, a, b, c], scale)
    };
    let q = glam::Vec4::new(v[0], v[1], v[2], v[3]).normalize_or(glam::Vec4::W);
    (Quat::from_vec4(q), glam::Vec3::new(v[4], v[5], v[6]), scale)
}

pub(crate) fn put_rigid(
    format: PaletteFormat,
    q: Quat,
    t: glam::Vec3,
    scale: f32,
    range: f32,
    bytes: &mut [u8],
) {
    let [x, y, z, w] = q.to_array();
    if format == PaletteFormat::Snorm16 {
        let unit = [x, y, z, w, t.x / range, t.y / range, t.z / range, 0.0];
        let v = unit.map(|c| (c.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16);
        bytes.copy_from_slice(bytemuck::bytes_of(&v));
    } else {
        bytes.copy_from_slice(bytemuck::bytes_of(&[x, y, z, w, t.x, t.y, t.z, scale]));
    }
}
