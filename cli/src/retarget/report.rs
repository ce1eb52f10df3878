//! What is said of a run.

use std::collections::BTreeMap;

use serde::Serialize;
use throng::retarget::{Grade, Verdict};

use super::journal::{Entry, Judgement};
use crate::output;
use crate::table::{align_right, table};

/// One element of the JSON array: a clip, or a file that could not be used.
#[derive(Serialize)]
#[serde(untagged)]
enum Row<'a> {
    Clip {
        file: &'a str,
        /// Below the output folder.
        outputs: Vec<&'a str>,
        overrides: Option<&'a str>,
        /// Done by an earlier run.
        earlier: bool,
        #[serde(flatten)]
        judgement: &'a Judgement,
    },
    Failed {
        file: &'a str,
        clip: Option<&'a str>,
        verdict: &'a str,
        reasons: [&'a str; 1],
    },
}

/// How fast it went: clips that were made, and the cores and seconds that it took.
#[derive(Clone, Copy)]
pub struct Speed {
    pub clips: usize,
    pub cores: usize,
    pub seconds: f64,
}

/// Prints an array on stdout, or a table; how fast it went is no part of the array.
pub fn show(entries: &[Entry], speed: Speed, json: bool) {
    if json {
        output::print_json(&rows(entries));
    } else {
        show_table(entries);
        show_reasons(entries);
    }
    warn(entries);
    let earlier = entries.iter().filter(|entry| entry.earlier).count();
    let say = |text: String| if json { output::note(text) } else { output::say(text) };
    if earlier > 0 {
        say(format!("{earlier} of {} files were done before", entries.len()));
    }
    if speed.clips > 0 {
        let rate = speed.clips as f64 / speed.seconds.max(1e-9) / speed.cores as f64;
        say(format!(
            "{} clips in {:.1} s on {} cores: {rate:.1} clips per second and core",
            speed.clips, speed.seconds, speed.cores
        ));
    }
}

fn rows(entries: &[Entry]) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for entry in entries {
        rows.extend(entry.clips.iter().map(|judgement| Row::Clip {
            file: &entry.source,
            outputs: entry.outputs.iter().map(|output| output.file.as_str()).collect(),
            overrides: entry.overrides.as_deref(),
            earlier: entry.earlier,
            judgement,
        }));
        if let Some(error) = &entry.error {
            rows.push(Row::Failed { file: &entry.source, clip: None, verdict: "failed", reasons: [error] });
        }
    }
    rows
}

fn show_table(entries: &[Entry]) {
    let heads = ["clip", "direction", "max", "roll", "root", "leg", "hips", "slide mm", "flips", "m/s", ""];
    let mut rows = table(&heads);
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    };
    for judgement in entries.iter().flat_map(|entry| &entry.clips) {
        let clip: &Verdict = &judgement.verdict;
        // An estimate is no fact.
        let about = if judgement.ground_speed_from.as_deref() == Some("estimated") { "~" } else { "" };
        let speed =
            judgement.ground_speed_m_s.map_or_else(|| "-".to_owned(), |speed| format!("{about}{speed:.2}"));
        rows.add_row([
            clip.clip.clone(),
            number(clip.limb_direction_deg.map(|d| d.mean), 2),
            number(clip.limb_direction_deg.map(|d| d.max), 1),
            number(clip.limb_roll_deg.map(|r| r.mean), 1),
            number(clip.root_ratio, 3),
            number(Some(clip.leg_ratio), 3),
            number(clip.pelvis_height_ratio, 3),
            // Of what is written.
            number(
                clip.after_contacts.map_or(clip.stance_slide_mm_p99, |after| after.stance_slide_mm_p99),
                1,
            ),
            clip.flips.to_string(),
            speed,
            match clip.verdict {
                Grade::Good => "good",
                Grade::Doubtful => "doubtful",
                Grade::Bad => "BAD",
            }
            .to_owned(),
        ]);
    }
    align_right(&mut rows, 1..10);
    if entries.iter().any(|entry| !entry.clips.is_empty()) {
        output::block(rows);
    }
}

fn show_reasons(entries: &[Entry]) {
    for entry in entries {
        let source = &entry.source;
        for clip in entry.clips.iter().map(|clip| &clip.verdict).filter(|clip| clip.verdict != Grade::Good) {
            let reasons = clip.reasons.join("; ");
            output::say(format!("{source}, {:?}: {reasons}", clip.clip));
        }
    }
}

/// Errors file by file; of a folder of alike files, what is the same of many is said once.
fn warn(entries: &[Entry]) {
    let mut same: BTreeMap<(bool, &str), Vec<&str>> = BTreeMap::new();
    for entry in entries {
        for warning in &entry.warnings {
            same.entry((false, warning)).or_default().push(&entry.source);
        }
        if let Some(overrides) = &entry.overrides {
            same.entry((true, overrides)).or_default().push(&entry.source);
        }
    }
    for ((overrides, text), sources) in same {
        let first = sources[0];
        let whose = match sources.len() {
            1 => first.to_owned(),
            count => format!("{first} and {} more", count - 1),
        };
        match overrides {
            true => output::note(format!("{whose}: roles and reference pose by {text}")),
            false => output::warn(format!("{whose}: {text}")),
        }
    }
    for entry in entries {
        if let Some(error) = &entry.error {
            output::warn(format!("{}: {error}", entry.source));
        }
    }
}
