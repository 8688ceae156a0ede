//! How far the tokens of an instance or a cluster reach: read and set by its page and by the API alike.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::size::ComputeName;
use atelier_domain::error::AppError;
use atelier_domain::workload::Scope;
use atelier_domain::world::ComputeRef;
use atelier_domain::{Timestamp, UserId};

use crate::caller::Caller;
use crate::orders::ask;

/// What is asked about; nothing if the page knows the name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noun {
    Instance,
    Cluster,
    Any,
}

impl Noun {
    const fn fits(self, compute: ComputeRef) -> bool {
        matches!(
            (self, compute),
            (Self::Any, _) | (Self::Instance, ComputeRef::Instance(_)) | (Self::Cluster, ComputeRef::Cluster(_))
        )
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Instance => "instance",
            Self::Cluster => "cluster",
            Self::Any => "compute",
        }
    }
}

/// How far they reach, and who may change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenScope {
    /// What the compute is called.
    pub name: String,
    pub scope: Scope,
    /// Since when they reach further than usual.
    pub since: Option<Timestamp>,
    /// Whether the compute is the caller's own: only then can they change it.
    pub is_own: bool,
    compute: ComputeRef,
    owner: UserId,
}

impl TokenScope {
    const fn whose(&self) -> Whose {
        if self.is_own { Whose::Own } else { Whose::Others }
    }
}

/// Reads it. Needs the right to see the compute.
pub async fn token_scope(caller: &Caller, noun: Noun, name: &str) -> Result<TokenScope, AppError> {
    let actor = caller.actor()?;
    let nobody = || AppError::not_found(noun.word());
    let name = ComputeName::parse(name).map_err(|_| nobody())?;
    let (workspace, asked) = (actor.workspace.id.clone(), name.clone());
    let found = ask(caller, move |world| {
        let compute = world.compute(&workspace, &asked).filter(|compute| noun.fits(*compute))?;
        Some((compute, world.compute_owner(compute)?.clone()))
    });
    let (compute, owner) = found.await?.ok_or_else(nobody)?;
    caller
        .authorise(match compute {
            ComputeRef::Instance(_) => Action::InstanceRead,
            ComputeRef::Cluster(_) => Action::ClusterRead,
        })
        .await?;
    let widened = caller.checked(caller.store().wide_tokens_of(compute).await)?;
    let since = widened.filter(|(by, _)| *by == owner).map(|(_, since)| since);
    Ok(TokenScope {
        name: name.to_string(),
        scope: if since.is_some() { Scope::All } else { Scope::Own },
        since,
        is_own: owner == actor.person.id,
        compute,
        owner,
    })
}

/// Sets it; for the compute's owner. Whether that changed anything.
pub async fn set_token_scope(caller: &Caller, noun: Noun, name: &str, scope: Scope) -> Result<bool, AppError> {
    let present = token_scope(caller, noun, name).await?;
    // What runs there must not widen its own token.
    if let Some(origin) = &caller.actor()?.origin {
        return Err(AppError::Refused {
            code: "workload.not-allowed".into(),
            message: format!(
                "The token of {} can't change how far tokens reach. Sign in, or use a personal token.",
                origin.name
            ),
        });
    }
    let right = match present.compute {
        // Nobody has it over what is another's.
        ComputeRef::Instance(_) => Action::InstanceShare,
        ComputeRef::Cluster(_) if present.is_own => Action::ClusterScale,
        ComputeRef::Cluster(_) => {
            return Err(AppError::Refused {
                code: "owner-only".into(),
                message: format!("Only the owner of {name} can change how far tokens of its jobs reach."),
            });
        }
    };
    let whose = if right == Action::ClusterScale { Whose::Others } else { present.whose() };
    caller.authorise_for(right, whose).await?;
    let author = caller.author(None)?;
    let mut tx = caller.begin(right, whose).await?;
    let workspace = &caller.actor()?.workspace.id;
    let compute = (present.compute, present.name.as_str());
    let changed = caller.checked(tx.set_token_scope(workspace, compute, &present.owner, scope, &author).await)?;
    if changed {
        caller.checked(tx.commit().await)?;
    }
    Ok(changed)
}
