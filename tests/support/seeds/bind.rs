//! A body with two legs that walks, a chain with a skin, and a single joint.

use super::Seeds;

/// Roles by their numbers in `world`.
const LEGS: [(u8, u8, [f32; 3]); 9] = [
    (0, 0, [0.0, 1.0, 0.0]),
    (1, 1, [0.1, 0.0, 0.0]),
    (2, 2, [0.0, -0.45, 0.01]),
    (3, 3, [0.0, -0.45, -0.01]),
    (4, 4, [0.0, -0.08, 0.12]),
    (1, 5, [-0.1, 0.0, 0.0]),
    (6, 6, [0.0, -0.45, 0.01]),
    (7, 7, [0.0, -0.45, -0.01]),
    (1, 9, [0.0, 0.3, 0.0]),
];

fn body(count: u8) -> Writer {
    let mut out = Writer::default().bytes(&[count - 1]);
    for &(parent, role, at) in &LEGS[..usize::from(count)] {
        out = out.bytes(&[parent, role, 1]).numbers(&at);
    }
    out
}

/// A character that stands 1 m to the left, three frames, on flat ground or on a slope.
fn host(out: Writer, format: u8, roots: u8, act: u8, slope: bool) -> Vec<u8> {
    let out = out.bytes(&[format, 1, 4]).numbers(&[0.25, 0.5, 1.0]).bytes(&[3]).numbers(&[0.5, 1.0, -1.0]);
    let place = |out: Writer| out.bytes(&[0]).numbers(&[1.0, 0.0, 0.0]).numbers(&[0.0, 0.0, 0.0, 1.0]);
    let out =
        place(out).bytes(&[3]).numbers(&[0.02]).bytes(&[1]).numbers(&[0.02]).bytes(&[act]).numbers(&[0.2]);
    let out = if act == 5 {
        out.numbers(&[1.0])
    } else if act == 4 {
        out.bytes(&[1])
    } else {
        out
    };
    let out = out.numbers(&[0.1]).bytes(&[3]).numbers(&[0.3]).numbers(&[0.3]).bytes(&[0, roots]);
    let out = place(out).numbers(&[0.1]).bytes(&[slope.into()]);
    if slope { out.numbers(&[0.0, 0.1, 0.0, 0.1, 0.99, 0.0, 0.5, 0.0, 0.0, 0.1]).0 } else { out.0 }
}

pub fn seeds() -> Seeds {
    // No skin, aligned reference, one second, in a loop with contacts, one track of the hips and one of a thigh.
    let walk = || {
        body(9)
            .bytes(&[0, 0])
            .numbers(&[1.0])
            .bytes(&[8 + 16 + 32 + 64, 2, 0, 1, 6])
            .numbers(&[1.0, 0.0])
            .numbers(&[0.0, 1.0, 0.0, 0.0, 1.0, 1.2])
            .bytes(&[1, 2, 6])
            .numbers(&[1.0, 0.0])
            .numbers(&[0.2, 0.0, 0.0, 1.0, -0.2, 0.0, 0.0, 1.0])
            .bytes(&[0])
            .numbers(&[0.0, 0.5, 0.1, 0.6])
            .bytes(&[1])
            .numbers(&[0.5, 1.0, 0.6, 0.1])
            .bytes(&[2])
            .numbers(&[0.1, 0.6])
            .bytes(&[2])
            .numbers(&[0.0, 0.5])
    };
    let skin = body(3)
        .bytes(&[1, 2, 0, 1, 0])
        .numbers(&[0.0, -1.0, 0.0])
        .bytes(&[0])
        .numbers(&[-0.1, -1.0, 0.0])
        .bytes(&[1 + 4])
        .numbers(&[0.0; 12])
        .numbers(&[0.5])
        .bytes(&[1])
        .numbers(&[1.5])
        .bytes(&[1, 2, 4, 11])
        .numbers(&[0.1, 0.2, 0.2])
        .numbers(&[1.0; 27]);
    let one = body(1).bytes(&[0, 1]).numbers(&[0.0]).bytes(&[2, 0, 0]);
    vec![
        ("walk", host(walk(), 1, 2, 2, false)),
        ("slope", host(walk(), 2 + 16, 2, 3, true)),
        ("moved", host(walk(), 4 + 8, 1, 4, false)),
        ("quantised", host(walk(), 3 + 32, 0, 5, false)),
        ("skin", host(skin, 0, 2, 3, false)),
        ("one", host(one, 1, 0, 2, true)),
    ]
}

/// What [`Bytes`](crate::bytes::Bytes) reads back, with numbers to a 16 384th.
#[derive(Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    pub fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Numbers within 3.7.
    pub fn numbers(mut self, numbers: &[f32]) -> Self {
        for number in numbers {
            assert!(number.abs() < 3.7, "{number} is not to be written");
            let fine = (number * 8192.0).round() as i32;
            self.0.extend([(fine >> 8) as u8, fine as u8]);
        }
        self
    }
}
