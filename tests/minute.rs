//! A minute comes out the same however it is cut into frames: places, phases, events.

use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::{
    ClipId, Crowd, CrowdConfig, FlatGround, Frame, Handle, Play, Roots, Serial, Stage, WorldTransform, Wrap,
};
use throng::lanes::{Isa, Mode, Simd};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

struct Outcome {
    what: String,
    place: WorldTransform,
    phase: Option<f32>,
    /// Of clips that are not synced, over their cycle.
    times: Vec<f32>,
    events: usize,
}

/// Frames of a minute. Their sum is a minute to 1e-6 s, so that what differs is the crowd's.
fn steps(kind: &str) -> Vec<f32> {
    let even = |count: usize| vec![(60.0 / count as f64) as f32; count];
    match kind {
        "240 Hz" => even(14_400),
        "60 Hz" => even(3_600),
        "37 Hz" => even(2_220),
        "10 Hz" => even(600),
        "3 Hz" => even(180),
        _ => {
            // From 1/240 to 1/3 s, drawn anew each time.
            let (mut state, mut sum, mut all) = (0x9e37_79b9u32, 0.0f64, Vec::new());
            loop {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let u = f64::from(state >> 8) / f64::from(1 << 24);
                let step = (1.0 / 240.0 + u * u * (1.0 / 3.0 - 1.0 / 240.0)) as f32;
                if sum + f64::from(step) > 60.0 - 0.004 {
                    all.push((60.0 - sum) as f32);
                    return all;
                }
                sum += f64::from(step);
                all.push(step);
            }
        }
    }
}

fn minute(kind: &str, simd: Simd) -> Vec<Outcome> {
    let body = content::character(RigKind::Biped, &BodyPlan::adult());
    let rig = Rig::build(&body.rig_source()).expect("rig");
    let reference = body.reference();
    let source = BindSource { skeleton: &body.character.skeleton, roles: &body.roles, reference: &reference };
    let mut crowd = Crowd::new(CrowdConfig { simd, ..CrowdConfig::default() });
    let id = crowd.add_rig(rig.clone()).expect("rig");
    let mut add = |kind| -> ClipId {
        crowd.add_clip(bind(source, &content::clip(kind, &body), &rig).expect("bind")).expect("clip")
    };
    let walk = add(ClipKind::Walk);
    let jog = add(ClipKind::Jog);
    let turn = add(ClipKind::TurnLeft);
    let start = add(ClipKind::Start);
    let plays: Vec<(&str, Vec<Play>)> = vec![
        ("walk", vec![Play::new(walk)]),
        ("walk backwards", vec![Play { speed: -0.7, ..Play::new(walk) }]),
        ("turn", vec![Play::new(turn)]),
        ("start over and over", vec![Play { wrap: Wrap::Loop, ..Play::new(start) }]),
        ("start to and fro", vec![Play { wrap: Wrap::PingPong, speed: 1.3, ..Play::new(start) }]),
        ("walk and jog in step", vec![Play::synced(walk, 0.4), Play::synced(jog, 0.6)]),
        (
            "walk and turn",
            vec![Play { weight: 0.5, ..Play::new(walk) }, Play { weight: 0.5, ..Play::new(turn) }],
        ),
        (
            "walk and start",
            vec![
                Play { weight: 0.3, ..Play::new(walk) },
                Play { wrap: Wrap::Loop, weight: 0.7, ..Play::new(start) },
            ],
        ),
    ];
    let handles: Vec<Handle> = plays
        .iter()
        .map(|(_, plays)| crowd.spawn(id, 0, WorldTransform::standing(1.0, 2.0, 0.3), plays).expect("spawn"))
        .collect();
    let mut events = vec![0; handles.len()];
    let ground = FlatGround::default();
    for dt in steps(kind) {
        let frame = Frame { roots: Roots::Free, until: Stage::Advance, ..Frame::new(dt, &ground) };
        crowd.frame(frame, &Serial).expect("frame");
        crowd.events().for_each(|event| events[event.character.index()] += 1);
        assert_eq!(crowd.events_lost(), 0);
    }
    plays
        .iter()
        .zip(handles)
        .zip(events)
        .map(|(((what, _), handle), events)| Outcome {
            what: (*what).to_owned(),
            place: crowd.transform(handle).expect("alive"),
            phase: crowd.phase(handle).expect("alive"),
            times: crowd
                .clips(handle)
                .expect("alive")
                .filter(|play| !play.sync)
                .map(|play| play.time / crowd.clip(play.clip).expect("there").duration())
                .collect(),
            events,
        })
        .collect()
}

/// Around the cycle, of one length or two.
fn apart(a: f32, b: f32) -> f32 {
    let apart = (a - b).abs();
    apart.min((apart - 1.0).abs()).min((apart - 2.0).abs())
}

#[test]
fn a_minute_ends_at_the_same_place_phase_and_count_however_it_is_cut() {
    for simd in [Simd::fastest(), Simd::new(Isa::PORTABLE, Mode::Strict)] {
        let right = minute("60 Hz", simd);
        for kind in ["240 Hz", "37 Hz", "10 Hz", "3 Hz", "uneven"] {
            for (have, want) in minute(kind, simd).iter().zip(&right) {
                let what = format!("{} at {kind}", have.what);
                let way = (0..3)
                    .map(|k| (have.place.position[k] - want.place.position[k]).powi(2))
                    .sum::<f32>()
                    .sqrt();
                let phase = have.phase.zip(want.phase).map_or(0.0, |(a, b)| apart(a, b));
                let times =
                    have.times.iter().zip(&want.times).map(|(&a, &b)| apart(a, b)).fold(0.0, f32::max);
                println!(
                    "{what}: {way:.1e} m of {:.1} {:.1}, phase {phase:.1e}, times {times:.1e}, {} events",
                    want.place.position[0], want.place.position[2], have.events
                );
                assert!(way < 1e-4, "{what}: {way} m");
                assert!(phase < 1e-5 && times < 1e-5, "{what}: {phase} {times}");
                assert_eq!(have.events, want.events, "{what}");
            }
        }
    }
}
