//! How jobs are told apart in lists: by groups of states, and by where they run.

use atelier_domain::compute::job::{JobState, Target};
use atelier_domain::world::World;

/// What the list is narrowed to with one click.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateTab {
    /// Those that wait.
    Queued,
    /// Those that are somewhere between the queue and their end.
    Running,
    /// Those that ended well.
    Completed,
    /// Those that ended otherwise.
    Failed,
    /// Those that were cancelled.
    Cancelled,
}

impl StateTab {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];

    /// The name in the URL.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "canceled",
        }
    }

    /// The word.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Queued => "Queued",
            Self::Running => "Running",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
            Self::Cancelled => "Cancelled",
        }
    }

    /// Reads the URL.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tab| tab.key() == key)
    }

    /// The states under it.
    pub const fn states(self) -> &'static [JobState] {
        match self {
            Self::Queued => &[JobState::Queued],
            Self::Running => &[
                JobState::Starting,
                JobState::Running,
                JobState::Finalizing,
                JobState::CancelRequested,
                JobState::NotResponding,
            ],
            Self::Completed => &[JobState::Completed],
            Self::Failed => &[JobState::Failed],
            Self::Cancelled => &[JobState::Cancelled],
        }
    }
}

/// On what a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compute {
    /// A cluster that exists, by name.
    Cluster(String),
    /// An instance that exists, by name.
    Instance(String),
    /// Nodes of its own, of that size.
    Serverless(String),
    /// Something that is no more, by its id.
    Gone(String),
}

impl Compute {
    /// In words.
    pub fn label(&self) -> String {
        match self {
            Self::Cluster(name) | Self::Instance(name) => name.clone(),
            Self::Serverless(size) => format!("serverless, {size}"),
            Self::Gone(id) => format!("{id}, deleted"),
        }
    }

    /// What the World says about a target.
    pub fn of(world: &World, target: &Target) -> Self {
        match target {
            Target::Cluster(id) => {
                world.cluster(*id).map_or_else(|| Self::Gone(id.to_string()), |it| Self::Cluster(it.name.to_string()))
            }
            Target::Instance(id) => {
                world.instance(*id).map_or_else(|| Self::Gone(id.to_string()), |it| Self::Instance(it.name.to_string()))
            }
            Target::Serverless(size) => Self::Serverless(size.to_string()),
        }
    }
}
