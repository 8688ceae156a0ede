//! Nodes: where an agent runs, from the wish for one until the driver has confirmed that it is gone.

use serde::{Deserialize, Serialize};

use super::ids::{ClusterId, InstanceId, JobId, NodeId};
use super::resources::Resources;
use super::size::{Family, Price, SiteName, SizeName, Tier};
use crate::id::{UserId, WorkspaceId};
use crate::reason::Reason;
use crate::time::{Mono, Span, Timestamp};

/// How long a launch may take before it counts as failed.
pub const LAUNCH_LIMIT: Span = Span::minutes(10);
/// After so long without a sign the shell reports that a node is silent.
pub const SILENT_AFTER: Span = Span::seconds(30);
/// How long a silent node may come back before it counts as lost.
pub const SILENCE_LIMIT: Span = Span::seconds(90);
/// How long an emptied node may take to confirm that nothing runs on it.
pub const DRAIN_LIMIT: Span = Span::seconds(30);
/// The first pause before a driver is told again to remove a node.
pub const RELEASE_RETRY: Span = Span::seconds(15);
/// The longest such pause.
pub const RELEASE_RETRY_MOST: Span = Span::minutes(5);
/// A release that is not confirmed for so long is shown as one that needs a look.
pub const RELEASE_ALARM: Span = Span::minutes(5);

/// The longest notice that jobs get when a node is taken back.
pub const RECLAIM_GRACE_MOST: Span = Span::minutes(2);

/// What a node was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holder {
    /// It is the machine of this instance.
    Instance(InstanceId),
    /// It is one of this cluster's.
    Cluster(ClusterId),
    /// It was made for this serverless job alone.
    Job(JobId),
}

/// Where a node stands. What waits for somebody else has a deadline, by type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case")]
pub enum NodePhase {
    /// The driver makes it and its agent has not called yet.
    Launching {
        /// When the launch counts as failed.
        until: Mono,
    },
    Ready,
    /// Its agent has not been heard of for a while.
    Silent {
        /// When it counts as lost.
        until: Mono,
    },
    /// Silent for too long, but kept, since it is somebody's workstation and may come back.
    Unusable,
    /// On its way out but not yet given up: it takes no new jobs, and demand calls it back.
    Cordoned {
        why: Box<Reason>,
        /// When it is released even if its agent has not confirmed that it is empty; moved on while jobs run
        /// there.
        until: Mono,
        /// Since when its agent has not been heard of, if so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        silent: Option<Mono>,
    },
    /// Taken back for dedicated work: its jobs were told to end and go back to the queue, then it is
    /// released.
    Reclaiming {
        why: Box<Reason>,
        /// When it is released even if not all of them have ended.
        until: Mono,
    },
    /// Given up: the driver removes it. Over only when the driver confirms that it is gone.
    Releasing {
        why: Box<Reason>,
        since: Mono,
        /// When the driver is told again.
        until: Mono,
        /// How often it was told.
        tries: u32,
    },
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    pub id: NodeId,
    /// The workspace that pays.
    pub workspace: WorkspaceId,
    /// What it was made for.
    pub holder: Holder,
    /// The person whose quota it uses: the owner of the instance or of the serverless job.
    pub user: Option<UserId>,
    /// Its size, as it was when the node was made; so are the next four.
    pub size: SizeName,
    /// The family whose quota it uses.
    pub family: Family,
    /// Where it is made.
    pub site: SiteName,
    pub shape: Resources,
    /// What an hour costs.
    pub price: Price,
    /// Whether dedicated work may take it back.
    #[serde(default, skip_serializing_if = "Tier::is_dedicated")]
    pub tier: Tier,
    pub phase: NodePhase,
    /// When it was wanted first.
    pub created: Timestamp,
    /// When its agent called first; until then, when it was wanted.
    pub up: Mono,
    /// Since when nothing runs on it.
    pub idle_since: Mono,
    /// Up to when its time is in the ledger.
    pub settled: Mono,
}

impl Node {
    /// Whether it counts as one that its holder has and keeps.
    pub const fn is_live(&self) -> bool {
        !matches!(self.phase, NodePhase::Cordoned { .. } | NodePhase::Reclaiming { .. } | NodePhase::Releasing { .. })
    }

    /// Whether jobs can be put on it now.
    pub const fn takes_jobs(&self) -> bool {
        matches!(self.phase, NodePhase::Ready)
    }

    /// When its phase ends by itself.
    pub const fn deadline(&self) -> Option<Mono> {
        match self.phase {
            NodePhase::Launching { until }
            | NodePhase::Silent { until }
            | NodePhase::Cordoned { until, .. }
            | NodePhase::Reclaiming { until, .. }
            | NodePhase::Releasing { until, .. } => Some(until),
            NodePhase::Ready | NodePhase::Unusable => None,
        }
    }

    /// Moves the end of its phase on: nobody could act in the meantime.
    pub const fn put_off(&mut self, by: Span) {
        match &mut self.phase {
            NodePhase::Launching { until }
            | NodePhase::Silent { until }
            | NodePhase::Cordoned { until, .. }
            | NodePhase::Reclaiming { until, .. }
            | NodePhase::Releasing { until, .. } => *until = until.plus(by),
            NodePhase::Ready | NodePhase::Unusable => {}
        }
    }

    /// What pages and Azure's clients call its state.
    pub const fn state(&self, is_busy: bool) -> NodeState {
        match self.phase {
            NodePhase::Launching { .. } => NodeState::Preparing,
            NodePhase::Ready if is_busy => NodeState::Running,
            NodePhase::Ready => NodeState::Idle,
            NodePhase::Silent { .. } | NodePhase::Unusable => NodeState::Unusable,
            NodePhase::Reclaiming { .. } => NodeState::Preempted,
            NodePhase::Cordoned { .. } | NodePhase::Releasing { .. } => NodeState::Leaving,
        }
    }
}

/// The states of a node that people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    Preparing,
    /// Ready, without a job.
    Idle,
    Running,
    /// On its way out.
    Leaving,
    /// Nobody can talk to it.
    Unusable,
    /// Its capacity was taken back by whoever lent it.
    Preempted,
}
