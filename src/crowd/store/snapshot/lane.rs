//! One character of a snapshot, and whether it can be.

use super::{ReadLane, Reader, SnapshotError, Writer};
use crate::crowd::block::{Block, FLAGS, Lane, LaneClip, MAX_CLIPS, ROWS, flag};
use crate::crowd::frame::TopologyData;
use crate::crowd::pair::Pair;
use crate::crowd::rare::{Fade, LayerState, Rare, Transition};
use crate::crowd::stages::inertia::{self, JointMotion};
use crate::crowd::store::rebase::FARTHEST_ROOT;
use crate::crowd::store::{Crowd, MAX_SPEED};
use crate::lanes::Row;

/// Longest fade or transition, seconds; farthest from its root that anything can be, and in the world, metres: roots are
/// within [`FARTHEST_ROOT`], and feet and ground near them.
const LONGEST: f32 = 60.0;
const FAR: f32 = 1e6;
const FAR_IN_WORLD: f32 = 10.0 * FARTHEST_ROOT;
/// Farthest that an old motion has the pelvis, metres: places of streams are below 1e6 m, of whatever size their bodies are.
const FAR_PELVIS: f32 = 1e8;

/// What is over (slots that play nothing, fades and transitions that have ended, layers that were taken off, rows that
/// only pooled memory has) is written as if it had never been: equal characters give equal bytes.
pub(super) fn write(out: &mut Writer<'_>, (block, lane): (&Block, usize), joints: usize, interpolate: bool) {
    let state = block.peek(lane);
    let bit = |mask: u16| mask & (1 << lane) != 0;
    out.u32(state.character);
    out.u16(state.rig);
    out.u16(state.skin);
    let range = block.tokens[lane].as_ref().map_or((0, 0), |token| (token.first_line(), token.line_count()));
    out.u32(range.0);
    out.u32(range.1);
    let [stale, fading, transiting, layered, _settled, fresh, shown] = state.flags;
    out.bits(&[stale, fading, transiting, layered, false, fresh, shown]);
    let Pair { since, lag, span, second, cut, patient, both, fade, poorer } =
        if interpolate { state.pair } else { Pair::NEW };
    out.0.extend([since, lag, span, fade, poorer]);
    out.bits(&[second, cut, patient, both]);
    for (slot, (clip, empty)) in state.clips.iter().zip(&LaneClip::EMPTY).enumerate() {
        let clip = if block.plays(slot, lane) { clip } else { empty };
        out.u16(clip.clip);
        out.f32s(&clip.values);
        out.bits(&clip.bits);
    }
    out.f32s(&state.rows);
    let busy = bit(block.fading | block.transitions | block.layered);
    let Some(rare) = block.rare[lane].as_ref().filter(|_| busy) else {
        out.bits(&[false]);
        return;
    };
    out.bits(&[true]);
    let Fade { from, to, elapsed, duration } = if fading { rare.fade } else { Fade::default() };
    out.f32s(&from);
    out.f32s(&to);
    out.f32s(&[elapsed, duration]);
    let over = Transition::default();
    let transition = if transiting { &rare.transition } else { &over };
    let Transition { memory, twist, elapsed, duration, layered } = transition;
    out.f32s(twist);
    out.f32s(&[*elapsed, *duration, *layered]);
    let memory = memory.as_deref().filter(|memory| memory.len() >= inertia::rows(joints));
    let told = if memory.is_some() { joints + 2 } else { 0 };
    out.count(told);
    for joint in 0..told {
        out.f32s(memory.map_or(JointMotion::default(), |memory| inertia::get(memory, joint)).as_flattened());
    }
    for layer in &rare.layers {
        let mut layer = if layer.used { *layer } else { LayerState::default() };
        if layer.elapsed >= layer.duration {
            (layer.from, layer.elapsed, layer.duration) = (layer.weight, 0.0, 0.0);
        }
        out.u16(layer.clip);
        out.u16(layer.mask);
        let LayerState { time, lost, speed, weight, from, to, elapsed, duration, .. } = layer;
        out.f32s(&[time, lost, speed, weight, from, to, elapsed, duration]);
        out.bits(&[layer.used, layer.loops, layer.ping_pong, layer.additive, layer.model_space]);
    }
}

pub(super) fn read(reader: &mut Reader<'_>, crowd: &Crowd, topology: u16) -> Result<ReadLane, SnapshotError> {
    let (character, rig, skin) = (reader.u32()?, reader.u16()?, reader.u16()?);
    let range = (reader.u32()?, reader.u32()?);
    let fits = crowd.rigs.get(usize::from(rig)).is_some_and(|(_, of)| *of == topology);
    let lines = crowd.rig_data.get(usize::from(rig)).and_then(|data| data.skins.get(usize::from(skin)));
    if !fits || lines.is_none_or(|skin| crowd.config.slot_lines(skin) != range.1) {
        return Err(reader.damaged("a rig, a skin or a slot's size"));
    }
    let flags: [bool; FLAGS] = reader.bits()?;
    if flags[flag::SETTLED] {
        return Err(reader.damaged("flags"));
    }
    let &[since, lag, span, fade, poorer] = reader.take(5)? else {
        return Err(reader.damaged("a pair of poses"));
    };
    let [second, cut, patient, both] = reader.bits()?;
    let pair = Pair { since, lag, span, second, cut, patient, both, fade, poorer };
    if !pair.sound() || pair != Pair::NEW && !crowd.config.interpolate {
        return Err(reader.damaged("a pair of poses"));
    }
    let mut clips = LaneClip::EMPTY;
    for clip in &mut clips {
        clip.clip = reader.u16()?;
        reader.f32s(&mut clip.values)?;
        clip.bits = reader.bits()?;
    }
    let mut rows = [0.0; ROWS];
    reader.f32s(&mut rows)?;
    let [has_rare] = reader.bits()?;
    let rare = if has_rare { Some(Box::new(read_rare(reader, crowd, topology)?)) } else { None };
    Ok((Lane { character, rig, skin, token: None, rare, flags, written: false, pair, clips, rows }, range))
}

fn read_rare(reader: &mut Reader<'_>, crowd: &Crowd, topology: u16) -> Result<Rare, SnapshotError> {
    let mut fade = Fade::default();
    reader.f32s(&mut fade.from)?;
    reader.f32s(&mut fade.to)?;
    let mut seconds = [0.0; 2];
    reader.f32s(&mut seconds)?;
    [fade.elapsed, fade.duration] = seconds;
    let mut transition = Transition::default();
    reader.f32s(&mut transition.twist)?;
    let mut values = [0.0; 3];
    reader.f32s(&mut values)?;
    [transition.elapsed, transition.duration, transition.layered] = values;
    let told = reader.count(size_of::<JointMotion>())?;
    if told > 0 {
        let joints = crowd.topologies[usize::from(topology)].topology.len();
        if told != joints + 2 {
            return Err(reader.damaged("the memory of a transition"));
        }
        let mut memory = vec![Row::ZERO; inertia::rows(joints)];
        for joint in 0..told {
            let mut own = JointMotion::default();
            reader.f32s(own.as_flattened_mut())?;
            // Parameters of rotations, metres, and tens of both a second; a stream may have had the pelvis far away.
            if own.as_flattened().iter().any(|value| value.abs() > FAR_PELVIS) {
                return Err(reader.damaged("the memory of a transition"));
            }
            inertia::put(&mut memory, joint, own);
        }
        transition.memory = Some(memory.into());
    }
    let mut rare = Rare { fade, transition, ..Rare::default() };
    for layer in &mut rare.layers {
        *layer = LayerState { clip: reader.u16()?, mask: reader.u16()?, ..LayerState::default() };
        let mut values = [0.0; 8];
        reader.f32s(&mut values)?;
        [
            layer.time,
            layer.lost,
            layer.speed,
            layer.weight,
            layer.from,
            layer.to,
            layer.elapsed,
            layer.duration,
        ] = values;
        [layer.used, layer.loops, layer.ping_pong, layer.additive, layer.model_space] = reader.bits()?;
    }
    Ok(rare)
}

/// What follows from the clips that a lane plays.
pub(super) fn know(crowd: &Crowd, block: &mut Block, lane: usize, topology: u16) {
    let library = &crowd.topologies[usize::from(topology)].library;
    for rows in &mut block.clips {
        if library.clip(rows.clip[lane].into()).is_some() {
            rows.know(lane, library.head(rows.clip[lane]));
        }
    }
}

/// Refuses what no frame could have left behind: later frames must stay finite.
pub(super) fn check(
    reader: &Reader<'_>,
    crowd: &Crowd,
    block: &Block,
    lane: usize,
    topology: u16,
) -> Result<(), SnapshotError> {
    let library = &crowd.topologies[usize::from(topology)].library;
    let damaged = |what| Err(reader.damaged(what));
    let bit = |mask: u16| mask & (1 << lane) != 0;
    // As 16-bit integers they must not wrap.
    let share = |value: f32| (0.0..=1.0 + 1e-6).contains(&value);
    let mut total = 0.0;
    for rows in &block.clips {
        let (time, lost) = (rows.time.0[lane], rows.lost.0[lane]);
        let (weight, speed) = (rows.weight.0[lane], rows.speed.0[lane]);
        total += weight;
        let clip = library.clip(rows.clip[lane].into());
        let cycle = clip.map_or(0.0, |clip| clip.duration() * if bit(rows.ping_pong) { 2.0 } else { 1.0 });
        // Of an empty slot only the clip is ever looked at.
        let inside = (0.0..=cycle).contains(&time) || weight == 0.0 && time.abs() < FAR;
        let known = clip.is_some() || rows.clip[lane] == 0 && weight == 0.0 && !bit(block.fading);
        if !(share(weight) && inside && known && lost.abs() < 1.0 && speed.abs() <= MAX_SPEED) {
            return damaged("a clip that a character plays");
        }
        let alone = clip.is_some_and(|clip| !clip.additive());
        if weight > 0.0 && !bit(rows.playing) || bit(rows.playing) && !alone {
            return damaged("a clip that a character plays");
        }
        if bit(rows.ping_pong) && bit(rows.loops) || bit(rows.synced) && !bit(rows.loops) {
            return damaged("how a clip ends");
        }
    }
    if !(0.0..=1.001).contains(&total) {
        return damaged("weights of a character's clips");
    }
    let of = |rows: &[Row], most: f32| rows.iter().all(|row| row.0[lane].abs() < most);
    let norm: f32 = block.rotation.iter().map(|row| row.0[lane] * row.0[lane]).sum();
    let small = of(&block.displacement, FAR)
        && of(&block.position_lost, 1e3)
        && of(&block.rotation_lost, 1e-2)
        && of(&[block.pelvis, block.age], FAR)
        && of(&[block.last_height], FAR_IN_WORLD)
        && block.feet.iter().all(|foot| of(&foot.offset, FAR) && of(&foot.last, FAR_IN_WORLD));
    let on_off = [block.feet[0].locked, block.feet[1].locked];
    let sound = small
        && of(&block.position, FARTHEST_ROOT)
        && (norm - 1.0).abs() < 0.1
        && block.age.0[lane] >= 0.0
        && on_off.iter().all(|row| share(row.0[lane]))
        && share(block.phase.0[lane])
        && block.phase_lost.0[lane].abs() < 1.0;
    if !sound {
        return damaged("where a character is");
    }
    let (rig, _) = &crowd.rigs[usize::from(block.rigs[lane])];
    if block.leg.0[lane].to_bits() != rig.leg().to_bits() {
        return damaged("a character's leg length");
    }
    let Some(rare) = &block.rare[lane] else {
        return if bit(block.fading | block.transitions | block.layered) { damaged("flags") } else { Ok(()) };
    };
    let playing = core::array::from_fn(|slot| block.plays(slot, lane));
    let changes = (bit(block.fading).then_some(playing), bit(block.transitions));
    check_rare(rare, changes, &crowd.topologies[usize::from(topology)])
        .map_or(Ok(()), |what| Err(reader.damaged(what)))
}

/// `fading`: which slots play, if a cross-fade is under way.
fn check_rare(
    rare: &Rare,
    (fading, transiting): (Option<[bool; MAX_CLIPS]>, bool),
    data: &TopologyData,
) -> Option<&'static str> {
    let share = |value: &f32| (0.0..=1.0 + 1e-6).contains(value);
    let Rare { fade, transition, layers } = rare;
    let sum = |weights: &[f32; MAX_CLIPS]| weights.iter().sum::<f32>();
    let sound = fade.from.iter().chain(&fade.to).all(share)
        && sum(&fade.from) < 1.01
        && sum(&fade.to) < 1.01
        && fade.elapsed >= 0.0
        && (0.0..=LONGEST).contains(&fade.duration)
        // Only what plays has a clock that runs; and a character is to play something in the end.
        && fading.is_none_or(|playing| {
            let idle = |slot: usize| playing[slot] || fade.from[slot] == 0.0 && fade.to[slot] == 0.0;
            fade.duration > 0.0 && (sum(&fade.to) - 1.0).abs() < 0.01 && (0..MAX_CLIPS).all(idle)
        });
    if !sound {
        return Some("a cross-fade");
    }
    let sound = transition.elapsed >= 0.0
        // One that changes its mind takes as long again from where it is.
        && (0.0..=2.0 * LONGEST).contains(&transition.duration)
        && (!transiting || transition.duration > 0.0 && transition.memory.is_some())
        && share(&transition.layered)
        && transition.twist.iter().all(|value| value.abs() < FAR);
    if !sound {
        return Some("a transition");
    }
    let sound = |layer: &LayerState| {
        let clip = data.library.clip(layer.clip.into()).filter(|clip| clip.additive() == layer.additive);
        let cycle = clip.map_or(0.0, |clip| clip.duration() * if layer.ping_pong { 2.0 } else { 1.0 });
        !layer.used
            || clip.is_some()
                && usize::from(layer.mask) < data.masks.len()
                && [layer.weight, layer.from, layer.to].iter().all(share)
                && (0.0..=cycle).contains(&layer.time)
                && layer.lost.abs() < 1.0
                && layer.speed.abs() <= MAX_SPEED
                && layer.elapsed >= 0.0
                && (0.0..=LONGEST).contains(&layer.duration)
                && !(layer.loops && layer.ping_pong)
                && !(layer.additive && layer.model_space)
    };
    (!layers.iter().all(sound)).then_some("a layer")
}
