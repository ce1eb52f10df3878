//! What one character can play: a blend in step, a transition, a one-shot, events, a seek.

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{ClipId, Crowd, CrowdConfig, FlatGround, Frame, Play, Serial, WorldTransform, Wrap};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

type Result<T> = core::result::Result<T, Box<dyn std::error::Error>>;

const DT: f32 = 1.0 / 60.0;

fn main() -> Result<()> {
    let person = content::character(RigKind::Biped, &BodyPlan::adult());
    let rig = Rig::build(&person.rig_source())?;
    let reference = person.reference();
    let source =
        BindSource { skeleton: &person.character.skeleton, roles: &person.roles, reference: &reference };
    let mut crowd = Crowd::new(CrowdConfig::default());
    let body = crowd.add_rig(rig.clone())?;
    let mut add =
        |kind| -> Result<ClipId> { Ok(crowd.add_clip(bind(source, &content::clip(kind, &person), &rig)?)?) };
    let (idle, walk, jog) = (add(ClipKind::Idle)?, add(ClipKind::Walk)?, add(ClipKind::Jog)?);
    let who = crowd.spawn(body, 0, WorldTransform::IDENTITY, &[Play::synced(walk, 1.0)])?;

    // Two gaits in step: one phase, the cycle as long as the weighted mean of both.
    crowd.set_clips(who, &[Play::synced(walk, 0.5), Play::synced(jog, 0.5)])?;
    let mut steps = 0;
    for _ in 0..240 {
        frame(&mut crowd)?;
        // Both clips tell their steps; the heavier one's count, of equals the first.
        for event in crowd.events().filter(|event| event.clip == walk) {
            let name = &crowd.clip(event.clip).ok_or("gone")?.events()[usize::from(event.event)].name;
            assert!(name == "step_left" || name == "step_right");
            steps += 1;
        }
    }
    let length = |clip| crowd.clip(clip).map_or(0.0, |clip| clip.duration());
    let cycle = 0.5 * (length(walk) + length(jog));
    let expected = (4.0 / cycle * 2.0) as i32;
    assert!((steps - expected).abs() <= 1, "{steps} steps in four seconds, {expected} expected");
    let here = crowd.transform(who)?.position[2];
    println!("half walk, half jog: {steps} steps, {here:.2} m in four seconds");

    // To a stop: the old motion goes on by itself and gives way, nothing jumps.
    let kind = crowd.transition_to(who, &[Play::new(idle)], 0.4)?;
    for _ in 0..60 {
        frame(&mut crowd)?;
    }
    assert!(!crowd.is_changing(who)? && crowd.root_motion(who)?.z.abs() < 1e-6);
    println!("{kind:?} to a stop {:.2} m further on", crowd.transform(who)?.position[2] - here);

    // A cross-fade back, both clips sampled meanwhile; then there and back again at half speed.
    crowd.fade_to(who, &[Play::synced(walk, 1.0)], 0.3)?;
    for _ in 0..30 {
        frame(&mut crowd)?;
    }
    crowd.set_clips(who, &[Play { wrap: Wrap::PingPong, speed: 0.5, ..Play::new(walk) }])?;
    let start = crowd.transform(who)?.position[2];
    // A whole way there and back, in whole frames.
    let frames = (4.0 * crowd.clip(walk).ok_or("gone")?.duration() / DT).round() as usize;
    for _ in 0..frames {
        frame(&mut crowd)?;
    }
    let back = crowd.transform(who)?.position[2] - start;
    assert!(back.abs() < 0.02, "there and back ends where it began, but for part of a frame: {back} m");

    // To the middle of the clip: the way up to there is told, and made only if asked for.
    crowd.set_clips(who, &[Play::new(walk)])?;
    let middle = 0.5 * crowd.clip(walk).ok_or("gone")?.duration();
    let way = crowd.seek(who, walk, middle, false)?;
    println!("half a cycle is {:.2} m", way.z);
    assert!(way.z > 0.5);
    Ok(())
}

fn frame(crowd: &mut Crowd) -> Result<()> {
    Ok(crowd.frame(Frame::new(DT, &FlatGround::default()), &Serial)?)
}
