//! Sharing: who besides its owner opens which application of an instance, how, and until when.
//!
//! A share is the owner's word for one person and one application. It gives no other right: nothing is
//! started, stopped or read through it but that application. It counts only as long as the one who gave it
//! owns the instance.

use serde::{Deserialize, Serialize};

use crate::access::{Action, Rights, Whose};
use crate::account::AccountState;
use crate::compute::InstanceId;
use crate::id::UserId;
use crate::text::{Problem, counted, shortened};
use crate::time::Timestamp;

/// How many shares one instance may have.
pub const MAX_SHARES: u64 = 100;
/// The longest name of an application.
const MAX_APP: usize = 32;

crate::keyed_enum! {
    /// What somebody may do in a shared application.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Level {
        Read = "read", "Read";
        /// Whatever its owner may do there, as its owner.
        Use = "use", "Use";
    }
}

impl Level {
    /// Parses the field `level`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        Self::from_key(text.trim()).ok_or_else(|| {
            let start = shortened(text.trim());
            Problem::new("level", format!("Choose read or use; this is “{start}”."))
        })
    }

    /// What it means at an application of that name, for who gives it and for who gets it.
    pub fn meaning(self, app: &str) -> &'static str {
        match (self, app) {
            (Self::Read, "jupyter") => {
                "Sees the files of the home and what notebooks have saved. Runs, edits and saves nothing: kernels and \
                 terminals stay closed."
            }
            (Self::Read, "terminal") => {
                "Sees what open terminals print, now and before. What they type, and the size of their window, is \
                 dropped."
            }
            (Self::Read, "vscode") => {
                "VS Code cannot be looked at only: it hands out any file that the owner can read."
            }
            (Self::Read, _) => {
                "Sees whatever the application hands out when it is asked for a page or a file; what that is, the \
                 application decides. Whatever sends data is refused, and so is everything that needs a live \
                 connection (a WebSocket); applications that cannot do without one do not work."
            }
            (Self::Use, "jupyter" | "terminal" | "vscode") => {
                "Runs code as the owner: sees and changes all that the owner can, in the home and in every folder that \
                 the owner can reach, and acts in the owner’s name."
            }
            (Self::Use, _) => {
                "Does all that the application offers, as the owner. One that runs code, such as a notebook, runs it \
                 as the owner."
            }
        }
    }
}

/// Whether an application can be opened by somebody who may only look.
///
/// VS Code answers a plain GET with any file that its owner can read, whatever page asked for it, so that
/// there is no looking without reading everything.
pub fn can_be_looked_at(app: &str) -> bool {
    app != "vscode"
}

/// Whether a text can be the name of an application: what stands in its address.
pub fn is_app(text: &str) -> bool {
    (1..=MAX_APP).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
}

/// A share as it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppShare {
    pub instance: InstanceId,
    pub app: String,
    /// Who gave it: the owner of the instance at that time.
    pub owner: UserId,
    pub user: UserId,
    /// What they may do there.
    pub level: Level,
    /// When it ends; none if it does not end by itself.
    pub until: Option<Timestamp>,
    /// Since when there is one.
    pub since: Timestamp,
}

impl AppShare {
    /// Whether its time is over.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// How things stand when a share is shown at an application's door.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// Who owns the instance now.
    pub owner: &'a UserId,
    /// How the owner's account stands.
    pub owner_state: AccountState,
    /// How the account of the one who comes stands.
    pub visitor_state: AccountState,
    /// What the one who comes may do here.
    pub rights: &'a Rights,
    pub now: Timestamp,
}

/// What a share opens right now; nothing if it opens nothing.
///
/// It is worth nothing once the instance belongs to somebody else, either account is disabled, or its time is
/// over. Who opens no applications at all by their roles looks at most, and what cannot be looked at only is
/// closed to them.
pub fn opens(share: &AppShare, standing: &Standing<'_>) -> Option<Level> {
    let counts = share.owner == *standing.owner
        && share.user != *standing.owner
        && standing.owner_state != AccountState::Disabled
        && standing.visitor_state == AccountState::Active
        && !share.is_over(standing.now);
    let level = share.level.min(most(standing.rights));
    (counts && (level > Level::Read || can_be_looked_at(&share.app))).then_some(level)
}

/// The most that somebody's roles let them do in what is shared with them.
pub fn most(rights: &Rights) -> Level {
    if rights.check(Action::InstanceConnect, Whose::Own).is_ok() { Level::Use } else { Level::Read }
}

/// What is asked for when something is to be shared.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The owner, who asks.
    pub owner: &'a UserId,
    pub user: &'a UserId,
    /// How their account stands.
    pub state: AccountState,
    /// What they may do here.
    pub rights: &'a Rights,
    pub app: &'a str,
    /// What they shall be able to do there.
    pub level: Level,
    pub until: Option<Timestamp>,
    /// How many shares the instance has beside this one.
    pub present: u64,
    pub now: Timestamp,
}

/// Judges a new share, or a changed one.
pub fn judge(asked: &Asked<'_>) -> Result<(), Refusal> {
    if asked.user == asked.owner {
        return Err(Refusal::Oneself);
    }
    if asked.state == AccountState::Disabled {
        return Err(Refusal::Disabled);
    }
    if asked.level > most(asked.rights) {
        return Err(Refusal::OnlyLooks);
    }
    if asked.level == Level::Read && !can_be_looked_at(asked.app) {
        return Err(Refusal::NotToRead);
    }
    if asked.until.is_some_and(|until| until <= asked.now) {
        return Err(Refusal::Past);
    }
    if asked.present >= MAX_SHARES {
        return Err(Refusal::TooMany);
    }
    Ok(())
}

/// Why something is not shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("It is yours already. Choose somebody else.")]
    Oneself,
    /// The account is disabled.
    #[error("Their account is disabled, so they could not open it. Ask an Owner of the workspace to enable it first.")]
    Disabled,
    /// Their roles open no applications.
    #[error(
        "Their roles open no applications, so they can look at most. Share it to read, or ask for another role for \
         them."
    )]
    OnlyLooks,
    /// Looking at it is reading everything.
    #[error(
        "VS Code cannot be shared to read: it hands out any file that you can read, in your home and elsewhere. Share \
         it to use with somebody who may see all of that, or share JupyterLab to read."
    )]
    NotToRead,
    /// The end is not ahead.
    #[error("That time is over. Choose one that is ahead, or leave it empty for no end.")]
    Past,
    /// There are as many as there may be.
    #[error(
        "The instance has {} already, and that is the most. Revoke one that is not needed any more.",
        counted(MAX_SHARES, "share", "shares")
    )]
    TooMany,
}

impl Refusal {
    pub const fn code(self) -> &'static str {
        match self {
            Self::Oneself => "sharing.oneself",
            Self::Disabled => "sharing.account-disabled",
            Self::OnlyLooks => "sharing.only-read",
            Self::NotToRead => "sharing.not-to-read",
            Self::Past => "sharing.past",
            Self::TooMany => "sharing.too-many",
        }
    }

    /// The field that is to blame.
    pub const fn field(self) -> Option<&'static str> {
        match self {
            Self::Oneself | Self::Disabled => Some("person"),
            Self::OnlyLooks | Self::NotToRead => Some("level"),
            Self::Past => Some("until"),
            Self::TooMany => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Role;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn share(level: Level, until: Option<i64>) -> AppShare {
        AppShare {
            instance: InstanceId(1),
            app: "jupyter".into(),
            owner: UserId::new("mara"),
            user: UserId::new("ines"),
            level,
            until: until.map(Timestamp),
            since: Timestamp(1),
        }
    }

    #[test]
    fn every_standing_is_judged() {
        let (mara, jonas) = (UserId::new("mara"), UserId::new("jonas"));
        let scientist = Rights::of(&[Role::DataScientist]);
        let reader = Rights::of(&[Role::Reader]);
        let nobody = Rights::of(&[]);
        for level in Level::ALL {
            for until in [None, Some(NOW.0 - 1), Some(NOW.0), Some(NOW.0 + 1)] {
                for owner in [&mara, &jonas] {
                    for owner_state in AccountState::ALL {
                        for visitor_state in AccountState::ALL {
                            for rights in [&scientist, &reader, &nobody] {
                                let standing = Standing { owner, owner_state, visitor_state, rights, now: NOW };
                                let opened = opens(&share(level, until), &standing);
                                let counts = owner == &mara
                                    && owner_state != AccountState::Disabled
                                    && visitor_state == AccountState::Active
                                    && until.is_none_or(|until| until > NOW.0);
                                let expected = match (counts, level) {
                                    (false, _) => None,
                                    (true, Level::Use) if rights == &scientist => Some(Level::Use),
                                    (true, _) => Some(Level::Read),
                                };
                                assert_eq!(
                                    opened, expected,
                                    "{level:?} {until:?} {owner} {owner_state:?} {visitor_state:?}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_share_never_opens_what_was_transferred_to_its_visitor() {
        let ines = UserId::new("ines");
        let rights = Rights::of(&[Role::Owner]);
        let standing = Standing {
            owner: &ines,
            owner_state: AccountState::Active,
            visitor_state: AccountState::Active,
            rights: &rights,
            now: NOW,
        };
        assert_eq!(opens(&share(Level::Use, None), &standing), None);
    }

    #[test]
    fn what_is_asked_for_is_refused_in_words() {
        let (mara, ines) = (UserId::new("mara"), UserId::new("ines"));
        let (scientist, reader) = (Rights::of(&[Role::DataScientist]), Rights::of(&[Role::Reader]));
        let good = Asked {
            owner: &mara,
            user: &ines,
            state: AccountState::Active,
            rights: &scientist,
            app: "jupyter",
            level: Level::Use,
            until: None,
            present: 0,
            now: NOW,
        };
        assert_eq!(judge(&good), Ok(()));
        assert_eq!(judge(&Asked { state: AccountState::Waiting, ..good }), Ok(()), "they will choose a password");
        for (asked, refusal, words) in [
            (Asked { user: &mara, ..good }, Refusal::Oneself, "yours already"),
            (Asked { state: AccountState::Disabled, ..good }, Refusal::Disabled, "account is disabled"),
            (Asked { rights: &reader, ..good }, Refusal::OnlyLooks, "look at most"),
            (Asked { app: "vscode", level: Level::Read, ..good }, Refusal::NotToRead, "any file that you can read"),
            (Asked { until: Some(NOW), ..good }, Refusal::Past, "That time is over"),
            (Asked { present: MAX_SHARES, ..good }, Refusal::TooMany, "100 shares"),
        ] {
            assert_eq!(judge(&asked), Err(refusal));
            assert!(refusal.to_string().contains(words) && refusal.code().starts_with("sharing."), "{refusal}");
        }
        assert_eq!(judge(&Asked { rights: &reader, level: Level::Read, ..good }), Ok(()));
        assert_eq!(judge(&Asked { app: "vscode", ..good }), Ok(()));
    }

    #[test]
    fn nobody_only_looks_at_what_hands_out_every_file() {
        let mara = UserId::new("mara");
        let (scientist, reader) = (Rights::of(&[Role::DataScientist]), Rights::of(&[Role::Reader]));
        let standing = |rights| Standing {
            owner: &mara,
            owner_state: AccountState::Active,
            visitor_state: AccountState::Active,
            rights,
            now: NOW,
        };
        let vscode = |level| AppShare { app: "vscode".into(), ..share(level, None) };
        assert_eq!(opens(&vscode(Level::Use), &standing(&scientist)), Some(Level::Use));
        // Also what was given before this was known, and what roles have made less of.
        assert_eq!(opens(&vscode(Level::Read), &standing(&scientist)), None);
        assert_eq!(opens(&vscode(Level::Use), &standing(&reader)), None);
        assert_eq!(opens(&share(Level::Read, None), &standing(&scientist)), Some(Level::Read), "JupyterLab can be");
    }

    #[test]
    fn levels_and_names_are_read_as_they_are_written() {
        for level in Level::ALL {
            assert_eq!(Level::parse(level.key()), Ok(level));
            assert_eq!(serde_json::to_value(level).ok(), Some(level.key().into()));
            for app in ["jupyter", "terminal", "vscode", "board"] {
                assert!(level.meaning(app).ends_with('.'));
            }
        }
        assert!(Level::parse("write").is_err_and(|problem| problem.field == "level"));
        for (text, fits) in
            [("jupyter", true), ("my-board-2", true), ("", false), ("-a", false), ("a--b", false), ("A", false)]
        {
            assert_eq!(is_app(text), fits, "{text}");
        }
    }
}
