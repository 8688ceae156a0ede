//! Jobs: what they need, where they stand, and how they may end.

use serde::{Deserialize, Serialize};

use super::ids::{ClusterId, InstanceId, JobId, NodeId};
use super::resources::Resources;
use super::size::SizeName;
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
/// How long an agent may take to start a job.
pub const START_LIMIT: Span = Span::minutes(2);
/// How long outputs may be collected after the last process ended.
pub const FINALIZE_LIMIT: Span = Span::minutes(10);
/// How long processes get between being asked to end and being killed, unless the job says otherwise.
pub const DEFAULT_GRACE: Span = Span::seconds(30);
/// The longest such grace.
pub const MAX_GRACE: Span = Span::minutes(10);
/// How long a node may take, after the grace, to confirm that a job has ended before the node itself is given up.
pub const KILL_LIMIT: Span = Span::seconds(30);
/// How long ready nodes wait for the rest of a job that needs several, the first time; then twice as long, and so on.
pub const GATHER_LIMIT: Span = Span::minutes(10);
/// The longest such wait.
pub const GATHER_LIMIT_MOST: Span = Span::hours(24 * 30);
/// How long such a job then lets others pass.
pub const STEP_ASIDE: Span = Span::minutes(1);
/// How often a job that loses its nodes before it ran goes back to the queue for free.
pub const FREE_RETURNS: u32 = 3;
/// How often a job that cannot start as things are is looked at again.
pub const LOOK_AGAIN: Span = Span::minutes(5);
/// The longest pause before a retry.
pub const RETRY_PAUSE_MOST: Span = Span::minutes(10);

/// Who goes first. Within one priority: who came first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// After all others.
    Low,
    /// As most.
    #[default]
    Medium,
    /// Before all others.
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

/// Where a job is to run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// On nodes of this cluster.
    Cluster(ClusterId),
    /// On this instance.
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
        /// Which.
        code: i32,
    },
    /// A process was killed for taking more memory than the job has.
    OutOfMemory,
    /// It ran longer than its time limit.
    TimedOut {
        /// The limit.
        limit: Span,
    },
    /// Somebody cancelled it.
    Cancelled {
        /// By name.
        by: Text,
    },
    /// A node that it ran on was lost.
    NodeLost {
        /// Which.
        node: NodeId,
    },
    /// A node that it ran on was taken back.
    Preempted {
        /// Which.
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
}

impl Verdict {
    /// Says it as the end of a sentence that starts with the job: `ended with exit code 3`.
    pub fn phrase(&self) -> String {
        match self {
            Self::Succeeded => "ended with exit code 0".into(),
            Self::Exited { code } => format!("ended with exit code {code}"),
            Self::OutOfMemory => "took more memory than it asked for and was killed".into(),
            Self::TimedOut { limit } => format!("ran longer than its time limit of {limit}"),
            Self::Cancelled { by } => format!("was cancelled by {by}"),
            Self::NodeLost { node } => format!("lost {node}"),
            Self::Preempted { node } => format!("lost {node}, whose capacity was taken back"),
            Self::StartFailed { detail } => format!("could not be started: {detail}"),
            Self::ComputeGone { what } => format!("ended because {what}"),
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
            Self::Succeeded | Self::TimedOut { .. } | Self::Cancelled { .. } | Self::ComputeGone { .. } => None,
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
    /// For what.
    pub on: Vec<RetryCause>,
    /// Which exit codes; none named means all but 0.
    #[serde(default)]
    pub exit_codes: Vec<i32>,
    /// The pause before the first retry; each further one is twice as long.
    pub pause: Span,
}

impl RetryPolicy {
    /// Refuses absurd ones.
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
    /// Where.
    pub target: Target,
    /// What each of its nodes must have free.
    pub shape: Resources,
    /// On how many nodes at once.
    pub nodes: u32,
    /// Who goes first.
    pub priority: Priority,
    /// How long it may run.
    pub timeout: Option<Span>,
    /// How long its processes get to end when asked to.
    pub grace: Span,
    /// When it is tried again.
    pub retry: Option<Box<RetryPolicy>>,
}

impl JobSpec {
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
        self.retry.as_ref().map_or(Ok(()), |retry| retry.check())
    }
}

/// One node's part of a running job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Where.
    pub node: NodeId,
    /// How far.
    pub state: MemberState,
}

/// How far one node is with its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MemberState {
    /// It was given the part and has not said that it runs.
    Assigned,
    /// Its processes run.
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
        /// Until when.
        until: Mono,
    },
    /// Not all its nodes came together in time; others may pass.
    SteppedAside {
        /// Until when.
        until: Mono,
    },
    /// It cannot start at all as things are: a limit or a size has changed since it was submitted. Looked at again.
    Impossible {
        /// Why.
        why: Box<Reason>,
        /// Until when.
        until: Mono,
    },
    /// Its own nodes could not be launched.
    Launch {
        /// What the driver said.
        detail: Text,
        /// Until when.
        until: Mono,
    },
}

impl Hold {
    /// Until when.
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
    /// It runs.
    Running {
        /// Since when.
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

/// A job that is not over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its id: people say the number.
    pub id: JobId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Whose it is.
    pub owner: UserId,
    /// What it needs.
    pub spec: JobSpec,
    /// Where it stands.
    pub phase: JobPhase,
    /// When it was submitted.
    pub submitted: Timestamp,
    /// The current attempt, from 1; fences what earlier ones still say. 0 before the first.
    pub attempt: u32,
    /// How many attempts were retries under its policy.
    pub retries: u32,
    /// How often its nodes did not come together in time.
    pub steps_aside: u32,
    /// Its nodes' parts; empty while it waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// The nodes that were made for it, if it is serverless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_nodes: Vec<NodeId>,
    /// Launches of its own nodes that failed one after another.
    #[serde(default)]
    pub launch_failures: u32,
    /// How often it lost its nodes before it ran; that is nobody's fault, up to a point.
    #[serde(default)]
    pub lost_starts: u32,
}

impl Job {
    /// Whether it waits for its turn.
    pub const fn is_queued(&self) -> bool {
        matches!(self.phase, JobPhase::Queued { .. })
    }

    /// Whether it waits for nodes: not held back, and none made for it yet.
    pub const fn is_eligible(&self) -> bool {
        matches!(self.phase, JobPhase::Queued { hold: None, .. }) && self.own_nodes.is_empty()
    }

    /// What it takes of each of its nodes. On an instance it takes a slot and no cores of its own.
    pub const fn takes(&self) -> Resources {
        match self.spec.target {
            Target::Instance(_) => Resources { cores: 0, ..self.spec.shape },
            Target::Cluster(_) | Target::Serverless(_) => self.spec.shape,
        }
    }

    /// Its part on that node.
    pub fn member_mut(&mut self, node: NodeId) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.node == node)
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

    /// What pages and Azure's clients call its state.
    pub fn state(&self) -> JobState {
        match &self.phase {
            JobPhase::Queued { .. } => JobState::Queued,
            JobPhase::Starting { .. } => JobState::Starting,
            JobPhase::Running { .. } => JobState::Running,
            JobPhase::Finalizing { .. } => JobState::Finalizing,
            JobPhase::Ending { verdict, .. } => match **verdict {
                Verdict::Cancelled { .. } | Verdict::ComputeGone { .. } | Verdict::TimedOut { .. } => {
                    JobState::CancelRequested
                }
                Verdict::NodeLost { .. } | Verdict::Preempted { .. } => JobState::NotResponding,
                _ => JobState::Finalizing,
            },
        }
    }
}

/// The states of a job that people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// It waits.
    Queued,
    /// Its nodes start it.
    Starting,
    /// It runs.
    Running,
    /// Outputs are collected.
    Finalizing,
    /// It is being ended.
    CancelRequested,
    /// A node of it is lost.
    NotResponding,
    /// It ended well.
    Completed,
    /// It ended otherwise.
    Failed,
    /// It was cancelled.
    Canceled,
}

impl JobState {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Queued,
        Self::Starting,
        Self::Running,
        Self::Finalizing,
        Self::CancelRequested,
        Self::NotResponding,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
    ];

    /// The name in the store and in the API.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Finalizing => "finalizing",
            Self::CancelRequested => "cancel-requested",
            Self::NotResponding => "not-responding",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// The state in which a job with that verdict stays.
    pub const fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Succeeded => Self::Completed,
            Verdict::Cancelled { .. } | Verdict::ComputeGone { .. } => Self::Canceled,
            _ => Self::Failed,
        }
    }

    /// Whether nothing comes after it.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }
}
