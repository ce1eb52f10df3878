//! Live maps by what they are made of: the same content gives the same map, whatever it is called and wherever it is kept.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::bind::BindSource;
use super::live::LiveMap;
use crate::error::BuildError;
use crate::rig::Rig;

/// All live maps of a host, each built once per pair of source and rig and held once per content: rigs of one topology
/// share a map unless a chain is matched by their proportions.
#[derive(Clone, Debug, Default)]
pub struct LiveMaps {
    /// By the content of source and target.
    known: HashMap<[u64; 2], Arc<LiveMap>>,
    distinct: Vec<Arc<LiveMap>>,
}

impl LiveMaps {
    /// The map from `source` to `rig`, built if its content is new.
    ///
    /// # Errors
    /// As [`LiveMap::build`].
    pub fn get(&mut self, source: BindSource<'_>, rig: &Rig) -> Result<Arc<LiveMap>, BuildError> {
        let key = content(source, rig);
        if let Some(map) = self.known.get(&key) {
            return Ok(Arc::clone(map));
        }
        let built = LiveMap::build(source, rig)?;
        let map = match self.distinct.iter().find(|map| ***map == built) {
            Some(map) => Arc::clone(map),
            None => {
                self.distinct.push(Arc::new(built));
                Arc::clone(&self.distinct[self.distinct.len() - 1])
            }
        };
        self.known.insert(key, Arc::clone(&map));
        Ok(map)
    }

    /// Distinct maps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.distinct.len()
    }

    /// True if none has been asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.distinct.is_empty()
    }
}

/// 128 bits of all that a map depends on: names, parents and roles of the source, its reference pose, and the target's
/// joints and reference positions. Joint orientations of the target and rest poses of either take no part.
fn content(source: BindSource<'_>, rig: &Rig) -> [u64; 2] {
    [1u64, 2].map(|seed| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        for joint in &source.skeleton.joints {
            (&joint.name, joint.parent).hash(&mut hasher);
        }
        source.roles.len().hash(&mut hasher);
        for pair in source.roles.iter() {
            pair.hash(&mut hasher);
        }
        for value in source.reference.models.iter().flat_map(glam::DMat4::to_cols_array) {
            value.to_bits().hash(&mut hasher);
        }
        let topology = rig.topology();
        (topology.keys(), topology.parents(), topology.levels(), topology.pelvis()).hash(&mut hasher);
        for value in rig.positions().iter().flat_map(|at| at.to_array()) {
            value.to_bits().hash(&mut hasher);
        }
        hasher.finish()
    })
}
