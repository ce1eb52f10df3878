//! Progress bars: only on a terminal, and only once something has taken a while.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over `steps`; hidden where stderr is not a terminal.
pub fn bar(steps: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
    bar.set_style(
        ProgressStyle::with_template("{msg:>12} {wide_bar} {pos}/{len} {eta}")
            .expect("the template is a constant"),
    );
    bar.set_message(what);
    // The first draw comes with the first tick, so that what ends within a second shows nothing.
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

/// For what has no known length.
pub fn spinner(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // Its own style is a bar of no length, without a word.
    bar.set_style(
        ProgressStyle::with_template("{msg:>12} {spinner} {elapsed}").expect("the template is a constant"),
    );
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}
