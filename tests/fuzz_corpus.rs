//! What the fuzzers began with and what they found, through every importer, on a stable toolchain. `docs/fuzzing.md`
//! says how the corpus comes about.

#[path = "support/altered.rs"]
mod altered;
#[path = "support/gltf_builder.rs"]
#[allow(dead_code)]
mod builder;
#[path = "support/bytes.rs"]
mod bytes;
#[path = "support/judge.rs"]
mod judge;
#[path = "support/memory.rs"]
mod memory;
#[path = "support/gltf_sample.rs"]
mod sample;
#[path = "support/sealed.rs"]
mod sealed;
#[path = "support/seeds/mod.rs"]
mod seeds;
#[path = "support/stored.rs"]
mod stored;
#[path = "support/world.rs"]
mod world;

use std::path::PathBuf;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

fn corpus(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

/// One test, because the allocator counts for the whole process.
#[test]
fn the_corpus_of_every_target_is_judged_as_sound() {
    for target in seeds::targets() {
        for (name, bytes) in &target.seeds {
            assert!((target.judge)(bytes).accepted, "seed {name} of {} is refused", target.name);
        }
        let folder = corpus(target.name);
        // A published package has no folder of fuzz targets.
        let Ok(entries) = std::fs::read_dir(&folder) else {
            println!("SKIPPED: {} is not there", folder.display());
            continue;
        };
        let mut paths = entries.map(|entry| entry.expect("entry").path()).collect::<Vec<_>>();
        paths.sort();
        let (mut accepted, mut peak) = (0, 0);
        for path in &paths {
            // Said first, in case that it ends the process.
            println!("{}", path.display());
            let verdict = (target.judge)(&std::fs::read(path).expect("a file"));
            accepted += usize::from(verdict.accepted);
            peak = peak.max(verdict.peak);
        }
        println!("{}: {} inputs, {accepted} accepted, at most {peak} bytes", target.name, paths.len());
        assert!(accepted >= target.seeds.len(), "{} has lost its seeds", target.name);
    }
}

/// `cargo test --test fuzz_corpus -- --ignored` writes the seeds into the corpus.
#[test]
#[ignore = "writes files"]
fn write_seeds() {
    for target in seeds::targets() {
        let folder = corpus(target.name);
        std::fs::create_dir_all(&folder).expect("a folder");
        for (name, bytes) in target.seeds {
            std::fs::write(folder.join(name), bytes).expect("written");
        }
    }
}
