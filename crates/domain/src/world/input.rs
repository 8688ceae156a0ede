//! What comes in: orders of people, and reports of drivers, agents and the shell.

use serde::{Deserialize, Serialize};

use crate::compute::budget::{BudgetOf, NewBudget};
use crate::compute::cluster::ScaleSettings;
use crate::compute::fair_share::QueuePolicy;
use crate::compute::idle::{IdlePolicy, IdleRules, Source};
use crate::compute::job::{JobSpec, Priority};
use crate::compute::quota::{Resource, Scope};
use crate::compute::room::{Filled, Program};
use crate::compute::script::Scripts;
use crate::compute::size::{ComputeName, SiteName, Size, SizeName, Tier};
use crate::compute::tags::Tags;
use crate::compute::verb::{Noun, Verb};
use crate::compute::{ClusterId, InstanceId, JobId, NodeId, Resources, ScheduleId};
use crate::environment::EnvironmentHash;
use crate::id::{UserId, WorkspaceId};
use crate::schedule::{Action, StopJobs, Timetable};
use crate::text::Text;
use crate::time::{Mono, Span, Timestamp};

/// One thing to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// Somebody wants something. Whether they may was judged before.
    Command(Command),
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
        scope: Scope,
        resource: Resource,
        /// How much; nothing means no limit.
        limit: Option<u64>,
    },
    /// Set how much may be spent in a month, or take that away.
    SetBudget {
        of: BudgetOf,
        /// How much; nothing means no budget.
        budget: Option<Box<NewBudget>>,
    },
    /// Say how much somebody is meant to have of what the workspace shares.
    #[serde(rename = "set-share")]
    SetFairShare {
        person: UserId,
        /// How much, beside the weights of others: 1 to 1,000, and 100 for whoever has none.
        weight: i64,
    },
    /// Say after how long use counts half in the workspace.
    SetHalfLife(Span),
    /// Say how a queue is served.
    SetQueuePolicy {
        /// Of which cluster; without one, of the workspace's serverless jobs.
        cluster: Option<ClusterId>,
        policy: QueuePolicy,
    },
    /// Set what is allowed and demanded of idle shutdown in the workspace. Instances that break the rules are
    /// amended.
    SetIdleRules(IdleRules),
    /// Make an instance. Who gives the order is its creator.
    CreateInstance(Box<NewInstance>),
    /// Give it a node.
    StartInstance(InstanceId),
    /// The same, because somebody opened an application of it.
    WakeInstance(InstanceId),
    /// Take its node away.
    StopInstance(InstanceId),
    /// Start its applications again.
    RestartInstance(InstanceId),
    /// Give it a fresh environment; its home stays. A stopped one has it at its next start.
    RebuildInstance(InstanceId),
    ResizeInstance {
        instance: InstanceId,
        size: SizeName,
    },
    /// Give it to somebody else, without what opens doors in its home.
    TransferInstance {
        instance: InstanceId,
        /// Whose it is, as whoever asks believes.
        from: UserId,
        to: UserId,
        to_name: Text,
    },
    DeleteInstance(InstanceId),
    /// Change how it stops and what it keeps.
    ConfigureInstance {
        instance: InstanceId,
        /// When it stops for lack of activity.
        idle: Option<IdlePolicy>,
        /// Whether it keeps its quota while stopped.
        keeps_quota: bool,
    },
    /// Change what people note about an instance.
    TagInstance {
        instance: InstanceId,
        tags: Tags,
    },
    /// Change what runs when it starts. What somebody else than its owner sets waits for the owner's word.
    SetScripts {
        instance: InstanceId,
        scripts: Scripts,
    },
    /// The owner has read the scripts that somebody else made, and lets them have the home.
    AcceptScripts {
        instance: InstanceId,
        /// The number of the change that was read.
        revision: u32,
    },
    /// Keep it running until then: scheduled stops before are left out, it is not stopped for lack of
    /// activity, and at that time it stops.
    PostponeStop {
        instance: InstanceId,
        until: Timestamp,
    },
    /// Leave its next scheduled stop out.
    SkipStop {
        instance: InstanceId,
    },
    /// Keep it running, whatever its activity.
    ExtendInstance {
        instance: InstanceId,
        /// For how long from now.
        by: Span,
    },
    CreateCluster {
        name: ComputeName,
        /// What its nodes are.
        size: SizeName,
        scale: ScaleSettings,
        /// Whether dedicated work may take its nodes back.
        #[serde(default)]
        tier: Tier,
        /// What people note about it.
        #[serde(default, skip_serializing_if = "Tags::is_empty")]
        tags: Tags,
    },
    /// Change what people note about a cluster.
    TagCluster {
        cluster: ClusterId,
        tags: Tags,
    },
    /// Change several settings at once: all of it, or nothing.
    ChangeCluster {
        cluster: ClusterId,
        change: Box<ClusterChange>,
    },
    /// Change how it scales.
    ScaleCluster {
        cluster: ClusterId,
        scale: ScaleSettings,
    },
    /// Start nothing more on it.
    PauseCluster(ClusterId),
    ResumeCluster(ClusterId),
    /// Take it away. Waiting jobs are canceled.
    DeleteCluster {
        cluster: ClusterId,
        /// Whether running jobs are ended too, or waited for.
        ends_jobs: bool,
    },
    Submit(JobSpec),
    /// Run something several times at once, each with its own number.
    SubmitArray {
        /// What each of them needs.
        spec: JobSpec,
        count: u32,
    },
    Cancel(JobId),
    /// Change its place in the queue.
    Prioritise {
        job: JobId,
        priority: Priority,
    },
    /// Keep a waiting job from starting until it is released.
    Hold {
        job: JobId,
        why: String,
    },
    /// Let it start again.
    Release(JobId),
    /// Change its place in the queue.
    Move {
        job: JobId,
        to: MoveTo,
        /// Whether over everybody's jobs, or only among its owner's own. Whether that is allowed was judged
        /// before.
        over_all: bool,
    },
    /// Do something to all jobs of an array that it can be done to.
    ChangeArray {
        array: JobId,
        change: ArrayChange,
    },
    /// End a running job as if its node were taken back, now: it goes back to the queue. To test what it
    /// keeps.
    EvictJob(JobId),
    /// Take a node back now, as dedicated work would.
    EvictNode(NodeId),
    AddSchedule {
        target: ScheduleTarget,
        action: Action,
        timetable: Box<Timetable>,
        /// What a stop does to running jobs.
        #[serde(default)]
        jobs: StopJobs,
    },
    /// Change a schedule. Never acts on what has passed.
    EditSchedule {
        schedule: ScheduleId,
        action: Action,
        timetable: Box<Timetable>,
        /// What a stop does to running jobs.
        #[serde(default)]
        jobs: StopJobs,
    },
    /// Switch it on or off.
    EnableSchedule {
        schedule: ScheduleId,
        is_enabled: bool,
    },
    /// Leave its next time out, or take that back.
    SkipSchedule {
        schedule: ScheduleId,
        /// Leave it out, or not.
        skips: bool,
    },
    RemoveSchedule(ScheduleId),
    /// Pause all acting; planning goes on.
    Pause {
        why: String,
    },
    Resume,
    /// Remove something that was found and is not known.
    RemoveUnknown {
        site: SiteName,
        /// What the driver calls it.
        name: String,
    },
}

/// The settings of a cluster that change; the rest stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<ScaleSettings>,
    /// How its queue is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePolicy>,
    /// What people note about it: all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Tags>,
}

impl Order {
    /// Which verb of the table it carries out: the right it needs and the event it makes follow from that.
    pub const fn verb(&self) -> Verb {
        match self {
            Self::PutSize(_) => Verb::PutSize,
            Self::RemoveSize(_) => Verb::RemoveSize,
            Self::SetLimit { .. } => Verb::SetLimit,
            Self::SetBudget { .. } => Verb::SetBudget,
            Self::SetFairShare { .. } => Verb::SetShare,
            Self::SetHalfLife(_) => Verb::SetHalfLife,
            Self::SetQueuePolicy { .. } => Verb::SetQueuePolicy,
            Self::SetIdleRules(_) => Verb::SetIdleRules,
            Self::CreateInstance(_) => Verb::CreateInstance,
            Self::StartInstance(_) => Verb::StartInstance,
            Self::WakeInstance(_) => Verb::WakeInstance,
            Self::StopInstance(_) => Verb::StopInstance,
            Self::RestartInstance(_) => Verb::RestartInstance,
            Self::RebuildInstance(_) => Verb::RebuildInstance,
            Self::ResizeInstance { .. } => Verb::ResizeInstance,
            Self::TransferInstance { .. } => Verb::TransferInstance,
            Self::DeleteInstance(_) => Verb::DeleteInstance,
            Self::ConfigureInstance { .. } => Verb::ConfigureInstance,
            Self::TagInstance { .. } => Verb::TagInstance,
            Self::SetScripts { .. } => Verb::SetScripts,
            Self::AcceptScripts { .. } => Verb::AcceptScripts,
            Self::PostponeStop { .. } => Verb::PostponeStop,
            Self::SkipStop { .. } => Verb::SkipStop,
            Self::ExtendInstance { .. } => Verb::ExtendInstance,
            Self::CreateCluster { .. } => Verb::CreateCluster,
            Self::TagCluster { .. } => Verb::TagCluster,
            Self::ScaleCluster { .. } | Self::ChangeCluster { .. } => Verb::ScaleCluster,
            Self::PauseCluster(_) => Verb::PauseCluster,
            Self::ResumeCluster(_) => Verb::ResumeCluster,
            Self::DeleteCluster { .. } => Verb::DeleteCluster,
            Self::Submit(_) | Self::SubmitArray { .. } => Verb::SubmitJob,
            Self::Cancel(_) => Verb::CancelJob,
            Self::Prioritise { .. } => Verb::PrioritiseJob,
            Self::Hold { .. } => Verb::HoldJob,
            Self::Release(_) => Verb::ReleaseJob,
            Self::Move { .. } => Verb::MoveJob,
            Self::ChangeArray { change, .. } => change.verb(),
            Self::EvictJob(_) => Verb::EvictJob,
            Self::EvictNode(_) => Verb::EvictNode,
            Self::AddSchedule { .. } => Verb::AddSchedule,
            Self::EditSchedule { .. } => Verb::EditSchedule,
            Self::EnableSchedule { .. } => Verb::EnableSchedule,
            Self::SkipSchedule { .. } => Verb::SkipSchedule,
            Self::RemoveSchedule(_) => Verb::RemoveSchedule,
            Self::Pause { .. } => Verb::PauseEngine,
            Self::Resume => Verb::ResumeEngine,
            Self::RemoveUnknown { .. } => Verb::RemoveUnknown,
        }
    }

    /// The key of the event that it makes in the history; none for what is too common to be told one by one.
    /// What is done to a whole array is one event, whatever it is.
    pub const fn event(&self) -> Option<&'static str> {
        match self {
            Self::ChangeArray { .. } => Some("array-changed"),
            _ => self.verb().event(),
        }
    }

    /// The orders that it is made of, for what is told one by one.
    pub fn parts(&self) -> Vec<Self> {
        let Self::ChangeCluster { cluster, change } = self else { return vec![self.clone()] };
        let cluster = *cluster;
        let scale = change.scale.map(|scale| Self::ScaleCluster { cluster, scale });
        let queue = change.queue.map(|policy| Self::SetQueuePolicy { cluster: Some(cluster), policy });
        let tags = change.tags.clone().map(|tags| Self::TagCluster { cluster, tags });
        [scale, queue, tags].into_iter().flatten().collect()
    }

    /// Whether it only frees things: such orders are taken also when the disk is full.
    pub const fn frees(&self) -> bool {
        self.verb().frees()
    }
}

impl ScheduleTarget {
    pub const fn noun(self) -> Noun {
        match self {
            Self::Instance(_) => Noun::Instance,
            Self::Cluster(_) => Noun::Cluster,
        }
    }
}

impl ArrayChange {
    /// Which verb of the table it carries out, on each of the jobs.
    pub const fn verb(&self) -> Verb {
        match self {
            Self::Cancel => Verb::CancelJob,
            Self::Hold { .. } => Verb::HoldJob,
            Self::Release => Verb::ReleaseJob,
            Self::Prioritise(_) => Verb::PrioritiseJob,
            Self::Move { .. } => Verb::MoveJob,
        }
    }
}

/// What is done to all jobs of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrayChange {
    /// End those that are not over.
    Cancel,
    /// Keep those that wait from starting until they are released.
    Hold { why: String },
    /// Let them start again.
    Release,
    /// Change the priority of those that wait.
    Prioritise(Priority),
    /// Change the place of those that wait; they stay in their order.
    Move {
        to: MoveTo,
        /// Whether over everybody's jobs, or only among their owner's own. Whether that is allowed was judged
        /// before.
        over_all: bool,
    },
}

/// Where a job is moved to in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MoveTo {
    Front,
    /// To the back, as if it had come just now.
    Back,
    /// Right before another one: it starts when that one would have.
    Before(JobId),
}

/// What an instance is made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewInstance {
    pub name: ComputeName,
    /// What its node is.
    pub size: SizeName,
    /// Whose it will be.
    pub owner: UserId,
    /// Their name, for people.
    #[serde(default)]
    pub owner_name: Text,
    /// What runs when it starts.
    #[serde(default)]
    pub scripts: Scripts,
    /// What people note about it.
    #[serde(default)]
    pub tags: Tags,
    /// Whether it keeps its quota while stopped.
    pub keeps_quota: bool,
    /// When it stops for lack of activity.
    pub idle: Option<IdlePolicy>,
    /// Whether it starts at once, or waits stopped for its first start.
    pub starts: bool,
}

/// What a schedule acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleTarget {
    Instance(InstanceId),
    Cluster(ClusterId),
}

/// What was observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// A driver is there, and has so much in all.
    Site {
        site: SiteName,
        /// What all its nodes together may have.
        capacity: Resources,
    },
    /// A driver listed what exists.
    Found {
        site: SiteName,
        nodes: Vec<FoundNode>,
        /// When the list was begun; what is newer is not missing from it.
        as_of: Mono,
    },
    /// Nobody could act for so long: the server was away. What waits for agents and drivers has that much
    /// more time.
    Absent { away: Span },
    /// A node's agent has called, for the first time or again.
    NodeUp(NodeId),
    /// A driver could not make it.
    LaunchFailed {
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
    JobStarted(AllocationKey),
    /// A part that a node had ahead of time was given back: it has not begun there and will not.
    JobGivenBack(AllocationKey),
    /// One node could not start its part; nothing of it is left there.
    JobRefused {
        part: AllocationKey,
        /// What the agent said.
        detail: Text,
    },
    /// One node's part has ended; output is being handed over.
    JobExited { part: AllocationKey, exit: Exit },
    /// Nothing of one node's part is left.
    JobOff {
        part: AllocationKey,
        /// How it ended, said again.
        exit: Exit,
    },
    /// Atelier's set-up of an instance is over.
    SetUp {
        instance: InstanceId,
        generation: u64,
        /// What went wrong, if anything did.
        failure: Option<Text>,
    },
    /// The person's own scripts are over.
    ScriptDone {
        instance: InstanceId,
        generation: u64,
        /// Whether the creation script, if it was to run, has ended well, whatever became of the startup
        /// script.
        #[serde(default)]
        creation_done: bool,
        /// What went wrong, if anything did.
        failure: Option<Text>,
    },
    /// All standard applications of an instance have answered once since its start.
    Healthy { instance: InstanceId, generation: u64 },
    /// A change of size is over.
    Resized {
        instance: InstanceId,
        generation: u64,
        /// What went wrong, if anything did.
        failure: Option<Text>,
    },
    /// An instance's home is its new owner's, or could not be made so.
    Transferred {
        instance: InstanceId,
        generation: u64,
        /// What went wrong, if anything did.
        failure: Option<Text>,
    },
    /// What was going on in an instance.
    Activity {
        instance: InstanceId,
        /// Kinds of activity there were.
        active: Vec<Source>,
        /// For how long, up to now.
        stretch: Span,
    },
    /// A program fills the disk.
    Fills { program: Program, filled: Filled },
    /// An environment that jobs may wait for is there, or cannot be built.
    Environment {
        hash: EnvironmentHash,
        /// Why it cannot be built: a whole sentence with the line that failed.
        failure: Option<Text>,
    },
}

/// Names one allocation: what one attempt of a job has on one node, its *part* in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AllocationKey {
    pub job: JobId,
    pub attempt: u32,
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
    /// Ended by its agent, since it ran longer than it may.
    TimedOut,
}

/// Something that a driver found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundNode {
    /// What the driver calls it.
    pub name: String,
    /// Which of our nodes it says to be.
    pub node: Option<NodeId>,
}
