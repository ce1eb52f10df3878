//! Ctrl-C: the clip at hand is finished, nothing new is begun, and what is done is told.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::output::{self, Failure};

static ASKED: AtomicUsize = AtomicUsize::new(0);

/// From now on an interrupt asks the run to end; a second one ends it at once.
pub fn listen() -> Result<(), Failure> {
    static LISTENS: OnceLock<Result<(), String>> = OnceLock::new();
    let handler = || {
        if ASKED.fetch_add(1, Ordering::Relaxed) > 0 {
            std::process::exit(Failure::Interrupted(String::new()).code().into());
        }
        output::note("interrupted: the clips at hand are finished; once more ends at once");
    };
    let set = || ctrlc::set_handler(handler).map_err(|error| error.to_string());
    LISTENS.get_or_init(set).clone().map_err(Failure::Engine)
}

/// True if the run is to end.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed) > 0
}
