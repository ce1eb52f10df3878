//! What a clip carries besides its rows: a few numbers as they are.

use super::bits::{BitReader, BitWriter, Exhausted};
use crate::clip::marks::checked_events;
use crate::clip::{BoundClip, ClipEvent, Contacts, FootContacts, Interval, SyncMarkers};
use crate::rig::Side;

/// Bits of a count.
const COUNT: u32 = 16;
/// Most elements of a list.
const MOST: usize = (1 << COUNT) - 1;

/// See [`BoundClip`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Meta {
    pub contacts: Option<Contacts>,
    pub events: Vec<ClipEvent>,
    pub sync: SyncMarkers,
}

/// Writes what `clip` carries.
pub(super) fn put(out: &mut BitWriter, clip: &BoundClip) -> Result<(), &'static str> {
    out.put(clip.contacts().is_some().into(), 1);
    if let Some(contacts) = clip.contacts() {
        put_count(out, contacts.feet.len())?;
        for foot in &contacts.feet {
            out.put(foot.side as u32, 1);
            for intervals in [&foot.heel, &foot.ball] {
                put_count(out, intervals.len())?;
                for interval in intervals {
                    put_float(out, interval.start);
                    put_float(out, interval.end);
                }
            }
        }
    }
    put_count(out, clip.events().len())?;
    for event in clip.events() {
        put_float(out, event.time);
        put_count(out, event.name.len())?;
        event.name.bytes().for_each(|byte| out.put(byte.into(), 8));
    }
    put_count(out, clip.sync().times().len())?;
    clip.sync().times().iter().for_each(|&time| put_float(out, time));
    Ok(())
}

/// Reads what [`put`] wrote of a clip of so many seconds.
pub(super) fn take(bits: &mut BitReader<'_>, duration: f32, looping: bool) -> Result<Meta, &'static str> {
    let mut contacts = None;
    if take_bits(bits, 1)? == 1 {
        let mut feet = Vec::new();
        for _ in 0..take_bits(bits, COUNT)? {
            let side = Side::BOTH[take_bits(bits, 1)? as usize];
            let [heel, ball] = [take_intervals(bits)?, take_intervals(bits)?];
            feet.push(FootContacts { side, heel, ball });
        }
        contacts = Some(Contacts { feet });
    }
    let mut events = Vec::new();
    for _ in 0..take_bits(bits, COUNT)? {
        let time = take_float(bits)?;
        let mut name = Vec::new();
        for _ in 0..take_bits(bits, COUNT)? {
            name.push(take_bits(bits, 8)? as u8);
        }
        let name = String::from_utf8(name).map_err(|_| "the name of an event is not UTF-8")?;
        events.push(ClipEvent { time, name });
    }
    let events = checked_events("", &events, duration, looping).map_err(|_| "an event lies outside of it")?;
    let mut times = Vec::new();
    for _ in 0..take_bits(bits, COUNT)? {
        times.push(take_float(bits)?);
    }
    let sync = SyncMarkers::unrolled("", times, duration).map_err(|_| "its sync markers are none")?;
    Ok(Meta { contacts, events, sync })
}

fn take_intervals(bits: &mut BitReader<'_>) -> Result<Vec<Interval>, &'static str> {
    let mut intervals = Vec::new();
    for _ in 0..take_bits(bits, COUNT)? {
        intervals.push(Interval { start: take_float(bits)?, end: take_float(bits)? });
    }
    Ok(intervals)
}

fn put_count(out: &mut BitWriter, count: usize) -> Result<(), &'static str> {
    if count > MOST {
        return Err("it has more contacts, events or markers than an archive holds, or longer names");
    }
    out.put(count as u32, COUNT);
    Ok(())
}

fn put_float(out: &mut BitWriter, value: f32) {
    out.put(value.to_bits(), 32);
}

fn take_bits(bits: &mut BitReader<'_>, count: u32) -> Result<u32, &'static str> {
    bits.take(count).map_err(|Exhausted| "its contacts, events and markers end too early")
}

fn take_float(bits: &mut BitReader<'_>) -> Result<f32, &'static str> {
    let value = f32::from_bits(take_bits(bits, 32)?);
    if value.is_finite() { Ok(value) } else { Err("one of its times is not finite") }
}
