//! How a start went, step by step: the waterfall that people see.

use serde::{Deserialize, Serialize};

use crate::time::{Mono, Span, Timestamp};

/// How far a start got when. Spans count from the wish, on the clock that only goes forward.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartTimes {
    /// Of which operation; what earlier ones still say does not count.
    pub generation: u64,
    /// When it was wished, for people.
    pub at: Timestamp,
    /// The same on the clock that only goes forward.
    pub since: Mono,
    /// A node was asked for: quota and room were there.
    pub launched: Option<Span>,
    /// The node's agent called.
    pub node_up: Option<Span>,
    /// The environment was there.
    pub set_up: Option<Span>,
    /// The scripts had ended, or there were none.
    pub scripted: Option<Span>,
    /// All standard applications had answered.
    pub healthy: Option<Span>,
    /// It came to nothing then.
    pub failed: Option<Span>,
}

crate::keyed_enum! {
    /// A step of a start.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum StartStep {
        /// Waiting for quota and room.
        Queue = "queue", "Queue";
        /// A node is made.
        Allocate = "allocate", "Allocate";
        /// Its environment is made.
        Environment = "environment", "Environment";
        /// The person's scripts run.
        Setup = "setup", "Setup";
        Health = "health", "Health";
    }
}

/// One row of the waterfall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    pub step: StartStep,
    /// How long after the wish it began.
    pub after: Span,
    /// How long it took, or has taken so far.
    pub took: Span,
    /// Whether it goes on.
    pub is_running: bool,
}

impl StartTimes {
    /// A start that is wished now.
    pub const fn new(generation: u64, at: Timestamp, since: Mono) -> Self {
        Self {
            generation,
            at,
            since,
            launched: None,
            node_up: None,
            set_up: None,
            scripted: None,
            healthy: None,
            failed: None,
        }
    }

    /// A start on a node that is there already.
    pub const fn on_its_node(generation: u64, at: Timestamp, since: Mono) -> Self {
        Self { launched: Some(Span::ZERO), node_up: Some(Span::ZERO), ..Self::new(generation, at, since) }
    }

    /// The steps that have begun, in order, as of that instant.
    pub fn waterfall(&self, now: Timestamp) -> Vec<Bar> {
        let ends = [self.launched, self.node_up, self.set_up, self.scripted, self.healthy];
        let mut bars = Vec::new();
        let mut after = Span::ZERO;
        for (step, end) in StartStep::ALL.into_iter().zip(ends) {
            if let Some(end) = end {
                bars.push(Bar { step, after, took: end.minus(after), is_running: false });
                after = end;
                continue;
            }
            let end = self.failed.unwrap_or_else(|| now.since(self.at));
            bars.push(Bar { step, after, took: end.minus(after), is_running: self.failed.is_none() });
            break;
        }
        bars
    }

    /// How long it took from the wish until it could be used.
    pub const fn took(&self) -> Option<Span> {
        self.scripted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(times: &StartTimes, now: i64) -> Vec<String> {
        let say = |bar: &Bar| {
            let more = if bar.is_running { " so far" } else { "" };
            format!("{} after {}: {}{more}", bar.step.key(), bar.after, bar.took)
        };
        times.waterfall(Timestamp(now)).iter().map(say).collect()
    }

    #[test]
    fn the_steps_follow_each_other_and_the_last_goes_on() {
        let mut times = StartTimes::new(2, Timestamp(1_000), Mono(50));
        assert_eq!(said(&times, 4_000), ["queue after 0 s: 3 s so far"]);
        times.launched = Some(Span::seconds(3));
        times.node_up = Some(Span::seconds(5));
        assert_eq!(
            said(&times, 7_000),
            ["queue after 0 s: 3 s", "allocate after 3 s: 2 s", "environment after 5 s: 1 s so far"]
        );
        // A wall clock that was set back gives no negative time.
        assert_eq!(said(&times, 0).last().map(String::as_str), Some("environment after 5 s: 0 s so far"));
        times.set_up = Some(Span::seconds(6));
        times.scripted = Some(Span::seconds(9));
        times.healthy = Some(Span::seconds(10));
        assert_eq!(
            said(&times, 99_000)[2..],
            ["environment after 5 s: 1 s", "setup after 6 s: 3 s", "health after 9 s: 1 s"]
        );
    }

    #[test]
    fn a_start_that_failed_does_not_go_on() {
        let mut times = StartTimes::on_its_node(3, Timestamp(0), Mono(0));
        times.failed = Some(Span::seconds(4));
        assert_eq!(
            said(&times, 60_000),
            ["queue after 0 s: 0 s", "allocate after 0 s: 0 s", "environment after 0 s: 4 s"]
        );
    }
}
