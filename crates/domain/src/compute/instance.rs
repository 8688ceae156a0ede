//! Instances: a workstation of one person.

use serde::{Deserialize, Serialize};

use super::cluster::LaunchTrouble;
use super::idle::{IdlePolicy, IdleWatch};
use super::ids::{InstanceId, NodeId};
use super::notice::{Draining, Postponed, StopNotice};
use super::script::{ScriptRun, Scripts};
use super::size::{ComputeName, SizeName};
use super::start::StartTimes;
use super::tags::Tags;
use crate::id::{UserId, WorkspaceId};
use crate::reason::Reason;
use crate::text::{Problem, Text};
use crate::time::{Mono, Span, Timestamp};

/// How long creation may take, waiting for quota and capacity included.
pub const CREATE_LIMIT: Span = Span::minutes(20);
/// How long a start may take, waiting included.
pub const START_LIMIT: Span = Span::minutes(10);
/// How long Atelier's own set-up may take; the first on a server makes the environment that all later ones
/// share.
pub const SETUP_LIMIT: Span = Span::minutes(15);
/// How long a stop may take before it is shown as one that needs a look.
pub const STOP_LIMIT: Span = Span::minutes(5);
/// How long a change of size may take.
pub const RESIZE_LIMIT: Span = Span::minutes(5);

/// How long giving an instance away may take before whoever does it is told again.
pub const TRANSFER_RETRY: Span = Span::minutes(1);

/// What is wanted of an instance. Written by people and schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wish {
    Run,
    /// It does not.
    Stop,
    /// It does not exist.
    Delete,
}

/// Where an instance stands. Written by the core alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "kebab-case")]
pub enum InstancePhase {
    /// Its first node is wanted or on its way.
    Creating {
        /// When that counts as failed.
        until: Mono,
    },
    /// A node is wanted or on its way again.
    Starting {
        /// When that counts as failed.
        until: Mono,
    },
    /// Its node is up, Atelier sets it up.
    SettingUp {
        /// When that counts as failed.
        until: Mono,
    },
    /// The person's own script runs.
    UserSettingUp {
        /// When that counts as failed.
        until: Mono,
    },
    /// It can be used.
    Running,
    /// Its applications start again on the same node.
    Restarting {
        /// When that counts as failed.
        until: Mono,
    },
    /// Its node is on its way out.
    Stopping {
        /// When that needs a look.
        until: Mono,
    },
    /// It has no node; its home is kept.
    Stopped,
    /// Its home moves to another size.
    Resizing {
        to: SizeName,
        /// When that counts as failed.
        until: Mono,
    },
    /// It has a new owner, and what opens doors is being taken out of its home. Nobody starts it before that
    /// is done.
    Transferring {
        from: UserId,
        /// When whoever does it is told again.
        until: Mono,
    },
    /// It goes when its node and its home have gone.
    Deleting {
        /// When that needs a look.
        until: Mono,
    },
    /// It never had a node.
    CreateFailed,
    /// Atelier's set-up failed; the node is up.
    SetupFailed,
    /// The person's script failed; the node is up.
    UserSetupFailed,
    /// Its node has not been heard of for a while.
    Unknown,
    /// Its node has not been heard of for too long, or is lost.
    Unusable,
}

impl InstancePhase {
    /// When it ends by itself.
    pub const fn deadline(&self) -> Option<Mono> {
        match self {
            Self::Creating { until }
            | Self::Starting { until }
            | Self::SettingUp { until }
            | Self::UserSettingUp { until }
            | Self::Restarting { until }
            | Self::Stopping { until }
            | Self::Resizing { until, .. }
            | Self::Transferring { until, .. }
            | Self::Deleting { until } => Some(*until),
            Self::Running
            | Self::Stopped
            | Self::CreateFailed
            | Self::SetupFailed
            | Self::UserSetupFailed
            | Self::Unknown
            | Self::Unusable => None,
        }
    }

    /// Moves its end on: nobody could act in the meantime.
    pub const fn put_off(&mut self, by: Span) {
        match self {
            Self::Creating { until }
            | Self::Starting { until }
            | Self::SettingUp { until }
            | Self::UserSettingUp { until }
            | Self::Restarting { until }
            | Self::Stopping { until }
            | Self::Resizing { until, .. }
            | Self::Transferring { until, .. }
            | Self::Deleting { until } => *until = until.plus(by),
            Self::Running
            | Self::Stopped
            | Self::CreateFailed
            | Self::SetupFailed
            | Self::UserSetupFailed
            | Self::Unknown
            | Self::Unusable => {}
        }
    }

    /// What pages and Azure's clients call it.
    pub const fn state(&self, has_jobs: bool) -> InstanceState {
        match self {
            Self::Creating { .. } => InstanceState::Creating,
            Self::Starting { .. } => InstanceState::Starting,
            Self::SettingUp { .. } => InstanceState::SettingUp,
            Self::UserSettingUp { .. } => InstanceState::UserSettingUp,
            Self::Running if has_jobs => InstanceState::JobRunning,
            Self::Running => InstanceState::Running,
            Self::Restarting { .. } => InstanceState::Restarting,
            Self::Stopping { .. } => InstanceState::Stopping,
            Self::Stopped => InstanceState::Stopped,
            Self::Resizing { .. } => InstanceState::Resizing,
            Self::Transferring { .. } => InstanceState::Transferring,
            Self::Deleting { .. } => InstanceState::Deleting,
            Self::CreateFailed => InstanceState::CreateFailed,
            Self::SetupFailed => InstanceState::SetupFailed,
            Self::UserSetupFailed => InstanceState::UserSetupFailed,
            Self::Unknown => InstanceState::Unknown,
            Self::Unusable => InstanceState::Unusable,
        }
    }
}

crate::keyed_enum! {
    /// The states of an instance that people see.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum InstanceState {
        /// Its first node is wanted or on its way.
        Creating = "creating";
        /// Atelier sets it up.
        SettingUp = "setting-up";
        /// The person's script runs.
        UserSettingUp = "user-setting-up";
        /// It can be used.
        Running = "running";
        /// It can be used, and jobs run on it.
        JobRunning = "job-running";
        /// Its node is on its way out.
        Stopping = "stopping";
        /// It has no node.
        Stopped = "stopped";
        /// A node is on its way again.
        Starting = "starting";
        /// Its applications start again.
        Restarting = "restarting";
        /// It moves to another size.
        Resizing = "resizing";
        /// It is being given to its new owner.
        Transferring = "transferring";
        Deleting = "deleting";
        /// It never had a node.
        CreateFailed = "create-failed";
        /// Atelier's set-up failed.
        SetupFailed = "setup-failed";
        /// The person's script failed.
        UserSetupFailed = "user-setup-failed";
        /// Its node is lost.
        Unusable = "unusable";
        /// Its node is silent.
        Unknown = "unknown";
    }
}

/// Who or what caused an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "trigger", rename_all = "kebab-case")]
pub enum Trigger {
    Person {
        name: Text,
    },
    /// A person who opened an application of a stopped instance.
    Wake {
        name: Text,
    },
    Schedule,
    Idle,
    /// Idle shutdown that an administrator's rule demands.
    Policy,
    /// Idle shutdown because a budget is spent.
    Budget,
    /// The core itself, after a failure.
    System,
}

impl Trigger {
    /// Whether a person did it: that holds until the next boundary of a schedule.
    pub const fn is_by_hand(&self) -> bool {
        matches!(self, Self::Person { .. } | Self::Wake { .. })
    }

    /// The name in the API.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Person { .. } => "person",
            Self::Wake { .. } => "wake",
            Self::Schedule => "schedule",
            Self::Idle => "idle",
            Self::Policy => "policy",
            Self::Budget => "budget",
            Self::System => "system",
        }
    }

    /// The end of a sentence: `by Ada`, `by schedule`.
    pub fn phrase(&self) -> String {
        match self {
            Self::Person { name } => format!("by {name}"),
            Self::Wake { name } => format!("by {name}, who opened an application"),
            Self::Schedule => "by schedule".into(),
            Self::Idle => "for want of activity".into(),
            Self::Policy => "by policy, for want of activity".into(),
            Self::Budget => "for want of activity, since a budget is spent".into(),
            Self::System => "by Atelier itself".into(),
        }
    }
}

/// The last thing that was done to an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    pub verb: super::verb::InstanceVerb,
    pub trigger: Trigger,
    pub at: Timestamp,
    /// The same on the clock that only goes forward.
    #[serde(default)]
    pub since: Mono,
    /// How it ended; nothing while it goes on.
    pub result: Option<OperationResult>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Span>,
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationResult {
    Succeeded,
    Failed(Box<Reason>),
    /// Something else was wanted before it was done.
    Overtaken,
}

/// An instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    pub id: InstanceId,
    pub workspace: WorkspaceId,
    pub name: ComputeName,
    /// Whose it is: only they open it.
    pub owner: UserId,
    /// Their name when it was made; empty in records of older versions.
    #[serde(default)]
    pub owner_name: Text,
    /// Who made it; nobody known means the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub creator: Option<UserId>,
    #[serde(default)]
    pub creator_name: Text,
    /// What people note about it.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// What its node is.
    pub size: SizeName,
    pub wish: Wish,
    pub phase: InstancePhase,
    /// Counts the operations that somebody else carries out; fences what earlier ones still say.
    pub generation: u64,
    /// Who wished for the start that follows when it has stopped, or been resized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_start: Option<Trigger>,
    pub node: Option<NodeId>,
    /// What runs when it starts.
    #[serde(default, skip_serializing_if = "Scripts::is_empty")]
    pub scripts: Scripts,
    /// Who set the scripts; nobody if there never were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripts_by: Option<UserId>,
    /// Counts the changes of scripts, so that nobody accepts others than they have read.
    #[serde(default)]
    pub scripts_revision: u32,
    /// Whether the owner set or accepted them: until then they run without the owner's home and tokens.
    #[serde(default)]
    pub scripts_accepted: bool,
    /// Whose it was, until its new owner has accepted what they left in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Given>,
    /// Whether the creation script has run in this layer.
    #[serde(default)]
    pub creation_done: bool,
    /// The number of its environment's writable layer; a rebuild counts it up.
    #[serde(default)]
    pub layer: u32,
    /// How its last start went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<StartTimes>,
    /// The code of the reason for which it waits for a node, as it was last written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// Whether it keeps its quota while stopped, so that it can always start again.
    pub keeps_quota: bool,
    /// Whether it counts against quotas now: granted before it gets a node, given back when that is gone.
    pub has_quota: bool,
    /// When it stops for lack of activity.
    pub idle: Option<IdlePolicy>,
    /// Whether an administrator's rule made it so.
    #[serde(default)]
    pub idle_by_policy: bool,
    /// Stops that were announced, at most one by schedule and one for lack of activity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<StopNotice>,
    /// Somebody keeps it running over its scheduled stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub postponed: Option<Postponed>,
    /// A stop that waits for running jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining: Option<Draining>,
    /// What is known of its activity.
    pub watch: IdleWatch,
    pub operation: Operation,
    /// Launches that failed one after another.
    pub trouble: LaunchTrouble,
    /// When it was made.
    pub created: Timestamp,
    /// When somebody last started or stopped it by hand.
    pub manual_at: Option<Timestamp>,
}

impl Instance {
    /// Whether jobs can be started on it now.
    pub const fn takes_jobs(&self) -> bool {
        matches!(self.phase, InstancePhase::Running) && self.draining.is_none()
    }

    /// When something happens to it by itself: its phase ends, or a stop has waited for jobs long enough.
    pub fn deadline(&self) -> Option<Mono> {
        let draining = self.draining.as_ref().map(|draining| draining.until);
        [self.phase.deadline(), draining].into_iter().flatten().min()
    }

    /// Moves that on: nobody could act in the meantime.
    pub fn put_off(&mut self, by: Span) {
        self.phase.put_off(by);
        if let Some(draining) = &mut self.draining {
            draining.until = draining.until.plus(by);
        }
    }

    /// It is to run no more: nothing that was planned for it counts.
    pub fn rest(&mut self) {
        self.wish = Wish::Stop;
        self.next_start = None;
        self.postponed = None;
        self.draining = None;
    }

    pub fn creator(&self) -> &UserId {
        self.creator.as_ref().unwrap_or(&self.owner)
    }

    /// The next stop that was announced.
    pub fn notice(&self) -> Option<&StopNotice> {
        self.notices.iter().min_by_key(|notice| notice.at)
    }

    /// The scripts that its present or next start runs, in order.
    pub fn scripts_to_run(&self) -> Vec<ScriptRun> {
        self.scripts.to_run(self.creation_done)
    }

    /// Whether something waits for the owner's word: scripts that somebody else has set, or all that the
    /// owner before has left.
    pub fn awaits_acceptance(&self) -> bool {
        self.given.is_some() || (!self.scripts.is_empty() && !self.scripts_accepted)
    }
}

/// Whose an instance was before it was given away.
///
/// Start files of shells, of Jupyter and of Python lie in the home and in the environment, and whoever had it
/// before has written them. They would run as the new owner, so nothing of it starts before that person has
/// said that it may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    pub from: UserId,
    pub from_name: Text,
}

/// Whether somebody may give an instance to that person, as far as it depends on who they are.
///
/// Who may give away what is another's must not be able to take it: a home is opened by its owner alone, and
/// giving it to oneself would open it. Only when the owner cannot sign in any more may somebody else take it
/// over.
pub fn judge_receiver(by: &UserId, owner: &UserId, to: &UserId, is_owner_disabled: bool) -> Result<(), Problem> {
    if by == to && by != owner && !is_owner_disabled {
        let why = "You would get the home of somebody whose account is not disabled. Choose another person, or ask its \
                   owner to give it to you; an Owner of the workspace can also disable that account first.";
        return Err(Problem::new("to", why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_the_home_of_somebody_who_could_still_use_it() {
        let [ada, bo, cy] = ["ada", "bo", "cy"].map(UserId::new);
        for (by, owner, to, is_disabled, may) in [
            (&ada, &ada, &bo, false, true),
            (&bo, &ada, &cy, false, true),
            (&bo, &ada, &bo, false, false),
            (&bo, &ada, &bo, true, true),
        ] {
            assert_eq!(judge_receiver(by, owner, to, is_disabled).is_ok(), may, "{by} gives {owner}'s to {to}");
        }
    }
}
