//! Applications that somebody adds to their instance, as they are typed.

use atelier_domain::compute::app::{AppDraft, AppName, Network, Preset, parse_variables};
use atelier_domain::paths;
use atelier_domain::text::{Problem, shortened};
use atelier_studio::instances::commands::find;
use atelier_studio::instances::custom_apps::{put_app, remove_app, restart_app};
use atelier_studio::typed::Problems;

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

/// What the form sends.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    pub instance: String,
    pub replaces: String,
    pub preset: String,
    pub name: String,
    pub label: String,
    pub command: String,
    pub environment: String,
    pub listens: String,
    pub port: String,
    pub network: String,
    pub health: String,
    pub page: String,
}

/// Adds an application or changes it.
pub async fn put(typed: Typed) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, &typed.instance).await?;
    let replaces = match typed.replaces.trim() {
        "" => None,
        name => Some(AppName::parse(name).map_err(|_| AppError::not_found("application"))?),
    };
    let draft = draft(&typed)?;
    let (app, is_new) = put_app(&caller, &subject, draft, replaces.as_ref()).await?;
    let next = paths::instance_tab(&caller.actor()?.workspace.slug, subject.name.as_str(), "apps");
    let label = app.label();
    Ok(Done::go(
        next,
        if is_new && replaces.is_none() {
            format!("{label} was added to {}.", subject.name)
        } else {
            format!("{label} was saved. It starts again if something has changed.")
        },
    ))
}

/// What was typed; a problem beside each field that cannot be read. The rest is judged with the whole.
fn draft(typed: &Typed) -> Result<AppDraft, AppError> {
    let mut problems = Problems::new();
    let listens_on_port = typed.listens != "socket";
    let port = problems.take(match typed.port.trim() {
        _ if !listens_on_port => Ok(None),
        "" => Err(Problem::new("port", "Enter the port on which it listens.")),
        text => text.parse::<u16>().map(Some).map_err(|_| {
            let message = format!("A port is a number from 1025 to 65534, not “{}”.", shortened(text));
            Problem::new("port", message)
        }),
    });
    let environment = problems.take(parse_variables(&typed.environment));
    let preset = Preset::parse(&typed.preset).unwrap_or_default();
    let path = |text: &str| if text.trim().is_empty() { "/".to_owned() } else { text.trim().to_owned() };
    let (Some(port), Some(environment)) = (port, environment) else { return Err(problems.into_error()) };
    Ok(AppDraft {
        name: typed.name.clone(),
        label: typed.label.clone(),
        preset,
        command: typed.command.clone(),
        environment,
        port,
        network: if typed.network == Network::Open.key() { Network::Open } else { Network::Private },
        health: path(&typed.health),
        page: path(&typed.page),
    })
}

/// Takes an application away.
pub async fn remove(instance: &str, app: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, instance).await?;
    let nobody = || AppError::not_found("application");
    let name = AppName::parse(app).map_err(|_| nobody())?;
    if !remove_app(&caller, &subject, &name).await? {
        return Err(nobody());
    }
    let next = paths::instance_tab(&caller.actor()?.workspace.slug, subject.name.as_str(), "apps");
    Ok(Done::go(next, format!("{name} was removed from {}. Its files are kept.", subject.name)))
}

/// Starts an application again.
pub async fn restart(instance: &str, app: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let subject = find(&caller, instance).await?;
    restart_app(&caller, &subject, app).await?;
    Ok(Done::stay(format!("{app} starts again.")))
}
