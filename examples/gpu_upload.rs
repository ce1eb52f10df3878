//! What a renderer does with a crowd's output: one buffer, copied by dirty ranges, indexed by slots that never
//! move while their characters live.
//!
//! ```text
//! buffer   | line 0 | line 1 ...                                  a line is 64 bytes
//! slot     | header: position, time, rotation, probes | palette, whole lines |   first line: Crowd::slot_line
//! entry    4x4   64 bytes   mat4x4<f32>, column-major
//!          3x4   48 bytes   three rows vec4<f32>, translation in w
//!          qt32  32 bytes   quaternion vec4<f32>, translation vec3<f32>, scale f32
//!          qt16  16 bytes   quaternion 4 x snorm16, translation 3 x snorm16 (times Crowd::palette_range), unused
//! ```

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, PaletteFormat, Play, PoseHeader, Serial, WorldTransform,
};
use throng::lanes::Line;
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

/// Stands for memory of the graphics card.
#[derive(Default)]
struct GpuBuffer(Vec<Line>);

impl GpuBuffer {
    /// Copies what the last frame wrote; returns the lines copied.
    fn upload(&mut self, crowd: &Crowd, ranges: &mut Vec<std::ops::Range<u32>>) -> usize {
        let output = crowd.output();
        // Slots never move, so a buffer that grows keeps what is in it.
        self.0.resize(output.len(), Line([0.0; 16]));
        crowd.dirty_ranges(ranges);
        for range in &*ranges {
            let range = range.start as usize..range.end as usize;
            self.0[range.clone()].copy_from_slice(&output[range]);
        }
        ranges.iter().map(|range| range.len()).sum()
    }

    /// What a vertex shader reads: header and palette of the instance whose slot begins at `line`.
    fn slot(&self, line: u32, lines: usize) -> (PoseHeader, &[u8]) {
        let (header, palette) = self.0[line as usize..line as usize + lines].split_at(1);
        (PoseHeader::read(&header[0]), bytemuck::cast_slice(palette))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let person = content::character(RigKind::Biped, &BodyPlan::adult());
    let rig = Rig::build(&person.rig_source())?;
    let (skeleton, roles) = (&person.character.skeleton, &person.roles);
    let source = BindSource { skeleton, roles, reference: &person.reference() };
    let walk = bind(source, &content::clip(ClipKind::Walk, &person), &rig)?;
    let entries = rig.skins()[0].entries().len();

    for format in PaletteFormat::ALL {
        let mut crowd = Crowd::new(CrowdConfig { format, ..CrowdConfig::default() });
        let (rig, walk) = (crowd.add_rig(rig.clone())?, crowd.add_clip(walk.clone())?);
        let spawn = |crowd: &mut Crowd, x: f32| {
            crowd.spawn(rig, 0, WorldTransform::standing(x, 0.0, 0.0), &[Play { time: x, ..Play::new(walk) }])
        };
        let people = (0..40).map(|i| spawn(&mut crowd, i as f32 * 0.7)).collect::<Result<Vec<_>, _>>()?;
        let (mut gpu, mut ranges) = (GpuBuffer::default(), Vec::new());
        let ground = FlatGround::default();
        let frame = Frame::new(1.0 / 60.0, &ground);

        // Everybody is new: one range holds all.
        crowd.frame(frame, &Serial)?;
        let copied = gpu.upload(&crowd, &mut ranges);
        let slot = 1 + format.lines(entries);
        assert_eq!((ranges.len(), copied), (1, 40 * slot));

        // Instances are drawn by slot: what the card has is what the crowd has.
        let lines = people.iter().map(|&person| crowd.slot_line(person)).collect::<Result<Vec<_>, _>>()?;
        for (&person, &line) in people.iter().zip(&lines) {
            assert_eq!(gpu.slot(line, slot), crowd.pose(person)?);
        }

        // Ten leave: their lines are neither written nor copied, nobody else moves, not even by packing.
        people[5..15].iter().try_for_each(|&person| crowd.despawn(person))?;
        crowd.pack();
        crowd.frame(frame, &Serial)?;
        assert_eq!(gpu.upload(&crowd, &mut ranges), 30 * slot);
        for (at, (&person, &line)) in
            people.iter().zip(&lines).enumerate().filter(|(at, _)| !(5..15).contains(at))
        {
            assert_eq!(crowd.slot_line(person)?, line, "person {at} keeps its slot");
            assert_eq!(gpu.slot(line, slot), crowd.pose(person)?);
        }

        // A newcomer takes over a free slot; the buffer does not grow.
        let newcomer = spawn(&mut crowd, 3.0)?;
        assert!(lines[5..15].contains(&crowd.slot_line(newcomer)?));
        crowd.frame(frame, &Serial)?;
        gpu.upload(&crowd, &mut ranges);
        assert_eq!(gpu.0.len(), 40 * slot);

        // The first entry as a shader would expand it: a rotation and a translation near the hips.
        let (header, palette) = gpu.slot(crowd.slot_line(newcomer)?, slot);
        let m = format.matrix(&palette[..format.bytes()], crowd.palette_range(rig, 0)?);
        let row = |r: usize| glam::Vec3::new(m[4 * r], m[4 * r + 1], m[4 * r + 2]);
        assert!((row(0).cross(row(1)).dot(row(2)) - 1.0).abs() < 1e-3);
        assert!((header.position[0] - 3.0).abs() < 0.1);
        println!(
            "{:>4}: {} bytes an entry, {} lines a slot, {} bytes for 31 people",
            format.name(),
            format.bytes(),
            slot,
            31 * slot * 64
        );
    }
    Ok(())
}
