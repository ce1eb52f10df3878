//! A hecs world whose people walk by themselves: tiers by distance to a camera that walks along, one hero, and nobody
//! posed who is behind it.

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{Crowd, CrowdConfig, FlatGround, Frame, Play, Serial, Tier, Visibility, WorldTransform};
use throng::lod::{Character, Fixed, Hero, Mirror, PolicyConfig, RootMotion, TierPolicy, Viewer};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

const DT: f32 = 1.0 / 60.0;

/// A component of the game's own.
struct Score(f32);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let person = content::character(RigKind::Biped, &BodyPlan::adult());
    let rig = Rig::build(&person.rig_source())?;
    let (skeleton, roles) = (&person.character.skeleton, &person.roles);
    let source = BindSource { skeleton, roles, reference: &person.reference() };
    let walk = bind(source, &content::clip(ClipKind::Walk, &person), &rig)?;

    let mut crowd = Crowd::new(CrowdConfig::default());
    let (rig, walk) = (crowd.add_rig(rig)?, crowd.add_clip(walk)?);
    let mut world = hecs::World::new();
    for i in 0..2_000 {
        let place = WorldTransform::standing((i % 50) as f32 * 2.0, (i / 50) as f32 * 2.0, 0.0);
        let handle = crowd.spawn(rig, 0, place, &[Play { time: 0.037 * i as f32, ..Play::new(walk) }])?;
        let entity = world.spawn((Character(handle), place, RootMotion::default(), Score(0.0)));
        if i == 1_999 {
            world.insert_one(entity, Hero)?;
        }
    }
    crowd.pack();

    let mut mirror = Mirror::default();
    let mut policy = TierPolicy::new(PolicyConfig::default());
    let ground = FlatGround::default();
    let mut visible = vec![0u64; crowd.len().div_ceil(64)];
    let mut camera = [50.0, 1.7, -5.0];
    for _ in 0..240 {
        // World to crowd. Clips move the roots here, so transforms only tell how far away everybody is.
        mirror.read(&mut world, &crowd);
        mirror.read_traits(&mut world, &crowd);
        policy.update(&mut crowd, mirror.scene(), &[Viewer::at(camera)], DT, &mut Fixed::default(), None);
        // The host's own culling; here, a camera that looks along +Z.
        visible.fill(0);
        for (index, place) in mirror.transforms().iter().enumerate() {
            visible[index / 64] |= u64::from(place.position[2] > camera[2] - 1.0) << (index % 64);
        }
        let frame = Frame { visible: Visibility::Bits(&visible), ..Frame::new(DT, &ground) };
        crowd.frame(frame, &Serial)?;
        // Crowd to world.
        mirror.write_back(&mut world, &crowd);
        for (score, motion) in world.query_mut::<(&mut Score, &RootMotion)>() {
            score.0 += motion.0.z;
        }
        crowd.pack_some(64);
        camera[2] += 4.0 * DT;
    }

    let stats = policy.stats();
    for (tier, count) in Tier::ALL.into_iter().zip(stats.counts) {
        println!("{:5} {count}", tier.name());
    }
    assert_eq!(stats.counts.iter().sum::<usize>(), crowd.len());
    assert_eq!(stats.counts[Tier::Hero as usize], 1);
    assert!(stats.counts[Tier::Near as usize] > 20 && stats.counts[Tier::Far as usize] > 500);
    let walked = 4.0 * ClipKind::Walk.speed(&person) as f32;
    for score in world.query_mut::<&Score>() {
        assert!((score.0 - walked).abs() < 0.02, "{} m at any tier, seen or not", score.0);
    }
    Ok(())
}
