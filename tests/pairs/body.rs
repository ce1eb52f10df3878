//! One file of the data, with what its joints are by the facts, not by the library.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use glam::DVec3;
use serde_json::Value;
use throng::import::{self, Imported};
use throng::rig::{ReferencePose, Rig, RigSource};

use crate::data;

/// A place on the body that the judge looks at: a segment's upper end, left 0 and right 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    Hips,
    Head,
    UpperArm(usize),
    Forearm(usize),
    Hand(usize),
    Thigh(usize),
    Shin(usize),
    Foot(usize),
    Toe(usize),
}

pub struct Body {
    pub file: String,
    pub imported: Imported,
    pub reference: ReferencePose,
    /// Joints of the skeleton by the facts.
    pub places: HashMap<Place, usize>,
    /// `|thigh| + |shin|` of the rest pose, mean of both sides.
    pub leg: f64,
    pub rest: Vec<DVec3>,
    /// How many joints each trunk chain has: spine, neck, clavicles.
    pub counts: (usize, usize, bool),
}

impl Body {
    /// `None` for files that hold no body to judge: no legs or no arms.
    pub fn load(dir: &Path, file: &str, facts: &Value) -> Option<Self> {
        let imported = import::load(dir.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let by_name = joints_by_name(&imported, facts);
        let mut places = HashMap::new();
        let roles = &facts["roles"];
        let mut put = |place, value: &Value| {
            if let Some(&joint) = value.as_str().and_then(|name| by_name.get(name)) {
                places.insert(place, joint);
            }
        };
        put(Place::Hips, &roles["hips"]);
        put(Place::Head, &roles["head"]);
        for (side, key) in ["left", "right"].into_iter().enumerate() {
            let of = |part: &str| &roles[key][part];
            put(Place::UpperArm(side), of("upper_arm"));
            put(Place::Forearm(side), of("forearm"));
            put(Place::Hand(side), of("hand"));
            put(Place::Thigh(side), of("thigh"));
            put(Place::Shin(side), of("shin"));
            put(Place::Foot(side), of("foot"));
            put(Place::Toe(side), of("toe"));
        }
        let rest = data::rest_positions(&imported.character.skeleton);
        let length = |a: Place, b: Place| Some(rest[*places.get(&a)?].distance(rest[*places.get(&b)?]));
        let legs: Vec<f64> = (0..2)
            .filter_map(|s| {
                Some(length(Place::Thigh(s), Place::Shin(s))? + length(Place::Shin(s), Place::Foot(s))?)
            })
            .collect();
        if legs.len() < 2 || !places.contains_key(&Place::Forearm(1)) {
            return None;
        }
        let leg = legs.iter().sum::<f64>() / 2.0;
        let count = |key: &str| roles[key].as_array().map_or(0, Vec::len);
        let counts = (count("spine"), count("neck"), roles["left"]["clavicle"].is_string());
        let reference = ReferencePose::aligned(&imported.character.skeleton, &imported.roles);
        Some(Self { file: file.to_owned(), imported, reference, places, leg, rest, counts })
    }

    pub fn joint(&self, place: Place) -> Option<usize> {
        self.places.get(&place).copied()
    }

    pub fn rig(&self) -> Rig {
        let source = RigSource {
            reference: self.reference.clone(),
            ..RigSource::new(&self.imported.character, &self.imported.roles)
        };
        Rig::build(&source).unwrap_or_else(|error| panic!("{}: {error}", self.file))
    }
}

/// The first joint of each name that the facts list.
fn joints_by_name(imported: &Imported, facts: &Value) -> BTreeMap<String, usize> {
    let skeleton = &imported.character.skeleton;
    let mut out = BTreeMap::new();
    if facts["has_skin"] == true {
        let listed = facts["joints"].as_array().expect("joints");
        for (entry, &joint) in listed.iter().zip(&imported.character.skins[0].joints) {
            out.entry(entry[0].as_str().expect("a name").to_owned()).or_insert(usize::from(joint));
        }
    }
    let outside = |index: usize| imported.report.virtual_joints.get(index) != Some(&true);
    for (index, joint) in skeleton.joints.iter().enumerate() {
        if outside(index) {
            out.entry(joint.name.clone()).or_insert(index);
        }
    }
    out
}
