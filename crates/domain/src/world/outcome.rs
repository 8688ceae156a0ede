//! What comes out of a step: what changed, what to do, what to answer, what to write down.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::arrays::EndedRest;
use super::input::AllocationKey;
use crate::compute::budget::BudgetKey;
use crate::compute::job::{ArrayPlace, Job, Verdict};
use crate::compute::node::Holder;
use crate::compute::quota::LimitKey;
use crate::compute::script::ScriptRun;
use crate::compute::size::{ComputeName, SiteName, SizeName};
use crate::compute::{ClusterId, InstanceId, JobId, NodeId, Resources, ScheduleId};
use crate::environment::EnvironmentHash;
use crate::id::{UserId, WorkspaceId};
use crate::reason::Reason;
use crate::time::{Mono, Span, Timestamp};

/// The name of one record of the World: what the store keeps a row for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Key {
    /// Counters, the pause, how far schedules were looked at.
    State,
    /// A place where nodes are made.
    Site(SiteName),
    Size(SizeName),
    Limit(LimitKey),
    /// What a workspace demands of idle shutdown.
    IdleRules(WorkspaceId),
    Budget(BudgetKey),
    /// How use fades in a workspace.
    #[serde(rename = "share-rules")]
    FairShareRules(WorkspaceId),
    /// A person’s share in a workspace.
    #[serde(rename = "share")]
    FairShare(WorkspaceId, UserId),
    Instance(InstanceId),
    Cluster(ClusterId),
    Node(NodeId),
    Job(JobId),
    /// An array, by its first job.
    Array(JobId),
    Schedule(ScheduleId),
    /// Something found and not known.
    Unknown(SiteName, String),
}

/// What somebody else is to do. Every effect may be told twice; the ids in it fence what is old.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// A driver makes a node.
    Launch { node: NodeId, site: SiteName, size: SizeName, shape: Resources, holder: Holder },
    /// An agent takes no more work and says when nothing runs.
    Drain { node: NodeId },
    /// An agent takes work again.
    Undrain { node: NodeId },
    /// A driver removes a node.
    Terminate { node: NodeId, site: SiteName },
    /// A driver removes something that was found and is not known.
    TerminateUnknown {
        site: SiteName,
        /// What the driver calls it.
        name: String,
    },
    /// An agent starts its part of a job.
    StartJob {
        part: AllocationKey,
        /// Its number among the parts, from 0.
        rank: u32,
        /// Where all parts run, in the order of their numbers.
        nodes: Vec<NodeId>,
        owner: UserId,
        workspace: WorkspaceId,
        /// What it may use of each node.
        shape: Resources,
        /// How long it may run.
        timeout: Option<Span>,
        /// How long its processes get to end then.
        grace: Span,
        /// Its place in an array.
        array: Option<ArrayPlace>,
        /// The environment that it runs with, and what people call it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        environment: Option<(EnvironmentHash, String)>,
    },
    /// The server builds an environment that jobs wait for, and says how that ended.
    BuildEnvironment { hash: EnvironmentHash },
    /// An agent gives back a part of a job that it has ahead of time, unless it has begun.
    AskBack { part: AllocationKey },
    /// An agent ends its part of a job.
    EndJob {
        part: AllocationKey,
        /// How long processes get before they are killed.
        grace: Span,
        /// Whether its node is taken back, so that it will be tried again: processes are told so beside the
        /// signal.
        #[serde(default)]
        is_preempted: bool,
    },
    /// An agent sets an instance up, and starts its applications unless scripts come first. What runs of an
    /// earlier operation ends before.
    SetUp {
        instance: InstanceId,
        node: NodeId,
        generation: u64,
        owner: UserId,
        workspace: WorkspaceId,
        /// What it is called.
        name: ComputeName,
        /// The number of the writable layer; others go.
        layer: u32,
        /// Whether [`Effect::RunScript`] follows: then applications wait for it.
        has_scripts: bool,
    },
    /// An agent runs the person's own scripts one after another, up to the first that fails, and then starts
    /// applications.
    RunScript {
        instance: InstanceId,
        node: NodeId,
        generation: u64,
        /// What to run, in this order.
        scripts: Vec<ScriptRun>,
        /// Whether they get the owner's home and tokens; else an empty home and none.
        is_trusted: bool,
        /// How long they may take in all.
        limit: Span,
    },
    /// What opens doors is taken out of an instance's home, and the rest becomes its new owner's.
    Transfer { instance: InstanceId, generation: u64, from: UserId, to: UserId },
    /// A driver moves an instance's home to another size.
    Resize { instance: InstanceId, generation: u64, size: SizeName },
}

/// What a command is answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Done, or on its way.
    Done,
    /// It was so already.
    Already,
    /// The wish is kept until what goes on allows it.
    Later,
    /// An instance was made.
    Instance(InstanceId),
    /// A cluster was made.
    Cluster(ClusterId),
    /// A job was queued.
    Job(JobId),
    /// An array of jobs was queued, with numbers one after another.
    Jobs { first: JobId, count: u32 },
    /// A schedule was made.
    Schedule(ScheduleId),
}

/// What a decision is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum About {
    /// The engine as a whole.
    Engine,
    Instance(InstanceId),
    Cluster(ClusterId),
    Node(NodeId),
    Job(JobId),
    Schedule(ScheduleId),
    /// A budget; the reason says whose.
    Budget,
}

/// One line of the decision log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub workspace: Option<WorkspaceId>,
    pub about: About,
    pub reason: Reason,
}

/// A job that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedJob {
    pub job: Job,
    pub verdict: Verdict,
    pub at: Timestamp,
}

/// To whom node time is charged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LedgerKey {
    pub workspace: WorkspaceId,
    /// What the node was made for.
    pub holder: Holder,
    /// The job that ran; none for time without one.
    pub job: Option<JobId>,
    /// The job's owner, or the compute's.
    pub user: UserId,
    pub size: SizeName,
}

/// Node time and its cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Milliseconds of one node.
    pub millis: u64,
    /// Billionths of the currency.
    pub cost: u64,
}

/// All that a step brings about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// For each input: the answer to a command; nothing for a report.
    pub replies: Vec<Option<Result<Answer, Reason>>>,
    /// Records that are new or other than before.
    pub changed: BTreeSet<Key>,
    /// Records that are no more.
    pub gone: BTreeSet<Key>,
    /// Jobs that are over.
    pub ended: Vec<EndedJob>,
    /// Jobs of arrays that are over without ever having been made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended_rests: Vec<EndedRest>,
    /// What was decided and why.
    pub decisions: Vec<Decision>,
    /// Node time that is now charged.
    pub ledger: BTreeMap<LedgerKey, Charge>,
    /// What to do, once all of this is durable.
    pub effects: Vec<Effect>,
    /// When to step again even if nothing comes in.
    pub wake: Option<Mono>,
    /// The same, by the wall clock.
    pub wake_wall: Option<Timestamp>,
}
