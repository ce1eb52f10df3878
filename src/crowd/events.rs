//! Events of clips on their way to the host: each passed once, in order, through buffers of a fixed size.
//!
//! An interval of clip time is half open, `[from, to)` forwards and `(to, from]` backwards. One frame's `to` is the next
//! one's `from` to the bit, so nothing is passed twice or left out, however time is cut into frames.
//!
//! Each job writes a buffer as large as the crowd's. The crowd takes them in the order of the blocks until its own is
//! full, so what is kept does not depend on how blocks were cut into jobs.

use super::block::{Block, lanes_of};
use super::library::{ClipHead, Library};
use super::store::{ClipId, Handle};
use crate::lanes::Row;

/// A clip's event that a character has passed in the last frame.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PassedEvent {
    /// Whose.
    pub character: Handle,
    /// Of which clip.
    pub clip: ClipId,
    /// Index among the clip's [`events`](crate::clip::BoundClip::events).
    pub event: u16,
    /// Weight that the clip had.
    pub weight: f32,
    /// Seconds before the end of the frame.
    pub ago: f32,
}

/// Before the character's generation is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    pub character: u32,
    /// Filled in at the end of the frame.
    pub generation: u32,
    pub topology: u16,
    pub clip: u16,
    pub event: u16,
    pub weight: f32,
    pub ago: f32,
}

/// Where a job puts what its characters pass.
#[derive(Debug, Default)]
pub(crate) struct EventSink {
    pub passed: Vec<Passed>,
    /// Events that found no room.
    pub lost: usize,
    pub topology: u16,
    pub capacity: usize,
}

/// Most rounds of a loop in one frame whose events are told one by one.
const MOST_ROUNDS: usize = 1024;

impl EventSink {
    /// Takes over what a job has found, as far as there is room.
    pub fn take(&mut self, job: &mut Self) {
        let room = self.capacity.saturating_sub(self.passed.len());
        let kept = room.min(job.passed.len());
        self.passed.extend_from_slice(&job.passed[..kept]);
        self.lost += job.passed.len() - kept + job.lost;
        job.passed.clear();
        job.lost = 0;
    }

    /// Makes room for `capacity` events once and for all.
    pub fn reserve(&mut self, capacity: usize) {
        self.capacity = capacity;
        self.passed.reserve_exact(capacity.saturating_sub(self.passed.capacity()));
    }

    /// Character by character, in the order of time.
    pub fn sort(&mut self) {
        let order = |event: &Passed| (event.character, event.clip, event.event);
        self.passed.sort_unstable_by(|a, b| {
            let time = b.ago.total_cmp(&a.ago);
            a.character.cmp(&b.character).then(time).then_with(|| order(a).cmp(&order(b)))
        });
    }

    /// Everything that the clocks of a slot have passed in a frame, of the lanes asked for.
    pub fn passed(
        &mut self,
        block: &Block,
        slot: usize,
        lanes: u16,
        (from, moved): (&Row, &Row),
        dt: f32,
        library: &Library,
    ) {
        let rows = &block.clips[slot];
        for lane in lanes_of(lanes) {
            let bit = 1u16 << lane;
            let head = library.head(rows.clip[lane]);
            let clock = ClipClock {
                from: from.0[lane],
                to: rows.time.0[lane],
                moved: moved.0[lane],
                // Only what loops is in step with others.
                whole: if rows.synced & bit != 0 { moved.0[lane] } else { rows.speed.0[lane] * dt },
                warped: rows.synced & rows.warped & bit != 0,
                duration: head.duration,
                wrap: if rows.loops & bit != 0 {
                    Wrapping::Loop
                } else if rows.ping_pong & bit != 0 {
                    Wrapping::PingPong
                } else {
                    Wrapping::Once
                },
            };
            let (character, clip, weight) = (block.characters[lane], rows.clip[lane], rows.weight.0[lane]);
            self.passed_by(Teller { character, clip, weight }, clock, head, dt);
        }
    }

    /// Everything that one clock has passed in a frame.
    pub fn passed_by(&mut self, teller: Teller, clock: ClipClock, head: &ClipHead, dt: f32) {
        let Teller { character, clip, weight } = teller;
        clock.each(head.events.iter().map(|event| event.time), |event, after| {
            let ago = dt * (1.0 - clock.share(after, head));
            let passed = Passed {
                generation: 0,
                character,
                topology: self.topology,
                clip,
                event: event as u16,
                weight,
                ago: ago.min(dt).max(0.0),
            };
            if self.passed.len() < self.capacity {
                self.passed.push(passed);
            } else {
                self.lost += 1;
            }
        });
    }
}

/// Whose clip it is that tells events.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Teller {
    pub character: u32,
    pub clip: u16,
    pub weight: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrapping {
    Once,
    Loop,
    PingPong,
}

/// One clip's clock over one frame. `to` is where it is, wrapped; `moved` tells direction and rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClipClock {
    pub from: f32,
    pub to: f32,
    pub moved: f32,
    /// As `moved`, but for what stops at its end within the frame: as if it went on.
    pub whole: f32,
    /// Follows a phase that does not run evenly with its time.
    pub warped: bool,
    pub duration: f32,
    pub wrap: Wrapping,
}

impl ClipClock {
    /// Share of the frame that has gone by when so many clip seconds have.
    fn share(&self, after: f32, head: &ClipHead) -> f32 {
        let (way, whole) = if self.warped {
            let cycles = |seconds: f32| head.sync.cycles(self.from + seconds) - head.sync.cycles(self.from);
            (cycles(after * self.moved.signum()), cycles(self.moved))
        } else {
            (after, self.whole.abs())
        };
        // Whoever passes something moves; a hair may be lost.
        if whole == 0.0 { 1.0 } else { way / whole }
    }

    /// Calls `tell(event, clip seconds after the frame's start)` for every event passed. Within one clip and frame they
    /// come event by event, not by time: the crowd sorts.
    fn each(&self, times: impl Iterator<Item = f32>, mut tell: impl FnMut(usize, f32)) {
        if self.moved == 0.0 {
            return;
        }
        let forward = self.moved > 0.0;
        let cycle = if self.wrap == Wrapping::PingPong { 2.0 * self.duration } else { self.duration };
        // Whole rounds by what is left of the way after wrapping: `to` is exact, `moved` is not.
        let rounds = match self.wrap {
            Wrapping::Once => 0,
            _ => (((self.moved - (self.to - self.from)) / cycle).round().abs() as usize).min(MOST_ROUNDS),
        };
        for (event, time) in times.enumerate() {
            let mut tell_at = |mark: f32| {
                let first = if forward { mark - self.from } else { self.from - mark };
                for round in 0..=rounds {
                    let begin = if round == 0 { Some(self.from) } else { None };
                    let end = if round == rounds { Some(self.to) } else { None };
                    let inside = if forward {
                        begin.is_none_or(|from| from <= mark) && end.is_none_or(|to| mark < to)
                    } else {
                        begin.is_none_or(|from| mark <= from) && end.is_none_or(|to| to < mark)
                    };
                    if inside {
                        tell(event, (first + round as f32 * cycle).max(0.0));
                    }
                }
            };
            match self.wrap {
                Wrapping::PingPong => {
                    tell_at(time);
                    // The ends are passed once per turn.
                    if time > 0.0 && time < self.duration {
                        tell_at(cycle - time);
                    }
                }
                Wrapping::Loop => tell_at(time),
                // What stops at its end has passed what lies there.
                Wrapping::Once => {
                    let reaches = if forward {
                        self.to >= self.duration && time >= self.duration && self.from < self.duration
                    } else {
                        self.to <= 0.0 && time <= 0.0 && self.from > 0.0
                    };
                    if reaches {
                        tell(event, self.moved.abs());
                    } else {
                        tell_at(time);
                    }
                }
            }
        }
    }
}
