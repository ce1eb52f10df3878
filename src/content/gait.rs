//! Gaits: cyclic walking and running from a handful of parameters.

use std::f64::consts::TAU;

use super::anatomy::Anatomy;
use super::carriage::{Arm, Carriage, Trunk};
use super::curve::mix;
use super::motion::{Motion, foot_shape, steady_drop};
use super::stance::{FootTrack, Planar, Stance, Swing};
use crate::rig::Side;

/// Standard gravity, m/s^2.
const GRAVITY: f64 = 9.80665;
/// Gait events and durations lie on this grid (Hz), so that clips resampled at it keep their contacts exact.
pub(super) const EVENT_RATE: f64 = 30.0;

/// Parameters of a cyclic gait, free of body size: lengths in leg lengths L, times in sqrt(L / g),
/// angles in radians, phases in cycles with the left heel striking at 0 (dynamic similarity: Alexander,
/// "The gaits of bipedal and quadrupedal animals", 1984).
///
/// Sources of the values: event times, foot and joint angles of walking from Perry and Burnfield, "Gait
/// Analysis", and Winter, "Biomechanics and Motor Control of Human Movement"; pelvic motion from Saunders,
/// Inman and Eberhart (1953); stride length against speed from Grieve (1968); duty factors and
/// frequencies of running from Cavanagh and Kram (1989) and Novacheck (1998).
///
/// Speed, period, turn and phases are brought into the range that a body can do; the rest is taken as it
/// is, and a value that is not finite gives a clip that [`RawClip::validate`](crate::clip::RawClip::validate)
/// refuses.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Gait {
    /// Over sqrt(g L).
    pub speed: f64,
    /// Cycle time over sqrt(L / g).
    pub period: f64,
    /// Radians turned to the left per cycle.
    pub turn: f64,
    /// Phases at which the ball comes down, the heel leaves, the ball leaves.
    pub ball_down: f64,
    pub heel_up: f64,
    pub ball_up: f64,
    /// Share of a stance that the foot is ahead of the body.
    pub ahead: f64,
    /// Toes up at heel strike; heel up when the ball leaves, early in the swing, in mid-swing.
    pub strike: f64,
    pub push: f64,
    pub fold: f64,
    pub mid_pitch: f64,
    /// Share of a swing's way that the foot is held back shortly before it lands.
    pub late: f64,
    /// Extra height of the ankle in the swing, and when.
    pub lift: f64,
    pub lift_peak: f64,
    /// Distance of a foot from the line of travel over that of the ankles at rest; toes turned out.
    pub width: f64,
    pub toe_out: f64,
    /// Amplitude of the pelvis up and down, and the phase at which it is lowest.
    pub bounce: f64,
    pub low: f64,
    /// Amplitude of the pelvis to the side.
    pub sway: f64,
    /// Amplitudes of the pelvis about the vertical and the line of travel; mean tip forward.
    pub pelvis_yaw: f64,
    pub pelvis_list: f64,
    pub pelvis_tilt: f64,
    /// Amplitude of the rib cage against the pelvis; mean and amplitude of its lean.
    pub chest_yaw: f64,
    pub lean: f64,
    pub nod: f64,
    /// Mean and amplitude of the shoulder's flexion; mean and amplitude of the elbow's.
    pub arm_mean: f64,
    pub arm_swing: f64,
    pub elbow: f64,
    pub elbow_swing: f64,
    /// Arms away from the body, fingers curled.
    pub abduct: f64,
    pub curl: f64,
    /// Head pitched forward.
    pub head: f64,
    /// Least flexion of the knee, and how far the pelvis is let down besides.
    pub knee: f64,
    pub crouch: f64,
}

impl Gait {
    /// Walking at `speed` over sqrt(g L): 0.28 is slow, 0.47 usual, 0.65 fast.
    pub fn walk(speed: f64) -> Self {
        let speed = speed.clamp(0.12, 0.75);
        let pace = speed / 0.47;
        Self {
            speed,
            period: 3.63 * pace.powf(-0.5),
            turn: 0.0,
            ball_down: 0.09,
            heel_up: mix(0.41, 0.34, pace),
            ball_up: mix(0.63, 0.57, pace),
            ahead: 0.428,
            strike: 0.31 * pace.powf(0.7),
            push: 0.80 * pace.powf(0.35),
            late: 0.0,
            fold: 0.72 * pace.powf(0.35),
            mid_pitch: 0.12,
            lift: 0.045,
            lift_peak: 0.32,
            width: 0.72,
            toe_out: 0.10,
            bounce: 0.020 * pace,
            low: 0.03,
            sway: 0.026 * pace.powf(-0.4),
            pelvis_yaw: 0.09 * pace.powf(0.7),
            pelvis_list: 0.06 * pace.powf(0.5),
            pelvis_tilt: 0.03,
            chest_yaw: 0.065 * pace.powf(0.6),
            lean: 0.01 + 0.02 * pace,
            nod: 0.012 * pace,
            arm_mean: -0.05,
            arm_swing: 0.33 * pace,
            elbow: 0.32 + 0.08 * pace,
            elbow_swing: 0.16 * pace,
            abduct: 0.15,
            curl: 0.45,
            head: 0.03,
            knee: 0.11,
            crouch: 0.0,
        }
    }

    /// Running at `speed` over sqrt(g L): 0.85 is a jog, 1.3 a run, 1.8 fast.
    pub fn run(speed: f64) -> Self {
        let speed = speed.clamp(0.6, 2.2);
        let pace = (speed - 0.85) / 0.45;
        let ball_up = (0.39 - 0.05 * pace).clamp(0.24, 0.43);
        Self {
            speed,
            period: 2.50 * (speed / 0.85).powf(-0.18),
            turn: 0.0,
            ball_down: 0.05,
            heel_up: 0.44 * ball_up,
            ball_up,
            ahead: 0.38,
            strike: 0.16,
            push: mix(0.95, 1.12, pace),
            late: mix(0.025, 0.04, pace),
            fold: mix(1.15, 1.45, pace),
            mid_pitch: mix(0.50, 0.62, pace),
            lift: mix(0.14, 0.22, pace),
            lift_peak: 0.31,
            width: 0.45,
            toe_out: 0.06,
            bounce: mix(0.034, 0.032, pace),
            low: 0.5 * ball_up,
            sway: 0.010,
            pelvis_yaw: mix(0.09, 0.12, pace),
            pelvis_list: 0.06,
            pelvis_tilt: 0.08,
            chest_yaw: mix(0.13, 0.18, pace),
            lean: mix(0.10, 0.17, pace),
            nod: 0.02,
            arm_mean: mix(-0.15, -0.10, pace),
            arm_swing: mix(0.42, 0.66, pace),
            elbow: mix(1.45, 1.55, pace),
            elbow_swing: mix(0.15, 0.28, pace),
            abduct: 0.24,
            curl: 1.15,
            head: 0.02,
            knee: 0.17,
            crouch: 0.0,
        }
    }

    /// Every parameter finite and within what a body can do.
    fn clamped(&self) -> Self {
        let fit = |v: f64, low: f64, high: f64| if v.is_finite() { v.clamp(low, high) } else { low };
        let ball_up = fit(self.ball_up, 0.2, 0.72);
        Self {
            speed: fit(self.speed, 0.05, 2.5),
            period: fit(self.period, 1.4, 9.0),
            turn: fit(self.turn, -2.5, 2.5),
            ball_up,
            heel_up: fit(self.heel_up, 0.4 * ball_up, 0.85 * ball_up),
            ball_down: fit(self.ball_down, 0.02, 0.3 * ball_up),
            ..*self
        }
    }
}

/// A gait on one body, in metres and seconds.
#[derive(Clone, Debug)]
pub(super) struct Walker {
    pub gait: Gait,
    pub leg: f64,
    /// Seconds; a whole, even number of event frames.
    pub cycle: f64,
    pub speed: f64,
    /// Seconds after heel strike.
    pub ball_down: f64,
    pub heel_up: f64,
    pub ball_up: f64,
    /// Of the flat foot's ankle before the pelvis at heel strike, metres.
    pub ahead: f64,
    pub swing: Swing,
    pub drop: f64,
}

impl Walker {
    pub fn new(anatomy: &Anatomy, gait: &Gait) -> Self {
        let gait = gait.clamped();
        let leg = anatomy.leg();
        let (unit_speed, unit_time) = ((GRAVITY * leg).sqrt(), (leg / GRAVITY).sqrt());
        let frames = 2.0 * (0.5 * gait.period * unit_time * EVENT_RATE).round().max(6.0);
        let cycle = frames / EVENT_RATE;
        let event = |phase: f64| (phase * frames).round() / EVENT_RATE;
        let ball_down = event(gait.ball_down).max(1.0 / EVENT_RATE);
        let heel_up = event(gait.heel_up).max(ball_down + 1.0 / EVENT_RATE);
        let ball_up = event(gait.ball_up).max(heel_up + 2.0 / EVENT_RATE);
        // The stride keeps its length where the cycle was rounded; the speed gives way.
        let speed = gait.speed * unit_speed * gait.period * unit_time / cycle;
        let swing = Swing {
            lift: gait.lift * leg,
            lift_peak: gait.lift_peak,
            clearance: 0.02 * leg,
            fold: gait.fold,
            mid_pitch: gait.mid_pitch,
            late: gait.late,
        };
        let mut walker = Self {
            leg,
            cycle,
            speed,
            ball_down,
            heel_up,
            ball_up,
            ahead: gait.ahead * speed * ball_up,
            swing,
            drop: 0.0,
            gait,
        };
        let drop = steady_drop(anatomy, &walker.motion(anatomy), gait.knee);
        walker.drop = drop + gait.crouch * leg;
        walker
    }

    pub fn turn_rate(&self) -> f64 {
        self.gait.turn / self.cycle
    }

    /// Root path on the clock of the cycle.
    pub fn path(&self, t: f64) -> Planar {
        Planar::arc(self.speed, self.turn_rate(), t)
    }

    /// The stance that begins with a heel strike at `time`.
    pub fn stance(&self, anatomy: &Anatomy, side: Side, time: f64) -> Stance {
        let sign = if side == Side::Left { 1.0 } else { -1.0 };
        let local =
            Planar::new(sign * anatomy.ankle.x * self.gait.width, anatomy.ankle.z, sign * self.gait.toe_out);
        Stance {
            heel_down: time,
            ball_down: time + self.ball_down,
            heel_up: time + self.heel_up,
            ball_up: time + self.ball_up,
            place: self.path(time + self.ahead / self.speed).then(&local),
            strike: self.gait.strike,
            push: self.gait.push,
        }
    }

    pub fn motion(&self, anatomy: &Anatomy) -> Motion<'_> {
        let shape = foot_shape(anatomy);
        let track = |side: Side| {
            let first = if side == Side::Left { 0.0 } else { 0.5 };
            let stances =
                (-2..=2).map(|k| self.stance(anatomy, side, (f64::from(k) + first) * self.cycle)).collect();
            FootTrack::new(shape, stances, &self.swing)
        };
        Motion {
            duration: self.cycle,
            looping: true,
            // Legs turn about three times as fast in a run as in a walk; the error goes with the square.
            rate: if self.gait.ball_up < 0.5 { 360.0 } else { 120.0 },
            root: Box::new(|t| self.path(t)),
            carriage: Box::new(|t| self.carriage(t / self.cycle)),
            drop: Box::new(|_| self.drop),
            feet: Side::BOTH.map(track),
        }
    }

    /// Trunk and arms at a phase (left heel strike at 0).
    pub fn carriage(&self, phase: f64) -> Carriage {
        let g = &self.gait;
        let once = |at: f64| (TAU * (phase - at)).cos();
        let twice = |at: f64| (2.0 * TAU * (phase - at)).cos();
        let mid_stance = 0.5 * g.ball_up;
        let turning = self.turn_rate();
        // Banking into a turn balances the sideways acceleration v w against g.
        let bank = -(self.speed * turning / GRAVITY).atan() * 0.6;
        let glance = 0.25 * turning * self.cycle.min(1.0);
        let trunk = Trunk {
            lateral: g.sway * self.leg * once(mid_stance),
            height: -g.bounce * self.leg * twice(g.low),
            fore: 0.006 * self.leg * twice(g.low + 0.2),
            // The hip of the striking leg is forward.
            pelvis_yaw: -g.pelvis_yaw * once(0.0),
            // The swinging side hangs while the other takes the load.
            pelvis_list: g.pelvis_list * once(0.5 * mid_stance + 0.02) + 0.5 * bank,
            pelvis_tilt: g.pelvis_tilt + 0.5 * g.lean + 0.3 * g.nod * twice(g.low),
            chest_yaw: g.chest_yaw * once(0.03) + 0.3 * glance,
            chest_side: -0.3 * g.pelvis_list * once(mid_stance) + bank,
            chest_lean: g.lean + g.nod * twice(g.low + 0.06),
            head_yaw: glance,
            head_side: 0.5 * bank,
            head_pitch: g.head + 0.3 * g.nod * twice(g.low + 0.12),
        };
        let arm = |sign: f64| {
            // An arm is furthest forward a little after the other leg's heel strike.
            let forward = -sign * once(0.03);
            let lagging = -sign * once(0.07);
            Arm {
                flex: g.arm_mean + g.arm_swing * forward,
                abduct: g.abduct + 0.03 * (1.0 - forward) * g.arm_swing,
                twist: 0.25 + 0.2 * g.arm_swing * forward,
                elbow: g.elbow + g.elbow_swing * lagging,
                pronate: 0.35 - 0.1 * lagging * g.arm_swing,
                wrist: 0.05 - 0.08 * lagging * g.arm_swing,
                curl: g.curl,
                shrug: 0.0,
                protract: 0.12 * g.arm_swing * forward,
            }
        };
        Carriage { trunk, arms: [arm(1.0), arm(-1.0)] }
    }
}
