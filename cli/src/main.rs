//! The `throng` command: stress, bench, inspect, render, pack, retarget, check.

mod args;
mod bench;
mod body;
mod draw;
mod explain;
mod files;
mod inspect;
mod inspect_archive;
mod live;
mod output;
mod pack;
mod progress;
mod render;
mod retarget;
mod source;
mod stress;
mod table;
mod terrain;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    // Clap itself ends with 2 on wrong usage, the code that `Failure::Usage` has too.
    let cli = Cli::parse();
    let done = match &cli.command {
        Command::Render(options) => render::run(options, cli.json),
        Command::Inspect(options) => inspect::run(options, cli.json),
        Command::Pack(options) => pack::run(options, cli.json),
        Command::Retarget(options) => retarget::retarget(options, cli.json),
        Command::Check(options) => retarget::check(options, cli.json),
        Command::Stress(options) => stress::run(options, cli.json),
        Command::Bench(options) => bench::run(options, cli.json),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::report(&failure, cli.json);
            ExitCode::from(failure.code())
        }
    }
}
