//! Who goes into which tier: by distance, with hysteresis, a minimum dwell and a bounded number of changes a frame.

use super::budget::{Budget, Load, Plan};
use super::significance::{Scene, Viewer};
use crate::crowd::{Crowd, Handle, TIERS, Tier};

/// A policy's fixed choices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyConfig {
    /// Metres at which [`Tier::Near`] and [`Tier::Mid`] end.
    pub ends: [f32; 2],
    /// Share of the distance by which a character must be past an end before it changes over, either way.
    pub hysteresis: f32,
    /// Seconds that a character stays in a tier at least. Who becomes or ceases to be a hero does not wait.
    pub dwell: f32,
    /// Changes in one frame at most; the most urgent ones come first.
    pub changes: usize,
}

impl Default for PolicyConfig {
    fn default() -> Self {
        Self { ends: [12.0, 35.0], hysteresis: 0.08, dwell: 0.5, changes: 128 }
    }
}

/// A character that is to change over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TierChange {
    /// Who.
    pub handle: Handle,
    /// Where to.
    pub tier: Tier,
    /// Higher first.
    urgency: f32,
    /// Place in the scene's lists, which need not be by index.
    at: usize,
}

/// What came of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TierStats {
    /// Characters in each of [`Tier::ALL`], changes included.
    pub counts: [usize; TIERS],
    /// Changes made.
    pub changed: usize,
    /// Changes that must wait for a later frame.
    pub waiting: usize,
    /// Heroes beyond what the budget has room for.
    pub heroes_over: usize,
}

#[derive(Clone, Copy, Debug)]
struct State {
    handle: Handle,
    tier: Tier,
    /// Seconds since it came there.
    since: f32,
}

impl State {
    const NOBODY: Self = Self { handle: Handle::NONE, tier: Tier::Near, since: f32::MAX };
}

/// See the module's head. [`update`](Self::update) goes by the tiers that the crowd has, so that it may be restored and
/// others may call [`Crowd::set_tier`] besides; [`decide`](Self::decide) by what it has decided before.
#[derive(Debug, Default)]
pub struct TierPolicy {
    config: PolicyConfig,
    states: Vec<State>,
    distances: Vec<f32>,
    ranks: Vec<(f32, u32)>,
    changes: Vec<TierChange>,
    stats: TierStats,
}

impl TierPolicy {
    /// Everybody starts in [`Tier::Near`], as the crowd spawns them.
    #[must_use]
    pub fn new(config: PolicyConfig) -> Self {
        Self { config, ..Self::default() }
    }

    /// What came of the last round.
    #[must_use]
    pub fn stats(&self) -> TierStats {
        self.stats
    }

    /// Decides and applies: see [`decide`](Self::decide).
    pub fn update(
        &mut self,
        crowd: &mut Crowd,
        scene: Scene<'_>,
        viewers: &[Viewer],
        dt: f32,
        budget: &mut dyn Budget,
        frame_seconds: Option<f32>,
    ) -> TierStats {
        let plan = budget.plan(&Load { counts: self.stats.counts, frame_seconds });
        if let Some(periods) = plan.periods {
            // Periods that no tier can have leave them as they are.
            let _ = crowd.set_periods(periods);
        }
        self.meet(scene.handles);
        // The crowd knows best: it may have been restored, or told by others.
        for state in &mut self.states[..scene.handles.len()] {
            if let Ok(tier) = crowd.tier(state.handle) {
                state.tier = tier;
            }
        }
        self.decide(scene, viewers, dt, &plan);
        for change in &self.changes {
            // Who is gone is left out.
            let _ = crowd.set_tier(change.handle, change.tier);
        }
        self.stats
    }

    /// The changes of this frame, `dt` seconds after the last call. Who is asked about counts as having changed over.
    pub fn decide(&mut self, scene: Scene<'_>, viewers: &[Viewer], dt: f32, plan: &Plan) -> &[TierChange] {
        let dt = if dt.is_finite() { dt.max(0.0) } else { 0.0 };
        self.changes.clear();
        self.stats = TierStats::default();
        self.meet(scene.handles);
        for (index, (state, &handle)) in self.states.iter_mut().zip(scene.handles).enumerate() {
            state.since += dt;
            if handle != Handle::NONE {
                self.distances[index] = scene.distance(index, viewers);
            }
        }
        let near = self.limit(scene, plan, Tier::Near, (f32::MAX, 0));
        let mid = self.limit(scene, plan, Tier::Mid, near);
        for index in 0..scene.handles.len() {
            let State { handle, tier, since } = self.states[index];
            if handle == Handle::NONE {
                continue;
            }
            let hero = scene.is_hero(index);
            let wanted = if hero {
                Tier::Hero
            } else if before(self.rank(index, Tier::Near), near) {
                Tier::Near
            } else if before(self.rank(index, Tier::Mid), mid) {
                Tier::Mid
            } else {
                Tier::Far
            };
            self.stats.counts[tier as usize] += 1;
            let free = hero || tier == Tier::Hero || since >= self.config.dwell;
            if wanted != tier && free {
                // Who gets more comes before who gets less, and the nearer one before the farther.
                let distance = self.distances[index];
                let urgency = if wanted < tier { 1.0 / (1.0 + distance) } else { -1.0 / (1.0 + distance) };
                let urgency = if hero { 2.0 } else { urgency };
                self.changes.push(TierChange { handle, tier: wanted, urgency, at: index });
            }
        }
        let most = self.config.changes;
        if self.changes.len() > most {
            let order = |a: &TierChange, b: &TierChange| {
                b.urgency.total_cmp(&a.urgency).then(a.handle.cmp(&b.handle))
            };
            self.changes.select_nth_unstable_by(most, order);
            self.stats.waiting = self.changes.len() - most;
            self.changes.truncate(most);
        }
        self.changes.sort_unstable_by_key(|change| change.handle);
        for change in &self.changes {
            let state = &mut self.states[change.at];
            self.stats.counts[state.tier as usize] -= 1;
            self.stats.counts[change.tier as usize] += 1;
            (state.tier, state.since) = (change.tier, 0.0);
        }
        self.stats.changed = self.changes.len();
        self.stats.heroes_over = self.stats.counts[Tier::Hero as usize].saturating_sub(plan.most[0]);
        &self.changes
    }

    /// Forgets who is no longer at his place; everybody new is in [`Tier::Near`].
    fn meet(&mut self, handles: &[Handle]) {
        if self.states.len() < handles.len() {
            self.states.resize(handles.len(), State::NOBODY);
            self.distances.resize(handles.len(), f32::MAX);
        }
        for (state, &handle) in self.states.iter_mut().zip(handles) {
            if state.handle != handle {
                *state = State { handle, ..State::NOBODY };
            }
        }
    }

    /// Distance as it counts at the end of a tier: who is within it is nearer, who is beyond farther. The index tells
    /// equals apart.
    fn rank(&self, index: usize, end: Tier) -> (f32, u32) {
        let inside = self.states[index].tier <= end;
        let share = if inside { 1.0 - self.config.hysteresis } else { 1.0 + self.config.hysteresis };
        (self.distances[index] * share, index as u32)
    }

    /// Rank from which on characters are beyond a tier: its end, or the first that there is no room for.
    fn limit(&mut self, scene: Scene<'_>, plan: &Plan, tier: Tier, from: (f32, u32)) -> (f32, u32) {
        let end = (self.config.ends[tier as usize - 1] * plan.reach, u32::MAX);
        let most = plan.most[tier as usize];
        let mut ranks = core::mem::take(&mut self.ranks);
        ranks.clear();
        if most < scene.handles.len() {
            for index in 0..scene.handles.len() {
                let here = scene.handles[index] != Handle::NONE && !scene.is_hero(index);
                let beyond = tier == Tier::Near || !before(self.rank(index, Tier::Near), from);
                let rank = self.rank(index, tier);
                if here && beyond && before(rank, end) {
                    ranks.push(rank);
                }
            }
        }
        let limit = if ranks.len() > most {
            *ranks.select_nth_unstable_by(most, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).1
        } else {
            end
        };
        self.ranks = ranks;
        limit
    }
}

fn before(a: (f32, u32), b: (f32, u32)) -> bool {
    a.0 < b.0 || a.0 == b.0 && a.1 < b.1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crowd::WorldTransform;

    /// `count` characters at these distances along x from a camera that is told.
    struct Line {
        handles: Vec<Handle>,
        transforms: Vec<WorldTransform>,
        policy: TierPolicy,
    }

    impl Line {
        fn new(distances: &[f32], config: PolicyConfig) -> Self {
            Self {
                handles: (0..distances.len()).map(|index| Handle::from_bits(index as u64)).collect(),
                transforms: distances.iter().map(|&x| WorldTransform::standing(x, 0.0, 0.0)).collect(),
                policy: TierPolicy::new(config),
            }
        }

        fn round(&mut self, camera: f32, dt: f32, plan: &Plan, heroes: &[u64]) -> Vec<TierChange> {
            let scene =
                Scene { handles: &self.handles, transforms: &self.transforms, importance: &[], heroes };
            self.policy.decide(scene, &[Viewer::at([camera, 0.0, 0.0])], dt, plan).to_vec()
        }

        fn tiers(&self) -> Vec<Tier> {
            self.policy.states.iter().map(|state| state.tier).collect()
        }
    }

    const DT: f32 = 1.0 / 60.0;

    #[test]
    fn what_the_crowd_was_told_by_others_or_restored_to_is_seen_and_its_periods_stay() {
        use crate::content::{self, BodyPlan, RigKind};
        use crate::crowd::{CrowdConfig, TierConfig};
        let mut tiers = TierConfig::DEFAULT;
        tiers[3].period = 8;
        let mut crowd = Crowd::new(CrowdConfig { tiers, ..CrowdConfig::default() });
        let built = content::character(RigKind::ALL[0], &BodyPlan::adult());
        let rig = crowd.add_rig(crate::rig::Rig::build(&built.rig_source()).expect("rig")).expect("rig");
        let transforms = [WorldTransform::standing(100.0, 0.0, 0.0)];
        let handles = [crowd.spawn(rig, 0, transforms[0], &[]).expect("spawned")];
        let before = crowd.snapshot();
        let mut policy = TierPolicy::new(PolicyConfig::default());
        let scene = Scene { handles: &handles, transforms: &transforms, importance: &[], heroes: &[] };
        let round = |policy: &mut TierPolicy, crowd: &mut Crowd, plan: Plan| {
            let viewers = [Viewer::at([0.0; 3])];
            policy.update(crowd, scene, &viewers, 1.0, &mut super::super::budget::Fixed(plan), None);
            crowd.tier(handles[0]).expect("alive")
        };
        assert_eq!(round(&mut policy, &mut crowd, Plan::default()), Tier::Far);
        crowd.restore(&before).expect("restored");
        assert_eq!(crowd.tier(handles[0]), Ok(Tier::Near));
        assert_eq!(round(&mut policy, &mut crowd, Plan::default()), Tier::Far, "after a restore");
        crowd.set_tier(handles[0], Tier::Hero).expect("alive");
        assert_eq!(round(&mut policy, &mut crowd, Plan::default()), Tier::Far, "after others");
        assert_eq!(crowd.tiers()[3].period, 8);
        round(&mut policy, &mut crowd, Plan { periods: Some([1, 1, 1, 2]), ..Plan::default() });
        assert_eq!(crowd.tiers()[3].period, 2);
    }

    /// C68: the camera swings half a metre about the end of a tier.
    #[test]
    fn a_camera_that_swings_about_an_end_changes_a_tier_once_per_dwell_at_most() {
        let config = PolicyConfig { hysteresis: 0.0, ..PolicyConfig::default() };
        let mut line = Line::new(&[12.0], config);
        let (mut last, mut count) = (f32::MIN, 0);
        for frame in 0..1200 {
            let time = frame as f32 * DT;
            for _ in line.round(0.5 * (time * 19.0).sin(), DT, &Plan::default(), &[]) {
                assert!(time - last >= config.dwell - 0.5 * DT, "at {last} and {time}");
                (last, count) = (time, count + 1);
            }
        }
        assert!(count > 2, "without hysteresis it does change: {count}");
        let mut line = Line::new(&[12.0], PolicyConfig { dwell: 0.0, ..config });
        let busy: usize = (0..1200)
            .map(|frame| line.round(0.5 * (frame as f32 * DT * 19.0).sin(), DT, &Plan::default(), &[]).len())
            .sum();
        assert!(busy > 2 * count, "dwell holds back {busy} changes to {count}");
        // With hysteresis of a metre it does not change at all.
        let mut line = Line::new(&[12.0], PolicyConfig { dwell: 0.0, ..PolicyConfig::default() });
        for frame in 0..1200 {
            assert!(line.round(0.5 * (frame as f32 * DT * 19.0).sin(), DT, &Plan::default(), &[]).is_empty());
        }
    }

    /// C67: twenty alike, and room for fewer.
    #[test]
    fn who_is_too_many_gets_less_and_nobody_nothing() {
        let mut line = Line::new(&[5.0; 20], PolicyConfig::default());
        let plan = Plan { most: [usize::MAX, 8, 7, usize::MAX], ..Plan::default() };
        for _ in 0..5 {
            line.round(0.0, DT, &plan, &[]);
        }
        assert_eq!(line.policy.stats().counts, [0, 8, 7, 5]);
        let tiers = line.tiers();
        for _ in 0..100 {
            assert!(line.round(0.0, DT, &plan, &[]).is_empty(), "who is alike does not change places");
        }
        assert_eq!(line.tiers(), tiers);
        // Room again: all come back.
        for _ in 0..100 {
            line.round(0.0, DT, &Plan::default(), &[]);
        }
        assert_eq!(line.policy.stats().counts, [0, 20, 0, 0]);
    }

    #[test]
    fn changes_are_bounded_and_the_nearest_go_first() {
        let distances: Vec<f32> = (0..300).map(|at| 200.0 + at as f32).collect();
        let config = PolicyConfig { changes: 10, dwell: 0.0, ..PolicyConfig::default() };
        let mut line = Line::new(&distances, config);
        for left in (0..30).rev() {
            assert_eq!(line.round(0.0, DT, &Plan::default(), &[]).len(), 10);
            assert_eq!(line.policy.stats().waiting, 10 * left);
        }
        // The camera jumps to the far end: those around it first.
        let changes = line.round(500.0, DT, &Plan::default(), &[]);
        assert!(changes.iter().all(|change| change.handle.index() >= 285 && change.tier == Tier::Near));
    }

    #[test]
    fn heroes_are_heroes_at_once_and_too_many_are_told() {
        let mut line =
            Line::new(&[400.0, 3.0, 400.0], PolicyConfig { dwell: 9.0, ..PolicyConfig::default() });
        line.round(0.0, DT, &Plan::default(), &[]);
        assert_eq!(line.tiers(), [Tier::Far, Tier::Near, Tier::Far]);
        let plan = Plan { most: [1, usize::MAX, usize::MAX, usize::MAX], ..Plan::default() };
        line.round(0.0, DT, &plan, &[0b101]);
        assert_eq!(line.tiers(), [Tier::Hero, Tier::Near, Tier::Hero]);
        assert_eq!(line.policy.stats().heroes_over, 1);
        line.round(0.0, DT, &plan, &[]);
        assert_eq!(line.tiers(), [Tier::Far, Tier::Near, Tier::Far]);
    }

    #[test]
    fn importance_lenses_and_several_viewers_count() {
        let place = |x| WorldTransform::standing(x, 0.0, 0.0);
        let transforms = [place(30.0), place(30.0), place(100.0), place(f32::NAN)];
        let scene =
            Scene { handles: &[], transforms: &transforms, importance: &[1.0, 3.0, -1.0], heroes: &[] };
        let origin = [Viewer::at([0.0; 3])];
        assert_eq!([0, 1, 2].map(|index| scene.distance(index, &origin)), [30.0, 10.0, 100.0]);
        let two = [Viewer { zoom: 2.0, ..origin[0] }, Viewer::at([90.0, 0.0, 0.0])];
        assert_eq!([0, 2].map(|index| scene.distance(index, &two)), [15.0, 10.0]);
        assert_eq!([3, 9].map(|index| scene.distance(index, &two)), [f32::MAX; 2]);
    }
}
