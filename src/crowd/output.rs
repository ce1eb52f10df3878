//! What the renderer reads: one slot of whole cache lines per character, which never moves.
//!
//! ```text
//! slot   | header, 1 line | palette, entries in file order, padded to whole lines |
//! of two | header | palette | header | palette | corrections of the legs |            CrowdConfig::interpolate
//! ```

use super::corrections::LegEntries;
use crate::error::BuildError;
use crate::lanes::Line;
use crate::rig::{NO_PARENT, Rig, Skin};

/// How skinning matrices are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum PaletteFormat {
    /// 64 bytes: 4x4, column-major.
    Mat4,
    /// 48 bytes: three rows of four; the fourth column is the translation.
    #[default]
    Mat3x4,
    /// 32 bytes: quaternion (x, y, z, w), translation, uniform scale.
    QuatTranslation,
    /// 16 bytes: the same without scale as eight 16-bit signed normalised integers; the last is unused, translation
    /// is in units of [`Crowd::palette_range`](super::Crowd::palette_range).
    Snorm16,
}

impl PaletteFormat {
    /// All, widest first.
    pub const ALL: [Self; 4] = [Self::Mat4, Self::Mat3x4, Self::QuatTranslation, Self::Snorm16];

    /// Bytes of one entry.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            Self::Mat4 => 64,
            Self::Mat3x4 => 48,
            Self::QuatTranslation => 32,
            Self::Snorm16 => 16,
        }
    }

    /// `4x4`, `3x4`, `qt32` or `qt16`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mat4 => "4x4",
            Self::Mat3x4 => "3x4",
            Self::QuatTranslation => "qt32",
            Self::Snorm16 => "qt16",
        }
    }

    /// By name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// One entry as the three rows of a 3x4 matrix, whatever the format: what a shader does, on the CPU.
    /// `range` is the skin's [`palette_range`](super::Crowd::palette_range); only [`Self::Snorm16`] needs it.
    /// Bytes that `entry` lacks of [`bytes`](Self::bytes) count as zero; a rotation of zero is none.
    #[must_use]
    pub fn matrix(self, entry: &[u8], range: f32) -> [f32; 12] {
        let mut f = [0.0f32; 16];
        let bytes = self.bytes().min(entry.len());
        if self == Self::Snorm16 {
            let mut v = [0i16; 8];
            bytemuck::cast_slice_mut(&mut v)[..bytes].copy_from_slice(&entry[..bytes]);
            let unit = v.map(|c| f32::from(c) / 32767.0);
            f[..4].copy_from_slice(&unit[..4]);
            (0..3).for_each(|k| f[4 + k] = unit[4 + k] * range);
            f[7] = 1.0;
        } else {
            bytemuck::cast_slice_mut(&mut f)[..bytes].copy_from_slice(&entry[..bytes]);
        }
        match self {
            Self::Mat4 => [f[0], f[4], f[8], f[12], f[1], f[5], f[9], f[13], f[2], f[6], f[10], f[14]],
            Self::Mat3x4 => core::array::from_fn(|k| f[k]),
            Self::QuatTranslation | Self::Snorm16 => {
                let turn = glam::Vec4::from_array([f[0], f[1], f[2], f[3]]).normalize_or(glam::Vec4::W);
                let m = glam::Mat3::from_quat(glam::Quat::from_vec4(turn)) * f[7];
                let (x, y, z) = (m.x_axis, m.y_axis, m.z_axis);
                [x.x, y.x, z.x, f[4], x.y, y.y, z.y, f[5], x.z, y.z, z.z, f[6]]
            }
        }
    }

    /// Entries that fill whole lines together, and those lines.
    pub(crate) fn batch(self) -> (usize, usize) {
        match self {
            Self::Mat4 => (1, 1),
            Self::Mat3x4 => (4, 3),
            Self::QuatTranslation => (2, 1),
            Self::Snorm16 => (4, 1),
        }
    }

    /// Lines of a palette of that many entries.
    #[must_use]
    pub fn lines(self, entries: usize) -> usize {
        let (batch, lines) = self.batch();
        entries.div_ceil(batch) * lines
    }
}

/// First line of every slot: where and when the pose that follows it belongs. Plain bytes.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PoseHeader {
    /// World position of the render root, metres: the palette is relative to it.
    pub position: [f32; 3],
    /// Seconds of the crowd's clock that the pose belongs to. Single precision: steps of 1 ms after two and a half hours,
    /// of 8 ms after a day.
    pub time: f32,
    /// World rotation of the render root (x, y, z, w).
    pub rotation: [f32; 4],
    /// World x and z of heel and ball of each foot: where a host's ray casts for the next frame go.
    pub probes: [[f32; 2]; 4],
}

impl PoseHeader {
    /// From the first line of a slot.
    #[must_use]
    pub fn read(line: &Line) -> Self {
        bytemuck::cast(*line)
    }
}

/// A skin's entries, sorted into what the palette kernel wants.
#[derive(Clone, Debug)]
pub(crate) struct PackedSkin {
    pub entries: Vec<PackedEntry>,
    /// Per batch of entries that fill whole lines: joints that must be in model space before it.
    pub joints: Vec<u16>,
    /// Per entry, padding left out: the joint that it stands for, whichever it moves with.
    pub own: Vec<u16>,
    /// Per joint of the topology: the entry that tells where it is, `u16::MAX` where none does.
    pub carriers: Vec<u16>,
    /// Entries of the legs.
    pub legs: LegEntries,
    /// Entries, padding left out.
    pub count: usize,
    pub lines: u32,
    /// Metres that 1 stands for in [`PaletteFormat::Snorm16`].
    pub range: f32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedEntry {
    pub joint: u16,
    pub general: bool,
    pub offset: [f32; 3],
    pub linear: [[f32; 3]; 3],
    pub rotation: [f32; 4],
    pub scale: f32,
}

impl PackedSkin {
    /// `kept`: joints that move. The entry of any other is its nearest ancestor's among them, with the way from there to
    /// the joint in the reference pose put into the constant: `T(x_a) R(G_a) [T(way) C_j]`.
    pub fn build(rig: &Rig, skin: &Skin, kept: usize, format: PaletteFormat) -> Result<Self, BuildError> {
        let mut entries = Vec::with_capacity(skin.entries().len());
        for entry in skin.entries() {
            let (rotation, scale) = match (entry.rotation_scale, format) {
                (Some((rotation, scale)), PaletteFormat::QuatTranslation) => (rotation, scale),
                (Some((rotation, scale)), PaletteFormat::Snorm16) if (scale - 1.0).abs() < 1e-3 => {
                    (rotation, 1.0)
                }
                (_, PaletteFormat::QuatTranslation | PaletteFormat::Snorm16) => {
                    return Err(BuildError::PaletteFormat {
                        rig: rig.name().to_owned(),
                        skin: skin.name().to_owned(),
                        joint: entry.joint.into(),
                    });
                }
                (given, _) => given.unwrap_or(([0.0, 0.0, 0.0, 1.0], 1.0)),
            };
            let (joint, offset) = carried(rig, entry.joint, entry.offset, kept);
            entries.push(PackedEntry {
                joint,
                general: entry.general,
                offset,
                linear: entry.linear,
                rotation,
                scale,
            });
        }
        let mut packed = Self {
            entries,
            joints: Vec::new(),
            own: skin.entries().iter().map(|entry| entry.joint).collect(),
            carriers: Vec::new(),
            legs: LegEntries::default(),
            count: 0,
            lines: 0,
            range: range(rig, skin),
        };
        packed.finish(rig, format);
        Ok(packed)
    }

    /// With entries for joints that it lacks; `kept` as it was built with.
    pub fn keeping(mut self, rig: &Rig, kept: usize, format: PaletteFormat, joints: &[u16]) -> Self {
        let lacks = |joint: &&u16| self.carriers.get(usize::from(**joint)) == Some(&u16::MAX);
        let mut added: Vec<u16> = joints.iter().filter(lacks).copied().collect();
        added.sort_unstable();
        added.dedup();
        let reach = reach(rig);
        self.entries.truncate(self.count);
        for joint in added {
            self.range = self.range.max(reach[usize::from(joint)] + rig.leg());
            self.own.push(joint);
            let (joint, offset) = carried(rig, joint, [0.0; 3], kept);
            self.entries.push(PackedEntry {
                joint,
                general: false,
                offset,
                linear: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
                rotation: [0.0, 0.0, 0.0, 1.0],
                scale: 1.0,
            });
        }
        self.finish(rig, format);
        self
    }

    /// All that follows from the entries.
    fn finish(&mut self, rig: &Rig, format: PaletteFormat) {
        let entries = &mut self.entries;
        self.count = entries.len();
        self.carriers = vec![u16::MAX; rig.topology().len()];
        for (at, (entry, &joint)) in entries.iter().zip(&self.own).enumerate().rev() {
            // From the last on, so that the first of several stays.
            let flat =
                entry.general && glam::Mat3::from_cols_array_2d(&entry.linear).determinant().abs() < 1e-12;
            if !flat && at < usize::from(u16::MAX) {
                self.carriers[usize::from(joint)] = at as u16;
            }
        }
        self.lines = 1 + format.lines(entries.len()) as u32;
        self.legs = LegEntries::of(rig, entries, &self.own, &self.carriers, format);
        // Padding repeats the last entry, so that whole lines can be written.
        let (batch, _) = format.batch();
        if let Some(&last) = entries.last() {
            while !entries.len().is_multiple_of(batch) {
                entries.push(last);
            }
        }
        let mut needed = 0;
        self.joints = entries
            .chunks_exact(batch)
            .map(|batch| {
                needed = batch.iter().map(|entry| entry.joint + 1).fold(needed, u16::max);
                needed
            })
            .collect();
    }
}

/// The nearest joint among the first `kept`, and the offset from there.
fn carried(rig: &Rig, joint: u16, offset: [f32; 3], kept: usize) -> (u16, [f32; 3]) {
    let mut sum = offset.map(f64::from);
    let mut at = joint;
    while usize::from(at) >= kept {
        let way = rig.offsets()[usize::from(at)];
        (0..3).for_each(|k| sum[k] += f64::from(way[k]));
        at = rig.topology().parents()[usize::from(at)];
        if at == NO_PARENT {
            return (joint, offset);
        }
    }
    (at, sum.map(|c| c as f32))
}

/// How far each joint is from the root with all bones above it stretched out.
pub(crate) fn reach(rig: &Rig) -> Vec<f32> {
    let mut reach = vec![0.0f32; rig.topology().len()];
    for (joint, &parent) in rig.topology().parents().iter().enumerate() {
        let above = reach.get(usize::from(parent)).copied().unwrap_or(0.0);
        reach[joint] = above + length(rig.offsets()[joint]);
    }
    reach
}

fn length(v: [f32; 3]) -> f32 {
    v.iter().map(|c| c * c).sum::<f32>().sqrt()
}

/// No joint gets further from the root than all its bones stretched out, the pelvis at its reference place plus what
/// rows can move it; a matrix translation adds the entry's constant.
fn range(rig: &Rig, skin: &Skin) -> f32 {
    let reach = reach(rig);
    let far = skin
        .entries()
        .iter()
        .map(|entry| reach[usize::from(entry.joint)] + length(entry.offset))
        .fold(0.0, f32::max);
    // A leg length of travel is taken for the pelvis: a jump; the rest of its range would cost precision for all.
    far + rig.leg()
}
