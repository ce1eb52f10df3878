//! Native rotations of live sources to local deltas: transpose to lanes, change basis, multiply out what the skeletons
//! have more or less of.
//!
//! ```text
//! slices, each anywhere    | joint 0 x y z w | joint 1 | joint 2 | joint 3 | joint 4 | ...      a line is four joints
//! 16 lines                 -> transpose -> 4 joints x (x y z w) rows -> basis -> register of the joint
//! a buffer, 16 beside      | joint 0 of 16 lanes | joint 1 of 16 lanes | ...                    four rows are a joint
//! 4 rows                   -> split -> (x y z w) rows -> basis -> register of the joint
//! steps                    register x register -> register
//! ```
//!
//! 16-bit rotations are multiplied as they are: two 32-bit words a joint, a line is eight joints, the matrices are integers,
//! and one multiplication at the end makes the result both a number and of unit length.
//!
//! Lanes whose sources differ are brought in by one pass per map, each writing its own lanes only.

mod native;
mod packed;
mod told;
mod whole;

use crate::crowd::scratch::Scratch;
use crate::lanes::{BLOCK, Lanes, Quat, Row, per_isa};
use crate::retarget::live::{Input, LiveMap, Operand, POWER_TERMS, Step};
pub(crate) use native::{Native, Streamed, Travels};

/// What the squared length of a rotation may be off 1.
pub(crate) const LOOSE: f32 = 5e-3;

/// Farther than that single precision is no help to anyone, metres.
pub(crate) const FAR: f32 = 1e6;

/// Which lanes a pass may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All: of those that are not its own nobody sees a pose in this frame.
    Block,
    /// Its own.
    Own,
}

per_isa! {
    /// Fills rotations up to `joints`, pelvis and contacts of `scratch` for the lanes of `streamed`. Sets `good` for those
    /// whose position and rotations are some; the others' rotations are left at the reference pose.
    pub(crate) fn live(map: &LiveMap, streamed: &Streamed<'_>, reach: Reach, joints: usize, good: &mut Row, scratch: &mut Scratch) = live_kernel;
}

#[inline(always)]
fn live_kernel<L: Lanes>(
    map: &LiveMap,
    streamed: &Streamed<'_>,
    reach: Reach,
    joints: usize,
    good: &mut Row,
    scratch: &mut Scratch,
) {
    told::place::<L>(map, streamed, reach, good, scratch);
    let registers = &mut scratch.rotations[..map.topology().len() + map.temporaries];
    if streamed.packed {
        packed::bring_all_in::<L>(map, streamed, reach, joints, good, registers);
    } else {
        whole::bring_all_in::<L>(map, streamed, reach, joints, good, registers);
    }
    for step in &map.steps {
        match *step {
            Step::Copy { from, out } => {
                for at in (0..BLOCK).step_by(L::N) {
                    let q = operand::<L>(registers, from, at);
                    put(q, registers, out as usize, Pass { streamed, reach, joints, at });
                }
            }
            Step::Times { left, right, out } => {
                for at in (0..BLOCK).step_by(L::N) {
                    let q = operand::<L>(registers, left, at).times(operand(registers, right, at));
                    put(q, registers, out as usize, Pass { streamed, reach, joints, at });
                }
            }
            Step::Power { from, ref series, out } => {
                for at in (0..BLOCK).step_by(L::N) {
                    let q = power(operand::<L>(registers, from, at), series);
                    put(q, registers, out as usize, Pass { streamed, reach, joints, at });
                }
            }
        }
    }
    for &joint in &map.still {
        if usize::from(joint) < joints {
            for at in (0..BLOCK).step_by(L::N) {
                put(Quat::<L>::identity(), registers, joint.into(), Pass { streamed, reach, joints, at });
            }
        }
    }
    let rooted = if streamed.travels.is_some() { map.rooted.as_slice() } else { &[] };
    let back = streamed.travels.map_or(&NO_TURN, |travels| travels.back);
    for &joint in rooted {
        for at in (0..BLOCK).step_by(L::N) {
            let q = Quat::<L>::load(back, at).times(Quat::load(&registers[usize::from(joint)], at));
            put(q, registers, joint.into(), Pass { streamed, reach, joints, at });
        }
    }
    // What is not finite must not stay: nothing later looks.
    if !good.same(&streamed.own) {
        for rows in &mut registers[..joints] {
            for at in (0..BLOCK).step_by(L::N) {
                let own = L::splat(0.5).lt(L::load(&streamed.own, at));
                let bad = L::and(own, L::load(good, at).lt(L::splat(0.5)));
                Quat::select(bad, Quat::<L>::identity(), Quat::load(rows, at)).store(rows, at);
            }
        }
    }
}

/// No rotation in any lane.
pub(crate) const NO_TURN: [Row; 4] = [Row::ZERO, Row::ZERO, Row::ZERO, Row::ONE];

/// What all writes of a pass have in common.
#[derive(Clone, Copy)]
struct Pass<'a> {
    streamed: &'a Streamed<'a>,
    reach: Reach,
    joints: usize,
    at: usize,
}

/// Most parts of a block: of four lanes each.
const MOST: usize = BLOCK / 4;

/// True if nobody needs it.
#[inline(always)]
pub(crate) fn idle(input: &Input, joints: usize) -> bool {
    input.register == Input::NOBODY || input.register as usize >= joints && !input.shared
}

#[inline(always)]
fn operand<L: Lanes>(registers: &[[Row; 4]], operand: Operand, at: usize) -> Quat<L> {
    let q = Quat::load(&registers[operand.register as usize], at);
    if operand.inverse { q.conjugate() } else { q }
}

impl Pass<'_> {
    /// All joints, of all lanes.
    #[inline(always)]
    fn writes_all(&self, map: &LiveMap) -> bool {
        self.reach == Reach::Block && self.joints >= map.topology().len()
    }
}

/// Writes to all lanes, or as [`put`] does.
#[inline(always)]
fn write<L: Lanes, const PLAIN: bool>(
    q: Quat<L>,
    registers: &mut [[Row; 4]],
    register: usize,
    pass: Pass<'_>,
) {
    if PLAIN {
        q.store(&mut registers[register], pass.at);
    } else {
        put(q, registers, register, pass);
    }
}

/// Temporaries are nobody's; joints belong to lanes.
#[inline(always)]
fn put<L: Lanes>(q: Quat<L>, registers: &mut [[Row; 4]], register: usize, pass: Pass<'_>) {
    let rows = &mut registers[register];
    if pass.reach == Reach::Block || register >= pass.joints {
        q.store(rows, pass.at);
    } else {
        let own = L::splat(0.5).lt(L::load(&pass.streamed.own, pass.at));
        Quat::select(own, q, Quat::load(rows, pass.at)).store(rows, pass.at);
    }
}

/// A part of the way from the reference to `q`, the short way round; see `powers` in the map.
#[inline(always)]
fn power<L: Lanes>(q: Quat<L>, series: &[[f32; POWER_TERMS]; 2]) -> Quat<L> {
    let w = q.w.abs();
    let t = w + w - L::one();
    let two = t * t;
    let four = two * two;
    let one = sum(&series[0], t, two, four);
    let part = sum(&series[1], t, two, four);
    let share = part.flip(q.w);
    Quat::new(q.x * share, q.y * share, q.z * share, w.mul_add(part, one))
}

/// In pairs of pairs, so that little waits for the sum before it; powers of `x` are given.
#[inline(always)]
fn sum<L: Lanes>(series: &[f32; POWER_TERMS], x: L, two: L, four: L) -> L {
    let low = two.mul_add(pair(series, 2, x), pair(series, 0, x));
    let high = two.mul_add(pair(series, 6, x), pair(series, 4, x));
    four.mul_add(high, low)
}

#[inline(always)]
fn pair<L: Lanes>(series: &[f32; POWER_TERMS], k: usize, x: L) -> L {
    x.mul_add(L::splat(series[k + 1]), L::splat(series[k]))
}

#[cfg(test)]
mod tests {
    use glam::{DQuat, DVec3};

    use super::*;
    use crate::clip::{Curve, Interpolation, JointTracks, RawClip, RootSource};
    use crate::content::{self, BodyPlan, BuiltIn, RigKind};
    use crate::crowd::SnormQuat;
    use crate::lanes::{Isa, LineSources, Mode, Simd};
    use crate::retarget::{BindSource, motion_keys};
    use crate::rig::{JointKey, ReferencePose, Rig, Role};

    struct Rng(u64);

    impl Rng {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
        }
        fn turn(&mut self, most: f64) -> DQuat {
            let axis = DVec3::new(self.next(), self.next(), self.next()).normalize_or(DVec3::X);
            DQuat::from_axis_angle(axis, most * self.next())
        }
    }

    struct Body {
        built: BuiltIn,
        reference: ReferencePose,
        rig: Rig,
    }

    impl Body {
        fn of(kind: RigKind, plan: BodyPlan) -> Self {
            let built = content::character(kind, &plan);
            let reference = built.reference();
            let rig = Rig::build(&built.rig_source()).expect("rig");
            Self { built, reference, rig }
        }
        fn source(&self) -> BindSource<'_> {
            BindSource {
                skeleton: &self.built.character.skeleton,
                roles: &self.built.roles,
                reference: &self.reference,
            }
        }
        /// Native local rotations that differ from the reference by up to `most` radians a joint.
        fn pose(&self, rng: &mut Rng, most: f64) -> Vec<[f32; 4]> {
            let joints = &self.built.character.skeleton.joints;
            (0..joints.len())
                .map(|joint| {
                    let above = joints[joint]
                        .parent
                        .map_or(DQuat::IDENTITY, |parent| self.reference.rotation(parent.into()));
                    let local = above.inverse() * self.reference.rotation(joint) * rng.turn(most);
                    local.normalize().as_quat().to_array()
                })
                .collect()
        }
    }

    fn bodies() -> Vec<Body> {
        let plans = [BodyPlan::adult(), BodyPlan::tall(), BodyPlan::child(), BodyPlan::stocky()];
        RigKind::ALL.into_iter().zip(plans).map(|(kind, plan)| Body::of(kind, plan)).collect()
    }

    fn scratch(map: &LiveMap) -> Scratch {
        let mut scratch = Scratch::default();
        scratch.reserve(map.topology().len() + map.temporaries);
        scratch
    }

    /// What binding makes of a clip that holds the pose.
    fn bound(source: &Body, pose: &[[f32; 4]], rig: &Rig) -> Vec<DQuat> {
        let tracks = pose
            .iter()
            .enumerate()
            .map(|(joint, &rotation)| JointTracks {
                joint: joint as u16,
                rotation: Some(Curve {
                    times: vec![0.0],
                    values: vec![glam::Quat::from_array(rotation)],
                    interpolation: Interpolation::Linear,
                }),
                ..JointTracks::default()
            })
            .collect();
        let clip = RawClip {
            name: "pose".into(),
            duration: 0.5,
            root: RootSource::InPlace { speed: 0.0 },
            tracks,
            ..RawClip::default()
        };
        motion_keys(source.source(), &clip, rig, 30.0).expect("keys").rotations[..rig.topology().len()]
            .to_vec()
    }

    fn lane(scratch: &Scratch, joint: usize, lane: usize) -> DQuat {
        let [x, y, z, w] = scratch.rotations[joint].map(|row| f64::from(row.0[lane]));
        DQuat::from_xyzw(x, y, z, w)
    }

    /// Angle between two rotations, told by the vector part: an arc of a cosine near 1 is noise.
    fn apart(a: DQuat, b: DQuat) -> f64 {
        let d = a.inverse() * b;
        2.0 * d.xyz().length().atan2(d.w.abs())
    }

    /// Lane, joint and radians that the kernel is off `right`, on every instruction set.
    fn off(
        map: &LiveMap,
        runs: &[&[f32]; BLOCK],
        packed: bool,
        right: &[Vec<DQuat>],
    ) -> Vec<(usize, usize, f64)> {
        let now = LineSources::new(runs).expect("a line");
        let poses = Native::Lines { now: &now, next: None };
        let (position, contacts) = (&[Row::ZERO; 3], &[Row::ZERO; 2]);
        let (leg, own) = (&Row::ONE, Row::ONE);
        let streamed = Streamed { poses, packed, position, contacts, leg, own, travels: None };
        let mut all = Vec::new();
        for &isa in Isa::available() {
            let mut scratch = scratch(map);
            let mut good = Row::ZERO;
            let joints = map.topology().len();
            live(Simd::new(isa, Mode::Fast), map, &streamed, Reach::Block, joints, &mut good, &mut scratch);
            assert_eq!(good, Row::ONE);
            for (at, right) in right.iter().enumerate() {
                for (joint, &right) in right.iter().enumerate() {
                    let have = lane(&scratch, joint, at);
                    assert!((have.length() - 1.0).abs() < 1e-6);
                    all.push((at, joint, apart(have, right)));
                }
            }
        }
        all
    }

    fn twists(rig: &Rig) -> Vec<JointKey> {
        let twist = |key: &&JointKey| matches!(key, JointKey::Role(Role::Twist(..)));
        rig.topology().keys().iter().filter(twist).cloned().collect()
    }

    #[test]
    fn lanes_give_what_binding_gives() {
        let bodies = bodies();
        let mut rng = Rng(1);
        let mut steps = 0;
        for source in &bodies {
            for target in &bodies {
                // Binding shares twist onto joints that the source lacks; streams leave those with their parents.
                if twists(&source.rig) != twists(&target.rig) {
                    continue;
                }
                let map = LiveMap::build(source.source(), &target.rig).expect("map");
                steps += map.steps();
                let poses: Vec<_> = (0..BLOCK).map(|lane| source.pose(&mut rng, 0.2 * lane as f64)).collect();
                let right: Vec<_> = poses.iter().map(|pose| bound(source, pose, &target.rig)).collect();
                let runs: [&[f32]; BLOCK] = core::array::from_fn(|lane| poses[lane].as_flattened());
                for (at, joint, off) in off(&map, &runs, false, &right) {
                    assert!(off < 2e-6, "lane {at}, joint {joint}: {off:e}");
                }
                let small: Vec<Vec<SnormQuat>> =
                    poses.iter().map(|pose| pose.iter().map(|&q| SnormQuat::new(q)).collect()).collect();
                let runs: [&[f32]; BLOCK] = core::array::from_fn(|lane| bytemuck::cast_slice(&small[lane]));
                let mut squares = (0.0, 0.0);
                for (at, joint, off) in off(&map, &runs, true, &right) {
                    // A product of up to eight is as far off as they are together.
                    let direct = !map.steps.iter().any(|step| step.out() as usize == joint);
                    assert!(off < if direct { 1.5e-4 } else { 6e-4 }, "lane {at}, joint {joint}: {off:e}");
                    if direct {
                        squares = (squares.0 + off * off, squares.1 + 1.0);
                    }
                }
                let mean = (squares.0 / squares.1).sqrt();
                assert!((1e-5..4.5e-5).contains(&mean), "{mean:e} rad");
            }
        }
        assert!(steps > 20, "chains of other joint counts were among them: {steps}");
    }
}
