//! What fuzzing has found in readers of files, each as short as it became.

#[path = "support/sealed.rs"]
#[allow(dead_code)]
mod sealed;

/// Bytes of a text of two hexadecimal digits each.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// A right hash and sound tables, and a clip that turns so fast that its frames were NaN.
#[test]
fn an_archived_clip_that_turns_faster_than_a_frame_can_tell_is_refused() {
    const PARTS: &str = "\
    6f12833acdcc4c3d3333733f0000000000000000040000008000ffff00010000000000000000000000000000000a00000000 \
    00000000000000000100000b0000000000000000000000000200000c0000000000000000000000000000000a010000000000 \
    0000000000000400000b0100000000000000000000000500000c010000000000000000000000000001000000000004000000 \
    040000004000080000000500000000000000250000008988083d0100000000000000000000000d0000000400000025000000 \
    9d0000008988883e0800000001000000f2b1fc396000000000000000803f00000000cdcccc3d000000000000000000000000 \
    000000bf00000000000000006666e6be00000000cdccccbd000000000000000000000000000000bf00000000000000006666 \
    e6be000000000000000000000000cdcc4cbe1100626f64797461696c7374696c6c77616c6b1e00389e10008090090000201c \
    4f000040c8040000108e272000206402000000c2000200000000000800e6e8cae0020000000000000000000000000080cccc \
    8c1ffeff000004000200000000000800e6e8cae00200000000008ceb5114beaf23f3981a141b3d571bb0ec8dbafa0b647687 \
    4c4a4b2eff5d20aa1a0dacffc82479eb4fd9761b732bd0dbdbdbdbdbdb858585858585858585002c730400009c2602283212 \
    000000";
    let error = sealed::unpack(&sealed::join(&bytes(PARTS))).expect_err("refused").to_string();
    assert!(error.contains("root motion") && error.contains("too fast"), "{error}");
}

/// Single precision has no such number: it was taken as infinity.
#[test]
fn a_mark_of_the_sole_that_is_not_finite_is_refused() {
    let text = |offset: &str, level: &str| {
        format!(
            r#"{{"file":"a","clip":"b","kind":"in_place","parts":{{"left":{{"ball":{{"joint":"foot",
            "offset_local_m":[0,{offset},0],"low_level_m":{level}}}}},"right":{{}}}},"feet":{{"left":[],"right":[]}}}}"#
        )
    };
    let read = |offset, level| throng::import::Sidecar::from_bytes(text(offset, level).as_bytes());
    assert_eq!(read("0.1", "0.2").expect("sound").len(), 1);
    for (offset, level) in [("1e39", "0"), ("0", "-1e39")] {
        let error = read(offset, level).expect_err("refused").to_string();
        assert!(error.contains("\"foot\" is not finite"), "{error}");
    }
}

/// Contacts of nothing: whoever wrote that meant something else.
#[test]
fn a_list_of_no_contacts_is_refused_for_its_reason() {
    for bytes in [&b"[]"[..], b" [ ]\n"] {
        let error = throng::import::Sidecar::from_bytes(bytes).expect_err("an empty list").to_string();
        assert!(error.contains("a list of no clips"), "{error}");
    }
}
