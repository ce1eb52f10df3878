//! A minute of walking comes to the same whatever a character's tier, whether it is seen, and however time is cut.

#[path = "support/walkers.rs"]
mod walkers;

use throng::content::ClipKind;
use throng::crowd::{
    ClipId, CrowdConfig, FlatGround, Frame, Handle, Play, Serial, Stage, Tier, TierConfig, Visibility,
    WorldTransform,
};
use walkers::Walkers;

const SECONDS: f64 = 60.0;

/// What a character can be over the minute.
#[derive(Clone, Copy, Debug)]
enum Life {
    Period(u8),
    Culled,
    Switching,
}

/// Seconds of the frames, adding up to a minute.
fn steps(of: impl Fn(usize) -> f64) -> Vec<f32> {
    let (mut steps, mut sum) = (Vec::new(), 0.0);
    while SECONDS - sum > 1e-9 {
        // As the crowd gets it, so that the sum is of what it gets.
        let step = f64::from((of(steps.len())).min(SECONDS - sum) as f32);
        steps.push(step as f32);
        sum += step;
    }
    steps
}

/// Where it got, the times of its clips, its phase, and its events without when in the frame they were.
#[derive(Debug)]
struct End {
    place: WorldTransform,
    times: Vec<f32>,
    phase: Option<f32>,
    events: Vec<(ClipId, u16)>,
}

const KINDS: [ClipKind; 4] = [ClipKind::Walk, ClipKind::Jog, ClipKind::SlowWalk, ClipKind::TurnLeft];

/// One clip; one that turns; two in step; two that are not in step.
fn plays(clips: &[ClipId]) -> [Vec<Play>; 4] {
    [
        vec![Play { time: 0.3, speed: 1.07, ..Play::new(clips[0]) }],
        vec![Play::new(clips[3]), Play { weight: 2.0, ..Play::new(clips[0]) }],
        vec![Play::synced(clips[0], 0.4), Play::synced(clips[1], 0.6)],
        vec![
            Play { weight: 0.7, ..Play::new(clips[2]) },
            Play { weight: 0.3, time: 0.2, ..Play::new(clips[0]) },
        ],
    ]
}

/// All four ways of walking, once for each life.
fn run(steps: &[f32], lives: &[Life]) -> Vec<Vec<End>> {
    let mut config = CrowdConfig::default();
    for (tier, period) in config.tiers.iter_mut().zip([1, 2, 4, 8]) {
        *tier = TierConfig { period, ..*tier };
    }
    let mut world = Walkers::new(config, &KINDS);
    let mut handles: Vec<(Handle, Life)> = Vec::new();
    for &life in lives {
        for plays in plays(&world.clips) {
            let place = WorldTransform::standing(3.0, -4.0, 0.7);
            let handle = world.crowd.spawn(world.rigs[0], 0, place, &plays).expect("spawn");
            let tier = match life {
                Life::Period(period) => Tier::ALL[period.trailing_zeros() as usize],
                _ => Tier::Near,
            };
            world.crowd.set_tier(handle, tier).expect("alive");
            handles.push((handle, life));
        }
    }
    let mut ends: Vec<End> = handles
        .iter()
        .map(|_| End { place: WorldTransform::IDENTITY, times: Vec::new(), phase: None, events: Vec::new() })
        .collect();
    let ground = FlatGround::default();
    for (number, &dt) in steps.iter().enumerate() {
        let mut seen = vec![u64::MAX; handles.len().div_ceil(64)];
        for &(handle, life) in &handles {
            match life {
                Life::Culled => seen[handle.index() / 64] &= !(1 << (handle.index() % 64)),
                Life::Switching => {
                    let tier = Tier::ALL[(number * 7 / 5 + handle.index()) % 4];
                    world.crowd.set_tier(handle, tier).expect("alive");
                }
                Life::Period(_) => {}
            }
        }
        // Poses are another test's; their state is part of what must not matter here.
        let until = if number % 16 < 9 { Stage::Palette } else { Stage::Advance };
        let frame = Frame { until, visible: Visibility::Bits(&seen), ..Frame::new(dt, &ground) };
        world.crowd.frame(frame, &Serial).expect("frame");
        for event in world.crowd.events() {
            let at = handles.iter().position(|(handle, _)| *handle == event.character).expect("ours");
            ends[at].events.push((event.clip, event.event));
        }
        assert_eq!(world.crowd.events_lost(), 0);
    }
    for (&(handle, _), end) in handles.iter().zip(&mut ends) {
        end.place = world.crowd.transform(handle).expect("alive");
        end.times = world.crowd.clips(handle).expect("alive").map(|play| play.time).collect();
        end.phase = world.crowd.phase(handle).expect("alive");
    }
    let mut lives = Vec::new();
    let mut ends = ends.into_iter();
    while ends.len() > 0 {
        lives.push(ends.by_ref().take(KINDS.len()).collect());
    }
    lives
}

const LIVES: [Life; 6] =
    [Life::Period(1), Life::Period(2), Life::Period(4), Life::Period(8), Life::Culled, Life::Switching];

#[test]
fn tier_and_sight_change_no_bit_of_where_a_character_gets_and_what_it_tells() {
    for steps in [steps(|_| 1.0 / 60.0), steps(|at| [0.004, 0.05, 0.017, 0.3][at % 4])] {
        let lives = run(&steps, &LIVES);
        for (life, ends) in LIVES.iter().zip(&lives) {
            for (way, (end, near)) in ends.iter().zip(&lives[0]).enumerate() {
                assert_eq!(end.place, near.place, "{life:?}, way {way}");
                assert_eq!((&end.times, end.phase), (&near.times, near.phase), "{life:?}, way {way}");
                assert_eq!(end.events, near.events, "{life:?}, way {way}");
            }
        }
    }
}

#[test]
fn the_length_of_frames_changes_nothing_that_counts() {
    let whole = run(&steps(|_| 1.0 / 60.0), &LIVES[..1]);
    let cuts: [(&str, Vec<f32>); 5] = [
        ("1/240", steps(|_| 1.0 / 240.0)),
        ("1/30", steps(|_| 1.0 / 30.0)),
        ("1/7", steps(|_| 1.0 / 7.0)),
        ("1/3", steps(|_| 1.0 / 3.0)),
        ("uneven", steps(|at| [1.0 / 240.0, 1.0 / 3.0, 1.0 / 60.0, 0.07][at * 7 % 4])),
    ];
    for (cut, steps) in cuts {
        let ends = run(&steps, &LIVES[..1]);
        for (way, (end, right)) in ends[0].iter().zip(&whole[0]).enumerate() {
            for k in 0..3 {
                let off = (end.place.position[k] - right.place.position[k]).abs();
                assert!(off < 1e-4, "{cut}, way {way}: {off} m along {k}");
            }
            let turn: f32 =
                end.place.rotation.iter().zip(&right.place.rotation).map(|(a, b)| (a - b).abs()).sum();
            assert!(turn < 1e-4, "{cut}, way {way}: {turn}");
            for (a, b) in end.times.iter().zip(&right.times) {
                assert!((a - b).abs() < 1e-5, "{cut}, way {way}: {a} s for {b} s");
            }
            if let (Some(a), Some(b)) = (end.phase, right.phase) {
                assert!((a - b).abs() < 1e-5, "{cut}, way {way}: phase {a} for {b}");
            }
            assert!(end.events.len() > 60, "a step has its event");
            assert_eq!(sorted(&end.events), sorted(&right.events), "{cut}, way {way}");
        }
    }
}

fn sorted(events: &[(ClipId, u16)]) -> Vec<(ClipId, u16)> {
    let mut sorted = events.to_vec();
    sorted.sort();
    sorted
}
