//! A stop that is to come: the warning before it, and what people did about it.

use serde::{Deserialize, Serialize};

use super::ids::ScheduleId;
use crate::schedule::StopJobs;
use crate::text::Text;
use crate::time::{Mono, Span, Timestamp};

/// How long before a scheduled stop people are warned.
pub const STOP_WARNING: Span = Span::minutes(15);
/// How far ahead of now a stop can be put off.
pub const MAX_POSTPONE: Span = Span::hours(24);

/// Why an instance is going to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopWhy {
    /// A schedule's time comes, or has come and jobs are waited for.
    Schedule(ScheduleId),
    /// Somebody put a scheduled stop off until then.
    Postponed,
    /// Nothing that counts happens.
    Idle,
}

/// A stop that was announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopNotice {
    pub at: Timestamp,
    pub why: StopWhy,
}

/// Somebody keeps an instance running over its scheduled stops.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Postponed {
    /// Until then; it is stopped at that time.
    pub until: Timestamp,
    pub by: Text,
    /// What the stop does to running jobs, as the one in whose place it comes would have done.
    #[serde(default)]
    pub jobs: StopJobs,
}

/// A stop that waits for running jobs. No others are started meanwhile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draining {
    /// It stops then, whatever runs.
    pub until: Mono,
    /// The same for people.
    pub at: Timestamp,
    /// How long it waits in all.
    pub limit: Span,
    /// What set it off.
    pub why: StopWhy,
    /// Which schedule, in words.
    pub schedule: String,
}
