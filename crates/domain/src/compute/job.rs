//! Jobs: what they need, where they stand, and how they may end.

use serde::{Deserialize, Serialize};

pub use super::array::MAX_ARRAY;
use super::ids::{ClusterId, InstanceId, JobId, NodeId};
use super::node::RECLAIM_GRACE_MOST;
use super::resources::Resources;
use super::size::{SizeName, Tier};
use crate::environment::Pinned;
use crate::id::{UserId, WorkspaceId};
use crate::reason::Reason;
use crate::text::{Problem, Text};
use crate::time::{Mono, Span, Timestamp};

/// The most nodes that one job may name.
pub const MAX_NODES: u32 = 65_000;
/// The longest time limit: 30 days.
pub const MAX_TIMEOUT: Span = Span::hours(24 * 30);
/// The most retries.
pub const MAX_RETRIES: u32 = 100;
/// The most exit codes in a retry rule.
pub const MAX_EXIT_CODES: usize = 32;
/// How many attempts before the present one a job remembers.
pub const REMEMBERED_ATTEMPTS: usize = 10;
/// How long an agent may take to start a job.
pub const START_LIMIT: Span = Span::minutes(2);
/// How long outputs may be collected after the last process ended.
pub const FINALIZE_LIMIT: Span = Span::minutes(10);
/// How long processes get between being asked to end and being killed, unless the job says otherwise.
pub const DEFAULT_GRACE: Span = Span::seconds(30);
/// The longest such grace.
pub const MAX_GRACE: Span = Span::minutes(10);
/// How long a node may take, after the grace, to confirm that a job has ended before the node itself is given
/// up.
pub const KILL_LIMIT: Span = Span::seconds(30);
/// How long ready nodes wait for the rest of a job that needs several, the first time; then twice as long,
/// and so on.
pub const GATHER_LIMIT: Span = Span::minutes(10);
/// The longest such wait.
pub const GATHER_LIMIT_MOST: Span = Span::hours(24 * 30);
/// How long such a job then lets others pass.
pub const STEP_ASIDE: Span = Span::minutes(1);
/// A job that ran no longer than this was quick: where jobs are quick, nodes get the next ones ahead of time.
pub const QUICK: Span = Span::millis(250);
/// A job that ran longer than this shows that they are not.
pub const NOT_QUICK: Span = Span::seconds(1);
/// How long a job that was handed over ahead of time may wait on its node before it is asked back.
pub const AHEAD_LIMIT: Span = Span::seconds(1);
/// How many jobs a node has ahead of time for each that it can run at once: enough to go on with while what
/// happened is made durable, several at a time.
pub const AHEAD_FOR_EACH: u64 = 6;
/// The most jobs that one node has ahead of time.
pub const MOST_AHEAD: u64 = 64;
/// A job that ran no longer than this was over at once.
pub const INSTANT: Span = Span::millis(10);
/// A job that ran longer than this shows that they are not.
pub const NOT_INSTANT: Span = Span::millis(30);
/// How many jobs that are over at once a node has ahead of time for each that it can run: the more, the more
/// ends share a commit. Even if each took [`NOT_INSTANT`], the last would begin within [`AHEAD_LIMIT`].
pub const INSTANT_AHEAD_FOR_EACH: u64 = 24;
/// The most of those that one node has ahead of time.
pub const MOST_INSTANT_AHEAD: u64 = 128;
/// How often a job that loses its nodes before it ran goes back to the queue for free.
pub const FREE_RETURNS: u32 = 3;
/// How often a job that cannot start as things are is looked at again.
pub const LOOK_AGAIN: Span = Span::minutes(5);
/// The longest pause before a retry.
pub const RETRY_PAUSE_MOST: Span = Span::minutes(10);

/// Who goes first. Within one priority: as the queue’s policy says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    Low,
    /// As most.
    #[default]
    Medium,
    High,
}

impl Priority {
    /// All of them, the first to go first.
    pub const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    /// The name in the API.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Parses the field `priority`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        Self::ALL.into_iter().find(|priority| priority.key() == text).ok_or_else(|| {
            let text = crate::text::shortened(text);
            Problem::new("priority", format!("A priority is low, medium or high, not “{text}”."))
        })
    }
}

/// Whether a job stands in the line of its owner, or before or after all lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// Before all others, whatever their priority.
    Front,
    #[default]
    Line,
    Back,
}

/// The distance between the ranks of two jobs that came one after the other: room for those that are moved
/// between them.
pub const RANK_STEP: i64 = 1 << 20;

/// Where somebody moved a job to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    #[serde(default)]
    pub lane: Lane,
    /// Its place there; who was not moved has its number times [`RANK_STEP`].
    pub rank: i64,
    /// In whose line it stands, if not in its owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<UserId>,
}

/// Somebody holds a job back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    pub by: Text,
    pub why: String,
    pub since: Timestamp,
}

/// The most jobs that one job may wait for.
pub const MAX_AFTER: usize = 100;

/// What a job wants of one that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterWhat {
    /// That it has ended well.
    Success,
    /// That it has ended, however.
    Any,
    /// That all jobs of its array have ended well; the job is the first of them.
    AllSucceed,
    /// That all jobs of its array have ended, however.
    AllOver,
}

impl AfterWhat {
    /// Whether it is about a whole array.
    pub const fn is_of_array(self) -> bool {
        matches!(self, Self::AllSucceed | Self::AllOver)
    }

    /// Whether a bad end is not what was wanted.
    pub const fn needs_success(self) -> bool {
        matches!(self, Self::Success | Self::AllSucceed)
    }
}

/// How a job ended, as far as those that wait for it care.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndedAs {
    Succeeded,
    Failed {
        /// How: the end of a sentence that starts with the job.
        what: Text,
    },
}

impl EndedAs {
    /// What a verdict is to those who wait.
    pub fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Succeeded => Self::Succeeded,
            // The first of a chain says why; the others only that they did not run.
            Verdict::DependencyFailed { .. } => Self::Failed { what: "never started".into() },
            other => Self::Failed { what: other.phrase().into() },
        }
    }
}

/// One job that another one waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct After {
    pub job: JobId,
    /// What is wanted of it.
    pub needs: AfterWhat,
    /// How it ended, once it has. What is over is no longer in the World, so whoever submits says it for jobs
    /// that were over before; for jobs that are alive it is not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndedAs>,
}

impl After {
    /// How the other job ended, if that is not what was wanted of it.
    pub fn failure(&self) -> Option<&Text> {
        match &self.ended {
            Some(EndedAs::Failed { what }) if self.needs.needs_success() => Some(what),
            _ => None,
        }
    }
}

/// Where a job is to run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// On nodes of this cluster.
    Cluster(ClusterId),
    Instance(InstanceId),
    /// On nodes of this size that are made for it.
    Serverless(SizeName),
}

/// Why a job ended, or why an attempt did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// Every process ended with exit code 0.
    Succeeded,
    /// A process ended with another exit code.
    Exited {
        code: i32,
    },
    /// A process was killed for taking more memory than the job has.
    OutOfMemory,
    /// It ran longer than its time limit.
    TimedOut {
        limit: Span,
    },
    Canceled {
        by: Text,
    },
    /// A node that it ran on was lost.
    NodeLost {
        node: NodeId,
    },
    /// A node that it ran on was taken back.
    Preempted {
        node: NodeId,
    },
    /// An agent could not start it.
    StartFailed {
        /// What the agent said.
        detail: Text,
    },
    /// The compute it ran on, or waited for, was stopped or deleted.
    ComputeGone {
        /// What was done to it, by whom: a whole clause.
        what: Text,
    },
    /// It filled the disk.
    Filled {
        /// With the numbers.
        filled: super::room::Filled,
    },
    /// A job that it waited for did not end well.
    DependencyFailed {
        job: JobId,
        /// How that one ended.
        what: Text,
    },
    /// Its Python environment could not be built.
    EnvironmentFailed {
        environment: Text,
        /// Why, with the line that failed: a whole sentence.
        what: Text,
    },
}

impl Verdict {
    /// Says it as the end of a sentence that starts with the job: `ended with exit code 3`.
    pub fn phrase(&self) -> String {
        match self {
            Self::Succeeded => "ended with exit code 0".into(),
            Self::Exited { code } => format!("ended with exit code {code}"),
            Self::OutOfMemory => "took more memory than it asked for and was killed".into(),
            Self::TimedOut { limit } => format!("ran longer than its time limit of {limit}"),
            Self::Canceled { by } => format!("was canceled by {by}"),
            Self::NodeLost { node } => format!("lost {node}"),
            Self::Preempted { node } => format!("lost {node}, whose capacity was taken back"),
            Self::StartFailed { detail } => format!("could not be started: {detail}"),
            Self::ComputeGone { what } => format!("ended because {what}"),
            Self::Filled { filled } => filled.phrase(),
            Self::DependencyFailed { job, what } => format!("never started because {job} {what}"),
            Self::EnvironmentFailed { environment, what } => {
                format!("never started because the environment {environment} could not be built: {what}")
            }
        }
    }

    /// Which kind of retry rule it falls under; none for what a retry cannot mend.
    pub const fn cause(&self) -> Option<RetryCause> {
        match self {
            Self::Exited { .. } => Some(RetryCause::ExitCode),
            Self::OutOfMemory => Some(RetryCause::OutOfMemory),
            Self::NodeLost { .. } => Some(RetryCause::NodeLost),
            Self::Preempted { .. } => Some(RetryCause::Preempted),
            Self::StartFailed { .. } => Some(RetryCause::StartFailed),
            Self::Succeeded
            | Self::TimedOut { .. }
            | Self::Canceled { .. }
            | Self::ComputeGone { .. }
            | Self::Filled { .. }
            | Self::DependencyFailed { .. }
            | Self::EnvironmentFailed { .. } => None,
        }
    }
}

/// What a retry may be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetryCause {
    /// A node was lost.
    NodeLost,
    /// A node was taken back.
    Preempted,
    /// The memory did not suffice.
    OutOfMemory,
    /// The agent could not start it.
    StartFailed,
    /// An exit code other than 0: any, or one of those named.
    ExitCode,
}

/// When a job is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// How often at most.
    pub max: u32,
    pub on: Vec<RetryCause>,
    /// Which exit codes; none named means all but 0.
    #[serde(default)]
    pub exit_codes: Vec<i32>,
    /// The pause before the first retry; each further one is twice as long.
    pub pause: Span,
}

impl RetryPolicy {
    pub fn check(&self) -> Result<(), Problem> {
        if self.max > MAX_RETRIES {
            return Err(Problem::new(
                "retries",
                format!("There are at most {MAX_RETRIES} retries; this is {}.", self.max),
            ));
        }
        if self.exit_codes.len() > MAX_EXIT_CODES {
            let count = self.exit_codes.len();
            return Err(Problem::new(
                "exit_codes",
                format!("Name at most {MAX_EXIT_CODES} exit codes; this names {count}."),
            ));
        }
        if let Some(code) = self.exit_codes.iter().find(|code| !(1..=255).contains(*code)) {
            return Err(Problem::new(
                "exit_codes",
                format!("An exit code to retry on is between 1 and 255, not {code}."),
            ));
        }
        if self.pause > RETRY_PAUSE_MOST {
            let message = format!("The pause before a retry is at most {RETRY_PAUSE_MOST}; this is {}.", self.pause);
            return Err(Problem::new("retry_pause", message));
        }
        Ok(())
    }

    /// Whether an attempt that ended so is tried again, after `retries` before it.
    pub fn allows(&self, verdict: &Verdict, retries: u32) -> bool {
        let is_named = |cause| self.on.contains(&cause);
        let is_code = match verdict {
            Verdict::Exited { code } => self.exit_codes.is_empty() || self.exit_codes.contains(code),
            _ => true,
        };
        retries < self.max && verdict.cause().is_some_and(is_named) && is_code
    }
}

/// What somebody wants to run, without the command itself: that stays in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    pub target: Target,
    /// What each of its nodes must have free.
    pub shape: Resources,
    /// On how many nodes at once.
    pub nodes: u32,
    pub priority: Priority,
    /// How long it may run.
    pub timeout: Option<Span>,
    /// How long its processes get to end when asked to.
    pub grace: Span,
    /// When it is tried again.
    pub retry: Option<Box<RetryPolicy>>,
    /// Whether dedicated work may take its nodes back, if it is serverless. On a cluster the cluster's tier
    /// counts.
    #[serde(default, skip_serializing_if = "Tier::is_dedicated")]
    pub tier: Tier,
    /// The jobs that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<After>,
    /// The Python environment that it runs with; what the system has, if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Box<Pinned>>,
}

impl JobSpec {
    /// The environment that it still waits for.
    pub fn awaited_environment(&self) -> Option<&Pinned> {
        self.environment.as_deref().filter(|pinned| pinned.is_awaited())
    }

    /// Refuses what no compute could run; what depends on the compute is judged when the job is submitted.
    pub fn check(&self) -> Result<(), Problem> {
        self.shape.check()?;
        if self.nodes == 0 || self.nodes > MAX_NODES {
            return Err(Problem::new("nodes", format!("A job runs on 1 to {MAX_NODES} nodes, not on {}.", self.nodes)));
        }
        if let Some(timeout) = self.timeout
            && (timeout < Span::seconds(1) || timeout > MAX_TIMEOUT)
        {
            return Err(Problem::new(
                "timeout",
                format!("A time limit is between 1 s and {MAX_TIMEOUT}, not {timeout}."),
            ));
        }
        if self.grace > MAX_GRACE {
            return Err(Problem::new("grace", format!("The grace is at most {MAX_GRACE}; this is {}.", self.grace)));
        }
        if self.after.len() > MAX_AFTER {
            let message = format!("A job waits for at most {MAX_AFTER} others; this names {}.", self.after.len());
            return Err(Problem::new("after", message));
        }
        self.retry.as_ref().map_or(Ok(()), |retry| retry.check())
    }
}

/// What a running job has on one node: its allocation there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    pub node: NodeId,
    pub state: AllocationState,
    /// Whether its node has not been heard from for a while.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_silent: bool,
}

impl Allocation {
    /// What a node was just given.
    pub const fn new(node: NodeId) -> Self {
        Self { node, state: AllocationState::Assigned, is_silent: false }
    }
}

/// How far one node is with its allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AllocationState {
    /// It was given the job's part and has not said that it runs.
    Assigned,
    Running,
    /// Its processes have ended; output is being handed over.
    Exited,
    /// Nothing of the job is left there.
    Off,
}

/// Why a queued job is not looked at before a certain time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "hold", rename_all = "kebab-case")]
pub enum Hold {
    /// A retry waits its pause.
    Retry {
        /// How the attempt before it ended.
        after: Box<Verdict>,
        until: Mono,
    },
    /// Not all its nodes came together in time; others may pass.
    SteppedAside { until: Mono },
    /// It cannot start at all as things are: a limit or a size has changed since it was submitted. Looked at
    /// again.
    Impossible { why: Box<Reason>, until: Mono },
    /// Its own nodes could not be launched.
    Launch {
        /// What the driver said.
        detail: Text,
        until: Mono,
    },
}

impl Hold {
    pub const fn until(&self) -> Mono {
        match self {
            Self::Retry { until, .. }
            | Self::SteppedAside { until }
            | Self::Impossible { until, .. }
            | Self::Launch { until, .. } => *until,
        }
    }
}

/// Where a job stands. What is over is no longer in the World.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case")]
pub enum JobPhase {
    /// It waits; [`crate::world::World::explain_job`] says for what.
    Queued {
        /// Why it is not looked at yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold: Option<Hold>,
        /// Since when ready nodes wait for the rest of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        gathering: Option<Mono>,
    },
    /// Its nodes were told to start it.
    Starting {
        /// When that counts as failed.
        until: Mono,
    },
    Running {
        since: Mono,
    },
    /// Its processes have ended well; outputs are being collected.
    Finalizing {
        /// When they count as collected.
        until: Mono,
    },
    /// It is being ended; it is over when nothing of it is left on any node.
    Ending {
        /// How it will have ended.
        verdict: Box<Verdict>,
        /// Whether it had not run yet, so that it may go back to the queue for free.
        #[serde(default)]
        is_unused: bool,
        /// When the nodes that have not confirmed are given up.
        until: Mono,
    },
}

/// A job that its node got ahead of time: it starts there as soon as what runs there ends, without waiting
/// for the engine. It takes nothing of the node until the engine has heard of the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ahead {
    Given,
    /// It waited too long and was asked back; it may have started all the same.
    AskedBack,
}

/// A job's place in an array: jobs that were submitted together and differ in their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ArrayPlace {
    /// The first job of the array, under which what they run is kept.
    pub first: JobId,
    /// Its number, from 0.
    pub index: u32,
    /// How many there are.
    pub count: u32,
}

/// When an attempt got how far, for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Milestones {
    /// When its nodes were told to start it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned: Option<Timestamp>,
    /// When it ran on all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When its last process had ended, or it was told to end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Timestamp>,
}

/// An attempt that is over and was followed by another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastAttempt {
    pub attempt: u32,
    pub nodes: Vec<NodeId>,
    /// When it got how far.
    pub when: Milestones,
    /// When it was over.
    pub ended: Timestamp,
    pub verdict: Verdict,
}

/// A job that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its id: people say the number.
    pub id: JobId,
    pub workspace: WorkspaceId,
    pub owner: UserId,
    pub spec: JobSpec,
    pub phase: JobPhase,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// The current attempt, from 1; fences what earlier ones still say. 0 before the first.
    pub attempt: u32,
    /// How many attempts were retries under its policy.
    pub retries: u32,
    /// How often its nodes did not come together in time.
    pub steps_aside: u32,
    /// What it has on its nodes; empty while it waits.
    #[serde(rename = "members", default, skip_serializing_if = "Vec::is_empty")]
    pub allocations: Vec<Allocation>,
    /// The nodes that were made for it, if it is serverless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_nodes: Vec<NodeId>,
    /// Launches of its own nodes that failed one after another.
    #[serde(default)]
    pub launch_failures: u32,
    /// How often it lost its nodes before it ran; that is nobody's fault, up to a point.
    #[serde(default)]
    pub lost_starts: u32,
    /// Its place in an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayPlace>,
    /// Whether its node got it ahead of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Ahead>,
    /// Who holds it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<Box<Held>>,
    /// Where somebody moved it to in its queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Box<Moved>>,
    /// Since when it counts as running for its owner's share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metered: Option<Mono>,
    /// How far the present attempt got when.
    #[serde(default)]
    pub when: Milestones,
    /// Attempts before the present one, the last ones only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<PastAttempt>,
}

impl Job {
    /// Whether it waits for its turn.
    pub const fn is_queued(&self) -> bool {
        matches!(self.phase, JobPhase::Queued { .. })
    }

    /// The job under which what it runs is kept.
    pub const fn payload(&self) -> JobId {
        match self.array {
            Some(place) => place.first,
            None => self.id,
        }
    }

    /// In which lane of its queue it stands.
    pub fn lane(&self) -> Lane {
        self.moved.as_ref().map_or(Lane::Line, |moved| moved.lane)
    }

    /// Its place in its line.
    pub fn rank(&self) -> i64 {
        let arrival = i64::try_from(self.id.0).unwrap_or(i64::MAX).saturating_mul(RANK_STEP);
        self.moved.as_ref().map_or(arrival, |moved| moved.rank)
    }

    /// In whose line it stands.
    pub fn line(&self) -> &UserId {
        self.moved.as_ref().and_then(|moved| moved.line.as_ref()).unwrap_or(&self.owner)
    }

    /// The jobs that it still waits for.
    pub fn waits_for(&self) -> impl Iterator<Item = &After> {
        self.spec.after.iter().filter(|after| after.ended.is_none())
    }

    /// Whether it waits for nodes: not held back, no other job to wait for, and no node made for it yet.
    pub fn is_eligible(&self) -> bool {
        matches!(self.phase, JobPhase::Queued { hold: None, .. })
            && self.own_nodes.is_empty()
            && self.held.is_none()
            && self.waits_for().next().is_none()
            && self.spec.awaited_environment().is_none()
    }

    /// What it takes of each of its nodes: nothing while it is there ahead of time. On an instance it takes a
    /// slot and no cores of its own.
    pub const fn takes(&self) -> Resources {
        if self.ahead.is_some() {
            return Resources::NONE;
        }
        match self.spec.target {
            Target::Instance(_) => Resources { cores: 0, ..self.spec.shape },
            Target::Cluster(_) | Target::Serverless(_) => self.spec.shape,
        }
    }

    /// Its part on that node.
    pub fn allocation_mut(&mut self, node: NodeId) -> Option<&mut Allocation> {
        self.allocations.iter_mut().find(|allocation| allocation.node == node)
    }

    /// When its phase ends by itself.
    pub fn deadline(&self) -> Option<Mono> {
        match &self.phase {
            JobPhase::Queued { hold: Some(hold), .. } => Some(hold.until()),
            JobPhase::Queued { gathering: Some(since), .. } => Some(since.plus(self.gather_limit())),
            JobPhase::Queued { .. } => None,
            JobPhase::Starting { until } | JobPhase::Finalizing { until } | JobPhase::Ending { until, .. } => {
                Some(*until)
            }
            JobPhase::Running { since } => self.spec.timeout.map(|timeout| since.plus(timeout)),
        }
    }

    /// When it frees its nodes if it takes all of its time; none if it has no time limit. What is being ended
    /// may be over at any moment.
    pub fn ends(&self) -> Option<Mono> {
        match &self.phase {
            JobPhase::Queued { .. } => None,
            JobPhase::Starting { .. } => Some(self.metered?.plus(self.spec.timeout?)),
            JobPhase::Running { since } => Some(since.plus(self.spec.timeout?)),
            JobPhase::Finalizing { .. } | JobPhase::Ending { .. } => Some(Mono(0)),
        }
    }

    /// How long its processes get to end, for that reason.
    pub fn grace_for(&self, verdict: &Verdict) -> Span {
        match verdict {
            Verdict::Preempted { .. } => self.spec.grace.min(RECLAIM_GRACE_MOST),
            // Each second costs what others need.
            Verdict::Filled { .. } => Span::ZERO,
            _ => self.spec.grace,
        }
    }

    /// Moves the end of its phase on: nobody could act in the meantime. A running job's time limit goes on.
    pub const fn put_off(&mut self, by: Span) {
        match &mut self.phase {
            JobPhase::Starting { until } | JobPhase::Finalizing { until } | JobPhase::Ending { until, .. } => {
                *until = until.plus(by);
            }
            JobPhase::Queued { .. } | JobPhase::Running { .. } => {}
        }
    }

    /// How long its ready nodes wait for the rest: longer each time, so that it starts at last.
    pub fn gather_limit(&self) -> Span {
        GATHER_LIMIT.doubled(self.steps_aside, GATHER_LIMIT_MOST)
    }

    /// A node of it that has not been heard from for a while.
    pub fn silent_node(&self) -> Option<NodeId> {
        let silent = |allocation: &&Allocation| allocation.is_silent && allocation.state != AllocationState::Off;
        self.allocations.iter().find(silent).map(|allocation| allocation.node)
    }

    /// What pages and Azure's clients call its state.
    pub fn state(&self) -> JobState {
        match &self.phase {
            JobPhase::Queued { .. } => JobState::Queued,
            JobPhase::Starting { .. } => JobState::Starting,
            JobPhase::Running { .. } if self.silent_node().is_some() => JobState::NotResponding,
            JobPhase::Running { .. } => JobState::Running,
            JobPhase::Finalizing { .. } => JobState::Finalizing,
            JobPhase::Ending { verdict, .. } => match **verdict {
                Verdict::Canceled { .. } | Verdict::ComputeGone { .. } | Verdict::TimedOut { .. } => {
                    JobState::CancelRequested
                }
                Verdict::NodeLost { .. } | Verdict::Preempted { .. } => JobState::NotResponding,
                _ => JobState::Finalizing,
            },
        }
    }
}

crate::keyed_enum! {
    /// The states of a job that people see.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum JobState {
        Queued = "queued";
        /// Its nodes start it.
        Starting = "starting";
        Running = "running";
        Finalizing = "finalizing";
        /// It is being ended.
        CancelRequested = "cancel-requested";
        /// A node of it is silent or lost.
        NotResponding = "not-responding";
        Completed = "completed";
        Failed = "failed";
        Canceled = "canceled";
    }
}

impl JobState {
    /// The state in which a job with that verdict stays.
    pub const fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Succeeded => Self::Completed,
            Verdict::Canceled { .. } | Verdict::ComputeGone { .. } | Verdict::DependencyFailed { .. } => Self::Canceled,
            _ => Self::Failed,
        }
    }

    /// Whether nothing comes after it.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}
