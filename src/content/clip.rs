//! The named clips.

use super::gait::{Gait, Walker};
use super::motion::Motion;
use super::rig::BuiltIn;
use super::solve::bake;
use super::stand::Stand;
use crate::clip::RawClip;
use crate::rig::Side;

/// The named clips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClipKind {
    /// Standing, breathing.
    Idle,
    /// Standing, shifting the weight from leg to leg.
    IdleShift,
    /// About 0.8 m/s for an adult.
    SlowWalk,
    /// About 1.35 m/s for an adult.
    Walk,
    /// About 2.5 m/s for an adult.
    Jog,
    /// About 3.7 m/s for an adult.
    Run,
    /// A quarter turn to the left on the spot, from the idle's pose at 0 s to that at 2 s.
    TurnLeft,
    /// A quarter turn to the right on the spot, from the idle's pose at 0 s to that at 2 s.
    TurnRight,
    /// From the idle's first pose to the walk's first pose (left heel strike) at the walk's speed.
    Start,
    /// From the walk's first pose to the idle's.
    Stop,
}

impl ClipKind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Idle,
        Self::IdleShift,
        Self::SlowWalk,
        Self::Walk,
        Self::Jog,
        Self::Run,
        Self::TurnLeft,
        Self::TurnRight,
        Self::Start,
        Self::Stop,
    ];

    /// Lower-case name with underscores.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::IdleShift => "idle_shift",
            Self::SlowWalk => "slow_walk",
            Self::Walk => "walk",
            Self::Jog => "jog",
            Self::Run => "run",
            Self::TurnLeft => "turn_left",
            Self::TurnRight => "turn_right",
            Self::Start => "start",
            Self::Stop => "stop",
        }
    }

    /// The gait of a cyclic clip.
    pub fn gait(self) -> Option<Gait> {
        match self {
            Self::SlowWalk => Some(Gait::walk(0.28)),
            Self::Walk => Some(Gait::walk(0.47)),
            Self::Jog => Some(Gait::run(0.87)),
            Self::Run => Some(Gait::run(1.28)),
            _ => None,
        }
    }

    /// Mean ground speed of a cyclic clip on that body, metres per second; 0 for the others.
    pub fn speed(self, body: &BuiltIn) -> f64 {
        self.gait().map_or(0.0, |gait| Walker::new(&body.anatomy, &gait).speed)
    }
}

/// Synthesises a named clip for one body. Contacts are exact on that body; travel is where
/// [`RigKind::root_source`](super::RigKind::root_source) says.
pub fn clip(kind: ClipKind, body: &BuiltIn) -> RawClip {
    synthesise(kind, body, None)
}

/// `rate` replaces the motion's own number of keys a second.
fn synthesise(kind: ClipKind, body: &BuiltIn, rate: Option<f64>) -> RawClip {
    let anatomy = &body.anatomy;
    let bake = |mut motion: Motion<'_>| {
        motion.rate = rate.unwrap_or(motion.rate);
        bake(kind.name(), body, &motion)
    };
    if let Some(gait) = kind.gait() {
        return bake(Walker::new(anatomy, &gait).motion(anatomy));
    }
    let stand = Stand::new(anatomy);
    let walker = || Walker::new(anatomy, &Gait::walk(0.47));
    match kind {
        ClipKind::IdleShift => bake(stand.idle_shift()),
        ClipKind::TurnLeft => bake(stand.turn(Side::Left)),
        ClipKind::TurnRight => bake(stand.turn(Side::Right)),
        ClipKind::Start => bake(stand.start(&walker())),
        ClipKind::Stop => bake(stand.stop(&walker())),
        _ => bake(stand.idle()),
    }
}

#[cfg(test)]
mod tests {
    use glam::DQuat;

    use super::*;
    use crate::content::{BodyPlan, RigKind, character};

    /// At many keys a second a bounded acceleration shows as a small step of the angular velocity from
    /// key to key, a corner of the motion as a large one.
    #[test]
    fn angular_velocities_have_no_corners() {
        const RATE: f64 = 1920.0;
        let body = character(RigKind::Aligned, &BodyPlan::child());
        for kind in ClipKind::ALL {
            let clip = synthesise(kind, &body, Some(RATE));
            for track in &clip.tracks {
                let Some(keys) = track.rotation.as_ref().map(|r| &r.values) else { continue };
                let spins: Vec<_> = keys
                    .windows(2)
                    .map(|pair| {
                        let [a, b]: [DQuat; 2] = [pair[0], pair[1]].map(|q| q.as_dquat().normalize());
                        (a.inverse() * b).to_scaled_axis() * RATE
                    })
                    .collect();
                for (key, pair) in spins.windows(2).enumerate() {
                    let step = (pair[1] - pair[0]).length();
                    let joint = &body.character.skeleton.joints[usize::from(track.joint)].name;
                    assert!(step < 1.5, "{kind:?} {joint}: {step:.2} rad/s at {:.4} s", key as f64 / RATE);
                }
            }
        }
    }
}
