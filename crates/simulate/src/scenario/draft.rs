//! A scenario as it is written down, before anybody has looked at it. Each field is plain text or a number,
//! so that all that is wrong can be said at once and with the field's own name.

use serde::{Deserialize, Serialize};

/// A whole scenario: one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// What it is called.
    pub name: String,
    /// What it shows, in a sentence.
    #[serde(default)]
    pub about: String,
    /// Where all luck comes from; another number is another run of the same week.
    #[serde(default = "one")]
    pub seed: u64,
    /// The zone of every local time that has none of its own; UTC if nobody says.
    pub zone: Option<String>,
    /// When it begins, in that zone: `2026-03-02T00:00`. With a history: its first job, if nobody says.
    pub start: Option<String>,
    /// For how long people submit. With a history: up to its last job, if nobody says.
    pub length: Option<String>,
    /// For how long the work goes on after that; not at all if nobody says.
    pub wind_down: Option<String>,
    /// Everything happens at multiples of this; 1 ms if nobody says. A coarser one is faster.
    pub tick: Option<String>,
    /// The most that may happen under one policy.
    pub max_events: Option<u64>,
    /// The currency of prices, three capitals; EUR if nobody says.
    pub currency: Option<String>,
    /// Where nodes are made.
    #[serde(default)]
    pub site: Vec<SiteDraft>,
    #[serde(default)]
    pub size: Vec<SizeDraft>,
    #[serde(default)]
    pub cluster: Vec<ClusterDraft>,
    #[serde(default)]
    pub people: Vec<PeopleDraft>,
    #[serde(default)]
    pub jobs: Vec<JobsDraft>,
    /// What was submitted once, to be played again.
    pub history: Option<HistoryDraft>,
    /// What is compared; the clusters as they are if there is none.
    #[serde(default)]
    pub policy: Vec<PolicyDraft>,
}

const fn one() -> u64 {
    1
}

/// A place where nodes are made, and how well that goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteDraft {
    pub name: String,
    /// The cores of all its nodes together; no end of them if nobody says. So for the next two.
    pub cores: Option<f64>,
    pub memory_gib: Option<f64>,
    pub gpus: Option<u64>,
    /// How long a launch takes: `90 s` or `60 s to 2 min`.
    pub launch: Option<String>,
    /// How long it takes to remove a node.
    pub removal: Option<String>,
    /// The share of launches that come to nothing, from 0 to 1.
    pub failed_launches: Option<f64>,
    /// The chance that a node dies in an hour, from 0 to 0.99.
    pub lost_per_hour: Option<f64>,
    /// The chance that a node is taken back in an hour, from 0 to 0.99.
    pub preempted_per_hour: Option<f64>,
}

/// A size. What it says of launches and losses counts in place of what its site says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeDraft {
    pub name: String,
    /// Its family; `general` if nobody says.
    pub family: Option<String>,
    /// Where its nodes are made.
    pub site: String,
    /// The cores of a node.
    pub cores: f64,
    pub memory_gib: f64,
    #[serde(default)]
    pub gpus: u64,
    /// What an hour costs.
    #[serde(default)]
    pub price: f64,
    /// See [`SiteDraft::launch`].
    pub launch: Option<String>,
    /// See [`SiteDraft::removal`].
    pub removal: Option<String>,
    /// See [`SiteDraft::failed_launches`].
    pub failed_launches: Option<f64>,
    /// See [`SiteDraft::lost_per_hour`].
    pub lost_per_hour: Option<f64>,
    /// See [`SiteDraft::preempted_per_hour`].
    pub preempted_per_hour: Option<f64>,
}

/// A cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterDraft {
    pub name: String,
    /// What its nodes are.
    pub size: String,
    /// The fewest nodes; 0 if nobody says.
    pub min: Option<u32>,
    /// The most nodes.
    pub max: u32,
    /// How long a node stays without a job; as in the product if nobody says.
    pub idle: Option<String>,
    /// Who goes first: `fifo` or `fair-share`.
    pub order: Option<String>,
    /// Whether small jobs may pass a large one that waits.
    pub backfill: Option<bool>,
    /// Idle nodes that are kept ready beyond what is needed; none if nobody says.
    pub warm: Option<u32>,
    /// Another minimum at some hours.
    pub scheduled_min: Option<ScheduledMinDraft>,
}

/// A minimum that a schedule sets at some hours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduledMinDraft {
    pub nodes: u32,
    /// On these days: `mon` … `sun`; Monday to Friday if nobody says.
    pub days: Option<Vec<String>>,
    /// From this time of day.
    pub from: String,
    /// Until this one; one that is earlier means the next day.
    pub to: String,
    /// In this zone; the scenario's if nobody says.
    pub zone: Option<String>,
}

/// One person, or several alike.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeopleDraft {
    /// Their name; several get numbers: `team-1`, `team-2`.
    pub name: String,
    /// How many; one if nobody says.
    pub count: Option<u32>,
    /// Each one's share where the order is `fair-share`, beside those of others: 1 to 1000, and 100 if nobody
    /// says.
    pub weight: Option<i64>,
}

/// Hours in which something happens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HoursDraft {
    /// On these days: `mon` … `sun`; Monday to Friday if nobody says.
    pub days: Option<Vec<String>>,
    /// From this time of day.
    pub from: String,
    /// Until this one; one that is earlier means the next day.
    pub to: String,
    /// In this zone; the scenario's if nobody says.
    pub zone: Option<String>,
}

/// How long jobs run: one of the four kinds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunsDraft {
    pub fixed: Option<String>,
    /// Anything between two: `10 s to 2 min`.
    pub uniform: Option<String>,
    /// Many short and few long ones, with this mean.
    pub exponential: Option<String>,
    /// As jobs of people mostly are: half of them are below this median.
    pub lognormal: Option<String>,
    /// How wide the last kind is: 0.5 is narrow, 1.5 has a long tail.
    pub spread: Option<f64>,
    /// None runs longer than this.
    pub most: Option<String>,
}

/// What people submit again and again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobsDraft {
    /// What they are called.
    pub name: String,
    /// Who submits them: names of `people`; everybody if nobody says.
    pub people: Option<Vec<String>>,
    /// How often each of them does so in an hour, on average.
    pub per_hour: f64,
    /// In which hours; at any if nobody says.
    pub hours: Option<HoursDraft>,
    pub cluster: Option<String>,
    /// Or, without a cluster, on nodes of this size of their own.
    pub size: Option<String>,
    /// How many jobs each submission has; one if nobody says.
    pub array: Option<u32>,
    /// If given: any number between `array` and this.
    pub array_most: Option<u32>,
    /// How long each runs.
    pub runs: RunsDraft,
    /// The cores of each of its nodes; 1 if nobody says.
    pub cores: Option<f64>,
    /// The memory; 1 GiB if nobody says.
    pub memory_gib: Option<f64>,
    /// The GPUs; none if nobody says.
    pub gpus: Option<u64>,
    /// On how many nodes at once; 1 if nobody says.
    pub nodes: Option<u32>,
    /// How long it may run.
    pub time_limit: Option<String>,
    /// `low`, `medium` or `high`; medium if nobody says.
    pub priority: Option<String>,
    /// How often it is tried again after it lost a node or failed; not at all if nobody says.
    pub retries: Option<u32>,
    /// The share of attempts that fail by themselves, from 0 to 1.
    pub fails: Option<f64>,
}

/// What was submitted once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryDraft {
    /// The file with its jobs, one JSON object in each line; beside the scenario.
    pub file: String,
    /// The cluster to which all of them go, whatever they say themselves.
    pub cluster: Option<String>,
}

/// One of the things that are compared: changed settings, of all clusters or of some.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyDraft {
    pub name: String,
    /// See [`ClusterDraft::min`]; so for the others. What is not given stays as the cluster has it.
    pub min: Option<u32>,
    /// The most nodes.
    pub max: Option<u32>,
    /// How long a node stays without a job.
    pub idle: Option<String>,
    pub order: Option<String>,
    /// Whether small jobs may pass.
    pub backfill: Option<bool>,
    /// Idle nodes that are kept ready beyond what is needed; none if nobody says.
    pub warm: Option<u32>,
    /// Another minimum at some hours.
    pub scheduled_min: Option<ScheduledMinDraft>,
    /// What differs for single clusters.
    #[serde(default)]
    pub cluster: Vec<PolicyClusterDraft>,
}

/// What a policy changes of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyClusterDraft {
    pub name: String,
    pub min: Option<u32>,
    /// The most nodes.
    pub max: Option<u32>,
    /// How long a node stays without a job.
    pub idle: Option<String>,
    pub order: Option<String>,
    /// Whether small jobs may pass.
    pub backfill: Option<bool>,
    /// Idle nodes that are kept ready beyond what is needed; none if nobody says.
    pub warm: Option<u32>,
    /// Another minimum at some hours.
    pub scheduled_min: Option<ScheduledMinDraft>,
}
