//! Jobs: the list, one job with its log and its files, the form that submits one, and what people do to them.

#![allow(
    missing_docs,
    reason = "the argument structs of server functions are generated; their fields are the form's fields"
)]

use leptos::prelude::*;

use crate::done::Done;
use crate::error::FnError;

/// Ends jobs: `ids` are jobs (`job-7`) or whole arrays (`array-7`). Each is judged by itself. Needs `job.cancel`.
#[server(prefix = "/fn", endpoint = "cancel_jobs")]
pub async fn cancel_jobs(
    #[server(default)] command_id: String,
    #[server(default)] ids: Vec<String>,
) -> Result<Done, FnError> {
    Ok(crate::jobs::changes::cancel_jobs(&command_id, &ids).await?)
}

/// Keeps waiting jobs from starting. Needs `job.queue`.
#[server(prefix = "/fn", endpoint = "hold_jobs")]
pub async fn hold_jobs(
    #[server(default)] command_id: String,
    #[server(default)] ids: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::jobs::turn_changes::turn_jobs(crate::jobs::turn_changes::TurnVerb::Hold, &command_id, &ids, &why).await?)
}

/// Lets held jobs start again. Needs `job.queue`.
#[server(prefix = "/fn", endpoint = "release_jobs")]
pub async fn release_jobs(
    #[server(default)] command_id: String,
    #[server(default)] ids: Vec<String>,
) -> Result<Done, FnError> {
    Ok(crate::jobs::turn_changes::turn_jobs(crate::jobs::turn_changes::TurnVerb::Release, &command_id, &ids, "")
        .await?)
}

/// Sends running jobs back to the queue, as if their nodes were taken back. Needs `job.cancel`.
#[server(prefix = "/fn", endpoint = "evict_jobs")]
pub async fn evict_jobs(
    #[server(default)] command_id: String,
    #[server(default)] ids: Vec<String>,
    #[server(default)] why: String,
) -> Result<Done, FnError> {
    Ok(crate::jobs::turn_changes::turn_jobs(crate::jobs::turn_changes::TurnVerb::Evict, &command_id, &ids, &why)
        .await?)
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
    Ok(crate::jobs::turn_changes::move_job(&command_id, &job, &to, &before, &among).await?)
}

/// Submits what a job ran once more, with the same settings. Needs `job.submit`.
#[server(prefix = "/fn", endpoint = "run_job_again")]
pub async fn run_job_again(#[server(default)] command_id: String, job: String) -> Result<Done, FnError> {
    Ok(crate::jobs::changes::run_again(&command_id, &job).await?)
}
