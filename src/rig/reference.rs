//! Reference poses: the pose in which all humanoids agree, so that motion can be passed on in model axes.
//!
//! It is data of its own. Neither the file's rest pose nor a skin's bind pose is touched by it.

use glam::{DMat3, DMat4, DQuat, DVec3};

use super::hang::Hang;
use super::roll;
use super::{RawSkeleton, Role, RoleMap, Side, namesakes, topology::carrier};

/// Model-space matrices of every joint of one skeleton in the pose that motion is measured from.
#[derive(Clone, Debug, PartialEq)]
pub struct ReferencePose {
    /// Column vectors, metres, one per joint of the skeleton.
    pub models: Vec<DMat4>,
}

impl ReferencePose {
    /// The file's rest pose. A parent that does not come first counts as none.
    pub fn rest(skeleton: &RawSkeleton) -> Self {
        let mut models: Vec<DMat4> = Vec::with_capacity(skeleton.joints.len());
        for joint in &skeleton.joints {
            let rest = DMat4::from_scale_rotation_translation(
                joint.rest.scale.as_dvec3(),
                joint.rest.rotation.as_dquat().normalize(),
                joint.rest.translation.as_dvec3(),
            );
            models.push(match joint.parent.and_then(|parent| models.get(usize::from(parent))) {
                Some(parent) => *parent * rest,
                None => rest,
            });
        }
        Self { models }
    }

    /// The rest pose turned into the common stance: hips square to +Z, thighs and shins straight down, feet
    /// ahead, arms and hands out to the sides, palms down. Knees and elbows that are bent in the rest pose say which
    /// way they bend, so their roll is aligned as well; of straight ones it stays that of the rest pose. Roles of
    /// joints that the skeleton lacks count as absent.
    pub fn aligned(skeleton: &RawSkeleton, roles: &RoleMap) -> Self {
        let roles = &roles.within(skeleton.joints.len());
        let hang = &Hang::of(skeleton, roles);
        let mut pose = Self::rest(skeleton);
        let find = |role| roles.joint(role).map(usize::from);
        let (Some(hips), Some(left), Some(right)) =
            (find(Role::Hips), find(Role::Thigh(Side::Left)), find(Role::Thigh(Side::Right)))
        else {
            return pose;
        };
        let carrier = usize::from(carrier(skeleton, roles));

        // Hips: square where the rest pose is some frame of a clip; a few degrees are anatomy or noise.
        let top = roles.neck().first().copied().or_else(|| roles.joint(Role::Head)).map(usize::from);
        let mut across = pose.position(left) - pose.position(right);
        // Hips that are as uneven as the legs below them stand so that both feet are on the ground.
        let lengths = Side::BOTH.map(|side| pose.leg(roles, side));
        if let [Some(left), Some(right)] = lengths
            && (across.y - (left - right)).abs() < (left - right).abs()
        {
            across.y = 0.0;
        }
        let up = top.map_or(DVec3::Y, |top| pose.position(top) - pose.position(hips));
        if across.length() > 1e-6 && up.length() > 1e-6 {
            let z = across.cross(up).normalize_or(DVec3::Z);
            let x = across.normalize();
            let frame = DMat3::from_cols(x, z.cross(x), z);
            let turn = DQuat::from_mat3(&frame).inverse();
            if turn.to_axis_angle().1 > 5f64.to_radians() {
                pose.turn(hang, carrier, turn);
                pose.square_chest(skeleton, hang, roles);
            }
        }
        let mut along = [DQuat::IDENTITY; 2];
        for side in Side::BOTH {
            let out = if side == Side::Left { DVec3::X } else { DVec3::NEG_X };
            let chain = [
                (find(Role::UpperArm(side)), find(Role::Forearm(side)), out),
                (find(Role::Forearm(side)), find(Role::Hand(side)), out),
                (find(Role::Hand(side)), finger_base(roles, side), out),
                (find(Role::Thigh(side)), find(Role::Shin(side)), DVec3::NEG_Y),
                (find(Role::Shin(side)), find(Role::Foot(side)), DVec3::NEG_Y),
            ];
            for (joint, end, direction) in chain {
                if let (Some(joint), Some(end)) = (joint, end)
                    && hang.is_below(end, joint)
                {
                    let now = pose.position(end) - pose.position(joint);
                    if now.length() > 1e-6 {
                        pose.turn(hang, joint, DQuat::from_rotation_arc(now.normalize(), direction));
                    }
                }
            }
            roll::hinges(&mut pose, hang, roles, side, &Self::rest(skeleton));
            roll::palm(&mut pose, hang, roles, side);
            let (foot, toe) = (find(Role::Foot(side)), find(Role::Toe(side)));
            if let (Some(foot), None) = (foot, toe) {
                // Flat as at rest, whatever the shin did.
                let [flat, now] =
                    [&Self::rest(skeleton), &pose].map(|pose| DQuat::from_mat4(&unscaled(pose.models[foot])));
                pose.turn(hang, foot, flat * now.inverse());
            }
            if let (Some(foot), Some(toe)) = (foot, toe)
                && hang.is_below(toe, foot)
            {
                // The heading is set ahead; the pitch of the instep is anatomy. It was turned along with
                // the shin above, so it is taken from the rest pose, whose sole is flat.
                let rest = Self::rest(skeleton);
                let flat = rest.models[foot];
                let flat = DQuat::from_mat4(&unscaled(flat));
                let now = DQuat::from_mat4(&unscaled(pose.models[foot]));
                along[usize::from(side == Side::Right)] = now;
                pose.turn(hang, foot, flat * now.inverse());
                let ahead = pose.position(toe) - pose.position(foot);
                let heading = DVec3::new(ahead.x, 0.0, ahead.z);
                if heading.length() > 0.2 * ahead.length() {
                    let turn = DQuat::from_rotation_arc(heading.normalize(), DVec3::Z);
                    pose.turn(hang, foot, turn);
                }
            }
        }
        pose.level_lifted_foot(skeleton, hang, roles, along);
        pose.stand(roles, &Self::rest(skeleton));
        pose
    }

    /// Shoulders square to +Z, where the rest pose is some frame of a clip. The head stays as it was: whoever walks
    /// looks where they go, whatever hips and chest do.
    fn square_chest(&mut self, skeleton: &RawSkeleton, hang: &Hang, roles: &RoleMap) {
        let find = |role| roles.joint(role).map(usize::from);
        let head = find(Role::Head).map(|head| (head, Self::rest(skeleton).rotation(head)));
        if let (Some(chest), Some(left), Some(right)) = (
            roles.spine().last().copied().map(usize::from),
            find(Role::UpperArm(Side::Left)),
            find(Role::UpperArm(Side::Right)),
        ) && hang.is_below(left, chest)
            && hang.is_below(right, chest)
        {
            let across = (self.position(left) - self.position(right)).normalize_or(DVec3::X);
            self.turn(hang, chest, DQuat::from_rotation_arc(across, DVec3::X));
        }
        if let Some((head, rest)) = head {
            self.turn(hang, head, rest * self.rotation(head).inverse());
        }
    }

    /// Length of a leg from hip to ankle.
    fn leg(&self, roles: &RoleMap, side: Side) -> Option<f64> {
        let [hip, knee, ankle] = [Role::Thigh(side), Role::Shin(side), Role::Foot(side)]
            .map(|role| Some(self.position(usize::from(roles.joint(role)?))));
        let (hip, knee, ankle) = (hip?, knee?, ankle?);
        Some(hip.distance(knee) + knee.distance(ankle))
    }

    /// Puts the lower foot back onto the floor that it stands on in the rest pose: a leg that was straightened
    /// reaches deeper than a bent one, and the pelvis is that much higher above the ground.
    fn stand(&mut self, roles: &RoleMap, rest: &Self) {
        let feet: Vec<usize> = Side::BOTH
            .into_iter()
            .flat_map(|side| [Role::Foot(side), Role::Toe(side)])
            .filter_map(|role| roles.joint(role))
            .map(usize::from)
            .collect();
        let low =
            |pose: &Self| feet.iter().map(|&joint| pose.position(joint).y).fold(f64::INFINITY, f64::min);
        let lift = low(rest) - low(self);
        if lift.is_finite() {
            for model in &mut self.models {
                model.w_axis.y += lift;
            }
        }
    }

    /// The reference pose of a sibling: a skeleton whose body has the same bones in the same axes, such as the
    /// character for which an animation-only file was made. Where the file's own rest pose is a frame of some
    /// clip, this is the only place that knows how feet and spine stand. `None` if the bodies differ. Roles of joints
    /// that a skeleton lacks count as absent.
    pub fn of_sibling(
        skeleton: &RawSkeleton,
        roles: &RoleMap,
        sibling: &RawSkeleton,
        sibling_roles: &RoleMap,
        reference: &Self,
    ) -> Option<Self> {
        let (roles, sibling_roles) =
            (&roles.within(skeleton.joints.len()), &sibling_roles.within(sibling.joints.len()));
        let bones = sibling_roles.iter().map(|(_, joint)| &sibling.joints[usize::from(joint)]);
        let below =
            bones.filter(|bone| bone.parent.is_some_and(|parent| sibling_roles.role(parent).is_some()));
        let longest = below.map(|bone| bone.rest.translation.length()).fold(0.0, f32::max);
        let mut same = 0;
        for (role, joint) in roles.iter() {
            let Some(other) = sibling_roles.joint(role) else { continue };
            let (own, theirs) = (&skeleton.joints[usize::from(joint)], &sibling.joints[usize::from(other)]);
            let parents = (
                own.parent.and_then(|parent| roles.role(parent)),
                theirs.parent.and_then(|parent| sibling_roles.role(parent)),
            );
            // A bone is told by its far end in its own axes; the hips' place is pose, not bone. Clips move girdles
            // by a centimetre or two, and a rest pose that is a frame of one shows it.
            if let (Some(a), Some(b)) = parents {
                let apart = (own.rest.translation - theirs.rest.translation).length();
                if a != b || apart > 0.02 * theirs.rest.translation.length() + 0.05 * longest {
                    return None;
                }
                same += 1;
            }
        }
        let own_roles = roles.by_joint(skeleton.joints.len());
        let mut theirs: Vec<Option<u16>> =
            own_roles.into_iter().map(|role| role.and_then(|role| sibling_roles.joint(role))).collect();
        // Fewer than legs and arms are no body; then it is names that count, if most bones have one.
        if same < 10 {
            let namesakes = namesakes::in_skeleton(sibling, sibling_roles, skeleton, roles);
            let mut bones = 0;
            for (index, other) in namesakes.iter().enumerate() {
                let Some(other) = other else { continue };
                theirs[index] = Some(*other);
                let parent = skeleton.parent(index).and_then(|parent| namesakes[parent]);
                let (own, their) = (&skeleton.joints[index], &sibling.joints[usize::from(*other)]);
                let apart = (own.rest.translation - their.rest.translation).length();
                if parent.is_none() || parent != their.parent {
                    continue;
                }
                let longest = their.rest.translation.length().max(own.rest.translation.length());
                if apart > 0.02 * longest + 1e-4 {
                    return None;
                }
                bones += 1;
            }
            if bones < 3 || 2 * bones < skeleton.joints.len() {
                return None;
            }
        }
        let rest = Self::rest(skeleton);
        let mut models: Vec<DMat4> = Vec::with_capacity(skeleton.joints.len());
        for (index, other) in theirs.into_iter().enumerate() {
            let known = other.and_then(|other| reference.models.get(usize::from(other)));
            models.push(match (known, skeleton.parent(index)) {
                (Some(model), _) => *model,
                (None, Some(parent)) => models[parent] * rest.models[parent].inverse() * rest.models[index],
                (None, None) => rest.models[index],
            });
        }
        models.iter().all(|model| model.is_finite()).then_some(Self { models })
    }

    /// The rest pose may be a frame of a clip: then only the foot that stood on the ground has a flat sole, and
    /// the lifted one takes over its pitch. `along`: each foot's rotation when its shin had been straightened.
    fn level_lifted_foot(&mut self, skeleton: &RawSkeleton, hang: &Hang, roles: &RoleMap, along: [DQuat; 2]) {
        let rest = Self::rest(skeleton);
        let foot = |side| {
            let [foot, toe] =
                [Role::Foot(side), Role::Toe(side)].map(|role| roles.joint(role).map(usize::from));
            let (foot, toe) = (foot?, toe?);
            let at_rest = (rest.position(toe) - rest.position(foot)).normalize_or_zero();
            hang.is_below(toe, foot).then_some((foot, toe, at_rest, rest.position(toe).y))
        };
        let [Some(left), Some(right)] = Side::BOTH.map(foot) else {
            return;
        };
        let ((stood, stood_toe, flat, _), (lifted, toe, tilted, _), along) =
            if left.3 <= right.3 { (left, right, along[1]) } else { (right, left, along[0]) };
        if (flat.y - tilted.y).abs() > 10f64.to_radians() || tilted.z < 0.0 {
            self.turn(hang, lifted, along * self.rotation(lifted).inverse());
            let now = (self.position(toe) - self.position(lifted)).normalize_or(DVec3::Z);
            let aim = (self.position(stood_toe) - self.position(stood)).normalize_or(DVec3::Z);
            self.turn(hang, lifted, DQuat::from_rotation_arc(now, aim));
        }
    }

    /// Position of a joint, metres; the origin for one that is not there.
    pub fn position(&self, joint: usize) -> DVec3 {
        self.models.get(joint).map_or(DVec3::ZERO, |model| model.w_axis.truncate())
    }

    /// Model-space rotation of a joint, scale removed; none for one that is not there.
    pub fn rotation(&self, joint: usize) -> DQuat {
        self.models
            .get(joint)
            .map_or(DQuat::IDENTITY, |model| DQuat::from_mat4(&unscaled(*model)).normalize())
    }

    /// Turns `joint` and all below it about the joint's own position.
    pub(super) fn turn(&mut self, hang: &Hang, joint: usize, turn: DQuat) {
        let at = self.position(joint);
        let about = DMat4::from_translation(at) * DMat4::from_quat(turn) * DMat4::from_translation(-at);
        for (model, below) in self.models.iter_mut().zip(hang.below(joint)) {
            if below {
                *model = about * *model;
            }
        }
    }
}

fn finger_base(roles: &RoleMap, side: Side) -> Option<usize> {
    use super::Digit::{Index, Middle, Ring};
    [Middle, Index, Ring]
        .into_iter()
        .find_map(|digit| roles.joint(Role::Finger(side, digit, 0)))
        .map(usize::from)
}

fn unscaled(m: DMat4) -> DMat4 {
    let axis = |v: glam::DVec4| v.truncate().normalize_or_zero().extend(0.0);
    DMat4::from_cols(axis(m.x_axis), axis(m.y_axis), axis(m.z_axis), DVec3::ZERO.extend(1.0))
}
