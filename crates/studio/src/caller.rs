//! Who asks, and with which rights. Every command and every read begins with a [`Caller`]; the doors (portal,
//! REST, SSH) make it.

use std::net::IpAddr;
use std::sync::Arc;

use atelier_domain::access::{Action, Whose};
use atelier_domain::account::AccountState;
use atelier_domain::error::AppError;
use atelier_domain::history::Actor as HistoryActor;
use atelier_domain::workload::{NotAllowed, Scope};
use atelier_domain::{SessionKey, UserId, WorkspaceId, workload};
use atelier_engine::clock;
use atelier_engine::store::{self, Author, Person, Store, Workspace, WriteTx};

use crate::studio::Studio;

/// What is known of every request.
#[derive(Clone, Debug)]
pub struct RequestInfo {
    /// The id that error pages show and the log holds.
    pub id: String,
    /// Where it comes from: the peer, or what a trusted proxy says.
    pub address: IpAddr,
    /// Whether a header says that a proxy passed it on.
    pub is_forwarded: bool,
}

/// Somebody who is signed in.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The person, with roles as they are now.
    pub person: Person,
    /// The workspace that the session is for.
    pub workspace: Workspace,
    pub session: SessionKey,
    /// From where, if not from the person's own hands.
    pub origin: Option<Origin>,
}

/// An instance or a job that acts in its owner's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// `instance desk`, `job-12`.
    pub name: String,
    /// How far its token reaches.
    pub scope: Scope,
}

impl Actor {
    /// Whose something of that owner is, for rights.
    pub fn whose(&self, owner: &UserId) -> Whose {
        if self.person.id == *owner { Whose::Own } else { Whose::Others }
    }

    /// Whether they may know what that owner's things cost.
    pub fn sees_cost_of(&self, owner: &UserId) -> bool {
        self.person.rights().check(Action::CostRead, self.whose(owner)).is_ok()
    }

    /// The person as the history names them.
    pub fn as_author(&self) -> HistoryActor {
        let name = match &self.origin {
            Some(origin) => format!("{} (from {})", self.person.name, origin.name),
            None => self.person.name.clone(),
        };
        HistoryActor::Person { id: self.person.id.clone(), name }
    }
}

/// Who asks, in one request.
pub struct Caller {
    /// Everything that can be asked.
    pub studio: Studio,
    pub request: RequestInfo,
    actor: Option<Arc<Actor>>,
}

impl Caller {
    /// Somebody, or nobody who is signed in.
    pub const fn new(studio: Studio, request: RequestInfo, actor: Option<Arc<Actor>>) -> Self {
        Self { studio, request, actor }
    }

    /// Whoever is signed in, to be kept.
    pub fn shared_actor(&self) -> Result<Arc<Actor>, AppError> {
        self.actor.clone().ok_or(AppError::SignedOut)
    }

    pub fn actor(&self) -> Result<&Actor, AppError> {
        self.actor.as_deref().ok_or(AppError::SignedOut)
    }

    /// Allows an action on things that are nobody's own in particular, or refuses with who can help.
    pub async fn authorise(&self, action: Action) -> Result<&Actor, AppError> {
        self.authorise_for(action, Whose::Others).await
    }

    /// Allows an action on somebody's things, or refuses with who can help.
    pub async fn authorise_for(&self, action: Action, whose: Whose) -> Result<&Actor, AppError> {
        let actor = self.actor()?;
        let origin = actor.origin.as_ref();
        let judge = |origin: &'_ Origin| workload::allows(action, whose, origin.scope).err();
        let not_allowed = origin.and_then(|origin| Some((origin, judge(origin)?)));
        if let Some((origin, NotAllowed::Never)) = not_allowed {
            return Err(refused(origin, NotAllowed::Never, action));
        }
        let Err(denied) = actor.person.rights().check(action, whose) else {
            return match not_allowed {
                Some((origin, why)) => Err(refused(origin, why, action)),
                None => Ok(actor),
            };
        };
        let helpers = self.checked(helpers(&self.studio, &actor.workspace.id).await)?.to_vec();
        tracing::info!(action = action.key(), "refused: the right is missing");
        Err(AppError::Forbidden { denied, helpers })
    }

    /// Begins a change and judges the actor again inside it: rights that were taken away while the request
    /// waited count.
    pub async fn begin(&self, action: Action, whose: Whose) -> Result<WriteTx<'_>, AppError> {
        let actor = self.authorise_for(action, whose).await?;
        let mut tx = self.checked(self.store().begin(clock::now()).await)?;
        let now = self.checked(tx.person(&actor.person.id).await)?.ok_or(AppError::SignedOut)?;
        if now.state == AccountState::Disabled {
            return Err(AppError::SignedOut);
        }
        match now.rights().check(action, whose) {
            Ok(()) => Ok(tx),
            Err(denied) => Err(AppError::Forbidden { denied, helpers: Vec::new() }),
        }
    }

    pub fn store(&self) -> &Store {
        self.studio.store()
    }

    /// The author of a change, with the reason that was given.
    pub fn author(&self, why: Option<String>) -> Result<Author, AppError> {
        Ok(Author { actor: self.actor()?.as_author(), request: self.request.id.clone(), why })
    }

    /// Logs what broke and gives people the request's id instead.
    pub fn checked<T, E: std::fmt::Display + 'static>(&self, result: Result<T, E>) -> Result<T, AppError> {
        result.map_err(|error| {
            tracing::error!(%error, "a call failed");
            let of_store = (&error as &dyn std::any::Any).downcast_ref::<store::Error>();
            if of_store.is_some_and(store::Error::is_away) {
                return AppError::database_away();
            }
            AppError::Internal { request: self.request.id.clone() }
        })
    }
}

/// The refusal of what the token of an instance or a job does not include.
fn refused(origin: &Origin, why: NotAllowed, action: Action) -> AppError {
    let (name, key) = (&origin.name, action.key());
    let (code, message) = match why {
        NotAllowed::Never => (
            "workload.not-allowed",
            format!(
                "The token of {name} does not include {key}, whatever its owner may do. Sign in, or use a personal \
                 token."
            ),
        ),
        NotAllowed::OthersThings => (
            "workload.own-things-only",
            format!(
                "The token of {name} changes only what its owner owns, so it does not include {key} here. Sign in, use \
                 a personal token, or have the owner of that instance or cluster set its token scope to “all”."
            ),
        ),
    };
    AppError::Refused { code: code.into(), message }
}

/// Names of people who can grant rights, at most three.
pub async fn helpers(state: &Studio, workspace: &WorkspaceId) -> store::Result<Arc<Vec<String>>> {
    let read = async { state.store().owner_names(workspace, 3).await };
    state.reads().helpers.get(state, workspace.clone(), read).await
}
