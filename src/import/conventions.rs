//! House axes and units, in one step after decoding: left +X, up +Y, forward +Z, metres.

use glam::{Mat3, Quat, Vec3};

use super::report::Warnings;
use super::{Conversion, Plan, Units, Warning};
use crate::clip::RawClip;
use crate::rig::{RawCharacter, RawSkeleton, Role, RoleMap, Side};

/// Facing nearer to +Z than this is left alone: the rest pose of many files is a frame of some clip.
const TURN_FROM_DEGREES: f32 = 30.0;

/// Nor is what looks between two axes turned: nobody knows to which.
const TURN_UP_TO_DEGREES: f32 = 40.0;

/// Turns and scales everything; returns what was done.
pub(super) fn convert(
    character: &mut RawCharacter,
    clips: &mut [RawClip],
    roles: &RoleMap,
    plan: &Plan<'_>,
    warnings: &mut Warnings,
) -> Conversion {
    let conversion = detect(&character.skeleton, roles, plan, warnings);
    apply(character, clips, conversion);
    conversion
}

/// What a file's axes and units are, by its humanoid roles; identity without them.
fn detect(skeleton: &RawSkeleton, roles: &RoleMap, plan: &Plan<'_>, warnings: &mut Warnings) -> Conversion {
    let models = skeleton.model_matrices(&skeleton.rest_pose());
    let place = |role: Role| -> Option<Vec3> {
        let joint = roles.joint(role)?;
        models.get(usize::from(joint)).map(|model| model.w_axis.truncate())
    };
    let mut conversion = Conversion::default();
    if let Some(axes) = plan.axes {
        conversion.rotation = axes;
    } else if let Some((rotation, forward, up)) = turn(&place) {
        conversion.rotation = rotation;
        let (_, angle) = rotation.to_axis_angle();
        warnings.push(Warning::AxesTurned {
            degrees: angle.to_degrees().min(360.0 - angle.to_degrees()).round(),
            forward: axis_name(forward).to_owned(),
            up: axis_name(up).to_owned(),
        });
    }
    let legs = Side::BOTH.map(|side| {
        let (thigh, shin, foot) =
            (place(Role::Thigh(side))?, place(Role::Shin(side))?, place(Role::Foot(side))?);
        Some(thigh.distance(shin) + shin.distance(foot))
    });
    let leg = legs.into_iter().flatten().reduce(f32::max).filter(|&leg| leg > 0.0);
    conversion.scale = match (plan.units, leg) {
        (Units::Given(unit), _) => unit,
        (_, None) => 1.0,
        (Units::Metres, Some(leg)) => {
            // Nobody has legs of 10 m, and 0.2 to 2 m covers dolls and giants.
            let scale = match leg {
                leg if (20.0..200.0).contains(&leg) => 0.01,
                leg if (200.0..2000.0).contains(&leg) => 0.001,
                _ => 1.0,
            };
            if scale != 1.0 {
                warnings.push(Warning::UnitsConverted { scale, leg });
            }
            scale
        }
        (Units::Guessed, Some(leg)) => {
            let (scale, unit) = unit_of(leg);
            if unit != Some("metres") {
                warnings.push(Warning::UnitsGuessed { scale, leg, unit });
            }
            scale
        }
    };
    conversion
}

/// An adult's leg from hip joint to ankle, metres.
const LEG: f32 = 0.85;

/// Metres of a unit in which motion is written, with the lengths of leg that it is taken for: the usual ones for
/// children as well. The last is that of the CMU captures, whose subjects are measured in inches and divided by 0.45.
const KNOWN_UNITS: [(f32, &str, f32, f32); 6] = [
    (1.0, "metres", 0.35, 1.3),
    (0.1, "decimetres", 0.35, 1.3),
    (0.01, "centimetres", 0.35, 1.3),
    (0.001, "millimetres", 0.35, 1.3),
    (0.0254, "inches", 0.75, 1.0),
    (0.0254 / 0.45, "inches / 0.45", 0.7, 1.05),
];

/// The unit that makes a leg most like an adult's; a factor that makes it one, if none does.
fn unit_of(leg: f32) -> (f32, Option<&'static str>) {
    let distance = |unit: f32| (leg * unit / LEG).ln().abs();
    KNOWN_UNITS
        .into_iter()
        .filter(|(unit, _, least, most)| (*least..*most).contains(&(leg * unit)))
        .min_by(|a, b| distance(a.0).total_cmp(&distance(b.0)))
        .map_or((LEG / leg, None), |(unit, name, ..)| (unit, Some(name)))
}

/// Rotation from the file's axes to the house's in steps of 90 degrees, with the axes found; `None` if they agree or
/// cannot be told.
fn turn(place: &dyn Fn(Role) -> Option<Vec3>) -> Option<(Quat, Vec3, Vec3)> {
    let between = |role: fn(Side) -> Role| Some(place(role(Side::Left))? - place(role(Side::Right))?);
    // Only what walks on two legs says by its trunk where up is.
    let left = between(Role::Thigh)?.try_normalize()?;
    let hips = (place(Role::Thigh(Side::Left))? + place(Role::Thigh(Side::Right))?) / 2.0;
    let top = place(Role::Head).or_else(|| place(Role::Neck(0))).or_else(|| place(Role::Spine(0)))?;
    let trunk = (top - hips).try_normalize()?;
    // A figure that lies or bends in its rest pose is no reason to tip the file over: +Y is up by the format, and
    // stays so unless the trunk stands along another axis.
    let up = if trunk.y > 0.5 { Vec3::Y } else { snap(trunk, 20.0)? };
    let left_flat = (left - up * left.dot(up)).try_normalize()?;
    let forward = left_flat.cross(up);
    let found = if up == Vec3::Y && forward.angle_between(Vec3::Z).to_degrees() <= TURN_FROM_DEGREES {
        Vec3::Z
    } else {
        snap(forward, TURN_UP_TO_DEGREES)?
    };
    if up == Vec3::Y && found == Vec3::Z {
        return None;
    }
    let file = Mat3::from_cols(up.cross(found), up, found);
    Some((Quat::from_mat3(&file.transpose()).normalize(), found, up))
}

/// The nearest axis within an angle.
fn snap(direction: Vec3, degrees: f32) -> Option<Vec3> {
    [Vec3::X, Vec3::NEG_X, Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z]
        .into_iter()
        .find(|axis| direction.dot(*axis) >= degrees.to_radians().cos())
}

fn axis_name(axis: Vec3) -> &'static str {
    match axis.to_array().map(|value| value.round() as i32) {
        [1, ..] => "+X",
        [-1, ..] => "-X",
        [_, 1, _] => "+Y",
        [_, -1, _] => "-Y",
        [_, _, -1] => "-Z",
        _ => "+Z",
    }
}

/// Root joints turn with the file; all offsets and inverse binds scale. Mesh space stays.
fn apply(character: &mut RawCharacter, clips: &mut [RawClip], conversion: Conversion) {
    let Conversion { rotation, scale } = conversion;
    if conversion == Conversion::default() {
        return;
    }
    let roots = character.skeleton.joints.iter().map(|joint| joint.parent.is_none()).collect::<Vec<_>>();
    for joint in &mut character.skeleton.joints {
        joint.rest.translation *= scale;
        if joint.parent.is_none() {
            joint.rest.translation = rotation * joint.rest.translation;
            joint.rest.rotation = (rotation * joint.rest.rotation).normalize();
        }
    }
    for track in clips.iter_mut().flat_map(|clip| &mut clip.tracks) {
        let root = roots.get(usize::from(track.joint)) == Some(&true);
        for value in track.translation.iter_mut().flat_map(|curve| &mut curve.values) {
            *value *= scale;
            if root {
                *value = rotation * *value;
            }
        }
        if root {
            for value in track.rotation.iter_mut().flat_map(|curve| &mut curve.values) {
                *value = rotation * *value;
            }
        }
    }
    for skin in &mut character.skins {
        for inverse_bind in &mut skin.inverse_binds {
            *inverse_bind = glam::Mat4::from_scale(Vec3::splat(scale)) * *inverse_bind;
        }
    }
}
