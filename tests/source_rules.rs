//! Rules about the sources themselves: what may import what, where `unsafe` may stand, how long a file may be.

use std::path::{Path, PathBuf};

/// Each may use those before it and itself, never those after it.
const ORDER: [&str; 10] =
    ["lanes", "rig", "clip", "content", "import", "export", "retarget", "crowd", "lod", "stress"];

/// At the root of the library, for everybody.
const SHARED: [&str; 1] = ["error"];

/// Lines of a source file at most; tests list cases and may be longer.
const LONGEST: [(&str, usize); 5] =
    [("src", 500), ("cli", 500), ("examples", 500), ("benches", 500), ("tests", 700)];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                files.push((path.strip_prefix(root()).unwrap().to_owned(), text));
            }
        }
    }
    files.sort();
    assert!(!files.is_empty(), "{folder} has sources");
    files
}

/// Code only: comments, documentation and what stands in quotes are blanked, line by line.
fn code(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or("");
        let mut quoted = false;
        let mut last = ' ';
        for c in line.chars() {
            if c == '"' && last != '\\' && last != '\'' {
                quoted = !quoted;
            }
            out.push(if quoted { ' ' } else { c });
            last = c;
        }
        out.push('\n');
    }
    out
}

/// First names after `crate::` in a file, groups at the root (`use crate::{a, b::c}`) included.
fn used_modules(code: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.push(name(rest));
            continue;
        };
        let mut depth = 0;
        let mut item = String::new();
        for c in group.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => names.push(name(&std::mem::take(&mut item))),
                _ => {}
            }
            if depth == 0 && c != ',' {
                item.push(c);
            }
        }
        names.push(name(&item));
    }
    names.retain(|name| !name.is_empty());
    names
}

fn has_word(code: &str, word: &str) -> bool {
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    code.match_indices(word).any(|(at, _)| {
        boundary(code[..at].chars().next_back()) && boundary(code[at + word.len()..].chars().next())
    })
}

#[test]
fn modules_import_only_from_those_before_them() {
    let rank = |module: &str| ORDER.iter().position(|known| *known == module);
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        let mut parts = path.iter().skip(1).map(|part| part.to_str().unwrap());
        let module = parts.next().unwrap().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let Some(own) = rank(module) else {
            assert!(SHARED.contains(&module), "{module} has no place in the order of modules");
            let used = used_modules(&code(&text));
            assert!(used.iter().all(|used| SHARED.contains(&used.as_str())), "{module} uses {used:?}");
            continue;
        };
        // `$crate` and macros that are exported at the root pass: they name lanes.
        for used in used_modules(&code(&text)) {
            match rank(&used) {
                Some(rank) if rank > own => wrong.push(format!("{}: {module} uses {used}", path.display())),
                Some(_) => {}
                None if SHARED.contains(&used.as_str()) => {}
                None => wrong.push(format!("{}: {used} has no place in the order", path.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "imports against the order {ORDER:?}:\n{}", wrong.join("\n"));
}

#[test]
fn unsafe_stands_only_in_lanes() {
    for (path, text) in sources("src").into_iter().chain(sources("cli/src")) {
        if !path.starts_with("src/lanes") {
            let code = code(&text);
            assert!(!has_word(&code, "unsafe"), "unsafe in {}", path.display());
            assert!(!has_word(&code, "unsafe_code"), "the lint is lifted in {}", path.display());
        }
    }
}

#[test]
fn no_file_does_more_than_fits_in_five_hundred_lines() {
    let mut long = Vec::new();
    for (folder, longest) in LONGEST {
        if root().join(folder).is_dir() {
            for (path, text) in sources(folder) {
                let lines = text.lines().count();
                if lines > longest {
                    long.push(format!("{}: {lines} lines, at most {longest}", path.display()));
                }
            }
        }
    }
    assert!(long.is_empty(), "files that should be split:\n{}", long.join("\n"));
}

#[test]
fn the_reader_of_imports_reads_them() {
    let text = "use crate::rig::Rig; // crate::stress\nuse crate::{clip::{a, b}, lanes,\n    crowd::x};\nlet a = \"crate::lod\";\n    crate::error::E";
    assert_eq!(used_modules(&code(text)), ["rig", "clip", "lanes", "crowd", "error"]);
    assert!(has_word("x = unsafe {", "unsafe") && !has_word("unsafe_code not_unsafe", "unsafe"));
}

/// What is opened in any other way may be a pipe that nobody writes to, or a device without an end.
#[test]
fn files_are_opened_by_the_importers_one_function() {
    for (path, text) in sources("src").into_iter().chain(sources("cli/src")) {
        let own = path.ends_with("import/regular.rs");
        for way in ["File::open(", "fs::read("] {
            assert!(own || !code(&text).contains(way), "{}: {way}", path.display());
        }
    }
}
