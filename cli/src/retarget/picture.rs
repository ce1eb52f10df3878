//! Source and target side by side, over the clip that came over worst.

use std::path::Path;

use throng::rig::ReferencePose;

use super::collect::SourceFile;
use super::work::{Plan, convert};
use crate::body::{Body, Look, Pose};
use crate::draw::Scene;
use crate::draw::camera::View;
use crate::draw::sheet::{Format, Sheet};
use crate::output::{self, Failure};
use crate::source;

/// Times of the clip that are shown.
const TIMES: u32 = 4;
const FORMAT: Format = Format { size: [200, 280], samples: 4 };

/// Draws clip `index` of a file, each time twice: on its own skeleton, and on the target.
pub fn draw(plan: &Plan<'_>, file: &SourceFile, index: usize, path: &Path) -> Result<(), Failure> {
    let done = convert(plan, file, &|| false).map_err(|error| Failure::input(&file.path, error))?;
    let Some(done) = done else { return Ok(()) };
    let clips = done.clips;
    let (from, motions) = source::of_import(done.source);
    let (Some(own), Some(baked)) = (motions.get(index), clips.get(index)) else {
        return Err(Failure::input(&file.path, "has no such clip any more"));
    };
    let target = plan.target;
    let reference: ReferencePose = target.reference.clone();
    let to = Body::new(target.character.clone(), target.roles.clone(), reference, [None; 2]);
    let title = format!("{} on {}   {}", own.clip.name, target.rig.name(), file.path.display());
    let mut sheet = Sheet::new(FORMAT, &[View::Front, View::Side], 2 * TIMES, &title);
    let look = Look { bones: false, colour: None };
    for column in 0..TIMES {
        let time = own.clip.duration * column as f32 / (TIMES - 1) as f32;
        let show = |body: &Body, pose: &Pose| Scene {
            solids: body.solids(pose, look),
            focus: pose.place,
            heading: pose.heading,
            extent: body.extent,
        };
        let source = show(&from, &from.raw(&own.clip, time, look));
        sheet.column(2 * column, &source, &format!("source {time:.2} s"));
        let result = show(&to, &to.raw(baked, time, look));
        sheet.column(2 * column + 1, &result, &format!("target {time:.2} s"));
    }
    let bytes = sheet.png().map_err(|error| Failure::Engine(error.to_string()))?;
    output::write_whole(path, &bytes)
}
