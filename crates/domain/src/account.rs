//! Accounts: the states of a person's account, what an administrator may do in each, and the rules that hold.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

crate::keyed_enum! {
    /// How a person wants the portal to look.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub enum Theme {
        /// As the system says.
        #[default]
        System = "system", "As the system";
        Light = "light", "Light";
        Dark = "dark", "Dark";
    }
}

/// What else ends when a password is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Personal tokens.
    pub tokens: bool,
    /// Keys for SSH.
    pub ssh_keys: bool,
}

/// So many were ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The tokens, by their ids.
    pub tokens: Vec<crate::TokenId>,
    pub ssh_keys: u64,
}

impl Ended {
    /// The rest of a sentence: ` 2 tokens were revoked and 1 SSH key was removed.`; nothing if nothing ended.
    pub fn said(&self) -> String {
        let tokens = match self.tokens.len() as u64 {
            0 => None,
            1 => Some("1 token was revoked".to_owned()),
            count => Some(format!("{count} tokens were revoked")),
        };
        let keys = match self.ssh_keys {
            0 => None,
            1 => Some("1 SSH key was removed".to_owned()),
            count => Some(format!("{count} SSH keys were removed")),
        };
        let all: Vec<String> = tokens.into_iter().chain(keys).collect();
        if all.is_empty() { String::new() } else { format!(" {}.", all.join(" and ")) }
    }
}

crate::keyed_enum! {
    /// Where an account stands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum AccountState {
        /// Has a temporary password and must choose an own one at the next sign-in.
        Waiting = "waiting";
        Active = "active";
        /// May not sign in; everything the person owns is kept.
        Disabled = "disabled";
    }
}

crate::keyed_enum! {
    /// What an administrator may do to an account.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    pub enum AccountVerb {
        /// Shut the person out at once.
        Disable = "disable";
        /// Let the person in again.
        Enable = "enable";
        /// Replace the password by a temporary one and end all sessions.
        ResetPassword = "reset-password";
    }
}

impl AccountVerb {
    /// The states in which the verb is legal. Page and server read the same table.
    pub const fn legal_in(self) -> &'static [AccountState] {
        match self {
            Self::Disable | Self::ResetPassword => &[AccountState::Waiting, AccountState::Active],
            Self::Enable => &[AccountState::Disabled],
        }
    }
}

/// What the rules need to know of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    pub state: AccountState,
    /// Whether it holds the role Owner.
    pub is_owner: bool,
    /// Whether it is the actor's own.
    pub is_self: bool,
}

/// Why an account is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Refusal {
    /// Nobody could manage people any more.
    #[error("This is the last Owner who can sign in. Give the role Owner to somebody else first.")]
    LastOwner,
    /// One cannot shut oneself out.
    #[error("This is your own account. Ask another Owner to disable it.")]
    OwnAccount,
    /// One changes one's own password in the profile.
    #[error("This is your own account. Change your password in your profile.")]
    OwnPassword,
    /// Disable or reset an account that is disabled.
    #[error("The account is disabled already; nobody can sign in with it. Enable it first to change it.")]
    AlreadyDisabled,
    /// Enable one that is not.
    #[error("The account is not disabled, so there is nothing to enable.")]
    NotDisabled,
}

impl Refusal {
    /// The stable code of the reason.
    pub const fn code(self) -> &'static str {
        match self {
            Self::LastOwner => "account.last-owner",
            Self::OwnAccount => "account.own-account",
            Self::OwnPassword => "account.own-password",
            Self::AlreadyDisabled => "account.already-disabled",
            Self::NotDisabled => "account.not-disabled",
        }
    }
}

/// Judges a verb on one account. `owners_who_can_sign_in` counts the Owners that are not disabled, this one
/// included.
pub fn judge(verb: AccountVerb, standing: Standing, owners_who_can_sign_in: u64) -> Result<(), Refusal> {
    if !verb.legal_in().contains(&standing.state) {
        return Err(match verb {
            AccountVerb::Disable | AccountVerb::ResetPassword => Refusal::AlreadyDisabled,
            AccountVerb::Enable => Refusal::NotDisabled,
        });
    }
    match verb {
        AccountVerb::Disable if standing.is_owner && owners_who_can_sign_in <= 1 => Err(Refusal::LastOwner),
        AccountVerb::Disable if standing.is_self => Err(Refusal::OwnAccount),
        AccountVerb::ResetPassword if standing.is_self => Err(Refusal::OwnPassword),
        AccountVerb::Disable | AccountVerb::Enable | AccountVerb::ResetPassword => Ok(()),
    }
}

/// Judges a change of roles that would leave the account with or without the role Owner.
pub fn judge_roles(standing: Standing, stays_owner: bool, owners_who_can_sign_in: u64) -> Result<(), Refusal> {
    let counts = standing.is_owner && standing.state != AccountState::Disabled;
    if counts && !stays_owner && owners_who_can_sign_in <= 1 { Err(Refusal::LastOwner) } else { Ok(()) }
}

/// How long after the last request somebody counts as being here.
pub const ONLINE: crate::time::Span = crate::time::Span::minutes(3);

/// Whether somebody was seen lately enough to be called online.
pub fn is_online(seen_at: Option<Timestamp>, now: Timestamp) -> bool {
    seen_at.is_some_and(|seen_at| now.since(seen_at) < ONLINE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn standing(state: AccountState, is_owner: bool, is_self: bool) -> Standing {
        Standing { state, is_owner, is_self }
    }

    #[test]
    fn the_last_owner_stays() {
        let last = standing(AccountState::Active, true, false);
        assert_eq!(judge(AccountVerb::Disable, last, 1), Err(Refusal::LastOwner));
        assert_eq!(judge(AccountVerb::Disable, last, 2), Ok(()));
        assert_eq!(judge_roles(last, false, 1), Err(Refusal::LastOwner));
        assert_eq!(judge_roles(last, true, 1), Ok(()));
        assert_eq!(judge_roles(standing(AccountState::Disabled, true, false), false, 1), Ok(()));
    }

    #[test]
    fn nobody_shuts_oneself_out() {
        let me = standing(AccountState::Active, true, true);
        assert_eq!(judge(AccountVerb::Disable, me, 2), Err(Refusal::OwnAccount));
        assert_eq!(judge(AccountVerb::ResetPassword, me, 2), Err(Refusal::OwnPassword));
    }

    #[test]
    fn every_verb_has_an_answer_in_every_state() {
        for verb in AccountVerb::ALL {
            for state in AccountState::ALL {
                let answer = judge(verb, standing(state, false, false), 1);
                assert_eq!(answer.is_ok(), verb.legal_in().contains(&state), "{verb:?} in {state:?}");
            }
        }
    }

    proptest! {
        /// Whatever verbs and role changes are asked for in whatever order, an Owner who can sign in remains.
        #[test]
        fn an_owner_always_remains(steps in proptest::collection::vec((0usize..4, 0usize..3, any::<bool>()), 0..200)) {
            let mut people = [
                (AccountState::Active, true),
                (AccountState::Active, false),
                (AccountState::Waiting, true),
                (AccountState::Disabled, true),
            ];
            for (who, what, flag) in steps {
                let can_act = |(state, owner): &&(AccountState, bool)| *owner && *state != AccountState::Disabled;
                let owners = people.iter().filter(can_act).count() as u64;
                prop_assert!(owners >= 1);
                let (state, is_owner) = people[who];
                let standing = standing(state, is_owner, false);
                match what {
                    0 if judge(AccountVerb::Disable, standing, owners).is_ok() => {
                        people[who].0 = AccountState::Disabled;
                    }
                    1 if judge(AccountVerb::Enable, standing, owners).is_ok() => people[who].0 = AccountState::Active,
                    2 if judge_roles(standing, flag, owners).is_ok() => people[who].1 = flag,
                    _ => {}
                }
            }
        }
    }
}
