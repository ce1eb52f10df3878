//! Feet on the ground, in the order and with the constants of the engine's stage.

use glam::{Quat, Vec2, Vec3A, Vec3Swizzles};

use super::{Body, Character, FEET, Ground, Leg, Scratch, Step};

const LOCK_SPEED: f32 = 0.33;
const FREE_SPEED: f32 = 1.1;
const LOCK_HEIGHT: f32 = 0.06;
const FREE_HEIGHT: f32 = 0.12;
const LOCK_REACH: f32 = 0.22;
pub(super) const RELEASE_HALF_LIFE: f32 = 0.05;
pub(super) const PELVIS_TIME: f32 = 0.09;
const FULL_PITCH: f32 = 0.6;
const NO_PITCH: f32 = 0.8;
const PLANTING: f32 = 4.0;
const SOFTNESS: f32 = 0.03;
const FRONT: Vec3A = Vec3A::new(0.0, 1e-3, 1.0);
const STRAIGHT: f32 = 0.02;

/// Height and normal of the ground.
#[derive(Clone, Copy)]
struct Hit {
    height: f32,
    normal: Vec3A,
}

impl Ground {
    #[inline(always)]
    fn at(&self, place: Vec2) -> Option<Hit> {
        match self {
            Self::Flat(height) => Some(Hit { height: *height, normal: Vec3A::Y }),
            Self::Field { min, max, size, heights } => {
                // Written so that NaN is outside.
                if !(place.cmpge(*min) & place.cmple(*max)).all() {
                    return None;
                }
                let [columns, rows] = *size;
                let per_metre = Vec2::new((columns - 1) as f32, (rows - 1) as f32) / (max - min);
                let at = (place - min) * per_metre;
                let (i, j) = ((at.x as usize).min(columns - 2), (at.y as usize).min(rows - 2));
                let (u, v) = (at.x - i as f32, at.y - j as f32);
                let first = i * rows + j;
                let near = &heights[first..first + 2];
                let far = &heights[first + rows..first + rows + 2];
                let along_near = near[1] - near[0];
                let twist = far[1] - far[0] - along_near;
                let along_z = along_near + twist * u;
                let along_x = far[0] - near[0] + twist * v;
                let height = near[0] + (far[0] - near[0]) * u + along_z * v;
                let normal = Vec3A::new(-along_x * per_metre.x, 1.0, -along_z * per_metre.y).normalize();
                Some(Hit { height, normal })
            }
        }
    }
}

/// Forward pass of a leg and what the ground says.
#[derive(Clone, Copy)]
struct State {
    above: Quat,
    thigh: Quat,
    shin: Quat,
    foot: Quat,
    hip: Vec3A,
    knee: Vec3A,
    ankle: Vec3A,
    heel: Vec3A,
    ball: Vec3A,
    shift: Vec3A,
    hits: [Option<Hit>; 2],
}

/// Where a foot goes before the pelvis is known.
#[derive(Clone, Copy)]
struct Target {
    ankle: Vec3A,
    turn: Quat,
    say: f32,
    hit: bool,
}

#[inline(always)]
fn unit(v: Vec3A) -> Vec3A {
    v * (1.0 / v.length_squared().max(1e-8).sqrt())
}

#[inline(always)]
fn between(a: Vec3A, b: Vec3A) -> Quat {
    let w = 1.0 + a.dot(b);
    if w < 1e-6 {
        let across = if a.x.abs() < 0.7 { Vec3A::new(0.0, -a.z, a.y) } else { Vec3A::new(-a.z, 0.0, a.x) };
        return Quat::from_vec4(across.extend(0.0)).normalize();
    }
    Quat::from_vec4(a.cross(b).extend(w)).normalize()
}

#[inline(always)]
fn lerp(a: f32, b: f32, t: f32) -> f32 {
    a + (b - a) * t
}

/// Turns the legs of the pose in `scratch` onto the ground, and puts the root on it.
#[inline(always)]
pub(super) fn solve(
    character: &mut Character,
    body: &Body,
    ground: &Ground,
    step: Step,
    scratch: &mut Scratch,
) {
    let mut rotation = Quat::IDENTITY;
    let mut position = scratch.pelvis;
    for &joint in &body.to_pelvis {
        position += rotation * body.offsets[usize::from(joint)];
        rotation *= scratch.rotations[usize::from(joint)];
    }
    let root_hit = ground.at(character.position.xz());
    let legs = &body.legs[..body.legs.len().min(FEET)];
    let mut states: [Option<State>; FEET] = [None; FEET];
    for (index, leg) in legs.iter().enumerate() {
        states[index] = Some(probe(character, body, leg, index, ground, step, position, rotation, scratch));
    }
    if let Some(hit) = root_hit {
        character.position.y = hit.height;
    }

    let up = character.rotation.conjugate() * Vec3A::Y;
    let root_y = character.position.y;
    let mut targets: [Option<Target>; FEET] = [None; FEET];
    let mut offsets = [0.0; FEET];
    let (mut highest, mut say) = (-1e9f32, 0.0f32);
    for (index, state) in states.iter().enumerate() {
        if let Some(state) = state {
            let target = target(character, state, scratch.contact[index], root_hit, up, body.leg);
            offsets[index] = (target.ankle - state.ankle).dot(up);
            highest = highest.max(offsets[index]);
            say = say.max(target.say);
            targets[index] = Some(target);
        }
    }
    let mut lowest = highest;
    for (target, &offset) in targets.iter().zip(&offsets) {
        if let Some(target) = target {
            lowest = lowest.min(lerp(highest, offset, target.say));
        }
    }
    let bound = body.leg * 0.5;
    let jump = if character.fresh { 0.0 } else { root_y - character.last_height };
    let before = (character.pelvis - jump).clamp(-bound, bound);
    let grounded = targets.iter().flatten().any(|target| target.hit);
    let wanted = if grounded { lerp(before, lowest, say).clamp(-bound, bound) } else { 0.0 };
    let smooth = if character.fresh { wanted } else { lerp(before, wanted, step.follow) };
    character.pelvis = smooth;
    character.last_height = root_y;
    character.fresh = false;

    let mut pelvis = smooth;
    for (target, state) in targets.iter().zip(&states) {
        if let (Some(target), Some(state)) = (target, state) {
            let reach = Reach::of(state);
            let way = target.ankle - state.hip;
            let rise = way.dot(up);
            let flat = way.length_squared() - rise * rise;
            let down = (reach.free * reach.free - flat).max(0.0).sqrt() + rise - smooth;
            pelvis = pelvis.min(smooth + down.clamp(-bound, 0.0) * target.say);
        }
    }
    let moved = up * pelvis;
    scratch.pelvis += moved;

    for ((leg, target), state) in legs.iter().zip(&targets).zip(&states) {
        if let (Some(target), Some(state)) = (target, state) {
            let goal = if target.hit { target.ankle } else { target.ankle + moved };
            let (thigh, shin) = two_bones(state, goal, moved);
            let foot = target.turn * state.foot;
            scratch.rotations[usize::from(leg.thigh)] = (state.above.conjugate() * thigh).normalize();
            scratch.rotations[usize::from(leg.shin)] = (thigh.conjugate() * shin).normalize();
            scratch.rotations[usize::from(leg.foot)] = (shin.conjugate() * foot).normalize();
        }
    }
}

#[inline(always)]
fn probe(
    character: &mut Character,
    body: &Body,
    leg: &Leg,
    index: usize,
    ground: &Ground,
    step: Step,
    mut position: Vec3A,
    mut above: Quat,
    scratch: &mut Scratch,
) -> State {
    let local = |joint: u16| scratch.rotations[usize::from(joint)];
    let offset = |joint: u16| body.offsets[usize::from(joint)];
    for &joint in &leg.above {
        position += above * offset(joint);
        above *= local(joint);
    }
    let hip = position + above * offset(leg.thigh);
    let thigh = above * local(leg.thigh);
    let knee = hip + thigh * offset(leg.shin);
    let shin = thigh * local(leg.shin);
    let ankle = knee + shin * offset(leg.foot);
    let foot = shin * local(leg.foot);
    let heel = ankle + foot * leg.sole[0];
    let ball = ankle + foot * leg.sole[1];

    let (root, turn) = (character.position, character.rotation);
    let world = (root + turn * ball).xz();
    let memory = &mut character.feet[index];
    let mut held = Vec2::ZERO;
    memory.locked = if character.fresh {
        // Nothing has moved yet.
        ball.y < body.leg * LOCK_HEIGHT && scratch.contact[index] > 0.75
            || memory.locked && ball.y < body.leg * FREE_HEIGHT
    } else {
        let moved = world - memory.last;
        let next = memory.offset - moved;
        let speed = moved.length_squared();
        let limit = |per_second: f32| {
            let d = body.leg * per_second * step.dt.max(1e-6);
            d * d
        };
        let enters =
            speed < limit(LOCK_SPEED) && ball.y < body.leg * LOCK_HEIGHT && scratch.contact[index] > 0.75;
        let stays = memory.locked && speed < limit(FREE_SPEED) && ball.y < body.leg * FREE_HEIGHT;
        let reach = body.leg * LOCK_REACH;
        let locked = (enters || stays) && next.length_squared() < reach * reach;
        held = if locked { next } else { memory.offset * step.release };
        locked
    };
    memory.offset = held;
    memory.last = world;
    let held = Vec3A::new(held.x, 0.0, held.y);

    let mut hits = [None; 2];
    for (end, point) in [heel, ball].into_iter().enumerate() {
        let place = (root + turn * point + held).xz();
        scratch.probes[2 * index + end] = place;
        hits[end] = ground.at(place);
    }
    let shift = turn.conjugate() * held;
    State { above, thigh, shin, foot, hip, knee, ankle, heel, ball, shift, hits }
}

#[inline(always)]
fn target(
    character: &Character,
    state: &State,
    contact: f32,
    root_hit: Option<Hit>,
    up: Vec3A,
    leg: f32,
) -> Target {
    let (Some(heel_hit), Some(ball_hit)) = (state.hits[0].or(state.hits[1]), state.hits[1].or(state.hits[0]))
    else {
        return Target { ankle: state.ankle, turn: Quat::IDENTITY, say: 0.0, hit: false };
    };
    let contact = contact.clamp(0.0, 1.0);
    let root_y = character.position.y;
    let base = lerp(root_hit.map_or(root_y, |hit| hit.height), root_y, contact);
    let (rise_heel, rise_ball) = (heel_hit.height - base, ball_hit.height - base);

    let sole = state.ball - state.heel;
    let length = sole.length_squared().max(1e-8).sqrt();
    let per_length = 1.0 / length;
    let (heel_height, ball_height) = (state.heel.dot(up), state.ball.dot(up));
    let lean = (heel_height - ball_height) * (per_length * (1.0 / 0.15));
    let end = (1.0 + lean).clamp(0.0, 1.0);
    let anchor_rise = lerp(rise_heel, rise_ball, end);
    let step = rise_ball - rise_heel;
    let follows = ((NO_PITCH - step.abs() * per_length) * (1.0 / (NO_PITCH - FULL_PITCH))).clamp(0.0, 1.0);
    let pitch = step * follows;
    let far = leg * FREE_HEIGHT;
    let planted = (contact * PLANTING + (1.0 - PLANTING)).max(0.0);
    let drop = lerp(heel_height, ball_height, end).clamp(-far, far) * planted;
    let below_heel = rise_heel - (anchor_rise - end * pitch) - heel_height + drop;
    let below_ball = rise_ball - (anchor_rise + (1.0 - end) * pitch) - ball_height + drop;
    let rise = anchor_rise - drop + below_heel.max(below_ball).max(0.0) * contact;

    let ahead = sole * per_length;
    let sloped = unit(ahead + up * (pitch * per_length));
    let pitched = between(ahead, sloped);
    let slope = ((ball_hit.normal.y - 0.7) * (1.0 / 0.15)).clamp(0.0, 1.0);
    let normal = character.rotation.conjugate() * ball_hit.normal;
    let wanted = up + (normal - up) * (contact * slope);
    let across = |v: Vec3A| unit(v - sloped * v.dot(sloped));
    let rolled = between(across(pitched * up), across(wanted));
    let turn = rolled * pitched;

    let anchor = state.heel + sole * end;
    let goal = anchor + up * rise + state.shift;
    Target { ankle: goal - turn * (anchor - state.ankle), turn, say: contact, hit: true }
}

#[derive(Clone, Copy)]
struct Reach {
    thigh: f32,
    shin: f32,
    cap: f32,
    free: f32,
}

impl Reach {
    #[inline(always)]
    fn of(state: &State) -> Self {
        let length = |v: Vec3A| v.length_squared().max(1e-8).sqrt();
        let (thigh, shin) = (length(state.knee - state.hip), length(state.ankle - state.knee));
        let animated = length(state.ankle - state.hip);
        let whole = thigh + shin;
        let cap = (whole * 0.9995).max(animated.min(whole));
        Self { thigh, shin, cap, free: animated.max(cap - SOFTNESS * whole).min(cap) }
    }

    #[inline(always)]
    fn soften(&self, d: f32) -> f32 {
        let room = self.cap - self.free;
        let reached = if d <= self.free {
            d
        } else if room < 1e-6 {
            d.min(self.cap)
        } else {
            self.free + room * (1.0 - (-(d - self.free) / room).exp())
        };
        reached.max((self.thigh - self.shin).abs() * 1.001 + 1e-4)
    }
}

#[inline(always)]
fn two_bones(state: &State, goal: Vec3A, moved: Vec3A) -> (Quat, Quat) {
    let reach = Reach::of(state);
    let (upper, lower) = (state.knee - state.hip, state.ankle - state.knee);
    let animated = unit(state.ankle - state.hip);
    let way = goal - (state.hip + moved);
    let d = way.length_squared().max(1e-8).sqrt();
    let direction = if d < 1e-4 { animated } else { way * (1.0 / d) };
    let d = reach.soften(d);

    let swing = between(animated, direction);
    let bent = upper - animated * upper.dot(animated);
    let line = reach.thigh * STRAIGHT;
    let off = bent.length_squared();
    let mut side = bent;
    if off < line * line {
        let front = state.thigh * FRONT;
        let front = front - animated * front.dot(animated);
        side += front * ((1.0 - off / (line * line)) * line);
    }
    let pole = swing * (side * 1e4);
    let pole = unit(pole - direction * pole.dot(direction));

    let x = (reach.thigh * reach.thigh - reach.shin * reach.shin + d * d) / (d + d);
    let height = (reach.thigh * reach.thigh - x * x).max(0.0).sqrt();
    let new_upper = direction * x + pole * height;
    let new_lower = direction * d - new_upper;
    let first = between(unit(swing * upper), unit(new_upper)) * swing;
    let second = between(unit(first * lower), unit(new_lower)) * first;
    (first * state.thigh, second * state.shin)
}
