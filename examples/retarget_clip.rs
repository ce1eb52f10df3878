//! A walk made for a child on one rig, played by a tall adult on another: other joint axes, other reference and
//! bind pose, other joint counts, other proportions. Limbs point where the source's point, the step grows with
//! the leg, and the feet stand on the target's ground.

use std::error::Error;

use glam::{Affine3A, Mat3, Vec3};
use throng::clip::RawClip;
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Ground, Handle, HitPlanes, Play, Roots, Serial, WorldTransform,
};
use throng::retarget::{BindSource, bind};
use throng::rig::{Rig, Role, Side};

const LIMBS: [(Role, Role); 8] = [
    (Role::Thigh(Side::Left), Role::Shin(Side::Left)),
    (Role::Shin(Side::Left), Role::Foot(Side::Left)),
    (Role::Thigh(Side::Right), Role::Shin(Side::Right)),
    (Role::Shin(Side::Right), Role::Foot(Side::Right)),
    (Role::UpperArm(Side::Left), Role::Forearm(Side::Left)),
    (Role::Forearm(Side::Left), Role::Hand(Side::Left)),
    (Role::UpperArm(Side::Right), Role::Forearm(Side::Right)),
    (Role::Forearm(Side::Right), Role::Hand(Side::Right)),
];

/// Positions of the source by its own forward kinematics.
fn source_position(body: &BuiltIn, clip: &RawClip, time: f32, role: Role) -> Vec3 {
    let skeleton = &body.character.skeleton;
    let models = skeleton.model_matrices(&clip.sample(skeleton, time));
    body.roles.joint(role).map_or(Vec3::ZERO, |joint| models[usize::from(joint)].w_axis.truncate())
}

/// A point fixed to a joint, given relative to it in model axes at the reference pose, as the last frame's
/// palette moves it: `S = T(x) R(G) C`, so `x + G p = S C^-1 p`.
fn target_point(
    crowd: &Crowd,
    rig: &Rig,
    who: Handle,
    role: Role,
    p: [f32; 3],
) -> Result<Vec3, Box<dyn Error>> {
    let joint = rig.topology().joint(role).ok_or("no such joint")?;
    let entries = rig.skins()[0].entries();
    let at = entries.iter().position(|entry| entry.joint == joint).ok_or("not in the palette")?;
    let (_, palette) = crowd.pose(who)?;
    let format = crowd.config().format;
    let m = format.matrix(&palette[at * format.bytes()..], 1.0);
    let rows = Mat3::from_cols(
        Vec3::new(m[0], m[1], m[2]),
        Vec3::new(m[4], m[5], m[6]),
        Vec3::new(m[8], m[9], m[10]),
    );
    let s = Affine3A::from_mat3_translation(rows.transpose(), Vec3::new(m[3], m[7], m[11]));
    let linear = Mat3::from_cols_array_2d(&entries[at].linear);
    let c = Affine3A::from_mat3_translation(linear, entries[at].offset.into());
    Ok(s.transform_point3(c.inverse().transform_point3(p.into())))
}

fn main() -> Result<(), Box<dyn Error>> {
    let child = content::character(RigKind::Deform, &BodyPlan::child());
    let adult = content::character(RigKind::Engine, &BodyPlan::tall());
    let clip = content::clip(ClipKind::Walk, &child);
    let rig = Rig::build(&adult.rig_source())?;
    let source = BindSource {
        skeleton: &child.character.skeleton,
        roles: &child.roles,
        reference: &child.reference(),
    };
    let bound = bind(source, &clip, &rig)?;
    let (duration, ratio) = (clip.duration, rig.leg() / child.leg_length() as f32);

    let mut crowd = Crowd::new(CrowdConfig::default());
    let (id, walk) = (crowd.add_rig(rig.clone())?, crowd.add_clip(bound)?);
    let who = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[Play::new(walk)])?;
    let step = |crowd: &mut Crowd, dt: f32, roots: Roots<'_>, ground: &dyn Ground| {
        crowd.frame(Frame { roots, ..Frame::new(dt, ground) }, &Serial)
    };

    // Over no ground the feet are left alone: every limb points where the source's points.
    let nowhere = HitPlanes { planes: &[] };
    let mut worst: f32 = 0.0;
    for k in 0..12 {
        let time = duration * k as f32 / 12.0;
        crowd.set_clips(who, &[Play { time, ..Play::new(walk) }])?;
        step(&mut crowd, 0.0, Roots::Free, &nowhere)?;
        for (from, to) in LIMBS {
            let is = target_point(&crowd, &rig, who, to, [0.0; 3])?
                - target_point(&crowd, &rig, who, from, [0.0; 3])?;
            let was = source_position(&child, &clip, time, to) - source_position(&child, &clip, time, from);
            worst = worst.max(is.angle_between(was).to_degrees());
        }
    }
    assert!(worst < 1.0, "limb directions differ by {worst} degrees");

    // One cycle travels as far as the source, times the ratio of the legs.
    crowd.teleport(who, WorldTransform::IDENTITY)?;
    crowd.set_clips(who, &[Play::new(walk)])?;
    let ground = FlatGround { height: 0.0 };
    let (frames, mut lowest, mut planted) = (120, f32::MAX, 0);
    for _ in 0..frames {
        step(&mut crowd, duration / frames as f32, Roots::OnGround, &ground)?;
        // On its ground the lower foot stands: ball or heel within 5 mm, neither below.
        let mut low = f32::MAX;
        for (leg, sole) in rig.topology().legs().iter().zip(rig.soles()) {
            for point in [sole.heel, sole.ball] {
                low = low.min(target_point(&crowd, &rig, who, Role::Foot(leg.side), point)?.y);
            }
        }
        lowest = lowest.min(low);
        planted += usize::from(low.abs() < 0.005);
    }
    let travelled = crowd.transform(who)?.position[2];
    let expected = ratio * ClipKind::Walk.speed(&child) as f32 * duration;
    assert!((travelled / expected - 1.0).abs() < 0.01, "travelled {travelled} m instead of {expected} m");
    assert!(lowest > -0.005, "a foot is {lowest} m below the ground");
    assert_eq!(planted, frames, "a walk always has a foot on the ground");

    println!("legs 1 : {ratio:.2}, limb directions within {worst:.2} degrees");
    println!("one cycle: {travelled:.2} m, lower foot always within 5 mm of the ground");
    Ok(())
}
