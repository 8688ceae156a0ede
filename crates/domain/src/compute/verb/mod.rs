//! What can be done: [`table`] has one row for each verb, and the rest says in which state it is legal. The
//! server judges by it, pages show it, golden files print it.

pub mod table;

use serde::{Deserialize, Serialize};
pub use table::{Ask, Endpoint, Noun, Verb};

use super::instance::InstanceState;
use super::job::JobState;
use super::node::{Holder, NodeState};
use crate::access::Whose;

/// What a verb does in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legality {
    Yes,
    /// It is done as soon as what goes on allows: the wish is kept.
    Later,
    /// It is so already: nothing is done, and that is no error.
    Already,
    /// It is refused; the words say what would help.
    No(&'static str),
}

impl Legality {
    /// Whether the verb may be offered.
    pub const fn is_offered(self) -> bool {
        matches!(self, Self::Yes | Self::Later)
    }
}

/// Why nothing else is done to an instance that changes hands.
const GIVEN: &str = "It is being given to its new owner. Wait until it is stopped again.";

/// What can be done to an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceVerb {
    Create,
    /// Give it a node.
    Start,
    /// Take its node away; the home stays.
    Stop,
    /// Start its applications again.
    Restart,
    /// A fresh environment; the home stays.
    Rebuild,
    Resize,
    Transfer,
    /// Take it away, home and all.
    Delete,
    /// Schedules, idle time, tags.
    Configure,
    Open,
    Submit,
}

impl InstanceVerb {
    /// All that can be done to one that exists.
    pub const ALL: [Self; 10] = [
        Self::Start,
        Self::Stop,
        Self::Restart,
        Self::Rebuild,
        Self::Resize,
        Self::Transfer,
        Self::Delete,
        Self::Configure,
        Self::Open,
        Self::Submit,
    ];

    /// Its row in the table.
    pub const fn verb(self) -> Verb {
        match self {
            Self::Create => Verb::CreateInstance,
            Self::Start => Verb::StartInstance,
            Self::Stop => Verb::StopInstance,
            Self::Restart => Verb::RestartInstance,
            Self::Rebuild => Verb::RebuildInstance,
            Self::Resize => Verb::ResizeInstance,
            Self::Transfer => Verb::TransferInstance,
            Self::Delete => Verb::DeleteInstance,
            Self::Configure => Verb::ConfigureInstance,
            Self::Open => Verb::OpenInstance,
            Self::Submit => Verb::SubmitToInstance,
        }
    }

    /// The name in the API.
    pub const fn key(self) -> &'static str {
        self.verb().key()
    }

    /// What it does in that state.
    pub const fn in_state(self, state: InstanceState) -> Legality {
        use InstanceState as S;
        use Legality::{Already, Later, No, Yes};
        match self {
            Self::Create => No("It exists already."),
            // Stop and delete are legal everywhere: they set the wish, and the engine gets there.
            Self::Stop => match state {
                S::Stopped | S::Stopping => Already,
                S::CreateFailed => Already,
                S::Resizing | S::Transferring => Already,
                S::Deleting => Already,
                _ => Yes,
            },
            Self::Delete => match state {
                S::Deleting => Already,
                _ => Yes,
            },
            Self::Start => match state {
                S::Stopped => Yes,
                S::Stopping | S::Resizing => Later,
                S::Transferring => No(GIVEN),
                S::Creating | S::SettingUp | S::UserSettingUp | S::Starting | S::Restarting => Already,
                S::Running | S::JobRunning => Already,
                S::CreateFailed => No("It never had a node. Delete it and create it again."),
                S::SetupFailed | S::UserSetupFailed => {
                    No("Its node is up but its set-up failed. Restart it to try again.")
                }
                S::Unusable | S::Unknown => No("Its node does not answer. Restart it to give it another node."),
                S::Deleting => No("It is being deleted."),
            },
            Self::Restart => match state {
                S::Running | S::JobRunning | S::SetupFailed | S::UserSetupFailed | S::Unusable | S::Unknown => Yes,
                S::Restarting => Already,
                S::Creating | S::SettingUp | S::UserSettingUp | S::Starting => {
                    No("It is starting. Wait until it runs, or stop it.")
                }
                S::Transferring => No(GIVEN),
                S::Stopping | S::Stopped | S::Resizing => No("It has no node that could be restarted. Start it."),
                S::CreateFailed => No("It never had a node. Delete it and create it again."),
                S::Deleting => No("It is being deleted."),
            },
            Self::Rebuild => match state {
                S::Running | S::JobRunning | S::SetupFailed | S::UserSetupFailed | S::Unusable | S::Unknown => Yes,
                // The next start finds the fresh environment.
                S::Stopped => Yes,
                S::Creating | S::SettingUp | S::UserSettingUp | S::Starting => {
                    No("It is starting. Wait until it runs, or stop it.")
                }
                S::Restarting => No("It is restarting. Wait until it runs, or stop it."),
                S::Transferring => No(GIVEN),
                S::Stopping | S::Resizing => No("Wait until it is stopped."),
                S::CreateFailed => No("It never had a node. Delete it and create it again."),
                S::Deleting => No("It is being deleted."),
            },
            Self::Resize => match state {
                S::Stopped => Yes,
                S::Deleting => No("It is being deleted."),
                S::CreateFailed => No("It never had a node. Delete it and create it again."),
                S::Resizing => No("It is being resized. Wait until it is stopped again."),
                S::Transferring => No(GIVEN),
                _ => No("Its size changes only while it is stopped. Stop it first."),
            },
            Self::Transfer => match state {
                S::Stopped => Yes,
                S::Deleting => No("It is being deleted."),
                S::CreateFailed => No("It never had a node. Delete it, and let its new owner create their own."),
                S::Resizing => No("It is being resized. Wait until it is stopped again."),
                S::Transferring => No(GIVEN),
                _ => No("It changes hands only while it is stopped. Stop it first."),
            },
            Self::Configure => match state {
                S::Transferring => No(GIVEN),
                S::Deleting => No("It is being deleted."),
                S::CreateFailed => No("It never had a node. Delete it and create it again."),
                _ => Yes,
            },
            Self::Open => match state {
                S::Running | S::JobRunning => Yes,
                S::SetupFailed | S::UserSetupFailed => No("Its set-up failed: only the rescue terminal opens."),
                S::Unusable | S::Unknown => No("Its node does not answer."),
                S::Transferring => No(GIVEN),
                S::Stopped | S::Stopping | S::Resizing => No("It is not running. Start it first."),
                S::Deleting => No("It is being deleted."),
                S::CreateFailed => No("It never had a node."),
                S::Creating | S::SettingUp | S::UserSettingUp | S::Starting | S::Restarting => {
                    No("It is starting. Applications open when it runs.")
                }
            },
            Self::Submit => match state {
                S::Running | S::JobRunning => Yes,
                S::Creating | S::SettingUp | S::UserSettingUp | S::Starting | S::Restarting | S::Unknown => Later,
                S::Transferring => No(GIVEN),
                S::Stopped | S::Stopping | S::Resizing => {
                    No("It is not running. Start it first, or submit to a cluster.")
                }
                S::SetupFailed | S::UserSetupFailed | S::Unusable => {
                    No("It cannot be used as it is. Restart it first.")
                }
                S::CreateFailed => No("It never had a node. Delete it and create it again."),
                S::Deleting => No("It is being deleted."),
            },
        }
    }
}

impl InstanceVerb {
    /// Why it can't be used in that state; none if it can.
    pub const fn why_not(self, state: InstanceState) -> Option<&'static str> {
        match self.in_state(state) {
            Legality::Yes | Legality::Later => None,
            Legality::No(help) => Some(help),
            Legality::Already => Some(match (self, state) {
                (Self::Start, InstanceState::Running | InstanceState::JobRunning) => "It's already running.",
                (Self::Start, _) => "It's already starting.",
                (Self::Stop, InstanceState::Stopped) => "It's already stopped.",
                (Self::Stop, InstanceState::Stopping) => "It's already stopping.",
                (Self::Stop, _) => "It isn't running.",
                (Self::Restart, _) => "It's already restarting.",
                (Self::Delete, _) => "It's already being deleted.",
                _ => "Nothing to change.",
            }),
        }
    }

    /// What is done, as the start of a sentence: `Start`, `Rebuild`.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Create => "Creation",
            Self::Start => "Start",
            Self::Stop => "Stop",
            Self::Restart => "Restart",
            Self::Rebuild => "Rebuild",
            Self::Resize => "Change of size",
            Self::Transfer => "Transfer",
            Self::Delete => "Deletion",
            Self::Configure => "Change of settings",
            Self::Open => "Opening",
            Self::Submit => "Submission",
        }
    }
}

crate::keyed_enum! {
    /// The states of a cluster that people see.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum ClusterState {
        /// As many nodes as it goes for.
        Steady = "steady";
        /// Nodes are coming or going.
        Resizing = "resizing";
        Paused = "paused";
        Deleting = "deleting";
    }
}

/// What can be done to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClusterVerb {
    /// Minimum, maximum, idle time, schedules.
    Scale,
    Pause,
    Resume,
    Submit,
    Delete,
}

impl ClusterVerb {
    pub const ALL: [Self; 5] = [Self::Scale, Self::Pause, Self::Resume, Self::Submit, Self::Delete];

    /// Its row in the table.
    pub const fn verb(self) -> Verb {
        match self {
            Self::Scale => Verb::ScaleCluster,
            Self::Pause => Verb::PauseCluster,
            Self::Resume => Verb::ResumeCluster,
            Self::Submit => Verb::SubmitToCluster,
            Self::Delete => Verb::DeleteCluster,
        }
    }

    /// The name in the API.
    pub const fn key(self) -> &'static str {
        self.verb().key()
    }

    /// What it does in that state.
    pub const fn in_state(self, state: ClusterState) -> Legality {
        use ClusterState as S;
        use Legality::{Already, Later, No, Yes};
        match (self, state) {
            (Self::Delete, S::Deleting) => Already,
            (Self::Delete, _) => Yes,
            (_, S::Deleting) => No("It is being deleted."),
            (Self::Scale, _) => Yes,
            (Self::Pause, S::Paused) => Already,
            (Self::Pause, _) => Yes,
            (Self::Resume, S::Paused) => Yes,
            (Self::Resume, _) => Already,
            (Self::Submit, S::Paused) => Later,
            (Self::Submit, _) => Yes,
        }
    }
}

/// What can be done to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobVerb {
    Cancel,
    Prioritise,
    /// Keep it from starting.
    Hold,
    /// Let it start again.
    Release,
    /// Change its place in the queue.
    Move,
    /// End it as if its node were taken back.
    Evict,
}

impl JobVerb {
    pub const ALL: [Self; 6] = [Self::Cancel, Self::Prioritise, Self::Hold, Self::Release, Self::Move, Self::Evict];

    /// Its row in the table.
    pub const fn verb(self) -> Verb {
        match self {
            Self::Cancel => Verb::CancelJob,
            Self::Prioritise => Verb::PrioritiseJob,
            Self::Hold => Verb::HoldJob,
            Self::Release => Verb::ReleaseJob,
            Self::Move => Verb::MoveJob,
            Self::Evict => Verb::EvictJob,
        }
    }

    /// The name in the API.
    pub const fn key(self) -> &'static str {
        self.verb().key()
    }

    /// What it does in that state.
    pub const fn in_state(self, state: JobState) -> Legality {
        use JobState as S;
        use Legality::{Already, No, Yes};
        match self {
            Self::Cancel => match state {
                S::Canceled | S::CancelRequested => Already,
                S::Completed | S::Failed => No("It is over."),
                _ => Yes,
            },
            Self::Hold => match state {
                S::Queued => Yes,
                S::Completed | S::Failed | S::Canceled => No("It is over."),
                _ => No("It has left the queue. Cancel it if it is not to run."),
            },
            Self::Evict => match state {
                S::Starting | S::Running => Yes,
                S::Queued => No("It does not run yet."),
                S::Completed | S::Failed | S::Canceled => No("It is over."),
                S::NotResponding => Already,
                S::Finalizing | S::CancelRequested => No("It is ending already."),
            },
            // What has left the queue is not held.
            Self::Release => match state {
                S::Queued => Yes,
                S::Completed | S::Failed | S::Canceled => No("It is over."),
                _ => Already,
            },
            Self::Prioritise | Self::Move => match state {
                S::Queued => Yes,
                S::Completed | S::Failed | S::Canceled => No("It is over."),
                _ => No("It has left the queue."),
            },
        }
    }
}

/// What can be done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeVerb {
    /// Take it back, with notice to what runs there.
    Evict,
}

impl NodeVerb {
    pub const ALL: [Self; 1] = [Self::Evict];

    /// Its row in the table.
    pub const fn verb(self) -> Verb {
        match self {
            Self::Evict => Verb::EvictNode,
        }
    }

    /// The name in the API.
    pub const fn key(self) -> &'static str {
        self.verb().key()
    }

    /// Why it can't be used on a node of that holder in that state; none if it can.
    pub const fn why_not(self, holder: Holder, state: NodeState) -> Option<&'static str> {
        match (self, holder, state) {
            (Self::Evict, Holder::Instance(_), _) => Some("It belongs to an instance. Stop the instance instead."),
            (Self::Evict, _, NodeState::Preempted) => Some("It's already being evicted."),
            (Self::Evict, _, NodeState::Preparing | NodeState::Idle | NodeState::Running) => None,
            (Self::Evict, _, NodeState::Leaving | NodeState::Unusable) => None,
        }
    }
}

impl ClusterVerb {
    /// Why it can't be used in that state; none if it can.
    pub const fn why_not(self, state: ClusterState) -> Option<&'static str> {
        match self.in_state(state) {
            Legality::Yes | Legality::Later => None,
            Legality::No(help) => Some(help),
            Legality::Already => Some(match self {
                Self::Delete => "It's already being deleted.",
                Self::Pause => "It's already paused.",
                _ => "It isn't paused.",
            }),
        }
    }

    /// Whose thing it touches: jobs are one's own, clusters are everybody's.
    pub const fn whose(self) -> Whose {
        match self {
            Self::Submit => Whose::Own,
            _ => Whose::Others,
        }
    }
}

impl JobVerb {
    /// Why it can't be used on a job in that state, held or not; none if it can.
    pub const fn why_not(self, state: JobState, is_held: bool) -> Option<&'static str> {
        match (self, self.in_state(state)) {
            (_, Legality::No(help)) => Some(help),
            (Self::Cancel, Legality::Already) => Some("It's already canceled, or being canceled."),
            (Self::Evict, Legality::Already) => Some("Its node doesn't respond, so it's evicted already."),
            (_, Legality::Already) => Some("It isn't held."),
            (Self::Hold, _) if is_held => Some("It's already held."),
            (Self::Release, _) if !is_held => Some("It isn't held."),
            _ => None,
        }
    }

    /// Why nothing is done to an array to none of whose jobs it can be done.
    pub const fn none_fits(self) -> &'static str {
        match self {
            Self::Cancel => "All jobs of this array have ended.",
            Self::Hold => "No queued job of this array is left to hold.",
            Self::Release => "No job of this array is held.",
            Self::Evict => "No job of this array is running.",
            Self::Prioritise | Self::Move => "No job of this array is queued.",
        }
    }
}
