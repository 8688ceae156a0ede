//! Workload identity: what an instance or a job may do in its owner's name, without a password.
//!
//! A token of this kind belongs to one person and one node. It is signed, not stored, so that making one
//! costs no write; and it is worth nothing by itself: it counts only while its owner could sign in, has not
//! signed out everywhere since, and still has something on that node.

use crate::access::{Action, Whose};
use crate::account::AccountState;
use crate::compute::{JobId, NodeId};
use crate::id::UserId;
use crate::text::is_id;
use crate::time::{Span, Timestamp};

/// How every token begins, so that people and scanners know one when they see it.
pub const PREFIX: &str = "atw_";
/// For how long one counts. Agents ask for the next at half of it.
pub const LIFE: Span = Span::hours(1);
/// The longest text that can be one.
const LONGEST: usize = 300;

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    pub user: UserId,
    pub node: NodeId,
    /// How often all of the person's sessions had been ended when it was made.
    pub epoch: i64,
    pub expires: Timestamp,
}

impl Claims {
    /// The text that is signed.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}.{}.{}.{}", self.user, self.node.0, self.epoch, self.expires.0)
    }

    pub fn token(&self, signature: &str) -> String {
        format!("{}.{signature}", self.text())
    }

    /// Reads a token: what it says, the text that was signed, and the signature. Says nothing about whether
    /// it is genuine.
    pub fn read(token: &str) -> Option<(Self, &str, &str)> {
        if token.len() > LONGEST || !token.starts_with(PREFIX) {
            return None;
        }
        let (text, signature) = token.rsplit_once('.')?;
        let mut parts = text.strip_prefix(PREFIX)?.split('.');
        let (user, node, epoch, expires) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || !is_id(user) {
            return None;
        }
        let claims = Self {
            user: UserId::new(user),
            node: NodeId(node.parse().ok()?),
            epoch: epoch.parse().ok()?,
            expires: Timestamp(expires.parse().ok()?),
        };
        // One token has one text: what reads the same and is written otherwise is none.
        (claims.text() == text).then_some((claims, text, signature))
    }
}

/// What somebody has on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// Their instance runs there.
    Instance {
        /// What it is called.
        name: String,
        /// Whether they have accepted what runs when it starts, or nobody else has set it.
        is_accepted: bool,
    },
    /// These jobs of theirs run there.
    Jobs(Vec<JobId>),
}

impl Held {
    /// Where something was done from, for the history: `instance desk`, `job-12`. A job says itself which one
    /// it is; that counts only if it is there.
    pub fn origin(&self, node: NodeId, said: Option<JobId>) -> String {
        match self {
            Self::Instance { name, .. } => format!("instance {name}"),
            Self::Jobs(jobs) => match (said.filter(|said| jobs.contains(said)), jobs.as_slice()) {
                (Some(job), _) => job.to_string(),
                (None, [job]) => job.to_string(),
                _ => format!("a job on {node}"),
            },
        }
    }
}

/// How things stand when a token is shown, or asked for.
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// How the owner's account stands.
    pub state: AccountState,
    /// How often all of their sessions have been ended.
    pub epoch: i64,
    /// What they have on that node now.
    pub held: Option<&'a Held>,
    pub now: Timestamp,
}

/// Whether somebody gets a token for a node.
pub fn judge_new(standing: &Standing<'_>) -> Result<(), Refusal> {
    if standing.state == AccountState::Disabled {
        return Err(Refusal::Account);
    }
    match standing.held {
        None => Err(Refusal::NotThere),
        Some(Held::Jobs(jobs)) if jobs.is_empty() => Err(Refusal::NotThere),
        Some(Held::Instance { is_accepted: false, .. }) => Err(Refusal::NotAccepted),
        Some(_) => Ok(()),
    }
}

/// Whether a genuine token counts.
pub fn judge(claims: &Claims, standing: &Standing<'_>) -> Result<(), Refusal> {
    if claims.expires <= standing.now {
        return Err(Refusal::Expired);
    }
    judge_new(standing)?;
    if claims.epoch == standing.epoch { Ok(()) } else { Err(Refusal::SignedOut) }
}

/// Why a token does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its hour is over.
    #[error("This token of an instance or a job is over. Read the token file again: it is renewed every half hour.")]
    Expired,
    /// The account is disabled.
    #[error("The account in whose name this runs is disabled.")]
    Account,
    /// All sessions were ended since.
    #[error("Its owner has signed out everywhere since this token was made. Read the token file again in a moment.")]
    SignedOut,
    /// Nothing of theirs is on that node any more.
    #[error("The instance or job that this token was made for does not run any more.")]
    NotThere,
    /// Scripts of somebody else wait for the owner's word.
    #[error(
        "Somebody else has set what this instance runs, and its owner has not accepted that yet: it acts in nobody's \
         name."
    )]
    NotAccepted,
}

impl Refusal {
    pub const fn code(self) -> &'static str {
        match self {
            Self::Expired => "workload.expired",
            Self::Account => "workload.account-disabled",
            Self::SignedOut => "workload.signed-out",
            Self::NotThere => "workload.not-there",
            Self::NotAccepted => "workload.scripts-not-accepted",
        }
    }
}

crate::keyed_enum! {
    /// How far the tokens of a compute reach.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    pub enum Scope {
        /// They change only what is their owner's own.
        #[default]
        Own = "own", "The owner’s own things";
        /// They change everything that their owner may change, except what opens doors.
        All = "all", "Everything the owner may change";
    }
}

/// Why an instance or a job may not do something in its owner's name, though the owner may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAllowed {
    /// No token of this kind may.
    Never,
    /// It is not the owner's own, and the compute's tokens reach no further.
    OthersThings,
}

/// Whether an instance or a job may take an action in its owner's name, if the owner may.
///
/// Never what opens doors: accounts and roles, one's own profile, password and tokens, applications and the
/// scripts that somebody else has set, whom something is shared with or given to, and the workspace itself.
/// Code that runs by itself must not be able to lock its owner out or others in. What is somebody else's, or
/// nobody's in particular, it may look at; it changes that only where the compute's owner has said so.
pub const fn allows(action: Action, whose: Whose, scope: Scope) -> Result<(), NotAllowed> {
    let opens_doors = matches!(
        action,
        Action::ProfileWrite
            | Action::MemberWrite
            | Action::InstanceConnect
            | Action::InstanceShare
            | Action::InstanceTransfer
            | Action::WorkspaceWrite
            | Action::InstanceCreateFor
    );
    match (whose, scope) {
        _ if opens_doors => Err(NotAllowed::Never),
        (Whose::Others, Scope::Own) if !action.only_looks() => Err(NotAllowed::OthersThings),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);

    fn claims() -> Claims {
        Claims { user: UserId::new("user-7"), node: NodeId(3), epoch: 2, expires: Timestamp(NOW.0 + 1) }
    }

    #[test]
    fn a_token_is_read_as_it_was_written_and_in_no_other_way() {
        let token = claims().token("5f");
        assert_eq!(token, "atw_user-7.3.2.1000001.5f");
        assert_eq!(Claims::read(&token), Some((claims(), "atw_user-7.3.2.1000001", "5f")));
        for strange in [
            "",
            "atw_",
            "atl_user-7.3.2.1000001.5f",
            "atw_user-7.3.2.1000001",
            "atw_user-7.03.2.1000001.5f",
            "atw_user-7.3.+2.1000001.5f",
            "atw_user-7.3.2.1000001.9.5f",
            "atw_us er.3.2.1000001.5f",
            "atw_.3.2.1000001.5f",
            "atw_user-7.-3.2.1000001.5f",
        ] {
            assert_eq!(Claims::read(strange), None, "{strange}");
        }
        assert_eq!(Claims::read(&format!("atw_{}.3.2.1.5f", "x".repeat(400))), None);
    }

    #[test]
    fn every_standing_is_judged() {
        let desk = Held::Instance { name: "desk".into(), is_accepted: true };
        let strange = Held::Instance { name: "desk".into(), is_accepted: false };
        let jobs = Held::Jobs(vec![JobId(12)]);
        for state in AccountState::ALL {
            for epoch in [1, 2, 3] {
                for held in [None, Some(&desk), Some(&strange), Some(&jobs)] {
                    for now in [NOW, Timestamp(NOW.0 + 1)] {
                        let judged = judge(&claims(), &Standing { state, epoch, held, now });
                        let counts = state != AccountState::Disabled
                            && epoch == 2
                            && held.is_some_and(|held| *held != strange)
                            && now == NOW;
                        assert_eq!(judged.is_ok(), counts, "{state:?} {epoch} {held:?} {now:?} {judged:?}");
                    }
                }
            }
        }
        let none = Held::Jobs(Vec::new());
        let standing = Standing { state: AccountState::Active, epoch: 2, held: Some(&none), now: NOW };
        assert_eq!(judge(&claims(), &standing), Err(Refusal::NotThere));
    }

    #[test]
    fn where_it_came_from_is_said_as_far_as_it_is_known() {
        let node = NodeId(3);
        assert_eq!(
            Held::Instance { name: "desk".into(), is_accepted: true }.origin(node, Some(JobId(1))),
            "instance desk"
        );
        assert_eq!(Held::Jobs(vec![JobId(12)]).origin(node, None), "job-12");
        let both = Held::Jobs(vec![JobId(12), JobId(13)]);
        assert_eq!(both.origin(node, Some(JobId(13))), "job-13");
        assert_eq!(both.origin(node, Some(JobId(99))), "a job on node-3");
    }

    #[test]
    fn what_opens_doors_to_others_is_never_allowed() {
        let is = |action, whose, scope, what| allows(action, whose, scope) == what;
        let denied = Action::ALL.iter().filter(|action| is(**action, Whose::Own, Scope::All, Err(NotAllowed::Never)));
        let denied: Vec<&str> = denied.map(|action| action.key()).collect();
        assert_eq!(
            denied,
            [
                "instance.create-for",
                "instance.connect",
                "instance.share",
                "instance.transfer",
                "workspace.write",
                "profile.write",
                "member.write"
            ]
        );
        // Beside that, what is others' is changed only where the compute's owner has said so.
        for action in Action::ALL.iter().copied().filter(|action| !denied.contains(&action.key())) {
            assert_eq!(allows(action, Whose::Own, Scope::Own), Ok(()), "{action:?}");
            assert_eq!(allows(action, Whose::Others, Scope::All), Ok(()), "{action:?}");
            let others = if action.key().ends_with(".read") { Ok(()) } else { Err(NotAllowed::OthersThings) };
            assert_eq!(allows(action, Whose::Others, Scope::Own), others, "{action:?}");
        }
    }
}
