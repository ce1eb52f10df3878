//! What a host hands in and gets back: ids, handles, places, what is played, choices and counts.

use wide::f32x4;

use crate::crowd::output::{PackedSkin, PaletteFormat};
use crate::crowd::tier::{TIERS, TierConfig};
use crate::error::BuildError;
use crate::lanes::Simd;

/// A rig of a crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RigId(pub(crate) u16);

/// A bound clip of a crowd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClipId {
    pub(crate) topology: u16,
    pub(crate) index: u32,
}

/// A live character. Handles of characters that are gone are refused, also after their index is used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl Handle {
    /// Of nobody: refused everywhere. To fill a list with before [`Crowd::spawn_many`](super::Crowd::spawn_many).
    pub const NONE: Self = Self { index: u32::MAX, generation: u32::MAX };

    /// For hosts that keep plain numbers: index in the low half, generation in the high one.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// From [`to_bits`](Self::to_bits). Any number is safe: what names nobody is refused where it is used.
    #[must_use]
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }

    /// Index of the character: stable while it lives, dense, for the host's own arrays.
    #[must_use]
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// Place of a character in the world. Valid below 1e6 m, with a rotation of about unit length.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct WorldTransform {
    /// Metres.
    pub position: [f32; 3],
    /// Quaternion (x, y, z, w) whose squared length is within a hundredth of 1; it is normalised on entry.
    pub rotation: [f32; 4],
}

impl WorldTransform {
    /// At the origin, facing +Z.
    pub const IDENTITY: Self = Self { position: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] };

    /// On the ground at (x, z), turned `yaw` radians to the left of +Z.
    #[must_use]
    pub fn standing(x: f32, z: f32, yaw: f32) -> Self {
        let (s, c) = (yaw * 0.5).sin_cos();
        Self { position: [x, 0.0, z], rotation: [0.0, s, 0.0, c] }
    }

    /// True if a crowd takes it.
    #[inline]
    #[must_use]
    pub fn is_valid(&self) -> bool {
        // Beyond a thousand kilometres single precision is no help to anyone, and squares stay finite below. Four values at
        // once, of which the last is of the rotation and is judged below.
        let near = f32x4::new([1e6, 1e6, 1e6, f32::INFINITY]);
        let [x, y, z] = self.position;
        let [a, b, c, d] = self.rotation;
        f32x4::new([x, y, z, a]).abs().simd_lt(near).all()
            && (norm_squared(f32x4::new([a, b, c, d])) - 1.0).abs() < 1e-2
    }

    /// True if a crowd takes all four.
    #[cfg(feature = "hecs")]
    #[inline(always)]
    pub(crate) fn all_valid(four: &[Self; 4]) -> bool {
        let near = f32x4::new([1e6, 1e6, 1e6, f32::INFINITY]);
        let mut valid = f32x4::splat(1.0).simd_lt(f32x4::splat(2.0));
        let mut rotations = [f32x4::ZERO; 4];
        for k in 0..4 {
            let Self { position: [x, y, z], rotation: [a, b, c, d] } = four[k];
            valid &= f32x4::new([x, y, z, a]).abs().simd_lt(near);
            rotations[k] = f32x4::new([a, b, c, d]);
        }
        let [a, b, c, d] = f32x4::transpose(rotations);
        let n = a * a + b * b + c * c + d * d;
        let unit = (n - f32x4::splat(1.0)).abs().simd_lt(f32x4::splat(1e-2));
        (valid & unit).all()
    }

    /// With a unit rotation, or `None` if it is invalid.
    #[inline]
    pub(crate) fn checked(&self) -> Option<Self> {
        let n = norm_squared(f32x4::new(self.rotation));
        if !self.is_valid() {
            return None;
        }
        // What is unit but for rounding stays as it is, so that reading and setting a transform changes nothing.
        let scale = if (n - 1.0).abs() < 1e-6 { 1.0 } else { 1.0 / n.sqrt() };
        Some(Self { rotation: self.rotation.map(|c| c * scale), ..*self })
    }
}

/// Summed in order, so that all who ask agree on every bit.
#[inline(always)]
fn norm_squared(quaternion: f32x4) -> f32 {
    let [a, b, c, d] = (quaternion * quaternion).to_array();
    a + b + c + d
}

/// Fastest that a clip can be played. Root motion is integrated in steps of 1/60 s, whose series hold for turns of
/// about one radian each.
pub const MAX_SPEED: f32 = 16.0;

/// What a clip does at its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Wrap {
    /// As the clip is: runs on if it loops, else stops.
    #[default]
    Clip,
    /// Runs on from its end to its start.
    Loop,
    /// Stops.
    Once,
    /// Turns round.
    PingPong,
}

impl Wrap {
    /// True if a clip that `looping` says loops or not runs on.
    pub(crate) fn loops(self, looping: bool) -> bool {
        self == Self::Loop || self == Self::Clip && looping
    }
}

/// One clip that a character plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Play {
    /// Bound to the topology of the character's rig.
    pub clip: ClipId,
    /// Seconds into the clip; with [`Wrap::PingPong`] on to twice the duration, which is the way back.
    pub time: f32,
    /// Share of the pose; all weights of a character are scaled to sum to 1.
    pub weight: f32,
    /// Clip seconds per second, [`MAX_SPEED`] at most; negative plays backwards.
    pub speed: f32,
    /// What it does at its ends.
    pub wrap: Wrap,
    /// Shares one phase with the character's other synced clips: their cycles take the weighted mean of their lengths, and
    /// their markers ([`SyncMarkers`](crate::clip::SyncMarkers)) are passed together. A character that plays synced
    /// clips already keeps its phase; `time` counts only where there is none yet.
    pub sync: bool,
}

impl Play {
    /// From its start, alone, at its own speed.
    #[must_use]
    pub fn new(clip: ClipId) -> Self {
        Self { clip, time: 0.0, weight: 1.0, speed: 1.0, wrap: Wrap::Clip, sync: false }
    }

    /// In step with others: see [`Play::sync`].
    #[must_use]
    pub fn synced(clip: ClipId, weight: f32) -> Self {
        Self { weight, sync: true, ..Self::new(clip) }
    }
}

/// One character of [`Crowd::spawn_many`](super::Crowd::spawn_many).
#[derive(Clone, Copy, Debug)]
pub struct Spawn<'a> {
    /// Of this crowd.
    pub rig: RigId,
    /// Index among the rig's skins.
    pub skin: usize,
    /// Where it stands.
    pub transform: WorldTransform,
    /// What it plays, four at most.
    pub clips: &'a [Play],
}

/// A crowd's fixed choices.
#[derive(Clone, Copy, Debug)]
pub struct CrowdConfig {
    /// Instruction set and arithmetic. The default is the widest set of the processor, fast; the environment variable
    /// `THRONG_ISA` is heeded only by who asks for it with [`Simd::from_env`].
    pub simd: Simd,
    /// How skinning matrices are written.
    pub format: PaletteFormat,
    /// Write slots around the cache: right for crowds whose palettes exceed it and go to a GPU.
    pub stream: bool,
    /// Ask for the next block's keys ahead.
    pub prefetch: bool,
    /// Events that one frame can tell; what is more is counted and dropped. 24 bytes each: once with the serial executor,
    /// else for each of the up to [`MAX_JOBS`](crate::crowd::MAX_JOBS) jobs and once more.
    pub event_capacity: usize,
    /// Share of the crowd, 0 to 1, that can be in inertialised transitions at a time; 24 bytes a joint each.
    pub transitions: f32,
    /// What each of [`Tier::ALL`](crate::crowd::Tier::ALL) computes.
    pub tiers: [TierConfig; TIERS],
    /// Slots have room for two poses, so that characters that are posed less often than every frame are shown between
    /// them: see [`Crowd::shown_pose`](super::Crowd::shown_pose). Twice the output memory. Without it they keep a pose,
    /// and the root that it belongs to, until the next one.
    pub interpolate: bool,
}

impl CrowdConfig {
    /// Lines of a slot for poses of a skin.
    pub(crate) fn slot_lines(&self, skin: &PackedSkin) -> u32 {
        if self.interpolate { 2 * skin.lines + skin.legs.lines() } else { skin.lines }
    }
}

impl Default for CrowdConfig {
    fn default() -> Self {
        Self {
            simd: Simd::fastest(),
            format: PaletteFormat::default(),
            stream: true,
            prefetch: true,
            event_capacity: 4096,
            transitions: 0.1,
            tiers: TierConfig::DEFAULT,
            interpolate: false,
        }
    }
}

/// How full and how even the blocks are.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy {
    /// Live characters.
    pub characters: usize,
    /// Blocks that a frame runs.
    pub blocks: usize,
    /// Live lanes / (16 x blocks).
    pub occupancy: f32,
    /// Blocks whose lanes share a rig, percent.
    pub uniform_block_percent: f32,
}

/// With its rotation normalised.
pub(super) fn check_transform(transform: &WorldTransform) -> Result<WorldTransform, BuildError> {
    if let Some(transform) = transform.checked() {
        return Ok(transform);
    }
    let value = transform
        .position
        .iter()
        .chain(&transform.rotation)
        .copied()
        .find(|v| !v.is_finite() || v.abs() >= 1e6)
        .unwrap_or_else(|| transform.rotation.iter().map(|c| c * c).sum::<f32>().sqrt());
    Err(BuildError::Input {
        what: "a world transform",
        value,
        right: "positions must be below 1e6 m and rotations unit quaternions",
    })
}
