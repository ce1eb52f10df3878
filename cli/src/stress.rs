//! `stress`: a crowd over uneven ground, timed and judged.

use serde::Serialize;
use throng::crowd::CrowdConfig;
use throng::lanes::{Isa, Mode, Simd};
use throng::stress::{
    self, Progress, Quality, RunOptions, Scene, SceneOptions, StressError, StressReport, Tier, UserFiles,
};

use crate::args::StressArgs;
use crate::output::{self, Failure};
use crate::table::{align_right, grouped, table};
use crate::{files, progress};

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    report: &'a StressReport,
    /// Why the run fails, if it does.
    failure: Option<&'a str>,
    /// Largest shares of stances, which give way where there are few.
    limits: Option<Limits>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct Limits {
    unreachable_stance_percent: f64,
    straddling_stance_percent: f64,
}

impl Limits {
    fn of(quality: &Quality) -> Self {
        Self {
            unreachable_stance_percent: quality.unreachable_limit_percent(),
            straddling_stance_percent: quality.straddling_limit_percent(),
        }
    }
}

/// Runs the command.
pub fn run(options: &StressArgs, json: bool) -> Result<(), Failure> {
    let (mut scene, warnings) = build(options)?;
    if let Some(periods) = options.tiers {
        let shared = scene.crowd.set_periods(periods).and_then(|()| scene.share_tiers());
        shared.map_err(|error| Failure::Engine(error.to_string()))?;
    }
    for warning in &warnings {
        output::warn(warning);
    }
    let run = RunOptions {
        seconds: f64::from(options.seconds),
        threads: threads(options.threads.into()),
        judged: options.judged,
        ..RunOptions::default()
    };
    let mut part = "warming up";
    let bar = progress::bar(1, part);
    let mut tell = |now: Progress| {
        if part != now.part {
            part = now.part;
            bar.reset();
            bar.set_message(part);
        }
        bar.set_length(now.all as u64);
        bar.set_position(now.done as u64);
    };
    let report = stress::run(&mut scene, &run, &mut tell).map_err(refused)?;
    bar.finish_and_clear();
    let failure = report.failure();
    if json {
        let limits = report.quality.as_ref().map(Limits::of);
        let failure = failure.as_deref();
        output::print_json(&Document { report: &report, failure, limits, warnings: &warnings });
    } else {
        print(&report);
    }
    failure.map_or(Ok(()), |what| Err(Failure::Check(what)))
}

fn build(options: &StressArgs) -> Result<(Scene, Vec<String>), Failure> {
    let simd = simd(options.isa.as_deref(), options.strict)?;
    let config = CrowdConfig { simd, interpolate: options.tiers.is_some(), ..CrowdConfig::default() };
    let characters = options.characters as usize;
    let bar = progress::spinner("building");
    let built = match &options.character {
        Some(character) => {
            let files = UserFiles {
                character: character.clone(),
                clips: options.clips.clone(),
                contacts: options.contacts.clone(),
                overrides: options.overrides.clone(),
                options: options.files.options(),
            };
            files.build(characters, options.ground.kind(), config)
        }
        None if !options.clips.is_empty() => {
            return Err(Failure::usage(
                "--clips needs the character that plays them",
                "name its file with --character FILE",
            ));
        }
        None => {
            let mut scene = SceneOptions {
                characters,
                terrain: options.ground.kind(),
                config,
                ..SceneOptions::default()
            };
            if let Some(gait) = options.gait {
                scene = SceneOptions {
                    terrain: scene.terrain,
                    config,
                    ..SceneOptions::gait(gait.kind(), characters)
                };
            }
            scene.rigs = options.rigs.map_or(scene.rigs, |rigs| rigs as usize);
            scene.library = options.library.map_or(scene.library, |library| library as usize);
            Scene::build(&scene).map(|scene| (scene, Vec::new()))
        }
    };
    bar.finish_and_clear();
    built.map_err(refused)
}

/// The instruction set of that name, or of the environment, in the mode asked for.
pub fn simd(isa: Option<&str>, strict: bool) -> Result<Simd, Failure> {
    let mode = if strict { Mode::Strict } else { Mode::Fast };
    let isa = isa.map_or_else(Isa::from_env, Isa::by_name).map_err(|error| {
        Failure::usage(error.to_string(), "without --isa and THRONG_ISA the widest set is taken")
    })?;
    Ok(Simd::new(isa, mode))
}

/// Worker threads; 0 stands for as many as the machine has.
pub fn threads(asked: usize) -> usize {
    if asked > 0 { asked } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

/// What the library will not build or run, as the command's own failure.
pub fn refused(error: StressError) -> Failure {
    match error {
        StressError::Import(error) => files::refused(error),
        StressError::Archive { path, reason } => Failure::input(&path, reason).hinted(output::PACK_AGAIN),
        StressError::Threads { .. } => Failure::usage(error.to_string(), "ask for fewer with --threads"),
        StressError::Scene { what, right } => Failure::Unusable { what, hint: right.to_owned() },
        other => Failure::Engine(other.to_string()),
    }
}

fn tiers(tiers: &[Tier]) -> impl std::fmt::Display + use<> {
    let mut table = table(&[
        "tier",
        "characters",
        "period",
        "us/character",
        "gap mm",
        "penetration mm",
        "slide mm",
        "between stance poses",
    ]);
    for tier in tiers {
        let mm = |value: fn(&Quality) -> f64| {
            tier.quality.as_ref().map_or("-".to_owned(), |quality| format!("{:.2}", value(quality)))
        };
        table.add_row([
            tier.name.to_owned(),
            grouped(tier.characters),
            tier.period.to_string(),
            format!("{:.3}", tier.us_per_character),
            mm(|quality| quality.stance_gap_mm_p99),
            mm(|quality| quality.stance_penetration_mm_p99),
            mm(|quality| quality.stance_slide_mm_p99),
            mm(|quality| quality.slide_within_mm_p99),
        ]);
    }
    align_right(&mut table, 1..8);
    table
}

fn print(report: &StressReport) {
    output::say(&report.machine);
    output::say(format!(
        "{} characters, {} rigs, {} clips, {}, {:.1} s; lanes {:.0} % full, {:.0} % of blocks uniform",
        grouped(report.characters),
        report.rigs,
        report.library_clips,
        report.ground,
        report.seconds,
        100.0 * report.occupancy,
        report.uniform_block_percent,
    ));
    output::block("");
    let mut stages = table(&["stage", "ns/character"]);
    for stage in &report.stages {
        stages.add_row([stage.name.to_owned(), format!("{:.1}", stage.ns_per_character)]);
    }
    if !report.stages.is_empty() {
        let together: f64 = report.stages.iter().map(|stage| stage.ns_per_character).sum();
        stages.add_row(["together".to_owned(), format!("{together:.1}")]);
    }
    stages.add_row(["frame".to_owned(), format!("{:.1}", 1000.0 * report.us_per_character)]);
    let host = report.host;
    let changes = host.changes.transitions + host.changes.cross_fades;
    if changes > 0 {
        let frames = 60.0 * report.seconds;
        let per_frame = 1000.0 * host.us_per_change * changes as f64 / frames / report.characters as f64;
        stages.add_row(["beside: transition_to".to_owned(), format!("{per_frame:.1}")]);
    }
    align_right(&mut stages, 1..2);
    output::block(stages);
    output::say(match report.stages.is_empty() {
        true => {
            "frame: the median of the walk. No stages: a frame that is cut short leaves its poses to the next where tiers take turns"
        }
        false => {
            "stages: medians after the walk; frame: the median of the walk; clips change in both. A machine that changes its \
             speed in between sets them apart"
        }
    });
    if changes > 0 {
        output::say("beside the frame: calls of the host's that start transitions");
    }
    let mut frame = table(&["frame", "ms"]);
    let times = report.frame_us;
    for (name, us) in [("median", times.p50), ("99th percentile", times.p99), ("longest", times.max)] {
        frame.add_row([name.to_owned(), format!("{:.2}", us / 1000.0)]);
    }
    align_right(&mut frame, 1..2);
    output::block(format!("\n{frame}\n"));
    if report.tiers.len() > 1 {
        output::block(format!("{}\n", tiers(&report.tiers)));
    }
    let to_start = match changes {
        0 => String::new(),
        _ => format!(" ({:.1} us to start one)", host.us_per_change),
    };
    output::say(format!(
        "{} transitions, {} cross-fades{to_start}, {} events, {} lost",
        grouped(host.changes.transitions),
        grouped(host.changes.cross_fades),
        grouped(host.events),
        host.events_lost,
    ));
    output::block("");
    let Some(quality) = &report.quality else {
        output::say(format!(
            "feet not judged: {}",
            report.quality_reason.map_or("no reason given", in_words)
        ));
        return;
    };
    let mut feet = table(&["feet on the ground", "", "at most"]);
    let limits = Limits::of(quality);
    let percent = |limit: f64| format!("{} %", (10.0 * limit).round() / 10.0);
    let [reach, riser] = [limits.unreachable_stance_percent, limits.straddling_stance_percent].map(percent);
    let rows = [
        ("gap, 99th percentile", format!("{:.2} mm", quality.stance_gap_mm_p99), ""),
        ("penetration, 99th percentile", format!("{:.2} mm", quality.stance_penetration_mm_p99), ""),
        ("slide, 99th percentile", format!("{:.2} mm", quality.stance_slide_mm_p99), ""),
        ("stances out of reach", format!("{:.2} %", quality.unreachable_stance_percent), &reach),
        ("stances over a riser", format!("{:.2} %", quality.straddling_stance_percent), &riser),
    ];
    for (name, value, limit) in rows {
        feet.add_row([name, &value, limit]);
    }
    align_right(&mut feet, 1..3);
    output::block(feet);
    output::say(format!(
        "{} characters judged, {} stances",
        report.judged_characters,
        grouped(quality.stances as usize)
    ));
    if quality.stances < Quality::ENOUGH_STANCES {
        output::say(format!(
            "fewer than {} stances: the limits are as much wider as chance makes shares of so few",
            grouped(Quality::ENOUGH_STANCES as usize)
        ));
    }
}

/// Why feet are not judged.
fn in_words(reason: &str) -> &str {
    match reason {
        "not_judged" => "--judged is 0",
        "no_authored_contacts" => {
            "nobody plays a clip with authored contacts alone, so it is not known when a foot should stand; with \
             --character, --contacts names a file of them"
        }
        "no_legs" => "nobody has a leg whose thigh, shin and foot are known by their roles and carry a mesh",
        "palette_format" => "positions cannot be read from palettes of this format",
        "no_stances" => "no foot came down in this time; let them walk for longer with --seconds",
        other => other,
    }
}
