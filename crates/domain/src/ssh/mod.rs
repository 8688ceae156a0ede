//! The way in by SSH: which keys are taken, whom a user name means, and what people are told who are not let
//! in.

#[cfg(feature = "keys")]
mod key;

#[cfg(feature = "keys")]
pub use key::{KeyName, Kind, PublicKey};

use crate::compute::instance::InstanceState;
use crate::text::counted;

/// The longest text of a key: an RSA key of 16,384 bits has some 2,800 characters.
pub const MAX_KEY_TEXT: usize = 8 << 10;
/// How many keys one person may have.
pub const MAX_KEYS: u64 = 20;
/// The longest name of a key.
pub const MAX_NAME: usize = 64;
/// The port that people know.
pub const PORT: u16 = 2222;

/// Why a key was not added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyRefusal {
    /// There are as many as one may have.
    #[error(
        "There are {} already, and that is the most. Remove one that is not needed any more.",
        counted(MAX_KEYS, "key", "keys")
    )]
    TooMany,
    /// One has it already.
    #[error("You have this key already: it is called “{0}”.")]
    Own(String),
    /// Somebody else has it.
    #[error(
        "This key belongs to another account, and a key leads to one account alone. Make a new one with ssh-keygen -t \
         ed25519."
    )]
    Others,
}

impl KeyRefusal {
    pub const fn code(&self) -> &'static str {
        match self {
            Self::TooMany => "ssh-key.too-many",
            Self::Own(_) => "ssh-key.known",
            Self::Others => "ssh-key.taken",
        }
    }
}

/// Which instance a user name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The workspace's short name, if it was said.
    pub workspace: Option<String>,
    pub instance: String,
}

impl Address {
    /// Reads a user name: `instance`, `workspace+instance` or `instance--workspace`.
    pub fn parse(user: &str) -> Self {
        let parts = user.split_once('+').or_else(|| user.rsplit_once("--").map(|(instance, slug)| (slug, instance)));
        match parts {
            Some((workspace, instance)) if !workspace.is_empty() && !instance.is_empty() => {
                Self { workspace: Some(workspace.to_owned()), instance: instance.to_owned() }
            }
            _ => Self { workspace: None, instance: user.to_owned() },
        }
    }
}

/// Why somebody whose key is known does not get any further. The first two are for people who have shown no
/// key that counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotLetIn {
    /// Nobody has that key.
    #[error("This key is not known here. Add its public half under Profile → SSH keys: {profile}")]
    UnknownKey { profile: String },
    #[error(
        "The key “{name}” was removed from its owner’s profile, and opens nothing any more. Use another one, or add it \
         again under Profile → SSH keys: {profile}"
    )]
    RemovedKey {
        /// What it was called.
        name: String,
        /// Where it can be added.
        profile: String,
    },
    #[error("There were too many failed tries from {address}. Try again in {minutes} min.")]
    Paused { address: String, minutes: u64 },
    /// Its owner cannot sign in.
    #[error(
        "The account of this key is disabled, or still has its temporary password. An Owner of the workspace can help."
    )]
    Account,
    /// There is none, or it is somebody else's: which of the two is nobody's business.
    #[error(
        "There is no instance “{instance}”, or it is not yours. The user name is the name of one of your instances: \
         ssh NAME@…"
    )]
    NotYours {
        /// What was asked for.
        instance: String,
    },
    /// The right is missing.
    #[error("Your roles do not let you open instances. An Owner of the workspace can change that.")]
    NoRight,
    #[error("SSH is off for “{instance}”. Switch it on on its page: {page}")]
    Off { instance: String, page: String },
    /// It cannot be used now.
    #[error("“{instance}” is {state}. {next} {page}")]
    Asleep {
        instance: String,
        /// Where it stands, for people.
        state: String,
        /// What to do about it.
        next: &'static str,
        page: String,
    },
}

impl NotLetIn {
    /// Whether an instance in that state can be entered; if not, what its owner is told.
    pub fn asleep(instance: &str, state: InstanceState, page: &str) -> Option<Self> {
        use InstanceState as S;
        let next = match state {
            // A failed set-up can be mended in a terminal, so also from here.
            S::Running | S::JobRunning | S::SetupFailed | S::UserSetupFailed => return None,
            S::Stopped => "Start it on its page, then connect again:",
            S::Creating | S::SettingUp | S::UserSettingUp | S::Starting | S::Restarting => {
                "Connect again when it runs; its page shows how far it is:"
            }
            S::Stopping | S::Resizing | S::Transferring => "Start it on its page when that is done:",
            S::Deleting | S::CreateFailed => "It cannot be used any more:",
            S::Unusable | S::Unknown => "Its node does not answer; its page says more:",
        };
        let state = state.key().replace('-', " ");
        Some(Self::Asleep { instance: instance.to_owned(), state, next, page: page.to_owned() })
    }
}

/// An amount of data for people, with one decimal from kilobytes on.
pub fn amount(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1_024 {
        return format!("{bytes} B");
    }
    let mut unit = 0;
    let mut tenths = u128::from(bytes) * 10 / 1_024;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1_024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// The variables that a client may set: those that say how it shows text.
pub fn is_allowed_variable(name: &str, value: &str) -> bool {
    let is_known = matches!(name, "LANG" | "LANGUAGE" | "COLORTERM" | "TZ") || name.starts_with("LC_");
    let is_plain = name.len() <= 32 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_known && is_plain && value.len() <= 128 && value.chars().all(|c| !c.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_mean_instances() {
        let read = |text: &str| {
            let Address { workspace, instance } = Address::parse(text);
            (workspace.unwrap_or_default(), instance)
        };
        for (user, workspace, instance) in [
            ("desk", "", "desk"),
            ("perception+desk", "perception", "desk"),
            ("desk--perception", "perception", "desk"),
            ("my--desk--perception", "perception", "my--desk"),
            ("+desk", "", "+desk"),
            ("--", "", "--"),
            ("", "", ""),
        ] {
            assert_eq!(read(user), (workspace.to_owned(), instance.to_owned()), "{user}");
        }
    }

    #[test]
    fn only_a_state_that_can_be_used_lets_in_and_every_other_says_what_to_do() {
        for state in &InstanceState::ALL {
            let is_open = matches!(
                state,
                InstanceState::Running
                    | InstanceState::JobRunning
                    | InstanceState::SetupFailed
                    | InstanceState::UserSetupFailed
            );
            let told = NotLetIn::asleep("desk", *state, "https://atelier.example.org/desk");
            assert_eq!(told.is_none(), is_open, "{}", state.key());
        }
        let told = NotLetIn::asleep("desk", InstanceState::Stopped, "https://x/desk").expect("asleep").to_string();
        assert_eq!(told, "“desk” is stopped. Start it on its page, then connect again: https://x/desk");
    }

    #[test]
    fn amounts_have_a_unit() {
        let said =
            [(0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (3 << 20, "3.0 MiB"), (1_610_612_736, "1.5 GiB")];
        for (bytes, words) in said {
            assert_eq!(amount(bytes), words);
        }
    }

    #[test]
    fn variables_that_change_what_runs_are_not_taken() {
        assert!(is_allowed_variable("LANG", "de_DE.UTF-8") && is_allowed_variable("LC_ALL", "C"));
        for name in ["LD_PRELOAD", "PATH", "HOME", "LC_A=B", "BASH_ENV", "lang"] {
            assert!(!is_allowed_variable(name, "x"), "{name}");
        }
        assert!(!is_allowed_variable("LANG", "a\nb") && !is_allowed_variable("LANG", &"x".repeat(200)));
    }
}
