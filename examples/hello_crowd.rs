//! A hundred people walk for two seconds: one rig, one clip, flat ground.

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{Crowd, CrowdConfig, FlatGround, Frame, Play, Serial, WorldTransform};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let person = content::character(RigKind::Biped, &BodyPlan::adult());
    let rig = Rig::build(&person.rig_source())?;
    let (skeleton, roles) = (&person.character.skeleton, &person.roles);
    let source = BindSource { skeleton, roles, reference: &person.reference() };
    let walk = bind(source, &content::clip(ClipKind::Walk, &person), &rig)?;

    let mut crowd = Crowd::new(CrowdConfig::default());
    let (rig, walk) = (crowd.add_rig(rig)?, crowd.add_clip(walk)?);
    for i in 0..100 {
        let place = WorldTransform::standing((i % 10) as f32, (i / 10) as f32, 0.0);
        crowd.spawn(rig, 0, place, &[Play { time: 0.037 * i as f32, ..Play::new(walk) }])?;
    }
    crowd.pack();

    let ground = FlatGround { height: 0.0 };
    for _ in 0..120 {
        let frame = Frame::new(1.0 / 60.0, &ground);
        crowd.frame(frame, &Serial)?;
    }

    let speed = ClipKind::Walk.speed(&person) as f32;
    for (i, handle) in crowd.handles().enumerate() {
        let (header, palette) = crowd.pose(handle)?;
        let walked = header.position[2] - (i / 10) as f32;
        assert!((walked - 2.0 * speed).abs() < 0.02, "walked {walked} m at {speed} m/s");
        assert!(bytemuck::cast_slice::<u8, f32>(palette).iter().all(|value| value.is_finite()));
    }
    println!("{} people walked {:.2} m", crowd.len(), 2.0 * speed);
    Ok(())
}
