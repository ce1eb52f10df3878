//! Roles from names, confirmed by the hierarchy.

use super::raw::RawSkeleton;
use super::role_confirm::{RoleDoubt, confirm};
use super::role_geometry::roles_from_geometry;
use super::role_words::{Guess, Part, guess};
use super::roles::{Digit, Limb, Role, RoleMap, Side};

/// How sure a proposed role is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// Name and place in the hierarchy agree.
    Confirmed,
    /// The name says so, the hierarchy does not: an ankle that hangs on the root, thighs beside the hips.
    NameOnly,
    /// The hierarchy says so, the name does not.
    PlaceOnly,
}

/// One proposed role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleFinding {
    /// The role.
    pub role: Role,
    /// The joint that shall play it.
    pub joint: u16,
    /// How sure it is.
    pub confidence: Confidence,
}

/// Which roles were found, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleReport {
    /// In the order they were found.
    pub findings: Vec<RoleFinding>,
    /// What shape and reference axes have against the roles by name. Where that was too much and the shape gave a whole
    /// body, the findings are those by shape, and these are why.
    pub doubts: Vec<RoleDoubt>,
}

impl RoleReport {
    /// Findings that name and hierarchy do not agree about.
    pub fn doubtful(&self) -> impl Iterator<Item = &RoleFinding> {
        self.findings.iter().filter(|finding| finding.confidence != Confidence::Confirmed)
    }
}

/// A role map to look through and correct before it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleProposal {
    /// What is proposed.
    pub map: RoleMap,
    /// How it was found.
    pub report: RoleReport,
}

/// Proposes humanoid roles from joint names (Mixamo, Unreal, Unity, VRM, Rigify, Biped, DAZ, CMU and their likes) and
/// keeps what the hierarchy confirms: thigh over shin over foot, spine between hips and neck, fingers below their hand.
/// The hips are the deepest joint of such a name that thighs and spine descend from. Skeletons with other names get an
/// empty map.
pub fn roles_from_names(skeleton: &RawSkeleton) -> RoleProposal {
    let mut finder = Finder::new(skeleton);
    for side in Side::BOTH {
        finder.leg(side);
        finder.arm(side);
    }
    finder.trunk();
    for side in Side::BOTH {
        finder.fingers(side);
        finder.twists(side);
    }
    finder.out
}

/// Humanoid roles by names, confirmed by shape and reference axes; by shape alone where names say nothing of limbs, or
/// what the shape contradicts.
pub fn propose_roles(skeleton: &RawSkeleton) -> RoleProposal {
    let mut named = roles_from_names(skeleton);
    confirm(skeleton, &mut named);
    let limbs = [Role::Thigh, Role::UpperArm].map(|role| Side::BOTH.map(role)).concat();
    let found = limbs.into_iter().filter(|&role| named.map.joint(role).is_some()).count();
    if found >= 2 && !named.report.doubts.iter().any(|doubt| doubt.reason.grave()) {
        return named;
    }
    let mut shaped = roles_from_geometry(skeleton);
    if shaped.map.is_empty() {
        return named;
    }
    shaped.report.doubts = named.report.doubts;
    shaped
}

/// No body has more joints of one kind on one side; bounds the search on files that do.
const MAX_CANDIDATES: usize = 32;

struct Finder<'a> {
    skeleton: &'a RawSkeleton,
    /// Joints whose name says something, in skeleton order.
    guesses: Vec<(u16, Guess)>,
    depths: Vec<u16>,
    out: RoleProposal,
}

impl<'a> Finder<'a> {
    fn new(skeleton: &'a RawSkeleton) -> Self {
        // Rigify exports that keep its control bones have the deforming ones marked.
        let deforming = |name: &str| name.starts_with("DEF-");
        let marked = skeleton.joints.iter().filter(|joint| deforming(&joint.name)).count() >= 10;
        let guesses = skeleton
            .joints
            .iter()
            .zip(0_u16..)
            .filter(|(joint, _)| !marked || deforming(&joint.name))
            .filter_map(|(joint, index)| Some((index, guess(&joint.name)?)))
            .collect();
        let mut depths: Vec<u16> = Vec::with_capacity(skeleton.joints.len());
        for joint in &skeleton.joints {
            let parent = joint.parent.and_then(|parent| depths.get(usize::from(parent)).copied());
            depths.push(parent.map_or(0, |depth| depth.saturating_add(1)));
        }
        Self { skeleton, guesses, depths, out: RoleProposal::default() }
    }

    fn set(&mut self, role: Role, joint: Option<u16>, confidence: Confidence) {
        if let Some(joint) = joint
            && self.out.map.role(joint).is_none()
        {
            self.out.map.set(role, joint);
            self.out.report.findings.push(RoleFinding { role, joint, confidence });
        }
    }

    /// Joints of a part and side, in skeleton order.
    fn named(&self, part: Part, side: Option<Side>) -> Vec<u16> {
        let found = self.guesses.iter().filter(|(_, guess)| guess.part == part && guess.side == side);
        found.map(|&(joint, _)| joint).take(MAX_CANDIDATES).collect()
    }

    fn parent(&self, joint: u16) -> Option<u16> {
        self.skeleton.parent(joint.into()).map(|parent| parent as u16)
    }

    /// The joint's ancestors, nearest first.
    fn ancestors(&self, joint: u16) -> impl Iterator<Item = u16> + '_ {
        std::iter::successors(self.parent(joint), |&above| self.parent(above))
    }

    fn below(&self, joint: u16, ancestor: u16) -> bool {
        self.ancestors(joint).any(|above| above == ancestor)
    }

    fn depth(&self, joint: u16) -> u16 {
        self.depths.get(usize::from(joint)).copied().unwrap_or(0)
    }

    /// The nearest of `candidates` below `joint`.
    fn nearest_below(&self, joint: u16, candidates: &[u16]) -> Option<u16> {
        candidates.iter().copied().filter(|&c| self.below(c, joint)).min_by_key(|&c| self.depth(c))
    }

    /// The first `upper` that has a `lower` below it, and that one.
    fn pair(&self, upper: &[u16], lower: &[u16]) -> Option<(u16, u16)> {
        upper.iter().find_map(|&u| Some((u, self.nearest_below(u, lower)?)))
    }

    fn leg(&mut self, side: Side) {
        let s = Some(side);
        let (thighs, legs, shins) =
            (self.named(Part::Thigh, s), self.named(Part::Leg, s), self.named(Part::Shin, s));
        let hips = self.named(Part::HipJoint, s);
        let chain = self
            .pair(&thighs, &shins)
            .or_else(|| self.pair(&thighs, &legs))
            .or_else(|| self.pair(&legs, &shins))
            .or_else(|| self.pair(&hips, &shins))
            .or_else(|| self.pair(&hips, &legs));
        let Some((thigh, shin)) = chain else {
            self.set(Role::Thigh(side), thighs.first().or(hips.first()).copied(), Confidence::NameOnly);
            return;
        };
        self.set(Role::Thigh(side), Some(thigh), Confidence::Confirmed);
        self.set(Role::Shin(side), Some(shin), Confidence::Confirmed);
        let (feet, toes) = (self.named(Part::Foot, s), self.named(Part::Toe, s));
        let foot = self.nearest_below(shin, &feet);
        match foot {
            Some(_) => self.set(Role::Foot(side), foot, Confidence::Confirmed),
            None => self.set(Role::Foot(side), feet.first().copied(), Confidence::NameOnly),
        }
        if let Some(foot) = self.out.map.joint(Role::Foot(side)) {
            self.set(Role::Toe(side), self.nearest_below(foot, &toes), Confidence::Confirmed);
        }
    }

    fn arm(&mut self, side: Side) {
        let s = Some(side);
        let (arms, shoulders) = (self.named(Part::UpperArm, s), self.named(Part::Shoulder, s));
        let forearms = self.named(Part::Forearm, s);
        let chain = self.pair(&arms, &forearms).or_else(|| self.pair(&shoulders, &forearms));
        let Some((arm, forearm)) = chain else {
            self.set(Role::UpperArm(side), arms.first().copied(), Confidence::NameOnly);
            return;
        };
        self.set(Role::UpperArm(side), Some(arm), Confidence::Confirmed);
        self.set(Role::Forearm(side), Some(forearm), Confidence::Confirmed);
        let hand = (0..3).find_map(|rank| self.nearest_below(forearm, &self.named(Part::Hand(rank), s)));
        self.set(Role::Hand(side), hand, Confidence::Confirmed);
        let girdle = |joints: Vec<u16>| {
            joints.into_iter().filter(|&c| self.below(arm, c)).max_by_key(|&c| self.depth(c))
        };
        let clavicle = girdle(self.named(Part::Clavicle, s)).or_else(|| girdle(shoulders));
        self.set(Role::Clavicle(side), clavicle, Confidence::Confirmed);
    }

    fn trunk(&mut self) {
        let spines = self.named(Part::Spine, None);
        let necks = self.named(Part::Neck, None);
        let thighs = Side::BOTH.map(|side| self.out.map.joint(Role::Thigh(side)));
        let legs = thighs.into_iter().flatten().collect::<Vec<_>>();
        // The head that hangs on a neck or a spine, if there are several (mesh nodes are often called so as well).
        let heads = self.named(Part::Head, None);
        let hangs =
            |head: u16| self.ancestors(head).any(|above| necks.contains(&above) || spines.contains(&above));
        let head = heads.iter().copied().find(|&head| hangs(head)).or(heads.first().copied());

        let carries = |joint: u16| {
            let trunk =
                spines.iter().chain(&necks).copied().chain(head).any(|upper| self.below(upper, joint));
            trunk && !legs.is_empty() && legs.iter().all(|&leg| self.below(leg, joint))
        };
        let candidates = self.named(Part::Hips, None);
        let best =
            candidates.iter().copied().filter(|&hips| carries(hips)).max_by_key(|&hips| self.depth(hips));
        let confirmed = best.is_some();
        let hips = best
            .or_else(|| {
                let above = |hips: u16| spines.iter().any(|&spine| self.below(spine, hips));
                candidates.iter().copied().find(|&hips| above(hips)).or(candidates.first().copied())
            })
            .or_else(|| {
                let &[left, right] = legs.as_slice() else { return None };
                let common = self.ancestors(left).find(|&above| self.below(right, above))?;
                carries(common).then_some(common)
            });
        let confidence = match (confirmed, candidates.is_empty()) {
            (true, _) => Confidence::Confirmed,
            (_, false) => Confidence::NameOnly,
            (_, true) => Confidence::PlaceOnly,
        };
        self.set(Role::Hips, hips, confidence);
        // Where the spine hangs beside the hips, on what both hang on, that carries the body.
        let base = hips.map(|hips| {
            let carries = |&base: &u16| spines.iter().any(|&spine| self.below(spine, base));
            let mut bases = std::iter::once(hips).chain(self.parent(hips));
            bases.find(carries).unwrap_or(hips)
        });
        let above_hips = |joint: u16, finder: &Self| match base {
            Some(base) => finder.below(joint, base),
            None => true,
        };
        // The spine is one chain: the joints of such names on the way up from neck, head, or the last of them.
        let top = necks
            .first()
            .copied()
            .or(head)
            .or_else(|| spines.iter().copied().max_by_key(|&spine| self.depth(spine)));
        let Some(top) = top else { return };
        let mut chain =
            self.ancestors(top).filter(|&j| spines.contains(&j) && above_hips(j, self)).collect::<Vec<_>>();
        chain.reverse();
        if spines.contains(&top) {
            chain.push(top);
        }
        for (joint, index) in chain.into_iter().zip(0_u8..) {
            self.set(Role::Spine(index), Some(joint), Confidence::Confirmed);
        }
        if necks.is_empty() && head.is_none() {
            self.run_on();
        }
        let chain = necks.iter().copied().filter(|&neck| head.is_none_or(|head| self.below(head, neck)));
        for (joint, index) in chain.collect::<Vec<_>>().into_iter().zip(0_u8..) {
            self.set(Role::Neck(index), Some(joint), Confidence::Confirmed);
        }
        if let Some(head) = head {
            let confidence =
                if hangs_on_map(self, head) { Confidence::Confirmed } else { Confidence::NameOnly };
            self.set(Role::Head, Some(head), confidence);
        }
    }

    /// Some rigs let one spine run on through neck and head: what is above the joint that the arms hang on is not spine.
    fn run_on(&mut self) {
        let spine = self.out.map.spine();
        let arms = Side::BOTH.map(|side| {
            let map = &self.out.map;
            map.joint(Role::Clavicle(side)).or_else(|| map.joint(Role::UpperArm(side)))
        });
        let [Some(left), Some(right)] = arms else { return };
        let carries = |&joint: &u16| self.below(left, joint) && self.below(right, joint);
        let Some(chest) = spine.iter().rposition(carries) else { return };
        let Some((&head, necks)) = spine[chest + 1..].split_last() else { return };
        let moved = spine[chest + 1..].to_vec();
        self.out.report.findings.retain(|finding| !moved.contains(&finding.joint));
        for (&joint, index) in necks.iter().zip(0_u8..) {
            self.out.map.set(Role::Neck(index), joint);
            let confidence = Confidence::PlaceOnly;
            self.out.report.findings.push(RoleFinding { role: Role::Neck(index), joint, confidence });
        }
        self.out.map.set(Role::Head, head);
        let confidence = Confidence::PlaceOnly;
        self.out.report.findings.push(RoleFinding { role: Role::Head, joint: head, confidence });
    }

    fn fingers(&mut self, side: Side) {
        let map = &self.out.map;
        // Rigs without a hand joint hang their fingers on the forearm.
        let Some(hand) = map.joint(Role::Hand(side)).or_else(|| map.joint(Role::Forearm(side))) else {
            return;
        };
        for digit in Digit::ALL {
            let bones = self.named(Part::Finger(digit), Some(side));
            let mut above = hand;
            for index in 0_u8..4 {
                let Some(next) = self.nearest_below(above, &bones) else { break };
                self.set(Role::Finger(side, digit, index), Some(next), Confidence::Confirmed);
                above = next;
            }
        }
    }

    fn twists(&mut self, side: Side) {
        for (limb, role) in [
            (Limb::Thigh, Role::Thigh(side)),
            (Limb::Shin, Role::Shin(side)),
            (Limb::UpperArm, Role::UpperArm(side)),
            (Limb::Forearm, Role::Forearm(side)),
        ] {
            let Some(segment) = self.out.map.joint(role) else { continue };
            // Helpers hang on the segment itself or on its parent, beside it.
            let parent = self.parent(segment);
            let helpers = self.named(Part::Twist(limb), Some(side));
            let near = helpers.into_iter().filter(|&twist| {
                self.below(twist, segment) || (parent.is_some() && self.parent(twist) == parent)
            });
            let mut near = near.collect::<Vec<_>>();
            near.sort_by(|&a, &b| self.name(a).cmp(self.name(b)));
            for (joint, index) in near.into_iter().zip(0_u8..) {
                self.set(Role::Twist(side, limb, index), Some(joint), Confidence::Confirmed);
            }
        }
    }

    fn name(&self, joint: u16) -> &str {
        self.skeleton.joints.get(usize::from(joint)).map_or("", |joint| joint.name.as_str())
    }
}

/// True if the head hangs on the spine or neck that were found.
fn hangs_on_map(finder: &Finder<'_>, head: u16) -> bool {
    finder
        .ancestors(head)
        .any(|above| matches!(finder.out.map.role(above), Some(Role::Spine(_) | Role::Neck(_) | Role::Hips)))
}
