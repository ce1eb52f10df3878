//! Who follows which stream: maps are told by content, since the host has them.

use std::sync::Arc;

use super::{Crowd, Location, Reader, SnapshotError, Writer};
use crate::crowd::block::Block;
use crate::crowd::streams::{FollowerState, Stream, StreamRoot, StreamTable};
use crate::retarget::LiveMap;

/// Bytes of a follower without a place of its stream and without one that comes after.
const LEAST: usize = 14;
/// Farthest place of a stream, metres: see [`StreamTable`].
const FAR: f32 = 1e7;

pub(super) fn write(out: &mut Writer<'_>, streams: &StreamTable) {
    let followers: Vec<FollowerState> = streams.states().collect();
    // Hashed once each, in the order in which they are met.
    let mut maps: Vec<(&Arc<LiveMap>, u64)> = Vec::new();
    let all = followers.iter().flat_map(|state| {
        let next = state.leaving.as_ref().and_then(|(_, next)| next.as_ref());
        core::iter::once(&state.stream).chain(next)
    });
    let mut last: Option<&Arc<LiveMap>> = None;
    for Stream { map, .. } in all {
        let known = |other: &Arc<LiveMap>| Arc::ptr_eq(map, other);
        if !last.is_some_and(known) && !maps.iter().any(|(other, _)| known(other)) {
            maps.push((map, map.content()));
        }
        last = Some(map);
    }
    let place = |stream: &Stream| maps.iter().position(|(map, _)| Arc::ptr_eq(map, &stream.map)).unwrap_or(0);
    out.count(maps.len());
    maps.iter().for_each(|(_, content)| out.u64(*content));
    out.count(followers.len());
    for FollowerState { character, stream, root, leaving } in &followers {
        let next = leaving.as_ref().and_then(|(_, next)| next.as_ref());
        let travels = |stream: &Stream| stream.root == StreamRoot::Travel;
        out.u32(*character);
        out.count(place(stream));
        out.u32(stream.id.0);
        out.bits(&[
            travels(stream),
            root.is_some(),
            leaving.is_some(),
            leaving.as_ref().is_some_and(|(placed, _)| *placed),
            next.is_some(),
            next.is_some_and(travels),
        ]);
        root.iter().for_each(|root| out.f32s(root));
        if let Some(next) = next {
            out.count(place(next));
            out.u32(next.id.0);
        }
    }
}

pub(super) fn read(
    reader: &mut Reader<'_>,
    crowd: &Crowd,
    handed: &[Arc<LiveMap>],
    characters: &[Location],
    cohorts: &[(Vec<Block>, Vec<u32>)],
) -> Result<Vec<FollowerState>, SnapshotError> {
    let count = reader.count(8)?;
    let known: Vec<(u64, &Arc<LiveMap>)> = match count {
        0 => Vec::new(),
        _ => handed.iter().chain(crowd.streams.maps()).map(|map| (map.content(), map)).collect(),
    };
    let mut maps = Vec::with_capacity(count);
    for _ in 0..count {
        let have = reader.u64()?;
        let Some(&(_, map)) = known.iter().find(|(content, _)| *content == have) else {
            return Err(SnapshotError::Map { have });
        };
        maps.push(map);
    }
    let count = reader.count(LEAST)?;
    let mut followers: Vec<FollowerState> = Vec::with_capacity(count);
    for _ in 0..count {
        let (character, map, id) = (reader.u32()?, reader.u32()?, reader.u32()?);
        let [travels, known, leaves, placed, follows, next_travels] = reader.bits()?;
        if followers.last().is_some_and(|last| last.character >= character) {
            return Err(reader.damaged("the order of characters that follow streams"));
        }
        let Some(place) = characters.get(character as usize).and_then(Location::place) else {
            return Err(reader.damaged("a stream of nobody"));
        };
        let topology = &crowd.topologies[usize::from(crowd.topology_at(place))].topology;
        let of = |reader: &Reader<'_>, map: u32, id: u32, travels: bool| match maps.get(map as usize) {
            Some(map) if map.topology() == topology => Ok(Stream::new(id, map, travels)),
            _ => Err(reader.damaged("the map of a stream")),
        };
        let stream = of(reader, map, id, travels)?;
        let root = if known {
            let mut root = [0.0; 4];
            reader.f32s(&mut root)?;
            let [x, z, y, w] = root;
            let unit = (y * y + w * w - 1.0).abs() < 0.01;
            if !(travels && unit && x.abs() < FAR && z.abs() < FAR) {
                return Err(reader.damaged("the place of a stream"));
            }
            Some(root)
        } else {
            None
        };
        let next = if follows {
            let (map, id) = (reader.u32()?, reader.u32()?);
            Some(of(reader, map, id, next_travels)?)
        } else {
            None
        };
        let (blocks, _) = &cohorts[usize::from(place.cohort)];
        let block = &blocks[place.block as usize];
        let bit = 1u16 << place.lane;
        let plays = block.clips.iter().any(|rows| rows.playing & bit != 0);
        let sound = if leaves {
            // A transition that ended with the last frame is taken note of in the next.
            !(follows && plays)
        } else {
            !(placed || follows || plays)
        };
        if !sound || next_travels && !follows {
            return Err(reader.damaged("the way out of a stream"));
        }
        followers.push(FollowerState { character, stream, root, leaving: leaves.then_some((placed, next)) });
    }
    Ok(followers)
}
