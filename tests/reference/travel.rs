//! Clocks and root motion: planar poses as rigid motions, geodesics between keys.

use super::rows::Clip;

/// A planar pose: x to the left, z ahead, yaw about +Y.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pose {
    pub x: f64,
    pub z: f64,
    pub yaw: f64,
}

impl Pose {
    pub fn of(p: [f64; 3]) -> Self {
        Self { x: p[0], z: p[1], yaw: p[2] }
    }

    /// `self`, then `next` in the axes of `self`.
    pub fn then(self, next: Self) -> Self {
        let (s, c) = self.yaw.sin_cos();
        Self {
            x: self.x + c * next.x + s * next.z,
            z: self.z - s * next.x + c * next.z,
            yaw: self.yaw + next.yaw,
        }
    }

    pub fn inverse(self) -> Self {
        let (s, c) = self.yaw.sin_cos();
        Self { x: -(c * self.x - s * self.z), z: -(s * self.x + c * self.z), yaw: -self.yaw }
    }

    /// Moves along the arc of constant twist that leads from the origin to `self`, `u` of the way: a turn about a
    /// fixed centre, or a straight line.
    pub fn part(self, u: f64) -> Self {
        if self.yaw.abs() < 1e-9 {
            return Self { x: self.x * u, z: self.z * u, yaw: self.yaw * u };
        }
        // The centre c is left alone by the motion: R c + p = c.
        let (s, co) = self.yaw.sin_cos();
        let (a, b) = (1.0 - co, s);
        let d = a * a + b * b;
        // (1 - cos, -sin; sin, 1 - cos) (cx, cz) = (x, z)
        let (cx, cz) = ((a * self.x + b * self.z) / d, (a * self.z - b * self.x) / d);
        let (s, co) = (self.yaw * u).sin_cos();
        Self { x: cx - (co * cx + s * cz), z: cz - (co * cz - s * cx), yaw: self.yaw * u }
    }
}

/// Root pose at any time, over loops and backwards; a clip that does not loop holds its ends.
pub fn root_at(clip: &Clip, time: f64) -> Pose {
    let duration = clip.duration();
    let key = |k: usize| Pose::of(clip.root[k]);
    let intervals = clip.root.len() - 1;
    let within = |time: f64| {
        let at = (time / duration * intervals as f64).clamp(0.0, intervals as f64);
        let left = (at.floor() as usize).min(intervals - 1);
        let step = key(left).inverse().then(key(left + 1));
        key(left).then(step.part(at - left as f64))
    };
    if !clip.bound.looping() {
        return within(time);
    }
    let cycles = (time / duration).floor();
    let whole = key(0).inverse().then(key(intervals));
    let mut pose = key(0);
    for _ in 0..cycles.abs() as usize {
        pose = pose.then(if cycles > 0.0 { whole } else { whole.inverse() });
    }
    pose.then(key(0).inverse()).then(within(time - cycles * duration))
}

/// One playing clip.
#[derive(Clone, Copy, Debug)]
pub struct Playing {
    pub clip: usize,
    pub time: f64,
    pub weight: f64,
    pub speed: f64,
}

/// Moves the clocks on and gives the displacement, in leg lengths, of the weighted twists.
pub fn advance(clips: &[Clip], playing: &mut [Playing], dt: f64, longest_step: f64) -> Pose {
    let steps = (dt / longest_step - 1e-3).ceil().max(1.0);
    let step = dt / steps;
    let total: f64 = playing.iter().map(|p| p.weight).sum();
    let mut moved = Pose::default();
    for _ in 0..steps as usize {
        // Lie algebra coordinates of the step: their weighted sum is the step of the mixture.
        let mut sum = [0.0; 3];
        for play in playing.iter_mut() {
            let clip = &clips[play.clip];
            let to = play.time + play.speed * step;
            let d = root_at(clip, play.time).inverse().then(root_at(clip, to));
            let log = log(d);
            (0..3).for_each(|k| sum[k] += play.weight / total * log[k]);
            let duration = clip.duration();
            play.time = if clip.bound.looping() {
                to - duration * (to / duration).floor()
            } else {
                to.clamp(0.0, duration)
            };
        }
        if !playing.is_empty() {
            moved = moved.then(exp(sum));
        }
    }
    moved
}

fn log(pose: Pose) -> [f64; 3] {
    let half = pose.yaw / 2.0;
    let k = if half.abs() < 1e-6 { 1.0 - half * half / 3.0 } else { half / half.tan() };
    [k * pose.x - half * pose.z, k * pose.z + half * pose.x, pose.yaw]
}

fn exp([x, z, yaw]: [f64; 3]) -> Pose {
    let (a, b) = if yaw.abs() < 1e-6 {
        (1.0 - yaw * yaw / 6.0, yaw / 2.0)
    } else {
        (yaw.sin() / yaw, (1.0 - yaw.cos()) / yaw)
    };
    Pose { x: a * x + b * z, z: a * z - b * x, yaw }
}
