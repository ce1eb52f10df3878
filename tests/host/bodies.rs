//! Built-in bodies in a crowd, with what a test wants to know of them.

use throng::clip::BoundClip;
use throng::content::{self, BodyPlan, BuiltIn, ClipKind, RigKind};
use throng::crowd::{
    ClipId, Crowd, CrowdConfig, FlatGround, Frame, Handle, PaletteFormat, Play, RigId, Serial, WorldTransform,
};
use throng::lanes::{Isa, Mode, Simd};
use throng::retarget::{BindSource, bind};
use throng::rig::Rig;

pub struct Body {
    pub built: BuiltIn,
    pub rig: RigId,
    pub clips: Vec<ClipId>,
}

pub fn rig(built: &BuiltIn) -> Rig {
    Rig::build(&built.rig_source()).expect("a built-in rig")
}

pub fn bound(built: &BuiltIn, kind: ClipKind) -> BoundClip {
    let reference = built.reference();
    let (skeleton, roles) = (&built.character.skeleton, &built.roles);
    let source = BindSource { skeleton, roles, reference: &reference };
    bind(source, &content::clip(kind, built), &rig(built)).expect("a built-in clip")
}

pub fn add(crowd: &mut Crowd, kind: RigKind, plan: &BodyPlan, clips: &[ClipKind]) -> Body {
    let built = content::character(kind, plan);
    let id = crowd.add_rig(rig(&built)).expect("a built-in rig");
    let clips = clips.iter().map(|&clip| crowd.add_clip(bound(&built, clip)).expect("a clip")).collect();
    Body { built, rig: id, clips }
}

pub fn strict(format: PaletteFormat) -> Crowd {
    let simd = Simd::new(Isa::widest(), Mode::Strict);
    Crowd::new(CrowdConfig { simd, format, ..CrowdConfig::default() })
}

pub const CLIPS: [ClipKind; 4] = [ClipKind::Walk, ClipKind::Jog, ClipKind::Idle, ClipKind::TurnLeft];

/// Three bodies of two topologies.
pub fn three(crowd: &mut Crowd) -> Vec<Body> {
    let plans = [(0, BodyPlan::adult()), (0, BodyPlan::child()), (1, BodyPlan::tall())];
    plans.map(|(kind, plan)| add(crowd, RigKind::ALL[kind], &plan, &CLIPS)).into()
}

/// The k-th of many: bodies in turn, two clips each, scattered.
pub fn spawn(crowd: &mut Crowd, bodies: &[Body], k: usize) -> Handle {
    let body = &bodies[k % bodies.len()];
    let plays = [
        Play { time: 0.07 * k as f32, ..Play::new(body.clips[k % 4]) },
        Play { weight: 0.4, time: 0.3, ..Play::new(body.clips[(k + 1) % 4]) },
    ];
    let place = WorldTransform::standing((k % 10) as f32, (k / 10) as f32, 0.4 * k as f32);
    crowd.spawn(body.rig, 0, place, &plays[..1 + k % 2]).expect("spawn")
}

pub fn frame(crowd: &mut Crowd, dt: f32) {
    crowd.frame(Frame::new(dt, &FlatGround::default()), &Serial).expect("a frame");
}

/// A generator of its own, so that runs repeat.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % count.max(1)
    }
    pub fn unit(&mut self) -> f32 {
        self.below(1 << 20) as f32 / (1 << 20) as f32
    }
}

/// True if header and palette are finite; palettes of matrices only.
pub fn finite(crowd: &Crowd, handle: Handle) -> bool {
    let (header, palette) = crowd.pose(handle).expect("alive");
    let values: &[f32] = bytemuck::cast_slice(palette);
    header.position.iter().chain(&header.rotation).chain(values).all(|value| value.is_finite())
}
