//! Quotas: how much of a thing may be held at once, by a workspace and by a person.
//!
//! The three answers to "there is not enough": too little for so many, so few would fit; none at all, these
//! other sizes would do; enough in all but in use, so it waits. A quota is a limit, never a promise of
//! capacity.

use serde::{Deserialize, Serialize};

use super::ids::{ClusterId, InstanceId};
use super::resources::Cores;
use super::size::Family;
use crate::id::{UserId, WorkspaceId};
use crate::text::counted;

/// What is limited.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Thousandths of cores of one family.
    Cores(Family),
    /// GPUs of all families.
    Gpus,
    Computes,
    /// Jobs of one person that run at once, on clusters and serverless nodes; so for the next two.
    RunningJobs,
    /// Thousandths of cores that they have in all.
    RunningCores,
    /// GPUs that they have in all.
    RunningGpus,
}

impl Resource {
    /// All that is not divided by families.
    pub const UNDIVIDED: [Self; 5] =
        [Self::Gpus, Self::Computes, Self::RunningJobs, Self::RunningCores, Self::RunningGpus];
    /// What is limited of one person's running jobs.
    pub const RUNNING: [Self; 3] = [Self::RunningJobs, Self::RunningCores, Self::RunningGpus];

    /// Whether it is about what one person has running.
    pub const fn is_running(&self) -> bool {
        matches!(self, Self::RunningJobs | Self::RunningCores | Self::RunningGpus)
    }

    /// Whether amounts of it are thousandths of cores.
    pub const fn is_in_cores(&self) -> bool {
        matches!(self, Self::Cores(_) | Self::RunningCores)
    }

    /// The name in forms and in the API; the family comes apart.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Cores(_) => "cores",
            Self::Gpus => "gpus",
            Self::Computes => "computes",
            Self::RunningJobs => "running-jobs",
            Self::RunningCores => "running-cores",
            Self::RunningGpus => "running-gpus",
        }
    }

    /// What it is, within a sentence.
    pub fn said(&self) -> String {
        match self {
            Self::Cores(family) => format!("cores of the family {family}"),
            Self::Gpus => "GPUs".into(),
            Self::Computes => "computes".into(),
            Self::RunningJobs => "running jobs".into(),
            Self::RunningCores => "cores of running jobs".into(),
            Self::RunningGpus => "GPUs of running jobs".into(),
        }
    }

    /// An amount of it, for people.
    pub fn amount(&self, amount: u64) -> String {
        match self {
            Self::Cores(family) => format!("{} of the family {family}", Cores(amount)),
            Self::Gpus => counted(amount, "GPU", "GPUs"),
            Self::Computes => counted(amount, "compute", "computes"),
            Self::RunningJobs => counted(amount, "running job", "running jobs"),
            Self::RunningCores => format!("{} of running jobs", Cores(amount)),
            Self::RunningGpus => format!("{} of running jobs", counted(amount, "GPU", "GPUs")),
        }
    }
}

/// Whose limit it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All in the workspace together.
    Workspace,
    /// Everybody who has no limit of their own.
    Everybody,
    Person(UserId),
}

impl Scope {
    /// The name in forms and in the API.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::Everybody => "everybody",
            Self::Person(_) => "person",
        }
    }
}

/// One limit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LimitKey {
    pub workspace: WorkspaceId,
    pub scope: Scope,
    pub resource: Resource,
}

/// What is held is counted for a workspace and for each person in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UseKey {
    pub workspace: WorkspaceId,
    /// By whom; nobody means the workspace as a whole.
    pub person: Option<UserId>,
    pub resource: Resource,
}

/// What holds a part of a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuotaHolder {
    Instance(InstanceId),
    Cluster(ClusterId),
    /// The nodes of serverless jobs.
    Serverless,
}

/// One holder and its amount, by name, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The name of the instance or cluster, or "serverless jobs".
    pub by: String,
    pub amount: u64,
}

/// A quota that does not suffice, with all its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortage {
    pub resource: Resource,
    /// Whose limit; false means the workspace's.
    pub is_personal: bool,
    /// What is asked for.
    pub needed: u64,
    pub used: u64,
    /// What may be held.
    pub limit: u64,
    pub held_by: Vec<Held>,
}

impl Shortage {
    /// What is needed and what the limit is:
    /// `4 cores of the family general needed; the workspace’s limit is 2`.
    pub fn limits(&self) -> String {
        let whose = if self.is_personal { "the owner’s limit" } else { "the workspace’s limit" };
        format!("{} needed; {whose} is {}", self.resource.amount(self.needed), plain_count(&self.resource, self.limit))
    }

    /// What is in use and by what: `30 are in use: 24 by train-pool, 6 by ines-lab`.
    pub fn in_use(&self) -> String {
        let count = plain_count(&self.resource, self.used);
        let verb = if count == "1" { "is" } else { "are" };
        let held: Vec<String> = self
            .held_by
            .iter()
            .filter(|held| held.amount > 0)
            .map(|held| format!("{} by {}", plain_count(&self.resource, held.amount), held.by))
            .collect();
        let held = if held.is_empty() { String::new() } else { format!(": {}", held.join(", ")) };
        format!("{count} {verb} in use{held}")
    }

    pub fn sentence(&self) -> String {
        format!("{}, and {}", self.limits(), self.in_use())
    }
}

/// The number without its noun.
fn plain_count(resource: &Resource, amount: u64) -> String {
    match resource {
        Resource::Cores(_) | Resource::RunningCores => {
            let text = Cores(amount).to_string();
            text.split(' ').next().unwrap_or_default().to_owned()
        }
        Resource::Gpus | Resource::Computes | Resource::RunningJobs | Resource::RunningGpus => amount.to_string(),
    }
}
