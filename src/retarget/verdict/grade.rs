//! Limits of good and of doubtful; beyond is bad.

use super::{Grade, Verdict};

/// Sets the grade and its reasons from the numbers.
pub(super) fn grade(verdict: &mut Verdict) {
    let off = |value: Option<f64>, right: f64| value.map(|value| (value - right).abs());
    let direction = verdict.limb_direction_deg;
    let roll = verdict.limb_roll_deg;
    // Where feet were put down, what is left then counts.
    let slide = match verdict.after_contacts {
        Some(after) => ("feet slide more than the source's", after.stance_slide_mm_p99, 5.0, 50.0, "mm"),
        None => ("feet slide more than the source's", verdict.stance_slide_mm_p99, 30.0, 150.0, "mm"),
    };
    (verdict.verdict, verdict.reasons) = (Grade::Good, Vec::new());
    let checks = [
        ("limbs point elsewhere, mean", direction.map(|d| d.mean), 1.0, 5.0, "degrees"),
        ("limbs point elsewhere, at most", direction.map(|d| d.max), 5.0, 30.0, "degrees"),
        ("knees, elbows and palms are turned, mean", roll.map(|r| r.mean), 5.0, 20.0, "degrees"),
        ("limbs flip", Some(verdict.flips as f64), 0.5, 1.5, "times"),
        ("bones change their length", Some(verdict.bone_length_error), 1e-5, 1e-3, "of it"),
        (
            "travel is off the leg ratio",
            off(verdict.root_ratio.map(|r| r / verdict.leg_ratio), 1.0),
            0.03,
            0.2,
            "of it",
        ),
        ("the hips are off their height", off(verdict.pelvis_height_ratio, 1.0), 0.01, 0.1, "of it"),
        slide,
        ("limbs are twisted, at most", verdict.twist_error_deg, 5.0, 45.0, "degrees"),
        ("the second hand is off its grip, at most", verdict.hand_goal_error_mm_max, 10.0, 100.0, "mm"),
        (
            "limbs turn over where feet stand",
            verdict.after_contacts.map(|a| a.flips as f64),
            0.5,
            1.5,
            "times",
        ),
        (
            "feet that stand move limbs, mean",
            verdict.after_contacts.and_then(|a| a.limb_direction_deg).map(|d| d.mean),
            5.0,
            20.0,
            "degrees",
        ),
        (
            "feet that stand move limbs, at most",
            verdict.after_contacts.and_then(|a| a.limb_direction_deg).map(|d| d.max),
            30.0,
            60.0,
            "degrees",
        ),
        (
            "feet that stand move the hips off their height",
            off(verdict.after_contacts.and_then(|a| a.pelvis_height_ratio), 1.0),
            0.05,
            0.2,
            "of it",
        ),
        ("goals are out of reach", Some(verdict.reach_failures as f64), 0.5, f64::INFINITY, "times"),
    ];
    for (what, value, good, doubtful, unit) in checks {
        let Some(value) = value.filter(|value| *value > good || value.is_nan()) else { continue };
        let reason = match unit {
            "times" => format!("{what}: {value:.0} times"),
            _ => format!("{what}: {value:.3} {unit}, {good} is good"),
        };
        verdict.reasons.push(reason);
        let grade = if value > doubtful || value.is_nan() { Grade::Bad } else { Grade::Doubtful };
        verdict.verdict = verdict.verdict.max(grade);
    }
    if direction.is_none() {
        let reason = "no limb is known of both: roles are missing, and no bones share their names";
        verdict.reasons.push(reason.to_owned());
        verdict.verdict = Grade::Bad;
    } else if !verdict.roles_missing.is_empty() {
        verdict.reasons.push(format!("the source lacks {}", verdict.roles_missing.join(", ")));
        verdict.verdict = verdict.verdict.max(Grade::Doubtful);
    }
    if let Some(share) = verdict.namesakes.filter(|share| *share < 0.9) {
        verdict.reasons.push(format!("{:.0} % of the target's joints have a namesake", 100.0 * share));
        verdict.verdict = verdict.verdict.max(if share < 0.5 { Grade::Bad } else { Grade::Doubtful });
    }
}
