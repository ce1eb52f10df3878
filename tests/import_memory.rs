//! No file makes the importer panic, hang or fill the memory. One test function, because the allocator counts for
//! the whole process.
#![allow(unsafe_code)]

#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod data;

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use throng::import::bvh::{self, BvhOptions};
use throng::import::{self, ImportError, Imported, gltf, motion_text};

/// Bytes in use now, and the most there were.
struct Counting;
static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything on to the system's allocator and only counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(now, Relaxed);
        // SAFETY: the caller's duties are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs an import; panics if it took more than 8 bytes per byte of input and 16 MB.
fn bounded(
    what: &str,
    input: usize,
    run: impl FnOnce() -> Result<Imported, ImportError>,
) -> Result<Imported, ImportError> {
    let (result, used) = measured(run);
    let limit = 8 * input + (16 << 20);
    assert!(used <= limit, "{what}: {used} bytes for a file of {input}");
    result
}

/// What an import gave, and the most memory it had in use.
fn measured<E>(run: impl FnOnce() -> Result<Imported, E>) -> (Result<Imported, E>, usize) {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = run();
    (result, PEAK.load(Relaxed) - before)
}

fn collect(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut entries =
        std::fs::read_dir(dir).expect("folder").map(|entry| entry.expect("entry").path()).collect::<Vec<_>>();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, out);
        } else if matches!(
            path.extension().and_then(|e| e.to_str()),
            Some("gltf" | "glb" | "vrm" | "vrma" | "bvh" | "txt")
        ) {
            out.push(path);
        }
    }
}

/// Bytes of the document and of the files beside it.
fn input_size(path: &Path) -> usize {
    let own = std::fs::metadata(path).expect("file").len() as usize;
    if path.extension().is_some_and(|e| e == "gltf") {
        let bin = path.with_extension("bin");
        return own + std::fs::metadata(bin).map_or(0, |meta| meta.len() as usize);
    }
    own
}

fn sound(name: &str, imported: &Imported) {
    let skeleton = &imported.character.skeleton;
    if !skeleton.joints.is_empty() {
        skeleton.validate().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    for clip in &imported.clips {
        clip.validate(skeleton).unwrap_or_else(|error| panic!("{name}: {error}"));
        for part in [0.0, 0.37, 1.0] {
            let pose = clip.sample(skeleton, clip.duration * part);
            assert!(pose.iter().all(throng::rig::Transform::is_finite), "{name}: {}", clip.name);
        }
    }
    for mesh in &imported.character.meshes {
        let entries = imported.character.skins[mesh.skin].joints.len();
        assert_eq!(mesh.normals.len(), mesh.positions.len(), "{name}");
        assert_eq!(mesh.joints.len(), mesh.positions.len(), "{name}");
        assert_eq!(mesh.weights.len(), mesh.positions.len(), "{name}");
        assert!(mesh.indices.iter().all(|&i| (i as usize) < mesh.positions.len()), "{name}");
        assert!(mesh.joints.iter().flatten().all(|&j| usize::from(j) < entries), "{name}");
        for weights in &mesh.weights {
            assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{name}");
        }
    }
    for skin in &imported.character.skins {
        assert_eq!(skin.joints.len(), skin.inverse_binds.len(), "{name}");
        assert!(skin.joints.iter().all(|&j| usize::from(j) < skeleton.joints.len()), "{name}");
    }
}

#[test]
fn every_file_is_read_or_refused_within_its_memory() {
    crafted();
    texts();
    let Some(dir) = data::data_dir() else { return };
    let facts = data::facts(&dir);
    let mut paths = Vec::new();
    for folder in ["invalid", "gltf", "vrm", "bvh", "motions"] {
        collect(&dir.join(folder), &mut paths);
    }
    let (mut loaded, mut refused, mut bad) = (0, 0, 0);
    for path in paths {
        let name = path.strip_prefix(&dir).expect("inside").to_string_lossy().into_owned();
        let result = bounded(&name, input_size(&path), || import::load(&path));
        let want = &facts[&name]["loads"];
        match result {
            Ok(imported) => {
                if want == "refused" {
                    println!("BAD {name} should be refused for {}", facts[&name]["reason"]);
                    bad += 1;
                }
                sound(&name, &imported);
                loaded += 1;
            }
            Err(error) => {
                if !(want == "refused" || want.is_null() || facts[&name]["kind"] == "quadruped") {
                    println!("BAD {error}");
                    bad += 1;
                }
                refused += 1;
            }
        }
    }
    println!("{loaded} loaded, {refused} refused");
    assert_eq!(bad, 0);
    assert!(loaded > 80 && refused > 20);
}

/// Small files that claim, share or invent a lot.
fn crafted() {
    let header = r#"{"asset":{"version":"2.0"},"#;
    let check = |what: &str, text: String, loads: bool| {
        let result = bounded(what, text.len(), || gltf::load_bytes(text.as_bytes(), None));
        match &result {
            Ok(imported) => sound(what, imported),
            Err(error) => println!("{what}: {error}"),
        }
        assert_eq!(result.is_ok(), loads, "{what}");
    };
    let joint = r#""nodes":[{"mesh":0,"skin":0},{}],"skins":[{"joints":[1]}],"#;
    let mesh = r#""meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"#;
    check(
        "zeros that nothing backs",
        format!(
            r#"{header}{joint}{mesh}"accessors":[{{"count":4000000000,"componentType":5126,"type":"VEC3"}}]}}"#
        ),
        false,
    );
    check(
        "a sparse accessor of zeros",
        format!(
            r#"{header}{joint}{mesh}"buffers":[{{"byteLength":16,"uri":"data:;base64,AAAAAAAAAAAAAAAAAAAAAA=="}}],
            "bufferViews":[{{"buffer":0,"byteLength":16}}],"accessors":[{{"count":300000000,"componentType":5126,"type":"VEC3",
            "sparse":{{"count":1,"indices":{{"bufferView":0,"componentType":5125}},"values":{{"bufferView":0}}}}}}]}}"#
        ),
        false,
    );
    check(
        "a buffer that is not there",
        format!(
            r#"{header}{joint}{mesh}"buffers":[{{"byteLength":4000000000}}],"bufferViews":[{{"buffer":0,"byteLength":4000000000}}],
            "accessors":[{{"bufferView":0,"count":300000000,"componentType":5126,"type":"VEC3"}}]}}"#
        ),
        true,
    );
    let plain = |count: usize| {
        let bytes = "A".repeat(count * 16);
        format!(
            r#""buffers":[{{"byteLength":{0},"uri":"data:;base64,{bytes}"}}],"bufferViews":[{{"buffer":0,"byteLength":{0}}}],
            "accessors":[{{"bufferView":0,"count":{count},"componentType":5126,"type":"VEC3"}},
            {{"bufferView":0,"count":{count},"componentType":5126,"type":"SCALAR"}}]"#,
            count * 12
        )
    };
    let repeated = vec![r#"{"sampler":0,"target":{"node":0,"path":"translation"}}"#; 20_000].join(",");
    check(
        "a long name in many warnings",
        format!(
            r#"{header}"nodes":[{{"name":"{0}"}}],"animations":[{{"name":"{0}","samplers":[{{"input":1,"output":0}}],"channels":[{repeated}]}}],{1}}}"#,
            "n".repeat(200_000),
            plain(4)
        ),
        true,
    );
    let many = vec![r#"{"mesh":0,"skin":0}"#; 5_000].join(",");
    check(
        "one mesh under 5000 nodes",
        format!(r#"{header}"nodes":[{{}},{many}],"skins":[{{"joints":[0]}}],{mesh}{}}}"#, plain(50_000)),
        false,
    );
    let channels = vec![r#"{"sampler":0,"target":{"node":0,"path":"translation"}}"#; 5_000].join(",");
    check(
        "one sampler of 5000 channels",
        format!(
            r#"{header}"nodes":[{{}}],"animations":[{{"samplers":[{{"input":1,"output":0}}],"channels":[{channels}]}}],{}}}"#,
            plain(50_000)
        ),
        true,
    );
    let clips = vec![
        r#"{"samplers":[{"input":1,"output":0}],"channels":[{"sampler":0,"target":{"node":0,"path":"translation"}}]}"#;
        5_000
    ]
    .join(",");
    check(
        "one sampler of 5000 clips",
        format!(r#"{header}"nodes":[{{}}],"animations":[{clips}],{}}}"#, plain(20_000)),
        false,
    );
    check("a million empty nodes", format!(r#"{header}"nodes":[{}{{}}]}}"#, "{},".repeat(1_000_000)), false);
    check("ten thousand empty nodes", format!(r#"{header}"nodes":[{}{{}}]}}"#, "{},".repeat(10_000)), true);
    check(
        "a million numbers",
        format!(r#"{header}"nodes":[{{"children":[{}0]}}]}}"#, "0,".repeat(1_000_000)),
        false,
    );
    check(
        "bounds of a million numbers",
        format!(
            r#"{header}"accessors":[{{"count":1,"componentType":5126,"type":"VEC3","min":[{}0]}}]}}"#,
            "0,".repeat(1_000_000)
        ),
        true,
    );
    check(
        "lists in lists",
        format!(r#"{header}"extras":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000)),
        true,
    );
    let chain = (1..12_000)
        .map(|i| format!(r#"{{"name":"LeftArm","children":[{i}]}}"#))
        .collect::<Vec<_>>()
        .join(",");
    check("a chain of 12000 arms", format!(r#"{header}"nodes":[{chain},{{}}]}}"#), true);
}

/// Texts whose numbers are as short as can be, or which announce what is not there: at most 16 bytes per byte and 16 MB.
fn texts() {
    let check = |what: &str, text: &str, loads: bool, most: f64| {
        let (result, used) = measured(|| bvh::load_bytes(text.as_bytes(), &BvhOptions::default()));
        if let Ok(imported) = &result {
            sound(what, imported);
        }
        let each = used as f64 / text.len() as f64;
        println!(
            "{what}: {used} bytes, {each:.2} a byte, {:?}",
            result.as_ref().err().map(ToString::to_string)
        );
        assert_eq!(result.is_ok(), loads, "{what}");
        assert!(used <= 16 * text.len() + (16 << 20), "{what}: {used} bytes for {}", text.len());
        assert!(each < most, "{what}: {each} bytes a byte");
    };
    let joint =
        |channels: &str| format!("HIERARCHY ROOT Hips {{ OFFSET 0 0 0 CHANNELS {channels} }} MOTION\n");
    let rows = |head: &str, frames: usize, announced: usize, row: &str| {
        format!("{head}Frames: {announced}\nFrame Time: 0.01\n{}", row.repeat(frames))
    };
    // One channel a joint, one digit a value: the costliest that a motion can be.
    let one = joint("1 Xrotation");
    check("one rotation a frame", &rows(&one, 1_000_000, 1_000_000, "0\n1\n"), false, 16.0);
    check("one rotation a frame, all of them", &rows(&one, 500_000, 1_000_000, "0\n1\n"), true, 11.0);
    let place = joint("1 Xposition");
    check("one position a frame", &rows(&place, 500_000, 1_000_000, "0\n1\n"), true, 9.0);
    check("many more frames announced", &rows(&one, 1000, usize::MAX, "0\n"), false, 1e9);
    check("many more frames announced than fit", &rows(&one, 500_000, 1 << 40, "0\n1\n"), false, 11.0);
    // Who takes any number of frames gives no room away either.
    let announced = rows(&one, (1 << 19) + 1, 1, "0\n1\n");
    let lenient = BvhOptions { lenient: true, ..BvhOptions::default() };
    let (result, used) = measured(|| bvh::load_bytes(announced.as_bytes(), &lenient));
    println!("lenient: {used} bytes for {}", announced.len());
    sound("lenient", &result.expect("loads"));
    assert!(used <= 16 * announced.len() + (16 << 20));
    let (result, used) = measured(|| bvh::read(announced.as_bytes(), "", &lenient));
    println!("a stream: {used} bytes for {}", announced.len());
    sound("a stream", &result.expect("loads"));
    assert!(used <= 32 * announced.len() + (16 << 20));
    // As tools write it.
    let six = joint("6 Xposition Yposition Zposition Zrotation Xrotation Yrotation");
    let row = "12.345678 98.765432 -1.234567 0.123456 -45.678901 179.123456\n";
    check("six channels of a tool", &rows(&six, 100_000, 100_000, row), true, 1.5);
    let joints = "ROOT a{OFFSET 0 0 0}".repeat(8192);
    check("as many joints as are read", &format!("HIERARCHY {joints}MOTION Frames: 0"), true, 1e9);
    let chain = format!("{}{}", "JOINT a{OFFSET 0 0 0 ".repeat(8191), "}".repeat(8191));
    check(
        "a chain of joints",
        &format!("HIERARCHY ROOT a{{OFFSET 0 0 0 {chain}}}MOTION Frames: 0"),
        true,
        1e9,
    );
    let ends = "End Site{OFFSET 0 0 0}".repeat(8192);
    check("many ends", &format!("HIERARCHY ROOT a{{OFFSET 0 0 0 {ends}}}MOTION Frames: 0"), true, 1e9);
    check("an endless name", &format!("HIERARCHY ROOT {}", "a ".repeat(1_000_000)), false, 1.0);
    check("an endless word", &format!("HIERARCHY ROOT {}", "a".repeat(1_000_000)), false, 1.0);
    let names = "JOINT LeftUpLeg{OFFSET 0 0 0 ".repeat(8191);
    check(
        "a chain of thighs",
        &format!("HIERARCHY ROOT Hips{{OFFSET 0 0 0 {names}{}}}MOTION Frames: 0", "}".repeat(8191)),
        true,
        1e9,
    );
    let frame = format!("[{}]", vec!["1"; 44].join(","));
    let motion = format!("{{\"Frames\":[{}]}}", vec![frame; 30_000].join(","));
    let (result, used) = measured(|| motion_text::load_bytes(motion.as_bytes()));
    println!("a motion text: {used} bytes for {}", motion.len());
    sound("a motion text", &result.expect("loads"));
    assert!(used <= 16 * motion.len() + (16 << 20));
}
