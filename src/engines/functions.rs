//! The pause switch, and unknown nodes that a driver found.

use leptos::prelude::*;
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::server::caller::here,
    atelier_domain::compute::size::SiteName,
    atelier_domain::paths,
    atelier_domain::text::{parse_why, shortened},
    atelier_domain::world::Answer,
    atelier_studio::{engines, orders},
};

use crate::done::Done;
use crate::error::FnError;

/// Pauses all acting; planning goes on. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "pause_engine")]
pub async fn pause_engine(
    #[server(default)] command_id: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let answer = engines::pause(&here()?, orders::command_id(&command_id)?, parse_why(&why)?).await?;
    Ok(Done::stay(match answer {
        Answer::Already => "All acting was paused already.",
        _ => "All acting is paused. Jobs that run go on; nothing is started, ended or removed until you resume.",
    }))
}

/// Lets the engine act again. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "resume_engine")]
pub async fn resume_engine(#[server(default)] command_id: String) -> Result<Done, FnError> {
    let answer = engines::resume(&here()?, orders::command_id(&command_id)?).await?;
    Ok(Done::stay(match answer {
        Answer::Already => "The engine was not paused.",
        _ => "The engine acts again.",
    }))
}

/// Removes an unknown node that a driver found. Needs `engine.write`.
#[server(prefix = "/fn", endpoint = "remove_unknown")]
pub async fn remove_unknown(
    #[server(default)] command_id: String,
    site: String,
    name: String,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let site = SiteName::parse(&site).map_err(|_| AppError::not_found("site"))?;
    let said = format!("{} is being removed from {site}.", shortened(&name));
    let id = orders::command_id(&command_id)?;
    engines::remove_unknown(&caller, id, site, name, parse_why(&why)?).await?;
    Ok(Done::go(paths::engines(&caller.actor()?.workspace.slug), said))
}

/// Gives something in quarantine to a person. Needs `instance.transfer` for everybody's.
#[server(prefix = "/fn", endpoint = "restore_held")]
pub async fn restore_held(name: String, #[server(default)] email: String) -> Result<Done, FnError> {
    let caller = here()?;
    let to = engines::restore_held(&caller, name, &email).await?;
    Ok(Done::go(paths::engines(&caller.actor()?.workspace.slug), format!("It is in {to} now.")))
}

/// Removes something in quarantine for good. Needs `instance.transfer` for everybody's.
#[server(prefix = "/fn", endpoint = "remove_held")]
pub async fn remove_held(name: String) -> Result<Done, FnError> {
    let caller = here()?;
    engines::remove_held(&caller, name).await?;
    Ok(Done::go(paths::engines(&caller.actor()?.workspace.slug), "It was removed from quarantine."))
}
