//! The scenes that are measured: those of `throng::stress`, with what it takes to start them again.

use glam::Vec2;
use throng::crowd::{Handle, Stage, WorldTransform};
use throng::error::BuildError;
use throng::stress::{Scene, SceneOptions, StressError, Terrain};

use crate::baseline::{Baseline, Character, Ground};
use crate::input::input_of;
use crate::measure::{DT, executor};

/// A stress scene that can be put back to where it began.
#[derive(Debug)]
pub struct BenchScene {
    /// Crowd and terrain.
    pub scene: Scene,
    places: Vec<WorldTransform>,
}

impl BenchScene {
    /// Builds it.
    ///
    /// # Errors
    /// As [`Scene::build`].
    pub fn build(options: &SceneOptions) -> Result<Self, StressError> {
        let scene = Scene::build(options)?;
        let place = |&handle| scene.crowd.transform(handle);
        let places = scene.handles().iter().map(place).collect::<Result<_, _>>()?;
        Ok(Self { scene, places })
    }

    /// One frame on the current pool.
    ///
    /// # Errors
    /// As [`Scene::frame`].
    pub fn frame(&mut self, until: Stage) -> Result<(), BuildError> {
        self.scene.frame(DT, until, executor())
    }

    /// Everybody back to their first place: whoever walks for long enough leaves the map, and there is less to do
    /// without ground.
    ///
    /// # Errors
    /// Does not fail for live characters.
    pub fn restart(&mut self) -> Result<(), BuildError> {
        for (at, &place) in self.places.iter().enumerate() {
            let handle = self.scene.handles()[at];
            self.scene.crowd.teleport(handle, place)?;
        }
        Ok(())
    }

    /// Live characters.
    pub fn characters(&self) -> f64 {
        self.scene.crowd.len().max(1) as f64
    }

    /// The same scene for the baseline.
    ///
    /// # Errors
    /// Does not fail for the crowd's own handles.
    pub fn baseline(&self) -> Result<BenchBaseline, BuildError> {
        let ground = match &self.scene.terrain {
            Terrain::Flat(flat) => Ground::Flat(flat.height),
            Terrain::Field(field) => {
                let [min, max] = field.rectangle().map(Vec2::from_array);
                let [columns, rows] = field.size();
                let at = |k: usize| field.height(k / rows, k % rows).unwrap_or(0.0);
                Ground::Field {
                    min,
                    max,
                    size: [columns, rows],
                    heights: (0..columns * rows).map(at).collect(),
                }
            }
        };
        let (input, handles) = input_of(&self.scene.crowd, ground)?;
        let first = input.characters.clone();
        Ok(BenchBaseline { baseline: Baseline::new(input), handles, first })
    }
}

/// The baseline, likewise.
#[derive(Debug)]
pub struct BenchBaseline {
    /// Ready to run.
    pub baseline: Baseline,
    /// Whom its characters stand for.
    pub handles: Vec<Handle>,
    first: Vec<Character>,
}

impl BenchBaseline {
    /// Everybody back to their first place, pose and feet.
    pub fn restart(&mut self) {
        self.baseline.characters_mut().clone_from_slice(&self.first);
    }
}
