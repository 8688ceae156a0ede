//! What an instance's node used in the last hour, as charts need it.

use atelier_domain::Timestamp;
use atelier_protocol::Sample;

use crate::jobs::metrics::Series;

const POINTS: usize = 90;

/// What a node used.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    pub from: Timestamp,
    pub to: Timestamp,
    /// Percent of the cores that it has.
    pub cpu: Series,
    /// Memory in MiB.
    pub memory: Series,
    /// Used room on its disk, in MiB.
    pub disk: Series,
    /// The room that its disk has, in MiB.
    pub disk_total: u64,
    /// Bytes received and sent a second.
    pub network: (Series, Series),
    /// Percent of each GPU.
    pub gpus: Vec<Series>,
}

/// Nothing if that is too little to draw. `cores` are thousandths.
pub fn usage(samples: &[(Timestamp, Sample)], cores: u64) -> Option<Usage> {
    let (from, to) = (samples.first()?.0, samples.last()?.0);
    let last = &samples.last()?.1;
    if samples.len() < 2 || to <= from {
        return None;
    }
    let line = |of: &dyn Fn(&Sample) -> f64| thinned(samples, of);
    let gpus = last.gpus.len();
    Some(Usage {
        from,
        to,
        cpu: line(&|sample| (sample.cores as f64 * 100.0 / cores.max(1) as f64).min(100.0)),
        memory: line(&|sample| sample.memory as f64),
        disk: line(&|sample| sample.disk_total.saturating_sub(sample.disk_free) as f64),
        disk_total: last.disk_total,
        network: (line(&|sample| sample.received as f64), line(&|sample| sample.sent as f64)),
        gpus: (0..gpus)
            .map(|index| line(&move |sample| sample.gpus.get(index).map_or(0.0, |gpu| f64::from(gpu.busy))))
            .collect(),
    })
}

fn thinned(samples: &[(Timestamp, Sample)], of: &dyn Fn(&Sample) -> f64) -> Series {
    let count = samples.len().min(POINTS);
    let mut points = Vec::with_capacity(count);
    for slot in 0..count {
        let (begin, end) = (slot * samples.len() / count, (slot + 1) * samples.len() / count);
        let some = &samples[begin..end.max(begin + 1)];
        points.push(some.iter().map(|(_, sample)| of(sample)).sum::<f64>() / some.len() as f64);
    }
    points.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(cores: u64, memory: u64) -> Sample {
        Sample { cores, memory, disk_free: 900, disk_total: 1_000, ..Sample::default() }
    }

    #[test]
    fn an_hour_is_thinned_to_what_can_be_drawn() {
        let samples: Vec<_> = (0..720).map(|at| (Timestamp(at * 5_000), sample(at as u64, 512))).collect();
        let usage = usage(&samples, 2_000).expect("a chart");
        assert_eq!((usage.cpu.points.len(), usage.disk.last, usage.memory.most), (POINTS, 100.0, 512.0));
        assert!(usage.cpu.points.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", usage.cpu.points);
        assert!((usage.cpu.last - 35.775).abs() < 0.01, "{}", usage.cpu.last);
        assert!(usage.gpus.is_empty());
    }

    #[test]
    fn too_little_makes_no_chart() {
        assert_eq!(usage(&[], 1_000), None);
        assert_eq!(usage(&[(Timestamp(5), sample(1, 1))], 1_000), None);
    }
}
