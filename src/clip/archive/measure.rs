//! Poses in model space, and how far two courses of them are apart.

use glam::{DQuat, DVec3};

use crate::rig::{NO_PARENT, Rig};

/// What model space needs to know of a body.
#[derive(Clone, Debug)]
pub(super) struct Body {
    pub parents: Vec<u16>,
    /// Metres.
    pub offsets: Vec<DVec3>,
    pub pelvis: usize,
    /// Metres.
    pub leg: f64,
    /// Metres from a joint to its virtual vertices.
    pub shell: f64,
}

/// One joint over all keys, in model space.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    pub turn: Vec<DQuat>,
    pub at: Vec<DVec3>,
}

impl Body {
    pub fn of(rig: &Rig, shell: f64) -> Self {
        Self {
            parents: rig.topology().parents().to_vec(),
            offsets: rig
                .offsets()
                .iter()
                .map(|&[x, y, z]| DVec3::new(x.into(), y.into(), z.into()))
                .collect(),
            pelvis: rig.topology().pelvis().into(),
            leg: rig.leg().into(),
            shell,
        }
    }

    /// Where a joint is at each key, given its parent's course, before it turns; the pelvis without its own offset.
    pub fn places(&self, joint: usize, above: Option<&Course>, keys: usize) -> Vec<DVec3> {
        match above {
            Some(above) => {
                above.at.iter().zip(&above.turn).map(|(at, turn)| *at + *turn * self.offsets[joint]).collect()
            }
            None => vec![self.offsets[joint]; keys],
        }
    }

    /// Courses of all joints: `rotations` keys x joints, `pelvis` per key in leg lengths.
    pub fn courses(&self, rotations: &[DQuat], pelvis: &[DVec3]) -> Vec<Course> {
        let joints = self.parents.len();
        let mut courses: Vec<Course> = Vec::with_capacity(joints);
        for joint in 0..joints {
            let above = self.above(joint, &courses);
            let mut at = self.places(joint, above, pelvis.len());
            if joint == self.pelvis {
                at.iter_mut().zip(pelvis).for_each(|(at, offset)| *at += *offset * self.leg);
            }
            let turn = (0..pelvis.len())
                .map(|key| {
                    let own = rotations[key * joints + joint];
                    above.map_or(own, |above| above.turn[key] * own)
                })
                .collect();
            courses.push(Course { turn, at });
        }
        courses
    }

    pub fn above<'a>(&self, joint: usize, courses: &'a [Course]) -> Option<&'a Course> {
        let parent = self.parents[joint];
        (parent != NO_PARENT).then(|| &courses[usize::from(parent)])
    }

    /// Largest distance, metres, of a joint or one of its virtual vertices between two courses.
    pub fn apart(&self, a: &Course, b: &Course) -> f64 {
        let mut worst = 0.0f64;
        for key in 0..a.at.len() {
            let moved = b.at[key] - a.at[key];
            worst = worst.max(moved.length_squared());
            for axis in DVec3::AXES {
                let vertex = axis * self.shell;
                let moved = moved + b.turn[key] * vertex - a.turn[key] * vertex;
                worst = worst.max(moved.length_squared());
            }
        }
        worst.sqrt()
    }
}
