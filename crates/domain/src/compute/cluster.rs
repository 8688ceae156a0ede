//! Clusters: a pool of equal nodes that follows its queue.

use serde::{Deserialize, Serialize};

use super::fair_share::QueuePolicy;
use super::ids::{ClusterId, JobId, NodeId};
use super::job::MAX_NODES;
use super::size::{ComputeName, SizeName, Tier};
use super::tags::Tags;
use crate::id::{UserId, WorkspaceId};
use crate::reason::Reason;
use crate::text::{Problem, Text};
use crate::time::{Mono, Span, Timestamp};

/// The longest time that a node may stay idle before it goes.
pub const MAX_IDLE: Span = Span::hours(24);
/// The idle time unless set otherwise.
pub const DEFAULT_IDLE: Span = Span::seconds(120);
/// The pause after the first failed launch; each further one is twice as long.
pub const LAUNCH_PAUSE: Span = Span::seconds(5);
/// The longest such pause.
pub const LAUNCH_PAUSE_MOST: Span = Span::minutes(5);
/// How many failed launches are remembered one by one.
pub const REMEMBERED_FAILURES: usize = 10;

/// How a cluster scales. What is typed into the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleSettings {
    /// The fewest nodes, kept also when nothing is queued.
    pub min: u32,
    /// The most nodes.
    pub max: u32,
    /// How long a node stays without a job.
    pub idle: Span,
    /// Idle nodes that are kept ready beyond what is needed.
    #[serde(default)]
    pub warm: u32,
}

impl ScaleSettings {
    pub fn check(self) -> Result<Self, Problem> {
        if self.max > MAX_NODES {
            return Err(Problem::new("max", format!("A cluster has at most {MAX_NODES} nodes; this is {}.", self.max)));
        }
        if self.min > self.max {
            let message = format!("The minimum of {} is above the maximum of {}.", self.min, self.max);
            return Err(Problem::new("min", message));
        }
        if self.warm > self.max {
            let message = format!("{} nodes kept ready are more than the maximum of {}.", self.warm, self.max);
            return Err(Problem::new("warm", message));
        }
        if self.idle > MAX_IDLE {
            let message = format!("Nodes stay idle for at most {MAX_IDLE}; this is {}.", self.idle);
            return Err(Problem::new("idle", message));
        }
        Ok(self)
    }
}

/// Where a cluster stands. It exists as soon as it is made: nodes come and go on their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case")]
pub enum ClusterPhase {
    /// It follows its queue.
    Active,
    /// It starts no jobs and adds no nodes; what runs goes on.
    Paused {
        by: Text,
        /// Since when; not known of pauses from before this was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Timestamp>,
    },
    /// It goes when its last node has gone.
    Deleting { by: Text },
}

/// A launch that came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedLaunch {
    pub at: Timestamp,
    /// Which node it would have been.
    pub node: NodeId,
    /// What the driver said.
    pub detail: Text,
}

/// The launches of a pool that failed since the last that did not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchTrouble {
    /// How many, one after another.
    pub failures: u32,
    pub not_before: Mono,
    pub history: Vec<FailedLaunch>,
}

impl LaunchTrouble {
    /// Adds one, and the pause after it.
    pub fn add(&mut self, failed: FailedLaunch, now: Mono) {
        // Launches that were asked for together fail together; they count once.
        if self.not_before <= now {
            self.not_before = now.plus(LAUNCH_PAUSE.doubled(self.failures, LAUNCH_PAUSE_MOST));
            self.failures = self.failures.saturating_add(1);
        }
        if self.history.len() == REMEMBERED_FAILURES {
            self.history.remove(0);
        }
        self.history.push(failed);
    }

    /// A launch has worked: the pause is over, the history stays.
    pub const fn is_over(&mut self) {
        self.failures = 0;
        self.not_before = Mono(0);
    }
}

/// A cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    pub id: ClusterId,
    pub workspace: WorkspaceId,
    pub name: ComputeName,
    pub owner: UserId,
    /// What its nodes are.
    pub size: SizeName,
    pub scale: ScaleSettings,
    /// What people note about it.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Whether dedicated work may take its nodes back.
    #[serde(default, skip_serializing_if = "Tier::is_dedicated")]
    pub tier: Tier,
    /// How its queue is served.
    #[serde(default = "QueuePolicy::plain")]
    pub queue: QueuePolicy,
    /// The minimum that a schedule has set, in place of its own.
    pub scheduled_min: Option<u32>,
    pub phase: ClusterPhase,
    /// When it was made.
    pub created: Timestamp,
    /// When somebody last changed how it scales.
    pub manual_at: Option<Timestamp>,
    pub trouble: LaunchTrouble,
    /// Until when it asks for no nodes for its queue, because others wait for those that it kept waiting in
    /// vain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yields_until: Option<Mono>,
    /// Whether its jobs are so short that nodes get the next ones ahead of time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_quick: bool,
    /// Whether they are over at once, so that nodes get many more ahead of time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_instant: bool,
    /// The waiting job up to which was last looked for one that may start before others, if the queue is too
    /// long to look at all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backfill_from: Option<JobId>,
    /// The number of nodes it goes for, and why; changes only when the plan does.
    pub plan: Plan,
}

/// How many nodes a cluster goes for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub target: u32,
    /// Why not more, or why it is not there yet.
    pub why: Option<Box<Reason>>,
}

impl Cluster {
    /// The minimum that counts now.
    pub fn min(&self) -> u32 {
        match self.phase {
            ClusterPhase::Active => self.scheduled_min.unwrap_or(self.scale.min).min(self.scale.max),
            ClusterPhase::Paused { .. } | ClusterPhase::Deleting { .. } => 0,
        }
    }

    /// Whether it leaves room to others at that instant.
    pub fn yields(&self, now: Mono) -> bool {
        self.yields_until.is_some_and(|until| now < until)
    }

    /// Whether jobs may be started and nodes added.
    pub const fn is_active(&self) -> bool {
        matches!(self.phase, ClusterPhase::Active)
    }
}
