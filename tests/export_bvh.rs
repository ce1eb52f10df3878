//! What is written as BVH reads back: the same rest pose, the same motion, whoever carries the travel.

use std::path::Path;

use glam::Vec3;
use throng::clip::RawClip;
use throng::content::{self, BodyPlan, ClipKind, RigKind};
use throng::import::{self, Imported};
use throng::retarget::{BindSource, TravelOn, bake, fitting_keys};
use throng::rig::{RawCharacter, RawSkeleton, ReferencePose, Rig, RigSource, Role, RoleMap};

#[path = "support/import_data.rs"]
#[allow(dead_code)]
mod import_data;

/// A character that clips go onto.
struct Target {
    name: String,
    character: RawCharacter,
    roles: RoleMap,
    reference: ReferencePose,
}

impl Target {
    fn file(path: &Path) -> Self {
        let imported = import::load(path).expect("loads");
        let reference = imported.reference_pose();
        let name = path.display().to_string();
        Self { name, character: imported.character, roles: imported.roles, reference }
    }

    fn built_in(kind: RigKind) -> Self {
        let built = content::character(kind, &BodyPlan::adult());
        let (name, reference) = (format!("{kind:?}"), built.reference());
        Self { name, reference, character: built.character, roles: built.roles }
    }

    /// The clip on this character, for each joint that may carry the travel.
    fn bake(&self, source: BindSource<'_>, clip: &RawClip) -> Vec<(TravelOn, RawClip)> {
        let rig = Rig::build(&RigSource {
            character: &self.character,
            roles: &self.roles,
            reference: self.reference.clone(),
            soles: [None; 2],
        })
        .expect("a rig");
        let keys = fitting_keys(source, clip, &rig).expect("binds");
        let bake = |travel| bake(&keys, &self.character.skeleton, &rig, travel).expect("bakes");
        [TravelOn::Root, TravelOn::Pelvis, TravelOn::Nothing].map(|travel| (travel, bake(travel))).into()
    }
}

fn places(skeleton: &RawSkeleton, clip: &RawClip, time: f32) -> Vec<Vec3> {
    let models = skeleton.model_matrices(&clip.sample(skeleton, time));
    models.iter().map(|model| model.w_axis.truncate()).collect()
}

/// Largest distance of a joint over a clip, metres.
fn apart(skeleton: &RawSkeleton, clip: &RawClip, back: &Imported) -> f32 {
    let other = &back.character.skeleton;
    let mut worst = 0.0f32;
    for k in 0..=10 {
        // Frames of the file: between them rotations go other ways in other axes.
        let time = (clip.duration * k as f32 / 10.0 * 60.0).floor() / 60.0;
        let (want, have) = (places(skeleton, clip, time), places(other, &back.clips[0], time));
        for (joint, raw) in skeleton.joints.iter().enumerate() {
            let at = other.find(&raw.name.replace(' ', "_")).expect("named");
            worst = worst.max(want[joint].distance(have[usize::from(at)]));
        }
    }
    worst
}

/// Height of the hips at rest and of the reference pose, metres.
fn heights(skeleton: &RawSkeleton, roles: &RoleMap, reference: &ReferencePose) -> [f32; 2] {
    let hips = usize::from(roles.joint(Role::Hips).expect("hips"));
    let rest = skeleton.model_matrices(&skeleton.rest_pose())[hips].w_axis.y;
    [rest, reference.position(hips).y as f32]
}

#[test]
fn characters_stand_and_move_in_what_was_written_as_they_did() {
    let walker = content::character(RigKind::Biped, &BodyPlan::child());
    let walk = content::clip(ClipKind::TurnLeft, &walker);
    let (roles, reference) = (&walker.roles, &walker.reference());
    let built = BindSource { skeleton: &walker.character.skeleton, roles, reference };
    let mut targets: Vec<Target> = RigKind::ALL.into_iter().map(Target::built_in).collect();
    let mut sources = vec![(built, &walk)];
    let data = import_data::data_dir();
    let captured = data.as_ref().map(|data| {
        let imported = import::load(data.join("bvh/cmu_cgspeed_01_01.bvh")).expect("loads");
        let reference = imported.reference_pose();
        (imported, reference)
    });
    if let (Some(data), Some((imported, reference))) = (&data, &captured) {
        let skeleton = &imported.character.skeleton;
        sources.push((BindSource { skeleton, roles: &imported.roles, reference }, &imported.clips[0]));
        let files = [
            "gltf/ual/human-base-animations.glb",
            "gltf/kaykit/manny_med_mod.gltf",
            "gltf/ozz_pab/pab_arnaud.glb",
            "gltf/m2m/human-male.glb",
        ];
        targets.extend(files.map(|file| Target::file(&data.join(file))));
    }
    for target in &targets {
        for &(source, clip) in &sources {
            for (travel, baked) in target.bake(source, clip) {
                let skeleton = &target.character.skeleton;
                let text = throng::export::bvh::write(skeleton, &baked, 60.0).expect("writes");
                // A doll's leg may be a man's in another unit.
                let options = import::bvh::BvhOptions { unit: Some(0.01), ..Default::default() };
                let back = import::bvh::load_bytes(text.as_bytes(), &options).expect("reads");
                let off = apart(skeleton, &baked, &back);
                let want = heights(skeleton, &target.roles, &target.reference);
                let have = heights(&back.character.skeleton, &back.roles, &back.reference_pose());
                let what = format!("{} {travel:?} of {:?}", target.name, clip.name);
                println!("{what}: joints {off:.1e} m; hips {want:?} {have:?}");
                assert!(off < 1e-5, "{what}: {off}");
                for (want, have) in want.into_iter().zip(have) {
                    assert!((want - have).abs() < 2e-3, "{what}: hips at {have} m, not {want}");
                }
            }
        }
    }
}
