//! `render`: a PNG of characters.

use serde::Serialize;
use throng::clip::{FootContacts, Interval, RawClip};
use throng::rig::Side;

use crate::args::{GroundName, RenderArgs};
use crate::draw::camera::View;
use crate::draw::sheet::{Format, Sheet};
use crate::draw::{Scene, ground};
use crate::output::{self, Failure};
use crate::pose::{self, Look};
use crate::progress;
use crate::source::{self, Subject};

/// Pixels of a sheet beyond which no viewer opens it.
const MOST_PIXELS: u64 = 100_000_000;

/// Different characters in a crowd of built-in ones.
const MOST_DIFFERENT: usize = 40;

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
    let look = Look { bones: options.bones };
    let usual = if options.crowd.is_some() { [1280, 720] } else { [240, 320] };
    let format = Format { size: options.size.unwrap_or(usual), samples: options.samples };
    let (png, report) = match options.crowd {
        Some(count) => crowd(options, count as usize, look, format)?,
        None => single(options, &source::load(options)?, look, format)?,
    };
    output::write_whole(&options.output, &png)?;
    if json {
        output::print_json(&report);
    } else {
        output::say(&report.output);
    }
    Ok(())
}

fn single(
    options: &RenderArgs,
    subject: &Subject,
    look: Look,
    format: Format,
) -> Result<(Vec<u8>, Report), Failure> {
    let clip = subject.clip(options.clip.as_deref())?;
    let columns = if options.at.is_some() || clip.duration == 0.0 { 1 } else { u32::from(options.frames) };
    let times: Vec<f32> = match options.at {
        Some(time) => vec![time],
        // A loop's last pose is its first, so the end is left out.
        None => (0..columns).map(|column| clip.duration * column as f32 / columns as f32).collect(),
    };
    let pixels = format.size.map(u64::from).iter().product::<u64>();
    let pictures = u64::from(columns) * options.camera.len() as u64;
    if pixels * pictures > MOST_PIXELS {
        return Err(Failure::usage(
            format!(
                "{pictures} pictures of {} x {} pixels are too much for one sheet",
                format.size[0], format.size[1]
            ),
            "take a smaller --size, fewer --frames or fewer cameras",
        ));
    }
    let title = format!("{}   {}   {:.2} s", subject.character.name, clip.name, clip.duration);
    let mut sheet = Sheet::new(format, &options.camera, columns, &title);
    let bar = progress::bar(u64::from(columns), "drawing");
    for (column, &time) in times.iter().enumerate() {
        let mut scene = pose::single(subject, clip, time, look);
        stand_on(&mut scene, options.ground, 2.6)?;
        sheet.column(column as u32, &scene, &format!("{time:.2} s{}", contacts(clip, time)));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((png(&sheet, options)?, report(options, format, &subject.character.name, &clip.name, times)))
}

fn crowd(
    options: &RenderArgs,
    count: usize,
    look: Look,
    format: Format,
) -> Result<(Vec<u8>, Report), Failure> {
    let cast = source::cast(options, count.min(MOST_DIFFERENT))?;
    let (name, clip) = match cast.as_slice() {
        [(subject, clip)] => (subject.character.name.clone(), clip.name.clone()),
        _ => ("mixed".to_owned(), options.clip.clone().unwrap_or_else(|| "mixed".to_owned())),
    };
    let mut scene = pose::crowd(&cast, count, look);
    stand_on(&mut scene, options.ground, 3.0)?;
    let mut sheet = Sheet::new(format, &[View::High], 1, "");
    sheet.column(0, &scene, "");
    Ok((png(&sheet, options)?, report(options, format, &name, &clip, vec![0.0])))
}

/// Which parts of which foot the clip says are down: `L hb R .b` for both of the left one and the
/// right ball.
fn contacts(clip: &RawClip, time: f32) -> String {
    let down = |intervals: &[Interval]| intervals.iter().any(|interval| interval.contains(time));
    let foot = |foot: &FootContacts| {
        let side = if foot.side == Side::Left { 'L' } else { 'R' };
        let heel = if down(&foot.heel) { 'h' } else { '.' };
        let ball = if down(&foot.ball) { 'b' } else { '.' };
        format!("  {side} {heel}{ball}")
    };
    clip.contacts.iter().flat_map(|contacts| &contacts.feet).map(foot).collect()
}

/// Puts ground under the scene, out to `reach` times its extent.
fn stand_on(scene: &mut Scene, ground: GroundName, reach: f32) -> Result<(), Failure> {
    let radius = reach * scene.extent;
    scene.solids.push(match ground {
        GroundName::Flat => ground::height_field(scene.focus, radius, 24, &|_, _| 0.0),
        GroundName::HillsAndSteps => return Err(Failure::NotBuilt("render --ground hills-and-steps")),
    });
    Ok(())
}

fn png(sheet: &Sheet, options: &RenderArgs) -> Result<Vec<u8>, Failure> {
    sheet.png().map_err(|error| Failure::Output { path: options.output.clone(), what: error.to_string() })
}

fn report(options: &RenderArgs, format: Format, character: &str, clip: &str, times_s: Vec<f32>) -> Report {
    Report {
        output: options.output.display().to_string(),
        character: character.to_owned(),
        clip: clip.to_owned(),
        size: format.size,
        times_s,
        cameras: options.camera.iter().map(|view| view.label()).collect(),
    }
}

fn list(json: bool) {
    let (characters, clips) = (source::character_names(), source::clip_names());
    if json {
        output::print_json(&List { characters, clips });
    } else {
        let block = |lines: &[String]| lines.join("\n  ");
        output::say(format!("characters\n  {}\nclips\n  {}", block(&characters), block(&clips)));
    }
}
