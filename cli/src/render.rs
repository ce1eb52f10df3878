//! `render`: a PNG of characters.

use serde::Serialize;

use crate::args::{GroundName, RenderArgs};
use crate::draw::ground;
use crate::draw::sheet::{Format, Sheet};
use crate::output::{self, Failure};
use crate::pose::{self, Look};
use crate::{progress, source};

#[derive(Serialize)]
struct Report {
    output: String,
    character: String,
    clip: String,
    size: [u32; 2],
    times_s: Vec<f32>,
    cameras: Vec<String>,
}

#[derive(Serialize)]
struct List {
    characters: Vec<String>,
    clips: Vec<String>,
}

/// Runs the command.
pub fn run(options: &RenderArgs, json: bool) -> Result<(), Failure> {
    if options.list {
        list(json);
        return Ok(());
    }
    output::refuse_inputs(&options.output, &source::inputs(options))?;
    let subject = source::load(options)?;
    let clip = subject.clip(options.clip.as_deref())?;
    let columns = if options.at.is_some() { 1 } else { u32::from(options.frames) };
    let times: Vec<f32> = match options.at {
        Some(time) => vec![time],
        // A loop's last pose is its first, so the end is left out.
        None => (0..columns).map(|column| clip.duration * column as f32 / columns as f32).collect(),
    };
    let title = format!("{}   {}   {:.2} s", subject.character.name, clip.name, clip.duration);
    let format = Format { size: options.size, samples: options.samples };
    let mut sheet = Sheet::new(format, &options.camera, columns, &title);
    let bar = progress::bar(u64::from(columns), "drawing");
    for (column, &time) in times.iter().enumerate() {
        let mut scene = pose::single(&subject, clip, time, Look { bones: options.bones });
        let radius = 2.6 * scene.extent;
        scene.solids.push(match options.ground {
            GroundName::Flat => ground::height_field(scene.focus, radius, 24, &|_, _| 0.0),
            GroundName::HillsAndSteps => return Err(Failure::NotBuilt("render --ground hills-and-steps")),
        });
        sheet.column(column as u32, &scene, &format!("{time:.2} s"));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let png = sheet
        .png()
        .map_err(|error| Failure::Output { path: options.output.clone(), what: error.to_string() })?;
    output::write_whole(&options.output, &png)?;
    if json {
        output::print_json(&Report {
            output: options.output.display().to_string(),
            character: subject.character.name.clone(),
            clip: clip.name.clone(),
            size: options.size,
            times_s: times,
            cameras: options.camera.iter().map(|view| view.label()).collect(),
        });
    } else {
        println!("{}", options.output.display());
    }
    Ok(())
}

fn list(json: bool) {
    let (characters, clips) = source::built_in();
    if json {
        output::print_json(&List { characters, clips });
    } else {
        println!("characters\n  {}\nclips\n  {}", characters.join("\n  "), clips.join("\n  "));
    }
}
