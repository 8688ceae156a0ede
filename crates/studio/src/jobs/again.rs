//! What a job ran, submitted once more.

use atelier_domain::access::{Action, Whose};
use atelier_domain::error::AppError;
use atelier_engine::run::CommandId;

use crate::caller::Caller;
use crate::jobs::detail::find;
use crate::jobs::submit::{Submitted, submit};
use crate::jobs::typed::request_of;
use crate::jobs::view::Compute;

/// Submits the same with the same settings; an array as a whole. Needs `job.submit`.
pub async fn run_again(caller: &Caller, id: CommandId, job: &str) -> Result<Submitted, AppError> {
    caller.authorise_for(Action::JobSubmit, Whose::Own).await?;
    let row = find(caller, job).await?;
    let (request, compute, withheld) = request_of(caller, &row).await?;
    if let Some(what) = withheld.what() {
        let why = format!(
            "{job} needs {what} that only its owner can use. Copy the job and fill in your own, or ask its owner to \
             run it again."
        );
        return Err(AppError::refused("job.owners-alone", why));
    }
    if let Compute::Gone(_) = compute {
        let ran_on = compute.label();
        let why = format!("It ran on {ran_on}, which takes no more jobs. Copy the job and choose another compute.");
        return Err(AppError::refused("job.compute-gone", why));
    }
    submit(caller, id, &request).await
}
