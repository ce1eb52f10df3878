//! What characters play.

use super::{ClipId, Crowd, Handle, MAX_SPEED, Place, Play, Wrap};
use crate::clip::Planar;
use crate::crowd::MAX_CLIPS;
use crate::crowd::block::{Block, put_bit};
use crate::crowd::library::Library;
use crate::crowd::rare::Fade;
use crate::crowd::stages::advance::fold;
use crate::error::BuildError;

/// Plays of a character in an order of their own, so that the caller's does not matter to a bit, weights summing to 1.
pub(super) struct Plays {
    plays: [Option<Play>; MAX_CLIPS],
    /// First of those that share a phase: the phase that its time stands for.
    phase: Option<f32>,
}

impl Plays {
    fn iter(&self) -> impl Iterator<Item = &Play> {
        self.plays.iter().flatten()
    }
}

/// Seconds that a cross-fade or a transition may take.
const FADES: core::ops::RangeInclusive<f32> = 0.0..=60.0;

impl Crowd {
    /// Checks and sorts.
    pub(super) fn plays(&self, topology: u16, clips: &[Play]) -> Result<Plays, BuildError> {
        if clips.len() > MAX_CLIPS {
            return Err(BuildError::Input {
                what: "the number of clips of a character",
                value: clips.len() as f32,
                right: "at most four can be mixed",
            });
        }
        let mut plays = Plays { plays: [None; MAX_CLIPS], phase: None };
        for (play, out) in clips.iter().zip(&mut plays.plays) {
            let Some(clip) = self.clip(play.clip) else {
                return Err(BuildError::Unknown { what: "clip", index: play.clip.index as usize });
            };
            if play.clip.topology != topology {
                return Err(BuildError::OtherTopology { what: format!("clip {}", play.clip.index) });
            }
            if clip.additive() {
                return Err(BuildError::ClipUse {
                    clip: clip.name().to_owned(),
                    is: "additive",
                    used: "one that a character plays; put it into an additive layer",
                });
            }
            let checks = [
                ("a clip's time", play.time, play.time.abs() < 1e6, "it must be finite"),
                (
                    "a clip's weight",
                    play.weight,
                    (0.0..1e6).contains(&play.weight),
                    "it must be finite and at least 0",
                ),
                ("a clip's speed", play.speed, play.speed.abs() <= MAX_SPEED, "it must be from -16 to 16"),
            ];
            for (what, value, good, right) in checks {
                if !good {
                    return Err(BuildError::Input { what, value, right });
                }
            }
            if play.sync && !play.wrap.loops(clip.looping()) {
                let right = "only clips that loop share a phase";
                return Err(BuildError::Input { what: "a synced clip's wrap", value: 0.0, right });
            }
            *out = (play.weight > 0.0).then_some(*play);
        }
        plays.plays.sort_by(|a, b| {
            let key = |play: &Option<Play>| play.map(|play| (play.clip, play.wrap, play.sync));
            let values = |play: &Option<Play>| play.map_or([0.0; 3], |p| [p.time, p.weight, p.speed]);
            let [ta, wa, sa] = values(a);
            let [tb, wb, sb] = values(b);
            // Empty ones last.
            let order = a.is_none().cmp(&b.is_none()).then(key(a).cmp(&key(b)));
            order.then(ta.total_cmp(&tb)).then(wa.total_cmp(&wb)).then(sa.total_cmp(&sb))
        });
        let total: f32 = plays.iter().map(|play| play.weight).sum();
        plays.plays.iter_mut().flatten().for_each(|play| play.weight /= total);
        let leader = plays.iter().find(|play| play.sync).copied();
        plays.phase = leader.and_then(|play| self.clip(play.clip).map(|clip| clip.sync().phase(play.time)));
        Ok(plays)
    }

    /// What a character plays from now on, at once, instead of a stream if it follows one: see [`transition_to`](Self::transition_to) and
    /// [`fade_to`](Self::fade_to) for less sudden ways.
    ///
    /// # Errors
    /// If the handle is stale, a clip is unknown or of another topology, a value is not finite, a speed is beyond
    /// [`MAX_SPEED`], or a synced clip does not loop.
    pub fn set_clips(&mut self, handle: Handle, clips: &[Play]) -> Result<(), BuildError> {
        let place = self.place(handle)?;
        let topology = self.topology_at(place);
        let plays = self.plays(topology, clips)?;
        self.put_plays_at_once(place, &plays);
        Ok(())
    }

    /// What is left of an old motion goes too.
    pub(super) fn put_plays_at_once(&mut self, place: Place, plays: &Plays) {
        self.put_plays(place, plays);
        let (block, _) = self.block_and_library(place);
        let bit = 1u16 << place.lane;
        block.settled |= block.transitions & bit;
        let ended = block.transitions & bit != 0;
        block.transitions &= !bit;
        self.transitions -= usize::from(ended);
    }

    pub(super) fn put_plays(&mut self, place: Place, plays: &Plays) {
        let (block, _) = self.block_and_library(place);
        let character = block.characters[usize::from(place.lane)];
        self.streams.clear(character);
        self.put_plays_beside(place, plays);
    }

    /// Leaves a stream to go on.
    pub(super) fn put_plays_beside(&mut self, place: Place, plays: &Plays) {
        self.forget_past(place);
        let lane = usize::from(place.lane);
        let (block, library) = self.block_and_library(place);
        end_fade(block, lane);
        join_phase(block, lane, plays.phase);
        for slot in 0..MAX_CLIPS {
            match &plays.plays[slot] {
                Some(play) => put_play(block, slot, lane, library, play, play.weight),
                None => block.clips[slot].clear(lane),
            }
        }
        block.count_slots();
    }

    /// Fades from what a character plays to other clips. A clip that goes on in the same way keeps its clock. Where more
    /// than four would play at a time, the lightest are dropped at once.
    ///
    /// # Errors
    /// As [`set_clips`](Self::set_clips), and if `seconds` is not from 0 to 60.
    pub fn fade_to(&mut self, handle: Handle, clips: &[Play], seconds: f32) -> Result<(), BuildError> {
        let place = self.place(handle)?;
        let topology = self.topology_at(place);
        let plays = self.plays(topology, clips)?;
        check_seconds(seconds)?;
        let lane = usize::from(place.lane);
        let (block, _) = self.block_and_library(place);
        let nothing = (0..MAX_CLIPS).all(|slot| block.clips[slot].weight.0[lane] <= 0.0);
        if seconds == 0.0 || nothing || plays.iter().next().is_none() {
            self.put_plays_at_once(place, &plays);
            return Ok(());
        }
        self.have_rare(place);
        let (block, library) = self.block_and_library(place);
        join_phase(block, lane, plays.phase);
        let mut fade = Fade { duration: seconds, ..Fade::default() };
        let mut taken = [false; MAX_CLIPS];
        let mut new = [None; MAX_CLIPS];
        for (play, new) in plays.iter().zip(&mut new) {
            let same = (0..MAX_CLIPS).find(|&slot| !taken[slot] && goes_on(block, slot, lane, library, play));
            match same {
                Some(slot) => {
                    taken[slot] = true;
                    fade.to[slot] += play.weight;
                    block.clips[slot].speed.0[lane] = play.speed;
                }
                None => *new = Some(*play),
            }
        }
        for play in new.iter().flatten() {
            let lightest = |a: &usize, b: &usize| {
                block.clips[*a].weight.0[lane].total_cmp(&block.clips[*b].weight.0[lane])
            };
            let Some(slot) = (0..MAX_CLIPS).filter(|&slot| !taken[slot]).min_by(lightest) else { break };
            taken[slot] = true;
            put_play(block, slot, lane, library, play, 0.0);
            fade.to[slot] = play.weight;
        }
        let total: f32 = (0..MAX_CLIPS).map(|slot| block.clips[slot].weight.0[lane]).sum();
        for slot in 0..MAX_CLIPS {
            let weight = &mut block.clips[slot].weight.0[lane];
            // All of what played may have been dropped.
            *weight = if total > 0.0 { *weight / total } else { fade.to[slot] };
            fade.from[slot] = *weight;
        }
        if let Some(rare) = &mut block.rare[lane] {
            rare.fade = fade;
        }
        put_bit(&mut block.fading, lane, true);
        block.count_slots();
        Ok(())
    }

    /// Changes weights without touching clocks: one for each clip that [`clips`](Self::clips) tells, in its order. They
    /// are scaled to sum to 1; a weight of 0 takes the clip out. A cross-fade under way ends.
    ///
    /// # Errors
    /// If the handle is stale, there are not as many weights as clips, or one is negative or not finite, or all are 0.
    pub fn set_weights(&mut self, handle: Handle, weights: &[f32]) -> Result<(), BuildError> {
        let place = self.place(handle)?;
        let lane = usize::from(place.lane);
        let (block, _) = self.block_and_library(place);
        let playing = (0..MAX_CLIPS).filter(|&slot| block.plays(slot, lane));
        let count = playing.clone().count();
        let total: f32 = weights.iter().sum();
        let bad = weights.iter().copied().find(|weight| !(0.0..1e6).contains(weight));
        if let Some(value) = bad.or((weights.len() != count || total <= 0.0).then_some(total)) {
            return Err(BuildError::Input {
                what: "a clip's weight",
                value,
                right: "one for each clip that plays, finite, at least 0 and not all 0",
            });
        }
        let mut new = [0.0; MAX_CLIPS];
        playing.zip(weights).for_each(|(slot, weight)| new[slot] = weight / total);
        end_fade(block, lane);
        for (slot, weight) in new.into_iter().enumerate() {
            if weight > 0.0 {
                block.clips[slot].weight.0[lane] = weight;
            } else {
                block.clips[slot].clear(lane);
            }
        }
        block.count_slots();
        Ok(())
    }

    /// Sets the speed of all clips that a character plays, without touching clocks: those in step take one time for their
    /// cycle whatever their speeds, which count by their weights.
    ///
    /// # Errors
    /// If the handle is stale, or the speed is not from -16 to 16.
    pub fn set_speed(&mut self, handle: Handle, speed: f32) -> Result<(), BuildError> {
        let place = self.place(handle)?;
        if speed.abs() > MAX_SPEED || speed.is_nan() {
            let right = "it must be from -16 to 16";
            return Err(BuildError::Input { what: "a clip's speed", value: speed, right });
        }
        let lane = usize::from(place.lane);
        let (block, _) = self.block_and_library(place);
        for rows in block.clips.iter_mut().filter(|rows| rows.playing & (1 << lane) != 0) {
            rows.speed.0[lane] = speed;
        }
        Ok(())
    }

    /// Sets the clock of a clip that a character plays; clips that share its phase go along. Events in between are not
    /// told. Returns the root motion that lies between, metres, in the axes of the character; it moves along if `travel`
    /// says so, else it stays where it is.
    ///
    /// # Errors
    /// If the handle is stale, the character does not play the clip, or the time is not finite.
    pub fn seek(
        &mut self,
        handle: Handle,
        clip: ClipId,
        time: f32,
        travel: bool,
    ) -> Result<Planar, BuildError> {
        let place = self.place(handle)?;
        if time.abs() >= 1e6 || time.is_nan() {
            return Err(BuildError::Input { what: "a clip's time", value: time, right: "it must be finite" });
        }
        let lane = usize::from(place.lane);
        let bit = 1u16 << lane;
        let topology = self.topology_at(place);
        self.forget_past(place);
        let (block, library) = self.block_and_library(place);
        let index = clip.index as u16;
        let found =
            (0..MAX_CLIPS).find(|&slot| block.plays(slot, lane) && block.clips[slot].clip[lane] == index);
        let Some(slot) = found.filter(|_| clip.topology == topology) else {
            return Err(BuildError::Unknown { what: "playing clip", index: clip.index as usize });
        };
        let before: [f32; MAX_CLIPS] = core::array::from_fn(|slot| block.clips[slot].time.0[lane]);
        if block.clips[slot].synced & bit != 0 {
            block.phase.0[lane] = library.head(index).sync.phase(time);
            block.phase_lost.0[lane] = 0.0;
            for slot in 0..MAX_CLIPS {
                if block.plays(slot, lane) && block.clips[slot].synced & bit != 0 {
                    set_time(block, slot, lane, library, 0.0);
                }
            }
        } else {
            set_time(block, slot, lane, library, time);
        }
        // The mixture's twist over the jump, as over a frame.
        let mut sum = crate::clip::Twist::default();
        for (rows, from) in block.clips.iter().zip(before) {
            let weight = rows.weight.0[lane];
            let to = rows.time.0[lane];
            if weight > 0.0 && from != to {
                let head = library.head(rows.clip[lane]);
                let of = |time| if rows.ping_pong & bit != 0 { fold(time, head.duration).0 } else { time };
                let root = library.root(rows.clip[lane]);
                let twist = root.at(of(from)).inverse().then(root.at(of(to))).log(1.0);
                sum.x += weight * twist.x;
                sum.z += weight * twist.z;
                sum.yaw += weight * twist.yaw;
            }
        }
        let leg = block.leg.0[lane];
        let way = sum.exp(1.0);
        let way = Planar { x: way.x * leg, z: way.z * leg, yaw: way.yaw };
        if travel {
            let mut transform = self.transform(handle)?;
            let q = glam::Quat::from_array(transform.rotation);
            let p = glam::Vec3::from_array(transform.position) + q * glam::Vec3::new(way.x, 0.0, way.z);
            transform.position = p.to_array();
            transform.rotation = (q * glam::Quat::from_rotation_y(way.yaw)).normalize().to_array();
            self.set_transform(handle, transform)?;
        }
        Ok(way)
    }

    /// What a character plays, with the times that the clips have come to, in an order of the crowd's. Clips that fade in
    /// are among them.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn clips(&self, handle: Handle) -> Result<impl Iterator<Item = Play> + '_, BuildError> {
        let topology = self.topology_at(self.place(handle)?);
        let (block, lane) = self.block(handle)?;
        let bit = 1u16 << lane;
        Ok((0..MAX_CLIPS).filter(move |&slot| block.plays(slot, lane)).map(move |slot| {
            let rows = &block.clips[slot];
            Play {
                clip: ClipId { topology, index: rows.clip[lane].into() },
                time: rows.time.0[lane],
                weight: rows.weight.0[lane],
                speed: rows.speed.0[lane],
                wrap: match (rows.loops & bit != 0, rows.ping_pong & bit != 0) {
                    (true, _) => Wrap::Loop,
                    (_, true) => Wrap::PingPong,
                    _ => Wrap::Once,
                },
                sync: rows.synced & bit != 0,
            }
        }))
    }

    /// Share of the cycle, 0 to 1, that a character's synced clips are at; `None` if it plays none.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn phase(&self, handle: Handle) -> Result<Option<f32>, BuildError> {
        let (block, lane) = self.block(handle)?;
        let synced =
            (0..MAX_CLIPS).any(|slot| block.plays(slot, lane) && block.clips[slot].synced & (1 << lane) != 0);
        Ok(synced.then_some(block.phase.0[lane]))
    }

    /// True while a character fades or is in a transition from one set of clips to another.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn is_changing(&self, handle: Handle) -> Result<bool, BuildError> {
        let (block, lane) = self.block(handle)?;
        Ok((block.fading | block.transitions) & (1 << lane) != 0)
    }

    pub(super) fn topology_at(&self, place: Place) -> u16 {
        self.cohorts[usize::from(place.cohort)].topology
    }

    pub(super) fn block_and_library(&mut self, place: Place) -> (&mut Block, &Library) {
        let cohort = &mut self.cohorts[usize::from(place.cohort)];
        let library = &self.topologies[usize::from(cohort.topology)].library;
        (&mut cohort.blocks[place.block as usize], library)
    }
}

pub(super) fn check_seconds(seconds: f32) -> Result<(), BuildError> {
    if FADES.contains(&seconds) {
        return Ok(());
    }
    Err(BuildError::Input { what: "seconds of a transition", value: seconds, right: "0 to 60 seconds" })
}

/// A cross-fade under way ends where it is; what it took can be given back.
fn end_fade(block: &mut Block, lane: usize) {
    block.settled |= block.fading & (1 << lane);
    put_bit(&mut block.fading, lane, false);
}

/// A character that plays synced clips already keeps its phase, so that others join in step.
fn join_phase(block: &mut Block, lane: usize, phase: Option<f32>) {
    let bit = 1u16 << lane;
    let synced = (0..MAX_CLIPS).any(|slot| block.plays(slot, lane) && block.clips[slot].synced & bit != 0);
    if let (Some(phase), false) = (phase, synced) {
        block.phase.0[lane] = phase;
        block.phase_lost.0[lane] = 0.0;
    }
}

/// True if the slot plays the clip in that way already.
fn goes_on(block: &Block, slot: usize, lane: usize, library: &Library, play: &Play) -> bool {
    let (rows, bit) = (&block.clips[slot], 1u16 << lane);
    let looping = library.head(rows.clip[lane]).looping;
    block.plays(slot, lane)
        && u32::from(rows.clip[lane]) == play.clip.index
        && (rows.synced & bit != 0) == play.sync
        && (rows.loops & bit != 0) == play.wrap.loops(looping)
        && (rows.ping_pong & bit != 0) == (play.wrap == Wrap::PingPong)
}

fn put_play(block: &mut Block, slot: usize, lane: usize, library: &Library, play: &Play, weight: f32) {
    let rows = &mut block.clips[slot];
    // Clips are numbered by 16 bits.
    rows.clip[lane] = play.clip.index as u16;
    rows.weight.0[lane] = weight;
    rows.speed.0[lane] = play.speed;
    put_bit(&mut rows.loops, lane, play.wrap.loops(library.head(rows.clip[lane]).looping));
    put_bit(&mut rows.ping_pong, lane, play.wrap == Wrap::PingPong);
    put_bit(&mut rows.synced, lane, play.sync);
    put_bit(&mut rows.playing, lane, true);
    rows.know(lane, library.head(rows.clip[lane]));
    set_time(block, slot, lane, library, play.time);
}

/// Synced slots take the phase's time, whatever is asked for.
fn set_time(block: &mut Block, slot: usize, lane: usize, library: &Library, time: f32) {
    let phase = block.phase.0[lane];
    let rows = &mut block.clips[slot];
    let bit = 1u16 << lane;
    let head = library.head(rows.clip[lane]);
    rows.lost.0[lane] = 0.0;
    rows.time.0[lane] = if rows.synced & bit != 0 {
        head.sync.time(phase)
    } else if rows.loops & bit != 0 {
        within(time, head.duration)
    } else if rows.ping_pong & bit != 0 {
        within(time, 2.0 * head.duration)
    } else {
        time.clamp(0.0, head.duration)
    };
}

/// `rem_euclid` that never gives the divisor itself.
pub(super) fn within(time: f32, cycle: f32) -> f32 {
    let time = time.rem_euclid(cycle);
    if time < cycle { time } else { 0.0 }
}
