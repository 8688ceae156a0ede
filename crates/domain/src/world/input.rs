//! What comes in: orders of people, and reports of drivers, agents and the shell.

use serde::{Deserialize, Serialize};

use crate::compute::cluster::ScaleSettings;
use crate::compute::idle::{IdlePolicy, Source};
use crate::compute::job::{JobSpec, Priority};
use crate::compute::quota::{Resource, Scope};
use crate::compute::size::{ComputeName, SiteName, Size, SizeName};
use crate::compute::{ClusterId, InstanceId, JobId, NodeId, Resources, ScheduleId};
use crate::id::{UserId, WorkspaceId};
use crate::schedule::{Action, Timetable};
use crate::text::Text;
use crate::time::{Mono, Span};

/// One thing to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// Somebody wants something. Whether they may was judged before.
    Command(Command),
    /// Something was observed.
    Report(Report),
}

/// An order and who gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// In which workspace; things of another one are not found.
    pub workspace: WorkspaceId,
    /// The account, if a person gave it.
    pub user: Option<UserId>,
    /// The name for people.
    pub name: Text,
    /// What is wanted.
    pub order: Order,
}

/// What can be wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Add a size to the catalogue, or change it. Nodes that exist stay as they are.
    PutSize(Size),
    /// Take a size out of the catalogue.
    RemoveSize(SizeName),
    /// Set a limit, or lift it.
    SetLimit {
        /// Whose.
        scope: Scope,
        /// Of what.
        resource: Resource,
        /// How much; nothing means no limit.
        limit: Option<u64>,
    },
    /// Make an instance.
    CreateInstance(NewInstance),
    /// Give it a node.
    StartInstance(InstanceId),
    /// Take its node away.
    StopInstance(InstanceId),
    /// Start its applications again.
    RestartInstance(InstanceId),
    /// Another size.
    ResizeInstance {
        /// Which.
        instance: InstanceId,
        /// To which.
        size: SizeName,
    },
    /// Take it away.
    DeleteInstance(InstanceId),
    /// Change how it stops and what it keeps.
    ConfigureInstance {
        /// Which.
        instance: InstanceId,
        /// When it stops for want of activity.
        idle: Option<IdlePolicy>,
        /// Whether it keeps its quota while stopped.
        keeps_quota: bool,
    },
    /// Keep it running, whatever its activity.
    ExtendInstance {
        /// Which.
        instance: InstanceId,
        /// For how long from now.
        by: Span,
    },
    /// Make a cluster.
    CreateCluster {
        /// Its name.
        name: ComputeName,
        /// What its nodes are.
        size: SizeName,
        /// How it scales.
        scale: ScaleSettings,
    },
    /// Change how it scales.
    ScaleCluster {
        /// Which.
        cluster: ClusterId,
        /// How.
        scale: ScaleSettings,
    },
    /// Start nothing more on it.
    PauseCluster(ClusterId),
    /// Go on.
    ResumeCluster(ClusterId),
    /// Take it away. Waiting jobs are cancelled.
    DeleteCluster {
        /// Which.
        cluster: ClusterId,
        /// Whether running jobs are ended too, or waited for.
        ends_jobs: bool,
    },
    /// Run something.
    Submit(JobSpec),
    /// End it.
    Cancel(JobId),
    /// Change its place in the queue.
    Prioritise {
        /// Which.
        job: JobId,
        /// To what.
        priority: Priority,
    },
    /// Add a schedule.
    AddSchedule {
        /// To what.
        target: ScheduleTarget,
        /// What it does.
        action: Action,
        /// When.
        timetable: Box<Timetable>,
    },
    /// Change a schedule. Never acts on what has passed.
    EditSchedule {
        /// Which.
        schedule: ScheduleId,
        /// What it does.
        action: Action,
        /// When.
        timetable: Box<Timetable>,
    },
    /// Switch it on or off.
    EnableSchedule {
        /// Which.
        schedule: ScheduleId,
        /// On or off.
        is_enabled: bool,
    },
    /// Leave its next time out, or take that back.
    SkipSchedule {
        /// Which.
        schedule: ScheduleId,
        /// Leave it out, or not.
        skips: bool,
    },
    /// Take it away.
    RemoveSchedule(ScheduleId),
    /// Pause all acting; planning goes on.
    Pause {
        /// Why, for people.
        why: String,
    },
    /// Act again.
    Resume,
    /// Remove something that was found and is not known.
    RemoveUnknown {
        /// Where.
        site: SiteName,
        /// What the driver calls it.
        name: String,
    },
}

impl Order {
    /// Whether it only frees things: such orders are taken also when the disk is full.
    pub const fn frees(&self) -> bool {
        matches!(
            self,
            Self::StopInstance(_)
                | Self::DeleteInstance(_)
                | Self::DeleteCluster { .. }
                | Self::PauseCluster(_)
                | Self::Cancel(_)
                | Self::RemoveSchedule(_)
                | Self::Pause { .. }
                | Self::RemoveUnknown { .. }
        )
    }
}

/// What an instance is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewInstance {
    /// Its name.
    pub name: ComputeName,
    /// What its node is.
    pub size: SizeName,
    /// Whose it will be.
    pub owner: UserId,
    /// How long its own script may take, if there is one.
    pub script: Option<Span>,
    /// Whether it keeps its quota while stopped.
    pub keeps_quota: bool,
    /// When it stops for want of activity.
    pub idle: Option<IdlePolicy>,
    /// Whether it starts at once, or waits stopped for its first start.
    pub starts: bool,
}

/// What a schedule acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleTarget {
    /// An instance.
    Instance(InstanceId),
    /// A cluster.
    Cluster(ClusterId),
}

/// What was observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// A driver is there, and has so much in all.
    Site {
        /// Its name.
        site: SiteName,
        /// What all its nodes together may have.
        capacity: Resources,
    },
    /// A driver listed what exists.
    Found {
        /// Where.
        site: SiteName,
        /// All of it.
        nodes: Vec<FoundNode>,
        /// When the list was begun; what is newer is not missing from it.
        as_of: Mono,
    },
    /// A node's agent has called, for the first time or again.
    NodeUp(NodeId),
    /// A driver could not make it.
    LaunchFailed {
        /// Which.
        node: NodeId,
        /// What the driver said.
        detail: Text,
    },
    /// A node's agent has not been heard of for a while.
    NodeSilent(NodeId),
    /// A cordoned node has nothing left running.
    NodeDrained(NodeId),
    /// Its capacity is taken back.
    NodePreempted(NodeId),
    /// The driver confirms that it does not exist any more.
    NodeGone(NodeId),
    /// One node's part of a job runs.
    JobStarted(Part),
    /// One node could not start its part; nothing of it is left there.
    JobRefused {
        /// Which part.
        part: Part,
        /// What the agent said.
        detail: Text,
    },
    /// One node's part has ended; output is being handed over.
    JobExited {
        /// Which part.
        part: Part,
        /// How.
        exit: Exit,
    },
    /// Nothing of one node's part is left.
    JobOff {
        /// Which part.
        part: Part,
        /// How it ended, said again.
        exit: Exit,
    },
    /// Atelier's set-up of an instance is over.
    SetUp {
        /// Which.
        instance: InstanceId,
        /// Of which operation.
        generation: u64,
        /// What went wrong, if anything did.
        failure: Option<Text>,
    },
    /// The person's own script is over.
    ScriptDone {
        /// Which instance.
        instance: InstanceId,
        /// Of which operation.
        generation: u64,
        /// What went wrong, if anything did.
        failure: Option<Text>,
    },
    /// A change of size is over.
    Resized {
        /// Which instance.
        instance: InstanceId,
        /// Of which operation.
        generation: u64,
        /// What went wrong, if anything did.
        failure: Option<Text>,
    },
    /// What was going on in an instance.
    Activity {
        /// Which.
        instance: InstanceId,
        /// Kinds of activity there were.
        active: Vec<Source>,
        /// For how long, up to now.
        stretch: Span,
    },
}

/// One node's part of one attempt of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Part {
    /// Which job.
    pub job: JobId,
    /// Which attempt.
    pub attempt: u32,
    /// Which node.
    pub node: NodeId,
}

/// How processes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// By themselves, or by a signal (128 and its number).
    Code(i32),
    /// For want of memory.
    OutOfMemory,
}

/// Something that a driver found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundNode {
    /// What the driver calls it.
    pub name: String,
    /// Which of our nodes it says to be.
    pub node: Option<NodeId>,
}
