//! Damaged files: whatever bytes change, an import ends with a sound result or an error.

#[path = "support/gltf_builder.rs"]
mod builder;
#[path = "support/gltf_sample.rs"]
mod sample;

use proptest::prelude::*;
use serde_json::{Value, json};
use throng::import::{Imported, gltf, inspect};
use throng::rig::Transform;

use sample::sample;

/// What must hold of anything that loads.
fn sound(imported: &Imported) {
    let skeleton = &imported.character.skeleton;
    if !skeleton.joints.is_empty() {
        skeleton.validate().expect("a valid skeleton");
    }
    for clip in &imported.clips {
        clip.validate(skeleton).expect("a valid clip");
        let pose = clip.sample(skeleton, clip.duration * 0.4);
        assert!(pose.iter().all(Transform::is_finite));
    }
    for mesh in &imported.character.meshes {
        let entries = imported.character.skins[mesh.skin].joints.len();
        assert!(mesh.indices.iter().all(|&i| (i as usize) < mesh.positions.len()));
        assert!(mesh.joints.iter().flatten().all(|&j| usize::from(j) < entries));
        assert!(mesh.weights.iter().all(|w| (w.iter().sum::<f32>() - 1.0).abs() < 1e-4));
        assert!(mesh.positions.iter().chain(&mesh.normals).flatten().all(|v| v.is_finite()));
    }
    for skin in &imported.character.skins {
        assert!(skin.inverse_binds.iter().all(|m| m.is_finite()));
        assert!(skin.joints.iter().all(|&j| usize::from(j) < skeleton.joints.len()));
    }
    let _ = inspect(imported);
    for warning in &imported.report.warnings {
        assert!(!warning.to_string().is_empty());
    }
}

fn try_load(bytes: &[u8]) -> bool {
    match gltf::load_bytes(bytes, None) {
        Ok(imported) => {
            sound(&imported);
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

#[test]
fn the_sample_itself_loads_completely() {
    let imported = gltf::load_bytes(&sample().glb(), None).expect("loads");
    sound(&imported);
    assert_eq!(imported.character.skeleton.joints.len(), 10);
    assert_eq!(imported.character.meshes.len(), 2);
    assert_eq!(imported.clips[0].tracks.len(), 4);
    assert_eq!(imported.roles.len(), 10);
}

/// All places in a document, as JSON pointers.
fn places(value: &Value, path: String, out: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                places(value, format!("{path}/{index}"), out);
            }
        }
        Value::Object(object) => {
            for (key, value) in object {
                places(value, format!("{path}/{key}"), out);
            }
        }
        _ => {}
    }
    out.push(path);
}

/// Values that hurt.
fn nasty() -> Vec<Value> {
    vec![
        json!(null),
        json!(0),
        json!(1),
        json!(2),
        json!(3),
        json!(9),
        json!(11),
        json!(255),
        json!(65536),
        json!(-1),
        json!(1e39),
        json!(1e308),
        json!(0.5),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(""),
        json!("VEC4"),
        json!("SCALAR"),
        json!("MAT4"),
        json!("data:;base64,AAAA"),
        json!("../../etc/passwd"),
        json!([]),
        json!([0, 0]),
        json!({}),
        json!(true),
        json!(5120),
        json!(5126),
        json!("CUBICSPLINE"),
        json!("weights"),
        json!(3e38),
        json!([3e38, 3e38, 3e38]),
        json!([0, 0, 0]),
        json!([0, 0, 0, 0]),
        json!(1e-38),
    ]
}

/// 1500 cases each, or as many as `PROPTEST_CASES` says.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1500);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn changed_bytes_end_well(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12), cut in prop::option::of(any::<prop::sample::Index>())) {
        let mut bytes = sample().glb();
        for (at, value) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        try_load(&bytes);
    }

    #[test]
    fn changed_numbers_of_the_binary_part_end_well(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u32>()), 1..12)) {
        let mut bytes = sample().glb();
        let json = u32::from_le_bytes(bytes[12..16].try_into().expect("four bytes")) as usize;
        let begin = 20 + json + 8;
        let words = (bytes.len() - begin) / 4;
        let special = [f32::NAN.to_bits(), f32::INFINITY.to_bits(), f32::MAX.to_bits(), 1, u32::MAX, 0x8000_0000, 0x7f00_0000];
        for (at, value) in &changes {
            let at = begin + 4 * at.index(words);
            let value = if value % 2 == 0 { special[(value / 2) as usize % special.len()] } else { *value };
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        try_load(&bytes);
    }

    #[test]
    fn changed_documents_end_well(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut file = sample();
        let values = nasty();
        for (place, value, kind) in &changes {
            let mut all = Vec::new();
            places(&file.document, String::new(), &mut all);
            let path = &all[place.index(all.len())];
            let donor = file.document.pointer(&all[value.index(all.len())]).cloned().expect("a place");
            let Some((parent, key)) = path.rsplit_once('/') else { continue };
            let slot = file.document.pointer_mut(parent).expect("a place");
            match (kind % 4, slot) {
                // Take away, replace, repeat, or put something from elsewhere.
                (0, Value::Object(object)) => { object.remove(key); }
                (0, Value::Array(list)) => { list.remove(key.parse::<usize>().expect("an index")); }
                (1, Value::Array(list)) => {
                    let element = list[key.parse::<usize>().expect("an index")].clone();
                    list.push(element);
                }
                (2, slot) => if let Some(slot) = slot.pointer_mut(&format!("/{key}")) { *slot = donor; },
                (_, slot) => if let Some(slot) = slot.pointer_mut(&format!("/{key}")) {
                    *slot = values[value.index(values.len())].clone();
                },
            }
        }
        if file.document.is_object() {
            try_load(&file.glb());
        }
    }
}

/// The mutator must not only produce what the parser refuses: some damaged files still load.
#[test]
fn some_damaged_documents_still_load() {
    let mut loaded = 0;
    let base = sample();
    let mut all = Vec::new();
    places(&base.document, String::new(), &mut all);
    for path in &all {
        let Some((parent, key)) = path.rsplit_once('/') else { continue };
        for value in nasty() {
            let mut file = base.clone();
            let Some(slot) =
                file.document.pointer_mut(parent).and_then(|slot| slot.pointer_mut(&format!("/{key}")))
            else {
                continue;
            };
            *slot = value;
            if file.document.is_object() && try_load(&file.glb()) {
                loaded += 1;
            }
        }
    }
    println!("{loaded} of {} damaged documents load", all.len() * nasty().len());
    assert!(loaded > 1000, "{loaded}");
}
