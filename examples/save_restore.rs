//! Saving a crowd with the game and going on from it: docs/guides/save_restore.md.

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    ClipId, Crowd, CrowdConfig, FlatGround, Frame, Handle, Play, RigId, Serial, SnapshotError, WorldTransform,
};
use throng::lanes::{Isa, Mode, Simd};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

/// What a game loads before anything is restored: rigs and clips, always in the same order.
fn load() -> Result<(Crowd, RigId, [ClipId; 2]), Box<dyn std::error::Error>> {
    let person = content::character(RigKind::Biped, &BodyPlan::adult());
    let rig = Rig::build(&person.rig_source())?;
    let (skeleton, roles) = (&person.character.skeleton, &person.roles);
    let source = BindSource { skeleton, roles, reference: &person.reference() };
    // Strict: the same bits on every processor, so that a replay may go on elsewhere.
    let simd = Simd::new(Isa::widest(), Mode::Strict);
    let mut crowd = Crowd::new(CrowdConfig { simd, ..CrowdConfig::default() });
    let mut clips = Vec::new();
    let id = crowd.add_rig(rig.clone())?;
    for kind in [ClipKind::Walk, ClipKind::Run] {
        clips.push(crowd.add_clip(bind(source, &content::clip(kind, &person), &rig)?)?);
    }
    Ok((crowd, id, [clips[0], clips[1]]))
}

/// A second of the game: whoever's turn it is changes its clip.
fn play(
    crowd: &mut Crowd,
    people: &[Handle],
    clips: &[ClipId],
    from: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    for frame in from..from + 60 {
        let (who, clip) = (people[frame % people.len()], clips[frame / 7 % 2]);
        crowd.transition_to(who, &[Play::new(clip)], 0.4)?;
        crowd.frame(Frame::new(1.0 / 60.0, &FlatGround::default()), &Serial)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut crowd, rig, clips) = load()?;
    let mut people = Vec::new();
    for i in 0..50 {
        let place = WorldTransform::standing(i as f32, 0.0, 0.1 * i as f32);
        people.push(crowd.spawn(rig, 0, place, &[Play::new(clips[i % 2])])?);
    }
    play(&mut crowd, &people, &clips, 0)?;

    // The bytes go into the game's own file, with the handles in its own data: `to_bits` makes numbers of them.
    let saved = crowd.snapshot();
    let numbers: Vec<u64> = people.iter().map(|handle| handle.to_bits()).collect();
    println!("{} characters in {} bytes", crowd.len(), saved.len());
    play(&mut crowd, &people, &clips, 60)?;

    // Later: the same rigs and clips, then the state.
    let (mut later, _, clips) = load()?;
    later.restore(&saved)?;
    let again: Vec<Handle> = numbers.into_iter().map(Handle::from_bits).collect();
    play(&mut later, &again, &clips, 60)?;
    assert_eq!(crowd.output(), later.output(), "to the bit as if nothing had been");

    // What does not fit is told, and changes nothing.
    let mut empty = Crowd::new(CrowdConfig::default());
    assert!(matches!(empty.restore(&saved), Err(SnapshotError::Content { .. })));
    let mut damaged = saved.clone();
    damaged[1000] ^= 1;
    assert!(matches!(later.restore(&damaged), Err(SnapshotError::Hash { .. })));
    println!("restored, played on to the same bits; damage and another library are refused");
    Ok(())
}
