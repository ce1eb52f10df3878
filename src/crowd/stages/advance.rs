//! Clocks, events and root motion: every character, every frame, at any level of detail.
//!
//! ```text
//! gather    heads of the clips in the slots             -> durations, twists, which lanes need care
//! clocks    times on by speed x dt, or by the shared phase
//! events    what the clocks have passed                 -> buffer
//! travel    plain lanes in lanes: one SE(2) exponential; lanes whose twists or weights change: `travel`, lane by lane
//! root      displacement onto the world transform
//! ```
//!
//! Sums over frames (times, phases, positions, rotations) keep what they lose to rounding, so that a minute comes out
//! the same in 180 frames or 14 400.

use core::f32::consts::PI;

use super::layer_clocks::advance_layers;
use super::travel;
use crate::crowd::block::{Block, ClipRows, MAX_CLIPS, lanes_of, put_bit};
use crate::crowd::events::EventSink;
use crate::crowd::library::{Library, hot};
use crate::lanes::{BLOCK, Lanes, Quat, Row, Simd, Vec3, per_isa, sin_cos_small};

/// How the world root moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drive {
    /// By root motion.
    Clips,
    /// By the host; displacements are only reported.
    Host,
}

/// One clip slot of a block in this frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlotClock {
    /// What the heads of the clips tell, by [`hot`].
    heads: [Row; BLOCK],
    /// Duration, or twice of it for those that go to and fro.
    pub cycle: Row,
    /// 1 where the clock runs round.
    wraps: Row,
    /// 1 where it follows the shared phase.
    synced: Row,
    /// Time before the frame.
    pub from: Row,
    /// Clip seconds that pass in the frame.
    pub moved: Row,
    /// 1 where an event may have been passed.
    passed: Row,
}

impl SlotClock {
    /// Seconds.
    pub fn duration(&self) -> &Row {
        &self.heads[hot::DURATION]
    }
}

impl Default for SlotClock {
    fn default() -> Self {
        Self {
            heads: [Row::ZERO; BLOCK],
            cycle: Row::ONE,
            wraps: Row::ZERO,
            synced: Row::ZERO,
            from: Row::ZERO,
            moved: Row::ZERO,
            passed: Row::ZERO,
        }
    }
}

/// Scratch of the stage.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    pub slots: [SlotClock; MAX_CLIPS],
    /// Displacement of the frame, leg lengths and radians.
    way: [Row; 3],
}

/// Moves the clocks of a block on by `dt`, its roots by the weighted motion of their clips, and tells `events` what was
/// passed.
pub(crate) fn advance(
    simd: Simd,
    block: &mut Block,
    dt: f32,
    drive: Drive,
    library: &Library,
    clocks: &mut Clocks,
    events: &mut EventSink,
) {
    let slots = usize::from(block.clip_slots).min(MAX_CLIPS);
    let mut special = block.fading | block.transitions;
    let (mut synced, mut eventful) = (0, 0);
    for rows in &block.clips[..slots] {
        special |= rows.varying;
        synced |= rows.synced;
        eventful |= rows.eventful;
    }
    clock_rows(simd, block, library, slots, dt, synced != 0, clocks);
    if synced != 0 {
        warp(block, slots, library, clocks);
    }
    if eventful != 0 {
        for slot in 0..slots {
            let SlotClock { passed, from, moved, .. } = &clocks.slots[slot];
            let rows = &block.clips[slot];
            let mut lanes = rows.eventful & (rows.ping_pong | rows.warped);
            for (lane, &passed) in passed.0.iter().enumerate() {
                lanes |= u16::from(passed > 0.5) << lane;
            }
            events.passed(block, slot, lanes & rows.eventful, (from, moved), dt, library);
        }
    }
    for (rows, clock) in block.clips.iter().zip(&mut clocks.slots[..slots]) {
        if rows.ping_pong != 0 {
            fold_ways(rows, clock);
        }
    }
    travel_rows(simd, block, slots, clocks);
    for lane in lanes_of(special & block.live) {
        let way = travel::travel(block, lane, &clocks.slots[..slots], library, dt);
        for (row, value) in clocks.way.iter_mut().zip([way.x, way.z, way.yaw]) {
            row.0[lane] = value;
        }
    }
    root_rows(simd, block, dt, drive, clocks);
    if block.layered != 0 {
        advance_layers(block, dt, library, events);
    }
    if block.fading | block.transitions != 0 {
        end_changes(block, dt);
    }
}

/// Bits as 0 and 1.
#[inline(always)]
fn spread(bits: u16) -> Row {
    Row(core::array::from_fn(|lane| f32::from(bits >> lane & 1)))
}

/// What the heads of the clips in one slot tell, one row per value.
#[inline(always)]
fn gather<L: Lanes>(rows: &ClipRows, library: &Library, clock: &mut SlotClock) {
    let mut heads = [Row::ZERO; BLOCK];
    for (head, &clip) in heads.iter_mut().zip(&rows.clip) {
        // An empty slot holds a clip that is there, since some lane plays.
        *head = *library.hot(clip);
    }
    L::transpose(&heads, &mut clock.heads);
    clock.cycle = clock.heads[hot::DURATION];
    for lane in lanes_of(rows.ping_pong) {
        clock.cycle.0[lane] *= 2.0;
    }
    clock.wraps = spread(rows.loops | rows.ping_pong);
}

per_isa! {
    fn clock_rows(block: &mut Block, library: &Library, slots: usize, dt: f32, synced: bool, clocks: &mut Clocks) = clock_kernel;
}

/// `sum + step`, and what the sum has lost; see Kahan, "Further remarks on reducing truncation errors", 1965.
#[inline(always)]
fn kahan<L: Lanes>(sum: L, lost: L, step: L) -> (L, L) {
    let step = step - lost;
    let next = sum + step;
    (next, (next - sum) - step)
}

#[inline(always)]
fn clock_kernel<L: Lanes>(
    block: &mut Block,
    library: &Library,
    slots: usize,
    dt: f32,
    synced: bool,
    clocks: &mut Clocks,
) {
    let half = L::splat(0.5);
    for (rows, clock) in block.clips[..slots].iter().zip(&mut clocks.slots) {
        gather::<L>(rows, library, clock);
        if synced {
            clock.synced = spread(rows.synced);
        }
    }
    for at in (0..BLOCK).step_by(L::N) {
        for (rows, clock) in block.clips[..slots].iter_mut().zip(&mut clocks.slots) {
            let from = L::load(&rows.time, at);
            let step = L::load(&rows.speed, at) * L::splat(dt);
            let cycle = L::load(&clock.cycle, at);
            let (to, lost) = kahan(from, L::load(&rows.lost, at), step);
            let wraps = half.lt(L::load(&clock.wraps, at));
            let wrapped = (to / cycle).floor().neg_mul_add(cycle, to);
            // The floor of a quotient a rounding below a whole number leaves the full cycle, or a hair below zero.
            let inside = L::and(wrapped.lt(cycle), L::splat(-1e-30).lt(wrapped));
            let wrapped = L::select(inside, wrapped, L::zero());
            let held = to.clamp(L::zero(), cycle);
            let stopped = half.lt((held - to).abs() * L::splat(1e30));
            let lost = L::select(stopped, L::zero(), lost);
            L::select(wraps, wrapped, held).store(&mut rows.time, at);
            lost.store(&mut rows.lost, at);
            from.store(&mut clock.from, at);
            L::select(wraps, step, held - from).store(&mut clock.moved, at);
        }
        if synced {
            let (mut pace, mut length) = (L::zero(), L::splat(1e-12));
            for (rows, clock) in block.clips[..slots].iter().zip(&clocks.slots) {
                let share = L::load(&rows.weight, at) * L::load(&clock.synced, at);
                pace = L::load(&rows.speed, at).mul_add(share, pace);
                length = L::load(clock.duration(), at).mul_add(share, length);
            }
            // Cycles in the frame: the cycle's length is the weighted one.
            let step = pace / length * L::splat(dt);
            let (to, lost) = kahan(L::load(&block.phase, at), L::load(&block.phase_lost, at), step);
            let cycles = to.floor();
            let phase = to - cycles;
            let inside = phase.lt(L::one());
            let phase = L::select(inside, phase, L::zero());
            phase.store(&mut block.phase, at);
            lost.store(&mut block.phase_lost, at);
            for (rows, clock) in block.clips[..slots].iter_mut().zip(&mut clocks.slots) {
                let follows = half.lt(L::load(&clock.synced, at));
                let duration = L::load(clock.duration(), at);
                let time = phase * duration;
                let time = L::select(time.lt(duration), time, L::zero());
                L::select(follows, time, L::load(&rows.time, at)).store(&mut rows.time, at);
                let lost = L::load(&rows.lost, at);
                L::select(follows, L::zero(), lost).store(&mut rows.lost, at);
                let moved = L::load(&clock.moved, at);
                L::select(follows, step * duration, moved).store(&mut clock.moved, at);
            }
        }
        for (rows, clock) in block.clips[..slots].iter().zip(&mut clocks.slots) {
            if rows.eventful != 0 {
                may_have_passed::<L>(&rows.time, clock, at);
            }
        }
    }
}

/// Events within the way, ends included, or the way runs over an end: what was really passed is told lane by lane.
#[inline(always)]
fn may_have_passed<L: Lanes>(time: &Row, clock: &mut SlotClock, at: usize) {
    let (from, to) = (L::load(&clock.from, at), L::load(time, at));
    let (low, high) = (from.min(to), from.max(to));
    // By its sign too: half a round over an end is as long as half a round within.
    let off = (L::load(&clock.moved, at) - (to - from)).abs();
    let mut passed = L::or(
        (L::load(clock.duration(), at) * L::splat(1e-4)).lt(off),
        L::splat(0.5).lt(L::load(&clock.heads[hot::MORE], at)),
    );
    for event in 0..hot::EVENT_COUNT {
        let mark = L::load(&clock.heads[hot::EVENTS + event], at);
        // Not below and not above: a hair of width, since only "less" can be asked.
        let near = L::and(low.lt(mark + L::splat(1e-6)), mark.lt(high + L::splat(1e-6)));
        passed = L::or(passed, near);
    }
    L::select(passed, L::one(), L::zero()).store(&mut clock.passed, at);
}

/// Times of synced clips whose markers are not even.
fn warp(block: &mut Block, slots: usize, library: &Library, clocks: &mut Clocks) {
    for (rows, clock) in block.clips[..slots].iter_mut().zip(&mut clocks.slots) {
        for lane in lanes_of(rows.synced & rows.warped) {
            let sync = &library.head(rows.clip[lane]).sync;
            let duration = clock.duration().0[lane];
            let (from, to) = (clock.from.0[lane], sync.time(block.phase.0[lane]));
            // The clip's own start lies elsewhere in the cycle than the phase's.
            let about = clock.moved.0[lane];
            let mut moved = to - from;
            moved += ((about - moved) / duration + 0.5).floor() * duration;
            rows.time.0[lane] = to;
            clock.moved.0[lane] = moved;
        }
    }
}

/// Where a clip that goes to and fro is at `time` of its double cycle, and whether it runs backwards there.
#[inline(always)]
pub(crate) fn fold(time: f32, duration: f32) -> (f32, bool) {
    if time <= duration { (time, false) } else { ((2.0 * duration - time).max(0.0), true) }
}

/// For constant twists a way to and fro is the way between its ends.
fn fold_ways(rows: &ClipRows, clock: &mut SlotClock) {
    for lane in lanes_of(rows.ping_pong & !rows.varying) {
        let duration = clock.duration().0[lane];
        let (from, to) = (fold(clock.from.0[lane], duration).0, fold(rows.time.0[lane], duration).0);
        clock.moved.0[lane] = to - from;
    }
}

per_isa! {
    fn travel_rows(block: &Block, slots: usize, clocks: &mut Clocks) = travel_kernel;
}

/// The weighted twists over the frame, as one SE(2) exponential.
#[inline(always)]
fn travel_kernel<L: Lanes>(block: &Block, slots: usize, clocks: &mut Clocks) {
    for at in (0..BLOCK).step_by(L::N) {
        let (mut x, mut z, mut yaw) = (L::zero(), L::zero(), L::zero());
        for (rows, clock) in block.clips[..slots].iter().zip(&clocks.slots) {
            let share = L::load(&rows.weight, at) * L::load(&clock.moved, at);
            x = L::load(&clock.heads[hot::TWIST], at).mul_add(share, x);
            z = L::load(&clock.heads[hot::TWIST + 1], at).mul_add(share, z);
            yaw = L::load(&clock.heads[hot::TWIST + 2], at).mul_add(share, yaw);
        }
        // Displacement = [a, b; -b, a] velocity, a = sin y / y, b = (1 - cos y) / y; series for small turns.
        let (s, c) = sin_cos(yaw);
        let y2 = yaw * yaw;
        let small = y2.lt(L::splat(0.25));
        let per_yaw = L::one() / L::select(small, L::one(), yaw);
        let a = y2.mul_add(L::splat(-1.0 / 5040.0), L::splat(1.0 / 120.0));
        let a = y2.mul_add(y2.mul_add(a, L::splat(-1.0 / 6.0)), L::one());
        let b = y2.mul_add(L::splat(-1.0 / 40320.0), L::splat(1.0 / 720.0));
        let b = yaw * y2.mul_add(y2.mul_add(b, L::splat(-1.0 / 24.0)), L::splat(0.5));
        let a = L::select(small, a, s * per_yaw);
        let b = L::select(small, b, (L::one() - c) * per_yaw);
        a.mul_add(x, b * z).store(&mut clocks.way[0], at);
        b.neg_mul_add(x, a * z).store(&mut clocks.way[1], at);
        yaw.store(&mut clocks.way[2], at);
    }
}

/// Of any angle: a long frame may turn all the way round.
#[inline(always)]
fn sin_cos<L: Lanes>(angle: L) -> (L, L) {
    let turns = angle.mul_add(L::splat(0.5 / PI), L::splat(0.5)).floor();
    let (s, c) = sin_cos_small(turns.neg_mul_add(L::splat(2.0 * PI), angle) * L::splat(0.25));
    let (s, c) = ((s + s) * c, s.neg_mul_add(s, c * c));
    ((s + s) * c, s.neg_mul_add(s, c * c))
}

per_isa! {
    fn root_rows(block: &mut Block, dt: f32, drive: Drive, clocks: &Clocks) = root_kernel;
}

#[inline(always)]
fn root_kernel<L: Lanes>(block: &mut Block, dt: f32, drive: Drive, clocks: &Clocks) {
    for at in (0..BLOCK).step_by(L::N) {
        (L::load(&block.age, at) + L::splat(dt)).store(&mut block.age, at);
        let leg = L::load(&block.leg, at);
        let dx = L::load(&clocks.way[0], at) * leg;
        let dz = L::load(&clocks.way[1], at) * leg;
        let yaw = L::load(&clocks.way[2], at);
        dx.store(&mut block.displacement[0], at);
        dz.store(&mut block.displacement[1], at);
        yaw.store(&mut block.displacement[2], at);
        if drive == Drive::Host {
            continue;
        }
        let rotation = Quat::load(&block.rotation, at);
        let moved = rotation.rotate(Vec3::new(dx, L::zero(), dz));
        for (axis, step) in [moved.x, moved.y, moved.z].into_iter().enumerate() {
            let (sum, lost) =
                kahan(L::load(&block.position[axis], at), L::load(&block.position_lost[axis], at), step);
            sum.store(&mut block.position[axis], at);
            lost.store(&mut block.position_lost[axis], at);
        }
        // The change of the quaternion: q (turn - 1), cos - 1 without cancellation, and back to unit length.
        let (s2, c2) = sin_cos(yaw * L::splat(0.25));
        let s = (s2 + s2) * c2;
        let less = L::zero() - (s2 + s2) * s2;
        let Quat { x, y, z, w } = rotation;
        let change = Quat::new(
            z.neg_mul_add(s, x * less),
            w.mul_add(s, y * less),
            x.mul_add(s, z * less),
            y.neg_mul_add(s, w * less),
        );
        let back = (L::one() - rotation.norm_squared()) * L::splat(0.5);
        let steps = [
            x.mul_add(back, change.x),
            y.mul_add(back, change.y),
            z.mul_add(back, change.z),
            w.mul_add(back, change.w),
        ];
        for (part, step) in steps.into_iter().enumerate() {
            let (sum, lost) =
                kahan(L::load(&block.rotation[part], at), L::load(&block.rotation_lost[part], at), step);
            sum.store(&mut block.rotation[part], at);
            lost.store(&mut block.rotation_lost[part], at);
        }
    }
}

/// Weights of cross-fades at the end of the frame, and the ends of fades and transitions.
fn end_changes(block: &mut Block, dt: f32) {
    let mut recount = false;
    for lane in lanes_of(block.fading | block.transitions) {
        let Some(rare) = &mut block.rare[lane] else { continue };
        if block.fading & (1 << lane) != 0 {
            rare.fade.elapsed += dt;
            let ends = rare.fade.elapsed >= rare.fade.duration;
            for (slot, rows) in block.clips.iter_mut().enumerate() {
                rows.weight.0[lane] = rare.fade.weight(slot, rare.fade.elapsed);
                if ends && rows.weight.0[lane] <= 0.0 {
                    rows.clear(lane);
                }
            }
            if ends {
                put_bit(&mut block.fading, lane, false);
                put_bit(&mut block.settled, lane, true);
                recount = true;
            }
        }
        if block.transitions & (1 << lane) != 0 {
            rare.transition.elapsed += dt;
            if rare.transition.elapsed >= rare.transition.duration {
                put_bit(&mut block.transitions, lane, false);
                put_bit(&mut block.settled, lane, true);
            }
        }
    }
    if recount {
        block.count_slots();
    }
}
