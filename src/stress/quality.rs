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
use super::tally::{Quality, Tally, Zone};
use super::terrain::{Spot, Terrain};
use crate::clip::{Contacts, Interval};
use crate::crowd::{Handle, PaletteFormat, RigId, ShownPose, TIERS, Tier};
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

/// How far a point gets from where it was at first; one value each time that it is put down.
#[derive(Clone, Debug, Default)]
struct Excursion {
    from: Option<DVec3>,
    farthest: f64,
    done: Vec<f64>,
}

impl Excursion {
    fn look(&mut self, point: DVec3, down: bool) {
        if down {
            let from = *self.from.get_or_insert(point);
            self.farthest = self.farthest.max((point.x - from.x).hypot(point.z - from.z));
        } else if self.from.take().is_some() {
            self.done.push(core::mem::take(&mut self.farthest));
        }
    }

    /// All values, millimetres.
    fn finish(mut self) -> impl Iterator<Item = f64> {
        self.look(DVec3::ZERO, false);
        self.done.into_iter().map(|metres| metres * 1e3)
    }
}

/// A stance that is going on.
#[derive(Clone, Debug, Default)]
struct Open {
    /// Signed distances along the normal, millimetres, per end.
    samples: [Vec<f32>; 2],
    ball: Excursion,
    /// While both poses that it is shown between have it down.
    within: Excursion,
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
    /// When it was last seen between two clips, seconds of the crowd's clock.
    changed: Option<f64>,
    /// When it was first seen at the end of a clip that does not loop, seconds of the crowd's clock.
    ended: Option<f64>,
    /// Part of the terrain and tier in the last frame.
    last: (usize, usize),
}

/// Watches a scene frame by frame.
#[derive(Clone, Debug)]
pub struct Harness {
    judged: Vec<Judged>,
    plans: Vec<((RigId, usize), Vec<FootPlan>)>,
    /// By part of the terrain and tier.
    tallies: [[Tally; TIERS]; 3],
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
                harness.judged.push(Judged {
                    handle,
                    plan,
                    open: [None, None],
                    changed: None,
                    ended: None,
                    last: (0, 0),
                });
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
        for judged in &mut self.judged {
            // Nobody authored what feet do between two clips.
            if crowd.is_changing(judged.handle)? {
                judged.open = [None, None];
                judged.changed = Some(crowd.clock());
                continue;
            }
            let Some(play) = crowd.clips(judged.handle)?.find(|play| play.weight >= DOMINANT) else {
                continue;
            };
            let Some(clip) = crowd.clip(play.clip) else { continue };
            let Some(contacts) = clip.contacts() else { continue };
            let pose = crowd.shown_pose(judged.handle)?;
            // What is shown may still be of then.
            let oldest = f64::from(pose.times()[0]);
            if judged.changed.is_some_and(|changed| oldest < changed + 1e-3) {
                continue;
            }
            let header = pose.header();
            let root = DVec3::from(header.position.map(f64::from));
            let turn = DQuat::from_array(header.rotation.map(f64::from)).normalize();
            judged.last = (Zone::at(root.x) as usize, crowd.tier(judged.handle)? as usize);
            let tally = &mut self.tallies[judged.last.0][judged.last.1];
            // Where the clip was when a pose was made: what is shown may be late. One that has come to its end has
            // stood there since.
            let duration = f64::from(clip.duration());
            let ended = !clip.looping() && f64::from(play.time) >= duration;
            judged.ended = ended.then(|| judged.ended.unwrap_or(crowd.clock()));
            let last = judged.ended.unwrap_or(crowd.clock());
            let at = |time: f32| {
                let ago = (last - f64::from(time)).max(0.0);
                let into = f64::from(play.time) - ago * f64::from(play.speed);
                if clip.looping() {
                    into.rem_euclid(duration) as f32
                } else {
                    into.clamp(0.0, duration) as f32
                }
            };
            let (now, poses) = (at(header.time), pose.times().map(at));
            for (foot, open) in self.plans[judged.plan].1.iter().zip(&mut judged.open) {
                let down = down_at(contacts, foot.side, now);
                if !down[0] && !down[1] {
                    if let Some(open) = open.take() {
                        close(open, tally);
                    }
                    continue;
                }
                let see = |entry: usize, point: DVec3| root + turn * moved(&pose, foot.entries[entry], point);
                let points = [see(2, foot.heel), see(2, foot.ball)];
                let within = poses.iter().all(|&time| down_at(contacts, foot.side, time)[1]);
                let leg = [0, 1, 2].map(|k| see(k, foot.joints[k]));
                let stance = open.get_or_insert_default();
                if !look(stance, &scene.terrain, points, (down, within), leg) {
                    // Off the map there is no ground to judge by.
                    *open = None;
                }
            }
        }
        Ok(())
    }

    /// What was counted in one part of the terrain so far, without stances that are going on.
    pub fn tally(&self, zone: Zone) -> Tally {
        sum(&self.tallies[zone as usize])
    }

    /// What was counted of one tier.
    pub fn of_tier(&self, tier: Tier) -> Tally {
        sum(self.tallies.iter().map(|zone| &zone[tier as usize]))
    }

    /// What was counted everywhere.
    pub fn total(&self) -> Tally {
        sum(self.tallies.iter().flatten())
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
                    close(open, &mut self.tallies[judged.last.0][judged.last.1]);
                }
            }
        }
        let total = self.total();
        if total.stances == 0 { Err("no_stances") } else { Ok(total.quality()) }
    }
}

fn sum<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Tally {
    let mut sum = Tally::default();
    tallies.into_iter().for_each(|tally| sum.merge(tally));
    sum
}

/// Heel and ball.
fn down_at(contacts: &Contacts, side: Side, time: f32) -> [bool; 2] {
    let any = |list: &[Interval]| list.iter().any(|interval| interval.contains(time));
    let feet = || contacts.feet.iter().filter(|foot| foot.side == side);
    [feet().any(|foot| any(&foot.heel)), feet().any(|foot| any(&foot.ball))]
}

/// Takes one frame of a stance in; `within`: both poses that the foot is shown between have the ball down. False off the
/// map.
fn look(
    stance: &mut Open,
    terrain: &Terrain,
    points: [DVec3; 2],
    (down, within): ([bool; 2], bool),
    leg: [DVec3; 3],
) -> bool {
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
    stance.ball.look(points[1], down[1]);
    stance.within.look(points[1], down[1] && within);
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

fn close(stance: Open, tally: &mut Tally) {
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
        stance.ball.finish().for_each(|slide| tally.slide.add(slide));
        stance.within.finish().for_each(|slide| tally.slide_within.add(slide));
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
fn moved(pose: &ShownPose<'_>, entry: usize, p: DVec3) -> DVec3 {
    let m = pose.matrix(entry).unwrap_or_default().map(f64::from);
    let row = |k: usize| m[k] * p.x + m[k + 1] * p.y + m[k + 2] * p.z + m[k + 3];
    DVec3::new(row(0), row(4), row(8))
}
