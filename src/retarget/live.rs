//! Live maps: what it takes to bring a source's native joint rotations into the motion space of a target, every frame.
//!
//! With `B` the model-space reference rotations of the source, a joint's native local rotation `R` is
//!
//! ```text
//! M = B_parent R B^-1          the local delta in model axes
//! ```
//!
//! a linear map of the quaternion, four by four, constant. A target joint whose source is the child of its parent's
//! source takes `M` as it is. All others take a short product of such `M` along the way from the one source to the
//! other; joints between two sources (spines of other joint counts) also a power of one, so that the cumulative rotation
//! is that which binding a clip gives. No joint needs the model-space rotation of its source.

use glam::DQuat;

use super::bind::BindSource;
use super::chains::{Source, sources};
use super::live_packed::{PACKED_JOINTS, PackedLine, PackedMatrix};
use super::live_path::{Factor, Tree, Value};
pub(crate) use super::live_power::POWER_TERMS;
use super::live_power::powers;
use crate::error::BuildError;
use crate::rig::{Rig, Role, Topology, carrier, leg_length};

/// Joints of one line of a stream.
pub(crate) const LINE_JOINTS: usize = 4;

/// Most factors of all products of a map together. Characters have some dozens.
const MAX_FACTORS: usize = 1 << 16;

/// What a matrix may be off the identity and count as it.
const EXACT: f64 = 1e-9;

/// How the native rotations of a line become local deltas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Basis {
    /// They are already: the source's axes are those of the model.
    Same,
    /// By turning their vector parts: the reference pose has no rotations between the joints and their parents.
    Turn([[[f32; 3]; 3]; LINE_JOINTS]),
    /// By matrices on all four components.
    General([[[f32; 4]; 4]; LINE_JOINTS]),
}

/// One joint of the source; nobody needs it where its register is [`Input::NOBODY`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Input {
    /// Read by steps, and so needed even where its own register is a joint that is left out.
    pub shared: bool,
    /// Where its local delta goes: joints of the target first, then temporaries.
    pub register: u32,
}

impl Input {
    pub const NOBODY: u32 = u32::MAX;
    const NONE: Self = Self { shared: false, register: Self::NOBODY };
}

/// Four consecutive joints of the source, of which somebody needs one: from a multiple of four on, but that a source's
/// last line ends with its last joint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct InputLine {
    /// The first of them.
    pub first: u32,
    pub inputs: [Input; LINE_JOINTS],
    pub basis: Basis,
}

/// One needed joint of the source with what turns its native rotation into a local delta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Single<M> {
    pub joint: u32,
    pub input: Input,
    pub matrix: M,
}

/// Needed joints one by one, by how plainly their basis can be told.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Singles {
    pub same: Vec<Single<()>>,
    pub turn: Vec<Single<[[f32; 3]; 3]>>,
    pub general: Vec<Single<[[f32; 4]; 4]>>,
    /// All of them again in 16 bits: those that are `same` in lines of eight, and the others.
    pub packed_same: Vec<Single<()>>,
    pub packed: Vec<Single<PackedMatrix>>,
}

impl Singles {
    fn of(lines: &[InputLine], packed: &[PackedLine]) -> Self {
        let mut singles = Self::default();
        for line in lines {
            for (k, input) in needed(&line.inputs) {
                let joint = line.first + k as u32;
                match &line.basis {
                    Basis::Same => singles.same.push(Single { joint, input, matrix: () }),
                    Basis::Turn(m) => singles.turn.push(Single { joint, input, matrix: m[k] }),
                    Basis::General(m) => singles.general.push(Single { joint, input, matrix: m[k] }),
                }
            }
        }
        for line in packed {
            for (k, input) in needed(&line.inputs) {
                let joint = line.first + k as u32;
                if line.same {
                    singles.packed_same.push(Single { joint, input, matrix: () });
                } else {
                    singles.packed.push(Single { joint, input, matrix: line.matrices[k] });
                }
            }
        }
        singles
    }
}

fn needed(inputs: &[Input]) -> impl Iterator<Item = (usize, Input)> {
    inputs.iter().copied().enumerate().filter(|(_, input)| input.register != Input::NOBODY)
}

/// A register, or its inverse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Operand {
    pub register: u32,
    pub inverse: bool,
}

/// One product or power, after all inputs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Step {
    Copy { from: Operand, out: u32 },
    Times { left: Operand, right: Operand, out: u32 },
    Power { from: Operand, series: [[f32; POWER_TERMS]; 2], out: u32 },
}

#[cfg(test)]
impl Step {
    /// The register that it writes.
    pub fn out(&self) -> u32 {
        match *self {
            Self::Copy { out, .. } | Self::Times { out, .. } | Self::Power { out, .. } => out,
        }
    }
}

/// From one source's native axes to the motion space of one target. Immutable; see [`LiveMaps`](super::LiveMaps) for
/// having each only once.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveMap {
    topology: Topology,
    joints: usize,
    carrier: u16,
    pub(crate) lines: Vec<InputLine>,
    /// The same joints, as lines of 16-bit rotations have them.
    pub(crate) packed: Vec<PackedLine>,
    /// The same joints for poses side by side.
    pub(crate) singles: Singles,
    pub(crate) steps: Vec<Step>,
    /// Joints of the target that stay at their reference.
    pub(crate) still: Vec<u16>,
    /// Joints of the target whose delta is counted from the model's axes: the pelvis, as a rule.
    pub(crate) rooted: Vec<u16>,
    pub(crate) temporaries: usize,
    /// Joints of the source from its root to its hips.
    pub(crate) to_hips: Vec<u16>,
    /// Inverse reference rotation of the hips.
    pub(crate) hips_back: [f32; 4],
    /// Reference position of the carrier, metres.
    pub(crate) reference: [f32; 3],
    /// 1 / leg length of the source.
    pub(crate) per_leg: f32,
}

impl LiveMap {
    /// Builds the map from `source` to rigs of the topology of `rig`, whose proportions are only asked where chains of
    /// different joint counts are matched.
    ///
    /// # Errors
    /// If skeleton, roles or reference pose of the source are not valid, or the two are so foreign to each other that
    /// more than 65 536 products would be needed.
    pub fn build(source: BindSource<'_>, rig: &Rig) -> Result<Self, BuildError> {
        let BindSource { skeleton, roles, reference } = source;
        skeleton.validate()?;
        roles.validate(skeleton.joints.len())?;
        let count = skeleton.joints.len();
        if reference.models.len() != count || !reference.models.iter().all(|model| model.is_finite()) {
            return Err(BuildError::ReferencePose { have: reference.models.len(), need: count });
        }
        let topology = rig.topology();
        let tree = Tree::of(skeleton);
        let products = products(&tree, &sources(skeleton, roles, reference, rig), topology)?;

        let mut compiler = Compiler::new(topology.len(), count);
        compiler.place(&products);
        for (target, product) in products.iter().enumerate() {
            compiler.compile(&tree, target, product);
        }
        let rotation = |joint: usize| reference.rotation(joint);
        let turns = |joint: usize| {
            let above = skeleton.joints[joint].parent.map_or(DQuat::IDENTITY, |p| rotation(p.into()));
            [above, rotation(joint).inverse()]
        };
        let lines = compiler.lines::<LINE_JOINTS>();
        let lines = lines.into_iter().map(|(first, inputs)| {
            let basis = basis(core::array::from_fn(|k| match inputs[k].register {
                Input::NOBODY => [DQuat::IDENTITY; 2],
                _ => turns(first as usize + k),
            }));
            InputLine { first, inputs, basis }
        });
        let lines: Vec<_> = lines.collect();
        let packed = compiler.lines::<PACKED_JOINTS>();
        let packed: Vec<_> =
            packed.into_iter().map(|(first, inputs)| PackedLine::new(first, inputs, turns)).collect();
        let which = |wanted: fn(&Product) -> bool| -> Vec<u16> {
            (0..products.len() as u16).filter(|&target| wanted(&products[usize::from(target)])).collect()
        };
        let still = which(|product| product.factors.is_empty());
        let rooted = which(|product| product.rooted && !product.factors.is_empty());
        let carrier = carrier(skeleton, roles);
        let hips = roles.joint(Role::Hips).unwrap_or(carrier);
        let mut to_hips: Vec<u16> =
            core::iter::successors(Some(usize::from(hips)), |&at| skeleton.parent(at))
                .map(|at| at as u16)
                .collect();
        to_hips.reverse();
        let place = reference.position(carrier.into()).as_vec3();
        let leg = leg_length(skeleton, roles, reference) as f32;
        if !(place.is_finite() && leg.is_finite() && (1.0 / leg).is_finite()) {
            let index = usize::from(carrier);
            return Err(BuildError::ReferenceRange { joint: skeleton.joints[index].name.clone(), index });
        }
        Ok(Self {
            topology: topology.clone(),
            joints: count,
            carrier,
            singles: Singles::of(&lines, &packed),
            lines,
            packed,
            still,
            rooted,
            temporaries: compiler.temporaries,
            steps: compiler.steps,
            to_hips,
            hips_back: rotation(hips.into()).inverse().as_quat().to_array(),
            reference: place.to_array(),
            per_leg: 1.0 / leg,
        })
    }

    /// Whose motion space it leads to.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Joints of the source: rotations that a pose of the stream has.
    #[must_use]
    pub fn source_joints(&self) -> usize {
        self.joints
    }

    /// Joint of the source whose model-space position a pose of the stream tells: the lowest one that carries hips,
    /// thighs and spine; the hips of most skeletons.
    #[must_use]
    pub fn carrier(&self) -> u16 {
        self.carrier
    }

    /// Joints of the source that the target needs; the values of others are not looked at.
    #[must_use]
    pub fn used_joints(&self) -> usize {
        let used = |line: &InputLine| line.inputs.iter().filter(|i| i.register != Input::NOBODY).count();
        self.lines.iter().map(used).sum()
    }

    /// Joints of the target that need more than one rotation of the source.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }
}

/// Delta of one target joint: a product, in the source's own deltas.
struct Product {
    factors: Vec<Factor>,
    /// Counted from the model's axes, not from another joint.
    rooted: bool,
}

fn products(tree: &Tree, sources: &[Source], topology: &Topology) -> Result<Vec<Product>, BuildError> {
    let mut values: Vec<Value> = Vec::with_capacity(sources.len());
    let mut products = Vec::with_capacity(sources.len());
    let mut total = 0usize;
    for (source, &parent) in sources.iter().zip(topology.parents()) {
        let above = values.get(usize::from(parent)).copied().unwrap_or(Value::ROOT);
        let value = match *source {
            Source::Keep => above,
            Source::Still => Value::ROOT,
            Source::Joint(joint) => Value::joint(joint),
            Source::Between(a, b, u) => Value::between(a, b, u),
        };
        let factors = tree.way(above, value);
        total += factors.iter().map(|factor| tree.products(factor)).sum::<usize>();
        if total > MAX_FACTORS {
            return Err(BuildError::Full { what: "65 536 products of a live map" });
        }
        products.push(Product { factors, rooted: above == Value::ROOT });
        values.push(value);
    }
    Ok(products)
}

/// Gives registers to rotations and writes down the steps.
struct Compiler {
    targets: usize,
    /// Register of each source joint's delta, where one is needed.
    register: Vec<Option<u32>>,
    shared: Vec<bool>,
    temporaries: usize,
    steps: Vec<Step>,
    /// Target joints that are a source joint's delta and nothing else.
    direct: Vec<bool>,
}

impl Compiler {
    fn new(targets: usize, sources: usize) -> Self {
        Self {
            targets,
            register: vec![None; sources],
            shared: vec![false; sources],
            temporaries: 0,
            steps: Vec::new(),
            direct: vec![false; targets],
        }
    }

    fn temporary(&mut self) -> u32 {
        self.temporaries += 1;
        (self.targets + self.temporaries - 1) as u32
    }

    /// Lets the first target that is nothing but a source joint's delta be that joint's register.
    fn place(&mut self, products: &[Product]) {
        for (target, product) in products.iter().enumerate() {
            if let [Factor::Joint { joint, inverse: false }] = product.factors[..]
                && self.register[usize::from(joint)].is_none()
            {
                self.register[usize::from(joint)] = Some(target as u32);
                self.direct[target] = true;
            }
        }
    }

    fn of(&mut self, joint: u16) -> u32 {
        let joint = usize::from(joint);
        self.shared[joint] = true;
        match self.register[joint] {
            Some(register) => register,
            None => {
                let register = self.temporary();
                self.register[joint] = Some(register);
                register
            }
        }
    }

    fn compile(&mut self, tree: &Tree, target: usize, product: &Product) {
        if self.direct[target] || product.factors.is_empty() {
            return;
        }
        let target = target as u32;
        let last = product.factors.len() - 1;
        let mut all: Option<Operand> = None;
        for (at, factor) in product.factors.iter().enumerate() {
            let next = match *factor {
                Factor::Joint { joint, inverse } => Operand { register: self.of(joint), inverse },
                Factor::Power { from, to, exponent } => {
                    let mut base: Option<Operand> = None;
                    for (joint, inverse) in tree.path(from, Some(to)) {
                        let right = Operand { register: self.of(joint), inverse };
                        base = Some(self.times(base, right, None));
                    }
                    let Some(from) = base else { continue };
                    let out = if last == 0 { target } else { self.temporary() };
                    self.steps.push(Step::Power { from, series: powers(exponent), out });
                    Operand { register: out, inverse: false }
                }
            };
            all = Some(self.times(all, next, (at == last).then_some(target)));
        }
        if let Some(from) = all
            && from != (Operand { register: target, inverse: false })
        {
            self.steps.push(Step::Copy { from, out: target });
        }
    }

    /// `left right`, into `out` or a temporary; `right` as it stands where there is no left.
    fn times(&mut self, left: Option<Operand>, right: Operand, out: Option<u32>) -> Operand {
        let Some(left) = left else { return right };
        let out = out.unwrap_or_else(|| self.temporary());
        self.steps.push(Step::Times { left, right, out });
        Operand { register: out, inverse: false }
    }

    /// First joint and inputs of the lines of `N` joints that are needed.
    fn lines<const N: usize>(&self) -> Vec<(u32, [Input; N])> {
        let mut lines: Vec<(u32, [Input; N])> = Vec::new();
        for (joint, register) in self.register.iter().enumerate() {
            let &Some(register) = register else { continue };
            let within = |&(first, _): &(u32, _)| joint < first as usize + N;
            if !lines.last().is_some_and(within) {
                // A source of fewer joints is made up to one line.
                let first = (joint / N * N).min(self.register.len().saturating_sub(N)) as u32;
                lines.push((first, [Input::NONE; N]));
            }
            let at = lines.len() - 1;
            let place = joint - lines[at].0 as usize;
            lines[at].1[place] = Input { shared: self.shared[joint], register };
        }
        lines
    }
}

/// `R -> above R back`, row by row.
pub(super) fn matrix([above, back]: [DQuat; 2]) -> [[f64; 4]; 4] {
    let unit = |k: usize| DQuat::from_array(core::array::from_fn(|c| if c == k { 1.0 } else { 0.0 }));
    let columns: [[f64; 4]; 4] = core::array::from_fn(|k| (above * unit(k) * back).to_array());
    core::array::from_fn(|r| core::array::from_fn(|c| columns[c][r]))
}

/// True if one entry is that of the identity.
pub(super) fn near(m: &[[f64; 4]; 4], r: usize, c: usize) -> bool {
    (m[r][c] - f64::from(u8::from(r == c))).abs() < EXACT
}

/// `R -> above R back` for the joints of a line, as plainly as all of them can be told.
fn basis(turns: [[DQuat; 2]; LINE_JOINTS]) -> Basis {
    let rows = turns.map(matrix);
    let same = rows.iter().all(|m| (0..4).all(|r| (0..4).all(|c| near(m, r, c))));
    let turns = rows.iter().all(|m| (0..4).all(|k| near(m, 3, k) && near(m, k, 3)));
    if same {
        Basis::Same
    } else if turns {
        Basis::Turn(rows.map(|m| core::array::from_fn(|r| core::array::from_fn(|c| m[r][c] as f32))))
    } else {
        Basis::General(rows.map(|m| m.map(|row| row.map(|value| value as f32))))
    }
}
