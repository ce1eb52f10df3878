//! Live maps for 16-bit rotations: matrices in integers, so that products need no conversion before them.
//!
//! Integers stand for multiples of 1 / 32 767, on both sides. Rounding the matrix costs as much as rounding the rotations
//! did: some 3e-5 rad each.

use glam::DQuat;

use super::live::{Input, matrix, near};

/// Joints of one line of 16-bit rotations.
pub(crate) const PACKED_JOINTS: usize = 8;

/// A matrix: per row, factors of x and y in the halves of one word, of z and w in those of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PackedMatrix {
    pub low: [i32; 4],
    pub high: [i32; 4],
}

/// Eight consecutive joints of the source; see [`InputLine`](super::live::InputLine).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PackedLine {
    pub first: u32,
    pub inputs: [Input; PACKED_JOINTS],
    /// The source's axes are those of the model, for all of them.
    pub same: bool,
    pub matrices: [PackedMatrix; PACKED_JOINTS],
}

impl PackedLine {
    /// `turns` gives what is multiplied to the left and to the right of a joint's rotation.
    pub fn new(first: u32, inputs: [Input; PACKED_JOINTS], turns: impl Fn(usize) -> [DQuat; 2]) -> Self {
        let matrices: [_; PACKED_JOINTS] = core::array::from_fn(|k| match inputs[k].register {
            Input::NOBODY => matrix([DQuat::IDENTITY; 2]),
            _ => matrix(turns(first as usize + k)),
        });
        let same = matrices.iter().all(|m| (0..4).all(|r| (0..4).all(|c| near(m, r, c))));
        Self { first, inputs, same, matrices: matrices.map(packed) }
    }
}

fn packed(m: [[f64; 4]; 4]) -> PackedMatrix {
    let m = m.map(|row| row.map(|value| (value * f64::from(i16::MAX)).round() as i32 & 0xffff));
    PackedMatrix { low: m.map(|[x, y, _, _]| x | y << 16), high: m.map(|[_, _, z, w]| z | w << 16) }
}
