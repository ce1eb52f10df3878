//! Foot tracks: when and where a foot stands, how it rolls over heel and ball, how it swings between.

use glam::{DQuat, DVec3};

use super::curve::{Spline, bump, ease, hermite};

/// A place and heading on the ground; the heading turns +Z towards +X (left) when positive.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Planar {
    pub x: f64,
    pub z: f64,
    pub yaw: f64,
}

impl Planar {
    pub fn new(x: f64, z: f64, yaw: f64) -> Self {
        Self { x, z, yaw }
    }

    /// `local`, given in the frame of `self`, in the frame of the ground.
    pub fn then(&self, local: &Self) -> Self {
        let p = self.point(DVec3::new(local.x, 0.0, local.z));
        Self { x: p.x, z: p.z, yaw: self.yaw + local.yaw }
    }

    pub fn point(&self, p: DVec3) -> DVec3 {
        DVec3::new(self.x, 0.0, self.z) + DQuat::from_rotation_y(self.yaw) * p
    }

    /// The path of constant speed and turn rate after `time` (the SE(2) exponential), metres along +Z.
    pub fn arc(speed: f64, turn_rate: f64, time: f64) -> Self {
        let angle = turn_rate * time;
        if angle.abs() < 1e-9 {
            return Self { x: 0.0, z: speed * time, yaw: angle };
        }
        let radius = speed / turn_rate;
        Self { x: radius * (1.0 - angle.cos()), z: radius * angle.sin(), yaw: angle }
    }
}

/// Lengths of a foot relative to the ankle, model axes, flat on the ground.
#[derive(Clone, Copy, Debug)]
pub(super) struct FootShape {
    pub heel: DVec3,
    pub ball: DVec3,
    pub toe_tip: DVec3,
}

/// One stay of a foot on the ground. Times in seconds, `heel_down <= ball_down <= heel_up <= ball_up`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stance {
    pub heel_down: f64,
    pub ball_down: f64,
    pub heel_up: f64,
    pub ball_up: f64,
    /// Where the ankle projects to while the foot is flat, and where the foot points.
    pub place: Planar,
    /// Toes up at heel strike, heel up at the end, radians.
    pub strike: f64,
    pub push: f64,
}

/// Shape of a swing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swing {
    /// Extra height of the ankle, metres, and when it is reached, as a fraction of the swing.
    pub lift: f64,
    pub lift_peak: f64,
    /// Sole over the ground in mid-swing, metres.
    pub clearance: f64,
    /// Pitch of the foot (heel up) early and in the middle of the swing, radians.
    pub fold: f64,
    pub mid_pitch: f64,
    /// Share of the way that the foot is held back shortly before it lands.
    pub late: f64,
}

/// A foot at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct FootPose {
    pub ankle: DVec3,
    pub yaw: f64,
    pub foot: DQuat,
    pub toe: DQuat,
}

#[derive(Clone, Debug)]
struct Flight {
    start: f64,
    end: f64,
    pitch: Spline,
    from: Planar,
    to: Planar,
    a: DVec3,
    va: DVec3,
    b: DVec3,
    vb: DVec3,
    lift: f64,
    peak: f64,
    late: f64,
    push: f64,
    push_rate: f64,
    toe_up: f64,
}

/// The stances of one foot in order of time and the swings between them.
#[derive(Clone, Debug)]
pub(super) struct FootTrack {
    shape: FootShape,
    stances: Vec<Stance>,
    flights: Vec<Flight>,
}

/// Toes are drawn up this much of the foot's angle at heel strike.
const TOE_UP: f64 = 0.5;

fn rotation(yaw: f64, pitch: f64) -> DQuat {
    DQuat::from_rotation_y(yaw) * DQuat::from_rotation_x(pitch)
}

/// Heel rise over the push-off, `u` in [0, 1], from flat with no speed to 1 with speed 1.4.
fn rise(u: f64) -> f64 {
    u * u * (1.6 - 0.6 * u)
}

impl Stance {
    fn pitch(&self, t: f64) -> f64 {
        if t < self.ball_down {
            let u = (t - self.heel_down) / (self.ball_down - self.heel_down);
            -self.strike * (1.0 - u) * (1.0 - u)
        } else if t > self.heel_up {
            self.push * rise((t - self.heel_up) / (self.ball_up - self.heel_up))
        } else {
            0.0
        }
    }

    fn strike_rate(&self) -> f64 {
        if self.ball_down > self.heel_down {
            2.0 * self.strike / (self.ball_down - self.heel_down)
        } else {
            0.0
        }
    }

    fn push_rate(&self) -> f64 {
        if self.ball_up > self.heel_up { 1.4 * self.push / (self.ball_up - self.heel_up) } else { 0.0 }
    }
}

impl FootTrack {
    /// `stances` rise in time; the foot stays in the first before it and in the last after it.
    pub fn new(shape: FootShape, stances: Vec<Stance>, swing: &Swing) -> Self {
        let flights = stances.windows(2).map(|pair| Flight::new(&shape, &pair[0], &pair[1], swing)).collect();
        Self { shape, stances, flights }
    }

    pub fn at(&self, t: f64) -> FootPose {
        let next = self.stances.partition_point(|s| s.heel_down <= t);
        let current = next.saturating_sub(1);
        let stance = &self.stances[current];
        if t > stance.ball_up && current < self.flights.len() {
            return self.flights[current].at(t);
        }
        let t = t.clamp(stance.heel_down, stance.ball_up);
        stance_pose(&self.shape, stance, t)
    }

    pub fn stances(&self) -> &[Stance] {
        &self.stances
    }
}

fn stance_pose(shape: &FootShape, stance: &Stance, t: f64) -> FootPose {
    let pitch = stance.pitch(t);
    let yaw = stance.place.yaw;
    let foot = rotation(yaw, pitch);
    let ankle_flat = -shape.ball.y;
    let on_heel = t < stance.ball_down;
    let pivot = if on_heel { shape.heel } else { shape.ball };
    let ankle = stance.place.point(pivot + DVec3::Y * ankle_flat) - foot * pivot;
    let toe = if on_heel {
        let down =
            hermite(0.0, 0.0, 1.0, 0.0, (t - stance.heel_down) / (stance.ball_down - stance.heel_down));
        rotation(yaw, pitch - TOE_UP * stance.strike * (1.0 - down))
    } else {
        rotation(yaw, 0.0)
    };
    FootPose { ankle, yaw, foot, toe }
}

impl Flight {
    fn new(shape: &FootShape, from: &Stance, to: &Stance, swing: &Swing) -> Self {
        let (start, end) = (from.ball_up, to.heel_down);
        let span = end - start;
        let a = stance_pose(shape, from, start);
        let b = stance_pose(shape, to, end);
        // Ankle velocity of a foot that turns about its pivot at rate w: w (axis x (ankle - pivot)).
        let turning = |pose: &FootPose, pivot: DVec3, rate: f64| {
            let axis = DQuat::from_rotation_y(pose.yaw) * DVec3::X;
            axis.cross(pose.foot * -pivot) * rate
        };
        let push_rate = from.push_rate();
        let pitch = Spline::clamped(
            &[
                (start, from.push),
                (start + 0.27 * span, swing.fold),
                (start + 0.55 * span, swing.mid_pitch),
                (start + 0.84 * span, -to.strike * 1.12),
                (end, -to.strike),
            ],
            push_rate,
            to.strike_rate(),
        );
        let mut flight = Self {
            start,
            end,
            pitch,
            from: from.place,
            to: to.place,
            a: a.ankle,
            va: turning(&a, shape.ball, push_rate),
            b: b.ankle,
            vb: turning(&b, shape.heel, to.strike_rate()),
            lift: swing.lift,
            peak: swing.lift_peak,
            late: swing.late,
            push: from.push,
            push_rate,
            toe_up: to.strike * TOE_UP,
        };
        // A swing must not scuff the ground: raise it until heel, ball and toe tip are clear.
        for _ in 0..60 {
            if flight.clear(shape, swing.clearance) {
                break;
            }
            flight.lift += 0.02 * -shape.ball.y;
        }
        flight
    }

    fn clear(&self, shape: &FootShape, clearance: f64) -> bool {
        (1..40).all(|i| {
            let u = f64::from(i) / 40.0;
            let pose = self.at(self.start + (self.end - self.start) * u);
            let ball = pose.ankle + pose.foot * shape.ball;
            let lowest =
                [pose.ankle + pose.foot * shape.heel, ball, ball + pose.toe * (shape.toe_tip - shape.ball)]
                    .into_iter()
                    .fold(f64::INFINITY, |low, p| low.min(p.y));
            lowest >= clearance * bump(0.5, u).powi(2) - 1e-4
        })
    }

    fn at(&self, t: f64) -> FootPose {
        let span = self.end - self.start;
        let u = ((t - self.start) / span).clamp(0.0, 1.0);
        let yaw = self.from.yaw + (self.to.yaw - self.from.yaw) * ease(u);
        let pitch = self.pitch.at(t);
        let axis = |a: f64, va: f64, b: f64, vb: f64| hermite(a, va * span, b, vb * span, u);
        let mut ankle = DVec3::new(
            axis(self.a.x, self.va.x, self.b.x, self.vb.x),
            axis(self.a.y, self.va.y, self.b.y, self.vb.y),
            axis(self.a.z, self.va.z, self.b.z, self.vb.z),
        );
        ankle += (self.a - self.b).with_y(0.0) * (self.late * bump(0.8, u));
        ankle.y += self.lift * bump(self.peak, u);
        // The toes come back from their bend in the first part and are drawn up for the strike.
        let back = 0.45;
        let bent =
            if u < back { hermite(self.push, self.push_rate * span * back, 0.0, 0.0, u / back) } else { 0.0 };
        let drawn = self.toe_up * ease((u - 0.5) / 0.5);
        FootPose { ankle, yaw, foot: rotation(yaw, pitch), toe: rotation(yaw, pitch - bent - drawn) }
    }
}
