//! Skins: palettes and inverse bind matrices.

use glam::Mat4;
use gltf::json::accessor::{ComponentType, Type};

use super::ImportOptions;
use super::accessor::Source;
use super::budget::Budget;
use super::tree::Selection;
use crate::import::report::Warnings;
use crate::import::{Refusal, Warning};
use crate::rig::RawSkin;

/// Marks the nodes that skins list.
pub(super) fn mark_joints(source: Source<'_>, wanted: &mut [bool]) -> Result<(), Refusal> {
    let have = wanted.len();
    for (index, skin) in source.document.skins.iter().enumerate() {
        if skin.joints.is_empty() {
            return Err(Refusal::Skin {
                skin: index,
                reason: "it has no joints; at least one is needed".to_owned(),
            });
        }
        for joint in &skin.joints {
            match wanted.get_mut(joint.value()) {
                Some(slot) => *slot = true,
                None => {
                    return Err(Refusal::Reference {
                        from: format!("skin {index}"),
                        kind: "node",
                        index: joint.value(),
                        have,
                    });
                }
            }
        }
    }
    Ok(())
}

/// Reads skin `index`; the palette keeps the file's order.
pub(super) fn read(
    source: Source<'_>,
    index: usize,
    selection: &Selection,
    options: &ImportOptions,
    budget: &mut Budget,
    warnings: &mut Warnings,
) -> Result<RawSkin, Refusal> {
    let bad = |reason: &str| Refusal::Skin { skin: index, reason: reason.to_owned() };
    let skin = source.document.skins.get(index).ok_or_else(|| bad("there is no such skin"))?;
    let need = skin.joints.len();
    if need > usize::from(u16::MAX) {
        return Err(bad("more than 65535 joints cannot be indexed"));
    }
    budget.charge_many(need, 2 * (size_of::<Mat4>() + size_of::<u16>()), "a skin")?;
    let joints = skin.joints.iter().filter_map(|joint| selection.joint(joint.value())).collect::<Vec<_>>();
    if joints.len() != need {
        return Err(bad("a joint is not part of the hierarchy"));
    }
    let mut inverse_binds = Vec::with_capacity(need);
    match skin.inverse_bind_matrices {
        None => warnings.push(Warning::NoInverseBinds { skin: index }),
        Some(accessor) => {
            match source.open(accessor.value(), &format!("inverse bind matrices of skin {index}"))? {
                Ok(access) => {
                    if access.shape != Type::Mat4 || access.component != ComponentType::F32 {
                        return Err(bad("its inverse binds must be 4x4 matrices of floats"));
                    }
                    // More than needed are allowed by the format.
                    if access.count < need {
                        if !options.lenient {
                            return Err(Refusal::InverseBindCount { skin: index, have: access.count, need });
                        }
                        warnings.push(Warning::InverseBindCount { skin: index, have: access.count, need });
                    }
                    for matrix in access.reals::<16>().take(need) {
                        let matrix = Mat4::from_cols_array(&matrix);
                        if !matrix.is_finite() {
                            return Err(bad("an inverse bind matrix is not finite"));
                        }
                        inverse_binds.push(matrix);
                    }
                }
                Err(_) => {
                    warnings.push(Warning::InverseBindsUnreadable { skin: index });
                    let models = selection.skeleton.model_matrices(&selection.skeleton.rest_pose());
                    inverse_binds.extend(joints.iter().map(|&joint| {
                        let inverse = models.get(usize::from(joint)).map_or(Mat4::IDENTITY, Mat4::inverse);
                        if inverse.is_finite() { inverse } else { Mat4::IDENTITY }
                    }));
                }
            }
        }
    }
    inverse_binds.resize(need, Mat4::IDENTITY);
    let name = super::container::or_index(skin.name.as_deref(), index);
    Ok(RawSkin { name, joints, inverse_binds })
}
