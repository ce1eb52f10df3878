//! What a WGSL shader reads of a crowd, byte by byte: `wgpu_layout.wgsl`, done here on the CPU with the same steps and
//! compared with the skinning of the library. docs/guides/wgpu_layout.md has the layout; `tests/wgsl.rs` checks the
//! shader with naga.

use glam::{UVec4, Vec2, Vec3, Vec4, Vec4Swizzles};
use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, PaletteFormat, Play, PosePair, Serial, SkinPalette, SkinnedMesh,
    Tier, TierConfig, WorldTransform,
};
use throng::lanes::Simd;
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

/// The storage buffer: `array<vec4<f32>>`.
struct Lines<'a>(&'a [[f32; 4]]);

struct Instance {
    format: u32,
    range: f32,
}

/// Where the render root is, and what takes the axes of the roots of both poses to its own.
struct Shown {
    position: Vec3,
    rotation: Vec4,
    from_previous: Vec4,
    from_next: Vec4,
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

    fn entry(&self, instance: &Instance, line: u32, entry: u32) -> Rows {
        let first = 4 * (line + 1);
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

    fn shown(&self, pair: &PosePair) -> Shown {
        let header = |line: u32| (self.at(4 * line).xyz(), self.at(4 * line + 1));
        let (next, turned) = header(pair.next);
        if pair.factor >= 1.0 {
            return Shown { position: next, rotation: turned, from_previous: Vec4::W, from_next: Vec4::W };
        }
        let (previous, from) = header(pair.previous);
        let near = if from.dot(turned) < 0.0 { -turned } else { turned };
        let rotation = from.lerp(near, pair.factor).normalize();
        let back = (-rotation.xyz()).extend(rotation.w);
        let position = previous.lerp(next, pair.factor);
        Shown { position, rotation, from_previous: times(back, from), from_next: times(back, turned) }
    }

    fn shown_rows(
        &self,
        instance: &Instance,
        pair: &PosePair,
        root: &Shown,
        entry: u32,
        corrected: &[u32],
    ) -> Rows {
        let next = self.entry(instance, pair.next, entry);
        if pair.factor >= 1.0 {
            return next;
        }
        let previous = self.entry(instance, pair.previous, entry);
        let mut rows = sum(
            turned(root.from_previous, previous, 1.0 - pair.factor),
            turned(root.from_next, next, pair.factor),
        );
        let code = corrected[entry as usize];
        if code != u32::MAX {
            let first = 4 * pair.corrections;
            let moment = self.at(first)[(code >> 16) as usize];
            if moment > 0.0 {
                let weight = if pair.factor < moment {
                    pair.factor / moment
                } else {
                    (1.0 - pair.factor) / (1.0 - moment)
                };
                let at = first + 2 + 3 * (code & 0xffff);
                let correction = Rows { x: self.at(at), y: self.at(at + 1), z: self.at(at + 2) };
                rows = sum(rows, turned(root.from_next, correction, weight));
            }
        }
        rows
    }
}

/// `q`, then `p`.
fn times(p: Vec4, q: Vec4) -> Vec4 {
    (p.w * q.xyz() + q.w * p.xyz() + p.xyz().cross(q.xyz())).extend(p.w * q.w - p.xyz().dot(q.xyz()))
}

/// A turn after what rows do, so much of it.
fn turned(q: Vec4, rows: Rows, share: f32) -> Rows {
    let turn = rows_of(q, Vec3::ZERO, share);
    let [x, y, z] = [turn.x, turn.y, turn.z].map(|row| row.x * rows.x + row.y * rows.y + row.z * rows.z);
    Rows { x, y, z }
}

fn sum(a: Rows, b: Rows) -> Rows {
    Rows { x: a.x + b.x, y: a.y + b.y, z: a.z + b.z }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let person = content::character(RigKind::Deform, &BodyPlan::adult());
    let rig = Rig::build(&person.rig_source())?;
    let (skeleton, roles) = (&person.character.skeleton, &person.roles);
    let source = BindSource { skeleton, roles, reference: &person.reference() };
    let walk = bind(source, &content::clip(ClipKind::Walk, &person), &rig)?;
    let turn = bind(source, &content::clip(ClipKind::TurnLeft, &person), &rig)?;
    let mesh = &person.character.meshes[0];
    let skinned = SkinnedMesh::new(mesh)?;
    for format in PaletteFormat::ALL {
        // A pose every 1, 2, 4 and 8 frames, and shown in between.
        let tiers = [1, 2, 4, 8].map(|period| TierConfig { period, ..TierConfig::FULL });
        let mut crowd =
            Crowd::new(CrowdConfig { format, tiers, interpolate: true, ..CrowdConfig::default() });
        let rig = crowd.add_rig(rig.clone())?;
        let clips = [crowd.add_clip(walk.clone())?, crowd.add_clip(turn.clone())?];
        let mut people = Vec::new();
        for i in 0..8 {
            let place = WorldTransform::standing(2.0 * i as f32, -1.0, i as f32);
            let play = Play { time: 0.13 * i as f32, ..Play::new(clips[i / 4]) };
            people.push(crowd.spawn(rig, 0, place, &[play])?);
            crowd.set_tier(people[i], Tier::ALL[i % 4])?;
        }
        let (range, corrected) = (crowd.palette_range(rig, 0)?, crowd.corrected_entries(rig, 0)?);
        let instance = Instance { format: format.bytes() as u32, range };
        let mut pairs = vec![PosePair::NONE; people.len()];
        let mut worst = 0.0f32;
        for _ in 0..40 {
            crowd.frame(Frame::new(1.0 / 60.0, &FlatGround::default()), &Serial)?;
            crowd.pose_pairs_into(&mut pairs)?;
            let lines = Lines(bytemuck::cast_slice(crowd.output()));
            for &who in &people {
                let pair = &pairs[who.index()];
                let (pose, root) = (crowd.shown_pose(who)?, lines.shown(pair));
                let (header, _) = crowd.pose(who)?;
                // The header as the shader's struct has it: one line.
                let at = 4 * pair.next;
                assert_eq!(lines.at(at).xyz().to_array(), header.position);
                assert_eq!((lines.at(at).w, lines.at(at + 1).to_array()), (header.time, header.rotation));
                assert!((root.position - Vec3::from_array(pose.root().position)).length() < 1e-6);
                assert!((root.rotation - Vec4::from_array(pose.root().rotation)).length() < 1e-6);
                let mut decoded = SkinPalette::default();
                decoded.set_shown(&pose);
                let mut positions = vec![[0.0; 3]; mesh.positions.len()];
                let mut normals = positions.clone();
                skinned.skin(Simd::fastest(), &decoded, &mut positions, &mut normals)?;
                for (vertex, expected) in positions.iter().enumerate().step_by(7) {
                    let p = Vec3::from_array(mesh.positions[vertex]).extend(1.0);
                    let (joints, weights) = (&mesh.joints[vertex], &mesh.weights[vertex]);
                    let mut rows = Rows { x: Vec4::ZERO, y: Vec4::ZERO, z: Vec4::ZERO };
                    for (&joint, &weight) in joints.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                        let entry = lines.shown_rows(&instance, pair, &root, joint.into(), &corrected);
                        rows.x += weight * entry.x;
                        rows.y += weight * entry.y;
                        rows.z += weight * entry.z;
                    }
                    let model = Vec3::new(rows.x.dot(p), rows.y.dot(p), rows.z.dot(p));
                    worst = worst.max((model - Vec3::from_array(*expected)).abs().max_element());
                }
            }
        }
        assert!(worst < 5e-6, "{}: {worst} m", format.name());
        println!("{:>4}: {worst:.1e} m from the library's skinning", format.name());
    }
    Ok(())
}
