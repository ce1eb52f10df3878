//! How well feet stand, measured from outside: rendered root and palette against the terrain in double precision.
//!
//! * A *stance* of a foot is a run of frames in which the clip's author says that heel or ball is down. Only
//!   characters are judged whose heaviest clip has at least 95 % of the weight and who are not in a transition: of
//!   others nobody authored contacts.
//! * *gap* and *penetration* are distances along the ground's normal, one sample per frame for each of heel and ball
//!   while the author has that point down.
//! * *slide* is the farthest that the ball gets, over the ground, from where it was in the first frame in which the
//!   author has it down; one value per stance of the ball.
//! * A stance *straddles* if, in a frame in which heel and ball are both down, the ground between the two is
//!   steeper than 45 degrees anywhere (a riser), or their grounds differ by more than a pitch of 30 degrees
//!   bridges. Such a foot cannot lie on the ground; its samples are kept apart.
//! * A stance is *unreachable* if in some frame all points that are down hang more than 5 mm above the ground while
//!   the leg is straight (99.5 % of thigh and shin).
//!
//! Points are where the palette takes the rig's sole points: what a viewer would see.

use glam::{DMat3, DQuat, DVec3};

use super::scene::Scene;
use super::terrain::{HALF_SIDE, Spot, Terrain};
use crate::clip::{Contacts, Interval};
use crate::crowd::{Handle, PaletteFormat, RigId};
use crate::error::BuildError;
use crate::rig::{MAX_FEET, Rig, Side};

/// Share of a character's heaviest clip from which on it is judged by it.
const DOMINANT: f32 = 0.95;
/// Sine of the steepest pitch that a foot is asked for.
const MAX_PITCH_SINE: f64 = 0.5;
/// Normals below this are the face of a step (45 degrees).
const FACE: f64 = 0.707;
/// Metres above the ground from which a straight leg counts as too short.
const HANGS: f64 = 0.005;
/// Share of thigh and shin from which a leg is straight.
const STRAIGHT: f64 = 0.995;

/// Counts of values at a fixed resolution, so that percentiles of millions cost no memory.
#[derive(Clone, Debug)]
pub struct Histogram {
    bins: Vec<u64>,
    count: u64,
    max: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { bins: vec![0; 60_000], count: 0, max: 0.0 }
    }
}

impl Histogram {
    /// Millimetres per bin.
    const STEP: f64 = 0.01;

    /// Counts a value, millimetres.
    pub fn add(&mut self, mm: f64) {
        let last = self.bins.len() - 1;
        self.bins[((mm.max(0.0) / Self::STEP) as usize).min(last)] += 1;
        self.count += 1;
        self.max = self.max.max(mm);
    }

    /// Values counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value that a `share` of all do not exceed, to 0.01 mm upwards; 0 without values.
    pub fn percentile(&self, share: f64) -> f64 {
        let wanted = (share * self.count as f64).ceil() as u64;
        let mut seen = 0;
        for (bin, &count) in self.bins.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= wanted {
                return ((bin + 1) as f64 * Self::STEP).min(self.max);
            }
        }
        self.max
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        for (own, other) in self.bins.iter_mut().zip(&other.bins) {
            *own += other;
        }
        self.count += other.count;
        self.max = self.max.max(other.max);
    }
}

/// Part of the terrain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zone {
    /// Smooth slopes, or all of a flat ground.
    Hills,
    /// Flights of steps.
    Stairs,
    /// Both.
    Mixed,
}

impl Zone {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hills, Self::Stairs, Self::Mixed];

    /// The third of the map that `x` is in.
    pub fn at(x: f64) -> Self {
        let third = HALF_SIDE / 3.0;
        if x < -third {
            Self::Hills
        } else if x < third {
            Self::Stairs
        } else {
            Self::Mixed
        }
    }
}

/// Everything that was counted in one part of the terrain.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Millimetres, heel and ball, straddling stances left out.
    pub gap: [Histogram; 2],
    /// Millimetres, heel and ball, straddling stances left out.
    pub penetration: [Histogram; 2],
    /// Millimetres, straddling stances left out.
    pub slide: Histogram,
    /// Millimetres of gap or penetration in straddling stances.
    pub straddling_error: Histogram,
    /// Stances of a foot.
    pub stances: u64,
    /// Those over a riser.
    pub straddling: u64,
    /// Those that the leg is too short for.
    pub unreachable: u64,
}

impl Tally {
    fn merge(&mut self, other: &Self) {
        for end in 0..2 {
            self.gap[end].merge(&other.gap[end]);
            self.penetration[end].merge(&other.penetration[end]);
        }
        self.slide.merge(&other.slide);
        self.straddling_error.merge(&other.straddling_error);
        self.stances += other.stances;
        self.straddling += other.straddling;
        self.unreachable += other.unreachable;
    }

    /// The figures.
    pub fn quality(&self) -> Quality {
        let both = |[heel, ball]: &[Histogram; 2]| {
            let mut all = heel.clone();
            all.merge(ball);
            all.percentile(0.99)
        };
        let percent = |part: u64| 100.0 * part as f64 / self.stances.max(1) as f64;
        Quality {
            stance_gap_mm_p99: both(&self.gap),
            stance_penetration_mm_p99: both(&self.penetration),
            stance_slide_mm_p99: self.slide.percentile(0.99),
            unreachable_stance_percent: percent(self.unreachable),
            straddling_stance_percent: percent(self.straddling),
            stances: self.stances,
            samples: self.gap[0].count() + self.gap[1].count(),
        }
    }
}

/// The figures of a run.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Quality {
    /// 99th percentile of the gap between sole points that are down and the ground, millimetres.
    pub stance_gap_mm_p99: f64,
    /// The same below ground.
    pub stance_penetration_mm_p99: f64,
    /// 99th percentile over stances of the farthest that the ball gets from where it came down, millimetres.
    pub stance_slide_mm_p99: f64,
    /// Stances that the leg is too short for.
    pub unreachable_stance_percent: f64,
    /// Stances over a riser.
    pub straddling_stance_percent: f64,
    /// Stances of a foot that were judged.
    pub stances: u64,
    /// Samples of gap and penetration.
    pub samples: u64,
}

impl Quality {
    /// Why the run fails, if it does: more than 10 % of stances over a riser, or 1 % out of reach.
    pub fn failure(&self) -> Option<String> {
        if self.straddling_stance_percent > 10.0 {
            return Some(format!(
                "{:.1} % of stances straddle a riser; at most 10 % may",
                self.straddling_stance_percent
            ));
        }
        (self.unreachable_stance_percent > 1.0).then(|| {
            format!(
                "{:.2} % of stances are out of reach; at most 1 % may be",
                self.unreachable_stance_percent
            )
        })
    }
}

/// A stance that is going on.
#[derive(Clone, Debug, Default)]
struct Open {
    /// Signed distances along the normal, millimetres, per end.
    samples: [Vec<f32>; 2],
    ball_from: Option<DVec3>,
    slide: f64,
    slides: Vec<f64>,
    straddles: bool,
    unreachable: bool,
}

/// Where the sole points and the leg of one foot are in a skin's palette.
#[derive(Clone, Debug)]
struct FootPlan {
    side: Side,
    /// Palette entries of thigh, shin and foot, and where each joint, then heel and ball, are in mesh space.
    entries: [usize; 3],
    joints: [DVec3; 3],
    heel: DVec3,
    ball: DVec3,
}

#[derive(Clone, Debug)]
struct Judged {
    handle: Handle,
    /// Index into the plans.
    plan: usize,
    open: [Option<Open>; MAX_FEET],
}

/// Watches a scene frame by frame.
#[derive(Clone, Debug)]
pub struct Harness {
    judged: Vec<Judged>,
    plans: Vec<((RigId, usize), Vec<FootPlan>)>,
    tallies: [Tally; 3],
    reason: Option<&'static str>,
}

impl Harness {
    /// Chooses whom to judge: at most `most` characters with one dominant clip with contacts, spread over the crowd,
    /// whose palette shows legs. Nobody before `skip` frames have passed is up to the caller.
    ///
    /// # Errors
    /// If a handle is stale.
    pub fn new(scene: &Scene, most: usize) -> Result<Self, BuildError> {
        let crowd = &scene.crowd;
        let mut harness =
            Self { judged: Vec::new(), plans: Vec::new(), tallies: Default::default(), reason: None };
        let format = crowd.config().format;
        if format == PaletteFormat::Snorm16 {
            // Its own rounding (0.14 mm) is a test of the format, not of feet.
            harness.reason = Some("palette_format");
            return Ok(harness);
        }
        let mut contacts = false;
        let mut candidates = Vec::new();
        for &handle in scene.handles() {
            let Some(play) = crowd.clips(handle)?.find(|play| play.weight >= DOMINANT) else { continue };
            if crowd.clip(play.clip).is_some_and(|clip| clip.contacts().is_some()) {
                contacts = true;
                candidates.push(handle);
            }
        }
        let stride = candidates.len().div_ceil(most.max(1)).max(1);
        for handle in candidates.into_iter().step_by(stride) {
            let key = crowd.body(handle)?;
            let plan = match harness.plans.iter().position(|(own, _)| *own == key) {
                Some(at) => at,
                None => {
                    harness.plans.push((key, foot_plans(crowd.rig(key.0), key.1)));
                    harness.plans.len() - 1
                }
            };
            if !harness.plans[plan].1.is_empty() {
                harness.judged.push(Judged { handle, plan, open: [None, None] });
            }
        }
        if harness.judged.is_empty() {
            harness.reason = Some(if contacts { "no_legs" } else { "no_authored_contacts" });
        }
        Ok(harness)
    }

    /// Characters that are judged.
    pub fn judged(&self) -> usize {
        self.judged.len()
    }

    /// Looks at the frame that was just rendered.
    ///
    /// # Errors
    /// If a handle is stale.
    pub fn observe(&mut self, scene: &Scene) -> Result<(), BuildError> {
        let crowd = &scene.crowd;
        let format = crowd.config().format;
        for judged in &mut self.judged {
            // Nobody authored what feet do between two clips.
            if crowd.is_changing(judged.handle)? {
                judged.open = [None, None];
                continue;
            }
            let Some(play) = crowd.clips(judged.handle)?.find(|play| play.weight >= DOMINANT) else {
                continue;
            };
            let Some(contacts) = crowd.clip(play.clip).and_then(|clip| clip.contacts()) else { continue };
            let (header, palette) = crowd.pose(judged.handle)?;
            let root = DVec3::from(header.position.map(f64::from));
            let turn = DQuat::from_array(header.rotation.map(f64::from)).normalize();
            for (foot, open) in self.plans[judged.plan].1.iter().zip(&mut judged.open) {
                let down = down(contacts, foot.side, play.time);
                if !down[0] && !down[1] {
                    if let Some(open) = open.take() {
                        close(open, &mut self.tallies[Zone::at(root.x) as usize]);
                    }
                    continue;
                }
                let see = |entry: usize, point: DVec3| {
                    root + turn * transform(format, palette, foot.entries[entry], point)
                };
                let points = [see(2, foot.heel), see(2, foot.ball)];
                let leg = [0, 1, 2].map(|k| see(k, foot.joints[k]));
                let stance = open.get_or_insert_default();
                if !look(stance, &scene.terrain, points, down, leg) {
                    // Off the map there is no ground to judge by.
                    *open = None;
                }
            }
        }
        Ok(())
    }

    /// What was counted in one part of the terrain so far, without stances that are going on.
    pub fn tally(&self, zone: Zone) -> &Tally {
        &self.tallies[zone as usize]
    }

    /// What was counted everywhere.
    pub fn total(&self) -> Tally {
        let mut total = Tally::default();
        self.tallies.iter().for_each(|tally| total.merge(tally));
        total
    }

    /// Ends all stances and gives the figures, or the reason why there are none.
    ///
    /// # Errors
    /// `no_authored_contacts`, `no_legs`, `palette_format` or `no_stances`.
    pub fn finish(&mut self) -> Result<Quality, &'static str> {
        if let Some(reason) = self.reason {
            return Err(reason);
        }
        for judged in &mut self.judged {
            for open in &mut judged.open {
                if let Some(open) = open.take() {
                    let x = open.ball_from.map_or(0.0, |p| p.x);
                    close(open, &mut self.tallies[Zone::at(x) as usize]);
                }
            }
        }
        let total = self.total();
        if total.stances == 0 { Err("no_stances") } else { Ok(total.quality()) }
    }
}

/// Heel and ball.
fn down(contacts: &Contacts, side: Side, time: f32) -> [bool; 2] {
    let any = |list: &[Interval]| list.iter().any(|interval| interval.contains(time));
    let feet = || contacts.feet.iter().filter(|foot| foot.side == side);
    [feet().any(|foot| any(&foot.heel)), feet().any(|foot| any(&foot.ball))]
}

/// Takes one frame of a stance in; false off the map.
fn look(stance: &mut Open, terrain: &Terrain, points: [DVec3; 2], down: [bool; 2], leg: [DVec3; 3]) -> bool {
    let spots: [Option<Spot>; 2] = points.map(|p| terrain.at(p.x, p.z));
    let [Some(heel), Some(ball)] = spots else { return false };
    let mut hangs = true;
    for (end, spot) in [heel, ball].into_iter().enumerate() {
        if down[end] {
            let distance = (points[end].y - spot.height) * spot.normal[1];
            hangs &= distance > HANGS;
            stance.samples[end].push((distance * 1e3) as f32);
        }
    }
    if down[1] {
        let from = *stance.ball_from.get_or_insert(points[1]);
        stance.slide = stance.slide.max((points[1].x - from.x).hypot(points[1].z - from.z));
    } else if stance.ball_from.take().is_some() {
        stance.slides.push(core::mem::take(&mut stance.slide));
    }
    if down[0] && down[1] {
        let sole = points[1] - points[0];
        let steep = (ball.height - heel.height).abs() > MAX_PITCH_SINE * sole.length();
        let face = (0..=8).any(|k| {
            let p = points[0] + sole * (f64::from(k) / 8.0);
            terrain.at(p.x, p.z).is_some_and(|spot| spot.normal[1] < FACE)
        });
        stance.straddles |= steep || face;
    }
    let [hip, knee, ankle] = leg;
    let reach = hip.distance(knee) + knee.distance(ankle);
    stance.unreachable |= hangs && hip.distance(ankle) > STRAIGHT * reach;
    true
}

fn close(mut stance: Open, tally: &mut Tally) {
    if stance.ball_from.is_some() {
        stance.slides.push(stance.slide);
    }
    tally.stances += 1;
    tally.straddling += u64::from(stance.straddles);
    tally.unreachable += u64::from(stance.unreachable);
    for (end, samples) in stance.samples.iter().enumerate() {
        for &mm in samples {
            let mm = f64::from(mm);
            if stance.straddles {
                tally.straddling_error.add(mm.abs());
            } else {
                tally.gap[end].add(mm.max(0.0));
                tally.penetration[end].add((-mm).max(0.0));
            }
        }
    }
    if !stance.straddles {
        stance.slides.iter().for_each(|slide| tally.slide.add(slide * 1e3));
    }
}

/// Legs whose joints all have a palette entry.
fn foot_plans(rig: &Rig, skin: usize) -> Vec<FootPlan> {
    let entries = rig.skins()[skin].entries();
    let plan = |index: usize| -> Option<FootPlan> {
        let leg = &rig.topology().legs()[index];
        let mut found = [0; 3];
        let mut joints = [DVec3::ZERO; 3];
        // The palette takes a point p of the mesh to x + G C p; the joint itself is where C p is 0.
        let back = |entry: usize, from_joint: DVec3| -> Option<DVec3> {
            let entry = &entries[entry];
            let linear = DMat3::from_cols_array_2d(&entry.linear.map(|column| column.map(f64::from)));
            let p = linear.inverse() * (from_joint - DVec3::from(entry.offset.map(f64::from)));
            p.is_finite().then_some(p)
        };
        for (k, joint) in [leg.thigh, leg.shin, leg.foot].into_iter().enumerate() {
            found[k] = entries.iter().position(|entry| entry.joint == joint)?;
            joints[k] = back(found[k], DVec3::ZERO)?;
        }
        let sole = rig.soles()[index];
        Some(FootPlan {
            side: leg.side,
            entries: found,
            joints,
            heel: back(found[2], DVec3::from(sole.heel.map(f64::from)))?,
            ball: back(found[2], DVec3::from(sole.ball.map(f64::from)))?,
        })
    };
    (0..rig.topology().legs().len().min(MAX_FEET)).map_while(plan).collect()
}

/// A point of the mesh, moved by one palette entry.
fn transform(format: PaletteFormat, palette: &[u8], entry: usize, p: DVec3) -> DVec3 {
    let bytes = &palette[entry * format.bytes()..(entry + 1) * format.bytes()];
    let value = |k: usize| {
        f64::from(f32::from_le_bytes([bytes[4 * k], bytes[4 * k + 1], bytes[4 * k + 2], bytes[4 * k + 3]]))
    };
    let vector = |a: usize, b: usize, c: usize| DVec3::new(value(a), value(b), value(c));
    match format {
        PaletteFormat::Mat4 => {
            vector(0, 1, 2) * p.x + vector(4, 5, 6) * p.y + vector(8, 9, 10) * p.z + vector(12, 13, 14)
        }
        PaletteFormat::Mat3x4 => {
            vector(0, 4, 8) * p.x + vector(1, 5, 9) * p.y + vector(2, 6, 10) * p.z + vector(3, 7, 11)
        }
        PaletteFormat::QuatTranslation | PaletteFormat::Snorm16 => {
            let q = DQuat::from_xyzw(value(0), value(1), value(2), value(3));
            q * (p * value(7)) + vector(4, 5, 6)
        }
    }
}
