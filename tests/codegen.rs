//! What the compiler made of the kernels, read from the machine code: a helper that is not inlined turns every
//! intrinsic in it into a call (a factor of 16), and the results stay right, so no other test would notice.
//!
//! Looks at the program that `THRONG_BINARY` names (`.ci/run`: the release build of the command), or at this test
//! itself. Needs `objdump`, which comes with the linker on Linux.
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use throng::content::{self, BodyPlan, RigKind};
use throng::crowd::{
    Crowd, CrowdConfig, FlatGround, Frame, Serial, SkinPalette, SkinnedMesh, WorldTransform,
};
use throng::lanes::Simd;
use throng::rig::Rig;

/// Modules that a frame cannot do without: each has entry functions that `per_isa!` generates.
const STAGES: [&str; 9] = [
    "stages::advance",
    "stages::sample",
    "stages::inertia",
    "stages::live",
    "stages::layers",
    "stages::feet",
    "stages::model",
    "stages::palette",
    "skinning",
];

/// Modules of which nothing may be left outside of its callers.
const LANES: [&str; 3] = ["throng::lanes::x86::", "throng::lanes::portable::", "throng::lanes::math::"];

/// Functions without lanes that kernels may call.
const SCALAR: [&str; 2] = ["mix_by_hemisphere", "layers::gather"];

/// Entry functions for code of others, which may be scalar.
const FOREIGN: &str = "throng::lanes::kernel::";

/// What one function of ours consists of.
#[derive(Debug, Default)]
struct Body {
    instructions: usize,
    zmm: usize,
    ymm: usize,
    calls: Vec<String>,
}

/// Puts the kernels into this program.
fn run_a_frame() {
    let built = content::character(RigKind::Aligned, &BodyPlan::adult());
    let mut crowd = Crowd::new(CrowdConfig::default());
    let rig = crowd.add_rig(Rig::build(&built.rig_source()).unwrap()).unwrap();
    let who = crowd.spawn(rig, 0, WorldTransform::IDENTITY, &[]).unwrap();
    let ground = FlatGround::default();
    let frame = Frame::new(0.0, &ground);
    crowd.frame(frame, &Serial).unwrap();
    let mesh = SkinnedMesh::new(&built.character.meshes[0]).unwrap();
    let mut palette = SkinPalette::default();
    palette.set_bytes(crowd.pose(who).unwrap().1, crowd.config().format, 1.0);
    let mut out = [vec![[0.0; 3]; mesh.vertices()], vec![[0.0; 3]; mesh.vertices()]];
    let [positions, normals] = &mut out;
    mesh.skin(Simd::fastest(), &palette, positions, normals).unwrap();
}

fn disassemble(program: &Path) -> Option<BTreeMap<String, Body>> {
    let mut child = Command::new("objdump")
        .args(["-d", "-C", "--no-show-raw-insn"])
        .arg(program)
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut bodies: BTreeMap<String, Body> = BTreeMap::new();
    let mut name = String::new();
    // A line each: `ADDRESS <NAME>:` begins a function, `  ADDRESS:<tab>INSTRUCTION` is of the last one.
    for line in BufReader::new(child.stdout.take()?).split(b'\n') {
        let line = String::from_utf8_lossy(&line.ok()?).into_owned();
        if let Some((_, symbol)) = line.split_once(" <").filter(|_| line.ends_with(">:")) {
            name = symbol.trim_end_matches(">:").to_owned();
            bodies.entry(name.clone()).or_default();
            continue;
        }
        let Some((_, instruction)) = line.split_once(":\t") else { continue };
        let Some(body) = bodies.get_mut(&name) else { continue };
        body.instructions += 1;
        body.zmm += usize::from(instruction.contains("%zmm"));
        body.ymm += usize::from(instruction.contains("%ymm"));
        if instruction.starts_with("call") {
            let target = instruction.split_once('<').map_or("", |(_, target)| target.trim_end_matches('>'));
            body.calls.push(target.to_owned());
        }
    }
    child.wait().ok()?.success().then_some(bodies)
}

#[test]
fn kernels_are_inlined_and_use_the_registers_they_are_for() {
    run_a_frame();
    let program = match std::env::var_os("THRONG_BINARY") {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe().unwrap(),
    };
    assert!(program.is_file(), "{} is not there", program.display());
    let Some(bodies) = disassemble(&program) else {
        assert!(
            std::env::var_os("THRONG_BINARY").is_none(),
            "objdump is needed to read {}",
            program.display()
        );
        println!("SKIPPED: no objdump here");
        return;
    };
    assert!(bodies.len() > 500, "{} has its symbols", program.display());

    let is_intrinsic = |name: &str| name.contains("core_arch::x86") && name.contains("::_mm");
    let is_lane = |name: &str| LANES.iter().any(|module| name.contains(module));
    let outside: Vec<&String> = bodies.keys().filter(|name| is_intrinsic(name) || is_lane(name)).collect();
    assert!(outside.is_empty(), "not inlined: {outside:#?}");

    let mut wide = 0;
    for (level, narrower) in [("::avx512", false), ("::avx2", true)] {
        let ours = |name: &str| name.contains("throng::") && name.contains(level) && !name.contains(FOREIGN);
        let of_level: Vec<(&String, &Body)> = bodies.iter().filter(|(name, _)| ours(name)).collect();
        for stage in STAGES {
            let found = of_level.iter().any(|(name, _)| name.contains(stage));
            assert!(
                found,
                "{stage} has no {level} among {:#?}",
                of_level.iter().map(|of| of.0).collect::<Vec<_>>()
            );
        }
        for (name, body) in of_level {
            let (registers, used) = if narrower { ("ymm", body.ymm) } else { ("zmm", body.zmm) };
            assert!(
                used * 20 >= body.instructions,
                "{name}: {used} of {} use {registers}",
                body.instructions
            );
            assert!(!narrower || body.zmm == 0, "{name} uses zmm");
            let own =
                |to: &&String| to.contains("throng::") && !SCALAR.iter().any(|known| to.contains(known));
            let calls: Vec<&String> = body.calls.iter().filter(own).collect();
            assert!(calls.is_empty(), "{name} calls {calls:?}");
            wide += 1;
        }
    }
    println!("{wide} entry functions looked at in {}", program.display());
}
