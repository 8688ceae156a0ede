//! What happened: a closed list of events, each of which can say itself as a sentence.
//!
//! The history is append-only and written in the same transaction as the change. An event keeps the names as they
//! were, so that a sentence stays true after somebody is renamed.

use serde::{Deserialize, Serialize};

use crate::access::Role;
use crate::id::UserId;
use crate::text::and_list;

/// Who did something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Actor {
    /// A person, by the name borne then.
    Person {
        /// The account.
        id: UserId,
        /// The name at that time.
        name: String,
    },
    /// Somebody with a shell on the server, through the command line.
    Console,
    /// Atelier itself.
    System,
}

impl Actor {
    /// The name for people.
    pub fn name(&self) -> &str {
        match self {
            Self::Person { name, .. } => name,
            Self::Console => "Server console",
            Self::System => "Atelier",
        }
    }
}

/// The person something was done to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// The account.
    pub id: UserId,
    /// The name at that time.
    pub name: String,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum Event {
    /// The first account was made and the workspace with it.
    SetUp {
        /// The workspace's display name.
        workspace: String,
    },
    /// An account was made.
    PersonCreated {
        /// Its roles.
        roles: Vec<Role>,
    },
    /// Roles were changed.
    RolesChanged {
        /// Before.
        from: Vec<Role>,
        /// After.
        to: Vec<Role>,
    },
    /// An account was disabled.
    PersonDisabled {
        /// Sessions that were ended by it.
        sessions_ended: u64,
    },
    /// An account was enabled again.
    PersonEnabled,
    /// A temporary password was set by somebody else.
    PasswordReset {
        /// Sessions that were ended by it.
        sessions_ended: u64,
    },
    /// The person chose a new password.
    PasswordChanged {
        /// Other sessions that were ended by it.
        sessions_ended: u64,
    },
    /// The person changed the own name, time zone or theme.
    ProfileChanged,
    /// The person signed in.
    SignedIn {
        /// The network address it came from.
        address: String,
    },
    /// The person signed out.
    SignedOut,
    /// The person ended sessions of their own.
    SessionsEnded {
        /// How many.
        count: u64,
    },
    /// Too many failed sign-ins; the account is paused.
    SignInPaused {
        /// Failures that led to it.
        failures: u32,
        /// The network address of the last one.
        address: String,
    },
}

/// What a live page watches. An event belongs to one topic or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topic {
    /// Accounts and roles.
    People,
    /// The history.
    History,
}

impl Topic {
    /// Every topic.
    pub const ALL: [Self; 2] = [Self::People, Self::History];

    /// The name in the event stream.
    pub const fn key(self) -> &'static str {
        match self {
            Self::People => "people",
            Self::History => "history",
        }
    }

    /// The topic of that key, if there is one.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|topic| topic.key() == key)
    }

    /// The right that one needs to be told of it.
    pub const fn needs(self) -> crate::access::Action {
        match self {
            Self::People => crate::access::Action::MemberRead,
            Self::History => crate::access::Action::HistoryRead,
        }
    }
}

impl Event {
    /// The stable name of the kind of event, for filters and the API.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::SetUp { .. } => "set-up",
            Self::PersonCreated { .. } => "person-created",
            Self::RolesChanged { .. } => "roles-changed",
            Self::PersonDisabled { .. } => "person-disabled",
            Self::PersonEnabled => "person-enabled",
            Self::PasswordReset { .. } => "password-reset",
            Self::PasswordChanged { .. } => "password-changed",
            Self::ProfileChanged => "profile-changed",
            Self::SignedIn { .. } => "signed-in",
            Self::SignedOut => "signed-out",
            Self::SessionsEnded { .. } => "sessions-ended",
            Self::SignInPaused { .. } => "sign-in-paused",
        }
    }

    /// What happened as a sentence without its actor: "disabled Mara Lindqvist and ended 2 sessions".
    pub fn sentence(&self, subject: Option<&Subject>) -> String {
        let whom = subject.map_or("somebody", |subject| subject.name.as_str());
        match self {
            Self::SetUp { workspace } => format!("set up this server with the workspace {workspace}"),
            Self::PersonCreated { roles } => format!("added {whom} as {}", labels(roles)),
            Self::RolesChanged { from, to } => {
                format!("changed the roles of {whom} from {} to {}", labels(from), labels(to))
            }
            Self::PersonDisabled { sessions_ended } => format!("disabled {whom}{}", ended(*sessions_ended)),
            Self::PersonEnabled => format!("enabled {whom} again"),
            Self::PasswordReset { sessions_ended } => format!("reset the password of {whom}{}", ended(*sessions_ended)),
            Self::PasswordChanged { sessions_ended } => format!("chose a new password{}", ended(*sessions_ended)),
            Self::ProfileChanged => "changed the own profile".into(),
            Self::SignedIn { address } => format!("signed in from {address}"),
            Self::SignedOut => "signed out".into(),
            Self::SessionsEnded { count } => {
                format!("ended {} of their own", crate::text::counted(*count, "session", "sessions"))
            }
            Self::SignInPaused { failures, address } => {
                format!("paused sign-in of {whom} after {failures} failed tries, the last from {address}")
            }
        }
    }

    /// Which live pages show it.
    pub const fn topics(&self) -> &'static [Topic] {
        match self {
            Self::SetUp { .. }
            | Self::PersonCreated { .. }
            | Self::RolesChanged { .. }
            | Self::PersonDisabled { .. }
            | Self::PersonEnabled
            | Self::PasswordReset { .. }
            | Self::PasswordChanged { .. }
            | Self::ProfileChanged
            | Self::SignedIn { .. } => &[Topic::People, Topic::History],
            Self::SignedOut | Self::SessionsEnded { .. } | Self::SignInPaused { .. } => &[Topic::History],
        }
    }
}

fn labels(roles: &[Role]) -> String {
    let names: Vec<&str> = roles.iter().map(|role| role.label()).collect();
    if names.is_empty() { "no role".into() } else { and_list(&names) }
}

fn ended(sessions: u64) -> String {
    if sessions == 0 {
        String::new()
    } else {
        format!(" and ended {}", crate::text::counted(sessions, "session", "sessions"))
    }
}
