//! Feet after contacts were solved: how far they slide beyond what the source's own feet do.

use glam::{DQuat, DVec3};
use throng::clip::{Interval, RawClip, RootSource};
use throng::import::Sidecar;
use throng::retarget::{BindSource, RetargetOptions, RetargetTarget, retarget};
use throng::rig::Side;

use crate::body::{Body, Place};
use crate::data;

/// Targets per source where not all are asked for.
const FEW: usize = 5;
/// Samples per second.
const RATE: f64 = 60.0;

/// A point that is fixed in a joint, in its own axes.
#[derive(Clone, Copy)]
struct Point {
    joint: usize,
    local: DVec3,
}

/// What stands on the ground under the front of a target's foot, from its rest pose alone: the toe's joint, or a point of
/// the foot as far ahead as a sole's ball is.
fn ball(body: &Body, side: usize) -> Option<Point> {
    if let Some(joint) = body.joint(Place::Toe(side)) {
        return Some(Point { joint, local: DVec3::ZERO });
    }
    let joint = body.joint(Place::Foot(side))?;
    let model = body.reference.models[joint];
    let ankle = model.w_axis.truncate();
    let turn = DQuat::from_mat4(&model).normalize();
    let ahead = DVec3::new(0.0, -ankle.y, 0.12);
    Some(Point { joint, local: turn.inverse() * ahead })
}

/// Places of a point over a clip, on the ground that the clip goes over.
fn path(body: &Body, clip: &RawClip, point: Point) -> Vec<(f64, DVec3)> {
    let duration = f64::from(clip.duration);
    let count = ((duration * RATE).round() as usize).max(1);
    let speed = match clip.root {
        RootSource::InPlace { speed } => f64::from(speed),
        _ => 0.0,
    };
    (0..=count)
        .map(|frame| {
            let time = duration * frame as f64 / count as f64;
            let models =
                data::clip_models(&body.imported.character.skeleton, clip, f64::from(clip.start) + time);
            let turn = DQuat::from_mat4(&models[point.joint]).normalize();
            let at = models[point.joint].w_axis.truncate() + turn * point.local;
            (time, at + DVec3::Z * (speed * time))
        })
        .collect()
}

/// Largest horizontal way from where the point was when the stance began; over the end of a cycle of each part.
fn slide(path: &[(f64, DVec3)], interval: Interval) -> f64 {
    let (start, end) = (f64::from(interval.start), f64::from(interval.end));
    let parts = if start <= end { vec![(start, end)] } else { vec![(start, f64::INFINITY), (0.0, end)] };
    let mut worst = 0.0f64;
    for (from, to) in parts {
        let mut inside = path.iter().filter(|(time, _)| (from..=to).contains(time)).map(|&(_, at)| at);
        let Some(first) = inside.next() else { continue };
        worst = inside.fold(worst, |worst, at| worst.max((at - first).with_y(0.0).length()));
    }
    worst
}

#[test]
fn feet_that_stand_slide_no_more_than_the_sources() {
    let Some(dir) = data::data_dir() else { return };
    let facts = data::facts(&dir);
    let mut bodies = Vec::new();
    for (file, facts) in &facts {
        if facts["kind"] == "humanoid" {
            bodies.extend(Body::load(&dir, file, facts));
        }
    }
    let rigs: Vec<_> = bodies.iter().map(Body::rig).collect();
    let mut files: Vec<_> = std::fs::read_dir(dir.join("contacts"))
        .expect("contacts")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    let full = std::env::var_os("THRONG_PAIRS").is_some();
    let (mut added, mut before, mut worst) = (Vec::new(), Vec::new(), Vec::new());
    let (mut sources, mut pairs, mut short, mut bones) = (0, 0, 0, 0.0f64);
    for (index, file) in files.iter().enumerate() {
        let sidecar = Sidecar::load(file).expect("contacts");
        let Some(source) = bodies.iter().find(|body| body.file == sidecar.file) else { continue };
        let mut imported = source.imported.clone();
        sidecar.apply(&mut imported).expect("a clip of that name");
        let only = imported.clips.len() == 1;
        let mut clip =
            imported.clips.iter().find(|clip| only || clip.name == sidecar.clip).expect("it").clone();
        // Long captures: their beginning.
        clip.duration = clip.duration.min(8.0);
        sources += 1;
        let bind = BindSource {
            skeleton: &source.imported.character.skeleton,
            roles: &source.imported.roles,
            reference: &source.reference,
        };
        let all = bodies.iter().zip(&rigs).enumerate();
        for (_, (target, rig)) in all.filter(|(at, _)| full || (at + index * 7) % bodies.len() < FEW) {
            let body = RetargetTarget {
                skeleton: &target.imported.character.skeleton,
                roles: &target.imported.roles,
                reference: &target.reference,
                rig,
            };
            let done = retarget(bind, &clip, body, &RetargetOptions::default()).expect("retargets");
            let name = format!("{} {} -> {}", sidecar.file, sidecar.clip, target.file);
            let ratio = target.leg / source.leg;
            let mut here = 0.0f64;
            for (foot, marks) in sidecar.feet.iter().enumerate() {
                let contacts = clip.contacts.as_ref().expect("applied");
                let foot_contacts =
                    contacts.feet.iter().find(|own| own.side == Side::BOTH[foot]).expect("both feet");
                let (Some(mark), Some(ball)) = (&marks.ball, ball(target, foot)) else { continue };
                let joint = source.imported.character.skeleton.find(&mark.joint).expect("the mark's joint");
                let own = Point { joint: joint.into(), local: mark.offset.as_dvec3() };
                let (theirs, ours) = (path(source, &clip, own), path(target, &done.clip, ball));
                for &interval in &foot_contacts.ball {
                    if interval.start >= clip.duration {
                        continue;
                    }
                    let residual = ratio * slide(&theirs, interval);
                    let more = 1e3 * (slide(&ours, interval) - residual).max(0.0);
                    here = here.max(more);
                    added.push(more);
                }
            }
            before.extend(done.verdict.stance_slide_mm_p99);
            short += done.planted.failures.len();
            bones = bones.max(done.verdict.bone_length_error);
            if full || here > 5.0 {
                worst.push((here, format!("{name}: {here:.1} mm, {:?}", done.planted)));
            }
            let Some(after) = done.verdict.after_contacts else {
                worst.push((f64::INFINITY, format!("{name}: no stance was solved")));
                continue;
            };
            if after.flips > done.verdict.flips {
                worst.push((f64::INFINITY, format!("{name}: {} limbs turn over", after.flips)));
            }
            pairs += 1;
        }
    }
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (_, line) in worst.iter().take(60) {
        println!("{line}");
    }
    let p99 = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[(0.99 * values.len() as f64).ceil() as usize - 1]
    };
    let (after, first) = (p99(&mut added), p99(&mut before));
    println!(
        "{sources} clips, {pairs} pairs, {} stances: {after:.2} mm added (p99), {first:.1} mm before; {short} out of reach, \
         bones {bones:.1e}",
        added.len()
    );
    assert!(sources >= 20 && pairs >= 100, "{sources} {pairs}");
    assert!(after <= 5.0, "{after} mm");
    assert!(bones < 1e-5, "{bones:e}");
}
