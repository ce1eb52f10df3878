//! `inspect`: what is in a file.

use crate::args::InspectArgs;
use crate::output::Failure;

/// Runs the command.
pub fn run(options: &InspectArgs, _json: bool) -> Result<(), Failure> {
    std::fs::read(&options.file)
        .map_err(|error| Failure::input(&options.file, format!("cannot be read: {error}")))?;
    Err(Failure::NotBuilt("inspect"))
}
