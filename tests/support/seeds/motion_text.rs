//! Motions of the DeepMimic humanoid: as text, and as changes to frames that stand.

use super::Seeds;
use super::judge::frames;

pub fn seeds() -> Seeds {
    // One change a frame: column, then a number above 0x87 or below 0x78 and its second byte.
    let steps = [1, 1, 0x08, 0, 1, 1, 0x10, 0, 1, 20, 0xE0, 3, 1, 34, 0xC0, 9];
    let turns = [2, 4, 0, 0, 6, 0x20, 0, 2, 4, 0xE0, 0, 6, 1, 0, 3, 0, 4, 0, 43, 0x70, 1, 29, 0x70, 0];
    let written = |changes: &[u8]| [&[0], changes].concat();
    let text = |changes: &[u8]| frames(changes).replace("e0", "").into_bytes();
    vec![
        ("empty", br#"{"Frames":[]}"#.to_vec()),
        ("one", text(&[0])),
        ("steps_text", text(&steps)),
        ("steps", written(&steps)),
        ("turns", written(&turns)),
        ("still", written(&[0, 0, 0])),
    ]
}
