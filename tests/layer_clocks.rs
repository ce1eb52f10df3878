//! Layers keep their own time, tell their clips' events, and fade.

mod reference;

use glam::{DQuat, DVec3};
use reference::terrain::Terrain;
use throng::clip::{AdditiveReference, BoundClip, ClipEvent, MotionKeys};
use throng::content::{self, BodyPlan, RigKind};
use throng::crowd::{
    ClipId, Crowd, CrowdConfig, Frame, Handle, JointMask, Layer, Play, Roots, Serial, WorldTransform, Wrap,
};
use throng::rig::{Rig, Topology};

/// Lasts a second, says "a" at 0.25 and "b" at 0.75.
fn clip(topology: &Topology, name: &str) -> MotionKeys {
    let event = |time, name: &str| ClipEvent { time, name: name.into() };
    MotionKeys {
        name: name.into(),
        duration: 1.0,
        looping: true,
        rotations: vec![DQuat::IDENTITY; 2 * topology.len()],
        pelvis: vec![DVec3::ZERO; 2],
        root: vec![[0.0; 3], [0.0, 1.0, 0.0]],
        contact: vec![[1.0; 2]; 2],
        events: vec![event(0.25, "a"), event(0.75, "b")],
        ..MotionKeys::default()
    }
}

struct Stand {
    crowd: Crowd,
    base: ClipId,
    over: ClipId,
    added: ClipId,
    handle: Handle,
}

fn stand() -> Stand {
    let mut built = content::character(RigKind::Aligned, &BodyPlan::adult());
    built.character.skins.clear();
    let rig = Rig::build(&built.rig_source()).expect("rig");
    let mut crowd = Crowd::new(CrowdConfig::default());
    let id = crowd.add_rig(rig.clone()).expect("rig");
    let topology = rig.topology();
    let mut quiet = clip(topology, "base");
    quiet.events.clear();
    quiet.root = vec![[0.0; 3]; 2];
    let over = clip(topology, "over");
    let mut add =
        |keys: &MotionKeys| crowd.add_clip(BoundClip::build(topology, keys).expect("keys")).expect("clip");
    let (base, added) = (add(&quiet), add(&over.additive(AdditiveReference::Rig).expect("additive")));
    let over = add(&over);
    let handle = crowd.spawn(id, 0, WorldTransform::IDENTITY, &[Play::new(base)]).expect("spawn");
    Stand { crowd, base, over, added, handle }
}

impl Stand {
    fn frame(&mut self, dt: f32) {
        let frame = Frame { roots: Roots::Free, ..Frame::new(dt, &Terrain::Nothing) };
        self.crowd.frame(frame, &Serial).expect("frame");
    }

    fn layers(&self) -> Vec<(usize, Layer)> {
        self.crowd.layers(self.handle).expect("alive").collect()
    }

    /// Names of the events of the last frame, in order.
    fn told(&self) -> Vec<String> {
        self.crowd
            .events()
            .map(|event| {
                assert_eq!(event.character, self.handle);
                self.crowd.clip(event.clip).expect("clip").events()[usize::from(event.event)].name.clone()
            })
            .collect()
    }
}

/// Steps that make `seconds` together.
fn steps(kind: &str, seconds: f64) -> Vec<f32> {
    let even = |n: usize| vec![(seconds / n as f64) as f32; n];
    match kind {
        "1/240" => even((seconds * 240.0).round() as usize),
        "1/60" => even((seconds * 60.0).round() as usize),
        "1/3" => even((seconds * 3.0).round() as usize),
        _ => {
            let mut left = seconds;
            let mut out = Vec::new();
            for k in 0.. {
                let step = [0.004, 0.31, 0.017, 0.12, 0.0, 0.055][k % 6];
                if left <= step {
                    out.push(left as f32);
                    return out;
                }
                out.push(step as f32);
                left -= f64::from(step as f32);
            }
            out
        }
    }
}

#[test]
fn clocks_and_events_of_layers_do_not_depend_on_how_time_is_cut() {
    // Seconds of the clip after 20.1 s, and what was told in that time.
    let forward: Vec<&str> = ["a", "b"].into_iter().cycle().take(40).collect();
    let backward: Vec<&str> = ["b", "a"].into_iter().cycle().take(40).collect();
    let bounce: Vec<&str> = ["a", "b", "b", "a"].into_iter().cycle().take(40).collect();
    for (wrap, speed, time, right) in [
        (Wrap::Clip, 1.0, 0.1, forward.clone()),
        (Wrap::Clip, -1.0, 0.9, backward),
        (Wrap::Once, 1.0, 1.0, vec!["a", "b"]),
        (Wrap::Once, -1.0, 0.0, vec![]),
        (Wrap::PingPong, 1.0, 0.1, bounce),
    ] {
        for kind in ["1/240", "1/60", "1/3", "uneven"] {
            for additive in [false, true] {
                let mut stand = stand();
                let layer = if additive { Layer::additive(stand.added) } else { Layer::new(stand.over) };
                let layer = Layer { wrap, speed, ..layer };
                stand.crowd.set_layers(stand.handle, &[layer]).expect("layers");
                let mut told = Vec::new();
                for dt in steps(kind, 20.1) {
                    stand.frame(dt);
                    told.extend(stand.told());
                }
                let at = stand.layers()[0].1.time;
                assert!((at - time).abs() < 1e-4, "{wrap:?} {speed} {kind}: {at} for {time}");
                assert_eq!(told, right, "{wrap:?} {speed} {kind}");
                let root = stand.crowd.transform(stand.handle).expect("alive");
                assert_eq!(root.position, [0.0; 3], "a layer's root motion moves nobody");
            }
        }
    }
}

#[test]
fn weights_are_eased_in_and_out_and_what_has_faded_out_is_gone() {
    let mut stand = stand();
    let layer = Layer { fade: 0.5, weight: 0.8, ..Layer::new(stand.over) };
    stand.crowd.set_layers(stand.handle, &[Layer::additive(stand.added), layer]).expect("layers");
    let mut last = 0.0;
    for frame in 1..=10 {
        stand.frame(0.05);
        let now = stand.layers()[1].1.weight;
        let s = frame as f32 * 0.1;
        assert!((now - 0.8 * s * s * (3.0 - 2.0 * s)).abs() < 1e-5, "{frame}: {now}");
        assert!(now > last);
        last = now;
    }
    assert_eq!(last, 0.8);
    // Set again as it is: it goes on where it is.
    stand.frame(0.1);
    let time = stand.layers()[1].1.time;
    stand.crowd.set_layers(stand.handle, &[Layer::additive(stand.added), layer]).expect("layers");
    assert_eq!((stand.layers()[1].1.time, stand.layers()[1].1.weight), (time, 0.8));
    // Out: its place is empty, the other one keeps its own.
    stand.crowd.fade_layer(stand.handle, 0, 0.0, 0.2).expect("a layer");
    for _ in 0..3 {
        stand.frame(0.05);
        assert_eq!(stand.layers().len(), 2);
    }
    stand.frame(0.06);
    let left: Vec<usize> = stand.layers().iter().map(|(place, _)| *place).collect();
    assert_eq!(left, [1]);
    assert!(stand.crowd.fade_layer(stand.handle, 0, 1.0, 0.2).is_err());
    stand.crowd.seek_layer(stand.handle, 1, 1.3).expect("a layer");
    assert!((stand.layers()[0].1.time - 0.3).abs() < 1e-6);
    stand.crowd.fade_layer(stand.handle, 1, 0.0, 0.0).expect("a layer");
    assert!(stand.layers().is_empty());
    stand.frame(0.1);
    assert!(stand.told().is_empty(), "what is gone tells nothing");
}

#[test]
fn layers_live_through_changes_of_clips_moves_of_lanes_and_transitions() {
    let mut stand = stand();
    let rig = stand.crowd.body(stand.handle).expect("alive").0;
    let mask = JointMask::upper_body(stand.crowd.rig(rig).topology()).expect("upper body");
    let mask = stand.crowd.add_mask(&mask).expect("mask");
    let mut layer = Layer { speed: 0.5, model_space_root: true, ..Layer::new(stand.over).masked(mask) };
    stand.crowd.set_layers(stand.handle, &[layer]).expect("layers");
    let others: Vec<Handle> = (0..40)
        .map(|_| {
            let plays = [Play::new(stand.base)];
            stand.crowd.spawn(rig, 0, WorldTransform::IDENTITY, &plays).expect("spawn")
        })
        .collect();
    for frame in 0..60 {
        match frame {
            10 => stand.crowd.set_clips(stand.handle, &[Play::new(stand.over)]).expect("clips"),
            20 => {
                others.iter().take(35).for_each(|&other| stand.crowd.despawn(other).expect("alive"));
                stand.crowd.pack();
            }
            30 => stand.crowd.fade_to(stand.handle, &[Play::new(stand.base)], 0.1).expect("clips"),
            40 => {
                stand.crowd.transition_to(stand.handle, &[Play::new(stand.over)], 0.1).expect("clips");
            }
            _ => {}
        }
        stand.frame(0.05);
        layer.time = (f64::from(frame + 1) * 0.025).rem_euclid(1.0) as f32;
        let now = stand.layers();
        assert_eq!(now.len(), 1);
        let have = now[0].1;
        let apart = (have.time - layer.time).abs();
        assert!(apart.min(1.0 - apart) < 1e-5, "frame {frame}: {} for {}", have.time, layer.time);
        assert_eq!(Layer { time: layer.time, wrap: Wrap::Clip, ..have }, layer, "frame {frame}");
    }
}

/// A layer that ends during a transition must not take the transition's memory with it.
#[test]
fn a_transition_outlives_a_layer_that_ends_in_it() {
    let run = |layered: bool| {
        let mut stand = stand();
        let rig = stand.crowd.body(stand.handle).expect("alive").0;
        let topology = stand.crowd.rig(rig).topology().clone();
        let mut turned = clip(&topology, "turned");
        let arm = topology.joint(throng::rig::Role::UpperArm(throng::rig::Side::Left)).expect("arm");
        for key in 0..2 {
            turned.rotations[key * topology.len() + usize::from(arm)] = DQuat::from_rotation_z(1.0);
        }
        let turned = BoundClip::build(&topology, &turned).expect("keys");
        let turned = stand.crowd.add_clip(turned).expect("clip");
        stand.frame(0.05);
        if layered {
            let layer = Layer { weight: 0.0, ..Layer::new(stand.over) };
            stand.crowd.set_layers(stand.handle, &[layer]).expect("layers");
        }
        stand.crowd.transition_to(stand.handle, &[Play::new(turned)], 1.0).expect("clips");
        if layered {
            stand.crowd.fade_layer(stand.handle, 0, 0.0, 0.1).expect("a layer");
        }
        (0..12)
            .map(|_| {
                stand.frame(0.05);
                stand.crowd.pose(stand.handle).expect("alive").1.to_vec()
            })
            .collect::<Vec<_>>()
    };
    assert!(run(true) == run(false));
}
