//! Clips of one topology by name.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::BoundClip;
use super::archive::{Archive, ArchiveError};
use crate::rig::Topology;

/// Clips of one topology, each under a name of its own, in the order of their names.
#[derive(Clone, Debug)]
pub struct ClipLibrary {
    topology: Topology,
    clips: BTreeMap<String, BoundClip>,
}

impl ClipLibrary {
    /// Without clips yet.
    pub fn new(topology: Topology) -> Self {
        Self { topology, clips: BTreeMap::new() }
    }

    /// All clips of an archive.
    ///
    /// # Errors
    /// The first clip that cannot be unpacked.
    pub fn unpack(archive: &Archive<'_>) -> Result<Self, ArchiveError> {
        let mut library = Self::new(archive.topology().clone());
        for clip in (0..archive.len()).filter_map(|index| archive.clip(index)) {
            library.insert(clip?)?;
        }
        Ok(library)
    }

    /// Takes a clip in.
    ///
    /// # Errors
    /// If it is of another topology, or its name is taken.
    pub fn insert(&mut self, clip: BoundClip) -> Result<(), ArchiveError> {
        if *clip.topology() != self.topology {
            return Err(ArchiveError::OtherTopology { clip: clip.name().to_owned() });
        }
        match self.clips.entry(clip.name().to_owned()) {
            Entry::Occupied(taken) => Err(ArchiveError::Name { clip: taken.key().clone() }),
            Entry::Vacant(place) => {
                place.insert(clip);
                Ok(())
            }
        }
    }

    /// The clip of that name.
    pub fn get(&self, name: &str) -> Option<&BoundClip> {
        self.clips.get(name)
    }

    /// What all clips are bound to.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Number of clips.
    pub fn len(&self) -> usize {
        self.clips.len()
    }

    /// True if there is no clip.
    pub fn is_empty(&self) -> bool {
        self.clips.is_empty()
    }

    /// By name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &BoundClip> {
        self.clips.values()
    }
}
