//! The named clips.

use super::gait::{Gait, Walker};
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
    /// A quarter turn to the left on the spot.
    TurnLeft,
    /// A quarter turn to the right on the spot.
    TurnRight,
    /// From standing to the walk's first pose (left heel strike) at the walk's speed.
    Start,
    /// From the walk's first pose to standing.
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
    let anatomy = &body.anatomy;
    let name = kind.name();
    if let Some(gait) = kind.gait() {
        return bake(name, body, &Walker::new(anatomy, &gait).motion(anatomy));
    }
    let stand = Stand::new(anatomy);
    let walker = || Walker::new(anatomy, &Gait::walk(0.47));
    match kind {
        ClipKind::IdleShift => bake(name, body, &stand.idle_shift()),
        ClipKind::TurnLeft => bake(name, body, &stand.turn(Side::Left)),
        ClipKind::TurnRight => bake(name, body, &stand.turn(Side::Right)),
        ClipKind::Start => bake(name, body, &stand.start(&walker())),
        ClipKind::Stop => bake(name, body, &stand.stop(&walker())),
        _ => bake(name, body, &stand.idle()),
    }
}
