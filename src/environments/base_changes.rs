//! What forms change.

use atelier_domain::access::{Action, Whose};
use atelier_domain::text::{Problem, parse_why};
use atelier_engine::environments::{EnvironmentStatus, RebuildError, Requirements};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

pub async fn set(requirements: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::EngineWrite).await?;
    let mut problems = Vec::new();
    let mut take = |problem| problems.push(problem);
    let list = Requirements::parse(requirements).map_err(&mut take).ok();
    let why = parse_why(why).map_err(&mut take).ok();
    if list.as_ref().is_some_and(|list| !list.has("jupyterlab")) {
        let message = "jupyterlab is missing. Instances open with it, so it must be in the list.";
        take(Problem::new("requirements", message));
    }
    let (Some(list), Some(why), true) = (list, why, problems.is_empty()) else {
        return Err(AppError::Invalid { problems });
    };
    let (workspace, author) = (actor.workspace.id.clone(), caller.author(why)?);
    let tx = caller.begin(Action::EngineWrite, Whose::Others).await?;
    let environments = caller.studio.environments();
    let is_new = caller.checked(environments.set_requirements(tx, &workspace, &author, &list).await)?;
    Ok(Done::stay(match (is_new, environments.settings().builds) {
        (false, _) => "That is the list already; nothing was changed.",
        (true, true) => "The new environment is being built. Instances get the old one until it is done.",
        (true, false) => "The list is kept. This server builds nothing by itself; run atelier environment build.",
    }))
}

pub async fn rebuild(why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::EngineWrite).await?;
    let why = parse_why(why)?;
    let (workspace, author) = (actor.workspace.id.clone(), caller.author(why)?);
    let environments = caller.studio.environments();
    let had_failed = matches!(environments.status(), EnvironmentStatus::Failed { .. });
    let tx = caller.begin(Action::EngineWrite, Whose::Others).await?;
    match environments.rebuild(tx, &workspace, &author).await {
        Ok(()) if had_failed => Ok(Done::stay("It is being tried again.")),
        Ok(()) => Ok(Done::stay("It is being built anew. Instances get the old one until it is done.")),
        Err(RebuildError::Store(error)) => caller.checked(Err(error)),
        Err(refused @ RebuildError::Off) => {
            Err(AppError::Refused { code: "environment-off".into(), message: refused.to_string() })
        }
        Err(refused @ RebuildError::Building) => {
            Err(AppError::Refused { code: "environment-building".into(), message: refused.to_string() })
        }
    }
}
