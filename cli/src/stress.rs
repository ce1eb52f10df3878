//! `stress`: a crowd over uneven ground, timed and judged.

use std::io::IsTerminal;

use throng::crowd::CrowdConfig;
use throng::lanes::{Isa, Mode, Simd};
use throng::stress::{
    RunOptions, Scene, SceneOptions, StressError, StressReport, TerrainKind, UserFiles, run as run_scene,
};

use crate::args::{GroundName, StressArgs};
use crate::output::{self, Failure};
use crate::{progress, table};

/// Runs the command.
pub fn run(options: &StressArgs, json: bool) -> Result<(), Failure> {
    if !options.clips.is_empty() && options.character.is_none() {
        return Err(Failure::usage("--clips needs a character to play them", "add --character FILE"));
    }
    let terrain = match options.ground {
        GroundName::Flat => TerrainKind::Flat,
        GroundName::HillsAndSteps => TerrainKind::HillsAndSteps,
    };
    let config = CrowdConfig { simd: simd(options)?, ..CrowdConfig::default() };
    let characters = options.characters as usize;
    let building = progress::bar(1, "building");
    let (mut scene, warnings) = match &options.character {
        Some(character) => {
            let files = UserFiles { character: character.clone(), clips: options.clips.clone() };
            files.build(characters, terrain, config).map_err(failure)?
        }
        None => {
            let options = SceneOptions { characters, terrain, config, ..SceneOptions::default() };
            (Scene::build(&options).map_err(failure)?, Vec::new())
        }
    };
    building.finish_and_clear();
    for warning in &warnings {
        eprintln!("warning: {warning}");
    }
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let run_options = RunOptions { seconds: options.seconds.into(), threads, ..RunOptions::default() };
    let bar = progress::bar(1, "walking");
    let report = run_scene(&mut scene, &run_options, &mut |done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    })
    .map_err(failure)?;
    bar.finish_and_clear();
    if json {
        output::print_json(&report);
    } else {
        print(&report);
    }
    report.failure().map_or(Ok(()), |what| Err(Failure::Check(what)))
}

fn simd(options: &StressArgs) -> Result<Simd, Failure> {
    let mode = if options.strict { Mode::Strict } else { Mode::Fast };
    let isa = match &options.isa {
        Some(name) => Isa::by_name(name),
        None => Isa::from_env(),
    };
    let isa = isa.map_err(|error| Failure::usage(error.to_string(), "leave --isa out for the widest set"))?;
    Ok(Simd::new(isa, mode))
}

fn failure(error: StressError) -> Failure {
    match error {
        StressError::Import(error) => Failure::input(&error.file.clone(), error.kind),
        StressError::Threads { .. } => Failure::usage(error.to_string(), "ask for fewer with --threads"),
        StressError::Scene { ref right, .. } => Failure::usage(error.to_string(), *right),
        other => Failure::Check(other.to_string()),
    }
}

fn print(report: &StressReport) {
    let StressReport { frame_us, .. } = report;
    output::say(&report.machine);
    output::say(format!(
        "{} characters, {} rigs, {} clips, {:.1} s on {}; lanes {:.0} % full, {:.0} % of blocks of one rig",
        report.characters,
        report.rigs,
        report.library_clips,
        report.seconds,
        report.ground,
        100.0 * report.occupancy,
        report.uniform_block_percent,
    ));
    let mut stages = table::table(&["stage", "ns per character"]);
    for stage in &report.stages {
        stages.add_row([stage.name.to_owned(), format!("{:.0}", stage.ns_per_character)]);
    }
    let total: f64 = report.stages.iter().map(|stage| stage.ns_per_character).sum();
    stages.add_row(["frame".to_owned(), format!("{total:.0}")]);
    table::align_right(&mut stages, 1..2);
    output::say(format!("\n{stages}\n"));
    output::say(format!(
        "frame     {:.2} ms median, {:.2} ms p99, {:.2} ms longest; {:.3} us per character",
        frame_us.p50 / 1e3,
        frame_us.p99 / 1e3,
        frame_us.max / 1e3,
        report.us_per_character,
    ));
    match (&report.quality, report.quality_reason) {
        (Some(q), _) => output::say(format!(
            "feet      gap {:.1} mm, penetration {:.1} mm, slide {:.1} mm (p99 of {} stances of {} characters); \
             out of reach {:.2} %, over a riser {:.1} %",
            q.stance_gap_mm_p99,
            q.stance_penetration_mm_p99,
            q.stance_slide_mm_p99,
            q.stances,
            report.judged_characters,
            q.unreachable_stance_percent,
            q.straddling_stance_percent,
        )),
        (None, reason) => output::say(format!("feet      not judged: {}", reason.unwrap_or("no_stances"))),
    }
    if std::io::stdout().is_terminal() && report.failure().is_none() {
        output::say("every check passed");
    }
}
