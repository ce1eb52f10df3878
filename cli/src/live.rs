//! Bodies in a crowd: retargeted, on the ground, through the same frame that `stress` runs.

use std::path::Path;

use glam::{Mat4, Quat, Vec3, Vec4};
use throng::crowd::{
    Crowd, CrowdConfig, Frame, Ground, Handle, PaletteFormat, Play, Serial, TIERS, TierConfig, WorldTransform,
};
use throng::error::BuildError;
use throng::retarget::{BindSource, bind};
use throng::rig::{Rig, RigSource};

use crate::body::{Look, Pose};
use crate::output::{Failure, PACK_AGAIN};
use crate::source::{Motion, Subject};

/// Seconds of one frame.
pub const STEP: f32 = 1.0 / 60.0;

/// Who stands where, and how far into the clip.
pub struct Entrance {
    /// Index into the cast.
    pub subject: usize,
    pub x: f32,
    pub z: f32,
    /// Radians to the left of +Z.
    pub yaw: f32,
    /// Seconds into the clip.
    pub time: f32,
}

/// A crowd that is drawn.
pub struct Live<'a> {
    cast: &'a [Subject],
    crowd: Crowd,
    /// For each character its subject, and a handle for each skin that is drawn: a character of the crowd has
    /// one skin, so a body of several is as many characters on one spot.
    actors: Vec<(usize, Vec<Handle>)>,
    ground: &'a dyn Ground,
}

impl<'a> Live<'a> {
    /// Builds rigs, binds the first motion of each subject, and places everyone. A pose every `period` frames.
    pub fn new(
        cast: &'a [Subject],
        entrances: &[Entrance],
        look: Look,
        ground: &'a dyn Ground,
        period: u8,
    ) -> Result<Self, Failure> {
        let tiers = [TierConfig { period, ..TierConfig::FULL }; TIERS];
        let (format, interpolate) = (PaletteFormat::Mat3x4, period > 1);
        let mut crowd = Crowd::new(CrowdConfig { format, tiers, interpolate, ..CrowdConfig::default() });
        let mut bound = Vec::with_capacity(cast.len());
        for subject in cast {
            bound.push(admit(&mut crowd, subject).map_err(|error| unfit(subject, &error))?);
        }
        let mut actors = Vec::with_capacity(entrances.len());
        for entrance in entrances {
            let subject = &cast[entrance.subject];
            let (rig, clip) = bound[entrance.subject];
            let place = WorldTransform::standing(entrance.x, entrance.z, entrance.yaw);
            let play = Play { time: entrance.time, ..Play::new(clip) };
            let spawn = |skin: usize| crowd.spawn(rig, skin, place, &[play]);
            let handles: Result<Vec<Handle>, BuildError> =
                subject.body.skins(look).into_iter().map(spawn).collect();
            actors.push((entrance.subject, handles.map_err(|error| unfit(subject, &error))?));
        }
        Ok(Self { cast, crowd, actors, ground })
    }

    /// One frame.
    pub fn step(&mut self, dt: f32) -> Result<(), Failure> {
        let frame = Frame::new(dt, self.ground);
        self.crowd.frame(frame, &Serial).map_err(|error| Failure::Engine(error.to_string()))
    }

    /// Subject and pose of a character, as the last frame left it in its output slots.
    pub fn pose(&self, actor: usize) -> Result<(&'a Subject, Pose), Failure> {
        let (subject, handles) = &self.actors[actor];
        let subject = &self.cast[*subject];
        let mut pose = Pose { palettes: Vec::new(), place: Vec3::ZERO, heading: Vec3::Z };
        for &handle in handles {
            let shown = self.crowd.shown_pose(handle).map_err(|error| Failure::Engine(error.to_string()))?;
            let root = root(&shown.root());
            pose.place = root.w_axis.truncate();
            pose.heading = root.transform_vector3(Vec3::Z).with_y(0.0).normalize_or(Vec3::Z);
            let entries = (0..shown.entries()).filter_map(|entry| shown.matrix(entry));
            pose.palettes.push(entries.map(|entry| root * entry3x4(&entry)).collect());
        }
        Ok((subject, pose))
    }
}

fn admit(
    crowd: &mut Crowd,
    subject: &Subject,
) -> Result<(throng::crowd::RigId, throng::crowd::ClipId), BuildError> {
    let body = &subject.body;
    let source = RigSource {
        character: &body.character,
        roles: &body.roles,
        reference: body.reference.clone(),
        soles: body.soles,
    };
    let rig = Rig::build(&source)?;
    let Motion { clip, owner, bound } = &subject.motions[0];
    let from = BindSource { skeleton: &owner.skeleton, roles: &owner.roles, reference: &owner.reference };
    let bound = bound.clone().map_or_else(|| bind(from, clip, &rig), Ok)?;
    Ok((crowd.add_rig(rig)?, crowd.add_clip(bound)?))
}

fn unfit(subject: &Subject, error: &BuildError) -> Failure {
    let bound = subject.motions.first().is_some_and(|motion| motion.bound.is_some());
    let hint =
        if bound { PACK_AGAIN } else { "--raw draws it as it is, on its own skeleton, with nothing solved" };
    let name = Path::new(&subject.body.character.name);
    Failure::input(name, format!("cannot join a crowd: {error}")).hinted(hint)
}

fn root(root: &WorldTransform) -> Mat4 {
    Mat4::from_rotation_translation(Quat::from_array(root.rotation), Vec3::from(root.position))
}

/// Three rows of four.
fn entry3x4(m: &[f32; 12]) -> Mat4 {
    let row = |row: usize| Vec4::from_slice(&m[4 * row..4 * row + 4]);
    Mat4::from_cols(row(0), row(1), row(2), Vec4::W).transpose()
}
