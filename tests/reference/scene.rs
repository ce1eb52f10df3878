//! A crowd and its reference side by side, made from a few numbers.

use glam::{DQuat, DVec3};
use throng::crowd::{
    ClipId, Crowd, CrowdConfig, FlatGround, Frame, Ground, Handle, HitPlane, HitPlanes, PROBES, Play, RigId,
    Roots, Serial, WorldTransform,
};
use throng::lanes::{Isa, Mode, Simd};
use throng::rig::Rig;

use super::frame::{Character, Noise, Root};
use super::random::{Body, ClipShape, Rng, body, motion, tree};
use super::rows::Clip;
use super::terrain::{Asked, Terrain};
use super::travel::Playing;

/// What a scene is made from.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub seed: u64,
    pub joints: usize,
    pub legs: usize,
    pub bodies: usize,
    pub characters: usize,
    pub clips: usize,
    pub crossing: bool,
    /// 0 flat, 1 slope, 2 bumps, 3 bumps with holes, 4 nothing, 5 planes of the host.
    pub ground: usize,
    /// 0 on the ground, 1 free, 2 moved by the host.
    pub roots: usize,
    pub frames: usize,
    pub packed: bool,
}

/// What never changes.
pub struct Scene {
    pub recipe: Recipe,
    pub bodies: Vec<Body>,
    pub rigs: Vec<Rig>,
    pub clips: Vec<Clip>,
    pub spawns: Vec<Spawn>,
    pub terrain: Terrain,
    pub planes: Vec<[HitPlane; PROBES]>,
    pub steps: Vec<f32>,
}

/// One character to be.
#[derive(Clone, Debug)]
pub struct Spawn {
    pub body: usize,
    pub skin: usize,
    pub position: [f32; 3],
    pub yaw: f64,
    pub plays: Vec<(usize, f32, f32, f32)>,
    /// World velocity where the host moves the root.
    pub velocity: [f32; 3],
}

impl Scene {
    pub fn new(recipe: Recipe) -> Self {
        Self::with_skins(recipe, |_, _| {})
    }

    /// `dress` may give each body skins.
    pub fn with_skins(recipe: Recipe, dress: impl Fn(&mut Rng, &mut Body)) -> Self {
        let mut rng = Rng::new(recipe.seed);
        let tree = tree(&mut rng, recipe.joints, recipe.legs);
        let bodies: Vec<Body> = (0..recipe.bodies)
            .map(|_| {
                let mut body = body(&mut rng, &tree);
                dress(&mut rng, &mut body);
                body
            })
            .collect();
        let rigs: Vec<Rig> = bodies.iter().map(Body::rig).collect();
        let clips: Vec<Clip> = (0..recipe.clips)
            .map(|at| {
                let shape = ClipShape {
                    keys: 12 + rng.below(30),
                    looping: rng.chance(0.7),
                    crossing: recipe.crossing && at == 0,
                    varying: rng.chance(0.5),
                };
                Clip::new(rigs[0].topology(), &motion(&mut rng, rigs[0].topology(), shape))
            })
            .collect();
        let terrain = match recipe.ground {
            0 | 5 => Terrain::Flat(rng.range(-0.2, 0.2)),
            1 => Terrain::Slope(rng.range(-0.35, 0.35), rng.range(-0.35, 0.35)),
            2 => Terrain::Bumps(rng.range(0.0, 0.06), rng.range(1.0, 6.0)),
            3 => Terrain::Holes(rng.range(0.0, 0.06), rng.range(1.0, 6.0)),
            _ => Terrain::Nothing,
        };
        let spawns: Vec<Spawn> = (0..recipe.characters)
            .map(|_| {
                let body = rng.below(bodies.len());
                let position =
                    [rng.range(-4.0, 4.0), rng.range(-0.1, 0.1), rng.range(-4.0, 4.0)].map(|v| v as f32);
                let plays = (0..1 + rng.below(4))
                    .map(|_| {
                        let weight = if rng.chance(0.1) { 0.0 } else { rng.range(0.05, 1.0) };
                        let speed = if rng.chance(0.1) { -0.7 } else { rng.range(0.5, 1.5) };
                        (rng.below(clips.len()), rng.range(0.0, 2.0) as f32, weight as f32, speed as f32)
                    })
                    .collect();
                let skins = bodies[body].character.skins.len().max(1);
                Spawn {
                    body,
                    skin: rng.below(skins),
                    position,
                    yaw: rng.range(-3.0, 3.0),
                    plays,
                    velocity: [rng.range(-1.0, 1.0), rng.range(-0.2, 0.2), rng.range(-1.0, 1.0)]
                        .map(|v| v as f32),
                }
            })
            .collect();
        let planes = spawns
            .iter()
            .map(|spawn| {
                core::array::from_fn(|_| {
                    let tilt = rng.direction() * 0.3;
                    let normal = (DVec3::Y + tilt).normalize();
                    HitPlane {
                        point: [
                            spawn.position[0] + rng.range(-0.2, 0.2) as f32,
                            spawn.position[1] + rng.range(-0.05, 0.05) as f32,
                            spawn.position[2] + rng.range(-0.2, 0.2) as f32,
                        ],
                        normal: normal.as_vec3().to_array(),
                        velocity: (rng.direction() * 0.5).as_vec3().to_array(),
                        age: rng.range(0.0, 0.03) as f32,
                        hit: rng.chance(0.85),
                    }
                })
            })
            .collect();
        let steps = (0..recipe.frames)
            .map(|_| if rng.chance(0.05) { 0.0 } else { rng.range(0.004, 0.05) as f32 })
            .collect();
        Self { recipe, bodies, rigs, clips, spawns, terrain, planes, steps }
    }

    pub fn ground(&self) -> Box<dyn Ground + '_> {
        if self.recipe.ground == 5 {
            Box::new(HitPlanes { planes: &self.planes })
        } else if self.recipe.ground == 0
            && let Terrain::Flat(height) = self.terrain
        {
            Box::new(FlatGround { height: height as f32 })
        } else {
            Box::new(self.terrain)
        }
    }

    pub fn asked(&self) -> &dyn Asked {
        if self.recipe.ground == 5 { &self.planes } else { &self.terrain }
    }

    fn start(spawn: &Spawn) -> WorldTransform {
        let (s, c) = (spawn.yaw / 2.0).sin_cos();
        WorldTransform { position: spawn.position, rotation: [0.0, s as f32, 0.0, c as f32] }
    }

    /// Where the host puts a character in frame `frame`.
    pub fn hosted(&self, at: usize, frame: usize) -> WorldTransform {
        let spawn = &self.spawns[at];
        let seconds: f32 = self.steps[..=frame].iter().sum();
        let mut transform = Self::start(spawn);
        (0..3).for_each(|k| transform.position[k] += spawn.velocity[k] * seconds);
        // Leaning a little: up is not +Y of the model.
        let lean = DQuat::from_rotation_x(0.1 * spawn.yaw.sin());
        let q = DQuat::from_array(transform.rotation.map(f64::from)) * lean;
        transform.rotation = q.normalize().as_quat().to_array();
        transform
    }

    pub fn references(&self, noise: Noise) -> Vec<Character<'_>> {
        self.spawns
            .iter()
            .enumerate()
            .map(|(index, spawn)| {
                let start = Self::start(spawn);
                let playing = spawn
                    .plays
                    .iter()
                    .map(|&(clip, time, weight, speed)| Playing {
                        clip,
                        time: time.into(),
                        weight: weight.into(),
                        speed: speed.into(),
                    })
                    .collect();
                let mut character = Character::new(
                    &self.rigs[spawn.body],
                    index,
                    &self.clips,
                    playing,
                    DVec3::from_array(start.position.map(f64::from)),
                    DQuat::from_array(start.rotation.map(f64::from)),
                );
                character.noise = noise.clone();
                character
            })
            .collect()
    }

    /// How the root of a reference character is driven in a frame.
    pub fn root(&self, at: usize, frame: usize) -> Root {
        match self.recipe.roots {
            0 => Root::OnGround,
            1 => Root::Free,
            _ => {
                let host = self.hosted(at, frame);
                Root::Host(
                    DVec3::from_array(host.position.map(f64::from)),
                    DQuat::from_array(host.rotation.map(f64::from)),
                )
            }
        }
    }

    /// The crowd, spawned in the given order; handles are in the scene's order whatever that is.
    pub fn crowd(&self, config: CrowdConfig, order: &[usize]) -> Running<'_> {
        let mut crowd = Crowd::new(config);
        let rigs: Vec<RigId> = self.rigs.iter().map(|rig| crowd.add_rig(rig.clone()).expect("rig")).collect();
        let clips: Vec<ClipId> =
            self.clips.iter().map(|clip| crowd.add_clip(clip.bound.clone()).expect("clip")).collect();
        let mut handles = vec![None; self.spawns.len()];
        for &at in order {
            let spawn = &self.spawns[at];
            let plays: Vec<Play> = spawn
                .plays
                .iter()
                .map(|&(clip, time, weight, speed)| Play { time, weight, speed, ..Play::new(clips[clip]) })
                .collect();
            let handle =
                crowd.spawn(rigs[spawn.body], spawn.skin, Self::start(spawn), &plays).expect("spawn");
            handles[at] = Some(handle);
        }
        if self.recipe.packed {
            crowd.pack();
        }
        let handles = handles.into_iter().flatten().collect();
        Running { scene: self, crowd, rigs, clips, handles }
    }

    pub fn in_order(&self) -> Vec<usize> {
        (0..self.spawns.len()).collect()
    }
}

/// A scene's crowd.
pub struct Running<'a> {
    pub scene: &'a Scene,
    pub crowd: Crowd,
    pub rigs: Vec<RigId>,
    pub clips: Vec<ClipId>,
    pub handles: Vec<Handle>,
}

impl Running<'_> {
    pub fn frame(&mut self, frame: usize) {
        self.frame_with(frame, &Serial);
    }

    pub fn frame_with(&mut self, frame: usize, executor: &dyn throng::crowd::Executor) {
        let ground = self.scene.ground();
        let mut transforms = vec![WorldTransform::IDENTITY; self.handles.len()];
        for (at, handle) in self.handles.iter().enumerate() {
            transforms[handle.index()] = self.scene.hosted(at, frame);
        }
        let roots = match self.scene.recipe.roots {
            0 => Roots::OnGround,
            1 => Roots::Free,
            _ => Roots::Host(&transforms),
        };
        let frame = Frame { roots, ..Frame::new(self.scene.steps[frame], &*ground) };
        self.crowd.frame(frame, executor).expect("the frame runs");
    }
}

/// Every instruction set in every mode.
pub fn all_simd() -> Vec<Simd> {
    Isa::available()
        .iter()
        .flat_map(|&isa| [Mode::Fast, Mode::Strict].map(|mode| Simd::new(isa, mode)))
        .collect()
}
