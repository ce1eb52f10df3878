//! Root motion: travel over the ground as a planar motion per key interval.
//!
//! Between two keys the root moves with a constant planar twist (velocity in its own axes and turning rate), so
//! its pose is the SE(2) exponential of the twist: exact over any partition of time, over loops and backwards.

use core::f32::consts::PI;

/// Planar velocity in the root's own axes: lengths per second to the left and ahead, radians per second about +Y.
/// Lengths are in the unit of its maker: leg lengths where a [`RootMotion`] gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist {
    /// Left.
    pub x: f32,
    /// Ahead.
    pub z: f32,
    /// To the left.
    pub yaw: f32,
}

/// A planar displacement in the axes of where it starts. Lengths are in the unit of its maker: leg lengths where a
/// [`RootMotion`] gives it, metres where a crowd reports how a character moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Planar {
    /// Left.
    pub x: f32,
    /// Ahead.
    pub z: f32,
    /// Radians about +Y, unwrapped.
    pub yaw: f32,
}

impl Planar {
    /// First `self`, then `next` in the axes that `self` leads to.
    pub fn then(self, next: Self) -> Self {
        let (s, c) = sin_cos(self.yaw);
        Self {
            x: self.x + c * next.x + s * next.z,
            z: self.z - s * next.x + c * next.z,
            yaw: self.yaw + next.yaw,
        }
    }

    /// The way back.
    pub fn inverse(self) -> Self {
        let (s, c) = sin_cos(self.yaw);
        Self { x: -(c * self.x - s * self.z), z: -(s * self.x + c * self.z), yaw: -self.yaw }
    }

    /// The constant twist that leads here in `seconds`; none where they are too few to tell. No twist turns a full
    /// circle and ends elsewhere: near such a turn it is bounded instead of exact.
    pub fn log(self, seconds: f32) -> Twist {
        // Inverse of the matrix [sinc, cosc; -cosc, sinc] that turns velocity into displacement.
        let [a, b] = sinc_cosc(self.yaw);
        let d = (a * a + b * b).max(1e-6) * seconds;
        let twist = Twist {
            x: (a * self.x - b * self.z) / d,
            z: (b * self.x + a * self.z) / d,
            yaw: self.yaw / seconds,
        };
        if twist.x.is_finite() && twist.z.is_finite() && twist.yaw.is_finite() {
            twist
        } else {
            Twist::default()
        }
    }

    /// Itself, `count` times in a row.
    fn times(self, mut count: u32) -> Self {
        let (mut all, mut doubled) = (Self::default(), self);
        while count > 0 {
            if count & 1 == 1 {
                all = all.then(doubled);
            }
            doubled = doubled.then(doubled);
            count >>= 1;
        }
        all
    }
}

impl Twist {
    /// Displacement after `seconds` at this twist.
    pub fn exp(self, seconds: f32) -> Planar {
        let yaw = self.yaw * seconds;
        let [a, b] = sinc_cosc(yaw);
        let (x, z) = (self.x * seconds, self.z * seconds);
        Planar { x: a * x + b * z, z: a * z - b * x, yaw }
    }
}

/// Sums and products only, so that every platform gives the same bits; any angle.
fn sin_cos(angle: f32) -> (f32, f32) {
    let turns = (angle * (0.5 / PI) + 0.5).floor();
    let a = angle - turns * (2.0 * PI);
    // Halved twice for the polynomial, doubled back by the double-angle formulas.
    let u = a * 0.25;
    let u2 = u * u;
    let s =
        u * (1.0 + u2 * (-1.666_666_7e-1 + u2 * (8.333_333e-3 + u2 * (-1.984_127e-4 + u2 * 2.755_731_9e-6))));
    let c = 1.0 + u2 * (-0.5 + u2 * (4.166_666_6e-2 + u2 * (-1.388_888_9e-3 + u2 * 2.480_158_7e-5)));
    let (s, c) = (2.0 * s * c, c * c - s * s);
    (2.0 * s * c, c * c - s * s)
}

/// `sin y / y` and `(1 - cos y) / y`; by series for small turns, where the difference would lose its digits.
fn sinc_cosc(yaw: f32) -> [f32; 2] {
    let y2 = yaw * yaw;
    if y2 < 0.25 {
        let a = 1.0 - y2 * (1.0 / 6.0 - y2 * (1.0 / 120.0 - y2 * (1.0 / 5040.0)));
        let b = yaw * (0.5 - y2 * (1.0 / 24.0 - y2 * (1.0 / 720.0 - y2 * (1.0 / 40320.0))));
        return [a, b];
    }
    let (s, c) = sin_cos(yaw);
    [s / yaw, (1.0 - c) / yaw]
}

/// Root motion of one clip.
#[derive(Clone, Debug, PartialEq)]
pub struct RootMotion {
    /// One per key interval.
    twists: Vec<Twist>,
    /// Pose at each key relative to the first, one more than `twists`.
    keys: Vec<Planar>,
    duration: f32,
    constant: Option<Twist>,
}

/// Fastest travel, leg lengths per second, and turn, radians per second: half a turn between any two keys is slower.
/// A frame's products stay finite below, at any speed of play and for any body.
const FASTEST: [f32; 3] = [1e6, 1e6, 1e3];

impl RootMotion {
    /// False if it is not finite, or faster than a frame can tell.
    pub(super) fn is_bounded(&self) -> bool {
        let bounded =
            |twist: &Twist| [twist.x, twist.z, twist.yaw].iter().zip(FASTEST).all(|(v, most)| v.abs() < most);
        self.twists.iter().all(bounded)
    }

    /// From poses at evenly spaced keys (`[x, z, yaw]`, leg lengths and unwrapped radians).
    pub(crate) fn from_keys(poses: &[[f64; 3]], duration: f64) -> Self {
        let duration = duration as f32;
        let step = duration / (poses.len().max(2) - 1) as f32;
        let mut twists = Vec::new();
        for pair in poses.windows(2) {
            let [[x0, z0, yaw0], [x1, z1, yaw1]] = [pair[0], pair[1]];
            let (s, c) = yaw0.sin_cos();
            let (dx, dz, dyaw) = (x1 - x0, z1 - z0, yaw1 - yaw0);
            let local = Planar { x: (c * dx - s * dz) as f32, z: (s * dx + c * dz) as f32, yaw: dyaw as f32 };
            twists.push(local.log(step));
        }
        Self::from_twists(twists, duration)
    }

    /// From one twist per key interval; all else follows from them.
    pub(super) fn from_twists(twists: Vec<Twist>, duration: f32) -> Self {
        let step = duration / twists.len().max(1) as f32;
        let mut keys = vec![Planar::default()];
        for twist in &twists {
            keys.push(keys[keys.len() - 1].then(twist.exp(step)));
        }
        let constant = twists.first().copied().filter(|first| {
            twists.iter().all(|t| {
                (t.x - first.x).abs() < 1e-4
                    && (t.z - first.z).abs() < 1e-4
                    && (t.yaw - first.yaw).abs() < 1e-4
            })
        });
        Self { twists, keys, duration, constant }
    }

    /// One per key interval.
    pub fn twists(&self) -> &[Twist] {
        &self.twists
    }

    /// Pose at the last key in the axes of the first.
    pub(super) fn end(&self) -> Planar {
        self.keys.last().copied().unwrap_or_default()
    }

    /// The one twist of the whole clip, if it is one.
    pub fn constant(&self) -> Option<Twist> {
        self.constant
    }

    /// Pose at `time` in the axes of the clip's first key; held before and after.
    pub fn at(&self, time: f32) -> Planar {
        let time = time.clamp(0.0, self.duration);
        if let Some(twist) = self.constant {
            return twist.exp(time);
        }
        if self.twists.is_empty() {
            return Planar::default();
        }
        let step = self.duration / self.twists.len() as f32;
        let key = ((time / step) as usize).min(self.twists.len() - 1);
        self.keys[key].then(self.twists[key].exp(time - key as f32 * step))
    }

    /// The twist at a time of the clip: that of the key interval it lies in.
    #[must_use]
    pub fn twist(&self, time: f32) -> Twist {
        if let Some(twist) = self.constant {
            return twist;
        }
        let Some(step) = self.step() else { return Twist::default() };
        // Saturating, and NaN counts as the first.
        let key = ((time / step) as usize).min(self.twists.len() - 1);
        self.twists[key]
    }

    /// Seconds between keys, the twist being constant in between; none where it is constant all through.
    #[must_use]
    pub fn varies_every(&self) -> Option<f32> {
        if self.constant.is_some() { None } else { self.step() }
    }

    fn step(&self) -> Option<f32> {
        (!self.twists.is_empty() && self.duration > 0.0).then(|| self.duration / self.twists.len() as f32)
    }

    /// Displacement from clip time `from` over `elapsed` seconds of clip time (either sign), in the axes of where
    /// it starts. A loop runs on over its ends; another clip stops there. None if the times are not finite.
    pub fn displacement(&self, from: f32, elapsed: f32, looping: bool) -> Planar {
        if !(from + elapsed).is_finite() {
            return Planar::default();
        }
        if let (Some(twist), true) = (self.constant, looping) {
            return twist.exp(elapsed);
        }
        if !looping || self.duration <= 0.0 {
            let from = from.clamp(0.0, self.duration);
            return self.way(from, elapsed.clamp(-from, self.duration - from));
        }
        // A step over many cycles takes no longer than one over few.
        let (time, cycle) = (f64::from(from) + f64::from(elapsed), f64::from(self.duration));
        let rounds = (time / cycle).floor();
        if rounds == 0.0 {
            return self.way(from, elapsed);
        }
        let whole = self.at(self.duration);
        let count = (rounds.abs() - 1.0).min(f64::from(u32::MAX)) as u32;
        let rest = (time - rounds * cycle) as f32;
        if rounds > 0.0 {
            self.way(from, self.duration - from).then(whole.times(count)).then(self.way(0.0, rest))
        } else {
            let back = whole.inverse().times(count);
            self.way(from, -from).then(back).then(self.way(self.duration, rest - self.duration))
        }
    }

    /// Within the clip. Partial keys go by their twists, and by what is left of `elapsed`: differences of places or
    /// times at either end are rounded, always to the same side if frames are as long as each other.
    fn way(&self, from: f32, elapsed: f32) -> Planar {
        if let Some(twist) = self.constant {
            return twist.exp(elapsed);
        }
        if elapsed < 0.0 {
            return self.way((from + elapsed).max(0.0), -elapsed).inverse();
        }
        let Some(step) = self.step() else { return Planar::default() };
        let last = self.twists.len() - 1;
        let key = |time: f32| ((time / step) as usize).min(last);
        let (first, end) = (key(from), key(from + elapsed));
        if first >= end {
            return self.twists[first].exp(elapsed);
        }
        let begun = (first + 1) as f32 * step - from;
        let mut way = self.twists[first].exp(begun);
        if end > first + 1 {
            way = way.then(self.keys[first + 1].inverse().then(self.keys[end]));
        }
        way.then(self.twists[end].exp(elapsed - begun - (end - first - 1) as f32 * step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_undoes_exp() {
        for twist in [
            Twist { x: 0.3, z: 1.2, yaw: 0.8 },
            Twist { x: -0.1, z: 2.0, yaw: -2.9 },
            Twist { x: 0.5, z: 0.0, yaw: 0.0 },
        ] {
            let back = twist.exp(0.7).log(0.7);
            assert!((back.x - twist.x).abs() < 1e-5, "{back:?} {twist:?}");
            assert!((back.z - twist.z).abs() < 1e-5, "{back:?} {twist:?}");
            assert!((back.yaw - twist.yaw).abs() < 1e-5, "{back:?} {twist:?}");
        }
    }

    #[test]
    fn own_sine_and_cosine_agree_with_double_precision() {
        for i in -2000..2000 {
            let a = i as f32 * 0.01;
            let (s, c) = sin_cos(a);
            assert!((f64::from(s) - f64::from(a).sin()).abs() < 3e-6, "sin {a}");
            assert!((f64::from(c) - f64::from(a).cos()).abs() < 3e-6, "cos {a}");
        }
    }

    #[test]
    fn quarter_turn_to_the_left_between_two_metres_ends_at_one_one() {
        // Ahead 1, turn 90 degrees to the left, ahead 1, in many keys.
        let mut poses = Vec::new();
        for i in 0..=30 {
            let u = f64::from(i) / 10.0;
            poses.push(match u {
                u if u <= 1.0 => [0.0, u, 0.0],
                u if u <= 2.0 => [0.0, 1.0, (u - 1.0) * core::f64::consts::FRAC_PI_2],
                u => [u - 2.0, 1.0, core::f64::consts::FRAC_PI_2],
            });
        }
        let motion = RootMotion::from_keys(&poses, 3.0);
        for dt in [1.0f32 / 60.0, 1.0 / 37.0, 0.3, 1.0] {
            let mut pose = Planar::default();
            let mut t = 0.0f32;
            while t < 3.0 {
                let step = dt.min(3.0 - t);
                pose = pose.then(motion.displacement(t, step, false));
                t += step;
            }
            assert!((pose.x - 1.0).abs() < 1e-4 && (pose.z - 1.0).abs() < 1e-4, "{dt}: {pose:?}");
            assert!((pose.yaw - PI / 2.0).abs() < 1e-4, "{dt}: {pose:?}");
        }
    }

    #[test]
    fn a_step_over_many_cycles_is_as_many_times_one_cycle() {
        // Ahead and a little to the left, unevenly, so that there is no single twist.
        let poses: Vec<[f64; 3]> =
            (0..=20).map(|i| f64::from(i) / 20.0).map(|u| [0.0, u * u, 1e-3 * u]).collect();
        let motion = RootMotion::from_keys(&poses, 1.0);
        for (from, elapsed) in [(0.25f32, 100.5f32), (0.75, -100.5)] {
            let (cycles, rest) = (elapsed.trunc(), elapsed.fract());
            let mut one_by_one = motion.displacement(from, rest, true);
            for cycle in 0..cycles.abs() as i32 {
                let at = (from + rest).rem_euclid(1.0);
                assert!(cycle < 100);
                one_by_one = one_by_one.then(motion.displacement(at, cycles.signum(), true));
            }
            let at_once = motion.displacement(from, elapsed, true);
            assert!((at_once.x - one_by_one.x).abs() < 2e-3, "{at_once:?} {one_by_one:?}");
            assert!((at_once.z - one_by_one.z).abs() < 2e-3, "{at_once:?} {one_by_one:?}");
            assert!((at_once.yaw - one_by_one.yaw).abs() < 1e-4, "{at_once:?} {one_by_one:?}");
        }
    }

    #[test]
    fn any_step_of_any_length_ends_with_finite_travel() {
        let poses: Vec<[f64; 3]> = (0..=20).map(|i| [0.0, (f64::from(i) / 20.0).powi(2), 0.0]).collect();
        let motion = RootMotion::from_keys(&poses, 1.0 / 240.0);
        for elapsed in [1e6f32, -1e6, 1e30, f32::MAX, f32::INFINITY, f32::NAN, 1e-40] {
            let way = motion.displacement(0.0, elapsed, true);
            assert!(way.x.is_finite() && way.z.is_finite() && way.yaw.is_finite(), "{elapsed}: {way:?}");
        }
    }

    #[test]
    fn no_twist_is_infinite() {
        let full = Planar { x: 1.0, z: 1.0, yaw: 2.0 * PI };
        for (way, seconds) in [(full, 1.0), (full, 1e-40), (full, 0.0), (Planar { yaw: 0.0, ..full }, 1e-40)]
        {
            let twist = way.log(seconds);
            assert!([twist.x, twist.z, twist.yaw].iter().all(|v| v.is_finite()), "{twist:?}");
        }
    }

    #[test]
    fn a_loop_goes_on_over_its_end_and_backwards() {
        let poses: Vec<[f64; 3]> = (0..=20).map(|i| [0.0, (f64::from(i) / 20.0).powi(2), 0.0]).collect();
        let motion = RootMotion::from_keys(&poses, 1.0);
        let ahead = motion.displacement(0.9, 0.4, true);
        assert!((ahead.z - (1.0 - 0.81 + 0.09)).abs() < 1e-3, "{ahead:?}");
        let back = motion.displacement(0.3, -0.4, true);
        assert!((back.z + (1.0 - 0.81 + 0.09)).abs() < 1e-3, "{back:?}");
    }
}
