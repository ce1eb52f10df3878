//! Layers over the clips, held against double precision and against what they must not do.

mod reference;

use std::f64::consts::{FRAC_PI_2, FRAC_PI_6, PI};

use glam::{DMat3, DMat4, DQuat, DVec3};
use reference::palette::{angle_between, decode};
use reference::random::{ClipShape, Rng, body, motion, tree};
use reference::rows::{Clip, Sample, mix};
use reference::terrain::Terrain;
use throng::clip::{AdditiveReference, BoundClip, MotionKeys};
use throng::content::{self, BodyPlan, RigKind};
use throng::crowd::{
    ClipId, Crowd, CrowdConfig, Frame, Ground, Handle, JointMask, Layer, MaskId, PaletteFormat, Play, RigId,
    Roots, Serial, WorldTransform, Wrap,
};
use throng::error::BuildError;
use throng::lanes::{Isa, Mode, Simd};
use throng::rig::{NO_PARENT, Rig, Role, Topology};

fn still(topology: &Topology, looping: bool) -> MotionKeys {
    MotionKeys {
        name: "still".into(),
        duration: 1.0,
        looping,
        rotations: vec![DQuat::IDENTITY; 2 * topology.len()],
        pelvis: vec![DVec3::ZERO; 2],
        root: vec![[0.0; 3]; 2],
        contact: vec![[1.0; 2]; 2],
        ..MotionKeys::default()
    }
}

/// Joints held turned.
fn held(topology: &Topology, turns: &[(u16, DQuat)], pelvis: DVec3) -> MotionKeys {
    let mut keys = still(topology, false);
    for key in 0..2 {
        for &(joint, turn) in turns {
            keys.rotations[key * topology.len() + usize::from(joint)] = turn;
        }
        keys.pelvis[key] = pelvis;
    }
    keys
}

fn adult() -> Rig {
    let mut built = content::character(RigKind::Aligned, &BodyPlan::adult());
    built.character.skins.clear();
    built.character.meshes.clear();
    Rig::build(&built.rig_source()).expect("rig")
}

struct Stand {
    crowd: Crowd,
    rig: Rig,
    id: RigId,
}

impl Stand {
    fn new(rig: &Rig, config: CrowdConfig) -> Self {
        let mut crowd = Crowd::new(config);
        let id = crowd.add_rig(rig.clone()).expect("rig");
        Self { crowd, rig: rig.clone(), id }
    }

    fn clip(&mut self, keys: &MotionKeys) -> ClipId {
        self.crowd.add_clip(BoundClip::build(self.rig.topology(), keys).expect("keys")).expect("clip")
    }

    fn mask(&mut self, mask: &JointMask) -> MaskId {
        self.crowd.add_mask(mask).expect("mask")
    }

    fn spawn(&mut self, plays: &[Play], layers: &[Layer]) -> Handle {
        let handle = self.crowd.spawn(self.id, 0, WorldTransform::IDENTITY, plays).expect("spawn");
        self.crowd.set_layers(handle, layers).expect("layers");
        handle
    }

    fn frame(&mut self, dt: f32, ground: &dyn Ground) {
        let frame = Frame { roots: Roots::Free, ..Frame::new(dt, ground) };
        self.crowd.frame(frame, &Serial).expect("frame");
    }

    /// One frame without time or ground.
    fn look(&mut self) {
        self.frame(0.0, &Terrain::Nothing);
    }

    fn bits(&self, handle: Handle) -> Vec<u8> {
        self.crowd.pose(handle).expect("alive").1.to_vec()
    }

    fn matrices(&self, handle: Handle) -> Vec<DMat4> {
        let (_, palette) = self.crowd.pose(handle).expect("alive");
        (0..self.rig.topology().len())
            .map(|joint| decode(PaletteFormat::Mat3x4, palette, joint, 1.0))
            .collect()
    }

    /// Of each joint since its parent.
    fn locals(&self, handle: Handle) -> Vec<DMat4> {
        let models: Vec<DMat4> =
            self.matrices(handle).iter().map(|m| DMat4::from_mat3(DMat3::from_mat4(*m))).collect();
        let parents = self.rig.topology().parents();
        (0..models.len())
            .map(|joint| match parents[joint] {
                NO_PARENT => models[joint],
                parent => models[usize::from(parent)].transpose() * models[joint],
            })
            .collect()
    }
}

/// One layer as the reference sees it.
struct Over {
    sample: Sample,
    weight: f64,
    mask: Vec<f32>,
    additive: bool,
    model: bool,
}

fn toward(a: DQuat, b: DQuat, weight: f64) -> DQuat {
    let a = if a.w < 0.0 { -a } else { a };
    let b = if b.w < 0.0 { -b } else { b };
    (a * (1.0 - weight) + b * weight).normalize()
}

/// Model matrices since the reference pose, positions relative to the root, and how near a hemisphere's edge it came.
fn reference_pose(rig: &Rig, base: &[(f64, Sample)], layers: &[Over]) -> (Vec<(DMat3, DVec3)>, f64) {
    let topology = rig.topology();
    let joints = topology.len();
    let mixed = mix(joints, base);
    let (mut locals, mut pelvis) = (mixed.rotations, mixed.pelvis);
    let mut margin = f64::INFINITY;
    let chain = |locals: &[DQuat], joint: usize| {
        let mut product = DMat3::from_quat(locals[joint]);
        let mut at = topology.parents()[joint];
        while at != NO_PARENT {
            product = DMat3::from_quat(locals[usize::from(at)]) * product;
            at = topology.parents()[usize::from(at)];
        }
        product
    };
    for layer in layers {
        let weight = |joint: usize| layer.weight * f64::from(layer.mask[joint]);
        let sampled: Vec<DQuat> =
            layer.sample.rotations.iter().map(|q| DQuat::from_array(*q).normalize()).collect();
        for joint in 0..joints {
            let w = weight(joint);
            if w <= 0.0 {
                continue;
            }
            let parent = topology.parents()[joint];
            let begins = parent == NO_PARENT || layer.mask[usize::from(parent)] <= 0.0;
            margin = margin.min(locals[joint].w.abs());
            locals[joint] = if layer.additive {
                locals[joint] * toward(DQuat::IDENTITY, sampled[joint], w)
            } else if layer.model && begins {
                let (below, own) = (chain(&locals, joint), chain(&sampled, joint));
                let (a, b) = (DQuat::from_mat3(&below), DQuat::from_mat3(&own));
                margin = margin.min(a.w.abs()).min(b.w.abs());
                let above = below * DMat3::from_quat(locals[joint]).transpose();
                DQuat::from_mat3(&(above.transpose() * DMat3::from_quat(toward(a, b, w)))).normalize()
            } else {
                toward(locals[joint], sampled[joint], w)
            };
        }
        let w = weight(usize::from(topology.pelvis()));
        pelvis += w * if layer.additive { layer.sample.pelvis } else { layer.sample.pelvis - pelvis };
    }
    let places = rig.positions();
    let mut pose: Vec<(DMat3, DVec3)> = Vec::new();
    for (joint, &parent) in topology.parents().iter().enumerate() {
        let (above, from, base) = match parent {
            NO_PARENT => (DMat3::IDENTITY, DVec3::ZERO, DVec3::ZERO),
            parent => {
                let (above, from) = pose[usize::from(parent)];
                (above, from, places[usize::from(parent)])
            }
        };
        let own = if joint == usize::from(topology.pelvis()) { pelvis } else { DVec3::ZERO };
        let at = from + above * (places[joint] - base) + own * f64::from(rig.leg());
        pose.push((above * DMat3::from_quat(locals[joint]), at));
    }
    (pose, margin)
}

fn random_mask(rng: &mut Rng, topology: &Topology) -> Vec<f32> {
    match rng.below(4) {
        0 => vec![1.0; topology.len()],
        1 => (0..topology.len()).map(|_| if rng.chance(0.4) { 0.0 } else { rng.unit() as f32 }).collect(),
        _ => {
            let joint = rng.below(topology.len()) as u16;
            JointMask::below(topology, &[joint]).expect("a joint").feathered(rng.below(3)).weights().to_vec()
        }
    }
}

#[test]
fn random_layers_agree_with_double_precision_on_two_topologies() {
    let (mut worst, mut judged, mut left_out, mut farthest) = (0.0f64, 0, 0, 0.0f64);
    for (seed, joints) in [(1, 24), (2, 57)] {
        let mut rng = Rng::new(seed);
        let tree = tree(&mut rng, joints, 2);
        let rig = body(&mut rng, &tree).rig();
        let topology = rig.topology().clone();
        let shape = ClipShape { keys: 20, looping: true, crossing: false, varying: false };
        let keys: Vec<MotionKeys> = (0..6).map(|_| motion(&mut rng, &topology, shape)).collect();
        let additive: Vec<MotionKeys> = (0..3)
            .map(|k| keys[k].additive(AdditiveReference::Pose(&keys[k + 1], 0.2)).expect("additive"))
            .collect();
        let all: Vec<Clip> = keys.iter().chain(&additive).map(|keys| Clip::new(&topology, keys)).collect();
        let mut stand = Stand::new(&rig, CrowdConfig::default());
        let ids: Vec<ClipId> =
            all.iter().map(|clip| stand.crowd.add_clip(clip.bound.clone()).expect("clip")).collect();
        let masks: Vec<Vec<f32>> = (0..7).map(|_| random_mask(&mut rng, &topology)).collect();
        let mask_ids: Vec<MaskId> =
            masks.iter().map(|w| stand.mask(&JointMask::new(&topology, w).expect("mask"))).collect();
        let mut expected = Vec::new();
        for _ in 0..150 {
            let time = |rng: &mut Rng| rng.range(0.0, 0.6) as f32;
            let mut plays = Vec::new();
            let mut base = Vec::new();
            for clip in 0..1 + rng.below(2) {
                let play = Play { time: time(&mut rng), weight: 1.0, ..Play::new(ids[clip]) };
                base.push((1.0, all[clip].sample(play.time.into())));
                plays.push(play);
            }
            let (mut layers, mut over) = (Vec::new(), Vec::new());
            for _ in 0..1 + rng.below(4) {
                let adds = rng.chance(0.5);
                let clip = if adds { 6 + rng.below(3) } else { rng.below(6) };
                let mask = rng.below(masks.len() + 1);
                let layer = Layer {
                    time: time(&mut rng),
                    weight: if rng.chance(0.3) { 1.0 } else { rng.unit() as f32 },
                    mask: mask_ids.get(mask).copied(),
                    model_space_root: !adds && rng.chance(0.5),
                    ..if adds { Layer::additive(ids[clip]) } else { Layer::new(ids[clip]) }
                };
                over.push(Over {
                    sample: all[clip].sample(layer.time.into()),
                    weight: layer.weight.into(),
                    mask: masks.get(mask).cloned().unwrap_or_else(|| vec![1.0; topology.len()]),
                    additive: adds,
                    model: layer.model_space_root,
                });
                layers.push(layer);
            }
            let handle = stand.spawn(&plays, &layers);
            expected.push((handle, reference_pose(&rig, &base, &over)));
        }
        stand.look();
        for (handle, (pose, margin)) in expected {
            if margin < 0.02 {
                left_out += 1;
                continue;
            }
            judged += 1;
            for (joint, (matrix, (turn, at))) in stand.matrices(handle).iter().zip(&pose).enumerate() {
                worst = worst.max(angle_between(*matrix, DMat4::from_mat3(*turn)));
                farthest = farthest.max(matrix.transform_point3(rig.positions()[joint]).distance(*at));
            }
        }
    }
    println!("{judged} judged, {left_out} left out, worst {worst:.2e} rad, {farthest:.2e} m");
    assert!(left_out * 10 < judged, "{left_out} of {judged} were near a hemisphere's edge");
    assert!(worst < 1e-4, "{worst:e} rad");
    assert!(farthest < 1e-4, "{farthest:e} m");
}

/// A stand with clips, masks and sixteen and more ways of layers.
fn varied(config: CrowdConfig) -> (Stand, Vec<(Vec<Play>, Vec<Layer>)>) {
    let mut rng = Rng::new(9);
    let tree = tree(&mut rng, 40, 2);
    let rig = body(&mut rng, &tree).rig();
    let topology = rig.topology().clone();
    let shape = ClipShape { keys: 12, looping: true, crossing: true, varying: true };
    let keys: Vec<MotionKeys> = (0..4).map(|_| motion(&mut rng, &topology, shape)).collect();
    let mut stand = Stand::new(&rig, config);
    let plain: Vec<ClipId> = keys.iter().map(|keys| stand.clip(keys)).collect();
    let added: Vec<ClipId> = keys
        .iter()
        .map(|keys| stand.clip(&keys.additive(AdditiveReference::Own(0.1)).expect("additive")))
        .collect();
    let masks: Vec<MaskId> = (0..3)
        .map(|_| {
            let weights = random_mask(&mut rng, &topology);
            stand.mask(&JointMask::new(&topology, &weights).expect("mask"))
        })
        .collect();
    let ways = (0..24)
        .map(|at| {
            let plays = [0, 1].map(|k| Play {
                time: rng.unit() as f32,
                weight: 0.5,
                ..Play::new(plain[(at + k) % 4])
            });
            let layers = (0..at % 5)
                .map(|k| {
                    let adds = (at + k) % 2 == 0;
                    let clip = (at + 2 * k) % 4;
                    Layer {
                        time: rng.unit() as f32 * 0.3,
                        weight: rng.unit() as f32,
                        mask: masks.get((at + k) % 4).copied(),
                        model_space_root: !adds && k % 2 == 0,
                        wrap: [Wrap::Clip, Wrap::Once, Wrap::PingPong][k % 3],
                        ..if adds { Layer::additive(added[clip]) } else { Layer::new(plain[clip]) }
                    }
                })
                .collect();
            (plays[..1 + at % 2].to_vec(), layers)
        })
        .collect();
    (stand, ways)
}

#[test]
fn a_layered_pose_does_not_depend_on_neighbours_and_strict_ones_on_nothing_at_all() {
    let run = |config: CrowdConfig, alone: Option<usize>| -> Vec<Vec<u8>> {
        let (mut stand, ways) = varied(config);
        let ways: Vec<_> =
            ways.into_iter().enumerate().filter(|(at, _)| alone.is_none_or(|one| one == *at)).collect();
        let handles: Vec<Handle> =
            ways.iter().map(|(_, (plays, layers))| stand.spawn(plays, layers)).collect();
        for _ in 0..5 {
            stand.frame(0.03, &Terrain::Slope(0.1, 0.05));
        }
        handles.iter().map(|&handle| stand.bits(handle)).collect()
    };
    let mut strict: Option<Vec<Vec<u8>>> = None;
    for &isa in Isa::available() {
        for mode in [Mode::Fast, Mode::Strict] {
            let config = CrowdConfig { simd: Simd::new(isa, mode), ..CrowdConfig::default() };
            let together = run(config, None);
            for at in [0, 3, 7, 14, 19, 23] {
                assert!(run(config, Some(at))[0] == together[at], "{} {mode:?}: {at}", isa.name());
            }
            if mode == Mode::Strict {
                let first = strict.get_or_insert_with(|| together.clone());
                assert!(*first == together, "{} differs", isa.name());
            }
        }
    }
}

#[test]
fn the_order_of_the_clips_below_does_not_matter_to_a_bit() {
    let (mut stand, ways) = varied(CrowdConfig::default());
    for (plays, layers) in &ways {
        let mut turned = plays.clone();
        turned.reverse();
        let (a, b) = (stand.spawn(plays, layers), stand.spawn(&turned, layers));
        stand.look();
        assert!(stand.bits(a) == stand.bits(b));
        stand.crowd.despawn(a).expect("alive");
        stand.crowd.despawn(b).expect("alive");
    }
}

#[test]
fn layers_without_weight_leave_every_bit_and_a_little_weight_moves_little() {
    let (mut stand, ways) = varied(CrowdConfig::default());
    for (plays, layers) in ways {
        let with = |weight: f32| -> Vec<Layer> { layers.iter().map(|l| Layer { weight, ..*l }).collect() };
        let bare = stand.spawn(&plays, &[]);
        let zero = stand.spawn(&plays, &with(0.0));
        let weight = 1.0 / 512.0;
        let little = stand.spawn(&plays, &with(weight));
        stand.look();
        assert!(stand.bits(bare) == stand.bits(zero), "no weight, no change");
        // A nlerp turns by at most twice its weight at its start; one for each layer.
        let most = 2.1 * f64::from(weight) * layers.len() as f64 + 4e-6;
        for (a, b) in stand.locals(bare).iter().zip(stand.locals(little)) {
            let moved = angle_between(*a, b);
            // A model-space beginning turns against what is above it too.
            assert!(moved <= 2.0 * most, "{moved} rad by a weight of {weight}");
        }
        for handle in [bare, zero, little] {
            stand.crowd.despawn(handle).expect("alive");
        }
    }
}

/// C17 for an override: both sides near the reference's, so that a limb never goes round the other way.
#[test]
fn a_sweep_under_an_opposite_override_moves_half_a_degree_a_degree() {
    let rig = adult();
    let topology = rig.topology().clone();
    let arm = topology.joint(Role::UpperArm(throng::rig::Side::Left)).expect("arm");
    let x = |degrees: f64| DQuat::from_rotation_x(degrees.to_radians());
    let mut sweep = still(&topology, false);
    sweep.duration = 2.0;
    let count = 61;
    sweep.rotations = (0..count)
        .flat_map(|key| {
            let mut pose = vec![DQuat::IDENTITY; topology.len()];
            pose[usize::from(arm)] = x(60.25 + key as f64);
            pose
        })
        .collect();
    sweep.pelvis = vec![DVec3::ZERO; count];
    sweep.root = vec![[0.0; 3]; count];
    sweep.contact = vec![[1.0; 2]; count];
    let mut stand = Stand::new(&rig, CrowdConfig::default());
    let (sweep, against) =
        (stand.clip(&sweep), stand.clip(&held(&topology, &[(arm, x(-90.0))], DVec3::ZERO)));
    let other = stand.clip(&still(&topology, true));
    let layer = Layer { weight: 0.5, ..Layer::new(against) };
    let plays = [Play::new(sweep), Play { weight: 1e-3, ..Play::new(other) }];
    let handle = stand.spawn(&plays[..1], &[layer]);
    let (a, b) = (stand.spawn(&plays, &[layer]), stand.spawn(&[plays[1], plays[0]], &[layer]));
    let mut last: Option<DMat4> = None;
    for key in 0..count {
        stand.look();
        let now = stand.locals(handle)[usize::from(arm)];
        if let Some(last) = last {
            let step = angle_between(last, now).to_degrees();
            assert!(step <= 0.51, "step {key}: {step} degrees");
        }
        if key == 40 {
            // +100.25 and -90: 5.125 degrees, not 185 the other way.
            let off = angle_between(now, DMat4::from_quat(x(5.125))).to_degrees();
            assert!(off < 0.01, "{off} degrees off");
        }
        assert!(stand.bits(a) == stand.bits(b), "key {key}");
        last = Some(now);
        stand.frame(1.0 / 30.0, &Terrain::Nothing);
    }
}

/// C21 a and b.
#[test]
fn nothing_added_changes_nothing_and_what_was_taken_off_comes_back() {
    let rig = adult();
    let topology = rig.topology().clone();
    let mut rng = Rng::new(4);
    let shape = ClipShape { keys: 15, looping: true, crossing: false, varying: false };
    let keys = motion(&mut rng, &topology, shape);
    let mut stand = Stand::new(&rig, CrowdConfig::default());
    let rest = still(&topology, true);
    let nothing = stand.clip(&rest.additive(AdditiveReference::Own(0.5)).expect("additive"));
    let rest = stand.clip(&rest);
    let clip = stand.clip(&keys);
    // Its first pose, held.
    let (rotations, pelvis) = keys.pose(0.0).expect("a pose");
    let turns: Vec<(u16, DQuat)> = (0u16..).zip(rotations).collect();
    let first = stand.clip(&held(&topology, &turns, pelvis));
    let since = stand.clip(&keys.additive(AdditiveReference::Own(0.0)).expect("additive"));
    let bare = stand.spawn(&[Play::new(rest)], &[]);
    let same = stand.spawn(&[Play::new(rest)], &[Layer::additive(nothing)]);
    let wanted = stand.spawn(&[Play { time: 0.3, ..Play::new(clip) }], &[]);
    let have = stand.spawn(&[Play::new(first)], &[Layer { time: 0.3, ..Layer::additive(since) }]);
    stand.look();
    assert!(stand.bits(bare) == stand.bits(same), "rest + (rest - rest) is rest");
    for (a, b) in stand.locals(wanted).iter().zip(stand.locals(have)) {
        // Three roundings to 16 bits.
        assert!(angle_between(*a, b) < 1.5e-4, "{} rad", angle_between(*a, b));
    }
    let pelvis = usize::from(topology.pelvis());
    let at = |handle| stand.matrices(handle)[pelvis].transform_point3(rig.positions()[pelvis]);
    assert!(at(wanted).distance(at(have)) < 2e-4);
}

/// C21 c and d: the increment stands on the right, the pelvis is not turned.
#[test]
fn increments_turn_about_the_joints_own_axes_and_move_the_pelvis_straight() {
    let rig = adult();
    let topology = rig.topology().clone();
    let pelvis = topology.pelvis();
    let (base, delta) = (DQuat::from_rotation_y(FRAC_PI_2), DQuat::from_rotation_x(FRAC_PI_6));
    let mut stand = Stand::new(&rig, CrowdConfig::default());
    let below = stand.clip(&held(&topology, &[(pelvis, base)], DVec3::ZERO));
    let added = held(&topology, &[(pelvis, delta)], DVec3::new(0.1, 0.0, 0.0));
    let added = stand.clip(&added.additive(AdditiveReference::Rig).expect("additive"));
    let half = stand.spawn(&[Play::new(below)], &[Layer { weight: 0.5, ..Layer::additive(added) }]);
    let whole = stand.spawn(&[Play::new(below)], &[Layer::additive(added)]);
    stand.look();
    for (handle, weight) in [(whole, 1.0), (half, 0.5)] {
        let matrix = stand.matrices(handle)[usize::from(pelvis)];
        let right = DMat4::from_quat(base * DQuat::from_rotation_x(weight * FRAC_PI_6));
        assert!(angle_between(matrix, right) < 1e-4, "{}", angle_between(matrix, right));
        let at = matrix.transform_point3(rig.positions()[usize::from(pelvis)]);
        let moved = at - rig.positions()[usize::from(pelvis)];
        let right = DVec3::X * (0.1 * weight * f64::from(rig.leg()));
        assert!(moved.distance(right) < 2e-4, "{moved} for {right}");
    }
}

/// C21 e, and everything else that must be refused.
#[test]
fn additive_clips_only_add_and_bad_layers_are_refused() {
    let rig = adult();
    let topology = rig.topology().clone();
    let mut stand = Stand::new(&rig, CrowdConfig::default());
    let plain = stand.clip(&still(&topology, true));
    let added = stand.clip(&still(&topology, true).additive(AdditiveReference::Rig).expect("additive"));
    let handle = stand.spawn(&[Play::new(plain)], &[Layer::new(plain)]);
    let mut rng = Rng::new(3);
    let other = body(&mut rng, &tree(&mut Rng::new(3), 20, 2)).rig();
    let other_id = stand.crowd.add_rig(other.clone()).expect("rig");
    let foreign =
        stand.mask(&JointMask::new(other.topology(), &[1.0; 20][..other.topology().len()]).expect("mask"));
    assert!(matches!(
        stand.crowd.set_clips(handle, &[Play::new(added)]),
        Err(BuildError::ClipUse { is: "additive", .. })
    ));
    assert!(matches!(
        stand.crowd.spawn(stand.id, 0, WorldTransform::IDENTITY, &[Play::new(added)]),
        Err(BuildError::ClipUse { .. })
    ));
    let bad = [
        Layer::new(added),
        Layer::additive(plain),
        Layer { model_space_root: true, ..Layer::additive(added) },
        Layer { weight: f32::NAN, ..Layer::new(plain) },
        Layer { weight: 1.5, ..Layer::new(plain) },
        Layer { weight: 1e30, ..Layer::additive(added) },
        Layer { weight: -0.1, ..Layer::new(plain) },
        Layer { time: f32::INFINITY, ..Layer::new(plain) },
        Layer { speed: f32::NAN, ..Layer::new(plain) },
        Layer { speed: 100.0, ..Layer::new(plain) },
        Layer { fade: -1.0, ..Layer::new(plain) },
        Layer { fade: f32::NAN, ..Layer::new(plain) },
        Layer::new(plain).masked(foreign),
    ];
    let before: Vec<(usize, Layer)> = stand.crowd.layers(handle).expect("alive").collect();
    for layer in bad {
        assert!(stand.crowd.set_layers(handle, &[layer]).is_err(), "{layer:?}");
    }
    assert!(stand.crowd.set_layers(handle, &[Layer::new(plain); 5]).is_err());
    for (weight, seconds) in [(f32::NAN, 0.1), (2.0, 0.1), (0.5, -1.0), (0.5, f32::NAN)] {
        assert!(stand.crowd.fade_layer(handle, 0, weight, seconds).is_err());
    }
    assert!(stand.crowd.fade_layer(handle, 1, 0.5, 0.1).is_err(), "there is none");
    assert!(stand.crowd.seek_layer(handle, 0, f32::NAN).is_err());
    assert_eq!(stand.crowd.layers(handle).expect("alive").collect::<Vec<_>>(), before, "nothing was changed");
    let alien = stand.crowd.spawn(other_id, 0, WorldTransform::IDENTITY, &[]).expect("spawn");
    assert!(matches!(
        stand.crowd.set_layers(alien, &[Layer::new(plain)]),
        Err(BuildError::OtherTopology { .. })
    ));
    stand.crowd.despawn(handle).expect("alive");
    assert!(stand.crowd.set_layers(handle, &[]).is_err(), "stale");
    assert!(stand.crowd.layers(handle).is_err());
    let again = stand.spawn(&[Play::new(plain)], &[]);
    assert_eq!(stand.crowd.layers(again).expect("alive").count(), 0, "its place is clean");
}

/// An aiming upper body over rolling hips.
#[test]
fn the_model_space_option_keeps_the_aim_however_the_hips_turn() {
    let rig = adult();
    let topology = rig.topology().clone();
    let (hips, spine) = (topology.pelvis(), topology.joint(Role::Spine(0)).expect("spine"));
    let head = topology.joint(Role::Head).expect("head");
    let roll = DQuat::from_rotation_z(PI / 6.0);
    let aim = DQuat::from_rotation_y(0.7);
    let mut stand = Stand::new(&rig, CrowdConfig::default());
    let below = stand.clip(&held(&topology, &[(hips, roll)], DVec3::ZERO));
    let over = stand.clip(&held(&topology, &[(spine, aim)], DVec3::ZERO));
    let upper = stand.mask(&JointMask::upper_body(&topology).expect("upper body"));
    let layer = Layer::new(over).masked(upper);
    let local = stand.spawn(&[Play::new(below)], &[layer]);
    let model = stand.spawn(&[Play::new(below)], &[Layer { model_space_root: true, ..layer }]);
    let half = stand.spawn(&[Play::new(below)], &[Layer { model_space_root: true, weight: 0.5, ..layer }]);
    stand.look();
    let (roll, aim) = (DMat4::from_quat(roll), DMat4::from_quat(aim));
    for joint in [spine, head].map(usize::from) {
        assert!(angle_between(stand.matrices(local)[joint], roll * aim) < 1e-4);
        assert!(angle_between(stand.matrices(model)[joint], aim) < 1e-4);
        let between = angle_between(stand.matrices(half)[joint], aim);
        assert!((between - 0.5 * angle_between(roll, aim)).abs() < 1e-3);
    }
    for handle in [local, model, half] {
        let hips = stand.matrices(handle)[usize::from(hips)];
        assert!(angle_between(hips, roll) < 1e-4, "what is not in the mask stays");
    }
}

/// A whole override stands on the ground as its clip does alone: contact weights come along.
#[test]
fn an_override_of_the_legs_brings_its_contacts() {
    let rig = adult();
    let topology = rig.topology().clone();
    let bend = |angle: f64, contact: f32| {
        let leg = &topology.legs()[0];
        let turns = [(leg.thigh, -angle), (leg.shin, 2.0 * angle), (leg.foot, -angle)]
            .map(|(joint, turn)| (joint, DQuat::from_rotation_x(turn)));
        let mut keys = held(&topology, &turns, DVec3::ZERO);
        keys.contact = vec![[contact, 1.0]; 2];
        keys
    };
    let mut stand = Stand::new(&rig, CrowdConfig::default());
    let (standing, lifted) = (stand.clip(&bend(0.0, 1.0)), stand.clip(&bend(0.4, 0.0)));
    let legs = stand.mask(&JointMask::legs(&topology).expect("legs"));
    let upper = stand.mask(&JointMask::upper_body(&topology).expect("upper body"));
    let wanted = stand.spawn(&[Play::new(lifted)], &[]);
    let have = stand.spawn(&[Play::new(standing)], &[Layer::new(lifted).masked(legs)]);
    let bare = stand.spawn(&[Play::new(standing)], &[]);
    let above = stand.spawn(&[Play::new(standing)], &[Layer::new(lifted).masked(upper)]);
    for _ in 0..60 {
        stand.frame(1.0 / 60.0, &Terrain::Slope(0.15, -0.1));
    }
    let off = |a: Handle, b: Handle| {
        let (a, b) = (stand.matrices(a), stand.matrices(b));
        let worst = a.iter().zip(&b).map(|(a, b)| angle_between(*a, *b));
        worst.fold(0.0f64, f64::max)
    };
    assert!(off(wanted, have) < 2e-4, "{}", off(wanted, have));
    assert!(off(bare, above) < 2e-4, "feet of a masked upper body stay");
    assert!(off(bare, wanted) > 0.2, "the two differ at all");
}
