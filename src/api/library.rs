//! Named environments of jobs and notebooks: what pages show of them, and what their forms do.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::api::Done;
use crate::error::AppError;

#[cfg(feature = "ssr")]
pub use reads::*;

/// Makes an environment, or the next version of the one that `existing` names. Needs `environment.write`.
#[server(prefix = "/fn", endpoint = "save_environment")]
pub async fn save_environment(
    #[server(default)] name: String,
    #[server(default)] existing: String,
    #[server(default)] recipe: String,
    #[server(default)] note: String,
    #[server(default)] build: String,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::save(name, &existing, recipe, note, !build.is_empty(), why).await
}

/// Has a version built, also one whose last build failed. Needs `environment.write`.
#[server(prefix = "/fn", endpoint = "build_environment")]
pub async fn build_environment(
    environment: String,
    #[server(default)] version: String,
    #[server(default)] why: String,
) -> Result<Done, AppError> {
    changes::build(&environment, &version, &why).await
}

/// Deletes an environment with all its versions. Needs `environment.write`.
#[server(prefix = "/fn", endpoint = "delete_environment")]
pub async fn delete_environment(environment: String, #[server(default)] why: String) -> Result<Done, AppError> {
    changes::delete(&environment, &why).await
}

#[cfg(feature = "ssr")]
mod reads {
    use atelier_domain::access::{Action, Whose};

    use crate::api::caller::Caller;
    use crate::error::AppError;
    use crate::studio::environment::{
        Compared, EnvironmentView, FrozenView, VersionView, compare, find, freeze, in_use, list, log,
    };

    /// How many of a log's last lines are shown.
    const SHOWN: usize = 200;

    /// The list.
    #[derive(Debug)]
    pub struct EnvironmentList {
        /// All of them.
        pub rows: Vec<EnvironmentView>,
        /// After how many days without use one is removed from the disk.
        pub kept_days: u32,
        /// Whether this server builds any.
        pub builds: bool,
    }

    /// All environments. Needs `environment.read`.
    pub async fn environments() -> Result<EnvironmentList, AppError> {
        let caller = Caller::here()?;
        let kept_days = caller.state.config().keep_environments_days;
        let builds = caller.state.environments().library().builds();
        Ok(EnvironmentList { rows: list(&caller).await?, kept_days, builds })
    }

    /// One of them, by one of its versions.
    #[derive(Debug)]
    pub struct NamedDetail {
        /// All of it.
        pub view: EnvironmentView,
        /// The version that is shown.
        pub shown: VersionView,
        /// The last lines of its build's log.
        pub log: Vec<String>,
        /// After how many days without use it is removed from the disk.
        pub kept_days: u32,
        /// Why the viewer may not change it.
        pub refusal: Option<AppError>,
        /// What uses it, if something does, as a reason not to delete it.
        pub in_use: Option<String>,
    }

    /// One environment; the newest version if none is said. Needs `environment.read`.
    pub async fn named_environment(name: &str, version: &str) -> Result<NamedDetail, AppError> {
        let caller = Caller::here()?;
        let view = find(&caller, name).await?;
        let nobody = || AppError::not_found("version");
        let number = match version {
            "" => None,
            typed => Some(typed.parse().map_err(|_| nobody())?),
        };
        let shown = view.version(number).cloned().ok_or_else(nobody)?;
        let text = log(&caller, &shown).await.unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        let log = lines[lines.len().saturating_sub(SHOWN)..].iter().map(|line| (*line).to_owned()).collect();
        let whose = if view.row.owner == caller.actor()?.person.id { Whose::Own } else { Whose::Others };
        let refusal = caller.authorise_for(Action::EnvironmentWrite, whose).await.err();
        let in_use = in_use(&caller, &view).await;
        Ok(NamedDetail { shown, log, kept_days: caller.state.config().keep_environments_days, refusal, in_use, view })
    }

    /// What the form begins with.
    #[derive(Debug, Default)]
    pub struct EnvironmentForm {
        /// The environment that gets another version, if it is one.
        pub of: Option<EnvironmentView>,
        /// The instance that it is frozen from.
        pub frozen: Option<FrozenView>,
        /// The environments that the viewer may add a version to.
        pub own: Vec<String>,
        /// Python's version here.
        pub python: String,
        /// Whether this server builds any.
        pub builds: bool,
    }

    /// The form, for a new environment, for another version `of` one, or with what the instance `from` holds. Needs
    /// `environment.write`.
    pub async fn environment_form(of: &str, from: &str) -> Result<EnvironmentForm, AppError> {
        let caller = Caller::here()?;
        let actor = caller.authorise_for(Action::EnvironmentWrite, Whose::Own).await?;
        let (me, may_any) =
            (actor.person.id.clone(), actor.person.rights().check(Action::EnvironmentWrite, Whose::Others).is_ok());
        let of = if of.is_empty() { None } else { Some(find(&caller, of).await?) };
        if let Some(view) = of.as_ref().filter(|view| view.row.owner != me) {
            tracing::debug!(name = %view.row.name, "another's environment");
            caller.authorise_for(Action::EnvironmentWrite, Whose::Others).await?;
        }
        let frozen = if from.is_empty() { None } else { Some(freeze(&caller, from).await?) };
        let own = list(&caller).await?.into_iter().filter(|view| may_any || view.row.owner == me);
        let own = own.map(|view| view.row.name.to_string()).collect();
        let library = caller.state.environments().library();
        let python = library.python().await.map(|python| python.version).unwrap_or_default();
        Ok(EnvironmentForm { of, frozen, own, python, builds: library.builds() })
    }

    /// What the page that compares two knows.
    #[derive(Debug)]
    pub struct Comparison {
        /// Everything that can be chosen: `churn:3`.
        pub choices: Vec<String>,
        /// The two and what differs; or why not.
        pub compared: Option<Result<Compared, String>>,
    }

    /// Compares two versions; nothing if none are said. Needs `environment.read`.
    pub async fn comparison(before: &str, after: &str) -> Result<Comparison, AppError> {
        let caller = Caller::here()?;
        let all = list(&caller).await?;
        let versions = all.iter().flat_map(|view| view.versions.iter());
        let choices = versions.map(|version| format!("{}:{}", version.row.name, version.row.version)).collect();
        if before.is_empty() || after.is_empty() {
            return Ok(Comparison { choices, compared: None });
        }
        let compared = match compare(&caller, before, after).await {
            Ok(compared) => Ok(compared),
            Err(error @ AppError::Invalid { .. }) => Err(error.to_string()),
            Err(other) => return Err(other),
        };
        Ok(Comparison { choices, compared: Some(compared) })
    }
}

#[cfg(feature = "ssr")]
mod changes {
    use crate::api::Done;
    use crate::api::caller::Caller;
    use crate::error::AppError;
    use crate::paths;
    use crate::studio::environment::{self, EnvironmentRequest};

    pub async fn save(
        name: String,
        existing: &str,
        recipe: String,
        note: String,
        build: bool,
        why: String,
    ) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let request = EnvironmentRequest { name, recipe, note, build, why };
        let (name, version) = match existing {
            "" => environment::create(&caller, &request).await?,
            known => environment::add_version(&caller, known, &request).await?,
        };
        let next = paths::named_environment(&caller.actor()?.workspace.slug, name.as_str());
        let built = if build && caller.state.environments().library().builds() { " It is being built." } else { "" };
        Ok(Done::go(next, format!("{name}:{version} is saved.{built}")))
    }

    pub async fn build(name: &str, version: &str, why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        let number = match version {
            "" => None,
            typed => Some(typed.parse().map_err(|_| AppError::not_found("version"))?),
        };
        let number = environment::build(&caller, name, number, why).await?;
        Ok(Done::stay(format!("{name}:{number} is being built.")))
    }

    pub async fn delete(name: &str, why: &str) -> Result<Done, AppError> {
        let caller = Caller::here()?;
        environment::delete(&caller, name, why).await?;
        let next = paths::environments(&caller.actor()?.workspace.slug);
        Ok(Done::go(next, format!("{name} is deleted. What was built of it goes from the disk by itself.")))
    }
}
