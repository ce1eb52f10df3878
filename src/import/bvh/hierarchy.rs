//! The joints of a BVH file.

use std::io::BufRead;

use super::error::BvhProblem;
use super::tokens::{LONGEST, Tokens};
use crate::import::Refusal;

/// One column of the motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Along X, Y or Z (0 to 2), file units.
    Position(u8),
    /// About the joint's own X, Y or Z (0 to 2), degrees. A joint's rotation is the product of its channels in file
    /// order: the first turns what the later ones have turned.
    Rotation(u8),
}

/// One joint as the file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct BvhJoint {
    /// As the file spells it.
    pub name: String,
    /// Index of the parent; `None` for a root.
    pub parent: Option<u16>,
    /// From the parent, file units.
    pub offset: [f64; 3],
    /// In file order.
    pub channels: Vec<Channel>,
    /// Where its first channel stands in a frame.
    pub first_column: usize,
}

/// The end of a bone that carries no joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EndSite {
    /// Joint that it hangs on.
    pub joint: u16,
    /// From that joint, file units.
    pub offset: [f64; 3],
}

/// All joints, parents first, in file order.
#[derive(Clone, Debug, Default)]
pub(super) struct Hierarchy {
    pub(super) joints: Vec<BvhJoint>,
    pub(super) end_sites: Vec<EndSite>,
    /// Channels of all joints.
    pub(super) columns: usize,
    /// Joints and ends whose OFFSET has more than three numbers.
    pub(super) long_offsets: usize,
}

/// Bodies with cloth and hair have some hundreds. With what a joint takes in memory until the import is done, so
/// many stay below the fixed part of what an import may take.
pub(super) const MOST_JOINTS: usize = 8192;

/// Three positions and any product of rotations that a tool may write.
const MOST_CHANNELS: usize = 12;

/// Reads from HIERARCHY to MOTION.
pub(super) fn read<R: BufRead>(tokens: &mut Tokens<R>) -> Result<Hierarchy, Refusal> {
    tokens.skip_byte_order_mark()?;
    tokens.next()?;
    if !tokens.is("HIERARCHY") {
        return Err(tokens.place().problem(BvhProblem::MissingHierarchy { found: tokens.text() }));
    }
    let mut out = Hierarchy::default();
    // Joints whose braces are open, and whether each has said its offset and channels.
    let mut open: Vec<(u16, [bool; 2])> = Vec::new();
    loop {
        let more = tokens.next()?;
        let Some((joint, [has_offset, has_channels])) = open.last_mut() else {
            if !more {
                return Err(tokens.place().problem(BvhProblem::NoMotion));
            }
            if tokens.is("MOTION") && !out.joints.is_empty() {
                return Ok(out);
            }
            if !tokens.is("ROOT") {
                return Err(tokens.unexpected("ROOT or MOTION"));
            }
            open.push((begin(tokens, &mut out, None)?, [false; 2]));
            continue;
        };
        let index = usize::from(*joint);
        if tokens.is("OFFSET") {
            if std::mem::replace(has_offset, true) {
                return Err(twice(tokens, &out, index, "OFFSET".to_owned()));
            }
            let offset = offset(tokens, &mut out)?;
            out.joints[index].offset = offset;
        } else if tokens.is("CHANNELS") {
            if std::mem::replace(has_channels, true) {
                return Err(twice(tokens, &out, index, "CHANNELS".to_owned()));
            }
            channels(tokens, &mut out, index)?;
        } else if tokens.is("JOINT") {
            let parent = *joint;
            open.push((begin(tokens, &mut out, Some(parent))?, [false; 2]));
        } else if tokens.is("End") {
            let joint = *joint;
            end_site(tokens, &mut out, joint)?;
        } else if tokens.is("}") {
            if !*has_offset {
                let joint = out.joints[index].name.clone();
                return Err(tokens.place().problem(BvhProblem::MissingOffset { joint }));
            }
            open.pop();
        } else if channel(tokens.word()).is_some() {
            let joint = &out.joints[index];
            let declared = joint.channels.len();
            let listed = declared + 1;
            return Err(tokens.place().problem(BvhProblem::ChannelCount {
                joint: joint.name.clone(),
                declared,
                listed,
            }));
        } else {
            let name = &out.joints[index].name;
            let expected =
                format!("OFFSET, CHANNELS, JOINT, End Site or the closing brace of joint {name:?}");
            return Err(tokens.unexpected(expected));
        }
    }
}

/// A joint's name and opening brace.
fn begin<R: BufRead>(
    tokens: &mut Tokens<R>,
    out: &mut Hierarchy,
    parent: Option<u16>,
) -> Result<u16, Refusal> {
    if out.joints.len() == MOST_JOINTS {
        return Err(tokens.place().problem(BvhProblem::TooManyJoints { most: MOST_JOINTS }));
    }
    let name = open_brace(tokens)?;
    let joint = out.joints.len() as u16;
    out.joints.push(BvhJoint {
        name,
        parent,
        offset: [0.0; 3],
        channels: Vec::new(),
        first_column: out.columns,
    });
    Ok(joint)
}

/// Everything before the opening brace: names may have spaces, but not line breaks.
fn open_brace<R: BufRead>(tokens: &mut Tokens<R>) -> Result<String, Refusal> {
    let mut name = String::new();
    let mut line = 0;
    loop {
        let more = tokens.next()?;
        if tokens.is("{") {
            return Ok(name);
        }
        if !more || (!name.is_empty() && tokens.place().line != line) {
            return Err(tokens.unexpected("an opening brace"));
        }
        line = tokens.place().line;
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(&tokens.text());
        if name.len() > LONGEST {
            return Err(tokens.place().problem(BvhProblem::LongWord { most: LONGEST }));
        }
    }
}

fn twice<R: BufRead>(tokens: &Tokens<R>, out: &Hierarchy, joint: usize, what: String) -> Refusal {
    let joint = out.joints[joint].name.clone();
    tokens.place().problem(BvhProblem::Twice { joint, what })
}

/// Three numbers; some tools write a rest rotation behind them, which is in the motion as well.
fn offset<R: BufRead>(tokens: &mut Tokens<R>, out: &mut Hierarchy) -> Result<[f64; 3], Refusal> {
    let mut offset = [0.0; 3];
    for (value, axis) in offset.iter_mut().zip(["X", "Y", "Z"]) {
        tokens.next()?;
        *value = finite(tokens, || format!("{axis} of an OFFSET"))?;
    }
    let mut long = false;
    while tokens.next()? && tokens.number().is_some() {
        long = true;
    }
    tokens.unread();
    out.long_offsets += usize::from(long);
    Ok(offset)
}

/// The word as a finite number.
pub(super) fn finite<R: BufRead>(tokens: &Tokens<R>, what: impl FnOnce() -> String) -> Result<f64, Refusal> {
    match tokens.number() {
        Some(value) if value.is_finite() => Ok(value),
        Some(_) => Err(tokens.place().problem(BvhProblem::NonFinite { what: what(), found: tokens.text() })),
        None => Err(tokens.place().problem(BvhProblem::NotANumber { what: what(), found: tokens.text() })),
    }
}

fn channels<R: BufRead>(tokens: &mut Tokens<R>, out: &mut Hierarchy, index: usize) -> Result<(), Refusal> {
    tokens.next()?;
    let joint = out.joints[index].name.clone();
    let number = std::str::from_utf8(tokens.word()).ok().and_then(|word| word.parse::<usize>().ok());
    let Some(declared) = number.filter(|&number| number <= MOST_CHANNELS) else {
        return Err(
            tokens.unexpected(format!("the number of channels of joint {joint:?}, 0 to {MOST_CHANNELS}"))
        );
    };
    let mut list: Vec<Channel> = Vec::with_capacity(declared);
    for _ in 0..declared {
        tokens.next()?;
        let Some(channel) = channel(tokens.word()) else {
            let listed = list.len();
            let keyword = ["JOINT", "End", "OFFSET", "CHANNELS", "MOTION", "{", "}", ""];
            let problem = if keyword.iter().any(|word| tokens.is(word)) {
                BvhProblem::ChannelCount { joint, declared, listed }
            } else {
                BvhProblem::UnsupportedChannel { joint, channel: tokens.text() }
            };
            return Err(tokens.place().problem(problem));
        };
        // An axis may turn twice, but nothing is in two places.
        if matches!(channel, Channel::Position(_)) && list.contains(&channel) {
            return Err(twice(tokens, out, index, tokens.text()));
        }
        list.push(channel);
    }
    out.joints[index].first_column = out.columns;
    out.columns += declared;
    out.joints[index].channels = list;
    Ok(())
}

fn channel(word: &[u8]) -> Option<Channel> {
    let (axis, kind) = word.split_first()?;
    let axis = match axis.to_ascii_lowercase() {
        b'x' => 0,
        b'y' => 1,
        b'z' => 2,
        _ => return None,
    };
    if kind.eq_ignore_ascii_case(b"position") {
        Some(Channel::Position(axis))
    } else if kind.eq_ignore_ascii_case(b"rotation") {
        Some(Channel::Rotation(axis))
    } else {
        None
    }
}

/// `End Site`, perhaps with a name, and its offset in braces.
fn end_site<R: BufRead>(tokens: &mut Tokens<R>, out: &mut Hierarchy, joint: u16) -> Result<(), Refusal> {
    tokens.next()?;
    if !tokens.is("Site") {
        return Err(tokens.unexpected("Site"));
    }
    open_brace(tokens)?;
    tokens.next()?;
    if !tokens.is("OFFSET") {
        return Err(tokens.unexpected("the OFFSET of an End Site"));
    }
    let offset = offset(tokens, out)?;
    tokens.next()?;
    if !tokens.is("}") {
        return Err(tokens.unexpected("the closing brace of an End Site"));
    }
    // As many as joints: what else a damaged file repeats is not kept.
    if out.end_sites.len() == MOST_JOINTS {
        return Err(tokens.place().problem(BvhProblem::TooManyJoints { most: MOST_JOINTS }));
    }
    out.end_sites.push(EndSite { joint, offset });
    Ok(())
}
