//! What a WGSL shader reads of a crowd, byte by byte: `wgpu_layout.wgsl`, done here on the CPU with the same steps and
//! compared with the skinning of the library. docs/guides/wgpu_layout.md has the layout; `tests/wgsl.rs` checks the
//! shader with naga.

use glam::{UVec4, Vec2, Vec3, Vec4, Vec4Swizzles};
use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, PaletteFormat, Play, Serial, SkinPalette, SkinnedMesh,
    WorldTransform,
};
use throng::lanes::Simd;
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

/// The storage buffer: `array<vec4<f32>>`.
struct Lines<'a>(&'a [[f32; 4]]);

struct Instance {
    line: u32,
    format: u32,
    range: f32,
}

#[derive(Clone, Copy)]
struct Rows {
    x: Vec4,
    y: Vec4,
    z: Vec4,
}

fn rotate(q: Vec4, v: Vec3) -> Vec3 {
    let t = 2.0 * q.xyz().cross(v);
    v + q.w * t + q.xyz().cross(t)
}

fn rows_of(q: Vec4, t: Vec3, scale: f32) -> Rows {
    let [x, y, z] = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| scale * rotate(q, axis));
    Rows {
        x: Vec4::new(x.x, y.x, z.x, t.x),
        y: Vec4::new(x.y, y.y, z.y, t.y),
        z: Vec4::new(x.z, y.z, z.z, t.z),
    }
}

/// `unpack2x16snorm`.
fn unpack(word: u32) -> Vec2 {
    let half = |bits: u32| (f32::from(bits as u16 as i16) / 32767.0).max(-1.0);
    Vec2::new(half(word & 0xffff), half(word >> 16))
}

impl Lines<'_> {
    fn at(&self, index: u32) -> Vec4 {
        Vec4::from_array(self.0[index as usize])
    }

    fn entry(&self, instance: &Instance, entry: u32) -> Rows {
        let first = 4 * (instance.line + 1);
        match instance.format {
            64 => {
                let at = first + 4 * entry;
                let [a, b, c, d] = [0, 1, 2, 3].map(|k| self.at(at + k));
                Rows {
                    x: Vec4::new(a.x, b.x, c.x, d.x),
                    y: Vec4::new(a.y, b.y, c.y, d.y),
                    z: Vec4::new(a.z, b.z, c.z, d.z),
                }
            }
            48 => {
                let at = first + 3 * entry;
                Rows { x: self.at(at), y: self.at(at + 1), z: self.at(at + 2) }
            }
            32 => {
                let at = first + 2 * entry;
                let t = self.at(at + 1);
                rows_of(self.at(at).normalize(), t.xyz(), t.w)
            }
            _ => {
                let words = UVec4::from_array(self.at(first + entry).to_array().map(f32::to_bits));
                let [a, b, c, d] = words.to_array().map(unpack);
                let (q, t) = (Vec4::new(a.x, a.y, b.x, b.y), Vec4::new(c.x, c.y, d.x, d.y));
                rows_of(q.normalize(), instance.range * t.xyz(), 1.0)
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let person = content::character(RigKind::Deform, &BodyPlan::adult());
    let rig = Rig::build(&person.rig_source())?;
    let (skeleton, roles) = (&person.character.skeleton, &person.roles);
    let source = BindSource { skeleton, roles, reference: &person.reference() };
    let walk = bind(source, &content::clip(ClipKind::Walk, &person), &rig)?;
    let mesh = &person.character.meshes[0];
    let skinned = SkinnedMesh::new(mesh)?;
    for format in PaletteFormat::ALL {
        let mut crowd = Crowd::new(CrowdConfig { format, ..CrowdConfig::default() });
        let (rig, walk) = (crowd.add_rig(rig.clone())?, crowd.add_clip(walk.clone())?);
        let mut people = Vec::new();
        for i in 0..5 {
            let place = WorldTransform::standing(2.0 * i as f32, -1.0, i as f32);
            people.push(crowd.spawn(rig, 0, place, &[Play { time: 0.2 * i as f32, ..Play::new(walk) }])?);
        }
        crowd.frame(Frame::new(1.0 / 60.0, &FlatGround::default()), &Serial)?;
        let lines = Lines(bytemuck::cast_slice(crowd.output()));
        let mut worst = 0.0f32;
        for &who in &people {
            let range = crowd.palette_range(rig, 0)?;
            let instance = Instance { line: crowd.slot_line(who)?, format: format.bytes() as u32, range };
            let (header, palette) = crowd.pose(who)?;
            // The header as the shader's struct has it: one line.
            let at = 4 * instance.line;
            assert_eq!(lines.at(at).xyz().to_array(), header.position);
            assert_eq!((lines.at(at).w, lines.at(at + 1).to_array()), (header.time, header.rotation));
            let mut decoded = SkinPalette::default();
            decoded.set_bytes(palette, format, range);
            let mut positions = vec![[0.0; 3]; mesh.positions.len()];
            let mut normals = positions.clone();
            skinned.skin(Simd::fastest(), &decoded, &mut positions, &mut normals)?;
            for (vertex, expected) in positions.iter().enumerate() {
                let p = Vec3::from_array(mesh.positions[vertex]).extend(1.0);
                let (joints, weights) = (&mesh.joints[vertex], &mesh.weights[vertex]);
                let [mut x, mut y, mut z] = [Vec4::ZERO; 3];
                for (&joint, &weight) in joints.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                    let rows = lines.entry(&instance, joint.into());
                    x += weight * rows.x;
                    y += weight * rows.y;
                    z += weight * rows.z;
                }
                let model = Vec3::new(x.dot(p), y.dot(p), z.dot(p));
                worst = worst.max((model - Vec3::from_array(*expected)).abs().max_element());
            }
        }
        assert!(worst < 5e-6, "{}: {worst} m", format.name());
        println!(
            "{:>4}: {} vertices, {worst:.1e} m from the library's skinning",
            format.name(),
            5 * mesh.positions.len()
        );
    }
    Ok(())
}
