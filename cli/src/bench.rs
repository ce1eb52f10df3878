//! `throng bench`: the frame stage by stage, against the scalar baseline and the store floor.

use std::fmt::Write;

use throng::crowd::{CrowdConfig, PaletteFormat};
use throng::stress::SceneOptions;
use throng_bench::live::{Axes, Held};
use throng_bench::measure::{Effort, Run, Runs};
use throng_bench::report::{self, BenchError, BenchOptions, Report};
use throng_bench::sweep::{self, Sweep};

use crate::args::{BenchArgs, PaletteName};
use crate::output::{self, Failure};
use crate::progress;
use crate::stress;
use crate::table::{align_right, table};

pub fn run(args: &BenchArgs, json: bool) -> Result<(), Failure> {
    let options = options(args)?;
    let bar = progress::bar(options.effort.runs as u64, "runs");
    let mut report = report::measure(&options, |runs: &Runs| {
        bar.set_position(runs.valid.len() as u64);
        if !runs.void.is_empty() {
            bar.set_message(format!("runs ({} void)", runs.void.len()));
        }
    })
    .map_err(refused)?;
    if args.sweep {
        let step = |axis: &str| bar.set_message(format!("sweep: {axis}"));
        report.sweep = Some(sweep::sweep(&options, step).map_err(refused)?);
    }
    bar.finish_and_clear();
    if json {
        output::print_json(&report);
    } else {
        output::block(text(&report));
    }
    if report.valid {
        Ok(())
    } else {
        Err(Failure::Check("every run was void: the machine is too busy to measure on".into()))
    }
}

fn refused(error: BenchError) -> Failure {
    match error {
        BenchError::Scene(error) => stress::refused(error),
        BenchError::Threads(_) => Failure::usage(error.to_string(), "ask for fewer with --threads"),
    }
}

fn options(args: &BenchArgs) -> Result<BenchOptions, Failure> {
    let simd = stress::simd(args.isa.as_deref(), args.strict)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let format = match args.palette {
        PaletteName::Mat4 => PaletteFormat::Mat4,
        PaletteName::Mat3x4 => PaletteFormat::Mat3x4,
        PaletteName::QuatTranslation => PaletteFormat::QuatTranslation,
        PaletteName::Packed => PaletteFormat::Snorm16,
    };
    let named = if args.uniform { SceneOptions::uniform() } else { SceneOptions::default() };
    let scene = SceneOptions {
        characters: args.characters as usize,
        rigs: args.rigs.map_or(named.rigs, |rigs| rigs as usize),
        library: args.library.map_or(named.library, |clips| clips as usize),
        layers: args.layers.kind(),
        config: CrowdConfig { simd, format, ..CrowdConfig::default() },
        ..named
    };
    let threads = if args.threads == 0 { cores } else { args.threads.into() };
    Ok(BenchOptions { scene, threads, effort: Effort { runs: args.runs as usize, ..Effort::PUBLISHED } })
}

fn text(report: &Report) -> String {
    let mut out = String::new();
    let Report { machine, .. } = report;
    let threads = if machine.threads == 1 { "thread" } else { "threads" };
    let _ = writeln!(
        out,
        "{}, {} x {} lanes, {}, {} {threads}, load {:.1}\n\
         {} characters ({}), {} rigs, {:.0} joints, {:.1} of {} clips each ({:.1} MB of rows), {} palette\n",
        machine.cpu,
        machine.isa,
        machine.lanes,
        machine.mode,
        machine.threads,
        report.load,
        report.characters,
        report.scene,
        report.rigs,
        report.joints,
        report.clips_per_character,
        report.library_clips,
        report.library_bytes as f64 / 1e6,
        report.palette,
    );
    let mut stages = table(&["stage", "ns per character"]);
    for stage in &report.stages {
        stages.add_row([stage.name.to_owned(), format!("{:.1}", stage.ns_per_character)]);
    }
    stages.add_row(["frame".to_owned(), format!("{:.1}", report.frame_ns_per_character)]);
    stages.add_row(["scalar baseline".to_owned(), format!("{:.1}", report.baseline_ns_per_character)]);
    stages.add_row(["store floor".to_owned(), format!("{:.1}", report.store_floor_ns_per_character)]);
    for stage in &report.beside {
        stages.add_row([format!("beside: {}", stage.name), format!("{:.1}", stage.ns_per_character)]);
    }
    align_right(&mut stages, 1..2);
    let _ = writeln!(out, "{stages}\n");
    let _ = writeln!(
        out,
        "ratio {:.2} (baseline / frame), frame / store floor {:.2}",
        report.ratio,
        report.frame_ns_per_character / report.store_floor_ns_per_character,
    );
    let _ = writeln!(
        out,
        "{:.0} B of palette and {:.0} B of state a character; occupancy {:.1} %, uniform blocks {:.1} %\n",
        report.palette_bytes_per_character,
        report.state_bytes_per_character,
        100.0 * report.occupancy,
        report.uniform_block_percent,
    );
    for live in &report.retarget_live {
        let _ = writeln!(
            out,
            "on streams of {:.0} joints with {}, {}: retarget_live {:.1} of {:.1} ns, {:.1} %",
            live.source_joints,
            if live.axes == Axes::Model { "the model's axes" } else { "axes of their own" },
            match live.held {
                Held::Slices => "slices",
                Held::Buffer => "a buffer",
                Held::Snorm16 => "a buffer of 16 bits",
            },
            live.ns_per_character,
            live.frame_ns_per_character,
            live.percent,
        );
    }
    out.push('\n');
    let heads = ["run", "frame", "A/A %", "plain", "avx2", "ratio", "fill", "fill NT", "load"];
    let mut runs = table(&heads);
    let mut add = |name: String, run: &Run| {
        runs.add_row([
            name,
            format!("{:.1}", run.frame_ns_per_character),
            format!("{:.1}", run.spread_percent),
            format!("{:.1}", run.baseline_plain_ns_per_character),
            format!("{:.1}", run.baseline_wide_ns_per_character),
            format!("{:.2}", run.ratio),
            format!("{:.1}", run.store_plain_ns_per_character),
            format!("{:.1}", run.store_stream_ns_per_character),
            format!("{:.1}", run.load),
        ]);
    };
    report.runs.iter().enumerate().for_each(|(at, run)| add((at + 1).to_string(), run));
    report.void_runs.iter().for_each(|run| add("void".to_owned(), run));
    align_right(&mut runs, 1..heads.len());
    let _ = write!(out, "{runs}");
    if let Some(sweep) = &report.sweep {
        let _ = write!(out, "\n\n{}", sweep_text(sweep));
    }
    out
}

fn sweep_text(sweep: &Sweep) -> String {
    let mut rows = table(&["sweep", "value", "ns", "factor", "factor is"]);
    for axis in sweep {
        for (at, point) in axis.points.iter().enumerate() {
            rows.add_row([
                if at == 0 { axis.name.to_owned() } else { String::new() },
                point.value.clone(),
                format!("{:.1}", point.ns_per_character),
                format!("{:.2}", point.factor),
                if at == 0 { axis.meaning.to_owned() } else { String::new() },
            ]);
        }
    }
    align_right(&mut rows, 1..4);
    rows.to_string()
}
