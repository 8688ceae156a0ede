//! What a schedule does, to what, and how many of them one thing may have.

use serde::{Deserialize, Serialize};

use crate::text::{Problem, counted};
use crate::time::Span;

/// Schedules that one instance or cluster may have. Azure stops at 4, which a week with two different days
/// uses up.
pub const MAX_PER_TARGET: usize = 16;

/// The kinds of things that have schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// A workstation, which starts and stops.
    Instance,
    /// A cluster, which keeps nodes ready.
    Cluster,
}

/// What happens when a schedule fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Start,
    Stop,
    /// Sets the fewest nodes that the cluster keeps.
    MinNodes(u32),
}

/// The longest time that a stop waits for running jobs.
pub const MAX_DRAIN: Span = Span::hours(24);

/// What a stop does to jobs that run on the instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopJobs {
    #[default]
    Now,
    /// It waits for them, so long at most; no others are started meanwhile.
    Drain(Span),
    /// While jobs run the stop is left out.
    Skip,
}

impl StopJobs {
    /// The name in forms and in the API.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Drain(_) => "drain",
            Self::Skip => "skip",
        }
    }

    /// Whether it is what is done unless somebody says otherwise.
    pub const fn is_now(&self) -> bool {
        matches!(self, Self::Now)
    }

    /// Refuses to wait for no time, or for more than a day.
    pub fn check(self) -> Result<(), Problem> {
        match self {
            Self::Drain(span) if span < Span::minutes(1) || span > MAX_DRAIN => Err(Problem::new(
                "drain",
                format!("A stop waits for jobs between 1 min and {MAX_DRAIN}; this is {span}."),
            )),
            Self::Now | Self::Drain(_) | Self::Skip => Ok(()),
        }
    }

    /// The end of a schedule's sentence; nothing for the usual.
    pub fn phrase(self) -> String {
        match self {
            Self::Now => String::new(),
            Self::Drain(span) => format!("; waits up to {span} for jobs"),
            Self::Skip => "; not while jobs run".into(),
        }
    }
}

impl Action {
    /// The name in the store and in the API.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::MinNodes(_) => "min-nodes",
        }
    }

    /// The thing it is for.
    pub const fn target(self) -> Target {
        match self {
            Self::Start | Self::Stop => Target::Instance,
            Self::MinNodes(_) => Target::Cluster,
        }
    }

    /// What it does, as the start of a sentence: `Start`, `Set the minimum to 4 nodes`.
    pub fn phrase(self) -> String {
        match self {
            Self::Start => "Start".into(),
            Self::Stop => "Stop".into(),
            Self::MinNodes(nodes) => format!("Set the minimum to {}", counted(u64::from(nodes), "node", "nodes")),
        }
    }

    /// Which of two actions at the same instant counts: the one that keeps more running. A window that ends
    /// at midnight and one that begins there are then one window.
    pub const fn rank(self) -> u32 {
        match self {
            Self::Stop => 0,
            Self::Start => 1,
            Self::MinNodes(nodes) => nodes,
        }
    }

    /// Refuses an action on the wrong kind of thing.
    pub fn check(self, target: Target) -> Result<(), Problem> {
        if self.target() == target {
            return Ok(());
        }
        let allowed = match target {
            Target::Instance => "An instance has schedules to start and to stop; a minimum of nodes is for clusters.",
            Target::Cluster => {
                "A cluster has schedules for its minimum of nodes; it starts and stops its nodes by itself."
            }
        };
        Err(Problem::new("action", allowed))
    }
}

/// Whether something that has `count` schedules may get one more.
pub fn judge_one_more(count: usize) -> Result<(), Problem> {
    if count < MAX_PER_TARGET {
        return Ok(());
    }
    Err(Problem::new(
        "schedules",
        format!(
            "There are {count} schedules already and {MAX_PER_TARGET} are allowed. Delete one, or join two: one \
             schedule may have several days, hours and minutes."
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seventeenth_schedule_is_refused_with_the_numbers() {
        assert_eq!(judge_one_more(15), Ok(()));
        let message = judge_one_more(16).unwrap_err().message;
        assert!(message.contains("16 schedules already and 16 are allowed"), "{message}");
    }

    #[test]
    fn actions_suit_their_targets_only() {
        for action in [Action::Start, Action::Stop, Action::MinNodes(3)] {
            for target in [Target::Instance, Target::Cluster] {
                assert_eq!(action.check(target).is_ok(), action.target() == target);
            }
        }
    }
}
