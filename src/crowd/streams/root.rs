//! Root motion of a stream: heading and place of its hips over the ground, frame by frame. Scalar sums, products and
//! roots, so the same bits on every processor.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::poses::RawPose;
use crate::crowd::block::Block;
use crate::crowd::stages::live::{LOOSE, idle};
use crate::lanes::{BLOCK, Row};
use crate::retarget::LiveMap;

/// Horizontal part of a unit direction below which it tells no heading.
const LEAST_AHEAD: f32 = 0.2;

/// Where a stream's hips stand over the ground, in the source's own metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pose {
    x: f32,
    z: f32,
    /// y and w of the rotation about +Y; `None` while ahead is up or down.
    heading: Option<[f32; 2]>,
    /// Horizontal reference place of the carrier.
    reference: [f32; 2],
}

/// A displacement over the ground, in the axes of where it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Way {
    x: f32,
    z: f32,
    /// y and w of the turn, and its angle.
    turn: [f32; 2],
    yaw: f32,
}

/// The last root of a character's stream.
#[derive(Debug)]
pub(super) struct Place {
    known: AtomicU32,
    /// x, z, y and w of the heading.
    values: [AtomicU32; 4],
}

impl Place {
    #[allow(clippy::declare_interior_mutable_const, reason = "copied into each new place")]
    pub const NOWHERE: Self = Self {
        known: AtomicU32::new(0),
        values: [AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(1f32.to_bits())],
    };

    fn get(&self) -> [f32; 4] {
        [0, 1, 2, 3].map(|k| f32::from_bits(self.values[k].load(Relaxed)))
    }

    /// Inverse of the heading, as a quaternion.
    pub fn back(&self) -> [f32; 4] {
        let [_, _, y, w] = self.get();
        [0.0, -y, 0.0, w]
    }

    /// Takes the next one; gives the way that leads there, none from nowhere.
    pub fn replace(&self, now: Pose) -> Way {
        let (next, way) = self.to(now);
        self.known.store(1, Relaxed);
        for (value, next) in self.values.iter().zip(next) {
            value.store(next.to_bits(), Relaxed);
        }
        way
    }

    /// The next one, and the way that leads there.
    fn to(&self, now: Pose) -> ([f32; 4], Way) {
        let [x, z, y, w] = self.get();
        let heading = now.heading.unwrap_or([y, w]);
        let [s, c] = double(heading);
        let [rx, rz] = now.reference;
        // The reference place turned along, so that turning on the spot does not travel.
        let next = [now.x - (c * rx + s * rz), now.z - (c * rz - s * rx), heading[0], heading[1]];
        if self.known.load(Relaxed) == 0 {
            return (next, Way { turn: [0.0, 1.0], ..Way::default() });
        }
        let [s, c] = double([y, w]);
        let (dx, dz) = (next[0] - x, next[1] - z);
        let turn = [w * heading[0] - y * heading[1], w * heading[1] + y * heading[0]];
        (next, Way { x: c * dx - s * dz, z: s * dx + c * dz, turn, yaw: angle(turn) })
    }

    /// Without taking it: inverse of the next heading, and the way as x, z and yaw.
    pub fn ahead(&self, now: Pose) -> ([f32; 4], [f32; 3]) {
        let ([_, _, y, w], way) = self.to(now);
        ([0.0, -y, 0.0, w], [way.x, way.z, way.yaw])
    }

    /// For a snapshot: `None` before the first pose.
    pub fn state(&self) -> Option<[f32; 4]> {
        (self.known.load(Relaxed) != 0).then(|| self.get())
    }

    pub fn of(state: Option<[f32; 4]>) -> Self {
        let Some(values) = state else { return Self::NOWHERE };
        Self { known: AtomicU32::new(1), values: values.map(|value| AtomicU32::new(value.to_bits())) }
    }

    fn put(&self, state: Option<[f32; 4]>) {
        let Self { known, values } = Self::of(state);
        self.known.store(known.into_inner(), Relaxed);
        for (value, was) in self.values.iter().zip(values) {
            value.store(was.into_inner(), Relaxed);
        }
    }
}

/// Whether a pose would be taken: all rotations that are used, as the kernel judges them.
pub(super) fn sound(map: &LiveMap, pose: &RawPose<'_>, kept: usize) -> bool {
    let lines = map.lines.iter().flat_map(|line| (line.first as usize..).zip(&line.inputs));
    lines.filter(|(_, input)| !idle(input, kept)).all(|(joint, _)| {
        let own = pose.rotation(joint).unwrap_or([0.0; 4]);
        // NaN is not below anything.
        (own.iter().map(|c| c * c).sum::<f32>() - 1.0).abs() < LOOSE
    })
}

impl Pose {
    /// `None` if the rotations on the way to the hips are none.
    pub fn of(map: &LiveMap, pose: &RawPose<'_>) -> Option<Self> {
        let mut hips = [0.0, 0.0, 0.0, 1.0];
        for &joint in &map.to_hips {
            let own = pose.rotation(usize::from(joint))?;
            let n: f32 = own.iter().map(|c| c * c).sum();
            if n.is_nan() || (n - 1.0).abs() >= crate::crowd::stages::live::LOOSE {
                return None;
            }
            hips = times(hips, own);
        }
        let [x, y, z, w] = times(hips, map.hips_back);
        // +Z carried along.
        let n = x * x + y * y + z * z + w * w;
        let (ahead_x, ahead_z) = (2.0 * (x * z + w * y) / n, (w * w + z * z - x * x - y * y) / n);
        let flat = (ahead_x * ahead_x + ahead_z * ahead_z).sqrt();
        let heading = (flat > LEAST_AHEAD).then(|| halved(ahead_x / flat, ahead_z / flat));
        let [px, _, pz] = pose.position;
        Some(Self { x: px, z: pz, heading, reference: [map.reference[0], map.reference[2]] })
    }
}

impl Way {
    /// Lengths in other metres.
    pub fn scaled(self, metres: f32) -> Self {
        Self { x: self.x * metres, z: self.z * metres, ..self }
    }

    /// A share of it; turned by nearly that share.
    pub fn part(self, share: f32) -> Self {
        if share >= 1.0 {
            return self;
        }
        let [y, w] = self.turn;
        let (y, w) = (y * share, 1.0 + (w - 1.0) * share);
        let per = 1.0 / (y * y + w * w).sqrt();
        let turn = [y * per, w * per];
        Self { x: self.x * share, z: self.z * share, turn, yaw: angle(turn) }
    }
}

/// Values of a root that a stream moves, the displacement first.
const MOVED: usize = 17;

/// A block's roots before streams moved them. Rotations are looked at when they are brought in, which is later: a pose that
/// is refused then is to have moved nothing.
#[derive(Debug)]
pub(crate) struct Before {
    lanes: u16,
    moves: bool,
    rows: [Row; MOVED],
    places: [Option<[f32; 4]>; BLOCK],
}

impl Before {
    pub(super) fn of(block: &mut Block, moves: bool) -> Self {
        let mut rows = [Row::ZERO; MOVED];
        rows.iter_mut().zip(moved(block)).for_each(|(to, row)| *to = *row);
        Self { lanes: 0, moves, rows, places: [None; BLOCK] }
    }

    pub(super) fn take(&mut self, lane: usize, place: &Place) {
        self.lanes |= 1 << lane;
        self.places[lane] = place.state();
    }

    pub(super) fn lanes(&self) -> u16 {
        self.lanes
    }

    pub(super) fn put_back(&self, block: &mut Block, lane: usize, place: &Place) {
        // What a host moves is not the stream's to put back.
        let count = if self.moves { MOVED } else { block.displacement.len() };
        for (row, was) in moved(block).zip(&self.rows).take(count) {
            row.0[lane] = was.0[lane];
        }
        place.put(self.places[lane]);
    }
}

fn moved(block: &mut Block) -> impl Iterator<Item = &mut Row> {
    let Block { displacement, position, position_lost, rotation, rotation_lost, .. } = block;
    displacement.iter_mut().chain(position).chain(position_lost).chain(rotation).chain(rotation_lost)
}

/// Adds to a lane's root motion, and moves its root by it. Sums keep what they lose, as those of clips do.
pub(super) fn displace(block: &mut Block, lane: usize, way: Way, moves: bool) {
    for (row, value) in block.displacement.iter_mut().zip([way.x, way.z, way.yaw]) {
        row.0[lane] += value;
    }
    if !moves {
        return;
    }
    let rotation = [0, 1, 2, 3].map(|k| block.rotation[k].0[lane]);
    let [qx, qy, qz, qw] = rotation;
    let (vx, vz) = (way.x, way.z);
    // v + 2 w (u x v) + 2 u x (u x v), without v's height.
    let t = [2.0 * (qy * vz), 2.0 * (qz * vx - qx * vz), -2.0 * (qy * vx)];
    let moved = [
        vx + qw * t[0] + (qy * t[2] - qz * t[1]),
        qw * t[1] + (qz * t[0] - qx * t[2]),
        vz + qw * t[2] + (qx * t[1] - qy * t[0]),
    ];
    for ((row, lost), moved) in block.position.iter_mut().zip(&mut block.position_lost).zip(moved) {
        add(&mut row.0[lane], &mut lost.0[lane], moved);
    }
    // The change of the quaternion: q (turn - 1), cos - 1 without cancellation, and back to unit length.
    let [s, c] = way.turn;
    let less = -(s * s) / (1.0 + c);
    let back = 0.5 * (1.0 - rotation.iter().map(|c| c * c).sum::<f32>());
    let change = times(rotation, [0.0, s, 0.0, less + back]);
    for ((row, lost), step) in block.rotation.iter_mut().zip(&mut block.rotation_lost).zip(change) {
        add(&mut row.0[lane], &mut lost.0[lane], step);
    }
}

/// Kahan's sum.
fn add(sum: &mut f32, lost: &mut f32, step: f32) {
    let step = step - *lost;
    let to = *sum + step;
    *lost = (to - *sum) - step;
    *sum = to;
}

/// Hamilton product.
fn times(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    [
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2],
        a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    ]
}

/// Sine and cosine of an angle, from those of its half.
fn double([y, w]: [f32; 2]) -> [f32; 2] {
    [2.0 * y * w, w * w - y * y]
}

/// Sine and cosine of half an angle from those of the angle; the cosine is not negative.
fn halved(sine: f32, cosine: f32) -> [f32; 2] {
    if cosine >= 0.0 {
        let w = (0.5 + 0.5 * cosine).sqrt();
        [sine / (2.0 * w), w]
    } else {
        let y = (0.5 - 0.5 * cosine).sqrt().copysign(sine);
        [y, sine / (2.0 * y)]
    }
}

/// Angle of a turn from sine and cosine of its half, -pi to pi: four times the arc of the tangent of a quarter
/// (Abramowitz and Stegun 4.4.49, error 2e-8).
fn angle([y, w]: [f32; 2]) -> f32 {
    let (y, w) = if w < 0.0 { (-y, -w) } else { (y, w) };
    let t = y / (1.0 + w);
    let t2 = t * t;
    let series = [
        0.002_866_225_7,
        -0.016_165_737,
        0.042_909_615,
        -0.075_289_64,
        0.106_562_64,
        -0.142_089,
        0.199_935_51,
        -0.333_331_47,
        1.0,
    ];
    4.0 * t * series.iter().fold(0.0f32, |sum, c| sum * t2 + c)
}
