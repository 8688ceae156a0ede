//! What came out: the policies side by side, for people, for machines and as a picture.

mod svg;
mod table;

use std::collections::BTreeMap;

use atelier_domain::time::{Span, Timestamp};
use serde::Serialize;

use crate::histogram::PERCENTILE_ERROR_PERCENT;
use crate::run::Timeline;
use crate::scenario::Scenario;

/// The report on a scenario. Its JSON has the same keys in the same order for ever; new ones come at the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// What the scenario is called.
    pub scenario: String,
    pub about: String,
    /// Where its luck came from.
    pub seed: u64,
    /// The zone of its times.
    pub zone: String,
    pub start: Timestamp,
    pub end: Timestamp,
    /// The currency of cost.
    pub currency: String,
    /// Recorded jobs that are not of its time.
    pub left_out: u64,
    /// How far percentiles may be off, in percent of themselves.
    pub percentile_error_percent: f64,
    /// The policies, in the order of the scenario.
    pub policies: Vec<PolicyReport>,
    /// When it began and ended, as a clock of its zone shows it.
    #[serde(skip)]
    pub(crate) shown: (String, String),
}

/// What came out under one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyReport {
    pub name: String,
    /// What it changes, in words.
    pub changes: Vec<String>,
    /// How long jobs waited until they began for the first time.
    pub waits: Waits,
    /// The part of the paid core time in which jobs had the cores, from 0 to 1.
    pub utilisation: f64,
    /// The same of GPUs, where there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_utilisation: Option<f64>,
    /// Hours of nodes, from the wish for each until it was gone.
    pub node_hours: f64,
    /// Hours of cores in which jobs had them.
    pub core_hours: f64,
    /// What the nodes cost.
    pub cost: f64,
    /// Of that: while no job ran on them.
    pub idle_cost: f64,
    /// Jobs by what became of them.
    pub jobs: Jobs,
    /// Jobs that the core did not take, by reason.
    pub refusals: BTreeMap<String, u64>,
    /// Nodes by what became of them.
    pub nodes: Nodes,
    /// The most jobs that waited at once.
    pub peak_waiting: u64,
    /// What the core decided, by reason.
    pub decisions: BTreeMap<String, u64>,
    /// Everybody who submitted something.
    pub people: Vec<PersonReport>,
    /// What there was over time.
    pub timeline: Timeline,
}

/// How long jobs waited, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Of how many jobs: those that began.
    pub count: u64,
    pub mean_ms: u64,
    /// Half of them no longer than this.
    pub median_ms: u64,
    /// Nine of ten no longer than this.
    pub p90_ms: u64,
    /// 99 of 100 no longer than this.
    pub p99_ms: u64,
    pub max_ms: u64,
}

/// Jobs by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Jobs {
    /// Taken by the core.
    pub submitted: u64,
    /// Not taken.
    pub refused: u64,
    pub completed: u64,
    /// Ended with an error of their own.
    pub failed: u64,
    /// Ran longer than they may.
    pub timed_out: u64,
    /// Ended because a node was lost.
    pub lost: u64,
    /// Ended because a node was taken back.
    pub preempted: u64,
    /// Attempts that were followed by another.
    pub tried_again: u64,
    /// Not over at the end, and running.
    pub still_running: u64,
    /// Not over at the end, and waiting.
    pub still_waiting: u64,
    /// For how long the longest of these had waited.
    pub longest_still_waiting_ms: u64,
}

/// Nodes by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Nodes {
    /// The most at once.
    pub peak: u64,
    /// Launches that were asked for.
    pub launches: u64,
    /// Of these: came to nothing.
    pub failed_launches: u64,
    pub lost: u64,
    pub preempted: u64,
}

/// What came out for one person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PersonReport {
    pub name: String,
    /// Their share where the order is by shares.
    pub weight: i64,
    pub jobs: u64,
    /// Of these: ended well.
    pub completed: u64,
    /// Hours of cores that their jobs had.
    pub core_hours: f64,
    /// What nodes cost while their jobs ran on them.
    pub cost: f64,
    /// How long their jobs waited.
    pub waits: Waits,
}

impl Report {
    pub(crate) fn new(scenario: &Scenario, policies: Vec<PolicyReport>) -> Self {
        let end = scenario.start.plus(Span::millis(scenario.whole));
        let shown = |at| scenario.zone.local(at).to_string();
        Self {
            scenario: scenario.name.clone(),
            about: scenario.about.clone(),
            seed: scenario.seed,
            zone: scenario.zone.as_str().to_owned(),
            start: scenario.start,
            end,
            currency: scenario.currency.clone(),
            left_out: scenario.left_out,
            percentile_error_percent: PERCENTILE_ERROR_PERCENT,
            policies,
            shown: (shown(scenario.start), shown(end)),
        }
    }

    /// For machines: one JSON object on one line.
    pub fn to_json(&self) -> String {
        // Text, numbers and maps with text keys: this cannot fail.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    /// For terminals: a row for each figure, a column for each policy.
    pub fn table(&self) -> String {
        table::table(self)
    }

    /// A picture that stands for itself: waiting jobs of all policies over time, and the nodes of each.
    pub fn svg(&self) -> String {
        svg::svg(self)
    }
}

/// A part of a whole with four digits; nothing of nothing is nothing.
pub(crate) fn ratio(part: u128, whole: u128) -> f64 {
    (part * 10_000).checked_div(whole).unwrap_or(0) as f64 / 10_000.0
}
