//! `inspect` of an archive of clips.

use std::path::Path;

use serde::Serialize;
use throng::clip::archive::{Archive, ArchiveError, VERSION};
use throng::rig::JointKey;

use crate::output::{self, Failure};
use crate::source;
use crate::table::{align_right, grouped, table};

/// What an archive of clips says of itself; each clip is unpacked to see whether it can be.
pub fn run(path: &Path, json: bool) -> Result<(), Failure> {
    let bytes = source::read_archive(path)?;
    let refused = |error: ArchiveError| Failure::input(path, error);
    let archive = Archive::open(&bytes).map_err(refused)?;
    let mut clips = Vec::with_capacity(archive.len());
    for (index, info) in archive.clips().enumerate() {
        let Some(clip) = archive.clip(index).transpose().map_err(refused)? else { continue };
        let root = clip.root().at(clip.duration());
        clips.push(PackedClip {
            name: info.name.to_owned(),
            seconds: info.duration,
            keys: info.intervals + 1,
            looping: info.looping,
            events: clip.events().len(),
            contacts: clip.contacts().is_some(),
            root: [root.x * archive.leg(), root.z * archive.leg(), root.yaw.to_degrees()],
            bytes: info.bytes,
            row_bytes: clip.bytes(),
            error_mm: f64::from(info.error) * 1e3,
        });
    }
    let topology = archive.topology();
    let named = |key: &JointKey| match key {
        JointKey::Role(role) => role.to_string(),
        JointKey::Named(name) => name.clone(),
    };
    let inspection = ArchiveInspection {
        version: VERSION,
        bytes: archive.bytes(),
        row_bytes: clips.iter().map(|clip| clip.row_bytes).sum(),
        rig: archive.rig().to_owned(),
        leg_m: archive.leg(),
        tolerance_mm: millimetres(archive.tolerance()),
        shell_mm: millimetres(archive.shell()),
        joints: topology.keys().iter().map(named).collect(),
        shared_joints: archive.shared_joints(),
        clips,
    };
    if json {
        output::print_json(&inspection);
        return Ok(());
    }
    output::say(format!("{}", path.display()));
    output::say(format!(
        "  version {}; {} bytes for {} bytes of rows; {} clips of {} joints, {} told once for all",
        inspection.version,
        grouped(inspection.bytes),
        grouped(inspection.row_bytes),
        inspection.clips.len(),
        inspection.joints.len(),
        inspection.shared_joints,
    ));
    output::say(format!(
        "  packed for {}, leg {:.3} m, to {} mm at the joints and {} mm off them",
        inspection.rig, inspection.leg_m, inspection.tolerance_mm, inspection.shell_mm,
    ));
    output::block("");
    let heads = ["clip", "s", "keys", "loop", "events", "left m", "ahead m", "turn deg", "bytes", "error mm"];
    let mut table = table(&heads);
    for clip in &inspection.clips {
        let [left, ahead, turn] = clip.root;
        table.add_row([
            clip.name.clone(),
            format!("{:.2}", clip.seconds),
            clip.keys.to_string(),
            if clip.looping { "yes" } else { "" }.to_owned(),
            clip.events.to_string(),
            format!("{left:.2}"),
            format!("{ahead:.2}"),
            format!("{turn:.1}"),
            grouped(clip.bytes),
            format!("{:.3}", clip.error_mm),
        ]);
    }
    align_right(&mut table, 1..heads.len());
    output::block(table);
    Ok(())
}

/// Of a length in metres, without the digits that single precision makes up.
fn millimetres(metres: f32) -> f64 {
    (f64::from(metres) * 1e7).round() / 1e4
}

#[derive(Serialize)]
struct ArchiveInspection {
    version: u32,
    bytes: usize,
    /// Of the clips, unpacked.
    row_bytes: usize,
    rig: String,
    leg_m: f32,
    tolerance_mm: f64,
    shell_mm: f64,
    joints: Vec<String>,
    shared_joints: usize,
    clips: Vec<PackedClip>,
}

#[derive(Serialize)]
struct PackedClip {
    name: String,
    seconds: f32,
    keys: u32,
    looping: bool,
    events: usize,
    contacts: bool,
    /// Metres to the left and ahead of the rig that it was packed for, and degrees.
    root: [f32; 3],
    bytes: usize,
    row_bytes: usize,
    error_mm: f64,
}
