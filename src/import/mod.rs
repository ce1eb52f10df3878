//! Files of other tools to raw skeletons, skins, meshes and clips, with a report of everything converted or dropped.
//!
//! A reader decodes its format; then constant scale is folded, roles are proposed, axes and units are converted once,
//! and clips are told apart by where their travel is. All importers share those steps.
//!
//! ```no_run
//! let imported = throng::import::load("hero.glb")?;
//! for warning in &imported.report.warnings {
//!     eprintln!("{warning}");
//! }
//! for finding in imported.report.roles.doubtful() {
//!     eprintln!("{} is {} only by its name or place", finding.joint, finding.role);
//! }
//! # Ok::<(), throng::import::ImportError>(())
//! ```

mod beside;
pub mod bvh;
mod check;
mod conventions;
mod doubt;
mod error;
mod fold;
pub mod gltf;
mod inspect;
mod load;
mod mesh_space;
mod motion;
pub mod motion_text;
mod regular;
mod report;
mod sidecar;
mod stand;
pub mod vrm;

pub use beside::{Beside, Found};
pub use error::{ImportError, Refusal};
pub use inspect::{InspectedClip, InspectedJoint, Inspection, inspect};
pub use load::{Format, LoadOptions, load, load_with};
pub use regular::{open_file, read_file};
pub use report::{Conversion, ImportReport, Warning};
pub use sidecar::{FootMarks, Mark, Sidecar};

use self::report::Warnings;
use crate::clip::RawClip;
use crate::rig::{
    RawCharacter, RawSkeleton, ReferencePose, RigOverrides, RoleMap, RoleProposal, propose_roles,
};

/// What a file holds, in metres, +Y up, +Z forward.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// Skeleton, skins and meshes.
    pub character: RawCharacter,
    /// In file order.
    pub clips: Vec<RawClip>,
    /// Proposed from names and hierarchy, or given by overrides; correct it before binding where it is wrong.
    pub roles: RoleMap,
    /// Reference pose that overrides have adjusted; see [`Self::reference_pose`].
    pub reference: Option<ReferencePose>,
    /// What was converted, guessed or dropped.
    pub report: ImportReport,
    /// What a VRM file says beyond that.
    pub vrm: Option<vrm::Vrm>,
}

impl Imported {
    /// The pose in which its motion is measured: adjusted by overrides, else [`ReferencePose::aligned`].
    #[must_use]
    pub fn reference_pose(&self) -> ReferencePose {
        let aligned = || ReferencePose::aligned(&self.character.skeleton, &self.roles);
        self.reference.clone().unwrap_or_else(aligned)
    }

    /// The pose in which it stands as a target does: adjusted by overrides, else the target's own where the bodies are the
    /// same ([`ReferencePose::of_sibling`]), else aligned.
    #[must_use]
    pub fn reference_onto(
        &self,
        skeleton: &RawSkeleton,
        roles: &RoleMap,
        reference: &ReferencePose,
    ) -> ReferencePose {
        let own = &self.character.skeleton;
        let adjusted = self.reference.clone();
        adjusted
            .or_else(|| ReferencePose::of_sibling(own, &self.roles, skeleton, roles, reference))
            .unwrap_or_else(|| ReferencePose::aligned(own, &self.roles))
    }
}

/// How long a unit of a format is.
#[derive(Clone, Copy, Debug)]
enum Units {
    /// By the format; only what cannot be is converted.
    Metres,
    /// The format does not say.
    Guessed,
    /// The caller says: metres.
    Given(f32),
}

/// What a reader knows about its format or its file.
#[derive(Debug)]
struct Plan<'a> {
    units: Units,
    /// From the file's axes to the house's; `None`: by the roles.
    axes: Option<glam::Quat>,
    /// Known without asking for names.
    roles: Option<RoleProposal>,
    /// What the file says of itself as a VRM.
    vrm: Option<vrm::Vrm>,
    /// The file's rest pose says nothing about where the body stands.
    stand: bool,
    /// What a user knows better.
    overrides: Option<&'a RigOverrides>,
}

impl Default for Plan<'_> {
    fn default() -> Self {
        Self { units: Units::Metres, axes: None, roles: None, vrm: None, stand: false, overrides: None }
    }
}

/// The steps that follow decoding, the same for every format.
fn finish(
    mut character: RawCharacter,
    mut clips: Vec<RawClip>,
    mut report: ImportReport,
    mut warnings: Warnings,
    plan: Plan<'_>,
) -> Result<Imported, Refusal> {
    check::check(&character, &clips)?;
    let mut names = character.skeleton.joints.iter().map(|joint| joint.name.as_str()).collect::<Vec<_>>();
    names.sort_unstable();
    let mut twice = names
        .windows(2)
        .filter(|pair| pair.first() == pair.last())
        .filter_map(|pair| pair.first())
        .collect::<Vec<_>>();
    twice.dedup();
    if !twice.is_empty() {
        let names = twice.into_iter().map(|name| (*name).to_owned()).collect();
        warnings.push(Warning::DuplicateNames { names });
    }
    fold::fold_scale(&mut character, &mut clips, &mut warnings);
    let named = || propose_roles(&character.skeleton);
    let proposal = match (&plan.roles, &plan.vrm) {
        (Some(known), _) => known.clone(),
        (None, Some(vrm)) if !vrm.human_bones.is_empty() => vrm.roles(named()),
        _ => named(),
    };
    report.roles = proposal.report;
    let mut roles = proposal.map;
    if let Some(overrides) = plan.overrides {
        roles = overrides.roles(&character.skeleton, &roles)?;
        // What was found for a role that somebody has given, or of a joint that was taken away, no longer counts.
        report.roles.findings.retain(|finding| roles.joint(finding.role) == Some(finding.joint));
        report.roles.doubts.retain(|doubt| report.roles.findings.iter().any(|own| own.role == doubt.role));
    }
    report.conversion = conventions::convert(&mut character, &mut clips, &roles, &plan, &mut warnings);
    if plan.stand {
        report.lift = stand::stand(&mut character.skeleton, &roles, &mut clips);
        if report.lift != 0.0 {
            warnings.push(Warning::Lifted { by: report.lift });
        }
    }
    report.mesh_space = mesh_space::align(&mut character);
    motion::classify(&character.skeleton, &roles, &mut clips, &mut warnings);
    check::check(&character, &clips)?;
    report.warnings = warnings.into_list();
    let adjusted = plan.overrides.filter(|overrides| !overrides.reference.is_empty());
    let reference = adjusted.map(|overrides| {
        let aligned = ReferencePose::aligned(&character.skeleton, &roles);
        overrides.reference(&character.skeleton, &roles, &aligned)
    });
    Ok(Imported { character, clips, roles, reference: reference.transpose()?, report, vrm: plan.vrm })
}
