//! One character, frame by frame.

use glam::{DQuat, DVec3};
use throng::rig::Rig;

use super::feet::{AnimatedLeg, Lock, Pelvis, target, two_bones};
use super::random::Rng;
use super::rows::{Clip, mix};
use super::terrain::Asked;
use super::travel::{Playing, Pose, advance};

/// Disturbs what the feet are given, by at most `size` (radians, metres), and the weights of clips.
#[derive(Clone, Debug)]
pub struct Noise {
    pub size: f64,
    /// For weights that sum to about one.
    pub weights: f64,
    pub rng: Rng,
}

impl Noise {
    pub const NONE: Self = Self { size: 0.0, weights: 0.0, rng: Rng(1) };

    fn value(&mut self) -> f64 {
        self.size * self.rng.range(-1.0, 1.0)
    }
    fn vector(&mut self) -> DVec3 {
        DVec3::new(self.value(), self.value(), self.value())
    }
}

/// Who moves the root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Root {
    OnGround,
    Free,
    Host(DVec3, DQuat),
}

/// One character of the reference.
#[derive(Clone, Debug)]
pub struct Character<'a> {
    pub rig: &'a Rig,
    pub index: usize,
    pub playing: Vec<Playing>,
    pub position: DVec3,
    pub rotation: DQuat,
    pub fresh: bool,
    pub locks: [Lock; 2],
    pub pelvis: Pelvis,
    pub noise: Noise,
    /// Root motion of the last frame, metres.
    pub moved: Pose,
    /// Smallest margin of any decision so far: below it the crowd may rightly have gone the other way.
    pub margin: f64,
}

/// Model pose relative to the root.
#[derive(Clone, Debug)]
pub struct ModelPose {
    /// Since the reference pose.
    pub rotations: Vec<DQuat>,
    pub positions: Vec<DVec3>,
}

impl<'a> Character<'a> {
    pub fn new(
        rig: &'a Rig,
        index: usize,
        clips: &[Clip],
        playing: Vec<Playing>,
        position: DVec3,
        rotation: DQuat,
    ) -> Self {
        let playing = playing
            .into_iter()
            .filter(|play| play.weight > 0.0)
            .map(|play| {
                let clip = &clips[play.clip];
                let time = if clip.bound.looping() {
                    play.time.rem_euclid(clip.duration())
                } else {
                    play.time.clamp(0.0, clip.duration())
                };
                Playing { time, ..play }
            })
            .collect();
        Self {
            rig,
            index,
            playing,
            position,
            rotation: rotation.normalize(),
            fresh: true,
            locks: [Lock::default(); 2],
            pelvis: Pelvis::default(),
            noise: Noise::NONE,
            moved: Pose::default(),
            margin: f64::INFINITY,
        }
    }

    fn leg(&self) -> f64 {
        self.rig.leg().into()
    }

    /// One frame from clocks to the model pose.
    pub fn frame(&mut self, clips: &[Clip], ground: &dyn Asked, root: Root, dt: f64) -> ModelPose {
        self.travel(clips, root, dt);
        let parts: Vec<_> = self
            .playing
            .clone()
            .iter()
            .map(|play| {
                let sample = clips[play.clip].sample(play.time);
                (play.weight + self.noise.weights * self.noise.rng.range(-1.0, 1.0), sample)
            })
            .collect();
        let mut mixed = mix(self.rig.topology().len(), &parts);
        self.margin = self.margin.min(mixed.margin);
        if self.noise.size > 0.0 {
            for q in &mut mixed.rotations {
                *q = DQuat::from_scaled_axis(self.noise.vector()) * *q;
            }
            (0..2).for_each(|foot| mixed.contact[foot] += self.noise.value());
        }
        let pelvis = mixed.pelvis * self.leg() + self.noise.vector();
        let animated = self.forward(&mixed.rotations, pelvis);
        let legs: Vec<AnimatedLeg> = (0..self.legs()).map(|leg| self.animated_leg(&animated, leg)).collect();
        let (locals, moved) = self.feet(ground, root, dt, &legs, &mixed.contact, &animated, mixed.rotations);
        self.fresh = false;
        self.forward(&locals, pelvis + moved)
    }

    fn legs(&self) -> usize {
        self.rig.topology().legs().len().min(2)
    }

    fn travel(&mut self, clips: &[Clip], root: Root, dt: f64) {
        let p = advance(clips, &mut self.playing, dt, 1.0 / 60.0);
        let leg = self.leg();
        self.moved = Pose { x: p.x * leg, z: p.z * leg, yaw: p.yaw };
        if let Root::Host(position, rotation) = root {
            (self.position, self.rotation) = (position, rotation.normalize());
        } else {
            self.position += self.rotation * DVec3::new(self.moved.x, 0.0, self.moved.z);
            self.rotation = (self.rotation * DQuat::from_rotation_y(self.moved.yaw)).normalize();
        }
    }

    /// `G = G_p M`, `x = x_p + G_p o`, the pelvis moved in model axes.
    fn forward(&self, locals: &[DQuat], pelvis: DVec3) -> ModelPose {
        let topology = self.rig.topology();
        let reference = self.rig.positions();
        let mut pose = ModelPose { rotations: Vec::new(), positions: Vec::new() };
        for (joint, &parent) in topology.parents().iter().enumerate() {
            let (above, from, base) = match pose.rotations.get(usize::from(parent)) {
                Some(&above) => (above, pose.positions[usize::from(parent)], reference[usize::from(parent)]),
                None => (DQuat::IDENTITY, DVec3::ZERO, DVec3::ZERO),
            };
            let own = if joint == usize::from(topology.pelvis()) { pelvis } else { DVec3::ZERO };
            pose.positions.push(from + above * (reference[joint] - base) + own);
            pose.rotations.push((above * locals[joint]).normalize());
        }
        pose
    }

    fn animated_leg(&self, pose: &ModelPose, leg: usize) -> AnimatedLeg {
        let joints = &self.rig.topology().legs()[leg];
        let [thigh, shin, foot] = [joints.thigh, joints.shin, joints.foot].map(usize::from);
        let sole = &self.rig.soles()[leg];
        let ankle = pose.positions[foot];
        let at = |point: [f32; 3]| ankle + pose.rotations[foot] * DVec3::from_array(point.map(f64::from));
        AnimatedLeg {
            thigh: pose.rotations[thigh],
            shin: pose.rotations[shin],
            foot: pose.rotations[foot],
            hip: pose.positions[thigh],
            knee: pose.positions[shin],
            ankle,
            heel: at(sole.heel),
            ball: at(sole.ball),
        }
    }

    /// Local deltas with the legs solved, and how the pelvis is moved.
    fn feet(
        &mut self,
        ground: &dyn Asked,
        root: Root,
        dt: f64,
        legs: &[AnimatedLeg],
        contact: &[f64; 2],
        animated: &ModelPose,
        mut locals: Vec<DQuat>,
    ) -> (Vec<DQuat>, DVec3) {
        let to_world = self.rotation;
        let ask = |this: &mut Self, probe: usize, at: DVec3| {
            let at = at + this.noise.vector();
            let answer = ground.ask(this.index, probe, at.x, at.z);
            this.margin = this.margin.min(answer.margin);
            answer.hit.map(|(height, normal)| (height + this.noise.value(), normal))
        };
        let under_root = ask(self, 0, self.position);
        let mut hits = Vec::new();
        for (index, leg) in legs.iter().enumerate() {
            let world = self.position + to_world * leg.ball;
            // Differences of world places lose what their size does.
            let unsure = 4.0 * f64::from(f32::EPSILON) * (1.0 + world.abs().max_element()) + 1e-6;
            let leg_length = self.leg();
            let margin =
                self.locks[index].step(world, leg.ball.y, contact[index], leg_length, dt, self.fresh, unsure);
            self.margin = self.margin.min(margin);
            let held = self.held(index);
            let heel = ask(self, 1 + 2 * index, self.position + to_world * leg.heel + held);
            let ball = ask(self, 2 + 2 * index, world + held);
            hits.push((heel, ball));
        }
        if let (Root::OnGround, Some((height, _))) = (root, under_root) {
            self.position.y = height;
        }
        let up = to_world.inverse() * DVec3::Y;
        let root_y = self.position.y;
        let root_ground = under_root.map_or(root_y, |(height, _)| height);
        let targets: Vec<_> = legs
            .iter()
            .enumerate()
            .map(|(index, leg)| {
                let (heel, ball) = hits[index];
                let shift = to_world.inverse() * self.held(index);
                let aim = target(
                    leg,
                    up,
                    to_world.inverse(),
                    root_y,
                    root_ground,
                    heel,
                    ball,
                    contact[index],
                    shift,
                    self.leg(),
                );
                (*leg, aim)
            })
            .collect();
        let leg_length = self.leg();
        let down = self.pelvis.step(&targets, up, root_y, leg_length, dt, self.fresh);
        let moved = up * down;
        for (joints, (leg, aim)) in self.rig.topology().legs().iter().zip(&targets) {
            // Nothing to stand on: the leg stays as it is animated.
            if !aim.hit {
                continue;
            }
            let goal = aim.ankle;
            let (thigh, shin) =
                two_bones(leg, leg.hip + moved, goal + self.noise.vector(), self.noise.value());
            let foot = aim.turn * leg.foot;
            let parent = self.rig.topology().parents()[usize::from(joints.thigh)];
            let above = animated.rotations.get(usize::from(parent)).copied().unwrap_or(DQuat::IDENTITY);
            locals[usize::from(joints.thigh)] = above.inverse() * thigh;
            locals[usize::from(joints.shin)] = thigh.inverse() * shin;
            locals[usize::from(joints.foot)] = shin.inverse() * foot;
        }
        (locals, moved)
    }

    fn held(&self, foot: usize) -> DVec3 {
        let [x, z] = self.locks[foot].offset;
        DVec3::new(x, 0.0, z)
    }
}
