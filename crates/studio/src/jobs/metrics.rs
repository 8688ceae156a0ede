//! How much of its nodes a job used, as a chart needs it.

use std::collections::BTreeMap;

use atelier_domain::Timestamp;
use atelier_domain::compute::{JobId, NodeId};
use atelier_engine::fleet::Fleet;
use atelier_protocol::PartSample;

const POINTS: usize = 120;

/// One line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The values, one a point.
    pub points: Vec<f64>,
    pub last: f64,
    pub most: f64,
}

/// What a job used, over all its nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// When the first point is.
    pub from: Timestamp,
    /// When the last is.
    pub to: Timestamp,
    pub cores: Series,
    /// Memory in MiB.
    pub memory: Series,
}

/// What is known of a job, over or not. Nothing if it is too little to draw.
pub fn read(fleet: &Fleet, job: JobId) -> Option<Metrics> {
    let mut samples = fleet.job_samples(job);
    samples.sort_by_key(|(at, _)| *at);
    metrics(&samples)
}

/// Parts are averaged over each stretch of time, and then added up.
fn metrics(samples: &[(Timestamp, PartSample)]) -> Option<Metrics> {
    let (from, to) = (samples.first()?.0, samples.last()?.0);
    let span = to.0.checked_sub(from.0).filter(|span| *span > 0)?;
    let count = POINTS.min(samples.len());
    let mut slots: Vec<BTreeMap<NodeId, (u64, u64, u64)>> = vec![BTreeMap::new(); count];
    for (at, sample) in samples {
        let place = (at.0 - from.0).max(0) as u128 * (count as u128 - 1) / span as u128;
        let Some(slot) = slots.get_mut(place as usize) else { continue };
        let sums = slot.entry(sample.part.node).or_default();
        *sums = (sums.0 + 1, sums.1 + sample.cores, sums.2 + sample.memory);
    }
    let (mut cores, mut memory) = (Vec::new(), Vec::new());
    for slot in slots.iter().filter(|slot| !slot.is_empty()) {
        let sum = |of: fn(&(u64, u64, u64)) -> u64| -> f64 {
            slot.values().map(|sums| of(sums) as f64 / sums.0 as f64).sum()
        };
        cores.push(sum(|sums| sums.1) / 1_000.0);
        memory.push(sum(|sums| sums.2));
    }
    (cores.len() > 1).then(|| Metrics { from, to, cores: cores.into(), memory: memory.into() })
}

impl From<Vec<f64>> for Series {
    fn from(points: Vec<f64>) -> Self {
        let most = points.iter().copied().fold(0.0, f64::max);
        Self { last: points.last().copied().unwrap_or_default(), most, points }
    }
}

#[cfg(test)]
mod tests {
    use atelier_domain::world::AllocationKey;

    use super::*;

    fn sample(at: i64, node: u64, cores: u64) -> (Timestamp, PartSample) {
        let part = AllocationKey { job: JobId(1), attempt: 1, node: NodeId(node) };
        (Timestamp(at), PartSample { part, cores, memory: 100, processes: 1 })
    }

    #[test]
    fn parts_are_added_up_and_one_sample_makes_no_chart() {
        assert_eq!(metrics(&[]), None);
        assert_eq!(metrics(&[sample(5, 1, 1_000)]), None);
        let metrics =
            metrics(&[sample(0, 1, 1_000), sample(1, 2, 500), sample(10_000, 1, 2_000), sample(10_000, 2, 500)])
                .expect("a chart");
        assert_eq!((metrics.cores.points.clone(), metrics.cores.last), (vec![1.5, 2.5], 2.5));
        assert_eq!(metrics.memory.most, 200.0);
    }
}
