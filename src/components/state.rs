//! The state of a thing: the word first, the shape second, the colour third.

use atelier_domain::account::AccountState;
use atelier_domain::compute::instance::InstanceState;
use atelier_domain::compute::job::JobState;
use atelier_domain::compute::node::NodeState;
use atelier_domain::compute::verb::ClusterState;
use leptos::prelude::*;

use crate::components::icon::Glyph;

/// Makes the enum out of its one table.
macro_rules! states {
    ($($state:ident, $word:literal, $glyph:literal, $colour:literal;)*) => {
        /// Every state that the portal shows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum StateWord {
            $($state),*
        }

        impl StateWord {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$state),*];

            /// The word, the glyph and the value of `data-state`, which chooses the colour.
            const fn row(self) -> (&'static str, &'static str, &'static str) {
                match self {
                    $(Self::$state => ($word, $glyph, $colour)),*
                }
            }
        }
    };
}

states! {
    Online, "Online", "running", "online";
    Away, "Away", "idle", "away";
    Waiting, "Waiting for first sign-in", "queued", "queued";
    Disabled, "Disabled", "denied", "disabled";
    ThisSession, "This session", "running", "online";
    Active, "Active", "idle", "away";
    Running, "Running", "running", "running";
    Idle, "Idle", "idle", "idle";
    Preparing, "Preparing", "starting", "preparing";
    Leaving, "Leaving", "leaving", "leaving";
    Unusable, "Unusable", "failed", "unusable";
    Preempted, "Preempted", "preempted", "preempted";
    Steady, "Steady", "running", "running";
    Resizing, "Resizing", "starting", "starting";
    Transferring, "Changing hands", "starting", "starting";
    Paused, "Paused", "warning", "warning";
    Deleting, "Deleting", "leaving", "leaving";
    Queued, "Queued", "queued", "queued";
    Starting, "Starting", "starting", "starting";
    Finalizing, "Finalizing", "starting", "starting";
    CancelRequested, "Canceling", "leaving", "leaving";
    NotResponding, "Not responding", "unknown", "unknown";
    Completed, "Completed", "succeeded", "succeeded";
    Failed, "Failed", "failed", "failed";
    Canceled, "Canceled", "canceled", "canceled";
    Creating, "Creating", "starting", "starting";
    SettingUp, "Setting up", "starting", "starting";
    RunningScripts, "Running scripts", "starting", "starting";
    JobRunning, "Running jobs", "busy", "running";
    Stopping, "Stopping", "stopping", "stopping";
    Stopped, "Stopped", "stopped", "stopped";
    Restarting, "Restarting", "starting", "starting";
    CreationFailed, "Creation failed", "failed", "failed";
    SetUpFailed, "Set-up failed", "failed", "failed";
    ScriptsFailed, "Scripts failed", "failed", "failed";
    Unknown, "Unknown", "unknown", "unknown";
}

impl StateWord {
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
