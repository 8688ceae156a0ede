//! Instances: a workstation of one person.

use serde::{Deserialize, Serialize};

use super::cluster::LaunchTrouble;
use super::idle::{IdlePolicy, IdleWatch};
use super::ids::{InstanceId, NodeId};
use super::size::{ComputeName, SizeName};
use crate::id::{UserId, WorkspaceId};
use crate::reason::Reason;
use crate::text::Text;
use crate::time::{Mono, Span, Timestamp};

/// How long creation may take, waiting for quota and capacity included.
pub const CREATE_LIMIT: Span = Span::minutes(20);
/// How long a start may take, waiting included.
pub const START_LIMIT: Span = Span::minutes(10);
/// How long Atelier's own set-up may take.
pub const SETUP_LIMIT: Span = Span::minutes(5);
/// How long a stop may take before it is shown as one that needs a look.
pub const STOP_LIMIT: Span = Span::minutes(5);
/// How long a change of size may take.
pub const RESIZE_LIMIT: Span = Span::minutes(5);
/// The longest time for a person's own script.
pub const MAX_SCRIPT: Span = Span::hours(24);

/// What is wanted of an instance. Written by people and schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wish {
    /// It runs.
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
        /// To which.
        to: SizeName,
        /// When that counts as failed.
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
            Self::Deleting { .. } => InstanceState::Deleting,
            Self::CreateFailed => InstanceState::CreateFailed,
            Self::SetupFailed => InstanceState::SetupFailed,
            Self::UserSetupFailed => InstanceState::UserSetupFailed,
            Self::Unknown => InstanceState::Unknown,
            Self::Unusable => InstanceState::Unusable,
        }
    }
}

macro_rules! instance_states {
    ($( $(#[$doc:meta])* $name:ident = $key:literal; )*) => {
        /// The states of an instance that people see.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum InstanceState { $( $(#[$doc])* $name, )* }

        impl InstanceState {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name in the store and in the API.
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => $key,)* }
            }
        }
    };
}

instance_states! {
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
    /// It is going.
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

/// Who or what caused an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "trigger", rename_all = "kebab-case")]
pub enum Trigger {
    /// A person.
    Person {
        /// By name.
        name: Text,
    },
    /// A schedule.
    Schedule,
    /// Idle shutdown.
    Idle,
    /// The core itself, after a failure.
    System,
}

/// The last thing that was done to an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// What.
    pub verb: super::verb::InstanceVerb,
    /// By whom.
    pub trigger: Trigger,
    /// When.
    pub at: Timestamp,
    /// How it ended; nothing while it goes on.
    pub result: Option<OperationResult>,
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationResult {
    /// As wanted.
    Succeeded,
    /// Otherwise.
    Failed(Box<Reason>),
    /// Something else was wanted before it was done.
    Overtaken,
}

/// An instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Its name.
    pub name: ComputeName,
    /// Whose it is.
    pub owner: UserId,
    /// What its node is.
    pub size: SizeName,
    /// What is wanted.
    pub wish: Wish,
    /// Where it stands.
    pub phase: InstancePhase,
    /// Counts the operations that somebody else carries out; fences what earlier ones still say.
    pub generation: u64,
    /// Who wished for the start that follows when it has stopped, or been resized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_start: Option<Trigger>,
    /// Its node.
    pub node: Option<NodeId>,
    /// How long the person's own script may take; none if there is no script.
    pub script: Option<Span>,
    /// Whether it keeps its quota while stopped, so that it can always start again.
    pub keeps_quota: bool,
    /// Whether it counts against quotas now: granted before it gets a node, given back when that is gone.
    pub has_quota: bool,
    /// When it stops for want of activity.
    pub idle: Option<IdlePolicy>,
    /// What is known of its activity.
    pub watch: IdleWatch,
    /// The last operation.
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
        matches!(self.phase, InstancePhase::Running)
    }
}
