//! BVH: a skeleton and one clip as text, in centimetres.

use core::fmt::Write;

use glam::{EulerRot, Quat, Vec3};

use super::ExportError;
use crate::clip::RawClip;
use crate::rig::{RawSkeleton, Transform};

/// Units per metre.
const UNITS: f32 = 100.0;

/// A clip as BVH with `rate` frames per second: rotations Z X Y in degrees, positions of every joint that the clip moves
/// against its parent. A BVH has no rest rotations: each joint's axes are those of its root, and offsets are those of the
/// rest pose turned into them.
///
/// # Errors
/// If skeleton or clip are not valid, there is more than one root, or the rate is not from 1 to 1000.
pub fn write(skeleton: &RawSkeleton, clip: &RawClip, rate: f32) -> Result<String, ExportError> {
    skeleton.validate()?;
    clip.validate(skeleton)?;
    if !(1.0..=1000.0).contains(&rate) {
        let right = "1 to 1000 frames per second";
        let what = "frames per second";
        return Err(crate::error::BuildError::Input { what, value: rate, right }.into());
    }
    let joints = &skeleton.joints;
    let roots = joints.iter().filter(|joint| joint.parent.is_none()).count();
    if roots != 1 {
        let what = format!("the skeleton has {roots} roots; BVH has one");
        return Err(ExportError::Original { what });
    }
    let rest: Vec<Quat> = models(skeleton, &skeleton.rest_pose());
    let moving: Vec<bool> = (0..joints.len())
        .map(|joint| {
            joints[joint].parent.is_none()
                || clip
                    .tracks
                    .iter()
                    .any(|track| usize::from(track.joint) == joint && track.translation.is_some())
        })
        .collect();
    // Offset to the parent, in model axes at rest.
    let offset = |joint: usize, local: Vec3| {
        let above = joints[joint].parent.map_or(Quat::IDENTITY, |parent| rest[usize::from(parent)]);
        above * local * UNITS
    };
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); joints.len()];
    for (index, joint) in joints.iter().enumerate() {
        if let Some(parent) = joint.parent {
            children[usize::from(parent)].push(index);
        }
    }
    let mut text = String::from("HIERARCHY\n");
    // A stack of joints to open and depths to close, so that deep hierarchies do not recurse.
    let mut order = Vec::with_capacity(joints.len());
    let mut todo = vec![(0usize, 0usize, true)];
    while let Some((joint, depth, opens)) = todo.pop() {
        let pad = "  ".repeat(depth);
        if !opens {
            let _ = writeln!(text, "{pad}}}");
            continue;
        }
        let word = if depth == 0 { "ROOT" } else { "JOINT" };
        let Vec3 { x, y, z } = offset(joint, joints[joint].rest.translation);
        let _ = writeln!(text, "{pad}{word} {}\n{pad}{{", name(&joints[joint].name, joint));
        let _ = writeln!(text, "{pad}  OFFSET {x:.6} {y:.6} {z:.6}");
        let positions = if moving[joint] { "6 Xposition Yposition Zposition" } else { "3" };
        let _ = writeln!(text, "{pad}  CHANNELS {positions} Zrotation Xrotation Yrotation");
        order.push(joint);
        if children[joint].is_empty() {
            let _ = writeln!(text, "{pad}  End Site\n{pad}  {{\n{pad}    OFFSET 0 0 0\n{pad}  }}");
        }
        todo.push((joint, depth, false));
        todo.extend(children[joint].iter().rev().map(|&child| (child, depth + 1, true)));
    }
    let frames = (f64::from(clip.duration) * f64::from(rate)).round() as usize + 1;
    let _ = writeln!(text, "MOTION\nFrames: {frames}\nFrame Time: {:.9}", 1.0 / f64::from(rate));
    for frame in 0..frames {
        let locals = clip.sample(skeleton, ((frame as f64) / f64::from(rate)) as f32);
        let models = models(skeleton, &locals);
        let since: Vec<Quat> = models.iter().zip(&rest).map(|(now, rest)| *now * rest.inverse()).collect();
        let mut first = true;
        for &joint in &order {
            let above = joints[joint].parent.map_or(Quat::IDENTITY, |parent| since[usize::from(parent)]);
            let own = above.inverse() * since[joint];
            let mut put = |value: f32| {
                let _ = write!(text, "{}{value:.6}", if first { "" } else { " " });
                first = false;
            };
            if moving[joint] {
                offset(joint, locals[joint].translation).to_array().into_iter().for_each(&mut put);
            }
            let (z, x, y) = own.normalize().to_euler(EulerRot::ZXY);
            [z, x, y].into_iter().for_each(|angle| put(angle.to_degrees()));
        }
        text.push('\n');
    }
    Ok(text)
}

/// Model rotations, scale left out.
fn models(skeleton: &RawSkeleton, locals: &[Transform]) -> Vec<Quat> {
    let mut models: Vec<Quat> = Vec::with_capacity(locals.len());
    for (joint, local) in skeleton.joints.iter().zip(locals) {
        let above = joint.parent.map_or(Quat::IDENTITY, |parent| models[usize::from(parent)]);
        models.push((above * local.rotation).normalize());
    }
    models
}

/// One word.
fn name(name: &str, joint: usize) -> String {
    let word: String =
        name.chars().map(|c| if c.is_whitespace() || "{}".contains(c) { '_' } else { c }).collect();
    if word.is_empty() { format!("joint_{joint}") } else { word }
}
