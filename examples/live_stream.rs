//! Characters of three bodies driven by streams: poses that come in every frame, in the joints and axes of a skeleton
//! that none of them has. docs/guides/live_stream.md says how it works.

use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Serial, Stream, StreamBuffer, StreamId, StreamRoot, WorldTransform,
};
use throng::error::BuildError;
use throng::retarget::{BindSource, LiveMaps};
use throng::rig::{ReferencePose, Rig};

use glam::{DMat4, DQuat, Quat};

const FRAMES: usize = 240;
const DT: f32 = 1.0 / 60.0;

/// Stands in for a capture system: a skeleton whose joint axes lie any old way, walking.
struct Actor {
    body: BuiltIn,
    reference: ReferencePose,
    /// How each joint's axes are turned.
    axes: Vec<DQuat>,
    carrier: u16,
}

impl Actor {
    fn new() -> Self {
        let body = content::character(RigKind::Deform, &BodyPlan::tall());
        let axes: Vec<DQuat> = (0..body.character.skeleton.joints.len())
            .map(|joint| DQuat::from_rotation_y(joint as f64) * DQuat::from_rotation_x(0.7 * joint as f64))
            .collect();
        let mut reference = body.reference();
        for (model, axes) in reference.models.iter_mut().zip(&axes) {
            *model *= DMat4::from_quat(*axes);
        }
        Self { body, reference, axes, carrier: 0 }
    }

    fn source(&self) -> BindSource<'_> {
        BindSource {
            skeleton: &self.body.character.skeleton,
            roles: &self.body.roles,
            reference: &self.reference,
        }
    }

    /// What arrives at a time: native local rotations, and where the hips are.
    fn capture<'a>(&self, seconds: f32, rotations: impl Iterator<Item = &'a mut [f32; 4]>) -> [f32; 3] {
        let skeleton = &self.body.character.skeleton;
        let clip = content::clip(ClipKind::Walk, &self.body);
        let locals = clip.sample(skeleton, seconds % clip.duration);
        for (at, ((joint, local), rotation)) in skeleton.joints.iter().zip(&locals).zip(rotations).enumerate()
        {
            let own = self.axes[at];
            let above = joint.parent.map_or(DQuat::IDENTITY, |parent| self.axes[usize::from(parent)]);
            let turned: Quat = (above.inverse() * local.rotation.as_dquat() * own).normalize().as_quat();
            *rotation = turned.to_array();
        }
        let models = skeleton.model_matrices(&locals);
        models[usize::from(self.carrier)].w_axis.truncate().to_array()
    }
}

fn main() -> Result<(), BuildError> {
    let mut actor = Actor::new();
    let mut crowd = Crowd::new(CrowdConfig::default());
    let mut maps = LiveMaps::default();
    let mut followers = Vec::new();
    let bodies = [
        (RigKind::Biped, BodyPlan::adult()),
        (RigKind::Aligned, BodyPlan::child()),
        (RigKind::Engine, BodyPlan::stocky()),
    ];
    for (kind, plan) in bodies {
        let built = content::character(kind, &plan);
        let rig = crowd.add_rig(Rig::build(&built.rig_source())?)?;
        // Once per pair of source and rig; the same content gives the same map.
        let map = maps.get(actor.source(), crowd.rig(rig))?;
        actor.carrier = map.carrier();
        for _ in 0..8 {
            let at = followers.len();
            let place = WorldTransform::standing(1.2 * at as f32, 0.0, 0.0);
            let handle = crowd.spawn(rig, 0, place, &[])?;
            let stream = Stream { id: StreamId(at as u32), map: map.clone(), root: StreamRoot::InPose };
            crowd.set_stream(handle, &stream)?;
            followers.push(handle);
        }
    }

    let ground = FlatGround::default();
    // What receivers write to, which frames read as it lies.
    let mut poses = StreamBuffer::<[f32; 4]>::new(&vec![actor.axes.len(); followers.len()])?;
    // Side by side as the crowd has its characters.
    crowd.arrange_streams(&mut poses)?;
    let mut held = 0;
    for frame in 0..FRAMES {
        for at in 0..followers.len() {
            if let Some(mut pose) = poses.pose_mut(StreamId(at as u32)) {
                let hips = actor.capture(frame as f32 * DT + 0.11 * at as f32, pose.rotations_mut());
                pose.set_position(hips);
            }
        }
        if frame % 10 == 9 {
            // A packet is lost, another is damaged: these two hold their last pose, nobody else notices.
            poses.clear(StreamId(3));
            if let Some(rotation) = poses.pose_mut(StreamId(7)).as_mut().and_then(|pose| pose.rotation_mut(5))
            {
                *rotation = [f32::NAN; 4];
            }
        }
        crowd.frame(Frame { streams: (&poses).into(), ..Frame::new(DT, &ground) }, &Serial)?;
        let report = crowd.stream_report();
        held += report.missing + report.refused;
        assert_eq!(report.followed + report.missing + report.refused, followers.len() as u32);
        assert_eq!(report.displaced, 0, "everybody sits in the lane of who follows");
    }
    assert_eq!(held as usize, 2 * FRAMES / 10);
    for &handle in &followers {
        let (_, palette) = crowd.pose(handle)?;
        let values: &[f32] = bytemuck::cast_slice(palette);
        assert!(values.iter().all(|value| value.is_finite()));
    }
    println!(
        "{} characters of {} rigs followed {FRAMES} frames of streams through {} maps; {held} poses were held",
        followers.len(),
        crowd.rigs().len(),
        maps.len(),
    );
    Ok(())
}
