//! Motions of a body that stands: idling, turning on the spot, setting off and coming to a stop.

use std::f64::consts::{FRAC_PI_2, TAU};

use super::anatomy::Anatomy;
use super::carriage::{Arm, Carriage, Trunk};
use super::curve::{bump, ease, ease_between, mix};
use super::gait::{EVENT_RATE, Walker};
use super::motion::{Motion, foot_shape, steady_drop, worst_drop};
use super::stance::{FootTrack, Planar, Stance, Swing};
use crate::rig::Side;

/// Least flexion of a standing knee, radians.
const KNEE: f64 = 0.09;

/// How one body stands at ease.
pub(super) struct Stand<'a> {
    anatomy: &'a Anatomy,
    leg: f64,
    swing: Swing,
    drop: f64,
}

/// Nearest time on the grid of events.
fn event(t: f64) -> f64 {
    (t * EVENT_RATE).round() / EVENT_RATE
}

fn sign(side: Side) -> f64 {
    if side == Side::Left { 1.0 } else { -1.0 }
}

/// A flat stay from `from` to `until`, with a heel rise of that many seconds before the end.
fn stay(place: Planar, from: f64, rise: f64, until: f64, push: f64) -> Stance {
    Stance {
        heel_down: from,
        ball_down: from,
        heel_up: until - rise,
        ball_up: until,
        place,
        strike: 0.0,
        push,
    }
}

const ALWAYS: f64 = 1000.0;

impl<'a> Stand<'a> {
    pub fn new(anatomy: &'a Anatomy) -> Self {
        let leg = anatomy.leg();
        let swing = Swing {
            lift: 0.05 * leg,
            lift_peak: 0.42,
            clearance: 0.025 * leg,
            fold: 0.38,
            mid_pitch: 0.20,
            late: 0.0,
        };
        let mut stand = Self { anatomy, leg, swing, drop: 0.0 };
        let drop = steady_drop(anatomy, &stand.idle(), KNEE);
        stand.drop = drop;
        stand
    }

    /// Where a foot stands relative to the root.
    fn place(&self, side: Side) -> Planar {
        let s = sign(side);
        Planar::new(s * 1.12 * self.anatomy.ankle.x, self.anatomy.ankle.z + 0.012 * s * self.leg, s * 0.14)
    }

    fn planted(&self) -> [FootTrack; 2] {
        Side::BOTH.map(|side| {
            let stance = stay(self.place(side), -ALWAYS, 0.0, ALWAYS, 0.0);
            FootTrack::new(foot_shape(self.anatomy), vec![stance], &self.swing)
        })
    }

    /// Breathing (15 a minute) and a slow sway, eight seconds.
    pub fn idle(&self) -> Motion<'_> {
        Motion {
            duration: 8.0,
            looping: true,
            rate: 60.0,
            root: Box::new(|_| Planar::default()),
            carriage: Box::new(|t| self.at_ease(t)),
            drop: Box::new(|_| self.drop),
            feet: self.planted(),
        }
    }

    fn at_ease(&self, t: f64) -> Carriage {
        let slow = |n: f64, shift: f64| (TAU * (n * t / 8.0 + shift)).sin();
        let breath = slow(2.0, 0.0);
        let trunk = Trunk {
            lateral: self.leg * 0.010 * slow(1.0, 0.1),
            height: self.leg * 0.0012 * breath,
            fore: self.leg * (0.006 + 0.004 * slow(1.0, 0.35)),
            pelvis_yaw: 0.010 * slow(1.0, 0.6),
            pelvis_list: 0.012 * slow(1.0, 0.1),
            pelvis_tilt: 0.02,
            chest_yaw: 0.016 * slow(1.0, 0.55),
            chest_side: -0.006 * slow(1.0, 0.12),
            chest_lean: 0.015 - 0.009 * breath,
            head_yaw: 0.05 * slow(1.0, 0.85) + 0.02 * slow(3.0, 0.2),
            head_side: 0.0,
            head_pitch: 0.04 + 0.008 * slow(2.0, 0.3),
        };
        let arm = |shift: f64| Arm {
            flex: 0.04 + 0.008 * slow(1.0, 0.2 + shift),
            abduct: 0.15 + 0.006 * breath,
            twist: 0.30,
            elbow: 0.26 + 0.012 * slow(2.0, 0.08 + shift),
            pronate: 0.40,
            wrist: 0.06,
            curl: 0.48 + 0.02 * slow(1.0, 0.4 + shift),
            shrug: 0.018 * (1.0 + breath),
            protract: 0.0,
        };
        Carriage { trunk, arms: [arm(0.0), arm(0.13)] }
    }

    /// Shifts the weight to the left leg, rests, and back to the right; ten seconds.
    pub fn idle_shift(&self) -> Motion<'_> {
        let mut motion = Motion {
            duration: 10.0,
            looping: true,
            rate: 60.0,
            root: Box::new(|_| Planar::default()),
            carriage: Box::new(|t| self.weight_on_one(t)),
            drop: Box::new(|_| 0.0),
            feet: self.planted(),
        };
        let drop = steady_drop(self.anatomy, &motion, 0.05);
        motion.drop = Box::new(move |_| drop);
        motion
    }

    fn weight_on_one(&self, t: f64) -> Carriage {
        // Minus one: all on the right leg.
        let on_left = -1.0 + 2.0 * (ease_between(1.0, 2.7, t) - ease_between(6.0, 7.8, t));
        let moving = bump(0.5, (t - 1.0) / 1.7) + bump(0.5, (t - 6.0) / 1.8);
        let mut carriage = self.at_ease(8.0 * t / 10.0);
        let trunk = &mut carriage.trunk;
        trunk.lateral += 0.048 * self.leg * on_left;
        trunk.height += 0.006 * self.leg * moving;
        trunk.pelvis_list += 0.075 * on_left;
        trunk.pelvis_yaw += -0.05 * on_left;
        trunk.chest_side += -0.035 * on_left;
        trunk.chest_yaw += 0.04 * on_left;
        trunk.head_side += 0.02 * on_left;
        trunk.head_yaw += 0.12 * on_left;
        for (side, arm) in Side::BOTH.into_iter().zip(&mut carriage.arms) {
            arm.abduct += 0.03 * sign(side) * on_left;
            arm.elbow += 0.05 * moving;
        }
        carriage
    }

    /// A quarter turn on the spot in three steps; `towards` leads.
    pub fn turn(&self, towards: Side) -> Motion<'_> {
        let s = sign(towards);
        let other = if towards == Side::Left { Side::Right } else { Side::Left };
        let duration = event(2.0);
        let heading = move |t: f64| s * FRAC_PI_2 * ease_between(0.1, 1.75, t);
        let on = |side: Side, yaw: f64| Planar::new(0.0, 0.0, yaw).then(&self.place(side));
        let track = |stances: Vec<Stance>| FootTrack::new(foot_shape(self.anatomy), stances, &self.swing);
        let leading = track(vec![
            stay(self.place(towards), -ALWAYS, event(0.2), event(0.4), 0.35),
            stay(on(towards, s * 0.95), event(0.8), event(0.23), event(1.43), 0.35),
            stay(on(towards, s * FRAC_PI_2), event(1.77), 0.0, ALWAYS, 0.0),
        ]);
        let trailing = track(vec![
            stay(self.place(other), -ALWAYS, event(0.23), event(0.9), 0.4),
            stay(on(other, s * FRAC_PI_2), event(1.33), 0.0, ALWAYS, 0.0),
        ]);
        let feet = if towards == Side::Left { [leading, trailing] } else { [trailing, leading] };
        let carriage = move |t: f64| {
            let mut carriage = self.at_ease(t);
            let within = 1.0 - ease_between(1.8, duration, t);
            // Over the standing foot: the trailing one, the leading one, the trailing one.
            let over_leading = bump(0.5, (t - 0.75) / 0.75)
                - bump(0.6, (t - 0.05) / 0.85)
                - 0.7 * bump(0.5, (t - 1.3) / 0.6);
            let ahead = s * (ease_between(0.0, 1.35, t) - ease_between(0.1, 1.75, t));
            let trunk = &mut carriage.trunk;
            trunk.lateral += within * 0.035 * self.leg * s * over_leading;
            trunk.pelvis_list += within * 0.035 * s * over_leading;
            trunk.chest_yaw += 0.9 * ahead;
            trunk.head_yaw += 1.8 * ahead;
            trunk.chest_lean += 0.03 * within * bump(0.4, t / duration);
            for (side, arm) in Side::BOTH.into_iter().zip(&mut carriage.arms) {
                let swing = sign(side) * s * bump(0.4, t / duration);
                arm.flex -= 0.16 * swing;
                arm.abduct += 0.05 * swing.abs();
                arm.elbow += 0.10 * swing.abs();
            }
            carriage
        };
        let mut motion = Motion {
            duration,
            looping: false,
            rate: 120.0,
            root: Box::new(move |t| Planar::new(0.0, 0.0, heading(t))),
            carriage: Box::new(carriage),
            drop: Box::new(|_| self.drop),
            feet,
        };
        self.dip(&mut motion);
        motion
    }

    /// From standing into `walker`'s cycle at the left heel's strike.
    pub fn start<'b>(&'b self, walker: &'b Walker) -> Motion<'b> {
        let half = 0.5 * walker.cycle;
        let first_lift = event(0.57);
        let duration = first_lift + event(0.95 * (walker.cycle - walker.ball_up)) + half;
        let stride = walker.speed * walker.cycle;
        let left = self.place(Side::Left);
        // The standing left foot is where the walk's stance before the last one would be.
        let distance = stride - walker.ahead + left.z - self.anatomy.ankle.z;
        let end = Planar::new(0.0, distance, 0.0);
        let later = move |mut stance: Stance| {
            stance.place = end.then(&stance.place);
            stance.heel_down += duration;
            stance.ball_down += duration;
            stance.heel_up += duration;
            stance.ball_up += duration;
            stance
        };
        let walking = |side: Side, time: f64| later(walker.stance(self.anatomy, side, time));
        // The body is further over the foot than in the walk, where it came faster.
        let rise = event(1.6 * (walker.ball_up - walker.heel_up));
        let shape = foot_shape(self.anatomy);
        let feet = [
            FootTrack::new(
                shape,
                vec![
                    stay(left, -ALWAYS, rise, duration + walker.ball_up - walker.cycle, walker.gait.push),
                    walking(Side::Left, 0.0),
                ],
                &walker.swing,
            ),
            FootTrack::new(
                shape,
                vec![
                    stay(self.place(Side::Right), -ALWAYS, event(0.2), first_lift, 0.45),
                    walking(Side::Right, -half),
                    walking(Side::Right, half),
                ],
                &walker.swing,
            ),
        ];
        let span = walker.speed * duration;
        let root = move |t: f64| {
            let u = (t / duration).clamp(0.0, 1.0);
            let late = u * u * u * (-4.0 + u * (7.0 - 3.0 * u));
            Planar::new(0.0, distance * ease(u) + span * late, 0.0)
        };
        let carriage = move |t: f64| {
            let walking = ease_between(0.3 * duration, duration, t);
            let mut c =
                Carriage::mix(&self.at_ease(t), &walker.carriage((t - duration) / walker.cycle), walking);
            // First towards the foot that will lift, then over the one that stays (Winter 1995).
            let shift = -0.35 * bump(0.5, t / 0.45) + bump(0.45, (t - 0.2) / (duration - half));
            c.trunk.lateral += 0.03 * self.leg * shift * (1.0 - walking);
            c.trunk.chest_lean += 0.05 * bump(0.45, t / duration);
            c.trunk.pelvis_tilt += 0.02 * bump(0.45, t / duration);
            c
        };
        let drop = move |t: f64| mix(self.drop, walker.drop, ease_between(0.25 * duration, duration, t));
        let mut motion = Motion {
            duration,
            looping: false,
            rate: 120.0,
            root: Box::new(root),
            carriage: Box::new(carriage),
            drop: Box::new(drop),
            feet,
        };
        self.dip(&mut motion);
        motion
    }

    /// From `walker`'s left heel strike to standing: a short step, then the other foot is drawn up.
    pub fn stop<'b>(&'b self, walker: &'b Walker) -> Motion<'b> {
        let half = 0.5 * walker.cycle;
        let second = event(half * 1.04);
        let third = second + event(0.60 * walker.cycle);
        let duration = third + event(0.5);
        let last = walker.stance(self.anatomy, Side::Left, 0.0);
        let step = 0.30 * walker.speed * walker.cycle;
        let right = self.place(Side::Right);
        let distance = last.place.z + step - right.z;
        let end = Planar::new(0.0, distance, 0.0);
        let previous = walker.stance(self.anatomy, Side::Right, -half);
        let shape = foot_shape(self.anatomy);
        let left_up = second + event(0.12 * walker.cycle);
        let feet = [
            FootTrack::new(
                shape,
                vec![
                    Stance { heel_up: left_up - event(0.24), ball_up: left_up, push: 0.62, ..last },
                    stay(end.then(&self.place(Side::Left)), third, 0.0, ALWAYS, 0.0),
                ],
                &self.swing,
            ),
            FootTrack::new(
                shape,
                vec![
                    walker.stance(self.anatomy, Side::Right, -half - walker.cycle),
                    previous,
                    Stance {
                        strike: 0.7 * walker.gait.strike,
                        heel_up: ALWAYS,
                        ball_up: ALWAYS,
                        push: 0.0,
                        heel_down: second,
                        ball_down: second + walker.ball_down,
                        place: end.then(&right),
                    },
                ],
                &walker.swing,
            ),
        ];
        let span = walker.speed * duration;
        let root = move |t: f64| {
            let u = (t / duration).clamp(0.0, 1.0);
            let early = u + u * u * u * (-6.0 + u * (8.0 - 3.0 * u));
            Planar::new(0.0, distance * ease(u) + span * early, 0.0)
        };
        let carriage = move |t: f64| {
            let standing = ease_between(0.0, 0.8 * duration, t);
            let mut c =
                Carriage::mix(&walker.carriage(t / walker.cycle), &self.at_ease(t - duration), standing);
            // Over the right foot while the left one is drawn up; the trunk leans back to brake.
            c.trunk.lateral -= 0.03 * self.leg * bump(0.5, (t - second) / (duration - second)) * standing;
            c.trunk.chest_lean -= 0.045 * bump(0.35, t / duration);
            c
        };
        let drop = move |t: f64| mix(walker.drop, self.drop, ease_between(0.0, 0.85 * duration, t));
        let mut motion = Motion {
            duration,
            looping: false,
            rate: 120.0,
            root: Box::new(root),
            carriage: Box::new(carriage),
            drop: Box::new(drop),
            feet,
        };
        self.dip(&mut motion);
        motion
    }

    /// Lets the pelvis down wherever the steps of a motion between two others need it, never at its ends.
    fn dip(&self, motion: &mut Motion<'_>) {
        let duration = motion.duration;
        for _ in 0..8 {
            let (depth, when) = worst_drop(self.anatomy, motion, KNEE);
            if depth < 1e-4 {
                break;
            }
            let peak = (when / duration).clamp(0.12, 0.88);
            let base = std::mem::replace(&mut motion.drop, Box::new(|_| 0.0));
            motion.drop = Box::new(move |t| base(t) + 1.05 * depth * bump(peak, t / duration));
        }
    }
}
