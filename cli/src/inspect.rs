//! `inspect`: what is in a file.

use throng::import::{Inspection, inspect};

use crate::args::InspectArgs;
use crate::output::{self, Failure};
use crate::table::{Table, align_right, table};
use crate::{explain, files, inspect_archive, source};

/// Levels of the tree that are indented; deeper joints of a long chain stay in one column.
const MOST_INDENT: usize = 24;

/// Runs the command.
pub fn run(options: &InspectArgs, json: bool) -> Result<(), Failure> {
    let path = &options.file;
    if source::is_archive(path) {
        refuse_what_archives_lack(options)?;
        return inspect_archive::run(path, json);
    }
    let beside = files::beside(options.overrides.as_deref())?;
    let imported = beside.load(path, &options.files.options()).map_err(files::refused)?;
    if options.pose {
        let (clip, joint) = (options.clip.as_deref(), options.joint.as_deref());
        return explain::show(&imported, clip, options.time, joint, json);
    }
    let inspection = inspect(&imported);
    if json {
        output::print_json(&inspection);
        return Ok(());
    }
    let parents: Vec<Option<usize>> =
        imported.character.skeleton.joints.iter().map(|joint| joint.parent.map(usize::from)).collect();
    output::say(format!("{}", path.display()));
    output::say(format!(
        "  {} joints, {} with a role; {} clips; {} skins; {} meshes of {} triangles",
        inspection.joints.len(),
        inspection.roles.len(),
        inspection.clips.len(),
        imported.character.skins.len(),
        imported.character.meshes.len(),
        imported.character.meshes.iter().map(|mesh| mesh.indices.len() / 3).sum::<usize>(),
    ));
    output::block("");
    if !inspection.joints.is_empty() {
        output::block(tree(&inspection, &parents));
    }
    if !inspection.lengths_m.is_empty() {
        output::block(lengths(&inspection));
    }
    if !inspection.clips.is_empty() {
        output::block(clips(&inspection));
    }
    if let Some(overrides) = &inspection.overrides {
        output::say(format!("overrides: {}", overrides));
    }
    for warning in &inspection.warnings {
        output::say(format!("warning: {}", warning));
    }
    Ok(())
}

/// Its clips are bound: there is no skeleton to pose, and nothing that could be read in another way.
fn refuse_what_archives_lack(options: &InspectArgs) -> Result<(), Failure> {
    let given = [
        (options.pose, "--pose"),
        (options.overrides.is_some(), "--overrides"),
        (options.files.given(), "an option of how files are read"),
    ];
    match given.iter().find(|(given, _)| *given) {
        None => Ok(()),
        Some((_, "--pose")) => Err(Failure::usage(
            "an archive has clips without a skeleton: it has no --pose",
            "`throng render --character FILE --clips ARCHIVE --clip NAME --at SECONDS` draws one on its character",
        )),
        Some((_, what)) => Err(Failure::usage(
            format!("{what} is of characters and clips, not of archives"),
            "leave it out, or name the file that the archive was made from",
        )),
    }
}

fn tree(inspection: &Inspection, parents: &[Option<usize>]) -> Table {
    let mut children = vec![Vec::new(); parents.len()];
    for (index, parent) in parents.iter().enumerate() {
        if let Some(list) = parent.and_then(|parent| children.get_mut(parent)) {
            list.push(index);
        }
    }
    let mut table = table(&["joint", "role"]);
    // Depth first with an explicit stack: a chain may be as long as a file likes.
    let roots = (0..parents.len()).filter(|&index| parents[index].is_none());
    let mut open: Vec<(usize, usize)> = roots.rev().map(|root| (root, 0)).collect();
    while let Some((index, depth)) = open.pop() {
        let joint = &inspection.joints[index];
        let indent = "  ".repeat(depth.min(MOST_INDENT));
        table.add_row([format!("{indent}{}", joint.name), joint.role.clone().unwrap_or_default()]);
        open.extend(children[index].iter().rev().map(|&child| (child, depth + 1)));
    }
    table
}

fn lengths(inspection: &Inspection) -> Table {
    let mut table = table(&["length", "m"]);
    for (name, metres) in &inspection.lengths_m {
        table.add_row([name.replace('_', " "), format!("{metres:.3}")]);
    }
    align_right(&mut table, 1..2);
    table
}

fn clips(inspection: &Inspection) -> Table {
    let mut table = table(&["clip", "start s", "duration s", "root path m"]);
    for clip in &inspection.clips {
        table.add_row([
            clip.name.clone(),
            format!("{:.3}", clip.start_s),
            format!("{:.3}", clip.duration_s),
            format!("{:.2}", clip.root_path_m),
        ]);
    }
    align_right(&mut table, 1..4);
    table
}
