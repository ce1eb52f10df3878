//! Sound documents with a few changes to their structure, as bytes say: a reader sees more of them than of changed
//! bytes, most of which are no JSON any more.

use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::bytes::Bytes;
use crate::judge::glb;
use crate::seeds::gltf_parts;

/// Most changes of one document.
const CHANGES: usize = 8;

/// Keys that readers look for.
const KEYS: [&str; 24] = [
    "children",
    "matrix",
    "translation",
    "rotation",
    "scale",
    "mesh",
    "skin",
    "name",
    "joints",
    "skeleton",
    "inverseBindMatrices",
    "indices",
    "mode",
    "JOINTS_1",
    "WEIGHTS_1",
    "NORMAL",
    "byteOffset",
    "byteStride",
    "sparse",
    "normalized",
    "interpolation",
    "uri",
    "extensions",
    "extensionsRequired",
];

/// Values that hurt.
fn nasty() -> &'static [Value] {
    static VALUES: OnceLock<Vec<Value>> = OnceLock::new();
    VALUES.get_or_init(|| {
        vec![
            json!(null),
            json!(0),
            json!(1),
            json!(2),
            json!(3),
            json!(5),
            json!(255),
            json!(65_536),
            json!(-1),
            json!(0.5),
            json!(1e39),
            json!(3e38),
            json!(1e-38),
            json!(u32::MAX),
            json!(u64::MAX),
            json!(true),
            json!(""),
            json!([]),
            json!({}),
            json!([0]),
            json!([0, 0]),
            json!([0, 0, 0]),
            json!([0, 0, 0, 0]),
            json!([1, 2, 3]),
            json!([0, 0, 0, 1]),
            json!([3e38, 3e38, 3e38]),
            json!("SCALAR"),
            json!("VEC2"),
            json!("VEC3"),
            json!("VEC4"),
            json!("MAT4"),
            json!("CUBICSPLINE"),
            json!("STEP"),
            json!("weights"),
            json!("scale"),
            json!("rotation"),
            json!(5120),
            json!(5121),
            json!(5122),
            json!(5123),
            json!(5125),
            json!(5126),
            json!("data:;base64,AAAA"),
            json!("../a.bin"),
            json!("LeftUpLeg"),
            json!("Hips"),
        ]
    })
}

/// A changed document of those that the seeds are made of, as GLB.
pub fn altered(input: &[u8]) -> Vec<u8> {
    static DOCUMENTS: OnceLock<Vec<(Value, Vec<u8>)>> = OnceLock::new();
    let documents = DOCUMENTS.get_or_init(|| {
        let parts = gltf_parts().into_iter();
        parts.map(|(json, binary)| (serde_json::from_slice(&json).expect("JSON"), binary)).collect()
    });
    let mut bytes = Bytes(input);
    let (mut document, mut binary) = documents[bytes.below(documents.len())].clone();
    for _ in 0..CHANGES {
        if bytes.0.is_empty() {
            break;
        }
        change(&mut bytes, &mut document, &mut binary);
    }
    glb(document.to_string().as_bytes(), &binary)
}

fn change(bytes: &mut Bytes<'_>, document: &mut Value, binary: &mut [u8]) {
    let kind = bytes.below(8);
    if kind >= 6 {
        let words = binary.len() / 4;
        let at = bytes.below(words.max(1));
        if let Some(word) = binary.get_mut(4 * at..4 * at + 4) {
            let number = bytes.number();
            word.copy_from_slice(&if kind == 6 { number.to_le_bytes() } else { [bytes.byte(); 4] });
        }
        return;
    }
    let count = count(document);
    let mut place = (usize::from(bytes.byte()) | usize::from(bytes.byte()) << 8) % count;
    let which = usize::from(bytes.byte());
    let donor =
        |document: &Value, which: usize| nth(document, &mut (which % count)).cloned().unwrap_or_default();
    let given = if kind == 1 || kind == 2 { donor(document, which) } else { Value::Null };
    let Some(slot) = nth_mut(document, &mut place) else { return };
    match (kind, slot) {
        (0, slot) => *slot = nasty()[which % nasty().len()].clone(),
        (1, slot) => *slot = given,
        (2, Value::Array(list)) => list.push(given),
        (2, Value::Object(object)) => {
            object.insert(KEYS[bytes.below(KEYS.len())].to_owned(), given);
        }
        (3, Value::Array(list)) if !list.is_empty() => {
            list.remove(which % list.len());
        }
        (3, Value::Object(object)) if !object.is_empty() => {
            let key = object.keys().nth(which % object.len()).cloned().unwrap_or_default();
            object.remove(&key);
        }
        (4, Value::Array(list)) if !list.is_empty() => {
            let other = bytes.below(list.len());
            let at = which % list.len();
            list.swap(at, other);
        }
        (5, Value::Number(number)) => {
            let shifted = number.as_f64().unwrap_or(0.0) + f64::from(which as u8 as i8);
            let whole = shifted.fract() == 0.0 && shifted.abs() < 1e15;
            *number = if whole {
                (shifted as i64).into()
            } else {
                serde_json::Number::from_f64(shifted).unwrap_or(0.into())
            };
        }
        _ => {}
    }
}

/// Values in a document, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(list) => list.iter().map(count).sum(),
        Value::Object(object) => object.values().map(count).sum(),
        _ => 0,
    }
}

fn nth<'a>(value: &'a Value, left: &mut usize) -> Option<&'a Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter().find_map(|value| nth(value, left)),
        Value::Object(object) => object.values().find_map(|value| nth(value, left)),
        _ => None,
    }
}

fn nth_mut<'a>(value: &'a mut Value, left: &mut usize) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(list) => list.iter_mut().find_map(|value| nth_mut(value, left)),
        Value::Object(object) => object.values_mut().find_map(|value| nth_mut(value, left)),
        _ => None,
    }
}
