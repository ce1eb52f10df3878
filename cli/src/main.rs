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
    let cli = Cli::try_parse().unwrap_or_else(|error| refuse(&error));
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

/// Says what is wrong with the arguments, among which may be names of files that a shell put there: as they are printed.
fn refuse(error: &clap::Error) -> ! {
    let printable = std::env::args_os().map(|own| output::printable(&own.to_string_lossy()));
    match Cli::try_parse_from(printable) {
        Err(error) => error.exit(),
        // Of an argument that is no text, which is not repeated.
        Ok(_) => error.exit(),
    }
}
