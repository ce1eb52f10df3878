//! Random trees with legs, bodies on them, and clips for them.

use std::collections::BTreeMap;
use std::f64::consts::{PI, TAU};

use glam::{DMat4, DQuat, DVec3, Mat4, Quat, Vec3};
use throng::clip::MotionKeys;
use throng::rig::{
    RawCharacter, RawJoint, RawSkeleton, RawSkin, ReferencePose, Rig, RigSource, Role, RoleMap, Side, Sole,
    Topology, Transform,
};

/// xorshift64*
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        // Zero would stay zero; neighbouring seeds are spread.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
    pub fn direction(&mut self) -> DVec3 {
        loop {
            let v = DVec3::new(self.range(-1.0, 1.0), self.range(-1.0, 1.0), self.range(-1.0, 1.0));
            if (0.01..1.0).contains(&v.length_squared()) {
                return v.normalize();
            }
        }
    }
    pub fn rotation(&mut self) -> DQuat {
        let axis = self.direction();
        DQuat::from_axis_angle(axis, self.range(0.0, PI))
    }
}

/// A tree with roles, without a shape yet. Bodies of one tree share a topology.
#[derive(Clone, Debug)]
pub struct Tree {
    pub parents: Vec<Option<u16>>,
    pub roles: RoleMap,
    pub names: Vec<String>,
}

/// At least what legs need, then joints anywhere: below anything, beside the root, above the hips.
pub fn tree(rng: &mut Rng, joints: usize, legs: usize) -> Tree {
    let mut tree = Tree { parents: Vec::new(), roles: RoleMap::new(), names: Vec::new() };
    let mut add = |parent: Option<u16>, role: Option<Role>| {
        let index = tree.parents.len() as u16;
        tree.parents.push(parent);
        tree.names.push(format!("joint {index}"));
        if let Some(role) = role {
            tree.roles.set(role, index);
        }
        index
    };
    let mut anchor = None;
    for _ in 0..rng.below(3) {
        anchor = Some(add(anchor, None));
    }
    let hips = if legs > 0 && anchor.is_some() && rng.chance(0.3) {
        // Hips and thighs are siblings: their parent carries the body.
        add(anchor, Some(Role::Hips));
        anchor.unwrap_or(0)
    } else {
        let role = (legs > 0).then_some(Role::Hips);
        add(anchor, role)
    };
    let mut roots = 1;
    let mut ends = vec![hips];
    for side in Side::BOTH.into_iter().take(legs) {
        let mut at = hips;
        for _ in 0..rng.below(4).saturating_sub(1) {
            at = add(Some(at), None);
        }
        let thigh = add(Some(at), Some(Role::Thigh(side)));
        let shin = add(Some(thigh), Some(Role::Shin(side)));
        let foot = add(Some(shin), Some(Role::Foot(side)));
        ends.extend([thigh, shin, foot]);
        if rng.chance(0.7) {
            ends.push(add(Some(foot), Some(Role::Toe(side))));
        }
    }
    if legs > 0 {
        let mut spine = hips;
        for i in 0..rng.below(4) as u8 {
            spine = add(Some(spine), Some(Role::Spine(i)));
            ends.push(spine);
        }
    }
    while tree_len(&ends, joints) {
        if rng.chance(0.04) && roots < 3 {
            roots += 1;
            ends.push(add(None, None));
        } else {
            let parent = ends[rng.below(ends.len())];
            ends.push(add(Some(parent), None));
        }
    }
    tree
}

fn tree_len(ends: &[u16], joints: usize) -> bool {
    ends.iter().copied().max().is_none_or(|last| usize::from(last) + 1 < joints)
}

/// A body on a tree: everything that differs between rigs of one topology.
#[derive(Clone, Debug)]
pub struct Body {
    pub character: RawCharacter,
    pub roles: RoleMap,
    pub reference: ReferencePose,
    pub soles: [Option<Sole>; 2],
}

impl Body {
    pub fn rig(&self) -> Rig {
        Rig::build(&self.source()).expect("the body is valid")
    }
    pub fn source(&self) -> RigSource<'_> {
        RigSource {
            character: &self.character,
            roles: &self.roles,
            reference: self.reference.clone(),
            soles: self.soles,
        }
    }
}

/// Random bone directions, lengths and joint axes. Legs hang about 0.6 to 1 m down, at any splay.
pub fn body(rng: &mut Rng, tree: &Tree) -> Body {
    let count = tree.parents.len();
    let size = rng.range(0.6, 1.1);
    let mut positions = vec![DVec3::ZERO; count];
    let mut axes = vec![DQuat::IDENTITY; count];
    let feet: Vec<Option<u16>> = Side::BOTH.map(|side| tree.roles.joint(Role::Foot(side))).to_vec();
    for joint in 0..count {
        let offset = match tree.roles.role(joint as u16) {
            Some(Role::Hips) => rng.direction() * 0.05,
            Some(Role::Thigh(side)) => {
                let x = if side == Side::Left { 0.1 } else { -0.1 };
                DVec3::new(x, -0.05, 0.0) * size + rng.direction() * 0.03
            }
            Some(Role::Shin(_) | Role::Foot(_)) => {
                (DVec3::NEG_Y + rng.direction() * rng.unit() * 0.4) * (size * rng.range(0.35, 0.5))
            }
            Some(Role::Toe(_)) => DVec3::new(0.0, -0.06, 0.12) * size,
            _ => rng.direction() * rng.range(0.02, 0.3) * size,
        };
        positions[joint] = tree.parents[joint].map_or(DVec3::ZERO, |p| positions[usize::from(p)]) + offset;
        axes[joint] = rng.rotation();
    }
    // The lower ankle stands a little over the ground.
    let low = feet.iter().flatten().map(|&foot| positions[usize::from(foot)].y).fold(f64::INFINITY, f64::min);
    let lift = if low.is_finite() { 0.08 * size - low } else { 0.5 };
    positions.iter_mut().for_each(|p| p.y += lift);
    let soles = [0, 1].map(|side| {
        let foot = feet[side]?;
        rng.chance(0.7).then(|| {
            let down = -positions[usize::from(foot)].y;
            let point = |z: f64, rng: &mut Rng| {
                (DVec3::new(0.0, down, z * size) + rng.direction() * 0.01).as_vec3().to_array()
            };
            Sole { heel: point(-0.06, rng), ball: point(0.14, rng) }
        })
    });
    Body {
        character: shaped(tree, &positions, &axes),
        roles: tree.roles.clone(),
        reference: ReferencePose { models: Vec::new() },
        soles,
    }
    .at_rest()
}

impl Body {
    fn at_rest(mut self) -> Self {
        self.reference = ReferencePose::rest(&self.character.skeleton);
        self
    }
}

/// The skeleton whose joints stand at `positions` with model-space `axes`.
pub fn shaped(tree: &Tree, positions: &[DVec3], axes: &[DQuat]) -> RawCharacter {
    let joints = (0..positions.len())
        .map(|joint| {
            let (base, above) = match tree.parents[joint] {
                Some(parent) => (positions[usize::from(parent)], axes[usize::from(parent)]),
                None => (DVec3::ZERO, DQuat::IDENTITY),
            };
            let back = above.inverse();
            RawJoint {
                name: tree.names[joint].clone(),
                parent: tree.parents[joint],
                rest: Transform::rigid(
                    (back * (positions[joint] - base)).as_vec3(),
                    (back * axes[joint]).normalize().as_quat(),
                ),
            }
        })
        .collect();
    RawCharacter { name: "random".into(), skeleton: RawSkeleton { joints }, ..RawCharacter::default() }
}

/// A skin with random entries. `uniform`: inverse binds are rotation, translation and (if `scaled`) uniform scale.
pub fn skin(rng: &mut Rng, joints: usize, uniform: bool, scaled: bool) -> RawSkin {
    let count = 1 + rng.below(2 * joints);
    let palette: Vec<u16> = (0..count).map(|_| rng.below(joints) as u16).collect();
    let inverse_binds = palette
        .iter()
        .map(|_| {
            let scale = if scaled { rng.range(0.5, 2.0) as f32 } else { 1.0 };
            let scale = if uniform { Vec3::splat(scale) } else { Vec3::new(scale, 1.3 * scale, 0.7 * scale) };
            let offset = rng.direction() * rng.range(0.0, 0.6);
            let rotation: Quat = rng.rotation().as_quat();
            Mat4::from_scale_rotation_translation(scale, rotation.normalize(), offset.as_vec3())
        })
        .collect();
    RawSkin { name: format!("skin of {count}"), joints: palette, inverse_binds }
}

/// Skinning matrix of an entry in double precision: the joint's animated model matrix times its inverse bind.
pub fn skin_matrix(body: &Body, joint: u16, inverse_bind: Mat4, g: DQuat, x: DVec3) -> DMat4 {
    let reference = body.reference.models[usize::from(joint)];
    let at = reference.w_axis.truncate();
    DMat4::from_translation(x)
        * DMat4::from_quat(g)
        * DMat4::from_translation(-at)
        * reference
        * inverse_bind.as_dmat4()
}

/// What a random clip is like.
#[derive(Clone, Copy, Debug)]
pub struct ClipShape {
    pub keys: usize,
    pub looping: bool,
    /// Some joints turn all the way round.
    pub crossing: bool,
    /// The root's speed changes.
    pub varying: bool,
}

/// Motion of sines: rotations within about 0.9 rad, legs within 0.5, any axes.
pub fn motion(rng: &mut Rng, topology: &Topology, shape: ClipShape) -> MotionKeys {
    let joints = topology.len();
    let count = shape.keys.max(2);
    let leg_joints: BTreeMap<u16, ()> = topology
        .legs()
        .iter()
        .flat_map(|leg| [leg.thigh, leg.shin, leg.foot])
        .map(|joint| (joint, ()))
        .collect();
    let curves: Vec<_> = (0..joints)
        .map(|joint| {
            let is_leg = leg_joints.contains_key(&(joint as u16));
            let size = if is_leg { 0.18 } else { rng.range(0.05, 0.22) };
            let (a, b) = (rng.direction() * size, rng.direction() * size);
            let turns = shape.crossing && !is_leg && rng.chance(0.12);
            (a, b, rng.range(0.0, TAU), rng.direction(), if turns { TAU } else { 0.0 })
        })
        .collect();
    let duration = (count - 1) as f64 / 30.0;
    let speed = rng.range(0.0, 1.6);
    let (turn, side) = (rng.range(-0.8, 0.8), rng.range(-0.3, 0.3));
    let phase = rng.range(0.0, TAU);
    let mut keys =
        MotionKeys { name: "random".into(), duration, looping: shape.looping, ..MotionKeys::default() };
    let mut root = super::travel::Pose::default();
    let twist = super::travel::Pose { x: side, z: speed, yaw: turn };
    for key in 0..count {
        let u = key as f64 / (count - 1) as f64;
        let angle = TAU * u;
        for (a, b, phase, axis, whole) in &curves {
            let wobble = DQuat::from_scaled_axis(*a * (angle + phase).sin() + *b * (angle + phase).cos());
            // The real part goes from 1 to -1: the same pose, on the other side.
            keys.rotations.push(DQuat::from_axis_angle(*axis, whole * u) * wobble);
        }
        let bob =
            DVec3::new(0.03 * angle.sin(), 0.04 * (2.0 * angle + phase).sin() - 0.03, 0.02 * angle.cos());
        keys.pelvis.push(bob);
        let contact = |shift: f64| (0.5 + 1.2 * (angle + shift).sin()).clamp(0.0, 1.0) as f32;
        keys.contact.push([contact(phase), contact(phase + PI)]);
        keys.root.push([root.x, root.z, root.yaw]);
        let pace = if shape.varying { 1.0 + 0.5 * (angle + phase).sin() } else { 1.0 };
        let seconds = duration / (count - 1) as f64;
        root = root.then(scaled(twist, pace * seconds));
    }
    keys
}

/// Where a constant twist (per second) leads in that time.
pub fn scaled(twist: super::travel::Pose, seconds: f64) -> super::travel::Pose {
    let yaw = twist.yaw * seconds;
    let (a, b) = if yaw.abs() < 1e-9 {
        (seconds, 0.0)
    } else {
        (yaw.sin() / twist.yaw, (1.0 - yaw.cos()) / twist.yaw)
    };
    super::travel::Pose { x: a * twist.x + b * twist.z, z: a * twist.z - b * twist.x, yaw }
}
