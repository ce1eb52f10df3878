//! `render`: a PNG of characters.

use std::f32::consts::{PI, TAU};

use glam::Vec3;
use serde::Serialize;
use throng::clip::{FootContacts, Interval, RawClip};
use throng::rig::Side;
use throng::stress::Terrain;

use crate::args::RenderArgs;
use crate::body::{Look, Pose};
use crate::draw::camera::View;
use crate::draw::sheet::{Format, Sheet};
use crate::draw::{Scene, character_colour};
use crate::live::{Entrance, Live, STEP};
use crate::output::{self, Failure};
use crate::progress;
use crate::source::{self, Subject};
use crate::terrain;

/// Pixels of a sheet beyond which no viewer opens it.
const MOST_PIXELS: u64 = 100_000_000;

/// Different characters in a crowd of built-in ones.
const MOST_DIFFERENT: usize = 40;

/// Metres between samples of drawn ground: the width of a riser.
const CELL: f32 = 0.05;

/// Seconds that characters walk before the first picture, so that what is smoothed over time has settled.
const WARM_UP: f32 = 1.0;

#[derive(Default, Serialize)]
struct Report {
    output: String,
    character: String,
    clip: String,
    ground: &'static str,
    solved: bool,
    size: [u32; 2],
    times_s: Vec<f32>,
    cameras: Vec<String>,
    warnings: Vec<String>,
}

impl Report {
    /// What the options alone say.
    fn of(options: &RenderArgs, format: Format) -> Self {
        Self {
            output: options.output.display().to_string(),
            ground: options.ground.kind().name(),
            solved: !options.raw,
            size: format.size,
            ..Self::default()
        }
    }
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
    output::refuse_inputs(&options.output, &source::inputs(options), output::PICTURE, "-o")?;
    output::refuse_ending(&options.output, output::PICTURE, "-o")?;
    let usual = if options.crowd.is_some() { [1280, 720] } else { [240, 320] };
    let format = Format { size: options.size.unwrap_or(usual), samples: options.samples };
    let (png, report) = match options.crowd {
        Some(count) => crowd(options, count as usize, format)?,
        None => single(options, format)?,
    };
    output::write_whole(&options.output, &png)?;
    report.warnings.iter().for_each(output::warn);
    if json {
        output::print_json(&report);
    } else {
        output::say(&report.output);
    }
    Ok(())
}

fn single(options: &RenderArgs, format: Format) -> Result<(Vec<u8>, Report), Failure> {
    let mut subject = source::load(options)?;
    subject.motions = vec![subject.motion(options.clip.as_deref())?.clone()];
    let clip = &subject.motions[0].clip;
    let columns = if options.at.is_some() || clip.duration == 0.0 { 1 } else { u32::from(options.frames) };
    let times: Vec<f32> = match options.at {
        Some(time) => vec![time],
        // A loop's last pose is its first, so the end is left out.
        None => (0..columns).map(|column| clip.duration * column as f32 / columns as f32).collect(),
    };
    refuse_giant(format, columns, options.camera.len())?;
    let title = format!(
        "{}   {}   {:.2} s   {}",
        subject.body.character.name,
        clip.name,
        clip.duration,
        if options.raw { "raw" } else { options.ground.kind().name() }
    );
    let look = Look { bones: options.bones, colour: None };
    let ground =
        Terrain::new(options.ground.kind(), 1).map_err(|error| Failure::Engine(error.to_string()))?;
    let mut sheet = Sheet::new(format, &options.camera, columns, &title);
    let bar = progress::bar(u64::from(columns), "drawing");
    let mut draw = |column: usize, pose: &Pose| {
        let mut scene = Scene {
            solids: subject.body.solids(pose, look),
            focus: pose.place,
            heading: pose.heading,
            extent: subject.body.extent,
        };
        let radius = 2.6 * scene.extent;
        scene.solids.push(terrain::solid(&ground, scene.focus, radius, CELL));
        // What is shown between two poses is so much older; the clip's contacts are those of what is shown.
        let time = times[column];
        let shown = time - f32::from(options.period - 1) * STEP;
        sheet.column(column as u32, &scene, &format!("{time:.2} s{}", contacts(clip, shown)));
        bar.inc(1);
    };
    if options.raw {
        let clip = subject.motions[0].rebound(&subject.body.character.skeleton)?;
        for (column, &time) in times.iter().enumerate() {
            draw(column, &subject.body.raw(&clip, time, look));
        }
    } else {
        let cast = std::slice::from_ref(&subject);
        let [x, z] = options.from;
        // A whole number of cycles: the phase of the first picture is that of its time.
        let warm_up = if clip.looping { (WARM_UP / clip.duration).ceil() * clip.duration } else { 0.0 };
        let entrance = Entrance { subject: 0, x, z, yaw: options.turn.to_radians(), time: 0.0 };
        let mut live = Live::new(cast, &[entrance], look, &ground, options.period)?;
        let mut now = -warm_up;
        for (column, &time) in times.iter().enumerate() {
            now = walk(&mut live, now, time)?;
            draw(column, &live.pose(0)?.1);
        }
    }
    bar.finish_and_clear();
    let report = Report {
        character: subject.body.character.name.clone(),
        clip: clip.name.clone(),
        times_s: times,
        cameras: options.camera.iter().map(|view| view.label()).collect(),
        warnings: subject.warnings.clone(),
        ..Report::of(options, format)
    };
    Ok((png(&sheet, options)?, report))
}

/// Frames from time `now` to `time`; the last one is shorter so that it ends there.
fn walk(live: &mut Live<'_>, now: f32, time: f32) -> Result<f32, Failure> {
    let steps = ((time - now) / STEP).ceil().max(1.0);
    let dt = (time - now) / steps;
    for _ in 0..steps as u32 {
        live.step(dt)?;
    }
    Ok(time)
}

fn crowd(options: &RenderArgs, count: usize, format: Format) -> Result<(Vec<u8>, Report), Failure> {
    refuse_giant(format, 1, 1)?;
    let cast = source::cast(options, count.min(MOST_DIFFERENT))?;
    let (name, clip) = match cast.as_slice() {
        [alone] => (alone.body.character.name.clone(), alone.motions[0].clip.name.clone()),
        _ => ("mixed".to_owned(), options.clip.clone().unwrap_or_else(|| "mixed".to_owned())),
    };
    let ground =
        Terrain::new(options.ground.kind(), 1).map_err(|error| Failure::Engine(error.to_string()))?;
    let look = Look { bones: options.bones, colour: Some(Vec3::ONE) };
    let spread = cast.iter().map(|subject| 0.7 * subject.body.extent).fold(0.1, f32::max);
    let entrances: Vec<Entrance> =
        (0..count).map(|index| entrance(index, &cast, spread, options.from)).collect();
    let mut live = Live::new(&cast, &entrances, look, &ground, options.period)?;
    let time = options.at.unwrap_or(WARM_UP);
    let bar = progress::bar(1, "walking");
    walk(&mut live, 0.0, time)?;
    bar.finish_and_clear();
    let mut solids = Vec::new();
    let (mut low, mut high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
    for index in 0..count {
        let (subject, pose) = live.pose(index)?;
        (low, high) = (low.min(pose.place), high.max(pose.place));
        solids.extend(subject.body.solids(&pose, Look { colour: Some(character_colour(index)), ..look }));
    }
    let extent = 0.5 * (high - low).with_y(0.0).max_element() + spread;
    let mut scene = Scene { solids, focus: 0.5 * (low + high), heading: Vec3::Z, extent };
    scene.solids.push(terrain::solid(&ground, scene.focus, 3.0 * extent, CELL));
    let mut sheet = Sheet::new(format, &[View::High], 1, "");
    sheet.column(0, &scene, "");
    let warnings = cast.iter().flat_map(|subject| subject.warnings.iter().cloned()).collect();
    let (times_s, cameras) = (vec![time], vec![View::High.label()]);
    let report = Report { character: name, clip, times_s, cameras, warnings, ..Report::of(options, format) };
    Ok((png(&sheet, options)?, report))
}

/// In a disc, evenly without rows, as the seeds of a sunflower; each at a phase and heading of its own.
fn entrance(index: usize, cast: &[Subject], spread: f32, [x, z]: [f32; 2]) -> Entrance {
    let subject = index % cast.len();
    let (radius, angle) = (spread * (index as f32 / PI).sqrt(), index as f32 * PI * (3.0 - 5.0_f32.sqrt()));
    Entrance {
        subject,
        x: x + radius * angle.sin(),
        z: z + radius * angle.cos(),
        yaw: (index as f32 * 0.754_877_7).fract() * TAU,
        time: (index as f32 * 0.569_840_3).fract() * cast[subject].motions[0].clip.duration,
    }
}

fn refuse_giant(format: Format, columns: u32, rows: usize) -> Result<(), Failure> {
    let [width, height] = format.size;
    let pictures = u64::from(columns) * rows as u64;
    if u64::from(width) * u64::from(height) * pictures <= MOST_PIXELS {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{pictures} pictures of {width} x {height} pixels are too much for one sheet"),
        "take a smaller --size, fewer --frames or fewer cameras",
    ))
}

/// Which parts of which foot the clip says are down: `L hb R .b` for both of the left one and the
/// right ball.
fn contacts(clip: &RawClip, time: f32) -> String {
    let time = if clip.looping && clip.duration > 0.0 { time.rem_euclid(clip.duration) } else { time };
    let down = |intervals: &[Interval]| intervals.iter().any(|interval| interval.contains(time));
    let foot = |foot: &FootContacts| {
        let side = if foot.side == Side::Left { 'L' } else { 'R' };
        let heel = if down(&foot.heel) { 'h' } else { '.' };
        let ball = if down(&foot.ball) { 'b' } else { '.' };
        format!("  {side} {heel}{ball}")
    };
    clip.contacts.iter().flat_map(|contacts| &contacts.feet).map(foot).collect()
}

fn png(sheet: &Sheet, options: &RenderArgs) -> Result<Vec<u8>, Failure> {
    sheet.png().map_err(|error| Failure::output(&options.output, error))
}

fn list(json: bool) {
    let (characters, clips) = (source::character_names(), source::clip_names());
    if json {
        output::print_json(&List { characters, clips });
    } else {
        let block = |lines: &[String]| lines.join("\n  ");
        output::block(format!("characters\n  {}\nclips\n  {}", block(&characters), block(&clips)));
    }
}
