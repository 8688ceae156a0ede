//! What a schedule does, to what, and how many of them one thing may have.

use serde::{Deserialize, Serialize};

use crate::text::{Problem, counted};

/// Schedules that one instance or cluster may have. Azure stops at 4, which a week with two different days uses up.
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
    /// Starts the instance.
    Start,
    /// Stops the instance.
    Stop,
    /// Sets the fewest nodes that the cluster keeps.
    MinNodes(u32),
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

    /// Which of two actions at the same instant counts: the one that keeps more running. A window that ends at midnight
    /// and one that begins there are then one window.
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
