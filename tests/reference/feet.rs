//! Feet on the ground in double precision: locks, targets, pelvis, and the leg by the law of cosines.

use glam::{DQuat, DVec3};

/// Ball speeds at which a foot locks and is let go, leg lengths per second.
pub const LOCK_SPEED: f64 = 0.33;
pub const FREE_SPEED: f64 = 1.1;
/// Heights of the animated ball over the root's plane, leg lengths.
const LOCK_HEIGHT: f64 = 0.06;
const FREE_HEIGHT: f64 = 0.12;
/// Farthest that a lock holds, leg lengths.
pub const LOCK_REACH: f64 = 0.22;
/// Seconds in which a let-go offset halves.
pub const HALF_LIFE: f64 = 0.05;
/// Seconds.
pub const PELVIS_TIME: f64 = 0.09;
/// Rise over sole length.
pub const FULL_PITCH: f64 = 0.6;
pub const NO_PITCH: f64 = 0.8;
/// Of the leg.
const SOFTNESS: f64 = 0.03;
/// Of the thigh.
const STRAIGHT: f64 = 0.02;

/// The animated leg in model axes, relative to the root.
#[derive(Clone, Copy, Debug)]
pub struct AnimatedLeg {
    pub thigh: DQuat,
    pub shin: DQuat,
    pub foot: DQuat,
    pub hip: DVec3,
    pub knee: DVec3,
    pub ankle: DVec3,
    pub heel: DVec3,
    pub ball: DVec3,
}

/// What persists of one foot: world x and z.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lock {
    pub offset: [f64; 2],
    pub last: [f64; 2],
    pub locked: bool,
}

impl Lock {
    /// One frame; `world` is where the animated ball is, `height` over the root's plane. Gives how near a decision was
    /// to going the other way (relative).
    pub fn step(
        &mut self,
        world: DVec3,
        height: f64,
        contact: f64,
        leg: f64,
        dt: f64,
        fresh: bool,
        unsure: f64,
    ) -> f64 {
        if fresh {
            self.last = [world.x, world.z];
            self.offset = [0.0; 2];
        }
        let moved = [world.x - self.last[0], world.z - self.last[1]];
        let way = moved[0].hypot(moved[1]);
        let next = [self.offset[0] - moved[0], self.offset[1] - moved[1]];
        let dt = dt.max(1e-6);
        let far = next[0].hypot(next[1]);
        // Truth and relative distance from the other truth.
        let below = |value: f64, limit: f64, unsure: f64| {
            (value < limit, ((value - limit).abs() - unsure) / limit.abs().max(1e-9))
        };
        let tests = [
            below(way, LOCK_SPEED * leg * dt, unsure),
            below(height, LOCK_HEIGHT * leg, unsure),
            below(0.75, contact.max(1e-6), 1e-4),
            below(way, FREE_SPEED * leg * dt, unsure),
            below(height, FREE_HEIGHT * leg, unsure),
            below(far, LOCK_REACH * leg, unsure),
        ];
        let was = self.locked;
        let decide = |flipped: usize| {
            let is = |k: usize| tests[k].0 != (k == flipped);
            is(5) && ((is(0) && is(1) && is(2)) || (is(3) && is(4) && was))
        };
        self.locked = decide(usize::MAX);
        let margin = (0..tests.len())
            .filter(|&k| decide(k) != self.locked)
            .map(|k| tests[k].1)
            .fold(f64::INFINITY, f64::min);
        let decay = (-core::f64::consts::LN_2 * dt / HALF_LIFE).exp();
        self.offset = match (fresh, self.locked) {
            (true, _) => [0.0; 2],
            (false, true) => next,
            (false, false) => self.offset.map(|c| c * decay),
        };
        self.last = [world.x, world.z];
        margin
    }
}

/// Ground under one end of a foot: height relative to the world, unit normal in the world.
pub type Hit = Option<(f64, DVec3)>;

/// Where a foot goes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub ankle: DVec3,
    /// Takes the animated foot onto the ground.
    pub turn: DQuat,
    pub say: f64,
    pub hit: bool,
}

/// `up` is the world's up in model axes, `to_model` takes world directions there; heights are of the world.
pub fn target(
    leg: &AnimatedLeg,
    up: DVec3,
    to_model: DQuat,
    root_y: f64,
    root_ground: f64,
    heel: Hit,
    ball: Hit,
    contact: f64,
    shift: DVec3,
    leg_length: f64,
) -> Target {
    let (Some((under_heel, _)), Some((under_ball, normal))) = (heel.or(ball), ball.or(heel)) else {
        return Target { ankle: leg.ankle, turn: DQuat::IDENTITY, say: 0.0, hit: false };
    };
    let contact = contact.clamp(0.0, 1.0);
    // Zero of the rises: the root where the foot stands, the ground under the root where it swings.
    let base = contact * root_y + (1.0 - contact) * root_ground;
    let (rise_heel, rise_ball) = (under_heel - base, under_ball - base);
    let sole = leg.ball - leg.heel;
    let length = sole.length().max(1e-4);
    // 0: turns about the heel, 1: about the ball.
    let end = (1.0 + (leg.heel - leg.ball).dot(up) / (0.15 * length)).clamp(0.0, 1.0);
    let anchor_rise = rise_heel * (1.0 - end) + rise_ball * end;
    let steep = (rise_ball - rise_heel).abs() / length;
    let follows = ((NO_PITCH - steep) / (NO_PITCH - FULL_PITCH)).clamp(0.0, 1.0);
    let pitch = (rise_ball - rise_heel) * follows;
    // Over the last quarter of the contact weight the anchor is brought to the ground from its animated height,
    // as far as a foot may be up there and still count as standing.
    let planted = ((contact - 0.75) / 0.25).max(0.0);
    let high = (leg.heel + sole * end).dot(up);
    let drop = planted * high.clamp(-FREE_HEIGHT * leg_length, FREE_HEIGHT * leg_length);
    // Clearance of both ends after that and pitching about the anchor, the height that the animation gives them
    // included: where it is negative, the foot is lifted out.
    let clear_heel = leg.heel.dot(up) - drop + anchor_rise - end * pitch - rise_heel;
    let clear_ball = leg.ball.dot(up) - drop + anchor_rise + (1.0 - end) * pitch - rise_ball;
    let lift = contact * (-clear_heel.min(clear_ball)).max(0.0);

    let ahead = sole / length;
    let sloped = (ahead + up * (pitch / length)).normalize_or_zero();
    let pitched = arc(ahead, sloped);
    let slope_weight = contact * ((normal.y - 0.7) / 0.15).clamp(0.0, 1.0);
    let normal = to_model * normal;
    let wanted = up.lerp(normal, slope_weight);
    // Roll: the angle about the sole's line between where pitching took up and the wanted up.
    let flat = |v: DVec3| v - sloped * v.dot(sloped);
    let (from, to) = (flat(pitched * up), flat(wanted));
    let roll = from.cross(to).dot(sloped).atan2(from.dot(to));
    let turn = DQuat::from_axis_angle(sloped, roll) * pitched;

    let anchor = leg.heel + sole * end;
    let goal = anchor + up * (anchor_rise - drop + lift) + shift;
    let ankle = goal + turn * (leg.ankle - anchor);
    Target { ankle, turn, say: contact, hit: true }
}

/// Smoothed pelvis offset, metres along up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pelvis {
    pub offset: f64,
    pub last_height: f64,
}

impl Pelvis {
    /// Gives the offset of this frame, which may be lower than the smoothed one.
    pub fn step(
        &mut self,
        targets: &[(AnimatedLeg, Target)],
        up: DVec3,
        root_y: f64,
        leg: f64,
        dt: f64,
        fresh: bool,
    ) -> f64 {
        let bound = 0.5 * leg;
        let rises: Vec<f64> =
            targets.iter().map(|(leg, target)| (target.ankle - leg.ankle).dot(up)).collect();
        let highest = rises.iter().copied().fold(-1e9, f64::max);
        let say = targets.iter().map(|(_, target)| target.say).fold(0.0, f64::max);
        let lowest = targets
            .iter()
            .zip(&rises)
            .map(|((_, target), rise)| highest + (rise - highest) * target.say)
            .fold(highest, f64::min);
        let jump = if fresh { self.offset } else { root_y - self.last_height };
        let before = (self.offset - jump).clamp(-bound, bound);
        // No ground at all: back to the animation.
        let grounded = targets.iter().any(|(_, target)| target.hit);
        let wanted = if grounded { (before + say * (lowest - before)).clamp(-bound, bound) } else { 0.0 };
        self.offset = if fresh { wanted } else { wanted + (before - wanted) * (-dt / PELVIS_TIME).exp() };
        self.last_height = root_y;
        let deepest = targets.iter().map(|(leg, target)| {
            let reach = Reach::of(leg);
            let way = target.ankle - leg.hip;
            let rise = way.dot(up);
            let flat = (way - up * rise).length();
            // Height over the target that the hip may have, sideways distance given.
            let allowed = (reach.free * reach.free - flat * flat).max(0.0).sqrt() + rise;
            self.offset + (allowed - self.offset).clamp(-bound, 0.0) * target.say
        });
        deepest.fold(self.offset, f64::min)
    }
}

/// How far a leg goes.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    pub thigh: f64,
    pub shin: f64,
    pub cap: f64,
    pub free: f64,
}

impl Reach {
    pub fn of(leg: &AnimatedLeg) -> Self {
        let thigh = leg.knee.distance(leg.hip).max(1e-4);
        let shin = leg.ankle.distance(leg.knee).max(1e-4);
        let animated = leg.ankle.distance(leg.hip).max(1e-4);
        let whole = thigh + shin;
        let cap = (0.9995 * whole).max(animated.min(whole));
        Self { thigh, shin, cap, free: animated.max(cap - SOFTNESS * whole).min(cap) }
    }

    /// Distance from the hip that a target `d` away is given.
    pub fn soften(&self, d: f64) -> f64 {
        let room = self.cap - self.free;
        let reached = if d <= self.free {
            d
        } else if room < 1e-6 {
            d.min(self.cap)
        } else {
            self.cap - room * (-(d - self.free) / room).exp()
        };
        reached.max((self.thigh - self.shin).abs() * 1.001 + 1e-4)
    }
}

/// Model rotations of thigh and shin that bring the ankle to `goal` with the hip at `hip`. `slack` is noise on the
/// solved distance: a knee that is all but straight answers to it by far more.
pub fn two_bones(leg: &AnimatedLeg, hip: DVec3, goal: DVec3, slack: f64) -> (DQuat, DQuat) {
    let reach = Reach::of(leg);
    let animated = (leg.ankle - leg.hip).normalize_or_zero();
    let way = goal - hip;
    let d = way.length();
    let direction = if d < 1e-4 { animated } else { way / d };
    let d = reach.soften(d) + slack;
    // The whole leg swings, its knee with it.
    let swing = arc(animated, direction);
    let upper = leg.knee - leg.hip;
    let aside = upper - animated * upper.dot(animated);
    let front = leg.thigh * DVec3::new(0.0, 1e-3, 1.0);
    let front = front - animated * front.dot(animated);
    let line = STRAIGHT * reach.thigh;
    let fade = (1.0 - (aside.length() / line).powi(2)).clamp(0.0, 1.0);
    let pole = (swing * (aside + front * (fade * line))).normalize_or_zero();
    // Law of cosines: the angle at the hip.
    let cosine = (reach.thigh.powi(2) + d * d - reach.shin.powi(2)) / (2.0 * reach.thigh * d);
    let angle = cosine.clamp(-1.0, 1.0).acos();
    let new_upper = (direction * angle.cos() + pole * angle.sin()) * reach.thigh;
    let new_lower = direction * d - new_upper;
    let first = arc((swing * upper).normalize_or_zero(), new_upper.normalize_or_zero()) * swing;
    let lower = first * (leg.ankle - leg.knee);
    let second = arc(lower.normalize_or_zero(), new_lower.normalize_or_zero()) * first;
    (first * leg.thigh, second * leg.shin)
}

/// The shortest rotation from `a` to `b`, by axis and angle; half a turn about something across `a` where they are
/// opposite.
pub fn arc(a: DVec3, b: DVec3) -> DQuat {
    let axis = a.cross(b);
    let angle = axis.length().atan2(a.dot(b));
    match axis.try_normalize() {
        Some(axis) => DQuat::from_axis_angle(axis, angle),
        None if a.dot(b) < 0.0 => DQuat::from_axis_angle(a.any_orthonormal_vector(), core::f64::consts::PI),
        None => DQuat::IDENTITY,
    }
}
