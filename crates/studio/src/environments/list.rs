//! Named environments and their versions.

use atelier_domain::access::{Action, Whose};
use atelier_domain::error::AppError;

use crate::caller::Caller;
use crate::environments::commands::{
    Compared, EnvironmentView, FrozenView, VersionView, compare, find, freeze, in_use, list, log,
};

/// How many of a log's last lines are shown.
const SHOWN: usize = 200;

/// The list.
#[derive(Debug)]
pub struct EnvironmentList {
    pub rows: Vec<EnvironmentView>,
    /// After how many days without use one is removed from the disk.
    pub kept_days: u32,
    pub builds: bool,
}

/// All environments. Needs `environment.read`.
pub async fn environments(caller: &Caller) -> Result<EnvironmentList, AppError> {
    let kept_days = caller.studio.settings().keep_environments_days;
    let builds = caller.studio.environments().named().builds();
    Ok(EnvironmentList { rows: list(caller).await?, kept_days, builds })
}

/// One of them, by one of its versions.
#[derive(Debug)]
pub struct NamedDetail {
    pub view: EnvironmentView,
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
pub async fn named_environment(caller: &Caller, name: &str, version: &str) -> Result<NamedDetail, AppError> {
    let view = find(caller, name).await?;
    let nobody = || AppError::not_found("version");
    let number = match version {
        "" => None,
        typed => Some(typed.parse().map_err(|_| nobody())?),
    };
    let shown = view.version(number).cloned().ok_or_else(nobody)?;
    let text = log(caller, &shown).await.unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let log = lines[lines.len().saturating_sub(SHOWN)..].iter().map(|line| (*line).to_owned()).collect();
    let whose = caller.actor()?.whose(&view.row.owner);
    let refusal = caller.authorise_for(Action::EnvironmentWrite, whose).await.err();
    let in_use = in_use(caller, &view).await;
    Ok(NamedDetail { shown, log, kept_days: caller.studio.settings().keep_environments_days, refusal, in_use, view })
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
    pub python: String,
    pub builds: bool,
}

/// The form, for a new environment, for another version `of` one, or with what the instance `from` holds.
/// Needs `environment.write`.
pub async fn environment_form(caller: &Caller, of: &str, from: &str) -> Result<EnvironmentForm, AppError> {
    let actor = caller.authorise_for(Action::EnvironmentWrite, Whose::Own).await?;
    let (me, may_any) =
        (actor.person.id.clone(), actor.person.rights().check(Action::EnvironmentWrite, Whose::Others).is_ok());
    let of = if of.is_empty() { None } else { Some(find(caller, of).await?) };
    if let Some(view) = of.as_ref().filter(|view| view.row.owner != me) {
        tracing::debug!(name = %view.row.name, "another's environment");
        caller.authorise_for(Action::EnvironmentWrite, Whose::Others).await?;
    }
    let frozen = if from.is_empty() { None } else { Some(freeze(caller, from).await?) };
    let own = list(caller).await?.into_iter().filter(|view| may_any || view.row.owner == me);
    let own = own.map(|view| view.row.name.to_string()).collect();
    let named = caller.studio.environments().named();
    let python = named.python().await.map(|python| python.version).unwrap_or_default();
    Ok(EnvironmentForm { of, frozen, own, python, builds: named.builds() })
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
pub async fn comparison(caller: &Caller, before: &str, after: &str) -> Result<Comparison, AppError> {
    let all = list(caller).await?;
    let versions = all.iter().flat_map(|view| view.versions.iter());
    let choices = versions.map(|version| format!("{}:{}", version.row.name, version.row.version)).collect();
    if before.is_empty() || after.is_empty() {
        return Ok(Comparison { choices, compared: None });
    }
    let compared = match compare(caller, before, after).await {
        Ok(compared) => Ok(compared),
        Err(error @ AppError::Invalid { .. }) => Err(error.to_string()),
        Err(other) => return Err(other),
    };
    Ok(Comparison { choices, compared: Some(compared) })
}
