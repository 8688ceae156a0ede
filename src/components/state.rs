//! The state of a thing: the word first, the shape second, the colour third.

use atelier_domain::account::AccountState;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::job::JobState;
use atelier_domain::compute::node::NodeState;
use atelier_domain::compute::verb::ClusterState;
use leptos::prelude::*;

use crate::components::icon::Glyph;

/// Every state that the portal shows, in one table with its word, shape and colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateWord {
    /// A person whose browser asked for something in the last minutes.
    Online,
    /// A person who is not here at the moment.
    Away,
    /// An account whose temporary password has not been replaced yet.
    Waiting,
    /// A disabled account.
    Disabled,
    /// The session that asks.
    ThisSession,
    /// Another session that is alive.
    Active,
    /// A node or a job that works.
    Running,
    /// A node without a job.
    Idle,
    /// A node on its way.
    Preparing,
    /// A node on its way out.
    Leaving,
    /// A node that doesn't answer.
    Unusable,
    /// A node that was taken back.
    Preempted,
    /// A cluster with as many nodes as it goes for.
    Steady,
    /// A cluster whose nodes come or go.
    Resizing,
    /// An instance that is being given to its new owner.
    Transferring,
    /// A cluster that starts nothing.
    Paused,
    /// A cluster that is going.
    Deleting,
    /// A job that waits.
    Queued,
    /// A job that its nodes start.
    Starting,
    /// A job whose outputs are collected.
    Finalizing,
    /// A job that is being ended.
    CancelRequested,
    /// A job of which a node is lost.
    NotResponding,
    /// A job that ended well.
    Completed,
    /// A job that ended otherwise.
    Failed,
    /// A job that was canceled.
    Canceled,
    /// An instance whose first node is on its way.
    Creating,
    /// An instance that Atelier sets up.
    SettingUp,
    /// An instance whose scripts run.
    RunningScripts,
    /// An instance on which jobs run.
    JobRunning,
    /// An instance whose node leaves.
    Stopping,
    /// An instance without a node.
    Stopped,
    /// An instance whose applications start again.
    Restarting,
    /// An instance that never had a node.
    CreationFailed,
    /// An instance that could not be set up.
    SetUpFailed,
    /// An instance whose scripts failed.
    ScriptsFailed,
    /// An instance whose node is silent.
    Unknown,
}

impl StateWord {
    pub const ALL: [Self; 36] = [
        Self::Online,
        Self::Away,
        Self::Waiting,
        Self::Disabled,
        Self::ThisSession,
        Self::Active,
        Self::Running,
        Self::Idle,
        Self::Preparing,
        Self::Leaving,
        Self::Unusable,
        Self::Preempted,
        Self::Steady,
        Self::Resizing,
        Self::Transferring,
        Self::Paused,
        Self::Deleting,
        Self::Queued,
        Self::Starting,
        Self::Finalizing,
        Self::CancelRequested,
        Self::NotResponding,
        Self::Completed,
        Self::Failed,
        Self::Canceled,
        Self::Creating,
        Self::SettingUp,
        Self::RunningScripts,
        Self::JobRunning,
        Self::Stopping,
        Self::Stopped,
        Self::Restarting,
        Self::CreationFailed,
        Self::SetUpFailed,
        Self::ScriptsFailed,
        Self::Unknown,
    ];

    /// The state of a person in a list of people.
    pub const fn of_person(state: AccountState, is_online: bool) -> Self {
        match (state, is_online) {
            (AccountState::Disabled, _) => Self::Disabled,
            (AccountState::Waiting, _) => Self::Waiting,
            (AccountState::Active, true) => Self::Online,
            (AccountState::Active, false) => Self::Away,
        }
    }

    /// The state of a cluster.
    pub const fn of_cluster(state: ClusterState) -> Self {
        match state {
            ClusterState::Steady => Self::Steady,
            ClusterState::Resizing => Self::Resizing,
            ClusterState::Paused => Self::Paused,
            ClusterState::Deleting => Self::Deleting,
        }
    }

    /// The state of a node.
    pub const fn of_node(state: NodeState) -> Self {
        match state {
            NodeState::Preparing => Self::Preparing,
            NodeState::Idle => Self::Idle,
            NodeState::Running => Self::Running,
            NodeState::Leaving => Self::Leaving,
            NodeState::Unusable => Self::Unusable,
            NodeState::Preempted => Self::Preempted,
        }
    }

    /// The state of a job.
    pub const fn of_job(state: JobState) -> Self {
        match state {
            JobState::Queued => Self::Queued,
            JobState::Starting => Self::Starting,
            JobState::Running => Self::Running,
            JobState::Finalizing => Self::Finalizing,
            JobState::CancelRequested => Self::CancelRequested,
            JobState::NotResponding => Self::NotResponding,
            JobState::Completed => Self::Completed,
            JobState::Failed => Self::Failed,
            JobState::Canceled => Self::Canceled,
        }
    }

    /// The state of an instance.
    pub const fn of_instance(state: InstanceState) -> Self {
        match state {
            InstanceState::Creating => Self::Creating,
            InstanceState::SettingUp => Self::SettingUp,
            InstanceState::UserSettingUp => Self::RunningScripts,
            InstanceState::Running => Self::Running,
            InstanceState::JobRunning => Self::JobRunning,
            InstanceState::Stopping => Self::Stopping,
            InstanceState::Stopped => Self::Stopped,
            InstanceState::Starting => Self::Starting,
            InstanceState::Restarting => Self::Restarting,
            InstanceState::Resizing => Self::Resizing,
            InstanceState::Transferring => Self::Transferring,
            InstanceState::Deleting => Self::Deleting,
            InstanceState::CreateFailed => Self::CreationFailed,
            InstanceState::SetupFailed => Self::SetUpFailed,
            InstanceState::UserSetupFailed => Self::ScriptsFailed,
            InstanceState::Unusable => Self::Unusable,
            InstanceState::Unknown => Self::Unknown,
        }
    }

    /// The shape and the value of `data-state`, for what is drawn without a word.
    pub(super) const fn drawn(self) -> (&'static str, &'static str) {
        let (_, glyph, colour) = self.row();
        (glyph, colour)
    }

    /// The word for people.
    pub const fn word(self) -> &'static str {
        self.row().0
    }

    /// The word, the glyph and the value of `data-state`, which chooses the colour.
    const fn row(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Online => ("Online", "running", "online"),
            Self::Away => ("Away", "idle", "away"),
            Self::Waiting => ("Waiting for first sign-in", "queued", "queued"),
            Self::Disabled => ("Disabled", "denied", "disabled"),
            Self::ThisSession => ("This session", "running", "online"),
            Self::Active => ("Active", "idle", "away"),
            Self::Running => ("Running", "running", "running"),
            Self::Idle => ("Idle", "idle", "idle"),
            Self::Preparing => ("Preparing", "starting", "preparing"),
            Self::Leaving => ("Leaving", "leaving", "leaving"),
            Self::Unusable => ("Unusable", "failed", "unusable"),
            Self::Preempted => ("Preempted", "preempted", "preempted"),
            Self::Steady => ("Steady", "running", "running"),
            Self::Resizing => ("Resizing", "starting", "starting"),
            Self::Transferring => ("Changing hands", "starting", "starting"),
            Self::Paused => ("Paused", "warning", "warning"),
            Self::Deleting => ("Deleting", "leaving", "leaving"),
            Self::Queued => ("Queued", "queued", "queued"),
            Self::Starting => ("Starting", "starting", "starting"),
            Self::Finalizing => ("Finalizing", "starting", "starting"),
            Self::CancelRequested => ("Canceling", "leaving", "leaving"),
            Self::NotResponding => ("Not responding", "unknown", "unknown"),
            Self::Completed => ("Completed", "succeeded", "succeeded"),
            Self::Failed => ("Failed", "failed", "failed"),
            Self::Canceled => ("Canceled", "canceled", "canceled"),
            Self::Creating => ("Creating", "starting", "starting"),
            Self::SettingUp => ("Setting up", "starting", "starting"),
            Self::RunningScripts => ("Running scripts", "starting", "starting"),
            Self::JobRunning => ("Running jobs", "busy", "running"),
            Self::Stopping => ("Stopping", "stopping", "stopping"),
            Self::Stopped => ("Stopped", "stopped", "stopped"),
            Self::Restarting => ("Restarting", "starting", "starting"),
            Self::CreationFailed => ("Creation failed", "failed", "failed"),
            Self::SetUpFailed => ("Set-up failed", "failed", "failed"),
            Self::ScriptsFailed => ("Scripts failed", "failed", "failed"),
            Self::Unknown => ("Unknown", "unknown", "unknown"),
        }
    }
}

/// A state with its glyph, and the reason under it.
#[component]
pub fn StateTag(
    state: StateWord,
    /// As a pill, for headings.
    #[prop(optional)]
    pill: bool,
    /// Why it is so, in small type under the word.
    #[prop(optional, into)]
    reason: String,
) -> AnyView {
    let (word, glyph, colour) = state.row();
    let class = if pill { "state pill" } else { "state" };
    let reason = (!reason.is_empty()).then(|| view! { <span class="l2">{reason}</span> });
    html! { <span class=class data-state=colour><Glyph name=glyph/>{word}</span>{reason} }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::testing::html;

    #[test]
    fn no_two_states_look_the_same_and_say_the_same() {
        for (index, state) in StateWord::ALL.iter().enumerate() {
            for other in &StateWord::ALL[index + 1..] {
                assert_ne!(state.word(), other.word());
            }
        }
    }

    #[test]
    fn the_word_the_shape_and_the_reason_are_there() {
        let tag = html(|| view! { <StateTag state=StateWord::Disabled reason="By Ines, <14:02>"/> });
        assert!(tag.contains(r#"data-state="disabled""#), "{tag}");
        assert!(tag.contains("#g-denied"), "{tag}");
        assert!(tag.contains("Disabled"), "{tag}");
        assert!(tag.contains("By Ines, &lt;14:02&gt;"), "{tag}");
        let pill = html(|| view! { <StateTag state=StateWord::Online pill=true/> });
        assert!(pill.contains(r#"class="state pill""#) && !pill.contains("l2"), "{pill}");
    }

    #[test]
    fn an_account_that_cannot_sign_in_is_never_shown_as_online() {
        assert_eq!(StateWord::of_person(AccountState::Disabled, true), StateWord::Disabled);
        assert_eq!(StateWord::of_person(AccountState::Waiting, true), StateWord::Waiting);
        assert_eq!(StateWord::of_person(AccountState::Active, true), StateWord::Online);
        assert_eq!(StateWord::of_person(AccountState::Active, false), StateWord::Away);
    }
}
