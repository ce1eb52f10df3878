//! The shader of the example is sound WGSL, and its structs are laid out as the crowd's bytes are.

use naga::front::wgsl;
use naga::proc::Layouter;
use naga::valid::{Capabilities, ValidationFlags, Validator};

const SHADER: &str = include_str!("../examples/wgpu_layout.wgsl");

#[test]
fn the_shader_is_valid_and_its_header_is_the_crowds() {
    let module = wgsl::parse_str(SHADER).unwrap_or_else(|error| panic!("{}", error.emit_to_string(SHADER)));
    Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .unwrap_or_else(|error| panic!("{}", error.emit_to_string(SHADER)));
    assert_eq!(module.entry_points.len(), 2);
    let mut layouter = Layouter::default();
    layouter.update(module.to_ctx()).expect("every type has a layout");
    let layout = |name: &str| {
        let (handle, kind) = module
            .types
            .iter()
            .find(|(_, kind)| kind.name.as_deref() == Some(name))
            .unwrap_or_else(|| panic!("the shader has a struct {name}"));
        let naga::TypeInner::Struct { members, .. } = &kind.inner else { panic!("{name} is a struct") };
        let offsets: Vec<u32> = members.iter().map(|member| member.offset).collect();
        (layouter[handle].size, offsets)
    };
    use std::mem::offset_of;
    use throng::crowd::{PoseHeader, PosePair};
    let rust = [
        offset_of!(PoseHeader, position),
        offset_of!(PoseHeader, time),
        offset_of!(PoseHeader, rotation),
        offset_of!(PoseHeader, probes),
    ];
    assert_eq!(layout("Header"), (size_of::<PoseHeader>() as u32, rust.map(|at| at as u32).to_vec()));
    assert_eq!(layout("Instance"), (16, vec![0, 4, 8, 12]));
    let rust = [
        offset_of!(PosePair, previous),
        offset_of!(PosePair, next),
        offset_of!(PosePair, factor),
        offset_of!(PosePair, corrections),
    ];
    assert_eq!(layout("Pair"), (size_of::<PosePair>() as u32, rust.map(|at| at as u32).to_vec()));
}
