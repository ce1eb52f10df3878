//! Motion files as short as they can be, one for each way in which tools differ.

use core::fmt::Write;

use super::Seeds;

/// Joints with name, depth, OFFSET and number of channels.
type Joints<'a> = &'a [(&'a str, usize, [f32; 3], usize)];

const ARM: Joints<'_> = &[("Hips", 0, [0.0; 3], 6), ("Arm", 1, [1.0, 0.0, 0.0], 3)];

const LEGS: Joints<'_> = &[
    ("Hips", 0, [0.0, 90.0, 0.0], 6),
    ("LeftUpLeg", 1, [9.0, 0.0, 0.0], 3),
    ("LeftLeg", 2, [0.0, -40.0, 0.0], 3),
    ("LeftFoot", 3, [0.0, -42.0, 0.0], 3),
    ("RightUpLeg", 1, [-9.0, 0.0, 0.0], 3),
    ("RightLeg", 2, [0.0, -40.0, 0.0], 3),
    ("RightFoot", 3, [0.0, -42.0, 0.0], 3),
    ("Spine", 1, [0.0, 12.0, 0.0], 3),
];

/// `order` of the rotations, `end` of lines, frames of what `value` says of frame and column.
fn file(
    joints: Joints<'_>,
    order: &str,
    end: &str,
    frames: usize,
    value: impl Fn(usize, usize) -> f32,
) -> String {
    let mut out = format!("HIERARCHY{end}");
    let mut columns = 0;
    for (at, &(name, depth, [x, y, z], channels)) in joints.iter().enumerate() {
        let keyword = if depth == 0 { "ROOT" } else { "JOINT" };
        let _ = write!(out, "{keyword} {name}{end}{{{end}OFFSET {x} {y} {z}{end}CHANNELS {channels}");
        if channels == 6 {
            out.push_str(" Xposition Yposition Zposition");
        }
        order.chars().for_each(|axis| {
            let _ = write!(out, " {axis}rotation");
        });
        out.push_str(end);
        columns += channels;
        let next = joints.get(at + 1).map_or(0, |joint| joint.1);
        if next <= depth {
            let _ = write!(out, "End Site{end}{{{end}OFFSET 0 1 0{end}}}{end}");
        }
        (next..=depth).for_each(|_| {
            let _ = write!(out, "}}{end}");
        });
    }
    let _ = write!(out, "MOTION{end}Frames: {frames}{end}Frame Time: 0.033333{end}");
    for frame in 0..frames {
        let line: Vec<String> = (0..columns).map(|column| value(frame, column).to_string()).collect();
        let _ = write!(out, "{}{end}", line.join(" "));
    }
    out
}

pub fn seeds() -> Seeds {
    let turns = |frame: usize, column: usize| if column > 2 { (frame * column) as f32 } else { 90.0 };
    let six: Joints<'_> = &[("Hips", 0, [0.0, 9.0, 0.0], 6), ("LeftArm", 1, [1.0, 0.0, 0.0], 6)];
    let texts = [
        ("arm", file(ARM, "ZXY", "\n", 2, turns)),
        ("legs", file(LEGS, "ZYX", "\n", 3, turns)),
        ("restated", file(six, "XYZ", "\r\n", 2, |_, column| [0.0, 9.0, 0.0, 1.0][column % 4])),
        ("deltas", file(six, "YXZ", "\t\n", 2, |_, _| 0.0)),
        ("exponents", file(ARM, "YZX", "\n", 1, |_, _| 0.0).replace(" 0 ", " 1.5e-3 ")),
        (
            "calibration",
            file(LEGS, "XZY", "\n", 4, |frame, column| if frame == 0 { 0.0 } else { turns(1, column) }),
        ),
        ("still", file(&[("Hips", 0, [0.0, 1.0, 0.0], 0)], "", "\n", 1, turns)),
        ("uncounted", format!("\x01{}", file(ARM, "ZXY", "\n", 3, turns).replace("Frames: 3", "Frames: 9"))),
    ];
    texts.map(|(name, text)| (name, text.into_bytes())).into()
}
