//! Environments as forms change them: named ones, the base that every instance comes with, and VS Code.

use leptos::prelude::*;
use serde::{Deserialize, Serialize};
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::server::caller::here,
    atelier_domain::access::Action,
    atelier_domain::paths,
    atelier_domain::text::parse_why,
    atelier_studio::environments::base,
    atelier_studio::environments::commands::{self, EnvironmentRequest},
    atelier_studio::typed::Problems,
};

use crate::done::Done;
use crate::error::FnError;

/// A version of an environment as it is typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EnvironmentForm {
    pub name: String,
    /// The environment of which this is the next version; empty for a new one.
    pub existing: String,
    pub recipe: String,
    pub note: String,
    pub build: String,
    pub why: String,
}

/// Makes an environment, or the next version of the one that `existing` names. Needs `environment.write`.
#[server(prefix = "/fn", endpoint = "save_environment")]
pub async fn save_environment(#[server(flatten)] form: EnvironmentForm) -> Result<Done, FnError> {
    let caller = here()?;
    let EnvironmentForm { name, existing, recipe, note, build, why } = form;
    let build = !build.is_empty();
    let request = EnvironmentRequest { name, recipe, note, build, why };
    let (name, version) = match existing.as_str() {
        "" => commands::create(&caller, &request).await?,
        known => commands::add_version(&caller, known, &request).await?,
    };
    let next = paths::named_environment(&caller.actor()?.workspace.slug, name.as_str());
    let built = if build && caller.studio.environments().named().builds() { " It is being built." } else { "" };
    Ok(Done::go(next, format!("{name}:{version} is saved.{built}")))
}

/// Has a version built, also one whose last build failed. Needs `environment.write`.
#[server(prefix = "/fn", endpoint = "build_environment")]
pub async fn build_environment(
    environment: String,
    #[server(default)] version: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let number = match version.as_str() {
        "" => None,
        typed => Some(typed.parse().map_err(|_| AppError::not_found("version"))?),
    };
    let number = commands::build(&here()?, &environment, number, &why).await?;
    Ok(Done::stay(format!("{environment}:{number} is being built.")))
}

/// Deletes an environment with all its versions. Needs `environment.write`.
#[server(prefix = "/fn", endpoint = "delete_environment")]
pub async fn delete_environment(environment: String, #[server(default)] why: String) -> Result<Done, FnError> {
    let caller = here()?;
    commands::delete(&caller, &environment, &why).await?;
    let next = paths::environments(&caller.actor()?.workspace.slug);
    Ok(Done::go(next, format!("{environment} is deleted. What was built of it goes from the disk by itself.")))
}

/// Changes the list of packages; the new environment is built beside the old one. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "set_environment")]
pub async fn set_environment(requirements: String, #[server(default)] why: String) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Action::EngineWrite).await?;
    let mut problems = Problems::default();
    let list = problems.take(base::list_of(&requirements));
    let why = problems.take(parse_why(&why));
    let (Some(list), Some(why)) = (list, why) else { return Err(problems.into_error().into()) };
    let is_new = base::set_list(&caller, &list, why).await?;
    Ok(Done::stay(match (is_new, caller.studio.environments().settings().builds) {
        (false, _) => "That is the list already; nothing was changed.",
        (true, true) => "The new environment is being built. Instances get the old one until it is done.",
        (true, false) => "The list is kept. This server builds nothing by itself; run atelier environment build.",
    }))
}

/// Builds the environment anew, or tries at once what failed. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "rebuild_environment")]
pub async fn rebuild_environment(#[server(default)] why: String) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Action::EngineWrite).await?;
    Ok(Done::stay(match base::rebuild(&caller, parse_why(&why)?).await? {
        true => "It is being tried again.",
        false => "It is being built anew. Instances get the old one until it is done.",
    }))
}

/// Begins to install VS Code on this server. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "install_editor")]
pub async fn install_editor(#[server(default)] why: String) -> Result<Done, FnError> {
    let caller = here()?;
    caller.authorise(Action::EngineWrite).await?;
    base::install_editor(&caller, parse_why(&why)?).await?;
    Ok(Done::stay("VS Code is being installed. That takes some minutes; this page says how far it is."))
}
