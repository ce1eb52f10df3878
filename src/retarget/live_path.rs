//! Ways through a source's skeleton: the rotation from one of its joints to another as a product of local deltas.

use crate::rig::RawSkeleton;

/// What a target joint's model-space rotation is, in terms of the source's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Value {
    /// That of this joint; the model's own axes where `None`...
    anchor: Option<u16>,
    /// ...and from there so much of the way to that joint.
    tail: Option<(u16, f64)>,
}

impl Value {
    /// The model's axes.
    pub const ROOT: Self = Self { anchor: None, tail: None };

    pub fn joint(joint: u16) -> Self {
        Self { anchor: Some(joint), tail: None }
    }

    /// From `a` a part `u` of the way to `b`.
    pub fn between(a: u16, b: u16, u: f64) -> Self {
        if u <= 0.0 {
            Self::joint(a)
        } else if u >= 1.0 {
            Self::joint(b)
        } else {
            Self { anchor: Some(a), tail: Some((b, u)) }
        }
    }
}

/// One factor of a product of local deltas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Factor {
    /// A joint's own, or its inverse.
    Joint { joint: u16, inverse: bool },
    /// A power of the rotation of `to` seen from `from`.
    Power { from: Option<u16>, to: u16, exponent: f64 },
}

/// Parents and depths of a skeleton's joints.
pub(crate) struct Tree {
    parents: Vec<Option<u16>>,
    depths: Vec<u32>,
}

impl Tree {
    pub fn of(skeleton: &RawSkeleton) -> Self {
        let mut depths: Vec<u32> = Vec::with_capacity(skeleton.joints.len());
        for joint in 0..skeleton.joints.len() {
            depths.push(skeleton.parent(joint).map_or(1, |parent| depths[parent] + 1));
        }
        let parents =
            (0..depths.len()).map(|joint| skeleton.parent(joint).map(|parent| parent as u16)).collect();
        Self { parents, depths }
    }

    fn parent(&self, joint: Option<u16>) -> Option<u16> {
        joint.and_then(|joint| self.parents[usize::from(joint)])
    }

    fn depth(&self, joint: Option<u16>) -> u32 {
        joint.map_or(0, |joint| self.depths[usize::from(joint)])
    }

    /// The rotation of `to` seen from `from`: joints up to where both meet, inverse, then those down.
    pub fn path(&self, from: Option<u16>, to: Option<u16>) -> Vec<(u16, bool)> {
        let (mut up, mut down) = (Vec::new(), Vec::new());
        let (mut a, mut b) = (from, to);
        while a != b {
            let (above, below) = (self.depth(a), self.depth(b));
            if let (Some(joint), true) = (a, above >= below) {
                up.push((joint, true));
                a = self.parent(a);
            }
            if let (Some(joint), true) = (b, below >= above) {
                down.push((joint, false));
                b = self.parent(b);
            }
        }
        up.extend(down.into_iter().rev());
        up
    }

    /// Products that a factor stands for: a power is one of all joints on its way.
    pub fn products(&self, factor: &Factor) -> usize {
        match *factor {
            Factor::Joint { .. } => 1,
            Factor::Power { from, to, .. } => 1 + self.path(from, Some(to)).len(),
        }
    }

    /// `above^-1 value`.
    pub fn way(&self, above: Value, value: Value) -> Vec<Factor> {
        let power = |from, to, exponent| Factor::Power { from, to, exponent };
        let mut way = Vec::new();
        let from = match above.tail {
            None => above.anchor,
            Some((end, u)) => {
                if above.anchor == value.anchor && value.tail.is_some_and(|(other, _)| other == end) {
                    let (_, v) = value.tail.unwrap_or((end, u));
                    return if u == v { way } else { vec![power(above.anchor, end, v - u)] };
                }
                if self.reaches(value.anchor, end) {
                    // On along the chain: only what is left of this part of it.
                    way.push(power(above.anchor, end, 1.0 - u));
                    Some(end)
                } else {
                    way.push(power(above.anchor, end, -u));
                    above.anchor
                }
            }
        };
        let path = self.path(from, value.anchor);
        way.extend(path.into_iter().map(|(joint, inverse)| Factor::Joint { joint, inverse }));
        if let Some((end, u)) = value.tail {
            way.push(power(value.anchor, end, u));
        }
        way
    }

    /// True if `joint` is `ancestor` or below it.
    fn reaches(&self, joint: Option<u16>, ancestor: u16) -> bool {
        let depth = self.depths[usize::from(ancestor)];
        let mut at = joint;
        while self.depth(at) > depth {
            at = self.parent(at);
        }
        at == Some(ancestor)
    }
}
