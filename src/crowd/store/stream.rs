//! Who follows which stream.

use super::{Crowd, Handle};
use crate::crowd::streams::{Stream, StreamReport};
use crate::error::BuildError;

impl Crowd {
    /// Lets a stream drive a character instead of clips, from the next frame on; layers go on over it. The poses come with
    /// each frame ([`Frame::streams`](crate::crowd::Frame::streams)). A character whose pose is missing or refused is not
    /// written: its slot keeps the last one, as if it were not seen. Where there is none yet, it shows the reference
    /// pose. Allocates when a map or a character of a higher index is new.
    ///
    /// # Errors
    /// If the handle is stale or the map leads to another topology.
    pub fn set_stream(&mut self, handle: Handle, stream: &Stream) -> Result<(), BuildError> {
        let place = self.place(handle)?;
        if self.topologies[usize::from(self.topology_at(place))].topology != *stream.map.topology() {
            return Err(BuildError::OtherTopology { what: format!("the map of stream {}", stream.id.0) });
        }
        self.set_clips(handle, &[])?;
        self.streams.set(handle.index, stream);
        let joints = self.topologies.iter().map(|data| data.topology.len()).max().unwrap_or(0);
        let (joints, lines) = (joints + self.streams.temporaries(), self.max_lines());
        for scratch in &mut self.scratch {
            scratch.reserve(joints, lines);
        }
        Ok(())
    }

    /// Lets a character go: it plays nothing and shows the reference pose, until it is given clips or a stream.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn clear_stream(&mut self, handle: Handle) -> Result<(), BuildError> {
        self.place(handle)?;
        self.streams.clear(handle.index);
        Ok(())
    }

    /// What a character follows, if anything.
    ///
    /// # Errors
    /// If the handle is stale.
    pub fn stream(&self, handle: Handle) -> Result<Option<Stream>, BuildError> {
        self.place(handle)?;
        Ok(self.streams.get(handle.index))
    }

    /// What the last frame made of its streams.
    #[must_use]
    pub fn stream_report(&self) -> StreamReport {
        self.stream_counts.report()
    }
}
