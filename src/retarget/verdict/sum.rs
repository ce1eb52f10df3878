//! Mean, largest and percentile of many values.

use super::Spread;

#[derive(Default)]
pub(super) struct Sum {
    sum: f64,
    max: f64,
    count: usize,
}

impl Sum {
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.max = self.max.max(value);
        self.count += 1;
    }

    pub(super) fn spread(&self) -> Option<Spread> {
        (self.count > 0).then(|| Spread { mean: self.sum / self.count as f64, max: self.max })
    }
}

/// 99th percentile: the value that 99 of 100 do not exceed.
pub(super) fn p99(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(((0.99 * values.len() as f64).ceil() as usize).saturating_sub(1)).copied()
}
