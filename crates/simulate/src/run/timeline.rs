//! What there was over time, as means over equal stretches: a chart has room for a few hundred, whatever
//! happened.

use serde::Serialize;

/// Stretches of a whole scenario.
const STRETCHES: u64 = 720;

/// Numbers over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// How long a stretch is, in milliseconds.
    pub every_ms: u64,
    /// Jobs that waited, on average of each stretch; so for the next two.
    pub waiting: Vec<f64>,
    /// Nodes that were paid for.
    pub nodes: Vec<f64>,
    /// Of these: with jobs.
    pub busy: Vec<f64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    every: u64,
    whole: u64,
    sums: Vec<[u128; 3]>,
    last: [u64; 3],
    at: u64,
}

impl Recorder {
    pub fn new(whole: u64) -> Self {
        let every = whole.div_ceil(STRETCHES).max(1);
        let count = usize::try_from(whole.div_ceil(every)).unwrap_or(0);
        Self { every, whole, sums: vec![[0; 3]; count], last: [0; 3], at: 0 }
    }

    /// From `at` on there are so many: waiting jobs, nodes, busy nodes.
    pub fn note(&mut self, at: u64, values: [u64; 3]) {
        let at = at.min(self.whole);
        while self.at < at {
            let stretch = self.at / self.every;
            let until = at.min((stretch + 1) * self.every);
            let millis = u128::from(until - self.at);
            if let Some(sums) = self.sums.get_mut(usize::try_from(stretch).unwrap_or(usize::MAX)) {
                for (sum, value) in sums.iter_mut().zip(self.last) {
                    *sum += u128::from(value) * millis;
                }
            }
            self.at = until;
        }
        self.last = values;
    }

    pub fn finish(mut self) -> Timeline {
        self.note(self.whole, self.last);
        let (every, whole) = (self.every, self.whole);
        let mean = |series: usize| {
            self.sums.iter().zip(0_u64..).map(move |(sums, stretch)| {
                let millis = u128::from((whole - stretch * every).min(every).max(1));
                // Two digits are what a chart can show, and are the same everywhere.
                (sums[series] * 100 / millis) as f64 / 100.0
            })
        };
        Timeline { every_ms: every, waiting: mean(0).collect(), nodes: mean(1).collect(), busy: mean(2).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted_by_time() {
        let mut recorder = Recorder::new(1_440);
        recorder.note(0, [4, 1, 0]);
        recorder.note(3, [8, 1, 1]);
        recorder.note(9_999, [100, 100, 100]);
        let timeline = recorder.finish();
        assert_eq!((timeline.every_ms, timeline.waiting.len()), (2, 720));
        assert_eq!(timeline.waiting[..3], [4.0, 6.0, 8.0]);
        assert_eq!(timeline.busy[..3], [0.0, 0.5, 1.0]);
        assert_eq!(timeline.waiting[719], 8.0);
    }

    #[test]
    fn what_is_shorter_than_its_stretches_has_fewer() {
        let mut recorder = Recorder::new(7);
        recorder.note(0, [1, 1, 1]);
        assert_eq!(recorder.finish().nodes, [1.0; 7]);
    }
}
