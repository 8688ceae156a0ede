//! What is known of a selection.

use atelier_domain::world::Charge;
use jiff::civil::Date;

use crate::cost::saved::Saved;

atelier_domain::keyed_enum! {
    /// What a row is about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
    pub enum Kind {
        Instance = "instance";
        Cluster = "cluster";
        /// All serverless jobs together.
        Serverless = "serverless";
        Person = "person";
        Job = "job";
        /// Time of nodes on which no job ran.
        NoJob = "no-job";
        /// Something that is not there any more; its id is its name.
        Deleted = "deleted";
    }
}

/// One row: what, and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpendingRow {
    /// Its id; empty for time without a job.
    pub key: String,
    pub kind: Kind,
    pub name: String,
    pub charge: Charge,
}

/// All that is not listed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    pub count: usize,
    pub charge: Charge,
}

/// One day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DaySum {
    pub date: Date,
    pub charge: Charge,
}

/// One colour of the chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    pub name: String,
    /// What each day cost, in billionths of the currency.
    pub days: Vec<u64>,
}

/// What a selection cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spending {
    /// Whether only what the caller pays is in it, since the right reaches no further.
    pub is_own: bool,
    pub total: Charge,
    /// What an hour costs as things are now, in billionths of the currency.
    pub per_hour: u64,
    pub nodes: usize,
    pub days: Vec<DaySum>,
    /// The dearest first; none if asked for by day.
    pub rows: Vec<SpendingRow>,
    pub rest: Option<Rest>,
    /// The same for the chart.
    pub series: Vec<Series>,
    /// What instances saved by being off; nothing if there are none.
    pub saved: Option<Saved>,
}
