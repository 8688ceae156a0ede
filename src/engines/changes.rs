//! What forms change.

use atelier_domain::access::Action;
use atelier_domain::compute::size::SiteName;
use atelier_domain::paths;
use atelier_domain::text::{parse_why, shortened};
use atelier_domain::world::{Answer, Order};
use atelier_studio::orders::{command_id, order};

use crate::done::Done;
use crate::error::AppError;
use crate::server::caller::here;

pub async fn pause(id: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise(Action::EngineWrite).await?;
    let why = parse_why(why)?;
    let wanted = Order::Pause { why: why.clone().unwrap_or_default() };
    let answer = order(&caller, command_id(id)?, wanted, None, why).await?;
    Ok(Done::stay(match answer {
        Answer::Already => "All acting was paused already.",
        _ => "All acting is paused. Jobs that run go on; nothing is started, ended or removed until you resume.",
    }))
}

pub async fn resume(id: &str) -> Result<Done, AppError> {
    let caller = here()?;
    caller.authorise(Action::EngineWrite).await?;
    let answer = order(&caller, command_id(id)?, Order::Resume, None, None).await?;
    Ok(Done::stay(match answer {
        Answer::Already => "The engine was not paused.",
        _ => "The engine acts again.",
    }))
}

pub async fn remove_unknown(id: &str, site: &str, name: &str, why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let actor = caller.authorise(Action::EngineWrite).await?;
    let site = SiteName::parse(site).map_err(|_| AppError::not_found("site"))?;
    let why = parse_why(why)?;
    let said = format!("{} is being removed from {site}.", shortened(name));
    let wanted = Order::RemoveUnknown { site, name: name.to_owned() };
    order(&caller, command_id(id)?, wanted, None, why).await?;
    Ok(Done::go(paths::engines(&actor.workspace.slug), said))
}
