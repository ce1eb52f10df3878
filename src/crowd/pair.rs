//! How far behind its simulation each character of a block is shown: between two poses, where it is posed less often
//! than every frame.
//!
//! ```text
//! frames    . . P . . . N . . now                 period 4: the next pose comes in the frame after this one
//!               |---span--|
//!               |  factor |      |                shown = P + factor (N - P), factor = 1 - (lag - since) / span
//!                     ^   |-since|
//!                 shown |---lag--|
//! ```
//!
//! Whoever is posed every `period` frames is shown `period - 1` frames late, so that what it is shown between is there.
//! That lag changes by half a frame per frame when the period does: a character goes at half or one and a half times
//! its speed for a few frames, and never jumps. A pose is due when the block's turn comes, or else when the shown one would
//! pass the newest: lanes that moved to a block with another turn are posed once more than others. Where a pose comes
//! before the last one is reached, what is shown takes the place of the previous pose.

use super::detail::FADE;
use super::tier::{TIERS, Tier};
use crate::lanes::BLOCK;

/// Steps that a frame is counted in.
const FRAME: u8 = 4;
/// Steps that the lag changes in a frame.
const SLEW: u8 = 2;

/// See the module's head. All in steps of a quarter of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pairs {
    /// Since the newest pose.
    since: [u8; BLOCK],
    /// Of what is shown behind now; never less than `since`, never more than `since + span`.
    lag: [u8; BLOCK],
    /// From the previous pose to the newest; 0 without one.
    span: [u8; BLOCK],
    /// Lanes whose newest pose is in the second half of their slot.
    pub second: u16,
    /// Lanes that have no pose yet that the next one could follow: new, not seen at their turn, put elsewhere.
    pub cut: u16,
    /// Lanes that wait for their turn while their lag grows.
    patient: u16,
    /// Lanes with a lag.
    trailing: u16,
    /// Lanes whose previous pose the last frame wrote too.
    pub both: u16,
    /// Frames that joints still take to or from another tier's, and the poorer one of the two.
    fade: [u8; BLOCK],
    poorer: [u8; BLOCK],
    /// Lanes that have some left.
    pub fading: u16,
}

/// One lane of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pair {
    pub since: u8,
    pub lag: u8,
    pub span: u8,
    pub second: bool,
    pub cut: bool,
    pub patient: bool,
    pub both: bool,
    pub fade: u8,
    pub poorer: u8,
}

impl Pair {
    /// Of somebody new.
    pub const NEW: Self = Self {
        since: 0,
        lag: 0,
        span: 0,
        second: false,
        cut: true,
        patient: false,
        both: false,
        fade: 0,
        poorer: 0,
    };

    /// False for what no frame leaves behind.
    pub fn sound(self) -> bool {
        let late = self.lag <= 8 * FRAME && self.since <= self.lag && self.span <= 9 * FRAME;
        late && self.fade <= FADE && usize::from(self.poorer) < TIERS
    }

    /// Has joints take their time to come to another tier's; `poorer` of the two.
    pub fn change_detail(&mut self, poorer: Tier) {
        let before = if self.fade > 0 { self.poorer } else { 0 };
        (self.fade, self.poorer) = (FADE, before.max(poorer as u8));
    }
}

impl Pairs {
    pub fn get(&self, lane: usize) -> Pair {
        let bit = |mask: u16| mask & (1 << lane) != 0;
        Pair {
            since: self.since[lane],
            lag: self.lag[lane],
            span: self.span[lane],
            second: bit(self.second),
            cut: bit(self.cut),
            patient: bit(self.patient),
            both: bit(self.both),
            fade: self.fade[lane],
            poorer: self.poorer[lane],
        }
    }

    pub fn put(&mut self, lane: usize, pair: Pair) {
        (self.since[lane], self.lag[lane], self.span[lane]) = (pair.since, pair.lag, pair.span);
        let bit = 1 << lane;
        (self.fade[lane], self.poorer[lane]) = (pair.fade, pair.poorer);
        let Self { second, cut, patient, trailing, both, fading, .. } = self;
        let masks = [second, cut, patient, trailing, both, fading];
        let Pair { second, cut, patient, both, .. } = pair;
        let set = [second, cut, patient, pair.lag > 0, both, pair.fade > 0];
        for (mask, set) in masks.into_iter().zip(set) {
            *mask = *mask & !bit | if set { bit } else { 0 };
        }
    }

    /// Share of the newest pose in what is shown; 1 where there is no other.
    pub fn factor(&self, lane: usize) -> f32 {
        let (behind, span) = (self.lag[lane].saturating_sub(self.since[lane]), self.span[lane]);
        if behind == 0 || span == 0 { 1.0 } else { 1.0 - f32::from(behind.min(span)) / f32::from(span) }
    }

    /// Lanes whose pose before the newest one counts, now or later.
    pub fn apart(&self) -> u16 {
        if self.trailing == 0 {
            return 0;
        }
        let apart = |lane: usize| u16::from(self.span[lane] > 0) << lane;
        (0..BLOCK).fold(0, |lanes, lane| lanes | apart(lane)) & self.trailing
    }

    /// Lanes whose slot is told where its clip was at a pose: the next pose may follow it.
    pub fn remembering(&self) -> u16 {
        self.apart() | self.patient
    }

    /// One frame on. Gives the lanes whose newest pose is passed unless they get another.
    pub fn step(&mut self, live: u16, period: u8) -> u16 {
        if period == 1 && self.trailing == 0 {
            // Nobody has anything to wait for, also when the period grows again.
            self.patient = 0;
            return 0;
        }
        let target = (period - 1) * FRAME;
        let mut passed = 0;
        for lane in 0..BLOCK {
            let bit = 1 << lane;
            if live & bit == 0 {
                continue;
            }
            let waits = self.patient & bit != 0;
            let (lag, since) = (&mut self.lag[lane], &mut self.since[lane]);
            *since += FRAME;
            *lag = if *lag < target {
                (*lag + if waits { FRAME } else { SLEW }).min(target)
            } else {
                lag.saturating_sub(SLEW).max(target)
            };
            if *lag >= target {
                self.patient &= !bit;
            }
            if *since > *lag {
                // Stays as it is until the new one comes.
                *since = *lag;
                passed |= bit;
            }
            self.trailing = self.trailing & !bit | if *lag > 0 { bit } else { 0 };
        }
        passed
    }

    /// How far the joints of a lane that is fading have come with a new pose, after this frame's
    /// [`turn_over`](Self::turn_over): share of the new pose, and the poorer tier.
    pub fn fade(&mut self, was: &Self, lane: usize) -> (f32, Tier) {
        let left = self.fade[lane];
        let frames = (was.since[lane] + FRAME) / FRAME;
        self.fade[lane] = left.saturating_sub(frames);
        let poorer = Tier::ALL[usize::from(self.poorer[lane]).min(TIERS - 1)];
        if self.fade[lane] == 0 {
            self.fading &= !(1 << lane);
            return (1.0, poorer);
        }
        (f32::from(frames) / f32::from(left), poorer)
    }

    /// Where the new poses of lanes go: they become the newest. Gives the lanes whose other half must first be made what
    /// the last frame showed, with its factor in `was`, the state before this frame's [`step`](Self::step).
    pub fn turn_over(&mut self, was: &Self, due: u16, period: u8) -> u16 {
        self.both = 0;
        if period == 1 && self.trailing | self.fading == 0 {
            self.cut &= !due;
            return 0;
        }
        let mut between = 0;
        for lane in 0..BLOCK {
            let bit = 1 << lane;
            if due & bit == 0 {
                continue;
            }
            self.since[lane] = 0;
            if self.cut & bit != 0 {
                (self.lag[lane], self.span[lane]) = (0, 0);
                self.trailing &= !bit;
                self.patient |= if period > 1 { bit } else { 0 };
                self.fade[lane] = 0;
                self.fading &= !bit;
            } else if self.lag[lane] == 0 {
                self.span[lane] = 0;
                // The last pose is still looked at.
                self.second ^= self.fading & bit;
            } else {
                self.span[lane] = was.lag[lane] + FRAME;
                let factor = was.factor(lane);
                if factor >= 1.0 {
                    self.second ^= bit;
                } else if factor > 0.0 {
                    between |= bit;
                }
            }
        }
        self.cut &= !due;
        self.both = between;
        between
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frame that is shown of one lane, by where its poses are from.
    struct Watch {
        pairs: Pairs,
        frame: f64,
        poses: [f64; 2],
    }

    impl Watch {
        fn shown(&self) -> f64 {
            let second = usize::from(self.pairs.second & 1 != 0);
            let factor = f64::from(self.pairs.factor(0));
            self.poses[1 - second] * (1.0 - factor) + self.poses[second] * factor
        }

        fn frame(&mut self, period: u8, turn: bool) -> bool {
            self.frame += 1.0;
            let was = self.pairs;
            let before = self.shown();
            let due = self.pairs.step(1, period) | u16::from(turn);
            if due & 1 != 0 {
                let cut = self.pairs.cut & 1 != 0;
                let between = self.pairs.turn_over(&was, 1, period);
                let second = usize::from(self.pairs.second & 1 != 0);
                if between != 0 {
                    self.poses[1 - second] = before;
                }
                self.poses[second] = self.frame;
                if cut {
                    assert_eq!(self.shown(), self.frame);
                }
            }
            due & 1 != 0
        }
    }

    fn watch() -> Watch {
        let mut pairs = Pairs::default();
        pairs.put(0, Pair::NEW);
        Watch { pairs, frame: 0.0, poses: [0.0; 2] }
    }

    #[test]
    fn a_steady_rate_is_shown_steadily_and_costs_one_pose_a_period() {
        for period in [1, 2, 4, 8] {
            for phase in 0..period {
                let mut one = watch();
                let mut poses = 0;
                for number in 0..100u8 {
                    let before = one.shown();
                    let turn = number == 0 || number % period == phase;
                    poses += u32::from(one.frame(period, turn));
                    if number > 2 * period {
                        assert!((one.shown() - before - 1.0).abs() < 1e-5, "period {period}");
                        assert_eq!(one.shown().round(), one.frame - f64::from(period) + 1.0);
                    }
                }
                let extra = poses - (100 - u32::from(phase)).div_ceil(u32::from(period));
                assert!(extra <= 1, "period {period}, phase {phase}: {extra} poses more than turns");
            }
        }
    }

    #[test]
    fn whatever_the_period_and_the_turn_become_it_goes_on_at_half_to_one_and_a_half_of_its_speed() {
        let mut random = 7u32;
        let mut one = watch();
        let (mut period, mut phase) = (1u8, 0u8);
        for number in 0..20_000u32 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if (random >> 8).is_multiple_of(9) {
                period = 1 << ((random >> 16) % 4);
                phase = (random >> 20) as u8 % period;
            }
            let before = one.shown();
            let turn = number == 0 || number % u32::from(period) == u32::from(phase);
            one.frame(period, turn);
            let went = one.shown() - before;
            assert!(one.pairs.get(0).sound(), "{:?}", one.pairs.get(0));
            if number > 0 && one.pairs.patient == 0 {
                assert!((0.49..=1.51).contains(&went) || number < 20, "frame {number}: {went}");
            }
        }
    }
}
