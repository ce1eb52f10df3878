//! Two bones in closed form, and how far they reach. All in model axes, metres.

use crate::crowd::scratch::LegRows;
use crate::lanes::{Lanes, Quat, Vec3, exp_neg};

/// Softness of the reach, of the leg's length.
const SOFTNESS: f32 = 0.03;
/// A leg counts as straight where the knee is off the line from hip to ankle by less, of the thigh's length.
const STRAIGHT: f32 = 0.02;
/// Where the knee of a straight leg points, in the thigh's reference axes.
const FRONT: [f32; 3] = [0.0, 1e-3, 1.0];

/// One animated leg.
#[derive(Clone, Copy)]
pub(super) struct Bones<L: Lanes> {
    /// From hip to knee and from knee to ankle.
    upper: Vec3<L>,
    lower: Vec3<L>,
    /// Unit, from hip to ankle.
    direction: Vec3<L>,
    pub thigh: L,
    pub shin: L,
    /// Never gone beyond.
    cap: L,
    /// Reached without being softened: at least as far as the animation goes.
    pub free: L,
}

impl<L: Lanes> Bones<L> {
    /// Where there is no leg.
    #[inline(always)]
    pub fn none() -> Self {
        let (zero, none) = (L::zero(), Vec3::zero());
        Self { upper: none, lower: none, direction: none, thigh: zero, shin: zero, cap: zero, free: zero }
    }

    #[inline(always)]
    pub fn of(rows: &LegRows, at: usize) -> Self {
        let (hip, knee, ankle) =
            (Vec3::<L>::load(&rows.hip, at), Vec3::load(&rows.knee, at), Vec3::load(&rows.ankle, at));
        let (upper, lower, way) = (knee.minus(hip), ankle.minus(knee), ankle.minus(hip));
        let (thigh, shin, animated) = (upper.safe_length(), lower.safe_length(), way.safe_length());
        let whole = thigh + shin;
        let cap = (whole * L::splat(0.9995)).max(animated.min(whole));
        let free = animated.clamp(L::splat(SOFTNESS).neg_mul_add(whole, cap), cap);
        Self { upper, lower, direction: way.scale(L::one() / animated), thigh, shin, cap, free }
    }

    /// Distance of the solved ankle from the hip for a target `d` away: unchanged up to `free`, then ever less, the
    /// slope continuous, never past `cap`.
    #[inline(always)]
    fn soften(&self, d: L) -> L {
        let room = self.cap - self.free;
        let hard = room.lt(L::splat(1e-6));
        let safe = L::select(hard, L::one(), room);
        let over = (d - self.free).max(L::zero());
        let soft = safe.mul_add(L::one() - exp_neg(over / safe), self.free);
        let beyond = L::select(hard, d.min(self.cap), soft);
        let reached = L::select(self.free.lt(d), beyond, d);
        let folded = (self.thigh - self.shin).abs().mul_add(L::splat(1.001), L::splat(1e-4));
        reached.max(folded)
    }
}

pub(super) struct Solved<L: Lanes> {
    /// Model rotations.
    pub thigh: Quat<L>,
    pub shin: Quat<L>,
}

/// Two bones in closed form: the leg is swung whole from the animated to the wanted direction, then bent in the plane
/// of the animated knee. No trigonometry.
#[inline(always)]
pub(super) fn two_bones<L: Lanes>(
    bones: &Bones<L>,
    rows: &LegRows,
    goal: Vec3<L>,
    moved: Vec3<L>,
    at: usize,
) -> Solved<L> {
    let (thigh, shin) = (Quat::load(&rows.thigh, at), Quat::load(&rows.shin, at));
    let Bones { upper, lower, direction: animated, .. } = *bones;
    let hip = Vec3::load(&rows.hip, at);
    let way = goal.minus(hip.plus(moved));
    let d = way.safe_length();
    // A target on the hip itself has no direction: keep the animated one.
    let direction = Vec3::select(d.lt(L::splat(1e-4)), animated, way.scale(L::one() / d));
    let d = bones.soften(d);

    let swing = Quat::between(animated, direction);
    let bent = upper.reject(animated);
    // Straight: the side that the thigh's own front (+Z of the reference pose) shows, faded in; a hair upward, so
    // that a thigh that lies along +Z has a side too.
    let front = thigh.rotate(Vec3::splat(FRONT)).reject(animated);
    let line = bones.thigh * L::splat(STRAIGHT);
    let fade = (L::one() - bent.length_squared() / (line * line)).clamp(L::zero(), L::one());
    // Both can all but cancel: scaled up, so that the little that is left counts, and square to the way.
    let side = front.scale_add(fade * line, bent).scale(L::splat(1e4));
    let pole = swing.rotate(side).reject(direction).normalize();

    let two_d = d + d;
    let thigh_squared = bones.thigh * bones.thigh;
    let x = (thigh_squared - bones.shin * bones.shin + d * d) / two_d;
    let height = (thigh_squared - x * x).max(L::zero()).sqrt();
    let new_upper = pole.scale_add(height, direction.scale(x));
    let new_lower = direction.scale(d).minus(new_upper);
    // Both thighs are as long as the thigh, by construction; a shin that does not close the triangle is not.
    let per_thigh = L::one() / bones.thigh;
    let first = Quat::between(swing.rotate(upper).scale(per_thigh), new_upper.scale(per_thigh)).times(swing);
    let second =
        Quat::between(first.rotate(lower).scale(L::one() / bones.shin), new_lower.normalize()).times(first);
    Solved { thigh: first.times(thigh), shin: second.times(shin) }
}

#[cfg(test)]
mod tests {
    use glam::{DQuat, DVec3};

    use super::*;
    use crate::lanes::{Portable, Row};

    type L = Portable;

    fn first(v: L) -> f64 {
        let mut row = Row::ZERO;
        v.store(&mut row, 0);
        f64::from(row.0[0])
    }

    /// C49: cap 0.90, softness 0.02; unchanged below, then `cap - s exp(-(d - cap + s) / s)`.
    #[test]
    fn the_soft_reach_takes_the_published_values_and_never_passes_the_cap() {
        let bones = Bones::<L> {
            thigh: L::splat(0.45),
            shin: L::splat(0.45),
            cap: L::splat(0.90),
            free: L::splat(0.88),
            ..Bones::none()
        };
        let at = |d: f32| first(bones.soften(L::splat(d)));
        for (d, right) in [(0.86, 0.86), (0.88, 0.88), (0.90, 0.892_642), (1.0, 0.899_95), (1.2, 0.9)] {
            assert!((at(d) - right).abs() < 2e-6, "{d}: {} for {right}", at(d));
        }
        let mut last = 0.0;
        for step in 0..2000 {
            let reach = at(0.2 + step as f32 * 0.001);
            assert!(reach >= last && reach <= 0.9 + 1e-6, "{step}: {reach} after {last}");
            last = reach;
        }
    }

    /// Hip at the origin, knee and ankle as given; the ankle that the solved rotations lead to.
    fn solved(knee: DVec3, ankle: DVec3, goal: DVec3) -> (DVec3, DVec3) {
        let row = |v: f64| Row::splat(v as f32);
        let rows3 = |v: DVec3| [row(v.x), row(v.y), row(v.z)];
        let identity = [Row::ZERO, Row::ZERO, Row::ZERO, Row::ONE];
        let rows = LegRows {
            knee: rows3(knee),
            ankle: rows3(ankle),
            thigh: identity,
            shin: identity,
            ..LegRows::default()
        };
        let [x, y, z] = [goal.x, goal.y, goal.z].map(|v| L::splat(v as f32));
        let result = two_bones::<L>(&Bones::of(&rows, 0), &rows, Vec3::new(x, y, z), Vec3::zero(), 0);
        let q = |q: Quat<L>| DQuat::from_xyzw(first(q.x), first(q.y), first(q.z), first(q.w));
        let knee_at = q(result.thigh) * knee;
        (knee_at, knee_at + q(result.shin) * (ankle - knee))
    }

    const KNEE: DVec3 = DVec3::new(0.01, -0.43, 0.09);
    const ANKLE: DVec3 = DVec3::new(0.02, -0.86, -0.03);

    /// C45: neither hip, knee and ankle nor the hint lie in one plane with the goal.
    #[test]
    fn a_goal_out_of_the_plane_of_the_leg_is_reached() {
        let leg = KNEE.length() + (ANKLE - KNEE).length();
        for goal in [DVec3::new(0.3, -0.55, 0.25), DVec3::new(-0.4, -0.6, -0.2), DVec3::new(0.1, -0.3, 0.5)] {
            let (knee, ankle) = solved(KNEE, ANKLE, goal);
            assert!(ankle.distance(goal) < 1e-4 * leg, "{goal}: {ankle}");
            assert!((knee.length() - KNEE.length()).abs() < 1e-6);
            // The knee stays on the side that it was animated on, turned along with the leg.
            let along = DQuat::from_rotation_arc(ANKLE.normalize(), goal.normalize());
            let side = along * (KNEE - ANKLE * (KNEE.dot(ANKLE) / ANKLE.length_squared()));
            let bend = knee - goal * (knee.dot(goal) / goal.length_squared());
            assert!(bend.normalize().dot(side.normalize()) > 0.999, "{goal}: {bend} for {side}");
        }
    }

    /// C48: 0.2 m out of reach and not stretched.
    #[test]
    fn beyond_reach_bones_keep_their_length_and_the_foot_lies_on_the_way_to_the_goal() {
        let goal = DVec3::new(0.5, -0.8, 0.5).normalize() * (KNEE.length() + (ANKLE - KNEE).length() + 0.2);
        let (knee, ankle) = solved(KNEE, ANKLE, goal);
        assert!((knee.length() - KNEE.length()).abs() < 1e-5);
        assert!((ankle.distance(knee) - ANKLE.distance(KNEE)).abs() < 1e-5);
        assert!(ankle.normalize().dot(goal.normalize()) > 1.0 - 1e-9, "{ankle} {goal}");
    }
}
