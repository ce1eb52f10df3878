//! `render`: a PNG of characters.

use glam::{Mat4, Vec3};
use serde::Serialize;
use throng::clip::RawClip;
use throng::rig::RawCharacter;

use crate::args::{GroundName, RenderArgs};
use crate::draw::sheet::{Format, Sheet};
use crate::draw::{Scene, Surface, bones, character_colour, ground, skin};
use crate::figure::figure;
use crate::output::{self, Failure};
use crate::progress;

#[derive(Serialize)]
struct Report {
    output: String,
    character: String,
    clip: String,
    size: [u32; 2],
    times_s: Vec<f32>,
    cameras: Vec<String>,
}

/// Runs the command.
pub fn run(options: &RenderArgs, json: bool) -> Result<(), Failure> {
    let (character, clip) = figure();
    let columns = if options.at.is_some() { 1 } else { u32::from(options.frames) };
    let times: Vec<f32> = match options.at {
        Some(time) => vec![time],
        // A loop's last pose is its first, so the end is left out.
        None => (0..columns).map(|c| clip.duration * c as f32 / columns as f32).collect(),
    };
    let title = format!("{}   {}   {:.2} s", character.name, clip.name, clip.duration);
    let format = Format { size: options.size, samples: options.samples };
    let mut sheet = Sheet::new(format, &options.camera, columns, &title);
    let bar = progress::bar(u64::from(columns), "drawing");
    for (column, &time) in times.iter().enumerate() {
        let scene = posed(&character, &clip, time, options);
        sheet.column(column as u32, &scene, &format!("{time:.2} s"));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let png = sheet
        .png()
        .map_err(|error| Failure::Output { path: options.output.clone(), what: error.to_string() })?;
    let inputs: Vec<_> = options.clips.iter().map(|path| path.as_path()).collect();
    output::write_whole(&options.output, &png, &inputs)?;
    if json {
        output::print_json(&Report {
            output: options.output.display().to_string(),
            character: character.name,
            clip: clip.name,
            size: options.size,
            times_s: times,
            cameras: options.camera.iter().map(|view| view.label()).collect(),
        });
    } else {
        println!("{}", options.output.display());
    }
    Ok(())
}

fn posed(character: &RawCharacter, clip: &RawClip, time: f32, options: &RenderArgs) -> Scene {
    let skeleton = &character.skeleton;
    let rest = skeleton.model_matrices(&skeleton.rest_pose());
    let models: Vec<Mat4> = skeleton.model_matrices(&clip.sample(skeleton, time));
    let (low, high) = bones::bounds(&rest);
    let extent = (high - low).y.max(0.5 * (high - low).max_element());
    let hips = models[usize::from(models.len() > 1)].w_axis.truncate();
    let focus = hips.with_y(0.0);
    let mut solids = vec![match options.ground {
        GroundName::Flat => ground::height_field(focus, 2.6 * extent, 24, &|_, _| 0.0),
        GroundName::HillsAndSteps => ground::height_field(focus, 2.6 * extent, 120, &|x, z| {
            0.1 * (x * 1.3).sin() + 0.15 * (z * 1.1).cos()
        }),
    }];
    if character.meshes.is_empty() || options.bones {
        solids.push(bones::solid(skeleton, &rest, &models));
    }
    for mesh in character.meshes.iter().filter(|_| !options.bones) {
        solids.push(skin::solid(
            mesh,
            &character.skins[mesh.skin],
            &models,
            Surface::Plain(character_colour(0)),
        ));
    }
    Scene { solids, focus, heading: Vec3::Z, extent }
}
