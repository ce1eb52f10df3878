//! Additive clips: what a motion adds to a reference pose, to be put on top of any other motion.
//!
//! ```text
//! increment   A = R^-1 M        R: the reference pose's local rotation, M: the clip's, both in motion space
//! applied     M' = M_base A^w   increments stand on the right, A^w by nlerp from the identity
//! pelvis      p' = p_base + w (p - p_ref)      not turned by anything
//! ```
//!
//! Builder and stage keep the same order: over the reference pose itself, with weight 1, the clip comes out again. Root
//! motion and contacts are no part of an additive clip.

use glam::{DQuat, DVec3};

use super::MotionKeys;
use crate::error::BuildError;

/// The pose that an additive clip counts from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum AdditiveReference<'a> {
    /// The reference pose of the topology's rigs.
    Rig,
    /// The clip's own pose at that many seconds.
    Own(f64),
    /// Another clip's pose at that many seconds.
    Pose(&'a MotionKeys, f64),
}

impl MotionKeys {
    /// Local rotations and pelvis offset at a time in seconds, held before the first and after the last key.
    ///
    /// # Errors
    /// If there are no keys or they do not fit each other, or the time is not finite.
    pub fn pose(&self, time: f64) -> Result<(Vec<DQuat>, DVec3), BuildError> {
        let count = self.pelvis.len();
        let bad = |reason| Err(BuildError::Keys { clip: self.name.clone(), reason });
        if count == 0 || !self.rotations.len().is_multiple_of(count) {
            return bad("there must be one rotation per joint for each key");
        }
        if !time.is_finite() || !(self.duration > 0.0 || count == 1) {
            return bad("the time of a pose must be finite and the clip must last");
        }
        let joints = self.rotations.len() / count;
        let last = count - 1;
        let at = if last == 0 { 0.0 } else { (time / self.duration * last as f64).clamp(0.0, last as f64) };
        let left = (at as usize).min(last.saturating_sub(1));
        let (right, share) = ((left + 1).min(last), at - left as f64);
        let keys = |key: usize| &self.rotations[key * joints..(key + 1) * joints];
        let mixed = keys(left).iter().zip(keys(right)).map(|(&a, &b)| {
            // On a key it is the key, to the bit.
            if share == 0.0 {
                return a;
            }
            let b = if a.dot(b) < 0.0 { -b } else { b };
            (a * (1.0 - share) + b * share).normalize()
        });
        Ok((mixed.collect(), self.pelvis[left].lerp(self.pelvis[right], share)))
    }

    /// The additive clip of these keys: see the module's head. Events stay; root motion, contacts and markers go.
    ///
    /// # Errors
    /// If these or the reference's keys are additive already, do not fit each other or are not finite.
    pub fn additive(&self, reference: AdditiveReference<'_>) -> Result<Self, BuildError> {
        let count = self.pelvis.len();
        let joints = self.rotations.len() / count.max(1);
        let plain = |keys: &Self| match keys.additive {
            true => Err(BuildError::ClipUse {
                clip: keys.name.clone(),
                is: "additive",
                used: "a motion that an additive clip is made of",
            }),
            false => Ok(()),
        };
        plain(self)?;
        let (rotations, pelvis) = match reference {
            AdditiveReference::Rig => (vec![DQuat::IDENTITY; joints], DVec3::ZERO),
            AdditiveReference::Own(time) => self.pose(time)?,
            AdditiveReference::Pose(keys, time) => {
                plain(keys)?;
                keys.pose(time)?
            }
        };
        if rotations.len() != joints || self.rotations.len() != joints * count {
            return Err(BuildError::Keys {
                clip: self.name.clone(),
                reason: "the additive reference has other joints; bind both to one topology",
            });
        }
        let back: Vec<DQuat> = rotations.iter().map(|rotation| rotation.inverse()).collect();
        let since = |(at, own): (usize, &DQuat)| {
            let reference = rotations[at % joints];
            // The reference itself adds nothing, to the bit.
            if *own == reference { DQuat::IDENTITY } else { (back[at % joints] * *own).normalize() }
        };
        Ok(Self {
            name: self.name.clone(),
            duration: self.duration,
            looping: self.looping,
            additive: true,
            rotations: self.rotations.iter().enumerate().map(since).collect(),
            pelvis: self.pelvis.iter().map(|own| *own - pelvis).collect(),
            root: vec![[0.0; 3]; count],
            origin: [0.0; 3],
            contact: vec![[0.0; crate::rig::MAX_FEET]; count],
            contacts: None,
            events: self.events.clone(),
            sync: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(rotations: Vec<DQuat>, pelvis: Vec<DVec3>) -> MotionKeys {
        let count = pelvis.len();
        MotionKeys {
            name: "keys".into(),
            duration: 1.0,
            rotations,
            pelvis,
            root: vec![[1.0, 2.0, 3.0]; count],
            contact: vec![[1.0; 2]; count],
            ..MotionKeys::default()
        }
    }

    /// C21 a.
    #[test]
    fn rest_minus_rest_is_nothing_exactly() {
        let pose = vec![DQuat::from_rotation_x(0.3), DQuat::from_rotation_y(-1.1)];
        let clip = keys([pose.clone(), pose.clone()].concat(), vec![DVec3::new(0.1, -0.2, 0.3); 2]);
        for reference in [AdditiveReference::Own(0.0), AdditiveReference::Pose(&clip, 1.0)] {
            let nothing = clip.additive(reference).unwrap();
            assert!(nothing.rotations.iter().all(|q| *q == DQuat::IDENTITY));
            assert!(nothing.pelvis.iter().all(|p| *p == DVec3::ZERO));
            assert!(nothing.root.iter().flatten().all(|v| *v == 0.0) && nothing.additive);
        }
    }

    /// C21 b and c: 90 degrees about Y, then 30 about X in the turned joint's own axes.
    #[test]
    fn the_increment_stands_on_the_right_and_gives_the_clip_back() {
        let reference = DQuat::from_rotation_y(std::f64::consts::FRAC_PI_2);
        let increment = DQuat::from_rotation_x(std::f64::consts::FRAC_PI_6);
        let clip = keys(vec![reference, reference * increment], vec![DVec3::ZERO, DVec3::X]);
        let additive = clip.additive(AdditiveReference::Own(0.0)).unwrap();
        assert!(additive.rotations[1].angle_between(increment) < 1e-7);
        let again = reference * additive.rotations[1];
        assert!(again.angle_between(clip.rotations[1]) < 1e-7);
        assert!(again.angle_between(increment * reference) > 0.5, "the other order is another pose");
        // C21 d: not turned by the reference.
        assert_eq!(additive.pelvis[1], DVec3::X);
    }

    #[test]
    fn additive_of_additive_and_of_other_joints_is_refused() {
        let clip = keys(vec![DQuat::IDENTITY; 4], vec![DVec3::ZERO; 2]);
        let additive = clip.additive(AdditiveReference::Rig).unwrap();
        assert!(matches!(additive.additive(AdditiveReference::Rig), Err(BuildError::ClipUse { .. })));
        let by_additive = clip.additive(AdditiveReference::Pose(&additive, 0.0));
        assert!(matches!(by_additive, Err(BuildError::ClipUse { .. })));
        let other = keys(vec![DQuat::IDENTITY; 6], vec![DVec3::ZERO; 2]);
        assert!(matches!(clip.additive(AdditiveReference::Pose(&other, 0.0)), Err(BuildError::Keys { .. })));
        assert!(clip.additive(AdditiveReference::Own(f64::NAN)).is_err());
    }

    #[test]
    fn a_pose_between_keys_is_between_them() {
        let turned = DQuat::from_rotation_z(0.4);
        let clip =
            keys(vec![DQuat::IDENTITY, turned, DQuat::IDENTITY], vec![DVec3::ZERO, DVec3::X, DVec3::ZERO]);
        let (rotations, pelvis) = clip.pose(0.25).unwrap();
        assert!(rotations[0].angle_between(DQuat::from_rotation_z(0.2)) < 1e-7);
        assert_eq!(pelvis, DVec3::X * 0.5);
        assert_eq!(clip.pose(9.0).unwrap().0[0], DQuat::IDENTITY);
    }
}
