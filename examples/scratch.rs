use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::crowd::*;
use throng::lanes::*;
use throng::retarget::{BindSource, bind};
use throng::rig::*;
#[allow(unsafe_code)]
fn cpu() -> f64 {
    unsafe extern "C" {
        fn clock_gettime(id: i32, t: *mut [i64; 2]) -> i32;
    }
    let mut t = [0i64; 2];
    unsafe {
        clock_gettime(3, &mut t);
    }
    t[0] as f64 * 1e9 + t[1] as f64
}
fn main() {
    let only = std::env::args().nth(1);
    let built = content::character(RigKind::Deform, &BodyPlan::default());
    let rig = Rig::build(&built.rig_source()).unwrap();
    println!(
        "joints {} pelvis {} legs {} leg {} soles {:?}",
        rig.topology().len(),
        rig.topology().pelvis(),
        rig.topology().legs().len(),
        rig.leg(),
        rig.soles()
    );
    let reference = built.reference();
    for (isa, mode) in Isa::available().iter().flat_map(|&i| [(i, Mode::Fast), (i, Mode::Strict)]) {
        let mut crowd = Crowd::new(CrowdConfig { simd: Simd::new(isa, mode), ..Default::default() });
        let id = crowd.add_rig(rig.clone()).unwrap();
        let mut clips = vec![];
        for kind in [ClipKind::Walk, ClipKind::Jog, ClipKind::Run, ClipKind::Idle] {
            let raw = content::clip(kind, &built);
            let b = bind(
                BindSource {
                    skeleton: &built.character.skeleton,
                    roles: &built.roles,
                    reference: &reference,
                },
                &raw,
                &rig,
            )
            .unwrap();
            if isa == Isa::PORTABLE && mode == Mode::Fast {
                println!(
                    "{} dur {} loop {} root {:?} speed {} crosses {} bytes {}",
                    b.name(),
                    b.duration(),
                    b.looping(),
                    b.root().constant(),
                    kind.speed(&built),
                    b.crosses_hemisphere(),
                    b.bytes()
                );
            }
            clips.push(crowd.add_clip(b).unwrap());
        }
        let mut hs = vec![];
        for i in 0..64 {
            hs.push(
                crowd
                    .spawn(
                        id,
                        0,
                        WorldTransform::standing(i as f32, 0.0, 0.0),
                        &[
                            Play { time: 0.1 * i as f32, ..Play::new(clips[i % 4]) },
                            Play {
                                weight: if i % 3 == 0 { 1.0 } else { 0.0 },
                                ..Play::new(clips[(i + 1) % 4])
                            },
                        ],
                    )
                    .unwrap(),
            );
        }
        crowd.pack();
        let mut hash = 0u64;
        for f in 0..120 {
            crowd
                .frame(
                    Frame {
                        dt: 1.0 / 60.0,
                        roots: Roots::OnGround,
                        ground: &FlatGround::default(),
                        until: Stage::Palette,
                    },
                    &Serial,
                )
                .unwrap();
            let (h, p) = crowd.pose(hs[1 * 4]).unwrap();
            for b in p {
                hash = hash.rotate_left(5) ^ u64::from(*b).wrapping_mul(0x9e3779b97f4a7c15);
            }
            if f % 20 == 0 && isa == Isa::widest() && mode == Mode::Fast {
                let skin = &rig.skins()[0];
                let m: &[f32] = bytemuck::cast_slice(p);
                let foot = rig.topology().legs()[0].foot;
                let e = skin.entries().iter().position(|e| e.joint == foot).unwrap();
                let s = rig.soles()[0];
                let bind = rig.positions()[foot as usize].as_vec3();
                let pt = bind + glam::Vec3::from(s.ball);
                let r = &m[e * 12..e * 12 + 12];
                let w: Vec<f32> = (0..3)
                    .map(|k| r[4 * k] * pt.x + r[4 * k + 1] * pt.y + r[4 * k + 2] * pt.z + r[4 * k + 3])
                    .collect();
                println!("f{f} root {:?} ball {:?}", h.position, w);
            }
        }
        println!("{} {:?} hash {hash:016x}", isa.name(), mode);
    }
    // time
    if only.as_deref() == Some("hash") {
        return;
    }
    let big: usize = std::env::var("LIB").map_or(16, |s| s.parse().unwrap());
    let raws = content::library(&built, big);
    for (isa, mode) in Isa::available().iter().map(|&i| (i, Mode::Fast)) {
        if let Some(o) = &only {
            if o != isa.name() {
                continue;
            }
        }
        for (stream, prefetch) in [(true, true), (true, false), (false, false), (false, true)] {
            let mut crowd = Crowd::new(CrowdConfig {
                simd: Simd::new(isa, mode),
                stream,
                prefetch,
                ..Default::default()
            });
            let id = crowd.add_rig(rig.clone()).unwrap();
            let clips: Vec<_> = raws
                .iter()
                .map(|raw| {
                    crowd
                        .add_clip(
                            bind(
                                BindSource {
                                    skeleton: &built.character.skeleton,
                                    roles: &built.roles,
                                    reference: &reference,
                                },
                                raw,
                                &rig,
                            )
                            .unwrap(),
                        )
                        .unwrap()
                })
                .collect();
            let n: usize = std::env::var("N").map_or(10_000, |s| s.parse().unwrap());
            for i in 0..n {
                crowd
                    .spawn(
                        id,
                        0,
                        WorldTransform::standing(i as f32 * 0.01, 0.0, 0.0),
                        &[
                            Play { time: 0.1 * i as f32, ..Play::new(clips[i % big]) },
                            Play { time: 0.37 * i as f32, ..Play::new(clips[(i * 7 + 3) % big]) },
                        ],
                    )
                    .unwrap();
            }
            crowd.pack();
            let mut last = 0.0;
            print!(
                "{} lib {} KB stream {stream} prefetch {prefetch}: ",
                isa.name(),
                crowd.library().1 / 1024
            );
            for until in Stage::ALL {
                let mut best = vec![];
                for _ in 0..60 {
                    let t = cpu();
                    crowd
                        .frame(
                            Frame {
                                dt: 1.0 / 60.0,
                                roots: Roots::OnGround,
                                ground: &FlatGround::default(),
                                until,
                            },
                            &Serial,
                        )
                        .unwrap();
                    best.push((cpu() - t) / n as f64);
                }
                best.sort_by(f64::total_cmp);
                let b = best[0];
                print!("{} {:.0} (+{:.0})  ", until.name(), b, b - last);
                last = b;
            }
            println!();
        }
    }
}
