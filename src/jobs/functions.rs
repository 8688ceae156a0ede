//! What people do to jobs: cancel, hold, release, evict, move, run again.

use leptos::prelude::*;
#[cfg(feature = "ssr")]
use {
    crate::error::AppError,
    crate::jobs::http::submit::told,
    crate::server::caller::here,
    atelier_domain::compute::verb::JobVerb,
    atelier_domain::paths,
    atelier_domain::text::{counted, parse_why},
    atelier_domain::world::Answer,
    atelier_studio::jobs::actions::{Chosen, act_on_all},
    atelier_studio::jobs::again,
    atelier_studio::jobs::detail::find,
    atelier_studio::jobs::turn::{Among, Step, shift},
    atelier_studio::orders,
};

use crate::done::Done;
use crate::error::FnError;

/// Ends jobs: `ids` are jobs (`job-7`) or whole arrays (`array-7`). Each is judged by itself. Needs
/// `job.cancel`.
#[server(prefix = "/fn", endpoint = "cancel_jobs")]
pub async fn cancel_jobs(
    #[server(default)] command_id: String,
    #[server(default)] ids: Vec<String>,
) -> Result<Done, FnError> {
    Ok(act(JobVerb::Cancel, &command_id, &ids, "").await?)
}

/// Keeps waiting jobs from starting. Needs `job.queue`.
#[server(prefix = "/fn", endpoint = "hold_jobs")]
pub async fn hold_jobs(
    #[server(default)] command_id: String,
    #[server(default)] ids: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(act(JobVerb::Hold, &command_id, &ids, &why).await?)
}

/// Lets held jobs start again. Needs `job.queue`.
#[server(prefix = "/fn", endpoint = "release_jobs")]
pub async fn release_jobs(
    #[server(default)] command_id: String,
    #[server(default)] ids: Vec<String>,
) -> Result<Done, FnError> {
    Ok(act(JobVerb::Release, &command_id, &ids, "").await?)
}

/// Sends running jobs back to the queue, as if their nodes were taken back. Needs `job.cancel`.
#[server(prefix = "/fn", endpoint = "evict_jobs")]
pub async fn evict_jobs(
    #[server(default)] command_id: String,
    #[server(default)] ids: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(act(JobVerb::Evict, &command_id, &ids, &why).await?)
}

/// The body of all four: they differ in their verb alone.
#[cfg(feature = "ssr")]
async fn act(verb: JobVerb, command: &str, ids: &[String], why: &str) -> Result<Done, AppError> {
    let caller = here()?;
    let why = parse_why(why)?;
    let outcome = act_on_all(&caller, &orders::command_id(command)?, verb, ids, why.as_deref()).await?;
    let slug = &caller.actor()?.workspace.slug;
    let next = match ids {
        [one] => match Chosen::parse(one) {
            Some(Chosen::Array(first)) => paths::job_array(slug, &first.to_string()),
            _ => paths::job(slug, one),
        },
        _ => paths::jobs(slug),
    };
    let rest: String = outcome.left.iter().map(|(name, error)| format!(" {name} was left as it is: {error}")).collect();
    let (jobs, going) = (counted(outcome.count, "job", "jobs"), verb.verb().going(outcome.count == 1));
    Ok(Done::go(next, format!("{jobs} {going}.{rest}")))
}

/// Moves a waiting job: `to` is front, up, down, back or before; `among` is own or all. Needs `job.queue`.
#[server(prefix = "/fn", endpoint = "move_job")]
pub async fn move_job(
    #[server(default)] command_id: String,
    job: String,
    #[server(default)] to: String,
    #[server(default)] before: String,
    #[server(default)] among: String,
) -> Result<Done, FnError> {
    let caller = here()?;
    let row = find(&caller, &job).await?;
    // The field is there for one of the ways only.
    let step = Step::parse(&to, if to == "before" { &before } else { "" }).map_err(AppError::from)?;
    let among = Among::parse(&among).map_err(AppError::from)?;
    let answer = shift(&caller, orders::command_id(&command_id)?, row.job.id, step, among).await?;
    let name = &row.name;
    Ok(Done::stay(match (answer, step) {
        (Answer::Already, Step::Up) => format!("{name} is the first already."),
        (Answer::Already, _) => format!("{name} is the last already."),
        (_, Step::Front) => format!("{name} was moved to the front."),
        (_, Step::Back) => format!("{name} was moved to the back."),
        (_, Step::Up) => format!("{name} was moved up."),
        (_, Step::Down) => format!("{name} was moved down."),
        (_, Step::Before(other)) => format!("{name} was moved before {other}."),
    }))
}

/// Submits what a job ran once more, with the same settings. Needs `job.submit`.
#[server(prefix = "/fn", endpoint = "run_job_again")]
pub async fn run_job_again(#[server(default)] command_id: String, job: String) -> Result<Done, FnError> {
    let caller = here()?;
    let submitted = again::run_again(&caller, orders::command_id(&command_id)?, &job).await?;
    let (next, said) = told(&caller.actor()?.workspace.slug, submitted);
    Ok(Done::go(next, said))
}
