//! Percentiles without keeping every value: counts in buckets whose width grows with the value.

use std::collections::BTreeMap;

/// Buckets in each doubling.
const FINE_BITS: u32 = 7;
const FINE: u64 = 1 << FINE_BITS;

/// How far a percentile may be from the value that it stands for, in percent of it. Values below 128 ms are
/// exact.
pub const PERCENTILE_ERROR_PERCENT: f64 = 0.4;

/// Counted spans in milliseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    buckets: BTreeMap<u16, u64>,
    count: u64,
    sum: u128,
    max: u64,
}

fn bucket(value: u64) -> u16 {
    if value < FINE {
        return value as u16;
    }
    // The leading bit picks the doubling, the next ones the bucket in it.
    let doubling = 63 - value.leading_zeros() - FINE_BITS;
    let fine = (value >> doubling) - FINE;
    ((u64::from(doubling) + 1) * FINE + fine) as u16
}

/// The middle of a bucket.
fn middle(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    if bucket < FINE {
        return bucket;
    }
    let doubling = bucket / FINE - 1;
    let low = (FINE + bucket % FINE) << doubling;
    low + ((1 << doubling) - 1) / 2
}

impl Histogram {
    pub fn add(&mut self, value: u64) {
        *self.buckets.entry(bucket(value)).or_insert(0) += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The largest value, exactly.
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// The mean, exactly up to its last millisecond.
    pub fn mean(&self) -> u64 {
        u64::try_from(self.sum / u128::from(self.count.max(1))).unwrap_or(u64::MAX)
    }

    /// The value that so many of a thousand do not exceed.
    pub fn per_mille(&self, share: u64) -> u64 {
        let wanted = (u128::from(self.count) * u128::from(share)).div_ceil(1_000).max(1);
        let mut seen = 0;
        for (bucket, count) in &self.buckets {
            seen += u128::from(*count);
            if seen >= wanted {
                return middle(*bucket).min(self.max);
            }
        }
        self.max
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn percentiles_are_as_near_as_is_promised(
            mut values in proptest::collection::vec(
                prop_oneof![0..200_u64, 0..1_000_000_u64, any::<u64>().prop_map(|value| value >> 8)], 1..300),
            share in 1..=1_000_u64,
        ) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|value| histogram.add(*value));
            values.sort_unstable();
            let rank = (values.len() as u64 * share).div_ceil(1_000).max(1) as usize;
            let (exact, near) = (values[rank - 1], histogram.per_mille(share));
            let allowed = exact as f64 * PERCENTILE_ERROR_PERCENT / 100.0;
            prop_assert!(exact.abs_diff(near) as f64 <= allowed, "{near} for {exact}");
            prop_assert_eq!(histogram.max(), *values.last().unwrap());
        }
    }

    #[test]
    fn nothing_counted_is_nothing() {
        let empty = Histogram::default();
        assert_eq!((empty.per_mille(500), empty.mean(), empty.max(), empty.count()), (0, 0, 0, 0));
        let mut largest = Histogram::default();
        largest.add(u64::MAX);
        assert_eq!(largest.max(), u64::MAX);
    }
}
