//! Floats as integers in the same order: neighbours differ by one, so that what hardly changes takes few bits and comes
//! back bit by bit.

/// The integer of a float; of -0 another one than of 0.
pub(super) fn integer(value: f32) -> i32 {
    let bits = value.to_bits() as i32;
    if bits < 0 { bits ^ i32::MAX } else { bits }
}

/// The float of an integer.
pub(super) fn float(value: i32) -> f32 {
    f32::from_bits(if value < 0 { value ^ i32::MAX } else { value } as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_come_back_and_keep_their_order() {
        let values = [f32::MIN, -2.0, -1.0, -1e-40, -0.0, 0.0, 1e-40, 0.999_999_94, 1.0, f32::MAX];
        for pair in values.windows(2) {
            assert!(integer(pair[0]) < integer(pair[1]), "{pair:?}");
        }
        for value in values {
            assert_eq!(float(integer(value)).to_bits(), value.to_bits());
        }
        assert_eq!(integer(1.0) - integer(0.999_999_94), 1);
    }
}
