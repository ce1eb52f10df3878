//! The world's origin moves, the poses do not.

use throng::crowd::{Handle, PaletteFormat, PoseHeader};

use crate::bodies::{frame, spawn, strict, three};

#[test]
fn a_crowd_far_away_is_brought_back_without_a_bit_changed_in_its_poses() {
    let (mut here, mut moved) = (strict(PaletteFormat::Mat3x4), strict(PaletteFormat::Mat3x4));
    let bodies = three(&mut here);
    three(&mut moved);
    let handles: Vec<Handle> = (0..40).map(|k| spawn(&mut here, &bodies, k)).collect();
    for k in 0..40 {
        assert_eq!(spawn(&mut moved, &bodies, k), handles[k]);
    }
    // What a metre and a bit is at 0 is told as finely at 4 m, so that roots are the same numbers, shifted.
    let step = [4.0, 0.0, -8.0];
    let (mut worst, mut origin) = (0.0f64, [0.0f64; 3]);
    for round in 0..120 {
        if round % 20 == 10 {
            let before: Vec<(PoseHeader, Vec<u8>)> = handles
                .iter()
                .map(|&handle| moved.pose(handle).unwrap())
                .map(|(header, palette)| (header, palette.to_vec()))
                .collect();
            let there = if round % 40 == 10 { step } else { step.map(|v: f64| -v) };
            moved.rebase(there).unwrap();
            (0..3).for_each(|k| origin[k] += there[k]);
            for (&handle, (old, palette)) in handles.iter().zip(&before) {
                let (header, now) = moved.pose(handle).unwrap();
                assert!(now == palette, "palettes are relative to their roots");
                assert_eq!(header.rotation, old.rotation);
                for k in 0..3 {
                    let shift = f64::from(old.position[k]) - f64::from(header.position[k]);
                    assert!((shift - there[k]).abs() < 1e-6);
                }
                for (a, b) in header.probes.iter().zip(&old.probes) {
                    assert!((f64::from(b[0]) - f64::from(a[0]) - there[0]).abs() < 2e-6);
                    assert!((f64::from(b[1]) - f64::from(a[1]) - there[2]).abs() < 2e-6);
                }
            }
        }
        frame(&mut here, 1.0 / 60.0);
        frame(&mut moved, 1.0 / 60.0);
        for &handle in &handles {
            let (a, b) = (here.transform(handle).unwrap(), moved.transform(handle).unwrap());
            for k in 0..3 {
                worst = worst.max((f64::from(a.position[k]) - origin[k] - f64::from(b.position[k])).abs());
            }
            let (a, b): (&[f32], &[f32]) = (
                bytemuck::cast_slice(here.pose(handle).unwrap().1),
                bytemuck::cast_slice(moved.pose(handle).unwrap().1),
            );
            // Feet are held in the world, whose numbers are rounded elsewhere.
            let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < 1e-4, "frame {round}: {apart}");
        }
    }
    assert!(worst < 1e-5, "{worst} m apart");
    assert!(moved.rebase([f64::NAN, 0.0, 0.0]).is_err() && moved.rebase([0.0, 2e9, 0.0]).is_err());
}

/// What rounding has taken from a root far away comes back with the origin.
#[test]
fn nothing_is_lost_between_two_origins() {
    let mut crowd = strict(PaletteFormat::Mat3x4);
    let bodies = three(&mut crowd);
    let handle = spawn(&mut crowd, &bodies, 0);
    frame(&mut crowd, 1.0 / 60.0);
    let before = crowd.transform(handle).unwrap().position;
    for far in [1e5, 3.3e6, 1234.567] {
        crowd.rebase([far, 0.0, far]).unwrap();
        crowd.rebase([-far, 0.0, -far]).unwrap();
    }
    let after = crowd.transform(handle).unwrap().position;
    for k in 0..3 {
        assert!((before[k] - after[k]).abs() < 1e-6, "{before:?} {after:?}");
    }
}
