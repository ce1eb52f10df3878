//! The frames of a BVH file, one at a time.

use std::io::BufRead;

use super::error::BvhProblem;
use super::hierarchy::{self, BvhJoint, Channel, EndSite, Hierarchy};
use super::tokens::{Place, Tokens};
use crate::import::Refusal;

/// How frames are laid out. Tools write one a line; what some of them break is read as well, but where lines are
/// frames, a line of another length is an error of that frame and not of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Not before the second frame begins.
    Unknown,
    Lines,
    Free,
}

/// Reads a BVH file as a stream: the joints at once, the frames one by one. Holds the joints and one word, however
/// long the file is.
///
/// ```
/// let text = "HIERARCHY ROOT Hips { OFFSET 0 0 0 CHANNELS 1 Yrotation }
///     MOTION Frames: 2 Frame Time: 0.5
///     90
///     45";
/// let mut reader = throng::import::bvh::BvhReader::new(text.as_bytes())?;
/// let mut frame = vec![0.0; reader.columns()];
/// let mut turns = Vec::new();
/// while reader.next_frame(&mut frame)? {
///     turns.push(frame[0]);
/// }
/// assert_eq!(turns, [90.0, 45.0]);
/// # Ok::<(), throng::import::Refusal>(())
/// ```
pub struct BvhReader<R> {
    tokens: Tokens<R>,
    hierarchy: Hierarchy,
    declared: usize,
    frame_time: Option<f64>,
    /// Where the frame time stands, or else the first frame.
    frame_time_place: Place,
    lenient: bool,
    layout: Layout,
    frame: usize,
    /// Where the last frame began.
    last: Place,
}

impl<R: BufRead> BvhReader<R> {
    /// Reads joints and the head of the motion.
    ///
    /// # Errors
    /// [`Refusal::Bvh`] with line and column, [`Refusal::Io`].
    pub fn new(reader: R) -> Result<Self, Refusal> {
        Self::with(reader, false)
    }

    /// [`Self::new`], perhaps for files whose number of frames is not the one they announce.
    pub(super) fn with(reader: R, lenient: bool) -> Result<Self, Refusal> {
        let mut tokens = Tokens::new(reader);
        let hierarchy = hierarchy::read(&mut tokens)?;
        let start = tokens.place();
        let mut out = Self {
            tokens,
            hierarchy,
            declared: 0,
            frame_time: None,
            frame_time_place: start,
            lenient,
            layout: Layout::Unknown,
            frame: 0,
            last: start,
        };
        out.head()?;
        Ok(out)
    }

    /// `Frames:` and `Frame Time:`, in any order.
    fn head(&mut self) -> Result<(), Refusal> {
        let mut declared = None;
        let mut timed = false;
        loop {
            let more = self.tokens.next()?;
            let word = self.tokens.word().to_ascii_lowercase();
            // Colons stand at the word, behind a space, or glued to the number.
            let key = word.split(|&byte| byte == b':').next().unwrap_or_default();
            let frames = key == b"frames" && declared.is_none();
            let time = (key == b"frame" || key == b"frametime") && !timed;
            if !frames && !time {
                if declared.is_none() {
                    return Err(self.tokens.unexpected("`Frames:` and their number"));
                }
                if !timed {
                    self.frame_time_place = self.tokens.place();
                }
                let number = !more || self.tokens.number().is_some();
                if !number {
                    return Err(self.tokens.unexpected("`Frame Time:` or the first frame"));
                }
                self.tokens.unread();
                break;
            }
            let (mut place, mut value) = (self.tokens.place(), word.clone());
            if key == b"frame" {
                self.tokens.next()?;
                value = self.tokens.word().to_ascii_lowercase();
                if value.split(|&byte| byte == b':').next() != Some(b"time") {
                    return Err(self.tokens.unexpected("Time, after Frame"));
                }
            }
            let mut value = match value.iter().position(|&byte| byte == b':') {
                Some(colon) => value.split_off(colon + 1),
                None => Vec::new(),
            };
            while value.is_empty() {
                if !self.tokens.next()? {
                    break;
                }
                place = self.tokens.place();
                value = self.tokens.word().strip_prefix(b":").unwrap_or(self.tokens.word()).to_vec();
            }
            let found = String::from_utf8_lossy(&value).into_owned();
            if frames {
                let Ok(number) = found.parse() else {
                    let expected = "the number of frames".to_owned();
                    return Err(place.problem(BvhProblem::Expected { expected, found }));
                };
                declared = Some(number);
            } else {
                let Some(seconds) = super::tokens::number(&value) else {
                    let what = "the frame time".to_owned();
                    return Err(place.problem(BvhProblem::NotANumber { what, found }));
                };
                timed = true;
                self.frame_time = Some(seconds);
                self.frame_time_place = place;
            }
        }
        self.declared = declared.unwrap_or(0);
        Ok(())
    }

    /// All joints, parents first.
    pub fn joints(&self) -> &[BvhJoint] {
        &self.hierarchy.joints
    }

    /// Ends of bones.
    pub fn end_sites(&self) -> &[EndSite] {
        &self.hierarchy.end_sites
    }

    /// Values of a frame.
    pub fn columns(&self) -> usize {
        self.hierarchy.columns
    }

    /// Frames that the file announces.
    pub fn declared_frames(&self) -> usize {
        self.declared
    }

    /// Seconds between frames as the file says, whatever it says.
    pub fn frame_time(&self) -> Option<f64> {
        self.frame_time
    }

    /// Frames read so far.
    pub fn frames(&self) -> usize {
        self.frame
    }

    pub(super) fn hierarchy(&self) -> &Hierarchy {
        &self.hierarchy
    }

    /// The refusal of a frame time, where the file's stands.
    pub(super) fn bad_frame_time(&self, value: Option<f64>) -> Refusal {
        self.frame_time_place.problem(BvhProblem::FrameTime { value })
    }

    /// Fills `values` with the next frame: positions in file units, rotations in degrees, in file order. False after
    /// the last one.
    ///
    /// # Errors
    /// [`Refusal::Bvh`] naming frame and line if a value is missing, surplus or no finite number, or if there are
    /// more or fewer frames than announced.
    ///
    /// # Panics
    /// If `values` is not [`Self::columns`] long.
    pub fn next_frame(&mut self, values: &mut [f64]) -> Result<bool, Refusal> {
        let need = self.hierarchy.columns;
        assert_eq!(values.len(), need, "a frame has as many values as there are columns");
        let more = self.tokens.next()?;
        let place = self.tokens.place();
        if more && self.frame > 0 && place.line == self.last.line && need > 0 {
            match self.layout {
                Layout::Unknown => self.layout = Layout::Free,
                Layout::Lines => return Err(self.wrong_width(self.frame - 1, need + 1, place)),
                Layout::Free => {}
            }
        }
        if !more {
            if self.frame < self.declared && !self.lenient && need > 0 {
                return Err(self.wrong_count(self.frame));
            }
            return Ok(false);
        }
        if need == 0 || (self.frame == self.declared && !self.lenient) {
            return Err(self.wrong_count(self.declared + 1));
        }
        if self.layout == Layout::Unknown && self.frame > 0 {
            self.layout = Layout::Lines;
        }
        self.last = place;
        for (column, value) in values.iter_mut().enumerate() {
            if column > 0 {
                let more = self.tokens.next()?;
                let broken = self.tokens.place().line != self.last.line;
                if !more || (broken && self.layout == Layout::Lines) {
                    return Err(self.wrong_width(self.frame, column, self.last));
                }
                if broken {
                    self.layout = Layout::Free;
                    self.last.line = self.tokens.place().line;
                }
            }
            let (joints, frame) = (&self.hierarchy.joints, self.frame);
            *value =
                hierarchy::finite(&self.tokens, || format!("{} in frame {frame}", title(joints, column)))?;
        }
        self.frame += 1;
        Ok(true)
    }

    fn wrong_width(&self, frame: usize, have: usize, place: Place) -> Refusal {
        place.problem(BvhProblem::FrameWidth { frame, have, need: self.hierarchy.columns })
    }

    fn wrong_count(&self, found: usize) -> Refusal {
        self.tokens.place().problem(BvhProblem::FrameCount { declared: self.declared, found })
    }
}

/// What a column holds, for messages.
fn title(joints: &[BvhJoint], column: usize) -> String {
    let of = joints.partition_point(|joint| joint.first_column <= column);
    // Joints without channels share their column with the next one.
    let joint = joints[..of].iter().rev().find(|joint| column < joint.first_column + joint.channels.len());
    let Some(joint) = joint else { return format!("column {column}") };
    match joint.channels[column - joint.first_column] {
        Channel::Position(axis) => format!("{}position of joint {:?}", axis_name(axis), joint.name),
        Channel::Rotation(axis) => format!("{}rotation of joint {:?}", axis_name(axis), joint.name),
    }
}

fn axis_name(axis: u8) -> char {
    ['X', 'Y', 'Z'][usize::from(axis) % 3]
}
