//! The scalar baseline that `ratio` is measured against: one glam loop per character, doing what the engine's
//! frame does, on the same data.
//!
//! FROZEN. A change of any file of this folder changes every published ratio: `tests/baseline.rs` holds its hash.
//!
//! It is what a careful engineer writes without lanes: rows dequantised ahead to `Vec4`, all of a character's clips
//! mixed in one pass over its joints, scratch that stays in L1, constants that depend on `dt` only taken out of the
//! loop, branches where scalar code may skip work, characters in rig order, whole slots written front to back. glam's
//! quaternions and vectors are SSE registers, so "scalar" means one character at a time, not one float.
//! Multiplications and additions are explicit; compiled once plain and once for AVX2 and FMA
//! ([`throng::lanes::run_kernel`]), the faster counts.

mod feet;
mod palette;
mod pose;

use glam::{Quat, Vec2, Vec3A, Vec4};
use throng::crowd::PaletteFormat;
use throng::lanes::{Isa, Kernel, Line, run_kernel};

/// Legs of a character at most.
pub const FEET: usize = 2;

/// A clip, dequantised.
#[derive(Clone, Debug)]
pub struct Clip {
    /// Keys x quads: rotations since the reference pose, then pelvis offset in leg lengths, then contact weights.
    pub rows: Vec<Vec4>,
    /// Quads of a key.
    pub quads: usize,
    /// Keys per second.
    pub rate: f32,
    /// Key intervals.
    pub intervals: usize,
    /// Seconds.
    pub duration: f32,
    /// Runs on over its end.
    pub looping: bool,
    /// Signs must be looked at when it is mixed with others.
    pub crosses_hemisphere: bool,
    /// Root velocity in each interval, x, z and yaw; one for the whole clip where it does not change.
    pub twists: Vec<Vec3A>,
    /// Their integral from the start to each key.
    pub travel: Vec<Vec3A>,
}

/// A leg's joints.
#[derive(Clone, Debug)]
pub struct Leg {
    /// From below the pelvis to above the thigh.
    pub above: Vec<u16>,
    /// Hip joint.
    pub thigh: u16,
    /// Knee joint.
    pub shin: u16,
    /// Ankle joint.
    pub foot: u16,
    /// Ankle to heel and ball at the reference.
    pub sole: [Vec3A; 2],
}

/// One matrix of a palette.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Joint.
    pub joint: u16,
    /// False: the constant is only a translation.
    pub general: bool,
    /// Columns of the constant.
    pub linear: [Vec3A; 3],
    /// Translation of the constant.
    pub offset: Vec3A,
    /// The linear part as a rotation.
    pub rotation: Quat,
    /// And a scale.
    pub scale: f32,
}

/// A rig with one of its skins.
#[derive(Clone, Debug)]
pub struct Body {
    /// Parent of each joint, parents first; `u16::MAX` for roots.
    pub parents: Vec<u16>,
    /// From the parent at the reference.
    pub offsets: Vec<Vec3A>,
    /// Joint that carries the pelvis offset.
    pub pelvis: u16,
    /// Root to pelvis.
    pub to_pelvis: Vec<u16>,
    /// At most two.
    pub legs: Vec<Leg>,
    /// Leg length, metres.
    pub leg: f32,
    /// Matrices of the palette, in order.
    pub entries: Vec<Entry>,
    /// Metres that 1 stands for in 16-bit translations.
    pub range: f32,
    /// Lines of a slot.
    pub lines: usize,
}

/// What a character plays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Play {
    /// Index of the clip.
    pub clip: u32,
    /// Seconds.
    pub time: f32,
    /// All of a character sum to 1.
    pub weight: f32,
    /// Clip seconds per second.
    pub speed: f32,
}

/// What persists about a foot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Foot {
    offset: Vec2,
    last: Vec2,
    locked: bool,
}

/// One character.
#[derive(Clone, Debug)]
pub struct Character {
    /// Index of its body.
    pub body: u32,
    /// Clips in `plays`.
    pub count: u32,
    /// First `count` count.
    pub plays: [Play; 4],
    /// World root.
    pub position: Vec3A,
    /// World root.
    pub rotation: Quat,
    /// True before the first frame.
    pub fresh: bool,
    pelvis: f32,
    last_height: f32,
    feet: [Foot; FEET],
}

impl Character {
    /// Standing at a place; `count` of `plays` count.
    pub fn new(body: u32, plays: [Play; 4], count: u32, position: Vec3A, rotation: Quat) -> Self {
        let feet = [Foot::default(); FEET];
        Self { body, count, plays, position, rotation, fresh: true, pelvis: 0.0, last_height: 0.0, feet }
    }
}

/// The ground.
#[derive(Clone, Debug)]
pub enum Ground {
    /// Everywhere this height.
    Flat(f32),
    /// Heights on a grid, bilinear; nothing beyond it.
    Field {
        /// Least world x and z.
        min: Vec2,
        /// Greatest world x and z.
        max: Vec2,
        /// Samples along x and along z.
        size: [usize; 2],
        /// Metres; the samples of one x lie side by side.
        heights: Vec<f32>,
    },
}

/// What the baseline runs on.
#[derive(Clone, Debug)]
pub struct Input {
    /// All clips.
    pub clips: Vec<Clip>,
    /// All bodies.
    pub bodies: Vec<Body>,
    /// Sorted by body.
    pub characters: Vec<Character>,
    /// Under them.
    pub ground: Ground,
    /// Of the palettes.
    pub format: PaletteFormat,
}

/// Constants of a frame.
#[derive(Clone, Copy, Debug)]
struct Step {
    dt: f32,
    time: f32,
    /// What is left of a released foot offset.
    release: f32,
    /// How far the pelvis follows.
    follow: f32,
}

/// Pose of the character at hand.
#[derive(Clone, Debug, Default)]
struct Scratch {
    rotations: Vec<Quat>,
    positions: Vec<Vec3A>,
    pelvis: Vec3A,
    contact: [f32; FEET],
    probes: [Vec2; 2 * FEET],
}

/// The baseline with its output.
#[derive(Clone, Debug)]
pub struct Baseline {
    input: Input,
    output: Vec<Line>,
    scratch: Vec<Scratch>,
    time: f32,
}

impl Baseline {
    /// Makes room for all output.
    pub fn new(input: Input) -> Self {
        let body = |character: &Character| &input.bodies[character.body as usize];
        let lines = input.characters.iter().map(|character| body(character).lines).sum();
        let joints = input.bodies.iter().map(|body| body.parents.len()).max().unwrap_or(0);
        let scratch = Scratch {
            rotations: vec![Quat::IDENTITY; joints],
            positions: vec![Vec3A::ZERO; joints],
            ..Scratch::default()
        };
        Self { input, output: vec![Line::ZERO; lines], scratch: vec![scratch; 64], time: 0.0 }
    }

    /// One frame on all threads of rayon's current pool; `isa` chooses the copy.
    pub fn frame(&mut self, isa: Isa, dt: f32) {
        self.time += dt;
        let step = Step {
            dt,
            time: self.time,
            release: (-dt * (core::f32::consts::LN_2 / feet::RELEASE_HALF_LIFE)).exp(),
            follow: 1.0 - (-dt / feet::PELVIS_TIME).exp(),
        };
        let Input { clips, bodies, characters, ground, format } = &mut self.input;
        let shared = Shared { step, clips, bodies, ground, format: *format };
        let threads = rayon::current_num_threads();
        let jobs = if threads == 1 { 1 } else { (4 * threads).min(self.scratch.len()) };
        split(isa, shared, characters, &mut self.output, &mut self.scratch[..jobs]);
    }

    /// Slots of all characters, one after the other.
    pub fn output(&self) -> &[Line] {
        &self.output
    }

    /// Their state, to be put back.
    pub fn characters_mut(&mut self) -> &mut [Character] {
        &mut self.input.characters
    }

    /// Characters and bodies.
    pub fn input(&self) -> &Input {
        &self.input
    }
}

#[derive(Clone, Copy)]
struct Shared<'a> {
    step: Step,
    clips: &'a [Clip],
    bodies: &'a [Body],
    ground: &'a Ground,
    format: PaletteFormat,
}

/// Halves the characters until there is one part per scratch.
fn split(
    isa: Isa,
    shared: Shared<'_>,
    characters: &mut [Character],
    output: &mut [Line],
    scratch: &mut [Scratch],
) {
    if let [scratch] = scratch {
        run_kernel(isa, Run { shared, characters, output, scratch });
        return;
    }
    let half = scratch.len() / 2;
    let at = characters.len() * half / scratch.len();
    let lines = characters[..at].iter().map(|c| shared.bodies[c.body as usize].lines).sum();
    let (left, right) = characters.split_at_mut(at);
    let (left_output, right_output) = output.split_at_mut(lines);
    let (left_scratch, right_scratch) = scratch.split_at_mut(half);
    rayon::join(
        || split(isa, shared, left, left_output, left_scratch),
        || split(isa, shared, right, right_output, right_scratch),
    );
}

struct Run<'a> {
    shared: Shared<'a>,
    characters: &'a mut [Character],
    output: &'a mut [Line],
    scratch: &'a mut Scratch,
}

impl Kernel for Run<'_> {
    #[inline(always)]
    fn run(self) {
        let Shared { step, clips, bodies, ground, format } = self.shared;
        let mut rest = self.output;
        for character in self.characters {
            let body = &bodies[character.body as usize];
            let (slot, behind) = rest.split_at_mut(body.lines);
            rest = behind;
            pose::advance(character, clips, body.leg, step);
            pose::sample(character, clips, body, self.scratch);
            feet::solve(character, body, ground, step, self.scratch);
            pose::model(body, self.scratch);
            palette::write(character, body, format, step, self.scratch, slot);
        }
    }
}
